"""Rows of as many values as there are, drawn with replacement, as every bootstrap does.

Few values can be drawn in few ways. One whole number stands for several draws, so that a row of n
costs fewer random numbers and fewer gathers than n draws: 27 ways for three values, 900 for a pair
of 30. How many draws go together depends on n alone.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from perfarray.numerics.random import Streams
from perfarray.numerics.types import Floats, Integers

# Most ways that one number stands for, of three draws and more and of a pair: tables stay in the
# cache.
WAYS, PAIRS = 1 << 9, 1 << 14

# Entries that are looked up at once, which bounds the memory; it changes no number.
LOOKED_UP = 1 << 19

# Numbers that are drawn, and entries that are added up, at once: they stay in the cache.
SUMMED = 1 << 17

# Numbers of a row up to which they are looked up and summed one after the other, and up to which
# all rows are looked up and summed column by column.
SHORT, COLUMNS = 4, 8


class Grouping(NamedTuple):
    """How the draws of a row are grouped.

    `full` numbers stand for `together` draws each, and one more for the `remainder`.
    """

    values: int
    together: int
    full: int
    remainder: int

    @property
    def picks(self) -> int:
        """How many numbers a row takes."""
        return self.full + (self.remainder > 0)

    @property
    def sizes(self) -> Integers | int:
        """How many ways each number of a row stands for."""
        size = int(self.values**self.together)
        return (
            np.array([size] * self.full + [self.values**self.remainder]) if self.remainder else size
        )


@lru_cache(maxsize=128)
def grouping(count: int) -> Grouping:
    """Return how as many draws as there are values go together."""
    together = 2 if count > 1 and count**2 <= PAIRS else 1
    while count > 1 and together < count and count ** (together + 1) <= WAYS:
        together += 1
    numbers = -(-count // together)
    together = -(-count // numbers)
    return Grouping(count, together, count // together, count % together)


@lru_cache(maxsize=32)
def ways(count: int, together: int, dtype: str = "int64") -> Integers:
    """Return what every number stands for, (ways, draws), the first draw varying slowest."""
    return np.ascontiguousarray(np.indices((count,) * together, dtype).reshape(together, -1).T)


def _picks(
    count: int, cells: Integers, stream: int, streams: Streams, rows: int, start: int
) -> Integers:
    """Return the numbers that stand for the draws of rows, (cells, rows, picks)."""
    group = grouping(count)
    picks = streams.below(group.sizes, cells, stream, rows * group.picks, start * group.picks)
    return picks.reshape(len(cells), rows, group.picks)


def drawn_places(
    count: int,
    cells: Integers,
    stream: int,
    streams: Streams,
    rows: int,
    start: int = 0,
    dtype: str = "int64",
) -> Integers:
    """Return the places below `count` that rows of as many draws hold, (cells, rows, count)."""
    group = grouping(count)
    blocks = list(_blocks(len(cells), rows, group.picks))
    if len(blocks) > 1:
        indices = np.empty((len(cells), rows, count), dtype)
        for block in blocks:
            block_indices = indices[block]
            block_indices[:] = drawn_places(
                count,
                cells[block[0]],
                stream,
                streams,
                block_indices.shape[1],
                start + block[1].start,
                dtype,
            )
        return indices
    picks = _picks(count, cells, stream, streams, rows, start)
    if group.together == 1:
        return picks.astype(dtype, copy=False)
    positions = (
        ways(count, group.together, dtype)
        .take(picks[..., : group.full], axis=0)
        .reshape(len(cells), rows, -1)
    )
    if not group.remainder:
        return positions
    return np.concatenate(
        [positions, ways(count, group.remainder, dtype).take(picks[..., -1], axis=0)], axis=-1
    )


def _blocks(cells: int, rows: int, picks: int) -> Iterator[tuple[slice, slice]]:
    """Yield the cells and rows that are worked on at once, of so many numbers a row."""
    rows_at_once = max(1, min(rows, SUMMED // picks))
    cells_at_once = max(1, SUMMED // (rows_at_once * picks))
    for cell in range(0, cells, cells_at_once):
        for row in range(0, rows, rows_at_once):
            yield slice(cell, cell + cells_at_once), slice(row, row + rows_at_once)


def sum_tables(values: Floats) -> Floats:
    """Return the sums that each number of a row stands for, of values (..., count): (..., ways).

    Those of the `remainder` lie behind the others.
    """
    group = grouping(values.shape[-1])
    sums, sums_of_remainder = values, values
    for draws in range(1, group.together):
        sums = (sums[..., :, None] + values[..., None, :]).reshape(*values.shape[:-1], -1)
        sums_of_remainder = sums if draws == group.remainder - 1 else sums_of_remainder
    return np.concatenate([sums, sums_of_remainder], axis=-1) if group.remainder else sums


def table_size(count: int) -> int:
    """Return how many sums the table of a row of so many values holds."""
    group = grouping(count)
    return int(count**group.together + (count**group.remainder if group.remainder else 0))


def drawn_entries(
    count: int,
    tables: Integers,
    cells: Integers,
    stream: int,
    streams: Streams,
    rows: int,
    start: int,
) -> Integers:
    """Return which entries of tables (`sum_tables`, in a row) make sums: (cells, rows, picks).

    `tables` (cells, rows) says which table a row is drawn from.
    """
    group, picks = grouping(count), _picks(count, cells, stream, streams, rows, start)
    picks += (tables * table_size(count))[..., None]
    if group.remainder:
        picks[..., -1] += count**group.together
    return picks


def redrawn_sums(
    tables: Floats,
    names: Integers,
    count: int,
    cells: Integers,
    stream: int,
    streams: Streams,
    rows: int,
    *,
    start: int,
) -> Floats:
    """Return the sums of rows drawn from the tables that `names` says: (cells, rows)."""
    group = grouping(count)
    if not 1 < group.picks <= COLUMNS:
        return summed(tables, drawn_entries(count, names, cells, stream, streams, rows, start))
    flat, size, first = (
        tables.ravel(),
        int(count**group.together),
        np.broadcast_to(names * table_size(count), (len(cells), rows)),
    )
    sizes = [size] * group.full + [int(count**group.remainder)] * (group.remainder > 0)
    sums = np.empty(first.shape)
    for block in _blocks(len(cells), rows, group.picks):
        # In the order of `summed`: one after the other, or as `numpy.einsum` in two lanes, of which
        # eight have two halves each.
        lanes: list[Any] = [None] * (
            1 if group.picks <= SHORT else 2 if group.picks < COLUMNS else 4
        )
        for column, indices in enumerate(
            streams.columns(sizes, first[block], cells[block[0]], stream, start + block[1].start)
        ):
            entries = flat[size * (column == group.full) :].take(indices, mode="wrap")
            lane = (column % 2 + column // 4 * 2) % len(lanes)
            lanes[lane] = (
                entries if lanes[lane] is None else np.add(lanes[lane], entries, out=entries)
            )
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [np.add(a, b, out=a) for a, b in zip(lanes[:half], lanes[half:], strict=True)]
        sums[block] = lanes[0]
    return sums


def one_of_each(
    tables: Floats, cells: Integers, stream: int, streams: Streams, rows: int, start: int = 0
) -> Floats:
    """Return for every row one entry of each table of its cell: (kinds, tables, cells, rows).

    Tables are (kinds, tables, cells, size). The entry stands at the same place in the tables of
    all kinds.
    """
    kinds, number, _, size = tables.shape
    flat, step = tables.reshape(kinds, -1), max(1, LOOKED_UP // (number * len(cells)))
    if rows <= step:
        return flat.take(
            streams.entries(size, number, cells, stream, rows, start), axis=1, mode="wrap"
        )
    entries = np.empty((*tables.shape[:-1], rows))
    for first in range(0, rows, step):
        block = entries[..., first : first + step]
        block[:] = flat.take(
            streams.entries(size, number, cells, stream, block.shape[-1], start + first),
            axis=1,
            mode="wrap",
        )
    return entries


def add_one_of_each(
    sums: Floats,
    tables: Floats,
    cells: Integers,
    stream: int,
    streams: Streams,
    start: int = 0,
    *,
    own_streams: bool = False,
) -> None:
    """Add one entry of each table of its cell to every row (kinds, cells, rows).

    The arguments are those of `one_of_each`; with `own_streams` each table has a stream of its own,
    `stream` and those after it.
    """
    number = tables.shape[1]
    turns = (
        [(stream + position, slice(position, position + 1)) for position in range(number)]
        if own_streams
        else [(stream, slice(None))]
    )
    size = max(1, SUMMED // (sums.shape[-1] * number // len(turns)))
    for first in range(0, len(cells), size):
        block = slice(first, first + size)
        for stream_of_turn, tables_of_turn in turns:
            entries = one_of_each(
                tables[:, tables_of_turn, block],
                cells[block],
                stream_of_turn,
                streams,
                sums.shape[-1],
                start,
            )
            for position in range(entries.shape[1]):
                sums[:, block] += entries[:, position]


class LongRow:
    """The next sums of as many draws as there are values, from one stream.

    Draws are taken as pairs where the table of these stays in the cache.
    """

    def __init__(self, values: Floats, cell: int, stream: int, streams: Streams) -> None:
        count = len(values)
        pairs = count**2 <= PAIRS
        self._values, self._odd, self._picks = (
            values,
            bool(pairs and count % 2),
            -(-count // 2) if pairs else count,
        )
        self._table = np.add.outer(values, values).ravel() if pairs else values
        self._where, self._at, self._streams = (cell, stream), 0, streams

    def sums(self, rows: int) -> Floats:
        """Return the sums of the next rows."""
        picks, self._at = self._streams.run_below(
            len(self._table), *self._where, rows * self._picks, self._at
        )
        picks = picks.reshape(rows, self._picks)
        sums = np.asarray(
            np.einsum("ij->i", self._table.take(picks[:, :-1] if self._odd else picks, mode="wrap"))
        )
        return (
            sums + self._values.take(picks[:, -1] // len(self._values), mode="wrap")
            if self._odd
            else sums
        )


def summed(tables: Floats, entries: Integers) -> Floats:
    """Return the sums along the last axis of the entries of tables, a few one after the other."""
    flat = tables.ravel()
    if entries.shape[-1] > SHORT:
        return np.asarray(np.einsum("...i->...", flat.take(entries, mode="wrap")))
    total: Floats = flat.take(entries[..., 0], mode="wrap")
    for position in range(1, entries.shape[-1]):
        total += flat.take(entries[..., position], mode="wrap")
    return total


def sum_of_few(values: Floats) -> Floats:
    """Return the sum along the last axis in the order of `numpy.sum`.

    A few values are added by column: NumPy's loop starts anew for every row.
    """
    if not 1 < values.shape[-1] < 16:
        return np.asarray(values.sum(axis=-1))
    columns = list(np.moveaxis(values, -1, 0))
    if len(columns) < 8:
        total = 0.0 + columns.pop(0)
    else:
        a, b, c, d, e, f, g, h, *columns = columns
        total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for column in columns:
        total += column
    return np.asarray(total)
