"""Mixtures of log times: what they say is in the units of the data, and compares with what plain mixtures say."""

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, stats

import perfarray
from perfarray.mixtures.numerics import integrals
from perfarray.mixtures.numerics.normal import Mixture
from perfarray.mixtures.numerics.scale import Scaled
from strategies import experiments

EITHER = ("normal", "lognormal")

WEIGHTS, MEANS, DEVIATIONS = [0.6, 0.4], [0.0, 1.0], [0.5, 0.2]


def two_lognormals() -> perfarray.GaussianMixture:
    """Return a skewed mode and a narrow one."""
    return lognormal(WEIGHTS, MEANS, DEVIATIONS)


def lognormal(weights: list, means: list, deviations: list) -> perfarray.GaussianMixture:
    """Return a mixture of values whose logarithms have these means and standard deviations."""
    parts = [stats.lognorm(deviation, scale=np.exp(mean)) for mean, deviation in zip(means, deviations, strict=True)]
    moments = [part.mean() for part in parts], [part.std() for part in parts]
    return perfarray.GaussianMixture.from_parameters(weights, *moments, units="s", distribution="lognormal")


def laws() -> list:
    """Return the components as SciPy has them."""
    return [stats.lognorm(deviation, scale=np.exp(mean)) for mean, deviation in zip(MEANS, DEVIATIONS, strict=True)]


def difference_of_logs(*mixtures: Mixture) -> float:
    """Return E|X - Y| of mixtures whose logarithms are normal."""
    return float(integrals.difference(*(Scaled(mixture, np.array(1)) for mixture in mixtures)))


@pytest.fixture(scope="module")
def skewed() -> xr.Dataset:
    """Return lognormal runs, and runs of two normal modes."""
    rng = np.random.default_rng(4)
    modes = rng.normal(np.where(rng.random(60) < 0.5, 1.0, 3.0), 0.2)
    return perfarray.from_samples({"skewed": np.exp(rng.normal(0, 0.6, 60)), "modes": modes}, dim="benchmark")


@pytest.fixture(scope="module")
def fits(skewed) -> dict:
    """Return its fits by what the components may be."""
    return {distribution: fitted(skewed, distribution=distribution) for distribution in ("normal", "lognormal", EITHER)}


def fitted(times: xr.Dataset | xr.DataArray, **options) -> perfarray.GaussianMixture:
    """Fit no more components than these data need."""
    return perfarray.fit_mixture(times, max_components=3, **options)


def test_density_and_distribution_are_those_of_lognormals():
    """Both are the weighted sums of SciPy's, and nothing lies at or below 0."""
    x = np.array([-1.0, 0.0, 0.3, 1.0, 2.7, 9.0])
    own = two_lognormals()
    for ours, name in ((own.pdf(x), "pdf"), (own.cdf(x), "cdf")):
        wanted = sum(weight * getattr(law, name)(x) for weight, law in zip(WEIGHTS, laws(), strict=True))
        np.testing.assert_allclose(ours, wanted, rtol=1e-12, atol=1e-300)
    assert own.pdf(1.0).attrs["units"] == "1/s"
    assert np.isnan(own.pdf(np.nan))


def test_mean_and_deviation_are_closed_forms_and_integrals():
    """For one component they are the lognormal's; for two, integrals of the density."""
    one = lognormal([1.0], [0.3], [0.5])
    assert one.mean().item() == pytest.approx(laws()[0].mean() * np.exp(0.3), rel=1e-12)
    assert one.std().item() == pytest.approx(laws()[0].std() * np.exp(0.3), rel=1e-12)
    own = two_lognormals()
    x = np.linspace(0, 60, 100_001)
    first, second = (integrate.simpson(x**power * own.pdf(x).values, x=x) for power in (1, 2))
    assert own.mean().item() == pytest.approx(first, rel=1e-7)
    assert own.std().item() == pytest.approx(np.sqrt(second - first**2), rel=1e-6)


def test_moments_of_a_plain_mixture():
    """Two equal points of the same spread: the spread inside and the distance between add up."""
    plain = perfarray.GaussianMixture.from_parameters([0.5, 0.5], [1.0, 3.0], [0.6, 0.6])
    assert plain.mean().item() == 2.0
    assert plain.std().item() == pytest.approx(np.hypot(0.6, 1.0))


