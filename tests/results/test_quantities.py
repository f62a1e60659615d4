"""Quantities of pint: numbers with a unit at every door, and refused in a table."""

import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray

TIMES = xr.DataArray(
    np.random.default_rng(1).lognormal(0, 0.05, (2, 2, 12)),
    {"version": ["old", "new"], "benchmark": ["fft", "lu"]},
    ("version", "benchmark", "execution"),
    "time",
    {"units": "ms"},
)


class Unit:
    """A unit that knows its short name."""

    def __format__(self, style):
        return {"~": "ms"}[style]


class Quantity(np.lib.mixins.NDArrayOperatorsMixin):
    """An array with a unit, as pint has it: xarray keeps it, and NumPy's functions refuse it."""

    units = Unit()

    def __init__(self, magnitude):
        self.magnitude = magnitude
        self.ndim, self.shape, self.dtype = magnitude.ndim, magnitude.shape, magnitude.dtype

    def __getitem__(self, key):
        return Quantity(self.magnitude[key])

    def __array_function__(self, function, types, args, keywords):
        raise TypeError(f"{function.__name__} of a quantity")

    def __array_ufunc__(self, function, method, *inputs, **keywords):
        raise TypeError(f"{function.__name__} of a quantity")


@pytest.fixture(params=["pint", "a class of its kind"])
def quantified(request, monkeypatch):
    """A function that makes quantities in milliseconds of an array."""
    if request.param == "pint":
        registry = pytest.importorskip("pint").UnitRegistry()
        return lambda array: array.copy(data=registry.Quantity(array.values, "ms")).drop_attrs()
    monkeypatch.setitem(sys.modules, "pint", ModuleType("pint"))
    return lambda array: array.copy(data=Quantity(array.values)).drop_attrs()


def test_the_answer_is_that_of_numbers_with_a_unit(quantified):
    """Of an array, a variable, a baseline, and a limit of stopped runs beside them."""
    quantities = quantified(TIMES)
    xr.testing.assert_identical(quantities.perf.compare("old"), TIMES.perf.compare("old"))
    dataset = xr.Dataset({"time": quantities}).assign_coords(noise=quantities[0].variable)
    result = dataset.perf.mean_interval()
    np.testing.assert_allclose(result["estimate"], TIMES.mean("execution"), rtol=1e-14)
    assert result["estimate"].attrs["units"] == "ms"
    old, new = (TIMES.sel(version=label, drop=True) for label in ("old", "new"))
    xr.testing.assert_identical(
        quantified(new).perf.ratio_interval(quantified(old)), new.perf.ratio_interval(old)
    )


def test_what_is_given_is_not_changed(quantified):
    quantities = quantified(TIMES)
    quantities.perf.mean_interval()
    assert hasattr(quantities.data, "magnitude")


def test_other_units_are_refused(quantified):
    old, new = (TIMES.sel(version=label, drop=True) for label in ("old", "new"))
    with pytest.raises(ValueError, match="the data are in 'ms', the baseline in 's'"):
        quantified(new).perf.compare(old.assign_attrs(units="s"))


def test_a_table_of_quantities_is_refused():
    """Milliseconds are never taken for seconds; the message names what to give."""
    pytest.importorskip("pint_pandas")
    frame = pd.DataFrame({"version": ["a", "b"], "time": pd.Series([1.0, 2.0], dtype="pint[ms]")})
    with pytest.raises(ValueError, match=r"quantities in millisecond; .* and units='ms'"):
        frame.perf.to_timings()


def test_dtypes_with_a_unit_of_dates_are_no_quantities():
    """A date with a time zone is a dtype with a `unit`."""
    frame = pd.DataFrame({"time": [1.0, 2.0], "date": pd.date_range("2026", periods=2, tz="UTC")})
    assert perfarray.to_timings(frame)["time"].size == 2
