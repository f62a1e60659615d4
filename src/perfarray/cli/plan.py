"""`perfarray plan`: how many repetitions to run, for prices that are given or asked for."""

import math
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, Target, answering, described, give
from perfarray.cli.prices import (
    amount,
    ask,
    costs_by_level,
    given_costs,
    named_levels,
    with_answers,
)
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, counted, quoted
from perfarray.cli.reading import read_one
from perfarray.conventions import BENCHMARK, EXECUTION, ITERATION, SECONDS, plural, price_of
from perfarray.results.words import duration, percent

if TYPE_CHECKING:
    import xarray as xr

TURNS = 12  # executions in a line

OPTIONS = options.spoken(
    "budget half_width assurance min_units baseline", costs="--cost", cost_units="--units"
)


def plan(
    path: Annotated[
        str,
        typer.Argument(
            help="Read a pilot experiment: a file, a folder or a quoted glob pattern.",
            show_default=False,
        ),
    ],
    *,
    costs: options.Costs = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help=(
                "Spend at most this: 8h, 30min, or a number. Each benchmark has a plan; with "
                "--suite it is for all together."
            )
        ),
    ] = None,
    half_width: options.HalfWidth = None,
    units: options.CostUnits = "s",
    suite: Annotated[
        bool,
        typer.Option(
            "--suite",
            help=("Plan all benchmarks together, where one build (or session) serves them all."),
        ),
    ] = False,
    dim: Annotated[
        str | None,
        typer.Option(help="Name the dim of the baseline. Default: the one that has its label."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Plan the ratio to this system."),
    ] = None,
    interleave: Annotated[
        bool,
        typer.Option(
            "--interleave",
            help=(
                "Print in which order to measure both sides, in turns, so that a drift affects "
                "both. Needs --baseline."
            ),
        ),
    ] = False,
    min_units: Annotated[
        int | None,
        typer.Option(
            help=("Plan at least this many repetitions of the outermost level. Default: 5.")
        ),
    ] = None,
    assurance: Annotated[
        float | None,
        options.share(
            "Of experiments of the planned size that reach the half-width: 50% (default)."
        ),
    ] = None,
    confidence: options.Confidence = None,
    nest: options.Nest,
    reading: options.Reading,
    files_are: options.FilesAre = None,
    select: options.Select = None,
    sort: options.Sort = None,
    target: Target,
) -> None:
    """Plan how many builds, executions and iterations to run, for a budget or for a half-width.

    Exit code 0: there is a plan.
    Exit code 2: no plan: a file cannot be read, the budget is too small, a single execution shows
    no spread, or an option is wrong.

    Example: perfarray plan pilot.csv --cost execution=0.8 --cost binary=95 --budget 8h
    """
    from perfarray.results.rows import records
    from perfarray.timings.progress import telling_time

    choices = options.given(
        confidence_level=confidence,
        dim=dim,
        baseline=baseline,
        half_width=half_width,
        assurance=assurance,
        min_units=min_units,
    )
    keys = ("plans", "attrs", "notes")
    # A question may be asked, beside which no time is told.
    with answering(target, {"pilot": path}, *keys, options=OPTIONS, tells_time=False) as warned:
        if interleave and baseline is None:
            raise ValueError(
                "--interleave is the order of two systems: name the one that is compared with, "
                "--baseline LABEL"
            )
        prices = given_costs(costs or (), units, named_levels(nest.get("levels"), reading))
        choices |= options.given(budget=None if budget is None else amount(budget, units))
        times = read_one(path, reading, files_are, warned, select)
        if times.sizes.get("file", 1) > 1 and baseline is None:
            raise ValueError(
                "several files hold the same benchmarks "
                f"({quoted(times['file'].values.tolist(), 3)}). What is a file? --files-are "
                "session: one run of the whole harness. --files-are execution: one of several "
                "executions. --layout: what its name says"
            )
        prices, choices = _ask(
            times, costs_by_level(prices, str(times.attrs.get("format", ""))), units, nest, choices
        )
        with telling_time("plan"):
            result = _planned(times, prices, units, nest, choices, suite=suite)
    table, rows = (
        perfarray.table(result, sort=sort),
        records(result, [str(dim) for dim in result["cost"].dims]),
    )
    has_plan = bool(result["cost"].notnull().any())
    order = _in_turns(result) if interleave and has_plan else []
    turns = [
        f"    {' '.join(order[start : start + TURNS])}" for start in range(0, len(order), TURNS)
    ]
    answer = Answer(
        table=table if has_plan else table.iloc[:0],
        rows=rows,
        content={
            "pilot": path,
            "plans": rows,
            **({"order": order} if order else {}),
            **described(result),
        },
        outcome=" ".join(sentences(result)),
        code=NOTHING_SLOWER if has_plan else NO_ANSWER,
        lines=[f"In turns, {len(order) // 2} pairs:", *turns] if order else (),
        legend=[f"{table.attrs['about']}."],
    )
    give(answer, target, warned)


