"""How many builds, and how many executions and iterations of each benchmark: whole counts near the continuous optimum of the stars.

What one shared unit may hold is searched apart from how many units there are (`suite_front`): first in wide steps around the continuous
optimum, then in ever narrower windows around the best found so far.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats
from perfarray.variation.numerics.allocation import ROUNDING, lowest, student_t
from perfarray.variation.numerics.assurance import NO_EVIDENCE, Evidence
from perfarray.variation.numerics.suite_apart import CLOSE, counts_apart
from perfarray.variation.numerics.suite_front import Front, unit_front
from perfarray.variation.numerics.suite_star import Star, continuous, counts_inside, forest, price_inside, variance_inside

ULPS = 1e-12
"""By how much two sums of the same prices may differ."""

WINDOWS = (3.0, 1.4, 1.1)
"""How far around the best so far counts are tried: from a third to three times it, and so on."""

NEAR = 2
"""Counts are tried around the continuous ones for the best number of shared units so far and so many more and fewer."""

UNITS = (512, 24)
"""Numbers of shared units tried in one window: of one system, and of each of two."""


class SuitePlan(NamedTuple):
    """Per system the shared units and the counts (benchmarks, L - 1) inside one parent; what they cost and promise.

    `evidence` is what the pilots know of the variance that so many units leave.
    """

    units: list[float]
    counts: list[Floats]
    cost: float
    half_width: float
    evidence: Evidence = NO_EVIDENCE


class _Target(NamedTuple):
    """What may be spent, or the half-width to reach; the fewest units; the probability of Student's t."""

    budget: float | None
    half_width: float
    min_units: int
    probability: float

    def quantile(self, n: Floats | float) -> Floats:
        """Return Student's t for n units."""
        return student_t(n, self.probability)

    def variance(self, n: float) -> float:
        """Return the variance that n units may leave, where a half-width is to be reached."""
        return float((self.half_width / self.quantile(n)) ** 2)


def plan_stars(
    stars: list[Star], *, budget: float | None = None, half_width: float | None = None, min_units: int = 5, confidence_level: float = 0.95
) -> SuitePlan:
    """Plan whole counts: the narrowest interval for a budget, never exceeded, or the cheapest of a half-width.

    More than two stars are benchmarks that share no units.
    """
    if len(stars) > 2:
        return _plan_apart(stars, budget, half_width, min_units, (1 + confidence_level) / 2)
    target = _Target(budget, float(half_width or 0.0), min_units, (1 + confidence_level) / 2)
    units = _smooth_units(stars, target)
    rounded = np.floor if budget is not None else np.ceil
    counts = [np.maximum(1.0, rounded(star_counts)) for star_counts in _smooth_counts(stars, units, target)]
    best = whole_plan(stars, units.tolist(), counts, target.probability)
    for window in WINDOWS:
        candidate = _best_within(stars, best, window, target)
        if _merit(candidate, target) < _merit(best, target):
            best = candidate
    return best


def _plan_apart(stars: list[Star], budget: float | None, half_width: float | None, min_units: int, probability: float) -> SuitePlan:
    """Plan benchmarks that share no units: for a budget, or for the least one that reaches a half-width."""

    def planned(money: float) -> SuitePlan:
        counts = counts_apart(stars, money, min_units)
        return whole_plan(stars, counts[:, 0].tolist(), list(counts[:, None, 1:]), probability)

    if budget is not None:
        plan = planned(budget)
        return plan._replace(cost=min(plan.cost, budget)) if plan.cost <= budget * (1 + ULPS) else plan
    target, low = float(half_width or 0.0), least_price(stars, min_units)
    best, high = planned(low), low
    while best.half_width > target:
        low, high = high, 2 * high
        best = planned(high)
    while high - low > CLOSE * high and best.cost > low:
        middle = (low + high) / 2
        candidate = planned(middle)
        if candidate.half_width <= target:
            best, high = candidate, middle
        else:
            low = middle
    return best


