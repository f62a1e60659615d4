"""Several metrics together: mixtures of time and energy, against mclust, and what is asked of
them."""

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

import perfarray
from perfarray.mixtures.curves import mixture_curves
from perfarray.mixtures.numerics.fit import FitRequest
from perfarray.mixtures.numerics.joint import fit_joint

TOGETHER = {"metric": ["time", "energy"], "joint": True, "max_components": 2}


def runs(n: int = 60) -> tuple[xr.Dataset, np.ndarray]:
    """Return two benchmarks of two modes each that time or energy alone would hardly tell apart,
    and which runs are in the second mode."""
    rng = np.random.default_rng(1)
    high = rng.random((2, n)) < 0.4
    along = 0.1 * rng.standard_normal((2, n))
    time, energy = (
        2.0 + along,
        20.0 + 10 * along + np.where(high, 1.0, 0.0) + 0.1 * rng.standard_normal((2, n)),
    )
    dims = ("benchmark", "execution")
    return xr.Dataset(
        {"time": (dims, time, {"units": "s"}), "energy": (dims, energy, {"units": "J"})},
        {"benchmark": ["a", "b"]},
    ), high


@pytest.fixture(scope="module")
def times() -> xr.Dataset:
    return runs()[0]


@pytest.fixture(scope="module")
def fit(times) -> perfarray.GaussianMixture:
    return times.perf.fit_mixture(**TOGETHER)


@pytest.fixture
def faithful(golden):
    """Return what mclust found in two metrics, and a function that fits them: so many components,
    of one model."""
    result = golden("faithful")
    x = np.column_stack([result["eruptions"], result["waiting"]])
    return result, lambda number, model="unequal", **how: fit_joint(
        x, np.ones(len(x)), FitRequest(numbers=[number], models=[model], **how)
    )[0]


@pytest.mark.parametrize(("model", "name", "n_max"), [("equal", "EEE", 3), ("unequal", "VVV", 2)])
def test_likelihoods_are_mclusts(faithful, model, name, n_max):
    """Log-likelihood and BIC of faithful at the maximum, where both programs arrive at the same
    one."""
    result, fitted = faithful
    for number in range(1, n_max + 1):
        ours = fitted(number, model)
        assert_allclose(ours.loglik, result["loglik"][name][number - 1], rtol=1e-9)
        assert_allclose(
            ours.bic(len(result["waiting"])), result["bic"][name][number - 1], rtol=1e-9
        )


def test_no_likelihood_is_below_mclusts(faithful):
    """Where both arrive elsewhere, ours is the larger, and with a component more it is larger
    still."""
    result, fitted = faithful
    five, six = (fitted(number, tolerance=1e-5).loglik for number in (5, 6))
    assert five > result["VVV 5 and 6"][0]
    assert six > max(result["VVV 5 and 6"][1], five)


def test_parameters_are_mclusts(faithful):
    """Of two components with covariances of their own; of all models the same is chosen."""
    result, fitted = faithful
    for column, expected in zip(fitted(2)[:3], result["VVV 2"].values(), strict=True):
        assert_allclose(column, expected, rtol=1e-4)
    times = xr.Dataset({name: ("execution", result[name]) for name in ("eruptions", "waiting")})
    selected = times.perf.fit_mixture(
        metric=["eruptions", "waiting"], joint=True, max_components=3
    ).to_dataset()
    assert (selected["covariance"].item(), selected["n_components"].item()) == (
        "equal",
        result["chosen"][1],
    )
    assert selected["bic"].item() == pytest.approx(result["bic"]["EEE"][2], rel=1e-8)


def test_modes_are_told_apart_together(times, fit, capsys):
    """Neither metric shows two modes that both show together; runs are assigned to them, and
    correlations are those inside."""
    result = fit.to_dataset()
    assert result["n_components"].values.tolist() == [2, 2]
    assert (
        times.perf.fit_mixture(metric=["time", "energy"], max_components=2).n_modes() == 1
    ).all()
    low = result["mean"].sel(metric="energy").isel(component=slice(2)).argmin("component") + 1
    assert (
        (fit.assign(times) != low).transpose("benchmark", "execution") == runs()[1]
    ).mean() > 0.97
    inside = result["correlation"].sel(metric="time", metric_2="energy").isel(component=slice(2))
    assert ((inside > 0.95) & (inside < 1)).all()
    assert_array_equal(result["units"], ["s", "J"])
    xr.testing.assert_identical(
        times.perf.fit_mixture(**TOGETHER, progress=True).to_dataset(), result
    )
    assert "2/2" in capsys.readouterr().err


def test_draws_are_of_all_metrics(fit):
    """Means, deviations and the correlation of drawn runs are those of the mixture, each metric by
    itself is a mixture too."""
    samples = fit.sample(5000, rng=1)
    assert set(samples.dims) == {"benchmark", "metric", "execution"}
    assert_allclose(samples.mean("execution"), fit.mean(), atol=0.05)
    assert_allclose(samples.std("execution"), fit.std(), rtol=0.05)
    assert_allclose(fit.cdf(fit.quantile(0.3)), 0.3)
    assert fit.n_modes().dims == ("benchmark", "metric")
    xr.testing.assert_identical(
        samples.sel(benchmark=["b"]), fit.sel(benchmark=["b"]).sample(5000, rng=1)
    )
    assert fit.sel(metric="time").mean().dims == ("benchmark",)


