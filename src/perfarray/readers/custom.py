"""Home-grown CSV and JSON, with what the caller says of them.

`dims={"benchmark": 0, "time_ms": 1}` names the columns of a CSV file, by their heads or, where it has none, by their places. A pattern
names what the place of a number says: of JSON the keys on the way to it (`"{version}/runs/{iteration} = time_ms"`), of a CSV file the heads
of the columns that hold numbers (`"run-{execution}"`). What stands beside a number of JSON is known by its key, and `dims` may name it.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from perfarray.conventions import COMPARED, EXECUTION, ITERATION, LEVELS, METRIC, SCORES, TIME
from perfarray.readers import tidy_csv
from perfarray.readers.layout import read_layout
from perfarray.readers.names import variable_name
from perfarray.readers.numbers import checked, number
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table
from perfarray.tables.frames import table_of
from perfarray.tables.measured import name_and_unit, value_column

NAME = "custom"
VALUE = "value of the pattern"  # The column of values among those of the file; no file has one of this name
QUANTITY = "value"  # What is called a quantity whose column has no name
EXAMPLE = "dims={'benchmark': 'program', 'time_ms': 'duration'} for CSV with a header, dims={'benchmark': 0, 'time_ms': 1} for one without"
PATTERNS = "pattern='{version}/{iteration} = time_ms' for JSON"


class Pattern(NamedTuple):
    """A pattern: the template of locations, and the variable and units of its numbers."""

    template: str
    metric: str
    units: str


def started(_head: str) -> bool:
    """Return whether a broken file began as one of these: nothing tells."""
    return False


def recognise(source: Source) -> bool:
    """Return whether the caller says how the file is to be read, and it has what is named."""
    if source.options.pattern is not None:
        return next(_rows(source, _pattern(source.options.pattern)), None) is not None
    if not source.options.dims or source.looks_like_json:
        return False
    columns = tidy_csv.header(source.text[: tidy_csv.LONGEST])
    named = source.options.dims.values()
    if any(isinstance(name, int) for name in named):
        return True
    value_named = _quantity(source, columns) is not None or any(map(value_column, _renamed(source, columns)))
    return set(named) <= set(columns) and value_named


def read(source: Source) -> Table:
    """Read the values under the names they were given."""
    if source.options.pattern is None:
        if not source.options.dims:
            raise source.error(f"is read as {NAME!r} with what you say of it: {EXAMPLE}; {PATTERNS}")
        return tidy_csv.read(_with_header(source))
    pattern = _pattern(source.options.pattern)
    rows = list(_rows(source, pattern))
    if not rows:
        raise source.error(f"has no number at any place that pattern={source.options.pattern!r} names")
    frame = pd.DataFrame([row for row, _, _ in rows])
    stated = ["" if value is None else value for _, value, _ in rows]
    values = checked(stated, lambda index: rows[index][2], source, above_zero=pattern.metric == TIME, missing=tidy_csv.MISSING)
    return _table(source, frame, values, pattern)


def _rows(source: Source, pattern: Pattern) -> Iterator[tuple[dict[str, Any], Any, str]]:
    """Yield the numbers at the places of a pattern, what is known of each, and the place."""
    return _leaves(source, pattern) if source.looks_like_json else _cells(source, pattern)


def _table(source: Source, frame: pd.DataFrame, values: Any, pattern: Pattern) -> Table:
    """Return values and what is known of each as a table; rows that nothing tells apart are numbered."""
    dim_of = {str(name): dim for dim, name in source.options.dims.items()}
    missing = dim_of.keys() - set(frame.columns)
    if missing:
        raise source.error(f"has nothing called {sorted(missing)[0]!r} beside its numbers; it has {', '.join(map(str, frame.columns))}")
    source.columns = {dim: repr(name) for name, dim in dim_of.items()}
    frame = frame.rename(columns=dim_of)
    pattern_dims = list(dict.fromkeys([*_names(pattern.template), *dim_of.values()]))
    reserved = (*pattern_dims, pattern.metric)
    frame = frame.rename(columns=lambda name: name if name in pattern_dims else variable_name(str(name), "column_", reserved))
    frame[VALUE] = values
    level = ITERATION if EXECUTION in pattern_dims and ITERATION not in pattern_dims else EXECUTION
    dims = {name: name for name in pattern_dims if name not in (*COMPARED, *LEVELS)}
    try:
        table = table_of(frame, value={pattern.metric: VALUE}, units={pattern.metric: pattern.units}, better=None, level=level, dims=dims)
    except ValueError as error:
        raise source.error(str(error)) from None
    for note in table.notes:
        source.note(note.code, note.message, **note.values)
    return replace(table, notes=())


def _pattern(text: str) -> Pattern:
    """Split a pattern into the template of locations and, after ` = `, the name of a column of values."""
    template, equals, value = text.rpartition(" = ")
    template, value = (template, value) if equals else (text, TIME)
    recognised = value_column(value.strip())
    read_layout(template, "pattern")
    name, unit = name_and_unit(value.strip())
    return Pattern(template.strip(), *(recognised[:2] if recognised else (name, unit or "1")))


def _names(template: str) -> list[str]:
    return list(read_layout(template).pattern.groupindex)


def _quantity(source: Source, columns: Iterable[str]) -> str | None:
    """Return our name of a column of values that is no table's own: what `metric` names, else a score where nothing else is a value."""
    dims = source.options.dims
    if METRIC in dims:
        return QUANTITY if isinstance(dims[METRIC], int) else str(dims[METRIC])
    by_place = any(isinstance(name, int) for name in dims.values())
    names = [*dims, *(() if by_place else set(columns).difference(map(str, dims.values())))]
    return None if any(map(value_column, names)) else next((name for name in SCORES if name in dims), None)


