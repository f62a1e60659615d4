"""Renaissance's results: versions of the format, counters, what did not end."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import check, write


def test_results_are_iterations_of_one_execution(tmp_path):
    """A file is a JVM; counters stand beside the times, and what has no result failed."""
    results = [{"duration_ns": 2 * 10**9, "uptime_ns": 5, "cycles": 7}, {"duration_ns": 10**9, "uptime_ns": 9}]
    data = {"scrabble": {"results": results, "termination": "normal"}, "dotty": {"results": [], "termination": "failure"}}
    host = {"vm": {"name": "A VM", "version": "21"}, "os": {"name": "Linux", "available_processors": 8, "phys_mem_total": 2**34}}
    content = {"benchmarks": list(data), "format_version": 6, "data": data, "environment": host}
    found = perfarray.read(write(tmp_path / "results.json", content))
    check(found, time=[[[2.0, 1.0]], [[np.nan, np.nan]]], termination=["normal", "failure"])
    check(found, vm="A VM", vm_version="21", os="Linux", logical_cores=8, memory_gb=16)
    assert found["failed"].any(("execution", "iteration")).values.tolist() == [False, True]
    assert found["cycles"].values[0, 0, 0] == 7


def test_the_first_version(tmp_path):
    """`benchmarks` is a list of names there, and looks like a suite of another tool."""
    results = {"scrabble": [{"nanos": 2 * 10**9, "unixts.before": 1, "unixts.after": 2}]}
    content = {"results": results, "benchmarks": ["scrabble"], "environment": {}, "format_version": 1}
    found = perfarray.read(write(tmp_path / "results.json", content))
    assert (found.attrs["format"], found["time"].item()) == ("renaissance", 2.0)


def test_what_is_wrong_is_said(tmp_path):
    content = {"benchmarks": ["a"], "format_version": 6, "data": {"a": {"results": [{"duration_ns": 0}]}}}
    with pytest.raises(ValueError, match=r"results\.json: 'a': 'duration_ns': value 0 is 0; expected a number above 0"):
        perfarray.read(write(tmp_path / "results.json", content))
