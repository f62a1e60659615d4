"""Home-grown CSV and JSON, read with what the caller says of them.

`dims={"benchmark": 0, "time_ms": 1}` names the columns of a CSV file, by their heads or, where it
has none, by their places. A pattern names what the place of a number says: of JSON the keys on the
way to it (`"{version}/runs/{iteration} = time_ms"`), of a CSV file the heads of the columns that
hold numbers (`"run-{execution}"`). What stands beside a number of JSON is known by its key, and
`dims` may name it.
"""

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from perfarray.conventions import (
    COMPARED,
    EXECUTION,
    ITERATION,
    LEVELS,
    METRIC,
    SCORES,
    SECONDS,
    TIME,
    plural,
    seconds_factor,
)
from perfarray.numerics.types import Floats
from perfarray.readers import tidy_csv
from perfarray.readers.entries import amounts
from perfarray.readers.labels import variable_name
from perfarray.readers.layout import read_layout
from perfarray.readers.opening import FileOptions, Source
from perfarray.readers.patterns import VALUE as QUANTITY
from perfarray.readers.patterns import Cell, Pattern, Place, cells_of, read_pattern, with_units
from perfarray.tables.columns import Table
from perfarray.tables.harmonise import rename_labels
from perfarray.tables.measured import MEASURED, UNITS_OF_ROWS, name_and_unit, value_column
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed

NAME = "custom"
UNITS_BY_CALLER = True
VALUE = "value of the pattern"  # The column of values in a frame; no file has a column of this name
EXAMPLE = (
    "dims={'benchmark': 'program', 'time_ms': 'duration'} for CSV with a header, "
    "dims={'benchmark': 0, 'time_ms': 1} for one without"
)
PATTERNS = "pattern='{version}/{iteration} = time_ms' for JSON"


def started(_head: str) -> bool:
    """Return False: nothing tells that a broken file began as one of these."""
    return False


def recognise(source: Source) -> bool:
    """Return whether the caller describes the file, and the file has what the caller names."""
    if source.options.pattern is not None:
        return next(cells_of(source, read_pattern(source.options.pattern)), None) is not None
    if not source.options.dims or source.looks_like_json:
        return False
    if _column_indices(source):
        return True
    columns = tidy_csv.header(source.beginning)
    has_values = (
        quantity(source, columns) is not None
        or bool(names_with_units(source))
        or any(map(value_column, names_of_columns(source, columns)))
    )
    return set(source.options.dims.values()) <= set(columns) and has_values


def read(source: Source) -> Table:
    """Read the values under the names that the caller gave them."""
    if source.options.pattern is None:
        if not source.options.dims:
            raise source.error(
                f"is read as {NAME!r} with what you say of it: {EXAMPLE}; {PATTERNS}"
            )
        _note_unit(source)
        return tidy_csv.read(_with_header(source))
    pattern = read_pattern(source.options.pattern)
    cells = list(cells_of(source, pattern))
    if not cells:
        raise source.error(
            f"has no number at any place that pattern={source.options.pattern!r} names"
        )
    cells, factors, units = _in_one_unit(source, cells, pattern)
    # A null was not measured, nor was a cell that says so.
    missing = {None, *tidy_csv.MISSING}
    valid = [index for index, cell in enumerate(cells) if cell.value not in missing]
    is_time = seconds_factor(units) is not None
    values = np.full(len(cells), np.nan)
    values[valid] = amounts(
        source,
        lambda number: cells[valid[number]].location,
        [cells[index].value for index in valid],
        from_zero=is_time,
    )
    # A column of units that the caller makes a dim has one label: the unit that the values have
    # now.
    for cell in cells:
        cell.metadata.update(
            {
                name: SECONDS if is_time else units
                for name in cell.units
                if name in source.options.dims.values()
            }
        )
    return _table(
        source, [cell.metadata for cell in cells], values * factors, pattern._replace(units=units)
    )


