"""pytest-benchmark JSON: a file is an execution, rounds are iterations; `loops` is the number of iterations a round is the mean of.

Rounds are in the file with `--benchmark-save-data` or `--benchmark-json` only; else the mean of all is the one value of the execution.
"""

from typing import Any

import numpy as np

from perfarray.conventions import LOOPS, TIME
from perfarray.readers.entries import NOTHING, Entry, Run, amounts, note_means, table_of_entries, times
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY
from perfarray.tables.columns import Table

NAME = "pytest_benchmark"

# `machine_info` to our coordinates
MACHINE = {
    "node": "machine",
    "machine": "architecture",
    "system": "os",
    "release": "os_release",
    "python_implementation": "python_implementation",
    "python_version": "python_version",
    "python_compiler": "python_compiler",
}

# `machine_info["cpu"]` to our coordinates
CPU = {"brand_raw": "cpu", "brand": "cpu", "count": "logical_cores", "hz_advertised_friendly": "cpu_speed"}
COMMIT = {"id": "commit", "branch": "branch", "time": "commit_date", "dirty": "dirty"}  # `commit_info` to our coordinates
STATS = {"data?": [ANY], "data|mean": ANY}
# The shape of the JSON: what is known of a benchmark, the whole
SHAPE = {"benchmarks": [{"fullname": ANY, "stats": STATS, "params?": {}}], "machine_info?": {"cpu?": {}}, "commit_info?": {}}


def started(head: str) -> bool:
    """Return whether a broken file began as pytest-benchmark's JSON."""
    return '"machine_info"' in head or '"commit_info"' in head


def recognise(source: Source) -> bool:
    """Return whether the content is a list of benchmarks with `stats` and a name inside pytest."""
    content = source.json_or_none
    rows = content.get("benchmarks") if isinstance(content, dict) else None
    return isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) and {"stats", "fullname"} <= row.keys() for row in rows)


def read(source: Source) -> Table:
    """Read the rounds: benchmark x execution x iteration."""
    content = source.json
    benchmarks = content["benchmarks"]
    note_means(source, sum(not bench["stats"].get("data") for bench in benchmarks))
    entries = [_entry(source, f"benchmarks[{index}]", bench) for index, bench in enumerate(benchmarks)]
    return table_of_entries(source, entries, about=_about(content))


def _entry(source: Source, location: str, bench: dict[str, Any]) -> Entry:
    """Return one benchmark with its parameters; the mean and its loops where there are no rounds."""
    stats = bench["stats"]
    rounds = stats.get("data") or [stats["mean"]]
    loops = amounts(source, f"{location}: 'iterations'", [stats.get("iterations", 1)])
    if stats.get("data") and stats.get("rounds", len(rounds)) != len(rounds):
        sentence = f"{location} has {len(rounds)} of {stats['rounds']} rounds"
        source.note("missing_rounds", sentence, rounds=len(rounds), stated=stats["rounds"])
    if not stats.get("data"):
        loops = loops * amounts(source, f"{location}: 'rounds'", [stats.get("rounds", 1)])
    run = Run({TIME: times(source, f"{location}: 'data'", rounds)}, {LOOPS: np.repeat(loops, len(rounds))})
    metadata = {"benchmark_name": str(bench["fullname"]).partition("[")[0]} | ({"group": str(bench["group"])} if bench.get("group") else {})
    return Entry(str(bench["fullname"]), [run], bench.get("params") or NOTHING, metadata)


def _about(content: dict[str, Any]) -> dict[str, Any]:
    """Return what the file says of machine, interpreter and commit; versions before 3.1 know no processor."""
    machine, commit = content.get("machine_info") or {}, content.get("commit_info") or {}
    cpu = machine.get("cpu") or {}
    tables = ((machine, MACHINE), (cpu, CPU), (commit, COMMIT), (content, {"datetime": "date"}))
    return {name: stated[key] for stated, names in tables for key, name in names.items() if key in stated}
