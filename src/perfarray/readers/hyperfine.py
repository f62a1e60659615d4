"""hyperfine JSON (`--export-json`): each time is one process, so times are executions.

Warm-up runs are not in the file. A run that ended with an exit code other than 0 failed: it has no
time, unless `keep_failed` says that it has. A time of 0 is what remains of a process that took no
longer than the shell, whose start hyperfine subtracts.
"""

from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from perfarray.conventions import BENCHMARK, TIME
from perfarray.numerics.types import Floats, Mask
from perfarray.readers.entries import (
    SHOWN,
    Columns,
    Entry,
    amounts,
    note_means,
    table_of_columns,
    times,
)
from perfarray.readers.labels import LISTED_NAMES
from perfarray.readers.numbers import value_of
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, has_keys, rows_with
from perfarray.tables.columns import Table
from perfarray.timings.validation import listed

NAME = "hyperfine"
RESULT = {
    "command": ANY,
    "times|mean": ANY,
    "times?": [ANY],
    "exit_codes?": [ANY],
    "memory_usage_byte?": [ANY],
    "parameters?": {},
}
SHAPE = {"results": [RESULT]}
FAILURE_REMEDY = (
    "Where an exit code other than 0 is an answer (grep, diff), keep_failed=True keeps the times."
)

NO_RUNS = (np.empty(0), np.empty(0), np.empty(0, dtype=bool))  # Times, memory, and what failed

Result = dict[str, Any]

started = has_keys("results", "command")


def recognise(source: Source) -> bool:
    """Return whether the content is a list of commands and how long they took."""
    results = source.json_object.get("results")
    return rows_with(results, "command") and all(
        not result.keys().isdisjoint(("times", "mean")) for result in results
    )


def read(source: Source) -> Table:
    """Read the times of every command: benchmark x execution x iteration."""
    results = source.json["results"]
    note_means(source, sum(not result.get("times") for result in results))
    runs = _plain_runs(results) or [
        _runs(source, f"results[{index}]", result) for index, result in enumerate(results)
    ]
    executions = np.array([len(_times_and_codes(result)[0]) for result in results], dtype=np.intp)
    entries = [
        Entry(
            str(result["command"]),
            (),
            {key: value_of(str(text)) for key, text in (result.get("parameters") or {}).items()},
        )
        for result in results
    ]
    run_times, memory, failed = (
        np.concatenate(column) for column in zip(NO_RUNS, *runs, strict=True)
    )
    values = {TIME: run_times} | (
        {"memory": memory} if any(result.get("memory_usage_byte") for result in results) else {}
    )
    columns = Columns(
        executions, np.ones(int(executions.sum()), dtype=np.intp), values, marks={"failed": failed}
    )
    table = table_of_columns(source, entries, columns)
    reasons = zip(table.labels[BENCHMARK].labels, map(_reason, results), strict=True)
    failures = [f"{label[:SHOWN]}: {reason}" for label, reason in reasons if reason]
    if source.options.keep_failed:
        _note_kept(source, failures)
    else:
        source.failures.extend(failures)
    return table


def _plain_runs(results: list[Result]) -> list[tuple[Floats, Floats, Mask]]:
    """Return the runs of all commands together.

    None where one of these failed or has an amount of memory.
    """
    pairs = list(map(_times_and_codes, results))
    all_times = list(chain.from_iterable(run_times for run_times, _ in pairs))
    succeeded = all(
        type(run_times) is type(codes) is list and len(run_times) == len(codes) == codes.count(0)
        for run_times, codes in pairs
    )
    if (
        not succeeded
        or any(result.get("memory_usage_byte") for result in results)
        or not set(map(type, all_times)) <= {float, int}
    ):
        return []
    with suppress(OverflowError):
        values = np.array(all_times, dtype=float)
        if np.isfinite(values).all() and (values >= 0).all():
            return [(values, np.full(len(values), np.nan), np.zeros(len(values), dtype=bool))]
    return []


def _runs(source: Source, location: str, result: Result) -> tuple[Floats, Floats, Mask]:
    """Return time and memory of each process of a command, and whether it failed."""
    run_times, codes = _times_and_codes(result)
    memory_bytes = result.get("memory_usage_byte")
    if len(codes) != len(run_times) or (memory_bytes and len(memory_bytes) != len(run_times)):
        raise source.error(
            f"{location}: {len(run_times)} times, {len(codes)} exit codes and "
            f"{len(memory_bytes or run_times)} amounts of memory do not match"
        )
    failed = np.array([code != 0 and not source.options.keep_failed for code in codes])
    valid = np.flatnonzero(~failed)
    values = np.full(len(run_times), np.nan)
    stated_times, command = [run_times[run] for run in valid], str(result["command"])
    values[valid] = times(
        source, lambda index: f"{location}: value {valid[index]}", stated_times, benchmark=command
    )
    memory = (
        amounts(source, f"{location}: 'memory_usage_byte'", memory_bytes, benchmark=command)
        if memory_bytes
        else np.nan
    )
    return values, np.where(failed, np.nan, memory), failed


def _times_and_codes(result: Result) -> tuple[list[Any], list[Any]]:
    """Return the times of a command and its exit codes: 0 where the version does not write them."""
    run_times = result.get("times") or [result["mean"]]
    return run_times, result.get("exit_codes") or [0] * len(run_times)


def _reason(result: Result) -> str:
    """Return how many runs of a command failed, and with which exit codes.

    An empty text if none did.
    """
    _, codes = _times_and_codes(result)
    odd = [code for code in codes if code != 0]
    numbers = list(dict.fromkeys(str(code) for code in odd if code is not None))
    ends = [f"exit code{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"] * bool(numbers) + [
        "ended by a signal"
    ] * (None in odd)
    return f"{len(odd)} of {len(codes)} runs failed, {', '.join(ends)}" if odd else ""


def _note_kept(source: Source, failures: list[str]) -> None:
    if failures:
        sentence = f"{listed(failures, 5)}. Their times are kept, as keep_failed=True says."
        source.note(
            "kept_failed", sentence, benchmarks=len(failures), reasons=failures[:LISTED_NAMES]
        )
