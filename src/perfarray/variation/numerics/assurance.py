"""What half-width experiments of a size will show, when the variance they will find is as uncertain as the pilot leaves it.

The half-width of n units is t sqrt(S^2 / n), and S^2 is v chi-square(n - 1) / (n - 1) about the true variance v of a unit, of which the
pilot knows S_p^2 = T + w_p: so v = max(S_p^2 df / chi-square(df) - w_p, 0) + w, with w_p and w what lies below the outermost level at the
counts of the pilot and of the plan. The law of S^2 is the mixture of the first over the second chi-square.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.searching import MOST, first_reached
from perfarray.numerics.types import Floats, Mask
from perfarray.variation.numerics.allocation import Goal, quantile_at
from perfarray.variation.numerics.chi_square_mixture import NODES, chi_square_quantile, mixture_quantile, mixture_share, nodes


class Evidence(NamedTuple):
    """What a pilot knows of the outermost level: the variance of its units, the component in it, degrees of freedom, and those to come.

    `growth` is how many degrees of freedom each further unit brings: 1, or up to 2 where both systems of a ratio get one. `scale` (...,
    nodes) is the true over the found variance of a unit at the nodes of the pilot's chi-square; `of_plan`, of a unit as it is planned.
    """

    unit_variance: Floats
    top: Floats
    df: Floats
    growth: Floats
    scale: Floats
    of_plan: bool = False

    def of(self, cells: Mask) -> "Evidence":
        """Return the same of some cells."""
        unit_variance, top, df, growth = (field[cells] for field in self[:4])
        return Evidence(unit_variance, top, df, growth, self.scale[cells])

    def along(self) -> "Evidence":
        """Return the same for arrays with one more axis at the end."""
        unit_variance, top, df, growth = (np.asarray(field)[..., None] for field in self[:4])
        return Evidence(unit_variance, top, df, growth, self.scale[..., None, :], self.of_plan)


def evidence(unit_variance: Floats, top: Floats, df: Floats, growth: Floats) -> Evidence:
    """Return what a pilot with these degrees of freedom knows; an infinite number knows the variance."""
    distinct, cells = np.unique(df, return_inverse=True)  # most pilots of an array have equally many units
    freedom = distinct[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = freedom / chi_square_quantile(nodes()[0], np.where(np.isfinite(freedom), freedom, 1.0))
        scale = np.where(np.isfinite(freedom), scale, 1.0)
    return Evidence(unit_variance, top, df, growth, scale[cells].reshape(*np.shape(df), NODES))


def known(top: Floats, growth: Floats) -> Evidence:
    """Return what is known when the component is."""
    return Evidence(top, top, np.full(np.shape(top), np.inf), growth, np.ones(NODES))


def growth(variance: Floats, candidate: Floats) -> Floats:
    """Return the degrees of freedom that one more unit a side brings, by Satterthwaite: 1 where all the variance is the candidate's.

    `variance` is that of a unit of the ratio, `candidate` what the candidate has of it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(variance > 0, candidate / variance, 1.0)
    return np.asarray(1 / (share**2 + (1 - share) ** 2))


def assured_half_width(n: Floats, below: Floats, evidence: Evidence, goal: Goal) -> Floats:
    """Return the half-width that a share of experiments of n units, the assurance, stays within; `below` is the variance inside one.

    Without an assurance it is the half-width at the variance estimated, with Student's t of n - 1 degrees of freedom.
    """
    n, below = np.asarray(n, dtype=float), np.asarray(below, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        units = np.where(n > 1, n, np.nan)
        if goal.assurance is None:
            df, variance = units - 1, np.maximum(evidence.top, 0.0) + below
        else:
            df = (units - 1) * evidence.growth
            variance = future_variance(df, below, evidence, goal.assurance)
        return np.asarray(quantile_at(t_quantile, goal.probability, df) * np.sqrt(variance / units))


def future_variance(df: Floats, below: Floats, evidence: Evidence, assurance: float) -> Floats:
    """Return the quantile of the variance that experiments with these degrees of freedom will find among their units."""
    variance = true_variances(below, evidence)
    shape = np.broadcast_shapes(np.shape(df), variance.shape[:-1])
    df, variance = np.broadcast_to(df, shape).reshape(-1), np.broadcast_to(variance, (*shape, NODES)).reshape(-1, NODES)
    return mixture_quantile(assurance, df, variance).reshape(shape)


def share_within(variance: Floats, df: Floats, true: Floats) -> Floats:
    """Return the probability that experiments with these degrees of freedom find no more than a variance among their units."""
    positive, share = variance > 0, np.zeros(np.shape(variance))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share[positive] = mixture_share(variance[positive], np.broadcast_to(df, share.shape)[positive], true[positive])
    return share


def true_variances(below: Floats, evidence: Evidence) -> Floats:
    """Return the variances of a unit at the nodes of the pilot's chi-square, along the last axis."""
    unit_variance, top, inside = (np.asarray(field)[..., None] for field in (evidence.unit_variance, evidence.top, below))
    if evidence.of_plan:
        return np.asarray((np.maximum(top, 0.0) + inside) * evidence.scale)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.maximum(unit_variance * evidence.scale - (unit_variance - top), 0.0) + inside)


