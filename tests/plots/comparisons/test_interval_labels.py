"""What is written under and beside intervals: the quantity, its good side, units."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.plots import mean_intervals, ratio_intervals


def compared(**attrs):
    """Return a comparison of one benchmark."""
    values = {"estimate": 0.8, "lower": 0.7, "upper": 0.9, "kind": "bounded", "verdict": "faster"}
    return xr.Dataset(values, attrs={"result": "compare", "metric": "time", "baseline": "old", "better": "lower", **attrs})


def beside(ax):
    """Return the texts right of the rows."""
    return [text.get_text() for text in ax.texts if text.get_gid() == "beside"]


@pytest.mark.parametrize(
    ("attrs", "label"),
    [
        ({}, "time, candidate / baseline (<1 is faster)"),
        ({"metric": "throughput", "better": "higher"}, "throughput, candidate / baseline (>1 is faster)"),
        ({"metric": "energy"}, "energy, candidate / baseline (<1 is better)"),
        ({"better": ""}, "time, candidate / baseline"),
        ({"statistic": "median"}, "median time, candidate / baseline (<1 is faster)"),
    ],
)
def test_axis_says_which_side_is_good(attrs, label):
    """In the sense of `better`."""
    assert ratio_intervals(compared(**attrs)).get_xlabel().splitlines()[0] == label


def test_axis_says_what_the_bars_are():
    """Confidence level and correction."""
    label = ratio_intervals(compared(confidence_level=0.99, correction="holm")).get_xlabel()
    assert all(fact in label.splitlines()[1] for fact in ("99 %", "(holm)"))


def test_means_stand_at_estimates_in_their_units():
    """Means 10 and 5 s, with their intervals."""
    times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0], "sort": [4.0, 5.0, 6.0]}, dim="benchmark")
    result = times.perf.mean_interval()
    ax = mean_intervals(result)
    assert [line.get_xdata().tolist() for line in ax.lines if line.get_gid() == "estimates"] == [[10.0, 5.0]]
    segments = [lines.get_segments()[0][:, 0].tolist() for lines in ax.collections]
    assert segments == [[result["lower"].values[i], result["upper"].values[i]] for i in range(2)]
    assert beside(ax) == ["10 s", "5 s"]
    assert ax.get_title(loc="left") == "Mean time"
    assert ax.get_xscale() == "linear"


def stopped(label):
    """Return two versions of two benchmarks; one run of one version of the first was stopped."""
    times = perfarray.from_samples({"old": [10.0, 10.1, 9.9, 10.2], "new": [41.0, 40.1, 40.3, 40.8]})["time"]
    times = xr.concat([times, times], "benchmark").assign_coords(benchmark=["fft", "sort"])
    return times.assign_coords(censored=(times["benchmark"] == "fft") & (times["version"] == label) & (times["execution"] == 0))


@pytest.mark.filterwarnings("ignore:.*was stopped at a limit:UserWarning")
@pytest.mark.parametrize(("label", "side"), [("new", "at least +"), ("old", "at most +")])
def test_bounds_are_called_bounds(label, side):
    """What stopped runs leave known as a bound only: ratios, suites, scores and means; the others are as they were."""
    times = stopped(label)
    assert [text.startswith(side) for text in beside(times.perf.plot.intervals("old"))] == [True, False, True]
    assert [text.startswith(side) for text in beside(times.perf.score_ratio_interval("old").perf.plot())] == [True]
    means = beside(times.perf.mean_interval().perf.plot())
    assert [text.startswith("at least") for text in means] == [label == "old", label == "new", False, False]
    one_sided = times.perf.score_ratio_interval("old", alternative="greater")
    assert one_sided.attrs["alternative"] == "greater"
    assert not beside(one_sided.perf.plot())[0].startswith("at")


def test_open_sets_without_stopped_runs_have_no_bound():
    """A set that is cut to the positive numbers is open; its estimate bounds nothing."""
    cut = compared().assign(kind="at_least", lower=0.7, upper=float("inf"))
    assert beside(ratio_intervals(cut)) == ["−20.0 %"]


def test_rows_are_scaled_where_intervals_would_hide_behind_points():
    """Means six decades apart with limits one percent off: each row in percent of its own mean, which stands beside it."""
    times = perfarray.from_samples({"fft": [0.99, 1.0, 1.01], "sort": [0.99e-6, 1e-6, 1.01e-6]}, dim="benchmark")
    result = times.perf.mean_interval()
    ax = mean_intervals(result)
    assert [line.get_xdata().tolist() for line in ax.lines if line.get_gid() == "estimates"] == [[0.0, 0.0]]
    ends = [lines.get_segments()[0][:, 0].tolist() for lines in ax.collections]
    relative = [100 * (result[name] / result["estimate"] - 1) for name in ("lower", "upper")]
    np.testing.assert_allclose(ends, np.transpose(relative))
    assert beside(ax) == ["1 s", "1 µs"]
    assert ax.get_xlabel().startswith("time, relative to the mean")
    assert mean_intervals(result, relative=False).get_xscale() == "log"


def test_one_wide_interval_does_not_hide_the_others():
    """Two of three means would hide theirs: all rows are scaled."""
    times = perfarray.from_samples({"fft": [9.9, 10.0, 10.1], "sort": [0.99e-3, 1e-3, 1.01e-3], "zip": [4.0, 5.0, 6.0]}, dim="benchmark")
    assert mean_intervals(times.perf.mean_interval()).get_xlabel().startswith("time, relative to the mean")


def test_means_far_apart_have_a_logarithmic_axis():
    """More than a factor of ten."""
    times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0], "sort": [0.4, 0.5, 0.6]}, dim="benchmark")
    ax = mean_intervals(times.perf.mean_interval())
    assert ax.get_xscale() == "log"
    assert beside(ax) == ["10 s", "500 ms"]
