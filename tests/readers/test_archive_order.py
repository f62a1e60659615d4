"""The result does not depend on the order of the files; its chunks are those that were asked
for."""

import json
import sys

import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import perfarray
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


def test_processes_are_no_argument(many):
    """Files are read in one process; the message says what to do instead."""
    for read in (perfarray.read_archive, perfarray.archive_table):
        with pytest.raises(
            TypeError, match=r"has no argument 'parallel' any more\. files are read"
        ):
            read(many, parallel=2)


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


def test_the_first_broken_file_is_reported(many):
    """The first by its path, in whatever order files are given."""
    for name in ("run7", "run11"):
        write(many[0].parent / f"{name}.json", json.dumps(small_suite(1.0))[:-30])
    with pytest.raises(ValueError, match=r"run11\.json: is not valid JSON"):
        perfarray.read_archive(many[::-1])
    with pytest.warns(
        UserWarning, match=r"^of 13 files, 2 are broken and left out: .*run11\.json.*run7\.json.*$"
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
