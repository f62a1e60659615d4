"""How many repetitions for a whole suite, when one build (or boot, or session) serves every benchmark."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from perfarray.conventions import BENCHMARK, BINARY, SECONDS
from perfarray.numerics.moderated import moderate_components
from perfarray.numerics.nested_anova import nested_anova
from perfarray.numerics.types import Floats
from perfarray.timings.across import PRIORS, Weights, name_suites
from perfarray.timings.apply import LEVEL, Output, apply, is_chunked, outputs
from perfarray.timings.dependence import dependence_note
from perfarray.timings.metrics import for_each_metric
from perfarray.timings.movement import together_notes
from perfarray.timings.notes import Note, check, count_note, with_notes
from perfarray.timings.resolve import Data, Timings, check_dim, check_names, shared_levels
from perfarray.timings.units import cells_note
from perfarray.timings.validation import check_choice, check_number, listed
from perfarray.timings.weights import weigh
from perfarray.timings.zeros import Positive
from perfarray.variation.advice import advice_on_suite
from perfarray.variation.costs import PRICE
from perfarray.variation.numerics.allocation import ROUNDING, Goal
from perfarray.variation.numerics.assurance import half_width_limits
from perfarray.variation.numerics.suite_counts import continuous, narrowest, side_by_side
from perfarray.variation.numerics.suite_pilot import (
    Sharing,
    SuitePilot,
    SuitePlan,
    half_width_of_noise,
    plan_assured,
    suite_pilot,
    units_to_add,
)
from perfarray.variation.request import (
    BUDGET_FACTOR,
    FACTORS,
    check_affordable,
    check_goal,
    describe_goal,
    systems,
)

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
    """Plan how many builds to make, and how often to run each benchmark on every one of them, for the suite's geometric mean.

    One build serves all benchmarks. A benchmark that varies much between executions gets more of
    them, an expensive one gets fewer.

    Parameters
    ----------
    times : DataArray or Dataset
        Timings of a pilot experiment. Dims that are neither levels nor `across` get plans of their
        own.
    baseline : label, DataArray or Dataset, optional
        Plan for the ratio of geometric means to it; each system gets its own counts, and both share
        the budget.
    dim, levels, assurance, min_units, confidence_level, negative, prior, metric
        As for `plan_repetitions`.
    costs : mapping of str to float, array or DataArray
        Seconds it takes to start one more repetition of a level: a build for `binary` (one number),
        start and warm-up for `execution` (a number, or one per benchmark). Defaults are those of
        `plan_repetitions`; an iteration takes its mean time.
    budget, half_width : float
        Exactly one: the seconds the experiment may take, never exceeded; or the relative half-width
        to reach (0.01 for 1 %).
    across : str
        The dim of the benchmarks.
    weights : DataArray, Series, mapping or sequence, optional
        The weight of each benchmark in the geometric mean, not negative, by label of `across` or in
        their order. Only ratios matter; 0 leaves a benchmark out. Default: equal weights.
    shared : str or tuple of str, optional
        The outermost level, whose units serve every benchmark, in the pilot too, or several from
        the outside in: with `("binary", "session")` a session also runs all benchmarks, and its
        price is paid once. None: benchmarks share nothing but the budget, and each has a number of
        executions of its own. "auto": builds will be shared, and those of the pilot were where
        `attrs["shared_levels"]` says so; without the level `binary` (pyperf, JMH) nothing is.
    correlation : float, optional
        Of a unit's effects between benchmarks, 0 to 1. Default: what the pilot shows, where its
        units are shared by the benchmarks; else 0, the attr `benchmarks` of the result says that
        independence was assumed, and a note says where units move together.
    paired : str, optional
        The outermost level, where unit j of the candidate and unit j of the baseline are a pair
        (built or run side by side): both systems get the same units, planned by the variance of the
        pairs' difference. A pair costs what both its units cost.

    Returns
    -------
    Dataset
        Along `across` and `level`: `repetitions` (inside one parent; those shared are the same for
        all), `unrounded` (the continuous solution), `merged` (one repetition is best); `already`,
        the pilot's repetitions; `more`, the units still to be run if the pilot counts towards the
        experiment and its budget; with a baseline, `baseline_repetitions`, `baseline_already` and
        `baseline_more`. Along `across`: `seconds`, the benchmark's own part of the cost. Per cell,
        as for `plan_repetitions` but of the geometric mean: `cost`, `half_width`,
        `half_width_lower`, `half_width_upper`, `more_half_width`, `default_half_width` (every
        benchmark once on each build, one iteration), `half_width_by_budget` and
        `default_half_width_by_budget` along `budget_factor`, `least_budget`, `n`, `advice`.

    Raises
    ------
    ValueError
        As `plan_repetitions`; `shared` levels that are not the outermost, or whose price differs
        between benchmarks; no dim `across`; `paired` without a baseline, or with several shared
        levels.

    See Also
    --------
    plan_repetitions : each benchmark by itself

    Notes
    -----
    The continuous optimum is explicit: the total of each level is proportional to the square root
    of component / price, and not below its parent's. Whole counts come from a greedy search around
    it, with Student's t for the number of shared units. For 100 small suites the half-width was at
    most 0.8 % above the best of all whole plans, and equal to it in most. The degrees of freedom of
    two systems that are not paired are those of the one with fewer units. In `more`, the pilot's
    units count as shared by all benchmarks.

    References
    ----------
    T. Kalibera, R. Jones, "Quantifying performance changes with effect size confidence intervals",
    2012, end of section 8.5, where this extension is asked for.

    Examples
    --------
    >>> import perfarray
    >>> sizes, variances = {"binary": 15, "execution": 5, "iteration": 5}, {"binary": 4e-4, "execution": 1e-4, "iteration": 1e-4}
    >>> times = perfarray.simulate(sizes=sizes, variances=variances, dims={"benchmark": ["fft", "sort"]}, shared={"binary": 0.5}, rng=1)
    >>> plan = times.perf.plan_suite(costs={"binary": 60.0, "execution": 2.0}, budget=3600.0)
    >>> bool(plan["cost"] <= 3600), bool(plan["half_width"] < plan["default_half_width"])
    (True, True)
    """
    if correlation is not None and not 0 <= check_number(correlation, "correlation") <= 1:
        raise ValueError(f"correlation={correlation!r} is out of range; give a number from 0 to 1")
    if budget is None and half_width is None:
        raise ValueError(
            "neither of budget= and half_width= came; give one: what may be spent, or the "
            "relative half-width to reach"
        )
    check_choice(prior, "prior", PRIORS)
    goal = check_goal(budget, half_width, assurance, min_units, confidence_level, negative)
    weighing = weigh(times, across, weights)
    times, baseline = weighing.select(times), weighing.select(baseline)
    positive = Positive(
        "a geometric mean", level=len(shared) - 1 if isinstance(shared, tuple) and shared else 0
    )
    system = systems(
        times, baseline, dim=dim, metric=metric, levels=levels, paired=paired, positive=positive
    )
    sides, nest = system.sides, system.sides[0].levels
    served = _check_shared(sides[0], across, shared, {"paired": paired, "correlation": correlation})
    prices, stated = system.prices(costs, SECONDS)
    arrays = [side.array for side in sides]
    prices = [
        _over_benchmarks(price, array[across], served)
        for price, array in zip(prices, arrays, strict=True)
    ]
    declared = None if shared == AUTO or correlation is not None else served
    in_pilot = [
        len(list(takewhile(shared_levels(side, declared).__contains__, served))) for side in sides
    ]
    sharing = tuple(Sharing(len(served), number, correlation) for number in in_pilot)
    labels = arrays[0][across].values
    shares = weighing.shares_of(labels)
    names, variables = tuple(map(str, labels.tolist())), _outputs(across, len(sides))
    shares = np.ones(len(names)) if shares is None else shares
    rules = Rules(
        goal, nest, sharing, names, shares, negative, paired=paired is not None, prior=prior
    )
    attrs = (
        system.attrs
        | {"result": "plan_suite"}
        | describe_goal(goal, SECONDS, negative)
        | {"across": across}
    )
    attrs |= {
        name: value
        for name, value in (("paired", paired), ("correlation", correlation), ("prior", prior))
        if value is not None
    }
    attrs |= {"shared": " ".join(served)} if served else {}
    if correlation is None:
        attrs |= {
            "benchmarks": f"shared: {' '.join(served[: min(in_pilot)])}"
            if min(in_pilot)
            else "independent (assumed)"
        }
    result = apply(
        lambda *values: plan_suites(values, rules, variables),
        *arrays,
        *prices,
        core=[*[[across, *nest]] * len(sides), *[[across, PRICE]] * len(sides)],
        outputs=variables,
        coords={across: labels.tolist(), LEVEL: list(nest), BUDGET_FACTOR: FACTORS},
        attrs=attrs | weighing.attrs,
    )
    if goal.budget is not None and not any(map(is_chunked, arrays)):
        check_affordable(result["least_budget"], goal.budget, goal.min_units, nest[0], SECONDS)
    mixed = name_suites(result, arrays[0], arrays[0].notnull().any(nest), across)
    assumed = (
        ()
        if correlation is not None or shared == () or min(in_pilot)
        else together_notes(sides, across, paired is not None)
    )
    all_notes = (
        *system.notes,
        *weighing.notes,
        stated,
        mixed,
        *assumed,
        dependence_note(sides, paired is not None),
    )
    return with_notes(result, *all_notes, checks=("suite_plans",))


def _check_shared(
    data: Timings, across: str, shared: str | tuple[str, ...] | None, of_shared: dict[str, Any]
) -> tuple[str, ...]:
    """Return the shared levels.

    Raise unless there are benchmarks to plan together and the levels are the outermost.
    """
    check_dim(data.array, across)
    if across in data.levels:
        raise ValueError(
            f"across={across!r} is a level of the nest {data.levels}; benchmarks lie along a "
            "dim that is not"
        )
    named = (
        ()
        if shared in (AUTO, BINARY) and BINARY not in data.levels
        else BINARY
        if shared == AUTO
        else shared
    )
    if named is None or len(named) == 0:
        for name, value in of_shared.items():
            if value is not None:
                raise ValueError(
                    f"{name}={value!r} is about units that benchmarks share; name their level "
                    f"with shared=, one of {data.levels}"
                )
        return ()
    served = check_names(named, "shared")
    for name in served:
        check_choice(name, "shared", data.levels)
    if served != data.levels[: len(served)]:
        raise ValueError(
            f"shared={listed(served)} is not the outermost level {data.levels[0]!r} (or "
            "several, from the outside in): units inside one of "
            "those cannot serve every benchmark unless it does too; name it, or choose "
            f"levels= that start at {served[0]!r}"
        )
    if of_shared["paired"] is not None and len(served) > 1:
        raise ValueError(
            f"paired={of_shared['paired']!r} with several shared levels ({listed(served)}) has "
            f"no plan yet; share {served[0]!r} alone"
        )
    return served


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
                f"costs[{level!r}] differs between benchmarks; one {level} serves them all and "
                "has one price"
            )
    return prices


def _outputs(across: str, systems: int) -> dict[str, Output]:
    along = {
        "repetitions": "repetitions inside one parent",
        "unrounded": "continuous solution",
        "already": "repetitions inside one parent in the pilot",
        "more": "units to add to the pilot, and the counts inside each",
    }
    of_baseline = {
        "baseline_repetitions": "the baseline's repetitions inside one parent",
        "baseline_already": "the baseline's repetitions inside one parent in the pilot",
        "baseline_more": "units to add to the baseline's pilot, and the counts inside each",
    }
    relative = (
        "half_width",
        "half_width_lower",
        "half_width_upper",
        "more_half_width",
        "default_half_width",
    )
    counts = along | (of_baseline if systems > 1 else {})
    return (
        outputs("1", (across, LEVEL), **counts)
        | {"merged": Output((across, LEVEL), "", bool, "one repetition is best")}
        | outputs(SECONDS, (across,), seconds="the benchmark's own part of the cost")
        | outputs(SECONDS, cost="", least_budget="")
        | outputs(
            **dict.fromkeys(relative, "relative, of the geometric mean"),
            n="independent units of the pilot",
        )
        | outputs(
            "1", (BUDGET_FACTOR,), half_width_by_budget="at so many times the cost, before rounding"
        )
        | outputs("1", (BUDGET_FACTOR,), default_half_width_by_budget="at so many times the cost")
        | {"advice": Output((), "", object)}
    )


@check("suite_plans")
def suite_plan_notes(result: xr.Dataset) -> tuple[Note | None, ...]:
    """Count the suites without a plan, by reason."""
    n, cost, outermost = (
        result["n"].values,
        result["cost"].values,
        str(result.attrs["levels"]).split()[0],
    )
    alone = (
        f"{{cells}} have a benchmark with fewer than two units ({outermost}) and have no plan: "
        "one shows no spread"
    )
    constant = "{cells} show no variation at any level and have no plan"
    repetitions = result["repetitions"].isel({LEVEL: 0}, drop=True)
    absent = repetitions.isnull() & result["cost"].notnull()
    return (
        count_note("single_unit", alone, n < 2, "suites"),
        count_note("no_variation", constant, np.isnan(cost) & (n > 1), "suites"),
        cells_note(
            "no_value",
            "{cells} have no measured value and are not in the plan",
            repetitions,
            absent.values,
        ),
    )


class Rules(NamedTuple):
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
    arrays: Sequence[Floats], rules: Rules, outputs: Mapping[str, Output]
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
    sizes, blanks = (
        {LEVEL: levels, BUDGET_FACTOR: len(FACTORS)},
        {float: np.nan, bool: False, object: NO_PLAN},
    )
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
    values: list[Floats], prices: list[Floats], measured: np.ndarray, rules: Rules
) -> list[SuitePilot]:
    """Estimate the systems of one suite, or their pairs, or every benchmark of them where they share no units."""
    if not measured.any():
        return []
    shares = rules.shares[measured] / rules.shares[measured].mean() / measured.sum()
    systems, known = [], []
    for array, cost in zip(values, prices, strict=True):
        components = nested_anova(array, len(rules.levels), rules.negative)
        components, learned = (
            moderate_components(components, of_suite=True)
            if rules.prior
            else (components, np.zeros(len(rules.levels)))
        )
        systems.append((array, cost, components))
        known.append(learned)
    if rules.paired:
        sharing = rules.sharing[0]._replace(in_pilot=min(each.in_pilot for each in rules.sharing))
        return [suite_pilot(systems, shares, sharing)]
    if rules.sharing[0].planned:
        return [
            suite_pilot([system], shares, sharing)
            for system, sharing in zip(systems, rules.sharing, strict=True)
        ]
    benchmarks = [slice(number, number + 1) for number in range(len(shares))]
    return [
        suite_pilot([(array[b], cost[b], of_system.rows(b))], shares[b], Sharing(), learned)
        for (array, cost, of_system), learned in zip(systems, known, strict=True)
        for b in benchmarks
    ]


def _plan_one(pilots: list[SuitePilot], rules: Rules) -> dict[str, Any]:
    """Plan one suite: the variables of its plan.

    Where there is nothing to plan from, only what is known.
    """
    goal, n = rules.goal, min((pilot.n for pilot in pilots), default=0.0)
    if n < 2:
        return {"n": n}
    forest = side_by_side([pilot.tree for pilot in pilots])
    one_of_everything = float(forest.cost.sum())
    least_budget = goal.min_units * one_of_everything
    if not forest.variance.sum() > 0:
        return {"n": n}
    if goal.budget is not None and least_budget > goal.budget:
        return {"n": n, "least_budget": least_budget}
    plan = plan_assured(pilots, goal)
    evidence, budgets = plan.evidence.along(), plan.cost * np.array(FACTORS)
    units, noise = narrowest(forest, budgets, goal.min_units, goal.probability)
    with np.errstate(divide="ignore", invalid="ignore"):
        default_units = np.floor(
            np.append(budgets, goal.budget or plan.cost) / one_of_everything + ROUNDING
        )
        default = half_width_of_noise(
            forest.variance.sum() / default_units, default_units, evidence, goal
        )
    low, high = half_width_limits(plan.units.min(), np.asarray(plan.inside), plan.evidence, goal)
    more, more_half_width = units_to_add(pilots, plan, goal)
    spent = (forest.cost * forest.totals(plan.counts))[forest.paths]
    planned, by_benchmark = rules.sharing[0].planned, (-1, len(rules.names))
    counts, unrounded = _counts(pilots, plan, more, by_benchmark)
    merged = unrounded <= 1 + ROUNDING
    merged[:, 0] = False
    lowest = float(spent[:, -1].sum()) / plan.cost if planned < len(rules.levels) else 1.0
    baseline = {f"baseline_{name}": by_system[-1] for name, by_system in counts.items()}
    return (
        {name: by_system[0] for name, by_system in counts.items()}
        | (baseline if len(counts["repetitions"]) > 1 else {})
        | {
            "unrounded": unrounded,
            "merged": merged,
            "seconds": spent[:, planned:].sum(axis=1).reshape(by_benchmark).sum(axis=0),
            "cost": plan.cost,
            "least_budget": least_budget,
            "half_width": plan.half_width,
            "half_width_lower": low,
            "half_width_upper": high,
            "more_half_width": more_half_width,
            "default_half_width": default[-1],
            "n": n,
            "half_width_by_budget": half_width_of_noise(noise, units, evidence, goal),
            "default_half_width_by_budget": default[:-1],
            "advice": advice_on_suite(
                counts["repetitions"], counts["already"], lowest, n, rules.levels, rules.names
            ),
        }
    )


def _counts(
    pilots: list[SuitePilot], plan: SuitePlan, more: Floats, by_benchmark: tuple[int, int]
) -> tuple[dict[str, Floats], Floats]:
    """Return the counts (systems, benchmarks, L) of a plan, and those of the continuous solution for the candidate (benchmarks, L)."""
    forest, total = plan.forest, np.concatenate([pilot.total for pilot in pilots])
    smooth = forest.inside_parent(
        continuous(forest, np.asarray(plan.units.min()), budget=plan.cost)
    )
    added = more[np.searchsorted(forest.roots, forest.paths[:, :1])]
    # Two systems lie one after the other, as the rows of a pair do.
    rows = {
        "repetitions": plan.counts[forest.paths],
        "already": total
        / np.column_stack(
            [np.ones(len(total)), np.where(total[:, :-1] > 0, total[:, :-1], np.nan)]
        ),
        "more": np.column_stack([added, plan.counts[forest.paths][:, 1:] * (added > 0)]),
    }
    shape = (*by_benchmark, forest.paths.shape[1])
    return {name: counts.reshape(shape) for name, counts in rows.items()}, smooth[
        forest.paths
    ].reshape(shape)[0]
