"""How well a prediction does on rows it has not seen, and how much of that each predictor carries."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Integers

LEAST_UNITS = 6
"""Rows or groups that were tested, below which nothing is said about whether an influence is more than chance."""


class Correlation(NamedTuple):
    """Pearson's correlation and its limits."""

    estimate: float
    lower: float
    upper: float


class Influence(NamedTuple):
    """Along the predictors: share of what permuting costs (percent), that cost relative to the variance of the response, its limits."""

    percent: Floats
    increase: Floats
    lower: Floats
    upper: Floats


def split_rows(
    number: int, groups: Integers | None, test_size: float, folds: int | None, rng: np.random.Generator, splits: int = 1
) -> list[Integers]:
    """Draw the rows to test on: a share of them, once or several times, or `folds` parts that cover all; rows of a group stay together.

    Parameters
    ----------
    number : int
        Number of rows.
    groups : array, shape (number,), optional
        Which group each row belongs to; default: each is its own.
    test_size : float
        Share of the rows to test on, where there are no folds: groups are drawn at random and taken where they still fit, so that a large
        group does not make the test half of the data.
    folds : int, optional
        Number of parts, as equal as the groups allow: the largest group left goes to the smallest part.
    rng : Generator
        Source of chance.
    splits : int
        How often the share is drawn, where there are no folds.

    Returns
    -------
    list of arrays
        Sorted row numbers of each test set.
    """
    codes = np.arange(number) if groups is None else np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    if folds is None:
        return [_share(codes, sizes, max(1.0, test_size * number), rng) for _ in range(splits)]
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    totals = np.zeros(folds)
    fold_of = np.empty(len(sizes), dtype=np.intp)
    for group in order:
        fold_of[group] = np.argmin(totals)
        totals[fold_of[group]] += sizes[group]
    return [np.flatnonzero(fold_of[codes] == fold) for fold in range(folds)]


def _share(codes: Integers, sizes: Integers, limit: float, rng: np.random.Generator) -> Integers:
    """Return rows of groups drawn at random, up to a number of rows."""
    total = 0
    chosen: list[int] = []
    for group in rng.permutation(len(sizes)):
        if not chosen or total + sizes[group] <= limit:
            chosen.append(int(group))
            total += sizes[group]
    return np.flatnonzero(np.isin(codes, chosen))


def correlation_interval(
    measured: Floats, predicted: Floats, units: Integers | None, confidence_level: float, splits: Integers | None = None, roles: int = 1
) -> Correlation:
    """Return Pearson's correlation of what was measured and predicted, with an interval on Fisher's scale.

    Parameters
    ----------
    measured, predicted : array, shape (n,)
        On rows not seen by the fit.
    units : array, shape (n,), optional
        Values of a unit (a row tested in several splits, a group) depend on each other: the standard error is then that of leaving out one
        unit at a time, with t.
    confidence_level : float
        Of the interval.
    splits : array, shape (n,), optional
        The split each value is from: correlation is then within splits. The mean of the rows fitted is low where that of the rows tested is
        high, which across splits would look like a negative correlation.
    roles : int
        2 where the fits that predict a row saw other rows that are tested too. Where there is nothing to predict, the covariance is a sum
        over pairs of rows, each once with either in the test; its variance is twice that of leaving rows out of the tests alone.

    Returns
    -------
    Correlation
        NaN where one of them is constant; NaN limits for fewer than 4 rows, or 3 units.
    """
    from scipy.stats import norm, t

    tail = (1 + confidence_level) / 2
    codes = np.arange(len(measured)) if units is None else np.unique(units, return_inverse=True)[1]
    split_codes = np.zeros(len(measured), dtype=np.intp) if splits is None else np.unique(splits, return_inverse=True)[1]
    estimate, without = _correlations(measured, predicted, codes, split_codes)
    if not np.isfinite(estimate):
        return Correlation(np.nan, np.nan, np.nan)
    z = np.arctanh(np.clip(estimate, -1 + 1e-15, 1 - 1e-15))
    if units is None:
        half = norm.ppf(tail) / np.sqrt(len(measured) - 3) if len(measured) > 3 else np.nan
    else:
        scaled = np.arctanh(np.clip(without[np.isfinite(without)], -1 + 1e-15, 1 - 1e-15))
        number = len(scaled)
        half = t.ppf(tail, number - 1) * np.sqrt((number - 1) * scaled.var()) if number > 2 else np.nan
    half *= np.sqrt(roles)
    return Correlation(estimate, float(np.tanh(z - half)), float(np.tanh(z + half)))