def _renamed(source: Source, columns: list[str]) -> list[str]:
    """Return the columns of a table under the names the caller gave them; by place: the file has none of its own."""
    dim_of = {name: dim for dim, name in source.options.dims.items() if dim != METRIC}
    value_named = _quantity(source, columns) is not None or any(map(value_column, dim_of.values()))
    if any(isinstance(name, int) for name in source.options.dims.values()):
        dim_at = {index: dim for dim, index in source.options.dims.items()}
        return [dim_at.get(index, f"column_{index}") if dim_at.get(index) != METRIC else QUANTITY for index in range(len(columns))]
    return [
        dim_of.get(name, f"column_{name}" if name in dim_of.values() or (value_named and _is_other_value(source, name)) else name)
        for name in columns
    ]


def _is_other_value(source: Source, name: str) -> bool:
    """Return whether a column looks like one of values where the caller named another."""
    return value_column(name) is not None and name not in source.options.dims.values()


def _with_header(source: Source) -> Source:
    """Return a CSV file whose header says what the caller said."""
    text = source.text
    comments = tidy_csv.comments(text[: tidy_csv.LONGEST])
    separator = tidy_csv.separator(text[: tidy_csv.LONGEST])
    first, _, body_lines = text[len(comments) :].partition("\n")
    by_place = [name for name in source.options.dims.values() if isinstance(name, int)]
    columns = next(csv.reader([first], delimiter=separator), []) if by_place else tidy_csv.header(text[: tidy_csv.LONGEST])
    if by_place and not 0 <= min(by_place) <= max(by_place) < len(columns):
        raise source.error(f"has {len(columns)} columns, of places 0 to {len(columns) - 1}; dims= names {sorted(by_place)}")
    names = _renamed(source, columns)
    metric = _quantity(source, columns)
    about = f"# metric: {metric}\n" if metric is not None else ""
    body = text[len(comments) :] if by_place else body_lines
    table = source.rewritten(f"{comments}{about}{separator.join(names)}\n{body}")
    column_names = map(str, range(len(columns))) if by_place else map(repr, columns)
    table.columns = dict(zip(names, column_names, strict=True))
    return table


