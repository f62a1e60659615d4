"""Dumps of published SPEC results, one row per result: `score(machine, tuning)`, without repetitions.

Base and peak are medians of a whole suite, better high. A 0 is a result that was not measured, and NaN here. A row is a `machine`:
systems that occur more than once stay apart (`#2`). Other columns are coordinates along `machine`, numbers where all of a column are.
"""

import csv
import io
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from perfarray.conventions import HIGHER, MACHINE, UNKNOWN
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

# Columns of descriptions, written without blanks, and our coordinates; others keep their name in small letters
COLUMNS = {
    "benchmark": "suite",
    "hardwarevendor": "vendor",
    "system": "system",
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
    "memory": "memory",
    "operatingsystem": "os",
    "filesystem": "file_system",
    "compiler": "compiler",
    "hwavail": "hardware_available",
    "swavail": "software_available",
    "basecopies": "base_copies",
    "testedby": "tested_by",
    "testsponsor": "test_sponsor",
    "testdate": "date_tested",
    "published": "published",
    "updated": "updated",
    "license": "license",
    "generation": "generation",
    "price": "price",
}

# Numbers of which 0 means that nobody wrote it down
COUNTS = ("cores", "chips", "cores_per_chip", "threads_per_core", "cpu_mhz", "base_copies")
OF_BENCHMARK = re.compile(r"(\d{3})(peak|base)")  # Medians of one benchmark
NOT_SAID = frozenset({"", "--", "NA", "NaN", "nan"})  # What stands where a cell says nothing
NOT_SCORED = NOT_SAID | {"NC", "CE", "RE"}  # What stands where a score should be: nothing, non-compliant, did not compile, did not run
LABEL = ("vendor", "system", "suite")  # What names a result
LONGEST = 1 << 16  # Characters the head may have


def started(head: str) -> bool:
    """Return whether a file that is not all text began with the head of a dump."""
    return "\n" in head and _is_dump(head)


def recognise(source: Source) -> bool:
    """Return whether the head names a system and a score."""
    return not source.looks_like_json and _is_dump(source.text[:LONGEST])


def read(source: Source) -> Table:
    """Read a dump: machine x tuning."""
    frame = _frame(source)
    names = _names(list(frame.columns))
    scores = {index: SCORES[_key(column)] for index, column in enumerate(frame.columns) if _key(column) in SCORES}
    if not scores or "system" not in names.values():
        raise source.error(
            f"has no columns of results ({listed(['Result', 'Baseline', 'Base Rate Result'])}) of a 'System': its columns are "
            f"{listed([str(name) for name in frame.columns], 12)}"
        )
    columns_by_name = {name: _described(name, frame.iloc[:, index].tolist()) for index, name in names.items() if index not in scores}
    machines = _labels(columns_by_name, source)
    tunings = list(dict.fromkeys(tuning for _, tuning in sorted(scores.values(), key=lambda score: score[1])))
    values = {
        metric: np.stack([_scores(frame, scores, metric, tuning, source) for tuning in tunings], axis=1)
        for metric in dict.fromkeys(metric for metric, _ in scores.values())
    }
    machine_codes, tuning_codes = np.indices((len(machines), len(tunings)))
    return Table(
        labels={
            MACHINE: Column(codes=machine_codes.reshape(-1), labels=machines),
            "tuning": Column(codes=tuning_codes.reshape(-1), labels=tunings),
        },
        levels={},
        metrics={metric: Metric(values=of_metric.reshape(-1), units="1", better=HIGHER) for metric, of_metric in values.items()},
        descriptors={
            name: Descriptor(dims=(MACHINE,), values=dict(zip(((label,) for label in machines), column, strict=True)), keep=(MACHINE,))
            for name, column in columns_by_name.items()
        },
        metric=next(iter(values)),
        counts={"n_not_measured": int(sum(np.isnan(of_metric).sum() for of_metric in values.values()))},
    )


def _key(name: Any) -> str:
    """Return a name of a column as all dumps write it: no blanks, signs, or the `X` R puts before digits and signs."""
    plain = re.sub(r"[^a-z0-9]", "", str(name).lower())
    bare = plain.removeprefix("x")
    return bare if plain not in COLUMNS and (bare in COLUMNS or bare[:1].isdigit()) else plain


