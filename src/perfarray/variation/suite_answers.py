"""The plans of suites as arrays: what each cell's pilot says, its whole counts, and what they cost and promise."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from perfarray.numerics.moderated import moderate_components
from perfarray.numerics.nested_anova import nested_anova
from perfarray.numerics.types import Floats
from perfarray.timings.apply import LEVEL, Output
from perfarray.variation.advice import advice_on_suite
from perfarray.variation.costs import BUDGET_FACTOR, FACTORS
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

NO_PLAN = "no plan: the pilot has one unit, no variation at any level, or too little to spend"


class Rules(NamedTuple):
    """What holds for every suite of a call; `shares` are the weights of the benchmarks in the mean."""

    goal: Goal
    levels: tuple[str, ...]
    sharing: tuple[Sharing, ...]
    names: tuple[str, ...]
    shares: Floats
    negative: str
    paired: bool
    prior: str | None = None


def plan_suites(arrays: Sequence[Floats], rules: Rules, outputs: Mapping[str, Output]) -> list[np.ndarray]:
    """Plan suite by suite: a plan is a search, and suites are few.

    `arrays` are the timings (..., benchmarks, n_L, ..., n_1) of each system, then the prices (..., benchmarks, L) of each.
    """
    systems, levels, benchmarks = len(arrays) // 2, len(rules.levels), len(rules.names)
    core = [levels + 1] * systems + [2] * systems
    batches = [array.shape[: array.ndim - axes] for array, axes in zip(arrays, core, strict=True)]
    outer = np.broadcast_shapes(*batches)
    cells = [np.broadcast_to(array, (*outer, *array.shape[len(batch) :])) for array, batch in zip(arrays, batches, strict=True)]
    sizes, blanks = {LEVEL: levels, BUDGET_FACTOR: len(FACTORS)}, {float: np.nan, bool: False, object: NO_PLAN}
    answers = {
        name: np.full((*outer, *(sizes.get(dim, benchmarks) for dim in output.dims)), blanks[output.dtype], dtype=output.dtype)
        for name, output in outputs.items()
    }
    for cell in np.ndindex(*outer):
        values, prices = [array[cell] for array in cells[:systems]], [array[cell] for array in cells[systems:]]
        # A benchmark that was not measured in every system has no plan.
        measured = ~np.any([np.isnan(array).all(axis=tuple(range(1, array.ndim))) for array in values], axis=0)
        pilots = _pilots([array[measured] for array in values], [array[measured] for array in prices], measured, rules)
        names = tuple(name for name, has_data in zip(rules.names, measured, strict=True) if has_data)
        for name, value in _plan_one(pilots, rules._replace(names=names)).items():
            along_benchmarks = bool(set(outputs[name].dims) - set(sizes))
            answers[name][(*cell, measured) if along_benchmarks else cell] = value
    return list(answers.values())


def _pilots(values: list[Floats], prices: list[Floats], measured: np.ndarray, rules: Rules) -> list[SuitePilot]:
    """Estimate the systems of one suite, or their pairs, or every benchmark of them where they share no units."""
    if not measured.any():
        return []
    shares = rules.shares[measured] / rules.shares[measured].mean() / measured.sum()
    systems, known = [], []
    for array, cost in zip(values, prices, strict=True):
        components = nested_anova(array, len(rules.levels), rules.negative)
        components, learned = moderate_components(components, of_suite=True) if rules.prior else (components, np.zeros(len(rules.levels)))
        systems.append((array, cost, components))
        known.append(learned)
    if rules.paired:
        sharing = rules.sharing[0]._replace(in_pilot=min(each.in_pilot for each in rules.sharing))
        return [suite_pilot(systems, shares, sharing)]
    if rules.sharing[0].planned:
        return [suite_pilot([system], shares, sharing) for system, sharing in zip(systems, rules.sharing, strict=True)]
    benchmarks = [slice(number, number + 1) for number in range(len(shares))]
    return [
        suite_pilot([(array[b], cost[b], of_system.rows(b))], shares[b], Sharing(), learned)
        for (array, cost, of_system), learned in zip(systems, known, strict=True)
        for b in benchmarks
    ]


def _plan_one(pilots: list[SuitePilot], rules: Rules) -> dict[str, Any]:
    """Plan one suite: the variables of its plan; where there is nothing to plan from, only what is known."""
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
        default_units = np.floor(np.append(budgets, goal.budget or plan.cost) / one_of_everything + ROUNDING)
        default = half_width_of_noise(forest.variance.sum() / default_units, default_units, evidence, goal)
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
            "advice": advice_on_suite(counts["repetitions"], counts["already"], lowest, n, rules.levels, rules.names),
        }
    )


def _counts(pilots: list[SuitePilot], plan: SuitePlan, more: Floats, by_benchmark: tuple[int, int]) -> tuple[dict[str, Floats], Floats]:
    """Return the counts (systems, benchmarks, L) of a plan, and those of the continuous solution for the candidate (benchmarks, L)."""
    forest, total = plan.forest, np.concatenate([pilot.total for pilot in pilots])
    smooth = forest.inside_parent(continuous(forest, np.asarray(plan.units.min()), budget=plan.cost))
    added = more[np.searchsorted(forest.roots, forest.paths[:, :1])]
    # Two systems lie one after the other, as the rows of a pair do.
    rows = {
        "repetitions": plan.counts[forest.paths],
        "already": total / np.column_stack([np.ones(len(total)), np.where(total[:, :-1] > 0, total[:, :-1], np.nan)]),
        "more": np.column_stack([added, plan.counts[forest.paths][:, 1:] * (added > 0)]),
    }
    shape = (*by_benchmark, forest.paths.shape[1])
    return {name: counts.reshape(shape) for name, counts in rows.items()}, smooth[forest.paths].reshape(shape)[0]
