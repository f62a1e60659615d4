"""Intervals of a mean and of a ratio of means, from one value per independent unit.

Fieller's theorem is equation 12 of Kalibera and Jones (2012), where the whole numerator is divided
by OY^2 - t^2 OS^2 / n. All formulas use the residuals new - ratio * old at the estimated ratio:
their mean is zero, so that large numbers do not cancel.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfarray.numerics.dependence import batch_means
from perfarray.numerics.levels import UnitSummary, summarise_units
from perfarray.numerics.skewness import counted_skewness, shrunken, stretched, third_cumulant
from perfarray.numerics.types import Floats, Mask, Texts, same_text

BATCH_MEANS, SKEW_ADJUSTED, LOG_DELTA, STUDENTIZED, ALWAYS_VALID = (
    "batch_means",
    "skew_adjusted",
    "log_delta",
    "studentized",
    "always_valid",
)

MEAN_METHODS = ("t", "normal", SKEW_ADJUSTED, BATCH_MEANS)
RATIO_METHODS = ("fieller", "delta", LOG_DELTA, SKEW_ADJUSTED, BATCH_MEANS)
PAIR_METHODS = (ALWAYS_VALID,)  # of ratios in pairs alone
BOOTSTRAP_METHODS = ("percentile", "basic", "bca", STUDENTIZED)
FIELLER = ("fieller", SKEW_ADJUSTED, BATCH_MEANS, ALWAYS_VALID)
LOG_METHODS = (LOG_DELTA, STUDENTIZED)
DF_RULES = ("satterthwaite", "conservative", "normal")

BOUNDED, EXCLUSIVE, UNBOUNDED, AT_LEAST, AT_MOST = (
    "bounded",
    "exclusive",
    "unbounded",
    "at_least",
    "at_most",
)
# Kinds of sets that are everything from `lower` to `upper`, but not the whole line.
ONE_PIECE = (
    BOUNDED,
    AT_LEAST,
    AT_MOST,
)


class Interval(NamedTuple):
    """Limits; NaN where fewer than two units were measured."""

    lower: Floats
    upper: Floats


class Ratio(NamedTuple):
    """A ratio of two means, with what its limits are made from.

    `estimate` is candidate over baseline, NaN where the baseline is zero; `residual` the squared
    standard error of new - ratio * old, `overlap` its covariance with the mean of old, and
    `skewness` the part of its skewness that counts (`skew_adjusted`). `prior_df` are degrees of
    freedom learned from other benchmarks, which have `prior_shares` of the variances of the sides
    (`moderated.Prior`).
    """

    estimate: Floats
    numerator: UnitSummary
    denominator: UnitSummary
    residual: Floats
    overlap: Floats
    paired: bool
    skewness: Floats | float = 0.0
    prior_df: Floats | None = None
    prior_shares: tuple[Floats, ...] = ()

    @property
    def n(self) -> Floats:
        """Units on the smaller side."""
        return np.minimum(self.numerator.n, self.denominator.n)


class RatioSet(NamedTuple):
    """A confidence set of a ratio: one interval, everything outside (lower, upper), or the line."""

    lower: Floats
    upper: Floats
    kind: Texts


def t_quantile(probability: float | Floats, df: Floats) -> Floats:
    """Return the quantile of Student's t; infinite df gives the normal's."""
    from scipy.special import ndtri, stdtrit

    normal = np.isposinf(df)
    if not normal.any():
        return np.asarray(stdtrit(df, probability))
    return np.asarray(
        np.where(normal, ndtri(probability), stdtrit(np.where(normal, 1.0, df), probability))
    )


def t_probability(statistic: Floats, df: Floats) -> Floats:
    """Return P[T <= statistic]; infinite df gives the normal's."""
    from scipy.special import ndtr, stdtr

    normal = np.isposinf(df)
    if not normal.any():
        return np.asarray(stdtr(df, statistic))
    return np.asarray(
        np.where(normal, ndtr(statistic), stdtr(np.where(normal, 1.0, df), statistic))
    )


def mean_by_units(
    means: Floats, units: UnitSummary, *, method: str, level: float
) -> tuple[Floats, ...]:
    """Return estimate, limits, standard error, df and n of the mean of units, by their summary."""
    n = units.n
    if method == BATCH_MEANS:
        units = summarise_units(*batch_means(means))
    df = np.where(units.n > 1, np.inf if method == "normal" else units.n - 1, np.nan)
    error, below = np.sqrt(units.variance), t_quantile((1 + level) / 2, df)
    above = below
    if method == SKEW_ADJUSTED:
        usual = t_quantile(0.975, df)
        with np.errstate(divide="ignore", invalid="ignore"):
            cumulant = third_cumulant(means, units.n) / units.n**2
        below, above = stretched(
            below, counted_skewness(cumulant, (units.variance,), (units.n,), usual), usual
        )
    lower, upper = (
        np.where(units.n >= 2, limit, np.nan)
        for limit in (units.mean - below * error, units.mean + above * error)
    )
    return units.mean, lower, upper, error, df, n


