"""Plans: whole counts, what they cost, and the half-width they promise."""

from typing import Any, NamedTuple

import numpy as np

from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.levels import reduced
from perfarray.numerics.searching import first_reached
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.variation.numerics.allocation import (
    ROUNDING,
    Goal,
    optimal_counts,
    quantile_at,
    share_out,
    whole,
)
from perfarray.variation.numerics.assurance import (
    NODES,
    Evidence,
    assured_half_width,
    component_limits,
    mixture_quantile,
    nodes,
    pilot_scale,
    share_within,
    true_variances,
)
from perfarray.variation.numerics.forests import Forest, narrowest, nest, quantile_of, rates_of
from perfarray.variation.numerics.whole_counts import whole_counts, with_top

TRIES = 4  # how often the half-width that goes with an assured one is asked for, at most
SHORT = 0.995  # what is asked for of the half-width where a plan did not keep it
LARGEST = 1e6  # degrees of freedom that are as good as any more
PILOTS = 400  # pilots that a promise is tried on


class Pilot(NamedTuple):
    """What the data at hand say of a forest, relative to the mean, for each cell.

    Along the trees: the variance of the pilot's units, the component in it, which may be negative,
    its degrees of freedom, and the units. `spent` is what the pilot cost. Of a suite, which is one
    cell, `total` (rows, L) are the repetitions seen, `borrowed_df` the degrees of freedom that
    other benchmarks add. Of a nest for a ratio, `candidate` (cells, L) is what the candidate has of
    the components.
    """

    forest: Forest
    unit_variance: Floats
    top: Floats
    df: Floats
    units: Floats
    spent: Floats
    total: Any = None
    borrowed_df: Any = None
    candidate: Floats | None = None

    def of(self, cells: Mask | Integers) -> "Pilot":
        """Return the pilots of some cells."""
        return self._replace(
            forest=self.forest.of(cells),
            unit_variance=self.unit_variance[cells],
            top=self.top[cells],
            df=self.df[cells],
            units=self.units[cells],
            spent=self.spent[cells],
            candidate=None if self.candidate is None else self.candidate[cells],
        )

    def evidence(self, counts: Floats, cost: Floats, min_units: int) -> Evidence:
        """Return what the pilot knows of plans, as if of the tree with the fewest units."""
        units = counts[:, self.forest.roots]
        shares = units.min(axis=1, keepdims=True) / units
        spread, top = self.unit_variance * shares, (self.top * shares).sum(axis=1)
        variance, growth = spread.sum(axis=1), np.ones(len(units))
        df = self.df[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            if units.shape[1] > 1:  # Satterthwaite's degrees of freedom
                df = variance**2 / (spread**2 / self.df).sum(axis=1)
                later = variance**2 / (spread**2 / (units - 1)).sum(axis=1)
                growth = later / (units.min(axis=1) - 1)
            if self.candidate is not None:
                # 1 where all the variance is on one side, 2 where both have half of it
                below = self.forest.totals(np.where(self.forest.parents < 0, 1.0, counts))
                variances = (self.candidate, self.forest.variance)
                candidate_noise, total_noise = (
                    reduced(np.add, level_variance / below) for level_variance in variances
                )
                share = np.where(total_noise > 0, candidate_noise / total_noise, 1.0)
                growth = 1 / (share**2 + (1 - share) ** 2)
        if units.shape[1] == len(self.forest.paths) > 1:
            scale = planned_again(
                self.forest.of(0), self.total, cost[0], min_units, self.borrowed_df
            )
            return Evidence(variance, top, df, growth, scale[None], of_plan=True)
        return Evidence(variance, top, df, growth, pilot_scale(df))


class Plan(NamedTuple):
    """Counts (cells, nodes) inside one parent, what they cost and promise, and what is known of it.

    `tree_units` are the units of the tree with the fewest, `inside` is the variance inside units,
    as if all trees had as many.
    """

    forest: Forest
    counts: Floats
    tree_units: Floats
    inside: Floats
    cost: Floats
    half_width: Floats
    evidence: Evidence


def promised(noise: Floats, n: Floats, evidence: Evidence, goal: Goal) -> Floats:
    """Return the half-width of plans that leave a variance, of n units."""
    with np.errstate(invalid="ignore"):
        below = np.maximum(n * noise - np.maximum(evidence.top, 0.0), 0.0)
    return assured_half_width(n, below, evidence, goal)


def planned(pilot: Pilot, counts: Floats, goal: Goal) -> Plan:
    """Return counts with what they cost and promise."""
    forest = pilot.forest
    cost = goal.rounded_costs(forest.price(counts))
    evidence = pilot.evidence(counts, cost, goal.min_units)
    tree_units = counts[:, forest.roots].min(axis=1)
    lower = np.where(forest.parents < 0, 0.0, forest.variance)
    inside = tree_units * reduced(np.add, lower / forest.totals(counts))
    half_width = promised(forest.noise(counts), tree_units, evidence, goal)
    return Plan(forest, counts, tree_units, inside, cost, half_width, evidence)


def plan_assured(pilot: Pilot, goal: Goal) -> Plan:
    """Plan with the half-width that a share `assurance` of experiments stays within.

    Where a half-width is wanted, the plain one that goes with it is asked for, again until the plan
    keeps it. Where a pilot of few units leaves it open that more lies between units than it has
    seen, many units with one of everything in each may do better, and are planned then.
    """
    counts = whole_counts(pilot.forest, goal)
    if goal.budget is None and (goal.assurance is not None or len(pilot.forest.roots) > 2):
        counts = _reaching(pilot, counts, goal)
    plan = planned(pilot, counts, goal)
    one_of_each = np.ones(counts.shape)
    if goal.budget is not None:
        units = whole(goal.budget / pilot.forest.cost.sum(axis=1))
    else:
        units = _fewest_units(
            plan, one_of_each, goal, whole(plan.cost / pilot.forest.cost.sum(axis=1))
        )
    one_of_each[:, pilot.forest.roots] = units[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = reduced(np.add, pilot.forest.variance) / units
        half_width = promised(noise, units, plan.evidence, goal)
        if goal.budget is not None:
            better = (units >= goal.min_units) & (half_width < plan.half_width * (1 - ROUNDING))
        else:
            better = pilot.forest.price(one_of_each) < plan.cost
    if goal.assurance is None or not better.any():
        return plan
    return planned(pilot, np.where(better[:, None], one_of_each, counts), goal)


def _reaching(pilot: Pilot, counts: Floats, goal: Goal) -> Floats:
    """Return the cheapest counts, of a few tries, that promise the half-width of the goal.

    One tree takes the fewest units that do; among several, the half-width asked for is corrected.
    """
    target = np.broadcast_to(np.asarray(goal.half_width, dtype=float), len(counts))
    best, cost, width = counts.copy(), np.full(len(counts), np.inf), np.full(len(counts), np.inf)
    cells = np.flatnonzero(~np.isnan(counts).any(axis=1))
    is_one_tree = len(pilot.forest.roots) == 1
    for _ in range(TRIES):
        pilots, target_width, tried = pilot.of(cells), target[cells], counts[cells]
        plan = planned(pilots, tried, goal)
        # The factor between the promise and the plain half-width hardly depends on the counts.
        quantile = quantile_of(plan.forest, plan.tree_units, goal.probability)
        plain_width = target_width * quantile * np.sqrt(plan.forest.noise(tried)) / plan.half_width
        plain_width *= np.where(is_one_tree | (plan.half_width <= target_width), 1.0, SHORT)
        close = (plan.half_width <= target_width) & (plan.half_width >= SHORT * target_width)
        if is_one_tree:
            plan = planned(pilots, with_top(_fewest_units(plan, tried, goal), tried[:, 1:]), goal)
        reached = plan.half_width <= target_width * (1 + ROUNDING)
        better = np.where(reached, plan.cost < cost[cells], plan.half_width < width[cells])
        better &= reached | np.isinf(cost[cells])
        rows = cells[better]
        best[rows], width[rows] = plan.counts[better], plan.half_width[better]
        cost[rows] = np.where(reached, plan.cost, np.inf)[better]
        cells, plain_width = cells[~close], plain_width[~close]
        refined = whole_counts(pilot.forest.of(cells), goal._replace(half_width=plain_width))
        new = (refined != counts[cells]).any(axis=1)
        counts[cells], cells = refined, cells[new]
        if not len(cells):
            break
    return best


def _fewest_units(
    plan: Plan, counts: Floats, goal: Goal, max_units: Floats | None = None
) -> Floats:
    """Return the fewest units, with the lower `counts`, that promise the half-width.

    NaN where the `max_units` do not.
    """
    forest, evidence, share = plan.forest, plan.evidence, goal.assurance or 0.0
    in_one_unit = np.where(forest.parents < 0, 1.0, counts)
    below = np.maximum(forest.noise(in_one_unit) - np.maximum(evidence.top, 0.0), 0.0)
    true = true_variances(below, evidence)

    def enough(n: Floats) -> Mask:
        df = (n - 1) * evidence.growth
        noise_ratio = n * (goal.half_width / quantile_at(t_quantile, goal.probability, df)) ** 2
        return np.asarray(share_within(noise_ratio, df, true) >= share)

    searched = ~np.isnan(plan.half_width)
    if max_units is not None:
        searched &= (max_units >= goal.min_units) & enough(np.fmax(max_units, goal.min_units))
    return first_reached(enough, np.where(searched, float(goal.min_units), np.nan))


def half_width_limits(plan: Plan, goal: Goal) -> list[Floats]:
    """Return what the half-width becomes at either limit of the outermost component."""
    evidence = plan.evidence
    limits = component_limits(
        evidence.top, evidence.unit_variance, evidence.df, goal.confidence_level
    )
    df = np.full(np.shape(evidence.top), np.inf)  # each limit counts as known
    return [
        assured_half_width(
            plan.tree_units,
            plan.inside,
            Evidence(component, component, df, evidence.growth, np.ones(NODES)),
            goal,
        )
        for component in limits
    ]


def default_half_width(plan: Plan, goal: Goal) -> Floats:
    """Return the half-width of the experiment of one of everything in each unit, for as much."""
    one_of_everything = plan.forest.cost.sum(axis=1)
    money = plan.cost if goal.budget is None else np.where(np.isnan(plan.cost), np.nan, goal.budget)
    with np.errstate(divide="ignore", invalid="ignore"):
        units = whole(money / one_of_everything)
        noise = reduced(np.add, plan.forest.variance) / units
    return promised(noise, units, plan.evidence, goal)


def units_to_add(pilot: Pilot, plan: Plan, goal: Goal) -> tuple[Floats, Floats]:
    """Return how many units of each tree to add to the pilot's, and the half-width of all.

    They are as many as are affordable, or the fewest that give the half-width; several trees grow
    towards the plan's proportion. The mean of all units is unweighted. Units at hand have the
    variance that was found between them; that of new ones is what a share of experiments, the
    assurance, stays within.
    """
    forest, evidence, have = plan.forest, plan.evidence, pilot.units
    totals, planned_units = forest.totals(plan.counts), plan.counts[:, forest.roots]
    with np.errstate(divide="ignore", invalid="ignore"):
        prices = forest.subtree(forest.cost * totals)[:, forest.roots] / planned_units
        noises = forest.subtree(forest.variance / totals)[:, forest.roots] * planned_units
        proportion = planned_units / planned_units.max(axis=1, keepdims=True)
    top = np.maximum(evidence.top, 0.0)
    below, true = plan.inside, true_variances(plan.inside, evidence)
    growth = 1.0 if goal.assurance is None else evidence.growth

    def added(units: Floats) -> Floats:
        return np.asarray(np.maximum(0.0, np.floor(units[:, None] * proportion + ROUNDING) - have))

    def variances(added_units: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return t, the variance at hand and that added, of the mean of all, and the new df."""
        n = have + added_units
        n_min = n.min(axis=1)
        df = np.where(n_min > 1, n_min - 1, np.nan) * growth
        t = quantile_at(t_quantile, goal.probability, df)
        noise_at_hand = (have * pilot.unit_variance / n**2).sum(axis=1)
        return (
            t,
            noise_at_hand,
            (added_units * noises / n**2).sum(axis=1),
            np.maximum(added_units.min(axis=1), 1) * growth,
        )

    def enough(units: Floats) -> Mask:
        added_units = added(units)
        if goal.budget is not None:
            return np.asarray((added_units * prices).sum(axis=1) > goal.budget - pilot.spent)
        t, noise_at_hand, new, df = variances(added_units)
        variance_left = (goal.half_width / t) ** 2 - noise_at_hand
        if goal.assurance is None:
            return np.asarray(new <= variance_left)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = share_within(variance_left / new * (top + below), df, true)
        return np.where(added_units.any(axis=1), share >= goal.assurance, variance_left >= 0)

    with np.errstate(divide="ignore", invalid="ignore"):
        has_plan = ~np.isnan(plan.cost + (have * pilot.unit_variance).sum(axis=1))
        # Fewer than the pilot's add nothing.
        start = np.where(has_plan, np.floor((have / proportion).min(axis=1)), np.nan)
        units = first_reached(enough, start)
        if goal.budget is not None:  # one less than the fewest that are not affordable
            units = np.maximum(units - 1, start)
        added_units = added(units)
        t, noise_at_hand, new, df = variances(added_units)
        if goal.assurance is not None:
            ratio = mixture_quantile(goal.assurance, df, true) / (top + below)
            new = np.where(added_units.any(axis=1), new * ratio, new)
        return added_units, t * np.sqrt(noise_at_hand + new)


def lower_counts(variance: Floats, cost: Floats) -> Floats:
    """Return the counts of equation 14 below the outermost level, rounded up.

    NaN where nothing varies above, however many there are.
    """
    unrounded = optimal_counts(variance, cost)
    counts = np.where(np.isnan(unrounded), 1.0, np.maximum(1.0, np.ceil(unrounded - ROUNDING)))
    counts = np.where(np.isfinite(counts) & ~np.isnan(variance[..., :1]), counts, np.nan)
    counts[..., 0] = np.nan
    return counts


def half_widths_by_budget(
    forest: Forest,
    counts: Floats,
    half_width: Floats,
    budgets: Floats,
    goal: Goal,
    one_of_everything: bool = False,
) -> Floats:
    """Return the half-widths (cells, budgets) of the best continuous plans for budgets.

    Or those of one of everything in each unit. What a plan of `counts` (cells, nodes) promises
    beyond its components, the pilot's uncertainty, is promised of all. NaN where a budget buys too
    few units.
    """
    nothing, certain = np.zeros(len(counts)), np.full(len(counts), np.inf)
    certainty = Evidence(nothing, nothing, certain, np.ones(len(counts)), np.ones(NODES))
    tree_units = counts[:, forest.roots].min(axis=1)
    factor = half_width / promised(forest.noise(counts), tree_units, certainty, goal)
    if one_of_everything:
        units = whole(budgets / forest.cost.sum(axis=1)[:, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            noise = forest.variance.sum(axis=1)[:, None] / units
    else:
        units, noise = narrowest(forest, budgets, goal.min_units, goal.probability)
    return factor[:, None] * promised(noise, units, certainty.along(), goal)


def planned_again(
    forest: Forest, total: Floats, budget: float, min_units: int, borrowed_df: Floats | float = 0.0
) -> Floats:
    """Return by how much the variance of a plan of unshared units exceeds the one it promises.

    At the nodes of `assurance`.

    A benchmark whose variance the pilot underrates gets too few repetitions, so that the error of
    the plan is larger than that of the variances it is made from: one of many chains by a factor of
    about f / (f - 1), f their degrees of freedom. So components are drawn as pilots of this size
    would find them, if those found were true, and each time the continuous plan is made again. One
    that was not seen in a benchmark may be there: it is taken to be the same multiple of the lowest
    as in the whole suite. `total` (benchmarks, L) are the repetitions in the pilot, `borrowed_df`
    the degrees of freedom that others add, `budget` is what the plan costs.
    """
    variance, cost = forest.variance[forest.paths], forest.cost[forest.paths]
    # The order of the benchmarks changes nothing that is drawn.
    order = np.lexsort(np.column_stack([variance, cost, total]).T)
    variance, cost, total, borrowed_df = (
        variance[order],
        cost[order],
        total[order],
        (borrowed_df + np.zeros(total.shape))[order],
    )
    lowest = variance[:, -1:]
    common = (
        np.divide(
            variance.sum(axis=0),
            lowest.sum(),
            out=np.zeros(variance.shape[1]),
            where=lowest.sum() > 0,
        )
        * lowest
    )
    variance = np.where(variance > 0, variance, common)
    inside = total[:, 1:] / total[:, :-1]
    levels = variance.copy()
    for level in range(variance.shape[1] - 2, -1, -1):
        levels[:, level] += levels[:, level + 1] / inside[:, level]
    df = np.minimum(np.maximum(np.diff(total, axis=1, prepend=1.0), 1.0) + borrowed_df, LARGEST)
    mean_squares = (
        levels * np.random.Generator(np.random.Philox(0)).chisquare(df, (PILOTS, *df.shape)) / df
    )
    components = mean_squares.copy()
    components[..., :-1] -= mean_squares[..., 1:] / inside
    components = np.maximum(components, 0.0)
    chains = nest(components, np.broadcast_to(cost, components.shape))
    rates = rates_of(chains).reshape(PILOTS, -1)
    a, d = components.reshape(PILOTS, -1), cost.ravel()
    repetitions = share_out(a, d, rates, np.asarray(float(min_units)), budget=budget)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (variance.ravel() / repetitions).sum(axis=1) / (a / repetitions).sum(axis=1)
    return np.asarray(np.quantile(np.where(np.isnan(ratios), 1.0, ratios), nodes()[0]))
