"""One number for a suite: a statistic of the runs of every benchmark, and their mean.

The last axes are (benchmarks, units); NaN is "not measured". Irving et al. (2018), sections 3 and
9.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np

from perfarray.numerics.levels import (
    UnitSummary,
    mean_of_measured,
    one_value_per_unit,
    summarise_units,
)
from perfarray.numerics.types import Floats, Integers, Mask

MEANS = ("geometric", "harmonic", "arithmetic")
# The two values in the middle of an even number, the one value of an odd number.
MIDDLES = (
    "low_median",
    "high_median",
)


class SuiteSides(NamedTuple):
    """Two systems ready to compare: units with NaN where they do not count."""

    new: Floats
    old: Floats
    matched: Mask
    incomplete: Integers  # shared units left out because they lack a benchmark

    def rows(self, rows: Integers | slice) -> "SuiteSides":
        """Return some suites."""
        return SuiteSides(self.new[rows], self.old[rows], self.matched[rows], self.incomplete[rows])


def suite_units(values: Floats, batch: tuple[int, ...], levels: int, unit: int) -> Floats:
    """Return one value per unit, (suites, benchmarks, units), of timings."""
    units = one_value_per_unit(values, levels, unit)
    return np.broadcast_to(units, (*batch, *units.shape[-2:])).reshape(-1, *units.shape[-2:])


def run_statistic(units: Floats, statistic: str) -> Floats:
    """Return a statistic of the measured values along the last axis."""
    if statistic == "mean":
        return mean_of_measured(units)
    if statistic == "min":
        return np.asarray(np.fmin.reduce(units, axis=-1))
    if statistic == "max":
        return np.asarray(np.fmax.reduce(units, axis=-1))
    if statistic == "geometric":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.exp(mean_of_measured(np.log(units)))
    ordered = np.sort(units, axis=-1)
    number = np.sum(~np.isnan(ordered), axis=-1, keepdims=True)
    middle = [
        np.take_along_axis(ordered, np.maximum(number - 1 + above, 0) // 2, axis=-1)
        for above in (0, 1)
    ]
    if statistic in MIDDLES:
        return np.asarray(middle[MIDDLES.index(statistic)][..., 0])
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


def suite_mean(
    scores: Floats,
    mean: str,
    matched: Mask | None = None,
    weights: Floats | None = None,
    *,
    shift: float = 0.0,
) -> Floats:
    """Return the weighted mean over the benchmarks along the last axis; none gives NaN.

    A shift is added to the scores before, and subtracted afterwards.
    """
    average = mean_of_transformed(transform(scores + shift, mean), mean, matched, weights)
    return average - shift


def mean_of_transformed(
    transformed: Floats, mean: str, matched: Mask | None = None, weights: Floats | None = None
) -> Floats:
    """Return the same of scores that were transformed already."""
    if matched is None and weights is None:
        return restore(transformed.mean(axis=-1), mean)
    counts = np.ones(transformed.shape[-1], dtype=bool) if matched is None else matched
    weighted = transformed if weights is None else weights * transformed
    with np.errstate(divide="ignore", invalid="ignore"):
        total = (weighted if counts.all() else np.where(counts, weighted, 0.0)).sum(axis=-1)
        return restore(total / matched_weights(counts, weights).sum(axis=-1), mean)


def weighted_transform(scores: Floats, mean: str, weights: Floats | None) -> Floats:
    """Return the summands of a mean: transformed scores times their weights."""
    return transform(scores, mean) if weights is None else weights * transform(scores, mean)


def matched_weights(matched: Mask, weights: Floats | None) -> Floats | Mask:
    """Return the weight of each benchmark, 1 by default, where it is matched; else 0."""
    return matched if weights is None else np.where(matched, weights, 0.0)


def log_mean_slopes(
    scores: Floats, mean: str, matched: Mask, weights: Floats | None = None
) -> Floats:
    """Return by how much the log of the mean moves with the log of each benchmark's score.

    0 for those that do not count.
    """
    equal = 1.0 if weights is None else weights
    weighted = np.where(
        matched, equal if mean == "geometric" else weighted_transform(scores, mean, weights), 0.0
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(weighted / weighted.sum(axis=-1, keepdims=True))


def sum_of_samples(variance: Floats, n: Floats, counts: Mask) -> tuple[Floats, Floats]:
    """Return the squared error of a sum of samples along the last axis, and its df.

    `variance` are the squared errors of the summands, `counts` those that count. The df are those
    of Welch and Satterthwaite; where nothing varies, those of all samples together.
    """
    squares = np.where(counts, variance, 0.0)
    total = squares.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = total**2 / np.where(counts, squares**2 / (n - 1), 0.0).sum(axis=-1)
    return total, np.where(total == 0, np.where(counts, n - 1, 0.0).sum(axis=-1), df)


def match_sides(new: Floats, old: Floats, *, shared: bool, paired: bool) -> SuiteSides:
    """Leave out what has no counterpart: benchmarks, pairs with a gap, shared units.

    Both systems are (..., benchmarks, units), one value per unit. If `shared`, unit j is the same
    for every benchmark; if `paired`, unit j of one system belongs to unit j of the other.
    """
    batch = np.broadcast_shapes(new.shape[:-1], old.shape[:-1])
    sides = [np.broadcast_to(side, (*batch, side.shape[-1])) for side in (new, old)]
    measured: list[Mask] = [~np.isnan(side) for side in sides]
    if paired:
        measured = [measured[0] & measured[1]] * 2
    matched: Mask = np.asarray(measured[0].any(axis=-1) & measured[1].any(axis=-1))
    incomplete = np.zeros(batch[:-1], dtype=np.intp)
    if shared:
        of_matched = matched[..., None]
        for index, units in enumerate(measured):
            complete: Mask = np.asarray((units | ~of_matched).all(axis=-2))
            incomplete = incomplete + ((units & of_matched).any(axis=-2) & ~complete).sum(axis=-1)
            measured[index] = units & complete[..., None, :]
            matched = np.asarray(matched & complete.any(axis=-1, keepdims=True))
    fields = [
        np.where(units & matched[..., None], side, np.nan)
        for units, side in zip(measured, sides, strict=True)
    ]
    return SuiteSides(fields[0], fields[1], matched, incomplete)


def smallest_number(sides: SuiteSides) -> Floats:
    """Return the number of units behind the benchmark that has fewest, on the side that has fewer.

    0 without a benchmark.
    """
    return np.minimum(*smallest_numbers(sides))


def smallest_numbers(sides: SuiteSides) -> list[Floats]:
    """Return the same for the new and the old side alone."""
    numbers = [
        np.where(sides.matched, (~np.isnan(units)).sum(axis=-1), np.inf).min(
            axis=-1, initial=np.inf
        )
        for units in sides[:2]
    ]
    return [np.where(np.isinf(number), 0.0, number) for number in numbers]


def movement(
    new: Floats, old: Floats, *_: object, paired: bool, summaries: Sequence[UnitSummary] = ()
) -> tuple[Floats, Floats]:
    """Return `common_movement` of two systems, or of the ratios of pairs."""
    if not paired:
        return common_movement(new, old, summaries=summaries)
    with np.errstate(divide="ignore", invalid="ignore"):
        return common_movement(new / old)


# Below these numbers the test of common movement has no p-value: few benchmarks of skewed values
# seem to move together too often.
LEAST_BENCHMARKS, LEAST_UNITS = 4, 3


def common_movement(*sides: Floats, summaries: Sequence[UnitSummary] = ()) -> tuple[Floats, Floats]:
    """Test whether the units of different benchmarks move together.

    The units of every benchmark, as distances from their mean, are a vector of length 1; vectors of
    independent units have any direction, those of shared units similar ones (a Rayleigh test).
    Under independence the squared length of the sum has a mean and a variance that do not depend on
    the distribution of the values; the beta distribution with both is exact for two benchmarks of
    normal values. Its tail is too short for few units, three runs of each; where the Pearson
    distribution of type III with the third moment, too, gives a larger probability, that counts.
    Units may serve both systems (sessions), so that two sides tell less than twice what one does:
    the variance is that over all orders of each benchmark's units, the same on both sides.

    Sides are (..., benchmarks, units), NaN where not measured; unit j of one benchmark may be unit
    j of another. The answers are the mean correlation over all pairs of benchmarks that vary on
    every side, and the probability of one as large if there is none (...); NaN for fewer than four
    benchmarks, or without three units on a side that have them all.
    """
    from scipy.special import betainc, gammaincc

    summaries = summaries or [summarise_units(side) for side in sides]
    varying: Mask = reduce(np.logical_and, (summary.variance > 0 for summary in summaries))
    number = varying.sum(axis=-1)
    directions = [
        _directions(side, summary.mean, varying)
        for side, summary in zip(sides, summaries, strict=True)
    ]
    lengths = sum(degrees * (units.sum(axis=-2) ** 2).sum(axis=-1) for units, degrees in directions)
    freedom = sum(degrees for _, degrees in directions)
    with np.errstate(divide="ignore", invalid="ignore"):
        repeated = sum(2 * _repeated(*pair, number) for pair in combinations(directions, 2))
        effective, length = freedom**2 / (freedom + repeated), lengths / freedom
        testable = (number >= LEAST_BENCHMARKS) & (freedom > 0)
        a = np.where(testable, effective / 2 - 1 / number, np.nan)
        by_beta = betainc(a * (number - 1), a, 1 - np.minimum(length / number**2, 1.0))
        deviation = np.sqrt(2 * number * (number - 1) / effective)
        skewness = 8 * number * (number - 1) * (number - 2) / effective**2 / deviation**3
        shape = 4 / skewness**2
        by_gamma = gammaincc(
            shape, np.maximum(shape + 2 * (length - number) / (deviation * skewness), 0.0)
        )
        pvalue = np.where(testable, np.maximum(by_beta, by_gamma), np.nan)
        correlation = (length - number) / (number * (number - 1))
    return np.where(testable, correlation, np.nan), pvalue


def _directions(units: Floats, means: Floats, varying: Mask) -> tuple[Floats, Floats]:
    """Return the directions of all varying benchmarks, and their degrees of freedom.

    Units that a benchmark lacks are left out; fewer than `LEAST_UNITS` have no degrees of freedom.
    """
    missing, n = np.isnan(units), np.full(units.shape[:-2], units.shape[-1])
    if missing.any() or not varying.all():
        complete = ~(missing & varying[..., None]).any(axis=-2, keepdims=True)
        n = complete.sum(axis=-1)[..., 0]
        units = np.where(complete & varying[..., None], units, np.nan)
        means = summarise_units(units).mean
    units = np.ascontiguousarray(units)  # sums over other layouts are rounded otherwise
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = np.where(np.isnan(units), 0.0, units / means[..., None] - 1.0)
        size = np.sqrt((distances**2).sum(axis=-1, keepdims=True))
        return np.where(size > 0, distances / size, 0.0), np.where(n >= LEAST_UNITS, n - 1.0, 0.0)


def _repeated(
    side: tuple[Floats, Floats], other_side: tuple[Floats, Floats], number: Integers
) -> Floats:
    """Return the degrees of freedom that two paired sides have in common."""
    common = min(side[0].shape[-1], other_side[0].shape[-1])
    products = side[0][..., :common] * other_side[0][..., :common]
    shared_benchmarks = (products != 0).any(axis=-2).sum(axis=-1)
    cosines = products.sum(axis=-1)
    pairs = (cosines.sum(axis=-1) ** 2 - (cosines**2).sum(axis=-1)) / (number * (number - 1))
    return np.where(
        shared_benchmarks > 1, side[1] * other_side[1] * pairs / (shared_benchmarks - 1), 0.0
    )
