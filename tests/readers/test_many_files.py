"""Many small files: what they say alike is held and joined once, and the answer is the same."""

import itertools

import pytest
import xarray as xr

import perfarray
from perfarray.readers.opening import Source
from perfarray.tables import concatenation
from readers.files_of_our_own import write
from readers.test_google_benchmark import row
from readers.test_pytest_benchmark import bench


def context(machine, session):
    """Return what a file says of itself: all the same, half of them nothing, one something else,
    each its own."""
    compiler = (
        {} if session % 2 else {"compiler": "gcc" if (machine, session) != (1, 2) else "clang"}
    )
    return {
        "host_name": f"host{machine}",
        "num_cpus": 8,
        "date": f"2026-01-0{session + 1}",
    } | compiler


@pytest.fixture
def folder(tmp_path):
    """Return files of two formats from four machines; one lacks a benchmark, and one has a setting
    of another type."""
    for machine, session in itertools.product(range(4), range(6)):
        rows = [
            row(f"BM_{name}/{size}", 10.0 + session, family_index=size)
            for name in "ab"
            for size in (8, 64)
        ]
        rows = rows[1:] if (machine, session) == (2, 3) else rows
        rows[-1]["threads"] = 1.0 if (machine, session) == (3, 5) else 1
        write(
            tmp_path / f"m{machine}/{session}.json",
            {"context": context(machine, session), "benchmarks": rows},
        )
        tests = [
            bench(f"test_{n}[{session}]", group="g" if session else None, params={"n": n})
            for n in range(2)
        ]
        write(
            tmp_path / f"m{machine}/py{session}.json",
            {"benchmarks": tests, "machine_info": {"node": f"host{machine}"}},
        )
    return tmp_path


@pytest.mark.parametrize("layout", [None, "{machine}/{session}.json", "{place}/{file_name}.json"])
def test_what_files_share_changes_no_answer(folder, layout, monkeypatch):
    """As if each file were alone in what it says, and every table looked at."""
    shared = perfarray.read_archive(folder, layout=layout)
    monkeypatch.setattr(Source, "once", lambda _, function, *arguments: function(*arguments))
    monkeypatch.setattr(concatenation, "_agreed", lambda *_: None)
    xr.testing.assert_identical(shared, perfarray.read_archive(folder, layout=layout))


def test_metadata_lies_where_files_differ(folder):
    """What all say alike does not lie along what tells files apart; what some say otherwise, or not
    at all, does."""
    times = perfarray.read_archive(folder, layout="{machine}/{session}.json")
    assert times["benchmark_name"].dims == ("benchmark",)
    assert "session" in times["compiler"].dims
    assert times["compiler"].sel(machine="m1").values.tolist().count("clang") == 1


def test_a_broken_file_is_a_line(folder):
    """The others are read; a warning and the table of the archive name it."""
    write(folder / "m2/2.json", '{"context": {"num_cpus": 8}, "benchmarks": [{"na')
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=r"of 48 files, 1 is broken and left out: '.*m2/2\.json: is not valid JSON",
    ):
        assert perfarray.read_archive(folder, on_error="warn").attrs["n_files"] == 47
    table = perfarray.archive_table(folder).set_index("file")
    assert table["status"].value_counts().to_dict() == {"read": 47, "broken": 1}
    assert "line 1, column" in table.loc["m2/2.json", "reason"]


@pytest.mark.parametrize(
    ("labels", "dims"),
    [
        ([("a",), ("b",), ("c",)], ("machine",)),  # a machine in each file
        ([("c", "a"), ("b",), ("d", "e")], ("machine",)),  # machines that determine their file
        # a machine and a version in each
        ([("a", "old"), ("a", "new"), ("b", "old")], ("machine", "version")),
        ([("a",), ("b",), ("a",)], ("file",)),  # two files of a machine
    ],
)
def test_a_file_that_labels_determine_is_no_dim(tmp_path, labels, dims):
    """Where labels in the files say already which file it is, `file` lies along these and
    multiplies no cells."""
    for number, cells in enumerate(labels):
        header, rows = ("machine,version", [",".join(cells)]) if dims[1:] else ("machine", cells)
        lines = [
            f"benchmark,{header},execution,time_ms",
            *(f"fft,{row},{execution},{number + 1}" for row in rows for execution in range(2)),
        ]
        write(tmp_path / f"run{number}.csv", "\n".join(lines))
    times = perfarray.read_archive(tmp_path)
    assert times["file"].dims == dims
    assert ("file" in times["time"].dims) == (dims == ("file",))
    for number, cells in enumerate(labels):
        selection = (
            dict(zip(dims, cells, strict=False))
            if dims != ("file",)
            else {"machine": cells[0], "file": f"run{number}.csv"}
        )
        assert (times["time"].sel(selection) == (number + 1) / 1000).all()
        assert (
            times["file"]
            .sel(selection if dims != ("file",) else {"file": f"run{number}.csv"})
            .item()
            == f"run{number}.csv"
        )


def test_a_file_for_each_machine_takes_no_more_cells(tmp_path):
    """300 files of a machine each are no array of 90,000 cells."""
    for number in range(300):
        write(
            tmp_path / f"{number}.csv",
            f"benchmark,machine,execution,time_ms\nfft,m{number},0,1\nfft,m{number},1,2",
        )
    assert perfarray.read_archive(tmp_path).sizes == {
        "benchmark": 1,
        "machine": 300,
        "execution": 2,
    }


def test_files_of_a_benchmark_each_are_told_apart(tmp_path):
    """Benchmarks are what files are compared by: a dim of files stays where each has others."""
    for name in ("fft", "sort"):
        write(tmp_path / f"{name}.csv", f"benchmark,execution,time_ms\n{name},0,1")
    assert perfarray.read_archive(tmp_path).sizes == {"benchmark": 2, "file": 2, "execution": 1}
