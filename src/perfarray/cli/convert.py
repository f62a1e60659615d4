"""`perfarray convert`: timings as netCDF or Zarr, in chunks whose levels are whole."""

import warnings
from collections.abc import Hashable, Mapping
from importlib import import_module, util
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
import xarray as xr

import perfarray
from perfarray.cli import options
from perfarray.cli.problems import quoted, reporting
from perfarray.conventions import LEVELS
from perfarray.timings.writing import replacing

KINDS = {".nc": "netCDF", ".zarr": "Zarr"}
"""What is written, by the end of its name."""

LARGEST = 2**20
"""Values in one chunk of a Zarr store, unless the levels of one cell have more."""


def convert(
    archive: Annotated[str, typer.Argument(help="A file, a folder or a quoted glob pattern.", show_default=False)],
    output: Annotated[Path, typer.Argument(help="What to write: a name that ends in .nc (netCDF) or .zarr (Zarr 3).", show_default=False)],
    layout: options.Layout = None,
    format: options.Format = None,
    on_error: Annotated[Literal["raise", "warn", "skip"], typer.Option(help="What a broken file does.")] = "raise",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    parallel: options.Parallel = 1,
    progress: options.Progress = False,
) -> None:
    """Read an archive of result files and write it as one netCDF file or Zarr store, to be opened with xarray.

    Exit code 0: it is written.
    Exit code 2: it is not; a file cannot be read, the output exists or cannot be written, a wrong option.

    Example: perfarray convert results/ results.zarr --layout "{machine}/{session}.json"
    """
    with reporting():
        check_output(output, overwrite)
        times = perfarray.read_archive(
            archive, layout=layout, format=format, on_error=on_error, progress=progress, parallel=options.workers(parallel)
        )
        write(times, output)
    typer.echo(summary(times, output))


def check_output(output: Path, overwrite: bool) -> None:
    """Raise where the kind of a file is not known, or it exists and is not to be overwritten: before anything is read.

    Raises
    ------
    ValueError
        With what would be right.
    """
    if output.suffix not in KINDS:
        raise ValueError(f"{output}: the end of the name says what is written, and {output.suffix!r} is none of {quoted(list(KINDS), 2)}")
    if not output.parent.is_dir():
        raise ValueError(f"{output}: there is no folder {str(output.parent)!r} to write to")
    if not output.exists():
        return
    if not overwrite:
        raise ValueError(f"{output} exists; --overwrite replaces it")
    if output.is_dir() and not (output / "zarr.json").is_file():
        raise ValueError(f"{output} is a folder and no Zarr store, and is not replaced; give another name")
    if output.suffix == ".zarr" and output.is_file():
        raise ValueError(f"{output} is a file and no Zarr store, and is not replaced; give another name")


def write(times: xr.Dataset, output: Path) -> None:
    """Write netCDF or Zarr, beside the place and then in it: what was there is gone only when the new is complete.

    netCDF is made in memory: where its own library meets a full disk it takes the process with it.

    Raises
    ------
    ImportError
        When the package that writes is not installed.
    OSError
        When there is no room, or no right to write there.
    """
    with replacing(output) as (fresh,):
        if output.suffix == ".nc":
            packed = BytesIO()
            with import_module(_installed("h5netcdf")).File(packed, "w") as file:
                times.dump_to_store(xr.backends.H5NetCDFStore(file), encoding=netcdf_encoding(times))
            fresh.write_bytes(packed.getbuffer())
        else:
            zarr = import_module(_installed("zarr"))
            with warnings.catch_warnings(), zarr.config.set({"array.write_empty_chunks": True}):
                # Every chunk is written, so that one that is lost can be told from one that is empty.
                # Xarray looks for consolidated metadata and warns where there is none; zarr warns that its format 3 does not know them yet.
                warnings.filterwarnings("ignore", message="Consolidated metadata")
                times.to_zarr(fresh, zarr_format=3, consolidated=True, encoding=zarr_encoding(times))


def summary(times: xr.Dataset, output: Path) -> str:
    """Return in a line what was written."""
    measured = ", ".join(f"{int(times[name].count())} values of {name}" for name in times.data_vars)
    sizes = " x ".join(f"{size} {dim}" for dim, size in times.sizes.items())
    files = int(times.attrs["n_files"])
    return f"{output}: {KINDS[output.suffix]}, {measured}, {sizes}, from {files} {'file' if files == 1 else 'files'}"


def netcdf_encoding(times: xr.Dataset) -> dict[Hashable, dict[str, Any]]:
    """Compress numbers, in chunks whose levels are whole: most cells of an archive are empty, and take no room then."""
    return {
        name: {"zlib": True, "shuffle": True, "chunksizes": tuple(chunk_sizes(variable.sizes).values())}
        for name, variable in times.variables.items()
        if variable.size and variable.dims and variable.dtype.kind in "biuf"
    }


def zarr_encoding(times: xr.Dataset) -> dict[Hashable, dict[str, Any]]:
    """Return chunks for every variable with dims that is not a label."""
    return {
        name: {"chunks": tuple(chunk_sizes(variable.sizes).values())}
        for name, variable in times.variables.items()
        if variable.dims and name not in times.dims
    }


def chunk_sizes(sizes: Mapping[Hashable, int]) -> dict[Hashable, int]:
    """Halve the longest dim that is not a level until a chunk is small enough: every answer needs its levels whole.

    Parameters
    ----------
    sizes : mapping of dim to int
        The whole array.

    Returns
    -------
    dict of dim to int

    Examples
    --------
    >>> chunk_sizes({"machine": 1_000_000, "benchmark": 12, "execution": 3})
    {'machine': 15625, 'benchmark': 12, 'execution': 3}
    """
    chunk = dict(sizes)
    free = [dim for dim in sizes if dim not in LEVELS]
    while np.prod([float(size) for size in chunk.values()]) > LARGEST and any(chunk[dim] > 1 for dim in free):
        longest = max(free, key=chunk.__getitem__)
        chunk[longest] = -(-chunk[longest] // 2)
    return chunk


def _installed(package: str) -> Any:
    """Return the name of a package that is installed."""
    if util.find_spec(package) is None:
        raise ImportError(f"this needs {package}, which is not installed; install perfarray[io]")
    return package
