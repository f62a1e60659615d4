"""Limits of medians: order statistics of units of one run, effective numbers of runs where units
have several."""

import numpy as np
import pytest
from scipy import special

from perfarray.numerics.median_tests import compare_medians
from perfarray.numerics.medians import median_limits, runs_of, units_with_limits
from perfarray.numerics.verdicts import Rules

ONE = np.ones((1, 9))


def ratio_of_medians(new, old, *, levels=1, paired=False):
    """Return estimate, limits of 95 %, df, n and kind."""
    rules = Rules("order_statistics", 0.95, paired=paired)
    return compare_medians(new, old, 0.95, rules=rules, levels=levels).interval


def level_of(rank, n):
    """Return the level at which the limits of the median of n values are those of a rank from
    either end."""
    return 1 - 2 * special.betainc((n + 1) / 2, (n + 1) / 2, rank / (n + 1))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_limits_are_order_statistics_where_their_rank_is_whole(rank):
    """Of seven values, the limits at the level of a rank are the values of that rank from either
    end."""
    values = np.array([[3.0, 9.0, 5.0, 1.0, 8.0, 6.0, 2.0]])
    lower, upper = median_limits(runs_of(values), np.array([np.inf]), level_of(rank, 7) - 1e-12)
    ordered = np.sort(values[0])
    np.testing.assert_allclose([lower[0], upper[0]], [ordered[rank - 1], ordered[-rank]], rtol=1e-9)


def test_limits_beyond_all_runs_do_not_exist():
    """A level that the range of the values does not have leaves nothing out."""
    values = np.arange(1.0, 8.0)[None]
    lower, upper = median_limits(runs_of(values), np.array([np.inf]), level_of(1, 7) + 1e-6)
    assert (lower[0], upper[0]) == (0.0, np.inf)
    assert [units_with_limits(level) for level in (0.9, 0.95, 0.99)] == [5, 6, 8]


def test_units_weigh_the_same():
    """A unit of many runs counts as one of few, and a run that is repeated in every unit changes
    nothing but their number."""
    ragged = np.full((1, 3, 4), np.nan)
    ragged[0, 0], ragged[0, 1, :1], ragged[0, 2, :1] = (9.0, 9.1, 9.2, 9.3), 2.0, 1.0
    assert runs_of(ragged).median[0] == 2.0
    assert runs_of(ragged).positions[0, :2] == pytest.approx(
        runs_of(np.array([[1.0, 2.0, 9.0]])).positions[0, :2], abs=0.09
    )


def test_runs_that_resemble_each_other_count_less():
    """Units whose runs are all alike tell what units of one run tell; runs that do not resemble
    each other tell more."""
    rng = np.random.default_rng(1)
    run_means = np.sort(rng.normal(10, 1, (1, 8)))
    clustered, independent = (
        run_means[..., None] + rng.normal(0, 1e-6, (1, 8, 5)),
        rng.normal(10, 1, (1, 8, 5)),
    )
    assert 0.25 / runs_of(clustered).error[0] ** 2 < 9
    assert 0.25 / runs_of(independent).error[0] ** 2 > 25


def test_a_constant_baseline_leaves_the_candidates_limits():
    """With a baseline of ones the limits of the ratio are those of the candidate's median."""
    values = np.array([[3.0, 9.0, 5.0, 1.0, 8.0, 6.0, 2.0]])
    _, lower, upper, df, n, kind = ratio_of_medians(values, ONE)
    candidate_limits = median_limits(runs_of(values), np.array([np.inf]), 0.95)
    np.testing.assert_allclose(
        [lower[0], upper[0]], [candidate_limits[0][0], candidate_limits[1][0]], rtol=1e-12
    )
    assert (np.isnan(df[0]), n[0], kind[0]) == (True, 7.0, "bounded")


def test_pairs_that_move_together_are_sure_sooner():
    """Pairs on the same side of their medians have a narrower interval than the same units
    unpaired; a unit without partner is left out."""
    rng = np.random.default_rng(2)
    old = rng.lognormal(0, 0.2, (1, 20))
    new = 0.9 * old * rng.lognormal(0, 0.001, (1, 20))
    new[0, 0] = np.nan
    paired, unpaired = (ratio_of_medians(new, old, paired=choice) for choice in (True, False))
    assert paired[2][0] - paired[1][0] < 0.85 * (unpaired[2][0] - unpaired[1][0])
    assert (paired[4][0], unpaired[4][0]) == (19.0, 19.0)


def test_inverse_is_the_inverse():
    """The limits of old / new are those of new / old, turned over."""
    rng = np.random.default_rng(3)
    new, old = rng.lognormal(0, 0.1, (2, 4, 6, 5))
    forth, back = (ratio_of_medians(*sides, levels=2) for sides in ((new, old), (old, new)))
    np.testing.assert_allclose(1 / forth[2], back[1], rtol=1e-12)
    np.testing.assert_allclose(1 / forth[1], back[2], rtol=1e-12)


def test_limits_of_tied_runs_are_quotients_of_runs():
    """Of coarse clocks: limits hold the estimate, and one that is the quotient of two runs is just
    that, not beyond it by rounding."""
    tied = np.repeat([[1.1, 1.2]], [17, 3], axis=-1)
    estimate, lower, *_ = ratio_of_medians(tied * 1e12, np.full((1, 20), 1e12))
    assert lower[0] == estimate[0] == 1.1
    runs = np.repeat([[1.0, 1.3]], [8, 12], axis=-1)
    units = 10.0 ** np.arange(-9, 13)[:, None] * 3
    for new, old, limit_index in ((runs, np.ones((1, 20)), 1), (np.ones((1, 20)), runs, 2)):
        limit = ratio_of_medians(units * new, units * old)[limit_index]
        assert (limit == 1).all()
