"""Verdicts with a threshold, corrected for many benchmarks, and the suite's geometric mean ratio."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import BOUNDED, Ratio, ratio_df, ratio_limits, ratio_of, ratio_statistic, t_probability, t_quantile
from perfarray.numerics.levels import UnitSummary, summarise_units
from perfarray.numerics.types import Floats, Mask, Texts

FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE = "faster", "slower", "equivalent", "inconclusive"


class Tests(NamedTuple):
    """One-sided p-values of a ratio against a band around 1."""

    below: Floats  # small where the ratio is below 1 - threshold
    above: Floats  # small where the ratio is above 1 + threshold
    inside: Floats  # small where the ratio is inside the band (the larger of the two one-sided tests)

    @property
    def two_sided(self) -> Floats:
        """Twice the smaller p of the outside tests, at most 1."""
        return np.minimum(1.0, 2.0 * np.minimum(self.below, self.above))


class Comparison(NamedTuple):
    """Along the benchmarks, and for the whole suite."""

    estimate: Floats
    lower: Floats
    upper: Floats
    df: Floats
    n: Floats
    kind: Texts
    pvalue: Floats
    pvalue_adjusted: Floats
    pvalue_equivalent: Floats
    interval_level: Floats
    verdict: Texts
    suite_estimate: Floats
    suite_lower: Floats
    suite_upper: Floats
    suite_df: Floats
    suite_n: Floats
    suite_benchmarks: Floats
    suite_verdict: Texts


class Rules(NamedTuple):
    """How to compare: what the caller of `compare` chose."""

    method: str
    df: str
    threshold: float
    confidence_level: float
    correction: str | None
    better: str
    paired: bool
    shared: bool
    band: str = "linear"

    @property
    def limits(self) -> tuple[float, float]:
        """The band of ratios that do not matter: 1 -+ threshold, or 1 / (1 + threshold) to 1 + threshold."""
        return 1 / (1 + self.threshold) if self.band == "log" else 1 - self.threshold, 1 + self.threshold


def compare_units(new: Floats, old: Floats, rules: Rules) -> Comparison:
    """Compare unit means (..., benchmarks, units) of two systems.

    Decide faster or slower if 2 min(p) <= alpha after correction, else equivalent if p_equivalent <= alpha / 2 after correction, else
    inconclusive. A set that is not an interval decides nothing.
    """
    alpha = 1 - rules.confidence_level
    ratio = ratio_of(new, old, rules.paired)
    df = ratio_df(ratio, rules.df)
    tests = band_tests(ratio, df, rules.method, rules.limits)
    outside, inside = adjust(tests.two_sided, rules.correction), adjust(tests.inside, rules.correction)
    level = interval_level(tests.two_sided, outside, alpha, rules.correction)
    limits = ratio_limits(ratio, df, level, rules.method)
    verdict = decide(tests, outside <= alpha, inside <= alpha / 2, rules.better)
    verdict[limits.kind != BOUNDED] = INCONCLUSIVE
    known = ~np.isnan(df)
    kind = limits.kind
    kind[~known] = BOUNDED
    suite = _suite(new, old, ratio, rules)
    return Comparison(
        ratio.estimate,
        np.where(known, limits.lower, np.nan),
        np.where(known, limits.upper, np.nan),
        df,
        ratio.n,
        kind,
        tests.two_sided,
        outside,
        tests.inside,
        level,
        verdict,
        *suite,
    )


def band_tests(ratio: Ratio, df: Floats, method: str, limits: tuple[float, float]) -> Tests:
    """Test the ratio against both limits of the band, from both sides."""
    low, high = (ratio_statistic(ratio, value, method) for value in limits)
    below, above = t_probability(low, df), t_probability(-high, df)
    inside = np.maximum(t_probability(-low, df), t_probability(high, df))
    with np.errstate(invalid="ignore"):
        within = (ratio.estimate >= limits[0]) & (ratio.estimate <= limits[1])
    certain = (ratio.numerator.variance == 0) & (ratio.denominator.variance == 0) & within
    return Tests(below, above, np.where(certain, 0.0, inside))


def decide(tests: Tests, outside: Mask, inside: Mask, better: str) -> Texts:
    """Turn rejections into words; `better` says whether small or large values are good."""
    below_is, above_is = (FASTER, SLOWER) if better == "lower" else (SLOWER, FASTER)
    verdict = np.full(np.shape(outside), INCONCLUSIVE, dtype=object)
    verdict[inside] = EQUIVALENT
    verdict[outside & (tests.below < tests.above)] = below_is
    verdict[outside & (tests.below >= tests.above)] = above_is
    return verdict


def adjust(pvalues: Floats, correction: str | None) -> Floats:
    """Adjust p-values along the last axis by Holm (1979) or Benjamini and Hochberg (1995); NaN is no member of the family."""
    if correction is None:
        return pvalues
    members = np.sum(~np.isnan(pvalues), axis=-1, keepdims=True)
    order = np.argsort(pvalues, axis=-1)
    ranked = np.take_along_axis(pvalues, order, axis=-1)
    rank = np.arange(1, pvalues.shape[-1] + 1)
    if correction == "holm":
        stepped = np.fmax.accumulate(ranked * (members - rank + 1), axis=-1)
    else:
        stepped = np.fmin.accumulate((ranked * members / rank)[..., ::-1], axis=-1)[..., ::-1]
    adjusted = np.empty_like(pvalues)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return np.where(np.isnan(pvalues), np.nan, adjusted)


def interval_level(pvalues: Floats, adjusted: Floats, alpha: float, correction: str | None) -> Floats:
    """Return the confidence level of each interval.

    Holm's are Bonferroni's, 1 - alpha / m; Benjamini and Hochberg's are those of Benjamini and Yekutieli (2005), 1 - R alpha / m with R
    rejections (one at least).
    """
    if correction is None:
        return np.full(pvalues.shape, 1 - alpha)
    members = np.maximum(np.sum(~np.isnan(pvalues), axis=-1, keepdims=True), 1)
    rejected = np.maximum(np.sum(adjusted <= alpha, axis=-1, keepdims=True), 1) if correction == "bh" else 1
    return np.broadcast_to(1 - rejected * alpha / members, pvalues.shape).copy()


def _suite(new: Floats, old: Floats, ratio: Ratio, rules: Rules) -> tuple[np.ndarray, ...]:
    """Return estimate, limits, df, n, benchmarks and verdict of the geometric mean ratio over the benchmarks both sides measured."""
    estimate = ratio.estimate
    with np.errstate(invalid="ignore"):
        matched = ~np.isnan(estimate) & (estimate > 0)
    count = matched.sum(axis=-1).astype(float)
    log, variance, df, n = (_joint if rules.shared or rules.paired else _independent)(new, old, ratio, matched, rules)
    df = np.where(n > 1, np.inf if rules.df == "normal" else np.where(rules.df == "conservative", n - 1, df), np.nan)
    half = t_quantile((1 + rules.confidence_level) / 2, df) * np.sqrt(variance)
    lower, upper = np.exp(log - half), np.exp(log + half)
    verdict = np.full(log.shape, INCONCLUSIVE, dtype=object)
    low, high = rules.limits
    with np.errstate(invalid="ignore"):
        verdict[(lower >= low) & (upper <= high)] = EQUIVALENT
        verdict[upper < low] = FASTER if rules.better == "lower" else SLOWER
        verdict[lower > high] = SLOWER if rules.better == "lower" else FASTER
    return np.exp(log), lower, upper, df, n, count, verdict


def _independent(new: Floats, old: Floats, ratio: Ratio, matched: Mask, rules: Rules) -> tuple[Floats, Floats, Floats, Floats]:
    """Benchmarks assumed independent: variances of the log means add (METHODS: SE^2 = B^-2 sum of s^2 / (m ybar^2))."""
    del new, old, rules
    count = matched.sum(axis=-1)
    parts = []
    for side in (ratio.numerator, ratio.denominator):
        with np.errstate(divide="ignore", invalid="ignore"):
            parts.append((np.where(matched, side.variance / side.mean**2, 0.0), np.where(matched, side.n - 1, 1.0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(matched, np.log(ratio.estimate), 0.0).sum(axis=-1) / count
        total = sum(v.sum(axis=-1) for v, _ in parts)
        df = total**2 / sum((v**2 / m).sum(axis=-1) for v, m in parts)
        df = np.where(total == 0, sum(m.sum(axis=-1) for _, m in parts), df)
    n = np.where(matched, ratio.n, np.inf).min(axis=-1, initial=np.inf)
    return log, np.asarray(total) / np.maximum(count, 1) ** 2, df, np.where(np.isinf(n), 0.0, n)


def _joint(new: Floats, old: Floats, ratio: Ratio, matched: Mask, rules: Rules) -> tuple[Floats, Floats, Floats, Floats]:
    """Units shared by the benchmarks: inference on Z_j, the mean over benchmarks of log(unit mean); a unit with a gap has no Z_j."""
    sides = [_log_scores(side, matched) for side in (new, old)]
    if rules.paired and rules.shared:
        difference = summarise_units(sides[0] - sides[1])
        return difference.mean, difference.variance, difference.n - 1, difference.n
    if rules.paired:
        return _paired_independent(new, old, ratio, matched)
    a, b = (summarise_units(side) for side in sides)
    return a.mean - b.mean, a.variance + b.variance, _welch(a, b), np.minimum(a.n, b.n)


def _log_scores(units: Floats, matched: Mask) -> Floats:
    """Return Z (..., units) of unit means (..., benchmarks, units) over the matched benchmarks."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(matched[..., None], np.log(units), 0.0)
        return np.asarray(logs.sum(axis=-2) / matched.sum(axis=-1)[..., None])


