"""`perfarray compare`: read two sides, compare them, say what changed; the exit code says whether anything is slower."""

import math
from functools import partial
from typing import Annotated, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.about import MORE
from perfarray.cli.comparison import Comparison, changes, comparison, first, in_words, legend, measured
from perfarray.cli.forms import Answer, form, give, give_failure, noted
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, SHOWN, SOMETHING_SLOWER, quoted, reporting
from perfarray.cli.sides import Sources, absent, read_sides
from perfarray.conventions import BENCHMARK, plural

MOST = 30
"""Rows that are shown where none has an answer."""

SEED = 1
"""The same files give the same answer."""

OPTIONS = options.SPOKEN | {
    name: f"--{name}" for name in ("threshold", "correction", "statistic", "value", "method", "shared", "paired", "by")
}
"""The options that stand for arguments of the comparison."""


def compare(
    old: options.Archive,
    new: Annotated[
        str | None,
        typer.Argument(help="The same; without it, labels in the first are compared: see --dim, --baseline.", show_default=False),
    ] = None,
    dim: options.Dim = None,
    baseline: options.Baseline = None,
    threshold: options.Threshold = None,
    confidence: options.Confidence = None,
    correction: options.Correction = None,
    statistic: Annotated[
        Literal["mean", "median"], typer.Option(help="What is compared: the means of the runs, or their medians.")
    ] = "mean",
    value: Annotated[str | None, typer.Option(help="The level whose repetitions are the runs of a median; default: execution.")] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Of the intervals and p-values: fieller (default of means), studentized, ..., order_statistics (default of medians), "
            "rank (of medians, if both sides have one shape); a bootstrap draws the same each time."
        ),
    ] = None,
    levels: options.Levels = None,
    metric: options.Metric = None,
    format: options.Format = None,
    layout: options.Layout = None,
    dims: options.Dims = None,
    pattern: options.Pattern = None,
    encoding: options.Encoding = None,
    files_are: options.FilesAre = None,
    shared: Annotated[str | None, typer.Option(help="Levels whose units serve all benchmarks, as in binary.")] = None,
    paired: Annotated[str | None, typer.Option(help="The outermost level, when its units match between the sides.")] = None,
    by: Annotated[str | None, typer.Option(help="A coordinate of the benchmarks, as in suite: a suite row for each of its values.")] = None,
    sort: options.Sort = None,
    only_changes: Annotated[bool, typer.Option("--only-changes", help="Leave out what is equivalent or inconclusive.")] = False,
    output: options.Output = None,
    file: options.File = None,
    json: options.Json = False,
) -> None:
    """Compare every benchmark in NEW with OLD: whether it is faster or slower, by how much, and how sure that is.

    With one place, compare the labels of a dim in it with one of them: perfarray compare results/ --dim machine --baseline laptop

    Exit code 0: nothing is slower.
    Exit code 1: a benchmark or the suite is slower.
    Exit code 2: no answer; a file cannot be read, no benchmark is on both sides, a single execution shows no spread, a wrong option.

    Example: perfarray compare old.json new.json --threshold 2% --correction holm
    """
    target = form(output, file, old, new, json=json)
    reading = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    sources = Sources(old=old, new=new, reading=reading, files_are=files_are, dim=dim, baseline=baseline)
    nest = options.given(levels=options.names(levels), metric=metric)
    choices = options.given(
        threshold=threshold, confidence_level=confidence, correction=correction, shared=options.names(shared), paired=paired, by=by
    )
    choices |= {"statistic": statistic} | options.given(value=value)
    choices |= {} if method is None else {"method": method, "rng": SEED}
    failing = partial(give_failure, {**sources.paths, "benchmarks": [], "suites": [], "attrs": {}, "notes": []}, target)
    with reporting(failing, own_words=SHOWN, options=OPTIONS) as sentences:
        sides = read_sides(sources, sentences)
        counted = perfarray.counts(sides.times, censored="bound", **nest)
        result = perfarray.compare(sides.times, sides.baseline, dim=sides.dim, **nest, **choices)
        compared = comparison(result, counted)
        _check_both_sides(compared)
        sentences += _single_units(compared, str(sides.times.attrs.get("format", "several")))
    order = sort or ("effect" if target.kind == "markdown" else None)
    frame = measured(perfarray.table(result, sort=order), compared)
    code, outcome = _outcome(compared, in_words(compared, frame))
    lines = _lines_of_one_side(compared)
    legends = legend(compared)
    frame = changes(frame) if only_changes else frame
    frame, n_left_out = first(frame, MOST) if code == NO_ANSWER else (frame, 0)
    lines += [f"and {n_left_out} more benchmarks without an answer (--output csv has all)"] if n_left_out else []
    compared = compared.as_in(frame, only=only_changes)
    attrs, notes = noted(result)
    answer = Answer(
        table=frame,
        rows=[
            *compared.rows,
            *({BENCHMARK: f"all {row['benchmarks']}"} | row for row in compared.suites if row["benchmarks"] > 1),
        ],
        content={**sources.paths, "benchmarks": compared.rows, "suites": compared.suites, "attrs": attrs, "notes": notes},
        outcome=outcome,
        code=code,
        heading=sides.heading,
        lines=lines,
        legend=legends,
    )
    give(answer, target, sentences)