def _smooth_units(stars: list[Star], target: _Target) -> Floats:
    """Return the shared units of the continuous optimum, rounded."""
    if target.budget is not None:
        low = float(best_low(stars, target.budget, target.min_units, target.probability)[0])
        return np.floor(np.array(continuous(stars, low, budget=target.budget).root) + ROUNDING)
    low = _least_price_low(stars, target)
    return np.ceil(np.array(continuous(stars, low, variance=target.variance(low)).root) - ROUNDING)


def _least_price_low(stars: list[Star], target: _Target) -> float:
    """Return the fewest shared units at which the continuous plan of that half-width is cheapest."""
    trees = forest(stars)

    def cost(n: Any) -> Floats:
        return np.asarray((trees.cost * trees.share_out(np.asarray(n), variance=target.variance(float(n)))).sum(axis=-1))

    high = target.min_units + 1
    while cost(2 * high) < cost(high):
        high *= 2
    return float(lowest(cost, target.min_units, 2 * high))


def best_low(stars: list[Star], budget: npt.ArrayLike, min_units: int, probability: float) -> tuple[Floats, Floats]:
    """Return, for every budget, the fewest shared units with which the continuous plan is narrowest, and its half-width."""
    trees, money = forest(stars), np.asarray(budget, dtype=float)

    def half_width(n: Floats) -> Floats:
        x = trees.share_out(n[..., None], budget=money)
        return np.asarray(student_t(n, probability) * np.sqrt((trees.variance / x).sum(axis=-1)))

    low = lowest(half_width, min_units, np.maximum(min_units, np.floor(money / _one_of_everything(stars))))
    return low, half_width(low)


def _best_within(stars: list[Star], best: SuitePlan, window: float, target: _Target) -> SuitePlan:
    """Return the best whole plan with units in a window around the best so far, and counts around those best for them unrounded."""
    number, least, units = UNITS[len(stars) - 1], target.min_units, np.array(best.units)
    tried = [_whole_numbers(np.maximum(least, np.floor(n / window) - 2), np.ceil(n * window) + 2, number) for n in units]
    middles = [_smooth_counts(stars, np.maximum(units + step, least), target) for step in range(-NEAR, NEAR + 1)]
    spendable = (best.cost if target.budget is None else target.budget) * (1 + ROUNDING)
    fronts = []
    for s, star in enumerate(stars):
        price_of_others = sum(tried[i][0] * _one_of_everything([other_star]) for i, other_star in enumerate(stars) if i != s)
        star_middles = np.stack([*(middle[s] for middle in middles), best.counts[s]])
        fronts.append(unit_front(star, star_middles, window, (spendable - price_of_others) / tried[s][0] - star.root_cost))
    return _best_units(stars, fronts, tried, target)


def _smooth_counts(stars: list[Star], units: Floats, target: _Target) -> list[Floats]:
    """Return the best continuous counts inside these shared units."""
    variance = target.variance(units.min()) if target.budget is None else None
    return counts_inside(stars, units, budget=target.budget, variance=variance)


def _whole_numbers(low: float, high: float, number: int) -> Floats:
    """Return the whole numbers from low to high, evenly spaced in their logarithm where they are more than `number`."""
    return np.arange(low, high + 1) if high - low < number else np.unique(np.round(np.geomspace(low, high, number)))


def _best_units(stars: list[Star], fronts: list[Front], tried: list[Floats], target: _Target) -> SuitePlan:
    """Return the best of all numbers of units, each with the best insides the limit leaves.

    Along the axes of the arrays: the units of the first system, those of the second (if there is one), the insides of the first.
    """
    first, inside = stars[0], fronts[0]
    n = tried[0][:, None, None]
    spent, noise = n * (first.root_cost + inside.price), (first.root + inside.variance) / n
    fewest, second_index = n, None
    if len(stars) > 1:
        m = tried[1][None, :, None]
        fewest = np.minimum(n, m)
        second_index, more_spent, more_noise = _second(stars[1], fronts[1], m, spent, noise, target.quantile(fewest), target)
        spent, noise = spent + more_spent, noise + more_noise
    half = np.asarray(target.quantile(fewest) * np.sqrt(noise))
    if target.budget is not None:
        first_score, second_score = np.where(spent <= target.budget * (1 + ULPS), half, np.inf), spent
    else:
        first_score, second_score = np.where(half <= target.half_width * (1 + ULPS), spent, np.inf), half
    tied = first_score <= first_score.min() * (1 + ROUNDING)
    a, b, c = np.unravel_index(int(np.argmin(np.where(tied, second_score, np.inf))), tied.shape)
    chosen = [(float(tried[0][a]), inside.counts[c])]
    if second_index is not None:
        chosen.append((float(tried[1][b]), fronts[1].counts[second_index[a, b, c]]))
    plan = whole_plan(stars, [units for units, _ in chosen], [star_counts for _, star_counts in chosen], target.probability)
    if target.budget is not None and plan.cost <= target.budget * (1 + ULPS):
        plan = plan._replace(cost=min(plan.cost, target.budget))
    return plan


