"""SPEC CPU text reports: a row is an execution, the number at the end of the file's name a session; machine and flags are in the name.

`Kunpeng_920_O3-flto_002.txt` is machine `Kunpeng_920`, flags `O3-flto`, the second session. Times are rounded to three digits: equal
ones stay equal, and are counted in the attributes `n_tied` and `n_partly_tied`. A report without System Info (one that was cut off there
looks the same) is counted in `n_without_system_info`. The rows after `=====` repeat the selected ones, and are read only where there are
no others. The counters below are one per benchmark, not per run: only the clock is read, as `cpu_mhz`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter, lt
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import BENCHMARK, EXECUTION, HIGHER, MACHINE, METRIC, TIME, UNKNOWN
from perfarray.numerics.types import Integers
from perfarray.readers.opening import Source
from perfarray.readers.spec.system import number, suite_name
from perfarray.tables.build import Column, Descriptor, Metric, Table, column_of, constant_column, row_in_parent
from perfarray.tables.descriptions.readings import machine_numbers, stated
from perfarray.timings.notes import warn
from perfarray.timings.validation import listed

NAME = "spec_text"

PLACED = True
"""A report says itself where it belongs: its files lie along machine, compiler, flags and session, not along `file`."""

FIRST_COLUMN = {"Copies": "copies", "Threads": "threads", "Ref.": "ref_time"}
"""What the number before the time is, by the head of the table."""

NOT_RUN, FAILED = "NR", frozenset({"CE", "RE", "VE"})
"""Statuses of a benchmark without a time: not asked for; it did not compile, run, or give the right answer."""

MEASURED = frozenset({"S", "*"})
"""Statuses of a run: a success, and the success that is the median."""

MIN_COPIED_ROWS = 6
"""Rows two reports must have in common to be the same run: fewer may be equal by chance."""

HEAD = re.compile(r"^Benchmarks +(Copies|Threads|Ref\.) +Run Time +Rat(?:e|io)\b", re.M)
ROW = re.compile(r"^\d{3}\..*$", re.M)
BENCHMARK_NAME = re.compile(r"\d{3}\.\S*")
END_OF_LINE = " | "
SCORE = re.compile(r"^ *(?:Est\. )?(SPEC\S*_base\S*)(?=\s)", re.M)
SYSTEM_INFO = "\nSystem Info:"
SYSTEM = re.compile(r"^(CPU Name|Enabled|Memory):(.*)$", re.M)
TEXTS = ("cpu", "os")
"""Descriptors that are texts; the others are numbers."""

CLOCK = ": clock freq (MHz) = "
FILE_NAME = re.compile(r"(?:SPEC_(?:INT|FP)_\d{4}_)?(?P<machine>.+?)_(?P<flags>O[0-9].*?)(?:_(?P<session>\d{3}))?")


class Rows(NamedTuple):
    """The runs, column by column: what the first column says (copies), seconds and ratio, NaN where a run failed or is missing."""

    names: tuple[str, ...]
    first: tuple[float, ...]
    times: tuple[float, ...]
    ratios: tuple[float, ...]
    peak: tuple[bool, ...]
    failed: tuple[bool, ...]
    missing: tuple[bool, ...]


def started(head: str) -> bool:
    """Say whether a file that is not all text began as a report."""
    return HEAD.search(head) is not None


def recognise(source: Source) -> bool:
    """Say whether the head of a table of results is near the beginning."""
    return HEAD.search(source.head) is not None


def read(source: Source) -> Table:
    """Read a report: benchmark x machine x compiler x flags x session x execution."""
    text = source.text
    head = HEAD.search(text)
    if head is None:
        raise source.error("is not a SPEC text report: it has no line 'Benchmarks  Copies  Run Time  Rate'")
    full, bar, rest = text[head.end() :].partition("\n=====")
    if not bar:
        raise source.error(
            f"is cut off: its last line is {_line(text, len(text.rstrip()))}, and no line of ===== ends the table of results"
        )
    score = SCORE.search(rest, rest.rfind("\n", 0, max(rest.find("SPEC"), 0)) + 1)
    if score is None:
        raise source.error(
            f"is cut off: its last line is {_line(text, len(text.rstrip()))}, and no score (SPECrate, SPECspeed) follows the results"
        )
    again = SCORE.search(rest, score.end()) if rest.find("_base", score.end()) >= 0 else None
    if again or "\nBenchmarks " in rest:
        second = len(text) - len(rest) + again.start() if again else text.rindex("\nBenchmarks ") + 1
        raise source.error(f"holds two results, the second ends or begins at line {_line(text, second)}; split the file")
    rows = _rows(full, source, head.end()) or _rows(rest[: score.start()], source, len(text) - len(rest))
    if rows is None or all(rows.missing):
        raise source.error("has no run of any benchmark with a time")
    compiler, flags, system = _built(text[: head.start()])
    name = _file_name(source.path.name)
    flags = name["flags"] if name["session"] or flags is None else flags
    end = rest[score.end() :]
    described = _described(end) | {"os": system or UNKNOWN}
    suite = suite_name(score[1], 1 if head[1] == "Copies" and rows.first.count(1.0) == len(rows.first) else None)
    place = (name["machine"], compiler, flags, name["session"] or "001")
    return _table(rows, place, suite, FIRST_COLUMN[head[1]], described, {"n_without_system_info": int(SYSTEM_INFO not in end)})


def agree(tables: Sequence[Table]) -> list[Table]:
    """Number the sessions of each machine from 0, mark runs published twice, and say the same of a machine in all its reports."""
    sessions = _session_numbers(tables)
    machines, contradictions = _machines(tables)
    copies = _published_twice(tables)
    agreed = []
    for table, session in zip(tables, sessions, strict=True):
        attrs = {name: value for name, value in table.attrs.items() if name != "session"}
        changed: dict[str, Any] = {"attrs": attrs, "descriptors": table.descriptors | machines[table.labels[MACHINE].labels[0]]}
        if session:
            changed["levels"] = table.levels | {"session": np.full(len(table), session)}
        if id(table) in copies:
            changed["marks"] = table.marks | {"copied": np.ones(len(table), dtype=bool)}
        agreed.append(replace(table, **changed))
    warn(contradictions, f"runs published twice under two names are marked `copied`: {listed(copies.values(), 5)}" if copies else "")
    return agreed


def _line(text: str, position: int) -> int:
    """Return the number of the line a position is on."""
    return text.count("\n", 0, position) + 1


def _rows(part: str, source: Source, offset: int) -> Rows | None:
    """Read the rows of a part of the report; None if it has none."""
    first = ROW.search(part)
    if first is None:
        return None
    return _plain_rows(part[first.start() :]) or _odd_rows(part, source, offset)


def _plain_rows(body: str) -> Rows | None:
    """Read rows that are all measured, base only and five cells long; None if some are not."""
    # The end of a line becomes a cell, so that five cells in every line can be seen without splitting the lines one by one.
    cells = (body.rstrip() + "\n").replace("\n", END_OF_LINE).split()
    lines = len(cells) // 6
    if len(cells) != 6 * lines or cells[5::6].count(END_OF_LINE.strip()) != lines or not MEASURED.issuperset(cells[4::6]):
        return None
    names = _benchmarks(tuple(cells[::6]))
    try:
        times, ratios = tuple(map(float, cells[2::6])), tuple(map(float, cells[3::6]))
        first = _repeated(cells[1::6])
    except ValueError:
        return None
    # A sum that is not finite shows a number that is not.
    if not names or min(first) < 0 or min(times) <= 0 or min(ratios) <= 0 or not sum(first) + sum(times) + sum(ratios) < np.inf:
        return None
    no = (False,) * lines
    return Rows(names, first, times, ratios, no, no, no)


def _repeated(cells: list[str]) -> tuple[float, ...]:
    """Return numbers that are mostly the same in all rows."""
    return (float(cells[0]),) * len(cells) if len(set(cells)) == 1 else tuple(map(float, cells))


@lru_cache(maxsize=1024)
def _benchmarks(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names if all are names of benchmarks, else none; reports of one suite share them."""
    return names if all(map(BENCHMARK_NAME.fullmatch, names)) else ()


