"""Mixtures of other families than the normal: SciPy's distributions, fitted and chosen by BIC."""

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

import perfarray
from perfarray.mixtures.numerics.normal import NormalMixture
from perfarray.mixtures.numerics.scale import NAMES, Scaled, moments
from perfarray.mixtures.numerics.start import edged_classes

LAWS = {
    "lognormal": stats.lognorm,
    "gamma": stats.gamma,
    "weibull": stats.weibull_min,
    "exponential": stats.expon,
    "pareto": stats.pareto,
    "extreme": stats.gumbel_r,
}

SHAPES = {
    "lognormal": (0.4,),
    "gamma": (3.0,),
    "weibull": (1.7,),
    "exponential": (),
    "pareto": (3.0,),
    "extreme": (),
}

TWO = {
    "lognormal": (0.2,),
    "gamma": (30.0,),
    "weibull": (6.0,),
    "exponential": (),
    "pareto": (20.0,),
    "extreme": (),
}
"""Shapes of components that lie apart."""


def timings(*samples) -> xr.Dataset:
    """Return samples as benchmarks."""
    return perfarray.from_samples(
        {f"b{index}": list(sample) for index, sample in enumerate(samples)}, dim="benchmark"
    )


def sample_of(family: str, n: int = 120, seed: int = 1) -> np.ndarray:
    """Return values of one component."""
    return LAWS[family].rvs(*SHAPES[family], scale=2.0, size=n, random_state=seed) + 10.0 * (
        family == "extreme"
    )


def two(family: str, n: int = 400) -> np.ndarray:
    """Return values of two components, the second with two fifths of them."""
    rng = np.random.default_rng(5)
    first = rng.random(n) < 0.6
    if family == "extreme":
        return rng.gumbel(np.where(first, 10.0, 30.0), 1.0)
    return LAWS[family].rvs(*TWO[family], size=n, random_state=rng) * np.where(
        first, 1.0, 50.0 if family == "exponential" else 4.0
    )


def law_of(cell: xr.Dataset, component: int = 0):
    """Return a component as SciPy has it."""
    family = cell["family"].item()
    values = [cell[name].values[component] for name in ("shape_parameter", "location", "scale")]
    return LAWS[family](*(values if SHAPES[family] else values[1:]))


def fitted(
    sample, family: str | list[str], n_components: int = 1, **options
) -> perfarray.GaussianMixture:
    """Return the mixture of one sample."""
    return (
        timings(sample)
        .perf.fit_mixture(distribution=family, n_components=n_components, **options)
        .isel(benchmark=0)
    )


@pytest.mark.parametrize("family", LAWS)
def test_one_component_is_scipys_fit(family):
    """Parameters are the most likely ones: the likelihood is SciPy's at its own fit, or larger
    where that stops short."""
    x = sample_of(family)
    fit = fitted(x, family).to_dataset()
    theirs = LAWS[family].fit(x, **({} if family == "extreme" else {"floc": 0}))
    gap = fit["loglik"].item() - LAWS[family].logpdf(x, *theirs).sum()
    assert -1e-9 < gap < 1e-6
    ours = fit[["shape_parameter", "location", "scale"]].to_array().values[:, 0]
    assert_allclose(
        ours[~np.isnan(ours)], theirs, rtol=2e-5 if family == "weibull" else 1e-6
    )  # SciPy stops where its likelihood is lower
    parameters = {"exponential": 1}.get(family, 2)
    assert fit["bic"].item() == pytest.approx(
        2 * fit["loglik"].item() - parameters * np.log(len(x))
    )
    law = law_of(fit)
    assert_allclose(
        [fit["mean"].values[0], fit["standard_deviation"].values[0]],
        [law.mean(), law.std()],
        rtol=1e-12,
    )


def test_weibull_is_at_its_maximum():
    """The slopes of the likelihood vanish at the fit, which SciPy's search only comes near."""
    x = sample_of("weibull")
    fit = fitted(x, "weibull").to_dataset().isel(component=0)
    c, powers = fit["shape_parameter"].item(), x ** fit["shape_parameter"].item()
    assert (powers @ np.log(x)) / powers.sum() - 1 / c == pytest.approx(np.log(x).mean(), rel=1e-9)
    assert fit["scale"].item() == pytest.approx(powers.mean() ** (1 / c), rel=1e-9)


