"""Totals of several independent runs: all of them listed where they are few, else on a lattice.

A lattice lies over the range of the runs of all systems. A run between two of its points is shared
between them, so that means stay; a power of its Fourier transform is that of the total. Ties on a
lattice are shared alike, which leaves errors of the square of its step.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from math import comb

import numpy as np
from scipy.special import gammaln, ndtr

from perfarray.mixtures.numerics import integrals, parametric
from perfarray.mixtures.numerics.comparison import ROUNDING, lots
from perfarray.mixtures.numerics.grid import steps_of
from perfarray.mixtures.numerics.normal import NormalMixture
from perfarray.mixtures.numerics.scale import Scaled
from perfarray.numerics.types import Floats, Integers, Mask

# Sums that are listed at a time before those that tie are merged.
LISTED = 1 << 13

# Steps of a lattice in the range of a run, and its points in that of a total, at most.
STEPS, POINTS = 256, 1 << 15

# Points of lattices computed at once.
BLOCK = 1 << 20

# The unit of values without a step, as a share of their range: sums of the same runs are then
# equal. Each run is rounded to it, so that totals which tie may differ by a unit for each run.
EXACT = 2.0**-40

# Values beyond it stand for runs that never end, as does a total that holds one.
FAR = 1e75

# Components of a total for closed forms: in pairs, and where all systems are integrated over.
COMPONENTS, OF_MANY = 256, 16

# Standard deviations of a component that a lattice spans.
REACH = 8.0

# The mean, over a system's other runs, of a function of the total, for each run: of the function's
# values at all points, its values by run.
Expectation = Callable[[Floats], Floats]

# Shares of a tie that are won, and their weights.
Lots = Sequence[tuple[float, float]]

STRICT: Lots = [(0.0, 1.0)]


def race_of_totals(
    runs: Floats, weights: Floats, n_runs: int, shift: float, ties: bool
) -> tuple[Floats, Floats, Floats]:
    """Return wins (cell, system), ties (cell,) and placements (cell, system, rival, run).

    Runs and their weights are (cell, system, run), NaN and 0 where not measured. The placement of a
    run is the probability that the system has the least total if the run is part of the rival's.
    """
    cells, systems, n = runs.shape
    wins, by_run = np.zeros((cells, systems)), np.zeros((cells, systems, systems, n))
    tied = np.zeros(cells)
    measured = weights > 0
    for cell in range(cells):  # each has totals of its own
        measured_systems = np.flatnonzero(measured[cell].any(axis=-1))
        if not len(measured_systems):
            continue
        inside = [measured[cell, system] for system in measured_systems]
        samples = [
            (runs[cell, system, measured_runs], weights[cell, system, measured_runs])
            for system, measured_runs in zip(measured_systems, inside, strict=True)
        ]
        mass, expectations, listed = _totals(samples, n_runs, shift)
        shared = lots(len(measured_systems)) if ties or not listed else STRICT
        wins[cell, measured_systems] = _wins(mass, shared)
        for rival, expectation in enumerate(expectations):
            by_run[
                cell,
                measured_systems[:, None],
                measured_systems[rival],
                np.flatnonzero(inside[rival]),
            ] = _placements(mass, expectation, rival, shared)
        if listed:
            tie = 1 - _wins(mass, STRICT).sum()
            tied[cell] = tie if tie > ROUNDING else 0.0
    return wins, tied, by_run


def _wins(mass: Floats, shared: Lots) -> Floats:
    """Return wins (system, ...), of masses of totals (system, ..., point)."""
    wins = np.zeros(mass.shape[:-1])
    for lot, weight in shared:
        above = _above(mass, lot)
        for system, mass_of_system in enumerate(mass):
            rivals = np.delete(above, system, axis=0).prod(axis=0)
            wins[system] += weight * (mass_of_system * rivals).sum(axis=-1)
    return wins


def _above(mass: Floats, lot: float) -> Floats:
    """Return the probability that a total is more than a point, and the lot's share of a tie."""
    return np.clip(1 - np.cumsum(mass, axis=-1) + lot * mass, 0.0, 1.0)


def _placements(mass: Floats, expectation: Expectation, rival: int, shared: Lots) -> Floats:
    """Return the probability of every system (system, run) to win, given a run of a rival."""
    by_run = []
    for system, mass_of_system in enumerate(mass):
        placement: Floats | float = 0.0
        for lot, weight in shared:
            chance = np.delete(_above(mass, lot), [system, rival], axis=0).prod(axis=0)
            if system != rival:
                winning = mass_of_system * chance
                chance = np.cumsum(winning) - (1 - lot) * winning
            placement = placement + weight * expectation(chance)
        by_run.append(placement)
    return np.array(by_run)


