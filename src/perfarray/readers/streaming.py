"""Tables larger than memory into Zarr stores, by DuckDB.

It finds the labels first, and then hands over the rows in the order of the file. Values are placed
in files of the whole arrays, from which the store is written chunk by chunk.
"""

from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from perfarray.conventions import ITERATION
from perfarray.numerics.types import Floats, Integers
from perfarray.readers.archives import read_archive
from perfarray.readers.finding import AnyPath, checked_path
from perfarray.readers.opening import FileError, MissingFileError, TooLargeError
from perfarray.readers.stored_labels import StoredLabels, labels_of, names_of_units
from perfarray.readers.stored_tables import NotStreamedError, StoredTable, stored_table
from perfarray.tables.build import SMALL
from perfarray.tables.replacing import workspace
from perfarray.tables.stores.writing import opened, write
from perfarray.timings.options import options
from perfarray.timings.progress import progress_bar
from perfarray.timings.values import out_of_range

ROWS = 1 << 18  # rows that are placed at once


def convert_table(path: AnyPath, store: AnyPath, *, progress: bool | None = None) -> xr.Dataset:
    r"""Write one long table, which may be larger than the memory, as a Zarr store.

    Parameters
    ----------
    path : path-like
        A tidy CSV file (packed or not), a Parquet or Feather file, or a folder of Parquet files.
    store : path-like
        The Zarr store, whose name ends in .zarr; an old one is replaced when the new one is
        complete.
    progress : bool, optional
        Show a progress bar. Default: in a terminal or a notebook, after a second.

    Returns
    -------
    Dataset
        The timings that `read_archive` would return, in dask arrays that are read from the store.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ValueError
        A file that is no such table, a broken row, a measurement that occurs twice, and what can
        neither be streamed nor read at once.

    Notes
    -----
    A CSV or Parquet table of more than 64 MiB is streamed by DuckDB, in the memory that its labels
    take. What cannot be streamed is read at once, up to the limits of `set_options`. See
    :doc:`/how-to/large_archives`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import perfarray
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = "benchmark,execution,time_ms\nfft,0,12\nfft,1,13\nsort,0,5\n"
    >>> _ = (folder / "runs.csv").write_text(rows)
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
    with workspace(output) as scratch:
        try:
            table = stored_table(place, scratch)
            with closing(table.connection):
                times = _streamed(table, scratch, progress)
        except NotStreamedError as reason:
            try:
                times = read_archive(place, progress=progress)
            except TooLargeError as error:
                raise FileError(f"{reason}. It is too large to be read at once: {error}") from None
        write(times, output)
    return opened(output)


def _streamed(table: StoredTable, scratch: Path, progress: bool | None) -> xr.Dataset:
    """Return the timings of a table, whose values lie in files in `scratch`."""
    with progress_bar(1, "labels", "pass", show=progress) or nullcontext():
        labels = labels_of(table, read_archive)
    first, level = labels.template[next(iter(labels.columns))], labels.level
    depth, n_rows = int(labels.n_rows.max()), int(labels.n_rows.sum())
    if first.size * depth > max(SMALL, options().max_padding * n_rows):
        raise table.error(
            f"needs {first.size * depth} cells, of which almost all would be empty. "
            "set_options(max_padding=...) allows more for each measurement"
        )
    arrays = {
        name: _blank(scratch / str(number), first.size * depth)
        for number, name in enumerate(labels.columns)
    }
    show = {"show": progress, "unit_scale": True}
    with progress_bar(n_rows, "values", "row", **show) or nullcontext() as bar:
        repetitions = _place(table, labels, arrays, depth, bar, in_order=True)
        if not repetitions.ascend:
            repetitions = _place(table, labels, arrays, depth, bar, in_order=False)
    if not repetitions.ascend:
        raise table.error(
            "has rows that repeat a measurement. Name the column that tells them apart as a dim "
            "or a level"
        )
    coords = {
        str(name): coord.variable
        for name, coord in labels.template.coords.items()
        if level not in coord.dims
    }
    coords[level] = xr.Variable((level,), np.arange(depth))
    if labels.of_level is not None and level != ITERATION:
        if not repetitions.are_positions:
            raise table.error(
                f"column {level!r} does not count from the same number in every cell, and cannot "
                f"be streamed. Number it from 0 in each cell, or call it {ITERATION!r}"
            )
        coords |= names_of_units(table, read_archive, labels)
    metrics = {
        name: (first.dims, array.reshape(*first.shape[:-1], depth), labels.template[name].attrs)
        for name, array in arrays.items()
    }
    return xr.Dataset(metrics, coords, labels.template.attrs)


class _Repetitions:
    """The number of rows of each combination that were placed, and the level's label of the last.

    `ascend` says whether these labels ascend in each combination, and `are_positions` whether they
    are the numbers of the rows.
    """

    def __init__(self, n_combinations: int) -> None:
        self.counts: Integers = np.zeros(n_combinations, dtype=np.int64)
        self.last: Integers = np.full(n_combinations, -1)
        self.ascend = self.are_positions = True

    def numbers(self, combination: Integers, label: Integers | None) -> Integers:
        """Return the number of each of the next rows in its combination."""
        order = np.argsort(combination, kind="stable")
        combination = combination[order]
        starts = np.flatnonzero(np.diff(combination, prepend=-1))
        sizes, groups = np.diff(starts, append=len(order)), combination[starts]
        numbers = np.arange(len(order)) - np.repeat(starts - self.counts[groups], sizes)
        self.counts[groups] += sizes
        if label is not None:
            label = label[order]
            previous = np.roll(label, 1)
            previous[starts] = self.last[groups]
            self.last[groups] = label[starts + sizes - 1]
            self.ascend &= bool((label > previous).all())
            self.are_positions &= bool((label == numbers).all())
        in_rows = np.empty_like(numbers)
        in_rows[order] = numbers
        return in_rows


def _place(
    table: StoredTable,
    labels: StoredLabels,
    arrays: dict[str, Floats],
    depth: int,
    bar: Any,
    *,
    in_order: bool,
) -> _Repetitions:
    """Place the values of all rows in arrays, until labels of the lowest level do not ascend."""
    repetitions, index, row = _Repetitions(len(labels.n_rows)), pd.Index(labels.codes), 0
    query = labels.query if in_order else f"{labels.query} ORDER BY label"
    for batch in table.batches(query, ROWS):
        cell, label, *numbers = (column.to_numpy() for column in batch.columns)
        combination = index.get_indexer(cell)
        if combination.min() < 0:
            raise FileError(f"{table.place}: was changed while it was read; read it again")
        positions = repetitions.numbers(combination, None if labels.of_level is None else label)
        if not repetitions.ascend:
            break
        positions += labels.cells[combination] * depth
        for (name, array), values in zip(arrays.items(), numbers, strict=True):
            variable = labels.template[name]
            values = values * labels.factors[name]
            wrong = out_of_range(values, name, str(variable.attrs.get("units", "1")))
            if wrong.any():
                first = int(wrong.argmax())
                cell = f"column {labels.columns[name]!r}, row {row + first + 1} under the header,"
                if np.isinf(values[first]) or not in_order:
                    raise table.error(f"{cell} holds no plain number and cannot be streamed")
                number = values[first] / labels.factors[name]
                raise FileError(f"{table.place}: {cell} is {number}; expected a number from 0")
            array[positions] = values
        row += batch.num_rows
        if bar is not None:
            bar.update(batch.num_rows)
    return repetitions


def _blank(file: Path, cells: int) -> Floats:
    """Return an array of so many cells of NaN, which lies in a file."""
    array: Floats = np.memmap(file, dtype=np.float64, mode="w+", shape=(cells,))
    array.fill(np.nan)
    return array
