"""Mixtures of runs with labels: the paper's example, one object for many cells, what is refused."""

import numpy as np
import pytest
import xarray as xr

import perfarray


@pytest.fixture
def ammp(golden):
    """Return the runs of ammp-C2 (appendix A), and what the paper prints of them."""
    case = golden("mclust")["cases"][0]
    return perfarray.from_samples({"ammp": case["input"]["x"]}, dim="benchmark"), case["paper"]


def runs(n=80, seed=1):
    """Return timings of two benchmarks on two machines, one ragged, of one and two modes."""
    rng = np.random.default_rng(seed)
    first, two = (
        rng.normal(1.0, 0.05, (2, n)),
        rng.normal(np.where(np.arange(n) % 3, 2.0, 3.0), 0.05, (2, n)),
    )
    first[1, n // 2 :] = np.nan
    labels = {"benchmark": ["one", "two"], "machine": ["x", "y"]}
    array = xr.DataArray(
        np.stack([first, two]),
        dims=("benchmark", "machine", "execution"),
        coords=labels,
        attrs={"units": "s"},
    )
    return array.to_dataset(name="time")


def test_the_papers_example_to_every_digit(ammp):
    """At the paper's tolerance the 15 parameters of ammp-C2, the classes and the number of modes
    are the printed ones."""
    times, printed = ammp
    fit = times.perf.fit_mixture(tolerance=1e-5).sel(benchmark="ammp")
    dataset = fit.to_dataset().dropna("component")
    assert np.allclose(dataset["weight"], printed["weights"], rtol=0, atol=5.1e-9)
    assert np.allclose(dataset["mean"], printed["means"], rtol=0, atol=5.1e-6)
    assert np.allclose(dataset["standard_deviation"], printed["sds"], rtol=0, atol=5.1e-10)
    assert dataset["covariance"].item() == "unequal"
    assert dataset["n_iterations"].item() == 55
    assert fit.n_modes().item() == printed["n_modes"]
    classes = fit.assign(times).sel(benchmark="ammp")
    assert [int((classes == label).sum()) for label in dataset["component"]] == printed[
        "cluster_sizes"
    ]
    weights = times.perf.fit_mixture().to_dataset()["weight"].sel(benchmark="ammp")
    assert np.allclose(
        weights[1:3], [0.285, 0.327], atol=0.001
    )  # at the maximum: the paper's EM stopped early


def test_one_object_holds_all_cells_and_selects_like_one():
    """Every cell has its fit, absent components have weight 0, and a selection is a mixture
    again."""
    fit = runs().perf.fit_mixture(max_components=3)
    dataset = fit.to_dataset()
    assert dataset["n_components"].values.tolist() == [[1, 1], [2, 2]]
    assert dataset["weight"].sizes == {"benchmark": 2, "machine": 2, "component": 3}
    assert dataset["weight"].sel(benchmark="one", component=2).values.tolist() == [0, 0]
    assert dataset["n"].sel(machine="y").values.tolist() == [40, 80]
    assert dataset["mean"].attrs["units"] == "s"
    assert dataset.attrs["result"] == "fit_mixture"
    assert dataset.attrs["variance_floor"] == 1e-12
    selected = fit.sel(benchmark="two", machine="x")
    assert isinstance(selected, perfarray.GaussianMixture)
    assert selected.n_modes().item() == 2
    assert fit.isel(machine=0).modes().sel(benchmark="two").dropna("mode").values == pytest.approx(
        [2, 3], abs=4 * 0.05 / np.sqrt(80 // 3)
    )


def test_a_selection_of_no_cells_is_answered():
    """Its answers have no cells, and the dims that those of one cell have."""
    mixture = perfarray.GaussianMixture.from_parameters([0.5, 0.5], [1.0, 2.0], [0.1, 0.1])
    none = perfarray.GaussianMixture(
        dataset=mixture.to_dataset().expand_dims(benchmark=["fft"])
    ).isel(benchmark=[])
    for answer in (
        none.pdf([1.0, 2.0]),
        none.cdf([1.0, 2.0]),
        none.quantile([0.5, 0.9]),
        none.modes(),
    ):
        assert answer.shape == (0, 2)


def test_alone_or_together_the_fits_are_the_same():
    """A cell's fit does not depend on the other cells, the order of dims, or chunks."""
    times = runs()
    complete = times.perf.fit_mixture(max_components=3).to_dataset()
    turned = (
        times.transpose("execution", "machine", "benchmark")
        .perf.fit_mixture(max_components=3)
        .to_dataset()
    )
    xr.testing.assert_allclose(complete, turned.transpose(*complete.dims), rtol=1e-9)
    alone = times.sel(benchmark="two").perf.fit_mixture(max_components=3).to_dataset()
    xr.testing.assert_allclose(alone, complete.sel(benchmark="two"), rtol=1e-9)


def test_dask_in_dask_out():
    """The labels are those of a fit in memory, of components that no cell has, too; what has to be
    counted is noted after computing."""
    pytest.importorskip("dask")
    lazy, eager = (
        times.perf.fit_mixture(max_components=4).to_dataset()
        for times in (runs().chunk({"benchmark": 1}), runs())
    )
    assert lazy["weight"].chunks is not None
    xr.testing.assert_allclose(lazy.compute(), eager, rtol=1e-9)
    assert eager["n_components"].max() < eager.sizes["component"] == 4
    times = perfarray.from_samples(
        {"constant": [1.0, 1.0, 1.0], "two": [1.0, 2.0, 2.5]}, dim="benchmark"
    ).chunk({"benchmark": 1})
    lazy = times.perf.fit_mixture(max_components=1).to_dataset()
    assert lazy.perf.notes() == ()
    (note,) = lazy.compute().perf.notes()
    assert (note.code, note.values["names"]) == ("constant", ["constant"])


def test_runs_are_executions_and_units_count_alike():
    """Iterations are averaged unless `value=` says otherwise; a build with more executions does not
    count for more."""
    values = np.full((2, 4, 2), np.nan)
    values[0, :4, 0], values[0, :4, 1] = [1.0, 1.1, 1.2, 1.3], [1.2, 1.3, 1.4, 1.5]
    values[1, :1] = 5.0
    times = xr.DataArray(values, dims=("binary", "execution", "iteration"), attrs={"units": "s"})
    fit = times.perf.fit_mixture(n_components=1).to_dataset()
    assert (fit["n"].item(), fit.attrs["value"], fit.attrs["unit"]) == (5, "execution", "binary")
    assert fit["mean"].item() == pytest.approx((1.25 + 5) / 2)
    assert times.perf.fit_mixture(n_components=1, value="binary").to_dataset()["n"].item() == 2


def test_trouble_is_counted_and_said_once():
    """Constant cells and forced fits at the floor are answers with one warning; a cell without data
    is NaN."""
    times = perfarray.from_samples(
        {"constant": [2.0, 2.0], "two": [1.0, 2.0], "one": [3.0]}, dim="benchmark"
    )
    with pytest.warns(
        UserWarning, match="1 of 3 cells .* have a component at the variance floor"
    ) as warned:
        fit = times.perf.fit_mixture(n_components=2)
    assert len(warned) == 1
    assert [(note.code, note.values["cells"]) for note in warned[0].message.notes] == [
        ("constant", 2),
        ("floored", 1),
    ]
    dataset = fit.to_dataset()
    assert dataset["floored"].values.tolist() == [False, True, False]
    assert not dataset["loglik"].isnull().any()
    assert fit.quantile(0.5).sel(benchmark="constant").item() == 2.0
    assert fit.cdf(1.9).sel(benchmark="constant").item() == 0.0
    empty = times.where(times["benchmark"] == "two").perf.fit_mixture()
    assert empty.to_dataset()["n_components"].isnull().sum() == 2
    assert empty.to_dataset()["n"].values.tolist() == [0, 2, 0]
    for function in (perfarray.fit_mixture, perfarray.goodness_of_fit, perfarray.variability_level):
        with pytest.warns(perfarray.PerfarrayWarning, match="2 of 2 cells have no "):
            function(times.where(times["benchmark"] == "three").isel(benchmark=[0, 1]))
    assert np.isnan(empty.pdf(1.0).sel(benchmark="one"))
    assert np.isnan(empty.sample(2, rng=1).sel(benchmark="one")).all()
    assert empty.n_modes().isnull().sum() == 2


def test_points_may_be_numbers_lists_or_arrays():
    """A number adds no dim, a list adds `x` or `quantile`, an array keeps its own dims and
    labels."""
    fit = runs().perf.fit_mixture(max_components=2)
    assert fit.pdf(1.0).dims == ("benchmark", "machine")
    assert fit.pdf(1.0).attrs["units"] == "1/s"
    assert fit.cdf([1.0, 2.0])["x"].values.tolist() == [1, 2]
    assert fit.quantile([0.1, 0.9]).dims == ("benchmark", "machine", "quantile")
    values = xr.DataArray([1.0, 2.0], dims="benchmark", coords={"benchmark": ["one", "two"]})
    assert fit.cdf(values).dims == ("benchmark", "machine")
    assert np.allclose(fit.cdf(fit.quantile([0.2, 0.7])), [0.2, 0.7])


def test_samples_are_timings():
    """What is drawn can be fitted again, and a cell's draws are its own: they depend on the seed
    and not on the order of dims."""
    fit = runs().perf.fit_mixture(max_components=2)
    samples = fit.sample(400, rng=3)
    assert samples.sizes["execution"] == 400
    assert samples.attrs["units"] == "s"
    repeated = samples.perf.fit_mixture(max_components=2).to_dataset()
    assert np.allclose(
        repeated["mean"].sel(benchmark="two"),
        fit.to_dataset()["mean"].sel(benchmark="two"),
        atol=4 * 0.05 / np.sqrt(400 // 3),
    )
    turned = perfarray.GaussianMixture(
        dataset=fit.to_dataset().transpose("machine", "benchmark", "component")
    )
    xr.testing.assert_allclose(turned.sample(400, rng=3).transpose(*samples.dims), samples)


def test_from_parameters_puts_components_in_order():
    """Weight 0 is absent and goes last; arrays along component may have other dims."""
    built = perfarray.GaussianMixture.from_parameters(
        [0.5, 0.0, 0.5], [3.0, np.nan, 1.0], [0.1, 1.0, 0.2]
    ).to_dataset()
    assert built["mean"].values[:2].tolist() == [1, 3]
    assert built["weight"].values.tolist() == [0.5, 0.5, 0]
    assert built["standard_deviation"].values[:2].tolist() == [0.2, 0.1]
    assert built["n_components"].item() == 2
    weights = xr.DataArray(
        [[1.0, 0.0], [0.5, 0.5]], dims=("benchmark", "component"), coords={"benchmark": ["a", "b"]}
    )
    large = perfarray.GaussianMixture.from_parameters(
        weights, 0 * weights + [1.0, 2.0], 0 * weights + 0.1
    )
    assert large.n_modes().values.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (([0.5, 0.4], [1, 2], [1, 1]), "sum to 1; these sum to 0.9"),
        (([1.5, -0.5], [1, 2], [1, 1]), "must not be negative"),
        (([0.5, 0.5], [1, 2], [1, 0]), "must be positive"),
        (([0.5, 0.5], [1, np.inf], [1, 1]), "must be finite"),
        (([0.5, 0.5], [1, 2, 3], [1, 1]), "have 2, 3, 2 components"),
        (([[1.0]], [1], [1]), "give one number per component"),
        ((xr.DataArray([1.0], dims="k"), [1], [1]), "needs the dim 'component'"),
    ],
)
def test_what_is_no_mixture_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        perfarray.GaussianMixture.from_parameters(*parameters)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_components": 0}, "max_components=0"),
        ({"n_components": 1.5}, "n_components=1.5"),
        ({"covariance": "diagonal"}, "choose one of 'equal', 'unequal'"),
        ({"tolerance": 0}, "tolerance=0"),
        ({"value": "iteration"}, "choose one of 'execution'"),
        ({"metric": "energy"}, "metric 'energy' not found"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        runs().perf.fit_mixture(**options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda fit: fit.quantile(1.5), "between 0 and 1"),
        (lambda fit: fit.pdf([[1.0]]), "one dimension"),
        (lambda fit: fit.sel(component=1), "belong together"),
    ],
)
def test_wrong_points_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(perfarray.GaussianMixture.from_parameters([1.0], [1.0], [1.0]))


