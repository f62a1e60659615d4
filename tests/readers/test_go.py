"""Go's benchmark text: processes, keys, units, and all that stands between the results."""

import json

import pytest

import perfarray
from perfarray.readers import go
from perfarray.readers.opening import Source
from readers.files_of_our_own import NAN, check, reader, readings, refusals, write

PROCESS = "goos: linux\ngoarch: amd64\npkg: example.org/a\ncpu: A CPU\n"


read = reader("bench.txt")


ONE = PROCESS + (
    "BenchmarkSort-8 100 10 ns/op\nBenchmarkSort-8 200 12 ns/op\nPASS\nok  \texample.org/a\t1.2s\n"
)
UNITS = (
    "Unit hits better=higher\nUnit misses assume=exact\nBenchmarkSort-8 100 10 ns/op 45 MB/s 6 "
    "B/op 0 allocs/op\n"
    "BenchmarkSort-8 100 12 ns/op 7 hits 3 misses 5 build-real-ns/op\nbenchmarkreal_text 1 2 "
    "x\nBenchmarkreal_text 1 2 text-bytes\n"
)
KEYS = (
    "host: box\nnote: before\nBenchmarkSort/kind=int/size=10/100-4 1 10 ns/op\n\n"
    "note: after\nBenchmarkSort/kind=int/size=10/100-4 1 5 "
    "ns/op\nBenchmarkSort/kind=int/size=20/100-4 1 5 ns/op\n"
)
NOISE = (
    "BenchmarkSort\npanic: oh no\ngoroutine 1 [running]:\n\t/x/y.go:5 +0x1d\nBenchmark took 5 "
    "minutes to run\n--- FAIL: T\n"
)

test_what_is_read = readings(
    read,
    [
        (
            (
                "lines are iterations, and processes executions: a second run appended to the "
                "file is another"
            ),
            ONE + ONE.replace("10 ns", "20 ns"),
            {
                "time": [[[1e-8, 1.2e-8], [2e-8, 1.2e-8]]],
                "loops": [[[100.0, 200.0], [100.0, 200.0]]],
                "benchmark": ["Sort"],
                "goos": "linux",
                "goarch": "amd64",
                "pkg": "example.org/a",
                "cpu": "A CPU",
                "gomaxprocs": 8,
                "rtol": 1e-15,
            },
        ),
        (
            "a header begins a process where nothing says that one has ended",
            (PROCESS + "BenchmarkSort 1 10 ns/op\n") * 3,
            {"time": [[[1e-8]] * 3], "rtol": 1e-15},
        ),
        (
            "every unit is a variable, rates are better higher, `Unit` lines say a direction, or that it is exact",
            UNITS,
            {
                "metrics": [
                    "time",
                    "throughput",
                    "bytes_per_op",
                    "allocs_per_op",
                    "hits",
                    "misses",
                    "build-real",
                    "text-bytes",
                ],
                **{
                    f"{name}.attrs": {"units": units, "better": better}
                    | ({"exact": 1} if name == "misses" else {})
                    for name, units, better in (
                        ("time", "s", "lower"),
                        ("throughput", "MB/s", "higher"),
                        ("bytes_per_op", "B/op", "lower"),
                        ("hits", "hits", "higher"),
                        ("allocs_per_op", "allocs/op", "lower"),
                        ("misses", "misses", "lower"),
                        ("build-real", "s", "lower"),
                        ("text-bytes", "text-bytes", "lower"),
                    )
                },
                "throughput": [[[45.0, NAN]], [[NAN, NAN]]],
                "build-real": [[[NAN, 5e-9]], [[NAN, NAN]]],
                "rtol": 1e-15,
            },
        ),
        (
            (
                "settings with several values are in the label; those that all lines share "
                "describe the file"
            ),
            KEYS,
            {
                "benchmark": [
                    "Sort/kind=int/size=10/100[note=before]",
                    "Sort/kind=int/size=10/100[note=after]",
                    "Sort/kind=int/size=20/100[note=after]",
                ],
                "size": [10, 10, 20],
                "gomaxprocs": [4, 4, 4],
                "note.dims": ("benchmark",),
                "host": "box",
            },
        ),
        (
            "`benchmark_name` is the name without settings",
            "BenchmarkSort/size=10-4 1 10 ns/op\nBenchmarkHash/small-4 1 5 ns/op\n",
            {"benchmark_name": ["Sort", "Hash/small"]},
        ),
        (
            "the package is in the label where it must be",
            "".join(f"pkg: {name}\nBenchmarkSort-4 1 5 ns/op\nPASS\n" for name in ("a", "b")),
            {
                "benchmark": ["Sort[pkg=a]", "Sort[pkg=b]"],
                "time": [[[5e-9]], [[5e-9]]],
                "rtol": 1e-15,
            },
        ),
        (
            "logs, crashes, names alone and tests are passed over",
            NOISE + "BenchmarkSort-8 \t 100 \t 10 ns/op\n" + NOISE,
            {"time": [[[1e-8]]], "rtol": 1e-15},
        ),
    ],
)

