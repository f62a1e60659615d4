"""Redrawing a nest of repetitions: what a new experiment of the same size would have measured.

Kalibera and Jones (2012), section 7.2.1 and figure 1. For means a replicate needs only the means of its drawn units, so the redrawn
measurements are never kept: a block of replicates is drawn, reduced, and forgotten.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.levels import mean_of_measured, unit_means
from perfarray.numerics.types import Floats, Integers, Mask

BLOCK = 1 << 20
"""Values drawn at once: what bounds the memory. It is fixed, since streams of random numbers are counted by block."""

LARGEST = (1 << 16) - 1
"""The largest number of 16 bits."""

TABLE = 1 << 14
"""Most entries of a table of pair sums: beyond it a table no longer stays in the cache."""


class Draws(NamedTuple):
    """What is drawn: which levels (outermost first), how often, from which key, by which engine.

    Cells that are drawn jointly have to be drawn in the same blocks: `width` is then the size of all of them, and 0 where each has its own.
    """

    drawn: tuple[bool, ...]
    n_resamples: int
    key: tuple[int, int]
    engine: str = "numpy"
    width: int = 0


class Place(NamedTuple):
    """Where a cell's random numbers come from: its number, those of its groups (one for every level drawn jointly), the system."""

    cell: int
    groups: tuple[int, ...] = ()
    side: int = 0
    paired: bool = False

    def counter(self, level: int, block: int) -> list[int]:
        """Return the start of a stream of its own for a level and a block of replicates."""
        jointly = level < len(self.groups)
        side = 0 if self.paired and level == 0 else self.side
        return [0, block, self.groups[level] if jointly else self.cell, (side << 9) | (jointly << 8) | level]


class Nest(NamedTuple):
    """A cell ready to be redrawn: measured repetitions come first at every level; children counted by parent."""

    values: Floats
    counts: tuple[Integers, ...]
    drawn: tuple[bool, ...]

    @property
    def complete(self) -> bool:
        """Every parent has the same number of children and every value was measured."""
        return not bool(np.isnan(self.values).any())

    def sums_suffice(self, engine: str) -> bool:
        """Means need only sums of redrawn iterations: the lowest level is drawn, and the nest is complete or the engine takes gaps."""
        return len(self.drawn) > 1 and self.drawn[-1] and (engine == "numba" or self.complete)


def stream(draws: Draws, place: Place, level: int, block: int) -> np.random.Generator:
    """Return the random numbers of one level of one block of one cell, whatever else is drawn, in whatever order."""
    return np.random.Generator(np.random.Philox(key=list(draws.key), counter=place.counter(level, block)))


def nest_of(values: Floats, drawn: Sequence[bool], *, means: bool = True, present: Sequence[Mask] = ()) -> Nest:
    """Bring a cell (n_L, ..., n_1) into the form that is redrawn.

    Parameters
    ----------
    values : array, shape (n_L, ..., n_1)
        Measurements; NaN is "not measured".
    drawn : sequence of bool
        The levels drawn with replacement, outermost first.
    means : bool
        Whether means alone are wanted: then lower levels that are kept whole are averaged at once.
    present : sequence of bool arrays, shapes (n_L,), (n_L, n_{L-1}), ...
        The units of levels drawn jointly that count as present, whether this cell measured them or not.

    Returns
    -------
    Nest
    """
    drawn = tuple(drawn)
    present = list(present)
    while means and len(drawn) > 1 and (not drawn[-1] or values.shape[-1] == 1) and len(present) < values.ndim:
        values, drawn = mean_of_measured(values), drawn[:-1]
    counts: list[Integers] = []
    measured = ~np.isnan(values)
    for level in range(len(drawn)):
        has = present[level] if level < len(present) else measured.any(axis=tuple(range(level + 1, values.ndim)))
        order = np.argsort(~has, axis=-1, kind="stable")
        number = has.sum(axis=-1)
        keep = slice(0, max(int(number.max(initial=0)), 1))
        values = _reorder(values, order, level)[(slice(None),) * level + (keep,)]
        measured = ~np.isnan(values)
        present = [_reorder(mask, order, level)[(slice(None),) * level + (keep,)] if mask.ndim > level else mask for mask in present]
        counts.append(number)
    return Nest(values, tuple(counts), drawn)


def _reorder(values: npt.NDArray[Any], order: Integers, level: int) -> npt.NDArray[Any]:
    """Apply an order of the axis `level`, which differs from parent to parent."""
    return np.take_along_axis(values, order.reshape(order.shape + (1,) * (values.ndim - level - 1)), axis=level)