@pytest.mark.parametrize("family", LAWS)
def test_two_components_are_found_and_described(family):
    """What is said is what SciPy's components say, weighted; the fit is near the truth."""
    x = two(family)
    values = fitted(x, family, 2, tolerance=1e-6)
    cell = values.to_dataset()
    assert_allclose(cell["weight"], [0.6, 0.4], atol=0.06)
    assert (np.diff(cell["mean"]) > 0).all()
    laws, quantiles = [law_of(cell, k) for k in (0, 1)], np.quantile(x, [0.01, 0.3, 0.7, 0.99])
    for ours, name in ((values.pdf, "pdf"), (values.cdf, "cdf")):
        expected = sum(
            w * getattr(law, name)(quantiles)
            for w, law in zip(cell["weight"].values, laws, strict=True)
        )
        assert_allclose(ours(quantiles), expected, rtol=1e-9)
    assert_allclose(values.quantile(values.cdf(quantiles).values), quantiles, rtol=1e-9)
    assert cell["loglik"].item() == pytest.approx(np.log(values.pdf(x).values).sum(), rel=1e-9)
    draws = values.sample(4000, rng=1)
    assert draws.mean().item() == pytest.approx(
        values.mean().item(), abs=4 * values.std().item() / np.sqrt(4000)
    )
    assert_array_equal(values.assign([x.min(), x.max()]), [1, 2])
    assert values.pdf(1.0).attrs["units"] == f"1/{values.quantile(0.5).attrs['units']}" == "1/s"
    if family != "extreme":
        assert values.pdf([-1.0, 0.0]).values.tolist()[0] == values.cdf(-1.0).item() == 0.0
        assert np.isnan(values.assign(0.0))
        assert values.quantile(1.0).item() == np.inf


@pytest.mark.parametrize("family", LAWS)
def test_modes_are_the_peaks_of_the_density(family):
    """As many as are seen on a fine grid; an exponential's is at 0, a Pareto's at its edge."""
    fit = fitted(two(family, 200), family, 2, tolerance=1e-5)
    x = np.linspace(0.3, 160, 200_001)
    density = fit.pdf(x).values
    expected = x[1:-1][(density[1:-1] > density[:-2]) & (density[1:-1] > density[2:])]
    expected = {"exponential": [0.0], "pareto": np.sort(fit.to_dataset()["scale"].values)}.get(
        family, expected
    )
    assert_allclose(
        fit.modes().dropna("mode").values,
        expected,
        rtol=1e-7,
        atol=0.0 if family in ("exponential", "pareto") else 8e-4,
    )


def test_a_density_that_falls_from_the_start_has_its_mode_at_0():
    """Gamma and Weibull values of shapes below 1 are densest at 0; another component adds a mode of
    its own."""
    rng = np.random.default_rng(2)
    x = np.r_[rng.gamma(0.5, 1.0, 150), rng.gamma(400, 0.05, 100)]
    assert fitted(x, "gamma", 2, tolerance=1e-6).modes().values == pytest.approx(
        [0.0, 20.0], abs=0.3
    )
    assert fitted(rng.weibull(0.6, 100), "weibull").modes().values.tolist() == [0.0]


@pytest.mark.parametrize("family", ["normal", *LAWS])
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_sizes_that_square_to_nothing_or_infinity_are_fitted(family, size):
    """Moments, modes and the test of deviations never square values of the data."""
    x = sample_of("gamma", 40)
    first, second = (fitted(values, family) for values in (x, size * x))
    for name in ("mean", "std", "modes"):
        assert_allclose(getattr(second, name)() / size, getattr(first, name)(), rtol=1e-9)


@pytest.mark.parametrize("relative", [1e-9, 1e-4, 5e-3, 0.05])
def test_narrow_weibull_values_have_a_deviation(relative):
    """That of logarithms, whose relative spread is pi / sqrt(6) over the shape, to first order."""
    shape = np.pi / np.sqrt(6) / relative
    values = Scaled(
        NormalMixture(np.ones(1), np.zeros(1), np.array([1 / shape])),
        np.array(NAMES.index("weibull")),
    )
    _, means, deviations = moments(values)
    assert deviations[0] / means[0] == pytest.approx(relative, rel=1e-9 + 2 * relative)
    if relative > 1e-3:
        assert deviations[0] == pytest.approx(stats.weibull_min(shape).std(), rel=1e-8)


