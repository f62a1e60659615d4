"""Long tables on the disk as blocks of rows: tidy CSV files, Parquet and Arrow files, and partitioned folders."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from perfarray.readers import parquet, tidy_csv
from perfarray.readers.finding import find_files
from perfarray.readers.opening import FileError, Source, read_head
from perfarray.tables.measured import value_column
from perfarray.timings.options import options

READ_AT_ONCE = (
    1 << 26
)  # bytes of a table up to which every door reads it at once: one reader decides what its columns are
CELL = 8  # bytes of a number, or of the code of a label, in memory
BLOCK = 1 << 24  # bytes of a CSV file that are read at once
ROWS = 1 << 18  # rows of a Parquet file that are read at once


ReadRows = Callable[
    [list[str]], Iterator[Any]
]  # returns the batches of some rows with these columns


class Rows(NamedTuple):
    """A table on the disk: its columns, those of values, and its rows as Arrow batches of the columns that are asked for."""

    place: Path
    columns: list[str]
    values: list[str]
    blocks: ReadRows
    groups: Callable[[], Iterator[ReadRows]] | None  # rows that can be read without the others
    is_small: bool  # whether it is read at once by every door
    write: Callable[[Any, Path], None]

    def error(self, message: str) -> FileError:
        """Return an error that names the table."""
        return FileError(f"{self.place}: {message}")


def rows_of(place: Path) -> Rows:
    """Return a table as rows."""
    rows = (
        _of_parquet(place)
        if place.is_dir() or place.suffix.lower() in parquet.SUFFIXES
        else _of_csv(place)
    )
    tidy_csv.check_columns(rows.error, rows.columns)
    return rows


def _of_csv(place: Path) -> Rows:
    """Return a tidy CSV file as rows; labels are text as it is written."""
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError as error:
        raise ImportError(
            "a table is streamed by pyarrow, which is not installed; install perfarray[tables]"
        ) from error
    head = read_head(place)
    if not tidy_csv.started(head):
        raise FileError(
            f"{place}: is no table that can be streamed: a tidy CSV file (columns named like "
            "dims, and one like time_ms), a Parquet or "
            "Feather file, or a folder of Parquet files"
        )
    comments, columns, separator = (
        tidy_csv.comments(head),
        tidy_csv.header(head),
        tidy_csv.separator(head),
    )
    stated = tidy_csv.stated_in(comments)
    values = [name for name in columns if value_column(name) or name == stated.get("metric")]
    kinds = {name: pa.float64() if name in values else pa.string() for name in columns}
    skipped = comments.count("\n") + 1
    most = min(READ_AT_ONCE, options().max_file_bytes)
    with pa.input_stream(str(place)) as unpacked:
        is_small = len(unpacked.read(most + 1)) <= most

    def blocks(names: list[str]) -> Iterator[Any]:
        convert = csv.ConvertOptions(
            column_types=kinds,
            include_columns=names,
            null_values=tidy_csv.MISSING,
            strings_can_be_null=False,
        )
        reading = csv.ReadOptions(block_size=BLOCK, column_names=columns, skip_rows=skipped)
        try:
            with csv.open_csv(
                place, reading, csv.ParseOptions(delimiter=separator), convert
            ) as reader:
                yield from reader
        except pa.ArrowInvalid as error:
            raise FileError(f"{place}: is not a table: {error}") from None

    def write_small(table: Any, file: Path) -> None:
        with file.open("wb") as out:
            out.write(comments.encode())
            csv.write_csv(table, out, csv.WriteOptions(quoting_style="needed"))

    return Rows(place, columns, values, blocks, None, is_small, write_small)


def _of_parquet(place: Path) -> Rows:
    """Return Parquet or Arrow files as rows.

    The keys of a partitioned folder are columns of text.
    """
    try:
        import pyarrow as pa
        from pyarrow import dataset as files_of_rows
        from pyarrow import ipc
        from pyarrow import parquet as parquet_of
    except ImportError as error:
        raise ImportError(
            "a table is streamed by pyarrow, which is not installed; install perfarray[tables]"
        ) from error
    tables = parquet.one_table_each(find_files(place, "file", None))
    if len(tables) != 1:
        raise FileError(
            f"{place}: holds {len(tables)} tables; give one of them, or the folder of one "
            "partitioned table"
        )
    root, paths = tables[0].path, tables[0].parts or (tables[0].path,)
    schemas, n_rows = dict[Path, Any](), dict[Path, int]()
    for path in paths:
        try:
            schemas[path], n_rows[path] = (
                _stored_in(path).schema,
                files_of_rows.dataset(path, format=_format(path)).count_rows(),
            )
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"{path}: is cut off or damaged: {error}") from None
    paths = tuple(path for path in paths if n_rows[path]) or paths[:1]
    schema, source = schemas[paths[0]], Source(root)
    stated = parquet.agreed(
        source, {str(path.relative_to(root)): parquet.stated_in(schemas[path]) for path in paths}
    )
    keys = dict.fromkeys(parquet.keys_of(paths[0].relative_to(root)) if tables[0].parts else ())
    columns = [name for name in schema.names if not name.startswith(parquet.ROW_INDEX)]
    columns += [name for name in keys if name not in columns]
    roles = parquet.roles_written(stated.get(parquet.PROGRAM, ""), columns) or {"value": {}}
    values = [
        name
        for name in columns
        if value_column(name) or name == stated.get("metric") or name in roles["value"]
    ]
    labels = {path: parquet.keys_of(path.relative_to(root)) if keys else {} for path in paths}

    def blocks(names: list[str]) -> Iterator[Any]:
        return chain.from_iterable(_batches(path, labels[path], names) for path in paths)

    def groups() -> Iterator[ReadRows]:
        return (
            partial(_batches, path, labels[path], groups=[group])
            for path in paths
            for group in range(_stored_in(path).n_groups)
        )

    def write_small(table: Any, file: Path) -> None:
        table = table.replace_schema_metadata(schema.metadata)
        if _format(file) == "parquet":
            parquet_of.write_table(table, file)
        else:
            with ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)

    limits, n_cells = options(), sum(n_rows.values()) * len(columns)
    is_small = (
        n_cells * CELL <= min(READ_AT_ONCE, limits.max_file_bytes) and n_cells <= limits.max_cells
    )
    if not is_small and stated.keys() != parquet.stated_in(schema).keys():
        raise source.error(
            "its parts state several units of time, which cannot be streamed. Write all parts "
            "in one unit"
        )
    return Rows(
        place, columns, values, blocks, groups if root == place else None, is_small, write_small
    )


def _format(path: Path) -> str:
    """Return what pyarrow calls the format of a file."""
    return "parquet" if path.suffix.lower() in parquet.SUFFIXES[:2] else "ipc"


class _Stored(NamedTuple):
    """An open Parquet or Arrow file: its schema, how many groups its rows lie in, and the batches of some groups with some columns."""

    schema: Any
    n_groups: int
    batches: Callable[[list[int], list[str]], Iterator[Any]]


def _stored_in(path: Path) -> _Stored:
    from pyarrow import ipc
    from pyarrow import parquet as files_of

    if _format(path) == "ipc":
        reader = ipc.open_file(path)
        return _Stored(
            reader.schema,
            reader.num_record_batches,
            lambda groups, names: (reader.get_batch(group).select(names) for group in groups),
        )
    file = files_of.ParquetFile(path)
    return _Stored(
        file.schema_arrow, file.num_row_groups,
        lambda groups, names: file.iter_batches(batch_size=ROWS, row_groups=groups, columns=names),
    )  # fmt: skip


def _batches(
    path: Path, labels: dict[str, str], names: list[str], groups: list[int] | None = None
) -> Iterator[Any]:
    """Return the batches of a file, or of some groups of its rows, with the labels of its folders as columns."""
    import pyarrow as pa

    try:
        stored = _stored_in(path)
        in_file = [name for name in names if name in stored.schema.names]
        for batch in stored.batches(
            [*range(stored.n_groups)] if groups is None else groups, in_file
        ):
            arrays = [
                batch.column(name)
                if name in in_file
                else pa.array([labels[name]] * batch.num_rows, pa.string())
                for name in names
            ]
            yield pa.RecordBatch.from_arrays([*map(_plain, arrays)], names)
    except (pa.ArrowException, OSError, KeyError) as error:
        raise FileError(f"{path}: is cut off, damaged, or not of the same table: {error}") from None


def _plain(array: Any) -> Any:
    """Return an Arrow array with its categories as labels and its decimals as numbers."""
    from pyarrow import float64, types

    array = array.dictionary_decode() if types.is_dictionary(array.type) else array
    return array.cast(float64()) if types.is_decimal(array.type) else array
