"""JMH JSON (`-rf json`), or its CSV: forks are executions, measurement iterations iterations.

warm-up is not in the file.

The unit decides what a number is: `ns/op` is a time (in seconds after reading), `ops/ms` a
throughput, never a time. An entry is a benchmark x params x mode x threads; these settings are in
its label and coordinates along `benchmark`. Secondary metrics (profilers, the methods of a group)
are variables of their own. `iteration_seconds` and `execution_seconds` say what an iteration and
the warm-up of a fork were configured to take.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain, islice, zip_longest
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import (
    BENCHMARK,
    EXECUTION,
    HIGHER,
    ITERATION,
    LOWER,
    SECONDS,
    THROUGHPUT,
    TIME,
    UNKNOWN,
    price_of,
    seconds_factor,
)
from perfarray.readers import jmh_csv
from perfarray.readers.entries import amounts, positions_within
from perfarray.readers.labels import (
    PLAIN_NAME,
    RESERVED,
    name_with_settings,
    number_or_text,
    relabelled,
    unique_labels,
    variable_name,
)
from perfarray.readers.numbers import checked, number
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, NUMBER, has_keys, rows_with
from perfarray.tables.columns import Column, Descriptor, Metric, Table, column_of

NAME = "jmh"
JVM_ARGS = "jvm_args"
DESCRIPTORS = {
    "jdkVersion": "jdk_version",
    "jmhVersion": "jmh_version",
    "jvm": "jvm",
    "vmName": "vm",
    "vmVersion": "vm_version",
    "forks": "forks",
    "warmupIterations": "warmup_iterations",
    "warmupTime": "warmup_time",
    "warmupBatchSize": "warmup_batch_size",
    "measurementTime": "measurement_time",
    "measurementBatchSize": "measurement_batch_size",
}
TAKEN = RESERVED | {
    PLAIN_NAME,
    "mode",
    "threads",
    *DESCRIPTORS.values(),
}  # Names that params and secondary metrics may not take
TIME_MODES = ("avgt", "sample", "ss")  # Modes whose score is a time
NO_SCORE = "---"  # The unit of profilers that give a text; their score is always NaN
METRIC = {"rawData?": [[ANY]], "rawDataHistogram?": [[[(ANY, ANY)]]]}
SHAPE = [
    {
        "primaryMetric": METRIC,
        "secondaryMetrics?": {...: METRIC},
        "params?": {},
        "jvmArgs?": [ANY],
        "warmupIterations?": NUMBER,
    }
]

Result = dict[str, Any]
Forks = list[list[float]]


class Unit(NamedTuple):
    """What a unit measures, its text, and its factor to the common unit of this kind."""

    kind: str
    written: str
    factor: float
    common: str


class ResultLabel(NamedTuple):
    """Components of a result's label: name, params, mode, threads, suffix of a repeat."""

    name: str
    params: tuple[str, ...]
    mode: str
    threads: Any
    repeated: str = ""

    def without(self, removed: Collection[str], plain_name: str) -> "ResultLabel":
        """Return the label without some settings, under the name that contains no setting."""
        params = tuple(param for param in self.params if param.partition("=")[0] not in removed)
        mode, threads = (
            ("" if "mode" in removed else self.mode),
            (1 if "threads" in removed else self.threads),
        )
        return ResultLabel(
            "" if PLAIN_NAME in removed else plain_name, params, mode, threads, self.repeated
        )

    def label(self, with_mode: bool, with_threads: bool) -> str:
        """Return `name[params,mode,threads]`."""
        settings = [
            *self.params,
            *([f"mode={self.mode}"] if with_mode else []),
            *([f"threads={self.threads}"] if with_threads else []),
        ]
        return f"{name_with_settings(self.name, ','.join(settings))}{self.repeated}"


class Piece(NamedTuple):
    """The values of one metric of one result (its index and benchmark), fork by fork."""

    result: int
    benchmark: str
    name: str
    unit: Unit
    forks: Forks


started = has_keys("benchmark", "mode|jmhVersion", first="[")


def recognise(source: Source) -> bool:
    """Return whether the content is a list of JMH results, or JMH's CSV."""
    return rows_with(source.json_or_none, "primaryMetric") or jmh_csv.recognise(source)


