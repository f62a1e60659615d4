"""Compression, encodings, and what else is in files; and that results can be stored."""

import json
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.readers.opening import FileError, MissingFileError
from perfarray.readers.recognising import formats
from readers.files_of_our_own import bench, entry, run, small_suite, suite, write


class TestContent:
    @pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
    def test_compression(self, tmp_path, suffix):
        """Files are unpacked by content; a layout may leave the suffix out."""
        write(tmp_path / f"old.json{suffix}", small_suite(1.0))
        assert perfarray.read_archive(tmp_path, layout="{version}.json")["version"].values.tolist() == ["old"]
        hidden = tmp_path / "packed" / "old.json"
        hidden.parent.mkdir()
        hidden.write_bytes((tmp_path / f"old.json{suffix}").read_bytes())
        assert perfarray.read(hidden).sizes["execution"] == 1

    def test_byte_order_mark(self, tmp_path):
        assert perfarray.read(write(tmp_path / "a.json", b"\xef\xbb\xbf" + json.dumps(small_suite(1.0)).encode()))["time"].size == 3
        assert perfarray.read(write(tmp_path / "a.csv", b"\xef\xbb\xbfbenchmark,time\nfft,1\n"))["time"].item() == 1.0

    @pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
    def test_compression_that_is_cut_off(self, tmp_path, suffix):
        content = suite(*(bench(f"b{i}", *(run(np.random.default_rng(i).random()) for _ in range(50))) for i in range(20)))
        path = write(tmp_path / "cut" / f"a.json{suffix}", content)
        path.write_bytes(path.read_bytes()[:-200])
        with pytest.raises(ValueError, match=rf"a\.json{suffix}: is cut off or damaged: the {suffix} compression does not unpack"):
            perfarray.read(path)
        if suffix != ".bz2":  # its blocks unpack whole or not at all
            with pytest.raises(ValueError, match="is cut off or damaged"):
                perfarray.read_archive(tmp_path / "cut")

    @pytest.mark.parametrize(("content", "message"), [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\x89PNG\r\n\x1a\n", "is not UTF-8 text: byte 0 is 0x89"),
        (b"{", "is not valid JSON: the file is cut off at line 1, column 2"),
        (b'{"a": 1}', "no reader recognises its content, which begins '{\"a\": 1}'; "),
        (b"[1,\n 2,, 3]", "is not valid JSON: Expecting value at line 2, column 4"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is not JSON that can be read: Exceeds the limit"),
        (b"[" * 100_000, "is not JSON that can be read|is not valid JSON"),
    ])  # fmt: skip
    def test_what_is_wrong_is_said(self, tmp_path, content, message):
        path = write(tmp_path / "a.json", content)
        with pytest.raises(ValueError, match=message) as caught:
            perfarray.read(path)
        assert str(caught.value).startswith(str(path))

    @pytest.mark.parametrize("format", sorted(formats()))
    def test_an_empty_file_of_a_format_that_is_named(self, tmp_path, format):
        """It is empty, and not a table without rows."""
        with pytest.raises(ValueError, match=r"a\.txt: is empty"):
            perfarray.read(write(tmp_path / "a.txt", " \n"), format=format)

    @pytest.mark.parametrize(("name", "guess"), [("Zürich", "cp1252"), ("Z\x81\xfcrich", "latin-1")])
    def test_a_table_that_is_not_utf8(self, tmp_path, name, guess):
        """It is read as Western text, with a note; `encoding` needs no guess and may be wrong."""
        path = write(tmp_path / "a.csv", f"benchmark,machine,time\nfft,{name},1\n".encode("latin-1"))
        with pytest.warns(perfarray.PerfarrayWarning, match=rf"a\.csv: is not UTF-8 \(byte \d+ is 0x..\) and is read as {guess}") as caught:
            guessed = perfarray.read(path)
        assert [note.code for note in caught[0].message.notes] == ["guessed_encoding"]
        assert guessed["machine"].item() == perfarray.read_archive([path], encoding="latin-1")["machine"].item() == name
        with pytest.raises(ValueError, match=r"a\.csv: is not ASCII text: byte 28 is 0x"):
            perfarray.read(path, encoding="ascii")
        with pytest.raises(ValueError, match=r"a\.csv: is not UTF-8 text: byte 28 is 0x"):
            perfarray.read(write(path, path.read_bytes() + b"\x00"))
        for wrong in ("latin-99", "hex", "a\0"):
            with pytest.raises(ValueError, match=r"encoding=.* is not known"):
                perfarray.read(path, encoding=wrong)

    def test_text_of_two_bytes_a_character(self, tmp_path):
        """A byte-order mark tells UTF-16."""
        path = write(tmp_path / "a.csv", "benchmark,machine,time\nfft,Zürich,1\n".encode("utf-16"))
        assert perfarray.read(path)["machine"].item() == "Zürich"
        with pytest.raises(ValueError, match="is not UTF-16 text"):
            perfarray.read(write(path, path.read_bytes()[:-1]))

    @pytest.mark.parametrize("limit", [{"max_file_bytes": 1000}, {"max_unpack_ratio": 2}])
    def test_a_file_too_large(self, tmp_path, monkeypatch, limit):
        """A huge file, and one that unpacks to a huge one, are refused; the message names the limit, which holds in other processes."""
        monkeypatch.setattr("perfarray.readers.opening.UNPACKED", 1000)
        content = "benchmark,time\nfft,1.5\n" + "\n" * 2000
        paths = [write(tmp_path / "a.csv.gz", content)] + [write(tmp_path / "b.csv", content)] * ("max_file_bytes" in limit)
        for path in paths:
            assert perfarray.read(path)["time"].item() == 1.5
            readings = [perfarray.read, lambda path: perfarray.read_archive([path])]
            if path.suffix == ".csv":
                readings.append(lambda path: perfarray.read_archive([path], parallel=1))
            for reading in readings:
                with (
                    perfarray.set_options(**limit),
                    pytest.raises(ValueError, match=rf"holds more than the \d+ bytes that are read of it; .*{next(iter(limit))}"),
                ):
                    reading(path)

    def test_a_small_file_that_asks_for_a_huge_array(self, tmp_path, monkeypatch):
        """Cells of the array and cells for each measurement are limited; the message names the limit."""
        rows = "".join(f"b{i},m{i},v{i},1.5\n" for i in range(300))
        path = write(tmp_path / "a.csv", f"benchmark,machine,version,time\n{rows}")
        for limit in ({"max_padding": 1000}, {"max_cells": 10**7}):
            with perfarray.set_options(**limit), pytest.raises(ValueError, match=rf"a\.csv: 300 .* 27000000 cells .*{next(iter(limit))}"):
                perfarray.read(path)
        monkeypatch.setattr("perfarray.tables.build._laid_out", lambda *_: xr.Dataset())
        with perfarray.set_options(max_padding=10**5):
            perfarray.read(path)

    def test_no_memory_left(self, tmp_path, monkeypatch):
        """Running out of memory is an error of the file, to which `on_error` applies."""
        good, bad = write(tmp_path / "a.csv", "benchmark,time\nfft,1\n"), write(tmp_path / "b.json", small_suite(1.0))

        def fail(*_, **__):
            raise MemoryError

        monkeypatch.setattr("perfarray.readers.opening.json.loads", fail)
        with pytest.raises(ValueError, match=r"b\.json: does not fit into the memory"):
            perfarray.read(bad)
        with pytest.warns(UserWarning, match=r"b\.json: does not fit into the memory"):
            perfarray.read_archive([good, bad], on_error="warn")
        monkeypatch.setattr("perfarray.tables.build._laid_out", fail)
        with pytest.raises(ValueError, match=r"a\.csv: 1 measurements would need an array of 1 cells .* for which there is no memory"):
            perfarray.read(good)

    def test_messages_are_short_and_harmless(self, tmp_path):
        """Errors and notes cut long names and escape control characters."""
        path = write(tmp_path / "a.csv", "benchmark,time\n" + "x" * 10**6 + ",1,2\n")
        with pytest.raises(ValueError, match="is not a table"), perfarray.set_options(max_message=100):
            perfarray.read(path)
        with perfarray.set_options(max_message=100):
            assert len(str(FileError("x" * 10**6))) < 150
        assert str(FileError("a\x1b[2J\u202eb\n\x9b")) == r"a\x1b[2J\u202eb" + "\n" + r"\x9b"
        error = pickle.loads(pickle.dumps(MissingFileError("gone")))  # as it comes from another process
        assert (type(error), str(error)) == (MissingFileError, "gone")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes by name here")
    def test_pipes_and_devices(self, tmp_path):
        """A named pipe is refused, one that a shell hands over is read, and one without end is too large."""
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        declined = r"pipe: is a named pipe, whose end may never come; write what it gives to a file"
        for writing in (False, True):
            end = os.open(pipe, os.O_RDWR) if writing else None
            for reading in (perfarray.read, perfarray.read_archive):
                with pytest.raises(ValueError, match=declined):
                    reading(pipe)
            assert re.search(declined, perfarray.archive_table([pipe])["reason"].item())
        os.close(end)
        reader, writer = os.pipe()
        os.write(writer, b"benchmark,time\nfft,1.5\n")
        os.close(writer)
        if Path(f"/dev/fd/{reader}").exists():
            assert perfarray.read(f"/dev/fd/{reader}")["time"].item() == 1.5
        os.close(reader)
        with perfarray.set_options(max_file_bytes=10**6), pytest.raises(ValueError, match="zero: holds more than the 1000000 bytes"):
            perfarray.read("/dev/zero")


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_results_survive_netcdf(tmp_path, engine):
    """Attributes are text and numbers, text is of object dtype, names have no slash: everything comes back."""
    pytest.importorskip("netCDF4" if engine == "netcdf4" else engine)
    write(tmp_path / "in" / "a.json", small_suite(1.0, hostname="h", tags=["x"], cpu_count=3))
    write(
        tmp_path / "in" / "b.json",
        [entry(params={"a/b": "1", "%": "2"}, secondaryMetrics={"·x/y": {"scoreUnit": "#", "rawData": [[1.0]]}})],
    )
    write(tmp_path / "in" / "c.csv", "benchmark,l/s,failed,time\nfft,1,true,3\nfft,2,,4\n")
    for times in (perfarray.read_archive(tmp_path / "in"), *(perfarray.read(path) for path in (tmp_path / "in").iterdir())):
        kinds = {type(value) for variable in (times, *times.variables.values()) for value in variable.attrs.values()}
        assert kinds <= {str, int, float}
        assert all(coord.dtype.kind in "Obif" for coord in times.coords.values())
        times.to_netcdf(tmp_path / "out.nc", engine=engine)
        with xr.open_dataset(tmp_path / "out.nc", engine=engine) as again:
            xr.testing.assert_identical(again.load(), times)
