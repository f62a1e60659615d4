"""Vitest's and tinybench's JSON: samples in milliseconds, groups, means alone, errors."""

import pytest

import perfarray
from readers.files_of_our_own import check, reader, refusals


def result(name="sort", samples=(1.0, 2.0), **more):
    """Return one result as tinybench had it up to version 2."""
    return {"name": name, "rme": 1.5, "totalTime": 3.0, "period": 1.5, "hz": 666.0, "mean": 1.5, "samples": samples} | more


read = reader("file.json")


def vitest(**groups):
    """Return a file of Vitest 1."""
    return {"numTotalTestSuites": len(groups), "numTotalTests": len(groups), "testResults": groups}


def test_samples_are_iterations_in_milliseconds(tmp_path):
    times = read(tmp_path, vitest(arrays=[result()]))
    check(times, time=[[[0.001, 0.002]]], benchmark="sort", group="arrays")
    assert times.attrs["format"] == "vitest"
    times = read(tmp_path, vitest(arrays=[result()], lists=[result(samples=[3.0])]))
    check(times, benchmark=["sort[group=arrays]", "sort[group=lists]"])


@pytest.mark.parametrize("row", [
    result(),
    {"name": "sort", "runs": 2, "result": result()},
    {"name": "sort", "hz": 666.0, "samples": [1.0, 2.0]},
    {"name": "sort", "result": {"totalTime": 3.0, "period": 1.5, "latency": {"rme": 1.0, "samples": [1.0, 2.0]}}},
])  # fmt: skip
def test_results_of_tinybench(tmp_path, row):
    """A list of results, of tasks, and of results since version 3."""
    times = read(tmp_path, [row])
    check(times, time=[[[0.001, 0.002]]])
    assert "group" not in times.coords


@pytest.mark.parametrize("samples", [[], "ignore on terminal"])
def test_a_mean_alone_is_one_value(tmp_path, samples):
    """Vitest from 2 on writes no samples; the note says what to do."""
    group = {"fullName": "a.bench.ts > arrays", "benchmarks": [result(samples=samples, sampleCount=518, id="1_0")]}
    with pytest.warns(perfarray.PerfarrayWarning, match="no values but their mean.*; Vitest writes samples up to version 1"):
        times = read(tmp_path, {"files": [{"filepath": "a.bench.ts", "groups": [group]}]})
    check(times, time=0.0015, loops=518, group="a.bench.ts > arrays")


def test_an_error_is_a_failed_run(tmp_path):
    times = read(tmp_path, [result(), {"name": "broken", "result": {"error": {"message": "x"}}}])
    check(times.isel(iteration=0).squeeze(), failed=[False, True])


def test_a_time_of_nothing_is_below_the_clock(tmp_path):
    with pytest.warns(perfarray.PerfarrayWarning, match="1 times are 0"):
        assert int(read(tmp_path, [result(samples=[0.0, 1.0])])["time"].count()) == 1


test_what_is_wrong_is_said = refusals(
    read,
    "file.json",
    ([result(samples=[1.0, "x"])], "benchmark 'sort': 'samples': value 1 is 'x'; expected a number"),
    ([result(samples=[], mean=None)], "benchmark 'sort': 'mean': value 0 is None; expected a number"),
)
