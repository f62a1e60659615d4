"""hyperfine JSON (`--export-json`): every time is that of a process, so times are executions of one iteration.

Warm-up runs are not in the file. A run that ended with an exit code other than 0 failed: it has no time.
A time of 0 is what remains of a process that took no longer than the shell, and is NaN. If the file has no exit codes, such a process may
have failed too: all times of its command are NaN.
"""

from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from perfarray.conventions import TIME
from perfarray.numerics.types import Floats, Mask
from perfarray.readers.entries import Columns, Entry, amounts, note_below_resolution, note_means, table_of_columns, times_or_nan
from perfarray.readers.numbers import value_of
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, has_keys, rows_with
from perfarray.tables.columns import Table

NAME = "hyperfine"
RESULT = {"command": ANY, "times|mean": ANY, "times?": [ANY], "exit_codes?": [ANY], "memory_usage_byte?": [ANY], "parameters?": {}}
SHAPE = {"results": [RESULT]}

NO_RUNS = (np.empty(0), np.empty(0), np.empty(0, dtype=bool))  # Times, memory, and what failed

Result = dict[str, Any]

started = has_keys("results", "command")


def recognise(source: Source) -> bool:
    """Return whether the content is a list of commands and how long they took."""
    results = source.json_object.get("results")
    return rows_with(results, "command") and all(not result.keys().isdisjoint(("times", "mean")) for result in results)


def read(source: Source) -> Table:
    """Read the times of every command: benchmark x execution x iteration."""
    results = source.json["results"]
    note_means(source, sum(not result.get("times") for result in results))
    runs = _plain_runs(results) or [_runs(source, f"results[{index}]", result) for index, result in enumerate(results)]
    executions = np.array([len(_times_and_codes(result)[0]) for result in results], dtype=np.intp)
    entries = [
        Entry(str(result["command"]), (), {key: value_of(str(text)) for key, text in (result.get("parameters") or {}).items()})
        for result in results
    ]
    times, memory, failed = (np.concatenate(column) for column in zip(NO_RUNS, *runs, strict=True))
    values = {TIME: times} | ({"memory": memory} if any(result.get("memory_usage_byte") for result in results) else {})
    columns = Columns(executions, np.ones(int(executions.sum()), dtype=np.intp), values, marks={"failed": failed})
    return table_of_columns(source, entries, columns, counts=_count_zeros(source, results))


def _plain_runs(results: list[Result]) -> list[tuple[Floats, Floats, Mask]]:
    """Return the runs of all commands together; none where one of these failed, took no time or has an amount of memory."""
    pairs = list(map(_times_and_codes, results))
    times = list(chain.from_iterable(times for times, _ in pairs))
    succeeded = all(type(times) is type(codes) is list and len(times) == len(codes) == codes.count(0) for times, codes in pairs)
    if not succeeded or any(result.get("memory_usage_byte") for result in results) or not set(map(type, times)) <= {float, int}:
        return []
    with suppress(OverflowError):
        values = np.array(times, dtype=float)
        if np.isfinite(values).all() and (values > 0).all():
            return [(values, np.full(len(values), np.nan), np.zeros(len(values), dtype=bool))]
    return []


def _runs(source: Source, location: str, result: Result) -> tuple[Floats, Floats, Mask]:
    """Return time and memory of each process of a command, and whether it failed."""
    times, codes = _times_and_codes(result)
    stated = result.get("memory_usage_byte")
    if len(codes) != len(times) or (stated and len(stated) != len(times)):
        raise source.error(
            f"{location}: {len(times)} times, {len(codes)} exit codes and {len(stated or times)} amounts of memory do not match"
        )
    failed = np.array([code != 0 for code in codes])
    succeeded = [time for time, code in zip(times, codes, strict=True) if code == 0] if failed.any() else times
    successful_times = times_or_nan(source, location, succeeded)
    values = np.full(len(times), np.nan)
    values[~failed] = np.nan if np.isnan(successful_times).any() and not result.get("exit_codes") else successful_times
    memory = amounts(source, f"{location}: 'memory_usage_byte'", stated) if stated else np.nan
    return values, np.where(failed, np.nan, memory), failed


def _times_and_codes(result: Result) -> tuple[list[Any], list[Any]]:
    """Return the times of a command and its exit codes: 0 where the version does not write them."""
    times = result.get("times") or [result["mean"]]
    return times, result.get("exit_codes") or [0] * len(times)


def _count_zeros(source: Source, results: list[Result]) -> dict[str, int]:
    """Count the times of 0 of processes that did not fail, and note their commands; raise where all may have failed."""
    zeros: dict[int, int] = {}
    for index, result in enumerate(results):
        times, codes = _times_and_codes(result)
        if 0 in times and (n_zeros := sum(time == code == 0 for time, code in zip(times, codes, strict=True))):
            zeros[index] = n_zeros
    doubtful = [index for index in zeros if not results[index].get("exit_codes")]
    names = [f"results[{index}] {str(results[index]['command'])[:60]!r}" for index in doubtful]
    if doubtful and len(doubtful) == len(results):
        times, _ = _times_and_codes(results[0])
        raise source.error(
            f"results[0]: value {times.index(0)} is {times[times.index(0)]!r}, and no process takes no time: the command "
            f"{str(results[0]['command'])[:60]!r} failed; take its result out of the file, or measure it again without --ignore-failure"
        )
    if doubtful:
        sentence = (
            f"{len(doubtful)} of {len(results)} commands have times of 0, and no process takes no time: they failed, or took no longer "
            f"than the shell, whose start hyperfine subtracts; all their times are NaN: {', '.join(names)}"
        )
        source.note("below_resolution", sentence, benchmarks=len(doubtful))
    note_below_resolution(source, sum(n_zeros for index, n_zeros in zeros.items() if index not in doubtful))
    return {"n_below_resolution": sum(zeros.values())} if zeros else {}
