"""What a mixture of one law says: density, distribution, quantiles, modes, classes. Components lie on the last axis.

The law is normal unless another is given. A component with weight 0, or NaN, is absent. One with spread 0 is a point: a sample that was
constant.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize.elementwise import find_root

from perfarray.mixtures.numerics.laws import FARTHEST, NORMAL, Law
from perfarray.numerics.types import Floats, Integers

REACH = np.concatenate([np.linspace(-6.0, -3.25, 12), np.linspace(-3.0, 3.0, 49), np.linspace(3.25, 6.0, 12)])
"""Where modes are looked for, in spreads of every component."""

CELLS = 256
"""Mixtures whose modes are looked for at a time."""


class Mixture(NamedTuple):
    """Parameters of mixtures, shape (..., component): weights, means (of other laws: places), and standard deviations (spreads)."""

    weights: Floats
    means: Floats
    deviations: Floats

    def rows(self) -> "Mixture":
        """Return the mixtures as rows, absent components with weight 0 and harmless numbers."""
        number = np.shape(self.weights)[-1]
        return present(Mixture(*(np.broadcast_to(part, np.shape(self.weights)).reshape(-1, number) for part in self)))

    def take(self, rows: Integers) -> "Mixture":
        """Return some of the rows."""
        return Mixture(*(part[rows] for part in self))


def density(mixture: Mixture, x: Floats, law: Law = NORMAL) -> Floats:
    """Return the density at x, shape (...); infinite at a point."""
    found = _blank(mixture, x)
    for weight, mean, deviation in _components(mixture):
        point = deviation == 0
        spread = np.where(point, 1.0, deviation)
        bell = np.exp(law.log_density(x - mean, spread))
        found = found + weight * np.where(point, np.where(x == mean, np.inf, 0.0), bell)
    return found


def distribution(mixture: Mixture, x: Floats, law: Law = NORMAL) -> Floats:
    """Return the probability of values up to x, shape (...)."""
    found = _blank(mixture, x)
    for weight, mean, deviation in _components(mixture):
        point = deviation == 0
        reached = law.reached(x - mean, np.where(point, 1.0, deviation))
        found = found + weight * np.where(point, np.where(np.isnan(x), np.nan, x >= mean), reached)
    return found


def quantiles(mixture: Mixture, probability: Floats, law: Law = NORMAL) -> Floats:
    """Return where the distribution reaches a probability, shape (...): between the least and the greatest of its components' quantiles."""
    unknown = _blank(mixture, probability)
    shape, number = unknown.shape, np.shape(mixture.weights)[-1]
    rows = Mixture(*(np.broadcast_to(part, (*shape, number)) for part in mixture)).rows()
    wanted = np.broadcast_to(probability, shape).ravel()
    point = rows.deviations == 0
    with np.errstate(invalid="ignore"):
        ends = rows.means + np.where(point, 0.0, law.quantile(wanted[:, None], np.where(point, 1.0, rows.deviations)))
    low, high = (np.where(rows.weights > 0, ends, blank) for blank in (np.inf, -np.inf))
    low, high = low.min(axis=-1), high.max(axis=-1)
    found = np.where(np.isnan(unknown).ravel() | (low != high), np.nan, low)
    open_ = np.flatnonzero(np.isfinite(low) & np.isfinite(high) & (low != high) & ~np.isnan(unknown).ravel())

    def excess(x: Floats, place: Integers) -> Floats:
        return distribution(rows.take(place), x, law) - wanted[place]

    found[open_] = _root(excess, low[open_], high[open_], open_)
    return found.reshape(shape)


def _root(function: Callable[[Floats, Integers], Floats], low: Floats, high: Floats, place: Integers) -> Floats:
    """Close brackets in on a root; where the signs at their ends agree by rounding, the end nearer to it is the root."""
    found = find_root(function, (low, high), args=(place,))
    left, right = found.f_bracket
    nearer = np.where(np.abs(left) <= np.abs(right), found.bracket[0], found.bracket[1])
    return np.asarray(np.where(found.success, found.x, nearer))


def modes(mixture: Mixture, law: Law = NORMAL, tilt: int = 0) -> Floats:
    """Return the local maxima of the density times exp(tilt x), ascending, shape (..., component); NaN past the last.

    All of them lie between the least and the greatest mode of a component. A mixture of normals in one dimension has no more modes than
    components (Carreira-Perpinan and Williams 2003); of other laws no more than these are returned.
    """
    shape = np.shape(mixture.weights)
    rows = mixture.rows()
    found = np.full((int(np.prod(shape[:-1])), shape[-1]), np.nan)
    known = np.flatnonzero((rows.weights > 0).any(axis=-1))
    for start in range(0, len(known), CELLS):
        block = known[start : start + CELLS]
        found[block] = _modes_of_rows(rows.take(block), law, tilt)
    return found.reshape(shape)


