"""criterion.rs: `sample.json` below `target/criterion`: samples are iterations of one execution, `loops` the iterations of each.

A sample is the time of all its iterations; what is read is the time of one. The name is in `benchmark.json` beside it, else in the path;
the folder (`new`, `base`, a saved baseline) is the dim `baseline`. criterion keeps the last run as `base` too: such copies are marked.
"""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from perfarray.conventions import BENCHMARK, LOOPS, TIME
from perfarray.readers import labels
from perfarray.readers.entries import Entry, Run, table_of_entries, times
from perfarray.readers.numbers import value_of
from perfarray.readers.opening import FileError, Source
from perfarray.readers.shapes import ANY, Either, has_keys
from perfarray.tables.columns import Table, constant_column
from perfarray.timings.notes import Note

NAME = "criterion"
PLACED = True
BESIDE = ("benchmark.json", "estimates.json", "tukey.json", "raw.csv", ".html", ".svg")
BASELINE = "baseline"  # The dim of `new`, `base`, and the names given to `--save-baseline`
NEW = "new"
FEWEST_SAMPLES = 10  # Samples criterion takes at least
SHAPE = Either({"iters": [ANY], "times": [ANY]}, ([ANY], [ANY]))  # The second is that of versions before 0.4
# The header of `raw.csv`, which repeats the samples in versions before 0.4, and is all that some archives keep
RAW = re.compile(
    r"group,function,value,(?:throughput_num,throughput_type,)?sample_(?:time_nanos|measured_value),(?:unit,)?iteration_count\b"
)

started = has_keys("iters", first="{")


def recognise(source: Source) -> bool:
    """Return whether the content is iterations and times; files before 0.4 are two lists without names."""
    content = source.json_or_none
    if content is None:
        return _is_raw(source)
    if isinstance(content, dict):
        return isinstance(content.get("iters"), list) and isinstance(content.get("times"), list)
    if not (isinstance(content, list) and len(content) == 2 and all(isinstance(column, list) for column in content)):
        return False
    return source.path.name.partition(".")[0] == "sample" or _is_linear(*content)


def _is_linear(loops: list[Any], sample_times: list[Any]) -> bool:
    # Before 0.4 the n-th sample always has n times the iterations of the first.
    enough = len(loops) == len(sample_times) >= FEWEST_SAMPLES
    return enough and all(value == number * loops[0] for number, value in enumerate(loops, 1)) and loops[0] > 0


def _is_raw(source: Source) -> bool:
    return RAW.match(source.head) is not None


def superseded(source: Source) -> bool:
    """Return whether a `raw.csv` lies beside the samples it repeats."""
    return _is_raw(source) and source.beside("sample.json") is not None


def read(source: Source) -> Table:
    """Read the samples of one benchmark: benchmark x baseline x execution x iteration."""
    content = None if _is_raw(source) else source.json
    stated, sample_times = (content["iters"], content["times"]) if isinstance(content, dict) else content or _raw(source)
    if len(stated) != len(sample_times):
        raise source.error(f"has {len(stated)} numbers of iterations and {len(sample_times)} times")
    loops = times(source, "'iters'", stated)
    run = Run({TIME: times(source, "'times'", sample_times, 1e-9) / loops}, {LOOPS: loops})
    about = {"sampling_mode": content.get("sampling_mode")} if isinstance(content, dict) else {}
    table = table_of_entries(source, [_entry(source, run)], about=about)
    folder = source.path.absolute().parent.name
    return replace(table, labels=table.labels | {BASELINE: constant_column(folder, len(table))})


def _raw(source: Source) -> tuple[list[str], list[str]]:
    """Return iterations and times, in nanoseconds, of the rows of `raw.csv`."""
    rows = list(csv.DictReader(io.StringIO(source.text)))
    column = "sample_time_nanos" if rows and "sample_time_nanos" in rows[0] else "sample_measured_value"
    foreign_unit = next((row.get("unit") for row in rows if row.get("unit", "ns") != "ns"), None)
    if foreign_unit is not None:
        raise source.error(f"has values in {foreign_unit!r}; expected 'ns'")
    return [row.get("iteration_count") or "" for row in rows], [row.get(column) or "" for row in rows]


def _entry(source: Source, run: Run) -> Entry:
    """Return the benchmark as `benchmark.json` describes it; without that file, its name is in `raw.csv` or the path."""
    sibling = source.beside("benchmark.json")
    metadata: dict[str, Any] = {}
    if sibling is not None:
        try:
            content = sibling.json
        except FileError as error:
            raise source.error(f"the name of its benchmark cannot be read: {error}") from error
        metadata = content if isinstance(content, dict) else {}
    name_in_raw = "/".join(filter(None, source.text.split("\n")[1].split(",")[:3])) if not metadata and _is_raw(source) else ""
    name = str(metadata.get("full_id") or name_in_raw or source.path.absolute().parent.parent.name)
    settings = {"parameter": value_of(str(metadata["value_str"]))} if metadata.get("value_str") is not None else {}
    throughput = metadata.get("throughput")
    amount = {key.lower(): value for key, value in throughput.items()} if isinstance(throughput, dict) else {}
    ids = {key: str(metadata[f"{key}_id"]) for key in ("group", "function") if metadata.get(f"{key}_id")}
    return Entry(name, [run], settings, ids | amount)


def agree(tables: Sequence[Table]) -> list[Table]:
    """Mark a baseline that repeats the new run exactly, and make labels agree."""
    new = {_identity(table) for table in tables if table.labels[BASELINE].labels == [NEW]}
    agreed = []
    for table in labels.agree(tables):
        baseline, benchmark = table.labels[BASELINE].labels[0], table.labels[BENCHMARK].labels[0]
        if baseline != NEW and _identity(table) in new:
            sentence = f"{benchmark}: baseline {baseline!r} is a copy of {NEW!r}, and is marked 'copied'"
            note = Note("copied_baseline", sentence, {"benchmark": benchmark, BASELINE: baseline})
            table = replace(table, marks=table.marks | {"copied": np.ones(len(table), dtype=bool)}, notes=(*table.notes, note))
        agreed.append(table)
    return agreed


def _identity(table: Table) -> tuple[str, bytes]:
    return json.dumps(table.labels[BENCHMARK].labels), table.metrics[TIME].values.tobytes()
