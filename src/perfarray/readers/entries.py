"""Content of a file in any format: benchmarks with settings, their executions, and the values of each.

A setting (a parameter, threads, a package) is a coordinate along `benchmark`. The label contains it too, `name[setting=value]`, where one
name occurs with several of its values.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.conventions import BENCHMARK, EXECUTION, HIGHER, ITERATION, LEVELS, LOOPS, LOWER, MARKS, SECONDS, THROUGHPUT, TIME
from perfarray.numerics.types import Floats, Integers
from perfarray.readers.names import number_or_text, unique_labels, variable_name
from perfarray.readers.numbers import checked, number
from perfarray.readers.opening import Source
from perfarray.tables.columns import Column, Descriptor, Metric, Table
from perfarray.tables.harmonise import rename_labels
from perfarray.tables.join import join_tables

NOTHING: Mapping[str, Any] = MappingProxyType({})
MOST = 1 << 24
MOST_SETTINGS = 1 << 20
MOST_NAMES = 1 << 10  # Most cells of columns and of settings in one file, and most names: a file with more has other names in every row
OTHERWISE = frozenset({BENCHMARK, *LEVELS, *MARKS, TIME, THROUGHPUT, LOOPS, "file"})  # Names that no setting or description may take

# Unit and direction of the metrics most formats have
KINDS = {TIME: (SECONDS, LOWER), "cpu_time": (SECONDS, LOWER), "memory": ("B", LOWER), THROUGHPUT: ("ops/s", HIGHER)}


class Run(NamedTuple):
    """One execution: for each iteration the values of metrics, counters (such as its loops) and marks, by name."""

    values: Mapping[str, Floats]
    counters: Mapping[str, Floats] = NOTHING
    marks: Mapping[str, npt.NDArray[np.bool_]] = NOTHING


class Entry(NamedTuple):
    """One benchmark of a file: name, runs, the settings that distinguish it, and other metadata."""

    name: str
    runs: Sequence[Run]
    settings: Mapping[str, Any] = NOTHING
    metadata: Mapping[str, Any] = NOTHING


class LabelParts(NamedTuple):
    """Components of a label: name, settings, and the suffix of a repeated label."""

    name: str
    settings: Mapping[str, Any]
    repeated: str = ""

    def without(self, removed: Collection[str], plain_name: str) -> "LabelParts":
        """Return the label without some settings; without any, the name stays."""
        remaining = {key: value for key, value in self.settings.items() if key not in removed}
        return LabelParts(self.name if remaining.keys() == self.settings.keys() else plain_name, remaining, self.repeated)

    def label(self, keys: Collection[str]) -> str:
        """Return `name[setting=value,...]` with some of its settings."""
        settings = ",".join(f"{key}={value}" for key, value in self.settings.items() if key in keys and value is not None)
        return f"{self.name}[{settings}]{self.repeated}" if settings else f"{self.name}{self.repeated}"


FAILED = Run({TIME: np.array([np.nan])}, marks={"failed": np.array([True])})  # An execution that failed


def times(source: Source, location: str, values: Sequence[Any], factor: float = 1.0) -> Floats:
    """Check times and convert them to seconds; `location` is for the message."""
    return checked(values, lambda index: f"{location}: value {index}", source, above_zero=True) * factor


def times_or_nan(source: Source, location: str | Callable[[int], str], values: Sequence[Any], factor: float = 1.0) -> Floats:
    """Check times and convert them to seconds; a time of 0 is below the clock's resolution and becomes NaN."""
    locate = location if callable(location) else lambda index: f"{location}: value {index}"
    numbers = checked(values, locate, source)
    nonzero = np.flatnonzero(numbers)
    checked(numbers[nonzero].tolist(), lambda index: locate(int(nonzero[index])), source, above_zero=True)
    return np.where(numbers == 0, np.nan, numbers) * factor


def count_below_resolution(source: Source, entries: Sequence[Entry]) -> dict[str, int]:
    """Count and note the times below the clock's resolution."""
    return note_below_resolution(
        source, sum(int(np.isnan(run.values.get(TIME, np.nan)).sum()) for entry in entries for run in entry.runs if run is not FAILED)
    )


def note_below_resolution(source: Source, count: int) -> dict[str, int]:
    """Note how many times are below the clock's resolution, and return the count as an attribute."""
    if count:
        source.note("below_resolution", f"{count} times are 0, too short to be seen: they are NaN", times=count)
    return {"n_below_resolution": count}


def amounts(source: Source, location: str, values: Sequence[Any]) -> Floats:
    """Check finite numbers."""
    return checked(values, lambda index: f"{location}: value {index}", source)


