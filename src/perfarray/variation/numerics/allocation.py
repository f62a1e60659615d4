"""The continuous optimum: how a budget, or a variance, is best shared among the levels of a nest.

Kalibera and Jones (2012), section 7.4. With x_j the repetitions of level j in all (the product of
the counts from the outermost level down to j), a_j its variance component and d_j the price of
starting one of them, the variance of the mean is sum a_j / x_j and the price sum d_j x_j (equations
11 and 13): the problem is separable, and x_j is proportional to sqrt(a_j / d_j). A count below one
is not possible; where x_j would fall below its parent's, the two are pooled (components add, prices
join), which is what removing a level does. Levels lie along the last axis, outermost first.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.levels import FEW, reduced
from perfarray.numerics.searching import first_true
from perfarray.numerics.types import Floats, Mask

ROUNDING = 1e-9  # what a quotient may lack of a whole number that it is meant to be
TRIED = 1 << 10  # outermost counts tried at once, of few cells
LISTED = 1 << 10  # whole degrees of freedom, whose quantiles are computed once


class Goal(NamedTuple):
    """What an experiment may cost, or else the relative half-width to reach (a number, or one per nest), and what is promised of it."""

    budget: float | None = None
    half_width: Any = None
    min_units: int = 5
    confidence_level: float = 0.95
    assurance: float | None = None

    @property
    def probability(self) -> float:
        """Of the quantile of Student's t."""
        return (1 + self.confidence_level) / 2


class Task(NamedTuple):
    """Cells to plan: components and prices (cells, L), pooled rates of the lower levels, the budget or the half-width wanted (cells)."""

    variance: Floats
    cost: Floats
    rates: Floats
    limit: Floats
    by_budget: bool
    min_units: int
    probability: float


def student_t(n: npt.ArrayLike, probability: float) -> Floats:
    """Return Student's t for n outermost units, NaN where one is alone."""
    n = np.asarray(n, dtype=float)
    return quantile_at(t_quantile, probability, np.where(n > 1, n - 1, np.nan))


def quantile_at(
    quantile: Callable[[float, Floats], Floats], probability: float, df: npt.ArrayLike
) -> Floats:
    """Return quantiles at degrees of freedom.

    Small whole ones, which plans ask for again and again, are looked up.
    """
    df = np.asarray(df, dtype=float)
    row = np.where((df > 0) & (df <= LISTED), df, 0.0).astype(np.intp)
    quantiles = np.asarray(_listed(quantile, probability)[row])
    other = (row != df) & ~np.isnan(df)
    if other.any():
        quantiles[other] = quantile(probability, df[other])
    return quantiles


@lru_cache(maxsize=32)
def _listed(quantile: Callable[[float, Floats], Floats], probability: float) -> Floats:
    """Return the quantiles at whole degrees of freedom."""
    return quantile(probability, np.append(np.nan, np.arange(1.0, LISTED + 1)))


def optimal_counts(variance: Floats, cost: Floats) -> Floats:
    """Return equation 14: sqrt(c_i / c_{i-1} * T_i^2 / T_{i+1}^2) of every level below the outermost, unrounded.

    A level without a component (NaN) is merged: its price joins the level above, and its count is
    NaN. That of the outermost is NaN.
    """
    counts = np.full(variance.shape, np.nan)
    joined = cost.astype(float)
    for level in range(variance.shape[-1] - 1, 0, -1):
        merged = np.isnan(variance[..., level])
        joined[..., level - 1] += np.where(merged, joined[..., level], 0.0)
    above, above_cost = variance[..., 0], joined[..., 0]
    for level in range(1, variance.shape[-1]):
        component, level_cost = variance[..., level], joined[..., level]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            counts[..., level] = np.sqrt(
                above_cost / level_cost * (np.maximum(component, 0.0) / np.maximum(above, 0.0))
            )
        present = ~np.isnan(component)
        above, above_cost = (
            np.where(present, component, above),
            np.where(present, level_cost, above_cost),
        )
    return counts


def so_far(function: np.ufunc, values: Floats) -> Floats:
    """Accumulate the last axis: a few columns one after the other, as `reduced` does."""
    if values.shape[-1] >= FEW:
        return np.asarray(function.accumulate(values, axis=-1))
    results = np.array(values, dtype=float)
    for level in range(1, values.shape[-1]):
        function(results[..., level - 1], results[..., level], out=results[..., level])
    return results


