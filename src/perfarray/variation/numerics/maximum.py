"""Where the likelihood of nested repetitions is largest, and the limits of its profile.

Components are zero or positive. Many cells step together, and so do all limits.
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.variation.numerics.likelihood import Likelihood, Statistics, evaluate

# Newton's method is used where Fisher scoring expects to gain less than this in -2 log likelihood;
# further off it may be misled
NEAR = 0.1
TOLERANCE = 1e-9  # a step that promises to gain less than this in -2 log likelihood is the last
MOST_STEPS = 200
CLOSE = 1e-6  # a profile's cut is met to this in -2 log likelihood
MOST_CROSSINGS = 60


class Maximum(NamedTuple):
    """Where the likelihood is largest, per cell, and what it is like there."""

    variance: Floats
    likelihood: Likelihood
    converged: Mask


def maximise(
    data: Statistics, start: Floats, restricted: bool, fixed: Integers | None = None
) -> Maximum:
    """Maximise over the components from `start` (cells, L).

    One of them in each cell, `held`, may stay where it is.
    """
    variance, fixed = start.copy(), np.full(len(start), -1) if fixed is None else fixed
    best = Likelihood(
        *(np.array(statistics) for statistics in evaluate(data, variance, restricted))
    )
    converged, active, statistics = (
        np.zeros(len(variance), dtype=bool),
        np.arange(len(variance)),
        data,
    )
    step, promise, last = _step(best, variance, fixed)
    shrink = np.ones(len(variance))
    for _ in range(MOST_STEPS):
        value = best.value[active]
        trial = np.maximum(variance[active] + shrink[:, None] * step, 0.0)
        trial[:, 0] = np.maximum(
            trial[:, 0], variance[active, 0] / 10
        )  # the lowest level stays positive
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
            active, last, better, fixed = (
                active[remaining],
                last[remaining],
                better[remaining],
                fixed[remaining],
            )
            step, promise, shrink = step[remaining], promise[remaining], shrink[remaining]
        fresh = _step(Likelihood(*(field[active] for field in best)), variance[active], fixed)
        step = np.where(better[:, None], fresh[0], step)
        promise, last = np.where(better, fresh[1], promise), np.where(better, fresh[2], last)
        shrink = np.where(better, 1.0, shrink / 4)
    return Maximum(variance, best, converged)


def _step(likelihood: Likelihood, variance: Floats, fixed: Integers) -> tuple[Floats, Floats, Mask]:
    """Return a step per cell, what it promises to gain, and whether it is the last."""
    free = (variance > 0) | (likelihood.gradient < 0)
    free &= fixed[:, None] != np.arange(free.shape[1])
    step, gain = _solve(likelihood.expected, likelihood.gradient, free)
    outward = (variance <= 0) & (step < 0) & free
    if outward.any():
        step, gain = _solve(likelihood.expected, likelihood.gradient, free & ~outward)
    newton, newton_gain = _solve(likelihood.observed, likelihood.gradient, free & ~outward)
    good = (
        (gain < NEAR)
        & (newton_gain > 0)
        & ~((variance <= 0) & (newton < 0)).any(axis=1)
        & (newton_gain < 4 * gain)
    )
    step, gain = np.where(good[:, None], newton, step), np.where(good, newton_gain, gain)
    return step, gain, (gain < TOLERANCE) & ~outward.any(axis=1)


def _solve(matrix: Floats, gradient: Floats, free: Mask) -> tuple[Floats, Floats]:
    """Return the step that solves matrix step = -gradient, and its promised gain."""
    free_pairs = free[:, :, None] & free[:, None, :]
    right = np.where(free, -gradient, 0.0)
    step = solve(np.where(free_pairs, matrix, np.eye(matrix.shape[-1])), right)
    return step, np.asarray((right * step).sum(axis=1))


def solve(system: Floats, right: Floats) -> Floats:
    """Solve systems (cells, L, L) for right sides (cells, L), scaled by their diagonals.

    A singular one gives NaN.
    """
    diagonal = np.sqrt(np.abs(np.diagonal(system, axis1=1, axis2=2)))
    diagonal = np.where(diagonal > 0, diagonal, 1.0)
    scaled = system / (diagonal[:, :, None] * diagonal[:, None, :])
    try:
        solution = np.linalg.solve(scaled, (right / diagonal)[..., None])[..., 0]
    except np.linalg.LinAlgError:
        solution = np.matmul(np.linalg.pinv(scaled), (right / diagonal)[..., None])[..., 0]
    return solution / diagonal


def profile_limits(
    data: Statistics, top: Maximum, restricted: bool, confidence_level: float
) -> tuple[Floats, Floats]:
    """Return lower and upper limits (cells, L), lowest first, in units of scale^2.

    Zero where the likelihood there is within the cut.
    """
    from scipy.special import ndtri

    cut = float(ndtri((1 + confidence_level) / 2)) ** 2
    converged = np.broadcast_to(top.converged[:, None], top.variance.shape)
    inside = converged & (top.variance > 0)
    doubtful = inside.copy()
    doubtful[:, 0] = False
    if doubtful.any():  # with one component at zero, the others free
        cells, component = np.nonzero(doubtful)
        start = top.variance[cells]
        start[np.arange(len(cells)), component] = 0.0
        constrained = maximise(data.take(cells), start, restricted, component)
        rise = constrained.likelihood.value - top.likelihood.value[cells]
        inside[doubtful] = np.where(constrained.converged, rise, np.inf) > cut
    lower, upper = np.where(inside | ~converged, np.nan, 0.0), np.full(converged.shape, np.nan)
    cell, component = (
        np.concatenate(indices)
        for indices in zip(np.nonzero(converged), np.nonzero(inside), strict=True)
    )
    above = np.arange(len(cell)) < converged.sum()
    crossings = _crossings(data, top, restricted, cut, cell, component, above)
    upper[cell[above], component[above]] = crossings[above]
    lower[cell[~above], component[~above]] = crossings[~above]
    return lower, upper


def _crossings(
    data: Statistics,
    top: Maximum,
    restricted: bool,
    cut: float,
    cell: Integers,
    component: Integers,
    above: Mask,
) -> Floats:
    """Find where the profiles of components cross the cut, all of them in step.

    The square root of the rise is nearly a straight line in x = (t + below)^(-1/3), as for a mean
    square whose expectation is t + below (Wilson and Hilferty): Newton's method in x, inside a
    bracket that only shrinks.
    """
    root, estimate, minimum = (
        np.sqrt(cut),
        top.variance[cell, component],
        top.likelihood.value[cell],
    )
    below, width = (array[cell, component] for array in _mean_squares(data, top))
    low, high = np.where(above, estimate, 0.0), np.where(above, np.inf, estimate)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (estimate + below) ** (-1 / 3) * np.maximum(
            1 + np.where(above, -1, 1) * root * width, 0.2
        )
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
        rise = np.maximum(profile.likelihood.value - minimum[active], 0.0)
        outside = (rise > cut) == above[active]
        high[active], low[active] = (
            np.where(outside, trial, high[active]),
            np.where(outside, low[active], trial),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            base = trial + below[active]
            slope = (
                -1.5 * profile.likelihood.gradient[rows, moved] * base ** (4 / 3) / np.sqrt(rise)
            )
            jump = (base ** (-1 / 3) - (np.sqrt(rise) - root) / slope) ** -3.0 - below[active]
        good = (jump > low[active]) & (jump < high[active])
        t[active] = np.where(good, jump, _between(low[active], high[active], below[active]))
        components[active] = _follow(
            profile.variance, profile.likelihood.observed, moved, t[active] - trial
        )
        met = (np.abs(rise - cut) < CLOSE) | (high[active] - low[active] <= 1e-9 * trial)
        limit[active[met & profile.converged]] = trial[met & profile.converged]
        going = np.flatnonzero(~met & profile.converged)
        if len(going) < len(active):
            active, statistics = active[going], statistics.take(going)
    return limit


def _mean_squares(data: Statistics, top: Maximum) -> tuple[Floats, Floats]:
    """Return what lies below each component in its mean square, and that one's relative width.

    On balanced data the information about a component is df / (2 lambda^2), lambda the expectation
    of its mean square: that gives lambda.
    """
    units = np.column_stack(
        [
            data.values,
            data.groups,
            *(np.bincount(tier.cell) for tier in data.tiers[1:]),
            np.ones(len(data.values)),
        ]
    )
    df = np.maximum(units[:, : data.levels] - units[:, 1 : data.levels + 1], 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        expectation = np.sqrt(df / np.diagonal(top.likelihood.expected, axis1=1, axis2=2))
    return np.maximum(expectation - top.variance, 0.0), np.sqrt(2 / df) / 3


def _follow(variance: Floats, observed: Floats, component: Integers, distance: Floats) -> Floats:
    """Return where the maximum over the other components may be, to first order.

    Components at zero stay there, and none goes further than half way to zero.
    """
    rows, free = np.arange(len(component)), variance > 0
    free[rows, component] = False
    slope, _ = _solve(observed, observed[rows, :, component], free)
    return np.maximum(variance + slope * distance[:, None], variance / 2)


def _between(low: Floats, high: Floats, below: Floats) -> Floats:
    """Return a point inside the bracket, or further out where there is no end yet."""
    with np.errstate(invalid="ignore"):
        middle = np.sqrt((low + below) * (high + below)) - below
    middle = np.where((middle > low) & (middle < high), middle, (low + high) / 2)
    return np.where(np.isinf(high), 4 * (low + below) + 1e-6, middle)
