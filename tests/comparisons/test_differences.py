"""The difference of two means beside their ratio: limits of SciPy's t tests, and what holds for
every method."""

import numpy as np
import pytest
from scipy import stats

import perfarray
from comparisons.arrays import in_seconds


@pytest.fixture
def rng():
    return np.random.default_rng(7)


LIMITS = ["difference_lower", "difference_upper"]


def two_systems(rng, n_old=6, n_new=4):
    old, new = rng.normal(10, 1, n_old), rng.normal(9, 2, n_new)
    return old, new, perfarray.from_samples({"old": old, "new": new})


@pytest.mark.parametrize("confidence_level", [0.8, 0.95])
@pytest.mark.parametrize("method", ["fieller", "log_delta", "studentized"])
def test_limits_of_means_are_welchs(rng, method, confidence_level):
    old, new, times = two_systems(rng)
    verdicts = times.perf.compare("old", method=method, confidence_level=confidence_level, rng=1)
    expected = stats.ttest_ind(new, old, equal_var=False).confidence_interval(confidence_level)
    assert verdicts["difference"].item() == pytest.approx(new.mean() - old.mean(), rel=1e-12)
    assert [verdicts[name].item() for name in LIMITS] == pytest.approx(list(expected), rel=1e-10)
    assert {verdicts[name].attrs["units"] for name in ("difference", *LIMITS)} == {"s"}


def test_limits_of_pairs_are_those_of_their_differences(rng):
    old = rng.normal(10, 1, 7)
    new = old * 1.1 + rng.normal(0, 0.1, 7)
    verdicts = perfarray.from_samples({"old": old, "new": new}).perf.compare(
        "old", paired="execution"
    )
    expected = stats.ttest_rel(new, old).confidence_interval()
    assert [verdicts[name].item() for name in LIMITS] == pytest.approx(list(expected), rel=1e-9)


def test_limits_rest_on_unit_means_and_ignore_gaps(rng):
    values = rng.normal(10, 1, (2, 5, 3))
    values[1, 3:], values[0, 0, 1:] = np.nan, np.nan
    times = in_seconds(values, "version", "execution", "iteration")
    old, new = np.nanmean(values[0], axis=-1), np.nanmean(values[1, :3], axis=-1)
    expected = stats.ttest_ind(new, old, equal_var=False).confidence_interval()
    assert [times.perf.compare("old")[name].item() for name in LIMITS] == pytest.approx(
        list(expected), rel=1e-10
    )


def test_limits_have_the_corrected_level_of_their_row(rng):
    values = rng.normal(10, 1, (2, 4, 5))
    verdicts = in_seconds(values, "version", "benchmark", "execution").perf.compare(
        "old", correction="holm"
    )
    expected = stats.ttest_ind(values[1, 2], values[0, 2], equal_var=False).confidence_interval(
        1 - 0.05 / 4
    )
    assert [verdicts[name].sel(benchmark=2).item() for name in LIMITS] == pytest.approx(
        list(expected), rel=1e-10
    )


def test_one_unit_a_side_has_a_difference_without_limits():
    with pytest.warns(perfarray.PerfarrayWarning):
        verdicts = perfarray.from_samples({"old": [10.0], "new": [9.0]}).perf.compare("old")
    assert verdicts["difference"].item() == -1
    assert np.isnan([verdicts[name].item() for name in LIMITS]).all()


def test_medians_have_a_difference_alone(rng):
    old, new, times = two_systems(rng, 9, 9)
    verdicts = times.perf.compare("old", statistic="median")
    assert verdicts["difference"].item() == pytest.approx(np.median(new) - np.median(old))
    assert not set(LIMITS) & set(verdicts.data_vars)


def test_stopped_runs_open_the_limit_towards_what_they_would_have_taken():
    times = perfarray.from_samples(
        {"old": [10.0, 10.1, 9.9, 10.0], "new": [12.0, 20.0, 12.2, 12.1]}
    )
    with_stopped_runs = times.assign_coords(
        censored=(("version", "execution"), [[False] * 4, [False, True, False, False]])
    )
    with pytest.warns(perfarray.PerfarrayWarning):
        verdicts = with_stopped_runs.perf.compare("old")
    assert verdicts["difference_upper"].item() == np.inf
    assert np.isfinite(verdicts["difference_lower"].item())
