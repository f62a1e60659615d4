"""Comparisons of medians: tests against a band around 1 that invert their limits, and the suite's geometric mean ratio.

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
from perfarray.numerics.medians import Medians, Runs, as_cells, error_of_log, finite_df, medians_of
from perfarray.numerics.rank_sums import RANK, rank_pvalues, spread_pvalue
from perfarray.numerics.ratio_tests import suite_of_units, suite_row
from perfarray.numerics.types import Floats, Mask
from perfarray.numerics.verdicts import Evidence, Known, Rules, Suite, Tests

NUMBERS = 5  # numbers of each side that limits are made from, beside its runs and their positions
FARTHEST, STEPS = (
    8.0,
    27,
)  # bisection of the normal quantile of an error rate: its end, and its steps (to 1e-7)


def evidence_of_medians(
    new: Floats, old: Floats, *bounds: Any, rules: Rules, levels: int, far: float
) -> tuple[Floats | Mask, ...]:
    """Return `Evidence`, `Suite`, and the material of limits, from runs (..., benchmarks, n_L, ..., n_1) of two systems.

    With `method="rank"` the p-value of equal spreads follows. Where runs were stopped, `bounds` are
    both sides at their best, both at their worst, where the best of each is not known, and the
    fields of `Known`; ratios beyond `far` are of runs at their worst.
    """
    batch, cells = as_cells(levels, *(bounds[:4] or (new, old)))
    ranked = rules.method == RANK
    medians = medians_of(*cells[:2], paired=rules.paired, ranked=ranked)
    ends, hangs, unknown = (
        [medians],
        np.zeros(len(medians.n), dtype=bool),
        np.zeros(len(medians.n), dtype=bool),
    )
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
    without = hangs | (limits_of(ends, np.asarray(rules.confidence_level), far).kind == UNBOUNDED)
    error, df = _error(medians, errors, rules.paired)
    rows = Evidence(
        estimate=np.where(unknown, np.nan, medians.estimate),
        df=finite_df(medians),
        n=medians.n,
        candidate_mean=medians.new.median,
        baseline_mean=medians.old.median,
        error=np.where(without, np.nan, error),
        error_df=df,
        difference_error=np.full(
            len(medians.n), np.nan
        ),  # limits of a difference are those of means
        difference_df=np.full(len(medians.n), np.nan),
        **dict.fromkeys(
            Known._fields, np.zeros(len(medians.n), dtype=bool)
        ),  # the limits allow for stopped runs already
        **(
            _rank_tests(medians, ends, rules) if ranked else _band_tests(medians, ends, rules, far)
        )._asdict(),
    )
    suite = _suite(
        medians, errors, batch, rules, Known(*(bounds[6:] or np.zeros((2, *batch), dtype=bool)))
    )
    packed = np.concatenate([_packed(end) for end in ends], axis=-2)
    # Of stopped runs the spread is not known.
    spreads = (
        [
            np.full(len(medians.n), np.nan)
            if bounds
            else spread_pvalue(medians.new.ordered, medians.old.ordered)
        ]
        if ranked
        else []
    )
    further = [pvalue.reshape(batch) for pvalue in spreads]
    return (
        *(row.reshape(batch) for row in rows),
        *suite,
        packed.reshape(*batch, *packed.shape[1:]),
        *further,
    )


def limits_of_medians(
    level: Floats, _: Evidence, material: Floats, *, far: float, ranked: bool = False
) -> RatioSet:
    """Return the limits at one level per ratio."""
    batch = np.broadcast_shapes(level.shape, material.shape[:-2])
    cells = np.broadcast_to(material, (*batch, *material.shape[-2:])).reshape(
        -1, *material.shape[-2:]
    )
    ends = [
        _unpacked(cells[:, position : position + 2])._replace(ranked=ranked)
        for position in range(0, cells.shape[1], 2)
    ]
    limits = limits_of(ends, np.broadcast_to(level, batch).ravel(), far)
    return RatioSet(
        limits.lower.reshape(batch), limits.upper.reshape(batch), limits.kind.reshape(batch)
    )


def limits_of(ends: Sequence[Medians], level: Floats, far: float) -> RatioSet:
    """Return the set from the lower limit of the first to the upper one of the last.

    NaN for fewer than two units.
    """
    limits, enough = [end.limits(level) for end in ends], ~np.isnan(ends[0].df)
    return open_beyond(
        np.where(enough, limits[0][0], np.nan), np.where(enough, limits[-1][1], np.nan), far
    )


def open_beyond(lower: Floats, upper: Floats, far: float) -> RatioSet:
    """Return the set of the limits of ratios of medians.

    Those beyond `far` are of runs at their worst, so that there are none.
    """
    with np.errstate(invalid="ignore"):
        lower, upper = np.where(lower < 1 / far, 0.0, lower), np.where(upper > far, np.inf, upper)
        kind = kind_of(lower, upper)
    return RatioSet(np.where(kind == UNBOUNDED, -np.inf, lower), upper, kind)


def _packed(medians: Medians) -> Floats:
    """Return the material of limits as numbers (cells, 2, some): for each side its numbers, its runs and their positions."""
    sides, most = (
        (medians.new, medians.old),
        max(side.ordered.shape[-1] for side in (medians.new, medians.old)),
    )
    rows = []
    for side in sides:
        numbers = np.stack(
            [side.median, side.error, side.single, medians.df, medians.correlation], axis=-1
        )
        padding = [(0, 0), (0, most - side.ordered.shape[-1])]
        ordered = np.pad(side.ordered, padding, constant_values=np.nan)
        rows.append(
            np.concatenate(
                [numbers, ordered, np.pad(side.positions, padding, constant_values=np.inf)], axis=-1
            )
        )
    return np.stack(rows, axis=-2)


def _unpacked(numbers: Floats) -> Medians:
    sides, unknown = [], np.full((len(numbers), 1), np.nan)
    for side in (numbers[:, 0], numbers[:, 1]):
        ordered, positions = np.split(side[:, NUMBERS:], 2, axis=-1)
        sides.append(
            Runs(
                ordered, positions, side[:, 0], unknown, side[:, 1], unknown[:, 0], side[:, 2] == 1
            )
        )
    return Medians(sides[0], sides[1], numbers[:, 0, 3], numbers[:, 0, 4])


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
    with np.errstate(
        invalid="ignore"
    ):  # a median next to runs of 0 has no standard error of its log
        error = np.sqrt(
            np.maximum(
                new_error**2 + old_error**2 - 2 * medians.correlation * new_error * old_error, 0.0
            )
        )
    return error, medians.n - 1 if paired else welch_df(
        new_error**2, old_error**2, medians.new.n - 1, medians.old.n - 1
    )


def _band_tests(medians: Medians, ends: Sequence[Medians], rules: Rules, far: float) -> Tests:
    """Test the ratio against both limits of the band, from both sides: half the least error rate at which its limits lie beyond."""
    (low, high), estimate = rules.limits, np.where(np.isnan(medians.df), np.nan, medians.estimate)
    over, under = estimate >= low, estimate <= high

    def above(level: Floats) -> Mask:
        limits = limits_of(ends, level, far)
        return np.where(over, limits.lower >= low, limits.upper < low)

    def below(level: Floats) -> Mask:
        limits = limits_of(ends, level, far)
        return np.where(under, limits.upper <= high, limits.lower > high)

    at_low, at_high = (
        _least_error_rate(beyond, estimate, rules.confidence_level) / 2 for beyond in (above, below)
    )
    above_low, below_high = (
        np.where(over, at_low, 1 - at_low),
        np.where(under, at_high, 1 - at_high),
    )
    return Tests(1 - above_low, above_low, below_high, 1 - below_high)


def _rank_tests(medians: Medians, ends: Sequence[Medians], rules: Rules) -> Tests:
    """Test the ratio against both limits of the band, from both sides, by rank sums: at the end that stopped runs make least favourable."""
    n = medians.n
    pvalues = np.full((4, len(n)), np.nan)
    for cell, (lowest, highest) in enumerate(zip(ends[0].samples, ends[-1].samples, strict=True)):
        if n[cell] > 1:
            sides = [
                (rank_pvalues(*highest, limit)[0], rank_pvalues(*lowest, limit)[1])
                for limit in rules.limits
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
        lacking = np.fmax(error**2 - summarise_units(moved).variance, 0.0)
        extra = extra + np.nan_to_num(lacking).reshape(batch)
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
    return suite_row(
        suite_of_units(units[0], units[1], ratio, rules, extra), ratio, rules.limits, censoring
    )
