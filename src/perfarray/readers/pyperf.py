"""pyperf JSON (https://pyperf.readthedocs.io): worker processes are executions, their values iterations, warm-ups marked.

Versions 3 to 6 (2016-17, `version` an integer) and "1.0" (since, a string) are read. Runs without values calibrate the number of loops
and are no executions: they are counted in `attrs["n_calibration_runs"]`. A value is the time of one loop; `loops` and
`execution_seconds` say what taking it cost.
"""

import itertools
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import BENCHMARK, EXECUTION, ITERATION, LOOPS, LOWER, SECONDS, TIME, price_of
from perfarray.numerics.types import Integers
from perfarray.readers.names import number_or_text, unique_labels
from perfarray.readers.numbers import checked
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, COUNT, NUMBER, TEXT, Either
from perfarray.tables.columns import Column, Descriptor, Metric, Table

NAME = "pyperf"
VERSIONS = (3, 4, 5, 6, "1.0")  # What `version` may be, oldest first
RAW_WARMUPS = (4, 5, 6)  # Versions whose warm-ups are pairs of a number of loops and the time of all of them
SET_UP = 1.25  # Ratio of a run's duration to its values and warm-ups from which each value has a set-up of its own
VARIABLES = {"second": (TIME, SECONDS), "byte": ("memory", "B"), "integer": ("count", "1")}  # pyperf's unit to our variable and unit

# pyperf's metadata to our coordinates
DESCRIPTORS = {
    "hostname": "machine",
    "cpu_model_name": "cpu",
    "cpu_count": "logical_cores",
    "platform": "os",
    "python_implementation": "python_implementation",
    "python_version": "python_version",
    "commit_id": "commit",
    "tags": "tags",
}

FACTS = {"loops?": COUNT, "inner_loops?": COUNT, "cpu_count?": COUNT, "duration?": Either(NUMBER, TEXT)}
WARMUP = Either((COUNT, NUMBER), NUMBER)
RUN = {"values?": [NUMBER], "samples?": [NUMBER], "raw_samples?": [NUMBER], "warmups?": [WARMUP], "metadata?": FACTS}
# The shape of the JSON: what the metadata say, a warm-up, a run, a suite
SHAPE = {"version": ANY, "benchmarks": [{"runs": [RUN], "common_metadata?": FACTS, "metadata?": FACTS}], "metadata?": FACTS}
Metadata = dict[str, Any]


def started(head: str) -> bool:
    """Return whether a broken file began as pyperf JSON."""
    return '"benchmarks"' in head and any(f'"{word}"' in head for word in ("runs", "warmups", "perf_version", "common_metadata"))


def recognise(source: Source) -> bool:
    """Return whether the content is a pyperf suite."""
    content = source.json_or_none
    if not isinstance(content, dict) or "version" not in content:
        return False
    benchmarks = content.get("benchmarks")
    return isinstance(benchmarks, list) and all(isinstance(bench, dict) and "runs" in bench for bench in benchmarks)


def read(source: Source) -> Table:
    """Read a suite: benchmark x execution x iteration."""
    content = source.json
    benchmarks = content["benchmarks"]
    if not benchmarks:
        raise source.error("'benchmarks' is an empty list: there is nothing to read")
    version = content.get("version")
    if version not in VERSIONS or isinstance(version, bool):
        raise source.error(f"has version {version!r} of pyperf's format; those that can be read are {', '.join(map(repr, VERSIONS))}")
    metadata = [_metadata(content, bench) for bench in benchmarks]
    names = unique_labels([str(bench_metadata.get("name", source.path.name.partition(".")[0])) for bench_metadata in metadata], source)
    runs = _Runs()
    for index, (bench, bench_metadata) in enumerate(zip(benchmarks, metadata, strict=True)):
        n_runs, start = len(runs.bench), _start_seconds(bench["runs"])
        for run in bench["runs"]:
            runs.add(index, run, bench_metadata, version in RAW_WARMUPS, start)
        if len(runs.bench) == n_runs:
            raise source.error(
                f"benchmark {names[index]!r} (benchmarks[{index}]) has {len(bench['runs'])} runs and no values in any of them"
            )
    return _table(source, runs, names, metadata)


def _metadata(content: Metadata, bench: Metadata) -> Metadata:
    """Merge the metadata of file and benchmark; some versions store name and unit with the runs only."""
    runs = bench["runs"]
    first = runs[0].get("metadata") or {} if runs else {}
    stated = {key: first[key] for key in ("name", "unit") if key in first}
    return {**stated, **(content.get("metadata") or {}), **(bench.get("common_metadata") or {}), **(bench.get("metadata") or {})}


