"""What unit means say of ratios: tests against a band around 1, and the suite's geometric mean ratio."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import (
    BATCH_MEANS,
    BOUNDED,
    Ratio,
    RatioSet,
    known_limits,
    number,
    ratio_df,
    ratio_limits,
    ratio_of,
    ratio_statistic,
    standard_error,
    standing_for,
    t_probability,
    t_quantile,
    welch_df,
    with_skewness,
)
from perfarray.numerics.levels import UnitSummary, summarise_units, unit_means
from perfarray.numerics.normality import shapiro_wilk, ties_apart
from perfarray.numerics.skewness import skewness_test, third_cumulant
from perfarray.numerics.suite import match_sides, smallest_number
from perfarray.numerics.types import Floats, Mask, same_text
from perfarray.numerics.verdicts import Evidence, Known, Rules, Suite, Tests, open_set

MATERIAL = 5
"""How many numbers the limits of a ratio are made from, beside its evidence."""

MOST, FEW = 0.8, 10
"""The share of the error from which on one side decides how well limits cover, and the number of units below which they may not."""


def evidence_of_units(new: Floats, old: Floats, *bounds: Mask, rules: Rules) -> tuple[Floats | Mask, ...]:
    """Return what unit means (..., benchmarks, units) of two systems say (`Evidence`, `Suite`), and what limits are made from.

    `bounds` are what stopped runs leave known of the ratios, where some were stopped.
    """
    new_units, old_units = standing_for(new, old, method=rules.method, paired=rules.paired)
    ratio = ratio_of(new_units, old_units, rules.paired)
    df = ratio_df(ratio, rules.df)
    ratio = with_skewness(ratio, new, old, df) if rules.method == "skew_adjusted" else ratio
    bounds_known = known_of(ratio, bounds)
    evidence = row_evidence(ratio, df, df, band_tests(ratio, df, rules.method, rules.limits), bounds_known)
    evidence = evidence._replace(n=number(new, old, paired=rules.paired))
    positive = [np.fmin.reduce(side, axis=-1, initial=np.inf) > 0 for side in (new, old)]
    material = (ratio.denominator.variance, ratio.residual, ratio.overlap, positive[0] & positive[1], ratio.skewness)
    suite = bound_suite(sure_suite(suite_of_units(new_units, old_units, ratio, rules), ratio, rules.limits), ratio, bounds_known)
    if rules.method == BATCH_MEANS:
        units = np.where(ratio.estimate > 0, evidence.n, np.inf).min(axis=-1, initial=np.inf)
        suite = suite._replace(n=np.where(np.isinf(units), 0.0, units))
    return *evidence, *suite, np.stack(np.broadcast_arrays(*material), axis=-1)


def known_of(ratio: Ratio, bounds: Sequence[Mask]) -> Known:
    """Return what is known of every ratio: all, where nothing bounds it."""
    return Known(*(np.broadcast_to(side, ratio.n.shape) for side in (bounds or (np.False_, np.False_))))


def bound_suite(suite: Suite, ratio: Ratio, known: Known) -> Suite:
    """Keep what stays true of a suite whatever stopped runs would have taken: tests, and the limits towards what is known."""
    over = known.over(ratio.estimate)
    limits = open_set(RatioSet(suite.lower, suite.upper, same_text(BOUNDED, suite.estimate.shape)), over)
    estimate = np.where(over.at_least & over.at_most, np.nan, suite.estimate)
    return suite._replace(estimate=estimate, lower=limits.lower, upper=limits.upper, **suite.tests.bounded_by(over)._asdict())


def row_evidence(ratio: Ratio, df: Floats, error_df: Floats, tests: Tests, bounds_known: Known) -> Evidence:
    """Return what is known of every benchmark; `error_df` are those of its standard error."""
    new, old = (np.broadcast_to(side.mean, ratio.n.shape) for side in (ratio.numerator, ratio.denominator))
    rows = (ratio.estimate, df, ratio.n, new, old, standard_error(ratio, "log_delta"), error_df)
    return Evidence(*rows, *bounds_known, *tests.bounded_by(bounds_known))


def limits_of_units(level: Floats, evidence: Evidence, material: Floats, *, rules: Rules) -> RatioSet:
    """Return the limits at a level per ratio."""
    variance, residual, overlap, positive, skewness = np.moveaxis(material, -1, 0)
    unknown = np.full_like(variance, np.nan)
    sides = UnitSummary(evidence.candidate_mean, unknown, unknown), UnitSummary(evidence.baseline_mean, variance, unknown)
    ratio = Ratio(evidence.estimate, *sides, residual, overlap, rules.paired, skewness)
    return known_limits(ratio_limits(ratio, evidence.df, level, rules.method, positive == 1), evidence.df)


def band_tests(ratio: Ratio, df: Floats, method: str, limits: tuple[float, float]) -> Tests:
    """Test the ratio against both limits of the band, from both sides."""
    low, high = (ratio_statistic(ratio, value, method, df) for value in limits)
    return surely(ratio, limits, *t_probability(np.stack([low, -low, high, -high]), df))


def surely(ratio: Ratio, limits: tuple[float, float], *pvalues: Floats) -> Tests:
    """Return tests (`Tests`) that are sure of a ratio in the band, or on its edge, where neither system shows any spread."""
    return _sure(_spreadless(ratio), ratio.estimate, limits, Tests(*pvalues))


def sure_suite(suite: Suite, ratio: Ratio, limits: tuple[float, float]) -> Suite:
    """Return a suite whose tests are sure of it, where no benchmark that both systems have shows any spread."""
    with np.errstate(invalid="ignore"):
        constant = np.asarray((_spreadless(ratio) | ~(ratio.estimate > 0)).all(axis=-1))
    return suite._replace(**_sure(constant, suite.estimate, limits, suite.tests)._asdict())


def _spreadless(ratio: Ratio) -> Mask:
    """Return where neither system shows any spread."""
    return np.asarray((ratio.numerator.variance == 0) & (ratio.denominator.variance == 0))


def _sure(constant: Mask, estimate: Floats, limits: tuple[float, float], tests: Tests) -> Tests:
    """Return tests that are sure of constant estimates in the band, or on its edge."""
    with np.errstate(invalid="ignore"):
        inside = constant & (estimate >= limits[0]) & (estimate <= limits[1])
    return tests._replace(above_low=np.where(inside, 0.0, tests.above_low), below_high=np.where(inside, 0.0, tests.below_high))


class Shape(NamedTuple):
    """How far from normal units are: p-values of Shapiro and Wilk (few units) and D'Agostino (more), and the skewness of their mean."""

    few: Floats
    skewed: Floats
    skewness: Floats


