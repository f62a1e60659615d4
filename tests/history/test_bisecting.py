"""`next_measurement`: which commit to measure next, with how many runs, until the culprit is
known."""

import numpy as np
import pytest
import xarray as xr

import perfarray  # noqa: F401  (registers .perf)
from perfarray import PerfarrayWarning
from perfarray.history.numerics.bisecting import information

NIGHTS = [f"c{index:03}" for index in range(0, 192, 8)]
EVERY = [f"c{index:03}" for index in range(192)]


def history(step=0.1, runs=3, series=1, measured=NIGHTS, culprit="c100", seed=1):
    """Return timings of nights, which are slower from a culprit on; of every second series."""
    steps = step * (np.array(measured) >= culprit) * (np.arange(series)[:, None] % 2 == 0)
    values = np.exp(
        steps[..., None]
        + 0.01 * np.random.default_rng(seed).normal(size=(series, len(measured), runs))
    )
    coords = {"benchmark": [f"b{number}" for number in range(series)], "commit": measured}
    return xr.DataArray(
        values, dims=("benchmark", "commit", "execution"), coords=coords, name="time"
    )


def test_it_goes_on_until_the_culprit_is_known():
    """Every measurement leaves less; eight commits of a night take hardly more than bisection."""
    measured, advice = list(NIGHTS), None
    for _ in range(8):
        times = history(measured=sorted(measured)).isel(benchmark=0)
        advice = times.perf.change_points().perf.next_measurement(commits=EVERY)
        if not advice["next"].item():
            break
        measured = sorted({*measured, advice["next"].item()})
    assert (advice["culprit"].item(), len(measured) <= len(NIGHTS) + 5) == ("c100", True)
    assert advice["culprit_probability"] >= 0.95
    assert np.isnan(advice["runs"])


def test_commits_between_nights_are_as_likely():
    """Of a plain change the night's share alike, the middle comes next; of the nights alone the
    answer is there."""
    changes = history(0.2).isel(benchmark=0).perf.change_points()
    advice = changes.perf.next_measurement(commits=EVERY)
    np.testing.assert_allclose(
        advice["posterior"].sel(commit=slice("c097", "c104")), 1 / 8, rtol=1e-3
    )
    assert advice["next"].item() == "c100"
    assert advice["posterior"].sum() == pytest.approx(1)
    assert changes.perf.next_measurement()["culprit"].item() == "c104"
    xr.testing.assert_identical(
        changes.perf.next_measurement(change="c104"), changes.perf.next_measurement()
    )


def test_small_steps_need_more_runs():
    """A step close to the noise needs several runs; a large step, or commits of one run, one."""
    runs = [
        history(step, runs=n_runs)
        .perf.change_points()
        .perf.next_measurement(commits=EVERY)["runs"]
        .item()
        for step, n_runs in ((0.015, 3), (0.1, 3), (0.1, 1))
    ]
    assert runs[0] > 1
    assert runs[1:] == [1, 1]
    np.testing.assert_allclose(information(np.array([0.0, 20.0])), [0, 1], atol=1e-6)


def test_every_series_has_its_own():
    """Those without a change have an empty answer, and a note; chunks change nothing."""
    changes = history(series=2).perf.change_points()
    with pytest.warns(PerfarrayWarning, match="1 of 2 series have no change to look into"):
        advice = changes.perf.next_measurement(commits=EVERY)
    assert advice["next"].values.tolist() == ["c100", ""]
    pytest.importorskip("dask")
    lazy = changes.chunk({"benchmark": 1}).perf.next_measurement(commits=EVERY).compute()
    xr.testing.assert_allclose(lazy, advice)


def test_bad_input():
    changes = history().perf.change_points()
    for keywords, message in (
        ({"commits": NIGHTS[1:]}, "does not hold 1 of the 24 commits"),
        ({"commits": EVERY[::-1]}, "in another order"),
        ({"commits": [*NIGHTS, NIGHTS[-1]]}, "repeats some"),
        ({"change": "c000"}, "change='c000' is no change of any series. There is 'c104'."),
        ({"probability": 1.5}, "probability=1.5 is out of range"),
    ):
        with pytest.raises(ValueError, match=message):
            changes.perf.next_measurement(**keywords)
    with pytest.raises(ValueError, match="needs the result of change_points"):
        history().to_dataset().perf.next_measurement()
