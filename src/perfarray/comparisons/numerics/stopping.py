"""Rules of stopping: intervals after each further unit, and where a rule stops.

A mean is treated as the ratio to pairs that are exactly 1: Fieller's set is then the mean and as
many standard errors either side.
"""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from perfarray.numerics.intervals import (
    ONE_PIECE,
    Ratio,
    cut_to_positive,
    fieller,
    quotient,
    ratio_df,
    ratio_of,
    t_quantile,
    welch_df,
)
from perfarray.numerics.levels import UnitSummary, mean_of_measured
from perfarray.numerics.moderated import fit_prior, moderated_ratio
from perfarray.numerics.searching import first_reached
from perfarray.numerics.sequences import sequence_quantile
from perfarray.numerics.types import Floats, Mask

STEIN, EACH, ALWAYS, STEADY = "stein", "t", "always_valid", "cv"
RULES = (STEIN, EACH, ALWAYS, STEADY)

EXPECTED = 3  # a confidence sequence is narrowest at this multiple of `start`
FURTHEST = 1e7  # units beyond which a number is infinite


class Rule(NamedTuple):
    """A rule of stopping: its name, first units, half-width to reach, and level.

    If benchmarks `learn` their variances from each other, they are the axis before the units; by
    Stein's rule alone.
    """

    name: str
    start: int
    half_width: float
    level: float
    learn: bool = False

    def quantile(self, units: Floats, df: Floats) -> Floats:
        """Return the half-width of an interval in standard errors after so many units."""
        if self.name == ALWAYS:
            return sequence_quantile(units, self.level, EXPECTED * self.start)
        return t_quantile((1 + self.level) / 2, df)


class Path(NamedTuple):
    """Along the units taken: estimate, limits, relative half-width.

    Per cell: the units required, the interval there, units measured.

    `remaining` are the units still to be measured; NaN where their number is not known.
    """

    estimate: Floats
    lower: Floats
    upper: Floats
    half_width: Floats
    required: Floats
    extrapolated: Floats
    stopped_estimate: Floats
    stopped_lower: Floats
    stopped_upper: Floats
    n: Floats
    remaining: Floats


