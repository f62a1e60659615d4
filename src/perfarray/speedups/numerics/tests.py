"""The Speedup-Test of two samples x and y: whether the mean, or the median, of x is the larger one.

The last axis is the sample; NaN is "not measured".

The p-values of all steps are found first: they do not depend on the risk. Then the protocol is followed at one risk, or the smallest
risk at which it succeeds is searched for, everywhere or as the original tool does.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import fdtr, fdtrc, stdtr

from perfarray.numerics.normality import shapiro_wilk
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.speedups.numerics.rank_tests import kolmogorov_smirnov, mann_whitney

LARGE = 31
"""Values from which on a sample is large: the protocol then goes on where a condition fails."""

LOWEST_RISK, HIGHEST_RISK, RISK_STEP = 0.01, 0.5, 0.01
"""Where the search begins and ends, and how near it comes."""

ROUNDINGS = 4
"""Two values and two medians, each rounded by up to one unit in its last place: what is no farther apart is equal."""

YES, NO, CANNOT_CONCLUDE = 1, 0, -1
"""What a protocol says: the speedup is significant, it is not, the conditions of the test do not hold."""


class MeanSteps(NamedTuple):
    """What the protocol for the mean looks at (figure 4.1): sizes, and the p-value of every test it may use."""

    n: Floats
    m: Floats
    normal_x: Floats
    normal_y: Floats
    equal_variances: Floats
    student: Floats
    welch: Floats


class MedianSteps(NamedTuple):
    """What the protocol for the median looks at (figure 4.2), and the share of pairs in which x is larger than y."""

    n: Floats
    m: Floats
    same_shape: Floats
    mann_whitney: Floats
    prob_greater: Floats


class Outcome(NamedTuple):
    """The verdict, the risk it was reached at (NaN: none was found), whether a search found none, and the risk that words speak of."""

    verdict: Integers
    risk: Floats
    not_found: Mask
    described: Floats


class _Moments(NamedTuple):
    """Size, mean and variance of samples."""

    n: Floats
    mean: Floats
    variance: Floats


def mean_steps(x: Floats, y: Floats) -> MeanSteps:
    """Return the p-values of Shapiro-Wilk on each sample, of the F test (two-sided), of Student's and Welch's t tests (mean of x larger).

    Parameters
    ----------
    x, y : array, shape (..., n) and (..., m)
        Samples; the axes before the last broadcast.

    Returns
    -------
    MeanSteps
        Arrays of shape (...). NaN where a test has too few values, or equal ones.
    """
    moments_x, moments_y = _moments(x), _moments(y)
    normal_x, normal_y = shapiro_wilk(x).pvalue, shapiro_wilk(y).pvalue
    with np.errstate(divide="ignore", invalid="ignore"):
        student, welch = _t_tests(moments_x, moments_y)
        return MeanSteps(*_broadcast(moments_x.n, moments_y.n, normal_x, normal_y, _f_test(moments_x, moments_y), student, welch))


def median_steps(x: Floats, y: Floats, *, exact_ties: bool = False, as_tool: bool = False) -> MedianSteps:
    """Return the p-values of Kolmogorov-Smirnov on samples less their medians, and of Mann-Whitney (x larger); and P[X > Y].

    Parameters
    ----------
    x, y : array, shape (..., n) and (..., m)
        Samples; the axes before the last broadcast.
    exact_ties : bool
        As for `kolmogorov_smirnov`.
    as_tool : bool
        Subtract the medians and leave it at that, as the original tool does: rounding then decides which differences are equal.

    Returns
    -------
    MedianSteps
        Arrays of shape (...).
    """
    n, m = ((~np.isnan(side)).sum(axis=-1).astype(float) for side in (x, y))
    centred = (x - median(x)[..., None], y - median(y)[..., None]) if as_tool else _centred(x, y)
    shape = kolmogorov_smirnov(*centred, exact_ties=exact_ties)
    ranks = mann_whitney(x, y, "greater")
    return MedianSteps(*_broadcast(n, m, shape.pvalue, ranks.pvalue, ranks.prob_greater))


def _centred(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the order of both samples less their medians, as whole numbers: differences that rounding tells apart are ties.

    Whole numbers (ticks) have none. Others are decimals that were rounded, to single precision where all are single-precision numbers.
    """
    shape = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    sides = [np.broadcast_to(side, (*shape, side.shape[-1])) for side in (x, y)]
    values = np.concatenate(sides, axis=-1)
    largest = np.fmax.reduce(np.abs(values), axis=-1, initial=0.0)
    with np.errstate(over="ignore"):
        single = ((values == values.astype(np.float32)) | np.isnan(values)).all(axis=-1)
    integral = ((values == np.round(values)) | np.isnan(values)).all(axis=-1)
    step = np.where(single, np.finfo(np.float32).eps, np.finfo(float).eps)
    near = np.where(integral, 0.0, ROUNDINGS * step * largest)
    centred = np.concatenate([side - median(side)[..., None] for side in sides], axis=-1)
    order = np.argsort(centred, axis=-1)
    is_new = np.diff(np.take_along_axis(centred, order, axis=-1), axis=-1, prepend=-np.inf) > near[..., None]
    ranks = np.empty(centred.shape)
    np.put_along_axis(ranks, order, np.cumsum(is_new, axis=-1).astype(float), axis=-1)
    ranks[np.isnan(centred)] = np.nan
    return ranks[..., : x.shape[-1]], ranks[..., x.shape[-1] :]


