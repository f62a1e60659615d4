"""Compression, encodings, and what else is in files; and that results can be stored."""

import json

import numpy as np
import pytest
import xarray as xr

import perfarray
from readers.files_of_our_own import bench, entry, run, small_suite, suite, write


class TestContent:
    """Compression, encodings, and what else is in files."""

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
        """It is no part of the content."""
        assert perfarray.read(write(tmp_path / "a.json", b"\xef\xbb\xbf" + json.dumps(small_suite(1.0)).encode()))["time"].size == 3
        assert perfarray.read(write(tmp_path / "a.csv", b"\xef\xbb\xbfbenchmark,time\nfft,1\n"))["time"].item() == 1.0

    @pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
    def test_compression_that_is_cut_off(self, tmp_path, suffix):
        """The message says so; in a folder a file whose beginning still shows what it was is broken, not unknown."""
        content = suite(*(bench(f"b{i}", *(run(np.random.default_rng(i).random()) for _ in range(50))) for i in range(20)))
        path = write(tmp_path / "cut" / f"a.json{suffix}", content)
        path.write_bytes(path.read_bytes()[:-200])
        with pytest.raises(ValueError, match=rf"a\.json{suffix}: is cut off or damaged: the {suffix} compression does not unpack"):
            perfarray.read(path)
        if suffix != ".bz2":  # its blocks unpack whole or not at all
            with pytest.raises(ValueError, match="is cut off or damaged"):
                perfarray.read_archive(tmp_path / "cut")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is empty"),
            (b" \n", "is empty"),
            (b"\x89PNG\r\n\x1a\n", "is not UTF-8 text: byte 0 is 0x89"),
            (b"{", "is not valid JSON: the file is cut off at line 1, column 2"),
            (b'{"a": 1}', "no reader recognises its content; .* it begins '{\"a\": 1}'"),
            (b"[1,\n 2,, 3]", "is not valid JSON: Expecting value at line 2, column 4"),
            (b'{"a": ' + b"9" * 5000 + b"}", "is not JSON that can be read: Exceeds the limit"),
            (b"[" * 100_000, "is not JSON that can be read|is not valid JSON"),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path, content, message):
        """File, place, reason."""
        path = write(tmp_path / "a.json", content)
        with pytest.raises(ValueError, match=message) as caught:
            perfarray.read(path)
        assert str(caught.value).startswith(str(path))

    def test_a_table_that_is_not_utf8(self, tmp_path):
        """The byte is named; in a folder the header shows that it is broken."""
        write(tmp_path / "a.csv", "benchmark,machine,time\nfft,Zürich,1\n".encode("latin-1"))
        with pytest.raises(ValueError, match=r"a\.csv: is not UTF-8 text: byte 28 is 0xfc"):
            perfarray.read_archive(tmp_path)

    def test_a_file_too_large(self, tmp_path, monkeypatch):
        """Neither a huge file nor a small one that unpacks to a huge one is read."""
        monkeypatch.setattr("perfarray.readers.opening.LARGEST", 1000)
        for path in (write(tmp_path / "a.json", " " * 2000), write(tmp_path / "b.json.gz", " " * 2000)):
            with pytest.raises(ValueError, match="bytes or more, and 1000 are the most that are read at once"):
                perfarray.read(path)


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
