"""Tidy CSV: one row per measurement, columns named like dims, one column of values.

Lines `# key: value` before the header may give `units`, `better`, `metric` (the column of values) and `shared_levels`. The unit may also
be in the column's name: `time_ms`, `time [ms]`; or row by row in a column `unit`. After the header a line that begins with `#` is a row if
it has a separator.
"""

import csv
import io
import re
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from perfarray.conventions import CENSORED_AT, COMPARED, LEVELS, MARKS, SECONDS, THROUGHPUT, TIME, seconds_factor
from perfarray.readers.names import variable_name
from perfarray.readers.numbers import checked
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table, joint_codes
from perfarray.tables.frames import table_of
from perfarray.tables.roles import KNOWN_TIMES
from perfarray.timings.validation import listed
from perfarray.timings.values import direction_of

NAME = "tidy_csv"

VALUES = {TIME: SECONDS, "cpu_time": SECONDS, "energy": "J", "energy_j": "J", THROUGHPUT: "ops/s"}
"""Columns of values and their units where neither the name nor a comment says."""

UNITS_AS_NAMES = {
    "seconds": SECONDS, "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns", "ms": "ms", "us": "us", "ns": "ns",
}  # fmt: skip
"""Columns of times that are called by their unit."""

TIME_AND_UNIT = re.compile(r"(time|cpu_time)(?:_|\s*\[|\s*\(|\s+)(\w+)[\])]?")

BRACKETS = {"]": "[", ")": "("}
"""Around a unit behind the name of a column."""

COMMENT = {separator: re.compile(rf"^#[^\n{separator}]*(?:\n|\Z)", re.M) for separator in ",;\t"}
"""Lines of comment between rows: those without a separator of the table."""

LONGEST = 1 << 16
"""Characters the comments and the header may have together."""

UNITS_OF_ROWS = ("unit", "units", "time_unit")
"""Columns that hold the unit of the values row by row."""

MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "none", "\\N"]
"""How a missing number is written, in databases too; a label may be any of these but the empty one."""

EXACT: dict[str, Any] = {"float_precision": "round_trip"} if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else {}
"""Numbers to the last digit: from 3.1 on pandas knows no other way, and warns where it is asked for this one."""

WHOLE = re.compile(r"0|[1-9][0-9]{0,15}")
"""Labels that are whole numbers."""

FOREIGN = (("benchmark", "time", "ratio"),)
"""Headers that look tidy and belong to another format: SPEC runs, whose rows hold sums and scores too."""


def started(head: str) -> bool:
    """Return whether a file that is not all text has the header of a table."""
    return "\n" in head[len(comments(head)) :] and _is_tidy(head)


def recognise(source: Source) -> bool:
    """Return whether the header names a dim and a column of values."""
    return not source.looks_like_json and _is_tidy(source.text[:LONGEST])


def read(source: Source) -> Table:
    """Read the table; text columns that no dim explains are dims of their own."""
    pairs = re.findall(r"^#\s*(\w+)\s*:(.*)$", comments(source.text[:LONGEST]), re.M)
    stated = {key: value.strip() for key, value in pairs}
    frame = _frame(source)
    row_units = _row_units(source, frame, stated)
    found = _value_columns(source, frame.columns, stated)
    units = {metric: unit for metric, (_, unit) in found.items()}
    for column, _ in found.values():
        frame[column] = _numbers(source, frame[column])
    if row_units is not None:
        in_first_unit = [next(iter(found.values()))[0], *frame.columns.intersection([CENSORED_AT])]
        frame[in_first_unit] = frame[in_first_unit].mul(row_units, axis="index")
    better = {metric: stated.get("better", direction_of(unit, metric)) for metric, unit in units.items()}
    value = {metric: column for metric, (column, _) in found.items()}
    others = {name: variable_name(name, "column_", ()) for name in frame.columns if name not in value.values()}
    dims = {name: name for name in source.wanted.dims if name in frame.columns and name not in (*value.values(), *MARKS, CENSORED_AT)}
    try:
        table = table_of(
            frame.rename(columns=others),
            value=value,
            units=units,
            better=better,
            shared=stated.get("shared_levels", "").split(),
            dims=dims,
            texts_are_dims=True,
        )
    except ValueError as error:
        raise source.error(str(error)) from None
    _check_single(source, table)
    if TIME in found:
        _check_times(source, frame[found[TIME][0]], table)
    for note in table.notes:
        source.note(note.code, note.message, **note.values)
    return replace(table, notes=())


