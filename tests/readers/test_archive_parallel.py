"""`read_archive` with `chunks=`: files are read side by side, and the result does not know how."""

import itertools
import json
import random
import sys

import pytest
import xarray as xr

import perfarray
from perfarray.readers import archives as _archive
from readers.files_of_our_own import entry, small_suite, write

dask = pytest.importorskip("dask")
pytest.importorskip("dask.array")


@pytest.fixture
def many(tmp_path):
    """Return more files than are read at once, with benchmarks and descriptors that not all of them have."""
    for number in range(12):
        extra = {"python_version": "3.13"} if number % 3 else {"cpu_model_name": f"cpu{number % 5}"}
        write(tmp_path / f"run{number}.json", small_suite(1.0 + number, hostname=f"host{number % 4}", **extra))
    write(tmp_path / "java.json", [entry("sort", unit="us/op")])
    return sorted(tmp_path.iterdir(), key=lambda path: (len(path.name), path.name))


@pytest.mark.parametrize(("scheduler", "batch"), [("synchronous", 5), ("threads", 1), ("threads", 256), ("processes", 256)])
def test_one_result_for_any_scheduler(many, scheduler, batch, monkeypatch):
    """Threads, processes, or one after another, in batches of any size: what is read without chunks."""
    monkeypatch.setattr(_archive, "BATCH", batch)
    with dask.config.set(scheduler=scheduler, num_workers=2):
        found = perfarray.read_archive(many, chunks={"file": 5})
    assert found["time"].chunksizes["file"][0] == 5
    xr.testing.assert_identical(found.compute(), perfarray.read_archive(many))


def test_one_result_on_a_cluster(many):
    """The workers of a client read."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        found = perfarray.read_archive(many, chunks={}).compute()
    xr.testing.assert_identical(found, perfarray.read_archive(many))


@pytest.mark.parametrize("chunks", [None, {}])
def test_one_result_for_any_order_of_paths(many, chunks):
    """A list is taken in the order of its paths, however it was given; the order of a mapping's labels is kept."""
    expected = perfarray.read_archive(many[0].parent)
    shuffled = random.Random(1).sample(many, len(many))
    xr.testing.assert_identical(perfarray.read_archive(shuffled, chunks=chunks).compute(), expected)
    halves = [many[::2], many[1::2]]
    orders = [{"new": one[::step], "old": two[::-step]} for (one, two), step in itertools.product([halves], (1, -1))]
    first, second = (perfarray.read_archive(order, dim="version", chunks=chunks) for order in orders)
    xr.testing.assert_identical(first.compute(), second.compute())
    assert first["version"].values.tolist() == ["new", "old"]


@pytest.mark.parametrize("chunks", [None, {}])
def test_the_first_broken_file_is_reported(many, chunks):
    """The first by its path, whoever finds out first."""
    for name in ("run7", "run11"):
        write(many[0].parent / f"{name}.json", json.dumps(small_suite(1.0))[:-30])
    with pytest.raises(ValueError, match=r"run11\.json: is not valid JSON"):
        perfarray.read_archive(many[::-1], chunks=chunks)
    with pytest.warns(UserWarning, match=r"^of 13 files, 2 are broken and left out: .*run11\.json.*run7\.json.*$") as caught:
        perfarray.read_archive(many[::-1], chunks=chunks, on_error="warn")
    assert len(caught) == 1


def test_notes_come_in_order(tmp_path):
    """What readers notice is said in the order of the paths, in one warning."""
    for name in "dbca":
        write(tmp_path / f"{name}.json", [entry(), entry()])
    with pytest.warns(UserWarning, match=r"(?s)a\.json: 1 .*b\.json: 1 .*c\.json: 1 .*d\.json: 1 ") as caught:
        perfarray.read_archive([tmp_path / f"{name}.json" for name in "dbca"], chunks={})
    assert len(caught) == 1


def test_progress(many, capsys, monkeypatch):
    """The bar counts files, batch by batch."""
    monkeypatch.setattr(_archive, "BATCH", 5)
    perfarray.read_archive(many, chunks={}, progress=True)
    assert "13/13" in capsys.readouterr().err


def test_a_wrong_layout_is_raised_from_a_task(many):
    """What is no fault of a file is not put down to one."""
    with pytest.raises(ValueError, match=r"layout='run.json' must name dims in braces"):
        perfarray.read_archive(many, chunks={}, layout="run.json", on_error="skip")


def test_without_dask(many, monkeypatch):
    """The extra that has it is named."""
    monkeypatch.setitem(sys.modules, "dask.base", None)
    with pytest.raises(ImportError, match=r"chunks= needs dask, which is not installed; install perfarray\[io\]"):
        perfarray.read_archive(many, chunks={})
