"""One number of every cell in rows: the axis and the texts that suit it."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from picture_parts import lines, points, rows, segments, side_texts, simulated, title

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")

TIMES = simulated(8, benchmark=9, version=["old", "new"])


def test_probabilities_stand_between_0_and_100_percent():
    """With bars, a line at one half, and percent beside; of several runs the label says so; energy
    is not fast but good."""
    result = TIMES.perf.prob_faster("old", n_resamples=50, rng=1)
    ax = result.perf.plot()
    np.testing.assert_array_equal(
        segments(ax), np.stack([result[name].values.ravel() for name in ("lower", "upper")], 1)
    )
    assert ax.lines[0].get_xdata() == [0.5, 0.5]
    assert side_texts(ax) == [f"{100 * value:.1f} %" for value in result["estimate"].values.ravel()]
    low, high = ax.get_xlim()
    assert low < 0 < 1 < high
    assert ax.get_xlabel() == "how often a run of the candidate is faster\n95 % intervals"
    picture = TIMES.perf.prob_faster("old", runs=3, n_resamples=0).perf.plot()
    assert (
        picture.get_xlabel().splitlines()[0]
        == "how often 3 runs of the candidate are faster, taken together"
    )
    energy = (
        TIMES.rename("energy").assign_attrs(units="J", better="lower", metric="energy").to_dataset()
    )
    ax = energy.perf.prob_faster("old", metric="energy", n_resamples=50, rng=1).perf.plot()
    assert ax.get_xlabel().startswith("how often a run of the candidate is better")


def test_the_probability_of_the_fastest_has_a_row_for_each_label():
    """In groups of benchmarks; a single cell has one, on an axis from 0 to 100 percent."""
    result = TIMES.perf.prob_fastest(dim="version", n_resamples=50, rng=1)
    assert len(points(result.perf.plot())) == 18
    ax = result.isel(benchmark=[0], version=[1]).perf.plot()
    assert len(points(ax)) == 1
    assert ax.get_xlim()[0] < 0 < 1 < ax.get_xlim()[1]


def test_differences_stand_beside_those_of_the_baseline():
    """Each row has a mark for two runs of the baseline, inside the axis, and the unit; beyond a
    factor of ten the axis is logarithmic."""
    ax = TIMES.perf.mean_difference("old", n_resamples=50, rng=1).perf.plot()
    assert ax.get_xscale() == "linear"
    scaled = (TIMES * xr.where(TIMES["benchmark"] == "benchmark0", 12.0, 1.0)).assign_attrs(
        TIMES.attrs
    )
    assert (
        scaled.perf.mean_difference("old", n_resamples=50, rng=1).perf.plot().get_xscale() == "log"
    )
    marks = points(ax, "two runs of the baseline")
    low, high = ax.get_xlim()
    assert low < min(marks) <= max(marks) < high
    assert all(text.endswith("ms") for text in side_texts(ax))


def test_speedups_have_a_logarithmic_axis_around_1():
    """Without limits points are filled; with limits, also of medians, there are bars; an unmeasured
    cell is counted in the title."""
    ax = TIMES.perf.speedup("old").perf.plot()
    assert (ax.get_xscale(), ax.lines[0].get_xdata()[0]) == ("log", 1.0)
    assert all(line.get_markerfacecolor() != "white" for line in lines(ax))
    ax = (
        TIMES.isel(execution=slice(5))
        .perf.speedup("old", statistic="median", confidence_level=0.95)
        .perf.plot()
    )
    assert ax.get_xlabel().endswith("95 % intervals")
    assert len(lines(ax, "arrow")) == 18
    ax = (
        TIMES.where((TIMES["benchmark"] != "benchmark3") | (TIMES["version"] == "old"))
        .perf.speedup("old")
        .perf.plot()
    )
    assert "8 of 9: those measured" in title(ax)


def test_variations_stand_beside_their_scores():
    """Percent on the axis, the score with its unit at the right, the shortest time first; one unit
    and the same decimals in all rows."""
    result = TIMES.perf.relative_variation()
    assert side_texts(result.perf.plot()) == ["0.999 s", "1.001 s"]


def test_counts_reach_from_the_fewest_to_the_most():
    """Ragged executions: a line from the fewest iterations to the most; the values beside; a cell
    without any is counted in the title."""
    times = perfarray.from_samples(
        {"fft": [[1.0, 2.0, 3.0], [4.0]], "sort": [[5.0, 6.0]]},
        dim="benchmark",
        level=("execution", "iteration"),
    )
    result = times.perf.counts()
    ax = times.perf.plot.counts()
    for kind, name in (("fewest", "minimum"), ("most", "maximum")):
        np.testing.assert_array_equal(
            np.transpose([line.get_xdata() for line in lines(ax, kind)]), result[name]
        )
    assert side_texts(ax) == ["4", "2"]
    ax = times.where(times["benchmark"] == "fft").perf.counts().perf.plot()
    assert (rows(ax), title(ax)) == (["fft"], "What was measured, 1 of 2: those measured")
