"""A comparison in rows, and what it means in words."""

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from perfarray.cli.forms import Row
from perfarray.cli.grid import CHANGED
from perfarray.cli.options import percent
from perfarray.conventions import BENCHMARK, CENSORED, HIGHER, MARKS, level_of_intervals, plural

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

SUITE = "suite_"

PROGRAM = "program"
"""What benchmarks are called that are compared with each other: no suite is made of them."""


class Comparison(NamedTuple):
    """A comparison: one row per benchmark (and per label of any other dim), one suite row per label of any other dim, and its attrs."""

    rows: list[Row]
    suites: list[Row]
    attrs: dict[Hashable, Any]
    labels: tuple[str, str]
    """What the baseline and the candidate are called."""
    level: str
    """At which the intervals hold."""

    def named(self, old: bool = True, new: bool = True) -> dict[str, Row]:
        """Return the rows measured on both sides, or on those sides only, by name."""
        texts = names(self.rows)
        return {text: row for text, row in zip(texts, self.rows, strict=True) if (row["n_old"] > 0, row["n_new"] > 0) == (old, new)}

    def as_in(self, frame: "pd.DataFrame", *, only: bool) -> "Comparison":
        """Return the rows in the order of a table; `only` those in it, or those that are not in it last."""
        dims, keys = labels_of(frame)
        ranks = {key: rank for rank, key in reversed(list(enumerate(keys)))}
        ranked = [(ranks.get(tuple(row[dim] for dim in dims), len(keys)), row) for row in self.rows]
        rows = [row for rank, row in sorted(ranked, key=lambda entry: entry[0]) if rank < len(keys) or not only]
        return self._replace(rows=rows)

    @property
    def unit(self) -> str:
        """What `n` counts."""
        return str(self.attrs["unit"])


def comparison(result: "xr.Dataset", counted: "xr.Dataset") -> Comparison:
    """Turn a comparison, and the counts of both sides, into rows; a dim with one candidate is named by it alone."""
    from perfarray.timings.writing import beside, rows_of

    dim, baseline = str(result.attrs["dim"]), str(result.attrs["baseline"])
    candidates = result[dim].values.tolist()
    units = beside(counted, result)["total"].sel(level=result.attrs["unit"])
    where = next(label for label in units[dim].values.tolist() if str(label) == baseline)
    sides = {"n_old": units.sel({dim: where}, drop=True).expand_dims({dim: candidates}), "n_new": units.sel({dim: candidates})}
    single = result[[name for name in result.data_vars if not str(name).startswith(SUITE)]].assign(sides)
    suites = result[[name for name in result.data_vars if str(name).startswith(SUITE)]]
    suites = suites.rename({name: str(name).removeprefix(SUITE) for name in suites.data_vars})
    if len(candidates) == 1 and dim != PROGRAM:
        single, suites = single.isel({dim: 0}, drop=True), suites.isel({dim: 0}, drop=True)
    rows, of_suites = (
        [_counted(row) for row in rows_of(dataset, list(map(str, dataset["estimate"].dims)))] for dataset in (single, suites)
    )
    return Comparison(
        rows, of_suites, dict(result.attrs), (baseline, str(candidates[0]) if len(candidates) == 1 else dim), level_of_intervals(result)
    )


def _counted(row: Row) -> Row:
    """Return a row whose counts are whole numbers."""
    return row | {name: int(row[name]) for name in ("n", "n_old", "n_new", "benchmarks") if row.get(name, math.nan) >= 0}


def names(rows: Sequence[Row]) -> list[str]:
    """Name each row: its benchmark, and its label along every other dim that has more than one."""
    columns = list(rows[0]) if rows else []
    dims = columns[: columns.index("estimate")] if columns else []
    if len(dims) == 1:
        return [str(row[dims[0]]) for row in rows]
    further_dims = [dim for dim in dims if dim != BENCHMARK and len({row[dim] for row in rows}) > 1]
    texts = []
    for row in rows:
        extra = ", ".join(f"{dim}={row[dim]}" for dim in further_dims)
        texts.append(f"{row[BENCHMARK]} [{extra}]" if extra and BENCHMARK in row else str(row.get(BENCHMARK, extra)))
    return texts


def measured(frame: "pd.DataFrame", compared: Comparison) -> "pd.DataFrame":
    """Return the rows of a table that were measured on both sides, with both numbers of units, if they are not the same for all.

    Where all are of one benchmark, its name stands beside them nevertheless.
    """
    import pandas as pd

    attrs_of_table = frame.attrs
    if BENCHMARK not in frame.index.names and BENCHMARK in compared.rows[0]:
        named = list(frame.index.names) != [None]
        frame = pd.concat([frame], keys=[compared.rows[0][BENCHMARK]], names=[BENCHMARK])
        frame = frame if named else frame.droplevel(1)
        frame.attrs = attrs_of_table
    attrs, dims, keys = frame.attrs, *labels_of(frame)
    # A label that all measured rows share is not in the table: rows without an answer, which have others, come first and are replaced.
    rows = {tuple(row[dim] for dim in dims): row for row in sorted(compared.rows, key=lambda row: bool(row["n"] > 0))}
    ends = len(frame) - int(attrs["suites"])
    n = [_n(rows[key], compared) for key in keys[:ends]] + frame["n"].tolist()[ends:]
    on_both_sides = [text != "0" for text in frame["n"]]
    frame = frame.assign(n=n)[on_both_sides]
    frame = frame.drop(columns="n") if len(set(frame["n"])) == 1 else frame
    frame.attrs = attrs
    return frame


