"""ReBench: the `.data` file, and the JSON it sends to ReBenchDB. Invocations are executions.

Lines of versions before 1.0 begin with a time stamp, the same for all of an invocation; later ones
with the numbers of invocation and iteration. Criterion `total` is the time (or, in operations per
time, the throughput); other criteria are variables of their own.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import HIGHER, LOWER, SECONDS, THROUGHPUT, TIME, seconds_factor
from perfarray.readers.entries import Entry, Run, amounts, renamed, table_of_entries
from perfarray.readers.labels import variable_name
from perfarray.readers.numbers import value_of, whole
from perfarray.readers.opening import Source, first_line, json_object
from perfarray.readers.shapes import ANY, NULL, NUMBER, SCALAR, TEXT, Either, rows_with
from perfarray.tables.columns import Table
from perfarray.tables.harmonise import per_second
from perfarray.timings.validation import listed

NAME = "rebench"
ANYWHERE = True  # Its lines may come late in a file, after what else was printed
# What tells runs of one benchmark apart, in the order of the columns; old files say how many
# warm-ups were dropped
SETTINGS = (
    "vm",
    "suite",
    "extra_args",
    "cores",
    "input_size",
    "variable",
    "machine",
    "warmup_iterations",
)
# Lines of versions before and after 1.0: time stamp, value, unit; invocation, iteration, value,
# unit, criterion, benchmark
OLD = re.compile(r"^\[\d{4}-\d\d-\d\dT[\d:]+\]\t[^\t\n]+\t[^\t\n]+\t", re.M)
NEW = re.compile(r"^\d+\t\d+\t[^\t\n]+\t[^\t\n]+\t[^\t\n]+\t[^\t\n]+\t", re.M)
# Descriptions of machine, commit and experiment to our coordinates
ENVIRONMENT = {"hostName": "machine", "cpu": "cpu", "osType": "os"}
SOFTWARE = {"kernel-release": "kernel", "architecture": "architecture"}
DENOISE = {"scaling_governor": "scaling_governor", "no_turbo": "no_turbo"}
SOURCE = {"commitId": "commit", "branchOrTag": "branch"}
EXPERIMENT = {"startTime": "date", "projectName": "project", "experimentName": "experiment"}
SUITE = {"name": SCALAR, "executor": {"name": SCALAR}}
RUN = {
    "benchmark": {"name": TEXT, "suite": SUITE},
    "extraArgs?": SCALAR,
    "cores?": SCALAR,
    "inputSize?": SCALAR,
    "varValue?": SCALAR,
}
POINT = {"in": SCALAR, "it?": NUMBER, "m": [Either({"c": SCALAR, "v": ANY}, [ANY], NULL)]}
SHAPE = {
    "data": [{"runId": RUN, "d?": [POINT]}],
    "criteria?": [{"i": SCALAR, "c": TEXT, "u": TEXT}],
    "env?": {
        "memory?": NUMBER,
        "clockSpeed?": NUMBER,
        "software?": Either([ANY], NULL),
        "denoise?": Either({}, NULL),
    },
    "source?": {},
}


class Point(NamedTuple):
    """A value with its benchmark, settings, invocation, iteration (None: next), and location."""

    name: str
    settings: tuple[Any, ...]
    invocation: Any
    iteration: int | None
    measured: tuple[str, str]
    value: Any
    location: str


def started(head: str) -> bool:
    """Return whether a broken file began as ReBench's."""
    return '"runId"' in head or (head.startswith("#!") and "rebench" in head.partition("\n")[0])


def recognise(source: Source) -> bool:
    """Return whether a line is a measurement of ReBench, or the JSON has runs of it."""
    if source.looks_like_json:
        return rows_with(source.json_object.get("data"), "runId")
    return first_line(source.text, "[", OLD) is not None or (
        source.text.startswith("#!") and NEW.search(source.text) is not None
    )


def read(source: Source) -> Table:
    """Read the measurements: benchmark x execution x iteration, a variable for each criterion."""
    file_metadata: dict[str, Any] = {}
    points = list(
        _points_of_json(source, file_metadata)
        if source.looks_like_json
        else _points_of_lines(source, file_metadata)
    )
    names, kinds = _variables(points)
    groups: dict[Any, dict[Any, dict[str, dict[int, Point]]]] = {}
    repeats: Counter[Any] = Counter()
    for point in points:
        name, _ = names[point.measured]
        cell = (*point[:4], name)
        # A cell that is measured again is another execution; without a number of the iteration,
        # every point is the next iteration.
        repeat = repeats[cell] if point.iteration is not None else 0
        repeats[cell] += 1
        by_execution = groups.setdefault((point.name, point.settings), {})
        by_iteration = by_execution.setdefault((point.invocation, repeat), {}).setdefault(name, {})
        by_iteration[len(by_iteration) if point.iteration is None else point.iteration] = point
    entries = [
        Entry(
            name,
            [_run(source, by_variable, names) for by_variable in by_execution.values()],
            {
                key: value_of(str(value))
                for key, value in zip(SETTINGS, settings, strict=False)
                if value not in (None, "")
            },
        )
        for (name, settings), by_execution in groups.items()
    ]
    return table_of_entries(source, entries, kinds=kinds, file_metadata=file_metadata)


