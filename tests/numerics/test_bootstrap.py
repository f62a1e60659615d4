"""The bootstrap's formulas: replicates and limits from R, exact variances, SciPy, by hand, both
engines."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy import stats

from perfarray.numerics.bootstrap import DrawKeys, Draws, cells_of, redrawn
from perfarray.numerics.bootstrap_limits import (
    bias_of,
    influence_of,
    limits_of,
    one_sided,
    percentile_family,
    quantile,
    share_below,
    studentized,
)
from perfarray.numerics.bootstrap_samples import (
    Pairing,
    draw_sample,
    ratio_bootstrap,
    sample_bootstrap,
)
from perfarray.numerics.bootstrap_tests import compare_draws
from perfarray.numerics.levels import unit_means
from perfarray.numerics.nests import gather
from perfarray.numerics.random import Streams
from perfarray.numerics.statistics import evaluate, weighted_median
from perfarray.numerics.verdicts import Rules
from perfarray.numerics.with_replacement import drawn_entries, redrawn_sums, sum_tables, summed
from strategies import experiments

SCHEMES = {"RRR": (1, 1, 1), "RRN": (1, 1, 0), "RNN": (1, 0, 0), "NNR": (0, 0, 1), "NRR": (0, 1, 1)}


def replicates_of(values, statistic, draws, cell=0):
    """Return the replicates of one cell."""
    return draw_sample(
        values, np.array(cell, np.uint64), np.array(cell, np.uint64), draws, statistic
    ).replicates


def exact_variance(values, resampled_levels):
    """Return the variance of the bootstrap mean of balanced data: at each level drawn, the plug-in
    variance inside what is above it.

    A level's contribution is the mean over parents of the variance (divisor n) of its children's
    means, over the number of its draws in all, whether what is above it is drawn or kept.
    """
    total, parents = 0.0, 1
    for level in range(values.ndim):
        means = values.mean(axis=tuple(range(level + 1, values.ndim)))
        parents *= values.shape[level]
        if resampled_levels[level]:
            total += means.var(axis=-1).mean() / parents
    return total


def test_replicates_of_r_from_its_indices(golden):
    """golden/hierarchical_bootstrap: replicate means and ratios from given indices, to 1e-12."""
    for case in golden("hierarchical_bootstrap")["cases"]:
        replicates_by_side = {}
        for side in ("old", "new"):
            values = np.array(case["input"][side], dtype=float)
            indices = case["input"][f"indices_{side}"]
            picks = [
                np.array([row[level] for row in indices]) - 1
                for level in ("binary", "execution", "measurement")
            ]
            replicates_by_side[side] = unit_means(gather(values, picks), 3).mean(axis=-1)
            np.testing.assert_allclose(
                replicates_by_side[side], case["output"][f"replicate_means_{side}"], rtol=1e-12
            )
        np.testing.assert_allclose(
            replicates_by_side["new"] / replicates_by_side["old"],
            case["output"]["replicate_ratios"],
            rtol=1e-12,
        )


@pytest.mark.parametrize("scheme", [*SCHEMES, "flat"])
def test_exact_bootstrap_variances(golden, scheme):
    """The oracle's and the closed form agree; replicates meet both within five Monte Carlo standard
    errors, the mean too."""
    for case in golden("hierarchical_bootstrap")["cases"]:
        for side in ("old", "new"):
            values = np.array(case["input"][side], dtype=float)
            resampled_levels = SCHEMES.get(scheme, (1,))
            values = values if scheme != "flat" else values.ravel()
            expected = case["output"]["exact_bootstrap_variance_of_mean"][side][scheme]
            np.testing.assert_allclose(
                exact_variance(values, resampled_levels), expected, rtol=1e-9
            )
            number = experiments(40_000)
            draws = Draws(tuple(map(bool, resampled_levels)), number, (1, 2))
            replicates = replicates_of(values, "mean", draws)
            excess = stats.kurtosis(replicates)
            assert abs(replicates.var() / expected - 1) < 5 * np.sqrt((2 + excess) / number)
            assert abs(
                replicates.mean() - case["output"]["exact_bootstrap_mean"][side]
            ) < 5 * np.sqrt(expected / number)


@pytest.mark.parametrize(
    "resampled_levels", [d for d in product((False, True), repeat=3) if any(d)]
)
@pytest.mark.parametrize("shape", [(5, 4, 7), (3, 6, 1), (4, 1, 6), (2, 3, 130)])
def test_short_ways_meet_the_closed_form(resampled_levels, shape):
    """Pair tables, odd and even numbers of iterations, a table too large, single repetitions: the
    variance is the exact one."""
    rng = np.random.default_rng(3)
    values = (
        rng.normal(size=shape)
        + rng.normal(size=shape[:2])[..., None]
        + rng.normal(size=shape[0])[:, None, None]
    )
    draws = Draws(resampled_levels, 4000, (5, 6))
    replicates = replicates_of(values, "mean", draws)
    expected = exact_variance(values, resampled_levels)
    assert abs(replicates.mean() - values.mean()) < 5 * np.sqrt(expected / 4000) + 1e-12
    np.testing.assert_allclose(replicates.var(), expected, rtol=0.16, atol=1e-20)


def test_padding_changes_nothing():
    """Padding round a complete nest is cut away, down to single repetitions: the same law as
    without it."""
    for shape in ((4, 3, 5), (3, 2, 1), (2, 1, 2), (1, 2, 2), (1, 1, 1)):
        values = np.random.default_rng(0).normal(size=shape)
        padded = np.pad(values, ((0, 1), (1, 0), (1, 1)), constant_values=np.nan)
        draws = Draws((True,) * 3, 200, (1, 2))
        replicates, expected = (replicates_of(cell, "mean", draws) for cell in (padded, values))
        np.testing.assert_allclose(
            replicates.mean(), expected.mean(), atol=5 * values.std() / np.sqrt(200) + 1e-12
        )
        assert set(np.round(replicates, 9)) <= set(np.round(expected, 9)) or values.size > 4


@pytest.mark.parametrize(
    "resampled_levels", [(True, True, True), (True, False, True), (False, True, True)]
)
@pytest.mark.parametrize("depth", [9, 40])
def test_sums_and_values_agree_in_distribution(resampled_levels, depth):
    """Unit means from tables of sums and from all values drawn: the same mean, variance and
    distribution, unit by unit."""
    values = np.random.default_rng(0).lognormal(size=(1, 4, 3, depth))
    draws, streams = Draws(resampled_levels, 20_000, (7, 8)), Streams((7, 8))
    replicates = []
    for side, kind in enumerate(("units", "values")):
        cells = cells_of(values, draws, DrawKeys(np.zeros(1, np.uint64), side=side), kind)
        blocks = [block.copy() for _, _, (block,) in redrawn(draws.n_resamples, streams, cells)]
        blocks = [block if kind == "units" else block.mean(axis=(-1, -2)) for block in blocks]
        replicates.append(np.concatenate(blocks, axis=1)[0])
    for unit in range(4):
        a, b = (block[:, unit] for block in replicates)
        assert abs(a.mean() - b.mean()) < 5 * np.sqrt((a.var() + b.var()) / 20_000)
        assert a.var() == pytest.approx(
            b.var(), rel=4 * np.sqrt(2 * (stats.kurtosis(a, fisher=False) - 1) / 20_000)
        )
        assert stats.ks_2samp(a, b).pvalue > 1e-4


def test_ragged_nests_are_redrawn_parent_by_parent():
    """Every drawn parent gets as many children as it has, of its own: mean and variance by hand,
    within five standard errors."""
    values = np.array(
        [
            [[1.0, 2.0, 3.0], [5.0, np.nan, np.nan]],
            [[7.0, 9.0, np.nan], [np.nan] * 3],
            [[np.nan] * 3, [np.nan] * 3],
        ]
    )
    replicates = replicates_of(values, "mean", Draws((True, True, True), 40_000, (1, 2)))
    first = (
        ((2 / 3) / 3 + 0) / 2 + 1.5** 2
    )  # a group drawn of (1, 2, 3) and (5): 2 / 3 is the variance of the former, 1.5 their distance
    second = 1.0 / 2  # (7, 9) alone
    variance = ((first / 2 + second) / 2 + 2.25**2) / 2  # the units' means are 3.5 and 8
    assert abs(replicates.mean() - 5.75) < 5 * np.sqrt(variance / 40_000)
    assert abs(replicates.var() / variance - 1) < 5 * np.sqrt(
        (2 + stats.kurtosis(replicates)) / 40_000
    )


def test_bca_is_fair_to_ties():
    """A median ties often: replicates equal to the estimate count half, and the interval does not
    end at the estimate."""
    values = np.random.default_rng(5).integers(8, 13, 31).astype(float)
    samples = np.random.default_rng(6).choice(values, (4000, 31))
    replicates, estimate = np.median(samples, axis=1), np.array(np.median(values))
    influence = (np.zeros(31) + np.arange(31) - 15.0,)
    family = percentile_family("bca", estimate, replicates, influence)
    below, equal = (replicates < estimate).mean(), (replicates == estimate).mean()
    np.testing.assert_allclose(bias_of(family), stats.norm.ppf(below + equal / 2))
    fair, strict = limits_of(family, 0.95), limits_of(family, 0.95, ties=0)
    assert fair.lower < estimate < fair.upper
    assert strict.upper < fair.upper or strict.lower < fair.lower
    distinct = np.random.default_rng(7).normal(10, 1, 31)
    lows = np.random.default_rng(8).choice(distinct, (4000, 31)).min(axis=1)
    lowest = percentile_family("bca", np.array(distinct.min()), lows, influence)
    assert np.isfinite(limits_of(lowest, 0.95)).all()
    assert np.isnan(limits_of(lowest, 0.95, ties=0)).all()


def test_limits_of_boot(golden):
    """golden/boot_intervals: percentile, basic and BCa at 90, 95 and 99 %, z0 and acceleration of
    R's boot, to 1e-9."""
    for case in golden("boot_intervals")["cases"]:
        output, replicates = case["output"], np.array(case["input"]["replicates"])
        estimate, influence = np.array(output["t0"]), np.array(output["influence_jackknife"])
        for printed in output["intervals"]:
            for method, name in (
                ("percentile", "percentile"),
                ("basic", "basic"),
                ("bca", "bca_jackknife"),
            ):
                family = percentile_family(
                    method, estimate, replicates, (influence,) if method == "bca" else ()
                )
                as_boot = limits_of(
                    family, printed["level"], ties=0
                )  # boot counts replicates equal to the estimate not at all
                np.testing.assert_allclose(as_boot, printed[name], rtol=1e-9)
                if method == "bca":
                    np.testing.assert_allclose(
                        family.acceleration, output["acceleration_jackknife"], rtol=1e-9
                    )


