"""conbench JSON: benchmark results of its API, or a comparison of two runs, along `run`.

The data of a result are iterations; a further result of the same case in the same run is another
execution. A comparison has one number for each side. A unit of time is `time`, another one
`throughput` or a variable of its own.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import HIGHER, LOWER, SECONDS, THROUGHPUT, TIME, seconds_factor
from perfarray.readers.entries import Entry, Run, amounts, note_means, renamed, table_along, times
from perfarray.readers.labels import RESERVED, number_or_text, variable_name
from perfarray.readers.numbers import parsed_number
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, NULL, Either, has_keys
from perfarray.tables.columns import Table

NAME = "conbench"
PLACED = True
RUN = "run"  # The dim of what conbench compares
SIDES = ("baseline", "contender")
RATES = {"i/s": "items/s", "b/s": "B/s"}  # Units that we write in another way
HARDWARE = {
    "name": "machine",
    "cpu_model_name": "cpu",
    "cpu_core_count": "cores",
    "cpu_thread_count": "logical_cores",
    "os_name": "os",
    "os_version": "os_release",
    "architecture_name": "architecture",
    "kernel_name": "kernel",
}
AMOUNTS = {
    "cpu_frequency_max_hz": ("cpu_max_mhz", 1e6),
    "memory_bytes": ("memory_gb", 2**30),
}  # Of the hardware, and their units
# Fields with versions, compilers and flags, under the names that the user gave them
SOFTWARE = ("info", "context")
STATS = {"data?": [ANY], "times?": [ANY]}
RESULT = {
    "stats": Either(STATS, NULL),
    "tags": Either({}, NULL),
    "run_id": ANY,
    "commit?": {},
    "hardware?": {},
    "info?": Either({}, NULL),
    "context?": Either({}, NULL),
}
SIDE = Either({"tags?": {}}, NULL)
ROW = Either(RESULT, {"baseline": SIDE, "contender": SIDE})
SHAPE = Either(
    [ROW], {"data": Either([ROW], {"data": [ROW]})}, RESULT
)  # With or without the object of an answer of the API around

Case = tuple[str, tuple[tuple[str, str], ...]]


class Result(NamedTuple):
    """One result: case, run, unit, values (None if it failed), their seconds, and location."""

    name: str
    tags: Mapping[str, Any]
    run: str
    unit: str
    better: str
    values: Sequence[Any] | None
    durations: Sequence[Any]
    location: str


started = has_keys("batch_id|less_is_better")


def recognise(source: Source) -> bool:
    """Return whether the content is results of conbench, or comparisons of them."""
    rows = _rows(source.json_or_none)
    return bool(rows) and all(
        isinstance(row, dict) and (_is_result(row) or set(SIDES) <= row.keys()) for row in rows
    )


def _rows(content: Any) -> list[Any]:
    """Return the list of results, also of one alone or inside objects of an API's answer."""
    for _ in range(2):
        if isinstance(content, dict) and isinstance(content.get("data"), dict | list):
            content = content["data"]
    if isinstance(content, dict) and _is_result(content):
        return [content]
    return content if isinstance(content, list) else []


def _is_result(row: dict[str, Any]) -> bool:
    return {"stats", "run_id", "tags"} <= row.keys()


def read(source: Source) -> Table:
    """Read the results: benchmark x run x execution x iteration."""
    rows = _rows(source.json)
    results = [
        result for index, row in enumerate(rows) for result in _results(row, f"data[{index}]")
    ]
    note_means(source, sum(not _is_result(row) for row in rows))
    variables, kinds = _variables(results)
    entries: dict[str, dict[Case, Entry]] = {}
    for result in results:
        settings = {key: value for key, value in result.tags.items() if key not in ("id", "name")}
        case = (result.name, tuple(sorted((key, repr(value)) for key, value in settings.items())))
        entry = entries.setdefault(result.run, {}).get(case, Entry(result.name, (), settings))
        entries[result.run][case] = entry._replace(
            runs=(*entry.runs, _run(source, result, variables))
        )
    return table_along(
        source,
        RUN,
        {run: list(cases.values()) for run, cases in entries.items()},
        kinds,
        _about(rows),
    )


