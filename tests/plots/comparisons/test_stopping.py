"""When to stop: curves and points are the numbers of the result."""

import numpy as np
import pytest

import perfarray

pytestmark = pytest.mark.filterwarnings("ignore:.*executions would do:perfarray.PerfarrayWarning")

NEST = {"sizes": {"execution": 30}, "variances": {"execution": 4e-4}}


def found(**dims):
    """Where Stein's rule stops, of some cells with enough executions and some with too few."""
    times = perfarray.simulate(**NEST, dims={**dims, "version": ["old", "new"]}, rng=2)
    return times.perf.stopping("old", half_width=0.011)


def test_few_cells_are_curves():
    """The half-widths of the result, a point where the rule stops; what would do stands in the legend where it does not."""
    result = found(benchmark=7)
    ax = result.perf.plot()
    half = 100 * result["half_width"].values.reshape(7, -1)
    np.testing.assert_allclose([line.get_ydata() for line in ax.lines[:-2] if line.get_marker() != "o"], half)
    stops = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]
    required = result["required"].values.ravel()
    known = np.flatnonzero(~np.isnan(required))
    np.testing.assert_allclose(stops, [(required[cell], half[cell, int(required[cell]) - 1]) for cell in known])
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sum("would do" in text for text in texts) == 7 - len(known) > 0


def test_a_narrow_axis_has_numbers():
    """Of half-widths within a factor of two there are several, not the one power of ten among them."""
    times = perfarray.simulate(sizes={"execution": 20}, variances={"execution": 4e-4}, dims={"version": ["old", "new"]}, rng=2)
    ax = times.perf.stopping("old", half_width=0.011).perf.plot()
    low, high = ax.get_ylim()
    assert high < 5 * low
    assert sum(low <= tick <= high for tick in ax.get_yticks()) >= 4


def test_many_cells_are_rows():
    """What is required, and what would do, of every cell; of a hundred the extremes."""
    result = found(benchmark=100)
    ax = result.isel(benchmark=slice(9)).perf.plot()
    points = {line.get_label(): line.get_xdata() for line in ax.lines if line.get_marker() == "o"}
    shown = np.concatenate([points["required"][~np.isnan(points["required"])], points["would do"]])
    assert sorted(shown) == sorted(result["extrapolated"].values[:9].ravel())
    assert "60 of 100:\nlowest and highest number of executions" in result.perf.plot().get_title(loc="left")


def test_nothing_is_not_drawn():
    """A result without cells has no picture."""
    with pytest.raises(ValueError, match="has no cell to draw"):
        found(benchmark=2).isel(benchmark=[]).perf.plot()
