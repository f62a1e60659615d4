"""`perfarray files`: what came of each file of an archive."""

from functools import partial
from typing import Any

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, form, give, give_failure
from perfarray.cli.problems import NO_ANSWER, NOTHING_SLOWER, in_line, reporting

READ = "read"


def files(
    archive: options.Archive,
    layout: options.Layout = None,
    format: options.Format = None,
    dims: options.Dims = None,
    pattern: options.Pattern = None,
    encoding: options.Encoding = None,
    parallel: options.Parallel = 1,
    progress: options.Progress = False,
    output: options.Output = None,
    file: options.File = None,
    json: options.Json = False,
) -> None:
    """List what was read of each file of an archive, and why a file is left out.

    Exit code 0: at least one file was read.
    Exit code 2: none was, or a wrong option.

    Example: perfarray files results/ --layout "{machine}/{session}.json"
    """
    target = form(output, file, archive, json=json)
    choices = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    with reporting(partial(give_failure, {"archive": archive, "files": [], "attrs": {}}, target), options=options.SPOKEN):
        table = perfarray.archive_table(archive, parallel=options.workers(parallel), progress=progress, **choices)
    counts = table["status"].value_counts(sort=False).to_dict()
    rows = [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
    columns_shown = table.drop(columns=["reason", "notes"]).assign(why=list(map(_why, rows))).set_index("file")
    nothing = READ not in counts and len(rows) > 1
    answer = Answer(
        table=columns_shown,
        rows=rows,
        content={"archive": archive, "files": rows, "attrs": counts},
        outcome=", ".join(f"{count} {status}" for status, count in counts.items()),
        code=NOTHING_SLOWER if READ in counts else NO_ANSWER,
        lines=["perfarray files FILE, of one of these files, says what would help to read it."] if nothing else (),
    )
    give(answer, target, [])


def _why(row: dict[str, Any]) -> str:
    """Return why a file is left out and what is odd in it, without its path, which stands in a column of its own."""
    lines = [row["reason"], *row["notes"].split("\n")]
    return in_line(" ".join(line.partition(f"{row['file']}: ")[2] or line for line in lines if line), options.SPOKEN)
