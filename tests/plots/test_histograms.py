"""Histograms in rows: bars count the values of a result, marks stand at its numbers, and empty
cells say so."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

import perfarray
from perfarray.plots.figure import COLOURS, DARK
from picture_parts import (
    bars,
    columns,
    histogram,
    legend,
    rows,
    segments,
    side_texts,
    simulated,
    title,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::perfarray.PerfarrayWarning"
)  # few units draw faster

TIMES = simulated(5, machine=3, benchmark=4, version=["old", "new"])
ONE = TIMES.isel(machine=0)


@pytest.fixture(scope="module")
def replicates():
    """Two benchmarks with two versions, 200 replicates each."""
    times = simulated(8, 3, benchmark=["fft", "sort"], version=["old", "new"])
    return times.perf.bootstrap_distribution(resample="all", n_resamples=200, rng=1)


def scaled(replicates, factor):
    """Return replicates and their statistics times a factor."""
    return (
        (replicates * factor)
        .assign_coords(observed=replicates["observed"] * factor)
        .assign_attrs(replicates.attrs)
    )


@pytest.mark.parametrize("baseline", [None, "old"])
def test_bars_count_the_replicates(replicates, baseline):
    """The highest bar fills its row, and the bar under it spans 90 %; a ratio is that of replicates
    of the same number."""
    cell = replicates.sel(benchmark="fft")
    new, old = (cell.sel(version=version) for version in ("new", "old"))
    values, observed = (
        (new, new["observed"])
        if baseline is None
        else (new.values / old.values, new["observed"] / old["observed"])
    )
    ax = (
        new.perf.plot(bins=10, confidence_level=0.9)
        if baseline is None
        else cell.perf.plot(baseline="old", bins=10, confidence_level=0.9)
    )
    np.testing.assert_allclose(bars(ax), histogram(values, 10))
    np.testing.assert_allclose(ax.patches[0].get_data().edges, np.histogram_bin_edges(values, 10))
    assert [to_hex(strokes.get_color()[0]) for strokes in ax.collections] == [
        COLOURS[0].lower(),
        DARK,
    ]
    np.testing.assert_allclose(
        segments(ax), [np.quantile(values, [0.05, 0.95]), [float(observed)] * 2]
    )
    assert [line.get_xdata()[0] for line in ax.lines] == ([] if baseline is None else [1.0])
    assert title(
        ax
    ) == f"Bootstrap distribution, new{' compared with old' if baseline else ''}, fft".replace(
        "new, fft", "fft, new"
    )
    assert ax.get_xlabel().startswith(
        f"mean of time{', candidate / baseline' if baseline else ''};"
    )


def test_each_cell_has_a_row(replicates):
    """Rows stand in groups with one legend; the label says what was redrawn; an empty cell has
    no row, and the title counts it."""
    ax = replicates.perf.plot()
    assert (rows(ax), title(ax)) == (["old", "new"] * 2, "Bootstrap distribution")
    assert all(
        fact in ax.get_xlabel() for fact in ("mean of time", "execution, iteration", "95 %", "200")
    )
    assert legend(ax) == ["replicates", "95 % of them", "data"]
    ax = replicates.where(replicates["benchmark"] != "sort").perf.plot()
    assert (rows(ax), title(ax).endswith("2 of 4: those measured")) == (["old", "new"], True)
    times = perfarray.from_samples({"a": [1.0, 1.2, 1.1], "b": [2.0, 2.2, 1.9]})
    flat = times.perf.plot.distribution(
        resample="flat", statistic="median", n_resamples=50, rng=1
    ).get_xlabel()
    assert all(fact in flat for fact in ("median of time", "nest ignored", "95 %", "50"))
    assert "execution" not in flat


def test_cells_far_apart_share_a_relative_axis(replicates):
    """Microseconds beside seconds: about 100 %, the statistic in its unit beside; within a factor
    of two ticks have the unit."""
    ax = scaled(
        replicates.sel(version="old"), xr.DataArray([2e-5, 4.0], dims="benchmark")
    ).perf.plot(bins=10)
    assert ax.get_xlabel().startswith("mean of time, relative to the data's;\nlevels redrawn")
    np.testing.assert_allclose(segments(ax, "data"), 100)
    assert [text.rpartition(" ")[2] for text in side_texts(ax)] == ["µs", "s"]
    ax.figure.canvas.draw()
    assert "+0 %" in columns(ax)
    assert np.ptp(ax.get_xlim()) < 20
    ax = scaled(
        replicates.sel(version="old"), xr.DataArray([1e-3, 1.9e-3], dims="benchmark")
    ).perf.plot()
    ax.figure.canvas.draw()
    assert all(label.endswith("ms") for label in columns(ax))
    assert ax.get_xlabel().startswith("mean of time; ")


def test_what_is_no_single_distribution(replicates, tmp_path):
    """A file gives the same picture; two distributions, one label, bad bins and levels are refused;
    equal replicates have no bars."""
    replicates.to_netcdf(tmp_path / "replicates.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "replicates.nc", engine="h5netcdf") as stored:
        assert stored.perf.plot().get_xlabel() == replicates.perf.plot().get_xlabel()
    with pytest.raises(ValueError, match="no picture for an object without the attr 'result'"):
        xr.Dataset({"one": replicates, "two": replicates}).perf.plot()
    with pytest.raises(ValueError, match="'old' is the only label along 'version'"):
        replicates.sel(version=["old"], benchmark="fft").perf.plot(baseline="old")
    with pytest.raises(
        ValueError, match="confidence_level=95 is out of range; give a number between 0 and 1"
    ):
        replicates.perf.plot(confidence_level=95)
    with pytest.raises(ValueError, match="bins=0: give a whole number of at least 1"):
        replicates.perf.plot(bins=0)
    # Equal but for rounding.
    assert (
        not (replicates.sel(benchmark="fft", version="old") * 0 + 0.1 + np.arange(200) * 1e-17)
        .perf.plot()
        .patches
    )


def test_exchanges_with_the_observed_ratio():
    """Irving's figure 3: the histogram, one line at the ratio, one at 1, p beside; without the
    distribution p-values."""
    result = ONE.perf.randomization_test("old", distribution=True, rng=1)
    ax = result.perf.plot(bins=20)
    np.testing.assert_allclose(bars(ax), histogram(result["null_distribution"], 20))
    np.testing.assert_allclose(segments(ax), [[result["statistic"].item()] * 2])
    assert [line.get_xdata()[0] for line in ax.lines] == [1]
    assert side_texts(ax) == [f"{result['pvalue'].item():.3f}"]
    assert (
        ax.get_xlabel()
        == "geometric mean of time, candidate / baseline\n500 random exchanges of units"
    )
    assert title(ax) == "Randomization test, new compared with old"
    exact = ONE.perf.randomization_test(
        "old", method="exact", distribution=True, shared="execution"
    )
    assert exact.perf.plot().get_xlabel().endswith("all exchanges of units")
    assert (
        exact.drop_vars("null_distribution").perf.plot().get_xlabel()
        == "two-sided p, all exchanges"
    )


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("t", "distribution that the t interval is read off"),
        ("percentile", "units redrawn 500 times (percentile)"),
    ],
)
def test_redrawn_scores_with_the_limits(method, words):
    """Irving's figure 4: a bar from limit to limit below every histogram, the observed ratio in
    it."""
    result = TIMES.perf.score_ratio_interval("old", method=method, distribution=True, rng=1)
    ax = result.perf.plot()
    np.testing.assert_allclose(
        segments(ax, "95 % interval"),
        np.stack([result["lower"].values.ravel(), result["upper"].values.ravel()], 1),
    )
    np.testing.assert_allclose(
        [ends[0] for ends in segments(ax, "observed")], result["estimate"].values.ravel()
    )
    assert ax.get_xlabel().endswith(words)
    assert [len(patch.get_data()[0]) for patch in ax.patches] == [40] * 3


def test_an_open_side_ends_with_the_histogram_and_one_unit_has_none():
    """A one-sided interval; a cell of one unit is a mark, one without data is counted; of a hundred
    cells thirty have room."""
    result = ONE.perf.score_ratio_interval("old", alternative="less", distribution=True)
    np.testing.assert_allclose(
        segments(result.perf.plot())[0], [result["distribution"].min(), result["upper"].item()]
    )
    few_units = TIMES.where((TIMES["machine"] != "machine1") | (TIMES["execution"] == 0)).where(
        TIMES["machine"] != "machine2"
    )
    ax = few_units.perf.score_ratio_interval("old", distribution=True).perf.plot()
    assert len(ax.patches) == 1
    assert "2 of 3: those measured" in title(ax)
    machines = xr.concat([ONE] * 100, "machine").assign_coords(
        machine=[f"m{number}" for number in range(100)]
    )
    machines = machines * xr.DataArray(
        np.where(np.arange(100) < 50, 1.0, 1.1), dims="machine"
    ).where(machines["version"] == "new", 1.0)
    ax = (
        machines.assign_attrs(TIMES.attrs)
        .perf.score_ratio_interval("old", distribution=True)
        .perf.plot()
    )
    assert "30 of 100: lowest and highest ratio" in title(ax)
    assert ax.figure.get_figheight() < 17


def test_scores_of_many_machines():
    """Irving's figure 11: every score is in a bar. A wide range has a logarithmic axis; scores that
    never vary have no place on it."""
    scores = simulated(3, machine=40, benchmark=4).perf.suite_score()
    ax = scores.perf.plot(kind="histogram")
    np.testing.assert_array_equal(
        [bar.get_height() for bar in ax.patches], np.histogram(scores["estimate"], 30)[0]
    )
    assert (title(ax), ax.get_xscale()) == ("Scores of the suite, 40 cells", "linear")
    wide = scores.assign(estimate=scores["estimate"] * np.geomspace(1, 100, 40)).assign_attrs(
        scores.attrs
    )
    assert wide.perf.plot(kind="histogram").get_xscale() == "log"
    variation = simulated(3, machine=40, benchmark=4).perf.relative_variation()
    variation["relative_variation"] = ("machine", [0.0, np.nan, *np.geomspace(1e-4, 1e-2, 38)])
    ax = variation.perf.plot(kind="histogram")
    assert title(ax) == "How much scores vary, 39 cells, 1 of them without variation"
    assert sum(bar.get_height() for bar in ax.patches) == 38
    constant = scores.assign(estimate=scores["estimate"] * 0 + 3.0).perf.plot(kind="histogram")
    assert max(bar.get_height() for bar in constant.patches) == 40
    with pytest.raises(ValueError, match="no cell has a score; nothing to draw"):
        scores.where(False).assign_attrs(scores.attrs).perf.plot(kind="histogram")


def test_suites_have_a_histogram_each():
    """Scores of different suites are not counted together: they have a colour each, or a picture
    each."""
    times = simulated(3, machine=40, benchmark=4).assign_coords(
        suite=("benchmark", ["int", "int", "fp", "fp"])
    )
    scores = times.perf.suite_score(by="suite")
    ax = perfarray.plots.score_histogram(scores)
    assert sorted(legend(ax)) == ["fp", "int"]
    panels = scores.perf.plot(kind="histogram", col="suite").figure.axes
    assert [sum(bar.get_height() for bar in panel.patches) for panel in panels] == [40, 40]


def test_the_density_of_one_machine_shows_its_quartiles():
    """Irving's figure 9: the quartiles cut the scores into four equal parts; of several machines
    they would be too many lines."""
    scores = simulated(5, machine=2, benchmark=4).perf.score_distribution(rng=1)
    ax = scores.isel(machine=[0]).perf.plot()
    assert [ends[0] for ends in segments(ax, "quartiles", 0)] == pytest.approx(
        np.quantile(scores[0], [0.25, 0.5, 0.75])
    )
    assert "quartiles" not in legend(scores.perf.plot())
