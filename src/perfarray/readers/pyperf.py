"""pyperf JSON (https://pyperf.readthedocs.io): worker processes are executions.

Their values are iterations, warm-ups are marked. Versions 3 to 6 (2016-17, `version` an integer)
and "1.0" (since, a string) are read. Runs without values calibrate the number of loops and are no
executions: `attrs["n_calibration_runs"]` counts them; a benchmark of such runs alone failed. A
value is the time of one loop; `loops` and `execution_seconds` say what taking it cost.
"""

import itertools
from collections.abc import Callable
from datetime import datetime
from math import isfinite, nan
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import (
    BENCHMARK,
    EXECUTION,
    ITERATION,
    LOOPS,
    LOWER,
    SECONDS,
    TIME,
    price_of,
)
from perfarray.numerics.types import Integers
from perfarray.readers.entries import SHOWN, amounts, positions_within
from perfarray.readers.labels import number_or_text, unique_labels
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, COUNT, NULL, NUMBER, TEXT, Either, has_keys, rows_with
from perfarray.tables.columns import Column, Descriptor, Metric, Table

NAME = "pyperf"
VERSIONS = (3, 4, 5, 6, "1.0")
RAW_WARMUPS = (
    4,
    5,
    6,
)  # Versions whose warm-ups are pairs of a number of loops and the time of all of them
# Ratio of a run's duration to its values and warm-ups from which each value has a set-up of its own
SET_UP = 1.25
VARIABLES = {
    "second": (TIME, SECONDS),
    "byte": ("memory", "B"),
    "integer": ("count", "1"),
}  # By pyperf's unit
DESCRIPTORS = {
    "hostname": "machine",
    "cpu_model_name": "cpu",
    "cpu_count": "logical_cores",
    "platform": "os",
    "python_implementation": "python_implementation",
    "python_version": "python_version",
    "python_compiler": "python_compiler",
    "python_cflags": "python_cflags",
    "perf_version": "pyperf_version",
    "cpu_affinity": "cpu_affinity",
    "cpu_config": "cpu_config",
    "aslr": "aslr",
    "commit_id": "commit",
    "tags": "tags",
}
METADATA = {
    "loops?": COUNT,
    "inner_loops?": COUNT,
    "cpu_count?": COUNT,
    "duration?": Either(NUMBER, TEXT),
}
VALUE = Either(NUMBER, NULL)
WARMUP = Either((COUNT, VALUE), VALUE)
RUN = {
    "values?": [VALUE],
    "samples?": [VALUE],
    "raw_samples?": [VALUE],
    "warmups?": [WARMUP],
    "metadata?": METADATA,
}
SHAPE = {
    "version": ANY,
    "benchmarks": [{"runs": [RUN], "common_metadata?": METADATA, "metadata?": METADATA}],
    "metadata?": METADATA,
}

Metadata = dict[str, Any]


class WorkerRun(NamedTuple):
    """A run of the benchmark with index `bench`, its values (warm-ups first) and costs.

    Costs are the loops of a value, the seconds of a value with its set-up, and the seconds of the
    run beyond its values.
    """

    bench: int
    n_warmups: int
    values: list[float | None]
    metadata: Metadata
    costs: tuple[int | None, float | None, float | None]
    failed: bool = False


started = has_keys("benchmarks", "runs|warmups|perf_version|common_metadata")


def recognise(source: Source) -> bool:
    """Return whether the content is a pyperf suite."""
    benchmarks = source.json_object.get("benchmarks")
    return "version" in source.json_object and (benchmarks == [] or rows_with(benchmarks, "runs"))


def read(source: Source) -> Table:
    """Read a suite: benchmark x execution x iteration."""
    content = source.json
    benchmarks = content["benchmarks"]
    if not benchmarks:
        raise source.error("'benchmarks' is an empty list: there is nothing to read")
    version = content.get("version")
    if version not in VERSIONS or isinstance(version, bool):
        raise source.error(
            f"has version {version!r} of pyperf's format; those that can be read are "
            f"{', '.join(map(repr, VERSIONS))}"
        )
    metadata = [_metadata(content, bench) for bench in benchmarks]
    names = unique_labels(
        [
            str(bench_metadata.get("name", source.path.name.partition(".")[0]))
            for bench_metadata in metadata
        ],
        source,
    )
    runs: list[WorkerRun] = []
    n_calibrations = 0
    for index, (bench, bench_metadata) in enumerate(zip(benchmarks, metadata, strict=True)):
        start = _start_seconds(bench["runs"])
        all_runs = [
            _run(index, run, bench_metadata, version in RAW_WARMUPS, start) for run in bench["runs"]
        ]
        bench_runs = [run for run in all_runs if run is not None]
        n_calibrations += len(all_runs) - len(bench_runs)
        if not bench_runs:
            source.failures.append(
                f"{names[index][:SHOWN]}: it has {len(all_runs)} runs and no values in any of them"
            )
        runs += bench_runs or [WorkerRun(index, 0, [nan], {}, (None, None, None), failed=True)]
    if all(run.failed for run in runs):
        raise source.error(
            f"benchmark {names[0]!r} (benchmarks[0]) has {len(benchmarks[0]['runs'])} runs and "
            "no values in any of them"
        )
    return _table(source, runs, names, metadata, n_calibrations)


