"""What the text reports of one archive say of the same machines made to agree: sessions, descriptions, runs published twice."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from perfarray.conventions import BENCHMARK, MACHINE, UNKNOWN
from perfarray.tables.columns import Descriptor, Table
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed

MIN_COPIED_ROWS = 6  # Rows two reports must have in common to be the same run: fewer may be equal by chance
TEXTS = ("cpu", "os")  # Descriptors that are texts; the others are numbers
SESSION = "session"


def agree(tables: Sequence[Table]) -> list[Table]:
    """Number the sessions of each machine from 0, mark runs published twice, and say the same of a machine in all its reports."""
    sessions = _session_numbers(tables)
    machines, contradicted = _machines(tables)
    copies = _published_twice(tables)
    agreed = []
    for number, (table, session) in enumerate(zip(tables, sessions, strict=True)):
        levels = table.levels | ({SESSION: np.full(len(table), session)} if session else {})
        marks = table.marks | ({"copied": np.ones(len(table), dtype=bool)} if number in copies else {})
        agreed.append(replace(table, levels=levels, marks=marks, descriptors=table.descriptors | machines[_label(table, MACHINE)]))
    agreed[0] = replace(agreed[0], notes=(*agreed[0].notes, *contradicted, *_copied(list(copies.values()))))
    return agreed


def _label(table: Table, dim: str) -> Any:
    return table.labels[dim].labels[0]


def _suite(table: Table) -> Any:
    return next(iter(table.descriptors["suite"].values.values()))


def _session_numbers(tables: Sequence[Table]) -> list[int]:
    """Number the sessions of one machine, compiler, flags and suite from 0, in the order of their names."""
    keys = [(*(_label(table, dim) for dim in (MACHINE, "compiler", "flags")), _suite(table)) for table in tables]
    names: dict[tuple[Any, ...], set[str]] = {}
    for key, table in zip(keys, tables, strict=True):
        names.setdefault(key, set()).add(table.level_names[SESSION])
    numbers = {key: {name: position for position, name in enumerate(sorted(session_names))} for key, session_names in names.items()}
    return [numbers[key][table.level_names[SESSION]] for key, table in zip(keys, tables, strict=True)]


def _machines(tables: Sequence[Table]) -> tuple[dict[str, dict[str, Descriptor]], list[Note]]:
    """Return what is known of each machine: what its reports say alike, the median clock; and a note where they differ."""
    names: dict[str, None] = {}
    stated: dict[str, dict[str, list[Any]]] = {}
    for table in tables:
        machine = _label(table, MACHINE)
        lists = stated.setdefault(machine, {})
        for name, descriptor in table.descriptors.items():
            if descriptor.dims == (MACHINE,):
                names[name] = None
                lists.setdefault(name, []).append(descriptor.values[machine,])
    descriptors: dict[str, dict[str, Descriptor]] = {}
    contradicted: dict[str, list[str]] = {}
    for machine, lists in stated.items():
        known_values = {name: [value for value in lists.get(name, ()) if value not in (None, UNKNOWN)] for name in names}
        values = {name: _agreed_value(name, of_name) for name, of_name in known_values.items()}
        descriptors[machine] = {
            name: Descriptor(dims=(MACHINE,), values={(machine,): value}, keep=(MACHINE,)) for name, value in values.items()
        }
        for name, value in values.items():
            if value in (None, UNKNOWN) and known_values[name]:
                contradicted.setdefault(name, []).append(machine)
    return descriptors, _contradicted(contradicted)


def _agreed_value(name: str, values: list[Any]) -> Any:
    """Return the one value that is stated, the median of measured clocks, or that it is unknown."""
    distinct = set(values)
    if len(distinct) == 1:
        return distinct.pop()
    if name in TEXTS:
        return UNKNOWN
    return median(values) if name == "cpu_mhz" and values else None


def _contradicted(machines: dict[str, list[str]]) -> list[Note]:
    """Note the machines whose reports contradict each other, by descriptor."""
    if not machines:
        return []
    differences = "; ".join(f"{name} of {listed(machine_names, 5)}" for name, machine_names in machines.items())
    sentence = f"what the reports of one machine say differently is taken as unknown: {differences}"
    return [Note("contradicted_descriptors", sentence, dict(machines))]


def _published_twice(tables: Sequence[Table]) -> dict[int, str]:
    """Return the place of each table whose runs one before it has too, and the names of both machines."""
    first_indices: dict[tuple[Any, ...], int] = {}
    copies = {}
    for index, table in enumerate(tables):
        if len(table) < MIN_COPIED_ROWS:
            continue
        runs = (tuple(table.labels[BENCHMARK].labels), *(metric.values.tobytes() for metric in table.metrics.values()))
        first = first_indices.setdefault(runs, index)
        if first != index:
            copies[index] = f"{_called(table)} = {_called(tables[first])}"
    return copies


def _called(table: Table) -> str:
    """Name a report in a message."""
    return f"{_label(table, MACHINE)} ({_suite(table)}, {_label(table, 'flags')})"


def _copied(pairs: list[str]) -> list[Note]:
    """Note the runs that were published twice."""
    if not pairs:
        return []
    sentence = f"runs published twice under two names are marked `copied`: {listed(pairs, 5)}"
    return [Note("published_twice", sentence, {"reports": len(pairs), "pairs": pairs})]
