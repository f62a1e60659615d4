"""The hierarchical performance test: numbers from R, SciPy's exact laws, and the speedup by
hand."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from perfarray.suites.numerics.hierarchical import (
    fewest_runs,
    hierarchical_test,
    kept_differences,
    rank_sum_pvalue,
    rank_sum_pvalues,
    signed_rank_pvalue,
    smallest_pvalues,
)

RULES = {"drop": "wilcoxon", "pratt": "pratt", "split": "split"}


def test_both_steps_are_r_s(golden):
    """Exact rank sums given the ties, differences kept, signed ranks under three rules for
    zeros."""
    for case in golden("hpt")["cases"]:
        rows = [[np.array(row, dtype=float) for row in case["input"][side]] for side in "AB"]
        first, second = case["output"]["step1"], case["output"]["step2_after_zeroing"]
        pvalues = [rank_sum_pvalue(a, b) for a, b in zip(*rows, strict=True)]
        np.testing.assert_allclose(
            pvalues, first["p_two_sided_exact_conditional_on_ties"], rtol=1e-12
        )
        differences = kept_differences(*(np.array(row) for row in rows), 0.05)
        np.testing.assert_allclose(differences, first["difference_kept"], rtol=1e-9, atol=1e-12)
        for rule, name in RULES.items():
            assert signed_rank_pvalue(differences, rule) == pytest.approx(
                second[name]["p_greater"], abs=1e-12
            )
            assert signed_rank_pvalue(-differences, rule) == pytest.approx(
                second[name]["p_less"], abs=1e-12
            )
        confidence = hierarchical_test(*(np.array(row) for row in rows), 0.05, 0.95).confidence
        has_answer = rows[0][0].size > 3  # what cannot be answered is 0 there
        assert confidence == pytest.approx(
            case["output"]["confidence_A_greater"] if has_answer else np.nan, abs=1e-12, nan_ok=True
        )


def test_exact_laws_are_scipy_s():
    """Without ties, for several sizes; with 50 runs a side, the normal law with continuity
    correction."""
    rng = np.random.default_rng(0)
    for n, m in ((3, 4), (5, 5), (20, 11), (60, 55)):
        x, y = rng.normal(0.3, 1, n), rng.normal(0, 1, m)
        method = "exact" if n < 50 else "asymptotic"
        assert rank_sum_pvalue(x, y) == pytest.approx(
            stats.mannwhitneyu(x, y, method=method).pvalue, rel=1e-9
        )
        assert signed_rank_pvalue(x) == pytest.approx(
            stats.wilcoxon(x, alternative="greater", method="exact").pvalue, rel=1e-9
        )


def test_signed_ranks_of_many_are_almost_normal():
    """2,200 signs have more than 2^1074 equally likely outcomes, and either tail has its p."""
    x = np.random.default_rng(3).normal(0.03, 1, 2200)
    for differences in (x, -x):
        normal = stats.wilcoxon(
            differences, alternative="greater", method="asymptotic", correction=True
        )
        assert signed_rank_pvalue(differences) == pytest.approx(normal.pvalue, abs=2e-5)


def test_speedup_is_the_largest_factor_accepted():
    """Six benchmarks, five of which must stay significant: the second smallest critical factor."""
    runs, ratios = np.linspace(1, 1.04, 5), np.array([0.9, 0.92, 0.94, 0.91, 0.93, 0.95])
    x, y = np.tile(runs, (6, 1)), ratios[:, None] * runs
    result = hierarchical_test(x, y, 0.05, 0.95)
    # Five against five runs differ at 0.05 while at most two of the 25 pairs are in the wrong order
    # (U = 2: p = 8/252; U = 3: 14/252).
    third = np.sort((runs[:, None] / runs).ravel())[-3]
    assert result.speedup == pytest.approx(1 / 0.94 / third, rel=1e-9)
    assert result.confidence == pytest.approx(1 - 1 / 64)


def test_samples_tested_together_are_those_tested_alone():
    """Ties, gaps, unequal numbers and large samples: the p-value of every pair is that of
    `rank_sum_pvalue`; without a sample NaN."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(0.2, 1, (6, 4, 7)), rng.normal(0, 1, (6, 4, 9))
    x[1], y[1] = x[1].round(1), y[1].round(1)
    x[2, :, 4:], y[3, :, :5] = np.nan, np.nan
    x[4, 0], y[4, 1, 1:] = np.nan, np.nan
    pvalues = rank_sum_pvalues(x, y)
    for cell in np.ndindex(6, 4):
        new, old = (side[cell][~np.isnan(side[cell])] for side in (x, y))
        expected = rank_sum_pvalue(new, old) if len(new) else np.nan
        np.testing.assert_allclose(pvalues[cell], expected, rtol=1e-12)
    long_rows = rng.normal(0, 1, (2, 3, 60))
    np.testing.assert_allclose(
        rank_sum_pvalues(*long_rows),
        [rank_sum_pvalue(*pair) for pair in zip(*long_rows, strict=True)],
        rtol=1e-12,
    )


