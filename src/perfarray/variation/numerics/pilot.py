"""What data at hand say of a plan: how uncertain it is, and how many more units it takes together with them."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.searching import first_reached
from perfarray.numerics.types import Floats, Mask
from perfarray.variation.numerics.assurance import Evidence, future_variance, share_within, true_variances


def component_limits(variance: Floats, level_variance: Floats, df: Floats, confidence_level: float) -> tuple[Floats, Floats]:
    """Return limits of the outermost component: chi-square limits of the variance of the outermost means, less what lies below it."""
    from scipy.special import chdtri

    tail = (1 - confidence_level) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        below = level_variance - variance
        scales = (np.where(np.isposinf(df), 1.0, df / chdtri(df, probability)) for probability in (tail, 1 - tail))
        lower, upper = (level_variance * scale - below for scale in scales)
    return np.maximum(lower, 0.0), np.maximum(upper, 0.0)


class More(NamedTuple):
    """Outermost units still to be measured, and the half-width of the mean of those and the ones at hand."""

    units: Floats
    half_width: Floats


def units_to_add(
    have: Floats,
    below: Floats,
    evidence: Evidence,
    affordable: Floats | None,
    half_width: float | None,
    *,
    assurance: float | None = None,
    confidence_level: float = 0.95,
) -> More:
    """Return how many units to add to those at hand: all that are affordable, or the fewest that give the half-width.

    Units at hand have the variance that was found between them; that of new ones, with the variance `below` inside each, is what this
    share of experiments stays within. The mean of all is unweighted.
    """
    have_variance, probability = evidence.unit_variance, (1 + confidence_level) / 2
    growth = 1.0 if assurance is None else evidence.growth

    def promised(more: Floats) -> Floats:
        n = have + more
        variance = np.maximum(evidence.top, 0.0) + below
        if assurance is not None:
            variance = np.where(more > 0, future_variance(np.maximum(more, 1.0) * growth, below, evidence, assurance), variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt(have * have_variance + more * variance) / n
            return np.asarray(t_quantile(probability, np.where(n > 1, n - 1, np.nan) * growth) * spread)

    if affordable is not None:
        return More(affordable, promised(affordable))
    target, true = float(half_width or 0.0), true_variances(below, evidence)

    def reached(more: Floats) -> Mask:
        if assurance is None:
            return np.asarray(promised(more) <= target)
        n = have + more
        with np.errstate(divide="ignore", invalid="ignore"):
            variance_left = (n * target / t_quantile(probability, np.where(n > 1, n - 1, np.nan) * growth)) ** 2 - have * have_variance
            share = share_within(variance_left / more, more * growth, true)
            return np.where(more > 0, share >= assurance, variance_left >= 0)

    units = first_reached(reached, np.where(np.isnan(below * have_variance * have), np.nan, 0.0))
    return More(units, promised(units))
