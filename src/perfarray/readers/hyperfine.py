"""hyperfine JSON (`--export-json`): every time is that of a process, so times are executions of one iteration.

Warm-up runs are not in the file. A run that ended with an exit code other than 0 failed: it has no time.
A time of 0 is what remains of a process that took no longer than the shell, and is NaN. If the file has no exit codes, such a process may
have failed too: all times of its command are NaN.
"""

from typing import Any

import numpy as np

from perfarray.conventions import TIME
from perfarray.readers.entries import Entry, Run, amounts, note_below_resolution, note_means, table_of_entries, times_or_nan
from perfarray.readers.numbers import value_of
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, has_keys, rows_with
from perfarray.tables.columns import Table

NAME = "hyperfine"
RESULT = {"command": ANY, "times|mean": ANY, "times?": [ANY], "exit_codes?": [ANY], "memory_usage_byte?": [ANY], "parameters?": {}}
SHAPE = {"results": [RESULT]}

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
    entries = [_entry(source, f"results[{index}]", result) for index, result in enumerate(results)]
    return table_of_entries(source, entries, counts=_count_zeros(source, results))


def _entry(source: Source, location: str, result: Result) -> Entry:
    times, codes = _times_and_codes(result)
    memory = result.get("memory_usage_byte")
    if len(codes) != len(times) or (memory and len(memory) != len(times)):
        raise source.error(
            f"{location}: {len(times)} times, {len(codes)} exit codes and {len(memory or times)} amounts of memory do not match"
        )
    failed = np.array([code != 0 for code in codes])
    successful_times = times_or_nan(source, location, [time for time, code in zip(times, codes, strict=True) if code == 0])
    values = {TIME: np.full(len(times), np.nan)}
    values[TIME][~failed] = np.nan if np.isnan(successful_times).any() and not result.get("exit_codes") else successful_times
    if memory:
        values["memory"] = np.where(failed, np.nan, amounts(source, f"{location}: 'memory_usage_byte'", memory))
    runs = [
        Run({name: column[index : index + 1] for name, column in values.items()}, marks={"failed": failed[index : index + 1]})
        for index in range(len(times))
    ]
    return Entry(str(result["command"]), runs, {key: value_of(str(text)) for key, text in (result.get("parameters") or {}).items()})


def _times_and_codes(result: Result) -> tuple[list[Any], list[Any]]:
    """Return the times of a command and its exit codes: 0 where the version does not write them."""
    times = result.get("times") or [result["mean"]]
    return times, result.get("exit_codes") or [0] * len(times)


def _count_zeros(source: Source, results: list[Result]) -> dict[str, int]:
    """Count the times of 0 of processes that did not fail, and note their commands; raise where all may have failed."""
    zeros: dict[int, list[int]] = {}
    for index, result in enumerate(results):
        for position, (time, code) in enumerate(zip(*_times_and_codes(result), strict=True)):
            if time == code == 0:
                zeros.setdefault(index, []).append(position)
    names = {index: f"results[{index}] {str(results[index]['command'])[:60]!r}" for index in zeros}
    doubtful = [index for index in zeros if not results[index].get("exit_codes")]
    if doubtful and len(doubtful) == len(results):
        position = zeros[0][0]
        raise source.error(
            f"results[0]: value {position} is {_times_and_codes(results[0])[0][position]!r}, and no process takes no time: the command "
            f"{str(results[0]['command'])[:60]!r} failed; take its result out of the file, or measure it again without --ignore-failure"
        )
    if doubtful:
        sentence = (
            f"{len(doubtful)} of {len(results)} commands have times of 0, and no process takes no time: they failed, or took no longer "
            f"than the shell, whose start hyperfine subtracts; all their times are NaN: {', '.join(names[index] for index in doubtful)}"
        )
        source.note("below_resolution", sentence, benchmarks=len(doubtful))
    note_below_resolution(source, sum(len(positions) for index, positions in zeros.items() if index not in doubtful))
    return {"n_below_resolution": sum(map(len, zeros.values()))} if zeros else {}