def _results(row: dict[str, Any], location: str) -> list[Result]:
    """Return the one result of a row, or the two it compares."""
    if _is_result(row):
        tags, stats = row["tags"] or {}, row["stats"] or {}
        unit = str(stats.get("unit") or "1")
        better = HIGHER if unit.endswith("/s") or stats.get("less_is_better") is False else LOWER
        values = None if row.get("error") else stats.get("data") or None
        durations = (stats.get("times") or ()) if values else ()
        return [
            Result(
                str(tags.get("name")),
                tags,
                str(row["run_id"]),
                unit,
                better,
                values,
                durations,
                location=f"{location}: 'data'",
            )
        ]
    unit, better = (
        str(row.get("unit") or "1"),
        HIGHER if row.get("less_is_better") is False else LOWER,
    )
    results = []
    for side in SIDES:
        if content := row[side]:
            number = content.get("single_value_summary")
            values = None if content.get("error") or number is None else [number]
            name, tags, run = (
                str(content.get("benchmark_name")),
                content.get("tags") or {},
                str(content.get("run_id")),
            )
            results.append(
                Result(name, tags, run, unit, better, values, (), location=f"{location}: {side}")
            )
    return results


def _variables(results: Sequence[Result]) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Return the variable of each unit, and the units and direction of each variable.

    Times first, where there are any.
    """
    variables: dict[str, str] = {}
    kinds: dict[str, tuple[str, str]] = {}
    for result in sorted(results, key=lambda result: seconds_factor(result.unit) is None):
        units = RATES.get(result.unit, result.unit)
        if seconds_factor(result.unit) is not None:
            name, kind = TIME, (SECONDS, LOWER)
        elif result.better == HIGHER and kinds.get(THROUGHPUT, (units, HIGHER)) == (units, HIGHER):
            name, kind = THROUGHPUT, (units, HIGHER)
        else:
            name, kind = variable_name(units, "unit_"), (units, result.better)
        variables[result.unit] = name
        kinds.setdefault(name, kind)
    if any(result.durations for result in results):
        kinds.setdefault(TIME, (SECONDS, LOWER))
    return variables, kinds


def _run(source: Source, result: Result, variables: Mapping[str, str]) -> Run:
    """Return one execution; a number that is missing was not measured."""
    name = variables[result.unit]
    if result.values is None:
        return Run({name: np.array([np.nan])}, marks={"failed": np.array([True])})
    factor = (seconds_factor(result.unit) or 1.0) if name == TIME else 1.0
    values = {
        name: amounts(
            source, result.location, result.values, from_zero=name == TIME, benchmark=result.name
        )
        * factor
    }
    if name != TIME and len(result.durations) == len(result.values):
        values[TIME] = times(
            source, f"{result.location}, 'times'", result.durations, benchmark=result.name
        )
    return Run(values)


def _about(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return by run its date, commit, machine and software.

    Of several results of a run the last counts.
    """
    metadata_by_run: dict[str, dict[str, Any]] = {}
    used_names = {
        *RESERVED,
        *HARDWARE.values(),
        *(name for name, _ in AMOUNTS.values()),
        "date",
        "commit",
        RUN,
    }
    for row in filter(_is_result, rows):
        hardware, tags = row.get("hardware") or {}, row.get("tags") or {}
        fields = (
            (hardware, HARDWARE),
            (row, {"timestamp": "date"}),
            (row.get("commit") or {}, {"sha": "commit"}),
        )
        run_metadata = metadata_by_run.setdefault(str(row["run_id"]), {})
        run_metadata |= renamed(*fields, (row, {"run_reason": "run_reason"}), missing=(None,))
        amounts_in_row = (
            (name, parsed_number(hardware.get(key)), unit) for key, (name, unit) in AMOUNTS.items()
        )
        run_metadata |= {
            name: amount / unit for name, amount, unit in amounts_in_row if amount is not None
        }
        for key, value in chain.from_iterable((row.get(field) or {}).items() for field in SOFTWARE):
            if key not in (*tags, "id") and isinstance(value, str | int | float):
                run_metadata[variable_name(key, "context_", used_names)] = number_or_text(value)
    return metadata_by_run
