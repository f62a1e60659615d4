"""The plans of suites as arrays: what each cell's pilot says, its whole counts, and what they cost and promise."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Mask
from perfarray.variation.advice import advice_on_suite
from perfarray.variation.numerics.allocation import ROUNDING
from perfarray.variation.numerics.assurance import rescaled
from perfarray.variation.numerics.suite_pilot import (
    EQUAL,
    Sharing,
    SuitePilot,
    paired_pilot,
    pilot_limits,
    pilots_apart,
    plan_assured,
    suite_pilot,
    units_to_add,
)
from perfarray.variation.numerics.suite_plans import best_by_budget, least_price, one_level
from perfarray.variation.numerics.suite_star import Star, continuous
from perfarray.variation.request import FACTORS, Request

NO_PLAN = "no plan: the pilot has one unit, no variation at any level, or too little to spend"


class Rules(NamedTuple):
    """What holds for every suite of a call: the request, the nest, each system's sharing, and names and weights of the benchmarks."""

    request: Request
    levels: tuple[str, ...]
    sharing: tuple[Sharing, ...]
    names: tuple[str, ...]
    weights: Floats = EQUAL


class Answer(NamedTuple):
    """The plan of one suite: counts (kinds, benchmarks, L), what the benchmarks are about, what the whole costs and promises, curves."""

    counts: Floats
    merged: Mask
    seconds: Floats
    cost: float
    least_budget: float
    half_width: float
    half_width_lower: float
    half_width_upper: float
    more_half_width: float
    default_half_width: float
    n: float
    by_budget: Floats
    default_by_budget: Floats
    advice: str


def plan_suites(arrays: Sequence[Floats], rules: Rules) -> tuple[np.ndarray, ...]:
    """Plan suite by suite: a plan is a search, and suites are few.

    `arrays` are the timings (..., benchmarks, n_L, ..., n_1) of each system, then the prices (..., benchmarks, L) of each.
    """
    number, levels, benchmarks = len(arrays) // 2, len(rules.levels), len(rules.names)
    inner = [levels + 1] * number + [2] * number
    outer = np.broadcast_shapes(*(array.shape[: array.ndim - core_dims] for array, core_dims in zip(arrays, inner, strict=True)))
    broadcast = [
        np.broadcast_to(array, (*outer, *array.shape[array.ndim - core_dims :])) for array, core_dims in zip(arrays, inner, strict=True)
    ]
    nothing = _no_plan(4 if number == 1 else 7, benchmarks, levels)
    fields = [np.full((*outer, *np.shape(value)), value, dtype=object if isinstance(value, str) else None) for value in nothing]
    for cell in np.ndindex(*outer):
        values, prices = [array[cell] for array in broadcast[:number]], [array[cell] for array in broadcast[number:]]
        answer = (
            _plan_one(_pilots(values, prices, rules), rules, nothing)
            if rules.sharing[0].planned
            else _apart(values, prices, rules, nothing)
        )
        for into, value in zip(fields, answer, strict=True):
            into[cell] = value
    return *np.moveaxis(fields[0], -3, 0), *fields[1:]


def _no_plan(kinds: int, benchmarks: int, levels: int) -> Answer:
    """Return the answer for a suite without a plan."""
    counts, curve = np.full((kinds, benchmarks, levels), np.nan), np.full(len(FACTORS), np.nan)
    merged, seconds = np.zeros((benchmarks, levels), dtype=bool), np.full(benchmarks, np.nan)
    scalars = dict.fromkeys(Answer._fields[3:11], np.nan)
    return Answer(counts=counts, merged=merged, seconds=seconds, by_budget=curve, default_by_budget=curve, advice=NO_PLAN, **scalars)


def _apart(values: list[Floats], prices: list[Floats], rules: Rules, nothing: Answer) -> Answer:
    """Plan one suite whose benchmarks share no units; one that was not measured in every system has no plan."""
    measured = ~np.any([np.isnan(array).all(axis=tuple(range(1, array.ndim))) for array in values], axis=0)
    weights = np.broadcast_to(rules.weights, measured.shape)[measured]
    pilots = [
        pilot
        for array, costs in zip(values, prices, strict=True)
        for pilot in pilots_apart(array[measured], costs[measured], rules.request.negative, weights)
    ]
    if not pilots:
        return nothing._replace(n=0.0)
    names = tuple(name for name, has_data in zip(rules.names, measured, strict=True) if has_data)
    blank = nothing._replace(counts=nothing.counts[:, measured], merged=nothing.merged[measured], seconds=nothing.seconds[measured])
    answer = _plan_one(pilots, rules._replace(names=names), blank)
    counts, merged, seconds = nothing.counts.copy(), nothing.merged.copy(), nothing.seconds.copy()
    counts[:, measured], merged[measured], seconds[measured] = answer.counts, answer.merged, answer.seconds
    return answer._replace(counts=counts, merged=merged, seconds=seconds)


