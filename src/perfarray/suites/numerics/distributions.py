"""The distribution of a suite's score: one run drawn per benchmark, then the mean over benchmarks (Irving et al. 2018, section 5).

Cells whose benchmarks all have n equally likely runs are drawn together: the parts that a few benchmarks add to the score form a table
with an entry for every combination of their runs, and one random number picks an entry. What differs from cell to cell is the table.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from perfarray.numerics.levels import unit_means, unit_weights
from perfarray.numerics.random import RUNS, SCORES, Streams
from perfarray.numerics.types import Floats, Integers

TABLE = 1 << 10
"""Most entries of a table of combinations: a power of two, small enough for the cache."""

BATCH, BATCH_COMPILED = 1 << 16, 1 << 21
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
    """How many scores are drawn, by which mean, from which key, by which engine."""

    n_resamples: int
    mean: str
    key: tuple[int, int]
    engine: str = "numpy"


class Block(NamedTuple):
    """Cells with equal counts that are drawn together: their places, their keys, and what their runs contribute to the score.

    `parts` has shape (benchmarks, cells, runs), the benchmarks filled up to a multiple of the `together` that share a table.
    """

    places: Integers
    cells: Integers
    parts: Floats
    together: int

    @property
    def stream(self) -> int:
        """Where the random numbers come from: suites with other numbers of runs take others."""
        return SCORES | int(self.parts.shape[2])


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
    whole = np.asarray(present.all(axis=1))
    shares = unit_weights(np.where(whole, 1.0, np.nan).reshape(len(runs), sizes[0], -1)).reshape(whole.shape)
    return Suite(np.where(whole[:, None, :, None], runs, np.nan), shares)


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
    found = np.full((len(cells), drawing.n_resamples), np.nan)
    for block in _blocks(suite, cells, drawing):
        found[block.places] = _block_scores(block, drawing)
    for place, scores in _irregular_scores(suite, cells, drawing):
        found[place] = scores
    return found


def summarise_scores(suite: Suite, cells: Integers, drawing: Drawing) -> Summary:
    """Draw scores and keep their five numbers and standard deviation."""
    found = np.full((6, len(cells)), np.nan)
    for block in _blocks(suite, cells, drawing):
        found[:, block.places] = _block_summary(block, drawing)
    for place, scores in _irregular_scores(suite, cells, drawing):
        found[:, place] = five_numbers(scores)
    found[5, found[0] == found[4]] = 0.0  # equal scores differ from their rounded mean
    return Summary(*found)


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
    alike = ((inside == inside.max(axis=-1, keepdims=True)) | (inside == 0)).all(axis=(-1, -2))
    total = inside.sum(axis=-1)
    usable = alike & (total == total[:, :1]).all(axis=-1) & (total[:, 0] <= TABLE)
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
        kept = drawing.n_resamples * -(-benchmarks // together)
        size = max(1, (BATCH_COMPILED if drawing.engine == "numba" else BATCH) // kept)
        every = np.flatnonzero(counts == count)
        for first in range(0, len(every), size):
            places = every[first : first + size]
            yield Block(
                places, cells[places], _padded_parts(suite._replace(runs=suite.runs[places]), count, together, drawing.mean), together
            )


def _padded_parts(suite: Suite, count: int, together: int, mean: str) -> Floats:
    """Return what every run contributes to the score (benchmarks, cells, runs), filled up with benchmarks that contribute nothing."""
    cells, benchmarks = suite.runs.shape[:2]
    flat = np.sort(suite.runs.reshape(cells, benchmarks, -1), axis=-1)[..., :count]
    parts = np.full((-(-benchmarks // together) * together, cells, count), 1.0 if mean == "geometric" else 0.0)
    parts[:benchmarks] = np.moveaxis(parts_of(flat, mean, suite.parts[:, None]), 1, 0)
    return parts


def _block_scores(block: Block, drawing: Drawing) -> Floats:
    """Return the scores of a block, shape (cells, n_resamples)."""
    return _drawn_compiled(block, drawing) if drawing.engine == "numba" else _look_up(block, drawing)


def _block_summary(block: Block, drawing: Drawing) -> Summary | Floats:
    """Return the five numbers and the standard deviation of the scores of a block, shape (6, cells)."""
    if drawing.engine != "numba":
        return five_numbers(_look_up(block, drawing))
    from perfarray.numerics.compiled import in_parts
    from perfarray.suites.numerics.compiled import summary_compiled

    scores, found = _drawn_compiled(block, drawing), np.empty((6, len(block.cells)))

    def describe(part: slice) -> None:
        found[:, part] = summary_compiled(scores[part])

    in_parts(describe, *scores.shape)
    return found


def _drawn_compiled(block: Block, drawing: Drawing) -> Floats:
    """Return the scores of a block (cells, n_resamples) as compiled code draws them, in threads."""
    from perfarray.numerics.compiled import combine, in_parts

    multiply = drawing.mean == "geometric"
    scores = np.full((len(block.cells), drawing.n_resamples), 1.0 if multiply else 0.0)
    how: dict[str, Any] = {"together": block.together, "multiply": multiply}
    key = Streams(drawing.key).key

    def work(part: slice) -> None:
        refused = combine(scores[None, None], block.parts[None], key, block.cells, block.stream, at=part, **how)
        if drawing.mean == "harmonic":
            np.divide(1.0, scores[part], out=scores[part], where=~refused[:, None])
        if refused.any():
            left = part.start + np.flatnonzero(refused)
            scores[left] = _look_up(block._replace(cells=block.cells[left], parts=block.parts[:, left]), drawing)

    in_parts(work, len(scores), drawing.n_resamples * len(block.parts) // block.together)
    return scores


def _look_up(block: Block, drawing: Drawing) -> Floats:
    """Return the scores (cells, n_resamples): each takes one entry of every table."""
    together, number, (_, cells, count) = block.together, drawing.n_resamples, block.parts.shape
    combine = np.multiply if drawing.mean == "geometric" else np.add
    tables = block.parts[::together]
    for place in range(1, together):
        tables = combine(block.parts[place::together, :, :, None], tables[:, :, None]).reshape(len(tables), cells, -1)
    entries = count**together
    picks = Streams(drawing.key, drawing.engine).below(entries, block.cells, block.stream, number * len(tables))
    picks += np.arange(cells)[:, None] * entries
    scores = np.full((cells, number), float(combine.identity))
    for place, table in enumerate(tables):
        combine(scores, table.ravel().take(picks[:, place :: len(tables)], mode="clip"), out=scores)
    return 1.0 / scores if drawing.mean == "harmonic" else scores


def _irregular_scores(suite: Suite, cells: Integers, drawing: Drawing) -> Iterator[tuple[int, Floats]]:
    """Return the places of the other cells and their scores, one by one: each has runs of its own shape."""
    others = (equal_counts(suite) == 0) & (units_of(suite) > 0)
    streams = Streams(drawing.key, drawing.engine)
    for place in np.flatnonzero(others).tolist():
        shares = None if suite.shares is None else suite.shares[place]
        yield place, _draw_runs(suite.runs[place], shares, suite.counts, cells[[place]], streams, drawing)


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
        part = scores[start : start + size]
        place = len(part) * len(runs), start * len(runs)
        if shares is None:
            unit = streams.below(units, cell, RUNS, *place).reshape(len(part), -1)
        else:
            bounds = np.cumsum(shares)
            unit = np.searchsorted(bounds, streams.uniform(cell, RUNS, len(part), start)[0][:, None] * bounds[-1], side="right")
        run = streams.below(inside[each, unit].reshape(1, -1), cell, RUNS | 1, *place).reshape(len(part), -1)
        part[:] = score_of(runs[each, unit, run], drawing.mean, counts)
    return scores
