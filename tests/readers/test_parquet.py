"""Parquet and Feather: the Datasets that CSV gives, partitioned folders as one table, hostile
files, and what is written."""

import json
import zipfile
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from cli.commands import run
from perfarray.tables.stores.writing import write as write_store
from readers.files_of_our_own import check
from strategies import MANY

pa = pytest.importorskip("pyarrow", reason="install perfarray[tables]")
feather, parquet = (pytest.importorskip(f"pyarrow.{name}") for name in ("feather", "parquet"))

ROWS = [
    (
        benchmark,
        version,
        execution,
        iteration,
        1.5 + (7 * execution + iteration) / 100,
        f"host of {version}",
        iteration == 0,
    )
    for benchmark in ("fft", "sort")
    for version in ("old", "new")
    for execution in range(3)
    for iteration in range(4)
]
COLUMNS = ["benchmark", "version", "execution", "iteration", "time_ms", "host", "warmup"]


@pytest.fixture
def frame():
    return pd.DataFrame(ROWS, columns=COLUMNS)


def assert_same_values(expected, result):
    """Check that two Datasets hold the same but for what names their format."""
    xr.testing.assert_identical(expected.drop_attrs(deep=False), result.drop_attrs(deep=False))


def write(frame, path, **metadata):
    """Write a frame by the suffix of the path, with metadata of the schema, and return the path."""
    table = pa.Table.from_pandas(frame).replace_schema_metadata(metadata)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, str(path))
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame,
        lambda frame: frame.sample(frac=1, random_state=1),
        lambda frame: frame.drop(index=[3, 17]),
        lambda frame: frame.assign(machine=frame["version"].map({"old": 7, "new": 9})),
        lambda frame: frame.rename(columns={"time_ms": "time"}).assign(unit="us"),
        lambda frame: frame.drop(columns=["iteration", "warmup"]).drop_duplicates(
            ["benchmark", "version", "execution"]
        ),
    ],
)
def test_every_door_gives_the_same(tmp_path, frame, change):
    """CSV, Parquet, Feather, pandas, and, where they are installed, Polars and DuckDB."""
    rows = change(frame).reset_index(drop=True)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    expected = perfarray.read(tmp_path / "rows.csv")
    for suffix in (".parquet", ".feather"):
        assert_same_values(expected, perfarray.read(write(rows, tmp_path / f"rows{suffix}")))
    assert_same_values(expected, perfarray.to_timings(rows))
    assert_same_values(expected, perfarray.to_timings(pa.Table.from_pandas(rows)))
    for package, function in (("polars", "from_pandas"), ("duckdb", "from_df")):
        if find_spec(package) is not None:
            assert_same_values(
                expected, perfarray.to_timings(getattr(import_module(package), function)(rows))
            )


def test_metadata_and_names_say_what_columns_are(tmp_path, frame):
    """Units in the metadata of the schema, other names by dims=, as for CSV; other types are
    numbers, too; `format=` takes either name."""
    for name in ("parquet", "feather"):
        path = write(frame, tmp_path / f"a.{name}")
        plain = perfarray.read(path)
        assert plain.attrs["format"] == perfarray.read(path, format=name).attrs["format"] == name
    assert_same_values(
        plain,
        perfarray.read(
            write(frame.rename(columns={"time_ms": "time"}), tmp_path / "b.parquet", units="ms")
        ),
    )
    renamed, dims = (
        frame.rename(columns={"time_ms": "duration", "benchmark": "program"}),
        {"benchmark": "program", "time_ms": "duration"},
    )
    renamed.to_csv(tmp_path / "c.csv", index=False)
    assert_same_values(
        perfarray.read(tmp_path / "c.csv", dims=dims),
        perfarray.read(write(renamed, tmp_path / "c.feather"), dims=dims),
    )
    dated = frame.assign(date=pd.Timestamp("2026-01-02"))
    decimals = pd.arrays.ArrowExtensionArray(pa.array(frame["time_ms"]).cast(pa.decimal128(9, 6)))
    times, expected = (
        perfarray.read(write(dated.assign(time_ms=decimals), tmp_path / "d.parquet")),
        perfarray.to_timings(dated),
    )
    assert times["date"].identical(expected["date"])
    np.testing.assert_allclose(times["time"], expected["time"])


