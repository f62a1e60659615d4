"""Metrics of runs against counting every pair and every combination, against R, and their laws."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from statsmodels.stats.proportion import proportion_confint

from perfarray.mixtures.numerics import empirical
from perfarray.mixtures.numerics.empirical import (
    Drawing,
    difference,
    least,
    less,
    resampled,
    score_limits,
    unit_differences,
)
from perfarray.numerics.levels import unit_weights
from strategies import examples

NONE = Drawing(0, (1, 2), False, 0.95)
REDRAWN = Drawing(200, (1, 2), False, 0.95)
CELL = np.array(0)

ragged = st.lists(
    st.lists(st.integers(0, 5).map(float), min_size=1, max_size=3), min_size=1, max_size=3
)
quick = settings(max_examples=examples(30), deadline=None)


def padded(units: list[list[float]]) -> np.ndarray:
    found = np.full((len(units), max(map(len, units))), np.nan)
    for row, unit in zip(found, units, strict=True):
        row[: len(unit)] = unit
    return found


def combinations(systems: list[np.ndarray]):
    """Yield every combination of one run per system, with its weight."""
    flat = [list(zip(runs.ravel(), unit_weights(runs).ravel(), strict=True)) for runs in systems]
    for combination in itertools.product(*flat):
        values, weights = zip(*combination, strict=True)
        if not np.isnan(values).any():
            yield np.array(values), np.prod(weights)


def value(systems, metric, **keywords):
    return resampled(systems, CELL, metric, NONE, **keywords).estimate


@quick
@given(ragged, ragged, st.integers(-2, 2).map(float))
def test_pairs_are_those_that_counting_finds(new, old, shift):
    """Differences and probabilities are the weighted sums over all pairs, ties and unequal units
    included."""
    systems = [padded(new), padded(old)]
    pairs = list(combinations(systems))
    assert_allclose(
        value(systems, difference), sum(w * abs(x - y) for (x, y), w in pairs), atol=1e-12
    )
    strict = sum(w * (x < y + shift) for (x, y), w in pairs)
    tied = sum(w * (x == y + shift) for (x, y), w in pairs)
    assert_allclose(value(systems, less(shift, 0.0)), strict, atol=1e-12)
    assert_allclose(value(systems, less(shift, 0.5)), strict + 0.5 * tied, atol=1e-12)


@quick
@given(st.lists(ragged, min_size=2, max_size=3))
def test_least_is_what_counting_combinations_finds(units):
    """The least of several: strict, and ties shared alike, which leave nothing over."""
    systems = [padded(own) for own in units]
    strict, shared = np.zeros(len(systems)), np.zeros(len(systems))
    for values, weight in combinations(systems):
        first = values == values.min()
        strict += weight * first * (first.sum() == 1)
        shared += weight * first / first.sum()
    assert_allclose(value(systems, least(False), each=True), strict, atol=1e-12)
    found = value(systems, least(True), each=True)
    assert_allclose(found, shared, atol=1e-12)
    assert_allclose(found.sum(), 1.0)


@quick
@given(ragged.filter(lambda units: len(units) > 1))
def test_own_difference_leaves_out_pairs_inside_a_unit(units):
    """Two runs of one system come from different units."""
    runs = padded(units)
    apart = [
        np.mean([abs(x - y) for x in one for y in other])
        for one, other in itertools.permutations(units, 2)
    ]
    assert_allclose(unit_differences(runs), np.mean(apart), atol=1e-12)


@pytest.mark.parametrize("case", range(5))
def test_oracle_pairs(golden, case):
    """Differences and probabilities of pairs are R's."""
    pair = golden("varcore_metrics")["pairs"][case]
    systems = [np.array(pair["input"][name], float)[:, None] for name in "xy"]
    expected = pair["output"]
    assert_allclose(value(systems, difference), expected["I1_nonparam"], rtol=1e-10)
    for half, name in ((0.0, "I2_nonparam_strict"), (0.5, "I2_nonparam_ties_half")):
        found = [value(systems, less(shift, half)) for shift in pair["input"]["shifts"]]
        assert_allclose(found, expected[name], rtol=1e-10)


@pytest.mark.parametrize("case", range(4))
def test_oracle_sets(golden, case):
    """Probabilities of being the least of three to five are R's."""
    several = golden("varcore_metrics")["multi"][case]
    systems = [np.array(runs, float)[:, None] for runs in several["input"]["samples"]]
    for ties, name in ((False, "I3_nonparam_strict"), (True, "I3_nonparam_ties_shared")):
        assert_allclose(value(systems, least(ties), each=True), several["output"][name], rtol=1e-10)


