"""Variances learned over a suite: each benchmark's is drawn towards what they share (Smyth 2004).

With variances s_g^2 on d_g degrees of freedom, sigma_g^2 is taken as d0 s0^2 / chi^2(d0), and the
posterior variance (d0 s0^2 + d_g s_g^2) / (d0 + d_g) has d0 + d_g degrees of freedom. Variances are
those of the logs of unit means, so that benchmarks of microseconds and of minutes have a prior in
common. The last axis of variances is the benchmarks.

A benchmark that is noisier than the others needs its own variance (Phipson et al. 2016): where an F
test of s_g^2 against the prior of the others has a small p-value it has no share of the prior, and
else half of d0 / (d0 + d_g). Plans, which judge nothing, have the plain prior.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import (
    LOG_DELTA,
    Ratio,
    df_with_prior,
    quotient,
    ratio_df,
    ratio_from,
    standard_error,
    t_quantile,
)
from perfarray.numerics.levels import summarise_units
from perfarray.numerics.nested_anova import Components
from perfarray.numerics.types import Floats

# Smaller variances are raised to this share of the suite's median, as limma does: their logs would
# decide everything.
LEAST = 1e-5

# Standard errors that are added to the spread of log variances before the degrees of freedom of
# plans are read from it, where there is one side; half of it where there are two. One estimate
# serves all benchmarks, and plans are too small where it is too small.
CAUTION = 1.0

# A noisy benchmark whose few runs happen to agree with the others is what makes false verdicts. So
# a benchmark takes only this part of the prior's share, and nothing where its p-value is below
# DOUBTED / df^1.5 over the number of sides, at most MOST_DOUBTED: the fewer its runs, the more
# often they agree by chance, and one side alone has no quiet one beside it
# (docs/scripts/moderated.py has the levels).
COUNTED, DOUBTED, MOST_DOUBTED = 0.5, 1.7, 0.8

# Benchmarks below this p-value are no part of the prior. Leaving out all that are doubted would
# make what remains look too quiet.
LEFT_OUT = 0.01

# A noisy benchmark hides a second one from the test until it is left out.
PASSES = 2

# Two or three variances say nearly nothing of what they have in common.
FEWEST = 4


class Prior(NamedTuple):
    """What the variances of a suite have in common, one number per suite (...).

    `df` is d0 of all sides together: infinite where variances are no more unlike than chance makes
    them, 0 where fewer than two benchmarks have one. `cautious_df` is its lower limit. `variances`
    holds s0^2 of each side. `pvalue` (..., benchmarks) is that of a benchmark whose variances are
    no larger than those of the others.
    """

    df: Floats
    cautious_df: Floats
    variances: tuple[Floats, ...]
    pvalue: Floats
    is_robust: bool = False

    def share(self, df: Floats) -> Floats:
        """Return the share of s0^2 in the variances of benchmarks that have `df` of their own."""
        d0 = self.df[..., None]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(np.isposinf(d0), 1.0, np.where(d0 > 0, d0 / (d0 + df), 0.0))
            doubted = self.pvalue < np.clip(
                DOUBTED / len(self.variances) / df**1.5, LEFT_OUT, MOST_DOUBTED
            )
        return np.asarray(share * np.where(doubted, 0.0, COUNTED) if self.is_robust else share)


class _Spread(NamedTuple):
    """Log variances of one side less their bias by chance: mean, variance, moments of chance."""

    number: Floats
    mean: Floats
    variance: Floats
    chance: Floats
    fourth: Floats
    average: Floats


def fit_prior(*sides: tuple[Floats, Floats]) -> Prior:
    """Return the prior of one or two sides, given as variances and df (..., benchmarks).

    NaN is not measured.

    With e = log s^2 - digamma(d / 2) + log(d / 2), d0 solves trigamma(d0 / 2) = var(e) - mean of
    trigamma(d / 2), averaged over the sides: of one side this is limma's `fitFDist`.
    """
    sides = _broadcast(sides)
    df, cautious, variances = _fitted([_spread(*side) for side in sides])
    return Prior(df, cautious, variances, np.ones(sides[0][0].shape))


def fit_robust_prior(*sides: tuple[Floats, Floats]) -> Prior:
    """Return the same with each benchmark's p-value: the F test against the prior of the others.

    Of two sides it is twice the smaller. Benchmarks below LEFT_OUT are not in the prior, and suites
    of few have none.
    """
    from scipy.special import chdtrc, fdtrc

    sides = _broadcast(sides)
    remaining = sides
    for _ in range(PASSES):
        df, _, variances = _fitted([_spread(*side, without_each=True) for side in remaining])
        pvalue, finite = np.ones(df.shape), np.where(np.isfinite(df) & (df > 0), df, 1.0)
        for (variance, freedom), expected in zip(sides, variances, strict=True):
            with np.errstate(divide="ignore", invalid="ignore"):
                excess = variance / expected
                tail = np.where(
                    np.isposinf(df),
                    chdtrc(freedom, freedom * excess),
                    fdtrc(freedom, finite, excess),
                )
            pvalue = np.fmin(pvalue, np.where(df > 0, len(sides) * tail, 1.0))
        remaining = tuple(
            (np.where(pvalue < LEFT_OUT, np.nan, variance), freedom) for variance, freedom in sides
        )
    prior = fit_prior(*remaining)
    too_few = np.min([_spread(*side).number for side in sides], axis=0) < FEWEST
    df = np.where(too_few, 0.0, prior.df)
    # Noisy benchmarks have errors of their own, so that a d0 that is too large by chance does no
    # harm.
    return prior._replace(
        df=df, cautious_df=df, pvalue=np.where(too_few[..., None], 1.0, pvalue), is_robust=True
    )


def _broadcast(sides: Sequence[tuple[Floats, Floats]]) -> tuple[tuple[Floats, Floats], ...]:
    arrays = np.broadcast_arrays(*(array for side in sides for array in side))
    return tuple(zip(arrays[::2], arrays[1::2], strict=True))


def _fitted(spreads: list[_Spread]) -> tuple[Floats, Floats, tuple[Floats, ...]]:
    """Return d0, its lower limit, and s0^2 of each side."""
    from scipy.special import digamma

    number = np.min([spread.number for spread in spreads], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance, total = (
            np.mean([getattr(spread, name) for spread in spreads], axis=0)
            for name in ("chance", "variance")
        )
        excess = total - chance
        # The error of a variance of n values: 2 sigma^4 / (n - 1) + fourth cumulant / n. Two sides
        # of one benchmark count as one.
        fourth = np.mean([spread.fourth for spread in spreads], axis=0)
        error = np.sqrt(2 * np.maximum(total, chance) ** 2 / (number - 1) + fourth / number)
        df, cautious = (
            np.where(
                number > 1,
                np.where(spread_excess > 0, 2 * inverse_trigamma(spread_excess), np.inf),
                0.0,
            )
            for spread_excess in (excess, excess + CAUTION / len(spreads) * error)
        )
        half = np.where(np.isfinite(df) & (df > 0), df, 1.0) / 2
        shift = digamma(half) - np.log(half)
        variances = tuple(
            np.where(np.isposinf(df), spread.average, np.exp(spread.mean + shift))
            for spread in spreads
        )
    return df, cautious, variances


def moderate(variance: Floats, df: Floats, prior: Prior, side: int = 0) -> Floats:
    """Return the posterior variances of a side where the benchmark agrees with the prior.

    They are (d0 s0^2 + d s^2) / (d0 + d).
    """
    share = prior.share(df)
    with np.errstate(invalid="ignore"):
        return np.where(
            share > 0, variance + share * (prior.variances[side][..., None] - variance), variance
        )


def moderated_ratio(
    new: Floats,
    old: Floats,
    *,
    paired: bool,
    df_rule: str,
    fit: Callable[..., Prior] = fit_robust_prior,
) -> tuple[Ratio, Floats, Prior]:
    """Return the ratio of unit means (..., benchmarks, units) with moderated errors, df, and prior.

    The errors are those of the logs of the unit means; of pairs, of the logs of their ratios.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(new), np.log(old)
    if paired:
        complete = ~(np.isnan(new) | np.isnan(old))
        means = [summarise_units(np.where(complete, side, np.nan)) for side in (new, old)]
        units = [summarise_units(logs[0] - logs[1])]
    else:
        means, units = (
            [summarise_units(side) for side in (new, old)],
            [summarise_units(side) for side in logs],
        )
    variances = [(side.variance * side.n, side.n - 1) for side in units]
    prior = fit(*variances)
    shares = tuple(prior.share(df) for _, df in variances)
    # Squared standard errors of the logs, after moderation
    errors = [
        moderate(*side_variances, prior, index) / side.n
        for index, (side_variances, side) in enumerate(zip(variances, units, strict=True))
    ]
    if paired:
        zero = np.zeros_like(errors[0])
        numerator, denominator = (side._replace(variance=zero) for side in means)
        residual = numerator.mean**2 * errors[0]
        ratio = Ratio(
            quotient(numerator.mean, denominator.mean), numerator, denominator, residual, zero, True
        )
    else:
        ratio = ratio_from(
            *(
                side._replace(variance=side.mean**2 * error)
                for side, error in zip(means, errors, strict=True)
            )
        )
    ratio = ratio._replace(prior_df=prior.cautious_df[..., None], prior_shares=shares)
    return ratio, ratio_df(ratio, df_rule), prior


