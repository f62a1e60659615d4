"""What is known of the steps of a series: how large each is, and at which commits it may have happened."""

from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from perfarray.history.numerics.commits import Commits, whitened
from perfarray.numerics.types import Floats, Integers
from perfarray.numerics.verdicts import Tests

BEND = 2.0
"""From how many standard deviations on a value counts less: single days move no level."""

SET = 0.95
"""How sure the set of commits of a change is."""


class Steps(NamedTuple):
    """Of the changes of one series: their places among the commits measured, sizes and tests; then along these commits.

    `first` and `last` are the ends of the set of places, `probability` is that of a change at a commit, `levels` the mean of its segment,
    and `noise` the standard deviation of one commit about it.
    """

    positions: Integers
    estimate: Floats
    lower: Floats
    upper: Floats
    tests: Tests
    first: Integers
    last: Integers
    probability: Floats
    levels: Floats
    noise: float


class Fit(NamedTuple):
    """The levels of segments, their squared standard errors, the scale of residuals and the noise, and the degrees of freedom.

    `sharpness` turns Huber's loss into a log likelihood: at most 1, less where tails are long.
    """

    levels: Floats
    variances: Floats
    scale: float
    noise: float
    df: int
    sharpness: float


def describe_steps(commits: Commits, starts: list[int], least: int, *, logs: bool, band: tuple[float, float], level: float) -> Steps:
    """Return what is known of the steps at some places: ratios after / before, limits at a confidence level, tests against a band.

    Parameters
    ----------
    commits : Commits
        Values, logs of them where `logs`.
    places : list of int
        Where segments begin, but for the first.
    least : int
        The fewest commits of a segment.
    logs : bool
        Whether values are logs.
    band : tuple of float
        The ratios that do not matter lie between these.
    level : float
        The confidence level.
    """
    n = len(commits.values)
    fit = _fit(commits, starts) if n else Fit(np.full(1, np.nan), np.full(1, np.nan), np.nan, np.nan, 0, 1.0)
    posterior = _positions(commits, starts, fit, least)
    starts = [low + int(np.argmax(chances)) for low, chances in posterior]
    fit = _fit(commits, starts) if starts else fit
    probability = np.zeros(n)
    first, last = np.array(starts, dtype=np.intp), np.array(starts, dtype=np.intp)
    for number, (low, chances) in enumerate(posterior):  # few
        probability[low : low + len(chances)] += chances
        order = np.argsort(-chances, kind="stable")
        likely = order[: int(np.searchsorted(np.cumsum(chances[order]), SET)) + 1]
        first[number], last[number] = low + likely.min(), low + likely.max()
    old_levels, new_levels = fit.levels[:-1], fit.levels[1:]
    old, new = fit.variances[:-1], fit.variances[1:]
    reach = stdtrit(max(fit.df, 1), (1 + level) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        if logs:
            distances, errors = new_levels - old_levels, np.sqrt(old + new)
            estimate, lower, upper = (np.exp(distances + side * reach * errors) for side in (0, -1, 1))
        else:
            estimate = np.where(old_levels > 0, new_levels / old_levels, np.nan)
            errors = np.sqrt(new + estimate**2 * old) / np.abs(old_levels)
            lower, upper = estimate - reach * errors, estimate + reach * errors
        tests = []
        for bound in band:
            gap = (
                (new_levels - old_levels - np.log(bound)) / np.sqrt(old + new)
                if logs
                else (new_levels - bound * old_levels) / np.sqrt(new + bound**2 * old)
            )
            tests += [stdtr(max(fit.df, 1), gap), stdtr(max(fit.df, 1), -gap)]
    levels = fit.levels[_segments(starts, n)]
    return Steps(
        positions=np.array(starts, dtype=np.intp),
        estimate=estimate,
        lower=lower,
        upper=upper,
        tests=Tests(*tests),
        first=first,
        last=last,
        probability=np.minimum(probability, 1.0),
        levels=levels,
        noise=fit.noise,
    )


def _segments(starts: list[int], n: int) -> Integers:
    """Return the number of the segment of every value."""
    return np.searchsorted(np.asarray(starts, dtype=np.intp), np.arange(n), side="right")


def _fit(commits: Commits, starts: list[int]) -> Fit:
    """Return robust levels of the segments, and how well they are known: Huber's estimate, its variance pooled over the series."""
    values, errors, n = commits.values, commits.errors, len(commits.values)
    bounds = list(zip([0, *starts], [*starts, n], strict=True))
    levels = np.array([np.median(values[low:high]) for low, high in bounds])
    segments, spare = _segments(starts, n), max(n - len(bounds), 1)
    weights = 1.0 / errors**2
    for _ in range(15):
        residuals = whitened(values - levels[segments], commits.correlation) / errors
        scale = 1.4826 * float(np.median(np.abs(residuals))) * np.sqrt(n / spare) or float(np.sqrt(np.mean(residuals**2))) or 1e-12
        shares = weights * BEND * scale / np.maximum(np.abs(values - levels[segments]) / errors, BEND * scale)
        levels = np.add.reduceat(shares * values, [low for low, _ in bounds]) / np.add.reduceat(shares, [low for low, _ in bounds])
    bent = np.clip(residuals / scale, -BEND, BEND)
    inside = max(float(np.mean(np.abs(residuals) < BEND * scale)), 0.5)
    unit = float(np.sum(bent**2)) / spare * (scale / inside) ** 2
    information = np.add.reduceat(weights, [low for low, _ in bounds])
    noise = float(np.sqrt(unit * np.mean(errors**2))) if n > len(bounds) else np.nan
    sharpness = min(1.0, inside * spare / max(float(np.sum(bent**2)), 1e-300))
    return Fit(levels, unit / information, scale, noise, n - len(bounds), sharpness)


def _positions(commits: Commits, starts: list[int], fit: Fit, least: int) -> list[tuple[int, Floats]]:
    """Return for every change the first place it may have and the probability of this and the following ones, all as likely before.

    The likelihood is that of Huber's loss between the levels beside the change, in the scale in which its information is that of normal
    values; neighbours stay where they are.
    """
    values = whitened(commits.values, commits.correlation)
    ends, distributions = [0, *starts, len(values)], []
    for number in range(len(starts)):  # few
        low, high = ends[number] + least, ends[number + 2] - least + 1
        losses = [
            _loss((values[low - 1 : high - 1] - level) / (commits.errors[low - 1 : high - 1] * fit.scale))
            for level in fit.levels[number : number + 2]
        ]
        gains = fit.sharpness * np.cumsum(losses[1] - losses[0])
        chances = np.exp(gains - gains.max())
        distributions.append((low, chances / chances.sum()))
    return distributions


def _loss(residuals: Floats) -> Floats:
    """Return Huber's loss, -log likelihood."""
    size = np.abs(residuals)
    return np.where(size <= BEND, size**2 / 2, BEND * size - BEND**2 / 2)