def _row_units(source: Source, frame: pd.DataFrame, stated: dict[str, str]) -> "pd.Series[float] | None":
    """Take the column of units off a table; put the one unit it gives into what is stated, or return the factor of each row to seconds."""
    column = next((name for name in frame.columns if name.lower() in UNITS_OF_ROWS), None)
    if column is None:
        return None
    cells = frame.pop(column)
    place = f"column {column!r}"
    if cells.isna().any():
        raise source.error(f"{place} is empty in row {int(cells.isna().to_numpy().argmax()) + 1} under the header; each row needs a unit")
    texts = cells.astype(str).str.strip()
    units = list(texts.unique())
    if len(units) == 1:
        if stated.setdefault("units", units[0]) != units[0]:
            raise source.error(f"says its units are {stated['units']!r}, and {place} says {units[0]!r}; one of them is wrong")
        return None
    factors = texts.map(dict(zip(units, map(seconds_factor, units), strict=True)))
    if "units" in stated or factors.isna().any():
        raise source.error(f"{place} has rows in {listed(units)}, which cannot be brought to one unit; of time are {KNOWN_TIMES}")
    stated["units"] = SECONDS
    return factors.astype(float)


def _is_tidy(text: str) -> bool:
    """Return whether the header names a dim and a column of values."""
    columns = header(text)
    known = any(value_column(name) for name in columns) or re.search(r"^#\s*metric\s*:", comments(text), re.M) is not None
    return known and any(name in (*COMPARED, *LEVELS) for name in columns) and tuple(columns) not in FOREIGN


def value_column(name: str) -> tuple[str, str, bool] | None:
    """Return the variable a column holds, its unit, and whether the name says it; None for a column that is no value."""
    lower = name.strip().lower()
    if lower in VALUES:
        return lower.removesuffix("_j"), VALUES[lower], lower.endswith("_j")
    if lower in UNITS_AS_NAMES:
        return TIME, UNITS_AS_NAMES[lower], True
    match = TIME_AND_UNIT.fullmatch(lower)
    if match and seconds_factor(match[2]) is not None:
        return match[1], match[2], True
    before, unit = name_and_unit(name)
    return (THROUGHPUT, unit, True) if unit and before.lower() == THROUGHPUT else None


def name_and_unit(name: str) -> tuple[str, str]:
    """Return the name of a column and the unit in brackets behind it, as in `rate [MB/s]`; "" where there is none."""
    bracket = BRACKETS.get(name.strip()[-1:])
    before, found, unit = name.strip()[:-1].rpartition(bracket) if bracket else ("", "", "")
    return (before.strip(), unit.strip()) if found and before.strip() and unit.strip() else (name, "")


def is_time_of_no_unit(name: str) -> bool:
    """Return whether a column is named like times, in a unit that is none."""
    match = TIME_AND_UNIT.fullmatch(name.strip().lower())
    return match is not None and seconds_factor(match[2]) is None


