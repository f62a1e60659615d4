"""A table of texts as every form shows it: titles, rows, which columns are labels, which rows are of suites."""

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, NamedTuple

from perfarray.conventions import BENCHMARK

if TYPE_CHECKING:
    import pandas as pd

VERDICT = "verdict"
SPARE = ("n", "values", "measurements", "benchmarks")
"""Titles of columns of counts, the first to go where there is no room."""
CHANGED = ("faster", "slower")
"""Verdicts on what has changed."""

CHANGE = "change"


class Grid(NamedTuple):
    """A table of texts.

    Attributes
    ----------
    titles : list of str
        The first `labels` of them are dims.
    rows : list of list of str
        The last `suites` of them are of suites.
    labels, suites : int
        See there.
    package, settings : str
        What the names of all benchmarks begin with, and the settings that all of them have: neither is repeated in them.
    """

    titles: list[str]
    rows: list[list[str]]
    labels: int
    suites: int
    package: str
    settings: str

    @property
    def columns(self) -> list[list[str]]:
        """The texts of each column, the title first."""
        return [[title, *(row[column] for row in self.rows)] for column, title in enumerate(self.titles)]

    @property
    def spare(self) -> list[str]:
        """Titles of columns that others say the most of, the first to go where there is no room."""
        means = [title for title in self.titles[self.labels :] if " -> " in title]
        return [title for title in SPARE if title in self.titles[self.labels :]] + (means if VERDICT in self.titles else [])

    @property
    def sides(self) -> list[Literal["left", "right"]]:
        """The side that each column is flush with."""
        return [self.side(column) for column in range(len(self.titles))]

    def side(self, column: int) -> Literal["left", "right"]:
        """Return the side that a column is flush with: numbers on the right."""
        numbers = any(row[column][:1].isdigit() for row in self.rows)
        return "right" if numbers and column >= self.labels and self.titles[column] != CHANGE else "left"

    def wraps(self, column: int) -> bool:
        """Return whether a column holds sentences."""
        return column >= self.labels and self.side(column) == "left" and self.titles[column] not in (CHANGE, VERDICT)

    def without(self, title: str) -> "Grid":
        """Return the table without a column."""
        column = self.titles.index(title)
        rows = [row[:column] + row[column + 1 :] for row in self.rows]
        return self._replace(titles=self.titles[:column] + self.titles[column + 1 :], rows=rows)

    def split(self) -> "tuple[Grid, Grid]":
        """Return what has changed, with the suites, and what has not."""
        if VERDICT not in self.titles:
            return self, self._replace(rows=[], suites=0)
        column, end = self.titles.index(VERDICT), len(self.rows) - self.suites
        changed = [row for row in self.rows[:end] if row[column] in CHANGED]
        unchanged = [row for row in self.rows[:end] if row[column] not in CHANGED]
        return self._replace(rows=changed + self.rows[end:]), self._replace(rows=unchanged, suites=0)


def grid_of(frame: "pd.DataFrame") -> Grid:
    """Return a table of `perfarray.table` as a grid; a package that all names of benchmarks begin with is taken off them."""
    dims = [str(name) for name in frame.index.names if name is not None]
    labels = [list(key) if len(dims) > 1 else [key] for key in frame.index.tolist()] if dims else [[] for _ in range(len(frame))]
    suites = int(frame.attrs.get("suites", 0))
    rows = [[*map(str, key), *map(str, texts)] for key, texts in zip(labels, frame.to_numpy().tolist(), strict=True)]
    package, settings = "", list[str]()
    if BENCHMARK in dims:
        column, benchmark_rows = dims.index(BENCHMARK), rows[: len(rows) - suites]
        package, settings = package_of(row[column] for row in benchmark_rows), settings_of(row[column] for row in benchmark_rows)
        for row in benchmark_rows:
            row[column] = _without(row[column].removeprefix(package), settings)
    return Grid([*dims, *map(str, frame.columns)], rows, len(dims), suites, package, ", ".join(settings))


def settings_of(texts: Iterable[str]) -> list[str]:
    """Return the settings that all names have in their brackets (`[threads=1]`), where there are several names."""
    sets = [_settings(text) for text in dict.fromkeys(texts)]
    return [setting for setting in sets[0] if all(setting in settings for settings in sets)] if len(sets) > 1 else []


def _settings(text: str) -> list[str]:
    """Return the settings in the brackets at the end of a name; a comma inside a value is part of it."""
    match = re.fullmatch(r".*?\[(\w+=.*)\]", text, re.S)
    return re.split(r",(?=\w+=)", match[1]) if match else []


def _without(text: str, settings: list[str]) -> str:
    """Return a name without some of its settings."""
    all_settings = _settings(text)
    if not settings or not all_settings:
        return text
    remaining = ",".join(setting for setting in all_settings if setting not in settings)
    return text.removesuffix(f"[{','.join(all_settings)}]") + (f"[{remaining}]" if remaining else "")


def package_of(texts: Iterable[str]) -> str:
    """Return the package all names begin with (`com.example.`), or nothing."""
    packages = [text.partition("[")[0].split(".")[:-1] for text in dict.fromkeys(texts)]
    common = [names[0] for names in takewhile(lambda names: len(set(names)) == 1, zip(*packages, strict=False))]
    return ".".join([*common, ""]) if len(packages) > 1 and common and all(name.isidentifier() for name in common) else ""