def ratio_with_df(
    new: Floats, old: Floats, *, paired: bool, method: str, df_rule: str
) -> tuple[Ratio, Floats]:
    """Return the ratio of independent values (..., units), its skewness that counts, and its df."""
    ratio = ratio_of(new, old, paired)
    df = ratio_df(ratio, df_rule)
    if method == SKEW_ADJUSTED:
        ratio = ratio._replace(skewness=_ratio_skewness(ratio, new, old, df))
    return ratio, df


def quotient(new: Floats, old: Floats) -> Floats:
    """Return new / old, NaN where old is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(old == 0, np.nan, new / old)


def ratio_of(new: Floats, old: Floats, paired: bool) -> Ratio:
    """Summarise two sets of unit means (..., units); paired ones must match along the last axis."""
    if not paired:
        return ratio_from(summarise_units(new), summarise_units(old))
    complete = ~(np.isnan(new) | np.isnan(old))
    new, old = np.where(complete, new, np.nan), np.where(complete, old, np.nan)
    numerator, denominator = summarise_units(new), summarise_units(old)
    estimate, n = quotient(numerator.mean, denominator.mean), numerator.n
    with np.errstate(divide="ignore", invalid="ignore"):
        old_deviations = np.where(complete, old - denominator.mean[..., None], 0.0)
        residuals = (
            np.where(complete, new - numerator.mean[..., None], 0.0)
            - np.nan_to_num(estimate)[..., None] * old_deviations
        )
        residual, overlap = (
            np.where(n > 1, (residuals * factor).sum(axis=-1) / (n - 1) / n, np.nan)
            for factor in (residuals, old_deviations)
        )
    return Ratio(estimate, numerator, denominator, residual, overlap, True)


def without_baseline(ratio: Ratio) -> Mask:
    """Return where all values of the baseline are 0: the difference is the candidate's mean."""
    return np.asarray((ratio.denominator.mean == 0) & ~(ratio.denominator.variance > 0))


def reported_estimate(ratio: Ratio) -> Floats:
    """Return the ratio, 1 where all values of both sides are 0."""
    equal = without_baseline(ratio) & (ratio.numerator.mean == 0) & ~(ratio.residual > 0)
    return np.where(equal, 1.0, ratio.estimate)


def ratio_from(numerator: UnitSummary, denominator: UnitSummary) -> Ratio:
    """Return the ratio of two independent means."""
    estimate = quotient(numerator.mean, denominator.mean)
    filled = np.nan_to_num(estimate)
    shifted = filled * denominator.variance
    return Ratio(
        estimate, numerator, denominator, numerator.variance + filled * shifted, -shifted, False
    )


