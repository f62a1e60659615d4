"""Two systems side by side."""

import numpy as np
import pytest
import xarray as xr

from perfarray.timings.labels import labels_along


@pytest.fixture
def times():
    return xr.DataArray(
        np.arange(12.0).reshape(4, 3) + 1,
        {"version": list("abcd")},
        ("version", "execution"),
        name="time",
    )


def test_labels_are_those_of_the_dim(times):
    """Whatever holds them: an index, a coordinate without one, days, or nothing but places."""
    days = times.assign_coords(version=np.array(["2020-01-01"] * 4, dtype="datetime64[ns]"))
    stacked = times.expand_dims(machine=["m"]).stack(place=("machine", "version"))
    for array in (times, times.drop_indexes("version"), times.drop_vars("version"), days):
        assert labels_along(array, "version") == array["version"].values.tolist()
    assert (
        labels_along(stacked, "place")
        == stacked["place"].values.tolist()
        == [("m", label) for label in "abcd"]
    )
