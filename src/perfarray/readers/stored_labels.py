"""The labels of a large table, and which cell of the array each of its rows belongs to.

The distinct combinations of labels, as a small table with stand-in values, are read like any other
file: roles of columns, orders of labels, units and errors are those of every table.
"""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import CENSORED_AT, COMPARED, EXECUTION, HISTORY, LEVELS, MARKS
from perfarray.numerics.types import Integers
from perfarray.readers.stored_tables import BLANKS, StoredTable, identifier
from perfarray.readers.tidy_csv import MISSING
from perfarray.tables.columns import LARGEST_EXACT
from perfarray.tables.measured import UNITS_OF_ROWS, name_and_unit, value_column
from perfarray.tables.roles import EXIT_CODE, depends_only_on
from perfarray.timings.crossed import label_name
from perfarray.timings.notes import add_notes
from perfarray.timings.options import options, set_options
from perfarray.timings.validation import listed

MAX_COMBINATIONS = 20_000_000  # of labels, which are held in memory
SMALL_TABLE = 1 << 30  # bytes of a table of our own

Read = Callable[[Path], xr.Dataset]


class StoredLabels(NamedTuple):
    """The labels of a table.

    `template` holds its timings with one repetition of the lowest level and stand-in values.
    """

    template: xr.Dataset
    columns: dict[str, str]  # the column of each variable
    factors: dict[str, float]  # from the numbers of this column to the variable's units
    level: str  # the lowest
    of_level: Any  # its labels in order (Arrow), None where rows are numbered as they come
    combinations: Any  # of all other labels (Arrow)
    n_rows: Integers  # (combinations,)
    codes: Integers  # (combinations,) as the query of rows has them
    cells: Integers  # (combinations,) the position in the template
    query: str  # of rows: code of the combination, position of the label of the level, values


def labels_of(table: StoredTable, read: Read) -> StoredLabels:
    """Return the labels of a table.

    `read` reads a small table as the caller would have this one read.
    """
    lowest = next((name for name in reversed(LEVELS) if name in table.columns), None)
    names = [name for name in table.columns if name not in (*table.values, lowest)]
    unsuited = [
        name
        for name in names
        if name in (*MARKS, CENSORED_AT)
        or name.lower() in UNITS_OF_ROWS
        or EXIT_CODE.fullmatch(name)
    ]
    if unsuited:
        raise table.error(f"column {listed(unsuited)} cannot be streamed")
    combinations, n_rows = _combinations(table, names)
    of_level = None if lowest is None else _ordered_labels(table, lowest)
    _check_roles(table, combinations, numbered=of_level is not None and n_rows.max() == 1)
    template = _read_small(table, read, _with_level(combinations, lowest, [0]))
    columns = _columns_of_metrics(table, [str(name) for name in template.data_vars])
    first = template[next(iter(columns))]
    level = str(first.dims[-1])
    beside = [name for name, coord in template.coords.items() if level in coord.dims]
    if first.shape[-1] > 1 or level != (lowest or EXECUTION) or beside != [level]:
        raise table.error(f"its columns beside {level!r} cannot be streamed")
    factors = {name: float(template[name].min()) for name in columns}
    # Where the stand-in value of a combination is, are its measurements.
    numbers = np.rint(first.values.ravel() / factors[str(first.name)])
    measured, cells = np.flatnonzero(~np.isnan(numbers)), np.empty(len(n_rows), dtype=np.int64)
    cells[numbers[measured].astype(np.int64) - 1] = measured
    code, codes = _codes(table, [name for name in names if name in (*COMPARED, *HISTORY, *LEVELS)])
    position = "0" if lowest is None else f"enum_code({_text(lowest)}::level)::BIGINT"
    selected = ", ".join([code, f"{position} AS label", *map(identifier, columns.values())])
    query = f"SELECT {selected} FROM rows"
    return StoredLabels(
        template=template,
        columns=columns,
        factors=factors,
        level=level,
        of_level=of_level,
        combinations=combinations,
        n_rows=n_rows,
        codes=codes,
        cells=cells,
        query=query,
    )


