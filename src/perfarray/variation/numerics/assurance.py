"""What half-width experiments of a size will show, given what the pilot knows of their variance.

The half-width of n units is t sqrt(S^2 / n), and S^2 is v chi-square(n - 1) / (n - 1) about the
true variance v of a unit, of which the pilot knows S_p^2 = T + w_p: so v = max(S_p^2 df /
chi-square(df) - w_p, 0) + w, with w_p and w what lies below the outermost level at the counts of
the pilot and of the plan. The law of S^2 is the mixture of the first over the second chi-square, at
the nodes of a quadrature.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.types import Floats
from perfarray.variation.numerics.allocation import Goal, quantile_at

NODES = 24  # Gauss-Legendre nodes in the probability of the pilot's chi-square
STEPS = 60  # most steps towards a quantile; halving its bracket so often leaves nothing
PRECISION = 1e-5  # of the logarithm of a quantile: the error left is about its square
# exp(-60) is nothing beside a share of 1
CERTAIN = 60.0


class Evidence(NamedTuple):
    """What a pilot knows of its units: their variance, the component in it, degrees of freedom.

    `growth` is how many degrees of freedom each further unit brings: 1, or up to 2 where both
    systems of a ratio get one. `scale` (..., nodes) is the true over the found variance of a unit
    at the nodes of the pilot's chi-square; `of_plan`, of a unit as it is planned.
    """

    unit_variance: Floats
    top: Floats
    df: Floats
    growth: Floats
    scale: Floats
    of_plan: bool = False

    def along(self) -> "Evidence":
        """Return the same for arrays with one more axis at the end."""
        unit_variance, top, df, growth = (np.asarray(field)[..., None] for field in self[:4])
        return Evidence(unit_variance, top, df, growth, self.scale[..., None, :], self.of_plan)


def pilot_scale(df: Floats) -> Floats:
    """Return the true over the found variance at the nodes of chi-squares, (..., nodes).

    An infinite number of degrees of freedom knows the variance.
    """
    # Most pilots of an array have equally many units.
    distinct, cells = np.unique(df, return_inverse=True)
    freedom = distinct[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = freedom / chi_square_quantile(
            nodes()[0], np.where(np.isfinite(freedom), freedom, 1.0)
        )
        scale = np.where(np.isfinite(freedom), scale, 1.0)
    return scale[cells].reshape(*np.shape(df), NODES)


def assured_half_width(n: Floats, below: Floats, evidence: Evidence, goal: Goal) -> Floats:
    """Return the half-width that a share of experiments of n units, the assurance, stays within.

    `below` is the variance inside one.

    Without an assurance it is the half-width at the variance estimated, with Student's t of n - 1
    degrees of freedom.
    """
    n, below = np.asarray(n, dtype=float), np.asarray(below, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        units = np.where(n > 1, n, np.nan)
        if goal.assurance is None:
            df, variance = units - 1, np.maximum(evidence.top, 0.0) + below
        else:
            df = (units - 1) * evidence.growth
            variance = mixture_quantile(goal.assurance, df, true_variances(below, evidence))
        return np.asarray(quantile_at(t_quantile, goal.probability, df) * np.sqrt(variance / units))


def share_within(variance: Floats, df: Floats, true: Floats) -> Floats:
    """Return the probability that experiments find no more than a variance among their units."""
    positive, share = variance > 0, np.zeros(np.shape(variance))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share[positive] = mixture_share(
            variance[positive], np.broadcast_to(df, share.shape)[positive], true[positive]
        )
    return share


def true_variances(below: Floats, evidence: Evidence) -> Floats:
    """Return the variances of a unit at the nodes of the pilot's chi-square, (..., nodes)."""
    unit_variance, top, inside = (
        np.asarray(field)[..., None] for field in (evidence.unit_variance, evidence.top, below)
    )
    if evidence.of_plan:
        return np.asarray((np.maximum(top, 0.0) + inside) * evidence.scale)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(
            np.maximum(unit_variance * evidence.scale - (unit_variance - top), 0.0) + inside
        )