def _modes_of_rows(mixture: Mixture, law: Law, tilt: int) -> Floats:
    """Look for falling signs of the slope on a grid fine for every component, and close in on each."""
    weights, means, deviations = mixture
    present = weights > 0
    own = law.mode(np.where(deviations == 0, 1.0, deviations), tilt)
    own = means + np.where(deviations == 0, 0.0, own)
    least = np.where(present, own, np.inf).min(axis=-1, keepdims=True)
    greatest = np.where(present, own, -np.inf).max(axis=-1, keepdims=True)
    center = np.where(np.abs(own - means) < FARTHEST, own, means)
    grid = center[..., None] + deviations[..., None] * REACH
    grid = np.where(present[..., None], grid, least[..., None]).reshape(len(means), -1)
    with np.errstate(invalid="ignore"):
        grid = np.sort(np.clip(grid, least, greatest), axis=-1)
    rising = _forward(np.sign(_slope(mixture, grid, law, tilt)))
    # Left of the least mode the density rises, right of the greatest it falls.
    rising = np.concatenate([np.ones((len(grid), 1)), rising, -np.ones((len(grid), 1))], axis=-1)
    grid = np.concatenate([least, grid, greatest], axis=-1)
    found = np.full(weights.shape, np.nan)
    row, place = np.nonzero((rising[:, :-1] > 0) & (rising[:, 1:] < 0))
    order = np.arange(len(row)) - np.searchsorted(row, row)
    kept = order < weights.shape[-1]
    row, place, order = row[kept], place[kept], order[kept]
    brackets = grid[row, place], grid[row, place + 1]
    found[row, order] = _root(lambda x, owner: _slope(mixture.take(owner), x[:, None], law, tilt)[:, 0], *brackets, row)
    return found


def _slope(mixture: Mixture, x: Floats, law: Law, tilt: int) -> Floats:
    """Return the slope of the density at x (row, place), up to a positive factor that keeps it from vanishing between components."""
    spreads = np.where(mixture.deviations == 0, 1.0, mixture.deviations)
    with np.errstate(divide="ignore"):
        parts = list(zip(np.log(mixture.weights).T[..., None], mixture.means.T[..., None], spreads.T[..., None], strict=True))
    exponents = np.stack([weight + law.log_density(x - mean, spread) for weight, mean, spread in parts])
    largest = exponents.max(axis=0)
    slope = np.zeros_like(x)
    for own, (_, mean, spread) in zip(exponents, parts, strict=True):
        slope += np.exp(own - largest) * (law.score(x - mean, spread) + tilt)
    return slope


def _forward(signs: Floats) -> Floats:
    """Replace zeros by the sign before them; zeros at the beginning count as rising."""
    last = np.maximum.accumulate(np.where(signs != 0, np.arange(signs.shape[-1]), -1), axis=-1)
    return np.where(last < 0, 1.0, np.take_along_axis(signs, np.maximum(last, 0), axis=-1))


def classes(mixture: Mixture, x: Floats, law: Law = NORMAL) -> Floats:
    """Return the number (from 1) of the component a value most probably comes from, shape (...); NaN where x is."""
    found, best = _blank(mixture, x), np.full(np.shape(_blank(mixture, x)), -np.inf)
    for number, (weight, mean, deviation) in enumerate(_components(mixture), 1):
        spread = np.where(deviation == 0, 1.0, deviation)
        with np.errstate(divide="ignore"):
            own = np.log(weight) + law.log_density(x - mean, spread)
        closer = (own > best) | ((found == 0) & (weight > 0))
        found, best = np.where(closer & ~np.isnan(found), number, found), np.where(closer, own, best)
    return found


def _components(mixture: Mixture) -> list[tuple[Floats, Floats, Floats]]:
    """Return weight, mean and standard deviation of every component, absent ones with weight 0."""
    found = []
    for place in range(np.shape(mixture.weights)[-1]):
        weight, mean, deviation = (np.asarray(part)[..., place] for part in mixture)
        present = weight > 0
        found.append((np.where(present, weight, 0.0), np.where(present, mean, 0.0), np.where(present, deviation, 1.0)))
    return found


def _blank(mixture: Mixture, x: Floats) -> Floats:
    """Return zeros of the answer's shape, NaN where x is or where no component is present."""
    known = (np.asarray(mixture.weights) > 0).any(axis=-1)
    return np.where(known, 0.0, np.nan) + np.where(np.isnan(x), np.nan, 0.0)


def draw(mixture: Mixture, shape: tuple[int, ...], generator: np.random.Generator, law: Law = NORMAL) -> Floats:
    """Draw values from one mixture, parameters of shape (component,)."""
    weights, means, deviations = present(mixture)
    edges = np.cumsum(weights)
    chosen = np.searchsorted(edges / edges[-1], generator.random(shape), side="right")
    spread = deviations[chosen]
    return np.asarray(means[chosen] + np.where(spread == 0, 0.0, law.draw(generator, np.where(spread == 0, 1.0, spread))))


def present(mixture: Mixture) -> Mixture:
    """Return mixtures with weight 0 and harmless numbers where a component is absent."""
    there = mixture.weights > 0
    return Mixture(*(np.where(there, part, blank) for part, blank in zip(mixture, (0.0, 0.0, 1.0), strict=True)))


def in_order(weights: Floats, means: Floats, deviations: Floats) -> Mixture:
    """Return mixtures with ascending means, weights that sum to 1 exactly, and NaN for absent components, which go last."""
    present = weights > 0
    order = np.argsort(np.where(present, means, np.inf), axis=-1, kind="stable")
    parts = weights / weights.sum(axis=-1, keepdims=True), np.where(present, means, np.nan), np.where(present, deviations, np.nan)
    return Mixture(*(np.take_along_axis(part, order, axis=-1) for part in parts))
