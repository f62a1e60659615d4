"""Two systems side by side."""

import numpy as np
import pytest
import xarray as xr

from perfarray.timings.pairs import labels_along, resolve_pair


@pytest.fixture
def times():
    """Four versions of three executions."""
    return xr.DataArray(np.arange(12.0).reshape(4, 3) + 1, {"version": list("abcd")}, ("version", "execution"), name="time")


@pytest.mark.parametrize(("baseline", "copied"), [("a", False), ("d", False), ("b", True)])
def test_candidates_side_by_side_are_not_copied(times, baseline, copied):
    """A baseline at either end leaves the others where they are; one between them does not."""
    pair = resolve_pair(times, baseline, dim=None, metric=None, levels=None)
    assert pair.candidate.array["version"].values.tolist() == [label for label in "abcd" if label != baseline]
    xr.testing.assert_identical(pair.candidate.array, times.sel(version=[label for label in "abcd" if label != baseline]))
    np.testing.assert_array_equal(pair.baseline.array, times.sel(version=baseline))
    assert np.shares_memory(pair.candidate.array.values, times.values) is not copied


def test_labels_are_those_of_the_dim(times):
    """Whatever holds them: an index, a coordinate without one, days, or nothing but places."""
    days = times.assign_coords(version=np.array(["2020-01-01"] * 4, dtype="datetime64[ns]"))
    stacked = times.expand_dims(machine=["m"]).stack(place=("machine", "version"))
    for array in (times, times.drop_indexes("version"), times.drop_vars("version"), days):
        assert labels_along(array, "version") == array["version"].values.tolist()
    assert labels_along(stacked, "place") == stacked["place"].values.tolist() == [("m", label) for label in "abcd"]
