"""asv results (`results/<machine>/<commit>-<environment>.json`): one machine and commit a file.

A number is the median of the samples of all processes, so that a cell has one value;
`--record-samples` keeps the samples, which are iterations. A parameter combination is a benchmark
of its own, `time_sort(10, 'a')`. `time_` are times, `mem_` memory, the rest is `track`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from math import isnan, prod
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import LOOPS, LOWER, MACHINE, TIME, UNKNOWN
from perfarray.readers import labels
from perfarray.readers.entries import KINDS, Entry, Run, amounts, table_of_entries
from perfarray.readers.labels import variable_name
from perfarray.readers.numbers import value_of
from perfarray.readers.opening import FileError, Source, json_object
from perfarray.readers.shapes import ANY, NULL, TEXT, Either, deviation, has_keys
from perfarray.tables.columns import Descriptor, Table, constant_column
from perfarray.timings.values import direction_of

NAME = "asv"
PLACED = True
BESIDE = ("machine.json", "benchmarks.json")
COMMIT = "commit"
ENVIRONMENT = "environment"
PARAMS = {
    "arch": "architecture",
    "python": "python_version",
    "num_cpu": "logical_cores",
}  # `params` to our coordinates
METRICS = {
    "time": TIME,
    "timeraw": TIME,
    "mem": "memory",
    "peakmem": "memory",
}  # By the first word of a benchmark's name
TRACK = "track"
MOST_COMBINATIONS = 1 << 16  # Combinations of parameters one benchmark may have
SHAPE = {"commit_hash": ANY, "results": {...: ANY}, "params?": {}, "result_columns?": [TEXT]}
RESULT_SHAPE = {"params?": [[ANY]], "stats?": Either([Either({}, NULL)], {})}  # Of one benchmark


class Description(NamedTuple):
    """What `benchmarks.json` says of a benchmark: the names of its parameters, and its unit."""

    parameters: tuple[str, ...] = ()
    unit: str = ""


started = has_keys("commit_hash|result_columns")


def recognise(source: Source) -> bool:
    """Return whether the content is results of a commit."""
    return (
        isinstance(source.json_object.get("results"), dict) and "commit_hash" in source.json_object
    )


def read(source: Source) -> Table:
    """Read the results of one commit: benchmark x machine x commit x execution x iteration.

    What asv writes as null failed.
    """
    content = source.json
    columns = content.get("result_columns") or []
    descriptions = _descriptions(source)
    entries = [
        entry
        for name, result in content["results"].items()
        for entry in _entries(
            source, name, _fields(result, columns), descriptions.get(name, Description())
        )
        if entry.runs
    ]
    params = content.get("params") or {}
    file_metadata = {
        PARAMS.get(key, key): value
        for key, value in params.items()
        if value not in (None, "") and key != MACHINE
    }
    file_metadata |= {ENVIRONMENT: content.get("env_name") or source.path.stem.partition("-")[2]}
    tracked = {
        _metric(name, description.unit): description.unit
        for name, description in descriptions.items()
    }
    tracked_kinds = {
        metric: (unit, direction_of(unit))
        for metric, unit in tracked.items()
        if metric.startswith(f"{TRACK}_")
    }
    table = table_of_entries(
        source,
        entries,
        kinds={**KINDS, TRACK: ("1", LOWER)} | tracked_kinds,
        file_metadata=file_metadata,
    )
    commit_hash = str(content["commit_hash"])
    commit = {"commit_hash": commit_hash, "commit_date": _date(content.get("date"))}
    dims = {MACHINE: str(params.get(MACHINE) or UNKNOWN), COMMIT: commit_hash[:8]}
    return replace(
        table,
        labels=table.labels
        | {dim: constant_column(label, len(table)) for dim, label in dims.items()},
        descriptors=table.descriptors
        | {
            name: Descriptor(dims=(COMMIT,), values={(dims[COMMIT],): value}, keep=(COMMIT,))
            for name, value in commit.items()
        },
    )


def agree(tables: Sequence[Table]) -> list[Table]:
    """Make the environment a dim where a commit was measured in several on one machine."""
    agreed = labels.agree(tables)
    environments: dict[tuple[str, str], set[str]] = {}
    for table in agreed:
        environments.setdefault(
            (table.labels[MACHINE].labels[0], table.labels[COMMIT].labels[0]), set()
        ).add(_environment(table))
    if all(len(names) == 1 for names in environments.values()):
        return agreed
    return [
        replace(
            table,
            labels=table.labels | {ENVIRONMENT: constant_column(_environment(table), len(table))},
            descriptors={
                name: descriptor
                for name, descriptor in table.descriptors.items()
                if name != ENVIRONMENT
            },
        )
        for table in agreed
    ]


def _environment(table: Table) -> str:
    return (
        str(table.descriptors[ENVIRONMENT].values[()])
        if ENVIRONMENT in table.descriptors
        else UNKNOWN
    )


def _fields(result: Any, columns: Sequence[str]) -> Mapping[str, Any]:
    """Return one benchmark's results by name, from the number, mapping or list of a version."""
    if isinstance(result, Mapping):
        return result
    if isinstance(result, list):
        return dict(zip(columns, result, strict=False))
    return {"result": [result]}


