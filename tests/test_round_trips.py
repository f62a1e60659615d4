"""Timings and every result go to netCDF and Zarr 3 and come back: values, labels, kinds of numbers
and text, attrs; and are used again."""

import functools

import matplotlib
import numpy as np
import pytest
import xarray as xr

import method_calls
import perfarray
from method_calls import OLD, VERSIONS
from perfarray.plots import PICTURES
from strategies import MANY

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

PLAN = {"costs": {"binary": 60.0, "execution": 5.0}, "budget": 20_000}
DRAWN = {"n_resamples": 30, "rng": 1}

COMPARED = {
    "agreement": OLD | DRAWN,
    "autocorrelation": {},
    "bootstrap_distribution": DRAWN,
    "bootstrap_interval": DRAWN,
    "calibrate": {"n_splits": 5, "rng": 1},
    "change_points": VERSIONS,
    "compare": OLD | {"correction": "holm", "threshold": 0.01},
    "counts": {},
    "estimator_stability": {"group_sizes": (1, 3)},
    "hierarchical_performance_test": OLD,
    "mean_difference": OLD,
    "mean_interval": {},
    "next_measurement": lambda times: perfarray.next_measurement(
        perfarray.change_points(times, dim="version")
    ),
    "normality": {},
    "overall_speedup": OLD | {"statistic": "mean", "weights": "equal"},
    "ordering_stability": OLD | {"group_sizes": (1, 2)},
    "pairwise": VERSIONS,
    "plan_repetitions": OLD | PLAN,
    "prob_faster": OLD,
    "prob_fastest": VERSIONS,
    "randomization_test": OLD | DRAWN | {"distribution": True},
    "ratio_interval": OLD,
    "run_estimate": {},
    "score_distribution": DRAWN,
    "score_ratio_interval": OLD | {"distribution": True},
    "five_number_summary": DRAWN,
    "relative_variation": {},
    "required_runs": OLD | {"width": 0.1},
    "required_units": OLD,
    "speedup": OLD,
    "speedup_test": OLD | {"statistic": "mean", "confidence_level": 0.95},
    "steady_state": {},
    "stopping": OLD | {"half_width": 0.1},
    "suite_score": {},
    "modes_by": {"n_resamples": 19, "rng": 1},
    "trend": VERSIONS,
    "variability_level": {},
    "variance_components": {"method": "reml"},
}
"""What the data of two versions are asked."""

SIMULATED = {"variances": {"binary": 1e-4}, "n_experiments": 9, "rng": 1}
OF_ONE = {
    "accelerated_proportion": lambda times: perfarray.accelerated_proportion(
        xr.DataArray(
            [True, False, True], dims="benchmark", coords={"benchmark": times["benchmark"]}
        )
    ),
    "coverage": lambda _: perfarray.coverage(
        "ratio_interval", sizes={"binary": [3, 4]}, **SIMULATED
    ),
    "false_alarm_rate": lambda _: perfarray.false_alarm_rate(
        "compare", sizes={"binary": 3}, **SIMULATED
    ),
    "power": lambda _: perfarray.power("compare", ratio=[0.9], sizes={"binary": 3}, **SIMULATED),
    "from_components": lambda times: perfarray.from_components(
        {"binary": times["time"].var(["binary", "execution"]), "iteration": 1e-4}
    ),
    "cluster_machines": {"n_clusters": 2},
    "fit_mixture": {"n_components": 1},
    "goodness_of_fit": {"n_resamples": 5, "rng": 1},
    "plan_suite": PLAN,
    "principal_components": {},
    "machine_ratios": {},
}
"""What is asked of a single version."""

NO_RESULTS = {
    "archive_table",
    "biplot",
    "combine",
    "dataset_path",
    "drop_warmup",
    "explain_variation",
    "formats",
    "from_samples",
    "GaussianMixture",
    "join",
    "load_dataset",
    "machine_table",
    "merge_level",
    "Note",
    "notes",
    "PerfarrayWarning",
    "convert_table",
    "measure_rounds",
    "read",
    "read_archive",
    "report",
    "required_benchmarks",
    "set_options",
    "simulate",
    "speedup_report",
    "table",
    "to_frame",
    "to_timings",
    "VariabilityModel",
    "declare",
    "split_labels",
}
"""Public names that give timings, tables, numbers, files, notes or classes."""

TEXT = "OSTU"


@pytest.fixture(scope="module")
def times():
    """Return timings of two versions with descriptors of every kind, a mark, and units that serve
    all benchmarks."""
    simulated = perfarray.simulate(
        sizes={"binary": 6, "execution": 3, "iteration": 2},
        variances={"binary": 1e-4, "execution": 1e-4, "iteration": 1e-4},
        dims={
            "machine": ["m1", "m2"],
            "benchmark": ["fft", "sort", "größe"],
            "version": ["old", "new"],
        },
        rng=1,
    )
    warmup = (simulated["iteration"] == 0).broadcast_like(simulated["time"])
    simulated = simulated.assign_coords(
        warmup=warmup.transpose(*simulated["time"].dims),
        cpu=("machine", np.array(["x86 64", "unknown"], dtype=object)),
        cores=("machine", [4, 8]),
        cpu_mhz=("machine", [3000.0, np.nan]),
        virtual=("machine", [True, False]),
        os=((), np.array("Linux", dtype=object)),
    )
    return simulated.assign_attrs(format="pyperf", n_files=3, threshold=0.5)


