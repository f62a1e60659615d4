"""What a mixture of normal distributions says: density, distribution, quantiles, modes, classes. Components lie on the last axis.

A component with weight 0, or NaN, is absent. One with standard deviation 0 is a point: a sample that was constant.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from perfarray.numerics.types import Floats, Integers

STEPS = 200
"""Most halvings and Newton steps of a quantile or mode; a bracket of doubles is used up far earlier."""

REACH = np.concatenate([np.linspace(-6.0, -3.25, 12), np.linspace(-3.0, 3.0, 49), np.linspace(3.25, 6.0, 12)])
"""Where modes are looked for, in standard deviations of every component."""

CELLS = 256
"""Mixtures whose modes are looked for at a time."""


class Mixture(NamedTuple):
    """Parameters of mixtures, shape (..., component)."""

    weights: Floats
    means: Floats
    deviations: Floats

    def rows(self) -> "Mixture":
        """Return the mixtures as rows, absent components with weight 0 and harmless numbers."""
        number = np.shape(self.weights)[-1]
        weights, means, deviations = (np.array(np.broadcast_to(part, np.shape(self.weights)), float).reshape(-1, number) for part in self)
        absent = ~(weights > 0)
        weights[absent], means[absent], deviations[absent] = 0.0, 0.0, 1.0
        return Mixture(weights, means, deviations)


def density(mixture: Mixture, x: Floats) -> Floats:
    """Return the density at x, shape (...); infinite at a point."""
    found = _blank(mixture, x)
    for weight, mean, deviation in _components(mixture):
        point = deviation == 0
        spread = np.where(point, 1.0, deviation)
        bell = np.exp(-0.5 * ((x - mean) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
        found = found + weight * np.where(point, np.where(x == mean, np.inf, 0.0), bell)
    return found


def distribution(mixture: Mixture, x: Floats) -> Floats:
    """Return the probability of values up to x, shape (...)."""
    found = _blank(mixture, x)
    for weight, mean, deviation in _components(mixture):
        point = deviation == 0
        reached = ndtr((x - mean) / np.where(point, 1.0, deviation))
        found = found + weight * np.where(point, np.where(np.isnan(x), np.nan, x >= mean), reached)
    return found


def quantiles(mixture: Mixture, probability: Floats) -> Floats:
    """Return where the distribution reaches a probability, shape (...).

    A quantile of the mixture lies between the least and the greatest of its components' quantiles: Newton steps inside that bracket,
    halvings where a step would leave it.
    """
    score = ndtri(probability)
    low, high = np.full(np.shape(_blank(mixture, score)), np.inf), np.full(np.shape(_blank(mixture, score)), -np.inf)
    with np.errstate(invalid="ignore"):
        for weight, mean, deviation in _components(mixture):
            own = np.where(deviation == 0, mean + 0 * probability, mean + deviation * score)
            low = np.where(weight > 0, np.minimum(low, own), low)
            high = np.where(weight > 0, np.maximum(high, own), high)
    unknown = _blank(mixture, score)
    with np.errstate(invalid="ignore"):
        found = np.where(np.isnan(unknown), np.nan, np.where(low == high, low, 0.5 * (low + high)))
    finite = np.isfinite(low) & np.isfinite(high) & ~np.isnan(unknown)
    bounds = np.where(finite, low, 0.0), np.where(finite, high, 0.0)
    return np.where(finite, _closed_in(mixture, probability, np.where(finite, found, 0.0), *bounds), found)


def _closed_in(mixture: Mixture, probability: Floats, found: Floats, low: Floats, high: Floats) -> Floats:
    """Close brackets of a quantile in on it."""
    for _ in range(STEPS):
        open_ = high - low > 4 * np.spacing(np.maximum(np.abs(low), np.abs(high)))
        if not open_.any():
            break
        error = distribution(mixture, found) - probability
        low, high = np.where(open_ & (error <= 0), found, low), np.where(open_ & (error >= 0), found, high)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = found - error / density(mixture, found)
        inside = (step > low) & (step < high)
        following = np.where(inside, step, 0.5 * (low + high))
        settled = np.abs(following - found) <= 2 * np.spacing(np.abs(found))
        found = np.where(open_, following, found)
        low, high = np.where(open_ & settled, found, low), np.where(open_ & settled, found, high)
    return found


def modes(mixture: Mixture) -> Floats:
    """Return the local maxima of the density, ascending, shape (..., component); NaN past the last.

    A mixture of normals in one dimension has no more modes than components (Carreira-Perpinan and Williams 2003), all of them between
    the least and the greatest mean.
    """
    shape = np.shape(mixture.weights)
    rows = mixture.rows()
    found = np.full((int(np.prod(shape[:-1])), shape[-1]), np.nan)
    known = np.flatnonzero((rows.weights > 0).any(axis=-1))
    for start in range(0, len(known), CELLS):
        block = known[start : start + CELLS]
        found[block] = _modes_of_rows(Mixture(*(part[block] for part in rows)))
    return found.reshape(shape)


def _modes_of_rows(mixture: Mixture) -> Floats:
    """Look for falling signs of the slope on a grid fine for every component, and close in on each."""
    weights, means, deviations = mixture
    present = weights > 0
    least = np.where(present, means, np.inf).min(axis=-1, keepdims=True)
    greatest = np.where(present, means, -np.inf).max(axis=-1, keepdims=True)
    grid = means[..., None] + deviations[..., None] * REACH
    grid = np.where(present[..., None], grid, least[..., None]).reshape(len(means), -1)
    with np.errstate(invalid="ignore"):
        grid = np.sort(np.clip(grid, least, greatest), axis=-1)
    rising = _forward(np.sign(_slope(mixture, grid)))
    # Left of the least mean the density rises, right of the greatest it falls.
    rising = np.concatenate([np.ones((len(grid), 1)), rising, -np.ones((len(grid), 1))], axis=-1)
    grid = np.concatenate([least, grid, greatest], axis=-1)
    found = np.full(weights.shape, np.nan)
    row, place = np.nonzero((rising[:, :-1] > 0) & (rising[:, 1:] < 0))
    order = np.arange(len(row)) - np.searchsorted(row, row)
    kept = order < weights.shape[-1]
    row, place, order = row[kept], place[kept], order[kept]
    found[row, order] = _maximum(Mixture(weights[row], means[row], deviations[row]), grid[row, place], grid[row, place + 1])
    return found


def _maximum(mixture: Mixture, low: Floats, high: Floats) -> Floats:
    """Halve brackets of a falling sign of the slope until they are used up."""
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if not ((middle > low) & (middle < high)).any():
            break
        slope = _slope(mixture, middle[:, None])[:, 0]
        low, high = np.where(slope >= 0, middle, low), np.where(slope <= 0, middle, high)
    return 0.5 * (low + high)


def _slope(mixture: Mixture, x: Floats) -> Floats:
    """Return the slope of the density at x (row, place), up to a positive factor that keeps it from vanishing between components."""
    exponents = _log_terms(mixture, x)
    largest = exponents.max(axis=0)
    slope = np.zeros_like(x)
    for own, mean, deviation in zip(exponents, mixture.means.T, mixture.deviations.T, strict=True):
        spread = np.where(deviation == 0, 1.0, deviation)[:, None]
        slope -= np.exp(own - largest) * (x - mean[:, None]) / spread**2
    return slope


def _log_terms(mixture: Mixture, x: Floats) -> Floats:
    """Return log(weight times density) of every component at x, shape (component, row, place), up to a constant."""
    spread = np.where(mixture.deviations == 0, 1.0, mixture.deviations)
    with np.errstate(divide="ignore"):
        offset = np.log(mixture.weights) - np.log(spread)
    parts = zip(offset.T, mixture.means.T, spread.T, strict=True)
    return np.stack([own[:, None] - 0.5 * ((x - mean[:, None]) / deviation[:, None]) ** 2 for own, mean, deviation in parts])


def _forward(signs: Floats) -> Floats:
    """Replace zeros by the sign before them; zeros at the beginning count as rising."""
    last = np.maximum.accumulate(np.where(signs != 0, np.arange(signs.shape[-1]), -1), axis=-1)
    return np.where(last < 0, 1.0, np.take_along_axis(signs, np.maximum(last, 0), axis=-1))


def classes(mixture: Mixture, x: Floats) -> Floats:
    """Return the number (from 1) of the component a value most probably comes from, shape (...); NaN where x is."""
    found, best = _blank(mixture, x), np.full(np.shape(_blank(mixture, x)), -np.inf)
    for number, (weight, mean, deviation) in enumerate(_components(mixture), 1):
        spread = np.where(deviation == 0, 1.0, deviation)
        with np.errstate(divide="ignore"):
            own = np.log(weight) - np.log(spread) - 0.5 * ((x - mean) / spread) ** 2
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


def draw(mixture: Mixture, cells: Integers, number: int, key: Sequence[int]) -> Floats:
    """Draw values from every mixture, each from the stream of its cell, shape (..., value).

    Parameters
    ----------
    mixture : Mixture
        Parameters of shape (..., component).
    cells : int array, shape (...)
        Numbers of the cells, which name the streams.
    number : int
        Values per cell.
    key : sequence of int
        What all streams begin with.
    """
    shape = np.shape(mixture.weights)[:-1]
    rows = mixture.rows()
    known = np.asarray((rows.weights > 0).any(axis=-1))
    found = np.full((len(known), number), np.nan)
    # One cell at a time, since each has a stream of its own.
    for row, cell in enumerate(np.broadcast_to(cells, shape).ravel().tolist()):
        if known[row]:
            stream = np.random.Generator(np.random.Philox(key=list(key), counter=[0, 0, 0, cell]))
            found[row] = draw_row(Mixture(*(part[row] for part in rows)), number, stream)
    return found.reshape(*shape, number)


def draw_row(mixture: Mixture, number: int, stream: np.random.Generator) -> Floats:
    """Draw values from one mixture."""
    edges = np.cumsum(mixture.weights)
    chosen = np.searchsorted(edges / edges[-1], stream.random(number), side="right")
    return np.asarray(mixture.means[chosen] + mixture.deviations[chosen] * stream.standard_normal(number))


def in_order(weights: Floats, means: Floats, deviations: Floats) -> Mixture:
    """Return mixtures with ascending means, weights that sum to 1 exactly, and NaN for absent components, which go last."""
    present = weights > 0
    order = np.argsort(np.where(present, means, np.inf), axis=-1, kind="stable")
    parts = weights / weights.sum(axis=-1, keepdims=True), np.where(present, means, np.nan), np.where(present, deviations, np.nan)
    return Mixture(*(np.take_along_axis(part, order, axis=-1) for part in parts))
