"""`trend`: how fast a metric drifts, apart from its steps."""

import numpy as np
import pytest
import xarray as xr

import perfarray  # noqa: F401  (registers .perf)
from perfarray import PerfarrayWarning
from strategies import experiments

PLACE = np.arange(60)


def history(logs, executions=2, seed=1, noise=0.01, **coords):
    """Return timings of series whose logs are given along commits, with noise."""
    logs = np.atleast_2d(logs)
    values = np.exp(
        logs[..., None] + noise * np.random.default_rng(seed).normal(size=(*logs.shape, executions))
    )
    return xr.DataArray(
        values,
        dims=("benchmark", "commit", "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )


STEPS = 0.2 * (PLACE >= 20) - 0.1 * (PLACE >= 45)


def test_a_slope_beside_steps():
    """Steps are no slope, a slope is no step, and both together are told apart; changes that are
    known are taken."""
    times = history([STEPS, 0.003 * PLACE, STEPS - 0.003 * PLACE, 0 * PLACE])
    with pytest.warns(
        PerfarrayWarning, match="2 of 4 series have two steps or more, found in the same commits"
    ):
        result_found = times.perf.trend()
    np.testing.assert_allclose(np.log(result_found["slope"]), [0.0, 0.003, -0.003, 0.0], atol=5e-4)
    assert result_found["verdict"].values.tolist() == [
        "inconclusive",
        "slower",
        "faster",
        "inconclusive",
    ]
    assert result_found["segment"].max("commit").values.tolist() == [2, 0, 2, 0]
    assert result_found["total"].values[1] == pytest.approx(result_found["slope"].values[1] ** 59)
    with_given_steps = times.isel(benchmark=[0]).perf.trend(
        changes=times.isel(benchmark=[0]).perf.change_points()
    )
    assert with_given_steps["lower"] < 1 < with_given_steps["upper"]


def test_a_step_in_doubt():
    """Where a step is nearly found, limits hold the slopes with and without it, and a verdict on
    which they differ is inconclusive."""
    times = history(0.01 * (PLACE >= 30), 1)[0]
    result_found = times.perf.trend()
    without, with_step = (
        times.perf.trend(changes=xr.Dataset({"segment": ("commit", 1.0 * (at <= PLACE))}))
        for at in (60, 30)
    )
    assert result_found["segment"].max() == 0
    assert [result["verdict"].item() for result in (result_found, without, with_step)] == [
        "inconclusive",
        "slower",
        "inconclusive",
    ]
    for name, value in (
        ("slope", without),
        ("lower", with_step),
        ("upper", without),
        ("pvalue", with_step),
    ):
        assert result_found[name] == pytest.approx(value[name].item())


@pytest.mark.filterwarnings(r"ignore:.*\d+ of \d+ series (have two|one or two) steps")
def test_the_limits_hold():
    """At least 95 % of series of 30 commits (but for 3 standard errors), whether neighbours are
    independent or correlated."""
    count = experiments(240)
    noise = np.random.default_rng(3).normal(size=(count, 30))
    correlated = noise.copy()
    for split in range(1, 30):
        correlated[:, split] = 0.5 * correlated[:, split - 1] + 0.75**0.5 * noise[:, split]
    for logs in (noise, correlated):
        result_found = history(0.01 * logs + 0.001 * np.arange(30), 1, noise=0.0).perf.trend()
        assert (
            (result_found["lower"] < np.exp(0.001)) & (np.exp(0.001) < result_found["upper"])
        ).mean() > 0.95 - 3 * (0.05 * 0.95 / count) ** 0.5


@pytest.mark.filterwarnings(r"ignore:.*\d+ of \d+ series (have two|one or two) steps")
@pytest.mark.parametrize("shares", [(0.5,), (0.35, 0.7)])
def test_steps_are_no_slope(shares):
    """Steps too small to be found seem a slope in at most 8 % of series (but for 3 standard
    errors), and clear slopes are claimed."""
    count = experiments(240)
    noise = 0.015 * np.random.default_rng(4).normal(size=(count, 40))
    for size in (0.01, 0.02, 0.03):
        steps = sum(size * (np.arange(40) >= share * 40) for share in shares)
        verdicts = history(noise + steps, 1, noise=0.0).perf.trend()["verdict"]
        assert (verdicts != "inconclusive").mean() <= 0.08 + 3 * (0.08 * 0.92 / count) ** 0.5
    assert (
        history(noise + 0.006 * np.arange(40), 1, noise=0.0).perf.trend()["verdict"] == "slower"
    ).mean() > 0.95


def test_a_slope_that_may_be_steps_is_noted():
    """Where steps say as much as a line, limits include no slope, and the note says what to do."""
    times = history(0.02 * (PLACE >= 20) + 0.02 * (PLACE >= 40), 1, noise=0.012)
    with pytest.warns(
        PerfarrayWarning, match="one or two steps explain as much as the slope.*give changes="
    ):
        result = times.perf.trend()
    assert result["stepped"].all()
    assert result["lower"] <= 1 <= result["upper"]
    assert result["verdict"] == "inconclusive"


def test_commits_with_few_runs_count_less():
    """A commit with one of nine executions counts less; an outlying commit hardly moves the slope;
    gaps keep their places."""
    times = history(0.002 * PLACE, 9, noise=0.02)
    slope = times.perf.trend()["slope"]
    times[0, 59] *= 3.0
    np.testing.assert_allclose(times.perf.trend()["slope"], slope, atol=4e-4)
    distant_value = history(np.where(PLACE == 0, 5.0, 0.0)[:12])
    assert distant_value.perf.trend()["slope"] == pytest.approx(
        1, abs=0.01
    )  # one wild commit at the beginning makes no slope
    gaps = times.where(times["commit"] % 7 != 3)
    assert gaps.perf.trend()["n"] == 51
    np.testing.assert_allclose(gaps.perf.trend()["slope"], slope, atol=6e-4)


@pytest.mark.parametrize("labels", ["datetime64", "text"])
def test_dates_give_a_slope_a_year(labels):
    """1 % a month, whatever the distances of the days."""
    days = np.datetime64("2026-01-01") + np.cumsum(1 + PLACE % 5)
    years = (days - days[0]).astype(int) / 365.2425
    times = history(0.12 * years, noise=1e-4).rename(commit="date")
    result_found = times.assign_coords(
        date=days.astype(str) if labels == "text" else days
    ).perf.trend(dim="date")
    assert result_found.attrs["per"] == "year"
    assert float(np.log(result_found["slope"].item())) == pytest.approx(0.12, abs=0.002)


@pytest.mark.filterwarnings("ignore:.*have two steps or more")
def test_all_paths_agree():
    """A rate falls as its time rises; chunks, the order of dims, float32 and a factor change
    nothing."""
    times = history([STEPS, 0.003 * PLACE])
    result_found = times.perf.trend()
    xr.testing.assert_allclose(
        times.transpose().perf.trend().transpose(*result_found.dims), result_found
    )
    xr.testing.assert_allclose((1000 * times).perf.trend(), result_found)
    xr.testing.assert_allclose(
        times.astype("float32").perf.trend(), result_found, rtol=1e-5, atol=1e-4
    )
    rate = (1 / times).assign_attrs(units="1/s", better="higher").perf.trend()
    np.testing.assert_allclose(rate["slope"], 1 / result_found["slope"])
    assert rate["verdict"].values.tolist() == result_found["verdict"].values.tolist()
    pytest.importorskip("dask")
    xr.testing.assert_allclose(times.chunk({"benchmark": 1}).perf.trend().compute(), result_found)


def test_few_commits_and_what_does_not_vary():
    """Three commits have limits, two and one say what is missing, and so does what is the same
    everywhere."""
    times = history(0.003 * PLACE)
    assert times[:, :3].perf.trend()["upper"].notnull().all()
    for number in (1, 2):
        with pytest.warns(PerfarrayWarning, match="fewer than 3 commits"):
            assert times[:, :number].perf.trend()["slope"].isnull().all()
    with pytest.warns(PerfarrayWarning, match="do not vary"):
        assert xr.ones_like(times).perf.trend()["verdict"].item() == "inconclusive"


def test_stopped_runs_give_no_verdict():
    """At their limit they hide a part of the slope."""
    times = history(0.01 * PLACE)
    is_stopped = (times > 1.4).assign_attrs({})
    with pytest.warns(PerfarrayWarning, match="no limits and no verdict"):
        result_found = times.where(~is_stopped, 1.4).assign_coords(censored=is_stopped).perf.trend()
    assert (result_found["verdict"].item(), bool(result_found["lower"].isnull().all())) == (
        "inconclusive",
        True,
    )
    assert result_found["slope"] > 1


def test_bad_input():
    times = history(STEPS)
    with pytest.raises(ValueError, match="changes= has no segments along 'commit'"):
        times.perf.trend(changes=times.to_dataset())
    with pytest.raises(ValueError, match="other labels along 'commit'"):
        times.perf.trend(changes=times[:, 1:].perf.change_points())
    with pytest.raises(ValueError, match="a slope of logs needs positive values"):
        (-times).assign_attrs(units="1").perf.trend()
    with pytest.raises(ValueError, match="dim 'day' not found"):
        times.perf.trend(dim="day")


def test_the_table():
    """Of every series what a commit, and what all of them make."""
    table = history([0.003 * PLACE]).perf.trend().perf.table()
    assert list(table) == ["a commit", "in all", "verdict", "p", "n"]
    assert table["a commit"].item().startswith("1.00")
