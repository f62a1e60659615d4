"""Correlations, effective numbers, drift and order: against statsmodels, worked by hand, and
simulated truth."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.signal import lfilter

from perfarray.numerics.dependence import (
    autocorrelations,
    dependence_pvalue,
    drift,
    effective_share,
    ljung_box,
    mid_ranks,
    order_pvalue,
    order_scores,
    pooled,
    without_bias,
)


def dependent(rho: float, size: tuple[int, int], seed: int) -> np.ndarray:
    """Return series in which a value is rho times the one before, and noise."""
    noise = np.random.default_rng(seed).normal(size=(size[0], size[1] + 50))
    return lfilter([1], [1, -rho], noise * np.sqrt(1 - rho**2), axis=-1)[:, 50:]


def test_correlations_and_ljung_box_are_those_of_statsmodels():
    """At every lag, and at min(10, n // 5) lags."""
    stattools = pytest.importorskip("statsmodels.tsa.stattools")
    diagnostic = pytest.importorskip("statsmodels.stats.diagnostic")
    for n in (7, 23, 80):
        series = dependent(0.3, (1, n), n)[0]
        correlations = autocorrelations(series)
        assert_allclose(correlations, stattools.acf(series, nlags=n - 1, fft=False), atol=1e-12)
        assert_allclose(
            ljung_box(correlations, np.array(n)),
            diagnostic.acorr_ljungbox(series, lags=[min(10, n // 5)])["lb_pvalue"],
            rtol=1e-9,
        )


def test_scale_does_not_matter():
    """Nanoseconds and hours have the same correlations."""
    series = dependent(0.5, (2, 40), 1)
    assert_allclose(autocorrelations(series * 1e-200), autocorrelations(series), atol=1e-12)


def test_bias_and_variance_are_those_of_all_orders():
    """Over all orders of five values with ties, neighbours are as alike as said, and drift is zero,
    with the variances said."""
    orders = np.array(list(itertools.permutations([1.0, 2.0, 2.0, 5.0, 9.0])))
    scores = order_scores(orders)
    for result, variance in (
        (scores.serial, scores.serial_variance),
        (scores.drift, scores.drift_variance),
    ):
        assert result.mean() == pytest.approx(0, abs=1e-12)
        assert_allclose(variance, result.var())
    assert_allclose(
        without_bias(autocorrelations(orders), np.full(120, 5)).mean(axis=0),
        [1, 0, 0, 0, 0],
        atol=1e-12,
    )


def test_ranks_share_ties():
    """Equal values have the mean of their places."""
    assert mid_ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1, 3.5, 2]


@pytest.mark.parametrize(
    "shape", [np.asarray, np.exp, lambda x: np.where(x > 0.84, 20 + x, x), np.round]
)
def test_order_is_calibrated_whatever_the_values(shape):
    """At most 5 % of independent series of 30 have p <= 0.05, of four distributions; a correlation
    of 0.6 is seen in most."""
    independent, correlated = (shape(dependent(rho, (4000, 30), 3)) for rho in (0.0, 0.6))
    assert 0.03 < (order_pvalue(order_scores(independent)) <= 0.05).mean() < 0.058
    assert (order_pvalue(order_scores(independent)) <= 0.001).mean() < 0.002
    if shape in (np.asarray, np.exp):
        assert (order_pvalue(order_scores(correlated)) <= 0.05).mean() > 0.8


@pytest.mark.parametrize("rho", [0.3, 0.6])
def test_screening_costs_two_points_of_power(rho):
    """A series that does not look suspect has p = 1, and the others that of ranks: correlations are
    seen in 2 % fewer series at most."""
    series = dependent(rho, (4000, 30), 6)
    ranks, screened = order_pvalue(order_scores(series)), dependence_pvalue(series)
    assert set(screened[screened != ranks]) == {1.0}
    assert 0 <= (ranks <= 0.05).mean() - (screened <= 0.05).mean() < 0.025


def test_gaps_are_closed():
    """A series with gaps is the series without them."""
    series = np.array([1.0, np.nan, 2.0, 4.0, np.nan, 3.0, 9.0])
    without_gaps = series[~np.isnan(series)]
    assert [statistic.item() for statistic in order_scores(series)] == [
        statistic.item() for statistic in order_scores(without_gaps)
    ]
    assert_allclose(
        [statistic.item() for statistic in drift(series)],
        [statistic.item() for statistic in drift(without_gaps)],
    )


def test_effective_number_is_near_the_truth():
    """Of 200 values with a correlation of 0.6, some 51 are independent; pooled over ten series,
    within a tenth."""
    series = dependent(0.6, (100, 200), 5).reshape(10, 10, 200)
    n = np.full((10, 10), 200)
    share = effective_share(pooled(without_bias(autocorrelations(series), n), n), np.full(10, 200))
    assert np.median(200 * share) == pytest.approx(51, rel=0.1)


def test_drift_is_the_relative_slope():
    """From 9 to 11 in 21 steps of 0.1: one hundredth of the mean each."""
    slope, pvalue = drift(np.linspace(9, 11, 21) + 1e-3 * np.cos(np.arange(21)))
    assert slope.item() == pytest.approx(0.01, rel=1e-3)
    assert pvalue.item() < 1e-6


@pytest.mark.parametrize(("rho", "upper"), [(0.0, 0.06), (0.6, 0.075)])
def test_drift_has_its_size_under_dependence(rho, upper):
    """Of series of 100 that do not drift, some 5 % have p <= 0.05, where a line would have 32 of a
    correlation of 0.6."""
    assert 0.03 < (drift(dependent(rho, (3000, 100), 7))[1] <= 0.05).mean() < upper
