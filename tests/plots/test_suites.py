"""Scores of suites: densities, box plots and points."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.plots import five_numbers
from picture_parts import points, rows, segments, side_texts, simulated, texts, title
from shared_material import ARCHIVES, needs_archives


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
    assert (
        title(times.perf.five_number_summary(rng=1).perf.plot())
        == "Five numbers of the score, 500 scores drawn"
    )


@pytest.mark.parametrize("number", [2, 9])
def test_every_machine_has_a_density(number):
    """All as high, with the suite score dotted; more machines than colours have a row each, and
    their densities stand on its line."""
    scores = simulated(3, benchmark=2, machine=number).perf.score_distribution(rng=1)
    ax = scores.perf.plot()
    curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
    dotted = [line for line in ax.lines if line.get_linestyle() == ":"]
    np.testing.assert_allclose([line.get_xdata()[0] for line in dotted], scores["suite_score"])
    names = [f"machine{position}" for position in range(number)]
    if number == 2:
        assert [line.get_label() for line in curves] == names
        np.testing.assert_allclose([line.get_ydata().max() for line in curves], 1)
    else:
        assert (rows(ax), ax.figure.get_figheight()) == (names, 1.5 + 0.4 * number)
        assert title(scores.isel(machine=[0] * 40).perf.plot()).endswith(
            "36 of 40: lowest and highest score"
        )
        np.testing.assert_allclose(
            [line.get_ydata().min() for line in curves], np.arange(9) + 0.425 - 0.85
        )
        np.testing.assert_allclose([line.get_ydata()[0] for line in dotted], np.arange(9) + 0.425)


def test_cells_without_data(times):
    """They have no row; a distribution without any score is refused; a score that never varies is a
    line."""
    half = times.where(times["machine"] == "x").assign_attrs(times.attrs)
    summary, scores = half.perf.five_number_summary(rng=1), half.perf.score_distribution(rng=1)
    ax = five_numbers(summary)
    assert (rows(ax), title(ax)) == (
        [""],
        "Five numbers of the score, x, 500 scores drawn, 1 of 2: those measured",
    )
    with pytest.raises(ValueError, match="no cell has a score"):
        scores.sel(machine=["y"]).perf.plot()
    ax = scores.perf.plot()
    assert (title(ax), len(ax.lines)) == ("Scores of single runs of the suite", 2)
    constant = times.isel(execution=[0, 0]).perf.score_distribution(rng=1)
    assert all(len(line.get_xdata()) == 2 for line in constant.perf.plot().lines)


def five_numbers_of(cells, **attrs):
    """Return a summary whose five numbers are all the same."""
    names = ("minimum", "q1", "median", "q3", "maximum")
    return xr.Dataset(dict.fromkeys(names, cells), attrs={"result": "five_number_summary"} | attrs)


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_of_too_many_boxes_the_extremes_are_drawn(better):
    """Of 310 cells the 20 best on top and the 20 worst; the title says how many others there are,
    and how to draw them."""
    cells = xr.DataArray(np.arange(310.0).reshape(31, 10) + 1, dims=("machine", "compiler"))
    result = five_numbers_of(cells, better=better)
    ax = result.perf.plot()
    assert title(ax).endswith(
        "40 of 310: the 20 best and the 20 worst; max_rows=310 draws the 270 others"
    )
    expected = [*range(1, 21), *range(291, 311)]
    assert [ends[0] for ends in segments(ax, "minimum to maximum")] == (
        expected if better == "lower" else expected[::-1]
    )
    first_and_last = ["machine 0, compiler 0", "machine 30, compiler 9"]
    assert rows(ax)[::39] == (first_and_last if better == "lower" else first_and_last[::-1])
    assert ax.figure.get_figheight() < 12
    assert len(rows(result.perf.plot(max_rows=310))) == 310


def test_every_suite_has_a_sheet():
    """Each with its own rows and scale; on given Axes there is room for the suite with most scores,
    and the title says so."""
    cells = xr.DataArray([[3.0, 1.0], [np.nan, 200.0], [np.nan] * 2], dims=("suite", "machine"))
    cells = cells.assign_coords(suite=["int", "fp", "none"], machine=["x", "y"])
    result = five_numbers_of(cells, better="higher")
    first, second, third = result.perf.plot().figure.axes
    assert [(title(ax), rows(ax)) for ax in (first, second)] == [
        ("int", ["x", "y"]),
        ("fp, y, 1 of 2: those measured", [""]),
    ]
    assert (texts(third), second.get_xlim()[0] > first.get_xlim()[1]) == (["nothing to draw"], True)
    ax = result.perf.plot(ax=plt.subplots()[1])
    assert (title(ax), rows(ax)) == (
        "Five numbers of the score, int, one of 2 suites (select another),  scores drawn",
        ["x", "y"],
    )
    assert len(result.perf.plot(col="machine").figure.axes) == 2
    suites = xr.DataArray(
        np.arange(400.0).reshape(8, 50) + 1,
        {"suite": [f"suite{number}" for number in range(8)]},
        ("suite", "machine"),
    )
    ax = five_numbers_of(suites).perf.plot()
    assert (len(ax.figure.axes), "suite0, one of 8 suites (select another)" in title(ax)) == (
        1,
        True,
    )


@needs_archives
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
@pytest.mark.parametrize(
    ("archive", "n_rows"), [("spec_csv", [3, 2, 2, 2, 1, 1, 1]), ("spec_txt", [40, 40, 40, 28])]
)
@pytest.mark.parametrize("picture", ["five_numbers", "relative_variation"])
def test_archives_have_a_sheet_for_each_suite(archive, n_rows, picture):
    """Up to 40 rows on each, with names that are whole: machine, compiler and flags where these
    vary, without the processor."""
    ax = getattr(perfarray.read(ARCHIVES / archive).perf.plot, picture)()
    names = [rows(panel) for panel in ax.figure.axes]
    assert sorted(map(len, names), reverse=True) == n_rows
    assert not any("…" in name or "(" in name for labels in names for name in labels)


def test_variations_are_ordered_by_score_or_by_variation():
    """The best score first, or the largest variation; a cell with a score and a single run keeps a
    row that says so."""
    variables = {
        "performance": [5.0, 7.0, 6.0, np.nan],
        "relative_variation": [0.03, 0.01, np.nan, np.nan],
    }
    data = {name: ("machine", values) for name, values in variables.items()}
    result = xr.Dataset(
        data, {"machine": list("abcd")}, {"result": "relative_variation", "better": "higher"}
    )
    ax = result.perf.plot()
    assert (rows(ax), side_texts(ax)) == (["b", "c", "a"], ["7.00", "6.00", "5.00"])
    assert "one run shows no variation" in texts(ax)
    np.testing.assert_array_equal(points(ax), [1, np.nan, 3])
    assert rows(result.perf.plot(order="variation")) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="order='size' is not known"):
        result.perf.plot(order="size")


@pytest.mark.parametrize(
    ("scores", "scale", "written"),
    [
        ([2.0, 3.0], "linear", ["2.00 ms", "3.00 ms"]),
        ([2.0, 30.0], "log", ["2.00 ms", "30.0 ms"]),
        ([968.2, 1006.4], "linear", ["0.968 s", "1.006 s"]),
        ([0.1, 0.25], "linear", ["100 µs", "250 µs"]),
    ],
)
def test_scores_have_units_and_the_axis_they_need(scores, scale, written):
    """In seconds with one prefix for the column; logarithmic where they are far apart."""
    result = xr.Dataset(
        {"estimate": ("machine", np.array(scores) * 1e-3, {"units": "s"})}, {"machine": ["x", "y"]}
    )
    ax = result.assign_attrs(result="suite_score", mean="geometric").perf.plot()
    assert (side_texts(ax), ax.get_xscale()) == (written, scale)
