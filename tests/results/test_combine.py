"""Results of several methods side by side."""

import numpy as np
import pytest
import xarray as xr

import perfarray


@pytest.fixture
def times():
    samples = {"old": [10.0, 10.2, 9.9, 10.1], "new": [9.0, 9.1, 8.9, 9.2]}
    one = perfarray.from_samples(samples)
    return xr.concat(
        [one, 2 * one], xr.IndexVariable("benchmark", ["b", "a"]), combine_attrs="override"
    ).assign_attrs(one.attrs)


def test_variables_and_attrs_have_their_names(times):
    """No value changes; the order of labels is that of the data; the baseline has no ratio."""
    mean, ratio, verdict = (
        times.perf.mean_interval(),
        times.perf.ratio_interval("old"),
        times.perf.compare("old"),
    )
    both = perfarray.combine({"mean": mean, "ratio": ratio, "verdict": verdict})
    assert both["version"].values.tolist() == ["old", "new"]
    assert both["benchmark"].values.tolist() == ["b", "a"]
    for name, one in (("mean", mean), ("ratio", ratio)):
        for variable in one.data_vars:
            part = (
                both[f"{name}_{variable}"]
                .sel(version=one["version"])
                .transpose(*one[variable].dims)
            )
            np.testing.assert_array_equal(part.values, one[variable].values)
    assert both["ratio_estimate"].sel(version="old").isnull().all()
    assert both["verdict_verdict"].sel(version="old", benchmark="a").item() == "unknown"
    assert not both["verdict_not_slower"].sel(version="old").any()
    assert (both.attrs["mean_result"], both.attrs["ratio_method"]) == ("mean_interval", "fieller")


def test_its_table_and_notes(times):
    """Columns stand below the name of their result; what each had to say is kept once."""
    few = times.isel(execution=[0])
    with pytest.warns(perfarray.PerfarrayWarning):
        mean, ratio = few.perf.mean_interval(), few.perf.ratio_interval("old")
    with pytest.warns(perfarray.PerfarrayWarning):
        both = perfarray.combine({"mean": mean, "ratio": ratio})
    with pytest.warns(perfarray.PerfarrayWarning):
        twice = perfarray.combine({"first": ratio, "second": ratio})
    assert {note.code for note in both.perf.notes()} == {
        note.code for one in (mean, ratio) for note in one.perf.notes()
    }
    assert [note.message for note in twice.perf.notes()] == [
        note.message for note in ratio.perf.notes()
    ]
    found = both.perf.table()
    assert set(found.columns.get_level_values(0)) == {"mean", "ratio"}
    assert found.loc[("b", "old"), ("ratio", "change")] == "-"


def test_files(times, tmp_path):
    pytest.importorskip("h5netcdf")
    both = perfarray.combine(
        {"mean": times.perf.mean_interval(), "ratio": times.perf.ratio_interval("old")}
    )
    both.to_netcdf(tmp_path / "both.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "both.nc", engine="h5netcdf") as again:
        assert again.load().perf.table().equals(both.perf.table())


@pytest.mark.parametrize("results", [{}, {"": 1}, {"a b": 1}, {3: 1}])
def test_names_are_needed(results):
    with pytest.raises(ValueError, match="results must map names to results"):
        perfarray.combine(results)


def test_what_is_known_of_labels_stays(times):
    """Descriptors along the compared dim, which the ratio knows of the candidate alone, are those
    of the data."""
    known = {
        "python": np.array(["3.6", "3.7"], dtype=object),
        "debug": [True, False],
        "year": [1, 2],
    }
    times = times.assign_coords({name: ("version", values) for name, values in known.items()})
    with pytest.warns(
        perfarray.PerfarrayWarning, match=r"python 3\.7 against 3\.6; debug False against True"
    ):
        both = perfarray.combine(
            {"ratio": times.perf.compare("old"), "mean": times.perf.mean_interval()}
        )
    for name, values in known.items():
        assert both[name].sel(version=["old", "new"]).values.tolist() == list(values)
    assert both["debug"].dtype == bool
    other = times.assign_coords(python=("version", np.array(["2.7", "3.7"], dtype=object)))
    with pytest.raises(ValueError, match="say different things of the coordinate 'python'"):
        perfarray.combine({"one": times.perf.mean_interval(), "two": other.perf.mean_interval()})
    with pytest.raises(ValueError, match="'times' is no result"):
        perfarray.combine({"times": times})


def test_rows_of_other_dims_do_not_stand_side_by_side(times):
    """The message names them; dims in another order, and results that are one row, do."""
    mean = times.perf.mean_interval()
    both = perfarray.combine(
        {"mean": mean, "ratio": times.transpose(..., "version", "benchmark").perf.compare("old")}
    )
    ordered = perfarray.combine({"mean": mean, "ratio": times.perf.compare("old")})
    assert sorted(both.perf.table()["ratio", "change"]) == sorted(
        ordered.perf.table()["ratio", "change"]
    )
    assert len(both.perf.table()) == len(ordered.perf.table())
    with pytest.raises(ValueError, match="'every' has a row for every version, and 'new' has not"):
        perfarray.combine({"every": mean, "new": mean.sel(version="new", drop=True)}).perf.table()
    one = mean.isel(benchmark=0, version=0, drop=True)
    assert len(perfarray.combine({"one": one, "same": one}).perf.table()) == 1


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
