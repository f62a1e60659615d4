"""What varies between sessions: by hand, and how often the intervals hold that have it from
elsewhere."""

import numpy as np
import pytest

from perfarray.numerics.intervals import ratio_limits, ratio_of
from perfarray.numerics.sessions import (
    SessionNoise,
    SideError,
    add_sessions,
    noise_of_components,
    noise_of_history,
    noise_of_sessions,
    noise_of_suite,
    variances_of_sides,
)


def noise_with(*fields):
    """Return noise whose fields are arrays."""
    return SessionNoise(*map(np.array, fields))


def test_noise_of_sessions_by_hand():
    """Variances of logs: of session means with sessions - 1 df, inside pooled by df, runs as a
    harmonic mean."""
    values = np.array([[1.0, 1.1, 1.2], [1.3, 1.2, np.nan], [0.9, 1.0, 1.0]])
    noise = noise_of_sessions(values, 2)
    assert noise.variance == pytest.approx(np.log(np.nanmean(values, axis=1)).var(ddof=1))
    inside = [np.log(row[~np.isnan(row)]).var(ddof=1) for row in values]
    assert noise.within == pytest.approx((2 * inside[0] + inside[1] + 2 * inside[2]) / 5)
    assert (noise.df, noise.within_df, noise.runs) == (
        2,
        5,
        pytest.approx(3 / (1 / 3 + 1 / 2 + 1 / 3)),
    )
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
    noise = noise_with(0.02**2, 7.0, 0.01**2, 32.0, 5.0)
    widened, df = add_sessions(ratio, noise, "satterthwaite")
    assert df == pytest.approx(7)
    for side, original in (
        (widened.numerator, ratio.numerator),
        (widened.denominator, ratio.denominator),
    ):
        assert side.variance == pytest.approx(0.02**2 * original.mean**2)


def test_fewer_runs_add_and_what_runs_show_is_the_least():
    ratio = ratio_of(np.array([1.0, 1.02]), np.array([1.0, 0.98]), paired=False)
    inside = [side.variance / side.mean**2 for side in (ratio.numerator, ratio.denominator)]
    fewer_runs, _ = add_sessions(
        ratio, noise_with(0.02**2, 7.0, 0.01**2, 32.0, np.inf), "satterthwaite"
    )
    assert fewer_runs.numerator.variance / fewer_runs.numerator.mean**2 == pytest.approx(
        0.02**2 + inside[0]
    )
    no_sessions, _ = add_sessions(ratio, noise_with(1e-12, 7.0, 0.01**2, 8.0, 2.0), "satterthwaite")
    assert no_sessions.numerator.variance == pytest.approx(ratio.numerator.variance)


def test_one_run_a_side():
    """Sessions of one run each vary as a side of one run does; of more runs, the side lacks what
    their mean takes away."""
    ratio = ratio_of(np.array([1.1]), np.array([1.0]), paired=False)
    widened, df = add_sessions(ratio, noise_with(0.02**2, 4.0, np.nan, 0.0, 1.0), "satterthwaite")
    assert df == pytest.approx(4)
    assert widened.residual == pytest.approx(2 * (0.02 * 1.1) ** 2)
    widened, df = add_sessions(ratio, noise_with(0.02**2, 4.0, 0.03**2, 10.0, 3.0), "satterthwaite")
    added = (1 - 1 / 3) * 0.03**2
    assert widened.residual == pytest.approx(2 * (0.02**2 + added) * 1.1**2)
    assert df == pytest.approx((0.02**2 + added) / (0.02**2 / 4 + added / 10))


def test_one_run_whose_spread_nothing_tells_has_no_variance():
    """Whatever the other side has; a stated noise has no runs inside, and sessions of three runs
    that do not vary have."""
    sides = [
        SideError(np.array(np.nan), np.array(1.0), np.array(0.0)),
        SideError(np.array(1e-4), np.array(5.0), np.array(4.0)),
    ]
    for noise in (
        noise_with(0.02**2, 4.0, np.nan, np.nan, np.inf),
        noise_with(0.02**2, 4.0, np.nan, np.nan, 3.0),
    ):
        variances, df = variances_of_sides(sides, noise)
        assert np.isnan(variances[0])
        assert np.isnan(df)
        assert variances[1] > 0


