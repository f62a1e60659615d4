"""Comparisons of mixtures: Worms and Touati (2016), equations 7 and 10, and refits.

A component with weight 0 is absent; one with standard deviation 0 is a point: a constant sample.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtr

from perfarray.mixtures.numerics.comparison import (
    MetricComparison,
    rows_of_cells,
)
from perfarray.mixtures.numerics.fit import STOPPED, FitRequest, fit_mixtures, weighted_samples
from perfarray.mixtures.numerics.normal import NormalMixture, classes, draw
from perfarray.mixtures.numerics.scale import NAMES, Scaled, family_of
from perfarray.mixtures.numerics.steps import NORMAL_STEPS, Steps
from perfarray.numerics.random import SAMPLES, Streams
from perfarray.numerics.types import Floats, Integers


def difference(x: NormalMixture, y: NormalMixture) -> Floats:
    """Return E|X - Y|, shape (...): equation 7."""

    def folded(difference: Floats, spread: Floats) -> Floats:
        score = difference / spread
        return np.asarray(
            difference * (2 * ndtr(score) - 1)
            + spread * np.sqrt(2 / np.pi) * np.exp(-0.5 * score**2)
        )

    return _over_pairs(x, y, folded, np.abs)


def less(x: NormalMixture, y: NormalMixture, shift: float = 0.0, ties: float = 0.0) -> Floats:
    """Return P[X < Y + shift], shape (...): equation 10. Points that coincide count `ties`."""

    def at_points(difference: Floats) -> Floats:
        lead = shift - difference
        return np.where(lead == 0, ties, (lead > 0).astype(float))

    return _over_pairs(
        x, y, lambda difference, spread: ndtr((shift - difference) / spread), at_points
    )


def _over_pairs(
    x: NormalMixture,
    y: NormalMixture,
    smooth: Callable[[Floats, Floats], Floats],
    at_points: Callable[[Floats], Floats],
) -> Floats:
    """Return the weighted sum of a function over all pairs of components.

    It is a function of the difference of their means and its standard deviation.

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


def check_normal(fits: Sequence[Scaled], runs: int) -> None:
    """Refuse totals of mixtures of other families.

    Raises
    ------
    ValueError
        A mixture that is not normal.
    """
    codes = np.unique([np.max(fit.family, initial=0) for fit in fits])
    if codes.any():
        raise ValueError(
            f"runs={runs}: totals are of normal mixtures, and these are "
            f"{', '.join(NAMES[code] for code in codes)}; give the timings, or fit normal "
            "components"
        )


def from_parameters(parameters: Floats) -> tuple[Scaled, Floats]:
    """Return mixtures and their n, if known, from parameters (..., parameter, component).

    Rows are weights, means and spreads on the scale, n, and the code of the family.
    """
    weights, means, deviations, n, family = np.moveaxis(parameters, -2, 0)
    codes = np.nan_to_num(family[..., 0]).astype(int)
    return Scaled(NormalMixture(weights, means, deviations), codes), n[..., 0]


def fitted(
    runs: Floats, tolerance: float | None = None, steps: Steps = NORMAL_STEPS, code: int = 0
) -> Scaled:
    """Fit mixtures of up to nine components to runs (..., units, runs) on the scale of a family.

    With a tolerance, runs were drawn, and neighbours of thousands are grouped.
    """
    request = FitRequest(tolerance=tolerance, grouped=tolerance is not None)
    fits = fit_mixtures(*weighted_samples(runs), request, steps)
    mixture = NormalMixture(*(column.reshape(*runs.shape[:-2], -1) for column in fits[:3]))
    return Scaled(mixture, np.full(runs.shape[:-2], code))


def replicates(
    fits: Sequence[Scaled],
    runs: Sequence[Floats] | None,
    units: Sequence[Floats],
    cells: Integers,
    metric: Callable[[Sequence[Scaled]], Floats],
    comparison: MetricComparison,
    *,
    by_system: bool = False,
) -> Floats:
    """Return a metric of mixtures, and of those fitted to samples drawn from them, on a last axis.

    The metric takes one mixture (..., component) per system and returns (...), or (..., system)
    with `each`. `runs` (..., units, runs) are those that were fitted, if known; `cells` are the
    keys of the streams. Refits are NaN where a number of units is unknown or below 2.
    """
    shape = (*cells.shape, len(fits)) if by_system else cells.shape
    answer = np.full((*shape, comparison.n_resamples + 1), np.nan)
    answer[..., 0] = metric(fits)
    if not comparison.n_resamples:
        return answer
    rows = [fit.rows(cells.shape) for fit in fits]
    runs_by_row = [None] * len(fits) if runs is None else rows_of_cells(runs, cells.shape)
    streams = comparison.streams or range(len(fits))
    for row, cell in enumerate(np.ndindex(cells.shape)):  # each has a stream of its own
        if not all(n[cell] >= 2 for n in units):
            continue
        refits = []
        for fit, values, n, stream in zip(rows, runs_by_row, units, streams, strict=True):
            generator = Streams(comparison.key).generator(int(cells[cell]), SAMPLES + stream)
            mixture, code = fit.mixture.take(row), int(fit.family[row])
            family, runs_of_cell = family_of(code), None if values is None else values[row]
            if (
                runs_of_cell is None
                or runs_of_cell.shape[-1] == 1
                or (~np.isnan(runs_of_cell)).sum(axis=-1).max() == 1
            ):
                size = (comparison.n_resamples, int(n[cell]), 1)
                samples = draw(mixture, size, generator, family.law)
            else:
                samples = _smoothed(mixture, runs_of_cell, comparison.n_resamples, generator)
            refits.append(fitted(samples, STOPPED, family.steps, code))
        answer[(*cell, ..., slice(1, None))] = np.moveaxis(metric(refits), 0, -1)
    return answer


def _smoothed(
    mixture: NormalMixture, runs: Floats, number: int, generator: np.random.Generator
) -> Floats:
    """Redraw units, and spread their runs inside the component each comes from.

    Its variance stays what it is.

    The width is Silverman's for the component's share of the runs: ties made by redrawing would
    look like spikes.
    """
    units = runs[~np.isnan(runs).all(axis=-1)]
    component = np.nan_to_num(classes(mixture.take((None, None)), units), nan=1.0).astype(int) - 1
    filled = mixture.present()
    count = np.maximum(filled.weights * (~np.isnan(units)).sum(), 1.0)
    width = (4 / (3 * count)) ** 0.2
    picks = generator.integers(0, len(units), (number, len(units)))
    values, labels = units[picks], component[picks]
    shift = (
        values
        - filled.means[labels]
        + width[labels] * filled.deviations[labels] * generator.standard_normal(values.shape)
    )
    return np.asarray(filled.means[labels] + shift / np.sqrt(1 + width[labels] ** 2))
