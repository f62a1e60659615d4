"""The one rule of verdicts: engines give limits and p-values, and what follows from them is decided here.

Faster or slower if twice the smaller p of "not below" and "not above" the band is at most alpha after correction, else equivalent if the
p of "outside the band" is at most alpha / 2 after correction, else inconclusive. A set that is not an interval decides nothing.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import AT_LEAST, AT_MOST, BOUNDED, ONE_PIECE, UNBOUNDED, RatioSet
from perfarray.numerics.types import Floats, Mask, Texts

FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE = "faster", "slower", "equivalent", "inconclusive"


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


class Tests(NamedTuple):
    """One-sided p-values of a ratio against a band around 1."""

    below: Floats  # small where the ratio is below 1 - threshold
    above: Floats  # small where the ratio is above 1 + threshold
    inside: Floats  # small where the ratio is inside the band (the larger of the two one-sided tests)

    @property
    def two_sided(self) -> Floats:
        """Twice the smaller p of the outside tests, at most 1."""
        return np.minimum(1.0, 2.0 * np.minimum(self.below, self.above))


class SuiteRatio(NamedTuple):
    """The geometric mean ratio of a suite: its limits, their degrees of freedom, the units and the benchmarks behind it."""

    estimate: Floats
    lower: Floats
    upper: Floats
    df: Floats
    n: Floats
    benchmarks: Floats


class Evidence(NamedTuple):
    """What an engine knows of the ratios along the benchmarks, and of the suite's: all that a verdict needs."""

    estimate: Floats
    df: Floats
    n: Floats
    tests: Tests
    limits: Callable[[Floats], RatioSet]  # of a confidence level per ratio; NaN where too few units stand behind them
    suite: SuiteRatio


class Known(NamedTuple):
    """Along the benchmarks, where stopped runs leave the ratio of means known only as at least, or at most, what their limits give."""

    at_least: Mask
    at_most: Mask


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


def judge(evidence: Evidence, rules: Rules, known: Known | None = None) -> Comparison:
    """Turn what an engine found into verdicts, and into intervals at the levels that belong to them."""
    evidence = evidence if known is None else bounded_evidence(evidence, known)
    alpha = 1 - rules.confidence_level
    tests, suite = evidence.tests, evidence.suite
    outside, inside = adjust(tests.two_sided, rules.correction), adjust(tests.inside, rules.correction)
    level = interval_level(tests.two_sided, outside, alpha, rules.correction)
    limits = evidence.limits(level)
    verdict = decide(tests, outside <= alpha, inside <= alpha / 2, rules.better)
    verdict[~np.isin(limits.kind, ONE_PIECE)] = INCONCLUSIVE
    return Comparison(
        estimate=evidence.estimate,
        lower=limits.lower,
        upper=limits.upper,
        df=evidence.df,
        n=evidence.n,
        kind=limits.kind,
        pvalue=tests.two_sided,
        pvalue_adjusted=outside,
        pvalue_equivalent=tests.inside,
        interval_level=level,
        verdict=verdict,
        suite_estimate=suite.estimate,
        suite_lower=suite.lower,
        suite_upper=suite.upper,
        suite_df=suite.df,
        suite_n=suite.n,
        suite_benchmarks=suite.benchmarks,
        suite_verdict=decide_by_limits(suite, rules),
    )


def bounded_evidence(evidence: Evidence, known: Known) -> Evidence:
    """Keep what stays true whatever the stopped runs would have taken: one side of a bound, nothing of a ratio of two bounds."""
    at_least, at_most = known
    below, above, inside = evidence.tests
    tests = Tests(
        np.where(at_least & ~np.isnan(below), 1.0, below),
        np.where(at_most & ~np.isnan(above), 1.0, above),
        np.where((at_least | at_most) & ~np.isnan(inside), 1.0, inside),
    )

    def limits(level: Floats) -> RatioSet:
        return open_set(evidence.limits(level), known)

    suite, counted = evidence.suite, ~np.isnan(evidence.estimate) | (at_least & at_most)
    over = Known(*(np.asarray((side & counted).any(axis=-1)) for side in known))
    lower, upper, _ = open_set(RatioSet(suite.lower, suite.upper, np.full(suite.lower.shape, BOUNDED)), over)
    suite = suite._replace(estimate=np.where(over.at_least & over.at_most, np.nan, suite.estimate), lower=lower, upper=upper)
    estimate = np.where(at_least & at_most, np.nan, evidence.estimate)
    return evidence._replace(estimate=estimate, tests=tests, limits=limits, suite=suite)


def open_set(found: RatioSet, known: Known) -> RatioSet:
    """Open the limits of ratios of positive values towards what is not known."""
    bound = (known.at_least | known.at_most) & ~np.isnan(found.lower)
    broken = ~np.isin(found.kind, ONE_PIECE)
    below = bound & (known.at_most | broken | (found.kind == AT_MOST))
    above = bound & (known.at_least | broken | (found.kind == AT_LEAST))
    kind = np.select([below & above, below, above], [UNBOUNDED, AT_MOST, AT_LEAST], found.kind).astype(object)
    return RatioSet(np.where(below, 0.0, found.lower), np.where(above, np.inf, found.upper), kind)


def decide(tests: Tests, outside: Mask, inside: Mask, better: str) -> Texts:
    """Turn rejections into words; `better` says whether small or large values are good."""
    below_is, above_is = (FASTER, SLOWER) if better == "lower" else (SLOWER, FASTER)
    verdict = np.full(np.shape(outside), INCONCLUSIVE, dtype=object)
    verdict[inside] = EQUIVALENT
    verdict[outside & (tests.below < tests.above)] = below_is
    verdict[outside & (tests.below >= tests.above)] = above_is
    return verdict


def decide_by_limits(suite: SuiteRatio, rules: Rules) -> Texts:
    """Return the verdict of an interval: outside the band, inside it, or neither."""
    verdict = np.full(suite.estimate.shape, INCONCLUSIVE, dtype=object)
    low, high = rules.limits
    below_is, above_is = (FASTER, SLOWER) if rules.better == "lower" else (SLOWER, FASTER)
    with np.errstate(invalid="ignore"):
        verdict[(suite.lower >= low) & (suite.upper <= high)] = EQUIVALENT
        verdict[suite.upper < low] = below_is
        verdict[suite.lower > high] = above_is
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
