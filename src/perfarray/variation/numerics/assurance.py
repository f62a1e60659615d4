"""What half-width experiments of a size will show, when the variance they will find is as uncertain as the pilot leaves it.

The half-width of n units is t sqrt(S^2 / n), and S^2 is v chi-square(n - 1) / (n - 1) about the true variance v of a unit, of which the
pilot knows S_p^2 = T + w_p: so v = max(S_p^2 df / chi-square(df) - w_p, 0) + w, with w_p and w what lies below the outermost level at the
counts of the pilot and of the plan. The law of S^2 is the mixture of the first over the second chi-square.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.types import Floats

NODES = 24
"""Gauss-Legendre nodes in the probability of the pilot's chi-square."""

HALVINGS = 24
"""Of the bracket of a quantile: to within 1e-6 of it."""


class Evidence(NamedTuple):
    """What a pilot knows of the outermost level: the variance of its units, the component in it, degrees of freedom, and those to come.

    `growth` is how many degrees of freedom each further unit brings: 1, or up to 2 where both systems of a ratio get one. `ratios`, if
    given, are the true over the planned variance at the nodes, where no chi-square says it.
    """

    unit_variance: Floats
    top: Floats
    df: Floats
    growth: Floats
    ratios: Floats | None = None

    def along(self) -> "Evidence":
        """Return the same for arrays with one more axis at the end."""
        unit_variance, top, df, growth = (np.asarray(part)[..., None] for part in self[:4])
        return Evidence(unit_variance, top, df, growth, self.ratios)


NO_EVIDENCE = Evidence(*(np.array([np.nan]),) * 4)
"""Of a plan before anything was asked of its pilot."""


def known(top: Floats, growth: Floats) -> Evidence:
    """Return what is known when the component is."""
    return Evidence(top, top, np.full(np.shape(top), np.inf), growth)


def assured_half_width(n: Floats, below: Floats, evidence: Evidence, assurance: float | None, confidence_level: float) -> Floats:
    """Return the half-width that this share of experiments of n units stays within, `below` being the variance inside one unit.

    Without an assurance it is the half-width at the variance estimated, with Student's t of n - 1 degrees of freedom.
    """
    n, below = np.asarray(n, dtype=float), np.asarray(below, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        units = np.where(n > 1, n, np.nan)
        df = (units - 1) * (1.0 if assurance is None else evidence.growth)
        variance = np.maximum(evidence.top, 0.0) + below if assurance is None else future_variance(df, below, evidence, assurance)
        return np.asarray(t_quantile((1 + confidence_level) / 2, df) * np.sqrt(variance / units))


def rescaled(plain: Floats, n: Floats, evidence: Evidence, assurance: float | None, confidence_level: float) -> Floats:
    """Return the half-width that goes with a plain one, at the variance estimated, of n units."""
    plain, n = np.asarray(plain, dtype=float), np.asarray(n, dtype=float)
    with np.errstate(invalid="ignore"):
        variance = n * (plain / t_quantile((1 + confidence_level) / 2, np.where(n > 1, n - 1, np.nan))) ** 2
    below = np.maximum(variance - np.maximum(evidence.top, 0.0), 0.0)
    return assured_half_width(n, below, evidence, assurance, confidence_level)


def future_variance(df: Floats, below: Floats, evidence: Evidence, assurance: float) -> Floats:
    """Return the quantile of the variance that experiments with these degrees of freedom will find among their units."""
    from scipy.special import chdtri

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        variance = _true_variances(below, evidence)
        one = chdtri(df, 1 - assurance) / df
        low, high = (np.log(np.maximum(edge, np.finfo(float).tiny)) for edge in (variance.min(axis=-1) * one, variance.max(axis=-1) * one))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            short = _share(np.exp(middle), df, variance) < assurance
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return np.where(np.isnan(variance).any(axis=-1) | np.isnan(df), np.nan, np.exp((low + high) / 2))


def share_within(variance: Floats, df: Floats, below: Floats, evidence: Evidence) -> Floats:
    """Return the probability that experiments with these degrees of freedom find no more than a variance among their units."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(variance > 0, _share(np.maximum(variance, 0.0), df, _true_variances(below, evidence)), 0.0)


def _share(found: Floats, df: Floats, variance: Floats) -> Floats:
    """Return the probability of no more than what is `found`, over the true variances at the nodes."""
    from scipy.special import gammainc

    half = np.asarray(df)[..., None] / 2
    return np.asarray((nodes()[1] * gammainc(half, half * np.asarray(found)[..., None] / variance)).sum(axis=-1))


def _true_variances(below: Floats, evidence: Evidence) -> Floats:
    """Return the variances of a unit at the nodes of the pilot's chi-square, along the last axis."""
    from scipy.special import chdtri

    df, found, top = (np.asarray(part)[..., None] for part in (evidence.df, evidence.unit_variance, evidence.top))
    if evidence.ratios is not None:
        return np.asarray((np.maximum(top, 0.0) + np.asarray(below)[..., None]) * evidence.ratios)
    scale = np.where(np.isfinite(df), df / chdtri(np.where(np.isfinite(df), df, 1.0), 1 - nodes()[0]), 1.0)
    return np.asarray(np.maximum(found * scale - (found - top), 0.0) + np.asarray(below)[..., None])


@lru_cache(maxsize=1)
def nodes() -> tuple[Floats, Floats]:
    """Return nodes between 0 and 1, and their weights."""
    place, weight = np.polynomial.legendre.leggauss(NODES)
    return (place + 1) / 2, weight / 2
