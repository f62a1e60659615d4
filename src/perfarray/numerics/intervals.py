"""Intervals of a mean and of a ratio of means, from one value per independent unit.

Fieller's theorem is equation 12 of Kalibera and Jones (2012), where the whole numerator is divided by OY^2 - t^2 OS^2 / n. Everything
rests on the residuals new - ratio * old, with the estimated ratio: their mean is zero, so that no difference of large numbers is taken.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics import dependence
from perfarray.numerics.levels import UnitSummary, summarise_units, unit_means
from perfarray.numerics.skewness import counted_skewness, shrunken, stretched, third_cumulant
from perfarray.numerics.types import Floats, Mask, Texts, same_text


class IntervalMethod(NamedTuple):
    """How an interval of a ratio is had: whether it redraws, whether it takes logs, and how many units it needs."""

    draws: bool
    logs: bool
    least_units: int


BATCH_MEANS = "batch_means"
"""Fieller's set, or Student's t, of what stands for units that depend on those before them."""

METHODS = {
    "fieller": IntervalMethod(False, False, 2),
    "delta": IntervalMethod(False, False, 2),
    "log_delta": IntervalMethod(False, True, 2),
    "skew_adjusted": IntervalMethod(False, False, 2),
    BATCH_MEANS: IntervalMethod(False, False, dependence.LEAST),
    "percentile": IntervalMethod(True, False, 2),
    "basic": IntervalMethod(True, False, 2),
    "bca": IntervalMethod(True, False, 2),
    "studentized": IntervalMethod(True, True, 3),  # a replicate of two units has no standard error, or the mean of the data
}
"""Every method of an interval of a ratio, said once."""

RATIO_METHODS = tuple(name for name, method in METHODS.items() if not method.draws)
BOOTSTRAP_METHODS = tuple(name for name, method in METHODS.items() if method.draws)
MEAN_METHODS = ("t", "normal", "skew_adjusted", BATCH_MEANS)
FIELLER = ("fieller", "skew_adjusted", BATCH_MEANS)
DF_RULES = ("satterthwaite", "conservative", "normal")

BOUNDED, EXCLUSIVE, UNBOUNDED, AT_LEAST, AT_MOST = "bounded", "exclusive", "unbounded", "at_least", "at_most"
ONE_PIECE = (BOUNDED, AT_LEAST, AT_MOST)
"""Kinds of sets that are everything from `lower` to `upper`, and leave something out."""


class Interval(NamedTuple):
    """Limits; NaN where fewer than two units leave nothing to go by."""

    lower: Floats
    upper: Floats


class Ratio(NamedTuple):
    """Two means with their squared standard errors and the units behind them, and what is left of new when ratio * old is taken off.

    `estimate` is candidate over baseline, NaN where that is zero; `residual` is the squared standard error of what is left, `overlap` its
    covariance with the mean of old, `skewness` how much of its skewness counts (`skew_adjusted`).
    """

    estimate: Floats
    numerator: UnitSummary
    denominator: UnitSummary
    residual: Floats
    overlap: Floats
    paired: bool
    skewness: Floats | float = 0.0

    @property
    def n(self) -> Floats:
        """Units on the smaller side."""
        return np.minimum(self.numerator.n, self.denominator.n)


class RatioSet(NamedTuple):
    """A confidence set of a ratio: [lower, upper] with one or both ends, everything outside (lower, upper), or the whole line."""

    lower: Floats
    upper: Floats
    kind: Texts


def t_quantile(probability: float | Floats, df: Floats) -> Floats:
    """Return the quantile of Student's t; infinite df gives the normal's."""
    from scipy.special import ndtri, stdtrit

    normal = np.isposinf(df)
    return np.asarray(np.where(normal, ndtri(probability), stdtrit(np.where(normal, 1.0, df), probability)))


def t_probability(statistic: Floats, df: Floats) -> Floats:
    """Return P[T <= statistic]; infinite df gives the normal's."""
    from scipy.special import ndtr, stdtr

    normal = np.isposinf(df)
    return np.asarray(np.where(normal, ndtr(statistic), stdtr(np.where(normal, 1.0, df), statistic)))


