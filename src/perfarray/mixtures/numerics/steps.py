"""What EM does that depends on the law of the components: densities, weighted maximum likelihood, the parameters of classes.

Parameters are those of `laws`, a place and the square of a spread, in standard deviations of the sample. Every function writes to the room
of a pool, deviations from the places first: what a step leaves there the next writes over.
"""

from functools import partial

import numpy as np

from perfarray.mixtures.numerics.laws import GUMBEL, LOG_GAMMA, NORMAL, gamma_constant, gamma_shape
from perfarray.mixtures.numerics.pool import Pool, Rows, Samples, Steps, Theta
from perfarray.mixtures.numerics.start import edged_classes
from perfarray.mixtures.numerics.stops import LOG_2PI
from perfarray.numerics.types import Floats, Integers

EULER = float(np.euler_gamma)

GUMBEL_VARIANCE = float(np.pi**2 / 6)
"""Variance of Gumbel's law with spread 1."""

LARGEST = 100.0
"""Largest exponent of a value that lies where its law has no density to speak of."""


def _squares(pool: Pool, _theta: Theta) -> None:
    """Fill in squared deviations, with the variance inside what each value stands for."""
    deviations, squares = pool.room[:2]
    np.multiply(deviations, deviations, out=squares)
    if pool.grouped:
        for fits, rows, number in pool.blocks:
            own = squares[rows].reshape(-1, number, squares.shape[-1])
            np.add(own, pool.inside[fits, None], out=own)


def _normal_exponents(pool: Pool, theta: Theta, rows: Rows | slice, out: Floats | None = None) -> Floats:
    """Return log densities up to the offset."""
    return np.multiply(pool.room[1][rows], (-0.5 / theta.variances)[rows, None], out=out)


def _normal_offset(_pool: Pool, theta: Theta) -> Floats:
    """Return what log densities have beside their exponents."""
    return np.asarray(-0.5 * np.log(theta.variances))


def _normal_maximised(pool: Pool, theta: Theta, shares: Floats) -> tuple[Floats, Floats]:
    """Return means and variances; sums are about the present means, so that no digits cancel however narrow a component is."""
    deviations, squares, joint, _ = pool.room
    safe = np.where(shares > 0, shares, 1.0)
    shift = np.einsum("cn,cn->c", joint, deviations) / safe
    spread = np.einsum("cn,cn->c", joint, squares) - safe * shift**2
    return theta.means + shift, pool.shared(spread, safe)


def _normal_start(_samples: Samples, _starts: Integers, theta: Theta, _equal: bool) -> Theta:
    """Return the parameters of classes: for one component they are the most likely ones."""
    return theta


NORMAL_STEPS = Steps(
    _squares, _normal_exponents, _normal_offset, _normal_maximised, _normal_start, constant=-0.5 * LOG_2PI, closed=True, law=NORMAL
)


def _falls(deviations: Floats, spread: Floats, out: Floats | None = None) -> Floats:
    """Return exp(-d / s)."""
    found = np.multiply(deviations, (-1 / spread)[:, None], out=out)
    np.minimum(found, LARGEST, out=found)
    return np.exp(found, out=found)


def _gumbel_prepared(pool: Pool, theta: Theta) -> None:
    """Fill in exp(-d / s)."""
    _falls(pool.room[0], np.sqrt(theta.variances), pool.room[1])


def _gumbel_exponents(pool: Pool, theta: Theta, rows: Rows | slice, out: Floats | None = None) -> Floats:
    """Return log densities up to the offset."""
    found = np.multiply(pool.room[0][rows], (-1 / np.sqrt(theta.variances))[rows, None], out=out)
    return np.subtract(found, pool.room[1][rows], out=found)


def _gumbel_maximised(pool: Pool, theta: Theta, shares: Floats, *, fixed: bool) -> tuple[Floats, Floats]:
    """Return places, the most likely ones given the spreads, and spreads: one step of Newton's, in 1 / s, from the present ones.

    With the most likely place put in, the log-likelihood is concave in 1 / s.
    """
    deviations, falls, joint, _ = pool.room
    safe, spread = np.where(shares > 0, shares, 1.0), np.sqrt(theta.variances)
    if not fixed:
        mean = np.einsum("cn,cn->c", joint, deviations) / safe
        np.multiply(joint, falls, out=falls)
        heavy = falls.sum(axis=-1)
        heavy = np.where(heavy > 0, heavy, 1.0)
        first = np.einsum("cn,cn->c", falls, deviations) / heavy
        second = np.einsum("cn,cn,cn->c", falls, deviations, deviations) / heavy - first**2
        slope, bend = (pool.pooled(shares * part) for part in (spread - mean + first, theta.variances + second))
        step = np.clip(slope / np.where(bend > 0, bend, 1.0) * spread, -0.5, 1.0)
        spread = spread / (1 + step)
        _falls(deviations, spread, falls)
    heavy = np.einsum("cn,cn->c", joint, falls) / safe
    moved = np.log(np.where((heavy > 0) & (shares > 0), heavy, 1.0))
    return theta.means - spread * moved, spread**2


