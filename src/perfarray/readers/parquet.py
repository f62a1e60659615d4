"""Parquet and Arrow IPC (Feather): one row per measurement, columns as in a tidy CSV file.

Partitioned folders are one table.

The metadata of the schema may give `units`, `better`, `metric` and `shared_levels`, as the comments
of a CSV file do. In a folder, files below `key=value` folders, and files called `part-0`, `part-1`,
..., are read as one table whose keys are labels.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import groupby
from pathlib import Path, PurePath
from re import compile as pattern
from typing import Any, Final
from urllib.parse import unquote

import pandas as pd

from perfarray.conventions import UNKNOWN, seconds_factor
from perfarray.readers import custom, tidy_csv
from perfarray.readers.arrow_sizes import (
    TEXTS,
    Size,
    arrow_size,
    in_memory,
    parquet_size,
    text_bytes,
)
from perfarray.readers.finding import InputFile
from perfarray.readers.opening import FileError, Source, TooLargeError, text_of_path
from perfarray.readers.parquet_footer import chunks_in_footer
from perfarray.tables.columns import Table
from perfarray.tables.measured import MEASURED, value_column
from perfarray.timings.options import options
from perfarray.timings.validation import listed

NAME = "parquet"
UNITS_BY_CALLER = True
PARQUET: Final = b"PAR1"
MAGIC: Final = (PARQUET,)
SUFFIXES: Final = (".parquet", ".pq", ".feather", ".arrow", ".ipc")
PROGRAM: Final = "perfarray"  # key of the roles of columns that `perfarray convert` writes
STATED: Final = (
    PROGRAM,
    "units",
    "better",
    "metric",
    "shared_levels",
)  # keys of the schema's metadata that say what the values are
PARTITION: Final = pattern(r"([^=/]+)=(.*)")  # a folder of a partitioned table
PART: Final = pattern(r"part[-_.]?\d.*")  # a file of a table in several files
MISSING: Final = "__HIVE_DEFAULT_PARTITION__"
SHARING: Final = "DELTA_BYTE_ARRAY"  # encoding of texts that repeat the beginning of the one before
DELTAS: Final = {
    SHARING,
    "DELTA_LENGTH_BYTE_ARRAY",
}  # encodings of texts that pyarrow cannot read as categories
ROWS: Final = 1 << 16  # rows of such a file that are read at once
ROW_INDEX: Final = "__index_level_"  # begins the columns that pandas writes an index to


def started(head: str) -> bool:
    """Return whether a broken file began as this format."""
    return head.startswith(PARQUET.decode())


def recognise(source: Source) -> bool:
    """Return whether the first bytes are those of Parquet."""
    return source.first_bytes.startswith(MAGIC)


def read(source: Source) -> Table:
    """Read one file."""
    table = _rows(source)
    if not table.num_rows:
        raise source.error("has columns and no rows")
    return _table(source, _frame(source, table), stated_in(table.schema))


def read_parts(source: Source, parts: Sequence[Source], broken: list[FileError] | None) -> Table:
    """Read the files of a partitioned table below the path of `source`.

    The keys in their paths are columns.

    The errors of parts that cannot be read go to `broken`, and the other parts are the table;
    without a list the first is raised.
    """
    tables, empty, n_cells = dict[str, Any](), [], 0
    for part in parts:
        try:
            table, name = _rows(part), part.path.relative_to(source.path).as_posix()
        except FileError as error:
            if broken is None:
                raise
            broken.append(error)
            continue
        if not table.num_rows:
            empty.append(name)
            continue
        for key, text in keys_of(PurePath(name)).items():
            table = table if key in table.column_names else _with_column(table, key, text)
        tables[name] = table
        n_cells += table.num_rows * table.num_columns
        if n_cells > options().max_cells:
            raise TooLargeError(
                f"{source.path}: holds more than {options().max_cells} cells; "
                "set_options(max_cells=...) sets another limit"
            )
    if broken and not tables:
        raise broken[0]
    if not tables:
        raise source.error("has columns and no rows")
    if empty:
        note_empty_parts(source, empty, len(parts))
    stated_by_part = {name: stated_in(table.schema) for name, table in tables.items()}
    stated = agreed(source, stated_by_part)
    if (
        "units" not in stated
    ):  # rows of parts in several units are those of a table with a column of units
        tables = {
            name: _with_column(table, "unit", stated_by_part[name].get("units"))
            for name, table in tables.items()
        }
    return _table(source, _frame(source, _joined(source, tables)), stated)


def note_empty_parts(source: Source, empty: Sequence[str], n_parts: int) -> None:
    """Add the note on parts of a table that have no rows."""
    text = (
        f"{len(empty)} of {n_parts} parts have no rows: {listed(empty, 5)}. They add nothing to "
        "the table."
    )
    source.note("empty_parts", text, parts=len(empty), of=n_parts)


def agreed(source: Source, stated_by_part: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return what all parts of a table state of their values."""
    (first, stated), *others = stated_by_part.items()
    common = dict(stated)
    for name, other in others:
        for key in STATED:
            statements = [stated.get(key), other.get(key)]
            if statements[0] == statements[1]:
                continue
            if key != "units" or None in map(seconds_factor, map(str, statements)):
                raise source.error(
                    f"its parts {first!r} and {name!r} state different {key}: "
                    f"{listed(statements)}. They cannot be joined into one table. "
                    "Write both alike, or read them one by one"
                )
            common.pop(key, None)
    return common


