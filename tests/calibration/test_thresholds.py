"""The least threshold with 1 % false alarms, from sessions between which nothing changed."""

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.strategies import experiments as count

import perfarray
from perfarray.calibration.numerics import thresholds as numerics

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")


def drawn(benchmarks=6, sessions=24, runs=5, *, dim="session", noise=0.01, seed=1):
    """Return sessions whose means vary by `noise`, and runs by 1 %."""
    rng = np.random.default_rng(seed)
    logs = noise * rng.standard_normal((benchmarks, sessions, 1))
    logs = logs + 0.01 * rng.standard_normal((benchmarks, sessions, runs))
    coords = {
        "benchmark": [f"b{number}" for number in range(benchmarks)],
        dim: np.arange(sessions),
    }
    return xr.DataArray(np.exp(logs), coords, ("benchmark", dim, "execution"), name="time")


def codes(result):
    return [note.code for note in result.perf.notes()]


def test_worked_by_hand(monkeypatch):
    """Without reach and without other benchmarks the threshold is the quantile of Student's t times
    the standard deviation of a difference."""
    monkeypatch.setattr(numerics, "PSEUDO_SESSIONS", 1e12)
    logs = np.array([[0.01, -0.02, 0.03, 0.0, 0.01]])
    sessions = numerics.deviations_in_segments(logs, np.zeros((1, 5), dtype=int))
    none = np.zeros((1, 4))
    result = numerics.least_thresholds(sessions, none, none, 0.01)
    scale = np.sqrt(2) * logs.std(ddof=1)
    (tau,) = result.threshold
    rate = stats.t.sf(np.log1p(tau) / scale, 4) + stats.t.sf(-np.log1p(-tau) / scale, 4)
    assert rate == pytest.approx(0.01, rel=1e-6)
    assert (result.session_df, result.n_sessions) == (4, 5)
    assert result.session_standard_deviation == pytest.approx(logs.std(ddof=1))


def test_segments_are_left_out():
    """Deviations are those from the mean of the segment, and each segment costs one degree of
    freedom."""
    logs = np.array([[0.0, 0.2, 5.0, 5.4, np.nan]])
    sessions = numerics.deviations_in_segments(logs, np.array([[0, 0, 1, 1, 1]]))
    np.testing.assert_allclose(sessions.values, [[-0.1, 0.1, -0.2, 0.2, np.nan]])
    assert sessions.df == 2


def test_a_pair_is_judged_by_the_sessions_that_are_not_in_it(monkeypatch):
    """Its chance is that of Student's t test with the standard deviation of the others about their
    own mean; the tail is how often chances were as small."""
    monkeypatch.setattr(numerics, "PSEUDO_SESSIONS", 0)
    logs = np.array([0.01, -0.02, 0.05, 0.0, 0.02, -0.01])
    sessions = numerics.deviations_in_segments(logs[None], np.zeros((1, 6), dtype=int))
    tail = numerics.learned_tail(sessions, (sessions.values**2).sum(axis=-1), None)
    chances = []
    for pair in itertools.combinations(range(6), 2):
        deviation = np.delete(logs, pair).std(ddof=1)
        difference = np.ptp(logs[list(pair)])
        chances.append(2 * stats.t.sf(difference / (np.sqrt(2) * deviation), 3))
    chances.sort()
    np.testing.assert_allclose(tail(np.array(chances) + 1e-9), np.arange(1, 16) / 15)
    np.testing.assert_allclose(tail(np.array(chances) - 1e-9), np.arange(15) / 15)


def test_unseen_sessions_have_one_percent():
    """At the thresholds of a history 1 % of comparisons of new sessions are false alarms."""
    rates = []
    for seed in range(count(4)):
        result = perfarray.calibrate(drawn(sessions=60, seed=seed), rules=None)
        new = drawn(sessions=400, seed=seed + 1000).drop_vars("session").rename(session="pair")
        verdicts = perfarray.compare(
            new.isel(pair=slice(200)), new.isel(pair=slice(200, None)), threshold=result
        )["verdict"]
        rates.append(float(verdicts.isin(["faster", "slower"]).mean()))
    assert np.mean(rates) == pytest.approx(0.01, abs=0.006)


def test_a_change_of_the_program_is_no_noise():
    """A step of 20 % in a history leaves the thresholds nearly as they are."""
    times = drawn(sessions=60, dim="commit")
    stepped = times * xr.where(times["commit"] < 30, 1.0, 1.2)
    plain, result = (data.perf.calibrate(rules=None)["threshold"] for data in (times, stepped))
    np.testing.assert_allclose(result, plain, rtol=0.1)


def test_what_a_threshold_rests_on():
    """Fewer false alarms need a larger threshold; the limits hold it; larger changes are seen."""
    times = drawn()
    result = times.perf.calibrate(rules=None)
    strict = times.perf.calibrate(rules=None, false_alarms=0.001)
    assert (strict["threshold"] > result["threshold"]).all()
    assert (result["threshold_lower"] < result["threshold"]).all()
    assert (result["threshold"] < result["threshold_upper"]).all()
    assert (result["detectable_change"] > result["threshold"]).all()
    assert (result["n_sessions"] == 24).all()
    assert float(result["suite_threshold"]) < float(result["threshold"].min())
    assert "threshold" in result.perf.table().columns