def test_quantiles_turn_the_distribution_round():
    """Quantile of the probability of x is x."""
    own, q = two_lognormals(), np.array([0.01, 0.3, 0.6, 0.99])
    np.testing.assert_allclose(own.cdf(own.quantile(q)), q, rtol=1e-12)
    assert own.quantile([0.0, 1.0]).values.tolist() == [0.0, np.inf]


def test_modes_are_those_of_the_density_of_the_times():
    """A lognormal's is exp(mu - sigma^2), not exp(mu); those of a mixture are the peaks seen on a fine grid."""
    one = lognormal([1.0], [0.3], [0.5])
    assert one.modes().values == pytest.approx([np.exp(0.3 - 0.25)])
    own, x = two_lognormals(), np.linspace(0.01, 6, 60_000)
    density = own.pdf(x).values
    peaks = x[1:-1][(density[1:-1] > density[:-2]) & (density[1:-1] > density[2:])]
    np.testing.assert_allclose(own.modes().values, peaks, atol=2e-4)
    assert own.n_modes().item() == 2


def test_draws_and_classes_are_in_the_units_of_the_data():
    """Draws have the mixture's mean; a value belongs to the component with the larger share of its density; 0 belongs to none."""
    own = two_lognormals()
    draws = own.sample(20_000, rng=1)
    assert draws.mean().item() == pytest.approx(own.mean().item(), abs=4 * own.std().item() / np.sqrt(20_000))
    assert own.assign([0.5, np.exp(1.0), 0.0]).values.tolist()[:2] == [1.0, 2.0]
    assert np.isnan(own.assign(0.0))


def test_likelihoods_are_those_of_the_times(skewed, fits):
    """The log-likelihood is the sum of log densities of the runs on either scale, so that BICs compare."""
    for distribution in ("normal", "lognormal"):
        fit = fits[distribution]
        times = skewed["time"]
        total = np.log(fit.pdf(times)).sum("execution")
        xr.testing.assert_allclose(fit.to_dataset()["loglik"].drop_attrs(), total.drop_attrs())
        assert fit.quantile(0.5).attrs["units"] == "s"


def test_fits_of_logs_are_plain_fits_of_logs(skewed, fits):
    """Parameters are those of the logarithms; the BIC is lower by twice the sum of the logarithms."""
    one = fits["lognormal"].to_dataset()
    logs = np.log(skewed["time"]).assign_attrs(units="1")
    other = fitted(logs).to_dataset()
    np.testing.assert_allclose(np.log(one["scale"]), other["mean"], rtol=1e-12)
    np.testing.assert_allclose(one["shape_parameter"], other["standard_deviation"], rtol=1e-12)
    np.testing.assert_allclose(one["bic"], other["bic"] - 2 * logs.sum("execution"))
    assert one["mean"].attrs["units"] == one["scale"].attrs["units"] == "s"


def test_auto_takes_the_clearly_better_bic(fits):
    """Skewed runs are fitted by their logarithms, two normal modes as they are; both cells keep what they have on their own."""
    plain, log, auto = (fit.to_dataset() for fit in fits.values())
    assert auto["family"].sel(benchmark=["skewed", "modes"]).values.tolist() == ["lognormal", "normal"]
    np.testing.assert_array_equal(auto["bic"], np.maximum(plain["bic"], log["bic"]))
    assert auto["n_components"].sel(benchmark="skewed") == log["n_components"].sel(benchmark="skewed")


def test_auto_keeps_the_times_where_logs_are_hardly_better():
    """Far from 0 a narrow mode is as good on either scale: a BIC that is larger by less than 2 does not turn it into logarithms."""
    times = perfarray.from_samples({"narrow": np.exp(np.random.default_rng(8).normal(6.0, 0.01, 60))}, dim="benchmark")
    auto, plain, log = (fitted(times, distribution=name).to_dataset() for name in (EITHER, "normal", "lognormal"))
    assert 0 < (log["bic"] - plain["bic"]).item() < 2
    assert auto["family"].item() == "normal"
    assert auto["bic"].item() == plain["bic"].item()


