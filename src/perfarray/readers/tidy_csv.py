"""Tidy CSV: one row per measurement, columns named like dims, one column of values.

Lines `# key: value` before the header may give `units`, `better`, `metric` (the column of values)
and `shared_levels`. The unit may also be in the column's name: `time_ms`, `time [ms]`; or row by
row in a column `unit`. After the header a line that begins with `#` is a row if it has a separator.
"""

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from perfarray.conventions import (
    CENSORED_AT,
    COMPARED,
    FAILED,
    HISTORY,
    LEVELS,
    MARKS,
    SECONDS,
    TIME,
    seconds_factor,
)
from perfarray.readers.labels import variable_name
from perfarray.readers.numbers import WRITTEN, checked
from perfarray.readers.opening import BEGINNING, FileError, Source
from perfarray.tables.columns import Table, are_distinct, joint_codes
from perfarray.tables.long_table import table_of
from perfarray.tables.measured import in_one_unit, scaled, value_column, value_columns
from perfarray.tables.number_texts import are_no_numbers, parse_numbers
from perfarray.tables.roles import KNOWN_TIMES
from perfarray.timings.validation import listed

NAME = "tidy_csv"
UNITS_BY_CALLER = True
COMMENT = {
    separator: re.compile(rf"^#[^\n{separator}]*(?:\n|\Z)", re.M) for separator in ",;\t"
}  # Between rows, by separator
# How a missing number is written, in databases too; a label may be any of these but the empty one
MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "none", "\\N"]
# Numbers to the last digit: from 3.1 on pandas knows no other way, and warns where it is asked for
# this one
EXACT: dict[str, Any] = (
    {"float_precision": "round_trip"}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    else {}
)
QUOTED = re.compile(r'"(?:[^"]|"")*"')
HEADER_ROW = re.compile(r'(?:"(?:[^"]|"")*"|[^"\n])*|[^\n]*')
MEASURED_NOTHING = [text for text in MISSING if text != "nan"]
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # Labels that are whole numbers
LONGEST_EXACT = 1 << 53  # Whole numbers from which decimals of 64 bits do not hold each
FOREIGN = (
    ("benchmark", "time", "ratio"),
)  # Headers of another format: SPEC runs, whose rows hold sums and scores too


def started(head: str) -> bool:
    """Return whether a file that is not all text has the header of a table."""
    return "\n" in head[len(comments(head)) :] and _is_tidy(head)


def recognise(source: Source) -> bool:
    """Return whether the header names a dim and a column of values."""
    return not source.looks_like_json and _is_tidy(source.beginning)


def read(source: Source) -> Table:
    """Read the table; names and comments give the roles of columns, as in `to_timings`."""
    return table_of_rows(source, frame_of(source), stated_in(comments(source.beginning)))


def stated_in(text: str) -> dict[str, str]:
    """Return what the lines of comment before the header say of the values."""
    return {key: value.strip() for key, value in re.findall(r"^#\s*(\w+)\s*:(.*)$", text, re.M)}


def table_of_rows(source: Source, frame: pd.DataFrame, stated: dict[str, str]) -> Table:
    """Return rows of measurements as a table.

    `stated` may give units, better, metric and shared levels.
    """
    if (units_by_caller := source.options.units) is not None:
        if stated.get("units", units_by_caller) != units_by_caller:
            raise source.error(
                f"says its units are {stated['units']!r}, and units={units_by_caller!r}; one "
                "of them is wrong"
            )
        stated = {**stated, "units": units_by_caller}
    try:
        frame, stated, factors = in_one_unit(frame, stated)
        measured = value_columns(frame.columns, stated)
    except ValueError as error:
        raise source.error(str(error)) from None
    for metric in measured.keys() & {TIME, "cpu_time"}:
        if seconds_factor(unit := measured[metric][1]) is None:
            raise source.error(
                f"says its times are in {unit!r}, which is not a unit of time: these are "
                f"{KNOWN_TIMES}"
            )
    units = {metric: unit for metric, (_, unit) in measured.items()}
    value = {metric: column for metric, (column, _) in measured.items()}
    for metric, column in value.items():
        if not _are_finite(frame[column]):
            frame[column], units[metric] = _numbers(source, frame[column], units[metric])
    frame = scaled(frame, next(iter(value.values())), factors)
    other_columns = {
        name: variable_name(name, "column_", ())
        for name in frame.columns
        if name not in value.values()
    }
    check_columns(source.error, [*other_columns.values(), *value.values()])
    renamed = (
        frame.rename(columns=other_columns)
        if any(old != new for old, new in other_columns.items())
        else frame
    )
    table = table_of_frame(
        source,
        renamed,
        value=value,
        units=units,
        better=stated.get("better"),
        shared=stated.get("shared_levels", "").split(),
        dims={
            name: name
            for name in source.options.dims
            if name in frame.columns and name not in (*value.values(), *MARKS, CENSORED_AT)
        },
    )
    _check_repeats(source, table)
    # Without rows that copy others, the numbers of rows are not those of the file.
    if TIME in value and len(table) == len(frame):
        _check_times(source, frame[value[TIME]], table)
    return table


