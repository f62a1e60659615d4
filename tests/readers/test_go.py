"""Go's benchmark text: processes, keys, units, and all that stands between the results."""

import json

import pytest

from readers.files_of_our_own import NAN, check, reader, readings, refusals

PROCESS = "goos: linux\ngoarch: amd64\npkg: example.org/a\ncpu: A CPU\n"


read = reader("bench.txt")


ONE = PROCESS + "BenchmarkSort-8 100 10 ns/op\nBenchmarkSort-8 200 12 ns/op\nPASS\nok  \texample.org/a\t1.2s\n"
UNITS = (
    "Unit hits better=higher\nUnit misses assume=exact\nBenchmarkSort-8 100 10 ns/op 45 MB/s 6 B/op 0 allocs/op\n"
    "BenchmarkSort-8 100 12 ns/op 7 hits 3 misses 5 build-real-ns/op\nbenchmarkreal_text 1 2 x\nBenchmarkreal_text 1 2 text-bytes\n"
)
KEYS = (
    "host: box\nnote: before\nBenchmarkSort/kind=int/size=10/100-4 1 10 ns/op\n\n"
    "note: after\nBenchmarkSort/kind=int/size=10/100-4 1 5 ns/op\nBenchmarkSort/kind=int/size=20/100-8 1 5 ns/op\n"
)
NOISE = "BenchmarkSort\npanic: oh no\ngoroutine 1 [running]:\n\t/x/y.go:5 +0x1d\nBenchmark took 5 minutes to run\n--- FAIL: T\n"
ROUNDED = "BenchmarkOnce-8 1000000000 0.00 ns/op 8 B/op\nBenchmarkSort-8 100 10 ns/op 5 B/op\nBenchmarkSort-8 1 7 B/op\n"

test_what_is_read = readings(read, [
    ("lines are iterations, and processes executions: a second run appended to the file is another",
     ONE + ONE.replace("10 ns", "20 ns"),
     {"time": [[[1e-8, 1.2e-8], [2e-8, 1.2e-8]]], "loops": [[[100.0, 200.0], [100.0, 200.0]]], "benchmark": ["Sort"],
      "goos": "linux", "goarch": "amd64", "pkg": "example.org/a", "cpu": "A CPU", "gomaxprocs": 8, "rtol": 1e-15}),
    ("a header begins a process where nothing says that one has ended", (PROCESS + "BenchmarkSort 1 10 ns/op\n") * 3,
     {"time": [[[1e-8]] * 3], "rtol": 1e-15}),
    ("every unit is a variable, rates are better higher, `Unit` lines say a direction", UNITS,
     {"metrics": ["time", "throughput", "bytes_per_op", "allocs_per_op", "hits", "misses", "build-real", "text-bytes"],
      **{f"{name}.attrs": {"units": units, "better": better} for name, units, better in (
          ("time", "s", "lower"), ("throughput", "MB/s", "higher"), ("bytes_per_op", "B/op", "lower"), ("hits", "hits", "higher"),
          ("allocs_per_op", "allocs/op", "lower"), ("misses", "misses", "lower"), ("build-real", "s", "lower"),
          ("text-bytes", "text-bytes", "lower"))},
      "throughput": [[[45.0, NAN]], [[NAN, NAN]]], "build-real": [[[NAN, 5e-9]], [[NAN, NAN]]], "rtol": 1e-15}),
    ("settings with several values are in the label; those that all lines share describe the file", KEYS,
     {"benchmark": ["Sort/kind=int/size=10/100[note=before]", "Sort/kind=int/size=10/100[note=after]",
                    "Sort/kind=int/size=20/100[note=after]"],
      "size": [10, 10, 20], "gomaxprocs": [4, 4, 8], "note.dims": ("benchmark",), "host": "box"}),
    ("`benchmark_name` is the name without settings", "BenchmarkSort/size=10-4 1 10 ns/op\nBenchmarkHash/small-4 1 5 ns/op\n",
     {"benchmark_name": ["Sort", "Hash/small"]}),
    ("the package is in the label where it must be", "".join(f"pkg: {name}\nBenchmarkSort-4 1 5 ns/op\nPASS\n" for name in ("a", "b")),
     {"benchmark": ["Sort[pkg=a]", "Sort[pkg=b]"], "time": [[[5e-9]], [[5e-9]]], "rtol": 1e-15}),
    ("logs, crashes, names alone and tests are passed over", NOISE + "BenchmarkSort-8 \t 100 \t 10 ns/op\n" + NOISE,
     {"time": [[[1e-8]]], "rtol": 1e-15}),
    ("a time of 0 is NaN, counted and noted, and costs no other value", ROUNDED,
     {"benchmark": ["Once", "Sort"], "time": [[[NAN, NAN]], [[10e-9, NAN]]], "bytes_per_op": [[[8, NAN]], [[5, 7]]],
      "n_below_resolution": 1}, "1 times are 0, too short to be seen: they are NaN"),
])  # fmt: skip

test_what_is_wrong_is_said = refusals(lambda folder, line: read(folder, f"BenchmarkSort-8 100 10 ns/op\n{line}\n"), "bench.txt", [
    ("BenchmarkSort-8 100 -0.10 ns/op", "line 2: 'ns/op' is -0.1; expected a number above 0"),
    ("BenchmarkSort-8 100 10 ns/op 1_0 B/op", "line 2: 'B/op' is '1_0'; expected a number"),
    ("BenchmarkSort-8 100 10 ns/op 5", "line 2 has a value without a unit"),
    ("".join(f"key{i}: v\n" for i in range(200)) + "BenchmarkSort 1 1 ns/op", "line 102 sets the 101th key"),
])  # fmt: skip


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
