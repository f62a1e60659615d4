"""A test of modes: whether a valley between them holds too few runs for a density with one mode.

Where a density only falls, an interval and the one beyond it share their runs at best in proportion
to their widths. A valley is an interval with too few runs for that on both of its sides (Duembgen
and Walther, "Multiscale inference about a density", 2008). Flat modes show deeper valleys than
round and skewed modes, so that uniform samples calibrate the test.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from perfarray.mixtures.numerics.grid import step_of
from perfarray.numerics.normality import spread_ties
from perfarray.numerics.random import RUNS, Streams
from perfarray.numerics.types import Floats, Integers, Mask

# Runs that a mode needs: the nearest two beyond the edge of a valley are compared with it.
LEAST = 3

# Number of runs from which on every second power of 2 is close enough.
DOUBLED = 16

# Values drawn at a time.
VALUES = 1 << 20

# Values whose valleys are sought at a time.
SOUGHT = 1 << 17

# Order statistics that are looked at; of more runs, every second, third, ...
MOST = 400


def deepest_valley(ordered: Floats, n: int) -> tuple[Floats, Floats]:
    """Return the depth and the middle of the deepest valley of samples, shape (sample,).

    Minus infinity where there is room for none.

    For a valley with c runs, and r runs from its edge to the end of a region beyond it, N = c + r
    and u is the valley's share of the width of both. Its depth on that side is sqrt(2 N KL(c / N,
    u)), the root of the likelihood ratio of binomials, less sqrt(2 log(e n / N)): short intervals
    are many. Of both sides the lesser counts, of regions beyond the deepest. Samples (sample,
    value) ascend without ties, and may be a subset of n values.
    """
    size, rows = ordered.shape[-1], np.arange(len(ordered))
    deepest, middle = np.full(len(ordered), -np.inf), np.full(len(ordered), np.nan)
    mirrored = -ordered[:, ::-1]
    for inside in (0, *_lengths(size - 2 * LEAST + 1, 1)):
        if size - inside < 2 * LEAST:
            break
        depth = np.minimum(_depth(ordered, n, inside), _depth(mirrored, n, inside)[:, ::-1])
        start = depth.argmax(axis=-1)
        deeper = depth[rows, start] > deepest
        deepest = np.where(deeper, depth[rows, start], deepest)
        middle = np.where(
            deeper, 0.5 * (ordered[rows, start] + ordered[rows, start + inside + 1]), middle
        )
    return deepest, middle


def _depth(ordered: Floats, n: int, inside: int) -> Floats:
    """Return the depth of every valley (sample, valley) with some runs inside, from its right."""
    size = ordered.shape[-1]
    valleys = size - inside - 1
    width = ordered[:, inside + 1 :] - ordered[:, :valleys]
    deepest = np.full((len(ordered), valleys), -np.inf)
    for outside in _lengths(valleys, LEAST - 1):
        total, stop = inside + outside, valleys - outside
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = width[:, :stop] / (ordered[:, inside + 1 + outside :] - ordered[:, :stop])
            share = inside / total
            divergence = (1 - share) * np.log((1 - share) / (1 - expected)) + (
                share * np.log(share / expected) if inside else 0.0
            )
        root = np.sqrt(np.where((expected > share) & (divergence > 0), 2 * total * divergence, 0.0))
        deepest[:, :stop] = np.fmax(deepest[:, :stop], root - np.sqrt(2 * np.log(np.e * n / total)))
    return deepest


@lru_cache(maxsize=256)
def _lengths(below: int, first: int) -> tuple[int, ...]:
    """Return numbers of runs to look at: half as many again each time."""
    lengths = []
    while first < below:
        lengths.append(first)
        first = max(first + 1, first * 3 // 2) if first < DOUBLED else 2 * first
    return tuple(lengths)


def supported_modes(
    runs: Floats,
    number: Floats,
    cells: Integers,
    *,
    n_samples: int,
    alpha: float,
    key: tuple[int, int],
    centred: bool = False,
) -> tuple[Floats, Floats]:
    """Test numbers of modes (cell,) of samples (cell, units, runs) against fewer.

    Return the supported numbers, and p of each test.

    Samples are cut at their deepest valley as long as samples of one mode do not show valleys as
    deep. Drawn runs of a unit have the intraclass correlation of the data; with `centred`, runs are
    deviations from the mean of their unit, as are then those drawn. One mode is supported, with p
    NaN; without a number both are NaN.
    """
    n_supported, pvalue = np.where(number > 0, 1.0, np.nan), np.full(len(runs), np.nan)
    tested, streams = np.flatnonzero(number > 1), Streams(key)
    sizes = (~np.isnan(runs[tested])).sum(axis=(-2, -1))
    for size in np.unique(sizes):
        same_size = tested[sizes == size]
        step = max(1, SOUGHT // (n_samples * int(size)))
        # Some cells at a time bound the memory: their samples of one mode are of one length.
        for start in range(0, len(same_size), step):
            rows, drawn, spread = same_size[start : start + step], [], []
            for row in rows:  # each cell has a stream of its own
                measured = ~np.isnan(runs[row])
                correlation = 0.0 if centred else _intraclass_correlation(runs[row])
                generator = streams.generator(int(cells[row]), RUNS)
                block = max(1, VALUES // measured.size)
                drawn += [
                    _one_mode(
                        measured, correlation, centred, min(block, n_samples - first), generator
                    )
                    for first in range(0, n_samples, block)
                ]
                # The gaps of a grid are no valleys.
                sample = runs[row][measured]
                grid = step_of(sample)
                spread.append(_thinned(spread_ties(sample, None if np.isnan(grid) else grid)))
            samples = np.concatenate(drawn)
            null = deepest_valley(samples, samples.shape[-1])[0].reshape(len(rows), n_samples)
            null.sort(axis=-1)
            cuts = _valleys(spread, number[rows].astype(int) - 1)
            for row, ordered, depths in zip(rows, null, cuts, strict=True):
                exceeding = n_samples - np.searchsorted(ordered, depths, side="left")
                pvalues = np.maximum.accumulate((1 + exceeding) / (n_samples + 1))
                n_supported[row], pvalue[row] = 1 + (pvalues <= alpha).sum(), pvalues[-1]
    return n_supported, pvalue


def _valleys(samples: Sequence[Floats], n_cuts: Integers) -> list[list[float]]:
    """Return the depths of the valleys at which samples of one size are cut.

    Each time the deepest of all pieces of a sample.
    """
    n, waiting = len(samples[0]), list(enumerate(samples))
    pieces: list[list[tuple[Floats, float, float]]] = [[] for _ in samples]
    depths: list[list[float]] = [[] for _ in samples]
    while waiting:
        lengths = np.array([len(piece) for _, piece in waiting])
        valleys = np.empty((len(waiting), 2))
        for length in np.unique(lengths):  # pieces of one length are looked at together
            places = np.flatnonzero(lengths == length)
            together = np.stack([waiting[place][1] for place in places])
            valleys[places] = np.column_stack(deepest_valley(together, n))
        for (row, piece), (depth, middle) in zip(waiting, valleys, strict=True):
            pieces[row].append((piece, depth, middle))
        waiting = []
        for row, candidates in enumerate(pieces):
            if len(depths[row]) == n_cuts[row]:
                continue
            deepest = int(np.argmax([depth for _, depth, _ in candidates]))
            piece, depth, middle = candidates.pop(deepest)
            depths[row].append(depth)
            if len(depths[row]) < n_cuts[row]:
                waiting += [(row, piece[piece < middle]), (row, piece[piece > middle])]
    return depths


def _one_mode(
    measured: Mask, correlation: float, centred: bool, number: int, generator: np.random.Generator
) -> Floats:
    """Draw samples (sample, value) of one flat mode with the units of a cell, ascending."""
    shape = (number, *measured.shape)
    values = np.where(measured, generator.standard_normal(shape), np.nan)
    if centred:
        empty = ~measured.any(axis=-1, keepdims=True)
        values = values - np.nanmean(np.where(empty, 0.0, values), axis=-1, keepdims=True)
    elif correlation > 0:
        values = (
            np.sqrt(1 - correlation) * values
            + np.sqrt(correlation) * generator.standard_normal(shape[:-1])[..., None]
        )
    return _thinned(np.sort(ndtr(values[:, measured]), axis=-1))


def _thinned(ordered: Floats) -> Floats:
    return ordered[..., :: 1 + (ordered.shape[-1] - 1) // MOST]


def _intraclass_correlation(runs: Floats) -> float:
    """Return the correlation of the runs of a unit, from the analysis of variance.

    0 for one unit, or units of one run.
    """
    inside = (~np.isnan(runs)).sum(axis=-1)
    runs, inside = runs[inside > 0], inside[inside > 0]
    units, total = len(runs), int(inside.sum())
    if units < 2 or total == units:
        return 0.0
    means = np.nanmean(runs, axis=-1)
    between = (inside * (means - np.nansum(runs) / total) ** 2).sum() / (units - 1)
    within = np.nansum((runs - means[:, None]) ** 2) / (total - units)
    size = (total - (inside**2).sum() / total) / (units - 1)
    return (
        float(np.clip((between - within) / (between + (size - 1) * within), 0.0, 1.0))
        if between > 0
        else 0.0
    )
