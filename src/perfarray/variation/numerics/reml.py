"""Variance components by restricted (REML) or full (ML) maximum likelihood, for nested repetitions of any imbalance.

Fisher scoring far from the maximum (exact in one step on balanced data), Newton near it; components are kept at or above zero by an active
set, and steps are halved until the likelihood grows (projected Newton: Bertsekas 1982). All cells of a block step together.
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.levels import mean_of_measured
from perfarray.numerics.nested_anova import Components
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.variation.numerics.component_intervals import patterns
from perfarray.variation.numerics.likelihood import Likelihood, Statistics, evaluate, nested_statistics

ENTRIES = 1 << 13  # values of the lowest groups worked on at once: memory is bounded, and the derivatives stay in a processor's cache
STILL = 1e-15  # values of a group this close to each other, relative to their size, are equal: what differs is rounding


class Fit(NamedTuple):
    """Along the levels, outermost first (NaN where a level has one repetition everywhere), then per cell.

    `model_standard_error` is that of the generalised least squares mean by the fitted model; `standard_error` is the same, but that of the
    unweighted mean of the outermost units where the outermost component is zero.
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


class Maximum(NamedTuple):
    """Where the likelihood is largest, per cell: the components (lowest level first, units of scale^2), and what it is like there."""

    variance: Floats
    likelihood: Likelihood
    converged: Mask


def nested_reml(values: Floats, levels: int, start: Components, restricted: bool = True, confidence_level: float | None = 0.95) -> Fit:
    """Fit the normal model of nested repetitions.

    `start` is what `nested_anova` says of the same values (..., n_L, ..., n_1): where to start, which levels can be told apart, and the
    unweighted mean. `restricted` is REML; else ML, whose outermost component is too small by about its share of 1 / units. Limits are of
    the profile likelihood; a confidence level of None does without.

    Standard errors of components are from the expected information, NaN for a component that is zero; degrees of freedom are
    Satterthwaite's over the components that are not zero. `criterion` is -2 log likelihood at the maximum, -inf where the lowest level
    does not vary at all. NaN where no maximum was found (`converged` is False there).
    """
    batch, nest = values.shape[: values.ndim - levels], values.shape[values.ndim - levels :]
    cells = np.asarray(values, dtype=np.float64).reshape(-1, *nest)
    guess = start.variance.reshape(-1, levels)
    fit = _nothing(len(cells), levels)
    fit.mean[:] = start.mean.ravel()
    # One block at a time: cells whose levels are the same have arrays of one shape, and a block stays in the cache.
    for block, (rows, columns) in patterns(cells, ~np.isnan(guess), ENTRIES * nest[-1]):
        _write(fit, rows.ravel(), columns.ravel(), _fit_block(block, guess[rows, columns], restricted, confidence_level))
    plain = ~(fit.variance[:, 0] > 0)
    fit.standard_error[plain], fit.df[plain] = start.standard_error.ravel()[plain], start.df.ravel()[plain]
    return Fit._make(field.reshape((*batch, *field.shape[1:])) for field in fit)


def _nothing(count: int, levels: int) -> Fit:
    """Return the answer for cells of which nothing is known."""
    shapes = [(count, levels)] * 4 + [(count,)] * 5
    return Fit._make([*(np.full(shape, np.nan) for shape in shapes), np.ones(count, dtype=bool)])


def _write(fit: Fit, rows: Integers | Mask, columns: Integers, block_fit: Fit) -> None:
    for field, values in zip(fit, block_fit, strict=True):
        field[np.ix_(rows, columns) if field.ndim == 2 else rows] = values


