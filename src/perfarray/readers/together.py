"""Small tidy CSV files with one header, read as one table whose rows name their file.

pandas takes as long to set out on a table of 20 rows as to read 20,000. Files are read together
only where each gets the table that it would get alone; else `tidy_csv.read` reads each.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd

from perfarray.conventions import COMPARED, DESCRIPTORS, ITERATION, LEVELS, MARKS
from perfarray.readers import tidy_csv
from perfarray.readers.opening import FileError, Source
from perfarray.readers.recognising import MISFIT
from perfarray.tables.columns import Column, Table, column_of, split_rows
from perfarray.tables.measured import MEASURED, value_column
from perfarray.tables.roles import level_labels
from perfarray.timings.crossed import label_name

SMALL = 1 << 14  # Bytes of a file that is read together with others
# Columns that mean the same in every file: what others are is decided by the rows of a file
PLAIN = {*COMPARED, *LEVELS, *MARKS} - {*DESCRIPTORS, "file"}


def read_together(sources: Sequence[Source]) -> list[Table | None]:
    """Return the table of each file that can be read together with others, else None."""
    tables: list[Table | None] = [None] * len(sources)
    rows_by_head: dict[str, dict[int, str]] = {}
    for index, source in enumerate(sources):
        with suppress(FileError):
            text = _small_text(source)
            start = text.find("\n", len(tidy_csv.comments(text))) + 1
            rows_by_head.setdefault(text[:start], {})[index] = text[start:]
    for head, rows in rows_by_head.items():
        if len(rows) > 1 and _are_plain(head):
            with suppress(*MISFIT, MemoryError):  # the reader of each file alone names it
                together = _tables(sources[min(rows)], head, [*rows.values()])
                for index, table in zip(rows, together, strict=False):
                    tables[index] = table
    return tables


def _small_text(source: Source) -> str:
    """Return the text of a small file that may be a table, else nothing."""
    asked = source.options
    if asked.pattern is not None or asked.format not in (None, tidy_csv.NAME) or asked.dims:
        return ""
    return source.text if len(source.packed) <= SMALL and len(source.text) <= SMALL else ""


def _are_plain(head: str) -> bool:
    """Return whether the header is one line, and the role of no column depends on the rows."""
    stated = tidy_csv.stated_in(tidy_csv.comments(head))
    metric = stated.get("metric")
    return (
        head.endswith(tidy_csv.header_row(head) + "\n")
        and stated.keys().isdisjoint(("shared_levels", MEASURED))
        and metric not in PLAIN
        and all(
            name in PLAIN or name == metric or value_column(name) for name in tidy_csv.header(head)
        )
    )


def _tables(source: Source, head: str, texts: Sequence[str]) -> list[Table]:
    """Return the tables of files, none where one of them may be read otherwise when alone."""
    texts = [text if text.endswith("\n") else f"{text}\n" for text in texts]
    rows = [text.count("\n") for text in texts]
    joined = source.rewritten("".join([head, *texts]))
    joined.notes, joined.options = [], source.options._replace(dims={"file": "file"})
    frame = tidy_csv.frame_of(joined)
    # With as many rows as lines no cell goes on in the next line, or the next file.
    if len(frame) != sum(rows) or not all(_is_alike(column) for _, column in frame.items()):
        return []
    # As a dim the file is the outermost parent of every number, and no rows of two files meet.
    frame["file"] = np.repeat(np.arange(len(rows)), rows)
    table = tidy_csv.table_of_rows(joined, frame, tidy_csv.stated_in(tidy_csv.comments(head)))
    levels = [name for name in LEVELS if name in frame]
    # Rows of a cell that nothing tells apart may be copies in one file, and none in another.
    if joined.notes or table.notes or (levels and len(table.levels) > len(levels)):
        return []
    unit_names = {name: column_of(frame[name]) for name in levels if name != ITERATION}
    return _split(table, unit_names, rows)


def _is_alike(column: pd.Series) -> bool:
    """Return whether each part of a column is read as the whole: numbers, or words without gaps."""
    kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
    if column.name not in PLAIN:
        return kind in "fi"
    if column.name in LEVELS:
        return kind == "i"
    if kind != "O":
        return kind in "ib"
    labels = column.unique().tolist()
    return all(isinstance(label, int) for label in labels) or all(
        isinstance(label, str) and not tidy_csv.WHOLE.fullmatch(label) for label in labels
    )


def _split(table: Table, unit_names: Mapping[str, Column], rows: Sequence[int]) -> list[Table]:
    """Return the part of a table for each file, of so many rows, as if it were read alone."""
    labels = {
        name: split_rows(column, rows) for name, column in table.labels.items() if name != "file"
    }
    names = {name: split_rows(column, rows) for name, column in unit_names.items()}
    parts = []
    stop = 0
    for index, n_rows in enumerate(rows):
        within, stop = slice(stop, stop + n_rows), stop + n_rows
        part = replace(
            table,
            labels={name: columns[index] for name, columns in labels.items()},
            levels={name: numbers[within] for name, numbers in table.levels.items()},
            metrics={
                name: replace(metric, values=metric.values[within])
                for name, metric in table.metrics.items()
            },
            marks={name: mask[within] for name, mask in table.marks.items()},
            columns={},
        )
        for name, columns in names.items():
            if values := level_labels(columns[index], name, part.labels, part.levels):
                part.columns[label_name(name)] = values
        parts.append(part)
    return parts
