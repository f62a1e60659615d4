"""github-action-benchmark: the history of a repository by commit, and the JSON of the custom
tools."""

import json

import pytest

import perfarray
from readers.files_of_our_own import NAN, check, reader, readings, refusals, write

read = reader("data.js")


def bench(name="fib", value=10.0, unit="ns/iter", **fields):
    return {"name": name, "value": value, "unit": unit} | fields


def measurement(commit, *benches, day=1, tool="cargo", **fields):
    """Return one measurement of a commit that was made on a day of January."""
    commit_fields = {
        "id": commit,
        "message": "m",
        "timestamp": f"2024-01-{day:02}T10:00:00+01:00",
        "url": "u",
    } | fields
    return {
        "commit": commit_fields,
        "date": 1_700_000_000_000 + day,
        "tool": tool,
        "benches": list(benches),
    }


def history(*measurements, **suites):
    """Return what the action keeps, of one suite `Rust` or of several."""
    return {
        "lastUpdate": 1,
        "repoUrl": "https://example.org/x",
        "entries": suites or {"Rust": list(measurements)},
    }


def script(content):
    return f"window.BENCHMARK_DATA = {json.dumps(content, indent=2)}"


OLD, NEW = "a" * 40, "b" * 40
TWO = history(measurement(NEW, bench(value=12.0), day=2), measurement(OLD, bench(value=10.0)))
TIMES = {
    "time": [[[[1e-8]], [[1.2e-8]]]],
    "commit": [OLD[:8], NEW[:8]],
    "commit_hash": [OLD, NEW],
    "rtol": 1e-12,
    "suite": ["Rust"],
    "commit_date": ["2024-01-01T09:00:00+00:00", "2024-01-02T09:00:00+00:00"],
    "time.dims": ("benchmark", "commit", "execution", "iteration"),
}
PYTEST = measurement(OLD, bench(value=900.0, unit="iter/sec", range="stddev: 0.1"), tool="pytest")
GO = measurement(
    OLD,
    *(bench("F", value, "ns/op\t 3 B/op") for value in (10, 12)),
    bench("F - allocs/op", 3, "allocs/op"),
    tool="go",
)

test_the_history = readings(
    read,
    [
        ("commits lie in the order of their dates", script(TWO), TIMES),
        ("a semicolon may end the script", script(TWO) + ";\n", TIMES),
        ("`external-data-json-path` keeps the same as JSON", TWO, TIMES),
        (
            "a rate is better higher",
            script(history(PYTEST)),
            {
                "throughput": 900.0,
                "throughput.units": "ops/s",
                "throughput.better": "higher",
                "commit": OLD[:8],
                "range": "stddev: 0.1",
            },
        ),
        (
            "a second measurement of a commit is an execution",
            script(history(measurement(OLD, bench()), measurement(OLD, bench(value=11.0)))),
            {"time": [[[[1e-8], [1.1e-8]]]], "rtol": 1e-12},
        ),
        (
            "Go writes repetitions under one name, and the tool knows what is better",
            script(history(GO)),
            {
                "benchmark": ["F", "F - allocs/op"],
                "time": [[[[1e-8, 1.2e-8]]], [[[NAN, NAN]]]],
                "allocs_op": [[[[NAN, NAN]]], [[[3, NAN]]]],
                "allocs_op.better": "lower",
                "rtol": 1e-12,
            },
        ),
        (
            "one name in two suites has two labels",
            script(history(A=[measurement(OLD, bench())], B=[measurement(OLD, bench(value=11.0))])),
            {"benchmark": ["fib[suite=A]", "fib[suite=B]"], "suite": ["A", "B"]},
        ),
        (
            "users of the custom tools state the direction",
            script(history(measurement(OLD, bench(unit="points"), tool="customBiggerIsBetter"))),
            {"points": 10.0, "points.better": "higher"},
        ),
        (
            "that of a time, too",
            script(history(measurement(OLD, bench(unit="ms"), tool="customBiggerIsBetter"))),
            {"ms": 10.0, "ms.better": "higher", "ms.units": "ms", "absent": ["time"]},
        ),
        (
            "a commit without a date has that of its measurement",
            script(history(measurement(OLD, bench(), timestamp=None))),
            {"commit_date": ["2023-11-14T22:13:20.001000+00:00"]},
        ),
        (
            "a value that is no number is named, and the rest is read",
            script(history(measurement(OLD, bench(value=None), bench("b")))),
            {"benchmark": ["fib", "b"], "time": [[[[NAN]]], [[[1e-8]]]]},
            "1 value is missing: 'fib: value is null'",
        ),
    ],
)


