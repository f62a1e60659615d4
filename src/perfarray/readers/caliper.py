"""Caliper profiles (`.cali`): a file is one execution of every region.

A region is a benchmark, labelled with its path. Profiles of several ranks have the shortest,
longest, mean and total time of a region over them; the longest is `time`, since a program waits for
its slowest rank. Other numbers stand beside the times.
"""

import io
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from perfarray.conventions import LOWER, SECONDS, TIME, seconds_factor
from perfarray.readers.entries import Entry, Run, amounts, table_of_entries, times
from perfarray.readers.numbers import value_of
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table

NAME = "caliper"
MAIN = (
    "max#inclusive#",
    "inclusive#",
    "max#",
    "",
    "sum#",
)  # Prefixes of the main time; the first that a file has counts
OVER_RANKS = {
    "min#": "time_min",
    "max#": "time_max",
    "avg#": "time_avg",
    "sum#": "time_sum",
}  # Names of the other times
GLOBALS = {
    "cluster": "machine",
    "launchdate": "date",
    "systype_build": "system_type",
}  # Others keep their names
LEFT_OUT = ("cali.", "spot.", "libraries")  # Prefixes of globals that say nothing of a measurement
DEEPEST = 200  # Most levels of the tree of contexts
OUTSIDE = "(outside of regions)"


Units = dict[str, str | None]  # Of each attribute of values, None where it has none

started = re.compile("__rec=").match


def recognise(source: Source) -> bool:
    """Return whether the first line is a record of Caliper."""
    return started(source.head) is not None


def read(source: Source) -> Table:
    """Read the regions: benchmark x execution x iteration."""
    records, global_values, units = _profile(source)
    time_units = {
        name: unit for name, unit in units.items() if _factor(unit) is not None and "time" in name
    }
    if not time_units:
        raise source.error("holds no time: no attribute of its values has a unit of time")
    main = next(
        (
            name
            for begin in MAIN
            for name in time_units
            if name.startswith((f"{begin}sum#time", f"{begin}time"))
        ),
        None,
    )
    names = {
        name: TIME if name == (main or next(iter(time_units))) else _variable(name)
        for name in time_units
    }
    entries = [_entry(source, index, record, units, names) for index, record in enumerate(records)]
    kinds = dict.fromkeys(sorted(names.values(), key=lambda name: name != TIME), (SECONDS, LOWER))
    file_metadata = {
        GLOBALS.get(key, key): value_of(str(value))
        for key, value in global_values.items()
        if not key.startswith(LEFT_OUT)
    }
    return table_of_entries(source, entries, kinds=kinds, file_metadata=file_metadata)


def _entry(
    source: Source, index: int, record: Mapping[str, Any], units: Units, names: Mapping[str, str]
) -> Entry:
    values, counters = {}, {}
    path = record.get("path") or ()
    label = "/".join(map(str, path)) or OUTSIDE
    for key in (key for key in record if key in units):
        location = f"record {index}: {key!r}"
        factor = _factor(units[key])
        if key in names and factor is not None:
            values[names[key]] = times(source, location, [record[key]], factor, benchmark=label)
        else:
            counters[key.rpartition("#")[2]] = amounts(source, location, [record[key]])
    texts = {
        key: text
        for key, text in record.items()
        if key not in units and isinstance(text, str) and text not in path
    }
    settings = {
        key: value_of(text) for key, text in texts.items() if key not in ("path", "spot.channel")
    }
    return Entry(label, [Run(values or {TIME: np.array([np.nan])}, counters)], settings)


def _variable(name: str) -> str:
    return next(
        (ours for begin, ours in OVER_RANKS.items() if name.startswith(begin)),
        name.replace("#", "_"),
    )


def _factor(unit: str | None) -> float | None:
    return None if unit is None else seconds_factor(unit)


def _profile(source: Source) -> tuple[list[dict[str, Any]], dict[str, Any], Units]:
    """Return records, globals and units by Caliper's reader, after the tree is checked."""
    try:
        from caliperreader import CaliperReader
        from caliperreader.readererror import ReaderError
    except ImportError as error:
        raise ImportError(
            "Caliper files are read with caliper-reader, which is not installed; install "
            "perfarray[io]"
        ) from error
    lines = [line for line in source.text.split("\n") if line.strip()]
    _check_tree(source, lines)
    reader = CaliperReader()
    try:
        reader.read(io.StringIO("\n".join(lines)))
        attributes = [reader.attribute(name) for name in reader.attributes()]
        units = {
            attribute.name(): attribute.metadata().get("attribute.unit")
            or ("ns" if attribute.name().endswith(".ns") else None)
            for attribute in attributes
            if attribute.is_value()
            and attribute.attribute_type() in ("int", "uint", "double")
            and not attribute.is_global()
        }
    except (
        ReaderError,
        StopIteration,
        LookupError,
        ValueError,
        AttributeError,
        TypeError,
    ) as error:
        raise source.error(
            f"is not Caliper's: {type(error).__name__}: {getattr(error, 'message', error)}"
        ) from error
    return reader.records, reader.globals, units


def _check_tree(source: Source, lines: Iterable[str]) -> None:
    """Raise unless each node follows its parent; Caliper's reader would never return."""
    depths = dict.fromkeys(range(12), 1)
    for number, line in enumerate(lines, 1):
        if not line.startswith("__rec=node,"):
            continue
        fields = dict(field.partition("=")[::2] for field in line.split(","))
        node, parent = (fields.get(name, "") for name in ("id", "parent"))
        if (
            not node.isdigit()
            or int(node) in depths
            or (parent and (not parent.isdigit() or int(parent) not in depths))
        ):
            raise source.error(
                f"line {number}: node {node[:20]!r} below {parent[:20]!r}: expected a new node "
                "below one that is there"
            )
        depths[int(node)] = 1 + (depths[int(parent)] if parent else 0)
        if depths[int(node)] > DEEPEST:
            raise source.error(f"line {number}: more than {DEEPEST} nodes lie one below another")
