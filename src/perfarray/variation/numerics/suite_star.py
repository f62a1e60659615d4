"""A suite on shared builds, as a star: its components, its prices, and the continuous optimum.

With everything relative, the variance of the log of the suite's geometric mean is sum a_k / x_k over one root (the shared builds, and
shared levels inside them) and a chain of lower levels per benchmark, the price sum d_k x_k: separable as in `allocation`, with
x_root <= x_executions <= x_iterations in every chain. Its solution is x_k = max(low, s sqrt(a_k / d_k)) after pooling what would fall
below its parent with it. Two systems are two such stars that share a budget; two systems paired by unit are one star with the chains of
both.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats
from perfarray.variation.numerics.allocation import share_out

NO_LEVELS = np.zeros((0, 2))


class Star(NamedTuple):
    """One system: component and price of the shared units, and those of the lower levels (benchmarks, L - 1).

    `inner` holds component and price (levels, 2) of levels inside the shared units that are shared too.
    """

    root: float
    root_cost: float
    variance: Floats
    cost: Floats
    inner: Floats = NO_LEVELS


class Totals(NamedTuple):
    """Continuous totals: of the shared units of each system, and of the levels inside them (benchmarks, L - 1)."""

    root: list[float]
    lower: list[Floats]
    variance: float
    cost: float


class Forest(NamedTuple):
    """Stars as trees, one after the other: components, prices and pooled rates a / d of all nodes, and how many nodes each star has."""

    variance: Floats
    cost: Floats
    rates: Floats
    lengths: list[int]

    def share_out(self, low: Floats, *, budget: npt.ArrayLike | None = None, variance: npt.ArrayLike | None = None) -> Floats:
        """Return the totals (..., nodes), none below `low`, that spend a budget or reach a variance."""
        return share_out(self.variance, self.cost, self.rates, low, budget=budget, variance_wanted=variance)


def forest(stars: list[Star], rooted: bool = True) -> Forest:
    """Return stars side by side, with or without their shared units."""
    trees = [_tree(star, rooted) for star in stars]
    a, d, rates = (np.concatenate(trees_field) for trees_field in zip(*trees, strict=True))
    return Forest(a, d, rates, [len(tree[0]) for tree in trees])


def continuous(stars: list[Star], low: float, *, budget: float | None = None, variance: float | None = None) -> Totals:
    """Return the totals that give the least variance for a budget, or the least price for a variance, none below `low`."""
    trees = forest(stars)
    x = trees.share_out(np.array(float(low)), budget=budget, variance=variance)
    pieces = np.split(x, np.cumsum(trees.lengths)[:-1])
    lower = [_by_benchmark(star, piece[1:]) for star, piece in zip(stars, pieces, strict=True)]
    return Totals([float(piece[0]) for piece in pieces], lower, float((trees.variance / x).sum()), float((trees.cost * x).sum()))


def counts_inside(stars: list[Star], units: Floats, *, budget: float | None = None, variance: float | None = None) -> list[Floats]:
    """Return the continuous counts inside one parent (benchmarks, L - 1) for these numbers of shared units."""
    trees = forest(stars, rooted=False)
    low = np.repeat(units, trees.lengths)
    if budget is not None:
        x = trees.share_out(low, budget=budget - sum(star.root_cost * n for star, n in zip(stars, units, strict=True)))
    else:
        x = trees.share_out(low, variance=(variance or 0.0) - sum(star.root / n for star, n in zip(stars, units, strict=True)))
    pieces = np.split(np.where(np.isfinite(x), x, low), np.cumsum(trees.lengths)[:-1])
    lower = [_by_benchmark(star, piece) for star, piece in zip(stars, pieces, strict=True)]
    return [piece / np.column_stack([np.full(len(piece), n), piece[:, :-1]]) for piece, n in zip(lower, units, strict=True)]


def variance_inside(star: Star, counts: Floats) -> float:
    """Return what the levels inside one shared unit add to its variance, with these counts (benchmarks, L - 1)."""
    totals = np.cumprod(counts, axis=1)
    inner = len(star.inner)
    return float((star.inner[:, 0] / totals[0, :inner]).sum() + (star.variance / totals[:, inner:]).sum())


def price_inside(star: Star, counts: Floats) -> float:
    """Return what the inside of one shared unit costs, with these counts (benchmarks, L - 1)."""
    totals = np.cumprod(counts, axis=1)
    inner = len(star.inner)
    return float((star.inner[:, 1] * totals[0, :inner]).sum() + (star.cost * totals[:, inner:]).sum())


def _tree(star: Star, rooted: bool) -> tuple[Floats, Floats, Floats]:
    """Return components, prices and pooled rates of a star's nodes, the outermost first, with or without the shared units themselves."""
    top = np.array([[star.root, star.root_cost]]) if rooted else NO_LEVELS
    stem = np.concatenate([top, star.inner])
    benchmarks, levels = star.variance.shape
    nodes = np.arange(benchmarks * levels).reshape(benchmarks, levels) + len(stem)
    chains = np.where(np.arange(levels) == 0, len(stem) - 1, nodes - 1)
    parent = np.concatenate([np.arange(len(stem)) - 1, chains.ravel()])
    a, d = (np.concatenate([stem[:, i], benchmark_values.ravel()]) for i, benchmark_values in ((0, star.variance), (1, star.cost)))
    return a, d, tree_rates(parent, a, d)


def tree_rates(parent: np.ndarray, variance: Floats, cost: Floats) -> Floats:
    """Return a / d pooled so that no node's is below its parent's: isotonic; the smallest violator joins its parent first."""
    block = np.arange(len(parent))
    a, d = variance.astype(float), cost.astype(float)
    while True:
        rate = np.divide(a, d, out=np.where(a > 0, np.inf, 0.0), where=d > 0)
        above = np.where(parent >= 0, rate[block[parent]], 0.0)
        heads = np.flatnonzero((block == np.arange(len(parent))) & (rate < above))
        if not len(heads):
            return np.asarray(rate[block])
        head = heads[np.argmin(rate[heads])]
        to = block[parent[head]]
        a[to] += a[head]
        d[to] += d[head]
        block[block == head] = to


def _by_benchmark(star: Star, lower: Floats) -> Floats:
    """Return totals along benchmarks and levels; shared ones are the same for all."""
    inner = len(star.inner)
    shared = np.broadcast_to(lower[:inner], (len(star.variance), inner))
    return np.concatenate([shared, lower[inner:].reshape(star.variance.shape)], axis=1)
