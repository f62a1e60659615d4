"""SPEC CPU text reports: a row is an execution, the number at the end of the file's name a session.

Machine and flags are in the name.

`Kunpeng_920_O3-flto_002.txt` is machine `Kunpeng_920`, flags `O3-flto`, the second session. Ratios
and times are rounded to three digits: equal ones stay equal, and equal times are counted in the
attributes `n_tied` and `n_partly_tied`. A report without System Info (one that was cut off there
looks the same) is counted in `n_without_system_info`. The rows after `=====` repeat the selected
ones, and are read only where there are no others. The counters below are one per benchmark, not per
run: only the clock is read, as `cpu_mhz`.

A report with SPEC's title is a whole result. It states its machine itself, and becomes the same
table as the CSV of the result.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter, lt
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import (
    BENCHMARK,
    ESTIMATED,
    EXECUTION,
    HIGHER,
    MACHINE,
    TIME,
    TUNING,
    UNKNOWN,
    VALID,
)
from perfarray.numerics.types import Integers, Mask
from perfarray.readers.numbers import numbers, positive
from perfarray.readers.opening import FileError, Source, first_line
from perfarray.readers.spec import heads
from perfarray.readers.spec.agreement import agree as agree
from perfarray.readers.spec.results import SpecRun, copied_runs, table_of_runs
from perfarray.readers.spec.suites import RATIO, published_metric, suite_name
from perfarray.tables.columns import Column, Descriptor, Metric, Table, column_of, constant_column
from perfarray.tables.descriptions.readings import machine_numbers, stated

NAME = "spec_text"
PLACED = True  # Files lie along machine, compiler, flags and session, not along `file`
FIRST_COLUMN = {
    "Copies": "copies",
    "Threads": "threads",
    "Ref.": "ref_time",
}  # The number before the time, by the head of the table
NOT_RUN = "NR"
FAILED = frozenset({"CE", "RE", "VE"})  # It did not compile, run, or give the right answer
MEASURED = frozenset({"S", "*"})  # A success, and the success that is the median
BENCHMARKS = "Benchmarks "
HEAD = re.compile(r"^Benchmarks +(Copies|Threads|Ref\.) +Run Time +Rat(?:e|io)\b", re.M)
ROW = re.compile(r"^\d{3}\..*$", re.M | re.A)
BENCHMARK_NAMES = re.compile(r"(?:\d{3}\.\S* )+", re.A)
END_OF_LINE = " | "
ESTIMATE = "Est. "
SCORE = re.compile(rf"^ *(?:{re.escape(ESTIMATE)})?(SPEC(?=\S*_base)\S*)(?=\s)", re.M)
# A score and nothing else in its line, since notes may begin with its name; energy has a score of
# its own in the same result
LONE_SCORE = re.compile(
    rf"^ *(?:{re.escape(ESTIMATE)})?SPEC(?!\S*energy)(?=\S*_base)\S*+ +[\d.]+ *$", re.M | re.A
)
SYSTEM_INFO = "\nSystem Info:"
SYSTEM = re.compile(r"^(CPU Name|Enabled|Memory):(.*)$", re.M)
CLOCK = ": clock freq (MHz) = "
FILE_NAME = re.compile(
    r"(?:SPEC_(?:INT|FP)_\d{4}_)?(?P<machine>.+?)_(?P<flags>O[0-9].*?)(?:_(?P<session>\d{3}))?"
)
BASE_ONLY = Descriptor(dims=(), values={(): "base"})  # Of reports without peak


class ReportRuns(NamedTuple):
    """Runs column by column; times and ratios are NaN where a run failed or is missing."""

    names: tuple[str, ...]
    first: tuple[float, ...]
    times: tuple[float, ...]
    ratios: tuple[float, ...]
    peak: tuple[bool, ...]
    failed: tuple[bool, ...]
    missing: tuple[bool, ...]


class Cells(NamedTuple):
    """Benchmarks and executions of the runs, and for those with several runs their getters."""

    benchmarks: Column
    executions: Integers
    repeated_runs: tuple[Callable[[Sequence[float]], tuple[float, ...]], ...]
    sizes: tuple[int, ...]


def started(head: str) -> bool:
    """Return whether a file that is not all text began as a report."""
    return first_line(head, BENCHMARKS, HEAD) is not None


def recognise(source: Source) -> bool:
    """Return whether a table of results is near the beginning, or below an invalid head."""
    return started(source.head) or (heads.is_invalid(source.head) and started(source.text))


def read(source: Source) -> Table:
    """Read a report: benchmark x machine x compiler x flags x session x execution."""
    text = source.text
    head = first_line(text, BENCHMARKS, HEAD)
    if head is None:
        raise source.error(
            "is not a SPEC text report: it has no line 'Benchmarks  Copies  Run Time  Rate'"
        )
    full, bar, tail = text[head.end() :].partition("\n=====")
    if not bar:
        raise _cut_off(source, "line of ===== ends the table of results")
    score = _score(source, tail)
    rows = _rows(full, source, head.end()) or _rows(
        tail[: score.start()], source, len(text) - len(tail)
    )
    if rows is None or all(rows.missing):
        raise source.error("has no run of any benchmark with a time")
    above, below, setting = text[: head.start()], tail[score.end() :], FIRST_COLUMN[head[1]]
    one_copy = setting == "copies" and rows.first.count(1.0) == len(rows.first)
    suite = source.once(suite_name, score[1], 1 if one_copy else None)
    cells = source.once(_cells, rows.names, rows.peak, rows.missing)
    n_tied, n_partly_tied = _ties(rows.times, cells)
    counts = {"n_tied": n_tied, "n_partly_tied": n_partly_tied}
    is_whole_result, estimated = heads.is_head(above), int(ESTIMATE in score[0])
    valid = 0 if heads.is_invalid(above) else 1 if is_whole_result else None
    if is_whole_result:
        metadata = heads.about(above, below) | {VALID: valid, ESTIMATED: estimated}
        return replace(
            table_of_runs(_runs(rows, setting), list(dict.fromkeys(rows.names)), metadata, suite),
            counts=counts,
        )
    compiler, flags, system = _built(above, source)
    machine, flags_in_name, session = _file_name(source.path.name)
    flags = flags_in_name if session or flags is None else flags
    n = len(rows.names)
    labels = {MACHINE: machine, "compiler": compiler, "flags": flags}
    tuning = (
        {TUNING: Column(codes=np.array(rows.peak, dtype=np.intp), labels=["base", "peak"])}
        if True in rows.peak
        else {}
    )
    return Table(
        labels={BENCHMARK: cells.benchmarks}
        | {dim: source.once(constant_column, label, n) for dim, label in labels.items()}
        | tuning,
        levels={"session": np.zeros(n, dtype=np.intp), EXECUTION: cells.executions},
        metrics={
            TIME: Metric(values=np.array(rows.times)),
            RATIO: Metric(values=np.array(rows.ratios), units="1", better=HIGHER),
        },
        metric=published_metric(rows.ratios),
        marks=_marks(rows),
        descriptors={"suite": source.once(_of_suite, suite, rows.names)}
        | source.once(_of_machine, machine, ((VALID, valid), (ESTIMATED, estimated)))
        | _of_system(below, machine, system, source)
        | _of_rows(rows, machine, setting),
        level_names={"session": session or "001"},
        counts=counts | {"n_without_system_info": int(SYSTEM_INFO not in below)},
    )


def _score(source: Source, tail: str) -> re.Match[str]:
    """Return the only score below the table of results; a second result is refused."""
    score = SCORE.search(tail, tail.rfind("\n", 0, max(tail.find("SPEC"), 0)) + 1)
    if score is None:
        raise _cut_off(source, "score (SPECrate, SPECspeed) follows the results")
    # The expression alone takes as long as all the rest.
    second_score = (
        LONE_SCORE.search(tail, score.end()) if tail.find("_base", score.end()) >= 0 else None
    )
    if second := second_score or first_line(tail, BENCHMARKS, HEAD):
        line = _line(source.text, len(source.text) - len(tail) + second.start())
        raise source.error(
            f"holds two results, the second ends or begins at line {line}; split the file"
        )
    return score


def _cut_off(source: Source, missing: str) -> FileError:
    return source.error(
        f"is cut off: its last line is {_line(source.text, len(source.text.rstrip()))}, and no "
        f"{missing}"
    )


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _rows(section: str, source: Source, offset: int) -> ReportRuns | None:
    first = ROW.search(section)
    if first is None:
        return None
    return _plain_rows(section[first.start() :], source) or _odd_rows(section, source, offset)


def _plain_rows(body: str, source: Source) -> ReportRuns | None:
    """Read rows that are all measured, base only and five cells long; None if some are not."""
    # The end of a line becomes a cell, so that five cells in every line can be seen without
    # splitting the lines one by one.
    cells = (body.rstrip() + "\n").replace("\n", END_OF_LINE).split()
    lines = len(cells) // 6
    if (
        len(cells) != 6 * lines
        or cells[5::6].count(END_OF_LINE.strip()) != lines
        or not MEASURED.issuperset(cells[4::6])
    ):
        return None
    # Reports of one suite share these answers.
    names = source.once(_benchmarks, " ".join(cells[::6]))
    copies = source.once(_copies, " ".join(cells[1::6]))
    measured = numbers(cells[2::6] + cells[3::6])
    if not names or not copies or not measured or min(measured) <= 0:
        return None
    false = (False,) * lines
    return ReportRuns(
        names, copies, tuple(measured[:lines]), tuple(measured[lines:]), false, false, false
    )


def _benchmarks(names: str) -> tuple[str, ...]:
    """Return the benchmarks of the rows, none where one of them is no name."""
    return tuple(names.split()) if BENCHMARK_NAMES.fullmatch(f"{names} ") else ()


def _copies(cells: str) -> tuple[float, ...]:
    """Return the numbers of the first column, none where one of them is no number from 0."""
    copies = numbers(cells.split())
    return tuple(copies) if copies and min(copies) >= 0 else ()


def _odd_rows(section: str, source: Source, offset: int) -> ReportRuns:
    """Read rows some of which have peak runs too, failed or did not run.

    Raise at the first that cannot be read.
    """
    rows = []
    for match in ROW.finditer(section):
        name, *cells = match[0].split()
        sides = _sides(cells)
        runs = [_run(side) for side in sides]
        if not 1 <= len(runs) <= 2 or None in runs:
            raise source.error(
                f"line {_line(source.text, offset + match.start())} is {match[0][:100]!r}. "
                "Expected a benchmark and once or twice: copies, run time, rate and a status "
                "(S, *, NR, CE, RE or VE)"
            )
        rows += [
            (name, *run, bool(peak))
            for peak, (run, side) in enumerate(zip(runs, sides, strict=True))
            if run and not (peak and side == [NOT_RUN])
        ]
    names, first, times, ratios, failed, peak = zip(*rows, strict=True)
    return ReportRuns(
        names, first, times, ratios, peak, failed, tuple(time != time for time in times)
    )


def _sides(cells: list[str]) -> list[list[str]]:
    sides: list[list[str]] = [[]]
    for cell in cells:
        sides[-1].append(cell)
        if cell == NOT_RUN or cell in FAILED or cell in MEASURED:
            sides.append([])
    return [side for side in sides if side]


def _run(side: list[str]) -> tuple[float, float, float, bool] | None:
    """Return copies, time, ratio and whether it failed; None where it is no run."""
    if side[-1] == NOT_RUN or side[-1] in FAILED:
        copies = positive(side[0])
        return np.nan if copies is None else copies, np.nan, np.nan, side[-1] != NOT_RUN
    values = [value for cell in side[:-1] if (value := positive(cell)) is not None]
    if side[-1] not in MEASURED or len(values) != 3 or len(side) != 4:
        return None
    return values[0], values[1], values[2], False


def _built(text: str, source: Source) -> tuple[str, str | None, str | None]:
    _, _, line = ("\n" + text).partition("\nBuilt with ")
    compiler, flags, system = (
        source.once(_compiler, line.partition("\n")[0]) if line else (UNKNOWN, None, None)
    )
    return compiler, flags, "Linux" if system is None and "Running on Linux" in text else system


def _compiler(line: str) -> tuple[str, str | None, str | None]:
    built, dash, flags = line.rstrip().partition(" with -")
    origin = re.search(" from | on ", built)
    system_start = re.compile(" on ").search(
        built, origin.end() if origin and origin[0] == " from " else 0
    )
    compiler, system = (
        built[: origin.start()] if origin else built,
        built[system_start.end() :] if system_start else None,
    )
    return compiler, re.sub(r"(?<!\s)\s+-", "-", flags) if dash else None, system


def _file_name(name: str) -> tuple[str, str, str | None]:
    stem = re.sub(r"\.txt(\.\w+)?$", "", name)
    match = FILE_NAME.fullmatch(stem)
    return (match["machine"], match["flags"], match["session"]) if match else (stem, UNKNOWN, None)


def _of_system(end: str, machine: str, system: str | None, source: Source) -> dict[str, Descriptor]:
    """Return the machine's metadata: System Info, and the clock that counters measured."""
    counters, _, info = end.partition(SYSTEM_INFO)
    descriptors = source.once(
        _of_machine, machine, (*source.once(_system, info), ("os", system or UNKNOWN))
    )
    clocks = _clocks(counters)
    return (
        descriptors | _of_machine(machine, (("cpu_mhz", median(clocks)),))
        if clocks
        else descriptors
    )


