"""ReBench: the `.data` file, and the JSON it sends to ReBenchDB. Invocations are executions.

Lines of versions before 1.0 begin with a time stamp, the same for all of an invocation; later ones with the numbers of invocation and
iteration. Criterion `total` is the time (or, in operations per time, the throughput); other criteria are variables of their own.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import HIGHER, LOWER, SECONDS, THROUGHPUT, TIME, seconds_factor
from perfarray.readers.entries import Entry, Run, table_of_entries, value_of
from perfarray.readers.names import variable_name
from perfarray.readers.numbers import checked
from perfarray.readers.opening import Source, first_line
from perfarray.readers.shapes import ANY, NULL, NUMBER, SCALAR, TEXT, Either
from perfarray.tables.columns import Table
from perfarray.tables.harmonise import per_second
from perfarray.timings.validation import listed

NAME = "rebench"
ANYWHERE = True  # Its lines may come late in a file, after what else was printed

# What tells runs of one benchmark apart, in the order of the columns; old files say how many warm-ups were dropped
SETTINGS = ("vm", "suite", "extra_args", "cores", "input_size", "variable", "machine", "warmup_iterations")
OLD = re.compile(r"^\[\d{4}-\d\d-\d\dT[\d:]+\]\t[^\t\n]+\t[^\t\n]+\t", re.M)
# How lines of versions before and after 1.0 begin: time stamp, value, unit; invocation, iteration, value, unit, criterion, benchmark
NEW = re.compile(r"^\d+\t\d+\t[^\t\n]+\t[^\t\n]+\t[^\t\n]+\t[^\t\n]+\t", re.M)
ENV = {"hostName": "machine", "cpu": "cpu", "osType": "os"}
SOURCE = {"commitId": "commit", "branchOrTag": "branch"}  # ReBench's descriptions of machine and commit to our coordinates
SUITE = {"name": SCALAR, "executor": {"name": SCALAR}}
RUN = {"benchmark": {"name": TEXT, "suite": SUITE}, "extraArgs?": SCALAR, "cores?": SCALAR, "inputSize?": SCALAR, "varValue?": SCALAR}
POINT = {"in": SCALAR, "it?": NUMBER, "m": [Either({"c": SCALAR, "v": ANY}, [ANY], NULL)]}
CRITERION = {"i": SCALAR, "c": TEXT, "u": TEXT}
# The shape of the JSON: a suite, what is known of a run, its numbers of one iteration, a criterion, the whole
SHAPE = {
    "data": [{"runId": RUN, "d?": [POINT]}],
    "criteria?": [CRITERION],
    "env?": {"memory?": NUMBER, "clockSpeed?": NUMBER},
    "source?": {},
}


class Point(NamedTuple):
    """One number: which benchmark and settings it is of, invocation and iteration (None: the next), what it measures, where it stands."""

    name: str
    settings: tuple[Any, ...]
    at: tuple[Any, int | None]
    measured: tuple[str, str]
    value: Any
    location: str


def started(head: str) -> bool:
    """Return whether a broken file began as ReBench's."""
    return '"runId"' in head or (head.startswith("#!") and "rebench" in head.partition("\n")[0])


def recognise(source: Source) -> bool:
    """Return whether a line is a measurement of ReBench, or the JSON has runs of it."""
    if source.looks_like_json:
        content = source.json_or_none
        data = content.get("data") if isinstance(content, dict) else None
        return isinstance(data, list) and bool(data) and all(isinstance(run, dict) and "runId" in run for run in data)
    return first_line(source.text, "[", OLD) is not None or (source.text.startswith("#!") and NEW.search(source.text) is not None)


def read(source: Source) -> Table:
    """Read the measurements: benchmark x execution x iteration, a variable for each criterion."""
    about: dict[str, Any] = {}
    points = list(_sent(source, about) if source.looks_like_json else _lines(source, about))
    names, kinds = _variables(points)
    groups: dict[Any, dict[Any, dict[str, dict[int, Point]]]] = {}
    repeats: Counter[Any] = Counter()
    for point in points:
        name, _ = names[point.measured]
        invocation, iteration = point.at
        repeat = 0
        if iteration is not None:
            cell = (point.name, point.settings, point.at, name)
            repeat = repeats[cell]
            repeats[cell] += 1
        cell_points = groups.setdefault((point.name, point.settings), {}).setdefault((invocation, repeat), {}).setdefault(name, {})
        cell_points[len(cell_points) if iteration is None else iteration] = point
    entries = [
        Entry(
            name,
            [_run(source, cell_points, names) for cell_points in invocations.values()],
            {key: value_of(str(value)) for key, value in zip(SETTINGS, settings, strict=False) if value not in (None, "")},
        )
        for (name, settings), invocations in groups.items()
    ]
    return table_of_entries(source, entries, kinds=kinds, about=about)


