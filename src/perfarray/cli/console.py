"""What a screen shows: tables that fit it, wrapped lines, colours where there are any.

Rich lays them out.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from perfarray.cli.grid import QUARTILES, Grid

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    Renderable = str | Text | Table

WIDTH: Final = 120

GAP: Final = 2  # blanks between columns

LABEL_WIDTH: Final = 20  # columns of the screen that labels keep before other columns are dropped
SENTENCE_WIDTH: Final = 16  # those that sentences keep

STYLES: Final = {
    "faster": "green",
    "slower": "bold red",
    "equivalent": "cyan",
    "inconclusive": "yellow",
}

CONTROLS: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)  # labels may hold what commands a terminal

BLANK, RULE = "    \n", " -- \n"
RULE_BELOW_TITLES: Final = BLANK * 2 + RULE + BLANK * 5  # the lines of a rich.box.Box


def program() -> str:
    """Return what to type for `perfarray`: its name where the shell finds it, else how it was called."""
    script = Path(sys.argv[0])
    called = {"perfarray": sys.argv[0], "__main__": f"{sys.executable} -m perfarray"}.get(
        script.stem, ""
    )
    is_ours = script.stem == "perfarray" or script.parent.name == "perfarray"
    return called if is_ours and called and shutil.which("perfarray") is None else "perfarray"


def prepare_streams() -> None:
    """Let every text be printed: a closed stream takes it and shows nothing, and what an encoding does not have is printed as an escape."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the shell, as `>&-` does
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


def show(blocks: "Iterable[Renderable]") -> None:
    """Print strings as they are, texts and tables as wide as the screen.

    A reader who closes the pipe (`| head`) does not change the exit code, which has a meaning here.
    """
    terminal = sys.stdout.isatty()
    text = render(
        blocks, screen_width(), colours=terminal and "NO_COLOR" not in os.environ, terminal=terminal
    )
    try:
        typer.echo(text)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def render(
    blocks: "Iterable[Renderable]",
    width: int = WIDTH,
    *,
    colours: bool = False,
    terminal: bool = False,
) -> str:
    """Return what `show` prints."""
    from rich.console import Console

    lines = []
    for block in blocks:
        if isinstance(block, str):
            lines.append(CONTROLS.sub("?", block) if terminal else block)
            continue
        page = Console(
            file=StringIO(),
            width=width,
            color_system="standard" if colours else None,
            force_terminal=colours,
        )
        page.print(block, soft_wrap=getattr(block, "no_wrap", False))
        lines += [line.rstrip() for line in page.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    return "\n".join(lines)


def styled(text: str, style: str = "", *, no_wrap: bool = False) -> "Text":
    """Return a text in a style."""
    from rich.text import Text

    return Text(CONTROLS.sub("?", text), style, no_wrap=no_wrap)


def table(grid: Grid, width: int) -> "Iterator[Renderable]":
    """Yield a table that fits the width and, where columns had to be dropped, a line that names them."""
    from rich.box import Box
    from rich.table import Table

    grid = grid._replace(rows=[[CONTROLS.sub("?", text) for text in row] for row in grid.rows])
    dropped = []
    for title in grid.droppable:
        if _least_width(grid) <= width:
            break
        grid = grid.without(title)
        dropped.append(title)
    for title in QUARTILES:  # names of machines that are whole are worth more
        if (
            title in grid.titles
            and sum(_widest([*title.split(), *cells]) + GAP for title, *cells in grid.columns) - GAP
            > width
        ):
            grid = grid.without(title)
            dropped.append(title)
    titles_fit = sum(_widest(column) + GAP for column in grid.columns) - GAP <= width
    numbers_fit = _least_width(grid) <= width
    layout = Table(
        box=Box(RULE_BELOW_TITLES, ascii=True),
        show_edge=False,
        padding=(0, GAP - 1, 0, 0),
        pad_edge=False,
        header_style="none",
    )
    for column, (title, *cells) in enumerate(grid.columns):
        widest = _widest([*([title] if titles_fit else title.split()), *cells])
        # rich shares the room that is left among columns without a width: labels and sentences, or
        # all where nothing else helps.
        fixed = titles_fit or (numbers_fit and not (column < grid.n_labels or grid.wraps(column)))
        layout.add_column(
            styled(title),
            overflow="fold",
            justify=grid.side(column),
            width=widest if fixed else None,
        )
    for number, row in enumerate(grid.rows):
        if grid.n_suites and number == len(grid.rows) - grid.n_suites:
            layout.add_row()
        layout.add_row(*(styled(text, STYLES.get(text, "")) for text in row))
    yield layout
    if dropped:
        yield styled(f"Not shown in {width} columns: {', '.join(dropped)}.", "dim")


def _least_width(grid: Grid) -> int:
    """Return the columns of the screen below which a column is dropped: numbers are whole, labels and sentences may be folded."""
    total = -GAP
    for column, (title, *cells) in enumerate(grid.columns):
        widest = _widest([*title.split(), *cells])
        limit = (
            LABEL_WIDTH
            if column < grid.n_labels
            else SENTENCE_WIDTH
            if grid.wraps(column)
            else widest
        )
        total += GAP + min(widest, limit)
    return total


def _widest(texts: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=0)
