"""How many repetitions to run at every level of the nest, for a budget or for a width, one plan per benchmark."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from sys import intern
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.numerics.levels import count_repetitions, unit_means
from perfarray.numerics.nested_anova import nested_anova
from perfarray.numerics.types import Floats, Mask, Texts
from perfarray.timings.apply import LEVEL, Output, apply, by_blocks, is_chunked, outputs
from perfarray.timings.dependence import dependence_note
from perfarray.timings.metrics import over_metrics
from perfarray.timings.notes import Note, check, count_note, noted
from perfarray.timings.resolve import Data
from perfarray.timings.validation import check_choice
from perfarray.variation.advice import NO_OUTER, NO_PLAN, advice_on_nest
from perfarray.variation.components import LIMITS
from perfarray.variation.costs import ITERATIONS, PRICE
from perfarray.variation.numerics.allocation import ROUNDING, price, variance_of_mean
from perfarray.variation.numerics.assurance import Evidence, assured_half_width, growth, known
from perfarray.variation.numerics.jackknife import evenness
from perfarray.variation.numerics.pilot import component_limits, units_to_add
from perfarray.variation.numerics.plans import Plan, counts_by_budget, lower_counts, plan_assured
from perfarray.variation.published import component_arrays, is_published, published
from perfarray.variation.request import BUDGET_FACTOR, FACTORS, Request, systems

CELLS = 1 << 9
"""Cells planned at once: on its way each has 24 variances at 26 budgets."""

NEAR, TRIES = 0.01, 4
"""How many more degrees of freedom a plan may bring than it was made with, and how often it is made again."""

BY_BUDGET = {"half_width_by_budget": ", before rounding", "default_half_width_by_budget": ""}


def plan_repetitions(
    times: Data,
    baseline: object = None,
    *,
    dim: str | None = None,
    costs: Any = None,
    baseline_costs: Any = None,
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
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    r"""Plan how many builds, executions and iterations to run: for the narrowest interval a budget buys, or the cheapest of a given width.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings of a pilot experiment, repeated at every level (30 of each is plenty, 5 will do). Ragged ones are padded with NaN. Every
        cell of the dims that are not levels gets a plan of its own, with the whole budget: `plan_suite` plans benchmarks together. Or
        what `variance_components` returned, or `from_components`: published variances, taken as known, or several pilots pooled.
    baseline : label, DataArray or Dataset, optional
        With one, the plan is for the ratio to it: both systems with the same counts, as in section 6.2, and the price is that of both.
        Components are planned with the baseline's; a level that one of the two lacks neither varies nor costs anything there.
    dim : str, optional
        The dim compared; default: the one dim, not a level, that holds the baseline's label.
    costs : mapping of str to float, array or DataArray
        What starting one more repetition of a level costs, beyond what lies inside it: a build for `binary`, start and warm-up for
        `execution`. Numbers, or arrays over `benchmark`. A level left out costs what the data say (the coordinates `loops` and
        `<level>_seconds`, which readers set; a note names the prices); else an iteration costs 1, or its mean time, and the other levels
        must be named.
    baseline_costs : mapping of str to float, array or DataArray, optional
        What differs for the baseline. Of labels of one object, an array over the dim compared among the `costs` says the same.
    levels, metric : str or sequence of str, optional
        The nest, outermost first (default: the repetition dims present); the variable(s) of a Dataset (default: its `time`).
    budget, half_width : float
        What the experiment may cost, in `cost_units`, never exceeded; or the relative half-width to reach (0.01 for 1 %). With neither,
        the best counts below the outermost level (equation 14), which depend on neither; what rests on the outermost count is NaN.
    assurance : float, optional
        The share of experiments of the planned size whose half-width is the planned one or less, the pilot's uncertainty included: 0.5
        plans the median, 0.9 keeps its word nine times out of ten. None: the half-width at the variances estimated, as in the paper.
    cost_units : {"iterations", "s"}
        The unit of costs and budget.
    variances : {"unbiased", "biased"}
        Plan with the components :math:`T_i^2`, or with :math:`S_i^2`, which are never negative but ask for more at the outer levels.
    limits : {"normal", "jackknife"}
        What the pilot's uncertainty rests on: units that are normal, or what the pilot shows of how much its variance varies, as for
        `variance_components`. Of no effect on known variances, and without an `assurance` on the plan.
    min_units : int
        The fewest repetitions of the outermost level, at least 2. Lower counts shrink to make room for them.
    confidence_level : float
        Of the interval that is promised.
    negative : {"merge", "zero"}
        A negative component's level is merged into the one below and the rest estimated again, or is taken as zero. Either way one
        repetition of it is planned and its price joins the level above. The outermost level is never merged.

    Returns
    -------
    Dataset
        Along `level`: `repetitions` (inside one parent), `unrounded` (equation 14; of the outermost, what the money
        buys of them at those counts), `merged`; `already`, the pilot's repetitions, and `more`: the units still to be run, with their
        lower counts, if the pilot's data count towards the experiment and its budget. Per cell: `cost`; `half_width`, relative, which
        the share `assurance` of experiments stays within (by t with `repetitions` - 1 degrees of freedom; for a ratio, Satterthwaite's,
        up to twice as many); `half_width_lower` and `half_width_upper`, what it becomes at either limit of the outermost
        component (chi-square); `more_half_width`, together with the pilot's data; `default_half_width`, of the experiment that repeats
        the outermost level alone at the same cost; both again along `budget_factor`, at so many times the cost
        (`half_width_by_budget`, `default_half_width_by_budget`); `least_budget`, which buys `min_units`; `n`, the pilot's units; `advice`
        in words.

    Raises
    ------
    ValueError
        A budget and a half-width; a level without a price, a negative price, an unknown level; a budget that does not buy
        `min_units` (the message says the least that does); unknown dims, labels or choices.

    See Also
    --------
    plan_suite : benchmarks planned together, one build for all of them
    variance_components : where the variation comes from
    stopping : what the interval is worth for those who plan again and again, and stop when it is narrow enough

    Notes
    -----
    Equation 14 minimises the variance, not the half-width: after it the outermost count is searched with Student's t, and the lower
    counts are solved again on what it leaves of the budget. The plan is as good as the pilot: at 3 units the outermost component is known
    within a factor of 0.3 to 39. Run it, put the data together, and plan again. A cell with one unit, or without variation at any level,
    has no plan (NaN) and is counted in the warning.

    How many plans from few units, normal or not, keep their word is measured in "What a promise is worth", in the guide on repetitions.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals", 2012, sections 6.1, 7.4 and 8.5,
    equations 11, 13 and 14.

    Examples
    --------
    Table III of Kalibera and Jones; the printed n1 = 18 comes from rounded variances, it is 18.25, hence 19.

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
    request = Request(
        dim=dim, costs=costs, baseline_costs=baseline_costs, levels=levels, budget=budget, half_width=half_width, assurance=assurance,
        cost_units=cost_units, min_units=min_units, confidence_level=confidence_level, negative=negative, biased=variances == "biased",
        limits=limits,
    )  # fmt: skip
    result: xr.Dataset = _planned(times, baseline, request=request.checked(), metric=metric)
    return result


