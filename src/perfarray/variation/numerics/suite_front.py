"""What one shared unit can hold: the plans inside it that no other beats in both price and variance.

The inside of a shared unit does not depend on how many units there are. So the whole counts of a suite are found in two steps: the fronts
of the benchmarks, joined into one (prices add, variances add), and then the number of units, for which the best inside that the limit
leaves is looked up. Fronts are exact as long as they fit into `POINTS`; longer ones keep the best of each narrow band of prices.
"""

from functools import reduce
from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats
from perfarray.variation.numerics.suite_star import Star

POINTS = 1024
"""Points a front keeps."""

NEAR = (12, 4, 1)
"""How far from each of the middles all counts are tried, where one, two, three or more levels lie inside a shared unit."""

SPACED = (96, 24, 8)
"""Counts tried between the lowest and the highest, evenly spaced in their logarithm."""


class Front(NamedTuple):
    """Insides of one unit, dearer ones with less variance: price, variance (points), counts (points, benchmarks, L - 1)."""

    price: Floats
    variance: Floats
    counts: Floats


def unit_front(star: Star, middles: Floats, window: float, most: float) -> Front:
    """Return the front of one system's unit, its own price and component left out.

    Parameters
    ----------
    star : Star
        Components and prices.
    middles : array, shape (middles, benchmarks, L - 1)
        Counts around which others are tried.
    window : float
        From the lowest middle divided by it to the highest times it.
    most : float
        What the inside of one unit may cost.
    """
    inner = len(star.inner)
    rows = np.moveaxis(middles[..., inner:], 1, 0)
    joined = reduce(
        lambda first, second: _joined(first, second, most),
        [_chain_front(*benchmark, window, most) for benchmark in zip(star.variance, star.cost, rows, strict=True)],
    )
    for level in reversed(range(inner)):
        numbers = np.unique(_choices(middles[None, :, 0, level], window, 1))
        joined = _repeated(joined, float(star.inner[level, 0]), float(star.inner[level, 1]), numbers, most)
    return joined


def _chain_front(variance: Floats, cost: Floats, middles: Floats, window: float, most: float) -> Front:
    """Return the front of one benchmark; a level without a component has one repetition."""
    levels = len(variance)
    if not levels:
        return Front(np.zeros(1), np.zeros(1), np.ones((1, 1, 0)))
    counts, above = np.ones((1, 0)), np.ones(1)
    for level in range(levels):
        ratios = np.divide.outer(np.cumprod(middles, axis=1)[:, level], above).T
        choices = _choices(ratios, window, levels) if variance[level] > 0 else np.ones((len(above), 1))
        rows = np.repeat(np.arange(len(above)), choices.shape[1])
        counts = np.unique(np.column_stack([counts[rows], choices.ravel()]), axis=0)
        above = counts.prod(axis=1)
    totals = np.cumprod(counts, axis=1)
    price, noise = (totals * cost).sum(axis=1), (variance / totals).sum(axis=1)
    best = _undominated(price, noise, most)
    return Front(price[best], noise[best], counts[best, None])


def _choices(middles: Floats, window: float, levels: int) -> Floats:
    """Return the counts (parents, choices) tried of one level, of so many inside a unit: all near a middle, and some further away."""
    index = min(levels, len(NEAR)) - 1
    near = np.floor(middles)[..., None] + np.arange(-NEAR[index], NEAR[index] + 2)
    low, high = middles.min(axis=1, keepdims=True) / window, middles.max(axis=1, keepdims=True) * window
    spaced = np.round(low * (high / low) ** np.linspace(0, 1, SPACED[index]))
    return np.asarray(np.maximum(1.0, np.concatenate([near.reshape(len(middles), -1), spaced], axis=1)))


def _joined(first: Front, second: Front, most: float) -> Front:
    """Return the front of two parts of a unit: every inside of the one with every inside of the other."""
    price, variance = (np.add.outer(a, b).ravel() for a, b in ((first.price, second.price), (first.variance, second.variance)))
    best = _undominated(price, variance, most)
    first_index, second_index = np.divmod(best, len(second.price))
    return Front(price[best], variance[best], np.concatenate([first.counts[first_index], second.counts[second_index]], axis=1))


def _repeated(inside: Front, variance: float, cost: float, numbers: Floats, most: float) -> Front:
    """Return the front of a shared level inside the unit, repeated: each repetition holds what `inside` says."""
    price, noise = np.multiply.outer(numbers, cost + inside.price).ravel(), np.divide.outer(variance + inside.variance, numbers).T.ravel()
    best = _undominated(price, noise, most)
    number_index, point = np.divmod(best, len(inside.price))
    repetitions = np.broadcast_to(numbers[number_index][:, None, None], (len(best), inside.counts.shape[1], 1))
    return Front(price[best], noise[best], np.concatenate([repetitions, inside.counts[point]], axis=2))


def _undominated(price: Floats, variance: Floats, most: float) -> np.ndarray:
    """Return the places of the points that no other beats, by price; the cheapest always, whatever the most."""
    order = np.lexsort((variance, price))
    order = order[: max(1, np.searchsorted(price[order], most, side="right"))]
    least = np.minimum.accumulate(variance[order])
    order = order[np.append(True, least[1:] < least[:-1])]
    if len(order) <= POINTS:
        return np.asarray(order)
    prices = price[order]
    band = np.floor((prices - prices[0]) * ((POINTS - 2) / (prices[-1] - prices[0])))
    last = np.append(band[1:] > band[:-1], True)
    last[0] = True
    return np.asarray(order[last])