@pytest.mark.parametrize("decimals", [12, 2])
def test_many_runs_are_sorted_not_paired(decimals):
    """5,000 against 4,000 runs beside benchmarks of 8: SciPy's normal law, with ties too, in a few
    copies of the runs."""
    rng = np.random.default_rng(5)
    x, y = (
        rng.normal(0.02, 1, (3, 5000)).round(decimals),
        rng.normal(0, 1, (3, 4000)).round(decimals),
    )
    x[1:, 8:], y[1:, 8:] = np.nan, np.nan
    tracemalloc.start()
    pvalues = rank_sum_pvalues(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pvalues[0] == pytest.approx(
        stats.mannwhitneyu(x[0], y[0], method="asymptotic").pvalue, rel=1e-12
    )
    np.testing.assert_array_equal(
        pvalues[1:], [rank_sum_pvalue(*pair) for pair in zip(x[1:, :8], y[1:, :8], strict=True)]
    )
    assert peak < 8 * (x.nbytes + y.nbytes)


def test_cells_tested_together_are_those_tested_alone():
    """Whatever stands beside a suite, and however few are tested at once: the same confidence, the
    same speedup."""
    rng = np.random.default_rng(4)
    x = rng.lognormal(0.05, 0.02, (5, 8, 6)).round(2)
    y = rng.lognormal(0.0, 0.02, (5, 8, 5))
    x[1, 3], y[2, :, 3:] = np.nan, np.nan
    together = hierarchical_test(x, y, 0.05, 0.9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("perfarray.suites.numerics.hierarchical.BLOCK", 1)
        few_cells = hierarchical_test(x, y, 0.05, 0.9)
    for cell in range(5):
        alone = hierarchical_test(x[cell], y[cell], 0.05, 0.9)
        for result in (together, few_cells):
            np.testing.assert_array_equal([field[cell] for field in result], alone)
    assert np.isfinite(together.speedup).any()


def test_too_little_to_go_by():
    """Three runs never differ at 0.05 in two-sided tests, nor does a suite without data: no answer;
    in one-sided ones they do."""
    x = np.array([[[2.0, 2.1, 2.2]] * 8, [[np.nan] * 3] * 8])
    two_sided, one_sided = (
        hierarchical_test(x, x / 2, 0.05, 0.95, tails=tails) for tails in (2, 1)
    )
    assert np.isnan(two_sided).all()
    assert one_sided.confidence[0] == 1 - 0.5**8
    assert one_sided.speedup[0] == pytest.approx(2.0 / 1.1, rel=1e-9)
    assert np.isnan([one_sided.confidence[1], one_sided.speedup[1]]).all()


def test_one_sided_tests_look_in_the_direction_seen():
    """Half the two-sided p without ties, SciPy's smaller one-sided p with them; and what sizes can
    reach."""
    rng = np.random.default_rng(6)
    for n, m in ((3, 3), (5, 4), (60, 55)):
        x, y = rng.normal(0, 1, n), rng.normal(0, 1, m)
        assert rank_sum_pvalue(x, y, 1) == pytest.approx(rank_sum_pvalue(x, y) / 2, rel=1e-12)
        np.testing.assert_allclose(
            rank_sum_pvalues(x[None], y[None], 1), rank_sum_pvalue(x, y, 1), rtol=1e-12
        )
    x, y = np.array([1.0, 1.0, 2.0, 4.0]), np.array([2.0, 2.0, 3.0])
    statistics = [
        sum(sorted([3, 3, 8, 8, 8, 12, 14])[i] for i in subset)
        for subset in combinations(range(7), 4)
    ]  # doubled mid-ranks
    observed = 3 + 3 + 8 + 14
    expected = min(
        np.mean(np.array(statistics) <= observed), np.mean(np.array(statistics) >= observed)
    )
    assert rank_sum_pvalue(x, y, 1) == pytest.approx(expected, rel=1e-12)
    values = np.full((1, 6), np.nan)
    for n, m, tails in ((3, 3, 1), (3, 3, 2), (4, 4, 2), (2, 6, 1)):
        raised, shifted = values.copy(), values.copy()
        raised[0, :n], shifted[0, :m] = np.arange(n) + 10.0, np.arange(m)
        assert (
            smallest_pvalues(raised, shifted, tails)[0]
            == rank_sum_pvalues(raised, shifted, tails)[0]
        )
    assert [fewest_runs(0.05, tails) for tails in (1, 2)] == [3, 4]
