"""Segments that drift: steps that one line describes better are no steps."""

from typing import NamedTuple

import numpy as np

from perfarray.history.numerics.commits import Commits, squared_differences
from perfarray.history.numerics.law import chance
from perfarray.history.numerics.search import strongest
from perfarray.history.numerics.slopes import SHORT, outlying
from perfarray.history.numerics.spreads import CLIP
from perfarray.numerics.types import Floats, Integers

# The cost of a level and of a slope, in logs of the number of values, and of the position of a
# step. With these, slopes in independent noise are cut in at most 22 % of series
# (docs/scripts/history_study.py); a larger cost of steps cuts fewer slopes, and loses more steps.
LEVEL, SLOPE, STEP = 1.0, 1.0, 3.0

# What a slope beside steps must explain, in the same logs: without a slope one segment in 500 or
# fewer has one by chance.
CLEAR = 4.0

# The smallest variance of noise, as a share of that of the series: sums of values without noise
# have rounding errors.
EXACT = 1e-12

# Rounds of moving ends and choosing among them; most series need two.
ROUNDS = 4

# So many segments of so few values on average, with levels in no order, are swings about one level.
SWINGS, MEAN_LENGTH = 12, 20

# The chance of the largest step between their levels from which on the levels have no order.
ORDERED = 0.2


class Sums(NamedTuple):
    """Running sums (n + 1,) of weights and their products: any segment costs a subtraction."""

    weight: Floats
    x: Floats
    y: Floats
    xx: Floats
    xy: Floats
    yy: Floats

    def costs(self, first: Integers, last: Integers) -> tuple[Floats, Floats]:
        """Return the costs of segments, each as a level or as a line, whichever costs less.

        And the slopes, 0 of a level.
        """
        weight, x, y, _, xy, yy = (sums[last] - sums[first] for sums in self)
        across, product = self.across(first, last), xy - x * y / weight
        squares, penalty = np.maximum(yy - y**2 / weight, 0.0), np.log(len(self.weight) - 1)
        slope = np.divide(product, across, out=np.zeros_like(product), where=across > 0)
        level = squares + LEVEL * penalty
        line = np.maximum(squares - slope * product, 0.0) + (LEVEL + SLOPE) * penalty
        straight = (line < level) & (last - first >= SHORT)
        return np.where(straight, line, level) + STEP, np.where(straight, slope, 0.0)

    def across(self, first: Integers, last: Integers) -> Floats:
        """Return the sums of squares of the positions in segments, about their means."""
        weight, x, xx = (sums[last] - sums[first] for sums in (self.weight, self.x, self.xx))
        return np.asarray(xx - x**2 / weight)


