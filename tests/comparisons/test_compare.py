"""compare and pairwise on labelled timings: what is in a result, and where it can go."""

import numpy as np
import pytest
import xarray as xr

import perfarray


@pytest.fixture
def suite():
    """Three benchmarks, three versions on two machines; v2 is 5 % faster, v3 5 % slower."""
    factor = xr.DataArray([1.0, 0.95, 1.05], dims="version", coords={"version": ["v1", "v2", "v3"]})
    times = perfarray.simulate(
        sizes={"execution": 6, "iteration": 3},
        variances={"execution": 0.005**2, "iteration": 0.01**2},
        mean=factor,
        dims={"benchmark": ["fft", "hash", "sort"], "version": ["v1", "v2", "v3"], "machine": ["m1", "m2"]},
        rng=0,
    )
    return times.assign_coords(cpu=("machine", np.array(["amd", "intel"], dtype=object)))


def test_verdicts_and_suite_row(suite):
    """Every variable promised, over the dims that were not consumed, in the order of the data."""
    found = suite.perf.compare("v1", threshold=0.01)
    assert found["estimate"].dims == ("benchmark", "version", "machine")
    assert found["suite_estimate"].dims == ("version", "machine")
    assert found["version"].values.tolist() == ["v2", "v3"]
    assert (found["verdict"].sel(version="v2") == "faster").all()
    assert (found["suite_verdict"].sel(version="v3") == "slower").all()
    assert found["cpu"].dims == ("machine",)
    np.testing.assert_allclose(found["suite_estimate"], np.exp(np.log(found["estimate"]).mean("benchmark")), rtol=1e-12)
    assert found["verdict"].dtype == object
    assert all(isinstance(value, str | int | float) and not isinstance(value, bool) for value in found.attrs.values())
    assert "units" not in {k for v in ("verdict", "kind") for k in found[v].attrs}
    assert found["estimate"].attrs["units"] == "1"


def test_one_cell_is_what_the_function_gives_alone(suite):
    """Broadcasting changes nothing."""
    found = suite.perf.compare("v1").sel(benchmark="hash", version="v3", machine="m2")
    alone = suite.sel(benchmark="hash", machine="m2", version=["v1", "v3"]).perf.compare("v1").squeeze("version")
    for name in ("estimate", "lower", "upper", "pvalue", "df"):
        np.testing.assert_allclose(found[name], alone[name], rtol=1e-12)
    interval = suite.perf.ratio_interval("v1").sel(benchmark="hash", version="v3", machine="m2")
    np.testing.assert_allclose(found["lower"], interval["lower"])


def test_without_benchmarks_the_suite_is_the_one():
    """No dim to average over: the same estimate, by the log-scale interval."""
    times = perfarray.from_samples({"old": [1.0, 1.1, 0.9, 1.0], "new": [0.5, 0.55, 0.45, 0.5]})
    found = times.perf.compare("old")
    assert found["estimate"].dims == ("version",)
    np.testing.assert_allclose(found["suite_estimate"], found["estimate"])
    log = times.perf.ratio_interval("old", method="log_delta")
    np.testing.assert_allclose(found["suite_lower"], log["lower"], rtol=1e-9)


def test_across_another_dim(suite):
    """The suite may be machines."""
    found = suite.perf.compare("v1", across="machine")
    assert found["suite_estimate"].dims == ("benchmark", "version")
    assert (found["suite_benchmarks"] == 2).all()


def test_correction_s_family_is_the_benchmarks_of_one_candidate(suite):
    """Comparing fewer versions or machines does not change a corrected p-value."""
    found = suite.perf.compare("v1", correction="holm")
    alone = suite.sel(version=["v1", "v2"], machine=["m2"]).perf.compare("v1", correction="holm")
    np.testing.assert_allclose(found["pvalue_adjusted"].sel(version=["v2"], machine=["m2"]), alone["pvalue_adjusted"])
    assert found.attrs["correction"] == "holm"
    np.testing.assert_allclose(found["interval_level"], 1 - 0.05 / 3)


