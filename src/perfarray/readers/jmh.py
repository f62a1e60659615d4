"""JMH JSON (`-rf json`): forks are executions, measurement iterations iterations; warm-up is not in the file.

The unit decides what a number is: `ns/op` is a time (in seconds after reading), `ops/ms` a throughput, never a time. An entry is a
benchmark x params x mode x threads; these settings are in its label and coordinates along `benchmark`. Secondary metrics (profilers,
the methods of a group) are variables of their own. `iteration_seconds` and `execution_seconds` say what an iteration and the warm-up of
a fork were configured to take.
"""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import chain
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
from perfarray.numerics.types import Integers
from perfarray.readers.entries import relabelled
from perfarray.readers.names import RESERVED, number_or_text, unique_labels, variable_name
from perfarray.readers.numbers import checked
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, NUMBER
from perfarray.tables.columns import Column, Descriptor, Metric, Table, column_of

NAME = "jmh"

# JMH's fields to our coordinates
DESCRIPTORS = {
    "jdkVersion": "jdk_version",
    "jmhVersion": "jmh_version",
    "jvm": "jvm",
    "vmName": "vm",
    "vmVersion": "vm_version",
    "forks": "forks",
}

TAKEN = RESERVED | {"benchmark_name", "mode", "threads", *DESCRIPTORS.values()}  # Names that params and secondary metrics must not take
TIME_MODES = ("avgt", "sample", "ss")  # Modes whose score is a time
NOT_MEASURED = ("NaN",)  # Texts for a missing value: JSON has no NaN
WITHOUT_LIMIT = ("+INF", "-INF", "Infinity", "-Infinity")  # Texts for a division by zero in a profiler: missing values too
METRIC = {"rawData?": [[ANY]], "rawDataHistogram?": [[[(ANY, ANY)]]]}
# The shape of the JSON: a metric, the list of results
SHAPE = [{"primaryMetric": METRIC, "secondaryMetrics?": {...: METRIC}, "params?": {}, "jvmArgs?": [ANY], "warmupIterations?": NUMBER}]
Entry = dict[str, Any]
Forks = list[list[float]]


class Unit(NamedTuple):
    """What a unit measures, its text, and its factor to the common unit of this kind."""

    kind: str
    written: str
    factor: float
    common: str


class EntryLabel(NamedTuple):
    """Components of an entry's label: name, params, mode and threads, and the suffix of a repeated label."""

    name: str
    params: tuple[str, ...]
    mode: str
    threads: Any
    repeated: str = ""

    def without(self, removed: Collection[str], plain_name: str) -> "EntryLabel":
        """Return the label without some settings, under the name that contains no setting."""
        params = tuple(param for param in self.params if param.partition("=")[0] not in removed)
        mode, threads = ("" if "mode" in removed else self.mode), (1 if "threads" in removed else self.threads)
        return EntryLabel(plain_name, params, mode, threads, self.repeated)

    def label(self, with_mode: bool, with_threads: bool) -> str:
        """Return `name[params,mode,threads]`."""
        settings = [*self.params, *([f"mode={self.mode}"] if with_mode else []), *([f"threads={self.threads}"] if with_threads else [])]
        return f"{self.name}[{','.join(settings)}]{self.repeated}" if settings else f"{self.name}{self.repeated}"


class Piece(NamedTuple):
    """The values of one metric of one entry."""

    entry: int
    name: str
    unit: Unit
    forks: Forks


def started(head: str) -> bool:
    """Return whether a broken file began as JMH JSON."""
    return head.lstrip().startswith("[") and '"benchmark"' in head and ('"mode"' in head or '"jmhVersion"' in head)


def recognise(source: Source) -> bool:
    """Return whether the content is a list of JMH results."""
    content = source.json_or_none
    return isinstance(content, list) and bool(content) and all(isinstance(entry, dict) and "primaryMetric" in entry for entry in content)