def straighten(commits: Commits, pvalues: Floats, min_size: int) -> tuple[Commits, Floats]:
    """Keep those changes without which levels and lines describe a series worse; add slopes.

    The cost of a segment is its sum of squares over the variance of long means, and a penalty for
    each parameter (BIC). Among all sets of the changes found, the one with the least cost is kept;
    then ends move to where they cost least. Series of positive values are described on the scale,
    of values or of logs, on which this costs less, and stay on that of logs where none of their
    segments drifts.

    `pvalues` (series, n) are NaN but where a segment begins. Each has `min_size` values or more.

    References
    ----------
    B. Jackson and others, "An algorithm for optimal partitioning of data on an interval", IEEE
    Signal Processing Letters 12, 2005.
    """
    rows = np.flatnonzero((~np.isnan(pvalues)).any(axis=-1))
    if not rows.size:
        return commits, pvalues
    commits, valid = (
        commits._replace(**{name: getattr(commits, name).copy() for name in CHANGED}),
        pvalues.copy(),
    )
    valid[rows] = np.nan
    scaled = commits.values[rows] / commits.errors[rows]
    around, _ = outlying(scaled)
    noise, _ = squared_differences(scaled)
    # The median difference exceeds the slope, too.
    limit = CLIP * np.median(np.abs(np.diff(scaled)), axis=-1, keepdims=True)
    limit[limit == 0] = np.inf
    levels, clipped = (
        around * commits.errors[rows],
        (around + np.clip(scaled - around, -limit, limit)) * commits.errors[rows],
    )
    rho = commits.correlation[rows]
    variances = noise * (1 + rho) / (2 * (1 - rho) ** 2)
    # Few series change.
    for row, level, values, variance in zip(rows.tolist(), levels, clipped, variances, strict=True):
        starts, x = np.flatnonzero(~np.isnan(pvalues[row])), commits.positions[row].astype(float)
        errors = commits.errors[row] * np.sqrt(max(variance, EXACT * np.var(values)))
        cost, ends, slopes = _partition(x, values, errors, starts, min_size)
        # One step of a level is one on either scale.
        if commits.logs[row] and (slopes.any() or len(slopes) > 2):
            values, errors = np.exp(values), errors * np.exp(level)
            raw_cost, raw_ends, raw_slopes = _partition(x, values, errors, starts, min_size)
            if raw_cost < cost and raw_slopes.any():
                ends, slopes = raw_ends, raw_slopes
                # Values, and not their logs: the noise then grows with the level.
                for field in (commits.values, commits.clean):
                    field[row] = np.exp(field[row])
                commits.logs[row] = False
                commits.errors[row] *= np.exp(level)
                commits.within[row] *= np.mean(np.exp(level)) ** 2
        if len(slopes) >= max(SWINGS, len(x) / MEAN_LENGTH) and _swings(commits.values[row], ends):
            centred = commits.values[row] - commits.values[row].mean()
            commits.correlation[row] = np.sum(centred[1:] * centred[:-1]) / np.sum(centred**2)
            continue
        commits.slopes[row] = np.repeat(slopes, np.diff(ends))
        nearest = starts[np.argmin(np.abs(starts[:, None] - ends[1:-1]), axis=0)]
        valid[row, ends[1:-1]] = pvalues[row, nearest]
    return commits, valid


CHANGED = ("values", "clean", "logs", "errors", "within", "correlation", "slopes")


def _partition(
    x: Floats, values: Floats, errors: Floats, starts: Integers, min_size: int
) -> tuple[float, Integers, Floats]:
    """Return the cost of the best partition, the ends of segments with 0 and n, and slopes."""
    n, weight = len(x), errors**-2
    place, y = x - np.average(x, weights=weight), values - np.average(values, weights=weight)
    products = (
        weight,
        weight * place,
        weight * y,
        weight * place**2,
        weight * place * y,
        weight * y**2,
    )
    sums = Sums(*(np.concatenate([[0.0], np.cumsum(terms)]) for terms in products))
    ends = _best_ends(sums, np.array([0, *starts, n]))
    for _ in range(ROUNDS):
        moved = ends.copy()
        for index in range(1, len(ends) - 1):  # each depends on the one before
            between = np.arange(moved[index - 1] + min_size, ends[index + 1] - min_size + 1)
            costs = (
                sums.costs(moved[index - 1], between)[0] + sums.costs(between, ends[index + 1])[0]
            )
            moved[index] = between[np.argmin(costs)]
        if (moved == ends).all():
            break
        ends = _best_ends(sums, moved)
    costs, slopes = sums.costs(ends[:-1], ends[1:])
    if len(slopes) > 1:
        slopes[slopes**2 * sums.across(ends[:-1], ends[1:]) < CLEAR * np.log(n)] = 0.0
    return float(costs.sum()), ends, slopes


def _best_ends(sums: Sums, candidates: Integers) -> Integers:
    """Return those ends of segments, among candidates, that cost least."""
    best, previous = np.zeros(len(candidates)), np.zeros(len(candidates), dtype=np.intp)
    for end in range(1, len(candidates)):  # each needs those before it
        costs = best[:end] + sums.costs(candidates[:end], candidates[end])[0]
        previous[end] = np.argmin(costs)
        best[end] = costs[previous[end]]
    path = [len(candidates) - 1]
    while path[-1]:
        path.append(int(previous[path[-1]]))
    return candidates[path[::-1]]


def _swings(values: Floats, ends: Integers) -> bool:
    """Return whether the levels of many segments have no step or bump beyond chance."""
    levels = np.add.reduceat(values, ends[:-1])[None] / np.diff(ends)
    return bool(chance(strongest(levels, np.ones(levels.shape), 2)[0], levels.size)[0] > ORDERED)
