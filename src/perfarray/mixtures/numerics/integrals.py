"""Comparisons of mixtures of any families: integrals in which no component is missed.

Means of absolute differences and probabilities of two normal mixtures have closed forms
(`parametric`).
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtr

from perfarray.mixtures.numerics import scale
from perfarray.mixtures.numerics.comparison import lots
from perfarray.mixtures.numerics.normal import NormalMixture
from perfarray.mixtures.numerics.scale import Family, Scaled
from perfarray.numerics.types import Floats

# Probabilities at whose quantiles, of every component, the panels of an integral end; of normal
# components every fourth is enough.
SCORES = ndtr(np.linspace(-8.0, 8.0, 41))

# Points of the Gauss-Legendre rule in a panel, and on both sides of its middle.
NODES, SHARES = np.polynomial.legendre.leggauss(12)

# Cells that are integrated together.
BLOCK = 200


def less(x: Scaled, y: Scaled, shift: float, ties: float) -> Floats:
    """Return P[X < Y + shift], shape (...); points that coincide count `ties`."""
    return probabilities([x, y], (0.0, shift), lot=ties)[..., 0]


def best(systems: Sequence[Scaled], ties: bool, sign: float = 1.0) -> Floats:
    """Return the probability of every system to be the least, or with sign -1 the greatest.

    Points that coincide share their probability alike with `ties`: it is averaged over a lot.
    Otherwise they win nothing.
    """
    shifts = (0.0,) * len(systems)
    if not ties:
        return probabilities(systems, shifts, lot=0.0, sign=sign)
    terms = [
        weight * probabilities(systems, shifts, lot=lot, sign=sign)
        for lot, weight in lots(len(systems))
    ]
    return np.asarray(np.sum(terms, axis=0))


def probabilities(
    systems: Sequence[Scaled], shifts: Sequence[float], *, lot: float, sign: float = 1.0
) -> Floats:
    """Return the probability of every system, shifted, to be the least or the greatest.

    `lot` is the share of ties at points that is won. Systems without components are left out, as
    NaN.
    """
    return _by_block(systems, lambda rows: _probabilities(rows, shifts, lot, sign))


def difference(x: Scaled, y: Scaled) -> Floats:
    """Return E|X - Y| = E X + E Y - 2 E min(X, Y), shape (...): infinite where a mean is."""

    def differences(rows: Sequence[Scaled]) -> Floats:
        points, weights, lowest = _rule(rows, (0.0, 0.0))
        survival = np.prod(
            [1 - scale.distribution(system.at_points(), points) for system in rows], axis=0
        )
        return np.asarray(
            sum(scale.mean(system) for system in rows)
            - 2 * (lowest + (weights * survival).sum(axis=-1))
        )

    return _by_block([x, y], differences)


def _by_block(systems: Sequence[Scaled], function: Callable[[Sequence[Scaled]], Floats]) -> Floats:
    """Evaluate a function for blocks of rows, without components that no cell has."""
    shape = np.broadcast_shapes(
        *(np.shape(system.family) for system in systems),
        *(system.mixture.measured.shape for system in systems),
    )
    rows = []
    for system in systems:
        row = system.rows(shape)
        used = np.asarray((row.mixture.weights > 0).any(axis=0))
        used[0] = True
        rows.append(row._replace(mixture=row.mixture.take((slice(None), used))))
    starts = range(
        0, max(len(rows[0].family), 1), BLOCK
    )  # one block without cells where there are none
    answer = np.concatenate(
        [function([row.take(slice(start, start + BLOCK)) for row in rows]) for start in starts]
    )
    return answer.reshape((*shape, *answer.shape[1:]))


def _probabilities(
    systems: Sequence[Scaled], shifts: Sequence[float], lot: float, sign: float
) -> Floats:
    """Integrate over the densities, and sum over points; shape (cell, system)."""
    measured = np.stack([system.mixture.measured for system in systems], axis=-1)
    x, share, _ = _rule(systems, shifts)
    points = [(system.mixture.deviations == 0) & (system.mixture.weights > 0) for system in systems]
    smooth = [
        system._replace(
            mixture=system.mixture._replace(weights=np.where(point, 0.0, system.mixture.weights))
        )
        for system, point in zip(systems, points, strict=True)
    ]

    def losing(number: int, values: Floats) -> Floats:
        """Return the probability to lie beyond values, plus the lot's share of lying there."""
        y, locations = (
            values - shifts[number],
            np.where(points[number], _places(systems[number]), np.inf)[:, None],
        )
        weights = systems[number].mixture.weights[:, None]
        at, up_to = (
            (weights * term).sum(axis=-1)
            for term in (locations == y[..., None], locations <= y[..., None])
        )
        below = np.nan_to_num(scale.distribution(smooth[number].at_points(), y)) + up_to
        return np.where(
            measured[:, number, None], (1 - below if sign > 0 else below - at) + lot * at, 1.0
        )

    answer = np.empty(measured.shape)
    for number, system in enumerate(systems):
        rivals = [rival for rival in range(len(systems)) if rival != number]
        density = np.nan_to_num(
            scale.density(smooth[number].at_points(), x - shifts[number]), posinf=0.0
        )
        answer[:, number] = (
            share * density * np.prod([losing(rival, x) for rival in rivals], axis=0)
        ).sum(axis=-1)
        if points[number].any():
            at = np.where(points[number], _places(system) + shifts[number], 0.0)
            chance = np.prod([losing(rival, at) for rival in rivals], axis=0)
            answer[:, number] += np.where(points[number], system.mixture.weights * chance, 0.0).sum(
                axis=-1
            )
    return np.where(measured, answer, np.nan)


