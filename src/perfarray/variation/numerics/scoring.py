"""Maximising the likelihood of nested repetitions over components that are zero or positive, many cells in step."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.variation.numerics.likelihood import Likelihood, Statistics, evaluate

NEAR = 0.1
"""Newton's method is used where Fisher scoring expects to gain less than this in -2 log likelihood; further off it may be misled."""

TOLERANCE = 1e-9
"""A step that promises to gain less than this in -2 log likelihood is the last."""

MOST_STEPS = 200


class Maximum(NamedTuple):
    """Where the likelihood is largest, per cell: the components (lowest level first, units of scale^2), and what it is like there."""

    variance: Floats
    likelihood: Likelihood
    converged: Mask


def maximise(data: Statistics, start: Floats, restricted: bool, held: Integers | None = None) -> Maximum:
    """Maximise over the components from `start` (cells, L); one of them in each cell, `held`, may stay where it is."""
    variance = start.copy()
    held = np.full(len(start), -1) if held is None else held
    found = evaluate(data, variance, restricted)
    whole = Likelihood(*(np.array(part) for part in found))
    converged = np.zeros(len(variance), dtype=bool)
    active, here, part = np.arange(len(variance)), variance, data
    step, promise, last = _step(found, here, held)
    shrink = np.ones(len(here))
    for _ in range(MOST_STEPS):
        trial = _move(here, shrink[:, None] * step)
        there = evaluate(part, trial, restricted)
        slack = 1e-11 * (1 + np.abs(found.value))
        with np.errstate(invalid="ignore"):
            better = there.value <= found.value - 1e-4 * shrink * promise + slack
        stuck = ~better & (shrink < 1e-12)
        done = (better & last) | stuck
        here = np.where(better[:, None], trial, here)
        found = _choose(better, there, found)
        if done.any():
            finished = active[done]
            variance[finished], converged[finished] = here[done], better[done]
            _assign(whole, finished, _take(found, done))
            part, here, found, active = part.take(np.flatnonzero(~done)), here[~done], _take(found, ~done), active[~done]
            step, promise, last = step[~done], promise[~done], last[~done]
            better, shrink, held = better[~done], shrink[~done], held[~done]
            if not len(active):
                break
        fresh = _step(found, here, held)
        step = np.where(better[:, None], fresh[0], step)
        promise, last = np.where(better, fresh[1], promise), np.where(better, fresh[2], last)
        shrink = np.where(better, 1.0, shrink / 4)
    else:
        variance[active] = here
        _assign(whole, active, found)
    return Maximum(variance, whole, converged)


def _step(found: Likelihood, here: Floats, held: Integers) -> tuple[Floats, Floats, Mask]:
    """Return a step per cell, what it promises to gain in -2 log likelihood, and whether it is the last."""
    free = (here > 0) | (found.gradient < 0)
    free &= held[:, None] != np.arange(free.shape[1])
    step, gain = _solve(found.expected, found.gradient, free)
    outward = (here <= 0) & (step < 0) & free
    if outward.any():
        step, gain = _solve(found.expected, found.gradient, free & ~outward)
    newton, newton_gain = _solve(found.observed, found.gradient, free & ~outward)
    good = (gain < NEAR) & (newton_gain > 0) & ~((here <= 0) & (newton < 0)).any(axis=1) & (newton_gain < 4 * gain)
    step, gain = np.where(good[:, None], newton, step), np.where(good, newton_gain, gain)
    return step, gain, (gain < TOLERANCE) & ~outward.any(axis=1)


def _solve(matrix: Floats, gradient: Floats, free: Mask) -> tuple[Floats, Floats]:
    """Return the step that solves matrix step = -gradient over the free components, and its promised gain; nothing else moves."""
    both = free[:, :, None] & free[:, None, :]
    identity = np.eye(matrix.shape[-1])
    system = np.where(both, matrix, identity)
    right = np.where(free, -gradient, 0.0)
    step = solve(system, right)
    return step, np.asarray((right * step).sum(axis=1))


def solve(system: Floats, right: Floats) -> Floats:
    """Solve systems (cells, L, L) for right sides (cells, L), scaled by their diagonals; a singular one gives NaN."""
    diagonal = np.sqrt(np.abs(np.diagonal(system, axis1=1, axis2=2)))
    diagonal = np.where(diagonal > 0, diagonal, 1.0)
    scaled = system / (diagonal[:, :, None] * diagonal[:, None, :])
    try:
        found = np.linalg.solve(scaled, (right / diagonal)[..., None])[..., 0]
    except np.linalg.LinAlgError:
        found = np.matmul(np.linalg.pinv(scaled), (right / diagonal)[..., None])[..., 0]
    return found / diagonal


def _move(here: Floats, step: Floats) -> Floats:
    """Go along a step, no further than zero; the lowest level stays positive."""
    there = np.maximum(here + step, 0.0)
    there[:, 0] = np.maximum(there[:, 0], here[:, 0] / 10)
    return there


def _choose(first: Mask, one: Likelihood, other: Likelihood) -> Likelihood:
    """Take one or the other, cell by cell."""
    if first.all():
        return one
    return Likelihood(*(np.where(first.reshape((-1,) + (1,) * (a.ndim - 1)), a, b) for a, b in zip(one, other, strict=True)))


def _take(found: Likelihood, cells: Mask) -> Likelihood:
    """Return the likelihood of some of the cells."""
    return Likelihood(*(part[cells] for part in found))


def _assign(whole: Likelihood, cells: Integers, found: Likelihood) -> None:
    """Write the likelihood of some of the cells."""
    for into, part in zip(whole, found, strict=True):
        into[cells] = part