def columns_by_name(source: Source, rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[list[int], list[Any]]]:
    """Return for each name the indices of the rows that have it, and their values."""
    columns: dict[str, tuple[list[int], list[Any]]] = {}
    for index, row in enumerate(rows):
        for name, value in row.items():
            indices, values = columns.setdefault(name, ([], []))
            indices.append(index)
            values.append(value)
    check_size(source, len(rows), len(columns), MOST)
    return columns


def check_size(source: Source, rows: int, names: int, most: int) -> None:
    """Raise where rows have too many names to be a table."""
    if names > MOST_NAMES or rows * names > most:
        raise source.error(f"has {rows} values or benchmarks, and {names} names for what they are or have: that is no table")


def note_means(source: Source, entries: int) -> None:
    """Note that some benchmarks have no values but their mean."""
    if entries:
        sentence = (
            f"{entries} benchmarks have no values but their mean: it is the one value of its execution, and how iterations vary is unknown"
        )
        source.note("means_only", sentence, benchmarks=entries)


def table_of_entries(
    source: Source,
    entries: Sequence[Entry],
    *,
    kinds: Mapping[str, tuple[str, str]] = MappingProxyType(KINDS),
    about: Mapping[str, Any] = NOTHING,
    counts: Mapping[str, int] = NOTHING,
) -> Table:
    """Lay entries out as a table: benchmark x execution x iteration.

    Parameters
    ----------
    source : Source
        The file.
    entries : sequence of Entry
        Its benchmarks; those without any run are left out.
    kinds : mapping
        Metric to its unit and direction; metrics without values are left out. The first that remains is the main one.
    about : mapping
        Metadata of the whole file.
    counts : mapping
        Counts for the attributes.

    Returns
    -------
    Table

    Raises
    ------
    FileError
        When no run has a value.
    """
    entries = _measured(source, entries)
    runs = [run for entry in entries for run in entry.runs]
    lengths = np.array([max(len(values) for values in run.values.values()) for run in runs], dtype=np.intp)
    descriptions = dict.fromkeys(key for entry in entries for key in (*entry.settings, *entry.metadata))
    check_size(source, len(entries), len(descriptions) + len(about), MOST_SETTINGS)
    names, label_parts = _labels(entries, source)
    measured, counters, marks = (dict.fromkeys(name for run in runs for name in run[field]) for field in range(3))
    check_size(source, int(lengths.sum()), len(measured | counters), MOST)
    per_entry = [len(entry.runs) for entry in entries]
    bench = np.repeat(np.repeat(np.arange(len(entries)), per_entry), lengths)
    execution = np.repeat(np.concatenate([np.arange(count) for count in per_entry]), lengths)
    metrics = {
        name: Metric(values=_column([run.values.get(name) for run in runs], lengths, np.nan), units=unit, better=better)
        for name, (unit, better) in kinds.items()
        if name in measured
    }
    if not metrics:
        raise source.error(
            f"holds no measurement: none of its {len(entries)} benchmarks has a value, {entries[0].name[:60]!r} is the first"
        )
    used_names = {*OTHERWISE, *metrics}
    coordinates = {name: name if name == LOOPS else _coordinate(name, "counter_", used_names) for name in counters}
    return Table(
        labels={BENCHMARK: Column(codes=bench, labels=names)},
        levels={EXECUTION: execution, ITERATION: np.arange(len(bench)) - np.repeat(np.cumsum(lengths) - lengths, lengths)},
        metrics=metrics,
        metric=next(iter(metrics)),
        marks={name: _column([run.marks.get(name) for run in runs], lengths, False) for name in marks},
        columns={
            coordinates[name]: ((BENCHMARK, EXECUTION, ITERATION), _column([run.counters.get(name) for run in runs], lengths, np.nan))
            for name in counters
        },
        descriptors=_descriptors(names, entries, about, used_names),
        parts={BENCHMARK: label_parts},
        counts=dict(counts),
    )


def table_along(
    source: Source,
    dim: str,
    entries: Mapping[str, Sequence[Entry]],
    kinds: Mapping[str, tuple[str, str]],
    described: dict[str, Descriptor],
) -> Table:
    """Lay entries out along a dim whose labels are the keys; a benchmark has the same label at each."""
    _measured(source, list(chain.from_iterable(entries.values())))
    tables = agree([table_of_entries(source, group, kinds=kinds) for group in entries.values()])
    label_parts = dict(chain.from_iterable(zip(table.labels[BENCHMARK].labels, table.parts[BENCHMARK], strict=True) for table in tables))
    joined = join_tables([replace(table, parts={}) for table in tables], [{dim: label} for label in entries], [{} for _ in tables])
    joined_parts: dict[str, Sequence[Any]] = {BENCHMARK: [label_parts[label] for label in joined.labels[BENCHMARK].labels]}
    return replace(joined, parts=joined_parts, descriptors=joined.descriptors | described)


