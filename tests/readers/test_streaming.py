"""Tables streamed into stores: equal to those that are read at once, whatever the blocks; what
cannot be streamed is named."""

import itertools
import signal
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from perfarray.readers import row_blocks, table_cells
from perfarray.readers.opening import FileError
from perfarray.tables.stores.writing import write
from strategies import MANY

pytest.importorskip("pyarrow")
pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(row_blocks, "READ_AT_ONCE", 0)
    monkeypatch.setattr(row_blocks, "BLOCK", 1 << 10)
    monkeypatch.setattr(row_blocks, "ROWS", 17)
    monkeypatch.setattr(table_cells, "PENDING", 8)


@pytest.fixture
def table():
    names = ["benchmark", "machine", "execution", "iteration"]
    levels = [["fft", "007", "so,rt"], ["a", "b"], range(1, 4), range(5)]
    frame = pd.MultiIndex.from_product(levels, names=names).to_frame(index=False)
    described = {
        "cpu": frame["machine"].map({"a": "x86, 64", "b": "arm"}),
        "memory_gb": frame["machine"].map({"a": 16, "b": 8}),
    }
    return frame.assign(
        **described, time_ms=np.random.default_rng(1).uniform(1, 2, len(frame)).round(6)
    )


def written(frame, file):
    if ".csv" in file.suffixes:
        frame.to_csv(file, index=False)
    else:
        getattr(frame.reset_index(drop=True), f"to_{file.suffix[1:]}")(file)
    return file


def check_same(place, folder):
    """Check that the streamed store is that of the table read at once, and return it."""
    perfarray.convert_table(place, folder / "streamed.zarr")
    write(perfarray.read_archive(place), folder / "whole.zarr")
    streamed, whole = (
        xr.load_dataset(folder / f"{name}.zarr", engine="zarr") for name in ("streamed", "whole")
    )
    xr.testing.assert_identical(streamed, whole)
    return streamed


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
    check_same(written(TABLES[kind](table), tmp_path / f"table.{suffix}"), tmp_path)


def stored(frame, file):
    """Write a table in groups of 17 rows."""
    if file.suffix == ".parquet":
        frame.reset_index(drop=True).to_parquet(file, row_group_size=17)
    else:
        frame.reset_index(drop=True).to_feather(file, chunksize=17)
    return file


HOSTS = {
    "host by execution": lambda table: table.assign(
        host=table["execution"].map({1: "u", 2: "v", 3: "w"})
    )
}
LAZY = [
    ("host by execution", "parquet"),
    *itertools.product(TABLES, ["parquet"]),
    *((kind, "feather") for kind in (TABLES if MANY else ("flags", "missing"))),
]


@pytest.mark.parametrize(("kind", "suffix"), LAZY)
def test_lazy_timings_are_those_of_the_table_read_at_once(table, tmp_path, kind, suffix):
    file = stored((TABLES | HOSTS)[kind](table), tmp_path / f"table.{suffix}")
    archive = perfarray.read_archive(file, chunks={"benchmark": 1})
    xr.testing.assert_identical(archive.compute(), perfarray.read_archive(file))
    lazy, whole = perfarray.read(file, chunks={"benchmark": 1}), perfarray.read(file)
    assert lazy.chunksizes == whole.chunk({"benchmark": 1}).chunksizes
    selections = [
        {},
        {"benchmark": 1},
        {"benchmark": [2, 0]},
        {"benchmark": slice(None, None, -2)},
        {"benchmark": slice(0)},
    ]
    selections += [{dim: positions} for dim in whole.dims for positions in (-1, slice(1, None, 2))]
    for selection in selections:
        xr.testing.assert_identical(lazy.isel(selection).compute(), whole.isel(selection))


def test_lazy_timings_read_values_where_they_are_computed(table, tmp_path, monkeypatch):
    file = stored(
        table.assign(time_ms=table["time_ms"].where(table.index != 40, -1.0)),
        tmp_path / "table.parquet",
    )
    times = perfarray.read(file, chunks={"benchmark": 1})
    assert times.isel(benchmark=0)["time"].mean() > 0
    with pytest.raises(FileError, match="column 'time_ms', row 41 under the header, is -1"):
        times.compute()
    batches, requests = row_blocks._batches, []

    def recorded(path, labels, names, groups=None):
        requests.append((names, groups))
        return batches(path, labels, names, groups)

    monkeypatch.setattr(row_blocks, "_batches", recorded)
    times = perfarray.read(file, chunks={"benchmark": 1})
    assert not any("time_ms" in names for names, _ in requests)
    requests.clear()
    times.isel(benchmark=2).compute()
    assert [groups for _, groups in requests] == [[3], [4], [5]]  # rows 60 to 89, in groups of 17


