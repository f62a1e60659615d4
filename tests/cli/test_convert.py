"""`perfarray convert`: files and stores, their summary, and errors."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import perfarray
from cli.commands import one_line, run, write_rows
from perfarray.tables.stores import writing
from readers.files_of_our_own import small_suite, write

KINDS = pytest.mark.parametrize("name", ["out.nc", "out.zarr"])


@pytest.fixture(autouse=True)
def _packages():
    """Skip where nothing can be written."""
    pytest.importorskip("h5netcdf")
    pytest.importorskip("zarr")


@pytest.fixture
def archive(tmp_path):
    """Return a folder of two versions."""
    for number, version in enumerate(("old", "new")):
        write(tmp_path / "results" / f"{version}.json", small_suite(1.0 + number, hostname="h1"))
    return tmp_path / "results"


@KINDS
def test_selected_labels_are_written(archive, tmp_path, name):
    """Only they; what is streamed has no such choice."""
    run("convert", archive, name, "--layout", "{version}.json", "--select", "version=new", code=0)
    assert opened(tmp_path / name)["version"].values.tolist() == ["new"]
    streamed = ("convert", archive, "s.zarr", "--stream", "--select", "version=new")
    assert "Leave out 'select'" in run(*streamed, code=2).stderr


def opened(path):
    if path.suffix == ".zarr":
        return xr.open_zarr(path, chunks=None, consolidated=False).load()
    return xr.load_dataset(path, engine="h5netcdf")


@KINDS
def test_it_writes_what_was_read(archive, tmp_path, name):
    """The file holds the archive; a line summarises it, and no other file is left."""
    printed_text = run("convert", archive, name, "--layout", "{version}.json", code=0).stdout
    kind = {"out.nc": "netCDF", "out.zarr": "Zarr"}[name]
    assert printed_text == (
        f"{name}: {kind}, 6 values of time, 1 benchmark x 2 version x 1 execution x 3 "
        "iteration, from 2 files\n"
    )
    expected = perfarray.read_archive(archive, layout="{version}.json")
    back = opened(tmp_path / name)
    xr.testing.assert_equal(back, expected)
    assert back.attrs == expected.attrs
    assert {path.name for path in tmp_path.iterdir()} == {"results", name}
    comparison = run(
        "compare", name, "--dim", "version", "--baseline", "old", "--levels", "iteration", code=0
    )
    assert "old -> new" in comparison.stdout


def test_options_of_reading(tmp_path):
    """Options describe columns and positions, in every command, and errors name them."""
    table = write(tmp_path / "a.csv", "fft,5.0\nfft,6.0\n".encode("utf-16"))
    options = ("--dims", "benchmark=0,time_ms=1", "--encoding", "utf-16")
    run("convert", table, "a.nc", *options, code=0)
    np.testing.assert_allclose(opened(tmp_path / "a.nc")["time"].values.ravel(), [0.005, 0.006])
    nested = write(tmp_path / "b.json", {"old": [1.0], "new": [2.0]})
    run("convert", nested, "b.nc", "--pattern", "{version}/{execution}", code=0)
    assert (
        "--dims benchmark=0,time_ms=1 for one without"
        in run("convert", write_rows("c.csv", "fft,x", []), "c.nc").stderr
    )
    run("convert", table, "d.nc", "--dims", "benchmark", code=2)
    options = ("--pattern", "{benchmark}/{execution}")
    run("files", nested, code=2)
    run("files", nested, *options, code=0)
    for command in (("compare", nested, nested), ("plan", nested)):
        assert "no reader" in run(*command).stderr
        assert "no reader" not in run(*command, *options).stderr


@KINDS
def test_it_replaces_only_when_asked(archive, tmp_path, name):
    """The bar counts files, on stderr."""
    run("convert", archive / "old.json", name, code=0)
    output_values = run("convert", archive, name, code=2).stderr
    assert output_values.startswith(f"error: {name} ")
    assert "--overwrite" in output_values
    assert opened(tmp_path / name).attrs["n_files"] == 1
    assert "2/2" in run("convert", archive, name, "--overwrite", "--progress", code=0).stderr
    assert opened(tmp_path / name).attrs["n_files"] == 2


CHILD = """
import os, resource, signal, sys
from perfarray.cli.app import app

def run(*arguments):
    try:
        app(["convert", *arguments, "--overwrite"])
    except SystemExit as error:
        return error.code

