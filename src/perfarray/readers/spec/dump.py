"""Dumps of published SPEC results, one row each: `score(machine, tuning)`, unrepeated.

Base and peak are medians of a whole suite, better high. A 0 is a result that was not measured, and
NaN here. A row is a `machine`: systems that occur more than once stay apart (`#2`). Other columns
are coordinates along `machine`, numbers where all of a column are.
"""

import csv
import io
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from perfarray.conventions import HIGHER, MACHINE, UNKNOWN
from perfarray.numerics.types import Floats
from perfarray.readers.labels import unique_labels
from perfarray.readers.numbers import number, numbers
from perfarray.readers.opening import Source
from perfarray.tables.columns import Column, Descriptor, Metric, Table
from perfarray.timings.validation import listed

NAME = "spec_dump"

# Columns of scores, written without blanks: the variable, and its place along `tuning`
SCORES = {
    "result": ("score", "peak"),
    "baseline": ("score", "base"),
    "peakresult": ("score", "peak"),
    "baseresult": ("score", "base"),
    "peakrateresult": ("score_rate", "peak"),
    "baserateresult": ("score_rate", "base"),
    "peakspeedresult": ("score_speed", "peak"),
    "basespeedresult": ("score_speed", "base"),
}

# Columns of descriptions, written without blanks, and our coordinates; others keep their name in
# small letters
COLUMNS = {
    "benchmark": "suite",
    "hardwarevendor": "vendor",
    "cores": "cores",
    "chips": "chips",
    "coresperchip": "cores_per_chip",
    "threadspercore": "threads_per_core",
    "enabledthreadspercore": "threads_per_core",
    "processor": "cpu",
    "processormhz": "cpu_mhz",
    "processorcharacteristics": "cpu_characteristics",
    "cpusorderable": "orderable",
    "autoparallelization": "auto_parallel",
    "parallel": "auto_parallel",
    "basepointersize": "base_pointers",
    "peakpointersize": "peak_pointers",
    "1stlevelcache": "l1_cache",
    "2ndlevelcache": "l2_cache",
    "3rdlevelcache": "l3_cache",
    "othercache": "other_cache",
    "operatingsystem": "os",
    "filesystem": "file_system",
    "hwavail": "hardware_available",
    "swavail": "software_available",
    "basecopies": "base_copies",
    "testedby": "tested_by",
    "testsponsor": "test_sponsor",
    "testdate": "date_tested",
}

# Numbers of which 0 means that nobody wrote it down
COUNTS = ("cores", "chips", "cores_per_chip", "threads_per_core", "cpu_mhz", "base_copies")
OF_BENCHMARK = re.compile(r"(\d{3})(peak|base)")  # Medians of one benchmark
UNSTATED = frozenset({"", "--", "NA", "NaN", "nan"})  # Cells that state nothing
NOT_SCORED = UNSTATED | {"NC", "CE", "RE"}  # Nothing, non-compliant, did not compile, did not run
LABEL = ("vendor", "system", "suite")  # What names a result


def started(head: str) -> bool:
    """Return whether a file that is not all text began with the head of a dump."""
    return "\n" in head and _is_dump(head)


def recognise(source: Source) -> bool:
    """Return whether the head names a system and a score."""
    return not source.looks_like_json and _is_dump(source.beginning)


def read(source: Source) -> Table:
    """Read a dump: machine x tuning."""
    head, columns = _columns(source)
    names = _names(head)
    scores = {
        SCORES[_key(column)]: index
        for index, column in reversed(list(enumerate(head)))
        if _key(column) in SCORES
    }
    if not scores or "system" not in names.values():
        raise source.error(
            f"has no columns of results ({listed(['Result', 'Baseline', 'Base Rate Result'])}) "
            "of a 'System': its columns are "
            f"{listed(head, 12)}"
        )
    metadata_columns = {
        name: _described(name, columns[index])
        for index, name in names.items()
        if _key(head[index]) not in SCORES
    }
    machines = _labels(metadata_columns, source)
    tunings = sorted({tuning for _, tuning in scores})
    values = {
        metric: np.full((len(machines), len(tunings)), np.nan)
        for metric in dict.fromkeys(
            SCORES[_key(column)][0] for column in head if _key(column) in SCORES
        )
    }
    for (metric, tuning), index in scores.items():
        values[metric][:, tunings.index(tuning)] = _scores(columns[index], head[index], source)
    machine_codes, tuning_codes = np.indices((len(machines), len(tunings)))
    return Table(
        labels={
            MACHINE: Column(codes=machine_codes.reshape(-1), labels=machines),
            "tuning": Column(codes=tuning_codes.reshape(-1), labels=tunings),
        },
        levels={},
        metrics={
            metric: Metric(values=of_metric.reshape(-1), units="1", better=HIGHER)
            for metric, of_metric in values.items()
        },
        descriptors={
            name: Descriptor(
                dims=(MACHINE,),
                values=dict(zip(((label,) for label in machines), column, strict=True)),
                keep=(MACHINE,),
            )
            for name, column in metadata_columns.items()
        },
        metric=next(iter(values)),
        counts={
            "n_not_measured": int(sum(np.isnan(of_metric).sum() for of_metric in values.values()))
        },
    )