def test_heavy_tails_have_no_moments():
    """A Pareto mean is infinite up to shape 1, its deviation up to shape 2; quantiles are not."""
    heavy, middle = (
        fitted(1 + np.random.default_rng(1).pareto(shape, 300), "pareto") for shape in (0.6, 1.5)
    )
    assert heavy.to_dataset()["shape_parameter"].item() < 1
    assert np.isposinf([heavy.mean().item(), heavy.std().item(), middle.std().item()]).all()
    assert np.isfinite([heavy.quantile(0.999).item(), middle.mean().item()]).all()


def test_edges_of_classes_are_where_values_begin():
    """Of 1,200 values in three classes, each falling from its least on, places are exact; an edge
    beyond the first counts twice in BIC."""
    rng = np.random.default_rng(6)
    sample = np.sort(
        np.r_[
            rng.exponential(0.1, 500), 2 + rng.exponential(0.05, 400), 5 + rng.exponential(0.2, 300)
        ]
    )
    starts = edged_classes(sample[None], np.ones((1, 1200)), np.array([1200]), 3)
    assert starts.tolist() == [[0, 500, 900, 1200]]
    assert edged_classes(
        np.array([[1.0, 1.0, 2.0]]), np.ones((1, 3)), np.array([3]), 2
    ).tolist() == [[0, 2, 3]]
    fit = fitted(np.exp(sample), "pareto", 3, covariance="unequal").to_dataset()
    assert_allclose(np.log(fit["scale"].values), sample[[0, 500, 900]])
    assert fit["bic"].item() == pytest.approx(2 * fit["loglik"].item() - (8 + 2) * np.log(1200))


def test_best_chooses_family_and_number():
    """Families compete by BICs of the runs themselves; the answer is that of the family asked for
    alone."""
    times = timings(
        two("extreme", 200),
        sample_of("exponential", 300, 3),
        sample_of("pareto", 200),
        9 - 2 * sample_of("extreme", 300) / 10,
    )
    options = {"max_components": 2, "tolerance": 1e-6}
    best = times.perf.fit_mixture(distribution="best", **options).to_dataset()
    assert best["family"].values[:3].tolist() == ["extreme", "exponential", "pareto"]
    assert best["n_components"].values[:3].tolist() == [2, 1, 1]
    for index, family in enumerate(best["family"].values):
        alone = (
            times.isel(benchmark=[index])
            .perf.fit_mixture(distribution=family, **options)
            .to_dataset()
        )
        assert alone["bic"].item() == best["bic"].values[index]
    assert best.attrs["distribution"] == "normal lognormal gamma weibull exponential pareto extreme"


def test_components_at_the_floor_do_not_compete():
    """Ties draw a component of any family onto one value; with the number forced, another family
    without such a component is taken."""
    x = np.r_[np.full(20, 1.5), sample_of("gamma", 60)]
    fit = (
        timings(x)
        .perf.fit_mixture(
            distribution=["gamma", "weibull", "extreme"], max_components=4, tolerance=1e-5
        )
        .to_dataset()
    )
    assert not fit["floored"].item()
    assert fit["n_floored"].item() > 0


def test_what_cannot_be_fitted():
    """Zeros have no positive family, a constant is a point in all of them, few runs are one
    component."""
    times = perfarray.from_samples(
        {"zero": [0.0, 1.0, 2.0, 4.0], "constant": [2.0] * 4, "few": [1.0, 2.0, 3.0, np.nan]},
        dim="benchmark",
        units="1",
    )
    for family in LAWS:
        with pytest.warns(UserWarning, match="constant"):
            fit = times.perf.fit_mixture(distribution=family, max_components=1)
        point = fit.sel(benchmark="constant")
        assert (point.mean().item(), point.std().item()) == (pytest.approx(2.0), 0.0)
        assert point.cdf([1.9, 2.0, 2.1]).values.tolist() == [0.0, 1.0, 1.0]
        assert point.pdf([-1.0, 1.0, 2.0]).values.tolist() == [0.0, 0.0, np.inf]
        assert point.sample(2).values == pytest.approx([2.0, 2.0])
        assert np.isnan(fit.sel(benchmark="zero").mean().item()) == (family != "extreme")
        assert fit.to_dataset()["n"].values.tolist() == [4, 4, 3]
    with pytest.warns(UserWarning, match="not positive"):
        codes = [
            note.code
            for note in times.perf.fit_mixture(distribution="gamma", max_components=1)
            .to_dataset()
            .perf.notes()
        ]
    assert codes == ["constant", "no_mixture"]


