"""Mixtures of one law: density, distribution, quantiles, modes, classes.

Components lie on the last axis.

The law is normal unless another is given. A component with weight 0, or NaN, is absent. One with
spread 0 is a point: a constant sample.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from perfarray.mixtures.numerics.laws import FARTHEST, NORMAL, Law
from perfarray.numerics.types import Floats, Integers, Mask

# Points, in spreads of every component, between which modes are looked for.
REACH = np.concatenate(
    [np.linspace(-6.0, -3.25, 12), np.linspace(-3.0, 3.0, 49), np.linspace(3.25, 6.0, 12)]
)

# Mixtures whose modes are looked for at a time.
CELLS = 256


class NormalMixture(NamedTuple):
    """Parameters (..., component): weights, means or places, standard deviations or spreads."""

    weights: Floats
    means: Floats
    deviations: Floats

    @property
    def measured(self) -> Mask:
        """Return which mixtures have components, shape (...)."""
        return np.asarray((np.asarray(self.weights) > 0).any(axis=-1))

    def take(self, index: Any) -> "NormalMixture":
        """Return the parameters at an index of the arrays."""
        return NormalMixture(*(np.asarray(column)[index] for column in self))

    def where(self, mask: Mask) -> "NormalMixture":
        """Return the mixtures with blank numbers in place of components that are not chosen."""
        return NormalMixture(
            *(
                np.where(mask, column, blank)
                for column, blank in zip(self, (0.0, 0.0, 1.0), strict=True)
            )
        )

    def present(self) -> "NormalMixture":
        """Return the mixtures with harmless numbers in place of absent components."""
        return self.where(np.asarray(self.weights) > 0)

    def rows(self, shape: tuple[int, ...]) -> "NormalMixture":
        """Return mixtures of a shape as rows, absent components with harmless numbers."""
        number = np.shape(self.weights)[-1]
        return NormalMixture(
            *(np.broadcast_to(column, (*shape, number)).reshape(-1, number) for column in self)
        ).present()


def density(mixture: NormalMixture, x: Floats, law: Law = NORMAL) -> Floats:
    """Return the density at x, shape (...); infinite at a point."""
    return _weighted_sum(
        mixture,
        x,
        lambda d, spread: np.exp(law.log_density(d, spread)),
        lambda d: np.where(d == 0, np.inf, 0.0),
    )


def distribution(mixture: NormalMixture, x: Floats, law: Law = NORMAL) -> Floats:
    """Return the probability of values up to x, shape (...)."""
    return _weighted_sum(mixture, x, law.cdf, lambda d: np.where(np.isnan(d), np.nan, d >= 0))


def _weighted_sum(
    mixture: NormalMixture,
    x: Floats,
    smooth: Callable[[Floats, Floats], Floats],
    at_point: Callable[[Floats], Floats],
) -> Floats:
    """Return the weighted sum of a function of deviations and spreads, or of points' deviations."""
    total = _blank(mixture, x)
    for weight, mean, deviation in _components(mixture):
        point = deviation == 0
        total = total + weight * np.where(
            point, at_point(x - mean), smooth(x - mean, np.where(point, 1.0, deviation))
        )
    return total


def quantiles(mixture: NormalMixture, probability: Floats, law: Law = NORMAL) -> Floats:
    """Return where the distribution reaches a probability, shape (...)."""
    unknown = _blank(mixture, probability)
    rows = mixture.rows(unknown.shape)
    targets = np.broadcast_to(probability, unknown.shape).ravel()
    point = rows.deviations == 0
    # A quantile lies between the least and the greatest of those of the components.
    with np.errstate(invalid="ignore"):
        ends = rows.means + np.where(
            point, 0.0, law.quantile(targets[:, None], np.where(point, 1.0, rows.deviations))
        )
    low, high = (np.where(rows.weights > 0, ends, blank) for blank in (np.inf, -np.inf))
    low, high = low.min(axis=-1), high.max(axis=-1)
    roots = np.where(np.isnan(unknown).ravel() | (low != high), np.nan, low)
    bracketed = np.flatnonzero(
        np.isfinite(low) & np.isfinite(high) & (low != high) & ~np.isnan(unknown).ravel()
    )

    def excess(x: Floats, row: Integers) -> Floats:
        return distribution(rows.take(row), x, law) - targets[row]

    roots[bracketed] = _root(excess, low[bracketed], high[bracketed], bracketed)
    return roots.reshape(unknown.shape)


def _root(
    function: Callable[[Floats, Integers], Floats], low: Floats, high: Floats, row: Integers
) -> Floats:
    """Return roots inside brackets.

    Where the signs at their ends agree by rounding, the end nearer to the root.
    """
    from scipy.optimize.elementwise import find_root

    result = find_root(function, (low, high), args=(row,))
    low_value, high_value = result.f_bracket
    nearer = np.where(np.abs(low_value) <= np.abs(high_value), result.bracket[0], result.bracket[1])
    return np.asarray(np.where(result.success, result.x, nearer))


def modes(
    mixture: NormalMixture, law: Law = NORMAL, tilt: int = 0, *, count_only: bool = False
) -> Floats:
    """Return the local maxima of the density times exp(tilt x), ascending, shape (..., component).

    NaN past the last.

    All of them lie between the least and the greatest mode of a component. A mixture of normals in
    one dimension has no more modes than components (Carreira-Perpinan and Williams 2003); of other
    laws no more than these are returned. If modes are only `counted`, points next to them stand for
    them.
    """
    shape = np.shape(mixture.weights)
    rows = mixture.rows(shape[:-1])
    peaks = np.full(rows.weights.shape, np.nan)
    measured = np.flatnonzero(rows.measured)
    for start in range(0, len(measured), CELLS):
        block = measured[start : start + CELLS]
        peaks[block] = _modes_of_rows(rows.take(block), law, tilt, count_only)
    return peaks.reshape(shape)


