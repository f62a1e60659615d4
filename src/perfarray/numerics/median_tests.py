"""Comparisons of medians: limits, tests that invert them, and the suite row.

Limits (`medians`) have no closed p-value: the smallest error rate at which they leave a value out
is found by bisection. The suite row adds the squared standard errors of the log medians (Woodruff
1952) over benchmarks; for benchmarks of shared units, a unit contributes the deviation of its share
of runs below the median.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from perfarray.numerics.intervals import UNBOUNDED, Ratio, RatioSet, kind_of, quotient, welch_df
from perfarray.numerics.levels import UnitSummary, summarise_units
from perfarray.numerics.medians import Medians, as_cells, error_of_log, finite_df, medians_of
from perfarray.numerics.rank_sums import RANK, rank_pvalues
from perfarray.numerics.ratio_tests import suite_of_units, suite_row
from perfarray.numerics.spread import equal_spreads_pvalue
from perfarray.numerics.types import Floats, Mask
from perfarray.numerics.verdicts import Known, RatioComparison, Rules, Suite, Tests

# Bisection of the normal quantile of an error rate: its end, and its steps (to 1e-7).
FARTHEST, STEPS = (
    8.0,
    27,
)
MIN_RANKED_UNITS = 3  # a side, of a test of the spreads that ranks take for equal


def compare_medians(
    new: Floats,
    old: Floats,
    level: Floats | float,
    *bounds: Any,
    rules: Rules,
    levels: int,
    far: float = np.inf,
) -> RatioComparison:
    """Compare medians of runs (..., benchmarks, n_L, ..., n_1), at one level or one for each ratio.

    With `method="rank"` the p-value of equal spreads is further. Where runs were stopped, `bounds`
    are both sides at their best, both at their worst, where the best of each is not known, and the
    fields of `Known`; ratios beyond `far` are of runs at their worst.
    """
    batch, cells = as_cells(levels, *(bounds[:4] or (new, old)))
    number = int(np.prod(batch))
    ranked, none = rules.method == RANK, np.zeros(number, dtype=bool)
    medians = medians_of(*cells[:2], paired=rules.paired, ranked=ranked)
    ends, hangs, unknown = [medians], none, none
    if bounds:
        worst = [
            medians_of(*sides, paired=rules.paired, ranked=ranked)
            for sides in ((cells[2], cells[1]), (cells[0], cells[3]))
        ]
        ends = worst[::-1] if rules.better == "lower" else worst
        unlimited = [np.broadcast_to(side, batch).ravel() for side in bounds[4:6]]
        at_worst = (worst[0].new.median, worst[1].old.median)
        hangs, unknown = hanging((medians.new.median, medians.old.median), at_worst, unlimited)
    errors = [
        np.where(medians.n > 1, error_of_log(side), np.nan) for side in (medians.new, medians.old)
    ]
    limits = limits_of(ends, np.broadcast_to(level, batch).ravel(), far)
    usual = limits
    if np.ndim(level):
        usual = limits_of(ends, np.full(number, rules.confidence_level), far)
    error, df = _error(medians, errors, rules.paired)
    not_known = np.full(batch, np.nan)
    spread = not_known
    if ranked and not bounds:  # of stopped runs the spread is not known
        spread = equal_spreads_pvalue(medians.new.ordered, medians.old.ordered, MIN_RANKED_UNITS)
    comparison = RatioComparison(
        estimate=np.where(unknown, np.nan, medians.estimate).reshape(batch),
        df=finite_df(medians).reshape(batch),
        n=medians.n.reshape(batch),
        candidate_mean=medians.new.median.reshape(batch),
        baseline_mean=medians.old.median.reshape(batch),
        error=np.where(hangs | (usual.kind == UNBOUNDED), np.nan, error).reshape(batch),
        error_df=df.reshape(batch),
        difference_error=not_known,  # limits of a difference are those of means
        difference_df=not_known,
        # The limits allow for stopped runs already.
        censoring=Known(*[none.reshape(batch)] * 2),
        limits=RatioSet._make(end.reshape(batch) for end in limits),
        further=(spread.reshape(batch),) if ranked else (),
    )
    if rules.threshold is None:
        return comparison
    band = [np.broadcast_to(value, batch).ravel() for value in rules.band]
    tests = (
        _rank_tests(medians, ends, band)
        if ranked
        else _band_tests(medians, ends, band, rules.confidence_level, far)
    )
    censoring = Known(*(bounds[6:] or [none.reshape(batch)] * 2))
    comparison = comparison._replace(tests=Tests(*(pvalue.reshape(batch) for pvalue in tests)))
    if rules.suite_threshold is None:
        return comparison
    return comparison._replace(suite=_suite(medians, errors, batch, rules, censoring))


def limits_of(ends: Sequence[Medians], level: Floats, far: float) -> RatioSet:
    """Return the set from the lower limit of the first to the upper one of the last.

    NaN for fewer than two units.
    """
    limits, sufficient = [end.limits(level) for end in ends], ~np.isnan(ends[0].df)
    return open_beyond(
        np.where(sufficient, limits[0][0], np.nan), np.where(sufficient, limits[-1][1], np.nan), far
    )


def open_beyond(lower: Floats, upper: Floats, far: float) -> RatioSet:
    """Return the set of the limits of ratios of medians.

    Those beyond `far` are of runs at their worst, so that there are none.
    """
    with np.errstate(invalid="ignore"):
        lower, upper = np.where(lower < 1 / far, 0.0, lower), np.where(upper > far, np.inf, upper)
        kind = kind_of(lower, upper)
    return RatioSet(np.where(kind == UNBOUNDED, -np.inf, lower), upper, kind)


def hanging(
    best: Sequence[Floats], worst: Sequence[Floats], unlimited: Sequence[Mask]
) -> tuple[Mask, Mask]:
    """Return where a median depends on stopped runs, and where nothing is known of the ratio.

    Given are the medians of both sides with these runs at their best and at their worst. A median
    depends on them where these differ. Nothing is known where both medians depend, or one does on
    runs without a limit.
    """
    hangs = [
        (median != at_worst) & ~np.isnan(median)
        for median, at_worst in zip(best, worst, strict=True)
    ]
    return hangs[0] | hangs[1], (hangs[0] & hangs[1]) | (hangs[0] & unlimited[0]) | (
        hangs[1] & unlimited[1]
    )


def _error(medians: Medians, errors: Sequence[Floats], paired: bool) -> tuple[Floats, Floats]:
    new_error, old_error = errors
    # A median next to runs of 0 has no standard error of its log.
    with np.errstate(invalid="ignore"):
        in_common = 2 * medians.correlation * new_error * old_error
        error = np.sqrt(np.maximum(new_error**2 + old_error**2 - in_common, 0.0))
    return error, medians.n - 1 if paired else welch_df(
        new_error**2, old_error**2, medians.new.n - 1, medians.old.n - 1
    )


def _band_tests(
    medians: Medians, ends: Sequence[Medians], band: Sequence[Floats], level: float, far: float
) -> Tests:
    """Test the ratio against both limits of the band, from both sides.

    The p-value is half the least error rate at which limits lie beyond.
    """
    (low, high), estimate = band, np.where(np.isnan(medians.df), np.nan, medians.estimate)
    over, under = estimate >= low, estimate <= high

    def above(level: Floats) -> Mask:
        limits = limits_of(ends, level, far)
        return np.where(over, limits.lower >= low, limits.upper < low)

    def below(level: Floats) -> Mask:
        limits = limits_of(ends, level, far)
        return np.where(under, limits.upper <= high, limits.lower > high)

    at_low, at_high = (_least_error_rate(beyond, estimate, level) / 2 for beyond in (above, below))
    above_low, below_high = (
        np.where(over, at_low, 1 - at_low),
        np.where(under, at_high, 1 - at_high),
    )
    return Tests(1 - above_low, above_low, below_high, 1 - below_high)


def _rank_tests(medians: Medians, ends: Sequence[Medians], band: Sequence[Floats]) -> Tests:
    """Test the ratio against both limits of the band by rank sums.

    Stopped runs are at the end that is least favourable.
    """
    n = medians.n
    pvalues = np.full((4, len(n)), np.nan)
    for cell, (lowest, highest) in enumerate(zip(ends[0].samples, ends[-1].samples, strict=True)):
        if n[cell] > 1:
            sides = [
                (rank_pvalues(*highest, limits[cell])[0], rank_pvalues(*lowest, limits[cell])[1])
                for limits in band
            ]
            pvalues[:, cell] = np.ravel(sides)
    return Tests(*pvalues)


def _least_error_rate(beyond: Callable[[Floats], Mask], like: Floats, level: float) -> Floats:
    """Return the least error rate at which limits lie beyond a value, at most 1.

    Exact about whether those of `level` do.
    """
    from scipy.special import ndtr, ndtri

    excluded, first = beyond(np.full(like.shape, level)), -ndtri((1 - level) / 2)
    low, high = np.where(excluded, first, 0.0), np.where(excluded, FARTHEST, first)
    for _ in range(STEPS):
        middle = (low + high) / 2
        excluded = beyond(1 - 2 * ndtr(-middle))
        low, high = np.where(excluded, middle, low), np.where(excluded, high, middle)
    return np.where(np.isnan(like), np.nan, 2 * ndtr(-low))


def _suite(
    medians: Medians,
    errors: Sequence[Floats],
    batch: tuple[int, ...],
    rules: Rules,
    censoring: Known,
) -> Suite:
    """Return the geometric mean ratio over the matched benchmarks.

    A unit's value is the median moved by the deviation of its share of runs below; the error that
    such units do not show is added.
    """
    summaries, units, extra = [], [], np.zeros(batch)
    for side, error in zip((medians.new, medians.old), errors, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            centre = np.nansum(side.below, axis=-1) / side.n
            moved = (error / side.error)[:, None] * (centre[:, None] - side.below)
        missing_variance = np.fmax(error**2 - summarise_units(moved).variance, 0.0)
        extra = extra + np.nan_to_num(missing_variance).reshape(batch)
        units.append((side.median[:, None] * (1 + moved)).reshape(*batch, -1))
        summary = UnitSummary(side.median, (side.median * error) ** 2, side.n)
        summaries.append(UnitSummary(*(field.reshape(batch) for field in summary)))
    # Where a run one standard error below the median is 0, the log has no error, and the benchmark
    # is left out.
    near_zero = [
        np.isinf(error) & (side.ordered[:, 0] == 0)
        for side, error in zip((medians.new, medians.old), errors, strict=True)
    ]
    estimate = np.where(
        (near_zero[0] | near_zero[1]).reshape(batch),
        np.nan,
        quotient(summaries[0].mean, summaries[1].mean),
    )
    ratio = Ratio(estimate, summaries[0], summaries[1], extra, extra, rules.paired)
    suite = suite_of_units(units[0], units[1], ratio, rules, extra=extra)
    return suite_row(suite, ratio, rules, censoring)