old, nc, zarr = sys.argv[1:]
sys.dont_write_bytecode = True  # cut off at the limit, it would be what the next import finds
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))
assert run(old, zarr) == run(old, nc) == 2
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
run(old, nc)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="sizes of files are limited there only as here")
def test_a_full_disk_and_a_sudden_end_leave_what_was_there(archive, tmp_path):
    """Without room there is one line, exit code 2 and no partial file, and files of the user are
    not touched."""
    outputs = [tmp_path / "out.nc", tmp_path / "out.zarr"]
    mine = [write(tmp_path / f"out.partial{path.suffix}", "mine") for path in outputs]
    for output in outputs:
        run("convert", archive, output, code=0)
    child = subprocess.run(
        [sys.executable, "-c", CHILD, archive / "old.json", *outputs],
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    lines = [
        line for line in child.stderr.splitlines() if "crc32c" not in line
    ]  # what old packages say of each other
    assert len(lines) == 2
    assert all(
        line.startswith("error:") and str(output) in line
        for line, output in zip(lines, outputs[::-1], strict=True)
    )
    assert [opened(output).attrs["n_files"] for output in outputs] == [2, 2]
    assert [path.read_text() for path in mine] == ["mine", "mine"]
    assert len(list(tmp_path.iterdir())) == 6  # and the folder of the one that was killed
    run("convert", archive / "old.json", outputs[0], "--overwrite", code=0)
    assert opened(outputs[0]).attrs["n_files"] == 1


def test_a_failed_move_brings_the_old_back(archive, tmp_path, monkeypatch):
    """A store is replaced in two steps: where the second fails, the first is undone."""
    output = tmp_path / "out.zarr"
    run("convert", archive, output, code=0)
    rename, moves = os.rename, []

    def second_fails(*positions):
        moves.append(positions)
        if len(moves) == 2:
            raise OSError("no")
        rename(*positions)

    monkeypatch.setattr(os, "rename", second_fails)
    run("convert", archive / "old.json", output, "--overwrite", code=2)
    assert len(moves) == 3
    assert opened(output).attrs["n_files"] == 2
    assert {path.name for path in tmp_path.iterdir()} == {"results", "out.zarr"}


@KINDS
def test_a_link_stays_one(archive, tmp_path, name):
    """Its target is replaced, in the folder of the target."""
    distance = tmp_path / "far"
    distance.mkdir()
    link = tmp_path / name
    link.symlink_to(distance / f"real{link.suffix}")
    run("convert", archive, link, code=0)
    run("convert", archive / "old.json", link, "--overwrite", code=0)
    assert link.is_symlink()
    assert opened(distance / f"real{link.suffix}").attrs["n_files"] == 1
    assert {path.name for path in distance.iterdir()} == {f"real{link.suffix}"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.txt", "the suffix says what is written, and '.txt' is none of '.nc', '.zarr'"),
        ("out", "the suffix says what is written, and '' is none of '.nc', '.zarr'"),
        ("no/such/out.nc", "there is no folder"),
        ("folder.zarr", "is a folder and no Zarr store, and is not replaced"),
        ("folder.nc", "is a folder and no Zarr store, and is not replaced"),
        ("file.zarr", "is a file and no Zarr store, and is not replaced"),
    ],
)
def test_wrong_outputs(archive, tmp_path, name, message):
    """Nothing is read, and nothing is lost: a folder that is no store is never replaced."""
    for folder in ("folder.zarr", "folder.nc"):
        write(tmp_path / folder / "thesis.tex", "years of work")
    write(tmp_path / "file.zarr", "text")
    assert message in run("convert", archive / "nothing", name, "--overwrite", code=2).stderr
    assert (tmp_path / "folder.zarr" / "thesis.tex").exists()


def test_archives_that_cannot_be_read(archive, tmp_path):
    """--on-error decides about broken files; messages are those of `read_archive`."""
    write(archive / "cut.json", '{"benchmarks": [{"runs"')
    output_values = run("convert", archive, "out.nc", code=2).stderr
    assert "cut.json: is not valid JSON: the file is cut off" in output_values
    assert output_values.endswith(
        "; perfarray convert --on-error warn leaves such files out, and names them\n"
    )
    assert not (tmp_path / "out.nc").exists()
    assert (
        "warning: of 3 files, 1 is broken and left out"
        in run("convert", archive, "out.nc", "--on-error", "warn", code=0).stderr
    )
    assert opened(tmp_path / "out.nc").attrs["n_files_broken"] == 1


