"""Intervals of a proportion, and how many benchmarks it takes to know it."""

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri

from perfarray.numerics.types import Floats


def proportion_limits(successes: npt.ArrayLike, n: npt.ArrayLike, level: float, method: str) -> tuple[Floats, Floats, Floats]:
    """Return the share of successes and its limits, NaN where n is 0.

    Methods: "wilson", the score interval with continuity correction (R's `prop.test`); "exact", Clopper and Pearson's; "wald", the
    paper's C -+ z sqrt(C (1 - C) / b), which may leave [0, 1].
    """
    a, b = np.asarray(successes, dtype=float), np.asarray(n, dtype=float)
    b = np.where(b > 0, b, np.nan)
    lower, upper = {"wilson": _wilson, "exact": _exact, "wald": _wald}[method](a, b, 1 - level)
    return a / b, np.where(np.isnan(b), np.nan, lower), np.where(np.isnan(b), np.nan, upper)


def _wilson(a: Floats, b: Floats, risk: float) -> tuple[Floats, Floats]:
    # The correction is half a success.
    z = ndtri(1 - risk / 2)
    share = a / b
    correction = np.minimum(0.5, np.abs(a - b / 2))
    low, high = share - correction / b, share + correction / b
    quarter = z**2 / (2 * b)
    lower = (low + quarter - z * np.sqrt(np.maximum(low * (1 - low), 0) / b + quarter / (2 * b))) / (1 + 2 * quarter)
    upper = (high + quarter + z * np.sqrt(np.maximum(high * (1 - high), 0) / b + quarter / (2 * b))) / (1 + 2 * quarter)
    return np.where(low <= 0, 0.0, lower), np.where(high >= 1, 1.0, upper)


def _exact(a: Floats, b: Floats, risk: float) -> tuple[Floats, Floats]:
    # The shares at which so many, or so few, successes become unlikely.
    lower = betaincinv(np.maximum(a, 0.5), b - a + 1, risk / 2)
    upper = betaincinv(a + 1, np.maximum(b - a, 0.5), 1 - risk / 2)
    return np.where(a <= 0, 0.0, lower), np.where(a >= b, 1.0, upper)


def _wald(a: Floats, b: Floats, risk: float) -> tuple[Floats, Floats]:
    share = a / b
    half_width = ndtri(1 - risk / 2) * np.sqrt(share * (1 - share) / b)
    return np.asarray(share - half_width), np.asarray(share + half_width)


def benchmarks_needed(share: float, precision: float, level: float) -> int:
    """Return the number of benchmarks that give a half-width of `precision`, by the normal approximation."""
    return int(np.ceil(ndtri(0.5 + level / 2) ** 2 * share * (1 - share) / precision**2))