@pytest.mark.filterwarnings("ignore:.*cells:UserWarning")
def test_units_signs_and_types_do_not_matter():
    """Milliseconds have means a thousand times as large; float32 and more being better change
    nothing but digits."""
    x = np.round(np.r_[sample_of("gamma", 40), sample_of("gamma", 20, 2) + 20], 2)
    times = timings(x, x[:7])
    options = {
        "distribution": ["gamma", "weibull", "pareto"],
        "max_components": 2,
        "tolerance": 1e-6,
    }
    first, second = times.perf.fit_mixture(**options), (1000 * times).perf.fit_mixture(**options)
    assert_allclose(1000 * first.to_dataset()["mean"], second.to_dataset()["mean"], rtol=1e-6)
    one_run = times.astype(np.float32).perf.fit_mixture(**options)
    assert_allclose(one_run.to_dataset()["bic"], first.to_dataset()["bic"], rtol=1e-4)
    rate = times.assign(
        time=times["time"].assign_attrs(better="higher", units="1/s")
    ).perf.fit_mixture(**options)
    assert_array_equal(rate.to_dataset()["mean"], first.to_dataset()["mean"])


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_fitted_mixtures_and_their_samples_keep_what_is_better(better):
    high, low = (
        timings(factor * sample_of("gamma", 40))["time"].assign_attrs(better=better, units="1/s")
        for factor in (2, 1)
    )
    fits = [rates.perf.fit_mixture() for rates in (high, low)]
    samples = [fit.sample(200, rng=seed) for seed, fit in enumerate(fits)]
    for candidate, baseline in ((high, low), fits, samples):
        assert (perfarray.prob_faster(candidate, baseline)["estimate"].item() > 0.5) == (
            better == "higher"
        )


@pytest.mark.parametrize("distribution", ["best", ["best"], ["normal", "best"]])
def test_best_stands_for_all_families(distribution):
    fit = timings(sample_of("gamma", 40)).perf.fit_mixture(
        distribution=distribution, max_components=1
    )
    assert fit.to_dataset().attrs["distribution"].split() == list(NAMES)


def test_units_of_unequal_size_count_alike():
    """The likelihood is that of weighted runs."""
    values = np.random.default_rng(3).gamma(4, 1.0, (30, 5))
    values[::2, 1:] = np.nan
    times = xr.DataArray(values, dims=("execution", "iteration"), name="time")
    fit = times.perf.fit_mixture(distribution="gamma", value="iteration", n_components=1)
    measured = ~np.isnan(values)
    shares = np.where(measured, 1 / measured.sum(axis=1, keepdims=True), 0)
    shares *= measured.sum() / shares.sum()
    assert fit.mean().item() == pytest.approx(
        np.nansum(shares * values) / measured.sum(), rel=1e-10
    )
    assert fit.to_dataset()["loglik"].item() == pytest.approx(
        np.nansum(shares * np.log(fit.pdf(times).values)), rel=1e-10
    )


def test_the_test_of_fit_refits_the_family():
    """Gamma runs are described by gamma components and not by exponential ones; families are chosen
    anew where they were chosen."""
    times = timings(sample_of("gamma", 80))
    options = {"n_resamples": 20, "rng": 1}
    fits = [
        times.perf.fit_mixture(distribution=name, n_components=1)
        for name in ("gamma", "exponential")
    ]
    result = [times.perf.goodness_of_fit(fit, **options) for fit in fits]
    assert result[0]["pvalue"].item() > 0.05 >= result[1]["pvalue"].item()
    law = law_of(fits[1].to_dataset().isel(benchmark=0))
    assert result[1]["statistic"].item() == pytest.approx(
        stats.kstest(times["time"].values[0], law.cdf).statistic
    )
    selected = times.perf.fit_mixture(
        distribution=["normal", "weibull"], n_components=1, tolerance=1e-5
    )
    assert (
        0
        <= times.perf.goodness_of_fit(selected, **options | {"n_resamples": 3})["pvalue"].item()
        <= 1
    )


