"""The distribution of a suite's score: one run drawn per benchmark, then the mean over benchmarks (Irving et al. 2018, section 5).

Cells whose benchmarks all have n equally likely runs are drawn together: the parts that a few benchmarks add to the score form a table
with an entry for every combination of their runs, and one random number picks an entry. What differs from cell to cell is the table.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfarray.numerics.levels import unit_means, unit_weights
from perfarray.numerics.random import RUNS, SCORES, Streams
from perfarray.numerics.types import Floats, Integers

TABLE = 1 << 10
"""Most entries of a table of combinations: a power of two, small enough for the cache."""

BATCH = 1 << 16
"""Scores drawn at once: what bounds the memory. It changes no number, since every cell has random numbers of its own."""


class Suite(NamedTuple):
    """Runs ready to be drawn: shape (cells, benchmarks, units, runs in a unit), NaN where not measured.

    `shares` (cells, units) are the probabilities of units that all benchmarks share; None where each benchmark draws its own. `counts`
    (benchmarks,) is how often each benchmark counts in the mean, 1 on average; of one element, all count alike.
    """

    runs: Floats
    shares: Floats | None
    counts: Floats = np.ones(1)

    @property
    def parts(self) -> Floats:
        """How many benchmarks there would be, if all counted as each one does (benchmarks,)."""
        return np.asarray(np.broadcast_to(self.runs.shape[1] / self.counts, self.runs.shape[1]))


class Drawing(NamedTuple):
    """How many scores are drawn, by which mean, from which key."""

    n_resamples: int
    mean: str
    key: tuple[int, int]


class Block(NamedTuple):
    """Cells with equal counts that are drawn together: their places, their keys, and what their runs contribute to the score.

    `parts` has shape (benchmarks, cells, runs), the benchmarks filled up to a multiple of the `together` that share a table.
    """

    rows: Integers
    cells: Integers
    contributions: Floats
    together: int

    @property
    def stream(self) -> int:
        """Where the random numbers come from: suites with other numbers of runs take others."""
        return SCORES | int(self.contributions.shape[2])


class Summary(NamedTuple):
    """Of the drawn scores of every cell."""

    minimum: Floats
    q1: Floats
    median: Floats
    q3: Floats
    maximum: Floats
    standard_deviation: Floats


def arrange(values: Floats, levels: int, value: int, joint: int) -> Suite:
    """Bring cells of shape (..., benchmarks, n_L, ..., n_1) into the form that is drawn.

    Parameters
    ----------
    values : array, shape (..., benchmarks, n_L, ..., n_1)
        Measurements; NaN is "not measured".
    levels : int
        The number of levels L.
    value : int
        The place in the nest of the level whose repetitions are runs; levels below it are averaged.
    joint : int
        How many levels, from the outermost, have units that are the same for every benchmark.

    Returns
    -------
    Suite
        Shared units that a benchmark lacks are left out for all.
    """
    means = unit_means(values, levels - value)
    sizes = means.shape[means.ndim - value - 1 :]
    together = int(np.prod(sizes[: max(min(joint, len(sizes)), 1)]))
    runs = np.sort(means.reshape(-1, values.shape[-levels - 1], together, int(np.prod(sizes)) // together), axis=-1)
    if not joint:
        return Suite(runs, None)
    present = np.asarray(~np.isnan(runs[..., 0]))
    complete = np.asarray(present.all(axis=1))
    shares = unit_weights(np.where(complete, 1.0, np.nan).reshape(len(runs), sizes[0], -1)).reshape(complete.shape)
    return Suite(np.where(complete[:, None, :, None], runs, np.nan), shares)


def parts_of(values: Floats, mean: str, benchmarks: Floats | float) -> Floats:
    """Return what one benchmark's value contributes to the mean of so many: factors of a geometric mean, else summands."""
    if mean == "geometric":
        return np.asarray(values ** (1.0 / benchmarks))
    return np.asarray((1.0 / values if mean == "harmonic" else values) / benchmarks)


def to_scale(values: Floats, mean: str) -> Floats:
    """Return what a mean averages: logs, values, or reciprocals with the sign that keeps their order."""
    if mean == "geometric":
        return np.log(values)
    return np.asarray(-1.0 / values if mean == "harmonic" else values)


