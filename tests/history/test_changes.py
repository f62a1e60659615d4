"""`change_points`: since when a metric is another one, how surely, and at how many false alarms."""

import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray import PerfarrayWarning
from perfarray.history.order import are_hashes
from strategies import experiments

COMMITS = [f"c{place:02}" for place in range(60)]


@pytest.fixture(scope="module")
def history():
    """Five executions of four benchmarks at 60 commits: three are 5 % slower from c20 on, one is faster from c40 on, another host's."""
    rng = np.random.default_rng(1)
    values = np.exp(0.01 * rng.normal(size=(4, 60, 5)) + 0.01 * rng.normal(size=(4, 60, 1)))
    values[:3, 20:] *= 1.05
    values[2, 40:] *= 0.9
    coords = {"benchmark": list("abcd"), "commit": COMMITS, "host": ("commit", ["h1"] * 40 + ["h2"] * 20)}
    return xr.DataArray(values, dims=("benchmark", "commit", "execution"), coords=coords, name="time", attrs={"units": "s"})


@pytest.fixture(scope="module")
def found(history):
    return history.perf.change_points()


def changed(result, **labels):
    """Return the labels of the commits at which one series changed."""
    own = result.sel(labels)
    return own["commit"].values[own["change"].values].tolist()


def test_changes_are_found_where_they_are(found):
    """With their size, direction and cause; a stable benchmark has none, and segments are numbered along the history."""
    assert [changed(found, benchmark=name) for name in "abcd"] == [["c20"], ["c20"], ["c20", "c40"], []]
    first = found.sel(benchmark="a", commit="c20")
    assert first["lower"] < 1.05 < first["upper"]
    assert (first["verdict"], first["cause"], bool(first["common"])) == ("slower", "code", True)
    second = found.sel(benchmark="c", commit="c40")
    assert (second["verdict"], second["cause"], bool(second["common"])) == ("faster", "host", False)
    assert found["n_common"].sel(commit="c20") == found["n_common"].sum() == 3
    assert [note.message for note in perfarray.notes(found) if note.code == "common"] == [
        "benchmarks that changed together, by one cause rather than each by itself: 3 at c20"
    ]
    assert found["segment"].sel(benchmark="c").values.tolist() == [0] * 20 + [1] * 20 + [2] * 20
    elsewhere = found.where(~found["change"])
    assert elsewhere["estimate"].isnull().all()
    assert (found["verdict"].values[~found["change"].values] == "").all()


def test_the_table_has_one_row_a_change(found):
    assert found.perf.table().index.tolist() == [("a", "c20"), ("b", "c20"), ("c", "c20"), ("c", "c40")]


def test_the_table_says_what_there_is_to_say(found):
    """Columns of hosts and of common changes only where there are any; of what did not change, that it did not."""
    columns = ["change", "verdict", "p", "made by"]
    early = found.sel(commit=COMMITS[:40])
    assert found.perf.table().columns.tolist() == [*columns, "cause", "common"]
    assert early.perf.table().columns.tolist() == [*columns, "common"]
    assert early.assign(common=xr.zeros_like(early["common"])).perf.table().columns.tolist() == columns
    assert found.sel(benchmark=["d"]).perf.table().attrs["about"] == "no change in 1 series of up to 60 commits"
    assert found.isel(benchmark=[]).perf.table().attrs["about"] == "no change in 0 series of up to 0 commits"


def test_a_rate_that_rises_is_faster(history):
    rate = (1 / history).assign_attrs(units="1/s", better="higher")
    assert rate.perf.change_points()["verdict"].sel(benchmark="a", commit="c20") == "slower"


def test_a_change_within_the_threshold_is_equivalent(history):
    """It is found all the same: the verdict says that it does not matter."""
    verdict = history.perf.change_points(threshold=0.2)["verdict"]
    assert verdict.sel(benchmark="a", commit="c20") == "equivalent"


