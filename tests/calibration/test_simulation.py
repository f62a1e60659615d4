"""Simulated timings have the variances, means and correlations that were asked for."""

import numpy as np
import pytest
import xarray as xr

import perfarray


@pytest.mark.parametrize("distribution", ["normal", "lognormal", "exponential", "bimodal"])
def test_true_components(distribution):
    """The ANOVA finds the variances that went in, within 10 %."""
    truth = {"binary": 4.0, "execution": 1.0, "iteration": 2.0}
    sizes = {"binary": 400, "execution": 20, "iteration": 10}
    times = perfarray.simulate(
        sizes=sizes, variances=truth, mean=100.0, distribution=distribution, rng=1
    )
    components = times.perf.variance_components()
    limit = 0.6 if distribution == "lognormal" else 0.25
    for level, value in truth.items():
        assert abs(float(components["variance"].sel(level=level)) / value - 1) < limit
    assert abs(float(components["mean"]) - 100) < 5 * float(components["standard_error"])


def test_same_seed_same_numbers():
    """A seed and a generator; another seed gives other numbers."""
    ask = {"sizes": {"execution": 5}, "variances": {"execution": 1.0}}
    assert perfarray.simulate(**ask, rng=1).identical(
        perfarray.simulate(**ask, rng=np.random.default_rng(1))
    )
    assert not perfarray.simulate(**ask, rng=1).equals(perfarray.simulate(**ask, rng=2))


def test_ragged_sizes():
    """Each parent draws its own number within the span; gaps stand at the end."""
    times = perfarray.simulate(
        sizes={"execution": 200, "iteration": (2, 6)}, variances={"iteration": 1.0}, rng=2
    )
    n_iterations = times["time"].notnull().sum("iteration")
    assert set(n_iterations.values.tolist()) == {2, 3, 4, 5, 6}
    counts = times.perf.counts()
    assert counts["minimum"].sel(level="iteration") == 2
    assert counts["maximum"].sel(level="iteration") == 6


def test_shared_units_correlate_across_benchmarks():
    """The correlation of the unit means is the one asked for, and the data say that the level is
    shared."""
    times = perfarray.simulate(
        sizes={"binary": 4000},
        variances={"binary": 1.0},
        dims={"benchmark": 2},
        shared={"binary": 0.6},
        rng=3,
    )
    correlation = np.corrcoef(times["time"].values)[0, 1]
    assert correlation == pytest.approx(0.6, abs=4 * (1 - 0.6**2) / np.sqrt(4000))
    assert times["time"].attrs["shared_levels"] == "binary"


def test_means_broadcast_by_name():
    """A mean per version, labels given or counted."""
    mean = xr.DataArray([1.0, 2.0], dims="version", coords={"version": ["a", "b"]})
    times = perfarray.simulate(
        sizes={"execution": 3},
        variances={},
        mean=mean,
        dims={"benchmark": 2, "version": ["a", "b"]},
        rng=4,
    )
    assert times["time"].dims == ("benchmark", "version", "execution")
    assert times["benchmark"].values.tolist() == ["benchmark0", "benchmark1"]
    assert (times["time"].sel(version="b") == 2).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": {"execution": 0}}, r"sizes\['execution'\]=0: give a whole number of at least 1"),
        ({"sizes": {"execution": (5, 2)}}, "give a whole number of at least 5"),
        ({"variances": {"execution": -1.0}}, r"variances\['execution'\]=-1.0 is negative"),
        ({"variances": {"build": 1.0}}, "'build' is not one of the levels in sizes: 'execution'"),
        ({"shared": {"execution": 1.5}}, "not a correlation between 0 and 1"),
        ({"distribution": "cauchy"}, "distribution='cauchy' is not known"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        perfarray.simulate(**{"sizes": {"execution": 2}, "variances": {"execution": 1.0}, **change})
