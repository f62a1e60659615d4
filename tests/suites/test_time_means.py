"""Means that solvers are judged by: PAR2, PAR10, and the shifted geometric mean."""

import warnings

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import perfarray

TWO = ("version", "benchmark", "execution")


def timings(values, stopped=(), failed=(), **coords):
    """Return times of versions a, b, ... and benchmarks x, y, ...; marks name positions."""
    values = np.asarray(values, dtype=float)
    marks = {}
    for name, positions in (("censored", stopped), ("failed", failed)):
        mark = np.zeros(values.shape, dtype=bool)
        for position in positions:
            mark[position] = True
        marks |= {name: (TWO, mark)} if positions else {}
    labels = {"version": list("abc")[: len(values)], "benchmark": list("xyz")[: values.shape[1]]}
    array = xr.DataArray(values, labels, TWO, "time", {"units": "s"})
    return array.assign_coords(marks | coords).to_dataset()


# Version a: 2 and a time-out; version b: a failure and 6.
TIMES = timings(
    [[[1.0, 3.0], [np.nan, 20.0]], [[np.nan, 4.0], [6.0, 6.0]]], [(0, 1, 0)], [(1, 0, 0)]
)


def scores(times, **keywords):
    return times.perf.suite_score(**keywords)["estimate"]


def test_par2_worked_by_hand():
    """A run that was stopped or failed counts as twice the limit; runs are averaged."""
    expected = [(2 + (200 + 20) / 2) / 2, ((200 + 4) / 2 + 6) / 2]
    np.testing.assert_allclose(scores(TIMES, mean="par2", limit=100), expected, rtol=1e-14)


def test_par10_counts_ten_times():
    """The same with ten times the limit."""
    expected = [(2 + (1000 + 20) / 2) / 2, ((1000 + 4) / 2 + 6) / 2]
    np.testing.assert_allclose(scores(TIMES, mean="par10", limit=100), expected, rtol=1e-14)


def test_each_run_has_its_limit():
    """Without `limit=`, that of a run is `censored_at`, else the value of a stopped run."""
    at_value = timings([[[50.0], [4.0]]], [(0, 0, 0)])
    assert scores(at_value, mean="par2").item() == (100 + 4) / 2
    at_limit = at_value.assign_coords(censored_at=60.0)
    assert scores(at_limit, mean="par2").item() == (120 + 4) / 2
    assert scores(at_limit, mean="par2", limit=70).item() == (140 + 4) / 2


def test_a_failed_run_has_no_limit_but_a_given_one():
    """What a run took until it failed is not its limit."""
    crashed = timings([[[3.0], [4.0]]], failed=[(0, 0, 0)])
    with pytest.raises(ValueError, match=r"1 run that did not end has no limit.*Give limit="):
        scores(crashed, mean="par2")
    assert scores(crashed.assign_coords(censored_at=60.0), mean="par2").item() == (120 + 4) / 2


def test_runs_above_the_limit_count_as_stopped():
    """With a lower limit than the one that was measured with; a run at it has ended."""
    times = timings([[[1.0], [50.0], [100.0]]])
    assert scores(times, mean="par2", limit=50).item() == pytest.approx((1 + 50 + 100) / 3)


def test_warm_up_never_counts():
    """A stopped run of the warm-up has no penalty."""
    times = timings([[[9.0, 2.0], [4.0, 4.0]]], [(0, 0, 0)])
    times = times.assign_coords(warmup=("execution", [True, False]))
    assert scores(times, mean="par2", limit=10).item() == 3


def test_statistics_are_of_penalised_times():
    """The median of three runs does not depend on one that was stopped."""
    times = timings([[[1.0, 2.0, np.nan], [3.0, 3.0, 3.0]]], [(0, 0, 2)])
    assert scores(times, mean="par2", limit=9, statistic="median").item() == 2.5


def test_all_runs_stopped():
    """The score is twice the limit."""
    times = timings([[[np.nan], [np.nan]]], [(0, 0, 0), (0, 1, 0)])
    assert scores(times, mean="par2", limit=30).item() == 60


