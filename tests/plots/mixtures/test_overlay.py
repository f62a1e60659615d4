"""Runs of several systems over each other."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from scipy.stats import gaussian_kde

import perfarray
from perfarray.plots.figure import COLOURS
from picture_parts import legend, title


@pytest.fixture
def times() -> xr.DataArray:
    return perfarray.from_samples({"old": [1.2, 1.0, 1.1], "new": [0.8, 0.9, 0.8], "flat": [2.0] * 3})["time"]


def test_each_system_has_a_colour_and_its_own_density(times):
    """Densities are Gaussian kernels from the least run to the largest; a constant is a line; the legend names all."""
    ax = times.perf.plot.overlay()
    assert [to_hex(line.get_color()) for line in ax.lines] == [colour.lower() for colour in COLOURS[:3]]
    assert legend(ax) == ["old", "new", "flat"]
    for line, runs in zip(ax.lines[:2], times.values[:2], strict=True):
        x, density = line.get_data()
        assert (x[0], x[-1]) == (runs.min(), runs.max())
        np.testing.assert_allclose(density, gaussian_kde(runs)(x))
    assert ax.lines[2].get_xdata() == [2.0, 2.0]
    assert ax.get_ylabel() == "density per s"


def test_steps_reach_the_share_of_the_runs(times):
    """Runs in ascending order, the share up to each; units of unequal size count the same; gaps have no step."""
    ax = times.where((times["version"] != "old") | (times["execution"] < 2)).perf.plot.overlay(kind="cdf")
    assert ax.lines[0].get_xdata().tolist() == [1.0, 1.2]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.5, 1.0])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [1 / 3, 2 / 3, 1.0])
    ragged = perfarray.from_samples({"old": [[1.0, 2.0], [3.0]]}, level=("execution", "iteration"))["time"]
    np.testing.assert_allclose(ragged.perf.plot.overlay(kind="cdf", value="iteration").lines[0].get_ydata(), [0.25, 0.5, 1.0])


def test_what_cannot_be_drawn(times):
    """Of many systems the extremes; no run, and another kind, are refused."""
    many = perfarray.from_samples({f"v{number}": [number + 1.0, number + 1.5] for number in range(9)})["time"]
    ax = many.perf.plot.overlay()
    assert legend(ax) == ["v0", "v1", "v2", "v6", "v7", "v8"]
    assert title(ax) == "Distribution of time over executions, 6 of 9: lowest and highest median"
    with pytest.raises(ValueError, match="no cell has a run"):
        times.where(False).perf.plot.overlay()
    with pytest.raises(ValueError, match="kind='pdf' is not known"):
        times.perf.plot.overlay(kind="pdf")


def test_systems_far_apart_are_drawn_as_high_as_each_other():
    """Microseconds beside seconds: a logarithmic axis, the peak of each at 1; alike, densities and a linear axis."""
    rng = np.random.default_rng(1)
    times = perfarray.from_samples({"short": 1e-6 * rng.normal(1, 0.02, 40), "long": rng.normal(1, 0.02, 40)})
    ax = times.perf.plot.overlay()
    assert (ax.get_xscale(), ax.get_ylabel()) == ("log", "density (highest = 1)")
    assert [line.get_ydata().max() for line in ax.lines] == [1.0, 1.0]
    steps = times.perf.plot.overlay(kind="cdf")
    assert (steps.get_xscale(), steps.get_ylabel()) == ("log", "share of the runs up to here")
    assert times.isel(version=[1]).perf.plot.overlay().get_xscale() == "linear"