def file_options(
    format: str | None,
    dims: Mapping[str, Any] | None,
    pattern: str | None,
    encoding: str | None,
    units: str | None = None,
    keep_failed: bool = False,
) -> FileOptions:
    """Check what the caller says of files, and return it; units become a part of the pattern."""
    if units is not None and pattern is not None:
        pattern = with_units(pattern, units)
    if pattern is not None:
        read_pattern(pattern)
        if format not in (None, NAME):
            raise ValueError(
                f"pattern= is for format={NAME!r}; format={format!r} knows its own places"
            )
    for dim, name in (dims or {}).items():
        if not isinstance(dim, str) or isinstance(name, bool) or not isinstance(name, str | int):
            raise ValueError(
                "dims= must map names of dims and levels to columns or settings, as in "
                f"{{'threads': 'threads'}}; got {dim!r}: {name!r}"
            )
    try:
        "a".encode(encoding or "utf-8")
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"encoding={encoding!r} is not known ({error}); give one such as 'utf-8', "
            "'latin-1' or 'utf-16'"
        ) from None
    return FileOptions(format, dict(dims or {}), pattern, encoding, keep_failed, units)


def _note_unit(source: Source) -> None:
    """Note that times are read as seconds where nothing states their unit."""
    columns, dims = tidy_csv.header(source.beginning), source.options.dims
    in_file = "units" in tidy_csv.stated_in(tidy_csv.comments(source.beginning)) or any(
        name.lower() in UNITS_OF_ROWS for name in columns
    )
    by_caller = (
        source.options.units is not None
        or bool(_column_indices(source))
        or quantity(source, columns) is not None
        or any(map(value_column, dims))
    )
    is_unstated = not (in_file or by_caller or tidy_csv.recognise(source))
    if is_unstated and TIME in set(columns).difference(map(str, dims.values())):
        sentence = (
            f"column {TIME!r} states no unit. It is read as seconds. Name another unit with "
            f"units='ms' or dims={ {f'{TIME}_ms': TIME} }."
        )
        source.note("assumed_unit", sentence, unit=SECONDS)


def _in_one_unit(
    source: Source, cells: Sequence[Cell], pattern: Pattern
) -> tuple[list[Cell], Floats, str]:
    """Return the cells that can be brought to one unit, their factors, and that unit.

    The unit beside a value takes precedence. Values in other units are another quantity: a note
    says how they are read.
    """
    units = [cell.unit or pattern.units for cell in cells]
    factors = {unit: seconds_factor(unit) for unit in dict.fromkeys(units)}
    of_times = seconds_factor(pattern.units) is not None
    are_times = of_times or not (pattern.states_units or None in factors.values())
    pattern_unit = pattern.units if pattern.states_units else None
    fitting = [
        unit
        for unit, factor in factors.items()
        if (factor is not None if are_times else pattern_unit in (None, unit))
    ]
    other_units = [unit for unit in factors if unit not in fitting]
    is_mixed = len(fitting) > 1
    if is_mixed and not are_times:
        raise source.error(
            f"has values in {listed(fitting)}, which cannot be brought to one unit. "
            f"{_pattern_of(pattern, fitting[0])} reads those in {fitting[0]!r}"
        )
    if not fitting:
        raise source.error(
            f"says beside its values that they are in {listed(other_units)}, and the pattern that "
            f"they are in {pattern.units!r}. "
            f"{_pattern_of(pattern, other_units[0])} reads those in {other_units[0]!r}"
        )
    if other_units:
        n_others = sum(unit in other_units for unit in units)
        sentence = (
            f"{n_others} values are in {listed(other_units)}, which is not {pattern.units!r}. They "
            "are left out. "
            f"{_pattern_of(pattern, other_units[0])} reads those in {other_units[0]!r}"
        )
        source.note("other_units", sentence, values=n_others, units=other_units)
    rows = [
        (cell, factors[unit] if is_mixed else 1.0)
        for cell, unit in zip(cells, units, strict=True)
        if unit in fitting
    ]
    return (
        [cell for cell, _ in rows],
        np.array([factor for _, factor in rows], dtype=float),
        SECONDS if is_mixed else fitting[0],
    )