def from_scale(averages: Floats, mean: str) -> Floats:
    """Return the mean whose average on its own scale is given."""
    if mean == "geometric":
        return np.exp(averages)
    return np.asarray(-1.0 / averages if mean == "harmonic" else averages)


def score_of(each: Floats, mean: str, counts: Floats) -> Floats:
    """Return the mean over benchmarks, the last axis, that count so often."""
    return from_scale((to_scale(each, mean) * counts).mean(axis=-1), mean)


def central_score(suite: Suite, mean: str) -> Floats:
    """Return the suite's score of all runs, each unit with equal weight, averaged on the mean's own scale; shape (cells,)."""
    weights = unit_weights(suite.runs)
    filled = np.where(np.isnan(suite.runs), 1.0, suite.runs)
    return from_scale(((to_scale(filled, mean) * weights).sum(axis=(-1, -2)) * suite.counts).mean(axis=-1), mean)


def units_of(suite: Suite) -> Floats:
    """Return how many units the benchmark with the fewest has, shape (cells,)."""
    return np.asarray((~np.isnan(suite.runs[..., 0])).sum(axis=-1).min(axis=-1)).astype(float)


def draw_scores(suite: Suite, cells: Integers, drawing: Drawing) -> Floats:
    """Draw scores, shape (cells, n_resamples); NaN where a benchmark was not measured."""
    drawn_scores = np.full((len(cells), drawing.n_resamples), np.nan)
    for block in _blocks(suite, cells, drawing):
        drawn_scores[block.rows] = _look_up(block, drawing)
    for cell, scores in _irregular_scores(suite, cells, drawing):
        drawn_scores[cell] = scores
    return drawn_scores


def summarise_scores(suite: Suite, cells: Integers, drawing: Drawing) -> Summary:
    """Draw scores and keep their five numbers and standard deviation."""
    summary = np.full((6, len(cells)), np.nan)
    for block in _blocks(suite, cells, drawing):
        summary[:, block.rows] = five_numbers(_look_up(block, drawing))
    for cell, scores in _irregular_scores(suite, cells, drawing):
        summary[:, cell] = five_numbers(scores)
    summary[5, summary[0] == summary[4]] = 0.0  # equal scores differ from their rounded mean
    return Summary(*summary)


def five_numbers(scores: Floats) -> Summary:
    """Return minimum, quartiles inf{x: F(x) >= p}, maximum and standard deviation along the last axis."""
    number = scores.shape[-1]
    spread = scores.std(axis=-1, ddof=1)
    ordered = np.sort(scores, axis=-1)
    q1, median, q3 = (ordered[..., rank(quarters, number)] for quarters in (1, 2, 3))
    return Summary(ordered[..., 0], q1, median, q3, ordered[..., -1], spread)


