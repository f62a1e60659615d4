"""What both planners are asked and told: the prices of a nest's levels, what may be spent or shall be reached, and who is compared."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, SECONDS
from perfarray.timings.notes import Note
from perfarray.timings.pairs import baseline_name, resolve_pair
from perfarray.timings.resolve import Data, Timings, resolve
from perfarray.timings.validation import check_choice, check_confidence_level, check_count, check_number, listed

PRICE = "_price"
"""The dim prices lie along, outermost level first."""

BUDGET_FACTOR = "budget_factor"
FACTORS = tuple(2.0 ** (step / 2) for step in range(-6, 7))
"""Multiples of a plan's cost at which a result says what half-width they give."""

ITERATIONS = "iterations"
COST_UNITS = (ITERATIONS, SECONDS)


FEW = 5
"""Counts below this are small, says section 6.1."""

CHEAP = 0.1
"""A share of the price that is small enough to advise spending it again."""


class Asked(NamedTuple):
    """What is asked of a plan, checked."""

    dim: str | None
    costs: Any
    levels: str | tuple[str, ...] | None
    budget: float | None
    half_width: float | None
    cost_units: str
    min_units: int
    confidence_level: float
    negative: str

    def describe(self, result: str, baseline: object) -> dict[str, Hashable]:
        """Return what the attrs of a plan say of the question."""
        attrs: dict[str, Hashable] = {"result": result, "confidence_level": self.confidence_level, "cost_units": self.cost_units}
        attrs |= {"min_units": self.min_units, "negative": self.negative}
        attrs |= {"budget": self.budget} if self.budget is not None else {"half_width_wanted": self.half_width}
        if baseline is not None:
            attrs["baseline"] = baseline_name(baseline)
        return attrs


class Systems(NamedTuple):
    """The timings planned for, the candidate's before the baseline's, with what is to be said of them and the labels of a baseline."""

    sides: tuple[Timings, ...]
    attrs: dict[str, Hashable]
    notes: tuple[Note, ...]
    chosen: dict[str, object]

    def prices(self, asked: Asked) -> list[xr.DataArray]:
        """Return the prices of every system."""
        return [prices(asked.costs, side, asked.cost_units, self.chosen if i else None) for i, side in enumerate(self.sides)]


def check_asked(asked: Asked) -> Asked:
    """Return what is asked of a plan as numbers of the right kind; raise where it is no question."""
    check_choice(asked.negative, "negative", ("merge", "zero"))
    budget, half_width = check_target(asked.budget, asked.half_width)
    least, level = check_count(asked.min_units, "min_units", 2), check_confidence_level(asked.confidence_level)
    return asked._replace(budget=budget, half_width=half_width, min_units=least, confidence_level=level)


def systems(times: Data, baseline: object, asked: Asked, metric: str | Sequence[str] | None, paired: str | None = None) -> Systems:
    """Resolve the timings, and those of a baseline beside them."""
    if baseline is None:
        if paired is not None:
            raise ValueError(f"paired={paired!r} matches the units of two systems; name the baseline too")
        own = resolve(times, metric, asked.levels)
        return Systems((own,), own.describe(), own.notes, {})
    pair = resolve_pair(times, baseline, dim=asked.dim, metric=metric, levels=asked.levels, paired=paired)
    by_label = pair.dim is not None and not isinstance(baseline, xr.DataArray | xr.Dataset)
    return Systems((pair.candidate, pair.baseline), pair.describe(), pair.notes, {str(pair.dim): baseline} if by_label else {})


def advice_on(n: float, merged: Sequence[str], few: Sequence[str], cheap: tuple[str, float]) -> str:
    """Say in words what section 6.1 advises beyond the numbers.

    `merged` and `few` are remarks on counts of one and on small counts, `cheap` the lowest level and its share of the price.
    """
    remarks = [*merged, *few]
    if cheap[1] <= CHEAP:
        remarks.append(f"more at the level {cheap[0]} cost little: twice as many add {100 * cheap[1]:.1g} % to the price")
    if n < 10:
        remarks.append(f"the pilot's {n:.0f} units know the variation between them poorly: plan again when there are more")
    return "; ".join(remarks)


def check_target(budget: Any, half_width: Any) -> tuple[float | None, float | None]:
    """Return the budget or the half-width wanted: exactly one of them, positive."""
    if (budget is None) == (half_width is None):
        came = "neither" if budget is None else "both"
        raise ValueError(f"{came} of budget= and half_width= came; give one: what may be spent, or the relative half-width to reach")
    if budget is not None:
        if check_number(budget, "budget") <= 0:
            raise ValueError(f"budget={budget!r}: give what may be spent, above zero")
        return float(budget), None
    if not 0 < check_number(half_width, "half_width") < 1:
        raise ValueError(f"half_width={half_width!r} is out of range; give a relative half-width between 0 and 1, such as 0.01 for 1 %")
    return None, float(half_width)


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
