"""Which single number stands for a program's run time, and how stable it is.

Haveraaen and Hundvebakke (2001), section 3.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np

from perfarray.numerics.levels import mean_of_measured, unit_means, unit_weights
from perfarray.numerics.types import Floats, Integers, Mask

BLOCK: Final = 1 << 18  # values of groups held at once. It changes no number
ROUNDING: Final = 1e-9  # weights and ranks that differ by less are equal: they are sums


def _between(ordered: Floats, rank: float) -> Floats:
    """Return the middle of the two order statistics around a rank that counts from 1.

    Below 1 it is the first.
    """
    low, high = max(int(np.floor(rank)), 1), max(int(np.ceil(rank)), 1)
    return np.asarray((ordered[..., low - 1] + ordered[..., high - 1]) / 2)


# The paper's four estimators of ordered runs, and the maximum, along the last axis.
ESTIMATORS: Final[Mapping[str, Callable[[Floats], Floats]]] = MappingProxyType(
    {
        "mean": lambda ordered: np.asarray(ordered.mean(axis=-1)),
        "median": lambda ordered: _between(ordered, (ordered.shape[-1] + 1) / 2),
        "quartile": lambda ordered: _between(ordered, (ordered.shape[-1] + 1) / 4),
        "min": lambda ordered: ordered[..., 0],
        "max": lambda ordered: ordered[..., -1],
    }
)


def estimate_of_runs(values: Floats, statistic: str) -> Floats:
    """Return one estimator of all runs; units have equal weight, and so have the runs inside one.

    `values` (..., units, runs) are NaN where nothing was measured. Of runs that weigh the same, the
    paper's order statistics around the rank p (k + 1) are taken; else the p-quantile of the
    weighted runs, the middle of its interval where it is one.
    """
    if statistic == "mean":
        return mean_of_measured(unit_means(values, 2))
    batch = values.shape[:-2]
    flat, weights = values.reshape(*batch, -1), unit_weights(values).reshape(*batch, -1)
    order = np.argsort(flat, axis=-1)
    ordered, share = (
        np.take_along_axis(flat, order, axis=-1),
        np.take_along_axis(weights, order, axis=-1),
    )
    if statistic == "min":
        return ordered[..., 0]
    if statistic == "max":
        return np.asarray(np.fmax.reduce(flat, axis=-1))
    reached = np.cumsum(share, axis=-1)
    last = np.maximum((share > 0).sum(axis=-1, keepdims=True) - 1, 0)
    largest = share.max(axis=-1, keepdims=True)
    equal_weights = (
        np.where(share > 0, share, largest).min(axis=-1, keepdims=True) > largest - ROUNDING
    )
    probability = 1 / 2 if statistic == "median" else 1 / 4
    rank = probability * (last + 2.0)
    by_rank = [
        np.maximum(np.floor(rank + ROUNDING), 1) - 1,
        np.maximum(np.ceil(rank - ROUNDING), 1) - 1,
    ]
    by_weight = [
        below.sum(axis=-1, keepdims=True)
        for below in (reached < probability - ROUNDING, reached <= probability + ROUNDING)
    ]
    indices = [
        np.minimum(np.where(equal_weights, *pair), last).astype(np.intp)
        for pair in zip(by_rank, by_weight, strict=True)
    ]
    around = [np.take_along_axis(ordered, index, axis=-1)[..., 0] for index in indices]
    return np.asarray((around[0] + around[1]) / 2)


def stability_of_estimators(
    values: Floats, sizes: Sequence[int], statistics: Sequence[str]
) -> tuple[Floats, Floats, Floats]:
    """Estimate from every group of consecutive runs, rotating round the end.

    Return the means of the estimates and how much they differ.

    `values` (..., runs) are runs in the order they were taken, NaN where nothing was measured;
    `statistics` are keys of `ESTIMATORS`. The means are followed by relative standard deviations
    (divisor groups - 1; NaN where a group would have more runs than there are), and by these over
    sqrt((n - k) / (n - 1)), with which the variance of a mean of k of n independent runs is
    unbiased; NaN for groups of more than half of the runs. All have the shape (..., sizes,
    statistics).
    """
    batch, runs = values.shape[:-1], values.shape[-1]
    rows, counts = _measured_first(values)
    results = np.full((2, len(rows), len(sizes), len(statistics)), np.nan)
    for number, size in enumerate(sizes):
        cells = np.flatnonzero(counts >= max(size, 2))
        step = max(1, BLOCK // (runs * size))
        for start in range(0, len(cells), step):
            block = cells[start : start + step]
            n, has_group = (
                counts[block],
                np.arange(runs) < counts[block, None],
            )  # as many groups as runs
            for index, estimates in enumerate(_estimates(rows[block], n, size, statistics)):
                mean = np.where(has_group, estimates, 0.0).sum(axis=-1) / n
                squares = np.where(has_group, (estimates - mean[:, None]) ** 2, 0.0).sum(axis=-1)
                with np.errstate(invalid="ignore"):  # groups of zeros have no relative deviation
                    results[:, block, number, index] = mean, np.sqrt(squares / (n - 1)) / mean
    estimates, deviations = results.reshape(2, *batch, len(sizes), len(statistics))
    n, k = counts.reshape(*batch, 1, 1), np.array(sizes)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        shrinkage = np.where(2 * k <= n, (n - k) / (n - 1), np.nan)
        return estimates, deviations, deviations / np.sqrt(shrinkage)


def share_of_right_orders(
    new: Floats, old: Floats, sizes: Sequence[int], statistics: Sequence[str], order: Floats
) -> Floats:
    """Return how often estimates from groups of both programs stand in a given order.

    `new` and `old` (..., runs) are as for `stability_of_estimators`. `order` (..., statistics) is
    above 0 where the estimates of `new` are to be larger, below 0 where they are to be smaller; 0
    or NaN gives NaN, as do groups of more than half of the runs of either program.
    """
    sides, counts = zip(*(_measured_first(side) for side in (new, old)), strict=True)
    expected = order.reshape(-1, len(statistics))
    shares = np.full((len(expected), len(sizes), len(statistics)), np.nan)
    # Every cell has runs of its own number, and sorting beats comparing all pairs.
    for cell in range(len(expected)):
        runs = [
            rows[[cell]][:, : counts_of[cell]]
            for rows, counts_of in zip(sides, counts, strict=True)
        ]
        for number, size in enumerate(sizes):
            if 2 * size > min(side_runs.shape[1] for side_runs in runs):
                break
            estimates = [
                _estimates(side_runs, np.array([side_runs.shape[1]]), size, statistics)[:, 0]
                for side_runs in runs
            ]
            for index, (new_estimates, old_estimates) in enumerate(zip(*estimates, strict=True)):
                ordered = np.sort(old_estimates)  # ties count half
                ranks = (
                    np.searchsorted(ordered, new_estimates, side=side).mean()
                    for side in ("left", "right")
                )
                above = sum(ranks) / 2 / len(ordered)
                shares[cell, number, index] = above if expected[cell, index] > 0 else 1 - above
    unknown = (np.isnan(order) | (order == 0))[..., None, :]
    return np.where(unknown, np.nan, shares.reshape(*order.shape[:-1], len(sizes), len(statistics)))


def _measured_first(values: Floats) -> tuple[Floats, Integers]:
    """Return rows of runs in their order, the missing ones last, and how many each has."""
    rows = values.reshape(-1, values.shape[-1])
    rows = np.take_along_axis(rows, np.argsort(np.isnan(rows), axis=-1, kind="stable"), axis=-1)
    return rows, (~np.isnan(rows)).sum(axis=-1)


def _estimates(rows: Floats, counts: Integers, size: int, statistics: Sequence[str]) -> Floats:
    """Return every statistic (statistics, rows, runs) of the groups that start at each run."""
    estimates = np.empty((len(statistics), *rows.shape))
    step = max(1, BLOCK // (len(rows) * size))
    for first in range(0, rows.shape[-1], step):
        start = np.arange(first, min(first + step, rows.shape[-1]))
        indices = (start[:, None] + np.arange(size))[None] % counts[:, None, None]
        groups = np.sort(
            np.take_along_axis(
                rows[:, None, :], indices.reshape(len(rows), 1, -1), axis=-1
            ).reshape(indices.shape),
            axis=-1,
        )
        for index, statistic in enumerate(statistics):
            estimates[index, :, start[0] : start[-1] + 1] = ESTIMATORS[statistic](groups)
    return estimates


def size_from_which(sufficient: Mask, is_known: Mask, sizes: Sequence[int]) -> Floats:
    """Return the smallest group size (...) from which on all that are known are enough."""
    lasting = (
        np.logical_and.accumulate((sufficient | ~is_known)[..., ::-1], axis=-1)[..., ::-1]
        & sufficient
    )
    return np.where(
        lasting.any(axis=-1), np.asarray(sizes, dtype=float)[lasting.argmax(axis=-1)], np.nan
    )
