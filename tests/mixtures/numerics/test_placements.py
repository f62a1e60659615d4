"""Limits of single runs by placements: the same metrics as counting, the variance of DeLong, and
coverage."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import perfarray
from perfarray.mixtures.numerics import placements
from perfarray.mixtures.numerics.empirical import Drawing, difference, least, less, resampled
from strategies import examples

NONE = Drawing(0, (1, 2), False, 0.95)
quick = settings(max_examples=examples(30), deadline=None)
cells = st.integers(0, 2**32 - 1)


def ragged(seed: int, number: int = 2) -> list[np.ndarray]:
    """Return runs (cell, unit, run) of systems with ties, gaps, empty units, and cells without
    runs."""
    rng = np.random.default_rng(seed)
    runs = [rng.integers(0, 6, (5, rng.integers(1, 5), 3)).astype(float) for _ in range(number)]
    for values in runs:
        values[rng.random(values.shape) < 0.3] = np.nan
    runs[0][0] = np.nan
    return runs


def shares(shift: float = 0.0, ties: float = 0.0):
    return partial(placements.less_shares, shift=shift, ties=ties)


@quick
@given(cells, st.integers(-2, 2).map(float), st.sampled_from([0.0, 0.5]))
def test_probabilities_are_those_of_weighted_pairs(seed, shift, ties):
    """Cells at once give what single cells give, with ties, gaps and unequal units."""
    runs = ragged(seed)
    limits, tied = placements.two_systems(runs, (5,), shares(shift, ties), NONE, score=True)
    strict, loose, expected = (
        resampled(runs, np.arange(5), less(shift, share), NONE).estimate
        for share in (0.0, 1.0, ties)
    )
    assert_allclose(limits.estimate, expected, atol=1e-12)
    assert_allclose(tied, loose - strict, atol=1e-12)


@quick
@given(cells)
def test_differences_are_those_of_weighted_pairs(seed):
    """So do differences, whatever is added to all runs."""
    runs = [1e6 + values for values in ragged(seed)]
    limits, _ = placements.two_systems(runs, (5,), placements.difference_shares, NONE, score=False)
    assert_allclose(
        limits.estimate, resampled(runs, np.arange(5), difference, NONE).estimate, atol=1e-9
    )


@quick
@given(cells, st.booleans(), st.integers(2, 5))
def test_the_least_of_several_is_what_single_cells_give(seed, ties, number):
    """Strict, and with ties shared; a system without runs is left out."""
    rng = np.random.default_rng(seed)
    runs = list(np.stack([np.resize(values, (5, 3, 2)) for values in ragged(seed, number)]))
    runs[1][rng.integers(5)] = np.nan
    limits, tied = placements.several_systems(runs, (5,), ties, NONE)
    assert_allclose(
        limits.estimate,
        resampled(runs, np.arange(5), least(ties), NONE, each=True).estimate,
        atol=1e-12,
    )
    strict = resampled(runs, np.arange(5), least(False), NONE, each=True).estimate
    assert_allclose(
        tied,
        np.where(np.isnan(strict).all(axis=-1), np.nan, 1 - np.nansum(strict, axis=-1)),
        atol=1e-12,
    )


def test_variance_is_that_of_delong():
    """The variance of placements is that of SciPy's Brunner-Munzel test, of which it is the square
    of estimate - 1/2 over the statistic."""
    rng = np.random.default_rng(3)
    new, old = rng.normal(0, 1, 40), rng.normal(0.4, 2, 30)
    answer = shares()(new[None], old[None], [np.full((1, 40), 1 / 40), np.full((1, 30), 1 / 30)])
    variance = answer.new.var(ddof=1) / 40 + answer.old.var(ddof=1) / 30
    statistic = stats.brunnermunzel(new, old).statistic
    assert_allclose((answer.estimate[0] - 0.5) ** 2 / variance, statistic**2, rtol=1e-9)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_variances_are_those_of_redrawn_units(paired, ties):
    """Limits have the widths of limits with as many units redrawn, within the noise of 4,000
    replicates."""
    rng = np.random.default_rng(1)
    runs = [rng.normal(mean, 1, (2, 60, 1)) for mean in (9.3, 10.0, 10.2)]
    drawing = Drawing(4000, (1, 2), paired, 0.95)
    pairs = [
        (
            placements.two_systems(runs[:2], (2,), shares(), drawing, score=True)[0],
            less(0.0, 0.0),
            {"score": 1},
            runs[:2],
        ),
        (
            placements.two_systems(
                runs[:2], (2,), placements.difference_shares, drawing, score=False
            )[0],
            difference,
            {},
            runs[:2],
        ),
        (
            placements.several_systems(runs, (2,), ties, drawing)[0],
            least(ties),
            {"score": 1, "each": True},
            runs,
        ),
    ]
    for limits, metric, options, systems in pairs:
        redrawn = resampled(systems, np.arange(2), metric, drawing, **options)
        assert_allclose(limits.upper - limits.lower, redrawn.upper - redrawn.lower, rtol=0.06)


def test_limits_of_separate_runs_are_welchs():
    """Where all runs of one side are faster, the mean difference is that of the means, with Welch's
    limits."""
    rng = np.random.default_rng(2)
    new, old = rng.normal(1, 0.1, 6), rng.normal(3, 0.3, 9)
    limits, _ = placements.two_systems(
        [new[:, None], old[:, None]], (), placements.difference_shares, NONE, score=False
    )
    expected = stats.ttest_ind(old, new, equal_var=False).confidence_interval()
    assert_allclose((limits.lower, limits.upper), (expected.low, expected.high), rtol=1e-9)


def test_blocks_of_cells_change_no_number(monkeypatch):
    """How many cells are sorted at once changes nothing."""
    runs = [np.random.default_rng(seed).normal(10, 1, (7, 4, 2)) for seed in (1, 2, 3)]
    answers = []
    for block in (placements.BLOCK, 1, 50):
        monkeypatch.setattr(placements, "BLOCK", block)
        two = placements.two_systems(runs[:2], (7,), shares(), NONE, score=True)
        answers.append([*two[0], two[1], *placements.several_systems(runs, (7,), True, NONE)[0]])
    for other in answers[1:]:
        for first, second in zip(answers[0], other, strict=True):
            assert_array_equal(first, second)


def test_replicates_are_by_name():
    """Without a number nothing is redrawn, and a seed changes nothing; a number redraws as many."""
    times = perfarray.from_samples({"old": [2.0, 3.0, 5.0, 4.0], "new": [1.0, 2.0, 4.0, 3.0]})
    placed = times.perf.prob_faster("old", rng=1)
    assert placed.attrs["limits"] == "placements"
    assert not {"n_resamples", "rng_key"} & set(placed.attrs)
    assert_array_equal(placed["upper"], times.perf.prob_faster("old", rng=2)["upper"])
    redrawn = times.perf.prob_faster("old", n_resamples=100, rng=1)
    assert (redrawn.attrs["n_resamples"], "limits" in redrawn.attrs) == (100, False)
    assert_allclose(redrawn["estimate"], placed["estimate"])


def test_no_cells_and_no_runs():
    """An empty archive has empty answers, cells without runs have none; one unit has no limits."""
    empty = [np.empty((0, 3, 1))] * 2
    assert placements.two_systems(empty, (0,), shares(), NONE, score=True)[0].estimate.shape == (0,)
    assert placements.several_systems(empty, (0,), False, NONE)[0].estimate.shape == (0, 2)
    for units in (np.empty((2, 0, 1)), np.full((2, 3, 1), np.nan)):
        for share, score in ((shares(), True), (placements.difference_shares, False)):
            limits, tied = placements.two_systems([units, units], (2,), share, NONE, score=score)
            assert np.isnan([*limits, tied]).all()
    one, many = np.ones((1, 1, 3)), np.arange(4.0).reshape(1, 4, 1)
    for limits in (
        placements.two_systems([one, many], (1,), shares(), NONE, score=True)[0],
        placements.two_systems([one, many], (1,), placements.difference_shares, NONE, score=False)[
            0
        ],
    ):
        assert np.isfinite(limits.estimate).all()
        assert np.isnan([limits.lower, limits.upper]).all()


@pytest.mark.slow
@pytest.mark.parametrize("number", [3, 5, 10, 30])
def test_limits_cover(number):
    """A nominal 95 % covers at least 90 % of normal samples."""
    rng = np.random.default_rng(5)
    systems = [rng.normal(mean, 1, (3000, number, 1)) for mean in (-1, 0)]
    truths = stats.norm.cdf(1 / np.sqrt(2)), stats.foldnorm.mean(1 / np.sqrt(2), scale=np.sqrt(2))
    for share, score, truth in zip(
        (shares(), placements.difference_shares), (True, False), truths, strict=True
    ):
        limits, _ = placements.two_systems(systems, (3000,), share, NONE, score=score)
        assert ((limits.lower <= truth) & (truth <= limits.upper)).mean() >= 0.90
