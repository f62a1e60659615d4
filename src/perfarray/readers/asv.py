"""asv results (`results/<machine>/<commit>-<environment>.json`): a file is a machine, a commit and an environment.

A number is the median of the samples of all processes, so that a cell has one value; `--record-samples` keeps the samples, which are
iterations. A parameter combination is a benchmark of its own, `time_sort(10, 'a')`. `time_` are times, `mem_` memory, the rest is `track`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from math import isnan, prod
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import LOOPS, LOWER, MACHINE, TIME, UNKNOWN
from perfarray.readers import entries
from perfarray.readers.entries import KINDS, Entry, Run, amounts, table_of_entries, times, value_of
from perfarray.readers.names import variable_name
from perfarray.readers.opening import FileError, Source
from perfarray.readers.shapes import ANY, NULL, TEXT, Either, deviation
from perfarray.tables.columns import Descriptor, Table, constant_column
from perfarray.timings.values import direction_of

NAME = "asv"
PLACED = True
BESIDE = ("machine.json", "benchmarks.json")
COMMIT = "commit"
ENVIRONMENT = "environment"

# `params` of a file to our coordinates; others keep their names
PARAMS = {"arch": "architecture", "python": "python_version", "num_cpu": "logical_cores"}
METRICS = {"time": TIME, "timeraw": TIME, "mem": "memory", "peakmem": "memory"}  # How the names of benchmarks begin, and what they measure
TRACK = "track"
SHAPE = {"commit_hash": ANY, "results": {...: ANY}, "params?": {}, "result_columns?": [TEXT]}
FIELDS = {"params?": [[ANY]], "stats?": Either([Either({}, NULL)], {})}  # The shape of the JSON, and of what it has of a benchmark


class Described(NamedTuple):
    """What `benchmarks.json` says of a benchmark: the names of its parameters, and its unit."""

    names: tuple[str, ...]
    unit: str


UNDESCRIBED = Described((), "")
MOST = 1 << 16  # Combinations of parameters one benchmark may have


def started(head: str) -> bool:
    """Return whether a broken file began as asv's results."""
    return '"commit_hash"' in head or '"result_columns"' in head


def recognise(source: Source) -> bool:
    """Return whether the content is results of a commit."""
    content = source.json_or_none
    return isinstance(content, dict) and isinstance(content.get("results"), dict) and "commit_hash" in content


def read(source: Source) -> Table:
    """Read the results of one commit: benchmark x machine x commit x execution x iteration; what asv writes as null failed."""
    content = source.json
    columns = content.get("result_columns") or []
    suite = _suite(source)
    suite_entries = [
        entry
        for name, result in content["results"].items()
        for entry in _entries(source, name, _fields(result, columns), suite.get(name, UNDESCRIBED))
        if entry.runs
    ]
    params = content.get("params") or {}
    about = {PARAMS.get(key, key): value for key, value in params.items() if value not in (None, "") and key != MACHINE}
    about |= {ENVIRONMENT: content.get("env_name") or source.path.stem.partition("-")[2]}
    table = table_of_entries(source, suite_entries, kinds={**KINDS, TRACK: ("1", LOWER)} | _tracked(suite), about=about)
    file_labels = {MACHINE: str(params.get(MACHINE) or UNKNOWN), COMMIT: str(content["commit_hash"])[:8]}
    stated = {"commit_hash": str(content["commit_hash"]), "commit_date": _date(content.get("date"))}
    return replace(
        table,
        labels=table.labels | {dim: constant_column(label, len(table)) for dim, label in file_labels.items()},
        descriptors=table.descriptors
        | {name: Descriptor(dims=(COMMIT,), values={(file_labels[COMMIT],): value}, keep=(COMMIT,)) for name, value in stated.items()},
    )


def agree(tables: Sequence[Table]) -> list[Table]:
    """Make the environment a dim where a commit was measured in several on one machine."""
    agreed = entries.agree(tables)
    environments: dict[tuple[str, str], set[str]] = {}
    for table in agreed:
        environments.setdefault((table.labels[MACHINE].labels[0], table.labels[COMMIT].labels[0]), set()).add(_environment(table))
    if all(len(names) == 1 for names in environments.values()):
        return agreed
    return [
        replace(
            table,
            labels=table.labels | {ENVIRONMENT: constant_column(_environment(table), len(table))},
            descriptors={name: descriptor for name, descriptor in table.descriptors.items() if name != ENVIRONMENT},
        )
        for table in agreed
    ]


def _environment(table: Table) -> str:
    return str(table.descriptors[ENVIRONMENT].values[()]) if ENVIRONMENT in table.descriptors else UNKNOWN