def noisier_side(new: Floats, old: Floats, *, levels: int) -> tuple[Floats, ...]:
    """Return the candidate's share of the squared error of the ratio of means, and the `Shape` of the noisier side's unit means.

    NaN where neither side has most of the error.
    """
    units = [unit_means(side, levels) for side in (new, old)]
    sides = [summarise_units(side) for side in units]
    with np.errstate(divide="ignore", invalid="ignore"):
        new_share, old_share = (side.variance / side.mean**2 for side in sides)
        share = new_share / (new_share + old_share)
        candidate = share >= MOST
    longest = max(side.shape[-1] for side in units)
    noisier = np.where(candidate[..., None], *(_up_to(longest, side) for side in units))
    summary = UnitSummary(*(np.where(candidate, *sides_of_field) for sides_of_field in zip(*sides, strict=True)))
    return share, *_shape(noisier, summary, candidate | (share <= 1 - MOST))


def _up_to(size: int, units: Floats) -> Floats:
    """Return units (..., size), those that are not there NaN."""
    missing = size - units.shape[-1]
    return np.concatenate([units, np.full((*units.shape[:-1], missing), np.nan)], axis=-1) if missing else units


def units_shape(values: Floats, *, levels: int) -> tuple[Floats, ...]:
    """Return the `Shape` of the unit means of timings (..., n_L, ..., n_1)."""
    units = unit_means(values, levels)
    return _shape(units, summarise_units(units), np.ones(units.shape[:-1], dtype=bool))


