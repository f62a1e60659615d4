"""What a pilot says of a suite on shared units: the star to plan with, how well its root is known, and how many more units to run.

Z_j, the mean over benchmarks of the log of unit j's mean, has the variance of the root plus that of everything below it at the pilot's
counts: so what units have in common is found without knowing the correlation between benchmarks.
"""

from typing import Any, NamedTuple

import numpy as np

from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.levels import count_repetitions, unit_means
from perfarray.numerics.nested_anova import nested_anova
from perfarray.numerics.types import Floats, Mask
from perfarray.variation.numerics.allocation import ROUNDING
from perfarray.variation.numerics.assurance import Evidence, assured_half_width, future_variance, known, rescaled
from perfarray.variation.numerics.pilot import component_limits
from perfarray.variation.numerics.suite_apart import chain, planned_again
from perfarray.variation.numerics.suite_plans import SuitePlan, plan_stars
from perfarray.variation.numerics.suite_star import Star, price_inside, variance_inside

EQUAL: Floats = np.ones(1)
"""Weights of benchmarks that all count alike."""

TRIES = 5
"""How often the plain half-width that goes with an assured one is asked for again."""

SHORT = 0.995
"""By how much less is asked for where a plan did not keep the half-width."""


class Sharing(NamedTuple):
    """How many of the outermost levels serve every benchmark in the plan, how many do in the pilot, and a correlation to assume instead."""

    planned: int = 1
    in_pilot: int = 0
    correlation: float | None = None


class SuitePilot(NamedTuple):
    """A star, the variance of the pilot's units with its degrees of freedom, the repetitions seen (benchmarks, L), and the root's estimate.

    The estimate may be negative, where the star has zero.

    Of two paired systems, the benchmarks of the candidate and then those of the baseline.
    """

    star: Star
    unit_variance: float
    df: float
    total: Floats
    top: float

    @property
    def n(self) -> float:
        """Outermost units of the benchmark that has the fewest, of those that were measured."""
        units = self.total[:, 0]
        return float(units[units > 0].min()) if (units > 0).any() else 0.0

    @property
    def spent(self) -> float:
        """What the pilot cost, its shared repetitions counted once."""
        shared = np.concatenate([[self.star.root_cost], self.star.inner[:, 1]])
        once = (self.total.max(axis=0)[: len(shared)] * shared).sum()
        return float(once + (self.total[:, len(shared) :] * self.star.cost).sum())


class _Benchmarks(NamedTuple):
    """Of each benchmark, relative to its squared mean: components, variances of means (benchmarks, L); its units; logs of means."""

    variance: Floats
    level_variance: Floats
    units: Floats
    logs: Floats


def suite_pilot(values: Floats, cost: Floats, sharing: Sharing, negative: str = "merge", weights: Floats = EQUAL) -> SuitePilot:
    """Estimate one system's components of the log geometric mean from its pilot.

    Parameters
    ----------
    values : array, shape (benchmarks, n_L, ..., n_1)
        Positive measurements; a benchmark that is all NaN is left out.
    cost : array, shape (benchmarks, L)
        Prices; NaN at the lowest level means its mean.
    sharing : Sharing
        Which levels are shared.
    negative : {"merge", "zero"}
        What becomes of negative components.
    weights : array, shape (benchmarks,)
        How much each benchmark counts in the mean; of one element, all count alike.

    Returns
    -------
    SuitePilot
        With NaN at the root of the star where fewer than two units stand behind it.
    """
    levels = cost.shape[1]
    measured, variance, level_variance, prices = _relative(values, cost, negative, weights)
    total = count_repetitions(values, levels).total
    logs = _counting(np.log(unit_means(values, levels - max(sharing.in_pilot, 1) + 1)), measured, weights)
    benchmarks = _Benchmarks(variance[measured], level_variance[measured], total[measured, 0], logs)
    shared, unit_variance, df = _shared_components(benchmarks, sharing)
    lower = np.where(measured[:, None], np.nan_to_num(np.maximum(variance, 0.0)), 0.0)[:, sharing.planned :] / max(1, measured.sum()) ** 2
    lower_prices = np.where(measured[:, None], prices, 0.0)[:, sharing.planned :]
    inner = np.column_stack([np.nan_to_num(np.maximum(shared[1:], 0.0)), prices[0, 1 : sharing.planned]])
    star = Star(float(np.maximum(shared[0], 0.0)), float(prices[0, 0]), lower, lower_prices, inner)
    return SuitePilot(star, unit_variance, df, total, float(shared[0]))


def pilots_apart(values: Floats, cost: Floats, negative: str = "merge", weights: Floats = EQUAL) -> list[SuitePilot]:
    """Return a pilot for each benchmark, where benchmarks share no units; all of them were measured."""
    pilots, counts = [], _counts(np.ones(len(values), dtype=bool), weights)
    for benchmark_values, prices, count in zip(values, cost, counts.tolist(), strict=True):
        star, unit_variance, total, top = chain(benchmark_values, prices, negative, len(values) / count)
        n = float(total[0, 0])
        pilots.append(SuitePilot(star, unit_variance, n - 1 if n > 1 else np.nan, total, top))
    return pilots


