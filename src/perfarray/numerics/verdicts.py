"""The rule of verdicts: methods of comparison give tests and limits, and this module decides.

Faster or slower if twice the smaller p of "not below" and "not above" the band is at most alpha
after correction, else equivalent if the p of "outside the band" is at most alpha / 2 after
correction, else inconclusive. A set of two parts, or the whole line, decides nothing.
"""

from collections.abc import Callable, Sequence
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

# The variables of an interval, in the order of `RatioComparison.interval`
INTERVAL = ("estimate", "lower", "upper", "df", "n", "kind")

POWER = 0.8  # the chance to see the smallest change


class Rules(NamedTuple):
    """How to compare.

    Thresholds are one number, or arrays: `threshold` of the benchmarks, `suite_threshold` of the
    suites. Without a threshold nothing is tested, and limits are all there is; without that of the
    suites there is no suite row.
    """

    method: str
    confidence_level: float
    threshold: Any = None
    suite_threshold: Any = None
    df: str = "satterthwaite"
    better: str = "lower"
    paired: bool = False
    shared: bool = False
    prior: bool = False

    @property
    def band(self) -> tuple[Any, Any]:
        """The band of ratios of benchmarks that do not matter."""
        return 1 - self.threshold, 1 + self.threshold

    @property
    def suite_band(self) -> tuple[Any, Any]:
        """The band of ratios of suites that do not matter."""
        return 1 - self.suite_threshold, 1 + self.suite_threshold


class Tests(NamedTuple):
    """One-sided p-values against both limits of the band: small where the ratio is beyond."""

    below_low: Floats
    above_low: Floats
    below_high: Floats
    above_high: Floats

    def bounded_by(self, censoring: "Known") -> "Tests":
        """Return the tests that hold whatever stopped runs would have taken.

        The others have p = 1.
        """
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
    """Where stopped runs leave a ratio known only as at least, or at most, what limits give."""

    at_least: Mask
    at_most: Mask

    def over(self, estimate: Floats) -> "Known":
        """Return the same for the mean over the benchmarks (last axis) that count."""
        has_value = ~np.isnan(estimate) | (self.at_least & self.at_most)
        return Known(*(np.asarray((side & has_value).any(axis=-1)) for side in self))


class Suite(NamedTuple):
    """The geometric mean ratio of a suite: limits, df, units, benchmarks, and its tests."""

    estimate: Floats
    lower: Floats
    upper: Floats
    df: Floats
    n: Floats
    benchmarks: Floats
    tests: Tests


# Of comparisons that are asked for limits alone
NOT_TESTED = Tests(*[np.asarray(np.nan)] * 4)
NO_SUITE = Suite._make([*[np.asarray(np.nan)] * 6, NOT_TESTED])


