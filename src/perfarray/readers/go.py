"""Go benchmark text (`go test -bench`): lines of one process are its iterations.

Processes are executions; benchstat reads the same text. A process ends at `PASS`, `FAIL` or `ok`,
or where `goos:` or `pkg:` stand again. `key: value` lines set what holds for the lines after them;
keys with several values are settings, those with one describe the file. The suffix `-8` is the
setting `gomaxprocs` if it is that of all names of a process; parts `/size=15` of a name are
settings too. Logs may stand between a name and its numbers. Other lines of no known kind (logs,
crashes) are passed over. Benchmarks that failed, or never came to their numbers, are noted.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import HIGHER, LOOPS, LOWER, SECONDS, THROUGHPUT, TIME, seconds_factor
from perfarray.numerics.types import Integers
from perfarray.readers.entries import Columns, Entry, amounts, check_size, table_of_columns
from perfarray.readers.labels import LISTED_NAMES, PLAIN_NAME, variable_name
from perfarray.readers.numbers import checked, value_of, whole
from perfarray.readers.opening import Source, first_line
from perfarray.tables.columns import Table
from perfarray.timings.validation import listed

NAME = "go"
ANYWHERE = True  # Its lines may come late in a file, after what else was printed
RESULT = re.compile(r"^Benchmark(\S++)[ \t]++[0-9]++[ \t]++(?:[-+.0-9]|NaN)\S*+[ \t]++\S", re.M)
# A name without numbers: they follow what was logged. With -v Go writes the name alone before, on a
# line without a tab.
UNFINISHED = re.compile(r"Benchmark(?![a-z])(\S++)( *\t)?")
CUT = re.compile(r"Benchmark(?![a-z])\S++ *\t")
VALUE = re.compile(r"[-+.0-9]|NaN$")  # The beginning of a value
COUNT = re.compile(r"(?<![0-9])[0-9]+$")
OUTCOME = re.compile(r"--- (FAIL|SKIP): Benchmark(\S+)")
OUTCOMES = {"FAIL": "failed", "SKIP": "was skipped"}
SETTING = re.compile(r"([a-z][^\sA-Z:]*):(?:[ \t]+(.*))?")
EVENT = re.compile(
    r'\{"(?:Time|Action|Package|ImportPath)":"'
)  # The beginning of a line of `go test -json`
ENDS = ("PASS", "FAIL", "ok ", "ok\t")  # Beginnings of the last lines of a process
HEADS = ("goos", "goarch", "pkg")  # Keys that a process prints once
METRICS = {
    "B/op": "bytes_per_op",
    "allocs/op": "allocs_per_op",
    "MB/s": THROUGHPUT,
}  # Variables by unit
MOST_KEYS = 100  # Keys a file may set
END = "\0"  # Of a line, as a word

Keys = tuple[tuple[str, str], ...]  # The keys that are set and their values, sorted


class Results(NamedTuple):
    """Lines, the indices of results by process, name and keys, and what is stated of units."""

    lines: list[str]
    series: dict[tuple[int, str, Keys], list[int]]
    stated: dict[str, dict[str, str]]


def started(head: str) -> bool:
    """Return whether a broken file began as Go's text."""
    return (
        _has_result(head)
        or _is_event(head)
        or (head.startswith(("goos: ", "goarch: ", "pkg: ")) and "\nBenchmark" in head)
    )


def recognise(source: Source) -> bool:
    """Return whether a benchmark's name, count, value and unit are there, in text or events."""
    return _has_result(_text(source))


def _has_result(text: str) -> bool:
    return first_line(text, "Benchmark", RESULT) is not None or (
        "ns/op" in text and first_line(text, "Benchmark", CUT) is not None
    )


def _is_event(head: str) -> bool:
    return EVENT.match(head) is not None and '"Action":"' in head.partition("\n")[0]


def _text(source: Source) -> str:
    """Return what was printed; the output of `go test -json` is put together for each package."""
    if not _is_event(source.head):
        return source.text if source.json_or_none is None else ""
    printed: dict[str, list[str]] = {}
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            try:
                event = json.loads(line)
                if event["Action"] == "output":
                    printed.setdefault(str(event.get("Package")), []).append(event["Output"])
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                raise source.error(
                    f"line {number} is no event of go test -json: {type(error).__name__}: {error}"
                ) from None
    return "\n".join("".join(map(str, pieces)) for pieces in printed.values())


