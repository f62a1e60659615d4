"""Comparisons of two or more sets of runs, run by run: Worms and Touati (2016), equations 5, 9 and 12.

Every unit has equal weight, and so have the runs inside one. Redrawing units changes only weights,
so that runs are sorted once; a metric of sorted runs is sums of weights up to positions found by
`searchsorted`: O(n log n), where counting pairs is O(n^2).
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from perfarray.numerics.bootstrap_limits import limits_of, percentile_family
from perfarray.numerics.random import UNITS, Streams
from perfarray.numerics.types import Floats, Integers

# Weights of replicates, and cells, that are computed at once.
BLOCK, CELLS = 1_000_000, 256

# Standard deviation of replicates that differ by rounding alone: those of totals are sums of
# products.
ROUNDING = 1e-12


class Drawing(NamedTuple):
    """How units are redrawn: how often, from which key, whether for all systems alike.

    The confidence level; each system's stream.
    """

    n_resamples: int
    key: tuple[int, int]
    paired: bool
    confidence_level: float
    streams: tuple[int, ...] = ()

    def stream(self, system: int) -> int:
        """Return the number of the stream of a system: its position, unless streams were named."""
        return self.streams[system] if self.streams else system


class Limits(NamedTuple):
    """A metric of the data, and its limits."""

    estimate: Floats
    lower: Floats
    upper: Floats


class Weighted(NamedTuple):
    """Runs in ascending order (runs,), and their weights in every replicate (replicate, runs), which sum to 1."""

    values: Floats
    weights: Floats

    def reached(self, x: Floats, side: Literal["left", "right"]) -> Floats:
        """Return the weight of the runs below x (`side="left"`) or up to x (`side="right"`), shape (replicate, x)."""
        return np.asarray(cumulative(self.weights)[:, np.searchsorted(self.values, x, side=side)])


Metric = Callable[[Sequence[Weighted]], Floats]


def cumulative(values: Floats) -> Floats:
    """Return cumulative sums along the last axis that start at 0."""
    sums = np.empty((*values.shape[:-1], values.shape[-1] + 1))
    sums[..., 0] = 0.0
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums


def difference(systems: Sequence[Weighted]) -> Floats:
    """Return E|X - Y| of two systems, shape (replicate,): equation 5."""
    new, old = systems
    x, y = new.values - old.values[0], old.values - old.values[0]
    rank = np.searchsorted(y, x, side="right")
    below = cumulative(old.weights)[:, rank]
    moment = cumulative(old.weights * y)
    # E|x - Y| = x (2 F(x) - 1) + E[Y] - 2 E[Y; Y <= x].
    distance = x * (2 * below - 1) + moment[:, -1:] - 2 * moment[:, rank]
    return np.asarray((new.weights * distance).sum(axis=-1))


def unit_differences(runs: Floats) -> Floats:
    """Return E|X - X'| of two runs of different units for every cell, runs of shape (..., units, runs)."""
    measured = ~np.isnan(runs)
    inside = measured.sum(axis=-1, keepdims=True)
    n_units = (inside > 0).sum(axis=(-2, -1)).astype(float)
    shares = np.where(measured, 1 / np.maximum(inside, 1), 0.0)
    lowest = np.where(measured, runs, np.inf).min(axis=(-2, -1), keepdims=True, initial=np.inf)
    above = np.where(measured, runs - np.where(np.isfinite(lowest), lowest, 0.0), np.inf)
    # Pairs inside a unit, which would make the difference too small, are taken away again.
    pairs = _distances(
        above.reshape(*above.shape[:-2], -1), shares.reshape(*above.shape[:-2], -1)
    ) - _distances(above, shares).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(n_units > 1, pairs / (n_units * (n_units - 1)), np.nan))


def _distances(values: Floats, weights: Floats) -> Floats:
    """Return the weighted sum of |x_i - x_j| over all ordered pairs (..., run).

    Values that count nothing are infinite.
    """
    order = np.argsort(values, axis=-1)
    x, w = (np.take_along_axis(array, order, axis=-1) for array in (values, weights))
    reached = np.cumsum(w, axis=-1)
    return np.asarray(
        2 * (w * np.where(w > 0, x, 0.0) * (2 * reached - w - reached[..., -1:])).sum(axis=-1)
    )


def less(shift: float, ties: float) -> Metric:
    """Return a function that computes P[X < Y + shift] + ties P[X = Y + shift] of two systems: equation 9."""

    def metric(systems: Sequence[Weighted]) -> Floats:
        new, old = systems
        shifted = Weighted(old.values + shift, old.weights)
        faster = 1 - shifted.reached(new.values, "right")
        if ties:
            faster = faster + ties * (
                shifted.reached(new.values, "right") - shifted.reached(new.values, "left")
            )
        return np.asarray(np.clip((new.weights * faster).sum(axis=-1), 0.0, 1.0))

    return metric


