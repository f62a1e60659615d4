"""The protocols on arrays: R's p-values, verdicts and searches of every case, and the parts by
other means."""

import itertools

import numpy as np
import pytest
from scipy import stats

from perfarray.numerics.suite import run_statistic
from perfarray.speedups.numerics.tests import (
    CANNOT_CONCLUDE,
    NO,
    YES,
    MeanSteps,
    conclude,
    mean_steps,
    mean_verdict,
    median_steps,
    median_verdict,
    overall,
)

STEPS = {"mean": mean_steps, "median": median_steps}
VERDICTS = {"mean": mean_verdict, "median": median_verdict}


@pytest.fixture
def benchmarks(golden):
    """The four benchmarks of section 6.3 and the thirteen made to reach every branch."""
    files = ("speedup_software_example", "speedup_protocol_synthetic")
    return [benchmark for name in files for benchmark in golden(name)["benchmarks"]]


def padded(samples):
    """Return ragged samples as one array."""
    rows = np.full((len(samples), max(map(len, samples))), np.nan)
    for row, sample in zip(rows, samples, strict=True):
        row[: len(sample)] = sample
    return rows


def sides(benchmarks):
    return padded([benchmark["input"]["x_initial"] for benchmark in benchmarks]), padded(
        [benchmark["input"]["y_optimised"] for benchmark in benchmarks]
    )


def test_p_values_are_those_of_r(benchmarks):
    """Every test of both protocols, within 1e-8."""
    x, y = sides(benchmarks)
    mean, medians = mean_steps(x, y), median_steps(x, y, as_tool=True)
    outputs = [benchmark["output"] for benchmark in benchmarks]
    for outcome, keys in (
        (mean.normal_x, ("shapiro_x", "p")),
        (mean.normal_y, ("shapiro_y", "p")),
        (mean.student, ("student_greater", "p")),
        (mean.welch, ("welch_greater", "p")),
        (medians.mann_whitney, ("mann_whitney_greater", "p_default")),
    ):
        assert outcome == pytest.approx(
            [output[keys[0]][keys[1]] for output in outputs], rel=1e-8
        ), keys
    assert mean.equal_variances == pytest.approx(
        [output["f_test"]["p_two_sided"] for output in outputs], rel=1e-8, abs=1e-15
    )
    assert medians.prob_greater == pytest.approx(
        [output["prob_x_gt_y"] for output in outputs], rel=1e-12
    )
    limit = [output["ks_centred_on_medians"]["p_R_le_4.1_default"] for output in outputs]
    assert medians.same_shape == pytest.approx(
        limit, abs=6e-6
    )  # R cuts the series of its limit law short


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_verdicts_at_a_level(benchmarks, statistic):
    """Significant, not significant, or no conclusion, as in R, at 95, 90 and 80 %."""
    steps = STEPS[statistic](*sides(benchmarks))
    key = {"mean": "mean_significant", "median": "median_significant_ks_R_le_4.1"}[statistic]
    for index in range(3):
        cases = [benchmark["output"]["at_fixed_level"][index] for benchmark in benchmarks]
        outcome = VERDICTS[statistic](steps, np.array([1 - case["conf_level"] for case in cases]))
        assert outcome.tolist() == [
            {None: CANNOT_CONCLUDE, False: NO, True: YES}[case[key]] for case in cases
        ]


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_search(benchmarks, statistic):
    """The level found by bisection and rounding is the tool's, exactly; so is the last word at
    it."""
    steps = STEPS[statistic](*sides(benchmarks))
    searches = [benchmark["output"][f"search_{statistic}"] for benchmark in benchmarks]
    outcome = conclude(
        lambda risk: VERDICTS[statistic](steps, risk), np.full(len(searches), np.nan)
    )
    assert (outcome.verdict == YES).tolist() == [search["is_significant"] for search in searches]
    expected = [np.nan if search["alpha"] is None else search["alpha"] for search in searches]
    assert outcome.risk == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert outcome.not_found.tolist() == [
        search["why"].startswith(("cannot conclude", "not significant at risk 0.5"))
        for search in searches
    ]


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_an_exhaustive_search_misses_no_risk(statistic):
    """Of pairs of all sizes, every one that succeeds at some risk of a fine scan is found, at no
    larger risk; the tool misses some."""
    rng = np.random.default_rng(12)
    scan, missed = np.arange(0.01, 0.5001, 0.0025), 0
    for n in (4, 10, 20, 31):
        x, y = (
            1 + 0.05 * rng.lognormal(0, 0.3, (300, n)),
            rng.choice([0.97, 0.99, 1.0], (300, 1)) + 0.05 * rng.lognormal(0, 0.3, (300, n)),
        )
        steps = STEPS[statistic](x, y)
        turns = (
            (steps.student, steps.welch, steps.equal_variances)
            if statistic == "mean"
            else (steps.mann_whitney,)
        )
        is_significant = (
            VERDICTS[statistic](type(steps)(*(field[:, None] for field in steps)), scan) == YES
        )
        smallest_risk = np.where(
            is_significant.any(axis=1), scan[is_significant.argmax(axis=1)], np.nan
        )
        outcome, tool = (
            conclude(lambda risk, s=steps: VERDICTS[statistic](s, risk), np.full(300, np.nan), how)
            for how in (turns, None)
        )
        is_reached = ~np.isnan(smallest_risk)
        assert (outcome.verdict[is_reached] == YES).all()
        assert (
            outcome.risk[is_reached] < smallest_risk[is_reached] + 0.01
        ).all()  # rounded up to a whole percent, where that succeeds
        is_significant_at_risk = outcome.verdict == YES
        assert (VERDICTS[statistic](steps, outcome.risk)[is_significant_at_risk] == YES).all()
        assert np.isnan(outcome.risk[~is_significant_at_risk]).all()
        assert (outcome.not_found == ~is_significant_at_risk).all()
        missed += (is_reached & (tool.verdict != YES)).sum()
    assert missed > 0


