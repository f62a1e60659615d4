"""Metrics of runs against counting every pair and every combination, and against R."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from statsmodels.stats.proportion import proportion_confint

from perfarray.mixtures.numerics.comparison import MetricComparison, wilson_limits
from perfarray.mixtures.numerics.placements import (
    mean_differences,
    probabilities_least,
    probabilities_less,
    unit_differences,
)
from perfarray.numerics.levels import unit_weights
from strategies import examples

PLAIN = MetricComparison()

ragged = st.lists(
    st.lists(st.integers(0, 5).map(float), min_size=1, max_size=3), min_size=1, max_size=3
)
quick = settings(max_examples=examples(30), deadline=None)


def padded(units: list[list[float]]) -> np.ndarray:
    """Return units of different length as rows (unit, run)."""
    rows = np.full((len(units), max(map(len, units))), np.nan)
    for row, unit in zip(rows, units, strict=True):
        row[: len(unit)] = unit
    return rows


def combinations(systems: list[np.ndarray]):
    """Yield every combination of one run per system, with its weight."""
    flat = [list(zip(runs.ravel(), unit_weights(runs).ravel(), strict=True)) for runs in systems]
    for combination in itertools.product(*flat):
        values, weights = zip(*combination, strict=True)
        if not np.isnan(values).any():
            yield np.array(values), np.prod(weights)


def difference(systems):
    return mean_differences(systems, (), PLAIN).estimate


def less(systems, shift, ties):
    return probabilities_less(systems, (), PLAIN, shift=shift, ties=ties)[0].estimate


def least(systems, ties, **totals):
    return probabilities_least(systems, (), PLAIN, ties=ties, **totals)[0].estimate


@quick
@given(ragged, ragged, st.integers(-2, 2).map(float))
def test_pairs_are_those_that_counting_finds(new, old, shift):
    """Differences and probabilities are the weighted sums over all pairs, ties and unequal units
    included."""
    systems = [padded(new), padded(old)]
    pairs = list(combinations(systems))
    assert_allclose(difference(systems), sum(w * abs(x - y) for (x, y), w in pairs), atol=1e-12)
    strict = sum(w * (x < y + shift) for (x, y), w in pairs)
    tied = sum(w * (x == y + shift) for (x, y), w in pairs)
    assert_allclose(less(systems, shift, 0.0), strict, atol=1e-12)
    assert_allclose(less(systems, shift, 0.5), strict + 0.5 * tied, atol=1e-12)


@quick
@given(st.lists(ragged, min_size=2, max_size=3))
def test_least_is_what_counting_combinations_finds(units):
    """The least of several: strict, and ties shared alike, which leave nothing over."""
    systems = [padded(sample) for sample in units]
    strict, shared = np.zeros(len(systems)), np.zeros(len(systems))
    for values, weight in combinations(systems):
        first = values == values.min()
        strict += weight * first * (first.sum() == 1)
        shared += weight * first / first.sum()
    assert_allclose(least(systems, False), strict, atol=1e-12)
    probabilities = least(systems, True)
    assert_allclose(probabilities, shared, atol=1e-12)
    assert_allclose(probabilities.sum(), 1.0)


@quick
@given(ragged, ragged, st.integers(-2, 2).map(float))
def test_totals_of_unequal_units_are_counted(new, old, shift):
    """Totals of two runs draw every run with its weight."""
    systems = [padded(new), padded(old)]
    totals = [list(combinations([runs, runs])) for runs in systems]
    pairs = [(sum(x) - sum(y) - shift, w * v) for (x, w), (y, v) in itertools.product(*totals)]
    strict = sum(weight for ahead, weight in pairs if ahead < 0)
    tied = sum(weight for ahead, weight in pairs if ahead == 0)
    options = {"n_runs": 2, "shift": shift}
    assert_allclose(least(systems, False, **options)[0], strict, atol=1e-12)
    assert_allclose(least(systems, True, **options)[0], strict + 0.5 * tied, atol=1e-12)


@pytest.mark.parametrize(
    ("new", "old", "shift", "strict", "half"),
    [
        ([[2.0, 5.0]], [[4.0]], 2.0, 0.75, 0.875),  # 10 ties with 8 + 2 in a quarter
        ([[2.0]], [[3.0, 0.0]], -2.0, 0.0, 0.125),  # 4 ties with 6 - 2 in a quarter
        ([[0.1], [0.4]], [[0.3]], -0.1, 0.25, 0.5),  # .5 ties with .6 - .1 in a half
    ],
)
def test_totals_of_three_distinct_runs_tie_exactly(new, old, shift, strict, half):
    """Three distinct runs show no step; their totals tie although runs are rounded to a unit."""
    systems = [padded(new), padded(old)]
    probabilities = [
        least(systems, ties, n_runs=2, shift=shift)[0].item() for ties in (False, True)
    ]
    assert_allclose(probabilities, [strict, half], atol=1e-12)


@quick
@given(ragged.filter(lambda units: len(units) > 1))
def test_own_difference_leaves_out_pairs_inside_a_unit(units):
    """Two runs of one system come from different units."""
    pairs = [
        np.mean([abs(x - y) for x in first for y in second])
        for first, second in itertools.permutations(units, 2)
    ]
    assert_allclose(unit_differences(padded(units)), np.mean(pairs), atol=1e-12)


@pytest.mark.parametrize("case", range(5))
def test_oracle_pairs(golden, case):
    """Differences and probabilities of pairs are R's."""
    pair = golden("varcore_metrics")["pairs"][case]
    systems = [np.array(pair["input"][name], float)[:, None] for name in "xy"]
    expected = pair["output"]
    assert_allclose(difference(systems), expected["I1_nonparam"], rtol=1e-10)
    for half, name in ((0.0, "I2_nonparam_strict"), (0.5, "I2_nonparam_ties_half")):
        probabilities = [less(systems, shift, half) for shift in pair["input"]["shifts"]]
        assert_allclose(probabilities, expected[name], rtol=1e-10)


