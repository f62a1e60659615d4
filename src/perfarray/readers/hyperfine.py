"""hyperfine JSON (`--export-json`): every time is that of a process, so times are executions of one iteration.

Warm-up runs are not in the file. A run that ended with an exit code other than 0 failed: it has no time.
"""

from typing import Any

import numpy as np

from perfarray.conventions import TIME
from perfarray.readers.entries import Entry, Run, amounts, note_means, table_of_entries, times, value_of
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table

NAME = "hyperfine"


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
    return table_of_entries(source, [_entry(source, f"results[{index}]", result) for index, result in enumerate(results)])


def _entry(source: Source, place: str, result: dict[str, Any]) -> Entry:
    """Return one command with its parameters."""
    every = result.get("times") or [result["mean"]]
    codes = result.get("exit_codes") or [0] * len(every)
    memory = result.get("memory_usage_byte")
    if len(codes) != len(every) or (memory and len(memory) != len(every)):
        raise source.error(
            f"{place}: {len(every)} times, {len(codes)} exit codes and {len(memory or every)} amounts of memory do not match"
        )
    failed = np.array([code != 0 for code in codes])
    values = {TIME: np.full(len(every), np.nan)}
    nothing = next((index for index, (time, code) in enumerate(zip(every, codes, strict=True)) if code == 0 and time == 0), None)
    if nothing is not None:
        raise source.error(
            f"{place}: value {nothing} is {every[nothing]!r}, and no process takes no time: the command {str(result['command'])[:60]!r} "
            "failed; take its result out of the file, or measure it again without --ignore-failure"
        )
    values[TIME][~failed] = times(source, place, [time for time, code in zip(every, codes, strict=True) if code == 0])
    if memory:
        values["memory"] = np.where(failed, np.nan, amounts(source, f"{place}: 'memory_usage_byte'", memory))
    runs = [
        Run({name: column[index : index + 1] for name, column in values.items()}, marks={"failed": failed[index : index + 1]})
        for index in range(len(every))
    ]
    return Entry(str(result["command"]), runs, {key: value_of(str(text)) for key, text in (result.get("parameters") or {}).items()})