class Growing(NamedTuple):
    """A ratio after each further unit (..., units) and the degrees of freedom of its error.

    NaN where there is none.
    """

    ratio: Ratio
    df: Floats

    @property
    def unit_error(self) -> Floats:
        """The relative standard error of one unit: that of n is this over the square root of n."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                np.sqrt(self.ratio.residual * self.ratio.n) / np.abs(self.ratio.numerator.mean)
            )


def path(new: Floats, old: Floats | None, paired: bool, rule: Rule) -> Path:
    """Return the intervals of unit means (..., units) in their order, and where a rule stops.

    Unit means are NaN where not measured; without old, the mean of new is estimated. `extrapolated`
    is `required`, or the number that suffices if further units vary as these: NaN where that is not
    known, infinite beyond ten million.
    """
    positive: Mask | bool = False
    if old is None:
        old, paired = np.ones_like(new), True
    else:
        positive = np.asarray(
            (np.fmin.reduce(new, axis=-1) > 0) & (np.fmin.reduce(old, axis=-1) > 0)
        )[..., None]
    new, old = in_turn(new, old, paired)
    growing = (
        last_units(new, old, paired, rule.start)
        if rule.name == STEADY
        else grown(new, old, paired or rule.name == ALWAYS, rule)
    )
    units, n = np.arange(1.0, new.shape[-1] + 1), (~np.isnan(new + old)).sum(axis=-1).astype(float)
    estimate = np.where(np.isnan(growing.df), np.nan, growing.ratio.estimate)
    lower, upper = _limits(growing.ratio, rule.quantile(growing.ratio.n, growing.df), positive)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = (upper - lower) / 2 / np.abs(estimate)
    if rule.name == STEIN:
        extrapolated = _planned(growing, rule)
        required = np.where(extrapolated <= n, extrapolated, np.nan)
    else:
        reached = (unsteadiness(growing.ratio) if rule.name == STEADY else half) <= rule.half_width
        enough = (
            (units >= rule.start) & ~np.isnan(growing.df) & reached
        )  # incomplete windows have no df
        required = np.where(enough.any(axis=-1), units[np.argmax(enough, axis=-1)], np.nan)
        extrapolated = np.where(
            np.isnan(required) & (rule.name != STEADY), _extrapolated(growing, n, rule), required
        )
    index = np.where(np.isnan(required), 1, required).astype(int)[..., None] - 1
    at_stop = [
        np.where(np.isnan(required), np.nan, np.take_along_axis(series, index, axis=-1)[..., 0])
        for series in (estimate, lower, upper)
    ]
    return Path(
        estimate=estimate,
        lower=lower,
        upper=upper,
        half_width=half,
        required=required,
        extrapolated=extrapolated,
        stopped_estimate=at_stop[0],
        stopped_lower=at_stop[1],
        stopped_upper=at_stop[2],
        n=n,
        remaining=np.where(
            np.isnan(required), np.where(n < rule.start, rule.start, extrapolated) - n, 0.0
        ),
    )


def in_turn(new: Floats, old: Floats, paired: bool) -> tuple[Floats, Floats]:
    """Return the measured units of both sides in their order, as many as both have.

    Of pairs, those that both have.
    """
    if paired:
        complete = ~(np.isnan(new) | np.isnan(old))
        new, old = np.where(complete, new, np.nan), np.where(complete, old, np.nan)
    most = min(new.shape[-1], old.shape[-1])
    new_units, old_units = (
        np.take_along_axis(side, np.argsort(np.isnan(side), axis=-1, kind="stable"), axis=-1)
        for side in (new, old)
    )
    return new_units[..., :most], old_units[..., :most]


def grown(new: Floats, old: Floats, paired: bool, rule: Rule) -> Growing:
    """Return the ratio of the first unit, of the first two, and so on.

    Stein's rule keeps the variances of its pilot.
    """
    counts = np.arange(1.0, new.shape[-1] + 1)
    means = _running_mean(new, counts), _running_mean(old, counts)
    if rule.learn:
        return _grown_of_suite(new, old, means, paired, rule.start)
    estimate = quotient(*means)
    new_adjusted, factor = new, np.zeros(new.shape[:-1])
    if paired:  # the common part of pairs is subtracted, so that large numbers do not cancel
        factor = np.nan_to_num(quotient(mean_of_measured(new), mean_of_measured(old)))
        new_adjusted = new - factor[..., None] * old
    beyond = estimate - factor[..., None]
    pilot = rule.start if rule.name == STEIN else None
    freedom = (
        np.where(counts < rule.start, np.nan, rule.start - 1)
        if pilot
        else np.where(counts > 1, counts - 1, np.nan)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        squares, old_variance = (
            _running_products(side, side, pilot) / freedom / counts for side in (new_adjusted, old)
        )
        common = (
            _running_products(new_adjusted, old, pilot) / freedom / counts
            if paired
            else np.zeros_like(old_variance)
        )
        residual = np.maximum(squares - beyond * (2 * common - beyond * old_variance), 0.0)
        df = (
            freedom + 0 * residual
            if paired
            else welch_df(squares, estimate**2 * old_variance, freedom, freedom)
        )
    n = np.where(np.isnan(residual), np.nan, counts)
    numerator, denominator = (
        UnitSummary(means[0], squares, n),
        UnitSummary(means[1], old_variance, n),
    )
    ratio = Ratio(
        estimate, numerator, denominator, residual, common - beyond * old_variance, paired
    )
    return Growing(ratio, np.where(np.isnan(residual), np.nan, df))


def _grown_of_suite(
    new: Floats, old: Floats, means: tuple[Floats, Floats], paired: bool, start: int
) -> Growing:
    """Return the same by Stein's rule, the errors of all pilots moderated together."""
    counts = np.arange(1.0, new.shape[-1] + 1)
    pilot, df, _ = moderated_ratio(
        new[..., :start], old[..., :start], paired=paired, df_rule="satterthwaite", fit=fit_prior
    )
    share = np.where(
        (counts >= start) & (pilot.n == start)[..., None] & ~np.isnan(means[0] + means[1]),
        start / counts,
        np.nan,
    )
    numerator, denominator = (
        UnitSummary(mean, side.variance[..., None] * share, counts * share / share)
        for mean, side in zip(means, (pilot.numerator, pilot.denominator), strict=True)
    )
    residual, overlap = pilot.residual[..., None] * share, pilot.overlap[..., None] * share
    ratio = Ratio(quotient(*means), numerator, denominator, residual, overlap, paired)
    return Growing(ratio, df[..., None] * share / share)