def test_likelihoods_weight_units_alike():
    """An execution with one iteration counts as much as one with five, in the sum of the logarithms too."""
    values = np.exp(np.random.default_rng(3).normal(0, 0.5, (30, 5)))
    values[::2, 1:] = np.nan
    times = xr.DataArray(values, dims=("execution", "iteration"), name="time")
    fit = fitted(times, distribution="lognormal", value="iteration", covariance="equal", n_components=1)
    measured = ~np.isnan(values)
    shares = np.where(measured, 1 / measured.sum(axis=1, keepdims=True), 0)
    shares *= measured.sum() / shares.sum()
    assert fit.to_dataset()["loglik"].item() == pytest.approx(np.nansum(shares * np.log(fit.pdf(times).values)), rel=1e-10)
    assert fit.quantile(0.5).item() == pytest.approx(np.exp(np.nansum(shares * np.log(values)) / measured.sum()), rel=1e-10)


def test_runs_that_are_not_positive_have_no_logarithms(skewed):
    """Such a cell is NaN with a warning; with "auto" it is fitted as it is."""
    shifted = skewed - xr.DataArray([0.0, 5.0], dims="benchmark", coords={"benchmark": ["skewed", "modes"]})
    shifted["time"].attrs["units"] = "1"
    with pytest.warns(UserWarning, match="1 of 2 cells .* have runs that are not positive: they have no fit"):
        fit = fitted(shifted, distribution="lognormal")
    assert np.isnan(fit.mean().sel(benchmark="modes"))
    assert fit.to_dataset()["covariance"].sel(benchmark="modes") == "unknown"
    assert fitted(shifted, distribution=EITHER).to_dataset()["family"].sel(benchmark="modes") == "normal"


def test_units_do_not_matter(skewed, fits):
    """Times in milliseconds have means a thousand times as large and the same choice of scale."""
    one, other = fits[EITHER], fitted(1000 * skewed, distribution=EITHER)
    np.testing.assert_allclose(1000 * one.mean(), other.mean(), rtol=1e-6)
    np.testing.assert_array_equal(one.to_dataset()["family"], other.to_dataset()["family"])


def test_a_constant_stays_a_point():
    """One value, whichever the scale."""
    times = perfarray.from_samples({"constant": [2.0, 2.0, 2.0]}, dim="benchmark")
    with pytest.warns(UserWarning, match="1 of 1 cells are constant"):
        fit = fitted(times, distribution="lognormal")
    assert fit.mean().item() == pytest.approx(2.0)
    assert fit.std().item() == 0.0
    assert fit.pdf([-1.0, 1.0, 2.0]).squeeze().values.tolist() == [0.0, 0.0, np.inf]


def test_goodness_of_fit_is_that_of_the_logarithms(skewed):
    """The distance and the refits are those of plain mixtures of logarithms; "auto" chooses the scale of each draw anew."""
    one = skewed.perf.goodness_of_fit(fitted(skewed, distribution="lognormal", tolerance=1e-5), n_resamples=experiments(20), rng=1)
    logs = np.log(skewed["time"]).assign_attrs(units="1")
    other = logs.perf.goodness_of_fit(fitted(logs, tolerance=1e-5), n_resamples=experiments(20), rng=1)
    np.testing.assert_allclose(one["statistic"], other["statistic"], rtol=1e-9)
    np.testing.assert_array_equal(one["pvalue"], other["pvalue"])
    auto = skewed.perf.goodness_of_fit(fitted(skewed, distribution=EITHER), n_resamples=10, rng=1, resolution=0.01)
    assert (auto["pvalue"] > 0.05).all()


def test_orders_do_not_depend_on_the_scale(skewed, fits):
    """P[X < Y] and P[fastest] of log fits are those of plain fits of the logarithms; more may be better."""
    fit = fits["lognormal"]
    other = fitted(np.log(skewed["time"]).assign_attrs(units="1"))
    for method in ("prob_faster", "prob_fastest"):
        options = {"baseline": "modes"} if method == "prob_faster" else {"dim": "benchmark"}
        found, wanted = (getattr(perfarray, method)(own, n_resamples=0, **options) for own in (fit, other))
        np.testing.assert_allclose(found["estimate"], wanted["estimate"], rtol=1e-9)
    dataset = fit.to_dataset().assign_attrs(better="higher")
    more = perfarray.prob_faster(perfarray.GaussianMixture(dataset=dataset), "modes", n_resamples=0)
    less = perfarray.prob_faster(fit, "modes", n_resamples=0)
    np.testing.assert_allclose(more["estimate"], 1 - less["estimate"])


