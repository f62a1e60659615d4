"""Origins of modes: the mode of every run, and the share of the variation that is explained.

If modes do not go with a factor, the units that carry it are exchangeable: the share of random
exchanges that explain as much is p.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from perfarray.mixtures.numerics.fit import FitRequest, fit_mixtures
from perfarray.mixtures.numerics.normal import NormalMixture, density, modes
from perfarray.numerics.dependence import mid_ranks
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats, Integers

# Intervals of an order whose shares are reported.
QUARTERS = 4

# A parabola in the ranks sees a drift, and a stretch in the middle.
DEGREE = 2

# Values of exchanged units computed at once.
VALUES = 1 << 20

# Explained shares that differ by less are equal.
ROUNDING = 1e-9


class Factor(NamedTuple):
    """How a factor is tested."""

    unit: int  # depth in the nest of the units that are exchanged
    inside: int  # number of outer levels inside whose units they stay
    ranked: bool  # an order, or numbers
    stream: int


def modes_of_runs(runs: Floats, request: FitRequest) -> Floats:
    """Return the mode (from 0, ascending) that every run belongs to, shape of the runs (cell, run).

    NaN where not measured.

    Every run counts the same, so that the modes do not depend on the units of the runs. Runs are
    divided where the density of their mixture is least between two of its modes.
    """
    mixtures = NormalMixture(*fit_mixtures(runs, None, request)[:3])
    numbers = np.full(runs.shape, np.nan)
    for row, (sample, peaks) in enumerate(
        zip(runs, modes(mixtures), strict=True)
    ):  # one cell after the other: each has other modes
        measured, peaks = ~np.isnan(sample), peaks[~np.isnan(peaks)]
        edges = _edges(mixtures.take(row), np.unique(sample[measured]), peaks)
        numbers[row, measured] = np.unique(
            np.searchsorted(edges, sample[measured]), return_inverse=True
        )[1]
    return numbers


def _edges(mixture: NormalMixture, distinct: Floats, peaks: Floats) -> Floats:
    """Return the midpoints of runs where the density is least, between neighbouring modes."""
    midpoints = 0.5 * (distinct[1:] + distinct[:-1])
    height = density(mixture, midpoints)
    edges = []
    for low, high in pairwise(peaks):
        inside = (midpoints > low) & (midpoints < high)
        edges.append(
            midpoints[inside][height[inside].argmin()] if inside.any() else 0.5 * (low + high)
        )
    return np.array(edges)


def associated(
    numbers: Floats,
    codes: Floats,
    factor: Factor,
    n_modes: int,
    *,
    n_labels: int,
    n_resamples: int,
    generator: np.random.Generator,
) -> tuple[Floats, float, float, float, float]:
    """Return how much of the modes' variation inside parents a factor explains, and p.

    Given are the mode and the code of every run (n_L, ..., n_V), NaN where not known. Returns
    shares (label, mode), the share explained, its p-value, the smallest possible p, and the number
    of units.
    """
    levels = numbers.ndim - factor.unit
    indicators = np.where(
        np.isnan(numbers), np.nan, numbers == np.arange(n_modes).reshape(-1, *[1] * numbers.ndim)
    )
    unit_shares = unit_means(indicators, levels).reshape(n_modes, -1).T
    unit_codes = unit_means(np.where(np.isnan(numbers), np.nan, codes), levels)
    size = int(np.prod(unit_codes.shape[factor.inside :]))
    valid = ~(np.isnan(unit_shares[:, 0]) | np.isnan(unit_codes.ravel()))
    parents = np.arange(unit_codes.size)[valid] // size
    unit_shares, unit_codes = unit_shares[valid], unit_codes.ravel()[valid]
    n = len(unit_codes)
    shares = np.full((n_labels, n_modes), np.nan)
    if not n:
        return shares, np.nan, np.nan, np.nan, 0.0
    ranks = mid_ranks(unit_codes)
    label = (QUARTERS * (ranks - 0.5) // n if factor.ranked else unit_codes).astype(int)
    counts = np.bincount(label, minlength=n_labels)
    for mode in range(n_modes):
        with np.errstate(invalid="ignore"):
            shares[:, mode] = np.bincount(label, unit_shares[:, mode], n_labels) / np.where(
                counts, counts, np.nan
            )
    columns = [ranks**power for power in range(1, DEGREE + 1)] if factor.ranked else [unit_codes]
    basis = _within_parents(np.stack(columns, axis=-1), parents)
    if (
        n_modes < 2 or not (np.abs(basis) > ROUNDING).any()
    ):  # nothing to explain, or the units of each parent are alike in it
        return shares, np.nan, np.nan, np.nan, float(n)
    centred = _within_parents(unit_shares, parents)
    total = (centred**2).sum()
    if total <= ROUNDING:
        return shares, 0.0, 1.0, 1.0, float(n)
    explained = _explained_by_curve(basis) if factor.ranked else _explained_by_labels(unit_codes)
    observed = float(explained(centred[None])[0] / total)
    exchanged = np.empty(n_resamples)
    step = max(1, VALUES // centred.size)
    for start in range(0, n_resamples, step):
        order = np.argsort(parents + generator.random((min(step, n_resamples - start), n)), axis=-1)
        exchanged[start : start + step] = explained(centred[order]) / total
    largest = max(observed, exchanged.max(initial=0.0)) - ROUNDING
    pvalue, smallest = (
        (1 + (exchanged >= threshold).sum()) / (n_resamples + 1)
        for threshold in (observed - ROUNDING, largest)
    )
    return shares, min(observed, 1.0), float(pvalue), float(smallest), float(n)


def _within_parents(values: Floats, parents: Integers) -> Floats:
    """Return values (unit, column) less the mean of their parent's."""
    counts = np.bincount(parents)
    sums = np.stack([np.bincount(parents, column) for column in values.T], axis=-1)
    return np.asarray(values - sums[parents] / counts[parents][:, None])


def _explained_by_curve(basis: Floats) -> Callable[[Floats], Floats]:
    """Return a function that sums squares explained by a curve, of (draw, unit, mode)."""
    vectors, sizes, _ = np.linalg.svd(
        basis / np.abs(basis).max(axis=0).clip(ROUNDING), full_matrices=False
    )
    curve = vectors[:, sizes > ROUNDING * sizes[0]].T
    return lambda shares: (np.matmul(curve, shares) ** 2).sum(axis=(1, 2))


def _explained_by_labels(codes: Floats) -> Callable[[Floats], Floats]:
    """Return a function that sums the squares explained by labels, of shares (draw, unit, mode)."""
    order = np.argsort(codes, kind="stable")
    _, first, count = np.unique(codes[order], return_index=True, return_counts=True)
    return lambda shares: (
        np.add.reduceat(shares[:, order], first, axis=1) ** 2 / count[:, None]
    ).sum(axis=(1, 2))
