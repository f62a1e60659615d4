"""Where the likelihood of nested repetitions is largest, and the limits where its profile has fallen by the chi-square cut.

Components are zero or positive. Many cells step together, and so do all limits.
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.variation.numerics.likelihood import Likelihood, Statistics, evaluate

NEAR = 0.1
"""Newton's method is used where Fisher scoring expects to gain less than this in -2 log likelihood; further off it may be misled."""

TOLERANCE = 1e-9
"""A step that promises to gain less than this in -2 log likelihood is the last."""

MOST_STEPS = 200

CLOSE = 1e-6
"""A profile's cut is met to this in -2 log likelihood."""

MOST_CROSSINGS = 60


class Maximum(NamedTuple):
    """Where the likelihood is largest, per cell: the components (lowest level first, units of scale^2), and what it is like there."""

    variance: Floats
    likelihood: Likelihood
    converged: Mask


def maximise(data: Statistics, start: Floats, restricted: bool, held: Integers | None = None) -> Maximum:
    """Maximise over the components from `start` (cells, L); one of them in each cell, `held`, may stay where it is."""
    variance, held = start.copy(), np.full(len(start), -1) if held is None else held
    found = Likelihood(*(np.array(part) for part in evaluate(data, variance, restricted)))
    converged, active, part = np.zeros(len(variance), dtype=bool), np.arange(len(variance)), data
    step, promise, last = _step(found, variance, held)
    shrink = np.ones(len(variance))
    for _ in range(MOST_STEPS):
        value = found.value[active]
        trial = _move(variance[active], shrink[:, None] * step)
        there = evaluate(part, trial, restricted)
        slack = 1e-11 * (1 + np.abs(value))
        with np.errstate(invalid="ignore"):
            better = there.value <= value - 1e-4 * shrink * promise + slack
        done = (better & last) | (~better & (shrink < 1e-12))
        for into, new in zip((variance, *found), (trial, *there), strict=True):
            into[active[better]] = new[better]
        if done.any():
            converged[active[done]] = better[done]
            left = np.flatnonzero(~done)
            if not len(left):
                break
            part = part.take(left)
            active, last, better, held = active[left], last[left], better[left], held[left]
            step, promise, shrink = step[left], promise[left], shrink[left]
        fresh = _step(Likelihood(*(whole[active] for whole in found)), variance[active], held)
        step = np.where(better[:, None], fresh[0], step)
        promise, last = np.where(better, fresh[1], promise), np.where(better, fresh[2], last)
        shrink = np.where(better, 1.0, shrink / 4)
    return Maximum(variance, found, converged)


def _step(found: Likelihood, here: Floats, held: Integers) -> tuple[Floats, Floats, Mask]:
    """Return a step per cell, what it promises to gain in -2 log likelihood, and whether it is the last."""
    free = (here > 0) | (found.gradient < 0)
    free &= held[:, None] != np.arange(free.shape[1])
    step, gain = _solve(found.expected, found.gradient, free)
    outward = (here <= 0) & (step < 0) & free
    if outward.any():
        step, gain = _solve(found.expected, found.gradient, free & ~outward)
    newton, newton_gain = _solve(found.observed, found.gradient, free & ~outward)
    good = (gain < NEAR) & (newton_gain > 0) & ~((here <= 0) & (newton < 0)).any(axis=1) & (newton_gain < 4 * gain)
    step, gain = np.where(good[:, None], newton, step), np.where(good, newton_gain, gain)
    return step, gain, (gain < TOLERANCE) & ~outward.any(axis=1)


def _solve(matrix: Floats, gradient: Floats, free: Mask) -> tuple[Floats, Floats]:
    """Return the step that solves matrix step = -gradient over the free components, and its promised gain; nothing else moves."""
    both = free[:, :, None] & free[:, None, :]
    right = np.where(free, -gradient, 0.0)
    step = solve(np.where(both, matrix, np.eye(matrix.shape[-1])), right)
    return step, np.asarray((right * step).sum(axis=1))


