"""A field of one benchmark may be anything: all others are read as before, or an error names the file and the place."""

import csv
import io
import json
import re
import warnings

import numpy as np
import pytest

import perfarray
from perfarray.readers.opening import FileError
from readers.files_of_our_own import write
from readers.test_broken_files import places, replaced
from readers.test_github_action_benchmark import bench, history, measurement
from readers.test_google_benchmark_csv import HEADER as GOOGLE
from readers.test_jmh_csv import row, table
from readers.test_llvm_lit import lit, result
from readers.test_lnt import first, second

ODD = [None, "x", float("nan"), -1, []]
"""What stands in the place of a field."""

BENCHES = [bench("a", 10.0, "ms", range="x"), bench("b", 2.5, "ms")]
LIT = lit(result("a", exec_time=1.5, compile_time=0.5, hash="x"), result("b", exec_time=2.5, compile_time=0.5))
SECOND = second({"name": "a", "execution_time": [1.5, 2.5], "compile_time": 3.5}, {"name": "b", "execution_time": [4.5, 5.5]})
DOCUMENTS = {
    "github.json": (BENCHES, (0,)),
    "history.json": (history(measurement("x" * 40, *BENCHES)), ("entries", "Rust", 0, "benches", 0)),
    "lit.json": (LIT, ("tests", 0)),
    "lnt.json": (SECOND, ("tests", 0)),
    "lnt_first.json": (
        first(**{".exec": [1.5]}) | {"Tests": [{"Name": f"nts.{name}.exec", "Data": [1.5, 2.5]} for name in "ab"]}, ("Tests", 0)
    ),
}  # fmt: skip
"""Documents of the benchmarks `a` and `b`, and where `a` stands."""

TABLES = {
    "jmh.csv": table(row("a"), row("b", "5.000000")),
    "google.csv": f'{GOOGLE}\n"a",5,1.5,1.5,ns,2,,,,\n"b",5,2.5,1.5,ns,2,,,,\n',
    "renaissance.csv": "benchmark,duration_ns,cycles,uptime_ns,vm_start_unix_ms\na,500000000,3,5,1\nb,600000000,4,6,1\n",
    "microbenchmark.csv": "expr,time\na,1000\nb,2000\n",
}
"""Tables of the benchmarks `a` and `b`, in the last two lines."""


def values_of_b(path):
    """Return the measured values of the benchmark `b`, by metric."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
        times = perfarray.read(path)
    labels = [label for label in times["benchmark"].values if re.match(r"b\b", label)]
    arrays = {name: times[name].sel(benchmark=labels).values for name in times}
    return {name: values[np.isfinite(values)].tolist() for name, values in arrays.items() if np.isfinite(values).any()}


def assert_b_is_read_or_the_place_named(path, content, expected):
    """Read a file in which a field of `a` is odd."""
    write(path, content)
    try:
        values = values_of_b(path)
    except FileError as error:
        message = str(error)
    else:
        assert values == expected
        return
    assert message.startswith(str(path))
    assert re.search(r"line \d|\[\d+\]|entry \d|no reader recognises", message), message


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_field_of_a_document(tmp_path, name):
    document, place = DOCUMENTS[name]
    entry = document
    for key in place:
        entry = entry[key]
    expected = values_of_b(write(tmp_path / name, document))
    assert expected
    for field in list(places(entry))[1:]:
        for odd in ODD:
            assert_b_is_read_or_the_place_named(tmp_path / name, json.dumps(replaced(document, (*place, *field), odd)), expected)


@pytest.mark.parametrize("name", TABLES)
def test_a_cell_of_a_table(tmp_path, name):
    expected = values_of_b(write(tmp_path / name, TABLES[name]))
    assert expected
    rows = list(csv.reader(io.StringIO(TABLES[name])))
    for column in range(len(rows[-2])):
        for odd in ("", "x", "NaN", "-1", "[]"):
            changed = [*rows[:-2], [*rows[-2][:column], odd, *rows[-2][column + 1 :]], rows[-1]]
            buffer = io.StringIO()
            csv.writer(buffer).writerows(changed)
            assert_b_is_read_or_the_place_named(tmp_path / name, buffer.getvalue(), expected)
