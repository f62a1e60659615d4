"""Whether modes are more than chance: valleys between them that hold too few runs for a density with one mode.

Where a density only falls, an interval and the one beyond it share their runs at best as they share their width. A valley is an interval
with too few runs for that on both of its sides (Duembgen and Walther, "Multiscale inference about a density", 2008). Flat modes show
deeper ones than round and skewed modes, so that uniform samples calibrate it.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from perfarray.mixtures.numerics.grid import spread_ties
from perfarray.numerics.random import RUNS, Streams
from perfarray.numerics.types import Floats, Integers, Mask

LEAST = 3
"""Runs that a mode needs: the nearest two beyond the edge of a valley are compared with it."""

DOUBLED = 16
"""Numbers of runs from which on every second power of 2 is close enough."""

VALUES = 1 << 20
"""Values drawn at a time."""

MOST = 400
"""Order statistics that are looked at; of more runs, every second, third, ..."""


class Support(NamedTuple):
    """How many modes of every cell the runs support, and the p-value of the number tested against fewer."""

    n_supported: Floats
    pvalue: Floats


class SupportTest(NamedTuple):
    """Samples drawn for the test, the risk, and what all streams begin with."""

    n_resamples: int
    alpha: float
    key: tuple[int, int]


def deepest_valley(ordered: Floats, n: int) -> tuple[Floats, Floats]:
    """Return how deep the deepest valley of samples is, and its middle, shape (sample,); minus infinity where there is room for none.

    For a valley with c runs, and r runs from its edge to the end of a region beyond it, N = c + r and u is the valley's share of the
    width of both. Its depth on that side is sqrt(2 N KL(c / N, u)), the root of the likelihood ratio of binomials, less
    sqrt(2 log(e n / N)): short intervals are many. Of both sides the lesser counts, of regions beyond the deepest.

    Parameters
    ----------
    ordered : array, shape (sample, value)
        Values in ascending order without ties.
    n : int
        Values of the whole sample, of which these may be a part.
    """
    size, rows = ordered.shape[-1], np.arange(len(ordered))
    deepest, middle = np.full(len(ordered), -np.inf), np.full(len(ordered), np.nan)
    mirrored = -ordered[:, ::-1]
    for inside in (0, *_lengths(size - 2 * LEAST + 1, 1)):
        if size - inside < 2 * LEAST:
            break
        depth = np.minimum(_depth(ordered, n, inside), _depth(mirrored, n, inside)[:, ::-1])
        place = depth.argmax(axis=-1)
        deeper = depth[rows, place] > deepest
        deepest = np.where(deeper, depth[rows, place], deepest)
        middle = np.where(deeper, 0.5 * (ordered[rows, place] + ordered[rows, place + inside + 1]), middle)
    return deepest, middle


def _depth(ordered: Floats, n: int, inside: int) -> Floats:
    """Return how deep every valley with some runs inside is, seen from the right of it, shape (sample, valley)."""
    size = ordered.shape[-1]
    valleys = size - inside - 1
    width = ordered[:, inside + 1 :] - ordered[:, :valleys]
    found = np.full((len(ordered), valleys), -np.inf)
    for beyond in _lengths(valleys, LEAST - 1):
        together, some = inside + beyond, valleys - beyond
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = width[:, :some] / (ordered[:, inside + 1 + beyond :] - ordered[:, :some])
            share = inside / together
            distance = (1 - share) * np.log((1 - share) / (1 - expected)) + (share * np.log(share / expected) if inside else 0.0)
        few = np.sqrt(np.where((expected > share) & (distance > 0), 2 * together * distance, 0.0)) - np.sqrt(
            2 * np.log(np.e * n / together)
        )
        found[:, :some] = np.fmax(found[:, :some], few)
    return found


@lru_cache(maxsize=256)
def _lengths(below: int, first: int) -> tuple[int, ...]:
    """Return numbers of runs that are looked at: from the first on, half as many again each time."""
    found = []
    while first < below:
        found.append(first)
        first = max(first + 1, first * 3 // 2) if first < DOUBLED else 2 * first
    return tuple(found)


def supported_modes(runs: Floats, number: Floats, cells: Integers, testing: SupportTest, *, centred: bool = False) -> Support:
    """Test numbers of modes against fewer: samples are cut at their deepest valley while one mode does not show valleys as deep.

    Parameters
    ----------
    runs : array, shape (cell, units, runs)
        Samples; NaN is not measured.
    number : array, shape (cell,)
        The number of modes to be tested.
    cells : int array, shape (cell,)
        Keys of the cells, which name the streams.
    testing : SupportTest
        How often samples are drawn, and the risk.
    centred : bool
        Whether the runs of a unit are deviations from their mean, as are then those drawn.

    Returns
    -------
    Support
        Of one mode there is nothing to test: p is NaN, and 1 is supported. NaN without a number.

    Notes
    -----
    Runs of a unit resemble each other in what is drawn as they do in the data: by their intraclass correlation.
    """
    found = Support(np.where(number > 0, 1.0, np.nan), np.full(len(runs), np.nan))
    streams = Streams(testing.key)
    for row in np.flatnonzero(number > 1):  # one after the other: each has a stream of its own
        measured, generator = ~np.isnan(runs[row]), streams.generator(int(cells[row]), RUNS)
        resemblance, step = 0.0 if centred else _resemblance(runs[row]), max(1, VALUES // measured.size)
        blocks = [min(step, testing.n_resamples - start) for start in range(0, testing.n_resamples, step)]
        drawn = np.concatenate([_one_mode(measured, resemblance, centred, some, generator) for some in blocks])
        null = np.sort(deepest_valley(drawn, drawn.shape[-1])[0])
        depths = _valleys(_thinned(spread_ties(np.sort(runs[row][measured]))), int(number[row]) - 1)
        pvalues = np.maximum.accumulate((1 + len(null) - np.searchsorted(null, depths, side="left")) / (len(null) + 1))
        found.n_supported[row], found.pvalue[row] = 1 + (pvalues <= testing.alpha).sum(), pvalues[-1]
    return found


def _valleys(sample: Floats, number: int) -> Floats:
    """Return how deep the valleys are at which a sample is cut, part by part, the deepest of all parts first."""
    parts, depths = [(sample, *(found[0] for found in deepest_valley(sample[None], len(sample))))], []
    for _ in range(number):
        part, depth, middle = parts.pop(int(np.argmax([part[1] for part in parts])))
        depths.append(depth)
        for half in (part[part < middle], part[part > middle]):
            parts.append((half, *(found[0] for found in deepest_valley(half[None], len(sample)))))
    return np.array(depths)


def _one_mode(measured: Mask, resemblance: float, centred: bool, number: int, generator: np.random.Generator) -> Floats:
    """Draw samples of one flat mode with the units of a cell, shape (sample, value), ascending: normal ones, made uniform."""
    shape = (number, *measured.shape)
    drawn = np.where(measured, generator.standard_normal(shape), np.nan)
    if centred:
        empty = ~measured.any(axis=-1, keepdims=True)
        drawn = drawn - np.nanmean(np.where(empty, 0.0, drawn), axis=-1, keepdims=True)
    elif resemblance > 0:
        drawn = np.sqrt(1 - resemblance) * drawn + np.sqrt(resemblance) * generator.standard_normal(shape[:-1])[..., None]
    return _thinned(np.sort(ndtr(drawn[:, measured]), axis=-1))


def _thinned(ordered: Floats) -> Floats:
    """Return at most `MOST` order statistics."""
    return ordered[..., :: 1 + (ordered.shape[-1] - 1) // MOST]


def _resemblance(runs: Floats) -> float:
    """Return the intraclass correlation of the runs of a unit, from the analysis of variance; 0 for one unit, or units of one run."""
    inside = (~np.isnan(runs)).sum(axis=-1)
    runs, inside = runs[inside > 0], inside[inside > 0]
    units, total = len(runs), int(inside.sum())
    if units < 2 or total == units:
        return 0.0
    means = np.nanmean(runs, axis=-1)
    between = (inside * (means - np.nansum(runs) / total) ** 2).sum() / (units - 1)
    within = np.nansum((runs - means[:, None]) ** 2) / (total - units)
    size = (total - (inside**2).sum() / total) / (units - 1)
    return float(np.clip((between - within) / (between + (size - 1) * within), 0.0, 1.0)) if between > 0 else 0.0