def _second(
    star: Star, front: Front, units: Floats, spent: Floats, noise: Floats, quantile: Floats, target: _Target
) -> tuple[np.ndarray, Floats, Floats]:
    """Return the best inside of the second system that the first leaves: its place, price and variance (infinite if there is none)."""
    if target.budget is not None:
        limit = (target.budget * (1 + ULPS) - spent) / units - star.root_cost
        index = np.searchsorted(front.price, limit, side="right") - 1
        possible = index >= 0
    else:
        limit = ((target.half_width / quantile) ** 2 * (1 + ULPS) - noise) * units - star.root
        index = np.searchsorted(-front.variance, -limit, side="left")
        possible = index < len(front.price)
    index = np.clip(index, 0, len(front.price) - 1)
    price = np.where(possible, units * (star.root_cost + front.price[index]), np.inf)
    return index, price, np.where(possible, (star.root + front.variance[index]) / units, np.inf)


def whole_plan(stars: list[Star], units: list[float], counts: list[Floats], probability: float) -> SuitePlan:
    """Return a plan with what it costs and promises."""
    cost = sum(n * (star.root_cost + price_inside(star, star_counts)) for star, n, star_counts in zip(stars, units, counts, strict=True))
    noise = sum((star.root + variance_inside(star, star_counts)) / n for star, n, star_counts in zip(stars, units, counts, strict=True))
    return SuitePlan(units, counts, float(cost), float(student_t(min(units), probability)) * math.sqrt(noise))


def _merit(plan: SuitePlan, target: _Target) -> tuple[float, ...]:
    """Order plans: those that keep the limit first, then by what is wanted, then by what comes with it."""
    if target.budget is not None:
        return float(plan.cost > target.budget), plan.half_width, plan.cost
    return float(plan.half_width > target.half_width * (1 + ULPS)), plan.cost, plan.half_width


def _one_of_everything(stars: list[Star]) -> float:
    """Return the price of one shared unit of each system with one repetition of everything in it."""
    return float(sum(star.root_cost + star.inner[:, 1].sum() + star.cost.sum() for star in stars))


def least_price(stars: list[Star], min_units: int) -> float:
    """Return the least budget that buys `min_units` shared units of each system."""
    return min_units * _one_of_everything(stars)


class Narrowest(NamedTuple):
    """Fewest shared units and half-widths, at the variances estimated."""

    units: Floats
    half_width: Floats


def one_level(stars: list[Star], budget: npt.ArrayLike, confidence_level: float) -> Narrowest:
    """Return the experiments that run every benchmark once, one iteration, in each shared unit."""
    n = np.floor(np.asarray(budget) / _one_of_everything(stars) + ROUNDING)
    total = sum(star.root + star.inner[:, 0].sum() + star.variance.sum() for star in stars)
    return Narrowest(n, np.asarray(student_t(n, (1 + confidence_level) / 2) * np.sqrt(total / np.maximum(n, 1.0))))


def best_by_budget(stars: list[Star], budgets: Floats, *, min_units: int = 5, confidence_level: float = 0.95) -> Narrowest:
    """Return the continuous plans of budgets; NaN where they do not buy `min_units`."""
    units, half = np.full((2, len(budgets)), np.nan)
    affordable = budgets >= least_price(stars, min_units)
    units[affordable], half[affordable] = best_low(stars, budgets[affordable], min_units, (1 + confidence_level) / 2)
    return Narrowest(units, half)