def _pattern_of(pattern: Pattern, unit: str) -> str:
    """Return the pattern that reads values in another unit, for a message."""
    of_times = seconds_factor(pattern.units) is not None
    name = TIME if seconds_factor(unit) is not None else QUANTITY if of_times else pattern.metric
    return f"pattern={f'{pattern.template} = {name} [{unit}]'!r}"


def agree(tables: Sequence[Table]) -> list[Table]:
    """Add the length of lists to positions as labels where it differs between files."""
    agreed = list(tables)
    for dim in dict.fromkeys(dim for table in tables for dim in table.parts):
        lengths = {
            position.length
            for table in tables
            for position in table.parts.get(dim, ())
            if position is not None
        }
        if len(lengths) > 1:
            agreed = [_counted(table, dim) if dim in table.parts else table for table in agreed]
            notes = (*agreed[0].notes, _other_lengths(dim, lengths))
            agreed[0] = replace(agreed[0], notes=notes)
    return agreed


def _counted(table: Table, dim: str) -> Table:
    labels = table.labels[dim].labels
    positions = zip(labels, table.parts[dim], strict=True)
    return rename_labels(
        table,
        dim,
        {
            label: label if position is None else position.label(True)
            for label, position in positions
        },
    )


def _other_lengths(dim: str, lengths: Collection[int]) -> Note:
    sentence = (
        f"lists of {' and '.join(map(str, sorted(lengths)))} entries have no labels but their "
        f"places, {dim!r}. "
        "Lists of different lengths are not compared by position. "
        "Name what tells the entries apart with dims=, or make them repetitions with "
        f"{{execution}} for {{{dim}}}"
    )
    return Note("unmatched_repeats", sentence, {"dim": dim, "lengths": sorted(lengths)})


def _table(
    source: Source, metadata: Sequence[Mapping[str, Any]], values: Floats, pattern: Pattern
) -> Table:
    """Return values and their metadata as a table; rows that nothing tells apart are numbered."""
    frame = pd.DataFrame(metadata)
    dim_of = {str(name): dim for dim, name in source.options.dims.items()}
    missing = dim_of.keys() - set(frame.columns)
    if missing:
        raise source.error(
            f"has nothing called {sorted(missing)[0]!r} beside its numbers; it has "
            f"{', '.join(map(str, frame.columns))}"
        )
    source.columns = {dim: repr(name) for name, dim in dim_of.items()}
    frame = frame.rename(columns=dim_of)
    names = [*read_layout(pattern.template).pattern.groupindex, *dim_of.values()]
    pattern_dims = [name for name in dict.fromkeys(names) if name in frame.columns]
    reserved = (*pattern_dims, pattern.metric)
    frame = frame.rename(
        columns=lambda name: (
            name if name in pattern_dims else variable_name(str(name), "column_", reserved)
        )
    )
    positions_by_dim = _places(source, frame, pattern_dims)
    frame[VALUE] = values
    level = ITERATION if EXECUTION in pattern_dims and ITERATION not in pattern_dims else EXECUTION
    dims = {name: name for name in pattern_dims if name not in (*COMPARED, *LEVELS)}
    units = {pattern.metric: pattern.units}
    table = tidy_csv.table_of_frame(
        source,
        frame,
        value={pattern.metric: VALUE},
        units=units,
        better=None,
        level=level,
        dims=dims,
    )
    numbered = [
        name
        for name, positions in table.levels.items()
        if name not in pattern_dims and positions.max(initial=0) > 0
    ]
    if numbered and source.looks_like_json:
        sentence = (
            f"entries of a list have the same labels: they are {plural(numbered[0])} of one "
            "benchmark. "
            "If they are different ones, name what tells them apart with dims="
        )
        source.note("numbered_entries", sentence, level=numbered[0])
    label_parts: dict[str, Sequence[Any]] = {
        dim: [labels.get(label) for label in table.labels[dim].labels]
        for dim, labels in positions_by_dim.items()
    }
    return replace(table, parts=label_parts)


