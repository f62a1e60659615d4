"""Chunked timings: answers stay lazy or say what to rechunk, and are the same for any chunks,
scheduler and cluster."""

import functools
import gc
import os
import pickle
import shutil
import signal
import sys
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from method_calls import OLD, RUNS, VERSIONS, ask
from strategies import MANY

dask = pytest.importorskip("dask")
pytest.importorskip("dask.array")
pytest.importorskip("dask.callbacks")

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(limits are too narrow|are the extreme replicates):UserWarning"
)

DRAWN, SEED = {"n_resamples": 20, "rng": 1}, {"rng": 1}

CALLS = {
    "counts": {},
    "variance_components": {},
    "variance_components, merged": {"negative": "merge"},
    "variance_components, reml": {"method": "reml"},
    "mean_interval": {},
    "mean_interval, studentized": {"method": "studentized"} | DRAWN,
    "ratio_interval": OLD,
    "ratio_interval, paired": OLD | {"paired": "binary", "method": "log_delta"},
    "ratio_interval, bca": OLD | {"method": "bca"} | DRAWN,
    "ratio_interval, of objects": lambda times: times.sel(version=["new"]).perf.ratio_interval(
        times.sel(version="old", drop=True)
    ),
    "compare": OLD | {"threshold": 0.01, "correction": "holm"},
    "compare, shared": OLD | {"shared": "binary"},
    "compare, studentized": OLD | {"method": "studentized"} | DRAWN,
    "pairwise": VERSIONS,
    "bootstrap_distribution": {"resample": "all"} | DRAWN,
    "bootstrap_distribution, shared": {"shared": "binary"} | DRAWN,
    "bootstrap_interval": {"method": "basic"} | DRAWN,
    "bootstrap_interval, of stored": lambda times: times.perf.bootstrap_distribution(
        **DRAWN
    ).perf.bootstrap_interval(),
    "plan_repetitions": OLD | {"costs": {"binary": 60.0, "execution": 5.0}, "budget": 20_000},
    "drop_warmup": {"n": 1},
}
"""Every way to ask that was there when this was written; a new one gets a line."""

TOPICS = {
    "autocorrelation": RUNS,
    "hierarchical_performance_test": OLD,
    "mean_difference": OLD | SEED,
    "fit_mixture": lambda times: times.perf.fit_mixture().to_dataset(),
    "goodness_of_fit": {"n_resamples": 5} | SEED,
    "normality": {},
    "prob_faster": OLD | SEED,
    "randomization_test": OLD | SEED,
    "run_estimate": {},
    "suite_score": {},
    "score_ratio_interval": OLD,
    "score_ratio_interval, percentile": OLD | {"method": "percentile"} | DRAWN,
    "speedup": OLD,
    "speedup_test": OLD,
    "steady_state": RUNS,
    "modes_by": {"n_resamples": 19} | SEED,
    "variability_level": SEED,
}
"""What topics other than Kalibera and Jones's answer lazily."""

WHOLE = {
    "overall_speedup": ("benchmark", OLD),
    "prob_fastest": ("version", VERSIONS | SEED),
    "five_number_summary": ("benchmark", DRAWN),
    "relative_variation": ("benchmark", DRAWN),
    "score_distribution": ("benchmark", DRAWN),
}
"""What needs another dim whole, and which."""

FAR = (
    "counts",
    "variance_components",
    "variance_components, reml",
    "mean_interval",
    "ratio_interval",
    "compare",
    "compare, studentized",
    "pairwise",
    "bootstrap_distribution",
)
"""What other processes and clusters are asked: one of every kind, since they are slow to start."""

STREAMED = {
    "variance_components": {},
    "mean_interval": {},
    "suite_score": {},
    "principal_components": {},
    "relative_variation": {},
    "five_number_summary": {"n_resamples": 10} | SEED,
    "compare": {"baseline": 0, "dim": "machine"},
    "machine_table": {},
}
"""What archives that do not fit in memory are asked."""

each_method = pytest.mark.parametrize("name", CALLS)


@pytest.fixture(scope="module")
def times():
    """Return ragged timings of two machines and two versions."""
    simulated = perfarray.simulate(
        sizes={"binary": 5, "execution": 2, "iteration": 2},
        variances={"binary": 1e-4, "execution": 1e-4, "iteration": 1e-4},
        dims={"machine": ["m1", "m2"], "benchmark": ["fft", "sort"], "version": ["old", "new"]},
        rng=1,
    )
    simulated["time"][{"machine": 0, "binary": 0, "execution": 1}] = np.nan
    return simulated


