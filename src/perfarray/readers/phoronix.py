"""Phoronix Test Suite (`composite.xml`): the numbers behind a mean are executions, systems a dim.

A unit is a variable: seconds are `time`, others are named as they are, with the direction the file
gives. How often a test ran depends on how much its runs varied. Results without runs, such as the
time and size of an installation, are no measurements: they are counted.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from perfarray.conventions import HIGHER, LOWER, SECONDS, TIME, UNKNOWN, seconds_factor
from perfarray.readers.entries import Entry, Run, amounts, renamed, table_along
from perfarray.readers.labels import variable_name
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table

NAME = "phoronix"
SYSTEM = "system"  # The dim of what the suite compares: a machine, a configuration, a run of all
# Components of the texts about a system to our coordinates
DESCRIPTIONS = {
    "Processor": "cpu",
    "Motherboard": "motherboard",
    "Memory": "memory",
    "Disk": "disk",
    "Graphics": "graphics",
    "OS": "os",
    "Kernel": "kernel",
    "Compiler": "compiler",
    "File-System": "file_system",
    "System Layer": "system_layer",
    "TimeStamp": "date",
}
INSTALLATION = ("Test Install Time", "Test Install Size")

started = re.compile("<PhoronixTestSuite").search


def recognise(source: Source) -> bool:
    """Return whether the root is that of the test suite."""
    return source.head.lstrip().startswith("<") and started(source.head) is not None


def read(source: Source) -> Table:
    """Read the runs: benchmark x system x execution x iteration."""
    root = source.xml()
    kinds: dict[str, tuple[str, str]] = {}
    entries: dict[str, list[Entry]] = {}
    n_without_runs = 0
    for index, result in enumerate(root.findall("Result")):
        title, description = _text(result, "Title"), _text(result, "Description")
        name = f"{title}: {description}" if description else title
        settings = {"arguments": _text(result, "Arguments") or None}
        metadata = {
            "profile": _text(result, "Identifier") or None,
            "app_version": _text(result, "AppVersion") or None,
        }
        variable, factor = _variable(result, kinds)
        runs: dict[str, list[Run]] = {}
        for entry in result.iterfind("Data/Entry"):
            texts = [text for text in _text(entry, "RawString").split(":") if text.strip()]
            if not texts or description in INSTALLATION:
                n_without_runs += 1
                continue
            values = (
                amounts(source, _locate(index, name), texts, from_zero=variable == TIME) * factor
            )
            runs.setdefault(_text(entry, "Identifier") or UNKNOWN, []).extend(
                Run({variable: np.array([value])}) for value in values
            )
        for system, system_runs in runs.items():
            entries.setdefault(system, []).append(Entry(name, system_runs, settings, metadata))
    kinds = dict(sorted(kinds.items(), key=lambda kind: kind[0] != TIME))
    elements = {_text(system, "Identifier"): system for system in root.findall("System")}
    table = table_along(
        source,
        SYSTEM,
        entries,
        kinds,
        {label: _about(elements[label]) for label in entries if label in elements},
    )
    return replace(table, counts={"n_without_runs": n_without_runs})


def _locate(index: int, name: str) -> Callable[[int], str]:
    return lambda run: f"Result {index} ({name[:60]!r}): run {run}"


def _text(element: Any, tag: str) -> str:
    return (element.findtext(tag) or "").strip()


def _variable(result: Any, kinds: dict[str, tuple[str, str]]) -> tuple[str, float]:
    """Return the variable of a result and its factor.

    A unit that is better in both directions is two variables.
    """
    scale = _text(result, "Scale")
    better = HIGHER if _text(result, "Proportion") == "HIB" else LOWER
    factor = seconds_factor(scale.lower()) if better == LOWER else None
    name, kind = (
        (TIME, (SECONDS, LOWER))
        if factor is not None
        else (variable_name(scale or "score", "scale_"), (scale or "1", better))
    )
    if kinds.setdefault(name, kind) != kind:
        name = f"{name} ({better})"
        kinds[name] = kind
    return name, 1.0 if factor is None else factor


def _about(system: Any) -> dict[str, str]:
    texts = (
        _components(_text(system, "Hardware"))
        | _components(_text(system, "Software"))
        | {"TimeStamp": _text(system, "TimeStamp")}
    )
    return renamed((texts, DESCRIPTIONS), missing=("",))


def _components(text: str) -> dict[str, str]:
    """Split `Processor: A, 4 cores, Memory: 8GB` at its names.

    A piece without a name belongs to the one before it.
    """
    pieces_by_name: dict[str, list[str]] = {}
    name = ""
    for piece in text.split(", "):
        prefix, colon, remainder = piece.partition(": ")
        if colon:
            name, piece = prefix, remainder
        pieces_by_name.setdefault(name, []).append(piece)
    return {name: ", ".join(pieces) for name, pieces in pieces_by_name.items()}
