"""Catch2's benchmarks (`--reporter xml`): a file is one execution, and a benchmark one mean.

Times are in nanoseconds; `loops` is the number of iterations of all samples. A benchmark that threw
an exception failed, and so did one whose mean is no number. Sections are part of the label. What
the program printed around the XML is passed over.
"""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from perfarray.conventions import LOOPS, TIME
from perfarray.readers.entries import (
    FAILED,
    Entry,
    Run,
    amounts,
    note_means,
    table_of_entries,
    times,
)
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table

NAME = "catch2"
ANYWHERE = True  # The program may print before the XML
NANOSECOND = 1e-9
REMEDY = (
    "Catch2 writes no samples: run the program several times, with a file for each, as "
    "layout='{execution}.xml' reads them"
)
IDENTITY = frozenset(
    {"section"}
)  # Settings that are always in the label: another section is another benchmark

ROOT = re.compile(r"(?:<\?xml[^<>]*>\s*)?<(Catch2?(?:TestRun)?)[\s>]")

started = ROOT.search


def recognise(source: Source) -> bool:
    """Return whether a run of tests is in it, and benchmarks are in this."""
    return "<BenchmarkResults" in source.text and ROOT.search(source.text) is not None


def read(source: Source) -> Table:
    """Read the means: benchmark x execution x iteration."""
    root = source.rewritten(_document(source)).xml()
    cases = [(case.get("name", ""), case) for case in root.iter("TestCase")]
    entries = [
        _entry(source, name, sections, node)
        for name, case in cases
        for sections, node in _benchmarks(case, ())
    ]
    note_means(source, sum(entry.runs[0] is not FAILED for entry in entries), REMEDY)
    return table_of_entries(
        source, entries, file_metadata={"catch2_version": root.get("catch2-version")}
    )


def _document(source: Source) -> str:
    """Return the XML without what the program printed before and after it."""
    root = ROOT.search(source.text)
    if root is None:
        raise source.error("holds no run of tests of Catch2: expected <Catch2TestRun>")
    end_tag = f"</{root[1]}>"
    end = source.text.rfind(end_tag)
    return source.text[root.start() : end + len(end_tag) if end >= 0 else None]


def _benchmarks(node: Any, sections: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the benchmarks of a test case or section, and the names of the sections around."""
    for child in node:
        if child.tag == "BenchmarkResults":
            yield sections, child
        else:
            yield from _benchmarks(
                child, (*sections, child.get("name", "")) if child.tag == "Section" else sections
            )


def _entry(source: Source, test_case: str, sections: tuple[str, ...], benchmark: Any) -> Entry:
    name = benchmark.get("name", "")
    mean, failure = benchmark.find("mean"), benchmark.find("failed")
    location = f"benchmark {name[:60]!r}"
    if mean is None and failure is None:
        raise source.error(f"{location} of test case {test_case[:60]!r} has no mean")
    settings = {"test_case": test_case, "section": "/".join(sections) or None}
    if mean is None:
        return Entry(name, [FAILED], settings, {"error_message": failure.get("message")}, IDENTITY)
    means = times(source, lambda _: f"{location}: mean", [mean.get("value", "")], NANOSECOND)
    if np.isnan(means).any():
        return Entry(name, [FAILED], settings, identity=IDENTITY)
    loops = [
        amounts(source, f"{location}: {key!r}", [benchmark.get(key, "1")], above_zero=True)
        for key in ("samples", "iterations")
    ]
    return Entry(
        name, [Run({TIME: means}, {LOOPS: loops[0] * loops[1]})], settings, identity=IDENTITY
    )
