"""The Shapiro-Wilk test of normality. The last axis is the sample; NaN is "not measured"."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.statistics import tied_positions
from perfarray.numerics.types import Floats

LEAST = 3  # values a sample needs

# Corrections of the two outermost coefficients: polynomials in 1 / sqrt(n), the constant first.
OUTERMOST_COEFFICIENT = (0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)
NEXT_COEFFICIENT = (0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)

# The normal distribution of -log(shift - log(1 - W)) for 4 to 11 values: polynomials in n.
SMALL_SHIFT = (-2.273, 0.459)
SMALL_MEAN = (0.5440, -0.39978, 0.025054, -6.714e-4)
SMALL_LOG_SPREAD = (1.3822, -0.77857, 0.062767, -0.0020322)

# The normal distribution of log(1 - W) for 12 values and more: polynomials in log(n).
LARGE_MEAN = (-1.5861, -0.31082, -0.083751, 0.0038915)
LARGE_LOG_SPREAD = (-0.4803, -0.082676, 0.0030302)


class ShapiroWilk(NamedTuple):
    """The statistic W and its p-value; NaN for samples of fewer than 3 values, or of equal ones."""

    statistic: Floats
    pvalue: Floats


def shapiro_wilk(values: npt.ArrayLike) -> ShapiroWilk:
    """Test whether samples come from normal distributions, as R's `shapiro.test` does.

    Samples (..., values) may differ in size. P-values were fitted for up to 5000 values; beyond,
    they are extrapolated.

    References
    ----------
    P. Royston, "Remark AS R94: A remark on algorithm AS 181: the W-test for normality", Applied
    Statistics 44, 1995.
    """
    sample = np.sort(np.asarray(values, dtype=float), axis=-1)
    measured = ~np.isnan(sample)
    if measured.all() and sample.shape[-1] >= LEAST:
        distance = _distance_from_one(sample)
        return ShapiroWilk(1.0 - distance, _pvalue(distance, sample.shape[-1]))
    sizes = measured.sum(axis=-1)
    statistic = np.full(sizes.shape, np.nan)
    pvalue = np.full(sizes.shape, np.nan)
    # The coefficients depend on the size of the sample.
    for n in np.unique(sizes[sizes >= LEAST]).tolist():
        rows = sizes == n
        distance = _distance_from_one(sample[rows][:, :n])
        statistic[rows] = 1.0 - distance
        pvalue[rows] = _pvalue(distance, n)
    return ShapiroWilk(statistic, pvalue)


def spread_ties(values: Floats, step: float | None = None) -> Floats:
    """Return ascending samples, with equal values spread evenly over one step of their grid.

    By default the step is the least distance between two values of the sample. Rounding is then no
    evidence against normality: of normal values on a grid of any width at most 6 % have p <= 0.05,
    where of 3 to 9 rounded to their standard deviation 30 to 56 % had.
    """
    ordered = np.sort(values, axis=-1)
    gaps = np.diff(ordered, axis=-1)
    if not (gaps == 0).any():
        return ordered
    min_gap = np.where(gaps > 0, gaps, np.inf).min(axis=-1, keepdims=True)
    first, last = tied_positions(ordered)
    offset = (np.arange(ordered.shape[-1]) - first + 0.5) / (last - first + 1) - 0.5
    width = np.where(np.isinf(min_gap), 0.0, min_gap if step is None else step)
    return np.asarray(ordered + width * offset)


def _distance_from_one(ordered: Floats) -> Floats:
    """Return 1 - W of rows in ascending order.

    W of a normal sample is too near 1 to be subtracted from it later.
    """
    coefficients, norm = _coefficients(ordered.shape[-1])
    spread = ordered[..., -1:] - ordered[..., :1]
    centred = (ordered - ordered[..., :1]) / np.where(spread > 0, spread, np.nan)
    centred = centred - np.add.reduce(centred, axis=-1, keepdims=True) / ordered.shape[-1]
    length = np.sqrt(np.add.reduce(centred**2, axis=-1) * norm)
    product = np.add.reduce(coefficients * centred, axis=-1)
    return np.asarray(np.maximum((length - product) * (length + product) / length**2, 0.0))


@lru_cache(maxsize=256)
def _coefficients(n: int) -> tuple[Floats, float]:
    """Return the coefficients of ordered values, and the sum of their squares."""
    from scipy.special import ndtri

    if n == LEAST:
        return np.array([-np.sqrt(0.5), 0.0, np.sqrt(0.5)]), 2 * float(np.sqrt(0.5)) ** 2
    scores = ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    total = (scores**2).sum()
    corrected = [np.polyval(OUTERMOST_COEFFICIENT[::-1], n**-0.5) + scores[-1] / np.sqrt(total)]
    if n > 5:
        corrected.append(np.polyval(NEXT_COEFFICIENT[::-1], n**-0.5) + scores[-2] / np.sqrt(total))
    outer = len(corrected)
    remainder = total - 2 * (scores[-outer:] ** 2).sum()
    weights = scores / np.sqrt(remainder / (1 - 2 * np.square(corrected).sum()))
    weights[-outer:] = corrected[::-1]
    weights[:outer] = -np.array(corrected)
    return np.asarray(weights), float((weights**2).sum())


def _pvalue(distance: Floats, n: int) -> Floats:
    from scipy.special import ndtr

    if n == LEAST:
        return np.asarray(
            np.clip(
                6 / np.pi * (np.arcsin(np.sqrt(1 - distance)) - np.arcsin(np.sqrt(0.75))), 0.0, 1.0
            )
        )
    with np.errstate(divide="ignore"):
        score = np.log(distance)
    mean, spread, shift = _transformed_w(n)
    if n > 11:
        return np.asarray(ndtr((mean - score) / spread))
    beyond_shift = score >= shift
    score = -np.log(shift - np.where(beyond_shift, shift - 1.0, score))
    return np.where(beyond_shift, 0.0, ndtr((mean - score) / spread))


@lru_cache(maxsize=256)
def _transformed_w(n: int) -> tuple[float, float, float]:
    """Return mean and standard deviation of the transformed W, and the shift for few values."""
    means, log_spreads, at = (
        (SMALL_MEAN, SMALL_LOG_SPREAD, n) if n <= 11 else (LARGE_MEAN, LARGE_LOG_SPREAD, np.log(n))
    )
    mean, log_spread, shift = (
        np.polyval(terms[::-1], argument)
        for terms, argument in ((means, at), (log_spreads, at), (SMALL_SHIFT, n))
    )
    return float(mean), float(np.exp(log_spread)), float(shift)
