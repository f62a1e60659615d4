"""Where a series changes: optimal partitioning into segments of a mean, or of a mean and a variance, each."""

from typing import Any

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats, Integers

DENSE, CANDIDATES = 100, 300
"""Places at the start of a series that are all tried; places tried at first in all. Those between are tried around what was found."""


def change_points(series: Floats, penalty: float, noise: float, *, spread: bool = True) -> Integers:
    """Return where the segments of a series begin, the first at 0, so that their cost and a penalty for each is least.

    The cost of a segment of m values is m log(variance), -2 log likelihood of normal values but for a constant; or, where `spread` is false
    and the standard deviation is the same everywhere, its sum of squares over noise^2.

    Parameters
    ----------
    series : array, shape (n,)
        Complete: without NaN.
    penalty : float
        What a further segment costs: of independent normal values, 15 log(n) finds one in hardly any that do not change.
    noise : float
        The least standard deviation of a segment, above 0: a segment of one value has no other.
    spread : bool
        Whether segments differ in their variance too.

    Returns
    -------
    array of int

    Notes
    -----
    The partition is optimal among places that are tried: all of up to 300; of longer series the first 100 and 200 others, evenly spaced.
    Every change found is then moved to the best place between its neighbours, and left out if it does not pay there.

    References
    ----------
    B. Jackson and others, "An algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters 12, 2005.
    """
    n = len(series)
    scaled = (series - np.median(series)) / noise if n else series
    sums = np.concatenate([[0.0], np.cumsum(scaled)]), np.concatenate([[0.0], np.cumsum(scaled * scaled)])
    candidates = np.arange(n + 1)
    if n > CANDIDATES:
        candidates = np.unique(np.concatenate([candidates[:DENSE], np.linspace(DENSE, n, CANDIDATES - DENSE + 1).astype(int)]))
    starts = _partition(candidates, sums, penalty, spread)
    return starts if n <= CANDIDATES else _settled(starts, n, sums, penalty, spread)


def _cost(first: npt.NDArray[Any], last: npt.NDArray[Any], sums: tuple[Floats, Floats], spread: bool) -> Floats:
    """Return the costs of segments from `first` up to `last`, of values whose noise is 1."""
    number = last - first
    total = sums[0][last] - sums[0][first]
    squares = sums[1][last] - sums[1][first] - total * total / number
    return np.asarray(number * np.log(np.maximum(squares / number, 1.0)) if spread else squares)


def _partition(candidates: Integers, sums: tuple[Floats, Floats], penalty: float, spread: bool) -> Integers:
    """Return the starts of the best partition of which every end is one of the places."""
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


def _settled(starts: Integers, n: int, sums: tuple[Floats, Floats], penalty: float, spread: bool) -> Integers:
    """Return starts, each at the best place between those beside it, without those that do not pay their penalty there."""
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