def read(source: Source) -> Table:
    """Read the results: benchmark x execution x iteration, a variable for each unit."""
    results = _results(source)
    groups = _groups(results.series)
    all_keys = list(dict.fromkeys(keys for _, _, keys in groups))
    constant = {
        key: value
        for key, value in chain(*all_keys[:1])
        if all((key, value) in keys for keys in all_keys)
    }
    plain = {name: {PLAIN_NAME: _plain(name)} for name, _, _ in groups}
    plain = plain if any(name != metadata[PLAIN_NAME] for name, metadata in plain.items()) else {}
    entries = [
        Entry(name, (), _settings(name, threads, keys, constant), plain.get(name, {}))
        for name, threads, keys in groups
    ]
    kinds, columns = _columns(source, results, list(groups.values()))
    file_metadata = {key: value for key, value in constant.items() if key != "pkg"}
    table = table_of_columns(source, entries, columns, kinds=kinds, file_metadata=file_metadata)
    exact = {
        _variable(unit)[0]
        for unit, stated in results.stated.items()
        if stated.get("assume") == "exact"
    }
    metrics = {name: replace(metric, exact=name in exact) for name, metric in table.metrics.items()}
    return replace(table, metrics=metrics)


def _results(source: Source) -> Results:
    """Return the lines of results, and what lines `Unit` state of units."""
    lines = _text(source).split("\n")
    results = Results(lines, {}, {})
    names = _names(source, lines)
    indices_by_name: dict[str, list[int]] = {}  # Of one process, while no key changes
    keys: dict[str, str] = {}
    process, has_results = 0, False
    for index, line in enumerate(lines):
        if (name := names[index]) is not None:
            indices = indices_by_name.get(name)
            if indices is None:
                indices = indices_by_name[name] = results.series.setdefault(
                    (process, name, tuple(sorted(keys.items()))), []
                )
            indices.append(index)
            has_results = True
        elif line.startswith(ENDS):
            process, has_results, indices_by_name = process + has_results, False, {}
        elif line.startswith("Unit "):
            unit, *settings = line.split()[1:] or [""]
            stated = results.stated.setdefault(unit, {})
            stated |= {key: value for key, _, value in (text.partition("=") for text in settings)}
        elif match := SETTING.fullmatch(line):
            if match[1] in HEADS:
                process, has_results = process + has_results, False
            keys[match[1]], indices_by_name = match[2] or "", {}
            if len(keys) > MOST_KEYS:
                raise source.error(
                    f"line {index + 1} sets the {len(keys)}th key; {MOST_KEYS} are the most a "
                    "file may set"
                )
    return results


def _names(source: Source, lines: list[str]) -> list[str | None]:
    """Return the name in each line of a result, None in others.

    Name and numbers that logs separate become one line.

    What failed, was skipped or never came to its numbers is noted.
    """
    matches = [RESULT.match(line) if line.startswith("Benchmark") else None for line in lines]
    names = [None if match is None else match[1] for match in matches]
    reasons: dict[str, str] = {}
    unfinished = {
        index: match
        for index, line in enumerate(lines)
        if names[index] is None and (match := UNFINISHED.match(line))
    }
    for index, match in unfinished.items():
        last = next(
            (
                at
                for at in range(index + 1, len(lines))
                if names[at] is not None or at in unfinished or lines[at].startswith(ENDS)
            ),
            len(lines),
        )
        numbers = next(
            filter(None, map(_numbers, [lines[index][match.end() :], *lines[index + 1 : last]])),
            None,
        )
        if numbers is not None:
            lines[index], names[index] = f"Benchmark{match[1]} {numbers}", match[1]
        elif match[2]:
            reasons[match[1]] = "has no numbers"
    for outcome, name in chain.from_iterable(
        OUTCOME.findall(line) for line in lines if "--- " in line
    ):
        reasons[name] = OUTCOMES[outcome]
    if reasons:
        listed_reasons = listed([f"{name} {reason}" for name, reason in reasons.items()], 5)
        sentence = (
            f"{len(reasons)} benchmarks did not finish: {listed_reasons}. Their values are "
            "missing; all others are read."
        )
        source.note(
            "no_result", sentence, benchmarks=len(reasons), names=list(reasons)[:LISTED_NAMES]
        )
    return names


