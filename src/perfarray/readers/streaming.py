"""Tables larger than memory into Zarr stores: labels in a first pass, values block by block in a second.

The first pass collects the distinct combinations of all columns but the values and the lowest level of repetition. As a small table, with
stand-in values, they are read like any other file: roles of columns, orders of labels, units and errors are those of every table. The
second pass places the values in a file of the whole array, from which the store is written chunk by chunk.
"""

import mmap
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import xarray as xr

from perfarray.conventions import CENSORED_AT, COMPARED, HISTORY, LEVELS, MARKS
from perfarray.numerics.types import Floats, Integers
from perfarray.readers.archives import read_archive
from perfarray.readers.finding import AnyPath, checked_path
from perfarray.readers.opening import MissingFileError
from perfarray.readers.row_blocks import Rows, rows_of
from perfarray.tables.measured import UNITS_OF_ROWS, name_and_unit, value_column
from perfarray.tables.stores.writing import opened, write
from perfarray.timings.progress import progress_bar
from perfarray.timings.validation import listed
from perfarray.timings.values import out_of_range

MOST = 20_000_000  # combinations of labels that are held
PENDING = 1 << 20  # combinations of several blocks that are held before they are compared
DENSE = 1 << 27  # combinations of codes up to which a table of all of them is worth its memory
ROW = "row {row} under the header"


