"""Which variable, which levels, which baseline: every message, and what the rules of DESIGN section
3 say."""

import re

import numpy as np
import pytest
import xarray as xr

import perfarray


def simple(units=4, **attrs):
    """Two benchmarks, two versions, a few executions of two iterations."""
    values = np.random.default_rng(0).normal(10, 0.1, (2, 2, units, 2))
    coords = {"benchmark": ["fft", "sort"], "version": ["old", "new"]}
    dims = ("benchmark", "version", "execution", "iteration")
    return xr.DataArray(values, coords, dims, "time", {"units": "s", "better": "lower"} | attrs)


def two_metrics(*, everywhere=False):
    """Time and throughput, on other benchmarks unless both are everywhere."""
    time = simple()
    rate = (1 / time).assign_attrs(units="ops/s", better="higher")
    return xr.Dataset(
        {
            "time": time
            if everywhere
            else time.where(time["benchmark"] == "fft").assign_attrs(time.attrs),
            "throughput": rate,
        }
    )


TIMES = simple()
NEW, OLD = (TIMES.sel(version=label, drop=True) for label in ("new", "old"))
METRICS = two_metrics()
GAIN = TIMES.assign_attrs(units="1").rename("gain")
NEGATIVE = GAIN.copy()
NEGATIVE[0, 1, 2, 1] = -3.0
EMPTY = xr.DataArray(
    np.ones((2, 9, 3)), dims=("benchmark", "commit", "execution"), coords={"benchmark": ["a", "b"]}
).isel(benchmark=[])

REFUSED = [
    # metric=, else attrs, else `time`, else the only variable, else an error that lists them
    (
        lambda: xr.Dataset({"energy": TIMES, "power": TIMES}).perf.counts(),
        "Say so with metric=; candidates: 'energy', 'power'",
    ),
    (
        lambda: METRICS.perf.counts(metric="speed"),
        "metric 'speed' not found; the Dataset has 'time', 'throughput'",
    ),
    (lambda: TIMES.perf.counts(metric="time"), "a DataArray is one metric"),
    # the nest
    (
        lambda: xr.DataArray(np.ones(3), dims="x").perf.counts(),
        r"no repetition level: none of the dims \('x',\).*Name the dims.*levels=",
    ),
    (
        lambda: TIMES.perf.counts(levels="executions"),
        r"level 'executions' not found; .* dims \('benchmark', 'version', 'execution'",
    ),
    (lambda: TIMES.perf.counts(levels=("execution", "execution")), "names something twice"),
    (
        lambda: TIMES.perf.counts(levels=("iteration", "execution")),
        r"wrong order.*outermost to the innermost: \('execution', 'iteration'\)",
    ),
    (
        lambda: xr.DataArray([["a", "b"]], dims=("benchmark", "execution")).perf.counts(),
        "holds <U1 values, not numbers",
    ),
    (lambda: EMPTY.perf.mean_interval(), "no timings: 'benchmark' has no labels"),
    (lambda: EMPTY.perf.variance_components(), "no timings: 'benchmark' has no labels"),
    (lambda: EMPTY.perf.change_points(), "no timings: 'benchmark' has no labels"),
    # the baseline
    (
        lambda: TIMES.perf.ratio_interval("newest"),
        r"No label 'newest'. You can compare with: version 'old', 'new'. Did you mean 'new'\?",
    ),
    (
        lambda: TIMES.assign_coords(benchmark=["old", "sort"]).perf.ratio_interval("old"),
        r"found along several dims \('benchmark', 'version'\); say which with dim=",
    ),
    (
        lambda: TIMES.perf.compare("old", dim="compiler"),
        "dim 'compiler' not found; the array has dims",
    ),
    (lambda: TIMES.perf.compare(0, dim="execution"), "dim 'execution' is a level of the nest"),
    (
        lambda: TIMES.perf.compare("older", dim="version"),
        r"label 'older' not found along 'version'; its labels are 'old', 'new'. Did you mean 'old'\?",
    ),
    (
        lambda: TIMES.sel(version=["old"]).perf.compare("old"),
        "'old' is the only label along 'version'",
    ),
    (
        lambda: NEW.perf.compare(NEW.assign_coords(benchmark=["a", "b"])),
        "no label in common .*: 'fft', 'sort' against 'a', 'b'",
    ),
    (
        lambda: NEW.perf.compare(NEW.assign_attrs(units="J")),
        "units differ: the data are in 's', the baseline in 'J'",
    ),
    (lambda: NEW.perf.compare(NEW.assign_attrs(better="higher")), "better differs"),
    # positive values
    (
        lambda: NEGATIVE.perf.compare("old"),
        r"a comparison needs positive values; gain has 1 .*\(-3\) at benchmark=fft, version=new",
    ),
    (lambda: NEGATIVE.perf.ratio_interval("old", method="log_delta"), "the log of a ratio"),
    # units shared by benchmarks, or paired between systems
    (
        lambda: TIMES.perf.compare("old", shared="binary"),
        "shared='binary' is not one of the levels",
    ),
    (
        lambda: TIMES.perf.compare("old", shared="iteration"),
        "leaves out the outermost level 'execution'",
    ),
    (
        lambda: TIMES.perf.ratio_interval("old", paired="iteration"),
        "paired='iteration' is not known; choose one of 'execution'",
    ),
    # choices and numbers out of range
    (
        lambda: TIMES.perf.variance_components(negative="drop"),
        "negative='drop' is not known; choose one of 'keep', 'zero', 'merge'",
    ),
    (lambda: TIMES.perf.variance_components(method="magic"), "method='magic' is not known"),
    (
        lambda: TIMES.perf.mean_interval(method="exact"),
        "method='exact' is not known; choose one of 't', 'normal'",
    ),
    (
        lambda: perfarray.set_options(engine="fortran"),
        "engine='fortran' is not known; choose one of 'numpy', 'numba'",
    ),
]


