"""`perfarray counts` and `perfarray components`: repetitions and variation at each level."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, Form, Target, answering, described, give
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, counted
from perfarray.cli.reading import read_one
from perfarray.conventions import plural

if TYPE_CHECKING:
    import xarray as xr


def counts(
    archive: options.Archive,
    *,
    nest: options.Nest,
    reading: options.Reading,
    files_are: options.FilesAre = None,
    select: options.Select = None,
    sort: options.Sort = None,
    target: Target,
) -> None:
    """Count what was measured: builds, executions in each, iterations in each.

    Marked values (warm-up, stopped) are not counted.

    Exit code 0: something was measured.
    Exit code 2: nothing was measured, a file cannot be read, or an option is wrong.

    Example: perfarray counts results/
    """
    with answering(target, {"archive": archive}, "rows", "attrs", "notes") as sentences:
        result = perfarray.counts(read_one(archive, reading, files_are, sentences, select), **nest)
    _give_by_level(archive, result, _outcome_of_counts(result), sort, target, sentences)


def components(
    archive: options.Archive,
    *,
    method: Annotated[
        Literal["anova", "reml", "ml"] | None,
        typer.Option(
            help=(
                "Choose the method: analysis of variance (default), restricted or full maximum "
                "likelihood."
            )
        ),
    ] = None,
    nest: options.Nest,
    reading: options.Reading,
    files_are: options.FilesAre = None,
    select: options.Select = None,
    sort: options.Sort = None,
    target: Target,
) -> None:
    """Say where the variation comes from: builds, executions, or iterations.

    Exit code 0: there is an answer.
    Exit code 2: no answer: a file cannot be read, nothing is repeated, or an option is wrong.

    Example: perfarray components results/ --sort effect
    """
    with answering(target, {"archive": archive}, "rows", "attrs", "notes") as sentences:
        times = read_one(archive, reading, files_are, sentences, select)
        result = perfarray.variance_components(times, **nest, **options.given(method=method))
    _give_by_level(archive, result, _outcome_of_components(result), sort, target, sentences)


def _give_by_level(
    archive: str,
    result: "xr.Dataset",
    outcome: tuple[str, int],
    sort: str | None,
    target: Form,
    sentences: list[str],
) -> None:
    """Give a result whose levels are columns and whose other dims are rows."""
    from perfarray.results.rows import records

    table = perfarray.table(result, sort=sort)
    rows = records(result, table.places.dims, table.places.positions)
    legend = [f"{table.attrs['about']}."] if table.attrs["about"] else []
    content = {"archive": archive, "rows": rows, **described(result)}
    give(
        Answer(
            table=table,
            rows=rows,
            content=content,
            outcome=outcome[0],
            code=outcome[1],
            legend=legend,
        ),
        target,
        sentences,
    )


def _outcome_of_counts(result: "xr.Dataset") -> tuple[str, int]:
    values = result["total"].isel(level=-1)
    if not int(values.sum()):
        return "no answer: nothing was measured", NO_ANSWER
    dims = [str(dim) for dim in values.dims]
    balanced = bool((result["minimum"].min(dims) == result["maximum"].max(dims)).all())
    cells = int((values > 0).sum())
    numbers = (
        f"{int(values.sum())} {'value' if int(values.sum()) == 1 else 'values'} of "
        f"{'one cell' if cells == 1 else f'{cells} cells'}"
    )
    return f"{numbers}; {'' if balanced else 'not '}as many repetitions everywhere", NOTHING_SLOWER


def _outcome_of_components(result: "xr.Dataset") -> tuple[str, int]:
    """Return at which level most of the variance lies, and in how many cells."""
    shares = result["share"].transpose("level", ...)
    if not bool(shares.notnull().any()):
        return "no answer: nothing is repeated, or nothing varies", NO_ANSWER
    has_shares = shares.notnull().all("level")
    if not bool(has_shares.any()):
        unknown = [f"one {share['level'].item()}" for share in shares if bool(share.isnull().all())]
        remedy = (
            ". If each file is a run of the same thing: --files-are session"
            if shares.sizes.get("file", 1) > 1
            else ""
        )
        return (
            (
                f"shares are not known: of {' or '.join(unknown) or 'one'} nothing tells what lies "
                f"between several{remedy}"
            ),
            NOTHING_SLOWER,
        )
    largest = shares.fillna(-1).argmax("level").where(has_shares, -1)
    counts_of_levels = {
        str(level): int((largest == index).sum())
        for index, level in enumerate(result["level"].values.tolist())
    }
    clauses = [
        f"between {plural(level)} in {count}" for level, count in counts_of_levels.items() if count
    ]
    where = clauses[0].rpartition(" in ")[0] if len(clauses) == 1 else ", ".join(clauses)
    return (
        f"{counted(int(has_shares.sum()), 'cell')}: most of the variance lies {where}",
        NOTHING_SLOWER,
    )
