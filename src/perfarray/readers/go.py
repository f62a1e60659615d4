"""Go benchmark text (`go test -bench`, the input of benchstat): repeated lines of one process are iterations, processes executions.

A process ends at `PASS`, `FAIL` or `ok`, or where `goos:` or `pkg:` stand again. `key: value` lines set what holds for the lines after
them; keys with several values are settings, those with one describe the file. The suffix `-8` is the setting `gomaxprocs`, parts
`/size=15` of a name are settings too. Lines of no known kind (logs, crashes) are passed over.
"""

import json
import re
from typing import Any

import numpy as np

from perfarray.conventions import HIGHER, LOOPS, LOWER, SECONDS, THROUGHPUT, TIME, seconds_factor
from perfarray.readers.entries import Entry, Run, columns_by_name, note_below_resolution, table_of_entries, times_or_nan, value_of
from perfarray.readers.names import variable_name
from perfarray.readers.numbers import checked
from perfarray.readers.opening import Source, first_line
from perfarray.tables.columns import Table

NAME = "go"
ANYWHERE = True  # Its lines may come late in a file, after what else was printed
RESULT = re.compile(r"^Benchmark\S+[ \t]+\d+[ \t]+(?:[-+.\d]|NaN)\S*[ \t]+\S+", re.M | re.A)
SETTING = re.compile(r"([a-z][^\sA-Z:]*):(?:[ \t]+(.*))?")
EVENT = re.compile(r'\{"(?:Time|Action|Package|ImportPath)":"')  # How a line of `go test -json` begins
ENDS = ("PASS", "FAIL", "ok ", "ok\t", "--- FAIL")  # How the last lines of a process begin
HEADS = ("goos", "goarch", "pkg")  # Keys a process says once
METRICS = {"B/op": "bytes_per_op", "allocs/op": "allocs_per_op", "MB/s": THROUGHPUT}  # Units that are variables by another name
MOST_KEYS = 100  # Keys a file may set
Line = tuple[int, list[str]]
Groups = dict[Any, dict[int, list[Line]]]


def started(head: str) -> bool:
    """Return whether a broken file began as Go's text."""
    return recognised(head) or _is_event(head) or (head.startswith(("goos: ", "goarch: ", "pkg: ")) and "\nBenchmark" in head)


def recognised(text: str) -> bool:
    """Return whether a text has a line with a result."""
    return first_line(text, "Benchmark", RESULT) is not None


def recognise(source: Source) -> bool:
    """Return whether a line of what was printed is a benchmark's name, a count, a value and its unit."""
    return recognised(_text(source))


def _is_event(head: str) -> bool:
    """Return whether the first line is one of `go test -json`."""
    return EVENT.match(head) is not None and '"Action":"' in head.partition("\n")[0]


def _text(source: Source) -> str:
    """Return what was printed; of `go test -json`, package by package, whose lines come in pieces and mixed with those of others."""
    if not source.looks_like_json:
        return source.text
    if not _is_event(source.head):
        return ""
    printed: dict[str, list[str]] = {}
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            try:
                event = json.loads(line)
                if event["Action"] == "output":
                    printed.setdefault(str(event.get("Package")), []).append(event["Output"])
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                raise source.error(f"line {number} is no event of go test -json: {type(error).__name__}: {error}") from None
    return "\n".join("".join(map(str, pieces)) for pieces in printed.values())


def read(source: Source) -> Table:
    """Read the results: benchmark x execution x iteration, a variable for each unit."""
    groups, directions = _groups(source)
    stated = [dict(key[2]) for key in groups]
    constant = {key: value for key, value in stated[0].items() if all(settings.get(key) == value for settings in stated)} if stated else {}
    units = dict.fromkeys(unit for runs in groups.values() for lines in runs.values() for _, words in lines for unit in words[3::2])
    kinds: dict[str, tuple[str, str]] = {}
    for unit in sorted(units, key=lambda unit: unit != "ns/op"):
        better = directions.get(unit, HIGHER if unit.endswith("/s") else LOWER)
        kinds[_variable(unit)[0]] = (SECONDS if _variable(unit)[1] is not None else unit, better)
    plain = {name: {"benchmark_name": _plain(name)} for name, _, _ in groups}
    plain = plain if any(name != metadata["benchmark_name"] for name, metadata in plain.items()) else {}
    entries = [
        Entry(name, [_run(source, lines) for lines in runs.values()], _settings(name, threads, dict(keys), constant), plain.get(name, {}))
        for (name, threads, keys), runs in groups.items()
    ]
    about = {key: value for key, value in constant.items() if key != "pkg"}
    return table_of_entries(source, entries, kinds=kinds, about=about, counts=_count_unseen(source, groups))


