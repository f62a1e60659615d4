"""MLPerf training logs: a file is one execution, its time that from `run_start` to `run_stop`.

A run that missed its target failed.

Lines are `:::MLPv0.5.0 <benchmark> <seconds> (...) run_stop: {"success": true}`, `:::MLL <seconds>
run_stop: {...}` from 0.6, or `:::MLLOG {...}` from 0.7 on. The machine is in `entry.json`, in the
folder of the log or above, and the number of the run in the name of the file.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import BENCHMARK, EXECUTION, MACHINE, TIME, UNKNOWN
from perfarray.readers import labels
from perfarray.readers.entries import FAILED, Entry, Run, renamed, table_of_entries
from perfarray.readers.numbers import checked
from perfarray.readers.opening import FileError, Source, json_object
from perfarray.tables.columns import Table, constant_column

NAME = "mlperf"
ANYWHERE = True  # Its lines may come late in a file, after what else was printed
PLACED = True
BESIDE = ("entry.json",)
START, STOP, SUBMISSION = "run_start", "run_stop", "submission_benchmark"
# A line up to version 0.5, and of version 0.6
OLD = re.compile(
    r":::MLPv(?P<version>[\d.]+)[ ](?P<name>\S+)[ ](?P<at>\S+)[ ]\([^()]*\)[ ](?P<key>\w+)"
    r"(?::[ ](?P<value>.*))?$",
    re.A,
)
MIDDLE = re.compile(r":::MLL[ ](?P<at>\S+)[ ](?P<key>\w+):[ ](?P<value>.*)$", re.A)
NEW = ":::MLLOG "
# `entry.json` and its first kind of node to our coordinates
SYSTEM = {
    "division": "division",
    "status": "status",
    "hardware": "hardware",
    "framework": "framework",
    "os": "os",
    "libraries": "libraries",
    "compilers": "compiler",
    "interconnect": "interconnect",
}
NODE = {
    "num_nodes": "nodes",
    "cpu": "cpu",
    "num_cores": "cores",
    "num_vcpus": "logical_cores",
    "sys_mem_size": "memory_gb",
    "accelerator": "accelerator",
    "num_accelerators": "accelerators",
}
EMPTY = (0, "", "N/A", None)  # Values of `entry.json` that mean unknown


class Event(NamedTuple):
    """A start or end: key, benchmark if stated, time as written, outcome, location."""

    key: str
    name: str | None
    at: str
    success: Any
    location: str


started = re.compile(":::MLPv|:::MLL").search


def recognise(source: Source) -> bool:
    """Return whether a line logs the start of a run."""
    return (
        not source.looks_like_json
        and ":::ML" in source.text
        and any(event.key == START for event in _events(source))
    )


def read(source: Source) -> Table:
    """Read the time to train: benchmark x machine x execution x iteration."""
    events = _events(source)
    start = next((event for event in events if event.key == START), None)
    if start is None:
        raise source.error(f"logs no {START!r}")
    stop = next((event for event in reversed(events) if event.key == STOP), None)
    system, file_metadata = _system(source)
    name = (
        start.name
        or next((event.name for event in events if event.name), None)
        or source.path.absolute().parent.name
    )
    table = table_of_entries(
        source, [Entry(name, [_run(source, start, stop)])], file_metadata=file_metadata
    )
    machine = constant_column(system or UNKNOWN, len(table))
    return replace(
        table,
        labels=table.labels | {MACHINE: machine},
        level_names={EXECUTION: source.path.name.partition(".")[0]},
    )


def agree(tables: Sequence[Table]) -> list[Table]:
    """Number the runs of a benchmark on a machine as their files do."""
    from natsort import natsorted

    keys = [
        (table.labels[BENCHMARK].labels[0], table.labels[MACHINE].labels[0]) for table in tables
    ]
    names: dict[tuple[str, str], set[str]] = {}
    for key, table in zip(keys, tables, strict=True):
        names.setdefault(key, set()).add(table.level_names[EXECUTION])
    numbers = {
        key: {name: number for number, name in enumerate(natsorted(run_names))}
        for key, run_names in names.items()
    }
    return [
        replace(
            table,
            levels=table.levels
            | {EXECUTION: table.levels[EXECUTION] + numbers[key][table.level_names[EXECUTION]]},
        )
        for key, table in zip(keys, labels.agree(tables), strict=True)
    ]


def _run(source: Source, start: Event, stop: Event | None) -> Run:
    """Return the one run; it failed if the log does not end or its target was not reached."""
    if stop is None:
        source.note("no_end", f"logs no {STOP!r}: the run counts as failed")
        return FAILED
    if str(stop.success).lower() in ("false", "aborted"):
        return FAILED
    if stop.success is None:
        source.note(
            "success_not_stated",
            f"{stop.location} does not say whether the run reached its target. The run counts as "
            "a success.",
        )
    start_seconds, stop_seconds = (
        float(
            checked(
                [event.at],
                lambda _, event=event: f"{event.location}: the time of {event.key!r}",  # type: ignore[misc]
                source,
            )[0]
        )
        for event in (start, stop)
    )
    if not stop_seconds > start_seconds:
        raise source.error(
            f"{stop.location}: the run ends at {stop.at[:30]}, and begins at {start.at[:30]}"
        )
    return Run({TIME: np.array([stop_seconds - start_seconds])})


def _events(source: Source) -> list[Event]:
    events = []
    for number, line in enumerate(source.text.split("\n"), 1):
        offset = line.find(":::ML")
        if offset >= 0 and any(key in line for key in (START, STOP, SUBMISSION)):
            event = _event(line[offset:], f"line {number}")
            events += [event] if event is not None else []
    return events


def _event(line: str, location: str) -> Event | None:
    """Read one line of any version; None where it is about something else."""
    if line.startswith(NEW):
        content = json_object(line.removeprefix(NEW))
        key, milliseconds = str(content.get("key")), content.get("time_ms")
        name = str(content.get("value")) if key == SUBMISSION else None
        seconds = (
            repr(milliseconds / 1000)
            if isinstance(milliseconds, int | float)
            else str(milliseconds)
        )
        return (
            Event(key, name, seconds, _status(content), location)
            if key in (START, STOP, SUBMISSION)
            else None
        )
    match = OLD.match(line) or MIDDLE.match(line)
    if match is None or match["key"] not in (START, STOP):
        return None
    content = json_object(match["value"] or "")
    return Event(
        match["key"],
        match.groupdict().get("name"),
        match["at"],
        content.get("success", _status(content)),
        location,
    )


def _status(content: dict[str, Any]) -> Any:
    metadata = content.get("metadata")
    return metadata.get("status") if isinstance(metadata, dict) else None


def _system(source: Source) -> tuple[str | None, dict[str, Any]]:
    sibling = source.beside("entry.json") or source.beside("../entry.json")
    if sibling is None:
        return None, {}
    try:
        content = sibling.json
    except FileError as error:
        raise source.error(f"its machine cannot be read: {error}") from error
    if not isinstance(content, dict):
        return None, {}
    nodes = content.get("nodes")
    node = nodes[0] if isinstance(nodes, list) and nodes and isinstance(nodes[0], dict) else {}
    file_metadata = renamed((content, SYSTEM), (node, NODE), missing=EMPTY)
    return str(
        file_metadata["hardware"]
    ) if "hardware" in file_metadata else sibling.path.absolute().parent.name, file_metadata
