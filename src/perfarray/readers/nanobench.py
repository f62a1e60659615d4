"""nanobench JSON (`templates::json()`): a file is an execution, epochs are its iterations.

`loops` is the number of iterations in an epoch.

`elapsed` is the time of one iteration; the `batch` of operations that an iteration does stays a
coordinate. Counters are variables, per iteration. Those of the processor are 0 in the whole file if
it could not count them, and those of the system if nothing could.
"""

from typing import Any

from perfarray.conventions import LOOPS, LOWER, TIME
from perfarray.readers.entries import (
    KINDS,
    Entry,
    Run,
    amounts,
    columns_by_name,
    table_of_entries,
    times,
)
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, TEXT, has_keys, rows_with
from perfarray.tables.columns import Table

NAME = "nanobench"
OF_PROCESSOR = ("instructions", "cpucycles", "branchinstructions", "branchmisses")
COUNTERS = (*OF_PROCESSOR, "pagefaults", "contextswitches")
SETTINGS = ("title", "complexityN", "batch")
UNSET = -1  # What stands for a size that was not given
SHAPE = {"results": [{"name": TEXT, "measurements": [{"iterations": ANY, "elapsed": ANY}]}]}

started = has_keys("results", "measurements|median(elapsed)", "elapsed|median(elapsed)")


def recognise(source: Source) -> bool:
    """Return whether the content has results with epochs; templates may add other fields."""
    results = source.json_object.get("results")
    return rows_with(results, "name", "measurements") and any(
        rows_with(row["measurements"], "iterations", "elapsed") for row in results
    )


def read(source: Source) -> Table:
    """Read the epochs: benchmark x execution x iteration."""
    results = source.json["results"]
    entries = [_entry(source, f"results[{index}]", result) for index, result in enumerate(results)]
    positive = {
        name
        for entry in entries
        for run in entry.runs
        for name, values in run.values.items()
        if (values > 0).any()
    }
    counted_metrics = [
        name
        for name in COUNTERS
        if not positive.isdisjoint(OF_PROCESSOR if name in OF_PROCESSOR else COUNTERS)
    ]
    return table_of_entries(
        source, entries, kinds=KINDS | dict.fromkeys(counted_metrics, ("1", LOWER))
    )


def _entry(source: Source, location: str, result: dict[str, Any]) -> Entry:
    """Return one benchmark; without an epoch it was not measured, and has no run."""
    measurements, name = result["measurements"], result["name"]
    columns = {key: values for key, (_, values) in columns_by_name(source, measurements).items()}
    elapsed = [measurement["elapsed"] for measurement in measurements]
    values = {TIME: times(source, f"{location}: 'elapsed'", elapsed, benchmark=name)}
    for key in COUNTERS:
        if key in columns and len(columns[key]) == len(measurements):
            values[key] = amounts(source, f"{location}: {key!r}", columns[key], benchmark=name)
    iterations = [measurement["iterations"] for measurement in measurements]
    loops = amounts(
        source, f"{location}: 'iterations'", iterations, above_zero=True, benchmark=name
    )
    settings = {key: None if result.get(key) == UNSET else result.get(key) for key in SETTINGS}
    runs = [Run(values, {LOOPS: loops})] if measurements else []
    return Entry(name, runs, settings, {"unit": result.get("unit")})
