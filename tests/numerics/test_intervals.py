"""Fieller's sets and their rivals: published, from R, dual to their tests, degenerate."""

import numpy as np
import pytest
from scipy import optimize, stats

from perfarray.numerics.intervals import (
    fieller,
    mean_by_units,
    ratio_df,
    ratio_limits,
    ratio_of,
    ratio_statistic,
    ratio_with_df,
    standard_error,
    t_probability,
    t_quantile,
)
from perfarray.numerics.levels import summarise_units
from perfarray.numerics.ratio_tests import compare_units
from perfarray.numerics.verdicts import Rules


def limits_of(new, old, level, method="fieller", df="satterthwaite"):
    """Return the set of two samples."""
    ratio = ratio_of(np.array(new, dtype=float), np.array(old, dtype=float), paired=False)
    return ratio_limits(ratio, ratio_df(ratio, df), level, method)


def test_fieller_of_r(golden):
    """golden/fieller: three df rules, both delta methods, bounded and not, to 1e-10."""
    cases = golden("fieller")["cases"]
    rules = {
        "welch_plugin_df": "satterthwaite",
        "kalibera_df_min_minus_1": "conservative",
        "normal": "normal",
    }
    kinds = set()
    for case in cases:
        new, old = case["input"]["numerator"], case["input"]["denominator"]
        for printed in case["output"]["intervals"]:
            for key, rule in rules.items():
                limits, expected = limits_of(new, old, printed["level"], df=rule), printed[key]
                kinds.add(str(limits.kind))
                if expected["limits"][0] is None:
                    assert (limits.lower, limits.upper, limits.kind) == (
                        -np.inf,
                        np.inf,
                        "unbounded",
                    )
                    continue
                assert limits.kind == ("bounded" if expected["bounded"] else "exclusive")
                np.testing.assert_allclose(
                    [limits.lower, limits.upper], sorted(expected["limits"]), rtol=1e-10
                )
            for method in ("delta", "log_delta"):
                limits = limits_of(new, old, printed["level"], method, "normal")
                np.testing.assert_allclose(
                    [limits.lower, limits.upper], printed[f"{method}_normal"], rtol=1e-10
                )
        ratio = ratio_of(np.array(new), np.array(old), paired=False)
        np.testing.assert_allclose(
            ratio_df(ratio, "satterthwaite"),
            case["output"]["intervals"][0]["welch_plugin_df"]["df"],
            rtol=1e-10,
        )
    assert kinds == {"bounded", "exclusive", "unbounded"}


def test_ratio_of_kalibera_and_jones(golden):
    """golden/kj_*: t with n - 1 df and normal, at three confidence levels, to 1e-9; the paper
    prints 0.1 and 1.7 for table V."""
    levels = {"c90": 0.90, "c95": 0.95, "c99": 0.99}
    checked = 0
    for file in ("kj_worked_examples", "kj_synthetic"):
        for case in golden(file)["cases"]:
            if not case["input"].get("new"):
                continue
            new, old = (np.array(case["input"][name], dtype=float) for name in ("new", "data"))
            units = [values.mean(axis=tuple(range(1, values.ndim))) for values in (new, old)]
            for key, level in levels.items():
                for name, rule in (("fieller_t", "conservative"), ("fieller_z", "normal")):
                    expected = case["output"]["ratio"][key][name]
                    limits = limits_of(*units, level, df=rule)
                    if expected["limits"][0] is not None:
                        np.testing.assert_allclose(
                            [limits.lower, limits.upper], sorted(expected["limits"]), rtol=1e-9
                        )
                        checked += 1
                    assert expected["bounded"] == (limits.kind == "bounded")
    assert checked > 20


def test_table_v_as_printed():
    """Kalibera and Jones, section 6.2: limits 0.1 and 1.7 (0.1098 and 1.7253 unrounded)."""
    limits = limits_of([8.75, 6.25, 4.5], [7.75, 12.25, 11.5], 0.95, df="conservative")
    np.testing.assert_allclose([limits.lower, limits.upper], [0.1098, 1.7253], atol=5e-5)


