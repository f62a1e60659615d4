"""Text reports of one archive made to agree: sessions, descriptions, runs published twice.

Whole results state their machine themselves and have no session in their name: the others alone are
numbered and described together.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from perfarray.conventions import BENCHMARK, ESTIMATED, MACHINE, UNKNOWN, VALID
from perfarray.readers.spec import results
from perfarray.tables.columns import Descriptor, Table
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed

MIN_COPIED_ROWS = (
    6  # Rows two reports must have in common to be the same run: fewer may be equal by chance
)
TEXTS = ("cpu", "os")  # Descriptors that are texts; the others are numbers
OF_RUNS = (VALID, ESTIMATED)  # Descriptors in which the reports of one machine may differ
SESSION = "session"


def agree(tables: Sequence[Table]) -> list[Table]:
    """Make the tables of whole results agree as those of CSV do, and the others with each other."""
    agreed = list(tables)
    for kind, positions in (
        (
            _agree_on_machines,
            [index for index, table in enumerate(tables) if SESSION in table.levels],
        ),
        (
            results.agree,
            [index for index, table in enumerate(tables) if SESSION not in table.levels],
        ),
    ):
        for index, table in zip(
            positions,
            kind([tables[index] for index in positions]) if positions else (),
            strict=True,
        ):
            agreed[index] = table
    return agreed


def _agree_on_machines(tables: Sequence[Table]) -> list[Table]:
    """Number sessions, mark runs published twice, and agree on each machine's metadata."""
    sessions = _session_numbers(tables)
    machines, notes = _machines(tables)
    copies = _published_twice(tables)
    agreed = []
    for index, (table, session) in enumerate(zip(tables, sessions, strict=True)):
        levels = table.levels | ({SESSION: np.full(len(table), session)} if session else {})
        marks = table.marks | (
            {"copied": np.ones(len(table), dtype=bool)} if index in copies else {}
        )
        agreed.append(
            replace(
                table,
                levels=levels,
                marks=marks,
                descriptors=table.descriptors | machines[_label(table, MACHINE)],
            )
        )
    if copies:
        pairs = list(copies.values())
        sentence = f"Runs published twice under two names are marked `copied`: {listed(pairs, 5)}"
        notes.append(Note("marked_copies", sentence, {"reports": len(pairs), "pairs": pairs}))
    agreed[0] = replace(agreed[0], notes=(*agreed[0].notes, *notes))
    return agreed


def _label(table: Table, dim: str) -> Any:
    return table.labels[dim].labels[0]


def _suite(table: Table) -> Any:
    return next(iter(table.descriptors["suite"].values.values()))


def _session_numbers(tables: Sequence[Table]) -> list[int]:
    """Number sessions of one machine, compiler, flags and suite from 0, by name."""
    keys = [
        (*(_label(table, dim) for dim in (MACHINE, "compiler", "flags")), _suite(table))
        for table in tables
    ]
    names: dict[tuple[Any, ...], set[str]] = {}
    for key, table in zip(keys, tables, strict=True):
        names.setdefault(key, set()).add(table.level_names[SESSION])
    numbers = {
        key: {name: position for position, name in enumerate(sorted(session_names))}
        for key, session_names in names.items()
    }
    return [
        numbers[key][table.level_names[SESSION]] for key, table in zip(keys, tables, strict=True)
    ]


def _machines(tables: Sequence[Table]) -> tuple[dict[str, dict[str, Descriptor]], list[Note]]:
    """Return the metadata of each machine on which its reports agree, the median clock.

    And a note where they contradict each other.
    """
    names: dict[str, None] = {}
    values_by_machine: dict[str, dict[str, list[Any]]] = {}
    for table in tables:
        machine = _label(table, MACHINE)
        lists = values_by_machine.setdefault(machine, {})
        for name, descriptor in table.descriptors.items():
            if descriptor.dims == (MACHINE,) and name not in OF_RUNS:
                names[name] = None
                value = descriptor.values[machine,]
                lists.setdefault(name, []).extend([] if value in (None, UNKNOWN) else [value])
    descriptors: dict[str, dict[str, Descriptor]] = {}
    contradicted: dict[str, list[str]] = {}
    for machine, lists in values_by_machine.items():
        descriptors[machine] = {}
        for name in names:
            value = _agreed_value(name, lists.get(name, []))
            descriptors[machine][name] = Descriptor(
                dims=(MACHINE,), values={(machine,): value}, keep=(MACHINE,)
            )
            if value in (None, UNKNOWN) and lists.get(name):
                contradicted.setdefault(name, []).append(machine)
    if not contradicted:
        return descriptors, []
    differences = "; ".join(
        f"{name} of {listed(machines, 5)}" for name, machines in contradicted.items()
    )
    sentence = f"what the reports of one machine say differently is taken as unknown: {differences}"
    return descriptors, [Note("contradicted_descriptors", sentence, dict(contradicted))]


def _agreed_value(name: str, values: list[Any]) -> Any:
    """Return the one value that is stated, the median of measured clocks, or that it is unknown."""
    if len(set(values)) == 1:
        return values[0]
    if name in TEXTS:
        return UNKNOWN
    return median(values) if name == "cpu_mhz" and values else None


def _published_twice(tables: Sequence[Table]) -> dict[int, str]:
    """Return the tables that repeat the runs of an earlier one, with the names of both."""
    first_indices: dict[tuple[Any, ...], int] = {}
    copies = {}
    for index, table in enumerate(tables):
        if len(table) < MIN_COPIED_ROWS:
            continue
        runs = (
            tuple(table.labels[BENCHMARK].labels),
            *(metric.values.tobytes() for metric in table.metrics.values()),
        )
        first = first_indices.setdefault(runs, index)
        if first != index:
            copies[index] = f"{_report_name(table)} = {_report_name(tables[first])}"
    return copies


def _report_name(table: Table) -> str:
    return f"{_label(table, MACHINE)} ({_suite(table)}, {_label(table, 'flags')})"