def _is_dump(text: str) -> bool:
    keys = {_key(name) for name in text.partition("\n")[0].split(_separator(text))}
    return "system" in keys and not keys.isdisjoint(SCORES) and not keys.isdisjoint({"hardwarevendor", "benchmark"})


def _separator(text: str) -> str:
    return max(",;\t", key=text.partition("\n")[0].count)


def _frame(source: Source) -> pd.DataFrame:
    """Parse the table as text; the columns keep their names, whatever occurs twice."""
    text = source.text
    if "\n" not in text.strip():
        raise source.error("has a head and no rows")
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(io.StringIO(text), sep=_separator(text), dtype=str, keep_default_na=False, header=None, index_col=False)
        except (ValueError, pd.errors.ParserError, pd.errors.ParserWarning) as error:
            raise source.error(f"is not a table: {str(error).strip()}") from None
    body = frame.iloc[1:].reset_index(drop=True)
    body.columns = pd.Index([str(name).strip() for name in frame.iloc[0]])
    if body.empty:
        raise source.error("has a head and no rows")
    last = next(csv.reader([text.rstrip("\n").rpartition("\n")[2]], delimiter=_separator(text)))
    if len(last) < body.shape[1] and not any(body.iloc[-1, len(last) :]):
        raise source.error(f"is cut off: row {len(body)}, its last, has {len(last)} cells of {body.shape[1]}")
    return body.fillna("")


def _names(columns: Sequence[Any]) -> dict[int, str]:
    """Return the coordinate of each column by its index; a column that says the same as one before it is left out, as are unnamed ones."""
    names: dict[int, str] = {}
    for index, column in enumerate(columns):
        key = _key(column)
        median = OF_BENCHMARK.fullmatch(key)
        name = f"{median[2]}_{median[1]}" if median else COLUMNS.get(key, re.sub(r"\W+", "_", str(column).lower()).strip("_"))
        if name and name not in names.values():
            names[index] = name
    return names


def _described(name: str, column: Sequence[str]) -> list[Any]:
    """Return a column as numbers if all that is written in it is a number, else as text."""
    written = [None if (plain := text.strip()) in NOT_SAID else plain for text in column]
    values = [] if name in LABEL else _all_numbers(written)
    if not values:
        return [UNKNOWN if text is None else text for text in written]
    if name in COUNTS or OF_BENCHMARK.fullmatch("".join(reversed(name.split("_")))):
        values = [value or None for value in values]
    return values


def _all_numbers(texts: Sequence[str | None]) -> list[Any]:
    """Return texts as numbers, whole ones as such; empty where one of them is none, or all say nothing."""
    stated = numbers([text for text in texts if text is not None])
    if not stated:
        return []
    if len(stated) == len(texts) and all(value.is_integer() for value in stated):
        return [int(value) for value in stated]
    values = iter(stated)
    return [None if text is None else next(values) for text in texts]


def _labels(columns: dict[str, list[Any]], source: Source) -> list[str]:
    """Name the rows by vendor, system and, where there are several, suite; what occurs again gets `#2`, with a note."""
    name_columns = [columns[name] for name in LABEL if name in columns and (name != "suite" or len(set(columns[name])) > 1)]
    return unique_labels([" | ".join(row) for row in zip(*name_columns, strict=True)], source, "systems have several results")


def _scores(frame: pd.DataFrame, scores: dict[int, tuple[str, str]], metric: str, tuning: str, source: Source) -> Any:
    """Return a column of scores; 0 and empty cells are not measured."""
    index = next((index for index, score in scores.items() if score == (metric, tuning)), None)
    if index is None:
        return np.full(len(frame), np.nan)
    texts = ["0" if text in NOT_SCORED else text for text in frame.iloc[:, index].str.strip()]
    scores_of = numbers(texts)
    values = np.array([np.nan if (value := number(text)) is None else value for text in texts] if scores_of is None else scores_of)
    wrong = ~(values >= 0)
    if wrong.any():
        row = int(wrong.argmax())
        raise source.error(f"line {row + 2}, column {frame.columns[index]!r}: {texts[row]!r} is no score; expected a number, or 0 for none")
    return np.where(values > 0, values, np.nan)