def labels_of(frame: "pd.DataFrame") -> tuple[list[Any], list[tuple[Any, ...]]]:
    """Return the dims that the rows of a table are labelled by, and their labels."""
    dims = [name for name in frame.index.names if name is not None]
    return dims, [key if len(dims) > 1 else (key,) for key in frame.index.tolist()] if dims else [()] * len(frame)


def _n(row: Row, compared: Comparison) -> str:
    """Write the number of units, of either side where they differ."""
    return f"{row['n']}" if row["n_old"] == row["n_new"] or "paired" in compared.attrs else f"{row['n_old']} | {row['n_new']}"


def changes(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of a table that are faster or slower, and those of suites."""
    end = len(frame) - int(frame.attrs["suites"])
    attrs, frame = frame.attrs, frame[[*frame["verdict"].isin(CHANGED)[:end], *[True] * (len(frame) - end)]]
    frame.attrs = attrs
    return frame


def first(frame: "pd.DataFrame", most: int) -> "tuple[pd.DataFrame, int]":
    """Return the first rows of a table and those of suites, and how many are left out."""
    import pandas as pd

    end = len(frame) - int(frame.attrs["suites"])
    shortened = pd.concat([frame.iloc[: min(most, end)], frame.iloc[end:]])
    shortened.attrs = frame.attrs
    return shortened, max(0, end - most)


def legend(compared: Comparison) -> list[str]:
    """Write what the columns mean, what the verdicts rest on and what was left out."""
    attrs, rows = compared.attrs, list(compared.named().values())
    threshold, levels = float(attrs["threshold"]), str(attrs["levels"]).split()
    statistic, method = str(attrs.get("statistic", "mean")), str(attrs["method"])
    below = levels[levels.index(str(attrs.get("value", levels[0]))) + 1 :]
    inside = f", each the mean of its {' and '.join(map(plural, below))}" if below else ""
    inside = f", the median of all {plural(str(attrs['value']))} in them{inside}" if below != levels[1:] else inside
    side = f"matched pairs of {plural(compared.unit)}" if "paired" in attrs else f"independent {plural(compared.unit)} on each side"
    sides = () if "paired" in attrs else ("n_old", "n_new")
    numbers = {row[name] for row in (*rows, *compared.suites) for name in ("n", *sides) if name in row}
    side = side.replace(plural(compared.unit), compared.unit) if numbers == {1} else side
    n = f"n = {numbers.pop()}" if len(numbers) == 1 else "n counts"
    good = "more" if attrs["better"] == HIGHER else "less"
    band = f" beyond {percent(threshold)}" if threshold else ""
    judged = f"the interval lies wholly{band or ' on one side of no change'}"
    judged = judged if attrs["correction"] == "none" else f"by its corrected p-value it is{band or ' changed'}"
    lines = [
        f"change: of the {statistic} {attrs['metric']}, of which {good} is faster"
        + f", with its {compared.level} interval"
        + ("" if method in ("fieller", "order_statistics") else f" (method {method})")
        + f"; {n} {side}{inside}.",
        f"faster, slower: {judged}"
        + (
            f"; equivalent: wholly within {percent(threshold)}, ratios from {1 - threshold:g} to {1 + threshold:g}"
            if threshold
            else " (--threshold 2% lets smaller changes pass)"
        )
        + "; inconclusive: neither.",
    ]
    lines += _legend_of_correction(compared)
    if any(row["benchmarks"] > 1 for row in compared.suites):
        how = "each benchmark with its own " + plural(compared.unit) + f", {attrs['benchmarks']}"
        how = how if "assumed" in str(attrs["benchmarks"]) else f"all benchmarks on the same {plural(compared.unit)}, treated jointly"
        over = f" over the suites {attrs['suites']} (--by suite gives each a row)" if "suites" in attrs else ""
        lines.append(f"all: geometric mean of the ratios{over}; {how}.")
    marks = [mark for mark in MARKS if f"n_{mark}" in attrs and not (mark == CENSORED and attrs[CENSORED] == "bound")]
    left_out = [f"{attrs[f'n_{mark}']} {mark}" for mark in marks]
    return lines + ([f"Left out as marked: {', '.join(left_out)} values."] if left_out else [])


def _legend_of_correction(compared: Comparison) -> list[str]:
    """Write how many verdicts were asked for at once, and what was or can be done about it."""
    level, tests = (
        float(compared.attrs["confidence_level"]),
        sum(not math.isnan(row["lower"]) for row in compared.named().values()),
    )
    if compared.attrs["correction"] != "none":
        how = f"corrected for their number ({compared.attrs['correction']})"
        return [f"Verdicts are {how}, by their p-values, and so are the intervals; the suite is at {percent(level)}."]
    if tests < 2:
        return []
    chance = 100 * (1 - ((1 + level) / 2) ** tests)
    return [
        f"{tests} verdicts at once: a chance of up to {chance:.0f} % to call something slower that is not; --correction holm bounds it."
    ]


def in_words(compared: Comparison, frame: "pd.DataFrame") -> str:
    """Write how many there are of every verdict, and what became of the suite where there is one."""
    verdicts = [row["verdict"] for row in compared.named().values()]
    numbers = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("slower", "faster", "equivalent", "inconclusive"))
    count = f"{len(verdicts)} compared{' by their medians' if compared.attrs.get('statistic') == 'median' else ''}"
    if frame.attrs["suites"] != 1:
        return f"{count}: {numbers}"
    change, verdict = (str(frame[title].iloc[-1]) for title in ("change", "verdict"))
    return f"{count}: {numbers}; all together {change}{'' if f'x {verdict} (' in change else f', {verdict}'}"
