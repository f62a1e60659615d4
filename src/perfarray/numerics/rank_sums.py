"""The exact two-sample problem of a ratio: rank-sum tests of positive values, and the limits that invert them (Hodges and Lehmann 1963).

The number of ratios, of every value of one sample over every value of the other, below the true ratio is a rank-sum statistic (Mann and
Whitney 1947), if the logarithms of both have one shape. Ties count against the hypothesis tested, so that p-values are never too small.
"""

from functools import lru_cache

import numpy as np

from perfarray.numerics.types import Floats

# The name of the method.
RANK = "rank"

# The law is enumerated up to this product of the number of ratios and the smaller sample (100 against 100, 5 against 40,000); beyond it is
# the normal approximation with continuity correction, whose tails are too long.
ENUMERATED = 1e6

# Up to so many ratios are sorted; among more, single ones are found by bisection.
LISTED = 1e6

# Ratios with a smaller relative difference are equal.
TIE = 1e-12


@lru_cache(maxsize=64)
def _law(n: int, m: int) -> Floats:
    """Return the probability that at most 0, 1, ... of the n m ratios lie below the true one (n <= m)."""
    counts = np.zeros(n * m + 1)
    counts[0] = 1.0
    # The generating function is the product of (1 - x^(m + i)) / (1 - x^i) over i, exact in integers below 2^53.
    for i in range(1, n + 1):
        counts[m + i :] -= counts[: max(n * m + 1 - m - i, 0)].copy()
        for start in range(i):
            counts[start::i] = np.cumsum(counts[start::i])
    # Differences are rounded in the second half, which is the mirror image of the first.
    half = len(counts) // 2
    counts[len(counts) - half :] = counts[:half][::-1]
    return np.asarray(np.cumsum(counts) / counts.sum())


def _is_enumerated(n: int, m: int) -> bool:
    return n * m * min(n, m) <= ENUMERATED


def _moments(n: int, m: int) -> tuple[float, float]:
    """Return mean and standard deviation of the number of ratios below the true one."""
    return n * m / 2, float(np.sqrt(n * m * (n + m + 1) / 12))


def chance(most: int, n: int, m: int) -> float:
    """Return the probability that at most `most` of the n m ratios lie below the true one."""
    from scipy.special import ndtr

    if _is_enumerated(n, m):
        return float(_law(min(n, m), max(n, m))[most])
    mean, deviation = _moments(n, m)
    return float(ndtr((most + 0.5 - mean) / deviation))


def ratios_outside(n: int, m: int, risk: float) -> int:
    """Return how many of the n m ratios lie at or beyond a limit that fails with a probability of at most `risk`."""
    from scipy.special import ndtri

    risk *= 1 + TIE
    if _is_enumerated(n, m):
        return int(np.searchsorted(_law(min(n, m), max(n, m)), risk))
    mean, deviation = _moments(n, m)
    return max(int(np.floor(mean - 0.5 + deviation * ndtri(risk))) + 1, 0)


def _at_most(new: Floats, old: Floats, ratio: float) -> int:
    """Return how many ratios of ascending values are at most a value."""
    return int(np.searchsorted(new, ratio * old, side="right").sum())


def _ratios(new: Floats, old: Floats, order: list[int]) -> list[float]:
    """Return the order statistics, numbered from 0, of the ratios of ascending values."""
    if len(new) * len(old) <= LISTED:
        ratios: list[float] = np.partition((new[:, None] / old).ravel(), order)[order].tolist()
        return ratios
    ratios = []
    for number in order:
        low, high = np.log(new[0]) - np.log(old[-1]), np.log(new[-1]) - np.log(old[0])
        for _ in range(64):
            middle = (low + high) / 2
            low, high = (low, middle) if _at_most(new, old, np.exp(middle)) > number else (middle, high)
        ratios.append(float(np.exp(high)))
    return ratios


def hodges_lehmann(new: Floats, old: Floats) -> float:
    """Return the median of the ratios of two samples in ascending order, on the scale of logarithms."""
    size = len(new) * len(old)
    return float(np.exp(np.mean(np.log(_ratios(new, old, [(size - 1) // 2, size // 2]))))) if size else np.nan


def rank_limits(new: Floats, old: Floats, level: float) -> tuple[float, float]:
    """Return the ratios that a two-sided rank-sum test does not reject at 1 - level; 0 and infinity where it can reject none."""
    size = len(new) * len(old)
    outside = ratios_outside(len(new), len(old), (1 - level) / 2) if size else 0
    if not outside:
        return 0.0, np.inf
    low, high = _ratios(new, old, [outside - 1, size - outside])
    return low, high


def rank_pvalues(new: Floats, old: Floats, ratio: float) -> tuple[float, float]:
    """Return the one-sided p-values of "the true ratio is below" and "above" a value."""
    sizes = len(new), len(old)
    return chance(_at_most(old, new, (1 + TIE) / ratio), *sizes), chance(_at_most(new, old, ratio * (1 + TIE)), *sizes)


def units_with_rank_limits(level: float) -> int:
    """Return the smallest number of units a side with limits at a confidence level."""
    number = 2
    while not ratios_outside(number, number, (1 - level) / 2):
        number += 1
    return number