def _odd_rows(part: str, source: Source, offset: int) -> Rows:
    """Read rows of which some have peak runs too, failed or did not run; say which cannot be read."""
    found = []
    for match in ROW.finditer(part):
        name, *cells = match[0].split()
        sides = _sides(cells)
        runs = [_run(side) for side in sides]
        if not 1 <= len(runs) <= 2 or None in runs:
            raise source.error(
                f"line {_line(source.text, offset + match.start())}: {match[0][:100]!r}; expected a benchmark, then copies, run time, rate "
                "and a status (S, *, NR, CE, RE or VE), once or twice"
            )
        found += [
            (name, *run, bool(peak))
            for peak, (run, side) in enumerate(zip(runs, sides, strict=True))
            if run and not (peak and side == [NOT_RUN])
        ]
    names, first, times, ratios, failed, peak = zip(*found, strict=True)
    return Rows(names, first, times, ratios, peak, failed, tuple(time != time for time in times))


def _sides(cells: list[str]) -> list[list[str]]:
    """Split the cells after each status: base runs, then peak runs."""
    sides: list[list[str]] = [[]]
    for cell in cells:
        sides[-1].append(cell)
        if cell == NOT_RUN or cell in FAILED or cell in MEASURED:
            sides.append([])
    return [side for side in sides if side]