def blocks(draws: Draws, *nests: Nest, means: bool = True) -> Iterator[tuple[int, slice]]:
    """Return number and replicates of every block; its size follows from the shape of the data alone."""
    size = max(1, BLOCK // (draws.width or max(1, *(_width(nest, draws.engine, means) for nest in nests))))
    for number, start in enumerate(range(0, draws.n_resamples, size)):
        yield number, slice(start, min(start + size, draws.n_resamples))


def _width(nest: Nest, engine: str, means: bool) -> int:
    """Return how many values a replicate keeps at once; executions whose iterations are summed up on the fly are cheaper."""
    if means and nest.sums_suffice(engine):
        return int(np.prod(nest.values.shape[:-1])) // (4 if engine == "numba" else 2)
    return nest.values.size


def draw_units(nest: Nest, number: int, draws: Draws, place: Place, block: int) -> Floats:
    """Draw a block of replicates and return the means of the outermost units drawn in each, shape (number, units).

    A unit of a ragged nest that is absent is NaN. Complete nests redrawn down to the lowest level take a shorter way to the same law.
    """
    if nest.sums_suffice(draws.engine):
        if draws.engine == "numba":
            from perfarray.numerics.compiled_bootstrap import draw_units_compiled

            return draw_units_compiled(nest.values, nest.counts, nest.drawn, number, draws.key, place.counter(0, block))
        return _draw_complete(nest, number, draws, place, block)
    return unit_means(draw_values(nest, number, draws, place, block), nest.values.ndim)


def draw_values(nest: Nest, number: int, draws: Draws, place: Place, block: int) -> Floats:
    """Draw a block of replicates and return all their values, shape (number, n_L, ..., n_1); absent ones are NaN."""
    picks: list[Integers] = []
    absent: list[Mask] = []
    last = max((level for level, is_drawn in enumerate(nest.drawn) if is_drawn), default=0)
    for level in range(last + 1):
        size, shape = nest.values.shape[level], (number, *nest.values.shape[: level + 1])
        counts = _counts_of_parents(nest.counts[level], picks, shape)
        if nest.drawn[level]:
            picks.append(_draw(stream(draws, place, level, block), counts, shape))
        else:
            picks.append(np.broadcast_to(np.arange(size), shape))
        absent.append(np.arange(size) >= counts)
    values = gather(nest.values, picks)
    for level, mask in enumerate(absent):
        if mask.any():
            values = np.where(
                np.broadcast_to(mask, picks[level].shape).reshape(picks[level].shape + (1,) * (values.ndim - level - 2)), np.nan, values
            )
    return values


def _counts_of_parents(counts: Integers, picks: Sequence[Integers], shape: tuple[int, ...]) -> Integers:
    """Return how many children each drawn parent has, with a last axis of one; the same for all where all have the same number."""
    if counts.ndim == 0 or (counts == counts.flat[0]).all():
        return np.full((1,) * len(shape), counts.flat[0] if counts.ndim else counts)
    index = tuple(pick.reshape(pick.shape + (1,) * (len(shape) - 1 - pick.ndim)) for pick in picks)
    return np.asarray(np.broadcast_to(counts[index], shape[:-1])[..., None])


def _draw(rng: np.random.Generator, counts: Integers, shape: tuple[int, ...]) -> Integers:
    """Draw children: uniform among those their parent has."""
    if counts.size == 1:
        return _below(max(int(counts.flat[0]), 1), int(np.prod(shape)), rng).reshape(shape)
    return np.floor(rng.random(shape) * counts).astype(np.intp)


def gather(values: Floats, picks: Sequence[Integers]) -> Floats:
    """Return the values that nested indices name.

    Parameters
    ----------
    values : array, shape (n_L, ..., n_1)
        Measurements.
    picks : sequence of int arrays, shapes (replicates, m_L), (replicates, m_L, m_{L-1}), ...
        For every level, outermost first, which child of the parent drawn above stands here. Levels without indices are kept whole.

    Returns
    -------
    array, shape (replicates, m_L, ..., n_1)
    """
    depth = len(picks)
    return np.asarray(values[tuple(pick.reshape(pick.shape + (1,) * (depth + 1 - pick.ndim)) for pick in picks)])


def _below(size: int, number: int, rng: np.random.Generator) -> Integers:
    """Return whole numbers below `size`, every one exactly as likely as every other.

    Each is 16 random bits divided by the number of times `size` fits into them; the few beyond the last multiple are drawn again. Four
    come from one 64-bit word, which is what makes this faster than `Generator.integers`.
    """
    times = LARGEST // size
    if not times:
        return rng.integers(0, size, number)
    bits = _bits(number, rng)
    again = np.flatnonzero(bits >= times * size)
    while len(again):
        bits[again] = _bits(len(again), rng)
        again = again[bits[again] >= times * size]
    return np.floor_divide(bits, times, out=bits)


def _bits(number: int, rng: np.random.Generator) -> npt.NDArray[np.uint16]:
    """Return 16 random bits, many times."""
    words: npt.NDArray[np.uint64] = rng.bit_generator.random_raw(-(-number // 4))
    return words.astype("<u8", copy=False).view("<u2")[:number]


def _draw_complete(nest: Nest, number: int, draws: Draws, place: Place, block: int) -> Floats:
    """Draw the unit means of a complete nest whose lowest level is redrawn: only sums of redrawn iterations are made.

    What is drawn is sorted by where it comes from, so that one parent's executions, and one execution's table, serve all their draws
    while they are in the cache: loops over parents and executions, not over draws.
    """
    *outer, width, depth = sizes = nest.values.shape
    parents: Integers = np.zeros(number, dtype=np.int64)
    for level, size in enumerate(outer):
        shape = (number, *sizes[: level + 1])
        picks = (
            _below(size, int(np.prod(shape)), stream(draws, place, level, block)).reshape(shape) if nest.drawn[level] else np.arange(size)
        )
        parents = parents[..., None] * size + picks
    parents = parents.ravel()
    kind = np.min_scalar_type(width - 1)
    children = np.broadcast_to(np.arange(width, dtype=kind), (len(parents), width))
    if nest.drawn[-2]:
        # Drawn as `_draw` draws them: the units of a ragged partner, drawn jointly, must be the same.
        children = _below(width, len(parents) * width, stream(draws, place, len(outer), block)).astype(kind).reshape(-1, width)
    rng = _fast(stream(draws, place, len(outer) + 1, block))
    # An execution is a unit where nothing is outside it; else a unit holds whole parents, and their sums are enough.
    sums = np.empty((len(parents), 1 if outer else width))
    groups = nest.values.reshape(-1, width, depth)
    step = max(1, 4 * BLOCK // (width * depth))
    for group, members in zip(groups, _members(parents, len(groups)), strict=True):
        for rows in (members[start : start + step] for start in range(0, len(members), step)):
            found = _redrawn_sums(group, children[rows].ravel(), rng)
            sums[rows] = found.reshape(len(rows), sums.shape[1], -1).sum(axis=-1)
    return np.asarray(sums.reshape(number, sizes[0], -1).sum(axis=-1) * (sizes[0] / nest.values.size))


def _fast(rng: np.random.Generator) -> np.random.Generator:
    """Return a generator seeded by a stream, which is faster for the many draws of the lowest level."""
    return np.random.Generator(np.random.SFC64(rng.integers(0, 2**63, 3)))


def _members(names: Integers, number: int) -> list[Integers]:
    """Return, for every name from 0 on, the places where it stands."""
    order = np.argsort(names.astype(np.min_scalar_type(number - 1)), kind="stable")
    return np.split(order, np.cumsum(np.bincount(names, minlength=number))[:-1])


def _redrawn_sums(values: Floats, names: Integers, rng: np.random.Generator) -> Floats:
    """Redraw the iterations of each execution (a row of `values`) as often as it is named, and return their sums in that order.

    One uniform index into the table of pair sums draws two values at once: every pair is as likely as every other.
    """
    size = values.shape[1]
    pairwise = size * size <= TABLE
    number, choices = (size // 2, size * size) if pairwise else (size, size)
    picks = _below(choices, len(names) * number, rng)
    singles = _below(size, len(names), rng) if pairwise and size % 2 else None
    sums, start = np.empty(len(names)), 0
    for row, places in zip(values, _members(names, len(values)), strict=True):
        stop = start + len(places)
        table = np.add.outer(row, row).ravel() if pairwise else row
        found = _taken(table, picks[start * number : stop * number]).reshape(number, len(places)).sum(axis=0)
        sums[places] = found if singles is None else found + _taken(row, singles[start:stop])
        start = stop
    return sums


def _taken(values: Floats, picks: Integers) -> Floats:
    """Return the values picked; `take` is twice as fast where it need not be ready to fail on an index half way."""
    return np.take(values, picks, mode="clip", out=np.empty(len(picks)))


Statistic = str | Callable[..., object]


def replicates_of(nest: Nest, statistic: Statistic, draws: Draws, place: Place) -> Floats:
    """Return the statistic of every replicate of a cell; NaN where there are no data."""
    found = np.full(draws.n_resamples, np.nan)
    if np.isnan(nest.values).all():
        return found
    for block, part in blocks(draws, nest, means=statistic == "mean"):
        number = part.stop - part.start
        if statistic == "mean":
            found[part] = mean_of_measured(draw_units(nest, number, draws, place, block))
        else:
            found[part] = evaluate(draw_values(nest, number, draws, place, block), statistic)
    return found


def evaluate(values: Floats, statistic: Statistic) -> Floats:
    """Return the statistic of cells (cells, n_L, ..., n_1): mean, median, min, or a function f(x, axis=-1) of all their values.

    The mean and the median give every unit the same weight, whatever it holds (weights 1 / number of children, down the nest); with
    equal counts that is the plain median. A function sees the measured values alone, with equal weights.
    """
    if statistic == "mean":
        return mean_of_measured(unit_means(values, values.ndim - 1))
    flat = values.reshape(len(values), -1)
    ragged = np.isnan(flat).any()
    if statistic == "min":
        return np.asarray(np.fmin.reduce(flat, axis=-1))
    if statistic == "median":
        return weighted_median(flat, _weights(values).reshape(flat.shape)) if ragged else np.asarray(np.median(flat, axis=-1))
    if not callable(statistic):
        raise ValueError(f"statistic={statistic!r} is not known; choose one of 'mean', 'median', 'min', or give a function f(x, axis=-1)")
    # Ragged replicates hold different numbers of values, and a function of one array takes them one by one.
    parts = [row[~np.isnan(row)][None] for row in flat] if ragged else [flat]
    return np.concatenate([_called(statistic, part) if part.size else np.full(len(part), np.nan) for part in parts])


def _called(statistic: Callable[..., object], values: Floats) -> Floats:
    """Call a user's statistic and check what it returns."""
    name = getattr(statistic, "__name__", "statistic")
    found = np.asarray(statistic(values, axis=-1))
    if found.shape != values.shape[:-1]:
        raise ValueError(
            f"statistic {name!r} returned shape {found.shape} for an array of shape {values.shape}; it must reduce the last axis: "
            f"f(x, axis=-1) of shape {values.shape[:-1]}"
        )
    if found.dtype.kind not in "iuf" or (values.size and bool(np.isnan(found).any())):
        raise ValueError(
            f"statistic {name!r} returned NaN or no number for {values.shape[-1]} measured values; it must give a number for every "
            "resample, also where values repeat"
        )
    return found.astype(float)


def _weights(values: Floats) -> Floats:
    """Return the weight of every value: each unit the same, inside a unit each child the same, and so on down; NaN has none."""
    measured = ~np.isnan(values)
    weights = np.ones((len(values),) + (1,) * (values.ndim - 1))
    for axis in range(1, values.ndim):
        has = measured.any(axis=tuple(range(axis + 1, values.ndim)), keepdims=True)
        weights = weights * has / np.maximum(has.sum(axis=axis, keepdims=True), 1)
    return weights


def weighted_median(values: Floats, weights: Floats) -> Floats:
    """Return inf{x: F(x) >= 1/2} along the last axis, and the middle of the gap where F is 1/2 on one: with equal weights the median."""
    order = np.argsort(values, axis=-1)
    ordered, share = np.take_along_axis(values, order, axis=-1), np.cumsum(np.take_along_axis(weights, order, axis=-1), axis=-1)
    low = (share < 0.5 - 1e-12).sum(axis=-1, keepdims=True)
    high = (share <= 0.5 + 1e-12).sum(axis=-1, keepdims=True)
    last = np.maximum((weights > 0).sum(axis=-1, keepdims=True) - 1, 0)
    low, high = np.minimum(low, last), np.minimum(high, last)
    return np.asarray((np.take_along_axis(ordered, low, axis=-1) + np.take_along_axis(ordered, high, axis=-1))[..., 0] / 2)


def left_out(nest: Nest, statistic: Statistic) -> Floats:
    """Return the statistic of the data without each outermost unit in turn, shape (units,)."""
    n = int(nest.counts[0])
    if statistic == "mean":
        units = unit_means(nest.values, nest.values.ndim)[:n]
        return np.asarray((units.sum() - units) / (n - 1)) if n > 1 else np.full(n, np.nan)
    if n < 2:
        return np.full(n, np.nan)
    # One unit less each time: as many evaluations as there are units.
    return np.array([evaluate(np.delete(nest.values[:n], unit, axis=0)[None], statistic)[0] for unit in range(n)])
