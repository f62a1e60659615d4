"""The least threshold with so many false alarms, from sessions between which nothing changed.

A comparison of two sessions is a false alarm where log ratio - reach > log(1 + threshold), or log
ratio + reach < log(1 - threshold). The log ratio of two sessions has the variance 2 s^2, with s^2
that of the log means of sessions; divided by its estimate it follows Student's t. The reach of the
interval is that of comparisons of neighbours. A tail that is not Student's is learned from pairs of
sessions of all benchmarks, each divided by the standard deviation of the sessions that are not in
the pair.

Each benchmark has its own s^2. Drawn towards the others' (`learn`), that of a noisy benchmark in a
quiet suite is too small.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import df_with_prior
from perfarray.numerics.moderated import Prior, fit_robust_prior
from perfarray.numerics.types import Floats, Integers
from perfarray.numerics.verdicts import POWER

# Student's t counts in the tail as much as so many sessions: fewer say little of 1 in 100.
PSEUDO_SESSIONS = 200

# Pairs of sessions so far apart at most say what the tail is like
MAX_LAG = 20

STEPS = 60  # of a bisection, to 1e-18 of its start
LIMITS = 0.95  # the level of the limits of a threshold
LARGEST = 1e9  # degrees of freedom of a variance that is exactly known

Tail = Callable[[Floats], Floats]


class LeastThreshold(NamedTuple):
    """The least threshold of benchmarks, its limits, the change then seen, and what it rests on."""

    threshold: Floats
    threshold_lower: Floats
    threshold_upper: Floats
    detectable_change: Floats
    session_standard_deviation: Floats
    session_df: Floats
    n_sessions: Floats


class Deviations(NamedTuple):
    """Log means of sessions (benchmarks, sessions) about those of their segments, and their df.

    `sizes` are the sessions of the segment of each.
    """

    values: Floats
    segments: Integers
    sizes: Integers
    df: Floats


def deviations_in_segments(logs: Floats, segments: Integers) -> Deviations:
    """Return the distances of the last axis from the means of its segments."""
    measured = ~np.isnan(logs)
    segments = np.where(measured, segments, -1)
    values, sizes = np.full(logs.shape, np.nan), np.zeros(logs.shape, dtype=np.int64)
    numbers = np.zeros(logs.shape[:-1])
    for segment in range(int(segments.max(initial=-1)) + 1):
        inside = segments == segment
        size = inside.sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(inside, logs, 0.0).sum(axis=-1, keepdims=True) / size
        values = np.where(inside, logs - mean, values)
        sizes = np.where(inside, size, sizes)
        numbers += size[..., 0] > 0
    return Deviations(values, segments, sizes, measured.sum(axis=-1) - numbers)


def least_thresholds(
    sessions: Deviations, above: Floats, below: Floats, risk: float, *, learn: bool = False
) -> LeastThreshold:
    """Return the thresholds of benchmarks.

    `above` and `below` (benchmarks, pairs) are the distances of the log limits from the log ratio.
    NaN where no two sessions lie in one segment, or where no comparison has an interval.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = np.nansum(sessions.values**2, axis=-1)
        variance = np.where(sessions.df > 0, squares / sessions.df, np.nan)
        prior = fit_robust_prior((variance, sessions.df)) if learn else None
        moderated, df = _learned(variance, np.where(sessions.df > 0, sessions.df, np.nan), prior)
        tail = learned_tail(sessions, squares, prior)
        deviation = np.sqrt(2 * moderated)
        limits = [*deviation_limits(deviation, df)]
    exact = np.full(df.shape, LARGEST)
    levels = _Reach(above, below)
    # The limits are those of the threshold of the true standard deviation.
    threshold, lower, upper = (
        _least(levels, scale, freedom, tail, risk)
        for scale, freedom in ((deviation, df), (limits[0], exact), (limits[1], exact))
    )
    return LeastThreshold(
        threshold,
        lower,
        upper,
        _detectable(levels, deviation, df, threshold),
        np.sqrt(moderated),
        df,
        (sessions.segments >= 0).sum(axis=-1).astype(float),
    )


def _learned(variance: Floats, df: Floats, prior: Prior | None) -> tuple[Floats, Floats]:
    """Return variances (benchmarks, ...) drawn towards those of the suite, and their df."""
    if prior is None:
        return variance, df
    further = (None,) * (variance.ndim - 1)
    share = np.broadcast_to(prior.share(_of_benchmarks(df))[(..., *further)], variance.shape)
    with np.errstate(invalid="ignore"):
        moderated = np.where(
            share > 0, variance + share * (prior.variances[0] - variance), variance
        )
    joint = df_with_prior([np.ones(share.shape)], [share], [df], prior.df)
    return moderated, np.minimum(joint, LARGEST)