def paired_pilot(
    new: Floats, old: Floats, costs: tuple[Floats, Floats], sharing: Sharing, negative: str = "merge", weights: Floats = EQUAL
) -> SuitePilot:
    """Estimate the components of the log ratio of two systems whose outermost units are pairs: one star with the chains of both.

    The root is the variance of the pairs' differences, less what lies below; the price of a pair is that of both its units.
    """
    levels = costs[0].shape[1]
    sides = [_relative(values, cost, negative, weights) for values, cost in zip((new, old), costs, strict=True)]
    measured = sides[0][0] & sides[1][0]
    logs = _counting(np.log(unit_means(new, levels)) - np.log(unit_means(old, levels)), measured, weights)
    units = (~np.isnan(logs)).sum(axis=1).astype(float)
    spread = np.array(
        [np.var(benchmarks[~np.isnan(benchmarks)], ddof=1) if n > 1 else np.nan for benchmarks, n in zip(logs, units, strict=True)]
    )
    below = sum(level_variance[measured, 0] - variance[measured, 0] for _, variance, level_variance, _ in sides)
    benchmarks = _Benchmarks((spread - below)[:, None], spread[:, None], units, logs)
    shared, unit_variance, df = _shared_components(benchmarks, sharing)
    number = max(1, int(measured.sum()))
    lower = np.concatenate([np.where(measured[:, None], np.nan_to_num(np.maximum(side[1][:, 1:], 0.0)), 0.0) for side in sides]) / number**2
    prices = np.concatenate([np.where(measured[:, None], side[3][:, 1:], 0.0) for side in sides])
    star = Star(float(np.maximum(shared[0], 0.0)), float(sum(side[3][0, 0] for side in sides)), lower, prices)
    total = np.concatenate([np.where(measured[:, None], count_repetitions(values, levels).total, 0.0) for values in (new, old)])
    return SuitePilot(star, unit_variance, df, total, float(shared[0]))


def _relative(values: Floats, cost: Floats, negative: str, weights: Floats) -> tuple[Mask, Floats, Floats, Floats]:
    """Return which benchmarks were measured, their components and variances of means relative to the squared mean, and their prices.

    A benchmark that counts twice moves the mean by twice as much.
    """
    components = nested_anova(values, cost.shape[1], negative)
    measured = ~np.isnan(components.mean)
    squared = np.where(measured & (components.mean != 0), components.mean, np.nan)[:, None] ** 2
    counts = _counts(measured, weights)[:, None] ** 2
    prices = np.where(np.isnan(cost), components.mean[:, None], cost)
    return measured, counts * (components.variance / squared), counts * (components.level_variance / squared), prices


def _counts(measured: Mask, weights: Floats) -> Floats:
    """Return how often each benchmark counts in the mean of those that were measured, 1 on average."""
    shares = np.broadcast_to(weights, measured.shape)
    return np.asarray(shares / (shares[measured].mean() if measured.any() else 1.0))


def _counting(logs: Floats, measured: Mask, weights: Floats) -> Floats:
    """Return logs (benchmarks, ...) of those that were measured, times how often they count."""
    return np.asarray(logs[measured] * _counts(measured, weights)[measured].reshape(-1, *[1] * (logs.ndim - 1)))


def _shared_components(benchmarks: _Benchmarks, sharing: Sharing) -> tuple[Floats, float, float]:
    """Return the components of the shared levels, the variance of the pilot's units of the geometric mean, and its degrees of freedom."""
    number = max(1, len(benchmarks.variance))
    correlation, deviations = sharing.correlation or 0.0, np.sqrt(np.nan_to_num(np.maximum(benchmarks.variance[:, : sharing.planned], 0.0)))
    shared = ((1 - correlation) * (deviations**2).sum(axis=0) + correlation * deviations.sum(axis=0) ** 2) / number**2
    below = (benchmarks.level_variance - benchmarks.variance) / number**2
    if sharing.correlation is None and sharing.in_pilot:
        n_seen = sharing.in_pilot
        common = nested_anova(benchmarks.logs.mean(axis=0)[None], n_seen, "keep")
        shared[:n_seen] = common.variance[0]
        shared[n_seen - 1] -= below[:, n_seen - 1].sum()
        unit_variance, df = common.level_variance[0, 0], common.df[0]
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = benchmarks.level_variance[:, 0]
            unit_variance, df = shared[0] + below[:, 0].sum(), spread.sum() ** 2 / (spread**2 / (benchmarks.units - 1)).sum()
        shared[0] = shared[0] if len(spread) and not np.isnan(spread).any() else np.nan
    return shared, float(unit_variance), float(df)


