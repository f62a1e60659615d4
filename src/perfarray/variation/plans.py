"""How many repetitions to run at every level of the nest, for a budget or for a width, one plan per benchmark."""

from collections.abc import Sequence
from functools import lru_cache, partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK
from perfarray.numerics.levels import count_repetitions, reduced, unit_means
from perfarray.numerics.moderated import moderate_components
from perfarray.numerics.nested_anova import nested_anova
from perfarray.numerics.types import Floats, Mask, Texts, same_text
from perfarray.timings.across import PRIORS, apply_over_suite
from perfarray.timings.apply import LEVEL, Output, apply, by_blocks, is_chunked, outputs
from perfarray.timings.dependence import dependence_note
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.resolve import Data
from perfarray.timings.units import more_units
from perfarray.timings.validation import check_choice
from perfarray.variation.advice import CHEAP, FEW, MANY, NO_GOAL, NO_OUTER, NO_PLAN, advice_on_nest
from perfarray.variation.components import LIMITS
from perfarray.variation.costs import ITERATIONS, PRICE
from perfarray.variation.numerics.allocation import ROUNDING, Goal, price, so_far, variance_of_mean
from perfarray.variation.numerics.assurance import (
    Evidence,
    assured_half_width,
    evidence,
    half_width_limits,
    units_to_add,
)
from perfarray.variation.numerics.jackknife import evenness
from perfarray.variation.numerics.plans import (
    Plan,
    counts_by_budget,
    inside_parent,
    inside_unit,
    lower_counts,
    plan_assured,
    variance_below,
    with_top,
)
from perfarray.variation.published import component_arrays, is_published, published
from perfarray.variation.request import (
    BUDGET_FACTOR,
    FACTORS,
    check_affordable,
    check_goal,
    describe_goal,
    systems,
)

CELLS = 1 << 11  # planned at once: on its way each has 24 variances at 26 budgets
NEAR, TRIES = (
    0.01,
    4,
)  # how many more degrees of freedom a plan may bring than it was made with, and how often it is made again
BY_BUDGET = {"half_width_by_budget": ", before rounding", "default_half_width_by_budget": ""}


