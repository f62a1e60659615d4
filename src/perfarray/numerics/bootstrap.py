"""Redrawing nests of repetitions: the measurements of a new experiment of the same size.

Kalibera and Jones (2012), section 7.2.1 and figure 1. Replicates are drawn and reduced block by
block; redrawn measurements are not kept. Replicate r of a cell reads the same positions of its
streams, whatever else is drawn.
"""

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Literal, NamedTuple

import numpy as np

from perfarray.numerics.levels import mean_of_measured, unit_means
from perfarray.numerics.nests import Nest, averaged, gather, nest_of
from perfarray.numerics.random import BOOTSTRAP, Key, Streams
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.with_replacement import (
    LongRow,
    drawn_places,
    grouping,
    redrawn_sums,
    sum_of_few,
    sum_tables,
    table_size,
)

# Values drawn at once: they fit in the cache, and bound the memory; no number depends on it.
BLOCK = 1 << 17
TABLES = 1 << 21  # most entries of tables of sums that are kept at once
# iterations above which the draws of an execution are grouped, so that only its table need be in
# the cache
LONG = 16
# Iterations whose sums can be compiled: as many can be told apart by 16 bits.
COMPILED = range(LONG + 1, (1 << 16) + 1)

# Kinds of cells: nothing measured; nests without gaps; other nests (one by one, counted down). The
# kind of a cell of one level is its number of units, plus GAPS where units count that were not
# measured (as others of their group were).
EMPTY, COMPLETE, RAGGED, GAPS = 0, -1, -2, 1 << 32

# The part of a replicate that is needed: its mean, the means of its outermost units, or all its
# values.
Purpose = Literal["means", "units", "values"]

# Draws some replicates of some cells: (cells, replicates, ...), the last axes being one mean, the
# units, or the nest of values.
Drawer = Callable[[slice], Floats]


class Draws(NamedTuple):
    """Which levels are drawn (outermost first), how often, from which key, by which engine."""

    resampled: tuple[bool, ...]
    n_resamples: int
    key: Key
    engine: str = "numpy"


class DrawKeys(NamedTuple):
    """The keys of random numbers: of cells, of their groups for each joint level, of the system."""

    cells: Integers
    groups: tuple[Integers, ...] = ()
    side: int = 0
    paired: bool = False

    def at(self, rows: Integers) -> "DrawKeys":
        """Return the same of some cells."""
        return self._replace(
            cells=self.cells[rows], groups=tuple(group[rows] for group in self.groups)
        )

    def stream(self, level: int) -> tuple[Integers, int]:
        """Return the keys and the stream of a level."""
        jointly = level < len(self.groups)
        side = 0 if self.paired and level == 0 else self.side
        return self.groups[
            level
        ] if jointly else self.cells, BOOTSTRAP | side << 9 | jointly << 8 | level


