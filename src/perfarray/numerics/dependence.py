"""Whether repetitions depend on those before them.

The last axis is the order in which they were measured; NaN is "not measured".
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.levels import UnitSummary, mean_of_measured, summarise_units
from perfarray.numerics.statistics import tied_positions
from perfarray.numerics.types import Floats, Integers

LEAST = 30  # below, a moderate dependence is seen too seldom for its absence to be concluded
LEAST_RANKED = 10  # repetitions that ranks need
BATCHES = 8  # more give narrower limits and fail sooner where the dependence is long
STRONGEST = 0.9  # the largest correlation of neighbours that is removed before batches are made
SUSPECT = 1.8  # standard errors above which the ranks of a series are tested


class Scores(NamedTuple):
    """How alike neighbours in a series are, and how far it drifts.

    Both are differences from the expectation without order, with variances.
    """

    serial: Floats
    serial_variance: Floats
    drift: Floats
    drift_variance: Floats


def measured_first(values: Floats) -> tuple[Floats, Integers]:
    """Return series without their gaps, NaN at the end, and how many values each has."""
    missing = np.isnan(values)
    if not missing.any():
        return values, np.full(values.shape[:-1], values.shape[-1])
    order = np.argsort(missing, axis=-1, kind="stable")
    return np.take_along_axis(values, order, axis=-1), (~missing).sum(axis=-1)


def autocorrelations(values: Floats) -> Floats:
    """Return the autocorrelations of series (..., n) at the lags 0 to n - 1, with the divisor n.

    Those of constant series, and beyond their length, are NaN. A gap adds nothing to any product.
    """
    n = values.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.nan_to_num(values - mean_of_measured(values)[..., None])
        scale = np.abs(distances).max(axis=-1, keepdims=True, initial=0.0)
        spectrum = np.fft.rfft(np.where(scale > 0, distances / scale, np.nan), 2 * n)
        products = np.fft.irfft(np.abs(spectrum) ** 2, 2 * n)[..., :n]
        correlations = products / products[..., :1]
    length = (~np.isnan(values)).sum(axis=-1, keepdims=True)
    return np.where(np.arange(n) < length, correlations, np.nan)


def ljung_box(correlations: Floats, n: Integers) -> Floats:
    """Return the p-value of Ljung and Box's (1978) test of autocorrelations.

    It takes min(10, n // 5) lags, and is NaN where that is none.
    """
    from scipy.special import gammaincc

    lags = np.minimum(10, n // 5)
    lag = np.arange(1, min(10, correlations.shape[-1] - 1) + 1)
    n_ = np.asarray(n)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(
            lag <= lags[..., None], correlations[..., 1 : len(lag) + 1] ** 2 / (n_ - lag), 0.0
        )
        statistic = n * (n + 2) * terms.sum(axis=-1)
        return np.where(lags > 0, gammaincc(np.maximum(lags, 1) / 2, statistic / 2), np.nan)


def without_bias(correlations: Floats, n: Integers) -> Floats:
    """Return autocorrelations (lags last, from 0) less their expectation without order.

    That is -(n - lag) / (n (n - 1)).
    """
    lag, n_ = np.arange(correlations.shape[-1]), np.asarray(n)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(lag > 0, correlations + (n_ - lag) / (n_ * (n_ - 1.0)), correlations)


def pooled(correlations: Floats, n: Integers) -> Floats:
    """Return the average of the autocorrelations of series (..., series, lags), by length.

    It is over the series that have the lag.
    """
    weights = np.where(np.isnan(correlations), 0.0, np.asarray(n, dtype=float)[..., None])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            (weights * np.nan_to_num(correlations)).sum(axis=-2) / weights.sum(axis=-2)
        )


def effective_share(correlations: Floats, n: Integers | Floats) -> Floats:
    """Return how many independent values one value is worth.

    That is 1 / (1 + 2 sum of (1 - lag / n) correlation). The sum ends before the first pair of lags
    (2, 3), (4, 5), ... that is not positive (Geyer 1992, section 3.3).
    """
    lags = correlations.shape[-1] // 2 * 2
    if not lags:
        return np.full(correlations.shape[:-1], np.nan)
    n_ = np.asarray(n, dtype=float)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        weighted = np.nan_to_num(correlations[..., :lags]) * np.maximum(
            1 - np.arange(lags) / n_, 0.0
        )
    pairs = weighted.reshape(*weighted.shape[:-1], -1, 2).sum(axis=-1)
    positive = np.logical_and.accumulate(pairs > 0, axis=-1)
    total = 2 * np.where(positive, np.minimum.accumulate(pairs, axis=-1), 0.0).sum(axis=-1) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 1 / np.maximum(total, 1 / n_[..., 0])
    return np.where(np.isnan(correlations[..., 0]), np.nan, share)


def order_scores(values: Floats) -> Scores:
    """Return scores of the order of series (..., n) from their ranks.

    Zero for fewer than four values, or equal ones.

    Expectations and variances are those over all permutations of the ranks, ties included: they
    assume no distribution (Wald and Wolfowitz 1943, Bartels 1982).
    """
    series, sizes = measured_first(values)
    n = sizes.astype(float)
    centred = np.where(np.isnan(series), 0.0, mid_ranks(series) - (n[..., None] + 1) / 2)
    squares = centred**2
    two, four = squares.sum(axis=-1), (squares**2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        two_pairs, one_pair = (
            (two**2 - four) / (n * (n - 1)),
            (2 * four - two**2) / (n * (n - 1) * (n - 2)),
        )
        no_pair = (3 * two**2 - 6 * four) / (n * (n - 1) * (n - 2) * (n - 3))
        variance = (
            (n - 1) * two_pairs
            + 2 * (n - 2) * one_pair
            + (n - 2) * (n - 3) * no_pair
            - (two / n) ** 2
        )
        products = (centred[..., 1:] * centred[..., :-1]).sum(axis=-1) + two / n
    # einsum starts no threads of BLAS. Centred ranks sum to 0.
    drift = np.einsum("...n,n->...", centred, np.arange(float(centred.shape[-1])))
    return Scores(
        *(
            np.where(n >= 4, score, 0.0)
            for score in (products, variance, drift, two * n * (n + 1) / 12)
        )
    )


def order_pvalue(scores: Scores) -> Floats:
    """Return twice the smaller p-value of "neighbours are alike" and of "the series drifts".

    The first is one-sided, the second two-sided.
    """
    from scipy.special import ndtr

    with np.errstate(divide="ignore", invalid="ignore"):
        serial, drift = (
            scores.serial / np.sqrt(scores.serial_variance),
            np.abs(scores.drift) / np.sqrt(scores.drift_variance),
        )
    return np.asarray(np.minimum(1.0, 2 * np.minimum(ndtr(-serial), 2 * ndtr(-drift))))


def dependence_pvalue(*units: Floats, paired: bool = False) -> Floats:
    """Return the p-value of "the order of unit means is random".

    Ranks are tested where the means themselves look suspect (`SUSPECT`). The others have 1, which
    leaves the risk as it is and costs two points of power at most.

    `units` are unit means (..., units) of one system, or of two: then it is twice the smaller
    p-value, or that of their ratios where units are `paired`. It is NaN below `LEAST_RANKED` units,
    or where they do not vary.
    """
    if paired:
        with np.errstate(divide="ignore", invalid="ignore"):
            units = (units[0] / units[1],)
    if len(units) == 1:
        return _screened_pvalue(units[0])
    return np.asarray(np.minimum(1.0, 2 * np.fmin(*map(_screened_pvalue, units))))


def _screened_pvalue(units: Floats) -> Floats:
    """Return p-values of the order of series (..., n): by ranks if values look suspect, else 1."""
    if units.shape[-1] < LEAST_RANKED:
        return np.full(units.shape[:-1], np.nan)
    series, n, mean = units, np.asarray(float(units.shape[-1])), units.mean(axis=-1)
    if np.isnan(mean).any():
        series, sizes = measured_first(units)
        n, mean = sizes.astype(float), mean_of_measured(series)
    with np.errstate(divide="ignore", invalid="ignore"):
        centred = series - mean[..., None]
        centred = centred if series is units else np.nan_to_num(centred)
        two = (centred * centred).sum(axis=-1)
        serial = (centred[..., 1:] * centred[..., :-1]).sum(axis=-1) / two * np.sqrt(
            n
        ) + 1 / np.sqrt(n)
        position = np.arange(series.shape[-1]) - (series.shape[-1] - 1) / 2
        slope = np.einsum("...n,n->...", centred, position) ** 2 / two * (12 / (n * (n + 1.0)))
    suspect = (serial > SUSPECT) | (slope > SUSPECT**2)
    pvalues = np.where((n >= LEAST_RANKED) & (two > 0), 1.0, np.nan)
    if suspect.any():
        pvalues[suspect] *= order_pvalue(order_scores(series[suspect]))
    return pvalues


def mid_ranks(series: Floats) -> Floats:
    """Return ranks from 1 along the last axis, tied values sharing the mean of theirs.

    Those of NaN have no meaning.
    """
    order = np.argsort(series, axis=-1)
    ordered = np.take_along_axis(series, order, axis=-1)
    first, last = tied_positions(ordered)
    ranks = np.empty(series.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=-1)
    return ranks


def batch_means(*sides: Floats, paired: bool = False) -> list[Floats]:
    """Return values (..., `BATCHES`) that represent unit means (..., n) which depend on each other.

    The correlation c of neighbours is removed, x_t - c x_(t-1), and the rest is averaged over
    consecutive batches. Their variance is that of independent values whose mean varies as that of
    the units does, and their mean is that of the units. Fewer than `LEAST` units give one value,
    which shows no spread.

    `sides` are unit means of one system or of two, in the order measured; of `paired` units c is
    that of new - ratio * old.

    References
    ----------
    W. Whitt, P. Glynn, "Estimating the asymptotic variance with batch means", 1991; D. Andrews, J.
    Monahan, "An improved heteroskedasticity and autocorrelation consistent covariance matrix
    estimator", Econometrica 60, 1992 (prewhitening).
    """
    correlation = None
    if paired:
        gap = np.isnan(sides[0]) | np.isnan(sides[1])
        new, old = (np.where(gap, np.nan, side) for side in sides)
        with np.errstate(divide="ignore", invalid="ignore"):
            residuals = new - (mean_of_measured(new) / mean_of_measured(old))[..., None] * old
            correlation = _ragged_neighbours(residuals)
        sides = new, old
    means_of_sides = []
    for side in sides:
        series, sizes = measured_first(side)
        mean = summarise_units(series).mean
        # The own correlation of a side is removed where the pairs have none.
        correlations = np.broadcast_to(
            _ragged_neighbours(series) if correlation is None else correlation, sizes.shape
        )
        means = np.full((*sizes.shape, BATCHES), np.nan)
        means[..., 0] = mean
        for n in np.unique(sizes[sizes >= LEAST]).tolist():  # batches depend on the number of units
            rows = sizes == n
            share = np.diff(_edges(n - 1, BATCHES)) * BATCHES / (n - 1)
            distances = series[rows][:, :n] - mean[rows][:, None]
            distances = batches(distances, correlations[rows], BATCHES) * share
            distances -= share * distances.mean(axis=-1, keepdims=True)
            means[rows] = mean[rows][:, None] + distances * np.sqrt((n - 1) / n)
        means_of_sides.append(means)
    return means_of_sides


def _ragged_neighbours(units: Floats) -> Floats:
    """Return the correlation of neighbours in series of unit means with gaps.

    It is 0 for fewer than `LEAST` units.
    """
    series, sizes = measured_first(units)
    correlations = np.zeros(sizes.shape)
    for n in np.unique(sizes[sizes >= LEAST]).tolist():
        rows = sizes == n
        correlations[rows] = neighbours(
            series[rows][:, :n] - series[rows][:, :n].mean(axis=-1, keepdims=True), 1
        )
    return correlations


def neighbours(residuals: Floats, parameters: int) -> Floats:
    """Return the correlation of neighbours in residuals of a mean (1 parameter) or a line (2).

    It is without its bias, in 0 to `STRONGEST`.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = (residuals[..., 1:] * residuals[..., :-1]).sum(axis=-1) / (residuals**2).sum(
            axis=-1
        )
    correlation = np.nan_to_num(correlation)
    return np.asarray(
        np.clip(correlation + (parameters + 4 * correlation) / residuals.shape[-1], 0.0, STRONGEST)
    )


def batches(values: Floats, correlation: Floats, number: int) -> Floats:
    """Return the means of consecutive batches of x_t - c x_(t-1), over 1 - c, of a series."""
    differences = values[..., 1:] - correlation[..., None] * values[..., :-1]
    edges = _edges(differences.shape[-1], number)
    sums = np.add.reduceat(differences, edges[:-1], axis=-1)
    return np.asarray(sums / np.diff(edges) / (1 - correlation[..., None]))


def _edges(n: int, number: int) -> Integers:
    """Return where each batch of n values begins, and the end of the last."""
    return np.arange(number + 1) * n // number


def drift(values: Floats) -> tuple[Floats, Floats]:
    """Return the slope of series (..., n) by least squares, and its p-value.

    The slope is per repetition, relative to the mean. The p-value is that of a line through the
    means of (at most 8) batches of values without the correlation of neighbours; NaN for fewer than
    six values.
    """
    from scipy.special import stdtr

    series, sizes = measured_first(values)
    slope, pvalue = np.full(sizes.shape, np.nan), np.full(sizes.shape, np.nan)
    for n in np.unique(sizes[sizes > 1]).tolist():  # batches depend on the number of values
        rows = sizes == n
        complete = series[rows][:, :n]
        mean, slope_of_rows, residuals = _line(complete)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope[rows] = np.where(mean == 0, np.nan, slope_of_rows / mean)
        number = min(BATCHES, n // 2)
        if number < 3:
            continue
        means = batches(complete, neighbours(residuals, 2), number)
        _, slope_of_means, residuals = _line(means)
        squares, sum_of_squares = (residuals**2).sum(axis=-1), number * (number**2 - 1) / 12
        # NaN where all means are equal
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt(squares / (number - 2) / sum_of_squares)
            pvalue[rows] = 2 * stdtr(number - 2, -np.abs(slope_of_means) / error)
    return slope, pvalue


def _line(series: Floats) -> tuple[Floats, Floats, Floats]:
    mean, position = series.mean(axis=-1), np.arange(series.shape[-1]) - (series.shape[-1] - 1) / 2
    distances = series - mean[:, None]
    slope = np.einsum("rn,n->r", distances, position) / (position**2).sum()
    return mean, slope, distances - slope[:, None] * position


def mean_pvalue(units: UnitSummary) -> Floats:
    """Return the p-value of "the mean of these units is 0", by t.

    NaN of one unit, and where all are equal.
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            2
            * stdtr(
                np.where(units.n > 1, units.n - 1, np.nan),
                -np.abs(units.mean) / np.sqrt(units.variance),
            )
        )
