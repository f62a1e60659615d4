"""Where the noise of a series changes its size: the spread of every commit, relative to that of the whole series."""

from itertools import pairwise

import numpy as np
from scipy.special import ndtri, softmax

from perfarray.numerics.types import Floats

# Fewer differences show no change of spread.
SHORTEST = 20

# The smallest number of differences in a segment; in short series an eighth of them, but at least FEWEST.
SEGMENT, FEWEST = 8, 4

# Differences are clipped at so many standard deviations of their segment: a step or an outlier is no change of spread.
CLIP = 2.5

# The smallest spread of a segment, as a share of that of the whole series: equal values have none.
LEAST = 0.05

# The information of one difference relative to an independent value: neighbouring differences share a commit.
SHARE = 2 / 3

# By the number of differences, the largest contrast that 5 % of stable normal series exceed (8 to 10 % of series with long tails).
LIMITS = {20: 2.90, 30: 3.10, 60: 3.28, 100: 3.42, 200: 3.60, 500: 3.79, 1000: 3.90, 2000: 3.98}


def relative_spreads(values: Floats, errors: Floats) -> Floats:
    """Return the spread of every value in its standard errors, where it changes along a series; else 1.

    The sizes of the differences between neighbours become half-normal scores of ranks. The series is split where the contrast of the
    scores is larger than in stable noise, and its parts are tested again. Since the position of a split is not known, variances are
    averaged over the likely positions.

    `values` (n,) are complete; of `errors` only the ratios count. The mean of the squared spreads is 1.
    """
    n = len(values)
    sizes = np.abs(np.diff(values)) / np.sqrt(errors[1:] ** 2 + errors[:-1] ** 2)
    if n <= SHORTEST or not np.median(sizes) > 0:  # where most values are equal, the few others would look like a spread
        return np.ones(n)
    splits, stretches, floor = [0, n - 1], [(0, n - 1)], LEAST * _scale(sizes)
    while stretches:
        first, last = stretches.pop()
        if split := _split(sizes[first:last]):
            splits.append(first + split)
            stretches += [(first, first + split), (first + split, last)]
    splits.sort()
    if len(splits) == 2:
        return np.ones(n)
    scales = [max(_scale(sizes[low:high]), floor) for low, high in pairwise(splits)]
    variances = np.repeat(np.square(scales), np.diff(splits))
    for (low, high), (old, new) in zip(zip(splits, splits[2:], strict=False), pairwise(scales), strict=True):  # few
        mixed = old**2 + _chances_after(sizes[low:high], old, new) * (new**2 - old**2)
        variances[low:high] = np.maximum(variances[low:high], mixed)  # a spread that is too small turns noise into changes
    variances = np.maximum(np.append(variances, variances[-1]), np.append(variances[0], variances))
    return np.asarray(np.sqrt(variances / np.mean(variances)))


def _split(sizes: Floats) -> int:
    """Return the position at which the sizes of differences change most, if that is more than chance; else 0."""
    n = len(sizes)
    if n < SHORTEST:
        return 0
    ordered = np.sort(sizes)
    ranks = (np.searchsorted(ordered, sizes, "left") + np.searchsorted(ordered, sizes, "right") + 1) / 2
    if not np.ptp(ranks):
        return 0
    scores = ndtri((1 + ranks / (n + 1)) / 2)
    scores -= scores.mean()
    least = min(SEGMENT, max(FEWEST, n // 8))
    candidates = np.arange(least, n - least + 1)
    contrasts = np.abs(np.cumsum(scores)[candidates - 1]) / np.sqrt(candidates * (n - candidates) / n * np.mean(scores**2))
    best = int(np.argmax(contrasts))
    limit = np.interp(np.log(n), np.log(list(LIMITS)), list(LIMITS.values()))
    return int(candidates[best]) if contrasts[best] >= limit else 0


def _scale(sizes: Floats) -> float:
    """Return the standard deviation of differences, with outlying ones clipped."""
    typical = 1.4826 * float(np.median(sizes))
    clipped = np.minimum(sizes, CLIP * typical) if typical > 0 else sizes
    return float(np.sqrt(np.mean(clipped**2)))


def _chances_after(sizes: Floats, old: float, new: float) -> Floats:
    """Return the probability that each difference of a stretch lies after the one change of its spread."""
    losses = [np.log(scale) + np.minimum(sizes / scale, CLIP) ** 2 / 2 for scale in (old, new)]
    return np.append(0.0, np.cumsum(softmax(SHARE * np.cumsum(losses[1] - losses[0])[:-1])))
