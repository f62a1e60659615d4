"""Means and counts in a nest of repetitions. The last axes are the levels, outermost first; NaN is "not measured"."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Counts(NamedTuple):
    """Along the levels: repetitions inside one parent, and repetitions with data in all."""

    minimum: Floats
    maximum: Floats
    total: Floats
    balanced: npt.NDArray[np.bool_]


class UnitSummary(NamedTuple):
    """The mean over units, the squared standard error of that mean, and the number of units behind it."""

    mean: Floats
    variance: Floats
    n: Floats


def mean_of_measured(values: Floats) -> Floats:
    """Average the last axis over what was measured; nothing measured gives NaN."""
    means = np.asarray(values.mean(axis=-1))
    ragged = np.isnan(means)
    if ragged.any():
        rows = values[ragged]
        measured = ~np.isnan(rows)
        with np.errstate(invalid="ignore"):
            means[ragged] = np.where(measured, rows, 0.0).sum(axis=-1) / measured.sum(axis=-1)
    return means


def unit_means(values: Floats, levels: int) -> Floats:
    """Average the lower levels, the lowest first: one value per unit of the outermost level.

    Every repetition has equal weight inside its parent, whatever the number of its own repetitions.

    Parameters
    ----------
    values : array, shape (..., n_L, ..., n_1)
        Measurements.
    levels : int
        The number of levels L.

    Returns
    -------
    array, shape (..., n_L)
    """
    for _ in range(levels - 1):
        values = mean_of_measured(values)
    return values


def summarise_units(means: Floats) -> UnitSummary:
    """Return mean, squared standard error and number of the units along the last axis.

    The squared standard error is the sample variance of the unit means over their number: unbiased for any imbalance below.
    """
    measured = ~np.isnan(means)
    n = measured.sum(axis=-1).astype(float)
    mean = mean_of_measured(means)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = np.where(measured, means - mean[..., None], 0.0)
        variance = np.where(n > 1, (deviations**2).sum(axis=-1) / (n - 1) / n, np.nan)
    return UnitSummary(mean, variance, n)


def count_repetitions(values: Floats, levels: int) -> Counts:
    """Count what was measured at every level.

    Parameters
    ----------
    values : array, shape (..., n_L, ..., n_1)
        Measurements.
    levels : int
        The number of levels L.

    Returns
    -------
    Counts
        Arrays of shape (..., L), outermost level first. A cell without data has zeros, and NaN extremes.
    """
    batch = values.shape[: values.ndim - levels]
    present = ~np.isnan(values)
    columns = []
    for below in range(levels):
        children = present.sum(axis=-1)
        parents = children > 0
        flat, has = children.reshape(*batch, -1).astype(float), parents.reshape(*batch, -1)
        empty = ~has.any(axis=-1)
        low = np.where(empty, np.nan, np.where(has, flat, np.inf).min(axis=-1))
        high = np.where(empty, np.nan, flat.max(axis=-1))
        columns.append((low, high, flat.sum(axis=-1)))
        if below < levels - 1:
            present = parents
    minimum, maximum, total = (np.stack(column[::-1], axis=-1) for column in zip(*columns, strict=True))
    return Counts(minimum, maximum, total, minimum == maximum)