def _run(side: list[str]) -> tuple[float, float, float, bool] | None:
    """Return copies, time, ratio and whether it failed; None where it is no run."""
    if side[-1] == NOT_RUN or side[-1] in FAILED:
        copies = number(side[0])
        return np.nan if copies is None else copies, np.nan, np.nan, side[-1] != NOT_RUN
    numbers = [value for cell in side[:-1] if (value := number(cell)) is not None]
    if side[-1] not in MEASURED or len(numbers) != 3 or len(side) != 4:
        return None
    return numbers[0], numbers[1], numbers[2], False


@lru_cache(maxsize=1024)
def _built(text: str) -> tuple[str, str | None, str | None]:
    """Return compiler, flags and operating system, as the lines before the table say them."""
    built = re.search(r"^Built with (.*?)(?: from .*?)?(?: on (.*?))?(?: with (-.*?))?\s*$", text, re.M)
    compiler, system, flags = built.groups() if built else (UNKNOWN, None, None)
    if system is None and "Running on Linux" in text:
        system = "Linux"
    return compiler, re.sub(r"\s+-", "-", flags).removeprefix("-") if flags else None, system


@lru_cache(maxsize=4096)
def _file_name(name: str) -> dict[str, Any]:
    """Return machine, flags and session of a file's name."""
    stem = re.sub(r"\.txt(\.\w+)?$", "", name)
    match = FILE_NAME.fullmatch(stem)
    return match.groupdict() if match else {"machine": stem, "flags": UNKNOWN, "session": None}


def _described(rest: str) -> dict[str, Any]:
    """Return what the end of a report says of its machine: the System Info, and the clock that the counters saw."""
    counters, _, info = rest.partition(SYSTEM_INFO)
    described = dict(_system(info))
    clocks = _clocks(counters)
    if clocks:
        described["cpu_mhz"] = median(clocks)
    return described


def _clocks(counters: str) -> list[float]:
    """Return the clock of each benchmark, not that of `all`."""
    said = [after.partition("\n")[0] for before, after in pairwise(counters.split(CLOCK)) if not before.endswith("\nall")]
    return [clock for clock in map(number, said) if clock is not None]


