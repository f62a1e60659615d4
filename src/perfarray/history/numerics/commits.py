"""The values of commits: means of their units, how well each is known, and how far one depends on the one before."""

from typing import NamedTuple

import numpy as np

from perfarray.history.numerics.search import best_step
from perfarray.history.numerics.spreads import relative_spreads
from perfarray.numerics.levels import mean_of_measured
from perfarray.numerics.types import Floats, Integers

CLIP = 2.5
"""Differences count up to so many standard deviations: single days, and steps, do not make the noise."""

MEDIAN_SQUARE = 0.4549
"""The median of a squared standard normal value."""

SURE = 2.3
"""The least lag-1 correlation that is believed, times the root of the number of values: independent series show more in 5 %."""

CAUTION = 1.0
"""What is added to a correlation that is believed, times the same root: less than there is costs more than more than there is."""

DOUBT = 1.4
"""Times which p-values count where the spread changes: where and by how much is estimated (docs/how-to/change_points.md)."""

MOST = 0.9
"""The largest correlation that is taken out."""


class Commits(NamedTuple):
    """Of one series, along the commits that were measured: their values, and standard errors of which the ratios count.

    `within` is what one unit adds to the variance of its commit's mean, NaN where no commit has two; `correlation` is that of one commit's
    noise with the next one's, 0 where it is not larger than chance makes it; `spreads` are part of the errors, 1 where the spread does not
    change.
    """

    positions: Integers
    values: Floats
    errors: Floats
    counts: Floats
    within: float
    correlation: float
    spreads: Floats

    @property
    def doubt(self) -> float:
        """What p-values are multiplied by."""
        return DOUBT if (self.spreads != 1).any() else 1.0


def commits_of(units: Floats) -> Commits:
    """Return what is known of the commits of a series of units (commits, units)."""
    counts = (~np.isnan(units)).sum(axis=-1)
    positions = np.flatnonzero(counts)
    units, counts = units[positions], counts[positions].astype(float)
    values = mean_of_measured(units)
    squares, spare = np.nansum((units - values[:, None]) ** 2), float(np.sum(counts - 1))
    within = float(squares / spare) if spare > 0 else np.nan
    errors = _errors(values, counts, within)
    spreads = relative_spreads(values, errors)
    errors = errors * spreads
    correlation = _dependence((values - np.median(values)) / errors) if len(values) >= 8 else 0.0
    return Commits(positions, values, errors, counts, within, correlation, spreads)


def _errors(values: Floats, counts: Floats, within: float) -> Floats:
    """Return standard errors of commits from unequal numbers of units: of these, and of what commits differ by though nothing changed.

    The latter is what makes the median of the squared differences between neighbours, of which few are steps, what it should be.
    """
    if len(values) < 3 or not within > 0 or (counts == counts[0]).all():
        return np.ones(len(values))
    error_variances = within / counts
    squares, sums = np.diff(values) ** 2, error_variances[1:] + error_variances[:-1]
    low, high = 0.0, float(np.median(squares)) / (2 * MEDIAN_SQUARE)
    for _ in range(40):
        between = (low + high) / 2
        larger = np.median(squares / (2 * between + sums)) > MEDIAN_SQUARE
        low, high = (between, high) if larger else (low, between)
    return np.sqrt((low + high) / 2 + error_variances)


def _dependence(values: Floats) -> float:
    """Return the lag-1 correlation of a series' noise, of which the largest step, if that is what makes it, is no part."""
    strongest = correlation(values)
    if strongest == 0.0:
        return strongest
    split = best_step(values, np.ones(len(values)), 2).splits[0]
    levels = np.where(np.arange(len(values)) < split, np.median(values[:split]), np.median(values[split:]))
    return min(strongest, correlation(values - levels))


def correlation(values: Floats) -> float:
    """Return the lag-1 correlation of the noise of a series that may have steps; 0 where chance makes as much.

    Of noise whose correlation dies out, values two apart differ by 1 + rho times as much (squared) as neighbours; both are means of
    squares that steps and single days hardly change.

    References
    ----------
    S. Chakar, E. Lebarbier, C. Lévy-Leduc, S. Robin, "A robust approach for estimating change-points in the mean of an AR(1) process",
    Bernoulli 23, 2017.
    """
    near, far = (np.abs(values[lag:] - values[:-lag]) for lag in (1, 2))
    most, margin = CLIP * 1.4826 * float(np.median(far)), 1.0 / np.sqrt(len(values))
    if most == 0.0 or not near.any():
        return 0.0
    estimate = float(np.mean(np.minimum(far, most) ** 2) / np.mean(np.minimum(near, most) ** 2)) - 1.0
    return min(estimate + CAUTION * margin, MOST) if estimate > SURE * margin else 0.0


def whitened(values: Floats, rho: float) -> Floats:
    """Return a series without the dependence of its noise, with levels where they were; its noise is that of long-run means."""
    if rho == 0.0:
        return values
    clean = values.copy()
    clean[1:] = (values[1:] - rho * values[:-1]) / (1.0 - rho)
    return clean
