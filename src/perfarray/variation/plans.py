"""How many repetitions to run at every level of the nest, one plan per benchmark."""

from collections.abc import Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK
from perfarray.numerics.levels import count_repetitions, reduced, unit_means
from perfarray.numerics.moderated import moderate_components
from perfarray.numerics.nested_anova import nested_anova
from perfarray.numerics.types import Floats, Mask, Texts
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
from perfarray.variation.numerics.allocation import Goal, optimal_counts, so_far
from perfarray.variation.numerics.forests import nest
from perfarray.variation.numerics.jackknife import evenness
from perfarray.variation.numerics.plans import (
    Pilot,
    default_half_width,
    half_width_limits,
    lower_counts,
    plan_assured,
    units_to_add,
)
from perfarray.variation.numerics.whole_counts import with_top
from perfarray.variation.published import component_arrays, is_published, published
from perfarray.variation.request import check_affordable, check_goal, describe_goal, systems

CELLS = 1 << 11  # planned at once: on its way each has 24 variances
RELATIVE = (
    "half_width",
    "half_width_lower",
    "half_width_upper",
    "more_half_width",
    "default_half_width",
)


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
    """Plan how many builds, executions and iterations to run, for a budget or for a half-width.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings of a pilot; or a result of `variance_components` or `from_components`.
    baseline : label, DataArray or Dataset, optional
        Plan for the ratio to it, with the same counts for both systems.
    dim : str, optional
        The dim compared.
    costs : mapping of str to float, array or DataArray
        The price of one more repetition of a level, without what lies inside it. Default: from the
        files; an iteration costs 1, or its mean time.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the levels present); the variables (default: `time`).
    budget, half_width : float
        What may be spent, in `cost_units`, or the relative half-width to reach.
    assurance : float, optional
        The share of experiments that reach the half-width. None: as in the paper, about half.
    cost_units : {"iterations", "s"}
        The unit of costs and budget.
    variances : {"unbiased", "biased"}
        The components T_i^2, or S_i^2, which ask for more at outer levels.
    limits : {"normal", "jackknife"}
        The pilot's uncertainty, as for `variance_components`.
    min_units : int
        The fewest repetitions of the outermost level.
    confidence_level : float
        Of the interval that is planned.
    negative : {"merge", "zero"}
        Merge the level of a negative component into the one below, or set it to zero.
    across, prior : str; {None, "suite"}
        "suite" shrinks the variance of each benchmark (dim `across`) as in `compare`.

    Returns
    -------
    Dataset
        Along `level`: `repetitions` (inside one parent), `unrounded` (equation 14), `merged`;
        `already`, the pilot's; `more`, still to be run; `variance` (relative) and `level_cost`,
        which the plan is made from. Per cell: `cost`; `half_width`, relative, with
        `half_width_lower` and `half_width_upper`; `more_half_width`, with the pilot's data;
        `default_half_width`, at the same cost with one iteration per execution; `least_budget`,
        which buys `min_units`; `n`; `advice`. Costs are in `cost_units`.

    Raises
    ------
    ValueError
        A budget and a half-width; a level without a price; too small a budget; unknown names.

    Notes
    -----
    A plan is as good as its pilot. Without a budget or a half-width only the inner counts are
    planned. See :doc:`/how-to/how_many_repetitions`.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, sections 6.1, 7.4 and 8.5, equations 11, 13 and 14.

    Examples
    --------
    Table III of Kalibera and Jones; the printed n1 = 18 comes from rounded variances.

    >>> import xarray as xr, perfarray
    >>> table = [[[9, 5], [8, 3]], [[10, 6], [7, 11]], [[1, 12], [2, 4]]]
    >>> times = xr.DataArray(table, dims=("binary", "execution", "iteration"), name="time")
    >>> plan = times.perf.plan_repetitions(costs={"binary": 0, "execution": 10}, budget=580)
    >>> plan["repetitions"].to_series().to_dict(), plan["cost"].item()
    ({'binary': 23.0, 'execution': 1.0, 'iteration': 15.0}, 575.0)
    """
    check_choice(variances, "variances", ("unbiased", "biased"))
    check_choice(limits, "limits", LIMITS)
    check_choice(prior, "prior", PRIORS)
    if prior and is_published(times):
        raise ValueError(
            "prior='suite' learns from timings, and these are components. Give the pilot's timings."
        )
    goal = check_goal(budget, half_width, assurance, min_units, confidence_level, negative)
    biased = variances == "biased"
    system, components = (
        published(times, baseline)
        if is_published(times)
        else (systems(times, baseline, dim=dim, metric=metric, levels=levels), ())
    )
    prices, price_remark = system.prices(costs, cost_units)
    sides, nest_levels = system.sides, system.sides[0].levels
    lazy = any(is_chunked(side.array) for side in sides)
    if lazy and goal.budget is not None and not any(map(is_chunked, prices)):
        min_cost = goal.min_units * reduce(
            add, [price.sum(PRICE, skipna=False) for price in prices]
        )
        check_affordable(min_cost, goal, nest_levels[0], cost_units)
    inputs = [component_arrays(dataset, biased) for dataset in components] or [
        ([side.array], [nest_levels]) for side in sides
    ]
    arrays = [array for group, _ in inputs for array in group]
    core = [dims for _, group in inputs for dims in group]

    def kernel(*arguments: Floats) -> list[np.ndarray]:
        values, by_side = arguments[: len(arrays)], arguments[len(arrays) :]
        pilots, first = [], len(inputs[0][0])
        for group, cost in zip((values[:first], values[first:]), by_side, strict=False):
            if not components:
                keep = "keep" if biased else negative
                group = _estimated(group[0], len(nest_levels), keep, limits, learn=bool(prior))
            pilots.append(_relative(group, cost, biased))
        fields = pilots[0] if len(pilots) == 1 else _of_ratio(*pilots)
        blocks = -(-fields[-1].size // CELLS)
        return by_blocks(partial(_plan_cells, goal, nest_levels), fields, fields[-1].ndim, blocks)

    attrs = describe_goal(
        goal, cost_units, negative,
        result="plan_repetitions", variances=variances, limits=limits, prior=prior,
    )  # fmt: skip
    run = partial(apply_over_suite, across=across) if prior else apply
    result = run(
        kernel,
        *arrays,
        *prices,
        core=[*core, *[[PRICE]] * len(prices)],
        outputs=_outputs(cost_units),
        coords={LEVEL: list(nest_levels)},
        attrs=system.attrs | attrs,
    )
    if not lazy and goal.budget is not None:
        check_affordable(result["least_budget"], goal, nest_levels[0], cost_units)
    dependent = None if components else dependence_note(sides)
    return with_notes(result, *system.notes, price_remark, dependent, checks=("plans",))


def _outputs(cost_units: str) -> dict[str, Output]:
    return (
        outputs(
            "1",
            (LEVEL,),
            repetitions="repetitions inside one parent",
            unrounded="equation 14",
            already="repetitions inside one parent in the pilot",
            more="units to add to the pilot, and the counts inside each",
            variance="relative variance component",
        )
        | {"merged": Output((LEVEL,), "", bool, "nothing seen of this level: one repetition")}
        | outputs(cost_units, (LEVEL,), level_cost="of one more repetition")
        | outputs(cost_units, cost="", least_budget="")
        | outputs(**dict.fromkeys(RELATIVE, "relative to the mean"))
        | outputs(n="independent units of the pilot")
        | {"advice": Output((), "", object)}
    )


def _estimated(
    values: Floats, levels: int, negative: str, limits: str, *, learn: bool
) -> tuple[Floats, ...]:
    """Return what timings say, as `component_arrays` has it of components.

    If they `learn` from each other, the axis before the levels is that of the benchmarks.
    """
    components = nested_anova(values, levels, negative)
    total = count_repetitions(values, levels).total
    df = total[..., 0] - 1
    if learn:
        components, prior_df = moderate_components(components)
        df = df + prior_df[..., :1]
        if negative != "keep":
            positive = np.where(components.variance < 0, 0.0, components.variance)
            components = components._replace(variance=positive)
    if limits == "jackknife":
        df = df * evenness(unit_means(values, levels))
    repetitions = _inside_parent(total)
    return components.mean, components.variance, components.level_variance, df, repetitions


def _inside_parent(total: Floats) -> Floats:
    """Return the repetitions (..., L) inside one parent from those in all."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return total / with_top(np.ones(total.shape[:-1]), total[..., :-1])


def _relative(components: Sequence[Floats], prices: Floats, biased: bool) -> tuple[Floats, ...]:
    """Return what a system's components say, relative to its mean.

    These are components, those of the candidate, prices and repetitions in all (..., L); then the
    variance of the units and its degrees of freedom. `components` are the mean, the components and,
    of estimates, the variances of the levels' means, df and repetitions.
    """
    mean, variance, *estimates = components
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = np.where(mean == 0, np.nan, mean**2)[..., None]
        relative = (estimates[0] if biased else variance) / squared
        unit_variance = (estimates[0] if estimates else variance)[..., 0] / squared[..., 0]
    # Given components are known; pooled ones have no repetitions of one experiment.
    df, total = np.full(unit_variance.shape, np.inf), np.full(relative.shape, np.nan)
    if estimates:
        df = np.where(estimates[1] > 0, estimates[1], np.nan)
    if len(estimates) > 2:
        total = np.asarray(np.cumprod(estimates[2], axis=-1), dtype=np.float64)
    cost = np.where(np.isnan(prices), mean[..., None], np.broadcast_to(prices, relative.shape))
    return relative, np.maximum(np.nan_to_num(relative), 0.0), cost, total, unit_variance, df


def _of_ratio(new: tuple[Floats, ...], old: tuple[Floats, ...]) -> tuple[Floats, ...]:
    """Return what holds for the ratio: relative variances and prices add.

    A level is merged where it is in both systems.
    """
    (new_variance, candidate, new_cost, new_total, new_unit, new_df) = new
    (old_variance, _, old_cost, old_total, old_unit, old_df) = old
    variance = np.where(
        np.isnan(new_variance), old_variance, new_variance + np.nan_to_num(old_variance)
    )
    variance[..., 0] = new_variance[..., 0] + old_variance[..., 0]
    unit_variance = new_unit + old_unit
    with np.errstate(divide="ignore", invalid="ignore"):
        df = unit_variance**2 / (new_unit**2 / new_df + old_unit**2 / old_df)
    df = np.where(np.isinf(new_df) & np.isinf(old_df), np.inf, df)
    candidate = np.minimum(candidate, np.maximum(np.nan_to_num(variance), 0.0))
    total = np.minimum(new_total, old_total)
    return variance, candidate, new_cost + old_cost, total, unit_variance, df


def _plan_cells(goal: Goal, levels: tuple[str, ...], *fields: Floats) -> list[np.ndarray]:
    """Return the variables of `_outputs` for what `_relative` returned."""
    shape = fields[-1].shape
    variance, candidate, cost, total = (field.reshape(-1, len(levels)) for field in fields[:4])
    unit_variance, df = (field.reshape(-1, 1) for field in fields[4:])
    nonnegative = np.maximum(np.nan_to_num(variance), 0.0)
    is_one_system = np.array_equal(nonnegative, candidate)
    # A cell whose outermost component is not known has no plan.
    nonnegative[:, 0] = np.where(np.isnan(variance[:, 0]), np.nan, nonnegative[:, 0])
    pilot = Pilot(
        nest(nonnegative, cost),
        unit_variance,
        variance[:, :1],
        df,
        total[:, :1],
        reduced(np.add, total * cost),
        candidate=None if is_one_system else candidate,
    )
    merged = np.isnan(variance)
    merged[:, 0] = False
    unrounded, already = optimal_counts(variance, cost), _inside_parent(total)
    nothing = np.full(len(cost), np.nan)
    if goal.budget is None and goal.half_width is None:
        counts, spent, half_widths = lower_counts(variance, cost), nothing, [nothing] * 5
        added_counts = np.full(cost.shape, np.nan)
    else:
        plan = plan_assured(pilot, goal)
        counts, spent = plan.counts, plan.cost
        units, with_pilot = units_to_add(pilot, plan, goal)
        added_counts = with_top(units[:, 0], np.where(units > 0, counts[:, 1:], 0.0 * units))
        half_widths = [plan.half_width, *half_width_limits(plan, goal)]
        half_widths += [with_pilot, default_half_width(plan, goal)]
    # Of the outermost level: what the money buys at the lower counts of equation 14, none below 1.
    lower_counts_of_14 = with_top(np.ones(len(cost)), np.fmax(unrounded[:, 1:], 1.0))
    money = spent if goal.budget is None else np.where(np.isnan(spent), np.nan, goal.budget)
    with np.errstate(divide="ignore", invalid="ignore"):
        unrounded[:, 0] = money / pilot.forest.price(lower_counts_of_14)
    n = total[:, 0]
    min_cost = np.where(n == 0, np.nan, (goal.min_units * cost).sum(axis=1))
    inside = so_far(np.multiply, with_top(np.ones(len(n)), counts[:, 1:])) * cost
    share = inside[:, -1] / reduced(np.add, inside) if len(levels) > 1 else np.ones(len(n))
    advice = _advice(counts, unrounded, already, merged, share, n, levels)
    if len(levels) == 1 and goal.budget is None and goal.half_width is None:
        advice[:] = NO_GOAL.format(level=levels[0])
    answers = [counts, unrounded, already, added_counts, nonnegative, merged, cost, spent, min_cost]
    answers += [*half_widths, n, advice]
    return [array.reshape(shape + array.shape[1:]) for array in answers]


def _advice(
    counts: Floats,
    unrounded: Floats,
    already: Floats,
    merged: Mask,
    share: Floats,
    n: Floats,
    levels: tuple[str, ...],
) -> Texts:
    """Return advice on plans, whose lowest level takes this share of the price."""
    texts = np.full(len(n), NO_PLAN, dtype=object)
    texts[np.isinf(unrounded[:, 1:]).any(axis=1)] = NO_OUTER.format(level=levels[0])
    planned = ~np.isnan(counts[:, 1:] if len(levels) > 1 else counts).any(axis=1)
    # What is said of a cell depends on this alone: text is written once for cells that are alike.
    rows = zip(
        *(
            np.fmin(array, cap)[planned, 1:].tolist()
            for array, cap in ((counts, FEW), (already, 2))
        ),
        merged[planned, 1:].tolist(),
        np.where(share <= CHEAP, share, 1.0)[planned].tolist(),
        np.fmin(n, MANY)[planned].tolist(),
        strict=True,
    )
    texts[planned] = [
        advice_on_nest(
            tuple(counts_below), tuple(at_hand), tuple(without), lowest_share, units, levels
        )
        for counts_below, at_hand, without, lowest_share, units in rows
    ]
    return texts


@check("plans")
def plan_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells without a plan, by reason."""
    n, levels = result.variables["n"].values, str(result.attrs["levels"]).split()
    has_goal = not {"budget", "half_width_wanted"}.isdisjoint(result.attrs)
    counts, unrounded = (
        result.variables[name].transpose(..., LEVEL).values for name in ("repetitions", "unrounded")
    )
    unplanned = np.isnan(counts).all(axis=-1) & (n > 1)
    endless = unplanned & np.isinf(unrounded).any(axis=-1)
    alone = (
        f"{{cells}} have no plan: they rest on one {levels[0]}, which shows no spread. "
        f"{more_units(result.attrs)}"
    )
    if len(levels) == 1 and not has_goal:
        no_goal = count_note("no_goal", f"{{cells}} have {NO_GOAL.format(level=levels[0])}", n > 1)
        constant = None
    else:
        text = f"{{cells}} have no best counts: {NO_OUTER.format(level=levels[0])}"
        no_goal = count_note("no_goal", text, endless)
        text = "{cells} have no plan: no variation at any level. Look at the clock's resolution."
        constant = count_note("no_spread", text, unplanned & ~endless)
    return (
        count_note("no_value", "{cells} have no plan: nothing was measured.", n == 0),
        count_note("single_unit", alone, n == 1),
        no_goal,
        constant,
    )
