"""`perfarray report`: one page about an archive that can be sent."""

from pathlib import Path
from typing import Annotated, Any

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.problems import reporting
from perfarray.cli.sides import Asked, read_sides

SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}
"""The forms that the end of a file's name stands for."""


def report(
    old: Annotated[str, typer.Argument(help="A file, a folder or a quoted glob pattern: all of it, or the old ones.", show_default=False)],
    new: Annotated[str | None, typer.Argument(help="The new ones, to be compared with the old.", show_default=False)] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="What to write; .html, .md and .json say the form.")] = Path("report.html"),
    dim: options.Dim = None,
    baseline: options.Baseline = None,
    files_are: options.FilesAre = None,
    metric: options.Metric = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Number machines and files instead of naming them; leave out users and paths.")
    ] = False,
    format: options.Format = None,
    layout: options.Layout = None,
    dims: options.Dims = None,
    pattern: options.Pattern = None,
    encoding: options.Encoding = None,
) -> None:
    """Write a report: what was measured, what changed, how sure that is, where it varies, how many repetitions to run next.

    Of one place, what lies in it is compared if a baseline is named; else its means are shown. The page needs nothing beside it.

    Exit code 0: it is written.
    Exit code 2: it is not; a file cannot be read, or the output not be written.

    Example: perfarray report old.json new.json -o report.html
    """
    said = options.given(layout=layout, format=format, dims=dims, pattern=pattern, encoding=encoding)
    with reporting(options=options.SPOKEN) as sentences:
        if output.suffix not in SUFFIXES:
            raise ValueError(f"{output}: the end of the name says the form, and {output.suffix!r} is none of {', '.join(SUFFIXES)}")
        how: dict[str, Any] = {"metric": metric, "path": output, "format": SUFFIXES[output.suffix], "redact": redact}
        if new is None and dim is None and baseline is None:
            perfarray.report(perfarray.read_archive(old, **said), **how)
        else:
            sides = read_sides(Asked(old=old, new=new, said=said, files_are=files_are, dim=dim, baseline=baseline), sentences)
            perfarray.report(sides.times, sides.baseline, dim=sides.dim, **how)
    typer.echo(f"{output}: {output.stat().st_size:,} bytes")
