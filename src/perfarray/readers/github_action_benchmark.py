"""github-action-benchmark: its history (`data.js` or JSON), and the JSON of custom tools.

Of a history each measurement of a commit is an execution; commits are in the order of their dates.
The unit decides what a number is: a unit of time is `time`, a rate is better higher. The direction
of other units is the tool's, which only a history states.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from typing import Any

import numpy as np

from perfarray.conventions import (
    HIGHER,
    LOWER,
    OPERATIONS,
    SECONDS,
    THROUGHPUT,
    TIME,
    seconds_factor,
)
from perfarray.readers.entries import (
    Entry,
    Run,
    amount_or_nan,
    described_labels,
    table_along,
    table_of_entries,
)
from perfarray.readers.labels import variable_name
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, TEXT, Either, deviation, has_keys, rows_with
from perfarray.tables.columns import Table
from perfarray.timings.values import direction_of

NAME = "github_action_benchmark"
COMMIT = "commit"
SCRIPT = re.compile(r"\s*window\.BENCHMARK_DATA\s*=")
DIRECTIONS = {
    "customSmallerIsBetter": LOWER,
    "customBiggerIsBetter": HIGHER,
}  # Tools whose users state the direction
REPEATED = (
    "go",
    "googlecpp",
)  # Tools that write a repetition under the name of the first, of one process
KEYS = ("name", "unit", "value")
OPTIONAL = ("range", "extra")
BENCH = {"name": TEXT, "unit": TEXT, "value?": ANY}
MEASUREMENT = {"commit": {"id": TEXT, "timestamp?": TEXT}, "tool?": TEXT, "benches": [BENCH]}
SHAPE = Either({"entries": {...: [MEASUREMENT]}}, [BENCH])
NO_DATE = (ValueError, OverflowError, OSError)
SHORT = 8  # Characters of a hash that are its label


Rows = list[tuple[str, Mapping[str, Any]]]  # The suite and the content of each measurement
Case = tuple[str, str, int]  # Suite, name, and how many of that name came before


def started(head: str) -> bool:
    """Return whether a broken file began as the history."""
    return SCRIPT.match(head) is not None or has_keys("lastUpdate", "repoUrl", "entries")(head)


def recognise(source: Source) -> bool:
    """Return whether the content is the history, or a list of names, units and values."""
    if started(source.head):
        return SCRIPT.match(source.head) is not None or isinstance(
            source.json_object.get("entries"), dict
        )
    rows = source.json_or_none
    return rows_with(rows, *KEYS) and all(
        row.keys() <= {*KEYS, *OPTIONAL} and isinstance(row["unit"], str) for row in rows
    )


def read(source: Source) -> Table:
    """Read the values: benchmark x execution x iteration, of a history x commit."""
    content = _content(source)
    if reason := deviation(content, SHAPE):
        raise source.error(reason)
    rows: Rows = (
        [("", {"benches": content})] if isinstance(content, list) else _by_date(content["entries"])
    )
    kinds: dict[str, tuple[str, str]] = {}
    entries: dict[str, dict[Case, Entry]] = {}
    for suite, row in rows:
        entry_by_case = entries.setdefault(row["commit"]["id"] if "commit" in row else "", {})
        for case, entry in _entries(source, kinds, suite, row):
            runs = entry_by_case[case].runs if case in entry_by_case else ()
            entry_by_case[case] = entry._replace(runs=[*runs, *entry.runs])
    kinds = {name: kinds[name] for name in sorted(kinds, key=lambda name: name != TIME)}
    if isinstance(content, list):
        return table_of_entries(source, list(entries[""].values()), kinds=kinds)
    labels = {commit: commit[:SHORT] for commit in entries}
    if len(set(labels.values())) < len(labels):
        labels = {commit: commit for commit in entries}
    commit_metadata = {
        labels[row["commit"]["id"]]: {"commit_hash": row["commit"]["id"], "commit_date": _date(row)}
        for _, row in rows
    }
    table = table_along(
        source,
        COMMIT,
        {labels[commit]: list(cases.values()) for commit, cases in entries.items()},
        kinds,
        {},
    )
    return replace(
        table,
        descriptors=table.descriptors | described_labels(COMMIT, commit_metadata, keep=(COMMIT,)),
    )


def _content(source: Source) -> Any:
    """Return the JSON, of a script without its assignment.

    Blanks in place of that keep the places in messages.
    """
    match = SCRIPT.match(source.text)
    if match is None:
        return source.json
    assignment = re.sub(r"\S", " ", match[0])
    return source.rewritten(assignment + source.text[match.end() :].rstrip().rstrip(";")).json


def _by_date(entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> Rows:
    """Return the measurements of all suites, by the dates of their commits if all have one."""
    rows = [(suite, row) for suite, of_suite in entries.items() for row in of_suite]
    return (
        sorted(rows, key=lambda item: _date(item[1]) or "")
        if all(_date(row) for _, row in rows)
        else rows
    )


def _date(row: Mapping[str, Any]) -> str | None:
    """Return the date of a commit, else of its measurement, as universal time."""
    with suppress(*NO_DATE):
        date = datetime.fromisoformat(str(row["commit"].get("timestamp")))
        return date.replace(tzinfo=date.tzinfo or UTC).astimezone(UTC).isoformat()
    with suppress(*NO_DATE):
        return datetime.fromtimestamp(float(str(row.get("date"))) / 1000, UTC).isoformat()
    return None


def _entries(
    source: Source, kinds: dict[str, tuple[str, str]], suite: str, row: Mapping[str, Any]
) -> Iterator[tuple[Case, Entry]]:
    """Yield the benchmarks of one measurement, and add their variables to `kinds`.

    One name with several units has several variables.
    """
    tool = str(row.get("tool") or "")
    repeats: Counter[tuple[str, str]] = Counter()
    values: dict[Case, dict[str, list[float]]] = {}
    metadata: dict[Case, dict[str, Any]] = {}
    for bench in row["benches"]:
        variable, units, better, factor = _quantity(bench["unit"], tool)
        if kinds.setdefault(variable, (units, better)) != (units, better):
            raise source.error(
                f"has tools that state both directions of unit {units!r}: give the suites "
                "other units, or read them apart"
            )
        case = (suite, bench["name"], 0 if tool in REPEATED else repeats[bench["name"], variable])
        repeats[bench["name"], variable] += 1
        value = amount_or_nan(
            source,
            bench["name"],
            "value",
            bench.get("value"),
            lowest=0.0 if variable in (TIME, THROUGHPUT) else -inf,
        )
        values.setdefault(case, {}).setdefault(variable, []).append(value * factor)
        metadata.setdefault(case, {key: bench.get(key) for key in OPTIONAL})
    for case, columns in values.items():
        _, name, _ = case
        run = Run({variable: np.array(column) for variable, column in columns.items()})
        yield case, Entry(name, [run], {"suite": suite or None}, metadata[case])


def _quantity(unit: str, tool: str) -> tuple[str, str, str, float]:
    """Return a unit's variable, our units and direction ("" if unstated), and the factor."""
    unit = (
        unit.partition("\t")[0].strip() or "1"
    )  # behind a tab old versions wrote further numbers of Go
    direction = DIRECTIONS.get(tool, "")
    numerator, _, denominator = unit.partition("/")
    seconds, period = seconds_factor(unit), seconds_factor(denominator)
    if seconds is not None and direction != HIGHER:
        return TIME, SECONDS, LOWER, seconds
    if numerator in ("ops", *OPERATIONS) and period is not None and direction != LOWER:
        return THROUGHPUT, "ops/s", HIGHER, 1 / period
    default = HIGHER if direction_of(unit) == HIGHER else LOWER if tool else ""
    return variable_name(unit, "unit_"), unit, direction or default, 1.0