def evidence_of(pilots: list[SuitePilot], plan: SuitePlan, min_units: int) -> Evidence:
    """Return what the pilots know of the variance that the units of a plan leave, as if of the fewest of them."""
    units, total = plan.units, np.concatenate([pilot.total for pilot in pilots])
    shares = min(units) / np.array(units)
    spread = np.array([pilot.unit_variance for pilot in pilots]) * shares
    top = sum(pilot.top * share for pilot, share in zip(pilots, shares, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        df = spread.sum() ** 2 / (spread**2 / np.array([pilot.df for pilot in pilots])).sum()
        growth = spread.sum() ** 2 / (spread**2 / (np.array(units) - 1)).sum() / (min(units) - 1)
    unshared = len(pilots) == len(total) > 1
    ratios = planned_again([pilot.star for pilot in pilots], total, plan.cost, min_units) if unshared else None
    return Evidence(spread.sum(), np.asarray(top), df, growth, ratios)


def plan_assured(pilots: list[SuitePilot], assurance: float | None, confidence_level: float, **limit: Any) -> SuitePlan:
    """Plan as `plan_stars` does, with the half-width that a share `assurance` of experiments stays within.

    Where a half-width is wanted, the plain one that goes with it is asked for, again until the plan keeps it.
    """
    stars, target = [pilot.star for pilot in pilots], limit.pop("half_width", None)

    def assured(plan: SuitePlan) -> SuitePlan:
        evidence = evidence_of(pilots, plan, limit["min_units"])
        half = rescaled(np.asarray(plan.half_width), np.asarray(min(plan.units)), evidence, assurance, confidence_level)
        return plan._replace(half_width=float(half), evidence=evidence)

    if target is None:
        return assured(plan_stars(stars, confidence_level=confidence_level, **limit))
    plans, half_width_asked = [], target
    for _ in range(1 if assurance is None else TRIES):
        plans.append(assured(plan_stars(stars, half_width=half_width_asked, confidence_level=confidence_level, **limit)))
        half = plans[-1].half_width
        if SHORT * target <= half <= target:
            break
        half_width_asked *= target / half * (1.0 if half <= target else SHORT)
    narrow_enough = [plan for plan in plans if plan.half_width <= target * (1 + ROUNDING)]
    return min(narrow_enough, key=lambda plan: plan.cost) if narrow_enough else min(plans, key=lambda plan: plan.half_width)


def pilot_limits(pilots: list[SuitePilot], plan: SuitePlan, assurance: float | None, confidence_level: float) -> tuple[float, float]:
    """Return what a plan's half-width becomes at either limit of the root component (chi-square; of two systems, Satterthwaite)."""
    n, evidence = min(plan.units), plan.evidence
    inside = n * sum(variance_inside(pilot.star, counts) / m for pilot, m, counts in zip(pilots, plan.units, plan.counts, strict=True))
    low, high = (
        float(assured_half_width(np.asarray(n), np.asarray(inside), known(top, evidence.growth), assurance, confidence_level))
        for top in component_limits(evidence.top, evidence.unit_variance, evidence.df, confidence_level)
    )
    return low, high


class More(NamedTuple):
    """Units of each system still to be run with the plan's counts inside, and the half-width together with the pilot's."""

    units: list[float]
    half_width: float


def units_to_add(
    pilots: list[SuitePilot],
    plan: SuitePlan,
    budget: float | None,
    half_width: float | None,
    *,
    assurance: float | None = None,
    confidence_level: float = 0.95,
) -> More:
    """Return how many units to add to the pilot's: as many as are affordable, or the fewest that give the half-width.

    Two systems grow towards the plan's proportion. The mean of all units is unweighted; the variance of new ones is what this share of
    experiments stays within.
    """
    evidence = plan.evidence
    inside = max(
        0.0,
        min(plan.units)
        * sum(variance_inside(pilot.star, counts) / n for pilot, n, counts in zip(pilots, plan.units, plan.counts, strict=True)),
    )
    stars, have = [pilot.star for pilot in pilots], np.array([pilot.n for pilot in pilots])
    each = np.array([star.root_cost + price_inside(star, evidence) for star, evidence in zip(stars, plan.counts, strict=True)])
    new = np.array([star.root + variance_inside(star, evidence) for star, evidence in zip(stars, plan.counts, strict=True)])
    unit_variances, planned_units = np.array([pilot.unit_variance for pilot in pilots]), np.array(plan.units)

    def added(scale: float) -> Floats:
        return np.asarray(np.maximum(0.0, np.floor(scale * planned_units + ROUNDING) - have))

    def promised(more: Floats) -> float:
        n, factor = have + more, 1.0
        if assurance is not None and more.max() > 0:
            df = np.asarray(max(1.0, more.min()) * evidence.growth)
            factor = float(future_variance(df, np.asarray(inside), evidence, assurance) / (max(float(evidence.top), 0.0) + inside))
        df = (n.min() - 1) * (1.0 if assurance is None else evidence.growth)
        quantile = t_quantile((1 + confidence_level) / 2, np.where(df > 0, df, np.nan))
        return float(quantile * np.sqrt(((have * unit_variances + factor * more * new) / n**2).sum()))

    def enough(scale: float) -> bool:
        more = added(scale)
        if budget is not None:
            return float((more * each).sum()) > budget - sum(pilot.spent for pilot in pilots)
        return promised(more) <= float(half_width or 0.0)

    low, high = 0.0, 1.0
    while not enough(high):
        low, high = high, 2 * high
    while high - low > ROUNDING * max(1.0, high):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    more = added(high if budget is None else low)
    return More(more.tolist(), promised(more))
