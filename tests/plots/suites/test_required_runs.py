"""Intervals against the number of runs: what is drawn, what is refused."""

import numpy as np
import pytest
import xarray as xr

from perfarray.plots import required_runs


def result(**dims):
    """Return the numbers of table 13 of Irving et al. (2018), for every label of some dims."""
    runs = [3, 5, 7, 10, 13, 15, 16]
    lower, upper = [1.203, 1.204, 1.207, 1.212, 1.216, 1.216, 1.217], [1.228, 1.223, 1.227, 1.228, 1.231, 1.232, 1.232]
    found = xr.Dataset({"lower": ("runs", lower), "upper": ("runs", upper), "required": 16.0}, {"runs": runs})
    return found.expand_dims(dims).assign_attrs(result="required_runs", confidence_level=0.95, baseline="C")


def test_intervals_stand_at_their_number_of_runs():
    """A line from limit to limit, and where the width is reached."""
    ax = required_runs(result())
    segments = np.array(ax.collections[0].get_segments())
    np.testing.assert_allclose(segments[0], [[3, 1.203], [3, 1.228]])
    assert len(segments) == 7
    assert [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == ":"] == [16.0]
    assert ax.get_ylabel() == "ratio of scores (95 % interval)"
    assert ax.get_title(loc="left") == "Interval by runs, compared with C"


def test_estimates_stand_on_their_intervals():
    """A point at each number of runs, beside its neighbours' as the intervals are."""
    found = result(machine=["A", "B"])
    ax = found.assign(estimate=(found["lower"] + found["upper"]) / 2).perf.plot()
    points = [line for line in ax.lines if line.get_gid() == "estimates"]
    for line, intervals in zip(points, ax.collections, strict=True):
        segments = np.array(intervals.get_segments())
        np.testing.assert_allclose(line.get_xdata(), segments[:, 0, 0])
        np.testing.assert_allclose(line.get_ydata(), segments[..., 1].mean(axis=1))


def test_cells_stand_beside_each_other():
    """Two machines: two colours, two names, no two lines in one place."""
    ax = result(machine=["A", "B"]).perf.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["A", "B"]
    first, second = (collection.get_segments()[0][0, 0] for collection in ax.collections)
    assert first < 3 < second


def test_a_crowd_has_a_row_each():
    """More cells than colours: what is required, hollow what would do, and what nobody knows; without a cell it is refused."""
    found = result(machine=list("ABCDEFGHI"))
    runs = xr.DataArray([16.0, 5, 7, 10, 13, 15, 16, 16, 16], dims="machine")
    required = runs.where(found["machine"].isin(list("ABCDEFG")))
    ax = found.assign(required=required, extrapolated=runs.where(found["machine"] != "I")).perf.plot()
    drawn = {line.get_label(): line.get_xdata() for line in ax.lines}
    np.testing.assert_array_equal(drawn["required"], required)
    assert drawn["would do"].tolist() == [16.0]
    assert [text.get_text() for text in ax.texts if text.get_gid() == "beside"] == ["16", "5", "7", "10", "13", "15", "16", "16", "–"]
    assert "not known" in [text.get_text() for text in ax.texts]
    with pytest.raises(ValueError, match=r"no cell to draw: its dims are \{'machine': 0\}"):
        required_runs(found.isel(machine=[]))


def test_a_far_line_of_no_change_does_not_flatten_intervals():
    """Around 1.22 the line at 1 would take most of the height, and is left out; around 1.01 it is drawn."""
    found = result()
    far = required_runs(found)
    assert far.get_ylim()[0] > 1.19
    assert not [line for line in far.lines if line.get_ydata()[0] == 1.0]
    near = required_runs(found.assign(lower=found["lower"] - 0.21, upper=found["upper"] - 0.21))
    assert len([line for line in near.lines if line.get_ydata()[0] == 1.0]) == 1


def test_the_axis_ends_with_the_runs():
    """Where a selection has fewer runs than the whole result, the picture has no empty end."""
    found = result()
    ax = required_runs(found.assign({name: found[name].where(found["runs"] <= 7) for name in ("lower", "upper")}))
    assert ax.get_xlim() == (2.5, 7.5)
