"""The laws of components: functions of the deviation from a place, with a spread.

Law and scale make a family (`scale.FAMILIES`): minus the logarithms of Weibull values, say, follow
Gumbel's law.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammainc, gammaincinv, gammaln, ndtr, ndtri, zeta

from perfarray.numerics.types import Floats

LOG_ROOT_2PI = float(0.5 * np.log(2 * np.pi))

# Shapes of a gamma law from which on series are more exact than differences of its functions.
STEEP = 1e3

# Distance from its place, in logarithms, of the mode of a component that has it at 0.
FARTHEST = 1e3

# Largest exponent in slopes.
STEEPEST = 300


class Law(NamedTuple):
    """A law of the deviation d from a place, with a positive spread s."""

    log_density: Callable[[Floats, Floats], Floats]  # (d, s)
    cdf: Callable[[Floats, Floats], Floats]  # (d, s)
    quantile: Callable[[Floats, Floats], Floats]  # (probability, s)
    score: Callable[[Floats, Floats], Floats]  # (d, s): slope of the log density by d
    mode: Callable[[Floats, int], Floats]  # (s, tilt): the maximum of log density + tilt d
    draw: Callable[
        [np.random.Generator, Floats], Floats
    ]  # (generator, s): deviations of the shape of s


# Overflow and logarithms of 0 give the limits of the functions.
quiet = np.errstate(over="ignore", divide="ignore")

NORMAL = Law(
    log_density=lambda d, s: -0.5 * (d / s) ** 2 - np.log(s) - LOG_ROOT_2PI,
    cdf=lambda d, s: ndtr(d / s),
    quantile=lambda p, s: s * ndtri(p),
    score=lambda d, s: -(d / s) / s,
    mode=lambda s, tilt: tilt * s**2 if tilt else 0.0 * s,
    draw=lambda generator, s: s * generator.standard_normal(np.shape(s)),
)


def _gumbel_mode(s: Floats, tilt: int) -> Floats:
    """Return the maximum; beyond any bound where the tilt is steeper than the law falls."""
    bounded = tilt * s < 1
    return np.where(bounded, -s * np.log1p(np.where(bounded, -tilt * s, 0.0)), FARTHEST)


# The law of the largest of many.
GUMBEL = Law(
    log_density=quiet(lambda d, s: -d / s - np.exp(-d / s) - np.log(s)),
    cdf=quiet(lambda d, s: np.exp(-np.exp(-d / s))),
    quantile=quiet(lambda p, s: -s * np.log(-np.log(p))),
    score=lambda d, s: np.expm1(np.minimum(-d / s, STEEPEST)) / s,
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
    """Return the shape a with log a - digamma(a) = gap: log of the mean less the mean log."""
    shape = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (
        12 * gap
    )  # within 1.5 % (Minka 2002), whose steps follow
    for _ in range(4):
        small = np.minimum(shape, STEEP)
        slope = np.where(shape < STEEP, small - small**2 * zeta(2, small), -0.5 - 1 / (6 * shape))
        shape = 1 / (1 / shape + (_gap(shape) - gap) / slope)
    return shape


def _gap(shape: Floats) -> Floats:  # log a - digamma(a)
    small = np.minimum(shape, STEEP)
    series = (0.5 + (1 / 12 - 1 / (120 * shape**2)) / shape) / shape
    return np.where(shape < STEEP, np.log(small) - digamma(small), series)


def _log_gamma_mode(s: Floats, tilt: int) -> Floats:
    """Return the maximum; below any bound where the tilt is steeper than the law rises."""
    bounded = -tilt * s**2 < 1
    return np.where(bounded, np.log1p(np.where(bounded, tilt * s**2, 0.0)), -FARTHEST)


def _log_gamma_draw(generator: np.random.Generator, s: Floats) -> Floats:
    shape = s**-2.0
    return np.log(np.maximum(generator.standard_gamma(shape), np.finfo(float).tiny) / shape)


# The law of the logarithm of a gamma value over its mean; the shape is s^-2.
LOG_GAMMA = Law(
    log_density=quiet(lambda d, s: gamma_constant(s**-2.0) - s**-2.0 * (np.expm1(d) - d)),
    cdf=quiet(lambda d, s: gammainc(s**-2.0, s**-2.0 * np.exp(d))),
    quantile=quiet(lambda p, s: np.log(gammaincinv(s**-2.0, p) / s**-2.0)),
    score=lambda d, s: -np.expm1(np.minimum(d, STEEPEST)) / s**2,
    mode=_log_gamma_mode,
    draw=_log_gamma_draw,
)

# The law of an edge at the place, and an exponential fall beyond it.
EDGED = Law(
    log_density=lambda d, s: np.where(d < 0, -np.inf, -d / s - np.log(s)),
    cdf=lambda d, s: -np.expm1(-np.maximum(d, 0.0) / s),
    quantile=quiet(lambda p, s: -s * np.log1p(-p)),
    score=lambda d, s: -1 / s + 0 * d,
    mode=lambda s, tilt: 0.0 * s,  # noqa: ARG005
    draw=lambda generator, s: s * generator.standard_exponential(np.shape(s)),
)