def test_lazy_fits_are_the_same():
    """Chunks change nothing, and the family is text as it is in memory."""
    pytest.importorskip("dask")
    times = timings(sample_of("gamma", 40), sample_of("extreme", 40))
    options = {"distribution": ["gamma", "extreme"], "max_components": 1}
    lazy, eager = (
        times.chunk({"benchmark": 1}).perf.fit_mixture(**options),
        times.perf.fit_mixture(**options),
    )
    assert lazy.to_dataset()["family"].chunks
    xr.testing.assert_allclose(lazy.quantile(0.3).compute(), eager.quantile(0.3))
    assert_array_equal(lazy.to_dataset()["family"].compute(), eager.to_dataset()["family"])


THREE = {
    "gamma": stats.gamma(30.0, scale=0.1),
    "weibull": stats.weibull_min(6.0, scale=3.2),
    "extreme": stats.gumbel_r(2.7, 0.4),
}
"""Laws of which each is now and then the least, and the greatest."""


@pytest.fixture(scope="module")
def three() -> list[perfarray.GaussianMixture]:
    """Return them as mixtures of one component."""
    everything = []
    for name, law in THREE.items():
        shape = [law.args[0]] if len(law.args) == 1 else [np.nan]
        location, scale = law.args if len(law.args) == 2 else (0.0, law.kwds["scale"])
        columns = {
            "shape_parameter": shape,
            "location": [location],
            "scale": [scale],
            "weight": [1.0],
        }
        columns |= {"mean": [law.mean()], "standard_deviation": [law.std()]}
        dataset = xr.Dataset(
            {column: ("component", value) for column, value in columns.items()}, {"component": [1]}
        )
        attrs = {"units": "s", "distribution": " ".join(THREE), "metric": "time"}
        everything.append(
            perfarray.GaussianMixture(
                dataset=dataset.assign(family=((), np.array(name, object)), n=30.0).assign_attrs(
                    attrs
                )
            )
        )
    return everything


def chance(law, *remaining_values, shift=0.0, greatest=False):
    """Return the probability that a value is less than those of all others, shifted, or greater, by
    SciPy."""

    def density(x):
        return law.pdf(x) * np.prod(
            [second.cdf(x) if greatest else second.sf(x - shift) for second in remaining_values]
        )

    return integrate.quad(density, 0.0, 14.0, limit=300, epsabs=1e-11)[0]