def _gumbel_start(samples: Samples, _starts: Integers, theta: Theta, _equal: bool, *, fixed: bool) -> Theta:
    """Return the parameters that have the moments of classes."""
    variances = np.broadcast_to(samples.scale[:, None] ** -2.0, theta.means.shape) if fixed else theta.variances / GUMBEL_VARIANCE
    return Theta(theta.weights, theta.means - EULER * np.sqrt(variances), variances)


GUMBEL_STEPS = Steps(
    _gumbel_prepared, _gumbel_exponents, _normal_offset, partial(_gumbel_maximised, fixed=False), partial(_gumbel_start, fixed=False),
    law=GUMBEL,
)  # fmt: skip

EXPONENTIAL_STEPS = Steps(
    _gumbel_prepared,
    _gumbel_exponents,
    _normal_offset,
    partial(_gumbel_maximised, fixed=True),
    partial(_gumbel_start, fixed=True),
    spreads=0,
)
"""Gumbel's law with spread 1, before standardising: minus the logarithms of exponential values."""


def _gamma_prepared(pool: Pool, _theta: Theta) -> None:
    """Fill in exp(d) - 1 - d, d being before standardising."""
    found = np.multiply(pool.room[0], pool.scale[:, None], out=pool.room[1])
    np.minimum(found, LARGEST, out=found)
    np.subtract(np.expm1(found), found, out=found)


def _shape(pool: Pool, theta: Theta) -> Floats:
    """Return the shapes."""
    return np.asarray(1 / (theta.variances * pool.scale**2))


def _gamma_exponents(pool: Pool, theta: Theta, rows: Rows | slice, out: Floats | None = None) -> Floats:
    """Return log densities up to the offset."""
    return np.multiply(pool.room[1][rows], -_shape(pool, theta)[rows, None], out=out)


def _gamma_offset(pool: Pool, theta: Theta) -> Floats:
    """Return what log densities have beside their exponents."""
    return np.asarray(gamma_constant(_shape(pool, theta)) + np.log(pool.scale))


def _gamma_maximised(pool: Pool, theta: Theta, shares: Floats) -> tuple[Floats, Floats]:
    """Return logarithms of means, and spreads of which the shape is such that log of the mean and mean log are as far apart as they are."""
    deviations, beyond, joint, _ = pool.room
    safe = np.where(shares > 0, shares, 1.0)
    mean = pool.scale * np.einsum("cn,cn->c", joint, deviations) / safe
    shift = np.log1p(np.maximum(np.einsum("cn,cn->c", joint, beyond) / safe + mean, -0.999))
    gap = pool.shared(shares * (shift - mean), safe)
    shape = gamma_shape(np.maximum(gap, np.finfo(float).tiny ** 0.25))
    return theta.means + shift / pool.scale, 1 / (shape * pool.scale**2)


def _gamma_start(samples: Samples, _starts: Integers, theta: Theta, _equal: bool) -> Theta:
    """Return about the parameters that have the moments of classes."""
    return theta._replace(means=theta.means + 0.5 * theta.variances * samples.scale[:, None])


GAMMA_STEPS = Steps(_gamma_prepared, _gamma_exponents, _gamma_offset, _gamma_maximised, _gamma_start, law=LOG_GAMMA)


def _edged_prepared(pool: Pool, _theta: Theta) -> None:
    """Fill in deviations, infinite before the edge."""
    np.copyto(pool.room[1], pool.room[0])
    pool.room[1][pool.room[0] < 0] = np.inf


def _edged_exponents(pool: Pool, theta: Theta, rows: Rows | slice, out: Floats | None = None) -> Floats:
    """Return log densities up to the offset."""
    return np.multiply(pool.room[1][rows], (-1 / np.sqrt(theta.variances))[rows, None], out=out)


def _edged_maximised(pool: Pool, theta: Theta, shares: Floats) -> tuple[Floats, Floats]:
    """Return edges, which stay where they are, and spreads."""
    mean = np.einsum("cn,cn->c", pool.room[2], pool.room[0])
    return theta.means, pool.shared(mean, np.where(shares > 0, shares, 1.0)) ** 2


def _edged_start(samples: Samples, starts: Integers, theta: Theta, equal: bool) -> Theta:
    """Return the edges of classes, at their least values, and spreads."""
    edges = np.take_along_axis(samples.values, starts[:, :-1], axis=-1)
    beyond = theta.means - edges
    spread = np.broadcast_to((theta.weights * beyond).sum(axis=-1, keepdims=True), beyond.shape) if equal else beyond
    return theta._replace(means=edges, variances=spread**2)


EDGED_STEPS = Steps(
    _edged_prepared, _edged_exponents, _normal_offset, _edged_maximised, _edged_start,
    classes=lambda samples, number: edged_classes(samples.raw, samples.weights, samples.n, number), edges=1,
)  # fmt: skip