def read(source: Source) -> Table:
    """Read results: benchmark x execution x iteration, and x `jvm_args` if only these differ."""
    results = jmh_csv.results_in_csv(source) if jmh_csv.recognise(source) else source.json
    if not results:
        raise source.error("is an empty list: there is nothing to read")
    names, label_parts, jvm_args = _labels(results, source)
    reserved = TAKEN | set(
        map(_setting, set(chain.from_iterable(result.get("params") or () for result in results)))
    )
    pieces = [
        list(_pieces(index, result, reserved, source)) for index, result in enumerate(results)
    ]
    fork_lengths = [
        [
            max(lengths)
            for lengths in zip_longest(*(map(len, piece.forks) for piece in of_result), fillvalue=0)
        ]
        for of_result in pieces
    ]
    per_fork = np.array(list(chain.from_iterable(fork_lengths)), dtype=np.intp)
    if not per_fork.sum():
        raise source.error("has entries and no values in any of them")
    starts = iter((np.cumsum(per_fork) - per_fork).tolist())
    fork_starts = [list(islice(starts, len(lengths))) for lengths in fork_lengths]
    metrics = _metrics(list(chain.from_iterable(pieces)), fork_starts, int(per_fork.sum()), source)
    dims = {BENCHMARK: names} | ({} if jvm_args is None else {JVM_ARGS: jvm_args})
    cells = list(zip(*dims.values(), strict=True))
    rows = np.repeat(np.arange(len(results)), list(map(sum, fork_lengths)))
    columns = {dim: column_of(labels) for dim, labels in dims.items()}
    return Table(
        labels={
            dim: Column(codes=column.codes[rows], labels=column.labels)
            for dim, column in columns.items()
        },
        levels={
            EXECUTION: np.repeat(
                np.concatenate([np.arange(len(lengths)) for lengths in fork_lengths]), per_fork
            ),
            ITERATION: positions_within(per_fork),
        },
        metrics=metrics,
        descriptors=_descriptors(results, tuple(dims), cells)
        | _prices(pieces, results, tuple(dims), cells),
        metric=TIME if TIME in metrics else THROUGHPUT,
        parts={BENCHMARK: list(dict(zip(names, label_parts, strict=True)).values())},
    )


def agree(tables: Sequence[Table]) -> list[Table]:
    """Name mode and threads in the labels of all files if one file needs it."""
    keys = _ambiguous([table.parts[BENCHMARK] for table in tables])
    return relabelled(tables, lambda label: label.label(*keys))


def _ambiguous(files: Sequence[Sequence[ResultLabel]]) -> tuple[bool, bool]:
    """Return whether labels name the mode (if several occur) and the threads (if not all 1)."""
    labels = [label for file_labels in files for label in file_labels]
    return len({label.mode for label in labels}) > 1, {label.threads for label in labels} != {1}


def _labels(
    results: list[Result], source: Source
) -> tuple[list[str], list[ResultLabel], list[str] | None]:
    """Return the labels of results, their components, and labels along `jvm_args`, if any."""
    label_parts = [
        ResultLabel(
            str(result.get("benchmark", UNKNOWN)),
            tuple(f"{key}={value}" for key, value in (result.get("params") or {}).items()),
            str(result.get("mode", UNKNOWN)),
            number_or_text(result.get("threads", 1)),
        )
        for result in results
    ]
    keys = _ambiguous([label_parts])
    names = [label.label(*keys) for label in label_parts]
    jvm_args = list(map(_jvm_args, results))
    if len(set(names)) < len(names) and len(set(zip(names, jvm_args, strict=True))) == len(names):
        return names, label_parts, jvm_args
    labels = unique_labels(names, source)
    suffixes = [label.removeprefix(name) for name, label in zip(names, labels, strict=True)]
    return (
        labels,
        [
            label._replace(repeated=suffix)
            for label, suffix in zip(label_parts, suffixes, strict=True)
        ],
        None,
    )


def _jvm_args(result: Result) -> str:
    return " ".join(map(str, result.get("jvmArgs") or ()))


def _setting(param: str) -> str:
    return variable_name(param, "param_", TAKEN)


def _pieces(
    index: int, result: Result, reserved: frozenset[str], source: Source
) -> Iterator[Piece]:
    primary = result["primaryMetric"]
    unit = _primary_unit(str(primary.get("scoreUnit", "")), result.get("mode"), index, source)
    benchmark = str(result.get("benchmark", UNKNOWN))
    yield Piece(index, benchmark, unit.kind, unit, _forks(primary, index, "primaryMetric", source))
    for name, metric in (result.get("secondaryMetrics") or {}).items():
        variable = source.once(variable_name, name.lstrip("·+"), "secondary_", reserved)
        yield Piece(
            index,
            benchmark,
            variable,
            source.once(_unit, str(metric.get("scoreUnit", "1"))),
            _forks(metric, index, name, source),
        )


