"""Rank sums of ratios: against SciPy and enumeration, limits that invert the tests."""

from itertools import accumulate, combinations
from math import comb

import numpy as np
import pytest
from scipy import stats

from perfarray.numerics import rank_sums
from perfarray.numerics.rank_sums import (
    chance,
    hodges_lehmann,
    rank_limits,
    rank_pvalues,
    ratios_outside,
    units_with_rank_limits,
)
from perfarray.numerics.spread import equal_spreads_pvalue


def two(n, m, seed=1):
    """Return lognormal samples in ascending order, the first 30 % larger."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.lognormal(0.26, 0.5, n)), np.sort(rng.lognormal(0, 0.5, m))


@pytest.mark.parametrize(
    ("n", "m"),
    [(1, 1), (3, 4), (8, 8), (20, 7), (49, 50), (3, 100), (100, 100), (101, 100), (300, 40)],
)
def test_pvalues_are_scipys(n, m):
    """Exact up to 100 values a side, and of few against many; else normal with the correction for
    continuity."""
    new, old = two(n, m)
    method = "exact" if n * m * min(n, m) <= 1e6 else "asymptotic"
    for ratio in (0.7, 1.1, 2.0):
        for pvalue, alternative in zip(
            rank_pvalues(new, old, ratio), ("less", "greater"), strict=True
        ):
            assert pvalue == pytest.approx(
                stats.mannwhitneyu(new / ratio, old, alternative=alternative, method=method).pvalue,
                rel=1e-9,
            )


def test_the_law_is_that_of_all_orders():
    """Every choice of places for three of seven values; the law of either sample over the other is
    the same."""
    below = np.array(
        [
            sum(position - number for number, position in enumerate(positions))
            for positions in combinations(range(7), 3)
        ]
    )
    for sizes in ((3, 4), (4, 3)):
        np.testing.assert_allclose(
            [chance(rank_sum, *sizes) for rank_sum in range(13)],
            [np.mean(below <= rank_sum) for rank_sum in range(13)],
            rtol=1e-12,
        )


@pytest.mark.parametrize(("n", "m"), [(3, 100), (49, 49), (60, 50)])
def test_the_law_is_exact_in_both_tails(n, m):
    """Every probability, from 1 over the number of orders to 1: against whole numbers, by the
    recursion of Mann and Whitney."""
    rows = [
        [1] for _ in range(m + 1)
    ]  # how many orders of so many values and 0, 1, ... of the other sample have each statistic
    for values in range(1, n + 1):
        row = [[1]]
        for n_other in range(1, m + 1):
            sums = [0] * (values * n_other + 1)
            for shift, counts in ((n_other, rows[n_other]), (0, row[-1])):
                sums[shift : shift + len(counts)] = [
                    total + count for total, count in zip(sums[shift:], counts, strict=False)
                ]
            row.append(sums)
        rows = row
    exact = [below / comb(n + m, n) for below in accumulate(rows[m])]
    np.testing.assert_allclose(
        [chance(rank_sum, n, m) for rank_sum in range(n * m + 1)], exact, rtol=1e-12
    )


@pytest.mark.parametrize(("n", "m"), [(5, 5), (8, 6), (12, 20)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_limits_are_the_ratios_that_are_not_rejected(n, m, level):
    """Just inside the limits a two-sided test does not reject, just outside it does; their places
    are R's (qwilcox)."""
    new, old = two(n, m)
    low, high = rank_limits(new, old, level)
    risk = (1 - level) / 2
    assert (
        rank_pvalues(new, old, low * (1 + 1e-9))[1]
        > risk
        >= rank_pvalues(new, old, low * (1 - 1e-9))[1]
    )
    assert (
        rank_pvalues(new, old, high * (1 - 1e-9))[0]
        > risk
        >= rank_pvalues(new, old, high * (1 + 1e-9))[0]
    )
    assert low < hodges_lehmann(new, old) < high
    ratios = np.sort((new[:, None] / old).ravel())
    number = next(number for number in range(n * m) if chance(number, n, m) > risk)
    assert ratios_outside(n, m, risk) == number
    assert (low, high) == (ratios[number - 1], ratios[n * m - number])


def test_many_ratios_are_not_listed(monkeypatch):
    """A search finds the same ratios, ties included; thirty thousand values a side are no array of
    their ratios."""
    for samples in (two(40, 25), [np.round(side, 1) for side in two(40, 25)]):
        listed = [hodges_lehmann(*samples), *rank_limits(*samples, 0.95)]
        with monkeypatch.context() as patched:
            patched.setattr(rank_sums, "LISTED", 10)
            np.testing.assert_allclose(
                [hodges_lehmann(*samples), *rank_limits(*samples, 0.95)], listed, rtol=1e-13
            )
    low, high = rank_limits(*two(30_000, 30_000), 0.95)
    assert 1.28 < low < np.exp(0.26) < high < 1.32


TIED = {
    "one tie": ([3.0, 3.1, 4.0, 5.0], [1.0, 2.0, 3.0, 3.3]),
    "rounded": ([3.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 3.0]),
    "few against more": ([2.0, 2.0, 3.0], [1.0, 1.0, 2.0, 2.0, 2.0, 3.0]),
    "few values": ([1.0, 2.0, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0, 2.0]),
    "apart": ([2.0] * 5, [1.0] * 5),
}


