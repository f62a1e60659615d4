"""BenchmarkDotNet JSON (the full report): launches are executions, results are iterations.

Warm-ups are marked. A value is the time of an invocation: a result of the workload, from which
BenchmarkDotNet took the overhead and outliers away. `loops` is the number of invocations it is the
mean of; jitting, pilot, warm-up and overhead are in `execution_seconds`. Benchmarks without results
of the workload have the values of all launches together, or only their mean. `bytes_per_op` is what
the memory diagnoser counted once for a benchmark: it stands at the first result, and is no
repetition.
"""

from typing import Any

import numpy as np

from perfarray.conventions import EXECUTION, LOOPS, LOWER, TIME, price_of
from perfarray.numerics.types import Floats
from perfarray.readers.entries import (
    FAILED,
    KINDS,
    Entry,
    Run,
    amounts,
    note_means,
    renamed,
    table_of_entries,
    times,
)
from perfarray.readers.numbers import value_of
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, NULL, SCALAR, Either, has_keys
from perfarray.tables.columns import Table

NAME = "benchmarkdotnet"
# `HostEnvironmentInfo` to our coordinates
HOST = {
    "ProcessorName": "cpu",
    "PhysicalCoreCount": "cores",
    "LogicalCoreCount": "logical_cores",
    "ProcessorCount": "logical_cores",
    "PhysicalProcessorCount": "chips",
    "OsVersion": "os",
    "Architecture": "architecture",
    "RuntimeVersion": "runtime",
    "ClrVersion": "runtime",
    "Configuration": "configuration",
    "HasAttachedDebugger": "debugger_attached",
    "DotNetCliVersion": "dotnet_cli_version",
    "BenchmarkDotNetVersion": "benchmarkdotnet_version",
}
# Mode and stage of the measurements that are read, and of results with outliers
WARMUP, RESULT, ACTUAL = (("Workload", stage) for stage in ("Warmup", "Result", "Actual"))
NANOSECOND = 1e-9
MEMORY = "bytes_per_op"
MEASUREMENT = {"LaunchIndex": SCALAR, "IterationMode": ANY, "Operations": ANY, "Nanoseconds": ANY}
STATISTICS = {"OriginalValues?": [ANY], "OriginalValues|Mean": ANY}
BENCHMARK = {"Measurements?": [MEASUREMENT], "Statistics?": STATISTICS, "Memory?": {}}
SHAPE = {"HostEnvironmentInfo": Either({}, NULL), "Benchmarks": [BENCHMARK]}

Bench = dict[str, Any]

started = has_keys("HostEnvironmentInfo")


def recognise(source: Source) -> bool:
    """Return whether the content is a BenchmarkDotNet report."""
    return "HostEnvironmentInfo" in source.json_object and isinstance(
        source.json_object.get("Benchmarks"), list
    )


def read(source: Source) -> Table:
    """Read the results: benchmark x execution x iteration; a benchmark without any failed."""
    content = source.json
    benchmarks = content["Benchmarks"]
    note_means(source, sum(_has_mean_only(bench) for bench in benchmarks))
    entries = [
        _entry(source, f"Benchmarks[{index}]", bench) for index, bench in enumerate(benchmarks)
    ]
    file_metadata = renamed((content.get("HostEnvironmentInfo") or {}, HOST))
    if isinstance(file_metadata.get("cpu"), dict):
        file_metadata["cpu"] = file_metadata["cpu"].get("Value")
    return table_of_entries(
        source, entries, kinds=KINDS | {MEMORY: ("B", LOWER)}, file_metadata=file_metadata
    )


def _has_mean_only(bench: Bench) -> bool:
    statistics = bench.get("Statistics") or {}
    return (
        "Mean" in statistics
        and not statistics.get("OriginalValues")
        and RESULT not in map(_kind, bench.get("Measurements") or ())
    )


def _kind(measurement: Bench) -> tuple[Any, Any]:
    return measurement["IterationMode"], measurement.get("IterationStage")


