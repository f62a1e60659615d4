"""Which variable, which levels, which baseline: every message, and what the rules of DESIGN section 3 say."""

import numpy as np
import pytest
import xarray as xr

import perfarray


def simple(units=4, **attrs):
    """Two benchmarks, two versions, a few executions of two iterations."""
    rng = np.random.default_rng(0)
    times = xr.DataArray(
        rng.normal(10, 0.1, (2, 2, units, 2)),
        dims=("benchmark", "version", "execution", "iteration"),
        coords={"benchmark": ["fft", "sort"], "version": ["old", "new"]},
        name="time",
        attrs={"units": "s", "better": "lower"},
    )
    return times.assign_attrs(attrs)


def two_metrics():
    """Time and throughput, on other benchmarks."""
    time = simple()
    rate = (1 / time).assign_attrs(units="ops/s", better="higher")
    time = time.where(time["benchmark"] == "fft").assign_attrs(time.attrs)
    return xr.Dataset({"time": time, "throughput": rate})


class TestMetric:
    """`metric=`, else attrs, else `time`, else the only variable, else an error that lists them."""

    def test_attrs_decide(self):
        times = two_metrics().assign_attrs(metric="throughput")
        assert times.perf.mean_interval()["estimate"].attrs["units"] == "ops/s"
        assert times.perf.mean_interval().attrs["metric"] == "throughput"

    def test_time_is_the_default(self):
        times = two_metrics().sel(benchmark=["fft"])
        assert times.perf.mean_interval().attrs["metric"] == "time"

    def test_the_only_variable(self):
        times = simple().to_dataset(name="latency")
        assert times.perf.mean_interval().attrs["metric"] == "latency"

    def test_several_without_a_rule_are_listed(self):
        times = xr.Dataset({"energy": simple(), "power": simple()})
        with pytest.raises(ValueError, match="Say so with metric=; candidates: 'energy', 'power'"):
            times.perf.counts()

    def test_an_unknown_one_is_an_error(self):
        with pytest.raises(ValueError, match="metric 'speed' not found; the Dataset has 'time', 'throughput'"):
            two_metrics().perf.counts(metric="speed")

    def test_refused_for_an_array(self):
        with pytest.raises(ValueError, match="a DataArray is one metric"):
            simple().perf.counts(metric="time")

    def test_cells_that_only_another_metric_fills_are_named_once(self):
        with pytest.warns(UserWarning, match=r"2 cells have no 'time' but have 'throughput'.*'sort, old', 'sort, new'") as caught:
            two_metrics().perf.counts()
        assert len(caught) == 1

    def test_cells_that_are_marked_are_not_hidden(self):
        """What is left out because of a mark is missing from no metric."""
        time = simple()
        times = xr.Dataset({"time": time, "throughput": (1 / time).assign_attrs(units="ops/s", better="higher")})
        marked = times.assign_coords(copied=(times["benchmark"] == "sort").broadcast_like(time).transpose(*time.dims))
        with pytest.warns(UserWarning, match="cells") as caught:
            found = marked.perf.mean_interval()
        assert len(caught) == 1
        assert "throughput" not in str(caught[0].message)
        assert found["n"].sel(benchmark="sort").max() == 0

    def test_cells_of_copies_are_named(self):
        """Nothing was measured where all runs are copies of others; where some are, they are counted."""
        time = simple()
        copied = ((time["benchmark"] == "sort") & (time["version"] == "new")).broadcast_like(time)
        with pytest.warns(UserWarning, match=r"1 cells are copies of others.*: 'sort, new'; times.drop_vars") as caught:
            found = time.assign_coords(copied=copied).perf.ratio_interval("old")
        assert found["estimate"].isnull().sum() == 1
        assert caught[0].message.notes[0].values == {"cells": 1}
        first = copied & (xr.DataArray(np.arange(4), dims="execution") == 0)
        assert time.assign_coords(copied=first).perf.ratio_interval("old").perf.notes() == ()

    def test_a_list_adds_a_dim_with_units_and_better(self):
        times = two_metrics().sel(benchmark=["fft"])
        found = times.perf.ratio_interval("old", metric=["time", "throughput"])
        assert found["estimate"].dims == ("metric", "benchmark", "version")
        assert found["units"].values.tolist() == ["s", "ops/s"]
        assert found["better"].values.tolist() == ["lower", "higher"]
        single = times.perf.ratio_interval("old", metric="throughput")
        np.testing.assert_allclose(found["lower"].sel(metric="throughput"), single["lower"])

    def test_each_metric_is_judged_in_its_own_direction(self):
        time = simple() * xr.DataArray([1.0, 0.5], dims="version", coords={"version": ["old", "new"]})
        times = xr.Dataset({"time": time.assign_attrs(better="lower"), "rate": (1 / time).assign_attrs(better="higher")})
        verdict = times.perf.compare("old", metric=["time", "rate"])["verdict"]
        assert (verdict == "faster").all()

    def test_another_dataset_is_asked_for_the_same_metric(self):
        new, old = two_metrics().sel(benchmark=["fft"]), two_metrics().sel(benchmark=["fft"]).assign_attrs(metric="throughput")
        assert new.perf.ratio_interval(old).attrs["metric"] == "time"

    def test_other_kinds_are_refused(self):
        with pytest.raises(TypeError, match="expected a DataArray or a Dataset of timings, got list"):
            perfarray.counts([1.0, 2.0])


