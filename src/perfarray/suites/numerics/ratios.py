"""How sure is the ratio of two suite scores: t on the log scale, and the stratified bootstrap.

Irving et al. (2018), sections 4 and 8. Units are (..., benchmarks, units), NaN where not measured.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.bootstrap_limits import (
    influence_of,
    limits_of,
    one_sided,
    percentile_family,
)
from perfarray.numerics.intervals import t_probability, t_quantile
from perfarray.numerics.levels import UnitSummary, summarise_units
from perfarray.numerics.moderated import fit_robust_prior, moderate
from perfarray.numerics.random import BENCHMARKS, Streams
from perfarray.numerics.suite import (
    SuiteSides,
    log_mean_slopes,
    matched_weights,
    mean_of_transformed,
    restore,
    run_statistic,
    smallest_number,
    suite_mean,
    sum_of_samples,
    transform,
    weighted_transform,
)
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.suites.numerics.redrawn_scores import Redrawn, Score, draw_scores

CERTAIN = 1e-13  # a standard error of a log below this is rounding: the values do not differ


class ScoreRatio(NamedTuple):
    """The ratio of two scores with its limits; the standard error is that of its log."""

    estimate: Floats
    lower: Floats
    upper: Floats
    standard_error: Floats
    df: Floats
    pvalue: Floats
    n: Floats


def ratio_intervals(
    sides: SuiteSides,
    cells: Integers,
    score: Score,
    draws: Draws | None,
    method: str,
    *,
    without: bool = False,
    length: int = 0,
) -> tuple[Floats, ...]:
    """Return the fields of `ScoreRatio` of every suite, by t (no draws) or redrawn.

    With `without`, also estimate and limits without each benchmark in turn (suites, benchmarks);
    with a length, also so many ratios of the distribution that limits are read off (suites,
    length).
    """
    if draws is None:
        answer = t_interval(sides, sides.matched, score)
        ratios = (t_places(answer, length),) if length else ()
        return (
            *answer,
            *(
                _without_each(sides.matched, partial(t_interval, sides, score=score))
                if without
                else ()
            ),
            *ratios,
        )
    rows = []
    for redrawn in draw_scores(
        sides, cells, draws, score, per_benchmark=without or score.random_benchmarks
    ):
        interval, matched = (
            partial(bootstrap_interval, redrawn, score=score, draws=draws, method=method),
            redrawn.sides.matched,
        )
        limits = _without_each(matched, interval) if without else ()
        answer = interval(matched)
        ratios = (
            (
                np.where(
                    answer.n[..., None] > 1, redrawn_ratios(redrawn, matched, score, draws), np.nan
                ),
            )
            if length
            else ()
        )
        rows.append((*answer, *limits, *ratios))
    return tuple(np.concatenate(field) for field in zip(*rows, strict=True))


def _without_each(matched: Mask, interval: Callable[[Mask], ScoreRatio]) -> tuple[Floats, ...]:
    """Return estimate and limits without each benchmark in turn.

    NaN for a benchmark that does not count, or the only one.
    """
    limits = np.full((3, *matched.shape), np.nan)
    # Each benchmark left out is a suite of its own: the loop keeps the memory of one.
    for index in range(matched.shape[-1]):
        answer = interval(matched & (np.arange(matched.shape[-1]) != index))
        limits[..., index] = [
            np.where(matched[..., index], values, np.nan)
            for values in (answer.estimate, answer.lower, answer.upper)
        ]
    return tuple(limits)


def log_ratio(sides: SuiteSides, matched: Mask, score: Score) -> Floats:
    """Return the log of candidate over baseline over the matched benchmarks."""
    scores = [
        suite_mean(run_statistic(side, score.statistic), score.mean, matched, score.weights)
        for side in (sides.new, sides.old)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(scores[0]) - np.log(scores[1]))


def t_interval(sides: SuiteSides, matched: Mask, score: Score) -> ScoreRatio:
    """Return the t interval of the ratio of two scores on the log scale.

    Benchmarks fixed: SE^2 = sum of w^2 s^2 / (m ybar^2) over systems and benchmarks (for the
    geometric mean w is 1/B, or the share of the weights), df after Welch and Satterthwaite.
    Benchmarks random: the paired t over benchmarks, B - 1 df; with weights, see `_weighted_sample`,
    which is the same where all w are 1/B.
    """
    log = log_ratio(sides, matched, score)
    contributions = (
        _over_benchmarks(sides, matched, score)
        if score.random_benchmarks
        else _over_units(sides, matched, score)
    )
    counts = contributions.n > 0
    total, df = sum_of_samples(contributions.variance, contributions.n, counts)
    if score.learn:
        df = sum_of_samples(_moderated(contributions), contributions.n, counts)[1]
    error = np.sqrt(total)
    certain = error < CERTAIN
    error = np.where(certain, 0.0, error)
    df = np.where(certain, np.where(counts, contributions.n - 1, 0.0).sum(axis=-1), df)
    n = _sample_size(sides, matched, score)
    estimable = (n > 1) & ~np.isnan(log)
    error, df = np.where(estimable, error, np.nan), np.where(estimable, df, np.nan)
    half = t_quantile((1 + score.two_sided_level) / 2, df) * error
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        lower, upper = np.exp(log - half), np.exp(log + half)
        statistic = np.where(
            error == 0, np.where(np.abs(log) < CERTAIN, 0.0, np.copysign(np.inf, log)), log / error
        )
    below, above = t_probability(statistic, df), t_probability(-statistic, df)
    return ScoreRatio(
        np.exp(log), *_limits(lower, upper, score), error, df, _pvalue(below, above, score), n
    )


def _moderated(contributions: UnitSummary) -> Floats:
    """Return the variances of samples, moderated on each side.

    They serve for degrees of freedom alone. The sum of the variances themselves is without bias;
    that of moderated ones is too small where benchmarks differ, so that 95 % limits would cover 90.
    """
    n = contributions.n
    sides = list(
        zip(
            np.split(contributions.variance * n, 2, axis=-1),
            np.split(n - 1, 2, axis=-1),
            strict=True,
        )
    )
    prior = fit_robust_prior(*sides)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (
            np.concatenate(
                [moderate(*side, prior, index) for index, side in enumerate(sides)], axis=-1
            )
            / n
        )


def t_places(interval: ScoreRatio, number: int) -> Floats:
    """Return equally probable places of the distribution of a t interval, in order."""
    half = (
        t_quantile((np.arange(number) + 0.5) / number, interval.df[..., None])
        * interval.standard_error[..., None]
    )
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.exp(np.log(interval.estimate)[..., None] + half)


def _sample_size(sides: SuiteSides, matched: Mask, score: Score) -> Floats:
    """Return the fewest units behind a benchmark, or the number of sampled benchmarks."""
    return (
        matched.sum(axis=-1).astype(float)
        if score.random_benchmarks
        else smallest_number(sides._replace(matched=matched))
    )


def _over_units(sides: SuiteSides, matched: Mask, score: Score) -> UnitSummary:
    """Return the samples whose variances add up to that of the log ratio.

    A unit contributes w log(value) to a geometric mean of runs, w value / mean to first order to a
    mean. Shared units are summed over the benchmarks, paired ones subtracted, before their variance
    is taken.
    """
    contributions = []
    for units in (sides.new, sides.old):
        scores = run_statistic(units, score.statistic)
        slopes = log_mean_slopes(scores, score.mean, matched, score.weights)[..., None]
        with np.errstate(divide="ignore", invalid="ignore"):
            contributions.append(
                np.asarray(
                    slopes
                    * (
                        np.log(units)
                        if score.statistic == "geometric"
                        else units / scores[..., None]
                    )
                )
            )
    if score.shared:
        contributions = [
            np.where(matched[..., None], side, 0.0).sum(axis=-2, keepdims=True)
            for side in contributions
        ]
    samples = [contributions[0] - contributions[1]] if score.paired else contributions
    mean, variance, n = (
        np.concatenate(field, axis=-1) for field in zip(*map(summarise_units, samples), strict=True)
    )
    counts = np.concatenate([_samples_that_count(matched, score)] * len(samples), axis=-1)
    return UnitSummary(mean, variance, np.where(counts, n, 0.0))


def _samples_that_count(matched: Mask, score: Score) -> Mask:
    """Return which samples count: those of every matched benchmark, or the shared one."""
    return np.asarray(matched.any(axis=-1, keepdims=True)) if score.shared else matched


def _over_benchmarks(sides: SuiteSides, matched: Mask, score: Score) -> UnitSummary:
    """Return the sample of the paired t over benchmarks: log ratios or their counterparts."""
    scores = [run_statistic(side, score.statistic) for side in (sides.new, sides.old)]
    if score.mean == "geometric":
        transformed = [transform(side, "geometric") for side in scores]
    else:
        sign = matched.sum(axis=-1, keepdims=True) * (1.0 if score.mean == "arithmetic" else -1.0)
        transformed = [
            sign * log_mean_slopes(side, score.mean, matched, score.weights) for side in scores
        ]
    ratios = np.where(matched, transformed[0] - transformed[1], np.nan)
    summary = (
        summarise_units(ratios)
        if score.weights is None
        else _weighted_sample(ratios, matched, score)
    )
    return UnitSummary(*(np.asarray(field)[..., None] for field in summary))


def _weighted_sample(ratios: Floats, matched: Mask, score: Score) -> UnitSummary:
    """Return the squared standard error, and df + 1, of an unequally weighted sample.

    Of members that vary alike, the mean has the variance s^2 S with S = sum of w^2, and s^2 = sum
    of w (d - dbar)^2 / (1 - S) has the degrees of freedom (1 - S)^2 / (S + S^2 - 2 sum of w^3)
    after Satterthwaite: the trace of its quadratic form squared over that of the square, which is
    also the sum of w^2 ((1 - w)^2 + S - w^2). Of the other means d - dbar is what a member moves
    the log of the mean by, over its share.
    """
    counts = matched_weights(matched, score.weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts / counts.sum(axis=-1, keepdims=True)
        mean = np.where(matched, shares * ratios, 0.0).sum(axis=-1)
        number = matched.sum(axis=-1, keepdims=True)
        deviations = (
            ratios - mean[..., None] if score.mean == "geometric" else ratios / (number * shares)
        )
        squares, remaining = shares**2, _sums_without_each(shares)
        scale = (shares * remaining).sum(axis=-1)
        spread = np.where(matched, shares * deviations**2, 0.0).sum(axis=-1) / scale
        n = 1 + scale**2 / (squares * (remaining**2 + _sums_without_each(squares))).sum(axis=-1)
    return UnitSummary(mean, spread * squares.sum(axis=-1), np.where(matched.any(axis=-1), n, 0.0))


def _sums_without_each(values: Floats) -> Floats:
    """Return the sum of all but each along the last axis, without a difference."""
    none = np.zeros_like(values[..., :1])
    lower_sums = np.concatenate([none, np.cumsum(values[..., :-1], axis=-1)], axis=-1)
    upper_sums = np.concatenate([np.cumsum(values[..., :0:-1], axis=-1)[..., ::-1], none], axis=-1)
    return np.asarray(lower_sums + upper_sums)


def _limits(lower: Floats, upper: Floats, score: Score) -> tuple[Floats, Floats]:
    """Return both limits, or the one a one-sided interval has."""
    if score.alternative == "greater":
        return lower, np.where(np.isnan(lower), np.nan, np.inf)
    if score.alternative == "less":
        return np.where(np.isnan(upper), np.nan, -np.inf), upper
    return lower, upper


def _pvalue(below: Floats, above: Floats, score: Score) -> Floats:
    """Return the p-value of "the ratio is 1" from the two one-sided ones."""
    two_sided = np.asarray(np.minimum(1.0, 2 * np.minimum(below, above)))
    return {"greater": above, "less": below}.get(score.alternative, two_sided)


def bootstrap_interval(
    redrawn: Redrawn, matched: Mask, score: Score, draws: Draws, method: str
) -> ScoreRatio:
    """Return the percentile, basic or BCa interval of the ratio of two scores."""
    estimate = np.exp(log_ratio(redrawn.sides, matched, score))
    influence = _left_out(redrawn.sides, matched, score, estimate) if method == "bca" else ()
    bootstrap = percentile_family(
        method, estimate, redrawn_ratios(redrawn, matched, score, draws), influence
    )
    limits, n = (
        limits_of(bootstrap, score.two_sided_level),
        _sample_size(redrawn.sides, matched, score),
    )
    lower, upper = _limits(limits.lower, limits.upper, score)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.std(np.log(bootstrap.replicates), axis=-1, ddof=1)
    pvalue, estimable = _pvalue(*one_sided(bootstrap, 1.0), score), (n > 1) & ~np.isnan(estimate)
    lower, upper, error, pvalue = (
        np.where(estimable, values, np.nan) for values in (lower, upper, error, pvalue)
    )
    return ScoreRatio(estimate, lower, upper, error, np.full(n.shape, np.nan), pvalue, n)


def redrawn_ratios(redrawn: Redrawn, matched: Mask, score: Score, draws: Draws) -> Floats:
    """Return the ratio of the two scores in every replicate, shape (suites, R)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        new, old = (
            _redrawn_score(side, redrawn, matched, score, draws)
            for side in (redrawn.new, redrawn.old)
        )
        return np.asarray(new / old)