def test_weights_of_replicates_are_redrawn_units():
    """The replicates of a difference of one unit from a constant are those of drawing units with
    replacement."""
    runs, constant = np.array([[0.0], [4.0]]), np.zeros((30, 1))
    found = resampled([runs, constant], CELL, difference, REDRAWN._replace(n_resamples=4000))
    assert_allclose((found.lower, found.estimate, found.upper), (0.0, 2.0, 4.0), atol=1e-12)


def test_certain_probabilities_keep_an_interval():
    """Where every run of five is faster than every run of five, the limit is that of 5 of 5, and
    not 1."""
    found = resampled(
        [np.arange(5.0)[:, None], 10 + np.arange(5.0)[:, None]],
        CELL,
        less(0.0, 0.0),
        REDRAWN,
        score=True,
    )
    assert_allclose(
        (found.lower, found.estimate, found.upper), (5 / (5 + 1.959964**2), 1.0, 1.0), rtol=1e-6
    )


@pytest.mark.parametrize(("replicates", "paired", "runs", "units"), [
    ([0.499, 0.501] * 20, False, 1, 20), ([0.0, 1.0] * 20, False, 1, 10), ([0.0, 1.0] * 20, True, 1, 5), ([0.5] * 40, False, 2, 5),
])  # fmt: skip
def test_score_limits_are_wilsons_of_one_to_two_times_the_units(replicates, paired, runs, units):
    """Of ten units at most twenty are believed, and at least ten; five if units are paired, or
    totals are of two runs."""
    limits = score_limits(
        np.array([0.5, *replicates]), np.array(10.0), REDRAWN._replace(paired=paired), runs
    )
    assert_allclose(
        (limits.lower, limits.upper),
        proportion_confint(units / 2, units, method="wilson"),
        rtol=1e-9,
    )


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.0, 2.0, 4.0])
def test_probability_limits_cover(gap):
    """A nominal 95 % covers at least 90 % of normal samples of six units a side, near one as well
    as at one half."""
    from scipy.special import ndtr

    rng = np.random.default_rng(5)
    systems = [rng.normal(0, 1, (400, 6, 1)), rng.normal(gap, 2, (400, 6, 1))]
    found = resampled(systems, np.arange(400), less(0.0, 0.0), REDRAWN, score=True)
    truth = ndtr(gap / np.sqrt(5))
    assert ((found.lower <= truth) & (truth <= found.upper)).mean() >= 0.90


def test_paired_units_are_redrawn_together():
    """Units that move together make a difference certain; units on one side only are left out."""
    new = np.arange(12.0)[:, None]
    old = new + 0.0
    old[-1] = np.nan
    paired = resampled([new, old], CELL, less(0.5, 0.0), REDRAWN._replace(paired=True))
    assert_allclose(paired.estimate, (11 * 12 / 2) / 11**2)
    alone = resampled([new, old], CELL, less(0.5, 0.0), REDRAWN)
    assert paired.upper - paired.lower < 0.5 * (alone.upper - alone.lower)


def test_cells_do_not_depend_on_their_neighbours():
    """A cell's answer is that of the cell alone; cells without runs, or with one unit, say so by
    NaN."""
    rng = np.random.default_rng(1)
    systems = [rng.normal(size=(3, 8, 2)), rng.normal(size=(3, 8, 2))]
    systems[0][1] = np.nan
    systems[0][2, 1:] = np.nan
    together = resampled(systems, np.arange(3), less(0.0, 0.0), REDRAWN)
    alone = resampled([own[:1] for own in systems], np.arange(1), less(0.0, 0.0), REDRAWN)
    for one, all_ in zip(alone, together, strict=True):
        assert_array_equal(one[0], all_[0])
    assert np.isnan([part[1] for part in together]).all()
    assert not np.isnan(together.estimate[2])
    assert np.isnan((together.lower[2], together.upper[2])).all()


def test_a_system_without_runs_is_left_out():
    """The others compete without it."""
    systems = [np.array([[1.0], [2.0]]), np.full((2, 1), np.nan), np.array([[3.0], [4.0]])]
    assert_array_equal(
        resampled(systems, CELL, least(False), NONE, each=True).estimate, [1.0, np.nan, 0.0]
    )


@pytest.mark.parametrize("paired", [False, True])
def test_replicates_are_those_of_any_block(paired, monkeypatch):
    """How many replicates are held at once changes no number."""
    runs = [np.random.default_rng(seed).normal(10, 1, (7, 3)) for seed in (1, 2)]
    drawing = Drawing(20, (1, 2), paired, 0.95)
    found = []
    for block in (empirical.BLOCK, 1, 150):
        monkeypatch.setattr(empirical, "BLOCK", block)
        found.append(resampled(runs, np.array(5), difference, drawing))
    for other in found[1:]:
        assert_allclose(other, found[0], rtol=1e-13)
    assert found[0].lower < found[0].estimate < found[0].upper
