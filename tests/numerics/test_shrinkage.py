"""Adaptive shrinkage: by hand, degenerate, and how often its signs are wrong."""

import numpy as np
import pytest
from scipy import integrate, stats

from perfarray.numerics import shrinkage
from perfarray.numerics.shrinkage import shrink


def test_posterior_by_integration(monkeypatch):
    """With given shares, posterior mean, sign rate and limits are those of the mixture, integrated numerically."""
    monkeypatch.setattr(shrinkage, "_fitted_shares", lambda *_: np.full(25, 1 / 25))
    logs, errors = np.array([0.03, -0.01, 0.0]), np.array([0.01, 0.01, 0.02])
    answer = shrink(logs, errors, np.full(3, np.inf))
    scales = 0.01 * 0.1 * 2.0 ** (np.arange(24) / 2)
    null = stats.norm.pdf(logs[0], 0, 0.01)

    def posterior(x):
        return stats.norm.pdf(x[:, None], 0, scales).sum(axis=-1) * stats.norm.pdf(logs[0], x, 0.01)

    grid = np.linspace(-0.05, 0.11, 160_001)
    values = posterior(grid)
    total = integrate.trapezoid(values, grid) + null
    assert np.log(answer.estimate[0]) == pytest.approx(integrate.trapezoid(grid * values, grid) / total, rel=1e-3)
    below = integrate.trapezoid(values[grid < 0], grid[grid < 0])
    assert answer.false_sign_rate[0] == pytest.approx((below + null) / total, rel=1e-2)
    above = grid > np.log(answer.upper[0])
    assert integrate.trapezoid(values[above], grid[above]) / total == pytest.approx(0.025, rel=2e-2)
    assert answer.lower[2] < 1 < answer.upper[2]


def test_errors_of_few_units_are_raised_to_the_p_value_of_t():
    statistic, df = np.array([0.0, 0.5, 2.0, 6.0]), np.array([4.0, 4.0, 4.0, 4.0])
    factor = shrinkage._inflation(statistic, df)
    np.testing.assert_allclose(stats.norm.sf(statistic[1:] / factor[1:]), stats.t.sf(statistic[1:], 4), rtol=1e-6)
    assert factor[0] == pytest.approx(stats.norm.pdf(0) / stats.t.pdf(0, 4))
    np.testing.assert_allclose(shrinkage._inflation(statistic, np.full(4, np.inf)), 1.0, rtol=1e-6)


def test_what_is_not_known_stays_so():
    answer = shrink(np.array([0.1, np.nan, 0.0]), np.array([0.01, 0.01, np.nan]), np.array([5.0, 5.0, 5.0]))
    assert np.isnan(answer.estimate).tolist() == np.isnan(answer.false_sign_rate).tolist() == [False, True, True]
    nothing = shrink(np.full(2, np.nan), np.full(2, np.nan), np.full(2, np.nan))
    assert np.isnan(nothing.lower).all()
    assert shrink(np.empty(0), np.empty(0), np.empty(0)).estimate.shape == (0,)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("runs", [5, 10])
def test_named_changes_have_the_right_sign(share, runs):
    """Of changes with a false sign rate below 5 %, fewer than 5 % are wrong; without a change hardly any is named, and errors shrink."""
    rng = np.random.default_rng(2)
    truth = np.where(rng.random((60, 50)) < share, 0.03 * rng.standard_normal((60, 50)), 0.0)
    new, old = (side + 0.01 * rng.standard_normal((60, 50, runs)) for side in (truth[..., None], 0.0))
    logs = new.mean(-1) - old.mean(-1)
    errors = np.sqrt((new.var(-1, ddof=1) + old.var(-1, ddof=1)) / runs)
    answer = shrink(logs, errors, np.full(truth.shape, 2.0 * runs - 2))
    named = answer.false_sign_rate < 0.05
    wrong = np.sign(np.log(answer.estimate)) != np.sign(truth)
    if share:
        assert wrong[named].mean() < 0.02
        assert named.mean() > 0.1 * share
    else:
        assert named.mean() < 0.001
    if share < 0.5:
        assert ((np.log(answer.estimate) - truth) ** 2).mean() < 0.6 * ((logs - truth) ** 2).mean()
    assert ((np.log(answer.lower) <= truth) & (truth <= np.log(answer.upper))).mean() >= 0.9
    assert abs(answer.unchanged.mean() - (1 - share)) < 0.25


def test_suites_beside_each_other_change_nothing():
    """A suite whose shares have converged waits for no other."""
    logs = np.random.default_rng(2).normal(0, [[0.01], [0.1], [0.001]], (3, 20))
    errors, df = np.full((3, 20), 0.01), np.full((3, 20), 8.0)
    together = shrink(logs, errors, df)
    for number in range(3):
        alone = shrink(logs[number], errors[number], df[number])
        for field, expected in zip(together, alone, strict=True):
            np.testing.assert_array_equal(field[number], expected)
