"""Ratios relative to those of controls: benchmarks that the change cannot touch.

A log ratio r of squared error s^2 stands against the mean M of the log ratios of m controls. These
vary by S^2 on m - 1 degrees of freedom. S^2 holds what ratios vary by though nothing changed, such
as the layout of a binary (t^2), and the controls' own measuring noise, whose mean square is e^2. So
r - M varies by s^2 + t^2 + S^2 / m, with t^2 = S^2 - e^2: the noise of the controls counts once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from perfarray.comparisons.numerics.shifts import MANY
from perfarray.numerics.intervals import BOUNDED, RatioSet, t_probability, t_quantile
from perfarray.numerics.ratio_tests import certain_inside
from perfarray.numerics.types import Floats, Mask, same_text
from perfarray.numerics.verdicts import (
    NO_SUITE,
    NOT_TESTED,
    Known,
    RatioComparison,
    Rules,
    Suite,
    Tests,
    map_arrays,
    open_set,
)

# Share of S^2 that t^2 is at least. The difference S^2 - e^2 is often 0 by chance, and benchmarks
# with less noise than the controls then have up to 16 % false verdicts.
LEAST_SHARE = 0.4


class Controls(NamedTuple):
    """The mean log ratio of controls, S^2, t^2, and their number."""

    shift: Floats
    spread: Floats
    layout: Floats
    number: Floats

    def added(self, benchmarks: Any = 1.0) -> Floats:
        """Return what controls add to the squared error of the mean of independent log ratios."""
        return np.asarray(self.layout / benchmarks + self.spread / self.number)


def compare_with_controls(
    new: Floats,
    old: Floats,
    level: Floats | float,
    controls: Mask,
    *arrays: Any,
    rules: Rules,
    compared: Callable[..., RatioComparison],
    levels: int,
) -> RatioComparison:
    """Compare by a formula, and state the ratios relative to those of the `controls`.

    The suite is that of the other benchmarks. Controls keep their ratios, and have no tests. What
    is further: the raw ratios with their limits, the p-value of each control beside the others,
    then the common ratio of the controls, its limits, their relative standard deviation and number.
    """
    comparison = compared(new, old, level, *arrays, rules=rules)
    suite = NO_SUITE
    if rules.suite_threshold is not None:
        others = np.where(np.expand_dims(controls, tuple(range(-levels, 0))), np.nan, new)
        suite = compared(others, old, level, *arrays, rules=rules).suite
    with np.errstate(divide="ignore", invalid="ignore"):
        log, noise = np.log(comparison.estimate), comparison.error**2
        bound = comparison.censoring.at_least | comparison.censoring.at_most
        measured = controls & np.isfinite(log) & ~bound
        common = controls_of(log, noise, measured)
        rows, raw = _relative_rows(comparison, common, level, rules), comparison.limits
        half = t_quantile((1 + rules.confidence_level) / 2, common.number - 1)
        half = half * np.sqrt(common.spread / common.number)
        further = (
            comparison.estimate,
            raw.lower,
            raw.upper,
            agreement_of(log, noise, measured, common),
            *(np.exp(common.shift + sign * half) for sign in (0, -1, 1)),
            np.sqrt(common.spread),
            common.number,
        )
        if rules.suite_threshold is not None:
            suite = _relative_suite(suite, comparison, controls, common, rules)
    # Controls keep their ratios and limits, and are not tested.
    untested = comparison._replace(error=np.asarray(np.nan), tests=NOT_TESTED)
    chosen = partial(np.where, np.broadcast_to(controls, log.shape))
    sides = (record._replace(suite=NO_SUITE, further=()) for record in (untested, rows))
    result: RatioComparison = map_arrays(chosen, *sides)
    return result._replace(suite=suite, further=(*comparison.further, *further))


def controls_of(log: Floats, noise: Floats, measured: Mask) -> Controls:
    """Return what controls have in common, of log ratios (last axis) and their squared errors.

    NaN for fewer than two. Of a control of one run the error is not known, and none is subtracted.
    """
    number = measured.sum(axis=-1).astype(float)
    number = np.where(number > 1, number, np.nan)
    with np.errstate(invalid="ignore"):
        shift = np.where(measured, log, 0.0).sum(axis=-1) / number
        squares = np.where(measured, (log - shift[..., None]) ** 2, 0.0)
        spread = squares.sum(axis=-1) / (number - 1)
        own = np.where(measured & np.isfinite(noise), noise, 0.0).sum(axis=-1) / number
        layout = np.maximum(spread - own, LEAST_SHARE * spread)
    return Controls(shift, spread, layout, number)


def joint_df(noise: Floats, df: Floats, added: Floats, added_df: Floats, level: float) -> Floats:
    """Return the degrees of freedom of a sum of two variances, by the rule of Cochran and Cox.

    The quantile of the sum is the mean of both quantiles, weighted by the variances.
    Satterthwaite's formula has too many degrees of freedom where the part of few comes out small by
    chance: 10 to 15 % false with two or three controls.
    """
    from scipy.special import stdtridf

    probability = (1 + level) / 2
    quantiles = [t_quantile(probability, freedom) for freedom in (df, added_df)]
    with np.errstate(divide="ignore", invalid="ignore"):
        weighted = [
            np.where(variance == 0, 0.0, variance * quantile)
            for variance, quantile in zip((noise, added), quantiles, strict=True)
        ]
        joint = stdtridf(probability, (weighted[0] + weighted[1]) / (noise + added))
    joint = np.where(joint < MANY, joint, np.inf)
    undefined = np.isnan(noise) | np.isnan(added)
    return np.where(undefined, np.nan, np.where(noise + added == 0, added_df, joint))


def agreement_of(log: Floats, noise: Floats, measured: Mask, common: Controls) -> Floats:
    """Return the p-value of each control beside the others; NaN for fewer than three."""
    number = common.number[..., None]
    distance = log - common.shift[..., None]
    squares = common.spread[..., None] * (number - 1) - distance**2 * number / (number - 1)
    spread = np.maximum(squares, 0.0) / (number - 2)
    error = np.sqrt(np.fmax(spread, noise) + spread / (number - 1))
    statistic = np.abs(distance * number / (number - 1)) / error
    usable = measured & (number > 2)
    return np.where(
        usable, 2 * t_probability(-statistic, np.where(usable, number - 2, 1.0)), np.nan
    )


def _relative_rows(
    comparison: RatioComparison, common: Controls, level: Floats | float, rules: Rules
) -> RatioComparison:
    """Return the ratios relative to the controls, with their limits and tests."""
    noise, added = comparison.error**2, common.added()[..., None]
    df = joint_df(
        noise, comparison.error_df, added, common.number[..., None] - 1, rules.confidence_level
    )
    error = np.sqrt(noise + added)
    log = np.log(comparison.estimate) - common.shift[..., None]
    half = t_quantile((1 + np.asarray(level)) / 2, df) * error
    limits = _limits(log, half, comparison.censoring)
    tests = _tests(log, error, df, rules.band).bounded_by(comparison.censoring)
    return comparison._replace(
        estimate=np.exp(log), df=df, error=error, error_df=df, limits=limits, tests=tests
    )


def _relative_suite(
    suite: Suite, comparison: RatioComparison, controls: Mask, common: Controls, rules: Rules
) -> Suite:
    """Return the geometric mean ratio of the other benchmarks, relative to the controls."""
    quantile = t_quantile((1 + rules.confidence_level) / 2, suite.df)
    # Where stopped runs open one limit, the other one shows the error.
    half = np.fmin(np.log(suite.upper / suite.estimate), np.log(suite.estimate / suite.lower))
    noise, added = (half / quantile) ** 2, common.added(suite.benchmarks)
    df = joint_df(noise, suite.df, added, common.number - 1, rules.confidence_level)
    error, log = np.sqrt(noise + added), np.log(suite.estimate) - common.shift
    estimate = np.where(
        np.broadcast_to(controls, comparison.estimate.shape), np.nan, comparison.estimate
    )
    censoring = comparison.censoring.over(estimate)
    limits = _limits(log, t_quantile((1 + rules.confidence_level) / 2, df) * error, censoring)
    tests = _tests(log, error, df, rules.suite_band).bounded_by(censoring)
    return suite._replace(
        estimate=np.exp(log), lower=limits.lower, upper=limits.upper, df=df, tests=tests
    )


def _limits(log: Floats, half: Floats, censoring: Known) -> RatioSet:
    kind = same_text(BOUNDED, np.shape(half))
    return open_set(RatioSet(np.exp(log - half), np.exp(log + half), kind), censoring)


def _tests(log: Floats, error: Floats, df: Floats, band: tuple[Any, Any]) -> Tests:
    """Test log ratios against both limits of a band; without an error the estimate is certain."""
    pvalues = []
    for limit in band:
        distance = log - np.log(limit)
        statistic = np.where(distance == 0, 0.0, distance / error)
        pvalues += [t_probability(statistic, df), t_probability(-statistic, df)]
    return certain_inside(Tests(*pvalues), np.exp(log), error == 0, band)
