"""The randomization test: every exchange counted in R, brute force, and the nominal error rate."""

from itertools import product

import numpy as np
import pytest

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.random import EXCHANGES, Streams
from perfarray.numerics.suite import SuiteSides, match_sides, run_statistic, suite_mean
from perfarray.suites.numerics.randomization import (
    TABLE,
    Tally,
    exchange_units,
    pvalue,
    randomization,
    smallest_pvalue,
)
from perfarray.suites.numerics.redrawn_scores import Score

STATISTICS = {
    "gm_all_scores": ("geometric", "geometric"),
    "gm_of_benchmark_means": ("geometric", "mean"),
    "gm_of_benchmark_medians": ("geometric", "median"),
    "am_of_benchmark_means": ("arithmetic", "mean"),
    "hm_of_benchmark_means": ("harmonic", "mean"),
}


def tally_of(new, old, how, draws=None):
    """Return the tally of one suite."""
    sides = match_sides(new[None], old[None], shared=how.shared, paired=how.paired)
    ((_, tallies),) = exchange_units(sides, np.array([0]), how, draws)
    return Tally(*(count.item() for count in tallies[:3]), *tallies[3:])


def ratio(new, old, how):
    """Return the ratio of two suite scores."""
    scores = [suite_mean(run_statistic(side, how.statistic), how.mean) for side in (new, old)]
    return scores[0] / scores[1]


def test_counts_are_r_s(golden):
    """All exchanges of seven data sets by five statistics: the counts are those of R."""
    for case in golden("randomization_test")["cases"]:
        new, old = (np.array(case["input"][side], dtype=float) for side in "AB")
        for name, (mean, statistic) in STATISTICS.items():
            expected, tally = case["output"][name], tally_of(new, old, Score(mean, statistic))
            assert (tally.at_least, tally.at_most, tally.number) == (
                expected["count_ge"], expected["count_le"], expected["n_permutations"],
            )  # fmt: skip
            assert tally.statistic == pytest.approx(expected["observed_ratio"], rel=1e-12)
            assert pvalue(tally, "two-sided", False) == pytest.approx(
                min(1, expected["p_H1c_twice_smaller"])
            )


@pytest.mark.parametrize("mean", ["geometric", "harmonic"])
@pytest.mark.parametrize("statistic", ["mean", "median", "min", "geometric"])
@pytest.mark.parametrize("shared", [False, True])
def test_pairs_are_swapped_within(shared, statistic, mean):
    """Brute force over all swaps of 3 pairs: within each of 2 benchmarks, or of both together."""
    rng = np.random.default_rng(1)
    new, old = rng.uniform(1, 2, (2, 2, 3))
    how = Score(mean, statistic, shared, True)
    tally, ratios = tally_of(new, old, how), []
    for swaps in product([False, True], repeat=3 if shared else 6):
        swapped = np.broadcast_to(np.reshape(swaps, (1, 3) if shared else (2, 3)), (2, 3))
        ratios.append(ratio(np.where(swapped, old, new), np.where(swapped, new, old), how))
    observed = ratio(new, old, how)
    at_least, at_most = (
        sum(sign * r >= sign * observed - 1e-10 for r in ratios) for sign in (1, -1)
    )
    assert tally == Tally(pytest.approx(observed), at_least, at_most, len(ratios), len(ratios))


def test_shared_units_are_exchanged_for_all_benchmarks():
    """With 3 and 2 shared units there are 10 exchanges, whatever the number of benchmarks; an
    incomplete unit is no unit."""
    rng = np.random.default_rng(2)
    new, old = rng.uniform(1, 2, (4, 4)), rng.uniform(1, 2, (4, 2))
    new[1, 3] = np.nan
    assert tally_of(new, old, Score("geometric", "mean", True, False)).number == 10


