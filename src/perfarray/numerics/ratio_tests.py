"""Comparisons by formulas of unit means: limits, tests against a band, and the suite row."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from perfarray.numerics.dependence import batch_means
from perfarray.numerics.intervals import (
    BATCH_MEANS,
    BOUNDED,
    LOG_DELTA,
    Ratio,
    RatioSet,
    ratio_df,
    ratio_limits,
    ratio_statistic,
    ratio_with_df,
    reported_estimate,
    standard_error,
    t_probability,
    t_quantile,
    welch_df,
    without_baseline,
)
from perfarray.numerics.levels import summarise_units, unit_means
from perfarray.numerics.moderated import learned, moderated_ratio
from perfarray.numerics.sessions import (
    BOTH,
    SessionNoise,
    SideError,
    SingleSessions,
    add_sessions,
    variances_of_sides,
)
from perfarray.numerics.suite import match_sides, smallest_number, sum_of_samples
from perfarray.numerics.types import Floats, Mask, same_text
from perfarray.numerics.verdicts import (
    NO_SUITE,
    Known,
    RatioComparison,
    Rules,
    Suite,
    Tests,
    open_set,
)


def compare_units(
    new: Floats,
    old: Floats,
    level: Floats | float,
    *arrays: Any,
    rules: Rules,
    levels: int,
    sessions: bool = False,
    mixed: bool = False,
) -> RatioComparison:
    """Compare unit means of timings (..., benchmarks, n_L, ..., n_1), at one level or each ratio's.

    `arrays` are the fields of `SessionNoise` of the benchmarks and of the suite, where `sessions`
    vary, then, if `mixed`, which sides are one session each, then the fields of `Known`, where runs
    were stopped. With a prior, what is `learned` is further; with sessions, what they add.
    """
    fields = len(SessionNoise._fields) if sessions else 0
    noise, suite_noise = arrays[:fields], arrays[fields : 2 * fields]
    arrays = arrays[2 * fields :]
    one_session, bounds = (arrays[:2], arrays[2:]) if mixed else (BOTH, arrays)
    # Sums over other layouts are rounded otherwise.
    means = [np.ascontiguousarray(unit_means(side, levels)) for side in (new, old)]
    units = batch_means(*means, paired=rules.paired) if rules.method == BATCH_MEANS else means
    ratio, df = ratio_with_df(*units, paired=rules.paired, method=rules.method, df_rule=rules.df)
    censoring = known_of(ratio, bounds)
    suite = NO_SUITE
    if rules.suite_threshold is not None:
        suite = suite_of_units(
            units[0],
            units[1],
            ratio,
            rules,
            noise=SessionNoise(*suite_noise) if sessions else None,
            one_session=one_session,
        )
        suite = suite_row(suite, ratio, rules, censoring)
    method_variables: tuple[Floats, ...] = ()
    if rules.prior:
        unmoderated = ratio
        ratio, df, prior = moderated_ratio(*units, paired=rules.paired, df_rule=rules.df)
        method_variables = learned(prior, ratio, unmoderated)
    if sessions:
        within = ratio_limits(ratio, df, rules.confidence_level, rules.method, positive=True)
        ratio, df, between = _with_sessions(ratio, df, SessionNoise(*noise), rules, one_session)
        method_variables = (*method_variables, *between, within.lower, within.upper)
    positive = [~np.asarray((side < 0).any(axis=tuple(range(-levels, 0)))) for side in (new, old)]
    limits = ratio_limits(ratio, df, level, rules.method, positive[0] & positive[1])
    comparison = row_of(
        ratio, df, rules, open_set(limits, censoring, positive[0] & positive[1]), censoring
    )
    if rules.threshold is not None:
        tests = band_tests(ratio, df, rules.method, rules.band).bounded_by(censoring)
        comparison = comparison._replace(tests=tests, suite=suite)
    if rules.method == BATCH_MEANS:  # n counts the units, not their batches
        measured = [~np.isnan(side) for side in means]
        counts = [np.logical_and(*measured)] if rules.paired else measured
        n = np.min(
            [np.broadcast_to(side.sum(axis=-1), ratio.n.shape) for side in counts], axis=0
        ).astype(float)
        comparison = comparison._replace(n=n)
        if suite is not NO_SUITE:
            comparison = comparison._replace(
                suite=suite._replace(n=_smallest(n, ratio.estimate > 0))
            )
    return comparison._replace(further=method_variables)


def _with_sessions(
    ratio: Ratio, df: Floats, noise: SessionNoise, rules: Rules, one_session: SingleSessions
) -> tuple[Ratio, Floats, tuple[Floats, Floats]]:
    """Return a ratio with the noise of sessions in its errors, its df, that noise and its df."""
    added = np.logical_or(one_session[0], one_session[1])
    ratio, joint_df = add_sessions(ratio, noise, rules.df, one_session)
    df = np.where(added, joint_df, df)
    deviation, freedom = (
        np.broadcast_to(np.where(added, values, np.nan), df.shape)
        for values in (np.sqrt(noise.variance), noise.df)
    )
    return ratio, df, (deviation, freedom)


def known_of(ratio: Ratio, bounds: Sequence[Mask]) -> Known:
    """Return which ratios are known as bounds only: none without `bounds`."""
    return Known(
        *(np.broadcast_to(side, ratio.n.shape) for side in (bounds or (np.False_, np.False_)))
    )


def row_of(
    ratio: Ratio, df: Floats, rules: Rules, limits: RatioSet, censoring: Known
) -> RatioComparison:
    """Return what is known of every benchmark but its tests; `df` are those of its limits."""
    new, old = (
        np.broadcast_to(side.mean, ratio.n.shape) for side in (ratio.numerator, ratio.denominator)
    )
    # new - old = (new - ratio * old) + (ratio - 1) * old; without a baseline the residual is new,
    # as for a ratio of 0
    no_baseline = without_baseline(ratio)
    excess = np.where(no_baseline, 0.0, ratio.estimate) - 1
    variance = ratio.residual + excess * (2 * ratio.overlap + excess * ratio.denominator.variance)
    return RatioComparison(
        estimate=reported_estimate(ratio),
        df=df,
        n=ratio.n,
        candidate_mean=new,
        baseline_mean=old,
        error=np.where(no_baseline, np.nan, standard_error(ratio, LOG_DELTA)),
        error_df=ratio_df(ratio, rules.df),
        difference_error=np.sqrt(np.maximum(variance, 0.0)),
        difference_df=ratio_df(ratio._replace(estimate=np.ones_like(ratio.estimate)), rules.df),
        censoring=censoring,
        limits=limits,
    )


def band_tests(ratio: Ratio, df: Floats, method: str, band: tuple[Any, Any]) -> Tests:
    """Test the ratio against both limits of the band, from both sides."""
    tests = _tests([ratio_statistic(ratio, value, method, df) for value in _distinct(band)], df)
    return certain_inside(tests, reported_estimate(ratio), without_spread(ratio), band)


def _distinct(band: tuple[Any, Any]) -> Sequence[Any]:
    """Return both limits of a band, or one where both are 1."""
    return band[:1] if np.array_equal(*band) else band


def _tests(statistics: Sequence[Floats], df: Floats) -> Tests:
    """Return the tests against both limits of a band, from the statistic of each.

    One where both limits are 1.
    """
    pvalues = t_probability(
        np.stack([tail for statistic in statistics for tail in (statistic, -statistic)]), df
    )
    return Tests(*pvalues[:2], *pvalues[-2:])


def without_spread(ratio: Ratio) -> Mask:
    """Return where the units of both systems are all equal."""
    return np.asarray((ratio.numerator.variance == 0) & (ratio.denominator.variance == 0))


def certain_inside(tests: Tests, estimate: Floats, constant: Mask, band: tuple[Any, Any]) -> Tests:
    """Return tests with p = 0 for "inside" where constant units give an estimate in the band."""
    with np.errstate(invalid="ignore"):
        inside = constant & (estimate >= band[0]) & (estimate <= band[1])
    return tests._replace(
        above_low=np.where(inside, 0.0, tests.above_low),
        below_high=np.where(inside, 0.0, tests.below_high),
    )


def suite_row(suite: Suite, ratio: Ratio, rules: Rules, censoring: Known) -> Suite:
    """Return a suite that holds whatever stopped runs would have taken.

    Its tests are certain where all its units are equal.
    """
    with np.errstate(invalid="ignore"):
        constant = np.asarray((without_spread(ratio) | ~(ratio.estimate > 0)).all(axis=-1))
    censoring = censoring.over(ratio.estimate)
    tests = certain_inside(suite.tests, suite.estimate, constant, rules.suite_band)
    limits = RatioSet(suite.lower, suite.upper, same_text(BOUNDED, suite.estimate.shape))
    limits = open_set(limits, censoring)
    return suite._replace(
        estimate=np.where(censoring.at_least & censoring.at_most, np.nan, suite.estimate),
        lower=limits.lower,
        upper=limits.upper,
        tests=tests.bounded_by(censoring),
    )


def suite_of_units(
    new: Floats,
    old: Floats,
    ratio: Ratio,
    rules: Rules,
    *,
    extra: Floats | float = 0.0,
    noise: SessionNoise | None = None,
    one_session: SingleSessions = BOTH,
) -> Suite:
    """Return the geometric mean ratio over the benchmarks that both sides measured, above 0.

    That of one benchmark has no limits and p-values here: `judge` gives it those of the benchmark.
    `extra` is the part of the squared error of each log ratio that shared units do not show,
    `noise` what varies between sessions. A side is `one_session` where one of its benchmarks is:
    limits are then wider than they need be.
    """
    if rules.shared or rules.paired:
        with np.errstate(invalid="ignore"):
            matched = ratio.estimate > 0
        new, old = (np.where(matched[..., None], side, np.nan) for side in (new, old))
        log, errors, n, count = _shared_units_suite(new, old, rules.paired)
        unshown = np.where(matched, extra, 0.0).sum(axis=-1) / np.maximum(count, 1) ** 2
    else:
        log, errors, n, count = _independent_suite(ratio)
        unshown = 0.0
    dfs = [
        np.full(n.shape, np.inf)
        if rules.df == "normal"
        else n - 1
        if rules.df == "conservative"
        else side.df
        for side in errors
    ]
    if noise is not None:
        with np.errstate(invalid="ignore"):
            any_one_session = [
                np.asarray((np.asarray(side) & (ratio.estimate > 0)).any(axis=-1))
                for side in one_session
            ]
        sides = [
            side._replace(df=np.maximum(unit_df, 1))
            for side, unit_df in zip(errors, dfs, strict=True)
        ]
        variances, df = variances_of_sides(sides, noise, any_one_session)
        variance = variances.sum(axis=0)
    else:
        variance = sum(side.variance for side in errors) + unshown
        own_df = (
            dfs[0]
            if rules.paired or rules.df != "satterthwaite"
            else welch_df(errors[0].variance, errors[1].variance, *dfs)
        )
        df = np.where(n > 1, own_df, np.nan)
    df, error = np.where(count == 1, np.nan, df), np.sqrt(variance)
    half = t_quantile((1 + rules.confidence_level) / 2, df) * error
    difference = np.stack([log - np.log(value) for value in _distinct(rules.suite_band)])
    with np.errstate(divide="ignore", invalid="ignore"):
        tests = _tests([*np.where(difference == 0, 0.0, difference / error)], df)
    return Suite(np.exp(log), np.exp(log - half), np.exp(log + half), df, n, count, tests)


def _independent_suite(ratio: Ratio) -> tuple[Floats, list[SideError], Floats, Floats]:
    """Return log, errors of both sides, n and number of independent benchmarks.

    SE^2 = B^-2 sum of s^2 / (m ybar^2).
    """
    with np.errstate(invalid="ignore"):
        matched: Mask = ratio.estimate > 0
    count = matched.sum(axis=-1).astype(float)
    errors = []
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(matched, np.log(ratio.estimate), 0.0).sum(axis=-1) / count
        for side in (ratio.numerator, ratio.denominator):
            total, df = sum_of_samples(side.variance / side.mean**2, side.n, matched)
            errors.append(
                SideError(total / np.maximum(count, 1) ** 2, _smallest(side.n, matched), df)
            )
    return log, errors, _smallest(ratio.n, matched), count


def _smallest(n: Floats, matched: Mask) -> Floats:
    """Return the smallest number of units of the matched benchmarks (last axis), 0 for none."""
    smallest = np.where(matched, n, np.inf).min(axis=-1, initial=np.inf)
    return np.where(np.isinf(smallest), 0.0, smallest)


def _shared_units_suite(
    new: Floats, old: Floats, paired: bool
) -> tuple[Floats, list[SideError], Floats, Floats]:
    """Return the same for units that benchmarks share, from what unit j adds to the log ratio, Z_j.

    To first order Z_j is the mean over the benchmarks of unit mean / mean; of pairs, the difference
    of both systems. A unit with a gap has none.
    """
    sides = match_sides(new, old, shared=True, paired=paired)
    count = sides.matched.sum(axis=-1).astype(float)
    means, contributions = [], []
    for side in (sides.new, sides.old):
        mean = summarise_units(side).mean
        means.append(mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(
                sides.matched[..., None], (side - mean[..., None]) / mean[..., None], 0.0
            )
            contributions.append(shares.sum(axis=-2) / count[..., None])
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(sides.matched, np.log(means[0] / means[1]), 0.0).sum(axis=-1) / count
    units = [
        summarise_units(side)
        for side in ([contributions[0] - contributions[1]] if paired else contributions)
    ]
    return (
        log,
        [SideError(side.variance, side.n, side.n - 1) for side in units],
        smallest_number(sides),
        count,
    )
