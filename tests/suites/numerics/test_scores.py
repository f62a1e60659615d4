"""Scores of a suite and their ratio: closed forms, brute force, numbers from R, simulated truth."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.bootstrap_limits import acceleration_of
from perfarray.numerics.ratio_tests import compare_units
from perfarray.numerics.suite import MEANS, log_mean_slopes, match_sides, run_statistic, suite_mean
from perfarray.numerics.verdicts import Rules
from perfarray.suites.numerics.ratios import _left_out, bootstrap_interval, t_interval, t_places
from perfarray.suites.numerics.redrawn_scores import Score, draw_scores

STATISTICS = ("mean", "median", "min", "max", "geometric")
PLAIN = Score("geometric", "mean")


def units(seed, ratio=1.0, suites=3, benchmarks=5, runs=6, spread=0.02):
    """Return units (suites, benchmarks, runs) of two systems."""
    rng = np.random.default_rng(seed)
    level = rng.uniform(1, 100, (1, benchmarks, 1))
    return tuple(
        level * f * rng.normal(1, spread, (suites, benchmarks, runs)) for f in (ratio, 1.0)
    )


def interval(new, old, score=PLAIN):
    """Return the t interval of all matched benchmarks."""
    sides = match_sides(new, old, shared=score.shared, paired=score.paired)
    return t_interval(sides, sides.matched, score)


def covered(limits, truth):
    """Return the share of intervals that hold the truth."""
    return ((limits.lower <= truth) & (limits.upper >= truth)).mean()


def test_means_are_those_of_scipy():
    """Geometric, harmonic and arithmetic means; and the statistics within."""
    values = np.random.default_rng(0).uniform(1, 9, (4, 7))
    for mean, function in zip(MEANS, (stats.gmean, stats.hmean, np.mean), strict=True):
        np.testing.assert_allclose(suite_mean(values, mean), function(values, axis=-1), rtol=1e-13)
    for statistic, function in zip(
        STATISTICS, (np.mean, np.median, np.min, np.max, stats.gmean), strict=True
    ):
        np.testing.assert_allclose(
            run_statistic(values, statistic), function(values, axis=-1), rtol=1e-13
        )
        ragged = np.concatenate([np.full((4, 1), np.nan), values, np.full((4, 2), np.nan)], axis=1)
        np.testing.assert_allclose(
            run_statistic(ragged, statistic), function(values, axis=-1), rtol=1e-13
        )
        assert np.isnan(run_statistic(np.full(3, np.nan), statistic))


@pytest.mark.parametrize("mean", MEANS)
def test_weights_are_the_derivatives_of_the_log_mean(mean):
    """Moving one log score by h moves the log mean by w h."""
    scores, matched = np.array([1.0, 4.0, 30.0, 2.0]), np.array([True, True, True, False])
    weights = log_mean_slopes(scores, mean, matched)
    for index in range(4):
        moved = scores * np.exp(1e-6 * (np.arange(4) == index))
        change = np.log(suite_mean(moved, mean, matched)) - np.log(
            suite_mean(scores, mean, matched)
        )
        assert weights[index] == pytest.approx(change / 1e-6, abs=1e-5)
    assert weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("mean", MEANS)
def test_a_sample_of_equal_weights_is_the_plain_sample(mean):
    """The weighted variance and its degrees of freedom, with 1/5 each: the paired t over
    benchmarks."""
    score = PLAIN._replace(mean=mean, random_benchmarks=True)
    for value, expected in zip(
        interval(*units(2), score._replace(weights=np.full(5, 0.2))),
        interval(*units(2), score),
        strict=True,
    ):
        np.testing.assert_allclose(value, expected, rtol=1e-9)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_the_t_interval_is_the_suite_row_of_a_comparison(shared, paired):
    """Independent, shared and paired units: the same estimate, limits, df and n; a comparison takes
    pairs over all benchmarks at once."""
    new, old = units(1, 0.97)
    new[0, 1, 2] = old[1, 3, 0] = old[1, 3, 1] = np.nan
    rules = Rules("fieller", 0.95, 0.0, 0.0, paired=paired, shared=shared)
    expected = compare_units(new, old, 0.95, rules=rules, levels=1).suite
    limits = interval(new, old, PLAIN._replace(shared=shared or paired, paired=paired))
    for name in ("estimate", "lower", "upper", "df", "n"):
        np.testing.assert_allclose(getattr(limits, name), getattr(expected, name), rtol=1e-12)


def test_the_standard_error_is_that_of_the_paper_s_terms():
    """SE^2 = B^-2 sum of s^2 / (m ybar^2), df = (sum v)^2 / sum of v^2 / (m - 1)."""
    new, old = units(2)
    limits = interval(new, old)
    terms = np.concatenate(
        [side.var(axis=-1, ddof=1) / 6 / side.mean(axis=-1) ** 2 for side in (new, old)], axis=-1
    )
    np.testing.assert_allclose(limits.standard_error, np.sqrt(terms.sum(axis=-1)) / 5, rtol=1e-12)
    np.testing.assert_allclose(
        limits.df, terms.sum(axis=-1) ** 2 / (terms**2 / 5).sum(axis=-1), rtol=1e-12
    )


@pytest.mark.parametrize("mean", MEANS)
def test_other_means_have_the_standard_error_of_simulation(mean):
    """Over 4,000 experiments the standard deviation of the log ratio is the mean standard error,
    within 3 %; joint or not."""
    new, old = units(3, suites=4000, benchmarks=4, runs=8, spread=0.05)
    for shared in (False, True):
        limits = interval(new, old, PLAIN._replace(mean=mean, shared=shared))
        assert np.sqrt((limits.standard_error**2).mean()) == pytest.approx(
            np.log(limits.estimate).std(), rel=0.03
        )


def test_t_over_benchmarks_is_r_s(golden):
    """Random benchmarks, geometric mean of ratios of medians: R's paired t interval on log
    ratios."""
    for case in golden("ci_and_empirical")["log_t"]:
        new, old = (np.array(case["input"][side], dtype=float)[None] for side in "AB")
        expected = case["output"]
        limits = interval(new, old, PLAIN._replace(random_benchmarks=True, statistic="median"))
        assert limits.estimate[0] == pytest.approx(expected["gm_ratio"], rel=1e-10)
        np.testing.assert_allclose([limits.lower[0], limits.upper[0]], expected["ci95"], rtol=1e-10)
        assert limits.df[0] == expected["df"]
        assert limits.pvalue[0] == pytest.approx(expected["p_two_sided"], rel=1e-8)


def test_bootstrap_moments_are_r_s(golden):
    """Redrawing within systems and benchmarks: mean and variance of the log ratio, within Monte
    Carlo error."""
    case = golden("ci_and_empirical")["bootstrap_moments"][0]
    new, old = (np.array(case["input"][side], dtype=float)[None] for side in "AB")
    score, draws = PLAIN._replace(statistic="geometric"), Draws((True,), 40_000, (1, 2))
    sides = match_sides(new, old, shared=False, paired=False)
    (replicates,) = draw_scores(sides, np.array([0]), draws, score)
    logs = (replicates.new - replicates.old).mean(axis=1)[0]
    expected = case["output"]["within"]
    assert logs.mean() == pytest.approx(
        expected["mean_log"], abs=4 * np.sqrt(expected["var_log"] / 40_000)
    )
    assert logs.var() == pytest.approx(expected["var_log"], rel=4 * np.sqrt(2 / 40_000))


def test_printed_t_intervals_are_paired_t_intervals(golden):
    """Tables 6 and 8 of Irving et al.: every printed interval is symmetric about the printed ratio
    on the log scale."""
    printed = golden("ci_and_empirical")["paper_t_intervals"]
    for gm, lower, upper in zip(printed["gm"], printed["lower"], printed["upper"], strict=True):
        assert np.sqrt(lower * upper) == pytest.approx(gm, abs=0.0011)


@pytest.mark.parametrize("random_benchmarks", [False, True])
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_bca_influence_is_a_jackknife(shared, paired, random_benchmarks):
    """Leaving out each unit (or benchmark) by brute force gives the acceleration."""
    new, old = units(4, suites=1, benchmarks=3, runs=4)
    score = PLAIN._replace(
        mean="harmonic",
        statistic="median",
        shared=shared,
        paired=paired,
        random_benchmarks=random_benchmarks,
    )
    sides, draws = match_sides(new, old, shared=shared, paired=paired), Draws((True,), 50, (1, 2))
    (replicates,) = draw_scores(sides, np.array([0]), draws, score)

    def ratio(a, b):
        scores = [suite_mean(run_statistic(side, "median"), "harmonic") for side in (a, b)]
        return (scores[0] / scores[1])[0]

    def without(side, benchmark, unit):
        changed = side.copy()
        changed[0, slice(None) if shared else benchmark, unit] = np.nan
        return changed

    if random_benchmarks:
        rows = [[ratio(np.delete(new, b, axis=1), np.delete(old, b, axis=1)) for b in range(3)]]
    else:
        omissions = [(b, u) for b in range(1 if shared else 3) for u in range(4)]
        if paired:
            rows = [
                [ratio(without(new, *omission), without(old, *omission)) for omission in omissions]
            ]
        else:
            rows = [
                [ratio(without(new, *omission), old) for omission in omissions],
                [ratio(new, without(old, *omission)) for omission in omissions],
            ]
    estimate = np.array([ratio(new, old)])
    size = 3 if random_benchmarks else 4
    expected = acceleration_of(
        tuple((size - 1) * (estimate[:, None] - np.array([row])) for row in rows)
    )
    influence = _left_out(replicates.sides, replicates.sides.matched, score, estimate)
    np.testing.assert_allclose(acceleration_of(influence), expected, rtol=1e-9)
    assert np.isfinite(
        bootstrap_interval(replicates, replicates.sides.matched, score, draws, "bca").lower
    ).all()


def test_joint_draws_keep_units_together():
    """Benchmarks that are copies of one another have replicates that are copies where their units
    are shared, and not elsewhere."""
    new, old = units(5, suites=2, benchmarks=1)
    new, old = (np.repeat(side, 3, axis=1) for side in (new, old))
    for shared in (True, False):
        score = PLAIN._replace(shared=shared)
        sides = match_sides(new, old, shared=shared, paired=False)
        (replicates,) = draw_scores(sides, np.arange(2), Draws((True,), 100, (1, 2)), score)
        assert np.allclose(replicates.new[:, 0], replicates.new[:, 1]) == shared
        assert not np.allclose(replicates.new[0], replicates.new[1])
        assert not np.allclose(
            np.exp(replicates.new) / new.mean(axis=-1)[..., None],
            np.exp(replicates.old) / old.mean(axis=-1)[..., None],
        )


def test_paired_draws_are_the_same_for_both_systems():
    """A system paired with twice itself has the ratio 2 in every replicate."""
    new, _ = units(6)
    sides = match_sides(2 * new, new, shared=False, paired=True)
    (replicates,) = draw_scores(
        sides, np.arange(3), Draws((True,), 100, (1, 2)), PLAIN._replace(paired=True)
    )
    np.testing.assert_allclose(np.exp(replicates.new - replicates.old), 2.0)


@pytest.mark.parametrize("within", ["mean", "median", "min"])
@pytest.mark.parametrize(("runs", "number"), [(3, 8000), (5, 2500)])
def test_redraws_follow_the_law_of_all(within, runs, number):
    """Tabulated (27 ways, 8,000 replicates) or drawn one by one (3,125 ways, 2,500): every
    statistic comes up as often as in all ways."""
    new, old = units(10, suites=4, benchmarks=2, runs=runs)
    sides = match_sides(new, old, shared=False, paired=False)
    (redraw,) = draw_scores(
        sides, np.arange(4), Draws((True,), number, (1, 2)), PLAIN._replace(statistic=within)
    )
    ways = np.array(list(product(range(runs), repeat=runs)))
    for row, replicates in zip(
        new.reshape(-1, runs), np.exp(redraw.new).reshape(-1, number), strict=True
    ):
        all_redraws = np.sort(getattr(np, within)(row[ways], axis=1))
        # Sums in another order differ in the last bits: bounds stand between the values that all
        # ways give.
        bounds = all_redraws[np.flatnonzero(np.diff(all_redraws) > 1e-9 * all_redraws[0])] * (
            1 + 5e-10
        )
        shares = np.searchsorted(all_redraws, bounds) / len(all_redraws)
        shares_below = np.searchsorted(np.sort(replicates), bounds) / number
        np.testing.assert_allclose(shares_below, shares, atol=2.2 / np.sqrt(number))


@pytest.mark.parametrize(
    "score",
    [
        PLAIN,
        PLAIN._replace(shared=True),
        PLAIN._replace(paired=True),
        PLAIN._replace(random_benchmarks=True),
    ],
)
def test_suites_have_random_numbers_of_their_own(monkeypatch, score):
    """A suite's interval is the same alone and among others, some of which have gaps."""
    new, old = units(11, suites=6)
    new[2, 1, 0] = old[2, 1, 0] = old[3, 4, 2] = new[3, 4, 2] = np.nan
    new[5, 0] = np.nan
    draws, cells = Draws((True,), 60, (1, 2)), np.array([7, 3, 11, 0, 5, 2])

    def intervals(suites):
        sides = match_sides(new[suites], old[suites], shared=score.shared, paired=score.paired)
        blocks = draw_scores(sides, cells[suites], draws, score)
        return np.concatenate(
            [
                np.array(bootstrap_interval(block, block.sides.matched, score, draws, "percentile"))
                for block in blocks
            ],
            axis=1,
        )

    limits_at_once = intervals(np.arange(6))
    assert np.isfinite(limits_at_once[1]).all()
    np.testing.assert_array_equal(
        np.concatenate([intervals(np.array([suite])) for suite in range(6)], axis=1), limits_at_once
    )
    monkeypatch.setattr(
        "perfarray.suites.numerics.redrawn_scores.KEPT", 1
    )  # suites are drawn one by one
    np.testing.assert_array_equal(intervals(np.arange(6)), limits_at_once)