def _value_columns(source: Source, columns: Iterable[str], comments: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return variable to column and unit; what a comment says must agree with the name."""
    names = list(columns)
    found: dict[str, tuple[str, str]] = {}
    stated = {}
    for name in names:
        known = value_column(name)
        if known is None:
            continue
        metric, unit, by_name = known
        if metric in found:
            raise source.error(f"has two columns of {metric}, {found[metric][0]!r} and {name!r}; keep one")
        found[metric] = (name, unit)
        stated[metric] = by_name
    main = comments.get("metric")
    if main is not None and main not in found:
        if main not in names:
            raise source.error(f"says its values are in column {main!r}; its columns are {listed(names, 30)}")
        column, (main, unit) = main, name_and_unit(main)
        found = {main: (column, unit or "1"), **found}
        stated[main] = bool(unit)
    if not found:
        raise source.error(f"has no column of values: expected one of {listed([*VALUES, *UNITS_AS_NAMES], 30)}; it has {listed(names, 30)}")
    if "units" in comments:
        metric = main or next((name for name in (TIME, THROUGHPUT) if name in found), next(iter(found)))
        column, unit = found[metric]
        if stated[metric] and seconds_factor(unit) != seconds_factor(comments["units"]):
            raise source.error(f"says its units are {comments['units']!r}, and its column of values is {column!r}; one of them is wrong")
        if metric in (TIME, "cpu_time") and seconds_factor(comments["units"]) is None:
            raise source.error(f"says its times are in {comments['units']!r}, which is not a unit of time: these are {KNOWN_TIMES}")
        found[metric] = (column, comments["units"])
    first = main or next((name for name in (TIME, THROUGHPUT) if name in found), None)
    return {first: found[first], **found} if first else found


def _frame(source: Source) -> pd.DataFrame:
    """Parse the table: labels as they are written, whole numbers as numbers, the rest as pandas does."""
    between = separator(source.text[:LONGEST])
    text = source.text[len(comments(source.text)) :]
    text = COMMENT[between].sub("", text) if "#" in text else text
    columns = header(source.text[:LONGEST])
    if len(set(columns)) != len(columns):
        raise source.error(f"has a column twice: {listed(sorted({name for name in columns if columns.count(name) > 1}))}")
    labels = [name for name in columns if name in COMPARED]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        try:
            frame: pd.DataFrame = pd.read_csv(
                io.BytesIO(text.encode()),  # faster than StringIO, which widens every character first
                sep=between,
                skipinitialspace=True,
                dtype=dict.fromkeys(labels, str),
                keep_default_na=False,
                na_values={name: [""] if name in labels else MISSING for name in columns},
                index_col=False,
                names=columns,
                header=0,
                low_memory=False,
                **EXACT,
            )
        except (ValueError, pd.errors.ParserError) as error:
            _check_rows(source, text, columns)
            raise source.error(f"is not a table: {str(error).strip()}") from None
    values = [name for name in columns if value_column(name)]
    if caught or frame[columns[-1]].isna().any() or (frame[values].isna().any(axis=None) and "nan" in text):
        _check_rows(source, text, columns)
    if frame.empty:
        raise source.error("has a header and no rows")
    for name in labels:
        codes, found = pd.factorize(frame[name].to_numpy(dtype=object))
        names = pd.Index(found)
        whole = bool((codes >= 0).all()) and all(map(WHOLE.fullmatch, names))
        frame[name] = pd.Categorical.from_codes(codes, names.astype(int) if whole else names)
    for name in frame.columns.intersection(list(MARKS)):
        frame[name] = frame[name].fillna(False) if frame[name].dtype == object else frame[name]
    return frame


def _check_rows(source: Source, text: str, columns: list[str]) -> None:
    """Raise at the first row with more or fewer cells than the header, or with `nan` for a value: pandas drops the rest, or fills it."""
    rows = csv.reader(io.StringIO(text), delimiter=separator(source.text[:LONGEST]))
    least = max((place for place, name in enumerate(columns, 1) if name), default=0)
    values = [place for place, name in enumerate(columns) if value_column(name)]
    try:
        for number, row in enumerate(row for row in rows if len(row) > 1 or "".join(row).strip()):
            for place in values:
                if place < len(row) and row[place].strip() == "nan":
                    raise source.error(
                        f"column {columns[place]!r}, row {number} under the header, is 'nan'; expected a number, or nothing where none "
                        "was measured"
                    )
            if len(row) < least or any(cell.strip() for cell in row[len(columns) :]):
                raise source.error(
                    f"is not a table: row {number} under the header has {len(row)} cells, and the header {len(columns)}: "
                    f"{','.join(row)[:80]!r}"
                )
    except csv.Error as error:
        raise source.error(f"is not a table: {error}") from None


def _numbers(source: Source, column: "pd.Series[float]") -> "pd.Series[float]":
    """Return a column of values as numbers, or raise at the first that is none."""
    stated = column[column.notna()]
    values = stated.to_numpy() if column.dtype.kind in "if" else stated.tolist() if column.dtype == bool else list(map(str, stated))
    rows = stated.index + 1
    numbers = checked(values, lambda index: f"column {column.name!r}, row {rows[index]} under the header,", source)
    checked_column = pd.Series(numbers, index=stated.index, name=column.name)
    return checked_column if len(stated) == len(column) else checked_column.reindex(column.index)


def _check_times(source: Source, column: "pd.Series[float]", table: Table) -> None:
    """Raise at the first time that is not above 0, in a run that did not fail."""
    values = column.to_numpy()
    rows = np.flatnonzero(~np.isnan(values) & ~table.marks.get("failed", np.zeros(len(values), dtype=bool)))
    place = f"column {column.name!r}, row %d under the header,"
    checked(values[rows], lambda index: place % (rows[index] + 1), source, above_zero=True)


def _check_single(source: Source, table: Table) -> None:
    """Raise where two rows are the same measurement."""
    cells, _ = joint_codes([*(column.codes for column in table.labels.values()), *table.levels.values()])
    repeats = pd.Series(cells).duplicated().to_numpy()
    if repeats.any():
        row = int(repeats.argmax())
        raise source.error(
            f"{int(repeats.sum())} rows repeat a measurement, the first is row {row + 1} under the header ({table.place(row)}); "
            "leave out the repetition column that does not tell them apart, or name the column that does as a dim or a level"
        )


def comments(text: str) -> str:
    """Return the lines of comment before the header."""
    match = re.match(r"(?:#[^\n]*(?:\n|$)|[^\S\n]*\n)*", text)
    return match.group() if match else ""


def header(text: str) -> list[str]:
    """Return the column names in the first line that is not a comment."""
    return [name.strip().strip('"').strip() for name in _header_line(text).split(separator(text))]


def separator(text: str) -> str:
    """Return the separator the header uses most."""
    line = _header_line(text)
    return max(COMMENT, key=line.count)


def _header_line(text: str) -> str:
    """Return the first line that is not a comment."""
    return text[len(comments(text)) :].partition("\n")[0]
