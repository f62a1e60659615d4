"""Formulas of plans: prices, variances and counts of a nest, and how a limit is best shared.

Kalibera and Jones (2012), section 7.4. With x_j the repetitions of level j in all (the product of
the counts from the outermost level down to j), a_j its variance component and d_j the price of
starting one of them, the variance of the mean is sum a_j / x_j and the price sum d_j x_j (equations
11 and 13): the problem is separable, and x_j is proportional to sqrt(a_j / d_j). Levels lie along
the last axis, outermost first.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.levels import FEW, reduced
from perfarray.numerics.types import Floats

ULPS = 1e-12  # by how much two sums of the same prices may differ
ROUNDING = 1e-9  # what a quotient may lack of a whole number that it is meant to be
LISTED = 1 << 10  # whole degrees of freedom, whose quantiles are computed once


class Goal(NamedTuple):
    """What an experiment may cost, or else the relative half-width to reach, and what is promised.

    Budget and half-width are numbers, or arrays with one for each cell.
    """

    budget: Any = None
    half_width: Any = None
    min_units: int = 5
    confidence_level: float = 0.95
    assurance: float | None = None

    @property
    def probability(self) -> float:
        """Of the quantile of Student's t."""
        return (1 + self.confidence_level) / 2

    @property
    def limit(self) -> Floats:
        """What may be spent, or else the half-width."""
        return np.asarray(self.half_width if self.budget is None else self.budget, dtype=float)

    def of_limit(self, limit: Any) -> "Goal":
        """Return the same goal with another budget, or else half-width."""
        name = "half_width" if self.budget is None else "budget"
        return self._replace(**{name: limit})

    def rounded_costs(self, cost: Floats) -> Floats:
        """Return costs with those that only rounding puts above the budget as the budget."""
        if self.budget is None:
            return cost
        return np.where(cost <= self.budget * (1 + ULPS), np.minimum(cost, self.budget), cost)


def quantile_at(
    quantile: Callable[[float, Floats], Floats], probability: float, df: npt.ArrayLike
) -> Floats:
    """Return quantiles at degrees of freedom.

    Small whole ones, which plans ask for again and again, are looked up.
    """
    df = np.asarray(df, dtype=float)
    row = np.where((df > 0) & (df <= LISTED), df, 0.0).astype(np.intp)
    quantiles = np.asarray(_listed(quantile, probability)[row])
    unlisted = (row != df) & ~np.isnan(df)
    if unlisted.any():
        quantiles[unlisted] = quantile(probability, df[unlisted])
    return quantiles


@lru_cache(maxsize=32)
def _listed(quantile: Callable[[float, Floats], Floats], probability: float) -> Floats:
    """Return the quantiles at whole degrees of freedom."""
    return quantile(probability, np.append(np.nan, np.arange(1.0, LISTED + 1)))


def optimal_counts(variance: Floats, cost: Floats) -> Floats:
    """Return equation 14, unrounded, of every level below the outermost.

    That is sqrt(c_i / c_{i-1} * T_i^2 / T_{i+1}^2).

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
        has_component = ~np.isnan(component)
        above, above_cost = (
            np.where(has_component, component, above),
            np.where(has_component, level_cost, above_cost),
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


def share_out(
    variance: Floats,
    cost: Floats,
    rates: Floats,
    low: Floats,
    *,
    budget: Any = None,
    variance_wanted: Any = None,
) -> Floats:
    """Return the totals x = max(low, s sqrt(rates)) along the last axis.

    Their s spends the budget, or reaches the variance wanted; infinite where no finite s does. The
    price is the largest, over how many of the totals are held at `low`, of a line in s; the
    variance is the smallest of lines in 1 / s: so s is the smallest of those lines' solutions.
    """
    a, d, root, low = np.broadcast_arrays(variance, cost, np.sqrt(rates), low)
    with np.errstate(divide="ignore", invalid="ignore"):
        if budget is not None:
            free, fixed, limit = d * root, d * low, np.asarray(budget)
        else:
            free, fixed = np.where(root > 0, a / root, 0.0), a / low
            limit = np.asarray(variance_wanted)
        total_fixed = reduced(np.add, fixed)
        order = np.argsort(np.where(root > 0, low / root, np.inf), axis=-1, kind="stable")
        free, fixed = (np.take_along_axis(array, order, axis=-1) for array in (free, fixed))
        summed, fixed_so_far = so_far(np.add, free), so_far(np.add, fixed)
        lines = (limit[..., None] - (total_fixed[..., None] - fixed_so_far)) / summed
        if budget is not None:
            scale = reduced(np.minimum, np.where(free > 0, lines, np.inf))
            scale = np.where(np.isfinite(scale), scale, 0.0)
        else:
            inverse = reduced(np.maximum, np.where(free > 0, lines, -np.inf))
            scale = np.where(total_fixed <= limit, 0.0, np.where(inverse > 0, 1 / inverse, np.inf))
        return np.maximum(low, np.where(root > 0, scale[..., None] * root, 0.0))


def whole(quotient: Floats) -> Floats:
    """Return the floor, of a quotient that rounding may have left just below a whole number."""
    return np.asarray(np.floor(quotient + ROUNDING * np.maximum(1.0, quotient)))
