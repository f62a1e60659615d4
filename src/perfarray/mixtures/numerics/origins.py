"""What modes go with: the mode of every run, and the share of the modes' variation that labels, or a curve in an order, explain.

Units that are exchangeable where modes do not go with a factor change places at random; how often they then explain as much is p.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from perfarray.mixtures.numerics.fit import FitRequest, fit_mixtures
from perfarray.mixtures.numerics.normal import Mixture, density, modes
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats, Integers

QUARTERS = 4
"""Parts of an order whose shares are told."""

DEGREE = 2
"""A parabola in the ranks: it sees a drift, and a stretch in the middle."""

VALUES = 1 << 20
"""Values of exchanged units held at once."""

NEAR = 1e-9
"""Shares explained that differ by less are the same."""


class Factor(NamedTuple):
    """How a factor is tested.

    Parameters
    ----------
    unit : int
        The place in the nest of the units that change places.
    inside : int
        The number of outer levels inside whose units they stay.
    ranked : bool
        Whether it is an order, or numbers.
    stream : int
        The number of its stream.
    """

    unit: int
    inside: int
    ranked: bool
    stream: int


class Units(NamedTuple):
    """Exchangeable units, those of one parent beside each other: shares of modes (unit, mode), codes and parents (unit,)."""

    shares: Floats
    codes: Floats
    parents: Integers


class Association(NamedTuple):
    """The share of the modes' variation explained, its p-value, the smallest p there is, units, and shares (label, mode)."""

    statistic: float
    pvalue: float
    smallest: float
    n: float
    shares: Floats


def modes_of_runs(runs: Floats, request: FitRequest) -> Floats:
    """Return the mode (from 0, ascending) that every run belongs to, shape of the runs (cell, run); NaN where not measured.

    Every run counts the same, so that the modes do not know which units runs belong to. Runs are cut where the density of their mixture
    is least between two of its modes.
    """
    fits = fit_mixtures(runs, None, request)
    places = modes(Mixture(*fits[:3]))
    found = np.full(runs.shape, np.nan)
    for row, (own, tops) in enumerate(zip(runs, places, strict=True)):  # one after the other: each has other modes
        measured, tops = ~np.isnan(own), tops[~np.isnan(tops)]
        cuts = _cuts(Mixture(*(part[row] for part in fits[:3])), np.unique(own[measured]), tops)
        number = np.searchsorted(cuts, own[measured])
        found[row, measured] = np.unique(number, return_inverse=True)[1]
    return found


def _cuts(mixture: Mixture, distinct: Floats, tops: Floats) -> Floats:
    """Return the places between two runs where the density is least, one between two neighbouring modes."""
    between = 0.5 * (distinct[1:] + distinct[:-1])
    height = density(Mixture(*(part[None] for part in mixture)), between)
    found = []
    for low, high in pairwise(tops):
        inside = (between > low) & (between < high)
        found.append(between[inside][height[inside].argmin()] if inside.any() else 0.5 * (low + high))
    return np.array(found)


