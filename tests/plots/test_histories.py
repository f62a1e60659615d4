"""A metric over commits: segments, changes by name, and how many series there are."""

import re
from itertools import pairwise

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot

import perfarray  # noqa: F401  (registers .perf)
from picture_parts import lines, rows, texts, title

pytestmark = pytest.mark.filterwarnings("ignore:.*the noise of one commit:UserWarning")


def history(series, change=0.1):
    """Return histories of which every second changes by 10 % from c20 on."""
    noise = 0.01 * np.random.default_rng(1).normal(size=(series, 40, 2))
    steps = change * (np.arange(40) >= 20) * (np.arange(series)[:, None] % 2 == 0)
    labels = {
        "benchmark": [f"b{number}" for number in range(series)],
        "commit": [f"c{number:02}" for number in range(40)],
    }
    return xr.DataArray(
        np.exp(steps[..., None] + noise),
        dims=("benchmark", "commit", "execution"),
        coords=labels,
        name="time",
    )


@pytest.mark.parametrize(("change", "side"), [(0.1, "bottom"), (-0.1, "top")])
def test_one_series_has_units_and_names_its_changes(change, side):
    """Strokes are the means of segments, limits stand around every value, the change before its
    commit, in the words of the table."""
    times = history(1, change).assign_attrs(units="s")
    ax, table = times.perf.plot.history(), times.perf.change_points().perf.table()
    text = f"c20: {table['change'].item().partition(' (')[0]}"
    assert [
        (note.get_text(), note.get_va()) for note in ax.texts if note.get_gid() == "change"
    ] == [(text, side)]
    assert text.endswith("slower" if change > 0 else "faster")
    assert [line.get_xdata()[0] for line in lines(ax, "mark")] == [19.5]
    assert [round(line.get_ydata()[0], 1) for line in lines(ax, "segment")] == [
        1.0,
        round(1 + change, 1),
    ]
    (limits,) = [strokes for strokes in ax.collections if strokes.get_gid() == "limits"]
    (values,) = lines(ax, "values")
    assert all(
        low < value < high
        for ((_, low), (_, high)), value in zip(
            limits.get_segments(), values.get_ydata(), strict=True
        )
    )


@pytest.mark.parametrize(("series", "n_rows"), [(9, 9), (100, 30)])
def test_many_series_stand_under_each_other(series, n_rows):
    """Those most likely to have changed are drawn; on request only those that did, and the title
    says so."""
    result = history(series).perf.change_points()
    ax = result.perf.plot()
    assert len(rows(ax)) == n_rows
    assert ("of 100: the most likely to have changed" in title(ax)) == (series == 100)
    ax = result.isel(benchmark=slice(9)).perf.plot(only_changes=True)
    assert rows(ax) == ["b0", "b2", "b4", "b6", "b8"]
    assert "5 of 9: those that changed" in title(ax)
    with pytest.raises(ValueError, match="no series changed; without only_changes all are drawn"):
        result.isel(benchmark=[1]).perf.plot(only_changes=True)


def heights(ax):
    """Return how far the values of each row reach, from the top row down."""
    return [float(np.ptp(line.get_ydata())) for line in lines(ax, "values")]


def test_rows_share_a_scale():
    """Noise of 1 % beside a step of 10 % looks like noise, a quiet series like a line; a far step
    has its own scale, written beside it."""
    times = history(9)
    quiet = times[1] * 0 + 2e-3 * (1 + 1e-5 * np.arange(2))
    ax = (
        xr.concat([times, quiet.expand_dims(benchmark=["quiet"])], "benchmark")
        .assign_attrs(units="s")
        .perf.plot.history()
    )
    assert max(heights(ax)[1::2][:4]) < heights(ax)[0] / 3
    assert heights(ax)[-1] < 0.001
    assert [text for text in texts(ax, "beside") if "band" in text] == []
    assert [texts(ax, "beside")[0], texts(ax, "beside")[-1]] == ["1.104 s", "2 ms"]
    assert re.fullmatch(r"commit\ngrey bands: ±6\.\d % around the middle of a row", ax.get_xlabel())
    times = xr.concat([times, (times[0] ** 9).assign_coords(benchmark="far")], "benchmark")
    wide = times.assign_attrs(units="s").perf.plot.history()
    np.testing.assert_allclose(heights(wide)[:9], heights(ax)[:9])
    assert re.fullmatch(r"2\.\d+ s, band ±53 %", texts(wide, "beside")[-1])


def test_labels_of_commits_do_not_touch():
    """In narrow Axes fewer commits are labelled."""
    times = history(1).assign_coords(commit=[f"v{number}.0.0-rc1" for number in range(40)])
    figure, axes = pyplot.subplots(1, 3, figsize=(9, 3))
    ax = times.perf.plot.history(ax=axes[0])
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(boxes) >= 2
    assert all(earlier.x1 < later.x0 for earlier, later in pairwise(boxes))
    pyplot.close(figure)


def test_another_host_and_dates():
    """A change with another host is dotted, one without is dashed, and days are named as such."""
    times = (
        history(1)
        .rename(commit="date")
        .assign_coords(date=np.datetime64("2026-01-01") + np.arange(40))
    )
    moved = times.assign_coords(host=("date", ["old"] * 20 + ["new"] * 20))
    for timings, mark in ((moved, (":", "another host")), (times, ("--", "slower"))):
        ax = timings.perf.plot.history(dim="date")
        assert [(line.get_linestyle(), line.get_label()) for line in lines(ax, "mark")] == [mark]
        assert texts(ax, "change") == ["2026-01-21: 1.103x slower"]
