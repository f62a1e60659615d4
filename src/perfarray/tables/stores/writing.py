"""Write timings as netCDF and Zarr, in chunks of whole levels, and as Parquet or Feather."""

import json
import warnings
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module, util
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from perfarray.conventions import BETTER, COMPARED, LEVELS, LOWER, METRIC
from perfarray.tables.frames import to_frame
from perfarray.tables.replacing import replacing

# Suffixes of tables, which pyarrow writes
TABLES = (".parquet", ".feather")

# Values in a chunk of a Zarr store, unless the levels of one cell have more
LARGEST = 2**20


def write(times: xr.Dataset, output: Path) -> None:
    """Write netCDF, Zarr or a table; the former file is replaced when the new one is complete.

    netCDF is made in memory: where its own library meets a full disk it takes the process with it.
    """
    with replacing(output) as (fresh,):
        if output.suffix == ".nc":
            packed = BytesIO()
            with import_module(_installed("h5netcdf")).File(packed, "w") as file:
                times.dump_to_store(
                    xr.backends.H5NetCDFStore(file), encoding=netcdf_encoding(times)
                )
            fresh.write_bytes(packed.getbuffer())
        elif output.suffix in TABLES:
            _write_table(times, fresh, output.suffix)
        else:
            sizes = common_chunk_sizes(times)
            # A lazy selection has uneven chunks, and the encoding of its former store.
            lazy = any(variable.chunks for variable in times.variables.values())
            stored = times.chunk(sizes) if lazy else times
            # Zarr needs the type of texts before it writes: older versions of xarray load them as
            # well, with a warning.
            texts = [
                name
                for name, variable in stored.variables.items()
                if variable.chunks and variable.dtype == object
            ]
            stored = stored.assign({name: times[name].variable.compute() for name in texts})
            with writing():
                stored.to_zarr(
                    fresh, zarr_format=3, consolidated=True, encoding=zarr_encoding(times, sizes)
                )


def _write_table(times: xr.Dataset, file: Path, suffix: str) -> None:
    """Write one row per measurement.

    The metadata say which columns are values, dims and shared levels.
    """
    pyarrow = import_module(_installed("pyarrow"))
    metrics = sorted(
        (str(name) for name, array in times.data_vars.items() if array.dims),
        key=lambda name: name != times.attrs.get(METRIC),
    )
    roles = {
        "units": {name: str(times[name].attrs.get("units", "1")) for name in metrics},
        "better": {name: str(times[name].attrs.get(BETTER, LOWER)) for name in metrics},
        "dims": [str(dim) for dim in times.dims if dim not in LEVELS],
        "shared": str(
            times.attrs.get("shared_levels", times[metrics[0]].attrs.get("shared_levels", ""))
        ).split(),
    }
    # What is compared by habit would be read as a dim.
    column_names = {
        name: f"{name}_recorded"
        for name in COMPARED
        if name in times.coords and name not in times.dims
    }
    try:
        table = pyarrow.Table.from_pandas(
            to_frame(times.compute().rename(column_names)), preserve_index=False
        )
    except pyarrow.ArrowException as error:
        raise ValueError(
            f"a column does not fit into a table: {str(error).partition(chr(10))[0]}"
        ) from None
    table = table.replace_schema_metadata({"perfarray": json.dumps(roles)})
    if suffix == ".parquet":
        import_module("pyarrow.parquet").write_table(table, file)
    else:
        import_module("pyarrow.feather").write_feather(table, str(file))


@contextmanager
def writing() -> Iterator[None]:
    """Let zarr write every chunk, so that lost chunks can be distinguished from empty ones."""
    zarr = import_module(_installed("zarr"))
    with warnings.catch_warnings(), zarr.config.set({"array.write_empty_chunks": True}):
        # Xarray looks for consolidated metadata and warns where there is none; zarr warns that its
        # format 3 does not know them yet.
        warnings.filterwarnings(
            "ignore", message="Consolidated metadata|Failed to open Zarr store with consolidated"
        )
        yield


def opened(store: Path) -> xr.Dataset:
    """Open a Zarr store lazily, in chunks as they are stored."""
    _installed("dask")
    with writing():
        dataset: xr.Dataset = xr.open_zarr(store, chunks={})
    return dataset


def netcdf_encoding(times: xr.Dataset) -> dict[Hashable, dict[str, Any]]:
    """Compress numbers, in chunks with whole levels.

    Empty cells, the most in an archive, then take no room.
    """
    sizes = common_chunk_sizes(times)
    return {
        name: {
            "zlib": True,
            "shuffle": True,
            "chunksizes": tuple(sizes[dim] for dim in variable.dims),
        }
        for name, variable in times.variables.items()
        if variable.size and variable.dims and variable.dtype.kind in "biuf"
    }


def zarr_encoding(
    times: xr.Dataset, sizes: Mapping[Hashable, int]
) -> dict[Hashable, dict[str, Any]]:
    """Return the chunk sizes of every variable that is not a label."""
    return {
        name: {"chunks": tuple(sizes[dim] for dim in variable.dims)}
        for name, variable in times.variables.items()
        if variable.dims and name not in times.dims
    }


def common_chunk_sizes(times: xr.Dataset) -> dict[Hashable, int]:
    """Return the chunk sizes of all variables, so that descriptors are chunked like timings."""
    return chunk_sizes(*(variable.sizes for variable in times.variables.values()))


def chunk_sizes(*variables: Mapping[Hashable, int]) -> dict[Hashable, int]:
    """Halve the longest dim that is not a level until a chunk of each variable is small enough.

    Answers need whole levels.

    Examples
    --------
    >>> chunk_sizes({"machine": 1_000_000}, {"machine": 1_000_000, "benchmark": 12, "execution": 3})
    {'machine': 15625, 'benchmark': 12, 'execution': 3}
    """
    chunk = {dim: size for sizes in variables for dim, size in sizes.items()}
    for sizes in sorted(variables, key=_number_of_values, reverse=True):
        free = [dim for dim in sizes if dim not in LEVELS]
        while _number_of_values({dim: chunk[dim] for dim in sizes}) > LARGEST and any(
            chunk[dim] > 1 for dim in free
        ):
            longest = max(free, key=chunk.__getitem__)
            chunk[longest] = -(-chunk[longest] // 2)
    return chunk


def _number_of_values(sizes: Mapping[Hashable, int]) -> float:
    """Return the number of values in an array or a chunk, as a float that cannot overflow."""
    return float(np.prod([float(size) for size in sizes.values()]))


def check_installed(output: Path) -> None:
    """Raise before anything is read where the package that writes this file is not installed."""
    _installed(
        "pyarrow" if output.suffix in TABLES else "h5netcdf" if output.suffix == ".nc" else "zarr"
    )


def _installed(package: str) -> Any:
    """Return the name of a package; raise where it is not installed."""
    if util.find_spec(package) is None:
        extra = "tables" if package == "pyarrow" else "io"
        raise ImportError(
            f"this needs {package}, which is not installed; install perfarray[{extra}]"
        )
    return package