def test_studentized_of_boot(golden):
    """boot's equal-tailed studentized limits from our quantiles of its t values, to 1e-9 (ours are
    symmetric)."""
    checked = 0
    for case in golden("boot_intervals")["cases"]:
        variances = case["input"].get("replicate_variances")
        if variances is None:
            continue
        t0, error = case["output"]["t0"], np.sqrt(case["output"]["var_t0"])
        t = np.sort((np.array(case["input"]["replicates"]) - t0) / np.sqrt(variances))
        for printed in case["output"]["intervals"]:
            tails = (1 + printed["level"]) / 2, (1 - printed["level"]) / 2
            np.testing.assert_allclose(
                [t0 - error * float(quantile(t, tail)) for tail in tails],
                printed["studentized"],
                rtol=1e-9,
            )
            checked += 1
    assert checked


def test_bca_and_percentile_of_scipy():
    """One level: the law of scipy.stats.bootstrap, within the Monte Carlo error of its quantiles
    and ours."""
    sample = np.random.default_rng(0).lognormal(size=40)
    draws = Draws((True,), 40_000, (1, 2))
    for method, name in (("percentile", "percentile"), ("bca", "BCa"), ("basic", "basic")):
        theirs = stats.bootstrap(
            (sample,), np.mean, n_resamples=40_000, method=name, rng=np.random.default_rng(1)
        ).confidence_interval
        bootstrap, _ = sample_bootstrap(sample, np.array(0), draws, "mean", method)
        np.testing.assert_allclose(
            limits_of(bootstrap, 0.95), theirs, atol=0.03 * sample.std() / np.sqrt(40) * 2
        )
    theirs = stats.bootstrap(
        (sample,), np.median, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    )
    theirs = stats.bootstrap(
        (sample,),
        np.median,
        confidence_level=0.9,
        bootstrap_result=theirs,
        n_resamples=0,
        method="percentile",
    )
    bootstrap, _ = sample_bootstrap(
        sample, np.array(0), draws._replace(n_resamples=20_000), "median", "percentile"
    )
    # Both are values of the sample, or lie halfway between two of them.
    np.testing.assert_allclose(limits_of(bootstrap, 0.9), theirs.confidence_interval, rtol=1e-12)