def test_several_metrics_lie_side_by_side():
    times = runs()
    times["energy"] = (30 * times["time"]).assign_attrs(units="J")
    fit = times.perf.fit_mixture(max_components=2, metric=["time", "energy"])
    assert np.allclose(
        fit.modes().sel(metric="energy", benchmark="two"),
        30 * fit.modes().sel(metric="time", benchmark="two"),
    )


def test_infinity_is_refused_where_timings_are_taken():
    """Infinite runs are an error that names them, for every function of runs, and not a fit."""
    times = perfarray.from_samples({"old": [1.0, 9.0, 2.0], "new": [1.0, 2.0, 3.0]})
    times = times.where(times != 9.0, np.inf)
    calls = {
        "fit_mixture": {},
        "goodness_of_fit": {},
        "variability_level": {},
        "mean_difference": {"baseline": "old"},
        "prob_faster": {"baseline": "old"},
        "prob_fastest": {"dim": "version"},
        "normality": {},
    }
    for name, keywords in calls.items():
        with pytest.raises(ValueError, match="infinit"):
            getattr(perfarray, name)(times, **keywords)


def test_few_runs_are_named():
    """The attr says below how many runs one mode shows as several in more than 5 %; a note counts
    such cells, and is not warned of."""
    two = runs().sel(benchmark=["two"])
    times = two.where((two["machine"] == "x") | (two["execution"] < 49))
    result = times.perf.fit_mixture(max_components=2).to_dataset()
    assert result.attrs["few_runs"] == 50
    (note,) = result.perf.notes()
    assert (note.code, note.values["cells"], note.values["of"]) == ("few_runs", 1, 2)
    assert (
        times.isel(execution=slice(50))
        .sel(machine=["x"])
        .perf.fit_mixture(max_components=2)
        .to_dataset()
        .perf.notes()
        == ()
    )
    assert times.perf.fit_mixture(max_components=1).to_dataset().perf.notes() == ()
