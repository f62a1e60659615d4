"""The rule of verdicts: methods give p-values and the material of limits, and this module decides.

Faster or slower if twice the smaller p of "not below" and "not above" the band is at most alpha
after correction, else equivalent if the p of "outside the band" is at most alpha / 2 (or another
risk) after correction, else inconclusive. A set of two parts, or the whole line, decides nothing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.intervals import (
    AT_LEAST,
    AT_MOST,
    ONE_PIECE,
    UNBOUNDED,
    RatioSet,
    kind_of,
    t_quantile,
)
from perfarray.numerics.power import distance_seen
from perfarray.numerics.types import Floats, Mask, Texts, same_text

FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE = "faster", "slower", "equivalent", "inconclusive"

POWER = 0.8  # the chance to see the smallest change

# From a confidence level per ratio, the evidence, and the material of a method to limits; NaN where
# there are too few units.
Limits = Callable[..., RatioSet]


class Rules(NamedTuple):
    """How to compare: the choices of the caller of `compare`.

    In `judge` the threshold may be an array along the benchmarks.
    """

    method: str
    df: str
    threshold: float
    confidence_level: float
    correction: str | None
    better: str = "lower"
    paired: bool = False
    shared: bool = False
    band: str = "linear"
    equivalence_risk: float | None = None
    prior: str | None = None
    between: bool = False

    @property
    def limits(self) -> tuple[float, float]:
        """The band of ratios that do not matter: 1 -+ threshold, or 1 / (1 + threshold) to 1 + threshold."""
        return 1 / (
            1 + self.threshold
        ) if self.band == "log" else 1 - self.threshold, 1 + self.threshold

    @property
    def alpha(self) -> float:
        """The error rate."""
        return 1 - self.confidence_level

    @property
    def inside_alpha(self) -> float:
        """The error rate of each test of "inside"."""
        return self.alpha / 2 if self.equivalence_risk is None else self.equivalence_risk


class Tests(NamedTuple):
    """One-sided p-values of a ratio against both limits of the band around 1: small where it is below, or above, that limit."""

    below_low: Floats
    above_low: Floats
    below_high: Floats
    above_high: Floats

    def bounded_by(self, censoring: "Known") -> "Tests":
        """Return the tests that hold whatever stopped runs would have taken.

        The others have p = 1.
        """
        if not (censoring.at_least.any() or censoring.at_most.any()):
            return self
        open_sides = (censoring.at_least, censoring.at_most, censoring.at_least, censoring.at_most)
        return Tests(
            *(
                np.where(mask & ~np.isnan(pvalue), 1.0, pvalue)
                for mask, pvalue in zip(open_sides, self, strict=True)
            )
        )

    @property
    def two_sided(self) -> Floats:
        """Twice the smaller p of the tests of "outside", at most 1."""
        return np.minimum(1.0, 2.0 * np.minimum(self.below_low, self.above_high))

    @property
    def inside(self) -> Floats:
        """The larger p of the two tests of "inside"."""
        return np.maximum(self.above_low, self.below_high)


class Known(NamedTuple):
    """Where stopped runs leave a ratio of means known only as at least, or at most, what their limits give; along the benchmarks."""

    at_least: Mask
    at_most: Mask

    def over(self, estimate: Floats) -> "Known":
        """Return the same for the mean over the benchmarks (last axis) that have an estimate, or of which nothing is known."""
        counted = ~np.isnan(estimate) | (self.at_least & self.at_most)
        return Known(*(np.asarray((side & counted).any(axis=-1)) for side in self))


class Suite(NamedTuple):
    """The geometric mean ratio of a suite: limits, df, units, benchmarks, and one-sided p-values (`Tests`)."""

    estimate: Floats
    lower: Floats
    upper: Floats
    df: Floats
    n: Floats
    benchmarks: Floats
    below_low: Floats
    above_low: Floats
    below_high: Floats
    above_high: Floats

    @property
    def tests(self) -> Tests:
        """The p-values alone."""
        return Tests(*self[-4:])


class Evidence(NamedTuple):
    """What a method finds along the benchmarks, one array per field.

    `error` is the standard error of the log ratio, `difference_error` that of the difference of the
    means; each has its degrees of freedom. `at_least` and `at_most` are the fields of `Known`, the
    last four those of `Tests`.
    """

    estimate: Floats
    df: Floats
    n: Floats
    candidate_mean: Floats
    baseline_mean: Floats
    error: Floats
    error_df: Floats
    difference_error: Floats
    difference_df: Floats
    at_least: Mask
    at_most: Mask
    below_low: Floats
    above_low: Floats
    below_high: Floats
    above_high: Floats

    @property
    def tests(self) -> Tests:
        """The p-values alone."""
        return Tests(*self[-4:])


class Adjusted(NamedTuple):
    """P-values after correction, and the confidence level of the interval that belongs to them."""

    outside: Floats
    inside: Floats
    not_slower: Floats
    level: Floats


def judge(*arrays: npt.NDArray[Any], limits: Limits, rules: Rules) -> dict[str, npt.NDArray[Any]]:
    """Return the variables of a comparison by name: verdicts, and intervals at the levels that belong to them.

    `arrays` are those of `Evidence` and `Suite`, where there is a correction those of `Adjusted`,
    then the material of `limits`.
    """
    ends = np.cumsum([len(record._fields) for record in (Evidence, Suite, Adjusted)])
    corrected = arrays[ends[1] : ends[2]] if rules.correction else ()
    evidence, suite, material = (
        Evidence(*arrays[: ends[0]]),
        Suite(*arrays[ends[0] : ends[1]]),
        arrays[ends[1] + len(corrected) :],
    )
    tests, censoring = evidence.tests, Known(evidence.at_least, evidence.at_most)
    # Tests of rates are mirrored, so that "not slower" is the same test for both.
    as_times = tests if rules.better == "lower" else Tests(*tests[::-1])
    if corrected:
        adjusted = Adjusted(*corrected)
    else:
        levels = np.full(tests.below_low.shape, 1 - rules.alpha)
        adjusted = Adjusted(as_times.two_sided, as_times.inside, as_times.below_high, levels)
    estimate = np.where(censoring.at_least & censoring.at_most, np.nan, evidence.estimate)
    interval = open_set(limits(adjusted.level, evidence, *material), censoring)
    suite_kind = kind_of(suite.lower, suite.upper)
    if (suite.benchmarks == 1).any():
        level = np.full_like(adjusted.level, rules.confidence_level)
        uncorrected = (
            open_set(limits(level, evidence, *material), censoring) if corrected else interval
        )
        suite, suite_kind = _suite_of_one_benchmark(
            evidence, estimate, uncorrected, suite, suite_kind
        )
    decided, suite_decided = one_piece(interval.kind), one_piece(suite_kind)
    outside, inside = adjusted.outside <= rules.alpha, adjusted.inside <= rules.inside_alpha
    verdict = decide(tests, decided & outside, decided & inside, rules.better)
    suite_outside, suite_inside = (
        suite.tests.two_sided <= rules.alpha,
        suite.tests.inside <= rules.inside_alpha,
    )
    distance = _distance_seen(evidence, adjusted.level, interval)
    difference = np.where(
        censoring.at_least & censoring.at_most,
        np.nan,
        evidence.candidate_mean - evidence.baseline_mean,
    )
    half_width = (
        t_quantile((1 + adjusted.level) / 2, evidence.difference_df) * evidence.difference_error
    )
    with np.errstate(over="ignore"):
        change = (1 + rules.threshold) * np.exp(distance) - 1
    return {
        "estimate": estimate,
        "lower": interval.lower,
        "upper": interval.upper,
        "df": evidence.df,
        "n": evidence.n,
        "kind": interval.kind,
        "pvalue": tests.two_sided,
        "pvalue_adjusted": adjusted.outside,
        "pvalue_equivalent": tests.inside,
        "pvalue_equivalent_adjusted": adjusted.inside,
        "pvalue_not_slower": adjusted.not_slower,
        "interval_level": adjusted.level,
        "verdict": verdict,
        "interval_agrees": ~decided | interval_agrees(interval, verdict, rules.limits),
        "not_slower": decided & (adjusted.not_slower <= rules.alpha / 2),
        "smallest_change": np.where(censoring.at_least | censoring.at_most, np.nan, change),
        "candidate_mean": evidence.candidate_mean,
        "baseline_mean": evidence.baseline_mean,
        "difference": difference,
        "difference_lower": np.where(
            censoring.at_most & ~np.isnan(half_width), -np.inf, difference - half_width
        ),
        "difference_upper": np.where(
            censoring.at_least & ~np.isnan(half_width), np.inf, difference + half_width
        ),
        "suite_estimate": suite.estimate,
        "suite_lower": suite.lower,
        "suite_upper": suite.upper,
        "suite_df": suite.df,
        "suite_n": suite.n,
        "suite_benchmarks": suite.benchmarks,
        "suite_kind": suite_kind,
        "suite_pvalue": suite.tests.two_sided,
        "suite_verdict": decide(
            suite.tests, suite_decided & suite_outside, suite_decided & suite_inside, rules.better
        ),
    }


def _distance_seen(evidence: Evidence, level: Floats, interval: RatioSet) -> Floats:
    """Return the distance of a log ratio from the band that is seen with some 80 % power."""
    # Limits of means are made with the same quantile, which takes a tenth of a large comparison.
    same_df = np.array_equal(evidence.df, evidence.error_df, equal_nan=True)
    return distance_seen(
        evidence.error,
        evidence.error_df,
        (1 + level) / 2,
        POWER,
        interval.quantile if same_df else None,
    )


def one_piece(kind: Texts) -> Mask:
    """Return where a set is everything from `lower` to `upper`, but not the whole line."""
    return np.asarray(np.logical_or.reduce([kind == name for name in ONE_PIECE]), dtype=bool)


def open_set(limits: RatioSet, censoring: Known) -> RatioSet:
    """Open the limits of ratios of positive values towards what stopped runs leave unknown."""
    bound = (censoring.at_least | censoring.at_most) & ~np.isnan(limits.lower)
    if not bound.any():
        return limits
    two_parts = ~one_piece(limits.kind)
    below = bound & (censoring.at_most | two_parts | (limits.kind == AT_MOST))
    above = bound & (censoring.at_least | two_parts | (limits.kind == AT_LEAST))
    kind = np.select(
        [below & above, below, above], [UNBOUNDED, AT_MOST, AT_LEAST], limits.kind
    ).astype(object)
    lower = np.where(below, np.where(above, -np.inf, 0.0), limits.lower)
    return RatioSet(lower, np.where(above, np.inf, limits.upper), kind)


def _suite_of_one_benchmark(
    evidence: Evidence, estimate: Floats, limits: RatioSet, suite: Suite, kind: Texts
) -> tuple[Suite, Texts]:
    """Give suites of one benchmark that benchmark's row, uncorrected."""
    with np.errstate(invalid="ignore"):
        measured = (evidence.estimate > 0) & (
            evidence.baseline_mean > 0
        )  # that of two sides of zeros is 1
    # The one benchmark of a suite may be a copy, which has a score and no row. Beside it there may
    # be medians whose logs have no standard error.
    single = np.asarray((suite.benchmarks == 1) & measured.any(axis=-1))
    position = np.argmax(measured * (1 + np.isfinite(evidence.error)), axis=-1)[..., None]

    def benchmark_row(rows: npt.NDArray[Any], otherwise: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.where(
            single, np.take_along_axis(np.asarray(rows), position, axis=-1)[..., 0], otherwise
        )

    rows = (
        estimate,
        limits.lower,
        limits.upper,
        evidence.df,
        evidence.n,
        np.ones_like(evidence.n),
        *evidence.tests,
    )
    return Suite(*map(benchmark_row, rows, suite)), benchmark_row(limits.kind, kind)


def decide(tests: Tests, outside: Mask, inside: Mask, better: str) -> Texts:
    """Turn rejections into words; `better` says whether small or large values are good."""
    below_is, above_is = (FASTER, SLOWER) if better == "lower" else (SLOWER, FASTER)
    verdict = same_text(INCONCLUSIVE, np.shape(outside))
    verdict[inside] = EQUIVALENT
    verdict[outside & (tests.below_low < tests.above_high)] = below_is
    verdict[outside & (tests.below_low >= tests.above_high)] = above_is
    return verdict


def interval_agrees(limits: RatioSet, verdict: Texts, band: tuple[float, float]) -> Mask:
    """Return where an interval shows its verdict: beyond the band for faster and slower, inside it for equivalent, else neither.

    Where there is none, since the baseline is 0, it does not deny the verdict.

    It may not where corrected p-values decide: Holm rejects more than Bonferroni's intervals show,
    and the intervals of Benjamini and Yekutieli count verdicts of both kinds.
    """
    low, high = band
    beyond = (limits.upper < low) | (limits.lower > high)
    inside, well_inside = (
        (limits.lower >= low) & (limits.upper <= high),
        (limits.lower > low) & (limits.upper < high),
    )
    shown = np.select(
        [verdict == EQUIVALENT, verdict == INCONCLUSIVE], [inside, ~(beyond | well_inside)], beyond
    )
    return np.asarray(shown | np.isnan(limits.lower), dtype=bool)


def adjust_tests(*pvalues: Floats, axes: int, rules: Rules) -> Adjusted:
    """Correct the p-values of `Tests` over their last `axes`, which are a family.

    Where higher is better they come mirrored.
    """
    shape = pvalues[0].shape
    tests = Tests(*(pvalue.reshape(*shape[: len(shape) - axes], -1) for pvalue in pvalues))
    outside, inside, not_slower = (
        adjust(pvalue, rules.correction)
        for pvalue in (tests.two_sided, tests.inside, tests.below_high)
    )
    decided = (outside <= rules.alpha) | (inside <= rules.inside_alpha)
    level = interval_level(tests.two_sided, decided, rules.alpha, str(rules.correction))
    return Adjusted(*(array.reshape(shape) for array in (outside, inside, not_slower, level)))


def adjust_pairs(*pvalues: Floats, later: Mask, axes: int, rules: Rules) -> Adjusted:
    """Correct the p-values of all pairs of labels: those where `later` is true are a family, their reverses another."""
    forth, back = (
        adjust_tests(
            *(np.where(mask, pvalue, np.nan) for pvalue in pvalues), axes=axes, rules=rules
        )
        for mask in (later, ~later)
    )
    return Adjusted(*(np.where(later, *arrays) for arrays in zip(forth, back, strict=True)))


def adjust(pvalues: Floats, correction: str | None) -> Floats:
    """Adjust p-values along the last axis by Holm (1979) or Benjamini and Hochberg (1995).

    NaN is no member of the family.
    """
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


def interval_level(pvalues: Floats, decided: Mask, alpha: float, correction: str) -> Floats:
    """Return the confidence level of each interval.

    With Holm it is Bonferroni's, 1 - alpha / m; with Benjamini and Hochberg that of Benjamini and
    Yekutieli (2005), 1 - R alpha / m with R verdicts (one at least): every interval of an
    equivalent then lies inside the band.
    """
    members = np.maximum(np.sum(~np.isnan(pvalues), axis=-1, keepdims=True), 1)
    rejected = np.maximum(np.sum(decided, axis=-1, keepdims=True), 1) if correction == "bh" else 1
    return np.broadcast_to(1 - rejected * alpha / members, pvalues.shape).copy()