def median(values: Floats) -> Floats:
    """Return the median of what was measured along the last axis; nothing measured gives NaN."""
    ordered = np.sort(values, axis=-1)
    n = (~np.isnan(ordered)).sum(axis=-1)
    if values.shape[-1] == 0:
        return np.full(n.shape, np.nan)
    low, high = np.maximum((n - 1) // 2, 0), n // 2
    high = np.minimum(high, values.shape[-1] - 1)
    pair = [np.take_along_axis(ordered, index[..., None], axis=-1)[..., 0] for index in (low, high)]
    return np.asarray(np.where(n > 0, (pair[0] + pair[1]) / 2, np.nan))


def _broadcast(*arrays: Floats) -> tuple[Floats, ...]:
    """Broadcast, as arrays of their own."""
    return tuple(np.array(array, dtype=float) for array in np.broadcast_arrays(*arrays))


def _moments(values: Floats) -> _Moments:
    """Return size, mean and variance (n - 1) of what was measured."""
    measured = ~np.isnan(values)
    n = measured.sum(axis=-1).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(measured, values, 0.0).sum(axis=-1) / n
        squares = (np.where(measured, values - mean[..., None], 0.0) ** 2).sum(axis=-1)
        return _Moments(n, np.asarray(mean), np.where(n > 1, squares / (n - 1), np.nan))


def _f_test(x: _Moments, y: _Moments) -> Floats:
    """Return the two-sided p-value of equal variances."""
    ratio = x.variance / y.variance
    below, above = fdtr(x.n - 1, y.n - 1, ratio), fdtrc(x.n - 1, y.n - 1, ratio)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(below, above)))


def _t_tests(x: _Moments, y: _Moments) -> tuple[Floats, Floats]:
    """Return the one-sided p-values of Student and of Welch."""
    difference = x.mean - y.mean
    df = x.n + y.n - 2
    pooled = ((x.n - 1) * x.variance + (y.n - 1) * y.variance) / df
    squared_errors = x.variance / x.n, y.variance / y.n
    welch_df = (squared_errors[0] + squared_errors[1]) ** 2 / (squared_errors[0] ** 2 / (x.n - 1) + squared_errors[1] ** 2 / (y.n - 1))
    student = stdtr(df, -difference / np.sqrt(pooled * (1 / x.n + 1 / y.n)))
    welch = stdtr(welch_df, -difference / np.sqrt(squared_errors[0] + squared_errors[1]))
    return np.asarray(student), np.asarray(welch)


def mean_verdict(steps: MeanSteps, risk: Floats) -> Integers:
    """Follow figure 4.1 at a risk: normal or large samples, then Student's t where variances may be equal, else Welch's.

    A normality test without an answer (fewer than 3 values, or equal ones) allows no conclusion.
    """
    with np.errstate(invalid="ignore"):
        usable = [(p > risk) | ((p <= risk) & (n >= LARGE)) for p, n in ((steps.normal_x, steps.n), (steps.normal_y, steps.m))]
        return _verdict(usable[0] & usable[1], mean_pvalue(steps, risk), risk)


def mean_pvalue(steps: MeanSteps, risk: Floats) -> Floats:
    """Return the p-value of the t test that the F test chooses at a risk."""
    with np.errstate(invalid="ignore"):
        return np.where(steps.equal_variances > risk, steps.student, steps.welch)


def median_verdict(steps: MedianSteps, risk: Floats) -> Integers:
    """Follow figure 4.2 at a risk: samples that differ by a shift, or large ones, then Mann-Whitney."""
    with np.errstate(invalid="ignore"):
        large = (steps.n >= LARGE) & (steps.m >= LARGE)
        usable = (steps.same_shape > risk) | ((steps.same_shape <= risk) & large)
        return _verdict(usable, steps.mann_whitney, risk)


