"""Comparisons of two or more mixtures: Worms and Touati (2016), equations 7 and 10 in closed form, and limits by refitting.

A component with weight 0 is absent; one with standard deviation 0 is a point: a constant sample.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from perfarray.mixtures.numerics.comparison import (
    Comparison,
    Limits,
    number_of_units,
    percentile_limits,
    rows_of_cells,
)
from perfarray.mixtures.numerics.fit import STOPPED, FitRequest, fit_mixtures, weighted_samples
from perfarray.mixtures.numerics.normal import Mixture, classes, draw
from perfarray.mixtures.numerics.scale import NAMES, Scaled, family_of, number_of_modes
from perfarray.mixtures.numerics.steps import NORMAL_STEPS, Steps
from perfarray.numerics.random import SAMPLES, Streams
from perfarray.numerics.types import Floats, Integers

# Rows of an array of given mixtures, whose spreads are those of their scale.
PARAMETERS = ("weight", "mean", "standard_deviation", "n", "family")


class System(NamedTuple):
    """Mixtures (..., component) on their scale, the runs they were fitted to (..., units, runs), if known, and independent units."""

    scaled: Scaled
    runs: Floats | None
    n: Floats


def difference(x: Mixture, y: Mixture) -> Floats:
    """Return E|X - Y|, shape (...): equation 7."""

    def folded(difference: Floats, spread: Floats) -> Floats:
        score = difference / spread
        return np.asarray(
            difference * (2 * ndtr(score) - 1)
            + spread * np.sqrt(2 / np.pi) * np.exp(-0.5 * score**2)
        )

    return _over_pairs(x, y, folded, np.abs)


def less(x: Mixture, y: Mixture, shift: float = 0.0, ties: float = 0.0) -> Floats:
    """Return P[X < Y + shift], shape (...): equation 10. Points that coincide count `ties`."""

    def at_points(difference: Floats) -> Floats:
        lead = shift - difference
        return np.where(lead == 0, ties, (lead > 0).astype(float))

    return _over_pairs(
        x, y, lambda difference, spread: ndtr((shift - difference) / spread), at_points
    )


def _over_pairs(
    x: Mixture,
    y: Mixture,
    smooth: Callable[[Floats, Floats], Floats],
    at_points: Callable[[Floats], Floats],
) -> Floats:
    """Return the weighted sum over all pairs of components of a function of the difference of their means and its standard deviation.

    Where both components are points it is another function, of the difference; NaN where a mixture
    has no components.
    """
    new, old = x.present(), y.present()
    deviation = np.hypot(new.deviations[..., :, None], old.deviations[..., None, :])
    difference = new.means[..., :, None] - old.means[..., None, :]
    terms = np.where(
        deviation > 0,
        smooth(difference, np.where(deviation > 0, deviation, 1.0)),
        at_points(difference),
    )
    total = (new.weights[..., :, None] * old.weights[..., None, :] * terms).sum(axis=(-2, -1))
    return np.where(new.measured & old.measured, total, np.nan)


def check_normal(systems: Sequence[System], runs: int) -> None:
    """Refuse totals of mixtures of other families.

    Raises
    ------
    ValueError
        A mixture that is not normal.
    """
    codes = np.unique([np.max(system.scaled.family, initial=0) for system in systems])
    if codes.any():
        raise ValueError(
            f"runs={runs}: totals are of normal mixtures, and these are "
            f"{', '.join(NAMES[code] for code in codes)}; give the timings, or fit normal components"
        )


def from_parameters(parameters: Floats) -> System:
    """Return mixtures from an array of parameters, shape (..., parameter, component).

    N may be unknown.
    """
    weights, means, deviations, n, family = (
        parameters[..., row, :] for row in range(len(PARAMETERS))
    )
    return System(
        Scaled(Mixture(weights, means, deviations), np.nan_to_num(family[..., 0]).astype(int)),
        None,
        n[..., 0],
    )


def fitted(runs: Floats) -> System:
    """Fit a mixture of normals to every cell, runs of shape (..., units, runs): each unit counts the same."""
    mixture = _fit(runs)
    return System(Scaled(mixture, np.zeros(runs.shape[:-2], int)), runs, number_of_units(runs))


def _fit(runs: Floats, tolerance: float | None = None, steps: Steps = NORMAL_STEPS) -> Mixture:
    """Fit mixtures of up to nine components to runs of shape (..., units, runs), on their scale, and keep the one with the largest BIC.

    With a tolerance, runs were drawn, and neighbours of thousands are grouped.
    """
    fits = fit_mixtures(
        *weighted_samples(runs),
        FitRequest(tolerance=tolerance, grouped=tolerance is not None),
        steps,
    )
    return Mixture(*(column.reshape(*runs.shape[:-2], -1) for column in fits[:3]))


def resampled(
    systems: Sequence[System],
    cells: Integers,
    metric: Callable[[Sequence[Scaled]], Floats],
    comparison: Comparison,
    *,
    each: bool = False,
) -> Limits:
    """Compute a metric of mixtures, shape (...), or (..., system) with `each`, and percentile limits from refitted samples.

    `cells` are the keys of the streams; the metric takes one mixture (..., component) per system,
    on its scale. Limits are NaN where a number of units is unknown or below 2.
    """
    return percentile_limits(
        _replicates(systems, cells, metric, comparison, each), comparison.confidence_level
    )


def resampled_modes(
    system: System, cells: Integers, comparison: Comparison
) -> tuple[Limits, Floats]:
    """Count the modes of mixtures.

    Return the count with percentile limits, and the share of refitted samples that agree with it.
    """
    replicates = _replicates([system], cells, lambda fits: number_of_modes(fits[0]), comparison)
    refitted = replicates[..., 1:]
    stable = (
        (refitted == replicates[..., :1]).mean(axis=-1)
        if comparison.n_resamples
        else np.full(cells.shape, np.nan)
    )
    stable = np.where(np.isnan(refitted).any(axis=-1), np.nan, stable)
    limits = percentile_limits(replicates, comparison.confidence_level)
    return Limits(limits.estimate, np.floor(limits.lower), np.ceil(limits.upper)), stable


def _replicates(
    systems: Sequence[System],
    cells: Integers,
    metric: Callable[[Sequence[Scaled]], Floats],
    comparison: Comparison,
    each: bool = False,
) -> Floats:
    """Return a metric of mixtures, and of those fitted to samples drawn from them, along the last axis."""
    shape = (*cells.shape, len(systems)) if each else cells.shape
    replicates = np.full((*shape, comparison.n_resamples + 1), np.nan)
    replicates[..., 0] = metric([system.scaled for system in systems])
    if comparison.n_resamples:
        scaled = [system.scaled.rows(cells.shape) for system in systems]
        runs = [
            None if system.runs is None else rows_of_cells([system.runs], cells.shape)[0]
            for system in systems
        ]
        numbers = [np.broadcast_to(system.n, cells.shape).ravel() for system in systems]
        streams = comparison.streams or range(len(systems))
        for row, cell in enumerate(np.ndindex(cells.shape)):  # each has a stream of its own
            members = [
                System(mixtures.take(row), None if values is None else values[row], n[row])
                for mixtures, values, n in zip(scaled, runs, numbers, strict=True)
            ]
            refits = [
                _redrawn(member, int(cells[cell]), stream, comparison)
                for stream, member in zip(streams, members, strict=True)
            ]
            complete = [fit for fit in refits if fit is not None]
            if len(complete) == len(systems):
                replicates[(*cell, ..., slice(1, None))] = np.moveaxis(metric(complete), 0, -1)
    return replicates


def _redrawn(system: System, cell: int, stream: int, comparison: Comparison) -> Scaled | None:
    """Draw samples of one cell and fit them on its scale, by EM that stops where mclust does.

    None if there are no two units.
    """
    if not system.n >= 2:
        return None
    generator = Streams(comparison.key).generator(cell, SAMPLES + stream)
    runs, mixture, family = system.runs, system.scaled.mixture, family_of(system.scaled.family)
    if runs is None or runs.shape[-1] == 1 or (~np.isnan(runs)).sum(axis=-1).max() == 1:
        samples = draw(mixture, (comparison.n_resamples, int(system.n), 1), generator, family.law)
    else:
        samples = _smoothed(mixture, runs, comparison.n_resamples, generator)
    return Scaled(
        _fit(samples, STOPPED, family.steps), np.full(comparison.n_resamples, system.scaled.family)
    )


def _smoothed(
    mixture: Mixture, runs: Floats, number: int, generator: np.random.Generator
) -> Floats:
    """Redraw units, and spread their runs inside the component each comes from, whose variance stays what it is.

    The width is Silverman's for the component's share of the runs: ties made by redrawing would
    look like spikes.
    """
    units = runs[~np.isnan(runs).all(axis=-1)]
    component = np.nan_to_num(classes(mixture.take((None, None)), units), nan=1.0).astype(int) - 1
    present = mixture.present()
    count = np.maximum(present.weights * (~np.isnan(units)).sum(), 1.0)
    width = (4 / (3 * count)) ** 0.2
    picks = generator.integers(0, len(units), (number, len(units)))
    values, labels = units[picks], component[picks]
    shift = (
        values
        - present.means[labels]
        + width[labels] * present.deviations[labels] * generator.standard_normal(values.shape)
    )
    return np.asarray(present.means[labels] + shift / np.sqrt(1 + width[labels] ** 2))
