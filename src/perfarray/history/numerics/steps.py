"""The steps of a series: how large each is, and at which commits it may have happened."""

from typing import NamedTuple

import numpy as np
from scipy.special import softmax, stdtr, stdtrit

from perfarray.history.numerics.commits import Commits, whitened
from perfarray.numerics.types import Floats, Integers
from perfarray.numerics.verdicts import Tests

# Values farther than so many standard deviations from their level count less: outlying commits hardly move it.
BEND = 2.0

# The probability of the set of commits that may have made a change.
SET = 0.95


class Fit(NamedTuple):
    """The means of segments, their squared standard errors, the scale of residuals, the noise, and the degrees of freedom.

    `fitted` is the mean of the segment of every value. `sharpness` turns
    Huber's loss into a log likelihood: at most 1, and less for long tails.
    """

    levels: Floats
    fitted: Floats
    variances: Floats
    scale: float
    noise: float
    df: int
    sharpness: float


def fit_steps(commits: Commits, starts: list[int], least: int) -> tuple[Fit, Integers, Integers, Integers, Floats]:
    """Estimate the steps of a series whose segments begin at `starts` (without the first).

    Returns the levels; by step its likeliest position among the commits measured, and the first and last one that it may have; and by
    commit the probability of a step.
    """
    if not len(commits.values):
        nowhere = np.empty(0, dtype=np.intp)
        return Fit(np.full(1, np.nan), np.empty(0), np.full(1, np.nan), np.nan, np.nan, 0, 1.0), nowhere, nowhere, nowhere, np.empty(0)
    fit = _fit(commits, starts)
    posterior = _positions(commits, starts, fit, least)
    moved = [low + int(np.argmax(chances)) for low, chances in posterior]
    probability = np.zeros(len(commits.values))
    first, last = np.array([moved, moved], dtype=np.intp)
    for number, (low, chances) in enumerate(posterior):  # few
        probability[low : low + len(chances)] += chances
        order = np.argsort(-chances, kind="stable")
        likely = order[: int(np.searchsorted(np.cumsum(chances[order]), SET)) + 1]
        first[number], last[number] = low + likely.min(), low + likely.max()
    fit = _fit(commits, moved) if moved else fit
    return fit, np.array(moved, dtype=np.intp), first, last, np.minimum(probability, 1.0)


def step_ratios(fit: Fit, logs: bool, band: tuple[float, float], level: float) -> tuple[Floats, Floats, Floats, Tests]:
    """Return the ratios of neighbouring levels with limits, and their one-sided tests against the band."""
    old_levels, new_levels = fit.levels[:-1], fit.levels[1:]
    old, new = fit.variances[:-1], fit.variances[1:]
    df = max(fit.df, 1)
    reach = stdtrit(df, (1 + level) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        if logs:
            distances, errors = new_levels - old_levels, np.sqrt(old + new)
            estimate, lower, upper = (np.exp(distances + side * reach * errors) for side in (0, -1, 1))
            gaps = [(distances - np.log(bound)) / errors for bound in band]
        else:
            estimate = np.where(old_levels > 0, new_levels / old_levels, np.nan)
            errors = np.sqrt(new + estimate**2 * old) / np.abs(old_levels)
            lower, upper = estimate - reach * errors, estimate + reach * errors
            gaps = [(new_levels - bound * old_levels) / np.sqrt(new + bound**2 * old) for bound in band]
    return estimate, lower, upper, Tests(*(stdtr(df, side * gap) for gap in gaps for side in (1, -1)))


def _fit(commits: Commits, starts: list[int]) -> Fit:
    """Return Huber's estimates of the levels of segments, with a variance that is pooled over the series."""
    values, errors, n = commits.values, commits.errors, len(commits.values)
    firsts = [0, *starts]
    levels = np.array([np.median(segment) for segment in np.split(values, starts)])
    segments, spare = np.searchsorted(np.asarray(starts, dtype=np.intp), np.arange(n), side="right"), max(n - len(firsts), 1)
    weights = 1.0 / errors**2
    for _ in range(15):
        residuals = whitened(values - levels[segments], commits.correlation) / errors
        scale = 1.4826 * float(np.median(np.abs(residuals))) * np.sqrt(n / spare) or float(np.sqrt(np.mean(residuals**2))) or 1e-12
        shares = weights * BEND * scale / np.maximum(np.abs(values - levels[segments]) / errors, BEND * scale)
        levels = np.add.reduceat(shares * values, firsts) / np.add.reduceat(shares, firsts)
    squares = float(np.sum(np.clip(residuals / scale, -BEND, BEND) ** 2))
    inside = max(float(np.mean(np.abs(residuals) < BEND * scale)), 0.5)
    variance = squares / spare * (scale / inside) ** 2
    noise = float(np.sqrt(variance * np.mean(errors**2))) if n > len(firsts) else np.nan
    sharpness = min(1.0, inside * spare / max(squares, 1e-300))
    return Fit(levels, levels[segments], variance / np.add.reduceat(weights, firsts), scale, noise, n - len(firsts), sharpness)


def _positions(commits: Commits, starts: list[int], fit: Fit, least: int) -> list[tuple[int, Floats]]:
    """Return for every change the first position that it may have, and the probabilities of this and the following ones.

    All positions between the neighbours of a change are equally likely beforehand; the likelihood is that of Huber's loss.
    """
    ends, distributions = [0, *starts, len(commits.values)], []
    for number in range(len(starts)):  # few
        low, high = ends[number] + least, ends[number + 2] - least + 1
        values, errors = commits.clean[low - 1 : high - 1], commits.errors[low - 1 : high - 1] * fit.scale
        losses = [huber_loss(np.abs((values - level) / errors)) for level in fit.levels[number : number + 2]]
        distributions.append((low, softmax(fit.sharpness * np.cumsum(losses[1] - losses[0]))))
    return distributions


def huber_loss(distances: Floats) -> Floats:
    """Return Huber's loss of distances in standard deviations: minus the log likelihood of normal values, linear beyond `BEND`."""
    return np.where(distances <= BEND, distances**2 / 2, BEND * distances - BEND**2 / 2)
