"""How many repetitions are enough: curves and points are the numbers of the result; many cells have
a row each."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.plots import required_runs
from picture_parts import heights, legend, lines, segments, side_texts, texts, title

pytestmark = pytest.mark.filterwarnings("ignore:.*executions suffice:perfarray.PerfarrayWarning")


def simulated(executions, **dims):
    """Return two versions with these executions."""
    dims |= {"version": ["old", "new"]}
    return perfarray.simulate(
        sizes={"execution": executions}, variances={"execution": 4e-4}, dims=dims, rng=2
    )


def marks(ax):
    """Return the points by their entry of the legend."""
    return {line.get_label(): line.get_xydata() for line in ax.lines if line.get_marker() == "o"}


def test_units_for_a_decision():
    """Of one cell a curve, the required units on the line of the change, the pilot on the curve, which
    reaches the required units; of several both points in rows."""
    result = simulated(10).perf.required_units("old", dim="version").squeeze("version")
    ax = result.perf.plot()
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 100 * result["smallest_change"])
    assert marks(ax)["to see 2 %, with a chance of 80 %"].tolist() == [
        [result["required"].item(), 2.0]
    ]
    assert marks(ax)["pilot"][0].tolist() == pytest.approx(
        [10, 100 * result["smallest_change"].sel(units=10).item()]
    )
    few = result.sel(units=slice(10)).perf.plot()
    assert result["required"] > 10
    np.testing.assert_array_equal(few.lines[1].get_xydata()[0], few.lines[0].get_xydata()[-1])
    assert few.lines[1].get_xydata()[-1].tolist() == [result["required"].item(), 2.0]
    result = simulated(10, benchmark=9).perf.required_units("old", dim="version")
    points = marks(result.perf.plot())
    assert (
        points["to see 2 %, with a chance of 80 %"][:, 0].tolist()
        == result["required"].values.ravel().tolist()
    )
    assert points["pilot"][:, 0].tolist() == [10.0] * 9


def test_stopping_of_few_cells_has_curves():
    """A point where the rule stops; where it does not, the legend says how many would do; without
    cells there is no picture."""
    result = simulated(30, benchmark=7).perf.stopping("old", half_width=0.011)
    ax = result.perf.plot()
    percent = 100 * result["half_width"].values.reshape(7, -1)
    np.testing.assert_allclose(
        [line.get_ydata() for line in ax.lines[:-2] if line.get_marker() != "o"], percent
    )
    required = result["required"].values.ravel()
    stopped_cells = np.flatnonzero(~np.isnan(required))
    stops = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(
        stops, [(required[cell], percent[cell, int(required[cell]) - 1]) for cell in stopped_cells]
    )
    assert sum("would do" in text for text in legend(ax)) == 7 - len(stopped_cells) > 0
    assert heights(ax, "±1.1 %") == pytest.approx([1.1, 1.1])
    assert f"no stop before {result.attrs['start']}" in legend(ax)
    with pytest.raises(ValueError, match="has no cell to draw"):
        result.isel(benchmark=[]).perf.plot()
    ax = simulated(20).perf.stopping("old", half_width=0.011).perf.plot()
    low, high = ax.get_ylim()  # a narrow axis has several ticks, not the one power of ten in it
    assert high < 5 * low
    assert sum(low <= tick <= high for tick in ax.get_yticks()) >= 4


def test_stopping_of_many_cells_has_rows():
    """The required units, and hollow those that would do."""
    result = simulated(30, benchmark=9).perf.stopping("old", half_width=0.011)
    points = {label: xy[:, 0] for label, xy in marks(result.perf.plot()).items()}
    numbers = np.concatenate(
        [points["required"][~np.isnan(points["required"])], points["would do"]]
    )
    assert sorted(numbers) == sorted(result["extrapolated"].values.ravel())


def table(shift=0.0, **dims):
    """Return the numbers of table 13 of Irving et al. (2018), for every label of some dims."""
    runs = [3, 5, 7, 10, 13, 15, 16]
    limits = {
        "lower": [1.203, 1.204, 1.207, 1.212, 1.216, 1.216, 1.217],
        "upper": [1.228, 1.223, 1.227, 1.228, 1.231, 1.232, 1.232],
    }
    result = xr.Dataset(
        {name: ("runs", np.array(values) + shift) for name, values in limits.items()}
        | {"required": 16.0},
        {"runs": runs},
    )
    return result.expand_dims(dims).assign_attrs(
        result="required_runs", confidence_level=0.95, baseline="C"
    )


def test_intervals_stand_at_their_number_of_runs():
    """A line from limit to limit, a dotted one at the required runs; the axis ends with the
    measured runs."""
    result = table()
    ax = required_runs(result)
    assert segments(ax, axis=1) == np.stack([result["lower"], result["upper"]], axis=1).tolist()
    assert [ends[0] for ends in segments(ax)] == result["runs"].values.tolist()
    assert [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == ":"] == [16.0]
    assert (ax.get_ylabel(), title(ax)) == (
        "ratio of scores (95 % interval)",
        "Interval by runs, compared with C",
    )
    ax = required_runs(
        result.assign(
            {name: result[name].where(result["runs"] <= 7) for name in ("lower", "upper")}
        )
    )
    assert ax.get_xlim() == (2.5, 7.5)


def test_cells_stand_beside_each_other():
    """Two machines have two colours and names, no two lines in one place, and the estimates on
    their intervals."""
    result = table(machine=["A", "B"])
    ax = result.assign(estimate=(result["lower"] + result["upper"]) / 2).perf.plot()
    assert legend(ax) == ["A", "B"]
    first, second = (strokes.get_segments()[0][0, 0] for strokes in ax.collections)
    assert first < 3 < second
    for line, strokes in zip(lines(ax), ax.collections, strict=True):
        ends = np.array(strokes.get_segments())
        np.testing.assert_allclose(
            line.get_xydata(), np.stack([ends[:, 0, 0], ends[..., 1].mean(axis=1)], axis=1)
        )


def test_more_cells_than_colours_have_rows():
    """What is required, hollow what would do, and what is not known; without a cell there is no
    picture."""
    result = table(machine=list("ABCDEFGHI"))
    runs = xr.DataArray([16.0, 5, 7, 10, 13, 15, 16, 16, 16], dims="machine")
    required = runs.where(result["machine"].isin(list("ABCDEFG")))
    ax = result.assign(
        required=required, extrapolated=runs.where(result["machine"] != "I")
    ).perf.plot()
    np.testing.assert_array_equal(marks(ax)["required"][:, 0], required)
    assert marks(ax)["would do"][:, 0].tolist() == [16.0]
    assert side_texts(ax) == ["16", "5", "7", "10", "13", "15", "16", "16", "–"]
    assert "not known" in texts(ax)
    with pytest.raises(ValueError, match=r"no cell to draw: its dims are \{'machine': 0\}"):
        required_runs(result.isel(machine=[]))


@pytest.mark.parametrize(("shift", "has_line"), [(0.0, False), (-0.21, True)])
def test_a_far_line_of_no_change_does_not_flatten_intervals(shift, has_line):
    """Around 1.22 the line at 1 would take most of the height, and is left out; around 1.01 it is
    drawn."""
    ax = required_runs(table(shift))
    assert (ax.get_ylim()[0] > 1.19) is not has_line
    assert any(line.get_ydata()[0] == 1.0 for line in ax.lines) is has_line
