"""A folder of files of several formats: those that say themselves where they belong, and those that
their paths tell apart."""

import itertools
import json
import warnings
from importlib.util import find_spec
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

import perfarray
from perfarray.readers.recognising import formats
from readers.files_of_our_own import check, small_suite, write
from readers.test_broken_files import FILES
from readers.test_caliper import HEAD, RECORDS
from readers.test_conbench import result
from readers.test_mlperf import log

EVERY = FILES | {
    "conbench.json": json.dumps([result(2.0, 3.0), result(5.0, run="r2")]),
    "mlperf.txt": log(),
    "speedup.csv": "Name,Sample1,Sample2,ConfLevel,Coef\nfft,a.csv,b.csv,0.95,1\n",
}
EVERY |= {"caliper.cali": HEAD + RECORDS} if find_spec("caliperreader") else {}
if find_spec("pyarrow"):
    frame = pd.DataFrame({"benchmark": ["fft", "sort"], "time": [1.5, 2.5]})
    for suffix in ("parquet", "feather"):
        packed = BytesIO()
        getattr(frame, f"to_{suffix}")(packed)
        EVERY |= {f"table.{suffix}": packed.getvalue()}

BESIDE = {"speedup.csv": {"a.csv": "1.5\n2.5\n", "b.csv": "3.5\n4.5\n"}}
"""Files that a file names."""


def values(times):
    """Return every value of all metrics, in order."""
    return np.sort(
        np.concatenate(
            [variable.values[variable.notnull()] for variable in times.data_vars.values()]
        )
    )


def folder_of(folder, *names):
    """Write files, and what they name, into a folder."""
    for name in names:
        for file, content in ({name: EVERY[name]} | BESIDE.get(name, {})).items():
            write(folder / file, content)
    return folder


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Return the format and the values of each file, read by itself."""
    folder = folder_of(tmp_path_factory.mktemp("alone"), *EVERY)
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        readings = {name: perfarray.read(folder / name) for name in EVERY}
    return {name: (times.attrs["format"], values(times)) for name, times in readings.items()}


def test_every_format_has_a_file(alone):
    """Only `custom`, which has no form of its own, and formats whose library is missing have
    none."""
    files = {"caliper": "caliper.cali", "parquet": "table.parquet", "feather": "table.feather"}
    missing = {"custom", *(name for name, file in files.items() if file not in EVERY)}
    assert {format for format, _ in alone.values()} == set(formats()) - missing


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
@pytest.mark.parametrize("first", list(EVERY)[:-1])
def test_every_pair_of_files_reads_as_one_archive(tmp_path, alone, first):
    names = list(EVERY)
    for second in names[names.index(first) + 1 :]:
        times = perfarray.read_archive(folder_of(tmp_path / second, first, second))
        expected = np.sort(np.concatenate([alone[first][1], alone[second][1]]))
        np.testing.assert_allclose(values(times), expected, err_msg=second)


PLACED = ("asv.json", "criterion.json", "spec.csv", "conbench.json", "mlperf.txt")
"""Files that say themselves where they belong."""


# A benchmark of asv.json failed, and is named.
@pytest.mark.filterwarnings("ignore:.*failed runs:perfarray.PerfarrayWarning")
@pytest.mark.parametrize("layout", list(itertools.combinations(PLACED, 2)))
def test_files_that_say_where_they_belong_have_no_label_of_their_path(tmp_path, layout):
    """Their `file` is unknown beside files that have one; among themselves there is no dim
    `file`."""
    assert "file" not in perfarray.read_archive(folder_of(tmp_path / "placed", *layout)).dims
    mixed = perfarray.read_archive(folder_of(tmp_path / "mixed", *layout, "pyperf.json"))
    assert sorted(mixed["file"].values.tolist()) == ["pyperf.json", "unknown"]
    assert mixed.sel(file="pyperf.json")["time"].count() == 3


@pytest.mark.filterwarnings("ignore:.*failed runs:perfarray.PerfarrayWarning")
def test_files_that_share_a_cell_are_told_apart_by_their_paths(tmp_path):
    for number in (1, 2):
        content = json.loads(EVERY["asv.json"])
        content["results"]["time_c"] = float(number)
        write(tmp_path / f"run{number}" / "asv.json", content)
    times = perfarray.read_archive(folder_of(tmp_path, "pyperf.json"))
    check(times, file=["pyperf.json", "run1/asv.json", "run2/asv.json"])
    assert values(times.sel(file="run2/asv.json")).size == 5


@pytest.mark.parametrize(
    "reading", [perfarray.read, perfarray.read_archive, perfarray.archive_table]
)
def test_an_empty_path_is_not_the_current_folder(tmp_path, monkeypatch, reading):
    """An empty path is refused everywhere; '.' is the current folder."""
    write(tmp_path / "a.json", small_suite(1.0))
    monkeypatch.chdir(tmp_path)
    reading(".")
    for path in [""] if reading is perfarray.read else ["", [""], {"old": "a.json", "new": ""}]:
        with pytest.raises(
            ValueError,
            match=r"a path is empty, and '' is no file or folder; '\.' is the current folder",
        ):
            reading(path)
