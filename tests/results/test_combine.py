"""Results of several methods side by side."""

import numpy as np
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