def moderate_components(
    components: Components, *, of_suite: bool = False
) -> tuple[Components, Floats]:
    """Return relative components (..., benchmarks, L) moderated by level, and each d0 (..., L).

    The d0 are the cautious ones.

    S_i^2 is moderated; T_i^2 is what remains of it without the share of the level below, which
    changes as that level's variance does. Moderated variances of a suite keep their sum, which is
    without bias, and would be too small where benchmarks differ.
    """
    squared = components.mean**2
    level_variance, variance = components.level_variance.copy(), components.variance.copy()
    below = np.zeros(squared.shape)
    growth, cautious = np.ones(squared.shape), np.zeros((*squared.shape[:-1], variance.shape[-1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        for level in range(variance.shape[-1] - 1, -1, -1):
            unmoderated, df = components.level_variance[..., level], components.level_df[..., level]
            prior = fit_prior((unmoderated / squared, df))
            moderated = moderate(unmoderated / squared, df, prior)
            if of_suite:
                moderated = (
                    moderated
                    * (np.nansum(unmoderated / squared, axis=-1) / np.nansum(moderated, axis=-1))[
                        ..., None
                    ]
                )
            moderated = moderated * squared
            # Of a level without a variance of its own (merged), what lies below stays that of the
            # level below it.
            estimated = ~np.isnan(unmoderated)
            share = np.where(
                growth > 0, (unmoderated - components.variance[..., level]) * growth, below
            )
            level_variance[..., level], variance[..., level] = moderated, moderated - share
            below = np.where(estimated, moderated / components.repetitions[..., level], below)
            growth = np.where(
                estimated, np.where(unmoderated > 0, moderated / unmoderated, 0.0), growth
            )
            cautious[..., level] = prior.cautious_df
    return components._replace(level_variance=level_variance, variance=variance), cautious


def learned(prior: Prior, ratio: Ratio, unmoderated: Ratio) -> tuple[Floats, ...]:
    """Return d0, the common standard deviation, p-values, and errors of logs with and without."""
    return (
        prior.df,
        _deviation(prior),
        prior.pvalue,
        standard_error(ratio, LOG_DELTA),
        standard_error(unmoderated, LOG_DELTA),
    )


def mean_by_suite(means: Floats, *, level: float) -> tuple[Floats, ...]:
    """Return `intervals.mean_by_units` with moderated errors, what is learned, and errors without.

    The unit means are (..., benchmarks, units).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        units, logs = summarise_units(means), summarise_units(np.log(means))
        variance, df = logs.variance * logs.n, logs.n - 1
        prior = fit_robust_prior((variance, df))
        error = units.mean * np.sqrt(moderate(variance, df, prior) / units.n)
        df = np.where(
            units.n > 1,
            df_with_prior([np.ones(df.shape)], [prior.share(df)], [df], prior.df[..., None]),
            np.nan,
        )
    half = t_quantile((1 + level) / 2, df) * error
    learned_of_suite = prior.df, _deviation(prior), prior.pvalue
    return (
        units.mean,
        units.mean - half,
        units.mean + half,
        error,
        df,
        units.n,
        *learned_of_suite,
        np.sqrt(units.variance),
    )


def _deviation(prior: Prior) -> Floats:
    """Return s0, of two sides the root of the mean of both squares."""
    return np.asarray(np.sqrt(np.mean(prior.variances, axis=0)))


def _spread(variance: Floats, df: Floats, *, without_each: bool = False) -> _Spread:
    """Return the moments of the log variances of one side.

    For every benchmark, those of the others.

    Runs that are all equal show that they vary by less than values are rounded to, and not by how
    much: they teach nothing.
    """
    from scipy.special import digamma, polygamma

    measured = np.isfinite(variance) & (df > 0) & (variance > 0)
    filled = np.where(
        measured | ~measured.any(axis=-1, keepdims=True), np.where(measured, variance, 1.0), np.nan
    )
    median = (
        np.nanmedian(filled, axis=-1, keepdims=True)
        if variance.shape[-1]
        else np.ones((*variance.shape[:-1], 1))
    )
    variance, df = (
        np.where(measured, np.maximum(variance, LEAST * median), 1.0),
        np.where(measured, df, 1.0),
    )
    number = measured.sum(axis=-1, keepdims=True).astype(float)
    divisor = number - measured if without_each else number

    def average(values: Floats) -> Floats:
        values = np.where(measured, values, 0.0)
        total = values.sum(axis=-1, keepdims=True)
        return np.asarray((total - values if without_each else total) / divisor)

    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(variance) - digamma(df / 2) + np.log(df / 2)
        mean = np.where(measured, logs, 0.0).sum(axis=-1, keepdims=True) / number
        squares = average((logs - mean) ** 2) - (average(logs) - mean) ** 2
        chance, fourth = (average(polygamma(order, df / 2)) for order in (1, 3))
        moments = (
            average(logs),
            squares * divisor / (divisor - 1),
            chance,
            fourth,
            average(variance),
        )
    return _Spread(*(values if without_each else values[..., 0] for values in (divisor, *moments)))


def inverse_trigamma(value: Floats) -> Floats:
    """Return x with trigamma(x) = value, by Newton's method on 1 / trigamma, which is convex."""
    from scipy.special import polygamma

    inner = np.where((value > 1e-6) & (value < 1e7), value, 1.0)
    x = 0.5 + 1 / inner
    moving = np.ones(np.shape(x), dtype=bool)  # a value that has arrived stays, whatever others do
    for _ in range(50):
        trigamma = polygamma(1, x)
        step = trigamma * (1 - trigamma / inner) / polygamma(2, x)
        x = np.where(moving, x + step, x)
        moving &= -step / x >= 1e-10
        if not moving.any():
            break
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            np.where(value >= 1e7, 1 / np.sqrt(value), np.where(value <= 1e-6, 1 / value, x))
        )
