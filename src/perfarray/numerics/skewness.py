"""Skewed units: what their third moment does to an interval of a mean or of a ratio of means, and a test of it.

A mean of few skewed units and its standard error move together, so that t misses far more often beyond one end than beyond the other.
Hall's transformation (1992) of the t statistic takes that back; it never shortens an interval here, and it is held back where units are
too few to tell their skewness from chance.
"""

import numpy as np

from perfarray.numerics.types import Floats

HELD_BACK = 0.5
"""How much of the skewness that normal units would show by chance (its standard deviation) is taken off before it counts."""

MOST_SKEWED = 0.5
"""The largest skewness of an estimate that counts, times the 97.5 % quantile of its t: beyond, the transformation soon diverges."""

LEAST = 3
"""Units that have a skewness."""


def third_cumulant(means: Floats, n: Floats) -> Floats:
    """Return the unbiased third cumulant of units along the last axis, NaN where not measured; 0 for fewer than three."""
    measured = ~np.isnan(means)
    at_least_one = np.maximum(n, 1)
    centre = np.where(measured, means, 0.0).sum(axis=-1) / at_least_one
    cubes = np.where(measured, means - centre[..., None], 0.0) ** 3
    return np.where(n >= LEAST, n / np.maximum((n - 1) * (n - 2), 1) * cubes.sum(axis=-1), 0.0)


def chance_variance(n: Floats) -> Floats:
    """Return the variance of the bias-corrected skewness of n normal units; 0 for fewer than three."""
    few = n < LEAST
    n = np.where(few, LEAST, n)
    return np.where(few, 0.0, 6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3)))


def counted_skewness(cumulants: Floats, variances: tuple[Floats, ...], numbers: tuple[Floats, ...], quantile: Floats) -> Floats:
    """Return how much of the skewness of an estimate counts.

    Parameters
    ----------
    cumulants : array
        Third cumulant of the estimate: of a mean of n units, theirs over n².
    variances, numbers : tuples of arrays
        What each system adds to the squared standard error, and its units.
    quantile : array
        The 97.5 % quantile of the t statistic, whatever the level of the interval: p-values then agree with intervals of every level.

    Returns
    -------
    array
        0 where the skewness is less than `HELD_BACK` standard deviations of what normal units show; NaN where there is no spread.
    """
    total = np.sum(np.broadcast_arrays(*variances), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = cumulants / total**1.5
        chance_variances = [(variance / total) ** 3 / n * chance_variance(n) for variance, n in zip(variances, numbers, strict=True)]
        counted = np.maximum(np.abs(skewness) - HELD_BACK * np.sqrt(sum(chance_variances)), 0.0)
        return np.asarray(np.copysign(np.minimum(counted, MOST_SKEWED / quantile), skewness))


def stretched(quantile: Floats, skewness: Floats, usual: Floats) -> tuple[Floats, Floats]:
    """Return by how many standard errors the lower and the upper limit lie from the estimate: one as by t, the other farther.

    Hall's g(T) = T + s T² / 3 + s² T³ / 27 + s / 6 of the t statistic T is inverted at both quantiles. Beyond the `usual` quantile, that
    of 97.5 %, where it would soon diverge, the longer side stays as many times as long as it is there.
    """
    flat = (np.abs(skewness) < 1e-9) | np.isnan(skewness)  # the limit is the quantile, and the quotient is lost in rounding
    s, near = np.where(flat, 1.0, skewness), np.minimum(quantile, usual)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = (np.abs(3 / s * (np.cbrt(1 + s * (sign * near - s / 6)) - 1)) for sign in (1, -1))
        sides = (np.where(quantile > usual, np.fmax(near, end) * (quantile / near), np.fmax(quantile, end)) for end in ends)
        below, above = (np.where(flat, quantile, side) for side in sides)
    return below, above


def shrunken(statistic: Floats, skewness: Floats, usual: Floats) -> Floats:
    """Return the t statistic whose t test agrees with the limits by `stretched`: never farther from 0 than the one given."""
    s, away = np.nan_to_num(skewness), np.sign(statistic)
    below, above = stretched(usual, np.asarray(s), usual)
    last = np.where(away > 0, below, above)  # a statistic above 0 is one of a value below the estimate
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        cubic = statistic + s * statistic**2 / 3 + s**2 * statistic**3 / 27 + s / 6
        near = away * np.maximum(np.minimum(np.abs(statistic), away * cubic), 0.0)
        shrunk = np.where(np.abs(statistic) > last, statistic * (usual / last), near)
    return np.asarray(np.where(np.isfinite(statistic), shrunk, statistic))


def skewness_test(means: Floats, n: Floats) -> Floats:
    """Return D'Agostino's (1970) two-sided p-value of the skewness of units along the last axis, if they are normal; NaN below eight.

    As `scipy.stats.skewtest`, of ragged units in one pass.
    """
    from scipy.special import ndtr

    enough = n >= 8
    n = np.where(enough, n, 8.0)
    measured = ~np.isnan(means)
    centre = np.where(measured, means, 0.0).sum(axis=-1) / n
    away = np.where(measured, means - centre[..., None], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (away**3).sum(axis=-1) / n / ((away**2).sum(axis=-1) / n) ** 1.5
        y = observed * np.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
        kurtosis = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
        squared = np.sqrt(2 * (kurtosis - 1)) - 1
        z = np.arcsinh(y / np.sqrt(2 / (squared - 1))) / np.sqrt(0.5 * np.log(squared))
    return np.where(enough, 2 * ndtr(-np.abs(z)), np.nan)
