"""Tables streamed into stores: equal to those that are read at once, whatever the blocks; what cannot be streamed is named."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from perfarray.readers import row_blocks, streaming
from perfarray.readers.opening import FileError
from perfarray.tables.stores.writing import write

pytest.importorskip("pyarrow")
pytest.importorskip("zarr")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK", 1 << 10)
    monkeypatch.setattr(row_blocks, "ROWS", 17)
    monkeypatch.setattr(streaming, "PENDING", 8)


@pytest.fixture
def table():
    names = ["benchmark", "machine", "execution", "iteration"]
    levels = [["fft", "007", "so,rt"], ["a", "b"], range(1, 4), range(5)]
    frame = pd.MultiIndex.from_product(levels, names=names).to_frame(index=False)
    described = {"cpu": frame["machine"].map({"a": "x86, 64", "b": "arm"}), "memory_gb": frame["machine"].map({"a": 16, "b": 8})}
    return frame.assign(**described, time_ms=np.random.default_rng(1).uniform(1, 2, len(frame)).round(6))


def written(frame, file):
    """Write a table as the suffix says."""
    frame.to_csv(file, index=False) if file.suffix == ".csv" else getattr(frame, f"to_{file.suffix[1:]}")(file)
    return file


def loaded(store):
    return xr.load_dataset(store, engine="zarr")


def check_same(place, folder):
    """Check that the streamed store is that of the table read at once."""
    perfarray.convert_table(place, folder / "streamed.zarr")
    write(perfarray.read_archive(place), folder / "whole.zarr")
    xr.testing.assert_identical(loaded(folder / "streamed.zarr"), loaded(folder / "whole.zarr"))
    return loaded(folder / "streamed.zarr")


TABLES = {
    "whole": lambda table: table,
    "shuffled": lambda table: table.sample(frac=1, random_state=2).reset_index(drop=True),
    "ragged": lambda table: table.sample(frac=0.6, random_state=3).reset_index(drop=True),
    "executions": lambda table: (
        table.drop(columns="iteration").drop_duplicates(["benchmark", "machine", "execution"]).reset_index(drop=True)
    ),
    "iterations": lambda table: table[table["execution"] == 1].drop(columns="execution").reset_index(drop=True),
    "single": lambda table: table[(table["execution"] == 1) & (table["iteration"] == 0)][["benchmark", "machine", "time_ms"]].reset_index(
        drop=True
    ),
    "missing": lambda table: table.assign(time_ms=table["time_ms"].where(table.index % 7 > 0)),
    "host by execution": lambda table: table.assign(host=table["execution"].map({1: "u", 2: "v", 3: "w"})),
    "two metrics": lambda table: table.assign(energy=table["time_ms"] * 3 + 1),
    "two metrics, the main one last": lambda table: table.assign(energy=table["time_ms"] * 3 + 1)[["energy", *table.columns]],
    "flags": lambda table: pd.concat([table.assign(flags="-O2"), table.assign(flags="-O3")], ignore_index=True),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("kind", TABLES)
def test_store_is_that_of_the_table_read_at_once(table, tmp_path, kind, suffix):
    check_same(written(TABLES[kind](table), tmp_path / f"table.{suffix}"), tmp_path)


def test_comments_and_separators(table, tmp_path):
    file = tmp_path / "table.csv"
    lines = table.rename(columns={"time_ms": "cost"}).to_csv(index=False, sep=";").splitlines()
    file.write_text("\n".join(["# metric: cost", "# units: J", *lines]) + "\n", encoding="utf-8")
    assert check_same(file, tmp_path)["cost"].attrs["units"] == "J"


def test_packed_file(table, tmp_path):
    table.to_csv(tmp_path / "table.csv.gz", index=False)
    check_same(tmp_path / "table.csv.gz", tmp_path)


def test_what_convert_wrote(table, tmp_path):
    """Its metadata name the values and the dims."""
    times = table.assign(score=table["time_ms"] / 7).perf.to_timings(
        value={"score": "score", "time": "time_ms"}, units={"time": "ms", "score": "1"}
    )
    write(times, tmp_path / "written.parquet")
    assert set(check_same(tmp_path / "written.parquet", tmp_path).data_vars) == {"score", "time"}


def test_partitioned_folder(table, tmp_path):
    folder = tmp_path / "results"
    for (machine, half), part in table.assign(half=table.index % 2).groupby(["machine", "half"]):
        (folder / f"machine={machine}").mkdir(parents=True, exist_ok=True)
        written(part.drop(columns=["machine", "half"]).reset_index(drop=True), folder / f"machine={machine}" / f"part-{half}.parquet")
    (folder / "_SUCCESS").touch()
    streamed = check_same(folder, tmp_path)
    assert streamed["machine"].values.tolist() == ["a", "b"]


@pytest.mark.parametrize(("change", "message"), [
    (lambda table: table.assign(failed=False), "column 'failed' cannot be streamed"),
    (lambda table: table.assign(unit="ms"), "column 'unit' cannot be streamed"),
    (lambda table: pd.concat([table, table.iloc[[3]]]), "row 91 under the header repeats a measurement"),
    (
        lambda table: table.assign(time_ms=table["time_ms"].where(table.index != 40, -1.0)),
        "column 'time_ms', row 41 under the header, is -1",
    ),
    (lambda table: table.assign(threads=table["iteration"] % 2), "column 'threads' holds numbers that neither"),
], ids=["mark", "unit", "repeated", "negative", "number"])  # fmt: skip
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_refusals(table, tmp_path, change, message, suffix):
    file = written(change(table), tmp_path / f"table.{suffix}")
    with pytest.raises(FileError, match=message):
        perfarray.convert_table(file, tmp_path / "out.zarr")
    assert not (tmp_path / "out.zarr").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [file.name]


def test_rows_of_other_lengths_and_texts_among_numbers(table, tmp_path):
    file = written(table, tmp_path / "table.csv")
    file.write_text(file.read_text().replace("fft,a,1,0", "fft,a,1", 1))
    with pytest.raises(FileError, match=r"table\.csv: is not a table"):
        perfarray.convert_table(file, tmp_path / "out.zarr")


def test_a_column_that_differs_row_by_row(table, tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "MOST", 30)
    file = written(table.assign(stamp=[f"t{number}" for number in range(len(table))]), tmp_path / "table.csv")
    with pytest.raises(FileError, match="30 combinations of labels, most of them in column 'stamp'"):
        perfarray.convert_table(file, tmp_path / "out.zarr")


def test_more_combinations_of_codes_than_a_table_holds(table, tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "DENSE", 1)
    check_same(written(table.sample(frac=0.6, random_state=3), tmp_path / "table.csv"), tmp_path)


def test_what_is_no_table(table, tmp_path):
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(FileError, match="is no table that can be streamed"):
        perfarray.convert_table(tmp_path / "other.json", tmp_path / "out.zarr")
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        perfarray.convert_table(tmp_path / "missing.csv", tmp_path / "out.zarr")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no files found"):
        perfarray.convert_table(tmp_path / "empty", tmp_path / "out.zarr")
    with pytest.raises(ValueError, match=r"ends in \.zarr"):
        perfarray.convert_table(written(table, tmp_path / "table.csv"), tmp_path / "out.nc")
