"""`perfarray plan`: prices given or asked for, and what they buy."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, form, give, give_failure, noted
from perfarray.cli.plan_words import sentences
from perfarray.cli.prices import amount, ask, asked_costs, by_level, given_costs, named_levels
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, quoted, reporting
from perfarray.cli.reading import read_one
from perfarray.conventions import EXECUTION, ITERATION, SECONDS, plural, price_of

if TYPE_CHECKING:
    import xarray as xr

OPTIONS = options.SPOKEN | {
    "costs": "--cost",
    "cost_units": "--units",
    "budget": "--budget",
    "half_width": "--half-width",
    "assurance": "--assurance",
    "min_units": "--min-units",
    "confidence_level": "--confidence",
    "baseline": "--baseline",
    "levels": "--levels",
    "metric": "--metric",
}
"""The options that stand for arguments of the planners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What the experiment may cost: prices by what they were called, the budget, their unit, and whether a build serves the whole suite."""

    costs: dict[str, float]
    budget: float | None
    units: str
    suite: bool


def plan(
    path: Annotated[str, typer.Argument(help="A pilot experiment: a file, a folder or a quoted glob pattern.", show_default=False)],
    cost: options.Cost = None,
    budget: Annotated[
        str | None,
        typer.Option(help="What each plan may cost, one a benchmark (with --suite: all of it): 8h, 30min, or a number. Never exceeded."),
    ] = None,
    half_width: Annotated[
        float | None, typer.Option(parser=options.fraction, metavar="SHARE", help="The half-width to reach, relative: 1% or 0.01.")
    ] = None,
    units: options.CostUnits = "s",
    suite: Annotated[bool, typer.Option("--suite", help="One build (or session) serves every benchmark: plan them together.")] = False,
    dim: Annotated[str | None, typer.Option(help="The dim of the baseline; default: the one that has its label.")] = None,
    baseline: Annotated[str | None, typer.Option(metavar="LABEL", help="The system to compare with: plan the ratio.")] = None,
    min_units: Annotated[int | None, typer.Option(help="The fewest repetitions of the outermost level: 5 (default).")] = None,
    assurance: Annotated[
        float | None,
        typer.Option(
            parser=options.fraction, metavar="SHARE", help="Of experiments of the planned size that reach the half-width: 50% (default)."
        ),
    ] = None,
    confidence: options.Confidence = None,
    levels: options.Levels = None,
    metric: options.Metric = None,
    format: options.Format = None,
    layout: options.Layout = None,
    dims: options.Dims = None,
    pattern: options.Pattern = None,
    encoding: options.Encoding = None,
    files_are: options.FilesAre = None,
    sort: options.Sort = None,
    output: options.Output = None,
    file: options.File = None,
    json: options.Json = False,
) -> None:
    """Plan how many builds, executions and iterations to run, for a budget or for a half-width.

    Exit code 0: there is a plan.
    Exit code 2: no answer; a file cannot be read, the budget is too small, a single execution shows no spread, a wrong option.

    Example: perfarray plan pilot.csv --cost execution=0.8 --cost binary=95 --budget 8h
    """
    from perfarray.timings.writing import rows_of

    target = form(output, file, path, json=json)
    nest = options.given(levels=options.names(levels), metric=metric)
    choices = options.given(
        confidence_level=confidence, dim=dim, baseline=baseline, half_width=half_width, assurance=assurance, min_units=min_units
    )
    reading = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    failing = partial(give_failure, {"pilot": path, "plans": [], "attrs": {}, "notes": []}, target)
    with reporting(failing, options=OPTIONS) as warned:
        named = named_levels(nest.get("levels"), dims, layout, pattern)
        most = None if budget is None else amount(budget, units)
        prices = Prices(costs=given_costs(cost or (), units, named), budget=most, units=units, suite=suite)
        times = read_one(path, reading, files_are, warned)
        result = _plan(times, prices, nest, choices)
    code, rows = NOTHING_SLOWER if bool(result["cost"].notnull().any()) else NO_ANSWER, rows_of(result, list(map(str, result["cost"].dims)))
    attrs, notes = noted(result)
    content = {"pilot": path, "plans": rows, "attrs": attrs, "notes": notes}
    table = perfarray.table(result, sort=sort)
    table, legend = table.iloc[:0] if code == NO_ANSWER else table, [f"{table.attrs['about']}."]
    answer = Answer(table=table, rows=rows, content=content, outcome=" ".join(sentences(result)), code=code, legend=legend)
    give(answer, target, warned)


def _plan(times: "xr.Dataset", prices: Prices, nest: dict[str, Any], choices: dict[str, Any]) -> "xr.Dataset":
    """Ask for what is missing, and plan."""
    costs = by_level(prices.costs, str(times.attrs.get("format", "")))
    _check_files(times, choices.get("baseline"))
    counted = perfarray.counts(times, **nest)
    levels = counted["level"].values.tolist()
    priced = [level for level in levels[:-1] if price_of(level) not in times.coords]
    if not {*priced} <= {*costs} or (prices.budget is None and "half_width" not in choices):
        _check_units(float(counted["total"].isel(level=0).max()), levels)
    costs = asked_costs(costs, priced, prices.units)
    if prices.budget is not None:
        choices["budget"] = prices.budget
    elif "half_width" not in choices:
        amount_text = "a number, or 8h" if prices.units == SECONDS else prices.units
        choices["budget"] = ask(f"What may the experiment cost ({amount_text})?", prices.units)
    if not prices.suite:
        return perfarray.plan_repetitions(times, costs=costs, cost_units=prices.units, **nest, **choices)
    if prices.units != SECONDS:
        raise ValueError("--suite plans in seconds: leave --units out")
    shared = levels[0] if levels[0] not in (EXECUTION, ITERATION) else None
    return perfarray.plan_suite(times, costs=costs, shared=shared, **nest, **choices)


def _check_units(most: float, levels: list[str]) -> None:
    """Raise where a pilot shows no variation, before anything is asked."""
    if most < 2:
        more = f", or leave that level out: --levels {','.join(levels[1:])}" if levels[1:] else ""
        unit, units = levels[0], plural(levels[0])
        raise ValueError(f"no plan: the pilot has one {unit} of each, which shows nothing of several {units}; measure two or more{more}")


def _check_files(times: "xr.Dataset", baseline: str | None) -> None:
    """Raise where files hold what cannot be planned without saying more."""
    if "file" in times.dims and times.sizes["file"] > 1 and baseline is None:
        raise ValueError(
            f"several files hold the same benchmarks ({quoted(times['file'].values.tolist(), 3)}); say what a file is: --files-are session "
            "(one run of the whole harness), --files-are execution (one of several executions), or with --layout what its name says"
        )
