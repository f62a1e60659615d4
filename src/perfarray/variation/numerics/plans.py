"""How many repetitions: the whole counts of a nest that give the narrowest interval for a budget, or the cheapest for a width.

Equation 14 of Kalibera and Jones (2012), section 7.4, minimises the variance; here the outermost
count is searched with Student's t, the lower counts are solved again on what it leaves, and the
neighbours of that continuous optimum are completed to the limit and compared. Levels lie along the
last axis, outermost first.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.levels import reduced
from perfarray.numerics.types import Floats, Mask
from perfarray.variation.numerics.allocation import (
    ROUNDING,
    Goal,
    Task,
    affordable,
    best_top,
    least_top,
    optimal_counts,
    pooled_rates,
    price,
    quantile_at,
    so_far,
    student_t,
    totals_for,
    variance_of_mean,
    whole,
)
from perfarray.variation.numerics.assurance import (
    Evidence,
    assured_half_width,
    first_reached_near,
    share_within,
    true_variances,
)

# outermost counts tried around the continuous optimum: all of them where they are that few, else
# evenly spaced
WINDOW = 256
BLOCK = 1 << 14  # outermost counts tried at once, of all cells
PASSES = 2  # how often the plain half-width that goes with an assured one is asked for again


class Plan(NamedTuple):
    """Counts along the levels, (..., L), what they cost and their plain half-width, (...).

    An assured plan has an assured default one.
    """

    repetitions: Floats
    unrounded: Floats
    cost: Floats
    half_width: Floats
    default_half_width: Floats
    least_budget: Floats


def plan_counts(variance: Floats, cost: Floats, goal: Goal) -> Plan:
    """Plan the repetitions of a nest: the narrowest for a budget, or the cheapest of a half-width.

    `variance` (..., L) are relative components, NaN or negative where nothing is seen of a level;
    `cost` (..., L) are prices, that of the lowest level above zero. The plan is NaN where the
    outermost component is, where no level varies, or where the budget does not buy the fewest
    units. The assurance of the goal does not count here.
    """
    variance, cost = np.broadcast_arrays(np.asarray(variance, float), np.asarray(cost, float))
    shape, levels = variance.shape[:-1], variance.shape[-1]
    a, d, by_budget = (
        variance.reshape(-1, levels),
        cost.reshape(-1, levels),
        goal.budget is not None,
    )
    components, least = np.maximum(np.nan_to_num(a), 0.0), (goal.min_units * d).sum(axis=1)
    limit = np.broadcast_to(
        np.asarray(goal.budget if by_budget else goal.half_width, dtype=float), shape
    ).reshape(-1)
    possible = (
        ~np.isnan(a[:, 0] + least + limit)
        & (components.sum(axis=1) > 0)
        & (not by_budget or least <= limit)
    )
    cells, unrounded, repetitions = (
        np.flatnonzero(possible),
        optimal_counts(a, d),
        np.full(a.shape, np.nan),
    )
    arrays = (
        components[cells],
        d[cells],
        pooled_rates(components[cells, 1:], d[cells, 1:]),
        limit[cells],
    )
    task = Task(*arrays, by_budget, goal.min_units, goal.probability)
    n, low, high = best_top(task)
    low, high = np.maximum(low, np.floor(n / 2)), np.minimum(high, 2 * n + 2)
    widest = np.argsort(
        low - high, kind="stable"
    )  # cells with as many counts to try are planned together
    while len(widest):
        tops = int(min(WINDOW, high[widest[0]] - low[widest[0]] + 1))
        block, widest = np.split(widest, [max(1, BLOCK // tops)])
        part = Task._make([*(array[block] for array in arrays), *task[4:]])
        repetitions[cells[block]] = _best(
            part, n[block], low[block], high[block], unrounded[cells[block]]
        )
    return described(repetitions.reshape(variance.shape), variance, cost, goal)


def described(repetitions: Floats, variance: Floats, cost: Floats, goal: Goal) -> Plan:
    """Return counts (..., L) with what they cost and promise."""
    components = np.maximum(np.nan_to_num(variance), 0.0)
    spent, unrounded = price(repetitions, cost), optimal_counts(variance, cost)
    spendable = spent if goal.budget is None else np.where(np.isnan(spent), np.nan, goal.budget)
    # Of the outermost level: what the money buys at the lower counts of equation 14, none below
    # one.
    each = np.maximum(np.where(np.isnan(unrounded), 1.0, unrounded), 1.0)
    each[..., 0] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        unrounded[..., 0] = spendable / price(each, cost)
    half = np.asarray(
        student_t(repetitions[..., 0], goal.probability)
        * np.sqrt(variance_of_mean(repetitions, components))
    )
    return Plan(
        repetitions,
        unrounded,
        spent,
        half,
        np.full(spent.shape, np.nan),
        np.asarray((goal.min_units * cost).sum(axis=-1)),
    )


def plan_assured(variance: Floats, cost: Floats, evidence: Evidence, goal: Goal) -> Plan:
    """Plan as `plan_counts` does, for the half-width that a share of experiments, the assurance, stays within.

    That half-width is the plain one times a factor which hardly depends on the lower counts: the
    plain one to ask for is found in a few passes, and then the fewest outermost units at those
    lower counts. Where a pilot of few units leaves it open that more lies between units than it has
    seen, many units with one of everything in each may do better, and are planned then.
    """
    variance, cost = np.broadcast_arrays(np.asarray(variance, float), np.asarray(cost, float))
    if goal.budget is None and goal.half_width is None:
        return lower_counts(variance, cost, goal.min_units)
    components = np.maximum(np.nan_to_num(variance), 0.0)

    def half_width(repetitions: Floats) -> Floats:
        return assured_half_width(
            repetitions[..., 0], variance_below(repetitions, components), evidence, goal
        )

    plan = plan_counts(variance, cost, goal)
    if goal.budget is None and goal.assurance is not None:
        for _ in range(PASSES):
            plan = plan_counts(
                variance,
                cost,
                goal._replace(
                    half_width=goal.half_width * plan.half_width / half_width(plan.repetitions)
                ),
            )
        counts = fewest_units(plan.repetitions, components, evidence, goal)
        one_in_each = with_top(
            affordable(price(counts, cost), np.ones_like(cost), cost), counts[..., 1:] * 0 + 1.0
        )
        single = fewest_units(one_in_each, components, evidence, goal, at_most=True)
        counts = np.where((price(single, cost) < price(counts, cost))[..., None], single, counts)
        plan = described(counts, variance, cost, goal)
    spendable = (
        plan.cost if goal.budget is None else np.where(np.isnan(plan.cost), np.nan, goal.budget)
    )
    single = np.ones_like(cost)
    single[..., 0] = affordable(spendable, np.ones_like(cost), cost)
    default = assured_half_width(single[..., 0], components[..., 1:].sum(axis=-1), evidence, goal)
    if goal.budget is not None and goal.assurance is not None:
        better = (single[..., 0] >= goal.min_units) & (
            default < half_width(plan.repetitions) * (1 - ROUNDING)
        )
        plan = described(
            np.where(better[..., None], single, plan.repetitions), variance, cost, goal
        )
    return plan._replace(default_half_width=default)


def fewest_units(
    repetitions: Floats,
    components: Floats,
    evidence: Evidence,
    goal: Goal,
    *,
    at_most: bool = False,
) -> Floats:
    """Return counts with the fewest outermost units, near those given, of which the share of experiments wanted keeps the half-width.

    With `at_most` there are no more than those given, and NaN where these are too few.
    """
    true = true_variances(variance_below(repetitions, components), evidence)

    def enough(n: Floats) -> Mask:
        df = (n - 1) * evidence.growth
        return np.asarray(
            share_within(
                n * (goal.half_width / quantile_at(t_quantile, goal.probability, df)) ** 2, df, true
            )
            >= float(goal.assurance or 0.0)
        )

    given = repetitions[..., 0]
    searched = (given >= goal.min_units) & enough(given) if at_most else ~np.isnan(given)
    return with_top(
        first_reached_near(given, enough, np.where(searched, float(goal.min_units), np.nan)),
        repetitions[..., 1:],
    )


def variance_below(repetitions: Floats, components: Floats) -> Floats:
    """Return the variance inside one outermost unit with these counts (..., L)."""
    return variance_of_mean(inside_unit(repetitions), components) - components[..., 0]


def inside_unit(repetitions: Floats) -> Floats:
    """Return the counts (..., L) of one outermost unit."""
    return with_top(np.ones(repetitions.shape[:-1]), repetitions[..., 1:])


def inside_parent(total: Floats) -> Floats:
    """Return the repetitions (..., L) inside one parent from those in all."""
    return total / with_top(np.ones(total.shape[:-1]), total[..., :-1])


def with_top(top: Floats, lower: Floats) -> Floats:
    """Return counts (..., L) from those of the outermost level and of the lower ones."""
    return np.concatenate([top[..., None], lower], axis=-1)


def lower_counts(variance: Floats, cost: Floats, min_units: int) -> Plan:
    """Return the counts of equation 14 below the outermost level, rounded up.

    NaN where nothing varies above, however many there are.
    """
    unrounded = optimal_counts(variance, cost)
    counts = np.where(np.isnan(unrounded), 1.0, np.maximum(1.0, np.ceil(unrounded - ROUNDING)))
    counts = np.where(np.isfinite(counts) & ~np.isnan(variance[..., :1]), counts, np.nan)
    counts[..., 0] = np.nan
    nothing = np.full(variance.shape[:-1], np.nan)
    return Plan(
        counts, unrounded, nothing, nothing, nothing, np.asarray((min_units * cost).sum(axis=-1))
    )


def counts_by_budget(variance: Floats, cost: Floats, budgets: Floats, goal: Goal) -> list[Floats]:
    """Return the units that budgets buy and the variance below them (..., budgets): of the unrounded plan, of the one-level experiment."""
    variance, cost = np.broadcast_arrays(np.asarray(variance, float), np.asarray(cost, float))
    levels, points = variance.shape[-1], budgets.shape[-1]
    a = np.repeat(np.maximum(np.nan_to_num(variance.reshape(-1, levels)), 0.0), points, axis=0)
    d = np.repeat(cost.reshape(-1, levels), points, axis=0)
    limit = budgets.reshape(-1)
    units, below = np.full((2, len(limit)), np.nan)
    rows = np.flatnonzero((goal.min_units * d).sum(axis=1) <= limit)
    rates = pooled_rates(a[rows, 1:], d[rows, 1:])
    task = Task(a[rows], d[rows], rates, limit[rows], True, goal.min_units, goal.probability)
    units[rows] = best_top(task)[0]
    totals = totals_for(task, units[rows][:, None])[:, 0]
    below[rows] = units[rows] * (task.variance[:, 1:] / totals[:, 1:]).sum(axis=1)
    single_units = affordable(limit, np.ones_like(d), d)
    return [
        array.reshape(budgets.shape) for array in (units, below, single_units, a[:, 1:].sum(axis=1))
    ]


def _best(task: Task, n: Floats, low: Floats, high: Floats, unrounded: Floats) -> Floats:
    """Return the best whole counts (cells, L): every neighbour of the continuous optimum is completed to the limit."""
    tops = _around(n, low, high)
    whole_numbers, index = np.unique(tops, return_inverse=True)
    quantile = student_t(whole_numbers, task.probability)[index].reshape(tops.shape)
    roundings = _roundings(task.variance[:, None, 1:], totals_for(task, tops, quantile))
    completed = [with_top(tops, roundings[0][1])]
    for level in range(1, task.variance.shape[1]):
        completed += [
            _filled(task, with_top(tops, lower), level, quantile)
            for up, lower in roundings
            if not up[level - 1]
        ]
    free = _with_free_top(task, n, unrounded)
    candidates = np.concatenate([*completed, free], axis=1)
    spent, limit = price(candidates, task.cost[:, None]), task.limit[:, None]
    quantiles = np.concatenate(
        [*[quantile] * len(completed), student_t(free[..., 0], task.probability)], axis=1
    )
    half = quantiles * np.sqrt(variance_of_mean(candidates, task.variance[:, None]))
    first, second = (half, spent) if task.by_budget else (spent, half)
    allowed = spent <= limit if task.by_budget else half <= limit * (1 + ROUNDING)
    allowed &= (candidates[..., 0] >= task.min_units) & (reduced(np.minimum, candidates) >= 1)
    first = np.where(allowed, first, np.inf)
    tied = first <= first.min(axis=1, keepdims=True) * (1 + ROUNDING)
    chosen = np.argmin(np.where(tied & allowed, second, np.inf), axis=1)
    return np.asarray(candidates[np.arange(len(chosen)), chosen])


def _around(n: Floats, low: Floats, high: Floats) -> Floats:
    """Return (cells, tops): whole numbers in a window, those next to n among them."""
    low, high, number = low[:, None], high[:, None], int(min(WINDOW, (high - low).max() + 1))
    if number < WINDOW:
        return np.minimum(low + np.arange(number), high)
    spaced = np.floor(low + (high - low) * np.arange(WINDOW) / (WINDOW - 1) + ROUNDING)
    near = np.clip(n[:, None] + np.arange(-8, 9), low, high)
    return np.concatenate([spaced, near], axis=1)


def _roundings(variance: Floats, totals: Floats) -> list[tuple[tuple[bool, ...], Floats]]:
    """Return the lower counts of continuous totals, each rounded down or up, and which are rounded up; one where nothing varies."""
    with np.errstate(invalid="ignore"):
        counts = totals[..., 1:] / totals[..., :-1]
    varies = (variance > 0) & np.isfinite(counts)
    down, up = (
        np.where(varies, np.maximum(1.0, rounded(counts)), 1.0) for rounded in (whole, np.ceil)
    )
    choices = list(product((False, True), repeat=counts.shape[-1]))
    return [(choice, np.where(np.array(choice, dtype=bool), up, down)) for choice in choices]


def _filled(task: Task, counts: Floats, level: int, quantile: Floats) -> Floats:
    """Return the counts with that of one lower level as high as the budget allows, or as low as the width allows; else 1."""
    counts[..., level] = 1.0
    above = so_far(np.multiply, counts[..., :level])
    inside = so_far(np.multiply, counts[..., level:]) * above[..., -1:]
    a, d, limit = task.variance[:, None], task.cost[:, None], task.limit[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        if task.by_budget:
            fixed, each = (
                reduced(np.add, above * d[..., :level]),
                reduced(np.add, inside * d[..., level:]),
            )
            filled = whole((limit - fixed) / each)
            filled -= fixed + each * filled > limit
        else:
            variance_left = (limit / quantile) ** 2 - reduced(np.add, a[..., :level] / above)
            filled = np.where(
                variance_left > 0,
                np.ceil(reduced(np.add, a[..., level:] / inside) / variance_left - ROUNDING),
                np.nan,
            )
    counts[..., level] = np.where(
        (filled >= 1) & (a[..., level] > 0) & np.isfinite(filled), filled, 1.0
    )
    return counts


def _with_free_top(task: Task, n: Floats, unrounded: Floats) -> Floats:
    """Return whole counts (cells, choices, L) whose outermost takes what the lower ones leave: rounded, of equation 14, or one."""
    of_equation = np.ceil(
        np.where(
            np.isfinite(unrounded[:, 1:]) & (task.variance[:, 1:] > 0),
            np.maximum(unrounded[:, 1:], 1.0),
            1.0,
        )
    )
    roundings = _roundings(task.variance[:, 1:], totals_for(task, n[:, None])[:, 0])
    lower = np.stack(
        [of_equation, np.ones_like(of_equation), *(counts for _, counts in roundings)], axis=1
    )
    counts = with_top(np.ones(lower.shape[:2]), lower)
    if task.by_budget:
        totals = so_far(np.multiply, counts)
        top = np.maximum(affordable(task.limit[:, None], totals, task.cost[:, None]), 1.0)
    else:
        unit_variance = variance_of_mean(counts, task.variance[:, None])
        top = least_top(task, unit_variance, np.full(unit_variance.shape, float(task.min_units)))
    counts[..., 0] = top
    return counts
