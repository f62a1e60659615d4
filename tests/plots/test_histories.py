"""A metric over commits: segments, changes by name, and how many series there are."""

import numpy as np
import pytest
import xarray as xr

import perfarray  # noqa: F401  (registers .perf)
from picture_parts import lines, rows, texts, title

pytestmark = pytest.mark.filterwarnings("ignore:.*the noise of one commit:UserWarning")


def history(series, change=0.1):
    """Return histories of which every second changes by 10 % from c20 on."""
    noise = 0.01 * np.random.default_rng(1).normal(size=(series, 40, 2))
    steps = change * (np.arange(40) >= 20) * (np.arange(series)[:, None] % 2 == 0)
    labels = {"benchmark": [f"b{number}" for number in range(series)], "commit": [f"c{number:02}" for number in range(40)]}
    return xr.DataArray(np.exp(steps[..., None] + noise), dims=("benchmark", "commit", "execution"), coords=labels, name="time")


@pytest.mark.parametrize(("change", "text", "side"), [(0.1, "c20: 1.10x", "bottom"), (-0.1, "c20: 0.90x", "top")])
def test_one_series_has_units_and_names_its_changes(change, text, side):
    """Strokes are the means of segments, limits stand around every value, the change before its commit, named where there is room."""
    ax = history(1, change).assign_attrs(units="s").perf.plot.history()
    assert [(note.get_text(), note.get_va()) for note in ax.texts if note.get_gid() == "change"] == [(text, side)]
    assert [line.get_xdata()[0] for line in lines(ax, "mark")] == [19.5]
    assert [round(line.get_ydata()[0], 1) for line in lines(ax, "segment")] == [1.0, round(1 + change, 1)]
    (limits,) = [strokes for strokes in ax.collections if strokes.get_gid() == "limits"]
    (values,) = lines(ax, "values")
    assert all(low < value < high for ((_, low), (_, high)), value in zip(limits.get_segments(), values.get_ydata(), strict=True))


@pytest.mark.parametrize(("series", "drawn"), [(9, 9), (100, 30)])
def test_many_series_stand_under_each_other(series, drawn):
    """Those most likely to have changed are drawn; on request only those that did, and the title says so."""
    result = history(series).perf.change_points()
    ax = result.perf.plot()
    assert len(rows(ax)) == drawn
    assert ("of 100: the most likely to have changed" in title(ax)) == (series == 100)
    ax = result.isel(benchmark=slice(9)).perf.plot(only_changes=True)
    assert rows(ax) == ["b0", "b2", "b4", "b6", "b8"]
    assert "5 of 9: those that changed" in title(ax)
    with pytest.raises(ValueError, match="no series changed; without only_changes all are drawn"):
        result.isel(benchmark=[1]).perf.plot(only_changes=True)


def test_another_host_and_dates():
    """A change with another host is dotted, one without is dashed, and days are named as such."""
    times = history(1).rename(commit="date").assign_coords(date=np.datetime64("2026-01-01") + np.arange(40))
    moved = times.assign_coords(host=("date", ["old"] * 20 + ["new"] * 20))
    for timings, mark in ((moved, (":", "another host")), (times, ("--", "slower"))):
        ax = timings.perf.plot.history(dim="date")
        assert [(line.get_linestyle(), line.get_label()) for line in lines(ax, "mark")] == [mark]
        assert texts(ax, "change") == ["2026-01-21: 1.10x"]
