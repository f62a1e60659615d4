"""Densities and box plots of scores: what is drawn where, words, empty cells."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.plots import five_numbers


@pytest.fixture
def times():
    """Four benchmarks on two machines."""
    return perfarray.simulate(
        sizes={"execution": 4}, variances={"execution": 0.01}, mean=10.0, dims={"benchmark": 4, "machine": ["x", "y"]}, rng=1
    )["time"]


def test_boxes_stand_at_the_five_numbers(times):
    """Box from quartile to quartile, whiskers to the extremes, a row for each machine."""
    found = times.perf.five_number_summary(method="exact")
    ax = five_numbers(found)
    box = ax.patches[0]
    first = found.isel(machine=0)
    np.testing.assert_allclose([box.get_x(), box.get_x() + box.get_width()], [first["q1"], first["q3"]])
    np.testing.assert_allclose(ax.collections[0].get_segments()[0][:, 0], [first["minimum"], first["maximum"]])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["x", "y"]
    assert ax.get_xlabel() == "geometric mean of time over benchmark"
    assert times.perf.five_number_summary(rng=1).perf.plot().get_title(loc="left") == "Five numbers of the score, 500 scores drawn"


def test_every_machine_has_a_density(times):
    """A line for each, as high as each other, and the suite score dotted."""
    scores = times.perf.score_distribution(rng=1)
    ax = scores.perf.plot()
    curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
    assert [line.get_label() for line in curves] == ["x", "y"]
    np.testing.assert_allclose([line.get_ydata().max() for line in curves], 1)
    dotted = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == ":"]
    np.testing.assert_allclose(dotted, scores["suite_score"])


def test_a_crowd_has_a_row_each(times):
    """More machines than colours: a density above the line of its row, with its own suite score, named at the left."""
    many = perfarray.simulate(sizes={"execution": 3}, variances={"execution": 0.01}, dims={"benchmark": 2, "machine": 9}, rng=1)
    scores = many.perf.score_distribution(rng=1)
    ax = scores.perf.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"machine{number}" for number in range(9)]
    curves = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) > 2]
    np.testing.assert_allclose([curve.min() for curve in curves], np.arange(9) + 0.425 - 0.85)
    dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
    np.testing.assert_allclose([line.get_xdata()[0] for line in dotted], scores["suite_score"])
    np.testing.assert_allclose([line.get_ydata()[0] for line in dotted], np.arange(9) + 0.425)


def test_cells_without_data(times):
    """An empty row says so; a distribution without any score is refused; a score that never varies is a line."""
    gone = times.where(times["machine"] == "x").assign_attrs(times.attrs)
    assert "not measured" in [text.get_text() for text in five_numbers(gone.perf.five_number_summary(rng=1)).texts]
    with pytest.raises(ValueError, match="no cell has a score"):
        gone.perf.score_distribution(rng=1).sel(machine=["y"]).perf.plot()
    assert gone.perf.score_distribution(rng=1).perf.plot().get_title(loc="left").endswith("1 of 2 cells not measured")
    still = times.isel(execution=[0, 0]).perf.score_distribution(rng=1)
    assert all(len(line.get_xdata()) == 2 for line in still.perf.plot().lines)


def test_of_too_many_boxes_the_extremes_are_drawn():
    """An archive of hundreds of cells: as many as fit, the lowest on top, and the title says so; the figure is no higher than others."""
    cells = xr.DataArray(np.arange(310.0).reshape(31, 10) + 1, dims=("machine", "compiler"))
    result = xr.Dataset(dict.fromkeys(("minimum", "q1", "median", "q3", "maximum"), cells), attrs={"result": "five_number_summary"})
    ax = result.perf.plot()
    assert ax.get_title(loc="left").replace("\n", " ").endswith("60 of 310: lowest and highest median")
    medians = [segment[0, 0] for segment in ax.collections[3].get_segments()]
    assert medians == [*range(1, 31), *range(281, 311)]
    assert [text.get_text() for text in ax.get_yticklabels()][::59] == ["machine 0, compiler 0", "machine 30, compiler 9"]
    assert ax.figure.get_figheight() < 17
