"""Rows of the CSV of a benchmark tool, by the names in its header (RFC 4180)."""

import csv
import io
from typing import NamedTuple

from perfarray.readers import tidy_csv
from perfarray.readers.opening import Source

NO_CELL = (
    "{",
    "[",
    "<",
    "#",
)  # What JSON, XML and comments begin with, which no tool writes above its rows


class CsvRow(NamedTuple):
    """The cells of one row by the names of their columns, and its place in the file."""

    location: str
    cells: dict[str, str]


def header(text: str) -> list[str]:
    """Return the names in the first line of a text; none where it is no row."""
    return [] if text.lstrip().startswith(NO_CELL) else tidy_csv.header(text)


def csv_rows(source: Source, start: int = 0) -> list[CsvRow]:
    """Return the rows under the header, which begins at the character `start`.

    Cells that a row lacks are empty.
    """
    text = source.text[start:]
    reader = csv.reader(io.StringIO(text), delimiter=tidy_csv.separator(text), strict=True)
    first_line = source.text.count("\n", 0, start)
    columns: list[str] = []
    rows = []
    try:
        for row in reader:
            location = f"line {first_line + reader.line_num}"
            if not columns:
                columns = [name.strip() for name in row]
            elif len(row) > len(columns):
                raise source.error(
                    f"{location} has {len(row)} cells; expected {len(columns)}, as the header has"
                )
            elif (
                any(row) and [cell.strip() for cell in row] != columns
            ):  # joined files repeat the header
                cells = [cell.strip() for cell in row] + [""] * (len(columns) - len(row))
                rows.append(CsvRow(location, dict(zip(columns, cells, strict=True))))
    except csv.Error as error:
        raise source.error(
            f"line {first_line + reader.line_num} is no row of CSV: {error}"
        ) from None
    if not rows:
        raise source.error("has a header and no rows")
    return rows