def _count_unseen(source: Source, groups: Groups) -> dict[str, int]:
    """Count the times that are 0: before 1.15, Go wrote two digits after the point."""
    lines = (words for runs in groups.values() for lines in runs.values() for _, words in lines)
    zeros = sum(float(value) == 0 for words in lines for value, unit in zip(words[2::2], words[3::2], strict=True) if unit == "ns/op")
    return note_below_resolution(source, zeros) if zeros else {}


def _groups(source: Source) -> tuple[Groups, dict[str, str]]:
    """Return the lines of each name, threads and settings, process by process; and which units are better higher or lower."""
    groups: Groups = {}
    directions: dict[str, str] = {}
    keys: dict[str, str] = {}
    state: tuple[tuple[str, str], ...] | None = None
    process, has_results = 0, False
    for number, line in enumerate(_text(source).split("\n"), 1):
        if line.startswith("Benchmark"):
            words = line.split()
            if len(words) < 4 or not RESULT.match(line):
                continue
            if len(words) % 2:
                raise source.error(f"line {number} has a value without a unit: {line[:80]!r}")
            state = tuple(sorted(keys.items())) if state is None else state
            name, dash, threads = words[0].removeprefix("Benchmark").rpartition("-")
            split = bool(dash) and threads.isascii() and threads.isdigit() and len(threads) < 6
            key = (name, int(threads), state) if split else (words[0].removeprefix("Benchmark"), None, state)
            groups.setdefault(key, {}).setdefault(process, []).append((number, words))
            has_results = True
        elif line.startswith(ENDS):
            process, has_results = process + has_results, False
        elif line.startswith("Unit "):
            words = line.split()
            if len(words) > 2 and words[2] in ("better=higher", "better=lower"):
                directions[words[1]] = words[2].removeprefix("better=")
        elif match := SETTING.fullmatch(line):
            if match[1] in HEADS:
                process, has_results = process + has_results, False
            if keys.get(match[1]) != match[2]:
                keys[match[1]] = match[2] or ""
                state = None
                if len(keys) > MOST_KEYS:
                    raise source.error(f"line {number} sets the {len(keys)}th key; {MOST_KEYS} are the most a file may set")
    return groups, directions


def _plain(name: str) -> str:
    """Return the name without the settings in it."""
    return "/".join(segment for position, segment in enumerate(name.split("/")) if not position or "=" not in segment)


def _settings(name: str, threads: int | None, keys: dict[str, str], constant: dict[str, str]) -> dict[str, Any]:
    """Return the settings in a name (`/size=15`), its threads, and the keys that are not the same for all."""
    segments = [segment.partition("=") for segment in name.split("/")[1:]]
    name_settings = {key: value_of(value) for key, equals, value in segments if equals and key}
    return {key: value for key, value in keys.items() if key == "pkg" or key not in constant} | {"gomaxprocs": threads} | name_settings


def _variable(unit: str) -> tuple[str, float | None]:
    """Return the variable of a unit, and its factor to seconds if it is a time: `ns/op`, `build-real-ns/op`."""
    quantity, dash, scale = unit.removesuffix("/op").rpartition("-")
    factor = seconds_factor(scale) if unit.endswith("/op") else None
    if factor is not None:
        return (variable_name(quantity, "metric_") if dash else TIME), factor
    return METRICS.get(unit) or variable_name(unit, "metric_"), None


def _run(source: Source, lines: list[Line]) -> Run:
    """Return the values of the lines of one process."""
    rows = [dict(zip(words[3::2], words[2::2], strict=True)) for _, words in lines]
    values = {}
    for unit, (rows_with_unit, texts) in columns_by_name(source, rows).items():
        name, factor = _variable(unit)
        locations = [f"line {lines[row][0]}: {unit!r}" for row in rows_with_unit]
        values[name] = np.full(len(lines), np.nan)
        if name == TIME:
            values[name][rows_with_unit] = times_or_nan(source, locations.__getitem__, texts, factor or 1.0)
        else:
            values[name][rows_with_unit] = checked(texts, locations.__getitem__, source, missing=("NaN",)) * (factor or 1.0)
    counts = checked([words[1] for _, words in lines], lambda index: f"line {lines[index][0]}: the number of iterations", source)
    return Run(values, {LOOPS: counts})
