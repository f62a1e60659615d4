"""Go benchmark text (`go test -bench`, the input of benchstat): repeated lines of one process are iterations, processes executions.

A process ends at `PASS`, `FAIL` or `ok`, or where `goos:` or `pkg:` stand again. `key: value` lines set what holds for the lines after
them; keys with several values are settings, those with one describe the file. The suffix `-8` is the setting `gomaxprocs`, parts
`/size=15` of a name are settings too. Lines of no known kind (logs, crashes) are passed over.
"""

import json
import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import HIGHER, LOOPS, LOWER, SECONDS, THROUGHPUT, TIME, seconds_factor
from perfarray.numerics.types import Integers
from perfarray.readers.entries import Columns, Entry, check_size, note_below_resolution, table_of_columns, times_or_nan
from perfarray.readers.labels import variable_name
from perfarray.readers.numbers import checked, value_of, whole
from perfarray.readers.opening import Source, first_line
from perfarray.tables.columns import Table

NAME = "go"
ANYWHERE = True  # Its lines may come late in a file, after what else was printed
RESULT = re.compile(r"^Benchmark(\S++)[ \t]++[0-9]++[ \t]++(?:[-+.0-9]|NaN)\S*+[ \t]++\S", re.M)
SETTING = re.compile(r"([a-z][^\sA-Z:]*):(?:[ \t]+(.*))?")
EVENT = re.compile(r'\{"(?:Time|Action|Package|ImportPath)":"')  # The beginning of a line of `go test -json`
ENDS = ("PASS", "FAIL", "ok ", "ok\t", "--- FAIL")  # Beginnings of the last lines of a process
HEADS = ("goos", "goarch", "pkg")  # Keys that a process prints once
METRICS = {"B/op": "bytes_per_op", "allocs/op": "allocs_per_op", "MB/s": THROUGHPUT}  # Variables by unit
MOST_KEYS = 100  # Keys a file may set
END = "\0"  # Of a line, as a word

Keys = tuple[tuple[str, str], ...]  # The keys that are set and their values, sorted


class Results(NamedTuple):
    """The lines of a file, the indices of results by name, threads and keys, and by process, and the direction of units."""

    lines: list[str]
    groups: dict[tuple[str, int | None, Keys], dict[int, list[int]]]
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
    all_keys = list(dict.fromkeys(keys for _, _, keys in results.groups))
    constant = {key: value for key, value in chain(*all_keys[:1]) if all((key, value) in keys for keys in all_keys)}
    plain = {name: {"benchmark_name": _plain(name)} for name, _, _ in results.groups}
    plain = plain if any(name != metadata["benchmark_name"] for name, metadata in plain.items()) else {}
    entries = [Entry(name, (), _settings(name, threads, keys, constant), plain.get(name, {})) for name, threads, keys in results.groups]
    kinds, columns, n_zeros = _columns(source, results)
    # Before 1.15, Go wrote two digits after the point, so that short times are 0.
    counts = note_below_resolution(source, n_zeros) if n_zeros else {}
    about = {key: value for key, value in constant.items() if key != "pkg"}
    return table_of_columns(source, entries, columns, kinds=kinds, about=about, counts=counts)


def _results(source: Source) -> Results:
    """Return the lines of results, and the direction of units that a line `Unit` states."""
    results = Results(_text(source).split("\n"), {}, {})
    indices_by_name: dict[str, list[int]] = {}  # Of one process, while no key changes
    keys: dict[str, str] = {}
    process, has_results = 0, False
    for index, line in enumerate(results.lines):
        if line.startswith("Benchmark"):
            if match := RESULT.match(line):
                indices = indices_by_name.get(match[1])
                if indices is None:
                    group = results.groups.setdefault((*_name_and_threads(match[1]), tuple(sorted(keys.items()))), {})
                    indices = indices_by_name[match[1]] = group.setdefault(process, [])
                indices.append(index)
                has_results = True
        elif line.startswith(ENDS):
            process, has_results, indices_by_name = process + has_results, False, {}
        elif line.startswith("Unit "):
            words = line.split()
            if len(words) > 2 and words[2] in ("better=higher", "better=lower"):
                results.directions[words[1]] = words[2].removeprefix("better=")
        elif match := SETTING.fullmatch(line):
            if match[1] in HEADS:
                process, has_results = process + has_results, False
            keys[match[1]], indices_by_name = match[2] or "", {}
            if len(keys) > MOST_KEYS:
                raise source.error(f"line {index + 1} sets the {len(keys)}th key; {MOST_KEYS} are the most a file may set")
    return results