def _fit_block(cells: Floats, guess: Floats, restricted: bool, confidence_level: float | None) -> Fit:
    """Fit cells all of whose levels can be told apart, lowest level first; one that does not vary is zero and its means are the data."""
    data, columns = nested_statistics(cells), np.arange(guess.shape[1])
    still = data.within * data.scale**2 <= data.values * (STILL * data.origin) ** 2
    if not still.any():
        return _fit(data, guess, restricted, confidence_level)
    fit = _nothing(*guess.shape)
    if not still.all():
        _write(fit, ~still, columns, _fit(data.take(np.flatnonzero(~still)), guess[~still], restricted, confidence_level))
    if len(columns) > 1:
        means = mean_of_measured(cells[still])
        _write(fit, still, columns[1:], _fit_block(means, guess[still, 1:], restricted, confidence_level))
    else:
        fit.mean[still] = data.origin[still]
        fit.standard_error[still] = fit.model_standard_error[still] = 0.0
        fit.df[still] = data.values[still] - 1
    fit.criterion[still] = -np.inf
    for field in (fit.variance, fit.lower, fit.upper):
        field[still, 0] = 0.0
    return fit


def _fit(data: Statistics, guess: Floats, restricted: bool, confidence_level: float | None) -> Fit:
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
    along = [np.where(top.converged[:, None], field * squared, np.nan) for field in (top.variance, variance_error, lower, upper)]
    cellwise = [np.where(top.converged, field, np.nan) for field in (likelihood.mean, error, df, error, likelihood.value)]
    return Fit._make([*along, *cellwise, top.converged])


def _errors(top: Maximum) -> tuple[Floats, Floats]:
    """Return the standard errors of the components and Satterthwaite's degrees of freedom of the mean, over the free components.

    The components' covariance is 2 / expected second derivative of -2 log likelihood for their standard errors. With V = 1 / precision,
    the variance of the mean, df = 2 V^2 / (V' A V'), where V' are its derivatives and A is 2 / observed second derivative.
    """
    levels = top.variance.shape[1]
    free = top.variance > 0
    free_pairs, identity = free[:, :, None] & free[:, None, :], np.eye(levels)
    expected, observed = (np.where(free_pairs, matrix, identity) for matrix in (top.likelihood.expected, top.likelihood.observed))
    covariance = np.stack([2 * solve(expected, np.broadcast_to(row, top.variance.shape)) for row in identity], axis=1)
    error = np.sqrt(np.where(free, np.diagonal(covariance, axis1=1, axis2=2), np.nan))
    precision = top.likelihood.precision
    slope = np.where(free, -precision[:, 1 : levels + 1] / precision[:, :1] ** 2, 0.0)
    spread = 2 * np.vecdot(slope, solve(observed, slope))
    return error, 2 / precision[:, 0] ** 2 / spread


NEAR = 0.1  # Newton's method is used where Fisher scoring expects to gain less than this in -2 log likelihood; further off it may be misled
TOLERANCE = 1e-9  # a step that promises to gain less than this in -2 log likelihood is the last
MOST_STEPS = 200
CLOSE = 1e-6  # a profile's cut is met to this in -2 log likelihood
MOST_CROSSINGS = 60


def maximise(data: Statistics, start: Floats, restricted: bool, fixed: Integers | None = None) -> Maximum:
    """Maximise over the components from `start` (cells, L); one of them in each cell, `held`, may stay where it is."""
    variance, fixed = start.copy(), np.full(len(start), -1) if fixed is None else fixed
    best = Likelihood(*(np.array(statistics) for statistics in evaluate(data, variance, restricted)))
    converged, active, statistics = np.zeros(len(variance), dtype=bool), np.arange(len(variance)), data
    step, promise, last = _step(best, variance, fixed)
    shrink = np.ones(len(variance))
    for _ in range(MOST_STEPS):
        value = best.value[active]
        trial = np.maximum(variance[active] + shrink[:, None] * step, 0.0)
        trial[:, 0] = np.maximum(trial[:, 0], variance[active, 0] / 10)  # the lowest level stays positive
        at_trial = evaluate(statistics, trial, restricted)
        slack = 1e-11 * (1 + np.abs(value))
        with np.errstate(invalid="ignore"):
            better = at_trial.value <= value - 1e-4 * shrink * promise + slack
        finished = (better & last) | (~better & (shrink < 1e-12))
        for into, new in zip((variance, *best), (trial, *at_trial), strict=True):
            into[active[better]] = new[better]
        if finished.any():
            converged[active[finished]] = better[finished]
            remaining = np.flatnonzero(~finished)
            if not len(remaining):
                break
            statistics = statistics.take(remaining)
            active, last, better, fixed = active[remaining], last[remaining], better[remaining], fixed[remaining]
            step, promise, shrink = step[remaining], promise[remaining], shrink[remaining]
        fresh = _step(Likelihood(*(field[active] for field in best)), variance[active], fixed)
        step = np.where(better[:, None], fresh[0], step)
        promise, last = np.where(better, fresh[1], promise), np.where(better, fresh[2], last)
        shrink = np.where(better, 1.0, shrink / 4)
    return Maximum(variance, best, converged)