@pytest.mark.parametrize(
    ("rows", "choices", "message"),
    [
        (
            lambda frame: frame.assign(time_ms=frame["time_ms"].where(frame.index != 5, -1.0)),
            {},
            "row 6 .* is -1.0; expected a number",
        ),
        (
            lambda frame: frame.assign(time_ms="fast"),
            {},
            "column 'time_ms', row 1 under the header, is 'fast'",
        ),
        (
            lambda frame: frame.assign(time_ms=pd.Categorical(["fast"] * len(frame))),
            {},
            "column 'time_ms', row 1 under the header, is 'fast'",
        ),
        (
            lambda frame: frame.assign(time_ms=[[1.0, 2.0]] * len(frame)),
            {},
            "column 'time_ms' holds lists or structures",
        ),
        (lambda frame: frame.drop(columns="time_ms"), {}, "has no column of values"),
        (
            lambda frame: frame.assign(**{"host ": 1}),
            {},
            "has a column twice: 'host'; rename or remove one",
        ),
        (lambda frame: frame.iloc[:0], {}, "has columns and no rows"),
        (lambda frame: pd.concat([frame, frame.iloc[:1]]), {}, "1 rows repeat a measurement"),
        (
            lambda frame: frame,
            {"dims": {"benchmark": "program"}},
            "has no column 'program'; it has 'benchmark'",
        ),
        (lambda frame: frame, {"dims": {"benchmark": 0}}, "dims= names them, not their places"),
        (lambda frame: frame, {"format": "jmh"}, "is not UTF-8 text"),
    ],
)
def test_bad_tables(tmp_path, frame, rows, choices, message):
    path = write(rows(frame), tmp_path / "bad.parquet")
    with pytest.raises(ValueError, match=rf"bad\.parquet.*{message}"):
        perfarray.read(path, **choices)


def test_limits(tmp_path, frame):
    """Cells are counted before the file is read, bytes of what is held after it."""
    path = write(frame, tmp_path / "a.parquet")
    with (
        perfarray.set_options(max_cells=100),
        pytest.raises(
            ValueError, match=r"holds 48 rows of 7 columns; set_options\(max_cells=...\)"
        ),
    ):
        perfarray.read(path)
    constant = write(
        pd.DataFrame({"benchmark": "a", "time": np.full(200_000, 1.5)}), tmp_path / "small.parquet"
    )
    assert constant.stat().st_size < 100_000
    with (
        perfarray.set_options(max_file_bytes=1_000_000),
        pytest.raises(ValueError, match="holds more than the 1000000 bytes"),
    ):
        perfarray.read(constant)


@pytest.mark.parametrize("roles", [
    {"units": {}, "better": {}, "dims": [], "shared": []},
    {"units": {"time_ms": "ms"}, "better": {"time_ms": "lower"}, "dims": 3, "shared": []},
    {"units": [], "better": {}, "dims": [], "shared": []},
])  # fmt: skip
def test_roles_that_convert_does_not_write_are_not_used(tmp_path, frame, roles):
    """The names of the columns say then what they hold, as without metadata."""
    path = write(frame, tmp_path / "a.parquet", perfarray=json.dumps(roles))
    assert perfarray.read(path).identical(perfarray.read(write(frame, tmp_path / "b.parquet")))