def _lines(source: Source, about: dict[str, Any]) -> Iterator[Point]:
    """Yield the measurements of a `.data` file."""
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.startswith("#"):
            _describe(line, about)
        elif line and not line.startswith("invocation\titeration\t"):
            cells = line.split("\t")
            location = f"line {number}"
            if len(cells) < 7:
                raise source.error(f"{location} has {len(cells)} columns; expected 12 or 13")
            if line.startswith("["):
                stamp, value, unit, criterion, name, vm, suite, *more = cells
                args, warmup, *settings = [*more, *[""] * 5][:5]
                yield Point(name, (vm, suite, args, *settings, "", warmup), (stamp, None), (criterion, unit), value, location)
            else:
                invocation, iteration, value, unit, criterion, name, *settings = cells
                numbers = _count(source, location, invocation), _count(source, location, iteration)
                yield Point(name, tuple(settings), numbers, (criterion, unit), value, location)


def _count(source: Source, location: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise source.error(f"{location} begins with {text[:30]!r}; expected the number of an invocation or an iteration")
    return int(text)


def _describe(line: str, about: dict[str, Any]) -> None:
    """Read what a comment says of machine and commit."""
    title, _, text = line.partition(": ")
    if title in ("# Environment", "# Source"):
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(content, dict):
            about |= _environment(content) if title == "# Environment" else _named(content, SOURCE)


def _named(content: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return what is known under our names."""
    return {name: content[key] for key, name in names.items() if content.get(key) is not None}


def _environment(content: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of the machine, in our units."""
    metadata = _named(content, ENV)
    for key, name, unit in (("memory", "memory_gb", 2**30), ("clockSpeed", "cpu_mhz", 10**6)):
        if isinstance(content.get(key), int | float):
            metadata[name] = content[key] / unit
    return metadata


def _sent(source: Source, about: dict[str, Any]) -> Iterator[Point]:
    """Yield the measurements sent to ReBenchDB: by criterion one value, or one value for each iteration."""
    content = source.json
    about |= _environment(content.get("env") or {}) | _named(content.get("source") or {}, SOURCE)
    about |= _named(content, {"startTime": "date", "projectName": "project", "experimentName": "experiment"})
    criteria = {criterion["i"]: (criterion["c"], criterion["u"]) for criterion in content.get("criteria") or ()}
    for index, run in enumerate(content["data"]):
        run_id = run["runId"]
        suite = run_id["benchmark"]["suite"]
        settings = (suite["executor"]["name"], suite["name"], *(run_id.get(key) for key in ("extraArgs", "cores", "inputSize", "varValue")))
        for position, point in enumerate(run.get("d") or ()):
            location = f"data[{index}]: d[{position}]"
            for criterion_index, measurement in enumerate(point["m"]):
                single = isinstance(measurement, dict)
                values = [(point.get("it"), measurement["v"])] if single else enumerate(measurement or (), 1)
                number = measurement["c"] if single else criterion_index
                if number not in criteria:
                    raise source.error(f"{location} has a value of criterion {number!r}; 'criteria' has {listed(criteria) or 'none'}")
                measured = criteria[number]
                for iteration, value in values:
                    yield Point(run_id["benchmark"]["name"], settings, (point["in"], iteration), measured, value, location)


def _variables(points: list[Point]) -> tuple[dict[tuple[str, str], tuple[str, float]], dict[str, tuple[str, str]]]:
    """Return the variable and factor of each criterion and unit, and the unit and direction of each variable, that of `total` first."""
    names: dict[tuple[str, str], tuple[str, float]] = {}
    kinds: dict[str, tuple[str, str]] = {}
    pairs = dict.fromkeys(point.measured for point in points)
    rates = {unit for criterion, unit in pairs if criterion == "total" and seconds_factor(unit) is None}
    for criterion, unit in sorted(pairs, key=lambda pair: (pair[0] != "total", seconds_factor(pair[1]) is None)):
        factor = seconds_factor(unit)
        units, scale = (SECONDS, factor) if factor is not None else per_second(unit) if len(rates) > 1 and unit in rates else (unit, 1.0)
        name = variable_name(criterion, "criterion_")
        if criterion == "total":
            name = TIME if factor is not None else THROUGHPUT
        better = HIGHER if name == THROUGHPUT else LOWER
        if kinds.setdefault(name, (units, better)) != (units, better):
            name = variable_name(f"{name}_{units}", "criterion_")
            kinds[name] = (units, better)
        names[criterion, unit] = (name, scale)
    return names, kinds


def _run(source: Source, groups: dict[str, dict[int, Point]], names: dict[tuple[str, str], tuple[str, float]]) -> Run:
    """Return one invocation, each number at its iteration."""
    columns = {iteration: column for column, iteration in enumerate(sorted(set(chain.from_iterable(groups.values()))))}
    values = {}
    for name, points in groups.items():
        group = list(points.values())
        locations = [f"{point.location}: {point.measured[0]!r}" for point in group]
        numbers = checked([point.value for point in group], locations.__getitem__, source, above_zero=name == TIME)
        values[name] = np.full(len(columns), np.nan)
        values[name][[columns[iteration] for iteration in points]] = numbers * [names[point.measured][1] for point in group]
    return Run(values)
