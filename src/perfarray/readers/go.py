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
from perfarray.readers.entries import Entry, Run, columns_by_name, note_below_resolution, table_of_entries, times_or_nan
from perfarray.readers.labels import variable_name
from perfarray.readers.numbers import checked, value_of, whole
from perfarray.readers.opening import Source, first_line
from perfarray.tables.columns import Table

NAME = "go"
ANYWHERE = True  # Its lines may come late in a file, after what else was printed
RESULT = re.compile(r"^Benchmark\S+[ \t]+\d+[ \t]+(?:[-+.\d]|NaN)\S*[ \t]+\S+", re.M | re.A)
SETTING = re.compile(r"([a-z][^\sA-Z:]*):(?:[ \t]+(.*))?")
EVENT = re.compile(r'\{"(?:Time|Action|Package|ImportPath)":"')  # The beginning of a line of `go test -json`
ENDS = ("PASS", "FAIL", "ok ", "ok\t", "--- FAIL")  # Beginnings of the last lines of a process
HEADS = ("goos", "goarch", "pkg")  # Keys that a process prints once
METRICS = {"B/op": "bytes_per_op", "allocs/op": "allocs_per_op", "MB/s": THROUGHPUT}  # Variables by unit
MOST_KEYS = 100  # Keys a file may set

Line = tuple[int, list[str]]  # Number and words
Groups = dict[Any, dict[int, list[Line]]]


def started(head: str) -> bool:
    """Return whether a broken file began as Go's text."""
    return _has_result(head) or _is_event(head) or (head.startswith(("goos: ", "goarch: ", "pkg: ")) and "\nBenchmark" in head)


def recognise(source: Source) -> bool:
    """Return whether a line of what was printed is a benchmark's name, a count, a value and its unit."""
    return _has_result(_text(source))


def _has_result(text: str) -> bool:
    return first_line(text, "Benchmark", RESULT) is not None


def _is_event(head: str) -> bool:
    return EVENT.match(head) is not None and '"Action":"' in head.partition("\n")[0]


def _text(source: Source) -> str:
    """Return what was printed; the output of `go test -json` is put together for each package."""
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
    stated = [dict(keys) for _, _, keys in groups]
    constant = {key: value for key, value in stated[0].items() if all(settings.get(key) == value for settings in stated)} if stated else {}
    lines = [words for processes in groups.values() for group in processes.values() for _, words in group]
    kinds: dict[str, tuple[str, str]] = {}
    for unit in sorted(dict.fromkeys(unit for words in lines for unit in words[3::2]), key=lambda unit: unit != "ns/op"):
        name, factor = _variable(unit)
        better = directions.get(unit, HIGHER if unit.endswith("/s") else LOWER)
        kinds[name] = (unit if factor is None else SECONDS, better)
    plain = {name: {"benchmark_name": _plain(name)} for name, _, _ in groups}
    plain = plain if any(name != metadata["benchmark_name"] for name, metadata in plain.items()) else {}
    entries = [
        Entry(
            name, [_run(source, group) for group in processes.values()], _settings(name, threads, dict(keys), constant), plain.get(name, {})
        )
        for (name, threads, keys), processes in groups.items()
    ]
    # Before 1.15, Go wrote two digits after the point, so that short times are 0.
    n_zeros = sum(float(value) == 0 for words in lines for value, unit in zip(words[2::2], words[3::2], strict=True) if unit == "ns/op")
    counts = note_below_resolution(source, n_zeros) if n_zeros else {}
    about = {key: value for key, value in constant.items() if key != "pkg"}
    return table_of_entries(source, entries, kinds=kinds, about=about, counts=counts)


def _groups(source: Source) -> tuple[Groups, dict[str, str]]:
    """Return the lines of each name, threads and settings by process, and the direction of units that a line `Unit` states."""
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
            n_threads = whole(threads, 5) if dash else None
            name = words[0].removeprefix("Benchmark") if n_threads is None else name
            groups.setdefault((name, n_threads, state), {}).setdefault(process, []).append((number, words))
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
    return "/".join(segment for position, segment in enumerate(name.split("/")) if not position or "=" not in segment)


def _settings(name: str, threads: int | None, keys: dict[str, str], constant: dict[str, str]) -> dict[str, Any]:
    """Return the settings in a name (`/size=15`), the threads, and the keys that differ between benchmarks."""
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