def table_of_frame(source: Source, frame: pd.DataFrame, **roles: Any) -> Table:
    """Return a frame as a table, whose notes and errors name the file."""
    try:
        table = table_of(frame, **roles)
    except ValueError as error:
        raise source.error(str(error), getattr(error, "proposed_dims", {})) from None
    if source.options.keep_failed and FAILED not in frame.columns:
        marks = {name: mark for name, mark in table.marks.items() if name != FAILED}
        table = replace(
            table,
            marks=marks,
            notes=tuple(note for note in table.notes if note.code != "exit_codes"),
        )
    for note in table.notes:
        if not note.aside:
            source.note(note.code, note.message, **note.values)
    return replace(table, notes=tuple(note for note in table.notes if note.aside))


def _is_tidy(text: str) -> bool:
    columns = header(text)
    has_values = (
        any(value_column(name) for name in columns)
        or re.search(r"^#\s*metric\s*:", comments(text), re.M) is not None
    )
    # A `date` beside a bare `time` is when a row was written, as in many logs, and no history of
    # times.
    names = set(columns) - ({"date"} if TIME in columns else set())
    return (
        has_values
        and not names.isdisjoint((*COMPARED, *HISTORY, *LEVELS))
        and tuple(columns) not in FOREIGN
    )


def frame_of(source: Source) -> pd.DataFrame:
    """Parse the table: labels as written, whole numbers as numbers."""
    columns, delimiter = header(source.beginning), separator(source.beginning)
    content = _without_comments(source, delimiter)
    check_columns(source.error, columns)
    labels = [name for name in columns if name in (*COMPARED, *HISTORY)]
    try:
        frame, uneven = _parsed(content, columns, labels, delimiter)
    except (ValueError, pd.errors.ParserError) as error:
        _check_rows(source, content.decode(), columns)
        raise source.error(f"is not a table: {str(error).strip()}") from None
    # pandas drops or fills the cells of a row with more or fewer than the header.
    if uneven or frame[columns[-1]].hasnans:
        _check_rows(source, content.decode(), columns)
    if frame.empty:
        raise source.error("has a header and no rows")
    for name in labels:
        if WHOLE.fullmatch(str(frame[name].iloc[0])):
            codes, distinct = pd.factorize(frame[name])
            if codes.min() >= 0 and all(map(WHOLE.fullmatch, distinct)):
                frame[name] = pd.Categorical.from_codes(
                    codes, pd.Index([int(label) for label in distinct])
                )
    return frame


def _without_comments(source: Source, delimiter: str) -> bytes:
    """Return the header and the rows as UTF-8."""
    start = len(comments(source.beginning))
    if source.ascii is not None and start < BEGINNING and source.ascii.find(b"#", start) < 0:
        return source.ascii[start:]
    text = source.text[len(comments(source.text)) :]
    return (COMMENT[delimiter].sub("", text) if "#" in text else text).encode()


