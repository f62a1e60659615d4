"""A comparison in rows, and its legend and outcome in sentences."""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from perfarray.cli.forms import Row
from perfarray.cli.options import percent
from perfarray.cli.reading import PROGRAM
from perfarray.conventions import (
    BENCHMARK,
    CENSORED,
    EXACT,
    HIGHER,
    MARKS,
    METRIC,
    SESSION,
    level_of_intervals,
    plural,
)

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

SUITE = "suite_"
MANY = 1000.0  # degrees of freedom beyond which more change nothing
VERDICTS = ("slower", "faster", "equivalent", "inconclusive")
CONTROL = "control"  # what stands for the verdict of a benchmark that the change cannot touch


class Comparison(NamedTuple):
    """A comparison in rows: those of benchmarks, and those of suites.

    Of several candidates a row is of what a candidate has; what none of them has is one row of the
    baseline. Rows without a test have no verdict.
    """

    rows: list[Row]
    # Of each row among all cells, measured or not
    positions: list[int]
    suites: list[Row]
    attrs: dict[Hashable, Any]
    labels: tuple[str, str]  # of the baseline and of the candidate
    level: str  # at which the intervals hold
    metrics: str  # and which of them are better when higher

    def named(self, old: bool = True, new: bool = True) -> dict[str, Row]:
        """Return the rows measured on both sides, or on those sides only, by name.

        Copies have a name of their own.
        """
        rows = zip(row_names(self.rows), self.rows, strict=True)
        return {
            name: row
            for name, row in rows
            if (row["n_old"] > 0, row["n_new"] > 0) == (old, new) and self._copy_of(row) is None
        }

    def copies(self, *, same: bool) -> list[str]:
        """Return the names of copies: those with the score of the other side, or the others."""
        return [
            name
            for name, row in zip(row_names(self.rows), self.rows, strict=True)
            if self._copy_of(row) is same
        ]

    def _copy_of(self, row: Row) -> bool | None:
        """Return whether a copy has the score of the other side; None where a row is no copy."""
        scores = [
            row[f"{side}_{self.attrs.get('statistic', 'mean')}"]
            for side in ("candidate", "baseline")
        ]
        return (
            scores[0] == scores[1] if row["n"] == 0 and not any(map(math.isnan, scores)) else None
        )

    def with_suites(self) -> list[Row]:
        """Return all rows, with those of suites of several benchmarks last."""
        suites = [row for row in self.suites if row["benchmarks"] > 1]
        return [*self.rows, *({BENCHMARK: f"all {row['benchmarks']}"} | row for row in suites)]

    def in_order_of(self, positions: Iterable[int], *, only: bool) -> "Comparison":
        """Return the rows in the order of those of a table.

        `only` those in it, or those that are not in it last.
        """
        positions = list(map(int, positions))
        untested = [] if only else sorted({*self.positions}.difference(positions))
        rows = dict(zip(self.positions, self.rows, strict=True))
        return self._replace(
            rows=[rows[position] for position in [*positions, *untested]],
            positions=[*positions, *untested],
        )

    @property
    def is_exact(self) -> bool:
        """Whether all rows with a verdict are of values without noise."""
        kinds = {row.get("kind") for row in self.rows if row["verdict"]}
        return kinds == {EXACT}

    @property
    def unit(self) -> str:
        """What `n` counts."""
        return str(self.attrs["unit"])


def comparison(result: "xr.Dataset") -> Comparison:
    """Turn a comparison into rows; a dim with one candidate makes no column."""
    from perfarray.results.rows import records

    dim, baseline = str(result.attrs["dim"]), str(result.attrs["baseline"])
    candidates = result[dim].values.tolist()
    cells = result.drop_vars([name for name in result.data_vars if str(name).startswith(SUITE)])
    cells = cells.rename(n_baseline="n_old", n_candidate="n_new")
    suites = result[[name for name in result.data_vars if str(name).startswith(SUITE)]]
    suites = suites.rename({name: str(name).removeprefix(SUITE) for name in suites.data_vars})
    if len(candidates) == 1 and dim != PROGRAM:
        cells, suites = cells.isel({dim: 0}, drop=True), suites.isel({dim: 0}, drop=True)
    statistic = result.attrs.get("statistic", "mean")
    # Scores of copies have no units.
    sides = {"n_old": f"baseline_{statistic}", "n_new": f"candidate_{statistic}"}
    old, new = ((cells[number] > 0) | cells[score].notnull() for number, score in sides.items())
    if (
        dim in cells.dims
    ):  # A label that no candidate has is one row of the baseline, not one row per candidate.
        old = old & ~new.any(dim) & (cells[dim] == candidates[0])
    masks = old | new, suites["benchmarks"] > 0
    positions, rows = [], []
    for data, mask in zip((cells, suites), masks, strict=True):
        like = data["estimate"]
        has_row = mask.broadcast_like(like).transpose(*like.dims)
        positions.append(has_row.values.ravel().nonzero()[0])
        rows.append(records(data, map(str, like.dims), positions[-1]))
    for row in rows[0]:
        if not row["n"] > 0:  # Only one side has it, or it is a copy: there is no test.
            row["verdict"] = ""
        if dim in row and not row["n_new"] > 0 and math.isnan(row[sides["n_new"]]):
            row[dim] = baseline
    for row in (*rows[0], *rows[1]):
        row.update(
            {
                name: int(row[name])
                for name in ("n", "n_old", "n_new", "benchmarks")
                if row.get(name, math.nan) >= 0
            }
        )
    candidate = str(candidates[0]) if len(candidates) == 1 else dim
    has_metrics = METRIC in result.dims
    directions = (
        result["better"].to_series().to_dict()
        if has_metrics
        else {result.attrs[METRIC]: result.attrs["better"]}
    )
    metrics = " or ".join(
        f"{name}, of which {'more' if better == HIGHER else 'less'} is faster"
        for name, better in directions.items()
    )
    return Comparison(
        rows[0],
        positions[0].tolist(),
        rows[1],
        dict(result.attrs),
        (baseline, candidate),
        level_of_intervals(result),
        metrics,
    )


