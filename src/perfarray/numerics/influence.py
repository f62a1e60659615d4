"""How well a prediction does on rows it has not seen, and how much of that each predictor carries."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.levels import Floats

Rows = npt.NDArray[np.intp]


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


def split_rows(number: int, groups: npt.NDArray[Any] | None, test_size: float, folds: int | None, rng: np.random.Generator) -> list[Rows]:
    """Draw the rows to test on: one share of them, or `folds` parts that cover all; rows of a group stay together.

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
        Number of parts, as equal as the groups allow.
    rng : Generator
        Source of chance.

    Returns
    -------
    list of arrays
        Sorted row numbers of each test set.
    """
    codes = np.arange(number) if groups is None else np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    order = rng.permutation(len(sizes))
    if folds is None:
        wanted = max(1.0, test_size * number)
        taken = 0
        chosen: list[int] = []
        for group in order:
            if not chosen or taken + sizes[group] <= wanted:
                chosen.append(int(group))
                taken += sizes[group]
        return [np.flatnonzero(np.isin(codes, chosen))]
    order = order[np.argsort(-sizes[order], kind="stable")]
    totals = np.zeros(folds)
    fold_of = np.empty(len(sizes), dtype=np.intp)
    for group in order:
        fold_of[group] = np.argmin(totals)
        totals[fold_of[group]] += sizes[group]
    return [np.flatnonzero(fold_of[codes] == fold) for fold in range(folds)]


def correlation_interval(measured: Floats, predicted: Floats, groups: npt.NDArray[Any] | None, confidence_level: float) -> Correlation:
    """Return Pearson's correlation of what was measured and predicted, with an interval on Fisher's scale.

    Parameters
    ----------
    measured, predicted : array, shape (n,)
        On rows not seen by the fit.
    groups : array, shape (n,), optional
        Rows of a group depend on each other: the standard error is then that of leaving out one group at a time, with t.
    confidence_level : float
        Of the interval.

    Returns
    -------
    Correlation
        NaN where one of them is constant; NaN limits for fewer than 4 rows, or 3 groups.
    """
    from scipy.stats import norm, t

    estimate = _correlation(measured, predicted)
    tail = (1 + confidence_level) / 2
    if not np.isfinite(estimate):
        return Correlation(np.nan, np.nan, np.nan)
    z = np.arctanh(np.clip(estimate, -1 + 1e-15, 1 - 1e-15))
    if groups is None:
        half = norm.ppf(tail) / np.sqrt(len(measured) - 3) if len(measured) > 3 else np.nan
    else:
        codes = np.unique(groups, return_inverse=True)[1]
        number = codes.max(initial=-1) + 1
        without = np.array([_correlation(measured[codes != code], predicted[codes != code]) for code in range(number)])
        without = np.arctanh(np.clip(without[np.isfinite(without)], -1 + 1e-15, 1 - 1e-15))
        number = len(without)
        half = t.ppf(tail, number - 1) * np.sqrt((number - 1) * without.var()) if number > 2 else np.nan
    return Correlation(estimate, float(np.tanh(z - half)), float(np.tanh(z + half)))


def _correlation(first: Floats, second: Floats) -> float:
    """Return Pearson's correlation; NaN where there is none."""
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) <= 1e-12 * np.abs(second).max():
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def influence_of(losses: Floats, variance: float, groups: npt.NDArray[Any] | None, confidence_level: float) -> Influence:
    """Return influence from what permuting each predictor adds to the squared error of every test row.

    Parameters
    ----------
    losses : array, shape (predictors, n)
        Increase of the squared error, averaged over permutations.
    variance : float
        Variance of the response on the test rows.
    groups : array, shape (n,), optional
        Rows of a group depend on each other: their sums are the independent values.
    confidence_level : float
        Of the interval of the mean increase (t).

    Returns
    -------
    Influence
        Percent are zero throughout where no predictor has a positive increase.
    """
    from scipy.stats import t

    if not losses.size:
        nothing = np.full(len(losses), np.nan)
        return Influence(np.zeros(len(losses)), nothing, nothing, nothing)
    mean = losses.mean(axis=-1)
    positive = np.maximum(mean, 0.0)
    total = positive.sum()
    percent = 100 * positive / total if total > 0 else np.zeros_like(positive)
    codes = np.arange(losses.shape[-1]) if groups is None else np.unique(groups, return_inverse=True)[1]
    number = int(codes.max(initial=-1)) + 1
    apart = losses - mean[:, None]
    sums = np.stack([np.bincount(codes, weights=row, minlength=number) for row in apart])
    error = np.sqrt((sums**2).sum(axis=-1) * number / max(number - 1, 1)) / losses.shape[-1]
    half = t.ppf((1 + confidence_level) / 2, number - 1) * error if number > 1 else np.full_like(mean, np.nan)
    return Influence(percent, mean / variance, (mean - half) / variance, (mean + half) / variance)


def same_columns(columns: Sequence[npt.NDArray[Any]]) -> list[int]:
    """Return for each column the number of the first that holds the same in every row (itself, if none before does).

    Examples
    --------
    >>> import numpy as np
    >>> same_columns([np.array([1, 2]), np.array([2, 1]), np.array([1, 2])])
    [0, 1, 0]
    """
    seen: dict[bytes, int] = {}
    return [seen.setdefault(_content(column), number) for number, column in enumerate(columns)]


def _content(column: npt.NDArray[Any]) -> bytes:
    """Return what tells columns apart: numbers themselves, other labels by where each occurs."""
    if column.dtype.kind in "iufb":
        return column.astype(float).tobytes()
    return b"labels" + np.unique(column.astype(str), return_inverse=True)[1].astype(np.int32).tobytes()
