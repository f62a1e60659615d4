"""Units that a decision needs: points and curves are the numbers of the result."""

import numpy as np
import pytest

import perfarray

NEST = {"sizes": {"execution": 10}, "variances": {"execution": 4e-4}}


def plan(**dims):
    """Return what a pilot says."""
    return perfarray.simulate(**NEST, dims={**dims, "version": ["old", "new"]}, rng=2).perf.required_units("old", dim="version")


def test_one_cell_is_a_curve():
    """The curve of the result, the point asked for on the line of the change, the pilot on the curve."""
    result = plan().squeeze("version")
    ax = result.perf.plot()
    curve = ax.lines[0]
    np.testing.assert_allclose(curve.get_ydata(), 100 * result["smallest_change"])
    points = {line.get_label(): line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"}
    assert points["to see 2 %, with a chance of 80 %"].tolist() == [result["required"].item(), 2.0]
    assert points["pilot"].tolist() == pytest.approx([10, 100 * result["smallest_change"].sel(units=10).item()])


def test_several_cells_are_rows():
    """Both numbers of every cell, in rows; of a hundred the extremes."""
    result = plan(benchmark=9)
    ax = result.perf.plot()
    points = {line.get_label(): line.get_xdata() for line in ax.lines if line.get_marker() == "o"}
    assert points["to see 2 %, with a chance of 80 %"].tolist() == result["required"].values.ravel().tolist()
    assert points["pilot"].tolist() == [10.0] * 9
    many = plan(benchmark=100).perf.plot()
    assert "60 of 100: lowest and highest" in many.get_title(loc="left")
    assert many.figure.get_figheight() < 18
