"""SPEC runs, one per file: `benchmark,seconds` without a head, or `benchmark,time,ratio`.

Sums and scores are rows among the others.

A file is one execution: how much runs vary cannot be told from it, which the attribute `runs` says.
Where a file belongs (machine, flags, number of the execution) is in its path only, and `layout=`
reads it. Files of reference times have the same form, and are known by their name.
"""

import re

import numpy as np

from perfarray.conventions import BENCHMARK, EXECUTION, HIGHER, TIME, UNKNOWN
from perfarray.readers.labels import unique_labels
from perfarray.readers.numbers import positive
from perfarray.readers.opening import Source
from perfarray.readers.spec.suites import RATIO, published_metric
from perfarray.tables.columns import Descriptor, Metric, Table, column_of

NAME = "spec_runs"
HEAD = "benchmark,time,ratio"
ROW = re.compile(
    r"\s*\d{3}\.\w+\s*,\s*\d+(?:\.\d*)?\s*"
)  # A row without a head: a number and name of a benchmark, then seconds

# Rows that are sums and scores, and no benchmarks
SUMMARY = re.compile(
    r"(?:int|fp|all)_?(?:rate|speed|base|peak)?|total|sum|(?:geo)?mean|score", re.I
)
INTEGER_2006 = frozenset(
    {"400", "401", "403", "429", "445", "456", "458", "462", "464", "471", "473", "483"}
)
# Numbers of the integer benchmarks; those of 2017 have a 5 (rate) or 6 (speed) before them. The
# others are floating point
INTEGER_2017 = frozenset({"00", "02", "05", "20", "23", "25", "31", "41", "48", "57"})
REFERENCE = "reftime"  # What the name of a file of reference times has in it


def started(head: str) -> bool:
    """Return whether the first line is the head of this format, or a row of it."""
    first = head.lstrip().partition("\n")[0]
    return _plain(first) == HEAD or ROW.fullmatch(first) is not None


def recognise(source: Source) -> bool:
    """Return whether the first row is of this form and the file is no reference times."""
    return started(source.head) and REFERENCE not in source.path.name.lower()


def read(source: Source) -> Table:
    """Read a file of runs: benchmark x execution, of which there is one."""
    if REFERENCE in source.path.name.lower():
        raise source.error("holds reference times, by its name; they are no measurements")
    lines = [
        (line_number, line)
        for line_number, line in enumerate(source.text.split("\n"), 1)
        if line.strip()
    ]
    headed = bool(lines) and _plain(lines[0][1]) == HEAD
    rows = [
        _row(line, line_number, 3 if headed else 2, source) for line_number, line in lines[headed:]
    ]
    summaries = [row for row in rows if SUMMARY.fullmatch(row[0])]
    runs = [row for row in rows if not SUMMARY.fullmatch(row[0])]
    if not any(time == time for _, time, _ in runs):
        raise source.error(f"has no time of any benchmark in {len(lines)} lines")
    names = unique_labels([name for name, _, _ in runs], source)
    metrics = {TIME: Metric(values=np.array([time for _, time, _ in runs]))}
    if headed:
        metrics[RATIO] = Metric(
            values=np.array([ratio for _, _, ratio in runs]), units="1", better=HIGHER
        )
    return Table(
        labels={BENCHMARK: column_of(names)},
        levels={EXECUTION: np.zeros(len(runs), dtype=np.intp)},
        metrics=metrics,
        descriptors={
            "suite": Descriptor(
                dims=(BENCHMARK,),
                values={(name,): _suite(name) for name in names},
                keep=(BENCHMARK,),
            )
        },
        metric=published_metric(ratio for _, _, ratio in runs),
        counts={"n_summary_rows": len(summaries)},
        attrs={"runs": "one per file: how much runs vary cannot be told from one"},
    )


def _plain(line: str) -> str:
    """Return a line in small letters without blanks and quotes."""
    return re.sub(r'[\s"]', "", line).lower()


def _row(line: str, line_number: int, width: int, source: Source) -> tuple[str, float, float]:
    """Return benchmark, time and ratio; an empty field is a run that was not made."""
    cells = [cell.strip().strip('"') for cell in line.split(",")]
    if len(cells) != width or not cells[0]:
        raise source.error(
            f"line {line_number} has {len(cells)} cells ({line[:80]!r}); expected "
            f"{', '.join(HEAD.split(',')[:width])}"
        )
    values = [np.nan if cell == "" else positive(cell) for cell in cells[1:]]
    if None in values:
        text = cells[1 + values.index(None)]
        raise source.error(f"line {line_number}: {text!r} of {cells[0]!r} is not a number above 0")
    time, ratio = (*values, np.nan)[:2]
    return cells[0], float(time or np.nan), float(ratio or np.nan)


def _suite(name: str) -> str:
    code = name.partition(".")[0]
    if re.fullmatch(r"4\d\d", code):
        return "int2006" if code in INTEGER_2006 else "fp2006"
    if re.fullmatch(r"[56]\d\d", code):
        return "int2017" if code[1:] in INTEGER_2017 else "fp2017"
    return UNKNOWN