def component_limits(
    variance: Floats, level_variance: Floats, df: Floats, confidence_level: float
) -> tuple[Floats, Floats]:
    """Return limits of the outermost component.

    Those of the variance of the outermost means, less what lies below it.
    """
    from scipy.special import chdtri

    tail = (1 - confidence_level) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        below = level_variance - variance
        scales = (
            np.where(np.isposinf(df), 1.0, df / chdtri(df, probability))
            for probability in (tail, 1 - tail)
        )
        lower, upper = (level_variance * scale - below for scale in scales)
    return np.maximum(lower, 0.0), np.maximum(upper, 0.0)


@lru_cache(maxsize=1)
def nodes() -> tuple[Floats, Floats]:
    """Return nodes between 0 and 1, and their weights."""
    position, weight = np.polynomial.legendre.leggauss(NODES)
    return (position + 1) / 2, weight / 2


def chi_square_quantile(probability: float | Floats, df: Floats) -> Floats:
    """Return the quantile of chi-square."""
    from scipy.special import chdtri

    return np.asarray(chdtri(df, 1 - probability))


def mixture_quantile(probability: float, df: Floats, variance: Floats) -> Floats:
    """Return the quantiles (...) of the variance that is found with degrees of freedom (...).

    The true ones are `variance` (..., nodes). Steps of Newton's method towards the probit of
    the share below, whose slope hardly changes, or halvings of the bracket.
    """
    from scipy.special import gammaln, ndtri

    shape = np.broadcast_shapes(np.shape(df), variance.shape[:-1])
    df = np.broadcast_to(df, shape).reshape(-1)
    variance = np.broadcast_to(variance, (*shape, NODES)).reshape(-1, NODES)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        of_unit = quantile_at(chi_square_quantile, probability, df) / df
        edges = (variance.min(axis=-1) * of_unit, variance.max(axis=-1) * of_unit)
        low, high = np.log(np.maximum(edges, np.finfo(float).tiny))
        root = (low + high) / 2
        rows, target = np.flatnonzero(low < high), ndtri(probability)
        logs = np.log(variance)
        root[rows] = np.clip(logs[rows] @ nodes()[1] + np.log(of_unit[rows]), low[rows], high[rows])
        for _ in range(STEPS):
            if not len(rows):
                break
            half = df[rows, None] / 2
            log_ratio = root[rows, None] - logs[rows]
            value = half * np.exp(log_ratio)
            share = (nodes()[1] * _chi_square_share(half, value)).sum(axis=-1)
            density = np.exp(half * np.log(value) - value - gammaln(half))
            slope = (nodes()[1] * density).sum(axis=-1)
            short = share < probability
            low[rows] = np.where(short, root[rows], low[rows])
            high[rows] = np.where(short, high[rows], root[rows])
            probit = ndtri(share)
            step = (target - probit) * np.exp(-(probit**2) / 2) / np.sqrt(2 * np.pi) / slope
            next_root = root[rows] + step
            inside = (next_root > low[rows]) & (next_root < high[rows])
            next_root = np.where(inside, next_root, (low[rows] + high[rows]) / 2)
            moved = np.abs(next_root - root[rows])
            root[rows] = next_root
            rows = rows[moved > PRECISION]
        return np.asarray(np.exp(root).reshape(shape))


def mixture_share(quantile: Floats, df: Floats, variance: Floats) -> Floats:
    """Return the probability of no more than a quantile."""
    half = np.asarray(df)[..., None] / 2
    return np.asarray(
        (
            nodes()[1] * _chi_square_share(half, half * np.asarray(quantile)[..., None] / variance)
        ).sum(axis=-1)
    )


def _chi_square_share(half: Floats, value: Floats) -> Floats:
    """Return the incomplete gamma function.

    It takes long, and is left out where Chernoff's bound says that it is 0 or 1.
    """
    from scipy.special import gammainc

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        uncertain = ~(value - half - half * np.log(value / half) > CERTAIN)
    if uncertain.all():
        return np.asarray(gammainc(half, value))
    share: Floats = (value > half).astype(float)
    # Its where= writes beyond arrays.
    share[uncertain] = gammainc(np.broadcast_to(half, value.shape)[uncertain], value[uncertain])
    return share
