"""What a pilot says of a suite: the tree to plan with, how well its root is known, and how many more units to run.

Z_j, the weighted sum over benchmarks of the log of unit j's mean, has the variance of the root plus
that of everything below it at the pilot's counts: so what units have in common is found without
knowing the correlation between benchmarks.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.levels import count_repetitions, unit_means
from perfarray.numerics.nested_anova import Components, nested_anova
from perfarray.numerics.types import Floats
from perfarray.variation.numerics.allocation import ROUNDING, Goal, pooled_rates, share_out
from perfarray.variation.numerics.assurance import (
    Evidence,
    assured_half_width,
    evidence,
    future_variance,
    nodes,
)
from perfarray.variation.numerics.suite_counts import ULPS, Forest, side_by_side, tree, whole_counts

TRIES = 6  # how often the half-width that goes with an assured one is asked for again
SHORT = 0.995  # what is asked for of the half-width where a plan did not keep it
LARGEST = 1e6  # degrees of freedom that are as good as any more
PILOTS = 400  # pilots that a promise is tried on


class Sharing(NamedTuple):
    """How many of the outermost levels serve every benchmark in the plan, how many do in the pilot, and a correlation to assume instead."""

    planned: int = 1
    in_pilot: int = 0
    correlation: float | None = None


class SuitePilot(NamedTuple):
    """Of one tree: the variance of the pilot's units with its degrees of freedom, the repetitions seen (rows, L), and the root's estimate.

    The estimate may be negative, where the tree has zero. Of two paired systems, the rows of the
    candidate and then those of the baseline. `known` are the degrees of freedom (L,) that other
    benchmarks add.
    """

    tree: Forest
    unit_variance: float
    df: float
    total: Floats
    top: float
    known: Floats | float = 0.0

    @property
    def n(self) -> float:
        """Outermost units of the benchmark that has the fewest."""
        return float(self.total[:, 0].min())

    @property
    def spent(self) -> float:
        """What the pilot cost, its shared repetitions counted once."""
        totals = np.zeros(len(self.tree.variance))
        np.maximum.at(totals, self.tree.paths, self.total)
        return float((totals * self.tree.cost).sum())


def suite_pilot(
    systems: Sequence[tuple[Floats, Floats, Components]],
    shares: Floats,
    sharing: Sharing,
    known: Floats | float = 0.0,
) -> SuitePilot:
    """Estimate the components of the log geometric mean of one system, or of the ratio of two whose outermost units are pairs.

    Of pairs, the root is the variance of their differences, less what lies below; the price of a
    pair is that of both its units.

    `systems` hold positive measurements (benchmarks, n_L, ..., n_1), every benchmark measured,
    prices (benchmarks, L), where NaN at the lowest level means its mean, and their components;
    `shares` are the weights of the benchmarks in the mean, whose sum is 1. The root is NaN where
    fewer than two units stand behind it.
    """
    levels, planned = systems[0][1].shape[1], sharing.planned
    components = [of_system for _, _, of_system in systems]
    scales = [(shares / each.mean)[:, None] ** 2 for each in components]
    variances = [scale * each.variance for scale, each in zip(scales, components, strict=True)]
    below = [
        scale * each.level_variance - variance
        for scale, each, variance in zip(scales, components, variances, strict=True)
    ]
    prices = [
        np.where(np.isnan(cost), each.mean[:, None], cost)
        for each, (_, cost, _) in zip(components, systems, strict=True)
    ]
    logs = [
        np.log(unit_means(values, levels - max(sharing.in_pilot, 1) + 1)) for values, *_ in systems
    ]
    weighted = (logs[0] if len(logs) == 1 else logs[0] - logs[1]) * shares.reshape(
        -1, *[1] * (logs[0].ndim - 1)
    )
    variance, inside = variances[0][:, :planned], below[0][:, :planned]
    if len(systems) > 1:
        inside = below[0][:, :1] + below[1][:, :1]
        variance = nested_anova(weighted, 1).variance - inside
    shared, unit_variance, df = _shared_components(variance, inside, weighted, sharing)
    stem = np.stack(
        [np.nan_to_num(np.maximum(shared, 0.0)), sum(price[0, :planned] for price in prices)]
    )
    stem[0, 0] = np.maximum(shared[0], 0.0)
    lower = np.stack(
        [np.nan_to_num(np.maximum(np.concatenate(variances), 0.0)), np.concatenate(prices)]
    )[:, :, planned:]
    total = np.concatenate([count_repetitions(values, levels).total for values, *_ in systems])
    return SuitePilot(
        tree(stem, lower),
        unit_variance,
        df + float(np.ravel(known)[0]),
        total,
        float(shared[0]),
        known,
    )


def _shared_components(
    variance: Floats, inside: Floats, logs: Floats, sharing: Sharing
) -> tuple[Floats, float, float]:
    """Return the components of the shared levels, the variance of the pilot's units of the geometric mean, and its degrees of freedom.

    `variance` and `inside` (benchmarks, shared levels) are the components and what lies below them,
    `logs` the weighted logs of means.
    """
    correlation, n_shared = sharing.correlation or 0.0, sharing.in_pilot
    deviations = np.sqrt(np.nan_to_num(np.maximum(variance, 0.0)))
    shared = (1 - correlation) * (deviations**2).sum(axis=0) + correlation * deviations.sum(
        axis=0
    ) ** 2
    if len(variance) == 1:
        shared = variance[0].copy()  # what one benchmark shows may be negative
    if sharing.correlation is None and n_shared:
        common = nested_anova(logs.sum(axis=0)[None], n_shared, "keep")
        shared[:n_shared] = common.variance[0]
        shared[n_shared - 1] -= inside[:, n_shared - 1].sum()
        return shared, float(common.level_variance[0, 0]), float(common.df[0])
    unit_variances = (variance + inside)[:, 0]
    if np.isnan(unit_variances).any():
        shared[0] = np.nan
    units = (~np.isnan(logs.reshape(*logs.shape[:2], -1)).all(axis=-1)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = unit_variances.sum() ** 2 / (unit_variances**2 / (units - 1)).sum()
    return shared, float(shared[0] + inside[:, 0].sum()), float(df)


class SuitePlan(NamedTuple):
    """The trees of all pilots, the counts (nodes,) inside one parent, what they cost and promise, and what the pilots know of that."""

    forest: Forest
    counts: Floats
    cost: float
    half_width: float
    evidence: Evidence

    @property
    def units(self) -> Floats:
        """Units of each tree."""
        return self.counts[self.forest.roots]

    @property
    def unit_prices(self) -> Floats:
        """What a unit of each tree costs, with all that lies inside it."""
        return (
            self.forest.subtree(self.forest.cost * self.forest.totals(self.counts))[
                self.forest.roots
            ]
            / self.units
        )

    @property
    def unit_noises(self) -> Floats:
        """The variance of a unit of each tree."""
        return (
            self.forest.subtree(self.forest.variance / self.forest.totals(self.counts))[
                self.forest.roots
            ]
            * self.units
        )

    @property
    def inside(self) -> float:
        """The variance inside units, as if all trees had as many as the one with the fewest."""
        noises = self.unit_noises - self.forest.variance[self.forest.roots]
        return max(0.0, float((noises * self.units.min() / self.units).sum()))


def plan_assured(pilots: list[SuitePilot], goal: Goal) -> SuitePlan:
    """Plan with the half-width that a share `assurance` of experiments stays within.

    Where a half-width is wanted, the plain one that goes with it is asked for, again until the plan
    keeps it.
    """
    forest, target, plans = (
        side_by_side([pilot.tree for pilot in pilots]),
        goal.half_width,
        list[SuitePlan](),
    )
    for _ in range(TRIES):
        counts = whole_counts(forest, goal)
        if any((counts == plan.counts).all() for plan in plans):
            break
        cost, fewest = float(forest.price(counts)), np.asarray(counts[forest.roots].min())
        if goal.budget is not None and cost <= goal.budget * (1 + ULPS):
            cost = min(cost, goal.budget)
        evidence_of_plan = _evidence_of(pilots, counts[forest.roots], cost, goal.min_units)
        half = float(half_width_of_noise(forest.noise(counts), fewest, evidence_of_plan, goal))
        plans.append(SuitePlan(forest, counts, cost, half, evidence_of_plan))
        if goal.budget is not None or SHORT * target <= half <= target:
            break
        goal = goal._replace(
            half_width=goal.half_width * target / half * (1.0 if half <= target else SHORT)
        )
    narrow_enough = [
        plan
        for plan in plans
        if goal.budget is not None or plan.half_width <= target * (1 + ROUNDING)
    ]
    return (
        min(narrow_enough, key=lambda plan: plan.cost)
        if narrow_enough
        else min(plans, key=lambda plan: plan.half_width)
    )


def half_width_of_noise(noise: Floats, n: Floats, evidence: Evidence, goal: Goal) -> Floats:
    """Return the half-width that goes with the variance of the log of the geometric mean, of n units."""
    below = np.maximum(n * noise - np.maximum(evidence.top, 0.0), 0.0)
    return assured_half_width(n, below, evidence, goal)


def _evidence_of(
    pilots: list[SuitePilot], units: Floats, budget: float, min_units: int
) -> Evidence:
    """Return what the pilots know of the variance that so many units of each leave, as if of the fewest of them."""
    shares = units.min() / units
    spread = np.array([pilot.unit_variance for pilot in pilots]) * shares
    top = np.asarray((np.array([pilot.top for pilot in pilots]) * shares).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.asarray(
            spread.sum() ** 2 / (spread**2 / np.array([pilot.df for pilot in pilots])).sum()
        )
        growth = spread.sum() ** 2 / (spread**2 / (units - 1)).sum() / (units.min() - 1)
    total = np.concatenate([pilot.total for pilot in pilots])
    if len(pilots) == len(total) > 1:
        known = np.stack([pilot.known + np.zeros(total.shape[1]) for pilot in pilots])
        ratios = planned_again(
            side_by_side([pilot.tree for pilot in pilots]), total, budget, min_units, known
        )
        return Evidence(spread.sum(), top, df, growth, ratios, of_plan=True)
    return evidence(spread.sum(), top, df, growth)


def planned_again(
    forest: Forest, total: Floats, budget: float, min_units: int, known: Floats | float = 0.0
) -> Floats:
    """Return, at the nodes of `assurance`, by how much the variance of a plan of unshared units exceeds the one it promises.

    A benchmark whose variance the pilot underrates gets too few repetitions, so that the error of
    the plan is larger than that of the variances it is made from: one of many chains by a factor of
    about f / (f - 1), f their degrees of freedom. So components are drawn as pilots of this size
    would find them, if those found were true, and each time the continuous plan is made again. One
    that was not seen in a benchmark may be there: it is taken to be the same multiple of the lowest
    as in the whole suite. `total` (benchmarks, L) are the repetitions in the pilot, `known` the
    degrees of freedom that others add, `budget` is what the plan costs.
    """
    variance, cost = forest.variance[forest.paths], forest.cost[forest.paths]
    order = np.lexsort(
        np.column_stack([variance, cost, total]).T
    )  # the order of the benchmarks changes nothing that is drawn
    variance, cost, total, known = (
        variance[order],
        cost[order],
        total[order],
        (known + np.zeros(total.shape))[order],
    )
    lowest = variance[:, -1:]
    common = (
        np.divide(
            variance.sum(axis=0),
            lowest.sum(),
            out=np.zeros(variance.shape[1]),
            where=lowest.sum() > 0,
        )
        * lowest
    )
    variance = np.where(variance > 0, variance, common)
    inside = total[:, 1:] / total[:, :-1]
    levels = variance.copy()
    for level in range(variance.shape[1] - 2, -1, -1):
        levels[:, level] += levels[:, level + 1] / inside[:, level]
    df = np.minimum(np.maximum(np.diff(total, axis=1, prepend=1.0), 1.0) + known, LARGEST)
    mean_squares = (
        levels * np.random.Generator(np.random.Philox(0)).chisquare(df, (PILOTS, *df.shape)) / df
    )
    components = mean_squares.copy()
    components[..., :-1] -= mean_squares[..., 1:] / inside
    components = np.maximum(components, 0.0)
    rates = pooled_rates(components, cost).reshape(PILOTS, -1)
    a, d = components.reshape(PILOTS, -1), cost.ravel()
    repetitions = share_out(a, d, rates, np.asarray(float(min_units)), budget=budget)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (variance.ravel() / repetitions).sum(axis=1) / (a / repetitions).sum(axis=1)
    return np.asarray(np.quantile(np.where(np.isnan(ratios), 1.0, ratios), nodes()[0]))


def units_to_add(pilots: list[SuitePilot], plan: SuitePlan, goal: Goal) -> tuple[Floats, float]:
    """Return how many units of each tree to add to the pilot's, and the half-width together with them.

    They are as many as are affordable, or the fewest that give the half-width. Several trees grow
    towards the plan's proportion. The mean of all units is unweighted; the variance of new ones is
    what this share of experiments stays within.
    """
    evidence, inside, have = plan.evidence, plan.inside, np.array([pilot.n for pilot in pilots])
    prices, noises, unit_variances = (
        plan.unit_prices,
        plan.unit_noises,
        np.array([pilot.unit_variance for pilot in pilots]),
    )
    money = None if goal.budget is None else goal.budget - sum(pilot.spent for pilot in pilots)

    def added(scale: float) -> Floats:
        return np.asarray(np.maximum(0.0, np.floor(scale * plan.units + ROUNDING) - have))

    def half_width(more: Floats) -> float:
        n, factor, growth = have + more, 1.0, 1.0 if goal.assurance is None else evidence.growth
        if goal.assurance is not None and more.max() > 0:
            df = np.asarray(max(1.0, more.min()) * growth)
            factor = float(
                future_variance(df, np.asarray(inside), evidence, goal.assurance)
                / (max(float(evidence.top), 0.0) + inside)
            )
        df = np.where(n.min() > 1, (n.min() - 1) * growth, np.nan)
        variance = ((have * unit_variances + factor * more * noises) / n**2).sum()
        return float(t_quantile(goal.probability, df) * np.sqrt(variance))

    def enough(scale: float) -> bool:
        more = added(scale)
        return bool(
            half_width(more) <= goal.half_width if money is None else (more * prices).sum() > money
        )

    low, high = 0.0, 1.0
    while not enough(high):
        low, high = high, 2 * high
    while high - low > ROUNDING * max(1.0, high):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    more = added(high if money is None else low)
    return more, half_width(more)
