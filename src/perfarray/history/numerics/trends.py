"""The slope of a series beside its steps, where the dependence of neighbours is unknown."""

from typing import Any

import numpy as np
import numpy.typing as npt

from perfarray.history.numerics.commits import stacks
from perfarray.history.numerics.search import running_sums
from perfarray.history.numerics.slopes import (
    CORRELATIONS,
    NORMAL,
    SHORT,
    judge,
    line,
    outlying,
    robust_slopes,
)
from perfarray.numerics.levels import unit_means
from perfarray.numerics.types import Floats, Integers, Mask, same_text
from perfarray.numerics.verdicts import FASTER, INCONCLUSIVE, SLOWER

# A step that is left out is in doubt from this share of its penalty on: limits then hold the slopes
# with and without it.
NEARLY = 0.15


# What a slope, one step and two steps count as in AIC. A step has a level and, between those, a
# position, which counts half: with these, at most 8 % of series with one or two steps seem to have
# a slope (docs/scripts/trend.py).
PARAMETERS = np.array([[1.0], [1.5], [3.0]])


def log_slopes(
    values: Floats,
    *segments: Floats,
    levels: int,
    positions: Floats,
    confidence_level: float,
    band: tuple[float, float],
    better: str,
) -> tuple[npt.NDArray[Any], ...]:
    """Return the slopes of the logs of series, as factors, with limits and verdicts.

    Every segment has a mean of its own, and all have one slope. For each possible correlation of
    neighbours, the slope and its error are those of generalized least squares. They are averaged by
    the restricted likelihood of each correlation: a mixture of Student's t.

    `values` (..., n, n_L, ..., n_1) are positive timings, and `segments` (..., n) the numbers of
    the segments; without them, steps are searched for. `positions` (n,) are those of the commits;
    slopes between the factors of `band` do not matter.

    Returns slope, limits, p-value and verdict, the slope over the whole series, commits measured,
    correlation of neighbours, whether steps alone may explain the slope, all of shape (...), and
    segments (..., n). Limits hold the slopes with and without a step that is in doubt,
    and no slope where steps alone suffice.

    References
    ----------
    A. Zellner, G. Tiao, "Bayesian analysis of the regression model with autocorrelated errors",
    JASA 59, 1964.
    """
    units = unit_means(values, levels)
    shape, size = units.shape[:-2], units.shape[-2]
    units = np.where(units > 0, units, np.nan).reshape(-1, *units.shape[-2:])
    slope, lower, upper, pvalue, total, correlation = np.full((6, len(units)), np.nan)
    n, labels = np.zeros(len(units)), np.full((len(units), size), np.nan)
    verdict = same_text(INCONCLUSIVE, len(units))
    stepped = np.zeros(len(units), dtype=bool)
    for rows, commits in stacks(units):
        cells = rows[:, None], commits.positions
        y, x, spread = commits.values, positions[commits.positions], commits.errors
        if segments:
            numbers = np.broadcast_to(segments[0], (*shape, size)).reshape(-1, size)[cells]
            starts = with_doubtful = np.diff(numbers, axis=-1, prepend=np.nan) != 0
        else:
            starts, with_doubtful = _steps(y, x, spread)
            stepped[rows] = _steps_suffice(y, x, spread, starts)
        n[rows], labels[cells] = y.shape[-1], np.cumsum(starts, axis=-1) - 1
        mixture = robust_slopes(y, x, spread, starts)
        mean, correlation[rows] = (
            (mixture.weight * values).sum(axis=-1) for values in (mixture.centre, CORRELATIONS)
        )
        lower[rows], upper[rows], pvalue[rows], verdict[rows] = judge(
            mixture, confidence_level, np.log(band), better
        )
        slope[rows], total[rows] = mean, mean * np.ptp(x, axis=-1)
        doubtful = np.flatnonzero((with_doubtful != starts).any(axis=-1))
        if doubtful.size:
            rows = rows[doubtful]
            mixture = robust_slopes(
                y[doubtful], x[doubtful], spread[doubtful], with_doubtful[doubtful]
            )
            low, high, larger, verdict_with_step = judge(
                mixture, confidence_level, np.log(band), better
            )
            lower[rows], upper[rows] = np.fmin(lower[rows], low), np.fmax(upper[rows], high)
            pvalue[rows] = np.fmax(pvalue[rows], larger)
            verdict[rows[(verdict[rows] != verdict_with_step) & ~np.isnan(larger)]] = INCONCLUSIVE
    # Where steps alone say as much as the slope, it may be none.
    claimed = stepped & ((lower > 0) | (upper < 0))
    lower[claimed], upper[claimed] = np.minimum(lower[claimed], 0), np.maximum(upper[claimed], 0)
    pvalue[claimed] = 1.0
    verdict[claimed & np.isin(verdict, (FASTER, SLOWER))] = INCONCLUSIVE
    with np.errstate(over="ignore"):
        slope, lower, upper, total = (np.exp(array) for array in (slope, lower, upper, total))
    arrays = (slope, lower, upper, pvalue, verdict, total, n, correlation, claimed, labels)
    return tuple(array.reshape((*shape, *array.shape[1:])) for array in arrays)