def test_what_an_exhaustive_search_reports():
    """By hand, n = 10: p = .07 of normal samples to p = .20 gives .07; .0712 up to .0765 has no
    whole percent; none, and none at all."""
    shape = np.ones(4)
    p, normal = np.array([0.07, 0.0712, 0.30, 0.30]), np.array([0.2, 0.0765, 0.2, 0.005])
    steps = MeanSteps(10 * shape, 10 * shape, normal, shape, shape, p, p)
    outcome = conclude(lambda risk: mean_verdict(steps, risk), np.full(4, np.nan), (p, p, shape))
    np.testing.assert_array_equal(outcome.risk, [0.07, 0.0712, np.nan, np.nan])
    assert outcome.verdict.tolist() == [YES, YES, NO, CANNOT_CONCLUDE]
    assert outcome.not_found.tolist() == [False, False, True, True]
    np.testing.assert_array_equal(outcome.described_risk, [0.07, 0.0712, 0.01, 0.01])


def test_welch_takes_over_where_the_f_test_rejects():
    """Student's p is .3, Welch's .05, the variances differ at .08: the smallest risk is .08."""
    ones = np.ones(1)
    steps = MeanSteps(10 * ones, 10 * ones, ones, ones, 0.08 * ones, 0.3 * ones, 0.05 * ones)
    outcome = conclude(
        lambda risk: mean_verdict(steps, risk),
        np.full(1, np.nan),
        (steps.student, steps.welch, steps.equal_variances),
    )
    assert outcome.risk[0] == 0.08


def test_search_only_where_no_risk_is_given():
    """A cell with a risk keeps it, beside one that is searched for."""
    steps = median_steps(np.array([[5.0, 6.0, 7.0, 8.0]] * 2), np.array([[1.0, 2.0, 3.0, 4.0]] * 2))
    outcome = conclude(lambda risk: median_verdict(steps, risk), np.array([0.001, np.nan]))
    assert outcome.verdict.tolist() == [NO, YES]
    assert outcome.risk.tolist() == [0.001, 0.02]


def test_t_and_f_tests_against_scipy():
    """Student, Welch and F by another road."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(1.1, 1, (5, 9)), rng.normal(1, 2, (5, 14))
    outcome = mean_steps(x, y)
    assert outcome.student == pytest.approx(
        stats.ttest_ind(x, y, axis=1, alternative="greater").pvalue
    )
    assert outcome.welch == pytest.approx(
        stats.ttest_ind(x, y, axis=1, alternative="greater", equal_var=False).pvalue
    )
    ratio = x.var(axis=1, ddof=1) / y.var(axis=1, ddof=1)
    assert outcome.equal_variances == pytest.approx(
        2 * np.minimum(stats.f.cdf(ratio, 8, 13), stats.f.sf(ratio, 8, 13))
    )


def test_ties_do_not_depend_on_the_unit_of_time():
    """Whole ticks, and the same in ms, s and thirds, in double and single precision: one p-value
    for each pair of samples."""
    rng = np.random.default_rng(1)
    for n, m in ((9, 9), (10, 15)):
        ticks = (
            rng.integers(100, 112, (40, n)).astype(float),
            rng.integers(98, 110, (40, m)).astype(float),
        )
        ticks[0][:5, -1] = np.nan
        for exact in (False, True):
            expected = median_steps(*ticks, exact_ties=exact).same_shape
            assert (
                expected == median_steps(*ticks, exact_ties=exact, as_tool=True).same_shape
            ).all()  # whole numbers are not rounded
            for unit, is_float32 in itertools.product((1e-3, 1e-9, 1 / 3), (False, True)):
                scaled = [side * unit for side in ticks]
                scaled = (
                    [side.astype(np.float32).astype(float) for side in scaled]
                    if is_float32
                    else scaled
                )
                np.testing.assert_array_equal(
                    median_steps(*scaled, exact_ties=exact).same_shape, expected
                )


def test_close_values_are_no_ties():
    """Samples that differ by 1e-9 of a value, and large counts that differ by one, stay apart."""
    rng = np.random.default_rng(2)
    x, y = rng.permutation(40)[:16].astype(float), rng.permutation(40)[:18].astype(float)
    expected = median_steps(x, y, exact_ties=True).same_shape
    for a, b in ((0.3, 1e-10), (2.0**52 - 100, 1.0)):
        np.testing.assert_array_equal(
            median_steps(a + b * x, a + b * y, exact_ties=True).same_shape, expected
        )


def test_median_of_ragged_rows():
    """NaN is no value; nothing measured has no median."""
    values = np.array([[3.0, np.nan, 1.0, 2.0], [4.0, 1.0, 3.0, 2.0], [np.nan] * 4])
    assert run_statistic(values, "median") == pytest.approx([2.0, 2.5, np.nan], nan_ok=True)


def test_overall_by_hand():
    """Example 3.1 of the paper, with W = share of the time."""
    old, new = np.array([3.0, 3600.0]), np.array([1.0, 3428.0])
    speedup, gain, _ = overall(old, new, old, np.array([True, True]))
    assert gain == pytest.approx(1 - (3 * 1 + 3600 * 3428) / (3 * 3 + 3600 * 3600))
    assert speedup == pytest.approx(1 / (1 - gain))
    speedup, _, n = overall(old, new, old, np.array([True, False]))
    assert (speedup, n) == (3.0, 1.0)
    assert np.isnan(overall(old, new, old, np.array([False, False]))[0])
