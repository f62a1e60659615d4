"""What a plan is asked for, checked once, and the systems it is for."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import xarray as xr

from perfarray.conventions import ITERATION, LOOPS, SCORES, SECONDS, TIME, price_of
from perfarray.timings.notes import Note
from perfarray.timings.pairs import resolve_pair
from perfarray.timings.resolve import Data, Timings, choose_metric, resolve
from perfarray.timings.validation import (
    check_choice,
    check_confidence_level,
    check_count,
    check_number,
    check_share,
)
from perfarray.timings.zeros import Positive
from perfarray.variation.costs import price_note, prices
from perfarray.variation.numerics.allocation import Goal


def check_goal(
    budget: Any,
    half_width: Any,
    assurance: Any,
    min_units: Any,
    confidence_level: Any,
    negative: str,
    *,
    required: bool = False,
) -> Goal:
    """Return what is asked for.

    Raise where a choice is unknown or out of range, where both of budget and half-width came, or,
    if one is `required`, neither.
    """
    check_choice(negative, "negative", ("merge", "zero"))
    if (budget is not None and half_width is not None) or (required and budget is half_width):
        raise ValueError(
            "Give either budget=, what may be spent, or half_width=, the relative half-width to "
            "reach."
        )
    if budget is not None and check_number(budget, "budget") <= 0:
        raise ValueError(f"budget={budget!r}: give what may be spent, above zero")
    if half_width is not None and not 0 < check_number(half_width, "half_width") < 1:
        raise ValueError(
            f"half_width={half_width!r} is out of range; give a relative half-width between 0 "
            "and 1, such as 0.01 for 1 %"
        )
    if assurance is not None:
        check_share(assurance, "assurance", example="0.9")
    budget, half_width = (
        None if number is None else float(number) for number in (budget, half_width)
    )
    return Goal(
        budget,
        half_width,
        check_count(min_units, "min_units", 2),
        check_confidence_level(confidence_level),
        assurance,
    )


def describe_goal(
    goal: Goal, cost_units: str, negative: str, **choices: Hashable
) -> dict[str, Hashable]:
    """Return what the attrs of a plan say of the goal, and of the choices that were made."""
    attrs: dict[str, Hashable] = {
        "confidence_level": goal.confidence_level,
        "cost_units": cost_units,
        "min_units": goal.min_units,
        "negative": negative,
        "assurance": goal.assurance,
        "budget": goal.budget,
        "half_width_wanted": goal.half_width,
    }
    return {name: value for name, value in (attrs | choices).items() if value is not None}


class PlannedSystems(NamedTuple):
    """The timings planned for, the candidate's first, with attrs, notes and a baseline's labels.

    `missing_levels` names for each the levels it does not have: they cost nothing there.
    """

    sides: tuple[Timings, ...]
    attrs: dict[str, Hashable]
    notes: tuple[Note, ...]
    selected_labels: dict[str, object]
    missing_levels: tuple[tuple[str, ...], ...] = ((), ())

    def prices(self, costs: Any, cost_units: str) -> tuple[list[xr.DataArray], Note | None]:
        """Return the prices of every system, and a note on those that `costs` does not name."""
        priced = [
            prices(
                {**(costs or {}), **dict.fromkeys(gone, 0.0)} if gone else costs,
                side,
                cost_units,
                labels,
            )
            for side, gone, labels in zip(
                self.sides, self.missing_levels, (None, self.selected_labels), strict=False
            )
        ]
        return [by_level for by_level, _ in priced], price_note(
            [in_data for _, in_data in priced], cost_units
        )


def systems(
    times: Data,
    baseline: object,
    *,
    dim: str | None,
    metric: str | Sequence[str] | None,
    levels: str | tuple[str, ...] | None,
    paired: str | None = None,
    positive: Positive | None = None,
) -> PlannedSystems:
    """Resolve the timings, and those of a baseline beside them.

    `positive` says what must be above 0.
    """
    times, baseline = (_timed(side, metric, levels) for side in (times, baseline))
    if baseline is None:
        if paired is not None:
            raise ValueError(
                f"paired={paired!r} matches the units of two systems; name the baseline too"
            )
        timings = resolve(times, metric, levels, positive=positive, as_nested=True)
        return PlannedSystems(
            (timings,), timings.describe(), (*timings.notes, *timings.crossed), {}
        )
    if levels is None and isinstance(baseline, xr.DataArray | xr.Dataset):
        nests = [resolve(side, metric, None, as_nested=True).levels for side in (times, baseline)]
        if nests[0] != nests[1]:
            raise ValueError(
                f"the timings have the levels {nests[0]}, the baseline {nests[1]}; plan from "
                "the components of both, "
                "times.perf.variance_components() and baseline.perf.variance_components()"
            )
    price_names = (LOOPS, price_of(ITERATION), *(price_of(str(name)) for name in times.dims))
    pair = resolve_pair(
        times,
        baseline,
        dim=dim,
        metric=metric,
        levels=levels,
        paired=paired,
        positive=positive,
        keep=price_names,
    )
    by_label = pair.dim is not None and not isinstance(baseline, xr.DataArray | xr.Dataset)
    return PlannedSystems(
        (pair.candidate, pair.baseline),
        dict(pair.attrs),
        (*pair.notes, *pair.crossed),
        {str(pair.dim): baseline} if by_label else {},
    )


def check_affordable(min_cost: xr.DataArray, goal: Goal, outermost: str, cost_units: str) -> None:
    """Raise where the budget does not buy the fewest units.

    The message names the budget that does.
    """
    if not (min_cost.values > goal.budget).any():
        return
    dearest = min_cost.isel(min_cost.argmax(...)) if min_cost.ndim else min_cost
    labels = ", ".join(
        f"{dim}={dearest[dim].item()}" for dim in min_cost.dims if dim in min_cost.coords
    )
    raise ValueError(
        f"budget={goal.budget:g} {cost_units} does not buy {goal.min_units} repetitions of "
        f"{outermost!r}, with one of everything in each{f' ({labels})' if labels else ''}. Give "
        f"more, the least budget is {float(dearest):.6g} {cost_units}, or lower min_units= (at "
        "least 2)"
    )


def _timed(
    times: Any, metric: str | Sequence[str] | None, levels: str | Sequence[str] | None
) -> Any:
    """Return scores with the times beside them as what taking a value takes."""
    name = price_of(ITERATION)
    if (
        not isinstance(times, xr.Dataset)
        or TIME not in times
        or name in times.coords
        or times[TIME].attrs.get("units") != SECONDS
    ):
        return times
    scores = choose_metric(times, metric, levels)
    computed = (
        scores.name in SCORES and scores.dims == times[TIME].dims
    )  # a score is computed from the time of the same run
    return times.assign_coords({name: times[TIME].variable}) if computed else times
