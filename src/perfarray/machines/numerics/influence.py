"""How well a model predicts rows that it was not fitted to, and what each predictor contributes."""

import numpy as np

from perfarray.numerics.types import Floats, Integers

# With fewer rows or groups tested, the influence of a predictor has no limits.
MIN_UNITS_FOR_LIMITS = 6


def random_rows(groups: Integers, share: float, rng: np.random.Generator) -> Integers:
    """Draw groups at random until they hold a share of the rows, and return their rows.

    A group larger than what is left is passed over, so that a large one is not half of the data.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    limit, n_rows = max(1.0, share * len(groups)), 0
    drawn_groups: list[int] = []
    for group in rng.permutation(len(sizes)).tolist():
        if not drawn_groups or n_rows + sizes[group] <= limit:
            drawn_groups.append(group)
            n_rows += sizes[group]
    return np.flatnonzero(np.isin(codes, drawn_groups))


def correlation_interval(
    measured: Floats,
    predicted: Floats,
    units: Integers | None,
    confidence_level: float,
    splits: Integers | None = None,
    exchanged: bool = False,
) -> tuple[float, float, float]:
    """Return Pearson's correlation of measured and predicted values, with limits.

    Limits are on Fisher's scale: with the standard error of Fisher's z, or of leaving out each
    unit, with t. All are NaN where one variable is constant; limits need 4 rows, or 3 units.

    Parameters
    ----------
    measured, predicted : array, shape (n,)
        Values of the rows tested.
    units : array, shape (n,), optional
        Values of one unit (a row tested in several splits, a group) depend on each other.
    confidence_level : float
        Of the limits.
    splits : array, shape (n,), optional
        The correlation is within splits. Across them, rows fitted with a low mean predict tested
        rows with a high one, which would look like a negative correlation.
    exchanged : bool
        Rows are fitted and tested in turn. Without anything to predict, the covariance is then a
        sum over pairs of rows, each with either one tested: its variance is doubled.
    """
    from scipy.stats import norm, t

    tail = (1 + confidence_level) / 2
    codes = np.arange(len(measured)) if units is None else np.unique(units, return_inverse=True)[1]
    split_codes = (
        np.zeros(len(measured), dtype=np.intp)
        if splits is None
        else np.unique(splits, return_inverse=True)[1]
    )
    if len(measured) < 2 or not np.isfinite(measured).all():
        return np.nan, np.nan, np.nan
    x, y = measured - measured.mean(), predicted - predicted.mean()
    shape = int(codes.max()) + 1, int(split_codes.max()) + 1
    cells = codes * shape[1] + split_codes
    sums = np.stack(
        [
            np.bincount(cells, weights=moment, minlength=shape[0] * shape[1]).reshape(shape)
            for moment in (np.ones_like(x), x, y, x * x, y * y, x * y)
        ]
    )
    total = sums.sum(axis=1)
    floors = tuple(1e-22 * len(x) * np.abs(values).max() ** 2 for values in (measured, predicted))
    estimate, without = float(_within(total, floors)), _within(total[:, None] - sums, floors)
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


def _within(sums: Floats, floors: tuple[float, ...]) -> Floats:
    """Return the correlation from sums of 1, x, y, x^2, y^2, xy (first axis) of splits (last)."""
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
) -> tuple[Floats, Floats]:
    """Return the influence of predictors.

    Parameters
    ----------
    losses : array, shape (predictors, n)
        What permuting each predictor adds to the squared error of each row tested, NaN where
        permuting changes nothing.
    variance : float
        That of the response in the test rows.
    units : array, shape (n,)
        Rows of one unit (a row tested several times, a group) depend on each other: their sums are
        independent.
    confidence_level : float
        Of the limits.

    Returns
    -------
    percent : array, shape (predictors,)
        The influence, zero where no predictor has a positive increase.
    increase : array, shape (3, predictors)
        The increase by permutation, relative to the variance, and its limits. Limits are NaN for
        fewer than `MIN_UNITS_FOR_LIMITS` units; a predictor without losses has neither.
    """
    from scipy.stats import t

    if not losses.size:
        return np.zeros(len(losses)), np.full((3, len(losses)), np.nan)
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
        number >= MIN_UNITS_FOR_LIMITS,
        t.ppf((1 + confidence_level) / 2, np.maximum(number - 1, 1)) * error,
        np.nan,
    )
    scale = variance if variance > 0 else np.nan
    return percent, np.stack([mean, mean - half, mean + half]) / scale