def _places(
    source: Source, frame: pd.DataFrame, dims: Sequence[str]
) -> dict[str, dict[Any, Place]]:
    """Write labels in the place of places in a frame, and return the places by dim and label."""
    places_by_label = {}
    for dim in dims:
        column = frame[dim].tolist()
        lengths = {position.length for position in column if isinstance(position, Place)}
        if lengths:
            lengths_differ = len(lengths) > 1
            labels = [
                label.label(lengths_differ) if isinstance(label, Place) else label
                for label in column
            ]
            places_by_label[dim] = {
                label: position
                for label, position in zip(labels, column, strict=True)
                if isinstance(position, Place)
            }
            frame[dim] = pd.Series(labels, index=frame.index, dtype=object)
            if lengths_differ:
                note = _other_lengths(dim, lengths)
                source.note(note.code, note.message, **note.values)
    return places_by_label


def _column_indices(source: Source) -> list[int]:
    return sorted(name for name in source.options.dims.values() if isinstance(name, int))


def quantity(source: Source, columns: Iterable[str]) -> str | None:
    """Return the column of values that the caller names `metric`, else a lone score column."""
    dims = source.options.dims
    if METRIC in dims:
        return QUANTITY if isinstance(dims[METRIC], int) else str(dims[METRIC])
    names = [
        *dims,
        *(() if _column_indices(source) else set(columns).difference(map(str, dims.values()))),
    ]
    return (
        None
        if names_with_units(source) or any(map(value_column, names))
        else next((name for name in SCORES if name in dims), None)
    )


def names_with_units(source: Source) -> list[str]:
    """Return the caller's names with a unit in brackets of quantities without a convention."""
    return [
        name
        for name in source.options.dims
        if name_and_unit(name)[1] and value_column(name) is None
    ]


def names_of_columns(source: Source, columns: list[str]) -> list[str]:
    """Return the columns under the names that the caller gave them."""
    dims = source.options.dims
    if _column_indices(source):
        dim_at = {index: QUANTITY if dim == METRIC else dim for dim, index in dims.items()}
        return [dim_at.get(index, f"column_{index}") for index in range(len(columns))]
    dim_of = {name: dim for dim, name in dims.items() if dim != METRIC}
    other_values: set[str] = set()
    if quantity(source, columns) is not None or any(map(value_column, dim_of.values())):
        # Where the caller names the values, a column that looks like values is no longer one.
        other_values = {
            name for name in columns if value_column(name) is not None and name not in dims.values()
        }
    return [
        dim_of.get(
            name, f"column_{name}" if name in dim_of.values() or name in other_values else name
        )
        for name in columns
    ]


def _with_header(source: Source) -> Source:
    head, indices = source.beginning, _column_indices(source)
    comments, separator = tidy_csv.comments(head), tidy_csv.separator(head)
    body, first = source.text[len(comments) :], tidy_csv.header_row(source.text)
    columns = (
        next(csv.reader(io.StringIO(first, newline=""), delimiter=separator), [])
        if indices
        else tidy_csv.header(head)
    )
    if indices and not 0 <= indices[0] <= indices[-1] < len(columns):
        raise source.error(
            f"has {len(columns)} columns, of places 0 to {len(columns) - 1}; dims= names {indices}"
        )
    names = names_of_columns(source, columns)
    metric = quantity(source, columns)
    new_comments = f"# metric: {metric}\n" if metric is not None else ""
    new_comments += (
        f"# {MEASURED}: {'; '.join(names_with_units(source))}\n" if names_with_units(source) else ""
    )
    new_header = io.StringIO()
    csv.writer(new_header, delimiter=separator, lineterminator="\n").writerow(names)
    rows = body if indices else body[len(first) + 1 :]
    table = source.rewritten(f"{comments}{new_comments}{new_header.getvalue()}{rows}")
    table.columns = dict(
        zip(names, map(str, range(len(columns))) if indices else map(repr, columns), strict=True)
    )
    return table
