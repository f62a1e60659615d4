"""How many builds, and how many executions and iterations of each benchmark: whole counts near the continuous optimum.

Shared units, and inside them a chain of levels for each benchmark, are the nodes of a tree. Systems
that are not paired, and benchmarks that share no units, are several trees with one budget. With x_k
repetitions of node k in all, the variance of the log of the geometric mean is sum a_k / x_k, the
price sum d_k x_k (Kalibera and Jones (2012) ask for this extension at the end of section 8.5). The
continuous optimum is x_k = max(low, s sqrt(a_k / d_k)), where a child that would have fewer
repetitions than its parent is pooled with it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from perfarray.numerics.searching import first_reached
from perfarray.numerics.types import Floats, Integers
from perfarray.variation.numerics.allocation import (
    ROUNDING,
    Goal,
    lowest,
    share_out,
    student_t,
    whole,
)

ULPS = 1e-12  # by how much two sums of the same prices may differ
# numbers of shared units tried, from a third of the continuous optimum to three times as many
TRIED = 24
NEAR = 4  # all numbers so close to the continuous optimum are tried
CHANGES = (
    0.5,
    0.7,
    1.4,
    2.0,
)  # what counts are multiplied by in a local search, besides one more and one fewer
POOL = 4  # plans that a local search starts from, at most
SEARCHED = 400  # counts in all of these plans: fewer plans of more nodes
ROUNDS = 8
SHARES = (
    0.98,
    0.99,
    0.994,
    0.996,
    0.998,
)  # of the price of a plan of a half-width, tried as budgets
FEW_NODES = (
    12  # a local search changes every pair of counts; among more nodes, those of parent and child
)


class Forest(NamedTuple):
    """Trees side by side: component, price and parent (-1: none) of each node, and where the nodes inside it end.

    `paths` (rows, L) are the nodes from the root down to the lowest level of each benchmark.
    """

    variance: Floats
    cost: Floats
    paths: Integers
    parents: Integers
    ends: Integers

    @property
    def roots(self) -> Integers:
        """Nodes without a parent."""
        return np.flatnonzero(self.parents < 0)

    def totals(self, counts: Floats) -> Floats:
        """Return the repetitions in all (..., nodes) from those inside one parent."""
        totals = np.empty(counts.shape)
        totals[..., self.paths] = np.cumprod(counts[..., self.paths], axis=-1)
        return totals

    def inside_parent(self, totals: Floats) -> Floats:
        """Return the repetitions inside one parent (..., nodes) from those in all."""
        return np.asarray(totals / np.where(self.parents < 0, 1.0, totals[..., self.parents]))

    def price(self, counts: Floats) -> Floats:
        """Return what plans (..., nodes) cost."""
        return np.asarray((self.cost * self.totals(counts)).sum(axis=-1))

    def noise(self, counts: Floats) -> Floats:
        """Return the variance of the log of the geometric mean."""
        return np.asarray((self.variance / self.totals(counts)).sum(axis=-1))

    def subtree(self, values: Floats) -> Floats:
        """Return the sums (..., nodes) over each node and all that lies inside it."""
        sums = np.concatenate(
            [np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1
        )
        return np.asarray(sums[..., self.ends] - sums[..., :-1])


def tree(stem: Floats, chains: Floats) -> Forest:
    """Return one tree from components and prices (2, shared levels) of its stem, and those (2, rows, lower levels) of its chains."""
    shared, (rows, levels) = stem.shape[1], chains.shape[1:]
    nodes = np.concatenate([stem, chains.reshape(2, -1)], axis=1)
    indices = shared + np.arange(rows * levels).reshape(rows, levels)
    return _forest(
        nodes[0], nodes[1], np.concatenate([np.tile(np.arange(shared), (rows, 1)), indices], axis=1)
    )


def side_by_side(trees: Sequence[Forest]) -> Forest:
    """Return several trees as one forest."""
    offsets = np.cumsum([0] + [len(each.variance) for each in trees[:-1]])
    paths = np.concatenate(
        [each.paths + offset for each, offset in zip(trees, offsets, strict=True)]
    )
    return _forest(
        np.concatenate([each.variance for each in trees]),
        np.concatenate([each.cost for each in trees]),
        paths,
    )


def _forest(variance: Floats, cost: Floats, paths: Integers) -> Forest:
    parents, ends = np.full(len(variance), -1), np.arange(len(variance)) + 1
    parents[paths[:, 1:]] = paths[:, :-1]
    np.maximum.at(ends, paths, paths[:, -1:] + 1)
    return Forest(variance, cost, paths, parents, ends)


def continuous(
    forest: Forest,
    low: Floats,
    *,
    budget: Floats | float | None = None,
    variance: Floats | None = None,
) -> Floats:
    """Return the totals (..., nodes), none below `low` (...), of the least variance for a budget, or that reach one at the least price."""
    rates = tree_rates(forest.parents, forest.variance, forest.cost)
    return share_out(
        forest.variance, forest.cost, rates, low[..., None], budget=budget, variance_wanted=variance
    )


def tree_rates(parents: Integers, variance: Floats, cost: Floats) -> Floats:
    """Return a / d pooled so that no node's is below its parent's: isotonic.

    The smallest violator joins its parent first.
    """
    block = np.arange(len(parents))
    a, d = variance.astype(float), cost.astype(float)
    while True:
        rate = np.divide(a, d, out=np.where(a > 0, np.inf, 0.0), where=d > 0)
        above = np.where(parents >= 0, rate[block[parents]], 0.0)
        heads = np.flatnonzero((block == np.arange(len(parents))) & (rate < above))
        if not len(heads):
            return np.asarray(rate[block])
        head = heads[np.argmin(rate[heads])]
        to = block[parents[head]]
        a[to] += a[head]
        d[to] += d[head]
        block[block == head] = to


def narrowest(
    forest: Forest, budgets: Floats, min_units: int, probability: float
) -> tuple[Floats, Floats]:
    """Return, for each budget, the fewest units of the best continuous plan and the variance it leaves; NaN where none is affordable."""
    one_of_everything = forest.cost.sum()
    affordable = budgets >= min_units * one_of_everything
    units, noise = np.full((2, *budgets.shape), np.nan)
    money = budgets[affordable]

    def variance(n: Floats) -> Floats:
        return np.asarray((forest.variance / continuous(forest, n, budget=money)).sum(axis=-1))

    most = np.maximum(min_units, np.floor(money / one_of_everything))
    units[affordable] = lowest(
        lambda n: student_t(n, probability) * np.sqrt(variance(n)), min_units, most
    )
    noise[affordable] = variance(units[affordable])
    return units, noise


def whole_counts(forest: Forest, goal: Goal) -> Floats:
    """Return the repetitions (nodes,) inside one parent: the narrowest plan for a budget, never exceeded, or the cheapest of a half-width.

    The continuous plans of several numbers of shared units are rounded. What rounding leaves buys,
    one repetition after the other, what narrows most for its price. Then a local search changes one
    count, completes another to the limit, and fills up again.
    """
    counts = _search(forest, goal)
    if goal.budget is not None:
        return counts
    # A plan for somewhat less money may reach the half-width as well, since no search is
    # exhaustive; none beats the continuous one.
    low = _cheapest(forest, goal)[0]
    least = float(
        (forest.cost * continuous(forest, low, variance=_noise_of_units(forest, goal, low))).sum()
    )
    for share in SHARES:
        while (budget := share * float(forest.price(counts))) >= max(
            least, goal.min_units * forest.cost.sum()
        ):
            cheaper = _search(forest, goal._replace(budget=budget, half_width=None))
            if quantile(forest, cheaper, goal) * np.sqrt(
                forest.noise(cheaper)
            ) > goal.half_width * (1 + ULPS):
                break
            counts = cheaper
    return counts


def _search(forest: Forest, goal: Goal) -> Floats:
    """Return the best counts (nodes,) of rounding, filling up and the local search."""
    starts = _starts(forest, goal)
    pool = _best(forest, _filled(forest, goal, starts), goal)
    # Of benchmarks that share no units, single counts weigh little: the search would gain .2 % and
    # take 20 times as long.
    for _ in range(ROUNDS if len(forest.roots) <= 2 else 0):
        candidates = _filled(forest, goal, _neighbours(forest, goal, pool))
        better = _best(forest, np.concatenate([pool, candidates]), goal)
        if (better[0] == pool[0]).all():
            break
        pool = better
    return np.asarray(pool[0])


def quantile(forest: Forest, counts: Floats, goal: Goal) -> Floats:
    """Return Student's t for the root with the fewest units.

    Benchmarks that share none have many degrees of freedom together.
    """
    roots = forest.roots
    fewest = counts[..., roots].min(axis=-1)
    return student_t(fewest if len(roots) <= 2 else np.full_like(fewest, np.inf), goal.probability)


def _noise_wanted(forest: Forest, counts: Floats, goal: Goal) -> Floats:
    """Return the variance that plans may leave, where a half-width is to be reached."""
    return np.asarray((goal.half_width / quantile(forest, counts, goal)) ** 2 * (1 + ULPS))


def _best(forest: Forest, counts: Floats, goal: Goal) -> Floats:
    """Return the best plans (plans, nodes), each once: those within the limit first."""
    counts = np.unique(counts, axis=0)
    spent, half = (
        forest.price(counts),
        quantile(forest, counts, goal) * np.sqrt(forest.noise(counts)),
    )
    if goal.budget is not None:
        order = np.lexsort((spent, _in_steps(half), spent > goal.budget * (1 + ULPS)))
    else:
        order = np.lexsort((half, _in_steps(spent), half > goal.half_width * (1 + ULPS)))
    return np.asarray(counts[order[: int(np.clip(SEARCHED // counts.shape[1], 1, POOL))]])


def _in_steps(values: Floats) -> Floats:
    """Return numbers whose last digits, which rounding decides, are the same."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa / ROUNDING), exponent)