class _Pilot(NamedTuple):
    """What the data at hand say, relative to the mean: components, prices and counts (..., L); per cell the units and what they know.

    `candidate` is what the candidate has of the components of a ratio, none below zero; of one system all.
    """

    variance: Floats
    candidate: Floats
    cost: Floats
    total: Floats
    evidence: Evidence
    n: Floats

    def of(self, cells: Mask) -> "_Pilot":
        """Return the same of some cells."""
        evidence, scale = Evidence(*(array[cells] for array in self.evidence[:4])), self.evidence.scale
        evidence = evidence if scale is None else evidence._replace(scale=scale[cells])
        return _Pilot(self.variance[cells], self.candidate[cells], self.cost[cells], self.total[cells], evidence, self.n[cells])

    def growing(self, growth: Floats) -> "_Pilot":
        """Return the same with what each further unit brings."""
        return self._replace(evidence=self.evidence._replace(growth=growth))

    def sized(self, plan: Plan) -> Floats:
        """Return how many degrees of freedom each unit brings that is as the plan makes it."""
        each = np.concatenate([np.ones_like(plan.repetitions[..., :1]), np.nan_to_num(plan.repetitions[..., 1:], nan=1.0)], axis=-1)
        return growth(variance_of_mean(each, np.maximum(np.nan_to_num(self.variance), 0.0)), variance_of_mean(each, self.candidate))


