"""The law of a redrawn statistic against enumeration, and moments against brute force."""

from itertools import product

import numpy as np
import pytest

from perfarray.suites.numerics.distributions import Drawing, arrange
from perfarray.suites.numerics.relative_variation import (
    _of_scores,
    _redraw,
    _redrawn_moments,
    drawn_spread,
    exact_spread,
    order_law,
    performance_of,
    redraws,
)


def geometric(x, axis=None):
    return np.exp(np.log(x).mean(axis=axis))


def harmonic(x, axis=None):
    return 1 / (1 / x).mean(axis=axis)


FUNCTIONS = {
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "mean": np.mean,
    "geometric": geometric,
}
MEANS = {"geometric": geometric, "arithmetic": np.mean, "harmonic": harmonic}


def by_enumeration(runs, statistic, mean, shared=False):
    """Return the standard deviation over all redrawn experiments of runs (benchmarks, runs)."""
    size = runs.shape[1]
    run_estimates = FUNCTIONS[statistic](runs[:, list(product(range(size), repeat=size))], axis=-1)
    experiments = run_estimates.T if shared else np.stack(np.meshgrid(*run_estimates), axis=-1)
    return np.std(MEANS[mean](experiments, axis=-1))


def test_median_of_three_has_the_papers_weights():
    """7/27, 13/27, 7/27."""
    np.testing.assert_allclose(order_law(3, "median").probability * 27, [7, 13, 7])


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("statistic", ["median", "min", "max"])
def test_order_law_is_that_of_all_redraws(number, statistic):
    """Probabilities add to one, and give the distribution that n^n redraws give."""
    values = np.sort(np.random.default_rng(number).normal(size=number))
    law = order_law(number, statistic)
    support = (values[law.low] + values[law.high]) / 2
    redrawn = FUNCTIONS[statistic](values[list(product(range(number), repeat=number))], axis=-1)
    np.testing.assert_allclose(law.probability.sum(), 1)
    for power in (1, 2, 3):
        np.testing.assert_allclose(
            support**power @ law.probability, np.mean(np.power(redrawn, power)), rtol=1e-10
        )


@pytest.mark.parametrize("number", [50, 51, 1000, 1026, 40_000])
def test_order_law_of_many_runs_is_a_law(number):
    """No probability is negative, they add to one, and their centre is the middle."""
    law = order_law(number, "median")
    assert law.probability.min() > -1e-12
    np.testing.assert_allclose(law.probability.sum(), 1, rtol=1e-9)
    np.testing.assert_allclose(
        (law.low + law.high) / 2 @ law.probability, (number - 1) / 2, rtol=1e-9
    )


def test_pairs_that_middle_draws_cannot_be_are_not_listed(monkeypatch):
    """The variance of the median of 1,026 draws from those near the middle, and few places apart,
    is that from all pairs."""
    values, moments = np.sort(np.random.default_rng(1).lognormal(0, 0.1, 1026)), []
    for listed in (1024, 1026):
        monkeypatch.setattr("perfarray.numerics.order_statistics.LISTED", listed)
        law = order_law(1026, "median")
        deviations = (values[law.low] + values[law.high]) / 2 - 1
        moments.append(
            (len(law.low), deviations @ law.probability, deviations**2 @ law.probability)
        )
    assert moments[0][0] < moments[1][0] / 10
    np.testing.assert_allclose(moments[0][1:], moments[1][1:], rtol=1e-10)


@pytest.mark.parametrize("mean", ["geometric", "arithmetic"])
def test_units_of_several_runs_are_redrawn_whole(mean):
    """Units with the run 2, and with 1 and 5: three redraws of four have the median 2, where units
    weigh alike, and one has 3."""
    values = np.array([[[[2.0, np.nan], [1.0, 5.0]]]])
    spread = exact_spread(arrange(values, 2, 1, 0), "median", mean)
    np.testing.assert_allclose(spread, np.sqrt(3 / 16))


def test_redraws_of_four_units_are_35_ways_without_order():
    ways, probability = redraws(4)
    assert ways.shape == (35, 4)
    np.testing.assert_allclose(probability.sum(), 1)


@pytest.mark.parametrize("statistic", FUNCTIONS)
@pytest.mark.parametrize("mean", ["geometric", "arithmetic"])
@pytest.mark.parametrize("runs", [2, 3, 4])
def test_exact_spread_is_that_of_all_experiments(statistic, mean, runs):
    """Two benchmarks: the standard deviation over every redrawn experiment."""
    values = np.random.default_rng(runs).lognormal(1, 0.4, (2, runs))
    suite = arrange(values[None], 1, 0, 0)
    spread = exact_spread(suite, statistic, mean)
    np.testing.assert_allclose(spread, by_enumeration(values, statistic, mean), rtol=1e-9)
    run_estimates = np.array([FUNCTIONS[statistic](row) for row in values])
    np.testing.assert_allclose(
        performance_of(suite, statistic, mean), MEANS[mean](run_estimates), rtol=1e-12
    )


