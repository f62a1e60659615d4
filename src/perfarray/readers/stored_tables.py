"""Large CSV and Parquet tables on the disk as rows of DuckDB, which reads them in little memory.

Files may come from strangers: DuckDB opens those of the table and no others, and loads nothing.
"""

import glob
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from perfarray.conventions import UNKNOWN
from perfarray.readers import parquet, tidy_csv
from perfarray.readers.compression import COMPRESSIONS, first_bytes
from perfarray.readers.finding import InputFile, find_files
from perfarray.readers.opening import FileError, Source, read_head
from perfarray.readers.packs import begins_as_pack
from perfarray.tables.measured import value_column
from perfarray.timings.notes import Note
from perfarray.timings.options import options

READ_AT_ONCE = 1 << 26  # bytes of a table up to which it is read at once
CELL = 8  # bytes of a number, or of the code of a label, in memory
CHECKED = 1 << 16  # bytes of a CSV file whose line ends are looked at, at least
MEMORY = "384MB"  # of DuckDB, which then writes to the disk
BLANKS = f"'{''.join(filter(str.isspace, map(chr, range(1 << 16))))}'"  # of `str.strip`, in SQL
WHOLE_TYPES = tuple(
    f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
)
NUMBER_TYPES = (*WHOLE_TYPES, "FLOAT", "DOUBLE")
# Those that come back from DuckDB as they are in the file
LABEL_TYPES = (*NUMBER_TYPES, "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NS")


class NotStreamedError(FileError):
    """A table that DuckDB cannot hand over as it is: it is read at once where limits allow."""


class StoredTable(NamedTuple):
    """A table on the disk: the view `rows` of a connection.

    `write` writes a small table like it.
    """

    place: Path
    connection: Any
    columns: list[str]
    values: list[str]
    write: Callable[[Any, Path], None]
    typed: bool  # whether the file says of which type its labels are
    notes: tuple[Note, ...] = ()

    def run(self, query: str) -> Any:
        """Return the rows that a query gives; what DuckDB cannot read is not streamed."""
        import duckdb

        try:
            return self.connection.sql(query)
        except duckdb.Error as error:
            raise self.error(str(error).partition("\n")[0]) from None

    def batches(self, query: str, rows: int) -> Iterator[Any]:
        """Yield what a query gives in Arrow batches."""
        try:
            yield from self.run(query).to_arrow_reader(rows)
        except (OSError, ValueError, RuntimeError) as error:  # those of Arrow and DuckDB
            raise self.error(str(error).partition("\n")[0]) from None

    def error(self, message: str) -> NotStreamedError:
        """Return an error that names the table."""
        return NotStreamedError(f"{self.place}: {message}")


def _connect(scratch: Path) -> Any:
    """Return a connection to a database in memory, whose temporary files go to a folder."""
    try:
        import duckdb
    except ImportError as error:
        raise ImportError(
            "a large table is streamed by DuckDB, which is not installed; install perfarray[tables]"
        ) from error
    return duckdb.connect(
        config={
            "temp_directory": str(scratch / "duckdb"),
            "memory_limit": MEMORY,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
        }
    )


def stored_table(place: Path, scratch: Path) -> StoredTable:
    """Return a table on the disk; `NotStreamedError` for one that is to be read at once.

    Temporary files of its connection go to `scratch`.
    """
    if place.is_dir() or place.suffix.lower() in parquet.SUFFIXES:
        return _parquet_table(place, scratch)
    return _csv_table(place, scratch)


