"""The hierarchical performance test of Chen et al.: rank sums within benchmarks, signed ranks over them.

T. Chen et al., "Statistical performance comparisons of computers", IEEE Transactions on Computers 64(5), 2015. Exact p-values, given
the ties.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.levels import Floats
from perfarray.numerics.suite import run_statistic

ZEROS = ("drop", "pratt", "split")

EXACT = 50
"""Rank sums of fewer runs a side are enumerated; above, the normal approximation with corrections for ties and continuity (R's rule)."""

STEPS = 34
"""Bisections of the range of factors: the last is 6e-11 of the first."""


class Performance(NamedTuple):
    """How surely the first system has the larger values, and the largest factor for which that still holds at a confidence."""

    confidence: Floats
    speedup: Floats


def doubled_ranks(values: Floats) -> npt.NDArray[np.intp]:
    """Return twice the mid-ranks along the last axis: whole numbers, ties or not."""
    less = values[..., None, :] < values[..., :, None]
    equal = values[..., None, :] == values[..., :, None]
    return np.asarray(2 * less.sum(axis=-1) + equal.sum(axis=-1) + 1)


@lru_cache(maxsize=1024)
def _sums_of_subsets(ranks: tuple[int, ...], size: int) -> Floats:
    """Return the distribution of the sum of `size` of the ranks, each subset as likely as every other."""
    counts = np.zeros((size + 1, sum(ranks) + 1))
    counts[0, 0] = 1.0
    for rank in ranks:
        counts[1:, rank:] += counts[:-1, : counts.shape[1] - rank].copy()
    return np.asarray(counts[size] / counts[size].sum())


@lru_cache(maxsize=1024)
def _sums_of_signs(ranks: tuple[int, ...]) -> Floats:
    """Return the distribution of the sum of the ranks that get a plus, each sign a fair coin."""
    found = np.zeros(sum(ranks) + 1)
    found[0] = 1.0
    for rank in ranks:
        found[rank:] += found[: len(found) - rank].copy()
        found /= 2
    return found


def rank_sum_pvalue(x: Floats, y: Floats) -> float:
    """Return the two-sided p-value of Wilcoxon's rank-sum test: exact given the ties, or normal for 50 runs a side and more.

    Parameters
    ----------
    x, y : arrays, shape (runs,)
        Two samples without NaN.

    Returns
    -------
    float
    """
    ranks = doubled_ranks(np.concatenate([x, y]))
    total, mean = int(ranks[: len(x)].sum()), len(x) * (len(x) + len(y) + 1)
    distance = abs(total - mean)
    if len(x) < EXACT and len(y) < EXACT:
        chances = _sums_of_subsets(tuple(np.sort(ranks).tolist()), len(x))
        return float(min(1.0, chances[np.abs(np.arange(len(chances)) - mean) >= distance].sum()))
    from scipy.special import ndtr

    number = len(ranks)
    spread = np.sqrt(len(x) * len(y) * np.var(ranks, ddof=1) / number)
    return float(min(1.0, 2 * ndtr(-max(distance - 1, 0) / spread))) if spread > 0 else 1.0


def signed_rank_pvalue(differences: Floats, zeros: str = "drop") -> float:
    """Return the exact one-sided p-value of Wilcoxon's signed-rank test: small where the differences are positive.

    Parameters
    ----------
    differences : array, shape (benchmarks,)
        Differences without NaN.
    zeros : {"drop", "pratt", "split"}
        Zeros are dropped before ranking (Wilcoxon), ranked and then dropped (Pratt), or ranked, and half of their ranks given to either
        side (which shifts the statistic, and leaves the p-value as Pratt's).

    Returns
    -------
    float
        1 where all differences are zero.
    """
    if zeros == "drop":
        differences = differences[differences != 0]
    ranks = doubled_ranks(np.abs(differences))
    counts = differences != 0
    if not counts.any():
        return 1.0
    chances = _sums_of_signs(tuple(np.sort(ranks[counts]).tolist()))
    return float(min(1.0, chances[ranks[differences > 0].sum() :].sum()))


def kept_differences(x: list[Floats], y: list[Floats], alpha: float) -> Floats:
    """Return the difference of medians of every benchmark, 0 where the rank-sum test sees none at `alpha`."""
    found = np.zeros(len(x))
    for place, (one, other) in enumerate(zip(x, y, strict=True)):
        if rank_sum_pvalue(one, other) <= alpha:
            found[place] = run_statistic(one, "median") - run_statistic(other, "median")
    return found


def hierarchical_test(x: Floats, y: Floats, alpha: float, confidence_level: float, zeros: str = "drop") -> Performance:
    """Test whether a suite's values are larger in the first system.

    Parameters
    ----------
    x, y : arrays, shape (..., benchmarks, units)
        Positive values, one per unit; NaN where not measured. Benchmarks that one system lacks are left out.
    alpha : float
        Of the rank-sum tests.
    confidence_level : float
        Of the speedup.
    zeros : {"drop", "pratt", "split"}
        What the signed-rank test does with benchmarks that show no difference.

    Returns
    -------
    Performance
        `confidence` = 1 - exact one-sided p; `speedup`: the largest factor f such that the first system, divided by f, is still larger at
        the confidence asked for, NaN where none is (few benchmarks, few runs).
    """
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    confidence, speedup = np.full((2, int(np.prod(batch))), np.nan)
    sides = [np.broadcast_to(side, (*batch, *side.shape[-2:])).reshape(-1, *side.shape[-2:]) for side in (x, y)]
    # Every cell is a search of its own: a loop over cells.
    for cell, (one, other) in enumerate(zip(*sides, strict=True)):
        rows = [[row[~np.isnan(row)] for row in side] for side in (one, other)]
        both = [(a, b) for a, b in zip(*rows, strict=True) if len(a) and len(b)]
        if both:
            first, second = [a for a, _ in both], [b for _, b in both]
            confidence[cell] = _confidence(first, second, 1.0, alpha, zeros)
            speedup[cell] = _largest_factor(first, second, alpha, confidence_level, zeros)
    return Performance(confidence.reshape(batch), speedup.reshape(batch))


def _confidence(x: list[Floats], y: list[Floats], factor: float, alpha: float, zeros: str) -> float:
    """Return how surely x / factor is larger than y."""
    return 1.0 - signed_rank_pvalue(kept_differences([row / factor for row in x], y, alpha), zeros)


def _largest_factor(x: list[Floats], y: list[Floats], alpha: float, confidence_level: float, zeros: str) -> float:
    """Find the largest factor at which the confidence is still as asked, by bisection on the log scale."""
    low = np.log(min(a.min() / b.max() for a, b in zip(x, y, strict=True))) - 1e-6
    high = np.log(max(a.max() / b.min() for a, b in zip(x, y, strict=True))) + 1e-6
    if _confidence(x, y, np.exp(low), alpha, zeros) < confidence_level:
        return np.nan
    for _ in range(STEPS):
        middle = (low + high) / 2
        accepted = _confidence(x, y, np.exp(middle), alpha, zeros) >= confidence_level
        low, high = (middle, high) if accepted else (low, middle)
    return float(np.exp(low))