def lots(systems: int) -> list[tuple[float, float]]:
    """Return lots between 0 and 1 that break ties, and their weights: a Gauss rule that is exact for products over all rivals but one."""
    nodes, weights = np.polynomial.legendre.leggauss((systems + 1) // 2)
    return list(zip(0.5 * (1 + nodes), 0.5 * weights, strict=True))


def least(ties: bool) -> Metric:
    """Return a function that computes the probability of every system to be the least, shape (system, replicate): equation 12.

    With `ties`, several systems that share the least value share its probability alike: the others'
    survival functions go from P[Y > x] to P[Y >= x] as a tie is broken by lot, and their product is
    averaged over the lot.
    """

    def metric(systems: Sequence[Weighted]) -> Floats:
        probabilities = np.empty((len(systems), len(systems[0].weights)))
        for index, system in enumerate(systems):
            rivals = [rival for number, rival in enumerate(systems) if number != index]
            greater = [1 - rival.reached(system.values, "right") for rival in rivals]
            if ties:
                equal = [
                    1 - rival.reached(system.values, "left") - above
                    for rival, above in zip(rivals, greater, strict=True)
                ]
                pairs = list(zip(greater, equal, strict=True))
                wins = sum(
                    weight * np.prod([above + lot * tied for above, tied in pairs], axis=0)
                    for lot, weight in lots(len(systems))
                )
            else:
                wins = np.prod(greater, axis=0)
            probabilities[index] = (system.weights * wins).sum(axis=-1)
        return np.clip(probabilities, 0.0, 1.0)

    return metric


def resampled(
    runs: Sequence[Floats],
    cells: Integers,
    metric: Metric,
    drawing: Drawing,
    *,
    each: bool = False,
    score: int = 0,
) -> Limits:
    """Compute a metric of every cell, shape (...), or (..., system) with `each`, and limits by redrawing units.

    `runs` has one array (..., units, runs) per system, `cells` the keys of the streams. A cell
    without the runs of a system is NaN; with `each`, where the metric has a value for each system,
    that system is left out. Paired units are those that all systems measured. `score` is the number
    of runs of every system that a probability takes, which has score limits; 0: percentiles of the
    replicates. Limits are NaN where a system has a single unit, or nothing is redrawn.
    """
    rows = rows_of_cells(runs, cells.shape)
    tail, streams = (len(runs),) if each else (), Streams(drawing.key)
    limits = np.full((3, cells.size, *tail), np.nan)
    for start in range(0, cells.size, CELLS):
        block = slice(start, min(start + CELLS, cells.size))
        replicates = np.full((block.stop - start, *tail, drawing.n_resamples + 1), np.nan)
        for index, cell in enumerate(
            range(start, block.stop)
        ):  # each cell has values and a stream of its own
            _fill_replicates(
                replicates[index],
                [values[cell] for values in rows],
                metric,
                int(cells.flat[cell]),
                drawing,
                streams,
            )
        if score:
            numbers = np.array([number_of_units(values[block]) for values in rows])
            n = np.where(numbers > 0, numbers, np.inf).min(
                axis=0
            )  # systems without runs do not count
            limits[:, block] = score_limits(replicates, n[:, None] if each else n, drawing, score)
        else:
            limits[:, block] = percentile_limits(replicates, drawing.confidence_level)
    return Limits(*(values.reshape((*cells.shape, *tail)) for values in limits))


def rows_of_cells(runs: Sequence[Floats], shape: tuple[int, ...]) -> list[Floats]:
    """Return the runs (..., units, runs) of every system as rows (cell, units, runs) of the cells of a shape."""
    return [
        np.broadcast_to(values, (*shape, *values.shape[-2:])).reshape(
            prod(shape), *values.shape[-2:]
        )
        for values in runs
    ]


def number_of_units(runs: Floats) -> Floats:
    """Return how many units have runs (..., units, runs), shape (...)."""
    return np.asarray((~np.isnan(runs)).any(axis=-1).sum(axis=-1), float)


def matched(runs: Sequence[Floats]) -> list[Floats]:
    """Return the runs (..., units, runs) of those units that all systems measured."""
    common = np.logical_and.reduce([(~np.isnan(values)).any(axis=-1) for values in runs])
    return [np.where(common[..., None], values, np.nan) for values in runs]


def percentile_limits(replicates: Floats, confidence_level: float) -> Limits:
    """Return the first replicate as the estimate, and percentiles of the others.

    NaN where nothing is redrawn.
    """
    estimate = replicates[..., 0]
    if replicates.shape[-1] < 3:
        return Limits(estimate, np.full_like(estimate, np.nan), np.full_like(estimate, np.nan))
    limits = limits_of(
        percentile_family("percentile", estimate, replicates[..., 1:]), confidence_level
    )
    return Limits(estimate, limits.lower, limits.upper)


def score_limits(replicates: Floats, n: Floats, drawing: Drawing, runs: int = 1) -> Limits:
    """Return Wilson's limits of a probability for the number of units that has the variance of its replicates.

    A probability over independent systems varies at most as much as that of `n` units, the smallest
    system's number (Hoeffding 1948), which is taken where all replicates agree; at most 2 n are
    believed. Paired units may vary more. A probability of totals of several runs varies at most as
    that of n / runs groups of units that have none in common.
    """
    estimate = replicates[..., 0]
    if replicates.shape[-1] < 3:
        return Limits(estimate, np.full_like(estimate, np.nan), np.full_like(estimate, np.nan))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = replicates[..., 1:].var(axis=-1, ddof=1)
        number = np.where(variance < ROUNDING**2, np.nan, estimate * (1 - estimate) / variance)
    return wilson_limits(
        estimate, number, np.where(np.isnan(replicates[..., 1]), np.nan, n), drawing, runs
    )


def wilson_limits(
    estimate: Floats, number: Floats, n: Floats, drawing: Drawing, runs: int = 1
) -> Limits:
    """Return Wilson's limits for a number of units, held as in `score_limits`: n where that is NaN.

    Without n there are no limits.
    """
    number = np.clip(number, n / runs / (2 if drawing.paired else 1), 2 * n)
    number = np.where(np.isnan(number), n / runs, number)
    z = ndtri(0.5 + 0.5 * drawing.confidence_level)
    middle = (estimate + z**2 / (2 * number)) / (1 + z**2 / number)
    half = (
        z
        / (1 + z**2 / number)
        * np.sqrt(estimate * (1 - estimate) / number + (z / (2 * number)) ** 2)
    )
    return Limits(
        estimate, np.clip(middle - half, 0.0, estimate), np.clip(middle + half, estimate, 1.0)
    )


def _fill_replicates(
    replicates: Floats,
    runs: list[Floats],
    metric: Metric,
    cell: int,
    drawing: Drawing,
    streams: Streams,
) -> None:
    """Fill in the metric of one cell; the first replicate is the data.

    Without runs it stays NaN.
    """
    runs = matched(runs) if drawing.paired else runs
    present = [~np.isnan(values) for values in runs]
    sizes = [int(inside.any(axis=-1).sum()) for inside in present]
    measured = np.array(sizes) > 0
    each = replicates.ndim == 2
    if not measured.any() or not (each or measured.all()):
        return
    ordered = []
    for system in np.flatnonzero(
        measured
    ):  # runs in ascending order, the unit of each, and its weight
        inside = present[system][present[system].any(axis=-1)]
        units = np.nonzero(inside)[0]
        values = runs[system][present[system]]
        order = np.argsort(values, kind="stable")
        units = units[order]
        ordered.append(
            (system, values[order], units, 1.0 / inside.sum(axis=-1)[units] / sizes[system])
        )
    total = 1 if min(sizes[system] for system, *_ in ordered) < 2 else replicates.shape[-1]
    step = max(1, BLOCK // sum(len(values) for _, values, _, _ in ordered))
    for start in range(0, total, step):
        block = slice(start, min(start + step, total))
        counts = _counts(cell, drawing, streams, [max(size, 1) for size in sizes], block)
        weighted = [
            Weighted(values, counts[system][:, units] * weights)
            for system, values, units, weights in ordered
        ]
        replicates[(measured, block) if each else block] = metric(weighted)


def _counts(
    cell: int, drawing: Drawing, streams: Streams, sizes: Sequence[int], block: slice
) -> list[Integers]:
    """Return how often each unit is drawn in some replicates, for every system (replicate, unit).

    The first of all has each once.
    """
    first = max(block.start - 1, 0)
    number = block.stop - 1 - first
    if not number:  # the data alone: setting up the streams of a cell takes as long as its metric
        return [np.ones((1, units), int) for units in sizes]
    counts: list[Integers] = []
    for system, units in enumerate(sizes):
        if drawing.paired and counts:
            counts.append(counts[0])
            continue
        picks = streams.below(
            units, [cell], UNITS + drawing.stream(system), number * units, first * units
        ).reshape(number, units)
        redrawn = np.bincount(
            (picks + units * np.arange(number)[:, None]).ravel(), minlength=number * units
        ).reshape(number, units)
        counts.append(
            redrawn if block.start else np.concatenate([np.ones((1, units), int), redrawn])
        )
    return counts