def price(repetitions: Floats, cost: Floats) -> Floats:
    """Return equation 13: what counts (..., L) cost."""
    return reduced(np.add, so_far(np.multiply, repetitions) * cost)


def variance_of_mean(repetitions: Floats, variance: Floats) -> Floats:
    """Return equation 11: the squared standard error of the mean with counts (..., L)."""
    return reduced(np.add, variance / so_far(np.multiply, repetitions))


def best_top(task: Task) -> tuple[Floats, Floats, Floats]:
    """Return the outermost count of the continuous optimum, between the fewest and the most: those that suffice with one of everything."""
    low = np.full(len(task.limit), float(task.min_units))
    if task.by_budget:
        high = np.maximum(low, affordable(task.limit, np.ones_like(task.cost), task.cost))
    else:
        high = least_top(task, task.variance.sum(axis=1), low)

    def score(n: Floats) -> Floats:
        totals = totals_for(task, n)
        if task.by_budget:
            return np.asarray(
                student_t(n, task.probability)
                * np.sqrt(reduced(np.add, task.variance[:, None] / totals))
            )
        with np.errstate(invalid="ignore"):
            return reduced(np.add, totals * task.cost[:, None])

    best = (
        _lowest_of_few(score, low, high)
        if len(low) <= TRIED
        else lowest(lambda n: score(n[:, None])[:, 0], low, high)
    )
    return best, low, high