def _clocks(counters: str) -> list[float]:
    """Return the clock of each benchmark, not that of `all`."""
    texts = [
        following.partition("\n")[0]
        for previous, following in pairwise(counters.split(CLOCK))
        if not previous.endswith("\nall")
    ]
    return [
        clock for clock in numbers(texts) or map(positive, texts) if clock is not None and clock > 0
    ]


def _system(info: str) -> tuple[tuple[str, Any], ...]:
    """Return the System Info as numbers and texts, by name.

    No report of this kind says the size of the caches.
    """
    fields = {field: stated(text) for field, text in SYSTEM.findall(info)}
    cpu_name = stated(re.sub(r"\((?:R|TM)\)", "", fields.get("CPU Name") or ""))
    cpu, _, clock = cpu_name.partition(" CPU @ ") if cpu_name else (None, "", "")
    numeric = machine_numbers(
        {
            "cpu_mhz": clock,
            "enabled": fields.get("Enabled"),
            "l3_cache": None,
            "memory": fields.get("Memory"),
        }
    )
    return ("cpu", cpu or UNKNOWN), *(
        (name, value) for name, value in numeric.items() if name != "cores_per_chip"
    )


def _of_machine(machine: str, metadata: tuple[tuple[str, Any], ...]) -> dict[str, Descriptor]:
    return {
        name: Descriptor(dims=(MACHINE,), values={(machine,): value}, keep=(MACHINE,))
        for name, value in metadata
    }


