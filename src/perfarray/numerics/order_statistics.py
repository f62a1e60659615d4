"""The law of an order statistic of draws with replacement."""

from typing import NamedTuple

import numpy as np
from scipy import special

from perfarray.numerics.types import Floats, Integers

ORDER_STATISTICS = ("median", "min", "max")

# Of more values than `LISTED`, not all pairs are listed: the two middle draws lie within so many
# standard deviations (half the root of the number) of the middle, and at most so far apart; all
# others together have a probability below 1e-16.
LISTED, STANDARD_DEVIATIONS, APART = 1 << 8, 10, 40


class OrderLaw(NamedTuple):
    """A statistic that is the mean of two ordered values: which, and with what probability."""

    low: Integers
    high: Integers
    probability: Floats

    def support(self, ordered: Floats) -> Floats:
        """Return the values the statistic may have, of ordered values along the last axis."""
        return np.asarray((ordered[..., self.low] + ordered[..., self.high]) / 2)


def order_law(number: int, statistic: str) -> OrderLaw:
    """Return the law of the median or an extreme of draws with replacement."""
    ranks = np.arange(number + 1)
    share, half = ranks / number, (number + 1) // 2
    if statistic == "min":
        return OrderLaw(ranks[:-1], ranks[:-1], -np.diff((1.0 - share) ** number))
    if statistic == "max":
        return OrderLaw(ranks[:-1], ranks[:-1], np.diff(share**number))
    reached = special.bdtrc(half - 1, number, share)
    if number % 2:
        return OrderLaw(ranks[:-1], ranks[:-1], np.diff(reached))
    # Of an even number, the two middle draws: i and j > i when half of them are i or less (i among
    # them), and half j or more.
    if number <= LISTED:
        low, high = np.triu_indices(number)
    else:
        reach = int(STANDARD_DEVIATIONS * np.sqrt(number) / 2)
        low = np.repeat(np.arange(half - reach, half + reach), APART + 1)
        high = low + np.tile(np.arange(APART + 1), 2 * reach)
    with np.errstate(divide="ignore"):
        upper = half * np.log(share[1:]) + np.log1p(-((ranks[:-1] / ranks[1:]) ** half))
    ways = special.gammaln(number + 1) - 2 * special.gammaln(half + 1)
    two_values = np.exp(ways + upper[low] + upper[number - 1 - high])
    split = np.exp(ways + half * special.xlogy(1.0, share[:-1] * (1.0 - share[1:])))
    middle_draws = special.bdtrc(half, number, share[1:]) - reached[:-1] + split
    return OrderLaw(low, high, np.where(low == high, middle_draws[low], two_values))
