"""The nest: counts, merging a level, removing warm-up, back to a long table."""

import numpy as np
import pytest
import xarray as xr

from perfarray.conventions import MARKS


def ragged():
    """Two binaries; the second has one execution, and that only two iterations."""
    values = np.arange(12.0).reshape(2, 2, 3) + 1
    values[1, 1] = np.nan
    values[1, 0, 2] = np.nan
    return xr.DataArray(values, dims=("binary", "execution", "iteration"), name="time", attrs={"units": "s"})


def test_counts_of_a_ragged_nest():
    """Minimum and maximum are per parent with data, total counts repetitions with data."""
    found = ragged().perf.counts()
    assert found["level"].values.tolist() == ["binary", "execution", "iteration"]
    assert found["minimum"].values.tolist() == [2, 1, 2]
    assert found["maximum"].values.tolist() == [2, 2, 3]
    assert found["total"].values.tolist() == [2, 3, 8]
    assert found["balanced"].values.tolist() == [True, False, False]
    assert found.attrs["result"] == "counts"
    assert found.attrs["levels"] == "binary execution iteration"


def test_counts_of_an_empty_cell():
    """A cell without data has zeros, NaN extremes, and is not balanced."""
    times = xr.concat([ragged(), ragged() * np.nan], dim="benchmark")
    found = times.perf.counts().isel(benchmark=1)
    assert found["total"].values.tolist() == [0, 0, 0]
    assert np.isnan(found["minimum"]).all()
    assert not found["balanced"].any()


def test_a_level_left_out_broadcasts():
    """Nothing is pooled: a repetition dim that is not named is a dim of the answer."""
    found = ragged().perf.counts(levels=("execution", "iteration"))
    assert found["total"].dims == ("binary", "level")
    assert found["total"].sel(level="execution").values.tolist() == [2, 1]


def test_any_dim_can_be_a_level():
    """Machines as repetitions: named from the outside in."""
    times = xr.DataArray(np.ones((4, 3)), dims=("machine", "execution"))
    found = times.perf.counts(levels=("machine", "execution"))
    assert found["total"].values.tolist() == [4, 12]
    assert found.attrs["unit"] == "machine"


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
        found, expected = getattr(times.perf, name)(**keywords), getattr(without.perf, name)()
        xr.testing.assert_equal(found, expected)
        assert found.attrs[f"n_{mark}"] == 2


def test_a_mark_along_one_dim_counts_every_position():
    """A mark along `iteration` alone stands for all executions."""
    times = xr.DataArray(np.ones((4, 5)), dims=("execution", "iteration"), coords={"warmup": ("iteration", [True] * 2 + [False] * 3)})
    found = times.perf.counts()
    assert found.attrs["n_warmup"] == 8
    assert found["total"].values.tolist() == [4, 12]


def test_marks_survive_joins_as_objects_or_floats():
    """xarray's joins turn bool into object or float with NaN: NaN means False."""
    left = xr.Dataset(
        {"time": (("file", "execution"), np.ones((1, 2)))}, {"file": ["a"], "warmup": (("file", "execution"), [[True, False]])}
    )
    right = xr.Dataset(
        {"time": (("file", "execution"), np.ones((1, 3)))}, {"file": ["b"], "warmup": (("file", "execution"), [[False] * 3])}
    )
    left, right = (data.assign_coords(execution=np.arange(data.sizes["execution"])) for data in (left, right))
    joined = xr.concat([left, right], dim="file", join="outer")
    assert joined["warmup"].dtype != bool
    assert joined.perf.counts()["total"].sel(level="execution").values.tolist() == [1, 3]
    assert joined.perf.counts().attrs["n_warmup"] == 1