def test_numbers_that_describe_machines_may_be_missing(table, tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    unknown = table.assign(memory_gb=table["memory_gb"].where(table["machine"] == "a"))
    parquet.write_table(pyarrow.Table.from_pandas(unknown, preserve_index=False, safe=False).set_column(
        5, "memory_gb", pyarrow.array(unknown["memory_gb"].to_numpy(), from_pandas=False)), tmp_path / "table.parquet")  # fmt: skip
    xr.testing.assert_identical(
        perfarray.read(tmp_path / "table.parquet", chunks={}).compute(),
        perfarray.read(tmp_path / "table.parquet"),
    )
    check_same(tmp_path / "table.parquet", tmp_path)


def test_a_table_that_was_changed_is_read_again(table, tmp_path):
    times = perfarray.read(stored(table, tmp_path / "table.parquet"), chunks={})
    stored(table.replace("007", "008"), tmp_path / "table.parquet")
    with pytest.raises(
        FileError,
        match=(
            "column 'benchmark' holds '008', which was not there when its labels were read; "
            "read it again"
        ),
    ):
        times.compute()


def test_lazy_timings_go_to_other_processes(table, tmp_path):
    cloudpickle = pytest.importorskip("cloudpickle")
    times = perfarray.read(stored(table, tmp_path / "table.parquet"), chunks={})
    xr.testing.assert_identical(
        cloudpickle.loads(cloudpickle.dumps(times)).compute(), times.compute()
    )


def test_lazy_partitioned_folder(table, tmp_path):
    for machine, part in table.groupby("machine"):
        (tmp_path / "results" / f"machine={machine}").mkdir(parents=True)
        stored(
            part.drop(columns="machine"),
            tmp_path / "results" / f"machine={machine}" / "part-0.parquet",
        )
    for read in (perfarray.read, perfarray.read_archive):
        lazy = read(tmp_path / "results", chunks={"machine": 1})
        assert lazy["time"].chunksizes["machine"] == (1, 1)
        xr.testing.assert_identical(lazy.compute(), read(tmp_path / "results"))


@pytest.mark.parametrize("kind", ["mark", "unit", "number", "row by row"])
def test_what_labels_do_not_determine_is_read_at_once_and_chunked(table, tmp_path, kind):
    file = stored(REFUSED[kind][0](table), tmp_path / "table.parquet")
    lazy, whole = perfarray.read(file, chunks={"benchmark": 1}), perfarray.read(file)
    assert lazy.chunksizes == whole.chunk({"benchmark": 1}).chunksizes
    xr.testing.assert_identical(lazy.compute(), whole)
    with pytest.raises(FileError, match=f"column '{'stamp' if kind == 'row by row' else ''}"):
        perfarray.convert_table(file, tmp_path / "out.zarr")


def test_chunks_of_any_format(tmp_path):
    (tmp_path / "table.csv").write_text("benchmark,execution,time_ms\na,0,1\nb,0,2\n")
    assert perfarray.read(tmp_path / "table.csv", chunks={"benchmark": 1})["time"].chunksizes[
        "benchmark"
    ] == (1, 1)


def test_comments_and_separators(table, tmp_path):
    file = tmp_path / "table.csv"
    lines = table.rename(columns={"time_ms": "cost"}).to_csv(index=False, sep=";").splitlines()
    file.write_text("\n".join(["# metric: cost", "# units: J", *lines]) + "\n", encoding="utf-8")
    assert check_same(file, tmp_path)["cost"].attrs["units"] == "J"


def test_packed_file_with_more_combinations_of_codes_than_a_table_holds(
    table, tmp_path, monkeypatch
):
    monkeypatch.setattr(table_cells, "DENSE", 1)
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
        part = table[table["machine"] == "a"].assign(
            machine=machine, benchmark=table["benchmark"] + str(number)
        )
        written(
            part[["benchmark", "machine", "execution", "iteration", "time_ms"]],
            tmp_path / "results" / f"part-{number}.parquet",
        )
    check_same(tmp_path / "results", tmp_path)


def test_parts_in_several_units(table, tmp_path):
    """Parts that state several units of time are converted at once, and not streamed."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "results").mkdir()
    for number, unit in enumerate(("ms", "us")):
        part = pyarrow.Table.from_pandas(
            table.rename(columns={"time_ms": "time"}).assign(version=unit)
        ).replace_schema_metadata({"units": unit})
        parquet.write_table(part, tmp_path / "results" / f"part-{number}.parquet")
    times = perfarray.read(tmp_path / "results", chunks={}).compute()
    np.testing.assert_allclose(
        times["time"].sel(version="us") * 1000, times["time"].sel(version="ms")
    )
    with pytest.raises(
        FileError, match="its parts state several units of time, which cannot be streamed"
    ):
        perfarray.convert_table(tmp_path / "results", tmp_path / "out.zarr")


def test_what_convert_wrote(table, tmp_path):
    values, units = {"score": "score", "time": "time_ms"}, {"time": "ms", "score": "1"}
    times = table.assign(score=table["time_ms"] / 7).perf.to_timings(value=values, units=units)
    write(times, tmp_path / "written.parquet")
    assert set(check_same(tmp_path / "written.parquet", tmp_path).data_vars) == {"score", "time"}


def test_partitioned_folder(table, tmp_path):
    folder = tmp_path / "results"
    for (machine, half), part in table.assign(half=table.index % 2).groupby(["machine", "half"]):
        (folder / f"machine={machine}").mkdir(parents=True, exist_ok=True)
        written(
            part.drop(columns=["machine", "half"]),
            folder / f"machine={machine}" / f"part-{half}.parquet",
        )
    (folder / "_SUCCESS").touch()
    assert check_same(folder, tmp_path)["machine"].values.tolist() == ["a", "b"]


REFUSED = {
    "mark": (lambda table: table.assign(failed=False), "column 'failed' cannot be streamed"),
    "unit": (lambda table: table.assign(unit="ms"), "column 'unit' cannot be streamed"),
    "repeated": (lambda table: pd.concat([table, table.iloc[[3]]]), "row 91 under the header repeats a measurement"),
    "negative": (lambda table: table.assign(time_ms=table["time_ms"].where(table.index != 40, -1.0)),
                 "column 'time_ms', row 41 under the header, is -1"),
    "number": (lambda table: table.assign(threads=table["iteration"] % 2), "column 'threads' cannot be streamed: no usual dim"),
    "host by execution": (HOSTS["host by execution"], "column 'host' cannot be streamed"),
    "date by iteration": (lambda table: table.assign(date=table["iteration"].map("2026-11-{}".format)),
                          "column 'date' cannot be streamed"),
    "row by row": (lambda table: table.assign(stamp=[f"t{number}" for number in range(len(table))]),
                   "30 combinations of labels, most of them in column 'stamp'"),
}  # fmt: skip


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("reason", REFUSED)
def test_refusals(table, tmp_path, monkeypatch, reason, suffix):
    monkeypatch.setattr(table_cells, "MOST", 30 if reason == "row by row" else 10**6)
    change, message = REFUSED[reason]
    file = written(change(table), tmp_path / f"table.{suffix}")
    with pytest.raises(FileError, match=message):
        perfarray.convert_table(file, tmp_path / "out.zarr")
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


KILLED = """
import os, signal, sys
import perfarray
from perfarray.readers import row_blocks, streaming
row_blocks.READ_AT_ONCE = 0  # small tables would be read at once
streaming.write = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
perfarray.convert_table(*sys.argv[1:])
"""


@pytest.mark.skipif(
    find_spec("fcntl") is None,
    reason="there are no locks of files that end with a program (since 2026-11)",
)
def test_what_a_killed_program_leaves_is_hidden_and_removed(table, tmp_path):
    """The next conversion to the same store removes it; one to another store leaves it alone."""
    place, store = written(table, tmp_path / "table.csv"), tmp_path / "out.zarr"
    killed = subprocess.run([sys.executable, "-c", KILLED, place, store], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [path.name[:10] for path in tmp_path.iterdir() if path != place] == [".out.zarr."]
    perfarray.convert_table(place, tmp_path / "other.zarr")
    assert len(list(tmp_path.glob(".out.zarr.*"))) == 1
    perfarray.convert_table(place, store)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "other.zarr",
        "out.zarr",
        "table.csv",
    ]


@pytest.mark.parametrize(("place", "error", "message"), [
    ("twice.csv", FileError, r"twice\.csv: has a column twice: 'time_ms'; rename or remove one"),
    ("blank.parquet", FileError, r"blank\.parquet: has a column twice: 'benchmark'; rename or remove one"),
    ("short.csv", FileError, r"short\.csv: is not a table"),
    ("other.json", FileError, "is no table that can be streamed"),
    ("missing.csv", FileNotFoundError, "there is no such file"),
    ("empty", FileNotFoundError, "no files found"),
])  # fmt: skip
def test_what_is_no_table(table, tmp_path, place, error, message):
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "twice.csv").write_text("benchmark,time_ms,time_ms\nfft,1,2\n")
    written(table.assign(**{" benchmark": 1}), tmp_path / "blank.parquet")
    (tmp_path / "short.csv").write_text(
        table.to_csv(index=False).replace("fft,a,1,0", "fft,a,1", 1)
    )
    (tmp_path / "empty").mkdir()
    with pytest.raises(error, match=message):
        perfarray.convert_table(tmp_path / place, tmp_path / "out.zarr")


def test_a_place_that_is_no_store(table, tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.zarr"):
        perfarray.convert_table(written(table, tmp_path / "table.csv"), tmp_path / "out.nc")
