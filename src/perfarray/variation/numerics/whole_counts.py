"""Whole counts near the continuous optimum, for a budget or a half-width.

All neighbours of the optimum of a nest are completed to the limit and compared. A tree has too many
neighbours: what rounding leaves buys one repetition after the other, and a local search follows.
"""

from itertools import product
from typing import Any

import numpy as np

from perfarray.numerics.levels import reduced
from perfarray.numerics.searching import first_true
from perfarray.numerics.types import Floats
from perfarray.variation.numerics.allocation import (
    ROUNDING,
    ULPS,
    Goal,
    optimal_counts,
    share_out,
    whole,
)
from perfarray.variation.numerics.forests import (
    Forest,
    cheapest,
    continuous,
    narrowest,
    noise_wanted,
    quantile_of,
    rates_of,
)

# outermost counts of a nest tried around the continuous optimum: all of them where they are that
# few, else evenly spaced
WINDOW = 256
BLOCK = 1 << 14  # outermost counts tried at once, of all cells

# numbers of shared units tried, from a third of the continuous optimum to three times as many
TRIED = 24
NEAR = 4  # all numbers so close to the continuous optimum are tried
# what counts are multiplied by in a local search, besides one more and one fewer
CHANGES = (0.5, 0.7, 1.4, 2.0)
POOL = 4  # plans that a local search starts from, at most
SEARCHED = 400  # counts in all of these plans: fewer plans of more nodes
ROUNDS = 8
# of the price of a plan of a half-width, tried as budgets
SHARES = (0.98, 0.99, 0.994, 0.996, 0.998)
# a local search changes every pair of counts; among more nodes, those of parent and child
FEW_NODES = 12


def whole_counts(forest: Forest, goal: Goal) -> Floats:
    """Return the repetitions (..., nodes) inside one parent.

    NaN where a root's component is NaN, where nothing varies, and where the budget does not buy
    the fewest units. The assurance of the goal does not count here.
    """
    shape = forest.variance.shape
    variance, cost = (np.reshape(array, (-1, shape[-1])) for array in forest[:2])
    limit = np.broadcast_to(goal.limit, shape[:-1]).reshape(-1)
    total = variance.sum(axis=1)
    possible = (total > 0) & ~np.isnan(limit + cost.sum(axis=1))
    if goal.budget is not None:
        possible &= goal.min_units * cost.sum(axis=1) <= limit * (1 + ULPS)
    cells = np.flatnonzero(possible)
    goal = goal.of_limit(limit[cells])
    forest = forest._replace(variance=variance[cells], cost=cost[cells])
    counts = np.full(variance.shape, np.nan)
    if len(forest.paths) == 1:
        counts[cells] = _enumerated(forest, goal)
    else:  # a search for each cell
        for number, cell in enumerate(cells):
            counts[cell] = _searched(forest.of(number), goal.of_limit(goal.limit[number]))
    return counts.reshape(shape)


