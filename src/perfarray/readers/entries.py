"""Content of a file in any format: benchmarks with settings, executions and values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import nan
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.conventions import (
    BENCHMARK,
    EXECUTION,
    HIGHER,
    ITERATION,
    LEVELS,
    LOOPS,
    LOWER,
    MARKS,
    SECONDS,
    THROUGHPUT,
    TIME,
)
from perfarray.numerics.types import Floats, Integers
from perfarray.readers.labels import (
    OCCURRENCE,
    LabelParts,
    agree,
    ambiguous_settings,
    as_repetitions,
    number_or_text,
    unique_labels,
    variable_name,
)
from perfarray.readers.numbers import checked, parsed_number
from perfarray.readers.opening import FileError, Source
from perfarray.tables.columns import Column, Descriptor, Metric, Table
from perfarray.tables.concatenation import join_tables

NOTHING: Mapping[str, Any] = MappingProxyType({})
# Cells of columns and of settings in one file, and names: a file with more of them has other names
# in every row, and is no table.
MOST_CELLS = 1 << 24
MOST_SETTINGS = 1 << 20
MOST_NAMES = 1 << 10
SHOWN = 60  # Characters of the name of a benchmark in a note
# Names that no setting or description may take
RESERVED_NAMES = frozenset({BENCHMARK, *LEVELS, *MARKS, TIME, THROUGHPUT, LOOPS, "file"})
# Units and direction of the metrics that most formats have
KINDS = {
    TIME: (SECONDS, LOWER),
    "cpu_time": (SECONDS, LOWER),
    "memory": ("B", LOWER),
    THROUGHPUT: ("ops/s", HIGHER),
}


class Run(NamedTuple):
    """One execution: its iterations' metrics, counters (such as loops) and marks, by name."""

    values: Mapping[str, Floats]
    counters: Mapping[str, Floats] = NOTHING
    marks: Mapping[str, npt.NDArray[np.bool_]] = NOTHING


class Entry(NamedTuple):
    """One benchmark of a file: name, runs, the settings that distinguish it, and other metadata.

    Settings named in `identity` are always in the label; of the others, those that one name has
    with several values.
    """

    name: str
    runs: Sequence[Run]
    settings: Mapping[str, Any] = NOTHING
    metadata: Mapping[str, Any] = NOTHING
    identity: frozenset[str] = frozenset()


class Columns(NamedTuple):
    """All values of a file, benchmark after benchmark, as columns by name."""

    executions: Integers
    lengths: Integers
    values: Mapping[str, Floats]
    counters: Mapping[str, Floats] = NOTHING
    marks: Mapping[str, npt.NDArray[np.bool_]] = NOTHING


FAILED = Run({TIME: np.array([np.nan])}, marks={"failed": np.array([True])})
# What tools write where there is no number
NO_NUMBERS = frozenset(
    {
        None,
        *(
            f"{sign}{word}"
            for sign in ("", "+", "-")
            for word in ("nan", "NaN", "NAN", "inf", "Inf", "INF", "Infinity")
        ),
    }
)


