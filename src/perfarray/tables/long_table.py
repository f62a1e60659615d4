"""A long table with one row per measurement: its columns by their roles."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from perfarray.conventions import (
    BENCHMARK,
    CENSORED_AT,
    COMPARED,
    DESCRIPTORS,
    EXECUTION,
    ITERATION,
    LEVELS,
    LOOPS,
    MARKS,
    seconds_factor,
)
from perfarray.tables.columns import Column, Table, codes_of, in_seconds, level_order
from perfarray.tables.compared import ColumnRoles, column_roles, copied_rows, describes, roles_note
from perfarray.tables.measured import value_column
from perfarray.tables.roles import (
    check_unit,
    depends_only_on,
    failed_by_exit_code,
    label_column,
    level_labels,
    limit_column,
    mark_column,
    metric_column,
    missing_label_notes,
    numbered_levels,
    placed_column,
)
from perfarray.tables.texts import without_blanks
from perfarray.timings.crossed import label_name
from perfarray.timings.notes import Note
from perfarray.timings.resolve import check_names
from perfarray.timings.validation import listed


def table_of(
    frame: pd.DataFrame,
    *,
    value: str | Mapping[str, str],
    units: str | Mapping[str, str],
    better: str | Mapping[str, str] | None,
    level: str = EXECUTION,
    shared: str | Sequence[str] = (),
    dims: Mapping[str, str] | None = None,
    n_copies: int = 0,
) -> Table:
    """Return the columns of a long table by their roles.

    `n_copies` rows that copied others have been left out of it.
    """
    if isinstance(value, str):
        unit = units.get(value, "1") if isinstance(units, Mapping) else units
        name, column = _metric_name(value, unit, frame), value
        if isinstance(better, Mapping) and column in better:
            better = {name: better[column]}
        value, units = {name: column}, {name: unit}
    elif not isinstance(units, Mapping):
        units = dict.fromkeys(value, units)
    frame = without_blanks(frame, value.values())
    claimed = {*value.values(), *(dims or {}).values()}
    unclaimed = [name for name in (*COMPARED, *LEVELS) if name not in claimed]
    axes = {name: name for name in unclaimed if name in frame.columns} | dict(dims or {})
    _check_columns(frame, [*value.values(), *axes.values()])
    if "file" in axes and "file" not in (dims or {}) and _determines_files(frame, axes, level):
        del axes["file"]
    if len(frame) == 0:
        raise ValueError("the table has no rows; give one row per measurement")
    check_names(level, "level")
    common = check_names(shared, "shared") if shared else ()
    measured, value_notes = {}, []
    for name, column in value.items():
        measured[name], note = metric_column(frame[column], name, units.get(name, "1"), better)
        value_notes.append(note)
    marks = {mark: mark_column(frame[mark]) for mark in MARKS if mark in frame.columns}
    used_columns = {*value.values(), *axes.values(), *marks}
    remaining = {str(name): frame[name] for name in frame.columns if name not in used_columns}
    if CENSORED_AT in remaining:
        factor = seconds_factor(next(iter(measured.values())).units)
        remaining[CENSORED_AT] = limit_column(remaining[CENSORED_AT]) * (factor or 1.0)
    arranged = _arranged({name: frame[column] for name, column in axes.items()}, remaining, level)
    copies = copied_rows(frame, arranged.labels, arranged.repetitions, arranged.numbered)
    if copies is not None:
        roles: dict[str, Any] = {"value": value, "units": units, "better": better, "dims": dims}
        roles |= {"level": level, "shared": shared, "n_copies": int(copies.sum())}
        return table_of(frame[~copies].reset_index(drop=True), **roles)
    levels = numbered_levels(arranged.labels, arranged.repetitions, level, len(frame), common)
    labels, remaining = arranged.labels, arranged.remaining
    columns = {name: placed_column(series, labels, levels) for name, series in remaining.items()}
    for name, unit_names in arranged.names.items():
        if name in levels and (names := level_labels(unit_names, name, labels, levels)):
            columns[label_name(name)] = names
    failed, failure_note = failed_by_exit_code(remaining, marks)
    notes = [
        roles_note(arranged.roles, arranged.numbered, n_copies),
        *value_notes,
        failure_note,
        *missing_label_notes(frame, labels, axes),
        *_other_units(value, units),
        *(check_unit(name, units.get(name, "1")) for name in value),
    ]
    return Table(
        labels=labels,
        levels=levels,
        metrics={name: in_seconds(metric) for name, metric in measured.items()},
        marks=marks | failed,
        columns=columns,
        metric=next(iter(value)),
        shared=tuple(name for name in common if name in levels),
        notes=tuple(note for note in notes if note is not None),
    )


def _determines_files(frame: pd.DataFrame, axes: Mapping[str, str], level: str) -> bool:
    """Return whether labels of other dims say which of several files a row is from.

    A dim of files would only multiply the cells then.
    """
    grouping_columns = [
        column for name, column in axes.items() if name not in (BENCHMARK, "file", *LEVELS, level)
    ]
    files = codes_of(frame["file"])
    codes = [codes_of(frame[column]) for column in grouping_columns]
    return files.max(initial=0) > 0 and bool(grouping_columns) and depends_only_on(files, codes)


class Arranged(NamedTuple):
    """The columns that are not measured: labels, repetitions by level, and all remaining columns.

    `names` are the names of the repetitions.
    """

    labels: dict[str, Column]
    repetitions: dict[str, pd.Series]
    names: dict[str, Column]
    remaining: dict[str, pd.Series]
    roles: ColumnRoles
    numbered: str  # the level that rows are numbered along


def _arranged(
    axes: Mapping[str, pd.Series], remaining: Mapping[str, pd.Series], level: str
) -> Arranged:
    """Return columns by their roles: those that were named, and those that were not."""
    nest = {name: column for name, column in axes.items() if name in LEVELS or name == level}
    repetitions = dict(sorted(nest.items(), key=lambda item: level_order(item[0])))
    # A table that perfarray wrote has the names of units beside their numbers.
    names = {
        name: label_column(remaining.get(label_name(name), column))
        for name, column in repetitions.items()
        if name != ITERATION
    }
    remaining = {
        name: column for name, column in remaining.items() if name not in map(label_name, names)
    }
    numbered = next((name for name in (level, ITERATION) if name not in repetitions), level)
    descriptors = {
        name: column for name, column in axes.items() if name in DESCRIPTORS and name not in nest
    }
    labels = {
        name: label_column(column)
        for name, column in axes.items()
        if name not in (*nest, *descriptors)
    }
    roles = column_roles(
        {name: remaining[name] for name in remaining if name not in (CENSORED_AT, LOOPS)},
        labels,
        repetitions,
        numbered,
    )
    labels |= {name: label_column(remaining[name]) for name in roles.dims}
    descriptor_columns = {
        name: column
        for name, column in descriptors.items()
        if describes(column, labels, repetitions)
    }
    labels |= {
        name: label_column(column)
        for name, column in descriptors.items()
        if name not in descriptor_columns
    }
    return Arranged(
        labels,
        repetitions,
        names,
        {name: remaining[name] for name in remaining if name not in labels} | descriptor_columns,
        roles,
        numbered,
    )


def _metric_name(column: str, unit: str, frame: pd.DataFrame) -> str:
    """Return the name of the variable that a column becomes.

    One that is called after its unit of time will hold seconds.
    """
    variable = value_column(column)
    by_unit = variable is not None and variable[2] and seconds_factor(variable[1]) is not None
    is_time = isinstance(unit, str) and seconds_factor(unit) is not None
    return (
        variable[0]
        if variable and by_unit and is_time and variable[0] not in frame.columns
        else column
    )


def _other_units(metrics: Mapping[str, str], units: Mapping[str, str]) -> list[Note]:
    """Return notes on columns whose name ends in another unit of time than the stated one."""
    notes = []
    for name, column in metrics.items():
        metric_unit = units.get(name, "1")
        ending = re.search(r"(?:^|[_\s(\[])(ns|us|µs|ms|s|sec|min)[)\]]?$", str(column))
        factor = seconds_factor(ending.group(1)) if ending else None
        if ending and factor is not None and seconds_factor(metric_unit) not in (None, factor):
            sentence = (
                f"column {column!r} is taken to be in {metric_unit!r}, as units= says; if its name "
                f"is right, give units={ending.group(1)!r}"
            )
            notes.append(
                Note(
                    "unknown_unit",
                    sentence,
                    {"column": column, "units": metric_unit, "named": ending.group(1)},
                )
            )
    return notes


def _check_columns(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise unless all columns are there; the message lists those that are."""
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ValueError(
            f"column {listed(missing)} not found; the table has columns {listed(frame.columns, 30)}"
        )