def test_mean_difference_of_lognormals_is_the_integral():
    """E|X - Y| is the integral of F + G - 2 F G; points differ by what they differ."""
    x, y = (Mixture(*map(np.array, part)) for part in ((WEIGHTS, MEANS, DEVIATIONS), ([1.0], [0.4], [0.3])))

    def reached(own: Mixture, t: float) -> float:
        return sum(w * stats.norm.cdf((np.log(t) - m) / s) for w, m, s in zip(*own, strict=True))

    def integrand(t: float) -> float:
        f, g = reached(x, t), reached(y, t)
        return f + g - 2 * f * g

    assert difference_of_logs(x, y) == pytest.approx(integrate.quad(integrand, 0, 80, limit=400)[0], rel=1e-7)
    points = [Mixture(np.array([1.0]), np.array([np.log(value)]), np.array([0.0])) for value in (2.0, 5.0)]
    assert difference_of_logs(*points) == pytest.approx(3.0)


def test_mean_difference_has_limits_in_the_units_of_the_data(fits):
    """Limits surround the estimate, and refits of logarithms take place on their scale."""
    fit = fits["lognormal"]
    found = perfarray.mean_difference(fit, "modes", n_resamples=19, confidence_level=0.9, rng=1)
    assert (found["lower"] < found["estimate"]).all()
    assert (found["estimate"] < found["upper"]).all()
    x, y = (fit.sel(benchmark=name).sample(200_000, rng=seed).values for name, seed in (("skewed", 1), ("modes", 2)))
    apart = np.abs(x - y)
    assert found["estimate"].item() == pytest.approx(apart.mean(), abs=4 * apart.std() / np.sqrt(200_000))


def test_modes_of_logs_are_counted_in_the_times(fits):
    """The variability level is the number of modes of the density of the times."""
    fit = fits[EITHER]
    np.testing.assert_array_equal(perfarray.variability_level(fit)["estimate"], fit.n_modes())


def test_both_scales_are_compared(fits):
    """Of a mixture of log times and one of times, and of log times shifted, the answers are those of runs drawn from them."""
    auto, log = fits[EITHER], fits["lognormal"]
    for fit, shift in ((auto, 0.0), (auto, 0.1), (log, 0.1)):
        x, y = (fit.sel(benchmark=name).sample(20_000, rng=seed).values for name, seed in (("skewed", 1), ("modes", 2)))
        found = perfarray.prob_faster(fit, "modes", shift=shift, n_resamples=0)["estimate"].item()
        assert found == pytest.approx((x < y + shift).mean(), abs=4 * 0.5 / np.sqrt(20_000))


def test_what_is_not_available_is_refused(skewed):
    """distribution= takes names of families."""
    with pytest.raises(ValueError, match=r"distribution='maybe' is not known; choose one of 'normal', .* 'extreme', 'best'"):
        fitted(skewed, distribution="maybe")


def test_pictures_are_in_the_units_of_the_data(skewed):
    """The curve is the density of the times, and the largest distance that of Kolmogorov and Smirnov."""
    cell = skewed.sel(benchmark="skewed")
    fit = fitted(cell, distribution="lognormal")
    ax = fit.plot(times=cell)
    whole = next(line for line in ax.lines if line.get_label() == "mixture")
    np.testing.assert_allclose(whole.get_ydata(), fit.pdf(whole.get_xdata()))
    assert ax.get_title(loc="left").startswith("Mixture of 1 lognormal component")
    ax = fit.plot(times=cell, kind="cdf")
    distance = stats.kstest(cell["time"], lambda x: fit.cdf(x).values).statistic
    assert f"largest distance {distance:.3g}" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_lazy_fits_are_the_same(skewed, fits):
    """Chunks change nothing, nor does a file."""
    pytest.importorskip("dask")
    lazy = fitted(skewed.chunk({"benchmark": 1}), distribution=EITHER)
    eager = fits[EITHER]
    xr.testing.assert_allclose(lazy.mean().compute(), eager.mean())
    xr.testing.assert_allclose(lazy.modes().compute().dropna("mode", how="all"), eager.modes().dropna("mode", how="all"))
