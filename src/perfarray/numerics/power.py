"""How many units a decision about a ratio takes: the t test of a log ratio."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import t_quantile, welch_df
from perfarray.numerics.types import Floats, Mask

FAR = 37.0  # noncentrality beyond which the noncentral t is not computed any more
MOST = 1e7  # units a side beyond which the answer is infinite


class Spread(NamedTuple):
    """The squared relative standard deviation of one unit of either side.

    Of pairs that of their difference, and 0.
    """

    new: Floats
    old: Floats

    def error(self, units: Floats) -> Floats:
        """Return the standard error of the log ratio of means of so many units a side."""
        return np.sqrt((self.new + self.old) / units)

    def df(self, units: Floats) -> Floats:
        """Return its degrees of freedom (Welch and Satterthwaite).

        Those of the only side that varies, or of pairs, units - 1.
        """
        # What is known of the df of two or three units is so little that a comparison may have as
        # few as those of one side.
        return np.where(
            np.asarray(units) <= 3, units - 1.0, welch_df(self.new, self.old, units - 1, units - 1)
        )


def beyond(distance: Floats, error: Floats, df: Floats, risk: float) -> Floats:
    """Return the power of a one-sided t test at `risk` against a true distance (noncentral t)."""
    from scipy.special import gammainc, nctdtr

    quantile = t_quantile(1 - risk, df)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        noncentral = distance / error
        # Far away only the error that the sample shows is left to chance: it must be small enough.
        asymptotic = gammainc(df / 2, df * (noncentral / quantile) ** 2 / 2)
        power = np.where(
            noncentral > FAR, asymptotic, 1 - nctdtr(df, np.minimum(noncentral, FAR), quantile)
        )
    return np.where(error == 0, np.where(distance > 0, 1.0, 0.0), power)


def distance_seen(error: Floats, df: Floats, probability: Floats | float, power: float) -> Floats:
    """Return the distance that a one-sided t test sees with some power: t + t."""
    return (t_quantile(probability, df) + t_quantile(power, df)) * error


def fewest_units(spread: Spread, distance: Floats, risk: float, power: float) -> Floats:
    """Return the fewest units a side with which a one-sided test at `risk` sees a distance.

    NaN where the spread is not known, infinite where no number up to ten million does.
    """
    new, old, distance = np.broadcast_arrays(spread.new, spread.old, distance)

    def short(units: Floats, cells: Mask) -> Mask:
        """Return which of some cells miss the power."""
        is_short = np.zeros(cells.shape, dtype=bool)
        spread = Spread(new[cells], old[cells])
        error, df = spread.error(units[cells]), spread.df(units[cells])
        is_short[cells] = ~np.asarray(1 - beyond(distance[cells], error, df, risk) <= 1 - power)
        return is_short

    estimable: Mask = ~np.isnan(new + old)
    low, high, growing = np.ones(estimable.shape), np.full(estimable.shape, 2.0), estimable
    while (growing := short(high, growing & (high < MOST))).any():
        low, high = np.where(growing, high, low), np.where(growing, 2 * high, high)
    never = high >= MOST
    while (open_ := estimable & ~never & (high - low > 1)).any():
        middle = np.floor((low + high) / 2)
        is_short = short(middle, open_)
        low, high = np.where(is_short, middle, low), np.where(open_ & ~is_short, middle, high)
    return np.where(estimable, np.where(never, np.inf, high), np.nan)
