"""Skewed units: tests of normality, and intervals that follow the skewness of an estimate.

A mean of few skewed units and its standard error are correlated, so that t misses far more often
beyond one end than beyond the other. Hall's transformation (1992) of the t statistic corrects that.
Here it never shortens an interval, and counts skewness only as far as it exceeds chance.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfarray.numerics.levels import UnitSummary, summarise_units
from perfarray.numerics.normality import shapiro_wilk, spread_ties
from perfarray.numerics.types import Floats, Mask

CHANCE = (
    0.5  # standard deviations of the skewness of normal units that are subtracted before it counts
)
# the largest skewness that counts, times the 97.5 % quantile of t: beyond, the transformation soon
# diverges
MOST_SKEWED = 0.5
LEAST = 3  # units that have a skewness
FEW = 10  # units from which on D'Agostino's test is used instead of Shapiro and Wilk's
MOST = 0.8  # the share of the squared error from which on one side decides how well limits cover


def third_cumulant(means: Floats, n: Floats) -> Floats:
    """Return the unbiased third cumulant of units along the last axis, NaN where not measured.

    0 for fewer than three.
    """
    measured = ~np.isnan(means)
    at_least_one = np.maximum(n, 1)
    centre = np.where(measured, means, 0.0).sum(axis=-1) / at_least_one
    cubes = np.where(measured, means - centre[..., None], 0.0) ** 3
    return np.where(n >= LEAST, n / np.maximum((n - 1) * (n - 2), 1) * cubes.sum(axis=-1), 0.0)


def chance_variance(n: Floats) -> Floats:
    """Return the variance of the bias-corrected skewness of n normal units.

    0 for fewer than three.
    """
    too_few = n < LEAST
    n = np.where(too_few, LEAST, n)
    return np.where(too_few, 0.0, 6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3)))


def counted_skewness(
    cumulants: Floats, variances: tuple[Floats, ...], numbers: tuple[Floats, ...], quantile: Floats
) -> Floats:
    """Return the part of the skewness of an estimate that counts, from its third cumulant.

    For a mean of n units it is that of the units over n².

    `variances` and `numbers` are the contributions of each system to the squared standard error,
    and its units; `quantile` is the 97.5 % quantile of t whatever the level of the interval, so
    that p-values agree with intervals of every level. The result is 0 below `CHANCE` standard
    deviations of the skewness of normal units, NaN where there is no spread.
    """
    total = np.sum(np.broadcast_arrays(*variances), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = cumulants / total**1.5
        chance_variances = [
            (variance / total) ** 3 / n * chance_variance(n)
            for variance, n in zip(variances, numbers, strict=True)
        ]
        excess = np.maximum(np.abs(skewness) - CHANCE * np.sqrt(sum(chance_variances)), 0.0)
        return np.asarray(np.copysign(np.minimum(excess, MOST_SKEWED / quantile), skewness))


def stretched(quantile: Floats, skewness: Floats, usual: Floats) -> tuple[Floats, Floats]:
    """Return the distances of both limits in standard errors: one as by t, the other longer.

    Hall's g(T) = T + s T² / 3 + s² T³ / 27 + s / 6 of the t statistic T is inverted at both
    quantiles. Beyond the `usual` quantile, that of 97.5 %, where it would soon diverge, the longer
    side keeps its ratio to t.
    """
    # There the quotient below is lost in rounding.
    flat = (np.abs(skewness) < 1e-9) | np.isnan(skewness)
    s, inner = np.where(flat, 1.0, skewness), np.minimum(quantile, usual)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = (np.abs(3 / s * (np.cbrt(1 + s * (sign * inner - s / 6)) - 1)) for sign in (1, -1))
        sides = (
            np.where(
                quantile > usual, np.fmax(inner, end) * (quantile / inner), np.fmax(quantile, end)
            )
            for end in ends
        )
        below, above = (np.where(flat, quantile, side) for side in sides)
    return below, above


def shrunken(statistic: Floats, skewness: Floats, usual: Floats) -> Floats:
    """Return the t statistic whose test agrees with `stretched`: never farther from 0 than t."""
    s, away = np.nan_to_num(skewness), np.sign(statistic)
    below, above = stretched(usual, np.asarray(s), usual)
    # A statistic above 0 is one of a value below the estimate.
    last = np.where(away > 0, below, above)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        cubic = statistic + s * statistic**2 / 3 + s**2 * statistic**3 / 27 + s / 6
        inner = away * np.maximum(np.minimum(np.abs(statistic), away * cubic), 0.0)
        shrunk = np.where(np.abs(statistic) > last, statistic * (usual / last), inner)
    return np.asarray(np.where(np.isfinite(statistic), shrunk, statistic))


def skewness_test(means: Floats, n: Floats) -> Floats:
    """Return D'Agostino's (1970) two-sided p-value of the skewness of units along the last axis.

    NaN below three.

    As `scipy.stats.skewtest`, for ragged units in one pass. His approximation begins at eight
    units: that of fewer is the normal law with the variance of their skewness, whose tails are too
    long for one sample, and right for the mean of several.
    """
    from scipy.special import ndtr

    testable = n >= LEAST
    number = np.where(testable, n, LEAST)
    n = np.maximum(number, 8.0)
    measured = ~np.isnan(means)
    centre = np.where(measured, means, 0.0).sum(axis=-1) / number
    away = np.where(measured, means - centre[..., None], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (away**3).sum(axis=-1) / number / ((away**2).sum(axis=-1) / number) ** 1.5
        y = observed * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
        kurtosis = (
            3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
        )
        squared = np.sqrt(2 * (kurtosis - 1)) - 1
        z = np.arcsinh(y / np.sqrt(2 / (squared - 1))) / np.sqrt(0.5 * np.log(squared))
        z = np.where(
            number < 8, observed / np.sqrt(6 * (number - 2) / ((number + 1) * (number + 3))), z
        )
    return np.where(testable, 2 * ndtr(-np.abs(z)), np.nan)


class UnitShape(NamedTuple):
    """P-values of normality (Shapiro and Wilk; skewness) of units, and the skewness of their mean.

    `normal` is Shapiro and Wilk's, of few units.
    """

    normal: Floats
    skewed: Floats
    skewness: Floats


def noisier_side(*units: Floats, summaries: Sequence[UnitSummary] = ()) -> tuple[Floats, ...]:
    """Return the candidate's share of the squared error, and the noisier side's `UnitShape`.

    `units` are the unit means (..., units) of the candidate and of the baseline, whose summaries
    may be given. The shape is NaN where neither has most of the error.
    """
    sides = summaries or [summarise_units(side) for side in units]
    with np.errstate(divide="ignore", invalid="ignore"):
        new_share, old_share = (side.variance / side.mean**2 for side in sides)
        share = new_share / (new_share + old_share)
        candidate = share >= MOST
    if len({side.shape[-1] for side in units}) > 1:
        longest = max(side.shape[-1] for side in units)
        padding = ([(0, 0)] * (side.ndim - 1) + [(0, longest - side.shape[-1])] for side in units)
        units = tuple(
            np.pad(side, width, constant_values=np.nan)
            for side, width in zip(units, padding, strict=True)
        )
    noisier = np.where(candidate[..., None], *units)
    summary = UnitSummary(
        *(np.where(candidate, *values_of_sides) for values_of_sides in zip(*sides, strict=True))
    )
    return share, *unit_shape(noisier, summary, candidate | (share <= 1 - MOST))


def unit_shape(units: Floats, summary: UnitSummary, where: Mask | bool = True) -> UnitShape:
    """Return the shape of unit means (..., units), whose summary is given, in some cells.

    NaN in the others.
    """
    few_units, testable = where & (summary.n < FEW), where & (summary.n >= LEAST)
    shape = UnitShape(*(np.full(summary.n.shape, np.nan) for _ in UnitShape._fields))
    if few_units.any():
        shape.normal[few_units] = shapiro_wilk(spread_ties(units[few_units])).pvalue
    if testable.any():
        rows, n = units[testable], summary.n[testable]
        shape.skewed[testable] = skewness_test(rows, n)
        with np.errstate(divide="ignore", invalid="ignore"):
            shape.skewness[testable] = (
                third_cumulant(rows, n) / n**2 / summary.variance[testable] ** 1.5
            )
    return shape
