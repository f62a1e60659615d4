"""What starting one more repetition of a level costs: prices given as numbers or arrays, with the labels of the timings."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, SECONDS
from perfarray.timings.resolve import Timings
from perfarray.timings.validation import check_choice, listed

PRICE = "_price"
"""The dim prices lie along, outermost level first."""

ITERATIONS = "iterations"
COST_UNITS = (ITERATIONS, SECONDS)


def prices(costs: Any, times: Timings, cost_units: str, chosen: Mapping[str, object] | None = None) -> xr.DataArray:
    """Return what starting one repetition of each level costs; NaN at the lowest level where its mean time is the price.

    `chosen` selects labels of dims that the timings no longer have: those of a baseline.
    """
    check_choice(cost_units, "cost_units", COST_UNITS)
    levels, lowest = times.levels, times.levels[-1]
    if not isinstance(costs, Mapping):
        raise ValueError(f"costs={costs!r}: give a mapping of levels to prices, as in {{'execution': 19, 'binary': 5343}}")
    unknown = [name for name in costs if name not in levels]
    if unknown:
        raise ValueError(f"costs names {listed(unknown)}, which is no level of these timings; the levels are {levels}")
    missing = [level for level in levels[:-1] if level not in costs]
    if missing:
        raise ValueError(
            f"costs has no price for {listed(missing)}; say what starting one more costs (0 if nothing), in {cost_units}; only the lowest "
            f"level, {lowest!r}, needs none: {'its mean time' if cost_units == SECONDS else 'one costs 1'}"
        )
    if cost_units == SECONDS and lowest not in costs and times.units != SECONDS:
        raise ValueError(
            f"cost_units='s', but {times.array.name or 'the data'} is in {times.units!r}, not seconds; say in costs what one {lowest} takes"
        )
    default = np.nan if cost_units == SECONDS else 1.0
    found = [_price(costs[level], level, times, chosen or {}) if level in costs else xr.DataArray(default) for level in levels]
    joined: xr.DataArray = xr.concat(xr.broadcast(*found), PRICE, coords="minimal", compat="override").transpose(..., PRICE)
    return joined


def _price(value: Any, level: str, times: Timings, chosen: Mapping[str, object]) -> xr.DataArray:
    """Return one price as an array with the labels of the timings; that of the lowest level is above zero."""
    array = _labelled(value, level, times, chosen)
    positive = level == times.levels[-1]
    wrong = array.isnull() | (abs(array) == np.inf) | (array <= 0 if positive else array < 0)
    if bool(wrong.any()):
        least = "above zero" if positive else "zero or more"
        raise ValueError(f"costs[{level!r}] holds {float(array.values[wrong.values].ravel()[0]):g}; a price is {least}, and finite")
    return array


def _labelled(value: Any, level: str, times: Timings, chosen: Mapping[str, object]) -> xr.DataArray:
    """Return a number, an array over benchmark, or a labelled array, with the labels of the timings."""
    array = times.array
    if isinstance(value, pd.Series):
        value = xr.DataArray(value.to_numpy(), dims=BENCHMARK, coords={BENCHMARK: value.index.to_numpy()})
    elif not isinstance(value, xr.DataArray):
        try:
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            numbers = None
        if numbers is None or isinstance(value, bool):
            raise ValueError(f"costs[{level!r}]={value!r}: give a number, an array over benchmark, or a labelled array")
        value = xr.DataArray(numbers)
        if value.ndim == 1 and value.size == array.sizes.get(BENCHMARK):
            value = value.rename({str(value.dims[0]): BENCHMARK})
        elif value.ndim:
            number = array.sizes.get(BENCHMARK, "the data have none")
            raise ValueError(f"costs[{level!r}] has shape {value.shape}; give a number, one per benchmark ({number}), or a DataArray")
    value = value.astype(float).reset_coords(drop=True)
    for dim in list(value.dims):
        if dim in chosen:
            value = _at(value, dim, chosen[dim], level).drop_vars(dim, errors="ignore")
        elif dim not in array.dims or dim in times.levels:
            others = [name for name in array.dims if name not in times.levels]
            raise ValueError(f"costs[{level!r}] has the dim {dim!r}, along which the timings have no cells; they have {listed(others)}")
        elif dim in value.coords:
            value = _at(value, dim, array[dim].values.tolist(), level)
        elif value.sizes[dim] != array.sizes[dim]:
            raise ValueError(f"costs[{level!r}] has {value.sizes[dim]} values along {dim!r}, the timings have {array.sizes[dim]}")
    labelled: xr.DataArray = value.assign_coords({dim: array[dim] for dim in value.dims if dim in array.coords})
    return labelled


def _at(value: xr.DataArray, dim: Any, labels: Any, level: str) -> xr.DataArray:
    """Select labels; the message names those that are missing."""
    try:
        selected: xr.DataArray = value.sel({dim: labels})
        return selected
    except KeyError:
        wanted = labels if isinstance(labels, list) else [labels]
        missing = [label for label in wanted if label not in value[dim].values.tolist()]
        raise ValueError(f"costs[{level!r}] has no price for {listed(missing)} along {dim!r}") from None
