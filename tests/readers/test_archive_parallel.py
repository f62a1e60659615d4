"""The result does not depend on the number of processes that read the files, nor on the order of
the files."""

import json
import os
import random
import sys

import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import perfarray
from perfarray.readers import attempts
from readers.files_of_our_own import entry, small_suite, write
from strategies import examples

pytest.importorskip("dask.array")


@pytest.fixture
def many(tmp_path):
    """Return more files than are read at once, with benchmarks and descriptors that not all of them
    have."""
    for number in range(12):
        extra = {"python_version": "3.13"} if number % 3 else {"cpu_model_name": f"cpu{number % 5}"}
        write(
            tmp_path / f"run{number}.json",
            small_suite(1.0 + number, hostname=f"host{number % 4}", **extra),
        )
    write(tmp_path / "java.json", [entry("sort", unit="us/op")])
    return sorted(tmp_path.iterdir(), key=lambda path: (len(path.name), path.name))


def test_chunks(many, monkeypatch):
    """The result has the chunks that were asked for, and the same values; without dask the message
    names the extra."""
    found = perfarray.read_archive(many, chunks={"file": 5})
    assert found["time"].chunksizes["file"][0] == 5
    xr.testing.assert_identical(found.compute(), perfarray.read_archive(many))
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(
        ImportError, match=r"chunks= needs dask, which is not installed; install perfarray\[io\]"
    ):
        perfarray.read_archive(many, chunks={})


def test_one_result_for_any_number_of_processes(many):
    """Values, notes and errors are the same with two processes, in any order of files."""
    broken = write(many[0].parent / "cut.json", json.dumps(small_suite(1.0))[:-30])
    shuffled = random.Random(1).sample([*many, broken], len(many) + 1)
    with pytest.warns(UserWarning, match=r"of 14 files, 1 is broken and left out: .*cut\.json"):
        found, expected = (
            perfarray.read_archive(shuffled, parallel=workers, on_error="warn")
            for workers in (2, False)
        )
    xr.testing.assert_identical(found, expected)


def test_processes_are_started_where_there_is_enough_to_read(many, monkeypatch):
    """`True` starts no process for few bytes; a number is obeyed, up to one process for each
    file."""
    started = []
    monkeypatch.setattr(
        attempts,
        "_by_processes",
        lambda attempt, found, number: started.append(number) or map(attempt, found),
    )
    monkeypatch.setattr(attempts, "number_of_cores", lambda: 4)
    perfarray.read_archive(many, parallel=True)
    assert started == []
    perfarray.read_archive(many, parallel=100)
    monkeypatch.setattr(attempts, "FEWEST_BYTES", 1000)
    perfarray.read_archive(many, parallel=True)
    perfarray.read_archive(many, parallel=1)
    assert started == [13, 4, 1]
    with pytest.raises(ValueError, match="parallel=0: give a whole number of at least 1"):
        perfarray.read_archive(many, parallel=0)


def test_a_process_that_ends_is_an_error(many, monkeypatch):
    monkeypatch.setattr(attempts, "_attempts_at", ended)
    with pytest.raises(
        ChildProcessError,
        match=r"a process that read files ended: .*parallel=False reads in this process",
    ):
        perfarray.read_archive(many, parallel=1)


def ended(file, settings, answers):
    os._exit(1)


@settings(max_examples=examples(64), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_list_keeps_its_order_and_changes_nothing_else(many, data):
    """Labels have the order of the list; sorted, the result is that of the folder."""
    expected = perfarray.read_archive(many[0].parent)
    given = data.draw(st.permutations(many))
    found = perfarray.read_archive(given)
    assert found["file"].values.tolist() == [path.name for path in given]
    xr.testing.assert_identical(found.sel(file=expected["file"]), expected)
    xr.testing.assert_identical(perfarray.read_archive(set(given)), expected)


@given(order=st.permutations(["v9", "v10", "v1"]), sessions=st.permutations(range(2)))
@settings(max_examples=examples(48), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_versions_are_compared_in_the_order_of_the_list(tmp_path, order, sessions):
    """Labels from a layout keep the order of the list; levels have an order of their own."""
    paths = {
        (version, session): tmp_path / f"{version}_{session}.json"
        for version in order
        for session in sessions
    }
    for number, path in enumerate(sorted(paths.values())):
        write(path, small_suite(1.0 + number))
    found = perfarray.read_archive(
        [str(path) for path in paths.values()], layout="{version}_{session}.json"
    )
    assert found["version"].values.tolist() == list(order)
    expected = perfarray.read_archive(tmp_path, layout="{version}_{session}.json")
    xr.testing.assert_identical(found.sel(version=expected["version"]), expected)


def test_a_mapping_keeps_its_order(many):
    """The order of its labels is kept, whatever the order of the files under each."""
    orders = [{"new": many[::2][::step], "old": many[1::2][::-step]} for step in (1, -1)]
    first, second = (perfarray.read_archive(order, dim="version") for order in orders)
    assert first["version"].values.tolist() == ["new", "old"]
    xr.testing.assert_identical(first, second.sel(file=first["file"]))


@pytest.mark.parametrize("parallel", [False, 2])
def test_the_first_broken_file_is_reported(many, parallel):
    """The first by its path, whichever process reads it."""
    for name in ("run7", "run11"):
        write(many[0].parent / f"{name}.json", json.dumps(small_suite(1.0))[:-30])
    with pytest.raises(ValueError, match=r"run11\.json: is not valid JSON"):
        perfarray.read_archive(many[::-1], parallel=parallel)
    if not parallel:
        with pytest.warns(
            UserWarning,
            match=r"^of 13 files, 2 are broken and left out: .*run11\.json.*run7\.json.*$",
        ) as caught:
            perfarray.read_archive(many[::-1], on_error="warn")
        assert len(caught) == 1


def test_notes_come_in_the_order_of_the_paths_in_one_warning(tmp_path):
    for name in "dbca":
        write(tmp_path / f"{name}.json", [entry(), entry()])
    with pytest.warns(
        UserWarning, match=r"(?s)a\.json: 1 .*b\.json: 1 .*c\.json: 1 .*d\.json: 1 "
    ) as caught:
        perfarray.read_archive([tmp_path / f"{name}.json" for name in "dbca"])
    assert len(caught) == 1


def test_progress(many, capsys):
    perfarray.read_archive(many, progress=True)
    assert "13/13" in capsys.readouterr().err
