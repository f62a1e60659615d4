"""The hierarchical performance test of Chen et al.: rank sums, then signed ranks.

T. Chen et al., "Statistical performance comparisons of computers", IEEE Transactions on Computers
64(5), 2015. Exact p-values, given the ties.
"""

from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np

from perfarray.numerics.suite import run_statistic
from perfarray.numerics.types import Floats, Integers, Mask

ZEROS = ("drop", "pratt", "split")

# rank sums of fewer runs a side are enumerated; others use the normal law, corrected for ties and
# continuity (R's rule)
EXACT = 50
HALVINGS = 512  # of counts of signs, which overflow from 1,024 ranks on
BLOCK = 1 << 19  # runs that are sorted at once
STEPS = 34  # bisections of the range of factors: the last is 6e-11 of the first


class Performance(NamedTuple):
    """The confidence in larger values, and the largest factor for which it still holds.

    `larger` and `smaller` are the numbers of benchmarks whose own tests find them so.
    """

    confidence: Floats
    speedup: Floats
    larger: Floats
    smaller: Floats


def doubled_ranks(values: Floats) -> Integers:
    """Return twice the mid-ranks of values (runs,): whole numbers, ties or not."""
    ordered = np.sort(
        values, kind="stable"
    )  # in linear time where sorted samples stand behind each other
    return np.asarray(
        np.searchsorted(ordered, values) + np.searchsorted(ordered, values, side="right") + 1
    )


@lru_cache(maxsize=1024)
def _sums_of_subsets(ranks: tuple[int, ...], size: int) -> Floats:
    """Return how many subsets of `size` of the ranks have the sum 0, 1, ..."""
    counts = np.zeros((size + 1, sum(ranks) + 1))
    counts[0, 0] = 1.0
    for rank in ranks:
        counts[1:, rank:] += counts[:-1, : counts.shape[1] - rank].copy()
    return np.asarray(counts[size])


