"""The values of commits: means of their units, how well each is known, and how far it depends on the one before."""

from typing import NamedTuple

import numpy as np

from perfarray.history.numerics.search import best_step, score_sums
from perfarray.history.numerics.spreads import CLIP, relative_spreads
from perfarray.numerics.levels import mean_of_measured
from perfarray.numerics.types import Floats, Integers

# The median of the square of a standard normal value.
MEDIAN_SQUARE = 0.4549

# The smallest lag-1 correlation that counts, times the root of the number of values: 5 % of independent series exceed it.
SURE = 2.3

# Added to such a correlation, times the same root: an estimate that is too small costs more than one that is too large.
CAUTION = 1.0

# The largest correlation that is removed.
MOST = 0.9

# P-values are multiplied by this where the spread changes, since the spreads are estimated (docs/how-to/change_points.md).
DOUBT = 1.4


class Commits(NamedTuple):
    """One series, along the commits that were measured.

    `values` are logs where `logs`, and `clean` are the values without the dependence of neighbours. Of `errors` only the ratios count;
    they include `spreads`, which are 1 where the spread does not change. `within` is the variance of one unit about the mean of its
    commit, NaN where no commit has two; `correlation` is that of neighbours, 0 where it may be chance.
    """

    positions: Integers
    values: Floats
    clean: Floats
    logs: bool
    errors: Floats
    counts: Floats
    within: float
    correlation: float
    spreads: Floats

    @property
    def doubt(self) -> float:
        """The factor of p-values."""
        return DOUBT if (self.spreads != 1).any() else 1.0


def commits_of(units: Floats) -> Commits:
    """Describe the commits of a series of units (commits, units), on the scale of logs where all are positive."""
    logs = not bool(np.any(units <= 0))
    units = np.log(units) if logs else units
    counts = (~np.isnan(units)).sum(axis=-1)
    positions = np.flatnonzero(counts)
    units, counts = units[positions], counts[positions].astype(float)
    values = mean_of_measured(units)
    squares, df = np.nansum((units - values[:, None]) ** 2), float(np.sum(counts - 1))
    within = float(squares / df) if df > 0 else np.nan
    errors = _errors(values, counts, within)
    spreads = relative_spreads(values, errors)
    errors = errors * spreads
    rho = _dependence((values - np.median(values)) / errors) if len(values) >= 8 else 0.0
    clean = whitened(values, rho)
    return Commits(positions, values, clean, logs, errors, counts=counts, within=within, correlation=rho, spreads=spreads)


def _errors(values: Floats, counts: Floats, within: float) -> Floats:
    """Return standard errors of commits with unequal numbers of units, from the variances within and between commits.

    The variance between commits is the one that gives the squared differences between neighbours, of which few are steps, their
    expected median.
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
    """Return the lag-1 correlation of a series, or that without its largest step where that is smaller."""
    strongest = correlation(values)
    if strongest == 0.0:
        return strongest
    split = best_step(score_sums(values, np.ones(len(values))), 2).splits[0]
    levels = np.where(np.arange(len(values)) < split, np.median(values[:split]), np.median(values[split:]))
    return min(strongest, correlation(values - levels))


def correlation(values: Floats) -> float:
    """Return the lag-1 correlation of the noise of a series that may have steps; 0 where it may be chance.

    Squared differences at lag 2 are 1 + rho times those at lag 1; clipped means of both hardly depend on steps and outliers.

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
    """Remove the dependence of neighbours; levels stay where they were, and the noise becomes that of long-run means."""
    if rho == 0.0:
        return values
    clean = values.copy()
    clean[1:] = (values[1:] - rho * values[:-1]) / (1.0 - rho)
    return clean
