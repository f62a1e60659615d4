"""`change_points`: since when a metric differs, how surely, and at how many false alarms."""

import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray import PerfarrayWarning
from perfarray.history.changes import _search_levels
from perfarray.history.numerics.commits import commits_of
from perfarray.history.numerics.law import chance
from perfarray.history.numerics.search import strongest
from perfarray.history.numerics.watch import watch
from perfarray.history.order import are_hashes
from strategies import experiments

COMMITS = [f"c{number:02}" for number in range(60)]


@pytest.fixture(scope="module")
def history():
    """Five executions of four benchmarks at 60 commits: three are 5 % slower from c20 on, one is
    faster from c40 on, on another host."""
    rng = np.random.default_rng(1)
    values = np.exp(0.01 * rng.normal(size=(4, 60, 5)) + 0.01 * rng.normal(size=(4, 60, 1)))
    values[:3, 20:] *= 1.05
    values[2, 40:] *= 0.9
    coords = {
        "benchmark": list("abcd"),
        "commit": COMMITS,
        "host": ("commit", ["h1"] * 40 + ["h2"] * 20),
    }
    return xr.DataArray(
        values,
        dims=("benchmark", "commit", "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )


@pytest.fixture(scope="module")
def detected(history):
    return history.perf.change_points()


def series(values, **attrs):
    """Return timings of commits (and executions, and benchmarks before them)."""
    return xr.DataArray(
        values, dims=("benchmark", "commit", "execution")[-np.ndim(values) :], attrs=attrs
    )


def positions(result, name="change"):
    """Return the positions along one series at which a variable is True."""
    return np.flatnonzero(result[name]).tolist()


def quietly(times, **options):
    with warnings.catch_warnings(action="ignore"):
        return times.perf.change_points(**options)


def test_changes_are_found_where_they_are(history, detected):
    """With their size, direction and cause; a stable benchmark has none, and segments are numbered
    along the history."""
    assert [positions(detected.sel(benchmark=name)) for name in "abcd"] == [
        [20],
        [20],
        [20, 40],
        [],
    ]
    first = detected.sel(benchmark="a", commit="c20")
    assert first["lower"] < 1.05 < first["upper"]
    assert (first["verdict"], first["cause"], bool(first["common"])) == ("slower", "code", True)
    second = detected.sel(benchmark="c", commit="c40")
    assert (second["verdict"], second["cause"], bool(second["common"])) == ("faster", "host", False)
    assert detected["n_common"].sel(commit="c20") == detected["n_common"].sum() == 3
    assert [note.message for note in perfarray.notes(detected) if note.code == "common"] == [
        "Several benchmarks changed together: 3 at c20. They probably have one cause."
    ]
    assert detected["segment"].sel(benchmark="c").values.tolist() == [0] * 20 + [1] * 20 + [2] * 20
    assert detected.where(~detected["change"])["estimate"].isnull().all()
    assert (detected["verdict"].values[~detected["change"].values] == "").all()


def test_the_table(detected):
    """One row a change; columns of hosts and common changes only where there are any; a sentence
    without changes."""
    columns = ["change", "verdict", "p", "made by"]
    early = detected.sel(commit=COMMITS[:40])
    assert detected.perf.table().index.tolist() == [
        ("a", "c20"),
        ("b", "c20"),
        ("c", "c20"),
        ("c", "c40"),
    ]
    assert detected.perf.table().columns.tolist() == [*columns, "cause", "common"]
    assert early.perf.table().columns.tolist() == [*columns, "common"]
    assert (
        early.assign(common=xr.zeros_like(early["common"])).perf.table().columns.tolist() == columns
    )
    assert (
        detected.sel(benchmark=["d"]).perf.table().attrs["about"]
        == "no change in 1 series of up to 60 commits"
    )
    assert (
        detected.isel(benchmark=[]).perf.table().attrs["about"]
        == "no change in 0 series of up to 0 commits"
    )


def test_verdicts(history):
    """A rate that rises is faster; a change within the threshold is found, and equivalent."""
    rate = (1 / history).assign_attrs(units="1/s", better="higher")
    assert rate.perf.change_points()["verdict"].sel(benchmark="a", commit="c20") == "slower"
    assert (
        history.perf.change_points(threshold=0.2)["verdict"].sel(benchmark="a", commit="c20")
        == "equivalent"
    )


def test_all_paths_agree(history, detected):
    """Orders of dims, chunks, scale and precision change nothing; dates and numbers are labels,
    too."""
    xr.testing.assert_allclose(
        history.transpose().perf.change_points().transpose(*detected.dims), detected
    )
    np.testing.assert_allclose(
        (1000 * history).perf.change_points()["estimate"], detected["estimate"]
    )
    assert history.astype("float32").perf.change_points()["change"].equals(detected["change"])
    days = np.datetime64("2024-01-01", "ns") + np.arange(60) * np.timedelta64(1, "D")
    dates = (
        history.drop_vars("host")
        .assign_coords(commit=days)
        .rename(commit="date")
        .perf.change_points(dim="date")
    )
    assert dates["earliest"].sel(benchmark="a", date="2024-01-21").values == np.datetime64(
        "2024-01-21"
    )
    assert dates.perf.table().loc["a", "made by"].item() == "2024-01-21"
    builds = (
        history.drop_vars("host").assign_coords(commit=np.arange(100, 160)).rename(commit="build")
    )
    assert builds.perf.change_points(dim="build").perf.table().loc["a", "made by"].item() == "120"
    pytest.importorskip("dask")
    xr.testing.assert_equal(history.chunk(benchmark=1).perf.change_points().compute(), detected)


def test_more_executions_inside_a_day_are_no_more_days():
    """The noise of days is no change however surely each day is known: five executions alarm as
    seldom as one."""
    rng, count = np.random.default_rng(3), experiments(400)
    stable = quietly(
        series(
            np.exp(0.02 * rng.normal(size=(count, 40, 1)) + 0.001 * rng.normal(size=(count, 40, 5)))
        ),
        correction=None,
    )
    assert stable["change"].any("commit").mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / count)
    np.testing.assert_allclose(stable["noise"].median(), 0.02, rtol=0.1)
    np.testing.assert_allclose(stable["within"].median(), 0.001 / np.sqrt(5), rtol=0.1)


def test_false_alarms_do_not_depend_on_the_noise():
    """Long tails and outlying days: as many false alarms, of changes and of drifts, as alpha says,
    within three standard errors."""
    rng, count = np.random.default_rng(4), experiments(400)
    values = rng.standard_t(2, size=(count, 20, 1)) + 10 * (rng.random((count, 20, 1)) < 0.05)
    detected = quietly(series(np.exp(0.01 * values)), correction=None, alpha=0.1)
    alarms = detected["change"].any("commit") | detected["drifting"]
    assert alarms.mean() == pytest.approx(0.1, abs=3 * np.sqrt(0.1 * 0.9 / count))


def test_corrections_leave_less():
    """Of 100 stable benchmarks, about five alarm; corrected, none does."""
    times = series(np.random.default_rng(9).normal(10, 1, size=(100, 20, 1)))
    alarms = {
        rule: int(quietly(times, correction=rule)["change"].any("commit").sum())
        for rule in (None, "bh", "holm")
    }
    assert alarms[None] > 0 == alarms["bh"] == alarms["holm"]


@pytest.mark.parametrize(("correction", "share"), [("holm", 1 / 3), ("bh", 2 / 3), (None, 1.0)])
def test_series_are_searched_at_the_corrected_level(correction, share):
    """Holm: alpha over the number of series; Benjamini and Hochberg: the share of the selected
    ones; 0 for the others and for NaN."""
    pvalues = xr.DataArray([1e-6, 1e-4, 0.5, np.nan], dims="benchmark")
    np.testing.assert_allclose(
        _search_levels(pvalues, 0.05, correction), [0.05 * share, 0.05 * share, 0, 0]
    )


# Spreads of 100 commits relative to that of the first.
DESIGNS = {
    "twice from the middle": np.where(np.arange(100) < 50, 1.0, 2.0),
    "four times from the middle": np.where(np.arange(100) < 50, 1.0, 4.0),
    "three times in the last fifth": np.where(np.arange(100) < 80, 1.0, 3.0),
}


def spread_histories(design, number, seed=12):
    return series(
        np.exp(
            0.01
            * np.random.default_rng(seed).normal(size=(number, 100, 1))
            * DESIGNS[design][:, None]
        )
    )


@pytest.mark.parametrize("design", DESIGNS)
def test_a_change_of_spread_is_no_change_of_level(design):
    """Of stable histories whose spread changes, 7.5 % show a change at most, and at one false alarm
    in 1,000 commits at most 1.5 alarm.

    Both within two standard errors; without the rule they are 10 to 20 %, and 4 to 6 alarms.
    """
    with pytest.warns(
        PerfarrayWarning,
        match=r"In \d+ of 300 series the spread of one commit about the next changes",
    ):
        result = spread_histories(design, 300).perf.change_points(correction=None)
    assert result["change"].any("commit").mean() < 0.075 + 2 * np.sqrt(0.075 * 0.925 / 300)
    watched = quietly(spread_histories(design, 200), online=True)
    assert watched["alarm"].mean() < 0.0015 + 2 * np.sqrt(0.0015 / 20_000)


def test_a_change_of_spread_is_named():
    """The note names the commit and the size; each commit has its own noise, which p-values allow
    for by a factor of 1.4."""
    times = spread_histories("four times from the middle", 1, 13)[0].assign_coords(
        commit=[f"c{number:02}" for number in range(100)]
    )
    with pytest.warns(
        PerfarrayWarning,
        match=r"1 of 1 series .* from about c(4|5)\d on, [345](\.\d)? times larger",
    ):
        noise = times.perf.change_points()["relative_noise"]
    assert 3 < noise[90] / noise[10] < 5.5
    assert float((noise**2).mean()) == pytest.approx(1)
    step = times * np.where(np.arange(100) < 30, 1.0, 1.015)[:, None]
    commits = commits_of(step.values[None])
    (pvalue,) = chance(strongest(commits.clean, commits.errors, 2)[0], 100)
    assert 0 < pvalue < 0.5
    assert quietly(step)["pvalue_any"] == pytest.approx(1.4 * pvalue)


def test_outliers_and_gaps(history):
    """One outlying commit is no change; the commit that made a change may be one that was not
    measured."""
    times = history.copy()
    times[3, 30] *= 3
    times[0, 17:20] = np.nan
    result = times.perf.change_points()
    assert positions(result.sel(benchmark="d")) == []
    change = result.sel(benchmark="a", commit="c20")
    assert (change["earliest"].item(), change["latest"].item()) == ("c17", "c20")


def test_the_set_of_commits():
    """It is the range of the most likely commits that have 95 % of the probability."""
    logs = 0.01 * np.random.default_rng(1).normal(size=100) + 0.012 * (np.arange(100) >= 50)
    result = series(np.exp(logs)[:, None]).perf.change_points()
    (at,) = positions(result)
    likely = np.argsort(-result["probability"].values)
    number = 1 + int(np.argmax(np.cumsum(result["probability"].values[likely]) >= 0.95))
    assert number > 3
    assert (result["earliest"][at], result["latest"][at]) == (
        likely[:number].min(),
        likely[:number].max(),
    )


def test_commits_with_few_runs_count_less():
    """A commit of one run between commits of many moves no level: weights are those of its own
    standard error."""
    values = np.exp(0.05 * np.random.default_rng(5).normal(size=(60, 100)))
    values[::2, 1:] = np.nan
    values[30:] *= 1.03
    result = series(values).perf.change_points()
    assert positions(result) == [30]
    assert result["upper"].sel(commit=30) - result["lower"].sel(commit=30) < 0.02


@pytest.mark.parametrize("rate", [False, True])
def test_stopped_runs_are_never_in_favour(history, rate):
    """After a change to a time-out only "at least as slow" is known, and before one only "at most";
    of rates it is the other way round."""
    is_stopped = xr.zeros_like(history, dtype=bool)
    is_stopped[2, 50] = is_stopped[0, 10] = True
    times = (1 / history).assign_attrs(units="1/s", better="higher") if rate else history
    with pytest.warns(PerfarrayWarning, match="stopped"):
        result = times.assign_coords(censored=is_stopped).perf.change_points()
    later_change, earlier_change = (
        result.sel(benchmark="c", commit="c40"),
        result.sel(benchmark="a", commit="c20"),
    )
    above, below = (earlier_change, later_change) if rate else (later_change, earlier_change)
    assert (above["verdict"], above["upper"], above["lower"] > 0) == ("inconclusive", np.inf, True)
    assert (below["verdict"], below["lower"], np.isfinite(below["upper"])) == (
        "inconclusive",
        0.0,
        True,
    )


def test_dependence_is_noted():
    """Noise like that of the commit before is removed and noted: few of such series show a
    change."""
    noise = np.random.default_rng(6).normal(size=(100, 400))
    for commit in range(1, 400):
        noise[:, commit] += 0.5 * noise[:, commit - 1]
    with pytest.warns(PerfarrayWarning, match="like that of the one before"):
        result = series(np.exp(0.01 * noise[:, 200:, None])).perf.change_points(correction=None)
    assert result["change"].any("commit").mean() < 0.2
    np.testing.assert_allclose(result["correlation"].median(), 0.5, atol=0.12)


def test_a_drift_is_noted():
    rng = np.random.default_rng(7)
    times = series(np.exp(0.001 * np.arange(100) + 0.005 * rng.normal(size=100))[:, None])
    with pytest.warns(PerfarrayWarning, match="straight line"):
        assert times.perf.change_points()["drifting"]


def test_a_drift_is_one_row():
    """A slope of values, or of their logs, is one drift from the first to the last commit, judged
    by `better`, and no change."""
    rng, commits = np.random.default_rng(2), np.arange(150)
    levels = np.array([1 + 0.4 * commits / 149, 2.0 ** (commits / 149), 1 - 0.25 * commits / 149])
    times = series(
        (levels * np.exp(0.004 * rng.normal(size=levels.shape)))[..., None], better="lower"
    )
    for better, verdicts in (
        ("lower", ["slower", "slower", "faster"]),
        ("higher", ["faster", "faster", "slower"]),
    ):
        result = quietly(times.assign_attrs(better=better))
        drifts = result.isel(commit=-1)
        assert not result["change"].any()
        assert result["drifting"].all()
        assert (result["cause"].isel(commit=slice(-1)) == "").all()
        assert drifts["verdict"].values.tolist() == verdicts
        np.testing.assert_allclose(drifts["estimate"], [1.4, 2.0, 0.75], rtol=0.01)
        assert ((drifts["lower"] < [1.4, 2.0, 0.75]) & (drifts["upper"] > [1.4, 2.0, 0.75])).all()
        assert (drifts["n_segment"] == 150).all()
        assert (drifts["earliest"].values == 0).all()
    texts = result.perf.table()["change"].tolist()
    assert [text.partition(" (")[0] for text in texts] == [
        f"drifts by {size} % over 150 commits" for size in (40, 100, -25)
    ]


def test_values_on_a_line_drift_exactly():
    """Without noise the limits are the drift."""
    for values in (3 + np.arange(60) / 20, 1.01 ** np.arange(60)):
        last = quietly(series(values[:, None])).isel(commit=-1)
        assert last["cause"] == "drift"
        for name in ("estimate", "lower", "upper"):
            assert last[name] == pytest.approx(values[-1] / values[0], rel=1e-6)


def test_steps_on_a_drift_are_named():
    """The size of a step on a slope is that at its commit, and both parts drift."""
    rng, commits = np.random.default_rng(4), np.arange(120)
    values = (
        (1 + 0.002 * commits)
        * np.where(commits >= 70, 1.06, 1.0)
        * np.exp(0.003 * rng.normal(size=120))
    )
    result = quietly(series(values[:, None]))
    assert positions(result) == [70]
    assert result["lower"][70] < 1.06 < result["upper"][70]
    assert np.flatnonzero(result["cause"] == "drift").tolist() == [69, 119]
    assert result["n_segment"].values[[0, 119]].tolist() == [70, 50]


def test_a_stopped_run_leaves_a_drift_open():
    values = (1 + 0.004 * np.arange(80)) * np.exp(0.003 * np.random.default_rng(5).normal(size=80))
    times = series(values[:, None]).assign_coords(censored=("commit", np.arange(80) == 79))
    last = quietly(times).isel(commit=-1)
    assert (last["cause"].item(), last["verdict"].item()) == ("drift", "inconclusive")
    assert np.isnan(last["upper"])


def test_a_plain_step_is_no_correlation():
    """A step in a short history is found: its two levels are not taken for dependence of
    neighbours."""
    count = experiments(1000)
    for size, missed in ((16, 0.05), (20, 0.03), (30, 0.02)):
        logs = 0.015 * np.random.default_rng(size).normal(size=(count, size)) + np.log(1.08) * (
            np.arange(size) >= size // 2
        )
        rate = (
            1
            - quietly(series(np.exp(logs)[..., None]), correction=None)["change"]
            .any("commit")
            .mean()
        )
        assert rate <= missed + 3 * (missed * (1 - missed) / count) ** 0.5
    values = [
        0.991,
        1.012,
        0.984,
        1.004,
        1.021,
        0.975,
        1.008,
        0.996,
        1.051,
        1.084,
        1.102,
        1.079,
        1.09,
        1.042,
        1.035,
        1.066,
    ]
    assert positions(quietly(series(np.array(values)[:, None]))) == [8]


def test_slopes_are_not_cut_into_steps():
    """At most 22 % of slopes (but for 3 standard errors) have a change; of those without a change
    nearly all are a drift."""
    count = experiments(300)
    for size in (20, 60):
        logs = 0.015 * np.random.default_rng(size).normal(size=(count, size)) + 0.06 * np.linspace(
            0, 1, size
        )
        result = quietly(series(np.exp(logs)[..., None]), correction=None)
        assert result["change"].any("commit").mean() <= 0.22 + 3 * (0.22 * 0.78 / count) ** 0.5
        assert (result["drifting"] | result["change"].any("commit")).mean() > 0.9


def test_a_level_that_comes_and_goes_has_no_changes():
    """Many short stretches about one level are noise that lasts, which the note on dependence
    says."""
    rng = np.random.default_rng(6)
    levels = np.repeat(0.1 * rng.normal(size=30), 8)
    with pytest.warns(PerfarrayWarning, match="like that of the one before"):
        result = series(np.exp(levels + 0.002 * rng.normal(size=240))[:, None]).perf.change_points()
    assert not result["change"].any()
    assert result["correlation"] > 0.5


def test_short_histories(history):
    """Few commits, one, or none measured show no change; a note says how many are needed, and that
    alpha may be too small."""
    for number in (1, 2, 7):
        with pytest.warns(PerfarrayWarning, match="4 of 4 series have fewer than 8 commits"):
            assert not history[:, :number].perf.change_points()["change"].any()
    with pytest.warns(PerfarrayWarning, match="1 of 1 series"):
        assert history[0].where(False).perf.change_points()["n"] == 0
    with pytest.warns(
        PerfarrayWarning,
        match=r"At alpha=1e-20 no change can be found in 4 of 4 series\. Give a larger alpha",
    ):
        history.perf.change_points(alpha=1e-20)


def test_equal_values():
    """Equal values do not change, and one commit that differs from equal ones is no change; two
    halves are one.

    Ranks of a few outliers among ties are no larger than those of a random order of distinct
    values.
    """
    assert not series(np.ones((30, 2))).perf.change_points()["change"].any()
    result = series(np.ones((31, 31, 1)) + np.eye(31)[..., None]).perf.change_points(
        correction=None
    )
    assert not result["change"].any()
    assert result["pvalue_any"].min() > 0.05
    assert positions(series(np.repeat([1.0, 2.0], 4)[:, None]).perf.change_points()) == [4]


def test_values_that_are_not_positive():
    """They have no logs; a mean that is not positive has no ratio, which a note says; around zero
    there is no relative noise."""
    rng = np.random.default_rng(8)
    result = series(
        rng.normal(size=(60, 3)) + np.where(np.arange(60) < 30, 2.0, 6.0)[:, None], units="1"
    ).perf.change_points()
    (at,) = positions(result)
    assert result["lower"][at] < 3 < result["upper"][at]
    with pytest.warns(UserWarning, match="1 of 1 changes follow a mean that is not positive"):
        result = series(
            np.repeat([-1.0, 3.0], 20)[:, None] + rng.normal(0, 0.1, (40, 3))
        ).perf.change_points()
    assert (result["verdict"][20].item(), bool(np.isnan(result["estimate"][20]))) == (
        "slower",
        True,
    )
    assert np.isnan(quietly(series([[-1.0], [0.0], [1.0]]))["noise"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": "version"}, "dim 'version' not found"),
        ({"dim": "execution"}, "is one of the levels"),
        ({"alpha": 0}, "alpha=0 is out of range"),
        ({"min_size": 1}, "min_size=1"),
        ({"threshold": -1}, "threshold=-1 is out of range"),
        ({"host": "day"}, "host='day' is no coordinate along 'commit'. There is 'host'"),
        ({"correction": "bonferroni"}, "correction='bonferroni' is not known"),
        *(
            ({"online": True, "false_alarms": rate}, "false_alarms=")
            for rate in (0.0, 1000.0, np.nan)
        ),
    ],
)
def test_bad_arguments(history, options, message):
    with pytest.raises(ValueError, match=message):
        history.perf.change_points(**options)


def test_repeated_commits_are_refused_with_the_remedy(history):
    with pytest.raises(ValueError, match=r"'commit' holds 'c00', 'c01' more than once. .* level"):
        xr.concat([history, history[:, :2]], "commit").perf.change_points()


def test_watched_commit_by_commit(history):
    """A step is seen some commits after it came; what comes later does not change that."""
    watched = history.perf.change_points(online=True).sel(benchmark="a")
    alarm_position = positions(watched, "alarm")[0]
    assert positions(watched)[0] in (19, 20, 21)
    assert 21 <= alarm_position <= 26
    until, earlier_change = (
        history[:, :end].perf.change_points(online=True).sel(benchmark="a")
        for end in (alarm_position + 1, alarm_position)
    )
    assert until["alarm"][-1]
    assert abs(positions(until)[-1] - 20) <= 2
    assert not earlier_change["alarm"].any()


def test_pvalues_of_watched_changes():
    """The p-value is the chance of such a change anywhere: of a stable history twice as long, that
    of either half."""
    values = np.arange(80) % 7 / 1000 + (np.arange(80) >= 30)
    (start, seen_at, pvalue), *_ = watch(values[:40], np.ones(40), 2, 1e-3)
    (same_start, same_seen_at, longer), *_ = watch(values, np.ones(80), 2, 1e-3)
    assert (start, seen_at) == (same_start, same_seen_at)
    assert 0 < pvalue < 0.1
    assert longer == pytest.approx(1 - (1 - pvalue) ** 2)


def test_the_rate_of_false_alarms():
    """Of 20,000 commits that do not change, with outlying days, 5 in 1,000 alarm: within three
    standard errors."""
    times = series(np.exp(0.01 * np.random.default_rng(10).standard_t(2, size=(100, 200, 1))))
    assert 0.0035 < quietly(times, online=True, false_alarms=5.0)["alarm"].mean() < 0.0065


def test_commits_that_tie_are_watched_without_an_alarm():
    """Commits that tie share their ranks: equal ones, and two values in turns, show no change."""
    for values in (np.ones(60), np.tile([1.0, 1.1], 30)):
        assert watch(values, np.ones(60), 2, 0.01) == []


def test_long_segments_are_kept_when_watched():
    """Segments are no shorter than asked for, and the alarm comes when so many commits differ as a
    whole."""
    values = np.where(np.arange(90) < 30, 1.0, 2.0)[:, None] * (
        1 + 0.01 * np.random.default_rng(11).random((90, 2))
    )
    result = series(values).perf.change_points(online=True, min_size=25)
    assert positions(result) == [30]
    assert 45 <= positions(result, "alarm")[0] <= 54


def test_hashes_are_known_by_how_they_look():
    """Abbreviated to seven characters or more, or to four where letters and digits are mixed as by
    chance; numbers and names are none."""
    mixed = (
        "0c3d 19e70 4b1f2 7715a 9d2e0 a3f19 c0b71 e81d4",
        "0c3d1f 19e704 4b1f20 7715ac 9d2e07 a3f190",
    )
    for labels in (*mixed, "deadbeef deadbef0 deadbef1"):
        assert are_hashes(labels.split()), labels
    numbers = "12345 12346 12350", "20240101 20240102 20240103", "2020a 2020b 2021a 2024e"
    for labels in (
        *numbers,
        "1000 1001 1002 base",
        "a100 a200 b100",
        "0c3 19e 4b1 a3f",
        "0c3d 19ez 4b1f a3f1",
    ):
        assert not are_hashes(labels.split()), labels


def test_an_unknown_order_is_no_history(history):
    """Sorted hashes have no order: change points and trends are refused, with the ways to give one.
    Dates are one."""
    hashes = [f"{number * 2654435761 % 2**32:08x}" for number in range(history.sizes["commit"])]
    unordered = history.assign_coords(commit=hashes).sortby("commit")
    for method in (unordered.perf.change_points, unordered.perf.trend):
        with pytest.raises(
            ValueError,
            match=rf"the order of the {len(hashes)} commits is not known: "
            r".*sel\(commit=.*--order FILE.*date",
        ):
            method()
    ordered = unordered.sel(commit=hashes).perf.change_points(order="stored")
    assert positions(ordered.sel(benchmark="a"))[0] in (19, 20, 21)
    dates = unordered.assign_coords(
        date=(
            "commit",
            [f"2026-03-01T00:{hashes.index(name):02}" for name in unordered["commit"].values],
        )
    )
    xr.testing.assert_equal(dates.perf.change_points().sel(commit=hashes), ordered)
    xr.testing.assert_equal(dates.sortby("date").perf.change_points(), ordered)
