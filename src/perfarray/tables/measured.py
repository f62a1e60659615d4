"""The columns that hold measurements, and their units, from names or a column of units."""

import re
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from perfarray.conventions import CENSORED_AT, FAILED, SECONDS, THROUGHPUT, TIME, seconds_factor
from perfarray.tables.columns import Table
from perfarray.tables.roles import KNOWN_TIMES
from perfarray.timings.validation import listed
from perfarray.timings.values import out_of_range

# Columns of values and their default units
VALUES = {TIME: SECONDS, "cpu_time": SECONDS, "energy": "J", "energy_j": "J", THROUGHPUT: "ops/s"}

# Quantities that are measured where a unit in brackets follows, as in `memory [MB]`
QUANTITIES = (THROUGHPUT, "energy", "memory", "power", "count")

# Key of what is stated of a table: its further columns of values, by name
MEASURED = "measured"

# Columns of times named by their unit
UNITS_AS_NAMES = {
    "seconds": SECONDS,
    "milliseconds": "ms",
    "microseconds": "us",
    "nanoseconds": "ns",
    "ms": "ms",
    "us": "us",
    "ns": "ns",
}

TIME_AND_UNIT = re.compile(r"(time|cpu_time)(?:_|\s*\[|\s*\(|\s+)(\w+)[\])]?")

# The brackets around a unit behind the name of a column
BRACKETS = {"]": "[", ")": "("}

LIKE_VALUES = re.compile(
    r"time|duration|elapsed|latency|runtime|seconds|(?:^|[_\s(\[])(?:ns|us|ms|s|sec)[)\]]?$", re.I
)
LIKE_BENCHMARKS = re.compile(r"bench|program|test|workload|kernel|query|name", re.I)
# Usual names of columns, for proposals in messages only
UNIT_AT_END = re.compile(r"(?:^|[_\s(\[])([a-zµμ]+)[)\]]?$", re.I)

# Columns that hold the unit of the values row by row
UNITS_OF_ROWS = ("unit", "units", "time_unit")


def value_column(name: str) -> tuple[str, str, bool] | None:
    """Return the variable that a column holds, its unit, and whether the name states the unit.

    None for other columns.
    """
    lower = name.strip().lower()
    if lower in VALUES:
        return lower.removesuffix("_j"), VALUES[lower], lower.endswith("_j")
    if lower in UNITS_AS_NAMES:
        return TIME, UNITS_AS_NAMES[lower], True
    match = TIME_AND_UNIT.fullmatch(lower)
    if match and seconds_factor(match[2]) is not None:
        return match[1], match[2], True
    stem, unit = name_and_unit(name)
    # As in `time [ns/op]`.
    if unit and stem.lower() in (TIME, "cpu_time") and seconds_factor(unit) is not None:
        return stem.lower(), unit, True
    return (stem.lower(), unit, True) if unit and stem.lower() in QUANTITIES else None


def name_and_unit(name: str) -> tuple[str, str]:
    """Return the name of a column and the unit in brackets behind it, as in `rate [MB/s]`.

    "" where there is none.
    """
    bracket = BRACKETS.get(name.strip()[-1:])
    stem, opening, unit = name.strip()[:-1].rpartition(bracket) if bracket else ("", "", "")
    return (stem.strip(), unit.strip()) if opening and stem.strip() and unit.strip() else (name, "")


def is_time_of_no_unit(name: str) -> bool:
    """Return whether a column is named like a time with an unknown unit."""
    match = TIME_AND_UNIT.fullmatch(name.strip().lower())
    return match is not None and seconds_factor(match[2]) is None