def _starts(forest: Forest, goal: Goal) -> Floats:
    """Return whole counts (plans, nodes) near the continuous plans of several numbers of shared units."""
    roots, least, is_root = forest.roots, goal.min_units, forest.parents < 0
    if goal.budget is not None:
        low = narrowest(forest, np.array([goal.budget]), least, goal.probability)[0]
        most, limit = (
            float(np.floor(goal.budget / forest.cost.sum())),
            dict[str, Any](budget=goal.budget),
        )
        optimum = continuous(forest, low, budget=goal.budget)[0, roots]
    else:
        low, most = _cheapest(forest, goal)
        optimum = continuous(forest, low, variance=_noise_of_units(forest, goal, low))[0, roots]
    fewest = optimum.min()
    near = np.floor(fewest) + np.arange(1 - NEAR, NEAR + 1)
    tried = np.concatenate(
        [near, np.round(np.geomspace(max(1.0, fewest / 3), 3 * fewest + NEAR, TRIED))]
    )
    tried = np.unique(np.clip(tried, least, max(most, least)))
    if (
        len(roots) > 2
        # benchmarks that share no units: with more or fewer units of all of them at once nothing is
        # won
    ):
        tried = fewest[None]
    units = np.maximum(least, whole(np.outer(tried, optimum / fewest)))
    root_of = np.empty(len(is_root), dtype=np.intp)
    root_of[forest.paths] = np.searchsorted(roots, forest.paths[:, :1])
    low = units[:, root_of]
    if goal.budget is None:
        limit = {"variance_wanted": _noise_of_units(forest, goal, units.min(axis=1))}
    # The units are given: roots do not take part in sharing out.
    rates = tree_rates(
        forest.parents, np.where(is_root, 0.0, forest.variance), np.where(is_root, 1.0, forest.cost)
    )
    totals = share_out(forest.variance, forest.cost, rates, low, **limit)
    counts = forest.inside_parent(np.where(np.isfinite(totals), totals, low))
    counts = np.maximum(
        1.0, np.concatenate([whole(counts), np.round(counts), np.ceil(counts - ROUNDING)])
    )
    return np.concatenate([counts, np.where(is_root, float(least), 1.0)[None]])


