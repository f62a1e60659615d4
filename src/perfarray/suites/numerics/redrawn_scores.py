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
from perfarray.numerics.with_replacement import drawn_entries, drawn_places, grouping, sum_tables, summed, ways

BLOCK = 1 << 17
"""Redrawn units that are looked at together: what bounds the memory. It changes no number."""

PIECE = 1 << 15
"""Replicates of benchmarks that are drawn at once: so few that memory is not asked of the system again and again. It changes no number."""


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

    They are transformed as their mean wants them.
    """

    sides: Sides
    cells: Integers
    new: Floats
    old: Floats


def draw_scores(sides: Sides, cells: Integers, draws: Draws, score: Score) -> Iterator[tuple[slice, Drawn]]:
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

    Yields
    ------
    slice, Drawn
    """
    benchmarks = sides.matched.shape[-1]
    size = max(1, BLOCK // max(1, benchmarks * draws.n_resamples))
    # A block of suites at a time bounds the memory.
    for start in range(0, len(cells), size):
        part = slice(start, start + size)
        block = Sides(sides.new[part], sides.old[part], sides.matched[part], sides.incomplete[part])
        new, old = (_redrawn(side, cells[part], number, draws, score) for number, side in enumerate((block.new, block.old)))
        yield part, Drawn(block, cells[part], new, old)


def _redrawn(units: Floats, cells: Integers, system: int, draws: Draws, score: Score) -> Floats:
    """Return the transformed statistic of redrawn units of every benchmark, (suites, benchmarks, R); NaN where nothing was measured."""
    measured = ~np.isnan(units)
    counts = measured.sum(axis=-1)
    ordered = units if measured.all() else np.take_along_axis(units, np.argsort(~measured, axis=-1, kind="stable"), axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(ordered) if score.statistic == "geometric" else ordered
    found = np.full((*counts.shape, draws.n_resamples), np.nan)
    streams, side = Streams(draws.key), 0 if score.paired else system
    # Suites whose benchmarks have the same numbers of units are drawn at once, benchmarks with as many side by side: mostly all of them.
    for kind in np.unique(counts, axis=0):
        suites = np.flatnonzero((counts == kind).all(axis=-1))
        for count in sorted(set(kind.tolist()) - {0}):
            rows, stream = np.flatnonzero(kind == count), UNITS | side << 32 | count
            some = max(1, PIECE // (len(rows) * draws.n_resamples))
            for own in (suites[first : first + some] for first in range(0, len(suites), some)):
                drawn = _redraw_units(values[own[:, None], rows, :count], cells[own], stream, streams, draws.n_resamples, score)
                found[own[:, None], rows] = drawn
    return found


def _redraw_units(values: Floats, cells: Integers, stream: int, streams: Streams, number: int, score: Score) -> Floats:
    """Draw units within every benchmark (suites, benchmarks, units), shared ones for all at once; return their scores (..., R)."""
    suites, benchmarks, count = values.shape
    own = 1 if score.shared else benchmarks
    found = np.empty((suites, benchmarks, number))
    few = grouping(count).picks == 1  # so few units can be redrawn in few ways: each is computed once, and a replicate is one of them
    sums = not few and score.statistic in ("mean", "geometric")
    table = _scores(_statistic(values[..., ways(count, count)], score), score) if few else sum_tables(values) if sums else values
    first = np.arange(0, table.size, table.shape[-1]).reshape(suites, benchmarks, 1)
    size = max(1, BLOCK // (suites * benchmarks * (1 if few else count)))
    for start in range(0, number, size):
        part = slice(start, min(start + size, number))
        rows, shape = (part.stop - start) * own, (suites, part.stop - start, own, -1)
        if few:
            draw = streams.below(table.shape[-1], cells, stream, rows, start * own)
            draw = np.add(draw.reshape(shape[:3]).swapaxes(1, 2), first, out=np.empty((suites, benchmarks, shape[1]), np.int64))
            found[..., part] = table.ravel().take(draw, mode="clip")
        elif sums:
            entries = drawn_entries(count, np.zeros((1, rows), np.int64), cells, stream, streams, rows, start * own).reshape(shape)
            found[..., part] = (summed(table, entries + first.swapaxes(1, 2)[..., None]) / count).swapaxes(1, 2)
        else:
            draw = drawn_places(count, cells, stream, streams, rows, start * own).reshape(shape)
            drawn = table.ravel().take(draw + first.swapaxes(1, 2)[..., None], mode="clip")
            found[..., part] = _statistic(drawn, score).swapaxes(1, 2)
    return found if few else _scores(found, score)


def _scores(found: Floats, score: Score) -> Floats:
    """Return statistics as the mean over the benchmarks wants them; geometric ones come as logs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return transform(np.exp(found) if score.statistic == "geometric" else found, score.mean)


def _statistic(drawn: Floats, score: Score) -> Floats:
    """Return the statistic of redrawn units along the last axis, none missing; logs are averaged."""
    if score.statistic == "median":
        return median(drawn)
    if score.statistic in ("min", "max"):
        return np.asarray(drawn.min(axis=-1) if score.statistic == "min" else drawn.max(axis=-1))
    return np.asarray(drawn.mean(axis=-1))
