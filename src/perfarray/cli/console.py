"""What is shown on a screen: tables that fit it, lines that are wrapped, colours where there are any."""

import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

import typer

from perfarray.cli.grid import Grid

WIDTH: Final = 120
"""Columns of the output when it goes to no terminal and the environment's COLUMNS does not say."""

GAP: Final = 2
"""Blanks between columns."""

NAMES: Final = 20
"""Columns of the screen that labels keep before other columns have to go."""

SENTENCE: Final = 16
"""Columns of the screen that sentences keep."""

FOLDED: Final = 14
"""Columns of the screen that labels keep before texts are wrapped."""

LEAST: Final = 8
"""Columns of the screen that any column keeps."""

BOLD: Final = "1"
DIM: Final = "2"
STYLES: Final = {"faster": "32", "slower": "1;31", "equivalent": "36", "inconclusive": "33"}


CONTROLS: Final = re.compile(rf"(?!\x1b\[(?:0|{BOLD}|{DIM}|{'|'.join(STYLES.values())})m)[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What commands a terminal, but for the colours used here: labels of files may hold it."""


def screen_width() -> int:
    """Return the columns of the screen: those of the terminal, else what COLUMNS says, else 120."""
    return shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH


def show(lines: Iterable[str]) -> None:
    """Print lines; a reader who leaves (`| head`) does not change the exit code, which means something here."""
    text = "\n".join(lines)
    try:
        typer.echo(CONTROLS.sub("?", text) if sys.stdout.isatty() else text)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def styled(text: str, style: str) -> str:
    """Return a text in a colour, which is taken off where the output is no terminal."""
    return f"\x1b[{style}m{text}\x1b[0m" if style and text and "NO_COLOR" not in os.environ else text


def unstyled(text: str) -> str:
    """Return a text without colours."""
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def wrapped(text: str, width: int, style: str = "") -> list[str]:
    """Return the lines of a text."""
    return [styled(line, style) for line in textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False) or [""]]


def table_lines(grid: Grid, width: int) -> Iterator[str]:
    """Yield a table no wider than the screen: titles are wrapped, long labels folded, then columns go, and a line says which."""
    fitted, widths, absent = _fitting(grid, width)
    sides = fitted.sides
    yield from _row([_folded(title, size) for title, size in zip(fitted.titles, widths, strict=True)], sides, widths, title=True)
    yield "-" * (sum(widths) + GAP * (len(widths) - 1))
    for number, row in enumerate(fitted.rows):
        if fitted.suites and number == len(fitted.rows) - fitted.suites:
            yield ""
        yield from _row([_folded(text, size) for text, size in zip(row, widths, strict=True)], sides, widths)
    if absent:
        yield styled(f"Not shown in {width} columns: {', '.join(absent)}.", DIM)


def _folded(text: str, width: int) -> list[str]:
    """Return the lines of a text in a column: broken after blanks and what parts a name, where there is one in the second half."""
    lines = []
    while _cells(text) > width:
        most = next(length for length in range(min(width, len(text)), 0, -1) if _cells(text[:length]) <= width)
        cut = max(text.rfind(mark, 0, most) for mark in " ,/[:") + 1
        cut = cut if cut > width // 2 else most
        lines.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [*lines, text]


def _row(cells: list[list[str]], sides: Sequence[str], widths: list[int], *, title: bool = False) -> Iterator[str]:
    """Yield the lines of a row; titles stand at the bottom of theirs."""
    most = max(map(len, cells))
    cells = [[""] * (most - len(cell)) + cell for cell in cells] if title else cells
    for texts in zip_longest(*cells, fillvalue=""):
        padded = []
        for text, side, width in zip(texts, sides, widths, strict=True):
            blanks = " " * (width - _cells(text))
            styled_text = styled(text, STYLES.get(text, ""))
            padded.append(blanks + styled_text if side == "right" else styled_text + blanks)
        yield (" " * GAP).join(padded).rstrip()


def _cells(text: str) -> int:
    """Return how many columns of the screen a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _fitting(grid: Grid, width: int) -> tuple[Grid, list[int], list[str]]:
    """Return the columns that have room, their widths, and the titles of those that have no room; what says most stays longest."""
    absent: list[str] = []
    for title in [*grid.spare, None]:
        full_widths = [max(map(_cells, cells)) for cells in grid.columns]
        texts = [max(map(_cells, (*first.split(), *cells))) for first, *cells in grid.columns]
        texts = [min(text, SENTENCE) if grid.wraps(column) else text for column, text in enumerate(texts)]
        room = width - GAP * (len(texts) - 1)
        if sum(full_widths) <= room:
            return grid, full_widths, absent
        labels = _narrowed(texts[: grid.labels], room - sum(texts[grid.labels :]), FOLDED)
        enough = all(label_width >= min(NAMES, text) for label_width, text in zip(labels, texts, strict=False))
        if title is None or (enough and sum(labels) + sum(texts[grid.labels :]) <= room):
            break
        grid = grid.without(title)
        absent.append(title)
    final = _narrowed(labels + texts[grid.labels :], room, LEAST)
    sentences = [column for column in range(len(final)) if grid.wraps(column)]
    for column in sentences:
        final[column] = min(full_widths[column], final[column] + max(0, room - sum(final)) // len(sentences))
    return grid, final, absent


def _narrowed(widths: list[int], room: int, least: int) -> list[int]:
    """Return widths that have room together, if any have: the widest are taken from."""
    narrowed = list(widths)
    while sum(narrowed) > room and max(narrowed, default=0) > least:
        narrowed[narrowed.index(max(narrowed))] -= 1
    return narrowed
