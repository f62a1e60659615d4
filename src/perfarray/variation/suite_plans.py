"""How many repetitions for a whole suite, when one build serves every benchmark."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, BINARY, SECONDS
from perfarray.numerics.moderated import moderate_components
from perfarray.numerics.nested_anova import nested_anova
from perfarray.numerics.types import Floats
from perfarray.timings.across import PRIORS
from perfarray.timings.apply import LEVEL, Output, apply, is_chunked, outputs
from perfarray.timings.dependence import dependence_note
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.movement import together_notes
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.resolve import Data, Timings, check_dim, check_names, shared_levels
from perfarray.timings.suite_labels import name_suites
from perfarray.timings.units import cells_note
from perfarray.timings.validation import check_choice, check_number, listed
from perfarray.timings.weights import Weights, weigh
from perfarray.timings.zeros import Positive
from perfarray.variation.advice import advice_on_suite
from perfarray.variation.costs import PRICE
from perfarray.variation.numerics.allocation import ROUNDING, Goal
from perfarray.variation.numerics.forests import continuous
from perfarray.variation.numerics.plans import (
    Pilot,
    default_half_width,
    half_width_limits,
    plan_assured,
    units_to_add,
)
from perfarray.variation.numerics.suite_pilot import Sharing, suite_pilot, together
from perfarray.variation.plans import RELATIVE
from perfarray.variation.request import check_affordable, check_goal, describe_goal, systems

AUTO = "auto"  # builds, where there are any
NO_PLAN = "no plan: the pilot has one unit, no variation at any level, or too little to spend"


@for_each_metric
def plan_suite(
    times: Data,
    baseline: object = None,
    *,
    dim: str | None = None,
    costs: Any = None,
    levels: str | tuple[str, ...] | None = None,
    budget: float | None = None,
    half_width: float | None = None,
    assurance: float | None = 0.5,
    across: str = BENCHMARK,
    weights: Weights | None = None,
    shared: str | tuple[str, ...] | None = AUTO,
    correlation: float | None = None,
    paired: str | None = None,
    min_units: int = 5,
    confidence_level: float = 0.95,
    negative: str = "merge",
    prior: str | None = None,
    metric: str | list[str] | None = None,
) -> xr.Dataset:
    """Plan how many builds to make, and how often to run each benchmark on every one of them.

    The plan is for the suite's geometric mean. One build serves all benchmarks. A benchmark that
    varies much between executions gets more of them, an expensive one gets fewer.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings of a pilot. Dims that are neither levels nor `across` get plans of their own.
    baseline : label, DataArray or Dataset, optional
        Plan for the ratio to it; each system gets its counts, and both share the budget.
    dim, levels, assurance, min_units, confidence_level, negative, prior, metric
        As for `plan_repetitions`.
    costs : mapping of str to float, array or DataArray
        Seconds to start one more repetition: a number, or one per benchmark for an execution. An
        iteration takes its mean time.
    budget, half_width : float
        Exactly one: the seconds to spend, or the relative half-width to reach.
    across : str
        The dim of the benchmarks.
    weights : DataArray, Series, mapping or sequence, optional
        The weight of each benchmark in the geometric mean; 0 leaves one out.
    shared : str or tuple of str, optional
        The outermost levels whose units serve every benchmark. None: only the budget is shared.
        "auto": builds, if the nest has any.
    correlation : float, optional
        Of a unit's effects between benchmarks, 0 to 1. Default: the pilot's, where its units are
        shared; else 0.
    paired : str, optional
        The outermost level, if its units match between the two systems.

    Returns
    -------
    Dataset
        Along `across` and `level`: `repetitions` (inside one parent), `unrounded`, `merged`,
        `already`, `more`, `variance` (of the log of the geometric mean) and `level_cost` (s); with
        a baseline also `baseline_repetitions`, ... Along `across`: `seconds`, the cost of the
        benchmark. Per cell, as for `plan_repetitions`: `cost`, `half_width`, `half_width_lower`,
        `half_width_upper`, `more_half_width`, `default_half_width` (one of everything on each
        build), `least_budget`, `n`, `advice`.

    Raises
    ------
    ValueError
        As `plan_repetitions`; `shared` levels that are not the outermost, or whose price differs
        between benchmarks; no dim `across`; `paired` without a baseline.

    Notes
    -----
    The attr `benchmarks` says whether independence was assumed. See
    :doc:`/how-to/how_many_repetitions`.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, end of section 8.5, where this extension is asked for.

    Examples
    --------
    >>> import perfarray
    >>> times = perfarray.simulate(
    ...     sizes={"binary": 15, "execution": 5, "iteration": 5},
    ...     variances={"binary": 4e-4, "execution": 1e-4, "iteration": 1e-4},
    ...     dims={"benchmark": ["fft", "sort"]},
    ...     rng=1,
    ... )
    >>> plan = times.perf.plan_suite(costs={"binary": 60.0, "execution": 2.0}, budget=3600.0)
    >>> bool(plan["cost"] <= 3600), bool(plan["half_width"] < plan["default_half_width"])
    (True, True)
    """
    check_choice(prior, "prior", PRIORS)
    goal = check_goal(
        budget, half_width, assurance, min_units, confidence_level, negative, required=True
    )
    weighing = weigh(times, across, weights)
    times, baseline = weighing.select(times), weighing.select(baseline)
    depth = len(shared) - 1 if isinstance(shared, tuple) and shared else 0
    system = systems(
        times, baseline, dim=dim, metric=metric, levels=levels, paired=paired,
        positive=Positive("a geometric mean", level=depth),
    )  # fmt: skip
    sides, nest = system.sides, system.sides[0].levels
    served, in_pilot = _check_shared(sides, across, shared, paired, correlation)
    prices, price_remark = system.prices(costs, SECONDS)
    arrays = [side.array for side in sides]
    prices = [
        _over_benchmarks(price, array[across], served)
        for price, array in zip(prices, arrays, strict=True)
    ]
    labels, variables = arrays[0][across].values.tolist(), _outputs(across, len(sides))
    shares = weighing.shares_of(arrays[0][across].values)
    rules = SuitePlanRules(
        goal=goal,
        levels=nest,
        sharing=tuple(Sharing(len(served), number, correlation) for number in in_pilot),
        names=tuple(map(str, labels)),
        shares=np.ones(len(labels)) if shares is None else shares,
        negative=negative,
        paired=paired is not None,
        prior=prior,
    )
    shared_names = " ".join(served[: min(in_pilot)])
    attrs = describe_goal(goal, SECONDS, negative, across=across, prior=prior)
    attrs |= {"result": "plan_suite"} | ({"shared": " ".join(served)} if served else {})
    if correlation is not None:
        attrs["correlation"] = correlation
    else:
        attrs["benchmarks"] = f"shared: {shared_names}" if shared_names else "independent (assumed)"
    if paired is not None:
        attrs["paired"] = paired
    result = apply(
        lambda *values: plan_suites(values, rules, variables),
        *arrays,
        *prices,
        core=[*[[across, *nest]] * len(sides), *[[across, PRICE]] * len(sides)],
        outputs=variables,
        coords={across: labels, LEVEL: list(nest)},
        attrs=system.attrs | attrs | weighing.attrs,
    )
    if goal.budget is not None and not any(map(is_chunked, arrays)):
        check_affordable(result["least_budget"], goal, nest[0], SECONDS)
    assumed = correlation is None and shared != () and not shared_names
    notes = together_notes(sides, across, paired is not None) if assumed else ()
    mixed = name_suites(result, arrays[0], arrays[0].notnull().any(nest), across)
    dependent = dependence_note(sides, paired is not None)
    notes = (*system.notes, *weighing.notes, price_remark, mixed, *notes, dependent)
    return with_notes(result, *notes, checks=("suite_plans",))


def _check_shared(
    sides: Sequence[Timings],
    across: str,
    shared: str | tuple[str, ...] | None,
    paired: str | None,
    correlation: Any,
) -> tuple[tuple[str, ...], list[int]]:
    """Return the shared levels, and how many of them each side's pilot shares.

    Raise unless there are benchmarks to plan together and the levels are the outermost.
    """
    if correlation is not None and not 0 <= check_number(correlation, "correlation") <= 1:
        raise ValueError(f"correlation={correlation!r} is out of range. Give a number from 0 to 1.")
    data = sides[0]
    check_dim(data.array, across)
    if across in data.levels:
        raise ValueError(
            f"across={across!r} is a level of the nest {data.levels}. Name the dim of the "
            "benchmarks."
        )
    shared_dims = (
        ()
        if shared in (AUTO, BINARY) and BINARY not in data.levels
        else BINARY
        if shared == AUTO
        else shared
    )
    if shared_dims is None or len(shared_dims) == 0:
        for name, value in {"paired": paired, "correlation": correlation}.items():
            if value is not None:
                raise ValueError(
                    f"{name}={value!r} is about units that benchmarks share. Name their level with "
                    f"shared=, one of {data.levels}."
                )
        return (), [0] * len(sides)
    served = check_names(shared_dims, "shared")
    for name in served:
        check_choice(name, "shared", data.levels)
    if served != data.levels[: len(served)]:
        raise ValueError(
            f"shared={listed(served)} is not the outermost level {data.levels[0]!r}. Name it too, "
            f"or choose levels= that start at {served[0]!r}."
        )
    if paired is not None and len(served) > 1:
        raise ValueError(
            f"paired={paired!r} with several shared levels ({listed(served)}) has "
            f"no plan. Share {served[0]!r} alone."
        )
    declared = None if shared == AUTO or correlation is not None else served
    return served, [
        len(list(takewhile(shared_levels(side, declared).__contains__, served))) for side in sides
    ]


def _over_benchmarks(
    prices: xr.DataArray, benchmarks: xr.DataArray, shared: tuple[str, ...]
) -> xr.DataArray:
    """Return the prices of every benchmark.

    Raise where that of a shared level differs between them.
    """
    across = str(benchmarks.dims[0])
    if across not in prices.dims:
        return prices.expand_dims({across: benchmarks.size}).assign_coords({across: benchmarks})
    for index, level in enumerate(shared):
        level_prices = prices.isel({PRICE: index})
        if not bool((level_prices == level_prices.isel({across: 0})).all()):
            raise ValueError(
                f"costs[{level!r}] differs between benchmarks. One {level} serves them all: give "
                "one price."
            )
    return prices


def _outputs(across: str, systems: int) -> dict[str, Output]:
    of_system = {
        "repetitions": ("1", "repetitions inside one parent"),
        "already": ("1", "repetitions inside one parent in the pilot"),
        "more": ("1", "units to add to the pilot, and the counts inside each"),
        "variance": ("1", "component of the log of the geometric mean"),
        "level_cost": (SECONDS, "of one more repetition"),
    }
    of_baseline = {f"baseline_{name}": text for name, text in of_system.items()}
    along = of_system | (of_baseline if systems > 1 else {})
    return (
        {
            name: Output((across, LEVEL), units, long_name=text)
            for name, (units, text) in along.items()
        }
        | outputs("1", (across, LEVEL), unrounded="continuous solution")
        | {"merged": Output((across, LEVEL), "", bool, "one repetition is best")}
        | outputs(SECONDS, (across,), seconds="the benchmark's own part of the cost")
        | outputs(SECONDS, cost="", least_budget="")
        | outputs(**dict.fromkeys(RELATIVE, "relative, of the geometric mean"))
        | outputs(n="independent units of the pilot")
        | {"advice": Output((), "", object)}
    )


@check("suite_plans")
def suite_plan_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the suites without a plan, by reason."""
    n, cost = result["n"].values, result["cost"].values
    outermost = str(result.attrs["levels"]).split()[0]
    alone = (
        f"{{cells}} have a benchmark with fewer than two units ({outermost}), and no plan. One "
        "shows no spread. Measure two or more."
    )
    constant = "{cells} show no variation at any level, and have no plan."
    repetitions = result["repetitions"].isel({LEVEL: 0}, drop=True)
    no_repetitions = repetitions.isnull() & result["cost"].notnull()
    return (
        count_note("single_unit", alone, n < 2, "suites"),
        count_note("no_spread", constant, np.isnan(cost) & (n > 1), "suites"),
        cells_note(
            "no_value",
            "{cells} have no measured value and are not in the plan.",
            repetitions,
            no_repetitions.values,
        ),
    )