@pytest.mark.parametrize("method", ["percentile", "basic", "bca", "studentized"])
def test_p_values_invert_the_limits(method):
    """At a limit of level 1 - alpha the one-sided p is alpha / 2; outside it is smaller, inside
    larger."""
    rng = np.random.default_rng(2)
    new, old = rng.lognormal(0, 0.2, (6, 12)), rng.lognormal(0.1, 0.2, (6, 9))
    bootstrap, _ = ratio_bootstrap(
        Pairing(new, old, np.arange(6), False), Draws((True,), 1999, (1, 2)), method
    )
    for alpha in (0.2, 0.05, 0.0123):
        limits = limits_of(bootstrap, 1 - alpha)
        for cell in range(6):
            cell_family = type(bootstrap)(
                *(field[cell] if isinstance(field, np.ndarray) else field for field in bootstrap)
            )
            np.testing.assert_allclose(
                one_sided(cell_family, limits.lower[cell])[1], alpha / 2, rtol=1e-9
            )
            np.testing.assert_allclose(
                one_sided(cell_family, limits.upper[cell])[0], alpha / 2, rtol=1e-9
            )
            assert (
                one_sided(cell_family, limits.lower[cell] * 0.99)[1]
                < alpha / 2
                < one_sided(cell_family, limits.lower[cell] * 1.01)[1]
            )


