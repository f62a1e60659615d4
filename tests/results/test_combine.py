"""Results of several methods side by side."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray


@pytest.fixture
def times():
    samples = {"old": [10.0, 10.2, 9.9, 10.1], "new": [9.0, 9.1, 8.9, 9.2]}
    subset = perfarray.from_samples(samples)
    return xr.concat(
        [subset, 2 * subset], xr.IndexVariable("benchmark", ["b", "a"]), combine_attrs="override"
    ).assign_attrs(subset.attrs)


def test_variables_and_attrs_have_their_names(times):
    """No value changes; the order of labels is that of the data; the baseline has no ratio."""
    mean, ratio, verdict = (
        times.perf.mean_interval(),
        times.perf.ratio_interval("old"),
        times.perf.compare("old"),
    )
    combined = perfarray.combine({"mean": mean, "ratio": ratio, "verdict": verdict})
    assert combined["version"].values.tolist() == ["old", "new"]
    assert combined["benchmark"].values.tolist() == ["b", "a"]
    for name, subset in (("mean", mean), ("ratio", ratio)):
        for variable in subset.data_vars:
            section_part = (
                combined[f"{name}_{variable}"]
                .sel(version=subset["version"])
                .transpose(*subset[variable].dims)
            )
            np.testing.assert_array_equal(section_part.values, subset[variable].values)
    assert combined["ratio_estimate"].sel(version="old").isnull().all()
    assert combined["verdict_verdict"].sel(version="old", benchmark="a").item() == "unknown"
    assert not combined["verdict_not_slower"].sel(version="old").any()
    assert (combined.attrs["mean_result"], combined.attrs["ratio_method"]) == (
        "mean_interval",
        "fieller",
    )


def test_labels_stand_in_the_order_of_the_data(times):
    """A comparison that comes first lacks the baseline, and does not put it last."""
    ratio, mean = times.perf.ratio_interval("old"), times.perf.mean_interval()
    assert perfarray.combine({"ratio": ratio, "mean": mean})["version"].values.tolist() == [
        "old",
        "new",
    ]


def test_its_table_and_notes(times):
    """Columns stand below the name of their result; what each had to say is kept once."""
    short = times.isel(execution=[0])
    with pytest.warns(perfarray.PerfarrayWarning):
        mean, ratio = short.perf.mean_interval(), short.perf.ratio_interval("old")
    with pytest.warns(perfarray.PerfarrayWarning):
        combined = perfarray.combine({"mean": mean, "ratio": ratio})
    with pytest.warns(perfarray.PerfarrayWarning):
        twice = perfarray.combine({"first": ratio, "second": ratio})
    assert {note.code for note in combined.perf.notes()} == {
        note.code for subset in (mean, ratio) for note in subset.perf.notes()
    }
    assert [note.message for note in twice.perf.notes()] == [
        note.message for note in ratio.perf.notes()
    ]
    answer = combined.perf.table()
    assert set(answer.columns.get_level_values(0)) == {"mean", "ratio"}
    assert answer.loc[("b", "old"), ("ratio", "change")] == "-"


def test_names_of_functions_are_the_default(times):
    """Several results without names have those of their functions; two of one need names; one alone
    is refused."""
    mean, verdict = times.perf.mean_interval(), times.perf.compare("old")
    combined = perfarray.combine([verdict, mean])
    xr.testing.assert_identical(
        combined, perfarray.combine({"compare": verdict, "mean_interval": mean})
    )
    with pytest.raises(ValueError, match=r"two results are of compare\. Name them, as in"):
        perfarray.combine([verdict, verdict])
    for alone in (verdict, times["version"], times.perf.variability_level(rng=1)):
        with pytest.raises(ValueError, match="combine takes several results, as in"):
            perfarray.combine(alone)
    with pytest.raises(ValueError, match="'this' is no result of perfarray"):
        perfarray.combine([times])


def test_the_row_of_the_baseline(times):
    """It has no answer of a comparison, and no mark; the candidate keeps its name."""
    answer = perfarray.combine([times.perf.compare("old"), times.perf.mean_interval()]).perf.table()
    compared = answer["compare"]
    assert compared.columns[0] == "old -> new"
    assert set(compared.xs("old", level="version").to_numpy().ravel()) == {"-"}


def test_fitted_models_are_results(times):
    """Their `perf` is that of their Dataset; they combine as any result does."""
    mixture = times.perf.fit_mixture(n_components=1)
    assert mixture.perf.table().equals(mixture.table())
    assert mixture.perf.notes() == mixture.notes()
    combined = perfarray.combine([mixture, times.perf.mean_interval()])
    xr.testing.assert_allclose(
        combined["fit_mixture_mean"].isel(component=0, drop=True),
        combined["mean_interval_estimate"],
    )
    mhz = np.linspace(2000, 4000, 30)
    table = pd.DataFrame({"performance": 1e4 / mhz, "cpu_mhz": mhz})
    model = table.perf.explain_variation(
        model="ols", formula="np.log(performance) ~ np.log(cpu_mhz)", rng=1
    )
    assert model.perf.table().equals(model.table())
    assert repr(model.perf).startswith("a result of explain_variation")


def test_pictures_of_fitted_models(times):
    pytest.importorskip("matplotlib")
    mixture = times.isel(version=0, benchmark=0).perf.fit_mixture(n_components=1)
    ax, same = mixture.perf.plot(), mixture.plot()
    assert len(ax.lines) == len(same.lines) > 0


def test_files(times, tmp_path):
    pytest.importorskip("h5netcdf")
    combined = perfarray.combine(
        {"mean": times.perf.mean_interval(), "ratio": times.perf.ratio_interval("old")}
    )
    combined.to_netcdf(tmp_path / "both.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "both.nc", engine="h5netcdf") as second_run:
        assert second_run.load().perf.table().equals(combined.perf.table())


@pytest.mark.parametrize("results", [{}, {"": 1}, {"a b": 1}, {3: 1}])
def test_names_are_needed(results):
    with pytest.raises(ValueError, match="results must map names to results"):
        perfarray.combine(results)


def test_what_is_known_of_labels_stays(times):
    """Descriptors along the compared dim, which the ratio knows of the candidate alone, are those
    of the data."""
    sorted_known = {
        "python": np.array(["3.6", "3.7"], dtype=object),
        "debug": [True, False],
        "year": [1, 2],
    }
    times = times.assign_coords(
        {name: ("version", values) for name, values in sorted_known.items()}
    )
    with pytest.warns(
        perfarray.PerfarrayWarning, match=r"python 3\.7 against 3\.6; debug False against True"
    ):
        combined = perfarray.combine(
            {"ratio": times.perf.compare("old"), "mean": times.perf.mean_interval()}
        )
    for name, values in sorted_known.items():
        assert combined[name].sel(version=["old", "new"]).values.tolist() == list(values)
    assert combined["debug"].dtype == bool
    another = times.assign_coords(python=("version", np.array(["2.7", "3.7"], dtype=object)))
    with pytest.raises(ValueError, match="say different things of the coordinate 'python'"):
        perfarray.combine({"one": times.perf.mean_interval(), "two": another.perf.mean_interval()})
    with pytest.raises(ValueError, match="'times' is no result"):
        perfarray.combine({"times": times})


def test_rows_of_other_dims_do_not_stand_side_by_side(times):
    """The message names them; dims in another order, and results that are one row, do."""
    mean = times.perf.mean_interval()
    combined = perfarray.combine(
        {"mean": mean, "ratio": times.transpose(..., "version", "benchmark").perf.compare("old")}
    )
    ordered = perfarray.combine({"mean": mean, "ratio": times.perf.compare("old")})
    assert sorted(combined.perf.table()["ratio", "change"]) == sorted(
        ordered.perf.table()["ratio", "change"]
    )
    assert len(combined.perf.table()) == len(ordered.perf.table())
    with pytest.raises(ValueError, match="'every' has a row for every version, but 'new' has not"):
        perfarray.combine({"every": mean, "new": mean.sel(version="new", drop=True)}).perf.table()
    subset = mean.isel(benchmark=0, version=0, drop=True)
    assert len(perfarray.combine({"one": subset, "same": subset}).perf.table()) == 1


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_cells_that_nobody_measured_have_no_row():
    """A row is a cell in which one of the results has something to say; the order by size is that
    of the first."""
    ratios = np.full((2, 3, 2, 3), np.nan)
    ratios[:, 0, 0], ratios[:, 1, 1], ratios[:, 2, 0, :1] = 2.0, 4.0, 3.0
    times = xr.DataArray(
        ratios * [1.0, 1.1, 1.2], dims=("benchmark", "machine", "flags", "execution")
    ).assign_coords(benchmark=["a", "b"], machine=["m1", "m2", "m3"], flags=["O2", "O3"])
    results = {"score": times.perf.suite_score(), "variation": times.perf.relative_variation()}
    table = perfarray.combine(results).perf.table(sort="effect")
    assert table.index.tolist() == [("m2", "O3"), ("m3", "O2"), ("m1", "O2")]
    assert table["variation", "relative variation"].tolist()[1] == "-"
    assert table["score", "estimate"].str.startswith(("4", "3", "2")).all()