def _steps(y: Floats, x: Floats, spread: Floats) -> tuple[Mask, Mask]:
    """Return where segments begin, and the same with one more step that is in doubt.

    Steps are added while they exceed a penalty.
    """
    n = y.shape[-1]
    starts = np.zeros(y.shape, dtype=bool)
    starts[:, 0] = True
    if n <= SHORT:
        return starts, starts
    around, excess = outlying(y / spread)
    values = np.where(excess > 1, around * spread, y)
    penalty, max_steps = 4 * (1 + np.log(n)) * _long_run(values / spread) ** 2, n // SHORT
    rows = np.arange(len(y))
    while rows.size:
        best, gains = _best_start(values, x, spread, starts, rows)
        rows, best = rows[gains > penalty[rows]], best[gains > penalty[rows]]
        starts[rows, best] = True
        _settle(values, x, spread, starts, rows, penalty)
        rows = rows[starts[rows].sum(axis=-1) <= max_steps]
    with_doubtful, rows = starts.copy(), np.arange(len(y))
    best, gains = _best_start(values, x, spread, starts, rows)
    nearly = gains > NEARLY * penalty
    with_doubtful[rows[nearly], best[nearly]] = True
    return starts, with_doubtful


def _steps_suffice(y: Floats, x: Floats, spread: Floats, starts: Mask) -> Mask:
    """Return where one or two more steps describe a series as well as the slope does (AIC)."""
    n = y.shape[-1]
    if n <= SHORT:
        return np.zeros(len(y), dtype=bool)
    around, excess = outlying(y / spread)
    values = np.where(excess > 1, around * spread, y)
    no_slope, rows = np.zeros_like(x), np.arange(len(y))
    steps = starts.copy()
    squares = [np.sum((line(values, x, spread, starts)[0] / spread) ** 2, axis=-1)]
    for _ in PARAMETERS[1:]:
        steps[rows, _best_start(values, no_slope, spread, steps, rows)[0]] = True
        _settle(values, no_slope, spread, steps, rows, np.zeros(len(y)))
        squares.append(np.sum((line(values, no_slope, spread, steps)[0] / spread) ** 2, axis=-1))
    costs = np.log(np.maximum(squares, 1e-300)) + 2 * PARAMETERS / n
    return np.asarray(costs[1:].min(axis=0) <= costs[0])


def _settle(
    y: Floats, x: Floats, spread: Floats, starts: Mask, rows: Integers, penalty: Floats
) -> None:
    """Move each start of some rows to where it explains most beside the others.

    Drop those that do not exceed the penalty there.
    """
    moving = {int(row): np.flatnonzero(starts[row])[1:] for row in rows}
    for number in range(max(map(len, moving.values()), default=0)):  # each depends on those before
        longer = np.array([row for row in moving if number < len(moving[row])])
        starts[longer, [moving[row][number] for row in longer]] = False
        best, gains = _best_start(y, x, spread, starts, longer)
        starts[longer, best] |= gains > penalty[longer]


def _best_start(
    y: Floats, x: Floats, spread: Floats, starts: Mask, rows: Integers
) -> tuple[Integers, Floats]:
    """Return where one more segment of some rows explains most, and what it explains."""
    gains = _gains(y[rows], x[rows], spread[rows], starts[rows])
    best = np.argmax(gains, axis=-1)
    return best, gains[np.arange(len(best)), best]


def _gains(y: Floats, x: Floats, spread: Floats, starts: Mask) -> Floats:
    """Return the decrease of the sum of squares if one more segment begins at each position.

    Slope and means are fitted again.
    """
    weight, firsts, n = spread**-2, np.flatnonzero(starts), y.shape[-1]
    lengths = np.diff(firsts, append=y.size)
    residuals, free = line(y, x, spread, starts)

    def after(values: Floats) -> Floats:
        """Sum the values of the same segment from each position on."""
        sums = np.zeros((len(values), n + 1))
        sums[:, :-1] = np.cumsum(values[:, ::-1], axis=-1)[:, ::-1]
        return np.asarray(
            sums[:, :-1]
            - np.repeat(sums[firsts // n, firsts % n + lengths], lengths).reshape(values.shape)
        )

    weight_after, weight_of_segment = (
        after(weight),
        np.repeat(np.add.reduceat(weight.ravel(), firsts), lengths).reshape(y.shape),
    )
    across = after(weight * free)
    # Levels without a slope have 0.
    squares = np.maximum((weight * free**2).sum(axis=-1, keepdims=True), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = (
            weight_after * (weight_of_segment - weight_after) / weight_of_segment
            - across**2 / squares
        )
        return np.asarray(
            np.where(size > 1e-9 * weight_of_segment, after(weight * residuals) ** 2 / size, 0.0)
        )


def _long_run(values: Floats) -> Floats:
    """Return the standard deviation of means of many neighbours, times the root of their number.

    It is the largest that the distances between neighbouring batches show; their medians do not
    depend on steps or on the slope.
    """
    sums, size = running_sums(values - values[:, :1]), 1
    deviations: list[Floats] = []
    while size <= 2 or 16 * size <= values.shape[-1]:
        means = (sums[:, size:] - sums[:, :-size]) / size
        differences = means[:, size:] - means[:, :-size]
        distances = np.abs(differences - np.median(differences, axis=-1, keepdims=True))
        deviations.append(np.median(distances, axis=-1) / NORMAL * (size / 2) ** 0.5)
        size *= 2
    return np.asarray(np.max(deviations, axis=0))