def _redrawn_score(
    scores: Floats, redrawn: Redrawn, matched: Mask, score: Score, draws: Draws
) -> Floats:
    """Return the mean over the matched benchmarks in every replicate, shape (suites, R).

    The benchmarks are redrawn if they are random.
    """
    weights = score.weights
    if scores.ndim == 2:  # summed
        return restore(
            scores / matched_weights(matched, weights).sum(axis=-1, keepdims=True), score.mean
        )
    if score.random_benchmarks:
        streams, rows = (
            Streams(draws.key),
            zip(scores, redrawn.cells.tolist(), matched, strict=True),
        )
        suites = [_redraw_benchmarks(*row, draws, streams, score) for row in rows]
        scores, redrawn_weights = (np.stack(arrays) for arrays in zip(*suites, strict=True))
        weights = None if weights is None else np.swapaxes(redrawn_weights, -1, -2)
        matched = np.broadcast_to(
            np.arange(matched.shape[-1]) < matched.sum(axis=-1, keepdims=True), matched.shape
        )
    return mean_of_transformed(
        np.swapaxes(scores, -1, -2), score.mean, matched[..., None, :], weights
    )


def _redraw_benchmarks(
    scores: Floats, cell: int, matched: Mask, draws: Draws, streams: Streams, score: Score
) -> tuple[Floats, Floats]:
    """Draw benchmarks with replacement, the same for both systems.

    The first rows of scores and weights returned are those drawn.

    A benchmark drawn twice has its units redrawn twice: it takes them from another replicate.
    Shared units stay together.
    """
    number = int(matched.sum())
    redrawn, weights = (
        np.full(scores.shape, np.nan),
        np.ones(scores.shape if score.weights is not None else ()),
    )
    if number == 0:
        return redrawn, weights
    picks = np.flatnonzero(matched)[
        streams.below(number, [cell], BENCHMARKS, number * draws.n_resamples).reshape(-1, number).T
    ]
    columns = np.arange(draws.n_resamples) + (0 if score.shared else np.arange(number)[:, None])
    redrawn[:number] = scores[picks, columns % draws.n_resamples]
    if score.weights is not None:
        weights[:number] = score.weights[picks]
    return redrawn, weights