@lru_cache(maxsize=4096)
def _system(info: str) -> dict[str, Any]:
    """Return the System Info as typed descriptors; no report of this kind says the size of the caches."""
    fields = {field: stated(text) for field, text in SYSTEM.findall(info)}
    name = stated(re.sub(r"\((?:R|TM)\)", "", fields.get("CPU Name") or ""))
    cpu, _, clock = name.partition(" CPU @ ") if name else (None, "", "")
    numbers = machine_numbers({"cpu_mhz": clock, "enabled": fields.get("Enabled"), "l3_cache": None, "memory": fields.get("Memory")})
    return {"cpu": cpu or UNKNOWN} | {name: value for name, value in numbers.items() if name != "cores_per_chip"}


class Cells(NamedTuple):
    """The benchmarks as a column, the number of each run of a benchmark and tuning; what takes the runs of each with several, how many."""

    benchmarks: Column
    executions: Integers
    several: tuple[Callable[[Sequence[float]], tuple[float, ...]], ...]
    sizes: tuple[int, ...]


@lru_cache(maxsize=1024)
def _cells(names: tuple[str, ...], peak: tuple[bool, ...], missing: tuple[bool, ...]) -> Cells:
    """Number the runs of each benchmark and tuning: reports of one suite share the answer."""
    executions = row_in_parent([column_of(zip(names, peak, strict=True)).codes], len(names))
    runs: dict[tuple[str, bool], list[int]] = {}
    for row, cell in enumerate(zip(names, peak, strict=True)):
        if not missing[row]:
            runs.setdefault(cell, []).append(row)
    several = [rows for rows in runs.values() if len(rows) > 1]
    return Cells(column_of(names), executions, tuple(itemgetter(*rows) for rows in several), tuple(map(len, several)))


@lru_cache(maxsize=4096)
def _constant(label: str, rows: int) -> Column:
    """Return the same label for every row; reports share it."""
    return constant_column(label, rows)


@lru_cache(maxsize=4096)
def _of_suite(suite: str, names: tuple[str, ...]) -> Descriptor:
    """Say of which suite the benchmarks are; reports share it."""
    return Descriptor(dims=(BENCHMARK,), values={(name,): suite for name in names}, keep=(BENCHMARK,))


@lru_cache(maxsize=4096, typed=True)
def _of_machine(machine: str, value: Any) -> Descriptor:
    """Say one thing of a machine; reports share it."""
    return Descriptor(dims=(MACHINE,), values={(machine,): value}, keep=(MACHINE,))


BASE = Descriptor(dims=(), values={(): "base"})
"""Runs of a report without peak."""


def _table(
    rows: Rows, place: tuple[str, str, str, str], suite: str, first: str, described: dict[str, Any], counts: dict[str, int]
) -> Table:
    """Lay the rows out as columns."""
    n = len(rows.names)
    cells = _cells(rows.names, rows.peak, rows.missing)
    machine, compiler, flags, session = place
    labels = {BENCHMARK: cells.benchmarks, MACHINE: _constant(machine, n), "compiler": _constant(compiler, n), "flags": _constant(flags, n)}
    descriptors = {"suite": _of_suite(suite, rows.names)}
    descriptors |= {name: _of_machine(machine, value) for name, value in described.items()}
    if True in rows.peak:
        labels["tuning"] = Column(codes=np.array(rows.peak, dtype=np.intp), labels=["base", "peak"])
    else:
        descriptors["tuning"] = BASE
    if rows.first.count(1.0) < n:
        known = {(name, machine): value for name, value in zip(rows.names, rows.first, strict=True) if value == value}
        descriptors[first] = Descriptor(dims=(BENCHMARK, MACHINE), values=known)
    tied, partly = _ties(rows.times, cells)
    return Table(
        labels=labels,
        levels={"session": _constant(session, n).codes, EXECUTION: cells.executions},
        metrics={
            TIME: Metric(values=np.array(rows.times)),
            "ratio": Metric(values=np.array(rows.ratios), units="1", better=HIGHER),
        },
        marks={"failed": np.array(rows.failed)} if True in rows.failed else {},
        descriptors=descriptors,
        attrs={METRIC: TIME, "n_tied": tied, "n_partly_tied": partly, **counts, "session": session},
    )


