"""Tables streamed into stores: equal to those that are read at once, whatever the blocks; what
cannot be streamed is named."""

import itertools
import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from perfarray.readers import stored_labels, stored_tables, streaming
from perfarray.readers.opening import FileError
from perfarray.tables.stores.writing import write

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")
pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(stored_tables, "READ_AT_ONCE", 0)
    monkeypatch.setattr(streaming, "ROWS", 17)


@pytest.fixture
def table():
    names = ["benchmark", "machine", "execution", "iteration"]
    levels = [["fft", "007", "so,rt"], ["a", "b"], range(1, 4), range(5)]
    frame = pd.MultiIndex.from_product(levels, names=names).to_frame(index=False)
    descriptors = {
        "cpu": frame["machine"].map({"a": "x86, 64", "b": "arm"}),
        "memory_gb": frame["machine"].map({"a": 16, "b": 8}),
    }
    return frame.assign(
        **descriptors, time_ms=np.random.default_rng(1).uniform(1, 2, len(frame)).round(6)
    )


def written(frame, file):
    if ".csv" in file.suffixes:
        frame.to_csv(file, index=False)
    else:
        getattr(frame.reset_index(drop=True), f"to_{file.suffix[1:]}")(file)
    return file


def check_same(path, folder, *, streamed=True):
    """Check that the store is that of the table read at once, which it is only where it cannot be
    streamed, and return it."""
    with mock.patch.object(streaming, "read_archive", wraps=perfarray.read_archive) as read:
        perfarray.convert_table(path, folder / "streamed.zarr")
    assert streamed == (path not in [call.args[0] for call in read.call_args_list])
    write(perfarray.read_archive(path), folder / "whole.zarr")
    store, in_memory = (
        xr.load_dataset(folder / f"{name}.zarr", engine="zarr") for name in ("streamed", "whole")
    )
    xr.testing.assert_identical(store, in_memory)
    return store


TABLES = {
    "whole": lambda table: table,
    "shuffled": lambda table: table.sample(frac=1, random_state=2),
    "ragged": lambda table: table.sample(frac=0.6, random_state=3),
    "executions": lambda table: table[table["iteration"] == 0].drop(columns="iteration"),
    "iterations": lambda table: table[table["execution"] == 1].drop(columns="execution"),
    "single": lambda table: table[(table["execution"] == 1) & (table["iteration"] == 0)][
        ["benchmark", "machine", "time_ms"]
    ],
    "missing": lambda table: table.assign(time_ms=table["time_ms"].where(table.index % 7 > 0)),
    "two metrics": lambda table: table.assign(energy=table["time_ms"] * 3 + 1),
    "two metrics, the main one last": lambda table: table.assign(energy=table["time_ms"] * 3 + 1)[
        ["energy", *table.columns]
    ],
    "categories": lambda table: table.assign(
        benchmark=pd.Categorical(table["benchmark"], ["none", *table["benchmark"].unique()[::-1]])
    ),
    "single precision": lambda table: table.assign(time_ms=table["time_ms"].astype("float32")),
    "flags": lambda table: pd.concat(
        [table.assign(flags="-O2"), table.assign(flags="-O3")], ignore_index=True
    ),
}


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [*itertools.product(TABLES, ["csv", "parquet"]), ("flags", "feather"), ("missing", "feather")],
)
def test_store_is_that_of_the_table_read_at_once(table, tmp_path, kind, suffix):
    file = written(TABLES[kind](table), tmp_path / f"table.{suffix}")
    check_same(file, tmp_path, streamed=suffix != "feather")


HOSTS = {
    "host by execution": lambda table: table.assign(
        host=table["execution"].map({1: "u", 2: "v", 3: "w"})
    )
}