def mean_by_units(values: Floats, *, levels: int, method: str, level: float) -> tuple[Floats, ...]:
    """Return estimate, limits, standard error, df and n of means of timings (..., n_L, ..., n_1)."""
    means = unit_means(values, levels)
    units = summarise_units(*standing_for(means, method=method))
    skewness = _skewness_of_mean(means, units) if method == "skew_adjusted" else 0.0
    limits, df = mean_limits(units, level, method, skewness)
    lower, upper = (np.where(units.n >= 2, limit, np.nan) for limit in limits)
    return units.mean, lower, upper, np.sqrt(units.variance), df, number(means)


def ratio_by_units(
    new: Floats, old: Floats, *, levels: int, paired: bool, method: str, df_rule: str, level: float
) -> tuple[npt.NDArray[Any], ...]:
    """Return estimate, limits, df, n and kind of the ratio of the means of timings (..., n_L, ..., n_1)."""
    sides = unit_means(new, levels), unit_means(old, levels)
    new_units, old_units = standing_for(*sides, method=method, paired=paired)
    ratio = ratio_of(new_units, old_units, paired)
    df = ratio_df(ratio, df_rule)
    ratio = with_skewness(ratio, *sides, df) if method == "skew_adjusted" else ratio
    positive = (ratio.numerator.mean > 0) & (ratio.denominator.mean > 0)
    for side in (new, old):
        positive = positive & ~np.asarray((side < 0).any(axis=tuple(range(-levels, 0))))
    limits = known_limits(ratio_limits(ratio, df, level, method, positive), df)
    return ratio.estimate, limits.lower, limits.upper, df, number(*sides, paired=paired), limits.kind


def standing_for(*means: Floats, method: str, paired: bool = False) -> Sequence[Floats]:
    """Return the unit means of one system or two, or what stands for them where the method takes them to depend on each other."""
    return dependence.standing_for(*means, paired=paired) if method == BATCH_MEANS else means


def number(*means: Floats, paired: bool = False) -> Floats:
    """Return the number of units, on the smaller side of two systems; of pairs."""
    measured = [~np.isnan(side) for side in means]
    return reduce(np.minimum, (mask.sum(axis=-1).astype(float) for mask in ([measured[0] & measured[1]] if paired else measured)))


def mean_limits(units: UnitSummary, confidence_level: float, method: str, skewness: Floats | float = 0.0) -> tuple[Interval, Floats]:
    """Return the limits of a mean and their df: t with units - 1 df, stretched where its skewness counts, or normal."""
    df = np.where(units.n > 1, np.inf if method == "normal" else units.n - 1, np.nan)
    quantile, error = t_quantile((1 + confidence_level) / 2, df), np.sqrt(units.variance)
    below = above = quantile
    if method == "skew_adjusted":
        below, above = stretched(quantile, np.asarray(skewness), t_quantile(0.975, df))
    return Interval(units.mean - below * error, units.mean + above * error), df


def _skewness_of_mean(means: Floats, units: UnitSummary) -> Floats:
    """Return how much of the skewness of the mean of units (..., units) counts."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cumulant, quantile = third_cumulant(means, units.n) / units.n**2, t_quantile(0.975, np.where(units.n > 1, units.n - 1, np.nan))
    return counted_skewness(cumulant, (units.variance,), (units.n,), quantile)


def quotient(new: Floats, old: Floats) -> Floats:
    """Return new / old, NaN where old is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(old == 0, np.nan, new / old)


def ratio_of(new: Floats, old: Floats, paired: bool) -> Ratio:
    """Summarise two sets of unit means (..., units); paired ones must match along the last axis."""
    if not paired:
        numerator, denominator = summarise_units(new), summarise_units(old)
        estimate = quotient(numerator.mean, denominator.mean)
        filled = np.nan_to_num(estimate)
        shifted = filled * denominator.variance
        return Ratio(estimate, numerator, denominator, numerator.variance + filled * shifted, -shifted, False)
    complete = ~(np.isnan(new) | np.isnan(old))
    new, old = np.where(complete, new, np.nan), np.where(complete, old, np.nan)
    numerator, denominator = summarise_units(new), summarise_units(old)
    estimate, n = quotient(numerator.mean, denominator.mean), numerator.n
    with np.errstate(divide="ignore", invalid="ignore"):
        old_deviations = np.where(complete, old - denominator.mean[..., None], 0.0)
        residuals = np.where(complete, new - numerator.mean[..., None], 0.0) - np.nan_to_num(estimate)[..., None] * old_deviations
        residual, overlap = (
            np.where(n > 1, (residuals * factor).sum(axis=-1) / (n - 1) / n, np.nan) for factor in (residuals, old_deviations)
        )
    return Ratio(estimate, numerator, denominator, residual, overlap, True)


