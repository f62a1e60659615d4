"""The steps of a series: how large each is, and at which commits it may have happened."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax, stdtr, stdtrit

from perfarray.history.numerics.commits import Commits, whitened
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.verdicts import Tests

# Values farther than so many standard deviations from their level count less: outlying commits
# hardly move it.
BEND = 2.0

# The probability of the set of commits that may have made a change.
SET = 0.95


class Fit(NamedTuple):
    """The means of segments with their squared standard errors (segments,), series by series.

    By series: the scale of residuals, the noise, and the degrees of freedom; `sharpness` turns
    Huber's loss into a log likelihood: at most 1, and less for long tails. `fitted` (series, n) is
    the mean of the segment of every value, or its line. Where a segment drifts, `levels` are those
    of its line at `centres`, and `slopes` are not 0.
    """

    levels: Floats
    variances: Floats
    slopes: Floats
    slope_variances: Floats
    centres: Floats
    fitted: Floats
    scale: Floats
    noise: Floats
    df: Integers
    sharpness: Floats

    def at(self, segments: Integers | int, positions: Floats) -> tuple[Floats, Floats]:
        """Return the levels of segments, extended to positions, with squared standard errors."""
        away = positions - self.centres[segments]
        levels = self.levels[segments] + self.slopes[segments] * away
        return levels, self.variances[segments] + self.slope_variances[segments] * away**2


class Steps(NamedTuple):
    """The steps of a stack of series: series, p-value, likeliest, first and last position."""

    series: Integers
    pvalue: Floats
    position: Integers
    first: Integers
    last: Integers

    @property
    def segments(self) -> Integers:
        """The numbers, among all segments of the stack, of those that the steps begin."""
        # Every series has one segment more than steps.
        return np.arange(len(self.series)) + self.series + 1


def fit_steps(commits: Commits, pvalues: Floats, min_size: int) -> tuple[Fit, Steps, Floats]:
    """Return the levels of series, their steps, and by commit the probability of a step.

    Segments but the first begin where there are `pvalues` (series, n).
    """
    changes, n = ~np.isnan(pvalues), pvalues.shape[-1]
    fit = _fit(commits, changes)
    series, starts = np.nonzero(changes)
    steps = Steps(series, pvalues[changes], *np.broadcast_to(starts, (3, len(starts))).copy())
    # All positions between the neighbours of a step are equally likely beforehand.
    low = np.where(np.diff(series, prepend=-1) == 0, np.roll(starts, 1), 0) + min_size
    high = np.where(np.diff(series, append=-1) == 0, np.roll(starts, -1), n) - min_size + 1
    probability = np.zeros(changes.shape)
    for number, (row, segment, inside) in enumerate(
        zip(series.tolist(), steps.segments.tolist(), map(slice, low, high), strict=True)
    ):
        chances = _chances(commits, fit, row, segment, inside)
        probability[row, inside] += chances
        order = np.argsort(-chances, kind="stable")
        likely = inside.start + order[: int(np.searchsorted(np.cumsum(chances[order]), SET)) + 1]
        if commits.slopes[row].any():  # lines end where they fit best
            likely = np.append(starts[number], likely)
        steps.position[number], steps.first[number], steps.last[number] = (
            likely[0],
            likely.min(),
            likely.max(),
        )
    # Neighbours whose likeliest position is the same are one step.
    distinct = (
        len(series) - 1 - np.unique((series * n + steps.position)[::-1], return_index=True)[1]
    )
    fields: list[Any] = [field[distinct] for field in steps]
    steps = Steps(*fields)
    moved = np.zeros(changes.shape, dtype=bool)
    moved[steps.series, steps.position] = True
    return (
        _fit(commits, moved) if (moved != changes).any() else fit,
        steps,
        np.minimum(probability, 1.0),
    )


def _chances(commits: Commits, fit: Fit, row: int, segment: int, inside: slice) -> Floats:
    """Return the probability of the step to a segment at each position of a slice (Huber)."""
    preceding = slice(inside.start - 1, inside.stop - 1)
    values, errors = commits.clean[row, preceding], commits.errors[row, preceding] * fit.scale[row]
    rho, positions = commits.correlation[row], commits.positions[row, preceding]
    # Without its correlation, a line lies ahead by as many positions as its noise lasts.
    levels = [fit.at(number, positions + rho / (1 - rho))[0] for number in (segment - 1, segment)]
    losses = [huber_loss(np.abs((values - level) / errors)) for level in levels]
    return np.asarray(softmax(fit.sharpness[row] * np.cumsum(losses[1] - losses[0])))


def step_ratios(
    fit: Fit, steps: Steps, positions: Floats, logs: Mask, band: tuple[float, float], level: float
) -> tuple[Floats, Floats, Floats, Tests]:
    """Return by step the ratio of the levels with limits, and its tests against the band."""
    (old_levels, old), (new_levels, new) = (
        fit.at(segments, positions) for segments in (steps.segments - 1, steps.segments)
    )
    df, logs = np.maximum(fit.df, 1)[steps.series], logs[steps.series]
    reach = stdtrit(df, (1 + level) / 2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(old_levels > 0, new_levels / old_levels, np.nan)
        distances = np.where(logs, new_levels - old_levels, ratio)
        errors = np.where(
            logs, np.sqrt(old + new), np.sqrt(new + ratio**2 * old) / np.abs(old_levels)
        )
        limits = (distances, distances - reach * errors, distances + reach * errors)
        estimate, lower, upper = (np.where(logs, np.exp(limit), limit) for limit in limits)
        gaps = [
            np.where(
                logs,
                (distances - np.log(bound)) / errors,
                (new_levels - bound * old_levels) / np.sqrt(new + bound**2 * old),
            )
            for bound in band
        ]
    return (
        estimate,
        lower,
        upper,
        Tests(*(stdtr(df, side * gap) for gap in gaps for side in (1, -1))),
    )


def _fit(commits: Commits, changes: Mask) -> Fit:
    """Return Huber's estimates of the levels of segments, with variances pooled over series."""
    errors, n = commits.errors, changes.shape[-1]
    is_first = changes.copy()
    is_first[:, 0] = True
    firsts, numbers = np.flatnonzero(is_first), is_first.sum(axis=-1)
    segments = np.cumsum(is_first).reshape(changes.shape) - 1
    weights, slopes = 1.0 / errors**2, commits.slopes.ravel()[firsts]
    parameters = numbers + np.bincount(firsts[slopes != 0] // n, minlength=len(changes))
    spare = np.maximum(n - parameters, 1)
    totals = np.add.reduceat(weights.ravel(), firsts)
    centres = np.add.reduceat((weights * commits.positions).ravel(), firsts) / totals
    away = commits.positions - centres[segments]
    across = np.add.reduceat((weights * away**2).ravel(), firsts)
    values = commits.values - slopes[segments] * away
    levels, roots = _medians(values, firsts, numbers), np.sqrt(n / spare)
    for _ in range(15):
        distances = values - levels[segments]
        residuals = whitened(distances, commits.correlation) / errors
        scale = 1.4826 * np.median(np.abs(residuals), axis=-1) * roots
        for fallback in (np.sqrt(np.mean(residuals**2, axis=-1)), 1e-12):
            scale = np.where(scale == 0, fallback, scale)
        bend = BEND * scale[:, None]
        shares = weights * bend / np.maximum(np.abs(distances) / errors, bend)
        levels = np.add.reduceat((shares * values).ravel(), firsts) / np.add.reduceat(
            shares.ravel(), firsts
        )
    squares = np.sum(np.clip(residuals / scale[:, None], -BEND, BEND) ** 2, axis=-1)
    inside = np.maximum(np.mean(np.abs(residuals) < bend, axis=-1), 0.5)
    variance = squares / spare * (scale / inside) ** 2
    noise = np.where(n > parameters, np.sqrt(variance * np.mean(errors**2, axis=-1)), np.nan)
    sharpness = np.minimum(1.0, inside * spare / np.maximum(squares, 1e-300))
    variances = np.repeat(variance, numbers)
    slope_variances = np.divide(variances, across, out=np.zeros(len(across)), where=slopes != 0)
    return Fit(
        levels=levels,
        variances=variances / totals,
        slopes=slopes,
        slope_variances=slope_variances,
        centres=centres,
        fitted=levels[segments] + slopes[segments] * away,
        scale=scale,
        noise=noise,
        df=n - parameters,
        sharpness=sharpness,
    )


def _medians(values: Floats, firsts: Integers, numbers: Integers) -> Floats:
    """Return the medians of segments, which begin at `firsts` of the values of all series.

    `numbers` are those of each series.
    """
    if (numbers == 1).all():
        return np.asarray(np.median(values, axis=-1))
    medians = np.repeat(np.median(values, axis=-1), numbers)
    flat, ends = values.ravel(), np.append(firsts, values.size)
    for segment in np.flatnonzero(np.repeat(numbers > 1, numbers)):  # few, of any length
        medians[segment] = np.median(flat[ends[segment] : ends[segment + 1]])
    return medians


def huber_loss(distances: Floats) -> Floats:
    """Return Huber's loss of distances in standard deviations, which is linear beyond `BEND`."""
    return np.where(distances <= BEND, distances**2 / 2, BEND * distances - BEND**2 / 2)
