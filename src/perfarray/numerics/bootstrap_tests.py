"""What replicates say of ratios: p-values that invert the bootstrap's limits, and the suite's geometric mean ratio."""

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.bootstrap_limits import Bootstrap, least_units, limits_of, one_sided
from perfarray.numerics.bootstrap_samples import Pairing, flattened, ratio_bootstrap, shared_suite_bootstrap, spread, suite_bootstrap
from perfarray.numerics.intervals import BOUNDED, Ratio, RatioSet, ratio_df
from perfarray.numerics.ratio_tests import bound_suite, known_of, row_evidence, sure_suite, surely
from perfarray.numerics.types import Floats, Integers, Mask, same_text
from perfarray.numerics.verdicts import Evidence, Rules, Suite, Tests

MATERIAL = 4
"""How many numbers, beside the replicates, the limits of a ratio are made from."""


def evidence_of_draws(
    new: Floats,
    old: Floats,
    cells: Integers,
    groups: Integers,
    *bounds: Mask,
    rules: Rules,
    draws: Draws,
    joint: int,
    flat: bool,
    statistic: str = "mean",
) -> tuple[Floats | Mask, ...]:
    """Redraw timings (..., benchmarks, n_L, ..., n_1) of two systems; return `Evidence`, `Suite`, and what limits are made from.

    `cells` (..., benchmarks) and `groups` (...) say where random numbers come from; `joint` levels are shared by the benchmarks; `flat`
    ignores the nest; `bounds` are what stopped runs leave known of the ratios, where some were stopped.
    """
    levels = new.ndim - cells.ndim
    values = [spread(flattened(side, levels, flat), cells.shape, len(draws.resampled)) for side in (new, old)]
    pair = Pairing(values[0], values[1], cells, rules.paired)
    bootstrap, replicates = ratio_bootstrap(pair, draws, rules.method, statistic)
    ratio = replicates.ratio
    enough, bounds_known = ratio.n >= least_units(rules.method), known_of(ratio, bounds)
    with np.errstate(invalid="ignore"):
        matched: Mask = ratio.estimate > 0
    if (rules.shared or rules.paired) and statistic == "mean":
        groups = np.broadcast_to(groups, cells.shape[:-1])
        suite, n = shared_suite_bootstrap(pair, groups, matched, draws, max(joint, 1), rules.method)
    else:
        suite, n = suite_bootstrap(replicates, matched, rules.method)
    tests = band_tests(bootstrap, ratio, enough, rules.limits)
    evidence = row_evidence(ratio, np.full(enough.shape, np.nan), ratio_df(ratio, rules.df), tests, bounds_known)
    material = np.stack([bootstrap.estimate, bootstrap.acceleration, bootstrap.standard_error, enough], axis=-1)
    suite_row = sure_suite(_suite(suite, n, matched, rules), ratio, rules.limits)
    return *evidence, *bound_suite(suite_row, ratio, bounds_known), bootstrap.replicates, material


def limits_of_draws(level: Floats, _: Evidence, replicates: Floats, material: Floats, *, rules: Rules) -> RatioSet:
    """Return the limits at a level per ratio."""
    estimate, acceleration, error, enough = np.moveaxis(material, -1, 0)
    bootstrap = Bootstrap(rules.method, estimate, replicates, acceleration, error, rules.method == "studentized")
    lower, upper = (np.where(enough == 1, limit, np.nan) for limit in limits_of(bootstrap, level))
    return RatioSet(lower, upper, same_text(BOUNDED, enough.shape))


def band_tests(bootstrap: Bootstrap, ratio: Ratio, enough: Mask, limits: tuple[float, float]) -> Tests:
    """Test the ratio against both limits of the band, from both sides; too few units test nothing."""
    (below_low, above_low), (below_high, above_high) = (one_sided(bootstrap, value) for value in limits)
    tests = surely(ratio, limits, below_low, above_low, below_high, above_high)
    return Tests(*(np.where(enough, pvalue, np.nan) for pvalue in tests))


def _suite(suite: Bootstrap, n: Floats, matched: Mask, rules: Rules) -> Suite:
    """Return the geometric mean ratio over the matched benchmarks."""
    enough = n >= least_units(rules.method)
    lower, upper = (np.where(enough, limit, np.nan) for limit in limits_of(suite, rules.confidence_level))
    pvalues = [np.where(enough, pvalue, np.nan) for value in rules.limits for pvalue in one_sided(suite, value)]
    estimate = np.exp(suite.estimate) if suite.log else suite.estimate
    return Suite(estimate, lower, upper, np.full(n.shape, np.nan), n, matched.sum(axis=-1).astype(float), *pvalues)
