"""Google Benchmark JSON (`--benchmark_format=json`) or CSV: repetitions are iterations.

Aggregates are counted and left out.

The label is the name as it is (`BM_copy/1024/threads:4`); its arguments are coordinates along
`benchmark`. `loops` is the number of iterations a value is the mean of; counters are coordinates
beside the values, rates of items and bytes variables.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, pairwise
from sys import float_info
from typing import Any

import numpy as np

from perfarray.conventions import HIGHER, LOOPS, TIME, seconds_factor
from perfarray.numerics.types import Floats, Mask
from perfarray.readers import google_benchmark_csv
from perfarray.readers.entries import KINDS, Columns, Entry, amounts, note_means, table_of_columns
from perfarray.readers.labels import PLAIN_NAME
from perfarray.readers.numbers import checked, value_of
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, NUMBER, SCALAR, TEXT, has_keys, rows_with
from perfarray.tables.columns import Table

NAME = "google_benchmark"
CONTEXT = {
    "host_name": "machine",
    "num_cpus": "logical_cores",
    "mhz_per_cpu": "cpu_mhz",
}  # Other keys keep their names
# By level and type of a cache
CACHES = {
    (1, "Data"): "l1_data_kb",
    (1, "Instruction"): "l1_instruction_kb",
    (2, "Unified"): "l2_kb",
    (3, "Unified"): "l3_kb",
}
RATES = {
    "items_per_second": ("items/s", HIGHER),
    "bytes_per_second": ("B/s", HIGHER),
}  # Counters that are metrics
MEASURED = {"real_time": TIME, "cpu_time": "cpu_time", "iterations": LOOPS}
# Keys of a row beside its counters
FIELDS = frozenset({
    "name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions",
    "repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit", "label",
    "error_occurred", "error_message", "skipped", "skip_message",
})  # fmt: skip
RESULTS = (
    "real_time",
    "run_type",
    "error_occurred",
    "big_o",
    "rms",
)  # A measurement, an aggregate or an error has one of these
ROW = {"name": TEXT, "|".join(RESULTS): ANY} | dict.fromkeys(
    ("run_name?", "family_index?", "per_family_instance_index?", "repetition_index?"), SCALAR
)
SHAPE = {
    "benchmarks": [ROW],
    "context?": {"caches?": [{"level": SCALAR, "type": SCALAR, "size": NUMBER}]},
}
AGGREGATES = (
    "_mean",
    "_median",
    "_stddev",
    "_cv",
    "_BigO",
    "_RMS",
)  # Names of aggregates in versions before 1.4

MISSING = object()  # Stands for a key that a row lacks

Row = dict[str, Any]

started = has_keys("context", "mhz_per_cpu|num_cpus|library_build_type")


def recognise(source: Source) -> bool:
    """Return whether the content is a list of benchmarks with real times, or CSV of them."""
    if google_benchmark_csv.recognise(source):
        return True
    rows = source.json_object.get("benchmarks")
    return rows_with(rows, "name") and all(not row.keys().isdisjoint(RESULTS) for row in rows)


def read(source: Source) -> Table:
    """Read the repetitions: benchmark x execution x iteration."""
    content = (
        google_benchmark_csv.content_of_csv(source)
        if google_benchmark_csv.recognise(source)
        else source.json
    )
    rows = list(content["benchmarks"])
    names = {row["name"] for row in rows}
    measured = [index for index, row in enumerate(rows) if not _is_aggregate(row, names)]
    groups = _groups(rows, measured)
    measured_names = {rows[group[0]].get("run_name", rows[group[0]]["name"]) for group in groups}
    means = [
        index
        for index in sorted(set(range(len(rows))) - set(measured))
        if _mean_of(rows[index]) not in {None, *measured_names}
    ]
    note_means(source, len(means))
    for index in means:
        rows[index] = {key: value for key, value in rows[index].items() if key != "iterations"} | {
            "run_name": _mean_of(rows[index])
        }
    groups += [[index] for index in means]
    columns = _columns(source, rows, [index for group in groups for index in group])
    lengths = np.array(list(map(len, groups)), dtype=np.intp)
    n_aggregates = len(rows) - len(measured) - len(means)
    return table_of_columns(
        source,
        [_entry(source, rows[group[0]]) for group in groups],
        Columns(np.ones_like(lengths), lengths, *columns),
        kinds=KINDS | RATES,
        file_metadata=_about(content.get("context") or {}),
        counts={"n_aggregates": n_aggregates},
    )


def _is_aggregate(row: Row, names: Collection[str]) -> bool:
    if "run_type" in row:
        return bool(row["run_type"] == "aggregate")
    summarises = any(
        row["name"].endswith(end) and row["name"].removesuffix(end) in names for end in AGGREGATES
    )
    return summarises or ("real_time" not in row and not row.get("error_occurred"))


def _mean_of(row: Row) -> str | None:
    if (
        row.get("aggregate_name", "mean") != "mean"
        or "real_time" not in row
        or not row["name"].endswith("_mean")
    ):
        return None
    return str(row.get("run_name", row["name"].removesuffix("_mean")))


def _groups(rows: list[Row], measured: Iterable[int]) -> list[list[int]]:
    """Return the rows of each benchmark.

    A repetition that occurs twice begins another benchmark of the same name.
    """
    groups: list[list[int]] = []
    benchmarks: dict[tuple[Any, ...], tuple[dict[Any, int], dict[int, list[int]]]] = {}
    for index in measured:
        row = rows[index]
        key = (
            row.get("run_name", row["name"]),
            row.get("family_index"),
            row.get("per_family_instance_index"),
        )
        if (benchmark := benchmarks.get(key)) is None:
            benchmark = benchmarks[key] = {}, {}
        repeats, rows_by_repeat = benchmark
        repetition = row.get("repetition_index")
        repeat = 0 if repetition is None else repeats.get(repetition, 0)
        repeats[repetition] = repeat + 1
        if (group := rows_by_repeat.get(repeat)) is None:
            group = rows_by_repeat[repeat] = []
            groups.append(group)
        group.append(index)
    return groups


def _entry(source: Source, first: Row) -> Entry:
    """Return one benchmark as its first row describes it."""
    name = str(first.get("run_name", first["name"]))
    settings, plain_name = source.once(_settings, name)
    metadata = {PLAIN_NAME: plain_name} | (
        {"error_message": str(first["error_message"])} if first.get("error_message") else {}
    )
    # What the program says of a benchmark may tell it from another one of its name.
    label_setting = {"label": str(first["label"])} if first.get("label") else {}
    return Entry(name, (), {"threads": first.get("threads")} | settings | label_setting, metadata)


def _columns(
    source: Source, rows: list[Row], indices: list[int]
) -> tuple[dict[str, Floats], dict[str, Floats], dict[str, Mask]]:
    """Return values, counters and marks of some rows; what failed or was skipped has no time."""
    rows = [rows[index] for index in indices]
    keys = dict.fromkeys(chain.from_iterable(dict.fromkeys(map(tuple, rows))))
    odd = "error_occurred" in keys or "skipped" in keys
    succeeded = [
        not (row.get("error_occurred") or row.get("skipped")) if odd else True for row in rows
    ]
    columns = {}
    for key in [key for key in keys if key in MEASURED or key not in FIELDS]:
        row_values = [row.get(key, MISSING) for row in rows]
        if key in MEASURED:
            complete = all(succeeded) and MISSING not in row_values
            valid = (
                list(range(len(rows)))
                if complete
                else [
                    row
                    for row, value in enumerate(row_values)
                    if succeeded[row] and value is not MISSING
                ]
            )
            names = [rows[row]["name"] for row in valid]
            numbers = amounts(
                source,
                _locate(indices, valid, key),
                [row_values[row] for row in valid],
                from_zero=key == "real_time",
                benchmark=names.__getitem__,
            )
        elif any(isinstance(value, int | float) for value in row_values):
            valid = [
                row
                for row, value in enumerate(row_values)
                if succeeded[row] and value is not MISSING and not _is_no_number(value)
            ]
            numbers = checked(
                [row_values[row] for row in valid], _locate(indices, valid, key), source
            )
        else:
            continue
        columns[key] = np.full(len(rows), np.nan)
        columns[key][valid] = numbers
    factors = _factors(source, rows, indices)
    values = {TIME: np.full(len(rows), np.nan)}
    values |= {
        ours: columns.pop(theirs) * factors
        for theirs, ours in MEASURED.items()
        if theirs in columns and ours != LOOPS
    }
    values |= {key: columns.pop(key) for key in RATES if key in columns}
    counters = {LOOPS if key == "iterations" else key: column for key, column in columns.items()}
    failed = np.array(
        ["error_occurred" in keys and bool(row.get("error_occurred")) for row in rows]
    )
    return values, counters, {"failed": failed} if failed.any() else {}


def _locate(indices: list[int], rows: Sequence[int], key: str) -> Callable[[int], str]:
    return lambda number: f"benchmarks[{indices[rows[number]]}]: {key!r}"


def _factors(source: Source, rows: list[Row], indices: list[int]) -> Floats:
    """Return the factor to seconds of each row."""
    units = [str(row.get("time_unit", "ns")) for row in rows]
    factors = {unit: seconds_factor(unit) for unit in set(units)}
    if None in factors.values():
        row = next(row for row, unit in enumerate(units) if factors[unit] is None)
        raise source.error(
            f"benchmarks[{indices[row]}]: time_unit {rows[row]['time_unit']!r} is not a unit "
            "of time"
        )
    return np.array([factors[unit] for unit in units], dtype=float)


def _is_no_number(value: Any) -> bool:
    """Return whether a counter has no value: text, or divided by nothing."""
    return (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not abs(value) <= float_info.max
    )


def _settings(name: str) -> tuple[dict[str, Any], str]:
    """Return the arguments in `BM_copy/1024/threads:4/real_time`, and the name without them."""
    plain: list[str] = []
    named_arguments: dict[str, Any] = {}
    unnamed: list[int | float] = []
    for position, segment in enumerate(_outside_brackets(name)):
        key, colon, text = segment.partition(":")
        value = value_of(text if colon else segment)
        if position and colon and key.isidentifier() and not text.startswith(":"):
            named_arguments[key] = value
        elif position and not isinstance(value, str):
            unnamed.append(value)
        else:
            plain.append(segment)
    return {
        f"arg{position}": value for position, value in enumerate(unnamed)
    } | named_arguments, "/".join(plain)


def _outside_brackets(name: str) -> list[str]:
    """Split a name at slashes that are not between angle brackets."""
    if "<" not in name and ">" not in name:
        return name.split("/")
    depth, slashes = 0, [-1]
    for position, character in enumerate(name):
        depth += (character == "<") - (character == ">")
        if character == "/" and depth <= 0:
            slashes.append(position)
    return [name[start + 1 : end] for start, end in pairwise([*slashes, len(name)])]


def _about(context: Row) -> dict[str, Any]:
    metadata = {
        CONTEXT.get(key, key): value
        for key, value in context.items()
        if isinstance(value, str | int | float)
    }
    for cache in context.get("caches") or ():
        name = CACHES.get((cache["level"], cache["type"]))
        if name is not None:
            metadata[name] = cache["size"] / 1024
    return metadata