def _combinations(table: StoredTable, names: list[str]) -> tuple[Any, Integers]:
    """Return the combinations of labels by first appearance, and the rows of each."""
    listing = ", ".join(map(identifier, names))
    table.run(
        f"""CREATE TEMP TABLE combinations AS
        SELECT {f"{listing}, " if names else ""}count(*) AS "#rows", min("#row") AS "#first"
        FROM (SELECT *, row_number() OVER () AS "#row" FROM rows)
        {f"GROUP BY {listing}" if names else ""}"""
    )
    ((count,),) = table.run("SELECT count(*) FROM combinations").fetchall()
    if count > MAX_COMBINATIONS:
        n_labels = ", ".join(f"approx_count_distinct({identifier(name)})" for name in names)
        (counts,) = table.run(f"SELECT {n_labels} FROM combinations").fetchall()
        raise table.error(
            f"has more than {MAX_COMBINATIONS} combinations of labels, most of them in column "
            f"{names[int(np.argmax(counts))]!r}. Leave it out"
        )
    ordered = table.run('SELECT * FROM combinations ORDER BY "#first"').to_arrow_table()
    n_rows = ordered["#rows"].to_numpy()
    if not n_rows.sum():
        raise table.error("has columns and no rows")
    for name in names:
        _check_texts(table, name, "combinations")
    return ordered.select(names), n_rows


def _check_texts(table: StoredTable, name: str, labels: str) -> None:
    """Raise for labels with blanks or quotes around them, which DuckDB keeps."""
    text = _text(name)
    around = f"{text} LIKE '\"%' OR {text} <> trim({text}, {BLANKS})"
    if table.run(f"SELECT 1 FROM {labels} WHERE {around} LIMIT 1").fetchall():
        raise table.error(f"column {name!r} has labels with blanks or quotes around them")


def _text(name: str) -> str:
    """Return a label as a text, which is empty where it is missing."""
    return f"coalesce({identifier(name)}::VARCHAR, '')"


def _codes(table: StoredTable, names: list[str]) -> tuple[str, Integers]:
    """Return how SQL numbers combinations of labels, and these numbers in their order."""
    code, n_codes = "0::BIGINT", 1
    for number, name in enumerate(names):
        table.run(
            f"CREATE TYPE label_{number} AS ENUM (SELECT DISTINCT {_text(name)} FROM combinations)"
        )
        ((size,),) = table.run(f"SELECT len(enum_range(NULL::label_{number}))").fetchall()
        code = f"({code}) * {size} + enum_code({_text(name)}::label_{number})"
        n_codes *= size
    if n_codes >= np.iinfo(np.int64).max:
        raise table.error(f"columns {listed(names)} have too many labels to be streamed")
    query = f'SELECT {code} AS code FROM combinations ORDER BY "#first"'
    codes: Integers = table.run(query).to_arrow_table()["code"].to_numpy()
    if len(pd.unique(codes)) < len(codes):
        raise table.error(f"columns {listed(names)} do not determine the others")
    return code, codes


def _ordered_labels(table: StoredTable, lowest: str) -> Any:
    """Return the labels of the lowest level: numbers by value, texts by first appearance."""
    table.run(
        f"""CREATE TEMP TABLE labels_of_level AS
        SELECT {identifier(lowest)}, {_text(lowest)} AS text, min("#row") AS first
        FROM (SELECT {identifier(lowest)}, row_number() OVER () AS "#row" FROM rows) GROUP BY ALL"""
    )
    _check_texts(table, lowest, "labels_of_level")
    labels = table.run("SELECT * FROM labels_of_level ORDER BY first").to_arrow_table()
    texts = labels["text"].to_pandas().astype(object)
    if texts.isin(MISSING).any():
        raise table.error(f"column {lowest!r} names repetitions but is empty in some rows")
    numbers = pd.to_numeric(texts, errors="coerce")
    are_numbers = not numbers.isna().any()
    if (are_numbers and (numbers.duplicated().any() or (abs(numbers) > LARGEST_EXACT).any())) or (
        texts.str.lower().isin(["true", "false"]).any()
    ):
        raise table.error(f"column {lowest!r} has labels that may be numbers, and is not streamed")
    if are_numbers and table.typed and str(labels.schema.field(lowest).type) == "string":
        raise table.error(f"column {lowest!r} holds numbers as texts, and is not streamed")
    order = f"{'text::DOUBLE, ' if are_numbers else ''}first"
    table.run(f"CREATE TYPE level AS ENUM (SELECT text FROM labels_of_level ORDER BY {order})")
    query = f"SELECT {identifier(lowest)} FROM labels_of_level ORDER BY {order}"
    return table.run(query).to_arrow_table()[lowest]