@for_each_metric
def plan_repetitions(
    times: Data,
    baseline: object = None,
    *,
    dim: str | None = None,
    costs: Any = None,
    levels: str | tuple[str, ...] | None = None,
    budget: float | None = None,
    half_width: float | None = None,
    assurance: float | None = 0.5,
    cost_units: str = ITERATIONS,
    variances: str = "unbiased",
    limits: str = "normal",
    min_units: int = 5,
    confidence_level: float = 0.95,
    negative: str = "merge",
    across: str = BENCHMARK,
    prior: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Plan how many builds, executions and iterations to run: for the narrowest interval a budget buys, or the cheapest of a given width.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings of a pilot experiment, repeated at every level (5 of each will do); ragged ones are
        padded with NaN. Each cell of the other dims gets a plan of its own, with the whole budget.
        Or components: what `variance_components` or `from_components` returned.
    baseline : label, DataArray or Dataset, optional
        Plan for the ratio to it: both systems get the same counts, and the price is that of both.
        Components are planned with the baseline's; a level that one system lacks neither varies nor
        costs anything there.
    dim : str, optional
        The dim compared; default: the one dim, not a level, that holds the baseline's label.
    costs : mapping of str to float, array or DataArray
        What starting one more repetition of a level costs, beyond what lies inside it: a build for
        `binary`, start and warm-up for `execution`. Arrays lie over `benchmark`. Default: the
        coordinates `loops` and `<level>_seconds`, which readers set; an iteration costs 1, or its
        mean time; the other levels must be named.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the repetition dims present); the variable(s) of a
        Dataset (default: its `time`).
    budget, half_width : float
        What the experiment may cost, in `cost_units`, never exceeded; or the relative half-width to
        reach (0.01 for 1 %). With neither, the answer holds the counts below the outermost level
        (equation 14), which depend on neither.
    assurance : float, optional
        The share of experiments whose half-width is at most the planned one, with the pilot's
        uncertainty: 0.5 plans the median, 0.9 reaches it in 90 % of experiments, at a higher cost.
        None: the half-width at the variances estimated, as in the paper.
    cost_units : {"iterations", "s"}
        The unit of costs and budget.
    variances : {"unbiased", "biased"}
        Plan with the components T_i^2, or with S_i^2, which are never negative but ask for more at
        the outer levels.
    limits : {"normal", "jackknife"}
        Whether the pilot's uncertainty is that of normal units, or what the pilot shows, as for
        `variance_components`.
    min_units : int
        The fewest repetitions of the outermost level, at least 2. Lower counts shrink to make room
        for them.
    confidence_level : float
        Of the interval that is promised.
    negative : {"merge", "zero"}
        The level of a negative component is merged into the level below, or the component is set to
        zero. In both cases the plan has one repetition of it, whose price joins the level above.
        The outermost level is never merged.

    across, prior : str; {None, "suite"}
        With "suite" the variances of every level are shrunk towards what the benchmarks (dim
        `across`) of the pilot have in common: plans from pilots of 3 to 5 units vary less.

    Returns
    -------
    Dataset
        Along `level`: `repetitions` (inside one parent), `unrounded` (equation 14; of the outermost
        level, what the money buys at those counts), `merged`; `already`, the pilot's repetitions;
        `more`, the units still to be run if the pilot counts towards the experiment and its budget.
        Per cell: `cost`; `half_width`, relative; `half_width_lower` and `half_width_upper`, what it
        becomes at either limit of the outermost component; `more_half_width`, together with the
        pilot's data; `default_half_width`, of the experiment that repeats the outermost level alone
        at the same cost; `half_width_by_budget` and `default_half_width_by_budget` along
        `budget_factor`, at so many times the cost; `least_budget`, which buys `min_units`; `n`, the
        pilot's units; `advice`.

    Raises
    ------
    ValueError
        A budget and a half-width; a level without a price, a negative price, an unknown level; a
        budget that does not buy `min_units` (the message says the least that does); unknown dims,
        labels or choices.

    See Also
    --------
    plan_suite : benchmarks planned together, one build for all of them
    stopping : what the interval is worth if you plan again and again, and stop when it is narrow enough

    Notes
    -----
    Equation 14 minimises the variance; here the outermost count is searched with Student's t, and
    the lower counts are solved again. A plan is as good as its pilot: 3 units know the outermost
    component within a factor of 0.3 to 39. Run the plan, put the data together, and plan again. See
    "How sure is the plan?" in :doc:`/how-to/how_many_repetitions`.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, sections 6.1, 7.4 and 8.5, equations 11, 13 and 14.

    Examples
    --------
    Table III of Kalibera and Jones; the printed n1 = 18 comes from rounded variances, it is 18.25,
    hence 19.

    >>> import xarray as xr, perfarray
    >>> table = [[[9, 5], [8, 3]], [[10, 6], [7, 11]], [[1, 12], [2, 4]]]
    >>> times = xr.DataArray(table, dims=("binary", "execution", "iteration"), name="time")
    >>> plan = times.perf.plan_repetitions(costs={"binary": 0, "execution": 10}, budget=580)
    >>> plan["unrounded"].round(2).sel(level="iteration").item(), plan["merged"].sel(level="execution").item()
    (18.25, True)
    >>> plan["repetitions"].to_series().to_dict(), plan["cost"].item()
    ({'binary': 23.0, 'execution': 1.0, 'iteration': 15.0}, 575.0)
    """
    check_choice(variances, "variances", ("unbiased", "biased"))
    check_choice(limits, "limits", LIMITS)
    check_choice(prior, "prior", PRIORS)
    if prior and is_published(times):
        raise ValueError(
            "prior='suite' learns from timings, and these are components; give the pilot's timings"
        )
    goal, biased = (
        check_goal(budget, half_width, assurance, min_units, confidence_level, negative),
        variances == "biased",
    )
    system, components = (
        published(times, baseline)
        if is_published(times)
        else (systems(times, baseline, dim=dim, metric=metric, levels=levels), ())
    )
    sides, nest = system.sides, system.sides[0].levels
    prices, stated = system.prices(costs, cost_units)
    lazy = any(is_chunked(side.array) for side in sides)
    if lazy and goal.budget is not None and not any(map(is_chunked, prices)):
        least = goal.min_units * reduce(add, [price.sum(PRICE, skipna=False) for price in prices])
        check_affordable(least, goal.budget, goal.min_units, nest[0], cost_units)
    inputs = [component_arrays(dataset, biased) for dataset in components] or [
        ([side.array], [nest]) for side in sides
    ]
    arrays, core = (
        [array for group, _ in inputs for array in group],
        [dims for _, group in inputs for dims in group],
    )
    of_first = len(inputs[0][0])

    def kernel(*arguments: Floats) -> list[np.ndarray]:
        values, by_side = arguments[: len(arrays)], arguments[len(arrays) :]
        pilots = []
        for group, cost in zip((values[:of_first], values[of_first:]), by_side, strict=False):
            keep = "keep" if biased else negative
            estimated = (
                group
                if components
                else _estimated(group[0], len(nest), keep, limits, learn=prior is not None)
            )
            pilots.append(_pilot(estimated, cost, biased))
        pilot = pilots[0] if len(pilots) == 1 else _of_ratio(*pilots)
        return by_blocks(
            lambda *fields: _plan_cells(_Pilot(*fields), goal, nest),
            pilot,
            pilot.n.ndim,
            -(-pilot.n.size // CELLS),
        )

    attrs = (
        system.attrs | {"result": "plan_repetitions"} | describe_goal(goal, cost_units, negative)
    )
    attrs |= {"variances": variances, "limits": limits} | ({"prior": prior} if prior else {})
    run = partial(apply_over_suite, across=across) if prior else apply
    result = run(
        kernel,
        *arrays,
        *prices,
        core=[*core, *[[PRICE]] * len(prices)],
        outputs=_outputs(cost_units),
        coords={LEVEL: list(nest), BUDGET_FACTOR: FACTORS},
        attrs=attrs,
    )
    if not lazy and goal.budget is not None:
        check_affordable(result["least_budget"], goal.budget, goal.min_units, nest[0], cost_units)
    return with_notes(
        result,
        *system.notes,
        stated,
        None if components else dependence_note(sides),
        checks=("plans",),
    )


@lru_cache(maxsize=8)
def _outputs(cost_units: str) -> dict[str, Output]:
    in_pilot, more = (
        "repetitions inside one parent in the pilot",
        "units to add to the pilot, and the counts inside each",
    )
    relative = (
        "half_width",
        "half_width_lower",
        "half_width_upper",
        "more_half_width",
        "default_half_width",
    )
    return (
        outputs("1", (LEVEL,), repetitions="repetitions inside one parent", unrounded="equation 14")
        | {"merged": Output((LEVEL,), "", bool, "nothing seen of this level: one repetition")}
        | outputs("1", (LEVEL,), already=in_pilot, more=more)
        | outputs(cost_units, cost="", least_budget="")
        | outputs(**dict.fromkeys(relative, "relative to the mean"))
        | outputs(
            "1",
            (BUDGET_FACTOR,),
            **{
                name: f"at so many times the cost{qualifier}"
                for name, qualifier in BY_BUDGET.items()
            },
        )
        | outputs(n="independent units of the pilot")
        | {"advice": Output((), "", object)}
    )


class _Pilot(NamedTuple):
    """What the data at hand say, relative to the mean: components, prices and repetitions in all (..., L), then per cell.

    `candidate` is what the candidate has of the components of a ratio, none below zero; of one
    system all. `unit_variance` is that of the outermost means, with `df` degrees of freedom; `n`
    counts them.
    """

    variance: Floats
    candidate: Floats
    cost: Floats
    total: Floats
    n: Floats
    unit_variance: Floats
    df: Floats

    def growth(self, plan: Plan) -> Floats:
        """Return how many degrees of freedom each unit brings that is as the plan makes it."""
        variance = np.maximum(np.nan_to_num(self.variance), 0.0)
        if np.array_equal(variance, self.candidate):  # one system
            return np.ones(self.n.shape)
        each = np.nan_to_num(inside_unit(plan.repetitions), nan=1.0)
        variance = variance_of_mean(each, variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(
                variance > 0, variance_of_mean(each, self.candidate) / variance, 1.0
            )  # of the candidate
        return np.asarray(
            1 / (share**2 + (1 - share) ** 2)
        )  # Satterthwaite: 1 where all the variance is on one side


def _plan_cells(pilot: _Pilot, goal: Goal, levels: tuple[str, ...]) -> tuple[np.ndarray, ...]:
    """Plan, and set the plan beside the data at hand."""
    plan, evidence = _settled(pilot, goal)
    components = np.maximum(np.nan_to_num(pilot.variance), 0.0)
    merged = np.isnan(pilot.variance)
    merged[..., 0] = False
    top, each, below = (
        plan.repetitions[..., 0],
        inside_unit(plan.repetitions),
        variance_below(plan.repetitions, components),
    )
    spent, money = (
        (pilot.total * pilot.cost).sum(axis=-1),
        np.nan if goal.budget is None else goal.budget,
    )
    bought = (
        None
        if goal.half_width is not None
        else np.maximum(np.floor((money - spent) / price(each, pilot.cost)), 0.0)
    )
    units, with_pilot = units_to_add(pilot.n, below, evidence, bought, goal, top)
    units = np.where(np.isnan(plan.cost), np.nan, units)
    more = with_top(units, np.where(units[..., None] > 0, each[..., 1:], 0.0 * units[..., None]))
    with np.errstate(invalid="ignore"):
        already = inside_parent(pilot.total)
    budgets = plan.cost[..., None] * np.array(FACTORS)
    best_units, best_below, default_units, default_below = counts_by_budget(
        pilot.variance, pilot.cost, budgets, goal
    )
    as_best = (default_units == best_units) & (
        default_below == best_below
    )  # the half-width is then not computed twice
    all_units = np.concatenate(
        [top[..., None], best_units, np.where(as_best, np.nan, default_units)], axis=-1
    )
    all_below = np.concatenate([below[..., None], best_below, default_below], axis=-1)
    half_widths = assured_half_width(all_units, all_below, evidence.along(), goal)
    half_width, best, default = half_widths[..., 0], *np.split(half_widths[..., 1:], 2, axis=-1)
    default = np.where(as_best, best, default)
    return (
        plan.repetitions, plan.unrounded, merged, already, more, plan.cost, np.where(pilot.n == 0, np.nan, plan.least_budget), half_width,
        *half_width_limits(top, below, evidence, goal), np.where(np.isnan(units), np.nan, with_pilot), plan.default_half_width,
        best, default, pilot.n, _advice(plan, pilot, already, merged, levels, goal),
    )  # fmt: skip


def _settled(pilot: _Pilot, goal: Goal) -> tuple[Plan, Evidence]:
    """Plan with the degrees of freedom that units bring which are as the plan makes them, or fewer.

    Return both.
    """
    growth = pilot.growth(lower_counts(pilot.variance, pilot.cost, goal.min_units))
    of_pilot = evidence(pilot.unit_variance, pilot.variance[..., 0], pilot.df, growth)
    plan = plan_assured(pilot.variance, pilot.cost, of_pilot, goal)
    for number in range(TRIES if goal.assurance is not None else 0):
        of_plan, growth = pilot.growth(plan), of_pilot.growth
        changed = growth > of_plan * (1 + ROUNDING)
        changed |= (growth < of_plan * (1 - NEAR)) & (
            number == 0
        )  # later only fewer: two plans may take turns
        if not changed.any():
            break
        of_pilot = of_pilot._replace(growth=np.where(changed, of_plan, growth))
        replan = plan_assured(
            pilot.variance[changed], pilot.cost[changed], of_pilot.of(changed), goal
        )
        for field, replacement in zip(plan, replan, strict=True):
            field[changed] = replacement
    return plan, of_pilot._replace(growth=pilot.growth(plan))


def _estimated(
    values: Floats, levels: int, negative: str, limits: str, *, learn: bool
) -> tuple[Floats, ...]:
    """Return what timings say, as `component_arrays` has it of components: mean, components, variances of means, df, repetitions.

    If they `learn` from each other, the axis before the levels is that of the benchmarks.
    """
    components, total = (
        nested_anova(values, levels, negative),
        count_repetitions(values, levels).total,
    )
    df = total[..., 0] - 1
    if learn:
        components, known = moderate_components(components)
        df = df + known[..., :1]
        if negative != "keep":
            components = components._replace(
                variance=np.where(components.variance < 0, 0.0, components.variance)
            )
    if limits == "jackknife":
        df = df * evenness(unit_means(values, levels))
    with np.errstate(divide="ignore", invalid="ignore"):
        repetitions = inside_parent(total)
    return components.mean, components.variance, components.level_variance, df, repetitions


def _pilot(components: Sequence[Floats], prices: Floats, biased: bool) -> _Pilot:
    """Return what components say: mean, components and, of estimates, variances of the levels' means, df and repetitions."""
    mean, variance, *estimates = components
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = np.where(mean == 0, np.nan, mean**2)[..., None]
        relative = (estimates[0] if biased else variance) / squared
        unit_variance = (estimates[0] if estimates else variance)[..., 0] / squared[..., 0]
    # Given components are known; pooled ones have no repetitions of one experiment.
    df = (
        np.where(estimates[1] > 0, estimates[1], np.nan)
        if estimates
        else np.full(unit_variance.shape, np.inf)
    )
    total = np.full(relative.shape, np.nan)
    if len(estimates) > 2:
        total = np.asarray(np.cumprod(estimates[2], axis=-1), dtype=np.float64)
    prices = np.broadcast_to(prices, relative.shape)
    cost = np.concatenate(
        [prices[..., :-1], np.where(np.isnan(prices[..., -1:]), mean[..., None], prices[..., -1:])],
        axis=-1,
    )
    return _Pilot(
        relative,
        np.maximum(np.nan_to_num(relative), 0.0),
        cost,
        total,
        total[..., 0],
        unit_variance,
        df,
    )