def _left_out(
    sides: SuiteSides, matched: Mask, score: Score, estimate: Floats
) -> tuple[Floats, ...]:
    """Return the influence (suites, ...) of every unit left out in turn.

    Where the benchmarks are random they are left out instead.
    """
    terms = [
        weighted_transform(run_statistic(side, score.statistic), score.mean, score.weights)
        for side in (sides.new, sides.old)
    ]
    weights = matched_weights(matched, score.weights)
    count, totals = (
        weights.sum(axis=-1),
        [np.where(matched, side, 0.0).sum(axis=-1) for side in terms],
    )
    if score.random_benchmarks:
        with np.errstate(divide="ignore", invalid="ignore"):
            averages = [
                (total[..., None] - side) / (count[..., None] - weights)
                for total, side in zip(totals, terms, strict=True)
            ]
        reduced = [_log_of(average, score) for average in averages]
        return (influence_of(estimate, np.where(matched, np.exp(reduced[0] - reduced[1]), np.nan)),)
    changes = []  # of what a benchmark adds to the sum, without each of its units in turn
    for units, term in zip((sides.new, sides.old), terms, strict=True):
        remaining = np.where(np.eye(units.shape[-1], dtype=bool), np.nan, units[..., None, :])
        shares = None if score.weights is None else score.weights[:, None]
        without = weighted_transform(run_statistic(remaining, score.statistic), score.mean, shares)
        changes.append(np.where(np.isnan(units), np.nan, without) - term[..., None])
    if score.shared:
        changes = [
            np.where(matched[..., None], change, 0.0).sum(axis=-2, keepdims=True)
            for change in changes
        ]
    with np.errstate(divide="ignore", invalid="ignore"):
        full = [_log_of(total / count, score)[..., None, None] for total in totals]
        sums = [
            total[..., None, None] + change for total, change in zip(totals, changes, strict=True)
        ]
        reduced = [_log_of(side_sum / count[..., None, None], score) for side_sum in sums]
    ratios = (
        [np.exp(reduced[0] - reduced[1])]
        if score.paired
        else [np.exp(reduced[0] - full[1]), np.exp(full[0] - reduced[1])]
    )
    counts = _samples_that_count(matched, score)[..., None]
    return tuple(
        influence_of(estimate[..., None], np.where(counts, ratio, np.nan)).reshape(
            len(estimate), -1
        )
        for ratio in ratios
    )


def _log_of(average: Floats, score: Score) -> Floats:
    """Return the log of the mean that belongs to an average of transformed scores."""
    if score.mean == "geometric":
        return average
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((1.0 if score.mean == "arithmetic" else -1.0) * np.log(average))