def _verdict(usable: Mask, pvalue: Floats, risk: Floats) -> Integers:
    """Return what a last test says where it may be used and has an answer."""
    decided = np.where(pvalue <= risk, YES, NO)
    return np.where(usable & ~np.isnan(pvalue), decided, CANNOT_CONCLUDE).astype(np.int8)


def conclude(verdict_at: Callable[[Floats], Integers], risk: Floats, turns: tuple[Floats, ...] | None = None) -> Outcome:
    """Follow a protocol at the risks given; where none is (NaN), search for the smallest from 0.01 to 0.5 at which it succeeds.

    A condition tested at a larger risk fails more easily, so success is not monotone in the risk.

    Parameters
    ----------
    verdict_at : callable
        What the protocol says at an array of risks, one per cell.
    risk : array
        Risks, NaN where they are to be searched for.
    turns : tuple of array, optional
        The p-values from which on the protocol may succeed: the search tries all of them and misses no risk. Default: the original tool's
        search, which does.

    Returns
    -------
    Outcome
        Without a success the risk is NaN (in the tool's search 0.01, where 0.5 gives a no), and no conclusion is one at every risk.
    """
    searched = np.isnan(risk)
    outcome = _bisected(verdict_at, risk.shape) if turns is None else _smallest(verdict_at, turns, risk.shape)
    verdict = np.where(searched, outcome.verdict, verdict_at(np.where(searched, LOWEST_RISK, risk))).astype(np.int8)
    described = np.where(searched, outcome.described, risk)
    return Outcome(verdict, np.where(searched, outcome.risk, risk), searched & outcome.not_found, described)


def _smallest(verdict_at: Callable[[Floats], Integers], turns: tuple[Floats, ...], shape: tuple[int, ...]) -> Outcome:
    """Return the smallest risk at which a protocol succeeds, rounded up to a whole percent where it succeeds there, too.

    Success begins where a p-value of the last test, or of the one that chooses it, is reached, and nowhere else.
    """
    lowest = np.full(shape, LOWEST_RISK)
    least = np.full(shape, np.nan)
    with np.errstate(invalid="ignore"):
        for turn in (lowest, *turns):
            risk = np.maximum(turn, LOWEST_RISK)
            least = np.fmin(least, np.where((verdict_at(risk) == YES) & (risk <= HIGHEST_RISK), risk, np.nan))
        # Levels are written with two digits, or with ten where no whole percent is near.
        for digits in (10, 2):
            rounded = np.ceil(np.round(least * 10**digits, 6)) / 10**digits
            least = np.where((verdict_at(rounded) == YES) & (rounded <= HIGHEST_RISK), rounded, least)
    none = np.isnan(least)
    described = np.where(none, LOWEST_RISK, least)
    return Outcome(verdict_at(described), least, none, described)


def _bisected(verdict_at: Callable[[Floats], Integers], shape: tuple[int, ...]) -> Outcome:
    """Search as the original tool does: 0.01; then 0.5; then bisection, which stops at a width of 0.01.

    The risk is rounded up to a whole percent, and the protocol followed once more there, which decides: the last word may be no.
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
    return Outcome(verdict, np.where(none, np.nan, risk), not_found, np.where(none, HIGHEST_RISK, risk))


class Overall(NamedTuple):
    """The speedup and the gain of a whole suite, and the number of benchmarks behind them."""

    speedup: Floats
    gain: Floats
    n: Floats


def overall(baseline: Floats, candidate: Floats, weights: Floats, included: Mask) -> Overall:
    """Return the overall speedup (equation 3) and gain (equation 2) from one time per benchmark and side.

    Parameters
    ----------
    baseline, candidate, weights : array, shape (..., benchmarks)
        Times and weights; a benchmark without one of them is left out.
    included : array of bool, shape (..., benchmarks)
        The benchmarks to add up.

    Returns
    -------
    Overall
        Arrays of shape (...); no benchmark gives NaN.
    """
    counted = included & ~np.isnan(baseline) & ~np.isnan(candidate) & ~np.isnan(weights)
    n = counted.sum(axis=-1).astype(float)
    baseline_sum, candidate_sum = (np.where(counted, weights * side, 0.0).sum(axis=-1) for side in (baseline, candidate))
    with np.errstate(divide="ignore", invalid="ignore"):
        return Overall(np.where(n > 0, baseline_sum / candidate_sum, np.nan), np.where(n > 0, 1 - candidate_sum / baseline_sum, np.nan), n)