@pytest.mark.parametrize("case", range(4))
def test_oracle_sets(golden, case):
    """Probabilities of being the least of three to five are R's."""
    case_of_sets = golden("varcore_metrics")["multi"][case]
    systems = [np.array(runs, float)[:, None] for runs in case_of_sets["input"]["samples"]]
    for ties, name in ((False, "I3_nonparam_strict"), (True, "I3_nonparam_ties_shared")):
        assert_allclose(least(systems, ties), case_of_sets["output"][name], rtol=1e-10)


def test_certain_probabilities_keep_an_interval():
    """Where every run of five is faster than every run of five, the limit is that of 5 of 5, and
    not 1."""
    systems = [np.arange(5.0)[:, None], 10 + np.arange(5.0)[:, None]]
    limits, _ = probabilities_less(systems, (), PLAIN, shift=0.0, ties=0.0)
    assert_allclose(tuple(limits), (1.0, 5 / (5 + 1.959964**2), 1.0), rtol=1e-6)


def test_a_certain_probability_of_totals_rests_on_groups_of_units():
    """Ten units are five totals of two runs: where all are faster, the limit is that of 5 of 5."""
    limits = wilson_limits(np.array(1.0), np.array(0.0), np.array(10.0), PLAIN, 2)
    assert_allclose((limits.lower, limits.upper), proportion_confint(5, 5, method="wilson"))


@pytest.mark.parametrize(
    ("variance", "paired", "runs", "units"),
    [(1e-6, False, 1, 20), (0.25, False, 1, 10), (0.25, True, 1, 5), (0.25, False, 2, 5)],
)
def test_score_limits_are_wilsons_of_one_to_two_times_the_units(variance, paired, runs, units):
    """Of ten units at most twenty are believed, and at least ten; five if units are paired, or
    totals are of two runs."""
    limits = wilson_limits(
        np.array(0.5), np.array(variance), np.array(10.0), MetricComparison(paired=paired), runs
    )
    assert_allclose(
        (limits.lower, limits.upper),
        proportion_confint(units / 2, units, method="wilson"),
        rtol=1e-9,
    )


def test_paired_units_vary_together():
    """Where one side's chance makes up for the other's, limits are those of two times the units;
    units on one side only are left out."""
    new = np.arange(12.0)[:, None]
    old = new + 0.0
    old[-1] = np.nan
    paired, _ = probabilities_less(
        [new, old], (), MetricComparison(paired=True), shift=0.5, ties=0.0
    )
    assert_allclose(paired.estimate, (11 * 12 / 2) / 11**2)
    assert_allclose((paired.lower, paired.upper), proportion_confint(12, 22, method="wilson"))


@pytest.mark.parametrize("n_runs", [1, 3])
def test_cells_do_not_depend_on_their_neighbours(n_runs):
    """A cell's answer is that of the cell alone; cells without runs, or with one unit, say so by
    NaN."""
    rng = np.random.default_rng(1)
    systems = [rng.normal(size=(3, 8, 2)), rng.normal(size=(3, 8, 2))]
    systems[0][1] = np.nan
    systems[0][2, 1:] = np.nan
    limits, _ = probabilities_least(systems, (3,), PLAIN, ties=False, n_runs=n_runs)
    alone, _ = probabilities_least(
        [runs[:1] for runs in systems], (1,), PLAIN, ties=False, n_runs=n_runs
    )
    for column, columns in zip(alone, limits, strict=True):
        assert_array_equal(column[0], columns[0])
    assert_array_equal(limits.estimate[1], [np.nan, 1.0])
    assert not np.isnan(limits.estimate[2]).any()
    assert np.isnan([limits.lower[2], limits.upper[2]]).all()


@pytest.mark.parametrize("n_runs", [1, 2])
def test_a_system_without_runs_is_left_out(n_runs):
    """The others compete without it."""
    systems = [np.array([[1.0], [2.0]]), np.full((2, 1), np.nan), np.array([[3.0], [4.0]])]
    assert_array_equal(least(systems, False, n_runs=n_runs), [1.0, np.nan, 0.0])