def _metadata(content: Metadata, bench: Metadata) -> Metadata:
    # Some versions store name and unit with the runs only.
    first = bench["runs"][0].get("metadata") or {} if bench["runs"] else {}
    of_run = {key: first[key] for key in ("name", "unit") if key in first}
    return {
        **of_run,
        **(content.get("metadata") or {}),
        **(bench.get("common_metadata") or {}),
        **(bench.get("metadata") or {}),
    }


def _start_seconds(runs: list[Metadata]) -> float:
    """Return the median gap between runs, when a process starts; 0 with fewer than 3 gaps."""
    stamps = []
    for run in runs:
        run_metadata = run.get("metadata") or {}
        try:
            stamps.append(
                (datetime.fromisoformat(run_metadata["date"]), float(run_metadata["duration"]))
            )
        except (KeyError, TypeError, ValueError):
            continue
    # Each gap loses half of both durations: some versions stamp a run at its start, others at its
    # end.
    gaps = [
        (b[0] - a[0]).total_seconds() - (a[1] + b[1]) / 2
        for a, b in itertools.pairwise(stamps)
        if a[0].tzinfo == b[0].tzinfo
    ]
    return max(0.0, float(np.median(gaps))) if len(gaps) >= 3 else 0.0


def _run(
    index: int, run: Metadata, bench_metadata: Metadata, raw_warmups: bool, start: float
) -> WorkerRun | None:
    metadata: Metadata = run.get("metadata") or {}
    inner_loops = _count("inner_loops", metadata, bench_metadata)
    loops = _count("loops", metadata, bench_metadata) * inner_loops
    measured, divisor = run.get("values") or run.get("samples"), 1
    if not measured and run.get("raw_samples"):
        measured, divisor = [_divided(value, loops) for value in run["raw_samples"]], loops
    if not measured:
        return None
    warmups = [
        _divided(pair, divisor)
        if not isinstance(pair, list)
        else _divided(pair[1], pair[0] * inner_loops)
        if raw_warmups
        else pair[1]
        for pair in run.get("warmups") or ()
    ]
    run_metadata = metadata if not DESCRIPTORS.keys().isdisjoint(metadata) else {}
    costs = _costs(measured, warmups, loops, metadata, bench_metadata, start)
    return WorkerRun(index, len(warmups), [*warmups, *measured], run_metadata, costs)


def _divided(value: float | None, divisor: float) -> float | None:
    """Return a value for one loop; what is null stays so."""
    return None if value is None else value / divisor


def _costs(
    measured: list[Any],
    warmups: list[Any],
    loops: int,
    metadata: Metadata,
    bench_metadata: Metadata,
    start: float,
) -> tuple[int | None, float | None, float | None]:
    """Return the costs of one run, None where the file does not state them.

    A run that takes much longer than its loops sets up each value (`time_func`): its duration is
    divided among values and warm-ups.
    """
    if ("loops" not in metadata and "loops" not in bench_metadata) or bench_metadata.get(
        "unit", "second"
    ) != "second":
        return None, None, None
    duration: Any = metadata.get("duration", bench_metadata.get("duration"))
    if not all(
        isinstance(value, int | float) and isfinite(value) for value in [*measured, *warmups]
    ):
        return loops, None, None
    value_seconds, warmup_seconds = loops * sum(measured), loops * sum(warmups)
    if not isinstance(duration, int | float):
        return loops, None, warmup_seconds or None
    if duration > SET_UP * (value_seconds + warmup_seconds):
        seconds_per_value = duration / (len(measured) + len(warmups))
        return loops, seconds_per_value, start + len(warmups) * seconds_per_value
    return loops, None, start + max(0.0, duration - value_seconds)


def _count(name: str, metadata: Metadata, bench_metadata: Metadata) -> int:
    """Return a count from the metadata of the run, else of the benchmark, else 1."""
    count: Any = metadata.get(name) if metadata.get(name) is not None else bench_metadata.get(name)
    return 1 if count is None else int(count)


