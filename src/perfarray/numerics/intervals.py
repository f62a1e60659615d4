"""Intervals of a mean and of a ratio of means, from one value per independent unit.

Fieller's theorem is equation 12 of Kalibera and Jones (2012), where the whole numerator is divided by OY^2 - t^2 OS^2 / n.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.levels import UnitSummary, summarise_units, unit_means
from perfarray.numerics.types import Floats, Texts


class IntervalMethod(NamedTuple):
    """How an interval of a ratio is had: whether it redraws, whether it takes logs, and how many units it needs."""

    draws: bool
    logs: bool
    least_units: int


METHODS = {
    "fieller": IntervalMethod(False, False, 2),
    "delta": IntervalMethod(False, False, 2),
    "log_delta": IntervalMethod(False, True, 2),
    "percentile": IntervalMethod(True, False, 2),
    "basic": IntervalMethod(True, False, 2),
    "bca": IntervalMethod(True, False, 2),
    "studentized": IntervalMethod(True, True, 3),  # a replicate of two units has no standard error, or the mean of the data
}
"""Every method of an interval of a ratio, said once."""

RATIO_METHODS = tuple(name for name, method in METHODS.items() if not method.draws)
BOOTSTRAP_METHODS = tuple(name for name, method in METHODS.items() if method.draws)
MEAN_METHODS = ("t", "normal")
DF_RULES = ("satterthwaite", "conservative", "normal")

BOUNDED, EXCLUSIVE, UNBOUNDED = "bounded", "exclusive", "unbounded"


class Interval(NamedTuple):
    """Limits; NaN where fewer than two units leave nothing to go by."""

    lower: Floats
    upper: Floats


class Ratio(NamedTuple):
    """Two means with their squared standard errors, their covariance, and the units behind them."""

    numerator: UnitSummary
    denominator: UnitSummary
    covariance: Floats
    paired: bool

    @property
    def estimate(self) -> Floats:
        """Candidate over baseline."""
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = self.numerator.mean / self.denominator.mean
        return np.where(self.denominator.mean == 0, np.nan, quotient)

    @property
    def n(self) -> Floats:
        """Units on the smaller side."""
        return np.minimum(self.numerator.n, self.denominator.n)


class RatioSet(NamedTuple):
    """A confidence set of a ratio: [lower, upper], everything outside (lower, upper), or the whole line."""

    lower: Floats
    upper: Floats
    kind: Texts


def t_quantile(probability: float | Floats, df: Floats) -> Floats:
    """Return the quantile of Student's t; infinite df gives the normal's."""
    from scipy.special import ndtri, stdtrit

    with np.errstate(invalid="ignore"):
        finite = stdtrit(np.where(np.isfinite(df), df, 1.0), probability)
    return np.where(np.isposinf(df), ndtri(probability), np.where(np.isnan(df), np.nan, finite))


def t_probability(statistic: Floats, df: Floats) -> Floats:
    """Return P[T <= statistic]; infinite df gives the normal's."""
    from scipy.special import ndtr, stdtr

    finite = stdtr(np.where(np.isfinite(df), df, 1.0), statistic)
    return np.where(np.isposinf(df), ndtr(statistic), np.where(np.isnan(df), np.nan, finite))


def mean_by_units(values: Floats, *, levels: int, method: str, level: float) -> tuple[Floats, ...]:
    """Return estimate, limits, standard error, df and n of means of timings (..., n_L, ..., n_1)."""
    units = summarise_units(unit_means(values, levels))
    limits, df = mean_limits(units, level, method)
    lower, upper = (np.where(units.n >= 2, limit, np.nan) for limit in limits)
    return units.mean, lower, upper, np.sqrt(units.variance), df, units.n


def ratio_by_units(
    new: Floats, old: Floats, *, levels: int, paired: bool, method: str, df_rule: str, level: float
) -> tuple[npt.NDArray[Any], ...]:
    """Return estimate, limits, df, n and kind of the ratio of the means of timings (..., n_L, ..., n_1)."""
    ratio = ratio_of(unit_means(new, levels), unit_means(old, levels), paired)
    df = ratio_df(ratio, df_rule)
    found = known_limits(ratio_limits(ratio, df, level, method), df)
    return ratio.estimate, found.lower, found.upper, df, ratio.n, found.kind


def mean_limits(units: UnitSummary, confidence_level: float, method: str) -> tuple[Interval, Floats]:
    """Return the limits of a mean and their df: t with units - 1 df, or normal."""
    df = np.where(units.n > 1, np.inf if method == "normal" else units.n - 1, np.nan)
    half = t_quantile((1 + confidence_level) / 2, df) * np.sqrt(units.variance)
    return Interval(units.mean - half, units.mean + half), df