def _check_both_sides(compared: Comparison) -> None:
    """Raise where no benchmark is on both sides."""
    if not compared.named():
        old, new = (quoted(list(rows), 3) or "nothing" for rows in (compared.named(new=False), compared.named(old=False)))
        first, second = compared.labels
        raise ValueError(f"no benchmark has {compared.attrs['metric']!r} on both sides: {first} has {old}; {second} has {new}")


def _single_units(compared: Comparison, format: str) -> list[str]:
    """Name the benchmarks that show no spread, and what can be done."""
    rows, unit = compared.named(), compared.unit
    single = [name for name, row in rows.items() if row["n"] == 1]
    if not single:
        return []
    subject = f"{'all ' if len(single) == len(rows) else ''}{len(single)} benchmarks rest" if len(single) > 1 else f"{single[0]!r} rests"
    subject = subject if len(single) in (1, len(rows)) else f"{subject} ({quoted(single, 4)})"
    more = MORE.get(format, "") if unit == "execution" else ""
    lower = str(compared.attrs["levels"]).split()[1:]
    alternative = (
        f"; or, if {plural(lower[0])} are independent of each other (they seldom are), --levels {','.join(lower)}" if lower else ""
    )
    return [
        f"{subject} on one {unit} on a side: one {unit} shows no spread between {plural(unit)}, so there is no interval "
        f"and no verdict; measure several{f' ({more})' if more else ''}{alternative}"
    ]


def _outcome(compared: Comparison, words: str) -> tuple[int, str]:
    """Return the exit code and its reason."""
    rows = list(compared.named().values())
    all_rows = (*rows, *compared.suites)
    if all(math.isnan(row["lower"]) for row in all_rows):
        remedy = f"more {plural(compared.unit)}" if any(row["n"] > 1 for row in rows) else f"more than one {compared.unit}"
        return NO_ANSWER, f"no answer: nothing has an interval, for want of {remedy} on each side"
    if all(math.isnan(row["estimate"]) for row in all_rows):
        return NO_ANSWER, "no answer: nothing is known of any ratio, since runs were stopped"
    judged = [row["verdict"] for row in (*rows, *(row for row in compared.suites if row["benchmarks"] > 1))]
    return (SOMETHING_SLOWER if "slower" in judged else NOTHING_SLOWER), words


def _lines_of_one_side(compared: Comparison) -> list[str]:
    """Name the benchmarks that were not measured on both sides."""
    alone = zip(compared.labels, (compared.named(new=False), compared.named(old=False)), strict=True)
    lines = [line for label, rows in alone for line in absent(list(rows), label)]
    neither = len(compared.named(old=False, new=False))
    return lines + ([f"no {compared.attrs['metric']} on either side: {neither}"] if neither else [])
