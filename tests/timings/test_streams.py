"""Keys: of a call, from `rng=`; of cells, from their labels."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from perfarray.timings.streams import cell_keys, describe_key, key_of, label_hashes

LEVELS = ("execution",)


@pytest.fixture
def times():
    """Three benchmarks on four machines, an unlabelled dim, executions."""
    labels = {"benchmark": ["fft", "hash", "sort"], "machine": [10, 20, 30, 40]}
    return xr.DataArray(
        np.ones((3, 4, 2, 5)), dims=("benchmark", "machine", "slot", "execution"), coords=labels
    )


def test_labels_make_the_key(times):
    """Order of labels and dims, and what else is there, change no cell's key; another label,
    another key."""
    keys = cell_keys([times], LEVELS)
    assert keys.dtype == np.uint64
    assert len(np.unique(keys)) == keys.size == 24
    turned = times.transpose("slot", "execution", "machine", "benchmark").sel(
        machine=[40, 10], benchmark=["sort", "fft"]
    )
    xr.testing.assert_equal(
        cell_keys([turned], LEVELS), keys.sel(machine=[40, 10], benchmark=["sort", "fft"])
    )
    np.testing.assert_array_equal(cell_keys([times.assign_coords(slot=[0, 1])], LEVELS), keys)
    np.testing.assert_array_equal(
        cell_keys([times.isel(slot=0)], LEVELS), cell_keys([times.isel(slot=1)], LEVELS)
    )


@pytest.mark.parametrize(
    "selected", [{"benchmark": "hash"}, {"machine": 30}, {"benchmark": "fft", "machine": 20}]
)
def test_a_selected_label_counts(times, selected):
    """What is compared may be selected: the scalar coordinate is the label; without it the key is
    another."""
    keys, alone = cell_keys([times], LEVELS), times.sel(selected)
    np.testing.assert_array_equal(cell_keys([alone], LEVELS), keys.sel(selected))
    assert not np.isin(cell_keys([alone.drop_vars(selected)], LEVELS), keys).any()


def test_some_dims_do_not_count(times):
    """Groups that are drawn jointly have one key, whether a benchmark is selected or not."""
    groups = cell_keys([times], LEVELS, "benchmark")
    assert groups.dims == ("machine", "slot")
    np.testing.assert_array_equal(
        cell_keys([times.sel(benchmark="fft")], LEVELS, ["benchmark"]), groups
    )


def test_two_arrays_and_chunks(times):
    """Dims of both are broadcast; the labels of the first count; lazy data have lazy keys, chunked
    as they are."""
    pytest.importorskip("dask.array")
    cell = times.isel(benchmark=0, drop=True)
    keys = cell_keys([times], LEVELS)
    xr.testing.assert_identical(cell_keys([cell, times], LEVELS), keys)
    lazy = cell_keys([cell, times.chunk({"machine": 2, "benchmark": 1})], LEVELS)
    assert lazy.chunksizes["machine"] == (2, 2)
    xr.testing.assert_identical(lazy.compute(), keys)


def test_keys_have_the_indexes_of_the_data(times):
    """Nothing is aligned or made anew; of an index of several coordinates all are there, and one
    that was dropped is not made again."""
    assert cell_keys([times], LEVELS).xindexes["benchmark"] is times.xindexes["benchmark"]
    stacked = cell_keys([times.stack(place=("benchmark", "machine"))], LEVELS)
    assert list(stacked.coords) == ["place", "benchmark", "machine"]
    bare = cell_keys([times.drop_indexes("benchmark")], LEVELS)
    assert list(bare.xindexes) == ["machine"]
    np.testing.assert_array_equal(bare, cell_keys([times], LEVELS))


def test_hashes_are_pinned():
    """Seeded numbers hang on these: they are the same for ever, whatever holds the labels."""
    text, integers = np.array(["fft", "b"], dtype=object), np.array([3, -1])
    assert [f"{word:016x}" for word in label_hashes(text).tolist()] == [
        "c22deb79f75262db",
        "b0150af736d11edf",
    ]
    assert [f"{word:016x}" for word in label_hashes(integers).tolist()] == [
        "1e535eede31428f0",
        "b4d055fcf2cbbd7b",
    ]
    np.testing.assert_array_equal(label_hashes(np.array(["fft", "b"])), label_hashes(text))
    np.testing.assert_array_equal(
        label_hashes(integers.astype(object)), label_hashes(integers.astype(np.int16))
    )
    days = pd.to_datetime(["2020-01-01", "2020-01-02"])
    np.testing.assert_array_equal(
        label_hashes(days.values.astype("datetime64[s]")), label_hashes(days.values)
    )
    kinds = [
        np.array(["1"], dtype=object),
        np.array([1]),
        np.array([1.0]),
        np.array([True]),
        np.array([None], dtype=object),
    ]
    assert len({label_hashes(kind)[0] for kind in kinds}) == 5


def test_a_label_that_stands_twice_is_two_cells():
    """Duplicate labels have keys of their own; the first has that of a single one."""
    twice = xr.DataArray(
        np.ones((3, 2)), dims=("benchmark", "execution"), coords={"benchmark": ["a", "b", "a"]}
    )
    keys = cell_keys([twice], LEVELS).values
    assert len(set(keys.tolist())) == 3
    np.testing.assert_array_equal(cell_keys([twice.isel(benchmark=[0, 1])], LEVELS), keys[:2])


def test_keys_of_calls():
    """Seeds are kept, generators advance, None is new; an earlier key is read again."""
    assert key_of(1) == key_of(np.int64(1)) == key_of(np.random.default_rng(1)) != key_of(2)
    rng = np.random.default_rng(1)
    assert key_of(rng) != key_of(rng)
    assert key_of(None) != key_of(None)
    key = key_of(None)
    assert key_of(describe_key(key)["rng_key"]) == key
    assert key_of(describe_key((0, 5))["rng_key"]) == (0, 5)


@pytest.mark.parametrize("rng", [-1, True, 1.5, "seed", "F" * 32, [1]])
def test_bad_rng(rng):
    with pytest.raises(ValueError, match=r"give a whole number.*the 'rng_key' of a result"):
        key_of(rng)