def _name_and_threads(name: str) -> tuple[str, int | None]:
    plain, dash, threads = name.rpartition("-")
    n_threads = whole(threads, 5) if dash else None
    return (name, None) if n_threads is None else (plain, n_threads)


def _plain(name: str) -> str:
    return "/".join(segment for position, segment in enumerate(name.split("/")) if not position or "=" not in segment)


def _settings(name: str, threads: int | None, keys: Keys, constant: dict[str, str]) -> dict[str, Any]:
    """Return the settings in a name (`/size=15`), the threads, and the keys that differ between benchmarks."""
    segments = [segment.partition("=") for segment in name.split("/")[1:]]
    name_settings = {key: value_of(value) for key, equals, value in segments if equals and key}
    return {key: value for key, value in keys if key == "pkg" or key not in constant} | {"gomaxprocs": threads} | name_settings


def _variable(unit: str) -> tuple[str, float | None]:
    """Return the variable of a unit, and its factor to seconds if it is a time: `ns/op`, `build-real-ns/op`."""
    quantity, dash, scale = unit.removesuffix("/op").rpartition("-")
    factor = seconds_factor(scale) if unit.endswith("/op") else None
    if factor is not None:
        return (variable_name(quantity, "metric_") if dash else TIME), factor
    return METRICS.get(unit) or variable_name(unit, "metric_"), None


def _columns(source: Source, results: Results) -> tuple[dict[str, tuple[str, str]], Columns, int]:
    """Return the kind of each variable, all values by group and process, and the number of times of 0."""
    processes = list(chain.from_iterable(group.values() for group in results.groups.values()))
    indices = np.array(list(chain.from_iterable(processes)), dtype=np.intp)
    words_by_units = _words_by_units(source, results.lines, indices)
    units = sorted(dict.fromkeys(chain.from_iterable(words_by_units)), key=lambda unit: unit != "ns/op")
    check_size(source, len(indices), len(units))
    directions = {unit: results.directions.get(unit, HIGHER if unit.endswith("/s") else LOWER) for unit in units}
    variables = {unit: _variable(unit) for unit in units}
    kinds = {name: (unit if factor is None else SECONDS, directions[unit]) for unit, (name, factor) in variables.items()}
    values = {name: np.full(len(indices), np.nan) for name in (*kinds, LOOPS)}
    n_zeros = 0
    for units_of_rows, (rows, words) in words_by_units.items():
        for unit, texts in dict(zip(units_of_rows, words[2::2], strict=True)).items():
            name, factor = variables[unit]
            locate = _locate(indices[rows], repr(unit))
            if name == TIME:
                times = times_or_nan(source, locate, texts, factor or 1.0)
                n_zeros += int(np.isnan(times).sum()) if unit == "ns/op" else 0
            else:
                times = checked(texts, locate, source, missing=("NaN",)) * (factor or 1.0)
            values[name][rows] = times
        values[LOOPS][rows] = checked(words[1], _locate(indices[rows], "the number of iterations"), source)
    executions, lengths = (np.array(list(map(len, parents)), dtype=np.intp) for parents in (results.groups.values(), processes))
    return kinds, Columns(executions, lengths, values, {LOOPS: values.pop(LOOPS)}), n_zeros


def _words_by_units(source: Source, lines: list[str], indices: Integers) -> dict[tuple[str, ...], tuple[Integers, list[Sequence[str]]]]:
    """Return for each list of units the rows that have it, and their words column by column."""
    numbers = indices.tolist()
    # Lines that are alike are split all at once, in half the time.
    words = f" {END} ".join([*map(lines.__getitem__, numbers), ""]).split()
    width = len(words) // max(len(numbers), 1)
    columns: list[Sequence[str]] = [words[position::width] for position in range(width)]
    units = tuple(words[3 : width - 1 : 2])
    if width % 2 and all(set(column) == {unit} for column, unit in zip([*columns[3::2], columns[-1]], (*units, END), strict=True)):
        return {units: (np.arange(len(numbers)), columns[:-1])}
    groups: dict[tuple[str, ...], tuple[list[int], list[list[str]]]] = {}
    for row, number in enumerate(numbers):
        words = lines[number].split()
        if len(words) % 2:
            raise source.error(f"line {number + 1} has a value without a unit: {lines[number][:80]!r}")
        rows, table = groups.setdefault(tuple(words[3::2]), ([], []))
        rows.append(row)
        table.append(words)
    return {units: (np.array(rows), list(zip(*table, strict=True))) for units, (rows, table) in groups.items()}


def _locate(indices: Integers, what: str) -> Callable[[int], str]:
    return lambda index: f"line {indices[index] + 1}: {what}"