def _with_column(table: Any, name: str, text: str | None) -> Any:
    """Return an Arrow table with a text in each row, if there is one and no such column."""
    from pyarrow import repeat

    return (
        table
        if text is None or name in table.column_names
        else table.append_column(name, repeat(text, table.num_rows))
    )


def _joined(source: Source, tables: Mapping[str, Any]) -> Any:
    """Return the rows of all parts.

    What is text in one part is text in all, and a column that a part lacks is empty there.
    """
    import pyarrow as pa

    types_in_parts = [
        (field.name, _without_categories(field.type))
        for table in tables.values()
        for field in table.schema
    ]
    texts = {
        name
        for name, of_values in types_in_parts
        if pa.types.is_string(of_values) or pa.types.is_large_string(of_values)
    }
    alike = [
        table.cast(
            pa.schema(
                [
                    (
                        field.name,
                        pa.string() if field.name in texts else _without_categories(field.type),
                    )
                    for field in table.schema
                ]
            )
        )
        for table in tables.values()
    ]
    try:
        return pa.concat_tables(alike, promote_options="permissive")
    except pa.ArrowException as error:
        raise source.error(
            f"its parts cannot be joined into one table: {str(error).partition(chr(10))[0]}"
        ) from None


def one_table_each(files: Sequence[InputFile]) -> list[InputFile]:
    """Return files, those of each partitioned table as one with `parts`."""
    roots = {file.path: None if file.explicit or file.problem else _root(file) for file in files}
    tables = {root for root in roots.values() if root is not None}
    kept = [
        file
        for file in files
        if roots[file.path]
        or not (
            file.path.name.startswith(("_", "."))
            and any(root in file.path.parents for root in tables)
        )
    ]
    grouped: list[InputFile] = []
    for (root, _), group in groupby(kept, lambda file: (roots[file.path], file.labels)):
        members = list(group)
        if root is None:
            grouped += members
            continue
        first = members[0]
        inner = text_of_path(first.path.relative_to(root).as_posix())
        label = first.label.removesuffix(inner).strip("/") or root.name
        grouped.append(
            first._replace(path=root, label=label, parts=tuple(file.path for file in members))
        )
    return grouped


def _root(file: InputFile) -> Path | None:
    """Return the folder of the partitioned table that a file belongs to, or None."""
    if file.path.suffix.lower() not in SUFFIXES or file.path.name.startswith(("_", ".")):
        return None
    folders = file.path.parents
    partitions = [folder for folder in folders if PARTITION.fullmatch(folder.name)]
    if partitions:
        return partitions[-1].parent
    return folders[0] if PART.fullmatch(file.path.stem) else None


def keys_of(path: PurePath) -> dict[str, str]:
    """Return the labels in the folders of a path, as text without percent-encoding."""
    matches = filter(None, map(PARTITION.fullmatch, path.parts[:-1]))
    return {
        unquote(match[1]): UNKNOWN if match[2] == MISSING else unquote(match[2])
        for match in matches
    }