def renamed(
    *fields: tuple[Mapping[str, Any], Mapping[str, str]], missing: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return metadata under our names: for each mapping, that of its keys to our names.

    Of one name the last counts.
    """
    return {
        ours: content[key]
        for content, names in fields
        for key, ours in names.items()
        if key in content and content[key] not in missing
    }


def amounts(
    source: Source,
    location: str | Callable[[int], str],
    values: Sequence[Any],
    *,
    above_zero: bool = False,
    from_zero: bool = False,
    benchmark: str | Callable[[int], str] = "",
) -> Floats:
    """Check numbers; `location` is for messages.

    What is null or not finite was not measured: it is NaN, and named in a note.

    `benchmark` is the name in front of the location there, if the location does not have it.
    """
    locate = location if callable(location) else lambda index: f"{location}: value {index}"
    numbers = checked(
        values, locate, source, above_zero=above_zero, from_zero=from_zero, missing=NO_NUMBERS
    )
    missing = np.flatnonzero(np.isnan(numbers)).tolist()
    for index in missing:
        name = benchmark(index) if callable(benchmark) else benchmark
        value_location = f"{name[:SHOWN]}: {locate(index)}" if name else locate(index)
        source.no_numbers.append(
            f"{value_location} is {'null' if values[index] is None else values[index]}"
        )
    return numbers


def times(
    source: Source,
    location: str | Callable[[int], str],
    values: Sequence[Any],
    factor: float = 1.0,
    *,
    benchmark: str = "",
) -> Floats:
    """Check times as `amounts`, and convert them to seconds.

    A time of 0 is one that the clock does not see, and a value.
    """
    return amounts(source, location, values, from_zero=True, benchmark=benchmark) * factor


def amount_or_nan(
    source: Source, benchmark: str, name: str, value: Any, *, lowest: float = 0.0
) -> float:
    """Return a number from `lowest` on.

    Whatever else stands there was not measured: it is NaN, and named in a note.
    """
    parsed = parsed_number(value)
    if parsed is not None and parsed >= lowest:
        return parsed
    source.no_numbers.append(
        f"{benchmark[:SHOWN]}: {name} is {'null' if value is None else repr(value)[:SHOWN]}"
    )
    return nan


def note_means(source: Source, entries: int, remedy: str = "") -> None:
    """Note that benchmarks have no values but their mean; `remedy` makes the tool write more."""
    if entries:
        sentence = (
            f"{entries} benchmarks have no values but their mean, which is the one value of its "
            f"execution. How their iterations vary is unknown. {remedy}"
        )
        source.note("means_only", sentence.rstrip(), benchmarks=entries)


def columns_by_name(
    source: Source, rows: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[list[int], list[Any]]]:
    """Return for each name the indices of the rows that have it, and their values."""
    columns: dict[str, tuple[list[int], list[Any]]] = {}
    for index, row in enumerate(rows):
        for name, value in row.items():
            indices, values = columns.setdefault(name, ([], []))
            indices.append(index)
            values.append(value)
    check_size(source, len(rows), len(columns))
    return columns


def check_size(source: Source, rows: int, names: int, n_max: int = MOST_CELLS) -> None:
    """Refuse a file that has other names in every row."""
    if names > MOST_NAMES or rows * names > n_max:
        raise source.error(
            f"has {rows} values or benchmarks, and {names} names for what they are or have: "
            "that is no table"
        )


def table_of_entries(
    source: Source,
    entries: Sequence[Entry],
    *,
    kinds: Mapping[str, tuple[str, str]] = MappingProxyType(KINDS),
    file_metadata: Mapping[str, Any] = NOTHING,
    counts: Mapping[str, int] = NOTHING,
) -> Table:
    """Lay entries out as a table, benchmark x execution x iteration.

    Those without a run are left out.

    `kinds` maps a metric to its units and direction: the first with values is the main one.
    `file_metadata` is that of the whole file, and `counts` become attributes.
    """
    entries = _with_runs(source, entries)
    runs = [run for entry in entries for run in entry.runs]
    lengths = np.array([max(map(len, run.values.values())) for run in runs], dtype=np.intp)
    measured, counters, marks = (
        dict.fromkeys(chain.from_iterable(run[field] for run in runs)) for field in range(3)
    )
    check_size(source, int(lengths.sum()), len(measured | counters))
    columns = Columns(
        np.array([len(entry.runs) for entry in entries], dtype=np.intp),
        lengths,
        {
            name: _column([run.values.get(name) for run in runs], lengths, np.nan)
            for name in measured
            if name in kinds
        },
        {
            name: _column([run.counters.get(name) for run in runs], lengths, np.nan)
            for name in counters
        },
        {name: _column([run.marks.get(name) for run in runs], lengths, False) for name in marks},
    )
    return table_of_columns(
        source, entries, columns, kinds=kinds, file_metadata=file_metadata, counts=counts
    )


def table_of_columns(
    source: Source,
    entries: Sequence[Entry],
    columns: Columns,
    *,
    kinds: Mapping[str, tuple[str, str]] = MappingProxyType(KINDS),
    file_metadata: Mapping[str, Any] = NOTHING,
    counts: Mapping[str, int] = NOTHING,
) -> Table:
    """Lay whole columns out as a table; the entries have no runs of their own here."""
    if not entries:
        raise _without_run(source, entries)
    descriptions = dict.fromkeys(
        chain.from_iterable(chain(entry.settings, entry.metadata) for entry in entries)
    )
    check_size(source, len(entries), len(descriptions) + len(file_metadata), MOST_SETTINGS)
    check_size(source, int(columns.lengths.sum()), len(columns.values) + len(columns.counters))
    names, label_parts = _labels(entries, source, bool((columns.executions > 1).any()))
    if any(label_part.repeated for label_part in label_parts):
        entries = _with_occurrences(entries, label_parts)
    metrics = {
        name: Metric(values=columns.values[name], units=units, better=better)
        for name, (units, better) in kinds.items()
        if name in columns.values
    }
    if not metrics:
        raise source.error(
            f"holds no measurement: none of its {len(entries)} benchmarks has a value, "
            f"{entries[0].name[:60]!r} is the first"
        )
    used_names = {*RESERVED_NAMES, *metrics}
    everywhere = (BENCHMARK, EXECUTION, ITERATION)
    coordinates: dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]] = {
        name if name == LOOPS else _coordinate(name, "counter_", used_names): (everywhere, values)
        for name, values in columns.counters.items()
    }
    benchmarks, executions, iterations = source.once(
        _cells, columns.executions.tobytes(), columns.lengths.tobytes()
    )
    return Table(
        labels={BENCHMARK: Column(codes=benchmarks, labels=names)},
        levels={EXECUTION: executions, ITERATION: iterations},
        metrics=metrics,
        metric=next(iter(metrics)),
        marks=dict(columns.marks),
        columns=coordinates,
        descriptors=_descriptors(source, names, entries, file_metadata, used_names),
        parts={BENCHMARK: label_parts},
        counts=dict(counts),
    )


def table_along(
    source: Source,
    dim: str,
    entries: Mapping[str, Sequence[Entry]],
    kinds: Mapping[str, tuple[str, str]],
    label_metadata: Mapping[str, Mapping[str, Any]],
) -> Table:
    """Lay entries out along a dim whose labels are the keys.

    `label_metadata` is the metadata of each label.
    """
    _with_runs(source, list(chain.from_iterable(entries.values())))
    tables = agree([table_of_entries(source, group, kinds=kinds) for group in entries.values()])
    label_parts = dict(
        chain.from_iterable(
            zip(table.labels[BENCHMARK].labels, table.parts[BENCHMARK], strict=True)
            for table in tables
        )
    )
    joined = join_tables(
        [replace(table, parts={}) for table in tables],
        [{dim: label} for label in entries],
        [{} for _ in tables],
    )
    joined_parts: dict[str, Sequence[Any]] = {
        BENCHMARK: [label_parts[label] for label in joined.labels[BENCHMARK].labels]
    }
    return replace(
        joined,
        parts=joined_parts,
        descriptors=joined.descriptors | described_labels(dim, label_metadata),
    )


def described_labels(
    dim: str, metadata: Mapping[str, Mapping[str, Any]], keep: tuple[str, ...] = ()
) -> dict[str, Descriptor]:
    """Return the metadata of labels as descriptors along their dim.

    None is unknown and left out.
    """
    values: dict[str, dict[tuple[Any, ...], Any]] = {}
    for label, fields in metadata.items():
        for name, value in fields.items():
            if value is not None:
                values.setdefault(name, {})[(label,)] = value
    return {
        name: Descriptor(dims=(dim,), values=by_label, keep=keep)
        for name, by_label in values.items()
    }


def _cells(executions: bytes, lengths: bytes) -> tuple[Integers, Integers, Integers]:
    """Return benchmark, execution and iteration of each value; the counts come as bytes."""
    n_executions, n_iterations = (
        np.frombuffer(executions, dtype=np.intp),
        np.frombuffer(lengths, dtype=np.intp),
    )
    benchmarks = np.repeat(np.arange(len(n_executions)), n_executions)
    return (
        np.repeat(benchmarks, n_iterations),
        np.repeat(positions_within(n_executions), n_iterations),
        positions_within(n_iterations),
    )


def positions_within(lengths: Integers) -> Integers:
    """Count from 0 within each of several lengths: `[2, 3]` is `[0, 1, 0, 1, 2]`."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _with_runs(source: Source, entries: Sequence[Entry]) -> list[Entry]:
    with_runs = [entry for entry in entries if entry.runs]
    if not with_runs:
        raise _without_run(source, entries)
    return with_runs


def _without_run(source: Source, entries: Sequence[Entry]) -> FileError:
    first = f", {entries[0].name[:60]!r} is the first" if entries else ""
    reason = f"; {source.failures[0]}" if source.failures else ""
    return source.error(
        f"holds no measurement: it names {len(entries)} benchmarks{first}, and none of them "
        f"has a run{reason}"
    )


def _labels(
    entries: Sequence[Entry], source: Source, has_executions: bool
) -> tuple[list[str], list[LabelParts]]:
    label_parts = [
        LabelParts(entry.name, entry.settings or {}, identity=entry.identity) for entry in entries
    ]
    keys = ambiguous_settings([label_parts])
    base_labels = [label_part.label(keys) for label_part in label_parts]
    labels = unique_labels(base_labels, source, remedy=as_repetitions(has_executions))
    suffixes = [label.removeprefix(base) for label, base in zip(labels, base_labels, strict=True)]
    return source.once(list, tuple(labels)), [
        label_part._replace(repeated=suffix)
        for label_part, suffix in zip(label_parts, suffixes, strict=True)
    ]


def _with_occurrences(entries: Sequence[Entry], label_parts: Sequence[LabelParts]) -> list[Entry]:
    """Return the entries with their number among those of one name, which `dims=` can name."""
    numbers = [int(label_part.repeated.removeprefix("#") or 1) for label_part in label_parts]
    return [
        entry._replace(metadata={OCCURRENCE: number, **entry.metadata})
        for entry, number in zip(entries, numbers, strict=True)
    ]


def _column(
    arrays: Sequence[npt.NDArray[Any] | None], lengths: Integers, blank: Any
) -> npt.NDArray[Any]:
    """Concatenate the values of all runs, blank where a run has none."""
    given_arrays = [array for array in arrays if array is not None]
    total = int(lengths.sum())
    if len(given_arrays) == len(arrays) and sum(map(len, given_arrays)) == total:
        return np.concatenate(given_arrays, dtype=type(blank), casting="unsafe")
    column = np.full(total, blank)
    for start, array in zip((np.cumsum(lengths) - lengths).tolist(), arrays, strict=True):
        if array is not None:
            column[start : start + len(array)] = array
    return column


def _coordinate(name: str, prefix: str, used_names: set[str]) -> str:
    """Return an unused name of a coordinate, and add it to the used ones."""
    # Without blanks, at which netCDF splits a list of coordinates.
    coordinate = variable_name("_".join(name.split()), prefix, used_names)
    while coordinate in used_names:
        coordinate += "_"
    used_names.add(coordinate)
    return coordinate


def _descriptors(
    source: Source,
    names: Sequence[str],
    entries: Sequence[Entry],
    file_metadata: Mapping[str, Any],
    used_names: set[str],
) -> dict[str, Descriptor]:
    """Return settings and metadata of benchmarks along `benchmark`, and metadata of the file.

    Files of an archive share equal ones.
    """
    labels = tuple(names)
    entry_metadata = [{**entry.metadata, **entry.settings} for entry in entries]
    keys = dict.fromkeys(
        key for metadata in entry_metadata for key, value in metadata.items() if value is not None
    )
    descriptors = {}
    for key in keys:
        values = tuple(number_or_text(metadata.get(key)) for metadata in entry_metadata)
        types = tuple(map(type, values))  # 1 and 1.0 are equal
        descriptors[_coordinate(key, "setting_", used_names)] = source.once(
            _of_benchmarks, labels, values, types
        )
    for key, value in file_metadata.items():
        if value is not None:
            constant = number_or_text(value)
            descriptors[_coordinate(key, "about_", used_names)] = source.once(
                _of_file, constant, type(constant).__name__
            )
    return descriptors


def _of_benchmarks(
    labels: tuple[str, ...], values: tuple[Any, ...], _: tuple[type, ...]
) -> Descriptor:
    return Descriptor(
        dims=(BENCHMARK,),
        values={(label,): value for label, value in zip(labels, values, strict=True)},
        keep=(BENCHMARK,),
    )


def _of_file(value: Any, _: str) -> Descriptor:
    return Descriptor(dims=(), values={(): value})
