"""Where a series changes: the best segments with a mean, or a mean and a variance, each."""

from typing import Any

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats, Integers

# Positions at the start of a series that are all tried, and positions tried first in all; those
# between follow around what was found.
DENSE, CANDIDATES = 100, 300


def change_points(series: Floats, penalty: float, noise: float, *, spread: bool = True) -> Integers:
    """Return the starts of the segments of a series, the first at 0, that cost least.

    The costs of segments and a penalty for each are added. The cost of a segment of m values is m
    log(variance), which is -2 log likelihood of normal values up to a constant. Without `spread`,
    where the standard deviation is the same everywhere, it is the sum of squares over noise^2.

    Parameters
    ----------
    series : array, shape (n,)
        Complete: without NaN.
    penalty : float
        The cost of a further segment: with 15 log(n), hardly any stable series of independent
        normal values has one.
    noise : float
        The smallest standard deviation of a segment, above 0: a segment of one value has no other.
    spread : bool
        Whether segments differ in their variance, too.

    Notes
    -----
    The partition is optimal among the positions that are tried: all of up to 300; of longer series
    the first 100 and 200 others, evenly spaced. Every change is then moved to the best position
    between its neighbours, and dropped if it does not exceed the penalty there.

    References
    ----------
    B. Jackson and others, "An algorithm for optimal partitioning of data on an interval", IEEE
    Signal Processing Letters 12, 2005.
    """
    n = len(series)
    scaled = (series - np.median(series)) / noise if n else series
    sums = (
        np.concatenate([[0.0], np.cumsum(scaled)]),
        np.concatenate([[0.0], np.cumsum(scaled * scaled)]),
    )
    candidates = np.arange(n + 1)
    if n > CANDIDATES:
        candidates = np.unique(
            np.concatenate(
                [candidates[:DENSE], np.linspace(DENSE, n, CANDIDATES - DENSE + 1).astype(int)]
            )
        )
    starts = _partition(candidates, sums, penalty, spread)
    return starts if n <= CANDIDATES else _settled(starts, n, sums, penalty, spread)


def _cost(
    first: npt.NDArray[Any], last: npt.NDArray[Any], sums: tuple[Floats, Floats], spread: bool
) -> Floats:
    """Return the costs of segments from `first` up to `last`, for values with a noise of 1."""
    number = last - first
    total = sums[0][last] - sums[0][first]
    squares = sums[1][last] - sums[1][first] - total * total / number
    return np.asarray(number * np.log(np.maximum(squares / number, 1.0)) if spread else squares)


def _partition(
    candidates: Integers, sums: tuple[Floats, Floats], penalty: float, spread: bool
) -> Integers:
    """Return the starts of the best partition whose ends are candidates."""
    best, previous = np.zeros(len(candidates)), np.zeros(len(candidates), dtype=np.intp)
    for end in range(1, len(candidates)):  # each needs those before it
        costs = best[:end] + _cost(candidates[:end], candidates[end], sums, spread)
        previous[end] = np.argmin(costs)
        best[end] = costs[previous[end]] + penalty
    starts, position = [], len(candidates) - 1
    while position > 0:
        position = int(previous[position])
        starts.append(candidates[position])
    return np.array(starts[::-1], dtype=np.intp)


def _settled(
    starts: Integers, n: int, sums: tuple[Floats, Floats], penalty: float, spread: bool
) -> Integers:
    """Move each start to the best position between its neighbours.

    Drop those that do not exceed the penalty there.
    """
    ends = [*starts.tolist(), n]
    while True:
        gains = []
        for index in range(1, len(ends) - 1):  # few
            low, high = np.array([ends[index - 1]]), np.array([ends[index + 1]])
            between = np.arange(low[0] + 1, high[0])
            costs = _cost(low, between, sums, spread) + _cost(between, high, sums, spread)
            ends[index] = int(between[np.argmin(costs)])
            gains.append(float(_cost(low, high, sums, spread)[0] - costs.min()))
        if not gains or min(gains) > penalty:
            return np.array(ends[:-1], dtype=np.intp)
        del ends[1 + int(np.argmin(gains))]
