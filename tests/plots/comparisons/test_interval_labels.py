"""What is written under and beside intervals: the quantity, its good side, units."""

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


def test_means_far_apart_have_a_logarithmic_axis():
    """More than a factor of ten."""
    times = perfarray.from_samples({"fft": [9.0, 10.0, 11.0], "sort": [0.4, 0.5, 0.6]}, dim="benchmark")
    ax = mean_intervals(times.perf.mean_interval())
    assert ax.get_xscale() == "log"
    assert beside(ax) == ["10 s", "500 ms"]
