"""Metrics of mixtures against R, against integrals and samples, and at points."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

from perfarray.mixtures.numerics import integrals
from perfarray.mixtures.numerics.comparison import (
    MIXTURE,
    MetricComparison,
    number_of_units,
    percentile_limits,
)
from perfarray.mixtures.numerics.metrics import numbers_of_modes
from perfarray.mixtures.numerics.normal import NormalMixture, density, distribution
from perfarray.mixtures.numerics.parametric import difference, fitted, less, replicates
from perfarray.mixtures.numerics.scale import Scaled, number_of_modes
from perfarray.mixtures.numerics.valleys import supported_modes

DRAWING = MetricComparison(n_resamples=19, key=(1, 2), confidence_level=0.9)


def mixture(weights, means, deviations) -> NormalMixture:
    return NormalMixture(*(np.array(column, float) for column in (weights, means, deviations)))


def share_least(mixtures, **options):
    """Return the probability of each of several normal mixtures to be the least."""
    return integrals.best(
        [Scaled(first, np.zeros(first.weights.shape[:-1], int)) for first in mixtures],
        options.get("ties", False),
    )


def of_oracle(printed) -> NormalMixture:
    return mixture(*(printed[name] for name in ("pro", "mean", "sd")))


def point(value: float) -> NormalMixture:
    return mixture([1.0], [value], [0.0])


@pytest.mark.parametrize("case", range(5))
def test_oracle_pairs(golden, case):
    """Equations 7 and 10 with R's parameters."""
    pair = golden("varcore_metrics")["pairs"][case]
    x, y = (of_oracle(pair["input"][f"mixture_{name}"]) for name in "xy")
    assert_allclose(difference(x, y), pair["output"]["I1_param"], rtol=1e-10)
    assert_allclose(
        [less(x, y, shift) for shift in pair["input"]["shifts"]],
        pair["output"]["I2_param"],
        rtol=1e-10,
    )


@pytest.mark.parametrize("case", range(4))
def test_oracle_sets(golden, case):
    """Equation 13 with R's parameters; the probabilities sum to 1."""
    case_of_sets = golden("varcore_metrics")["multi"][case]
    result = share_least([of_oracle(printed) for printed in case_of_sets["input"]["mixtures"]])
    assert_allclose(result, case_of_sets["output"]["I3_param"], rtol=1e-9)
    assert_allclose(result.sum(), 1.0, atol=1e-12)


def test_narrow_components_are_not_missed():
    """Components a millionth as wide as their distance: the integral is that of cases."""
    narrow = mixture([0.25, 0.75], [1.0, 3.0], [1e-6, 1e-6])
    result = share_least([narrow, mixture([1.0], [2.0], [1e-6]), mixture([1.0], [2.0], [1e-6])])
    assert_allclose(result, [0.25, 0.375, 0.375], atol=1e-12)


def test_pairs_agree_with_integrals():
    """The closed forms are the integrals they stand for, and the least of two is the first's
    probability."""
    x, y = mixture([0.3, 0.7], [1.0, 2.0], [0.2, 0.4]), mixture([0.6, 0.4], [1.4, 2.2], [0.3, 0.1])

    def one_below(t):
        f, g = distribution(x, t), distribution(y, t)
        return float(f + g - 2 * f * g)

    assert_allclose(difference(x, y), quad(one_below, -2, 6, limit=200)[0], rtol=1e-9)
    below = quad(lambda t: float(density(x, t) * (1 - distribution(y, t - 0.3))), -2, 6, limit=200)[
        0
    ]
    assert_allclose(less(x, y, 0.3), below, rtol=1e-9)
    assert_allclose(share_least([x, y]), [less(x, y), less(y, x)], atol=1e-13)


def test_points():
    """Constant samples are points: they tie, or differ by what they differ."""
    assert difference(point(1.0), point(3.0)) == 2.0
    assert [float(less(point(1.0), point(second), ties=0.5)) for second in (0.0, 1.0, 2.0)] == [
        0.0,
        0.5,
        1.0,
    ]
    three = [point(1.0)] * 3
    assert_array_equal(share_least(three), [0.0, 0.0, 0.0])
    assert_allclose(share_least(three, ties=True), [1 / 3] * 3)
    wide = mixture([0.5, 0.5], [0.0, 2.0], [0.1, 0.1])
    assert_allclose(share_least([point(1.0), wide]), [0.5, 0.5], atol=1e-12)


