"""Exact quantiles against brute force: listed pairs, the grid and its bound, weights, ties, shared units."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfarray.suites.numerics import exact_quantiles
from perfarray.suites.numerics.exact_quantiles import points_of, quantiles_of_sum

QUARTERS = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
ONE = [Fraction(1)]


def all_sums(rows):
    """List the sums of one value of every row, in order."""
    sums = np.zeros(1)
    for row in rows:
        sums = np.add.outer(sums, row).ravel()
    return np.sort(sums)


def by_definition(sums):
    """Return inf{x: F(x) >= p} of equally likely sums."""
    return np.array([sums[-(-quarter * len(sums) // 4) - 1] for quarter in (1, 2, 3)])


def points(rows):
    """Make every value a unit of its own."""
    return [[points_of(row[:, None]) for row in rows]]


@given(seed=st.integers(0, 2**32 - 1), benchmarks=st.integers(1, 7), runs=st.integers(1, 4), tied=st.booleans())
@settings(max_examples=60, deadline=None)
def test_pairs_agree_with_brute_force(seed, benchmarks, runs, tied):
    """Any suite, with ties or not: the quartiles are those of all sums."""
    rows = np.random.default_rng(seed).normal(0, 1, (benchmarks, runs))
    rows = np.round(rows, 0) if tied else rows
    found = quantiles_of_sum(points(rows), ONE, QUARTERS)
    np.testing.assert_allclose(found.values, by_definition(all_sums(rows)), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.lower, found.upper)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_search_agrees_with_listing(seed):
    """Where few pairs may be listed, the interval shrinks onto the same sums."""
    rows = np.random.default_rng(seed).lognormal(0, 0.3, (9, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_quantiles, "PAIRS", 30)
        found = quantiles_of_sum(points(rows), ONE, QUARTERS)
    np.testing.assert_allclose(found.values, by_definition(all_sums(rows)), rtol=1e-12)


@pytest.mark.parametrize("near", [1e-9, 1e-2, 10.0])
@pytest.mark.parametrize("decimals", [1, 15])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_thinned_search_only_says_where_to_begin(near, decimals, seed):
    """However near the answer for thinned sums is taken to be, with ties or not, the quartiles are those of all sums."""
    rows = np.random.default_rng(seed).lognormal(0, 0.3, (9, 3)).round(decimals)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_quantiles, "PAIRS", 30)
        patch.setattr(exact_quantiles, "THINNED", 60)
        patch.setattr(exact_quantiles, "EVERY", 5)
        patch.setattr(exact_quantiles, "NEEDLES", 7)
        patch.setattr(exact_quantiles, "NEAR", (near, 3 * near))
        found = quantiles_of_sum(points(rows), ONE, QUARTERS)
    np.testing.assert_allclose(found.values, by_definition(all_sums(rows)), rtol=1e-12)


@pytest.mark.parametrize("number", [4, 8, 12])
def test_a_quarter_reached_exactly_is_not_passed(number):
    """Where F is 1/4 at a sum, that sum is the quartile: counts are whole numbers."""
    rows = [np.arange(2.0) * 2**place for place in range(number)]
    found = quantiles_of_sum(points(rows), ONE, QUARTERS)
    np.testing.assert_array_equal(found.values, [2**number * quarter // 4 - 1 for quarter in (1, 2, 3)])


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-3, 0.05, 2.0]))
@settings(max_examples=30, deadline=None)
def test_grid_holds_its_bound(seed, scale):
    """The true quartile lies between the bounds, which are B h / 2 to each side, h the range over the number of steps."""
    rows = np.random.default_rng(seed).normal(3, scale, (6, 4))
    exact = by_definition(all_sums(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_quantiles, "HALF", 1)
        patch.setattr(exact_quantiles, "POINTS", 200)
        found = quantiles_of_sum(points(rows), ONE, QUARTERS)
    assert (found.lower <= exact).all()
    assert (exact <= found.upper).all()
    step = np.ptp(rows, axis=1).sum() / 200
    np.testing.assert_allclose(found.upper - found.lower, 6 * step, rtol=1e-9)


def test_grid_counts_beyond_64_bits():
    """24 benchmarks of 9 values have 8e22 combinations: counted in Python's integers, and nearly normal."""
    rows = np.random.default_rng(3).normal(size=(24, 9))
    found = quantiles_of_sum(points(rows), ONE, QUARTERS)
    centre, deviation = rows.mean(axis=1).sum(), np.sqrt(rows.var(axis=1).sum())
    np.testing.assert_allclose((found.values - centre) / deviation, [-0.6745, 0, 0.6745], atol=0.02)


def test_units_weigh_alike_however_many_values_they_have():
    """A unit of two values and one of four: counts 2 and 1."""
    values, counts = points_of(np.array([[1.0, 2.0, np.nan, np.nan], [2.0, 3.0, 4.0, 5.0]]))
    assert values.tolist() == [1, 2, 3, 4, 5]
    assert counts.tolist() == [2, 3, 1, 1, 1]


def test_weights_agree_with_repeated_values():
    """A value that counts twice is a value that stands there twice."""
    weighted = [[(np.array([0.0, 1.0, 5.0]), np.array([2, 1, 1])), (np.array([0.0, 0.3]), np.array([1, 3]))]]
    rows = [np.array([0.0, 0.0, 1.0, 5.0]), np.array([0.0, 0.3, 0.3, 0.3])]
    found = quantiles_of_sum(weighted, ONE, QUARTERS)
    np.testing.assert_allclose(found.values, by_definition(all_sums(rows)))


def test_shared_units_make_a_mixture():
    """Two units with 2 and 4 combinations, probability 1/3 and 2/3: each combination has 1/6."""
    parts = [[points_of(np.array([[1.0], [2.0]]))], [points_of(np.array([[10.0], [20.0], [30.0], [40.0]]))]]
    found = quantiles_of_sum(parts, [Fraction(1, 3), Fraction(2, 3)], QUARTERS)
    assert found.values.tolist() == [2.0, 10.0, 30.0]