def _lowest_of_few(value: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Do what `lowest` does with functions of (cells, numbers): many numbers take hardly longer than one, and need fewer passes."""
    most_needed, rows = (high - low).max(initial=1.0), np.arange(len(low))
    number = int(min(1 + TRIED // max(1, len(low)), most_needed))
    parts = np.arange(1, number + 1) / (number + 1)
    while (unsure := low < high).any():
        most = np.where(unsure, np.nextafter(high, -np.inf), high)[:, None]
        tried = np.minimum(np.floor(low[:, None] + (high - low)[:, None] * parts), most)
        values = value(np.concatenate([tried, tried + 1], axis=1))
        rising = _rising(values[:, :number], values[:, number:])
        falling = np.where(
            rising.any(axis=1), np.argmax(rising, axis=1), number
        )  # how many come before the first that rises
        last = tried[rows, np.maximum(falling, 1) - 1]
        high = np.where(falling < number, tried[rows, np.minimum(falling, number - 1)], high)
        low = np.where(
            falling > 0, np.minimum(np.maximum(last + 1, np.nextafter(last, np.inf)), high), low
        )
    return high


def lowest(value: Callable[[Floats], Floats], low: npt.ArrayLike, high: npt.ArrayLike) -> Floats:
    """Return the whole numbers at which functions, each convex in the logarithm, are smallest.

    What is not finite counts as falling.
    """
    return first_true(lambda n: _rising(value(n), value(n + 1)), low, high)


def _rising(value_here: Floats, value_next: Floats) -> Mask:
    return np.isfinite(value_here) & ((value_here <= value_next) | np.isnan(value_next))


def least_top(task: Task, unit_variance: Floats, low: Floats) -> Floats:
    """Return the fewest units, each of that variance, whose mean has the half-width wanted."""
    first = np.broadcast_to(low, unit_variance.shape)
    limit, p = task.limit.reshape(-1, *([1] * (unit_variance.ndim - 1))), task.probability
    high = np.maximum(first, np.ceil(student_t(first, p) ** 2 * unit_variance / limit**2))
    return first_true(lambda n: student_t(n, p) ** 2 * unit_variance <= n * limit**2, first, high)


def totals_for(task: Task, n: Floats, quantile: Floats | None = None) -> Floats:
    """Return the continuous totals (cells, tops, L) for outermost counts (cells, tops).

    Infinite where none meets the limit.
    """
    a, d, top = task.variance[:, None, :0:-1], task.cost[:, None, :0:-1], n[..., None]
    rates = task.rates[:, None, ::-1]
    if task.by_budget:
        lower = share_out(
            a, d, rates, top, budget=task.limit[:, None] - task.cost[:, :1] * n, ordered=True
        )
    else:
        quantile = student_t(n, task.probability) if quantile is None else quantile
        with np.errstate(divide="ignore", invalid="ignore"):
            variance_wanted = (task.limit[:, None] / quantile) ** 2 - task.variance[:, :1] / n
        lower = share_out(a, d, rates, top, variance_wanted=variance_wanted, ordered=True)
    return np.concatenate([top, lower[..., ::-1]], axis=-1)


def share_out(
    variance: Floats,
    cost: Floats,
    rates: Floats,
    low: Floats,
    *,
    budget: Any = None,
    variance_wanted: Any = None,
    ordered: bool = False,
) -> Floats:
    """Return the totals x = max(low, s sqrt(rates)) along the last axis, where s spends the budget, or reaches the variance wanted.

    The price is the largest, over how many of the totals are held at `low`, of a line in s; the
    variance is the smallest of lines in 1 / s: so s is the smallest of those lines' solutions.
    Infinite where no finite s reaches the variance. `ordered` says that the s at which they leave
    `low` ascend already.
    """
    a, d, root, low = np.broadcast_arrays(variance, cost, np.sqrt(rates), low)
    if not a.shape[-1]:
        return low
    with np.errstate(divide="ignore", invalid="ignore"):
        if a.shape[-1] == 1:  # one level takes all that is left
            left = np.asarray(variance_wanted if budget is None else budget)[..., None]
            alone = (
                np.where(left > 0, a / left, np.inf)
                if budget is None
                else np.where(d > 0, left / d, 0.0)
            )
            return np.maximum(low, np.where(root > 0, alone, 0.0))
        if budget is not None:
            free, fixed, limit = d * root, d * low, np.asarray(budget)
        else:
            free, fixed, limit = (
                np.where(root > 0, a / root, 0.0),
                a / low,
                np.asarray(variance_wanted),
            )
        whole_of_it = reduced(np.add, fixed)
        if not ordered:
            order = np.argsort(np.where(root > 0, low / root, np.inf), axis=-1, kind="stable")
            free, fixed = (np.take_along_axis(array, order, axis=-1) for array in (free, fixed))
        summed, fixed_so_far = so_far(np.add, free), so_far(np.add, fixed)
        lines = (limit[..., None] - (whole_of_it[..., None] - fixed_so_far)) / summed
        if budget is not None:
            scale = reduced(np.minimum, np.where(summed > 0, lines, np.inf))
            scale = np.where(np.isfinite(scale), scale, 0.0)
        else:
            inverse = reduced(np.maximum, np.where(summed > 0, lines, -np.inf))
            scale = np.where(whole_of_it <= limit, 0.0, np.where(inverse > 0, 1 / inverse, np.inf))
        return np.maximum(low, np.where(root > 0, scale[..., None] * root, 0.0))


def pooled_rates(variance: Floats, cost: Floats) -> Floats:
    """Return a / d along a chain, pooled where it would fall: the isotonic solution, max over i <= j of min over k >= j of sums i..k."""
    length = variance.shape[-1]
    rates = np.zeros(variance.shape)
    for j in range(length):
        for i in range(j + 1):
            least = np.full(variance.shape[:-1], np.inf)
            for k in range(j, length):
                total, total_cost = (
                    variance[..., i : k + 1].sum(axis=-1),
                    cost[..., i : k + 1].sum(axis=-1),
                )
                ratio = np.divide(
                    total, total_cost, out=np.where(total > 0, np.inf, 0.0), where=total_cost > 0
                )
                least = np.minimum(least, ratio)
            rates[..., j] = np.maximum(rates[..., j], least)
    return rates


def affordable(budget: Floats, each: Floats, cost: Floats) -> Floats:
    """Return how many outermost units a budget buys, each with the totals `each` (..., L) in it, never spending more."""
    number = whole(budget / reduced(np.add, each * cost))
    return np.asarray(number - (reduced(np.add, number[..., None] * each * cost) > budget))


def whole(quotient: Floats) -> Floats:
    """Return the floor, of a quotient that rounding may have left just below a whole number."""
    return np.asarray(np.floor(quotient + ROUNDING * np.maximum(1.0, quotient)))
