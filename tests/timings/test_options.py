"""Options: a plain call is the process's, a block its thread's or task's, a lazy result keeps what
it was built with."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import xarray as xr

import perfarray
from perfarray.timings.options import ActiveOptions, engine, options

pytest.importorskip("numba")


@pytest.fixture(autouse=True)
def _numpy_afterwards():
    yield
    perfarray.set_options(engine="numpy")


def test_a_plain_call_holds_for_every_thread():
    """The process's option is seen where no block is open."""
    perfarray.set_options(engine="numba")
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(engine).result() == engine() == "numba"


def test_two_threads_with_blocks_see_their_own_engine():
    """Blocks that overlap in time do not disturb each other, nor the process."""
    barrier = threading.Barrier(2, timeout=20)

    def work(name):
        with perfarray.set_options(engine=name):
            barrier.wait()
            current = engine()
            barrier.wait()
            return current

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(work, ("numpy", "numba"))) == ["numpy", "numba"]
    assert engine() == "numpy"


def test_two_tasks_with_blocks_see_their_own_engine():

    async def work(name):
        with perfarray.set_options(engine=name):
            await asyncio.sleep(0)
            return engine()

    async def run_tasks():
        return await asyncio.gather(work("numba"), work("numpy"))

    assert asyncio.run(run_tasks()) == ["numba", "numpy"]


def test_blocks_nest_and_end_where_they_began():
    """The inner block wins inside, the outer one after it, the plain call after both."""
    perfarray.set_options(engine="numba")
    with perfarray.set_options(engine="numpy"):
        with perfarray.set_options(engine="numba"):
            assert engine() == "numba"
        assert engine() == "numpy"
    assert engine() == "numba"


def test_a_lazy_result_keeps_its_engine():
    """Computed later, outside the block, it is what it said it would be; what has no compiled twin
    says so."""
    pytest.importorskip("dask")
    perfarray.set_options(engine="numba")
    times = perfarray.simulate(
        sizes={"execution": 12}, variances={"execution": 1e-4}, dims={"benchmark": 3}, rng=1
    )
    with perfarray.set_options(engine="numpy"):
        plain = times.perf.fit_mixture(max_components=2).to_dataset()
    compiled = times.perf.fit_mixture(max_components=2).to_dataset()
    assert (plain.attrs["engine"], compiled.attrs["engine"]) == ("numpy", "numba")
    xr.testing.assert_allclose(plain, compiled)
    scores = times.chunk().perf.score_distribution(n_resamples=20, rng=1)
    assert scores.attrs["engine"] == "numpy"
    with perfarray.set_options(engine="numpy"):
        assert scores.compute().equals(times.perf.score_distribution(n_resamples=20, rng=1))


def test_limits_stay_where_a_call_does_not_name_them():
    """A block changes what it names, its inner blocks the rest; wrong limits are refused."""
    with perfarray.set_options(max_cells=5):
        with perfarray.set_options(max_padding=7, allow_outside=True):
            assert options()[3:5] == (5, 7)
            assert options().allow_outside is True
        assert options() == ActiveOptions(max_cells=5)
    assert options() == ActiveOptions()
    for wrong in (
        {"max_cells": 0},
        {"max_file_bytes": 1.5},
        {"allow_outside": "yes"},
        {"max_padding": True},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            perfarray.set_options(**wrong)