def _numbers(text: str) -> str | None:
    """Return iterations, values and units at the end of a text, None where there are none."""
    words = text.split()
    start = len(words)
    while start > 1 and VALUE.match(words[start - 2]) and not VALUE.match(words[start - 1]):
        start -= 2
    iterations = COUNT.search(words[start - 1]) if start else None
    per_operation = any(unit.endswith("/op") for unit in words[start + 1 :: 2])
    return " ".join([iterations[0], *words[start:]]) if iterations and per_operation else None


def _groups(
    series: Mapping[tuple[int, str, Keys], list[int]],
) -> dict[tuple[str, int, Keys], dict[int, list[int]]]:
    """Return the indices of results by name, threads and keys, and by process."""
    names_of_processes: dict[int, dict[str, None]] = {}
    for process, name, _ in series:
        names_of_processes.setdefault(process, {})[name] = None
    functions = {
        threads for names in names_of_processes.values() for threads in _threads_of_functions(names)
    }
    split = {
        process: _names_and_threads(names, functions)
        for process, names in names_of_processes.items()
    }
    groups: dict[tuple[str, int, Keys], dict[int, list[int]]] = {}
    for (process, name, keys), indices in series.items():
        groups.setdefault((*split[process][name], keys), {}).setdefault(process, []).extend(indices)
    return groups


def _names_and_threads(
    names: Collection[str], functions: Collection[int]
) -> dict[str, tuple[str, int]]:
    """Return the plain name and the threads of each name of a process.

    `functions` are the threads of functions in the whole file.

    Go writes the threads behind all names of a run, unless there is one. Other numbers are of the
    names, as in `Read/block-16`.
    """
    split = {name: _split(name) for name in names}
    threads = _threads_of_functions(names)
    if not threads:
        threads = {number for _, number in split.values()}
        threads = (
            threads
            if len(threads) == 1 and (not functions or threads <= set(functions))
            else _listed_threads(split)
        )
    return {
        name: (plain, number)
        if number in threads and (1 not in threads or plain in split or plain.isidentifier())
        else (name, 1)
        for name, (plain, number) in split.items()
    }


def _threads_of_functions(names: Iterable[str]) -> set[int]:
    """Return the threads behind names of functions, which are identifiers without a dash."""
    return {threads for plain, threads in map(_split, names) if plain.isidentifier()}


def _listed_threads(split: Mapping[str, tuple[str, int]]) -> set[int]:
    """Return the threads of `-cpu 1,2,4`, if all names have the same numbers; else 1."""
    numbers: dict[str, set[int]] = {
        name: set() for name, (plain, number) in split.items() if number == 1 or plain not in split
    }
    for plain, number in split.values():
        if plain in numbers and number > 1:
            numbers[plain].add(number)
    alternatives = set(map(frozenset, numbers.values()))
    return {1}.union(*(alternatives if len(alternatives) == 1 else ()))


def _split(name: str) -> tuple[str, int]:
    plain, _, digits = name.rpartition("-")
    number = whole(digits, 5)
    return (
        (name, 1)
        if not plain or number is None or number < 2 or digits.startswith("0")
        else (plain, number)
    )


def _plain(name: str) -> str:
    return "/".join(
        segment
        for position, segment in enumerate(name.split("/"))
        if not position or "=" not in segment
    )


def _settings(name: str, threads: int, keys: Keys, constant: dict[str, str]) -> dict[str, Any]:
    """Return the settings in a name (`/size=15`), its threads, and keys that vary."""
    segments = [segment.partition("=") for segment in name.split("/")[1:]]
    name_settings = {key: value_of(value) for key, equals, value in segments if equals and key}
    return (
        {key: value for key, value in keys if key == "pkg" or key not in constant}
        | {"gomaxprocs": threads}
        | name_settings
    )