def _of_benchmarks(df: Floats) -> Floats:
    """Return the degrees of freedom of benchmarks, where those of pairs may differ by one."""
    return df if df.ndim == 1 else np.nanmax(np.where(np.isnan(df), 1.0, df), axis=-1)


def deviation_limits(deviation: Floats, df: Floats) -> tuple[Floats, Floats]:
    """Return the limits of a standard deviation with its degrees of freedom."""
    from scipy.special import chdtri

    lower, upper = (
        deviation * np.sqrt(df / chdtri(df, share))
        for share in ((1 - LIMITS) / 2, (1 + LIMITS) / 2)
    )
    return lower, upper


class _Reach(NamedTuple):
    above: Floats
    below: Floats

    def chance(self, lower: Floats, upper: Floats, scale: Floats, df: Floats, tail: Tail) -> Floats:
        """Return the mean chance of a log ratio beyond `upper` or below -`lower` and the reach."""
        from scipy.special import stdtr

        sides = [
            tail(2 * stdtr(df[..., None], -(limit[..., None] + reach) / scale[..., None])) / 2
            for limit, reach in ((upper, self.below), (lower, self.above))
        ]
        with np.errstate(invalid="ignore"):
            valid = ~np.isnan(sides[0] + sides[1])
            number = valid.sum(axis=-1)
            total = np.where(valid, sides[0] + sides[1], 0.0).sum(axis=-1)
            return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def learned_tail(sessions: Deviations, squares: Floats, prior: Prior | None) -> Tail:
    """Return a function from the chance of a pair by Student's t to what pairs have shown."""
    from scipy.special import stdtr

    values, segments = sessions.values, sessions.segments
    chances = []
    for lag in range(1, min(MAX_LAG, values.shape[-1] - 1) + 1):
        first, second, size = values[..., :-lag], values[..., lag:], sessions.sizes[..., lag:]
        same = (segments[..., :-lag] == segments[..., lag:]) & (segments[..., lag:] >= 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            # The mean of the segment is that of the others, too.
            moved = np.where(size > 2, (first + second) ** 2 / (size - 2), 0.0)
            left = squares[..., None] - first**2 - second**2 - moved
            df = np.maximum(sessions.df[..., None] - np.where(size > 2, 2, 1), 0.0)
            valid = same & (df >= 1)
            variance, df = _learned(left / df, np.where(valid, df, np.nan), prior)
            valid &= variance > 0
            chance = 2 * stdtr(df, -np.abs(first - second) / np.sqrt(2 * variance))
        chances.append(chance[valid])
    observed = np.sort(np.concatenate(chances)) if chances else np.empty(0)
    number = (segments >= 0).sum() / 2 if observed.size else 0.0

    def tail(chance: Floats) -> Floats:
        if not observed.size:
            return chance
        below = np.searchsorted(observed, chance, side="right") / observed.size
        mixed = (number * below + PSEUDO_SESSIONS * chance) / (number + PSEUDO_SESSIONS)
        return np.where(np.isnan(chance), np.nan, mixed)

    return tail


def _least(reach: _Reach, scale: Floats, df: Floats, tail: Tail, risk: float) -> Floats:
    """Return the smallest threshold whose rate is at most the risk; NaN from 1 on."""
    low, high = np.zeros(scale.shape), np.ones(scale.shape)
    for _ in range(STEPS):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = reach.chance(-np.log1p(-middle), np.log1p(middle), scale, df, tail)
        low, high = np.where(rate > risk, middle, low), np.where(rate > risk, high, middle)
    with np.errstate(invalid="ignore"):
        known = ~np.isnan(rate) & ~np.isnan(scale)
        return np.where(known & (high < 1 - 1e-9), np.where(high < 1e-9, 0.0, high), np.nan)


def _detectable(reach: _Reach, scale: Floats, df: Floats, threshold: Floats) -> Floats:
    """Return the slowdown that a comparison at the threshold sees with 80 % power."""
    from scipy.special import stdtrit

    with np.errstate(invalid="ignore", divide="ignore"):
        measured = ~np.isnan(reach.below)
        number = measured.sum(axis=-1)
        mean = np.where(measured, reach.below, 0.0).sum(axis=-1) / np.maximum(number, 1)
        change = np.expm1(np.log1p(threshold) + mean + scale * stdtrit(df, POWER))
        return np.where(number > 0, change, np.nan)