def test_orders_of_dims_chunks_and_scales_change_nothing(history, found):
    turned = history.transpose().perf.change_points().transpose(*found.dims)
    xr.testing.assert_allclose(turned, found)
    pytest.importorskip("dask")
    xr.testing.assert_equal(history.chunk(benchmark=1).perf.change_points().compute(), found)
    scaled = (1000 * history).perf.change_points()
    np.testing.assert_allclose(scaled["estimate"], found["estimate"])
    assert history.astype("float32").perf.change_points()["change"].equals(found["change"])


def test_more_executions_inside_a_day_are_no_more_days():
    """A day's noise is no change however surely each day is known: without change, five executions alarm as seldom as one."""
    rng, count = np.random.default_rng(3), experiments(400)
    day = rng.normal(size=(count, 40, 1))
    many = xr.DataArray(np.exp(0.02 * day + 0.001 * rng.normal(size=(count, 40, 5))), dims=("benchmark", "commit", "execution"))
    with warnings.catch_warnings(action="ignore"):
        stable = many.perf.change_points(correction=None)
    assert stable["change"].any("commit").mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / count)
    np.testing.assert_allclose(stable["noise"].median(), 0.02, rtol=0.1)
    np.testing.assert_allclose(stable["within"].median(), 0.001 / np.sqrt(5), rtol=0.1)


def test_false_alarms_do_not_depend_on_the_noise():
    """Long tails and outlying days: as many false alarms as alpha says, within three standard errors."""
    rng, count = np.random.default_rng(4), experiments(400)
    values = rng.standard_t(2, size=(count, 20, 1)) + 10 * (rng.random((count, 20, 1)) < 0.05)
    times = xr.DataArray(np.exp(0.01 * values), dims=("benchmark", "commit", "execution"))
    with warnings.catch_warnings(action="ignore"):
        alarms = times.perf.change_points(correction=None, alpha=0.1)["change"].any("commit")
    assert alarms.mean() == pytest.approx(0.1, abs=3 * np.sqrt(0.1 * 0.9 / count))


DESIGNS = {
    "twice from the middle": np.where(np.arange(100) < 50, 1.0, 2.0),
    "four times from the middle": np.where(np.arange(100) < 50, 1.0, 4.0),
    "three times in the last fifth": np.where(np.arange(100) < 80, 1.0, 3.0),
}
"""Spreads of 100 commits by that of the first."""


def spread_histories(design, number):
    """Return stable histories of a program whose spread changes."""
    logs = np.random.default_rng(12).normal(size=(number, 100, 1)) * DESIGNS[design][:, None]
    return xr.DataArray(np.exp(0.01 * logs), dims=("benchmark", "commit", "execution"))


@pytest.mark.parametrize("design", DESIGNS)
def test_a_change_of_spread_is_no_change_of_level(design):
    """Of stable histories whose spread changes, 7.5 % show a change at most: within two standard errors (10, 13 and 20 % without)."""
    times = spread_histories(design, 300)
    with pytest.warns(PerfarrayWarning, match=r"in \d+ of 300 series the spread of one commit about the next changes"):
        found = times.perf.change_points(correction=None)
    assert found["change"].any("commit").mean() < 0.075 + 2 * np.sqrt(0.075 * 0.925 / 300)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_change_of_spread_gives_no_more_alarms(design):
    """At one false alarm in 1,000 commits there are at most 1.5: within two standard errors of 20,000 commits (4 to 6 without)."""
    with warnings.catch_warnings(action="ignore"):
        found = spread_histories(design, 200).perf.change_points(online=True)
    assert found["alarm"].mean() < 0.0015 + 2 * np.sqrt(0.0015 / 20_000)


def test_a_change_of_spread_is_named():
    """The note names the benchmark, the commit and the size; each commit's noise is its own."""
    logs = np.random.default_rng(13).normal(size=(100, 1)) * DESIGNS["four times from the middle"][:, None]
    times = xr.DataArray(np.exp(0.01 * logs), dims=("commit", "execution"), coords={"commit": [f"c{place:02}" for place in range(100)]})
    with pytest.warns(PerfarrayWarning, match=r"1 of 1 series .* from about c(4|5)\d on, [345](\.\d)? times larger"):
        found = times.perf.change_points()
    noise = found["relative_noise"]
    assert 3 < noise[90] / noise[10] < 5.5
    assert float((noise**2).mean()) == pytest.approx(1)