test_what_is_wrong_is_said = refusals(
    lambda folder, line: read(folder, f"BenchmarkSort-8 100 10 ns/op\n{line}\n"),
    "bench.txt",
    [
        ("BenchmarkSort-8 100 -0.10 ns/op", "line 2: 'ns/op' is '-0.10'; expected a number from 0"),
        ("BenchmarkSort-8 100 10 ns/op 1_0 B/op", "line 2: 'B/op' is '1_0'; expected a number"),
        ("BenchmarkSort-8 100 10 ns/op 5", "line 2 has a value without a unit"),
        (
            "".join(f"key{i}: v\n" for i in range(200)) + "BenchmarkSort 1 1 ns/op",
            "line 102 sets the 101th key",
        ),
    ],
)


def test_events_of_go_test_json(tmp_path):
    printed = [
        ("a", "pkg: a\n"),
        ("b", "pkg: b\n"),
        ("a", "BenchmarkSort/n=1-8 \t"),
        ("b", "BenchmarkSort/n=1-8 \t"),
    ]
    printed += [
        ("a", " 100\t 10 ns/op\n"),
        ("b", " 100\t 20 ns/op\n"),
        ("a", "PASS\n"),
        ("b", "PASS\n"),
    ]
    events = [{"Time": "2026", "Action": "start", "Package": "a"}]
    events += [
        {"Time": "2026", "Action": "output", "Package": package, "Output": text}
        for package, text in printed
    ]
    text = "\n".join(json.dumps(event, separators=(",", ":")) for event in events)
    times = read(tmp_path, text)
    check(times, benchmark=["Sort/n=1[pkg=a]", "Sort/n=1[pkg=b]"])
    check(times.squeeze(), rtol=1e-7, time=[1e-8, 2e-8])
    times = read(tmp_path, text, dims={"size": "n", "package": "pkg"})
    check(times.sel(benchmark="Sort", size=1, package="b"), rtol=1e-6, time=2e-8)
    with pytest.raises(ValueError, match=r"line 10 is no event of go test -json"):
        read(tmp_path, text + "\nnonsense")


def results(*names):
    """Return a process with one result of each name."""
    return "".join(f"Benchmark{name} \t 100\t 10 ns/op\n" for name in names) + "PASS\n"


