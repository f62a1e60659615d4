"""The xarray engine: files opened by name or by content, in chunks, several at once; what is not
ours is left to others."""

import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import perfarray
from perfarray.backend import PerfarrayBackend
from readers.files_of_our_own import bench, entry, run, small_suite, suite, write
from strategies import examples

NESTED = {
    "engine": "perfarray",
    "combine": "nested",
    "concat_dim": "version",
    "join": "outer",
    "coords": "different",
    "compat": "equals",
}


@pytest.fixture
def sides(tmp_path):
    """Return two pyperf files, the second with more executions and a warm-up less."""
    old = write(
        tmp_path / "old.json",
        suite(bench("fft", run(1.0, 1.1, warmups=[(1, 2.0)]), run(1.2, 1.0, warmups=[(1, 2.0)]))),
    )
    new = write(
        tmp_path / "new.json", suite(bench("fft", run(0.8, 0.9), run(0.8, 0.7), run(0.9, 0.9)))
    )
    return [old, new]


def guess(path):
    """Ask the engine whether it would open something."""
    return PerfarrayBackend().guess_can_open(path)


class TestOpen:
    """One file."""

    def test_by_name(self, sides):
        """The engine gives what `read` gives."""
        xr.testing.assert_identical(
            xr.open_dataset(sides[0], engine="perfarray"), perfarray.read(sides[0])
        )

    @pytest.mark.parametrize("name", ["a.json", "a.data", "a.json.gz", "a.json.bz2", "a.json.xz"])
    def test_by_content(self, tmp_path, name):
        """Without engine= a file is recognised by what is in it, packed or not, whatever its
        name."""
        path = write(tmp_path / name, small_suite(1.0))
        xr.testing.assert_identical(xr.open_dataset(path), perfarray.read(path))

    def test_every_format(self, tmp_path):
        """Whatever a reader recognises is opened."""
        assert guess(write(tmp_path / "a.json", [entry()]))
        assert guess(str(write(tmp_path / "a.csv", "benchmark,execution,time\nfft,0,1\n")))

    def test_a_format_may_be_named(self, tmp_path):
        """Further keywords are those of `read`."""
        path = write(tmp_path / "a.csv", "# metric: cycles\nprogram,cycles\nfft,5\n")
        assert list(xr.open_dataset(path, engine="perfarray", format="tidy_csv")) == ["cycles"]

    @pytest.mark.parametrize("dropped", ["warmup", ["warmup", "nothing"], {"time", "warmup"}])
    def test_drop_variables(self, sides, dropped):
        """Variables and coordinates are left out by name; names that are not there do no harm."""
        found = xr.open_dataset(sides[0], engine="perfarray", drop_variables=dropped)
        assert set(perfarray.read(sides[0]).variables) - set(found.variables) == {
            "warmup",
            "time",
        }.intersection([dropped] if isinstance(dropped, str) else dropped)

    def test_chunks(self, sides):
        """`chunks=` gives dask arrays with the same values."""
        pytest.importorskip("dask.array")
        lazy = xr.open_dataset(sides[0], engine="perfarray", chunks={"execution": 1})
        assert lazy["time"].chunksizes["execution"] == (1, 1)
        xr.testing.assert_identical(lazy.compute(), perfarray.read(sides[0]))


class TestSeveral:
    """`open_mfdataset`."""

    @pytest.mark.filterwarnings("ignore:1 of 1 cells rest on two executions:UserWarning")
    @pytest.mark.parametrize("parallel", [False, True])
    def test_beside_each_other(self, sides, parallel):
        """Files become labels of a new dim; ragged ones are padded in a chunk of its own, which has
        to be joined."""
        pytest.importorskip("dask.array")
        both = xr.open_mfdataset(sides, **NESTED, parallel=parallel)
        both = both.assign_coords(version=["old", "new"])
        with pytest.raises(
            ValueError,
            match=r"dim 'execution' is split over 2 chunks.*use .chunk\(\{'execution': -1\}\)",
        ):
            both.perf.ratio_interval("old")
        both = both.chunk(execution=-1, iteration=-1)
        assert both["time"].chunks is not None
        direct = perfarray.read_archive({"old": sides[0], "new": sides[1]}, dim="version")
        found, expected = (times.perf.ratio_interval("old").compute() for times in (both, direct))
        for name in ("estimate", "lower", "upper", "n"):
            np.testing.assert_allclose(
                found[name].values.ravel(), expected[name].values.ravel(), rtol=1e-12
            )

    def test_labels_from_names(self, sides):
        """`preprocess` may take the label from the name of the file."""
        pytest.importorskip("dask.array")

        def label(times):
            return times.expand_dims(
                version=[times.encoding["source"].rpartition("/")[2].removesuffix(".json")]
            )

        both = xr.open_mfdataset(sides, **NESTED, preprocess=label)
        assert both["version"].values.tolist() == ["old", "new"]