@over_metrics
def _planned(times: Data, baseline: object, *, request: Request, metric: str | list[str] | None) -> xr.Dataset:
    """Plan every cell, and note what is amiss."""
    system, components = published(times, baseline) if is_published(times) else (systems(times, baseline, request, metric), ())
    sides, nest = system.sides, system.sides[0].levels
    prices, stated = system.prices(request)
    lazy = any(is_chunked(side.array) for side in sides)
    if lazy and request.budget is not None and not any(map(is_chunked, prices)):
        _check_affordable(request.min_units * reduce(add, [price.sum(PRICE, skipna=False) for price in prices]), request, nest[0])
    inputs = [component_arrays(dataset, request.biased) for dataset in components] or [([side.array], [nest]) for side in sides]
    arrays, core = [array for group, _ in inputs for array in group], [dims for _, group in inputs for dims in group]
    first = len(inputs[0][0])

    def plan(variance: Floats, candidate: Floats, cost: Floats, total: Floats, n: Floats, *evidence: Floats) -> tuple[np.ndarray, ...]:
        return _plan_cells(_Pilot(variance, candidate, cost, total, Evidence(*evidence), n), request, nest)

    def kernel(*arguments: Floats) -> list[np.ndarray]:
        values, costs = arguments[: len(arrays)], arguments[len(arrays) :]
        by_side = (values[:first], values[first:])
        pilots = [
            _known_pilot(group, cost, request.biased) if components else _pilot(group[0], cost, request)
            for group, cost in zip(by_side, costs, strict=False)
        ]
        pilot = pilots[0] if len(pilots) == 1 else _of_ratio(*pilots)
        inputs = [pilot.variance, pilot.candidate, pilot.cost, pilot.total, pilot.n, *pilot.evidence[:4]]
        return by_blocks(plan, inputs, pilot.n.ndim, -(-pilot.n.size // CELLS))

    result = apply(
        kernel,
        *arrays,
        *prices,
        core=[*core, *[[PRICE]] * len(prices)],
        outputs=_outputs(request.cost_units),
        coords={LEVEL: list(nest), BUDGET_FACTOR: FACTORS},
        attrs=system.attrs
        | request.describe("plan_repetitions")
        | {"variances": "biased" if request.biased else "unbiased", "limits": request.limits},
    )
    if not lazy and request.budget is not None:
        _check_affordable(result["least_budget"], request, nest[0])
    return noted(result, *system.notes, stated, None if components else dependence_note(sides), checks=("plans",))


def _outputs(cost_units: str) -> dict[str, Output]:
    """Return the variables of a plan, in the order `_plan_cells` returns them."""
    in_pilot, more = "repetitions inside one parent in the pilot", "units to add to the pilot, and the counts inside each"
    relative = ("half_width", "half_width_lower", "half_width_upper", "more_half_width", "default_half_width")
    return (
        outputs("1", (LEVEL,), repetitions="repetitions inside one parent", unrounded="equation 14")
        | {"merged": Output((LEVEL,), "", bool, "nothing seen of this level: one repetition")}
        | outputs("1", (LEVEL,), already=in_pilot, more=more)
        | outputs(cost_units, cost="", least_budget="")
        | outputs(**dict.fromkeys(relative, "relative to the mean"))
        | outputs("1", (BUDGET_FACTOR,), **{name: f"at so many times the cost{qualifier}" for name, qualifier in BY_BUDGET.items()})
        | outputs(n="independent units of the pilot")
        | {"advice": Output((), "", object)}
    )


def _plan_cells(pilot: _Pilot, request: Request, levels: tuple[str, ...]) -> tuple[np.ndarray, ...]:
    """Plan, and set the plan beside the data at hand."""
    width, money, level, sure = request.half_width, request.budget, request.confidence_level, request.assurance
    pilot = pilot if sure is None else pilot._replace(evidence=pilot.evidence.with_scale())
    limit: dict[str, Any] = {"min_units": request.min_units, "confidence_level": level}
    plan, evidence = _settled(pilot, request, **limit)
    components = np.maximum(np.nan_to_num(pilot.variance), 0.0)
    merged = np.isnan(pilot.variance)
    merged[..., 0] = False
    each = np.concatenate([np.ones_like(plan.repetitions[..., :1]), plan.repetitions[..., 1:]], axis=-1)
    below = variance_of_mean(each, components) - components[..., 0]
    plan = plan._replace(half_width=assured_half_width(plan.repetitions[..., 0], below, evidence, sure, level))
    limits = [
        assured_half_width(plan.repetitions[..., 0], below, known(top, evidence.growth), sure, level)
        for top in component_limits(evidence.top, evidence.unit_variance, evidence.df, level)
    ]
    spent, unit_cost = (pilot.total * pilot.cost).sum(axis=-1), price(each, pilot.cost)
    bought = None if width is not None else np.maximum(np.floor(((np.nan if money is None else money) - spent) / unit_cost), 0.0)
    added = units_to_add(pilot.n, below, evidence, bought, width, assurance=sure, confidence_level=level)
    units = np.where(np.isnan(plan.cost), np.nan, added.units)
    more = np.concatenate([units[..., None], np.where(units[..., None] > 0, each[..., 1:], 0.0 * units[..., None])], axis=-1)
    with np.errstate(invalid="ignore"):
        already = pilot.total / np.concatenate([np.ones_like(pilot.n)[..., None], pilot.total[..., :-1]], axis=-1)
    bought_by = counts_by_budget(pilot.variance, pilot.cost, plan.cost[..., None] * np.array(FACTORS), **limit)
    best = assured_half_width(bought_by.units, bought_by.below, evidence.along(), sure, level)
    as_default = (bought_by.default_units == bought_by.units) & (bought_by.default_below == bought_by.below)
    default_units = np.where(as_default, np.nan, bought_by.default_units)
    default = np.where(as_default, best, assured_half_width(default_units, bought_by.default_below, evidence.along(), sure, level))
    promised = np.where(np.isnan(units), np.nan, added.half_width)
    least = np.where(pilot.n == 0, np.nan, plan.least_budget)
    return (
        plan.repetitions, plan.unrounded, merged, already, more, plan.cost, least, plan.half_width, *limits, promised,
        plan.default_half_width, best, default, pilot.n, _advice(plan, pilot, already, merged, levels),
    )  # fmt: skip


def _settled(pilot: _Pilot, request: Request, **limit: Any) -> tuple[Plan, Evidence]:
    """Plan with the degrees of freedom that units bring which are as the plan makes them, or fewer; return both."""
    pilot = pilot.growing(pilot.sized(lower_counts(pilot.variance, pilot.cost, request.min_units)))
    goal: dict[str, Any] = {"budget": request.budget, "half_width": request.half_width, **limit}
    plan = plan_assured(pilot.variance, pilot.cost, pilot.evidence, request.assurance, **goal)
    for number in range(TRIES if request.assurance is not None else 0):
        freedom, growth_before = pilot.sized(plan), pilot.evidence.growth
        changed = growth_before > freedom * (1 + ROUNDING)
        changed |= (growth_before < freedom * (1 - NEAR)) & (number == 0)  # later only fewer: two plans may take turns
        if not changed.any():
            break
        pilot = pilot.growing(np.where(changed, freedom, growth_before))
        subset = pilot.of(changed)
        replan = plan_assured(subset.variance, subset.cost, subset.evidence, request.assurance, **goal)
        for field, replacement in zip(plan, replan, strict=True):
            field[changed] = replacement
    return plan, pilot.growing(pilot.sized(plan)).evidence


def _pilot(values: Floats, prices: Floats, request: Request) -> _Pilot:
    """Estimate one system's components relative to its mean."""
    levels = prices.shape[-1]
    components = nested_anova(values, levels, "keep" if request.biased else request.negative)
    total = count_repetitions(values, levels).total
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = np.where(components.mean == 0, np.nan, components.mean**2)[..., None]
        variance = (components.level_variance if request.biased else components.variance) / squared
        spread = components.level_variance[..., 0] / squared[..., 0]
    prices = np.broadcast_to(prices, variance.shape)
    cost = np.concatenate([prices[..., :-1], np.where(np.isnan(prices[..., -1:]), components.mean[..., None], prices[..., -1:])], axis=-1)
    n = total[..., 0]
    even = evenness(unit_means(values, levels)) if request.limits == "jackknife" else np.ones_like(spread)
    evidence = Evidence(spread, variance[..., 0], np.where(n > 1, (n - 1) * even, np.nan), np.ones_like(spread))
    return _Pilot(variance, np.maximum(np.nan_to_num(variance), 0.0), cost, total, evidence, n)


def _known_pilot(components: Sequence[Floats], prices: Floats, biased: bool) -> _Pilot:
    """Return what given components say: mean, components and, of estimates, variances of the levels' means, df and repetitions."""
    mean, variance, *estimated = components
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = np.where(mean == 0, np.nan, mean**2)[..., None]
        relative = (estimated[0] if biased else variance) / squared
        spread, total = relative[..., 0], np.full(relative.shape, np.nan)
        if estimated:
            spread = estimated[0][..., 0] / squared[..., 0]
        if len(estimated) > 2:  # those of one pilot
            total = np.cumprod(estimated[2], axis=-1)
    prices = np.broadcast_to(prices, relative.shape)
    cost = np.concatenate([prices[..., :-1], np.where(np.isnan(prices[..., -1:]), mean[..., None], prices[..., -1:])], axis=-1)
    n = total[..., 0]
    df = np.where(estimated[1] > 0, estimated[1], np.nan) if estimated else np.full(spread.shape, np.inf)
    evidence = Evidence(spread, relative[..., 0], df, np.ones_like(spread))
    return _Pilot(relative, np.maximum(np.nan_to_num(relative), 0.0), cost, total, evidence, n)


def _of_ratio(new: _Pilot, old: _Pilot) -> _Pilot:
    """Return what holds for the ratio: relative variances and prices add; a level is merged where it is in both systems."""
    variance = np.where(np.isnan(new.variance), old.variance, new.variance + np.nan_to_num(old.variance))
    variance[..., 0] = new.variance[..., 0] + old.variance[..., 0]
    a, b, cost = new.evidence, old.evidence, new.cost + old.cost
    new_variance, old_variance = a.unit_variance, b.unit_variance
    spread = new_variance + old_variance
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(np.isinf(a.df) & np.isinf(b.df), np.inf, spread**2 / (new_variance**2 / a.df + old_variance**2 / b.df))
    candidate = np.minimum(new.candidate, np.maximum(np.nan_to_num(variance), 0.0))
    evidence = Evidence(spread, variance[..., 0], df, np.ones_like(spread))
    return _Pilot(variance, candidate, cost, np.minimum(new.total, old.total), evidence, np.minimum(new.n, old.n))


def _advice(plan: Plan, pilot: _Pilot, already: Floats, merged: Mask, levels: tuple[str, ...]) -> Texts:
    """Return the advice on every cell's plan."""
    words = np.empty(plan.cost.shape, dtype=object)
    each = np.concatenate([np.ones_like(plan.repetitions[..., :1]), plan.repetitions[..., 1:]], axis=-1)
    inside = np.cumprod(each, axis=-1) * pilot.cost
    for cell in np.ndindex(*plan.cost.shape):  # text is written one cell at a time
        share = float(inside[cell][-1] / inside[cell].sum()) if len(levels) > 1 else 1.0
        planned = not np.isnan(plan.repetitions[cell][1:] if len(levels) > 1 else plan.cost[cell]).any()
        counts = plan.repetitions[cell], already[cell]
        endless = NO_OUTER.format(level=levels[0]) if np.isinf(plan.unrounded[cell]).any() else NO_PLAN
        words[cell] = intern(advice_on_nest(*counts, merged[cell], share, float(pilot.n[cell]), levels) if planned else endless)
    return words


def _check_affordable(least: xr.DataArray, request: Request, outermost: str) -> None:
    """Raise where the budget does not buy the fewest units; the message names the budget that does."""
    money = float(request.budget or 0.0)
    if not bool((least > money).any()):
        return
    dearest = least.isel(least.argmax(...)) if least.ndim else least
    labels = ", ".join(f"{dim}={dearest[dim].item()}" for dim in least.dims if dim in least.coords)
    raise ValueError(
        f"budget={money:g} {request.cost_units} does not buy {request.min_units} repetitions of {outermost!r} with one of everything in "
        f"each{f' ({labels})' if labels else ''}; the least budget is {float(dearest):.6g} {request.cost_units}, or "
        "lower min_units= (at least 2)"
    )


@check("plans")
def plan_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the cells without a plan, by reason."""
    n, outermost = result["n"].values, str(result.attrs["levels"]).split()[0]
    remedy = "which shows no spread; measure a few, or name the levels inside it with levels="
    nothing = "{cells} have no plan: no variation at any level (look at the clock's resolution)"
    planned = result["repetitions"].notnull().any(LEVEL).values
    endless = ~planned & (abs(result["unrounded"]) == np.inf).any(LEVEL).values
    return (
        count_note("no_value", "{cells} have no plan: nothing was measured", n == 0),
        count_note("single_unit", f"{{cells}} have no plan: they rest on one {outermost}, {remedy}", n == 1),
        count_note("no_outer_variation", f"{{cells}} have no best counts: {NO_OUTER.format(level=outermost)}", endless),
        count_note("no_variation", nothing, ~planned & (n > 1) & ~endless),
    )
