"""Google Benchmark's CSV (`--benchmark_format=csv`), under the keys that its JSON has.

Lines that describe the machine may precede it.
"""

import re
from collections.abc import Set
from typing import Any

from perfarray.readers.csv_rows import csv_rows
from perfarray.readers.entries import SHOWN
from perfarray.readers.numbers import number, value_of
from perfarray.readers.opening import Source

HEADER = re.compile(r'^"?name"?,"?iterations"?,"?real_time"?,"?cpu_time"?,"?time_unit"?', re.M)
CPUS = re.compile(r"^Run on \((\d{1,9}) X (\d{1,9}(?:\.\d{1,9})?) MHz CPU", re.M)
CACHE = re.compile(r"^ +L(\d) (\w+) (\d{1,9}) ?(K(?:iB)?|M(?:iB)?)\b", re.M)
KIB = 1024
TEXTS = ("name", "time_unit", "label", "error_message")
NUMBERS = ("iterations", "real_time", "cpu_time")
AGGREGATES = ("mean", "median", "stddev", "cv")
COMPLEXITY = ("_BigO", "_RMS")  # Rows of a fitted complexity, which no repetition has

Row = dict[str, Any]


def recognise(source: Source) -> bool:
    """Return whether the header is that of Google Benchmark."""
    return not source.looks_like_json and HEADER.search(source.head) is not None


def content_of_csv(source: Source) -> dict[str, Any]:
    """Return what the JSON of the same run has: the context and the benchmarks."""
    match = HEADER.search(source.text)
    start = match.start() if match else 0
    benchmarks = [
        _row(source, location, cells) for location, cells in csv_rows(source, start=start)
    ]
    names = {row["name"] for row in benchmarks}
    benchmarks = [row | _aggregate(row["name"], names) for row in benchmarks]
    return {"context": _context(source.text[:start]), "benchmarks": benchmarks}


def _aggregate(name: str, names: Set[str]) -> Row:
    """Return the keys by which JSON tells a summary of repetitions.

    Nothing for a benchmark that is only called like one.
    """
    run_name, _, kind = name.rpartition("_")
    if kind not in AGGREGATES or (
        run_name not in names and not {f"{run_name}_mean", f"{run_name}_median"} <= names
    ):
        return {}
    return {"run_type": "aggregate", "aggregate_name": kind, "run_name": run_name}


def _row(source: Source, location: str, cells: dict[str, str]) -> Row:
    """Return one row; what has no time failed."""
    row: Row = {
        key: text if key in TEXTS else value_of(text) for key, text in cells.items() if text
    }
    row.setdefault("name", "")
    if row["name"].endswith(COMPLEXITY) and "iterations" not in row:
        return {"name": row["name"], "run_type": "aggregate"}
    if row.pop("error_occurred", "false") == "true":
        return row | {"error_occurred": True}
    values = {key: number(cells.get(key, "")) for key in NUMBERS}
    invalid_keys = [key for key, value in values.items() if value is None or value < 0]
    if invalid_keys:
        text = cells.get(invalid_keys[0], "")[:SHOWN]
        source.failures.append(f"{location}: {row['name'][:SHOWN]}: {invalid_keys[0]} is {text!r}")
        return row | {"error_occurred": True}
    return row


def _context(text: str) -> dict[str, Any]:
    """Return what the lines above the header say of the machine."""
    cpus = CPUS.search(text)
    context: dict[str, Any] = (
        {"num_cpus": int(cpus[1]), "mhz_per_cpu": value_of(cpus[2])} if cpus else {}
    )
    caches = [
        {
            "level": int(level),
            "type": kind,
            "size": int(size) * KIB * (KIB if unit.startswith("M") else 1),
        }
        for level, kind, size, unit in CACHE.findall(text)
    ]
    return context | {"caches": caches}