def _shape(units: Floats, summary: UnitSummary, where: Mask) -> Shape:
    """Return how far from normal unit means are in some cells; NaN in the others."""
    few, more = where & (summary.n < FEW), where & (summary.n >= FEW)
    shape = Shape(*(np.full(where.shape, np.nan) for _ in Shape._fields))
    if few.any():
        shape.few[few] = shapiro_wilk(ties_apart(units[few])).pvalue  # rounded units are taken apart
    if more.any():
        rows, n = units[more], summary.n[more]
        shape.skewed[more] = skewness_test(rows, n)
        with np.errstate(divide="ignore", invalid="ignore"):
            shape.skewness[more] = third_cumulant(rows, n) / n**2 / summary.variance[more] ** 1.5
    return shape


def suite_of_units(new: Floats, old: Floats, ratio: Ratio, rules: Rules, extra: Floats | float = 0.0) -> Suite:
    """Return the geometric mean ratio over the benchmarks both sides measured.

    `beside` is what the units of benchmarks that are taken together do not show of the squared error of each log ratio.
    """
    if rules.shared or rules.paired:
        log, variance, df, n, count = _joint(new, old, rules)
        with np.errstate(invalid="ignore"):
            variance = variance + np.where(ratio.estimate > 0, extra, 0.0).sum(axis=-1) / np.maximum(count, 1) ** 2
    else:
        log, variance, df, n, count = _independent(ratio)
    df = np.where(n > 1, np.inf if rules.df == "normal" else np.where(rules.df == "conservative", n - 1, df), np.nan)
    error = np.sqrt(variance)
    half = t_quantile((1 + rules.confidence_level) / 2, df) * error
    lower, upper = np.exp(log - half), np.exp(log + half)
    return Suite(np.exp(log), lower, upper, df, n, count, *_log_tests(log, error, df, rules.limits))


def _log_tests(log: Floats, error: Floats, df: Floats, limits: tuple[float, float]) -> Tests:
    """Test a log ratio against both limits of the band, from both sides."""
    difference = np.stack([log - np.log(value) for value in limits])
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.where(difference == 0, 0.0, difference / error)
    return Tests(*t_probability(np.stack([low, -low, high, -high]), df))


def _independent(ratio: Ratio) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Benchmarks assumed independent: variances of the log means add (SE^2 = B^-2 sum of s^2 / (m ybar^2))."""
    with np.errstate(invalid="ignore"):
        matched: Mask = ratio.estimate > 0
    count = matched.sum(axis=-1).astype(float)
    variances = []
    for side in (ratio.numerator, ratio.denominator):
        with np.errstate(divide="ignore", invalid="ignore"):
            variances.append((np.where(matched, side.variance / side.mean**2, 0.0), np.where(matched, side.n - 1, 1.0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(matched, np.log(ratio.estimate), 0.0).sum(axis=-1) / count
        total = sum(v.sum(axis=-1) for v, _ in variances)
        df = total**2 / sum((v**2 / m).sum(axis=-1) for v, m in variances)
        df = np.where(total == 0, sum(m.sum(axis=-1) for _, m in variances), df)
    n = np.where(matched, ratio.n, np.inf).min(axis=-1, initial=np.inf)
    return log, np.asarray(total) / np.maximum(count, 1) ** 2, df, np.where(np.isinf(n), 0.0, n), count


def _joint(new: Floats, old: Floats, rules: Rules) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Units taken over the benchmarks together, since they share them, or may: what unit j adds to the log of the geometric mean ratio.

    To first order that is Z_j, the mean over the benchmarks of unit mean / mean; paired systems have one Z_j, the difference. A unit with
    a gap has none.
    """
    sides = match_sides(new, old, shared=True, paired=rules.paired)
    count = sides.matched.sum(axis=-1).astype(float)
    means, scores = [], []
    for side in (sides.new, sides.old):
        mean = summarise_units(side).mean
        means.append(mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(sides.matched[..., None], (side - mean[..., None]) / mean[..., None], 0.0)
            scores.append(shares.sum(axis=-2) / count[..., None])
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(sides.matched, np.log(means[0] / means[1]), 0.0).sum(axis=-1) / count
    n = smallest_number(sides)
    if rules.paired:
        differences = summarise_units(scores[0] - scores[1])
        return log, differences.variance, differences.n - 1, n, count
    a, b = (summarise_units(score) for score in scores)
    return log, a.variance + b.variance, welch_df(a.variance, b.variance, a.n - 1, b.n - 1), n, count
