"""The nest: counts, merging a level, removing warm-up, back to a long table."""

import numpy as np
import pytest
import xarray as xr

from perfarray.conventions import MARKS


def ragged():
    """Two binaries; the second has one execution, and that only two iterations."""
    values = [[[1, 2, 3], [4, 5, 6]], [[7, 8, np.nan], [np.nan] * 3]]
    return xr.DataArray(
        values, dims=("binary", "execution", "iteration"), name="time", attrs={"units": "s"}
    )


def test_counts_of_a_ragged_nest():
    """Minimum and maximum are per parent with data, total counts repetitions with data."""
    counts = ragged().perf.counts()
    expected = {
        "level": ["binary", "execution", "iteration"],
        "minimum": [2, 1, 2],
        "maximum": [2, 2, 3],
        "total": [2, 3, 8],
    }
    for name, values in (expected | {"balanced": [True, False, False]}).items():
        assert counts[name].values.tolist() == values
    assert (counts.attrs["result"], counts.attrs["levels"]) == (
        "counts",
        "binary execution iteration",
    )


def test_counts_of_an_empty_cell():
    """A cell without data has zeros, NaN extremes, and is not balanced."""
    counts = (
        xr.concat([ragged(), ragged() * np.nan], dim="benchmark").perf.counts().isel(benchmark=1)
    )
    assert counts["total"].values.tolist() == [0, 0, 0]
    assert np.isnan(counts["minimum"]).all()
    assert not counts["balanced"].any()


def test_which_dims_are_levels():
    """Any that is named, from the outside in; nothing is pooled: a repetition dim that is not named
    is a dim of the answer."""
    totals = ragged().perf.counts(levels=("execution", "iteration"))["total"]
    assert (totals.dims, totals.sel(level="execution").values.tolist()) == (
        ("binary", "level"),
        [2, 1],
    )
    machines = (
        ragged()
        .isel(binary=0)
        .rename(execution="machine")
        .perf.counts(levels=("machine", "iteration"))
    )
    assert (machines["total"].values.tolist(), machines.attrs["unit"]) == ([2, 6], "machine")


@pytest.mark.filterwarnings("ignore:.*stopped at a limit")
@pytest.mark.parametrize("mark", MARKS)
def test_marked_values_are_left_out_and_counted(mark):
    """Every method leaves marked values out; attrs hold how many."""
    marked = np.zeros((2, 2, 3), dtype=bool)
    marked[0, 0] = [True, True, False]
    times = ragged().assign_coords({mark: (("binary", "execution", "iteration"), marked)})
    without = ragged().where(~marked)
    for name in ("counts", "variance_components", "mean_interval"):
        keywords = {"censored": "drop"} if name == "mean_interval" else {}
        result, expected = getattr(times.perf, name)(**keywords), getattr(without.perf, name)()
        xr.testing.assert_equal(result, expected)
        assert result.attrs[f"n_{mark}"] == 2


def test_a_mark_along_one_dim_counts_every_position():
    """A mark along `iteration` alone stands for all executions."""
    times = xr.DataArray(
        np.ones((4, 5)),
        {"warmup": ("iteration", [True] * 2 + [False] * 3)},
        ("execution", "iteration"),
    )
    counts = times.perf.counts()
    assert (counts.attrs["n_warmup"], counts["total"].values.tolist()) == (8, [4, 12])


def test_marks_survive_joins_as_objects_or_floats():
    """xarray's joins turn bool into object or float with NaN: NaN means False."""
    files = [
        xr.DataArray(
            [[1.0] * len(warmup)],
            {"file": [name], "warmup": (("file", "execution"), [warmup])},
            ("file", "execution"),
            "time",
        )
        for name, warmup in (("a", [True, False]), ("b", [False] * 3))
    ]
    joined = xr.concat(
        [file.assign_coords(execution=range(file.size)).to_dataset() for file in files],
        dim="file",
        join="outer",
    )
    assert joined["warmup"].dtype != bool
    counts = joined.perf.counts()
    assert (counts["total"].sel(level="execution").values.tolist(), counts.attrs["n_warmup"]) == (
        [1, 3],
        1,
    )


def test_merge_level_pools_repetitions():
    """Table IV: executions of a binary become more iterations; values are kept, positions without
    any are gone."""
    merged = ragged().perf.merge_level("execution")
    assert (merged.dims, merged.name, merged.attrs) == (
        ("binary", "iteration"),
        "time",
        {"units": "s"},
    )
    assert sorted(merged.values[~np.isnan(merged.values)]) == list(range(1, 9))
    assert dict(ragged().perf.merge_level("binary").sizes) == {"execution": 3, "iteration": 3}


