"""A DataTree: each node has its answer."""

import numpy as np
import pytest
import xarray as xr

import perfarray

RNG = np.random.default_rng(1)


def node(*benchmarks):
    """Return timings of some benchmarks."""
    times = xr.DataArray(
        RNG.lognormal(0, 0.05, (len(benchmarks), 2, 12)),
        {"benchmark": list(benchmarks), "version": ["old", "new"]},
        ("benchmark", "version", "execution"),
        attrs={"units": "s"},
    )
    return xr.Dataset({"time": times})


PATHS = {"/python/json": node("dumps", "loads"), "/python/re": node("match"), "/c": node("fft")}
TREE = xr.DataTree.from_dict(PATHS)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: TREE.map_over_datasets(perfarray.compare, "old"),
        lambda: TREE.map_over_datasets(lambda data: data.perf.compare("old")),
    ],
)
def test_each_node_has_its_answer(ask):
    """The function and the method; nodes that hold only nodes stay empty."""
    answers = ask()
    assert [name.path for name in answers.leaves] == [name.path for name in TREE.leaves]
    for path, times in PATHS.items():
        xr.testing.assert_identical(answers[path].to_dataset(), times.perf.compare("old"))
        table = answers[path].dataset.perf.table()
        assert table.equals(times.perf.compare("old").perf.table())
    assert not answers["python"].dataset.data_vars


def test_two_trees():
    """Of the same structure: one is the baseline of the other."""
    new, old = (
        TREE.map_over_datasets(lambda data, v=v: data.sel(version=v, drop=True) if data else data)
        for v in ("new", "old")
    )
    answers = xr.map_over_datasets(perfarray.ratio_interval, new, old)
    for path, times in PATHS.items():
        expected = times.perf.ratio_interval("old")["estimate"].isel(version=0, drop=True)
        xr.testing.assert_allclose(answers[path]["estimate"], expected)


def test_nothing_is_no_node():
    """An empty Dataset of the user's own is refused."""
    with pytest.raises(ValueError, match="which variable holds the measurements"):
        xr.Dataset().perf.mean_interval()
