"""How systems are compared run by run, and the limits of what is computed."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from perfarray.numerics.bootstrap_limits import limits_of, percentile_family
from perfarray.numerics.types import Floats

EMPIRICAL, MIXTURE = METHODS = ("empirical", "mixture")

# A probability that differs from 0 or 1 by less does so by rounding alone.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricComparison:
    """How systems are compared."""

    method: str = EMPIRICAL
    fitted: bool = False  # arrays hold parameters of mixtures, not runs
    levels: int = 1
    depth: int = 0  # that of the level whose repetitions are runs
    sign: float = 1.0  # -1 where more is better
    paired: bool = False
    confidence_level: float = 0.95
    with_limits: bool = True
    n_resamples: int = 0  # refitted samples, for mixtures
    key: tuple[int, int] = (0, 0)
    streams: tuple[int, ...] = ()  # of the systems; by default their positions


class Limits(NamedTuple):
    """A metric of the data, and its limits."""

    estimate: Floats
    lower: Floats
    upper: Floats


def lots(systems: int) -> list[tuple[float, float]]:
    """Return lots between 0 and 1 that break ties, and their weights.

    The rule is exact for products over all rivals but one.
    """
    nodes, weights = np.polynomial.legendre.leggauss((systems + 1) // 2)
    return list(zip(0.5 * (1 + nodes), 0.5 * weights, strict=True))


def rows_of_cells(runs: Sequence[Floats], shape: tuple[int, ...]) -> list[Floats]:
    """Return the runs (..., units, runs) of every system as rows (cell, units, runs)."""
    return [
        np.broadcast_to(values, (*shape, *values.shape[-2:])).reshape(
            prod(shape), *values.shape[-2:]
        )
        for values in runs
    ]


def number_of_units(runs: Floats) -> Floats:
    """Return how many units have runs (..., units, runs), shape (...)."""
    return np.asarray((~np.isnan(runs)).any(axis=-1).sum(axis=-1), float)


def percentile_limits(replicates: Floats, confidence_level: float) -> Limits:
    """Return the first replicate (..., replicate) as estimate, and percentiles of the others."""
    estimate = replicates[..., 0]
    if replicates.shape[-1] < 3:
        return Limits(estimate, np.full_like(estimate, np.nan), np.full_like(estimate, np.nan))
    limits = limits_of(
        percentile_family("percentile", estimate, replicates[..., 1:]), confidence_level
    )
    return Limits(estimate, limits.lower, limits.upper)


def wilson_limits(
    estimate: Floats, variance: Floats, n: Floats, comparison: MetricComparison, runs: int = 1
) -> Limits:
    """Return Wilson's limits of a probability for the number of units that has its variance.

    A probability over independent systems varies at most as much as that of `n` units, the
    smallest system's number (Hoeffding 1948). At most 2 n are believed, and n where the estimate
    is 0 or 1. Paired units may vary more. A probability of totals of several runs varies at most
    as that of n / runs groups of units. Below two units there are no limits.
    """
    spread = estimate * (1 - estimate)
    n = np.where(n > 1, n, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        number = np.where(spread < ROUNDING, np.nan, spread / variance)
    number = np.clip(number, n / runs / (2 if comparison.paired else 1), 2 * n)
    number = np.where(np.isnan(number), n / runs, number)
    z = ndtri(0.5 + 0.5 * comparison.confidence_level)
    middle = (estimate + z**2 / (2 * number)) / (1 + z**2 / number)
    half = z / (1 + z**2 / number) * np.sqrt(spread / number + (z / (2 * number)) ** 2)
    return Limits(
        estimate, np.clip(middle - half, 0.0, estimate), np.clip(middle + half, estimate, 1.0)
    )