def row_names(rows: Sequence[Row]) -> list[str]:
    """Name each row: its benchmark, and its label along every other dim that has more than one."""
    dims = row_dims(rows)
    if len(dims) == 1:
        return [str(row[dims[0]]) for row in rows]
    further_dims = [dim for dim in dims if dim != BENCHMARK and len({row[dim] for row in rows}) > 1]
    names = []
    for row in rows:
        labels = ", ".join(f"{dim}={row[dim]}" for dim in further_dims)
        names.append(
            f"{row[BENCHMARK]} [{labels}]"
            if labels and BENCHMARK in row
            else str(row.get(BENCHMARK, labels))
        )
    return names


def row_dims(rows: Sequence[Row]) -> list[str]:
    """Return the dims that rows are labelled by, which come before their numbers."""
    columns = list(rows[0]) if rows else []
    return columns[: columns.index("estimate")] if columns else []


def legend(comparison_rows: Comparison) -> list[str]:
    """Write what the columns mean, how verdicts are reached and what was left out."""
    attrs = comparison_rows.attrs
    threshold, method = float(attrs["threshold"]), str(attrs["method"])
    varies = any("threshold" in row for row in comparison_rows.rows)
    method_text = "" if method in ("fieller", "order_statistics") else f" (method {method})"
    statistic = attrs.get("statistic", "mean")
    band = (
        " beyond its threshold" if varies else f" beyond {percent(threshold)}" if threshold else ""
    )
    judged = f"the interval lies wholly{band or ' on one side of no change'}"
    judged = (
        judged
        if attrs["correction"] == "none"
        else f"by its corrected p-value it is{band or ' changed'}"
    )
    smaller = " (--threshold 2% lets smaller changes pass)"
    if varies:
        smaller = "; equivalent: wholly within its threshold"
    elif threshold:
        smaller = (
            f"; equivalent: wholly within {percent(threshold)}, ratios from {1 - threshold:g} "
            f"to {1 + threshold:g}"
        )
    sample, averaged = _sample(comparison_rows)
    if comparison_rows.is_exact:
        judged = f"it differs{band or ' at all'}"
    lines = [
        f"exact, without intervals; {sample}."
        if comparison_rows.is_exact
        else f"{comparison_rows.level} intervals{method_text}; {sample}.",
        *([] if comparison_rows.is_exact else _correction_legend(comparison_rows)),
        *_prior_legend(comparison_rows),
        *_sessions_legend(comparison_rows),
        f"change: of the {statistic} {comparison_rows.metrics}{averaged}.",
        f"faster, slower: {judged}{smaller}; inconclusive: neither.",
    ]
    if any(row["benchmarks"] > 1 for row in comparison_rows.suites):
        joint = f"all benchmarks on the same {plural(comparison_rows.unit)}, treated jointly"
        independent = (
            f"each benchmark with its own {plural(comparison_rows.unit)}, {attrs['benchmarks']}"
        )
        lines.append(
            "all: geometric mean of the ratios; "
            f"{independent if 'assumed' in str(attrs['benchmarks']) else joint}."
        )
    marks = [
        mark
        for mark in MARKS
        if f"n_{mark}" in attrs and not (mark == CENSORED and attrs[CENSORED] == "bound")
    ]
    left_out = ", ".join(f"{attrs[f'n_{mark}']} {mark}" for mark in marks)
    return lines + ([f"Left out as marked: {left_out} values."] if left_out else [])