def convert_table(path: AnyPath, store: AnyPath, *, progress: bool | None = None) -> xr.Dataset:
    r"""Write one long table as a Zarr store, in the memory that its labels and one block of it take.

    Parameters
    ----------
    path : path-like
        A tidy CSV file (packed or not), a Parquet or Feather file, or a folder of Parquet files, partitioned the Hive way or in parts.
    store : path-like
        The Zarr store, whose name ends in .zarr; one that is there is replaced when the new one is complete.
    progress : bool, optional
        Whether to show a progress bar; default: after two seconds, where a person looks on.

    Returns
    -------
    Dataset
        The timings that `read_archive` would return, in dask arrays that are read from the store.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ValueError
        For a file that is no such table, a column that cannot be streamed (marks, units row by row, what differs row by row), a broken row,
        or a measurement that occurs twice; the message names the column or the row.

    Notes
    -----
    The table is read twice, and a temporary file of eight bytes a cell lies beside the store. Limits of `set_options` are on the labels,
    not on the rows.

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
        raise ValueError(f"{output}: a table is streamed into a Zarr store; give a name that ends in .zarr")
    if not place.exists():
        raise MissingFileError(f"{place}: there is no such file")
    rows = rows_of(place)
    unsuited = [name for name in rows.columns if name in (*MARKS, CENSORED_AT) or name.lower() in UNITS_OF_ROWS]
    if unsuited:
        raise rows.error(f"column {listed(unsuited)} cannot be streamed; leave it out, or read the table in parts that fit into memory")
    lowest = next((name for name in reversed(LEVELS) if name in rows.columns), None)
    labels = [name for name in rows.columns if name not in (*rows.values, lowest)]
    combinations = _Combinations(rows, labels, lowest)
    with progress_bar(1, "labels", "pass", show=progress) or nullcontext():
        for batch in rows.blocks([*labels, *([lowest] if lowest else [])]):
            combinations.add(batch)
    template, cells, factors = _template(rows, combinations, lowest)
    with TemporaryDirectory(dir=output.parent) as scratch:
        write(_placed(rows, combinations, template, cells, factors, Path(scratch), progress), output)
    return opened(output)


class _Combinations:
    """The distinct combinations of some columns by first appearance, and the labels of the lowest level."""

    def __init__(self, rows: Rows, columns: list[str], lowest: str | None) -> None:
        self.rows, self.columns, self.lowest = rows, columns, lowest
        self.labels: dict[str, dict[Any, int]] = {name: {} for name in (*columns, *([lowest] if lowest else []))}
        self.types: dict[str, Any] = {}
        self.blocks: list[pd.DataFrame] = []  # the codes of combinations, first those that are known to be distinct
        self.index: Callable[[Integers], Integers] | None = None

    def codes_of(self, batch: Any, names: Sequence[str], *, learn: bool) -> Integers:
        """Return the codes (rows, names) of the labels of a block; new ones are added while they are learned."""
        columns = []
        for name in names:
            encoded, known = batch.column(name).dictionary_encode(null_encoding="encode"), self.labels[name]
            self.types.setdefault(name, encoded.dictionary.type)
            values = encoded.dictionary.to_pylist()
            if learn:
                for value in values:
                    known.setdefault(value, len(known))
            table = np.array([known[value] for value in values] or [0], dtype=np.int64)
            columns.append(table[encoded.indices.to_numpy()])
        return np.stack(columns, axis=1) if columns else np.zeros((batch.num_rows, 0), dtype=np.int64)

    def add(self, batch: Any) -> None:
        """Learn the combinations of a block."""
        codes = self.codes_of(batch, self.columns, learn=True)
        if self.lowest:
            self.codes_of(batch, [self.lowest], learn=True)
        self.blocks.append(pd.DataFrame((codes if self.columns else codes[:1]).astype(np.int32)).drop_duplicates())
        if sum(map(len, self.blocks)) > max(2 * len(self.blocks[0]), PENDING):
            self.blocks = [self._distinct()]
        if len(self.blocks[0]) > MOST or any(len(known) > MOST for known in self.labels.values()):
            most = max(self.labels, key=lambda name: len(self.labels[name]))
            raise self.rows.error(
                f"has more than {MOST} combinations of labels, most of them in column {most!r}: a column that differs row by row cannot be "
                "streamed; leave it out"
            )

    def _distinct(self) -> pd.DataFrame:
        frame = pd.concat(self.blocks, ignore_index=True)
        return frame.drop_duplicates(ignore_index=True) if len(frame.columns) else frame.iloc[:1]

    @cached_property
    def codes(self) -> Integers:
        """The codes of all combinations, (combinations, columns), once all blocks were added."""
        codes, self.blocks = self._distinct().to_numpy(dtype=np.int64), []
        return codes

    def table(self) -> Any:
        """Return the combinations as an Arrow table."""
        pyarrow = import_module("pyarrow")
        codes, arrays = self.codes, {}
        for position, name in enumerate(self.columns):
            arrays[name] = pyarrow.array(list(self.labels[name]), type=self.types[name]).take(pyarrow.array(codes[:, position]))
        return pyarrow.table(arrays)

    def numbers_of(self, codes: Integers) -> Integers:
        """Return the number of each row's combination."""
        if self.index is None:
            sizes = [len(self.labels[name]) for name in self.columns]
            strides = np.array([*accumulate(sizes[:0:-1], lambda product, size: product * size, initial=1)][::-1], dtype=np.int64)
            keys = self.codes @ strides if sizes else np.zeros(1, dtype=np.int64)
            if np.prod([float(size) for size in sizes]) <= DENSE:
                table = np.zeros(int(np.prod(sizes)) if sizes else 1, dtype=np.int64)
                table[keys] = np.arange(len(keys))
                self.index = lambda codes: table[codes @ strides] if sizes else np.zeros(len(codes), dtype=np.int64)
            else:
                order = np.argsort(keys)
                self.index = lambda codes: order[np.searchsorted(keys, codes @ strides, sorter=order)]
        return self.index(codes)

    def ranks(self) -> Integers:
        """Return the position of each label of the lowest level: numbers by value, texts by first appearance."""
        if not self.lowest:
            return np.zeros(1, dtype=np.int64)
        labels = pd.Series(list(self.labels[self.lowest]))
        if labels.isna().any() or (labels == "").any():
            raise self.rows.error(f"column {self.lowest!r} names repetitions but is empty in some rows")
        numbers = pd.to_numeric(labels, errors="coerce")
        order = np.arange(len(labels)) if numbers.isna().any() else np.argsort(numbers.to_numpy(), kind="stable")
        return np.argsort(order).astype(np.int64)