def _leaves(source: Source, pattern: Pattern) -> Iterator[tuple[dict[str, Any], Any, str]]:
    """Yield the numbers of JSON with what their places and what stands beside them say, and the place."""
    steps = [step.strip() for step in pattern.template.split("/")]

    def walk(node: Any, depth: int, metadata: Mapping[str, Any], location: str) -> Iterator[tuple[dict[str, Any], Any, str]]:
        if depth == len(steps):
            if isinstance(node, dict | list):
                raise source.error(
                    f"{location or 'it'} is not a number: pattern={source.options.pattern!r} ends there; name what is inside"
                )
            yield dict(metadata), node, location
            return
        name = _names(steps[depth]) if "{" in steps[depth] else []
        inner = list(node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ())
        last = depth + 1 == len(steps)
        siblings = () if name and last else inner
        sibling_values = {
            key: value
            for key, value in siblings
            if isinstance(key, str) and isinstance(value, str | int | float) and not (last and key == steps[depth])
        }
        step_pattern = read_layout(steps[depth]).pattern if name else None
        for key, child in inner:
            if isinstance(child, str | int | float | None) and not last:
                continue
            match = step_pattern.fullmatch(str(key)) if step_pattern is not None else None
            if match is not None:
                labels = {dim: key if isinstance(key, int) else text for dim, text in match.groupdict().items()}
            elif step_pattern is None and str(key) == steps[depth]:
                labels = {}
            else:
                continue
            yield from walk(child, depth + 1, {**metadata, **sibling_values, **labels}, f"{location}/{key}" if location else str(key))

    yield from walk(source.json, 0, {}, "")


def _cells(source: Source, pattern: Pattern) -> Iterator[tuple[dict[str, Any], Any, str]]:
    """Yield the numbers in the columns whose heads fit the pattern, with what the other columns and the head say, and the place."""
    head_pattern = read_layout(pattern.template).pattern
    separator = tidy_csv.separator(source.text[: tidy_csv.LONGEST])
    labels: dict[int, dict[str, Any]] = {}
    column_names: dict[int, str] = {}
    wordy = 0
    for line, row in enumerate(csv.reader(io.StringIO(source.text), delimiter=separator, skipinitialspace=True), 1):
        cells = [cell.strip() for cell in row]
        if not labels:
            named = source.options.dims.values()
            unnamed = [(column, cell) for column, cell in enumerate(cells) if column not in named and cell not in named]
            labels = {column: match.groupdict() for column, cell in unnamed if (match := head_pattern.fullmatch(cell))}
            column_names = {column: str(column) if column in named else cell or f"column_{column}" for column, cell in enumerate(cells)}
            continue
        value_columns = [column for column in labels if column < len(cells) and cells[column] not in tidy_csv.MISSING]
        if value_columns and all(number(cells[column]) is None for column in value_columns):
            wordy += 1
            continue
        metadata = {name: _label(cells[column]) for column, name in column_names.items() if column not in labels and column < len(cells)}
        for column in value_columns:
            yield {**metadata, **labels[column]}, cells[column], f"row {line}, column {column_names[column]!r}"
    if wordy:
        source.note("rows_of_text", f"{wordy} rows have text where numbers are expected: they are passed over", rows=wordy)


def _label(text: str) -> Any:
    """Return a cell as a number if it is a whole one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 and (text == "0" or text[0] != "0") else text


def check(dims: Mapping[str, Any] | None, pattern: str | None, format: str | None) -> Mapping[str, str | int]:
    """Return what the caller calls dims, or raise."""
    if pattern is not None:
        _pattern(pattern)
        if format not in (None, NAME):
            raise ValueError(f"pattern= is for format={NAME!r}; format={format!r} knows its own places")
    for dim, name in (dims or {}).items():
        if not isinstance(dim, str) or isinstance(name, bool) or not isinstance(name, str | int):
            raise ValueError(
                f"dims= must map names of dims and levels to columns or settings, as in {{'threads': 'threads'}}; got {dim!r}: {name!r}"
            )
    return dict(dims or {})