class TestLevels:
    """The nest: repetition dims present, in their order; others by name."""

    def test_none_found(self):
        with pytest.raises(ValueError, match=r"no repetition level: the array has dims \('x',\).*name the dims.*levels="):
            xr.DataArray(np.ones(3), dims="x").perf.counts()

    def test_unknown_level(self):
        with pytest.raises(ValueError, match=r"level 'executions' not found; the array has dims \('benchmark', 'version', 'execution'"):
            simple().perf.counts(levels="executions")

    def test_named_twice(self):
        with pytest.raises(ValueError, match="names something twice"):
            simple().perf.counts(levels=("execution", "execution"))

    def test_inside_out(self):
        with pytest.raises(ValueError, match=r"turns the nest inside out: levels go from the outside in, \('execution', 'iteration'\)"):
            simple().perf.counts(levels=("iteration", "execution"))

    def test_usual_order_whatever_the_array(self):
        assert simple().transpose("iteration", "execution", ...).perf.counts().attrs["levels"] == "execution iteration"

    def test_not_numbers(self):
        times = xr.DataArray(np.array([["a", "b"]]), dims=("benchmark", "execution"))
        with pytest.raises(ValueError, match="holds <U1 values, not numbers"):
            times.perf.counts()

    def test_integers_are_numbers(self):
        assert xr.DataArray([1, 2, 3], dims="execution").perf.mean_interval()["estimate"] == 2

    def test_a_level_split_over_chunks_names_it(self):
        pytest.importorskip("dask.array")
        with pytest.raises(ValueError, match=r"dim 'execution' is split over 2 chunks.*use .chunk\(\{'execution': -1\}\)"):
            simple().chunk({"execution": 2}).perf.variance_components()


