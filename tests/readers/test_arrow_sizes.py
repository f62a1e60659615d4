"""Small Parquet and Arrow files that state many gigabytes: refused by their metadata, before
anything of them is read."""

import struct
import time

import numpy as np
import pandas as pd
import pytest

import perfarray

pa = pytest.importorskip("pyarrow", reason="install perfarray[tables]")
ipc, parquet = (pytest.importorskip(f"pyarrow.{name}") for name in ("ipc", "parquet"))

ROWS = 3_000_000  # of eight bytes they are more than any file may unpack to
POOLS = []  # which must outlive the arrays in them
REFUSED = r"holds more than the \d+ bytes that are read of it; set_options\(max_(unpack_ratio|file_bytes)="


@pytest.fixture
def watched():
    """Return what begins to watch Arrow, and returns what tells the most bytes that it has held
    since."""
    default_pool = pa.default_memory_pool()

    def begin():
        POOLS.append(pa.proxy_memory_pool(default_pool))
        pa.set_memory_pool(POOLS[-1])
        return POOLS[-1].max_memory

    yield begin
    pa.set_memory_pool(default_pool)


def constant(rows, **columns):
    names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int8)), ["fft"])
    return pa.table({"benchmark": names, "time_ms": np.ones(rows), **columns})


def write_arrow(table, path, compression=None, times=1):
    with ipc.new_file(
        path, table.schema, options=ipc.IpcWriteOptions(compression=compression)
    ) as writer:
        for _ in range(times):
            writer.write_table(table)


