"""hyperfine JSON (`--export-json`): every time is that of a process, so times are executions of one iteration.

Warm-up runs are not in the file. A run that ended with an exit code other than 0 failed: it has no time.
A time of 0 is what is left of one that took no longer than the shell, and NaN. Where no exit codes are in the file it may have failed too:
none of its command is kept.
"""

from typing import Any

import numpy as np

from perfarray.conventions import TIME
from perfarray.readers.entries import Entry, Run, amounts, note_below_resolution, note_means, table_of_entries, times_or_nan, value_of
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY
from perfarray.tables.columns import Table

NAME = "hyperfine"
RESULT = {"command": ANY, "times|mean": ANY, "times?": [ANY], "exit_codes?": [ANY], "memory_usage_byte?": [ANY], "parameters?": {}}
SHAPE = {"results": [RESULT]}  # The shape of the JSON: a command, the whole
Result = dict[str, Any]


def started(head: str) -> bool:
    """Return whether a broken file began as hyperfine's JSON."""
    return '"results"' in head and '"command"' in head


def recognise(source: Source) -> bool:
    """Return whether the content is a list of commands and how long they took."""
    content = source.json_or_none
    results = content.get("results") if isinstance(content, dict) else None
    return (
        isinstance(results, list)
        and bool(results)
        and all(isinstance(result, dict) and "command" in result and not result.keys().isdisjoint(("times", "mean")) for result in results)
    )


def read(source: Source) -> Table:
    """Read the times of every command: benchmark x execution x iteration."""
    results = source.json["results"]
    note_means(source, sum(not result.get("times") for result in results))
    entries = [_entry(source, f"results[{index}]", result) for index, result in enumerate(results)]
    return table_of_entries(source, entries, counts=_without_times(source, results))


def _entry(source: Source, location: str, result: Result) -> Entry:
    """Return one command with its parameters."""
    all_times, codes = _stated(result)
    memory = result.get("memory_usage_byte")
    if len(codes) != len(all_times) or (memory and len(memory) != len(all_times)):
        raise source.error(
            f"{location}: {len(all_times)} times, {len(codes)} exit codes and {len(memory or all_times)} amounts of memory do not match"
        )
    failed = np.array([code != 0 for code in codes])
    successful_times = times_or_nan(source, location, [time for time, code in zip(all_times, codes, strict=True) if code == 0])
    values = {TIME: np.full(len(all_times), np.nan)}
    values[TIME][~failed] = np.nan if np.isnan(successful_times).any() and _may_have_failed(result) else successful_times
    if memory:
        values["memory"] = np.where(failed, np.nan, amounts(source, f"{location}: 'memory_usage_byte'", memory))
    runs = [
        Run({name: column[index : index + 1] for name, column in values.items()}, marks={"failed": failed[index : index + 1]})
        for index in range(len(all_times))
    ]
    return Entry(str(result["command"]), runs, {key: value_of(str(text)) for key, text in (result.get("parameters") or {}).items()})


def _stated(result: Result) -> tuple[list[Any], list[Any]]:
    """Return the times of a command and its exit codes: 0 where the version does not write them."""
    all_times = result.get("times") or [result["mean"]]
    return all_times, result.get("exit_codes") or [0] * len(all_times)


def _zeros(result: Result) -> list[int]:
    """Return which times of a command are 0 although its process did not fail."""
    return [index for index, (time, code) in enumerate(zip(*_stated(result), strict=True)) if code == 0 and time == 0]


def _may_have_failed(result: Result) -> bool:
    """Return whether nothing says that the processes of a command ended well."""
    return not result.get("exit_codes")


def _without_times(source: Source, results: list[Result]) -> dict[str, int]:
    """Count the times of 0, and note of which commands they are; raise where all may have failed."""
    zeros = {index: values for index, result in enumerate(results) if (values := _zeros(result))}
    names = {index: f"results[{index}] {str(results[index]['command'])[:60]!r}" for index in zeros}
    doubtful = [index for index in zeros if _may_have_failed(results[index])]
    if doubtful and len(doubtful) == len(results):
        position = zeros[0][0]
        raise source.error(
            f"results[0]: value {position} is {_stated(results[0])[0][position]!r}, and no process takes no time: the command "
            f"{str(results[0]['command'])[:60]!r} failed; take its result out of the file, or measure it again without --ignore-failure"
        )
    if doubtful:
        sentence = (
            f"{len(doubtful)} of {len(results)} commands have times of 0, and no process takes no time: they failed, or took no longer "
            f"than the shell, whose start hyperfine subtracts; all their times are NaN: {', '.join(names[index] for index in doubtful)}"
        )
        source.note("below_resolution", sentence, benchmarks=len(doubtful))
    note_below_resolution(source, sum(len(values) for index, values in zeros.items() if index not in doubtful))
    return {"n_below_resolution": sum(map(len, zeros.values()))} if zeros else {}
