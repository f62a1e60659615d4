"""`perfarray machines`: performance, variation and descriptors of every machine."""

import math
from typing import Any, Final

import perfarray
from perfarray.cli import options
from perfarray.cli.forms import Answer, Target, answering, described, give
from perfarray.cli.problems import NOTHING_SLOWER, counted
from perfarray.cli.reading import read_one
from perfarray.conventions import MACHINE, SUITE

# What the screen shows beside the labels, and its headers
COMPUTED: Final = {
    "performance": "performance",
    "relative_variation": "relative variation",
    "n_runs": "runs",
    "n_benchmarks": "benchmarks",
}

OPTIONS: Final = options.spoken("by shared")


def machines(
    archive: options.Archive,
    *,
    by: options.By = None,
    shared: options.Shared = None,
    select: options.Select = None,
    nest: options.Nest,
    reading: options.Reading,
    target: Target,
) -> None:
    """Make a table of machines: scores, their variation, and hardware, software and flags.

    `perfarray explain` fits a model to this table.

    Exit code 0: the table is printed.
    Exit code 2: no table: a file cannot be read, nothing was measured, or an option is wrong.

    Example: perfarray machines results/ -o machines.csv
    """
    choices = nest | options.given(by=by, shared=options.names(shared))
    with answering(
        target, {"archive": archive}, "rows", "attrs", "notes", options=OPTIONS
    ) as sentences:
        times = read_one(archive, reading, None, sentences, select)
        frame = perfarray.machine_table(times, rng=options.SEED, **choices)
    labels = [str(name) for name in (SUITE, *times.dims) if name in frame]
    rows = frame.to_dict("records")
    computed = [name for name in COMPUTED if name in frame]
    n_left_out = frame.shape[1] - len(labels) - len(computed)
    table = frame.set_index(labels)[computed].map(_text).rename(columns=COMPUTED)
    of_machines = f" of {counted(frame[MACHINE].nunique(), MACHINE)}" if MACHINE in frame else ""
    table.attrs = {}  # those of the frame are no attrs of a table of texts
    answer = Answer(
        table=table,
        rows=rows,
        content={"archive": archive, "rows": rows, **described(frame)},
        outcome=(f"{counted(len(rows), 'row')}{of_machines}, {counted(frame.shape[1], 'column')}"),
        code=NOTHING_SLOWER,
        legend=[f"{n_left_out} more columns describe machines and flags: -o machines.csv has all."]
        if n_left_out
        else (),
    )
    give(answer, target, sentences, OPTIONS)


def _text(value: Any) -> str:
    """Write a value of the table; a dash where it is not known."""
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)