def _entry(source: Source, location: str, bench: Bench) -> Entry:
    statistics = bench.get("Statistics") or {}
    launches: dict[Any, list[Bench]] = {}
    for measurement in bench.get("Measurements") or ():
        launches.setdefault(measurement["LaunchIndex"], []).append(measurement)
    name = _name(bench)
    runs = [
        _run(source, name, f"{location}: 'Measurements' of launch {launch}", of_launch)
        for launch, of_launch in launches.items()
    ]
    if statistics and all(run is FAILED for run in runs):
        values = statistics.get("OriginalValues") or [statistics["Mean"]]
        runs = [
            Run(
                {
                    TIME: times(
                        source, f"{location}: 'Statistics'", values, NANOSECOND, benchmark=name
                    )
                }
            )
        ]
    memory = (bench.get("Memory") or {}).get("BytesAllocatedPerOperation")
    if memory is not None:
        location = f"{location}: 'BytesAllocatedPerOperation'"
        runs = _with_memory(
            runs, amounts(source, location, [memory], from_zero=True, benchmark=name)
        )
    return Entry(name, runs or [FAILED], _settings(bench))


def _with_memory(runs: list[Run], memory: Floats) -> list[Run]:
    """Return the launches; the first result of one of them has the allocated bytes."""
    first = next((index for index, run in enumerate(runs) if run is not FAILED), None)
    if first is None:
        return runs
    run = runs[first]
    column = np.full(len(run.values[TIME]), np.nan)
    column[int(run.marks["warmup"].sum()) if "warmup" in run.marks else 0] = memory[0]
    return [*runs[:first], run._replace(values={**run.values, MEMORY: column}), *runs[first + 1 :]]


def _run(source: Source, name: str, location: str, measurements: list[Bench]) -> Run:
    """Return one launch: warm-ups and results per invocation, and the remaining seconds."""
    kinds = list(map(_kind, measurements))
    if RESULT not in kinds:
        return FAILED
    used = [
        measurement
        for kind in (WARMUP, RESULT)
        for measurement in measurements
        if _kind(measurement) == kind
    ]
    overhead_times = [
        measurement["Nanoseconds"]
        for measurement in measurements
        if _kind(measurement) not in (RESULT, ACTUAL)
    ]
    operations, nanoseconds = (
        [measurement[key] for measurement in used] for key in ("Operations", "Nanoseconds")
    )
    loops = amounts(
        source, f"{location}: 'Operations'", operations, above_zero=True, benchmark=name
    )
    values = (
        times(source, f"{location}: 'Nanoseconds'", nanoseconds, NANOSECOND, benchmark=name) / loops
    )
    overhead = (
        float(amounts(source, f"{location}: 'Nanoseconds'", overhead_times).sum()) * NANOSECOND
    )
    warmup = np.arange(len(used)) < kinds.count(WARMUP)
    return Run(
        {TIME: values},
        {LOOPS: loops, price_of(EXECUTION): np.full(len(used), overhead)},
        {"warmup": warmup},
    )


def _name(bench: Bench) -> str:
    """Return the full name, which old reports have in parts."""
    name_parts = [
        str(bench[field]) for field in ("Namespace", "Type", "Method") if bench.get(field)
    ]
    return str(
        bench.get("FullName")
        or ".".join(name_parts) + (f"({bench['Parameters']})" if bench.get("Parameters") else "")
    )


def _settings(bench: Bench) -> dict[str, Any]:
    """Return the parameters, and the job of `Type.Method: .NET 9.0(Runtime=.NET 9.0) [n=1]`."""
    pairs = [pair.partition("=") for pair in str(bench.get("Parameters") or "").split("&")]
    job = (
        str(bench.get("DisplayInfo") or "").partition(": ")[2].partition(" [")[0].partition("(")[0]
    )
    return {key: value_of(value) for key, equals, value in pairs if equals} | (
        {"job": job} if job else {}
    )
