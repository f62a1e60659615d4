"""What varies between sessions, learned from other data, in intervals of two sides that are one session each.

The log of the mean of a session of m runs varies by sigma^2 + w / m, with w the variance of runs inside a session. Sessions measured
elsewhere, of M runs, show s^2 = sigma^2 + w / M with their number less one degrees of freedom; a side of m runs has then
s^2 + (1 / m - 1 / M) w, of which the first part is one estimate for both sides. Variances are relative: those of logs.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import Ratio, ratio_from
from perfarray.numerics.levels import mean_of_measured, summarise_units, unit_means
from perfarray.numerics.moderated import fit_prior, moderate
from perfarray.numerics.types import Floats

# A difference of neighbours in a history beyond so many standard deviations is a change of the program, and no noise.
STEP = 4.0
NORMAL = 0.6745  # the median of the distances of normal values from their mean, in standard deviations


class SessionNoise(NamedTuple):
    """The relative variance of the means of sessions with its degrees of freedom, that of the runs inside, and the runs of a session."""

    variance: Floats
    df: Floats
    within: Floats
    runs: Floats


# From values and their number of levels, of which sessions are the outermost, to their noise
Noise = Callable[[Floats, int], SessionNoise]


def noise_of_sessions(values: Floats, levels: int) -> SessionNoise:
    """Return the noise of sessions, the outermost of the last `levels` axes; NaN for fewer than two.

    `within` is NaN, and a session has one run, where there is no level below.
    """
    runs = unit_means(values, levels - 1)
    if levels == 1:
        runs = runs[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = summarise_units(np.log(runs))
        sessions = summarise_units(np.log(mean_of_measured(runs)))
        freedom = np.where(inside.n > 1, inside.n - 1, 0.0)
        within = np.where(freedom > 0, inside.variance * inside.n * freedom, 0.0).sum(axis=-1) / freedom.sum(axis=-1)
        number = 1 / mean_of_measured(np.where(inside.n > 0, 1 / inside.n, np.nan))
    return SessionNoise(sessions.variance * sessions.n, sessions.n - 1, within, number)


def noise_of_history(values: Floats, levels: int) -> SessionNoise:
    """Return the same of a history, whose neighbours differ by noise but for a few changes of the program.

    The variance is half the mean square of the differences of neighbours, without those that are changes; n of them are worth 2 n / 3
    degrees of freedom.
    """
    noise = noise_of_sessions(values, levels)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(mean_of_measured(unit_means(values, levels - 1)) if levels > 1 else values)
    # Differences of neighbours that were measured: gaps go to the end.
    order = np.argsort(np.isnan(logs), axis=-1, kind="stable")
    differences = np.diff(np.take_along_axis(logs, order, axis=-1), axis=-1)
    measured = ~np.isnan(differences)
    sizes = np.where(measured.any(axis=-1, keepdims=True), np.abs(differences), 0.0)
    deviation = np.nanmedian(sizes, axis=-1, keepdims=True) / NORMAL if sizes.shape[-1] else np.zeros((*logs.shape[:-1], 1))
    counted = measured & ((np.abs(differences) <= STEP * deviation) | (deviation == 0))
    number = counted.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(counted, differences, 0.0) ** 2
        return noise._replace(variance=variance.sum(axis=-1) / (2 * number), df=np.maximum(2 * number / 3, 1.0))


def noise_of_suite(values: Floats, levels: int, noise_of: Noise, *, learn: bool) -> tuple[SessionNoise, SessionNoise]:
    """Return the noise of each benchmark, and of their mean, of values (..., benchmarks, levels).

    If benchmarks `learn` from each other, what is left of sessions without their mean over the benchmarks is moderated; that mean, which
    moves all benchmarks together, is one estimate for all and keeps its degrees of freedom.
    """
    rows = noise_of(values, levels)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(unit_means(values, levels))
        centred = logs - mean_of_measured(logs)[..., None]
        # Sessions that have all benchmarks that any session has
        present = ~np.isnan(logs).all(axis=-1, keepdims=True)
        number = present.sum(axis=-2).astype(float)
        mean = np.where(present, centred, 0.0).sum(axis=-2) / number
        suite = noise_of(np.exp(mean), 1)
        suite = suite._replace(within=np.nan_to_num(rows.within / rows.runs).sum(axis=-1) / number[..., 0] ** 2)
        if learn:
            left = noise_of(np.exp(centred - mean[..., None, :]), 1)
            variance = left.variance * number / (number - 1)
            prior = fit_prior((variance, left.df))
            moderated = moderate(variance, left.df, prior)
            common = np.maximum(suite.variance[..., None] - np.nanmean(variance, axis=-1, keepdims=True) / number, 0.0)
            parts = common**2 / suite.df[..., None] + moderated**2 / (left.df + prior.cautious_df[..., None])
            total = common + moderated
            rows = rows._replace(variance=total, df=np.where(parts > 0, total**2 / parts, rows.df))
    return rows, suite


def add_sessions(ratio: Ratio, df: Floats, noise: SessionNoise) -> tuple[Ratio, Floats]:
    """Return a ratio of two sides of one session each, with what varies between sessions in its errors, and its degrees of freedom."""
    sides = (ratio.numerator, ratio.denominator)
    inside_sessions, changes = [], []
    for side in sides:
        with np.errstate(divide="ignore", invalid="ignore"):
            within = np.where(side.n > 1, side.variance / side.mean**2 * side.n, noise.within)
            # Nothing is known of runs inside a session where both the side and the other sessions have one: nothing is needed.
            inside_sessions.append(np.nan_to_num(within / side.n))
            changes.append(inside_sessions[-1] - np.nan_to_num(within / noise.runs))
    # A baseline of several candidates has one row for all.
    inside, change = (np.stack(np.broadcast_arrays(*each)) for each in (inside_sessions, changes))
    variances, df = _variances_of_sides(noise, inside, change, df)
    moved = [
        side._replace(variance=np.where(side.n > 0, variance * side.mean**2, np.nan))
        for side, variance in zip(sides, variances, strict=True)
    ]
    return ratio_from(*moved), df


def add_sessions_to_suite(error: Floats, df: Floats, noise: SessionNoise) -> tuple[Floats, Floats]:
    """Return the squared error of the log of a suite's ratio, `error` of which is inside sessions, and its degrees of freedom.

    The noise is that of the mean over the benchmarks, of which `within` is what runs inside the other sessions add.
    """
    inside = np.stack([np.nan_to_num(error) / 2] * 2)
    variances, df = _variances_of_sides(noise, inside, inside - np.nan_to_num(noise.within), df)
    return variances.sum(axis=0), df


def _variances_of_sides(noise: SessionNoise, inside: Floats, change: Floats, df: Floats) -> tuple[Floats, Floats]:
    """Return the variances of both sides (first axis), and Satterthwaite's degrees of freedom of their sum.

    A side differs from the other sessions by a `change`, and has no less than what its own runs show. Where it has more runs than those
    sessions, and what their runs add is not known well enough to be subtracted, nothing is: limits are wider than they need be.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (2 * noise.variance) ** 2 / noise.df

        def joint(change: Floats) -> tuple[Floats, Floats]:
            variances = np.maximum(noise.variance + change, inside)
            parts = error + np.nan_to_num(change.sum(axis=0) ** 2 / df)
            return variances, np.where(parts > 0, variances.sum(axis=0) ** 2 / parts, noise.df)

        (variances, exact), (wide, cautious) = joint(change), joint(np.maximum(change, 0.0))
    vague = exact < noise.df
    return np.where(vague, wide, variances), np.asarray(np.where(vague, cautious, exact))