class RatioComparison(NamedTuple):
    """What a method finds of the ratios of benchmarks (last axis), and of their geometric mean.

    `error` is the standard error of the log ratio, `difference_error` that of the difference of the
    means; each has its degrees of freedom. `further` are the variables that one method has.
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
    censoring: Known
    limits: RatioSet
    tests: Tests = NOT_TESTED
    suite: Suite = NO_SUITE
    further: tuple[Floats, ...] = ()

    @property
    def interval(self) -> tuple[npt.NDArray[Any], ...]:
        """Estimate (NaN where stopped runs leave both directions open), limits, df, n and kind."""
        estimate = np.where(self.censoring.at_least & self.censoring.at_most, np.nan, self.estimate)
        return estimate, self.limits.lower, self.limits.upper, self.df, self.n, self.limits.kind


def map_arrays(function: Callable[..., Any], *records: Any) -> Any:
    """Return a record whose arrays, nested ones too, a function makes from those of others."""
    fields = zip(*records, strict=True)
    arrays = (
        map_arrays(function, *field) if isinstance(field[0], tuple) else function(*field)
        for field in fields
    )
    return getattr(records[0], "_make", tuple)(arrays)


def judge(
    comparison: RatioComparison,
    rules: Rules,
    corrected: Sequence[Floats] = (),
    uncorrected: RatioSet | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Return the variables of a comparison by name: verdicts and their intervals.

    `corrected` is what `correct` returns, if there is a correction; `uncorrected` are the limits at
    the confidence level of the rules, for suites of one benchmark.
    """
    tests, suite, censoring = comparison.tests, comparison.suite, comparison.censoring
    alpha, limits = 1 - rules.confidence_level, comparison.limits
    pvalue, pvalue_equivalent, not_slower = pvalues(tests, rules.better)
    outside, inside, not_slower_corrected, level = corrected or (
        pvalue,
        pvalue_equivalent,
        not_slower,
        np.full(not_slower.shape, 1 - alpha),
    )
    kind = limits.kind
    suite_kind = kind_of(suite.lower, suite.upper)
    if (suite.benchmarks == 1).any():
        suite, suite_kind = _suite_of_one_benchmark(comparison, uncorrected or limits, suite_kind)
    decided, suite_decided = one_piece(kind), one_piece(suite_kind)
    verdict = decide(
        tests, decided & (outside <= alpha), decided & (inside <= alpha / 2), rules.better
    )
    distance = distance_seen(comparison.error, comparison.error_df, (1 + level) / 2, POWER)
    with np.errstate(over="ignore"):
        change = (1 + rules.threshold) * np.exp(distance) - 1
    difference = np.where(
        censoring.at_least & censoring.at_most,
        np.nan,
        comparison.candidate_mean - comparison.baseline_mean,
    )
    half_width = t_quantile((1 + level) / 2, comparison.difference_df) * comparison.difference_error
    has_limits = ~np.isnan(half_width)
    return {
        **dict(zip(INTERVAL, comparison.interval, strict=True)),
        "pvalue": pvalue,
        "pvalue_adjusted": outside,
        "pvalue_equivalent": pvalue_equivalent,
        "pvalue_equivalent_adjusted": inside,
        "pvalue_not_slower": not_slower_corrected,
        "interval_level": level,
        "verdict": verdict,
        "interval_agrees": ~decided | interval_agrees(limits, verdict, rules.band),
        "not_slower": decided & (not_slower_corrected <= alpha / 2),
        "smallest_change": np.where(censoring.at_least | censoring.at_most, np.nan, change),
        "candidate_mean": comparison.candidate_mean,
        "baseline_mean": comparison.baseline_mean,
        "difference": difference,
        "difference_lower": np.where(
            censoring.at_most & has_limits, -np.inf, difference - half_width
        ),
        "difference_upper": np.where(
            censoring.at_least & has_limits, np.inf, difference + half_width
        ),
        **{f"suite_{name}": getattr(suite, name) for name in Suite._fields if name != "tests"},
        "suite_kind": suite_kind,
        "suite_pvalue": suite.tests.two_sided,
        "suite_verdict": decide(
            suite.tests,
            suite_decided & (suite.tests.two_sided <= alpha),
            suite_decided & (suite.tests.inside <= alpha / 2),
            rules.better,
        ),
    }


def pvalues(tests: Tests, better: str) -> tuple[Floats, ...]:
    """Return the p-values of "outside the band", "inside" and "not slower", without correction."""
    # Tests of rates are mirrored, so that "not slower" is the same test for both.
    not_slower = tests.below_high if better == "lower" else tests.above_low
    return tests.two_sided, tests.inside, not_slower


def one_piece(kind: Texts) -> Mask:
    """Return where a set is everything from `lower` to `upper`, but not the whole line."""
    return np.asarray(np.logical_or.reduce([kind == name for name in ONE_PIECE]), dtype=bool)