def _points_of_lines(source: Source, file_metadata: dict[str, Any]) -> Iterator[Point]:
    """Yield the measurements of a `.data` file; add its comments to `file_metadata`."""
    for number, line in enumerate(source.text.split("\n"), 1):
        location = f"line {number}"
        if line.startswith("#"):
            file_metadata |= _described(line)
        elif line and not line.startswith("invocation\titeration\t"):
            cells = line.split("\t")
            if len(cells) < 7:
                raise source.error(f"{location} has {len(cells)} columns; expected 12 or 13")
            if line.startswith("["):
                stamp, value, unit, criterion, name, vm, suite, *arguments = cells
                args, warmup, *settings = [*arguments, *[""] * 5][:5]
                yield Point(
                    name,
                    (vm, suite, args, *settings, "", warmup),
                    stamp,
                    None,
                    (criterion, unit),
                    value,
                    location,
                )
            else:
                invocation, iteration, value, unit, criterion, name, *settings = cells
                numbers = _count(source, location, invocation), _count(source, location, iteration)
                yield Point(name, tuple(settings), *numbers, (criterion, unit), value, location)


def _count(source: Source, location: str, text: str) -> int:
    count = whole(text, 9)
    if count is None:
        raise source.error(
            f"{location} begins with {text[:30]!r}; expected the number of an invocation or an "
            "iteration"
        )
    return count


def _described(line: str) -> dict[str, Any]:
    title, _, text = line.partition(": ")
    if title == "# Environment":
        return _environment(json_object(text))
    return renamed((json_object(text), SOURCE), missing=(None,)) if title == "# Source" else {}


def _environment(content: dict[str, Any]) -> dict[str, Any]:
    metadata = renamed((content, ENVIRONMENT), missing=(None,))
    software = {
        str(row.get("name")): row.get("version")
        for row in content.get("software") or ()
        if isinstance(row, dict)
    }
    metadata |= renamed(
        (software, SOFTWARE), (content.get("denoise") or {}, DENOISE), missing=(None,)
    )
    for key, name, unit in (("memory", "memory_gb", 2**30), ("clockSpeed", "cpu_mhz", 10**6)):
        if isinstance(content.get(key), int | float):
            metadata[name] = content[key] / unit
    return metadata


def _points_of_json(source: Source, file_metadata: dict[str, Any]) -> Iterator[Point]:
    """Yield the measurements sent to ReBenchDB, one or many values a criterion."""
    content = source.json
    file_metadata |= _environment(content.get("env") or {})
    file_metadata |= renamed(
        (content.get("source") or {}, SOURCE), (content, EXPERIMENT), missing=(None,)
    )
    criteria = {
        criterion["i"]: (criterion["c"], criterion["u"])
        for criterion in content.get("criteria") or ()
    }
    for index, run in enumerate(content["data"]):
        run_id = run["runId"]
        name, suite = run_id["benchmark"]["name"], run_id["benchmark"]["suite"]
        settings = (
            suite["executor"]["name"],
            suite["name"],
            *(run_id.get(key) for key in ("extraArgs", "cores", "inputSize", "varValue")),
        )
        for position, point in enumerate(run.get("d") or ()):
            location = f"data[{index}]: d[{position}]"
            for criterion_index, measurement in enumerate(point["m"]):
                is_one_value = isinstance(measurement, dict)
                values = (
                    [(point.get("it"), measurement["v"])]
                    if is_one_value
                    else enumerate(measurement or (), 1)
                )
                number = measurement["c"] if is_one_value else criterion_index
                if number not in criteria:
                    raise source.error(
                        f"{location} has a value of criterion {number!r}; 'criteria' has "
                        f"{listed(criteria) or 'none'}"
                    )
                for iteration, value in values:
                    yield Point(
                        name, settings, point["in"], iteration, criteria[number], value, location
                    )


def _variables(
    points: list[Point],
) -> tuple[dict[tuple[str, str], tuple[str, float]], dict[str, tuple[str, str]]]:
    """Return variable and factor by criterion and unit, and kinds by variable, `total` first."""
    names: dict[tuple[str, str], tuple[str, float]] = {}
    kinds: dict[str, tuple[str, str]] = {}
    pairs = dict.fromkeys(point.measured for point in points)
    rates = {
        unit for criterion, unit in pairs if criterion == "total" and seconds_factor(unit) is None
    }
    for criterion, unit in sorted(
        pairs, key=lambda pair: (pair[0] != "total", seconds_factor(pair[1]) is None)
    ):
        factor = seconds_factor(unit)
        units, scale = (
            (SECONDS, factor)
            if factor is not None
            else per_second(unit)
            if len(rates) > 1 and unit in rates
            else (unit, 1.0)
        )
        name = variable_name(criterion, "criterion_")
        if criterion == "total":
            name = TIME if factor is not None else THROUGHPUT
        better = HIGHER if name == THROUGHPUT else LOWER
        if kinds.setdefault(name, (units, better)) != (units, better):
            name = variable_name(f"{name}_{units}", "criterion_")
            kinds[name] = (units, better)
        names[criterion, unit] = (name, scale)
    return names, kinds


def _run(
    source: Source,
    by_variable: dict[str, dict[int, Point]],
    names: dict[tuple[str, str], tuple[str, float]],
) -> Run:
    """Return one invocation, each number at its iteration."""
    columns = {
        iteration: column
        for column, iteration in enumerate(sorted(set(chain.from_iterable(by_variable.values()))))
    }
    values = {}
    for name, by_iteration in by_variable.items():
        points = list(by_iteration.values())
        locations = [f"{point.location}: {point.measured[0]!r}" for point in points]
        point_values, benchmark = [point.value for point in points], points[0].name
        numbers = amounts(
            source, locations.__getitem__, point_values, from_zero=name == TIME, benchmark=benchmark
        )
        values[name] = np.full(len(columns), np.nan)
        values[name][[columns[iteration] for iteration in by_iteration]] = numbers * [
            names[point.measured][1] for point in points
        ]
    return Run(values)
