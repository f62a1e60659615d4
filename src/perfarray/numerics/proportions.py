"""Intervals of a proportion."""

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri

from perfarray.numerics.types import Floats


def proportion_limits(
    successes: npt.ArrayLike, n: npt.ArrayLike, level: float, method: str
) -> tuple[Floats, Floats, Floats]:
    """Return the share of successes and its limits, NaN where n is 0.

    Methods: "wilson", the score interval with continuity correction (R's `prop.test`); "exact",
    Clopper and Pearson's; "wald", the paper's C -+ z sqrt(C (1 - C) / b), which may leave [0, 1].
    """
    a, b = np.asarray(successes, dtype=float), np.asarray(n, dtype=float)
    b = np.where(b > 0, b, np.nan)
    share, risk = a / b, 1 - level
    z = ndtri(1 - risk / 2)
    if method == "wilson":  # with continuity correction, as R's prop.test
        lower, upper = _wilson(a, b, z)
    elif method == "exact":
        # Clopper and Pearson: shares at which so many, or so few, successes become unlikely.
        lower = np.where(a <= 0, 0.0, betaincinv(np.maximum(a, 0.5), b - a + 1, risk / 2))
        upper = np.where(a >= b, 1.0, betaincinv(a + 1, np.maximum(b - a, 0.5), 1 - risk / 2))
    else:
        half_width = z * np.sqrt(share * (1 - share) / b)
        lower, upper = share - half_width, share + half_width
    return share, np.where(np.isnan(b), np.nan, lower), np.where(np.isnan(b), np.nan, upper)


def _wilson(a: Floats, b: Floats, z: float) -> tuple[Floats, Floats]:
    share, correction = a / b, np.minimum(0.5, np.abs(a - b / 2))  # half a success
    low, high = share - correction / b, share + correction / b
    quarter = z**2 / (2 * b)
    lower = (
        low + quarter - z * np.sqrt(np.maximum(low * (1 - low), 0) / b + quarter / (2 * b))
    ) / (1 + 2 * quarter)
    upper = (
        high + quarter + z * np.sqrt(np.maximum(high * (1 - high), 0) / b + quarter / (2 * b))
    ) / (1 + 2 * quarter)
    return np.where(low <= 0, 0.0, lower), np.where(high >= 1, 1.0, upper)
