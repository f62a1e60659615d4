"""The values of commits: means of their units, their errors, and their dependence."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfarray.history.numerics.search import best_step, score_sums
from perfarray.history.numerics.spreads import CLIP, relative_spreads
from perfarray.numerics.levels import mean_of_measured
from perfarray.numerics.types import Floats, Integers, Mask

# The median of the square of a standard normal value.
MEDIAN_SQUARE = 0.4549

# The smallest lag-1 correlation that counts, times the root of the number of values: 5 % of
# independent series exceed it.
SURE = 2.3

# The largest correlation that is removed.
MOST = 0.99

# What correlations of residuals about a step fall short of, times the number of values: a constant,
# and a multiple of the correlation.
BIAS, SHRINKAGE = 2.0, 8.0

# Shorter series show no dependence.
SHORTEST = 8

# The number of values in a stack of series: its arrays stay in the cache.
STACK = 1 << 15

# P-values are multiplied by this where the spread changes, since the spreads are estimated
# (docs/how-to/change_points.md).
DOUBT = 1.4


class Commits(NamedTuple):
    """A stack of series of as many commits measured, along these commits (series, n).

    `values` are logs where `logs` (series,), and `clean` are the values without the dependence of
    neighbours. Of `errors` only the ratios count; they include `spreads`, which are 1 where the
    spread does not change. `within` (series,) is the variance of one unit about the mean of its
    commit, NaN where no commit has two; `correlation` (series,) is that of neighbours, 0 where it
    may be chance. `slopes` are those of the segments of the commits, for one position: 0 where a
    segment does not drift.
    """

    positions: Integers
    values: Floats
    clean: Floats
    logs: Mask
    errors: Floats
    counts: Floats
    within: Floats
    correlation: Floats
    spreads: Floats
    slopes: Floats

    @property
    def doubt(self) -> Floats:
        """The factor of the p-values of each series."""
        return np.where((self.spreads != 1).any(axis=-1), DOUBT, 1.0)

    @property
    def relative_errors(self) -> Floats:
        """The errors, of which the mean square in each series is 1."""
        return np.asarray(self.errors / np.sqrt(np.mean(self.errors**2, axis=-1, keepdims=True)))


def stacks(units: Floats) -> Iterator[tuple[Integers, Commits]]:
    """Stack those series of units (series, commits, units) that have as many commits measured.

    Return their numbers with each stack.

    Series without any commit are left out.
    """
    measured = ~np.isnan(units).all(axis=-1)
    lengths = measured.sum(axis=-1)
    for n in np.unique(lengths[lengths > 0]).tolist():
        rows = np.flatnonzero(lengths == n)
        for block in blocks(rows, n):
            yield block, commits_of(units[block])


def blocks(series: Integers, size: int) -> list[Integers]:
    """Split series, of so many values each, into those of one stack."""
    return np.array_split(series, min(-(-len(series) * size // STACK), len(series)))


def commits_of(units: Floats) -> Commits:
    """Describe series of units (series, commits, units) with as many commits measured.

    Values are logs where all are positive.
    """
    measured = ~np.isnan(units).all(axis=-1)
    positions = np.nonzero(measured)[1].reshape(len(units), -1)
    units = units[measured].reshape(*positions.shape, units.shape[-1])
    logs: Mask = np.logical_not((units <= 0).any(axis=(-2, -1)))
    units[logs] = np.log(units[logs])
    counts = (~np.isnan(units)).sum(axis=-1).astype(float)
    values = mean_of_measured(units)
    squares, df = (
        np.nansum(((units - values[..., None]) ** 2).reshape(len(units), -1), axis=-1),
        np.sum(counts - 1, axis=-1),
    )
    within = np.divide(squares, df, out=np.full(len(units), np.nan), where=df > 0)
    errors = _errors(values, counts, within)
    spreads = relative_spreads(values, errors)
    errors = errors * spreads
    long = values.shape[-1] >= SHORTEST
    rho = (
        _dependence((values - np.median(values, axis=-1, keepdims=True)) / errors)
        if long
        else np.zeros(len(units))
    )
    clean, slopes = whitened(values, rho), np.zeros(values.shape)
    return Commits(
        positions,
        values,
        clean,
        logs,
        errors,
        counts=counts,
        within=within,
        correlation=rho,
        spreads=spreads,
        slopes=slopes,
    )


def _errors(values: Floats, counts: Floats, within: Floats) -> Floats:
    """Return standard errors of commits: of unequal numbers of units, else 1.

    The variance between commits is the one that gives the squared differences between neighbours,
    of which few are steps, their expected median.
    """
    errors = np.ones(values.shape)
    rows = np.flatnonzero((within > 0) & (counts != counts[:, :1]).any(axis=-1))
    if values.shape[-1] < 3 or not rows.size:
        return errors
    error_variances = within[rows, None] / counts[rows]
    squares, sums = np.diff(values[rows]) ** 2, error_variances[:, 1:] + error_variances[:, :-1]
    low, high = (
        np.zeros((len(rows), 1)),
        np.median(squares, axis=-1, keepdims=True) / (2 * MEDIAN_SQUARE),
    )
    for _ in range(40):
        between = (low + high) / 2
        larger = np.median(squares / (2 * between + sums), axis=-1, keepdims=True) > MEDIAN_SQUARE
        low, high = np.where(larger, between, low), np.where(larger, high, between)
    errors[rows] = np.sqrt((low + high) / 2 + error_variances)
    return errors


def _dependence(values: Floats) -> Floats:
    """Return the lag-1 correlations of series, or those about the largest step where smaller.

    A step is no dependence. About one step, the smaller of two estimates decides: products of
    neighbours are more precise in short series, but further steps enlarge them; then differences.
    """
    strongest = correlation(values)
    rows = np.flatnonzero(strongest)
    if rows.size:
        dependent, n = values[rows], values.shape[-1]
        _, splits = best_step(score_sums(dependent, np.ones(dependent.shape)), 2)
        # Medians of several lengths.
        for series, split in zip(dependent, splits.tolist(), strict=True):
            series[:split] -= np.median(series[:split])
            series[split:] -= np.median(series[split:])
        bound = CLIP * 1.4826 * np.median(np.abs(dependent), axis=-1, keepdims=True)
        clipped = np.clip(dependent, -bound, bound)
        for series, split in zip(clipped, splits.tolist(), strict=True):
            series[:split] -= series[:split].mean()
            series[split:] -= series[split:].mean()
        squares = np.maximum((clipped**2).sum(axis=-1), 1e-300)
        products = (clipped[:, 1:] * clipped[:, :-1]).sum(axis=-1) / squares
        products += (BIAS + SHRINKAGE * products) / n
        strongest[rows] = np.clip(
            products, 0.0, np.minimum(strongest[rows], correlation(dependent))
        )
    return strongest


def correlation(values: Floats) -> Floats:
    """Return the lag-1 correlations of the noise of series (series, n); 0 where it may be chance.

    Series may have steps and a slope. Squared differences at lag 2 are 1 + rho times those at lag
    1. Their clipped means hardly depend on steps and outliers.

    References
    ----------
    S. Chakar, E. Lebarbier, C. Lévy-Leduc, S. Robin, "A robust approach for estimating
    change-points in the mean of an AR(1) process", Bernoulli 23, 2017.
    """
    lag_1, lag_2 = squared_differences(values)
    estimate = np.divide(lag_2, lag_1, out=np.zeros(len(values)), where=lag_1 > 0) - 1.0
    return np.where(estimate > SURE / np.sqrt(values.shape[-1]), np.minimum(estimate, MOST), 0.0)


def squared_differences(values: Floats) -> tuple[Floats, Floats]:
    """Return the clipped mean squared differences of series (series, n) at lags 1 and 2.

    Their median, a slope, is subtracted.
    """
    slope = np.median(values[:, 2:] - values[:, :-2], axis=-1, keepdims=True) / 2
    lag_1, lag_2 = (np.abs(values[:, lag:] - values[:, :-lag] - lag * slope) for lag in (1, 2))
    bound = CLIP * 1.4826 * np.median(lag_2, axis=-1, keepdims=True)
    means_1, means_2 = (np.mean(np.minimum(sizes, bound) ** 2, axis=-1) for sizes in (lag_1, lag_2))
    return means_1, means_2


def whitened(values: Floats, rho: Floats) -> Floats:
    """Remove the dependence of neighbours.

    Levels stay where they were, and the noise becomes that of long-run means.
    """
    rows = np.flatnonzero(rho)
    if not rows.size:
        return values
    clean, rho = values.copy(), rho[rows, None]
    clean[rows, 1:] = (values[rows, 1:] - rho * values[rows, :-1]) / (1.0 - rho)
    return clean
