"""BenchmarkDotNet JSON (the full report): launches are executions, results iterations, warm-ups marked.

A value is the time of an invocation: a result of the workload, from which BenchmarkDotNet took the overhead and outliers away. `loops` is
the number of invocations it is the mean of; jitting, pilot, warm-up and overhead are in `execution_seconds`. Benchmarks without results of
the workload have the values of all launches together, or only their mean.
"""

from typing import Any

import numpy as np

from perfarray.conventions import EXECUTION, LOOPS, TIME, price_of
from perfarray.readers.entries import (
    FAILED,
    Entry,
    Run,
    amounts,
    count_below_resolution,
    note_means,
    table_of_entries,
    times,
    times_or_nan,
    value_of,
)
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, NULL, SCALAR, Either
from perfarray.tables.columns import Table

NAME = "benchmarkdotnet"

# `HostEnvironmentInfo` to our coordinates
HOST = {
    "ProcessorName": "cpu",
    "PhysicalCoreCount": "cores",
    "LogicalCoreCount": "logical_cores",
    "ProcessorCount": "logical_cores",
    "OsVersion": "os",
    "Architecture": "architecture",
    "RuntimeVersion": "runtime",
    "ClrVersion": "runtime",
    "Configuration": "configuration",
    "BenchmarkDotNetVersion": "benchmarkdotnet_version",
}

# Mode and stage of the measurements that are read, and of results before outliers were taken away
WARMUP, RESULT, ACTUAL = (("Workload", stage) for stage in ("Warmup", "Result", "Actual"))
NANOSECOND = 1e-9
MEASUREMENT = {"LaunchIndex": SCALAR, "IterationMode": ANY, "Operations": ANY, "Nanoseconds": ANY}
STATISTICS = {"OriginalValues?": [ANY], "OriginalValues|Mean": ANY}
BENCHMARK = {"Measurements?": [MEASUREMENT], "Statistics?": STATISTICS, "Memory?": {}}
# The shape of the JSON: a measurement, what is known of all of a benchmark, a benchmark, the whole
SHAPE = {"HostEnvironmentInfo": Either({}, NULL), "Benchmarks": [BENCHMARK]}
Bench = dict[str, Any]


def started(head: str) -> bool:
    """Return whether a broken file began as BenchmarkDotNet's JSON."""
    return '"HostEnvironmentInfo"' in head


def recognise(source: Source) -> bool:
    """Return whether the content is a BenchmarkDotNet report."""
    content = source.json_or_none
    return isinstance(content, dict) and "HostEnvironmentInfo" in content and isinstance(content.get("Benchmarks"), list)


def read(source: Source) -> Table:
    """Read the results: benchmark x execution x iteration; a benchmark without any failed."""
    content = source.json
    benchmarks = content["Benchmarks"]
    note_means(source, sum(_has_mean_only(bench) for bench in benchmarks))
    entries = [_entry(source, f"Benchmarks[{index}]", bench) for index, bench in enumerate(benchmarks)]
    host = content.get("HostEnvironmentInfo") or {}
    about = {name: host[key] for key, name in HOST.items() if key in host}
    if isinstance(about.get("cpu"), dict):
        about["cpu"] = about["cpu"].get("Value")
    return table_of_entries(source, entries, about=about, counts=count_below_resolution(source, entries))


def _has_mean_only(bench: Bench) -> bool:
    """Return whether nothing but the mean of a benchmark is in the file."""
    statistics = bench.get("Statistics") or {}
    return "Mean" in statistics and not statistics.get("OriginalValues") and RESULT not in map(_kind, bench.get("Measurements") or ())


def _kind(measurement: Bench) -> tuple[Any, Any]:
    return measurement["IterationMode"], measurement.get("IterationStage")


def _entry(source: Source, location: str, bench: Bench) -> Entry:
    """Return one benchmark with its parameters and job."""
    statistics = bench.get("Statistics") or {}
    launches: dict[Any, list[int]] = {}
    for index, measurement in enumerate(bench.get("Measurements") or ()):
        launches.setdefault(measurement["LaunchIndex"], []).append(index)
    runs = [_run(source, location, bench["Measurements"], indices) for indices in launches.values()]
    if statistics and all(run is FAILED for run in runs):
        values = statistics.get("OriginalValues") or [statistics["Mean"]]
        runs = [Run({TIME: times_or_nan(source, f"{location}: 'Statistics'", values, NANOSECOND)})]
    memory = (bench.get("Memory") or {}).get("BytesAllocatedPerOperation")
    return Entry(_name(bench), runs or [FAILED], _settings(bench), {} if memory is None else {"bytes_per_op": memory})


def _run(source: Source, location: str, measurements: list[Bench], indices: list[int]) -> Run:
    """Return one launch: its warm-ups and results, per invocation, and what else it took."""
    kinds = [_kind(measurements[index]) for index in indices]
    if RESULT not in kinds:
        return FAILED
    used = [index for read_kind in (WARMUP, RESULT) for index, kind in zip(indices, kinds, strict=True) if kind == read_kind]
    extra = [index for index, kind in zip(indices, kinds, strict=True) if kind not in (RESULT, ACTUAL)]
    launch = f"{location}: 'Measurements' of launch {measurements[indices[0]]['LaunchIndex']}"
    loops = times(source, f"{launch}: 'Operations'", [measurements[index]["Operations"] for index in used])
    values = times_or_nan(source, f"{launch}: 'Nanoseconds'", [measurements[index]["Nanoseconds"] for index in used], NANOSECOND) / loops
    overhead = float(amounts(source, f"{launch}: 'Nanoseconds'", [measurements[index]["Nanoseconds"] for index in extra]).sum())
    warmup = np.arange(len(used)) < kinds.count(WARMUP)
    return Run({TIME: values}, {LOOPS: loops, price_of(EXECUTION): np.full(len(used), overhead * NANOSECOND)}, {"warmup": warmup})


def _name(bench: Bench) -> str:
    """Return the full name; old reports have its parts."""
    name_parts = [str(bench[field]) for field in ("Namespace", "Type", "Method") if bench.get(field)]
    return str(bench.get("FullName") or ".".join(name_parts) + (f"({bench['Parameters']})" if bench.get("Parameters") else ""))


def _settings(bench: Bench) -> dict[str, Any]:
    """Return the parameters, and the job as `DisplayInfo` names it: `Type.Method: .NET 9.0(Runtime=.NET 9.0) [n=1]`."""
    pairs = [pair.partition("=") for pair in str(bench.get("Parameters") or "").split("&")]
    job = str(bench.get("DisplayInfo") or "").partition(": ")[2].partition(" [")[0].partition("(")[0]
    return {key: value_of(value) for key, equals, value in pairs if equals} | ({"job": job} if job else {})