def _start_seconds(runs: list[Metadata]) -> float:
    """Return the median gap between the runs of a benchmark, in which a process starts and loads modules; 0 with fewer than three gaps.

    Each gap loses half of both durations: some versions stamp a run at its start, others at its end.
    """
    stamps = []
    for run in runs:
        run_metadata = run.get("metadata") or {}
        try:
            stamps.append((datetime.fromisoformat(run_metadata["date"]), float(run_metadata["duration"])))
        except (KeyError, TypeError, ValueError):
            continue
    gaps = [(b[0] - a[0]).total_seconds() - (a[1] + b[1]) / 2 for a, b in itertools.pairwise(stamps) if a[0].tzinfo == b[0].tzinfo]
    return max(0.0, float(np.median(gaps))) if len(gaps) >= 3 else 0.0


class _Runs:
    """The runs with values: benchmark, numbers of warm-ups and values, cost and metadata of each."""

    def __init__(self) -> None:
        self.bench: list[int] = []
        self.n_warmups: list[int] = []
        self.n_values: list[int] = []
        self.values: list[float] = []
        self.costs: list[_Cost] = []
        self.metadata: dict[int, Metadata] = {}
        self.calibrations = 0

    def add(self, index: int, run: Metadata, bench_metadata: Metadata, raw_warmups: bool, start: float) -> None:
        """Add one run, or count it if it only calibrated."""
        run_metadata: Metadata = run.get("metadata") or {}
        loops = 1
        measured = run.get("values") or run.get("samples")
        if not measured and run.get("raw_samples"):
            loops = _number("loops", run_metadata, bench_metadata) * _number("inner_loops", run_metadata, bench_metadata)
            measured = [value / loops for value in run["raw_samples"]]
        if not measured:
            self.calibrations += 1
            return
        if not DESCRIPTORS.keys().isdisjoint(run_metadata):
            self.metadata[len(self.bench)] = run_metadata
        warmups = run.get("warmups") or ()
        if raw_warmups and warmups:
            inner = _number("inner_loops", run_metadata, bench_metadata)
            self.values += [pair[1] / (pair[0] * inner) if isinstance(pair, list) else pair / loops for pair in warmups]
        else:
            self.values += [pair[1] if isinstance(pair, list) else pair / loops for pair in warmups]
        self.values += measured
        warmup_values = self.values[-len(warmups) - len(measured) : -len(measured)]
        self.costs.append(_cost(measured, warmup_values, run_metadata, bench_metadata, start))
        self.bench.append(index)
        self.n_warmups.append(len(warmups))
        self.n_values.append(len(measured))


class _Cost(NamedTuple):
    """Cost of a run: loops of a value, seconds of a value with its set-up, and seconds of the run beyond its values."""

    loops: int | None = None
    value_seconds: float | None = None
    extra_seconds: float | None = None


def _cost(measured: list[float], warmups: list[float], run_metadata: Metadata, bench_metadata: Metadata, start: float) -> _Cost:
    """Return the cost of one run, None where the file does not state it.

    A run that takes much longer than its loops sets up each value (`time_func`): its duration is divided among values and warm-ups.
    """
    if ("loops" not in run_metadata and "loops" not in bench_metadata) or bench_metadata.get("unit", "second") != "second":
        return _Cost()
    loops = _number("loops", run_metadata, bench_metadata) * _number("inner_loops", run_metadata, bench_metadata)
    duration: Any = run_metadata.get("duration", bench_metadata.get("duration"))
    if not all(isinstance(value, int | float) for value in [*measured, *warmups]):
        return _Cost(loops)
    value_seconds, warmup_seconds = loops * sum(measured), loops * sum(warmups)
    if not isinstance(duration, int | float):
        return _Cost(loops, None, warmup_seconds or None)
    if duration > SET_UP * (value_seconds + warmup_seconds):
        seconds_per_value = duration / (len(measured) + len(warmups))
        return _Cost(loops, seconds_per_value, start + len(warmups) * seconds_per_value)
    return _Cost(loops, None, start + max(0.0, duration - value_seconds))


def _number(name: str, run_metadata: Metadata, bench_metadata: Metadata) -> int:
    """Return a count from the metadata of the run, else of the benchmark, else 1."""
    stated: Any = run_metadata.get(name) if run_metadata.get(name) is not None else bench_metadata.get(name)
    return 1 if stated is None else int(stated)