def identifier(name: str) -> str:
    """Return the name of a column as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _csv_table(place: Path, scratch: Path) -> StoredTable:
    """Return a tidy CSV file, whose labels are text as it is written."""
    with place.open("rb") as file:
        packed = file.read(8)
        file.seek(0)
        most = min(READ_AT_ONCE, options().max_file_bytes)
        content = first_bytes(file, max(most + 1, CHECKED))
    if begins_as_pack(content):
        raise NotStreamedError(f"{place}: is an archive, which is not streamed. Unpack it first")
    head = read_head(place)
    if not tidy_csv.started(head):
        raise FileError(
            f"{place}: this table cannot be streamed. Give a CSV file with columns like dims and "
            "time_ms, or Parquet or Feather files"
        )
    if len(content) <= most:
        raise NotStreamedError(f"{place}: is small")
    suffix = next((name for magic, _, name in COMPRESSIONS if packed.startswith(magic)), "")
    if suffix not in ("", ".gz"):
        raise NotStreamedError(
            f"{place}: is packed as {suffix}, which is not streamed. Unpack it first"
        )
    # DuckDB drops rows without a word where the first line ends otherwise than the others.
    whole_lines = content[: content.rfind(b"\n") + 1]
    if len({whole_lines.count(end) for end in (b"\n", b"\r\n", b"\r")} - {0}) > 1:
        raise NotStreamedError(f"{place}: has lines that end in different ways. Write all alike")
    comments, columns = tidy_csv.comments(head), tidy_csv.header(head)
    stated = tidy_csv.stated_in(comments)
    values = [name for name in columns if value_column(name) or name == stated.get("metric")]
    settings = {
        "auto_detect": "false",
        "header": "false",
        "skip": str(f"{comments}{tidy_csv.header_row(head)}".count("\n") + 1),
        "delim": literal(tidy_csv.separator(head)),
        "quote": "'\"'",
        "escape": "'\"'",
        "compression": "'gzip'" if suffix else "'none'",
        "columns": "{" + ", ".join(f"{literal(name)}: 'VARCHAR'" for name in columns) + "}",
    }
    selected = [
        f"{_number(name) if name in values else identifier(name)} AS {identifier(name)}"
        for name in columns
    ]
    source = ", ".join([_path(place), *(f"{key}={value}" for key, value in settings.items())])

    def write(table: Any, file: Path) -> None:
        from pyarrow import csv

        with file.open("wb") as out:
            out.write(comments.encode())
            csv.write_csv(table, out, csv.WriteOptions(quoting_style="needed"))

    table = StoredTable(place, _connect(scratch), columns, values, write, typed=False)
    tidy_csv.check_columns(table.error, columns)
    _create_rows(table, [place], f"SELECT {', '.join(selected)} FROM read_csv({source})")
    return table


def _number(name: str) -> str:
    """Return a text as a number: NaN for a missing one, infinite for one that is not plain."""
    missing = tidy_csv.MEASURED_NOTHING if value_column(name) else tidy_csv.MISSING
    cell = identifier(name)
    number = f"TRY_CAST({cell} AS DOUBLE)"
    return (
        f"CASE WHEN isfinite({number}) AND NOT contains({cell}, '_') THEN {number} "
        f"WHEN trim(coalesce({cell}, ''), {BLANKS}) IN ({', '.join(map(literal, missing))}) "
        "THEN 'NaN'::DOUBLE ELSE 'Infinity'::DOUBLE END"
    )


def _path(place: Path) -> str:
    """Return a path in which no character stands for others."""
    return literal(glob.escape(str(place.absolute())))


def _create_rows(table: StoredTable, paths: Iterable[Path], query: str) -> None:
    """Make the view `rows`; the connection then reads the files of the table and no others."""
    allowed = {
        text
        for path in paths
        for text in (str(path.absolute()), str(path.resolve()), glob.escape(str(path.absolute())))
    }
    table.run(f"SET allowed_paths=[{', '.join(map(literal, sorted(allowed)))}]")
    table.run("SET enable_progress_bar=false")
    table.run("SET python_enable_replacements=false")
    table.run("SET enable_external_access=false")
    table.run("SET lock_configuration=true")
    table.run(f"CREATE VIEW rows AS {query}")


def _parquet_table(place: Path, scratch: Path) -> StoredTable:
    """Return a Parquet file, or a partitioned table, whose keys are columns of text."""
    from pyarrow import parquet as files_of_rows

    tables = parquet.one_table_each(find_files(place, "file", None))
    if len(tables) != 1:
        raise FileError(
            f"{place}: holds {len(tables)} tables; give one of them, or the folder of one "
            "partitioned table"
        )
    root, paths = tables[0].path, tables[0].parts or (tables[0].path,)
    if any(path.suffix.lower() not in parquet.SUFFIXES[:2] for path in paths):
        raise NotStreamedError(
            f"{place}: is an Arrow file, which is not streamed. Write it as Parquet"
        )
    schemas, n_rows = dict[Path, Any](), dict[Path, int]()
    for path in paths:
        try:
            with files_of_rows.ParquetFile(path) as file:
                schemas[path], n_rows[path] = file.schema_arrow, file.metadata.num_rows
        except (OSError, ValueError) as error:  # those of Arrow are such
            raise FileError(f"{path}: is cut off or damaged: {error}") from None
    columns = dict.fromkeys(name for schema in schemas.values() for name in schema.names)
    n_cells, limits = sum(n_rows.values()) * len(columns), options()
    if n_cells * CELL <= min(READ_AT_ONCE, limits.max_file_bytes) and n_cells <= limits.max_cells:
        raise NotStreamedError(f"{place}: is small")
    source = Source(root)
    with_rows = [path for path in paths if n_rows[path]] or list(paths[:1])
    return _rows_of_parts(source, _connect(scratch), tables[0], with_rows, schemas)


def _rows_of_parts(
    source: Source,
    connection: Any,
    file: InputFile,
    paths: list[Path],
    schemas: dict[Path, Any],
) -> StoredTable:
    """Return the rows of the files of one table that have any, in the order of the files."""
    schema, names_in_parts = schemas[paths[0]], [schemas[path].names for path in paths]
    stated = parquet.agreed(source, {str(path): parquet.stated_in(schemas[path]) for path in paths})
    keys = [*(parquet.keys_of(paths[0].relative_to(source.path)) if file.parts else ())]
    columns = list(dict.fromkeys([name for names in names_in_parts for name in names] + keys))
    columns = [name for name in columns if not name.startswith(parquet.ROW_INDEX)]
    roles = parquet.roles_written(stated.get(parquet.PROGRAM, ""), columns) or {"value": {}}
    values = [
        name
        for name in columns
        if value_column(name) or name == stated.get("metric") or name in roles["value"]
    ]

    def write(table: Any, path: Path) -> None:
        from pyarrow.parquet import write_table

        write_table(table.replace_schema_metadata(schema.metadata), path)

    if len(paths) < len(file.parts):
        parquet.note_empty_parts(
            source,
            [path.relative_to(source.path).as_posix() for path in file.parts if path not in paths],
            len(file.parts),
        )
    table = StoredTable(
        source.path, connection, columns, values, write, typed=True, notes=tuple(source.notes)
    )
    tidy_csv.check_columns(table.error, schema.names)
    if stated.keys() != parquet.stated_in(schema).keys():
        raise table.error(
            "its parts state several units of time, which cannot be streamed. Write all parts "
            "in one unit"
        )
    if any(key in names for key in keys for names in names_in_parts):
        raise table.error("has keys of folders that are columns, too, and cannot be streamed")
    of_keys = "true, hive_types_autocast=false" if keys else "false"
    places = ", ".join(map(_path, paths))
    query = f"read_parquet([{places}], union_by_name=true, hive_partitioning={of_keys})"
    described = table.run(f"DESCRIBE SELECT * FROM {query}").fetchall()
    types = {name: "VARCHAR" if kind.startswith("ENUM") else kind for name, kind, *_ in described}
    selected = []
    for name in columns:
        numbers = NUMBER_TYPES if name in values else LABEL_TYPES
        if types[name] not in numbers:
            raise table.error(f"column {name!r} is of type {types[name]}, which is not streamed")
        cell = identifier(name)
        if name in values:
            cell = f"coalesce({cell}::DOUBLE, 'NaN'::DOUBLE)"
        elif name in keys:
            cell = f"coalesce({cell}, {literal(UNKNOWN)})"
        elif types[name] == "VARCHAR":
            cell = f"nullif({cell}, '')"
        selected.append(f"{cell} AS {identifier(name)}")
    _create_rows(table, paths, f"SELECT {', '.join(selected)} FROM {query}")
    return table