def test_pairwise_is_compare_against_every_label(suite):
    """Along `baseline`, with NaN where a label meets itself."""
    found = suite.perf.pairwise(dim="version", threshold=0.01)
    assert found["estimate"].dims == ("benchmark", "version", "machine", "baseline")
    for label in ("v1", "v2", "v3"):
        expected = suite.perf.compare(label, threshold=0.01)
        part = found.sel(baseline=label).sel(version=expected["version"])
        np.testing.assert_allclose(part["upper"], expected["upper"])
        assert (part["verdict"] == expected["verdict"]).all()
        assert np.isnan(found["estimate"].sel(baseline=label, version=label)).all()
        assert (found["verdict"].sel(baseline=label, version=label) == "inconclusive").all()
    with pytest.raises(ValueError, match="nothing to compare: dim 'version' has the labels 'v1'"):
        suite.sel(version=["v1"]).perf.pairwise(dim="version")


def test_pairwise_warns_once(suite):
    """However many comparisons have the same trouble."""
    with pytest.warns(UserWarning, match="rest on one execution") as caught:
        suite.isel(execution=[0]).perf.pairwise(dim="version")
    assert len(caught) == 1


def test_descriptors_named_like_a_variable_of_the_result(suite):
    """A parameter called `n` is `data_n` in a result; nothing is lost and nothing fails."""
    named = suite.assign_coords(n=("benchmark", [1, 2, 3]), estimate=("version", ["a", "b", "c"]), total="x", mean=("machine", [1, 2]))
    for name, keywords in (("counts", {}), ("variance_components", {}), ("mean_interval", {}), ("pairwise", {"dim": "version"})):
        found, plain = getattr(named.perf, name)(**keywords), getattr(suite.perf, name)(**keywords)
        assert set(found.data_vars) == set(plain.data_vars)
    found = named.perf.compare("v1")
    assert found["data_n"].values.tolist() == [1, 2, 3]
    assert found["data_estimate"].values.tolist() == ["b", "c"]
    assert "mean" in found.coords
    np.testing.assert_allclose(found["n"], suite.perf.compare("v1")["n"])


def test_a_suite_row_over_several_suites_is_named(suite):
    """An attribute says that the row is one mean over two suites; each suite alone has nothing to say."""
    labels = ["int"] * (suite.sizes["benchmark"] - 1) + ["fp"]
    both = suite.assign_coords(suite=("benchmark", labels))
    assert both.perf.compare("v1").attrs["suites"] == "int, fp"
    alone = both.isel(benchmark=slice(0, -1)).perf.compare("v1")
    assert "suites" not in alone.attrs


def test_groupby_map(suite):
    """A method inside groupby is a method of the group."""
    grouped = suite.groupby("cpu").map(lambda group: group.perf.compare("v1", threshold=0.01))
    direct = suite.perf.compare("v1", threshold=0.01)
    np.testing.assert_allclose(
        grouped["estimate"].where(grouped["cpu"] == "intel", drop=True).squeeze().transpose("benchmark", "version"),
        direct["estimate"].sel(machine="m2"),
    )


@pytest.mark.parametrize("chunked", [False, True])
def test_single_precision_is_widened_first(chunked):
    """Values stored as float32 give what the same values give as float64, in memory and lazily: p, limits and verdict agree."""
    noise = np.random.default_rng(0).normal(size=(50, 2, 10))
    narrow = xr.DataArray(
        np.float32(0.25 * (1 + 2e-4 * noise)), dims=("benchmark", "version", "execution"), coords={"version": ["old", "new"]}
    )
    wide = narrow.astype(float)
    if chunked:
        pytest.importorskip("dask.array")
        narrow = narrow.chunk(benchmark=10)
    for name, keywords in (("mean_interval", {}), ("ratio_interval", {"baseline": "old"}), ("compare", {"baseline": "old"})):
        found, expected = (getattr(times.perf, name)(**keywords).compute() for times in (narrow, wide))
        xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())
        assert (found["upper"] > found["lower"]).all()
    assert ((found["pvalue"] <= 0.05) == (found["verdict"] != "inconclusive")).all()