test_what_a_number_behind_a_name_is = readings(
    read,
    [
        (
            "numbers that differ inside a run are of the names, which ran with one thread",
            results("Read/block-16", "Read/block-64", "Hash/k-2"),
            {"benchmark": ["Read/block-16", "Read/block-64", "Hash/k-2"], "gomaxprocs": [1, 1, 1]},
        ),
        (
            "a number behind all names is that of threads",
            results("Read/block-16-6", "Read/block-64-6", "Sort-6"),
            {"benchmark": ["Read/block-16", "Read/block-64", "Sort"], "gomaxprocs": [6, 6, 6]},
        ),
        (
            "a function without a number says that there is one thread",
            results("Sort", "Read/block-16"),
            {"benchmark": ["Sort", "Read/block-16"], "gomaxprocs": [1, 1]},
        ),
        (
            "another package of the run says so, too",
            "pkg: a\n" + results("Sort") + "pkg: b\n" + results("Read/block-16"),
            {"benchmark": ["Sort", "Read/block-16"], "gomaxprocs": [1, 1]},
        ),
        (
            "with `-cpu 1,2` every name occurs alone and with a 2",
            results("Read/k-8", "Read/k-8-2", "Read/k-9", "Read/k-9-2"),
            {
                "benchmark": [f"Read/k-{k}[gomaxprocs={n}]" for k in (8, 9) for n in (1, 2)],
                "gomaxprocs": [1, 2, 1, 2],
            },
        ),
        (
            "functions have no dash: with `-cpu 2,4` numbers are those of threads",
            results("Sort-2", "Sort-4", "Read/k-2", "Read/k-4"),
            {
                "benchmark": [
                    f"{name}[gomaxprocs={n}]" for name in ("Sort", "Read/k") for n in (2, 4)
                ],
                "gomaxprocs": [2, 4, 2, 4],
            },
        ),
        (
            "runs of one file may differ in threads",
            results("Read/k-8", "Read/k-9") + results("Read/k-8-4", "Read/k-9-4"),
            {
                "benchmark": [f"Read/k-{k}[gomaxprocs={n}]" for n in (1, 4) for k in (8, 9)],
                "gomaxprocs": [1, 1, 4, 4],
            },
        ),
        (
            "Go writes no number of 0 or 1 threads",
            results("Read/shard-0", "Read/rank-1"),
            {"benchmark": ["Read/shard-0", "Read/rank-1"], "gomaxprocs": [1, 1]},
        ),
    ],
)


def test_a_name_has_one_label_for_any_number_of_threads(tmp_path):
    """A run with one thread and one with eight are of the same benchmarks."""
    for version, suffix in (("old", ""), ("new", "-8")):
        write(
            tmp_path / f"{version}.txt", results(f"Read/block-16{suffix}", f"Read/block-64{suffix}")
        )
    times = perfarray.read_archive(tmp_path, layout="{version}.txt")
    check(times, benchmark=["Read/block-16", "Read/block-64"])
    assert times["time"].notnull().all()
    assert times["gomaxprocs"].sel(version=["old", "new"]).values.ravel().tolist() in (
        [1, 8],
        [1, 1, 8, 8],
        [1, 8, 1, 8],
    )


NEXT = "BenchmarkSort-4 \t 300\t 7.00 ns/op\n"
NUMBERS = "     100\t  10.0 ns/op"
BOTH = {"time": [[[10e-9, 7e-9]]], "rtol": 1e-15}
LAST = {"time": [[[7e-9]]], "rtol": 1e-15}
FAILS = (
    f"BenchmarkSort-4 \t{NUMBERS}\nBenchmarkBad-4 \t--- FAIL: BenchmarkBad-4\n    x.go:5: oh no\n"
)

test_logs_inside_results = readings(
    lambda folder, text: read(folder, text + NEXT),
    [
        (
            "numbers follow on the next line",
            f"BenchmarkSort-4    \t12:00 connecting\n{NUMBERS}\t 5 B/op\n",
            {**BOTH, "loops": [[[100.0, 300.0]]], "bytes_per_op": [[[5.0, NAN]]]},
        ),
        (
            "several lines of a log",
            f"BenchmarkSort-4 \tGET / 200\n\nGET /x 404 5 ms\n{NUMBERS}\n",
            BOTH,
        ),
        (
            "a log that begins as a name does",
            f"[log] on\nBenchmarkSort-4 \tx\nBenchmarking with 4 threads\n{NUMBERS}\n",
            BOTH,
        ),
        ("a log without a line's end", f"BenchmarkSort-4 \t.....{NUMBERS}\n", BOTH),
        (
            "a name on a line of its own, as with -v",
            f"BenchmarkSort\nstarting\nBenchmarkSort-4 \t{NUMBERS}\n",
            BOTH,
        ),
        (
            "a benchmark that failed is named, and ends no process",
            FAILS,
            {**BOTH, "notes": ["no_result"]},
            "1 benchmarks did not finish: 'Bad-4 failed'",
        ),
        (
            "so are a part of a benchmark, and one that was skipped",
            "--- FAIL: BenchmarkBad\n    --- FAIL: BenchmarkBad/k-4\n--- SKIP: BenchmarkLate\n",
            LAST,
            "3 benchmarks did not finish: 'Bad failed', 'Bad/k-4 failed', 'Late was skipped'",
        ),
        (
            "a result that was cut is named",
            "BenchmarkCut-4 \tconnecting\npanic: oh no\nPASS\n",
            LAST,
            "1 benchmarks did not finish: 'Cut-4 has no numbers'",
        ),
        (
            "numbers behind another name, or behind none, are no result",
            f"{NUMBERS}\nBenchmarkCut-4 \tx\nBenchmarkOther-4 \t 1\t 7.00 ns/op\n{NUMBERS}\n",
            {"benchmark": ["Other", "Sort"], "time": [[[7e-9]], [[7e-9]]], "rtol": 1e-15},
            "'Cut-4 has no numbers'",
        ),
    ],
)