def component_limits(variance: Floats, level_variance: Floats, df: Floats, confidence_level: float) -> tuple[Floats, Floats]:
    """Return limits of the outermost component: chi-square limits of the variance of the outermost means, less what lies below it."""
    from scipy.special import chdtri

    tail = (1 - confidence_level) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        below = level_variance - variance
        scales = (np.where(np.isposinf(df), 1.0, df / chdtri(df, probability)) for probability in (tail, 1 - tail))
        lower, upper = (level_variance * scale - below for scale in scales)
    return np.maximum(lower, 0.0), np.maximum(upper, 0.0)


def half_width_limits(n: Floats, below: Floats, evidence: Evidence, goal: Goal) -> list[Floats]:
    """Return what the half-width of n units becomes at either limit of the outermost component."""
    limits = component_limits(evidence.top, evidence.unit_variance, evidence.df, goal.confidence_level)
    return [assured_half_width(n, below, known(component, evidence.growth), goal) for component in limits]


def units_to_add(
    have: Floats, below: Floats, evidence: Evidence, affordable: Floats | None, goal: Goal, planned: Floats | float = 0.0
) -> tuple[Floats, Floats]:
    """Return how many units to add to those at hand, and the half-width of the mean of all, which is unweighted.

    They are all that are affordable, or the fewest that give the half-width, not far from those `planned` without a pilot. Units at hand
    have the variance that was found between them; that of new ones, with the variance `below` inside each, is what a share of experiments,
    the assurance, stays within.
    """
    have_variance, assurance = evidence.unit_variance, goal.assurance
    growth = 1.0 if assurance is None else evidence.growth

    def quantile(n: Floats) -> Floats:
        return quantile_at(t_quantile, goal.probability, np.where(n > 1, n - 1, np.nan) * growth)

    def half_width(more: Floats) -> Floats:
        n = have + more
        variance = np.maximum(evidence.top, 0.0) + below
        if assurance is not None:
            variance = np.where(more > 0, future_variance(np.maximum(more, 1.0) * growth, below, evidence, assurance), variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(quantile(n) * (np.sqrt(have * have_variance + more * variance) / n))

    if affordable is not None:
        return affordable, half_width(affordable)
    target, true = float(goal.half_width or 0.0), true_variances(below, evidence)

    def reached(more: Floats) -> Mask:
        if assurance is None:
            return np.asarray(half_width(more) <= target)
        n = have + more
        with np.errstate(divide="ignore", invalid="ignore"):
            variance_left = (n * target / quantile(n)) ** 2 - have * have_variance
            share = share_within(variance_left / more, more * growth, true)
            return np.where(more > 0, share >= assurance, variance_left >= 0)

    # Those at hand may be enough as they are, and yet too few with one more, whose variance is not known.
    unknown = np.isnan(below * have_variance * have)
    least = np.where(unknown, np.nan, np.where(reached(np.zeros(np.shape(unknown))), 0.0, 1.0))
    units = first_reached_near(np.maximum(planned - have, 0.0), reached, least)
    return units, half_width(units)


def first_reached_near(guess: Floats, holds: Callable[[Floats], Mask], low: Floats) -> Floats:
    """Return the smallest integers from low on at which a monotone condition holds, NaN where low is NaN.

    After low itself the search goes on at a guess, by growing steps. The condition is asked about NaN where the answer is known.
    """
    least, most, n, step = low, np.where(np.isnan(low), np.nan, np.inf), low, 0.5
    while (searched := ~np.isnan(n)).any():
        reached = holds(n)
        least, most = np.where(searched & ~reached, n + 1, least), np.where(searched & reached, n, most)
        below = np.where(least > low + 1, np.floor((least + most) / 2), np.maximum(least, most - step))
        n = np.where(np.isinf(most), np.fmax(least + np.floor(step), guess), below)
        n = np.where((least < most) & (least < MOST), n, np.nan)
        step *= 2
    endless = np.isinf(most)
    return np.where(endless, first_reached(holds, np.where(endless, low, np.nan)), most) if endless.any() else most
