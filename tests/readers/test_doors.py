"""One table through every door: read at once, packed, partitioned, converted and in chunks, it is
one Dataset, or refused by all."""

import gzip
import io
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import perfarray
from perfarray.readers import stored_tables
from strategies import examples

pa = pytest.importorskip("pyarrow", reason="install perfarray[tables]")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("zarr")

NULLABLE = {pa.int64(): pd.Int64Dtype()}.get
BLANKS = ["{}", " {}", "{} ", "\t{} "]
TEXTS = st.sampled_from(["a", "b", "c d", "007", "1.0", "x,y", "é"])
WHOLE = st.sampled_from([1, 2, 16, -3, 9007199254740992, 9007199254740993])

# The name of a column, and its labels; a CSV file has no types: decimals and truth values are
# labels of text in every file
LABELS = {
    "machine": TEXTS,
    "version": st.one_of(TEXTS, st.just("")),
    "compiler": st.just("gcc"),
    "flags": WHOLE,
    "commit": st.sampled_from(["0a1", "ffe", "7c2"]),
    "threads": st.sampled_from([1, 2, 4]),
    "job": WHOLE,
    "host": TEXTS,
    "date": st.sampled_from(["2026-11-01", "2026-11-02"]),
    "started": st.integers(0, 10**6).map(
        lambda seconds: str(pd.Timestamp("2026-11-01") + pd.Timedelta(seconds, "s")).replace(
            " ", "T"
        )
    ),
    "max_rss_kb": st.integers(1000, 10**6),
    "temperature": st.integers(1, 10**4).map(lambda number: number / 64),
}
LABELS |= {
    "host": st.sampled_from(["a", "b c", "é"]),
    "debug": st.booleans(),
}  # a CSV file would take `007` for a number here


@st.composite
def tables(draw):
    """Draw a table as columns of Python values, None where a label or value is missing, with blanks
    around texts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(2, 24))
    n_benchmarks = draw(st.integers(1, 3))
    benchmark = np.sort(rng.integers(0, n_benchmarks, n_rows))
    columns = {"benchmark": [f"bench{number}" for number in benchmark.tolist()]}
    for name in draw(st.lists(st.sampled_from(sorted(LABELS)), max_size=4, unique=True)):
        labels = draw(st.lists(LABELS[name], min_size=1, max_size=n_rows))
        by = draw(st.sampled_from(["benchmark", "row", "block", "random"]))
        places = {
            "benchmark": benchmark,
            "row": np.arange(n_rows),
            "block": np.arange(n_rows) // 3,
            "random": rng.integers(0, 99, n_rows),
        }
        column = [labels[place % len(labels)] for place in places[by].tolist()]
        if draw(st.booleans()):
            column = [
                None if gap else label
                for gap, label in zip((rng.random(n_rows) < 0.2).tolist(), column, strict=True)
            ]
        columns[name] = column
    levels = draw(
        st.sampled_from(
            [
                [],
                ["execution"],
                ["iteration"],
                ["execution", "iteration"],
                ["execution", "iteration"],
            ]
        )
    )
    numbers = (
        pd.Series(benchmark).groupby(benchmark).cumcount().to_numpy()
        if draw(st.booleans())
        else np.arange(n_rows)
    )
    for level in levels:
        columns[level] = (
            numbers if len(levels) == 1 else numbers // 3 if level == "execution" else numbers % 3
        ).tolist()
    if draw(st.integers(0, 9)) == 0:
        columns = {
            name: [*column[:-1], column[0]] for name, column in columns.items()
        }  # repeats a measurement if levels number all
    blanks = draw(st.sampled_from([BLANKS[:1], BLANKS]))
    for name, column in columns.items():
        columns[name] = [
            rng.choice(blanks).format(label) if isinstance(label, str) else label
            for label in column
        ]
    times = (1 + rng.integers(0, 10**6, n_rows) / 10**6).tolist()
    gap, negative = (draw(st.sampled_from([*[n_rows] * 8, 0, 1])) for _ in range(2))
    return columns | {
        "time_ms": [
            None if row == gap else -time if row == negative else time
            for row, time in enumerate(times)
        ]
    }


def csv_of(columns):
    """Return the columns as CSV."""
    text = io.StringIO()
    pd.DataFrame(
        {name: pd.Series(column, dtype=object) for name, column in columns.items()}
    ).to_csv(text, index=False)
    return text.getvalue().encode()


def write_parts(columns, folder):
    """Write the columns as two parts, of which one lacks a column that is empty there, and a part
    without rows."""
    n_rows = len(columns["time_ms"])
    parts = [slice(0, n_rows // 2), slice(0, 0), slice(n_rows // 2, None)]
    for part, rows in enumerate(parts):
        cells = {
            name: pa.array(column, pa.array(columns[name]).type)
            for name, column in rows_of(columns, rows).items()
        }
        empty = [
            name for name, column in cells.items() if part and 0 < len(column) == column.null_count
        ]
        parquet.write_table(pa.table(cells).drop(empty), folder / f"part-{part}.parquet")


def rows_of(columns, rows):
    return {name: column[rows] for name, column in columns.items()}


def write_files(columns, folder):
    """Write the columns as files of every kind, and return their paths."""
    content = csv_of(columns)
    (folder / "rows.csv").write_bytes(content)
    (folder / "rows.csv.gz").write_bytes(gzip.compress(content))
    with zipfile.ZipFile(folder / "rows.zip", "w") as pack:
        pack.writestr("rows.csv", content)
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    parquet.write_table(table, folder / "rows.parquet")
    with pa.ipc.new_file(str(folder / "rows.feather"), table.schema) as writer:
        writer.write_table(table)
    (folder / "parts").mkdir()
    write_parts(columns, folder / "parts")
    return [
        folder / name
        for name in ("rows.csv", "rows.csv.gz", "rows.zip", "rows.parquet", "rows.feather", "parts")
    ]


def outcome(read):
    """Return the Dataset without what names its file and format, or the message without the
    file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
            times = read().compute()
    except ValueError as error:
        return str(error).rpartition(": ")[2]
    times = times.squeeze("file", drop=True) if "file" in times.dims else times
    texts = {
        name: coordinate.astype(object)
        for name, coordinate in times.coords.items()
        if coordinate.dtype.kind == "T"
    }
    return (
        times.assign_coords(texts).drop_attrs(deep=False).assign_attrs(metric=times.attrs["metric"])
    )


