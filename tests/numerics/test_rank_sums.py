"""Rank sums of ratios: against SciPy and enumeration, limits that invert the tests."""

from itertools import accumulate, combinations
from math import comb

import numpy as np
import pytest
from scipy import stats

from perfarray.numerics import rank_sums
from perfarray.numerics.rank_sums import chance, hodges_lehmann, rank_limits, rank_pvalues, ratios_outside, units_with_rank_limits


def two(n, m, seed=1):
    """Return lognormal samples in ascending order, the first 30 % larger."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.lognormal(0.26, 0.5, n)), np.sort(rng.lognormal(0, 0.5, m))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 4), (8, 8), (20, 7), (49, 50), (3, 100), (100, 100), (101, 100), (300, 40)])
def test_pvalues_are_scipys(n, m):
    """Exact up to 100 values a side, and of few against many; else normal with the correction for continuity."""
    new, old = two(n, m)
    method = "exact" if n * m * min(n, m) <= 1e6 else "asymptotic"
    for ratio in (0.7, 1.1, 2.0):
        for pvalue, alternative in zip(rank_pvalues(new, old, ratio), ("less", "greater"), strict=True):
            assert pvalue == pytest.approx(stats.mannwhitneyu(new / ratio, old, alternative=alternative, method=method).pvalue, rel=1e-9)


def test_the_law_is_that_of_all_orders():
    """Every choice of places for three of seven values; the law of either sample over the other is the same."""
    below = np.array([sum(position - number for number, position in enumerate(chosen)) for chosen in combinations(range(7), 3)])
    for sizes in ((3, 4), (4, 3)):
        np.testing.assert_allclose([chance(most, *sizes) for most in range(13)], [np.mean(below <= most) for most in range(13)], rtol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(3, 100), (49, 49), (60, 50)])
def test_the_law_is_exact_in_both_tails(n, m):
    """Every probability, from 1 over the number of orders to 1: against whole numbers, by the recursion of Mann and Whitney."""
    rows = [[1] for _ in range(m + 1)]  # how many orders of so many values and 0, 1, ... of the other sample have each statistic
    for values in range(1, n + 1):
        row = [[1]]
        for others in range(1, m + 1):
            sums = [0] * (values * others + 1)
            for shift, counts in ((others, rows[others]), (0, row[-1])):
                sums[shift : shift + len(counts)] = [total + more for total, more in zip(sums[shift:], counts, strict=False)]
            row.append(sums)
        rows = row
    exact = [below / comb(n + m, n) for below in accumulate(rows[m])]
    np.testing.assert_allclose([chance(most, n, m) for most in range(n * m + 1)], exact, rtol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (8, 6), (12, 20)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_limits_are_the_ratios_that_are_not_rejected(n, m, level):
    """Just inside the limits a two-sided test does not reject, just outside it does; their places are R's (qwilcox)."""
    new, old = two(n, m)
    low, high = rank_limits(new, old, level)
    risk = (1 - level) / 2
    assert rank_pvalues(new, old, low * (1 + 1e-9))[1] > risk >= rank_pvalues(new, old, low * (1 - 1e-9))[1]
    assert rank_pvalues(new, old, high * (1 - 1e-9))[0] > risk >= rank_pvalues(new, old, high * (1 + 1e-9))[0]
    assert low < hodges_lehmann(new, old) < high
    ratios = np.sort((new[:, None] / old).ravel())
    number = next(number for number in range(n * m) if chance(number, n, m) > risk)
    assert ratios_outside(n, m, risk) == number
    assert (low, high) == (ratios[number - 1], ratios[n * m - number])


def test_many_ratios_are_not_listed(monkeypatch):
    """A search finds the same ratios, ties included; thirty thousand values a side are no array of their ratios."""
    for samples in (two(40, 25), [np.round(side, 1) for side in two(40, 25)]):
        listed = [hodges_lehmann(*samples), *rank_limits(*samples, 0.95)]
        with monkeypatch.context() as few:
            few.setattr(rank_sums, "LISTED", 10)
            np.testing.assert_allclose([hodges_lehmann(*samples), *rank_limits(*samples, 0.95)], listed, rtol=1e-13)
    low, high = rank_limits(*two(30_000, 30_000), 0.95)
    assert 1.28 < low < np.exp(0.26) < high < 1.32


def test_ties_count_against_what_is_tested():
    """A permutation test of tied values has no larger p-value; samples that do not differ have 1."""
    new, old = np.array([3.0, 3.0, 4.0, 5.0]), np.array([1.0, 2.0, 3.0, 3.0])
    ranks = stats.rankdata(np.concatenate([new, old]))
    sums = [ranks[list(places)].sum() for places in combinations(range(8), 4)]
    assert rank_pvalues(new, old, 1.0)[1] >= np.mean(np.array(sums) >= ranks[:4].sum())
    assert rank_pvalues(np.ones(5), np.ones(5), 1.0) == (1.0, 1.0)


def test_few_units_have_no_limits():
    """Three a side have no p below 0.1; at 95 % four do."""
    assert rank_limits(*two(3, 3), 0.95) == (0.0, np.inf)
    assert units_with_rank_limits(0.95) == 4
    assert np.isfinite(rank_limits(*two(4, 4), 0.95)).all()