def _paired_independent(new: Floats, old: Floats, ratio: Ratio, matched: Mask) -> tuple[Floats, Floats, Floats, Floats]:
    """Pairs inside each benchmark, benchmarks assumed independent: variances of the mean paired log ratios add."""
    del ratio
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = summarise_units(np.log(new) - np.log(old))
    count = matched.sum(axis=-1)
    variance = np.where(matched, pairs.variance, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(matched, pairs.mean, 0.0).sum(axis=-1) / count
        total = variance.sum(axis=-1)
        df = total**2 / np.where(matched, variance**2 / (pairs.n - 1), 0.0).sum(axis=-1)
        df = np.where(total == 0, np.where(matched, pairs.n - 1, 0.0).sum(axis=-1), df)
    n = np.where(matched, pairs.n, np.inf).min(axis=-1, initial=np.inf)
    return log, total / np.maximum(count, 1) ** 2, df, np.where(np.isinf(n), 0.0, n)


def _welch(a: UnitSummary, b: UnitSummary) -> Floats:
    """Return Welch and Satterthwaite's df of a difference of two means."""
    total = a.variance + b.variance
    with np.errstate(divide="ignore", invalid="ignore"):
        df = total**2 / (a.variance**2 / (a.n - 1) + b.variance**2 / (b.n - 1))
    return np.where(total == 0, a.n + b.n - 2, df)