def test_merge_level_takes_all_metrics_and_coordinates():
    """A Dataset stays a Dataset; marks and numbers along the level go with it."""
    times = xr.Dataset({"time": ragged(), "energy": ragged() * 2})
    merged = times.assign_coords(
        warmup=times["time"] == 1, date=("binary", ["mon", "tue"])
    ).perf.merge_level("binary")
    assert set(merged.data_vars) == {"time", "energy"}
    assert (merged["warmup"].dims, merged["warmup"].dtype) == (merged["time"].dims, bool)
    assert merged["date"].values.tolist() == ["mon", "mon", "tue"]
    xr.testing.assert_allclose(merged["energy"], merged["time"] * 2)


def test_merge_level_says_what_cannot_be_merged():
    """The lowest level has nothing below; a dim that is not there is named with those that are."""
    with pytest.raises(ValueError, match="'iteration' is the lowest level"):
        ragged().perf.merge_level("iteration")
    with pytest.raises(
        ValueError,
        match=r"level 'session' not found; the array has dims \('binary', 'execution', "
        r"'iteration'\)",
    ):
        ragged().perf.merge_level("session")


def test_merge_level_widens_what_lacks_the_level_below():
    times = xr.Dataset(
        {"time": (("session", "execution"), np.ones((2, 3))), "energy": ("session", [5.0, 6.0])}
    )
    merged = times.perf.merge_level("session")
    assert merged["time"].sizes["execution"] == 6
    assert sorted(merged["energy"].dropna("execution").values) == [5.0, 6.0]


def test_drop_warmup_removes_marked_values_for_good():
    """Marked values go, the coordinate too, and iterations count from 0 again."""
    times = xr.DataArray(
        np.arange(10.0).reshape(2, 5),
        dims=("execution", "iteration"),
        name="time",
        attrs={"units": "s"},
    )
    times = times.assign_coords(warmup=times.copy(data=np.arange(5) < [[2], [1]]))
    times_without_warmup = times.perf.drop_warmup()
    assert "warmup" not in times_without_warmup.coords
    assert times_without_warmup["iteration"].values.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(times_without_warmup, [[np.nan, 2, 3, 4], [6, 7, 8, 9]])
    assert times_without_warmup.attrs == {"units": "s"}
    xr.testing.assert_equal(times_without_warmup.perf.mean_interval(), times.perf.mean_interval())


def test_drop_warmup_by_number():
    """The first n positions go, of every metric, marked or not."""
    times = xr.Dataset(
        {
            "time": (("execution", "iteration"), np.arange(10.0).reshape(2, 5)),
            "load": ("execution", [0.1, 0.2]),
        }
    )
    times_without_warmup = times.perf.drop_warmup(2)
    assert times_without_warmup["time"].values.tolist() == [[2, 3, 4], [7, 8, 9]]
    assert times_without_warmup["load"].values.tolist() == [0.1, 0.2]
    for wrong, message in (
        (5, "would remove all 5 iterations"),
        (-1, "whole number of at least 0"),
        (1.5, "whole number"),
    ):
        with pytest.raises(ValueError, match=message):
            times.perf.drop_warmup(wrong)
    with pytest.raises(ValueError, match="dim 'iteration' not found"):
        times["load"].perf.drop_warmup(1)


def test_to_frame_has_a_row_per_measurement():
    """No row without a value; dims, coordinates and metrics are columns; lost marks are counted."""
    times = (
        ragged()
        .to_dataset()
        .assign_coords(failed=ragged().isnull(), flags=("binary", ["O2", "O3"]))
    )
    frame = times.perf.to_frame()
    assert len(frame) == 8
    assert list(frame.columns) == ["binary", "execution", "iteration", "failed", "flags", "time"]
    assert frame["time"].notna().all()
    assert frame.attrs == {"n_failed": 4}


@pytest.mark.parametrize("level", ["binary", "session", "execution"])
@pytest.mark.parametrize("empty", ["benchmark", "binary", "session", "execution", "iteration"])
def test_a_dim_without_labels_is_named(level, empty):
    """Nothing can be merged where a selection left nothing: the message names the dim."""
    dims = ("benchmark", "binary", "session", "execution", "iteration")
    times = xr.DataArray(np.ones((2, 2, 2, 2, 3)), dims=dims, name="time")
    with pytest.raises(ValueError, match=f"there are no timings: '{empty}' has no labels"):
        times.isel({empty: slice(0)}).perf.merge_level(level)
