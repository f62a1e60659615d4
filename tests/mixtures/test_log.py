"""Mixtures of log times beside plain mixtures of the times, and of their logarithms."""

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, stats

import perfarray
from perfarray.mixtures.numerics import integrals
from perfarray.mixtures.numerics.normal import NormalMixture
from perfarray.mixtures.numerics.scale import Scaled
from strategies import experiments

EITHER = ("normal", "lognormal")


def difference_of_logs(*mixtures: NormalMixture) -> float:
    """Return E|X - Y| of mixtures whose logarithms are normal."""
    return float(integrals.difference(*(Scaled(mixture, np.array(1)) for mixture in mixtures)))


@pytest.fixture(scope="module")
def skewed() -> xr.Dataset:
    """Return lognormal runs, and runs of two normal modes."""
    rng = np.random.default_rng(4)
    modes = rng.normal(np.where(rng.random(60) < 0.5, 1.0, 3.0), 0.2)
    return perfarray.from_samples(
        {"skewed": np.exp(rng.normal(0, 0.6, 60)), "modes": modes}, dim="benchmark"
    )


@pytest.fixture(scope="module")
def fits(skewed) -> dict:
    """Return its fits by what the components may be."""
    return {
        distribution: fitted(skewed, distribution=distribution)
        for distribution in ("normal", "lognormal", EITHER)
    }


def fitted(times: xr.Dataset | xr.DataArray, **options) -> perfarray.GaussianMixture:
    """Fit no more components than these data need."""
    return perfarray.fit_mixture(times, max_components=3, **options)


def test_fits_of_logs_are_plain_fits_of_logs(skewed, fits):
    """Parameters are those of the logarithms; the BIC is lower by twice the sum of the
    logarithms."""
    first = fits["lognormal"].to_dataset()
    logs = np.log(skewed["time"]).assign_attrs(units="1")
    second = fitted(logs).to_dataset()
    np.testing.assert_allclose(np.log(first["scale"]), second["mean"], rtol=1e-12)
    np.testing.assert_allclose(first["shape_parameter"], second["standard_deviation"], rtol=1e-12)
    np.testing.assert_allclose(first["bic"], second["bic"] - 2 * logs.sum("execution"))
    assert first["mean"].attrs["units"] == first["scale"].attrs["units"] == "s"


def test_auto_takes_the_clearly_better_bic(fits):
    """Skewed runs are fitted by their logarithms, two normal modes as they are; both cells keep
    what they have on their own."""
    plain, log, auto = (fit.to_dataset() for fit in fits.values())
    assert auto["family"].sel(benchmark=["skewed", "modes"]).values.tolist() == [
        "lognormal",
        "normal",
    ]
    np.testing.assert_array_equal(auto["bic"], np.maximum(plain["bic"], log["bic"]))
    assert auto["n_components"].sel(benchmark="skewed") == log["n_components"].sel(
        benchmark="skewed"
    )


def test_auto_keeps_the_times_where_logs_are_hardly_better():
    """Far from 0 a narrow mode is as good on either scale: a BIC that is larger by less than 2 does
    not turn it into logarithms."""
    times = perfarray.from_samples(
        {"narrow": np.exp(np.random.default_rng(8).normal(6.0, 0.01, 60))}, dim="benchmark"
    )
    auto, plain, log = (
        fitted(times, distribution=name).to_dataset() for name in (EITHER, "normal", "lognormal")
    )
    assert 0 < (log["bic"] - plain["bic"]).item() < 2
    assert auto["family"].item() == "normal"
    assert auto["bic"].item() == plain["bic"].item()


def test_runs_that_are_not_positive_have_no_logarithms(skewed):
    """Such a cell is NaN with a warning; with "auto" it is fitted as it is."""
    shifted = skewed - xr.DataArray(
        [0.0, 5.0], dims="benchmark", coords={"benchmark": ["skewed", "modes"]}
    )
    shifted["time"].attrs["units"] = "1"
    with pytest.warns(
        UserWarning, match="1 of 2 cells .* have runs that are not positive: they have no fit"
    ):
        fit = fitted(shifted, distribution="lognormal")
    assert np.isnan(fit.mean().sel(benchmark="modes"))
    assert fit.to_dataset()["covariance"].sel(benchmark="modes") == "unknown"
    assert (
        fitted(shifted, distribution=EITHER).to_dataset()["family"].sel(benchmark="modes")
        == "normal"
    )


