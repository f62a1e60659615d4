"""The law of an order statistic of draws with replacement."""

from typing import NamedTuple

import numpy as np
from scipy import special

from perfarray.numerics.types import Floats, Integers

ORDER_STATISTICS = ("median", "min", "max")

LISTED, STANDARD_DEVIATIONS, APART = 1 << 10, 10, 40
"""Numbers of values up to which all pairs of them are listed. Beyond, the two middle draws lie within so many standard deviations (half the
root of the number) of the middle, and so few places apart: others have a probability below 1e-16 together."""


class OrderLaw(NamedTuple):
    """A statistic that is the mean of two ordered values: which, and with what probability."""

    low: Integers
    high: Integers
    probability: Floats


def order_law(number: int, statistic: str) -> OrderLaw:
    """Return the law of the median, the minimum or the maximum of `number` draws with replacement from as many ordered values."""
    ranks = np.arange(number + 1)
    if statistic == "min":
        above = (1.0 - ranks / number) ** number
        return OrderLaw(ranks[:-1], ranks[:-1], above[:-1] - above[1:])
    if statistic == "max":
        below = (ranks / number) ** number
        return OrderLaw(ranks[:-1], ranks[:-1], np.diff(below))
    half = (number + 1) // 2
    reached = special.bdtrc(half - 1, number, ranks / number)
    if number % 2:
        return OrderLaw(ranks[:-1], ranks[:-1], np.diff(reached))
    # Of an even number, the two middle draws: i and j > i when half of them are i or less (i among them), and half j or more.
    low, high = _pairs(number)
    share = ranks / number
    with np.errstate(divide="ignore"):
        upper = half * np.log(share[1:]) + np.log1p(-((ranks[:-1] / ranks[1:]) ** half))
    ways = special.gammaln(number + 1) - 2 * special.gammaln(half + 1)
    two_values = np.exp(ways + upper[low] + upper[number - 1 - high])
    split = np.exp(ways + half * special.xlogy(1.0, share[:-1] * (1.0 - share[1:])))
    middle_draws = special.bdtrc(half, number, share[1:]) - reached[:-1] + split
    return OrderLaw(low, high, np.where(low == high, middle_draws[low], two_values))


def _pairs(number: int) -> tuple[Integers, Integers]:
    """Return the places of pairs of ordered values, the first not above the second, that two middle draws may be."""
    if number <= LISTED:
        return np.triu_indices(number)
    middle, reach = number // 2, int(STANDARD_DEVIATIONS * np.sqrt(number) / 2)
    low = np.repeat(np.arange(middle - reach, middle + reach), APART + 1)
    return low, low + np.tile(np.arange(APART + 1), 2 * reach)