def test_one_outlying_commit_is_no_change(history):
    spiked = history.copy()
    spiked[3, 30] *= 3
    assert changed(spiked.perf.change_points(), benchmark="d") == []


def test_gaps_widen_the_set_of_commits(history):
    """The commit that made a change may be one that was not measured."""
    gaps = history.copy()
    gaps[0, 17:20] = np.nan
    found = gaps.perf.change_points().sel(benchmark="a", commit="c20")
    assert (found["earliest"].item(), found["latest"].item()) == ("c17", "c20")


def test_commits_with_few_runs_count_less():
    """A commit of one run between commits of many moves no level: weights are those of its own standard error."""
    rng = np.random.default_rng(5)
    values = np.exp(0.05 * rng.normal(size=(60, 100)))
    values[::2, 1:] = np.nan
    values[30:] *= 1.03
    found = xr.DataArray(values, dims=("commit", "execution")).perf.change_points()
    assert found["commit"].values[found["change"]].tolist() == [30]
    assert found["upper"].sel(commit=30) - found["lower"].sel(commit=30) < 0.02


def test_stopped_runs_are_never_called_faster(history):
    """After a change to a time-out only "at least as slow" is known, and before one only "at most"."""
    stopped = xr.zeros_like(history, dtype=bool)
    stopped.loc[{"benchmark": "c", "commit": "c50"}] = True
    marked = history.assign_coords(censored=stopped)
    with pytest.warns(PerfarrayWarning, match="stopped"):
        result = marked.perf.change_points()
    change = result.sel(benchmark="c", commit="c40")
    assert (change["verdict"].item(), change["upper"].item()) == ("inconclusive", np.inf)


def test_dates_are_labels_too(history):
    dates = history.drop_vars("host").assign_coords(commit=np.datetime64("2024-01-01", "ns") + np.arange(60) * np.timedelta64(1, "D"))
    found = dates.rename(commit="date").perf.change_points(dim="date")
    assert found["earliest"].sel(benchmark="a", date="2024-01-21").values == np.datetime64("2024-01-21")
    assert found.perf.table().loc["a", "made by"].item() == "2024-01-21"


def test_dependence_is_told():
    """Noise that resembles that of the commit before is taken out and named: few of such series are said to change."""
    rng = np.random.default_rng(6)
    noise = rng.normal(size=(100, 400))
    for place in range(1, 400):
        noise[:, place] += 0.5 * noise[:, place - 1]
    times = xr.DataArray(np.exp(0.01 * noise[:, 200:, None]), dims=("benchmark", "commit", "execution"))
    with pytest.warns(PerfarrayWarning, match="like that of the one before"):
        found = times.perf.change_points(correction=None)
    assert found["change"].any("commit").mean() < 0.2
    np.testing.assert_allclose(found["correlation"].median(), 0.5, atol=0.12)


def test_a_drift_is_told():
    rng = np.random.default_rng(7)
    times = xr.DataArray(np.exp(0.001 * np.arange(100) + 0.005 * rng.normal(size=100))[:, None], dims=("commit", "execution"))
    with pytest.warns(PerfarrayWarning, match="straight line"):
        assert times.perf.change_points()["drifting"]


def test_short_histories_say_what_they_need(history):
    """Few commits, one, or none measured: no change, and how many it takes."""
    for number in (1, 2, 7):
        with pytest.warns(PerfarrayWarning, match="4 of 4 series have fewer than 8 commits"):
            assert not history[:, :number].perf.change_points()["change"].any()
    with pytest.warns(PerfarrayWarning, match="1 of 1 series"):
        assert history[0].where(False).perf.change_points()["n"] == 0


def test_equal_values_do_not_change():
    assert not xr.DataArray(np.ones((30, 2)), dims=("commit", "execution")).perf.change_points()["change"].any()