def _forks(metric: Result, index: int, name: str, source: Source) -> Forks:
    """Return the values of each fork: for histograms (mode `sample`) the mean of each iteration."""
    forks: Forks | None = metric.get("rawData")
    if forks is not None:
        return forks
    histograms = metric.get("rawDataHistogram")
    if histograms is None:
        raise source.error(f"entry {index}: {name!r} has neither rawData nor rawDataHistogram")
    return [
        [
            _histogram_mean(pairs, f"entry {index}: the histogram of {name!r}", source)
            for pairs in fork
        ]
        for fork in histograms
    ]


def _histogram_mean(pairs: list[list[float]], location: str, source: Source) -> float:
    """Return the mean of one iteration of mode `sample`: pairs of a value and its count."""
    values = checked(
        [value for value, _ in pairs], lambda pair: f"{location}: value {pair}", source
    )
    counts = checked(
        [count for _, count in pairs], lambda pair: f"{location}: count {pair}", source
    )
    if (counts < 0).any():
        raise source.error(f"{location}: count {int((counts < 0).argmax())} is negative")
    with np.errstate(over="ignore", invalid="ignore"):
        total = counts.sum()
        mean = float(values @ counts / total) if total else float("nan")
    if total and not np.isfinite(mean):
        raise source.error(f"{location}: its counts and values are too large for a mean")
    return mean


def _primary_unit(text: str, mode: Any, index: int, source: Source) -> Unit:
    """Return the unit of the primary metric; note a mode that contradicts it."""
    unit = source.once(_unit, text)
    if unit.kind not in (TIME, THROUGHPUT):
        raise source.error(
            f"entry {index} has unit {text!r}; expected a time per operation (ns/op) or "
            "operations per time (ops/s)"
        )
    contradicts = mode == "thrpt" if unit.kind == TIME else mode in TIME_MODES
    if contradicts and not any(
        note.values.get("mode") == mode and note.values.get("unit") == text for note in source.notes
    ):
        sentence = (
            f"mode {mode!r} and unit {text!r} contradict each other. The unit decides: values "
            f"are read as a {unit.kind}"
        )
        source.note(
            "mode_contradicts_unit",
            f"{sentence} (entry {index} is the first)",
            mode=mode,
            unit=text,
            entry=index,
        )
    return unit


def _unit(text: str) -> Unit:
    """Read a unit: a time, also per operation, a rate of operations, or another one."""
    numerator, _, denominator = text.partition("/")
    factor = seconds_factor(numerator)
    if factor is not None and denominator in ("op", ""):
        return Unit(TIME, SECONDS, factor, SECONDS)
    period = seconds_factor(denominator)
    if period is not None:
        return Unit(
            THROUGHPUT if numerator == "ops" else f"{numerator}_rate",
            text,
            1.0 / period,
            f"{numerator}/s",
        )
    return Unit(text, text, 1.0, text)


def _metrics(
    pieces: list[Piece], fork_starts: list[list[int]], rows: int, source: Source
) -> dict[str, Metric]:
    """Lay each metric out as a column, NaN where a result lacks it.

    One name that means two things becomes two variables.
    """
    by_name: dict[str, dict[str, list[Piece]]] = {}
    for piece in pieces:
        by_name.setdefault(piece.name, {}).setdefault(piece.unit.kind, []).append(piece)
    metrics = {}
    for name, kinds in by_name.items():
        for kind, group in kinds.items():
            metrics[name if len(kinds) == 1 else variable_name(f"{name}_{kind}", "")] = _metric(
                group, fork_starts, rows, source
            )
    return metrics


def _metric(pieces: list[Piece], fork_starts: list[list[int]], rows: int, source: Source) -> Metric:
    """Place one metric's values; several units of one kind are converted to the common one."""
    unit = pieces[0].unit
    if any(piece.unit.written != unit.written for piece in pieces):
        unit = unit._replace(written=unit.common)
    flat = list(chain.from_iterable(fork for piece in pieces for fork in piece.forks))
    lengths = np.array([len(fork) for piece in pieces for fork in piece.forks], dtype=np.intp)
    starts = [
        start
        for piece in pieces
        for start, _ in zip(fork_starts[piece.result], piece.forks, strict=False)
    ]
    if unit.written == NO_SCORE:
        numbers = np.full(len(flat), np.nan)
    else:
        locate, benchmark = _locators(pieces)
        numbers = amounts(
            source, locate, flat, from_zero=pieces[0].name == TIME, benchmark=benchmark
        )
    if unit.written == unit.common:
        numbers *= np.repeat(
            [piece.unit.factor for piece in pieces],
            [sum(map(len, piece.forks)) for piece in pieces],
        )
    values = np.full(rows, np.nan)
    values[np.repeat(np.array(starts, dtype=np.intp), lengths) + positions_within(lengths)] = (
        numbers
    )
    return Metric(
        values=values, units=unit.written, better=HIGHER if unit.kind == THROUGHPUT else LOWER
    )