class TestBaseline:
    """A label of a dim, or another object matched by label."""

    def test_the_dim_that_holds_the_label(self):
        found = simple().perf.ratio_interval("fft")
        assert found["benchmark"].values.tolist() == ["sort"]

    def test_no_dim_holds_it(self):
        with pytest.raises(ValueError, match=r"label 'newest' not found along any dim that is not a level; .*version: 'old', 'new'"):
            simple().perf.ratio_interval("newest")

    def test_several_dims_hold_it(self):
        times = simple().assign_coords(benchmark=["old", "sort"])
        with pytest.raises(ValueError, match=r"found along several dims \('benchmark', 'version'\); say which with dim="):
            times.perf.ratio_interval("old")
        assert times.perf.ratio_interval("old", dim="version")["version"].values.tolist() == ["new"]

    def test_wrong_dim_level_label(self):
        with pytest.raises(ValueError, match="dim 'compiler' not found; the array has dims"):
            simple().perf.compare("old", dim="compiler")
        with pytest.raises(ValueError, match="dim 'execution' is a level of the nest"):
            simple().perf.compare(0, dim="execution")
        with pytest.raises(ValueError, match="label 'older' not found along 'version'; its labels are 'old', 'new'"):
            simple().perf.compare("older", dim="version")

    def test_the_only_label(self):
        with pytest.raises(ValueError, match="'old' is the only label along 'version'"):
            simple().sel(version=["old"]).perf.compare("old")

    def test_another_object_is_matched_by_label_in_any_order(self):
        times = simple()
        new, old = times.sel(version="new", drop=True), times.sel(version="old", drop=True).isel(benchmark=[1, 0], execution=slice(3))
        found = new.perf.ratio_interval(old)
        expected = new.sel(benchmark="sort").mean() / old.sel(benchmark="sort").mean()
        np.testing.assert_allclose(found["estimate"].sel(benchmark="sort"), expected)
        assert found["n"].values.tolist() == [3, 3]

    def test_labels_on_one_side_only_are_named_once(self):
        times = simple()
        new, old = times.sel(version="new", drop=True), times.sel(version="old", drop=True).assign_coords(benchmark=["fft", "hash"])
        with pytest.warns(UserWarning, match=r"2 labels are on one side only.*'sort \(no baseline\)', 'hash \(baseline only\)'"):
            found = new.perf.compare(old)
        assert found["benchmark"].values.tolist() == ["fft"]
        assert found.attrs["unmatched"] == "sort, hash"
        assert found["suite_benchmarks"] == 1

    def test_nothing_in_common(self):
        times = simple().sel(version="new", drop=True)
        with pytest.raises(ValueError, match="no label in common along 'benchmark': 'fft', 'sort' against 'a', 'b'"):
            times.perf.compare(times.assign_coords(benchmark=["a", "b"]))

    def test_units_must_agree(self):
        times = simple().sel(version="new", drop=True)
        with pytest.raises(ValueError, match="units differ: the data are in 's', the baseline in 'J'"):
            times.perf.compare(times.assign_attrs(units="J"))
        with pytest.raises(ValueError, match="better differs"):
            times.perf.compare(times.assign_attrs(better="higher"))

    def test_coordinates_of_the_candidate_describe_the_answer(self):
        times = simple().assign_coords(cpu=("version", ["amd", "intel"]), suite=("benchmark", ["int", "fp"]))
        found = times.perf.compare("old")
        assert found["cpu"].values.tolist() == ["intel"]
        assert found["suite"].values.tolist() == ["int", "fp"]


class TestPositive:
    """A comparison, and the log of a ratio, need positive values; the message names the first that is not."""

    def test_compare(self):
        times = simple().assign_attrs(units="1").rename("gain")
        times[0, 1, 2, 1] = -3.0
        with pytest.raises(ValueError, match=r"a comparison needs positive values; gain has 1 .*\(-3\) at benchmark=fft, version=new"):
            times.perf.compare("old")
        with pytest.raises(ValueError, match="the log of a ratio"):
            times.perf.ratio_interval("old", method="log_delta")

    def test_fieller_itself_takes_any_sign(self):
        assert np.isfinite(
            (simple().rename("gain").assign_attrs(units="1") - 10).perf.ratio_interval("old", dim="version")["estimate"]
        ).all()