def _places(system: Scaled) -> Floats:
    return system.each(lambda family, mixture: family.from_scale(mixture.means), 1)


def _rule(systems: Sequence[Scaled], shifts: Sequence[float]) -> tuple[Floats, Floats, Floats]:
    """Return points and weights of a Gauss-Legendre rule (cell, point), and the least value.

    It integrates over logarithms where all values are positive and none is shifted.
    """
    with_weight = [system.mixture.weights > 0 for system in systems]
    suited = [
        system.positive | ~components.any(axis=-1)
        for system, components in zip(systems, with_weight, strict=True)
    ]
    positive = np.asarray(np.all(suited, axis=0) & (not any(shifts)))[:, None]
    codes = {code for system in systems for code in np.unique(system.family)}
    scores = SCORES[::4] if codes <= {0} or (codes <= {1} and positive.all()) else SCORES

    def ends_of(family: Family, mixture: NormalMixture) -> Floats:
        spread = np.where(mixture.deviations == 0, 1.0, mixture.deviations)[..., None]
        reach = np.where(
            mixture.deviations[..., None] == 0, 0.0, family.law.quantile(scores, spread)
        )
        y = mixture.means[..., None] + np.where(np.isfinite(reach), reach, 0.0)
        if not family.logs:
            return y
        return np.where(
            positive[..., None], family.logs * y, family.from_scale(np.clip(y, -700, 700))
        )

    ends = np.concatenate(
        [system.each(ends_of, 2) + shift for system, shift in zip(systems, shifts, strict=True)],
        axis=1,
    )
    mask = np.concatenate(with_weight, axis=1)[..., None]
    first = np.where(mask, ends, np.inf).min(axis=(1, 2), keepdims=True)
    ends = np.sort(
        np.where(mask, ends, np.where(np.isfinite(first), first, 0.0)).reshape(len(ends), -1),
        axis=-1,
    )
    middle, half = 0.5 * (ends[:, 1:] + ends[:, :-1]), 0.5 * np.diff(ends)
    y = (middle[..., None] + half[..., None] * NODES).reshape(len(ends), -1)
    weights = (half[..., None] * SHARES).reshape(len(ends), -1)
    x = np.where(positive, np.exp(np.where(positive, y, 0.0)), y)
    lowest = np.where(positive, np.exp(ends[:, :1] * positive), ends[:, :1])[:, 0]
    return x, np.where(positive, weights * x, weights), lowest