def test_the_studentized_p_value_counts_replicates():
    """Just beyond a replicate p = (b + 1) / (R + 1), b the replicates with |t*| >= |t|; towards the
    next one it falls to the next p."""
    t = np.array([0.5, -1.0, 2.0, -3.0])
    family = studentized(np.array(0.0), np.array(1.0), t, np.ones(4), log=False)
    for value, p in (
        (0.4, 1.0),
        (0.5 + 1e-9, 0.8),
        (1.0, 0.6),
        (2.0, 0.4),
        (3.0, 0.2),
        (100.0, 0.2),
    ):
        below, above = one_sided(family, -value)
        assert 2 * min(below, above) == pytest.approx(p)
        assert above < below or p == 1


def test_quantiles_by_hand():
    """Rank (R + 1) p at whole ranks, normal interpolation between, extremes beyond; NaN replicates
    do not count."""
    ordered = np.array([1.0, 2.0, 3.0, 4.0, np.nan])
    assert [float(quantile(ordered, p)) for p in (0.2, 0.4, 0.6, 0.8, 0.01, 0.99)] == [
        1,
        2,
        3,
        4,
        1,
        4,
    ]
    z = stats.norm.ppf
    assert float(quantile(ordered, 0.3)) == pytest.approx(1 + (z(0.3) - z(0.2)) / (z(0.4) - z(0.2)))
    assert float(
        share_below(ordered, np.array(float(quantile(ordered, 0.37))), ties=True)
    ) == pytest.approx(0.37)
    assert np.isnan(quantile(np.full(3, np.nan), 0.5))


