"""BenchExec results (XML): a file is one execution of every task.

What ran into its limit is censored, what failed has no time.

`time` is the wall-clock time and `cpu_time` beside it. A run that was stopped took at least what it
had taken then: `censored_at` holds the smaller of its two times, which is a bound for both. With
`keep_failed` what failed has its time, and no mark.
"""

import re
from typing import Any

import numpy as np

from perfarray.conventions import CENSORED, CENSORED_AT, LOWER, TIME, seconds_factor
from perfarray.readers.entries import KINDS, Entry, Run, amounts, table_of_entries
from perfarray.readers.numbers import whole
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table

NAME = "benchexec"
# Variables and units by column; others are not read
COLUMNS = {
    "walltime": (TIME, "s"),
    "cputime": ("cpu_time", "s"),
    "memory": ("memory", "B"),
    "memUsage": ("memory", "B"),
    "cpuenergy": ("energy", "J"),
}
# Attributes of a file to our coordinates
RESULT = {
    "tool": "tool",
    "version": "tool_version",
    "options": "options",
    "name": "run_definition",
    "timelimit": "timelimit",
    "memlimit": "memlimit",
    "cpuCores": "cpu_cores_limit",
    "date": "date",
    "error": "error",
}
TIMEOUT = "TIMEOUT"
AMOUNT = re.compile(
    r"([-+.\deE]*\d\.?|[-+]?(?i:nan|inf))[ ]?([a-zA-Z]*)", re.A
)  # A number and its unit, as in `2.169189428s`


started = re.compile(r"(?s)<result .*benchmarkname=").search


def recognise(source: Source) -> bool:
    """Return whether the root is a result of a benchmark."""
    return source.head.lstrip().startswith("<") and started(source.text[: 1 << 16]) is not None


def read(source: Source) -> Table:
    """Read the runs: benchmark x execution x iteration."""
    root = source.xml()
    if root.tag != "result":
        raise source.error(f"is not BenchExec's: its root is {root.tag!r}; expected 'result'")
    if root.get("error"):
        source.note(
            "aborted",
            f"was aborted ({root.get('error')[:80]!r}): tasks are missing",
            error=root.get("error"),
        )
    runs = list(root.iter("run")) or list(root.iter("sourcefile"))  # the tag in the oldest versions
    entries = [_entry(source, f"run {index}", run) for index, run in enumerate(runs)]
    file_metadata = {name: root.get(key) for key, name in RESULT.items() if root.get(key)}
    return table_of_entries(
        source,
        entries,
        kinds=KINDS | {"energy": ("J", LOWER)},
        file_metadata=file_metadata | _machine(root.findall("systeminfo")),
    )


def _entry(source: Source, location: str, run: Any) -> Entry:
    columns: dict[str, str] = {}
    for column in run.findall("column"):
        columns.setdefault(column.get("title", ""), column.get("value", ""))
    status = columns.get("status", "")
    values: dict[str, float] = {TIME: np.nan}
    for title, (name, unit) in COLUMNS.items():
        if columns.get(title):
            values[name] = _amount(
                source, f"{location}: {title!r}", columns[title], unit, run.get("name", "")
            )
    timed_out = status.startswith(TIMEOUT)
    failed = not timed_out and columns.get("category") == "error" and not source.options.keep_failed
    bound = min(
        (values[name] for name in (TIME, "cpu_time") if np.isfinite(values.get(name, np.nan))),
        default=np.nan,
    )
    if timed_out or failed:
        values = dict.fromkeys(values, np.nan)
    execution = Run(
        {name: np.array([value]) for name, value in values.items()},
        {CENSORED_AT: np.array([bound])} if timed_out else {},
        {CENSORED: np.array([timed_out])}
        if timed_out
        else {"failed": np.array([failed])}
        if failed
        else {},
    )
    metadata = {
        "status": status or None,
        "category": columns.get("category"),
        "machine": columns.get("host"),
    }
    return Entry(run.get("name", ""), [execution], {"properties": run.get("properties")}, metadata)


def _amount(source: Source, location: str, text: str, unit: str, benchmark: str) -> float:
    """Read one amount in the unit of its variable."""
    match = AMOUNT.fullmatch(text.strip())
    unit_symbol = match[2] if match else ""
    factor = (
        1.0 if unit_symbol in ("", unit) else (seconds_factor(unit_symbol) if unit == "s" else None)
    )
    if match is None or factor is None:
        raise source.error(f"{location} is {text[:60]!r}; expected a number in {unit}")
    return (
        float(
            amounts(
                source, lambda _: location, [match[1]], from_zero=unit == "s", benchmark=benchmark
            )[0]
        )
        * factor
    )


def _machine(systems: list[Any]) -> dict[str, Any]:
    """Return the metadata of the machine, if there is one alone."""
    if len(systems) != 1:
        return {}
    cpu, ram, system = (systems[0].find(tag) for tag in ("cpu", "ram", "os"))
    machine_metadata: dict[str, Any] = {
        "machine": systems[0].get("hostname"),
        "os": system.get("name") if system is not None else None,
    }
    if cpu is not None:
        machine_metadata |= {
            "cpu": cpu.get("model"),
            "logical_cores": whole(cpu.get("cores", ""), 8),
            "turbo_boost": cpu.get("turboboostActive"),
        }
        clock = whole(cpu.get("frequency", "").removesuffix("Hz").strip(), 15)
        machine_metadata |= {"cpu_max_mhz": None if clock is None else clock / 1e6}
    size = AMOUNT.fullmatch(ram.get("size", "")) if ram is not None else None
    n_bytes = whole(size[1], 19) if size is not None and size[2] in ("", "B") else None
    return (
        machine_metadata if n_bytes is None else machine_metadata | {"memory_gb": n_bytes / 2**30}
    )
