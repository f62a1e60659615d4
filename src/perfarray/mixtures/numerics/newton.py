"""Newton's method for fits on which EM is slow.

Where components all but coincide, EM creeps, and its extrapolation, which sees one direction at a
time, hardly less: thousands of steps for some fits of a hundred. Second derivatives tell all
directions apart. Directions in which the likelihood bends upwards are climbed as well (Dauphin et
al., "Identifying and attacking the saddle point problem", 2014), so that the way never leads down
to a saddle.

Parameters are logarithms of weights, places and logarithms of spreads; places count in spreads of
their components.
"""

from typing import NamedTuple

import numpy as np

from perfarray.mixtures.numerics.laws import Law
from perfarray.mixtures.numerics.pool import FLOOR, GAIN, SETTLED, TINY, Theta
from perfarray.numerics.types import Floats

RADIUS = 0.25  # longest step

# Least curvature, as a share of the largest: less in a direction is rounding.
FLATTEST = 1e-10

# Least curvature, as such a share, of a maximum: where two components coincide there is less, and a
# maximum is not told from a saddle.
CURVED = 1e-8

MOST_CLIMBED = 500  # steps, rejected ones included

# Half the distance at which slopes are compared for second derivatives.
DELTA = 1e-5

# Weight, in values, below which a component is given up where the likelihood gains by that, and the
# share it is left with.
FAINT, GONE = 1e-6, 1e-100


class Climb(NamedTuple):
    """The end of a climb, and whether it is a maximum."""

    theta: Theta
    loglik: float
    n_steps: int
    converged: bool


class _View(NamedTuple):
    """The terms of a likelihood: shares (component, value), deviations (component, value), spreads (component, 1)."""

    loglik: float
    shares: Floats
    deviations: Floats
    spreads: Floats


def climb(
    values: Floats, weights: Floats, scale: float, law: Law, theta: Theta, equal: bool
) -> Climb:
    """Climb from parameters of shape (component,) to the maximum.

    `scale` is the divisor of the values.
    """
    view = _view(values, weights, scale, law, theta)
    basis = _basis(len(theta.weights), equal)
    n_steps = 1
    while n_steps < MOST_CLIMBED:
        faint = (theta.weights * weights.sum() < FAINT) & (theta.weights >= GONE)
        if faint.any():  # the maximum is at weight 0, which logarithms never reach
            shrunk = np.where(faint, GONE / 2, theta.weights)
            trial = theta._replace(weights=shrunk / shrunk.sum())
            trial_view = _view(values, weights, scale, law, trial)
            if trial_view.loglik >= view.loglik:
                theta, view = trial, trial_view
        slope, bend = (
            basis.T @ derivative for derivative in _derivatives(weights, law, theta, view)
        )
        curves, axes = np.linalg.eigh(bend @ basis)
        steep = np.maximum(np.abs(curves), FLATTEST * np.abs(curves).max())
        move = axes @ (axes.T @ slope / steep)
        length, peak = float(np.sqrt(move @ move)), curves[-1] <= -CURVED * steep.max()
        if peak and (length <= SETTLED or 0.5 * slope @ move <= GAIN):
            return Climb(theta, view.loglik, n_steps, True)
        reach = min(1.0, RADIUS / length)
        while reach * length > SETTLED:
            trial = _moved(theta, basis @ (reach * move))
            n_steps += 1
            if (trial.variances <= FLOOR).any() or (trial.weights < TINY).any():
                return Climb(trial, view.loglik, n_steps, False)
            trial_view = _view(values, weights, scale, law, trial)
            if trial_view.loglik >= view.loglik:
                break
            reach /= 4
        else:
            break
        theta, view = trial, trial_view
    return Climb(theta, view.loglik, n_steps, False)


def _basis(number: int, equal: bool) -> Floats:
    """Return what moves with each free parameter, shape (3 components, parameter): one spread moves those of all components."""
    identity = np.eye(3 * number)
    return (
        np.column_stack([identity[:, : 2 * number], identity[:, 2 * number :].sum(axis=1)])
        if equal
        else identity
    )


def _moved(theta: Theta, move: Floats) -> Theta:
    by_weight, by_place, by_spread = move.reshape(3, -1)
    weights = theta.weights * np.exp(by_weight)
    return Theta(
        weights / weights.sum(),
        theta.means + np.sqrt(theta.variances) * by_place,
        theta.variances * np.exp(2 * by_spread),
    )


def _view(values: Floats, weights: Floats, scale: float, law: Law, theta: Theta) -> _View:
    """Return the likelihood of parameters, and its terms."""
    spreads = scale * np.sqrt(theta.variances)[:, None]
    deviations = scale * (values - theta.means[:, None])
    terms = np.log(theta.weights)[:, None] + law.log_density(deviations, spreads)
    largest = terms.max(axis=0)
    joint = np.exp(terms - largest)
    density = joint.sum(axis=0)
    loglik = float(weights @ (np.log(density) + largest + np.log(scale)))
    return _View(loglik, joint / density, deviations, spreads)


def _derivatives(weights: Floats, law: Law, theta: Theta, view: _View) -> tuple[Floats, Floats]:
    """Return the first derivatives of the log-likelihood, shape (3 components,), and the second.

    A common factor of all weights changes nothing. It is fixed by leaving out of the second
    derivatives what would make them zero along it.
    """
    number, total = len(theta.weights), weights.sum()
    d, s = view.deviations, view.spreads

    def slopes(shift: float, log_width: float) -> Floats:
        """Return the slopes of log densities by place and by logarithm of the spread, at moved parameters."""
        moved = d - shift * s, s * np.exp(log_width)
        return np.stack([-s * law.score(*moved), law.widening(*moved)])

    by_place, by_spread = slopes(0.0, 0.0)
    each = np.stack([np.ones_like(d), by_place, by_spread])
    shared = each * view.shares
    counted = shared * weights
    first = counted.sum(axis=-1)
    first[0] -= total * theta.weights
    within = np.einsum("akn,bkn->abk", counted, each)
    within[0, 0] -= total * theta.weights
    for row, move in enumerate(((DELTA, 0.0), (0.0, DELTA)), start=1):
        bends = (slopes(*move) - slopes(-move[0], -move[1])) / (2 * DELTA)
        within[row, 1:] += np.einsum("kn,bkn->bk", counted[0], bends)
    rows = 3 * number
    second = -(counted.reshape(rows, -1) @ shared.reshape(rows, -1).T).reshape(3, number, 3, number)
    diagonal = np.arange(number)
    second[:, diagonal, :, diagonal] += within.transpose(2, 0, 1)
    gone = np.flatnonzero(theta.weights < GONE)
    second[:, gone, :, gone] -= total * np.eye(
        3
    )  # fixes the parameters of components without weight
    return first.ravel(), second.reshape(rows, rows)
