"""Totals of several independent runs: all of them listed where they are few, else spread over a lattice.

A lattice lies over the range of the runs of all systems. A run between two of its points is shared
between them, so that means stay; a power of its Fourier transform is that of the total. Ties on a
lattice are shared alike, which leaves errors of the square of its step.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from math import comb

import numpy as np
from scipy.special import gammaln, ndtr

from perfarray.mixtures.numerics import integrals, parametric
from perfarray.mixtures.numerics.empirical import Metric, Weighted, least, less
from perfarray.mixtures.numerics.grid import steps_of
from perfarray.mixtures.numerics.normal import Mixture
from perfarray.mixtures.numerics.scale import Scaled
from perfarray.numerics.types import Floats

# Sums that are listed at a time before those that tie are merged.
LISTED = 1 << 13

# Steps of a lattice in the range of a run, and its points in that of a total, at most.
STEPS, POINTS = 256, 1 << 15

# Points of lattices computed at once.
BLOCK = 1 << 20

# The unit of values without a step, as a share of their range: sums of the same runs are then
# equal.
EXACT = 2.0**-40

# Values beyond it stand for runs that never end, as does a total that holds one.
FAR = 1e75

# Components of a total for closed forms: in pairs, and where all systems are integrated over.
COMPONENTS, OF_MANY = 256, 16

# Standard deviations of a component that a lattice spans.
REACH = 8.0


def less_in_total(runs: int, shift: float, ties: float) -> Metric:
    """Return a function that computes P[S < T + shift], ties counting `ties`, of the totals of so many runs of two systems."""
    return (
        less(shift, ties)
        if runs == 1
        else partial(_in_total, lambda steps: less(steps, ties), less(0.0, 0.5), runs, shift)
    )


def least_in_total(runs: int, ties: bool) -> Metric:
    """Return a function that computes the probability of every system to have the least total of so many runs (system, replicate)."""
    return (
        least(ties)
        if runs == 1
        else partial(_in_total, lambda _shift: least(ties), least(True), runs, 0.0)
    )


def _in_total(
    listed: Callable[[float], Metric],
    on_lattice: Metric,
    runs: int,
    shift: float,
    systems: Sequence[Weighted],
) -> Floats:
    """Compute a metric of totals, of which the last system's is shifted: of all of them, or of those on a lattice."""
    finite = [_finite(system) for system in systems]
    unit, totals = _listed(finite, runs)
    if totals is not None:
        steps = shift / unit
        steps = round(steps) if abs(steps - round(steps)) < 1e-6 else steps
        return listed(steps)([_with_infinite(*pair) for pair in zip(totals, systems, strict=True)])
    finite[-1] = Weighted(finite[-1].values + shift / runs, finite[-1].weights)
    return _on_lattice(on_lattice, finite, systems, runs)


def _finite(system: Weighted) -> Weighted:
    """Return the runs that end: their weights may sum to less than 1."""
    inside = np.abs(system.values) < FAR
    return Weighted(system.values[inside], system.weights[:, inside])


def _with_infinite(total: Weighted, runs: Weighted) -> Weighted:
    """Add the totals that hold a run without end, if there is one."""
    infinite = runs.values[np.abs(runs.values) >= FAR]
    if not infinite.size:
        return total
    missing = 1 - total.weights.sum(axis=-1, keepdims=True)
    pairs = [(total.values, total.weights), (np.array([np.inf * np.sign(infinite[0])]), missing)]
    values, weights = zip(*(pairs if infinite[0] > 0 else pairs[::-1]), strict=True)
    return Weighted(np.concatenate(values), np.concatenate(weights, axis=-1))


def _listed(systems: Sequence[Weighted], runs: int) -> tuple[float, list[Weighted] | None]:
    """Return the unit of the runs, and the totals in units above the least there could be.

    None where they are too many.
    """
    values = np.concatenate([system.values for system in systems])
    unit, first = 1.0, 0.0
    if values.size:
        step = float(steps_of(values[None])[0])
        unit, first = (
            step if step > 0 else EXACT * float(np.ptp(values)) or 1.0,
            float(values.min()),
        )
    totals = []
    for system in systems:
        single = total = _merged(np.rint((system.values - first) / unit), system.weights)
        for _ in range(runs - 1):
            if len(total.values) * len(single.values) > LISTED:
                return unit, None
            sums = (total.values[:, None] + single.values).ravel()
            weights = (total.weights[:, :, None] * single.weights[:, None, :]).reshape(
                len(single.weights), -1
            )
            total = _merged(sums, weights)
        totals.append(total)
    return unit, totals


def _merged(values: Floats, weights: Floats) -> Weighted:
    """Return distinct values in ascending order, with the weights of those that tie added up."""
    if not values.size:
        return Weighted(values, weights)
    order = np.argsort(values, kind="stable")
    distinct, first = np.unique(values[order], return_index=True)
    return Weighted(distinct, np.add.reduceat(weights[:, order], first, axis=-1))


def _on_lattice(
    metric: Metric, finite: Sequence[Weighted], systems: Sequence[Weighted], runs: int
) -> Floats:
    """Compute a metric of totals on a lattice, some replicates at a time."""
    values = np.concatenate([system.values for system in finite])
    edges, width = np.linspace(values.min(), values.max(), _steps(runs) + 1, retstep=True)
    shares = [
        np.clip(1 - np.abs(system.values[:, None] - edges) / width, 0.0, 1.0) for system in finite
    ]
    answers = []
    for block in _blocks(len(finite[0].weights), runs):
        totals = []
        for system, share, runs_of in zip(finite, shares, systems, strict=True):
            total = _total(system.weights[block] @ share, runs)
            totals.append(_with_infinite(total, Weighted(runs_of.values, runs_of.weights[block])))
        answers.append(metric(totals))
    return np.concatenate(answers, axis=-1)


