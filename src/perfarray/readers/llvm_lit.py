"""Results of LLVM's lit (`--output`) and its test-suite: one execution of each test.

A test with an `exec_time` of 0.0 was compiled and not executed. The `exec_time` of a
micro-benchmark, `a.test:BM_x`, is in the unit that its source chose, which the file does not state:
it is a variable of its own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from perfarray.conventions import LOWER, SECONDS, TIME
from perfarray.readers.entries import FAILED, SHOWN, Entry, Run, amount_or_nan, table_of_entries
from perfarray.readers.numbers import parsed_number
from perfarray.readers.opening import Source
from perfarray.readers.shapes import TEXT, has_keys, rows_with
from perfarray.tables.columns import Table

NAME = "llvm_lit"
MICRO = ".test:"  # Between a test and its micro-benchmark
MICRO_TIME = "micro_time"
METRICS = {
    "exec_time": TIME,
    "compile_time": "compile_time",
    "link_time": "link_time",
    "size": "size",
}
KINDS = dict.fromkeys((TIME, "compile_time", "link_time"), (SECONDS, LOWER)) | {
    "size": ("B", LOWER),
    MICRO_TIME: ("1", LOWER),
}
PASSED = ("PASS", "FLAKYPASS")
NOT_EXECUTED = ("UNSUPPORTED", "SKIPPED", "EXCLUDED")
MAX_COUNTERS = 100  # Further metrics that are kept; the statistics of the compiler are thousands
SHAPE = {"tests": [{"name": TEXT, "code": TEXT, "metrics?": {}}]}

started = has_keys("__version__", "elapsed", "tests")


def recognise(source: Source) -> bool:
    """Return whether the content is tests with codes, as lit of some version wrote them."""
    return "__version__" in source.json_object and rows_with(
        source.json_object.get("tests"), "name", "code"
    )


def read(source: Source) -> Table:
    """Read tests with metrics or failures: benchmark x execution x iteration."""
    tests = source.json["tests"]
    metrics = [test["metrics"] for test in tests if test.get("metrics")]
    if not metrics:
        raise source.error(
            f"has no metrics in any of its {len(tests)} tests; those of LLVM's test-suite have some"
        )
    counters = _counters(source, metrics)
    entries = [
        _entry(source, test, counters)
        for test in tests
        if test.get("metrics") or test["code"] not in PASSED
    ]
    columns = [column for entry in entries for run in entry.runs for column in run.values.items()]
    measured = {variable for variable, values in columns if np.isfinite(values).any()}
    if MICRO_TIME in measured:
        sentence = (
            f"micro-benchmarks have times without a unit. They are in {MICRO_TIME!r}, as the "
            "file has them."
        )
        source.note("unknown_unit", sentence)
    # Without an executed test the first metric that was measured is the main one.
    kinds = {variable: kind for variable, kind in KINDS.items() if variable in measured}
    return table_of_entries(source, entries, kinds=kinds or KINDS)


def _counters(source: Source, metrics: Sequence[dict[str, Any]]) -> list[str]:
    """Return the further metrics that are numbers, none where there are too many."""
    numbers = (
        key for row in metrics for key, value in row.items() if parsed_number(value) is not None
    )
    names = [key for key in dict.fromkeys(numbers) if key not in METRICS]
    if len(names) <= MAX_COUNTERS:
        return names
    source.note(
        "other_metrics",
        f"{len(names)} further metrics are not read, {names[0]!r} is the first.",
        metrics=len(names),
    )
    return []


def _entry(source: Source, test: dict[str, Any], counters: Sequence[str]) -> Entry:
    """Return one test; without a run if it was not executed."""
    name, code, metrics = test["name"], test["code"], test.get("metrics") or {}
    if code in NOT_EXECUTED:
        source.no_numbers.append(f"{name[:SHOWN]}: its code is {code!s:.{SHOWN}}")
        return Entry(name, ())
    if code not in PASSED:
        source.failures.append(f"{name[:SHOWN]}: its code is {code!s:.{SHOWN}}")
        return Entry(name, [FAILED], metadata={"code": code})
    values = {}
    for key in [key for key in METRICS if key in metrics]:
        variable = MICRO_TIME if key == "exec_time" and MICRO in name else METRICS[key]
        if key == "exec_time" and parsed_number(metrics[key]) == 0:
            source.no_numbers.append(f"{name[:SHOWN]}: exec_time is 0, so it was not executed")
            values[variable] = np.array([np.nan])
        else:
            values[variable] = np.array([amount_or_nan(source, name, key, metrics[key])])
    counter_values = {
        key: np.array([np.nan if (value := parsed_number(metrics.get(key))) is None else value])
        for key in counters
    }
    return Entry(
        name,
        [Run(values or FAILED.values, counter_values)],
        metadata={"code": code, "hash": metrics.get("hash")},
    )