@pytest.mark.parametrize(
    "change",
    [
        lambda times: 1000 * times,
        lambda times: times.transpose("execution", "session", "benchmark"),
        lambda times: times.chunk({"benchmark": 2}),
        lambda times: times.to_dataset(),
        lambda times: times.isel(benchmark=slice(None, None, -1)),
        lambda times: times.isel(execution=slice(None, None, -1)),
    ],
    ids=["units", "transposed", "chunked", "dataset", "benchmarks", "executions"],
)
def test_same_numbers(change):
    times = drawn()
    expected = perfarray.calibrate(times, rules=None)
    result = perfarray.calibrate(change(times), rules=None)
    for name in ("threshold", "threshold_upper", "detectable_change", "suite_threshold"):
        xr.testing.assert_allclose(result[name], expected[name].reindex_like(result[name]))


def test_machines_have_thresholds_of_their_own():
    times = xr.concat([drawn(seed=1), drawn(seed=2)], dim="machine").assign_coords(
        machine=["a", "b"]
    )
    result = times.perf.calibrate(rules=None)["threshold"]
    alone = times.sel(machine="b").perf.calibrate(rules=None)["threshold"]
    xr.testing.assert_allclose(result.sel(machine="b", drop=True), alone)


def test_rules_and_thresholds_stand_side_by_side():
    times = drawn()
    result = times.perf.calibrate(rules="perfarray", n_splits=5, rng=1)
    alone = times.perf.calibrate(rules=None)
    xr.testing.assert_allclose(result["threshold"], alone["threshold"])
    assert result["false_alarm_rate"].dims == ("rule",)


def test_few_sessions_say_how_many_more():
    """Three sessions have wide thresholds and a note; where these are above 100 % there is none."""
    three = drawn(1, 3).perf.calibrate(rules=None)
    (note,) = (note for note in three.perf.notes() if note.code == "few_sessions")
    assert note.values["more"] == 8
    (note,) = (note for note in three.perf.notes() if note.code == "least_thresholds")
    assert note.message.startswith("1 % of comparisons of one session a side are false alarms at ")
    assert three["threshold"].notnull().all()
    two = drawn(1, 2, noise=0.2).perf.calibrate(rules=None)
    assert two["threshold"].isnull().all()
    assert "no_threshold" in codes(two)
    with pytest.raises(ValueError, match="two sessions or more"):
        drawn().isel(session=0).perf.calibrate(rules=None)


def test_one_run_a_session_needs_between():
    """One run a side has no interval in compare, unless between= says what sessions vary by."""
    times = drawn(runs=1)
    without = times.perf.calibrate(rules=None)
    assert without["threshold"].isnull().all()
    assert "no_threshold" in codes(without)
    result = times.perf.calibrate(rules=None, between=times)
    assert result["threshold"].notnull().all()


def test_gaps_and_equal_values():
    """A benchmark that is never measured has no threshold, one without noise has 0; a gap changes
    the number of sessions of its benchmark alone."""
    times = drawn()
    times[0] = np.nan
    times[1] = 1.0
    times[2, 3] = np.nan
    result = times.perf.calibrate(rules=None)
    assert np.isnan(result["threshold"][0])
    assert result["threshold"][1] == 0
    assert result["n_sessions"].values.tolist() == [0, 24, 23, 24, 24, 24]