def _steps(runs: int) -> int:
    return min(STEPS, POINTS // runs)


def _blocks(rows: int, runs: int) -> Iterator[slice]:
    step = max(1, BLOCK // (runs * _steps(runs)))
    return (slice(start, start + step) for start in range(0, rows, step))


def _total(masses: Floats, runs: int) -> Weighted:
    """Return the total of runs of masses (row, point) on a lattice, in its steps."""
    points = runs * (masses.shape[-1] - 1) + 1
    size = 1 << (points - 1).bit_length()
    factor, exponent = np.fft.rfft(masses, size), runs
    power = np.ones_like(factor)
    while exponent:  # repeated squaring: a power of complex numbers takes ten times as long
        if exponent & 1:
            power = power * factor
        exponent >>= 1
        factor = factor * factor if exponent else factor
    return Weighted(
        np.arange(points, dtype=float), np.clip(np.fft.irfft(power, size)[:, :points], 0.0, None)
    )


def less_of_mixtures(new: Mixture, old: Mixture, runs: int, shift: float, ties: float) -> Floats:
    """Return P[S < T + shift] of the totals of so many runs of two normal mixtures, shape (...)."""
    totals = [_sum_of_runs(mixture, runs, COMPONENTS) for mixture in (new, old)]
    if totals[0] is not None and totals[1] is not None:
        return parametric.less(totals[0], totals[1], shift, ties)
    answer = _mixtures_on_lattice(
        less(0.0, 0.5), [new, old._replace(means=old.means + shift / runs)], runs
    )
    return np.where(new.measured & old.measured, answer, np.nan)


def least_of_mixtures(mixtures: Sequence[Mixture], runs: int, ties: bool) -> Floats:
    """Return the probability of every normal mixture (..., component) to have the least total of so many runs, shape (..., system)."""
    totals = [_sum_of_runs(mixture, runs, OF_MANY) for mixture in mixtures]
    if all(total is not None for total in totals):
        return integrals.best(
            [
                Scaled(total, np.zeros(total.measured.shape, int))
                for total in totals
                if total is not None
            ],
            ties,
        )
    answer = np.moveaxis(_mixtures_on_lattice(least(True), mixtures, runs), 0, -1)
    return np.where(
        np.stack(np.broadcast_arrays(*(mixture.measured for mixture in mixtures)), axis=-1),
        answer,
        np.nan,
    )


def _sum_of_runs(mixture: Mixture, runs: int, most: int) -> Mixture | None:
    """Return the mixture of a total: a component for every number of runs from each.

    None where there are too many.
    """
    if runs == 1:
        return mixture
    used = (mixture.weights > 0).any(axis=tuple(range(mixture.weights.ndim - 1)))
    number = int(used.sum())
    if not number:
        return mixture
    ways = comb(runs + number - 1, number - 1)
    if ways > most:
        return None
    weights, means, deviations = (column[..., used] for column in mixture.present())
    # How many of the runs come from each component: the gaps between bars among the runs.
    bars = np.array(list(combinations(range(runs + number - 1), number - 1)), int).reshape(
        ways, number - 1
    )
    times = np.diff(bars, prepend=-1, append=runs + number - 1, axis=-1) - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        log_powers = np.where(times > 0, times * np.log(weights)[..., None, :], 0.0).sum(axis=-1)
    chances = np.exp(gammaln(runs + 1) - gammaln(times + 1).sum(axis=-1) + log_powers)
    return Mixture(chances, means @ times.T, np.sqrt(deviations**2 @ times.T))


def _mixtures_on_lattice(metric: Metric, mixtures: Sequence[Mixture], runs: int) -> Floats:
    """Compute a metric of totals of mixtures (..., component) on lattices, each row on its own, shape (...) or (system, ...)."""
    shape = np.broadcast_shapes(*(mixture.measured.shape for mixture in mixtures))
    rows = [mixture.rows(shape) for mixture in mixtures]
    ends = [
        np.where(row.weights > 0, row.means + sign * REACH * row.deviations, -sign * np.inf)
        for row in rows
        for sign in (-1, 1)
    ]
    low = np.concatenate(ends[::2], axis=-1).min(axis=-1)
    high = np.concatenate(ends[1::2], axis=-1).max(axis=-1)
    measured = np.isfinite(low)
    width = np.where(measured & (high > low), high - low, 1.0) / _steps(runs)
    low = np.where(measured, low, 0.0)
    answers = []
    for block in _blocks(len(low), runs):
        edges = low[block, None] + width[block, None] * np.arange(-1, _steps(runs) + 2)
        answers.append(
            metric([_total(_masses(row.take(block), edges, width[block]), runs) for row in rows])
        )
    answer = np.where(measured, np.concatenate(answers, axis=-1), np.nan)
    return answer.reshape((*answer.shape[:-1], *shape))


def _masses(mixture: Mixture, edges: Floats, width: Floats) -> Floats:
    """Return the masses of mixtures (row, component) on lattices: second differences of E[(x - X)+], edges beside them included."""
    integral = np.zeros_like(edges)
    for weight, mean, deviation in zip(*(column.T[..., None] for column in mixture), strict=True):
        spread = np.where(deviation > 0, deviation, 1.0)
        score = (edges - mean) / spread
        smooth = spread * (score * ndtr(score) + np.exp(-0.5 * score**2) / np.sqrt(2 * np.pi))
        integral += weight * np.where(deviation > 0, smooth, np.maximum(edges - mean, 0.0))
    return np.asarray(np.clip(np.diff(integral, 2) / width[:, None], 0.0, None))