def _modes_of_rows(mixture: NormalMixture, law: Law, tilt: int, count_only: bool) -> Floats:
    """Find falling signs of the slope on a fine grid, and solve for each root."""
    weights, means, deviations = mixture
    with_weight = weights > 0
    summits = law.mode(np.where(deviations == 0, 1.0, deviations), tilt)
    summits = means + np.where(deviations == 0, 0.0, summits)
    lowest = np.where(with_weight, summits, np.inf).min(axis=-1, keepdims=True)
    greatest = np.where(with_weight, summits, -np.inf).max(axis=-1, keepdims=True)
    center = np.where(np.abs(summits - means) < FARTHEST, summits, means)
    grid = center[..., None] + deviations[..., None] * REACH
    grid = np.where(with_weight[..., None], grid, lowest[..., None]).reshape(len(means), -1)
    with np.errstate(invalid="ignore"):
        grid = np.sort(np.clip(grid, lowest, greatest), axis=-1)
    signs = np.sign(_slope(mixture, grid, law, tilt))
    # A zero has the sign before it; zeros at the beginning count as rising.
    last = np.maximum.accumulate(np.where(signs != 0, np.arange(signs.shape[-1]), -1), axis=-1)
    rising = np.where(last < 0, 1.0, np.take_along_axis(signs, np.maximum(last, 0), axis=-1))
    # The density rises to the left of the least mode, and falls to the right of the greatest.
    rising = np.concatenate([np.ones((len(grid), 1)), rising, -np.ones((len(grid), 1))], axis=-1)
    grid = np.concatenate([lowest, grid, greatest], axis=-1)
    peaks = np.full(weights.shape, np.nan)
    row, column = np.nonzero((rising[:, :-1] > 0) & (rising[:, 1:] < 0))
    order = np.arange(len(row)) - np.searchsorted(row, row)
    in_room = order < weights.shape[-1]
    row, column, order = row[in_room], column[in_room], order[in_room]
    brackets = grid[row, column], grid[row, column + 1]
    peaks[row, order] = (
        brackets[0]
        if count_only
        else _root(
            lambda x, owner: _slope(mixture.take(owner), x[:, None], law, tilt)[:, 0],
            *brackets,
            row,
        )
    )
    return peaks


def _slope(mixture: NormalMixture, x: Floats, law: Law, tilt: int) -> Floats:
    """Return the slope of the density at x (row, point), up to a positive factor.

    The factor keeps it from vanishing between components.
    """
    spreads = np.where(mixture.deviations == 0, 1.0, mixture.deviations)
    with np.errstate(divide="ignore"):
        components = list(
            zip(
                np.log(mixture.weights).T[..., None],
                mixture.means.T[..., None],
                spreads.T[..., None],
                strict=True,
            )
        )
    exponents = np.stack(
        [log_weight + law.log_density(x - mean, spread) for log_weight, mean, spread in components]
    )
    largest = exponents.max(axis=0)
    slope = np.zeros_like(x)
    for exponent, (_, mean, spread) in zip(exponents, components, strict=True):
        slope += np.exp(exponent - largest) * (law.score(x - mean, spread) + tilt)
    return slope


def classes(mixture: NormalMixture, x: Floats, law: Law = NORMAL) -> Floats:
    """Return the number (from 1) of the component a value most probably comes from, shape (...).

    NaN where x is.
    """
    nearest = _blank(mixture, x)
    best = np.full(nearest.shape, -np.inf)
    for number, (weight, mean, deviation) in enumerate(_components(mixture), 1):
        spread = np.where(deviation == 0, 1.0, deviation)
        with np.errstate(divide="ignore"):
            log_density = np.log(weight) + law.log_density(x - mean, spread)
        closer = (log_density > best) | ((nearest == 0) & (weight > 0))
        nearest = np.where(closer & ~np.isnan(nearest), number, nearest)
        best = np.where(closer, log_density, best)
    return nearest


def _components(mixture: NormalMixture) -> Iterator[NormalMixture]:
    """Yield weight, mean and standard deviation of every component, absent ones with weight 0."""
    mixtures = mixture.present()
    return (mixtures.take((..., column)) for column in range(np.shape(mixture.weights)[-1]))


def _blank(mixture: NormalMixture, x: Floats) -> Floats:
    """Return zeros of the answer's shape, NaN where x is or where no component is present."""
    return np.where(mixture.measured, 0.0, np.nan) + np.where(np.isnan(x), np.nan, 0.0)


def draw(
    mixture: NormalMixture,
    shape: tuple[int, ...],
    generator: np.random.Generator,
    law: Law = NORMAL,
) -> Floats:
    """Draw values from one mixture, parameters of shape (component,)."""
    weights, means, deviations = mixture.present()
    members = draw_components(weights, shape, generator)
    spread = deviations[members]
    return np.asarray(
        means[members]
        + np.where(spread == 0, 0.0, law.draw(generator, np.where(spread == 0, 1.0, spread)))
    )


def draw_components(
    weights: Floats, shape: int | tuple[int, ...], generator: np.random.Generator
) -> Integers:
    """Draw positions of components."""
    edges = np.cumsum(weights)
    return np.asarray(np.searchsorted(edges / edges[-1], generator.random(shape), side="right"))
