"""The end of long ways to the maximum: Newton's method, which ridges and flat places do not slow down.

Where components all but coincide, EM creeps, and its extrapolation, which sees one direction at a time, hardly less: thousands of steps for
some fits of a hundred. The second derivatives tell all directions apart. Those in which the likelihood bends upwards are climbed as well
(Dauphin et al., "Identifying and attacking the saddle point problem", 2014), so that the way never leads down to a saddle.

Parameters are logarithms of weights, places and logarithms of spreads; places count in spreads of their components.
"""

from typing import NamedTuple

import numpy as np

from perfarray.mixtures.numerics.laws import Law
from perfarray.mixtures.numerics.pool import Theta
from perfarray.mixtures.numerics.stops import FLOOR, GAIN, SETTLED, TINY
from perfarray.numerics.types import Floats

RADIUS = 0.25
"""Longest step."""

FLATTEST = 1e-10
"""Least curvature, as a share of the largest: a direction in which there is less is flat by rounding."""

CURVED = 1e-8
"""Least curvature, as such a share, of a maximum: where two components coincide, there is less, and whether it is one remains unknown."""

MOST_CLIMBED = 500
"""Most steps, those that were tried and taken back included."""

ASIDE = 1e-5
"""How far apart slopes are compared for second derivatives, half the way."""


FAINT, GONE = 1e-6, 1e-100
"""Weight, in values, below which a component is given up where the likelihood gains by that, and what its share is less than then."""


class Sample(NamedTuple):
    """Values, what each counts, what they were divided by, and the law of the components."""

    values: Floats
    weights: Floats
    scale: float
    law: Law


class Climbed(NamedTuple):
    """Where a way ends: parameters, their log-likelihood, how many steps it took, and whether that is a maximum."""

    theta: Theta
    loglik: float
    n_steps: int
    converged: bool


class _View(NamedTuple):
    """What the likelihood is made of: deviations, shape (component, value), spreads (component, 1), the share of each in each value."""

    loglik: float
    shares: Floats
    deviations: Floats
    spreads: Floats


def climbed(sample: Sample, theta: Theta, equal: bool) -> Climbed:
    """Climb from parameters of shape (component,) to the maximum."""
    here = _view(sample, theta)
    free = _free(len(theta.weights), equal)
    n_steps = 1
    while n_steps < MOST_CLIMBED:
        theta, here = _without_faint(sample, theta, here)
        slope, bend = (free.T @ part for part in _derivatives(sample, theta, here))
        curves, axes = np.linalg.eigh(bend @ free)
        steep = np.maximum(np.abs(curves), FLATTEST * np.abs(curves).max())
        move = axes @ (axes.T @ slope / steep)
        length, peak = float(np.sqrt(move @ move)), curves[-1] <= -CURVED * steep.max()
        if peak and (length <= SETTLED or 0.5 * slope @ move <= GAIN):
            return Climbed(theta, here.loglik, n_steps, True)
        reach = min(1.0, RADIUS / length)
        while reach * length > SETTLED:
            there = _moved(theta, free @ (reach * move))
            n_steps += 1
            if (there.variances <= FLOOR).any() or (there.weights < TINY).any():
                return Climbed(there, here.loglik, n_steps, False)
            view = _view(sample, there)
            if view.loglik >= here.loglik:
                break
            reach /= 4
        else:
            break
        theta, here = there, view
    return Climbed(theta, here.loglik, n_steps, False)


def _without_faint(sample: Sample, theta: Theta, here: _View) -> tuple[Theta, _View]:
    """Give up components whose weight has all but vanished: the maximum is at none, and logarithms of weights never get there."""
    faint = (theta.weights * sample.weights.sum() < FAINT) & (theta.weights >= GONE)
    if not faint.any():
        return theta, here
    weights = np.where(faint, GONE / 2, theta.weights)
    there = theta._replace(weights=weights / weights.sum())
    view = _view(sample, there)
    return (there, view) if view.loglik >= here.loglik else (theta, here)


def _free(number: int, equal: bool) -> Floats:
    """Return what moves with each parameter, shape (3 components, parameter): one spread moves those of all components."""
    every = np.eye(3 * number)
    return np.column_stack([every[:, : 2 * number], every[:, 2 * number :].sum(axis=1)]) if equal else every


def _moved(theta: Theta, move: Floats) -> Theta:
    """Return parameters some way further."""
    by_weight, by_place, by_spread = move.reshape(3, -1)
    weights = theta.weights * np.exp(by_weight)
    return Theta(weights / weights.sum(), theta.means + np.sqrt(theta.variances) * by_place, theta.variances * np.exp(2 * by_spread))


def _view(sample: Sample, theta: Theta) -> _View:
    """Return the likelihood of parameters, and what it is made of."""
    spreads = sample.scale * np.sqrt(theta.variances)[:, None]
    deviations = sample.scale * (sample.values - theta.means[:, None])
    terms = np.log(theta.weights)[:, None] + sample.law.log_density(deviations, spreads)
    largest = terms.max(axis=0)
    joint = np.exp(terms - largest)
    density = joint.sum(axis=0)
    loglik = float(sample.weights @ (np.log(density) + largest + np.log(sample.scale)))
    return _View(loglik, joint / density, deviations, spreads)


def _derivatives(sample: Sample, theta: Theta, here: _View) -> tuple[Floats, Floats]:
    """Return the first derivatives of the log-likelihood, shape (3 components,), and the second.

    A factor common to all weights changes nothing. It is held by leaving out of the second derivatives what would make them zero along it.
    """
    number, total = len(theta.weights), sample.weights.sum()
    d, s = here.deviations, here.spreads

    def slopes(further: float, wider: float) -> Floats:
        """Return the slopes of log densities by place and by logarithm of the spread, from other ones."""
        other = d - further * s, s * np.exp(wider)
        return np.stack([-s * sample.law.score(*other), sample.law.widening(*other)])

    by_place, by_spread = slopes(0.0, 0.0)
    each = np.stack([np.ones_like(d), by_place, by_spread])
    shared = each * here.shares
    counted = shared * sample.weights
    first = counted.sum(axis=-1)
    first[0] -= total * theta.weights
    within = np.einsum("akn,bkn->abk", counted, each)
    within[0, 0] -= total * theta.weights
    for part, move in enumerate(((ASIDE, 0.0), (0.0, ASIDE)), start=1):
        bends = (slopes(*move) - slopes(-move[0], -move[1])) / (2 * ASIDE)
        within[part, 1:] += np.einsum("kn,bkn->bk", counted[0], bends)
    rows = 3 * number
    second = -(counted.reshape(rows, -1) @ shared.reshape(rows, -1).T).reshape(3, number, 3, number)
    own = np.arange(number)
    second[:, own, :, own] += within.transpose(2, 0, 1)
    gone = np.flatnonzero(theta.weights < GONE)
    second[:, gone, :, gone] -= total * np.eye(3)  # held: nothing else would
    return first.ravel(), second.reshape(rows, rows)