def _without_categories(of_column: Any) -> Any:
    """Return the type of the values of a column, also of one of categories."""
    from pyarrow import types

    return of_column.value_type if types.is_dictionary(of_column) else of_column


def stated_in(schema: Any) -> dict[str, str]:
    """Return what the metadata of a schema say of the values."""
    metadata = {
        key.decode(errors="replace"): text.decode(errors="replace")
        for key, text in (schema.metadata or {}).items()
    }
    return {key: metadata[key] for key in STATED if key in metadata}


def _rows(source: Source) -> Any:
    """Return the rows of a file as an Arrow table."""
    table = _arrow_table(source)
    return table.select([name for name in table.column_names if not name.startswith(ROW_INDEX)])


def _frame(source: Source, table: Any) -> pd.DataFrame:
    """Return rows in pandas; whole numbers stay whole where some are missing."""
    from pyarrow import ArrowException, types

    try:
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True, date_as_object=False)
    except ArrowException as error:  # texts that are not UTF-8
        raise source.error(f"is cut off or damaged: {_first_line(error)}") from None
    labels = [
        field.name
        for field in table.schema
        if types.is_integer(field.type) and not value_column(field.name)
    ]
    gaps = [name for name in labels if table.column(name).null_count]
    if gaps:
        frame[gaps] = table.select(gaps).to_pandas(ignore_metadata=True, types_mapper=_nullable)
    return frame


def _nullable(integers: Any) -> Any:
    """Return the dtype of pandas for an Arrow type of whole numbers, some of which are missing."""
    return pd.api.types.pandas_dtype(str(integers).replace("uint", "UInt").replace("int", "Int"))


