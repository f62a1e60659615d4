"""A whole result of SPEC CPU from CSV or text: tunings lie along `tuning`.

Peak runs that are the base runs copied are marked `copied`. Descriptions of the machine become
coordinates along `machine`, as text and, where the text is plain, as numbers.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from perfarray.conventions import BENCHMARK, EXECUTION, HIGHER, MACHINE, TIME, TUNING, UNKNOWN
from perfarray.numerics.types import Mask
from perfarray.readers.spec.suites import RATIO, published_metric
from perfarray.tables.columns import (
    Column,
    Descriptor,
    Metric,
    Table,
    column_of,
    constant_column,
    row_in_parent,
)
from perfarray.tables.descriptions.readings import machine_numbers, stated
from perfarray.tables.harmonise import rename_labels

HARDWARE, SOFTWARE = "HARDWARE", "SOFTWARE"
# Fields of the blocks, 2006 and 2017; of several `Other` the first is the cache
FIELDS = {
    HARDWARE: {
        "CPU Name": "cpu",
        "CPU Characteristics": "cpu_characteristics",
        "CPU MHz": "cpu_mhz",
        "Nominal": "cpu_mhz",
        "Max MHz": "cpu_max_mhz",
        "CPU(s) enabled": "enabled",
        "Enabled": "enabled",
        "CPU(s) orderable": "orderable",
        "Orderable": "orderable",
        "Primary Cache": "l1_cache",
        "Cache L1": "l1_cache",
        "Secondary Cache": "l2_cache",
        "L2": "l2_cache",
        "L3 Cache": "l3_cache",
        "L3": "l3_cache",
        "Other Cache": "other_cache",
        "Other": "other_cache",
        "Memory": "memory",
        "Disk Subsystem": "storage",
        "Storage": "storage",
    },
    SOFTWARE: {
        "Operating System": "os",
        "OS": "os",
        "Compiler": "compiler",
        "Auto Parallel": "auto_parallel",
        "Parallel": "auto_parallel",
        "Firmware": "firmware",
        "File System": "file_system",
        "System State": "system_state",
        "Base Pointers": "base_pointers",
        "Peak Pointers": "peak_pointers",
    },
}
CLOCKS = ("cpu_mhz", "cpu_max_mhz")  # Texts that are numbers and nothing else
NUMBERS = (
    *CLOCKS,
    "enabled",
    "l1_cache",
    "l2_cache",
    "l3_cache",
    "memory",
)  # Texts that are read as numbers too

# What follows the name of a model in some results, the clock first: the CPU has coordinates of its
# own
CLOCK_AND_CPU = re.compile(r"(?<!\s)\s*\(\d+(?:\.\d+)? ?[GM]Hz\b[^()]*\)$", re.I | re.A)


class SpecRun(NamedTuple):
    """One run of one benchmark with one tuning."""

    benchmark: str
    tuning: str
    time: float
    ratio: float
    failed: bool
    settings: dict[str, float]


def describe_machine(texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the metadata of machine and run: our names, texts, and the numbers in texts."""
    plain_texts = {name: stated(text) for name, text in texts.items()}
    metadata: dict[str, Any] = {
        name: text or UNKNOWN for name, text in plain_texts.items() if name not in CLOCKS
    }
    if MACHINE in metadata:
        metadata[MACHINE] = CLOCK_AND_CPU.sub("", metadata[MACHINE]) or UNKNOWN
    return metadata | machine_numbers({name: plain_texts.get(name) for name in NUMBERS})


