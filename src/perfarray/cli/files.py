"""`perfarray files` and `perfarray formats`: the files of an archive, and what can be read."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.console import program
from perfarray.cli.forms import Answer, Target, answering, give
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, in_line

READ = "read"


def files(
    archive: options.Archive,
    *,
    reading: options.Reading,
    progress: options.Progress = False,
    target: Target,
) -> None:
    """List what was read from each file of an archive, and why a file is left out.

    Exit code 0: at least one file was read.
    Exit code 2: no file was read, or an option is wrong.

    Example: perfarray files results/ --layout "{machine}/{session}.json"
    """
    with answering(target, {"archive": archive}, "files", "attrs"):
        table = perfarray.archive_table(archive, progress=progress or None, **reading)
    counts = table["status"].value_counts(sort=False).to_dict()
    rows = table.to_dict("records")
    advice = f"{program()} files FILE, of one of these files, says what would help to read it."
    answer = Answer(
        table=table.drop(columns=["reason", "notes"])
        .assign(why=list(map(_reasons, rows)))
        .set_index("file"),
        rows=rows,
        content={"archive": archive, "files": rows, "attrs": counts},
        outcome=", ".join(f"{count} {status}" for status, count in counts.items()),
        code=NOTHING_SLOWER if READ in counts else NO_ANSWER,
        lines=[advice] if READ not in counts and len(rows) > 1 else (),
    )
    give(answer, target, [])


def _reasons(row: Mapping[Any, Any]) -> str:
    """Return why a file is left out and what is odd in it, without its path, which has a column."""
    lines = [row["reason"], *row["notes"].split("\n")]
    return in_line(
        " ".join(line.partition(f"{row['file']}: ")[2] or line for line in lines if line),
        options.SPOKEN,
    )


def formats(
    name: Annotated[
        str | None,
        typer.Argument(
            autocompletion=options.format_names,
            help="Show one format with its details. Default: all formats.",
            show_default=False,
        ),
    ] = None,
    *,
    target: Target,
) -> None:
    """List the formats that can be read, and what is read from each.

    Exit code 0: the list is printed.
    Exit code 2: there is no such format.

    Example: perfarray formats jmh
    """
    with answering(target, {}, "formats"):
        table = perfarray.formats(name)
    rows = table.reset_index().to_dict("records")
    details = str(table["details"].iloc[0]) if name else ""
    advice = f"--format {name} says so where content is not enough"
    answer = Answer(
        table=table[["what"]],
        rows=rows,
        content={"formats": rows},
        legend=[in_line(details, options.SPOKEN)] if details else [],
        outcome=advice
        if name
        else f"{len(rows)} formats; {program()} formats NAME says more of one",
        code=NOTHING_SLOWER,
    )
    give(answer, target, [])
