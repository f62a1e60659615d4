"""What varies between sessions: by hand, and how often the intervals hold that have it from elsewhere."""

import numpy as np
import pytest

from perfarray.numerics.intervals import ratio_df, ratio_limits, ratio_of
from perfarray.numerics.sessions import SessionNoise, add_sessions, add_sessions_to_suite, noise_of_history, noise_of_sessions


def test_noise_of_sessions_by_hand():
    """Variances of logs: of session means with sessions - 1 df, inside pooled by df, runs as a harmonic mean."""
    values = np.array([[1.0, 1.1, 1.2], [1.3, 1.2, np.nan], [0.9, 1.0, 1.0]])
    noise = noise_of_sessions(values, 2)
    assert noise.variance == pytest.approx(np.log(np.nanmean(values, axis=1)).var(ddof=1))
    inside = [np.log(row[~np.isnan(row)]).var(ddof=1) for row in values]
    assert noise.within == pytest.approx((2 * inside[0] + inside[1] + 2 * inside[2]) / 5)
    assert (noise.df, noise.runs) == (2, pytest.approx(3 / (1 / 3 + 1 / 2 + 1 / 3)))
    alone = noise_of_sessions(values[:, 0], 1)
    assert (alone.df, alone.runs) == (2, 1)
    assert np.isnan(alone.within)
    iterations = noise_of_sessions(values[..., None] * np.array([0.9, 1.1]), 3)
    np.testing.assert_allclose(iterations, noise, rtol=1e-12)


def test_noise_of_a_history_leaves_changes_and_gaps_out():
    logs = 0.01 * np.array([0, 1, 0, 2, 1, 0, 1, 0, 1, 0], dtype=float)
    logs[5:] += 0.5
    with_gap = np.insert(logs, 3, np.nan)
    for series in (logs, with_gap):
        noise = noise_of_history(np.exp(series), 1)
        differences = np.delete(np.diff(logs), 4)
        assert noise.variance == pytest.approx((differences**2).mean() / 2)
        assert noise.df == pytest.approx(16 / 3)
    assert noise_of_history(np.ones(5), 1).variance == 0


def test_sides_of_as_many_runs_have_the_variance_of_sessions():
    rng = np.random.default_rng(1)
    new, old = rng.normal(1, 0.01, (2, 5))
    ratio = ratio_of(new, old, paired=False)
    noise = SessionNoise(*map(np.array, (0.02**2, 7.0, 0.01**2, 5.0)))
    widened, df = add_sessions(ratio, np.array(8.0), noise)
    assert df == pytest.approx(7)
    for side, before in ((widened.numerator, ratio.numerator), (widened.denominator, ratio.denominator)):
        assert side.variance == pytest.approx(0.02**2 * before.mean**2)


def test_fewer_runs_add_and_what_runs_show_is_the_least():
    ratio = ratio_of(np.array([1.0, 1.02]), np.array([1.0, 0.98]), paired=False)
    inside = [side.variance / side.mean**2 for side in (ratio.numerator, ratio.denominator)]
    few, _ = add_sessions(ratio, np.array(2.0), SessionNoise(*map(np.array, (0.02**2, 7.0, 0.01**2, np.inf))))
    assert few.numerator.variance / few.numerator.mean**2 == pytest.approx(0.02**2 + inside[0])
    least, _ = add_sessions(ratio, np.array(2.0), SessionNoise(*map(np.array, (1e-12, 7.0, 0.01**2, 2.0))))
    assert least.numerator.variance == pytest.approx(ratio.numerator.variance)


def test_one_run_a_side():
    ratio = ratio_of(np.array([1.1]), np.array([1.0]), paired=False)
    noise = SessionNoise(*map(np.array, (0.02**2, 4.0, np.nan, 1.0)))
    widened, df = add_sessions(ratio, np.array(np.nan), noise)
    assert df == pytest.approx(4)
    assert widened.residual == pytest.approx(2 * (0.02 * 1.1) ** 2)
    variance, df = add_sessions_to_suite(np.array(np.nan), np.array(np.nan), noise)
    assert (variance, df) == (pytest.approx(2 * 0.02**2), pytest.approx(4))


@pytest.mark.parametrize("sessions", [3, 10, 30])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("runs", [(5, 5), (20, 5), (3, 10), (1, 1)], ids=str)
def test_sessions_of_one_program(sessions, share, runs):
    """6,000 comparisons of a program with itself, from 3 to 30 earlier sessions: at most 6.5 %, and no less where runs are as many."""
    rng, count = np.random.default_rng(5), 6_000
    between, within = 0.02 * np.sqrt([share, 1 - share])

    def timings(sessions, runs):
        return np.exp(between * rng.standard_normal((count, sessions, 1)) + within * rng.standard_normal((count, sessions, runs)))

    (new,), (old,) = (np.moveaxis(timings(1, runs[0]), 1, 0) for _ in range(2))
    ratio = ratio_of(new, old, paired=False)
    noise = noise_of_sessions(timings(sessions, runs[1]), 2)
    widened, df = add_sessions(ratio, ratio_df(ratio, "satterthwaite"), noise)
    limits = ratio_limits(widened, df, 0.95, "fieller", positive=True)
    false = ((limits.lower > 1) | (limits.upper < 1)).mean()
    assert false <= 0.065
    assert false >= 0.025 or runs[0] > runs[1]
