"""Variances shrunk towards those of the suite: against limma, by hand, and how often their
intervals hold."""

import numpy as np
import pytest
from scipy import special, stats

from perfarray.numerics.intervals import ratio_limits
from perfarray.numerics.moderated import (
    fit_prior,
    fit_robust_prior,
    inverse_trigamma,
    mean_by_suite,
    moderate,
    moderated_ratio,
)
from perfarray.numerics.ratio_tests import compare_units
from perfarray.numerics.verdicts import Rules


def test_prior_and_posterior_of_limma(golden):
    """golden/limma: 5 to 200 variances of 4 to 18 df, equal and unequal, to 1e-6."""
    finite = 0
    for case in golden("limma")["cases"]:
        variance = np.array(case["input"]["s2"])
        df = np.broadcast_to(np.array(case["input"]["df"], dtype=float), variance.shape)
        prior, expected = fit_prior((variance, df)), case["output"]
        d0 = float(expected["d0"])
        finite += np.isfinite(d0)
        np.testing.assert_allclose(prior.df, d0, rtol=1e-6)
        np.testing.assert_allclose(prior.variances[0], expected["s02"], rtol=1e-6)
        np.testing.assert_allclose(moderate(variance, df, prior), expected["posterior"], rtol=1e-6)
        assert prior.cautious_df < prior.df or np.isinf(prior.cautious_df)
    assert finite == 15


def test_without_outliers_the_robust_prior_is_the_plain_one():
    """Its p-values are F tests of each variance against the prior of the others; of two sides twice
    the smaller one."""
    rng = np.random.default_rng(8)
    df, sides = (
        np.full(9, 4.0),
        [1e-4 * rng.chisquare(4, 9) / 4 * rng.lognormal(0, 0.7, 9) for _ in range(2)],
    )
    robust, plain = (fit((sides[0], df), (sides[1], df)) for fit in (fit_robust_prior, fit_prior))
    assert robust.pvalue.min() > 0.01
    np.testing.assert_allclose(
        [robust.df, *robust.variances], [plain.df, *plain.variances], rtol=1e-12
    )
    prior_of_rest = fit_prior(*((np.delete(side, 2), df[1:]) for side in sides))
    expected = [
        stats.f.sf(side[2] / s2, 4, min(prior_of_rest.df, 1e9))
        for side, s2 in zip(sides, prior_of_rest.variances, strict=True)
    ]
    assert robust.pvalue[2] == pytest.approx(min(1, 2 * min(expected)), rel=1e-6)
    alone = fit_robust_prior((np.append(sides[0], 1.0), np.full(10, 4.0)))
    assert alone.pvalue[-1] < 1e-6
    np.testing.assert_allclose(alone.df, fit_prior((sides[0], df)).df, rtol=1e-12)
    assert fit_robust_prior((sides[0][:3], df[:3])).df == 0


@pytest.mark.parametrize("value", [1e-9, 1e-4, 0.3, 1.0, 40.0, 1e6, 1e9])
def test_inverse_trigamma(value):
    assert special.polygamma(1, inverse_trigamma(np.array(value))) == pytest.approx(value, rel=1e-7)


def test_two_sides_have_one_d0_and_a_variance_each():
    """d0 by the mean of both sides' moments; s0^2 by each side's own."""
    rng = np.random.default_rng(1)
    shape, df = rng.chisquare(4, 400) / 4, np.full(400, 4.0)
    sides = [scale / shape * rng.chisquare(4, 400) / 4 for scale in (1e-4, 9e-4)]
    prior = fit_prior(*((side, df) for side in sides))
    moments = [np.log(side).var(ddof=1) - special.polygamma(1, 2.0) for side in sides]
    assert special.polygamma(1, prior.df / 2) == pytest.approx(np.mean(moments))
    assert prior.variances[1] / prior.variances[0] == pytest.approx(
        np.exp(np.log(sides[1] / sides[0]).mean())
    )


def test_what_is_not_measured_or_equal_is_left_out():
    variance, df = (
        np.array([1e-4, 2e-4, np.nan, 4e-4, 9e-4]),
        np.array([2.0, 2.0, np.nan, 2.0, 2.0]),
    )
    of_four = fit_prior((np.delete(variance, 2), np.delete(df, 2)))
    np.testing.assert_allclose(fit_prior((variance, df))[:2], of_four[:2])
    of_four = of_four._replace(pvalue=np.ones(5))
    assert np.isnan(moderate(variance, df, of_four)[2])
    assert (moderate(np.zeros(5), np.full(5, 2.0), of_four) > 0).all()


@pytest.mark.parametrize(
    "variances", [[1e-4], [np.nan, np.nan], [0.0, 0.0, 0.0], [0.0, 0.0, 1e-4]], ids=str
)
def test_nothing_to_learn_from(variances):
    """One benchmark, none, or half of them without spread: the variances stay what they are."""
    variance, df = np.array(variances), np.full(len(variances), 2.0)
    prior = fit_prior((variance, df))
    assert prior.df == prior.cautious_df == 0
    np.testing.assert_array_equal(moderate(variance, df, prior), variance)


