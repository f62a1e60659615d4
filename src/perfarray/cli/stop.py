"""`perfarray stop`: whether what was measured is enough, and how many more units if not; the exit code says which, for a loop."""

import math
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.comparison import labels_of
from perfarray.cli.forms import Answer, Row, form, give, give_failure, noted
from perfarray.cli.options import percent
from perfarray.cli.problems import NO_ANSWER, reporting
from perfarray.cli.reading import read_one
from perfarray.cli.sides import Sources, read_sides
from perfarray.conventions import plural

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

ENOUGH: Final = 0
GO_ON: Final = 1

OPTIONS = options.SPOKEN | {name: f"--{name}" for name in ("rule", "start", "paired", "baseline")} | {"half_width": "--half-width"}
"""The options that stand for arguments of the rule."""


def stop(
    archive: options.Archive,
    new: Annotated[
        str | None, typer.Argument(help="A second place: is the ratio to the first known well enough?", show_default=False)
    ] = None,
    half_width: Annotated[
        float | None, typer.Option(parser=options.fraction, metavar="SHARE", help="The relative half-width that is wanted: 1% or 0.01.")
    ] = None,
    rule: Annotated[
        Literal["stein", "t", "always_valid", "cv"] | None,
        typer.Option(help="stein (default): the first units say how many; t: the usual interval, looked at after each; always_valid."),
    ] = None,
    start: Annotated[int | None, typer.Option(help="Units to begin with: 10 (default), better 30.")] = None,
    dim: options.Dim = None,
    baseline: options.Baseline = None,
    paired: Annotated[str | None, typer.Option(help="The outermost level, when its units match between the sides.")] = None,
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
    """Say of every benchmark whether to go on measuring, and how many more executions (or builds) it takes.

    Exit code 0: enough was measured of every benchmark.
    Exit code 1: of one it was not; go on.
    Exit code 2: no answer; a file cannot be read, nothing was measured, a wrong option.

    Example: perfarray stop old/ new/ --half-width 1% --rule always_valid
    """
    from perfarray.timings.writing import rows_of

    target = form(output, file, archive, new, json=json)
    reading = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    choices = options.given(rule=rule, start=start, paired=paired, confidence_level=confidence, levels=options.names(levels), metric=metric)
    sources = Sources(old=archive, new=new, reading=reading, files_are=files_are, dim=dim, baseline=baseline)
    failing = partial(give_failure, {**sources.paths, "rows": [], "attrs": {}, "notes": []}, target)
    with reporting(failing, own_words=("fewer_than_start", "not_narrow"), options=OPTIONS) as sentences:
        if half_width is None:
            raise ValueError("say how narrow the interval has to be: --half-width 1%")
        if new is None and dim is None and baseline is None:
            result = perfarray.stopping(read_one(archive, reading, files_are, sentences), half_width=half_width, **choices)
        else:
            sides = read_sides(sources, sentences)
            result = perfarray.stopping(sides.times, sides.baseline, dim=sides.dim, half_width=half_width, **choices)
    per_cell = result.drop_dims("runs")
    rows = [row | {"more": _more(row, int(result.attrs["start"]))} for row in rows_of(per_cell, list(map(str, per_cell["n"].dims)))]
    table, (attrs, notes) = _with_more(perfarray.table(result, sort=sort), rows), noted(result)
    code, outcome = _outcome(result, rows)
    ratio = "candidate / baseline" if "baseline" in result.attrs else "the mean"
    legend = [
        f"{table.attrs['about']}; then: {ratio}, with its interval, where the rule stops.",
        "? stands behind what would do if further ones vary as these.",
    ]
    content = {**sources.paths, "rows": rows, "attrs": attrs, "notes": notes}
    give(Answer(table=table, rows=rows, content=content, outcome=outcome, code=code, legend=legend), target, sentences)


def _more(row: Row, start: int) -> float:
    """Return how many units are still to be run: none where the rule stops, those to begin with where there are fewer; NaN if not known."""
    if not math.isnan(row["required"]):
        return 0
    more = (start if row["n"] < start else row["extrapolated"]) - row["n"]
    return int(more) if math.isfinite(more) else more


def _with_more(table: "pd.DataFrame", rows: list[Row]) -> "pd.DataFrame":
    """Return the table with what is still to be run, of the rows that were measured."""
    dims, labels = labels_of(table)
    more_by_label = {tuple(row[dim] for dim in dims): row["more"] for row in rows}
    more = [more_by_label[label] for label in labels]
    return table.assign(
        **{"still to run": ["-" if math.isnan(count) else f"{count:,}" if math.isfinite(count) else "no end" for count in more]}
    )


def _outcome(result: "xr.Dataset", rows: list[Row]) -> tuple[int, str]:
    """Return the exit code and its reason."""
    measured = [row for row in rows if row["n"] > 0]
    unit, width = str(result.attrs["unit"]), f"±{percent(result.attrs['half_width_wanted'])}"
    if not measured:
        return NO_ANSWER, "no answer: nothing was measured"
    missing = [row["more"] for row in measured if row["more"] != 0]
    cells = f"{len(measured)} {'cell' if len(measured) == 1 else 'cells'}"
    if not missing:
        return ENOUGH, f"stop: {f'all {cells} are' if len(measured) > 1 else 'the one cell is'} within {width}"
    finite = sorted({number for number in missing if math.isfinite(number)})
    many = f"{finite[0]:,}" if len(finite) == 1 else f"{finite[0]:,} to {finite[-1]:,}" if finite else "an unknown number of"
    are, units = "is" if len(missing) == 1 else "are", unit if finite == [1] else plural(unit)
    return GO_ON, f"go on: {len(missing)} of {cells} {are} not within {width} yet; {many} more {units} each"