def test_one_benchmark_and_none_stopped():
    """PAR2 is then the mean time."""
    assert scores(timings([[[2.0, 4.0]]]), mean="par2").item() == 3


def test_suites_have_their_scores():
    """Each of two suites its own."""
    times = TIMES.assign_coords(suite=("benchmark", ["int", "fp"]))
    by_suite = scores(times, mean="par2", limit=100)
    np.testing.assert_allclose(by_suite.sel(suite="int"), [2, 102])
    np.testing.assert_allclose(by_suite.sel(suite="fp"), [110, 6])


def test_weights():
    """Benchmarks count by their weights."""
    weighted = scores(TIMES, mean="par2", limit=100, weights={"x": 3, "y": 1})
    np.testing.assert_allclose(weighted, [(3 * 2 + 110) / 4, (3 * 102 + 6) / 4])


@pytest.mark.parametrize("mean", ["par2", "par10", "shifted_geometric"])
def test_all_forms_of_the_data_agree(mean):
    """DataArray, float32, transposed and lazy data have the same scores."""
    limit = {} if mean == "shifted_geometric" else {"limit": 64}
    values = np.random.default_rng(1).integers(1, 60, (2, 3, 2)).astype(float)
    times = timings(values, [(0, 0, 1)], [(1, 2, 0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
        expected = scores(times, mean=mean, **limit)
        for form in (times["time"], times.astype("float32"), times.transpose(*TWO[::-1])):
            np.testing.assert_allclose(scores(form, mean=mean, **limit), expected, rtol=1e-12)
        pytest.importorskip("dask")
        lazy = scores(times.chunk({"version": 1}), mean=mean, **limit)
        assert lazy.chunks is not None
        np.testing.assert_allclose(lazy, expected, rtol=1e-12)


def test_lazy_runs_without_a_limit_are_infinite():
    """They cannot be counted before computing, and never flatter."""
    pytest.importorskip("dask")
    lazy = TIMES.chunk({"version": 1}).reset_coords().chunk().set_coords(["censored", "failed"])
    assert np.isinf(scores(lazy, mean="par2")).all()


def test_the_note_counts_penalties():
    """It stands with the result, without a warning; attrs say what was done."""
    result = TIMES.perf.suite_score(mean="par2", limit=100)
    assert "2 runs that did not end (stopped or failed) count as 2 times" in str(
        result.perf.table()
    )
    assert (result.attrs["mean"], result.attrs["limit"]) == ("par2", 100.0)
    assert (result.attrs["censored"], result["estimate"].attrs["units"]) == ("penalised", "s")


def test_processor_time_with_a_limit():
    """Another metric than the main one has no limits of its own, and takes the given one."""
    times = TIMES.assign(cpu_time=2 * TIMES["time"])
    expected = [(4 + (200 + 40) / 2) / 2, ((200 + 8) / 2 + 12) / 2]
    both = scores(times, mean="par2", limit=100, metric=["time", "cpu_time"])
    np.testing.assert_allclose(both.sel(metric="cpu_time"), expected)


@pytest.mark.parametrize("shift", [0.5, 1.0, 10.0])
def test_shifted_mean_is_that_of_scipy(shift):
    """The geometric mean of times + shift, less the shift; times of 0 count."""
    values = np.random.default_rng(2).lognormal(size=(2, 3, 1))
    values[0, 0] = 0.0
    expected = stats.gmean(values[..., 0] + shift, axis=-1) - shift
    with pytest.warns(perfarray.PerfarrayWarning, match=r"0, below the clock"):
        found = scores(timings(values), mean="shifted_geometric", shift=shift)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_shifted_mean_worked_by_hand():
    """sqrt((1 + 1) (7 + 1)) - 1 = 3, with the default of 1 s."""
    assert scores(timings([[[1.0], [7.0]]]), mean="shifted_geometric").item() == pytest.approx(3)


def test_shifted_mean_of_stopped_runs_is_a_bound():
    """They count as their limit, as in the geometric mean."""
    times = timings([[[1.0], [7.0]]], [(0, 1, 0)])
    with pytest.warns(perfarray.PerfarrayWarning, match="Their score is a bound"):
        assert scores(times, mean="shifted_geometric").item() == pytest.approx(3)


RATES = TIMES.rename(time="throughput")
RATES["throughput"].attrs = {"units": "ops/s", "better": "higher"}


@pytest.mark.parametrize(
    ("times", "keywords", "message"),
    [
        (TIMES, {"mean": "par2"}, "2 runs that did not end have no limit, .* 2 times it"),
        (RATES, {"mean": "par2", "limit": 9}, "'par2' is of times, and throughput is in 'ops/s'"),
        (RATES, {"mean": "shifted_geometric"}, "'shifted_geometric' is of times"),
        (TIMES, {"mean": "par2", "limit": -1}, "limit=-1: give seconds above 0"),
        (TIMES, {"mean": "shifted_geometric", "shift": 0}, "shift=0: give seconds above 0"),
        (TIMES, {"shift": 2}, "shift=2 is for mean='shifted_geometric', not for mean='geometric'"),
        (TIMES, {"mean": "harmonic", "limit": 2}, "limit=2 is for mean='par2' or 'par10'"),
        (TIMES, {"mean": "par3"}, "choose one of 'geometric', .*'par2', 'par10'"),
        (TIMES, {"mean": "par2", "limit": "9 s"}, "limit='9 s' is not a number"),
    ],
)
def test_messages(times, keywords, message):
    """What is not possible says why, and what to do."""
    with pytest.raises(ValueError, match=message):
        times.perf.suite_score(**keywords)


SOLVERS = timings(
    np.random.default_rng(3).lognormal(3, 1, (2, 3, 4)), [(0, 0, 1), (1, 1, 0)], [(1, 2, 3)]
)


@pytest.mark.parametrize("method", ["t", "percentile"])
@pytest.mark.parametrize("random_benchmarks", [False, True])
def test_ratio_is_that_of_the_scores(method, random_benchmarks):
    """Its limits are those of the arithmetic mean of times with the penalties written in."""
    keywords = {"method": method, "random_benchmarks": random_benchmarks, "rng": 1}
    values = SOLVERS["time"].where(~(SOLVERS["censored"] | SOLVERS["failed"]), 400.0)
    values = values.where(values <= 200, 400.0).drop_vars(["censored", "failed"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
        ratio = SOLVERS.perf.score_ratio_interval("a", mean="par2", limit=200, **keywords)
        expected = values.assign_attrs(units="s").perf.score_ratio_interval(
            "a", mean="arithmetic", **keywords
        )
        both = SOLVERS.sel(version="b").perf.score_ratio_interval(
            SOLVERS.sel(version="a"), mean="par2", limit=200, **keywords
        )
    par2 = scores(SOLVERS, mean="par2", limit=200)
    assert ratio["estimate"].item() == pytest.approx((par2[1] / par2[0]).item())
    for name in ("estimate", "lower", "upper", "pvalue"):
        np.testing.assert_allclose(ratio[name], expected[name])
        if method == "t":
            np.testing.assert_allclose(both[name], expected[name].squeeze())
    assert np.isfinite(ratio["upper"]).all()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"mean": "shifted_geometric"}, "has no interval of a ratio. Use mean='geometric' or"),
        ({"mean": "par2", "limit": 9, "censored": "drop"}, "'drop' does not go with mean='par2'"),
        ({"mean": "par2"}, "no limit"),
        ({"limit": 9}, "limit=9 is for mean='par2' or 'par10'"),
    ],
)
def test_messages_of_ratios(keywords, message):
    """What has no interval, and what contradicts itself."""
    with pytest.raises(ValueError, match=message):
        TIMES.perf.score_ratio_interval("a", **keywords)
