"""Exact quantiles against brute force: listed pairs, the grid and its bound, weights, ties, shared
units."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfarray.suites.numerics import exact_quantiles
from perfarray.suites.numerics.exact_quantiles import points_of, quantiles_of_sum
from strategies import examples

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


def on_a_lattice(parts, shares, **limits):
    """Return the quartiles where so few sums are listed that a lattice is needed, with other limits
    of the module."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"LISTED": 1, **limits}.items():
            patch.setattr(exact_quantiles, name, value)
        return quantiles_of_sum(parts, shares, QUARTERS)


@given(
    seed=st.integers(0, 2**32 - 1),
    benchmarks=st.integers(1, 7),
    runs=st.integers(1, 4),
    tied=st.booleans(),
)
@settings(max_examples=examples(60), deadline=None)
def test_pairs_agree_with_brute_force(seed, benchmarks, runs, tied):
    """Any suite, with ties or not: the quartiles are those of all sums."""
    rows = np.random.default_rng(seed).normal(0, 1, (benchmarks, runs))
    rows = np.round(rows, 0) if tied else rows
    found = quantiles_of_sum(points(rows), ONE, QUARTERS)
    np.testing.assert_allclose(found.values, by_definition(all_sums(rows)), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.lower, found.upper)


@pytest.mark.parametrize("decimals", [1, 15])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=examples(20), deadline=None)
def test_many_sums_agree_with_listing(decimals, seed):
    """19,683 sums, with ties or not: the quartiles are those of all sums."""
    rows = np.random.default_rng(seed).lognormal(0, 0.3, (9, 3)).round(decimals)
    found = quantiles_of_sum(points(rows), ONE, QUARTERS)
    np.testing.assert_allclose(found.values, by_definition(all_sums(rows)), rtol=1e-12)


@pytest.mark.parametrize("decimals", [2, 15])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=examples(5), deadline=None)
def test_counted_pairs_lie_on_both_sides_of_a_quarter(decimals, seed):
    """17 benchmarks with 3 runs: pairs of sums of two halves, counted, are fewer than p below the
    lower bound, and p at the upper."""
    rows = np.random.default_rng(seed).lognormal(0, 0.02, (17, 3)).round(decimals)
    found = quantiles_of_sum(points(rows), ONE, QUARTERS)
    short, long = all_sums(rows[:8]), all_sums(rows[8:])
    for number, quarter in enumerate(QUARTERS):
        below = np.searchsorted(long, found.lower[number] - short - 1e-12).sum()
        reached = np.searchsorted(long, found.upper[number] - short + 1e-12, side="right").sum()
        assert below < quarter * 3**17 <= reached
    ranges = np.ptp(rows, axis=1).sum()
    assert (found.upper - found.lower <= 17 * ranges / 2**20 * (1 + 1e-9)).all()
    assert ((found.lower <= found.values) & (found.values <= found.upper)).all()


@pytest.mark.parametrize("number", [4, 12, 14])
def test_a_quarter_reached_exactly_is_not_passed(number):
    """Where F is 1/4 at a sum, that sum is the quartile: counts are whole numbers."""
    rows = [np.arange(2.0) * 2**place for place in range(number)]
    found = quantiles_of_sum(points(rows), ONE, QUARTERS)
    np.testing.assert_array_equal(
        found.values, [2**number * quarter // 4 - 1 for quarter in (1, 2, 3)]
    )


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-3, 0.05, 2.0]))
@settings(max_examples=examples(30), deadline=None)
def test_grid_holds_its_bound(seed, scale):
    """The true quartile lies between the bounds, which are B h / 2 to each side at most, h the
    range over the number of steps."""
    rows = np.random.default_rng(seed).normal(3, scale, (6, 4))
    exact = by_definition(all_sums(rows))
    found = on_a_lattice(points(rows), ONE, POINTS=200)
    assert (found.lower <= exact).all()
    assert (exact <= found.upper).all()
    step = np.ptp(rows, axis=1).sum() / 200
    assert (found.upper - found.lower <= 6 * step * (1 + 1e-9)).all()


def test_values_on_the_lattice_are_not_moved():
    """32 coins of 1 have the quartiles 14, 16 and 18; a group of one value beside coins keeps it
    within the bounds."""
    coin = points_of(np.array([[0.0], [1.0]]))
    found = quantiles_of_sum([[coin] * 32], ONE, QUARTERS)
    np.testing.assert_allclose(found.values, [14, 16, 18], atol=1e-4)
    assert ((found.lower <= [14, 16, 18]) & (found.upper >= [14, 16, 18])).all()
    found = on_a_lattice(
        [[coin], [points_of(np.array([[0.5364]]))]], [Fraction(1, 8), Fraction(7, 8)], POINTS=200
    )
    assert ((found.lower <= 0.5364) & (found.upper >= 0.5364)).all()


