"""Kinds of executions, and run sequences with segments."""

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt

import perfarray  # noqa: F401  (registers .perf)

PLACE = np.arange(60)
LEVELS = np.array([np.ones(60), np.where(PLACE < 9, 2.0, 1.0), np.where(PLACE < 50, 1.0, 2.0)])


def timings(cells=1):
    """Return benchmarks with three executions each: flat, warm-up, and no steady state."""
    noise = 1 + 0.01 * np.random.default_rng(1).normal(size=(cells, 3, 60))
    return xr.DataArray(LEVELS * noise, dims=("benchmark", "execution", "iteration"), coords={"benchmark": [f"b{i}" for i in range(cells)]})


@pytest.mark.filterwarnings("ignore:.*no steady state:UserWarning")
@pytest.mark.parametrize("cells", [1, 9, 100])
def test_kinds_add_up(cells):
    """Every row is as long as there are executions; the legend names the kinds that occur; many rows fit a sheet."""
    ax = timings(cells).perf.steady_state().perf.plot()
    assert [bars.get_label() for bars in ax.containers] == ["flat", "warmup", "no steady state"]
    assert sum(bars[0].get_width() for bars in ax.containers) == 3
    assert len(ax.containers[0]) == min(cells, 60)
    plt.close(ax.figure)


def test_segments_and_starts():
    """A stroke for each segment, warm-up hollow, and a line where it ends; where nothing is steady there is none."""
    ax = timings()[0].perf.plot.run_sequence(steady=True)
    strokes = [part for part in ax.collections if part.get_gid() == "mean"]
    heights = [round(part.get_segments()[0][0, 1]) for part in strokes]
    assert heights == [1, 2, 1, 1, 2]
    starts = [line.get_xdata()[0] for line in ax.lines if line.get_gid() == "start"]
    second = [line.get_xdata() for line in ax.lines if line.get_gid() == "values"][1]
    assert starts == [second[9] - 0.5]
    assert sum(len(line.get_xdata()) for line in ax.lines if line.get_gid() == "warmup") == 9
    plt.close(ax.figure)