OF_COMPARE = [
    (
        {"confidence_level": 95},
        "confidence_level=95 is out of range; give a number between 0 and 1, such as 0.95",
    ),
    ({"confidence_level": "high"}, "confidence_level='high' is not a"),
    (
        {"threshold": 2},
        r"threshold=2 is out of range; give a fraction from 0 up to 1 \(0.02 for 2 %\)",
    ),
    ({"threshold": float("nan")}, "is not a finite number"),
    (
        {"method": "welch"},
        "method='welch' is not known; choose one of 'fieller', 'delta', 'log_delta'",
    ),
    (
        {"correction": "bonferroni"},
        "correction='bonferroni' is not known; choose one of None, 'holm', 'bh'",
    ),
    ({"across": "iteration"}, "across='iteration' is a level"),
]
REFUSED += [
    (lambda keywords=keywords: TIMES.perf.compare("old", dim="version", **keywords), message)
    for keywords, message in OF_COMPARE
]
REFUSED += [
    (
        lambda: TIMES.perf.ratio_interval("old", dim="version", df="n"),
        "df='n' is not known; choose one of 'satterthwaite', 'conservative', 'normal'",
    )
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_missing_engine_names_the_extra(monkeypatch):
    monkeypatch.setattr("perfarray.timings.options.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"install perfarray\[fast\]"):
        perfarray.set_options(engine="numba")


class TestMetric:
    """`metric=`, else attrs, else `time`, else the only variable."""

    @pytest.mark.parametrize(
        ("times", "metric"),
        [
            (METRICS.assign_attrs(metric="throughput"), "throughput"),
            (METRICS.sel(benchmark=["fft"]), "time"),
            (TIMES.to_dataset(name="latency"), "latency"),
        ],
    )
    def test_which(self, times, metric):
        interval = times.perf.mean_interval()
        assert (interval.attrs["metric"], interval["estimate"].attrs["units"]) == (
            metric,
            "ops/s" if metric == "throughput" else "s",
        )

    def test_cells_that_only_another_metric_fills_are_named_once(self):
        with pytest.warns(
            UserWarning,
            match=r"2 cells have no 'time' but have 'throughput'.*'sort, old', 'sort, new'",
        ) as caught:
            METRICS.perf.counts()
        assert len(caught) == 1
        new, old = (METRICS.sel(version=label, drop=True) for label in ("new", "old"))
        with pytest.warns(
            UserWarning, match="1 cells have no 'time' but have 'throughput'.*'sort'"
        ):
            new.assign(time=NEW).perf.ratio_interval(old)

    def test_cells_that_are_marked_are_not_hidden(self):
        """What is left out because of a mark is missing from no metric."""
        copied = (TIMES["benchmark"] == "sort").broadcast_like(TIMES).transpose(*TIMES.dims)
        with pytest.warns(UserWarning, match="cells") as caught:
            interval = (
                two_metrics(everywhere=True).assign_coords(copied=copied).perf.mean_interval()
            )
        assert len(caught) == 1
        assert "throughput" not in str(caught[0].message)
        assert interval["n"].sel(benchmark="sort").max() == 0

    def test_cells_of_copies_are_named(self):
        """Nothing was measured where all runs are copies of others; where some are, they are
        counted."""
        copied = ((TIMES["benchmark"] == "sort") & (TIMES["version"] == "new")).broadcast_like(
            TIMES
        )
        with pytest.warns(
            UserWarning,
            match=r"1 cells are copies of other results .*: 'sort, new'\..*times\.drop_vars",
        ) as caught:
            interval = TIMES.assign_coords(copied=copied).perf.ratio_interval("old")
        assert interval["estimate"].isnull().sum() == 1
        assert caught[0].message.notes[0].values == {"cells": 1}
        first = copied & (xr.DataArray(np.arange(4), dims="execution") == 0)
        assert TIMES.assign_coords(copied=first).perf.ratio_interval("old").perf.notes() == ()

    def test_a_list_adds_a_dim_with_units_and_better(self):
        """Each metric is judged in its own direction."""
        times = METRICS.sel(benchmark=["fft"])
        interval = times.perf.ratio_interval("old", metric=["time", "throughput"])
        assert interval["estimate"].dims == ("metric", "benchmark", "version")
        assert interval["units"].values.tolist() == ["s", "ops/s"]
        assert interval["better"].values.tolist() == ["lower", "higher"]
        one_metric = times.perf.ratio_interval("old", metric="throughput")
        np.testing.assert_allclose(interval["lower"].sel(metric="throughput"), one_metric["lower"])
        time = TIMES * xr.DataArray([1.0, 0.5], dims="version")
        twice = xr.Dataset(
            {
                "time": time.assign_attrs(better="lower"),
                "rate": (1 / time).assign_attrs(better="higher"),
            }
        )
        assert (twice.perf.compare("old", metric=["time", "rate"])["verdict"] == "faster").all()

    def test_another_dataset_is_asked_for_the_same_metric(self):
        new, old = (
            METRICS.sel(benchmark=["fft"]),
            METRICS.sel(benchmark=["fft"]).assign_attrs(metric="throughput"),
        )
        assert new.perf.ratio_interval(old).attrs["metric"] == "time"


class TestLevels:
    """The nest: repetition dims present, in their order; others by name."""

    def test_usual_order_whatever_the_array(self):
        assert (
            TIMES.transpose("iteration", "execution", ...).perf.counts().attrs["levels"]
            == "execution iteration"
        )

    def test_integers_are_numbers(self):
        assert xr.DataArray([1, 2, 3], dims="execution").perf.mean_interval()["estimate"] == 2

    def test_a_descriptor_named_like_a_level_is_no_selection(self):
        times = TIMES.assign_coords(session=("benchmark", ["monday", "tuesday"]))
        assert times.perf.compare("old", dim="version")["n"].values.tolist() == [[4], [4]]

    def test_a_selected_unit_is_said(self):
        one_execution = TIMES.assign_coords(execution=range(4)).isel(execution=0)
        with pytest.warns(
            UserWarning,
            match="One execution was selected, so its iterations are taken as independent units",
        ):
            one_execution.perf.compare("old")
        assert one_execution.perf.counts().attrs["unit"] == "iteration"
        assert one_execution.perf.mean_interval(levels="iteration").attrs["unit"] == "iteration"


class TestBaseline:
    """A label of a dim, or another object matched by label."""

    def test_the_dim_that_holds_the_label(self):
        """It is found, or named where several hold it; coordinates of the candidate describe the
        answer."""
        assert TIMES.perf.ratio_interval("fft")["benchmark"].values.tolist() == ["sort"]
        times = TIMES.assign_coords(benchmark=["old", "sort"])
        assert times.perf.ratio_interval("old", dim="version")["version"].values.tolist() == ["new"]
        with_descriptors = TIMES.assign_coords(
            cpu=("version", ["amd", "intel"]), suite=("benchmark", ["int", "fp"])
        )
        with pytest.warns(perfarray.PerfarrayWarning, match="cpu intel against amd"):
            verdicts = with_descriptors.perf.compare("old")
        assert verdicts["cpu"].values.tolist() == ["intel"]
        assert verdicts["suite"].values.tolist() == ["int", "fp"]

    def test_another_object_is_matched_by_label_in_any_order(self):
        interval = NEW.perf.ratio_interval(OLD.isel(benchmark=[1, 0], execution=slice(3)))
        expected = NEW.sel(benchmark="sort").mean() / OLD.sel(benchmark="sort")[:3].mean()
        np.testing.assert_allclose(interval["estimate"].sel(benchmark="sort"), expected)
        assert interval["n"].values.tolist() == [3, 3]

    def test_labels_on_one_side_only_are_named_once(self):
        with pytest.warns(
            UserWarning,
            match=r"2 labels are on one side only.*'sort \(no baseline\)', 'hash \(baseline "
            r"only\)'",
        ):
            verdicts = NEW.perf.compare(OLD.assign_coords(benchmark=["fft", "hash"]))
        assert verdicts["benchmark"].values.tolist() == ["fft"]
        assert verdicts.attrs["unmatched"] == "sort, hash"
        assert verdicts["suite_benchmarks"] == 1

    def test_fieller_itself_takes_any_sign(self):
        assert np.isfinite((GAIN - 10).perf.ratio_interval("old", dim="version")["estimate"]).all()


class TestShared:
    """Units shared by benchmarks: said by the caller, else by the data, else assumed independent
    and said so."""

    @pytest.mark.parametrize(
        ("times", "keywords", "benchmarks"),
        [
            (TIMES, {}, "independent (assumed)"),
            (simple(shared_levels="execution"), {}, "shared: execution"),
            (simple(shared_levels="execution"), {"shared": ()}, "independent (assumed)"),
            (TIMES.to_dataset().assign_attrs(shared_levels="execution"), {}, "shared: execution"),
        ],
    )
    def test_who_says_so(self, times, keywords, benchmarks):
        assert times.perf.compare("old", **keywords).attrs["benchmarks"] == benchmarks

    def test_units_that_lack_a_benchmark_are_counted(self):
        times = simple()
        times[0, 1, 2] = np.nan
        with pytest.warns(
            UserWarning,
            match=r"1 shared units \(execution\) lack some benchmarks\. The suite row leaves them out",
        ):
            verdicts = times.perf.compare("old", shared="execution")
        assert verdicts.attrs["n_incomplete_units"] == 1
        assert verdicts["suite_n"] == 3
        times[1, 0, :2] = np.nan
        with pytest.warns(UserWarning, match="execution: 2 of the baseline, 1 of the candidate"):
            times.perf.compare("old", shared="execution")

    def test_paired_units_are_matched_by_label(self):
        new, old = (side.assign_coords(execution=np.arange(4)) for side in (NEW, OLD))
        with pytest.warns(
            UserWarning, match="paired='execution': 2 units of one system have no partner"
        ):
            interval = new.isel(execution=[3, 1, 0]).perf.ratio_interval(
                old.isel(execution=[0, 1, 2]), paired="execution"
            )
        expected = new.isel(execution=[0, 1]).perf.ratio_interval(
            old.isel(execution=[0, 1]), paired="execution"
        )
        np.testing.assert_allclose(interval["estimate"], expected["estimate"])
        assert interval["n"].values.tolist() == [2, 2]
        with pytest.raises(ValueError, match="no execution in common"):
            new.isel(execution=[0]).perf.ratio_interval(old.isel(execution=[1]), paired="execution")


class TestTrouble:
    """One cell in trouble is not an exception for the others: NaN, a count, one warning."""

    def test_single_units_and_empty_cells(self):
        times = simple()
        times[0, 0, 1:] = np.nan
        times[1, 1] = np.nan
        with pytest.warns(UserWarning, match="cells") as caught:
            interval = times.perf.mean_interval()
        (message,) = [str(warning.message) for warning in caught]
        assert re.search(
            r"""1 of 3 cells \('fft, old'\) rest on one execution.*Measure several executions$""",
            message.splitlines()[0],
        )
        assert not re.search("merge_level|levels=", message)
        assert "no measured value" not in message  # nobody measured it: it is no cell
        assert interval["n"].values.tolist() == [[1, 4], [4, 0]]
        assert np.isnan(interval["lower"].values).tolist() == [[True, False], [False, True]]
        assert np.isnan(interval["estimate"].values).tolist() == [[False, False], [False, True]]

    def test_no_spread_at_all_is_said(self):
        times = simple()
        times[0] = 3.0
        with pytest.warns(UserWarning, match=r"1 of 2 cells \('fft, new'\) show no spread at all"):
            verdicts = times.perf.compare("old")
        assert verdicts["lower"].values[0, 0] == verdicts["upper"].values[0, 0] == 1

    def test_components_of_one_unit_say_so(self):
        with pytest.warns(
            UserWarning,
            match=(
                "4 of 4 cells rest on one execution: its component and the standard error are NaN"
            ),
        ):
            components = simple(units=1).perf.variance_components()
        assert np.isnan(components["variance"].sel(level="execution")).all()
        assert np.isfinite(components["variance"].sel(level="iteration")).all()