def _in_turns(plan: "xr.Dataset") -> list[str]:
    """Return the order of both systems' repetitions: each pair begins with the last one's end."""
    dim, old = str(plan.attrs.get("dim", "")), str(plan.attrs["baseline"])
    new = str(plan[dim].values.ravel()[0]) if dim in plan.coords and plan[dim].size == 1 else "new"
    pairs = int(plan["repetitions"].isel(level=0).max())
    return [name for pair in range(pairs) for name in ((old, new) if pair % 2 == 0 else (new, old))]


def _ask(
    times: "xr.Dataset",
    costs: dict[str, float],
    units: str,
    nest: dict[str, Any],
    choices: dict[str, Any],
) -> tuple[dict[str, float], dict[str, Any]]:
    """Ask for the prices that are missing, and for the budget.

    A pilot without variation is an error before any question.
    """
    counts = perfarray.counts(times, **nest)
    levels = counts["level"].values.tolist()
    priced = [level for level in levels[:-1] if price_of(level) not in times.coords]
    has_goal = "budget" in choices or "half_width" in choices
    if float(counts["total"].isel(level=0).max()) < 2 and not (has_goal and {*priced} <= {*costs}):
        reasons = [
            note.message for note in perfarray.notes(counts) if note.code == "single_unit"
        ] or ["Nothing was measured"]
        raise ValueError(f"no plan from this pilot. {reasons[0]}")
    costs = with_answers(costs, priced, units)
    if not has_goal:
        choices = choices | {
            "budget": ask(
                "What may the experiment cost "
                f"({'a number, or 8h' if units == SECONDS else units})?",
                units,
            )
        }
    return costs, choices


def _planned(
    times: "xr.Dataset",
    costs: dict[str, float],
    units: str,
    nest: dict[str, Any],
    choices: dict[str, Any],
    *,
    suite: bool,
) -> "xr.Dataset":
    """Plan each benchmark, or the suite."""
    if not suite:
        return perfarray.plan_repetitions(times, costs=costs, cost_units=units, **nest, **choices)
    if units != SECONDS:
        raise ValueError("--suite plans in seconds: leave --units out")
    outermost = str(perfarray.counts(times, **nest)["level"].values[0])
    shared = None if outermost in (EXECUTION, ITERATION) else outermost
    return perfarray.plan_suite(times, costs=costs, shared=shared, **nest, **choices)


