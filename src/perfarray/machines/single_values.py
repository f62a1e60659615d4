"""Scores without repetitions, as in dumps of published results: one value per cell."""

import xarray as xr

from perfarray.conventions import LEVELS, METRIC
from perfarray.timings.chunks import evenly_chunked
from perfarray.timings.resolve import Data
from perfarray.timings.validation import listed
from perfarray.timings.values import check_direction, measurable


def single_values(times: Data, metric: str | None) -> xr.DataArray | None:
    """Return the variable that holds one value per cell, where there is no repetition dim; None where there is one."""
    if any(dim in LEVELS for dim in getattr(times, "dims", LEVELS)):
        return None
    if isinstance(times, xr.DataArray):
        return _checked(times) if metric is None else None
    numbers = [str(name) for name, variable in times.data_vars.items() if variable.dtype.kind in "iuf"]
    name_asked = metric if metric is not None else times.attrs.get(METRIC)
    if name_asked in numbers:
        return _checked(times[str(name_asked)])
    if metric is None and len(numbers) == 1:
        return _checked(times[numbers[0]])
    raise ValueError(f"which variable holds the values? Say so with metric=; the Dataset has the numbers {listed(numbers)}")


def _checked(array: xr.DataArray) -> xr.DataArray:
    """Refuse a direction that is none, and values that cannot have been measured."""
    check_direction(array)
    return measurable(evenly_chunked(array))
