"""criterion.rs (`sample.json` below `target/criterion`): samples are iterations of one execution.

A sample is the time of all its iterations; what is read is the time of one. The name is in
`benchmark.json` beside it, else in the path; the folder (`new`, `base`, a saved baseline) is the
dim `baseline`. criterion keeps the last run as `base` too: such copies are marked. The unit of a
measurement that is no time stands in `raw.csv` alone: its values are a variable named by their
unit.
"""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import BENCHMARK, LOOPS, SECONDS, TIME, seconds_factor
from perfarray.readers import labels
from perfarray.readers.entries import Entry, Run, amounts, table_of_entries
from perfarray.readers.labels import variable_name
from perfarray.readers.numbers import number, value_of
from perfarray.readers.opening import FileError, Source
from perfarray.readers.shapes import ANY, Either, has_keys
from perfarray.tables.columns import Table, constant_column
from perfarray.timings.notes import Note
from perfarray.timings.validation import listed
from perfarray.timings.values import direction_of

NAME = "criterion"
PLACED = True
BESIDE = ("benchmark.json", "estimates.json", "tukey.json", "raw.csv", ".html", ".svg")
BASELINE = "baseline"  # The dim of `new`, `base`, and the names given to `--save-baseline`
NEW = "new"
NANOSECONDS = "ns"  # The unit of samples that state none
FEWEST_SAMPLES = 10  # Samples criterion takes at least
SHAPE = Either(
    {"iters": [ANY], "times": [ANY]}, ([ANY], [ANY])
)  # The second is that of versions before 0.4
# The header of `raw.csv`, which repeats the samples in versions before 0.4, and is all that some
# archives keep
RAW = re.compile(
    r"group,function,value,(?:throughput_num,throughput_type,)?sample_(?:time_nanos|measured_value),(?:unit,)?iteration_count\b"
)


class CriterionSamples(NamedTuple):
    """Samples: the iterations of each, their total values, the unit, and the sampling mode."""

    loops: Sequence[Any]
    values: Sequence[Any]
    unit: str = NANOSECONDS
    mode: str | None = None


started = has_keys("iters", first="{")


def recognise(source: Source) -> bool:
    """Return whether the content is iterations and times.

    Files before 0.4 are two lists without names.
    """
    content = source.json_or_none
    if content is None:
        return _is_raw(source)
    if isinstance(content, dict):
        return isinstance(content.get("iters"), list) and isinstance(content.get("times"), list)
    if not (
        isinstance(content, list)
        and len(content) == 2
        and all(isinstance(column, list) for column in content)
    ):
        return False
    return source.path.name.partition(".")[0] == "sample" or _is_linear(*content)


def _is_linear(loops: list[Any], sample_times: list[Any]) -> bool:
    # Before 0.4 the n-th sample always has n times the iterations of the first.
    has_enough_samples = len(loops) == len(sample_times) >= FEWEST_SAMPLES
    return (
        has_enough_samples
        and all(value == number * loops[0] for number, value in enumerate(loops, 1))
        and loops[0] > 0
    )


def _is_raw(source: Source) -> bool:
    return RAW.match(source.head) is not None


def superseded(source: Source) -> bool:
    """Return whether a `raw.csv` lies beside the samples it repeats."""
    return _is_raw(source) and source.beside("sample.json") is not None


def read(source: Source) -> Table:
    """Read the samples of one benchmark: benchmark x baseline x execution x iteration."""
    samples = _samples(source)
    if len(samples.loops) != len(samples.values):
        raise source.error(
            f"has {len(samples.loops)} numbers of iterations and {len(samples.values)} times"
        )
    factor = seconds_factor(samples.unit)
    metric, units = (
        (variable_name(samples.unit, "unit_"), samples.unit) if factor is None else (TIME, SECONDS)
    )
    loops = amounts(source, "'iters'", samples.loops, above_zero=True)
    values = (
        amounts(source, "'times'", samples.values, from_zero=metric == TIME)
        * (factor or 1.0)
        / loops
    )
    entries = [_entry(source, Run({metric: values}, {LOOPS: loops}))]
    kinds = {metric: (units, direction_of(units))}
    table = table_of_entries(
        source, entries, kinds=kinds, file_metadata={"sampling_mode": samples.mode}
    )
    folder = source.path.absolute().parent.name
    return replace(table, labels=table.labels | {BASELINE: constant_column(folder, len(table))})


