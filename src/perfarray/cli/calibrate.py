"""`perfarray calibrate`: the least thresholds at which nothing is called a change by chance."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, Target, answering, described, give
from perfarray.cli.options import percent
from perfarray.cli.problems import NO_ANSWER, counted, reporting
from perfarray.cli.reading import read_sessions
from perfarray.cli.selecting import select as select_labels
from perfarray.cli.thresholds import text_of_thresholds
from perfarray.conventions import BENCHMARK

if TYPE_CHECKING:
    import xarray as xr

TOML: Final = ".toml"

OPTIONS = options.spoken("statistic method prior between false_alarms")


def calibrate(
    place: options.Archive,
    *,
    false_alarms: Annotated[
        float | None, options.share("The rate of false alarms at the thresholds: 1% (default).")
    ] = None,
    confidence: options.Confidence = None,
    statistic: Annotated[
        Literal["mean", "median"] | None,
        typer.Option(help="As compare will be called: mean (default) or median."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="As compare will be called; default: as compare's.")
    ] = None,
    prior: Annotated[
        Literal["suite"] | None, typer.Option(help="As compare will be called.")
    ] = None,
    between: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE|SD,DF",
            help="As compare will be called: necessary where a session is one execution.",
        ),
    ] = None,
    select: options.Select = None,
    reading: options.Reading,
    nest: options.Nest,
    sort: options.Sort = None,
    target: Target,
) -> None:
    """Find for each benchmark the least threshold at which `compare` has 1 % false alarms.

    The place holds sessions of one program, such as a file for each, or a history (a dim commit,
    date or build), of which the changes are left out. `-o thresholds.toml` writes a file for
    `perfarray compare OLD NEW --thresholds thresholds.toml`.

    Exit code 0: there are thresholds.
    Exit code 2: no answer; a file cannot be read, too few sessions, a wrong option.

    Example: perfarray calibrate nightly/ -o thresholds.toml
    """
    from perfarray.results.rows import records

    choices = options.given(
        false_alarms=false_alarms,
        confidence_level=confidence,
        statistic=statistic,
        method=method,
        prior=prior,
        rng=None if method is None else 1,
    )
    paths = {"archive": place}
    with answering(target, paths, "thresholds", "attrs", "notes", options=OPTIONS) as sentences:
        times = read_sessions(place, reading)
        if isinstance(times, tuple):
            raise ValueError(f"{place} is no place with several sessions")
        times = select_labels(times, select)
        if between is not None:
            choices["between"] = read_sessions(between, reading)
        result = perfarray.calibrate(times, rules=None, **nest, **choices)
        toml = target.file if target.file and target.file.suffix.lower() == TOML else None
        text = text_of_thresholds(result) if toml else ""
    table = perfarray.table(result, sort=sort)
    code, outcome = _outcome(result)
    lines = []
    if toml and code != NO_ANSWER:
        from perfarray.tables.replacing import write_text

        with reporting():
            write_text(toml, text)
        lines = [f"{toml}: for perfarray compare OLD NEW --thresholds {toml}"]
    rows = records(result.drop_vars("suite_threshold"), table.places.dims, table.places.positions)
    answer = Answer(
        table=table,
        rows=rows,
        content={**paths, "thresholds": rows, **described(result)},
        outcome=outcome,
        code=code,
        lines=lines,
        legend=_legend(result),
    )
    give(answer, replace(target, file=None) if toml else target, sentences, OPTIONS)


def _outcome(result: "xr.Dataset") -> tuple[int, str]:
    number = int(result["threshold"].notnull().sum())
    if not number:
        return NO_ANSWER, "no answer: too few sessions, or no comparison has an interval"
    ends = [percent(float(end)) for end in (result["threshold"].min(), result["threshold"].max())]
    between = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
    return 0, (
        f"{counted(number, 'threshold')} with {percent(result.attrs['false_alarms'])} false "
        f"alarms: {between}"
    )


def _legend(result: "xr.Dataset") -> list[str]:
    suite = result["suite_threshold"]
    lines = [
        f"threshold: at it compare calls {percent(result.attrs['false_alarms'])} of comparisons of "
        "one session a side slower or faster, though nothing changed; with its "
        f"{100 * result.attrs['confidence_level']:.4g} % limits.",
        "change seen: the slowdown that compare sees at the threshold in 80 % of comparisons.",
    ]
    if not suite.ndim and not math.isnan(float(suite)) and result.sizes.get(BENCHMARK, 1) > 1:
        lines.append(f"Of all together the threshold is {percent(float(suite))}.")
    return lines
