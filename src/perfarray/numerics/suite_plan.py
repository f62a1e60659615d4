"""How many builds, and how many executions and iterations of each benchmark: whole counts near the continuous optimum of the stars."""

import math
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np

from perfarray.numerics.allocation import ROUNDING, pooled_rates
from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.levels import Floats
from perfarray.numerics.suite_star import Star, continuous, scaled

Place = tuple[int, ...]

PROMISING = 5
"""Whole plans that are improved by exchange: those that begin best."""


class SuitePlan(NamedTuple):
    """Per system the shared units and the counts (benchmarks, L - 1) inside one parent; what they cost and promise."""

    units: list[float]
    counts: list[Floats]
    cost: float
    half_width: float


def plan_stars(
    stars: list[Star], *, budget: float | None = None, half_width: float | None = None, min_units: int = 5, confidence_level: float = 0.95
) -> SuitePlan:
    """Plan whole counts for a budget, never exceeded, or for a half-width at little more than the least price."""
    probability = (1 + confidence_level) / 2
    if budget is not None:
        return _whole_plan(stars, budget, min_units, probability)
    wanted = float(half_width or 0.0)
    low = _least_price_low(stars, wanted, min_units, probability)
    least = continuous(stars, low, variance=(wanted / _t(low, probability)) ** 2).cost
    low_price, high_price = least, least
    while _whole_plan(stars, high_price, min_units, probability, exchanging=0).half_width > wanted:
        low_price, high_price = high_price, high_price * 1.02
    for _ in range(10):
        middle = (low_price + high_price) / 2
        if _whole_plan(stars, middle, min_units, probability, exchanging=0).half_width <= wanted:
            high_price = middle
        else:
            low_price = middle
    return _whole_plan(stars, high_price, min_units, probability)


def _t(n: float, probability: float) -> float:
    """Return Student's t for n units."""
    return float(t_quantile(probability, np.asarray(n - 1.0)))


def _least_price_low(stars: list[Star], wanted: float, low: int, probability: float) -> int:
    """Return the fewest shared units at which the continuous plan of that half-width is cheapest."""

    def cost(n: int) -> float:
        return continuous(stars, n, variance=(wanted / _t(n, probability)) ** 2).cost

    high = low + 1
    while cost(2 * high) < cost(high):
        high *= 2
    return _bottom(cost, low, 2 * high)


def best_low(stars: list[Star], budget: float, min_units: int, probability: float) -> int:
    """Return the fewest shared units at which t times the standard error of the continuous plan is smallest."""

    def score(n: int) -> float:
        return _t(n, probability) * math.sqrt(continuous(stars, n, budget=budget).variance)

    return _bottom(score, min_units, max(min_units, int(budget / _one_of_everything(stars))))


def _bottom(value: Callable[[int], float], low: int, high: int) -> int:
    """Return where a function of whole numbers, convex in the logarithm, is smallest."""
    while low < high:
        middle = (low + high) // 2
        if value(middle) <= value(middle + 1):
            high = middle
        else:
            low = middle + 1
    return low


def _one_of_everything(stars: list[Star]) -> float:
    """Return the price of one shared unit of each system with one repetition of everything in it."""
    return float(sum(star.root_cost + star.cost.sum() for star in stars))


def least_price(stars: list[Star], min_units: int) -> float:
    """Return the least budget that buys `min_units` shared units of each system."""
    ones = [np.ones(star.cost.shape) for star in stars]
    return _price(stars, np.full(len(stars), float(min_units)), ones)


def one_level_half_width(stars: list[Star], budget: float, confidence_level: float) -> float:
    """Return the half-width of the experiment that runs every benchmark once, one iteration, in each shared unit."""
    n = np.floor(budget / _one_of_everything(stars) + ROUNDING)
    if n < 2:
        return float("nan")
    total = sum(star.root + star.variance.sum() for star in stars)
    return _t(n, (1 + confidence_level) / 2) * math.sqrt(total / n)