def _measured(source: Source, entries: Sequence[Entry]) -> list[Entry]:
    """Return the benchmarks that ran, or raise."""
    measured = [entry for entry in entries if entry.runs]
    if not measured:
        first = f", {entries[0].name[:60]!r} is the first" if entries else ""
        raise source.error(f"holds no measurement: it names {len(entries)} benchmarks{first}, and none of them has a run")
    return measured


def agree(tables: Sequence[Table]) -> list[Table]:
    """Name a setting in the labels of all files if one file needs it, so that a benchmark has one label in all.

    The default for formats without an `agree` of their own; labels without components stay.
    """
    named = _named([table.parts.get(BENCHMARK, ()) for table in tables])
    return [relabelled(table, lambda label_parts: label_parts.label(named)) for table in tables]


def relabelled(table: Table, label: Callable[[Any], str]) -> Table:
    """Return the table with benchmark labels composed again of their components, if any."""
    if BENCHMARK not in table.parts:
        return table
    return rename_labels(table, BENCHMARK, dict(zip(table.labels[BENCHMARK].labels, map(label, table.parts[BENCHMARK]), strict=True)))


def value_of(text: str) -> int | float | str:
    """Return a setting as a number where its text is one."""
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    value = number(text)
    return text if value is None else value


def _named(files: Iterable[Sequence[LabelParts]]) -> set[str]:
    """Return the settings that one name has with several values in one file."""
    named = set()
    for file_parts in files:
        first_values: dict[tuple[str, str], Any] = {}
        keys = dict.fromkeys(key for label_parts in file_parts for key in label_parts.settings)
        for label_parts in file_parts:
            for key in keys:
                value = label_parts.settings.get(key)
                if first_values.setdefault((label_parts.name, key), value) != value:
                    named.add(key)
    return named


def _labels(entries: Sequence[Entry], source: Source) -> tuple[list[str], list[LabelParts]]:
    """Return unique labels of entries and their components."""
    label_parts = [LabelParts(entry.name, dict(entry.settings)) for entry in entries]
    named = _named([label_parts])
    base_labels = [single.label(named) for single in label_parts]
    labels = unique_labels(base_labels, source)
    suffixes = [label.removeprefix(base) for label, base in zip(labels, base_labels, strict=True)]
    return labels, [single._replace(repeated=suffix) for single, suffix in zip(label_parts, suffixes, strict=True)]


def _column(arrays: Sequence[npt.NDArray[Any] | None], lengths: Integers, blank: Any) -> npt.NDArray[Any]:
    """Concatenate the values of all runs, blank where a run has none."""
    column = np.full(int(lengths.sum()), blank)
    for start, array in zip((np.cumsum(lengths) - lengths).tolist(), arrays, strict=True):
        if array is not None:
            column[start : start + len(array)] = array
    return column


def _coordinate(name: str, prefix: str, used_names: set[str]) -> str:
    """Return an unused name of a coordinate and mark it as used; without blanks, at which netCDF splits a list of coordinates."""
    coordinate = variable_name("_".join(name.split()), prefix, used_names)
    while coordinate in used_names:
        coordinate += "_"
    used_names.add(coordinate)
    return coordinate


def _descriptors(names: Sequence[str], entries: Sequence[Entry], about: Mapping[str, Any], used_names: set[str]) -> dict[str, Descriptor]:
    """Return settings and metadata of benchmarks along `benchmark`, and metadata of the file."""
    entry_metadata = [{**entry.metadata, **entry.settings} for entry in entries]
    keys = dict.fromkeys(key for metadata in entry_metadata for key, value in metadata.items() if value is not None)
    descriptors = {}
    for key in keys:
        values = {(name,): number_or_text(metadata.get(key)) for name, metadata in zip(names, entry_metadata, strict=True)}
        descriptors[_coordinate(key, "setting_", used_names)] = Descriptor(dims=(BENCHMARK,), values=values, keep=(BENCHMARK,))
    for key, value in about.items():
        if value is not None:
            descriptors[_coordinate(key, "about_", used_names)] = Descriptor(dims=(), values={(): number_or_text(value)})
    return descriptors