def test_influence_of_a_ratio(golden):
    """The jackknife influence of both samples is R's, to 1e-9."""
    case = golden("boot_intervals")["cases"][0]
    new, old = np.array(case["input"]["a"]), np.array(case["input"]["b"])
    _, bootstrap = ratio_bootstrap(
        Pairing(new, old, np.array(0), False), Draws((True,), 20, (1, 2)), "bca"
    )
    influence = [
        influence_of(bootstrap.ratio.estimate, jackknife) for jackknife in bootstrap.left_out
    ]
    np.testing.assert_allclose(
        np.concatenate(influence), case["output"]["influence_jackknife"], rtol=1e-9
    )


def test_statistics_of_ragged_cells():
    """Units count alike: the weighted median; the minimum of what was measured; a function sees
    measured values only."""
    values = np.array([[[1.0, 2.0, 3.0, 4.0], [10.0, np.nan, np.nan, np.nan]]])
    assert [evaluate(values, statistic)[0] for statistic in ("mean", "median", "min", np.sum)] == [
        6.25,
        7.0,
        1.0,
        20.0,
    ]
    assert weighted_median(np.array([3.0, 1.0, 2.0]), np.full(3, 1 / 3)) == 2.0
    assert weighted_median(np.array([3.0, 1.0, 2.0, 4.0]), np.full(4, 0.25)) == 2.5


def test_constant_and_degenerate_cells():
    """Constant data: limits at the estimate; no data: NaN; replicates of one and the same unit have
    no t."""
    draws = Draws((True,), 99, (1, 2))
    for method in ("percentile", "basic", "bca", "studentized"):
        bootstrap, _ = sample_bootstrap(
            np.array([[2.0] * 4, [np.nan] * 4]), np.arange(2), draws, "mean", method
        )
        limits = limits_of(bootstrap, 0.95)
        assert (limits.lower[0], limits.upper[0]) == (2.0, 2.0)
        assert np.isnan(limits.lower[1])
    bootstrap, _ = sample_bootstrap(
        np.array([0.1, 0.7, 0.3]), np.array(0), draws, "mean", "studentized"
    )
    assert np.isfinite(limits_of(bootstrap, 0.95).upper)
    assert np.isnan(bootstrap.replicates).any()


@pytest.mark.parametrize("statistic", ["mean", "median"])
@pytest.mark.parametrize("complete", [True, False])
def test_memory_is_a_block_s(monkeypatch, statistic, complete):
    """Neither 1000 replicates nor ragged data cost more than some arrays of a block; all replicates
    at once would be 8 MB."""
    for name, size in (("BLOCK", 1 << 14), ("TABLES", 1 << 18)):
        monkeypatch.setattr(f"perfarray.numerics.bootstrap.{name}", size)
    values = np.random.default_rng(0).normal(size=(10, 10, 10))
    if not complete:
        values[3, 4:, 5:] = np.nan
    draws = Draws((True,) * 3, 1000, (1, 2))
    tracemalloc.start()
    replicates_of(values, statistic, draws)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


