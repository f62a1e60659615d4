"""What a file of benchmarks is made of, whatever its format: benchmarks with settings, their executions, the values of each.

A setting (a parameter, threads, a package) is a coordinate along `benchmark`. It stands in the label too, `name[setting=value]`, where one
name has it with several values; what the name says already is not said twice.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
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
MOST_NAMES = 1 << 10
"""Cells the columns and the settings of one file may have together, and names: more is a file in which every row has its own."""

OTHERWISE = frozenset({BENCHMARK, *LEVELS, *MARKS, TIME, THROUGHPUT, LOOPS, "file"})
"""Names that mean something else than a setting or a description."""

KINDS = {TIME: (SECONDS, LOWER), "cpu_time": (SECONDS, LOWER), "memory": ("B", LOWER), THROUGHPUT: ("ops/s", HIGHER)}
"""Unit and direction of the metrics most formats have."""


class Run(NamedTuple):
    """One execution: by metric a value for each iteration, numbers that stand beside each (such as its loops), marks."""

    values: Mapping[str, Floats]
    beside: Mapping[str, Floats] = NOTHING
    marks: Mapping[str, npt.NDArray[np.bool_]] = NOTHING


class Entry(NamedTuple):
    """One benchmark of a file: its name, its runs, the settings that tell it from others, and what else is known of it."""

    name: str
    runs: Sequence[Run]
    settings: Mapping[str, Any] = NOTHING
    known: Mapping[str, Any] = NOTHING


class Parts(NamedTuple):
    """What a label is made of: the name, settings, and what tells it from its like."""

    name: str
    settings: Mapping[str, Any]
    repeated: str = ""

    def without(self, taken: Collection[str], plain: str) -> "Parts":
        """Return what is left without some settings; `plain` is the name where it spells no setting."""
        left = {key: value for key, value in self.settings.items() if key not in taken}
        return Parts(self.name if left.keys() == self.settings.keys() else plain, left, self.repeated)

    def label(self, named: Collection[str]) -> str:
        """Return `name[setting=value,...]` with some of its settings."""
        said = ",".join(f"{key}={value}" for key, value in self.settings.items() if key in named and value is not None)
        return f"{self.name}[{said}]{self.repeated}" if said else f"{self.name}{self.repeated}"


FAILED = Run({TIME: np.array([np.nan])}, marks={"failed": np.array([True])})
"""An execution of which nothing is left."""


def times(source: Source, place: str, values: Sequence[Any], factor: float = 1.0) -> Floats:
    """Return what a file has as times, in seconds; `place` names where the values stand."""
    return checked(values, lambda index: f"{place}: value {index}", source, above_zero=True) * factor


def times_seen(source: Source, place: str | Callable[[int], str], values: Sequence[Any], factor: float = 1.0) -> Floats:
    """Return what a file has as times, in seconds, NaN for 0: that was too short to be seen."""
    at = place if callable(place) else lambda index: f"{place}: value {index}"
    found = checked(values, at, source)
    seen = np.flatnonzero(found)
    checked(found[seen].tolist(), lambda index: at(int(seen[index])), source, above_zero=True)
    return np.where(found == 0, np.nan, found) * factor


def count_unseen(source: Source, entries: Sequence[Entry]) -> dict[str, int]:
    """Count the times that were too short to be seen, and note them."""
    return note_unseen(
        source, sum(int(np.isnan(run.values.get(TIME, np.nan)).sum()) for entry in entries for run in entry.runs if run is not FAILED)
    )


def note_unseen(source: Source, unseen: int) -> dict[str, int]:
    """Note how many times were too short to be seen, and return their count."""
    if unseen:
        source.note("below_resolution", f"{unseen} times are 0, too short to be seen: they are NaN", times=unseen)
    return {"n_below_resolution": unseen}


def amounts(source: Source, place: str, values: Sequence[Any]) -> Floats:
    """Return what a file has as finite numbers."""
    return checked(values, lambda index: f"{place}: value {index}", source)


def by_name(source: Source, rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[list[int], list[Any]]]:
    """Return for each name that rows have the rows with it and what they have."""
    found: dict[str, tuple[list[int], list[Any]]] = {}
    for place, row in enumerate(rows):
        for name, value in row.items():
            places, values = found.setdefault(name, ([], []))
            places.append(place)
            values.append(value)
    check_size(source, len(rows), len(found), MOST)
    return found


def check_size(source: Source, rows: int, names: int, most: int) -> None:
    """Raise where rows have so many names of their own that they are no table."""
    if names > MOST_NAMES or rows * names > most:
        raise source.error(f"has {rows} values or benchmarks, and {names} names for what they are or have: that is no table")


def note_means(source: Source, entries: int) -> None:
    """Note that some benchmarks have no values but their mean."""
    if entries:
        said = (
            f"{entries} benchmarks have no values but their mean: it is the one value of its execution, and how iterations vary is unknown"
        )
        source.note("means_only", said, benchmarks=entries)


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
        Metric to its unit and direction; those no run has are left out. The first that is there is the main one.
    about : mapping
        What is known of the whole file.
    counts : mapping
        How much of something there was.

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
    known = dict.fromkeys(key for entry in entries for key in (*entry.settings, *entry.known))
    check_size(source, len(entries), len(known) + len(about), MOST_SETTINGS)
    names, parts = _labels(entries, source)
    measured, beside, marks = (dict.fromkeys(name for run in runs for name in run[place]) for place in range(3))
    check_size(source, int(lengths.sum()), len(measured | beside), MOST)
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
    taken = {*OTHERWISE, *metrics}
    ours = {name: name if name == LOOPS else _coordinate(name, "counter_", taken) for name in beside}
    return Table(
        labels={BENCHMARK: Column(codes=bench, labels=names)},
        levels={EXECUTION: execution, ITERATION: np.arange(len(bench)) - np.repeat(np.cumsum(lengths) - lengths, lengths)},
        metrics=metrics,
        metric=next(iter(metrics)),
        marks={name: _column([run.marks.get(name) for run in runs], lengths, False) for name in marks},
        columns={
            ours[name]: ((BENCHMARK, EXECUTION, ITERATION), _column([run.beside.get(name) for run in runs], lengths, np.nan))
            for name in beside
        },
        descriptors=_descriptors(names, entries, about, taken),
        parts={BENCHMARK: parts},
        counts=dict(counts),
    )


def table_along(
    source: Source,
    dim: str,
    entries: Mapping[str, Sequence[Entry]],
    kinds: Mapping[str, tuple[str, str]],
    described: dict[str, Descriptor],
) -> Table:
    """Lay entries out with a dim of the file's own, whose labels the keys are; the same benchmark has the same label along it."""
    _measured(source, [entry for own in entries.values() for entry in own])
    tables = agree([table_of_entries(source, own, kinds=kinds) for own in entries.values()])
    parts = {label: own for table in tables for label, own in zip(table.labels[BENCHMARK].labels, table.parts[BENCHMARK], strict=True)}
    joined = join_tables([replace(table, parts={}) for table in tables], [{dim: label} for label in entries], [{} for _ in tables])
    same: dict[str, Sequence[Any]] = {BENCHMARK: [parts[label] for label in joined.labels[BENCHMARK].labels]}
    return replace(joined, parts=same, descriptors=joined.descriptors | described)


