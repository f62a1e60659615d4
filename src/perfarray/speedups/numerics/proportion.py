"""How many benchmarks it takes to know a proportion."""

import numpy as np
from scipy.special import ndtri


def benchmarks_needed(share: float, precision: float, level: float) -> int:
    """Return the benchmarks for a half-width of `precision`, by the normal approximation."""
    return int(np.ceil(ndtri(0.5 + level / 2) ** 2 * share * (1 - share) / precision**2))