def test_the_set_holds_the_ratios_its_test_accepts():
    """For every kind of set and every method, r is inside exactly when |t(r)| is below the
    quantile."""
    rng = np.random.default_rng(0)
    observed_kinds = set()
    for scale in (0.1, 1.0, 3.0):
        for _ in range(40):
            new, old = rng.normal(2, scale, 5), rng.normal(1, scale, 6)
            ratio = ratio_of(new, old, paired=False)
            df = ratio_df(ratio, "satterthwaite")
            for method in ("fieller", "delta"):
                limits = ratio_limits(ratio, df, 0.95, method)
                observed_kinds.add(str(limits.kind))
                for value in np.linspace(-4, 6, 41):
                    accepted = abs(ratio_statistic(ratio, value, method)) <= t_quantile(0.975, df)
                    within = limits.lower <= value <= limits.upper
                    assert accepted == (not within if limits.kind == "exclusive" else within)
    assert observed_kinds == {"bounded", "exclusive", "unbounded"}


def test_pairs_use_their_covariance():
    """Lemma 7.7: paired Fieller inverts the paired t test of new - r old with n - 1 df."""
    rng = np.random.default_rng(1)
    session = rng.normal(10, 2, 12)
    old, new = session + rng.normal(0, 0.1, 12), 1.1 * session + rng.normal(0, 0.1, 12)
    ratio = ratio_of(new, old, paired=True)
    limits = ratio_limits(ratio, ratio_df(ratio, "satterthwaite"), 0.95, "fieller")

    def excess(r):
        difference = new - r * old
        return abs(difference.mean()) / stats.sem(difference) - stats.t.ppf(0.975, 11)

    estimate = new.mean() / old.mean()
    np.testing.assert_allclose(limits.lower, optimize.brentq(excess, 0.5, estimate), rtol=1e-9)
    np.testing.assert_allclose(limits.upper, optimize.brentq(excess, estimate, 2.0), rtol=1e-9)
    unpaired = ratio_of(new, old, paired=False)
    wide = ratio_limits(unpaired, ratio_df(unpaired, "satterthwaite"), 0.95, "fieller")
    assert (limits.upper - limits.lower) < 0.2 * (wide.upper - wide.lower)


def test_incomplete_pairs_are_left_out():
    """A unit measured on one side has no partner."""
    new, old = np.array([1.0, 1.2, np.nan, 1.1, 1.3]), np.array([2.0, 2.1, 2.2, np.nan, 2.3])
    complete = ratio_of(new[[0, 1, 4]], old[[0, 1, 4]], paired=True)
    gaps = ratio_of(new, old, paired=True)
    assert gaps.n == 3
    np.testing.assert_allclose(gaps.estimate, complete.estimate)
    np.testing.assert_allclose([gaps.residual, gaps.overlap], [complete.residual, complete.overlap])


def test_quantiles_and_probabilities_are_student_s():
    """They agree with scipy.stats, and infinite df are the normal's."""
    df = np.array([1.0, 2.5, 10.0, 1e6])
    np.testing.assert_allclose(t_quantile(0.975, df), stats.t.ppf(0.975, df), rtol=1e-12)
    np.testing.assert_allclose(
        t_probability(np.array([-2.0, 0.3, 1.0, 4.0]), df),
        stats.t.cdf([-2.0, 0.3, 1.0, 4.0], df),
        rtol=1e-10,
    )
    np.testing.assert_allclose(t_quantile(0.975, np.array(np.inf)), stats.norm.ppf(0.975))
    assert np.isnan(t_quantile(0.975, np.array(np.nan)))


def test_one_unit_has_no_df():
    """One unit on a side: NaN degrees of freedom whatever the rule, and NaN limits of a mean."""
    ratio = ratio_of(
        np.array([[1.0, np.nan], [1.0, 2.0]]), np.array([[2.0, 3.0], [2.0, 3.0]]), paired=False
    )
    for rule in ("satterthwaite", "conservative", "normal"):
        assert np.isnan(ratio_df(ratio, rule)).tolist() == [True, False]
    _, lower, upper, _, df, n = mean_by_units(
        np.array([5.0]), summarise_units(np.array([5.0])), method="t", level=0.95
    )
    assert np.isnan([lower, upper, df]).all()
    assert n == 1


def test_zero_variance_is_a_point():
    """Constant samples on both sides: the ratio itself, with as many df as pooled."""
    ratio = ratio_of(np.full(3, 2.0), np.full(4, 4.0), paired=False)
    limits = fieller(ratio, t_quantile(0.975, ratio_df(ratio, "satterthwaite")))
    assert (limits.lower, limits.upper, limits.kind, ratio_df(ratio, "satterthwaite")) == (
        0.5,
        0.5,
        "bounded",
        5,
    )


