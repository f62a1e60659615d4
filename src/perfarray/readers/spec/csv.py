"""SPEC CPU result CSV, 2006 and 2017: "Full Results Table", HARDWARE and SOFTWARE.

The "Selected Results Table" repeats the selected runs of the full one, medians or the slower of
two, and is not read.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from perfarray.conventions import BENCHMARK, ESTIMATED, MACHINE, TUNING, VALID
from perfarray.readers.numbers import positive
from perfarray.readers.opening import Source
from perfarray.readers.spec.results import (
    FIELDS,
    HARDWARE,
    SOFTWARE,
    SpecRun,
    describe_machine,
    table_of_runs,
)
from perfarray.readers.spec.results import agree as agree
from perfarray.readers.spec.suites import suite_name
from perfarray.tables.columns import Descriptor, Table

NAME = "spec_csv"
# A result says itself which machine and suite it is of: its files lie along these, not along `file`
PLACED = True
FULL, SELECTED = "Full Results Table", "Selected Results Table"
TITLE = re.compile(rf'^"?{FULL}"?\s*\nBenchmark,', re.M)  # Title and head of the table of results
TUNINGS = {"Base": "base", "Peak": "peak"}
# Columns of the table behind `Base` or `Peak` (behind `Est.` for estimated runs)
COLUMNS = {
    "Run Time": "time",
    "Ratio": "ratio",
    "Rate": "ratio",
    "Status": "status",
    "# Copies": "copies",
    "# Threads": "threads",
    "Ref Time": "ref_time",
}
SUCCESS, NOT_RUN = "S", "NR"  # Statuses; any other says how a run failed
BLOCKS = (HARDWARE, SOFTWARE)
# Fields before the blocks
ABOUT = {
    "Hardware Vendor:": "vendor",
    "Hardware Model:": MACHINE,
    "Run number:": "run_number",
    "Date tested:": "date_tested",
    "Test sponsor:": "test_sponsor",
    "Tested by:": "tested_by",
    "Hardware avail:": "hardware_available",
    "Software avail:": "software_available",
    "runcpu command:": "command",
}

# Titles of lists of flags behind `Base` or `Peak`
FLAGS = {
    "Optimization Flags": "optimization_flags",
    "Portability Flags": "portability_flags",
    "Other Flags": "other_flags",
}
NO_FLAGS = "No flags used"
Line = tuple[int, list[str]]


started = re.compile(r"\s*valid,[01]").match


def recognise(source: Source) -> bool:
    """Return whether the table of results stands under its title near the beginning."""
    return (
        FULL in source.head and TITLE.search(source.head) is not None
    )  # the expression alone takes longer


def read(source: Source) -> Table:
    """Read a result: benchmark x machine x tuning x execution."""
    lines = [
        (number, _cells(line, number, source))
        for number, line in enumerate(source.text.split("\n"), 1)
        if line.strip()
    ]
    titles = [index for index, (_, cells) in enumerate(lines) if cells[0] == FULL]
    if not titles:
        raise source.error(
            f"is not a SPEC result, or is cut off before its table: no line {FULL!r} in "
            f"{len(lines)} lines"
        )
    if len(titles) > 1:
        raise source.error(
            f"holds two results, the second from line {lines[titles[1]][0]} on; split it"
        )
    end = next((index for index, (_, cells) in enumerate(lines) if cells[0] == SELECTED), None)
    if end is None:
        raise source.error(
            f"is cut off in its {FULL!r}: its last line is {lines[-1][0]}, and no {SELECTED!r} "
            "follows"
        )
    runs, benchmarks = _runs(lines[titles[0] + 1 : end], source)
    if not any(run.time == run.time for run in runs):
        raise source.error(
            f"has no time of any benchmark in its {FULL!r}, which begins at line "
            f"{lines[titles[0]][0]}"
        )
    result_metadata, suite = _about(lines[end + 1 :], runs)
    valid = next(
        (cells[1] for _, cells in lines[: titles[0]] if cells[0] == "valid" and len(cells) > 1), ""
    )
    estimated = any(name.startswith("Est. ") for name in lines[titles[0] + 1][1])
    result_metadata |= {
        VALID: int(valid) if valid in ("0", "1") else None,
        ESTIMATED: int(estimated),
    }
    missing = [
        block for block in BLOCKS if not any(cells == [block] for _, cells in lines[end + 1 :])
    ]
    if missing:
        sentence = (
            f"is cut off at line {lines[-1][0]}, before {' and '.join(missing)}; what they say "
            "is unknown"
        )
        source.note("cut_off", sentence, line=lines[-1][0], missing=missing)
    table = table_of_runs(runs, benchmarks, result_metadata, suite)
    return replace(table, descriptors=table.descriptors | _flags(lines[end + 1 :], table))


def _cells(line: str, line_number: int, source: Source) -> list[str]:
    """Split a line at commas; names of fields of the third level are indented."""
    if '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    try:
        return [cell.strip() for cell in next(csv.reader([line]))]
    except csv.Error as error:
        raise source.error(f"line {line_number} is not CSV: {error}") from None


def _runs(lines: Sequence[Line], source: Source) -> tuple[list[SpecRun], list[str]]:
    """Return the runs of the table, and all benchmarks it names, run or not."""
    if not lines or lines[0][1][0] != "Benchmark":
        raise source.error(
            f"line {lines[0][0] if lines else 'last'}: expected the head of the table, "
            f"'Benchmark,...', under {FULL!r}"
        )
    columns = _columns(lines[0], source)
    runs = [
        _run(cells, line, tuning, fields, source)
        for line, cells in lines[1:]
        for tuning, fields in columns.items()
    ]
    return [run for run in runs if run is not None], list(
        dict.fromkeys(cells[0] for _, cells in lines[1:])
    )


def _columns(head: Line, source: Source) -> dict[str, dict[str, int]]:
    """Return by tuning the index of each column."""
    line_number, names = head
    columns: dict[str, dict[str, int]] = {}
    for index, name in enumerate(names):
        match = re.fullmatch(r"(?:Est\. )?(Base|Peak) (.*)", name)
        if match and match[2] in COLUMNS:
            columns.setdefault(TUNINGS[match[1]], {})[COLUMNS[match[2]]] = index
    if not columns or any(
        not {"time", "ratio", "status"} <= fields.keys() for fields in columns.values()
    ):
        raise source.error(
            f"line {line_number}: the head of the table needs run time, ratio or rate, and "
            f"status of base or peak: {','.join(names)!r}"
        )
    return columns


def _run(
    cells: list[str], line: int, tuning: str, columns: dict[str, int], source: Source
) -> SpecRun | None:
    """Return one run, or None where there was none: empty cells, or NR."""
    texts = {field: cells[index] if index < len(cells) else "" for field, index in columns.items()}
    status = texts.pop("status")
    if status == NOT_RUN or not (status or any(texts.values())):
        return None
    if not status:
        raise source.error(
            f"line {line}: the {tuning} run of {cells[0]!r} has no status; the row has "
            f"{len(cells)} cells and is cut off"
        )
    values = {}
    for field, text in texts.items():
        value = positive(text)
        if value is None and (text or field == "time") and status == SUCCESS:
            raise source.error(
                f"line {line}: the {field} of the {tuning} run of {cells[0]!r} is {text!r}; "
                "expected a number above 0"
            )
        values[field] = np.nan if value is None else value
    time, ratio = values.pop("time"), values.pop("ratio")
    failed = status != SUCCESS
    return SpecRun(
        cells[0], tuning, np.nan if failed else time, np.nan if failed else ratio, failed, values
    )


def _about(lines: Sequence[Line], runs: Sequence[SpecRun]) -> tuple[dict[str, Any], str]:
    """Return the metadata of machine and run, and the suite that the name of the score states."""
    copies = {run.settings.get("copies") for run in runs}
    score = next((cells[0] for _, cells in lines if re.match(r"SPEC\S*_base", cells[0])), "")
    texts: dict[str, str] = {}
    for block, field, text in _fields(lines):
        name = FIELDS.get(block, ABOUT).get(field.rstrip("."))
        if name is not None:
            texts.setdefault(name, text)
    return describe_machine(texts), suite_name(score, 1 if copies == {1.0} else None)


def _fields(lines: Sequence[Line]) -> Iterator[tuple[str, str, str]]:
    """Yield block, field and text.

    A text goes on in rows whose first cell is empty, and notes end the blocks.
    """
    block, field, texts = "", "", [""]
    for _, cells in lines:
        if len(cells) == 1 and cells[0] in BLOCKS:
            yield block, field, " ".join(texts)
            block, field, texts = cells[0], "", [""]
        elif len(cells) > 1 and cells[0] == "":
            texts += cells[1:]
        else:
            yield block, field, " ".join(texts)
            if block == BLOCKS[-1] and len(cells) == 1:
                return
            field, texts = cells[0], cells[1:]
    yield block, field, " ".join(texts)


def _flags(lines: Sequence[Line], table: Table) -> dict[str, Descriptor]:
    """Return the flags each benchmark was compiled with, along benchmark, machine and tuning."""
    machine, benchmarks = table.labels[MACHINE].labels[0], set(table.labels[BENCHMARK].labels)
    flags: dict[str, dict[tuple[Any, ...], str]] = {}
    values: dict[tuple[Any, ...], str] | None = None
    tuning = ""
    for _, cells in lines:
        if len(cells) == 1 and cells[0].endswith("Flags"):
            begin, _, title = cells[0].partition(" ")
            values, tuning = None, TUNINGS.get(begin, "")
            if title in FLAGS and tuning in table.labels[TUNING].labels:
                values = flags.setdefault(FLAGS[title], {})
        elif values is not None and cells[0] in benchmarks:
            text = " ".join(cells[1:])
            values[cells[0], machine, tuning] = "none" if text in ("", NO_FLAGS) else text
        else:
            values = None
    return {
        name: Descriptor(dims=(BENCHMARK, MACHINE, TUNING), values=values)
        for name, values in flags.items()
        if values
    }