@pytest.fixture
def unasked():
    """Let whatever computes fail."""

    def fail(*_, **__):
        raise AssertionError("computed before it was asked for")

    with dask.config.set(scheduler=fail):
        yield


@pytest.fixture(scope="module")
def expected(times):
    """Return every answer in memory."""
    with warnings.catch_warnings(action="ignore"):
        return {name: ask(times, name, call) for name, call in CALLS.items()}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Return a function that gives a store of so many machines in chunks of so many, written once
    for all that is asked of it."""
    pytest.importorskip("zarr")

    @functools.cache
    def written(machines, size):
        path = tmp_path_factory.mktemp("archive") / f"{machines}.zarr"
        write_by_region(path, machines, size)
        return path

    return written


def lazy_answers(times, names):
    """Return some answers, lazily, each in two chunks."""
    return {name: ask(times.chunk(machine=1), name, CALLS[name]) for name in names}


def chunked(times):
    """Split every dim that is not a level: every cell is a chunk."""
    return times.chunk(machine=1, benchmark=1, version=1)


def assert_same(result, expected):
    """Assert equal labels, text and counts, numbers to the last digits, equal attrs, and equal
    notes: those counted later among them."""
    xr.testing.assert_allclose(result, expected, rtol=1e-12)
    attrs, expected_attrs = (
        {key: value for key, value in data.attrs.items() if key not in ("notes", "unchecked")}
        for data in (result, expected)
    )
    assert attrs == expected_attrs
    assert perfarray.notes(result.compute()) == perfarray.notes(expected)


class TestLazy:
    """Nothing is computed before it is asked for."""

    @each_method
    @pytest.mark.usefixtures("unasked")
    def test_same_numbers_for_any_chunks(self, times, expected, name):
        """A call only builds the graph; cells alone, descriptors lazy as those of a store. The
        tests of schedulers have other chunks."""
        clocks = xr.DataArray([2.0, 3.0], dims="machine").chunk(machine=-1)
        result = ask(chunked(times).assign_coords(cpu_mhz=clocks), name, CALLS[name])
        variables = result.data_vars.values() if isinstance(result, xr.Dataset) else [result]
        assert all(variable.chunks is not None for variable in variables)
        assert_same(
            result.drop_vars("cpu_mhz", errors="ignore").compute(scheduler="synchronous"),
            expected[name],
        )

    @each_method
    @pytest.mark.parametrize("level", ["binary", "execution", "iteration"])
    def test_a_split_level_is_named(self, times, name, level):
        """A level has to be whole, except where positions are only cut off."""
        if name == "drop_warmup":
            assert_same(
                ask(times.chunk({level: 1}), name, CALLS[name]).compute(),
                ask(times, name, CALLS[name]),
            )
            return
        with pytest.raises(
            ValueError,
            match=rf"dim '{level}' is split over \d chunks; .*use .chunk\(\{{'{level}': -1\}}\)",
        ):
            ask(times.chunk({level: 1}), name, CALLS[name])

    @pytest.mark.parametrize("name", TOPICS)
    @pytest.mark.usefixtures("unasked")
    def test_other_topics(self, times, name):
        """They stay lazy too, name a level that is split, and give the numbers of the array in
        memory."""
        result = ask(chunked(times), name, TOPICS[name])
        with pytest.raises(ValueError, match=r"dim 'binary' is split over 5 chunks"):
            ask(times.chunk(binary=1), name, TOPICS[name])
        with warnings.catch_warnings(action="ignore"):
            xr.testing.assert_allclose(
                result.compute(scheduler="synchronous"), ask(times, name, TOPICS[name]), rtol=1e-12
            )

    @pytest.mark.parametrize("name", WHOLE)
    def test_what_needs_another_dim_whole(self, times, name):
        """The dim is named; made whole, the numbers are those of the array in memory."""
        dim, call = WHOLE[name]
        with pytest.raises(ValueError, match=f"dim '{dim}' is split over 2 chunks"):
            ask(chunked(times), name, call)
        with warnings.catch_warnings(action="ignore"):
            result = ask(chunked(times).chunk({dim: -1}), name, call)
            xr.testing.assert_allclose(
                result.compute(scheduler="synchronous"), ask(times, name, call), rtol=1e-12
            )

    @pytest.mark.parametrize("dim", ["machine", "benchmark"])
    def test_what_computes_at_once(self, times, dim):
        """Tables, groups of machines and every method side by side are in memory, whatever the
        chunks."""
        old = times.sel(version="old", drop=True).isel(binary=slice(1, None))
        for call in (
            lambda data: data.perf.machine_table(),
            lambda data: data.perf.cluster_machines(2).to_series().to_frame(),
            lambda data: data.perf.to_frame(),
            lambda data: perfarray.join(
                data, data.assign_coords(machine=["m3", "m4"])
            ).to_dataframe(),
            lambda data: data.perf.agreement("m1", dim="machine", n_resamples=20, rng=1)[
                "estimate"
            ].to_dataframe(),
        ):
            with warnings.catch_warnings(action="ignore"):
                pd.testing.assert_frame_equal(call(old.chunk({dim: 1})), call(old))

    @pytest.mark.parametrize("name", ["mean_interval", "compare", "variance_components"])
    def test_marks_are_left_out(self, times, name):
        """A lazy mark leaves out the same values."""
        first = (
            (times["iteration"] == 0).broadcast_like(times["time"]).transpose(*times["time"].dims)
        )
        marked = times.assign_coords(warmup=first.where(times["execution"] == 1, False))
        result, expected = (
            ask(chunked(marked), name, CALLS[name]).compute(),
            ask(marked, name, CALLS[name]),
        )
        xr.testing.assert_allclose(result.drop_attrs(), expected.drop_attrs(), rtol=1e-12)
        assert not result.drop_attrs().equals(ask(times, name, CALLS[name]).drop_attrs())

    def test_merge_level(self, times):
        """A level that was merged lazily gives the same answers."""
        result, expected = (
            data.perf.merge_level("binary").perf.mean_interval() for data in (chunked(times), times)
        )
        assert_same(result.compute(), expected)


class TestSchedulers:
    """Threads, processes, a cluster: one set of numbers."""

    @pytest.mark.parametrize(
        ("scheduler", "names"), [("threads", tuple(CALLS)), ("processes", FAR)][: 1 + MANY]
    )
    def test_local(self, times, expected, scheduler, names):
        """dask's own schedulers; what goes to other processes comes out as it was, which is all
        that is asked of them while people wait."""
        sent = pickle.loads(pytest.importorskip("cloudpickle").dumps(lazy_answers(times, names)))
        (results,) = dask.compute(sent, scheduler=scheduler, num_workers=2)
        for name, answer in results.items():
            assert_same(answer, expected[name])

    @pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
    def test_a_worker_that_is_killed(self, times, expected, tmp_path):
        """One of two processes of a cluster dies in the middle of a task: the other does its work
        again, and the numbers are the same."""
        distributed = pytest.importorskip("distributed")

        def deadly(block):
            try:
                (tmp_path / str(os.getpid())).touch()
                (tmp_path / "killed").touch(exist_ok=False)
            except FileExistsError:
                return block
            return os.kill(os.getpid(), signal.SIGKILL)

        with (
            dask.config.set({"distributed.comm.timeouts.connect": "5s"}),  # the dead do not answer
            dask.config.set(
                {"distributed.worker.multiprocessing-method": "forkserver"}
            ),  # dask is imported once, not by each
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster),
        ):
            cells = times.chunk(machine=1, benchmark=1)
            cells["time"] = cells["time"].copy(
                data=cells["time"].data.map_blocks(deadly, dtype=float, meta=np.empty((0,) * 6))
            )
            (results,) = dask.compute(
                {
                    name: ask(cells, name, CALLS[name])
                    for name in ("mean_interval", "ratio_interval", "bootstrap_distribution")
                }
            )
        assert len(list(tmp_path.iterdir())) > 2  # the mark, the one that was killed, and another
        for name, answer in results.items():
            assert_same(answer, expected[name])

    def test_answers_computed_together_agree_on_tasks(self, times, tmp_path):
        """A task in the graphs of two answers has the same inputs in both: of others a cluster logs
        debugging text, and may stop."""
        pytest.importorskip("zarr")
        times.chunk(machine=1).to_zarr(tmp_path / "a.zarr", zarr_format=3, consolidated=False)
        stored = xr.open_zarr(tmp_path / "a.zarr", consolidated=False)
        inputs: dict = {}
        for answer in (
            stored.perf.mean_interval(),
            stored["time"].perf.mean_interval() - stored["time"].mean(),
            stored.perf.compare("old"),
        ):
            (fused,) = dask.optimize(answer)
            graph = dict(fused.__dask_graph__())
            for key in graph:
                needed = dask.core.get_dependencies(graph, key)
                assert inputs.setdefault(key, needed) == needed


class TestStores:
    """Zarr stores, whole, incomplete and damaged."""

    @pytest.fixture
    def store(self, times, tmp_path):
        """Return a store with one chunk per machine, and the file of the first."""
        pytest.importorskip("zarr")
        path = tmp_path / "a.zarr"
        times.chunk(machine=1).to_zarr(path, zarr_format=3, consolidated=False)
        return path, path / "time" / "c" / "0"

    def test_from_a_store(self, store, times):
        """What is read lazily from a store gives the answers of the array in memory."""
        result = xr.open_zarr(store[0], consolidated=False)
        assert result["time"].chunksizes["machine"] == (1, 1)
        assert_same(result.perf.compare("old").compute(), times.perf.compare("old"))

    def test_a_missing_chunk_is_not_measured(self, store, times):
        """Its values are NaN: the cells have no answer, all others have theirs, and `counts` shows
        it."""
        shutil.rmtree(store[1])
        result = xr.open_zarr(store[0], consolidated=False)
        assert np.isnan(result["time"].isel(machine=0)).all()
        answer = result.perf.mean_interval().compute()
        assert (answer["n"].isel(machine=0) == 0).all()
        assert np.isnan(answer["estimate"].isel(machine=0)).all()
        xr.testing.assert_allclose(
            answer.isel(machine=slice(1, None)),
            times.perf.mean_interval().isel(machine=slice(1, None)),
        )
        total = result.perf.counts()["total"].sel(level="iteration").compute()
        assert (total.isel(machine=0) == 0).all()
        assert (total.isel(machine=1) > 0).all()

    def test_a_damaged_chunk_is_an_error(self, store):
        """It is raised when the chunk is wanted, and not before: the other chunks are still
        read."""
        (file,) = (path for path in store[1].rglob("*") if path.is_file())
        file.write_bytes(file.read_bytes()[:-20])
        answer = xr.open_zarr(store[0], consolidated=False).perf.mean_interval()
        assert answer["estimate"].isel(machine=1).notnull().all()
        with pytest.raises(Exception, match=r"(?i)decompress|zstd|error"):
            answer["estimate"].isel(machine=0).compute()

    @pytest.mark.parametrize(
        "name",
        ["mean_interval", "variance_components", "suite_score", "principal_components"][
            : 4 if MANY else 1
        ],
    )
    def test_memory_is_that_of_a_chunk(self, archive, tmp_path, name):
        """An archive written by region and computed into another store adds a fifth of its growth
        at most, half that of the archive."""
        peaks, block_bytes, stored = [], [], []
        for machines in (7_500, 57_500) if MANY else (3_000, 9_000):
            answers = tmp_path / f"{machines}_{name}.zarr"
            times = xr.open_zarr(archive(machines, 2_500 if MANY else 1_000), consolidated=False)
            gc.collect()
            gc.freeze()
            tracemalloc.start()
            with dask.config.set(scheduler="synchronous"), Peak() as callback:
                result = ask(times, name, STREAMED[name])
                result.to_zarr(answers, zarr_format=3, consolidated=False)
            tracemalloc.stop()
            peaks.append(callback.peak_bytes)
            block_bytes.append(times.nbytes)
            stored.append(times.nbytes + result.nbytes)
        assert peaks[1] - peaks[0] < min(
            0.2 * (stored[1] - stored[0]), 0.5 * (block_bytes[1] - block_bytes[0])
        )

    @pytest.mark.parametrize("runs", [3, 2] if MANY else [3])
    @pytest.mark.parametrize("name", STREAMED)
    def test_no_chunk_waits_for_others(self, archive, tmp_path, name, runs):
        """What tasks hand on is held for as many chunks at a time, however many there are; keys and
        marks of machines are small."""
        peaks_held = []
        for machines in (200, 600):
            times = xr.open_zarr(archive(machines, 100), consolidated=False).isel(
                execution=slice(runs)
            )
            with dask.config.set(scheduler="synchronous"), Held() as callback:
                answer = ask(times, name, STREAMED[name])
                if isinstance(answer, xr.Dataset):
                    answer.to_zarr(
                        tmp_path / f"{machines}_{name}.zarr", zarr_format=3, consolidated=False
                    )
            peaks_held.append(callback.peak_bytes)
        assert peaks_held[1] - peaks_held[0] <= times["time"].nbytes / 6 + 64 * 400

    def test_an_answer_with_texts_is_computed_once(self, tmp_path):
        """What is written is not computed first to see that it is text (of each, xarray looks at
        one); in a file, too, it is what it is."""
        pytest.importorskip("zarr")
        pytest.importorskip("h5netcdf")
        write_by_region(tmp_path / "a.zarr", 12, 2)
        times, reads = xr.open_zarr(tmp_path / "a.zarr", consolidated=False), []
        times = times.assign_coords(
            benchmark=times["benchmark"].astype(object)
        )  # as they are opened, old xarray cannot write them
        counting_blocks = times["time"].data.map_blocks(
            lambda block: reads.append(block.size) or block, dtype=float, meta=np.empty((0,) * 3)
        )
        verdicts = times.assign(time=times["time"].copy(data=counting_blocks)).perf.compare(
            0, dim="machine"
        )
        texts = [name for name, variable in verdicts.data_vars.items() if variable.dtype == object]
        verdicts = verdicts[["estimate", *texts]]
        verdicts.drop_vars(texts).to_zarr(tmp_path / "n.zarr", zarr_format=3, consolidated=False)
        once, reads[:] = sum(reads), []
        verdicts.to_zarr(tmp_path / "v.zarr", zarr_format=3, consolidated=False)
        assert sum(reads) - once <= len(texts) * 2 * max(reads)
        verdicts.to_netcdf(tmp_path / "v.nc", engine="h5netcdf")
        expected = times.compute().perf.compare(0, dim="machine")
        for result in (
            xr.open_zarr(tmp_path / "v.zarr", consolidated=False),
            xr.open_dataset(tmp_path / "v.nc", engine="h5netcdf"),
        ):
            assert all(
                result[name].values.tolist() == expected[name].values.tolist() for name in texts
            )


class Held(dask.callbacks.Callback):
    """The most bytes that results of tasks, waiting for others, have taken at a time."""

    peak_bytes = 0

    def _posttask(self, *task):
        """Add up what is there when a task has ended."""
        arrays = [
            array
            for value in task[3]["cache"].values()
            for array in (value if isinstance(value, tuple) else (value,))
        ]
        self.peak_bytes = max(
            self.peak_bytes, sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
        )


class Peak(dask.callbacks.Callback):
    """The most bytes that were in use while a task ran; what waits for the collector, how much
    hangs on the tests before, is left out."""

    peak_bytes = 0

    def _pretask(self, *_task):
        """Forget what was freed, and what can be, before a task."""
        gc.collect()
        tracemalloc.reset_peak()

    def _posttask(self, *_task):
        """Compare the most that this task has used with that of the others."""
        self.peak_bytes = max(self.peak_bytes, tracemalloc.get_traced_memory()[1])


def write_by_region(path, machines, size):
    """Write a store without values, then fill it part by part."""
    benchmarks = [f"b{number}" for number in range(12)]
    blank = dask.array.full((machines, len(benchmarks), 3), np.nan, chunks=(size, -1, -1))
    template = xr.Dataset(
        {"time": (("machine", "benchmark", "execution"), blank, {"units": "s"})},
        {"machine": np.arange(machines), "benchmark": np.array(benchmarks, dtype=object)},
    )
    template.to_zarr(path, compute=False, zarr_format=3, consolidated=False)
    dims = {"machine": size, "benchmark": benchmarks}
    for start in range(0, machines, size):
        region = perfarray.simulate(
            sizes={"execution": 3}, variances={"execution": 1e-4}, dims=dims, rng=start
        )
        region.drop_vars(list(region.coords)).to_zarr(
            path, region={"machine": slice(start, start + size)}, consolidated=False
        )