def test_units_and_chunks_do_not_matter(times, fit):
    """Milliseconds have means a thousand times as large; lazy timings the same mixture; a file
    keeps what was found."""
    second = times.assign(time=1000 * times["time"]).perf.fit_mixture(**TOGETHER).to_dataset()
    assert_allclose(
        second["mean"].sel(metric="time"),
        1000 * fit.to_dataset()["mean"].sel(metric="time"),
        rtol=1e-6,
    )
    pytest.importorskip("dask")
    lazy = times.chunk({"benchmark": 1}).perf.fit_mixture(**TOGETHER).to_dataset()
    assert_array_equal(lazy["bic"].compute(), fit.to_dataset()["bic"])


def test_runs_without_one_metric_are_left_out_and_counted(times):
    """The fit is that of the complete runs; without a gap there is nothing to say."""
    incomplete = times.assign(
        energy=times["energy"].where((times["execution"] > 9) | (times["benchmark"] == "b"))
    )
    with pytest.warns(
        UserWarning,
        match="1 of 2 cells .'a'. have runs without time and energy together, which are left out",
    ):
        result = incomplete.perf.fit_mixture(**TOGETHER).to_dataset()
    assert result["n"].values.tolist() == [50, 60]
    assert result["n_incomplete"].values.tolist() == [10, 0]
    complete = (
        times.isel(benchmark=[0], execution=slice(10, None))
        .perf.fit_mixture(**TOGETHER)
        .to_dataset()
    )
    assert result["bic"].values[0] == complete["bic"].values[0]


def test_iterations_are_averaged_where_both_were_measured():
    """The value of a run is the mean of the iterations that have all metrics."""
    rng = np.random.default_rng(2)
    dims = ("execution", "iteration")
    times = xr.Dataset(
        {"time": (dims, rng.normal(1, 0.1, (30, 3))), "energy": (dims, rng.normal(5, 0.1, (30, 3)))}
    )
    gap = times.assign(
        energy=times["energy"].where((times["execution"] > 5) | (times["iteration"] > 0))
    )
    result = gap.perf.fit_mixture(**TOGETHER | {"max_components": 1}).to_dataset()
    assert (result["n"].item(), result["n_incomplete"].item()) == (30, 0)
    expected = gap["time"].where(gap["energy"].notnull()).mean("iteration").mean()
    assert result["mean"].sel(metric="time").values[0] == pytest.approx(expected.item())


@pytest.mark.filterwarnings("ignore:.*cells:UserWarning")
def test_what_has_no_fit():
    """Constant metrics, one run, metrics that are proportional: unknown, with a note; other cells
    keep theirs."""
    plain, _ = runs(20)
    constant = plain.assign(time=plain["time"].where(plain["benchmark"] == "b", 2.0))
    result = constant.perf.fit_mixture(**TOGETHER).to_dataset()
    assert [note.code for note in result.perf.notes()] == ["few_runs", "no_mixture"]
    assert result["covariance"].values[0] == "unknown"
    assert result["n_components"].values[1] >= 1
    equal_systems = plain.assign(energy=2 * plain["time"]).perf.fit_mixture(**TOGETHER).to_dataset()
    assert np.isnan(equal_systems["bic"]).all()
    assert np.isnan(
        plain.isel(execution=[0]).perf.fit_mixture(**TOGETHER).to_dataset()["bic"]
    ).all()
    empty = plain.where(plain["benchmark"] == "b").perf.fit_mixture(**TOGETHER).to_dataset()
    assert [note.code for note in empty.perf.notes()] == ["few_runs"]


def test_contours_hold_what_they_say(times, fit):
    """Ellipses hold 50 and 95 % of what is drawn from a component, and the runs have the colour of
    theirs."""
    cell, plain = fit.sel(benchmark="a"), times.sel(benchmark="a")
    curves = mixture_curves(cell.to_dataset(), times=plain)
    values = cell.to_dataset().isel(component=0)
    spread = values["standard_deviation"].values
    inverse = np.linalg.inv(values["correlation"].values * spread * spread[:, None])
    away = (
        curves["contour"].isel(component=0).transpose("probability", "place", "metric").values
        - values["mean"].values
    )
    assert_allclose(
        np.einsum("...i,ij,...j", away, inverse, away),
        -2 * np.log([[0.5], [0.05]]) * np.ones((2, 100)),
        rtol=1e-9,
    )
    assert_array_equal(curves["assigned"], cell.assign(plain))
    ax = cell.plot(times=plain)
    assert ax.get_title(loc="left") == "Mixture of 2 components of time and energy, a"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time", "energy")
    with pytest.raises(
        ValueError,
        match=r"Select one label along benchmark, as in .* draws them beside each other",
    ):
        fit.plot()


def test_wrong_arguments_are_refused(times, fit):
    for metric in (None, "time", ["time"]):
        with pytest.raises(
            ValueError, match="joint=True fits several metrics of a Dataset together"
        ):
            times.perf.fit_mixture(metric=metric, joint=True)
    with pytest.raises(ValueError, match="distribution='gamma': joint=True fits normal components"):
        times.perf.fit_mixture(**TOGETHER, distribution="gamma")
    with pytest.raises(ValueError, match="no test of fit"):
        times.perf.goodness_of_fit(fit, metric="time")
    with pytest.raises(ValueError, match="the mixture is of time, energy together"):
        fit.assign(times["time"])
    with pytest.raises(
        ValueError, match="energy has the levels execution, iteration and time has execution"
    ):
        times.assign(energy=times["energy"].expand_dims(iteration=2)).perf.fit_mixture(**TOGETHER)