class CellsToDraw(NamedTuple):
    """Cells ready to be redrawn: values (cells, n_L, ..., n_1), levels drawn, keys, part used.

    `unit_masks` are the units of levels drawn jointly that count, measured or not.
    """

    values: Floats
    resampled: tuple[bool, ...]
    draw_keys: DrawKeys
    purpose: Purpose
    unit_masks: tuple[Mask, ...]
    kinds: Integers
    engine: str

    def width(self, kind: int) -> int:
        """Return how many values a replicate of a cell of a kind holds at once."""
        if kind > 0:
            return grouping(kind).picks if self.purpose == "means" and kind < GAPS else kind % GAPS
        executions, depth = int(prod(self.values.shape[1:-1])), int(self.values.shape[-1])
        if kind != COMPLETE:
            return executions * depth
        return -(-executions // 16) if depth > LONG else executions

    def entries(self, kind: int) -> int:
        """Return how many entries the tables of a cell of a kind have."""
        if kind == COMPLETE:
            return prod(self.values.shape[1:-1]) * table_size(self.values.shape[-1])
        return table_size(kind) if self.purpose == "means" and 0 < kind < GAPS else 1

    def drawer(self, rows: Integers, streams: Streams) -> Drawer:
        """Return a function that draws the units of cells of one kind.

        For one level, their mean where that is enough.
        """
        kind, draw_keys = int(self.kinds[rows[0]]), self.draw_keys.at(rows)
        if kind > 0:
            return _of_one_level(
                self.values[rows, : kind % GAPS],
                draw_keys,
                streams,
                self.purpose == "means" and kind < GAPS,
            )
        if kind == COMPLETE:
            return _of_complete_nests(
                self.values[rows], self.resampled, draw_keys, streams, self.engine
            )
        nest = nest_of(
            self.values[rows[0]],
            self.resampled,
            means=self.purpose != "values",
            unit_masks=[mask[rows[0]] for mask in self.unit_masks],
        )
        if self.purpose == "values":
            return lambda replicates: draw_values(nest, replicates, streams, draw_keys)[None]
        return lambda replicates: unit_means(
            draw_values(nest, replicates, streams, draw_keys), nest.values.ndim
        )[None]


def cells_of(
    values: Floats,
    draws: Draws,
    draw_keys: DrawKeys,
    purpose: Purpose,
    unit_masks: Sequence[Mask] = (),
) -> CellsToDraw:
    """Return cells (cells, n_L, ..., n_1) ready to be redrawn.

    They are reduced to one level where means need no more.
    """
    resampled, means = draws.resampled, purpose != "values"
    if means:
        values, resampled = averaged(values, resampled, len(draw_keys.groups))
    if resampled != (True,):
        gaps = np.isnan(values).reshape(len(values), -1)
        complete = ~gaps.any(axis=-1) & (means and not unit_masks and resampled[-1])
        kinds = np.where(complete, COMPLETE, RAGGED - np.arange(len(values)))
        return CellsToDraw(
            values,
            resampled,
            draw_keys,
            purpose,
            tuple(unit_masks),
            np.where(gaps.all(axis=-1), EMPTY, kinds),
            draws.engine,
        )
    has = unit_masks[0] if unit_masks else ~np.isnan(values)
    if not has.all():
        values = np.take_along_axis(values, np.argsort(~has, axis=-1, kind="stable"), axis=-1)
    counts, measured = has.sum(axis=-1), (~np.isnan(values)).sum(axis=-1)
    kinds = np.where(measured == 0, EMPTY, np.where(measured < counts, counts + GAPS, counts))
    return CellsToDraw(values, resampled, draw_keys, purpose, (), kinds, draws.engine)


def redrawn(
    n_resamples: int, streams: Streams, *sides: CellsToDraw
) -> Iterator[tuple[Integers, slice, list[Floats]]]:
    """Yield cells, replicates, and their drawn values (cells, replicates, ...) in every system.

    Empty cells are left out.
    """
    kinds = np.stack([side.kinds for side in sides], axis=-1)
    for kind in sorted({tuple(kind) for kind in kinds.tolist() if EMPTY not in kind}):
        rows = np.flatnonzero((kinds == kind).all(axis=-1))
        width = sum(side.width(side_kind) for side, side_kind in zip(sides, kind, strict=True))
        entries = sum(side.entries(side_kind) for side, side_kind in zip(sides, kind, strict=True))
        step = max(1, min(BLOCK // (n_resamples * width), TABLES // entries))
        for first in range(0, len(rows), step):
            cells = rows[first : first + step]
            drawers = [side.drawer(cells, streams) for side in sides]
            for replicates in _blocks(n_resamples, width):
                yield cells, replicates, [draw(replicates) for draw in drawers]


def _blocks(n_resamples: int, width: int) -> Iterator[slice]:
    """Yield the replicates that are drawn at once, where one holds `width` values."""
    rows = max(1, BLOCK // width)
    for start in range(0, n_resamples, rows):
        yield slice(start, min(start + rows, n_resamples))


def redrawn_jointly(
    n_resamples: int, streams: Streams, *sides: CellsToDraw
) -> Iterator[tuple[slice, list[Floats]]]:
    """Yield replicates and their units (cells, replicates, units) of all cells in every system.

    No cell is empty.
    """
    width = sum(side.width(kind) for side in sides for kind in side.kinds.tolist())
    drawers = []
    for side in sides:
        rows_by_kind = [np.flatnonzero(side.kinds == kind) for kind in np.unique(side.kinds)]
        drawers.append([(rows, side.drawer(rows, streams)) for rows in rows_by_kind])
    for replicates in _blocks(n_resamples, width):
        drawn_units = []
        for side_drawers in drawers:
            order = np.argsort(np.concatenate([rows for rows, _ in side_drawers]))
            drawn_units.append(
                np.concatenate([draw(replicates) for _, draw in side_drawers])[order]
            )
        yield replicates, drawn_units


def redrawn_means(n_resamples: int, streams: Streams, cells: CellsToDraw) -> Floats:
    """Return the mean of every replicate, (cells, replicates); NaN without units."""
    means = np.full((len(cells.kinds), n_resamples), np.nan)
    for rows, replicates, (units,) in redrawn(n_resamples, streams, cells):
        means[rows, replicates] = mean_of_measured(units) if units.shape[-1] > 1 else units[..., 0]
    return means


def _of_one_level(values: Floats, draw_keys: DrawKeys, streams: Streams, means: bool) -> Drawer:
    """Return a function that draws the units of cells (cells, units), or their means."""
    count, offsets = values.shape[1], np.arange(len(values))[:, None]
    if means:
        tables = sum_tables(values)

        def draw_means(replicates: slice) -> Floats:
            rows = replicates.stop - replicates.start
            sums = redrawn_sums(
                tables, offsets, count, *draw_keys.stream(0), streams, rows, start=replicates.start
            )
            return np.asarray(sums[..., None] / count)

        return draw_means

    def draw(replicates: slice) -> Floats:
        picks = drawn_places(
            count,
            *draw_keys.stream(0),
            streams,
            replicates.stop - replicates.start,
            replicates.start,
        )
        picks += offsets[..., None] * count
        return values.ravel().take(picks)

    return draw


def _of_complete_nests(
    values: Floats, resampled: tuple[bool, ...], draw_keys: DrawKeys, streams: Streams, engine: str
) -> Drawer:
    """Return a function that draws nests without gaps, as sums of redrawn iterations."""
    cells, *outer, depth = values.shape
    executions, stream = values.reshape(cells, -1, depth), draw_keys.stream(len(outer))
    dtype = "int64"
    if depth > LONG:
        dtype = str(np.min_scalar_type(max(outer) - 1))  # many picks, which are only moved
        sums_of = _sums_of_long_rows(executions, *stream, streams, outer[-1], engine)
    else:
        sums_of = _sums_of_short_rows(executions, *stream, streams)

    def draw(replicates: slice) -> Floats:
        number = replicates.stop - replicates.start
        parents: Integers = np.arange(cells)[:, None]
        picks: Integers = np.arange(0)
        for level, size in enumerate(outer):
            if level:
                parents = parents[..., None] * outer[level - 1] + picks
            picks = np.arange(size)
            if resampled[level]:
                rows = prod(outer[:level])
                picks = drawn_places(
                    size,
                    *draw_keys.stream(level),
                    streams,
                    number * rows,
                    replicates.start * rows,
                    dtype,
                )
                picks = picks.reshape(cells, number, *outer[: level + 1])
        shape = (cells, number, *outer)
        sums = sums_of(
            np.broadcast_to(parents, shape[:-1]),
            np.broadcast_to(picks, shape),
            replicates.start * prod(outer),
        )
        return np.asarray(
            sum_of_few(sums.reshape(cells, number, outer[0], -1))
            * (outer[0] / (prod(outer) * depth))
        )

    return draw


def _sums_of_short_rows(
    values: Floats, keys: Integers, stream: int, streams: Streams
) -> Callable[[Integers, Integers, int], Floats]:
    """Return a function that draws the sums of picked executions.

    The values are (cells, executions, iterations).
    """
    tables, depth = sum_tables(values), values.shape[-1]

    def draw(parents: Integers, picks: Integers, start: int) -> Floats:
        size = picks.shape[-1]
        names = (np.repeat(parents * size, size) + picks.ravel()).reshape(len(values), -1)
        return redrawn_sums(
            tables, names, depth, keys, stream, streams, names.shape[1], start=start
        )

    return draw


def _sums_of_long_rows(
    values: Floats, keys: Integers, stream: int, streams: Streams, size: int, engine: str
) -> Callable[[Integers, Integers, int], Floats]:
    """Return the same by a loop over parents of so many executions, each with its own stream."""
    parents_of_cell, depth = values.shape[1] // size, values.shape[-1]
    groups: list[Callable[[Integers], Floats]] = []
    for parent, rows in enumerate(values.reshape(-1, size, depth)):
        cell, first = divmod(parent, parents_of_cell)
        row_streams = [stream | (first * size + row) << 12 for row in range(size)]
        groups.append(_redraws_of_rows(rows, int(keys[cell]), row_streams, streams, engine))

    def draw(parents: Integers, picks: Integers, start: int) -> Floats:
        del start  # each stream continues where it stopped
        children = picks.reshape(-1, size).astype(np.min_scalar_type(size - 1), copy=False)
        # Sums of executions are those of their binary where there is no level between them.
        totals = np.empty((parents.size, 1 if parents.ndim == 3 else size))
        for redraw, slots in zip(groups, _members(parents.ravel(), len(groups)), strict=True):
            sums = redraw(children.take(slots, axis=0).ravel()).reshape(-1, size)
            totals[slots] = sums.sum(axis=-1, keepdims=True) if parents.ndim == 3 else sums
        return totals

    return draw


def _redraws_of_rows(
    values: Floats, key: int, row_streams: list[int], streams: Streams, engine: str
) -> Callable[[Integers], Floats]:
    """Return a function of names: the sum of the next redraw of each row named (rows, values)."""
    if engine == "numba" and values.shape[1] in COMPILED:
        # Numba is an extra, and slow to import.
        from perfarray.numerics.compiled_sums import (
            CompiledRows,
        )

        return CompiledRows(values, key, row_streams, streams).redraw
    rows = [
        LongRow(row, key, stream, streams) for row, stream in zip(values, row_streams, strict=True)
    ]
    step = max(1, BLOCK // values.shape[1])

    def redraw(names: Integers) -> Floats:
        sums, ordered, at = np.empty(len(names)), np.empty(len(names)), 0
        order = np.argsort(names, kind="stable")
        for row, number in zip(rows, np.bincount(names, minlength=len(rows)).tolist(), strict=True):
            for first in range(0, number, step):
                batch = ordered[at + first : at + min(first + step, number)]
                batch[:] = row.sums(len(batch))
            at += number
        sums[order] = ordered
        return sums

    return redraw


def _members(names: Integers, count: int) -> list[Integers]:
    """Return the positions of each of the names below `count`, in order."""
    small = names.astype(np.min_scalar_type(count - 1), copy=False)
    return np.split(
        np.argsort(small, kind="stable"), np.cumsum(np.bincount(small, minlength=count))[:-1]
    )


def draw_values(nest: Nest, replicates: slice, streams: Streams, draw_keys: DrawKeys) -> Floats:
    """Draw some replicates of one cell and return all their values (replicates, n_L, ..., n_1).

    Absent ones are NaN.
    """
    picks: list[Integers] = []
    empty_units: list[Mask] = []
    last = max((level for level, is_drawn in enumerate(nest.resampled) if is_drawn), default=0)
    for level in range(last + 1):
        size, shape = (
            nest.values.shape[level],
            (replicates.stop - replicates.start, *nest.values.shape[: level + 1]),
        )
        counts = _counts_of_parents(nest.counts[level], picks, shape)
        picks.append(
            _children(counts, shape, replicates, streams, draw_keys, level)
            if nest.resampled[level]
            else np.broadcast_to(np.arange(size), shape)
        )
        empty_units.append(np.arange(size) >= counts)
    values = gather(nest.values, picks)
    for level, mask in enumerate(empty_units):
        if mask.any():
            values = np.where(
                np.broadcast_to(mask, picks[level].shape).reshape(
                    picks[level].shape + (1,) * (values.ndim - level - 2)
                ),
                np.nan,
                values,
            )
    return values


def _counts_of_parents(
    counts: Integers, picks: Sequence[Integers], shape: tuple[int, ...]
) -> Integers:
    """Return how many children each drawn parent has, with a last axis of one.

    One number where all have the same.
    """
    if counts.ndim == 0 or (counts == counts.flat[0]).all():
        return np.full((1,) * len(shape), counts.flat[0] if counts.ndim else counts)
    index = tuple(pick.reshape(pick.shape + (1,) * (len(shape) - 1 - pick.ndim)) for pick in picks)
    return np.asarray(np.broadcast_to(counts[index], shape[:-1])[..., None])


def _children(
    counts: Integers,
    shape: tuple[int, ...],
    replicates: slice,
    streams: Streams,
    draw_keys: DrawKeys,
    level: int,
) -> Integers:
    """Draw the children of every drawn parent, uniformly."""
    slots = prod(shape[1:])
    if counts.size == 1:
        rows = slots // shape[-1]
        picks = drawn_places(
            max(int(counts.flat[0]), 1),
            *draw_keys.stream(level),
            streams,
            shape[0] * rows,
            replicates.start * rows,
        )
    else:
        sizes = np.broadcast_to(np.maximum(counts, 1), shape).reshape(1, -1)
        picks = streams.below(
            sizes, *draw_keys.stream(level), shape[0] * slots, replicates.start * slots
        )
    return picks.reshape(shape)
