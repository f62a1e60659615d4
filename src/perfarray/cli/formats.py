"""`perfarray formats`: what can be read."""

from functools import partial
from typing import Annotated

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, form, give, give_failure
from perfarray.cli.problems import NOTHING_SLOWER, in_line, reporting


def formats(
    name: Annotated[str | None, typer.Argument(help="One format, with its details; default: all.", show_default=False)] = None,
    output: options.Output = None,
    file: options.File = None,
    json: options.Json = False,
) -> None:
    """List the formats that can be read, and what becomes of each.

    Exit code 0: there is a list.
    Exit code 2: there is no such format.

    Example: perfarray formats jmh
    """
    target = form(output, file, json=json)
    with reporting(partial(give_failure, {"formats": []}, target), options=options.SPOKEN):
        table_of_formats = perfarray.formats(name)
    rows = [{str(key): value for key, value in row.items()} for row in table_of_formats.reset_index().to_dict("records")]
    details = str(table_of_formats["details"].iloc[0]) if name else ""
    many = f"{len(rows)} formats; perfarray formats NAME says more of one"
    outcome = f"--format {name} says so where content is not enough" if name else many
    answer = Answer(
        table=table_of_formats[["what"]],
        rows=rows,
        content={"formats": rows},
        legend=[in_line(details, options.SPOKEN)] if details else [],
        outcome=outcome,
        code=NOTHING_SLOWER,
    )
    give(answer, target, [])
