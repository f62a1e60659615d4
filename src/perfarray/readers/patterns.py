"""Patterns of home-grown files: the numbers a pattern names, with their metadata.

A name in braces is a dim whose labels are keys, or a level. In a list the label of an entry is a
text beside the number, else the one whole number that differs between all entries, never the place:
another list may be longer, or in another order. Only where neither stands there is the place the
label.
"""

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, NamedTuple

from perfarray.conventions import LEVELS, TIME, seconds_factor
from perfarray.readers import tidy_csv
from perfarray.readers.layout import read_layout
from perfarray.readers.numbers import number, whole
from perfarray.readers.opening import Source
from perfarray.tables.measured import LIKE_BENCHMARKS, LIKE_VALUES, name_and_unit, value_column

VALUE = "value"  # Name of a quantity that has none
UNIT_KEYS = ("unit", "units")
# Names of whole numbers that were counted or measured, and are no labels
COUNTED = re.compile(
    r"count|date|error|iter|loop|pid|repeat|repetition|round|runs|sample|seed|stamp|total", re.I
)


class Pattern(NamedTuple):
    """A pattern: the template of locations, and the variable and units of its numbers."""

    template: str
    metric: str
    units: str
    states_units: bool


class Place(NamedTuple):
    """The position of an entry in a list, from 0, and the length of the list."""

    position: int
    length: int

    def label(self, with_length: bool) -> Any:
        """Return the label, with the list's length where lists differ in it."""
        return f"{self.position} of {self.length}" if with_length else self.position


# A dim whose labels are entries of a list, and the name of the number that tells these apart
ListDim = tuple[str, str | None]


class Cell(NamedTuple):
    """A value, its metadata and location, and the units beside it by name, the nearest last."""

    metadata: dict[str, Any]
    value: Any
    location: str
    units: Mapping[str, str] = MappingProxyType({})

    @property
    def unit(self) -> str | None:
        """The unit of the value, None if none stands beside it."""
        return tuple(self.units.values())[-1] or None if self.units else None


def read_pattern(text: str) -> Pattern:
    """Split a pattern into its template and, after ` = `, the name of its values."""
    template, equals, value = text.rpartition(" = ")
    template, value = (template, value.strip()) if equals else (text, TIME)
    read_layout(template, "pattern")
    name, unit = name_and_unit(value)
    return Pattern(template.strip(), *(value_column(value) or (name, unit or "1", bool(unit))))


def with_units(pattern: str, units: str) -> str:
    """Return a pattern that states the units of its numbers."""
    template, metric, pattern_units, states_units = read_pattern(pattern)
    if states_units and pattern_units != units:
        raise ValueError(
            f"units={units!r} contradict pattern={pattern!r}, which says {pattern_units!r}; "
            "leave one of them out"
        )
    name = VALUE if metric == TIME and seconds_factor(units) is None else metric
    return f"{template} = {name} [{units}]"


def cells_of(source: Source, pattern: Pattern) -> Iterator[Cell]:
    """Yield the values at the places that a pattern names."""
    of_times = seconds_factor(pattern.units) is not None
    for cell in (
        _json_cells(source, pattern) if source.looks_like_json else _csv_cells(source, pattern)
    ):
        metadata, value, location, _ = cell
        names = _unit_names(tuple(metadata), location.rpartition("/")[2], of_times)
        units = {
            name: metadata.pop(name).strip() for name in names if isinstance(metadata[name], str)
        }
        yield Cell(metadata, value, location, units) if units else cell


@lru_cache(maxsize=1 << 10)
def _unit_names(names: tuple[str, ...], value_key: str, of_times: bool) -> tuple[str, ...]:
    """Return the names that state a value's unit, such as `unit`, `time_unit`, `size_unit`."""
    prefixes = ("", _plain(value_key), *((TIME,) if of_times else ()))
    applicable = {f"{prefix}{unit}" for prefix in prefixes for unit in UNIT_KEYS}
    return tuple(name for name in names if _plain(name) in applicable)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


def _json_cells(source: Source, pattern: Pattern) -> Iterator[Cell]:
    """Yield the numbers of JSON.

    The keys on the way to them and the values beside these are metadata.
    """
    steps = [step.strip() for step in pattern.template.split("/")]
    key_patterns = [
        read_layout(step).pattern if "{" in step else re.compile(re.escape(step)) for step in steps
    ]
    dim_columns = set(source.options.dims.values())
    nodes: list[tuple[Cell, ListDim | None]] = [(Cell({}, source.json, ""), None)]
    for key_pattern, next_pattern in zip_longest(key_patterns, key_patterns[1:]):
        nodes = [
            child
            for cell, list_dim in nodes
            for child in _children(cell, list_dim, key_pattern, next_pattern, dim_columns)
        ]
    for cell, _ in nodes:
        if isinstance(cell.value, dict | list):
            raise source.error(
                f"{cell.location or 'it'} is not a number: pattern={source.options.pattern!r} "
                "ends there; name what is inside"
            )
        yield cell


