"""How two or more sets of runs compare run by run, from the runs alone: Worms and Touati (2016), equations 5, 9 and 12.

Every unit has equal weight, and so have the runs inside one. Redrawing units changes weights and nothing else, so runs are sorted once; a
metric of sorted runs is sums of weights up to places found by `searchsorted`: O(n log n), where counting pairs is O(n^2).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from perfarray.numerics.bootstrap_limits import limits_of, percentile_family
from perfarray.numerics.random import UNITS, Streams
from perfarray.numerics.types import Floats, Integers

BLOCK = 1_000_000
"""Weights of replicates held at once."""

CELLS = 256
"""Cells whose replicates are held at once."""


class Drawing(NamedTuple):
    """How often units are redrawn, from which key, whether for all systems alike, the confidence level, and the stream of each system."""

    n_resamples: int
    key: tuple[int, int]
    paired: bool
    confidence_level: float
    streams: tuple[int, ...] = ()

    def stream(self, place: int) -> int:
        """Return the number of the stream of a system: its place, unless streams were named."""
        return self.streams[place] if self.streams else place


class Limits(NamedTuple):
    """A metric of the data, and its percentile limits."""

    estimate: Floats
    lower: Floats
    upper: Floats


class Sample(NamedTuple):
    """The runs of one cell in ascending order: values, the unit each belongs to, its share of that unit, and the number of units."""

    values: Floats
    units: Integers
    shares: Floats
    n_units: int


class Weighted(NamedTuple):
    """Runs in ascending order (runs,), and their weights in every replicate (replicate, runs), which sum to 1."""

    values: Floats
    weights: Floats

    def reached(self, x: Floats, side: Literal["left", "right"]) -> Floats:
        """Return the weight of the runs below x (`side="left"`) or up to x (`side="right"`), shape (replicate, x)."""
        return np.asarray(_up_to(self.weights)[:, np.searchsorted(self.values, x, side=side)])


Metric = Callable[[Sequence[Weighted]], Floats]


def sample_of(runs: Floats) -> Sample:
    """Sort the runs of one cell, shape (units, runs); NaN is not measured."""
    measured = ~np.isnan(runs)
    inside = measured.sum(axis=-1)
    present = np.flatnonzero(inside)
    rows, columns = np.nonzero(measured[present])
    values = runs[present][rows, columns]
    order = np.argsort(values, kind="stable")
    return Sample(values[order], rows[order], 1.0 / inside[present][rows[order]], len(present))


def _up_to(weights: Floats) -> Floats:
    """Return cumulative sums that start at 0."""
    return np.concatenate([np.zeros((len(weights), 1)), np.cumsum(weights, axis=-1)], axis=-1)


def difference(systems: Sequence[Weighted]) -> Floats:
    """Return E|X - Y| of two systems, shape (replicate,): equation 5."""
    new, old = systems
    x, y = new.values - old.values[0], old.values - old.values[0]
    place = np.searchsorted(y, x, side="right")
    below = _up_to(old.weights)[:, place]
    moment = _up_to(old.weights * y)
    # E|x - Y| = x (2 F(x) - 1) + E[Y] - 2 E[Y; Y <= x].
    distance = x * (2 * below - 1) + moment[:, -1:] - 2 * moment[:, place]
    return np.asarray((new.weights * distance).sum(axis=-1))


def own_difference(sample: Sample) -> float:
    """Return E|X - X'| of two runs of different units: without the pairs inside a unit, which would make it too small."""
    if sample.n_units < 2:
        return np.nan
    once = Weighted(sample.values, sample.shares[None] / sample.n_units)
    all_pairs = float(difference([once, once])[0])
    order = np.argsort(sample.units, kind="stable")
    values, units, shares = sample.values[order], sample.units[order], sample.shares[order]
    first = np.searchsorted(units, units)
    # Sorted x_1 <= ... <= x_m of one unit: the sum of |x_i - x_j| over all ordered pairs is 2 sum of (2 i - m - 1) x_i.
    rank = np.arange(len(units)) - first + 1
    inside = float((2 * shares**2 * (2 * rank - 1 - 1 / shares) * values).sum())
    return (all_pairs * sample.n_units**2 - inside) / (sample.n_units * (sample.n_units - 1))