def test_mean_and_ratio_of_one_benchmark_are_without_a_prior():
    new, old = np.array([[1.0, 1.1, 1.2]]), np.array([[2.0, 2.1, 1.9]])
    estimate, lower, upper, error, df, n, prior_df, *_ = mean_by_suite(new, level=0.95)
    assert (estimate[0], df[0], n[0], prior_df) == (pytest.approx(1.1), 2, 3, 0)
    assert error[0] == pytest.approx(1.1 * np.log(new).std(ddof=1) / np.sqrt(3))
    assert (
        upper[0] - estimate[0]
        == estimate[0] - lower[0]
        == pytest.approx(stats.t.ppf(0.975, 2) * error[0])
    )
    ratio, df, _ = moderated_ratio(new, old, paired=False, df_rule="satterthwaite")
    variances = [np.log(side).var(ddof=1) / 3 for side in (new, old)]
    assert df[0] == pytest.approx(
        sum(variances) ** 2 / (variances[0] ** 2 / 2 + variances[1] ** 2 / 2)
    )
    assert ratio.residual[0] == pytest.approx(sum(variances) * 1.1**2)


@pytest.mark.parametrize("method", ["fieller", "delta", "log_delta"])
@pytest.mark.parametrize("paired", [False, True])
def test_a_flat_prior_is_known_variance_of_all(method, paired):
    """Where variances are alike, d0 is infinite: every interval has the mean variance."""
    rng = np.random.default_rng(4)
    noise = rng.standard_normal((2, 1, 6))
    noise = np.repeat(
        (noise - noise.mean(-1, keepdims=True)) / noise.std(-1, ddof=1, keepdims=True), 30, axis=1
    )
    new, old = np.exp(0.01 * noise)
    rules = Rules(method, 0.95, paired=paired, prior=True)
    comparison = compare_units(new, old, 0.95, rules=rules, levels=1)
    prior_df, deviation, _, error, _ = comparison.further
    _, lower, upper, df, *_ = comparison.interval
    assert np.isinf(prior_df)
    expected = np.log(new[0] / old[0]).std(ddof=1) if paired else 0.01
    assert deviation == pytest.approx(expected)
    np.testing.assert_allclose(error, expected * np.sqrt((1 if paired else 2) / 6))
    half = stats.t.ppf(0.975, df) * error
    np.testing.assert_allclose(np.log(upper / lower), 2 * half, rtol=2e-3)


def share_of_false(rng, benchmarks, runs, spread, paired=False, sides=(1.0, 1.0)):
    """Simulate comparisons of programs with themselves."""
    noise = 0.01 * np.exp(spread * rng.standard_normal((12_000 // benchmarks, benchmarks, 1)))
    new, old = (1 + side * noise * rng.standard_normal((*noise.shape[:2], runs)) for side in sides)
    ratio, df, _ = moderated_ratio(new, old, paired=paired, df_rule="satterthwaite")
    limits = ratio_limits(ratio, df, 0.95, "fieller", positive=True)
    return ((limits.lower > 1) | (limits.upper < 1)).mean()


@pytest.mark.parametrize(("benchmarks", "runs"), [(8, 3), (29, 3), (29, 5)])
@pytest.mark.parametrize("options", [{}, {"paired": True}, {"sides": (1.0, 3.0)}], ids=str)
@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_programs_compared_with_themselves(benchmarks, runs, options, spread):
    """12,000 comparisons: within the level and 2.6 standard errors, and never below 3 %."""
    share = share_of_false(np.random.default_rng(7), benchmarks, runs, spread, **options)
    assert 0.03 <= share <= 0.055 + 2.6 * np.sqrt(0.05 * 0.95 / 12_000)


@pytest.mark.parametrize(
    ("benchmarks", "noise"), [(8, (3, 1)), (30, (2, 1)), (30, (1, 5)), (30, (5, 5)), (8, (10, 10))]
)
def test_the_noisy_row_keeps_its_level(benchmarks, noise):
    """One row of a suite is noisier, on one side or both; three runs a side: at most 8 % false, and
    2.6 standard errors of 2,500."""
    rng, scale = np.random.default_rng(3), np.ones((2, benchmarks, 1))
    scale[:, 0, 0] = noise
    new, old = (1 + 0.01 * side * rng.standard_normal((2500, benchmarks, 3)) for side in scale)
    ratio, df, _ = moderated_ratio(new, old, paired=False, df_rule="satterthwaite")
    limits = ratio_limits(ratio, df, 0.95, "fieller", positive=True)
    false = ((limits.lower > 1) | (limits.upper < 1)).mean(axis=0)
    _, lower, upper, *_ = mean_by_suite(new, level=0.95)
    missed = ((lower > 1) | (upper < 1)).mean(axis=0)
    assert max(false.max(), missed.max()) <= 0.08 + 2.6 * np.sqrt(0.08 * 0.92 / 2500)
