"""Renaissance's results: versions of the format, counters, what did not end."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import write

VM = {"name": "A VM", "version": "21", "args": []}
OS = {"name": "Linux", "available_processors": 8, "phys_mem_total": 2**34}


def test_results_are_iterations_of_one_execution(tmp_path):
    """A file is a JVM; counters stand beside the times, and what has no result failed."""
    results = [{"duration_ns": 2 * 10**9, "uptime_ns": 5, "cycles": 7}, {"duration_ns": 10**9, "uptime_ns": 9}]
    data = {"scrabble": {"results": results, "termination": "normal"}, "dotty": {"results": [], "termination": "failure"}}
    content = {"benchmarks": list(data), "format_version": 6, "data": data, "environment": {"vm": VM, "os": OS}}
    found = perfarray.read(write(tmp_path / "results.json", content))
    np.testing.assert_array_equal(found["time"].values, [[[2.0, 1.0]], [[np.nan, np.nan]]])
    assert found["failed"].any(("execution", "iteration")).values.tolist() == [False, True]
    assert found["termination"].values.tolist() == ["normal", "failure"]
    assert found["cycles"].values[0, 0, 0] == 7
    assert {name: found[name].item() for name in ("vm", "vm_version", "os", "logical_cores", "memory_gb")} == {
        "vm": "A VM", "vm_version": "21", "os": "Linux", "logical_cores": 8, "memory_gb": 16,
    }  # fmt: skip


def test_the_first_version(tmp_path):
    """`benchmarks` is a list of names there, and looks like a suite of another tool."""
    results = {"scrabble": [{"nanos": 2 * 10**9, "unixts.before": 1, "unixts.after": 2}]}
    content = {"results": results, "benchmarks": ["scrabble"], "environment": {}, "format_version": 1}
    found = perfarray.read(write(tmp_path / "results.json", content))
    assert found.attrs["format"] == "renaissance"
    assert found["time"].item() == 2.0


def test_what_is_wrong_is_said(tmp_path):
    content = {"benchmarks": ["a"], "format_version": 6, "data": {"a": {"results": [{"duration_ns": 0}]}}}
    with pytest.raises(ValueError, match=r"results\.json: 'a': 'duration_ns': value 0 is 0; expected a number above 0"):
        perfarray.read(write(tmp_path / "results.json", content))