@pytest.mark.parametrize(
    ("runs", "limit"),
    [(4, "numerics.with_replacement.LOOKED_UP"), (6, "suites.numerics.redrawn_scores.BLOCK")],
)
def test_every_block_of_replicates_has_random_numbers_of_its_own(monkeypatch, runs, limit):
    """Where 40 replicates are drawn in several blocks, none is another again."""
    new, old = units(13, suites=2, runs=runs)
    monkeypatch.setattr(f"perfarray.{limit}", 20 * new[..., 0].size)
    sides = match_sides(new, old, shared=False, paired=False)
    replicates = np.concatenate(
        [block.new for block in draw_scores(sides, np.arange(2), Draws((True,), 40, (1, 2)), PLAIN)]
    )
    assert np.isfinite(replicates).all()
    assert (replicates[..., :20] != replicates[..., 20:]).mean() > 0.9


def test_benchmarks_with_other_numbers_of_runs_are_redrawn_by_their_own():
    """Replicates of 2, 3 and 4 runs have the variance (n - 1)/n s^2/n; a benchmark with one run
    does not move; one with none is NaN."""
    new, old = units(12, suites=2, benchmarks=5, runs=4)
    for benchmark, number in enumerate((2, 3, 4, 1, 0)):
        new[:, benchmark, number:] = np.nan
    sides = match_sides(new, old, shared=False, paired=False)
    blocks = list(draw_scores(sides, np.arange(2), Draws((True,), 20_000, (1, 2)), PLAIN))
    redrawn = [
        np.exp(np.concatenate([getattr(block, side) for block in blocks]))
        for side in ("new", "old")
    ]
    for benchmark, number in enumerate((2, 3, 4, 1)):
        runs = new[:, benchmark, :number]
        np.testing.assert_allclose(
            redrawn[0][:, benchmark].mean(axis=-1), runs.mean(axis=-1), rtol=1e-3
        )
        np.testing.assert_allclose(
            redrawn[0][:, benchmark].var(axis=-1), runs.var(axis=-1) / number, rtol=0.05, atol=1e-18
        )
    assert np.isnan(redrawn[0][:, 4]).all()
    assert np.isnan(redrawn[1][:, 4]).all()