def _enumerated(forest: Forest, goal: Goal) -> Floats:
    """Return the best counts (cells, L) of nests, compared with all neighbours of the optimum."""
    if goal.budget is not None:
        n = narrowest(forest, goal.budget[:, None], goal.min_units, goal.probability)[0][:, 0]
        max_units = np.maximum(goal.min_units, whole(goal.budget / forest.cost.sum(axis=1)))
    else:
        n, max_units = cheapest(forest, goal)
    low, high = np.maximum(goal.min_units, np.floor(n / 2)), np.minimum(max_units, 2 * n + 2)
    counts = np.empty(forest.variance.shape)
    # Cells with as many counts to try are planned together.
    widest = np.argsort(low - high, kind="stable")
    while len(widest):
        tops = int(min(WINDOW, high[widest[0]] - low[widest[0]] + 1))
        block, widest = np.split(widest, [max(1, BLOCK // tops)])
        counts[block] = _best_of_nests(
            forest.of(block), goal.of_limit(goal.limit[block]), n[block], low[block], high[block]
        )
    return counts


def _best_of_nests(forest: Forest, goal: Goal, n: Floats, low: Floats, high: Floats) -> Floats:
    """Return the best whole counts (cells, L) with outermost counts from low to high."""
    along = forest.along()
    number = int(min(WINDOW, (high - low).max() + 1))
    if number < WINDOW:
        tops = np.minimum(low[:, None] + np.arange(number), high[:, None])
    else:
        spaced = low[:, None] + (high - low)[:, None] * np.arange(WINDOW) / (WINDOW - 1)
        neighbours = np.clip(n[:, None] + np.arange(-8, 9), low[:, None], high[:, None])
        tops = np.concatenate([np.floor(spaced + ROUNDING), neighbours], axis=1)
    roundings = _roundings(along, goal, tops)
    completed = [with_top(tops, roundings[0][1])]
    for level in range(1, forest.variance.shape[1]):
        completed += [
            _completed(along, goal, with_top(tops, lower), level)
            for rounded_up, lower in roundings
            if not rounded_up[level - 1]
        ]
    candidates = np.concatenate([*completed, _with_free_top(forest, goal, n)], axis=1)
    spent = along.price(candidates)
    half = quantile_of(forest, candidates[..., 0], goal.probability) * np.sqrt(
        along.noise(candidates)
    )
    if goal.budget is not None:
        first, second = half, spent
        allowed = spent <= goal.budget[:, None] * (1 + ULPS)
    else:
        first, second = spent, half
        allowed = half <= goal.half_width[:, None] * (1 + ROUNDING)
    allowed &= (candidates[..., 0] >= goal.min_units) & (reduced(np.minimum, candidates) >= 1)
    first = np.where(allowed, first, np.inf)
    tied = first <= first.min(axis=1, keepdims=True) * (1 + ROUNDING)
    best = np.argmin(np.where(tied & allowed, second, np.inf), axis=1)
    return np.asarray(candidates[np.arange(len(best)), best])


def _roundings(forest: Forest, goal: Goal, tops: Floats) -> list[tuple[tuple[bool, ...], Floats]]:
    """Return the continuous lower counts of nests for outermost counts, each rounded down or up.

    And which are rounded up. One where nothing varies, and where none reaches the half-width.
    """
    if goal.budget is not None:
        limit = {"budget": np.broadcast_to(goal.budget[:, None], tops.shape)}
    else:
        limit = {"variance_wanted": noise_wanted(forest, tops, goal)}
    rates = rates_of(forest, fixed_roots=True)
    totals = share_out(forest.variance, forest.cost, rates, tops[..., None], **limit)
    with np.errstate(invalid="ignore"):
        counts = totals[..., 1:] / totals[..., :-1]
    varies = (forest.variance[..., 1:] > 0) & np.isfinite(counts)
    down, up = (
        np.where(varies, np.maximum(1.0, rounded(counts)), 1.0) for rounded in (whole, np.ceil)
    )
    choices = list(product((False, True), repeat=counts.shape[-1]))
    return [(choice, np.where(np.array(choice, dtype=bool), up, down)) for choice in choices]


def _completed(forest: Forest, goal: Goal, counts: Floats, level: int) -> Floats:
    """Return the counts of nests with that of one lower level completed to the limit; else 1."""
    counts[..., level] = 1.0
    totals = forest.totals(counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        if goal.budget is not None:
            prices, limit = totals * forest.cost, goal.budget[:, None]
            fixed, one_repetition = (
                reduced(np.add, portion) for portion in np.split(prices, [level], axis=-1)
            )
            filled = whole((limit - fixed) / one_repetition)
            filled -= fixed + one_repetition * filled > limit * (1 + ULPS)
        else:
            noises = forest.variance / totals
            fixed, one_repetition = (
                reduced(np.add, portion) for portion in np.split(noises, [level], axis=-1)
            )
            noise_left = noise_wanted(forest, counts[..., 0], goal) - fixed
            filled = np.where(
                noise_left > 0, np.ceil(one_repetition / noise_left - ROUNDING), np.nan
            )
    worth_it = (filled >= 1) & (forest.variance[..., level] > 0) & np.isfinite(filled)
    counts[..., level] = np.where(worth_it, filled, 1.0)
    return counts


def _with_free_top(forest: Forest, goal: Goal, n: Floats) -> Floats:
    """Return whole counts (cells, choices, L) whose outermost takes what the lower ones leave.

    The lower ones are those of equation 14, one of everything, and the rounded ones.
    """
    unrounded = optimal_counts(forest.variance, forest.cost)[:, 1:]
    worth_it = np.isfinite(unrounded) & (forest.variance[:, 1:] > 0)
    of_equation = np.ceil(np.where(worth_it, np.maximum(unrounded, 1.0), 1.0))
    along = forest.along()
    roundings = _roundings(along, goal, n[:, None])
    rounded = [counts[:, 0] for _, counts in roundings]
    lower = np.stack([of_equation, np.ones_like(of_equation), *rounded], axis=1)
    counts = with_top(np.ones(lower.shape[:2]), lower)
    if goal.budget is not None:
        unit_price, budget = along.price(counts), goal.budget[:, None]
        top = whole(budget / unit_price)
        spent = reduced(np.add, top[..., None] * along.totals(counts) * along.cost)
        top -= spent > budget * (1 + ULPS)
        counts[..., 0] = np.maximum(top, 1.0)
    else:
        counts[..., 0] = _fewest_units(along, goal, along.noise(counts))
    return counts


def _fewest_units(forest: Forest, goal: Goal, unit_variance: Floats) -> Floats:
    """Return the fewest units, each of that variance, whose mean has the half-width wanted."""
    low = np.full(unit_variance.shape, float(goal.min_units))
    high = np.maximum(low, np.ceil(unit_variance / noise_wanted(forest, low, goal)))
    return first_true(lambda n: unit_variance <= n * noise_wanted(forest, n, goal), low, high)


def with_top(top: Floats, lower: Floats) -> Floats:
    """Return counts (..., L) from those of the outermost level and of the lower ones."""
    return np.concatenate([top[..., None], lower], axis=-1)


def _searched(forest: Forest, goal: Goal) -> Floats:
    """Return the best counts (nodes,) found for the trees of one cell."""
    counts = _search(forest, goal)
    if goal.budget is not None:
        return counts
    # A plan for somewhat less money may reach the half-width as well, since no search is
    # exhaustive; none beats the continuous one.
    low = cheapest(forest, goal)[0]
    optimum = continuous(forest, low, variance=noise_wanted(forest, low, goal))
    min_price = max(float((forest.cost * optimum).sum()), goal.min_units * forest.cost.sum())
    for share in SHARES:
        while (budget := share * float(forest.price(counts))) >= min_price:
            cheaper = _search(forest, goal._replace(budget=budget, half_width=None))
            if _half_width(forest, goal, cheaper) > goal.half_width * (1 + ULPS):
                break
            counts = cheaper
    return counts


def _search(forest: Forest, goal: Goal) -> Floats:
    """Return the best counts (nodes,) of rounding, filling up and the local search."""
    pool = _best_of_trees(forest, goal, _filled(forest, goal, _starts(forest, goal)))
    # Of benchmarks that share no units, single counts weigh little: the search would gain .2 % and
    # take 20 times as long.
    for _ in range(ROUNDS if len(forest.roots) <= 2 else 0):
        candidates = _filled(forest, goal, _neighbours(forest, goal, pool))
        better = _best_of_trees(forest, goal, np.concatenate([pool, candidates]))
        if (better[0] == pool[0]).all():
            break
        pool = better
    return np.asarray(pool[0])


def _half_width(forest: Forest, goal: Goal, counts: Floats) -> Floats:
    tree_units = counts[..., forest.roots].min(axis=-1)
    return quantile_of(forest, tree_units, goal.probability) * np.sqrt(forest.noise(counts))


def _wanted(forest: Forest, goal: Goal, counts: Floats) -> Floats:
    """Return the variance that plans may leave, where a half-width is to be reached."""
    return noise_wanted(forest, counts[..., forest.roots].min(axis=-1), goal) * (1 + ULPS)


def _best_of_trees(forest: Forest, goal: Goal, counts: Floats) -> Floats:
    """Return the best plans (plans, nodes), each once: those within the limit first."""
    counts = np.unique(counts, axis=0)
    spent, half = forest.price(counts), _half_width(forest, goal, counts)
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
    """Return whole counts (plans, nodes) near the continuous plans of several numbers of units."""
    roots, min_units, is_root = forest.roots, goal.min_units, forest.parents < 0
    limit: dict[str, Any] = {"budget": goal.budget}
    if goal.budget is not None:
        budgets = np.array([goal.budget], dtype=float)
        low = narrowest(forest, budgets, min_units, goal.probability)[0][0]
        max_units = whole(goal.budget / forest.cost.sum())
        optimum = continuous(forest, low, **limit)[roots]
    else:
        low, max_units = cheapest(forest, goal)
        optimum = continuous(forest, low, variance=noise_wanted(forest, low, goal))[roots]
    smallest = optimum.min()
    neighbours = np.floor(smallest) + np.arange(1 - NEAR, NEAR + 1)
    spaced = np.round(np.geomspace(max(1.0, smallest / 3), 3 * smallest + NEAR, TRIED))
    tried = np.unique(
        np.clip(np.concatenate([neighbours, spaced]), min_units, np.maximum(max_units, min_units))
    )
    if len(roots) > 2:
        # Benchmarks share no units: more or fewer of all of them at once win nothing.
        tried = smallest[None]
    units = np.maximum(min_units, whole(np.outer(tried, optimum / smallest)))
    root_of = np.empty(len(is_root), dtype=np.intp)
    root_of[forest.paths] = forest.root_of[:, None]
    low = units[:, root_of]
    if goal.budget is None:
        limit = {"variance_wanted": noise_wanted(forest, units.min(axis=1), goal) * (1 + ULPS)}
    rates = rates_of(forest, fixed_roots=True)
    totals = share_out(forest.variance, forest.cost, rates, low, **limit)
    counts = forest.inside_parent(np.where(np.isfinite(totals), totals, low))
    counts = np.maximum(
        1.0, np.concatenate([whole(counts), np.round(counts), np.ceil(counts - ROUNDING)])
    )
    return np.concatenate([counts, np.where(is_root, float(min_units), 1.0)[None]])


def _filled(forest: Forest, goal: Goal, counts: Floats) -> Floats:
    """Buy one repetition after the other, that which narrows most for its price."""
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
                np.maximum(0.0, noises.sum(axis=-1) - _wanted(forest, goal, trial))[:, None],
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
    min_counts, number = np.where(forest.parents < 0, goal.min_units, 1), pool.shape[1]
    changed, completed = forest.parents[forest.parents >= 0], np.flatnonzero(forest.parents >= 0)
    if number <= FEW_NODES:
        changed, completed = np.nonzero(~np.eye(number, dtype=bool))
    fewer = np.maximum(pool[:, None] - np.eye(number), min_counts).reshape(-1, number)
    if not len(changed):
        return np.asarray(fewer)
    old = pool[:, changed]
    new = np.stack([old - 1, old + 1, *(np.round(old * factor) for factor in CHANGES)], axis=-1)
    counts = np.repeat(pool, new[0].size, axis=0)
    rows = np.arange(len(counts))
    changed, completed = (
        np.tile(np.repeat(nodes, new.shape[-1]), len(pool)) for nodes in (changed, completed)
    )
    counts[rows, changed] = np.maximum(new.ravel(), min_counts[changed])
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
        variance_left = _wanted(forest, goal, counts) - noises.sum(axis=-1) + share
        count = np.ceil(
            np.divide(
                share * count, variance_left, out=np.ones(len(counts)), where=variance_left > 0
            )
        )
    counts[rows, completed] = np.maximum(
        np.where(np.isfinite(count), count, 1.0), min_counts[completed]
    )
    return np.concatenate([fewer, counts])
