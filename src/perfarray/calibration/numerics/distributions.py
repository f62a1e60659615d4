"""Laws that the effects of a level are drawn from: mean 0 and variance 1; independent, or each like the one before."""

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
"""Draws with mean 0 and variance 1."""


def autocorrelated(effects: Floats, correlation: float) -> Floats:
    """Return effects of which each depends on the one before along the last axis: a stationary AR(1) with the same mean and variance.

    Parameters
    ----------
    effects : array, shape (..., n)
        Independent draws with variance 1.
    correlation : float
        Between neighbours, above -1 and below 1.
    """
    if not correlation:
        return effects
    series, fresh = effects.copy(), np.sqrt(1 - correlation**2)
    # One after the other, since each needs the one before; all the rest at once.
    for index in range(1, effects.shape[-1]):
        series[..., index] = correlation * series[..., index - 1] + fresh * effects[..., index]
    return series