def solve(system: Floats, right: Floats) -> Floats:
    """Solve systems (cells, L, L) for right sides (cells, L), scaled by their diagonals; a singular one gives NaN."""
    diagonal = np.sqrt(np.abs(np.diagonal(system, axis1=1, axis2=2)))
    diagonal = np.where(diagonal > 0, diagonal, 1.0)
    scaled = system / (diagonal[:, :, None] * diagonal[:, None, :])
    try:
        found = np.linalg.solve(scaled, (right / diagonal)[..., None])[..., 0]
    except np.linalg.LinAlgError:
        found = np.matmul(np.linalg.pinv(scaled), (right / diagonal)[..., None])[..., 0]
    return found / diagonal


def _move(here: Floats, step: Floats) -> Floats:
    """Go along a step, no further than zero; the lowest level stays positive."""
    there = np.maximum(here + step, 0.0)
    there[:, 0] = np.maximum(there[:, 0], here[:, 0] / 10)
    return there


class Search(NamedTuple):
    """One limit to find per entry: of which cell and component, above the estimate or below it.

    `others` are all components at the maximum and `slope` how they move with this one; `least` is -2 log likelihood at the maximum, `below`
    what lies below the component in the mean square that tells it, `width` the relative width of that mean square's cube root.
    """

    cell: Integers
    component: Integers
    above: Mask
    estimate: Floats
    others: Floats
    slope: Floats
    least: Floats
    below: Floats
    width: Floats


def profile_limits(data: Statistics, top: Maximum, restricted: bool, confidence_level: float) -> tuple[Floats, Floats]:
    """Return lower and upper limits (cells, L), lowest level first, in units of scale^2.

    A lower limit is zero where the likelihood at zero is within the cut. NaN where no limit was found.
    """
    from scipy.special import ndtri

    cut = float(ndtri((1 + confidence_level) / 2)) ** 2
    wanted = np.broadcast_to(top.converged[:, None], top.variance.shape)
    inside = wanted & (top.variance > 0)
    upper, lower = np.where(wanted, np.nan, np.nan), np.where(inside, np.nan, 0.0)
    doubtful = inside.copy()
    doubtful[:, 0] = False
    inside[doubtful] = _rise_at_zero(data, top, restricted, *np.nonzero(doubtful)) > cut
    lower[doubtful & ~inside] = 0.0
    search = _searches(data, top, wanted, inside)
    found = _crossings(data, search, restricted, cut)
    upper[search.cell[search.above], search.component[search.above]] = found[search.above]
    lower[search.cell[~search.above], search.component[~search.above]] = found[~search.above]
    lower[~top.converged] = np.nan
    return lower, upper


def _rise_at_zero(data: Statistics, top: Maximum, restricted: bool, cell: Integers, component: Integers) -> Floats:
    """Return how far -2 log likelihood rises where a component is zero and the others are free."""
    if not len(cell):
        return np.empty(0)
    start = top.variance[cell]
    start[np.arange(len(cell)), component] = 0.0
    there = maximise(data.take(cell), start, restricted, component)
    return np.where(there.converged, there.likelihood.value - top.likelihood.value[cell], np.inf)