def test_redrawn_benchmarks_have_the_variance_of_two_stages():
    """With units that do not vary, the variance is that of the mean of redrawn log ratios: (B -
    1)/B s^2/B."""
    logs = np.random.default_rng(7).normal(0, 0.1, 6)
    old = np.ones((1, 6, 4))
    sides = match_sides(np.exp(logs)[None, :, None] * old, old, shared=False, paired=False)
    score, draws = PLAIN._replace(random_benchmarks=True), Draws((True,), 40_000, (1, 2))
    (replicates,) = draw_scores(sides, np.array([0]), draws, score)
    limits = bootstrap_interval(replicates, sides.matched, score, draws, "percentile")
    assert limits.standard_error[0] == pytest.approx(logs.std() / np.sqrt(6), rel=0.02)


@pytest.mark.parametrize("method", ["t", "percentile"])
def test_one_sided_limits_are_two_sided_ones_of_a_lower_level(method):
    """95 % one-sided is 90 % two-sided; the other limit is infinite; the p-value is the one-sided
    one."""
    new, old = units(8, 0.995)
    sides, draws = match_sides(new, old, shared=False, paired=False), Draws((True,), 500, (1, 2))

    def limits_of(level, alternative):
        score = PLAIN._replace(confidence_level=level, alternative=alternative)
        if method == "t":
            return t_interval(sides, sides.matched, score)
        (replicates,) = draw_scores(sides, np.arange(3), draws, score)
        return bootstrap_interval(replicates, sides.matched, score, draws, method)

    two_sided, less, greater = (
        limits_of(0.9, "two-sided"),
        limits_of(0.95, "less"),
        limits_of(0.95, "greater"),
    )
    np.testing.assert_allclose(less.upper, two_sided.upper)
    np.testing.assert_allclose(greater.lower, two_sided.lower)
    assert np.isneginf(less.lower).all()
    assert np.isposinf(greater.upper).all()
    np.testing.assert_allclose(
        np.minimum(1, 2 * np.minimum(less.pvalue, greater.pvalue)), two_sided.pvalue
    )


