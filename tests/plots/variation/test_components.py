"""Stacked bars: shares, absent and negative components, notes."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.plots import variance_components
from perfarray.plots.figure import level_colours

LEVELS = ["binary", "execution", "iteration"]


def result(variance, mean=10.0, **coords):
    """Return a result with these components, outermost last dim."""
    variance = np.asarray(variance, float)
    dims = (*coords, "level")
    positive = np.maximum(variance, 0)
    total = np.where(np.isnan(variance).all(axis=-1), np.nan, np.nansum(positive, axis=-1))
    share = positive / np.where(total > 0, total, np.nan)[..., None]
    return xr.Dataset(
        {"variance": (dims, variance), "share": (dims, share), "total_coefficient_of_variation": (dims[:-1], np.sqrt(total) / mean)},
        coords={**coords, "level": LEVELS},
        attrs={"result": "variance_components", "metric": "time"},
    )


def bars(ax):
    """Return (left, width, y) of every bar, by level."""
    return {
        container.get_label(): [(bar.get_x(), bar.get_width(), bar.get_y() + bar.get_height() / 2) for bar in container]
        for container in ax.containers
    }


def beside(ax):
    """Return the texts right of the rows."""
    return [text.get_text() for text in ax.texts if text.get_gid() == "beside"]


def test_bars_are_the_shares():
    """Components 1, 3, 4: 12.5, 37.5 and 50 percent, each beginning where the one before ends."""
    ax = variance_components(result([1.0, 3.0, 4.0]))
    assert bars(ax) == {"binary": [(0, 12.5, 0)], "execution": [(12.5, 37.5, 0)], "iteration": [(50, 50, 0)]}
    assert ax.get_xlim() == (0, 100)


def test_each_cell_has_a_bar():
    """Two benchmarks by two versions: four rows in two groups, first on top."""
    found = result(np.arange(12).reshape(2, 2, 3) + 1, benchmark=["fft", "sort"], version=["a", "b"])
    ax = variance_components(found)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b", "a", "b"]
    assert [text.get_text() for text in ax.texts if text.get_gid() == "group"] == ["fft", "sort"]
    assert [y for _, _, y in bars(ax)["binary"]] == pytest.approx(list(ax.get_yticks()))
    assert ax.yaxis_inverted()
    widths = [width for _, width, _ in bars(ax)["binary"]]
    assert widths == pytest.approx([100 * 1 / 6, 100 * 4 / 15, 100 * 7 / 24, 100 * 10 / 33])


def test_total_coefficient_of_variation_stands_beside():
    """Components 9 and 16 around a mean of 100: the standard deviation 5 is 5.0 percent."""
    assert beside(variance_components(result([0.0, 9.0, 16.0], mean=100.0))) == ["5.0 %"]


@pytest.mark.parametrize(("deviation", "text"), [(0.123, "0.12 %"), (12.3, "12 %"), (1.0, "1.0 %"), (123.0, "123 %"), (99.6, "100 %")])
def test_coefficients_have_two_digits(deviation, text):
    """Two significant digits, whole percents where there are more."""
    assert beside(variance_components(result([0.0, 0.0, deviation**2], mean=100.0))) == [text]


def test_negative_component_is_drawn_as_zero_and_said():
    """The others share the whole; a star and a footnote say it."""
    found = result([[2.0, -1.0, 6.0], [1.0, 1.0, 2.0]], benchmark=["fft", "sort"])
    ax = variance_components(found)
    assert [width for _, width, _ in bars(ax)["execution"]] == [0, 25]
    assert [width for _, width, _ in bars(ax)["binary"]] == [25, 25]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["fft *", "sort"]
    note = ax.get_xlabel().splitlines()[1]
    assert note.startswith("*")
    assert note.endswith(": execution")


def test_without_negative_components_no_footnote():
    """Nothing is said of what is not there."""
    assert "negative" not in variance_components(result([1.0, 3.0, 4.0])).get_xlabel()


def test_merged_level_is_absent():
    """A NaN component has no bar and no legend entry."""
    ax = variance_components(result([1.0, np.nan, 3.0]))
    assert bars(ax) == {"binary": [(0, 25, 0)], "iteration": [(25, 75, 0)]}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["binary", "iteration"]


def test_cells_without_variation_say_so():
    """All zero, or all NaN: a note instead of a bar, and a dash where nothing was measured."""
    ax = variance_components(result([[0.0, 0.0, 0.0], [np.nan] * 3, [1.0, 1.0, 2.0]], benchmark=["still", "absent", "fft"]))
    assert [text.get_text() for text in ax.texts].count("no variation estimated") == 2
    assert beside(ax) == ["0.0 %", "–", "20 %"]


def test_nothing_measured_anywhere_still_draws():
    """A picture of nothing has rows, no bars, no legend."""
    ax = variance_components(result([[np.nan] * 3], benchmark=["fft"]))
    assert not ax.containers
    assert ax.get_legend() is None


def test_large_shares_are_written_into_the_bars():
    """Shares of nine percent and more have their number."""
    texts = [text.get_text() for text in variance_components(result([8.0, 32.0, 60.0])).texts]
    assert "32 %" in texts
    assert "60 %" in texts
    assert "8 %" not in texts


def test_levels_have_their_colours():
    """The legend's colours are those of the levels."""
    ax = variance_components(result([1.0, 3.0, 4.0]))
    from matplotlib.colors import to_rgba

    colours = level_colours(LEVELS)
    assert {c.get_label(): c[0].get_facecolor() for c in ax.containers} == {name: to_rgba(colours[name]) for name in LEVELS}


def test_shares_of_real_components():
    """Table III of Kalibera and Jones, merged: binary 0.43 and iteration 12.7."""
    table = [[[9, 5], [8, 3]], [[10, 6], [7, 11]], [[1, 12], [2, 4]]]
    times = xr.DataArray(table, dims=("binary", "execution", "iteration"), name="time")
    found = perfarray.variance_components(times, negative="merge")
    outer, inner = (found["variance"].sel(level=level).item() for level in ("binary", "iteration"))
    drawn = bars(found.perf.plot())
    assert drawn["binary"][0][1] == pytest.approx(100 * outer / (outer + inner))
    assert "execution" not in drawn
