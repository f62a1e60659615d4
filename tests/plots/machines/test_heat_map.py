"""Heat map of machines by benchmarks: order, colours, holes, names, what has no room."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgba

import perfarray
from perfarray.plots.machines.heat_map import HOLE
from picture_parts import legend, rows, side_texts, texts, title
from shared_material import ARCHIVES, needs_archives


def ratios(values, better="higher", **coords):
    """Return the ratios of machines, or of their configurations, by benchmarks."""
    return xr.DataArray(
        np.array(values, float), coords, tuple(coords), "ratio", {"better": better}
    ).perf.machine_ratios()


def meshes(ax):
    """Return the blocks of coloured cells."""
    return [block for block in ax.collections if block.get_gid() == "cells"]


SIX = {"machine": ["slow", "fast", "middle"], "benchmark": ["alike", "apart"]}


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_the_best_machine_and_the_widest_benchmark_come_first(better):
    """Rows by mean ratio, columns by spread; numbers in the cells, means beside; blue is better in
    both directions."""
    ax = ratios([[1, 1], [1.2, 4], [1.1, 2]], better, **SIX).perf.plot()
    best_first = ["fast", "middle", "slow"]
    assert rows(ax) == (best_first if better == "higher" else best_first[::-1])
    assert texts(ax, "column") == ["apart", "alike"]
    (mesh,) = meshes(ax)
    top = [2.0, 1.2 / 1.1] if better == "higher" else [0.5, 1 / 1.1]
    np.testing.assert_allclose(mesh.get_array()[0], top)
    assert texts(ax, "ratio")[:2] == [f"{ratio:.2f}" for ratio in top]
    assert side_texts(ax)[1] == "1.00x"
    red, _, blue, _ = mesh.cmap(mesh.norm(top[0]))
    assert blue > red
    assert mesh.norm.vmin * mesh.norm.vmax == pytest.approx(1)
    assert {"0.5x", "1x", "2x"} <= set(legend(ax))


def test_holes_are_grey():
    """And in the legend; a configuration that nobody measured has no row."""
    values = [[[1, 1], [np.nan, np.nan]], [[2, np.nan], [3, 3]], [[1.5, 2], [np.nan, np.nan]]]
    ax = ratios(
        values, machine=list("xyz"), compiler=["gcc", "icc"], benchmark=["a", "b"]
    ).perf.plot()
    assert rows(ax) == ["y, icc", "y, gcc", "z, gcc", "x, gcc"]
    (mesh,) = meshes(ax)
    assert mesh.get_array().mask.sum() == 1
    assert mesh.cmap.get_bad().tolist() == list(to_rgba(HOLE))
    assert legend(ax)[-1] == "not measured"


def test_many_machines_stand_close_and_too_many_show_the_extremes():
    """All rows fit on one sheet; where names would touch, every second one is written; of more than
    `max_rows` both ends are drawn."""
    values = np.random.default_rng(1).lognormal(0, 0.5, (200, 3))
    result = ratios(values, machine=[f"m{number}" for number in range(200)], benchmark=list("abc"))
    ax = result.perf.plot()
    assert (len(rows(ax)), rows(ax).count("")) == (200, 100)
    assert title(ax).endswith("100 of 200: rows with a name")
    assert ax.figure.get_figheight() < 17
    assert len(side_texts(ax)) == 200
    assert not texts(ax, "ratio")
    ax = result.perf.plot(max_rows=10)
    assert [mesh.get_array().shape for mesh in meshes(ax)] == [(5, 3), (5, 3)]
    assert "10 of 200: the 5 best and the 5 worst; max_rows=200 draws the 190 others" in title(ax)


def test_of_several_suites_the_largest_is_drawn():
    """The title names it and counts the others; `row=` draws all."""
    labels = {"machine": list("wxyz"), "benchmark": list("abc")}
    table = xr.DataArray(
        [[1.0, 2, np.nan], [2, 3, 4], [3, 3, 5], [1, 5, np.nan]], labels, ("machine", "benchmark")
    )
    result = table.assign_coords(suite=("benchmark", ["int", "int", "fp"])).perf.machine_ratios(
        by="suite"
    )
    ax = result.perf.plot()
    assert (
        title(ax) == "Machine relative to the median machine, int, one of 2 suites (select another)"
    )
    assert texts(ax, "column") == ["a", "b"]
    panels = result.perf.plot(row="suite").figure.axes
    assert [(title(panel), texts(panel, "column")) for panel in panels] == [
        ("int", ["a", "b"]),
        ("fp, 2 of 4: those measured", ["c"]),
    ]
    plt.close("all")


@needs_archives
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_an_archive_of_163_results_is_one_sheet():
    """Every result has a named row in letters of six points and more, and no name covers
    another."""
    ax = perfarray.read(ARCHIVES / "spec_txt").perf.plot.heat_map(by="suite")
    assert (len(rows(ax)), "" in rows(ax)) == (163, False)
    ax.figure.draw_without_rendering()
    labels = ax.get_yticklabels()
    assert min(label.get_fontsize() for label in labels) >= 6
    boxes = [label.get_window_extent() for label in labels]
    assert all(
        abs(above.y0 - below.y0) >= 6 / 72 * ax.figure.dpi for above, below in pairwise(boxes)
    )
