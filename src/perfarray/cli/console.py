"""What a screen shows: tables that fit it, wrapped lines, colours where there are any."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from io import TextIOWrapper
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

import typer

if TYPE_CHECKING:
    from perfarray.results.printed import Grid

WIDTH: Final = 120

GAP: Final = "  "  # between columns

LABEL_WIDTH: Final = 20  # columns of the screen that labels keep before other columns are dropped
SENTENCE_WIDTH: Final = 16  # those that sentences keep

STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "faster": {"fg": "green"},
    "slower": {"fg": "red", "bold": True},
    "equivalent": {"fg": "cyan"},
    "inconclusive": {"fg": "yellow"},
}

VERDICT, CHANGE = "verdict", "change"
QUARTILES: Final = ("q1", "q3")  # columns that make room for labels
# Columns that are dropped first where there is no room; the last is n, the number of units
COUNTS: Final = ("values", "measurements", "benchmarks")

# Labels may hold what commands a terminal
CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
STYLED: Final = re.compile(rf"(\x1b\[[0-9;]*m)|{CONTROLS.pattern}")


def program() -> str:
    """Return what to type for `perfarray`: its name, or how it was called."""
    script = Path(sys.argv[0])
    called = {"perfarray": sys.argv[0], "__main__": f"{sys.executable} -m perfarray"}.get(
        script.stem, ""
    )
    is_ours = script.stem == "perfarray" or script.parent.name == "perfarray"
    return called if is_ours and called and shutil.which("perfarray") is None else "perfarray"


def prepare_streams() -> None:
    """Let every text be printed.

    A closed stream takes it and shows nothing. Letters that an encoding lacks become escapes.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # The shell closed it, as `>&-` does.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (until the program ends)
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def screen_width() -> int:
    """Return the columns of the terminal, else those that COLUMNS says, else 120."""
    return (
        shutil.get_terminal_size((WIDTH, 24)).columns
        if sys.stdout.isatty() or "COLUMNS" in os.environ
        else WIDTH
    )


def show(lines: Iterable[str]) -> None:
    """Print lines as they are; colours are for terminals.

    A reader who closes the pipe (`| head`) does not change the exit code, which has a meaning here.
    """
    text = "\n".join(lines)
    if sys.stdout.isatty():
        text = STYLED.sub(lambda match: match[1] or "?", text)
    try:
        typer.echo(text, color=False if "NO_COLOR" in os.environ else None)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def styled(text: str, **style: Any) -> str:
    """Return a text in a style, without what commands a terminal."""
    return typer.style(CONTROLS.sub("?", text), **style)


def plain(text: str) -> str:
    """Return a text without styles."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def paragraph(text: str, width: int, **style: Any) -> list[str]:
    """Return the lines of a text as wide as the screen, indented as it is."""
    indent = " " * (len(text) - len(text.lstrip()))
    lines = wrap(text, width, subsequent_indent=indent, break_on_hyphens=False) or [""]
    return [styled(line, **style) for line in lines]


def table_lines(grid: "Grid", width: int) -> Iterator[str]:
    """Yield the lines of a table that fits the width, and one that names the columns left out."""
    grid = grid._replace(rows=[[CONTROLS.sub("?", text) for text in row] for row in grid.rows])
    dropped = []
    titles = grid.titles[grid.n_labels :]
    means = [title for title in titles if " -> " in title and VERDICT in titles]
    for title in [*(title for title in COUNTS if title in titles), *means, *{*titles} & {"n"}]:
        if _total(_widths(grid, foldable=True)) > width:
            grid = grid.without(title)
            dropped.append(title)
    for title in QUARTILES:  # Whole names of machines matter more.
        if title in grid.titles and _total(_widths(grid)) > width:
            grid = grid.without(title)
            dropped.append(title)
    widths = _fitting(grid, width)
    sides = grid.sides
    yield from _row_lines(grid.titles, widths, sides)
    yield "-" * _total(widths)
    for number, row in enumerate(grid.rows):
        if grid.n_suites and number == grid.n_benchmarks:
            yield ""
        yield from _row_lines(row, widths, sides)
    if dropped:
        yield styled(f"Not shown in {width} columns: {', '.join(dropped)}.", dim=True)


def _widths(grid: "Grid", *, foldable: bool = False) -> list[int]:
    """Return the widths of columns, or the least at which labels and sentences may be folded."""
    widths = []
    for column, (title, side) in enumerate(zip(grid.titles, grid.sides, strict=True)):
        widest = max(map(_width, [*title.split(), *(row[column] for row in grid.rows)]), default=0)
        if foldable and column < grid.n_labels:
            widest = min(widest, LABEL_WIDTH)
        elif foldable and side == "left" and title not in (CHANGE, VERDICT):
            widest = min(widest, SENTENCE_WIDTH)
        widths.append(widest)
    return widths


def _fitting(grid: "Grid", width: int) -> list[int]:
    """Return widths that fit a screen: labels and sentences are folded, or all where it must be."""
    widths = _widths(grid)
    full_widths = [
        max(column, _width(title)) for column, title in zip(widths, grid.titles, strict=True)
    ]
    if _total(full_widths) <= width:
        return full_widths
    least_widths = [min(pair) for pair in zip(widths, _widths(grid, foldable=True), strict=True)]
    limits = least_widths if _total(least_widths) <= width else [1] * len(widths)
    while _total(widths) > width and widths > limits:
        column = max(range(len(widths)), key=lambda number: widths[number] - limits[number])
        if widths[column] == limits[column]:
            break
        widths[column] -= 1
    return widths


def _row_lines(row: list[str], widths: list[int], sides: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a row; long cells are folded."""
    cells = [
        [text] if _width(text) <= width else wrap(text, width)
        for text, width in zip(row, widths, strict=True)
    ]
    for cell_lines in zip_longest(*cells, fillvalue=""):
        padded = []
        for line, width, side in zip(cell_lines, widths, sides, strict=True):
            room = " " * (width - _width(line))
            text = typer.style(line, **STYLES[line]) if line in STYLES else line
            padded.append(room + text if side == "right" else text + room)
        yield GAP.join(padded).rstrip()


def _total(widths: list[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _width(text: str) -> int:
    """Return the columns of the screen that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