def test_one_commit_that_differs_from_equal_ones_is_no_change():
    """Ranks of a few outliers among ties are no larger than a random order of different values makes them."""
    values = np.ones((31, 31, 1)) + np.eye(31)[..., None]
    found = xr.DataArray(values, dims=("benchmark", "commit", "execution")).perf.change_points(correction=None)
    assert not found["change"].any()
    assert found["pvalue_any"].min() > 0.05
    step = xr.DataArray(np.repeat([1.0, 2.0], 4)[:, None], dims=("commit", "execution"))
    assert step.perf.change_points()["change"].values.nonzero()[0].tolist() == [4]


def test_values_that_are_not_positive_have_no_logs():
    rng = np.random.default_rng(8)
    values = rng.normal(size=(60, 3)) + np.where(np.arange(60) < 30, 2.0, 6.0)[:, None]
    found = xr.DataArray(values, dims=("commit", "execution"), attrs={"units": "s"}).perf.change_points()
    change = found.sel(commit=found["commit"][found["change"]].item())
    assert change["lower"] < 3 < change["upper"]


def test_corrections_leave_less(history):
    """Of 100 stable benchmarks, five or so alarm; corrected, hardly any call has one."""
    times = xr.DataArray(np.random.default_rng(9).normal(10, 1, size=(100, 20, 1)), dims=("benchmark", "commit", "execution"))
    with warnings.catch_warnings(action="ignore"):
        alarms = {rule: int(times.perf.change_points(correction=rule)["change"].any("commit").sum()) for rule in (None, "bh", "holm")}
    assert alarms[None] > 0 == alarms["bh"] == alarms["holm"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": "version"}, "dim 'version' not found"),
        ({"dim": "execution"}, "is one of the levels"),
        ({"alpha": 0}, "alpha=0 is out of range"),
        ({"min_size": 1}, "min_size=1"),
        ({"threshold": -1}, "threshold=-1 is out of range"),
        ({"host": "day"}, "host='day' is no coordinate along 'commit'; there is 'host'"),
        ({"correction": "bonferroni"}, "correction='bonferroni' is not known"),
    ],
)
def test_bad_arguments(history, options, message):
    with pytest.raises(ValueError, match=message):
        history.perf.change_points(**options)


def test_repeated_commits_are_refused_with_the_remedy(history):
    with pytest.raises(ValueError, match=r"'commit' holds 'c00', 'c01' more than once; .* level"):
        xr.concat([history, history[:, :2]], "commit").perf.change_points()


def test_function_is_method(history, found):
    xr.testing.assert_identical(perfarray.change_points(history), found)


def test_watched_commit_by_commit(history):
    """A step is seen some commits after it came; what comes later changes nothing of that; alarms of stable series are rare."""
    watched = history.perf.change_points(online=True)
    seen = np.flatnonzero(watched["alarm"].sel(benchmark="a"))
    since = np.flatnonzero(watched["change"].sel(benchmark="a"))
    assert since[0] in (19, 20, 21)
    assert 21 <= seen[0] <= 26
    until = history[:, : seen[0] + 1].perf.change_points(online=True).sel(benchmark="a")
    assert until["alarm"][-1]
    assert abs(int(np.flatnonzero(until["change"])[-1]) - 20) <= 2
    before = history[:, : seen[0]].perf.change_points(online=True).sel(benchmark="a")
    assert not before["alarm"].any()


def test_the_rate_of_false_alarms_is_the_one_asked_for():
    """Of 20,000 commits that do not change, with outlying days, 5 in 1,000 alarm: within three standard errors."""
    rng = np.random.default_rng(10)
    values = rng.standard_t(2, size=(100, 200, 1))
    times = xr.DataArray(np.exp(0.01 * values), dims=("benchmark", "commit", "execution"))
    with warnings.catch_warnings(action="ignore"):
        alarms = times.perf.change_points(online=True, false_alarms=5.0)["alarm"]
    assert 0.0035 < alarms.mean() < 0.0065