class SuitePlanRules(NamedTuple):
    """What holds for every suite of a call.

    `shares` are the weights of the benchmarks in the mean.
    """

    goal: Goal
    levels: tuple[str, ...]
    sharing: tuple[Sharing, ...]
    names: tuple[str, ...]
    shares: Floats
    negative: str
    paired: bool
    prior: str | None = None


def plan_suites(
    arrays: Sequence[Floats], rules: SuitePlanRules, outputs: Mapping[str, Output]
) -> list[np.ndarray]:
    """Plan suite by suite: a plan is a search, and suites are few.

    `arrays` are the timings (..., benchmarks, n_L, ..., n_1) of each system, then the prices (...,
    benchmarks, L) of each.
    """
    systems, levels, benchmarks = len(arrays) // 2, len(rules.levels), len(rules.names)
    core = [levels + 1] * systems + [2] * systems
    batches = [array.shape[: array.ndim - axes] for array, axes in zip(arrays, core, strict=True)]
    outer = np.broadcast_shapes(*batches)
    cells = [
        np.broadcast_to(array, (*outer, *array.shape[len(batch) :]))
        for array, batch in zip(arrays, batches, strict=True)
    ]
    sizes, blanks = {LEVEL: levels}, {float: np.nan, bool: False, object: NO_PLAN}
    answers = {
        name: np.full(
            (*outer, *(sizes.get(dim, benchmarks) for dim in output.dims)),
            blanks[output.dtype],
            dtype=output.dtype,
        )
        for name, output in outputs.items()
    }
    for cell in np.ndindex(*outer):
        values, prices = (
            [array[cell] for array in cells[:systems]],
            [array[cell] for array in cells[systems:]],
        )
        # A benchmark that was not measured in every system has no plan.
        measured = ~np.any(
            [np.isnan(array).all(axis=tuple(range(1, array.ndim))) for array in values], axis=0
        )
        pilots = _pilots(
            [array[measured] for array in values],
            [array[measured] for array in prices],
            measured,
            rules,
        )
        names = tuple(
            name for name, has_data in zip(rules.names, measured, strict=True) if has_data
        )
        for name, value in _plan_one(pilots, rules._replace(names=names)).items():
            along_benchmarks = bool(set(outputs[name].dims) - set(sizes))
            answers[name][(*cell, measured) if along_benchmarks else cell] = value
    return list(answers.values())


