"""The distribution of a suite's score (Irving et al. 2018, section 5).

Cells whose benchmarks all have n equally likely runs are drawn together: the contributions of a few
benchmarks to the score form a table with an entry for every combination of their runs, and one
random number picks an entry. Only the tables differ from cell to cell.
"""

from collections.abc import Iterator
from functools import reduce
from math import prod
from typing import NamedTuple

import numpy as np

from perfarray.numerics.levels import unit_means, unit_weights
from perfarray.numerics.random import RUNS, SCORES, Streams
from perfarray.numerics.suite import restore, transform
from perfarray.numerics.types import Floats, Integers

# Most entries of a table of combinations: a power of two, small enough for the cache
TABLE = 1 << 10
# Scores drawn at once, which bounds the memory; cells have streams of their own, so that it
# changes no number
BATCH = 1 << 16


class SuiteRuns(NamedTuple):
    """Runs ready to be drawn: shape (cells, benchmarks, units, runs in a unit).

    `shares` (cells, units) are the probabilities of units that all benchmarks share; None where
    each benchmark draws its own. `counts` (benchmarks,) is how often each benchmark counts in the
    mean, 1 on average; of one element, all count alike.
    """

    runs: Floats
    shares: Floats | None
    counts: Floats = np.ones(1)

    @property
    def equal_benchmarks(self) -> Floats:
        """How many benchmarks there would be if all counted as each one does (benchmarks,)."""
        return np.asarray(np.broadcast_to(self.runs.shape[1] / self.counts, self.runs.shape[1]))


class Drawing(NamedTuple):
    """How many scores are drawn, by which mean, from which key."""

    n_resamples: int
    mean: str
    key: tuple[int, int]


