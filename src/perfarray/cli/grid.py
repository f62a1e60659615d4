"""A table of texts as every form shows it: titles, rows, which columns are labels, which rows are suites."""

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from perfarray.conventions import BENCHMARK

if TYPE_CHECKING:
    import pandas as pd

VERDICT: Final = "verdict"
CHANGE: Final = "change"
CHANGED: Final = ("faster", "slower")  # verdicts on what has changed
QUARTILES: Final = ("q1", "q3")  # columns that make room for labels
COUNTS: Final = (
    "n",
    "values",
    "measurements",
    "benchmarks",
)  # columns that are dropped first where there is no room


class Grid(NamedTuple):
    """A table of texts: the first `n_labels` columns are dims, the last `n_suites` rows are suites.

    `package` is what the names of all benchmarks begin with and `settings` are those that all have;
    the names do not repeat them.
    """

    titles: list[str]
    rows: list[list[str]]
    n_labels: int
    n_suites: int = 0
    package: str = ""
    settings: str = ""

    @property
    def columns(self) -> list[list[str]]:
        """The texts of each column, the title first."""
        return [
            [title, *(row[column] for row in self.rows)] for column, title in enumerate(self.titles)
        ]

    @property
    def benchmark_rows(self) -> list[list[str]]:
        """The rows that are no suites."""
        return self.rows[: len(self.rows) - self.n_suites]

    @property
    def droppable(self) -> list[str]:
        """Titles of columns whose facts other columns show, in the order in which they are dropped."""
        titles = self.titles[self.n_labels :]
        means = [title for title in titles if " -> " in title] if VERDICT in titles else []
        return [title for title in COUNTS if title in titles] + means

    @property
    def sides(self) -> list[Literal["left", "right"]]:
        """The side that each column is flush with."""
        return [self.side(column) for column in range(len(self.titles))]

    def side(self, column: int) -> Literal["left", "right"]:
        """Return the side that a column is flush with: numbers are on the right."""
        numbers = any(row[column][:1].isdigit() for row in self.rows)
        return (
            "right"
            if numbers and column >= self.n_labels and self.titles[column] != CHANGE
            else "left"
        )

    def wraps(self, column: int) -> bool:
        """Return whether a column holds sentences."""
        return (
            column >= self.n_labels
            and self.side(column) == "left"
            and self.titles[column] not in (CHANGE, VERDICT)
        )

    def without(self, title: str) -> "Grid":
        """Return the table without a column."""
        column = self.titles.index(title)
        rows = [row[:column] + row[column + 1 :] for row in self.rows]
        return self._replace(titles=self.titles[:column] + self.titles[column + 1 :], rows=rows)

    def split(self) -> "tuple[Grid, Grid]":
        """Return what has changed, with the suites, and what has not."""
        if VERDICT not in self.titles:
            return self, self._replace(rows=[], n_suites=0)
        column = self.titles.index(VERDICT)
        changed = [row for row in self.benchmark_rows if row[column] in CHANGED]
        unchanged = [row for row in self.benchmark_rows if row[column] not in CHANGED]
        return self._replace(
            rows=changed + self.rows[len(self.rows) - self.n_suites :]
        ), self._replace(rows=unchanged, n_suites=0)

    def remarks(self) -> list[str]:
        """Return the sentences on what the names of benchmarks do not repeat."""
        remarks = [f"Names of benchmarks begin with {self.package}"] if self.package else []
        return remarks + ([f"All benchmarks have {self.settings}"] if self.settings else [])


def grid_of(frame: "pd.DataFrame") -> Grid:
    """Return a table of `perfarray.table`.

    A package and settings that all benchmarks share are taken off their names.
    """
    dims, keys = labels_of(frame)
    rows = [
        [*map(str, key), *map(str, texts)]
        for key, texts in zip(keys, frame.to_numpy().tolist(), strict=True)
    ]
    grid = Grid(
        [*map(str, dims), *map(str, frame.columns)],
        rows,
        len(dims),
        int(frame.attrs.get("suites", 0)),
    )
    if BENCHMARK not in dims:
        return grid
    column = dims.index(BENCHMARK)
    names = [row[column] for row in grid.benchmark_rows]
    package, settings = common_package(names), common_settings(names)
    for row in grid.benchmark_rows:
        row[column] = without_settings(row[column].removeprefix(package), settings)
    return grid._replace(package=package, settings=", ".join(settings))


def labels_of(frame: "pd.DataFrame") -> tuple[list[str], list[tuple[object, ...]]]:
    """Return the dims that the rows of a table are labelled by, and the labels of each row."""
    dims = [str(name) for name in frame.index.names if name is not None]
    if not dims:
        return [], [()] * len(frame)
    return dims, [key if len(dims) > 1 else (key,) for key in frame.index.tolist()]


def common_settings(names: Iterable[str]) -> list[str]:
    """Return the settings that all names have in their brackets (`[threads=1]`), where there are several names."""
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
    if any(
        "::" in name for name in names
    ):  # a file of tests (`test_a.py::test_work`), whose dot is that of its ending
        return ""
    packages = [name.partition("[")[0].split(".")[:-1] for name in names]
    common = [
        words[0]
        for words in takewhile(lambda words: len(set(words)) == 1, zip(*packages, strict=False))
    ]
    return (
        ".".join([*common, ""])
        if len(packages) > 1 and common and all(word.isidentifier() for word in common)
        else ""
    )
