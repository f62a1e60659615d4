"""Google Benchmark JSON (`--benchmark_format=json`): repetitions are iterations of one execution; aggregates are counted and left out.

The label is the name as it is (`BM_copy/1024/threads:4`); its arguments are coordinates along `benchmark`. `loops` is the number of
iterations a value is the mean of; counters are coordinates beside the values, rates of items and bytes variables.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from sys import float_info
from typing import Any

import numpy as np

from perfarray.conventions import HIGHER, LOOPS, TIME, seconds_factor
from perfarray.readers.entries import KINDS, Entry, Run, columns_by_name, note_means, table_of_entries
from perfarray.readers.numbers import checked, value_of
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, NUMBER, SCALAR, TEXT, has_keys, rows_with
from perfarray.tables.columns import Table

NAME = "google_benchmark"
CONTEXT = {"host_name": "machine", "num_cpus": "logical_cores", "mhz_per_cpu": "cpu_mhz"}  # Other keys keep their names
# By level and type of a cache
CACHES = {(1, "Data"): "l1_data_kb", (1, "Instruction"): "l1_instruction_kb", (2, "Unified"): "l2_kb", (3, "Unified"): "l3_kb"}
RATES = {"items_per_second": ("items/s", HIGHER), "bytes_per_second": ("B/s", HIGHER)}  # Counters that are metrics
MEASURED = {"real_time": TIME, "cpu_time": "cpu_time", "iterations": LOOPS}
# Keys of a row beside its counters
FIELDS = frozenset({
    "name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations",
    "real_time", "cpu_time", "time_unit", "label", "error_occurred", "error_message", "skipped", "skip_message",
})  # fmt: skip
RESULTS = ("real_time", "run_type", "error_occurred", "big_o", "rms")  # A measurement, an aggregate or an error has one of these
ROW = {"name": TEXT, "|".join(RESULTS): ANY} | dict.fromkeys(
    ("run_name?", "family_index?", "per_family_instance_index?", "repetition_index?"), SCALAR
)
SHAPE = {"benchmarks": [ROW], "context?": {"caches?": [{"level": SCALAR, "type": SCALAR, "size": NUMBER}]}}
AGGREGATES = ("_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS")  # Names of aggregates in versions before 1.4

Row = dict[str, Any]

started = has_keys("context", "mhz_per_cpu|num_cpus|library_build_type")


def recognise(source: Source) -> bool:
    """Return whether the content is a list of benchmarks with real times."""
    rows = source.json_object.get("benchmarks")
    return rows_with(rows, "name") and all(not row.keys().isdisjoint(RESULTS) for row in rows)


def read(source: Source) -> Table:
    """Read the repetitions: benchmark x execution x iteration."""
    content = source.json
    rows = content["benchmarks"]
    names = {row["name"] for row in rows}
    measured = [index for index, row in enumerate(rows) if not _is_aggregate(row, names)]
    groups = _groups(rows, measured)
    measured_names = {rows[group[0]].get("run_name", rows[group[0]]["name"]) for group in groups}
    means = [index for index in sorted(set(range(len(rows))) - set(measured)) if _mean_of(rows[index]) not in {None, *measured_names}]
    note_means(source, len(means))
    entries = [_entry(source, rows, group) for group in groups]
    for index in means:
        mean = {key: value for key, value in rows[index].items() if key != "iterations"} | {"run_name": _mean_of(rows[index])}
        entries.append(_entry(source, {index: mean}, [index]))
    n_aggregates = len(rows) - len(measured) - len(means)
    about = _about(content.get("context") or {})
    return table_of_entries(source, entries, kinds=KINDS | RATES, about=about, counts={"n_aggregates": n_aggregates})


def _is_aggregate(row: Row, names: Collection[str]) -> bool:
    if "run_type" in row:
        return bool(row["run_type"] == "aggregate")
    summarises = any(row["name"].endswith(end) and row["name"].removesuffix(end) in names for end in AGGREGATES)
    return summarises or ("real_time" not in row and not row.get("error_occurred"))


def _mean_of(row: Row) -> str | None:
    if row.get("aggregate_name", "mean") != "mean" or "real_time" not in row or not row["name"].endswith("_mean"):
        return None
    return str(row.get("run_name", row["name"].removesuffix("_mean")))


def _groups(rows: list[Row], measured: Iterable[int]) -> list[list[int]]:
    """Return the rows of each benchmark; a repetition that occurs twice begins another benchmark of the same name."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    repeats: Counter[tuple[Any, ...]] = Counter()
    for index in measured:
        row = rows[index]
        key = (row.get("run_name", row["name"]), row.get("family_index"), row.get("per_family_instance_index"))
        repetition = row.get("repetition_index")
        groups.setdefault((*key, 0 if repetition is None else repeats[*key, repetition]), []).append(index)
        repeats[*key, repetition] += 1
    return list(groups.values())


