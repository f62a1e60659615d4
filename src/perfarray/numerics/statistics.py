"""Statistics of a nest of values: mean, median, an extreme, or a function of the user."""

from collections.abc import Callable

import numpy as np

from perfarray.numerics.levels import mean_of_measured, unit_means
from perfarray.numerics.types import Floats, Integers

Statistic = str | Callable[..., object]

SHORT = 256  # values up to which sorting a row is faster than finding its middle


def evaluate(values: Floats, statistic: Statistic) -> Floats:
    """Return the statistic of cells (cells, n_L, ..., n_1).

    The mean and the median weight every unit alike (1 / number of children, down the nest); a
    function gets the measured values, not weighted.
    """
    if statistic == "mean":
        return mean_of_measured(unit_means(values, values.ndim - 1))
    flat = values.reshape(len(values), -1)
    ragged = np.isnan(flat).any()
    if statistic == "min":
        return np.asarray(np.fmin.reduce(flat, axis=-1))
    if statistic == "max":
        return np.asarray(np.fmax.reduce(flat, axis=-1))
    if statistic == "median":
        return (
            weighted_median(flat, nest_weights(values).reshape(flat.shape))
            if ragged
            else median(flat)
        )
    if not callable(statistic):
        raise ValueError(
            f"statistic={statistic!r} is not known; choose one of 'mean', 'median', 'min', "
            "'max', or give a function f(x, axis=-1)"
        )
    # Ragged replicates have different numbers of values: a function of arrays takes them one by
    # one.
    samples = [row[~np.isnan(row)][None] for row in flat] if ragged else [flat]
    return np.concatenate(
        [
            _called(statistic, sample) if sample.size else np.full(len(sample), np.nan)
            for sample in samples
        ]
    )


def median(values: Floats) -> Floats:
    """Return the median of rows without gaps, as `numpy.median` does, faster for short rows."""
    number = values.shape[-1]
    middle = (number - 1) // 2, number // 2
    ordered = np.sort(values, axis=-1) if number <= SHORT else np.partition(values, middle, axis=-1)
    return np.asarray((ordered[..., middle[0]] + ordered[..., middle[1]]) / 2)


def _called(statistic: Callable[..., object], values: Floats) -> Floats:
    name = getattr(statistic, "__name__", "statistic")
    answers = np.asarray(statistic(values, axis=-1))
    if answers.shape != values.shape[:-1]:
        raise ValueError(
            f"statistic {name!r} returned shape {answers.shape} for an array of shape "
            f"{values.shape}. It must reduce the last axis: f(x, axis=-1) of shape "
            f"{values.shape[:-1]}"
        )
    if answers.dtype.kind not in "iuf" or (values.size and bool(np.isnan(answers).any())):
        raise ValueError(
            f"statistic {name!r} returned NaN or no number for {values.shape[-1]} measured "
            "values. It must give a number for every resample, also where values repeat"
        )
    return answers.astype(float)


def nest_weights(values: Floats) -> Floats:
    """Return the weight of every value: equal among units, and among the children of each parent.

    0 for NaN.
    """
    measured = ~np.isnan(values)
    weights = np.ones((len(values),) + (1,) * (values.ndim - 1))
    for axis in range(1, values.ndim):
        has = measured.any(axis=tuple(range(axis + 1, values.ndim)), keepdims=True)
        weights = weights * has / np.maximum(has.sum(axis=axis, keepdims=True), 1)
    return weights


def weighted_median(values: Floats, weights: Floats) -> Floats:
    """Return inf{x: F(x) >= 1/2} along the last axis; the middle of a gap at 1/2."""
    order = np.argsort(values, axis=-1)
    ordered, share = (
        np.take_along_axis(values, order, axis=-1),
        np.cumsum(np.take_along_axis(weights, order, axis=-1), axis=-1),
    )
    low = (share < 0.5 - 1e-12).sum(axis=-1, keepdims=True)
    high = (share <= 0.5 + 1e-12).sum(axis=-1, keepdims=True)
    last = np.maximum((weights > 0).sum(axis=-1, keepdims=True) - 1, 0)
    low, high = np.minimum(low, last), np.minimum(high, last)
    return np.asarray(
        (np.take_along_axis(ordered, low, axis=-1) + np.take_along_axis(ordered, high, axis=-1))[
            ..., 0
        ]
        / 2
    )


def tied_positions(ordered: Floats) -> tuple[Integers, Integers]:
    """Return the first and the last position of the ties of every value in ascending rows.

    NaN is tied with nothing.
    """
    positions, edge = np.arange(ordered.shape[-1]), np.ones((*ordered.shape[:-1], 1), dtype=bool)
    new = ordered[..., 1:] != ordered[..., :-1]
    first = np.maximum.accumulate(
        np.where(np.concatenate([edge, new], axis=-1), positions, 0), axis=-1
    )
    ends = np.where(np.concatenate([new, edge], axis=-1), positions, len(positions))
    return first, np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
