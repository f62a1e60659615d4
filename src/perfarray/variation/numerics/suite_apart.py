"""A suite whose benchmarks share no units: each benchmark has its own number of executions, and the budget is all they have in common.

The variance of the log geometric mean is the sum of the benchmarks' own, the price the sum of their prices: the continuous optimum is
that of independent chains (`suite_star`), and what whole counts leave of the budget buys, one repetition after the other, what narrows
the interval most for its price.
"""

import numpy as np

from perfarray.numerics.levels import count_repetitions
from perfarray.numerics.nested_anova import nested_anova
from perfarray.numerics.types import Floats
from perfarray.variation.numerics.allocation import ROUNDING, price, variance_of_mean
from perfarray.variation.numerics.assurance import nodes
from perfarray.variation.numerics.suite_star import Star, forest

STEPS = 50
"""Repetitions bought one by one, for each level of each benchmark, at most."""

PILOTS, HALVINGS = 400, 40
"""Pilots that a promise is tried on, and bisections for the scale of a plan."""

CLOSE = 1e-3
"""How near the least budget that reaches a half-width is found."""


def chain(values: Floats, cost: Floats, negative: str, benchmarks: float) -> tuple[Star, float, Floats, float]:
    """Return one benchmark's own star, the variance of its units, its repetitions, and the outermost component as estimated.

    All are those of the log mean over so many benchmarks.

    Parameters
    ----------
    values : array, shape (n_L, ..., n_1)
        Measurements of one benchmark.
    cost : array, shape (L,)
        Prices; NaN at the lowest level means the mean.
    negative : {"merge", "zero"}
        What becomes of negative components.
    benchmarks : float
        In the suite, if all counted as much as this one.
    """
    components = nested_anova(values[None], len(cost), negative)
    scale = benchmarks**2 * components.mean[0] ** 2
    variance = components.variance[0] / scale
    prices = np.where(np.isnan(cost), components.mean[0], cost)
    lower = np.nan_to_num(np.maximum(variance[1:], 0.0))
    star = Star(float(np.maximum(variance[0], 0.0)), float(prices[0]), lower[None], prices[None, 1:])
    return star, float(components.level_variance[0, 0] / scale), count_repetitions(values[None], len(cost)).total, float(variance[0])


def counts_apart(stars: list[Star], budget: float, min_units: int) -> Floats:
    """Return whole counts (benchmarks, L) for a budget, the outermost first."""
    variance, cost = (np.array(rows) for rows in zip(*map(_chain, stars), strict=True))
    totals = forest(stars).share_out(np.array(float(min_units)), budget=budget).reshape(variance.shape)
    counts = np.maximum(1.0, np.floor(totals / np.column_stack([np.ones(len(totals)), totals[:, :-1]]) + ROUNDING))
    counts[:, 0] = np.maximum(counts[:, 0], min_units)
    step = np.eye(variance.shape[1])[:, None]
    for _ in range(STEPS * variance.size):
        increased = counts + step
        dearer = price(increased, cost) - price(counts, cost)
        gain = (variance_of_mean(counts, variance) - variance_of_mean(increased, variance)) / np.maximum(dearer, np.finfo(float).tiny)
        budget_left = budget - float(price(counts, cost).sum())
        gain = np.where(dearer <= budget_left * (1 + ROUNDING), gain, 0.0)
        level, benchmark = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if gain[level, benchmark] <= 0:
            break
        counts[benchmark, level] += 1
    while price(counts, cost).sum() > budget and (counts[:, 0] > min_units).any():  # the floor of a count that inner ones outgrew
        counts[int(np.argmax(np.where(counts[:, 0] > min_units, counts[:, 0], 0))), 0] -= 1
    return counts


def planned_again(stars: list[Star], total: Floats, budget: float, min_units: int) -> Floats:
    """Return, at the nodes of `assurance`, by how much the variance of such a plan exceeds the one it promises.

    A benchmark whose variance the pilot underrates gets too few repetitions, so that the error of the plan is larger than that of the
    variances it is made from: one of many chains by a factor of about f / (f - 1), f their degrees of freedom. So components are drawn as
    pilots of this size would find them, if those found were true, and each time the continuous plan is made again. One that was not seen
    in a benchmark may be there: it is taken to be the same multiple of the lowest as in the whole suite.

    Parameters
    ----------
    stars : list of Star
        One for each benchmark.
    total : array, shape (benchmarks, L)
        Repetitions in the pilot.
    budget : float
        What the plan costs.
    min_units : int
        Fewest units of each benchmark.
    """
    variance, cost = (np.array(rows) for rows in zip(*map(_chain, stars), strict=True))
    order = np.lexsort(np.column_stack([variance, cost, total]).T)  # what is drawn hangs on no order of the benchmarks
    variance, cost, total = variance[order], cost[order], total[order]
    lowest = variance[:, -1:]
    common = np.divide(variance.sum(axis=0), lowest.sum(), out=np.zeros(variance.shape[1]), where=lowest.sum() > 0) * lowest
    variance = np.where(variance > 0, variance, common)
    inside = total[:, 1:] / total[:, :-1]
    levels = variance.copy()
    for level in range(variance.shape[1] - 2, -1, -1):
        levels[:, level] += levels[:, level + 1] / inside[:, level]
    df = np.maximum(np.diff(total, axis=1, prepend=1.0), 1.0)
    mean_squares = levels * np.random.Generator(np.random.Philox(0)).chisquare(df, (PILOTS, *df.shape)) / df
    components = mean_squares.copy()
    components[..., :-1] -= mean_squares[..., 1:] / inside
    components = np.maximum(components, 0.0)
    root = np.sqrt(_pooled_rates(components, cost))
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.zeros(PILOTS), budget / (cost * root).sum(axis=(1, 2))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            too_dear = (cost * np.maximum(min_units, middle[:, None, None] * root)).sum(axis=(1, 2)) > budget
            low, high = np.where(too_dear, low, middle), np.where(too_dear, middle, high)
        repetitions = np.maximum(min_units, low[:, None, None] * root)
        ratios = (variance / repetitions).sum(axis=(1, 2)) / (components / repetitions).sum(axis=(1, 2))
    return np.asarray(np.quantile(np.where(np.isnan(ratios), 1.0, ratios), nodes()[0]))


def _pooled_rates(variance: Floats, cost: Floats) -> Floats:
    """Return a / d of every chain (..., L) pooled so that none is below that of the level above it: max-min of isotonic means."""
    number = variance.shape[-1]
    sums = [np.concatenate([np.zeros((*array.shape[:-1], 1)), np.cumsum(array, axis=-1)], axis=-1) for array in (variance, cost)]
    blocks = {}
    for i in range(number):
        for j in range(i, number):
            a, d = (array[..., j + 1] - array[..., i] for array in sums)
            blocks[i, j] = np.divide(a, d, out=np.where(a > 0, np.inf, 0.0), where=d > 0)
    rates = [np.maximum.reduce([np.minimum.reduce([blocks[i, j] for j in range(k, number)]) for i in range(k + 1)]) for k in range(number)]
    return np.asarray(np.maximum(np.stack(rates, axis=-1), 0.0))


def _chain(star: Star) -> tuple[Floats, Floats]:
    """Return components and prices of one benchmark, the outermost first."""
    return np.append(star.root, star.variance[0]), np.append(star.root_cost, star.cost[0])