def _table(source: Source, runs: _Runs, names: list[str], metadata: list[Metadata]) -> Table:
    """Lay the runs out as columns."""
    bench, n_warmups, n_values = np.array((runs.bench, runs.n_warmups, runs.n_values), dtype=np.intp)
    first = np.searchsorted(bench, bench)
    execution = np.arange(len(bench)) - first
    length = n_warmups + n_values
    iteration = np.arange(len(runs.values)) - np.repeat(np.cumsum(length) - length, length)
    codes = np.repeat(bench, length)
    locations = _Locations(names, codes, np.repeat(execution, length), iteration)
    metrics = _metrics(source, runs, [str(bench_metadata.get("unit", "second")) for bench_metadata in metadata], locations)
    return Table(
        labels={BENCHMARK: Column(codes=codes, labels=names)},
        levels={"execution": np.repeat(execution, length), "iteration": iteration},
        metrics=metrics,
        marks={"warmup": iteration < np.repeat(n_warmups, length)},
        descriptors=_descriptors(names, metadata, runs, execution) | _date(source) | _prices(names, runs, execution),
        metric=TIME if TIME in metrics else next(iter(metrics)),
        counts={"n_calibration_runs": runs.calibrations},
    )


class _Locations(NamedTuple):
    """Benchmark, execution and iteration of each value."""

    names: list[str]
    benchmark: Integers
    execution: Integers
    iteration: Integers

    def of(self, rows: Integers, index: int) -> str:
        """Format the location of a value for a message."""
        row = rows[index]
        return f"value {self.iteration[row]} of execution {self.execution[row]} of {self.names[self.benchmark[row]]!r}"


def _metrics(source: Source, runs: _Runs, units: list[str], locations: _Locations) -> dict[str, Metric]:
    """Return one variable for each unit, NaN for benchmarks of another unit."""
    unknown = sorted(set(units) - set(VARIABLES))
    if unknown:
        raise source.error(f"unit {unknown[0]!r} is not one pyperf knows: {', '.join(VARIABLES)}")
    metrics = {}
    for unit in dict.fromkeys(units):
        name, unit_symbol = VARIABLES[unit]
        rows = np.flatnonzero(np.array([bench_unit == unit for bench_unit in units])[locations.benchmark])
        stated = runs.values if len(rows) == len(runs.values) else [runs.values[row] for row in rows]
        values = np.full(len(runs.values), np.nan)
        values[rows] = checked(stated, partial(locations.of, rows), source, above_zero=name == TIME)
        metrics[name] = Metric(values=values, units=unit_symbol, better=LOWER)
    return metrics


def _descriptors(names: list[str], metadata: list[Metadata], runs: _Runs, execution: Integers) -> dict[str, Descriptor]:
    """Return metadata of machine and interpreter along `benchmark`, and along `execution` where runs state them."""
    by_run = {key for run_metadata in runs.metadata.values() for key in run_metadata}
    descriptors = {}
    for key, name in DESCRIPTORS.items():
        if key in by_run:
            positions = zip(runs.bench, execution.tolist(), range(len(runs.bench)), strict=True)
            stated: dict[tuple[Any, ...], Any] = {
                (names[bench], number): runs.metadata.get(run, {}).get(key, metadata[bench].get(key)) for bench, number, run in positions
            }
            dims: tuple[str, ...] = (BENCHMARK, "execution")
        else:
            stated = {(label,): bench_metadata[key] for label, bench_metadata in zip(names, metadata, strict=True) if key in bench_metadata}
            dims = (BENCHMARK,)
        if stated:
            descriptors[name] = Descriptor(dims=dims, values={key: _descriptor(name, value) for key, value in stated.items()})
    return descriptors


def _date(source: Source) -> dict[str, Descriptor]:
    content = source.json
    runs = [run for bench in content["benchmarks"] for run in bench["runs"]]
    holders = [content, *content["benchmarks"], *runs]
    dates = [metadata["date"] for holder in holders if isinstance(metadata := holder.get("metadata"), dict) and "date" in metadata]
    return {"date": Descriptor(dims=(), values={(): min(map(str, dates))})} if dates else {}


def _prices(names: list[str], runs: _Runs, execution: Integers) -> dict[str, Descriptor]:
    """Return the cost of values along `benchmark` and `execution`."""
    keys = [(names[bench], position) for bench, position in zip(runs.bench, execution.tolist(), strict=True)]
    descriptors = {}
    for name, stated in zip((LOOPS, price_of(ITERATION), price_of(EXECUTION)), zip(*runs.costs, strict=True), strict=True):
        if any(cost is not None for cost in stated):
            descriptors[name] = Descriptor(dims=(BENCHMARK, EXECUTION), values=dict(zip(keys, stated, strict=True)), keep=(EXECUTION,))
    return descriptors


def _descriptor(name: str, value: Any) -> Any:
    """Return the number of cores as a number (old versions wrote text), and all else as text."""
    if value is None:
        return None
    if name == "logical_cores" and not isinstance(value, list):
        return number_or_text(int(value))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