def _step(likelihood: Likelihood, variance: Floats, fixed: Integers) -> tuple[Floats, Floats, Mask]:
    """Return a step per cell, what it promises to gain in -2 log likelihood, and whether it is the last."""
    free = (variance > 0) | (likelihood.gradient < 0)
    free &= fixed[:, None] != np.arange(free.shape[1])
    step, gain = _solve(likelihood.expected, likelihood.gradient, free)
    outward = (variance <= 0) & (step < 0) & free
    if outward.any():
        step, gain = _solve(likelihood.expected, likelihood.gradient, free & ~outward)
    newton, newton_gain = _solve(likelihood.observed, likelihood.gradient, free & ~outward)
    good = (gain < NEAR) & (newton_gain > 0) & ~((variance <= 0) & (newton < 0)).any(axis=1) & (newton_gain < 4 * gain)
    step, gain = np.where(good[:, None], newton, step), np.where(good, newton_gain, gain)
    return step, gain, (gain < TOLERANCE) & ~outward.any(axis=1)


def _solve(matrix: Floats, gradient: Floats, free: Mask) -> tuple[Floats, Floats]:
    """Return the step that solves matrix step = -gradient over the free components, and its promised gain; nothing else moves."""
    free_pairs = free[:, :, None] & free[:, None, :]
    right = np.where(free, -gradient, 0.0)
    step = solve(np.where(free_pairs, matrix, np.eye(matrix.shape[-1])), right)
    return step, np.asarray((right * step).sum(axis=1))


def solve(system: Floats, right: Floats) -> Floats:
    """Solve systems (cells, L, L) for right sides (cells, L), scaled by their diagonals; a singular one gives NaN."""
    diagonal = np.sqrt(np.abs(np.diagonal(system, axis1=1, axis2=2)))
    diagonal = np.where(diagonal > 0, diagonal, 1.0)
    scaled = system / (diagonal[:, :, None] * diagonal[:, None, :])
    try:
        solution = np.linalg.solve(scaled, (right / diagonal)[..., None])[..., 0]
    except np.linalg.LinAlgError:
        solution = np.matmul(np.linalg.pinv(scaled), (right / diagonal)[..., None])[..., 0]
    return solution / diagonal


def profile_limits(data: Statistics, top: Maximum, restricted: bool, confidence_level: float) -> tuple[Floats, Floats]:
    """Return lower and upper limits (cells, L), lowest first, in units of scale^2; zero where the likelihood there is within the cut."""
    from scipy.special import ndtri

    cut = float(ndtri((1 + confidence_level) / 2)) ** 2
    converged = np.broadcast_to(top.converged[:, None], top.variance.shape)
    inside = converged & (top.variance > 0)
    doubtful = inside.copy()
    doubtful[:, 0] = False
    if doubtful.any():  # with one component at zero, the others free
        held, component = np.nonzero(doubtful)
        start = top.variance[held]
        start[np.arange(len(held)), component] = 0.0
        constrained = maximise(data.take(held), start, restricted, component)
        rise = constrained.likelihood.value - top.likelihood.value[held]
        inside[doubtful] = np.where(constrained.converged, rise, np.inf) > cut
    lower, upper = np.where(inside | ~converged, np.nan, 0.0), np.full(converged.shape, np.nan)
    cell, component = (np.concatenate(indices) for indices in zip(np.nonzero(converged), np.nonzero(inside), strict=True))
    above = np.arange(len(cell)) < converged.sum()
    crossings = _crossings(data, top, restricted, cut, cell, component, above)
    upper[cell[above], component[above]] = crossings[above]
    lower[cell[~above], component[~above]] = crossings[~above]
    return lower, upper


