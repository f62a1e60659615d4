"""Go's benchmark text: processes, keys, units, and all that stands between the results."""

import json

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import check, reader, refusals

PROCESS = "goos: linux\ngoarch: amd64\npkg: example.org/a\ncpu: A CPU\n"


read = reader("bench.txt")


def test_lines_are_iterations_and_processes_executions(tmp_path):
    """`-count=2` repeats inside a process; a second run appended to the file is another; where none has ended, a header begins one."""
    one = PROCESS + "BenchmarkSort-8 100 10 ns/op\nBenchmarkSort-8 200 12 ns/op\nPASS\nok  \texample.org/a\t1.2s\n"
    found = read(tmp_path, one + one.replace("10 ns", "20 ns"))
    check(found, rtol=1e-15, time=[[[1e-8, 1.2e-8], [2e-8, 1.2e-8]]])
    check(found, loops=[[[100.0, 200.0], [100.0, 200.0]]], benchmark=["Sort"])
    check(found, goos="linux", goarch="amd64", pkg="example.org/a", cpu="A CPU", gomaxprocs=8)
    assert read(tmp_path, (PROCESS + "BenchmarkSort 1 10 ns/op\n") * 3).sizes["execution"] == 3


def test_every_unit_is_a_variable(tmp_path):
    """Times are in seconds, rates are better higher; a line may lack a unit; `Unit` lines say a direction."""
    found = read(
        tmp_path,
        "Unit hits better=higher\nUnit misses assume=exact\nBenchmarkSort-8 100 10 ns/op 45 MB/s 6 B/op 0 allocs/op\n"
        "BenchmarkSort-8 100 12 ns/op 7 hits 3 misses 5 build-real-ns/op\nbenchmarkreal_text 1 2 x\nBenchmarkreal_text 1 2 text-bytes\n",
    )
    assert {name: (found[name].attrs["units"], found[name].attrs["better"]) for name in found} == {
        "time": ("s", "lower"), "throughput": ("MB/s", "higher"),
        "bytes_per_op": ("B/op", "lower"), "allocs_per_op": ("allocs/op", "lower"),
        "hits": ("hits", "higher"), "misses": ("misses", "lower"), "build-real": ("s", "lower"), "text-bytes": ("text-bytes", "lower"),
    }  # fmt: skip
    check(found, throughput=[[[45.0, np.nan]], [[np.nan, np.nan]]])
    assert found["build-real"].isel(benchmark=0, iteration=1).item() == pytest.approx(5e-9, rel=1e-15)


def test_settings_in_names_and_keys(tmp_path):
    """Settings with several values are in the label; those that all lines share describe the file."""
    text = (
        "note: before\nBenchmarkSort/kind=int/size=10/100-4 1 10 ns/op\n\nnote: after\nBenchmarkSort/kind=int/size=10/100-4 1 5 ns/op\n"
        "BenchmarkSort/kind=int/size=20/100-8 1 5 ns/op\n"
    )
    found = read(tmp_path, "host: box\n" + text)
    labels = ["Sort/kind=int/size=10/100[note=before]", "Sort/kind=int/size=10/100[note=after]", "Sort/kind=int/size=20/100[note=after]"]
    check(found, benchmark=labels, size=[10, 10, 20], gomaxprocs=[4, 4, 8], host="box")
    assert found["note"].dims == ("benchmark",)


def test_names_with_and_without_settings(tmp_path):
    found = read(tmp_path, "BenchmarkSort/size=10-4 1 10 ns/op\nBenchmarkHash/small-4 1 5 ns/op\n")
    check(found, benchmark_name=["Sort", "Hash/small"])


def test_the_same_name_in_two_packages(tmp_path):
    found = read(tmp_path, "".join(f"pkg: {name}\nBenchmarkSort-4 1 5 ns/op\nPASS\n" for name in ("a", "b")))
    check(found, benchmark=["Sort[pkg=a]", "Sort[pkg=b]"])
    assert found.sizes["execution"] == 1


def test_what_is_no_result_is_passed_over(tmp_path):
    """Logs, crashes, names alone, tests."""
    noise = "BenchmarkSort\npanic: oh no\ngoroutine 1 [running]:\n\t/x/y.go:5 +0x1d\nBenchmark took 5 minutes to run\n--- FAIL: T\n"
    found = read(tmp_path, noise + "BenchmarkSort-8 \t 100 \t 10 ns/op\n" + noise)
    assert found["time"].size == 1


test_what_is_wrong_is_said = refusals(
    lambda folder, line: read(folder, f"BenchmarkSort-8 100 10 ns/op\n{line}\n"),
    "bench.txt",
    ("BenchmarkSort-8 100 -0.10 ns/op", "line 2: 'ns/op' is -0.1; expected a number above 0"),
    ("BenchmarkSort-8 100 10 ns/op 1_0 B/op", "line 2: 'B/op' is '1_0'; expected a number"),
    ("BenchmarkSort-8 100 10 ns/op 5", "line 2 has a value without a unit"),
    ("".join(f"key{i}: v\n" for i in range(200)) + "BenchmarkSort 1 1 ns/op", "line 102 sets the 101th key"),
)


def test_a_time_rounded_to_nothing_costs_no_other(tmp_path):
    """A time of 0 is NaN, counted and noted; other values of its line stay."""
    lines = "BenchmarkOnce-8 1000000000 0.00 ns/op 8 B/op\nBenchmarkSort-8 100 10 ns/op 5 B/op\nBenchmarkSort-8 1 7 B/op\n"
    with pytest.warns(perfarray.PerfarrayWarning, match="1 times are 0, too short to be seen: they are NaN"):
        found = read(tmp_path, lines).squeeze()
    check(found.sel(benchmark=["Once", "Sort"]), time=[[np.nan, np.nan], [10e-9, np.nan]], bytes_per_op=[[8, np.nan], [5, 7]])
    assert found.attrs["n_below_resolution"] == 1


def test_events_of_go_test_json(tmp_path):
    said = [("a", "pkg: a\n"), ("b", "pkg: b\n"), ("a", "BenchmarkSort/n=1-8 \t"), ("b", "BenchmarkSort/n=1-8 \t")]
    said += [("a", " 100\t 10 ns/op\n"), ("b", " 100\t 20 ns/op\n"), ("a", "PASS\n"), ("b", "PASS\n")]
    events = [{"Time": "2026", "Action": "start", "Package": "a"}]
    events += [{"Time": "2026", "Action": "output", "Package": package, "Output": text} for package, text in said]
    text = "\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    found = read(tmp_path, text)
    check(found, benchmark=["Sort/n=1[pkg=a]", "Sort/n=1[pkg=b]"])
    check(found.squeeze(), rtol=1e-7, time=[1e-8, 2e-8])
    found = read(tmp_path, text, dims={"size": "n", "package": "pkg"})
    check(found.sel(benchmark="Sort", size=1, package="b"), rtol=1e-6, time=2e-8)
    with pytest.raises(ValueError, match=r"line 10 is no event of go test -json"):
        read(tmp_path, text + "\nnonsense")