def _ties(times: Sequence[float], cells: Cells) -> tuple[int, int]:
    """Count the benchmarks all of whose runs have the same time, and those of which some have."""
    distinct = [len(set(runs(times))) for runs in cells.several]
    tied = distinct.count(1)
    return tied, sum(map(lt, distinct, cells.sizes)) - tied


def _session_numbers(tables: Sequence[Table]) -> list[int]:
    """Number the sessions of one machine, compiler, flags and suite from 0, in the order of their names."""
    keys = [(*(table.labels[dim].labels[0] for dim in (MACHINE, "compiler", "flags")), _suite(table)) for table in tables]
    names: dict[tuple[Any, ...], set[str]] = {}
    for key, table in zip(keys, tables, strict=True):
        names.setdefault(key, set()).add(str(table.attrs["session"]))
    numbers = {key: {name: position for position, name in enumerate(sorted(own))} for key, own in names.items()}
    return [numbers[key][str(table.attrs["session"])] for key, table in zip(keys, tables, strict=True)]


def _suite(table: Table) -> Any:
    """Return the suite of a report."""
    return next(iter(table.descriptors["suite"].values.values()))


def _machines(tables: Sequence[Table]) -> tuple[dict[str, dict[str, Descriptor]], str]:
    """Return what is known of each machine: what its reports say alike, the median clock; and a message where they differ."""
    names: dict[str, None] = {}
    stated: dict[str, dict[str, list[Any]]] = {}
    for table in tables:
        machine = table.labels[MACHINE].labels[0]
        own = stated.setdefault(machine, {})
        for name, descriptor in table.descriptors.items():
            if descriptor.dims == (MACHINE,):
                names[name] = None
                own.setdefault(name, []).append(descriptor.values[machine,])
    known: dict[str, dict[str, Descriptor]] = {}
    contradicted: dict[str, list[str]] = {}
    for machine, own in stated.items():
        own = {name: [value for value in own.get(name, ()) if value not in (None, UNKNOWN)] for name in names}
        values = {name: _agreed_value(name, values) for name, values in own.items()}
        known[machine] = {name: _of_machine(machine, value) for name, value in values.items()}
        for name, value in values.items():
            if value in (None, UNKNOWN) and own[name]:
                contradicted.setdefault(name, []).append(machine)
    said_otherwise = [f"{name} of {listed(machines, 5)}" for name, machines in contradicted.items()]
    message = "what the reports of one machine say differently is taken as unknown: "
    return known, message + "; ".join(said_otherwise) if said_otherwise else ""


def _agreed_value(name: str, values: list[Any]) -> Any:
    """Return the one value that is said, the median of measured clocks, or that it is unknown."""
    distinct = set(values)
    if len(distinct) == 1:
        return distinct.pop()
    if name in TEXTS:
        return UNKNOWN
    return median(values) if name == "cpu_mhz" and values else None


def _published_twice(tables: Sequence[Table]) -> dict[int, str]:
    """Return the tables whose runs another one before them has too, and the names of both machines."""
    seen: dict[tuple[Any, ...], Table] = {}
    copies = {}
    for table in tables:
        if len(table) < MIN_COPIED_ROWS:
            continue
        runs = (tuple(table.labels[BENCHMARK].labels), *(metric.values.tobytes() for metric in table.metrics.values()))
        first = seen.setdefault(runs, table)
        if first is not table:
            copies[id(table)] = f"{_called(table)} = {_called(first)}"
    return copies


def _called(table: Table) -> str:
    """Name a report in a message."""
    return f"{table.labels[MACHINE].labels[0]} ({_suite(table)}, {table.labels['flags'].labels[0]})"