def _crossings(data: Statistics, top: Maximum, restricted: bool, cut: float, cell: Integers, component: Integers, above: Mask) -> Floats:
    """Find where the profiles of components cross the cut, above the estimates or below them, all of them in step.

    The square root of the rise is nearly a straight line in x = (t + below)^(-1/3), as for a mean square whose expectation is t + below
    (Wilson and Hilferty): Newton's method in x, inside a bracket that only shrinks.
    """
    root, estimate, least = np.sqrt(cut), top.variance[cell, component], top.likelihood.value[cell]
    below, width = (array[cell, component] for array in _mean_squares(data, top))
    low, high = np.where(above, estimate, 0.0), np.where(above, np.inf, estimate)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (estimate + below) ** (-1 / 3) * np.maximum(1 + np.where(above, -1, 1) * root * width, 0.2)
        t = x**-3.0 - below
    t = np.where((t > low) & (t < high), t, _between(low, high, below))
    components = _follow(top.variance[cell], top.likelihood.observed[cell], component, t - estimate)
    active, statistics, limit = np.arange(len(t)), data.take(cell), np.full_like(t, np.nan)
    for _ in range(MOST_CROSSINGS):
        if not len(active):
            break
        trial, moved, rows = t[active], component[active], np.arange(len(active))
        start = components[active]
        start[rows, moved] = trial
        profile = maximise(statistics, start, restricted, moved)
        rise = np.maximum(profile.likelihood.value - least[active], 0.0)
        outside = (rise > cut) == above[active]
        high[active], low[active] = np.where(outside, trial, high[active]), np.where(outside, low[active], trial)
        with np.errstate(divide="ignore", invalid="ignore"):
            base = trial + below[active]
            slope = -1.5 * profile.likelihood.gradient[rows, moved] * base ** (4 / 3) / np.sqrt(rise)
            jump = (base ** (-1 / 3) - (np.sqrt(rise) - root) / slope) ** -3.0 - below[active]
        good = (jump > low[active]) & (jump < high[active])
        t[active] = np.where(good, jump, _between(low[active], high[active], below[active]))
        components[active] = _follow(profile.variance, profile.likelihood.observed, moved, t[active] - trial)
        met = (np.abs(rise - cut) < CLOSE) | (high[active] - low[active] <= 1e-9 * trial)
        limit[active[met & profile.converged]] = trial[met & profile.converged]
        going = np.flatnonzero(~met & profile.converged)
        if len(going) < len(active):
            active, statistics = active[going], statistics.take(going)
    return limit


def _mean_squares(data: Statistics, top: Maximum) -> tuple[Floats, Floats]:
    """Return what lies below each component in the mean square that tells it, and the relative width of that mean square's cube root.

    On balanced data the information about a component is df / (2 lambda^2), lambda the expectation of its mean square: that gives lambda.
    """
    units = np.column_stack([data.values, data.groups, *(np.bincount(tier.cell) for tier in data.tiers[1:]), np.ones(len(data.values))])
    df = np.maximum(units[:, : data.levels] - units[:, 1 : data.levels + 1], 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        expectation = np.sqrt(df / np.diagonal(top.likelihood.expected, axis1=1, axis2=2))
    return np.maximum(expectation - top.variance, 0.0), np.sqrt(2 / df) / 3


def _follow(variance: Floats, observed: Floats, component: Integers, distance: Floats) -> Floats:
    """Return where the maximum over the other components (entries, L) may be when one has moved so far, to first order.

    Components at zero stay there, and none goes further than half way to zero.
    """
    rows, free = np.arange(len(component)), variance > 0
    free[rows, component] = False
    slope, _ = _solve(observed, observed[rows, :, component], free)
    return np.maximum(variance + slope * distance[:, None], variance / 2)


def _between(low: Floats, high: Floats, below: Floats) -> Floats:
    """Return a point inside the bracket: the geometric middle, or further out where there is no end yet."""
    with np.errstate(invalid="ignore"):
        middle = np.sqrt((low + below) * (high + below)) - below
    middle = np.where((middle > low) & (middle < high), middle, (low + high) / 2)
    return np.where(np.isinf(high), 4 * (low + below) + 1e-6, middle)
