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

ROUGHLY, STEPS = 8, 3
"""Halvings for where Newton's method begins, and its steps."""

STRAIGHT = 1e-3
"""How far the slope of the share may be trusted, in standard deviations of the logarithm of one chi-square."""

NOISE = 1e-15
"""What rounding may do to a share."""

BLOCK = 1 << 12
"""Quantiles sought at once."""


class Evidence(NamedTuple):
    """What a pilot knows of the outermost level: the variance of its units, the component in it, degrees of freedom, and those to come.

    `growth` is how many degrees of freedom each further unit brings: 1, or up to 2 where both systems of a ratio get one. `ratios`, if
    given, are the true over the planned variance at the nodes, where no chi-square says it. `scale`, if given, is what `with_scale` finds.
    """

    unit_variance: Floats
    top: Floats
    df: Floats
    growth: Floats
    ratios: Floats | None = None
    scale: Floats | None = None

    def along(self) -> "Evidence":
        """Return the same for arrays with one more axis at the end."""
        unit_variance, top, df, growth = (np.asarray(field)[..., None] for field in self[:4])
        return Evidence(unit_variance, top, df, growth, self.ratios, None if self.scale is None else self.scale[..., None, :])

    def with_scale(self) -> "Evidence":
        """Return the same with the true over the found variance at the nodes of the pilot's chi-square, (..., nodes)."""
        return self._replace(scale=_scale(np.asarray(self.df)[..., None]))


NO_EVIDENCE = Evidence(*(np.array([np.nan]),) * 4)
"""Of a plan before anything was asked of its pilot."""


def known(top: Floats, growth: Floats) -> Evidence:
    """Return what is known when the component is."""
    return Evidence(top, top, np.full(np.shape(top), np.inf), growth, scale=np.ones(NODES))


def growth(variance: Floats, candidate: Floats) -> Floats:
    """Return the degrees of freedom that one more unit a side brings, by Satterthwaite: 1 where all the variance is the candidate's.

    `variance` is that of a unit of the ratio, `candidate` what the candidate has of it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(variance > 0, candidate / variance, 1.0)
    return np.asarray(1 / (share**2 + (1 - share) ** 2))


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

    variance = true_variances(below, evidence)
    shape = np.broadcast_shapes(np.shape(df), variance.shape[:-1])
    df, variance = np.broadcast_to(df, shape).reshape(-1), np.broadcast_to(variance, (*shape, NODES)).reshape(-1, NODES)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        unit_quantile = chdtri(df, 1 - assurance) / df
        low, high = (
            np.log(np.maximum(edge, np.finfo(float).tiny))
            for edge in (variance.min(axis=-1) * unit_quantile, variance.max(axis=-1) * unit_quantile)
        )
        uncertain = np.flatnonzero(low < high)
        for start in range(0, len(uncertain), BLOCK):
            block = uncertain[start : start + BLOCK]
            low[block], high[block] = _halved(low[block], high[block], df[block], variance[block], assurance)
        return np.asarray(np.exp((low + high) / 2)).reshape(shape)


def _halved(low: Floats, high: Floats, df: Floats, variance: Floats, assurance: float) -> tuple[Floats, Floats]:
    """Return halved brackets of the logarithm; the share is worked out only where Newton's method leaves open on which side a middle is."""
    root, error = _newton(_nearly(df, variance, assurance, low, high), df, variance, assurance)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        short = middle < root
        near = np.flatnonzero(~(np.abs(middle - root) > error))
        if len(near):
            short[near] = _share(np.exp(middle[near]), df[near], variance[near]) < assurance
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return low, high


def _nearly(df: Floats, variance: Floats, assurance: float, low: Floats, high: Floats) -> Floats:
    """Return the logarithm of the quantile, were the cube root of a chi-square normal (Wilson and Hilferty)."""
    from scipy.special import ndtr

    steep = 3 * np.sqrt(df / 2)[:, None]
    rate, shift = steep / np.cbrt(variance), steep - 1 / steep
    for _ in range(ROUGHLY):
        middle = (low + high) / 2
        short = (nodes()[1] * ndtr(rate * np.exp(middle / 3)[:, None] - shift)).sum(axis=-1) < assurance
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray((low + high) / 2)


def _newton(root: Floats, df: Floats, variance: Floats, assurance: float) -> tuple[Floats, Floats]:
    """Return the logarithm of the quantile, better, and how far off it may be: Newton's method where normals are straight."""
    from scipy.special import gammainc, gammaln, ndtri

    half, weight, target = df / 2, nodes()[1], ndtri(assurance)
    logs = np.log(variance / half[:, None])
    for _ in range(STEPS):
        argument = root[:, None] - logs
        ratio = np.exp(argument)
        share = (weight * gammainc(half[:, None], ratio)).sum(axis=-1)
        slope = (weight * np.exp(half[:, None] * argument - ratio - gammaln(half)[:, None])).sum(axis=-1)
        normal = ndtri(share)
        root = root + (target - normal) * np.exp(-(normal**2) / 2) / np.sqrt(2 * np.pi) / slope
    error = 2 * (np.abs(assurance - share) + NOISE) / slope
    return root, np.where(error * np.sqrt(half) < STRAIGHT, error, np.inf)


def share_within(variance: Floats, df: Floats, true: Floats) -> Floats:
    """Return the probability that experiments with these degrees of freedom find no more than a variance among their units."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(variance > 0, _share(np.maximum(variance, 0.0), df, true), 0.0)


def _share(quantile: Floats, df: Floats, variance: Floats) -> Floats:
    """Return the probability of no more than what is `found`, over the true variances at the nodes."""
    from scipy.special import gammainc

    half = np.asarray(df)[..., None] / 2
    return np.asarray((nodes()[1] * gammainc(half, half * np.asarray(quantile)[..., None] / variance)).sum(axis=-1))


def true_variances(below: Floats, evidence: Evidence) -> Floats:
    """Return the variances of a unit at the nodes of the pilot's chi-square, along the last axis."""
    unit_variance, top, inside = (np.asarray(field)[..., None] for field in (evidence.unit_variance, evidence.top, below))
    if evidence.ratios is not None:
        return np.asarray((np.maximum(top, 0.0) + inside) * evidence.ratios)
    scale = _scale(np.asarray(evidence.df)[..., None]) if evidence.scale is None else evidence.scale
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.maximum(unit_variance * scale - (unit_variance - top), 0.0) + inside)


def _scale(df: Floats) -> Floats:
    """Return df over the chi-square at the nodes; 1 where df is infinite."""
    from scipy.special import chdtri

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(np.isfinite(df), df / chdtri(np.where(np.isfinite(df), df, 1.0), 1 - nodes()[0]), 1.0)


@lru_cache(maxsize=1)
def nodes() -> tuple[Floats, Floats]:
    """Return nodes between 0 and 1, and their weights."""
    position, weight = np.polynomial.legendre.leggauss(NODES)
    return (position + 1) / 2, weight / 2
