"""Timings joined: whatever is split comes back as it was; what is measured twice is never
pooled."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import examples

import perfarray
from readers.files_of_our_own import check


@pytest.fixture(scope="module")
def times():
    """Return ragged timings with coordinates of every kind, marks, a limit, and a metric known of
    executions alone."""
    found = perfarray.simulate(
        sizes={"session": 3, "execution": 4, "iteration": 2},
        variances={"session": 1e-4, "execution": 1e-4, "iteration": 1e-4},
        dims={"benchmark": ["fft", "sort", "hash"], "machine": ["m1", "m2"]},
        shared={"session": 0.5},
        rng=1,
    )
    found["time"] = found["time"].where(found["execution"] != 3 + (found["benchmark"] == "fft"))
    failed = (
        (found["benchmark"] == "sort")
        & (found["machine"] == "m2")
        & (found["execution"] == 1)
        & (found["session"] == 2)
    )
    found["time"] = (
        found["time"]
        .where(~failed)
        .assign_attrs(units="s", better="lower", shared_levels="session", long_name="wall clock")
    )
    found["memory"] = (
        found["time"].isel(iteration=0, drop=True).copy().assign_attrs(units="B", shared_levels="")
    )
    return found.assign_coords(
        failed=failed.broadcast_like(found["time"]),
        cpu=("machine", ["a", "unknown"]),
        turbo=("machine", [True, False]),
        bought=("machine", pd.to_datetime(["2024-03-01", "2025-06-30"])),
        day=(
            ("machine", "session"),
            pd.date_range("2026-01-01", periods=6).to_numpy().reshape(2, 3),
        ),
        load=(("machine", "session", "execution"), np.arange(24.0).reshape(2, 3, 4)),
        suite=("benchmark", ["x", "x", "y"]),
    )


@given(dim=st.sampled_from(["benchmark", "machine", "session", "execution"]), data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_what_is_split_comes_back(times, dim, data):
    cut = data.draw(st.integers(1, times.sizes[dim] - 1))
    found = perfarray.join(times.isel({dim: slice(cut)}), times.isel({dim: slice(cut, None)}))
    xr.testing.assert_identical(
        found[list(times.data_vars)].transpose(*times.dims).drop_attrs(deep=False),
        times.drop_attrs(deep=False),
    )


def test_each_of_several_is_a_session():
    """Or goes on with executions; the labels that were not joined along stay."""
    monday, tuesday = (
        perfarray.from_samples(samples)
        for samples in ({"old": [1.0, 2.0], "new": [3.0]}, {"new": [4.0], "next": [5.0]})
    )
    found = perfarray.join(monday, tuesday, monday, along="session")["time"]
    assert dict(found.sizes) == {"version": 3, "session": 3, "execution": 2}
    assert found.sel(version="new", execution=0).values.tolist() == [3, 4, 3]
    pooled = perfarray.join(monday, tuesday, along="execution").transpose("version", "execution")
    check(pooled, time=[[1, 2, np.nan], [3, np.nan, 4], [np.nan, np.nan, 5]])


def test_further_repetitions_of_a_nest(times):
    """Number 3 is the first of the second, for every benchmark."""
    found = perfarray.join(times, times.sel(benchmark=["hash"]), along="session")
    assert found["session"].values.tolist() == list(range(6))
    assert found["time"].sel(benchmark="fft", session=slice(3, None)).isnull().all()
    second, first = (
        each["time"]
        .sel(benchmark="hash")
        .drop_vars("session")
        .reset_coords(drop=True)
        .transpose(..., "session")
        for each in (found, times)
    )
    xr.testing.assert_equal(second.isel(session=slice(3, None)), first)
    assert found["time"].attrs["shared_levels"] == "session"


def test_labels_without_a_dim_become_one(times):
    parts = [times.assign_coords(version=version) for version in ("old", "new")]
    assert perfarray.join(*parts)["version"].values.tolist() == ["old", "new"]
    with pytest.raises(ValueError, match="number 2 of the timings has no 'machine'"):
        perfarray.join(times, times.isel(machine=0, drop=True))


def test_never_pooled(times):
    """Cells measured twice are refused, and what tells the timings apart is named."""
    with pytest.raises(
        ValueError, match=r"cells .* benchmark=fft, machine=m1.*differ in 'compiler_flags'"
    ):
        perfarray.join(
            times.sel(benchmark=["fft", "hash"]).assign_coords(compiler_flags="-O2"),
            times.assign_coords(compiler_flags="-O3"),
        )
    with pytest.raises(ValueError, match="B, lower"):
        perfarray.join(times, times["memory"].rename("time").expand_dims(iteration=[0]))
    with pytest.raises(ValueError, match="'session'"):
        perfarray.join(times, times, along="day")
