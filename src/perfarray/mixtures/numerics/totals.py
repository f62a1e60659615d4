"""Totals of several independent runs: all of them listed where they are few, else spread over a lattice.

A lattice lies over the range of the runs of all systems. A run between two of its places is shared between them, so that means stay; a
transform, to a power, is that of the total. Ties on a lattice are shared alike, which leaves errors of the square of its step.
"""

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np
from scipy.special import gammaln, ndtr

from perfarray.mixtures.numerics import parametric
from perfarray.mixtures.numerics.empirical import Metric, Weighted, least, less
from perfarray.mixtures.numerics.grid import steps_of
from perfarray.mixtures.numerics.normal import Mixture, present
from perfarray.numerics.types import Floats

LISTED = 1 << 13
"""Sums that are listed at a time before those that tie are put together."""

STEPS, PLACES = 256, 1 << 15
"""Steps of a lattice in the range of a run, and its places in that of a total, at most."""

BLOCK = 1 << 20
"""Places of lattices held at once."""

EXACT = 2.0**-40
"""What values are multiples of where they have no step, as a share of their range: sums of the same runs are then the same."""

FAR = 1e75
"""Values beyond it stand for runs that never end: a total that holds one never does either."""

COMPONENTS, OF_MANY = 256, 16
"""Components of a total that are compared one by one, in pairs and where all systems are integrated over."""

REACH = 8.0
"""Standard deviations of a component that a lattice spans."""


def less_in_total(runs: int, shift: float, ties: float) -> Metric:
    """Return what computes P[S < T + shift], ties counting `ties`, of the totals of so many runs of two systems."""
    if runs == 1:
        return less(shift, ties)

    def metric(systems: Sequence[Weighted]) -> Floats:
        ended = [_ended(own) for own in systems]
        unit, first = _unit([own.values for own in ended])
        listed = [_listed(own, runs, unit, first) for own in ended]
        if all(own is not None for own in listed):
            steps = shift / unit
            steps = round(steps) if abs(steps - round(steps)) < 1e-6 else steps
            return less(steps, ties)([_whole(own, parts) for own, parts in zip(listed, systems, strict=True) if own is not None])
        moved = [ended[0], Weighted(ended[1].values + shift / runs, ended[1].weights)]
        return _in_blocks(less(0.0, 0.5), moved, systems, runs)

    return metric


def least_in_total(runs: int, ties: bool) -> Metric:
    """Return what computes the probability of every system to have the least total of so many runs, shape (system, replicate)."""
    if runs == 1:
        return least(ties)

    def metric(systems: Sequence[Weighted]) -> Floats:
        ended = [_ended(own) for own in systems]
        unit, first = _unit([own.values for own in ended])
        listed = [_listed(own, runs, unit, first) for own in ended]
        if all(own is not None for own in listed):
            return least(ties)([_whole(own, parts) for own, parts in zip(listed, systems, strict=True) if own is not None])
        return _in_blocks(least(True), ended, systems, runs)

    return metric


def _ended(own: Weighted) -> Weighted:
    """Return the runs that end: their weights may sum to less than 1."""
    inside = np.abs(own.values) < FAR
    return Weighted(own.values[inside], own.weights[:, inside])


def _whole(total: Weighted, runs: Weighted) -> Weighted:
    """Add the totals that hold a run without end, where there is one."""
    far = runs.values[np.abs(runs.values) >= FAR]
    if not far.size:
        return total
    rest = 1 - total.weights.sum(axis=-1, keepdims=True)
    parts = [(total.values, total.weights), (np.array([np.inf * np.sign(far[0])]), rest)]
    values, weights = zip(*(parts if far[0] > 0 else parts[::-1]), strict=True)
    return Weighted(np.concatenate(values), np.concatenate(weights, axis=-1))


def _unit(values: Sequence[Floats]) -> tuple[float, float]:
    """Return what runs are multiples of, and the least."""
    every = np.concatenate(values)
    if not every.size:
        return 1.0, 0.0
    step, width = float(steps_of(every[None])[0]), float(np.ptp(every))
    return (step if step > 0 else EXACT * width or 1.0), float(every.min())


def _listed(own: Weighted, runs: int, unit: float, first: float) -> Weighted | None:
    """Return the totals in units above the least there could be, and their weights; None where they are too many."""
    places = np.rint((own.values - first) / unit)
    once = found = _together(places, own.weights)
    for _ in range(runs - 1):
        if len(found.values) * len(once.values) > LISTED:
            return None
        sums = (found.values[:, None] + once.values).ravel()
        weights = (found.weights[:, :, None] * once.weights[:, None, :]).reshape(len(once.weights), -1)
        found = _together(sums, weights)
    return found


def _together(values: Floats, weights: Floats) -> Weighted:
    """Put values that tie together, in ascending order."""
    if not values.size:
        return Weighted(values, weights)
    order = np.argsort(values, kind="stable")
    distinct, first = np.unique(values[order], return_index=True)
    return Weighted(distinct, np.add.reduceat(weights[:, order], first, axis=-1))


def _in_blocks(metric: Metric, ended: Sequence[Weighted], systems: Sequence[Weighted], runs: int) -> Floats:
    """Compute a metric of totals on a lattice, some replicates at a time."""
    every = np.concatenate([own.values for own in ended])
    edges, width = np.linspace(every.min(), every.max(), _steps(runs) + 1, retstep=True)
    shares = [np.clip(1 - np.abs(own.values[:, None] - edges) / width, 0.0, 1.0) for own in ended]
    found = []
    for block in _blocks(len(ended[0].weights), runs):
        totals = [_total(own.weights[block] @ share, runs) for own, share in zip(ended, shares, strict=True)]
        parts = [Weighted(own.values, own.weights[block]) for own in systems]
        found.append(metric([_whole(total, part) for total, part in zip(totals, parts, strict=True)]))
    return np.concatenate(found, axis=-1)