def _table(
    source: Source,
    runs: list[WorkerRun],
    names: list[str],
    metadata: list[Metadata],
    n_calibrations: int,
) -> Table:
    bench, n_warmups, lengths = np.array(
        [(run.bench, run.n_warmups, len(run.values)) for run in runs], dtype=np.intp
    ).T
    failed = np.array([run.failed for run in runs])
    execution = np.arange(len(bench)) - np.searchsorted(bench, bench)
    codes, executions, iterations = (
        np.repeat(bench, lengths),
        np.repeat(execution, lengths),
        positions_within(lengths),
    )
    values = list(itertools.chain.from_iterable(run.values for run in runs))

    def locate(row: int) -> str:
        return f"value {iterations[row]} of execution {executions[row]} of {names[codes[row]]!r}"

    units = [str(bench_metadata.get("unit", "second")) for bench_metadata in metadata]
    unknown = sorted(set(units) - set(VARIABLES))
    if unknown:
        raise source.error(f"unit {unknown[0]!r} is not one pyperf knows: {', '.join(VARIABLES)}")
    metrics = {}
    for unit in dict.fromkeys(units):
        rows = np.flatnonzero(
            np.array([bench_unit == unit for bench_unit in units])[codes]
            & ~np.repeat(failed, lengths)
        )
        metrics[VARIABLES[unit][0]] = _metric(source, values, rows, VARIABLES[unit], locate)
    cells = [
        (names[run.bench], position) for run, position in zip(runs, execution.tolist(), strict=True)
    ]
    return Table(
        labels={BENCHMARK: Column(codes=codes, labels=names)},
        levels={EXECUTION: executions, ITERATION: iterations},
        metrics=metrics,
        marks={"warmup": iterations < np.repeat(n_warmups, lengths)}
        | ({"failed": np.repeat(failed, lengths)} if failed.any() else {}),
        descriptors=_descriptors(names, metadata, runs, cells)
        | _date(source.json)
        | _prices(runs, cells),
        metric=TIME if TIME in metrics else next(iter(metrics)),
        counts={"n_calibration_runs": n_calibrations},
    )


def _metric(
    source: Source,
    values: list[float | None],
    rows: Integers,
    variable: tuple[str, str],
    locate: Callable[[int], str],
) -> Metric:
    metric_values = values if len(rows) == len(values) else [values[row] for row in rows]
    column = np.full(len(values), np.nan)
    column[rows] = amounts(
        source, lambda index: locate(int(rows[index])), metric_values, from_zero=variable[0] == TIME
    )
    return Metric(values=column, units=variable[1], better=LOWER)


def _descriptors(
    names: list[str], metadata: list[Metadata], runs: list[WorkerRun], cells: list[tuple[str, int]]
) -> dict[str, Descriptor]:
    """Return metadata along `benchmark`, and along `execution` where runs state them."""
    keys_of_runs = set().union(*(run.metadata for run in runs))
    descriptors = {}
    for key, name in DESCRIPTORS.items():
        dims: tuple[str, ...] = (BENCHMARK,)
        values: dict[tuple[Any, ...], Any] = {
            (label,): bench_metadata[key]
            for label, bench_metadata in zip(names, metadata, strict=True)
            if key in bench_metadata
        }
        if key in keys_of_runs:
            dims = (BENCHMARK, EXECUTION)
            values = {
                cell: run.metadata.get(key, metadata[run.bench].get(key))
                for cell, run in zip(cells, runs, strict=True)
            }
        if values:
            descriptors[name] = Descriptor(
                dims=dims, values={cell: _descriptor(name, value) for cell, value in values.items()}
            )
    return descriptors


def _date(content: Metadata) -> dict[str, Descriptor]:
    runs = [run for bench in content["benchmarks"] for run in bench["runs"]]
    holders = [content, *content["benchmarks"], *runs]
    dates = [
        metadata["date"]
        for holder in holders
        if isinstance(metadata := holder.get("metadata"), dict) and "date" in metadata
    ]
    return {"date": Descriptor(dims=(), values={(): min(map(str, dates))})} if dates else {}


def _prices(runs: list[WorkerRun], cells: list[tuple[str, int]]) -> dict[str, Descriptor]:
    descriptors = {}
    for name, costs in zip(
        (LOOPS, price_of(ITERATION), price_of(EXECUTION)),
        zip(*(run.costs for run in runs), strict=True),
        strict=True,
    ):
        if any(cost is not None for cost in costs):
            descriptors[name] = Descriptor(
                dims=(BENCHMARK, EXECUTION),
                values=dict(zip(cells, costs, strict=True)),
                keep=(EXECUTION,),
            )
    return descriptors


def _descriptor(name: str, value: Any) -> Any:
    """Return the number of cores as a number (old versions wrote text), and all else as text."""
    if value is None:
        return None
    if name == "logical_cores" and not isinstance(value, list):
        return number_or_text(int(value))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