def open_set(limits: RatioSet, censoring: Known, positive: Mask | bool = True) -> RatioSet:
    """Open the limits of ratios towards what stopped runs leave unknown.

    Those of positive values stay positive.
    """
    bound = (censoring.at_least | censoring.at_most) & ~np.isnan(limits.lower)
    if not bound.any():
        return limits
    two_parts = ~one_piece(limits.kind)
    below = bound & (censoring.at_most | two_parts | (limits.kind == AT_MOST))
    above = bound & (censoring.at_least | two_parts | (limits.kind == AT_LEAST))
    kind = np.select(
        [below & above, below, above], [UNBOUNDED, AT_MOST, AT_LEAST], limits.kind
    ).astype(object)
    lower = np.where(below, np.where(above | ~np.asarray(positive), -np.inf, 0.0), limits.lower)
    return RatioSet(lower, np.where(above, np.inf, limits.upper), kind)


def _suite_of_one_benchmark(
    comparison: RatioComparison, limits: RatioSet, kind: Texts
) -> tuple[Suite, Texts]:
    """Give suites of one benchmark that benchmark's row, uncorrected."""
    suite, tests = comparison.suite, comparison.tests
    with np.errstate(invalid="ignore"):
        # The ratio of two sides of zeros is 1, and has no log.
        measured = (comparison.estimate > 0) & (comparison.baseline_mean > 0)
    # The one benchmark of a suite may be a copy, which has a score and no row. Beside it there may
    # be medians whose logs have no standard error.
    one_benchmark = np.asarray((suite.benchmarks == 1) & measured.any(axis=-1))
    position = np.argmax(measured * (1 + np.isfinite(comparison.error)), axis=-1)[..., None]

    def row(of_benchmarks: npt.NDArray[Any], of_suite: npt.NDArray[Any]) -> npt.NDArray[Any]:
        values = np.take_along_axis(np.asarray(of_benchmarks), position, axis=-1)[..., 0]
        return np.where(one_benchmark, values, of_suite)

    estimate, _, _, df, n, _ = comparison.interval
    rows = (estimate, limits.lower, limits.upper, df, n, np.ones_like(n))
    tests = Tests(*map(row, tests, suite.tests))
    return Suite._make([*map(row, rows, suite[:6]), tests]), row(limits.kind, kind)


def decide(tests: Tests, outside: Mask, inside: Mask, better: str) -> Texts:
    """Turn rejections into words; `better` says whether small or large values are good."""
    below_is, above_is = (FASTER, SLOWER) if better == "lower" else (SLOWER, FASTER)
    verdict = same_text(INCONCLUSIVE, np.shape(outside))
    verdict[inside] = EQUIVALENT
    verdict[outside & (tests.below_low < tests.above_high)] = below_is
    verdict[outside & (tests.below_low >= tests.above_high)] = above_is
    return verdict


def interval_agrees(limits: RatioSet, verdict: Texts, band: tuple[Any, Any]) -> Mask:
    """Return where an interval shows its verdict: beyond the band, inside it, or neither.

    Where there is none, since the baseline is 0, it does not deny the verdict.

    It may not where corrected p-values decide: Holm rejects more than Bonferroni's intervals show,
    and the intervals of Benjamini and Yekutieli count verdicts of both kinds.
    """
    low, high = band
    beyond = (limits.upper < low) | (limits.lower > high)
    inside = (limits.lower >= low) & (limits.upper <= high)
    well_inside = (limits.lower > low) & (limits.upper < high)
    consistent = np.select(
        [verdict == EQUIVALENT, verdict == INCONCLUSIVE], [inside, ~(beyond | well_inside)], beyond
    )
    return np.asarray(consistent | np.isnan(limits.lower), dtype=bool)


def correct(
    outside: Floats, inside: Floats, not_slower: Floats, *, correction: str, alpha: float
) -> tuple[Floats, ...]:
    """Correct p-values of "outside the band", "inside" and "not slower", a family each.

    The levels of intervals follow.
    """
    pvalues = [pvalue.ravel() for pvalue in (outside, inside, not_slower)]
    corrected = [adjust(pvalue, correction) for pvalue in pvalues]
    decided = (corrected[0] <= alpha) | (corrected[1] <= alpha / 2)
    level = interval_level(pvalues[0], decided, alpha, correction)
    return tuple(array.reshape(outside.shape) for array in (*corrected, level))


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
