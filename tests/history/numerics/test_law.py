"""The null law of the largest rank statistic: what random orders give, and what the table says."""

from math import comb

import numpy as np
import pytest

from perfarray.history.numerics.law import CHANCES, LENGTHS, TABLE, chance, fewest
from perfarray.history.numerics.search import strongest


@pytest.mark.parametrize("n", [9, 27, 60])
def test_random_orders_reach_a_level_as_often_as_it_says(n):
    """Within three standard errors of 300; short series, of which few values are possible, less
    often."""
    rng = np.random.default_rng(n)
    pvalues = chance(strongest(rng.normal(size=(300, n)), np.ones((300, n)), 2)[0], n)
    assert np.mean(pvalues <= 0.1) < 0.1 + 3 * np.sqrt(0.09 / 300)
    assert n < 20 or np.mean(pvalues <= 0.1) > 0.1 - 3 * np.sqrt(0.09 / 300)


def test_a_larger_statistic_is_rarer():
    """Between and beyond the lengths and the limits of the table."""
    for n in (8, 13, 20, 33, 999, 5000):
        chances = chance(np.arange(0, 9, 0.05), n)
        assert chances[0] == 1.0
        assert np.all(np.diff(chances) <= 0)


def test_limits_grow_with_the_logarithm_of_the_length():
    """A length whose logarithm is in the middle of two has the mean of their limits."""
    middle = TABLE[np.isin(LENGTHS, (1000, 2000))].mean(axis=0)
    np.testing.assert_allclose(chance(middle, round(1000 * 2**0.5)), CHANCES, rtol=2e-3)


def test_the_shortest_series_that_shows_anything():
    """Two halves of eight values are apart in 2 of 70 orders: that is the least p-value there
    is."""
    assert (fewest(0.05), fewest(1e-20)) == (8, 0)
    assert 2 / comb(fewest(1e-6), fewest(1e-6) // 2) <= 1e-6
    two_halves = np.repeat([[0.0, 1.0]], 4, axis=-1) + np.arange(8) / 100
    assert 2 / 70 <= chance(strongest(two_halves, np.ones((1, 8)), 2)[0], 8) <= 0.05
    assert chance(strongest(two_halves[:, 1:], np.ones((1, 7)), 2)[0], 7) == 1.0
