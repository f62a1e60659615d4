"""Timings that the tests of comparisons are made of."""

import xarray as xr

SIDES = ["old", "new"]


def in_seconds(values, *dims, **coords):
    """Return times along some dims; labels of versions are those of two sides."""
    labels = {"version": SIDES} | coords if "version" in dims else coords
    return xr.DataArray(values, dims=dims, coords=labels, attrs={"units": "s"}, name="time")