def test_equal_beginnings_of_hashes_are_written_out(tmp_path):
    """No two commits share a label."""
    times = read(
        tmp_path,
        script(
            history(measurement("abcdefgh1", bench()), measurement("abcdefgh2", bench(value=11.0)))
        ),
    )
    assert times["commit"].values.tolist() == ["abcdefgh1", "abcdefgh2"]


def test_a_change_is_found(tmp_path):
    """The history of the action is one of perfarray, whatever the order of the file."""
    days = [
        measurement(f"{day:08x}", bench(value=(100 if day < 11 else 120) + day % 3), day=day)
        for day in range(20, 0, -1)
    ]
    times = read(tmp_path, script(history(*days)))
    changes = times.perf.change_points(dim="commit")
    assert changes["commit"].values[changes["change"].values[0]].tolist() == [f"{11:08x}"]


CUSTOM = [
    bench("parse", 12.5, "ms", range="± 0.3", extra="n=10"),
    bench("load", 820, "us"),
    bench("mem", 120, "MB"),
]
test_the_custom_tools = readings(
    reader("output.json"),
    [
        (
            "a unit of time is a time, row by row; another has no direction",
            CUSTOM,
            {
                "benchmark": ["parse", "load", "mem"],
                "time": [[[0.0125]], [[0.00082]], [[NAN]]],
                "MB": [[[NAN]], [[NAN]], [[120]]],
                "MB.attrs": {"units": "MB"},
                "range": ["± 0.3", "unknown", "unknown"],
                "format": "github_action_benchmark",
                "rtol": 1e-12,
            },
        ),
        (
            "a rate is better higher",
            [bench(unit="MB/s", value=5e3)],
            {"MB_s": 5000, "MB_s.better": "higher", "MB_s.units": "MB/s"},
        ),
        (
            "operations per time are a throughput",
            [bench(unit="ops/ms", value=5)],
            {"throughput": 5000, "throughput.units": "ops/s"},
        ),
        (
            "one name may have several units",
            [bench(unit="ms"), bench(unit="MB", value=3)],
            {"time": 0.01, "MB": 3, "rtol": 1e-12},
        ),
        ("text of a number is one", [bench(value="10")], {"time": 1e-8, "rtol": 1e-12}),
        ("a count of 0 is a value", [bench(unit="allocs", value=0)], {"allocs": 0}),
        (
            "what is no number is named, and the rest is read",
            [bench(value=-1), bench("b")],
            {"time": [[[NAN]], [[1e-8]]]},
            "1 value is missing: 'fib: value is -1'",
        ),
        (
            "a name that comes twice is two benchmarks",
            [bench(), bench()],
            {"benchmark": ["fib", "fib#2"]},
            "benchmark names occur more than once",
        ),
    ],
)


def test_units_may_differ_between_files(tmp_path):
    """12.5 ms and 13,500 us are compared as times."""
    sides = {
        "old": [bench("parse", 12.5, "ms"), bench("load", 820, "us")],
        "new": [bench("parse", 13500, "us"), bench("load", 0.8, "ms")],
    }
    for name, content in sides.items():
        write(tmp_path / f"{name}.json", content)
    times = perfarray.read_archive(
        {name: tmp_path / f"{name}.json" for name in sides}, dim="version"
    )
    assert times["time"].sel(version="new").values.ravel().tolist() == pytest.approx(
        [0.0135, 0.0008]
    )
    check(times.sel(version="old"), rtol=1e-12, time=[[[0.0125]], [[0.00082]]])


TWICE = history(
    A=[measurement(OLD, bench(unit="x"), tool="customSmallerIsBetter")],
    B=[measurement(OLD, bench(unit="x"), tool="customBiggerIsBetter")],
)
BROKEN = history(measurement(OLD, bench(unit=5)))
test_what_is_wrong_is_said = refusals(
    read,
    "data.js",
    [
        (script(TWO)[:-9], "is not valid JSON: the file is cut off at line"),
        (script(BROKEN), r"entries.Rust\[0\].benches\[0\].unit is 5; expected a text"),
        (
            script(TWICE),
            (
                "has tools that state both directions of unit 'x': give the suites other units, or "
                "read them apart"
            ),
        ),
        (BROKEN, r"entries.Rust\[0\].benches\[0\].unit is 5; expected a text"),
        (
            script({"entries": {"A": [{"commit": {}, "benches": []}]}}),
            r"entries.A\[0\].commit has no 'id'",
        ),
        (script(history()), "holds no measurement"),
        (script(history(measurement(OLD, bench(value=None)))), "holds no measurement"),
        ([bench(size=4)], "no reader recognises its content"),
    ],
)