@pytest.mark.parametrize("name", TIED)
@pytest.mark.parametrize("ratio", [1.0, 1.5, 0.5])
def test_tied_values_have_the_law_of_all_exchanges(name, ratio):
    """The p-values are the shares of all exchanges of mid-ranks with a rank sum as small, and as
    large; SciPy's permutations agree."""
    new, old = map(np.array, TIED[name])
    ranks = stats.rankdata(np.concatenate([new, ratio * old]))
    observed = ranks[: len(new)].sum()
    sums = np.array(
        [ranks[list(indices)].sum() for indices in combinations(range(len(ranks)), len(new))]
    )
    less, greater = rank_pvalues(new, old, ratio)
    assert (less, greater) == (
        pytest.approx(np.mean(sums <= observed)),
        pytest.approx(np.mean(sums >= observed)),
    )
    samples = ranks[: len(new)], ranks[len(new) :]
    permuted = stats.permutation_test(
        samples, lambda x, _, axis: x.sum(axis=axis), vectorized=True, n_resamples=np.inf
    )
    assert min(1.0, 2 * min(less, greater)) == pytest.approx(permuted.pvalue)


@pytest.mark.parametrize(
    ("old", "two_sided"),
    [
        ([12, 11, 13, 15], 0.028571428571428577),
        ([0.001, 4, 6, 7], 0.48571428571428577),
        ([2, 1, 3, 5], 1),
        ([2, 2, 2, 2], 0.7142857142857143),
    ],
)
def test_pvalues_are_those_of_benchstat(old, two_sided):
    """The values of the tests of its Mann-Whitney test (go-moremath, utest_test.go), with ties and
    without."""
    sides = np.sort(np.array([2.0, 1, 3, 5])), np.sort(np.array(old, dtype=float))
    assert min(1.0, 2 * min(rank_pvalues(*sides, 1.0))) == pytest.approx(two_sided)


@pytest.mark.parametrize(
    ("tied", "two_sided"), [(0, 0.0049335360814172224), (30, 0.0038703814239617884)]
)
def test_large_samples_are_those_of_benchstat(tied, two_sided):
    """500 against 600 values: the normal law, with the variance of ties and the correction for
    continuity."""
    new = 2.0 * np.arange(500) + 100
    old = np.where(np.arange(600) < tied, 2.0 * np.arange(600) + 100, 2.0 * np.arange(600) + 59)
    assert 2 * min(rank_pvalues(new, np.sort(old), 1.0)) == pytest.approx(two_sided, rel=1e-6)


def test_values_that_are_all_equal_have_no_evidence_of_a_change():
    """P-values of 1 at the ratio itself, and no other ratio; of enough values, every other one is
    rejected."""
    assert rank_pvalues(np.ones(5), np.ones(5), 1.0) == (1.0, 1.0)
    assert rank_pvalues(np.ones(50), np.ones(50), 1.0) == (1.0, 1.0)
    assert rank_limits(np.ones(5), np.ones(5), 0.95) == (1.0, 1.0)
    assert rank_limits(np.ones(3), np.ones(3), 0.95) == (0.0, np.inf)


@pytest.mark.parametrize(("n", "m"), [(4, 4), (8, 6), (12, 20), (40, 40)])
@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_limits_of_tied_values_are_the_ratios_that_are_not_rejected(n, m, decimals):
    """At every ratio of values and between them: rejected where it lies outside the limits, and not
    inside."""
    new, old = (np.round(5 * side, decimals) + 1 for side in two(n, m))
    low, high = rank_limits(new, old, 0.95)
    of_values = np.sort((new[:, None] / old).ravel())
    for ratio in np.concatenate([of_values, (of_values[1:] + of_values[:-1]) / 2])[
        :: max(1, n * m // 40)
    ]:
        if np.abs(ratio / np.array([low, high]) - 1).min() > 1e-9:
            assert (min(rank_pvalues(new, old, ratio)) <= 0.025) == (not low < ratio < high)


def test_a_limit_that_is_rejected_itself_lies_just_outside():
    """Rounded runs are often equal: where 1 is a ratio of values, a verdict at 1 is one that the
    limits show."""
    new, old = np.array([2.0, 2, 2, 3, 3, 3, 3, 4]), np.array([1.0, 1, 1, 1, 1, 2, 2, 2])
    assert rank_pvalues(new, old, 1.0)[1] <= 0.025
    assert rank_limits(new, old, 0.95)[0] > 1


def test_spreads_are_compared_as_scipy_does():
    """Brown and Forsythe's test of logarithms: Levene's of the distances from the medians; two
    values tell nothing."""
    new, old = two(9, 14)
    padded = np.append(new, np.nan)
    expected = stats.levene(np.log(new), np.log(old), center="median").pvalue
    np.testing.assert_allclose(
        equal_spreads_pvalue(np.stack([padded, padded]), np.stack([old, old]), 3), expected
    )
    assert np.isnan(equal_spreads_pvalue(new[None, :2], old[None], 3))


def test_few_units_have_no_limits():
    """Three a side have no p below 0.1; at 95 % four do."""
    assert rank_limits(*two(3, 3), 0.95) == (0.0, np.inf)
    assert units_with_rank_limits(0.95) == 4
    assert np.isfinite(rank_limits(*two(4, 4), 0.95)).all()
