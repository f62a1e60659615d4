"""Scores of suites: densities, box plots and points."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.plots import five_numbers
from picture_parts import beside, rows, simulated, texts, title


@pytest.fixture
def times():
    return simulated(4, benchmark=4, machine=["x", "y"])


def test_boxes_stand_at_the_five_numbers(times):
    """The box reaches from quartile to quartile, a row for each machine."""
    result = times.perf.five_number_summary(method="exact")
    ax = five_numbers(result)
    boxes = [[box.get_x(), box.get_x() + box.get_width()] for box in ax.patches]
    np.testing.assert_allclose(boxes, np.stack([result["q1"], result["q3"]], axis=1))
    assert (rows(ax), ax.get_xlabel()) == (["x", "y"], "geometric mean of time over benchmark")
    assert title(times.perf.five_number_summary(rng=1).perf.plot()) == "Five numbers of the score, 500 scores drawn"


@pytest.mark.parametrize("number", [2, 9])
def test_every_machine_has_a_density(number):
    """All as high, with the suite score dotted; more machines than colours have a row each, and their densities stand on its line."""
    scores = simulated(3, benchmark=2, machine=number).perf.score_distribution(rng=1)
    ax = scores.perf.plot()
    curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
    dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
    np.testing.assert_allclose([line.get_xdata()[0] for line in dotted], scores["suite_score"])
    names = [f"machine{place}" for place in range(number)]
    if number == 2:
        assert [line.get_label() for line in curves] == names
        np.testing.assert_allclose([line.get_ydata().max() for line in curves], 1)
    else:
        assert (rows(ax), ax.figure.get_figheight()) == (names, 1.5 + 0.4 * number)
        assert title(scores.isel(machine=[0] * 40).perf.plot()).endswith("36 of 40: lowest and highest score")
        np.testing.assert_allclose([line.get_ydata().min() for line in curves], np.arange(9) + 0.425 - 0.85)
        np.testing.assert_allclose([line.get_ydata()[0] for line in dotted], np.arange(9) + 0.425)


def test_cells_without_data(times):
    """An empty row says so; a distribution without any score is refused; a score that never varies is a line."""
    half = times.where(times["machine"] == "x").assign_attrs(times.attrs)
    with pytest.warns(perfarray.PerfarrayWarning, match="1 of 2 cells .*have no measured value"):
        summary, scores = half.perf.five_number_summary(rng=1), half.perf.score_distribution(rng=1)
    assert "not measured" in texts(five_numbers(summary))
    with pytest.raises(ValueError, match="no cell has a score"):
        scores.sel(machine=["y"]).perf.plot()
    assert title(scores.perf.plot()).endswith("1 of 2 cells not measured")
    constant = times.isel(execution=[0, 0]).perf.score_distribution(rng=1)
    assert all(len(line.get_xdata()) == 2 for line in constant.perf.plot().lines)


def test_of_too_many_boxes_the_extremes_are_drawn():
    """Of 310 cells as many as fit, the lowest on top, and the title says so; the figure is no higher than others."""
    cells = xr.DataArray(np.arange(310.0).reshape(31, 10) + 1, dims=("machine", "compiler"))
    result = xr.Dataset(dict.fromkeys(("minimum", "q1", "median", "q3", "maximum"), cells), attrs={"result": "five_number_summary"})
    ax = result.perf.plot()
    assert title(ax).endswith("60 of 310: lowest and highest median")
    assert [segment[0, 0] for segment in ax.collections[3].get_segments()] == [*range(1, 31), *range(281, 311)]
    assert rows(ax)[::59] == ["machine 0, compiler 0", "machine 30, compiler 9"]
    assert ax.figure.get_figheight() < 17


@pytest.mark.parametrize(("scores", "scale"), [([2.0, 3.0], "linear"), ([2.0, 30.0], "log")])
def test_scores_have_units_and_the_axis_they_need(scores, scale):
    """In seconds with a prefix at the right; logarithmic where they are far apart."""
    result = xr.Dataset({"estimate": ("machine", np.array(scores) * 1e-3, {"units": "s"})}, {"machine": ["x", "y"]})
    ax = result.assign_attrs(result="suite_score", mean="geometric").perf.plot()
    assert (beside(ax), ax.get_xscale()) == ([f"{score:g} ms" for score in scores], scale)