def _arrow_table(source: Source) -> Any:
    try:
        import pyarrow as pa
        from pyarrow import types
    except ImportError as error:
        raise ImportError(
            "Parquet and Arrow files are read with pyarrow, which is not installed; install "
            "perfarray[tables]"
        ) from error
    content = source.unpacked()
    if not content.strip():
        raise source.error("is empty")
    try:
        table = (_parquet_table if content.startswith(PARQUET) else _ipc_table)(source, content)
        table.validate(
            full=True
        )  # damaged offsets or numbers of categories would lead out of the memory of the file
        limit = source.most_unpacked()
        if table.nbytes + text_bytes(table) > limit[0]:
            source.too_large(*limit)
        decimals = {
            field.name: pa.float64() for field in table.schema if types.is_decimal(field.type)
        }
        return table.cast(
            pa.schema(
                [
                    pa.field(field.name, decimals.get(field.name, field.type))
                    for field in table.schema
                ],
                table.schema.metadata,
            )
        )
    except (pa.ArrowException, OSError, UnicodeError, struct.error, IndexError) as error:
        raise source.error(f"is cut off or damaged: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    """Return the first line of a message of Arrow, which may quote bytes of the file."""
    return str(error).partition("\n")[0].encode("ascii", errors="backslashreplace").decode()


def _parquet_table(source: Source, content: bytes) -> Any:
    from pyarrow import Table, parquet

    file = parquet.ParquetFile(BytesIO(content))
    schema = file.schema_arrow
    _check_columns(source, schema)
    groups = chunks_in_footer(content)
    if len(groups) != file.metadata.num_row_groups or any(
        len(group) != len(schema.names) for group in groups
    ):
        raise source.error(
            "is cut off or damaged: its groups of rows have other columns than its schema"
        )
    _check_size(source, parquet_size(file.metadata, groups), schema.types)
    kinds = [str(kind) for kind in schema.types]
    chunks = {
        name: [group[number] for group in groups]
        for number, name in enumerate(schema.names)
        if kinds[number] in TEXTS
    }
    encodings = {
        name: {encoding for chunk in chunks[name] for encoding in chunk.encodings}
        for name in chunks
    }
    # A text that recurs is stored once, and is read so, until it is known how many bytes all rows
    # have.
    file = parquet.ParquetFile(
        BytesIO(content), read_dictionary=[name for name in chunks if not encodings[name] & DELTAS]
    )
    sizes = [
        chunk.total_uncompressed_size
        for name in chunks
        if SHARING in encodings[name]
        for chunk in chunks[name]
    ]
    if not sizes:
        return file.read()
    # A text may take the room of all: few rows are read at once.
    limit, largest = source.most_unpacked(), max(sizes)
    batches, n_bytes = [], 0
    for batch in file.iter_batches(batch_size=min(ROWS, limit[0] // max(largest, 1) + 1)):
        batches.append(batch)
        n_bytes += batch.nbytes
        if n_bytes > limit[0]:
            source.too_large(*limit)
    return Table.from_batches(batches, file.schema_arrow)


def _ipc_table(source: Source, content: bytes) -> Any:
    from pyarrow import ipc

    with ipc.open_file(BytesIO(content)) as reader:
        _check_columns(source, reader.schema)
        _check_size(source, arrow_size(content), reader.schema.types)
        table = reader.read_all()
    table.validate(full=True)  # damaged offsets would lead out of the memory of the file
    return table


def _check_columns(source: Source, schema: Any) -> None:
    """Raise where a column occurs twice, or holds what is no value or label."""
    from pyarrow import types

    tidy_csv.check_columns(source.error, schema.names)
    nested = [field.name for field in schema if types.is_nested(field.type)]
    if nested:
        raise source.error(
            f"column {nested[0]!r} holds lists or structures; a table has one row per "
            "measurement (explode it)"
        )


def _check_size(source: Source, size: Size, kinds: Sequence[Any]) -> None:
    """Raise where a table would fill the memory, before anything of it is read."""
    if size.rows * max(len(kinds), 1) > options().max_cells:
        raise TooLargeError(
            f"{source.path}: holds {size.rows} rows of {len(kinds)} columns; "
            "set_options(max_cells=...) allows more cells"
        )
    limit = source.most_unpacked()
    if in_memory(size, kinds) > limit[0]:
        source.too_large(*limit)


def _table(source: Source, frame: pd.DataFrame, stated: Mapping[str, str]) -> Table:
    """Return the rows as a table."""
    if (
        written := roles_written(stated.get(PROGRAM, ""), list(frame.columns))
    ) and not source.options.dims:
        return tidy_csv.table_of_frame(source, frame, **written)
    stated, dims = (
        {key: text for key, text in stated.items() if key != PROGRAM},
        source.options.dims,
    )
    names = custom.names_of_columns(source, list(frame.columns))
    if any(isinstance(name, int) for name in dims.values()):
        raise source.error("has names of columns; dims= names them, not their places")
    if absent := [name for name in dims.values() if name not in frame.columns]:
        raise source.error(f"has no column {absent[0]!r}; it has {listed(frame.columns, 30)}")
    metric = custom.quantity(source, list(frame.columns))
    measured = custom.names_with_units(source)
    if dims and (metric is not None or measured or any(map(value_column, names))):
        source.columns = dict(zip(names, map(repr, frame.columns), strict=True))
        frame = frame.set_axis(names, axis=1)
        stated |= ({} if metric is None else {"metric": metric}) | (
            {MEASURED: "; ".join(measured)} if measured else {}
        )
    return tidy_csv.table_of_rows(source, frame, stated)


def roles_written(text: str, columns: Sequence[str]) -> dict[str, Any] | None:
    """Return the roles of columns that `perfarray convert` wrote into the metadata.

    None where there are none, or others than it writes.
    """
    try:
        roles = json.loads(text)
        units, better, dims, shared = (roles[key] for key in ("units", "better", "dims", "shared"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not (
        isinstance(units, dict)
        and isinstance(better, dict)
        and isinstance(dims, list)
        and isinstance(shared, list)
        and units
    ):
        return None
    texts = [*units, *units.values(), *better, *better.values(), *dims, *shared]
    if (
        not all(isinstance(name, str) for name in texts)
        or not {*units, *dims} <= {*columns}
        or units.keys() != better.keys()
    ):
        return None
    return {
        "value": {name: name for name in units},
        "units": units,
        "better": better,
        "shared": shared,
        "dims": {name: name for name in dims},
    }