def own_differences(runs: Floats) -> Floats:
    """Return E|X - X'| of two runs of different units for every cell, runs of shape (..., units, runs)."""
    rows = runs.reshape(-1, *runs.shape[-2:])
    return np.array([own_difference(sample_of(own)) for own in rows]).reshape(runs.shape[:-2])


def less(shift: float, ties: float) -> Metric:
    """Return what computes P[X < Y + shift] + ties P[X = Y + shift] of two systems: equation 9."""

    def metric(systems: Sequence[Weighted]) -> Floats:
        new, old = systems
        moved = Weighted(old.values + shift, old.weights)
        found = 1 - moved.reached(new.values, "right")
        if ties:
            found = found + ties * (moved.reached(new.values, "right") - moved.reached(new.values, "left"))
        return np.asarray(np.clip((new.weights * found).sum(axis=-1), 0.0, 1.0))

    return metric


def least(ties: bool) -> Metric:
    """Return what computes the probability of every system to be the least of all, shape (system, replicate): equation 12.

    With `ties`, several systems that share the least value share its probability alike: the others' survival functions go from P[Y > x]
    to P[Y >= x] as a tie is broken by lot, and their product, a polynomial, is averaged over the lot by a Gauss rule that is exact.
    """

    def metric(systems: Sequence[Weighted]) -> Floats:
        lots, shares = np.polynomial.legendre.leggauss((len(systems) + 1) // 2)
        found = np.empty((len(systems), len(systems[0].weights)))
        for place, own in enumerate(systems):
            others = [other for number, other in enumerate(systems) if number != place]
            greater = [1 - other.reached(own.values, "right") for other in others]
            if not ties:
                won = np.prod(greater, axis=0)
            else:
                equal = [1 - other.reached(own.values, "left") - above for other, above in zip(others, greater, strict=True)]
                pairs = list(zip(greater, equal, strict=True))
                won = sum(0.5 * share * np.prod([above + 0.5 * (1 + lot) * same for above, same in pairs], axis=0)
                          for lot, share in zip(lots, shares, strict=True))  # fmt: skip
            found[place] = (own.weights * won).sum(axis=-1)
        return np.clip(found, 0.0, 1.0)

    return metric


def resampled(runs: Sequence[Floats], cells: Integers, metric: Metric, drawing: Drawing, *, each: bool = False, score: int = 0) -> Limits:
    """Compute a metric of every cell, and limits by redrawing units.

    Parameters
    ----------
    runs : sequence of arrays, shape (..., units, runs)
        One array per system; NaN is not measured. With `each`, a system without runs is left out; otherwise the cell is NaN.
    cells : int array, shape (...)
        Keys of the cells, which name the streams.
    metric : callable
        Takes the weighted runs of the systems, returns (replicate,), or (system, replicate) with `each`.
    drawing : Drawing
        How units are redrawn; where paired, only those that all systems measured.
    each : bool
        Whether the metric has a value for each system.
    score : int
        Of a probability, which has score limits (`score_limits`), the runs of every system that it takes; 0: percentiles of the replicates.

    Returns
    -------
    Limits
        Of shape (...), or (..., system); limits are NaN where a system has a single unit, or nothing is redrawn.
    """
    batch = cells.shape
    rows = [np.broadcast_to(own, (*batch, *own.shape[-2:])).reshape(-1, *own.shape[-2:]) for own in runs]
    tail, streams = (len(runs),) if each else (), Streams(drawing.key)
    found = np.full((3, cells.size, *tail), np.nan)
    for start in range(0, cells.size, CELLS):
        block = range(start, min(start + CELLS, cells.size))
        replicates = np.full((len(block), *tail, drawing.n_resamples + 1), np.nan)
        # Cell by cell: each has values and a stream of its own.
        for place, cell in enumerate(block):
            counts = partial(_counts, int(cells.flat[cell]), drawing, streams)
            _of_cell(replicates[place], [own[cell] for own in rows], metric, counts, drawing.paired)
        own = slice(start, block.stop)
        if score:
            n = np.minimum.reduce([_present(part[own]) for part in rows])
            found[:, own] = score_limits(replicates, n[:, None] if each else n, drawing, score)
        else:
            found[:, own] = limits_from(replicates, drawing.confidence_level)
    return Limits(*(part.reshape((*batch, *tail)) for part in found))


def limits_from(replicates: Floats, confidence_level: float) -> Limits:
    """Return the first replicate as the estimate, and the percentiles of the others; NaN where nothing is redrawn."""
    estimate = replicates[..., 0]
    if replicates.shape[-1] < 3:
        return Limits(estimate, np.full_like(estimate, np.nan), np.full_like(estimate, np.nan))
    limits = limits_of(percentile_family("percentile", estimate, replicates[..., 1:]), confidence_level)
    return Limits(estimate, limits.lower, limits.upper)


AGREEING = 1e-12
"""Standard deviation of replicates that differ by rounding alone: those of totals are sums of products."""


def score_limits(replicates: Floats, n: Floats, drawing: Drawing, runs: int = 1) -> Limits:
    """Return Wilson's limits of a probability for as many units as the variance of its replicates stands for.

    A probability over independent systems varies at most as much as that of `n` units, the smallest system's number (Hoeffding 1948),
    which it is where all replicates agree; at most 2 n are believed. Paired units may vary more. One of totals of several runs varies at
    most as that of n / runs, groups of units that have none in common.
    """
    estimate = replicates[..., 0]
    if replicates.shape[-1] < 3:
        return Limits(estimate, np.full_like(estimate, np.nan), np.full_like(estimate, np.nan))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = replicates[..., 1:].var(axis=-1, ddof=1)
        number = np.where(variance < AGREEING**2, np.nan, estimate * (1 - estimate) / variance)
        least = n / runs / (2 if drawing.paired else 1)
        number = np.clip(number, least, 2 * n)
        number = np.where(np.isnan(replicates[..., 1]), np.nan, np.where(np.isnan(number), n / runs, number))
        z = ndtri(0.5 + 0.5 * drawing.confidence_level)
        middle = (estimate + z**2 / (2 * number)) / (1 + z**2 / number)
        half = z / (1 + z**2 / number) * np.sqrt(estimate * (1 - estimate) / number + (z / (2 * number)) ** 2)
    return Limits(estimate, np.clip(middle - half, 0.0, estimate), np.clip(middle + half, estimate, 1.0))


def _present(runs: Floats) -> Floats:
    """Return the number of units with runs, shape (cell,); systems without any do not count."""
    n = (~np.isnan(runs)).any(axis=-1).sum(axis=-1).astype(float)
    return np.where(n > 0, n, np.inf)


def _of_cell(found: Floats, runs: list[Floats], metric: Metric, counts_of: Callable[..., list[Integers]], paired: bool) -> None:
    """Fill in the metric of one cell (the first replicate is the data) where there are runs."""
    if paired:
        matched = np.logical_and.reduce([~np.isnan(own).all(axis=-1) for own in runs])
        runs = [own[matched] for own in runs]
    samples = [sample_of(own) for own in runs]
    present = np.array([sample.n_units > 0 for sample in samples])
    chosen = present if found.ndim == 2 else np.ones(len(samples), bool)
    if not present[chosen].all() or not present.any():
        return
    kept = [sample for sample, is_there in zip(samples, chosen, strict=True) if is_there]
    single = min(sample.n_units for sample in kept) < 2
    total = 1 if single else found.shape[-1]
    sizes = [max(sample.n_units, 1) for sample in samples]
    step = max(1, BLOCK // sum(len(sample.values) for sample in kept))
    for start in range(0, total, step):
        own = slice(start, min(start + step, total))
        drawn = [
            Weighted(sample.values, count[:, sample.units] * (sample.shares / sample.n_units))
            for sample, count, is_there in zip(samples, counts_of(sizes, own), chosen, strict=True)
            if is_there
        ]
        found[(chosen, own) if found.ndim == 2 else own] = metric(drawn)


def _counts(cell: int, drawing: Drawing, streams: Streams, sizes: Sequence[int], part: slice) -> list[Integers]:
    """Return how often each unit is drawn in some replicates, for every system (replicate, unit); the first of all has each once."""
    found: list[Integers] = []
    first = max(part.start - 1, 0)  # of those that are redrawn
    number = part.stop - 1 - first
    for place, units in enumerate(sizes):
        if drawing.paired and found:
            found.append(found[0])
            continue
        picks = streams.below(units, [cell], UNITS + drawing.stream(place), number * units, first * units).reshape(number, units)
        drawn = np.bincount((picks + units * np.arange(number)[:, None]).ravel(), minlength=number * units).reshape(number, units)
        found.append(drawn if part.start else np.concatenate([np.ones((1, units), int), drawn]))
    return found