def _samples(source: Source) -> CriterionSamples:
    """Return the samples of a file.

    `raw.csv` beside them has those of a measurement that is no time in the unit that it states.
    """
    if _is_raw(source):
        return _raw(source)
    content = source.json
    if not isinstance(content, dict):
        return CriterionSamples(*content)
    samples = CriterionSamples(
        content["iters"], content["times"], mode=content.get("sampling_mode")
    )
    raw = source.beside("raw.csv")
    if raw is None or not _is_raw(raw) or _first_unit(raw) == NANOSECONDS:
        return samples
    measured = _raw(raw)
    if list(map(number, measured.loops)) != samples.loops:
        raise source.error(
            f"has other numbers of iterations than {raw.path.name} beside it, which is of "
            "another run and has the unit"
        )
    return measured._replace(mode=samples.mode)


def _first_unit(raw: Source) -> str:
    """Return the unit of the first sample; most files have times, and need not be read."""
    first_row = next(csv.DictReader(io.StringIO(raw.head)), dict[str, str]())
    return first_row.get("unit") or NANOSECONDS


def _raw(source: Source) -> CriterionSamples:
    """Return the samples of the rows of `raw.csv`.

    Old versions have no column of units, and times alone.
    """
    rows = list(csv.DictReader(io.StringIO(source.text)))
    column = (
        "sample_time_nanos" if rows and "sample_time_nanos" in rows[0] else "sample_measured_value"
    )
    units = list(dict.fromkeys(row.get("unit") or NANOSECONDS for row in rows))
    if len(units) > 1:
        raise source.error(
            f"has values in {listed(units, 5)}; the samples of a benchmark have one unit"
        )
    loops, values = ([row.get(name) or "" for row in rows] for name in ("iteration_count", column))
    return CriterionSamples(loops, values, *units)


def _entry(source: Source, run: Run) -> Entry:
    """Return the benchmark as `benchmark.json` describes it.

    Without that file, its name is in `raw.csv` or the path.
    """
    sibling = source.beside("benchmark.json")
    metadata: dict[str, Any] = {}
    if sibling is not None:
        try:
            content = sibling.json
        except FileError as error:
            raise source.error(f"the name of its benchmark cannot be read: {error}") from error
        metadata = content if isinstance(content, dict) else {}
    name_in_raw = (
        "/".join(filter(None, source.text.split("\n")[1].split(",")[:3]))
        if not metadata and _is_raw(source)
        else ""
    )
    name = str(metadata.get("full_id") or name_in_raw or source.path.absolute().parent.parent.name)
    settings = (
        {"parameter": value_of(str(metadata["value_str"]))}
        if metadata.get("value_str") is not None
        else {}
    )
    throughput = metadata.get("throughput")
    amount = (
        {key.lower(): value for key, value in throughput.items()}
        if isinstance(throughput, dict)
        else {}
    )
    ids = {
        key: str(metadata[f"{key}_id"])
        for key in ("group", "function")
        if metadata.get(f"{key}_id")
    }
    return Entry(name, [run], settings, ids | amount)


def agree(tables: Sequence[Table]) -> list[Table]:
    """Mark a baseline that repeats the new run exactly, and make labels agree."""
    new = {_identity(table) for table in tables if table.labels[BASELINE].labels == [NEW]}
    agreed = []
    for table in labels.agree(tables):
        baseline, benchmark = table.labels[BASELINE].labels[0], table.labels[BENCHMARK].labels[0]
        if baseline != NEW and _identity(table) in new:
            sentence = (
                f"{benchmark}: baseline {baseline!r} is a copy of {NEW!r}, and is marked 'copied'"
            )
            note = Note("marked_copies", sentence, {"benchmark": benchmark, BASELINE: baseline})
            table = replace(
                table,
                marks=table.marks | {"copied": np.ones(len(table), dtype=bool)},
                notes=(*table.notes, note),
            )
        agreed.append(table)
    return agreed


def _identity(table: Table) -> tuple[str, bytes]:
    return json.dumps(table.labels[BENCHMARK].labels), table.metrics[table.metric].values.tobytes()