def _descriptions(source: Source) -> Mapping[str, Description]:
    """Return `benchmarks.json` of the folder above, parsed once for all files."""
    sibling = source.beside("../benchmarks.json")
    try:
        return {} if sibling is None else source.once(_parsed, sibling.text)
    except FileError as error:
        source.note("no_descriptions", f"units and names of parameters cannot be read: {error}")
        return {}


def _parsed(text: str) -> Mapping[str, Description]:
    descriptions = {}
    for name, entry in json_object(text).items():
        if isinstance(entry, dict):
            names, unit = entry.get("param_names"), entry.get("unit")
            parameters = tuple(map(str, names)) if isinstance(names, list) else ()
            descriptions[name] = Description(parameters, unit if isinstance(unit, str) else "")
    return descriptions


def _metric(name: str, unit: str) -> str:
    """Return the variable of a benchmark by the first word of its name.

    Tracked numbers have one for each unit.
    """
    metric = METRICS.get(name.rpartition(".")[2].partition("_")[0], TRACK)
    return (
        variable_name(f"{TRACK}_{unit}", "")
        if metric == TRACK and unit not in ("", "unit")
        else metric
    )


def _entries(
    source: Source, name: str, fields: Mapping[str, Any], description: Description
) -> list[Entry]:
    if wrong := deviation(fields, RESULT_SHAPE, f"results[{name!r}]"):
        raise source.error(wrong)
    params = fields.get("params") or []
    size = prod(len(values) for values in params)
    if size > MOST_COMBINATIONS:
        raise source.error(
            f"{name!r} has {size} combinations of parameters; {MOST_COMBINATIONS} are the most "
            "that are read"
        )
    result_or_null = (
        None if fields.get("result") == [None] else fields.get("result")
    )  # One null may stand for all combinations
    results = _listed(result_or_null, size)
    stats, samples, numbers = (
        _listed(fields.get(key) or None, size) for key in ("stats", "samples", "stats_number")
    )
    for column, key in (
        (results, "results"),
        (stats, "'stats'"),
        (samples, "'samples'"),
        (numbers, "'stats_number'"),
    ):
        if len(column) != size:
            raise source.error(
                f"{name!r} has {len(column)} {key} and {size} combinations of parameters"
            )
    metric = _metric(name, description.unit)
    has_unique_names = len(set(description.parameters)) == len(params)
    names = (
        description.parameters
        if has_unique_names
        else tuple(f"arg{position}" for position in range(len(params)))
    )
    entries = []
    for index, (values, result) in enumerate(zip(product(*params), results, strict=True)):
        loops = (
            numbers[index] if stats[index] is None else stats[index].get("number", numbers[index])
        )
        run = _run(source, f"{name!r}: result {index}", metric, samples[index] or result, loops)
        label = f"{name}({', '.join(map(str, values))})" if values else name
        if "failed" in run.marks and run.marks["failed"].all():
            source.failures.append(f"{label}: its result is null")
        settings = {key: value_of(str(value)) for key, value in zip(names, values, strict=True)}
        entries.append(Entry(label, [run], settings, {"benchmark_name": name}))
    return entries


def _listed(value: Any, size: int) -> list[Any]:
    """Return one value per combination of parameters; version 1 writes a single one bare."""
    return [None] * size if value is None else value if isinstance(value, list) else [value]


def _run(source: Source, location: str, metric: str, value: Any, number: Any) -> Run:
    """Return one result or its samples: null failed, NaN was not measured."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return Run({metric: np.array([np.nan])}, marks={"failed": np.array([value is None])})
    samples = value if isinstance(value, list) else [value]
    values = {metric: amounts(source, location, samples, from_zero=metric == TIME)}
    if not isinstance(value, list) or number is None:
        return Run(values)
    return Run(
        values, {LOOPS: np.repeat(amounts(source, f"{location}: 'number'", [number]), len(samples))}
    )


def _date(stamp: Any) -> str | None:
    try:
        return datetime.fromtimestamp(stamp / 1000, UTC).isoformat()
    except (TypeError, ValueError, OverflowError, OSError):
        return None