def recurring(rows):
    """Return a column of one long text, stored once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), ["x" * 200_000])


def needs_views():
    """Skip a test of texts that are views of other bytes, which older versions of pyarrow cannot
    make."""
    if int(pa.__version__.split(".")[0]) < 21:
        pytest.skip("pyarrow before 21 cannot write views (2026-11-28)")


def views(rows):
    """Return a column of texts that all show one megabyte."""
    view = struct.pack("<i4sii", 1_000_000, b"xxxx", 0, 0) * rows
    return pa.Array.from_buffers(
        pa.string_view(), rows, [None, pa.py_buffer(view), pa.py_buffer(b"x" * 1_000_000)]
    )


BOMBS = {
    "constant.parquet": lambda path: parquet.write_table(constant(ROWS), path, compression="zstd"),
    "blank.parquet": lambda path: parquet.write_table(
        pa.table({"benchmark": pa.nulls(ROWS)}), path
    ),
    "lz4.feather": lambda path: write_arrow(constant(ROWS), path, "lz4"),
    "zstd.feather": lambda path: write_arrow(constant(ROWS // 10), path, "zstd", times=10),
    "dictionary.feather": lambda path: write_arrow(
        constant(9, label=pa.DictionaryArray.from_arrays(pa.array([0] * 9), ["x" * 20_000_000])),
        path,
        "zstd",
    ),
    "blank.feather": lambda path: write_arrow(
        pa.table({"benchmark": pa.nulls(ROWS), "time_ms": pa.nulls(ROWS)}), path
    ),
}


def assert_refused(path, watched, *, memory):
    """A file is refused by name, with no more than so many bytes of memory."""
    peak = watched()
    with pytest.raises(ValueError, match=f"{path.name}: {REFUSED}"):
        perfarray.read(path)
    assert peak() < memory


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_much_is_refused_unread(tmp_path, watched, name):
    BOMBS[name](tmp_path / name)
    assert (tmp_path / name).stat().st_size < 200_000
    assert_refused(tmp_path / name, watched, memory=10_000)


@pytest.mark.parametrize("name", ["many.parquet", "many.feather"])
def test_rows_times_columns_are_limited(tmp_path, name):
    """Also of blanks, of which an Arrow file stores nothing."""
    table = pa.table({f"c{number}": pa.nulls(1000) for number in range(20)})
    (parquet.write_table if name.endswith("parquet") else write_arrow)(table, tmp_path / name)
    with (
        perfarray.set_options(max_cells=19_999),
        pytest.raises(
            ValueError, match=rf"{name}: holds 1000 rows of 20 columns; set_options\(max_cells="
        ),
    ):
        perfarray.read(tmp_path / name)


@pytest.mark.parametrize("name", ["recurring.parquet", "recurring.feather"])
def test_a_long_text_that_recurs_is_refused(tmp_path, watched, name):
    """It is stored once, and counts with every row, before it is repeated."""
    table = constant(200, iteration=np.arange(200), label=recurring(200))
    if name.endswith("parquet"):
        parquet.write_table(table, tmp_path / name, store_schema=False)
    else:
        write_arrow(table, tmp_path / name, "zstd")
    assert_refused(tmp_path / name, watched, memory=1_000_000)


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_texts_that_share_their_bytes_are_limited(tmp_path, name):
    """A text that repeats the one before, and a view of another, are stored in a few bytes, and
    each is a text of its own."""
    if name == "a.parquet":
        table = pa.table(
            {
                "benchmark": ["x" * 50_000 + str(number) for number in range(1000)],
                "time_ms": np.ones(1000),
            }
        )
        encodings = {"benchmark": "DELTA_BYTE_ARRAY", "time_ms": "PLAIN"}
        parquet.write_table(
            table,
            tmp_path / name,
            use_dictionary=False,
            column_encoding=encodings,
            compression="zstd",
        )
    else:
        needs_views()
        write_arrow(pa.table({"benchmark": views(300), "time_ms": np.ones(300)}), tmp_path / name)
    with pytest.raises(ValueError, match=f"{name}: {REFUSED}"):
        perfarray.read(tmp_path / name)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_texts_of_every_encoding_are_read(tmp_path, encoding, kind):
    """Also beside columns that recur."""
    if kind == "string_view":
        needs_views()
    frame = pd.DataFrame(
        {"benchmark": [f"fft{number}" for number in range(100)], "time_ms": np.arange(1.0, 101.0)}
    )
    table = pa.Table.from_pandas(frame.assign(cpu="x86")).set_column(
        0, "benchmark", pa.array(frame["benchmark"], getattr(pa, kind)())
    )
    encodings = {"benchmark": encoding, "time_ms": "PLAIN"}
    parquet.write_table(
        table, tmp_path / "a.parquet", use_dictionary=["cpu"], column_encoding=encodings
    )
    assert perfarray.read(tmp_path / "a.parquet")["cpu"].item() == "x86"
    assert (
        perfarray.read(tmp_path / "a.parquet")["time"]
        .squeeze()
        .to_series()
        .mul(1000)
        .round(9)
        .tolist()
        == frame["time_ms"].tolist()
    )


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_arrow_files_of_many_blocks_are_read(tmp_path, compression):
    """Sizes are those of what is read, so that a file at the limit is read, and one byte less is
    too little."""
    table = pa.table(
        {"benchmark": ["fft"] * 500, "execution": np.arange(500), "time_ms": np.linspace(1, 2, 500)}
    )
    with ipc.new_file(
        tmp_path / "a.feather", table.schema, options=ipc.IpcWriteOptions(compression=compression)
    ) as writer:
        writer.write_table(table, max_chunksize=7)
    assert perfarray.read(tmp_path / "a.feather")["time"].count() == 500
    with (
        perfarray.set_options(max_file_bytes=500 * 24 - 1),
        pytest.raises(ValueError, match="holds more than the 11999 bytes"),
    ):
        perfarray.read(tmp_path / "a.feather")


def test_blocks_that_lie_in_each_other_are_refused(tmp_path):
    """A footer may name one block a thousand times; each is read."""
    write_arrow(constant(500), tmp_path / "a.feather", times=2)
    content = bytearray((tmp_path / "a.feather").read_bytes())
    (length,) = struct.unpack_from("<i", content, len(content) - 10)
    footer = content[-10 - length : -10]
    with ipc.open_file(tmp_path / "a.feather") as reader:
        assert reader.num_record_batches == 2
    starts = [
        offset
        for offset in range(len(footer) - 8)
        if struct.unpack_from("<q", footer, offset)[0] > 200
    ]
    blocks = [
        offset
        for offset in starts
        if content[(start := struct.unpack_from("<q", footer, offset)[0]) : start + 4]
        == b"\xff" * 4
    ]
    first, second = blocks[-2:]
    footer[second : second + 24] = footer[first : first + 24]
    content[-10 - length : -10] = footer
    (tmp_path / "b.feather").write_bytes(content)
    with pytest.raises(ValueError, match=r"b\.feather: is cut off or damaged: its blocks overlap"):
        perfarray.read(tmp_path / "b.feather")


def test_ten_thousand_columns_take_no_minute(tmp_path):
    """A name is looked for among the others once, and not for each of them; one that occurs twice
    is named."""
    columns = {f"c{number}": [number] for number in range(10_000)}
    parquet.write_table(
        pa.table({"benchmark": ["fft"], "time_ms": [1.0], **columns}), tmp_path / "a.parquet"
    )
    began = time.process_time()
    assert len(perfarray.read(tmp_path / "a.parquet").coords) >= 10_000
    assert time.process_time() - began < 20
    twice = pa.Table.from_arrays(
        [pa.array(["fft"]), pa.array([1.0]), pa.array([2.0])], ["benchmark", "time_ms", "time_ms"]
    )
    for write, name in ((parquet.write_table, "b.parquet"), (write_arrow, "b.feather")):
        write(twice, tmp_path / name)
        with pytest.raises(
            ValueError, match=rf"{name}: has a column twice: 'time_ms'; rename or remove one"
        ):
            perfarray.read(tmp_path / name)
