"""Parquet and Arrow tables as lazy arrays: labels are read at once, values when they are computed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from perfarray.numerics.types import Floats, Integers
from perfarray.readers.opening import FileError
from perfarray.readers.row_blocks import ReadRows, rows_of
from perfarray.readers.table_cells import Present, TableCells, cells_of, close_gaps


class LocatedGroup(NamedTuple):
    """Rows of a table that are read together, and where their cells are."""

    read: ReadRows
    first_row: int
    first: Integers  # (dims,) the smallest position of their cells along each dim
    last: Integers  # the largest


def lazy_table(path: Path, read: Callable[[Path], xr.Dataset], chunks: Any) -> xr.Dataset | None:
    """Return the timings of a large Parquet or Arrow table in dask arrays.

    None for a small one, and where labels do not say the place.
    """
    try:
        rows = rows_of(path)
        if rows.groups is None or rows.is_small:
            return None
        cells = cells_of(rows, read, progress=None)
        groups, length, gaps = _groups(cells)
        coords = cells.coords(length, gaps=gaps)
    except FileError:
        return None  # the whole table may still be understood, or has the better error
    timings = assembled(
        cells,
        {name: _StoredValues(cells, name, groups, length, gaps) for name in cells.factors},
        coords,
    )
    return timings.chunk(chunks, token=uuid4().hex)


def assembled(
    cells: TableCells, arrays: Mapping[str, BackendArray], coords: Mapping[str, xr.Variable]
) -> xr.Dataset:
    """Return the timings with the values of `arrays`, which are read where they are indexed."""
    template, dims = cells.template, cells.dims
    variables = {
        name: xr.Variable(dims, indexing.LazilyIndexedArray(array), template[name].attrs) for name, array in arrays.items()
    }  # fmt: skip
    return xr.Dataset(variables, coords, template.attrs)


def _groups(cells: TableCells) -> tuple[list[LocatedGroup], int, bool]:
    """Return the groups of rows of a table, the largest number of repetitions, and whether their labels have gaps."""
    present, groups, row = Present(cells), [], 0
    for read in cells.rows.groups() if cells.rows.groups else ():
        first_row, ranges = row, []
        for batch in read(cells.label_columns):
            cell, rank = cells.positions(batch)
            present.add(cell, rank, row)
            row += batch.num_rows
            if len(cell):
                index = np.stack(np.unravel_index(cell, cells.shape[:-1]))
                ranges += [index.min(axis=1), index.max(axis=1)]
        if ranges:
            groups.append(
                LocatedGroup(read, first_row, np.min(ranges, axis=0), np.max(ranges, axis=0))
            )
    return groups, *present.close_gaps([])


class _StoredValues(BackendArray):
    """The values of a variable, of which an index reads those groups of rows that hold it."""

    def __init__(
        self, cells: TableCells, name: str, groups: list[LocatedGroup], length: int, gaps: bool
    ) -> None:
        self.cells, self.name, self.groups, self.gaps = cells, name, groups, gaps
        self.shape, self.dtype = (*cells.shape[:-1], length), np.dtype(np.float64)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Floats:
        values: Floats = indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.BASIC, self._selected
        )
        return values

    def _selected(self, key: tuple[int | slice, ...]) -> Floats:
        """Read the box of cells around a selection, and select from it."""
        picked = [range(size)[index] for size, index in zip(self.shape, key, strict=True)]
        ranges = [range(index, index + 1) if isinstance(index, int) else index for index in picked]
        if not all(map(len, ranges)):
            return np.zeros([len(index) for index in picked if not isinstance(index, int)])
        *box, repetitions = ranges
        block = self._box(
            np.array([index[0] for index in box]), np.array([index[-1] for index in box])
        )
        selected = block[
            (
                *(slice(None, None, index.step) for index in box),
                slice(repetitions.start, repetitions.stop, repetitions.step),
            )
        ]
        return selected[tuple(0 if isinstance(index, int) else slice(None) for index in picked)]

    def _box(self, first: Integers, last: Integers) -> Floats:
        """Read all repetitions of the cells between two positions along each dim, both inclusive."""
        sizes, depth = last - first + 1, self.cells.shape[-1]
        block = np.full((int(np.prod(sizes)), depth), np.nan)
        present = np.zeros(block.shape, dtype=bool)
        for group in self.groups:
            if (group.first > last).any() or (group.last < first).any():
                continue
            row = group.first_row
            for batch in group.read([*self.cells.label_columns, self.cells.columns[self.name]]):
                cell, rank = self.cells.positions(batch)
                index = (
                    np.stack(np.unravel_index(cell, self.cells.shape[:-1])) - first[:, np.newaxis]
                )
                inside = ((index >= 0) & (index < sizes[:, np.newaxis])).all(axis=0)
                target = np.ravel_multi_index(tuple(index[:, inside]), tuple(sizes)), rank[inside]
                block[target], present[target] = (
                    self.cells.values(batch, self.name, row)[inside],
                    True,
                )
                row += batch.num_rows
        if self.gaps:
            close_gaps(present, [block])
        return block.reshape(*sizes, depth)[..., : self.shape[-1]]
