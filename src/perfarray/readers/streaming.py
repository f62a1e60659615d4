"""Tables larger than memory into Zarr stores: labels in a first pass, values block by block in a second.

The second pass places the values in a file of the whole array, from which the store is written
chunk by chunk.
"""

import mmap
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from perfarray.numerics.types import Floats
from perfarray.readers.archives import read_archive
from perfarray.readers.finding import AnyPath, checked_path
from perfarray.readers.lazy_tables import assembled
from perfarray.readers.opening import MissingFileError
from perfarray.readers.row_blocks import rows_of
from perfarray.readers.table_cells import Present, TableCells, cells_of
from perfarray.tables.replacing import workspace
from perfarray.tables.stores.writing import opened, write
from perfarray.timings.progress import progress_bar


def convert_table(path: AnyPath, store: AnyPath, *, progress: bool | None = None) -> xr.Dataset:
    r"""Write one long table as a Zarr store.

    A large one in the memory that its labels and one block of it take.

    Parameters
    ----------
    path : path-like
        A tidy CSV file (packed or not), a Parquet or Feather file, or a folder of Parquet files,
        partitioned the Hive way or in parts.
    store : path-like
        The Zarr store, whose name ends in .zarr; one that is there is replaced when the new one is
        complete.
    progress : bool, optional
        Whether to show a progress bar; default: after a second, where a person looks on.

    Returns
    -------
    Dataset
        The timings that `read_archive` would return, in dask arrays that are read from the store.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ValueError
        For a file that is no such table, a broken row, a measurement that occurs twice, or, in a
        large table, a column that cannot be streamed (marks, units row by row, what no usual dim
        determines); the message names the column or the row.

    Notes
    -----
    A table of up to 64 MiB (a CSV file without compression; eight bytes a cell of a Parquet table)
    is read at once, as `read_archive` does. A larger one is read twice, and a temporary file of
    eight bytes a cell lies in a hidden folder beside the store. Limits of `set_options` are then on
    the labels, not on the rows.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import perfarray
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "runs.csv").write_text("benchmark,execution,time_ms\nfft,0,12\nfft,1,13\nsort,0,5\n")
    >>> times = perfarray.convert_table(folder / "runs.csv", folder / "runs.zarr")
    >>> times["time"].isel(file=0).values
    array([[0.012, 0.013],
           [0.005,   nan]])
    """
    place, output = checked_path(path), checked_path(store)
    if output.suffix != ".zarr":
        raise ValueError(
            f"{output}: a table is streamed into a Zarr store; give a name that ends in .zarr"
        )
    if not place.exists():
        raise MissingFileError(f"{place}: there is no such file")
    rows = rows_of(place)
    with workspace(output) as scratch:
        if rows.is_small:
            write(read_archive(place, progress=progress), output)
        else:
            write(
                _placed(cells_of(rows, read_archive, progress=progress), scratch, progress), output
            )
    return opened(output)


def _placed(cells: TableCells, scratch: Path, progress: bool | None) -> xr.Dataset:
    """Return the timings, whose values lie in files in `scratch`."""
    n_values, depth = int(np.prod(cells.shape)), cells.shape[-1]
    files = {
        name: _blank(scratch / f"{number}", n_values) for number, name in enumerate(cells.factors)
    }
    arrays = {name: np.frombuffer(file, dtype=np.float64) for name, file in files.items()}
    present, row = Present(cells), 0
    with (
        progress_bar(len(cells.numbers) * depth, "values", "row", show=progress, unit_scale=True)
        or nullcontext() as bar
    ):
        for batch in cells.rows.blocks(cells.rows.columns):
            cell, rank = cells.positions(batch)
            present.add(cell, rank, row)
            for name, array in arrays.items():
                array[cell * depth + rank] = cells.values(batch, name, row)
                files[name].madvise(mmap.MADV_DONTNEED)  # the pages stay in the file
            row += batch.num_rows
            if bar is not None:
                bar.update(batch.num_rows)
    length, gaps = present.close_gaps(list(arrays.values()))
    coords = cells.coords(length, gaps=gaps)
    stored = {
        name: _Mapped(array.reshape(cells.shape)[..., :length]) for name, array in arrays.items()
    }
    timings = assembled(cells, stored, coords)
    return timings.assign(
        {name: timings[name].variable.chunk("auto", name=name) for name in stored}
    )


class _Mapped(BackendArray):
    """An array in a file, which is copied where it is indexed: dask would copy all of an array of NumPy."""

    def __init__(self, values: Floats) -> None:
        self.values, self.shape, self.dtype = values, values.shape, values.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Floats:
        copied: Floats = indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.BASIC, lambda index: self.values[index].copy()
        )
        return copied


def _blank(file: Path, cells: int) -> mmap.mmap:
    """Return a file of so many cells of NaN, mapped into memory."""
    with file.open("wb") as out:
        block = np.full(min(cells, 1 << 20), np.nan)
        for start in range(0, cells, len(block)):
            block[: cells - start].tofile(out)
    with file.open("r+b") as mapped:
        return mmap.mmap(mapped.fileno(), 0)