def _check_roles(table: StoredTable, combinations: Any, *, numbered: bool) -> None:
    """Raise for columns whose role depends on how often labels occur.

    Where each combination has one row and rows are `numbered`, a date may be the name of a
    repetition.
    """
    codes = {
        name: pd.factorize(combinations[name].to_pandas(), use_na_sentinel=False)[0]
        for name in combinations.column_names
    }
    compared = [codes[name] for name in codes if name in COMPARED]
    histories = [name for name in codes if name in HISTORY]
    undecided = [
        name
        for name in codes
        if name not in (*COMPARED, *HISTORY, *LEVELS)
        and not any(
            depends_only_on(codes[name], dims)
            for dims in (compared, *([codes[history]] for history in histories))
        )
    ]
    if numbered:
        undecided += [name for name in histories if not depends_only_on(codes[name], compared)]
    if undecided:
        raise table.error(
            f"column {listed(undecided)} cannot be streamed: no usual dim determines it. Rename "
            "it like a dim ('version', ...), or leave it out"
        )


def _with_level(combinations: Any, lowest: str | None, labels: Any) -> Any:
    """Return combinations with a column of labels of the lowest level, if there is one."""
    import pyarrow as pa

    if lowest is None:
        return combinations
    if not combinations.num_columns:
        return pa.table({lowest: labels})
    repeated = labels * combinations.num_rows if isinstance(labels, list) else labels
    return combinations.append_column(lowest, pa.array(repeated))


def _read_small(table: StoredTable, read: Read, labels: Any) -> xr.Dataset:
    """Write some labels with stand-in values as the table is stored, and read them."""
    import pyarrow as pa

    for value in table.values:
        labels = labels.append_column(value, pa.array(np.arange(1.0, labels.num_rows + 1)))
    with TemporaryDirectory() as folder:
        place = file = Path(folder) / table.place.name
        if table.place.is_dir():
            place.mkdir()
            file = place / "part-0.parquet"
        table.write(labels.select(table.columns), file)
        try:
            with set_options(max_file_bytes=max(options().max_file_bytes, SMALL_TABLE)):
                times = read(place).load()
        except ValueError as error:
            raise table.error(str(error).replace(f"{file}: ", "")) from None
    return add_notes(times, *table.notes) if table.notes else times


def names_of_units(table: StoredTable, read: Read, labels: StoredLabels) -> dict[str, xr.Variable]:
    """Return the coordinate of the labels of the level that a small table has, if any."""
    first = labels.combinations.take([0] * len(labels.of_level))
    small = _with_level(first, labels.level, labels.of_level)
    times, name = _read_small(table._replace(notes=()), read, small), label_name(labels.level)
    return {name: times.coords[name].variable} if name in times.coords else {}


def _columns_of_metrics(table: StoredTable, metrics: list[str]) -> dict[str, str]:
    """Return the column of each variable, in the order of the variables."""
    columns = {}
    for column in table.values:
        measured = value_column(column)
        names = [*([measured[0]] if measured else []), name_and_unit(column)[0], column]
        columns[next((name for name in names if name in metrics), column)] = column
    if columns.keys() != set(metrics):
        raise table.error(
            f"has columns of values {listed(table.values)}, which are read as {listed(metrics)}. "
            "Name them so"
        )
    return {name: columns[name] for name in metrics}
