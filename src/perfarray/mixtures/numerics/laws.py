"""The laws that components of a mixture have on their scale: a place and a spread each, as functions of the deviation from the place.

With the scale on which they are fitted they make the families (`scale.FAMILIES`): logarithms of Weibull values, say, follow Gumbel's law.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammainc, gammaincinv, gammaln, ndtr, ndtri, zeta

from perfarray.numerics.types import Floats

LOG_ROOT_2PI = float(0.5 * np.log(2 * np.pi))

STEEP = 1e3
"""Shapes of a gamma law from which on series are more exact than differences of its functions."""

FARTHEST = 1e3
"""How far from its place, in logarithms, a component has its mode that has it at 0."""


class Law(NamedTuple):
    """What a law says of a deviation d from its place, its spread s being positive.

    Parameters
    ----------
    log_density, reached : callable
        (d, s): logarithm of the density, and probability up to d.
    quantile : callable
        (probability, s): the deviation up to which the probability is reached.
    score, widening : callable
        (d, s): slope of the log density by d, and by log s.
    mode : callable
        (s, tilt): where log density + tilt d has its maximum.
    draw : callable
        (generator, s): deviations of the shape of s.
    """

    log_density: Callable[[Floats, Floats], Floats]
    reached: Callable[[Floats, Floats], Floats]
    quantile: Callable[[Floats, Floats], Floats]
    score: Callable[[Floats, Floats], Floats]
    widening: Callable[[Floats, Floats], Floats]
    mode: Callable[[Floats, int], Floats]
    draw: Callable[[np.random.Generator, Floats], Floats]


NORMAL = Law(
    log_density=lambda d, s: -0.5 * (d / s) ** 2 - np.log(s) - LOG_ROOT_2PI,
    reached=lambda d, s: ndtr(d / s),
    quantile=lambda p, s: s * ndtri(p),
    score=lambda d, s: -(d / s) / s,
    widening=lambda d, s: (d / s) ** 2 - 1,
    mode=lambda s, tilt: tilt * s**2 if tilt else 0.0 * s,
    draw=lambda generator, s: s * generator.standard_normal(np.shape(s)),
)


def _gumbel_density(d: Floats, s: Floats) -> Floats:
    """Return log density of the law of the largest of many."""
    with np.errstate(over="ignore"):
        return np.asarray(-d / s - np.exp(-d / s) - np.log(s))


def _gumbel_reached(d: Floats, s: Floats) -> Floats:
    """Return the probability up to d."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-np.exp(-d / s)))


def _gumbel_mode(s: Floats, tilt: int) -> Floats:
    """Return the maximum; beyond any bound where the tilt is steeper than the law falls."""
    inside = tilt * s < 1
    return np.where(inside, -s * np.log1p(np.where(inside, -tilt * s, 0.0)), FARTHEST)


def _gumbel_quantile(p: Floats, s: Floats) -> Floats:
    """Return the deviation reached with a probability."""
    with np.errstate(divide="ignore"):
        return np.asarray(-s * np.log(-np.log(p)))


GUMBEL = Law(
    log_density=_gumbel_density,
    reached=_gumbel_reached,
    quantile=_gumbel_quantile,
    score=lambda d, s: np.expm1(np.minimum(-d / s, 300)) / s,
    widening=lambda d, s: -d / s * np.expm1(np.minimum(-d / s, 300)) - 1,
    mode=_gumbel_mode,
    draw=lambda generator, s: -s * np.log(generator.standard_exponential(np.shape(s))),
)


def gamma_constant(shape: Floats) -> Floats:
    """Return a log a - a - log Gamma(a)."""
    small = np.minimum(shape, STEEP)
    exact = small * np.log(small) - small - gammaln(small)
    series = 0.5 * np.log(shape) - LOG_ROOT_2PI - 1 / (12 * shape) + 1 / (360 * shape**3)
    return np.where(shape < STEEP, exact, series)


def gamma_shape(gap: Floats) -> Floats:
    """Return the shape a with log a - digamma(a) = gap: where log of the mean and mean of the logs lie that far apart."""
    shape = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)  # within 1.5 % (Minka 2002), whose steps follow
    for _ in range(4):
        near = np.minimum(shape, STEEP)
        slope = np.where(shape < STEEP, near - near**2 * zeta(2, near), -0.5 - 1 / (6 * shape))
        shape = 1 / (1 / shape + (_gap(shape) - gap) / slope)
    return shape


def _gap(shape: Floats) -> Floats:
    """Return log a - digamma(a)."""
    near = np.minimum(shape, STEEP)
    flat = (0.5 + (1 / 12 - 1 / (120 * shape**2)) / shape) / shape
    return np.where(shape < STEEP, np.log(near) - digamma(near), flat)


def _log_gamma_density(d: Floats, s: Floats) -> Floats:
    """Return log density of the logarithm of a gamma value over the mean."""
    shape = s**-2.0
    with np.errstate(over="ignore"):
        return np.asarray(gamma_constant(shape) - shape * (np.expm1(d) - d))


def _log_gamma_reached(d: Floats, s: Floats) -> Floats:
    """Return the probability up to d."""
    shape = s**-2.0
    with np.errstate(over="ignore"):
        return np.asarray(gammainc(shape, shape * np.exp(d)))


def _log_gamma_quantile(p: Floats, s: Floats) -> Floats:
    """Return the deviation reached with a probability."""
    shape = s**-2.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(gammaincinv(shape, p) / shape))


def _log_gamma_mode(s: Floats, tilt: int) -> Floats:
    """Return the maximum; below any bound where the tilt is steeper than the law rises."""
    inside = -tilt * s**2 < 1
    return np.where(inside, np.log1p(np.where(inside, tilt * s**2, 0.0)), -FARTHEST)


def _log_gamma_draw(generator: np.random.Generator, s: Floats) -> Floats:
    """Draw logarithms of gamma values over their mean."""
    shape = s**-2.0
    return np.log(np.maximum(generator.standard_gamma(shape), np.finfo(float).tiny) / shape)


LOG_GAMMA = Law(
    log_density=_log_gamma_density,
    reached=_log_gamma_reached,
    quantile=_log_gamma_quantile,
    score=lambda d, s: -np.expm1(np.minimum(d, 300)) / s**2,
    widening=lambda d, s: 2 * (np.expm1(np.minimum(d, 300)) - d - _gap(s**-2.0)) / s**2,
    mode=_log_gamma_mode,
    draw=_log_gamma_draw,
)

EDGED = Law(
    log_density=lambda d, s: np.where(d < 0, -np.inf, -d / s - np.log(s)),
    reached=lambda d, s: -np.expm1(-np.maximum(d, 0.0) / s),
    quantile=lambda p, s: -s * np.log1p(-p),
    score=lambda d, s: -1 / s + 0 * d,
    widening=lambda d, s: d / s - 1,
    mode=lambda s, _tilt: 0.0 * s,
    draw=lambda generator, s: s * generator.standard_exponential(np.shape(s)),
)
"""An edge at the place, and beyond it an exponential fall."""
