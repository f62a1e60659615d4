"""`perfarray convert`: timings as netCDF, Zarr, Parquet or Feather."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import perfarray
from perfarray.cli import options
from perfarray.cli.console import show
from perfarray.cli.problems import counted, quoted, reporting
from perfarray.cli.reading import read_places
from perfarray.cli.selecting import select as select_labels
from perfarray.conventions import HISTORY, MACHINE

if TYPE_CHECKING:
    import xarray as xr

LARGE = 1 << 30  # bytes of a table beyond which it is streamed
STREAMED = (
    ".csv",
    ".tsv",
    ".parquet",
    ".feather",
    ".arrow",
)  # suffixes of tables that are streamed where they are large
KINDS = {".nc": "netCDF", ".zarr": "Zarr", ".parquet": "Parquet", ".feather": "Feather"}


def convert(
    archive: options.Archive,
    output: Annotated[
        Path,
        typer.Argument(
            help="Write this file; its name ends in .nc, .zarr, .parquet or .feather.",
            show_default=False,
        ),
    ],
    *,
    reading: options.Reading,
    select: options.Select = None,
    on_error: Annotated[
        Literal["raise", "warn", "skip"], typer.Option(help="Say what to do with a broken file.")
    ] = "raise",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing output.")
    ] = False,
    add: Annotated[
        bool,
        typer.Option("--append", help="Add the machines, or commits, to an existing Zarr store."),
    ] = False,
    streamed: Annotated[
        bool,
        typer.Option(
            "--stream",
            help=(
                "Read a CSV or Parquet table in blocks, with less memory. Default: only tables "
                "larger than 1 GiB."
            ),
        ),
    ] = False,
    progress: options.Progress = False,
) -> None:
    """Write result files as one netCDF file or Zarr store, or as a Parquet or Feather table.

    --append adds machines to a store: all of them, or none if the store has one of them already.
    If it has all machines, --append adds commits (dates, builds) under the same rule. A missing
    store is created.

    Exit code 0: the output is written.
    Exit code 2: it is not: a file cannot be read, the output exists or cannot be written, or an
    option is wrong.

    Example: perfarray convert results/ results.zarr --layout "{machine}/{session}.json"
    """
    from perfarray.tables.replacing import restore
    from perfarray.tables.stores.appending import append, complete
    from perfarray.tables.stores.joining import grows_along
    from perfarray.tables.stores.writing import check_installed, write

    with reporting(options=options.SPOKEN, doing="convert"):
        restore(output)
        _check_output(output, overwrite, add)
        check_installed(output)
        if streamed or _is_large_table(Path(archive), output, add):
            _check_streamed(output, add, reading | ({"select": select} if select else {}))
            show(
                [_line(perfarray.convert_table(archive, output, progress=progress or None), output)]
            )
            return
        times = read_places(archive, reading, on_error=on_error, progress=progress or None)
        times = select_labels(times, select)
        if add and not any(dim in times.coords for dim in (MACHINE, *HISTORY)):
            raise ValueError(
                f"{archive} does not say of which machine it is. The paths of files may, "
                f'--layout "{{machine}}/..."'
            )
        if add and output.exists():
            dim = grows_along(complete(output), times)
            sizes = _sizes(append(times, output))
            line = f"{output}: Zarr, {counted(times[dim].size, dim)} added, now {sizes}"
        else:
            write(times, output)
            line = _line(times, output)
    show([line])


def _line(times: "xr.Dataset", output: Path) -> str:
    values = ", ".join(f"{int(times[name].count())} values of {name}" for name in times.data_vars)
    return (
        f"{output}: {KINDS[output.suffix]}, {values}, {_sizes(times)}, from "
        f"{counted(int(times.attrs['n_files']), 'file')}"
    )


def _is_large_table(path: Path, output: Path, add: bool) -> bool:
    """Return whether an archive is one large table, and the output can be written in parts."""
    if output.suffix != ".zarr" or add or not path.exists():
        return False
    files = (
        list(path.rglob("*.parquet"))
        if path.is_dir()
        else [path]
        if path.suffix in STREAMED
        else []
    )
    return sum(file.stat().st_size for file in files) > LARGE


def _check_streamed(output: Path, add: bool, reading: dict[str, Any]) -> None:
    if output.suffix != ".zarr" or add:
        raise ValueError(
            f"{output}: --stream writes a new Zarr store. Give a name that ends in .zarr, "
            "without --append"
        )
    if reading:
        raise ValueError(
            "--stream reads tables whose columns say what they hold. Leave out "
            f"{quoted(list(reading))}"
        )


def _check_output(output: Path, overwrite: bool, add: bool) -> None:
    """Raise where an output cannot be written or is not to be replaced, before anything is read."""
    from perfarray.tables.replacing import is_stream

    if add and (overwrite or output.suffix != ".zarr"):
        raise ValueError(
            f"{output}: --append adds to a Zarr store, and "
            f"{'--overwrite replaces one' if overwrite else 'this is none'}"
        )
    if output.suffix not in KINDS:
        raise ValueError(
            f"{output}: the suffix says what is written, and {output.suffix!r} is none of "
            f"{quoted(list(KINDS))}"
        )
    if not output.parent.is_dir():
        raise ValueError(f"{output}: there is no folder {str(output.parent)!r} to write to")
    if not output.exists() or (is_stream(output) and output.suffix != ".zarr"):
        return
    if not (overwrite or add):
        raise ValueError(
            f"{output} exists; --overwrite replaces "
            f"it{', --append adds to it' if output.suffix == '.zarr' else ''}"
        )
    replaceable = (output / "zarr.json").is_file() if output.is_dir() else output.suffix != ".zarr"
    if not replaceable:
        kind = "folder" if output.is_dir() else "file"
        raise ValueError(
            f"{output} is a {kind} and no Zarr store, and is not replaced. Give another name"
        )


def _sizes(times: "xr.Dataset") -> str:
    return " x ".join(f"{size} {dim}" for dim, size in times.sizes.items())