def partitioned(frame, folder):
    """Write a folder of a date and a version with an odd name, two parts each, as engines do."""
    for number, date in enumerate(("2026-11-01", "2026-11-02")):
        for version, rows in frame.groupby("version"):
            for piece, half in enumerate(np.array_split(np.arange(len(rows)), 2)):
                name = f"date={date}/version={version}%2F007/part-{piece}-{number}.parquet"
                write(rows.iloc[half].drop(columns="version"), folder / name)
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-0.crc").write_text("x")
    return folder


def test_a_partitioned_folder_is_one_table(tmp_path, frame):
    """Keys of folders are labels, as text without percent-encoding; parts are joined, and what
    engines put beside them is no file."""
    folder = partitioned(frame, tmp_path / "hive")
    times = perfarray.read(folder)
    assert times.sizes == {"benchmark": 2, "version": 2, "date": 2, "execution": 3, "iteration": 4}
    check(times, version=["new/007", "old/007"], date=["2026-11-01", "2026-11-02"])
    assert times["time"].notnull().all()
    archive = perfarray.read_archive(folder)
    assert (archive.attrs["n_files"], archive.attrs["n_files_skipped"]) == (1, 0)
    assert_same_values(times, archive)
    assert perfarray.archive_table(folder)[["file", "status", "measurements"]].values.tolist() == [
        ["hive", "read", 96]
    ]
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="the same measurement stands under machine='x' and machine='y'",
    ):
        machines = perfarray.read_archive({"x": folder, "y": folder}, dim="machine")
    assert machines.sizes["machine"] == 2
    zipped = tmp_path / "hive.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        for file in folder.rglob("*"):
            archive.write(file, file.relative_to(tmp_path))
    assert_same_values(times, perfarray.read(zipped))


def test_an_unknown_partition_and_tables_of_their_own(tmp_path, frame):
    """Hive's word for a missing key is unknown; files with names of their own are files; with a
    layout the paths say what they are."""
    old = frame[frame["version"] == "old"].drop(columns="version")
    write(old, tmp_path / "a" / "version=__HIVE_DEFAULT_PARTITION__" / "x.parquet")
    check(perfarray.read(tmp_path / "a"), version=["unknown"])
    for name in ("one", "two"):
        write(old, tmp_path / "b" / f"{name}.parquet")
    assert perfarray.read_archive(tmp_path / "b").sizes["file"] == 2
    check(
        perfarray.read_archive(tmp_path / "b", layout="{compiler}.parquet"), compiler=["one", "two"]
    )


def write_pieces(folder, *tables, **metadata):
    """Write Arrow tables as the parts of one table, each with its own metadata where there are
    lists of these."""
    folder.mkdir()
    for number, table in enumerate(tables):
        metadata_bytes = {
            key: texts[number] for key, texts in metadata.items() if texts[number] is not None
        }
        parquet.write_table(
            pa.table(table).replace_schema_metadata(metadata_bytes),
            folder / f"part-{number}.parquet",
        )
    return folder


def test_parts_in_several_units_of_time(tmp_path):
    """Each part is converted by the units that it states: 2 ms, 3000 us and 4e6 ns are 2, 3 and 4
    ms."""
    tables = [
        {"kernel": ["fft"], "benchmark": [name], "time": [time]}
        for name, time in (("a", 2.0), ("b", 3000.0), ("c", 4e6))
    ]
    folder = write_pieces(tmp_path / "runs", *tables, units=["ms", "us", "ns"])
    np.testing.assert_allclose(perfarray.read(folder)["time"].squeeze(), [0.002, 0.003, 0.004])