def _totals(
    samples: Sequence[tuple[Floats, Floats]], n_runs: int, shift: float
) -> tuple[Floats, list[Expectation], bool]:
    """Return the masses of totals (system, point), expectations, and whether totals are listed.

    Samples are runs and their weights; the total of the last system is moved by a shift.
    """
    values = np.concatenate([sample for sample, _ in samples])
    values = values[np.abs(values) < FAR]
    step = float(steps_of(values[None])[0])
    rounded_to = EXACT * float(np.ptp(values)) if values.size else 0.0
    unit = step if step > 0 else rounded_to or 1.0
    steps = shift / unit
    steps = round(steps) if abs(steps - round(steps)) < 1e-6 else steps
    lists = []
    for number, (sample, share) in enumerate(samples, start=1):
        endless = np.abs(sample) >= FAR
        in_steps = np.rint((sample - values.min(initial=np.inf)) / unit)
        sums = _listed(np.where(endless, np.copysign(np.inf, sample), in_steps), share, n_runs)
        if sums is None:
            return *_on_lattice(samples, n_runs, shift), False
        move = steps if number == len(samples) else 0.0
        lists.append((sums[0] + move, sums[1], sums[2] + move, sums[3]))
    points = np.unique(np.concatenate([totals for totals, *_ in lists]))
    positions = np.append(0, np.cumsum(np.diff(points) > (n_runs + 1) * rounded_to / unit))
    mass: list[Floats] = []
    expectations: list[Expectation] = []
    for totals, weights, by_run, remainder in lists:
        reached = positions[np.searchsorted(points, totals)]
        mass.append(np.asarray(np.bincount(reached, weights, positions[-1] + 1), float))
        by_position = positions[np.searchsorted(points, by_run)]
        expectations.append(partial(_expected, by_position, remainder))
    return np.array(mass), expectations, True


def _expected(positions: Integers, remainder: Floats, function: Floats) -> Floats:
    """Return means over the rest of a total, (run, rest) being the positions of totals."""
    return np.asarray(function[positions] @ remainder)


def _listed(
    values: Floats, weights: Floats, n_runs: int
) -> tuple[Floats, Floats, Floats, Floats] | None:
    """Return totals and their weights, totals of each run (run, rest), and the rests' weights.

    None where there are too many.
    """
    singles = _merged(values, weights)
    remainder = np.zeros(1), np.ones(1)
    for remaining in reversed(range(n_runs)):
        if len(remainder[0]) * len(singles[0]) > LISTED:
            return None
        total = _merged(
            np.add.outer(remainder[0], singles[0]), np.multiply.outer(remainder[1], singles[1])
        )
        remainder = total if remaining else remainder
    return *total, np.add.outer(values, remainder[0]), remainder[1]


