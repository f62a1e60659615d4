"""conbench: results of runs, their units and failures, comparisons, and what is around them in an answer of the API."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import check, reader, refusals

read = reader("a.json")


def result(*data, unit="s", run="r1", name="file-read", error=None, times=(), **tags):
    stats = None if error else {"data": list(data), "unit": unit, "times": list(times), "iterations": len(data), "mean": 1.0}
    return {"batch_id": "b", "run_id": run, "stats": stats, "error": error, "tags": {"id": "x", "name": name, **tags}, "timestamp": run}


def side(value, run, error=None):
    return {"benchmark_name": "w", "single_value_summary": value, "error": error, "run_id": run, "tags": {"name": "w", "n": 1}}


def test_results_of_runs(tmp_path):
    """Data are iterations, another result of the same case and run is another execution, tags are settings, runs a dim."""
    rows = [result(2.0, 3.0, kind="a"), result(4.0, None, kind="a"), result(5.0, kind="b"), result(7.0, kind="b", run="r2")]
    found = read(tmp_path, {"status_code": 200, "data": {"data": rows, "metadata": {}}})
    assert found["time"].dims == ("benchmark", "run", "execution", "iteration")
    check(found, benchmark=["file-read[kind=a]", "file-read[kind=b]"], date=["r1", "r2"])
    check(found.isel(benchmark=0).sel(run="r1"), time=[[2.0, 3.0], [4.0, np.nan]])
    check(found.isel(benchmark=1).sel(run="r2"), time=[[7.0, np.nan], [np.nan, np.nan]])
    check(read(tmp_path, rows[2]), time=5.0)


def test_units(tmp_path):
    """A time is in seconds; a rate is the throughput, better higher, and the times it took stand beside it."""
    found = read(tmp_path, [result(2e6, unit="ns"), result(8.0, unit="B/s", name="w", times=[0.5])])
    assert found["throughput"].attrs == {"units": "B/s", "better": "higher"}
    check(found.squeeze(), rtol=1e-6, time=[2e-3, 0.5])
    check(found.isel(benchmark=1), throughput=8.0, time=0.5)


def test_what_failed_is_marked(tmp_path):
    check(read(tmp_path, [result(1.0), result(error={"message": "no"}, name="w")]).squeeze(), failed=[False, True])


def test_a_comparison_has_one_number_a_side(tmp_path):
    rows = [
        {"unit": "i/s", "less_is_better": False, "baseline": side(3.0, "r1"), "contender": side(4.0, "r2", {"fatal": True})},
        {"unit": "i/s", "less_is_better": False, "baseline": None, "contender": side(5.0, "r3")},
    ]
    with pytest.warns(perfarray.PerfarrayWarning, match="2 benchmarks have no values but their mean"):
        found = read(tmp_path, {"data": rows})
    check(found.sel(run="r1"), throughput=3.0)
    assert found["throughput"].attrs == {"units": "items/s", "better": "higher"}
    check(found.sel(run="r2"), failed=True)


test_what_is_wrong_is_said = refusals(read, "a.json", ([result("?")], r"data\[0\]: 'data': value 0 is '\?'; expected a number above 0"))
