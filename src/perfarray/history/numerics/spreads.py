"""Where the noise of a series changes its size: the spread of every commit."""

from itertools import pairwise

import numpy as np
from scipy.special import ndtri, softmax

from perfarray.history.numerics.search import rank_ranges
from perfarray.numerics.types import Floats, Integers

# Fewer differences show no change of spread.
SHORTEST = 20

# The smallest number of differences in a segment; in short series an eighth of them, but at least
# FEWEST.
SEGMENT, FEWEST = 8, 4

# Differences are clipped at so many standard deviations of their segment: a step or an outlier is
# no change of spread.
CLIP = 2.5

# The smallest spread of a segment, as a share of that of the whole series: equal values have none.
MIN_SPREAD = 0.05

# The information of one difference relative to an independent value: neighbouring differences share
# a commit.
SHARE = 2 / 3

# By the number of differences, the largest contrast that 5 % of stable normal series exceed (8 to
# 10 % of series with long tails).
LIMITS = {20: 2.90, 30: 3.10, 60: 3.28, 100: 3.42, 200: 3.60, 500: 3.79, 1000: 3.90, 2000: 3.98}


def relative_spreads(values: Floats, errors: Floats) -> Floats:
    """Return the spread of every value in its standard errors; 1 where it does not change.

    The sizes of the differences between neighbours become half-normal scores of ranks. The series
    is split where the contrast of the scores is larger than in stable noise, and its parts are
    tested again. Since the position of a split is not known, variances are averaged over the likely
    positions.

    `values` (series, n) are complete; of `errors` only the ratios count. The mean of the squared
    spreads of a series is 1.
    """
    spreads = np.ones(values.shape)
    if values.shape[-1] <= SHORTEST:
        return spreads
    sizes = np.abs(np.diff(values)) / np.sqrt(errors[:, 1:] ** 2 + errors[:, :-1] ** 2)
    # Where most values are equal, the few others would look like a spread.
    splits = _splits(sizes) * (np.median(sizes, axis=-1) > 0)
    for row in np.flatnonzero(splits):  # few
        spreads[row] = _by_segments(sizes[row], int(splits[row]))
    return spreads


def _by_segments(sizes: Floats, split: int) -> Floats:
    """Return the spreads of one series, of whose differences the sizes change at `split`."""
    splits, floor = [0, split, len(sizes)], MIN_SPREAD * _scale(sizes)
    stretches = list(pairwise(splits))
    while stretches:
        first, last = stretches.pop()
        if split := int(_splits(sizes[None, first:last])[0]):
            splits.append(first + split)
            stretches += [(first, first + split), (first + split, last)]
    splits.sort()
    scales = [max(_scale(sizes[low:high]), floor) for low, high in pairwise(splits)]
    variances = np.repeat(np.square(scales), np.diff(splits))
    for (low, high), (old, new) in zip(
        zip(splits, splits[2:], strict=False), pairwise(scales), strict=True
    ):  # few
        stretch = sizes[low:high]
        losses = [
            np.log(scale) + np.minimum(stretch / scale, CLIP) ** 2 / 2 for scale in (old, new)
        ]
        # The probability that each difference lies after the one change of spread.
        chances = softmax(SHARE * np.cumsum(losses[1] - losses[0])[:-1])
        mixed = old**2 + np.append(0.0, np.cumsum(chances)) * (new**2 - old**2)
        # A spread that is too small turns noise into changes.
        variances[low:high] = np.maximum(variances[low:high], mixed)
    variances = np.maximum(np.append(variances, variances[-1]), np.append(variances[0], variances))
    return np.asarray(np.sqrt(variances / np.mean(variances)))


def _splits(sizes: Floats) -> Integers:
    """Return where the sizes of differences (series, n) change most; 0 where by chance."""
    n = sizes.shape[-1]
    if n < SHORTEST:
        return np.zeros(len(sizes), dtype=np.intp)
    smaller, not_larger = rank_ranges(sizes)
    scores = ndtri((1 + (smaller + not_larger + 1) / 2 / (n + 1)) / 2)
    scores -= scores.mean(axis=-1, keepdims=True)
    min_size = min(SEGMENT, max(FEWEST, n // 8))
    candidates = np.arange(min_size, n - min_size + 1)
    squares = np.mean(scores**2, axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):  # equal sizes
        contrasts = np.abs(np.cumsum(scores, axis=-1)[:, candidates - 1]) / np.sqrt(
            candidates * (n - candidates) / n * squares
        )
    contrasts[np.ptp(sizes, axis=-1) == 0] = 0.0
    best = np.argmax(contrasts, axis=-1)
    limit = np.interp(np.log(n), np.log(list(LIMITS)), list(LIMITS.values()))
    return np.where(contrasts[np.arange(len(best)), best] >= limit, candidates[best], 0)


def _scale(sizes: Floats) -> float:
    """Return the standard deviation of differences, with outlying ones clipped."""
    typical = 1.4826 * float(np.median(sizes))
    clipped = np.minimum(sizes, CLIP * typical) if typical > 0 else sizes
    return float(np.sqrt(np.mean(clipped**2)))