def test_absent_components_and_mixtures():
    """A weight of zero hides whatever stands beside it; a system without components is left out."""
    full, hidden = mixture([1.0], [1.0], [0.2]), mixture([1.0, 0.0], [1.0, np.nan], [0.2, np.nan])
    second = mixture([1.0], [1.1], [0.3])
    assert difference(hidden, second) == difference(full, second)
    none = mixture([np.nan], [np.nan], [np.nan])
    assert np.isnan(less(none, second))
    assert_allclose(
        share_least([full, none, second]),
        [less(full, second), np.nan, less(second, full)],
        atol=1e-13,
    )


def test_blocks_do_not_change_the_answer(monkeypatch):
    """Cells are integrated in blocks."""
    rng = np.random.default_rng(1)
    large = [
        NormalMixture(
            rng.dirichlet([1, 1], 7), rng.normal(size=(7, 2)), rng.uniform(0.1, 1, (7, 2))
        )
        for _ in range(3)
    ]
    complete = share_least(large)
    monkeypatch.setattr(integrals, "BLOCK", 1)
    assert_array_equal(share_least(large), complete)


def less_with_limits(runs):
    """Return P[X < Y] of two systems' runs (cell, units, runs) with percentile limits."""
    units = [number_of_units(values) for values in runs]
    samples = replicates(
        [fitted(values) for values in runs],
        runs,
        units,
        np.arange(len(runs[0])),
        lambda pair: less(*(first.mixture for first in pair)),
        DRAWING,
    )
    return percentile_limits(samples, DRAWING.confidence_level)


def test_limits_come_from_refitted_samples():
    """Limits surround the estimate of separated samples, are the same again, and differ from cell
    to cell only by chance."""
    rng = np.random.default_rng(2)
    runs = [rng.normal(mean, 0.1, (2, 12, 1)) for mean in (1.0, 1.1)]
    limits = less_with_limits(runs)
    assert ((limits.lower < limits.estimate) & (limits.estimate < limits.upper)).all()
    assert_array_equal(limits.lower, less_with_limits(runs).lower)


@pytest.mark.slow
def test_runs_of_one_unit_stay_together():
    """With several runs in a unit, units are redrawn: limits are wider than those of as many
    independent runs."""
    rng = np.random.default_rng(4)
    nested = rng.normal(0, 1, (1, 10, 1)) + rng.normal(0, 0.1, (1, 10, 3))
    second = rng.normal(0.2, 1, (1, 10, 1))
    by_unit, as_runs = (
        less_with_limits([runs, second]) for runs in (nested, nested.reshape(1, 30, 1))
    )
    assert (by_unit.upper - by_unit.lower)[0] > 1.2 * (as_runs.upper - as_runs.lower)[0]


def test_modes_and_their_stability():
    """Two far groups are two modes in most refitted samples, and in none one; a constant is one; no
    runs are NaN."""
    rng = np.random.default_rng(3)
    runs = np.concatenate([rng.normal(1, 0.01, (1, 20)), rng.normal(2, 0.01, (1, 20))], axis=1)
    comparison = MetricComparison(
        method=MIXTURE, n_resamples=19, key=(1, 2), confidence_level=0.9, levels=1
    )
    test = partial(supported_modes, n_samples=0, alpha=0.05, key=(1, 2))
    modes, lower, _, stability, *_ = numbers_of_modes(
        runs, np.arange(1), comparison=comparison, test=test
    )
    assert (modes[0], lower[0]) == (2.0, 2.0)
    assert 0.7 < stability[0] < 1.0
    assert_array_equal(
        number_of_modes(fitted(np.stack([np.ones((5, 1)), np.full((5, 1), np.nan)]))),
        [1.0, np.nan],
    )
