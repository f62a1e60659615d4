"""What data at hand say of a plan: how uncertain it is, and how many more units it takes together with them."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats
from perfarray.variation.numerics.allocation import first_true, student_t


def component_limits(variance: Floats, level_variance: Floats, df: Floats, confidence_level: float) -> tuple[Floats, Floats]:
    """Return limits of the outermost component: chi-square limits of the variance of the outermost means, less what lies below it."""
    from scipy.special import chdtri

    tail = (1 - confidence_level) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        below = level_variance - variance
        lower, upper = (level_variance * df / chdtri(df, probability) - below for probability in (tail, 1 - tail))
    return np.maximum(lower, 0.0), np.maximum(upper, 0.0)


class More(NamedTuple):
    """Outermost units still to be measured, and the half-width of the mean of those and the ones at hand."""

    units: Floats
    half_width: Floats


def units_to_add(
    have: Floats, have_variance: Floats, unit_variance: Floats, affordable: Floats | None, half_width: float | None, confidence_level: float
) -> More:
    """Return how many units to add to those at hand: all that are affordable, or the fewest that give the half-width.

    Units at hand have the variance of their means, `have_variance`; a new one has `unit_variance`. The mean of all is unweighted.
    """

    def promised(more: Floats) -> Floats:
        n = have + more
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt(have * have_variance + more * unit_variance) / n
            return student_t(n, (1 + confidence_level) / 2) * spread

    if affordable is not None:
        return More(affordable, promised(affordable))
    wanted = float(half_width or 0.0)
    low = np.zeros(np.shape(unit_variance * have_variance))
    high = low + 1
    while (short := promised(high) > wanted).any():
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    fewest = np.where(promised(np.zeros_like(high)) <= wanted, 0.0, first_true(lambda more: promised(more) <= wanted, low, high))
    units = np.where(np.isnan(unit_variance * have_variance), np.nan, fewest)
    return More(units, promised(units))