def _pilots(
    values: list[Floats], prices: list[Floats], measured: np.ndarray, rules: SuitePlanRules
) -> list[Pilot]:
    """Estimate the systems of one suite, or their pairs, or every benchmark that shares nothing."""
    if not measured.any():
        return []
    shares = rules.shares[measured] / rules.shares[measured].mean() / measured.sum()
    systems, prior_dfs = [], []
    for array, cost in zip(values, prices, strict=True):
        components = nested_anova(array, len(rules.levels), rules.negative)
        components, learned = (
            moderate_components(components, of_suite=True)
            if rules.prior
            else (components, np.zeros(len(rules.levels)))
        )
        systems.append((array, cost, components))
        prior_dfs.append(learned)
    if rules.paired:
        sharing = rules.sharing[0]._replace(
            in_pilot=min(side_sharing.in_pilot for side_sharing in rules.sharing)
        )
        return [suite_pilot(systems, shares, sharing)]
    if rules.sharing[0].planned:
        return [
            suite_pilot([system], shares, sharing)
            for system, sharing in zip(systems, rules.sharing, strict=True)
        ]
    benchmarks = [slice(number, number + 1) for number in range(len(shares))]
    return [
        suite_pilot([(array[b], cost[b], of_system.rows(b))], shares[b], Sharing(), learned)
        for (array, cost, of_system), learned in zip(systems, prior_dfs, strict=True)
        for b in benchmarks
    ]