def _template(rows: Rows, combinations: _Combinations, lowest: str | None) -> tuple[xr.Dataset, Integers, dict[str, float]]:
    """Return the timings of one repetition of the lowest level, the cell of each combination, and the factors to their units."""
    table, number = combinations.table(), len(combinations.codes)
    pyarrow = import_module("pyarrow")
    if lowest:
        table = table.append_column(lowest, pyarrow.array(np.zeros(number, dtype=np.int64)))
    for value in rows.values:
        table = table.append_column(value, pyarrow.array(np.arange(1.0, number + 1)))
    with TemporaryDirectory() as folder:
        place = file = Path(folder) / rows.place.name
        if rows.place.is_dir():
            place.mkdir()
            file = place / "part-0.parquet"
        rows.write(table.select(rows.columns), file)
        try:
            template = read_archive(place)
        except ValueError as error:
            raise rows.error(str(error).replace(f"{file}: ", "")) from None
    _check_dims(rows, table, template)
    arrays = {str(name): template[name] for name in template.data_vars}
    factors = {name: float(array.min()) for name, array in arrays.items()}
    first = next(iter(arrays))
    placed = np.rint(arrays[first].values.ravel() / factors[first])
    cells = np.empty(number, dtype=np.int64)
    measured = np.flatnonzero(~np.isnan(placed))
    cells[placed[measured].astype(np.int64) - 1] = measured
    return template, cells, factors


def _check_dims(rows: Rows, table: Any, template: xr.Dataset) -> None:
    """Raise where a column of numbers became a dim: whether it is one, or measured along with the values, all rows would have to show."""
    frame = table.slice(0, 1).to_pandas()
    numeric = [
        name
        for name in template.dims
        if name not in (*COMPARED, *HISTORY, *LEVELS) and name in frame and template[name].dtype.kind in "iuf"
    ]
    if numeric:
        raise rows.error(
            f"column {listed(numeric)} holds numbers that neither dims nor repetitions determine; leave it out, or call it a dim"
        )


