"""Renaissance harness JSON and CSV: a JVM is an execution.

Results are iterations, warm-up among them and not marked.

A file of JSON is one JVM. Rows of CSV (`--csv`) state when theirs started, so that files that were
put together are several.
"""

from collections.abc import Collection
from typing import Any

import numpy as np

from perfarray.conventions import TIME
from perfarray.numerics.types import Floats
from perfarray.readers.csv_rows import CsvRow, csv_rows, header
from perfarray.readers.entries import (
    FAILED,
    Entry,
    Run,
    amount_or_nan,
    amounts,
    columns_by_name,
    renamed,
    table_of_entries,
    times,
)
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, NUMBER, Either, has_keys
from perfarray.tables.columns import Table

NAME = "renaissance"
DURATIONS = (
    "duration_ns",
    "nanos",
)  # Time of a repetition from version 2 of the format on, and before
START = "vm_start_unix_ms"
STAMPS = ("uptime_ns", "unixts.before", "unixts.after", START)
# `environment` to our coordinates
VM = {
    "name": "vm",
    "version": "vm_version",
    "vm_version": "vm_version",
    "jre_version": "jre_version",
    "mode": "vm_mode",
}
OS = {
    "name": "os",
    "version": "os_release",
    "arch": "architecture",
    "available_processors": "logical_cores",
}
RESULTS = {...: Either([{}], {"results": [{}]})}
ENVIRONMENT = {"vm?": {}, "os?": {"phys_mem_total?": NUMBER}}
SHAPE = {
    "format_version": ANY,
    "benchmarks": ANY,
    "data|results": ANY,
    "data?": RESULTS,
    "results?": RESULTS,
    "environment?": ENVIRONMENT,
}

started = has_keys("duration_ns|unixts.before")


def recognise(source: Source) -> bool:
    """Return whether the content is results of the harness, or CSV of them."""
    if _is_csv(source):
        return True
    return "format_version" in source.json_object and _results(source.json_object) is not None


def _is_csv(source: Source) -> bool:
    columns = header(source.head)
    return (
        columns[:1] == ["benchmark"]
        and not set(DURATIONS).isdisjoint(columns)
        and not set(STAMPS).isdisjoint(columns)
    )


def _results(content: dict[str, Any]) -> dict[str, Any] | None:
    results = content.get("data", content.get("results"))
    return results if isinstance(results, dict) and "benchmarks" in content else None


def read(source: Source) -> Table:
    """Read the durations: benchmark x execution x iteration."""
    if _is_csv(source):
        return table_of_entries(source, _entries_of_csv(source))
    content = source.json
    environment = content.get("environment") or {}
    system = environment.get("os") or {}
    file_metadata = renamed((environment.get("vm") or {}, VM), (system, OS))
    if isinstance(system.get("phys_mem_total"), int | float):
        file_metadata["memory_gb"] = system["phys_mem_total"] / 2**30
    results = _results(content) or {}
    return table_of_entries(
        source,
        [_entry(source, name, result) for name, result in results.items()],
        file_metadata=file_metadata,
    )


def _entry(source: Source, name: str, result: Any) -> Entry:
    """Return one benchmark; other numbers of a repetition are counters."""
    results = result["results"] if isinstance(result, dict) else result
    metadata = {"termination": result.get("termination")} if isinstance(result, dict) else {}
    if not results:
        return Entry(name, [FAILED], metadata=metadata)
    duration = next((key for key in DURATIONS if key in results[0]), DURATIONS[0])
    values = times(
        source, f"{name!r}: {duration!r}", [result.get(duration) for result in results], 1e-9
    )
    counters = {}
    for key, (rows, counts) in columns_by_name(source, results).items():
        if key not in (*DURATIONS, *STAMPS):
            counters[key] = np.full(len(results), np.nan)
            counters[key][rows] = amounts(source, f"{name!r}: {key!r}", counts)
    return Entry(name, [Run({TIME: values}, counters)], metadata=metadata)


def _entries_of_csv(source: Source) -> list[Entry]:
    """Return the benchmarks of CSV, each with its JVMs.

    A cell that is no number was not measured.
    """
    rows_by_benchmark: dict[str, dict[str, list[CsvRow]]] = {}
    for row in csv_rows(source):
        rows_by_benchmark.setdefault(row.cells["benchmark"], {}).setdefault(
            row.cells.get(START, ""), []
        ).append(row)
    return [
        Entry(name, [_run_of_rows(source, rows) for rows in jvms.values()])
        for name, jvms in rows_by_benchmark.items()
    ]


def _run_of_rows(source: Source, rows: list[CsvRow]) -> Run:
    """Return one JVM; the harness writes NA where a counter has no value."""

    def numbers(key: str, missing: Collection[str] = ()) -> Floats:
        cells = [(f"{row.location}: {row.cells['benchmark']}", row.cells[key]) for row in rows]
        return np.array(
            [
                np.nan if text in missing else amount_or_nan(source, name, key, text)
                for name, text in cells
            ]
        )

    keys = list(rows[0].cells)
    duration = next(key for key in DURATIONS if key in keys)
    counters = {
        key: numbers(key, ("NA", ""))
        for key in keys
        if key not in ("benchmark", *DURATIONS, *STAMPS)
    }
    return Run({TIME: numbers(duration) * 1e-9}, counters)
