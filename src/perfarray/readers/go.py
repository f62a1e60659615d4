"""Go benchmark text (`go test -bench`, the input of benchstat): repeated lines of one process are iterations, processes executions.

A process ends at `PASS`, `FAIL` or `ok`, or where `goos:` or `pkg:` stand again. `key: value` lines set what holds for the lines after
them; keys with several values are settings, those with one describe the file. The suffix `-8` is the setting `gomaxprocs`, parts
`/size=15` of a name are settings too. Lines of no known kind (logs, crashes) are passed over.
"""

import json
import re
from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import HIGHER, LOOPS, LOWER, SECONDS, THROUGHPUT, TIME, seconds_factor
from perfarray.readers.entries import Columns, Entry, check_size, note_below_resolution, table_of_columns, times_or_nan
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

Groups = dict[tuple[str, int | None, int], dict[int, list[int]]]  # Rows by name, threads and number of the keys, and by process


class Results(NamedTuple):
    """The lines of results: their numbers and words, the groups of their rows, the keys that were set, the direction of units."""

    numbers: list[int]
    words: list[list[str]]
    groups: Groups
    keys: list[dict[str, str]]
    directions: dict[str, str]


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
    results = _results(source)
    used_keys = [results.keys[number] for number in dict.fromkeys(number for _, _, number in results.groups)]
    first = used_keys[0] if used_keys else {}
    constant = {key: value for key, value in first.items() if all(keys.get(key) == value for keys in used_keys)}
    plain = {name: {"benchmark_name": _plain(name)} for name, _, _ in results.groups}
    plain = plain if any(name != metadata["benchmark_name"] for name, metadata in plain.items()) else {}
    entries = [
        Entry(name, (), _settings(name, threads, results.keys[number], constant), plain.get(name, {}))
        for name, threads, number in results.groups
    ]
    kinds, columns, n_zeros = _columns(source, results)
    # Before 1.15, Go wrote two digits after the point, so that short times are 0.
    counts = note_below_resolution(source, n_zeros) if n_zeros else {}
    about = {key: value for key, value in constant.items() if key != "pkg"}
    return table_of_columns(source, entries, columns, kinds=kinds, about=about, counts=counts)


def _results(source: Source) -> Results:
    """Return the results of each name, threads and keys by process, and the direction of units that a line `Unit` states."""
    results = Results([], [], {}, [], {})
    names: dict[str, tuple[str, int | None]] = {}
    numbers_of_keys: dict[tuple[tuple[str, str], ...], int] = {}
    keys: dict[str, str] = {}
    number_of_keys, process, has_results = -1, 0, False
    for number, line in enumerate(_text(source).split("\n"), 1):
        if line.startswith("Benchmark"):
            words = line.split()
            if len(words) < 4 or not RESULT.match(line):
                continue
            if len(words) % 2:
                raise source.error(f"line {number} has a value without a unit: {line[:80]!r}")
            if number_of_keys < 0:
                number_of_keys = numbers_of_keys.setdefault(tuple(sorted(keys.items())), len(results.keys))
                if number_of_keys == len(results.keys):
                    results.keys.append(dict(sorted(keys.items())))
            if words[0] not in names:
                names[words[0]] = _name_and_threads(words[0].removeprefix("Benchmark"))
            group = results.groups.setdefault((*names[words[0]], number_of_keys), {})
            group.setdefault(process, []).append(len(results.words))
            results.numbers.append(number)
            results.words.append(words)
            has_results = True
        elif line.startswith(ENDS):
            process, has_results = process + has_results, False
        elif line.startswith("Unit "):
            words = line.split()
            if len(words) > 2 and words[2] in ("better=higher", "better=lower"):
                results.directions[words[1]] = words[2].removeprefix("better=")
        elif match := SETTING.fullmatch(line):
            if match[1] in HEADS:
                process, has_results = process + has_results, False
            if keys.get(match[1]) != match[2]:
                keys[match[1]] = match[2] or ""
                number_of_keys = -1
                if len(keys) > MOST_KEYS:
                    raise source.error(f"line {number} sets the {len(keys)}th key; {MOST_KEYS} are the most a file may set")
    return results


def _name_and_threads(name: str) -> tuple[str, int | None]:
    plain, dash, threads = name.rpartition("-")
    n_threads = whole(threads, 5) if dash else None
    return (name, None) if n_threads is None else (plain, n_threads)


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


def _columns(source: Source, results: Results) -> tuple[dict[str, tuple[str, str]], Columns, int]:
    """Return the kind of each variable, all values by group and process, and the number of times of 0."""
    processes = [process for group in results.groups.values() for process in group.values()]
    rows = [row for process in processes for row in process]
    rows_by_units: dict[tuple[str, ...], list[int]] = {}
    for position, row in enumerate(rows):
        rows_by_units.setdefault(tuple(results.words[row][3::2]), []).append(position)
    units = sorted(dict.fromkeys(chain.from_iterable(rows_by_units)), key=lambda unit: unit != "ns/op")
    check_size(source, len(rows), len(units))
    directions = {unit: results.directions.get(unit, HIGHER if unit.endswith("/s") else LOWER) for unit in units}
    variables = {unit: _variable(unit) for unit in units}
    kinds = {name: (unit if factor is None else SECONDS, directions[unit]) for unit, (name, factor) in variables.items()}
    values = {name: np.full(len(rows), np.nan) for name in kinds}
    n_zeros = 0
    for units_of_rows, positions in rows_by_units.items():
        for unit, place in {unit: place for place, unit in enumerate(units_of_rows)}.items():
            name, factor = variables[unit]
            texts = [results.words[rows[position]][2 + 2 * place] for position in positions]
            locate = _locate([results.numbers[rows[position]] for position in positions], repr(unit))
            if name == TIME:
                times = times_or_nan(source, locate, texts, factor or 1.0)
                n_zeros += int(np.isnan(times).sum()) if unit == "ns/op" else 0
            else:
                times = checked(texts, locate, source, missing=("NaN",)) * (factor or 1.0)
            values[name][positions] = times
    locate = _locate([results.numbers[row] for row in rows], "the number of iterations")
    loops = checked([results.words[row][1] for row in rows], locate, source)
    executions = np.array(list(map(len, results.groups.values())), dtype=np.intp)
    return kinds, Columns(executions, np.array(list(map(len, processes)), dtype=np.intp), values, {LOOPS: loops}), n_zeros


def _locate(numbers: list[int], what: str) -> Callable[[int], str]:
    return lambda index: f"line {numbers[index]}: {what}"
