"""Trees of repetitions, and how a budget or a variance is best shared among their nodes.

A nest is a tree of one path. A suite on shared builds has them as its stem, and inside them a chain
of levels for each benchmark. Systems that are not paired, and benchmarks that share no units, are
several trees with one budget. With x_k repetitions of node k in all, the variance of the mean (of a
suite, of the log of the geometric mean) is sum a_k / x_k, the price sum d_k x_k. The continuous
optimum is x_k = max(low, s sqrt(a_k / d_k)); a child that would have fewer repetitions than its
parent is pooled with it: components add, prices join.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.levels import reduced
from perfarray.numerics.searching import first_reached, first_true
from perfarray.numerics.types import Floats, Integers
from perfarray.variation.numerics.allocation import Goal, quantile_at, share_out, so_far, whole


class Forest(NamedTuple):
    """Trees side by side: components and prices (..., nodes), and how the nodes lie.

    `parents` are those of the nodes (-1: none), `ends` where the nodes inside each end; `paths`
    (rows, L) are the nodes from the root down to the lowest level of each row, a benchmark of a
    system; `roots` are the nodes without a parent, `root_of` the place of each row's among them.
    """

    variance: Floats
    cost: Floats
    paths: Integers
    parents: Integers
    ends: Integers
    roots: Integers
    root_of: Integers

    def of(self, cells: Any) -> "Forest":
        """Return the trees of some cells."""
        return self._replace(variance=self.variance[cells], cost=self.cost[cells])

    def along(self) -> "Forest":
        """Return the same for several plans of each cell, which lie before the nodes."""
        return self.of((..., None, slice(None)))

    def totals(self, counts: Floats) -> Floats:
        """Return the repetitions in all (..., nodes) from those inside one parent."""
        if len(self.paths) == 1:
            return so_far(np.multiply, counts)
        totals = np.empty(counts.shape)
        totals[..., self.paths] = np.cumprod(counts[..., self.paths], axis=-1)
        return totals

    def inside_parent(self, totals: Floats) -> Floats:
        """Return the repetitions inside one parent (..., nodes) from those in all."""
        return np.asarray(totals / np.where(self.parents < 0, 1.0, totals[..., self.parents]))

    def price(self, counts: Floats) -> Floats:
        """Return what plans (..., nodes) cost."""
        return reduced(np.add, self.cost * self.totals(counts))

    def noise(self, counts: Floats) -> Floats:
        """Return the variance that plans (..., nodes) leave."""
        return reduced(np.add, self.variance / self.totals(counts))

    def subtree(self, values: Floats) -> Floats:
        """Return the sums (..., nodes) over each node and all that lies inside it."""
        sums = np.concatenate(
            [np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1
        )
        return np.asarray(sums[..., self.ends] - sums[..., :-1])


def nest(variance: Floats, cost: Floats) -> Forest:
    """Return nests (..., L) as trees of one path."""
    return _forest(variance, cost, np.arange(variance.shape[-1])[None])


def tree(stem: Floats, chains: Floats) -> Forest:
    """Return one tree from components and prices of its stem and of its chains.

    These are (2, shared levels) and (2, rows, lower levels).
    """
    shared, (rows, levels) = stem.shape[1], chains.shape[1:]
    nodes = np.concatenate([stem, chains.reshape(2, -1)], axis=1)
    indices = shared + np.arange(rows * levels).reshape(rows, levels)
    return _forest(
        nodes[0], nodes[1], np.concatenate([np.tile(np.arange(shared), (rows, 1)), indices], axis=1)
    )


def side_by_side(trees: Sequence[Forest]) -> Forest:
    """Return several trees as one forest."""
    offsets = np.cumsum([0] + [len(one_tree.variance) for one_tree in trees[:-1]])
    paths = np.concatenate(
        [one_tree.paths + offset for one_tree, offset in zip(trees, offsets, strict=True)]
    )
    return _forest(
        np.concatenate([one_tree.variance for one_tree in trees]),
        np.concatenate([one_tree.cost for one_tree in trees]),
        paths,
    )


def _forest(variance: Floats, cost: Floats, paths: Integers) -> Forest:
    nodes = variance.shape[-1]
    parents, ends = np.full(nodes, -1), np.arange(nodes) + 1
    parents[paths[:, 1:]] = paths[:, :-1]
    np.maximum.at(ends, paths, paths[:, -1:] + 1)
    roots = np.flatnonzero(parents < 0)
    return Forest(variance, cost, paths, parents, ends, roots, np.searchsorted(roots, paths[:, 0]))


def rates_of(forest: Forest, *, fixed_roots: bool = False) -> Floats:
    """Return a / d pooled so that no node's is below its parent's: isotonic.

    The smallest violator joins its parent first. Roots whose numbers are given (`fixed_roots`) take
    no part.
    """
    parents, is_root = forest.parents, forest.parents < 0
    a = np.where(is_root & fixed_roots, 0.0, forest.variance).reshape(-1, len(parents))
    d = np.where(is_root & fixed_roots, 1.0, forest.cost).reshape(-1, len(parents))
    cells, nodes = np.arange(len(a)), np.arange(len(parents))
    block = np.tile(nodes, (len(a), 1))
    while True:
        rate = np.divide(a, d, out=np.where(a > 0, np.inf, 0.0), where=d > 0)
        above = np.where(is_root, 0.0, np.take_along_axis(rate, block[:, parents], axis=1))
        heads = (block == nodes) & (rate < above)
        violated = heads.any(axis=1)
        if not violated.any():
            rates = np.take_along_axis(rate, block, axis=1)
            return rates.reshape(np.broadcast_shapes(forest.variance.shape, forest.cost.shape))
        head = np.where(heads, rate, np.inf).argmin(axis=1)
        to = block[cells, parents[head]]
        rows = cells[violated], to[violated]
        a[rows] += a[cells[violated], head[violated]]
        d[rows] += d[cells[violated], head[violated]]
        block = np.where(violated[:, None] & (block == head[:, None]), to[:, None], block)


def continuous(
    forest: Forest,
    low: Floats,
    *,
    budget: Floats | float | None = None,
    variance: Floats | None = None,
) -> Floats:
    """Return the best totals (..., nodes) for a budget or a variance, none below `low` (...)."""
    rates = rates_of(forest)
    return share_out(
        forest.variance, forest.cost, rates, low[..., None], budget=budget, variance_wanted=variance
    )


def quantile_of(forest: Forest, units: npt.ArrayLike, probability: float) -> Floats:
    """Return Student's t for the root with the fewest units.

    Benchmarks that share none have many degrees of freedom together.
    """
    units = np.asarray(units, dtype=float)
    df = np.where(units > 1, units - 1 if len(forest.roots) <= 2 else np.inf, np.nan)
    return quantile_at(t_quantile, probability, df)


def narrowest(
    forest: Forest, budgets: Floats, min_units: int, probability: float
) -> tuple[Floats, Floats]:
    """Return the fewest units of the best continuous plans for budgets (..., budgets).

    And the variance that these plans leave. NaN where no plan is affordable.
    """
    along = forest.along()
    rates, one_of_everything = rates_of(along), along.cost.sum(axis=-1)
    money = np.where(budgets >= min_units * one_of_everything, budgets, np.nan)

    def noise(n: Floats) -> Floats:
        totals = share_out(along.variance, along.cost, rates, n[..., None], budget=money)
        return reduced(np.add, along.variance / totals)

    max_units = np.maximum(min_units, whole(money / one_of_everything))
    units = lowest(
        lambda n: quantile_of(forest, n, probability) * np.sqrt(noise(n)),
        np.where(np.isnan(money), np.nan, min_units),
        max_units,
    )
    return units, noise(units)


def cheapest(forest: Forest, goal: Goal) -> tuple[Floats, Floats]:
    """Return the fewest units (...) of the cheapest continuous plan of a half-width.

    And those that suffice with one of everything in each.
    """
    rates = rates_of(forest)

    def price(n: Floats) -> Floats:
        totals = share_out(
            forest.variance,
            forest.cost,
            rates,
            n[..., None],
            variance_wanted=noise_wanted(forest, n, goal),
        )
        with np.errstate(invalid="ignore"):
            spent = reduced(np.add, forest.cost * totals)
        return np.where(np.isfinite(spent), spent, np.inf)

    variance = reduced(np.add, forest.variance)
    min_units_or_nan = np.where(np.isnan(variance), np.nan, float(goal.min_units))
    max_units = first_reached(
        lambda n: variance / n <= noise_wanted(forest, n, goal), min_units_or_nan
    )
    return lowest(price, min_units_or_nan, max_units), max_units


def noise_wanted(forest: Forest, units: Floats, goal: Goal) -> Floats:
    """Return the variance that plans of so many units may leave, for a half-width."""
    quantile = quantile_of(forest, units, goal.probability)
    half_width = np.asarray(goal.half_width, dtype=float)
    half_width = half_width.reshape(half_width.shape + (1,) * (quantile.ndim - half_width.ndim))
    return np.asarray((half_width / quantile) ** 2)


def lowest(value: Callable[[Floats], Floats], low: npt.ArrayLike, high: npt.ArrayLike) -> Floats:
    """Return the whole numbers at which functions, each convex in the logarithm, are smallest.

    What is not finite counts as falling.
    """

    def rising(n: Floats) -> Any:
        value_here, value_after = value(n), value(n + 1)
        return np.isfinite(value_here) & ((value_here <= value_after) | np.isnan(value_after))

    return first_true(rising, low, high)
