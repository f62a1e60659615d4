"""The Speedup-Test of two samples x and y: whether the mean, or the median, of x is the larger one.

The last axis is the sample, and the axes before it broadcast; NaN is not measured. The p-values of
all steps are computed first, since they do not depend on the risk. Then the protocol is followed at
one risk, or the search looks for the smallest risk at which it succeeds.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import fdtr, fdtrc, ndtri, stdtr

from perfarray.numerics.normality import shapiro_wilk
from perfarray.numerics.power import MOST, Spread, fewest_units
from perfarray.numerics.suite import run_statistic
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.speedups.numerics.rank_tests import kolmogorov_smirnov, mann_whitney

# the size from which on a sample is large: the protocol then goes on where a condition fails
LARGE = 31

LOWEST_RISK, HIGHEST_RISK, RISK_STEP = 0.01, 0.5, 0.01  # of the search for a risk

ROUNDINGS = 4  # two values and two medians, each rounded by up to one unit in its last place

POWER = 0.8  # the share of experiments in which a planned test is significant

# Significant, not significant, the conditions of the test do not hold.
YES, NO, CANNOT_CONCLUDE = 1, 0, -1


class MeanSteps(NamedTuple):
    """Sizes, and the p-value of every test that the protocol for the mean (figure 4.1) may use."""

    n: Floats
    m: Floats
    normal_x: Floats
    normal_y: Floats
    equal_variances: Floats
    student: Floats
    welch: Floats


class MedianSteps(NamedTuple):
    """Sizes, and the p-values of the protocol for the median (figure 4.2); and P[X > Y]."""

    n: Floats
    m: Floats
    same_shape: Floats
    mann_whitney: Floats
    prob_greater: Floats


class Outcome(NamedTuple):
    """The verdict, its risk (NaN: none was found), where a search failed, the risk of the steps."""

    verdict: Integers
    risk: Floats
    not_found: Mask
    described_risk: Floats


def mean_steps(x: Floats, y: Floats) -> MeanSteps:
    """Return the p-values of the tests that the mean of x is larger.

    Shapiro and Wilk's test, the two-sided F test of the variances, Student's and Welch's t. A
    p-value is NaN where its test has too few values, or equal ones.
    """
    normal_x, normal_y = shapiro_wilk(x).pvalue, shapiro_wilk(y).pvalue
    (n, mean_x, variance_x), (m, mean_y, variance_y) = moments(x), moments(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = variance_x / variance_y
        equal_variances = np.minimum(
            1.0, 2 * np.minimum(fdtr(n - 1, m - 1, ratio), fdtrc(n - 1, m - 1, ratio))
        )
        difference, df = mean_x - mean_y, n + m - 2
        pooled = ((n - 1) * variance_x + (m - 1) * variance_y) / df
        error_x, error_y = variance_x / n, variance_y / m
        welch_df = (error_x + error_y) ** 2 / (error_x**2 / (n - 1) + error_y**2 / (m - 1))
        student = stdtr(df, -difference / np.sqrt(pooled * (1 / n + 1 / m)))
        welch = stdtr(welch_df, -difference / np.sqrt(error_x + error_y))
    return MeanSteps(*_broadcast(n, m, normal_x, normal_y, equal_variances, student, welch))


def median_steps(
    x: Floats, y: Floats, *, exact_ties: bool = False, as_tool: bool = False
) -> MedianSteps:
    """Return the p-values of the tests that x tends to be larger.

    Kolmogorov and Smirnov's test of samples less their medians, Mann and Whitney's. `as_tool`
    subtracts medians as the original tool does: rounding decides which differences are equal.
    """
    n, m = ((~np.isnan(side)).sum(axis=-1).astype(float) for side in (x, y))
    centred = (
        [side - run_statistic(side, "median")[..., None] for side in (x, y)]
        if as_tool
        else _centred(x, y)
    )
    shape = kolmogorov_smirnov(*centred, exact_ties=exact_ties)
    ranks = mann_whitney(x, y, "greater")
    return MedianSteps(*_broadcast(n, m, shape.pvalue, ranks.pvalue, ranks.prob_greater))


def _centred(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the ranks of both samples less their medians: differences by rounding are ties.

    Whole numbers (ticks) are exact. Others are decimals that were rounded, to single precision
    where all are single-precision numbers.
    """
    shape = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    sides = [np.broadcast_to(side, (*shape, side.shape[-1])) for side in (x, y)]
    values = np.concatenate(sides, axis=-1)
    largest = np.fmax.reduce(np.abs(values), axis=-1, initial=0.0)
    with np.errstate(over="ignore"):
        is_single_precision = ((values == values.astype(np.float32)) | np.isnan(values)).all(
            axis=-1
        )
    integral = ((values == np.round(values)) | np.isnan(values)).all(axis=-1)
    step = np.where(is_single_precision, np.finfo(np.float32).eps, np.finfo(float).eps)
    rounding = np.where(integral, 0.0, ROUNDINGS * step * largest)
    centred = np.concatenate(
        [side - run_statistic(side, "median")[..., None] for side in sides], axis=-1
    )
    order = np.argsort(centred, axis=-1)
    is_new = (
        np.diff(np.take_along_axis(centred, order, axis=-1), axis=-1, prepend=-np.inf)
        > rounding[..., None]
    )
    ranks = np.empty(centred.shape)
    np.put_along_axis(ranks, order, np.cumsum(is_new, axis=-1).astype(float), axis=-1)
    ranks[np.isnan(centred)] = np.nan
    return ranks[..., : x.shape[-1]], ranks[..., x.shape[-1] :]