def test_goodness_of_fit_is_that_of_the_logarithms(skewed):
    """The distance and the refits are those of plain mixtures of logarithms; "auto" chooses the
    scale of each draw anew."""
    first = skewed.perf.goodness_of_fit(
        fitted(skewed, distribution="lognormal", tolerance=1e-5), n_resamples=experiments(20), rng=1
    )
    logs = np.log(skewed["time"]).assign_attrs(units="1")
    second = logs.perf.goodness_of_fit(
        fitted(logs, tolerance=1e-5), n_resamples=experiments(20), rng=1
    )
    np.testing.assert_allclose(first["statistic"], second["statistic"], rtol=1e-9)
    np.testing.assert_array_equal(first["pvalue"], second["pvalue"])
    auto = skewed.perf.goodness_of_fit(
        fitted(skewed, distribution=EITHER), n_resamples=10, rng=1, resolution=0.01
    )
    assert (auto["pvalue"] > 0.05).all()


def test_orders_do_not_depend_on_the_scale(skewed, fits):
    """P[X < Y] and P[fastest] of log fits are those of plain fits of the logarithms; more may be
    better."""
    fit = fits["lognormal"]
    second = fitted(np.log(skewed["time"]).assign_attrs(units="1"))
    for method in ("prob_faster", "prob_fastest"):
        options = {"baseline": "modes"} if method == "prob_faster" else {"dim": "benchmark"}
        result, expected = (
            getattr(perfarray, method)(values, n_resamples=0, **options) for values in (fit, second)
        )
        np.testing.assert_allclose(result["estimate"], expected["estimate"], rtol=1e-9)
    dataset = fit.to_dataset().assign_attrs(better="higher")
    higher = perfarray.prob_faster(
        perfarray.GaussianMixture(dataset=dataset), "modes", n_resamples=0
    )
    lower = perfarray.prob_faster(fit, "modes", n_resamples=0)
    np.testing.assert_allclose(higher["estimate"], 1 - lower["estimate"])


def test_mean_difference_of_lognormals_is_the_integral():
    """E|X - Y| is the integral of F + G - 2 F G; points differ by what they differ."""
    x, y = (
        NormalMixture(*map(np.array, column))
        for column in (([0.6, 0.4], [0.0, 1.0], [0.5, 0.2]), ([1.0], [0.4], [0.3]))
    )

    def integrand(t: float) -> float:
        f, g = (
            values.weights @ stats.norm.cdf((np.log(t) - values.means) / values.deviations)
            for values in (x, y)
        )
        return f + g - 2 * f * g

    assert difference_of_logs(x, y) == pytest.approx(
        integrate.quad(integrand, 0, 80, limit=400)[0], rel=1e-7
    )
    points = [
        NormalMixture(np.array([1.0]), np.array([np.log(value)]), np.array([0.0]))
        for value in (2.0, 5.0)
    ]
    assert difference_of_logs(*points) == pytest.approx(3.0)


def test_mean_difference_has_limits_in_the_units_of_the_data(fits):
    """Limits surround the estimate, and refits of logarithms take place on their scale."""
    fit = fits["lognormal"]
    result = perfarray.mean_difference(fit, "modes", n_resamples=19, confidence_level=0.9, rng=1)
    assert (result["lower"] < result["estimate"]).all()
    assert (result["estimate"] < result["upper"]).all()
    x, y = (
        fit.sel(benchmark=name).sample(200_000, rng=seed).values
        for name, seed in (("skewed", 1), ("modes", 2))
    )
    gap = np.abs(x - y)
    assert result["estimate"].item() == pytest.approx(
        gap.mean(), abs=4 * gap.std() / np.sqrt(200_000)
    )


def test_both_scales_are_compared(fits):
    """Of a mixture of log times and one of times, and of log times shifted, the answers are those
    of runs drawn from them."""
    auto, log = fits[EITHER], fits["lognormal"]
    for fit, shift in ((auto, 0.0), (auto, 0.1), (log, 0.1)):
        x, y = (
            fit.sel(benchmark=name).sample(20_000, rng=seed).values
            for name, seed in (("skewed", 1), ("modes", 2))
        )
        result = perfarray.prob_faster(fit, "modes", shift=shift, n_resamples=0)["estimate"].item()
        assert result == pytest.approx((x < y + shift).mean(), abs=4 * 0.5 / np.sqrt(20_000))


def test_what_is_not_available_is_refused(skewed):
    with pytest.raises(
        ValueError,
        match=r"distribution='maybe' is not known; choose one of 'normal', .* 'extreme', 'best'",
    ):
        fitted(skewed, distribution="maybe")