def _steps(runs: int) -> int:
    """Return the steps of a lattice in the range of a run."""
    return min(STEPS, PLACES // runs)


def _blocks(rows: int, runs: int) -> Iterator[slice]:
    """Yield blocks of rows that are held at once."""
    step = max(1, BLOCK // (runs * _steps(runs)))
    return (slice(start, start + step) for start in range(0, rows, step))


def _total(masses: Floats, runs: int) -> Weighted:
    """Return the total of runs of masses (row, place) on a lattice, in its steps."""
    places = runs * (masses.shape[-1] - 1) + 1
    size = 1 << (places - 1).bit_length()
    once, left = np.fft.rfft(masses, size), runs
    found = np.ones_like(once)
    while left:  # squares of squares: a power of complex numbers is ten times as dear
        if left & 1:
            found = found * once
        left >>= 1
        once = once * once if left else once
    return Weighted(np.arange(places, dtype=float), np.clip(np.fft.irfft(found, size)[:, :places], 0.0, None))


def less_of_mixtures(new: Mixture, old: Mixture, runs: int, shift: float, ties: float) -> Floats:
    """Return P[S < T + shift] of the totals of so many runs of two mixtures, shape (...)."""
    totals = [_summed(own, runs, COMPONENTS) for own in (new, old)]
    if totals[0] is not None and totals[1] is not None:
        return parametric.less(totals[0], totals[1], shift, ties)
    moved = Mixture(old.weights, old.means + shift / runs, old.deviations)
    shape = np.broadcast_shapes(new.weights.shape[:-1], old.weights.shape[:-1])
    sides = [Mixture(*(np.broadcast_to(part, (*shape, part.shape[-1])) for part in own)) for own in (new, moved)]
    known = np.all([(own.weights > 0).any(axis=-1) for own in sides], axis=0)
    return np.where(known, _of_mixtures(less(0.0, 0.5), parametric.beside(sides), runs), np.nan)


def least_of_mixtures(mixtures: Mixture, runs: int, ties: bool) -> Floats:
    """Return the probability of every mixture (..., system, component) to have the least total of so many runs, shape (..., system)."""
    total = _summed(mixtures, runs, OF_MANY)
    if total is not None:
        return parametric.least(total, ties)
    found = np.moveaxis(_of_mixtures(least(True), mixtures, runs), 0, -1)
    return np.where((mixtures.weights > 0).any(axis=-1), found, np.nan)


def _summed(mixture: Mixture, runs: int, most: int) -> Mixture | None:
    """Return the mixture of a total: a component for every number of runs from each; None where there are too many."""
    if runs == 1:
        return mixture
    kept = (mixture.weights > 0).any(axis=tuple(range(mixture.weights.ndim - 1)))
    weights, means, deviations = (part[..., kept] for part in present(mixture))
    number = int(kept.sum())
    if not number or comb(runs + number - 1, number - 1) > most:
        return None if number else mixture
    times = np.array(list(_compositions(runs, number)), dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(times > 0, times * np.log(weights)[..., None, :], 0.0).sum(axis=-1)
    chances = np.exp(gammaln(runs + 1) - gammaln(times + 1).sum(axis=-1) + each)
    return Mixture(chances, means @ times.T, np.sqrt(deviations**2 @ times.T))


def _compositions(runs: int, number: int) -> Iterator[tuple[int, ...]]:
    """Yield how many of the runs come from each of so many components."""
    if number == 1:
        yield (runs,)
        return
    for first in range(runs + 1):
        for rest in _compositions(runs - first, number - 1):
            yield (first, *rest)


def _of_mixtures(metric: Metric, mixtures: Mixture, runs: int) -> Floats:
    """Compute a metric of totals of mixtures (..., system, component) on lattices, each row on its own, shape (...) or (system, ...)."""
    shape = mixtures.weights.shape
    rows = Mixture(*(part.reshape(-1, *shape[-2:]) for part in present(mixtures)))
    there = rows.weights > 0
    low, high = (np.where(there, rows.means + sign * REACH * rows.deviations, -sign * np.inf) for sign in (-1, 1))
    low, high = low.min(axis=(1, 2)), high.max(axis=(1, 2))
    known = np.isfinite(low)
    width = np.where(known & (high > low), high - low, 1.0) / _steps(runs)
    low = np.where(known, low, 0.0)
    found = []
    for block in _blocks(len(low), runs):
        edges = low[block, None] + width[block, None] * np.arange(-1, _steps(runs) + 2)
        totals = [_total(_masses(Mixture(*(part[block, place] for part in rows)), edges, width[block]), runs) for place in range(shape[-2])]
        found.append(metric(totals))
    every = np.where(known, np.concatenate(found, axis=-1), np.nan)
    return every.reshape((*every.shape[:-1], *shape[:-2]))


def _masses(mixture: Mixture, edges: Floats, width: Floats) -> Floats:
    """Return the masses of mixtures (row, component) on lattices: what E[(x - X)+] bends by at each place, edges beside them too."""
    bends = np.zeros_like(edges)
    for weight, mean, deviation in zip(*(part.T for part in mixture), strict=True):
        spread = np.where(deviation > 0, deviation, 1.0)[:, None]
        score = (edges - mean[:, None]) / spread
        smooth = spread * (score * ndtr(score) + np.exp(-0.5 * score**2) / np.sqrt(2 * np.pi))
        bends += weight[:, None] * np.where(deviation[:, None] > 0, smooth, np.maximum(edges - mean[:, None], 0.0))
    return np.asarray(np.clip(np.diff(bends, 2) / width[:, None], 0.0, None))