def units_of(own: Floats, codes: Floats, factor: Factor, most: int) -> Units:
    """Return the units that change places.

    Parameters
    ----------
    own, codes : array, shape (n_L, ..., n_V)
        The mode of every run, and the label or the number that it carries; NaN is not known.
    factor : Factor
        Which units they are.
    most : int
        The number of modes.
    """
    levels = own.ndim - factor.unit
    indicators = np.where(np.isnan(own), np.nan, own == np.arange(most).reshape(-1, *[1] * own.ndim))
    shares = unit_means(indicators, levels).reshape(most, -1).T
    carried = unit_means(np.where(np.isnan(own), np.nan, codes), levels)
    size = int(np.prod(carried.shape[factor.inside :]))
    known = ~(np.isnan(shares[:, 0]) | np.isnan(carried.ravel()))
    return Units(shares[known], carried.ravel()[known], np.arange(carried.size)[known] // size)


def associated(units: Units, factor: Factor, labels: int, number: int, generator: np.random.Generator) -> Association:
    """Return how much of the modes' variation inside parents a factor explains, and how often exchanged units explain as much.

    Parameters
    ----------
    units : Units
        What changes places inside parents.
    factor : Factor
        Of what kind the codes are.
    labels : int
        The number of all labels there are.
    number : int
        How often units change places.
    generator : Generator
        Where chance comes from.
    """
    n, kinds = len(units.codes), units.shares.shape[1]
    shares = np.full((labels, kinds), np.nan)
    if not n:
        return Association(np.nan, np.nan, np.nan, 0.0, shares)
    ranks = _ranks(units.codes)
    coded = (QUARTERS * (ranks - 0.5) // n if factor.ranked else units.codes).astype(int)
    counts = np.bincount(coded, minlength=labels)
    for kind in range(kinds):
        with np.errstate(invalid="ignore"):
            shares[:, kind] = np.bincount(coded, units.shares[:, kind], labels) / np.where(counts, counts, np.nan)
    basis = _inside(np.stack([ranks**power for power in range(1, DEGREE + 1)] if factor.ranked else [units.codes], axis=-1), units.parents)
    if not (np.abs(basis) > NEAR).any():  # no two units of one parent differ in it
        return Association(np.nan, np.nan, np.nan, float(n), shares)
    centred = _inside(units.shares, units.parents)
    total = (centred**2).sum()
    if total <= NEAR:
        return Association(0.0, 1.0, 1.0, float(n), shares)
    explained = _along(basis) if factor.ranked else _among(units.codes)
    observed = float(explained(centred[None])[0] / total)
    drawn = np.concatenate([explained(block) for block in _exchanged(centred, units.parents, number, generator)]) / total
    largest = max(observed, drawn.max(initial=0.0)) - NEAR
    pvalue, smallest = ((1 + (drawn >= least).sum()) / (number + 1) for least in (observed - NEAR, largest))
    return Association(min(observed, 1.0), float(pvalue), float(smallest), float(n), shares)


def _inside(values: Floats, parents: Integers) -> Floats:
    """Return values (unit, column) less the mean of their parent's."""
    counts = np.bincount(parents)
    sums = np.stack([np.bincount(parents, column) for column in values.T], axis=-1)
    return np.asarray(values - sums[parents] / counts[parents][:, None])


def _ranks(codes: Floats) -> Floats:
    """Return ranks from 1, the mean of their places for ties."""
    _, place, count = np.unique(codes, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - 0.5 * (count - 1))[place]


def _along(basis: Floats) -> Callable[[Floats], Floats]:
    """Return what sums the squares that a curve explains, of shares (draw, unit, mode)."""
    left, sizes, _ = np.linalg.svd(basis / np.abs(basis).max(axis=0).clip(NEAR), full_matrices=False)
    curve = left[:, sizes > NEAR * sizes[0]].T
    return lambda shares: (np.matmul(curve, shares) ** 2).sum(axis=(1, 2))


def _among(codes: Floats) -> Callable[[Floats], Floats]:
    """Return what sums the squares that labels explain, of shares (draw, unit, mode)."""
    order = np.argsort(codes, kind="stable")
    _, first, count = np.unique(codes[order], return_index=True, return_counts=True)
    return lambda shares: (np.add.reduceat(shares[:, order], first, axis=1) ** 2 / count[:, None]).sum(axis=(1, 2))


def _exchanged(centred: Floats, parents: Integers, number: int, generator: np.random.Generator) -> Iterator[Floats]:
    """Yield blocks of the units' shares after they changed places inside their parents, shape (draw, unit, mode)."""
    step = max(1, VALUES // centred.size)
    for start in range(0, number, step):
        places = np.argsort(parents + generator.random((min(step, number - start), len(parents))), axis=-1)
        yield centred[places]
