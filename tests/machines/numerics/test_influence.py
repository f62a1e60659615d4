"""Splits that keep groups whole, intervals of a correlation, influence, and the noise ceiling."""

import tracemalloc

import numpy as np
import pytest
from scipy.special import polygamma

from perfarray.machines.numerics.influence import correlation_interval, influence_of, random_rows
from perfarray.machines.numerics.noise_ceiling import (
    concentration,
    log_spread_noise,
    noise_ceiling,
    noise_table,
    spread_of_redrawn,
)
from strategies import experiments


def test_groups_stay_together():
    """No group is on both sides, and the share is not exceeded."""
    groups = np.repeat(np.arange(12), np.arange(1, 13))  # sizes 1 to 12
    test = random_rows(groups, 0.3, np.random.default_rng(1))
    assert not set(groups[test]) & set(np.delete(groups, test))
    assert 0 < len(test) <= 0.3 * len(groups)


def test_split_without_groups():
    first, second = (random_rows(np.arange(100), 0.3, np.random.default_rng(3)) for _ in range(2))
    assert len(first) == 30
    np.testing.assert_array_equal(first, second)


def test_fisher_interval():
    """r = 0.5 of 28 rows: tanh(0.5493 -+ 1.96 / 5)."""
    rng = np.random.default_rng(1)
    x, noise = rng.standard_normal((2, 28))
    x = (x - x.mean()) / x.std()
    noise -= noise.mean() + x * (noise @ x) / 28
    y = 0.5 * x + np.sqrt(0.75) * noise / noise.std()
    estimate, *limits = correlation_interval(x, y, None, 0.95)
    assert estimate == pytest.approx(0.5)
    assert limits == pytest.approx(
        np.tanh(np.arctanh(0.5) + np.array([-1, 1]) * 1.959963985 / 5).tolist()
    )


@pytest.mark.slow
def test_interval_holds_zero_where_there_is_nothing():
    """Of pairs of 24 values that know nothing of each other, 5 % (within 2.5 standard errors) have
    an interval without 0."""
    count = experiments(2000)
    pairs = np.random.default_rng(1).standard_normal((count, 2, 24))
    intervals = [correlation_interval(x, y, None, 0.95) for x, y in pairs]
    assert np.mean([lower > 0 or upper < 0 for _, lower, upper in intervals]) == pytest.approx(
        0.05, abs=2.5 * np.sqrt(0.05 * 0.95 / count)
    )