def half_width_by_budget(
    stars: list[Star], budgets: Floats, *, min_units: int = 5, confidence_level: float = 0.95
) -> tuple[list[float], list[float]]:
    """Return what budgets give: the half-width of the continuous plan, NaN where they do not buy `min_units`, and the default's."""
    probability, least = (1 + confidence_level) / 2, least_price(stars, min_units)
    best = []
    for budget in budgets.tolist():
        if budget < least:
            best.append(float("nan"))
            continue
        low = best_low(stars, budget, min_units, probability)
        best.append(_t(low, probability) * math.sqrt(continuous(stars, low, budget=budget).variance))
    return best, [one_level_half_width(stars, budget, confidence_level) for budget in budgets.tolist()]


def _whole_plan(stars: list[Star], budget: float, min_units: int, probability: float, exchanging: int = PROMISING) -> SuitePlan:
    """Return the best of the whole plans that begin near the continuous one and spend what remains greedily."""
    low = best_low(stars, budget, min_units, probability)
    roots = np.floor(np.array(continuous(stars, low, budget=budget).root) + ROUNDING)
    span = range(-4, 5) if len(stars) == 1 else range(-2, 3)
    found = []
    for units in {tuple(np.maximum(roots + offsets, min_units).tolist()) for offsets in product(span, repeat=len(stars))}:
        counts = _floors(stars, np.array(units), budget)
        if _price(stars, np.array(units), counts) <= budget:
            found.append(_spent(stars, np.array(units), counts, budget, probability))
    best = sorted(found, key=_merit)[: max(1, exchanging)]
    if not exchanging:
        return best[0]
    return min((_exchanged(stars, plan, budget, min_units, probability) for plan in best), key=_merit)


def _merit(plan: SuitePlan) -> tuple[float, float, list[float]]:
    """Order plans by half-width, then price."""
    return plan.half_width, plan.cost, plan.units


def _spent(stars: list[Star], units: Floats, counts: list[Floats], budget: float, probability: float) -> SuitePlan:
    """Return the plan that these counts become when what remains of the budget is spent."""
    units, counts = _spend(stars, units, counts, budget, probability)
    half = _t(float(units.min()), probability) * math.sqrt(_variance(stars, units, counts))
    return SuitePlan(units.tolist(), counts, _price(stars, units, counts), half)


def _exchanged(stars: list[Star], plan: SuitePlan, budget: float, min_units: int, probability: float) -> SuitePlan:
    """Change one count by one, shed elsewhere what has become too dear or spend what has become free, as long as that helps."""
    better = True
    while better:
        better = False
        for (system, place), by in product(_places(plan.counts), (-1.0, 1.0)):
            units, counts = np.array(plan.units), [own.copy() for own in plan.counts]
            changed, index = (counts[system], place) if place else (units, (system,))
            changed[index] += by
            if changed[index] < (1 if place else min_units) or not _shed(stars, units, counts, (system, place), budget):
                continue
            other = _spent(stars, units, counts, budget, probability)
            if other.half_width < plan.half_width * (1 - ROUNDING):
                plan, better = other, True
    return plan


def _shed(stars: list[Star], units: Floats, counts: list[Floats], kept: tuple[int, Place], budget: float) -> bool:
    """Lower counts in place, always the one whose loss per second is least, until the budget holds; False where it cannot."""
    while _price(stars, units, counts) > budget:
        best: tuple[float, int, Place] | None = None
        for s, (star, n, own) in enumerate(zip(stars, units, counts, strict=True)):
            totals = n * np.cumprod(own, axis=1)
            inside_cost, inside_variance = (
                np.cumsum(part[:, ::-1], axis=1)[:, ::-1] for part in (star.cost * totals, star.variance / totals)
            )
            saved, lost = inside_cost / own, np.divide(inside_variance, own - 1, out=np.full(own.shape, np.inf), where=own > 1)
            rate = np.divide(lost, saved, out=np.full(own.shape, np.inf), where=saved > 0)
            if kept[0] == s and kept[1]:
                rate[kept[1]] = np.inf
            place = divmod(int(np.argmin(rate)), own.shape[1]) if rate.size else ()
            if rate.size and (best is None or rate[place] < best[0]):
                best = (float(rate[place]), s, place)
        if best is None or not math.isfinite(best[0]):
            return False
        counts[best[1]][best[2]] -= 1.0
    return True