def moments(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return size, mean and variance (n - 1) of what was measured."""
    measured = ~np.isnan(values)
    n = measured.sum(axis=-1).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(measured, values, 0.0).sum(axis=-1) / n
        squares = (np.where(measured, values - mean[..., None], 0.0) ** 2).sum(axis=-1)
        return n, np.asarray(mean), np.where(n > 1, squares / (n - 1), np.nan)


def _broadcast(*arrays: Floats) -> tuple[Floats, ...]:
    return tuple(np.array(array, dtype=float) for array in np.broadcast_arrays(*arrays))


def mean_verdict(steps: MeanSteps, risk: Floats) -> Integers:
    """Follow figure 4.1 at a risk: normal or large samples, then Student's or Welch's t.

    A normality test without an answer (fewer than 3 values, or equal ones) allows no conclusion.
    """
    with np.errstate(invalid="ignore"):
        usable = [
            (p > risk) | ((p <= risk) & (n >= LARGE))
            for p, n in ((steps.normal_x, steps.n), (steps.normal_y, steps.m))
        ]
        return _verdict(usable[0] & usable[1], mean_pvalue(steps, risk), risk)


def mean_pvalue(steps: MeanSteps, risk: Floats) -> Floats:
    """Return the p-value of the t test that the F test chooses at a risk."""
    with np.errstate(invalid="ignore"):
        return np.where(steps.equal_variances > risk, steps.student, steps.welch)


def median_verdict(steps: MedianSteps, risk: Floats) -> Integers:
    """Follow figure 4.2 at a risk: a shift, or large samples, then Mann and Whitney's test."""
    with np.errstate(invalid="ignore"):
        large = np.minimum(steps.n, steps.m) >= LARGE
        return _verdict(
            (steps.same_shape > risk) | ((steps.same_shape <= risk) & large),
            steps.mann_whitney,
            risk,
        )


def _verdict(usable: Mask, pvalue: Floats, risk: Floats) -> Integers:
    decided = np.where(pvalue <= risk, YES, NO)
    return np.where(usable & ~np.isnan(pvalue), decided, CANNOT_CONCLUDE).astype(np.int8)


def conclude(
    verdict_at: Callable[[Floats], Integers], risk: Floats, turns: tuple[Floats, ...] | None = None
) -> Outcome:
    """Follow a protocol at risks, one per cell.

    Where a risk is NaN, search for the smallest from 0.01 to 0.5 at which it succeeds.

    Success is not monotone in the risk, since a condition tested at a larger risk fails more
    easily. `turns` are the p-values at which success may begin, and the search tries all of them;
    without them it is the original tool's search, which misses some risks.
    """
    searched = np.isnan(risk)
    outcome = (
        _bisected(verdict_at, risk.shape)
        if turns is None
        else _smallest(verdict_at, turns, risk.shape)
    )
    verdict = np.where(
        searched, outcome.verdict, verdict_at(np.where(searched, LOWEST_RISK, risk))
    ).astype(np.int8)
    described_risk = np.where(searched, outcome.described_risk, risk)
    return Outcome(
        verdict,
        np.where(searched, outcome.risk, risk),
        searched & outcome.not_found,
        described_risk,
    )


def _smallest(
    verdict_at: Callable[[Floats], Integers], turns: tuple[Floats, ...], shape: tuple[int, ...]
) -> Outcome:
    """Return the smallest risk at which a protocol succeeds, in whole percents where possible.

    Success begins where a p-value of the last test, or of the one that chooses it, is reached, and
    nowhere else.
    """
    lowest = np.full(shape, LOWEST_RISK)
    smallest = np.full(shape, np.nan)
    with np.errstate(invalid="ignore"):
        for turn in (lowest, *turns):
            risk = np.maximum(turn, LOWEST_RISK)
            smallest = np.fmin(
                smallest, np.where((verdict_at(risk) == YES) & (risk <= HIGHEST_RISK), risk, np.nan)
            )
        # Levels are written with two digits, or with ten where no whole percent is near.
        for digits in (10, 2):
            rounded = np.ceil(np.round(smallest * 10**digits, 6)) / 10**digits
            smallest = np.where(
                (verdict_at(rounded) == YES) & (rounded <= HIGHEST_RISK), rounded, smallest
            )
    none = np.isnan(smallest)
    described_risk = np.where(none, LOWEST_RISK, smallest)
    return Outcome(verdict_at(described_risk), smallest, none, described_risk)


def _bisected(verdict_at: Callable[[Floats], Integers], shape: tuple[int, ...]) -> Outcome:
    """Search as the original tool does: 0.01; then 0.5.

    Then bisection, which stops at a width of 0.01.

    The risk is rounded up to a whole percent, and the protocol followed once more there, which
    decides: the last word may be no.
    """
    lowest, highest = np.full(shape, LOWEST_RISK), np.full(shape, HIGHEST_RISK)
    at_lowest, at_highest = verdict_at(lowest), verdict_at(highest)
    low, high = lowest, highest
    while float(np.max(high - low, initial=0.0)) > RISK_STEP:  # the same six halvings in every cell
        middle = (low + high) / 2
        succeeds = verdict_at(middle) == YES
        low, high = np.where(succeeds, low, middle), np.where(succeeds, middle, high)
    risk = np.where((at_lowest == YES) | (at_highest == NO), LOWEST_RISK, np.ceil(100 * high) / 100)
    none = (at_lowest != YES) & (at_highest == CANNOT_CONCLUDE)
    verdict = np.where(none, CANNOT_CONCLUDE, verdict_at(risk)).astype(np.int8)
    not_found = (at_lowest != YES) & (at_highest != YES)
    return Outcome(
        verdict, np.where(none, np.nan, risk), not_found, np.where(none, HIGHEST_RISK, risk)
    )


def overall(
    baseline: Floats, candidate: Floats, weights: Floats, included: Mask
) -> tuple[Floats, Floats, Floats]:
    """Return the overall speedup (equation 3), the gain (equation 2) and the number of benchmarks.

    Benchmarks lie along the last axis. One without a time or its weight is left out; none gives
    NaN.
    """
    valid = included & ~np.isnan(baseline) & ~np.isnan(candidate) & ~np.isnan(weights)
    n = valid.sum(axis=-1).astype(float)
    baseline_sum, candidate_sum = (
        np.where(valid, weights * side, 0.0).sum(axis=-1) for side in (baseline, candidate)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return (
            np.where(n > 0, baseline_sum / candidate_sum, np.nan),
            np.where(n > 0, 1 - candidate_sum / baseline_sum, np.nan),
            n,
        )


def runs_for_t(x: Floats, y: Floats, risk: Floats) -> Floats:
    """Return the runs a side with which a t test sees that the mean of x is larger.

    Values are normal with the samples' variances. NaN where a sample has one value, or both have no
    variance; infinite where the mean of x is no larger, and beyond ten million.
    """
    (_, mean_x, variance_x), (_, mean_y, variance_y) = moments(x), moments(y)
    spread = Spread(np.where(variance_x + variance_y == 0, np.nan, variance_x), variance_y)
    needed = np.empty(np.broadcast_shapes(np.shape(spread.new), np.shape(risk)))
    for level in np.unique(risk):
        needed = np.where(
            risk == level, fewest_units(spread, mean_x - mean_y, float(level), POWER), needed
        )
    return needed


def runs_for_ranks(prob_greater: Floats, risk: Floats) -> Floats:
    """Return the runs a side with which Mann and Whitney's test sees that x tends to be larger.

    Noether's formula: the statistic is normal with the variance that it has without a difference.
    No shape is assumed.

    References
    ----------
    G. E. Noether, "Sample size determination for some common nonparametric tests", 1987, section 4.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        runs = np.ceil((ndtri(1 - risk) + ndtri(POWER)) ** 2 / (6 * (prob_greater - 0.5) ** 2))
    return np.where(
        np.isnan(prob_greater),
        np.nan,
        np.where((prob_greater > 0.5) & (runs <= MOST), np.maximum(runs, 2.0), np.inf),
    )
