"""What starting one more repetition of a level costs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, ITERATION, LOOPS, SECONDS, price_of
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note
from perfarray.timings.resolve import Timings
from perfarray.timings.validation import check_choice, listed
from perfarray.timings.zeros import cell_names

PRICE = "_price"  # the dim prices lie along, outermost level first
ITERATIONS = "iterations"
COST_UNITS = (ITERATIONS, SECONDS)


def prices(
    costs: Any, times: Timings, cost_units: str, selected_labels: Mapping[str, object] | None = None
) -> tuple[xr.DataArray, dict[str, xr.DataArray]]:
    """Return the price of each level, and by level those that the data say.

    Prices lie along `PRICE`, NaN at the lowest level where its mean time is the price.
    `selected_labels` selects labels of dims that the timings no longer have: those of a baseline.
    """
    check_choice(cost_units, "cost_units", COST_UNITS)
    levels, lowest = times.levels, times.levels[-1]
    costs_by_level = {} if costs is None else costs
    if not isinstance(costs_by_level, Mapping):
        raise ValueError(
            f"costs={costs!r}: give a mapping of levels to prices, as in {{'execution': 19, "
            f"'binary': 5343}}"
        )
    unknown = [name for name in costs_by_level if name not in levels]
    if unknown:
        raise ValueError(
            f"costs= names {listed(unknown)}, which is no level of these timings; the levels "
            f"are {levels}"
        )
    prices_in_data = _stated(
        times, [level for level in levels if level not in costs_by_level], cost_units
    )
    missing = [
        level
        for level in levels[:-1]
        if level not in costs_by_level and level not in prices_in_data
    ]
    alone = (
        cost_units == SECONDS
        and lowest not in costs_by_level
        and lowest not in prices_in_data
        and times.units != SECONDS
    )
    untimed = f"{times.array.name or 'the data'} is in {times.units!r}, not seconds"
    if missing:
        example = ", ".join(f"{level!r}: ..." for level in missing)
        needed = f" {untimed}, so that {lowest!r} needs a price, too." if alone else ""
        raise ValueError(
            f"costs= has no price for {listed(missing)}. What does one more cost, in {cost_units}? "
            f"Give costs={{{example}}}, 0 if nothing.{needed}"
        )
    if alone:
        raise ValueError(
            f"prices are in seconds, and {untimed}; say in costs= what one {lowest} takes"
        )
    default = xr.DataArray(np.nan if cost_units == SECONDS else 1.0)
    by_level = [
        _price(costs_by_level[level], level, times, selected_labels or {})
        if level in costs_by_level
        else prices_in_data.get(level, default)
        for level in levels
    ]
    if not any(
        price.ndim or is_chunked(price) for price in by_level
    ):  # joining labelled arrays takes longer than the rest
        return xr.DataArray(
            np.array([price.item() for price in by_level]), dims=PRICE
        ), prices_in_data
    joined: xr.DataArray = xr.concat(
        xr.broadcast(*by_level), PRICE, coords="minimal", compat="override"
    ).transpose(..., PRICE)
    return joined.chunk({PRICE: -1}) if is_chunked(joined) else joined, prices_in_data


def _stated(times: Timings, levels: Sequence[str], cost_units: str) -> dict[str, xr.DataArray]:
    """Return what the data say of the prices of some levels, in the unit of costs.

    The mean time alone is not among them.
    """
    array, lowest = times.array, times.levels[-1]
    by_level = {
        level: _over_levels(array.coords[price_of(level)], times)
        for level in levels
        if price_of(level) in array.coords
    }
    if not by_level and (cost_units != SECONDS or lowest not in levels):
        return {}
    mean_time = _one_value(times)
    if cost_units != SECONDS:
        by_level.pop(lowest, None)
        return (
            {}
            if mean_time is None
            else {level: seconds / mean_time for level, seconds in by_level.items()}
        )
    spent = {LOOPS, price_of(ITERATION)} & set(map(str, array.coords))
    if lowest in levels and mean_time is not None and (spent or lowest in by_level):
        by_level[lowest] = (
            mean_time + by_level[lowest].fillna(0.0)
            if lowest in by_level and lowest != ITERATION
            else mean_time
        )
    else:
        by_level.pop(lowest, None)
    measured = array.notnull().any(times.levels) if not is_chunked(array) else None
    for level, seconds in by_level.items():
        if (
            measured is not None
            and not is_chunked(seconds)
            and bool((seconds.isnull() & measured).any())
        ):
            cells = cell_names((seconds.isnull() & measured).transpose(*measured.dims))
            raise ValueError(
                f"the data do not say what one more {level} takes in {listed(cells, 3)}; give "
                f"it in costs, in {cost_units}"
            )
    return by_level


def _numbers(array: xr.DataArray, name: str) -> xr.DataArray:
    if array.coords[name].dtype.kind not in "biuf":
        raise ValueError(
            f"the coordinate {name!r} holds {array.coords[name].dtype} values, not numbers"
        )
    numbers: xr.DataArray = array.coords[name].astype(float)
    return numbers


def _one_value(times: Timings) -> xr.DataArray | None:
    """Return the seconds it takes to measure one value, a mean over the levels.

    None where nothing tells.
    """
    array, name = times.array.astype(float), price_of(ITERATION)
    loops = _numbers(array, LOOPS).fillna(1.0) if LOOPS in array.coords else 1.0
    seconds = array * loops if times.units == SECONDS else xr.full_like(array, np.nan)
    if name in array.coords:
        measured = _numbers(array, name)
        seconds = xr.where(measured.notnull() & array.notnull(), measured, seconds)
    elif times.units != SECONDS:
        return None
    return _over_levels(seconds, times)


def _over_levels(array: xr.DataArray, times: Timings) -> xr.DataArray:
    """Return the mean over the levels an array has, without descriptors."""
    bare = array.astype(float).drop_vars([name for name in array.coords if name not in array.dims])
    mean: xr.DataArray = bare.mean([level for level in times.levels if level in bare.dims])
    return mean


def price_note(sides: Sequence[Mapping[str, xr.DataArray]], cost_units: str) -> Note | None:
    """Return the note that names the prices taken from the data, beyond that of an iteration."""
    levels = dict.fromkeys(level for side in sides for level in side)
    if not levels.keys() - {ITERATION}:
        return None
    values: dict[str, Any] = {}
    sentences = []
    for level in levels:
        arrays = [side[level] for side in sides if level in side]
        lazy = any(map(is_chunked, arrays))
        values[level] = (
            []
            if lazy
            else [
                float(min(array.min() for array in arrays)),
                float(max(array.max() for array in arrays)),
            ]
        )
        amounts = dict.fromkeys(
            f"{limit:.3g}" for limit in values[level]
        )  # one, or the least and the most of several cells
        sentences.append(
            f"one more {level}" + (f" {' to '.join(amounts)} {cost_units}" if amounts else "")
        )
    text = (
        f"Prices not in costs= are what the data say: {', '.join(sentences)}. They come from the "
        f"coordinates {LOOPS!r} and {price_of('LEVEL')!r}."
    )
    return Note("stated_prices", text, values | {"cost_units": cost_units})


def _price(
    value: Any, level: str, times: Timings, selected_labels: Mapping[str, object]
) -> xr.DataArray:
    """Return one price as an array with the labels of the timings.

    That of the lowest level is above zero.
    """
    array, positive = _labelled(value, level, times, selected_labels), level == times.levels[-1]
    numbers = array.values
    wrong = ~np.isfinite(numbers) | (numbers <= 0 if positive else numbers < 0)
    if wrong.any():
        bound = "above zero" if positive else "zero or more"
        raise ValueError(
            f"costs[{level!r}] holds {numbers[wrong][0]:g}; a price is {bound}, and finite"
        )
    return array


def _labelled(
    value: Any, level: str, times: Timings, selected_labels: Mapping[str, object]
) -> xr.DataArray:
    """Return a price, an array over benchmark or a labelled array, with the timings' labels."""
    array = times.array
    if isinstance(value, pd.Series):
        value = xr.DataArray(
            value.to_numpy(), dims=BENCHMARK, coords={BENCHMARK: value.index.to_numpy()}
        )
    elif not isinstance(value, xr.DataArray):
        try:
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            numbers = None
        if numbers is None or isinstance(value, bool):
            raise ValueError(
                f"costs[{level!r}]={value!r}: give a number, an array over benchmark, or a "
                "labelled array"
            )
        if not numbers.ndim:
            return xr.DataArray(numbers)
        value = xr.DataArray(numbers)
        if value.ndim == 1 and value.size == array.sizes.get(BENCHMARK):
            value = value.rename({str(value.dims[0]): BENCHMARK})
        else:
            number = array.sizes.get(BENCHMARK, "the data have none")
            raise ValueError(
                f"costs[{level!r}] has shape {value.shape}; give a number, one per benchmark "
                f"({number}), or a DataArray"
            )
    value = value.astype(float).reset_coords(drop=True)
    for dim in list(value.dims):
        if dim in selected_labels:
            value = _at(value, dim, selected_labels[dim], level).drop_vars(dim, errors="ignore")
        elif dim not in array.dims or dim in times.levels:
            cell_dims = [name for name in array.dims if name not in times.levels]
            raise ValueError(
                f"costs[{level!r}] has the dim {dim!r}, along which the timings have no cells; "
                f"they have {listed(cell_dims)}"
            )
        elif dim in value.coords:
            value = _at(value, dim, array[dim].values.tolist(), level)
        elif value.sizes[dim] != array.sizes[dim]:
            raise ValueError(
                f"costs[{level!r}] has {value.sizes[dim]} values along {dim!r}, the timings "
                f"have {array.sizes[dim]}"
            )
    labelled: xr.DataArray = value.assign_coords(
        {dim: array[dim] for dim in value.dims if dim in array.coords}
    )
    return labelled


def _at(value: xr.DataArray, dim: Any, labels: Any, level: str) -> xr.DataArray:
    try:
        selected: xr.DataArray = value.sel({dim: labels})
        return selected
    except KeyError:
        names = labels if isinstance(labels, list) else [labels]
        missing = [label for label in names if label not in value[dim].values.tolist()]
        raise ValueError(
            f"costs[{level!r}] has no price for {listed(missing)} along {dim!r}"
        ) from None