@pytest.mark.parametrize("rate", [0.0, 1000.0, np.nan])
def test_rates_that_are_not_known(history, rate):
    with pytest.raises(ValueError, match="false_alarms="):
        history.perf.change_points(online=True, false_alarms=rate)


def test_long_segments_are_kept_when_watched():
    """Segments are no shorter than asked for, and the alarm comes when the last so many are strange as a whole."""
    values = np.where(np.arange(90) < 30, 1.0, 2.0)[:, None] * (1 + 0.01 * np.random.default_rng(11).random((90, 2)))
    found = xr.DataArray(values, dims=("commit", "execution")).perf.change_points(online=True, min_size=25)
    assert np.flatnonzero(found["change"]).tolist() == [30]
    assert 45 <= np.flatnonzero(found["alarm"]).item() <= 54


def test_values_around_zero_have_no_relative_noise():
    with pytest.warns(PerfarrayWarning, match="fewer than 8"):
        found = xr.DataArray(np.array([[-1.0], [0.0], [1.0]]), dims=("commit", "execution")).perf.change_points()
    assert np.isnan(found["noise"])


def test_values_that_no_ratio_is_made_of():
    """A mean that is not positive has no ratio: the change is found and judged, and a note says why its size is not there."""
    rng = np.random.default_rng(1)
    values = np.repeat([-1.0, 3.0], 20)[:, None] + rng.normal(0, 0.1, (40, 3))
    with pytest.warns(UserWarning, match="1 of 1 changes follow a mean that is not positive"):
        found = xr.DataArray(values, dims=("commit", "execution")).perf.change_points()
    assert (found["verdict"][20].item(), bool(np.isnan(found["estimate"][20]))) == ("slower", True)


def test_labels_are_shown_as_they_are():
    """Builds that have numbers are named by these, though a variable that is mostly NaN holds them as floats."""
    values = np.repeat([1.0, 3.0], 20)[:, None] * (1 + np.random.default_rng(1).normal(0, 0.01, (40, 3)))
    times = xr.DataArray(values, dims=("build", "execution"), coords={"build": np.arange(100, 140)})
    assert times.perf.change_points(dim="build").perf.table()["made by"].tolist() == ["120"]


@pytest.mark.parametrize(
    ("labels", "hashes"),
    [
        ("0c3d 19e70 4b1f2 7715a 9d2e0 a3f19 c0b71 e81d4", True),
        ("0c3d1f 19e704 4b1f20 7715ac 9d2e07 a3f190", True),
        ("deadbeef deadbef0 deadbef1", True),
        ("12345 12346 12350", False),
        ("20240101 20240102 20240103", False),
        ("2020a 2020b 2021a 2024e", False),
        ("1000 1001 1002 base", False),
        ("a100 a200 b100", False),
        ("0c3 19e 4b1 a3f", False),
        ("0c3d 19ez 4b1f a3f1", False),
    ],
)
def test_hashes_are_known_by_how_they_look(labels, hashes):
    """Abbreviated to seven characters or more, or to four where letters and digits are mixed as by chance; numbers and names are none."""
    assert are_hashes(labels.split()) == hashes


def test_an_order_that_is_not_known_is_no_history(history):
    """Hashes in the order of their names have none: change points and trends are refused, with the ways to give one."""
    hashes = [f"{place * 2654435761 % 2**32:08x}" for place in range(history.sizes["commit"])]
    unordered = history.assign_coords(commit=hashes).sortby("commit")
    for method in (unordered.perf.change_points, unordered.perf.trend):
        with pytest.raises(ValueError, match=rf"the order of the {len(hashes)} commits is not known: .*sel\(commit=.*--order FILE.*date"):
            method()
    again = unordered.sel(commit=hashes).perf.change_points()
    assert changed(again, benchmark="a")[0] in hashes[19:22]
    dates = unordered.assign_coords(date=("commit", [f"2026-03-01T00:{hashes.index(name):02}" for name in unordered["commit"].values]))
    with pytest.raises(ValueError, match="is not known"):
        dates.perf.change_points()
    xr.testing.assert_equal(dates.sortby("date").perf.change_points(), again)