@pytest.fixture(scope="module")
def results_by_name(times):
    """Return a function that gives the result of another by its name, computed once for all
    stores."""
    return functools.cache(lambda name: ask(name, times))


def ask(name, times):
    """Return the result of a function as a Dataset."""
    result = method_calls.ask(
        times.sel(version="old", drop=True) if name in OF_ONE else times,
        name,
        (COMPARED | OF_ONE)[name],
    )
    result = result.to_dataset() if not isinstance(result, xr.Dataset | xr.DataArray) else result
    return result.to_dataset(name="answer") if isinstance(result, xr.DataArray) else result


def h5netcdf(data, path, engine="h5netcdf"):
    """Write and read netCDF."""
    pytest.importorskip({"netcdf4": "netCDF4"}.get(engine, engine))
    data.to_netcdf(path, engine=engine)
    return xr.load_dataset(path, engine=engine)


def netcdf4(data, path):
    """Write and read netCDF with the other library."""
    return h5netcdf(data, path, "netcdf4")


def zarr(data, path):
    """Write and read Zarr 3."""
    pytest.importorskip("zarr")
    data.to_zarr(path, zarr_format=3, consolidated=False)
    return xr.open_zarr(path, chunks=None, consolidated=False).load()


NETCDF = [h5netcdf, netcdf4]
each_store = pytest.mark.parametrize("store", [*NETCDF, zarr])

STORED = [
    (name, store)
    for number, name in enumerate(sorted(COMPARED | OF_ONE))
    for store in (*(NETCDF if MANY else [NETCDF[number % 6 > 0]]), zarr)
]
"""Every result goes to Zarr and to netCDF: in CI by both libraries, else mostly by the faster."""


def kind(values):
    """Return the kind of numbers or text: files give text back in types of their own, and it is
    text all the same."""
    letter = np.asarray(values).dtype.kind
    return "text" if letter in TEXT else letter


def assert_came_back(back, data):
    """Assert that nothing was lost or turned into something else."""
    assert set(back.data_vars) == set(data.data_vars)
    assert set(back.coords) == set(data.coords)
    assert set(back.indexes) == set(data.indexes)
    xr.testing.assert_equal(back, data)
    for name, variable in data.variables.items():
        assert back[name].dims == variable.dims, name
        assert kind(back[name]) == kind(variable), name
        assert kind(variable) == "text" or back[name].dtype == variable.dtype, name
    for attrs, original_attrs in [
        (back.attrs, data.attrs),
        *((back[name].attrs, data[name].attrs) for name in data.variables),
    ]:
        assert {type(value) for value in original_attrs.values()} <= {str, int, float}
        assert dict(attrs) == dict(original_attrs)
        assert {key: kind(value) for key, value in attrs.items()} == {
            key: kind(value) for key, value in original_attrs.items()
        }


def test_every_public_result_is_asked_for():
    """A function that returns a result has a line in the tables above."""
    assert set(perfarray.__all__) - NO_RESULTS == set(COMPARED) | set(OF_ONE)


@each_store
def test_timings(times, tmp_path, store):
    """Metrics, marks, descriptors of every kind and attrs; the answers are the same afterwards."""
    back = store(times, tmp_path / "file")
    assert_came_back(back, times)
    for name in ("counts", "compare", "mean_interval", "pairwise"):
        xr.testing.assert_identical(ask(name, back), ask(name, times))


@pytest.mark.parametrize(("name", "store"), STORED)
def test_results(results_by_name, tmp_path, name, store):
    """Every result survives, and what came back is drawn if the result is (in CI from every store,
    which all give the same)."""
    result = results_by_name(name)
    back = store(result, tmp_path / "file")
    assert_came_back(back, result)
    assert back.perf.notes() == result.perf.notes()
    if result.attrs.get("result") in PICTURES and (MANY or store is zarr):
        matplotlib.use("Agg")
        cell_dims = ("machine", "version", "baseline") if name in COMPARED else ()
        cell_dims = ("machine", "benchmark") if name == "fit_mixture" else cell_dims
        cell = {dim: 0 for dim in cell_dims if dim in back.dims and dim != result.attrs.get("dim")}
        picture = back.get("answer", back).isel(
            cell | ({"baseline": -1} if "baseline" in cell else {})
        )
        assert picture.perf.plot().get_figure() is not None
        matplotlib.pyplot.close("all")


@each_store
def test_a_distribution_is_asked_again(times, tmp_path, store):
    """Replicates that were stored serve another confidence level."""
    replicates = perfarray.bootstrap_distribution(times, n_resamples=99, rng=1)
    back = store(replicates.to_dataset(name="replicates"), tmp_path / "file")["replicates"]
    interval, expected = (
        distribution.perf.bootstrap_interval(confidence_level=0.8, method="basic")
        for distribution in (back, replicates)
    )
    xr.testing.assert_equal(interval, expected)


@each_store
def test_a_result_is_selected_from_by_its_text(times, tmp_path, store):
    """Verdicts that were stored are compared with a word, and levels selected by name."""
    verdicts = store(perfarray.compare(times, "old", threshold=0.5), tmp_path / "verdicts")
    assert (verdicts["verdict"] == "equivalent").all()
    components = store(perfarray.variance_components(times), tmp_path / "parts")
    assert (components["repetitions"].sel(level="binary") == 6).all()
