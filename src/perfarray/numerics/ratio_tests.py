"""What unit means say of ratios: tests against a band around 1, and the suite's geometric mean ratio."""

import numpy as np

from perfarray.numerics.intervals import (
    Ratio,
    RatioSet,
    known_limits,
    ratio_df,
    ratio_limits,
    ratio_of,
    ratio_statistic,
    t_probability,
    t_quantile,
    welch_df,
)
from perfarray.numerics.levels import summarise_units
from perfarray.numerics.types import Floats, Mask
from perfarray.numerics.verdicts import Comparison, Evidence, Known, Rules, SuiteRatio, Tests, judge


def compare_units(new: Floats, old: Floats, *known: Mask, rules: Rules) -> Comparison:
    """Compare unit means (..., benchmarks, units) of two systems, and decide; `known` is what stopped runs leave known of the ratios."""
    return judge(evidence_of_units(new, old, rules), rules, Known(*known) if known else None)


def evidence_of_units(new: Floats, old: Floats, rules: Rules) -> Evidence:
    """Return what unit means (..., benchmarks, units) of two systems say."""
    ratio = ratio_of(new, old, rules.paired)
    df = ratio_df(ratio, rules.df)
    tests = band_tests(ratio, df, rules.method, rules.limits)

    def limits(level: Floats) -> RatioSet:
        return known_limits(ratio_limits(ratio, df, level, rules.method), df)

    return Evidence(ratio.estimate, df, ratio.n, tests, limits, _suite(new, old, ratio, rules))


def band_tests(ratio: Ratio, df: Floats, method: str, limits: tuple[float, float]) -> Tests:
    """Test the ratio against both limits of the band, from both sides."""
    low, high = (ratio_statistic(ratio, value, method) for value in limits)
    below, above = t_probability(low, df), t_probability(-high, df)
    inside = np.maximum(t_probability(-low, df), t_probability(high, df))
    return Tests(below, above, np.where(certainly_inside(ratio, limits), 0.0, inside))


def certainly_inside(ratio: Ratio, limits: tuple[float, float]) -> Mask:
    """Return where neither system shows any spread and the ratio lies in the band."""
    with np.errstate(invalid="ignore"):
        within = (ratio.estimate >= limits[0]) & (ratio.estimate <= limits[1])
    return np.asarray((ratio.numerator.variance == 0) & (ratio.denominator.variance == 0) & within)


def _suite(new: Floats, old: Floats, ratio: Ratio, rules: Rules) -> SuiteRatio:
    """Return the geometric mean ratio over the benchmarks both sides measured."""
    estimate = ratio.estimate
    with np.errstate(invalid="ignore"):
        matched = ~np.isnan(estimate) & (estimate > 0)
    count = matched.sum(axis=-1).astype(float)
    log, variance, df, n = (_joint if rules.shared or rules.paired else _independent)(new, old, ratio, matched, rules)
    df = np.where(n > 1, np.inf if rules.df == "normal" else np.where(rules.df == "conservative", n - 1, df), np.nan)
    half = t_quantile((1 + rules.confidence_level) / 2, df) * np.sqrt(variance)
    lower, upper = np.exp(log - half), np.exp(log + half)
    return SuiteRatio(np.exp(log), lower, upper, df, n, count)


def _independent(new: Floats, old: Floats, ratio: Ratio, matched: Mask, rules: Rules) -> tuple[Floats, Floats, Floats, Floats]:
    """Benchmarks assumed independent: variances of the log means add (SE^2 = B^-2 sum of s^2 / (m ybar^2))."""
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
    return a.mean - b.mean, a.variance + b.variance, welch_df(a.variance, b.variance, a.n - 1, b.n - 1), np.minimum(a.n, b.n)


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
