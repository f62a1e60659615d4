"""Files in which every row has names of its own are refused, not read for minutes or into all
memory."""

import json

import pytest

import perfarray
from readers.files_of_our_own import write

ROWS = 1100

HOSTILE = {
    "google_benchmark.json": json.dumps(
        {
            "benchmarks": [
                {"name": "a", "run_type": "iteration", "real_time": 1, f"c{i}": 1}
                for i in range(ROWS)
            ]
        }
    ),
    "google_benchmark_arguments.json": json.dumps(
        {"benchmarks": [{"name": "a" + "/1" * ROWS, "real_time": 1}]}
    ),
    "google_benchmark_context.json": json.dumps(
        {
            "context": {f"k{i}": 1 for i in range(ROWS)},
            "benchmarks": [{"name": "a", "real_time": 1}],
        }
    ),
    "hyperfine.json": json.dumps(
        {
            "results": [
                {"command": "a", "times": [1], "parameters": {f"p{i}": "1"}} for i in range(ROWS)
            ]
        }
    ),
    "pytest_benchmark.json": json.dumps(
        {
            "benchmarks": [
                {"fullname": "a", "stats": {"data": [1], "rounds": 1}, "params": {f"p{i}": 1}}
                for i in range(ROWS)
            ]
        }
    ),
    "go_units.txt": "".join(f"BenchmarkA 1 1 u{i}\n" for i in range(ROWS)),
    "go_names.txt": "".join(f"BenchmarkA/k{i}=1 1 1 ns/op\n" for i in range(ROWS)),
    "rebench.data": "#!rebench\n"
    + "".join(f"1\t1\t1\tms\tc{i}\tb\te\ts\t\t\t\t\t\n" for i in range(ROWS)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_names_without_end_are_refused(tmp_path, name):
    """The message names the file and says how many there are."""
    with pytest.raises(ValueError, match=rf"{name}: has \d+ values or benchmarks, and 110\d names"):
        perfarray.read(write(tmp_path / name, HOSTILE[name]))


def test_one_repetition_many_times(tmp_path):
    """Equal names get different labels in linear time."""
    rows = [{"name": "a", "run_type": "iteration", "repetition_index": 0, "real_time": 1}] * 3000
    with pytest.warns(perfarray.PerfarrayWarning, match="occur more than once"):
        times = perfarray.read(write(tmp_path / "file.json", {"benchmarks": rows}))
    assert times["benchmark"].values[-1] == "a#3000"