def _of_ratio(new: _Pilot, old: _Pilot) -> _Pilot:
    """Return what holds for the ratio: relative variances and prices add.

    A level is merged where it is in both systems.
    """
    variance = np.where(
        np.isnan(new.variance), old.variance, new.variance + np.nan_to_num(old.variance)
    )
    variance[..., 0] = new.variance[..., 0] + old.variance[..., 0]
    unit_variance = new.unit_variance + old.unit_variance
    with np.errstate(divide="ignore", invalid="ignore"):
        df = unit_variance**2 / (new.unit_variance**2 / new.df + old.unit_variance**2 / old.df)
    df = np.where(np.isinf(new.df) & np.isinf(old.df), np.inf, df)
    candidate = np.minimum(new.candidate, np.maximum(np.nan_to_num(variance), 0.0))
    n, total = np.minimum(new.n, old.n), np.minimum(new.total, old.total)
    return _Pilot(variance, candidate, new.cost + old.cost, total, n, unit_variance, df)


def _advice(
    plan: Plan, pilot: _Pilot, already: Floats, merged: Mask, levels: tuple[str, ...], goal: Goal
) -> Texts:
    lower, no_outer = len(levels) - 1, NO_OUTER.format(level=levels[0])
    if not lower and goal.budget is None and goal.half_width is None:
        return same_text(NO_GOAL.format(level=levels[0]), plan.cost.shape)
    inside = so_far(np.multiply, inside_unit(plan.repetitions)) * pilot.cost
    share = inside[..., -1] / reduced(np.add, inside) if lower else np.ones(plan.cost.shape)
    unplanned = np.isnan(plan.repetitions[..., 1:] if lower else plan.cost[..., None]).any(axis=-1)
    # What is said of a cell depends on this alone: text is written once for cells that are alike.
    of_cells = (
        unplanned,
        np.isinf(plan.unrounded).any(axis=-1),
        np.where(share <= CHEAP, share, 1.0),
        np.fmin(pilot.n, MANY),
    )
    of_levels = np.fmin(plan.repetitions, FEW), already <= 1, merged
    rows = zip(
        *(array.ravel().tolist() for array in of_cells),
        *(
            map(tuple, array[..., 1:].reshape(plan.cost.size, lower).tolist())
            for array in of_levels
        ),
        strict=True,
    )
    texts = np.empty(plan.cost.size, dtype=object)
    texts[:] = [
        (no_outer if endless else NO_PLAN)
        if no_plan
        else advice_on_nest(counts, unseen, without, lowest_share, n, levels)
        for no_plan, endless, lowest_share, n, counts, unseen, without in rows
    ]
    return texts.reshape(plan.cost.shape)