@pytest.mark.parametrize("statistic", FUNCTIONS)
@pytest.mark.parametrize("mean", MEANS)
def test_shared_units_are_redrawn_together(statistic, mean):
    """One redraw for all benchmarks, enumerated."""
    values = np.random.default_rng(5).lognormal(1, 0.4, (3, 4))
    spread = exact_spread(arrange(values[None], 1, 0, 1), statistic, mean)
    np.testing.assert_allclose(
        spread, by_enumeration(values, statistic, mean, shared=True), rtol=1e-9
    )


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("statistic", "mean", "runs"),
    [("median", "geometric", 3), ("mean", "harmonic", 4), ("median", "arithmetic", 6)],
)
def test_drawn_spread_finds_the_exact_one(statistic, mean, runs, shared):
    """20,000 experiments: within four standard errors of a standard deviation (2 %)."""
    values = np.random.default_rng(7).lognormal(1, 0.3, (2, runs))
    suite = arrange(values[None], 1, 0, int(shared))
    spread, _ = drawn_spread(suite, np.array([3]), statistic, Drawing(20_000, mean, (1, 2)))
    exact = (
        by_enumeration(values, statistic, mean, shared)
        if runs < 5
        else exact_spread(suite, statistic, mean)
    )
    np.testing.assert_allclose(spread, exact, rtol=0.02)


def test_small_spreads_keep_their_digits():
    """A relative spread of 1e-9 is not lost in the difference of two moments."""
    runs = np.array([[1.0, 1.0 + 1e-9, 1.0 + 3e-9]])
    spread = exact_spread(arrange(runs[None], 1, 0, 0), "median", "geometric")
    expected = 1e-9 * np.sqrt((13 * 1 + 7 * 9) / 27 - ((13 + 21) / 27) ** 2)
    np.testing.assert_allclose(spread, expected, rtol=1e-6)


@pytest.mark.parametrize("statistic", FUNCTIONS)
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("joint", [0, 1])
def test_equal_runs_do_not_vary(statistic, mean, joint):
    """Runs that are equal, by rounding say, have a spread of zero and not of 1e-16, whose logarithm
    would be a number like any other."""
    runs = np.repeat(np.random.default_rng(1).lognormal(0, 0.5, (40, 5, 1)), 3, axis=-1)
    suite = arrange(runs, 1, 0, joint)
    spread, _ = drawn_spread(suite, np.arange(40), statistic, Drawing(50, mean, (1, 2)))
    assert (spread == 0).all()
    if mean != "harmonic":
        assert (exact_spread(suite, statistic, mean) == 0).all()


@pytest.mark.parametrize("statistic", ["mean", "geometric"])
@pytest.mark.parametrize("mean", MEANS)
def test_few_runs_have_the_numbers_of_runs_drawn_one_by_one(monkeypatch, statistic, mean):
    """What is looked up in a table, for some cells at once, is what each cell has alone, with gaps
    and without."""
    values = np.random.default_rng(5).lognormal(0, 0.1, (5, 4, 4))
    values[1, :, 2] = values[3, 0, 0] = values[4] = np.nan
    suite, drawing, cells = arrange(values, 1, 0, 0), Drawing(40, mean, (1, 2)), np.arange(5)
    alone = [
        _of_scores(_redraw(suite, index, cells[[index]], statistic, drawing)) for index in range(4)
    ]
    monkeypatch.setattr("perfarray.suites.numerics.relative_variation.PIECE", 80)
    spreads = drawn_spread(suite, cells, statistic, drawing)
    np.testing.assert_array_equal(np.transpose(spreads), [*alone, (np.nan, np.nan)])


@pytest.mark.parametrize(
    ("runs", "sigma", "benchmarks"), [(9, 0.02, 3), (30, 0.2, 2), (200, 0.5, 7), (30, 0.3, 1)]
)
def test_a_series_has_the_spread_of_a_root_of_means(runs, sigma, benchmarks):
    """Mean and variance are those of drawn means within their Monte Carlo error; of one benchmark,
    a root is the mean itself."""
    rng = np.random.default_rng(runs)
    units = rng.lognormal(0, sigma, runs)
    scores = units[rng.integers(0, runs, (100_000, runs))].mean(axis=1) ** (1 / benchmarks)
    mean, variance = _redrawn_moments(units[:, None], "mean", "geometric", benchmarks)
    assert mean == pytest.approx(scores.mean(), abs=5 * scores.std() / np.sqrt(100_000))
    assert variance == pytest.approx(scores.var(), rel=0.03)
    if benchmarks == 1:
        assert variance == pytest.approx(units.var() / runs)


def test_a_series_is_left_where_it_would_be_seen():
    """One run a hundred times as long as the others: the runs are redrawn."""
    units = np.r_[np.ones(11), 100.0]
    assert np.isnan(_redrawn_moments(units[:, None], "mean", "geometric", 3)).all()
