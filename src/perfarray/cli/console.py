"""The console on stdout, and tables that fit it."""

import os
import sys
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perfarray.cli.grid import Grid

if TYPE_CHECKING:
    from typing import IO

WIDTH: Final = 120
"""Columns of the output when it goes to no terminal and the environment's COLUMNS does not say."""

GAP: Final = 2
"""Blanks between columns."""

NAMES: Final = 20
"""Columns of the screen that labels keep before other columns have to go."""

SENTENCE: Final = 16
"""Columns of the screen that sentences keep."""

LEAST: Final = 8
"""Columns of the screen that labels keep in any case."""

STYLES: Final = {"faster": "green", "slower": "bold red", "equivalent": "cyan", "inconclusive": "yellow"}


class _Console(Console):
    """A console whose reader may leave (`| head`) without changing the exit code, which means something here."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console(file: "IO[str] | None" = None) -> Console:
    """Return the console on stdout, as wide as the terminal, else as COLUMNS says, else 120; or one on a file."""
    width = None if (file is None and sys.stdout.isatty()) or "COLUMNS" in os.environ else WIDTH
    return _Console(file=file, width=width, markup=False, emoji=False, highlight=False)


def print_table(out: Console, grid: Grid) -> None:
    """Print a table as wide as the console at most: titles are wrapped, long labels folded, then columns go, and a line says which."""
    shown, widths, absent = _fitting(grid, out.width)
    table = Table(box=SIMPLE, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for place, (title, width) in enumerate(zip(shown.titles, widths, strict=True)):
        table.add_column(title, justify=shown.side(place), overflow="fold", max_width=width)
    for number, row in enumerate(shown.rows):
        if shown.suites and number == len(shown.rows) - shown.suites:
            table.add_section()
        table.add_row(*(Text(text, style=STYLES.get(text, "")) for text in row))
    out.print(table)
    if absent:
        out.print(f"Not shown in {out.width} columns: {', '.join(absent)}.", style="dim")


def _fitting(grid: Grid, width: int) -> tuple[Grid, list[int], list[str]]:
    """Return the columns that have room, their widths, and the titles of those that have no room; what says most stays longest."""
    absent: list[str] = []
    for title in [*grid.spare, None]:
        whole = [max(Text(text).cell_len for text in column) for column in grid.columns]
        texts = [max(Text(text).cell_len for text in (*first.split(), *column)) for first, *column in grid.columns]
        texts = [min(text, SENTENCE) if grid.wraps(place) else text for place, text in enumerate(texts)]
        room = width - GAP * (len(texts) - 1)
        if sum(whole) <= room:
            return grid, whole, absent
        labels = _narrowed(texts[: grid.labels], room - sum(texts[grid.labels :]))
        if title is None or all(own >= min(NAMES, text) for own, text in zip(labels, texts, strict=False)):
            break
        grid = grid.without(title)
        absent.append(title)
    found = labels + texts[grid.labels :]
    wrapped = [place for place in range(len(found)) if grid.wraps(place)]
    for place in wrapped:
        found[place] = min(whole[place], found[place] + max(0, room - sum(found)) // len(wrapped))
    return grid, found, absent


def _narrowed(widths: list[int], room: int) -> list[int]:
    """Return widths that have room together, if any have: the widest are taken from."""
    found = list(widths)
    while sum(found) > room and max(found, default=0) > LEAST:
        found[found.index(max(found))] -= 1
    return found
