"""Runs of several configurations, over each other and side by side."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from scipy.stats import gaussian_kde

import perfarray
from perfarray.plots.figure import COLOURS
from picture_parts import columns, legend, texts, title


@pytest.fixture
def times() -> xr.DataArray:
    return perfarray.from_samples(
        {"old": [1.2, 1.0, 1.1], "new": [0.8, 0.9, 0.8], "flat": [2.0] * 3}
    )["time"]


def test_each_system_has_a_colour_and_its_own_density(times):
    """Densities are Gaussian kernels from the least run to the largest; a constant is a line; the
    legend names all."""
    ax = times.perf.plot.overlay()
    assert [to_hex(line.get_color()) for line in ax.lines] == [
        colour.lower() for colour in COLOURS[:3]
    ]
    assert (legend(ax), ax.get_ylabel()) == (["old", "new", "flat"], "density per s")
    for line, runs in zip(ax.lines[:2], times.values[:2], strict=True):
        x, density = line.get_data()
        assert (x[0], x[-1]) == (runs.min(), runs.max())
        np.testing.assert_allclose(density, gaussian_kde(runs)(x))
    assert ax.lines[2].get_xdata() == [2.0, 2.0]


def test_steps_reach_the_share_of_the_runs(times):
    """Runs in ascending order, the share up to each; units of unequal size count the same; gaps
    have no step."""
    ax = times.where((times["version"] != "old") | (times["execution"] < 2)).perf.plot.overlay(
        kind="cdf"
    )
    assert ax.lines[0].get_xdata().tolist() == [1.0, 1.2]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.5, 1.0])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [1 / 3, 2 / 3, 1.0])
    ragged = perfarray.from_samples({"old": [[1.0, 2.0], [3.0]]}, level=("execution", "iteration"))[
        "time"
    ]
    np.testing.assert_allclose(
        ragged.perf.plot.overlay(kind="cdf", value="iteration").lines[0].get_ydata(),
        [0.25, 0.5, 1.0],
    )


def test_of_many_systems_the_extremes_lie_over_each_other():
    """Six of nine have a colour, and the title says which."""
    systems = perfarray.from_samples(
        {f"v{number}": [number + 1.0, number + 1.5] for number in range(9)}
    )["time"]
    ax = systems.perf.plot.overlay()
    assert legend(ax) == ["v0", "v1", "v2", "v6", "v7", "v8"]
    assert title(ax) == "Distribution of time over executions, 6 of 9: lowest and highest median"


def test_densities_far_apart_have_one_height():
    """Microseconds beside seconds: a logarithmic axis, the peak of each at 1; alike, densities and
    a linear axis."""
    rng = np.random.default_rng(1)
    times = perfarray.from_samples(
        {"short": 1e-6 * rng.normal(1, 0.02, 40), "long": rng.normal(1, 0.02, 40)}
    )
    ax = times.perf.plot.overlay()
    assert (ax.get_xscale(), ax.get_ylabel()) == ("log", "density (highest = 1)")
    assert [line.get_ydata().max() for line in ax.lines] == [1.0, 1.0]
    steps = times.perf.plot.overlay(kind="cdf")
    assert (steps.get_xscale(), steps.get_ylabel()) == ("log", "share of the runs up to here")
    assert times.isel(version=[1]).perf.plot.overlay().get_xscale() == "linear"


def test_violins_stand_side_by_side(times):
    """One per configuration, the median a dot, a constant a line; one without runs keeps its place
    and says so."""
    ax = times.perf.plot.violin()
    assert (columns(ax), ax.get_ylabel()) == (["old", "new", "flat"], "time")
    assert [line.get_ydata()[0] for line in ax.lines] == [1.1, 0.8, 2.0]
    ax = times.where(times["version"] == "old").perf.plot.violin()
    assert (texts(ax), len(ax.get_xticks())) == (["not measured"] * 2, 3)


@pytest.mark.parametrize(
    ("samples", "names"),
    [
        (
            {"a": [0.001, 0.002, 0.003], "b": [10.0, 10.0, 12.0]},
            ["a\n2 ms", "b\n10 s"],
        ),  # medians more than five times apart
        (
            {"a": [0.99, 1.0, 1.01], "b": [3.96, 4.0, 4.04]},
            ["a\n1 s", "b\n4 s"],
        ),  # violins that one axis would flatten
        ({"a": [0.9, 1.0, 1.1], "b": [1.4, 1.5, 1.6]}, ["a", "b"]),
        ({"a": [1.0, 1.0], "b": [1.2, 1.2]}, ["a", "b"]),
        ({"b": [10.0, 10.0, 12.0]}, [""]),  # the title names a single one
    ],
)
def test_violins_that_differ_too_much_are_relative(samples, names):
    """Runs are divided by their median, which stands under the name; on request not."""
    times = perfarray.from_samples(samples)["time"]
    ax = times.perf.plot.violin()
    relative = "\n" in names[0]
    assert (columns(ax), ax.get_ylabel()) == (names, "time / median" if relative else "time")
    medians = [float(np.median(runs)) for runs in samples.values()]
    assert [line.get_ydata()[0] for line in ax.lines] == (
        [1.0] * len(medians) if relative else medians
    )
    assert [line.get_ydata()[0] for line in times.perf.plot.violin(relative=False).lines] == medians


def versions(n_versions, n_benchmarks=3, scale=10.0):
    """Return runs of benchmarks a factor apart; each version takes 5 % longer than the one before;
    rows of the array are versions."""
    noise = np.random.default_rng(1).normal(1, 0.01, (n_versions, n_benchmarks, 30))
    factors = (
        1.05 ** np.arange(n_versions)[:, None, None] * scale ** np.arange(n_benchmarks)[:, None]
    )
    labels = {
        "version": [f"v{number}" for number in range(n_versions)],
        "benchmark": [f"b{number}" for number in range(n_benchmarks)],
    }
    dims = ("version", "benchmark", "execution")
    return xr.DataArray(noise * factors, labels, dims, "time", {"units": "s"})


@pytest.mark.parametrize("n_versions", [2, 5])
def test_versions_have_colours_and_one_scale(n_versions):
    """Violins of a benchmark stand together, divided by the median of the first version, which
    stands under its name; so versions are compared by eye."""
    times = versions(n_versions)
    ax = times.perf.plot.violin()
    median = times.quantile(0.5, "execution", method="inverted_cdf").transpose("benchmark", ...)
    medians = [line.get_ydata()[0] for line in ax.lines]
    np.testing.assert_allclose(medians, (median / median.isel(version=0)).values.ravel())
    assert ax.get_ylabel() == "time / median of v0"
    assert [name.split("\n")[0] for name in columns(ax)] == ["b0", "b1", "b2"]
    assert legend(ax) == [*times["version"].values, "quartiles", "median"]
    colours = {
        area.get_label(): to_hex(area.get_facecolor()[0])
        for area in ax.collections
        if area.get_label() in times["version"]
    }
    assert len(set(colours.values())) == n_versions
    absolute = times.perf.plot.violin(relative=False)
    np.testing.assert_allclose(
        [line.get_ydata()[0] for line in absolute.lines], median.values.ravel()
    )


def test_versions_far_apart_have_their_own_medians():
    """On a common scale the violins of one would be lines; so without runs of the first version."""
    times = versions(2)
    for apart in (
        times * xr.DataArray([1.0, 9.0], dims="version"),
        times.where((times["version"] != "v0") | (times["benchmark"] != "b1")),
    ):
        ax = apart.assign_attrs(times.attrs).perf.plot.violin()
        assert ax.get_ylabel() == "time / median"
        assert {line.get_ydata()[0] for line in ax.lines} == {1.0}
        assert len(columns(ax)) == 6


def test_of_many_benchmarks_the_extremes_stand_together():
    """Thirty of two versions have room, of five versions those that vary least and most."""
    assert len(columns(versions(2, 30, 1.2).perf.plot.violin())) == 30
    ax = versions(5, 30, 1.2).perf.plot.violin()
    assert len(columns(ax)) == 14
    assert "14 of 30: lowest and highest interquartile range" in title(ax)
    assert ax.figure.get_figwidth() <= 16.5


def test_many_violins_stand_closer_and_too_many_show_the_extremes():
    """Beyond sixteen names stand upright; beyond fifty the narrowest and the widest are drawn, and
    the title says so."""
    runs = [[1.0, 1.0 + 0.01 * number, 1.0 + 0.02 * number] for number in range(1, 61)]
    times = perfarray.from_samples({f"v{number}": sample for number, sample in enumerate(runs)})[
        "time"
    ]
    twenty_versions, all_versions = (
        times.isel(version=slice(20)).perf.plot.violin(),
        times.perf.plot.violin(),
    )
    assert {text.get_rotation() for text in twenty_versions.get_xticklabels()} == {90}
    assert max(ax.figure.get_figwidth() for ax in (twenty_versions, all_versions)) <= 16.5
    assert columns(all_versions) == [f"v{number}" for number in (*range(25), *range(35, 60))]
    assert [line.get_ydata()[0] for line in all_versions.lines][-1] == runs[-1][1]
    assert "50 of 60: lowest and highest" in title(all_versions)


@pytest.mark.parametrize(
    ("keywords", "median", "ends"),
    [({}, 3.0, [2.0, 5.5]), ({"value": "iteration"}, 3.0, [1.0, 8.0])],
)
def test_runs_are_those_that_numbers_describe(keywords, median, ends):
    """Executions, their iterations averaged, unless `value=` names another level."""
    nested = perfarray.from_samples(
        {"old": [[1.0, 3.0], [2.0, 4.0], [3.0, 8.0]]}, level=("execution", "iteration")
    )
    ax = nested.perf.plot.violin(**keywords)
    assert (ax.lines[0].get_ydata()[0], ax.dataLim.intervaly.tolist()) == (median, ends)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda times: times.where(False).perf.plot.overlay(), "no cell has a run"),
        (lambda times: times.perf.plot.overlay(kind="pdf"), "kind='pdf' is not known"),
        (
            lambda times: times.isel(version=[]).perf.plot.violin(),
            "no timings: 'version' has no labels",
        ),
        (lambda times: times.isel(execution=0).perf.plot.violin(), "no repetition level"),
        (lambda times: times.perf.plot.violin(value="session"), "value='session' is not known"),
    ],
)
def test_what_cannot_be_drawn(times, draw, message):
    """The message names the dim without labels, the kind, or the dims there are."""
    with pytest.raises(ValueError, match=message):
        draw(times)
