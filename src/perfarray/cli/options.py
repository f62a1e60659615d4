"""What several commands ask for, in the same words."""

from typing import Annotated, Any

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


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given: for the others the library's own defaults hold."""
    return {name: value for name, value in options.items() if value is not None}


def workers(parallel: int) -> bool | int:
    """Return for the library how many processes read: 1 is this one."""
    return False if parallel == 1 else parallel


Confidence = Annotated[float | None, typer.Option(parser=fraction, metavar="SHARE", help="Of the intervals: 95% (default).")]
Format = Annotated[str | None, typer.Option(help="The format of the files; default: recognised by content.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object (NaN is null, infinite limits are texts).")]
Layout = Annotated[str | None, typer.Option(help='What the path of a file says, as in "{machine}/{session}.json".')]
Levels = Annotated[str | None, typer.Option(help="The nest of repetitions from the outside in, as in execution,iteration.")]
Metric = Annotated[str | None, typer.Option(help="The variable compared, where files hold several (time, throughput, ...).")]
Parallel = Annotated[int, typer.Option(min=1, help="Processes that read the files.")]
Progress = Annotated[bool, typer.Option("--progress", help="Show a progress bar.")]
