"""Pictures of mixtures: what is drawn, and what is refused."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import kstest, norm

import perfarray
from perfarray.mixtures.curves import mixture_curves
from picture_parts import columns, legend, segments, title

TIMES = perfarray.from_samples({"old": [1.0, 1.1, 1.2, 2.0, 2.1, 2.2], "new": [1.0] * 6})["time"]
RUNS = TIMES.sel(version="old")
# Two components for one version, a constant for the other.
WEIGHT = xr.DataArray(
    [[0.5, 0.5], [1.0, 0.0]], {"version": ["old", "new"]}, ("version", "component")
)
MEAN, SPREAD = (
    WEIGHT.copy(data=[[1.1, 2.1], [1.0, np.nan]]),
    WEIGHT.copy(data=[[0.1, 0.1], [1.0, np.nan]]),
)
FIT = perfarray.GaussianMixture.from_parameters(WEIGHT, MEAN, SPREAD).to_dataset()
FIT = FIT.assign_attrs(result="fit_mixture", levels="execution", value="execution")
FIT["standard_deviation"].loc[{"version": "new", "component": 1}] = 0.0
OLD, NEW = (FIT.sel(version=name) for name in ("old", "new"))


def test_density_is_the_sum_of_its_components():
    """Bars have area 1, a tick stands for every run, and the solid line is the sum of the dashed
    ones; without runs it is alone."""
    ax = OLD.perf.plot(times=RUNS)
    assert sum(bar.get_height() * bar.get_width() for bar in ax.patches) == pytest.approx(1.0)
    rug, *components, total = ax.lines
    np.testing.assert_allclose(rug.get_xdata(), RUNS)
    np.testing.assert_allclose(sum(line.get_ydata() for line in components), total.get_ydata())
    assert np.trapezoid(total.get_ydata(), total.get_xdata()) == pytest.approx(1.0, abs=1e-3)
    assert legend(ax) == ["components", "mixture", "runs"]
    ax = OLD.perf.plot()
    assert (title(ax), ax.get_ylabel()) == ("Mixture of 2 components, old", "density per s")
    assert OLD.assign_attrs(units="1").perf.plot().get_ylabel() == "density"


def test_narrow_peaks_are_cut():
    """A spike does not press the histogram to the floor; how high it goes is written beside it."""
    ax = OLD.assign(standard_deviation=OLD["standard_deviation"] / 1000).perf.plot(times=RUNS)
    assert ax.get_ylim()[1] == pytest.approx(3 * max(bar.get_height() for bar in ax.patches))
    notes = [text for text in ax.texts if text.get_gid() == "cut"]
    peak = 0.5 / (1e-4 * np.sqrt(2 * np.pi))
    assert [text.xy[0] for text in notes] == pytest.approx([1.1, 2.1], abs=1e-5)
    assert [float(text.get_text().split()[-1]) for text in notes] == pytest.approx(
        [peak, peak], rel=0.005
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_texts_at_cut_peaks_do_not_overlap(sign):
    """Two narrow peaks in one place, at the left or the right border, have a line of text each, and
    none leaves the axes."""
    rng = np.random.default_rng(3)
    values = 1.25 + sign * (
        np.r_[rng.normal(1, 1e-5, 40), rng.normal(1.0004, 1e-5, 30), rng.normal(1.2, 0.05, 30)]
        - 1.25
    )
    times = perfarray.from_samples({"a": values}, dim="benchmark")
    ax = times.perf.fit_mixture(n_components=3).plot(times=times)
    ax.figure.draw_without_rendering()
    first, second = (text.get_window_extent() for text in ax.texts if text.get_gid() == "cut")
    assert not first.overlaps(second)
    assert all(ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1 for box in (first, second))


def test_largest_distance_is_that_of_kolmogorov_and_smirnov():
    """Both sides of every step count; a constant is a step without distance."""
    ax = OLD.perf.plot(kind="cdf", times=RUNS)
    law = kstest(RUNS, lambda x: 0.5 * norm.cdf(x, 1.1, 0.1) + 0.5 * norm.cdf(x, 2.1, 0.1))
    assert f"largest distance {law.statistic:.3g}" in legend(ax)
    assert np.ptp(segments(ax, axis=1)[0]) == pytest.approx(law.statistic)
    assert "mixture (constant)" in legend(NEW.perf.plot(times=TIMES.sel(version="new")))
    assert "largest distance 0" in legend(NEW.perf.plot(kind="cdf", times=TIMES.sel(version="new")))


@pytest.mark.parametrize("distribution", ["normal", "lognormal"])
def test_largest_distance_is_that_of_the_test_of_fit(distribution):
    """Units with unequal numbers of runs, rounded and with ties: the statistic of
    `goodness_of_fit`."""
    rng = np.random.default_rng(1)
    ragged = xr.DataArray(
        rng.lognormal(0.0, 0.5, (8, 5)).round(1) + 0.1, dims=("execution", "iteration"), name="time"
    )
    ragged = ragged.where((ragged["execution"] > 2) | (ragged["iteration"] < 2))
    fit = ragged.perf.fit_mixture(n_components=2, value="iteration", distribution=distribution)
    tested = ragged.perf.goodness_of_fit(fit, n_resamples=2, value="iteration", rng=1)
    curves = mixture_curves(fit.to_dataset(), times=ragged)
    assert abs(curves["gap_fitted"] - curves["gap_step"]).item() == pytest.approx(
        tested["statistic"].item()
    )


def test_runs_are_those_that_were_fitted():
    """`times` may be the Dataset that was fitted, and selects its own cell; what the fit left out
    has no tick."""
    model = perfarray.GaussianMixture(dataset=OLD.assign_attrs(metric="time"))
    ticks = [
        model.plot(times=runs_of_cell).lines[0].get_xdata()
        for runs_of_cell in (TIMES, TIMES.to_dataset(name="time"))
    ]
    np.testing.assert_array_equal(*ticks)
    marked = RUNS.assign_coords(warmup=("execution", [True] + [False] * 5))
    np.testing.assert_array_equal(OLD.perf.plot(times=marked).lines[0].get_xdata(), marked[1:])
    with pytest.raises(ValueError, match="metric 'time' not found"):
        model.plot(times=TIMES.to_dataset(name="energy"))


def test_modes_of_few_runs_are_doubted():
    """The title of a fit of two components to six runs says so; that of one component, or of sixty
    runs, does not."""
    many_runs = perfarray.from_samples({"old": np.tile(RUNS, 10)})["time"]
    fits = (
        RUNS.perf.fit_mixture(),
        RUNS.perf.fit_mixture(n_components=1),
        many_runs.perf.fit_mixture(),
    )
    axes = [fits[0].plot(times=TIMES, kind="cdf"), *(model.plot() for model in fits)]
    assert ["chance" in title(ax) for ax in axes] == [True, True, False, False]


def test_what_cannot_be_drawn():
    """Several cells, other dims, no runs, another kind, no mixture."""
    for result, keywords, message in (
        (FIT, {}, "Select one label along version"),
        (
            OLD,
            {"times": RUNS.expand_dims(machine=["a", "b"])},
            "times has dims that the mixture has not: machine",
        ),
        (OLD, {"kind": "cdf"}, "give the timings with times="),
        (OLD, {"kind": "pdf"}, "kind='pdf' is not known"),
        (OLD.where(False).assign(n_components=np.nan), {}, "no mixture"),
    ):
        with pytest.raises(ValueError, match=message):
            result.perf.plot(**keywords)


def test_ticks_of_hardly_differing_times_are_differences():
    """Where four digits would be the same at every tick, the axis counts from a round number;
    densities have no offset."""
    times = perfarray.from_samples({"old": 10 + 1e-7 * np.array([1.0, 1.1, 1.2, 2.0, 2.1, 2.2])})[
        "time"
    ]
    fit = perfarray.GaussianMixture.from_parameters(
        [0.5, 0.5], [10 + 1.1e-7, 10 + 2.1e-7], [1e-8, 1e-8]
    ).to_dataset()
    ax = fit.assign_attrs(levels="execution", value="execution").perf.plot(
        times=times.isel(version=0, drop=True)
    )
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == "time, from 10 s"
    assert len(set(columns(ax))) == len(columns(ax))
    assert all("ns" in label or label == "0 s" for label in columns(ax))
    assert ax.yaxis.get_offset_text().get_text() == ""


def test_densities_are_per_unit_of_the_axis_of_runs():
    """Runs of nanoseconds have so many per nanosecond, and no power of ten above the axis."""
    times = perfarray.from_samples(
        {"a": 1e-9 * np.random.default_rng(1).normal(1, 0.01, 40)}, dim="benchmark"
    )
    for ax in (times.perf.fit_mixture(n_components=1).plot(times=times), times.perf.plot.overlay()):
        ax.figure.draw_without_rendering()
        assert ax.get_ylabel() == "density per ns"
        assert float(ax.get_yticklabels()[-1].get_text()) == pytest.approx(
            1e-9 * ax.get_yticks()[-1]
        )
        assert not ax.yaxis.get_offset_text().get_text()