def test_unequal_numbers_of_runs():
    """Benchmarks with 2 + 1, 1 + 2 and 2 + 2 runs: 3 x 3 x 6 exchanges."""
    new = np.array([[1.0, 1.1], [2.0, np.nan], [3.0, 3.1]])
    old = np.array([[np.nan, 1.2], [2.2, 2.3], [3.3, 3.2]])
    tally = tally_of(new, old, Score("geometric", "geometric"))
    assert (tally.number, tally.at_most, tally.at_least) == (54, 1, 54)


@pytest.mark.parametrize("runs", [3, 9])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("mean", ["geometric", "arithmetic"])
def test_random_exchanges_follow_the_law_of_all(mean, paired, shared, runs):
    """Tabulated (3 runs) or permuted (9 runs, too many to tabulate): the mean of the log ratio is
    0, its variance that of exchanges."""
    rng = np.random.default_rng(runs)
    new, old = rng.uniform(1, 1.2, (2, 2, runs))
    how = Score(mean, "mean", shared, paired)
    tally = tally_of(new, old, how, Draws((True,), 20_000, (1, 2)))
    if runs == 3:
        all_exchanges = tally_of(new, old, how)
        for n_sampled, n_exact in (
            (tally.at_least, all_exchanges.at_least),
            (tally.at_most, all_exchanges.at_most),
        ):
            share = n_exact / all_exchanges.number
            assert n_sampled / tally.number == pytest.approx(
                share, abs=4 * np.sqrt(share * (1 - share) / 20_000) + 1e-12
            )
    else:
        outcomes = 2**9 if paired else 48_620
        assert (outcomes > TABLE) == (not paired)
        pool = np.concatenate([new, old], axis=1)
        logs = []
        for _ in range(4000):
            if paired:
                swapped = np.broadcast_to(rng.random((1 if shared else 2, 9)) < 0.5, (2, 9))
                sides = np.where(swapped, old, new), np.where(swapped, new, old)
            else:
                order = (
                    np.array([rng.permutation(18)] * 2)
                    if shared
                    else np.array([rng.permutation(18) for _ in range(2)])
                )
                mixed = np.take_along_axis(pool, order, axis=1)
                sides = mixed[:, :9], mixed[:, 9:]
            logs.append(ratio(*sides, how))
        share = np.mean(np.array(logs) >= ratio(new, old, how))
        assert tally.at_least / tally.number == pytest.approx(share, abs=4 * np.sqrt(0.25 / 4000))


@pytest.mark.parametrize("runs", [3, 4, 5, 6])
def test_every_benchmark_has_picks_of_its_own(runs):
    """The log ratio of many exchanges has mean 0 and the variance of independent exchanges within
    20 benchmarks."""
    new, old = np.random.default_rng(runs).lognormal(0, 0.1, (2, 20, runs))
    how = Score("geometric", "geometric")
    sides, draws = (
        match_sides(new[None], old[None], shared=False, paired=False),
        Draws((True,), 20_000, (1, 2)),
    )
    logs = np.log(
        randomization(
            sides, np.array([0]), how._replace(alternative="less"), draws, True, length=20_000
        )[-1][0]
    )
    pooled = np.log(np.concatenate([new, old], axis=1))
    variance = (pooled.var(axis=1, ddof=1) * 2 / runs).sum() / 20**2
    assert logs.mean() == pytest.approx(0, abs=4 * np.sqrt(variance / 20_000))
    assert logs.var() == pytest.approx(variance, rel=4 * np.sqrt(2 / 20_000))


def test_p_values():
    """(b + 1)/(M + 1) or b/M; two-sided twice the smaller, at most 1."""
    tally = Tally(1.0, 4, 97, 100, 20)
    assert pvalue(tally, "greater", True) == 5 / 101
    assert pvalue(tally, "less", False) == 0.97
    assert pvalue(tally, "two-sided", True) == 10 / 101
    assert smallest_pvalue(tally, "two-sided", True) == 0.1
    assert smallest_pvalue(tally._replace(possible=10**400), "less", True) == 1 / 101
    assert pvalue(Tally(1.0, 100, 100, 100, 100), "two-sided", False) == 1.0


