"""Verdicts, corrections, the suite row: worked by hand, independent software, simulated truth."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from perfarray.numerics.intervals import ratio_df, ratio_of
from perfarray.numerics.ratio_tests import band_tests, compare_units
from perfarray.numerics.verdicts import Rules, adjust, interval_level

PLAIN = Rules("fieller", "satterthwaite", 0.0, 0.95, None, "lower", paired=False, shared=False)


def samples(rng, ratios, units=6, spread=0.02):
    """Return unit means (benchmarks, units) of a candidate and a baseline with given true ratios."""
    ratios = np.asarray(ratios)[:, None]
    return ratios * rng.normal(1, spread, (len(ratios), units)), rng.normal(1, spread, (len(ratios), units + 1))


@pytest.mark.parametrize(("correction", "name"), [("holm", "holm"), ("bh", "fdr_bh")])
def test_adjusted_p_values_are_those_of_statsmodels(correction, name):
    """Along the last axis, in any order, with ties."""
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 20):
        pvalues = np.round(rng.random((3, size)) ** 3, 3)
        for row, found in zip(pvalues, adjust(pvalues, correction), strict=True):
            np.testing.assert_allclose(found, multipletests(row, method=name)[1], rtol=1e-12)


@pytest.mark.parametrize("correction", ["holm", "bh"])
def test_a_missing_p_value_is_no_member_of_the_family(correction):
    """NaN stays NaN and does not count."""
    pvalues = np.array([0.01, np.nan, 0.04, 0.03])
    found = adjust(pvalues, correction)
    assert np.isnan(found[1])
    np.testing.assert_allclose(found[[0, 2, 3]], adjust(pvalues[[0, 2, 3]], correction))


def test_interval_levels():
    """None: as asked; Holm: 1 - alpha/m; Benjamini and Hochberg: 1 - R alpha/m, R at least 1."""
    pvalues = np.array([[0.001, 0.002, 0.5, np.nan], [0.5, 0.6, 0.7, 0.8]])
    assert np.all(interval_level(pvalues, pvalues, 0.05, None) == 0.95)
    holm = interval_level(pvalues, adjust(pvalues, "holm"), 0.05, "holm")
    np.testing.assert_allclose(holm[:, 0], [1 - 0.05 / 3, 1 - 0.05 / 4])
    selected = interval_level(pvalues, adjust(pvalues, "bh"), 0.05, "bh")
    np.testing.assert_allclose(selected[:, 0], [1 - 2 * 0.05 / 3, 1 - 0.05 / 4])


@pytest.mark.parametrize("threshold", [0.0, 0.03])
@pytest.mark.parametrize("method", ["fieller", "delta", "log_delta"])
def test_without_correction_the_verdict_is_the_interval_rule(method, threshold):
    """Faster: wholly below the band; slower: wholly above; equivalent: wholly inside; else inconclusive."""
    rng = np.random.default_rng(1)
    new, old = samples(rng, rng.uniform(0.9, 1.1, 400), spread=0.03)
    found = compare_units(new, old, rules=PLAIN._replace(method=method, threshold=threshold))
    low, high = 1 - threshold, 1 + threshold
    expected = np.full(400, "inconclusive", dtype=object)
    expected[(found.lower >= low) & (found.upper <= high)] = "equivalent"
    expected[found.upper < low] = "faster"
    expected[found.lower > high] = "slower"
    assert (found.verdict == expected).all()
    wanted = {"faster", "slower", "inconclusive"} | ({"equivalent"} if threshold else set())
    assert set(expected) == wanted
    mirrored = compare_units(new, old, rules=PLAIN._replace(method=method, threshold=threshold, better="higher"))
    swap = {"faster": "slower", "slower": "faster"}
    assert [swap.get(verdict, verdict) for verdict in mirrored.verdict] == list(found.verdict)


def test_corrected_verdicts_follow_the_adjusted_p_values():
    """Outside if 2 min(p) <= alpha after correction, else equivalent if the larger p <= alpha/2 after correction."""
    rng = np.random.default_rng(2)
    new, old = samples(rng, np.r_[np.full(10, 0.95), np.full(10, 1.0), np.full(5, 1.04)], spread=0.015)
    for correction, name in (("holm", "holm"), ("bh", "fdr_bh")):
        rules = PLAIN._replace(threshold=0.02, correction=correction)
        found = compare_units(new, old, rules=rules)
        ratio = ratio_of(new, old, paired=False)
        tests = band_tests(ratio, ratio_df(ratio, "satterthwaite"), "fieller", (0.98, 1.02))
        outside = multipletests(tests.two_sided, method=name)[1] <= 0.05
        inside = multipletests(tests.inside, method=name)[1] <= 0.025
        assert ((found.verdict == "faster") | (found.verdict == "slower")).tolist() == outside.tolist()
        assert (found.verdict == "equivalent").tolist() == (inside & ~outside).tolist()


def test_a_log_band_is_symmetric():
    """Swapping the systems mirrors the verdicts exactly."""
    rng = np.random.default_rng(11)
    new, old = samples(rng, rng.uniform(0.85, 1.15, 300), spread=0.03)
    rules = PLAIN._replace(threshold=0.1, band="log", method="log_delta")
    swap = {"faster": "slower", "slower": "faster"}
    back = [swap.get(verdict, verdict) for verdict in compare_units(old, new, rules=rules).verdict]
    forth = compare_units(new, old, rules=rules)
    assert back == list(forth.verdict)
    assert ((forth.upper < 1 / 1.1) == (forth.verdict == "faster")).all()


def test_the_two_sided_p_value_is_welch_s():
    """At a threshold of 0 the p-value is that of Welch's t test, but for the df: the baseline's variance counts by the squared ratio."""
    rng = np.random.default_rng(3)
    new, old = samples(rng, [1.01], units=30)
    found = compare_units(new, old, rules=PLAIN)
    one, two = new.var(ddof=1) / 30, (new.mean() / old.mean()) ** 2 * old.var(ddof=1) / 31
    df = (one + two) ** 2 / (one**2 / 29 + two**2 / 30)
    welch = stats.ttest_ind(new[0], old[0], equal_var=False).statistic
    np.testing.assert_allclose(found.pvalue, 2 * stats.t.sf(abs(welch), df), rtol=1e-9)


def test_sets_that_are_no_interval_decide_nothing():
    """An exclusive or unbounded set is inconclusive, whatever its p-values."""
    new, old = np.array([[5.0, 6.0, 7.0]]), np.array([[0.01, 2.0, 0.3]])
    found = compare_units(new, old, rules=PLAIN)
    assert found.kind[0] != "bounded"
    assert found.verdict[0] == "inconclusive"


def test_constant_and_single_units():
    """Constant equal samples are equivalent, constant different ones decided; one unit is inconclusive with NaN limits."""
    new = np.array([[2.0, 2.0, 2.0], [1.0, 1.0, 1.0], [1.0, np.nan, np.nan]])
    old = np.array([[2.0, 2.0, 2.0], [2.0, 2.0, 2.0], [1.0, 1.0, 1.1]])
    found = compare_units(new, old, rules=PLAIN)
    assert found.verdict.tolist() == ["equivalent", "faster", "inconclusive"]
    assert np.isnan(found.lower[2])
    assert found.n.tolist() == [3, 3, 1]
    assert np.isfinite(found.estimate[2])


def test_suite_row_by_hand():
    """The geometric mean of the ratios, SE^2 = B^-2 sum s^2/(m ybar^2), Satterthwaite df."""
    rng = np.random.default_rng(4)
    new, old = samples(rng, [0.9, 1.0, 1.2])
    found = compare_units(new, old, rules=PLAIN)
    np.testing.assert_allclose(found.suite_estimate, stats.gmean(new.mean(axis=1) / old.mean(axis=1)), rtol=1e-12)
    terms = np.r_[new.var(axis=1, ddof=1) / 6 / new.mean(axis=1) ** 2, old.var(axis=1, ddof=1) / 7 / old.mean(axis=1) ** 2]
    df = terms.sum() ** 2 / (terms**2 / np.repeat([5, 6], 3)).sum()
    half = stats.t.ppf(0.975, df) * np.sqrt(terms.sum()) / 3
    np.testing.assert_allclose(
        np.log([found.suite_lower, found.suite_upper]), np.log(found.suite_estimate) + np.array([-half, half]), rtol=1e-9
    )
    assert (found.suite_n, found.suite_benchmarks) == (6, 3)


def test_shared_suite_row_is_welch_on_the_units_scores():
    """Z_j = mean over benchmarks of log(unit mean); a unit with a gap has none."""
    rng = np.random.default_rng(5)
    new, old = samples(rng, [0.9, 1.0, 1.2])
    new[1, 2] = np.nan
    found = compare_units(new, old, rules=PLAIN._replace(shared=True))
    z_new, z_old = np.log(new).mean(axis=0), np.log(old).mean(axis=0)
    welch = stats.ttest_ind(z_new, z_old, equal_var=False, nan_policy="omit").confidence_interval()
    np.testing.assert_allclose(np.log([found.suite_lower, found.suite_upper]), [welch.low, welch.high], rtol=1e-9)
    assert found.suite_n == 5


def test_paired_and_shared_suite_row_is_a_paired_t():
    """Units matched between the systems and shared by the benchmarks: one-sample t on the differences of scores."""
    rng = np.random.default_rng(6)
    session = rng.normal(1, 0.1, (3, 8))
    old, new = session, 0.97 * session * rng.normal(1, 0.01, (3, 8))
    found = compare_units(new, old, rules=PLAIN._replace(shared=True, paired=True))
    expected = stats.ttest_1samp(np.log(new).mean(axis=0) - np.log(old).mean(axis=0), 0).confidence_interval()
    np.testing.assert_allclose(np.log([found.suite_lower, found.suite_upper]), [expected.low, expected.high], rtol=1e-9)


def test_paired_suite_row_adds_the_benchmarks_variances():
    """Pairs inside each benchmark, benchmarks independent: variances of the mean log ratios add."""
    rng = np.random.default_rng(7)
    session = rng.normal(1, 0.1, (3, 8))
    new = 0.97 * session * rng.normal(1, 0.01, (3, 8))
    found = compare_units(new, session, rules=PLAIN._replace(paired=True))
    logs = np.log(new) - np.log(session)
    variance = stats.sem(logs, axis=1) ** 2
    df = variance.sum() ** 2 / (variance**2 / 7).sum()
    half = stats.t.ppf(0.975, df) * np.sqrt(variance.sum()) / 3
    np.testing.assert_allclose(np.log([found.suite_lower, found.suite_upper]), logs.mean() + np.array([-half, half]), rtol=1e-9)


def test_unmatched_benchmarks_never_enter_the_suite_row():
    """A benchmark without data on one side changes nothing but the count."""
    rng = np.random.default_rng(8)
    new, old = samples(rng, [0.9, 1.0, 1.2])
    new[1] = np.nan
    for shared in (False, True):
        rules = PLAIN._replace(shared=shared)
        found, without = compare_units(new, old, rules=rules), compare_units(new[[0, 2]], old[[0, 2]], rules=rules)
        for name in ("suite_estimate", "suite_lower", "suite_upper", "suite_df", "suite_n", "suite_benchmarks"):
            np.testing.assert_allclose(getattr(found, name), getattr(without, name), rtol=1e-12, err_msg=name)


def test_a_suite_without_benchmarks_is_nan():
    """Nothing measured on both sides: NaN, no units, inconclusive."""
    found = compare_units(np.full((2, 3), np.nan), np.ones((2, 3)), rules=PLAIN)
    assert np.isnan(found.suite_estimate)
    assert found.suite_verdict == "inconclusive"
    assert found.suite_n == 0