def test_families_are_compared_with_each_other(three):
    """P[X < Y + shift] and E|X - Y| are SciPy's integrals; more is better turns the order round; a
    constant is compared as well."""
    gamma, weibull, extreme = THREE.values()
    for x, y, laws in (
        (three[0], three[1], (gamma, weibull)),
        (three[2], three[0], (extreme, gamma)),
    ):
        for shift in (0.0, 0.3):
            result = perfarray.prob_faster(x, y, shift=shift, n_resamples=0)
            assert result["estimate"].item() == pytest.approx(chance(*laws, shift=shift), abs=1e-9)
            assert result["tied"] == 0
        high = [
            perfarray.GaussianMixture(dataset=values.to_dataset().assign_attrs(better="higher"))
            for values in (x, y)
        ]
        higher = perfarray.prob_faster(*high, shift=0.3, n_resamples=0)["estimate"].item()
        assert higher == pytest.approx(chance(*laws[::-1], shift=0.3), abs=1e-9)
        gap = integrate.quad(
            lambda t, first=laws[0], two=laws[1]: (
                first.cdf(t) * two.sf(t) + first.sf(t) * two.cdf(t)
            ),
            0.0,
            14.0,
            limit=300,
        )[0]
        assert perfarray.mean_difference(x, y, n_resamples=0)["estimate"].item() == pytest.approx(
            gap, rel=1e-8
        )
    constant = {
        "mean": ("component", [3.0]),
        "standard_deviation": ("component", [0.0]),
        "family": np.array("normal", object),
    }
    point = perfarray.GaussianMixture(dataset=three[0].to_dataset().assign(constant))
    calls = (
        (perfarray.prob_faster, three[0], point),
        (perfarray.prob_faster, point, three[0]),
        (perfarray.mean_difference, point, three[0]),
    )
    result = [function(x, y, n_resamples=0)["estimate"].item() for function, x, y in calls]
    gap = integrate.quad(lambda t: abs(t - 3.0) * gamma.pdf(t), 0, 14)[0]
    assert result == [
        pytest.approx(gamma.cdf(3.0)),
        pytest.approx(gamma.sf(3.0)),
        pytest.approx(gap, rel=1e-7),
    ]


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_the_fastest_of_several_families(three, better):
    """The probabilities are SciPy's integrals, and sum to one."""
    together = (
        xr.concat([values.to_dataset() for values in three], "version")
        .assign_coords(version=list(THREE))
        .assign_attrs(better=better)
    )
    result = perfarray.prob_fastest(
        perfarray.GaussianMixture(dataset=together), dim="version", n_resamples=0
    )["estimate"].values
    laws = list(THREE.values())
    for index, law in enumerate(laws):
        remaining_values = [second for second in laws if second is not law]
        assert result[index] == pytest.approx(
            chance(law, *remaining_values, greatest=better == "higher"), abs=1e-9
        )
    assert result.sum() == pytest.approx(1.0)


def test_limits_of_other_families_refit_them(three):
    """They hold the estimate; totals, which have no lattice, are refused; modes are counted."""
    result = perfarray.prob_faster(three[0], three[1], n_resamples=10, confidence_level=0.8, rng=1)
    assert result["lower"] < result["estimate"] < result["upper"]
    assert result["n"] == 30
    with pytest.raises(
        ValueError,
        match=(
            "runs=5: totals are of normal mixtures, and these are gamma, weibull; give the timings"
        ),
    ):
        perfarray.prob_faster(three[0], three[1], runs=5)
    assert perfarray.variability_level(three[0])["estimate"] == 1


def test_pictures_name_the_family():
    """The curve is the density, heavy tails do not squeeze it."""
    fit = fitted(sample_of("pareto"), "pareto")
    ax = fit.plot(times=timings(sample_of("pareto")).isel(benchmark=0))
    assert ax.get_title(loc="left").startswith("Mixture of 1 Pareto component")
    complete = next(line for line in ax.lines if line.get_label() == "mixture")
    assert_allclose(complete.get_ydata(), fit.pdf(complete.get_xdata()).squeeze())


def test_moments_are_integrals():
    """Mean and deviation of a mixture are those of its density; of normal components the spread
    inside and the distance between add up."""
    plain = perfarray.GaussianMixture.from_parameters([0.5, 0.5], [1.0, 3.0], [0.6, 0.6])
    assert (plain.mean().item(), plain.std().item()) == (2.0, pytest.approx(np.hypot(0.6, 1.0)))
    fit = fitted(two("weibull", 100), "weibull", 2, tolerance=1e-4)
    x = np.linspace(0, 12, 100_001)
    first, second = (integrate.simpson(x**power * fit.pdf(x).values, x=x) for power in (1, 2))
    assert fit.mean().item() == pytest.approx(first, rel=1e-4)
    assert fit.std().item() == pytest.approx(np.sqrt(second - first**2), rel=1e-4)


def test_a_bar_counts_cells_once_for_every_family(capsys):
    """So many cells times so many families, in one bar; no number changes, and a lazy result has
    none."""
    times = timings(sample_of("gamma", 30), sample_of("gamma", 20), [0.5, 2.0, 3.0])
    choice = {"distribution": ["normal", "lognormal"], "max_components": 2}
    texts = times.perf.fit_mixture(**choice, progress=True)
    assert "6/6" in capsys.readouterr().err
    xr.testing.assert_identical(texts.to_dataset(), times.perf.fit_mixture(**choice).to_dataset())
    times.chunk(benchmark=1).perf.fit_mixture(**choice, progress=True).to_dataset().compute()
    assert capsys.readouterr().err == ""