class TestWrongInput:
    """What cannot be opened."""

    def test_a_folder(self, tmp_path):
        """The message says who reads folders."""
        with pytest.raises(
            ValueError,
            match=r"is a folder, and engine='perfarray' opens one file; "
            r"perfarray\.read_archive reads folders",
        ):
            xr.open_dataset(tmp_path, engine="perfarray")

    def test_no_such_file(self, tmp_path):
        """It is the error of any file that is missing."""
        with pytest.raises(FileNotFoundError, match=r"nothing\.json: there is no such file"):
            xr.open_dataset(tmp_path / "nothing.json", engine="perfarray")

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (b"abc", "opens local files by their path; got bytes"),
            (io.BytesIO(b"abc"), "opens local files by their path; got BytesIO"),
            (
                "https://example.org/a.json",
                "opens local files, and 'https://example.org/a.json' is none; download it first",
            ),
        ],
    )
    def test_no_path(self, given, message):
        """Open files, bytes and addresses are refused by name."""
        with pytest.raises(ValueError, match=message):
            xr.open_dataset(given, engine="perfarray")

    def test_a_broken_file(self, tmp_path):
        """The message of the reader comes through."""
        path = write(tmp_path / "cut.json", json.dumps(small_suite(1.0))[:-30])
        with pytest.raises(ValueError, match=r"cut\.json: is not valid JSON: the file is cut off"):
            xr.open_dataset(path, engine="perfarray")


class TestGuess:
    """What belongs to other engines, or to nobody."""

    @pytest.fixture
    def weather(self):
        """Return a Dataset that is no benchmark."""
        return xr.Dataset({"t": ("x", [1.0, 2.0])})

    def test_it_is_registered(self):
        """xarray knows the engine by its entry point."""
        assert "perfarray" in xr.backends.list_engines()

    @pytest.mark.parametrize(
        ("engine", "name"),
        [("h5netcdf", "a.nc"), ("netcdf4", "a.json"), ("scipy", "a.csv"), ("scipy", "a.nc.gz")],
    )
    def test_netcdf_is_not_claimed(self, tmp_path, weather, engine, name):
        """Neither version 3 nor 4, whatever the file is called."""
        pytest.importorskip({"netcdf4": "netCDF4", "scipy": "scipy.io"}.get(engine, engine))
        weather.to_netcdf(tmp_path / "plain", engine=engine)
        content = (tmp_path / "plain").read_bytes()
        assert not guess(write(tmp_path / name, content))

    def test_zarr_is_not_claimed(self, tmp_path, weather):
        """Neither the folder nor the JSON in it."""
        pytest.importorskip("zarr")
        weather.to_zarr(tmp_path / "a.zarr", zarr_format=3, consolidated=False)
        assert not guess(tmp_path / "a.zarr")
        assert not guess(tmp_path / "a.zarr" / "zarr.json")
        assert xr.open_dataset(tmp_path / "a.zarr", consolidated=False).equals(weather)

    @pytest.mark.parametrize(
        "content",
        [
            "",
            "   \n",
            "# Notes\n",
            "station,time,temperature\nA,1,2\n",
            "a,b\n1,2\n",
            "{}",
            "[]",
            '{"benchmarks": [1]}',
            '{"benchmarks": [{"name": "a", "runs": 3}], "context": {}}',
            '[{"benchmark": "a", "mode": "b"}]',
            "\x00" * 100,
            '{"a": ' * 100_000,
        ],
    )
    def test_other_text_is_not_claimed(self, tmp_path, content):
        """JSON, CSV and notes of other kinds."""
        assert not guess(write(tmp_path / "a.json", content))

    def test_a_cut_off_file_is_not_claimed(self, tmp_path):
        """It cannot be opened; asked for by name, the error says where it ends."""
        assert not guess(write(tmp_path / "a.json", json.dumps(small_suite(1.0))[:-30]))
        assert not guess(
            write(tmp_path / "a.json.gz", gzip.compress(json.dumps(small_suite(1.0)).encode())[:-9])
        )

    @pytest.mark.parametrize(
        "given",
        [
            None,
            3,
            b"abc",
            io.BytesIO(b"a"),
            "",
            "nothing.json",
            "a\0b",
            "https://example.org/a.json",
            ".",
        ],
    )
    def test_it_never_raises(self, given):
        """Whatever xarray was given."""
        assert guess(given) is False

    @given(
        content=st.binary(max_size=300),
        start=st.sampled_from(
            [b"", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00", b'{"benchmarks": "runs"', b"["]
        ),
    )
    @settings(
        max_examples=examples(60),
        suppress_health_check=[HealthCheck.function_scoped_fixture],
        deadline=None,
    )
    def test_it_never_raises_on_any_content(self, tmp_path, content, start):
        """Whatever is in the file."""
        path = tmp_path / "a"
        path.write_bytes(start + content)
        assert guess(path) in (True, False)

    def test_packed_in_large_blocks(self, tmp_path):
        """Of bzip2 nothing unpacks before a whole block is read."""
        noise = np.random.default_rng(1).random(30_000).tolist()
        assert guess(write(tmp_path / "a.json.bz2", suite(bench("a", run(*noise)))))

    def test_it_is_cheap(self, tmp_path, monkeypatch):
        """Of a foreign file no more than its beginning is read, however large it is."""
        from perfarray.readers import opening as _open

        read = []
        monkeypatch.setattr(_open.Source, "__init__", lambda _, path: read.append(path))
        frame = pd.DataFrame({"station": ["A"] * 10_000, "time": 1.0})
        frame.to_csv(tmp_path / "weather.csv", index=False)
        with (tmp_path / "large.nc").open("wb") as file:
            file.write(b"\x89HDF\r\n\x1a\n")
            file.truncate(1 << 34)
        assert not guess(tmp_path / "weather.csv")
        assert not guess(tmp_path / "large.nc")
        assert read == []