def test_interval_knows_groups():
    """Rows that repeat within groups say no more than one of them: the interval is as wide as that
    of the groups."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal(30)
    y = x + rng.standard_normal(30)
    once = correlation_interval(x, y, np.arange(30), 0.95)
    tenfold = correlation_interval(
        np.repeat(x, 10), np.repeat(y, 10), np.repeat(np.arange(30), 10), 0.95
    )
    np.testing.assert_allclose(once, tenfold)
    naive = correlation_interval(np.repeat(x, 10), np.repeat(y, 10), None, 0.95)
    assert naive[2] - naive[1] < 0.5 * (tenfold[2] - tenfold[1])


def test_constant_predictions_have_no_correlation():
    assert np.isnan(correlation_interval(np.arange(9.0), np.ones(9), None, 0.95)).all()


HALF = 2.570581836 * np.sqrt(4 / 5) / np.sqrt(6) / 2


def test_influence_worked_by_hand():
    """Mean increases 3 and 1 are 75 and 25 percent; a negative one counts as none; t limits of the
    mean of 6 rows."""
    losses = np.array([[2.0, 4.0, 3.0, 3.0, 2.0, 4.0], [1.0] * 6, [-1.0] * 6])
    percent, increase = influence_of(losses, 2.0, np.arange(6), 0.95)
    np.testing.assert_allclose(percent, [75, 25, 0])
    np.testing.assert_allclose(increase[0], [1.5, 0.5, -0.5])
    np.testing.assert_allclose(increase[1:, 0], [1.5 - HALF, 1.5 + HALF])
    np.testing.assert_allclose(influence_of(-losses[:2], 1.0, np.arange(6), 0.95)[0], 0)


def test_influence_of_what_never_varied():
    """Where permuting changed nothing there is no increase, not one of 0; the others have theirs
    from the rows where it did."""
    losses = np.array([[2.0, 4.0, 3.0, 3.0, 2.0, 4.0, np.nan, np.nan], [np.nan] * 8])
    percent, increase = influence_of(losses, 2.0, np.array([0, 1, 2, 3, 4, 5, 6, 6]), 0.95)
    np.testing.assert_allclose(percent, [100, 0])
    np.testing.assert_allclose(increase[:, 0], [1.5, 1.5 - HALF, 1.5 + HALF])
    assert np.isnan(increase[:, 1]).all()
    # There is no variance to compare with.
    assert np.isnan(influence_of(np.ones((2, 6)), 0.0, np.arange(6), 0.95)[1][0]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("correlation", "splits", "folds", "coverage"),
    [(0.0, 5, None, 0.95), (0.8, 5, None, 0.95), (0.8, 1, 5, 0.95)],
)
def test_coverage_where_rows_are_fitted_and_tested_in_turn(correlation, splits, folds, coverage):
    """Of tables of 30 rows, the interval of exchanged rows holds the true correlation in 95 % or
    more; the other one fails at 0."""
    rng, count = np.random.default_rng(1), experiments(600)
    covered = np.zeros((count, 2))
    for experiment in range(count):
        x, noise = rng.standard_normal((2, 30))
        y = correlation * x + np.sqrt(1 - correlation**2) * noise
        test_sets = (
            np.array_split(rng.permutation(30), folds)
            if folds
            else [random_rows(np.arange(30), 0.3, rng) for _ in range(splits)]
        )
        fits = [
            np.polyfit(np.delete(x, test_rows), np.delete(y, test_rows), 1)
            for test_rows in test_sets
        ]
        row, split = (
            np.concatenate(test_sets),
            np.repeat(np.arange(len(test_sets)), [len(test_rows) for test_rows in test_sets]),
        )
        predicted = np.concatenate(
            [np.polyval(fit, x[test_rows]) for fit, test_rows in zip(fits, test_sets, strict=True)]
        )
        units, within = row if splits > 1 else None, None if folds else split
        for exchanged in (False, True):
            _, lower, upper = correlation_interval(
                y[row], predicted, units, 0.95, within, exchanged
            )
            covered[experiment, int(exchanged)] = lower <= correlation <= upper
    error = np.sqrt(0.05 * 0.95 / count)
    assert covered[:, 1].mean() > coverage - 2 * error
    if not correlation:
        assert covered[:, 0].mean() < 0.95 - 2 * error


def test_spread_of_redrawn_medians():
    """Three runs 9, 10, 11: medians have weights 7, 13, 7 of 27; brute force for five; gaps are
    left out."""
    assert spread_of_redrawn(np.array([9.0, 10.0, 11.0]), "median") == pytest.approx(14 / 27)
    values = np.array([1.0, 3.0, 4.0, 8.0, 9.0])
    medians = np.median(values[np.stack(np.meshgrid(*[range(5)] * 5), -1).reshape(-1, 5)], axis=1)
    assert spread_of_redrawn(values, "median") == pytest.approx(medians.var())
    assert spread_of_redrawn(np.array([9.0, np.nan, 10.0, 11.0]), "median") == pytest.approx(
        14 / 27
    )
    assert np.isnan(spread_of_redrawn(np.array([9.0, np.nan]), "median"))
    assert spread_of_redrawn(-values, "max") == pytest.approx(spread_of_redrawn(values, "min"))


@pytest.mark.parametrize("runs", [2, 3, 9])
def test_noise_of_one_benchmark_is_that_of_a_log_chi_square(runs):
    """The log of the spread of a mean has the variance of log chi-square over four, whose error in
    4000 draws its kurtosis tells."""
    variance, fourth = (float(polygamma(order, (runs - 1) / 2)) for order in (1, 3))
    error = np.sqrt((fourth / variance**2 + 2) / 4 / 4000)
    assert log_spread_noise(np.ones(5), 1, runs, "mean") == pytest.approx(
        np.sqrt(variance) / 2, rel=4 * error
    )
    assert np.isnan(log_spread_noise(np.ones(5), 1, 1, "mean"))


@pytest.mark.parametrize(("statistic", "error"), [("mean", 0.03), ("median", 0.06)])
def test_noise_of_very_many_runs_is_scaled_from_fewer(monkeypatch, statistic, error):
    """Each of both has the error of a standard deviation of 4000 draws, 1 / sqrt(8000); the rate of
    medians is 3 % off at 100 runs."""
    expected_noise = noise_table(2, 200, statistic)[1]
    monkeypatch.setattr("perfarray.machines.numerics.noise_ceiling.MAX_DRAWN", 4000 * 2 * 100)
    np.testing.assert_allclose(noise_table(2, 200, statistic)[1], expected_noise, rtol=error)


def test_noise_of_very_many_benchmarks_is_that_of_fewer_suites(monkeypatch):
    """Runs stay as many as their law needs: from two, that of a mean was told 39 % too large. 400
    suites have an error of 3.5 %."""
    expected_noise = noise_table(20, 60, "mean")
    monkeypatch.setattr("perfarray.machines.numerics.noise_ceiling.MAX_DRAWN", 4000 * 20 * 2)
    for intervals, expected in zip(noise_table(20, 60, "mean"), expected_noise, strict=True):
        np.testing.assert_allclose(intervals, expected, rtol=0.1)


def test_memory_of_the_noise_is_a_block_s():
    """Of 48 runs, 1,176 pairs may be the two middle ones when redrawn: an array of 113 MB for
    12,000 samples at once."""
    tracemalloc.start()
    noise_table(3, 48)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize("inequality", [0.0, 1.0, 2.0])
def test_noise_is_recovered(inequality):
    """The noise told from one experiment per machine is that of repeating it, for machines with
    variances of their own."""
    rng = np.random.default_rng(5)
    true = np.exp(inequality * rng.standard_normal((300, 12)))
    noise = log_spread_noise(
        concentration(true * spread_of_redrawn(rng.standard_normal((300, 12, 3)), "median")), 12, 3
    )
    remeasured = true * spread_of_redrawn(rng.standard_normal((100, 300, 12, 3)), "median")
    assert noise == pytest.approx(
        np.sqrt((0.5 * np.log(remeasured.sum(axis=-1))).var(axis=0, ddof=1).mean()), rel=0.1
    )


def test_ceiling():
    """Half of the variance is noise: no correlation above sqrt(1/2); all of it: 0; nothing known:
    NaN."""
    logs = np.random.default_rng(1).standard_normal(1000)
    logs = (logs - logs.mean()) / logs.std(ddof=1)
    assert noise_ceiling(logs, np.full(1000, np.sqrt(0.5))) == pytest.approx(np.sqrt(0.5))
    assert noise_ceiling(logs, np.full(1000, 2.0)) == 0
    assert np.isnan(noise_ceiling(logs, np.full(1000, np.nan)))
