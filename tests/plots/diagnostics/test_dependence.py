"""Correlograms and lag plots."""

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt

import perfarray  # noqa: F401  (registers .perf)
from picture_parts import title


def timings(cells):
    """Return two series for each of so many benchmarks; neighbours of the first benchmark are alike."""
    values = np.random.default_rng(1).normal(10, 0.1, (cells, 2, 41))
    values[0, :, 1:] += values[0, :, :-1]
    return xr.DataArray(
        values[..., 1:], dims=("benchmark", "execution", "iteration"), coords={"benchmark": [f"b{i}" for i in range(cells)]}
    )


@pytest.mark.parametrize(("cells", "named"), [(1, 1), (9, 7)])
def test_cells_that_depend_most_are_in_colour(cells, named):
    """Every cell has a line; the legend names those with the smallest p."""
    ax = timings(cells).perf.autocorrelation(max_lag=4).perf.plot()
    assert sum(line.get_gid() == "cell" for line in ax.lines) == cells
    legend = [text.get_text() for text in ax.figure.legends[0].get_texts()] if ax.figure.legends else ax.get_legend_handles_labels()[1]
    assert len(legend) == named
    assert any(text.startswith("b0 (p " if cells > 1 else "all series (p ") for text in legend)
    plt.close(ax.figure)


def test_lag_pairs_values_of_one_series():
    """No pair spans two executions; the title says how alike they are."""
    times = timings(1)[0]
    ax = times.perf.plot.lag(lag=2)
    offsets = [points.get_offsets().data for points in ax.collections]
    assert [len(part) for part in offsets] == [38, 38]
    np.testing.assert_allclose(offsets[1], np.stack([times[1, :-2], times[1, 2:]], axis=-1))
    assert "correlation" in title(ax)
    plt.close(ax.figure)


def test_messages():
    """One cell at a time; lags shorter than the series; something to pair."""
    with pytest.raises(ValueError, match=r"several along benchmark \(2\): select one, as in .sel\(benchmark='b0'\)"):
        timings(2).perf.plot.lag()
    with pytest.raises(ValueError, match="lag=40 needs more than 40 repetitions"):
        timings(1).perf.plot.lag(lag=40)
    with pytest.raises(ValueError, match="lag has nothing to draw"):
        (timings(1)[0] * np.nan).perf.plot.lag()


def test_against_a_coordinate():
    """Every measurement that counts at what was recorded with it, a colour for each outermost unit; other coordinates are named."""
    load = np.array([[5.0, 80.0], [95.0, np.nan]])
    times = xr.DataArray([[1.0, 2.0], [4.0, 8.0]], dims=("execution", "iteration"), name="time", attrs={"units": "s"})
    times = times.assign_coords(load=(("iteration", "execution"), load.T, {"units": "%"}))
    ax = times.perf.plot.against("load")
    assert [points.get_offsets().tolist() for points in ax.collections] == [[[5.0, 1.0], [80.0, 2.0]], [[95.0, 4.0]]]
    assert (ax.get_xlabel(), ax.get_ylabel(), title(ax)) == ("load", "time", "3 measurements")
    warm = times.assign_coords(warmup=("iteration", [True, False]))
    assert [points.get_offsets().tolist() for points in warm.perf.plot.against("load").collections] == [[[80.0, 2.0]]]
    with pytest.raises(ValueError, match=r"coordinate 'lod' holds no numbers along \('execution', 'iteration'\); these do: 'load'"):
        times.perf.plot.against("lod")
    with pytest.raises(ValueError, match="draws one cell at a time"):
        times.expand_dims(benchmark=["fft", "lu"]).perf.plot.against("load")
    with pytest.raises(ValueError, match="no measurement has a number in 'load'"):
        (times * np.nan).perf.plot.against("load")
