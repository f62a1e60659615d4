"""Home-grown CSV and JSON, read with what the caller says of them.

`dims={"benchmark": 0, "time_ms": 1}` names the columns of a CSV file, by their heads or, where it has none, by their places. A pattern
names what the place of a number says: of JSON the keys on the way to it (`"{version}/runs/{iteration} = time_ms"`), of a CSV file the heads
of the columns that hold numbers (`"run-{execution}"`). What stands beside a number of JSON is known by its key, and `dims` may name it.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from perfarray.conventions import COMPARED, EXECUTION, ITERATION, LEVELS, METRIC, SCORES, SECONDS, TIME
from perfarray.readers import tidy_csv
from perfarray.readers.labels import variable_name
from perfarray.readers.layout import read_layout
from perfarray.readers.numbers import checked, number, whole
from perfarray.readers.opening import FileOptions, Source
from perfarray.tables.columns import Table
from perfarray.tables.measured import MEASURED, UNITS_OF_ROWS, name_and_unit, value_column

NAME = "custom"
VALUE = "value of the pattern"  # The column of values in a frame; no file has a column of this name
QUANTITY = "value"  # Name of a quantity whose column has none
EXAMPLE = "dims={'benchmark': 'program', 'time_ms': 'duration'} for CSV with a header, dims={'benchmark': 0, 'time_ms': 1} for one without"
PATTERNS = "pattern='{version}/{iteration} = time_ms' for JSON"

Cell = tuple[dict[str, Any], Any, str]  # Metadata of a value, the value, and its place in the file


class Pattern(NamedTuple):
    """A pattern: the template of locations, and the variable and units of its numbers."""

    template: str
    metric: str
    units: str


def started(_head: str) -> bool:
    """Return False: nothing tells that a broken file began as one of these."""
    return False


def recognise(source: Source) -> bool:
    """Return whether the caller says how the file is to be read, and it has what the caller names."""
    if source.options.pattern is not None:
        return next(_cells(source, _pattern(source.options.pattern)), None) is not None
    if not source.options.dims or source.looks_like_json:
        return False
    if _column_indices(source):
        return True
    columns = tidy_csv.header(source.beginning)
    has_values = (
        quantity(source, columns) is not None
        or bool(names_with_units(source))
        or any(map(value_column, names_of_columns(source, columns)))
    )  # fmt: skip
    return set(source.options.dims.values()) <= set(columns) and has_values


def read(source: Source) -> Table:
    """Read the values under the names that the caller gave them."""
    if source.options.pattern is None:
        if not source.options.dims:
            raise source.error(f"is read as {NAME!r} with what you say of it: {EXAMPLE}; {PATTERNS}")
        _note_unit(source)
        return tidy_csv.read(_with_header(source))
    pattern = _pattern(source.options.pattern)
    cells = list(_cells(source, pattern))
    if not cells:
        raise source.error(f"has no number at any place that pattern={source.options.pattern!r} names")
    frame = pd.DataFrame([metadata for metadata, _, _ in cells])
    texts = ["" if value is None else value for _, value, _ in cells]
    values = checked(texts, lambda index: cells[index][2], source, above_zero=pattern.metric == TIME, missing=tidy_csv.MISSING)
    return _table(source, frame, values, pattern)


def file_options(format: str | None, dims: Mapping[str, Any] | None, pattern: str | None, encoding: str | None) -> FileOptions:
    """Check what the caller says of files, and return it."""
    if pattern is not None:
        _pattern(pattern)
        if format not in (None, NAME):
            raise ValueError(f"pattern= is for format={NAME!r}; format={format!r} knows its own places")
    for dim, name in (dims or {}).items():
        if not isinstance(dim, str) or isinstance(name, bool) or not isinstance(name, str | int):
            raise ValueError(
                f"dims= must map names of dims and levels to columns or settings, as in {{'threads': 'threads'}}; got {dim!r}: {name!r}"
            )
    try:
        "a".encode(encoding or "utf-8")
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"encoding={encoding!r} is not known ({error}); give one such as 'utf-8', 'latin-1' or 'utf-16'") from None
    return FileOptions(format, dict(dims or {}), pattern, encoding)


def _note_unit(source: Source) -> None:
    """Note that times are taken for seconds where neither a tidy table nor the caller states their unit."""
    columns, dims = tidy_csv.header(source.beginning), source.options.dims
    in_file = "units" in tidy_csv.stated_in(tidy_csv.comments(source.beginning)) or any(name.lower() in UNITS_OF_ROWS for name in columns)
    by_caller = bool(_column_indices(source)) or quantity(source, columns) is not None or any(map(value_column, dims))
    is_unstated = not (in_file or by_caller or tidy_csv.recognise(source))
    if is_unstated and TIME in set(columns).difference(map(str, dims.values())):
        sentence = f"column {TIME!r} states no unit. It is read as seconds. Name another unit with dims={ {f'{TIME}_ms': TIME} }."
        source.note("assumed_unit", sentence, unit=SECONDS)


def _pattern(text: str) -> Pattern:
    """Split a pattern into the template of locations and, after ` = `, the name of a column of values."""
    template, equals, value = text.rpartition(" = ")
    template, value = (template, value.strip()) if equals else (text, TIME)
    read_layout(template, "pattern")
    name, unit = name_and_unit(value)
    recognised = value_column(value)
    return Pattern(template.strip(), *(recognised[:2] if recognised else (name, unit or "1")))


def _table(source: Source, frame: pd.DataFrame, values: Any, pattern: Pattern) -> Table:
    """Return values and their metadata as a table; rows that nothing tells apart are numbered."""
    dim_of = {str(name): dim for dim, name in source.options.dims.items()}
    missing = dim_of.keys() - set(frame.columns)
    if missing:
        raise source.error(f"has nothing called {sorted(missing)[0]!r} beside its numbers; it has {', '.join(map(str, frame.columns))}")
    source.columns = {dim: repr(name) for name, dim in dim_of.items()}
    frame = frame.rename(columns=dim_of)
    pattern_dims = dict.fromkeys([*read_layout(pattern.template).pattern.groupindex, *dim_of.values()])
    reserved = (*pattern_dims, pattern.metric)
    frame = frame.rename(columns=lambda name: name if name in pattern_dims else variable_name(str(name), "column_", reserved))
    frame[VALUE] = values
    level = ITERATION if EXECUTION in pattern_dims and ITERATION not in pattern_dims else EXECUTION
    dims = {name: name for name in pattern_dims if name not in (*COMPARED, *LEVELS)}
    units = {pattern.metric: pattern.units}
    return tidy_csv.table_of_frame(source, frame, value={pattern.metric: VALUE}, units=units, better=None, level=level, dims=dims)


def _column_indices(source: Source) -> list[int]:
    return sorted(name for name in source.options.dims.values() if isinstance(name, int))


def quantity(source: Source, columns: Iterable[str]) -> str | None:
    """Return the column of values that the caller names `metric`, else a score where no other column is one of values."""
    dims = source.options.dims
    if METRIC in dims:
        return QUANTITY if isinstance(dims[METRIC], int) else str(dims[METRIC])
    names = [*dims, *(() if _column_indices(source) else set(columns).difference(map(str, dims.values())))]
    return None if names_with_units(source) or any(map(value_column, names)) else next((name for name in SCORES if name in dims), None)


def names_with_units(source: Source) -> list[str]:
    """Return the names with a unit in brackets that the caller gave to columns, of quantities that no convention knows."""
    return [name for name in source.options.dims if name_and_unit(name)[1] and value_column(name) is None]


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
        other_values = {name for name in columns if value_column(name) is not None and name not in dims.values()}
    return [dim_of.get(name, f"column_{name}" if name in dim_of.values() or name in other_values else name) for name in columns]


def _with_header(source: Source) -> Source:
    head, indices = source.beginning, _column_indices(source)
    comments, separator = tidy_csv.comments(head), tidy_csv.separator(head)
    body, first = source.text[len(comments) :], tidy_csv.header_row(source.text)
    columns = next(csv.reader(io.StringIO(first, newline=""), delimiter=separator), []) if indices else tidy_csv.header(head)
    if indices and not 0 <= indices[0] <= indices[-1] < len(columns):
        raise source.error(f"has {len(columns)} columns, of places 0 to {len(columns) - 1}; dims= names {indices}")
    names = names_of_columns(source, columns)
    metric = quantity(source, columns)
    about = f"# metric: {metric}\n" if metric is not None else ""
    about += f"# {MEASURED}: {'; '.join(names_with_units(source))}\n" if names_with_units(source) else ""
    new_header = io.StringIO()
    csv.writer(new_header, delimiter=separator, lineterminator="\n").writerow(names)
    table = source.rewritten(f"{comments}{about}{new_header.getvalue()}{body if indices else body[len(first) + 1 :]}")
    table.columns = dict(zip(names, map(str, range(len(columns))) if indices else map(repr, columns), strict=True))
    return table


def _cells(source: Source, pattern: Pattern) -> Iterator[Cell]:
    return _json_cells(source, pattern) if source.looks_like_json else _csv_cells(source, pattern)


def _json_cells(source: Source, pattern: Pattern) -> Iterator[Cell]:
    """Yield the numbers of JSON; the keys on the way to them and the values beside these are metadata."""
    steps = [step.strip() for step in pattern.template.split("/")]
    patterns = [read_layout(step).pattern if "{" in step else re.compile(re.escape(step)) for step in steps]

    def walk(node: Any, depth: int, metadata: Mapping[str, Any], location: str) -> Iterator[Cell]:
        if depth == len(patterns):
            if isinstance(node, dict | list):
                raise source.error(
                    f"{location or 'it'} is not a number: pattern={source.options.pattern!r} ends there; name what is inside"
                )
            yield dict(metadata), node, location
            return
        step, last = patterns[depth], depth + 1 == len(patterns)
        children = list(node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ())
        siblings = {
            key: value
            for key, value in children
            if isinstance(key, str) and isinstance(value, str | int | float) and not (last and (step.groups or step.fullmatch(key)))
        }
        for key, child in children:
            match = step.fullmatch(str(key))
            if match is not None and (last or isinstance(child, dict | list)):
                labels = {dim: key if isinstance(key, int) else text for dim, text in match.groupdict().items()}
                yield from walk(child, depth + 1, {**metadata, **siblings, **labels}, f"{location}/{key}" if location else str(key))

    yield from walk(source.json, 0, {}, "")


def _csv_cells(source: Source, pattern: Pattern) -> Iterator[Cell]:
    """Yield the numbers in the columns whose heads fit the pattern; the head and the other columns are metadata."""
    head_pattern = read_layout(pattern.template).pattern
    named = source.options.dims.values()
    labels: dict[int, dict[str, Any]] = {}
    column_names: dict[int, str] = {}
    n_texts = 0
    reader = csv.reader(io.StringIO(source.text), delimiter=tidy_csv.separator(source.beginning), skipinitialspace=True)
    for line, row in enumerate(reader, 1):
        cells = [cell.strip() for cell in row]
        if not labels:
            unnamed = [(column, cell) for column, cell in enumerate(cells) if column not in named and cell not in named]
            labels = {column: match.groupdict() for column, cell in unnamed if (match := head_pattern.fullmatch(cell))}
            column_names = {column: str(column) if column in named else cell or f"column_{column}" for column, cell in enumerate(cells)}
            continue
        value_columns = [column for column in labels if column < len(cells) and cells[column] not in tidy_csv.MISSING]
        if value_columns and all(number(cells[column]) is None for column in value_columns):
            n_texts += 1
            continue
        metadata = {name: _label(cells[column]) for column, name in column_names.items() if column not in labels and column < len(cells)}
        for column in value_columns:
            yield {**metadata, **labels[column]}, cells[column], f"row {line}, column {column_names[column]!r}"
    if n_texts:
        source.note("rows_of_text", f"{n_texts} rows have text where numbers are expected: they are passed over", rows=n_texts)


def _label(text: str) -> Any:
    """Return a cell as a number if it is a whole one without leading zeros."""
    return text if whole(text) is None or (text[0] == "0" and text != "0") else int(text)
