"""pytest-benchmark JSON: a file is an execution, rounds are iterations.

`loops` is the number of iterations a round is the mean of.

Rounds are in the file with `--benchmark-save-data` or `--benchmark-json` only; else the mean of all
is the one value of the execution.
"""

from typing import Any

import numpy as np

from perfarray.conventions import LOOPS, TIME
from perfarray.readers.entries import (
    NOTHING,
    Entry,
    Run,
    amounts,
    note_means,
    renamed,
    table_of_entries,
    times,
)
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, NULL, Either, has_keys, rows_with
from perfarray.tables.columns import Table

NAME = "pytest_benchmark"
# `machine_info`, its `cpu`, and `commit_info` to our coordinates
MACHINE = {
    "node": "machine",
    "machine": "architecture",
    "system": "os",
    "release": "os_release",
    "python_implementation": "python_implementation",
    "python_version": "python_version",
    "python_implementation_version": "python_implementation_version",
    "python_compiler": "python_compiler",
}
CPU = {
    "brand_raw": "cpu",
    "brand": "cpu",
    "count": "logical_cores",
    "hz_advertised_friendly": "cpu_speed",
}
COMMIT = {"id": "commit", "branch": "branch", "time": "commit_date", "dirty": "dirty"}
CONTENT = {"datetime": "date", "version": "pytest_benchmark_version"}
OPTIONS = {"timer": "timer", "disable_gc": "disable_gc"}
STATS = {"data?": [ANY], "data|mean": ANY}
SHAPE = {
    "benchmarks": [{"fullname": ANY, "stats": STATS, "params?": {}, "options?": Either({}, NULL)}],
    "machine_info?": {"cpu?": {}},
    "commit_info?": {},
}

started = has_keys("machine_info|commit_info")


def recognise(source: Source) -> bool:
    """Return whether the content is a list of benchmarks with `stats` and a name inside pytest."""
    return rows_with(source.json_object.get("benchmarks"), "stats", "fullname")


def read(source: Source) -> Table:
    """Read the rounds: benchmark x execution x iteration."""
    content = source.json
    benchmarks = content["benchmarks"]
    note_means(
        source,
        sum(not bench["stats"].get("data") for bench in benchmarks),
        "--benchmark-json writes all rounds",
    )
    entries = [
        _entry(source, f"benchmarks[{index}]", bench) for index, bench in enumerate(benchmarks)
    ]
    machine = content.get("machine_info") or {}
    commit = content.get("commit_info") or {}
    file_metadata = renamed(
        (machine, MACHINE), (machine.get("cpu") or {}, CPU), (commit, COMMIT), (content, CONTENT)
    )
    return table_of_entries(source, entries, file_metadata=file_metadata)


def _entry(source: Source, location: str, bench: dict[str, Any]) -> Entry:
    """Return one benchmark with its parameters.

    The mean and its loops where there are no rounds.
    """
    stats = bench["stats"]
    rounds = stats.get("data") or [stats["mean"]]
    loops = amounts(source, f"{location}: 'iterations'", [stats.get("iterations", 1)])
    if not stats.get("data"):
        loops = loops * amounts(source, f"{location}: 'rounds'", [stats.get("rounds", 1)])
    elif stats.get("rounds", len(rounds)) != len(rounds):
        sentence = f"{location} has {len(rounds)} of {stats['rounds']} rounds"
        source.note("missing_rounds", sentence, rounds=len(rounds), stated=stats["rounds"])
    name = str(bench["fullname"])
    run = Run(
        {TIME: times(source, f"{location}: 'data'", rounds, benchmark=name)},
        {LOOPS: np.repeat(loops, len(rounds))},
    )
    metadata = {"benchmark_name": name.partition("[")[0]} | (
        {"group": str(bench["group"])} if bench.get("group") else {}
    )
    metadata |= renamed((bench.get("options") or {}, OPTIONS))
    return Entry(name, [run], bench.get("params") or NOTHING, metadata)