@pytest.mark.parametrize("statistic", ["mean", "median"])
@pytest.mark.parametrize(
    "resampled_levels", [(True, True, True), (True, False, False), (False, True, True)]
)
@pytest.mark.parametrize("depth", [6, 31, 150])
@pytest.mark.parametrize("gaps", [(slice(0, 0),), (2, 1, slice(2, None)), (slice(3, None),)])
def test_blocks_are_bounded(monkeypatch, gaps, depth, resampled_levels, statistic):
    """A large cell is drawn in blocks, and that changes no number; nor does it how many replicates
    are drawn."""
    values = np.random.default_rng(0).normal(size=(5, 4, depth))
    values[gaps] = np.nan
    in_one_block = replicates_of(values, statistic, Draws(resampled_levels, 100, (1, 2)))
    monkeypatch.setattr("perfarray.numerics.bootstrap.BLOCK", 2_000)
    np.testing.assert_array_equal(
        replicates_of(values, statistic, Draws(resampled_levels, 100, (1, 2))), in_one_block
    )
    np.testing.assert_array_equal(
        replicates_of(values, statistic, Draws(resampled_levels, 37, (1, 2))), in_one_block[:37]
    )


@pytest.mark.parametrize("count", [5, 8, 10, 12, 14, 16])
def test_sums_by_column_are_those_of_rows(monkeypatch, count):
    """Two to eight numbers a row: all rows column by column, in blocks of any size, have the sums
    of one row after the other."""
    rng, streams = np.random.default_rng(0), Streams((1, 2))
    tables, keys = sum_tables(rng.normal(size=(2, 3, count))), np.arange(2).astype(np.uint64)
    names = rng.integers(0, 6, (2, 400))
    expected = summed(tables, drawn_entries(count, names, keys, 7, streams, 400, 3))
    for size in (1 << 17, 100):
        monkeypatch.setattr("perfarray.numerics.with_replacement.SUMMED", size)
        np.testing.assert_array_equal(
            redrawn_sums(tables, names, count, keys, 7, streams, 400, start=3), expected
        )


@pytest.mark.parametrize("depth", [17, 18, 31, 128, 129, 2100])
@pytest.mark.parametrize("outer", [(3,), (4, 3), (2, 3, 2)])
def test_compiled_sums_are_those_of_numpy(monkeypatch, outer, depth):
    """Complete nests of two levels and more have the same replicates from both engines, bit for
    bit, in blocks of any size."""
    pytest.importorskip("numba")
    values = np.random.default_rng(0).lognormal(0, 0.1, (3, *outer, depth))
    values[1, 0, ..., 3:] = np.nan
    cells, draws = (
        np.arange(3).astype(np.uint64),
        Draws((True,) * (values.ndim - 1), 150, (1 << 63, 2)),
    )
    plain = draw_sample(values, cells, cells, draws, "mean").replicates
    compiled = draws._replace(engine="numba")
    np.testing.assert_array_equal(
        draw_sample(values, cells, cells, compiled, "mean").replicates, plain
    )
    monkeypatch.setattr("perfarray.numerics.bootstrap.BLOCK", 2_000)
    np.testing.assert_array_equal(
        draw_sample(values, cells, cells, compiled, "mean").replicates, plain
    )


def test_cells_taken_some_at_a_time_have_the_limits_of_all_at_once(monkeypatch):
    """How many replicates are kept at once changes no number."""
    new, old = np.random.default_rng(8).lognormal(0, 0.1, (2, 3, 4, 5, 2))
    old[1, 2] = np.nan
    draws = Draws((True, False), 20, (1, 2))

    def limits():
        how = {"rules": Rules("bca", 0.9), "draws": draws, "joint": 0, "flat": False}
        keys = np.arange(12).reshape(3, 4)
        return compare_draws(new, old[:1], 0.9, keys, np.array(0), **how).interval

    at_once = limits()
    monkeypatch.setattr("perfarray.numerics.bootstrap_tests.REPLICATES_AT_ONCE", 100)
    for limit, limit_of_blocks in zip(at_once, limits(), strict=True):
        np.testing.assert_array_equal(limit, limit_of_blocks)
        assert limit.shape == (3, 4)
