"""Variance components by restricted or full maximum likelihood, for nested repetitions.

Fisher scoring far from the maximum (exact in one step on balanced data), Newton near it; components
are kept at or above zero by an active set, and steps are halved until the likelihood grows
(projected Newton: Bertsekas 1982). All cells of a block step together.
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.levels import mean_of_measured
from perfarray.numerics.nested_anova import Components
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.variation.numerics.component_intervals import patterns
from perfarray.variation.numerics.likelihood import Statistics, nested_statistics
from perfarray.variation.numerics.maximum import Maximum, maximise, profile_limits, solve

# values of the lowest groups worked on at once: memory is bounded, and the derivatives stay in a
# processor\'s cache
ENTRIES = 1 << 13
# values of a group this close to each other, relative to their size, are equal: what differs is
# rounding
STILL = 1e-15


class RemlFit(NamedTuple):
    """Along the levels, outermost first, then per cell.

    `model_standard_error` is that of the generalised least squares mean by the fitted model;
    `standard_error` is the same, but that of the unweighted mean of the outermost units where the
    outermost component is zero.
    """

    variance: Floats
    variance_standard_error: Floats
    lower: Floats
    upper: Floats
    mean: Floats
    standard_error: Floats
    df: Floats
    model_standard_error: Floats
    criterion: Floats
    converged: Mask


def nested_reml(
    values: Floats,
    levels: int,
    start: Components,
    restricted: bool = True,
    confidence_level: float | None = 0.95,
) -> RemlFit:
    """Fit the normal model of nested repetitions.

    `start` is what `nested_anova` says of the same values (..., n_L, ..., n_1): where to start,
    which levels can be told apart, and the unweighted mean. `restricted` is REML; else ML, whose
    outermost component is too small by about its share of 1 / units. Limits are of the profile
    likelihood; a confidence level of None does without.

    Standard errors of components are from the expected information, NaN for a component that is
    zero; degrees of freedom are Satterthwaite's over the components that are not zero. `criterion`
    is -2 log likelihood at the maximum, -inf where the lowest level does not vary at all. NaN where
    no maximum was found (`converged` is False there).
    """
    batch, nest = values.shape[: values.ndim - levels], values.shape[values.ndim - levels :]
    cells = np.asarray(values, dtype=np.float64).reshape(-1, *nest)
    guess = start.variance.reshape(-1, levels)
    fit = _nothing(len(cells), levels)
    fit.mean[:] = start.mean.ravel()
    # One block at a time: cells whose levels are the same have arrays of one shape, and a block
    # stays in the cache.
    for block, (rows, columns) in patterns(cells, ~np.isnan(guess), ENTRIES * nest[-1]):
        _write(
            fit,
            rows.ravel(),
            columns.ravel(),
            _fit_block(block, guess[rows, columns], restricted, confidence_level),
        )
    plain = ~(fit.variance[:, 0] > 0)
    fit.standard_error[plain], fit.df[plain] = (
        start.standard_error.ravel()[plain],
        start.df.ravel()[plain],
    )
    return RemlFit._make(field.reshape((*batch, *field.shape[1:])) for field in fit)


def _nothing(count: int, levels: int) -> RemlFit:
    """Return the answer for cells of which nothing is known."""
    shapes = [(count, levels)] * 4 + [(count,)] * 5
    return RemlFit._make(
        [*(np.full(shape, np.nan) for shape in shapes), np.ones(count, dtype=bool)]
    )


def _write(fit: RemlFit, rows: Integers | Mask, columns: Integers, block_fit: RemlFit) -> None:
    for field, values in zip(fit, block_fit, strict=True):
        field[np.ix_(rows, columns) if field.ndim == 2 else rows] = values


def _fit_block(
    cells: Floats, guess: Floats, restricted: bool, confidence_level: float | None
) -> RemlFit:
    """Fit cells all of whose levels can be told apart, lowest level first.

    One that does not vary is zero and its means are the data.
    """
    data, columns = nested_statistics(cells), np.arange(guess.shape[1])
    still = data.within * data.scale**2 <= data.values * (STILL * data.origin) ** 2
    if not still.any():
        return _fit(data, guess, restricted, confidence_level)
    fit = _nothing(*guess.shape)
    if not still.all():
        _write(
            fit,
            ~still,
            columns,
            _fit(data.take(np.flatnonzero(~still)), guess[~still], restricted, confidence_level),
        )
    if len(columns) > 1:
        means = mean_of_measured(cells[still])
        _write(
            fit,
            still,
            columns[1:],
            _fit_block(means, guess[still, 1:], restricted, confidence_level),
        )
    else:
        fit.mean[still] = data.origin[still]
        fit.standard_error[still] = fit.model_standard_error[still] = 0.0
        fit.df[still] = data.values[still] - 1
    fit.criterion[still] = -np.inf
    for field in (fit.variance, fit.lower, fit.upper):
        field[still, 0] = 0.0
    return fit


def _fit(
    data: Statistics, guess: Floats, restricted: bool, confidence_level: float | None
) -> RemlFit:
    """Maximise, and say how sure; the likelihood is in units of scale."""
    squared = data.scale[:, None] ** 2
    start = np.maximum(guess / squared, 0.0)
    start[:, 0] = np.maximum(start[:, 0], data.within / data.values)
    top = maximise(data, start, restricted)
    if confidence_level is None:
        lower, upper = np.full((2, *start.shape), np.nan)
    else:
        lower, upper = profile_limits(data, top, restricted, confidence_level)
    likelihood = top.likelihood
    variance_error, df = _errors(top)
    error = data.scale / np.sqrt(likelihood.precision[:, 0])
    along = [
        np.where(top.converged[:, None], field * squared, np.nan)
        for field in (top.variance, variance_error, lower, upper)
    ]
    cellwise = [
        np.where(top.converged, field, np.nan)
        for field in (likelihood.mean, error, df, error, likelihood.value)
    ]
    return RemlFit._make([*along, *cellwise, top.converged])


def _errors(top: Maximum) -> tuple[Floats, Floats]:
    """Return the standard errors of the components and Satterthwaite's df of the mean.

    The components' covariance is 2 / expected second derivative of -2 log likelihood for their
    standard errors. With V = 1 / precision, the variance of the mean, df = 2 V^2 / (V' A V'), where
    V' are its derivatives and A is 2 / observed second derivative.
    """
    levels = top.variance.shape[1]
    free = top.variance > 0
    free_pairs, identity = free[:, :, None] & free[:, None, :], np.eye(levels)
    expected, observed = (
        np.where(free_pairs, matrix, identity)
        for matrix in (top.likelihood.expected, top.likelihood.observed)
    )
    covariance = np.stack(
        [2 * solve(expected, np.broadcast_to(row, top.variance.shape)) for row in identity], axis=1
    )
    error = np.sqrt(np.where(free, np.diagonal(covariance, axis1=1, axis2=2), np.nan))
    precision = top.likelihood.precision
    slope = np.where(free, -precision[:, 1 : levels + 1] / precision[:, :1] ** 2, 0.0)
    spread = 2 * np.vecdot(slope, solve(observed, slope))
    return error, 2 / precision[:, 0] ** 2 / spread
