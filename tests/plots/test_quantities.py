"""One number of every cell in rows: where points, intervals and marks stand, and what is said."""

import numpy as np
import pytest

import perfarray
from perfarray.plots.figure import number_format

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")

TIMES = perfarray.simulate(
    sizes={"execution": 8}, variances={"execution": 1e-4}, dims={"benchmark": 9, "version": ["old", "new"]}, rng=1
)["time"]  # fmt: skip


def points(ax):
    """Return estimates from the first row down."""
    return np.concatenate([line.get_xdata() for line in ax.lines if line.get_gid() == "estimates"])


def beside(ax):
    """Return the texts right of the rows."""
    return [text.get_text() for text in ax.texts if text.get_gid() == "beside"]


def test_probabilities_stand_between_0_and_100_percent():
    """Points and bars at what was found, the line where neither is faster, percent beside."""
    found = TIMES.perf.prob_faster("old", n_resamples=50, rng=1)
    ax = found.perf.plot()
    np.testing.assert_array_equal(points(ax), found["estimate"].values.ravel())
    bars = [part.get_segments()[0][:, 0] for part in ax.collections]
    np.testing.assert_array_equal(bars, np.stack([found[name].values.ravel() for name in ("lower", "upper")], 1))
    assert ax.lines[0].get_xdata() == [0.5, 0.5]
    assert beside(ax) == [f"{100 * value:.1f} %" for value in found["estimate"].values.ravel()]
    low, high = ax.get_xlim()
    assert low < 0 < 1 < high
    assert ax.get_xlabel() == "how often a run of the candidate is faster\n95 % intervals"
    together = TIMES.perf.prob_faster("old", runs=3, n_resamples=0).perf.plot()
    assert together.get_xlabel().splitlines()[0] == "how often 3 runs of the candidate are faster, taken together"


def test_differences_stand_beside_those_of_the_baseline():
    """Each row has a mark for two runs of the baseline, inside the axis, and the unit."""
    found = TIMES.perf.mean_difference("old", n_resamples=50, rng=1)
    ax = found.perf.plot()
    marks = next(line.get_xdata() for line in ax.lines if line.get_label() == "two runs of the baseline")
    np.testing.assert_array_equal(marks, found["baseline_difference"].values.ravel())
    low, high = ax.get_xlim()
    assert low < min(marks) <= max(marks) < high
    assert all(text.endswith("ms") for text in beside(ax))


def test_speedups_and_variations_have_no_limits():
    """Filled points; a logarithmic axis with 1 for speedups, percent of the score for its variation, whose size stands beside."""
    speedups = TIMES.perf.speedup("old")
    ax = speedups.perf.plot()
    np.testing.assert_array_equal(points(ax), speedups["estimate"].values.ravel())
    assert (ax.get_xscale(), ax.lines[0].get_xdata()[0]) == ("log", 1.0)
    assert all(line.get_markerfacecolor() != "white" for line in ax.lines if line.get_gid() == "estimates")
    varied = TIMES.perf.relative_variation()
    ax = varied.perf.plot()
    np.testing.assert_array_equal(points(ax), varied["relative_variation"])
    assert len(beside(ax)) == 2
    assert beside(ax) == [number_format("s")(value) for value in varied["performance"].values]


def test_the_probability_of_the_fastest_has_a_row_for_each_label():
    """In groups of benchmarks; one cell alone and an unmeasured one have their row."""
    found = TIMES.perf.prob_fastest(dim="version", n_resamples=50, rng=1)
    assert len(points(found.perf.plot())) == 18
    assert len(points(found.isel(benchmark=[0], version=[1]).perf.plot())) == 1
    gap = TIMES.where((TIMES["benchmark"] != "benchmark3") | (TIMES["version"] == "old")).perf.speedup("old").perf.plot()
    assert [text.get_text() for text in gap.texts if text.get_gid() != "beside"] == ["not measured on both sides", ""]


def test_what_is_no_time_is_better_and_not_faster():
    """Energy."""
    energy = TIMES.rename("energy").assign_attrs(units="J", better="lower", metric="energy")
    ax = energy.to_dataset().perf.prob_faster("old", metric="energy", n_resamples=50, rng=1).perf.plot()
    assert ax.get_xlabel().startswith("how often a run of the candidate is better")


def test_speedups_have_bars_where_limits_were_asked_for():
    """Of medians too; a limit that does not exist is an arrow at the border."""
    ax = TIMES.isel(execution=slice(5)).perf.speedup("old", statistic="median", confidence_level=0.95).perf.plot()
    assert ax.get_xlabel().endswith("95 % intervals")
    assert len([line for line in ax.lines if line.get_gid() == "arrow"]) == 18
