"""`perfarray files`: what came of each file of an archive."""

from typing import Annotated, Any

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.console import blank_table, console, print_json
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, in_line, reporting

READ = "read"


def files(
    archive: Annotated[str, typer.Argument(help="A file, a folder or a quoted glob pattern.", show_default=False)],
    layout: options.Layout = None,
    format: options.Format = None,
    dims: options.Dims = None,
    pattern: options.Pattern = None,
    encoding: options.Encoding = None,
    parallel: options.Parallel = 1,
    progress: options.Progress = False,
    json: options.Json = False,
) -> None:
    """List what was read of each file of an archive, and why a file is left out.

    Exit code 0: at least one file was read.
    Exit code 2: none was, or a wrong option.

    Example: perfarray files results/ --layout "{machine}/{session}.json"
    """
    choices = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    with reporting({"files": [], "attrs": {}} if json else None, options=options.SPOKEN):
        table = perfarray.archive_table(archive, parallel=options.workers(parallel), progress=progress, **choices)
    counts = table["status"].value_counts(sort=False).to_dict()
    code, said = NOTHING_SLOWER if READ in counts else NO_ANSWER, ", ".join(f"{count} {status}" for status, count in counts.items())
    if json:
        print_json({"files": table.to_dict("records"), "attrs": counts}, [], code, said)
        raise typer.Exit(code)
    shown = blank_table()
    for name in (*table.columns[:-2], "why"):
        shown.add_column(name.replace("_", " "), justify="right" if name in ("benchmarks", "measurements", "values") else "left")
    for row in table.itertuples(index=False):
        shown.add_row(*map(str, row[:-2]), _why(row))
    out = console()
    out.print(shown)
    out.print(f"\n{said}")
    raise typer.Exit(code)


def _why(row: Any) -> str:
    """Return why a file is left out and what is odd in it, without its path, which stands in a column of its own."""
    lines = [row.reason, *row.notes.split("\n")]
    return in_line(" ".join(line.partition(f"{row.file}: ")[2] or line for line in lines if line), options.SPOKEN)