def read(source: Source) -> Table:
    """Read all entries: benchmark x execution x iteration."""
    content = source.json
    if not content:
        raise source.error("is an empty list: there is nothing to read")
    names, entry_labels, jvm_dim = _labels(content, source)
    reserved = TAKEN | set(map(_setting, set(chain.from_iterable(entry.get("params") or () for entry in content))))
    pieces = [list(_pieces(index, entry, reserved, source)) for index, entry in enumerate(content)]
    lengths = [_fork_lengths(of_entry) for of_entry in pieces]
    sizes = [sum(of_entry) for of_entry in lengths]
    dims = {BENCHMARK: column_of(names)} | ({} if jvm_dim is None else {"jvm_args": column_of(jvm_dim)})
    metrics = _metrics(list(chain.from_iterable(pieces)), lengths, source)
    per_fork = np.array(list(chain.from_iterable(lengths)), dtype=np.intp)
    forks = np.concatenate([np.arange(len(of_entry)) for of_entry in lengths])
    return Table(
        labels={dim: Column(codes=np.repeat(column.codes, sizes), labels=column.labels) for dim, column in dims.items()},
        levels={"execution": np.repeat(forks, per_fork), "iteration": _counted(per_fork)},
        metrics=metrics,
        descriptors=_descriptors(content, names, jvm_dim) | _prices(pieces, content, names, jvm_dim),
        metric=TIME if TIME in metrics else THROUGHPUT,
        parts={BENCHMARK: list(dict(zip(names, entry_labels, strict=True)).values())},
    )


def agree(tables: Sequence[Table]) -> list[Table]:
    """Name mode and threads in the labels of every file if one of them must, so that the same benchmark has the same label in all."""
    named = _named([table.parts[BENCHMARK] for table in tables])
    return [relabelled(table, lambda label: label.label(*named)) for table in tables]


def _named(files: Sequence[Sequence[EntryLabel]]) -> tuple[bool, bool]:
    """Return whether labels name the mode, where several occur, and the threads, where several occur or it is not 1."""
    labels = [label for file_labels in files for label in file_labels]
    return len({label.mode for label in labels}) > 1, {label.threads for label in labels} != {1}


def _labels(content: list[Entry], source: Source) -> tuple[list[str], list[EntryLabel], list[str] | None]:
    """Return the labels of entries, their components, and the labels along `jvm_args` where entries differ in nothing else."""
    entries = [
        EntryLabel(
            str(entry.get("benchmark", UNKNOWN)),
            tuple(f"{key}={value}" for key, value in (entry.get("params") or {}).items()),
            str(entry.get("mode", UNKNOWN)),
            number_or_text(entry.get("threads", 1)),
        )
        for entry in content
    ]
    named = _named([entries])
    names = [entry.label(*named) for entry in entries]
    jvm = [_jvm_args(entry) for entry in content]
    if len(set(names)) < len(names) and len(set(zip(names, jvm, strict=True))) == len(names):
        return names, entries, jvm
    labels = unique_labels(names, source)
    suffixes = [label.removeprefix(name) for name, label in zip(names, labels, strict=True)]
    return labels, [entry._replace(repeated=suffix) for entry, suffix in zip(entries, suffixes, strict=True)], None


def _jvm_args(entry: Entry) -> str:
    return " ".join(map(str, entry.get("jvmArgs") or ()))


def _setting(param: str) -> str:
    return variable_name(param, "param_", TAKEN)


def _pieces(index: int, entry: Entry, reserved: frozenset[str], source: Source) -> Any:
    """Yield the metrics of one entry: the primary, then the secondary ones."""
    primary = entry["primaryMetric"]
    unit = _primary_unit(str(primary.get("scoreUnit", "")), entry.get("mode"), index, source)
    yield Piece(index, unit.kind, unit, _forks(primary, index, "primaryMetric", source))
    for name, metric in (entry.get("secondaryMetrics") or {}).items():
        variable = source.once(variable_name, name.lstrip("·+"), "secondary_", reserved)
        yield Piece(index, variable, source.once(_unit, str(metric.get("scoreUnit", "1"))), _forks(metric, index, name, source))


def _forks(metric: Entry, index: int, name: str, source: Source) -> Forks:
    """Return the values of each fork: for histograms (mode `sample`) the mean of each iteration."""
    forks: Forks | None = metric.get("rawData")
    if forks is not None:
        return forks
    histograms = metric.get("rawDataHistogram")
    if histograms is None:
        raise source.error(f"entry {index}: {name!r} has neither rawData nor rawDataHistogram")
    return [[_histogram_mean(pairs, f"entry {index}: the histogram of {name!r}", source) for pairs in fork] for fork in histograms]