def _searches(data: Statistics, top: Maximum, upper: Mask, lower: Mask) -> Search:
    """List the limits to find.

    On balanced data the information about a component is df / (2 lambda^2), lambda the expectation of its mean square: that gives lambda.
    """
    units = np.column_stack([data.values, data.groups, *(np.bincount(tier.cell) for tier in data.tiers[1:]), np.ones(len(data.values))])
    df = np.maximum(units[:, : data.levels] - units[:, 1 : data.levels + 1], 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        expectation = np.sqrt(df / np.diagonal(top.likelihood.expected, axis1=1, axis2=2))
    below = np.maximum(expectation - top.variance, 0.0)
    pairs = [np.concatenate(part) for part in zip(np.nonzero(upper), np.nonzero(lower), strict=True)]
    above = np.arange(len(pairs[0])) < upper.sum()
    cell, component = pairs
    place = cell, component
    return Search(
        cell=cell,
        component=component,
        above=above,
        estimate=top.variance[place],
        others=top.variance[cell],
        slope=_slopes(top.likelihood.observed[cell], top.variance[cell], component),
        least=top.likelihood.value[cell],
        below=below[place],
        width=np.sqrt(2 / df)[place] / 3,
    )


def _crossings(data: Statistics, search: Search, restricted: bool, cut: float) -> Floats:
    """Find where profiles cross the cut, all of them in step.

    The square root of the rise is nearly a straight line in x = (t + below)^(-1/3), as for a mean square whose expectation is t + below
    (Wilson and Hilferty): Newton's method in x, inside a bracket that only shrinks.
    """
    above, below, root = search.above, search.below, np.sqrt(cut)
    low, high = np.where(above, search.estimate, 0.0), np.where(above, np.inf, search.estimate)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (search.estimate + below) ** (-1 / 3) * np.maximum(1 + np.where(above, -1, 1) * root * search.width, 0.2)
        t = x**-3.0 - below
    t = np.where((t > low) & (t < high), t, _between(low, high, below))
    others, limit = _follow(search.others, search.slope, t - search.estimate), np.full_like(t, np.nan)
    active = np.arange(len(t))
    part = data.take(search.cell)
    for _ in range(MOST_CROSSINGS):
        if not len(active):
            break
        now, component = t[active], search.component[active]
        start = others[active]
        start[np.arange(len(active)), component] = now
        there = maximise(part, start, restricted, component)
        rise = np.maximum(there.likelihood.value - search.least[active], 0.0)
        outside = (rise > cut) == above[active]
        high[active], low[active] = np.where(outside, now, high[active]), np.where(outside, low[active], now)
        with np.errstate(divide="ignore", invalid="ignore"):
            base = now + below[active]
            slope = -1.5 * there.likelihood.gradient[np.arange(len(active)), component] * base ** (4 / 3) / np.sqrt(rise)
            jump = (base ** (-1 / 3) - (np.sqrt(rise) - root) / slope) ** -3.0 - below[active]
        good = (jump > low[active]) & (jump < high[active])
        t[active] = np.where(good, jump, _between(low[active], high[active], below[active]))
        others[active] = _follow(there.variance, _slopes(there.likelihood.observed, there.variance, component), t[active] - now)
        met = (np.abs(rise - cut) < CLOSE) | (high[active] - low[active] <= 1e-9 * now)
        limit[active[met & there.converged]] = now[met & there.converged]
        going = np.flatnonzero(~met & there.converged)
        if len(going) < len(active):
            active, part = active[going], part.take(going)
    return limit


def _slopes(observed: Floats, variance: Floats, component: Integers) -> Floats:
    """Return how the maximum over the other components (entries, L) moves with one of them; those at zero stay there."""
    rows = np.arange(len(component))
    free = variance > 0
    free[rows, component] = False
    return _solve(observed, observed[rows, :, component], free)[0]


def _follow(variance: Floats, slope: Floats, distance: Floats) -> Floats:
    """Return where the other components may be after a step, to first order; no further than half way to zero."""
    return np.maximum(variance + slope * distance[:, None], variance / 2)


def _between(low: Floats, high: Floats, below: Floats) -> Floats:
    """Return a point inside the bracket: the geometric middle, or further out where there is no end yet."""
    with np.errstate(invalid="ignore"):
        middle = np.sqrt((low + below) * (high + below)) - below
    middle = np.where((middle > low) & (middle < high), middle, (low + high) / 2)
    return np.where(np.isinf(high), 4 * (low + below) + 1e-6, middle)
