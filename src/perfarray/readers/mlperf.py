"""MLPerf training logs: a file is one execution, its time that from `run_start` to `run_stop`; a run that missed its target failed.

Lines are `:::MLPv0.5.0 <benchmark> <seconds> (...) run_stop: {"success": true}`, `:::MLL <seconds> run_stop: {...}` from 0.6, or
`:::MLLOG {...}` from 0.7 on. The machine is in `entry.json`, in the folder of the log or above, and the number of the run in the name of
the file.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import BENCHMARK, EXECUTION, MACHINE, TIME, UNKNOWN
from perfarray.readers import entries
from perfarray.readers.entries import FAILED, Entry, Run, table_of_entries
from perfarray.readers.numbers import checked
from perfarray.readers.opening import FileError, Source
from perfarray.tables.columns import Table, constant_column

NAME = "mlperf"
ANYWHERE = True  # Its lines may come late in a file, after what else was printed
PLACED = True
BESIDE = ("entry.json",)
START, STOP = "run_start", "run_stop"
LINE = re.compile(r":::MLPv(?P<version>[\d.]+)[ ](?P<name>\S+)[ ](?P<at>\S+)[ ]\([^()]*\)[ ](?P<key>\w+)(?::[ ](?P<value>.*))?$", re.A)
MIDDLE = re.compile(r":::MLL[ ](?P<at>\S+)[ ](?P<key>\w+):[ ](?P<value>.*)$", re.A)  # A line up to version 0.5, and of version 0.6

SYSTEM = {"division": "division", "status": "status", "hardware": "hardware", "framework": "framework", "os": "os",
          "libraries": "libraries", "compilers": "compiler", "interconnect": "interconnect"}  # fmt: skip
# `entry.json` and its first kind of node to our coordinates
NODE = {"num_nodes": "nodes", "cpu": "cpu", "num_cores": "cores", "num_vcpus": "logical_cores", "sys_mem_size": "memory_gb",
        "accelerator": "accelerator", "num_accelerators": "accelerators"}  # fmt: skip

EMPTY = (0, "", "N/A", None)  # How `entry.json` writes what it does not say


class Event(NamedTuple):
    """One line about the start or the end: what, of which benchmark (None: not said), when, in the file's text; with what outcome."""

    key: str
    name: str | None
    at: str
    success: Any
    location: str


def started(head: str) -> bool:
    """Return whether a broken file began as a log of MLPerf."""
    return ":::MLPv" in head or ":::MLL" in head


def recognise(source: Source) -> bool:
    """Return whether a line logs the start of a run."""
    return not source.looks_like_json and ":::ML" in source.text and any(event.key == START for event in _events(source))


def read(source: Source) -> Table:
    """Read the time to train: benchmark x machine x execution x iteration."""
    events = _events(source)
    start = next((event for event in events if event.key == START), None)
    if start is None:
        raise source.error(f"logs no {START!r}")
    stop = next((event for event in reversed(events) if event.key == STOP), None)
    system, about = _system(source)
    name = start.name or next((event.name for event in events if event.name), None) or source.path.absolute().parent.name
    table = table_of_entries(source, [Entry(name, [_run(source, start, stop)])], about=about)
    machine = constant_column(system or UNKNOWN, len(table))
    return replace(table, labels=table.labels | {MACHINE: machine}, level_names={EXECUTION: source.path.name.partition(".")[0]})


def agree(tables: Sequence[Table]) -> list[Table]:
    """Number the runs of a benchmark on a machine as their files do."""
    from natsort import natsorted

    file_labels = [(*(table.labels[dim].labels[0] for dim in (BENCHMARK, MACHINE)),) for table in tables]
    names: dict[Any, set[str]] = {}
    for labels, table in zip(file_labels, tables, strict=True):
        names.setdefault(labels, set()).add(table.level_names[EXECUTION])
    numbers = {labels: {name: number for number, name in enumerate(natsorted(run_names))} for labels, run_names in names.items()}
    return [
        replace(table, levels=table.levels | {EXECUTION: table.levels[EXECUTION] + numbers[labels][table.level_names[EXECUTION]]})
        for labels, table in zip(file_labels, entries.agree(tables), strict=True)
    ]


def _run(source: Source, start: Event, stop: Event | None) -> Run:
    """Return the one run; a log that does not end, or whose target was not reached, is one of a run that failed."""
    if stop is None:
        source.note("no_end", f"logs no {STOP!r}: the run counts as failed")
        return FAILED
    if str(stop.success).lower() in ("false", "aborted"):
        return FAILED
    if stop.success is None:
        source.note("success_not_stated", f"{stop.location} does not say whether the run reached its target; it is taken to have")
    start_seconds, stop_seconds = (
        float(checked([event.at], lambda _, event=event: f"{event.location}: the time of {event.key!r}", source)[0])  # type: ignore[misc]
        for event in (start, stop)
    )
    if not stop_seconds > start_seconds:
        raise source.error(f"{stop.location}: the run ends at {stop.at[:30]}, and begins at {start.at[:30]}")
    return Run({TIME: np.array([stop_seconds - start_seconds])})


def _events(source: Source) -> list[Event]:
    """Return what is logged of start and end, and who logs it."""
    events = []
    for number, line in enumerate(source.text.split("\n"), 1):
        offset = line.find(":::ML")
        if offset >= 0 and (START in line or STOP in line or "submission_benchmark" in line):
            event = _event(line[offset:], f"line {number}")
            events += [event] if event is not None else []
    return events


def _event(line: str, location: str) -> Event | None:
    """Read one line of any version; None where it is about something else."""
    if line.startswith(":::MLLOG "):
        stated = _json(line.removeprefix(":::MLLOG "))
        key, metadata = str(stated.get("key")), stated.get("metadata")
        outcome = metadata.get("status") if isinstance(metadata, dict) else None
        name = str(stated.get("value")) if key == "submission_benchmark" else None
        milliseconds = stated.get("time_ms")
        seconds = repr(milliseconds / 1000) if isinstance(milliseconds, int | float) else str(milliseconds)
        return Event(key, name, seconds, outcome, location) if key in (START, STOP, "submission_benchmark") else None
    match = LINE.match(line) or MIDDLE.match(line)
    if match is None or match["key"] not in (START, STOP):
        return None
    stated = _json(match["value"] or "")
    metadata = stated.get("metadata")
    outcome = stated.get("success", metadata.get("status") if isinstance(metadata, dict) else None)
    return Event(match["key"], match.groupdict().get("name"), match["at"], outcome, location)


def _json(text: str) -> dict[str, Any]:
    """Return what a line says as an object, or nothing."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _system(source: Source) -> tuple[str | None, dict[str, Any]]:
    """Return what the machine is called, and what is known of it."""
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
    tables = ((content, SYSTEM), (node, NODE))
    about = {name: stated[key] for stated, field_names in tables for key, name in field_names.items() if stated.get(key) not in EMPTY}
    return str(about["hardware"]) if "hardware" in about else sibling.path.absolute().parent.name, about