@pytest.mark.parametrize(("metadata", "message"), [
    ({"units": ["J", "kJ"], "metric": ["cost", "cost"]}, "state different units: 'J', 'kJ'"),
    ({"units": ["ms", "J"]}, "state different units: 'ms', 'J'"),
    ({"units": ["ms", None]}, "state different units: 'ms', None"),
    ({"better": ["lower", "higher"]}, "state different better: 'lower', 'higher'"),
    ({"metric": ["time", "cost"]}, "state different metric: 'time', 'cost'"),
])  # fmt: skip
def test_parts_that_contradict_each_other(tmp_path, metadata, message):
    """Values of other units or directions are never one column: the message names both parts."""
    table = {"benchmark": ["a"], "execution": [0], "time": [1.0], "cost": [2.0]}
    folder = write_pieces(tmp_path / "runs", table, table, **metadata)
    for read in (
        perfarray.read,
        lambda folder: perfarray.convert_table(folder, tmp_path / "out.zarr"),
    ):
        with pytest.raises(
            ValueError,
            match=rf"runs: its parts 'part-0.parquet' and 'part-1.parquet' {message}. They cannot be joined",
        ):
            read(folder)


@pytest.mark.parametrize(
    "damage", [lambda content: content[:99], lambda _: b"", lambda _: b"no table"]
)
def test_a_broken_part_is_left_out_and_named(tmp_path, damage):
    """The other parts are read where the caller asks for it; the count is of parts, and without
    that the table is refused."""
    folder = write_pieces(
        tmp_path / "runs",
        *({"benchmark": ["a"], "execution": [n], "time": [1.0 + n]} for n in range(3)),
    )
    piece = folder / "part-1.parquet"
    piece.write_bytes(damage(piece.read_bytes()))
    with pytest.raises(ValueError, match=r"part-1\.parquet: is"):
        perfarray.read_archive(folder)
    with pytest.warns(
        perfarray.PerfarrayWarning, match=r"of 3 files, 1 is broken and left out: .*part-1\.parquet"
    ) as caught:
        times = perfarray.read_archive(folder, on_error="warn")
    assert dict(caught[0].message.notes[0].values)["files"] == 1
    skipped = perfarray.read_archive(folder, on_error="skip")
    for result in (times, skipped):
        assert result["time"].values.ravel().tolist() == [1.0, 3.0]
        assert result.attrs["n_files_broken"] == 1
    for path in folder.iterdir():
        path.write_bytes(b"PAR1")
    with pytest.raises(ValueError, match="none of the 1 files"):
        perfarray.read_archive(folder, on_error="skip")


def test_parts_without_rows_are_counted(tmp_path):
    """A part without rows adds nothing, whatever types and units it has; a table that has only such
    parts is refused."""
    full = {"benchmark": ["a", "b"], "time_ms": [1.0, 2.0]}
    empty = {"benchmark": pa.array([], pa.null()), "time_ms": pa.array([], pa.string())}
    folder = write_pieces(tmp_path / "runs", empty, full, empty, units=["J", None, "kJ"])
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="2 of 3 parts have no rows: 'part-0.parquet', 'part-2.parquet'",
    ):
        times = perfarray.read(folder)
    assert times["time"].squeeze().values.tolist() == [0.001, 0.002]
    assert [(note.code, note.values["parts"]) for note in times.perf.notes()] == [
        ("empty_parts", 2)
    ]
    with pytest.raises(ValueError, match="has columns and no rows"):
        perfarray.read(write_pieces(tmp_path / "none", empty, empty))