def value_columns(
    columns: Iterable[str], metadata: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Return the column and the unit of each variable, the main one first.

    `metadata` may name `units` of the values, `metric`, the column that holds them, and `measured`,
    further columns of values with a unit in brackets; they must agree with the names of the
    columns.
    """
    names = list(columns)
    measured: dict[str, tuple[str, str]] = {}
    units_by_name = {}
    for name in names:
        variable = value_column(str(name))
        if variable is None:
            continue
        metric, unit, by_name = variable
        if metric in measured:
            raise ValueError(
                f"has two columns of {metric}, {measured[metric][0]!r} and {name!r}; keep one"
            )
        measured[metric] = (name, unit)
        units_by_name[metric] = by_name
    for name in filter(None, metadata.get(MEASURED, "").split("; ")):
        metric, unit = name_and_unit(name)
        measured[metric], units_by_name[metric] = (name, unit), True
    main = metadata.get("metric")
    if main is not None and main not in measured:
        if main not in names:
            raise ValueError(
                f"says its values are in column {main!r}; its columns are {listed(names, 30)}"
            )
        column, (main, unit) = main, name_and_unit(main)
        measured = {main: (column, unit or "1"), **measured}
        units_by_name[main] = bool(unit)
    if not measured:
        raise ValueError(
            "has no column of values: expected one of "
            f"{listed([*VALUES, *UNITS_AS_NAMES], 30)}; it has {listed(names, 30)}"
        )
    if "units" in metadata:
        metric = main or next(
            (name for name in (TIME, THROUGHPUT) if name in measured), next(iter(measured))
        )
        column, unit = measured[metric]
        if units_by_name[metric] and seconds_factor(unit) != seconds_factor(metadata["units"]):
            raise ValueError(
                f"says its units are {metadata['units']!r}, and its column of values is "
                f"{column!r}; one of them is wrong"
            )
        measured[metric] = (column, metadata["units"])
    first = main or next((name for name in (TIME, THROUGHPUT) if name in measured), None)
    return {first: measured[first], **measured} if first else measured


def proposed_call(frame: pd.DataFrame) -> str:
    """Propose `to_timings` with the values and benchmarks of a table of other names.

    Other labels are dims anyway. Several columns of fractions without a name of values are labels
    of one dim.
    """
    numbers = [
        str(name)
        for name in frame.columns
        if pd.api.types.is_numeric_dtype(frame[name]) and frame[name].dtype != bool
    ]
    if not numbers:
        return "try to_timings(value='...', the column of numbers)"
    fractions = [name for name in frame.columns if pd.api.types.is_float_dtype(frame[name])]
    if len(fractions) > 1 and not any(map(LIKE_VALUES.search, numbers)):
        others = [name for name in frame.columns if name not in fractions]
        return (
            f"if {fractions} are versions, melt the table first: "
            f"frame.melt({others}, var_name='version', value_name='time')"
        )
    value = next((name for name in reversed(numbers) if LIKE_VALUES.search(name)), numbers[-1])
    units = UNIT_AT_END.search(value)
    texts = [str(name) for name in frame.columns if str(name) not in numbers]
    benchmark = (
        None
        if "benchmark" in frame
        else next((name for name in texts if LIKE_BENCHMARKS.search(name)), None)
    )
    words = {
        "value": value,
        "units": units[1] if units and seconds_factor(units[1]) is not None else None,
        "benchmark": benchmark,
    }
    arguments = (f"{word}={text!r}" for word, text in words.items() if text is not None)
    return f"try to_timings({', '.join(arguments)})"


def in_one_unit(
    frame: pd.DataFrame, metadata: Mapping[str, str]
) -> tuple[pd.DataFrame, dict[str, str], "pd.Series[float] | None"]:
    """Take the column of units off a table.

    Returns the table without it, what is stated with the one unit it gives, and, where rows differ,
    the factor of each to seconds.
    """
    column = next((name for name in frame.columns if str(name).lower() in UNITS_OF_ROWS), None)
    if column is None:
        return frame, dict(metadata), None
    cells, frame = frame[column], frame.drop(columns=column)
    location = f"column {column!r}"
    if cells.isna().any():
        raise ValueError(
            f"{location} is empty in row {int(cells.isna().to_numpy().argmax()) + 1} under the "
            "header; each row needs a unit"
        )
    texts = cells.astype(str).str.strip()
    units = list(texts.unique())
    if len(units) == 1:
        if metadata.get("units", units[0]) != units[0]:
            raise ValueError(
                f"says its units are {metadata['units']!r}, and {location} says {units[0]!r}; "
                "one of them is wrong"
            )
        return frame, {**metadata, "units": units[0]}, None
    factors = texts.map(dict(zip(units, map(seconds_factor, units), strict=True)))
    if "units" in metadata or factors.isna().any():
        raise ValueError(
            f"{location} has rows in {listed(units)}, which cannot be brought to one unit; of "
            f"time are {KNOWN_TIMES}"
        )
    return frame, {**metadata, "units": SECONDS}, factors.astype(float)


def scaled(frame: pd.DataFrame, column: str, factors: "pd.Series[float] | None") -> pd.DataFrame:
    """Bring the main values, and the limits of stopped runs, to the unit that rows share."""
    if factors is None:
        return frame
    return frame.assign(
        **{
            name: frame[name] * factors
            for name in (column, *frame.columns.intersection([CENSORED_AT]))
        }
    )


def check_values(table: Table) -> None:
    """Raise at the first value that cannot have been measured, in a run that did not fail."""
    failed = table.marks.get(FAILED, np.zeros(len(table), dtype=bool))
    for name, metric in table.metrics.items():
        # Its unit tells what the main metric is, whatever it is called.
        main = name == table.metric and seconds_factor(metric.units) is not None
        wrong = out_of_range(metric.values, None if main else name, metric.units) & (
            np.isinf(metric.values) | ~failed
        )
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"{name} of {table.place(row)} is {metric.values[row]}; expected a number from 0"
            )
