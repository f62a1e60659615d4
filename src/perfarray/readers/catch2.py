"""Catch2's benchmarks (`--reporter xml`): a file is an execution, whose one value is the mean, since no reporter of it writes samples.

Times are in nanoseconds; `loops` is the number of iterations of all samples. A benchmark that threw an exception failed.
"""

import re
from typing import Any

from perfarray.conventions import LOOPS, TIME
from perfarray.readers.entries import FAILED, Entry, Run, amounts, note_means, table_of_entries, times
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table

NAME = "catch2"
NANOSECOND = 1e-9
REMEDY = "Catch2 writes no samples: run the program several times, with a file for each, as layout='{execution}.xml' reads them"

started = re.compile(r"<Catch2?(?:TestRun)?[\s>]").search


def recognise(source: Source) -> bool:
    """Return whether the root is that of a run of tests, and benchmarks are in it."""
    return source.head.lstrip().startswith("<") and started(source.head) is not None and "<BenchmarkResults" in source.text


def read(source: Source) -> Table:
    """Read the means: benchmark x execution x iteration."""
    cases = [(case.get("name", ""), case) for case in source.xml().iter("TestCase")]
    entries = [_entry(source, name, benchmark) for name, case in cases for benchmark in case.iter("BenchmarkResults")]
    note_means(source, sum(entry.runs[0] is not FAILED for entry in entries), REMEDY)
    return table_of_entries(source, entries)


def _entry(source: Source, test_case: str, benchmark: Any) -> Entry:
    name = benchmark.get("name", "")
    mean, failure = benchmark.find("mean"), benchmark.find("failed")
    location = f"benchmark {name[:60]!r}"
    if mean is None and failure is None:
        raise source.error(f"{location} of test case {test_case[:60]!r} has no mean")
    settings = {"test_case": test_case}
    if mean is None:
        return Entry(name, [FAILED], settings, {"error_message": failure.get("message")})
    loops = [amounts(source, f"{location}: {key!r}", [benchmark.get(key, "1")], above_zero=True) for key in ("samples", "iterations")]
    values = {TIME: times(source, f"{location}: mean", [mean.get("value", "")], NANOSECOND)}
    return Entry(name, [Run(values, {LOOPS: loops[0] * loops[1]})], settings)