def with_skewness(ratio: Ratio, new: Floats, old: Floats, df: Floats) -> Ratio:
    """Add how much of the skewness of what is left of new counts, from the unit means that the ratio is of."""
    numbers = ratio.numerator.n, ratio.denominator.n
    estimate, quantile = np.nan_to_num(ratio.estimate), t_quantile(0.975, df)
    side = np.sign(ratio.denominator.mean)  # the ratio is what is left, over the old mean
    with np.errstate(divide="ignore", invalid="ignore"):
        if ratio.paired:
            cumulant = third_cumulant(new - estimate[..., None] * old, numbers[0]) / numbers[0] ** 2
            return ratio._replace(skewness=side * counted_skewness(cumulant, (ratio.residual,), numbers[:1], quantile))
        new_cumulant, old_cumulant = (third_cumulant(values, n) / n**2 for values, n in zip((new, old), numbers, strict=True))
        variances = ratio.numerator.variance, estimate**2 * ratio.denominator.variance
    return ratio._replace(skewness=side * counted_skewness(new_cumulant - estimate**3 * old_cumulant, variances, numbers, quantile))


def ratio_df(ratio: Ratio, rule: str) -> Floats:
    """Return the degrees of freedom of a ratio.

    `satterthwaite` is Welch-Satterthwaite with the estimated ratio plugged in, `conservative` the smaller number of units less one (the
    paper's n - 1), `normal` infinite. Pairs have units - 1.
    """
    new, old = ratio.numerator, ratio.denominator
    enough = ratio.n > 1
    if rule == "normal":
        df = np.full(ratio.n.shape, np.inf)
    elif ratio.paired or rule == "conservative":
        df = ratio.n - 1
    else:
        df = welch_df(new.variance, ratio.estimate**2 * old.variance, new.n - 1, old.n - 1)
    return np.where(enough, df, np.nan)


def welch_df(variance: Floats, variance_2: Floats, df: Floats, df_2: Floats) -> Floats:
    """Return Welch and Satterthwaite's degrees of freedom of the sum of two variances with their own."""
    total = variance + variance_2
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = total**2 / (variance**2 / df + variance_2**2 / df_2)
    return np.where(total == 0, df + df_2, welch)


def ratio_limits(ratio: Ratio, df: Floats, confidence_level: float | Floats, method: str, positive: Mask | bool = False) -> RatioSet:
    """Return the confidence set of a ratio by Fieller's theorem, the delta method, or the delta method on the log ratio.

    Fieller's set is cut to the positive numbers where both means are known to be `positive`.
    """
    quantile = t_quantile((1 + np.asarray(confidence_level)) / 2, df)
    if method in FIELLER:
        cut = partial(_cut_fieller, ratio, np.asarray(positive))
        if method != "skew_adjusted":
            return cut(quantile)
        return one_end_each(cut, *stretched(quantile, np.asarray(ratio.skewness), t_quantile(0.975, df)))
    estimate = ratio.estimate
    half = quantile * standard_error(ratio, method)
    with np.errstate(over="ignore", invalid="ignore"):
        around = (estimate * np.expm1(-half), estimate * np.expm1(half)) if method == "log_delta" else (-half, half)
    lower, upper = (estimate + distance for distance in around)
    return RatioSet(lower, upper, same_text(BOUNDED, estimate.shape))


def known_limits(limits: RatioSet, df: Floats) -> RatioSet:
    """Return the set, with NaN limits where fewer than two units stand behind it."""
    enough = ~np.isnan(df)
    return RatioSet(np.where(enough, limits.lower, np.nan), np.where(enough, limits.upper, np.nan), np.where(enough, limits.kind, BOUNDED))


def fieller(ratio: Ratio, quantile: Floats) -> RatioSet:
    """Solve Fieller's quadratic for the distance x of a ratio from the estimated one: a x^2 + 2 b x + c <= 0.

    With W the squared standard error of the residuals and K their covariance with the old mean o, whose squared standard error is v,
    a = o^2 - t^2 v, b = t^2 K and c = -t^2 W; for o = 0, where there is no estimate, x is the ratio itself.
    """
    new, old = ratio.numerator, ratio.denominator
    squared = quantile**2
    nothing = old.mean == 0
    a = old.mean**2 - squared * old.variance
    a = np.where(a == 0, -0.0, a)
    b, c = squared * ratio.overlap, np.where(nothing, new.mean**2, 0.0) - squared * ratio.residual
    discriminant = b**2 - a * c
    kind = same_text(BOUNDED, a.shape)
    kind[a <= 0] = EXCLUSIVE
    kind[(a <= 0) & (discriminant <= 0)] = UNBOUNDED
    far = -b - np.copysign(np.sqrt(np.maximum(discriminant, 0.0)), b)  # no cancellation: the near root follows from their product
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = far / a, np.where(far == 0, 0.0, c / far)
    start = np.where(nothing, 0.0, ratio.estimate)
    lower, upper = start + np.minimum(*roots), start + np.maximum(*roots)
    unbounded = kind == UNBOUNDED
    return RatioSet(np.where(unbounded, -np.inf, lower), np.where(unbounded, np.inf, upper), kind)