@lru_cache(maxsize=64)
def _sums_of_signs(ranks: tuple[int, ...]) -> Floats:
    """Return the lower half of the law of the sum of the ranks that get a plus.

    Each sign is a fair coin, so that the upper half mirrors the lower.
    """
    chances, total = np.zeros(sum(ranks) // 2 + 1), 0
    chances[0] = 1.0
    for number, rank in enumerate(ranks, 1):
        middle, size = total // 2 + 1, (total + rank) // 2 + 1
        end = min(size, total + 1)
        chances[middle:end] = chances[total + 1 - end : total + 1 - middle][::-1]
        chances[rank:size] += chances[: max(0, size - rank)]
        total += rank
        # Halved many at a time: less work, and exact.
        if number % HALVINGS == 0:
            chances *= 0.5**HALVINGS
    return np.asarray(chances * 0.5 ** (len(ranks) % HALVINGS))


def rank_sum_pvalue(x: Floats, y: Floats, tails: int = 2) -> float:
    """Return the p-value of Wilcoxon's rank-sum test: exact given the ties, or normal.

    Two tails are against any difference, one is against a difference in the direction that is seen.
    """
    ranks = doubled_ranks(np.concatenate([x, y]))
    total, mean = int(ranks[: len(x)].sum()), len(x) * (len(x) + len(y) + 1)
    distance = abs(total - mean)
    if len(x) < EXACT and len(y) < EXACT:
        counts = _sums_of_subsets(tuple(np.sort(ranks).tolist()), len(x))
        if tails == 1:
            return float(min(counts[total:].sum(), counts[: total + 1].sum()) / counts.sum())
        return float(counts[np.abs(np.arange(len(counts)) - mean) >= distance].sum() / counts.sum())
    from scipy.special import ndtr

    number = len(ranks)
    spread = np.sqrt(len(x) * len(y) * np.var(ranks, ddof=1) / number)
    return float(min(1.0, tails * ndtr(-max(distance - 1, 0) / spread))) if spread > 0 else 1.0


def signed_rank_pvalue(differences: Floats, zeros: str = "drop") -> float:
    """Return the exact one-sided p-value of Wilcoxon's signed-rank test.

    Zeros are dropped before ranking (Wilcoxon), ranked and then dropped (Pratt), or ranked, and
    half of their ranks given to either side ("split", which shifts the statistic; the p-value is
    that of Pratt). The p-value is 1 where all differences are zero.
    """
    if zeros == "drop":
        differences = differences[differences != 0]
    ranks = doubled_ranks(np.abs(differences))
    counts = differences != 0
    if not counts.any():
        return 1.0
    step = np.gcd.reduce(ranks[counts])  # without ties 2: twice the ranks are counted
    ordered, positive = np.sort(ranks[counts]) // step, ranks[differences > 0].sum() // step
    chances, negative = _sums_of_signs(tuple(ordered.tolist())), ordered.sum() - positive
    if negative < len(chances):  # in the mirror
        return float(chances[: negative + 1].sum())
    return float(1.0 - chances[:positive].sum())


@lru_cache(maxsize=64)
def _untied_pvalues(n: int, m: int, tails: int) -> Floats:
    """Return the p-value of every distance of the doubled rank sum from its mean, untied."""
    counts = _sums_of_subsets(tuple(range(2, 2 * (n + m) + 1, 2)), n)
    beyond = np.cumsum(counts[n * (n + m + 1) :][::-1])[::-1]
    return np.asarray(np.minimum(1.0, tails * beyond / counts.sum()))


def smallest_pvalues(x: Floats, y: Floats, tails: int) -> Floats:
    """Return the smallest p-value that samples of these sizes can have."""
    from scipy.special import binom

    n, m = ((~np.isnan(side)).sum(axis=-1) for side in (x, y))
    exact = (n < EXACT) & (m < EXACT)
    return np.asarray(
        np.where((n > 0) & (m > 0), np.where(exact, tails / np.rint(binom(n + m, n)), 0.0), np.nan)
    )


def fewest_runs(alpha: float, tails: int) -> int:
    """Return from how many runs a side on a rank-sum test can have a p-value of `alpha`."""
    runs = 1
    while runs < EXACT and tails / comb(2 * runs, runs) > alpha:
        runs += 1
    return runs


def rank_sum_pvalues(x: Floats, y: Floats, tails: int = 2) -> Floats:
    """Return the p-value of every pair of samples (..., units), NaN where not measured.

    Those without ties are looked up together.
    """
    n, m = ((~np.isnan(side)).sum(axis=-1) for side in (x, y))
    result = np.full(n.shape, np.nan)
    exact = (n > 0) & (m > 0) & (n < EXACT) & (m < EXACT)
    ours, theirs = (
        np.sort(side[exact], axis=-1)[:, :EXACT] for side in (x, y)
    )  # however wide the gaps beside them
    joined = np.concatenate([ours, theirs], axis=-1)
    order = np.argsort(joined, axis=-1)
    ordered, ranks = np.take_along_axis(joined, order, axis=-1), np.arange(1, joined.shape[-1] + 1)
    untied = ~(ordered[:, 1:] == ordered[:, :-1]).any(axis=-1)
    ranked = (order < ours.shape[-1]) & ~np.isnan(ordered)
    size_x, size_y = n[exact], m[exact]
    distances = np.abs(2 * np.where(ranked, ranks, 0).sum(axis=-1) - size_x * (size_x + size_y + 1))
    pvalues = np.full(len(size_x), np.nan)
    # A table for every pair of sample sizes; what has ties has a law of its own.
    for sizes in set(zip(size_x[untied].tolist(), size_y[untied].tolist(), strict=True)):
        same_sizes = untied & (size_x == sizes[0]) & (size_y == sizes[1])
        pvalues[same_sizes] = _untied_pvalues(*sizes, tails)[distances[same_sizes]]
    result[exact] = pvalues
    for cell in np.argwhere((n > 0) & (m > 0) & np.isnan(result)):
        first, second = x[tuple(cell)], y[tuple(cell)]
        result[tuple(cell)] = rank_sum_pvalue(
            first[~np.isnan(first)], second[~np.isnan(second)], tails
        )
    return result


def kept_differences(x: Floats, y: Floats, alpha: float, tails: int = 2) -> Floats:
    """Return differences of medians of all pairs; 0 where the rank-sum test sees none."""
    pvalues = rank_sum_pvalues(x, y, tails)
    differences = np.where(
        pvalues <= alpha, run_statistic(x, "median") - run_statistic(y, "median"), 0.0
    )
    return np.where(np.isnan(pvalues), np.nan, differences)


def hierarchical_test(
    x: Floats, y: Floats, alpha: float, confidence_level: float, zeros: str = "drop", tails: int = 2
) -> Performance:
    """Test whether a suite's values (..., benchmarks, units) are larger in the first system.

    NaN where not measured.

    `confidence` is 1 - exact one-sided p, with rank-sum tests at `alpha`; `speedup` is the largest
    factor f such that the first system, divided by f, is still larger at the confidence level, NaN
    where none is (few benchmarks). Benchmarks that one system lacks are left out. All fields are
    NaN where no benchmark has enough runs to differ at `alpha`.
    """
    batch = x.shape[:-2]
    x, y = (side.reshape(-1, *side.shape[-2:]) for side in (x, y))
    fields = np.full((len(Performance._fields), len(x)), np.nan)
    can_reject: Mask = np.asarray((smallest_pvalues(x, y, tails) <= alpha).any(axis=-1))
    step = max(1, BLOCK // max(1, x[:1].size + y[:1].size))
    # Some cells at a time bound the memory: the runs of each are divided, sorted and counted.
    for start in range(0, len(can_reject), step):
        cells = start + np.flatnonzero(can_reject[start : start + step])
        if len(cells):
            fields[:, cells] = _tested(
                np.sort(x[cells], axis=-1),
                np.sort(y[cells], axis=-1),
                alpha,
                confidence_level,
                zeros,
                tails,
            )
    return Performance(*(field.reshape(batch) for field in fields))


def _tested(
    x: Floats, y: Floats, alpha: float, confidence_level: float, zeros: str, tails: int
) -> Performance:
    """Test every cell; bisection on the log scale finds the largest factor accepted."""

    def confidence_in(differences: Floats) -> Floats:
        # The law of signed ranks depends on a cell's own ties and zeros.
        return np.array(
            [1.0 - signed_rank_pvalue(row[~np.isnan(row)], zeros) for row in differences]
        )

    def confidence(x: Floats, y: Floats, factor: Floats) -> Floats:
        return confidence_in(kept_differences(x / factor[:, None, None], y, alpha, tails))

    at_one = kept_differences(x, y, alpha, tails)
    (least_x, least_y), (most_x, most_y) = (
        [extreme.reduce(side, axis=-1) for side in (x, y)] for extreme in (np.fmin, np.fmax)
    )
    low = np.log(np.fmin.reduce(least_x / most_y, axis=-1)) - 1e-6
    high = np.log(np.fmax.reduce(most_x / least_y, axis=-1)) + 1e-6
    sought = np.flatnonzero(confidence(x, y, np.exp(low)) >= confidence_level)
    speedup = np.full(len(x), np.nan)
    x, y, low, high = x[sought], y[sought], low[sought], high[sought]
    for _ in range(STEPS if len(sought) else 0):
        middle = (low + high) / 2
        accepted = confidence(x, y, np.exp(middle)) >= confidence_level
        low, high = np.where(accepted, middle, low), np.where(accepted, high, middle)
    speedup[sought] = np.exp(low)
    return Performance(
        confidence_in(at_one), speedup, (at_one > 0).sum(axis=-1), (at_one < 0).sum(axis=-1)
    )
