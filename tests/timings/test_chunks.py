"""Lazy timings whose chunks are of many lengths, or not those of their descriptors: every answer is
given, and can be stored."""

import warnings

import numpy as np
import pytest
import xarray as xr

import perfarray
from method_calls import ask
from perfarray.tables.stores.writing import write

pytest.importorskip("dask.array")
pytest.importorskip("zarr")

DRAWN, THIRD = {"n_resamples": 20, "rng": 1}, {"baseline": 3, "dim": "machine"}

ANSWERS = {
    # of whole suites
    "five_number_summary": DRAWN,
    "relative_variation": {},
    "score_distribution": DRAWN,
    "principal_components": {},
    "cluster_machines": {"n_clusters": 3},
    "suite_score": {},
    # of every cell, one of each kind
    "mean_interval": {},
    "variance_components": {},
    "ratio_interval": THIRD,
    "score_ratio_interval": THIRD,
    "ratio_interval, of objects": lambda times: times.perf.ratio_interval(
        in_memory().chunk(machine=70)
    ),
}


def in_memory():
    """Return timings of some hundred described machines; one lacks a benchmark."""
    dims = {"machine": range(310), "benchmark": ["fft", "sort"]}
    times = perfarray.simulate(
        sizes={"execution": 3}, variances={"execution": 1e-4}, dims=dims, rng=1
    )
    times["time"][{"machine": 1, "benchmark": 0}] = np.nan
    texts = np.array([f"Xeon E5-{number % 7}" for number in range(310)], dtype=object)
    return times.assign_coords(cores=("machine", 2 ** (np.arange(310) % 6)), cpu=("machine", texts))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return a store whose descriptors have chunks of their own, as those of other programs have,
    and had those of `convert`."""
    path = tmp_path_factory.mktemp("stores") / "times.zarr"
    encoding = {
        "time": {"chunks": (100, 2, 3)},
        "cores": {"chunks": (310,)},
        "cpu": {"chunks": (140,)},
    }
    in_memory().to_zarr(path, zarr_format=3, consolidated=False, encoding=encoding)
    return path


def lazily(store, shape):
    """Open a store, as it is, or some of its machines, so that chunks have many lengths."""
    times = xr.open_zarr(store, consolidated=False)
    return (
        times
        if shape == "whole"
        else times.isel(machine=np.arange(310) % 7 != 5).isel(machine=slice(2, None))
    )


@pytest.mark.parametrize("shape", ["whole", "some"])
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_can_be_stored(store, tmp_path, name, shape):
    """They are those of the timings in memory; no chunk of theirs is longer than the timings'
    own."""
    times = lazily(store, shape)
    with warnings.catch_warnings(action="ignore"):
        result, expected = (ask(data, name, ANSWERS[name]) for data in (times, times.compute()))
        if isinstance(result, xr.DataArray):
            result, expected = (answer.to_dataset(name="answer") for answer in (result, expected))
        assert max(result.chunksizes.get("machine", (0,))) <= 100
        result.to_zarr(tmp_path / "answer.zarr", zarr_format=3, consolidated=False)
    stored = xr.open_zarr(tmp_path / "answer.zarr", consolidated=False).load()
    assert set(stored.variables) == set(expected.variables)
    for variable in expected.variables:
        if expected[variable].dtype.kind in "iufb":
            np.testing.assert_allclose(
                stored[variable], expected[variable], rtol=1e-9, atol=1e-14
            )  # scores: differences of values near 1
        else:
            assert stored[variable].values.tolist() == expected[variable].values.tolist()


@pytest.mark.parametrize("name", ["drop_warmup", "merge_level", "a variable", "written"])
def test_selected_timings_can_be_stored_again(store, tmp_path, name):
    """A selection leaves chunks of many lengths; what gives timings back, or writes them, brings
    them to one."""
    times = (
        xr.open_zarr(store, consolidated=False)
        .isel(machine=slice(3, None, 2))
        .expand_dims(iteration=4, axis=-1)
    )
    path = tmp_path / "again.zarr"
    expected = {
        "drop_warmup": lambda: times.perf.drop_warmup(n=1),
        "merge_level": lambda: times.perf.merge_level("execution"),
        "a variable": lambda: times.perf.drop_warmup(n=1)["time"].to_dataset(),
        "written": lambda: times,
    }[name]()
    if name == "written":
        write(times, path)
    else:
        expected.to_zarr(path, zarr_format=3, consolidated=False)
    xr.testing.assert_equal(
        xr.open_zarr(path, consolidated=False)["time"].compute(), expected["time"].compute()
    )