@check("plans")
def plan_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells without a plan, by reason."""
    n, outermost = result.variables["n"].values, str(result.attrs["levels"]).split()[0]
    remedy = f"which shows no spread. {more_units(result.attrs)}"
    nothing = "{cells} have no plan: no variation at any level (look at the clock's resolution)"
    no_goal = len(str(result.attrs["levels"]).split()) == 1 and {
        "budget",
        "half_width_wanted",
    }.isdisjoint(result.attrs)
    counts, unrounded = (
        result.variables[name].transpose(..., LEVEL).values for name in ("repetitions", "unrounded")
    )
    planned = ~np.isnan(counts).all(axis=-1)
    endless = ~planned & np.isinf(unrounded).any(axis=-1)
    return (
        count_note("no_value", "{cells} have no plan: nothing was measured", n == 0),
        count_note(
            "single_unit", f"{{cells}} have no plan: they rest on one {outermost}, {remedy}", n == 1
        ),
        count_note(
            "no_outer_variation",
            f"{{cells}} have no best counts: {NO_OUTER.format(level=outermost)}",
            endless,
        ),
        count_note(
            "no_goal", f"{{cells}} have {NO_GOAL.format(level=outermost)}", (n > 1) & no_goal
        ),
        count_note("no_variation", nothing, ~planned & (n > 1) & ~endless & (not no_goal)),
    )