def _plan_one(pilots: list[Pilot], rules: SuitePlanRules) -> dict[str, Any]:
    """Plan one suite: the variables of its plan.

    Where there is nothing to plan from, only what is known.
    """
    if not pilots:
        return {"n": 0.0}
    goal, pilot = rules.goal, together(pilots)
    n, one_of_everything = float(pilot.units.min()), float(pilot.forest.cost.sum())
    least_budget = goal.min_units * one_of_everything
    if n < 2 or not pilot.forest.variance.sum() > 0:
        return {"n": n}
    if goal.budget is not None and least_budget > goal.budget:
        return {"n": n, "least_budget": least_budget}
    plan = plan_assured(pilot, goal)
    low, high = half_width_limits(plan, goal)
    added_units, more_half_width = units_to_add(pilot, plan, goal)
    forest, counts, total = plan.forest.of(0), plan.counts[0], pilot.total
    spent = (forest.cost * forest.totals(counts))[forest.paths]
    optimum = continuous(forest, plan.tree_units[0], budget=plan.cost[0])
    added = added_units[0, forest.root_of][:, None]
    parents = np.where(total[:, :-1] > 0, total[:, :-1], np.nan)
    rows = {
        "repetitions": counts[forest.paths],
        "already": np.column_stack([total[:, :1], total[:, 1:] / parents]),
        "more": np.column_stack([added, counts[forest.paths][:, 1:] * (added > 0)]),
        "variance": forest.variance[forest.paths],
        "level_cost": forest.cost[forest.paths],
    }
    # Two systems lie one after the other, as the rows of a pair do.
    by_system = (-1, len(rules.names), len(rules.levels))
    by_system_and_name = {name: values.reshape(by_system) for name, values in rows.items()}
    unrounded = forest.inside_parent(optimum)[forest.paths].reshape(by_system)[0]
    merged = unrounded <= 1 + ROUNDING
    merged[:, 0] = False
    planned = rules.sharing[0].planned
    lowest = spent[:, -1].sum() / plan.cost[0] if planned < len(rules.levels) else 1.0
    answer = {name: values[0] for name, values in by_system_and_name.items()}
    if len(by_system_and_name["repetitions"]) > 1:
        answer |= {f"baseline_{name}": values[-1] for name, values in by_system_and_name.items()}
    return answer | {
        "unrounded": unrounded,
        "merged": merged,
        "seconds": spent[:, planned:].sum(axis=1).reshape(by_system[:2]).sum(axis=0),
        "cost": plan.cost[0],
        "least_budget": least_budget,
        "half_width": plan.half_width[0],
        "half_width_lower": low[0],
        "half_width_upper": high[0],
        "more_half_width": more_half_width[0],
        "default_half_width": default_half_width(plan, goal)[0],
        "n": n,
        "advice": advice_on_suite(
            by_system_and_name["repetitions"],
            by_system_and_name["already"],
            float(lowest),
            n,
            rules.levels,
            rules.names,
        ),
    }
