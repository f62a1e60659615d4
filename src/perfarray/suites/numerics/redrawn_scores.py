"""The scores of a suite's benchmarks when their units are redrawn: what the bootstrap of a ratio of two scores is made from.

Units are (..., benchmarks, units), NaN where not measured. A few units can be redrawn in few ways: the score of every way stands in a
table, and a replicate is one of its entries.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.random import UNITS, Streams
from perfarray.numerics.statistics import median
from perfarray.numerics.suite import Sides, transform
from perfarray.numerics.types import Floats, Integers
from perfarray.numerics.with_replacement import (
    add_one_of_each,
    drawn_entries,
    drawn_places,
    grouping,
    one_of_each,
    sum_tables,
    summed,
    ways,
)

BLOCK, KEPT, SUMS = 1 << 17, 1 << 19, 1 << 16
"""Redrawn units that are looked at together, scores of benchmarks, and sums of them: what bounds the memory. They change no number."""


class Score(NamedTuple):
    """What is compared and what is taken as random: what the caller of `score_ratio_interval` chose."""

    mean: str
    statistic: str
    shared: bool
    paired: bool
    random_benchmarks: bool
    confidence_level: float
    alternative: str
    weights: Floats | None = None  # (benchmarks,), none zero; None is one each

    @property
    def tails(self) -> float:
        """The level of the two-sided interval whose limits are asked for: both of them, or one."""
        return two_sided_level(self.confidence_level, self.alternative)


def two_sided_level(confidence_level: float, alternative: str) -> float:
    """Return the level of the two-sided interval that has the limits of the one asked for."""
    return confidence_level if alternative == "two-sided" else 2 * confidence_level - 1


class Drawn(NamedTuple):
    """Redrawn scores of a block of suites: of every benchmark (suites, benchmarks, R), for the candidate and the baseline.

    They are transformed as their mean wants them. Where all benchmarks count, and nobody asks for them one by one, they may be weighed and
    summed: (suites, R).
    """

    sides: Sides
    cells: Integers
    new: Floats
    old: Floats


def draw_scores(sides: Sides, cells: Integers, draws: Draws, score: Score, *, each: bool = True) -> Iterator[tuple[slice, Drawn]]:
    """Redraw the units within every benchmark and system, block by block of suites.

    Parameters
    ----------
    sides : Sides
        Units (suites, benchmarks, units).
    cells : array of uint64, shape (suites,)
        The key of every suite: what its random numbers hang on.
    draws : Draws
        How often, from which key.
    score : Score
        Shared units are drawn for all benchmarks together, paired ones for both systems.
    each : bool
        Whether the scores of every benchmark are wanted; else they are summed where that is simple.

    Yields
    ------
    slice, Drawn
        The next block may be written over it.
    """
    benchmarks, number, all_rows = sides.matched.shape[-1], draws.n_resamples, slice(0, len(cells))
    streams = Streams(draws.key)
    n_suites = max(1, KEPT // max(1, benchmarks * number))
    room = np.empty((2, min(n_suites, len(cells)) * benchmarks * number))
    # A block of suites at a time bounds the memory, and finds it where the one before was.
    each = each or benchmarks < 2  # nothing to sum
    for block_rows in _blocks(all_rows, n_suites if each else n_suites * max(1, SUMS // (n_suites * number))):
        sums = None if each else _summed(sides, cells, block_rows, streams, number, score)
        if sums is not None:
            yield block_rows, Drawn(_some(sides, block_rows), cells[block_rows], *sums)
            continue
        for rows in _blocks(block_rows, n_suites):
            block = _some(sides, rows)
            new, old = (
                _redrawn(side, cells[rows], stream, streams, number, score, buffer)
                for side, stream, buffer in zip(block[:2], _streams(score), room, strict=True)
            )
            yield rows, Drawn(block, cells[rows], new, old)


def _blocks(rows: slice, size: int) -> Iterator[slice]:
    """Return blocks of a size, one after the other."""
    return (slice(start, min(start + size, rows.stop)) for start in range(rows.start, rows.stop, size))


def _some(sides: Sides, rows: slice) -> Sides:
    """Return some suites."""
    return Sides(sides.new[rows], sides.old[rows], sides.matched[rows], sides.incomplete[rows])


def _streams(score: Score) -> tuple[int, int]:
    """Return the streams of the candidate and the baseline."""
    return UNITS, UNITS | (not score.paired) << 32


def _summed(sides: Sides, cells: Integers, rows: slice, streams: Streams, number: int, score: Score) -> list[Floats] | None:
    """Return the sums over the benchmarks (suites, R) of both sides; None where units are too many to tabulate, or not as many in each."""
    block, sums = _some(sides, rows), []
    numbers = [(~np.isnan(units)).sum(axis=-1) for units in block[:2]]
    if any(not counts.min() or counts.min() < counts.max() or grouping(int(counts.max())).picks > 1 for counts in numbers):
        return None
    for units, counts, stream in zip(block[:2], numbers, _streams(score), strict=True):
        count = int(counts.max())
        table = _table(_ordered(units, score)[..., :count], score)
        table = table if score.weights is None else score.weights[:, None, None] * table
        table = table.sum(axis=0, keepdims=True) if score.shared else table
        sums.append(np.zeros((len(units), number)))
        add_one_of_each(sums[-1][None], table[None], cells[rows], stream | count, streams)
    return sums


def _redrawn(units: Floats, cells: Integers, stream: int, streams: Streams, number: int, score: Score, room: Floats) -> Floats:
    """Return the transformed statistic of redrawn units of every benchmark, (suites, benchmarks, R); NaN where nothing was measured."""
    counts, values = (~np.isnan(units)).sum(axis=-1), _ordered(units, score)
    # Suites whose benchmarks have the same numbers of units are drawn at once, benchmarks with as many side by side: mostly all of them.
    if counts.size and counts.min() == (count := int(counts.max())) > 0:
        return _redraw_units(values[..., :count], cells, stream | count, streams, number, score, room)
    scores = np.full((*counts.shape, number), np.nan)
    for kind in np.unique(counts, axis=0):
        suites = np.flatnonzero((counts == kind).all(axis=-1))
        for count in sorted(set(kind.tolist()) - {0}):
            rows = np.flatnonzero(kind == count)
            block_values = values[suites[:, None], rows, :count]
            scores[suites[:, None], rows] = _redraw_units(block_values, cells[suites], stream | count, streams, number, score)
    return scores


def _ordered(units: Floats, score: Score) -> Floats:
    """Return units, or their logs, those that were measured first."""
    missing = np.isnan(units)
    ordered = np.take_along_axis(units, np.argsort(missing, axis=-1, kind="stable"), axis=-1) if missing.any() else units
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(ordered) if score.statistic == "geometric" else ordered


def _table(values: Floats, score: Score) -> Floats:
    """Return the scores of every way to redraw a few units (suites, benchmarks, units): (benchmarks, suites, ways)."""
    count = values.shape[-1]
    return _scores(_statistic(values[..., ways(count, count)], score), score).swapaxes(0, 1)


def _redraw_units(
    values: Floats, cells: Integers, stream: int, streams: Streams, number: int, score: Score, room: Floats | None = None
) -> Floats:
    """Draw units within every benchmark (suites, benchmarks, units), shared ones for all at once; return their scores (..., R)."""
    suites, benchmarks, count = values.shape
    n_streams = 1 if score.shared else benchmarks
    if grouping(count).picks == 1:  # so few units can be redrawn in few ways: each is computed once, and a replicate is one of them
        tables = _table(values, score).reshape(benchmarks // n_streams, n_streams, suites, -1)
        out = None if room is None else room[: benchmarks * suites * number].reshape(*tables.shape[:-1], number)
        entries_drawn = one_of_each(tables, cells, stream, streams, number, out=out)
        return entries_drawn.reshape(benchmarks, suites, number).swapaxes(0, 1)
    sums = score.statistic in ("mean", "geometric")
    statistics, table = np.empty((suites, benchmarks, number)), sum_tables(values) if sums else values
    first = np.arange(0, table.size, table.shape[-1]).reshape(suites, 1, benchmarks, 1)
    size = max(1, BLOCK // (suites * benchmarks * count))
    for start in range(0, number, size):
        window = slice(start, min(start + size, number))
        rows, shape = (window.stop - start) * n_streams, (suites, window.stop - start, n_streams, -1)
        if sums:
            entries = drawn_entries(count, np.zeros((1, rows), np.int64), cells, stream, streams, rows, start * n_streams).reshape(shape)
            statistics[..., window] = (summed(table, entries + first) / count).swapaxes(1, 2)
        else:
            draw = drawn_places(count, cells, stream, streams, rows, start * n_streams).reshape(shape)
            statistics[..., window] = _statistic(table.ravel().take(draw + first, mode="clip"), score).swapaxes(1, 2)
    return _scores(statistics, score)


def _scores(statistics: Floats, score: Score) -> Floats:
    """Return statistics as the mean over the benchmarks wants them; geometric ones come as logs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return transform(np.exp(statistics) if score.statistic == "geometric" else statistics, score.mean)


def _statistic(units: Floats, score: Score) -> Floats:
    """Return the statistic of redrawn units along the last axis, none missing; logs are averaged."""
    if score.statistic == "median":
        return median(units)
    if score.statistic in ("min", "max"):
        return np.asarray(units.min(axis=-1) if score.statistic == "min" else units.max(axis=-1))
    return np.asarray(units.mean(axis=-1))
