"""Vitest's benchmark JSON (up to version 1) and tinybench's: samples are iterations.

Times are in milliseconds. tinybench sorts its samples: their order in time is lost, so that drift
and dependence cannot be seen. From Vitest 2 on files have no samples, and the mean is the one value
of the execution. A benchmark that threw has no mean either: it failed.
"""

from collections.abc import Iterator
from typing import Any

from perfarray.conventions import LOOPS, TIME
from perfarray.readers.entries import (
    FAILED,
    SHOWN,
    Entry,
    Run,
    amounts,
    note_means,
    table_of_entries,
    times,
)
from perfarray.readers.opening import Source
from perfarray.readers.shapes import TEXT, Either, has_keys
from perfarray.tables.columns import Table

NAME = "vitest"
MILLISECOND = 1e-3
MARKS = (
    {"totalTime", "period"},
    {"samples", "hz"},
    {"samples", "rme"},
)  # Keys by which results of tinybench are known
RESULT = {"name": TEXT, "latency?": {}, "result?": {"latency?": {}}}
SHAPE = Either(
    {"testResults": {...: [RESULT]}},
    {"files": [{"groups": [{"fullName": TEXT, "benchmarks": [RESULT]}]}]},
    [RESULT],
)
REMEDY = (
    "Vitest writes samples up to version 1, and tinybench does; else write a file for each of "
    "several runs"
)

started = has_keys("rme|hz", "totalTime|samples")


def recognise(source: Source) -> bool:
    """Return whether the content is tinybench's: by file and group, by group, or a list."""
    try:
        return any(
            result.keys() >= marks for _, result in _results(source.json_or_none) for marks in MARKS
        )
    except (AttributeError, KeyError, TypeError):
        return False


def read(source: Source) -> Table:
    """Read the samples: benchmark x execution x iteration."""
    entries = [_entry(source, group, result) for group, result in _results(source.json)]
    note_means(
        source, sum(LOOPS in run.counters for entry in entries for run in entry.runs), REMEDY
    )
    return table_of_entries(source, entries)


def _results(content: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the group and the result of each benchmark.

    Tinybench from version 3 on has times in its `latency`.
    """
    groups: list[tuple[str, Any]] = [("", content)]
    if isinstance(content, dict) and "files" in content:
        groups = [
            (group["fullName"], group["benchmarks"])
            for file in content["files"]
            for group in file["groups"]
        ]
    elif isinstance(content, dict):
        groups = list(content["testResults"].items())
    for group, rows in groups:
        for row in rows:
            result = row.get("result") or row
            yield group, {**result, **(result.get("latency") or {}), "name": row["name"]}


def _entry(source: Source, group: str, result: dict[str, Any]) -> Entry:
    """Return one benchmark, with its mean where Vitest wrote no samples."""
    location = f"benchmark {result['name'][:SHOWN]!r}"
    samples = result["samples"] if isinstance(result.get("samples"), list) else []
    if (error := result.get("error")) is not None or (not samples and result.get("mean") is None):
        message = error.get("message") if isinstance(error, dict) else error
        reason = (
            message
            or result.get("state")
            or ("it has no mean" if error is None else "it threw an error")
        )
        source.failures.append(f"{result['name'][:SHOWN]}: {str(reason)[:SHOWN]}")
        run = FAILED
    elif samples:
        run = Run({TIME: times(source, f"{location}: 'samples'", samples, MILLISECOND)})
    else:
        values = {TIME: times(source, f"{location}: 'mean'", [result["mean"]], MILLISECOND)}
        run = Run(
            values,
            {
                LOOPS: amounts(
                    source,
                    f"{location}: 'sampleCount'",
                    [result.get("sampleCount", 1)],
                    above_zero=True,
                )
            },
        )
    return Entry(result["name"], [run], {"group": group or None})