def test_merge_level_pools_repetitions():
    """Table IV: executions of a binary become more iterations; values are kept, positions without any are gone."""
    merged = ragged().perf.merge_level("execution")
    assert merged.dims == ("binary", "iteration")
    assert merged.name == "time"
    assert merged.attrs == {"units": "s"}
    assert sorted(merged.values[~np.isnan(merged.values)]) == sorted(ragged().values[~np.isnan(ragged().values)])
    outer = ragged().perf.merge_level("binary")
    assert dict(outer.sizes) == {"execution": 3, "iteration": 3}


def test_merge_level_takes_all_metrics_and_coordinates():
    """A Dataset stays a Dataset; marks and numbers along the level go with it."""
    times = ragged().to_dataset()
    times["energy"] = times["time"] * 2
    times = times.assign_coords(warmup=times["time"] == 1, date=("binary", ["mon", "tue"]))
    merged = times.perf.merge_level("binary")
    assert set(merged.data_vars) == {"time", "energy"}
    assert merged["warmup"].dims == merged["time"].dims
    assert merged["warmup"].dtype == bool
    assert merged["date"].values.tolist() == ["mon", "mon", "tue"]
    xr.testing.assert_allclose(merged["energy"], merged["time"] * 2)


def test_merge_level_says_what_cannot_be_merged():
    """The lowest level has nothing below; a dim that is not there is named with those that are."""
    with pytest.raises(ValueError, match="'iteration' is the lowest level"):
        ragged().perf.merge_level("iteration")
    with pytest.raises(ValueError, match=r"level 'session' not found; the array has dims \('binary', 'execution', 'iteration'\)"):
        ragged().perf.merge_level("session")


def test_merge_level_widens_what_lacks_the_level_below():
    """A metric measured per session only keeps its values."""
    times = xr.Dataset({"time": (("session", "execution"), np.ones((2, 3))), "energy": ("session", [5.0, 6.0])})
    merged = times.perf.merge_level("session")
    assert merged["time"].sizes["execution"] == 6
    assert sorted(merged["energy"].dropna("execution").values) == [5.0, 6.0]


def test_drop_warmup_removes_marked_values_for_good():
    """Marked values go, the coordinate too, and iterations count from 0 again."""
    times = xr.DataArray(np.arange(10.0).reshape(2, 5), dims=("execution", "iteration"), name="time", attrs={"units": "s"})
    times = times.assign_coords(
        warmup=(("execution", "iteration"), np.array([[True, True, False, False, False], [True, False, False, False, False]]))
    )
    found = times.perf.drop_warmup()
    assert "warmup" not in found.coords
    assert found["iteration"].values.tolist() == [0, 1, 2, 3]
    assert np.isnan(found.values[0, 0])
    assert found.values[1, 0] == 6
    assert found.attrs == {"units": "s"}
    xr.testing.assert_equal(found.perf.mean_interval(), times.perf.mean_interval())


def test_drop_warmup_by_number():
    """The first n positions go, of every metric, marked or not."""
    times = xr.Dataset({"time": (("execution", "iteration"), np.arange(10.0).reshape(2, 5)), "load": ("execution", [0.1, 0.2])})
    found = times.perf.drop_warmup(2)
    assert found["time"].values.tolist() == [[2, 3, 4], [7, 8, 9]]
    assert found["load"].values.tolist() == [0.1, 0.2]
    for wrong, message in ((5, "would remove all 5 iterations"), (-1, "whole number of at least 0"), (1.5, "whole number")):
        with pytest.raises(ValueError, match=message):
            times.perf.drop_warmup(wrong)
    with pytest.raises(ValueError, match="dim 'iteration' not found"):
        times["load"].perf.drop_warmup(1)


def test_to_frame_has_a_row_per_measurement():
    """No row without a value; dims, coordinates and metrics are columns; lost marks are counted."""
    times = ragged().to_dataset().assign_coords(failed=ragged().isnull(), flags=("binary", ["O2", "O3"]))
    frame = times.perf.to_frame()
    assert len(frame) == 8
    assert list(frame.columns) == ["binary", "execution", "iteration", "failed", "flags", "time"]
    assert frame["time"].notna().all()
    assert frame.attrs == {"n_failed": 4}
