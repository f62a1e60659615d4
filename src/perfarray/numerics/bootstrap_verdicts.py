"""Verdicts from replicates: the same rules as `numerics.comparison`, with p-values that invert the bootstrap's limits."""

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.bootstrap_limits import Bootstrap, least_units, limits_of, one_sided
from perfarray.numerics.bootstrap_samples import Pairing, ratio_bootstrap, shared_suite_bootstrap, suite_bootstrap
from perfarray.numerics.intervals import BOUNDED, Ratio
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.verdicts import EQUIVALENT, FASTER, INCONCLUSIVE, SLOWER, Comparison, Rules, Tests, adjust, decide, interval_level


def compare_draws(pair: Pairing, groups: Integers, rules: Rules, draws: Draws, joint: int) -> Comparison:
    """Compare timings (..., benchmarks, n_L, ..., n_1) of two systems by redrawing them; `joint` levels are shared by the benchmarks."""
    alpha = 1 - rules.confidence_level
    found, drawn = ratio_bootstrap(pair, draws, rules.method)
    ratio = drawn.ratio
    known = ratio.n >= least_units(rules.method)
    tests = band_tests(found, ratio, known, rules.limits)
    outside, inside = adjust(tests.two_sided, rules.correction), adjust(tests.inside, rules.correction)
    level = interval_level(tests.two_sided, outside, alpha, rules.correction)
    limits = limits_of(found, level)
    with np.errstate(invalid="ignore"):
        matched = ~np.isnan(ratio.estimate) & (ratio.estimate > 0)
    if rules.shared:
        suite, n = shared_suite_bootstrap(pair, groups, matched, draws, joint, rules.method)
    else:
        suite, n = suite_bootstrap(drawn, matched, rules.method)
    return Comparison(
        ratio.estimate,
        np.where(known, limits.lower, np.nan),
        np.where(known, limits.upper, np.nan),
        np.full(known.shape, np.nan),
        ratio.n,
        np.full(known.shape, BOUNDED, dtype=object),
        tests.two_sided,
        outside,
        tests.inside,
        level,
        decide(tests, outside <= alpha, inside <= alpha / 2, rules.better),
        *_suite_row(suite, n, matched, rules),
    )


def band_tests(found: Bootstrap, ratio: Ratio, known: Mask, limits: tuple[float, float]) -> Tests:
    """Test the ratio against both limits of the band, from both sides; one unit tests nothing."""
    (below, above_low), (below_high, above) = (one_sided(found, value) for value in limits)
    with np.errstate(invalid="ignore"):
        within = (ratio.estimate >= limits[0]) & (ratio.estimate <= limits[1])
    certain = (ratio.numerator.variance == 0) & (ratio.denominator.variance == 0) & within
    inside = np.where(certain, 0.0, np.maximum(above_low, below_high))
    return Tests(*(np.where(known, part, np.nan) for part in (below, above, inside)))


def _suite_row(suite: Bootstrap, n: Floats, matched: Mask, rules: Rules) -> tuple[np.ndarray, ...]:
    """Return estimate, limits, df, n, benchmarks and verdict of the geometric mean ratio."""
    limits = limits_of(suite, rules.confidence_level)
    lower, upper = (np.where(n >= least_units(rules.method), limit, np.nan) for limit in limits)
    low, high = rules.limits
    verdict = np.full(n.shape, INCONCLUSIVE, dtype=object)
    with np.errstate(invalid="ignore"):
        verdict[(lower >= low) & (upper <= high)] = EQUIVALENT
        verdict[upper < low] = FASTER if rules.better == "lower" else SLOWER
        verdict[lower > high] = SLOWER if rules.better == "lower" else FASTER
    estimate = np.exp(suite.estimate) if suite.log else suite.estimate
    return estimate, lower, upper, np.full(n.shape, np.nan), n, matched.sum(axis=-1).astype(float), verdict