def test_a_file_of_one_result_that_a_log_cuts(tmp_path):
    check(
        read(tmp_path, "goos: linux\nBenchmarkSort-4 \tconnecting\n  100\t 10.0 ns/op\nPASS\n"),
        rtol=1e-15,
        time=1e-8,
    )


test_values_that_are_no_numbers = readings(
    lambda folder, line: read(folder, f"BenchmarkA-4 1 5.00 ns/op\n{line}\n"),
    [
        (
            "an infinite metric is missing, counted and named; the time beside it is read",
            "BenchmarkB-4 1 7.00 ns/op +Inf hits/s",
            {"time": [[[5e-9]], [[7e-9]]], "hits_s": [[[NAN]], [[NAN]]], "rtol": 1e-15},
            r"1 value is missing: \"BenchmarkB-4: line 2: 'hits/s' is \+Inf\"",
        ),
        (
            "so is NaN",
            "BenchmarkB-4 1 7.00 ns/op NaN hits/s 3 B/op",
            {"bytes_per_op": [[[NAN]], [[3.0]]]},
            "BenchmarkB-4: line 2: 'hits/s' is NaN",
        ),
        (
            "and a time",
            "BenchmarkB-4 1 NaN ns/op 3 B/op",
            {"time": [[[5e-9]], [[NAN]]], "bytes_per_op": [[[NAN]], [[3.0]]], "rtol": 1e-15},
            "BenchmarkB-4: line 2: 'ns/op' is NaN",
        ),
        (
            "all are counted",
            "BenchmarkB-4 1 7.00 ns/op -Inf x NaN y",
            {"notes": ["no_numbers"]},
            "2 values are missing",
        ),
    ],
)


def test_a_time_of_0_is_a_value(tmp_path):
    """Before 1.15 Go wrote two digits after the point: a short time is 0, and costs no other
    value."""
    text = "BenchmarkOnce-8 1000000000 0.00 ns/op 8 B/op\nBenchmarkSort-8 100 10 ns/op 5 B/op\n"
    table = go.read(Source(write(tmp_path / "bench.txt", text)))
    assert table.metrics["time"].values.tolist() == [0.0, 1e-8]
    assert table.metrics["bytes_per_op"].values.tolist() == [8.0, 5.0]


def test_units_that_are_assumed_to_be_exact(tmp_path):
    """One run a side has a verdict, as of benchstat; several settings stand on one line."""
    head = "Unit misses better=lower assume=exact\nUnit ns/op assume=nothing\n"
    sides = {
        label: write(tmp_path / f"{label}.txt", f"{head}BenchmarkA 1 10 ns/op {count} misses\n")
        for label, count in (("old", 1000), ("new", 1001))
    }
    times = perfarray.read_archive(sides, dim="version")
    assert "exact" not in times["time"].attrs
    result = times.perf.compare("old", metric="misses")
    assert result["verdict"].values.ravel().tolist() == ["slower"]