def _measured(source: Source, entries: Sequence[Entry]) -> list[Entry]:
    """Return the benchmarks that ran, or raise."""
    found = [entry for entry in entries if entry.runs]
    if not found:
        first = f", {entries[0].name[:60]!r} is the first" if entries else ""
        raise source.error(f"holds no measurement: it names {len(entries)} benchmarks{first}, and none of them has a run")
    return found


def agree(tables: Sequence[Table]) -> list[Table]:
    """Name settings in the labels of every file if those of one must, so that the same benchmark has the same label in all.

    What a format does with the tables of several files that has no `agree` of its own; labels that are not made of parts stay.
    """
    named = _named([table.parts.get(BENCHMARK, ()) for table in tables])
    return [relabelled(table, lambda parts: parts.label(named)) for table in tables]


def relabelled(table: Table, label: Callable[[Any], str]) -> Table:
    """Return the table with the labels of benchmarks made anew of their parts, where they have any."""
    if BENCHMARK not in table.parts:
        return table
    return rename_labels(table, BENCHMARK, dict(zip(table.labels[BENCHMARK].labels, map(label, table.parts[BENCHMARK]), strict=True)))


def value_of(text: str) -> int | float | str:
    """Return what a setting is as a number if it is written as one."""
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    value = number(text)
    return text if value is None else value


def _named(files: Iterable[Sequence[Parts]]) -> set[str]:
    """Return the settings that one name has with several values in one file."""
    named = set()
    for every in files:
        seen: dict[tuple[str, str], Any] = {}
        keys = dict.fromkeys(key for parts in every for key in parts.settings)
        for parts in every:
            for key in keys:
                value = parts.settings.get(key)
                if seen.setdefault((parts.name, key), value) != value:
                    named.add(key)
    return named


def _labels(entries: Sequence[Entry], source: Source) -> tuple[list[str], list[Parts]]:
    """Return the labels of entries, each once, and what they are made of."""
    every = [Parts(entry.name, dict(entry.settings)) for entry in entries]
    named = _named([every])
    plain = [parts.label(named) for parts in every]
    labels = unique_labels(plain, source)
    return labels, [parts._replace(repeated=label.removeprefix(before)) for parts, label, before in zip(every, labels, plain, strict=True)]


def _column(parts: Sequence[npt.NDArray[Any] | None], lengths: Integers, blank: Any) -> npt.NDArray[Any]:
    """Lay the values of all runs out one after another, blank where a run has none."""
    column = np.full(int(lengths.sum()), blank)
    for start, part in zip((np.cumsum(lengths) - lengths).tolist(), parts, strict=True):
        if part is not None:
            column[start : start + len(part)] = part
    return column


def _coordinate(name: str, prefix: str, taken: set[str]) -> str:
    """Return a name of its own for a coordinate, and take it; without blanks, at which netCDF splits a list of coordinates."""
    ours = variable_name("_".join(name.split()), prefix, taken)
    while ours in taken:
        ours += "_"
    taken.add(ours)
    return ours


def _descriptors(names: Sequence[str], entries: Sequence[Entry], about: Mapping[str, Any], taken: set[str]) -> dict[str, Descriptor]:
    """Return settings and what else is known along `benchmark`, and what is known of the file."""
    stated = [{**entry.known, **entry.settings} for entry in entries]
    keys = dict.fromkeys(key for own in stated for key, value in own.items() if value is not None)
    found = {}
    for key in keys:
        values = {(name,): number_or_text(own.get(key)) for name, own in zip(names, stated, strict=True)}
        found[_coordinate(key, "setting_", taken)] = Descriptor(dims=(BENCHMARK,), values=values, keep=(BENCHMARK,))
    for key, value in about.items():
        if value is not None:
            found[_coordinate(key, "about_", taken)] = Descriptor(dims=(), values={(): number_or_text(value)})
    return found
