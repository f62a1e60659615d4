"""Mann-Whitney and Kolmogorov-Smirnov: R's numbers, enumeration, and laws."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perfarray.speedups.numerics.rank_tests import (
    EXACT_PRODUCT,
    kolmogorov_smirnov,
    mann_whitney,
    rank_sum_cdf,
)

SERIES_OF_R = 6e-6
"""R's limit law stops its series early: it is off by this for sqrt(nm/(n+m)) D just below 1."""


@pytest.fixture
def grid(golden):
    return golden("tests_grid")["cases"]


def samples(case):
    return np.array(case["input"]["x"], dtype=float), np.array(case["input"]["y"], dtype=float)


def tied(x, y):
    return len(np.unique(np.concatenate([x, y]))) < len(x) + len(y)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_mann_whitney_is_wilcox_test(grid, alternative):
    """U and p are those of R: exact for small samples without ties, else normal with both
    corrections."""
    for case in grid:
        expected = case["output"]["mann_whitney"][alternative.replace("-", ".")]
        test_result = mann_whitney(*samples(case), alternative)
        assert test_result.statistic == expected["U_x"]
        assert test_result.pvalue == pytest.approx(expected["p_default"], rel=1e-10), case["name"]


def limit_law(statistic, n, m):
    """Return the Kolmogorov law by its alternating series, to the end."""
    k = np.arange(1, 200)
    return 2 * np.sum((-1.0) ** (k - 1) * np.exp(-2 * k**2 * statistic**2 * n * m / (n + m)))


def test_kolmogorov_smirnov_is_ks_test(grid):
    """D and p are those of R up to 4.1: exact without ties, else the limit law."""
    for case in grid:
        x, y = samples(case)
        expected = case["output"]["ks"]["two.sided"]
        test_result = kolmogorov_smirnov(x, y)
        assert test_result.statistic == pytest.approx(expected["D"], abs=1e-14)
        if tied(x, y) or len(x) * len(y) >= EXACT_PRODUCT:
            assert test_result.pvalue == pytest.approx(
                limit_law(expected["D"], len(x), len(y)), abs=1e-12
            ), case["name"]
            assert test_result.pvalue == pytest.approx(expected["p_asymptotic"], abs=SERIES_OF_R), (
                case["name"]
            )
        else:
            assert test_result.pvalue == pytest.approx(
                expected["p_exact_ignoring_ties"], abs=1e-12
            ), case["name"]


@pytest.mark.parametrize(("n", "exact"), [(99, True), (100, False)])
def test_where_kolmogorov_smirnov_is_exact(n, exact):
    """It is where n m is below 10,000."""
    x, y = np.arange(100.0), np.arange(n) + 10.5
    test_result = kolmogorov_smirnov(x, y)
    pvalues = stats.ks_2samp(x, y, method="exact").pvalue, limit_law(test_result.statistic, 100, n)
    assert test_result.pvalue == pytest.approx(pvalues[not exact], rel=1e-9)
    assert abs(pvalues[1] - pvalues[0]) > 1e-4


def test_by_enumeration():
    """Every way to split seven different values into three and four, tested one by one, gives the
    p-values."""
    pool = np.arange(7.0)
    splits = [(np.array(one), np.setdiff1d(pool, one)) for one in combinations(pool, 3)]
    test_result = [(mann_whitney(x, y), kolmogorov_smirnov(x, y)) for x, y in splits]
    u, d = (np.array([pair[i].statistic for pair in test_result]) for i in range(2))
    for ranks, distance in test_result:
        assert ranks.pvalue == pytest.approx((u >= ranks.statistic).mean(), rel=1e-12)
        assert distance.pvalue == pytest.approx((d >= distance.statistic - 1e-12).mean(), abs=1e-12)


def test_rank_sum_distribution_is_symmetric():
    """As many orders give u as give n m - u, and the smallest is one of C(n + m, n)."""
    cdf = rank_sum_cdf(6, 9)
    assert cdf[:-1] == pytest.approx(1 - cdf[-2::-1], abs=1e-14)
    assert cdf[0] == pytest.approx(1 / 5005)
    assert cdf[-1] == 1.0


def test_probabilities_of_pairs():
    """P[X > Y] counts strictly; equal pairs are told apart."""
    test_result = mann_whitney([3.0, 2.0, 1.0], [2.0, 0.5])
    assert (test_result.prob_greater, test_result.prob_equal) == (
        pytest.approx(4 / 6),
        pytest.approx(1 / 6),
    )


def test_cells_are_tested_one_by_one():
    """Ragged cells in one array, with the sides broadcast, give what each gives alone."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4, 1, 12)).round(1)
    y = rng.normal(size=(3, 60)).round(2)
    x[1, 0, 5:] = np.nan
    x[3] = np.nan
    y[2, 7:] = np.nan
    ranks, distance = mann_whitney(x, y), kolmogorov_smirnov(x, y)
    assert ranks.pvalue.shape == distance.pvalue.shape == (4, 3)
    for i, j in np.ndindex(4, 3):
        one, two = x[i, 0][~np.isnan(x[i, 0])], y[j][~np.isnan(y[j])]
        if not one.size:
            assert np.isnan(
                [ranks.pvalue[i, j], ranks.prob_greater[i, j], distance.pvalue[i, j]]
            ).all()
            continue
        assert ranks.pvalue[i, j] == mann_whitney(one, two).pvalue
        assert distance.pvalue[i, j] == kolmogorov_smirnov(one, two).pvalue


def test_all_values_equal():
    """Ranks say nothing then; the distributions do not differ."""
    assert np.isnan(mann_whitney([1.0, 1.0], [1.0, 1.0, 1.0]).pvalue)
    assert kolmogorov_smirnov([1.0, 1.0], [1.0, 1.0, 1.0]).pvalue == 1.0


VALUES = st.lists(st.integers(0, 30), min_size=2, max_size=12)


@given(VALUES, VALUES)
def test_against_scipy_where_it_agrees_with_r(x, y):
    """SciPy's normal approximation of Mann-Whitney, and its distance, are the same for any ties."""
    test_result = mann_whitney(x, y)
    method = "asymptotic" if tied(np.array(x), np.array(y)) else "exact"
    if len({*x, *y}) > 1:
        assert test_result.pvalue == pytest.approx(
            stats.mannwhitneyu(x, y, alternative="greater", method=method).pvalue, rel=1e-10
        )
    assert kolmogorov_smirnov(x, y).statistic == pytest.approx(
        stats.ks_2samp(x, y, method="asymp").statistic, abs=1e-12
    )


@given(VALUES, VALUES)
def test_sides_swapped(x, y):
    """x greater than y is y less than x; distances have no side."""
    if len({*x, *y}) > 1:
        assert mann_whitney(x, y).pvalue == pytest.approx(
            float(mann_whitney(y, x, "less").pvalue), rel=1e-12
        )
    assert kolmogorov_smirnov(x, y).pvalue == pytest.approx(
        float(kolmogorov_smirnov(y, x).pvalue), abs=1e-12
    )