def _histogram_mean(pairs: list[list[float]], location: str, source: Source) -> float:
    """Return the mean of one iteration of mode `sample`: pairs of value and how often it was seen."""
    values = checked([value for value, _ in pairs], lambda pair: f"{location}: value {pair}", source)
    counts = checked([count for _, count in pairs], lambda pair: f"{location}: count {pair}", source)
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
        raise source.error(f"entry {index} has unit {text!r}; expected a time per operation (ns/op) or operations per time (ops/s)")
    contradicts = mode == "thrpt" if unit.kind == TIME else mode in TIME_MODES
    if contradicts and not any(note.values.get("mode") == mode and note.values.get("unit") == text for note in source.notes):
        sentence = f"mode {mode!r} and unit {text!r} contradict each other; the unit decides: read as a {unit.kind}"
        source.note("mode_contradicts_unit", f"{sentence} (entry {index} is the first)", mode=mode, unit=text, entry=index)
    return unit


def _unit(text: str) -> Unit:
    """Read a unit: a time (also per operation), a rate (of operations: a throughput), or something else."""
    numerator, _, denominator = text.partition("/")
    factor = seconds_factor(numerator)
    if factor is not None and denominator in ("op", ""):
        return Unit(TIME, SECONDS, factor, SECONDS)
    period = seconds_factor(denominator)
    if period is not None:
        return Unit(THROUGHPUT if numerator == "ops" else f"{numerator}_rate", text, 1.0 / period, f"{numerator}/s")
    return Unit(text, text, 1.0, text)


def _fork_lengths(pieces: list[Piece]) -> list[int]:
    """Return how many iterations each fork of an entry has, in the metric that has most."""
    lengths = [len(fork) for fork in pieces[0].forks]
    for piece in pieces[1:]:
        fork_lengths = [len(fork) for fork in piece.forks]
        if fork_lengths != lengths:
            width = max(len(fork_lengths), len(lengths))
            fork_lengths, lengths = fork_lengths + [0] * (width - len(fork_lengths)), lengths + [0] * (width - len(lengths))
            lengths = [max(pair) for pair in zip(fork_lengths, lengths, strict=True)]
    return lengths


def _counted(lengths: Integers) -> Integers:
    """Count from 0 in every one of several lengths."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _metrics(pieces: list[Piece], lengths: list[list[int]], source: Source) -> dict[str, Metric]:
    """Lay each metric out as a column, NaN where an entry lacks it; one name that means two things becomes two variables."""
    fork_starts: list[list[int]] = []
    rows = 0
    for of_entry in lengths:
        fork_starts.append([])
        for length in of_entry:
            fork_starts[-1].append(rows)
            rows += length
    if not rows:
        raise source.error("has entries and no values in any of them")
    by_name: dict[str, dict[str, list[Piece]]] = {}
    for piece in pieces:
        by_name.setdefault(piece.name, {}).setdefault(piece.unit.kind, []).append(piece)
    metrics = {}
    for name, kinds in by_name.items():
        for kind, group in kinds.items():
            metrics[name if len(kinds) == 1 else variable_name(f"{name}_{kind}", "")] = _metric(group, fork_starts, rows, source)
    return metrics


def _metric(pieces: list[Piece], fork_starts: list[list[int]], rows: int, source: Source) -> Metric:
    """Place one metric's values; several units of one kind are converted to the common one."""
    unit = pieces[0].unit
    if any(piece.unit.written != unit.written for piece in pieces):
        unit = unit._replace(written=unit.common)
    convert = unit.written == unit.common
    flat = list(chain.from_iterable(fork for piece in pieces for fork in piece.forks))
    lengths = np.array([len(fork) for piece in pieces for fork in piece.forks], dtype=np.intp)
    starts = [start for piece in pieces for start, _ in zip(fork_starts[piece.entry], piece.forks, strict=False)]
    values = np.full(rows, np.nan)
    primary = pieces[0].name in (TIME, THROUGHPUT)
    missing = NOT_MEASURED if primary else (*NOT_MEASURED, *WITHOUT_LIMIT)
    numbers = checked(flat, partial(_locate, pieces), source, above_zero=pieces[0].name == TIME, missing=missing)
    if convert:
        numbers *= np.repeat([piece.unit.factor for piece in pieces], [sum(map(len, piece.forks)) for piece in pieces])
    values[np.repeat(np.array(starts, dtype=np.intp), lengths) + _counted(lengths)] = numbers
    return Metric(values=values, units=unit.written, better=HIGHER if unit.kind == THROUGHPUT else LOWER)


def _locate(pieces: list[Piece], index: int) -> str:
    """Format the location of a value for a message."""
    cells = [(piece, fork, cell) for piece in pieces for fork, values in enumerate(piece.forks) for cell in range(len(values))]
    piece, fork, cell = cells[index]
    return f"entry {piece.entry}: value {cell} of fork {fork} of {piece.name!r}"


