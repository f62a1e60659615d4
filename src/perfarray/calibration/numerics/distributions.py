"""Distributions of the effects of a level, with mean 0 and variance 1, and autocorrelated effects."""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from perfarray.numerics.types import Floats

Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]


def _lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Lognormal with sigma 1, standardised: skewness 6.2."""
    return np.asarray((rng.lognormal(0.0, 1.0, shape) - np.exp(0.5)) / np.sqrt(np.expm1(1.0) * np.exp(1.0)))


def _bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Two narrow modes, the slower one in a fifth of the draws: standardised."""
    slow = rng.random(shape) < 0.2
    return np.asarray((5.0 * slow + rng.normal(size=shape) - 1.0) / np.sqrt(25 * 0.16 + 1.0))


DISTRIBUTIONS: Final[Mapping[str, Draw]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),  # half the time of rng.normal, which adds a mean to the same numbers
    "lognormal": _lognormal,
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1.0,
    "bimodal": _bimodal,
}


def autocorrelated(effects: Floats, correlation: float) -> Floats:
    """Return independent effects (..., n) of variance 1 as a stationary AR(1) along the last axis, with the same mean and variance."""
    if not correlation:
        return effects
    series, fresh = effects.copy(), np.sqrt(1 - correlation**2)
    # A loop over positions: each effect needs the one before.
    for index in range(1, effects.shape[-1]):
        series[..., index] = correlation * series[..., index - 1] + fresh * effects[..., index]
    return series
