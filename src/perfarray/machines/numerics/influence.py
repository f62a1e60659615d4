"""How well a model predicts rows that it was not fitted to, and how much each predictor contributes."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Integers

# With fewer rows or groups tested, the influence of a predictor has no limits.
LEAST_UNITS = 6


class Influence(NamedTuple):
    """By predictor: percent of the increase by permutation, this increase relative to the variance of the response, and its limits."""

    percent: Floats
    increase: Floats
    lower: Floats
    upper: Floats


def split_rows(
    number: int,
    groups: Integers | None,
    test_size: float,
    folds: int | None,
    rng: np.random.Generator,
    splits: int = 1,
) -> list[Integers]:
    """Draw test sets of rows: a share, once or several times, or `folds` parts that cover all.

    Rows of a group stay together.

    A group that exceeds the share is passed over, so that a large one is not half of the data.
    Folds are as equal as the groups allow.
    """
    codes = np.arange(number) if groups is None else np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    if folds is None:
        return [_share(codes, sizes, max(1.0, test_size * number), rng) for _ in range(splits)]
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    totals = np.zeros(folds)
    fold_of = np.empty(len(sizes), dtype=np.intp)
    for group in order:  # the largest group left joins the smallest fold
        fold_of[group] = np.argmin(totals)
        totals[fold_of[group]] += sizes[group]
    return [np.flatnonzero(fold_of[codes] == fold) for fold in range(folds)]


def _share(codes: Integers, sizes: Integers, limit: float, rng: np.random.Generator) -> Integers:
    total = 0
    chosen: list[int] = []
    for group in rng.permutation(len(sizes)):
        if not chosen or total + sizes[group] <= limit:
            chosen.append(int(group))
            total += sizes[group]
    return np.flatnonzero(np.isin(codes, chosen))


def correlation_interval(
    measured: Floats,
    predicted: Floats,
    units: Integers | None,
    confidence_level: float,
    splits: Integers | None = None,
    exchanged: bool = False,
) -> tuple[float, float, float]:
    """Return Pearson's correlation of measured and predicted values, with limits on Fisher's scale.

    Values of one of the `units` (a row tested in several splits, a group) depend on each other: the
    standard error is then the jackknife's over units, with t; without units, it is that of Fisher's
    z. With `splits`, the correlation is within them: across splits, rows fitted with a low mean
    predict tested rows with a high one, which would look like a negative correlation. With
    `exchanged`, rows are fitted and tested in turn: without anything to predict, the covariance is
    then a sum over pairs of rows, each with either one tested, and its variance is twice that of
    leaving out rows of the test.

    Returns NaN where one of the variables is constant, and NaN limits for fewer than 4 rows, or 3
    units.
    """
    from scipy.stats import norm, t

    tail = (1 + confidence_level) / 2
    codes = np.arange(len(measured)) if units is None else np.unique(units, return_inverse=True)[1]
    split_codes = (
        np.zeros(len(measured), dtype=np.intp)
        if splits is None
        else np.unique(splits, return_inverse=True)[1]
    )
    estimate, without = _correlations(measured, predicted, codes, split_codes)
    if not np.isfinite(estimate):
        return np.nan, np.nan, np.nan
    z = np.arctanh(np.clip(estimate, -1 + 1e-15, 1 - 1e-15))
    if units is None:
        half = norm.ppf(tail) / np.sqrt(len(measured) - 3) if len(measured) > 3 else np.nan
    else:
        scaled = np.arctanh(np.clip(without[np.isfinite(without)], -1 + 1e-15, 1 - 1e-15))
        number = len(scaled)
        half = (
            t.ppf(tail, number - 1) * np.sqrt((number - 1) * scaled.var()) if number > 2 else np.nan
        )
    half *= np.sqrt(2 if exchanged else 1)
    return estimate, float(np.tanh(z - half)), float(np.tanh(z + half))


def _correlations(
    first: Floats, second: Floats, codes: Integers, split_codes: Integers
) -> tuple[float, Floats]:
    if len(first) < 2 or not np.isfinite(first).all():
        return float("nan"), np.empty(0)
    x, y = first - first.mean(), second - second.mean()
    shape = int(codes.max()) + 1, int(split_codes.max()) + 1
    cell = codes * shape[1] + split_codes
    moments = (np.ones_like(x), x, y, x * x, y * y, x * y)
    by_unit = np.stack(
        [
            np.bincount(cell, weights=moment, minlength=shape[0] * shape[1]).reshape(shape)
            for moment in moments
        ]
    )
    total = by_unit.sum(axis=1)
    floors = tuple(1e-22 * len(x) * np.abs(values).max() ** 2 for values in (first, second))
    return float(_within(total, floors)), _within(total[:, None] - by_unit, floors)


def _within(sums: Floats, floors: tuple[float, float]) -> Floats:
    """Return the correlation from sums of 1, x, y, x^2, y^2, xy along the first axis, with splits along the last."""
    number, x, y, *products = sums
    pairs = zip(products, ((x, x), (y, y), (x, y)), strict=True)
    xx, yy, xy = (
        (product - first * second / np.maximum(number, 1.0)).sum(axis=-1)
        for product, (first, second) in pairs
    )
    varies = (xx > floors[0]) & (yy > floors[1])
    return np.asarray(np.where(varies, xy / np.sqrt(np.where(varies, xx * yy, 1.0)), np.nan))


def influence_of(
    losses: Floats, variance: float, units: Integers, confidence_level: float
) -> Influence:
    """Return the influence of predictors.

    `losses` (predictors, n) are what permuting each predictor adds to the squared error of each row
    tested, NaN where permuting changes nothing; `variance` is that of the response in the test
    rows. Values of one of the `units` (a row tested several times, a group) depend on each other:
    their sums are independent.

    Percent are zero where no predictor has a positive increase. Limits are NaN for fewer than
    `LEAST_UNITS` units, and for a predictor without losses, as is its increase.
    """
    from scipy.stats import t

    if not losses.size:
        nothing = np.full(len(losses), np.nan)
        return Influence(np.zeros(len(losses)), nothing, nothing, nothing)
    finite = np.isfinite(losses)
    values = finite.sum(axis=-1)
    mean = np.where(
        values > 0, np.where(finite, losses, 0.0).sum(axis=-1) / np.maximum(values, 1), np.nan
    )
    positive = np.maximum(np.nan_to_num(mean), 0.0)
    total = positive.sum()
    percent = 100 * positive / total if total > 0 else np.zeros_like(positive)
    codes = np.unique(units, return_inverse=True)[1]
    shape = len(losses), int(codes.max(initial=-1)) + 1
    cells = (np.arange(len(losses))[:, None] * shape[1] + codes).ravel()
    deviations = np.where(finite, losses - mean[:, None], 0.0).ravel()
    sums = np.bincount(cells, weights=deviations, minlength=shape[0] * shape[1]).reshape(shape)
    number = (
        np.bincount(cells, weights=finite.ravel(), minlength=shape[0] * shape[1]).reshape(shape) > 0
    ).sum(axis=-1)
    error = np.sqrt((sums**2).sum(axis=-1) * number / np.maximum(number - 1, 1)) / np.maximum(
        values, 1
    )
    half = np.where(
        number >= LEAST_UNITS,
        t.ppf((1 + confidence_level) / 2, np.maximum(number - 1, 1)) * error,
        np.nan,
    )
    scale = variance if variance > 0 else np.nan
    return Influence(percent, mean / scale, (mean - half) / scale, (mean + half) / scale)