def _placed(
    rows: Rows, combinations: _Combinations, template: xr.Dataset, cells: Integers, factors: dict[str, float], scratch: Path, progress: Any
) -> xr.Dataset:
    """Return the timings, whose values lie in files in `scratch`."""
    first = next(iter(factors))
    dims, ranks = template[first].dims, combinations.ranks()
    last, n_cells, depth = str(dims[-1]), template[first].size, len(ranks)
    lowest, columns = combinations.lowest, _columns_of_metrics(rows, [*factors])
    files = {name: _blank(scratch / f"{number}", n_cells * depth) for number, name in enumerate(factors)}
    arrays = {name: np.frombuffer(file, dtype=np.float64) for name, file in files.items()}
    seen = np.zeros((n_cells, -(-depth // 8)), dtype=np.uint8) if lowest else np.zeros((n_cells, 1), dtype=np.uint8)
    before = 0
    with progress_bar(len(cells) * depth, "values", "row", show=progress, unit_scale=True) or nullcontext() as bar:
        for batch in rows.blocks(rows.columns):
            number = combinations.numbers_of(combinations.codes_of(batch, combinations.columns, learn=False))
            rank = ranks[combinations.codes_of(batch, [lowest], learn=False)[:, 0]] if lowest else np.zeros(batch.num_rows, dtype=np.int64)
            cell = cells[number]
            _mark_seen(rows, seen, cell, rank, before)
            for name, array in arrays.items():
                values = batch.column(columns[name]).to_numpy(zero_copy_only=False) * factors[name]
                wrong = out_of_range(values, name, str(template[name].attrs.get("units", "1")))
                if wrong.any():
                    row = int(wrong.argmax())
                    place = f"column {columns[name]!r}, {ROW.format(row=before + row + 1)}"
                    raise rows.error(f"{place}, is {values[row] / factors[name]:g}; expected a number above 0")
                array[cell * depth + rank] = values
                files[name].madvise(mmap.MADV_DONTNEED)  # the pages stay in the file
            before += batch.num_rows
            if bar is not None:
                bar.update(batch.num_rows)
    length = _closed_up(list(arrays.values()), seen, depth) if lowest else 1
    return _assembled(template, arrays, dims, last, depth, length)


def _columns_of_metrics(rows: Rows, metrics: list[str]) -> dict[str, str]:
    """Return the column of each variable, which may be in another order than the columns."""
    columns = {}
    for column in rows.values:
        measured = value_column(column)
        names = [*([measured[0]] if measured else []), name_and_unit(column)[0], column]
        columns[next((name for name in names if name in metrics), column)] = column
    if columns.keys() != set(metrics):
        raise rows.error(f"has columns of values {listed(rows.values)}, which are read as {listed(metrics)}; name them so")
    return columns


def _mark_seen(rows: Rows, seen: npt.NDArray[np.uint8], cell: Integers, rank: Integers, before: int) -> None:
    """Mark the repetitions of a block; raise where one occurs a second time."""
    place, bit = cell * seen.shape[1] + (rank >> 3), (1 << (rank & 7)).astype(np.uint8)
    flat, keys = seen.reshape(-1), cell * (8 * seen.shape[1]) + rank
    again = (flat[place] & bit) > 0
    if not again.any():
        again = pd.Series(keys).duplicated().to_numpy()
    if again.any():
        row = before + int(again.argmax()) + 1
        raise rows.error(f"{ROW.format(row=row)} repeats a measurement; name the column that tells them apart as a dim or a level")
    np.bitwise_or.at(flat, place, bit)


def _closed_up(arrays: list[Floats], seen: npt.NDArray[np.uint8], depth: int) -> int:
    """Number repetitions from 0 inside their parent, and return the largest number: gaps go to the end."""
    longest, step = 0, max(1, (1 << 22) // depth)
    for start in range(0, len(seen), step):
        present = np.unpackbits(seen[start : start + step], axis=1, count=depth, bitorder="little").astype(bool)
        counts = present.sum(axis=1)
        longest = max(longest, int(counts.max(initial=0)))
        uneven = np.flatnonzero((np.diff(present.astype(np.int8), axis=1) > 0).any(axis=1))
        if len(uneven):
            order = np.argsort(~present[uneven], axis=1, kind="stable")
            for array in arrays:
                block = array.reshape(-1, depth)[start : start + step]
                block[uneven] = np.take_along_axis(block[uneven], order, axis=1)
    return longest


class _Stored:
    """An array that is taken part by part: dask would copy one of NumPy."""

    def __init__(self, values: Floats) -> None:
        self.values, self.shape, self.dtype, self.ndim = values, values.shape, values.dtype, values.ndim

    def __getitem__(self, key: Any) -> Floats:
        return np.array(self.values[key])


def _assembled(template: xr.Dataset, arrays: dict[str, Floats], dims: Sequence[Any], last: str, depth: int, length: int) -> xr.Dataset:
    """Return the template with the values in their place, lazily."""
    dask = import_module("dask.array")
    shape = (*template[next(iter(arrays))].shape[:-1], depth)
    variables = {}
    for name, array in arrays.items():
        lazy = dask.from_array(_Stored(array.reshape(shape)), chunks="auto", name=False)[..., :length]
        variables[name] = xr.Variable(dims, lazy, template[name].attrs)
    coords = {name: coord for name, coord in template.coords.items() if last not in coord.dims}
    return xr.Dataset(variables, {**coords, last: np.arange(length)}, template.attrs)


def _blank(file: Path, cells: int) -> mmap.mmap:
    """Return a file of so many cells of NaN, mapped into memory."""
    with file.open("wb") as out:
        block = np.full(min(cells, 1 << 20), np.nan)
        for start in range(0, cells, len(block)):
            block[: cells - start].tofile(out)
    with file.open("r+b") as mapped:
        return mmap.mmap(mapped.fileno(), 0)
