"""Pictures of mixtures: what is drawn, and what is refused."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.mixtures.curves import mixture_curves
from picture_parts import columns, legend, title


def mixture(fit, **keywords):
    """Draw densities."""
    return fit.perf.plot(**keywords)


def cdf_fit(fit, **keywords):
    """Draw distributions."""
    return fit.perf.plot(kind="cdf", **keywords)


@pytest.fixture
def times() -> xr.DataArray:
    return perfarray.from_samples({"old": [1.0, 1.1, 1.2, 2.0, 2.1, 2.2], "new": [1.0] * 6})["time"]


@pytest.fixture
def fit() -> xr.Dataset:
    """Two components for one version, a constant for the other."""
    weight = xr.DataArray([[0.5, 0.5], [1.0, 0.0]], dims=("version", "component"), coords={"version": ["old", "new"]})
    mean = weight.copy(data=[[1.1, 2.1], [1.0, np.nan]])
    found = perfarray.GaussianMixture.from_parameters(weight, mean, weight.copy(data=[[0.1, 0.1], [1.0, np.nan]])).to_dataset()
    found["standard_deviation"].loc[{"version": "new", "component": 1}] = 0.0
    return found.assign_attrs(result="fit_mixture", levels="execution", value="execution")


def test_density_is_the_sum_of_its_components(times, fit):
    """Bars have area 1, a tick stands for every run, and the solid line is the sum of the dashed ones."""
    ax = mixture(fit.sel(version="old"), times=times.sel(version="old"))
    assert sum(bar.get_height() * bar.get_width() for bar in ax.patches) == pytest.approx(1.0)
    rug, *components, whole = ax.lines
    np.testing.assert_allclose(rug.get_xdata(), times.sel(version="old"))
    np.testing.assert_allclose(sum(line.get_ydata() for line in components), whole.get_ydata())
    assert np.trapezoid(whole.get_ydata(), whole.get_xdata()) == pytest.approx(1.0, abs=1e-3)
    assert legend(ax) == ["components", "mixture", "runs"]


def test_narrow_peaks_are_cut(times, fit):
    """A spike does not press the histogram to the floor; how high it goes is written beside it."""
    narrow = fit.sel(version="old").assign(standard_deviation=fit["standard_deviation"].sel(version="old") / 1000)
    ax = mixture(narrow, times=times.sel(version="old"))
    assert ax.get_ylim()[1] == pytest.approx(3 * max(bar.get_height() for bar in ax.patches))
    notes = [text for text in ax.texts if text.get_gid() == "cut"]
    peak = 0.5 / (1e-4 * np.sqrt(2 * np.pi))
    assert [text.xy[0] for text in notes] == pytest.approx([1.1, 2.1], abs=1e-5)
    assert [float(text.get_text().split()[-1]) for text in notes] == pytest.approx([peak, peak], rel=0.005)


def test_largest_distance_is_that_of_kolmogorov_and_smirnov(times, fit):
    """Both sides of every step count."""
    from scipy.stats import kstest, norm

    ax = cdf_fit(fit.sel(version="old"), times=times.sel(version="old"))
    law = kstest(times.sel(version="old"), lambda x: 0.5 * norm.cdf(x, 1.1, 0.1) + 0.5 * norm.cdf(x, 2.1, 0.1))
    assert f"largest distance {law.statistic:.3g}" in legend(ax)
    (segment,) = ax.collections[0].get_segments()
    assert np.ptp(segment[:, 1]) == pytest.approx(law.statistic)


def test_largest_distance_is_that_of_the_test_of_fit():
    """Units with unequal numbers of runs, rounded and with ties: the statistic of `goodness_of_fit`."""
    rng = np.random.default_rng(1)
    ragged = xr.DataArray(rng.lognormal(0.0, 0.5, (8, 5)).round(1) + 0.1, dims=("execution", "iteration"), name="time")
    ragged = ragged.where((ragged["execution"] > 2) | (ragged["iteration"] < 2))
    for distribution in ("normal", "lognormal"):
        fit = ragged.perf.fit_mixture(n_components=2, value="iteration", distribution=distribution)
        tested = ragged.perf.goodness_of_fit(fit, n_resamples=2, value="iteration", rng=1)
        curves = mixture_curves(fit.to_dataset(), times=ragged)
        assert abs(curves["gap_fitted"] - curves["gap_step"]).item() == pytest.approx(tested["statistic"].item())


def test_a_constant_is_a_line(times, fit):
    """One component without spread; its distribution function is a step without distance."""
    new = fit.sel(version="new")
    assert mixture(new, times=times.sel(version="new")).get_legend() is not None
    ax = cdf_fit(new, times=times.sel(version="new"))
    assert "largest distance 0" in legend(ax)


def test_a_result_draws_itself(fit):
    """The picture of a fit is its density; `times` selects its own cell."""
    ax = fit.sel(version="old").perf.plot()
    assert title(ax) == "Mixture of 2 components, old"
    assert ax.get_ylabel() == "density per s"
    assert fit.sel(version="old").assign_attrs(units="1").perf.plot().get_ylabel() == "density"


def test_a_dataset_is_as_good_as_its_metric(times, fit):
    """`times` may be the Dataset that was fitted; one without that metric is refused."""
    cell = perfarray.GaussianMixture(dataset=fit.sel(version="old").assign_attrs(metric="time"))
    ticks = [cell.plot(times=given).lines[0].get_xdata() for given in (times, times.to_dataset(name="time"))]
    np.testing.assert_array_equal(*ticks)
    with pytest.raises(ValueError, match="metric 'time' not found"):
        cell.plot(times=times.to_dataset(name="energy"))


def test_marked_runs_are_not_drawn(times, fit):
    """What the fit left out has no tick, though the timings hold it."""
    marked = times.sel(version="old").assign_coords(warmup=("execution", [True] + [False] * 5))
    np.testing.assert_array_equal(mixture(fit.sel(version="old"), times=marked).lines[0].get_xdata(), marked[1:])


def test_modes_of_few_runs_are_doubted(times):
    """The title of a fit of two components to six runs says so; that of one component, or of sixty runs, does not."""
    more = perfarray.from_samples({"old": np.tile([1.0, 1.1, 1.2, 2.0, 2.1, 2.2], 10)})["time"]
    fits = times.sel(version="old").perf.fit_mixture(), times.sel(version="old").perf.fit_mixture(n_components=1), more.perf.fit_mixture()
    axes = [fits[0].plot(times=times, kind="cdf"), *(one.plot() for one in fits)]
    assert ["chance" in title(ax) for ax in axes] == [True, True, False, False]


def test_what_cannot_be_drawn(times, fit):
    """Several cells, other dims, no runs, another kind."""
    with pytest.raises(ValueError, match="select one label along version"):
        mixture(fit)
    with pytest.raises(ValueError, match="times has dims that the mixture has not: machine"):
        mixture(fit.sel(version="old"), times=times.sel(version="old").expand_dims(machine=["a", "b"]))
    with pytest.raises(ValueError, match="give the timings with times="):
        cdf_fit(fit.sel(version="old"))
    with pytest.raises(ValueError, match="kind='pdf' is not known"):
        fit.sel(version="old").perf.plot(kind="pdf")
    with pytest.raises(ValueError, match="no mixture"):
        mixture(fit.sel(version="old").where(False).assign(n_components=np.nan))


def test_ticks_of_hardly_differing_times_are_differences():
    """Where four digits would be the same at every tick, the axis counts from a round number; densities have no offset."""
    times = perfarray.from_samples({"old": 10 + 1e-7 * np.array([1.0, 1.1, 1.2, 2.0, 2.1, 2.2])})["time"]
    fit = perfarray.GaussianMixture.from_parameters([0.5, 0.5], [10 + 1.1e-7, 10 + 2.1e-7], [1e-8, 1e-8]).to_dataset()
    ax = mixture(fit.assign_attrs(levels="execution", value="execution"), times=times.isel(version=0, drop=True))
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == "time, from 10 s"
    labels = columns(ax)
    assert len(set(labels)) == len(labels)
    assert all("ns" in label or label == "0 s" for label in labels)
    assert ax.yaxis.get_offset_text().get_text() == ""


def test_texts_at_cut_peaks_do_not_stand_on_each_other():
    """Two narrow peaks in one place have a line of text each, and none leaves the axes."""
    rng = np.random.default_rng(3)
    runs = np.r_[rng.normal(1, 1e-5, 40), rng.normal(1.0004, 1e-5, 30), rng.normal(1.2, 0.05, 30)]
    for values in (runs, 2.5 - runs):
        times = perfarray.from_samples({"a": values}, dim="benchmark")
        ax = times.perf.fit_mixture(n_components=3).plot(times=times)
        ax.figure.draw_without_rendering()
        first, second = (text.get_window_extent() for text in ax.texts if text.get_gid() == "cut")
        assert not first.overlaps(second)
        assert all(ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1 for box in (first, second))


def test_densities_are_per_unit_of_the_axis_of_runs():
    """Runs of nanoseconds have so many per nanosecond, and no power of ten above the axis."""
    times = perfarray.from_samples({"a": 1e-9 * np.random.default_rng(1).normal(1, 0.01, 40)}, dim="benchmark")
    for ax in (times.perf.fit_mixture(n_components=1).plot(times=times), times.perf.plot.overlay()):
        ax.figure.draw_without_rendering()
        assert ax.get_ylabel() == "density per ns"
        assert float(ax.get_yticklabels()[-1].get_text()) == pytest.approx(1e-9 * ax.get_yticks()[-1])
        assert not ax.yaxis.get_offset_text().get_text()