def _noise_of_units(forest: Forest, goal: Goal, n: Floats) -> Floats:
    return _noise_wanted(forest, np.where(forest.parents < 0, n[..., None], 1.0), goal)


def _cheapest(forest: Forest, goal: Goal) -> tuple[Floats, float]:
    """Return the fewest units of the cheapest continuous plan of the half-width, and those that one of everything in each takes."""

    def price(n: Floats) -> Floats:
        totals = continuous(forest, n, variance=_noise_of_units(forest, goal, n))
        with np.errstate(invalid="ignore"):
            spent = (forest.cost * totals).sum(axis=-1)
        return np.where(np.isfinite(spent), spent, np.inf)

    least = np.array([float(goal.min_units)])
    most = first_reached(
        lambda n: forest.variance.sum() / n <= _noise_of_units(forest, goal, n), least
    )
    return lowest(price, least, most), float(most[0])


def _filled(forest: Forest, goal: Goal, counts: Floats) -> Floats:
    """Buy one repetition after the other, that which narrows most for its price, as long as the budget or the half-width asks for more."""
    counts, active = counts.copy(), np.arange(len(counts))
    if goal.budget is not None:
        active = np.flatnonzero(forest.price(counts) <= goal.budget * (1 + ULPS))
    for _ in range(50 * counts.shape[1]):  # the local search completes counts that would take more
        trial = counts[active]
        totals = forest.totals(trial)
        prices, noises = forest.cost * totals, forest.variance / totals
        dearer, gain = forest.subtree(prices) / trial, forest.subtree(noises) / (trial + 1)
        if goal.budget is not None:
            affordable = prices.sum(axis=-1, keepdims=True) + dearer <= goal.budget * (1 + ULPS)
            gain = np.where(affordable, gain, 0.0)
        else:
            gain = np.minimum(
                gain,
                np.maximum(0.0, noises.sum(axis=-1) - _noise_wanted(forest, trial, goal))[:, None],
            )
        gain /= np.maximum(dearer, np.finfo(float).tiny)
        node = gain.argmax(axis=-1)
        narrower = gain[np.arange(len(trial)), node] > 0
        active, node = active[narrower], node[narrower]
        if not len(active):
            break
        counts[active, node] += 1
    return counts