def _floors(stars: list[Star], units: Floats, budget: float) -> list[Floats]:
    """Return the continuous counts for these shared units, rounded down."""
    left = budget - sum(star.root_cost * n for star, n in zip(stars, units, strict=True))
    a, d = (np.concatenate([getattr(star, name).ravel() for star in stars]) for name in ("variance", "cost"))
    r = np.concatenate([pooled_rates(star.variance, star.cost).ravel() for star in stars])
    low = np.repeat(units, [star.variance.size for star in stars])
    x = scaled(a, d, r, low, left, None)
    counts, start = [], 0
    for star, n in zip(stars, units, strict=True):
        totals = x[start : start + star.variance.size].reshape(star.variance.shape)
        start += star.variance.size
        parents = np.column_stack([np.full(len(totals), n), totals[:, :-1]])
        counts.append(np.maximum(1.0, np.floor(totals / parents + ROUNDING)))
    return counts


def _price(stars: list[Star], units: Floats, counts: list[Floats]) -> float:
    """Return what a plan costs."""
    parts = [n * (star.root_cost + (np.cumprod(own, axis=1) * star.cost).sum()) for star, n, own in zip(stars, units, counts, strict=True)]
    return float(sum(parts))


def _variance(stars: list[Star], units: Floats, counts: list[Floats]) -> float:
    """Return the variance of the log geometric mean, or of the log ratio of two."""
    parts = [(star.root + (star.variance / np.cumprod(own, axis=1)).sum()) / n for star, n, own in zip(stars, units, counts, strict=True)]
    return float(sum(parts))


def _places(counts: list[Floats]) -> list[tuple[int, Place]]:
    """Return what can be changed: the shared units of each system (place ()), and every lower count (benchmark, level)."""
    places: list[tuple[int, Place]] = [(s, ()) for s in range(len(counts))]
    return places + [(s, place) for s, own in enumerate(counts) for place in np.ndindex(*own.shape)]


def _spend(stars: list[Star], units: Floats, counts: list[Floats], budget: float, probability: float) -> tuple[Floats, list[Floats]]:
    """Add one repetition after another, always the one that gains most per second, until nothing more is affordable or gains."""
    units, counts = units.copy(), [own.copy() for own in counts]
    while True:
        left = budget - _price(stars, units, counts)
        moves = [(s, *_next_move(star, n, own, left)) for s, (star, n, own) in enumerate(zip(stars, units, counts, strict=True))]
        moves += [(s, *_next_unit(stars, s, units, counts, left, probability)) for s in range(len(stars))]
        system, gain, place = max(moves, key=lambda move: move[1])
        if gain <= 0:
            return units, counts
        if place:
            counts[system][place] += 1
        else:
            units[system] += 1
        if _price(stars, units, counts) > budget:
            if place:
                counts[system][place] -= 1
            else:
                units[system] -= 1
            return units, counts


def _next_move(star: Star, n: float, counts: Floats, left: float) -> tuple[float, Place]:
    """Return the gain in variance per second, and the place, of the best lower count to raise by one.

    Raising m to m + 1 makes everything from there down (m + 1) / m times as dear, and its variance m / (m + 1) times as large.
    """
    totals = n * np.cumprod(counts, axis=1)
    inside_cost, inside_variance = (np.cumsum(part[:, ::-1], axis=1)[:, ::-1] for part in (star.cost * totals, star.variance / totals))
    dearer, gain = inside_cost / counts, inside_variance / (counts + 1)
    rate = np.divide(gain, dearer, out=np.zeros_like(gain), where=(dearer > 0) & (dearer <= left))
    best = int(np.argmax(rate)) if rate.size else 0
    place = divmod(best, max(1, counts.shape[1]))
    return (float(rate[place]) if rate.size else 0.0), place


def _next_unit(stars: list[Star], system: int, units: Floats, counts: list[Floats], left: float, probability: float) -> tuple[float, Place]:
    """Return the gain in variance per second of one more shared unit; a smaller t counts as variance gained."""
    star, n = stars[system], units[system]
    dearer = star.root_cost + float((np.cumprod(counts[system], axis=1) * star.cost).sum())
    if not 0 < dearer <= left:
        return 0.0, ()
    more = units.copy()
    more[system] += 1
    before, after = _variance(stars, units, counts), _variance(stars, more, counts)
    shrunk = _t(float(more.min()), probability) / _t(float(units.min()), probability) if n == units.min() else 1.0
    return (before - after * shrunk**2) / dearer, ()
