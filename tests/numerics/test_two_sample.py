"""The exact p-value of Kolmogorov and Smirnov's distance of two samples with ties."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from perfarray.numerics.two_sample import exact_ks_pvalue
from perfarray.speedups.numerics.rank_tests import kolmogorov_smirnov
from strategies import experiments


def by_enumeration(x, y):
    """Count the ways to say which values are x whose distance is as large."""
    values = np.sort(np.concatenate([x, y]))
    points = np.unique(values)

    def distance(selected):
        remaining = np.zeros(len(values), bool)
        remaining[list(selected)] = True
        reached = [
            np.searchsorted(values[column], points, side="right") / column.sum()
            for column in (remaining, ~remaining)
        ]
        return np.abs(reached[0] - reached[1]).max()

    sample = max(abs((x <= point).mean() - (y <= point).mean()) for point in points)
    distances = [distance(selected) for selected in combinations(range(len(values)), len(x))]
    return np.mean(np.array(distances) >= sample - 1e-9)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (5, 5), (4, 6), (1, 5)])
def test_every_way_is_counted(n, m):
    """Small samples, many of whose values are tied."""
    rng = np.random.default_rng(n + m)
    x, y = rng.integers(0, 4, (6, n)).astype(float), rng.integers(0, 4, (6, m)).astype(float)
    assert_allclose(
        exact_ks_pvalue(x, y),
        [by_enumeration(*pair) for pair in zip(x, y, strict=True)],
        rtol=1e-12,
    )


def test_without_ties_it_is_the_exact_law():
    """SciPy has it."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((5, 12)), rng.standard_normal((5, 9)) + 0.5
    assert_allclose(
        exact_ks_pvalue(x, y),
        [stats.ks_2samp(*pair, method="exact").pvalue for pair in zip(x, y, strict=True)],
        rtol=1e-9,
    )


def test_worked_by_hand():
    """1, 1, 2 against 1, 2, 2: no way is nearer than 1/3. 1, 1, 1 against 2, 2, 2: two of 20 ways.
    All equal: one. No value: no p."""
    assert exact_ks_pvalue(np.array([1.0, 1, 2]), np.array([1.0, 2, 2])) == pytest.approx(1.0)
    assert exact_ks_pvalue(np.array([1.0, 1, 1]), np.array([2.0, 2, 2])) == pytest.approx(2 / 20)
    assert exact_ks_pvalue(np.array([1.0, 1]), np.array([1.0])) == 1.0
    assert np.isnan(exact_ks_pvalue(np.array([np.nan]), np.array([1.0])))


def test_it_uses_the_risk_that_the_limit_law_leaves_unused():
    """Five against five of one law, rounded to half a standard deviation, at 5 %: above 1, where
    the limit law has less."""
    count = experiments(2000)
    x, y = np.round(2 * np.random.default_rng(1).standard_normal((2, count, 5))) / 2
    assert 0.01 < (exact_ks_pvalue(x, y) <= 0.05).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / count)
    assert (kolmogorov_smirnov(x, y).pvalue <= 0.05).mean() < 0.01
    assert exact_ks_pvalue(x[:3, None], y[:3]).shape == (3, 3)