def test_numbers_that_describe_machines_may_be_missing(table, tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    unknown = table.assign(memory_gb=table["memory_gb"].where(table["machine"] == "a"))
    parquet.write_table(
        pyarrow.Table.from_pandas(unknown, preserve_index=False, safe=False).set_column(
            5, "memory_gb", pyarrow.array(unknown["memory_gb"].to_numpy(), from_pandas=False)
        ),
        tmp_path / "table.parquet",
    )
    check_same(tmp_path / "table.parquet", tmp_path)


def test_comments_and_separators(table, tmp_path):
    file = tmp_path / "table.csv"
    lines = table.rename(columns={"time_ms": "cost"}).to_csv(index=False, sep=";").splitlines()
    file.write_text("\n".join(["# metric: cost", "# units: J", *lines]) + "\n", encoding="utf-8")
    assert check_same(file, tmp_path)["cost"].attrs["units"] == "J"


def test_packed_file(table, tmp_path):
    check_same(written(table.sample(frac=0.6, random_state=3), tmp_path / "table.csv.gz"), tmp_path)


@pytest.mark.parametrize(("n_columns", "n_labels"), [(31, 4), (9, 1000)])
def test_many_columns_of_labels(tmp_path, n_columns, n_labels):
    """More combinations of codes than 64 bits can number exchange no labels."""
    rng = np.random.default_rng(5)
    labels = {
        f"option_{column}": rng.permutation(np.arange(n_labels).repeat(1000 // n_labels))
        for column in range(n_columns)
    }
    machines = (
        pd.DataFrame(labels)
        .map("v{}".format)
        .assign(machine=[f"m{number}" for number in range(1000)])
    )
    table = machines.loc[np.arange(2000) % 1000].assign(
        execution=np.arange(2000) // 1000, time_ms=1 + np.arange(2000.0)
    )
    check_same(written(table, tmp_path / "table.parquet"), tmp_path)


def test_a_column_twice(table, tmp_path):
    (tmp_path / "table.csv").write_text(table.to_csv(index=False).replace("cpu", "machine", 1))
    with pytest.raises(FileError, match="has a column twice: 'machine'"):
        perfarray.convert_table(tmp_path / "table.csv", tmp_path / "out.zarr")


def test_a_block_of_missing_labels(table, tmp_path):
    """A part whose labels are all missing does not say of which type they are."""
    (tmp_path / "results").mkdir()
    for number, machine in enumerate([None, "a"]):
        block = table[table["machine"] == "a"].assign(
            machine=machine, benchmark=table["benchmark"] + str(number)
        )
        written(
            block[["benchmark", "machine", "execution", "iteration", "time_ms"]],
            tmp_path / "results" / f"part-{number}.parquet",
        )
    check_same(tmp_path / "results", tmp_path)


def test_parts_in_several_units(table, tmp_path):
    """Parts that state several units of time are converted at once, and not streamed."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "results").mkdir()
    for number, unit in enumerate(("ms", "us")):
        table_of_unit = pyarrow.Table.from_pandas(
            table.rename(columns={"time_ms": "time"}).assign(version=unit)
        ).replace_schema_metadata({"units": unit})
        parquet.write_table(table_of_unit, tmp_path / "results" / f"part-{number}.parquet")
    times = perfarray.read(tmp_path / "results")
    np.testing.assert_allclose(
        times["time"].sel(version="us") * 1000, times["time"].sel(version="ms")
    )
    check_same(tmp_path / "results", tmp_path, streamed=False)
    with (
        perfarray.set_options(max_cells=99),
        pytest.raises(FileError, match="state several units of time, which cannot be streamed"),
    ):
        perfarray.convert_table(tmp_path / "results", tmp_path / "out.zarr")


def test_what_convert_wrote(table, tmp_path):
    values, units = {"score": "score", "time": "time_ms"}, {"time": "ms", "score": "1"}
    times = table.assign(score=table["time_ms"] / 7).perf.to_timings(value=values, units=units)
    write(times, tmp_path / "written.parquet")
    assert set(check_same(tmp_path / "written.parquet", tmp_path).data_vars) == {"score", "time"}


def test_partitioned_folder(table, tmp_path):
    folder = tmp_path / "results"
    for (machine, half), group in table.assign(half=table.index % 2).groupby(["machine", "half"]):
        (folder / f"machine={machine}").mkdir(parents=True, exist_ok=True)
        written(
            group.drop(columns=["machine", "half"]),
            folder / f"machine={machine}" / f"part-{half}.parquet",
        )
    (folder / "_SUCCESS").touch()
    assert check_same(folder, tmp_path)["machine"].values.tolist() == ["a", "b"]


REFUSED = {
    "mark": (lambda table: table.assign(failed=False), "column 'failed' cannot be streamed"),
    "unit": (lambda table: table.assign(unit="ms"), "column 'unit' cannot be streamed"),
    "cells with units": (
        lambda table: table.assign(time_ms=table["time_ms"].map("{} ms".format)),
        "column 'time_ms', row 1 under the header, holds no plain number",
    ),
    "number": (
        lambda table: table.assign(threads=table["iteration"] % 2),
        "column 'threads' cannot be streamed: no usual dim",
    ),
    "host by execution": (HOSTS["host by execution"], "column 'host' cannot be streamed"),
    "date by iteration": (
        lambda table: table.assign(date=table["iteration"].map("2026-11-{}".format)),
        "column 'date' cannot be streamed",
    ),
    "row by row": (
        lambda table: table.assign(stamp=[f"t{number}" for number in range(len(table))]),
        "30 combinations of labels, most of them in column 'stamp'",
    ),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_streamed(table, tmp_path, monkeypatch, reason, suffix):
    """It is what `read_archive` makes of it, an error too; beyond limits it is refused by name."""
    monkeypatch.setattr(stored_labels, "MAX_COMBINATIONS", 30 if reason == "row by row" else 10**6)
    change, message = REFUSED[reason]
    file = written(change(table), tmp_path / f"table.{suffix}")
    if suffix == "parquet" and reason == "cells with units":
        message = "column 'time_ms' is of type VARCHAR"
    with perfarray.set_options(max_file_bytes=99), pytest.raises(FileError, match=message) as error:
        perfarray.convert_table(file, tmp_path / "out.zarr")
    assert "too large to be read at once" in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    try:
        perfarray.read_archive(file)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            perfarray.convert_table(file, tmp_path / "out.zarr")
        return
    check_same(file, tmp_path, streamed=False)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda table: pd.concat([table, table.iloc[[3]]]),
            "repeat a measurement. The first is row 91 under the header",
        ),
        (
            lambda table: table.assign(time_ms=table["time_ms"].where(table.index != 40, -1.0)),
            "column 'time_ms', row 41 under the header, is -1",
        ),
    ],
)
def test_wrong_rows(table, tmp_path, change, message, suffix):
    file = written(change(table), tmp_path / f"table.{suffix}")
    with pytest.raises(FileError, match=message):
        perfarray.convert_table(file, tmp_path / "out.zarr")
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_rows_without_numbers_of_repetitions(table, tmp_path):
    """They are numbered in the order of the file."""
    rows = table.drop(columns=["execution", "iteration"]).sample(frac=0.7, random_state=4)
    for suffix in ("csv", "parquet"):
        check_same(written(rows, tmp_path / f"rows.{suffix}"), tmp_path)


def test_files_outside_are_not_read(table, tmp_path):
    """DuckDB reads the files of the table and nothing else: a name is no pattern, and no extension
    is loaded."""
    written(table.assign(machine="secret"), tmp_path / "a1.csv")
    path = written(table, tmp_path / "a[1]*.csv")
    check_same(path, tmp_path)
    rows = stored_tables.stored_table(path, tmp_path)
    for query in (
        f"FROM read_csv('{tmp_path / 'a1.csv'}')",
        f"FROM '{tmp_path / 'a1.csv'}'",
        "FROM read_text('/etc/hostname')",
        "INSTALL httpfs",
        "LOAD httpfs",
        f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        f"ATTACH '{tmp_path / 'out.db'}'",
        "SET enable_external_access=true",
        "FROM table",
    ):
        with pytest.raises(FileError):
            rows.run(query)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "mixed"])
def test_ends_of_lines(table, tmp_path, ends):
    text = table.to_csv(index=False, lineterminator="\r\n" if ends == "mixed" else ends)
    file = tmp_path / "table.csv"
    file.write_bytes(text.replace("\r\n", "\n", 1).encode() if ends == "mixed" else text.encode())
    check_same(file, tmp_path, streamed=ends != "mixed")


@pytest.mark.parametrize("suffix", ["csv.xz", "csv.bz2", "csv.zip"])
def test_packed_files_that_are_not_streamed(table, tmp_path, suffix):
    file = tmp_path / f"table.{suffix}"
    table.to_csv(file, index=False)
    check_same(file, tmp_path, streamed=False)


KILLED = """
import os, signal, sys
import perfarray
from perfarray.readers import stored_tables, streaming
stored_tables.READ_AT_ONCE = 0  # small tables would be read at once
streaming.write = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
perfarray.convert_table(*sys.argv[1:])
"""


@pytest.mark.skipif(
    find_spec("fcntl") is None,
    reason="there are no locks of files that end with a program (since 2026-11)",
)
def test_what_a_killed_program_leaves_is_hidden_and_removed(table, tmp_path):
    """The next conversion to the same store removes it; one to another store leaves it alone."""
    table_path, store = written(table, tmp_path / "table.csv"), tmp_path / "out.zarr"
    killed = subprocess.run([sys.executable, "-c", KILLED, table_path, store], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [path.name[:10] for path in tmp_path.iterdir() if path != table_path] == [".out.zarr."]
    perfarray.convert_table(table_path, tmp_path / "other.zarr")
    assert len(list(tmp_path.glob(".out.zarr.*"))) == 1
    perfarray.convert_table(table_path, store)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "other.zarr",
        "out.zarr",
        "table.csv",
    ]


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        (
            "twice.csv",
            FileError,
            r"twice\.csv: has a column twice: 'time_ms'; rename or remove one",
        ),
        (
            "blank.parquet",
            FileError,
            r"blank\.parquet: has a column twice: 'benchmark'; rename or remove one",
        ),
        ("short.csv", FileError, r"short\.csv: is not a table"),
        ("other.json", FileError, "this table cannot be streamed"),
        ("missing.csv", FileNotFoundError, "there is no such file"),
        ("empty", FileNotFoundError, "no files found"),
    ],
)
def test_what_is_no_table(table, tmp_path, name, error, message):
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "twice.csv").write_text("benchmark,time_ms,time_ms\nfft,1,2\n")
    written(table.assign(**{" benchmark": 1}), tmp_path / "blank.parquet")
    (tmp_path / "short.csv").write_text(
        table.to_csv(index=False).replace("fft,a,1,0", "fft,a,1", 1)
    )
    (tmp_path / "empty").mkdir()
    with pytest.raises(error, match=message):
        perfarray.convert_table(tmp_path / name, tmp_path / "out.zarr")


def test_a_place_that_is_no_store(table, tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.zarr"):
        perfarray.convert_table(written(table, tmp_path / "table.csv"), tmp_path / "out.nc")
