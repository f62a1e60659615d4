"""A suite on shared builds, as a star: its components, its prices, and the continuous optimum.

With everything relative, the variance of the log of the suite's geometric mean is sum a_k / x_k over one root (the shared builds) and a
chain of lower levels per benchmark, the price sum d_k x_k: separable as in `repetition`, with x_root <= x_executions <= x_iterations in
every chain. Its solution is x_k = max(low, s sqrt(a_k / d_k)) after pooling adjacent violators inside the chains and then those first
blocks that lie below the root into it. Two systems are two such stars that share a budget.
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.allocation import pooled_rates
from perfarray.numerics.levels import Floats, unit_means
from perfarray.numerics.variance_components import nested_anova


class Star(NamedTuple):
    """One system: component and price of the shared units, and those of the lower levels (benchmarks, L - 1)."""

    root: float
    root_cost: float
    variance: Floats
    cost: Floats


class Totals(NamedTuple):
    """Continuous totals: of the shared units of each system, and of the lower levels (benchmarks, L - 1)."""

    root: list[float]
    lower: list[Floats]
    variance: float
    cost: float


def star_of(values: Floats, cost: Floats, *, joint: bool, correlation: float | None, negative: str = "merge") -> Star:
    """Estimate one system's components of the log geometric mean from its pilot.

    Parameters
    ----------
    values : array, shape (benchmarks, n_L, ..., n_1)
        Positive measurements; a benchmark that is all NaN is left out.
    cost : array, shape (benchmarks, L)
        Prices; NaN at the lowest level means its mean.
    joint : bool
        Unit j is the same for all benchmarks: then what is common comes from the spread of Z_j, the mean over benchmarks of log(unit j).
    correlation : float, optional
        Of unit effects between benchmarks, instead of what the pilot says.
    negative : {"merge", "zero"}
        What becomes of negative components.

    Returns
    -------
    Star
        With NaN at the root where fewer than two units stand behind it.
    """
    levels = cost.shape[1]
    found = nested_anova(values, levels, negative)
    known = ~np.isnan(found.mean)
    number = max(1, int(known.sum()))
    squared = np.where(known & (found.mean != 0), found.mean, np.nan)[:, None] ** 2
    relative = np.nan_to_num(np.maximum(found.variance / squared, 0.0))
    top = (found.variance[:, 0] / squared[:, 0])[known]
    if correlation is None and joint:
        units = unit_means(values[known], levels)
        common = np.log(units).mean(axis=0)
        common = common[~np.isnan(common)]
        below = (found.level_variance[:, 0] / squared[:, 0])[known] - top
        root = np.var(common, ddof=1) - below.sum() / number**2 if len(common) > 1 else np.nan
    else:
        part = correlation or 0.0
        own = np.maximum(top, 0.0)
        root = ((1 - part) * own.sum() + part * np.sqrt(own).sum() ** 2) / number**2
    dear = np.where(np.isnan(cost), found.mean[:, None], cost)
    absent = ~known[:, None]
    lower = np.where(absent, 0.0, relative[:, 1:] / number**2), np.where(absent, 0.0, dear[:, 1:])
    return Star(float(max(root, 0.0)) if not np.isnan(root) else np.nan, float(dear[0, 0]), *lower)


def continuous(stars: list[Star], low: float, *, budget: float | None = None, variance: float | None = None) -> Totals:
    """Return the totals that give the least variance for a budget, or the least price for a variance, none below `low`."""
    rates = [star_rates(star) for star in stars]
    a = np.concatenate([np.append(star.root, star.variance) for star in stars])
    d = np.concatenate([np.append(star.root_cost, star.cost) for star in stars])
    r = np.concatenate([np.append(root, lower) for root, lower in rates])
    x = scaled(a, d, r, np.full(len(a), float(low)), budget, variance)
    return _split(stars, x, a, d)


def star_rates(star: Star) -> tuple[float, Floats]:
    """Return a / d of the root and of the chains, pooled where a total would fall below its parent's."""
    chains = pooled_rates(star.variance, star.cost)
    total, dear = star.root, star.root_cost
    pooled = np.zeros(chains.shape, dtype=bool)
    while True:
        rate = total / dear if dear > 0 else np.inf if total > 0 else 0.0
        left = np.where(pooled | (star.cost + star.variance == 0), np.inf, chains)
        least = left.min(initial=np.inf)
        if not least < rate:
            return rate, np.where(pooled, rate, np.maximum(chains, rate))
        row = np.unravel_index(np.argmin(left), left.shape)[0]
        joining = left[row] == least
        total, dear = total + star.variance[row][joining].sum(), dear + star.cost[row][joining].sum()
        pooled[row] |= joining


def scaled(a: Floats, d: Floats, r: Floats, low: Floats, budget: float | None, variance: float | None) -> Floats:
    """Return x = max(low, s sqrt(r)): s spends the budget, or reaches the variance (see `allocation.totals_for`)."""
    root = np.sqrt(r)
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(np.where(root > 0, low / root, np.inf), kind="stable")
        if budget is not None:
            free = np.cumsum((d * root)[order])
            held = (d * low).sum() - np.cumsum((d * low)[order])
            scale = np.where(free > 0, (budget - held) / free, np.inf).min()
        else:
            free = np.cumsum(np.where(root > 0, a / root, 0.0)[order])
            held = (a / low).sum() - np.cumsum((a / low)[order])
            wanted = float(variance or 0.0)
            inverse = np.where(free > 0, (wanted - held) / free, -np.inf).max()
            scale = 0.0 if (a / low).sum() <= wanted else 1 / inverse if inverse > 0 else np.inf
        return np.maximum(low, np.where(root > 0, (scale if np.isfinite(scale) else 0.0) * root, 0.0))


def _split(stars: list[Star], x: Floats, a: Floats, d: Floats) -> Totals:
    """Give the flat totals back to their systems."""
    roots, lower, start = [], [], 0
    for star in stars:
        stop = start + 1 + star.variance.size
        roots.append(float(x[start]))
        lower.append(x[start + 1 : stop].reshape(star.variance.shape))
        start = stop
    return Totals(roots, lower, float((a / x).sum()), float((d * x).sum()))