def test_too_many_exchanges():
    """The message says how many there would be."""
    side = np.ones((5, 5))
    with pytest.raises(
        ValueError,
        match=r"would enumerate 1,016,255,020,032 exchanges, .* use method='monte_carlo'",
    ):
        tally_of(side, side, Score("geometric", "mean"))


@pytest.mark.slow
def test_error_rate():
    """Two equal systems, 13 benchmarks of 5 runs: p <= 0.05 in 5 % of 1,000 experiments, within 3
    standard errors."""
    new, old = np.random.default_rng(3).lognormal(0, 0.05, (2, 1000, 13, 5))
    sides = match_sides(new, old, shared=False, paired=False)
    how = Score("geometric", "geometric")
    pvalues = randomization(sides, np.arange(1000), how, Draws((True,), 199, (1, 2)), True)[1]
    assert (pvalues <= 0.05).mean() == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 1000))


@pytest.mark.parametrize("runs", [3, 9])
@pytest.mark.parametrize("statistic", ["geometric", "median"])
@pytest.mark.parametrize("paired", [False, True])
def test_suites_exchanged_together_have_the_ratios_of_suites_alone(runs, statistic, paired):
    """Tabulated or drawn anew, with gaps and without data, in any order: to the last bit what one
    suite at a time gives."""
    new, old = np.random.default_rng(9).lognormal(0, 0.05, (2, 5, 3, runs))
    new[1, 0, 0] = old[3, 2, 1] = old[0, 1, 2] = new[2, 1, 0] = new[2, 0] = new[4] = np.nan
    sides = match_sides(new, old, shared=False, paired=paired)
    how, draws = (
        Score("harmonic", statistic, paired=paired, weights=np.array([1.0, 2.0, 0.5])),
        Draws((True,), 40, (1, 2)),
    )

    def ratios(cells):
        subset = SuiteSides(*(field[cells] for field in sides))
        return randomization(subset, np.arange(5)[cells], how, draws, True, length=40)

    together, alone = ratios(slice(None)), [ratios([suite]) for suite in range(5)]
    for field, fields_alone in zip(together, zip(*alone, strict=True), strict=True):
        np.testing.assert_array_equal(field, np.concatenate(fields_alone))
    order = np.array([3, 0, 4, 2, 1])
    np.testing.assert_array_equal(ratios(order)[-1], together[-1][order])
    assert np.isfinite(together[-1][:4]).all()
    assert np.isnan(together[-1][4]).all()


@pytest.mark.parametrize("tied", [0, 30])
@pytest.mark.parametrize("statistic", ["geometric", "mean", "median"])
def test_units_drawn_anew_are_those_of_the_smallest_words(statistic, tied, monkeypatch):
    """Beyond the table, the candidate has the units whose random words are smallest, whatever is
    computed of them.

    That holds, too, where the upper halves of the words that decide are equal.
    """
    new, old = np.random.default_rng(3).lognormal(0, 0.1, (2, 1, 2, 12))
    sides, how = match_sides(new, old, shared=False, paired=False), Score("arithmetic", statistic)
    words = Streams.words
    monkeypatch.setattr(Streams, "words", lambda *arguments: words(*arguments) >> np.uint64(tied))
    null_distribution = randomization(
        sides, np.array([7]), how, Draws((True,), 6, (1, 2)), True, length=6
    )[-1][0]
    order = Streams((1, 2)).words([7], EXCHANGES, 6 * 48).reshape(6, 2, 24).argsort(axis=-1)
    pool = np.broadcast_to(np.concatenate([new, old], axis=-1), (6, 2, 24))
    scores = [
        run_statistic(np.take_along_axis(pool, side, axis=-1), statistic).sum(axis=-1)
        for side in (order[..., :12], order[..., 12:])
    ]
    np.testing.assert_allclose(null_distribution, scores[0] / scores[1], rtol=1e-13)