def _neighbours(forest: Forest, goal: Goal, pool: Floats) -> Floats:
    """Return plans (plans, nodes) with one count changed, and another completed to the limit."""
    least, number = np.where(forest.parents < 0, goal.min_units, 1), pool.shape[1]
    changed, completed = forest.parents[forest.parents >= 0], np.flatnonzero(forest.parents >= 0)
    if number <= FEW_NODES:
        changed, completed = np.nonzero(~np.eye(number, dtype=bool))
    fewer = np.maximum(pool[:, None] - np.eye(number), least).reshape(-1, number)
    if not len(changed):
        return np.asarray(fewer)
    old = pool[:, changed]
    new = np.stack([old - 1, old + 1, *(np.round(old * factor) for factor in CHANGES)], axis=-1)
    counts = np.repeat(pool, new[0].size, axis=0)
    rows = np.arange(len(counts))
    changed, completed = (
        np.tile(np.repeat(nodes, new.shape[-1]), len(pool)) for nodes in (changed, completed)
    )
    counts[rows, changed] = np.maximum(new.ravel(), least[changed])
    totals = forest.totals(counts)
    prices, noises, count = forest.cost * totals, forest.variance / totals, counts[rows, completed]
    if goal.budget is not None:
        share = forest.subtree(prices)[rows, completed]
        with np.errstate(divide="ignore", invalid="ignore"):
            count = np.floor(
                (goal.budget * (1 + ULPS) - prices.sum(axis=-1) + share) / share * count
            )
    else:
        share = forest.subtree(noises)[rows, completed]
        variance_left = _noise_wanted(forest, counts, goal) - noises.sum(axis=-1) + share
        count = np.ceil(
            np.divide(
                share * count, variance_left, out=np.ones(len(counts)), where=variance_left > 0
            )
        )
    counts[rows, completed] = np.maximum(np.where(np.isfinite(count), count, 1.0), least[completed])
    return np.concatenate([fewer, counts])
