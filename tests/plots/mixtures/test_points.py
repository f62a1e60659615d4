"""Runs as points."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

import perfarray  # noqa: F401  (registers .perf)
from perfarray.plots.mixtures.runs import HUES
from picture_parts import legend, rows, segments, side_texts, title


def timings(n_versions, scale=10.0, n_benchmarks=3):
    """Return runs of benchmarks a factor apart; the first dim is that of versions."""
    noise = np.random.default_rng(1).normal(1, 0.02, (n_versions, n_benchmarks, 12, 2))
    labels = {
        "version": [f"v{number}" for number in range(n_versions)],
        "benchmark": [f"b{number}" for number in range(n_benchmarks)],
    }
    dims = ("version", "benchmark", "execution", "iteration")
    factors = scale ** np.arange(n_benchmarks)[:, None, None]
    return xr.DataArray(noise * factors, labels, dims, "time", {"units": "s"})


def drawn(ax, label):
    """Return the runs of a version, row by row."""
    return [line.get_xdata() for line in ax.lines if line.get_label() == label]


@pytest.mark.parametrize("n_versions", [2, 5])
@pytest.mark.parametrize("call", ["plot", "plot.distribution"])
def test_each_run_is_a_point(n_versions, call):
    """One row for each benchmark, a colour for each version, medians as bars; relative to the first
    version where benchmarks are far apart."""
    times = timings(n_versions)
    ax = (times.perf.plot if call == "plot" else times.perf.plot.distribution)()
    runs = np.sort(times.mean("iteration"), axis=-1)
    first = times.mean("iteration").quantile(0.5, "execution", method="inverted_cdf")[0].values
    for number, label in enumerate(times["version"].values):
        np.testing.assert_allclose(drawn(ax, label), runs[number] / first[:, None])
    assert (rows(ax), legend(ax)) == (["b0", "b1", "b2"], [*times["version"].values, "median"])
    colours = [to_hex(line.get_color()) for line in ax.lines if line.get_label() == "v1"]
    assert set(colours) == {HUES[1].lower()}
    assert len(segments(ax, "median")) == 3 * n_versions
    assert ax.get_xlabel() == "time, relative to the median of v0"
    assert [text.split()[1] for text in side_texts(ax)] == ["s", "s", "s"]
    heights = [set(np.floor(line.get_ydata() + 0.5)) for line in ax.lines]
    assert set.union(*heights) == {0.0, 1.0, 2.0}
    assert all(len(row) == 1 for row in heights)


def test_alike_benchmarks_have_one_axis_with_units():
    times = timings(2, scale=1.1)
    ax = times.perf.plot()
    np.testing.assert_allclose(drawn(ax, "v1")[0], np.sort(times[1, 0].mean("iteration")))
    assert ax.get_xlabel() == "time"
    assert title(ax) == "Time of executions"
    assert len(drawn(times.perf.plot(value="iteration"), "v1")[0]) == 24
    assert times.perf.plot(relative=True).get_xlabel() == "time, relative to the median of v0"


def test_without_versions_rows_have_one_colour():
    """And so have more versions than colours, a row each."""
    ax = timings(2, scale=1.1).isel(version=0).perf.plot()
    assert (rows(ax), legend(ax)) == (["b0", "b1", "b2"], ["median"])
    ax = timings(9).isel(benchmark=0).perf.plot()
    assert rows(ax) == [f"v{number}" for number in range(9)]
    assert len(ax.lines) == 9


def test_versions_far_apart_have_a_row_each():
    """Relative to their own median, since on the scale of one the others would be lines."""
    times = timings(2) * xr.DataArray([1.0, 50.0], dims="version")
    ax = times.assign_attrs(units="s").perf.plot()
    assert ax.get_xlabel() == "time, relative to the median"
    assert len(rows(ax)) == 6
    assert {text[0] for text in legend(ax)} == {"v", "m"}


def test_gaps_have_no_points():
    """What was not measured of one version is left out, what was not measured at all has no row."""
    times = timings(2, scale=1.1)
    some = times.where((times["version"] == "v0") | (times["benchmark"] != "b1"))
    ax = some.where(some["benchmark"] != "b2").assign_attrs(times.attrs).perf.plot()
    assert rows(ax) == ["b0", "b1"]
    assert [len(runs) for runs in drawn(ax, "v1")] == [12, 0]
    with pytest.raises(ValueError, match="no cell has a run"):
        times.where(False).perf.plot()


def test_thirty_benchmarks_of_five_versions_have_room():
    ax = timings(5, 1.3, 30).perf.plot()
    assert len(rows(ax)) == 30
    assert ax.figure.get_figheight() <= 17


def test_keywords_of_the_bootstrap_draw_its_replicates():
    """As before runs had a picture."""
    times = timings(2, scale=1.1)
    ax = times.perf.plot.distribution(n_resamples=50, rng=1)
    assert title(ax).startswith("Bootstrap distribution")
    with pytest.raises(TypeError, match="unexpected keyword argument 'bins'"):
        times.perf.plot.distribution(bins=3)


def test_facets_and_files():
    """A picture for each machine; `svg` and `png` are of the runs, too."""
    machines = xr.concat([timings(2, 1.1)] * 2, xr.IndexVariable("machine", ["m1", "m2"]))
    ax = machines.assign_coords(time=("machine", [1, 2])).perf.plot(col="machine")
    assert len(ax.figure.axes) == 2
    assert timings(2).perf.plot.svg().startswith("<")
