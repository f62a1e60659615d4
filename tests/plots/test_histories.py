"""A metric over commits: segments, changes by name, and how many series there are."""

import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt

import perfarray  # noqa: F401  (registers .perf)
from picture_parts import rows, texts, title

pytestmark = pytest.mark.filterwarnings("ignore:.*the noise of one commit:UserWarning")

COMMITS = [f"c{place:02}" for place in range(40)]


def history(series):
    """Return histories of which every second is 10 % slower from c20 on."""
    noise = 0.01 * np.random.default_rng(1).normal(size=(series, 40, 2))
    steps = 0.1 * (np.arange(40) >= 20) * (np.arange(series)[:, None] % 2 == 0)
    coords = {"benchmark": [f"b{number}" for number in range(series)], "commit": COMMITS}
    return xr.DataArray(np.exp(steps[..., None] + noise), dims=("benchmark", "commit", "execution"), coords=coords, name="time")


def marks(ax, gid):
    return [line for line in ax.lines if line.get_gid() == gid]


def test_one_series_has_units_and_names_its_changes():
    """Strokes are the means of segments, limits stand around every value, the change lies before the commit it is named after."""
    ax = history(1).assign_attrs(units="s").perf.plot.history()
    assert texts(ax, "change") == ["c20: 1.10x"]
    assert [line.get_xdata()[0] for line in marks(ax, "mark")] == [19.5]
    assert [round(line.get_ydata()[0], 1) for line in marks(ax, "segment")] == [1.0, 1.1]
    (limits,) = [part for part in ax.collections if part.get_gid() == "limits"]
    values = marks(ax, "values")[0].get_ydata()
    assert all(low < value < high for ((_, low), (_, high)), value in zip(limits.get_segments(), values, strict=True))
    plt.close(ax.figure)


@pytest.mark.parametrize(("series", "drawn"), [(9, 9), (100, 30)])
def test_many_series_stand_under_each_other(series, drawn):
    """Those most likely to have changed are drawn; on request only those that did, and the title says so."""
    result = history(series).perf.change_points()
    ax = result.perf.plot()
    assert len(ax.get_yticklabels()) == drawn
    assert ("of 100" in title(ax)) == (series == 100)
    ax = result.isel(benchmark=slice(9)).perf.plot(only_changes=True)
    assert rows(ax) == ["b0", "b2", "b4", "b6", "b8"]
    assert "5 of 9: those that changed" in title(ax)


def test_what_cannot_be_drawn_is_said():
    result = history(2).isel(benchmark=[1]).perf.change_points()
    with pytest.raises(ValueError, match="no series changed; without only_changes all are drawn"):
        result.perf.plot(only_changes=True)


def test_another_host_and_dates():
    """A change with another host is dotted, and days are named as such."""
    days = np.datetime64("2026-01-01") + np.arange(40)
    times = history(1).rename(commit="date").assign_coords(date=days, host=("date", ["old"] * 20 + ["new"] * 20))
    ax = times.perf.plot.history(dim="date")
    assert [(line.get_linestyle(), line.get_label()) for line in marks(ax, "mark")] == [(":", "another host")]
    assert texts(ax, "change") == ["2026-01-21: 1.10x"]
    plt.close(ax.figure)
