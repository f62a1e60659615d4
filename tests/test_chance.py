"""Seeded numbers hang on the labels of a cell: on nothing else that is there, on no order, no
chunks, and on how it was selected."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from method_calls import OLD, ask

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")

BENCHMARKS, MACHINES = ["fft", "hash", "sort", "zip"], ["m1", "m2", "m3"]


@pytest.fixture(scope="module")
def times():
    """Four benchmarks, three machines and two versions, executions of iterations, one of them
    ragged."""
    simulated = perfarray.simulate(
        sizes={"execution": 6, "iteration": 3}, variances={"execution": 1e-4, "iteration": 1e-4},
        dims={"benchmark": BENCHMARKS, "machine": MACHINES, "version": ["old", "new"]}, rng=1,
    )["time"]  # fmt: skip
    simulated[1, 1, 1, 4:] = np.nan
    return simulated


DRAWN = {"n_resamples": 60, "rng": 1}
PERCENTILE, ALL, SHARED = (
    OLD | {"method": "percentile"},
    {"resample": "all"},
    {"shared": "execution"},
)
BY_CELL = {
    "bootstrap_distribution": {},
    "bootstrap_distribution, all": ALL,
    "bootstrap_distribution, median": ALL | {"statistic": "median"},
    "bootstrap_distribution, shared": SHARED,
    "bootstrap_interval": {"method": "bca"},
    "mean_interval": {"method": "studentized"},
    "ratio_interval": PERCENTILE,
    "ratio_interval, all": OLD | ALL | {"method": "studentized"},
    "ratio_interval, paired": OLD | {"method": "basic", "paired": "execution"},
    "prob_faster": OLD,
    "compare": PERCENTILE,
}
BY_SUITE = {
    "score_distribution": {},
    "five_number_summary": {},
    "relative_variation": {"method": "monte_carlo", "statistic": "mean"},
    "score_ratio_interval": PERCENTILE | {"sensitivity": True},
    "score_ratio_interval, random": OLD | {"method": "basic", "random_benchmarks": True},
    "randomization_test": OLD,
    "required_runs": PERCENTILE | {"width": 0.001},
    "compare, suite": PERCENTILE | SHARED,
}


def asking(name):
    """Return a function that asks timings by a name of the tables; of cells, a comparison gives the
    numbers that are drawn."""

    def call(times):
        result = ask(times, name, (BY_CELL | BY_SUITE)[name] | DRAWN)
        return result[["estimate", "lower", "upper", "pvalue"]] if name == "compare" else result

    return call


def assert_same_numbers(result, expected):
    """Assert that numbers are the same, but for the order in which benchmarks are summed up."""
    result, expected = (
        data if isinstance(data, xr.Dataset) else data.to_dataset(name="found")
        for data in (result, expected)
    )
    for name, variable in expected.data_vars.items():
        aligned = result[name].transpose(*variable.dims)
        if variable.dtype == object:
            assert (aligned.values == variable.values).all(), name
        else:
            np.testing.assert_allclose(
                aligned.values, variable.values, rtol=1e-9, err_msg=str(name)
            )


@pytest.mark.parametrize("name", BY_CELL)
def test_other_benchmarks_do_not_matter(times, name):
    """Selected, reordered or alone, a benchmark on a machine keeps its numbers; a label that is
    selected stays a label."""
    give = asking(name)
    expected = give(times)
    subset = {"benchmark": ["sort", "fft"], "machine": ["m3", "m1"]}
    assert_same_numbers(give(times.sel(subset)), expected.sel(subset))
    for alone in ({"benchmark": "sort"}, {"machine": "m3"}, {"benchmark": "fft", "machine": "m1"}):
        assert_same_numbers(give(times.sel(alone)), expected.sel(alone))
    longer = xr.concat(
        [times, times.isel(benchmark=[0]).assign_coords(benchmark=["new one"])], "benchmark"
    )
    assert_same_numbers(
        give(longer.pad(iteration=(0, 2)) if "shared" not in name else longer).sel(
            benchmark=BENCHMARKS
        ),
        expected,
    )


@pytest.mark.parametrize("name", [*BY_CELL, *BY_SUITE])
def test_order_and_chunks_do_not_matter(times, name):
    """Dims and labels in another order, and chunks: the same numbers."""
    pytest.importorskip("dask.array")
    give = asking(name)
    expected = give(times)
    turned = times.transpose("execution", "machine", ..., "benchmark").isel(
        benchmark=[2, 0, 3, 1], machine=[2, 1, 0]
    )
    assert_same_numbers(
        give(turned).sel(
            {dim: expected[dim] for dim in ("benchmark", "machine") if dim in expected.dims}
        ),
        expected,
    )
    chunks = {"machine": 2} | ({"benchmark": 1} if name in BY_CELL else {})
    assert_same_numbers(give(times.chunk(chunks)).compute(scheduler="synchronous"), expected)


@pytest.mark.parametrize("name", BY_SUITE)
def test_other_machines_do_not_matter(times, name):
    """A machine's suite keeps its numbers among others, alone, and selected."""
    give = asking(name)
    expected = give(times)
    assert_same_numbers(give(times.sel(machine=["m3", "m1"])), expected.sel(machine=["m3", "m1"]))
    assert_same_numbers(give(times.sel(machine="m3")), expected.sel(machine="m3"))


def test_two_objects_draw_as_two_labels_do(times):
    """Timings given one by one have the labels they were selected by: the answer is that of one
    object."""
    new, old = times.sel(version="new"), times.sel(version="old")
    expected = times.perf.ratio_interval("old", method="percentile", **DRAWN).squeeze("version")
    assert_same_numbers(new.perf.ratio_interval(old, method="percentile", **DRAWN), expected)


def test_pairs_are_drawn_as_in_one_comparison(times):
    """A table of all pairs holds what `compare` gives for each baseline."""
    table, keywords = times.isel(machine=0), {"method": "percentile", **DRAWN}
    pairs = table.perf.pairwise(dim="version", **keywords)
    for baseline, candidate in (("old", "new"), ("new", "old")):
        expected = table.perf.compare(baseline, dim="version", **keywords).sel(version=candidate)
        np.testing.assert_array_equal(
            pairs["lower"].sel(version=candidate, baseline=baseline), expected["lower"]
        )
    assert pairs.attrs["rng_key"] == expected.attrs["rng_key"]


@pytest.mark.parametrize(
    "name", ["bootstrap_distribution", "bootstrap_distribution, all", "score_distribution"]
)
def test_a_longer_run_begins_with_the_shorter(times, name):
    """The first replicates of many are those of few."""
    shorter, longer = (
        ask(times, name, (BY_CELL | BY_SUITE)[name] | {"n_resamples": number, "rng": 1})
        for number in (50, 300)
    )
    np.testing.assert_array_equal(shorter, longer.isel(replicate=slice(50)))


@pytest.mark.parametrize("name", ["bootstrap_interval", "ratio_interval", "compare", *BY_SUITE])
def test_an_answer_can_be_had_again(times, name, monkeypatch):
    """The key of a result that was drawn from new random numbers gives it once more."""
    monkeypatch.setitem(DRAWN, "rng", None)
    first = asking(name)(times)
    monkeypatch.setitem(DRAWN, "rng", first.attrs["rng_key"])
    repeated = asking(name)(times)
    xr.testing.assert_identical(repeated, first)
    monkeypatch.setitem(DRAWN, "rng", None)
    assert asking(name)(times).attrs["rng_key"] != first.attrs["rng_key"]
