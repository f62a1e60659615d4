"""The roles of the columns of a long table: labels, repetitions, metrics, marks, descriptors."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from perfarray.conventions import (
    DIRECTIONS,
    FAILED,
    ITERATION,
    SECONDS,
    THROUGHPUT,
    TIME,
    UNKNOWN,
    seconds_factor,
)
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.tables.columns import (
    LARGEST_EXACT,
    Column,
    Metric,
    joint_codes,
    level_order,
    number_within,
    objects,
    row_in_parent,
)
from perfarray.tables.number_texts import are_no_numbers, parse_numbers
from perfarray.timings.notes import Note
from perfarray.timings.validation import check_choice, listed, number_of
from perfarray.timings.values import direction_by_name

# Misspelt units of time: `Ms`, `S`, `millisec`, `sec.`, `secs`
LIKE_TIME = re.compile(
    r"\s*(?:[num\u00b5\u03bck]|nano|micro|milli|kilo)?[- ]?"
    r"(?:s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?)\.?\s*(?:/\s*op\w*\s*)?",
    re.I,
)

# Rows of a large table that are looked at before all
FIRST_ROWS = 10_000

EXIT_CODE = re.compile(r"(?:exit|return|ret)[ _-]?(?:code|status)|exit|rc", re.I)

KNOWN_TIMES = (
    "ns, us, ms, s, min and h, their names in full, and each of them per operation as in 'ns/op'"
)


def label_column(series: pd.Series) -> Column:
    """Code the labels of a dim by first appearance.

    A missing label is `unknown`, or `missing` beside a label `unknown`; a date is written as in
    files.
    """
    if pd.api.types.is_datetime64_any_dtype(series):
        series = series.map(
            lambda moment: moment.isoformat().removesuffix("T00:00:00"), na_action="ignore"
        )
    codes, labels = pd.factorize(series)
    has_missing = codes.min(initial=0) < 0  # to look for missing labels first takes as long again
    if has_missing:
        codes, labels = pd.factorize(series, use_na_sentinel=False)
    # pandas makes decimals of whole numbers where one is missing.
    are_integers = (
        has_missing and labels.dtype.kind == "f" and are_whole(labels[~np.isnan(labels)].to_numpy())
    )
    names = [label.item() if isinstance(label, np.generic) else label for label in labels]
    if has_missing:
        missing = _missing_label([label for label in names if not pd.isna(label)])
        names = [
            missing if pd.isna(label) else int(label) if are_integers else label for label in names
        ]
    return Column(codes=codes.astype(np.intp, copy=False), labels=names)


def _missing_label(labels: Sequence[Any]) -> str:
    """Return a label for rows that have none, which no other row has."""
    return next(
        name
        for name in (UNKNOWN, "missing", *(f"missing_{n}" for n in range(2, len(labels) + 2)))
        if name not in labels
    )


def missing_label_notes(
    frame: pd.DataFrame, labels: Mapping[str, Column], columns: Mapping[str, str]
) -> list[Note]:
    """Return notes on columns that have a label `unknown`, and rows without a label."""
    notes = []
    for dim, column in labels.items():
        if UNKNOWN not in column.labels:
            continue
        series = frame[columns.get(dim, dim)]
        missing = series.isna().to_numpy()
        label = column.labels[column.codes[missing.argmax()]]
        if missing.any() and label != UNKNOWN:
            rows = int(missing.sum())
            text = (
                f"Column {series.name!r} has the label {UNKNOWN!r}, and {number_of(rows, 'row')} "
                f"without a label. Such rows get the label {label!r}. Where they belong to "
                f"{UNKNOWN!r}, write that label."
            )
            values = {"column": str(series.name), "label": label, "rows": rows}
            notes.append(Note("missing_label", text, values))
    return notes


def are_whole(numbers: Floats) -> bool:
    """Return whether all numbers are whole; an infinite one is not."""
    return bool((np.isfinite(numbers) & (np.floor(numbers) == numbers)).all())


def numbered_levels(
    labels: Mapping[str, Column],
    repetitions: Mapping[str, pd.Series],
    level: str,
    rows: int,
    shared: Sequence[str],
) -> dict[str, Integers]:
    """Number repetitions from 0 inside their parents.

    Rows that nothing distinguishes are numbered along the unnamed level.
    """
    order = sorted(repetitions, key=level_order)
    parents = [column.codes for column in labels.values()]
    numbered: dict[str, Integers] = {}
    for name in order:
        parents = [joint_codes(parents)[0]] if parents else []
        codes = _repetition_labels(repetitions[name])
        numbered[name] = (
            _number_shared(labels, numbered, codes)
            if name in shared
            else number_within(parents, codes)
        )
        parents.append(numbered[name])
    cells = row_in_parent(parents, rows)
    unnamed = [name for name in dict.fromkeys((level, ITERATION)) if name not in numbered]
    if (cells.max(initial=0) > 0 or not numbered) and unnamed:
        numbered[unnamed[0]] = cells
    return numbered


def _number_shared(
    labels: Mapping[str, Column], above: Mapping[str, Integers], codes: npt.NDArray[Any]
) -> Integers:
    """Number a shared level so that a label has the same position for every benchmark.

    It has in other dims too, where that takes no more room.
    """
    outer = list(above.values())
    everywhere = number_within(outer, codes)
    dim_codes = [column.codes for name, column in labels.items() if name != "benchmark"]
    within_dims = number_within([*dim_codes, *outer], codes)
    return everywhere if everywhere.max(initial=0) <= within_dims.max(initial=0) else within_dims


def _repetition_labels(series: pd.Series) -> npt.NDArray[Any]:
    """Return repetition labels that sort well: numbers by value, others by first appearance."""
    if series.isna().any():
        raise ValueError(
            f"column {series.name!r} names repetitions but is empty in "
            f"{int(series.isna().sum())} rows"
        )
    return np.asarray(
        series.to_numpy() if pd.api.types.is_numeric_dtype(series) else pd.factorize(series)[0]
    )


def metric_column(
    series: pd.Series, name: str, unit: str, better: str | Mapping[str, str] | None
) -> tuple[Metric, Note | None]:
    """Return a column of numbers with its unit; durations and texts (`70.5 us`) have their own.

    Infinite values and texts such as `nan` were not measured; the note counts them.
    """
    if not isinstance(unit, str):
        raise ValueError(
            f"units={unit!r}: give a unit such as 's', 'ms' or 'J', or a mapping of metrics "
            "to units"
        )
    no_numbers = are_no_numbers(series)
    note = _no_numbers_note(series, no_numbers.to_numpy(dtype=bool)) if no_numbers.any() else None
    numbers, own_unit = _numbers_and_unit(series.mask(no_numbers) if note else series)
    if own_unit and unit not in (own_unit, SECONDS, "1") and not (_is_duration(series)):
        raise ValueError(
            f"column {series.name!r} is said to be in {unit!r}, and its cells are in "
            f"{own_unit!r}; one of them is wrong"
        )
    unit = own_unit or unit
    direction = stated_direction(
        better.get(name) if isinstance(better, Mapping) else better, unit, name
    )
    return Metric(values=numbers, units=unit, better=direction), note


def _no_numbers_note(series: pd.Series, mask: Mask) -> Note:
    """Return the note on values that are no numbers."""
    values, first = number_of(int(mask.sum()), "value"), int(mask.argmax())
    count = "counts" if mask.sum() == 1 else "count"
    text = (
        f"{values} of column {series.name!r} {count} as not measured, since they are no "
        f"numbers; the first is in row {first + 1}"
    )
    return Note(
        "no_numbers",
        text,
        {"values": int(mask.sum()), "column": str(series.name), "row": first + 1},
    )


def _numbers_and_unit(series: pd.Series) -> tuple[Floats, str]:
    """Return the numbers of a column, and the unit that its values have of their own.

    "" for none.
    """
    if pd.api.types.is_datetime64_any_dtype(series):
        raise ValueError(
            f"column {series.name!r} holds moments, not durations; give the difference of the "
            "end and the start"
        )
    if _is_duration(series):
        return np.asarray(pd.to_timedelta(series).dt.total_seconds(), dtype=np.float64), SECONDS
    if not pd.api.types.is_numeric_dtype(series) and (parsed := parse_numbers(series)) is not None:
        return parsed.values, parsed.unit
    return np.asarray(_numbers(series).to_numpy(dtype=float, na_value=np.nan), dtype=np.float64), ""


def _is_duration(series: pd.Series) -> bool:
    """Return whether a column holds durations of pandas, NumPy or Python."""
    if pd.api.types.is_timedelta64_dtype(series):
        return True
    values = series.dropna() if series.dtype == object else series.iloc[:0]
    return len(values) > 0 and all(
        isinstance(value, timedelta | np.timedelta64) for value in values
    )


def failed_by_exit_code(
    columns: Mapping[str, pd.Series], marks: Mapping[str, Mask]
) -> tuple[dict[str, Mask], Note | None]:
    """Return the mark of runs whose exit code is not 0, and a note on them.

    Nothing where the table marks failed runs itself.
    """
    name = next(
        (
            name
            for name, series in columns.items()
            if EXIT_CODE.fullmatch(name) and pd.api.types.is_numeric_dtype(series)
        ),
        None,
    )
    if name is None or FAILED in marks:
        return {}, None
    failed = columns[name].to_numpy(dtype=float, na_value=0) != 0
    if not failed.any():
        return {}, None
    runs = number_of(int(failed.sum()), "run")
    text = (
        f"{runs} of {len(failed)} ended with another {name!r} than 0 and "
        f"{'is' if failed.sum() == 1 else 'are'} marked as failed: they are "
        "left out. keep_failed=True keeps those of a file; in a frame drop the column"
    )
    return {FAILED: failed}, Note("exit_codes", text, {"runs": int(failed.sum()), "column": name})


def limit_column(series: pd.Series) -> pd.Series:
    """Return the limits of stopped runs: numbers above 0, or missing."""
    limits = pd.Series(
        _numbers(series).to_numpy(dtype=float, na_value=np.nan),
        index=series.index,
        name=series.name,
    )
    wrong = limits.notna() & ~((limits > 0) & (limits < np.inf))
    if wrong.any():
        raise _bad_values(
            series,
            wrong,
            "no limits at which a run can be stopped: a limit is a number above 0, or missing",
        )
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
        f"column {series.name!r} holds {int(wrong.sum())} values that are {fault}; the first "
        f"is {series.iloc[first]!r} in row {first}"
    )


def check_unit(name: str, unit: str) -> Note | None:
    """Raise for misspelt units of time and for a throughput in a unit of time.

    Return a note on a time in another unit.
    """
    is_time = seconds_factor(unit) is not None
    if not is_time and LIKE_TIME.fullmatch(unit):
        raise ValueError(
            f"{name!r} is in {unit!r}, which is no unit that is known; of time these are "
            f"{KNOWN_TIMES}"
        )
    if is_time and name == THROUGHPUT:
        raise ValueError(
            f"{name!r} is in {unit!r}, which is a time; a throughput is a rate such as "
            f"'ops/s': call the times {TIME!r}"
        )
    if is_time or unit in ("1", "") or name != TIME:
        return None
    return Note(
        "unknown_unit",
        f"{name!r} is in {unit!r}, which is no unit of time and is kept; these are {KNOWN_TIMES}",
        {"units": unit},
    )


def stated_direction(better: object, units: str, name: str = "") -> str | None:
    """Return the direction: the stated one, else that of the unit and the name of the variable.

    None where neither says it.
    """
    if better is None:
        return direction_by_name(units, name)
    check_choice(better, "better", DIRECTIONS)
    return str(better)


def mark_column(series: pd.Series) -> Mask:
    """Return a column of marks as bool: true, yes and 1 are True, whatever is missing False."""
    if series.dtype == bool:
        return series.to_numpy()
    if pd.api.types.is_numeric_dtype(series):
        return np.asarray(series.to_numpy(dtype=float, na_value=0) != 0)
    words = (
        series.astype(object)
        .where(series.notna(), "")
        .map(lambda value: str(value).strip().lower())
    )
    unknown = sorted(set(words) - {"", "true", "yes", "1", "t", "false", "no", "0", "f"})
    if unknown:
        raise ValueError(
            f"column {series.name!r} is a mark, true or false; it holds {listed(unknown)}"
        )
    return words.isin(["true", "yes", "1", "t"]).to_numpy()


def placed_column(
    series: pd.Series, labels: Mapping[str, Column], levels: Mapping[str, Integers]
) -> tuple[tuple[str, ...], npt.NDArray[Any]]:
    """Return the fewest dims that a column depends on, and its values.

    The dims are none, one, or all down to a level.
    """
    if pd.api.types.is_numeric_dtype(series) and series.dtype != bool:
        return fewest_dims(series, labels, levels), series.to_numpy(dtype=float, na_value=np.nan)
    codes, distinct = pd.factorize(series, use_na_sentinel=False)
    texts = np.array(
        [UNKNOWN if pd.isna(label) else str(label) for label in distinct], dtype=object
    )
    return fewest_dims(codes, labels, levels), texts[codes]


def level_labels(
    column: Column, level: str, labels: Mapping[str, Column], levels: Mapping[str, Integers]
) -> tuple[tuple[str, ...], npt.NDArray[Any]] | None:
    """Return what a file calls the units of a level, and the fewest dims that depends on.

    None where that tells nothing.

    Names of units inside others that no two of these have in common make neither a crossing nor a
    pair; those of the outermost units that count them from 0 or 1 are known.
    """
    outer = sorted(
        (name for name in levels if level_order(name) < level_order(level)), key=level_order
    )
    codes = {name: labels[name].codes for name in labels} | {
        name: levels[name] for name in (*outer, level)
    }
    dims = list(codes)
    for name in dims[:-1]:
        fewer = [dim for dim in dims if dim != name]
        dims = fewer if depends_only_on(column.codes, [codes[dim] for dim in fewer]) else dims
    n_units = len(pd.unique(joint_codes([codes[dim] for dim in (*outer, level)])[0]))
    if outer and len(dims) > 1 and n_units == len(column.labels):
        return None
    numeric = all(
        isinstance(label, int | float) and abs(label) < LARGEST_EXACT for label in column.labels
    )
    names = (
        np.array(column.labels, dtype=float)
        if numeric
        else objects([str(label) for label in column.labels])
    )
    values = names[column.codes]
    is_counter = (
        not outer
        and numeric
        and any(np.array_equal(values, levels[level] + start) for start in (0, 1))
    )
    return None if is_counter else (tuple(dims), values)


def fewest_dims(
    values: pd.Series | npt.NDArray[Any],
    labels: Mapping[str, Column],
    levels: Mapping[str, Integers],
) -> tuple[str, ...]:
    """Return the fewest dims that values by row depend on.

    They are none, one, some of the dims, or all down to a level.
    """
    codes = pd.factorize(values, use_na_sentinel=False)[0]
    by = {name: column.codes for name, column in labels.items()} | dict(levels)
    candidates: list[tuple[str, ...]] = [(), *((name,) for name in labels)]
    for dims in candidates:
        if depends_only_on(codes, [by[name] for name in dims]):
            return dims
    if depends_only_on(codes, [by[name] for name in labels]):
        dims = tuple(labels)
        for name in labels:
            fewer = tuple(dim for dim in dims if dim != name)
            dims = fewer if depends_only_on(codes, [by[dim] for dim in fewer]) else dims
        return dims
    nest = list(levels)
    down_to = [(*labels, *nest[:depth]) for depth in range(1, len(nest) + 1)]
    return next(
        (dims for dims in down_to if depends_only_on(codes, [by[name] for name in dims])), tuple(by)
    )


def depends_only_on(codes: Integers, by: Sequence[Integers]) -> bool:
    """Return whether rows that agree in `by` agree in `codes`."""
    if not by:
        return bool((codes == codes[0]).all())
    # What varies among runs mostly does so among the first.
    if len(codes) > 2 * FIRST_ROWS and not depends_only_on(
        codes[:FIRST_ROWS], [column[:FIRST_ROWS] for column in by]
    ):
        return False
    groups, count = joint_codes(by)
    examples = np.zeros(count, dtype=np.intp)
    examples[groups] = np.arange(len(groups))
    return bool((codes[examples[groups]] == codes).all())