def test_a_column_that_a_part_lacks_is_unknown_there(tmp_path):
    """Labels of the other parts keep their type: 1 does not become 1.0; what is text in one part is
    text in all."""
    rows = {"benchmark": ["a", "a"], "execution": [0, 1], "time_ms": [1.0, 2.0]}
    folder = write_pieces(tmp_path / "lacking", rows | {"machine": [1, 12]}, rows)
    check(perfarray.read(folder), machine=["1", "12", "unknown"])
    typed = write_pieces(
        tmp_path / "typed",
        rows | {"machine": [1, 12]},
        rows | {"machine": pa.array(["a7", "b"]).dictionary_encode()},
    )
    check(perfarray.read(typed), machine=["1", "12", "a7", "b"])
    mixed = write_pieces(
        tmp_path / "mixed",
        rows | {"started": pa.array([1, 2], pa.timestamp("s"))},
        rows | {"started": [1, 2]},
    )
    with pytest.raises(
        ValueError, match=r"mixed: its parts cannot be joined into one table: .*started"
    ):
        perfarray.read(mixed)


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()])
@pytest.mark.parametrize("name", ["machine", "size"])
def test_whole_numbers_keep_their_digits(tmp_path, kind, name):
    """Labels beyond 2^53 are not rounded where one is missing, in a Parquet or a CSV file:
    9007199254740993 is not 9007199254740992."""
    labels = [2**53, 2**53 + 1, None] * 2
    table = pa.table(
        {
            "benchmark": ["a"] * 6,
            name: pa.array(labels, kind),
            "execution": [0, 0, 0, 1, 1, 1],
            "time_ms": [1.0] * 6,
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    table.to_pandas(types_mapper={kind: pd.Int64Dtype()}.get).to_csv(
        tmp_path / "a.csv", index=False
    )
    for path in (tmp_path / "a.parquet", tmp_path / "a.csv"):
        check(perfarray.read(path), **{name: ["9007199254740992", "9007199254740993", "unknown"]})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_damaged_files(tmp_path, frame, suffix):
    """Cut off and with other bytes: a Dataset, or an error that names the file."""
    content, path, rng = (
        write(frame, tmp_path / f"a{suffix}").read_bytes(),
        tmp_path / f"b{suffix}",
        np.random.default_rng(1),
    )
    for length in rng.integers(8, len(content), 400 if MANY else 40).tolist():
        for damaged in (
            content[:length],
            content[:length] + bytes([content[length] ^ (1 << length % 8)]) + content[length + 1 :],
        ):
            path.write_bytes(damaged)
            try:
                read = perfarray.read(path)
            except ValueError as error:
                if path.name not in str(error):
                    raise
            else:
                assert len(damaged) == len(content)
                assert read.data_vars


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_what_is_converted_is_read_again(tmp_path, suffix):
    source = perfarray.dataset_path("python_malloc")
    output = tmp_path / f"out{suffix}"
    result = run("convert", source, output, "--layout", "{version}.json")
    assert result.exit_code == 0
    assert f"{suffix[1:].capitalize()}, 960 values of time" in result.stdout
    times, table = perfarray.read_archive(source, layout="{version}.json"), perfarray.read(output)
    np.testing.assert_array_equal(table["time"].transpose(*times["time"].dims), times["time"])
    assert table["time"].attrs == times["time"].attrs
    np.testing.assert_array_equal(table["warmup"].broadcast_like(times["warmup"]), times["warmup"])
    assert set(times.coords) <= set(table.coords)
    verdicts = [
        data.perf.compare("malloc", dim="version")["verdict"].values.tolist()
        for data in (times, table)
    ]
    assert verdicts[0] == verdicts[1]


def test_converted_metrics_keep_their_units(tmp_path):
    times = perfarray.simulate(
        sizes={"execution": 3}, variances={"execution": 1e-4}, dims={"benchmark": ["a", "b"]}, rng=1
    )
    times["memory"] = (times["time"] * 1e6).assign_attrs(units="B", better="lower")
    times["rate"] = (1 / times["time"]).assign_attrs(units="MB/s", better="higher")
    times = times.assign_coords(compiler="gcc").assign_attrs(metric="rate")
    write_store(times, tmp_path / "a.parquet")
    table = perfarray.read(tmp_path / "a.parquet")
    assert [
        (name, array.attrs["units"], array.attrs["better"]) for name, array in table.items()
    ] == [
        ("rate", "MB/s", "higher"),
        ("time", "s", "lower"),
        ("memory", "B", "lower"),
    ]
    assert (table.attrs["metric"], table["compiler_recorded"].item()) == ("rate", "gcc")
    assert table.sizes == {"benchmark": 2, "execution": 3}