def _children(
    cell: Cell,
    list_dim: ListDim | None,
    key_pattern: re.Pattern[str],
    next_pattern: re.Pattern[str] | None,
    dim_columns: Collection[Any],
) -> Iterator[tuple[Cell, ListDim | None]]:
    """Yield what lies at the keys that fit, and the dim of the list around it if it has no label.

    `next_pattern` is that of the keys one level below, None where the values are numbers.
    """
    node, metadata = cell.value, cell.metadata
    children: list[tuple[Any, Any]] = []
    if isinstance(node, dict | list):
        children = list(node.items() if isinstance(node, dict) else enumerate(node))
    siblings = {
        key: value
        for key, value in children
        if isinstance(key, str)
        and isinstance(value, str | int | float)
        and (next_pattern or not (key_pattern.groups or key_pattern.fullmatch(key)))
    }
    if list_dim is not None:
        labelled = _labelled(metadata, *list_dim, siblings, dim_columns)
        if labelled is not None:
            metadata, list_dim = labelled, None
    parameter = None
    if isinstance(node, list) and key_pattern.groups and next_pattern is not None:
        parameter = _parameter(node, next_pattern)
    for key, child in children:
        match = key_pattern.fullmatch(str(key))
        if match is None or not (next_pattern is None or isinstance(child, dict | list)):
            continue
        labels: dict[str, Any] = match.groupdict()
        if isinstance(key, int):
            in_list = [dim for dim in labels if dim not in LEVELS and dim not in dim_columns]
            labels = {dim: Place(key, len(node)) if dim in in_list else key for dim in labels}
            list_dim = (in_list[0], parameter) if in_list else None
        location = f"{cell.location}/{key}" if cell.location else str(key)
        yield Cell({**metadata, **siblings, **labels}, child, location), list_dim


def _parameter(entries: list[Any], value_step: re.Pattern[str]) -> str | None:
    """Return the only whole number that differs between all entries of a list, by name."""
    if len(entries) < 2 or not all(isinstance(entry, dict) for entry in entries):
        return None
    names = [
        name
        for name in entries[0]
        if not (value_step.fullmatch(name) or COUNTED.search(name) or LIKE_VALUES.search(name))
        and all(type(entry.get(name)) is int for entry in entries)
        and len({entry[name] for entry in entries}) == len(entries)
    ]
    return names[0] if len(names) == 1 else None


def _labelled(
    metadata: Mapping[str, Any],
    list_dim: str,
    parameter: str | None,
    siblings: Mapping[str, Any],
    dim_columns: Collection[Any],
) -> dict[str, Any] | None:
    """Return metadata with an entry's label for its position; None if it has no label.

    What the caller names as a dim tells entries apart, and then the place is no label at all.
    """
    other_labels = {name: label for name, label in metadata.items() if name != list_dim}
    if any(name in dim_columns for name in siblings):
        return other_labels
    texts = [name for name, value in siblings.items() if _is_label(name, value)]
    name = next(
        (name for name in texts if LIKE_BENCHMARKS.search(name)), texts[0] if texts else parameter
    )
    return (
        None if name is None or name not in siblings else {**other_labels, list_dim: siblings[name]}
    )


def _is_label(name: str, value: Any) -> bool:
    """Return whether a value may be the label of an entry: a text with letters that is no unit."""
    is_unit = name.lower().removesuffix("s").endswith("unit")
    return isinstance(value, str) and any(map(str.isalpha, value)) and not is_unit


def _csv_cells(source: Source, pattern: Pattern) -> Iterator[Cell]:
    """Yield the numbers in the columns whose heads fit the pattern.

    The head and the other columns are metadata.
    """
    head_pattern = read_layout(pattern.template).pattern
    dim_columns = source.options.dims.values()
    labels: dict[int, dict[str, Any]] = {}
    column_names: dict[int, str] = {}
    n_texts = 0
    reader = csv.reader(
        io.StringIO(source.text),
        delimiter=tidy_csv.separator(source.beginning),
        skipinitialspace=True,
    )
    for line, row in enumerate(reader, 1):
        cells = [cell.strip() for cell in row]
        if not labels:
            unnamed = [
                (column, cell)
                for column, cell in enumerate(cells)
                if column not in dim_columns and cell not in dim_columns
            ]
            labels = {
                column: match.groupdict()
                for column, cell in unnamed
                if (match := head_pattern.fullmatch(cell))
            }
            column_names = {
                column: str(column) if column in dim_columns else cell or f"column_{column}"
                for column, cell in enumerate(cells)
            }
            continue
        value_columns = [
            column
            for column in labels
            if column < len(cells) and cells[column] not in tidy_csv.MISSING
        ]
        if value_columns and all(number(cells[column]) is None for column in value_columns):
            n_texts += 1
            continue
        metadata = {
            name: _label(cells[column])
            for column, name in column_names.items()
            if column not in labels and column < len(cells)
        }
        for column in value_columns:
            yield Cell(
                {**metadata, **labels[column]},
                cells[column],
                f"row {line}, column {column_names[column]!r}",
            )
    if n_texts:
        source.note(
            "rows_of_text",
            f"{n_texts} rows have text where numbers are expected. They are passed over.",
            rows=n_texts,
        )


def _label(text: str) -> Any:
    """Return a cell as a number if it is a whole one without leading zeros."""
    return text if whole(text) is None or (text[0] == "0" and text != "0") else int(text)