def _variable(unit: str) -> tuple[str, float | None]:
    """Return a unit's variable, and its factor to seconds if it is a time such as `ns/op`."""
    quantity, dash, scale = unit.removesuffix("/op").rpartition("-")
    factor = seconds_factor(scale) if unit.endswith("/op") else None
    if factor is not None:
        return (variable_name(quantity, "metric_") if dash else TIME), factor
    return METRICS.get(unit) or variable_name(unit, "metric_"), None


def _columns(
    source: Source, results: Results, groups: Sequence[dict[int, list[int]]]
) -> tuple[dict[str, tuple[str, str]], Columns]:
    """Return the kind of each variable, and all values by group and process.

    Values that are no numbers are noted.
    """
    processes = list(chain.from_iterable(group.values() for group in groups))
    indices = np.array(list(chain.from_iterable(processes)), dtype=np.intp)
    words_by_units = _words_by_units(source, results.lines, indices)
    units = sorted(
        dict.fromkeys(chain.from_iterable(words_by_units)), key=lambda unit: unit != "ns/op"
    )
    check_size(source, len(indices), len(units))
    directions = {unit: _better(unit, results.stated) for unit in units}
    variables = {unit: _variable(unit) for unit in units}
    kinds = {
        name: (unit if factor is None else SECONDS, directions[unit])
        for unit, (name, factor) in variables.items()
    }
    values = {name: np.full(len(indices), np.nan) for name in (*kinds, LOOPS)}
    for units_of_rows, (rows, words) in words_by_units.items():
        for unit, texts in dict(zip(units_of_rows, words[2::2], strict=True)).items():
            name, factor = variables[unit]
            locate = _locate(indices[rows], repr(unit))
            # A metric of the user's may be below 0.
            numbers = amounts(
                source, locate, texts, from_zero=name == TIME, benchmark=words[0].__getitem__
            )
            values[name][rows] = numbers * (factor or 1.0)
        values[LOOPS][rows] = checked(
            words[1], _locate(indices[rows], "the number of iterations"), source
        )
    executions, lengths = (
        np.array(list(map(len, parents)), dtype=np.intp) for parents in (groups, processes)
    )
    return kinds, Columns(executions, lengths, values, {LOOPS: values.pop(LOOPS)})


def _better(unit: str, stated: Mapping[str, Mapping[str, str]]) -> str:
    """Return which values of a unit are better, as a line `Unit` states it."""
    better = stated.get(unit, {}).get("better")
    return better if better in (HIGHER, LOWER) else HIGHER if unit.endswith("/s") else LOWER


def _words_by_units(
    source: Source, lines: list[str], indices: Integers
) -> dict[tuple[str, ...], tuple[Integers, list[Sequence[str]]]]:
    """Return for each list of units the rows that have it, and their words column by column."""
    numbers = indices.tolist()
    # Lines that are alike are split all at once, in half the time.
    words = f" {END} ".join([*map(lines.__getitem__, numbers), ""]).split()
    width = len(words) // max(len(numbers), 1)
    columns: list[Sequence[str]] = [words[position::width] for position in range(width)]
    units = tuple(words[3 : width - 1 : 2])
    if width % 2 and all(
        set(column) == {unit}
        for column, unit in zip([*columns[3::2], columns[-1]], (*units, END), strict=True)
    ):
        return {units: (np.arange(len(numbers)), columns[:-1])}
    groups: dict[tuple[str, ...], tuple[list[int], list[list[str]]]] = {}
    for row, number in enumerate(numbers):
        words = lines[number].split()
        if len(words) % 2:
            raise source.error(
                f"line {number + 1} has a value without a unit: {lines[number][:80]!r}"
            )
        rows, table = groups.setdefault(tuple(words[3::2]), ([], []))
        rows.append(row)
        table.append(words)
    return {
        units: (np.array(rows), list(zip(*table, strict=True)))
        for units, (rows, table) in groups.items()
    }


def _locate(indices: Integers, quantity: str) -> Callable[[int], str]:
    return lambda index: f"line {indices[index] + 1}: {quantity}"
