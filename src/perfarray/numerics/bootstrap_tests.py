"""What replicates say of ratios: p-values that invert the bootstrap's limits, and the suite's geometric mean ratio."""

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.bootstrap_limits import Bootstrap, least_units, limits_of, one_sided
from perfarray.numerics.bootstrap_samples import Pairing, flattened, ratio_bootstrap, shared_suite_bootstrap, spread, suite_bootstrap
from perfarray.numerics.intervals import BOUNDED, Ratio, RatioSet
from perfarray.numerics.ratio_tests import certainly_inside
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.verdicts import Comparison, Evidence, Known, Rules, SuiteRatio, Tests, judge


def compare_draws(
    new: Floats, old: Floats, cells: Integers, groups: Integers, *known: Mask, rules: Rules, draws: Draws, joint: int, flat: bool
) -> Comparison:
    """Compare timings (..., benchmarks, n_L, ..., n_1) of two systems by redrawing them, and decide.

    `cells` (..., benchmarks) and `groups` (...) say where random numbers come from; `joint` levels are shared by the benchmarks; `flat`
    ignores the nest; `known` is what stopped runs leave known of the ratios.
    """
    levels = new.ndim - cells.ndim
    values = [spread(flattened(side, levels, flat), cells.shape, len(draws.drawn)) for side in (new, old)]
    pair = Pairing(values[0], values[1], cells, rules.paired)
    evidence = evidence_of_draws(pair, np.broadcast_to(groups, cells.shape[:-1]), rules, draws, joint)
    return judge(evidence, rules, Known(*known) if known else None)


def evidence_of_draws(pair: Pairing, groups: Integers, rules: Rules, draws: Draws, joint: int) -> Evidence:
    """Return what redrawn timings of two systems say; `joint` levels are shared by the benchmarks."""
    found, drawn = ratio_bootstrap(pair, draws, rules.method)
    ratio = drawn.ratio
    known = ratio.n >= least_units(rules.method)
    with np.errstate(invalid="ignore"):
        matched = ~np.isnan(ratio.estimate) & (ratio.estimate > 0)
    if rules.shared:
        suite, n = shared_suite_bootstrap(pair, groups, matched, draws, joint, rules.method)
    else:
        suite, n = suite_bootstrap(drawn, matched, rules.method)
    unknown = np.full(known.shape, np.nan)

    def limits(level: Floats) -> RatioSet:
        lower, upper = (np.where(known, limit, np.nan) for limit in limits_of(found, level))
        return RatioSet(lower, upper, np.full(known.shape, BOUNDED, dtype=object))

    tests = band_tests(found, ratio, known, rules.limits)
    return Evidence(ratio.estimate, unknown, ratio.n, tests, limits, _suite(suite, n, matched, rules))


def band_tests(found: Bootstrap, ratio: Ratio, known: Mask, limits: tuple[float, float]) -> Tests:
    """Test the ratio against both limits of the band, from both sides; too few units test nothing."""
    (below, above_low), (below_high, above) = (one_sided(found, value) for value in limits)
    inside = np.where(certainly_inside(ratio, limits), 0.0, np.maximum(above_low, below_high))
    return Tests(*(np.where(known, part, np.nan) for part in (below, above, inside)))


def _suite(suite: Bootstrap, n: Floats, matched: Mask, rules: Rules) -> SuiteRatio:
    """Return the geometric mean ratio over the matched benchmarks."""
    limits = limits_of(suite, rules.confidence_level)
    lower, upper = (np.where(n >= least_units(rules.method), limit, np.nan) for limit in limits)
    estimate = np.exp(suite.estimate) if suite.log else suite.estimate
    return SuiteRatio(estimate, lower, upper, np.full(n.shape, np.nan), n, matched.sum(axis=-1).astype(float))
