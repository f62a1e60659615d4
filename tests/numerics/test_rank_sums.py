"""Rank sums of ratios: against SciPy and enumeration, limits that invert the tests, R's rule for their places."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from perfarray.numerics.rank_sums import EXACT, hodges_lehmann, law, rank_limits, rank_pvalues, units_with_rank_limits


def two(n, m, seed=1):
    """Return lognormal samples, the first 30 % larger."""
    rng = np.random.default_rng(seed)
    return rng.lognormal(0.26, 0.5, n), rng.lognormal(0, 0.5, m)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 4), (8, 8), (20, 7), (EXACT - 1, EXACT - 1), (60, 30)])
def test_pvalues_are_scipys(n, m):
    """Exact below 50 values a side, else normal with the correction for continuity."""
    new, old = two(n, m)
    method = "exact" if max(n, m) < EXACT else "asymptotic"
    for found, alternative in zip(rank_pvalues(new, old, 1.1), ("less", "greater"), strict=True):
        assert found == pytest.approx(stats.mannwhitneyu(new / 1.1, old, alternative=alternative, method=method).pvalue, rel=1e-9)


def test_the_law_is_that_of_all_orders():
    """Every choice of places for three of seven values."""
    below = [sum(place - number for number, place in enumerate(places)) for places in combinations(range(7), 3)]
    np.testing.assert_allclose(law(3, 4), [np.mean(np.array(below) <= most) for most in range(13)], rtol=1e-12)


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
    place = next(place for place in range(n * m) if law(n, m)[place] >= risk)
    assert (low, high) == (ratios[place - 1], ratios[n * m - place])


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
