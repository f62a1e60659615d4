"""The runs that would make an observed speedup significant: Student's and Welch's t by the
noncentral t, ranks by Noether's formula."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import perfarray
from perfarray.speedups.numerics.tests import runs_for_ranks, runs_for_t

OLD, NEW = [10.0, 10.3, 9.8, 10.2, 10.1], [10.0, 9.7, 10.2, 10.1, 9.9]


def outcome(statistic="mean", old=OLD, new=NEW, **keywords):
    times = perfarray.from_samples({"old": old, "new": new})
    return times.perf.speedup_test(
        "old", statistic=statistic, **{"confidence_level": 0.95, **keywords}
    ).squeeze()


@pytest.mark.parametrize("risk", [0.05, 0.01])
def test_the_fewest_for_student(risk):
    """Of equal variances: the first number of runs whose power is 80 % by SciPy's noncentral t."""
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 1.5, 2.5, 3.5])

    def power(n):
        return stats.nct.sf(
            stats.t.ppf(1 - risk, 2 * n - 2), 2 * n - 2, 0.5 / math.sqrt(2 * x.var(ddof=1) / n)
        )

    n = int(runs_for_t(x, y, np.array(risk)))
    assert power(n) >= 0.8 > power(n - 1)


def test_noether_by_hand():
    """(1.6449 + 0.8416)^2 = 6.1826; over 6 x 0.1^2 it is 103.04."""
    n_runs = runs_for_ranks(np.array([0.6, 0.5, 0.4, np.nan, 1.0]), np.full(5, 0.05))
    assert n_runs.tolist()[:3] == [104.0, math.inf, math.inf]
    assert math.isnan(n_runs[3])
    assert n_runs[4] == 5
    assert (
        runs_for_ranks(np.array(1.0), np.array(0.5)) == 2
    )  # the formula gives 1: of one run there is no test


@pytest.mark.parametrize("shift", [0.5, 1.0])
def test_planned_runs_are_enough(shift):
    """Of 2,000 experiments with as many runs as planned 80 % show the shift, both tests; 0.03 is
    three Monte Carlo errors."""
    rng = np.random.default_rng(1)
    exact = stats.norm.ppf((np.arange(1, 200) - 0.5) / 199)
    exact /= exact.std(ddof=1)
    runs = {
        "t": runs_for_t(exact + shift, exact, np.array(0.05)),
        "ranks": runs_for_ranks(stats.norm.cdf(shift / math.sqrt(2)), 0.05),
    }
    for test, n in runs.items():
        x, y = rng.standard_normal((2, 2000, int(n)))
        test_function = stats.ttest_ind if test == "t" else stats.mannwhitneyu
        is_significant = test_function(x + shift, y, axis=1, alternative="greater").pvalue <= 0.05
        assert 0.77 < is_significant.mean() < 0.87


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_where_a_number_is_given(statistic):
    """There is none where the speedup is significant, or 1 or less, or of one run; a lower level
    needs fewer runs."""
    assert outcome(statistic)["required"] > 5
    assert (
        outcome(statistic, confidence_level=0.99)["required"]
        > outcome(statistic)["required"]
        > outcome(statistic, confidence_level=0.9)["required"]
    )
    assert math.isnan(outcome(statistic, new=[value - 2 for value in NEW])["required"])
    assert math.isnan(outcome(statistic, OLD, [value + 2 for value in NEW])["required"])
    with pytest.warns(perfarray.PerfarrayWarning, match="one"):
        assert math.isnan(outcome(statistic, [2.0], [1.0])["required"])


def test_small_samples_without_a_conclusion_need_31():
    """From 31 runs on the protocol goes on where a condition fails."""
    tests = outcome(old=[10.0] * 9 + [19.0], new=[8.0] * 9 + [16.0])
    assert tests["test"].item() == "cannot conclude"
    assert tests["required"].item() == 31


def test_a_searched_level_is_planned_for_at_95():
    """Where the search finds a level the speedup is significant, and there is no number."""
    close = {"old": [2.0, 2.1, 1.9, 2.05], "new": [1.99, 2.09, 1.9, 2.06]}
    searched, fixed = (outcome(**close, confidence_level=level) for level in (None, 0.95))
    assert bool(searched["significant"]) == math.isnan(searched["required"])
    assert fixed["required"] > 100


def test_rates_and_lazy_arrays():
    """A rate counts with a negative sign; the result of a lazy array is lazy."""
    pytest.importorskip("dask")
    values = xr.DataArray(
        [[OLD, NEW]],
        dims=("benchmark", "version", "execution"),
        coords={"version": ["old", "new"]},
        name="time",
    )
    rates = (-values + 30).rename("throughput").assign_attrs(better="higher")
    expected = values.perf.speedup_test("old", confidence_level=0.95)["required"]
    np.testing.assert_allclose(
        rates.perf.speedup_test("old", confidence_level=0.95)["required"], expected
    )
    lazy = values.chunk(benchmark=1).perf.speedup_test("old", confidence_level=0.95)
    assert lazy["required"].chunks
    np.testing.assert_array_equal(lazy["required"].compute(), expected)


def test_the_table_shows_them():
    """The table has a column where there is a number, and none where all are significant; infinite
    is a word."""
    assert outcome().perf.table()["runs needed"].item() == f"{outcome()['required'].item():.0f}"
    assert "runs needed" not in outcome(new=[value - 2 for value in NEW]).perf.table()
    even = outcome(
        "median",
        [10.0, 10.0, 10.0, 13.0, 13.1, 13.2, 13.3],
        [9.9, 10.0, 10.1, 12.9, 99.0, 99.0, 99.0],
    )
    assert even.perf.table()["runs needed"].item() == "infinite"