def last_units(new: Floats, old: Floats, paired: bool, window: int) -> Growing:
    """Return after each unit the ratio of the last few; NaN where there are not as many."""
    windows = []
    for side in (new, old):
        padding = [(0, 0)] * (side.ndim - 1) + [(window - 1, 0)]
        windows.append(
            sliding_window_view(np.pad(side, padding, constant_values=np.nan), window, axis=-1)
        )
    ratio = ratio_of(windows[0], windows[1], paired)
    return Growing(ratio, np.where(ratio.n == window, ratio_df(ratio, "satterthwaite"), np.nan))


def unsteadiness(ratio: Ratio) -> Floats:
    """Return the larger coefficient of variation of the units of the two sides."""
    with np.errstate(divide="ignore", invalid="ignore"):
        new, old = (
            np.sqrt(side.variance * side.n) / np.abs(side.mean)
            for side in (ratio.numerator, ratio.denominator)
        )
    return np.maximum(new, old)


def _running_mean(values: Floats, counts: Floats) -> Floats:
    """Return the mean of the first value, of the first two, and so on."""
    first = values[..., :1]
    return np.asarray(first + np.cumsum(values - first, axis=-1) / counts)


def _running_products(first: Floats, second: Floats, pilot: int | None) -> Floats:
    """Return the sums of products of deviations of the first values (Welford)."""
    counts = np.arange(1.0, first.shape[-1] + 1)
    away = [side[..., 1:] - _running_mean(side, counts)[..., :-1] for side in (first, second)]
    steps = np.concatenate([0 * first[..., :1], away[0] * away[1] * (1 - 1 / counts[1:])], axis=-1)
    sums = np.cumsum(steps, axis=-1)
    if pilot is None:
        return np.asarray(sums)
    return np.asarray(
        0 * sums + (sums[..., pilot - 1 : pilot] if pilot <= sums.shape[-1] else np.nan)
    )


def _limits(ratio: Ratio, quantile: Floats, positive: Mask | bool) -> tuple[Floats, Floats]:
    """Return the limits of Fieller's sets; sets that are no interval become the whole line."""
    bounded = np.isfinite(quantile)
    limits = cut_to_positive(
        fieller(ratio, np.where(bounded, quantile, 0.0)), np.broadcast_to(positive, quantile.shape)
    )
    defined, interval = (
        ~np.isnan(quantile) & ~np.isnan(ratio.residual),
        bounded & np.isin(limits.kind.astype(str), ONE_PIECE),
    )
    ends = ((limits.lower, -np.inf), (limits.upper, np.inf))
    lower, upper = (
        np.where(defined, np.where(interval, end, nothing), np.nan) for end, nothing in ends
    )
    return lower, upper


def _planned(growing: Growing, rule: Rule) -> Floats:
    """Return Stein's number of units, from the first `start` of them; NaN where there are fewer."""
    if growing.df.shape[-1] < rule.start:
        return np.full(growing.df.shape[:-1], np.nan)
    spread, df = (series[..., rule.start - 1] for series in (growing.unit_error, growing.df))
    with np.errstate(invalid="ignore"):
        units = np.maximum(
            np.ceil((rule.quantile(df, df) * spread / rule.half_width) ** 2 * (1 - 1e-12)),
            rule.start,
        )
        return np.where(units <= FURTHEST, units, np.where(np.isnan(units), np.nan, np.inf))


def _extrapolated(growing: Growing, n: Floats, rule: Rule) -> Floats:
    """Return how many units would be enough, if further ones vary as those at hand."""
    last = np.maximum(n.astype(int) - 1, 0)[..., None]
    spread, df = (
        np.take_along_axis(series, last, axis=-1)[..., 0]
        for series in (growing.unit_error, growing.df)
    )

    def reached(units: Floats) -> Mask:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(
                rule.quantile(units, df * (units - 1) / (n - 1)) * spread
                <= rule.half_width * np.sqrt(units)
            )

    units = first_reached(reached, np.where(np.isnan(spread), np.nan, np.maximum(n, rule.start)))
    return np.where(units > FURTHEST, np.inf, units)