def test_shares_widen_the_bounds_by_their_rounding():
    """256 equally likely whole numbers, weighed by shares: F is 1/4 at 63 but for rounding, so that
    the bound above is 64."""
    rows = [np.arange(2.0) * 2**place for place in range(8)]
    found = on_a_lattice(points(rows), ONE, POINTS=8 * 255, WHOLE=1)
    assert (found.lower <= [63, 127, 191]).all()
    assert (found.upper >= [63.99, 127.99, 191.99]).all()


def test_many_weighted_values_take_one_array_at_a_time():
    """Values that count unequally: what they add is made one after the other, not 200 arrays at
    once."""
    places, counts = np.arange(200) * 50, np.arange(2.0, 202.0)
    tracemalloc.start()
    upto = exact_quantiles._upto([places] * 2, [counts] * 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert upto[-1] == counts.sum() ** 2
    assert peak < 8 * upto.nbytes


def test_lattice_weighs_more_than_64_bits_can_count():
    """24 benchmarks of 9 values have 8e22 combinations: weighed by their shares, and normal but for
    skewness and kurtosis."""
    rows = np.random.default_rng(3).normal(size=(24, 9))
    found = quantiles_of_sum(points(rows), ONE, QUARTERS)
    centre, deviation = rows.mean(axis=1).sum(), np.sqrt(rows.var(axis=1).sum())
    z, apart = np.array([-0.674490, 0, 0.674490]), rows - rows.mean(axis=1, keepdims=True)
    skewness = (apart**3).mean(axis=1).sum() / deviation**3
    kurtosis = ((apart**4).mean(axis=1) - 3 * rows.var(axis=1) ** 2).sum() / deviation**4
    expansion = (
        z
        + (z**2 - 1) * skewness / 6
        + (z**3 - 3 * z) * kurtosis / 24
        - (2 * z**3 - 5 * z) * skewness**2 / 36
    )
    np.testing.assert_allclose(
        (found.values - centre) / deviation, expansion, atol=3e-4
    )  # Cornish and Fisher's: the next terms are 1e-4


def test_units_weigh_alike_however_many_values_they_have():
    """A unit of two values and one of four: counts 2 and 1."""
    values, counts = points_of(np.array([[1.0, 2.0, np.nan, np.nan], [2.0, 3.0, 4.0, 5.0]]))
    assert values.tolist() == [1, 2, 3, 4, 5]
    assert counts.tolist() == [2, 3, 1, 1, 1]


def test_weights_agree_with_repeated_values():
    """A value that counts twice is a value that stands there twice."""
    weighted = [
        [(np.array([0.0, 1.0, 5.0]), np.array([2, 1, 1])), (np.array([0.0, 0.3]), np.array([1, 3]))]
    ]
    rows = [np.array([0.0, 0.0, 1.0, 5.0]), np.array([0.0, 0.3, 0.3, 0.3])]
    found = quantiles_of_sum(weighted, ONE, QUARTERS)
    np.testing.assert_allclose(found.values, by_definition(all_sums(rows)))


def test_shared_units_make_a_mixture():
    """Two units with 2 and 4 combinations, probability 1/3 and 2/3: each combination has 1/6."""
    parts = [
        [points_of(np.array([[1.0], [2.0]]))],
        [points_of(np.array([[10.0], [20.0], [30.0], [40.0]]))],
    ]
    found = quantiles_of_sum(parts, [Fraction(1, 3), Fraction(2, 3)], QUARTERS)
    assert found.values.tolist() == [2.0, 10.0, 30.0]


@pytest.mark.parametrize("whole", [1, 2**53])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=examples(20), deadline=None)
def test_lattice_bounds_hold_for_mixtures(whole, seed):
    """Units of unequal share and values that count unequally: what the list gives lies between the
    bounds, by counts or by shares."""
    rng = np.random.default_rng(seed)
    runs = [rng.normal(place, 1, (4, 5)) for place in (0, 2)]
    parts = [[(np.sort(row), rng.integers(1, 4, 5)) for row in rows] for rows in runs]
    shares = [Fraction(1, 3), Fraction(2, 3)]
    listed = quantiles_of_sum(parts, shares, QUARTERS)
    found = on_a_lattice(parts, shares, POINTS=400, WHOLE=whole)
    assert (found.lower <= listed.values).all()
    assert (listed.values <= found.upper).all()


def test_large_counts_are_added_without_rounding():
    """Counts beyond 64 bits: where F is a quarter exactly, that sum is the quartile."""
    parts = [[(np.arange(2.0) * 2**place, np.array([10**12, 10**12])) for place in range(8)]]
    found = quantiles_of_sum(parts, ONE, QUARTERS)
    np.testing.assert_array_equal(found.values, [63, 127, 191])
    parts = [
        [(np.arange(2.0), np.array([10**12, 3 * 10**12])), *[(np.zeros(1), np.array([10**12]))] * 4]
    ]
    np.testing.assert_array_equal(quantiles_of_sum(parts, ONE, QUARTERS).values, [0, 1, 1])