def sentences(plan: "xr.Dataset") -> list[str]:
    """Write what to run, what it costs and what half-width it reaches."""
    subject = f"ratio to {plan.attrs['baseline']}" if "baseline" in plan.attrs else "mean"
    if plan.attrs["result"] == "plan_suite":
        return [_suite_sentence(name, cell) for name, cell in _cells(plan, plan["cost"])]
    cells = [
        (name, cell)
        for name, cell in _cells(plan, plan["repetitions"].isel(level=0))
        if math.isfinite(float(cell["cost"]))
    ]
    if not cells:
        return ["No plan: the pilot has one unit, or shows no variation at any level."]
    outermost = plan["level"].values[0]
    if len(cells) == 1:
        ((_, cell),) = cells
        return [
            f"Run {_repetitions(cell)}: {_promise(cell, subject, f'in each {outermost}')}.",
            *_advice(cell),
        ]
    total = _price(sum(float(cell["cost"]) for _, cell in cells), plan)
    name, widest = max(cells, key=lambda item: float(item[1]["half_width"]))
    half_width = f"{percent(float(widest['half_width']))} of the {subject} ({_level(plan)})"
    text = (
        f"Together {total} for {len(cells)} plans. The widest half-width is that of {name}, "
        f"{half_width}: {_repetitions(widest)}."
    )
    several_builds = BENCHMARK in plan.dims and "binary" in plan["level"].values
    return [
        text,
        *(
            ["If one build serves all benchmarks, --suite plans them together."]
            if several_builds
            else []
        ),
    ]


def _suite_sentence(name: str, cell: "xr.Dataset") -> str:
    """Write what the plan of one suite costs and reaches."""
    if math.isnan(float(cell["cost"])):
        return f"No plan{f' for {name}' if name else ''}: too few units, or no variation."
    instruction = "Run every benchmark"
    if "shared" in cell.attrs:
        units = (
            f"{float(cell['repetitions'].isel(level=0).max()):.0f} "
            f"{plural(str(cell['level'].values[0]))}"
        )
        old = (
            float(cell["baseline_repetitions"].isel(level=0).max())
            if "baseline_repetitions" in cell
            else math.nan
        )
        of_old = "" if math.isnan(old) else f" ({old:.0f} of {cell.attrs['baseline']})"
        instruction = f"Make {units}{of_old} and run every benchmark on each"
    promise = _promise(cell, "suite's geometric mean", "on each")
    return " ".join(
        [
            f"{f'{name}: ' if name else ''}{instruction} as the table says: {promise}.",
            *_advice(cell),
        ]
    )


def _promise(cell: "xr.Dataset", subject: str, where: str) -> str:
    """Write the price and the half-width, also of the outermost level repeated alone."""
    half_width = (
        f"a half-width of {percent(float(cell['half_width']))} of the {subject} ({_level(cell)})"
    )
    text = f"{_price(float(cell['cost']), cell)} for {half_width}"
    planned = [
        cell[name].isel(level=slice(1, None))
        for name in ("repetitions", "baseline_repetitions")
        if name in cell
    ]
    if not any((counts > 1).any() for counts in planned):
        return text
    return (
        f"{text}; running everything once {where} would give "
        f"{percent(float(cell['default_half_width']))}"
    )


def _advice(cell: "xr.Dataset") -> list[str]:
    advice = str(cell["advice"].item())
    return [f"{advice[0].upper()}{advice[1:]}."] if advice else []


def _cells(plan: "xr.Dataset", like: "xr.DataArray") -> "list[tuple[str, xr.Dataset]]":
    """Return the cells of a plan by their labels; the dims of `like` make cells."""
    cells = []
    for index in product(*map(range, like.shape)):
        indexers = dict(zip(like.dims, index, strict=True))
        labels = [
            str(like[dim].values[i])
            for dim, i in indexers.items()
            if like.sizes[dim] > 1 or dim == BENCHMARK
        ]
        cells.append((", ".join(labels), plan.isel(indexers)))
    return cells


def _repetitions(cell: "xr.Dataset") -> str:
    """Write counts: `16 binaries, each of 29 executions, each of 4 iterations`."""
    pairs = zip(cell["level"].values, cell["repetitions"].values, strict=True)
    return ", each of ".join(counted(number, str(level)) for level, number in pairs)


def _price(cost: float, plan: "xr.Dataset") -> str:
    units = str(plan.attrs["cost_units"])
    return duration(cost) if units == SECONDS else f"{cost:.0f} {units}"


def _level(plan: "xr.Dataset") -> str:
    return f"{100 * float(plan.attrs['confidence_level']):g} %"