def _correlations(first: Floats, second: Floats, codes: Integers, split_codes: Integers) -> tuple[float, Floats]:
    """Return Pearson's correlation within parts, and that without each of the units; NaN where there is none."""
    if len(first) < 2 or not np.isfinite(first).all():
        return float("nan"), np.empty(0)
    x, y = first - first.mean(), second - second.mean()
    shape = int(codes.max()) + 1, int(split_codes.max()) + 1
    cell = codes * shape[1] + split_codes
    moments = (np.ones_like(x), x, y, x * x, y * y, x * y)
    by_unit = np.stack([np.bincount(cell, weights=moment, minlength=shape[0] * shape[1]).reshape(shape) for moment in moments])
    total = by_unit.sum(axis=1)
    floors = tuple(1e-22 * len(x) * np.abs(values).max() ** 2 for values in (first, second))
    return float(_within(total, floors)), _within(total[:, None] - by_unit, floors)


def _within(sums: Floats, floors: tuple[float, float]) -> Floats:
    """Return the correlation from sums of 1, x, y, x^2, y^2, xy along the first axis, parts along the last."""
    number = np.maximum(sums[0], 1.0)
    xx, yy, xy = (
        (product - sum_1 * sum_2 / number).sum(axis=-1)
        for product, sum_1, sum_2 in ((sums[3], sums[1], sums[1]), (sums[4], sums[2], sums[2]), (sums[5], sums[1], sums[2]))
    )
    varies = (xx > floors[0]) & (yy > floors[1])
    return np.asarray(np.where(varies, xy / np.sqrt(np.where(varies, xx * yy, 1.0)), np.nan))


def influence_of(losses: Floats, variance: float, units: Integers, confidence_level: float) -> Influence:
    """Return influence from what permuting each predictor adds to the squared error of every row tested.

    Parameters
    ----------
    losses : array, shape (predictors, n)
        Increase of the squared error, averaged over permutations; NaN where permuting changed nothing.
    variance : float
        Variance of the response on the test rows.
    units : array, shape (n,)
        Values of a unit (a row tested several times, a group of rows) depend on each other: their sums are the independent values.
    confidence_level : float
        Of the interval of the mean increase (t).

    Returns
    -------
    Influence
        Percent are zero throughout where no predictor has a positive increase. Limits are NaN for fewer than `LEAST_UNITS` units, and
        with the increase for a predictor without losses.
    """
    from scipy.stats import t

    if not losses.size:
        nothing = np.full(len(losses), np.nan)
        return Influence(np.zeros(len(losses)), nothing, nothing, nothing)
    finite = np.isfinite(losses)
    values = finite.sum(axis=-1)
    mean = np.where(values > 0, np.where(finite, losses, 0.0).sum(axis=-1) / np.maximum(values, 1), np.nan)
    positive = np.maximum(np.nan_to_num(mean), 0.0)
    total = positive.sum()
    percent = 100 * positive / total if total > 0 else np.zeros_like(positive)
    codes = np.unique(units, return_inverse=True)[1]
    shape = len(losses), int(codes.max(initial=-1)) + 1
    cells = (np.arange(len(losses))[:, None] * shape[1] + codes).ravel()
    deviations = np.where(finite, losses - mean[:, None], 0.0).ravel()
    sums = np.bincount(cells, weights=deviations, minlength=shape[0] * shape[1]).reshape(shape)
    number = (np.bincount(cells, weights=finite.ravel(), minlength=shape[0] * shape[1]).reshape(shape) > 0).sum(axis=-1)
    error = np.sqrt((sums**2).sum(axis=-1) * number / np.maximum(number - 1, 1)) / np.maximum(values, 1)
    half = np.where(number >= LEAST_UNITS, t.ppf((1 + confidence_level) / 2, np.maximum(number - 1, 1)) * error, np.nan)
    scale = variance if variance > 0 else np.nan
    return Influence(percent, mean / scale, (mean - half) / scale, (mean + half) / scale)
