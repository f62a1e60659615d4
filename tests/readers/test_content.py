"""Compression, encodings, and what else is in files; and that results can be stored."""

import json
import os
import pickle
import re
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.readers.opening import FileError, MissingFileError
from perfarray.readers.recognising import formats
from readers.files_of_our_own import (
    bench,
    check,
    entry,
    reader,
    refusals,
    run,
    secondary,
    small_suite,
    suite,
    write,
)

TABLE = "benchmark,time\nfft,1.5\n"

read = reader("a.json")
read_csv = reader("a.csv")


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_compression(tmp_path, suffix):
    """Files are unpacked by content; a layout may leave the suffix out."""
    path = write(tmp_path / f"old.json{suffix}", small_suite(1.0))
    check(perfarray.read_archive(tmp_path, layout="{version}.json"), version=["old"])
    assert read(tmp_path, path.read_bytes(), "packed/old.json").sizes["execution"] == 1


def test_byte_order_mark(tmp_path):
    """It is no part of the content, and tells UTF-16."""
    assert read(tmp_path, b"\xef\xbb\xbf" + json.dumps(small_suite(1.0)).encode())["time"].size == 3
    assert read_csv(tmp_path, b"\xef\xbb\xbf" + TABLE.encode())["time"].item() == 1.5
    wide = "benchmark,machine,time\nfft,Zürich,1\n".encode("utf-16")
    assert read_csv(tmp_path, wide)["machine"].item() == "Zürich"
    with pytest.raises(ValueError, match="is not UTF-16 text"):
        read_csv(tmp_path, wide[:-1])


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_compression_that_is_cut_off(tmp_path, suffix):
    content = suite(
        *(
            bench(f"b{i}", *(run(np.random.default_rng(i).random()) for _ in range(50)))
            for i in range(20)
        )
    )
    path = write(tmp_path / "cut" / f"a.json{suffix}", content)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(
        ValueError,
        match=rf"a\.json{suffix}: is cut off or damaged: the {suffix} compression does not unpack",
    ):
        perfarray.read(path)
    if suffix != ".bz2":  # its blocks unpack whole or not at all
        with pytest.raises(ValueError, match="is cut off or damaged"):
            perfarray.read_archive(tmp_path / "cut")


test_what_is_wrong_is_said = refusals(
    read,
    "a.json",
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\x89PNG\r\n\x1a\n", "is not UTF-8 text: byte 0 is 0x89"),
        (b"{", "is not valid JSON: the file is cut off at line 1, column 2"),
        (b'{"a": 1}', "no reader recognises its content, which begins '{\"a\": 1}'; "),
        (b"[1,\n 2,, 3]", "is not valid JSON: Expecting value at line 2, column 4"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is not JSON that can be read: Exceeds the limit"),
        (b"[" * 100_000, "is not (JSON that can be read|valid JSON)"),
    ],
)


@pytest.mark.parametrize("format", sorted(formats()))
def test_an_empty_file_of_a_format_that_is_named(tmp_path, format):
    """It is empty, and not a table without rows."""
    with pytest.raises(ValueError, match=r"a\.txt: is empty"):
        read(tmp_path, " \n", "a.txt", format=format)


@pytest.mark.parametrize(("name", "guess"), [("Zürich", "cp1252"), ("Z\x81\xfcrich", "latin-1")])
def test_a_table_that_is_not_utf8(tmp_path, name, guess):
    """It is read as Western text, with a note; `encoding` needs no guess and may be wrong."""
    content = f"benchmark,machine,time\nfft,{name},1\n".encode("latin-1")
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=rf"a\.csv: is not UTF-8 \(byte \d+ is 0x..\) and is read as {guess}",
    ) as caught:
        assert read_csv(tmp_path, content)["machine"].item() == name
    assert [note.code for note in caught[0].message.notes] == ["guessed_encoding"]
    assert (
        perfarray.read_archive([tmp_path / "a.csv"], encoding="latin-1")["machine"].item() == name
    )
    with pytest.raises(ValueError, match=r"a\.csv: is not ASCII text: byte 28 is 0x"):
        read_csv(tmp_path, content, encoding="ascii")
    with pytest.raises(ValueError, match=r"a\.csv: is not UTF-8 text: byte 28 is 0x"):
        read_csv(tmp_path, content + b"\x00")
    for wrong in ("latin-99", "hex", "a\0"):
        with pytest.raises(ValueError, match=r"encoding=.* is not known"):
            read_csv(tmp_path, content, encoding=wrong)


@pytest.mark.parametrize(
    ("limit", "name"),
    [("max_file_bytes", "a.csv.gz"), ("max_file_bytes", "b.csv"), ("max_unpack_ratio", "a.csv.gz")],
)
def test_a_file_too_large(tmp_path, monkeypatch, limit, name):
    """A huge file, and one that unpacks to a huge one, are refused; the message names the limit."""
    monkeypatch.setattr("perfarray.readers.opening.UNPACKED", 1000)
    path = write(tmp_path / name, TABLE + "\n" * 2000)
    assert perfarray.read(path)["time"].item() == 1.5
    readings = [perfarray.read, lambda path: perfarray.read_archive([path])]
    with perfarray.set_options(**{limit: 1000 if limit == "max_file_bytes" else 2}):
        for reading in readings:
            with pytest.raises(
                ValueError, match=rf"holds more than the \d+ bytes that are read of it; .*{limit}"
            ):
                reading(path)