def _sample(comparison_rows: Comparison) -> tuple[str, str]:
    attrs, units = comparison_rows.attrs, plural(comparison_rows.unit)
    levels = str(attrs["levels"]).split()
    value = str(attrs.get("value", levels[0]))
    averaged = levels[levels.index(value) + 1 :]
    inside = (
        f"; each {value} is the mean of its {' and '.join(map(plural, averaged))}"
        if averaged
        else ""
    )
    inside = (
        f"; the median of all {plural(value)} in them{inside}" if averaged != levels[1:] else inside
    )
    sides = () if "paired" in attrs else ("n_old", "n_new")
    rows = [
        row for row in (*comparison_rows.named().values(), *comparison_rows.suites) if row["n"] != 0
    ]
    numbers = {row[name] for row in rows for name in ("n", *sides) if name in row}
    pairs = {(row["n_old"], row["n_new"]) for row in rows if "n_old" in row} if sides else set()
    units = comparison_rows.unit if numbers == {1} else units
    sample = (
        f"matched pairs of {units}" if "paired" in attrs else f"independent {units} on each side"
    )
    if len(numbers) > 1 and len(pairs) == 1:  # Then the table has no column for them.
        return (
            f"n = {' and '.join(map(str, pairs.pop()))} {sample.removesuffix(' on each side')}",
            inside,
        )
    return f"{f'n = {numbers.pop()}' if len(numbers) == 1 else 'n counts'} {sample}", inside


def _prior_legend(comparison_rows: Comparison) -> list[str]:
    if "prior" not in comparison_rows.attrs:
        return []
    row = comparison_rows.rows[0]
    worth = "any number of" if math.isinf(row["prior_df"]) else f"{row['prior_df']:.0f}"
    deviation = f"{100 * row['prior_standard_deviation']:.2g} %"
    return [
        (
            f"Variances learned from the suite: a standard deviation near {deviation}, worth "
            f"{worth} further {plural(comparison_rows.unit)}."
        )
    ]


def _sessions_legend(comparison_rows: Comparison) -> list[str]:
    """Write the variation between sessions where it comes from other data."""
    level, numbers = (
        comparison_rows.attrs.get("between"),
        [row for row in comparison_rows.rows if row.get("session_df", math.nan) > 0],
    )
    if level is None or not numbers:
        return []
    deviations = sorted(row["session_standard_deviation"] for row in numbers)
    freedom = min(row["session_df"] for row in numbers)
    ends = " to ".join(dict.fromkeys(f"{100 * end:.2g}" for end in (deviations[0], deviations[-1])))
    freedom_text = "" if freedom > MANY else f" ({freedom:.0f} degrees of freedom)"
    return [
        (
            f"Each side is one {level}. Intervals hold what {plural(str(level))} vary by, standard "
            f"deviations of {ends} %{freedom_text}."
        )
    ]


def _correction_legend(comparison_rows: Comparison) -> list[str]:
    """Write how many verdicts there are at once, and how they are or can be corrected."""
    level, correction = (
        float(comparison_rows.attrs["confidence_level"]),
        comparison_rows.attrs["correction"],
    )
    if correction != "none":
        how = f"corrected for their number ({correction})"
        suites = f" The suite is at {percent(level)}." if comparison_rows.suites else ""
        return [f"Verdicts are {how}, by their p-values, and so are the intervals.{suites}"]
    tests = sum(
        not math.isnan(row["lower"]) and row["verdict"] != CONTROL
        for row in comparison_rows.named().values()
    )
    if tests < 2:
        return []
    chance = f"{100 * (1 - ((1 + level) / 2) ** tests):.0f} %"
    return [
        (
            f"{tests} verdicts at once. With up to {chance} probability one is a false 'slower'. "
            "--correction holm bounds it."
        )
    ]


def _rounds(comparison_rows: Comparison) -> str:
    """Write how many rounds there were, where sessions are compared in pairs."""
    if comparison_rows.attrs.get("paired") != SESSION:
        return ""
    numbers = sorted({row["n"] for row in comparison_rows.named().values() if row["n"] > 0})
    ends = " to ".join(map(str, dict.fromkeys((numbers[0], numbers[-1])))) if numbers else "0"
    return f" ({ends} {'round' if ends == '1' else 'rounds'}, in pairs)"


def verdict_counts(comparison_rows: Comparison, frame: "pd.DataFrame") -> str:
    """Write how many there are of every verdict, and the change of the suite where there is one."""
    words = [row["verdict"] for row in comparison_rows.named().values()]
    verdicts = [word for word in words if word != CONTROL]
    controls = f" beside {n} control{'s'[: n > 1]}" if (n := words.count(CONTROL)) else ""
    medians = " by their medians" if comparison_rows.attrs.get("statistic") == "median" else ""
    text = (
        f"{len(verdicts)} compared{controls}{medians}{_rounds(comparison_rows)}: "
        f"{', '.join(f'{verdicts.count(verdict)} {verdict}' for verdict in VERDICTS)}"
    )
    if (
        frame.attrs["suites"] != 1 or METRIC not in comparison_rows.attrs
    ):  # a suite is of one metric
        return text
    change, verdict = str(frame["change"].iloc[-1]), str(frame["verdict"].iloc[-1])
    return f"{text}; all together {change}{'' if f'x {verdict} (' in change else f', {verdict}'}"