def _key(name: str) -> str:
    """Return a column's name without blanks, signs, and the `X` that R puts before digits."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    bare = plain.removeprefix("x")
    return bare if plain not in COLUMNS and (bare in COLUMNS or bare[:1].isdigit()) else plain


def _is_dump(text: str) -> bool:
    keys = {_key(name) for name in text.partition("\n")[0].split(_separator(text))}
    return (
        "system" in keys
        and not keys.isdisjoint(SCORES)
        and not keys.isdisjoint({"hardwarevendor", "benchmark"})
    )


def _separator(text: str) -> str:
    return max(",;\t", key=text.partition("\n")[0].count)


def _columns(source: Source) -> tuple[list[str], list[list[str]]]:
    """Return the head and the columns of the table, without blanks around cells.

    A row that ends early is filled up.
    """
    try:
        rows = [
            row
            for row in csv.reader(io.StringIO(source.text), delimiter=_separator(source.text))
            if row
        ]
    except csv.Error as error:
        raise source.error(f"is not a table: {error}") from None
    width = len(rows[0]) if rows else 0
    for row_number, row in enumerate(rows):
        if len(row) > width:
            raise source.error(
                f"is not a table: row {row_number} has {len(row)} cells, and the head {width}"
            )
    if len(rows) < 2:
        raise source.error("has a head and no rows")
    if len(rows[-1]) < width:
        raise source.error(
            f"is cut off: row {len(rows) - 1}, its last, has {len(rows[-1])} cells of {width}"
        )
    head, *body = ([cell.strip() for cell in row] for row in rows)
    return head, [list(column) for column in zip_longest(*body, fillvalue="")]


def _names(columns: Sequence[str]) -> dict[int, str]:
    """Return coordinates by column index; unnamed and repeated columns are left out."""
    names: dict[int, str] = {}
    for index, column in enumerate(columns):
        key = _key(column)
        median = OF_BENCHMARK.fullmatch(key)
        name = (
            f"{median[2]}_{median[1]}"
            if median
            else COLUMNS.get(key, re.sub(r"\W+", "_", column.lower()).strip("_"))
        )
        if name and name not in names.values():
            names[index] = name
    return names


def _described(name: str, column: Sequence[str]) -> list[Any]:
    """Return a column as numbers if all its texts are numbers, else as text."""
    texts = [text for text in column if text not in UNSTATED]
    values: list[Any] | None = None if name in LABEL else numbers(texts)
    if not values:
        return [UNKNOWN if text in UNSTATED else text for text in column]
    if len(texts) == len(column) and all(value.is_integer() for value in values):
        values = list(map(int, values))
    if name in COUNTS or OF_BENCHMARK.fullmatch("".join(reversed(name.split("_")))):
        values = [value or None for value in values]
    numeric_values = iter(values)
    return [None if text in UNSTATED else next(numeric_values) for text in column]


def _labels(columns: dict[str, list[Any]], source: Source) -> list[str]:
    """Return vendor, system and, if several, suite of each row; repeats get `#2` and a note."""
    name_columns = [
        columns[name]
        for name in LABEL
        if name in columns and (name != "suite" or len(set(columns[name])) > 1)
    ]
    return unique_labels(
        [" | ".join(row) for row in zip(*name_columns, strict=True)],
        source,
        "systems have several results",
    )


def _scores(column: Sequence[str], name: str, source: Source) -> Floats:
    """Return a column of scores; 0 and empty cells are not measured."""
    texts = ["0" if text in NOT_SCORED else text for text in column]
    parsed = numbers(texts)
    values = np.array([number(text) for text in texts] if parsed is None else parsed, dtype=float)
    wrong = ~(values >= 0)
    if wrong.any():
        row = int(wrong.argmax())
        raise source.error(
            f"line {row + 2}, column {name!r}: {texts[row]!r} is no score; expected a number, "
            "or 0 for none"
        )
    return np.where(values > 0, values, np.nan)