def rank(quarters: int, number: int) -> int:
    """Return the place of a quartile among so many ordered values."""
    return -(-quarters * number // 4) - 1


def equal_counts(suite: Suite) -> Integers:
    """Return the number of runs of every benchmark, where it is one number and the runs are equally likely; else 0; shape (cells,)."""
    if suite.shares is not None:
        return np.zeros(len(suite.runs), dtype=np.intp)
    measured = ~np.isnan(suite.runs)
    if measured.all():
        number = suite.runs[0, 0].size if suite.runs.size else 0
        return np.full(len(suite.runs), number if number <= TABLE else 0)
    inside = measured.sum(axis=-1)
    equal = ((inside == inside.max(axis=-1, keepdims=True)) | (inside == 0)).all(axis=(-1, -2))
    total = inside.sum(axis=-1)
    usable = equal & (total == total[:, :1]).all(axis=-1) & (total[:, 0] <= TABLE)
    return np.where(usable, total[:, 0], 0)


def _per_table(count: int, benchmarks: int) -> int:
    """Return how many benchmarks share a table."""
    together = 1
    while count > 1 and together < benchmarks and count ** (together + 1) <= TABLE:
        together += 1
    return together if count > 1 else benchmarks


def _blocks(suite: Suite, cells: Integers, drawing: Drawing) -> Iterator[Block]:
    """Return the cells with equal counts, as many at a time as are drawn together."""
    counts, benchmarks = equal_counts(suite), suite.runs.shape[1]
    for count in np.unique(counts[counts > 0]).tolist():
        together = _per_table(count, benchmarks)
        n_values = drawing.n_resamples * -(-benchmarks // together)
        size = max(1, BATCH // n_values)
        cells_of_count = np.flatnonzero(counts == count)
        for first in range(0, len(cells_of_count), size):
            rows = cells_of_count[first : first + size]
            yield Block(rows, cells[rows], _padded_parts(suite._replace(runs=suite.runs[rows]), count, together, drawing.mean), together)


def _padded_parts(suite: Suite, count: int, together: int, mean: str) -> Floats:
    """Return what every run contributes to the score (benchmarks, cells, runs), filled up with benchmarks that contribute nothing."""
    cells, benchmarks = suite.runs.shape[:2]
    flat = np.sort(suite.runs.reshape(cells, benchmarks, -1), axis=-1)[..., :count]
    contributions = np.full((-(-benchmarks // together) * together, cells, count), 1.0 if mean == "geometric" else 0.0)
    contributions[:benchmarks] = np.moveaxis(parts_of(flat, mean, suite.parts[:, None]), 1, 0)
    return contributions


def _look_up(block: Block, drawing: Drawing) -> Floats:
    """Return the scores (cells, n_resamples): each takes one entry of every table."""
    together, number, (_, cells, count) = block.together, drawing.n_resamples, block.contributions.shape
    combine = np.multiply if drawing.mean == "geometric" else np.add
    tables = block.contributions[::together]
    for index in range(1, together):
        tables = combine(block.contributions[index::together, :, :, None], tables[:, :, None]).reshape(len(tables), cells, -1)
    entries = count**together
    picks = Streams(drawing.key).below(entries, block.cells, block.stream, number * len(tables))
    picks += np.arange(cells)[:, None] * entries
    scores = np.full((cells, number), float(combine.identity))
    for index, table in enumerate(tables):
        combine(scores, table.ravel().take(picks[:, index :: len(tables)], mode="clip"), out=scores)
    return 1.0 / scores if drawing.mean == "harmonic" else scores


def _irregular_scores(suite: Suite, cells: Integers, drawing: Drawing) -> Iterator[tuple[int, Floats]]:
    """Return the places of the other cells and their scores, one by one: each has runs of its own shape."""
    irregular = (equal_counts(suite) == 0) & (units_of(suite) > 0)
    streams = Streams(drawing.key)
    for cell in np.flatnonzero(irregular).tolist():
        shares = None if suite.shares is None else suite.shares[cell]
        yield cell, _draw_runs(suite.runs[cell], shares, suite.counts, cells[[cell]], streams, drawing)


def _draw_runs(runs: Floats, shares: Floats | None, counts: Floats, cell: Integers, streams: Streams, drawing: Drawing) -> Floats:
    """Draw a unit, then a run in it, for every benchmark and replicate; shared units are drawn for all benchmarks at once."""
    inside = (~np.isnan(runs)).sum(axis=-1)
    if shares is None:
        order = np.argsort(inside == 0, axis=-1, kind="stable")
        runs, inside = np.take_along_axis(runs, order[..., None], axis=1), np.take_along_axis(inside, order, axis=1)
    units = (inside > 0).sum(axis=-1)
    each = np.arange(len(runs))
    scores = np.empty(drawing.n_resamples)
    size = max(1, BATCH // len(runs))
    for start in range(0, drawing.n_resamples, size):
        block = scores[start : start + size]
        window = len(block) * len(runs), start * len(runs)
        if shares is None:
            unit = streams.below(units, cell, RUNS, *window).reshape(len(block), -1)
        else:
            bounds = np.cumsum(shares)
            unit = np.searchsorted(bounds, streams.uniform(cell, RUNS, len(block), start)[0][:, None] * bounds[-1], side="right")
        run = streams.below(inside[each, unit].reshape(1, -1), cell, RUNS | 1, *window).reshape(len(block), -1)
        block[:] = score_of(runs[each, unit, run], drawing.mean, counts)
    return scores
