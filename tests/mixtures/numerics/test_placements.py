"""Limits of single runs by placements: the same metrics as counting, the variance of DeLong, and
coverage."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import perfarray
from perfarray.mixtures.numerics import placements
from perfarray.mixtures.numerics.comparison import MetricComparison, wilson_limits

PLAIN = MetricComparison()


def limits_of_less(runs, shape, comparison=PLAIN, ties=0.0):
    return placements.probabilities_less(runs, shape, comparison, shift=0.0, ties=ties)


def ragged(seed: int, number: int = 2) -> list[np.ndarray]:
    """Return runs (cell, unit, run) of systems with ties, gaps, empty units, and cells without
    runs."""
    rng = np.random.default_rng(seed)
    runs = [rng.integers(0, 6, (5, rng.integers(1, 5), 3)).astype(float) for _ in range(number)]
    for values in runs:
        values[rng.random(values.shape) < 0.3] = np.nan
    runs[0][0] = np.nan
    return runs


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_less_is_least_of_two(seed, ties):
    """The sums of two systems and those of several agree, limits and ties included, but where only
    one system has runs."""
    runs = ragged(seed)
    limits, tied = limits_of_less(runs, (5,), ties=0.5 * ties)
    case_of_sets, also_tied = placements.probabilities_least(runs, (5,), PLAIN, ties=ties)
    pair = ~np.isnan(limits.estimate)
    assert_allclose(tied[pair], also_tied[pair], atol=1e-12)
    for column, columns in zip(limits, case_of_sets, strict=True):
        assert_allclose(column[pair], columns[pair, 0], atol=1e-9)


def test_variance_is_that_of_delong():
    """The variance of placements is that of SciPy's Brunner-Munzel test, of which it is the square
    of estimate - 1/2 over the statistic."""
    rng = np.random.default_rng(3)
    runs = [rng.normal(0, 1, (40, 1)), rng.normal(0.4, 2, (30, 1))]
    limits, _ = limits_of_less(runs, ())
    statistic = stats.brunnermunzel(runs[0].ravel(), runs[1].ravel()).statistic
    variance = ((limits.estimate - 0.5) / statistic) ** 2
    expected = wilson_limits(limits.estimate, variance, np.array(30.0), PLAIN)
    assert_allclose(tuple(limits), tuple(expected), rtol=1e-9)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(("n_runs", "ties"), [(1, False), (1, True), (2, False), (3, True)])
def test_variances_are_those_of_redrawn_units(paired, n_runs, ties):
    """Limits are those of the variance over 2,000 samples of as many units drawn with replacement,
    within its noise; totals are drawn in groups."""
    rng = np.random.default_rng(1)
    runs = [rng.normal(mean, 1, (60, 1)) for mean in (9.6, 10.0, 10.2)]
    comparison = MetricComparison(paired=paired)
    options = {"ties": ties, "n_runs": n_runs}
    limits, _ = placements.probabilities_least(runs, (), comparison, **options)
    number = 2000 if n_runs == 1 else 300
    picks = [rng.integers(0, 60, (number, 60)) for _ in runs]
    redrawn = [values[picks[0 if paired else row]] for row, values in enumerate(runs)]
    estimates = placements.probabilities_least(redrawn, (number,), PLAIN, **options)[0].estimate
    expected = wilson_limits(
        limits.estimate, estimates.var(axis=0), np.array(60.0), comparison, n_runs
    )
    widths = [answer.upper - answer.lower for answer in (limits, expected)]
    assert_allclose(*widths, rtol=0.06 if n_runs == 1 else 0.12)


def test_limits_of_separate_runs_are_welchs():
    """Where all runs of one side are faster, the mean difference is that of the means, with Welch's
    limits."""
    rng = np.random.default_rng(2)
    new, old = rng.normal(1, 0.1, 6), rng.normal(3, 0.3, 9)
    limits = placements.mean_differences([new[:, None], old[:, None]], (), PLAIN)
    expected = stats.ttest_ind(old, new, equal_var=False).confidence_interval()
    assert_allclose((limits.lower, limits.upper), (expected.low, expected.high), rtol=1e-9)


def test_differences_do_not_depend_on_the_zero():
    """Whatever is added to all runs, mean differences stay."""
    runs = ragged(3)
    expected = placements.mean_differences(runs, (5,), PLAIN)
    moved = placements.mean_differences([1e6 + values for values in runs], (5,), PLAIN)
    for column, columns in zip(moved, expected, strict=True):
        assert_allclose(column, columns, atol=1e-9)


def test_blocks_of_cells_change_no_number(monkeypatch):
    """How many cells are sorted at once changes nothing."""
    runs = [np.random.default_rng(seed).normal(10, 1, (7, 4, 2)) for seed in (1, 2, 3)]
    answers = []
    for block in (placements.BLOCK, 1, 50):
        monkeypatch.setattr(placements, "BLOCK", block)
        limits, tied = limits_of_less(runs[:2], (7,))
        case_of_sets, _ = placements.probabilities_least(runs, (7,), PLAIN, ties=True)
        answers.append([*limits, tied, *case_of_sets])
    for right in answers[1:]:
        for first, second in zip(answers[0], right, strict=True):
            assert_array_equal(first, second)


def test_limits_of_runs_take_no_draws():
    """Neither a seed nor a number of samples changes limits of runs; without samples there are
    none."""
    times = perfarray.from_samples({"old": [2.0, 3.0, 5.0, 4.0], "new": [1.0, 2.0, 4.0, 3.0]})
    for runs in (1, 3):
        default = times.perf.prob_faster("old", runs=runs, rng=1)
        assert default.attrs["limits"] == "placements"
        assert not {"n_resamples", "rng_key"} & set(default.attrs)
        numbered = times.perf.prob_faster("old", runs=runs, n_resamples=100, rng=2)
        assert_array_equal(default["upper"], numbered["upper"])
        bare = times.perf.prob_faster("old", runs=runs, n_resamples=0)
        assert bare["upper"].isnull().all()
        assert_array_equal(bare["estimate"], default["estimate"])


def test_no_cells_and_no_runs():
    """An empty archive has empty answers, cells without runs have none; one unit has no limits."""
    empty = [np.empty((0, 3, 1))] * 2
    assert limits_of_less(empty, (0,))[0].estimate.shape == (0,)
    assert placements.probabilities_least(empty, (0,), PLAIN, ties=False)[0].estimate.shape == (
        0,
        2,
    )
    for units in (np.empty((2, 0, 1)), np.full((2, 3, 1), np.nan)):
        limits, tied = limits_of_less([units, units], (2,))
        assert np.isnan([*limits, tied]).all()
        assert np.isnan(placements.mean_differences([units, units], (2,), PLAIN)).all()
    first, large = np.ones((1, 1, 3)), np.arange(4.0).reshape(1, 4, 1)
    for limits in (
        limits_of_less([first, large], (1,))[0],
        placements.mean_differences([first, large], (1,), PLAIN),
    ):
        assert np.isfinite(limits.estimate).all()
        assert np.isnan([limits.lower, limits.upper]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gap", "spread", "number"),
    [
        (1.0, 1.0, 3),
        (1.0, 1.0, 5),
        (1.0, 1.0, 10),
        (1.0, 1.0, 30),
        (0.0, 2.0, 6),
        (2.0, 2.0, 6),
        (4.0, 2.0, 6),
    ],
)
def test_limits_cover(gap, spread, number):
    """A nominal 95 % covers at least 90 % of normal samples, near one as well as at one half."""
    rng = np.random.default_rng(5)
    systems = [rng.normal(0, 1, (3000, number, 1)), rng.normal(gap, spread, (3000, number, 1))]
    width = np.sqrt(1 + spread**2)
    limits = [
        limits_of_less(systems, (3000,))[0],
        placements.mean_differences(systems, (3000,), PLAIN),
    ]
    truths = stats.norm.cdf(gap / width), stats.foldnorm.mean(gap / width, scale=width)
    for answer, truth in zip(limits, truths, strict=True):
        assert ((answer.lower <= truth) & (truth <= answer.upper)).mean() >= 0.90