def _fields(result: Any, columns: Sequence[str]) -> Mapping[str, Any]:
    """Return one benchmark's results by name: a number, a mapping (version 1), or a list with the columns of the file (version 2)."""
    if isinstance(result, Mapping):
        return result
    if isinstance(result, list):
        return dict(zip(columns, result, strict=False))
    return {"result": [result]}


def _suite(source: Source) -> Mapping[str, Described]:
    """Return what `benchmarks.json`, one folder above, says of the benchmarks: it is read once for all files."""
    sibling = source.beside("../benchmarks.json")
    try:
        return {} if sibling is None else source.once(_described, sibling.text)
    except FileError as error:
        source.note("no_descriptions", f"units and names of parameters cannot be read: {error}")
        return {}


def _described(text: str) -> Mapping[str, Described]:
    """Return the names of the parameters and the unit of each benchmark."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    stated = {name: entry for name, entry in content.items() if isinstance(entry, dict)} if isinstance(content, dict) else {}
    return {
        name: Described(_names(entry.get("param_names")), entry["unit"] if isinstance(entry.get("unit"), str) else "")
        for name, entry in stated.items()
    }


def _names(value: Any) -> tuple[str, ...]:
    """Return the names of parameters, none where they are no list."""
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _metric(name: str, unit: str) -> str:
    """Return the variable of a benchmark: by how its name begins; what is tracked has one for each unit."""
    metric = METRICS.get(name.rpartition(".")[2].partition("_")[0], TRACK)
    return variable_name(f"{TRACK}_{unit}", "") if metric == TRACK and unit not in ("", "unit") else metric


def _tracked(suite: Mapping[str, Described]) -> dict[str, tuple[str, str]]:
    """Return unit and direction of what is tracked."""
    pairs = ((_metric(name, description.unit), description.unit) for name, description in suite.items())
    return {metric: (unit, direction_of(unit)) for metric, unit in pairs if metric.startswith(f"{TRACK}_")}


def _entries(source: Source, name: str, fields: Mapping[str, Any], described: Described) -> list[Entry]:
    """Return a benchmark for every combination of parameters."""
    if wrong := deviation(fields, FIELDS, f"results[{name!r}]"):
        raise source.error(wrong)
    params = fields.get("params") or []
    size = prod(len(values) for values in params)
    if size > MOST:
        raise source.error(f"{name!r} has {size} combinations of parameters; {MOST} are the most that are read")
    results = _listed(fields.get("result"), size)
    stats, samples, numbers = (_listed(fields.get(key) or None, size) for key in ("stats", "samples", "stats_number"))
    for column, key in ((results, "results"), (stats, "'stats'"), (samples, "'samples'"), (numbers, "'stats_number'")):
        if len(column) != size:
            raise source.error(f"{name!r} has {len(column)} {key} and {size} combinations of parameters")
    metric = _metric(name, described.unit)
    stated = described.names if len(set(described.names)) == len(params) else ()
    names = stated or tuple(f"arg{position}" for position in range(len(params)))
    parameter_entries = []
    for index, (chosen, value) in enumerate(zip(product(*params), results, strict=True)):
        loops = numbers[index] if stats[index] is None else stats[index].get("number", numbers[index])
        run = _run(source, f"{name!r}: result {index}", metric, samples[index] or value, loops)
        label = f"{name}({', '.join(map(str, chosen))})" if chosen else name
        settings = {key: value_of(str(parameter)) for key, parameter in zip(names, chosen, strict=True)}
        parameter_entries.append(Entry(label, [run], settings, {"benchmark_name": name}))
    return parameter_entries


def _listed(value: Any, size: int) -> list[Any]:
    """Return the values of a benchmark, one for each combination of parameters: version 1 writes a single one without a list."""
    return [None] * size if value is None else value if isinstance(value, list) else [value]


def _run(source: Source, location: str, metric: str, value: Any, number: Any) -> Run:
    """Return one result or its samples: null failed, NaN was not measured."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return Run({metric: np.array([np.nan])}, marks={"failed": np.array([value is None])})
    samples = value if isinstance(value, list) else [value]
    values = (times if metric == TIME else amounts)(source, location, samples)
    if not isinstance(value, list) or number is None:
        return Run({metric: values})
    return Run({metric: values}, {LOOPS: np.repeat(amounts(source, f"{location}: 'number'", [number]), len(values))})


def _date(stamp: Any) -> str | None:
    """Return the date of a commit from milliseconds since 1970."""
    try:
        return datetime.fromtimestamp(stamp / 1000, UTC).isoformat()
    except (TypeError, ValueError, OverflowError, OSError):
        return None
