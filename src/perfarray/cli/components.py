"""`perfarray components`: where the variation of an archive comes from."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import form
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER
from perfarray.cli.reading import answer_one
from perfarray.conventions import plural

if TYPE_CHECKING:
    import xarray as xr


def components(
    archive: options.Archive,
    method: Annotated[
        Literal["anova", "reml", "ml"] | None, typer.Option(help="Analysis of variance (default), restricted or full maximum likelihood.")
    ] = None,
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
    """Say where the variation comes from: how much of it lies between builds, between executions, between iterations.

    Exit code 0: there is an answer.
    Exit code 2: none; a file cannot be read, nothing is repeated, a wrong option.

    Example: perfarray components results/ --sort effect
    """
    reading = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    choices = options.given(levels=options.names(levels), metric=metric, method=method)
    target = form(output, file, archive, json=json)
    answer_one(archive, reading, target, lambda times: perfarray.variance_components(times, **choices), _outcome, sort, files_are)


def _outcome(result: "xr.Dataset") -> "tuple[str, int]":
    """Return at which level most of the variance lies, and in how many cells."""
    has_shares = result["share"].notnull().any("level")
    if not bool(has_shares.any()):
        return "no answer: nothing is repeated, or nothing varies", NO_ANSWER
    has_shares = result["share"].notnull().all("level")
    if not bool(has_shares.any()):
        unknown = [f"one {shares['level'].item()}" for shares in result["share"].transpose("level", ...) if bool(shares.isnull().all())]
        return f"shares are not known: of {' or '.join(unknown) or 'one'} nothing tells what lies between several", NOTHING_SLOWER
    largest = result["share"].fillna(-1).argmax("level").where(has_shares, -1)
    counts = {str(level): int((largest == index).sum()) for index, level in enumerate(result["level"].values.tolist())}
    clauses = [f"between {plural(level)} in {count}" for level, count in counts.items() if count]
    cells = int(has_shares.sum())
    where = clauses[0].rpartition(" in ")[0] if len(clauses) == 1 else ", ".join(clauses)
    return f"{cells} {'cell' if cells == 1 else 'cells'}: most of the variance lies {where}", NOTHING_SLOWER