def _pilots(values: list[Floats], prices: list[Floats], rules: Rules) -> list[SuitePilot]:
    """Estimate the systems of one suite, or their pairs; a benchmark that one of them lacks is left out of both."""
    if len(values) > 1:
        absent = np.any([np.isnan(array).all(axis=tuple(range(1, array.ndim))) for array in values], axis=0)
        values = [np.where(absent.reshape(-1, *[1] * len(rules.levels)), np.nan, array) for array in values]
    negative = rules.request.negative
    if rules.request.paired is not None:
        sharing = rules.sharing[0]._replace(in_pilot=min(sharing_of_side.in_pilot for sharing_of_side in rules.sharing))
        return [paired_pilot(values[0], values[1], (prices[0], prices[1]), sharing, negative, rules.weights)]
    return [
        suite_pilot(array, price, how, negative, rules.weights) for array, price, how in zip(values, prices, rules.sharing, strict=True)
    ]


def _some_variation(stars: list[Star]) -> bool:
    """Return whether there is anything to plan from."""
    return all(not np.isnan(star.root) for star in stars) and sum(
        star.root + star.inner[:, 0].sum() + star.variance.sum() for star in stars
    ) > 0  # fmt: skip


def _plan_one(pilots: list[SuitePilot], rules: Rules, nothing: Answer) -> Answer:
    """Plan one suite; where there is nothing to plan from, only what is known."""
    request, stars = rules.request, [pilot.star for pilot in pilots]
    n = min(pilot.n for pilot in pilots)
    if n < 2 or not _some_variation(stars):
        return nothing._replace(n=n)
    least_budget = least_price(stars, request.min_units)
    if request.budget is not None and least_budget > request.budget:
        return nothing._replace(n=n, least_budget=least_budget)
    level, least, sure = request.confidence_level, request.min_units, request.assurance
    plan = plan_assured(pilots, sure, level, budget=request.budget, half_width=request.half_width, min_units=least)
    smooth = continuous(stars, min(plan.units), budget=plan.cost)
    more = units_to_add(pilots, plan, request.budget, request.half_width, assurance=sure, confidence_level=level)
    each, seconds = [], []
    for pilot, system_counts, *numbers in zip(pilots, plan.counts, plan.units, smooth.root, smooth.lower, more.units, strict=True):
        each.append(_counts(pilot, system_counts, *numbers))
        below = np.cumprod(system_counts, axis=1)[:, len(pilot.star.inner) :]
        alone = 0.0 if rules.sharing[0].planned else pilot.star.root_cost
        seconds.append(numbers[0] * (alone + (below * pilot.star.cost).sum(axis=1)))
    # Two systems lie one after the other, as the rows of a pair do: by kind of count, system, benchmark and level.
    counts = np.concatenate(each, axis=1).reshape(4, -1, *nothing.merged.shape)
    merged = counts[1, 0] <= 1 + ROUNDING
    merged[:, 0] = False
    share = 1.0
    if stars[0].cost.shape[1]:
        last = [
            units * (system_counts.prod(axis=1) * star.cost[:, -1]).sum()
            for units, system_counts, star in zip(plan.units, plan.counts, stars, strict=True)
        ]
        share = float(sum(last)) / plan.cost
    low, high = pilot_limits(pilots, plan, sure, level)
    system_counts, budgets = plan.evidence, plan.cost * np.array(FACTORS)
    spendable = np.append(budgets, plan.cost if request.budget is None else request.budget)
    by_budget, default = (
        rescaled(curve.half_width, curve.units, system_counts.along(), sure, level)
        for curve in (
            best_by_budget(stars, budgets, min_units=least, confidence_level=level),
            one_level(stars, spendable, level),
        )
    )
    return Answer(
        counts=np.concatenate([counts[:, 0], *counts[[0, 2, 3], 1:].swapaxes(0, 1)]),
        merged=merged,
        seconds=np.concatenate(seconds).reshape(-1, len(rules.names)).sum(axis=0),
        cost=plan.cost,
        least_budget=least_budget,
        half_width=plan.half_width,
        half_width_lower=low,
        half_width_upper=high,
        more_half_width=more.half_width,
        default_half_width=float(default[-1]),
        n=n,
        by_budget=by_budget,
        default_by_budget=default[:-1],
        advice=advice_on_suite(counts[0], counts[2], share, n, rules.levels, rules.names),
    )


def _counts(pilot: SuitePilot, inside: Floats, units: float, root: float, lower: Floats, added: float) -> Floats:
    """Return (4, benchmarks, L) of one system: repetitions, the continuous ones, those of the pilot, and those still to be run."""
    number = len(inside)
    totals = np.column_stack([np.full(number, root), lower])
    with np.errstate(invalid="ignore"):
        already = pilot.total / np.column_stack([np.ones(number), pilot.total[:, :-1]])
    counts = np.stack(
        [
            np.column_stack([np.full(number, units), inside]),
            totals / np.column_stack([np.ones(number), totals[:, :-1]]),
            already,
            np.column_stack([np.full(number, added), inside * (added > 0)]),
        ]
    )
    counts[:, pilot.total[:, 0] == 0] = np.nan
    return counts
