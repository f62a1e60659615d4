"""Dendrogram: brackets, colours of clusters, the cut, the analysis that is drawn."""

import numpy as np
import pytest
import xarray as xr
from scipy.cluster.hierarchy import dendrogram as scipy_dendrogram
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

import perfarray
from perfarray.plots.figure import COLOURS, DARK
from picture_parts import lines, rows, title
from shared_material import ARCHIVES, needs_archives


def machines(number=8, seed=1):
    """Return machines of two groups by three benchmarks."""
    values = np.random.default_rng(seed).normal(0, 0.3, (number, 3)) + 5 * (
        np.arange(number)[:, None] % 2
    )
    labels = {"machine": [f"m{position}" for position in range(number)], "benchmark": list("abc")}
    return xr.DataArray(values, labels, ("machine", "benchmark"), "score")


@pytest.mark.parametrize("method", ["ward", "average", "centroid"])
def test_the_tree_is_that_of_scipy(method):
    """The brackets of SciPy's dendrogram, leaf by leaf, also where distances fall."""
    table = machines(12, seed=4)
    ax = table.perf.plot.dendrogram(n_clusters=2, method=method)
    tree = scipy_dendrogram(linkage(pdist(table.values), method), no_plot=True)
    assert rows(ax) == [f"m{leaf}" for leaf in tree["leaves"]]
    expected = sorted(
        zip(tree["dcoord"], (np.array(tree["icoord"]) - 5) / 10, strict=True),
        key=lambda bracket: bracket[0][1],
    )
    brackets = sorted(lines(ax, "join"), key=lambda line: line.get_xdata()[1])
    for line, (distances, positions) in zip(brackets, expected, strict=True):
        np.testing.assert_allclose(line.get_xdata(), distances, atol=1e-12)
        np.testing.assert_allclose(line.get_ydata(), positions)


def test_clusters_have_colours_and_a_cut():
    """Joins inside a cluster have its colour, those between clusters none; the dotted line lies
    between the two; the title says why two."""
    ax = machines().perf.plot.dendrogram()
    brackets = lines(ax, "join")
    assert [line.get_color() for line in brackets][-1] == DARK
    assert {line.get_color() for line in brackets[:-1]} == set(COLOURS[:2])
    (cut,) = lines(ax, "cut")
    assert brackets[-2].get_xdata()[1] < cut.get_xdata()[0] < brackets[-1].get_xdata()[1]
    assert title(ax).startswith(
        "Which machines behave alike, 2 clusters (largest mean silhouette, 0.9"
    )
    assert ax.get_xlabel() == "distance at which branches are joined (ward)"
    assert (
        title(machines().perf.plot.dendrogram(n_clusters=3))
        == "Which machines behave alike, 3 clusters"
    )
    ax = machines().perf.plot.dendrogram(n_clusters=1)
    assert (title(ax), lines(ax, "cut")) == ("Which machines behave alike, 1 cluster", [])


def test_of_several_analyses_the_largest_is_drawn():
    """Without the machines that it lacks; the title names it and counts the others; another one may
    be selected."""
    incomplete = machines().where(lambda array: array["machine"] != "m3")
    table = xr.concat([incomplete, machines()], "compiler").assign_coords(compiler=["gcc", "icc"])
    clusters = table.perf.cluster_machines(2)
    ax = clusters.perf.plot()
    assert (len(rows(ax)), title(ax)) == (
        8,
        "Which machines behave alike, icc, 2 clusters, one of 2 analyses (select another)",
    )
    ax = clusters.sel(compiler="gcc").perf.plot()
    assert (len(rows(ax)), title(ax)) == (7, "Which machines behave alike, gcc, 2 clusters")
    with pytest.raises(
        ValueError, match="'cluster_machines' shows all cells together, without facets"
    ):
        clusters.perf.plot(row="compiler")


@needs_archives
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
@pytest.mark.parametrize(
    ("archive", "suite", "number"),
    [("spec_csv", "int2006_rate", 1), ("spec_txt", "int2017_rate1", 2)],
)
def test_archives(archive, suite, number):
    """Two machines are one cluster; the 34 machines of one compiler are two."""
    ax = perfarray.read(ARCHIVES / archive).perf.plot.dendrogram(by="suite")
    assert f"{suite}, " in title(ax)
    assert f"{number} cluster" in title(ax)
