"""Mixtures of any families compared, of different ones too: integrals over the values, split so that no component is missed.

Of normal mixtures, and of lognormal ones among themselves, most of these have closed forms (`parametric`, `totals`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from perfarray.mixtures.numerics import scale
from perfarray.mixtures.numerics.normal import Mixture, present
from perfarray.mixtures.numerics.scale import Family, Scaled, off_scale
from perfarray.numerics.types import Floats, Mask

SCORES = ndtr(np.linspace(-8.0, 8.0, 41))
"""Probabilities at whose quantiles, of every component, the panels of an integral end."""

NODES = 12
"""Points of the Gauss-Legendre rule in a panel."""

BLOCK = 200
"""Cells integrated together."""


class _Rule(NamedTuple):
    """Values and their weights in an integral, shape (cell, point), and the least of the values, shape (cell,)."""

    x: Floats
    share: Floats
    least: Floats


def less(x: Scaled, y: Scaled, shift: float, ties: float) -> Floats:
    """Return P[X < Y + shift], shape (...); points that coincide count `ties`."""
    return won([x, y], (0.0, shift), lot=ties)[..., 0]


def best(systems: Sequence[Scaled], ties: bool, sign: float) -> Floats:
    """Return the probability of every system to be the least, or with sign -1 the greatest, shape (..., system); ties by lot or lost."""
    still = (0.0,) * len(systems)
    if not ties:
        return won(systems, still, lot=0.0, sign=sign)
    lots, shares = np.polynomial.legendre.leggauss((len(systems) + 1) // 2)
    every = [share * won(systems, still, lot=lot, sign=sign) for lot, share in zip(0.5 * (1 + lots), 0.5 * shares, strict=True)]
    return np.asarray(np.sum(every, axis=0))


def won(systems: Sequence[Scaled], shifts: Sequence[float], *, lot: float, sign: float = 1.0) -> Floats:
    """Return the probability of every system, shifted, to be the least of all (sign 1) or the greatest (-1).

    Parameters
    ----------
    systems : sequence of Scaled
        Mixtures (..., component); those without components are left out, as NaN.
    shifts : sequence of float
        What is added to the values of each.
    lot : float
        The share of ties at points that is won.

    Returns
    -------
    array, shape (..., system)
    """
    shape, rows = _rows(systems)
    found = np.empty((len(rows[0].family), len(rows)))
    for start in range(0, len(found), BLOCK):
        own = [_taken(one, slice(start, start + BLOCK)) for one in rows]
        found[start : start + BLOCK] = _won(own, shifts, lot, sign)
    return found.reshape(*shape, len(rows))


def difference(x: Scaled, y: Scaled) -> Floats:
    """Return E|X - Y| = E X + E Y - 2 E min(X, Y), shape (...): infinite where a mean is."""
    shape, rows = _rows([x, y])
    found = np.empty(len(rows[0].family))
    for start in range(0, len(found), BLOCK):
        own = [_taken(one, slice(start, start + BLOCK)) for one in rows]
        rule = _rule(own, (0.0, 0.0))
        both = np.prod([1 - scale.distribution(_wide(one), rule.x) for one in own], axis=0)
        means = sum(scale.mean(one) for one in own)
        found[start : start + BLOCK] = means - 2 * (rule.least + (rule.share * both).sum(axis=-1))
    return found.reshape(shape)


def _rows(systems: Sequence[Scaled]) -> tuple[tuple[int, ...], list[Scaled]]:
    """Return the shape of the cells, and the systems as rows of it."""
    shape = np.broadcast_shapes(*(np.shape(one.family) for one in systems), *(one.mixture.weights.shape[:-1] for one in systems))
    rows = []
    for one in systems:
        number = one.mixture.weights.shape[-1]
        parts = (np.broadcast_to(part, (*shape, number)).reshape(-1, number) for part in one.mixture)
        rows.append(Scaled(present(Mixture(*parts)), np.broadcast_to(np.asarray(one.family, int), shape).ravel()))
    return shape, rows


def _taken(one: Scaled, rows: slice) -> Scaled:
    """Return some of the rows."""
    return Scaled(Mixture(*(part[rows] for part in one.mixture)), one.family[rows])


def _wide(one: Scaled) -> Scaled:
    """Return rows as what values (row, point) are asked about."""
    return Scaled(Mixture(*(part[:, None] for part in one.mixture)), one.family[:, None])


def _won(systems: Sequence[Scaled], shifts: Sequence[float], lot: float, sign: float) -> Floats:
    """Integrate over what has a density, and sum over points; shape (cell, system)."""
    known = np.stack([(one.mixture.weights > 0).any(axis=-1) for one in systems], axis=-1)
    rule = _rule(systems, shifts)
    points = [(one.mixture.deviations == 0) & (one.mixture.weights > 0) for one in systems]
    smooth = [
        one._replace(mixture=one.mixture._replace(weights=np.where(point, 0.0, one.mixture.weights)))
        for one, point in zip(systems, points, strict=True)
    ]

    def beyond(number: int, x: Floats) -> Floats:
        """Return the probability of a system to lie beyond values, and so much of lying there."""
        own, lies = x - shifts[number], np.where(points[number], _places(systems[number]), np.inf)[:, None]
        weights = systems[number].mixture.weights[:, None]
        at, upto = ((weights * part).sum(axis=-1) for part in (lies == own[..., None], lies <= own[..., None]))
        reached = np.nan_to_num(scale.distribution(_wide(smooth[number]), own)) + upto
        return np.where(known[:, number, None], (1 - reached if sign > 0 else reached - at) + lot * at, 1.0)

    found = np.empty(known.shape)
    for number, one in enumerate(systems):
        others = [other for other in range(len(systems)) if other != number]
        density = np.nan_to_num(scale.density(_wide(smooth[number]), rule.x - shifts[number]), posinf=0.0)
        found[:, number] = (rule.share * density * np.prod([beyond(other, rule.x) for other in others], axis=0)).sum(axis=-1)
        at = np.where(points[number], _places(one) + shifts[number], 0.0)
        chance = np.prod([beyond(other, at) for other in others], axis=0)
        found[:, number] += np.where(points[number], one.mixture.weights * chance, 0.0).sum(axis=-1)
    return np.where(known, found, np.nan)


def _places(one: Scaled) -> Floats:
    """Return the places of components in the units of the values."""
    return one.each(lambda family, mixture: off_scale(mixture.means, family.logs), 1)


def _ends(family: Family, mixture: Mixture) -> Floats:
    """Return quantiles of components on their scale, shape (..., component, probability)."""
    spread = np.where(mixture.deviations == 0, 1.0, mixture.deviations)[..., None]
    away = np.where(mixture.deviations[..., None] == 0, 0.0, family.law.quantile(SCORES, spread))
    return mixture.means[..., None] + np.where(np.isfinite(away), away, 0.0)


def _rule(systems: Sequence[Scaled], shifts: Sequence[float]) -> _Rule:
    """Return a composite Gauss-Legendre rule: over logarithms where all values are positive and none is shifted."""
    known = [one.mixture.weights > 0 for one in systems]
    whole = [one.positive | ~there.any(axis=-1) for one, there in zip(systems, known, strict=True)]
    positive = np.asarray(np.all(whole, axis=0) & (not any(shifts)))
    logs = positive[:, None, None]
    ends = np.concatenate([_scaled_ends(one, shift, logs) for one, shift in zip(systems, shifts, strict=True)], axis=1)
    there = np.concatenate(known, axis=1)[..., None]
    first = np.where(there, ends, np.inf).min(axis=(1, 2), keepdims=True)
    ends = np.sort(np.where(there, ends, np.where(np.isfinite(first), first, 0.0)).reshape(len(ends), -1), axis=-1)
    nodes, shares = np.polynomial.legendre.leggauss(NODES)
    middle, half = 0.5 * (ends[:, 1:] + ends[:, :-1]), 0.5 * np.diff(ends)
    y = (middle[..., None] + half[..., None] * nodes).reshape(len(ends), -1)
    share = (half[..., None] * shares).reshape(len(ends), -1)
    return _Rule(*_unlogged(y, share, positive), np.where(positive, np.exp(ends[:, 0] * positive), ends[:, 0]))


def _scaled_ends(one: Scaled, shift: float, logs: Mask) -> Floats:
    """Return the ends of panels of one system, as logarithms where these are integrated over."""

    def answer(family: Family, mixture: Mixture) -> Floats:
        own = _ends(family, mixture)
        if not family.logs:
            return own
        return np.where(logs, family.logs * own, off_scale(np.clip(own, -700, 700), family.logs))

    return one.each(answer, 2) + shift


def _unlogged(y: Floats, share: Floats, positive: Mask) -> tuple[Floats, Floats]:
    """Return values and weights of what was integrated over, of logarithms in some rows."""
    x = np.where(positive[:, None], np.exp(np.where(positive[:, None], y, 0.0)), y)
    return x, np.where(positive[:, None], share * x, share)
