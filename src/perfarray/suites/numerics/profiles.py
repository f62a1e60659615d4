"""Performance profiles: the share of benchmarks that a system solves within a factor or a time.

E. D. Dolan and J. J. More, "Benchmarking optimization software with performance profiles",
Mathematical Programming 91, 2002.
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.proportions import proportion_limits
from perfarray.numerics.types import Floats


class Profile(NamedTuple):
    """A step curve, its pointwise limits, and two numbers of benchmarks: solved, and of all."""

    value: Floats
    share: Floats
    lower: Floats
    upper: Floats
    solved: Floats
    n: Floats


def performance_ratios(times: Floats) -> Floats:
    """Return times (..., systems, benchmarks) over those of the fastest system of each benchmark.

    What is not solved is infinite, or NaN where no system solves it.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(times / times.min(axis=-2, keepdims=True))


def profile_of(values: Floats, start: float, places: int, confidence_level: float) -> Profile:
    """Return the curve of values (..., benchmarks): ratios or times, finite where solved.

    Place k of `places` has the k-th smallest value, place 0 the `start`; NaN past the last that is
    solved. The limits are Wilson's, of the benchmarks as a sample.
    """
    n = values.shape[-1]
    counts = np.arange(places, dtype=float)
    ordered = np.full((*values.shape[:-1], places), np.nan)
    ordered[..., 0] = start
    ordered[..., 1 : n + 1] = np.sort(values, axis=-1)
    solved = np.isfinite(ordered)
    share, lower, upper = (
        np.where(solved, of_count, np.nan)
        for of_count in proportion_limits(np.minimum(counts, n), n, confidence_level, "wilson")
    )
    n_solved = solved[..., 1:].sum(axis=-1).astype(float)
    curve = np.where(solved, ordered, np.nan)
    return Profile(curve, share, lower, upper, n_solved, np.full_like(n_solved, n))