def _descriptors(content: list[Entry], names: list[str], jvm_dim: list[str] | None) -> dict[str, Descriptor]:
    """Return settings and versions along `benchmark` (and `jvm_args`, if that is a dim); settings stay there even where all are alike."""
    dims = (BENCHMARK,) if jvm_dim is None else (BENCHMARK, "jvm_args")
    keys = list(zip(names, strict=True)) if jvm_dim is None else list(zip(names, jvm_dim, strict=True))
    values_by_name: dict[str, dict[tuple[str, ...], Any]] = {
        "benchmark_name": {key: str(entry.get("benchmark", UNKNOWN)) for key, entry in zip(keys, content, strict=True)},
        "mode": {key: str(entry.get("mode", UNKNOWN)) for key, entry in zip(keys, content, strict=True)},
        "threads": {key: number_or_text(entry.get("threads", 1)) for key, entry in zip(keys, content, strict=True)},
    }
    for param in dict.fromkeys(chain.from_iterable(entry.get("params") or () for entry in content)):
        values = ((key, (entry.get("params") or {}).get(param)) for key, entry in zip(keys, content, strict=True))
        values_by_name[_setting(param)] = {key: None if value is None else str(value) for key, value in values}
    for theirs, ours in DESCRIPTORS.items():
        if any(theirs in entry for entry in content):
            values_by_name[ours] = {key: number_or_text(entry.get(theirs)) for key, entry in zip(keys, content, strict=True)}
    if jvm_dim is None and any(entry.get("jvmArgs") for entry in content):
        values_by_name["jvm_args"] = {key: _jvm_args(entry) for key, entry in zip(keys, content, strict=True)}
    versions = {*DESCRIPTORS.values(), "jvm_args"}
    retained_dims = {name: () if name in versions else (BENCHMARK,) for name in values_by_name}
    return {name: Descriptor(dims=dims, values=values, keep=retained_dims[name]) for name, values in values_by_name.items()}


def _prices(pieces: list[list[Piece]], content: list[Entry], names: list[str], jvm_dim: list[str] | None) -> dict[str, Descriptor]:
    """Return the seconds an iteration takes, and a fork before its first one: its warm-up; the start of a JVM is not in the file."""
    dims = (BENCHMARK, EXECUTION) if jvm_dim is None else (BENCHMARK, "jvm_args", EXECUTION)
    keys = [(name,) for name in names] if jvm_dim is None else list(zip(names, jvm_dim, strict=True))
    prices: dict[str, dict[tuple[Any, ...], Any]] = {price_of(ITERATION): {}, price_of(EXECUTION): {}}
    for key, entry, of_entry in zip(keys, content, pieces, strict=True):
        operation = _operation_seconds(of_entry[0]) if entry.get("mode") in TIME_MODES else None
        seconds = partial(_iteration_seconds, operation=operation, mode=entry.get("mode"))
        iteration, warmup_iteration = seconds(entry.get("measurementTime")), seconds(entry.get("warmupTime"))
        n_warmups = entry.get("warmupIterations")
        warmup: float | None = 0.0 if n_warmups == 0 else None
        if warmup_iteration is not None and isinstance(n_warmups, int):
            warmup = n_warmups * warmup_iteration
        for fork in range(len(of_entry[0].forks)):
            prices[price_of(ITERATION)][(*key, fork)] = iteration
            prices[price_of(EXECUTION)][(*key, fork)] = warmup
    return {
        name: Descriptor(dims=dims, values=by_fork, keep=(EXECUTION,))
        for name, by_fork in prices.items()
        if any(value is not None for value in by_fork.values())
    }


def _operation_seconds(primary: Piece) -> float | None:
    values = [value for fork in primary.forks for value in fork if isinstance(value, int | float)]
    return primary.unit.factor * sum(values) / len(values) if values and primary.unit.kind == TIME else None


def _iteration_seconds(configured: Any, operation: float | None, mode: Any) -> float | None:
    """Return the seconds of an iteration: a single shot's own, else the larger of the configured time and one operation."""
    if mode == "ss":
        return operation
    time = _duration(configured)
    return time if time is None or operation is None else max(time, operation)


def _duration(text: Any) -> float | None:
    """Read `10 s` or `300 ms`; None for anything else, such as `single-shot`."""
    number, _, unit = str(text).partition(" ")
    factor = seconds_factor(unit)
    try:
        return None if factor is None else float(number) * factor
    except ValueError:
        return None
