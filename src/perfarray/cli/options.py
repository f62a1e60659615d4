"""What several commands ask for, in the same words."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer


def fraction(text: str) -> float:
    """Read `2%` or `0.02`."""
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number; write a percentage (2%) or a fraction (0.02)") from None
    if text.strip().endswith("%"):
        return number / 100
    if number >= 1:
        raise typer.BadParameter(f"{text!r} would be {100 * number:g} %; write a percentage ({text.strip()}%) or a fraction below 1")
    return number


def names(text: str | None) -> tuple[str, ...] | None:
    """Read `execution,iteration`."""
    return None if text is None else tuple(text.replace(",", " ").split())


def named(text: str) -> dict[str, str | int]:
    """Read `benchmark=program,time_ms=duration`, or `benchmark=0,time_ms=1` with places of columns."""
    pairs = [pair.partition("=") for pair in text.split(",")]
    if not all(dim.strip() and name.strip() for dim, _, name in pairs):
        raise typer.BadParameter(f"{text!r} names no dims and columns; write benchmark=program,time_ms=duration")
    return {dim.strip(): int(name) if name.isascii() and name.isdigit() else name.strip() for dim, _, name in pairs}


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given: for the others the library's own defaults hold."""
    return {name: value for name, value in options.items() if value is not None}


def percent(share: float) -> str:
    """Write a share as a percentage."""
    return f"{100 * share:.4g} %"


def workers(parallel: int) -> bool | int:
    """Return for the library how many processes read: 1 is this one."""
    return False if parallel == 1 else parallel


Confidence = Annotated[float | None, typer.Option(parser=fraction, metavar="SHARE", help="Of the intervals: 95% (default).")]
Baseline = Annotated[str | None, typer.Option(metavar="LABEL", help="The label in it that the others are compared with.")]
Correction = Annotated[
    Literal["holm", "bh"] | None,
    typer.Option(help="For many benchmarks at once: holm bounds the chance of any false verdict, bh the share of false verdicts."),
]
Cost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LEVEL=PRICE",
        help="What starting one more of a level costs: execution=0.8, binary=95s, or as its format calls it, fork=3. Repeat it for "
        "several. If not given: what the files say; plan asks for the rest.",
    ),
]
CostUnits = Annotated[Literal["s", "iterations"], typer.Option("--units", help="The unit of prices and of what is planned.")]
Dim = Annotated[str | None, typer.Option(help="What is compared in one file or folder: machine, tuning, version, ...")]
Dims = Annotated[
    dict[str, Any] | None,
    typer.Option(parser=named, metavar="DIM=COLUMN,...", help="Settings and columns that are dims, by name or by place from 0."),
]
Encoding = Annotated[str | None, typer.Option(help="How the text of the files is encoded, as in latin-1; default: UTF-8.")]
Format = Annotated[str | None, typer.Option(help="The format of the files; default: recognised by content.")]
Archive = Annotated[str, typer.Argument(help="A file, a folder or a quoted glob pattern.", show_default=False)]
Order = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Commits, the newest first, as git log --format=%H prints them; - is stdin. Default: by date, else by name."
    ),
]
File = Annotated[
    Path | None,
    typer.Option("-o", metavar="FILE", help="Write the answer there, and print its outcome; .md, .csv, .json and .html say the form."),
]
FilesAre = Annotated[
    Literal["session", "execution", "separate"] | None,
    typer.Option(
        help="What several files of one side are: runs of the whole harness (session), single executions, or separate experiments, each "
        "compared with the file of the same name."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="As --output json: one object (NaN is null, infinite limits are texts).")]
Layout = Annotated[str | None, typer.Option(help='What the path of a file says, as in "{machine}/{session}.json".')]
Levels = Annotated[str | None, typer.Option(help="The nest of repetitions from the outside in, as in execution,iteration.")]
Metric = Annotated[str | None, typer.Option(help="The variable compared, where files hold several (time, throughput, ...).")]
Output = Annotated[
    Literal["table", "markdown", "csv", "json", "html"] | None,
    typer.Option("--output", help="The form of the answer: table (default), or csv and json in full precision, markdown, html."),
]
Parallel = Annotated[int, typer.Option(min=1, help="Processes that read the files.")]
Progress = Annotated[bool, typer.Option("--progress", help="Show a progress bar.")]
Pattern = Annotated[
    str | None, typer.Option(help='Where the numbers of home-grown JSON or CSV are, as in "{version}/{iteration} = time_ms".')
]

Sort = Annotated[Literal["effect", "name"] | None, typer.Option(help="Rows by size of the effect, or by name; default: as in the files.")]

Threshold = Annotated[
    float | None,
    typer.Option(parser=fraction, metavar="SHARE", help="A change that does not matter: 2% or 0.02. Default: every change matters."),
]

SPOKEN = {name: f"--{name}" for name in ("dims", "pattern", "encoding", "format", "layout", "levels", "metric", "dim")}
SPOKEN["confidence_level"] = "--confidence"
"""Arguments that messages of the library name, and the options that stand for them."""