def test_a_missing_package_is_named(archive, monkeypatch):
    """The error names the extra that has it, before anything is read."""
    monkeypatch.setattr(perfarray, "read_archive", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    output_values = run("convert", archive, "out.zarr", "--format", "pyperf", code=2).stderr
    assert "this needs zarr, which is not installed; install perfarray[io]" in output_values


def test_levels_are_whole_in_every_chunk(tmp_path):
    """Only dims that are not levels are split, so that a store that is opened lazily needs no
    rechunking."""
    pytest.importorskip("dask.array")
    variances = {"execution": 1e-4, "iteration": 1e-4}
    times = perfarray.simulate(
        sizes={"execution": 40, "iteration": 100}, variances=variances, dims={"machine": 600}, rng=1
    )
    writing.write(times, tmp_path / "a.zarr")
    writing.write(times, tmp_path / "a.nc")
    for lazy in (
        xr.open_zarr(tmp_path / "a.zarr"),
        xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf", chunks={}),
    ):
        chunks = lazy["time"].chunksizes
        assert (chunks["execution"], chunks["iteration"], len(chunks["machine"]) > 1) == (
            (40,),
            (100,),
            True,
        )
        np.testing.assert_allclose(
            lazy.perf.mean_interval()["upper"], times.perf.mean_interval()["upper"], rtol=1e-12
        )


@KINDS
def test_empty_cells_take_no_room(tmp_path, name):
    """Most cells of an archive are empty; its file is far smaller than its array."""
    values = np.full((100, 20, 200), np.nan)
    values[::10, 0, 0] = 1.5
    times = xr.Dataset({"time": (("machine", "flags", "execution"), values)})
    writing.write(times, tmp_path / name)
    files = [path for path in [tmp_path / name, *(tmp_path / name).rglob("*")] if path.is_file()]
    assert sum(path.stat().st_size for path in files) < values.nbytes / 50


def test_every_chunk_is_written(tmp_path):
    """Chunks without a measured value are stored, too, so that a missing chunk is one that was
    lost."""
    zarr = pytest.importorskip("zarr")
    times = perfarray.simulate(sizes={"execution": 3}, variances={"execution": 1.0}, rng=1)
    writing.write(times.where(False), tmp_path / "a.zarr")
    stored = zarr.open_group(tmp_path / "a.zarr")["time"]
    assert stored.nchunks_initialized == stored.nchunks == 1
    assert np.isnan(stored.fill_value)


def test_chunk_sizes():
    """Cells with more values than a chunk should have are not split."""
    assert writing.chunk_sizes({"execution": 3000, "iteration": 3000}) == {
        "execution": 3000,
        "iteration": 3000,
    }
    assert writing.chunk_sizes({"benchmark": 2, "iteration": 2**20}) == {
        "benchmark": 1,
        "iteration": 2**20,
    }
    assert writing.chunk_sizes({"benchmark": 3}) == {"benchmark": 3}


@KINDS
def test_descriptors_have_the_chunks_of_the_timings(tmp_path, monkeypatch, name):
    """A converted file that is opened lazily has consistent chunks, and its results can be
    stored."""
    pytest.importorskip("dask.array")
    monkeypatch.setattr(writing, "LARGEST", 120)
    rows = [
        f"m{m},b{b},{b + 1 + m % 7 + x / 10},{2 ** (m % 3)},{m % 4}"
        for m in range(90)
        for b in range(2)
        for x in range(2)
    ]
    run("convert", write_rows("a.csv", "machine,benchmark,time,cores,cpu_mhz", rows), name, code=0)
    zarr = name == "out.zarr"
    times = (
        xr.open_zarr(tmp_path / name, consolidated=False)
        if zarr
        else xr.open_dataset(tmp_path / name, chunks={}, engine="h5netcdf")
    )
    assert times.chunksizes["machine"] == times["cores"].chunks[0] == (23, 23, 23, 21)
    times = times.isel(file=0, drop=True)
    lazy, expected = (
        options_given.perf.five_number_summary(n_resamples=20, rng=1)
        for options_given in (times, times.compute())
    )
    lazy.drop_vars("machine").to_zarr(tmp_path / "answer.zarr", zarr_format=3, consolidated=False)
    xr.testing.assert_allclose(opened(tmp_path / "answer.zarr"), expected.drop_vars("machine"))


@KINDS
def test_a_store_that_is_not_there(tmp_path, name):
    """The error names it, and the most similar name in its folder."""
    assert run("about", name).stderr == f"error: {name}: there is no such file\n"
    (tmp_path / f"my{name}").touch()
    assert f"there is 'my{name}'" in run("about", name).stderr


def test_streamed_table():
    pytest.importorskip("pyarrow")
    table = write_rows(
        "big.csv",
        "benchmark,execution,time",
        [f"b{b},{e},{1 + b + e / 10}" for b in range(3) for e in range(4)],
    )
    for name, options in (("streamed.zarr", ["--stream"]), ("whole.zarr", [])):
        printed_text = run("convert", table, name, *options, code=0).output
        assert "12 values of time, 3 benchmark x 1 file x 4 execution, from 1 file" in one_line(
            printed_text
        )
    xr.testing.assert_identical(
        *(xr.load_dataset(name, engine="zarr") for name in ("streamed.zarr", "whole.zarr"))
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("big.csv out.nc --stream", "--stream writes a new Zarr store"),
        ("other.json out.zarr --stream", "this table cannot be streamed"),
        ("big.csv out.zarr --stream --layout {machine}.csv", "Leave out"),
    ],
)
def test_what_is_not_streamed(arguments, message):
    write_rows("big.csv", "benchmark,execution,time", ["fft,0,1.0"])
    write_rows("other.json", "{}", [])
    assert message in one_line(run("convert", *arguments.split(), code=2).output)


def test_large_tables_are_streamed(monkeypatch):
    pytest.importorskip("pyarrow")
    table = write_rows(
        "big.csv", "benchmark,execution,time", [f"fft,{e},{1 + e / 10}" for e in range(40)]
    )
    monkeypatch.setattr("perfarray.cli.convert.LARGE", 100)
    with perfarray.set_options(max_file_bytes=100):
        run("convert", table, "out.zarr", code=0)
    assert xr.load_dataset("out.zarr", engine="zarr").sizes["execution"] == 40
