"""Comparisons of sides measured in rounds, whose level holds at whatever round they are read.

Pairs of unit means give a ratio by Fieller's theorem with the quantile of a confidence sequence.
What the order within rounds adds is estimated from the log ratios and removed, which takes a degree
of freedom.
"""

from typing import Any, Final

import numpy as np

from perfarray.numerics.intervals import (
    UNBOUNDED,
    Ratio,
    RatioSet,
    cut_to_positive,
    fieller,
    ratio_df,
    ratio_of,
    ratio_statistic,
    reported_estimate,
    with_zeros,
)
from perfarray.numerics.levels import unit_means
from perfarray.numerics.ratio_tests import (
    certain_inside,
    known_of,
    row_of,
    without_spread,
)
from perfarray.numerics.sequences import LOG_RISK, sequence_probability, sequence_quantile
from perfarray.numerics.types import Floats, Mask
from perfarray.numerics.verdicts import NO_SUITE, RatioComparison, Rules, Suite, Tests, open_set

# Rounds at which the sequence is narrowest. Three make intervals of six to ten rounds the
# narrowest, at which most comparisons are decided; those of thirty are 5 % wider than they could
# be.
EXPECTED: Final = 3.0

# Equal rounds that show no change: of a clock that tells a difference in a quarter of the rounds
# 5 % of ten do not. Of three it would be 42 %.
MIN_EQUAL_ROUNDS: Final = 10


def compare_rounds(
    new: Floats,
    old: Floats,
    level: Floats | float,
    *arrays: Any,
    rules: Rules,
    levels: int,
    ordered: bool,
) -> RatioComparison:
    """Compare pairs of unit means of timings (..., benchmarks, n_L, ..., n_1).

    `arrays` are the differences of the places in the order of each round, if it is `ordered`, then
    the fields of `Known`, where runs were stopped. There is no suite row: benchmarks end after
    different rounds.
    """
    bounds = arrays[1:] if ordered else arrays
    new, old = (np.ascontiguousarray(unit_means(side, levels)) for side in (new, old))
    new, worth, lost = without_order(new, old, arrays[0] if ordered else np.zeros(new.shape))
    ratio, censoring = ratio_of(new, old, True), known_of(ratio_of(new, old, True), bounds)
    df = ratio_df(ratio, rules.df) - lost
    with np.errstate(divide="ignore", invalid="ignore"):
        # From the variance of a mean of n units with n - 1 degrees of freedom to that of `worth`
        inflation = (ratio.n - 1) * ratio.n / (np.where(df > 0, df, np.nan) * worth)
        ratio = ratio._replace(residual=ratio.residual * inflation)
    few_equal = _few_equal(ratio, rules)
    df = np.where((df > 0) & ~few_equal, df, np.nan)
    positive = np.asarray((np.fmin.reduce(new, axis=-1) > 0) & (np.fmin.reduce(old, axis=-1) > 0))
    limits = cut_to_positive(_sequence_set(ratio, level, worth, df), positive)
    comparison = row_of(ratio, df, rules, open_set(limits, censoring, positive), censoring)
    unknown = np.full_like(df, np.nan)
    # Limits of the difference and the smallest change would be those of a fixed number of rounds.
    comparison = comparison._replace(error=unknown, difference_error=unknown)
    if rules.threshold is None:
        return comparison
    pvalues = []
    for value in rules.band:
        statistic = ratio_statistic(ratio, value, rules.method)
        pvalues += [
            sequence_probability(side, worth, df, EXPECTED) for side in (statistic, -statistic)
        ]
    constant = without_spread(ratio) & ~few_equal
    tests = certain_inside(Tests(*pvalues), reported_estimate(ratio), constant, rules.band)
    return comparison._replace(tests=tests.bounded_by(censoring), suite=_no_suite(ratio))


def _few_equal(ratio: Ratio, rules: Rules) -> Mask:
    """Return where all rounds are equal and too few to say that nothing changed.

    A coarse clock shows a difference in some rounds alone.
    """
    if rules.threshold is None:
        return np.zeros(ratio.n.shape, dtype=bool)
    estimate, (low, high) = reported_estimate(ratio), rules.band
    with np.errstate(invalid="ignore"):
        inside = (estimate >= low) & (estimate <= high)
    return np.asarray(inside & without_spread(ratio) & (ratio.n < MIN_EQUAL_ROUNDS))


def without_order(new: Floats, old: Floats, order: Floats) -> tuple[Floats, Floats, Floats]:
    """Return new without the effect of the order, what rounds are worth, and degrees lost.

    The effect is the slope of the log ratios on `order`, the difference of the places of both
    sides in a round. Where the order is always the same there is none.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(new / old)
    measured = np.isfinite(logs) & ~np.isnan(order)
    n = measured.sum(axis=-1).astype(float)
    order = np.where(measured, order, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        centred = np.where(measured, order - (order.sum(axis=-1) / n)[..., None], 0.0)
        squares = (centred**2).sum(axis=-1)
        known = squares > 1e-9
        slope = np.where(
            known, (centred * np.where(measured, logs, 0.0)).sum(axis=-1) / squares, 0.0
        )
        # Rounds of zeros have no logs, and count.
        rounds = np.isfinite(new + old).sum(axis=-1)
        worth = np.where(known, n * squares / (order**2).sum(axis=-1), rounds)
    return new * np.exp(-slope[..., None] * order), worth, known.astype(float)


def _sequence_set(ratio: Ratio, level: Floats | float, worth: Floats, df: Floats) -> RatioSet:
    """Return Fieller's set at the quantile of a sequence: the whole line where that is infinite."""
    quantile = sequence_quantile(worth, level, EXPECTED, df, LOG_RISK)
    bounded = ~np.isinf(quantile)
    finite = np.where(bounded, quantile, 0.0)
    limits = with_zeros(fieller(ratio, finite), ratio, finite)
    return RatioSet(
        np.where(bounded, limits.lower, -np.inf),
        np.where(bounded, limits.upper, np.inf),
        np.where(bounded, limits.kind, UNBOUNDED).astype(object),
    )


def _no_suite(ratio: Ratio) -> Suite:
    empty = np.full(ratio.n.shape[:-1], np.nan)
    tests = Tests(*[empty] * 4)
    return NO_SUITE._replace(
        **dict.fromkeys(("estimate", "lower", "upper", "df", "n"), empty),
        benchmarks=np.zeros_like(empty),
        tests=tests,
    )