def _locators(pieces: list[Piece]) -> tuple[Callable[[int], str], Callable[[int], str]]:
    """Return functions for the location and benchmark of each value of joined pieces."""
    forks = [(piece, fork) for piece in pieces for fork in range(len(piece.forks))]
    ends = np.cumsum([len(piece.forks[fork]) for piece, fork in forks])

    def position(index: int) -> int:
        return int(np.searchsorted(ends, index, side="right"))

    def locate(index: int) -> str:
        piece, fork = forks[position(index)]
        cell = index - int(ends[position(index)]) + len(piece.forks[fork])
        return f"entry {piece.result}: value {cell} of fork {fork} of {piece.name!r}"

    return locate, lambda index: forks[position(index)][0].benchmark


def _descriptors(
    results: list[Result], dims: tuple[str, ...], cells: list[tuple[str, ...]]
) -> dict[str, Descriptor]:
    """Return settings and versions; settings stay along `benchmark` even where all are alike."""
    settings: dict[str, list[Any]] = {
        PLAIN_NAME: [str(result.get("benchmark", UNKNOWN)) for result in results],
        "mode": [str(result.get("mode", UNKNOWN)) for result in results],
        "threads": [number_or_text(result.get("threads", 1)) for result in results],
    }
    for param in dict.fromkeys(
        chain.from_iterable(result.get("params") or () for result in results)
    ):
        values = [(result.get("params") or {}).get(param) for result in results]
        settings[_setting(param)] = [None if value is None else str(value) for value in values]
    versions: dict[str, list[Any]] = {
        ours: [number_or_text(result.get(theirs)) for result in results]
        for theirs, ours in DESCRIPTORS.items()
        if any(theirs in result for result in results)
    }
    if JVM_ARGS not in dims and any(result.get("jvmArgs") for result in results):
        versions[JVM_ARGS] = list(map(_jvm_args, results))
    return {
        name: Descriptor(
            dims=dims,
            values=dict(zip(cells, values, strict=True)),
            keep=() if name in versions else (BENCHMARK,),
        )
        for name, values in (settings | versions).items()
    }


def _prices(
    pieces: list[list[Piece]],
    results: list[Result],
    dims: tuple[str, ...],
    cells: list[tuple[str, ...]],
) -> dict[str, Descriptor]:
    """Return the seconds of an iteration, and of the warm-up of a fork.

    The start of a JVM is not in the file.
    """
    prices: dict[str, dict[tuple[Any, ...], Any]] = {
        price_of(ITERATION): {},
        price_of(EXECUTION): {},
    }
    for cell, result, of_result in zip(cells, results, pieces, strict=True):
        mode, n_warmups = result.get("mode"), result.get("warmupIterations")
        operation = _operation_seconds(of_result[0]) if mode in TIME_MODES else None
        iteration, warmup_iteration = (
            _iteration_seconds(result.get(key), operation, mode)
            for key in ("measurementTime", "warmupTime")
        )
        warmup: float | None = 0.0 if n_warmups == 0 else None
        if warmup_iteration is not None and isinstance(n_warmups, int):
            warmup = n_warmups * warmup_iteration
        for fork in range(len(of_result[0].forks)):
            prices[price_of(ITERATION)][(*cell, fork)] = iteration
            prices[price_of(EXECUTION)][(*cell, fork)] = warmup
    return {
        name: Descriptor(dims=(*dims, EXECUTION), values=by_fork, keep=(EXECUTION,))
        for name, by_fork in prices.items()
        if any(value is not None for value in by_fork.values())
    }


def _operation_seconds(primary: Piece) -> float | None:
    values = [
        value
        for fork in primary.forks
        for value in fork
        if isinstance(value, int | float) and isfinite(value)
    ]
    return (
        primary.unit.factor * sum(values) / len(values)
        if values and primary.unit.kind == TIME
        else None
    )


def _iteration_seconds(configured: Any, operation: float | None, mode: Any) -> float | None:
    """Return an iteration's seconds: a single shot's, else at least the configured time."""
    if mode == "ss":
        return operation
    text, _, unit = str(configured).partition(" ")
    value, factor = number(text), seconds_factor(unit)
    if value is None or factor is None:
        return None
    return value * factor if operation is None else max(value * factor, operation)
