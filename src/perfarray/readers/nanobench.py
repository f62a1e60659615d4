"""nanobench JSON (`templates::json()`): a file is an execution, epochs are its iterations; `loops` is the number of iterations in an epoch.

`elapsed` is the time of one iteration; the `batch` of operations that an iteration does stays a coordinate. Counters of the processor are
variables, per iteration; one that is 0 in the whole file was not counted.
"""

from typing import Any

from perfarray.conventions import LOOPS, LOWER, TIME
from perfarray.readers.entries import KINDS, Entry, Run, amounts, columns_by_name, table_of_entries, times
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, TEXT, has_keys, rows_with
from perfarray.tables.columns import Table

NAME = "nanobench"
COUNTERS = ("instructions", "cpucycles", "branchinstructions", "branchmisses", "pagefaults", "contextswitches")
SETTINGS = ("title", "complexityN", "batch")
UNSET = -1  # What stands for a size that was not given
SHAPE = {"results": [{"name": TEXT, "measurements": [{"iterations": ANY, "elapsed": ANY}]}]}

started = has_keys("results", "measurements|median(elapsed)", "elapsed|median(elapsed)")


def recognise(source: Source) -> bool:
    """Return whether the content is a list of results with epochs, whatever else a template of the user's own writes."""
    results = source.json_object.get("results")
    return rows_with(results, "name", "measurements") and any(rows_with(row["measurements"], "iterations", "elapsed") for row in results)


def read(source: Source) -> Table:
    """Read the epochs: benchmark x execution x iteration."""
    results = source.json["results"]
    entries = [_entry(source, f"results[{index}]", result) for index, result in enumerate(results)]
    counted = {name for entry in entries for run in entry.runs for name, values in run.values.items() if values.any()}
    return table_of_entries(source, entries, kinds=KINDS | {name: ("1", LOWER) for name in COUNTERS if name in counted})


def _entry(source: Source, location: str, result: dict[str, Any]) -> Entry:
    """Return one benchmark; without an epoch it was not measured, and has no run."""
    measurements = result["measurements"]
    columns = {name: values for name, (_, values) in columns_by_name(source, measurements).items()}
    values = {TIME: times(source, f"{location}: 'elapsed'", [measurement["elapsed"] for measurement in measurements])}
    for name in COUNTERS:
        if name in columns and len(columns[name]) == len(measurements):
            values[name] = amounts(source, f"{location}: {name!r}", columns[name])
    loops = amounts(source, f"{location}: 'iterations'", [measurement["iterations"] for measurement in measurements], above_zero=True)
    settings = {name: None if result.get(name) == UNSET else result.get(name) for name in SETTINGS}
    runs = [Run(values, {LOOPS: loops})] if measurements else []
    return Entry(result["name"], runs, settings, {"unit": result.get("unit")})