def arrange(values: Floats, levels: int, value: int, joint: int) -> SuiteRuns:
    """Bring cells of shape (..., benchmarks, n_L, ..., n_1) into the form that is drawn.

    NaN is "not measured".

    `value` is the place in the nest of L levels of the one whose repetitions are runs; levels below
    it are averaged. The units of the `joint` outermost levels are the same for every benchmark;
    those that a benchmark lacks are left out.
    """
    means = unit_means(values, levels - value)
    sizes = means.shape[means.ndim - value - 1 :]
    units = int(np.prod(sizes[: max(min(joint, len(sizes)), 1)]))
    runs = np.sort(
        means.reshape(-1, values.shape[-levels - 1], units, int(np.prod(sizes)) // units), axis=-1
    )
    if not joint:
        return SuiteRuns(runs, None)
    complete = np.asarray((~np.isnan(runs[..., 0])).all(axis=1))
    shares = unit_weights(np.where(complete, 1.0, np.nan).reshape(len(runs), sizes[0], -1)).reshape(
        complete.shape
    )
    return SuiteRuns(np.where(complete[:, None, :, None], runs, np.nan), shares)


def contribution(values: Floats, mean: str, benchmarks: Floats | float) -> Floats:
    """Return what a benchmark contributes to the mean: factors of a geometric one, or summands."""
    return (
        np.asarray(values ** (1.0 / benchmarks))
        if mean == "geometric"
        else transform(values, mean) / benchmarks
    )


def to_scale(values: Floats, mean: str) -> Floats:
    """Return what a mean averages: logs, values, or negative reciprocals."""
    return -transform(values, mean) if mean == "harmonic" else transform(values, mean)


def from_scale(averages: Floats, mean: str) -> Floats:
    """Return the mean whose average on its own scale is given."""
    return restore(-averages if mean == "harmonic" else averages, mean)


def score_of(statistics: Floats, mean: str, counts: Floats) -> Floats:
    """Return the mean over benchmarks, the last axis, that count so often."""
    return restore((transform(statistics, mean) * counts).mean(axis=-1), mean)


def central_score(suite: SuiteRuns, mean: str) -> Floats:
    """Return the score of all runs, each unit with equal weight; shape (cells,)."""
    weights = unit_weights(suite.runs)
    filled = np.where(np.isnan(suite.runs), 1.0, suite.runs)
    return restore(
        ((transform(filled, mean) * weights).sum(axis=(-1, -2)) * suite.counts).mean(axis=-1), mean
    )


def units_of(suite: SuiteRuns) -> Floats:
    """Return how many units the benchmark with the fewest has, shape (cells,)."""
    return np.asarray((~np.isnan(suite.runs[..., 0])).sum(axis=-1).min(axis=-1)).astype(float)


def draw_scores(suite: SuiteRuns, cells: Integers, drawing: Drawing) -> Floats:
    """Draw scores, shape (cells, n_resamples); NaN where a benchmark was not measured."""
    all_scores = np.full((len(cells), drawing.n_resamples), np.nan)
    for rows, scores in _blocks(suite, cells, drawing):
        all_scores[rows] = scores
    return all_scores


def summarise_scores(suite: SuiteRuns, cells: Integers, drawing: Drawing) -> Floats:
    """Draw scores; return their five numbers and standard deviation, shape (6, cells)."""
    summary, number = np.full((6, len(cells)), np.nan), drawing.n_resamples
    quartile_places = [-(-quarters * number // 4) - 1 for quarters in (1, 2, 3)]
    for rows, scores in _blocks(suite, cells, drawing):
        summary[5, rows] = scores.std(axis=-1, ddof=1)
        summary[:5, rows] = np.sort(scores, axis=-1)[:, [0, *quartile_places, -1]].T
    summary[5, summary[0] == summary[4]] = 0.0  # equal scores differ from their rounded mean
    return summary


def equal_counts(suite: SuiteRuns) -> Integers:
    """Return the number of runs of every benchmark where it is one number, else 0."""
    if suite.shares is not None:
        return np.zeros(len(suite.runs), dtype=np.intp)
    missing, count = np.isnan(suite.runs), prod(suite.runs.shape[2:])
    if not missing.any():
        return np.full(len(suite.runs), count if count <= TABLE else 0)
    measured = (~missing).sum(axis=-1)
    equal = ((measured == measured.max(axis=-1, keepdims=True)) | (measured == 0)).all(
        axis=(-1, -2)
    )
    total = measured.sum(axis=-1)
    usable = equal & (total == total[:, :1]).all(axis=-1) & (total[:, 0] <= TABLE)
    return np.where(usable, total[:, 0], 0)


def _blocks(
    suite: SuiteRuns, cells: Integers, drawing: Drawing
) -> Iterator[tuple[Integers, Floats]]:
    """Draw the scores of all cells with data, those with equal counts together."""
    counts, benchmarks, streams = equal_counts(suite), suite.runs.shape[1], Streams(drawing.key)
    for count in np.unique(counts[counts > 0]).tolist():
        per_table = 1 if count > 1 else benchmarks
        while per_table < benchmarks and count ** (per_table + 1) <= TABLE:
            per_table += 1
        size = max(1, BATCH // (drawing.n_resamples * -(-benchmarks // per_table)))
        rows_of_count = np.flatnonzero(counts == count)
        contributions = _contributions(
            suite._replace(runs=suite.runs[rows_of_count]), count, per_table, drawing.mean
        )
        for first in range(0, len(rows_of_count), size):
            rows = rows_of_count[first : first + size]
            tables = _tables(contributions[:, first : first + size], per_table, drawing.mean)
            yield rows, _look_up(tables, cells[rows], count, streams, drawing)
    # Every other cell has units of its own shape.
    for row in np.flatnonzero((counts == 0) & (units_of(suite) > 0)):
        shares = None if suite.shares is None else suite.shares[row]
        yield (
            np.array([row]),
            _draw_runs(suite.runs[row], shares, suite.counts, cells[[row]], streams, drawing)[None],
        )


def _contributions(suite: SuiteRuns, count: int, per_table: int, mean: str) -> Floats:
    """Return the contribution of every run to the score: (benchmarks, cells, runs)."""
    cells, benchmarks = suite.runs.shape[:2]
    flat = np.sort(suite.runs.reshape(cells, benchmarks, -1), axis=-1)[..., :count]
    # Filled up with benchmarks that contribute nothing, so that all tables have equal sizes.
    contributions = np.full(
        (-(-benchmarks // per_table) * per_table, cells, count), float(mean == "geometric")
    )
    contributions[:benchmarks] = np.moveaxis(
        contribution(flat, mean, suite.equal_benchmarks[:, None]), 1, 0
    )
    return contributions


def _tables(contributions: Floats, per_table: int, mean: str) -> Floats:
    """Return the contribution of every combination of runs of a few benchmarks."""
    tables = contributions[::per_table]
    for index in range(1, per_table):
        added = contributions[index::per_table]
        # `einsum` multiplies all by all in half the time.
        pairs = (
            np.einsum("tcr,tce->tcre", added, tables)
            if mean == "geometric"
            else added[..., None] + tables[:, :, None]
        )
        tables = pairs.reshape(*tables.shape[:2], -1)
    return tables


def _look_up(
    tables: Floats, cells: Integers, count: int, streams: Streams, drawing: Drawing
) -> Floats:
    """Return the scores (cells, n_resamples): each combines one entry of every table."""
    number, entries = len(tables), tables.shape[-1]
    # Suites with other numbers of runs take other random numbers.
    picks = streams.below(entries, cells, SCORES | count, drawing.n_resamples * number)
    picks += np.arange(len(cells))[:, None] * entries
    combined = (
        table.ravel().take(picks[:, index::number], mode="clip")
        for index, table in enumerate(tables)
    )
    scores: Floats = reduce(np.multiply if drawing.mean == "geometric" else np.add, combined)
    return 1.0 / scores if drawing.mean == "harmonic" else scores


def _draw_runs(
    runs: Floats,
    shares: Floats | None,
    counts: Floats,
    cell: Integers,
    streams: Streams,
    drawing: Drawing,
) -> Floats:
    """Draw a unit, then a run in it, for every benchmark and replicate.

    Shared units are drawn for all benchmarks at once.
    """
    lengths = (~np.isnan(runs)).sum(axis=-1)
    if shares is None:
        order = np.argsort(lengths == 0, axis=-1, kind="stable")
        runs, lengths = (
            np.take_along_axis(runs, order[..., None], axis=1),
            np.take_along_axis(lengths, order, axis=1),
        )
    units, benchmarks = (lengths > 0).sum(axis=-1), np.arange(len(runs))
    scores = np.empty(drawing.n_resamples)
    size = max(1, BATCH // len(runs))
    for start in range(0, drawing.n_resamples, size):
        block = scores[start : start + size]
        window = len(block) * len(runs), start * len(runs)
        if shares is None:
            unit = streams.below(units, cell, RUNS, *window).reshape(len(block), -1)
        else:
            bounds = np.cumsum(shares)
            unit = np.searchsorted(
                bounds,
                streams.uniform(cell, RUNS, len(block), start)[0][:, None] * bounds[-1],
                side="right",
            )
        run = streams.below(
            lengths[benchmarks, unit].reshape(1, -1), cell, RUNS | 1, *window
        ).reshape(len(block), -1)
        block[:] = score_of(runs[benchmarks, unit, run], drawing.mean, counts)
    return scores