def test_the_suite_takes_the_runs_of_its_benchmarks():
    """Its mean varies by the sum of the variances of independent benchmarks over their squared
    number."""
    rng = np.random.default_rng(3)
    logs = 0.01 * rng.standard_normal((4, 6, 3))
    rows, suite = noise_of_suite(np.exp(logs), 2, noise_of_sessions, depth=1, learn=False)
    assert suite.within == pytest.approx(rows.within.sum() / 16)
    assert suite.within_df == pytest.approx(rows.within.sum() ** 2 / (rows.within**2 / 12).sum())
    assert suite.runs == pytest.approx(3)


def test_components_have_the_noise_of_the_timings_that_they_are_of():
    """On logs, the variances of means of a nested analysis and their degrees of freedom are those
    of the sessions and of their runs."""
    rng = np.random.default_rng(4)
    logs = 0.01 * (
        rng.standard_normal((6, 1, 1))
        + rng.standard_normal((6, 4, 1))
        + rng.standard_normal((6, 4, 2))
    )
    means = logs.mean(axis=2)
    squares = np.array(
        [
            means.mean(axis=1).var(ddof=1),
            means.var(axis=1, ddof=1).mean(),
            logs.var(axis=2, ddof=1).mean(),
        ]
    )
    noise = noise_of_components(squares, np.array([6.0, 4.0, 2.0]), 1)
    np.testing.assert_allclose(noise, noise_of_sessions(np.exp(logs), 3), rtol=0.02)


def test_sides_of_one_unit_further_in():
    """Of 6 builds of 4 sessions, a side that is one session of one build varies by S_build^2 + (1 -
    1/4) S_session^2."""
    squares, counts = np.array([4e-4, 2e-4, 1e-4]), np.array([6.0, 4.0, 3.0])
    noise = noise_of_components(squares, counts, 2)
    assert noise.variance == pytest.approx(5.5e-4)
    assert noise.df == pytest.approx(5.5e-4**2 / (4e-4**2 / 5 + 1.5e-4**2 / 18))
    assert (noise.within, noise.within_df, noise.runs) == (1e-4, 48, 3)
    values = np.exp(0.01 * np.random.default_rng(5).standard_normal((1, 6, 4, 3)))
    rows, _ = noise_of_suite(values, 3, noise_of_sessions, depth=2, learn=False)
    outer, inner = noise_of_sessions(values[0], 3), noise_of_sessions(values[0].reshape(24, 3), 2)
    assert rows.variance[0] == pytest.approx(outer.variance + 0.75 * outer.within)
    np.testing.assert_allclose(np.ravel(rows[2:]), inner[2:])


@pytest.mark.parametrize("sessions", [3, 10, 30])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("runs", [(5, 5), (20, 5), (3, 10), (1, 1)], ids=str)
def test_sessions_of_one_program(sessions, share, runs):
    """6,000 comparisons of a program with itself, from 3 to 30 earlier sessions: at most 6.5 %, and
    no less where runs are as many."""
    rng, count = np.random.default_rng(5), 6_000
    between, within = 0.02 * np.sqrt([share, 1 - share])

    def timings(sessions, runs):
        return np.exp(
            between * rng.standard_normal((count, sessions, 1))
            + within * rng.standard_normal((count, sessions, runs))
        )

    (new,), (old,) = (np.moveaxis(timings(1, runs[0]), 1, 0) for _ in range(2))
    ratio = ratio_of(new, old, paired=False)
    noise = noise_of_sessions(timings(sessions, runs[1]), 2)
    widened, df = add_sessions(ratio, noise, "satterthwaite")
    limits = ratio_limits(widened, df, 0.95, "fieller", positive=True)
    false = ((limits.lower > 1) | (limits.upper < 1)).mean()
    assert false <= 0.065
    assert false >= 0.025 or runs[0] > runs[1]
