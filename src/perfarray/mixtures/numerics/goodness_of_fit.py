"""Does a mixture describe a sample: Kolmogorov-Smirnov distance, calibrated by samples drawn from the mixture and fitted anew."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from perfarray.mixtures.numerics.fit import FitRequest
from perfarray.mixtures.numerics.grid import steps_of
from perfarray.mixtures.numerics.normal import Mixture
from perfarray.mixtures.numerics.scale import Scaled, distribution, draw_from, fit_on_scale
from perfarray.numerics.random import SAMPLES, Streams
from perfarray.numerics.types import Floats, Integers, Mask

AUTO = "auto"
"""That a step is to be found."""

VALUES = 1 << 20
"""Values drawn at a time."""

TOGETHER = 1 << 16
"""Values of small samples that are fitted at once, in half to two thirds of the time; of several families fewer: cells are counted."""


class Calibration(NamedTuple):
    """How a distance is calibrated.

    Parameters
    ----------
    n_resamples : int
        Samples drawn from the mixture of every sample.
    undersample : float
        Their size as a share of the sample's.
    resolution : float, "auto" or None
        What drawn values are rounded to; "auto": the step of the sample, where it has one.
    alpha : float
        The risk the critical value belongs to.
    key : tuple of two int
        What all streams begin with.
    """

    n_resamples: int
    undersample: float
    resolution: float | str | None
    alpha: float
    key: tuple[int, int]


class Fitness(NamedTuple):
    """Distance, critical value, p-value, its Monte Carlo error, the step drawn values were rounded to (0: none), and distances drawn."""

    statistic: Floats
    critical_value: Floats
    pvalue: Floats
    pvalue_error: Floats
    resolution: Floats
    drawn: Floats


class Grid(NamedTuple):
    """What the values of a sample are multiples of (0: nothing), and one of them."""

    step: float
    first: float


def ks_distance(values: Floats, weights: Floats | None, own: Scaled) -> Floats:
    """Return the largest distance between the empirical distribution and a mixture's, on both sides of every step.

    Parameters
    ----------
    values : array, shape (sample, value)
        NaN where not measured.
    weights : array, shape (sample, value), optional
        What each value counts; default: 1.
    own : Scaled
        Parameters of shape (sample, component).

    Returns
    -------
    array, shape (sample,)
    """
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    measured = ~np.isnan(ordered)
    shares = measured.astype(float) if weights is None else np.where(measured, np.take_along_axis(weights, order, axis=-1), 0.0)
    steps = np.cumsum(shares, axis=-1)
    total = steps[:, -1:]
    fitted = distribution(Scaled(Mixture(*(part[:, None, :] for part in own.mixture)), np.asarray(own.family)[:, None]), ordered)
    with np.errstate(invalid="ignore"):
        below, above = fitted - (steps - shares) / total, steps / total - fitted
    found = np.where(measured, np.maximum(below, above), -np.inf).max(axis=-1, initial=-np.inf)
    # A constant sample is its own distribution: the step on both sides is at the same place.
    point = (own.mixture.deviations == 0).any(axis=-1)
    return np.where(np.isfinite(found), np.where(point, 0.0, found), np.nan)


def fitted(values: Floats, weights: Floats | None, request: FitRequest) -> Scaled:
    """Fit samples, shape (sample, value)."""
    fits, family = fit_on_scale(values, weights, request)
    return Scaled(Mixture(fits.weights, fits.means, fits.deviations), family)


def calibrated_fit(
    values: Floats,
    weights: Floats | None,
    own: Scaled,
    cells: Integers,
    request: FitRequest,
    calibration: Calibration,
    after_each: Callable[[], object] | None = None,
) -> Fitness:
    """Calibrate the distance of every sample by samples drawn from its mixture; K is chosen anew for each.

    Parameters
    ----------
    values, weights
        As for `ks_distance`.
    own : Scaled
        Parameters of shape (sample, component).
    cells : int array, shape (sample,)
        Keys of the cells, which name the streams of random numbers.
    request : FitRequest
        How drawn samples are fitted.
    calibration : Calibration
        How they are drawn.
    after_each : callable, optional
        Called when a sample is done.
    """
    observed, mixture = ks_distance(values, weights, own), own.mixture
    n = (~np.isnan(values)).sum(axis=-1)
    critical_value, pvalue, pvalue_error = (np.full(len(values), np.nan) for _ in range(3))
    blank = np.full((len(values), calibration.n_resamples), np.nan)
    found = Fitness(observed, critical_value, pvalue, pvalue_error, _steps(values, calibration.resolution), blank)
    first = np.where(n > 0, np.nanmin(values, axis=-1, initial=np.inf), 0.0) if calibration.resolution == AUTO else np.zeros(len(values))
    testable = (mixture.deviations > 0).any(axis=-1) & (n > 0)
    streams, size = Streams(calibration.key), np.maximum(1, np.floor(calibration.undersample * n + 0.5).astype(int))
    for rows in _together(testable, size, calibration.n_resamples * len(request.families)):
        sources = [Scaled(Mixture(*(part[row] for part in mixture)), np.asarray(own.family)[row]) for row in rows]
        generators = [streams.generator(int(cells[row]), SAMPLES) for row in rows]
        grids = [Grid(found.resolution[row], first[row]) for row in rows]
        for start, stop in _parts(calibration.n_resamples, int(size[rows[0]])):
            shape = (stop - start, int(size[rows[0]]))
            samples = np.concatenate([_sample(*each, shape) for each in zip(sources, generators, grids, strict=True)])
            distances = ks_distance(samples, None, fitted(samples, None, replace(request, grouped=True)))
            found.drawn[rows, start:stop] = distances.reshape(len(rows), -1)
        for row in rows:
            _judge(found, row, calibration)
            if after_each:
                after_each()
    if after_each:
        for _ in range(np.count_nonzero(~testable)):
            after_each()
    return found


def _together(testable: Mask, size: Integers, fits: int) -> Iterator[Integers]:
    """Yield cells whose samples are fitted at once: of one size, so that none has gaps, and not too many values.

    Of many small samples, the price of a step of EM is that of calling it, and the slowest sample of all takes the steps of all.
    """
    for own in np.unique(size[testable]):
        alike = np.flatnonzero(testable & (size == own))
        step = max(1, TOGETHER // (int(own) * fits))
        yield from (alike[start : start + step] for start in range(0, len(alike), step))


def _parts(n_resamples: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield from which to which sample of a cell is drawn at once."""
    step = max(1, VALUES // size)
    yield from ((start, min(start + step, n_resamples)) for start in range(0, n_resamples, step))


def _judge(found: Fitness, row: int, calibration: Calibration) -> None:
    """Put down what the distances drawn say of a sample."""
    drawn, number = found.drawn[row], calibration.n_resamples
    found.critical_value[row] = np.sort(drawn)[critical_place(number, calibration.alpha)]
    exceed = float((drawn > found.statistic[row]).sum())
    found.pvalue[row] = exceed / number
    # Where none or all exceed, the error of p is that of one that does or does not.
    inside = min(max(exceed, number / (number + 1)), number**2 / (number + 1)) / number
    found.pvalue_error[row] = np.sqrt(inside * (1 - inside) / number)


def critical_place(number: int, alpha: float) -> int:
    """Return the place (from 0) of the critical value among ordered distances: the integer part of N (1 - alpha), counted from 1."""
    return max(0, int(np.floor(number * (1 - alpha) + 1e-9)) - 1)


def _sample(own: Scaled, generator: np.random.Generator, grid: Grid, shape: tuple[int, int]) -> Floats:
    """Draw samples, and round them to the grid of the data; what is positive does not become 0."""
    values = draw_from(own, shape, generator)
    if grid.step > 0:
        values = grid.first + np.round((values - grid.first) / grid.step) * grid.step
        values = np.where(own.positive, np.maximum(values, grid.step), values)
    return values


def _steps(values: Floats, resolution: float | str | None) -> Floats:
    """Return what samples were rounded to, 0 where that is nothing."""
    return np.nan_to_num(steps_of(values)) if resolution == AUTO else np.full(len(values), float(resolution or 0.0))
