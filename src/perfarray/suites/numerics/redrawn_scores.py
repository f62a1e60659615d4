"""The scores of benchmarks when their units are redrawn, for the bootstrap of a ratio.

Units are (..., benchmarks, units), NaN where not measured. A few units can be redrawn in few ways:
the score of every way stands in a table, and a replicate is one of its entries.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.random import UNITS, Streams
from perfarray.numerics.statistics import median
from perfarray.numerics.suite import SuiteSides, transform
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

BLOCK, KEPT = (
    1 << 17,
    1 << 19,
)  # redrawn units, and scores of benchmarks, that are held together: bounds of the memory


class Score(NamedTuple):
    """What is compared and what is taken as random: what the caller of a comparison chose."""

    mean: str
    statistic: str
    shared: bool = False
    paired: bool = False
    random_benchmarks: bool = False
    confidence_level: float = 0.95
    alternative: str = "two-sided"
    weights: Floats | None = None  # (benchmarks,), none zero; None is one each
    learn: bool = (
        False  # whether the variances of benchmarks are shrunk towards what they have in common
    )

    @property
    def of_averages(self) -> bool:
        """Whether the statistic is made of an average of the units, or of their logs."""
        return self.statistic in ("mean", "geometric")

    @property
    def two_sided_level(self) -> float:
        """The level of the two-sided interval whose limits, both or one, are asked for."""
        return two_sided_level(self.confidence_level, self.alternative)


def two_sided_level(confidence_level: float, alternative: str) -> float:
    """Return the level of the two-sided interval that has the limits of the one asked for."""
    return confidence_level if alternative == "two-sided" else 2 * confidence_level - 1


class Redrawn(NamedTuple):
    """Redrawn, transformed scores of a block of suites (suites, benchmarks, R).

    Where all benchmarks count, and nobody asks for them one by one, they may be weighted and
    summed: (suites, R).
    """

    sides: SuiteSides
    cells: Integers
    new: Floats
    old: Floats


def draw_scores(
    sides: SuiteSides, cells: Integers, draws: Draws, score: Score, *, per_benchmark: bool = True
) -> Iterator[Redrawn]:
    """Redraw the units within every benchmark and system, block by block of suites.

    Shared units are drawn for all benchmarks together, paired ones for both systems. Random numbers
    depend on the keys of the suites, `cells`. Unless scores are wanted `per_benchmark`, they
    are summed where all benchmarks have equally few units.
    """
    benchmarks, number, streams = sides.matched.shape[-1], draws.n_resamples, Streams(draws.key)
    totals = not per_benchmark and benchmarks > 1 and all(map(_equally_few, sides[:2]))
    size = max(1, KEPT // max(1, benchmarks * number))
    for start in range(0, len(cells), size):
        block, keys = sides.rows(slice(start, start + size)), cells[start : start + size]
        new = _redrawn(block.new, keys, UNITS, streams, number, score, totals)
        yield Redrawn(
            block,
            keys,
            new,
            _redrawn(
                block.old, keys, UNITS | (not score.paired) << 32, streams, number, score, totals
            ),
        )


def _equally_few(units: Floats) -> bool:
    """Return whether one random number stands for a redraw of all benchmarks."""
    counts = (~np.isnan(units)).sum(axis=-1)
    count = int(counts.max(initial=0))
    return bool(count) and bool((counts == count).all()) and grouping(count).picks == 1


def _redrawn(
    units: Floats,
    cells: Integers,
    stream: int,
    streams: Streams,
    number: int,
    score: Score,
    totals: bool,
) -> Floats:
    """Return the transformed statistic of redrawn units (suites, benchmarks, R)."""
    missing = np.isnan(units)
    # Those that were measured come first.
    ordered = (
        np.take_along_axis(units, np.argsort(missing, axis=-1, kind="stable"), axis=-1)
        if missing.any()
        else units
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        counts, values = (
            (~missing).sum(axis=-1),
            np.log(ordered) if score.statistic == "geometric" else ordered,
        )
    # Suites with equal numbers of units are drawn at once, in them the benchmarks with as many:
    # mostly all of them.
    if counts.size and counts.min() == (count := int(counts.max())) > 0:
        return _redraw_units(
            values[..., :count], cells, stream | count, streams, number, score, totals
        )
    scores = np.full((*counts.shape, number), np.nan)
    for kind in np.unique(counts, axis=0):
        suites = np.flatnonzero((counts == kind).all(axis=-1))
        for count in sorted(set(kind.tolist()) - {0}):
            rows = np.flatnonzero(kind == count)
            block_values = values[suites[:, None], rows, :count]
            scores[suites[:, None], rows] = _redraw_units(
                block_values, cells[suites], stream | count, streams, number, score, totals
            )
    return scores


def _redraw_units(
    values: Floats,
    cells: Integers,
    stream: int,
    streams: Streams,
    number: int,
    score: Score,
    totals: bool,
) -> Floats:
    """Draw units within every benchmark (suites, benchmarks, units), shared ones for all at once.

    Return their scores (..., R).
    """
    suites, benchmarks, count = values.shape
    n_streams = 1 if score.shared else benchmarks
    if (
        grouping(count).picks == 1
        # so few units can be redrawn in few ways: each is computed once, and a replicate is one of
        # them
    ):
        tables = _scores(_statistic(values[..., ways(count, count)], score), score).swapaxes(0, 1)
        if totals:
            tables = tables if score.weights is None else score.weights[:, None, None] * tables
            tables, sums = (
                tables.sum(axis=0, keepdims=True) if score.shared else tables,
                np.zeros((suites, number)),
            )
            add_one_of_each(sums[None], tables[None], cells, stream, streams)
            return sums
        tables = tables.reshape(benchmarks // n_streams, n_streams, suites, -1)
        return (
            one_of_each(tables, cells, stream, streams, number)
            .reshape(benchmarks, suites, number)
            .swapaxes(0, 1)
        )
    statistics, table = (
        np.empty((suites, benchmarks, number)),
        sum_tables(values) if score.of_averages else values,
    )
    first = np.arange(0, table.size, table.shape[-1]).reshape(suites, 1, benchmarks, 1)
    size = max(1, BLOCK // (suites * benchmarks * count))
    for start in range(0, number, size):
        window = slice(start, min(start + size, number))
        rows, shape = (
            (window.stop - start) * n_streams,
            (suites, window.stop - start, n_streams, -1),
        )
        if score.of_averages:
            entries = drawn_entries(
                count,
                np.zeros((1, rows), np.int64),
                cells,
                stream,
                streams,
                rows,
                start * n_streams,
            ).reshape(shape)
            statistics[..., window] = (summed(table, entries + first) / count).swapaxes(1, 2)
        else:
            draw = drawn_places(count, cells, stream, streams, rows, start * n_streams).reshape(
                shape
            )
            statistics[..., window] = _statistic(
                table.ravel().take(draw + first, mode="clip"), score
            ).swapaxes(1, 2)
    return _scores(statistics, score)


def _scores(statistics: Floats, score: Score) -> Floats:
    """Return statistics as the mean over the benchmarks wants them; geometric ones come as logs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return transform(
            np.exp(statistics) if score.statistic == "geometric" else statistics, score.mean
        )


def _statistic(units: Floats, score: Score) -> Floats:
    """Return the statistic of redrawn units along the last axis, none missing.

    Logs are averaged.
    """
    if score.statistic == "median":
        return median(units)
    reduce = {"min": np.min, "max": np.max}.get(score.statistic, np.mean)
    return np.asarray(reduce(units, axis=-1))
