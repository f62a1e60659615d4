"""Phoronix Test Suite (`composite.xml`): the numbers behind a mean are executions, systems a dim.

A unit is a variable: seconds are `time`, others are named as they are, with the direction the file gives. How often a test ran depends on
how much its runs varied. Results without runs, such as the time and size of an installation, are no measurements: they are counted.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from perfarray.conventions import HIGHER, LOWER, SECONDS, TIME, UNKNOWN, seconds_factor
from perfarray.readers.entries import Entry, Run, table_along
from perfarray.readers.markup import parsed
from perfarray.readers.names import variable_name
from perfarray.readers.numbers import checked
from perfarray.readers.opening import Source
from perfarray.tables.columns import Descriptor, Table

NAME = "phoronix"
SYSTEM = "system"  # The dim of what the suite compares: a machine, a configuration, a run of all

# Parts of the texts about a system to our coordinates
DESCRIPTIONS = {
    "Processor": "cpu",
    "Memory": "memory",
    "OS": "os",
    "Kernel": "kernel",
    "Compiler": "compiler",
    "File-System": "file_system",
}

INSTALLATION = ("Test Install Time", "Test Install Size")


def started(head: str) -> bool:
    """Return whether a broken file began as Phoronix'."""
    return "<PhoronixTestSuite" in head


def recognise(source: Source) -> bool:
    """Return whether the root is that of the test suite."""
    return source.head.lstrip().startswith("<") and started(source.head)


def read(source: Source) -> Table:
    """Read the runs: benchmark x system x execution x iteration."""
    root = parsed(source)
    results = root.findall("Result")
    kinds: dict[str, tuple[str, str]] = {}
    entries: dict[str, list[Entry]] = {}
    n_without_runs = 0
    for index, result in enumerate(results):
        name, settings, metadata = _identity(result)
        variable, factor = _variable(result, kinds)
        runs: dict[str, list[Run]] = {}
        for entry in result.iterfind("Data/Entry"):
            texts = [text for text in _text(entry, "RawString").split(":") if text.strip()]
            if not texts or _text(result, "Description") in INSTALLATION:
                n_without_runs += 1
                continue
            values = checked(texts, _locate(index, name), source, above_zero=variable == TIME) * factor
            runs.setdefault(_text(entry, "Identifier") or UNKNOWN, []).extend(Run({variable: np.array([value])}) for value in values)
        for system, system_runs in runs.items():
            entries.setdefault(system, []).append(Entry(name, system_runs, settings, metadata))
    kinds = dict(sorted(kinds.items(), key=lambda kind: kind[0] != TIME))
    described = {_text(system, "Identifier"): system for system in root.findall("System")}
    table = table_along(source, SYSTEM, entries, kinds, _descriptors(described, entries))
    return replace(table, counts={"n_without_runs": n_without_runs})


def _locate(index: int, name: str) -> Any:
    return lambda run: f"Result {index} ({name[:60]!r}): run {run}"


def _text(element: Any, tag: str) -> str:
    """Return the text of a part, without blanks around it."""
    return (element.findtext(tag) or "").strip()


def _identity(result: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return what a test is called, the arguments that may tell it from others, and what else is known of it."""
    title, description = _text(result, "Title"), _text(result, "Description")
    metadata = {"profile": _text(result, "Identifier") or None, "app_version": _text(result, "AppVersion") or None}
    return f"{title}: {description}" if description else title, {"arguments": _text(result, "Arguments") or None}, metadata


def _variable(result: Any, kinds: dict[str, tuple[str, str]]) -> tuple[str, float]:
    """Return the variable of a result and its factor; a unit that is better in both directions is two variables."""
    scale = _text(result, "Scale")
    better = HIGHER if _text(result, "Proportion") == "HIB" else LOWER
    factor = seconds_factor(scale.lower()) if better == LOWER else None
    name, kind = (TIME, (SECONDS, LOWER)) if factor is not None else (variable_name(scale or "score", "scale_"), (scale or "1", better))
    if kinds.setdefault(name, kind) != kind:
        name = f"{name} ({better})"
        kinds[name] = kind
    return name, 1.0 if factor is None else factor


def _descriptors(systems: dict[str, Any], labels: Iterable[str]) -> dict[str, Descriptor]:
    """Return what is known of the systems, along `system`."""
    values_by_name: dict[str, dict[tuple[Any, ...], Any]] = {}
    for label in labels:
        if label in systems:
            texts = _components(_text(systems[label], "Hardware")) | _components(_text(systems[label], "Software"))
            texts |= {"TimeStamp": _text(systems[label], "TimeStamp")}
            for key, name in {**DESCRIPTIONS, "TimeStamp": "date"}.items():
                if texts.get(key):
                    values_by_name.setdefault(name, {})[(label,)] = texts[key]
    return {name: Descriptor(dims=(SYSTEM,), values=values) for name, values in values_by_name.items()}


def _components(text: str) -> dict[str, str]:
    """Split `Processor: A, 4 cores, Memory: 8GB` at its names; a piece without one goes on with what is before it."""
    pieces_by_name: dict[str, list[str]] = {}
    name = ""
    for piece in text.split(", "):
        prefix, colon, remainder = piece.partition(": ")
        if colon:
            name, piece = prefix, remainder
        pieces_by_name.setdefault(name, []).append(piece)
    return {name: ", ".join(pieces) for name, pieces in pieces_by_name.items()}
