"""The exact two-sample problem of a ratio: rank-sum tests of positive values, and the limits that invert them (Hodges and Lehmann 1963).

Of the ratios of every value of one sample over every value of the other, as many lie below the true ratio as a rank-sum statistic says, if
the logarithms of both have one shape. Ties count against what is tested: p-values are then never too small.
"""

from functools import lru_cache

import numpy as np

from perfarray.numerics.types import Floats

RANK = "rank"
"""What the method is called."""

EXACT = 50
"""Sums of fewer values a side are enumerated; above, the normal approximation with its correction for continuity (R's rule)."""

TIE = 1e-12
"""Ratios that differ by less, relatively, are equal."""


@lru_cache(maxsize=256)
def law(n: int, m: int) -> Floats:
    """Return the probability that at most 0, 1, ... of the n m ratios lie below the true one."""
    if n < EXACT and m < EXACT:
        counts = np.zeros(n * m + 1)
        counts[0] = 1.0
        # The generating function: product of (1 - x^(m + i)) / (1 - x^i) over i, exact in whole numbers below 2^53, and to rounding above.
        for i in range(1, n + 1):
            counts[m + i :] -= counts[: -(m + i)].copy() if m + i <= n * m else 0.0
            for start in range(i):
                counts[start::i] = np.cumsum(counts[start::i])
        return np.asarray(np.cumsum(counts) / counts.sum())
    from scipy.special import ndtr

    return np.asarray(ndtr((np.arange(n * m + 1) + 0.5 - n * m / 2) / np.sqrt(n * m * (n + m + 1) / 12)))


def hodges_lehmann(new: Floats, old: Floats) -> float:
    """Return the median of the ratios of two samples, on the scale of logarithms."""
    if not len(new) or not len(old):
        return np.nan
    return float(np.exp(np.median(np.log(new)[:, None] - np.log(old))))


def rank_limits(new: Floats, old: Floats, level: float) -> tuple[float, float]:
    """Return the ratios that a two-sided rank-sum test does not reject at 1 - level; 0 and infinity where it can reject none."""
    place = int(np.searchsorted(law(len(new), len(old)), (1 - level) / 2 * (1 + TIE), side="left"))
    if not place or not len(new) or not len(old):
        return 0.0, np.inf
    ratios = (new[:, None] / old).ravel()
    ends = place - 1, len(ratios) - place
    low, high = np.partition(ratios, ends)[list(ends)]
    return float(low), float(high)


def rank_pvalues(new: Floats, old: Floats, ratio: float) -> tuple[float, float]:
    """Return the one-sided p-values of "the true ratio is below" and "above" a value."""
    ratios = new[:, None] / old / ratio
    chances = law(len(new), len(old))
    return float(chances[(ratios >= 1 - TIE).sum()]), float(chances[(ratios <= 1 + TIE).sum()])


def units_with_rank_limits(level: float) -> int:
    """Return how many units a side have limits at a confidence level."""
    number = 2
    while law(number, number)[0] > (1 - level) / 2 * (1 + TIE):
        number += 1
    return number