def ratio_of(new: Floats, old: Floats, paired: bool) -> Ratio:
    """Summarise two sets of unit means (..., units); paired ones must match along the last axis."""
    if not paired:
        numerator, denominator = summarise_units(new), summarise_units(old)
        return Ratio(numerator, denominator, np.zeros_like(numerator.mean), False)
    both = ~(np.isnan(new) | np.isnan(old))
    new, old = np.where(both, new, np.nan), np.where(both, old, np.nan)
    numerator, denominator = summarise_units(new), summarise_units(old)
    product = (new - numerator.mean[..., None]) * (old - denominator.mean[..., None])
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = np.where(both, product, 0.0).sum(axis=-1) / (numerator.n - 1) / numerator.n
    return Ratio(numerator, denominator, np.where(numerator.n > 1, covariance, np.nan), True)


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
        scaled = ratio.estimate**2 * old.variance
        total = new.variance + scaled
        with np.errstate(divide="ignore", invalid="ignore"):
            df = total**2 / (new.variance**2 / (new.n - 1) + scaled**2 / (old.n - 1))
        df = np.where(total == 0, new.n + old.n - 2, df)
    return np.where(enough, df, np.nan)


def ratio_limits(ratio: Ratio, df: Floats, confidence_level: float | Floats, method: str) -> RatioSet:
    """Return the confidence set of a ratio by Fieller's theorem, the delta method, or the delta method on the log ratio."""
    quantile = t_quantile((1 + np.asarray(confidence_level)) / 2, df)
    if method == "fieller":
        return fieller(ratio, quantile)
    estimate = ratio.estimate
    half = quantile * standard_error(ratio, method)
    with np.errstate(over="ignore", invalid="ignore"):
        lower, upper = (estimate * np.exp(-half), estimate * np.exp(half)) if method == "log_delta" else (estimate - half, estimate + half)
    return RatioSet(lower, upper, np.full(estimate.shape, BOUNDED, dtype=object))


def known_limits(found: RatioSet, df: Floats) -> RatioSet:
    """Return the set, with NaN limits where fewer than two units stand behind it."""
    known = ~np.isnan(df)
    return RatioSet(np.where(known, found.lower, np.nan), np.where(known, found.upper, np.nan), np.where(known, found.kind, BOUNDED))


def fieller(ratio: Ratio, quantile: Floats) -> RatioSet:
    """Solve Fieller's quadratic a r^2 - 2 b r + c <= 0 for the ratio r."""
    new, old = ratio.numerator, ratio.denominator
    squared = quantile**2
    a = old.mean**2 - squared * old.variance
    b = new.mean * old.mean - squared * ratio.covariance
    c = new.mean**2 - squared * new.variance
    discriminant = b**2 - a * c
    kind = np.full(a.shape, BOUNDED, dtype=object)
    kind[a <= 0] = EXCLUSIVE
    kind[(a <= 0) & ((discriminant <= 0) | (a == 0))] = UNBOUNDED
    root = np.sqrt(np.maximum(discriminant, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = (b - root) / a, (b + root) / a
    lower, upper = np.minimum(*limits), np.maximum(*limits)
    whole = kind == UNBOUNDED
    return RatioSet(np.where(whole, -np.inf, lower), np.where(whole, np.inf, upper), kind)


def standard_error(ratio: Ratio, method: str) -> Floats:
    """Return the standard error of the ratio (`delta`) or of its log (`log_delta`), to first order."""
    new, old, estimate = ratio.numerator, ratio.denominator, ratio.estimate
    variance = new.variance + estimate**2 * old.variance - 2 * estimate * ratio.covariance
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.abs(new.mean) if method == "log_delta" else np.abs(old.mean)
        return np.sqrt(np.maximum(variance, 0.0)) / scale


def ratio_statistic(ratio: Ratio, value: float, method: str) -> Floats:
    """Return the t statistic of "the ratio is `value`": large where the ratio is larger. Its test agrees with the method's interval."""
    new, old, estimate = ratio.numerator, ratio.denominator, ratio.estimate
    if method == "fieller":
        difference = (new.mean - value * old.mean) * np.sign(old.mean)
        error = np.sqrt(np.maximum(new.variance + value**2 * old.variance - 2 * value * ratio.covariance, 0.0))
    elif method == "delta":
        difference, error = estimate - value, standard_error(ratio, method)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            difference, error = np.log(estimate) - np.log(value), standard_error(ratio, method)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = difference / error
    certain = (error == 0) & ~np.isnan(difference)
    return np.where(certain, np.where(difference == 0, 0.0, np.copysign(np.inf, difference)), statistic)