def check_same(outcomes):
    """Check that all doors give the first one's Dataset, or its message."""
    first = next(iter(outcomes.values()))
    for door, other in outcomes.items():
        assert type(other) is type(first), (door, first, other)
        if isinstance(first, str):
            assert other == first, door
        else:
            xr.testing.assert_identical(other, first)


@settings(max_examples=examples(200), deadline=None)
@given(columns=tables())
def test_all_doors_give_one_dataset_or_one_message(columns):
    """Which door a table comes in by changes neither dims, labels, coordinates nor values."""
    with tempfile.TemporaryDirectory() as name:
        places = write_files(columns, Path(name))
        outcomes = {
            place.name: outcome(lambda place=place: perfarray.read(place)) for place in places
        }
        for place in (places[0], places[3]):
            outcomes[f"converted {place.name}"] = outcome(
                lambda place=place: perfarray.convert_table(place, Path(name) / "out.zarr")
            )
        check_same(outcomes)
        frame = pd.DataFrame(
            {
                name: pa.array(column).to_pandas(types_mapper=NULLABLE)
                for name, column in columns.items()
            }
        )
        times = outcome(frame.perf.to_timings)
        expected = outcomes["rows.csv"]
        if isinstance(expected, str):
            assert isinstance(times, str)  # its messages name no row of a file
            return
        without = [
            dim for dim in ("execution",) if dim not in times.dims
        ]  # readers of files have one execution where nothing says so
        xr.testing.assert_identical(times, expected.squeeze(without, drop=True))


