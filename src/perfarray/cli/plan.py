"""`perfarray plan`: prices given or asked for, and what they buy."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, form, give, give_failure, noted, rows_of
from perfarray.cli.plan_words import sentences
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, quoted, reporting
from perfarray.conventions import EXECUTION, ITERATION, SECONDS, price_of, seconds_factor

if TYPE_CHECKING:
    import xarray as xr

AMOUNT = re.compile(r"([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([a-zA-Zµμ]*)")

OPTIONS = options.SPOKEN | {
    "costs": "--cost",
    "cost_units": "--units",
    "budget": "--budget",
    "half_width": "--half-width",
    "min_units": "--min-units",
    "confidence_level": "--confidence",
    "baseline": "--baseline",
    "levels": "--levels",
    "metric": "--metric",
}
"""The options that stand for arguments of the planners."""

DURATIONS = {"m": 60.0, "d": 86400.0, "day": 86400.0, "days": 86400.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What the experiment may cost: prices and budget as they were typed, their unit, and whether a build serves the whole suite."""

    costs: list[str]
    budget: str | None
    units: str
    suite: bool


def plan(
    path: Annotated[
        str, typer.Argument(help="Timings of a pilot experiment: a file, a folder or a quoted glob pattern.", show_default=False)
    ],
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LEVEL=PRICE",
            help="What starting one more of a level costs: execution=0.8, binary=95s. If not given: what the files say, else asked for.",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="What each plan may cost, one a benchmark (with --suite: all of it): 8h, 30min, or a number. Never exceeded."),
    ] = None,
    half_width: Annotated[
        float | None, typer.Option(parser=options.fraction, metavar="SHARE", help="The half-width to reach, relative: 1% or 0.01.")
    ] = None,
    units: Annotated[Literal["s", "iterations"], typer.Option(help="The unit of prices and budget.")] = "s",
    suite: Annotated[bool, typer.Option("--suite", help="One build (or session) serves every benchmark: plan them together.")] = False,
    baseline: Annotated[str | None, typer.Option(help="The label of the system to compare with: plan the ratio.")] = None,
    min_units: Annotated[int | None, typer.Option(help="The fewest repetitions of the outermost level: 5 (default).")] = None,
    confidence: options.Confidence = None,
    levels: options.Levels = None,
    metric: options.Metric = None,
    format: options.Format = None,
    layout: options.Layout = None,
    dims: options.Dims = None,
    pattern: options.Pattern = None,
    encoding: options.Encoding = None,
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
    wanted = form(output, file, json=json)
    nest = options.given(levels=options.names(levels), metric=metric)
    choices = options.given(confidence_level=confidence, baseline=baseline, half_width=half_width, min_units=min_units)
    said = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    prices = Prices(costs=cost or [], budget=budget, units=units, suite=suite)
    failing = partial(give_failure, {"pilot": path, "plans": [], "attrs": {}, "notes": []}, wanted)
    with reporting(failing, options=OPTIONS) as warned:
        times = perfarray.read_archive(path, **said)
        found = _plan(times, prices, nest, choices)
    code, rows = NOTHING_SLOWER if bool(found["cost"].notnull().any()) else NO_ANSWER, rows_of(found, list(map(str, found["cost"].dims)))
    attrs, notes = noted(found)
    content = {"pilot": path, "plans": rows, "attrs": attrs, "notes": notes}
    answer = Answer(table=perfarray.table(found, sort=sort), rows=rows, content=content, outcome=" ".join(sentences(found)), code=code)
    give(answer, wanted, warned)


def _plan(times: "xr.Dataset", prices: Prices, nest: dict[str, Any], choices: dict[str, Any]) -> "xr.Dataset":
    """Ask for what is missing, and plan."""
    costs = _given_costs(prices.costs, prices.units)
    _check_files(times, choices.get("baseline"))
    levels = perfarray.counts(times, **nest)["level"].values.tolist()
    costs = _asked_costs(costs, [level for level in levels[:-1] if price_of(level) not in times.coords], prices.units)
    if prices.budget is not None:
        choices["budget"] = amount(prices.budget, prices.units)
    elif "half_width" not in choices:
        what = "a number, or 8h" if prices.units == SECONDS else prices.units
        choices["budget"] = _ask(f"What may the experiment cost ({what})?", prices.units)
    if not prices.suite:
        return perfarray.plan_repetitions(times, costs=costs, cost_units=prices.units, **nest, **choices).to_dataset()
    if prices.units != SECONDS:
        raise ValueError("--suite plans in seconds: leave --units out")
    shared = levels[0] if levels[0] not in (EXECUTION, ITERATION) else None
    return perfarray.plan_suite(times, costs=costs, shared=shared, **nest, **choices).to_dataset()


def _check_files(times: "xr.Dataset", baseline: str | None) -> None:
    """Raise where files hold what cannot be planned without saying more."""
    if "file" in times.dims and times.sizes["file"] > 1 and baseline is None:
        raise ValueError(
            f"several files hold the same benchmarks ({quoted(times['file'].values.tolist(), 3)}); say with --layout what a file is, as in "
            '--layout "{session}.json"'
        )


def _given_costs(texts: Iterable[str], units: str) -> dict[str, float]:
    """Read `execution=0.8` and `binary=95s`."""
    costs = {}
    for text in texts:
        name, sign, price = text.partition("=")
        if not sign:
            raise ValueError(f"--cost {text!r}: write level=price, as in --cost execution=0.8")
        costs[name.strip()] = amount(price, units)
    return costs


def _asked_costs(costs: dict[str, float], levels: Sequence[str], units: str) -> dict[str, float]:
    """Ask for the prices of levels that were not given."""
    what = {
        "binary": "making one more build",
        "session": "starting one more session",
        "execution": "starting and warming up one more execution",
    }
    found = dict(costs)
    for level in levels:
        if level not in found:
            doing = what.get(level, f"starting one more {level}")
            found[level] = _ask(f"What does {doing} cost ({'seconds' if units == SECONDS else units})?", units)
    return found


def _ask(question: str, units: str) -> float:
    """Ask on the terminal for an amount, again until the answer is one; where nobody answers, say what option would have.

    The question goes to stderr, whole: stdout holds the answer of the command and nothing else.
    """
    while True:
        typer.echo(f"{question} ", nl=False, err=True)
        try:
            return amount(input(), units)
        except EOFError:
            typer.echo(err=True)
            raise ValueError(f"no answer to: {question} (options: --cost LEVEL=PRICE, --budget, --half-width)") from None
        except ValueError as error:
            typer.echo(f"{error}", err=True)


def amount(text: str, units: str) -> float:
    """Read `8h`, `90 s`, `0.8` or, in iterations, `5343`."""
    found = AMOUNT.fullmatch(text.strip())
    number = _number(found[1]) if found else math.nan
    if found is None or math.isnan(number):
        raise ValueError(f"{text!r} is no amount; write a number{', or one with a unit, as in 8h or 95s' if units == SECONDS else ''}")
    if not found[2]:
        return number
    factor = seconds_factor(found[2]) or DURATIONS.get(found[2])
    if units != SECONDS or factor is None:
        known = "ms, s, min, h, d" if units == SECONDS else "none: --units iterations counts iterations"
        raise ValueError(f"{text!r}: {found[2]!r} is no unit here; known: {known}")
    return number * factor


def _number(text: str) -> float:
    """Return a number, NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan
