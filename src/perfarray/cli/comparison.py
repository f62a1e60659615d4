"""A comparison in rows, as a table, and in words."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from rich.table import Table
from rich.text import Text

from perfarray.cli.console import blank_table, percent, plural
from perfarray.conventions import BENCHMARK, CENSORED, HIGHER, MARKS

STYLES = {"faster": "green", "slower": "bold red", "equivalent": "cyan", "inconclusive": "yellow"}

Row = dict[str, Any]


class Comparison(NamedTuple):
    """A comparison in rows, one per benchmark (and per label of any other dim), and one suite row per label of any other dim."""

    rows: list[Row]
    suites: list[Row]
    attrs: dict[Hashable, Any]
    labels: tuple[str, str]

    def named(self, old: bool = True, new: bool = True) -> dict[str, Row]:
        """Return the rows measured on both sides, or on those sides only, by name."""
        texts = names(self.rows)
        return {text: row for text, row in zip(texts, self.rows, strict=True) if (row["n_old"] > 0, row["n_new"] > 0) == (old, new)}

    @property
    def unit(self) -> str:
        """What `n` counts."""
        return str(self.attrs["unit"])


def comparison(result: xr.Dataset, counted: xr.Dataset, dim: str, baseline: str) -> Comparison:
    """Turn a comparison of one candidate, and the counts of both sides, into rows."""
    candidate = str(result[dim].values[0])
    one = result.isel({dim: 0}, drop=True)
    dims = list(map(str, one["estimate"].dims))
    units = counted["total"].sel(level=result.attrs["unit"])
    rows = _cells(one, dims, [str(name) for name in one.data_vars if not str(name).startswith("suite_")])
    for name, label in (("n_old", baseline), ("n_new", candidate)):
        for row, number in zip(rows, units.sel({dim: label}).transpose(*dims).values.ravel().tolist(), strict=True):
            row[name] = int(number)
    suites = _cells(
        one, list(map(str, one["suite_estimate"].dims)), [str(name) for name in one.data_vars if str(name).startswith("suite_")]
    )
    suites = [{name.removeprefix("suite_"): value for name, value in suite.items()} for suite in suites]
    return Comparison(rows, suites, dict(result.attrs), (baseline, candidate))


def _cells(result: xr.Dataset, dims: list[str], names: Iterable[str]) -> list[Row]:
    """Return one row per cell: its labels, then its values as plain numbers and texts."""
    arrays = {name: result[name].transpose(*dims).values for name in names}
    labels = {dim: result[dim].values.tolist() for dim in dims}
    shape = [len(labels[dim]) for dim in dims]
    rows = []
    for index in np.ndindex(*shape):
        row: Row = {dim: labels[dim][i] for dim, i in zip(dims, index, strict=True)}
        row |= {name: np.asarray(values[index]).item() for name, values in arrays.items()}
        rows.append(row | {name: int(row[name]) for name in ("n", "suite_n", "suite_benchmarks") if row.get(name, math.nan) >= 0})
    return rows


def names(rows: Sequence[Row]) -> list[str]:
    """Name each row: its benchmark, and its label along every other dim that has more than one."""
    others = [dim for dim in _dims(rows) if dim != BENCHMARK and len({row[dim] for row in rows}) > 1]
    texts = []
    for row in rows:
        extra = ", ".join(f"{dim}={row[dim]}" for dim in others)
        texts.append(f"{row[BENCHMARK]} [{extra}]" if extra and BENCHMARK in row else str(row.get(BENCHMARK, extra)))
    return texts


def _dims(rows: Sequence[Row]) -> list[str]:
    """Return the dims of the rows: the columns before the first answer."""
    columns = list(rows[0]) if rows else []
    return columns[: columns.index("estimate")] if columns else []


def package_of(texts: Iterable[str]) -> str:
    """Return the package all names begin with (`com.example.`), or nothing."""
    packages = [text.partition("[")[0].split(".")[:-1] for text in texts]
    common = [parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, zip(*packages, strict=False))]
    return ".".join([*common, ""]) if len(packages) > 1 and common and all(part.isidentifier() for part in common) else ""


def comparison_table(found: Comparison, wide: bool) -> Table:
    """Return the table of ratios, intervals and verdicts, the suite below the benchmarks; a wide one gives changes their intervals."""
    old, new = found.labels
    rows = found.named()
    levels = {row["interval_level"] for row in rows.values()}
    package = package_of(rows)
    table = blank_table()
    table.add_column("benchmark", overflow="fold")
    table.add_column(f"{new}/{old}", justify="right", no_wrap=True)
    table.add_column(f"{percent(levels.pop())} interval" if len(levels) == 1 else "interval", justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for name, row in rows.items():
        n = f"{row['n']}" if row["n_old"] == row["n_new"] or "paired" in found.attrs else f"{row['n_old']} | {row['n_new']}"
        table.add_row(name.removeprefix(package), *_cells_of(row, found.attrs, n, wide))
    table.add_section()
    for name, row in zip(names(found.suites), found.suites, strict=True):
        label = f"suite of {row['benchmarks']}"
        if row["benchmarks"] > 1:
            table.add_row(f"{label} [{name}]" if name else label, *_cells_of(row, found.attrs, str(row["n"]), wide))
    return table


def _cells_of(row: Row, attrs: Mapping[Hashable, Any], n: str, wide: bool) -> tuple[str | Text, ...]:
    """Return the ratio, the interval, n and the verdict as they are shown."""
    if math.isnan(row["estimate"]):
        return "unknown", "any", n, Text(row["verdict"], style=STYLES[row["verdict"]])
    digits = _digits(row, float(attrs["threshold"]))
    verdict = _change(row, wide) if row["verdict"] in ("faster", "slower") else row["verdict"]
    ratio = f"{_bound(row, attrs)}{row['estimate']:.{digits}f}x"
    return ratio, _interval(row, digits), n, Text(verdict, style=STYLES[row["verdict"]])


def _bound(row: Row, attrs: Mapping[Hashable, Any]) -> str:
    """Return what stands before a ratio that is a bound, since stopped runs leave no more known: the set is open to that side."""
    return {"at_least": ">= ", "at_most": "<= "}.get(row.get("kind", ""), "") if attrs.get(CENSORED) == "bound" else ""


def _digits(row: Row, threshold: float) -> int:
    """Return the decimals of a ratio: as the interval deserves, and enough that no limit seems to lie on an edge of the band."""
    limits = [row[name] for name in ("lower", "upper") if math.isfinite(row[name])]
    digits = 3 if row["estimate"] < 10 else 1
    if len(limits) == 2 and limits[1] > limits[0]:
        digits = max(digits, _decimals(limits[1] - limits[0]))
    edges = (1.0 - threshold, 1.0 + threshold)
    while digits < 6 and any(0 < abs(limit - edge) < 0.5 * 10**-digits for limit in limits for edge in edges):
        digits += 1
    return digits


def _decimals(width: float) -> int:
    """Return the decimals an interval of that width deserves."""
    return max(0, min(6, math.ceil(math.log10(4 / width)))) if width > 0 else 1


def _interval(row: Row, digits: int) -> str:
    """Write the set of ratios the data allow."""
    if math.isnan(row["lower"]) or math.isnan(row["upper"]):
        return "none"
    if row.get("kind") == "unbounded":
        return "unbounded"
    lower, upper = (f"{row[name]:.{digits}f}" for name in ("lower", "upper"))
    ways = {"exclusive": f"outside {lower} to {upper}", "at_least": f"at least {lower}", "at_most": f"at most {upper}"}
    return ways.get(row.get("kind", "bounded"), f"{lower} to {upper}")


def _change(row: Row, wide: bool) -> str:
    """Write a change: `9.8 % faster (8.9 to 10.7 %)`."""
    sign = -1 if row["estimate"] < 1 else 1
    change, *limits = (100 * sign * (row[name] - 1) for name in ("estimate", "lower", "upper"))
    low, high = sorted(limits)
    whole = row.get("kind", "bounded") == "bounded"
    digits = max(_decimals((high if whole else change) - low), 1 if low < 10 else 0)
    interval = f"{low:.{digits}f} to {high:.{digits}f} %" if whole else f"at least {low:.{digits}f} %"
    return f"{change:.{digits}f} % {row['verdict']}" + (f" ({interval})" if wide else "")


def sentence(row: Row, attrs: Mapping[Hashable, Any]) -> str:
    """Write one row as a phrase: `0.902x, 9.8 % faster (8.9 to 10.7 %)`."""
    ratio, interval, _, verdict = _cells_of(row, attrs, "", wide=True)
    return f"{ratio}, {verdict}" if row["verdict"] in ("faster", "slower") else f"{ratio} ({interval}), {verdict}"


def legend(found: Comparison) -> list[str]:
    """Write what the columns mean, what the verdicts rest on and what was left out."""
    attrs, (old, new) = found.attrs, found.labels
    threshold, levels = float(attrs["threshold"]), str(attrs["levels"]).split()
    good = "above" if attrs["better"] == HIGHER else "below"
    inside = f", each the mean of its {' and '.join(map(plural, levels[1:]))}" if levels[1:] else ""
    side = f"matched pairs of {plural(found.unit)}" if "paired" in attrs else f"independent {plural(found.unit)} on each side"
    band = f"{1 - threshold:.6g} to {1 + threshold:.6g}" if threshold else "1"
    package = package_of(found.named())
    judged = "the interval lies wholly" if attrs["correction"] == "none" else "it is, by the corrected p-value,"
    lines = [f"Names of benchmarks begin with {package}"] if package else []
    lines += [
        f"{new}/{old} is the ratio of mean {attrs['metric']}s; {good} 1 is faster. n counts {side}{inside}.",
        f"faster, slower: {judged} outside {band}"
        + ("; equivalent: wholly inside" if threshold else " (threshold 0 %: --threshold 2% lets smaller changes pass)")
        + "; inconclusive: neither.",
    ]
    lines += _legend_of_correction(found)
    if any(row["benchmarks"] > 1 for row in found.suites):
        how = "each benchmark with its own " + plural(found.unit) + f", {attrs['benchmarks']}"
        how = how if "assumed" in str(attrs["benchmarks"]) else f"all benchmarks on the same {plural(found.unit)}, treated jointly"
        lines.append(f"suite: geometric mean of the ratios; {how}.")
    marks = [mark for mark in MARKS if f"n_{mark}" in attrs and not (mark == CENSORED and attrs[CENSORED] == "bound")]
    left_out = [f"{attrs[f'n_{mark}']} {mark}" for mark in marks]
    return lines + ([f"Left out as marked: {', '.join(left_out)} values."] if left_out else [])


def _legend_of_correction(found: Comparison) -> list[str]:
    """Write how many verdicts were asked for at once, and what was or can be done about it."""
    level, tests = float(found.attrs["confidence_level"]), sum(not math.isnan(row["lower"]) for row in found.named().values())
    if found.attrs["correction"] != "none":
        how = f"corrected for the number of benchmarks ({found.attrs['correction']})"
        return [
            f"Verdicts are {how}, by their p-values. The intervals are corrected as well, by a rule that can be wider: one that reaches "
            f"into the band does not contradict its verdict; the suite is at {percent(level)}."
        ]
    if tests < 2:
        return []
    chance = 100 * (1 - ((1 + level) / 2) ** tests)
    return [
        f"{tests} benchmarks asked at once: a chance of up to {chance:.0f} % to call an unchanged one slower; --correction holm bounds it."
    ]


def lines_of_one_side(found: Comparison) -> list[str]:
    """Name the benchmarks that were not measured on both sides."""
    lines = []
    for label, absent in zip(found.labels, (found.named(new=False), found.named(old=False)), strict=True):
        if absent:
            lines += [f"only in {label}, {len(absent)}:", *(f"    {name}" for name in absent)]
    neither = len(found.named(old=False, new=False))
    return lines + ([f"no {found.attrs['metric']} on either side: {neither}"] if neither else [])