def test_places_of_t_are_equally_probable():
    """Four places: t quantiles at 1/8, 3/8, 5/8 and 7/8 around the log ratio."""
    limits = interval(*units(2, suites=1))
    expected = (
        np.log(limits.estimate)
        + stats.t.ppf([0.125, 0.375, 0.625, 0.875], limits.df) * limits.standard_error
    )
    np.testing.assert_allclose(np.log(t_places(limits, 4))[0], expected, rtol=1e-9)


def test_nothing_varies():
    """Equal systems without spread: the limits are the ratio, p is 1; different ones: p is 0."""
    ones = np.ones((1, 3, 4))
    limits, shifted = interval(ones, ones), interval(1.1 * ones, ones)
    assert limits.lower == limits.upper == limits.pvalue == 1.0
    assert shifted.lower == pytest.approx(1.1)
    assert shifted.pvalue == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "expected"), [(3, 0.950), (5, 0.957), (10, 0.950)])
def test_coverage_of_t(runs, expected):
    """13 benchmarks: 95.0, 95.7 and 95.0 % at 3, 5 and 10 runs were found; here within 3 standard
    errors of 4,000 experiments."""
    new, old = units(runs, 0.9, suites=4000, benchmarks=13, runs=runs, spread=0.03)
    assert covered(interval(new, old), 0.9) == pytest.approx(
        expected, abs=3 * np.sqrt(0.05 * 0.95 / 4000)
    )


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_what_is_joint_does_not_move_the_estimate(mean, statistic):
    """Skewed runs of shared or paired units: the ratio of the scores asked for, in closed form and
    in the bootstrap's centre."""
    rng = np.random.default_rng(14)
    new, old = np.exp(rng.normal([[[0.2]], [[0.0]]], [[[0.8]], [[0.1]]], (2, 5, 6)))[:, None]
    expected = suite_mean(run_statistic(new, statistic), mean) / suite_mean(
        run_statistic(old, statistic), mean
    )
    for shared, paired in product((False, True), repeat=2):
        score = PLAIN._replace(mean=mean, statistic=statistic, shared=shared, paired=paired)
        sides = match_sides(new, old, shared=shared, paired=paired)
        (replicates,) = draw_scores(sides, np.array([0]), Draws((True,), 50, (1, 2)), score)
        limits = bootstrap_interval(
            replicates, sides.matched, score, Draws((True,), 50, (1, 2)), "percentile"
        )
        assert limits.estimate == pytest.approx(expected, rel=1e-12)
        if statistic in ("mean", "geometric"):
            assert interval(new, old, score).estimate == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("shared", "paired"), [(True, False), (False, True), (True, True)])