def _cut_fieller(ratio: Ratio, positive: Mask, quantile: Floats) -> RatioSet:
    """Return Fieller's set, cut to the positive numbers where both means are known to be."""
    return cut_to_positive(fieller(ratio, quantile), positive)


def one_end_each(cut: Callable[[Floats], RatioSet], below: Floats, above: Floats) -> RatioSet:
    """Return the set whose lower end is that of one quantile and whose upper end is that of another.

    Where either set is no interval it is the set of the larger quantile.
    """
    lower, upper, both_ends = cut(below), cut(above), cut(np.maximum(below, above))
    down, up = lower.kind == AT_MOST, upper.kind == AT_LEAST
    intervals = np.isin(lower.kind.astype(str), ONE_PIECE) & np.isin(upper.kind.astype(str), ONE_PIECE) & ~(down & up)
    kind = np.select([down, up], [AT_MOST, AT_LEAST], BOUNDED).astype(object)
    ends = ((lower.lower, both_ends.lower), (upper.upper, both_ends.upper), (kind, both_ends.kind))
    return RatioSet(*(np.where(intervals, end, instead) for end, instead in ends))


def cut_to_positive(limits: RatioSet, positive: Mask) -> RatioSet:
    """Leave out the numbers that are not positive, where the ratio is known to be: a part of an exclusive set may be all that is left."""
    lower, upper, kind = limits.lower.copy(), limits.upper.copy(), limits.kind.copy()
    exclusive = positive & (kind == EXCLUSIVE)
    at_least, at_most = exclusive & (lower <= 0), exclusive & (lower > 0) & np.isposinf(upper)
    everything = at_least & (upper <= 0)
    bounded = positive & (kind == BOUNDED)
    lower[bounded] = np.maximum(lower, 0.0)[bounded]
    lower[at_least], upper[at_least], kind[at_least] = upper[at_least], np.inf, AT_LEAST
    lower[at_most], upper[at_most], kind[at_most] = 0.0, lower[at_most], AT_MOST
    lower[everything], upper[everything], kind[everything] = -np.inf, np.inf, UNBOUNDED
    return RatioSet(lower, upper, kind)


def kind_of(lower: Floats, upper: Floats) -> Texts:
    """Return what a set of positive numbers is, by which of its limits there are."""
    above = np.isposinf(upper)
    return np.where(lower <= 0, np.where(above, UNBOUNDED, AT_MOST), np.where(above, AT_LEAST, BOUNDED)).astype(object)


def standard_error(ratio: Ratio, method: str) -> Floats:
    """Return the standard error of the ratio (`delta`) or of its log (`log_delta`), to first order."""
    scale = ratio.numerator.mean if method == "log_delta" else ratio.denominator.mean
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(ratio.residual) / np.abs(scale)


def ratio_statistic(ratio: Ratio, value: float, method: str, df: Floats | float = np.inf) -> Floats:
    """Return the t statistic of "the ratio is `value`": large where the ratio is larger. Its test agrees with the method's interval."""
    old, difference = ratio.denominator, ratio.estimate - value
    if method in FIELLER:
        error = np.sqrt(np.maximum(ratio.residual + difference * (difference * old.variance + 2 * ratio.overlap), 0.0)) / np.abs(old.mean)
    else:
        error = standard_error(ratio, method)
        difference = np.log1p(difference / value) if method == "log_delta" else difference
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = difference / error
    certain = (error == 0) & ~np.isnan(difference)
    if method == "skew_adjusted":
        statistic = shrunken(statistic, np.asarray(ratio.skewness), t_quantile(0.975, np.asarray(df)))
    return np.where(certain, np.where(difference == 0, 0.0, np.copysign(np.inf, difference)), statistic)