def _entry(source: Source, rows: Sequence[Row] | Mapping[int, Row], indices: list[int]) -> Entry:
    """Return one benchmark; what failed or was skipped has no time."""
    group_rows = [rows[index] for index in indices]
    succeeded = [not (row.get("error_occurred") or row.get("skipped")) for row in group_rows]
    factors = np.array([_factor(source, index, row) for index, row in zip(indices, group_rows, strict=True)])
    columns = {}
    for key, (row_indices, stated) in columns_by_name(source, group_rows).items():
        counter = key not in FIELDS
        if key not in MEASURED and not (counter and any(isinstance(value, int | float) for value in stated)):
            continue
        cells = zip(row_indices, stated, strict=True)
        valid = {row: value for row, value in cells if succeeded[row] and not (counter and _is_no_number(value))}
        locations = [f"benchmarks[{indices[row]}]: {key!r}" for row in valid]
        columns[key] = np.full(len(indices), np.nan)
        columns[key][list(valid)] = checked(list(valid.values()), locations.__getitem__, source, above_zero=key == "real_time")
    values = {TIME: np.full(len(indices), np.nan)}
    values |= {ours: columns.pop(theirs) * factors for theirs, ours in MEASURED.items() if theirs in columns and ours != LOOPS}
    values |= {key: columns.pop(key) for key in RATES if key in columns}
    counters = {LOOPS if key == "iterations" else key: column for key, column in columns.items()}
    first = group_rows[0]
    name = str(first.get("run_name", first["name"]))
    settings, plain_name = _settings(name)
    metadata = {"benchmark_name": plain_name} | {key: str(first[key]) for key in ("label", "error_message") if first.get(key)}
    failed = np.array([bool(row.get("error_occurred")) for row in group_rows])
    run = Run(values, counters, {"failed": failed} if failed.any() else {})
    return Entry(name, [run], {"threads": first.get("threads")} | settings, metadata)


def _is_no_number(value: Any) -> bool:
    """Return whether a counter has no value: text, or divided by nothing."""
    return isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= float_info.max


def _factor(source: Source, index: int, row: Row) -> float:
    factor = seconds_factor(str(row.get("time_unit", "ns")))
    if factor is None:
        raise source.error(f"benchmarks[{index}]: time_unit {row['time_unit']!r} is not a unit of time")
    return factor


def _settings(name: str) -> tuple[dict[str, Any], str]:
    """Return the arguments in `BM_copy/1024/threads:4/real_time`, and the name without them."""
    plain: list[str] = []
    named: dict[str, Any] = {}
    unnamed: list[int | float] = []
    for position, segment in enumerate(_outside_brackets(name)):
        key, colon, text = segment.partition(":")
        value = value_of(text if colon else segment)
        if position and colon and key.isidentifier() and not text.startswith(":"):
            named[key] = value
        elif position and not isinstance(value, str):
            unnamed.append(value)
        else:
            plain.append(segment)
    return {f"arg{position}": value for position, value in enumerate(unnamed)} | named, "/".join(plain)


def _outside_brackets(name: str) -> list[str]:
    """Split a name at slashes that are not between angle brackets."""
    depth, slashes = 0, [-1]
    for position, character in enumerate(name):
        depth += (character == "<") - (character == ">")
        if character == "/" and depth <= 0:
            slashes.append(position)
    return [name[start + 1 : end] for start, end in pairwise([*slashes, len(name)])]


def _about(context: Row) -> dict[str, Any]:
    metadata = {CONTEXT.get(key, key): value for key, value in context.items() if isinstance(value, str | int | float)}
    for cache in context.get("caches") or ():
        name = CACHES.get((cache["level"], cache["type"]))
        if name is not None:
            metadata[name] = cache["size"] / 1024
    return metadata