class TestCompare:
    """`compare` with thresholds that were calibrated."""

    def test_each_row_has_its_threshold(self):
        calibrated = drawn().perf.calibrate(rules=None)
        old, new = drawn(sessions=1).squeeze("session"), drawn(sessions=1, seed=5).squeeze()
        result = perfarray.compare(new, old, threshold=calibrated)
        expected = perfarray.compare(new, old, threshold=calibrated["threshold"])
        xr.testing.assert_identical(result["verdict"], expected["verdict"])
        assert result["suite_threshold"] == calibrated["suite_threshold"]
        assert "thresholds_differ" not in codes(result)

    def test_another_level_is_told(self):
        """Thresholds hold their rate for intervals of the level that they were calibrated for."""
        calibrated = drawn().perf.calibrate(rules=None)
        times = drawn(sessions=1).squeeze("session")
        with pytest.warns(perfarray.PerfarrayWarning, match="calibrated for 95 % intervals, and"):
            result = perfarray.compare(times, times, threshold=calibrated, confidence_level=0.8)
        assert "thresholds_level" in codes(result)

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"statistic": "median"}, "calibrated with statistic mean, method fieller, and this "),
            (
                {"method": "log_delta"},
                "calibrated with method fieller, and this is with method log",
            ),
            ({"prior": "suite"}, "calibrated with prior none, and this is with prior suite"),
        ],
    )
    def test_another_way_to_compare_is_told(self, options, text):
        """Thresholds hold their rate for comparisons made as those that they rest on."""
        times = drawn(sessions=1, runs=8).squeeze("session")
        with pytest.warns(perfarray.PerfarrayWarning, match=text):
            perfarray.compare(
                times, times, threshold=drawn(runs=8).perf.calibrate(rules=None), **options
            )
        calibrated = drawn(runs=8).perf.calibrate(rules=None, **options)
        result = perfarray.compare(times, times, threshold=calibrated, **options)
        assert "thresholds_settings" not in codes(result)
        name, value = next(iter(options.items()))
        assert calibrated.attrs[name] == value

    def test_another_number_of_runs_is_told(self):
        times = drawn()
        calibrated = times.perf.calibrate(rules=None)
        assert calibrated.attrs["runs"] == times.sizes["execution"]
        fewer = drawn(sessions=1).squeeze("session").isel(execution=slice(2))
        with pytest.warns(perfarray.PerfarrayWarning, match="Fewer runs vary more: expect more"):
            result = perfarray.compare(fewer, fewer, threshold=calibrated)
        (note,) = (note for note in result.perf.notes() if note.code == "thresholds_runs")
        assert note.values == {"calibrated": times.sizes["execution"], "runs": 2}

    def test_with_rules_the_same_is_recorded(self):
        both = drawn().perf.calibrate(rules="perfarray", n_splits=2, rng=1)
        alone = drawn().perf.calibrate(rules=None)
        for name in ("statistic", "method", "prior", "runs"):
            assert both.attrs[name] == alone.attrs[name]

    def test_a_suite_without_a_threshold_takes_the_mean_and_is_told(self):
        calibrated = drawn().perf.calibrate(rules=None)
        old, new = drawn(sessions=1).squeeze("session"), drawn(sessions=1, seed=5).squeeze()
        bare = calibrated.drop_vars("suite_threshold")
        result = perfarray.compare(new, old, threshold=bare)
        assert result["suite_threshold"].item() == pytest.approx(
            float(calibrated["threshold"].mean())
        )
        assert "thresholds_suite" in codes(result)
        result = perfarray.compare(new, old, threshold=calibrated)
        assert "thresholds_suite" not in codes(result)

    def test_one_noisy_benchmark_does_not_widen_the_suite(self):
        """The threshold of the suite is from its own distribution, not the mean of the rows."""
        times = drawn(sessions=60)
        noise = np.random.default_rng(3).normal(0, 0.15, times.sizes["session"])
        times[0] = times[0] * np.exp(xr.DataArray(noise, dims="session"))
        calibrated = times.perf.calibrate(rules=None)
        rows = calibrated["threshold"]
        assert rows[0] > 0.3
        independent = float(np.sqrt((rows**2).sum()) / rows.size)
        assert calibrated["suite_threshold"].item() == pytest.approx(independent, rel=0.3)
        assert calibrated["suite_threshold"].item() < float(rows.mean())

    def test_what_one_side_lacks_is_told_in_one_note(self):
        calibrated = drawn().perf.calibrate(rules=None).isel(benchmark=slice(4))
        times = drawn(sessions=1).squeeze("session").isel(benchmark=slice(2, None))
        result = perfarray.compare(times, times, threshold=calibrated)
        (note,) = (note for note in result.perf.notes() if note.code == "thresholds_differ")
        assert note.values == {"missing": ["b4", "b5"], "unused": ["b0", "b1"]}
        assert "('b4', 'b5') have no calibrated threshold and take the median" in note.message
        alone = perfarray.compare(*[times.isel(benchmark=[0, 2])] * 2, threshold=calibrated)
        (note,) = (note for note in alone.perf.notes() if note.code == "thresholds_differ")
        assert "1 benchmark ('b4') has no calibrated threshold and takes" in note.message
        median = float(calibrated["threshold"].median())
        assert result["threshold"].sel(benchmark="b5").item() == median

    @pytest.mark.parametrize(
        ("thresholds", "facts"),
        [
            (xr.Dataset({"limit": 1}), "no variable 'threshold'"),
            (xr.Dataset({"threshold": ("benchmark", [np.nan])}), "too few sessions"),
            (xr.Dataset({"threshold": ("benchmark", [2.0] * 6)}), "out of range"),
            (
                xr.Dataset({"threshold": ("benchmark", [0.1])}, {"benchmark": ["sort"]}),
                r"other labels along 'benchmark' \('sort'\), not of 'b0'",
            ),
        ],
        ids=["variable", "nan", "range", "labels"],
    )
    def test_bad_thresholds_are_refused(self, thresholds, facts):
        times = drawn(sessions=1).squeeze("session")
        with pytest.raises(ValueError, match=facts):
            perfarray.compare(times, times, threshold=thresholds)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="false_alarms=2"):
        drawn().perf.calibrate(rules=None, false_alarms=2)
    with pytest.raises(ValueError, match="prior"):
        drawn().perf.calibrate(rules=None, prior="all")
