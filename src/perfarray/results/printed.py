"""A table of texts as every form prints it, and the one writer of Markdown."""

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import Final, Literal, NamedTuple

import pandas as pd

from perfarray.conventions import BENCHMARK
from perfarray.results.words import own_name
from perfarray.timings.notes import escape_controls

VERDICT: Final = "verdict"
CHANGE: Final = "change"
CHANGED: Final = ("faster", "slower")  # verdicts on what has changed


class Grid(NamedTuple):
    """A table of texts: the first `n_labels` columns are dims, the last `n_suites` rows are suites.

    The names of benchmarks do not repeat what all of them share, which `remarks` say.
    """

    titles: list[str]
    rows: list[list[str]]
    n_labels: int
    n_suites: int
    remarks: list[str]

    @property
    def n_benchmarks(self) -> int:
        """The number of rows that are no suites."""
        return len(self.rows) - self.n_suites

    @property
    def sides(self) -> list[Literal["left", "right"]]:
        """The side that each column is flush with: numbers are on the right."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.titles)
        return [
            "right"
            if column >= self.n_labels
            and title != CHANGE
            and any(text[:1].isdigit() for text in texts)
            else "left"
            for column, (title, texts) in enumerate(zip(self.titles, columns, strict=True))
        ]

    def without(self, title: str) -> "Grid":
        """Return the table without a column."""
        column = self.titles.index(title)
        titles, *rows = ([*row[:column], *row[column + 1 :]] for row in (self.titles, *self.rows))
        return self._replace(titles=titles, rows=rows)

    def split(self) -> "tuple[Grid, Grid]":
        """Return what has changed, with the suites, and what has not."""
        if VERDICT not in self.titles:
            return self, self._replace(rows=[], n_suites=0)
        column, end = self.titles.index(VERDICT), self.n_benchmarks
        changed = [row for row in self.rows[:end] if row[column] in CHANGED]
        unchanged = [row for row in self.rows[:end] if row[column] not in CHANGED]
        return (
            self._replace(rows=changed + self.rows[end:]),
            self._replace(rows=unchanged, n_suites=0),
        )


def grid_of(frame: pd.DataFrame, *, shorten: bool = True) -> Grid:
    """Return the texts of a table; `perfarray.table` says how many of its rows are suites.

    With `shorten` the names of benchmarks leave out what all of them share.
    """
    dims = [str(name) for name in frame.index.names if name is not None]
    keys = frame.index.tolist() if len(dims) > 1 else [[key] if dims else [] for key in frame.index]
    rows = [
        [*map(str, key), *map(str, texts)]
        for key, texts in zip(keys, frame.to_numpy(object).tolist(), strict=True)
    ]
    # Of combined results a title is that of the result and that in its table.
    titles = [
        " ".join(title) if frame.columns.nlevels > 1 else str(title) for title in frame.columns
    ]
    n_suites, remarks = int(frame.attrs.get("suites", 0)), []
    if BENCHMARK in dims and shorten:
        column, names_of = dims.index(BENCHMARK), rows[: len(rows) - n_suites]
        names = [row[column] for row in names_of]
        package, settings = common_package(names), common_settings(names)
        for row in names_of if package or settings else ():
            row[column] = without_settings(row[column].removeprefix(package), settings)
        remarks += [f"Names of benchmarks begin with {package}"] if package else []
        remarks += [f"All benchmarks have {', '.join(settings)}"] if settings else []
    return Grid([*map(own_name, dims), *titles], rows, len(dims), n_suites, remarks)


def common_settings(names: Iterable[str]) -> list[str]:
    """Return the settings that several names all have in their brackets (`[threads=1]`)."""
    sets = [_settings(name) for name in dict.fromkeys(names)]
    return (
        [setting for setting in sets[0] if all(setting in settings for settings in sets)]
        if len(sets) > 1
        else []
    )


def _settings(name: str) -> list[str]:
    """Return the settings in the brackets at the end of a name.

    A comma inside a value is part of it.
    """
    match = re.fullmatch(r".*?\[(\w+=.*)\]", name, re.S)
    return re.split(r",(?=\w+=)", match[1]) if match else []


def without_settings(name: str, shared: list[str]) -> str:
    """Return a name without the settings that all names share."""
    settings = _settings(name)
    if not shared or not settings:
        return name
    distinct = ",".join(setting for setting in settings if setting not in shared)
    return name.removesuffix(f"[{','.join(settings)}]") + (f"[{distinct}]" if distinct else "")


def common_package(names: Iterable[str]) -> str:
    """Return the package that all names begin with (`com.example.`), or nothing."""
    names = list(dict.fromkeys(names))
    # In the name of a test (`test_a.py::test_work`) the dot is that of a file's ending.
    if len(names) < 2 or any("::" in name for name in names):
        return ""
    packages = [name.partition("[")[0].split(".")[:-1] for name in names]
    common = [
        words[0]
        for words in takewhile(lambda words: len(set(words)) == 1, zip(*packages, strict=False))
    ]
    return ".".join([*common, ""]) if common and all(map(str.isidentifier, common)) else ""


def escape_markdown(text: str) -> str:
    """Return a text on one line with all markup and control characters escaped."""
    return re.sub(r"([\\`*_\[\]|~<&#])", r"\\\1", escape_controls(" ".join(text.split())))


def code_in_markdown(text: str) -> str:
    """Return a text as code; a bar would end the cell even there."""
    text = escape_controls(" ".join(text.split())).replace("|", "\\|")
    fence = "`" * (1 + max((len(ticks) for ticks in re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`" if text else ""


def markdown_table(grid: Grid, max_rows: int | None = None) -> str:
    """Return a table in Markdown, of many rows the first, and the suites.

    Labels are code, so that nothing in them is markup.
    """
    end = grid.n_benchmarks
    lines = [[escape_markdown(title) for title in grid.titles]]
    lines.append([":--" if side == "left" else "--:" for side in grid.sides])
    for row in [*grid.rows[:end][:max_rows], *grid.rows[end:]]:
        is_suite = len(lines) - 2 >= min(end, end if max_rows is None else max_rows)
        labels, texts = row[: grid.n_labels], row[grid.n_labels :]
        lines.append(
            [
                *(
                    f"**{escape_markdown(text)}**" if is_suite and text else code_in_markdown(text)
                    for text in labels
                ),
                *(f"**{text}**" if text in CHANGED else escape_markdown(text) for text in texts),
            ]
        )
    n_left_out = 0 if max_rows is None else end - max_rows
    footer = f"\n\nand {n_left_out} more (`--output csv` has all)" if n_left_out > 0 else ""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + footer


def quoted_lines(lines: Iterable[str]) -> list[str]:
    """Return a block of quoted lines in Markdown; none where there are no lines."""
    text = "\n".join(f"> {escape_markdown(line)}" for line in lines)
    return [text] if text else []
