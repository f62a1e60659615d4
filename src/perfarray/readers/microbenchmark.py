"""CSV of R's microbenchmark (`write.csv(result)`): one R process is an execution.

Evaluations of an expression are its iterations.

The package measures in whole nanoseconds, and the file states no unit. Expressions are evaluated in
a random order, which the rows keep.
"""

import numpy as np

from perfarray.conventions import BENCHMARK, TIME
from perfarray.readers.csv_rows import csv_rows, header
from perfarray.readers.entries import Entry, Run, amount_or_nan, table_of_entries
from perfarray.readers.opening import Source
from perfarray.tables.columns import Table

NAME = "microbenchmark"
EXPRESSION = "expr"
NANOSECOND = 1e-9


def started(head: str) -> bool:
    """Return whether the header is that of a data frame of microbenchmark.

    R names the rows in a first column.
    """
    return [name for name in header(head) if name] == [EXPRESSION, TIME]


def recognise(source: Source) -> bool:
    """Return whether the content is such a data frame."""
    return started(source.head)


def read(source: Source) -> Table:
    """Read the times: benchmark x execution x iteration."""
    times_by_expression: dict[str, list[float]] = {}
    for location, row in csv_rows(source):
        if not {EXPRESSION, TIME} <= row.keys():
            raise source.error(
                f"has no columns {EXPRESSION!r} and {TIME!r}, which microbenchmark writes"
            )
        time = amount_or_nan(source, f"{location}: {row[EXPRESSION]}", TIME, row[TIME])
        if time % 1 > 0:
            dims = {BENCHMARK: EXPRESSION, f"{TIME}_ms": TIME}
            raise source.error(
                f"{location}: time is {row[TIME]}; expected whole nanoseconds. Name the unit "
                f"with {dims=}"
            )
        times_by_expression.setdefault(row[EXPRESSION], []).append(time)
    source.note(
        "assumed_unit",
        "the file states no unit. Its times are read as nanoseconds, as R's microbenchmark "
        "writes them. Name another unit with dims="
        f"{ {BENCHMARK: EXPRESSION, f'{TIME}_ms': TIME} }.",
        unit="ns",
    )
    return table_of_entries(
        source,
        [
            Entry(name, [Run({TIME: np.array(times) * NANOSECOND})])
            for name, times in times_by_expression.items()
        ],
    )
