"""The roles of the columns of a long table: labels, repetitions, metrics, marks, descriptors."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perfarray.conventions import DIRECTIONS, ITERATION, THROUGHPUT, TIME, UNKNOWN, seconds_factor
from perfarray.numerics.types import Integers, Mask
from perfarray.tables.columns import Column, Metric, joint_codes, level_order, number_within, row_in_parent
from perfarray.timings.notes import Note
from perfarray.timings.validation import check_choice, listed
from perfarray.timings.values import direction_of

# Misspelt units of time: `Ms`, `S`, `millisec`, `sec.`, `secs`
LIKE_TIME = re.compile(
    r"\s*(?:[num\u00b5\u03bck]|nano|micro|milli|kilo)?[- ]?(?:s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?)\.?\s*(?:/\s*op\w*\s*)?", re.I
)

KNOWN_TIMES = "ns, us, ms, s, min and h, their names in full, and each of them per operation as in 'ns/op'"


def label_column(series: pd.Series) -> Column:
    """Code the labels of a dim by first appearance; a missing label is `unknown`, a date is written as in files."""
    if pd.api.types.is_datetime64_any_dtype(series):
        series = series.map(lambda moment: moment.isoformat().removesuffix("T00:00:00"), na_action="ignore")
    codes, labels = pd.factorize(series)
    if codes.min(initial=0) < 0:  # to look for missing labels first takes as long again
        codes, labels = pd.factorize(series, use_na_sentinel=False)
    names = [UNKNOWN if pd.isna(label) else label.item() if isinstance(label, np.generic) else label for label in labels]
    return Column(codes=codes.astype(np.intp, copy=False), labels=names)


def numbered_levels(
    labels: Mapping[str, Column], repetitions: Mapping[str, pd.Series], level: str, rows: int, shared: Sequence[str]
) -> dict[str, Integers]:
    """Number repetitions from 0 inside their parents; rows that nothing distinguishes are numbered along the unnamed level."""
    order = sorted(repetitions, key=level_order)
    parents = [column.codes for column in labels.values()]
    numbered: dict[str, Integers] = {}
    for name in order:
        parents = [joint_codes(parents)[0]] if parents else []
        codes = _repetition_labels(repetitions[name])
        numbered[name] = _number_shared(labels, numbered, codes) if name in shared else number_within(parents, codes)
        parents.append(numbered[name])
    cells = row_in_parent(parents, rows)
    unnamed = [name for name in dict.fromkeys((level, ITERATION)) if name not in numbered]
    if (cells.max(initial=0) > 0 or not numbered) and unnamed:
        numbered[unnamed[0]] = cells
    return numbered


def _number_shared(labels: Mapping[str, Column], above: Mapping[str, Integers], codes: npt.NDArray[Any]) -> Integers:
    """Number a shared level so that a label has the same position for every benchmark, and in other dims where that takes no more room."""
    outer = list(above.values())
    everywhere = number_within(outer, codes)
    dim_codes = [column.codes for name, column in labels.items() if name != "benchmark"]
    within_dims = number_within([*dim_codes, *outer], codes)
    return everywhere if everywhere.max(initial=0) <= within_dims.max(initial=0) else within_dims


def _repetition_labels(series: pd.Series) -> npt.NDArray[Any]:
    """Return repetition labels that sort well: numbers by value, others by first appearance."""
    if series.isna().any():
        raise ValueError(f"column {series.name!r} names repetitions but is empty in {int(series.isna().sum())} rows")
    return np.asarray(series.to_numpy() if pd.api.types.is_numeric_dtype(series) else pd.factorize(series)[0])


def metric_column(series: pd.Series, name: str, units: str | Mapping[str, str], better: str | Mapping[str, str] | None) -> Metric:
    """Return a column of numbers with its unit."""
    unit = units.get(name, "1") if isinstance(units, Mapping) else units
    if not isinstance(unit, str):
        raise ValueError(f"units={units!r}: give a unit such as 's', 'ms' or 'J', or a mapping of metrics to units")
    direction = stated_direction(better.get(name) if isinstance(better, Mapping) else better, unit, name)
    return Metric(values=_numbers(series).to_numpy(dtype=float, na_value=np.nan), units=unit, better=direction)


def limit_column(series: pd.Series) -> pd.Series:
    """Return the limits of stopped runs: numbers above 0, or missing."""
    limits = _numbers(series)
    wrong = limits.notna() & ~((limits > 0) & (limits < np.inf))
    if wrong.any():
        raise _bad_values(series, wrong, "no limits at which a run can be stopped: a limit is a number above 0, or missing")
    return limits


def _numbers(series: pd.Series) -> pd.Series:
    """Return a column as numbers."""
    if pd.api.types.is_numeric_dtype(series):
        return series
    numbers = pd.to_numeric(series, errors="coerce")
    wrong = numbers.isna() & series.notna()
    if wrong.any():
        raise _bad_values(series, wrong, "not numbers")
    return numbers


def _bad_values(series: pd.Series, wrong: pd.Series, fault: str) -> ValueError:
    """Return an error that names the number of bad values of a column, and the first."""
    first = wrong.to_numpy().argmax()
    return ValueError(
        f"column {series.name!r} holds {int(wrong.sum())} values that are {fault}; the first is {series.iloc[first]!r} in row {first}"
    )


def check_unit(name: str, unit: str) -> Note | None:
    """Raise for misspelt units of time and for a throughput in a unit of time; return a note on a time in another unit."""
    is_time = seconds_factor(unit) is not None
    if not is_time and LIKE_TIME.fullmatch(unit):
        raise ValueError(f"{name!r} is in {unit!r}, which is no unit that is known; of time these are {KNOWN_TIMES}")
    if is_time and name == THROUGHPUT:
        raise ValueError(f"{name!r} is in {unit!r}, which is a time; a throughput is a rate such as 'ops/s': call the times {TIME!r}")
    if is_time or unit in ("1", "") or name != TIME:
        return None
    return Note("unknown_unit", f"{name!r} is in {unit!r}, which is no unit of time and is kept; these are {KNOWN_TIMES}", {"units": unit})


def stated_direction(better: object, units: str, name: str = "") -> str:
    """Return the direction: the stated one, else the default for the unit and the name of the variable."""
    if better is None:
        return direction_of(units, name)
    check_choice(better, "better", DIRECTIONS)
    return str(better)


def mark_column(series: pd.Series) -> Mask:
    """Return a column of marks as bool: true, yes and 1 are True, whatever is missing False."""
    if series.dtype == bool:
        return series.to_numpy()
    if pd.api.types.is_numeric_dtype(series):
        return np.asarray(series.fillna(0).to_numpy(dtype=float) != 0)
    words = series.astype(object).where(series.notna(), "").map(lambda value: str(value).strip().lower())
    unknown = sorted(set(words) - {"", "true", "yes", "1", "t", "false", "no", "0", "f"})
    if unknown:
        raise ValueError(f"column {series.name!r} is a mark, true or false; it holds {listed(unknown)}")
    return words.isin(["true", "yes", "1", "t"]).to_numpy()


def placed_column(
    series: pd.Series, labels: Mapping[str, Column], levels: Mapping[str, Integers]
) -> tuple[tuple[str, ...], npt.NDArray[Any]]:
    """Return the fewest dims that a column depends on (none, one, or all down to a level), and its values."""
    numeric = pd.api.types.is_numeric_dtype(series) and series.dtype != bool
    values = (
        series.to_numpy(dtype=float, na_value=np.nan)
        if numeric
        else series.astype(object).where(series.notna(), UNKNOWN).map(str).to_numpy(dtype=object)
    )
    return fewest_dims(series, labels, levels), values


def fewest_dims(values: pd.Series | npt.NDArray[Any], labels: Mapping[str, Column], levels: Mapping[str, Integers]) -> tuple[str, ...]:
    """Return the fewest dims that values by row depend on: none, one, or all down to a level."""
    codes = pd.factorize(values, use_na_sentinel=False)[0]
    by = {name: column.codes for name, column in labels.items()} | dict(levels)
    tries: list[tuple[str, ...]] = [(), *((name,) for name in labels)]
    nest = list(levels)
    tries += [(*labels, *nest[:depth]) for depth in range(len(nest) + 1)]
    return next((dims for dims in tries if depends_only_on(codes, [by[name] for name in dims])), tuple(by))


def depends_only_on(codes: Integers, by: Sequence[Integers]) -> bool:
    """Return whether rows that agree in `by` agree in `codes`."""
    if not by:
        return bool((codes == codes[0]).all())
    groups, count = joint_codes(by)
    examples = np.zeros(count, dtype=np.intp)
    examples[groups] = np.arange(len(groups))
    return bool((codes[examples[groups]] == codes).all())