def _cells(names: tuple[str, ...], peak: tuple[bool, ...], missing: tuple[bool, ...]) -> Cells:
    """Number the runs of each benchmark and tuning."""
    runs: dict[tuple[str, bool], list[int]] = {}
    n_runs: Counter[tuple[str, bool]] = Counter()
    executions = []
    for row, cell in enumerate(zip(names, peak, strict=True)):
        executions.append(n_runs[cell])
        n_runs[cell] += 1
        if not missing[row]:
            runs.setdefault(cell, []).append(row)
    repeated_rows = [rows for rows in runs.values() if len(rows) > 1]
    getters = tuple(itemgetter(*rows) for rows in repeated_rows)
    return Cells(
        column_of(names),
        np.array(executions, dtype=np.intp),
        getters,
        tuple(map(len, repeated_rows)),
    )


def _runs(rows: ReportRuns, setting: str) -> list[SpecRun]:
    """Return the runs that were made; the first column's number is a setting."""
    return [
        SpecRun(
            name,
            "peak" if peak else "base",
            time,
            ratio,
            failed,
            {setting: first} if first == first else {},
        )
        for name, first, time, ratio, peak, failed, missing in zip(*rows, strict=True)
        if failed or not missing
    ]


def _marks(rows: ReportRuns) -> dict[str, Mask]:
    marks = {"failed": np.array(rows.failed)} if True in rows.failed else {}
    if True in rows.peak:
        copied = copied_runs(zip(rows.names, rows.peak, rows.times, rows.ratios, strict=True))
        marks |= {"copied": copied} if copied.any() else {}
    return marks


def _of_suite(suite: str, names: tuple[str, ...]) -> Descriptor:
    return Descriptor(
        dims=(BENCHMARK,), values={(name,): suite for name in names}, keep=(BENCHMARK,)
    )


def _of_rows(rows: ReportRuns, machine: str, first: str) -> dict[str, Descriptor]:
    """Return the tuning of base runs alone, and the first column where it is not all 1."""
    descriptors = {} if True in rows.peak else {TUNING: BASE_ONLY}
    if rows.first.count(1.0) < len(rows.names):
        values = {
            (name, machine): value
            for name, value in zip(rows.names, rows.first, strict=True)
            if value == value
        }
        descriptors[first] = Descriptor(dims=(BENCHMARK, MACHINE), values=values)
    return descriptors


def _ties(times: Sequence[float], cells: Cells) -> tuple[int, int]:
    """Count the benchmarks all of whose runs have the same time, and those of which some have."""
    distinct = [len(set(runs(times))) for runs in cells.repeated_runs]
    tied = distinct.count(1)
    return tied, sum(map(lt, distinct, cells.sizes)) - tied