class TestShared:
    """Units shared by benchmarks: said by the caller, else by the data, else assumed independent and said so."""

    def test_default_is_what_the_data_say(self):
        assert simple().perf.compare("old").attrs["benchmarks"] == "independent (assumed)"
        assert simple(shared_levels="execution").perf.compare("old").attrs["benchmarks"] == "shared: execution"
        assert simple(shared_levels="execution").perf.compare("old", shared=()).attrs["benchmarks"] == "independent (assumed)"

    def test_a_dataset_s_attr_is_respected(self):
        times = simple().to_dataset().assign_attrs(shared_levels="execution")
        assert times.perf.compare("old").attrs["benchmarks"] == "shared: execution"

    def test_must_be_the_outermost_level(self):
        with pytest.raises(ValueError, match="shared='binary' is not one of the levels"):
            simple().perf.compare("old", shared="binary")
        with pytest.raises(ValueError, match="leaves out the outermost level 'execution'"):
            simple().perf.compare("old", shared="iteration")

    def test_units_that_lack_a_benchmark_are_counted(self):
        times = simple()
        times[0, 1, 2] = np.nan
        with pytest.warns(UserWarning, match=r"1 shared units \(execution\) lack some benchmarks and are left out of the suite row"):
            found = times.perf.compare("old", shared="execution")
        assert found.attrs["n_incomplete_units"] == 1
        assert found["suite_n"] == 3


class TestPaired:
    """Units that match between the two systems."""

    def test_must_be_the_outermost_level(self):
        with pytest.raises(ValueError, match="paired='iteration' is not known; choose one of 'execution'"):
            simple().perf.ratio_interval("old", paired="iteration")

    def test_units_are_matched_by_label(self):
        times = simple().assign_coords(execution=np.arange(4))
        new, old = times.sel(version="new", drop=True), times.sel(version="old", drop=True)
        with pytest.warns(UserWarning, match="paired='execution': 2 units of one system have no partner"):
            found = new.isel(execution=[3, 1, 0]).perf.ratio_interval(old.isel(execution=[0, 1, 2]), paired="execution")
        expected = new.isel(execution=[0, 1]).perf.ratio_interval(old.isel(execution=[0, 1]), paired="execution")
        np.testing.assert_allclose(found["estimate"], expected["estimate"])
        assert found["n"].values.tolist() == [2, 2]
        with pytest.raises(ValueError, match="no execution in common"):
            new.isel(execution=[0]).perf.ratio_interval(old.isel(execution=[1]), paired="execution")


class TestTrouble:
    """One cell in trouble is not an exception for the others: NaN, a count, one warning."""

    @pytest.mark.parametrize("name", ["mean_interval", "variance_components", "change_points"])
    def test_nothing_at_all(self, name):
        """A selection that leaves no label is an error that names the dim, whatever is asked."""
        times = xr.DataArray(np.ones((2, 9, 3)), dims=("benchmark", "commit", "execution"), coords={"benchmark": ["a", "b"]})
        with pytest.raises(ValueError, match="no timings: 'benchmark' has no labels"):
            getattr(times.isel(benchmark=[]).perf, name)()

    def test_single_units_and_empty_cells(self):
        times = simple()
        times[0, 0, 1:] = np.nan
        times[1, 1] = np.nan
        with pytest.warns(UserWarning, match="cells") as caught:
            found = times.perf.mean_interval()
        messages = [str(warning.message) for warning in caught]
        assert len(messages) == 1
        assert "1 of 4 cells ('fft, old') rest on one execution" in messages[0]
        assert "1 of 4 cells ('sort, new') have no measured value" in messages[0]
        assert found["n"].values.tolist() == [[1, 4], [4, 0]]
        assert np.isnan(found["lower"].values).tolist() == [[True, False], [False, True]]
        assert np.isnan(found["estimate"].values).tolist() == [[False, False], [False, True]]

    def test_no_spread_at_all_is_said(self):
        times = simple()
        times[0] = 3.0
        with pytest.warns(UserWarning, match=r"1 of 2 cells \('fft, new'\) show no spread at all"):
            found = times.perf.compare("old")
        assert found["lower"].values[0, 0] == found["upper"].values[0, 0] == 1

    def test_a_selected_unit_is_said(self):
        one = simple().assign_coords(execution=range(4)).isel(execution=0)
        with pytest.warns(UserWarning, match="one execution was selected, so its iterations are taken as independent units"):
            one.perf.compare("old")
        assert one.perf.counts().attrs["unit"] == "iteration"
        assert one.perf.mean_interval(levels="iteration").attrs["unit"] == "iteration"

    def test_a_descriptor_named_like_a_level_is_no_selection(self):
        times = simple().assign_coords(session=("benchmark", ["monday", "tuesday"]))
        assert times.perf.compare("old", dim="version")["n"].values.tolist() == [[4], [4]]

    def test_components_of_one_unit_say_so(self):
        with pytest.warns(UserWarning, match="4 of 4 cells rest on one execution: its component and the standard error are NaN"):
            found = simple(units=1).perf.variance_components()
        assert np.isnan(found["variance"].sel(level="execution")).all()
        assert np.isfinite(found["variance"].sel(level="iteration")).all()

    def test_cells_only_another_metric_fills_are_named_for_the_baseline_too(self):
        whole = two_metrics().assign(time=simple()).sel(version="new", drop=True)
        with pytest.warns(UserWarning, match="1 cells have no 'time' but have 'throughput'.*'sort'"):
            whole.perf.ratio_interval(two_metrics().sel(version="old", drop=True))

    def test_the_warning_names_the_remedy(self):
        with pytest.warns(UserWarning, match=r'merge_level\("execution"\) or levels='):
            simple(units=1).perf.compare("old")

    def test_the_warning_points_at_the_caller(self):
        with pytest.warns(UserWarning, match="rest on one execution") as caught:
            simple(units=1).perf.compare("old")
        assert caught[0].filename == __file__


