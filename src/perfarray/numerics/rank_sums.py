"""The exact two-sample problem of a ratio: rank-sum tests, and limits that invert them.

The number of ratios, of every value of one sample over every value of the other, below the true
ratio is a rank-sum statistic (Mann and Whitney 1947), if the logarithms of both have one shape.
Tied values have their mean rank, and the law of the sum is that of all exchanges of the ranks that
there are (the shift algorithm of Streitberg and Roehmel 1986).
"""

from functools import lru_cache

import numpy as np

from perfarray.numerics.types import Floats, Integers

# The name of the method.
RANK = "rank"

# The law is enumerated up to this product of the number of ratios and the smaller sample (100
# against 100, 5 against 40,000); beyond it is the normal approximation with continuity correction,
# whose tails are too long.
ENUMERATED = 1e6

# With ties up to this product (31 against 31), since every pattern of ties has a law of its own.
# The normal law beyond has their variance.
ENUMERATED_TIES = 3e4

# Up to so many ratios are sorted; among more, single ones are found by bisection.
LISTED = 1e6

# Ratios with a smaller relative difference are equal.
TIE = 1e-12


@lru_cache(maxsize=64)
def _law(n: int, m: int) -> Floats:
    """Return the chance that at most 0, 1, ... of n m ratios lie below the true one (n <= m)."""
    counts = np.zeros(n * m + 1)
    counts[0] = 1.0
    # The generating function is the product of (1 - x^(m + i)) / (1 - x^i) over i, exact in
    # integers below 2^53.
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


def chance(max_count: int, n: int, m: int) -> float:
    """Return the probability that at most `max_count` of the n m ratios lie below the true one."""
    from scipy.special import ndtr

    if _is_enumerated(n, m):
        return float(_law(min(n, m), max(n, m))[max_count])
    mean, deviation = _moments(n, m)
    return float(ndtr((max_count + 0.5 - mean) / deviation))


def ratios_outside(n: int, m: int, risk: float) -> int:
    """Return how many of the n m ratios lie at or beyond a limit that fails at `risk` or less."""
    from scipy.special import ndtri

    risk *= 1 + TIE
    if _is_enumerated(n, m):
        return int(np.searchsorted(_law(min(n, m), max(n, m)), risk))
    mean, deviation = _moments(n, m)
    return max(int(np.floor(mean - 0.5 + deviation * ndtri(risk))) + 1, 0)


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
            at_most = np.searchsorted(new, np.exp(middle) * old, side="right").sum()
            low, high = (low, middle) if at_most > number else (middle, high)
        ratios.append(float(np.exp(high)))
    return ratios


def hodges_lehmann(new: Floats, old: Floats) -> float:
    """Return the median of the ratios of two ascending samples, on the scale of logarithms."""
    size = len(new) * len(old)
    return (
        float(np.exp(np.mean(np.log(_ratios(new, old, [(size - 1) // 2, size // 2])))))
        if size
        else np.nan
    )


def rank_limits(new: Floats, old: Floats, level: float) -> tuple[float, float]:
    """Return the ratios that a two-sided rank-sum test does not reject at 1 - level.

    0 and infinity where it can reject none.
    """
    size, risk = len(new) * len(old), (1 - level) / 2
    if not size:
        return 0.0, np.inf
    if len(_tie_sizes(np.sort(np.concatenate([new, old])))) < len(new) + len(old):
        down = _least_kept(old, new, risk)
        return _least_kept(new, old, risk), 1 / down if down else np.inf
    outside = ratios_outside(len(new), len(old), risk)
    if not outside:
        return 0.0, np.inf
    low, high = _ratios(new, old, [outside - 1, size - outside])
    return low, high


def _tie_sizes(ascending: Floats) -> Integers:
    """Return how many values are equal, for each value there is."""
    starts = np.flatnonzero(np.concatenate([[True], ascending[1:] > ascending[:-1] * (1 + TIE)]))
    return np.diff(np.append(starts, len(ascending)))


def _least_kept(new: Floats, old: Floats, risk: float) -> float:
    """Return the least ratio that the test of "the true ratio is above" does not reject.

    0 where it rejects none.

    Between two of the ratios of values the statistic is constant. At a ratio itself it has ties,
    and may be rejected where what lies just above is not: then the limit lies just above.
    """

    def kept(ratio: float) -> bool:
        return rank_pvalues(new, old, ratio)[1] > risk * (1 + TIE)

    size = len(new) * len(old)
    ratios = _ratios(new, old, list(range(size))) if size <= LISTED else None

    def at(number: int) -> float:
        return ratios[number] if ratios else _ratios(new, old, [number])[0]

    low, high = -1, size - 1
    if kept(at(0) * (1 - 2 * TIE)):
        return 0.0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if kept(at(middle) * (1 + 2 * TIE)) else (middle, high)
    limit = at(high)
    return limit if kept(limit) else limit * (1 + 2 * TIE)


def rank_pvalues(new: Floats, old: Floats, ratio: float) -> tuple[float, float]:
    """Return the one-sided p-values of "the true ratio is below" and "above" a value."""
    from scipy.special import ndtr

    values, n, m = np.concatenate([new, ratio * old]), len(new), len(old)
    order = np.argsort(values, kind="stable")
    sizes = _tie_sizes(values[order])
    doubled = _doubled_ranks(sizes)
    total = int(np.repeat(doubled, sizes)[order < n].sum())  # twice the rank sum of the candidate
    # Pairs in which it has the larger value; equal ones count half.
    above = (total - n * (n + 1)) / 2
    if len(sizes) == n + m:
        return chance(int(above), n, m), chance(n * m - int(above), n, m)
    if n * m * min(n, m) <= ENUMERATED_TIES:
        law = _tied_law(tuple(sizes.tolist()), n)
        return min(float(law[: total + 1].sum()), 1.0), min(float(law[total:].sum()), 1.0)
    number = n + m
    variance = (
        n
        * m
        / 12
        * (number + 1 - (sizes.astype(float) ** 3 - sizes).sum() / (number * (number - 1)))
    )
    if variance <= 0:
        return 1.0, 1.0
    away, deviation = above - n * m / 2, np.sqrt(variance)
    return float(ndtr((away + 0.5) / deviation)), float(ndtr((0.5 - away) / deviation))


def _doubled_ranks(sizes: Integers) -> Integers:
    """Return twice the mean ranks of values of which so many are equal: whole numbers."""
    return 2 * np.cumsum(sizes) - sizes + 1


@lru_cache(maxsize=256)
def _tied_law(sizes: tuple[int, ...], n: int) -> Floats:
    """Return the probabilities that n of the values have 0, 1, ... as twice their rank sum.

    So many of the values are equal.
    """
    scores = np.repeat(_doubled_ranks(np.array(sizes)), sizes)
    largest = int(scores[len(scores) - n :].sum())
    counts = np.zeros((n + 1, largest + 1))
    counts[0, 0] = 1.0
    for score in scores.tolist():  # each value is among the n, or is not
        counts[1:, score:] += counts[:-1, : largest + 1 - score]
    return np.asarray(counts[n] / counts[n].sum())


def units_with_rank_limits(level: float) -> int:
    """Return the smallest number of units a side with limits at a confidence level."""
    number = 2
    while not ratios_outside(number, number, (1 - level) / 2):
        number += 1
    return number