def test_a_small_file_that_asks_for_a_huge_array(tmp_path, monkeypatch):
    """Cells of the array and cells for each measurement are limited; the message names the
    limit."""
    content = "benchmark,machine,version,time\n" + "".join(
        f"b{i},m{i},v{i},1.5\n" for i in range(300)
    )
    for limit in ({"max_padding": 1000}, {"max_cells": 10**7}):
        with (
            perfarray.set_options(**limit),
            pytest.raises(
                ValueError, match=rf"a\.csv: 300 .* 27000000 cells .*{next(iter(limit))}"
            ),
        ):
            read_csv(tmp_path, content)
    monkeypatch.setattr("perfarray.tables.build._laid_out", lambda *_: xr.Dataset())
    with perfarray.set_options(max_padding=10**5):
        read_csv(tmp_path, content)


def test_no_memory_left(tmp_path, monkeypatch):
    good, bad, fail = (
        write(tmp_path / "a.csv", TABLE),
        write(tmp_path / "b.json", small_suite(1.0)),
        Mock(side_effect=MemoryError),
    )
    full_memory = SimpleNamespace(**{**vars(json), "loads": fail})
    monkeypatch.setattr("perfarray.readers.opening.json", full_memory)
    with pytest.raises(ValueError, match=r"b\.json: does not fit into the memory"):
        perfarray.read(bad)
    with pytest.warns(UserWarning, match=r"b\.json: does not fit into the memory"):
        perfarray.read_archive([good, bad], on_error="warn")
    monkeypatch.setattr("perfarray.tables.build._laid_out", fail)
    with pytest.raises(
        ValueError,
        match=(
            r"a\.csv: 1 measurements would need an array of 1 cells .* for which there is no "
            r"memory"
        ),
    ):
        perfarray.read(good)


def test_messages_are_short_and_harmless(tmp_path):
    """Errors and notes cut long names and escape control characters."""
    with perfarray.set_options(max_message=100):
        with pytest.raises(ValueError, match="is not a table"):
            read_csv(tmp_path, "benchmark,time\n" + "x" * 10**6 + ",1,2\n")
        assert len(str(FileError("x" * 10**6))) < 150
    assert str(FileError("a\x1b[2J\u202eb\n\x9b")) == r"a\x1b[2J\u202eb" + "\n" + r"\x9b"
    error = pickle.loads(pickle.dumps(MissingFileError("gone")))  # as it comes from another process
    assert (type(error), str(error)) == (MissingFileError, "gone")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes by name here")
def test_pipes_and_devices(tmp_path):
    """A named pipe is refused, one that a shell hands over is read, and one without end is too
    large."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    declined = r"pipe: is a named pipe, which may never end. Write its content to a file"
    for writing in (False, True):
        end = os.open(pipe, os.O_RDWR) if writing else None
        for reading in (perfarray.read, perfarray.read_archive):
            with pytest.raises(ValueError, match=declined):
                reading(pipe)
        assert re.search(declined, perfarray.archive_table([pipe])["reason"].item())
    os.close(end)
    reader, writer = os.pipe()
    os.write(writer, TABLE.encode())
    os.close(writer)
    if Path(f"/dev/fd/{reader}").exists():
        assert perfarray.read(f"/dev/fd/{reader}")["time"].item() == 1.5
    os.close(reader)
    with (
        perfarray.set_options(max_file_bytes=10**6),
        pytest.raises(ValueError, match="zero: holds more than the 1000000 bytes"),
    ):
        perfarray.read("/dev/zero")


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_results_survive_netcdf(tmp_path, engine):
    """Attributes are text and numbers, text is of object dtype, names have no slash: everything
    comes back."""
    pytest.importorskip("netCDF4" if engine == "netcdf4" else engine)
    write(tmp_path / "in" / "a.json", small_suite(1.0, hostname="h", tags=["x"], cpu_count=3))
    write(
        tmp_path / "in" / "b.json",
        [entry(params={"a/b": "1", "%": "2"}, secondaryMetrics={"·x/y": secondary("#", [1.0])})],
    )
    write(tmp_path / "in" / "c.csv", "benchmark,l/s,failed,time\nfft,1,true,3\nfft,2,,4\n")
    for times in (
        perfarray.read_archive(tmp_path / "in"),
        *(perfarray.read(path) for path in (tmp_path / "in").iterdir()),
    ):
        kinds = {
            type(value)
            for variable in (times, *times.variables.values())
            for value in variable.attrs.values()
        }
        assert kinds <= {str, int, float}
        assert all(coord.dtype.kind in "Obif" for coord in times.coords.values())
        times.to_netcdf(tmp_path / "out.nc", engine=engine)
        with xr.open_dataset(tmp_path / "out.nc", engine=engine) as stored:
            xr.testing.assert_identical(stored.load(), times)