class TestArguments:
    """Choices and numbers out of range."""

    @pytest.mark.parametrize(
        ("keywords", "message"),
        [
            ({"confidence_level": 95}, "confidence_level=95 is out of range; give a number between 0 and 1, such as 0.95"),
            ({"confidence_level": "high"}, "confidence_level='high' is not a"),
            ({"threshold": 2}, r"threshold=2 is out of range; give a fraction from 0 up to 1 \(0.02 for 2 %\)"),
            ({"threshold": float("nan")}, "is not a finite number"),
            ({"method": "welch"}, "method='welch' is not known; choose one of 'fieller', 'delta', 'log_delta'"),
            ({"df": "n"}, "df='n' is not known; choose one of 'satterthwaite', 'conservative', 'normal'"),
            ({"correction": "bonferroni"}, "correction='bonferroni' is not known; choose one of None, 'holm', 'bh'"),
            ({"across": "iteration"}, "across='iteration' is a level"),
        ],
    )
    def test_compare(self, keywords, message):
        with pytest.raises(ValueError, match=message):
            simple().perf.compare("old", dim="version", **keywords)

    def test_components(self):
        with pytest.raises(ValueError, match="negative='drop' is not known; choose one of 'keep', 'zero', 'merge'"):
            simple().perf.variance_components(negative="drop")
        with pytest.raises(ValueError, match="method='magic' is not known"):
            simple().perf.variance_components(method="magic")
        with pytest.raises(ValueError, match="method='exact' is not known; choose one of 't', 'normal'"):
            simple().perf.mean_interval(method="exact")

    def test_options(self):
        with pytest.raises(ValueError, match="engine='fortran' is not known; choose one of 'numpy', 'numba'"):
            perfarray.set_options(engine="fortran")

    def test_options_are_restored(self):
        from perfarray.timings import options as _options

        with perfarray.set_options(engine="numpy"):
            assert _options.engine() == "numpy"
        assert _options.engine() == "numpy"

    def test_a_missing_engine_names_the_extra(self, monkeypatch):
        monkeypatch.setattr("perfarray.timings.options.find_spec", lambda _: None)
        with pytest.raises(ImportError, match=r"install perfarray\[fast\]"):
            perfarray.set_options(engine="numba")