@settings(max_examples=examples(100), deadline=None)
@given(columns=tables())
def test_large_tables_are_those_of_small_ones_or_refused(columns):
    """A table too large to be read at once gives the same Dataset or a refusal."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        places = write_files(columns, Path(name))
        expected = outcome(lambda: perfarray.read(places[3]))
        patch.setattr(stored_tables, "READ_AT_ONCE", 0)
        for place in (places[0], places[3]):
            streamed = outcome(
                lambda place=place: perfarray.convert_table(place, Path(name) / "out.zarr")
            )
            assert isinstance(streamed, str) or streamed.identical(expected), place.name


@pytest.mark.parametrize("at_once", [0, stored_tables.READ_AT_ONCE])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_blanks_at_the_ends_of_a_label(tmp_path, monkeypatch, separator, at_once):
    """`fft ` and `fft` are one benchmark, in a table of any separator and in one that is streamed;
    blanks inside a label stay."""
    monkeypatch.setattr(stored_tables, "READ_AT_ONCE", at_once)
    rows = [
        ["benchmark", "machine", "execution", "time_ms"],
        ["fft ", " big  iron", "0", " 1"], [" fft", "big  iron ", "1", "2"],
        ['" sort "', "big  iron", "0", "4"], ["sort", '"  "', "0", "8"],
    ]  # fmt: skip
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(map(separator.join, rows)) + "\n")
    for times in (
        perfarray.read(file),
        perfarray.convert_table(file, tmp_path / "rows.zarr").squeeze("file"),
    ):
        assert times["benchmark"].values.tolist() == ["fft", "sort"]
        assert times["machine"].values.tolist() == ["big  iron", "unknown"]
        np.testing.assert_array_equal(
            times["time"], [[[0.001, 0.002], [np.nan] * 2], [[0.004, np.nan], [0.008, np.nan]]]
        )
    file.write_text("\n".join(map(separator.join, rows[1:])) + "\n")
    numbered = perfarray.read(
        file, dims={"benchmark": 0, "machine": 1, "execution": 2, "time_ms": 3}
    )
    assert numbered["benchmark"].values.tolist() == ["fft", "sort"]


def test_blanks_of_descriptors_and_categories(tmp_path):
    """A text beside the values, and a category, have no blanks at their ends either, in a file or
    in a frame."""
    frame = pd.DataFrame(
        {
            "benchmark": pd.Categorical(["a", "a ", "b"]),
            "execution": [0, 1, 0],
            "host": ["u", " u", "v\t"],
            "time_ms": 1.0,
        }
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    for times in (
        frame.perf.to_timings(),
        perfarray.read(tmp_path / "rows.parquet"),
    ):
        assert times["benchmark"].values.tolist() == ["a", "b"]
        assert times["host"].dims == ("benchmark",)
        assert times["host"].values.tolist() == ["u", "v"]


@pytest.mark.parametrize("beside", ["memory_mb", "temperature", "started"])
def test_what_differs_row_by_row_beside_repetitions(tmp_path, beside):
    """Numbers and moments beside each iteration leave it an iteration, whichever way the table
    comes in."""
    numbers = [100, 101, 102, 200, 201, 202]
    cells = {
        "memory_mb": numbers,
        "temperature": [number / 8 for number in numbers],
        "started": [f"2024-01-01T00:0{number // 100}:{number % 100:02}" for number in numbers],
    }
    frame = pd.DataFrame(
        {
            "benchmark": ["fft"] * 3 + ["sort"] * 3,
            "iteration": [0, 1, 2] * 2,
            beside: cells[beside],
            "time_ms": numbers,
        }
    )
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    times = outcome(lambda: perfarray.read(tmp_path / "rows.csv"))
    assert dict(times.sizes) == {"benchmark": 2, "execution": 1, "iteration": 3}
    doors = {
        "parquet": lambda: perfarray.read_archive(tmp_path / "rows.parquet"),
        "streamed": lambda: perfarray.convert_table(tmp_path / "rows.csv", tmp_path / "rows.zarr"),
    }
    check_same({"at once": times} | {door: outcome(read) for door, read in doors.items()})


@pytest.mark.parametrize(("machines", "dims"), [
    ("abcd", ("machine",)),  # a machine in each file
    ("abab", ("file",)),  # two files of each machine
    ("aaaa", ("file",)),
])  # fmt: skip
def test_a_column_of_files(tmp_path, machines, dims):
    """A file that the machine determines lies along the machines, in a frame and in a file; a
    caller who names it a dim gets it."""
    rows = [
        (bench, machine, f"{number}.csv", number + 1.0)
        for bench in "xy"
        for number, machine in enumerate(machines)
    ]
    frame = pd.DataFrame(rows, columns=["benchmark", "machine", "file", "time_ms"]).assign(
        execution=0
    )
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for times in (frame.perf.to_timings(), perfarray.read(tmp_path / "rows.csv")):
        assert times["file"].dims == dims
        assert times["file"].values.tolist() == ["0.csv", "1.csv", "2.csv", "3.csv"]
    named = frame.perf.to_timings(file="file")
    assert named["time"].sizes["file"] == 4