def table_of_runs(
    runs: Sequence[SpecRun], benchmarks: list[str], result_metadata: Mapping[str, Any], suite: str
) -> Table:
    """Return benchmark x machine x tuning x execution.

    `benchmarks` are all that the result names, run or not.
    """
    machine = result_metadata.get(MACHINE, UNKNOWN)
    codes = {name: code for code, name in enumerate(benchmarks)}
    benchmark = Column(
        codes=np.array([codes[run.benchmark] for run in runs], dtype=np.intp), labels=benchmarks
    )
    tuning = column_of(run.tuning for run in runs)
    descriptors = {
        name: Descriptor(
            dims=(BENCHMARK, MACHINE),
            values={(bench, machine): value for bench in benchmarks},
            keep=(MACHINE,),
        )
        for name, value in result_metadata.items()
        if name != MACHINE
    }
    descriptors["suite"] = Descriptor(
        dims=(BENCHMARK,),
        values=dict.fromkeys(((name,) for name in benchmarks), suite),
        keep=(BENCHMARK,),
    )
    for name in ("copies", "threads"):
        values = {
            (run.benchmark, machine, run.tuning): run.settings[name]
            for run in runs
            if name in run.settings
        }
        if values:
            descriptors[name] = Descriptor(dims=(BENCHMARK, MACHINE, TUNING), values=values)
    descriptors["ref_time"] = Descriptor(
        dims=(BENCHMARK,), values=_ref_times(runs, benchmarks), keep=(BENCHMARK,)
    )
    return Table(
        labels={BENCHMARK: benchmark, MACHINE: constant_column(machine, len(runs)), TUNING: tuning},
        levels={EXECUTION: row_in_parent([benchmark.codes, tuning.codes], len(runs))},
        metrics={
            TIME: Metric(values=np.array([run.time for run in runs])),
            RATIO: Metric(values=np.array([run.ratio for run in runs]), units="1", better=HIGHER),
        },
        marks={
            "failed": np.array([run.failed for run in runs]),
            "copied": copied_runs(
                (run.benchmark, run.tuning == "peak", run.time, run.ratio) for run in runs
            ),
        },
        descriptors=descriptors,
        metric=published_metric(run.ratio for run in runs),
    )


def _ref_times(
    runs: Sequence[SpecRun], benchmarks: Sequence[str]
) -> dict[tuple[str], float | None]:
    """Return the reference times: stated, or ratio x time / copies in whole seconds."""
    ref_times: dict[tuple[str], float | None] = dict.fromkeys((name,) for name in benchmarks)
    for run in runs:
        value = run.settings.get("ref_time", run.ratio * run.time / run.settings.get("copies", 1.0))
        if value == value and ref_times[(run.benchmark,)] is None:
            ref_times[(run.benchmark,)] = (
                float(round(value)) if abs(value - round(value)) < 1e-4 * value else value
            )
    return ref_times


def copied_runs(runs: Iterable[tuple[str, bool, float, float]]) -> Mask:
    """Mark peak runs that equal the base runs digit by digit: peak used the binary of base.

    A run is its benchmark, whether it is of peak, its time and its ratio.
    """
    cells = list(runs)
    values: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    for name, peak, time, ratio in cells:
        values.setdefault((name, peak), []).append((time, ratio))
    copied_benchmarks = {
        name for name, peak in values if peak and values[name, True] == values.get((name, False))
    }
    return np.array([peak and name in copied_benchmarks for name, peak, *_ in cells], dtype=bool)


def agree(tables: Sequence[Table]) -> list[Table]:
    """Add the CPU to labels of machines of one model whose results state different CPUs."""
    cpus: dict[str, set[str]] = {}
    for table in tables:
        cpus.setdefault(_machine(table), set()).add(_cpu(table))
    ambiguous_machines = {machine for machine, names in cpus.items() if len(names - {UNKNOWN}) > 1}
    return [
        rename_labels(table, MACHINE, {_machine(table): f"{_machine(table)} ({_cpu(table)})"})
        if _machine(table) in ambiguous_machines
        else table
        for table in tables
    ]


def _machine(table: Table) -> str:
    return str(table.labels[MACHINE].labels[0])


def _cpu(table: Table) -> str:
    return (
        str(next(iter(table.descriptors["cpu"].values.values())))
        if "cpu" in table.descriptors
        else UNKNOWN
    )
