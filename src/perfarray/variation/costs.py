"""What a plan is asked for and the systems it is for, and what starting one more repetition of a level costs."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import BENCHMARK, ITERATION, LOOPS, SCORES, SECONDS, TIME, price_of
from perfarray.timings.apply import is_chunked
from perfarray.timings.notes import Note
from perfarray.timings.pairs import resolve_pair
from perfarray.timings.resolve import Data, Timings, cell_names, choose_metric, resolve
from perfarray.timings.validation import check_choice, check_confidence_level, check_count, check_number, check_share, listed
from perfarray.variation.numerics.allocation import Goal

PRICE = "_price"  # the dim prices lie along, outermost level first
ITERATIONS = "iterations"
COST_UNITS = (ITERATIONS, SECONDS)


def prices(
    costs: Any, times: Timings, cost_units: str, chosen: Mapping[str, object] | None = None
) -> tuple[xr.DataArray, dict[str, xr.DataArray]]:
    """Return what starting one repetition of each level costs, what `costs` says, else what the data say, and the latter by level.

    Prices lie along `PRICE`, NaN at the lowest level where its mean time is the price. `chosen` selects labels of dims that the timings no
    longer have: those of a baseline.
    """
    check_choice(cost_units, "cost_units", COST_UNITS)
    levels, lowest = times.levels, times.levels[-1]
    named = {} if costs is None else costs
    if not isinstance(named, Mapping):
        raise ValueError(f"costs={costs!r}: give a mapping of levels to prices, as in {{'execution': 19, 'binary': 5343}}")
    unknown = [name for name in named if name not in levels]
    if unknown:
        raise ValueError(f"costs= names {listed(unknown)}, which is no level of these timings; the levels are {levels}")
    stated = _stated(times, [level for level in levels if level not in named], cost_units)
    missing = [level for level in levels[:-1] if level not in named and level not in stated]
    alone = cost_units == SECONDS and lowest not in named and lowest not in stated and times.units != SECONDS
    untimed = f"{times.array.name or 'the data'} is in {times.units!r}, not seconds"
    if missing:
        free = f"only the lowest level, {lowest!r}, needs none: {'its mean time' if cost_units == SECONDS else 'one costs 1'}"
        raise ValueError(
            f"costs= has no price for {listed(missing)}; say what starting one more costs (0 if nothing), in {cost_units}; "
            f"{f'{untimed}, so that {lowest!r} needs a price, too' if alone else free}"
        )
    if alone:
        raise ValueError(f"prices are in seconds, and {untimed}; say in costs= what one {lowest} takes")
    default = xr.DataArray(np.nan if cost_units == SECONDS else 1.0)
    by_level = [_price(named[level], level, times, chosen or {}) if level in named else stated.get(level, default) for level in levels]
    if not any(price.ndim or is_chunked(price) for price in by_level):  # joining labelled arrays takes longer than the rest
        return xr.DataArray(np.array([price.item() for price in by_level]), dims=PRICE), stated
    joined: xr.DataArray = xr.concat(xr.broadcast(*by_level), PRICE, coords="minimal", compat="override").transpose(..., PRICE)
    return joined.chunk({PRICE: -1}) if is_chunked(joined) else joined, stated


def _stated(times: Timings, levels: Sequence[str], cost_units: str) -> dict[str, xr.DataArray]:
    """Return what the data say of the prices of some levels, in the unit of costs; the mean time alone is not among them."""
    array, lowest = times.array, times.levels[-1]
    by_level = {level: _over_levels(array.coords[price_of(level)], times) for level in levels if price_of(level) in array.coords}
    if not by_level and (cost_units != SECONDS or lowest not in levels):
        return {}
    mean_time = _one_value(times)
    if cost_units != SECONDS:
        by_level.pop(lowest, None)
        return {} if mean_time is None else {level: seconds / mean_time for level, seconds in by_level.items()}
    spent = {LOOPS, price_of(ITERATION)} & set(map(str, array.coords))
    if lowest in levels and mean_time is not None and (spent or lowest in by_level):
        by_level[lowest] = mean_time + by_level[lowest].fillna(0.0) if lowest in by_level and lowest != ITERATION else mean_time
    else:
        by_level.pop(lowest, None)
    measured = array.notnull().any(times.levels) if not is_chunked(array) else None
    for level, seconds in by_level.items():
        if measured is not None and not is_chunked(seconds) and bool((seconds.isnull() & measured).any()):
            cells = cell_names((seconds.isnull() & measured).transpose(*measured.dims))
            raise ValueError(f"the data do not say what one more {level} takes in {listed(cells, 3)}; give it in costs, in {cost_units}")
    return by_level


def _numbers(array: xr.DataArray, name: str) -> xr.DataArray:
    if array.coords[name].dtype.kind not in "biuf":
        raise ValueError(f"the coordinate {name!r} holds {array.coords[name].dtype} values, not numbers")
    numbers: xr.DataArray = array.coords[name].astype(float)
    return numbers


def _one_value(times: Timings) -> xr.DataArray | None:
    """Return the seconds it takes to measure one value, a mean over the levels; None where nothing tells."""
    array, name = times.array.astype(float), price_of(ITERATION)
    loops = _numbers(array, LOOPS).fillna(1.0) if LOOPS in array.coords else 1.0
    seconds = array * loops if times.units == SECONDS else xr.full_like(array, np.nan)
    if name in array.coords:
        stated = _numbers(array, name)
        seconds = xr.where(stated.notnull() & array.notnull(), stated, seconds)
    elif times.units != SECONDS:
        return None
    return _over_levels(seconds, times)


def _over_levels(array: xr.DataArray, times: Timings) -> xr.DataArray:
    """Return the mean over the levels an array has, without descriptors."""
    bare = array.astype(float).drop_vars([name for name in array.coords if name not in array.dims])
    mean: xr.DataArray = bare.mean([level for level in times.levels if level in bare.dims])
    return mean


def price_note(sides: Sequence[Mapping[str, xr.DataArray]], cost_units: str) -> Note | None:
    """Return the note that names the prices taken from the data, if there is one beyond that of an iteration, which is its own time."""
    levels = dict.fromkeys(level for side in sides for level in side)
    if not levels.keys() - {ITERATION}:
        return None
    values: dict[str, Any] = {}
    sentences = []
    for level in levels:
        stated = [side[level] for side in sides if level in side]
        lazy = any(map(is_chunked, stated))
        values[level] = [] if lazy else [float(min(array.min() for array in stated)), float(max(array.max() for array in stated))]
        amounts = dict.fromkeys(f"{limit:.3g}" for limit in values[level])  # one, or the least and the most of several cells
        sentences.append(f"one more {level}" + (f" {' to '.join(amounts)} {cost_units}" if amounts else ""))
    text = f"prices not in costs= are what the data say: {'; '.join(sentences)} (coordinates {LOOPS!r} and those named {price_of('LEVEL')})"
    return Note("stated_prices", text, values | {"cost_units": cost_units})


def _price(value: Any, level: str, times: Timings, chosen: Mapping[str, object]) -> xr.DataArray:
    """Return one price as an array with the labels of the timings; that of the lowest level is above zero."""
    array, positive = _labelled(value, level, times, chosen), level == times.levels[-1]
    numbers = array.values
    wrong = ~np.isfinite(numbers) | (numbers <= 0 if positive else numbers < 0)
    if wrong.any():
        least = "above zero" if positive else "zero or more"
        raise ValueError(f"costs[{level!r}] holds {numbers[wrong][0]:g}; a price is {least}, and finite")
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
        if not numbers.ndim:
            return xr.DataArray(numbers)
        value = xr.DataArray(numbers)
        if value.ndim == 1 and value.size == array.sizes.get(BENCHMARK):
            value = value.rename({str(value.dims[0]): BENCHMARK})
        else:
            number = array.sizes.get(BENCHMARK, "the data have none")
            raise ValueError(f"costs[{level!r}] has shape {value.shape}; give a number, one per benchmark ({number}), or a DataArray")
    value = value.astype(float).reset_coords(drop=True)
    for dim in list(value.dims):
        if dim in chosen:
            value = _at(value, dim, chosen[dim], level).drop_vars(dim, errors="ignore")
        elif dim not in array.dims or dim in times.levels:
            cell_dims = [name for name in array.dims if name not in times.levels]
            raise ValueError(f"costs[{level!r}] has the dim {dim!r}, along which the timings have no cells; they have {listed(cell_dims)}")
        elif dim in value.coords:
            value = _at(value, dim, array[dim].values.tolist(), level)
        elif value.sizes[dim] != array.sizes[dim]:
            raise ValueError(f"costs[{level!r}] has {value.sizes[dim]} values along {dim!r}, the timings have {array.sizes[dim]}")
    labelled: xr.DataArray = value.assign_coords({dim: array[dim] for dim in value.dims if dim in array.coords})
    return labelled


def _at(value: xr.DataArray, dim: Any, labels: Any, level: str) -> xr.DataArray:
    try:
        selected: xr.DataArray = value.sel({dim: labels})
        return selected
    except KeyError:
        names = labels if isinstance(labels, list) else [labels]
        missing = [label for label in names if label not in value[dim].values.tolist()]
        raise ValueError(f"costs[{level!r}] has no price for {listed(missing)} along {dim!r}") from None


BUDGET_FACTOR = "budget_factor"
FACTORS = tuple(2.0 ** (step / 2) for step in range(-6, 7))  # multiples of a plan's cost at which a result says what half-width they give


def check_goal(budget: Any, half_width: Any, assurance: Any, min_units: Any, confidence_level: Any, negative: str) -> Goal:
    """Return what is asked for; raise where a choice is unknown or out of range, or both of budget and half-width came."""
    check_choice(negative, "negative", ("merge", "zero"))
    if budget is not None and half_width is not None:
        raise ValueError("both of budget= and half_width= came; give one: what may be spent, or the relative half-width to reach")
    if budget is not None and check_number(budget, "budget") <= 0:
        raise ValueError(f"budget={budget!r}: give what may be spent, above zero")
    if half_width is not None and not 0 < check_number(half_width, "half_width") < 1:
        raise ValueError(f"half_width={half_width!r} is out of range; give a relative half-width between 0 and 1, such as 0.01 for 1 %")
    if assurance is not None:
        check_share(assurance, "assurance", example="0.9")
    budget, half_width = (None if number is None else float(number) for number in (budget, half_width))
    return Goal(budget, half_width, check_count(min_units, "min_units", 2), check_confidence_level(confidence_level), assurance)


def describe_goal(goal: Goal, cost_units: str, negative: str) -> dict[str, Hashable]:
    """Return what the attrs of a plan say of the goal."""
    attrs: dict[str, Hashable] = {"confidence_level": goal.confidence_level, "cost_units": cost_units}
    attrs |= {"min_units": goal.min_units, "negative": negative}
    optional = {"assurance": goal.assurance, "budget": goal.budget, "half_width_wanted": goal.half_width}
    return attrs | {name: value for name, value in optional.items() if value is not None}


class Systems(NamedTuple):
    """The timings planned for, the candidate's before the baseline's, with the attrs, the notes and the labels of a baseline.

    `absent` names for each the levels it does not have: they cost nothing there.
    """

    sides: tuple[Timings, ...]
    attrs: dict[str, Hashable]
    notes: tuple[Note, ...]
    chosen: dict[str, object]
    absent: tuple[tuple[str, ...], ...] = ((), ())

    def prices(self, costs: Any, baseline_costs: Any, cost_units: str) -> tuple[list[xr.DataArray], Note | None]:
        """Return the prices of every system, and a note on those that `costs` does not name."""
        of_baseline = costs  # those of the candidate, where the baseline has none of its own
        if baseline_costs is not None:
            if len(self.sides) == 1:
                raise ValueError(f"baseline_costs={baseline_costs!r} are the prices of a baseline; name the baseline too")
            if not isinstance(baseline_costs, Mapping):
                raise ValueError(
                    f"baseline_costs={baseline_costs!r}: give a mapping of levels to prices, as in {{'execution': 19, 'binary': 5343}}"
                )
            lacking = [name for name in baseline_costs if name in self.absent[-1]]
            if lacking:
                raise ValueError(f"baseline_costs= names {listed(lacking)}, which the baseline does not have: it costs nothing there")
            of_baseline = {**costs, **baseline_costs} if isinstance(costs, Mapping) else baseline_costs if costs is None else costs
        priced = [
            prices({**(named or {}), **dict.fromkeys(gone, 0.0)} if gone else named, side, cost_units, chosen)
            for side, gone, chosen, named in zip(self.sides, self.absent, (None, self.chosen), (costs, of_baseline), strict=False)
        ]
        return [by_level for by_level, _ in priced], price_note([stated for _, stated in priced], cost_units)


def systems(
    times: Data,
    baseline: object,
    *,
    dim: str | None,
    metric: str | Sequence[str] | None,
    levels: str | tuple[str, ...] | None,
    paired: str | None = None,
    positive: str = "",
) -> Systems:
    """Resolve the timings, and those of a baseline beside them; `positive` says what needs positive values."""
    times, baseline = (_timed(side, metric, levels) for side in (times, baseline))
    if baseline is None:
        if paired is not None:
            raise ValueError(f"paired={paired!r} matches the units of two systems; name the baseline too")
        timings = resolve(times, metric, levels, positive=positive)
        return Systems((timings,), timings.describe(), timings.notes, {})
    if levels is None and isinstance(baseline, xr.DataArray | xr.Dataset):
        nests = [resolve(side, metric, None).levels for side in (times, baseline)]
        if nests[0] != nests[1]:
            raise ValueError(
                f"the timings have the levels {nests[0]}, the baseline {nests[1]}; plan from the components of both, "
                "times.perf.variance_components() and baseline.perf.variance_components()"
            )
    stated = (LOOPS, price_of(ITERATION), *(price_of(str(name)) for name in times.dims))
    pair = resolve_pair(times, baseline, dim=dim, metric=metric, levels=levels, paired=paired, positive=positive, keep=stated)
    by_label = pair.dim is not None and not isinstance(baseline, xr.DataArray | xr.Dataset)
    return Systems((pair.candidate, pair.baseline), dict(pair.attrs), pair.notes, {str(pair.dim): baseline} if by_label else {})


def check_affordable(least: xr.DataArray, budget: float, min_units: int, outermost: str, cost_units: str) -> None:
    """Raise where the budget does not buy the fewest units; the message names the budget that does."""
    if not bool((least > budget).any()):
        return
    dearest = least.isel(least.argmax(...)) if least.ndim else least
    labels = ", ".join(f"{dim}={dearest[dim].item()}" for dim in least.dims if dim in least.coords)
    raise ValueError(
        f"budget={budget:g} {cost_units} does not buy {min_units} repetitions of {outermost!r} with one of everything in "
        f"each{f' ({labels})' if labels else ''}; the least budget is {float(dearest):.6g} {cost_units}, or lower min_units= (at least 2)"
    )


def _timed(times: Any, metric: str | Sequence[str] | None, levels: str | Sequence[str] | None) -> Any:
    """Return a Dataset that is asked about scores with the times beside them as what taking a value takes, unless it says so itself."""
    name = price_of(ITERATION)
    if not isinstance(times, xr.Dataset) or TIME not in times or name in times.coords or times[TIME].attrs.get("units") != SECONDS:
        return times
    scores = choose_metric(times, metric, levels)
    computed = scores.name in SCORES and scores.dims == times[TIME].dims  # a score is computed from the time of the same run
    return times.assign_coords({name: times[TIME].variable}) if computed else times
