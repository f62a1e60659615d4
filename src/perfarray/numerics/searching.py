"""The smallest integers at which a monotone condition holds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats

# A search ends at this number of units, which nobody measures.
MOST = 1e15


def first_true(holds: Callable[[Floats], Any], low: npt.ArrayLike, high: npt.ArrayLike) -> Floats:
    """Return the smallest integers from low to high at which a monotone condition holds.

    High where it never does.
    """
    lo, hi = (np.array(end, dtype=float) for end in np.broadcast_arrays(low, high))
    while (unsure := lo < hi).any():
        # Beyond 2^53 the distance to the next float is more than 1.
        middle = np.minimum(
            np.floor((lo + hi) / 2), np.where(unsure, np.nextafter(hi, -np.inf), hi)
        )
        holds_there = holds(middle)
        lo, hi = (
            np.where(
                holds_there,
                lo,
                np.minimum(np.maximum(middle + 1, np.nextafter(middle, np.inf)), hi),
            ),
            np.where(holds_there, middle, hi),
        )
    return hi


def first_reached(holds: Callable[[Floats], Any], low: Floats) -> Floats:
    """Return the smallest integers from low on at which a monotone condition holds.

    NaN where low is NaN.
    """
    high = low.copy()
    while (short := ~holds(high) & ~np.isnan(high) & (high < MOST)).any():
        low, high = np.where(short, high + 1, low), np.where(short, 2 * high + 1, high)
    return first_true(holds, low, high)