def test_a_zero_baseline_has_no_ratio():
    ratio = ratio_of(np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.0, 1.0]), paired=False)
    assert np.isnan(ratio.estimate)


@pytest.mark.parametrize("method", ["t", "normal"])
def test_mean_limits_are_the_textbook_s(method):
    """t: scipy.stats' interval; normal: 1.96 standard errors."""
    values = np.random.default_rng(2).normal(10, 1, 8)
    _, lower, upper, *_ = mean_by_units(values, summarise_units(values), method=method, level=0.9)
    law = stats.t(7) if method == "t" else stats.norm()
    np.testing.assert_allclose(
        (np.array([lower, upper]) - values.mean()) / stats.sem(values),
        law.interval(0.9),
        rtol=1e-10,
    )


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_skew_adjusted_limits_invert_halls_transformation_at_every_level(level):
    """The longer side solves g(T) = -t; beyond the 97.5 % quantile it is extrapolated, and skewness
    is bounded by it."""
    for n in (10, 40):
        values = np.random.default_rng(5).exponential(size=n)
        error = stats.sem(values)
        usual, quantile = stats.t(n - 1).ppf([0.975, (1 + level) / 2])
        chance = 0.5 * np.sqrt(6 * (n - 1) / ((n - 2) * (n + 1) * (n + 3)))
        s = min(stats.skew(values, bias=False) / np.sqrt(n) - chance, 0.5 / usual)
        t = min(quantile, usual)
        root = optimize.brentq(
            lambda x: -x + s * x**2 / 3 - s**2 * x**3 / 27 + s / 6 + t,  # noqa: B023
            0,
            20,
        )
        longer = root * quantile / t
        expected = values.mean() + error * np.array([-quantile, longer])
        _, lower, upper, *_ = mean_by_units(
            values, summarise_units(values), method="skew_adjusted", level=level
        )
        np.testing.assert_allclose([lower, upper], expected, rtol=1e-10)
        rules = Rules("skew_adjusted", level, paired=True)
        _, lower, upper, *_ = compare_units(
            values, np.full(n, 2.0), level, rules=rules, levels=1
        ).interval
        np.testing.assert_allclose([lower, upper], expected / 2, rtol=1e-10)
        ratio, df = ratio_with_df(
            values, np.full(n, 2.0), paired=True, method="skew_adjusted", df_rule="satterthwaite"
        )
        statistics = [
            ratio_statistic(ratio, float(limit), "skew_adjusted", df) for limit in (lower, upper)
        ]
        np.testing.assert_allclose(statistics, [quantile, -quantile], rtol=1e-6)


@pytest.mark.parametrize("method", ["delta", "log_delta"])
def test_first_order_errors_of_pairs_are_those_of_paired_residuals(method):
    """The standard error of a paired ratio is that of the mean of new - ratio * old, over the mean
    that scales it."""
    rng = np.random.default_rng(4)
    old = rng.normal(10.0, 1.0, 12)
    new = 0.8 * old + rng.normal(0.0, 0.3, 12)
    ratio = ratio_of(new, old, paired=True)
    residuals = new - ratio.estimate * old
    scale = new.mean() if method == "log_delta" else old.mean()
    expected = residuals.std(ddof=1) / np.sqrt(12) / scale
    np.testing.assert_allclose(standard_error(ratio, method), expected, rtol=1e-12)


def test_the_kind_of_a_set_does_not_depend_on_the_unit():
    """Times that are all positive cut the set to positive numbers, be they milliseconds or hours; a
    negative value leaves it whole."""
    rng = np.random.default_rng(3)
    new, old = rng.lognormal(0, 1.5, (2, 200, 3))

    def kinds(new, old):
        return compare_units(new, old, 0.95, rules=Rules("fieller", 0.95), levels=1).limits.kind

    kind = kinds(new, old)
    assert {"at_least", "unbounded"} <= set(kind)
    assert "exclusive" not in kind
    for scale in (1e-3, 1e3):
        np.testing.assert_array_equal(kinds(scale * new, scale * old), kind)
    nearly_zero = np.where(np.arange(3) == 0, -1e-9, new)
    assert "exclusive" in kinds(nearly_zero, old)
