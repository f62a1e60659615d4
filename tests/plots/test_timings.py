"""How much was measured, and scores of suites: points in rows."""

import numpy as np
import pytest
import xarray as xr

import perfarray


def test_points_are_the_most_and_lines_reach_from_the_fewest():
    """Ragged executions: a line from the fewest iterations to the most; the values beside; a cell without any says so."""
    times = perfarray.from_samples(
        {"fft": [[1.0, 2.0, 3.0], [4.0]], "sort": [[5.0, 6.0]]}, dim="benchmark", level=("execution", "iteration")
    )
    found = times.perf.counts()
    ax = found.perf.plot()
    ends = {gid: np.transpose([line.get_xdata() for line in ax.lines if line.get_gid() == gid]) for gid in ("fewest", "most")}
    np.testing.assert_array_equal(ends["fewest"], found["minimum"])
    np.testing.assert_array_equal(ends["most"], found["maximum"])
    assert [text.get_text() for text in ax.texts if text.get_gid() == "beside"] == ["4", "2"]
    empty = times.where(times["benchmark"] == "fft").perf.counts().perf.plot()
    assert "not measured" in [text.get_text() for text in empty.texts]


@pytest.mark.parametrize(("scores", "scale"), [([2.0, 3.0], "linear"), ([2.0, 30.0], "log")])
def test_scores_stand_at_their_rows(scores, scale):
    """In seconds with a prefix at the right; logarithmic where they are far apart."""
    result = xr.Dataset({"estimate": ("machine", np.array(scores) * 1e-3, {"units": "s"})}, {"machine": ["x", "y"]})
    ax = result.assign_attrs(result="suite_score", mean="geometric").perf.plot()
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), result["estimate"])
    assert [text.get_text() for text in ax.texts if text.get_gid() == "beside"] == [f"{score:g} ms" for score in scores]
    assert ax.get_xscale() == scale


def test_timings_draw_what_was_counted():
    """Computed and drawn in one call: what there is to look at where nothing can be compared."""
    times = perfarray.from_samples({"fft": [[9, 8], [10, 7], [1, 2]]}, dim="benchmark", level=("execution", "iteration"))
    drawn = [line.get_xdata().tolist() for line in times.perf.plot.counts().lines if line.get_gid() == "most"]
    assert drawn == [[3.0], [2.0]]