def _ratio_skewness(ratio: Ratio, new: Floats, old: Floats, df: Floats) -> Floats:
    """Return the part of the skewness of new - ratio * old that counts, from the unit means."""
    estimate = np.nan_to_num(ratio.estimate)
    numbers: tuple[Floats, ...] = (ratio.numerator.n, ratio.denominator.n)
    variances: tuple[Floats, ...] = (
        ratio.numerator.variance,
        estimate**2 * ratio.denominator.variance,
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        if ratio.paired:
            numbers, variances = numbers[:1], (ratio.residual,)
            cumulant = third_cumulant(new - estimate[..., None] * old, numbers[0]) / numbers[0] ** 2
        else:
            new_cumulant, old_cumulant = (
                third_cumulant(values, n) / n**2
                for values, n in zip((new, old), numbers, strict=True)
            )
            cumulant = new_cumulant - estimate**3 * old_cumulant
    # The error of the ratio is that of the residuals over the mean of old, which may be negative.
    return np.sign(ratio.denominator.mean) * counted_skewness(
        cumulant, variances, numbers, t_quantile(0.975, df)
    )


def ratio_df(ratio: Ratio, rule: str) -> Floats:
    """Return the degrees of freedom of a ratio; those of pairs are units - 1.

    `satterthwaite` is Welch-Satterthwaite with the estimated ratio plugged in, `conservative` the
    smaller number of units less one (the paper's n - 1), `normal` infinite. A prior has its share
    of the variances, and its own.
    """
    new, old = ratio.numerator, ratio.denominator
    # Without a baseline the candidate's mean has all the error.
    variances = [
        new.variance,
        np.where(without_baseline(ratio), 0.0, ratio.estimate) ** 2 * old.variance,
    ]
    numbers = [new.n - 1, old.n - 1]
    if ratio.paired or rule == "conservative":
        variances, numbers = (
            [sum(variances, start=np.zeros(()))] if not ratio.paired else [ratio.residual],
            [ratio.n - 1],
        )
    if rule == "normal":
        df = np.full(ratio.n.shape, np.inf)
    elif ratio.prior_df is not None:
        shares = (
            ratio.prior_shares
            if len(ratio.prior_shares) == len(numbers)
            else [np.minimum(*ratio.prior_shares)]
        )
        df = df_with_prior(variances, shares, numbers, ratio.prior_df)
    else:
        df = numbers[0] if len(numbers) == 1 else welch_df(*variances, *numbers)
    return np.where(ratio.n > 1, df, np.nan)


def df_with_prior(
    variances: Sequence[Floats], shares: Sequence[Floats], df: Sequence[Floats], prior_df: Floats
) -> Floats:
    """Return Satterthwaite's df of a sum of variances, with a prior's shares and `prior_df`."""
    pairs = list(zip(variances, shares, strict=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        from_units = sum(
            ((1 - share) * variance) ** 2 / count
            for (variance, share), count in zip(pairs, df, strict=True)
        )
        learned = sum(
            np.where(share > 0, (share * variance) ** 2 / prior_df, 0.0)
            for variance, share in pairs
        )
        satterthwaite = sum(variances) ** 2 / (from_units + learned)
    return np.asarray(np.where(sum(variances) == 0, sum(df), satterthwaite))


def welch_df(variance: Floats, variance_2: Floats, df: Floats, df_2: Floats) -> Floats:
    """Return Welch and Satterthwaite's df of the sum of two variances with their own."""
    total = variance + variance_2
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = total**2 / (variance**2 / df + variance_2**2 / df_2)
    return np.where(total == 0, df + df_2, welch)


def ratio_limits(
    ratio: Ratio,
    df: Floats,
    confidence_level: float | Floats,
    method: str,
    positive: Mask | bool = False,
) -> RatioSet:
    """Return the confidence set of a ratio: Fieller's, or the delta method's, or that of the log.

    Fieller's set is cut to the positive numbers where both means are known to be `positive`. Of a
    baseline of zeros the set is the number 1 for a candidate of zeros, empty (NaN) for one that
    differs from 0, and else the whole line.
    """
    quantile = t_quantile((1 + np.asarray(confidence_level)) / 2, df)
    return with_zeros(_limits_by_method(ratio, df, quantile, method, positive), ratio, quantile)


def with_zeros(limits: RatioSet, ratio: Ratio, quantile: Floats) -> RatioSet:
    """Return limits of ratios with the sets of those whose baseline is 0, from the difference."""
    no_baseline = without_baseline(ratio)
    if not no_baseline.any():
        return limits
    certain = ratio.numerator.mean**2 - quantile**2 * ratio.residual
    set_of_zeros = np.where(certain == 0, 1.0, np.nan)
    decided = no_baseline & ((certain > 0) | (reported_estimate(ratio) == 1))
    lower, upper = (
        np.where(decided, np.where(np.isnan(quantile), np.nan, set_of_zeros), end)
        for end in (limits.lower, limits.upper)
    )
    return RatioSet(lower, upper, np.where(decided, BOUNDED, limits.kind).astype(object))


def _limits_by_method(
    ratio: Ratio, df: Floats, quantile: Floats, method: str, positive: Mask | bool
) -> RatioSet:
    if method == SKEW_ADJUSTED:
        below, above = stretched(quantile, np.asarray(ratio.skewness), t_quantile(0.975, df))
        sets = (
            cut_to_positive(fieller(ratio, t), np.asarray(positive))
            for t in (below, above, np.maximum(below, above))
        )
        return _one_end_each(*sets)
    if method in FIELLER:
        return cut_to_positive(fieller(ratio, quantile), np.asarray(positive))
    estimate, half = ratio.estimate, quantile * standard_error(ratio, method)
    with np.errstate(over="ignore", invalid="ignore"):
        distances = (
            (estimate * np.expm1(-half), estimate * np.expm1(half))
            if method == LOG_DELTA
            else (-half, half)
        )
    return RatioSet(
        estimate + distances[0], estimate + distances[1], same_text(BOUNDED, estimate.shape)
    )


def fieller(ratio: Ratio, quantile: Floats) -> RatioSet:
    """Solve Fieller's quadratic for the distance x of a ratio from the estimate.

    It is a x^2 + 2 b x + c <= 0.

    With W the squared standard error of the residuals and K their covariance with the old mean o,
    whose squared standard error is v, a = o^2 - t^2 v, b = t^2 K and c = -t^2 W; for o = 0, where
    there is no estimate, x is the ratio itself.
    """
    new, old = ratio.numerator, ratio.denominator
    squared = quantile**2
    zero = old.mean == 0
    a = old.mean**2 - squared * old.variance
    a = np.where(a == 0, -0.0, a)
    b, c = squared * ratio.overlap, np.where(zero, new.mean**2, 0.0) - squared * ratio.residual
    discriminant = b**2 - a * c
    # No cancellation: the near root follows from the product of both.
    scaled_root = -b - np.copysign(np.sqrt(np.maximum(discriminant, 0.0)), b)
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = scaled_root / a, np.where(scaled_root == 0, 0.0, c / scaled_root)
    start = np.where(zero, 0.0, ratio.estimate)
    limits = RatioSet(
        start + np.minimum(*roots), start + np.maximum(*roots), same_text(BOUNDED, a.shape)
    )
    outside = a <= 0
    if not outside.any():
        return limits
    unbounded = outside & (discriminant <= 0)
    limits.kind[outside], limits.kind[unbounded] = EXCLUSIVE, UNBOUNDED
    return limits._replace(
        lower=np.where(unbounded, -np.inf, limits.lower),
        upper=np.where(unbounded, np.inf, limits.upper),
    )


def _one_end_each(lower: RatioSet, upper: RatioSet, wider: RatioSet) -> RatioSet:
    """Return the set with the lower end of one and the upper end of another.

    Where either is no interval, it is the wider set.
    """
    down, up = lower.kind == AT_MOST, upper.kind == AT_LEAST
    intervals = (
        np.isin(lower.kind.astype(str), ONE_PIECE)
        & np.isin(upper.kind.astype(str), ONE_PIECE)
        & ~(down & up)
    )
    kind = np.select([down, up], [AT_MOST, AT_LEAST], BOUNDED).astype(object)
    ends = ((lower.lower, wider.lower), (upper.upper, wider.upper), (kind, wider.kind))
    return RatioSet(*(np.where(intervals, end, substitute) for end, substitute in ends))


def cut_to_positive(limits: RatioSet, positive: Mask) -> RatioSet:
    """Leave out the numbers that are not positive, where the ratio is known to be positive.

    One part of an exclusive set may remain.
    """
    exclusive, bounded = positive & (limits.kind == EXCLUSIVE), positive & (limits.kind == BOUNDED)
    lower = np.where(bounded, np.maximum(limits.lower, 0.0), limits.lower)
    if not exclusive.any():
        return limits._replace(lower=lower)
    upper, kind = np.array(limits.upper), limits.kind.copy()
    at_least, at_most = exclusive & (lower <= 0), exclusive & (lower > 0) & np.isposinf(upper)
    everything = at_least & (upper <= 0)
    lower[at_least], upper[at_least], kind[at_least] = upper[at_least], np.inf, AT_LEAST
    lower[at_most], upper[at_most], kind[at_most] = 0.0, lower[at_most], AT_MOST
    lower[everything], upper[everything], kind[everything] = -np.inf, np.inf, UNBOUNDED
    return RatioSet(lower, upper, kind)


def kind_of(lower: Floats, upper: Floats) -> Texts:
    """Return the kind of a set of positive numbers, by which of its limits exist."""
    above = np.isposinf(upper)
    return np.where(
        lower <= 0, np.where(above, UNBOUNDED, AT_MOST), np.where(above, AT_LEAST, BOUNDED)
    ).astype(object)


def standard_error(ratio: Ratio, method: str) -> Floats:
    """Return the first-order standard error of the ratio (`delta`) or of its log (`log_delta`)."""
    scale = ratio.numerator.mean if method == LOG_DELTA else ratio.denominator.mean
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(ratio.residual) / np.abs(scale)


def ratio_statistic(
    ratio: Ratio, value: Floats | float, method: str, df: Floats | float = np.inf
) -> Floats:
    """Return the t statistic of "the ratio is `value`": large where the ratio is larger.

    Its test agrees with the method's interval.
    """
    old, difference = ratio.denominator, ratio.estimate - value
    if method in FIELLER:
        scale, no_baseline = np.abs(old.mean), without_baseline(ratio)
        if no_baseline.any():  # The difference is the candidate's mean, whatever the value.
            scale, difference = (
                np.where(no_baseline, 1.0, scale),
                np.where(no_baseline, ratio.numerator.mean, difference),
            )
        error = (
            np.sqrt(
                np.maximum(
                    ratio.residual + difference * (difference * old.variance + 2 * ratio.overlap),
                    0.0,
                )
            )
            / scale
        )
    else:
        error = standard_error(ratio, method)
        difference = np.log1p(difference / value) if method == LOG_DELTA else difference
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = difference / error
    certain = (error == 0) & ~np.isnan(difference)
    if method == SKEW_ADJUSTED:
        statistic = shrunken(
            statistic, np.asarray(ratio.skewness), t_quantile(0.975, np.asarray(df))
        )
    return np.where(
        certain, np.where(difference == 0, 0.0, np.copysign(np.inf, difference)), statistic
    )