def _merged(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return distinct values in ascending order, with the weights of those that tie added up."""
    distinct, inverse = np.unique(values, return_inverse=True)
    return distinct, np.asarray(np.bincount(inverse.ravel(), weights.ravel()), float)


def _on_lattice(
    samples: Sequence[tuple[Floats, Floats]], n_runs: int, shift: float
) -> tuple[Floats, list[Expectation]]:
    """Return the masses of totals on a lattice between two points at infinity, and expectations."""
    moves = np.zeros(len(samples))
    moves[-1] = shift / n_runs
    moved = [
        sample[np.abs(sample) < FAR] + move
        for (sample, _), move in zip(samples, moves, strict=True)
    ]
    values = np.concatenate(moved)
    edges, width = np.linspace(values.min(), values.max(), _steps(n_runs) + 1, retstep=True)
    mass = np.zeros((len(samples), n_runs * _steps(n_runs) + 3))
    expectations: list[Expectation] = []
    for row, (sample, weights), positions in zip(mass, samples, moved, strict=True):
        finite = np.abs(sample) < FAR
        shares = np.clip(1 - np.abs(positions[:, None] - edges) / width, 0.0, 1.0)
        singles = (weights[finite] @ shares)[None]
        row[1:-1], remainder = _total(singles, n_runs)[0], _total(singles, n_runs - 1)[0]
        end = -1 if (sample >= FAR).any() else 0
        row[end] = max(1 - row.sum(), 0.0) if not finite.all() else 0.0

        expectations.append(partial(_expected_on_lattice, finite, shares, remainder, end))
    return mass, expectations


def _expected_on_lattice(
    finite: Mask, shares: Floats, remainder: Floats, end: int, function: Floats
) -> Floats:
    """Return means over the rest of a total, of runs shared between points (finite run, point)."""
    answer = np.full(len(finite), function[end])
    by_point = np.correlate(function[1:-1], remainder, "valid")
    answer[finite] = shares @ by_point + max(1 - remainder.sum(), 0.0) * function[end]
    return answer


def _steps(runs: int) -> int:
    return min(STEPS, POINTS // runs)


def _total(masses: Floats, runs: int) -> Floats:
    """Return the masses of totals of runs of masses (row, point) on a lattice, in its steps."""
    points = runs * (masses.shape[-1] - 1) + 1
    size = 1 << (points - 1).bit_length()
    factor, exponent = np.fft.rfft(masses, size), runs
    power = np.ones_like(factor)
    while exponent:  # repeated squaring: a power of complex numbers takes ten times as long
        if exponent & 1:
            power = power * factor
        exponent >>= 1
        factor = factor * factor if exponent else factor
    return np.clip(np.fft.irfft(power, size)[:, :points], 0.0, None)


def less_of_mixtures(
    new: NormalMixture, old: NormalMixture, n_runs: int, shift: float, ties: float
) -> Floats:
    """Return P[S < T + shift] of the totals of so many runs of two normal mixtures, shape (...)."""
    totals = [_sum_of_runs(mixture, n_runs, COMPONENTS) for mixture in (new, old)]
    if totals[0] is not None and totals[1] is not None:
        return parametric.less(totals[0], totals[1], shift, ties)
    moved = old._replace(means=old.means + shift / n_runs)
    answer = _mixtures_on_lattice([new, moved], n_runs)[..., 0]
    return np.where(new.measured & old.measured, answer, np.nan)


def least_of_mixtures(mixtures: Sequence[NormalMixture], n_runs: int, ties: bool) -> Floats:
    """Return the probability of every normal mixture (..., component) to have the least total.

    Shape (..., system).
    """
    totals = [_sum_of_runs(mixture, n_runs, OF_MANY) for mixture in mixtures]
    normal = [
        Scaled(total, np.zeros(total.measured.shape, int)) for total in totals if total is not None
    ]
    if len(normal) == len(totals):
        return integrals.best(normal, ties)
    measured = np.stack(np.broadcast_arrays(*(mixture.measured for mixture in mixtures)), axis=-1)
    return np.where(measured, _mixtures_on_lattice(mixtures, n_runs), np.nan)


def _sum_of_runs(mixture: NormalMixture, n_runs: int, max_components: int) -> NormalMixture | None:
    """Return the mixture of a total: a component for every number of runs from each.

    None where there are too many.
    """
    if n_runs == 1:
        return mixture
    used = (mixture.weights > 0).any(axis=tuple(range(mixture.weights.ndim - 1)))
    number = int(used.sum())
    if not number:
        return mixture
    ways = comb(n_runs + number - 1, number - 1)
    if ways > max_components:
        return None
    weights, means, deviations = (column[..., used] for column in mixture.present())
    # How many of the runs come from each component: the gaps between bars among the runs.
    bars = np.array(list(combinations(range(n_runs + number - 1), number - 1)), int).reshape(
        ways, number - 1
    )
    times = np.diff(bars, prepend=-1, append=n_runs + number - 1, axis=-1) - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        log_powers = np.where(times > 0, times * np.log(weights)[..., None, :], 0.0).sum(axis=-1)
    chances = np.exp(gammaln(n_runs + 1) - gammaln(times + 1).sum(axis=-1) + log_powers)
    return NormalMixture(chances, means @ times.T, np.sqrt(deviations**2 @ times.T))


def _mixtures_on_lattice(mixtures: Sequence[NormalMixture], n_runs: int) -> Floats:
    """Return wins of totals of mixtures (..., component) on lattices (..., system)."""
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
    width = np.where(measured & (high > low), high - low, 1.0) / _steps(n_runs)
    low = np.where(measured, low, 0.0)
    shared, wins = lots(len(rows)), np.full((len(low), len(rows)), np.nan)
    step = max(1, BLOCK // (n_runs * _steps(n_runs)))
    for start in range(0, len(low), step):
        block = slice(start, start + step)
        edges = low[block, None] + width[block, None] * np.arange(-1, _steps(n_runs) + 2)
        mass = [_total(_masses(row.take(block), edges, width[block]), n_runs) for row in rows]
        wins[block] = _wins(np.stack(mass), shared).T
    return np.where(measured[:, None], wins, np.nan).reshape(*shape, len(rows))


def _masses(mixture: NormalMixture, edges: Floats, width: Floats) -> Floats:
    """Return the masses of mixtures (row, component) on lattices.

    They are second differences of E[(x - X)+], edges beside them included.
    """
    integral = np.zeros_like(edges)
    for weight, mean, deviation in zip(*(column.T[..., None] for column in mixture), strict=True):
        spread = np.where(deviation > 0, deviation, 1.0)
        score = (edges - mean) / spread
        smooth = spread * (score * ndtr(score) + np.exp(-0.5 * score**2) / np.sqrt(2 * np.pi))
        integral += weight * np.where(deviation > 0, smooth, np.maximum(edges - mean, 0.0))
    return np.asarray(np.clip(np.diff(integral, 2) / width[:, None], 0.0, None))