def _parsed(
    content: bytes, columns: list[str], labels: list[str], delimiter: str
) -> tuple[pd.DataFrame, bool]:
    """Return the cells as pandas reads them, and whether rows have too many."""
    options: dict[str, Any] = {
        "sep": delimiter,
        "skipinitialspace": b" " in content
        or b"\t" in content,  # skipping blanks that are not there takes a sixth of the parse
        "keep_default_na": False,
        "na_values": {
            name: [""] if name in labels else MEASURED_NOTHING if value_column(name) else MISSING
            for name in columns
        },
        "index_col": False,
        "names": columns,
        "header": 0,
        **EXACT,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        kinds = dict.fromkeys(labels, "category")  # labels recur
        frame = pd.read_csv(io.BytesIO(content), dtype=kinds, low_memory=False, **options)
    # pandas makes numbers of categories that all look like some, and labels stay as they are
    # written.
    numeric = [name for name in labels if not _are_texts(frame[name].cat.categories)]
    if numeric:
        texts = dict.fromkeys(numeric, object)
        frame[numeric] = pd.read_csv(io.BytesIO(content), usecols=numeric, dtype=texts, **options)
    # A gap makes decimals of whole numbers: long ones are read again, so that their labels keep all
    # digits.
    rounded = [name for name in columns if not value_column(name) and _is_rounded(frame[name])]
    if rounded:
        with suppress(ValueError):
            frame[rounded] = pd.read_csv(
                io.BytesIO(content), usecols=rounded, dtype="Int64", **options
            )
    return frame, any(issubclass(warning.category, pd.errors.ParserWarning) for warning in caught)


def _are_texts(labels: pd.Index) -> bool:
    return pd.api.types.is_string_dtype(labels) and not isinstance(labels, pd.CategoricalIndex)


def _is_rounded(column: pd.Series) -> bool:
    """Return whether a column holds whole numbers with gaps, some with many digits."""
    if column.dtype != float or not column.hasnans:
        return False
    numbers = column.dropna().to_numpy()
    return bool((abs(numbers) >= LONGEST_EXACT).any() and (numbers % 1 == 0).all())


def _check_rows(source: Source, text: str, columns: list[str]) -> None:
    """Raise at the first row with more or fewer cells than the header."""
    rows = csv.reader(io.StringIO(text), delimiter=separator(source.beginning))
    n_named = max((position for position, name in enumerate(columns, 1) if name), default=0)
    try:
        for number, row in enumerate(row for row in rows if len(row) > 1 or "".join(row).strip()):
            if len(row) < n_named or any(cell.strip() for cell in row[len(columns) :]):
                raise source.error(
                    f"is not a table: row {number} under the header has {len(row)} cells, and "
                    f"the header {len(columns)}: "
                    f"{','.join(row)[:80]!r}"
                )
    except csv.Error as error:
        raise source.error(f"is not a table: {error}") from None


def _are_finite(column: "pd.Series[float]") -> bool:
    return column.dtype == float and bool(np.isfinite(column.to_numpy()).all())


def _numbers(
    source: Source, column: "pd.Series[float]", unit: str
) -> tuple["pd.Series[float]", str]:
    """Return a column of values as numbers with its unit, which cells may state.

    Raise at the first cell that is no number.
    """
    if column.dtype.kind in "if":
        return column, unit
    if column.dtype.kind == "m":
        nanoseconds = column.to_numpy().astype("timedelta64[ns]").astype(float)
        return pd.Series(nanoseconds / 1e9, index=column.index, name=column.name), SECONDS
    no_numbers = are_no_numbers(column)
    present = column[~no_numbers & column.notna()]
    values = present.tolist() if column.dtype == bool else list(map(str, present))
    parsed = None
    if len(values) and isinstance(values[0], str) and not all(map(WRITTEN.fullmatch, values)):
        try:
            parsed = parse_numbers(present)
        except ValueError as error:
            raise source.error(str(error)) from None
        if parsed is not None:
            if parsed.unit and unit not in (parsed.unit, SECONDS, "1"):
                raise source.error(
                    f"column {column.name!r} is in {unit!r}, and its cells are in "
                    f"{parsed.unit!r}; one of them is wrong"
                )
            numbers, unit = parsed.values, parsed.unit or unit
    if parsed is None:
        rows = present.index + 1
        numbers = checked(
            values,
            lambda index: f"column {column.name!r}, row {rows[index]} under the header,",
            source,
        )
    # What is no number stays one that cannot have been measured, and is counted with those of every
    # table.
    return pd.Series(numbers, index=present.index, name=column.name).reindex(column.index).mask(
        no_numbers, np.inf
    ), unit


def _check_times(source: Source, column: "pd.Series[float]", table: Table) -> None:
    """Raise at the first time below 0 of a run that did not fail."""
    values = column.to_numpy()
    negative = (values < 0) & ~table.marks.get("failed", np.zeros(len(values), dtype=bool))
    if negative.any():
        row = int(negative.argmax())
        raise source.error(
            f"column {column.name!r}, row {row + 1} under the header, is {float(values[row])}; "
            "expected a number from 0"
        )


def _check_repeats(source: Source, table: Table) -> None:
    cells, count = joint_codes(
        [*(column.codes for column in table.labels.values()), *table.levels.values()]
    )
    if not are_distinct(cells, count):
        repeats = pd.Index(cells).duplicated()
        row = int(repeats.argmax())
        raise source.error(
            f"{int(repeats.sum())} rows repeat a measurement. The first is row {row + 1} under "
            f"the header ({table.place(row)}). Name the column that tells them apart as a dim or "
            "a level, or leave out a wrong repetition column"
        )


def comments(text: str) -> str:
    """Return the lines of comment before the header."""
    match = re.match(r"(?:#[^\n]*(?:\n|$)|[^\S\n]*\n)*", text)
    return match.group() if match else ""


def check_columns(error: Callable[[str], FileError], columns: Iterable[str]) -> None:
    """Raise where a column occurs twice; blanks around a name do not tell it from another."""
    repeated = [
        name for name, count in Counter(name.strip() for name in columns).items() if count > 1
    ]
    if repeated:
        raise error(f"has a column twice: {listed(sorted(repeated))}; rename or remove one")


def header(text: str) -> list[str]:
    """Return the column names in the first row that is not a comment.

    A name in quotes may hold the separator or a line break.
    """
    row = next(
        csv.reader(
            io.StringIO(header_row(text), newline=""),
            delimiter=separator(text),
            skipinitialspace=True,
        ),
        [],
    )
    return [
        " ".join(name.strip().strip('"').split())
        if "\n" in name
        else name.strip().strip('"').strip()
        for name in row
    ]


def separator(text: str) -> str:
    """Return the separator that the header uses most, outside quotes."""
    return max(COMMENT, key=QUOTED.sub("", header_row(text)).count)


def header_row(text: str) -> str:
    """Return the first row that is not a comment, without the end of its line."""
    match = HEADER_ROW.match(text, len(comments(text)))
    return match.group() if match else ""
