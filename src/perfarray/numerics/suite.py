"""One number for a suite: a statistic of every benchmark's runs, and the mean of those over the benchmarks.

The last axes are (benchmarks, units); NaN is "not measured". Irving et al. (2018), sections 3 and 9.
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.levels import mean_of_measured, one_value_per_unit
from perfarray.numerics.types import Floats, Integers, Mask

MEANS = ("geometric", "harmonic", "arithmetic")
STATISTICS = ("mean", "median", "min", "geometric")


class Sides(NamedTuple):
    """Two systems ready to compare: units (..., benchmarks, units) with NaN where they do not count, and the benchmarks that do."""

    new: Floats
    old: Floats
    matched: Mask
    incomplete: Integers  # shared units left out because they lack a benchmark


def suite_units(values: Floats, batch: tuple[int, ...], levels: int, unit: int) -> Floats:
    """Return one value per unit, (suites, benchmarks, units), of timings (..., benchmarks, n_L, ..., n_1): the batch becomes one axis."""
    units = one_value_per_unit(values, levels, unit)
    return np.broadcast_to(units, (*batch, *units.shape[-2:])).reshape(-1, *units.shape[-2:])


def run_statistic(units: Floats, statistic: str) -> Floats:
    """Return the mean, median, minimum or geometric mean of the measured values along the last axis."""
    if statistic == "mean":
        return mean_of_measured(units)
    if statistic == "min":
        return np.asarray(np.fmin.reduce(units, axis=-1))
    if statistic == "geometric":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.exp(mean_of_measured(np.log(units)))
    ordered = np.sort(units, axis=-1)
    number = np.sum(~np.isnan(ordered), axis=-1, keepdims=True)
    middle = [np.take_along_axis(ordered, np.maximum(number - 1 + above, 0) // 2, axis=-1) for above in (0, 1)]
    return np.asarray((middle[0] + middle[1])[..., 0] / 2)


def transform(scores: Floats, mean: str) -> Floats:
    """Return what is averaged over the benchmarks: logs, reciprocals, or the scores themselves."""
    if mean == "arithmetic":
        return scores
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(scores) if mean == "geometric" else 1.0 / scores


def restore(average: Floats, mean: str) -> Floats:
    """Return the mean that belongs to an average of transformed scores."""
    return np.exp(average) if mean == "geometric" else transform(average, mean)


def suite_mean(scores: Floats, mean: str, matched: Mask | None = None) -> Floats:
    """Return the mean over the benchmarks along the last axis, or over those that are `matched`; none gives NaN."""
    if matched is None:
        return restore(transform(scores, mean).mean(axis=-1), mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        average = np.where(matched, transform(scores, mean), 0.0).sum(axis=-1) / matched.sum(axis=-1)
    return restore(average, mean)


def suite_weights(scores: Floats, mean: str, matched: Mask) -> Floats:
    """Return by how much the log of the mean moves with the log of each benchmark's score; 0 for those that do not count."""
    parts = np.where(matched, 1.0 if mean == "geometric" else transform(scores, mean), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(parts / parts.sum(axis=-1, keepdims=True))


def match_sides(new: Floats, old: Floats, *, shared: bool, paired: bool) -> Sides:
    """Leave out what has no counterpart: benchmarks one system lacks, pairs with a gap, shared units that lack a benchmark.

    Parameters
    ----------
    new, old : arrays, shape (..., benchmarks, units)
        One value per unit; with `paired`, units match by position.
    shared : bool
        Whether unit j is the same for every benchmark.
    paired : bool
        Whether unit j of one system belongs to unit j of the other.

    Returns
    -------
    Sides
    """
    batch = np.broadcast_shapes(new.shape[:-1], old.shape[:-1])
    sides = [np.broadcast_to(side, (*batch, side.shape[-1])) for side in (new, old)]
    has: list[Mask] = [~np.isnan(side) for side in sides]
    if paired:
        has = [has[0] & has[1]] * 2
    matched: Mask = np.logical_or.reduce(has[0], axis=-1) & np.logical_or.reduce(has[1], axis=-1)
    incomplete = np.zeros(batch[:-1], dtype=np.intp)
    if shared:
        wanted = matched[..., None]
        some = [np.logical_or.reduce(own & wanted, axis=-2) for own in has]
        whole = [np.logical_and.reduce(own | ~wanted, axis=-2) for own in has]
        incomplete = np.sum([(part & ~every).sum(axis=-1) for part, every in zip(some, whole, strict=True)], axis=0)
        has = [own & every[..., None, :] for own, every in zip(has, whole, strict=True)]
        for every in whole:
            matched = matched & np.logical_or.reduce(every, axis=-1, keepdims=True)
    kept = [np.where(own & matched[..., None], side, np.nan) for own, side in zip(has, sides, strict=True)]
    return Sides(kept[0], kept[1], matched, incomplete)


def smallest_number(sides: Sides) -> Floats:
    """Return the number of units behind the benchmark that has fewest, on the side that has fewer; 0 without a benchmark."""
    return np.minimum(*smallest_numbers(sides))


def smallest_numbers(sides: Sides) -> tuple[Floats, Floats]:
    """Return the same for the new and the old side alone."""
    return _fewest(sides.new, sides.matched), _fewest(sides.old, sides.matched)


def _fewest(units: Floats, matched: Mask) -> Floats:
    """Return the number of units of the matched benchmark that has fewest; 0 without a benchmark."""
    fewest = np.where(matched, (~np.isnan(units)).sum(axis=-1), np.inf).min(axis=-1, initial=np.inf)
    return np.where(np.isinf(fewest), 0.0, fewest)
