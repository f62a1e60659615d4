"""Runs a side with which a one-sided test sees what two samples show, in a share of experiments."""

from typing import Final

import numpy as np

from perfarray.numerics.power import MOST, Spread, fewest_units
from perfarray.numerics.types import Floats

POWER: Final = 0.8
"""The share of experiments."""


def runs_for_t(x: Floats, y: Floats, risk: Floats) -> Floats:
    """Return what Student's or Welch's t takes to see that the mean of x is larger: normal values with the variances of the samples.

    Parameters
    ----------
    x, y : array, shape (..., n) and (..., m)
        Samples, NaN where nothing was measured.
    risk : array, shape (...)
        Of the test.

    Returns
    -------
    array, shape (...)
        NaN where a sample has one value, or both no variance; infinite where the mean of x is no larger, and beyond ten million.
    """
    n, m = ((~np.isnan(side)).sum(axis=-1) for side in (x, y))
    with np.errstate(divide="ignore", invalid="ignore"):
        means = [np.nansum(side, axis=-1) / size for side, size in ((x, n), (y, m))]
        spread = Spread(
            *(
                np.where(size > 1, np.nansum((side - mean[..., None]) ** 2, axis=-1) / (size - 1), np.nan)
                for side, mean, size in ((x, means[0], n), (y, means[1], m))
            )
        )
    still = spread.new + spread.old == 0
    spread = Spread(np.where(still, np.nan, spread.new), spread.old)
    needed = np.empty(np.broadcast_shapes(still.shape, np.shape(risk)))
    for level in np.unique(risk):
        needed = np.where(risk == level, fewest_units(spread, (means[0] - means[1],), float(level), POWER), needed)
    return needed


def runs_for_ranks(prob_greater: Floats, risk: Floats) -> Floats:
    """Return what Mann and Whitney's test takes to see that a value of x is larger than one of y with this probability.

    By Noether's formula: the statistic is normal with the variance it has without a difference. No shape is assumed.

    References
    ----------
    G. E. Noether, "Sample size determination for some common nonparametric tests", 1987, section 4.
    """
    from scipy.special import ndtri

    with np.errstate(divide="ignore", invalid="ignore"):
        runs = np.ceil((ndtri(1 - risk) + ndtri(POWER)) ** 2 / (6 * (prob_greater - 0.5) ** 2))
    return np.where(np.isnan(prob_greater), np.nan, np.where((prob_greater > 0.5) & (runs <= MOST), np.maximum(runs, 2.0), np.inf))