def test_coverage_of_linearised_joint_units(shared, paired):
    """Units that benchmarks share (correlation 0.8) or systems are paired on: 95 %, within 3
    standard errors of 4,000 experiments."""
    rng = np.random.default_rng(15)
    common = rng.normal(size=(1 if paired else 2, 4000, 1 if shared else 8, 6))
    new, old = 1 + 0.05 * (np.sqrt(0.8) * common + np.sqrt(0.2) * rng.normal(size=(2, 4000, 8, 6)))
    limits = interval(new, old, PLAIN._replace(shared=shared, paired=paired))
    assert covered(limits, 1) == pytest.approx(0.95, abs=3 * np.sqrt(0.05 * 0.95 / 4000))


@pytest.mark.slow
def test_coverage_where_builds_are_shared():
    """Builds whose effects correlate at 0.3 between 13 benchmarks: joint 95 %, taken as independent
    under 75."""
    rng = np.random.default_rng(9)
    shape = (2, 3000, 13, 5)
    effect = np.sqrt(0.3) * rng.normal(size=(2, 3000, 1, 5)) + np.sqrt(0.7) * rng.normal(size=shape)
    new, old = 1 + 0.02 * effect
    joint, separate = (
        covered(interval(new, old, PLAIN._replace(shared=shared)), 1) for shared in (True, False)
    )
    assert joint == pytest.approx(0.95, abs=0.012)
    assert separate < 0.75
