"""A field of one benchmark may be anything: all others are read as before, or an error names the
file and the place."""

import csv
import io
import json
import re
import warnings

import numpy as np
import pytest

import perfarray
from perfarray.readers.opening import FileError
from readers.files_of_our_own import bench as pyperf
from readers.files_of_our_own import entry, run, secondary, suite, write
from readers.test_broken_files import places as value_paths
from readers.test_broken_files import replaced
from readers.test_github_action_benchmark import bench, history, measurement
from readers.test_google_benchmark_csv import HEADER as GOOGLE
from readers.test_jmh_csv import row, table
from readers.test_llvm_lit import lit, result
from readers.test_lnt import first, second
from strategies import MANY

PLACE = re.compile(
    r"line \d|run \d|Result \d|\[\d+\]|entry \d|'(?:time_)?a\b|\.a\.|benchmark=a|no reader "
    r"recognises"
)
"""What names the place of a field of `a`."""

ODD = [None, "x", "NaN", float("nan"), float("inf"), 0, -1, True, [], {}, [None]]
"""What stands in the place of a field."""

BENCHES = [bench("a", 10.0, "ms", range="x"), bench("b", 2.5, "ms")]
LIT = lit(
    result("a", exec_time=1.5, compile_time=0.5, hash="x"),
    result("b", exec_time=2.5, compile_time=0.5),
)
SECOND = second(
    {"name": "a", "execution_time": [1.5, 2.5], "compile_time": 3.5},
    {"name": "b", "execution_time": [4.5, 5.5]},
)
HYPERFINE = {
    "times": [1.0, 2.0],
    "exit_codes": [0, 1],
    "memory_usage_byte": [1, 2],
    "parameters": {"n": "1"},
}
NANOBENCH = {
    "unit": "op",
    "batch": 1,
    "measurements": [
        {"iterations": 3, "elapsed": value, "instructions": 5} for value in (1.5, 2.5)
    ],
}
TINYBENCH = {"hz": 1.0, "rme": 1.0, "samples": [1.5, 2.5]}
STAGES = [
    {
        "IterationMode": "Workload",
        "IterationStage": stage,
        "LaunchIndex": 1,
        "Operations": 2,
        "Nanoseconds": 3.5,
    }
    for stage in ("Jitting", "Warmup", "Result", "Result")
]
DOTNET = {
    "Parameters": "n=1",
    "Measurements": STAGES,
    "Statistics": {"Mean": 1.5},
    "Memory": {"BytesAllocatedPerOperation": 8},
}
ASV = {
    "result": [1.5, None],
    "params": [["1", "2"]],
    "samples": [[1.0, 2.0], None],
    "stats": [{"number": 2}, None],
}
PYTEST = {
    "params": {"n": 1},
    "group": "g",
    "stats": {"mean": 1.5, "data": [1.0, 2.0], "rounds": 2, "iterations": 3},
}
JMH = {
    "params": {"n": "1"},
    "secondaryMetrics": {"gc": secondary("ms", [1.0, 0.0])},
    "measurementTime": "1 s",
    "warmupIterations": 1,
}
CONBENCH = {
    "run_id": "r",
    "stats": {"data": [1.5, 2.0], "times": [0.5, 0.6], "unit": "s"},
    "commit": {"sha": "x"},
}
REBENCH = [{"in": 1, "it": 1, "m": [{"c": 0, "v": 1.5}]}, {"in": 2, "m": [[1.5, 2.5]]}]
CALLGRIND = {
    "tool": "Callgrind",
    "data": {"total": {"metrics": {"Ir": {"values": {"new": 9, "old": 8}}}}},
}


def nvbench(name):
    """Return a benchmark of NVBench with one state."""
    tags = {"nv/cold/sample_size": "9", "nv/cold/time/gpu/mean": "1.5"}
    summaries = [
        {"tag": tag, "data": [{"name": "value", "value": value}]} for tag, value in tags.items()
    ]
    return {
        "name": name,
        "states": [
            {
                "name": "n=1",
                "device": 0,
                "axis_values": [{"name": "n", "value": "1"}],
                "summaries": summaries,
            }
        ],
    }


def summary(name):
    """Return a summary of Gungraun."""
    return {
        "version": "7",
        "kind": "LibraryBenchmark",
        "benchmark_exe": "e",
        "benchmark_file": "b.rs",
        "module_path": name,
        "profiles": [CALLGRIND],
    }


def rebench(name):
    """Return a run of ReBench, as it is sent to ReBenchDB."""
    return {
        "runId": {
            "benchmark": {"name": name, "suite": {"name": "s", "executor": {"name": "e"}}},
            "cores": 1,
        },
        "d": REBENCH,
    }


def two_entries(name, fields):
    """Return the entries of the benchmarks `a` and `b`, whose names lie at a key."""
    return [{name: "a", **fields}, {name: "b", **fields}]


DOCUMENTS = {
    "hyperfine.json": ({"results": two_entries("command", HYPERFINE)}, ("results", 0)),
    "nanobench.json": ({"results": two_entries("name", NANOBENCH)}, ("results", 0)),
    "tinybench.json": (two_entries("name", TINYBENCH), (0,)),
    "vitest.json": (
        {
            "testResults": {
                "g": two_entries(
                    "name", {"rme": 1, "totalTime": 3, "period": 1.5, "mean": 1.5, "sampleCount": 2}
                )
            }
        },
        ("testResults", "g", 0),
    ),
    "benchmarkdotnet.json": (
        {"HostEnvironmentInfo": {}, "Benchmarks": two_entries("FullName", DOTNET)},
        ("Benchmarks", 0),
    ),
    "statistics.json": (
        {
            "HostEnvironmentInfo": {},
            "Benchmarks": two_entries("FullName", {"Statistics": {"OriginalValues": [1.0, 2.0]}}),
        },
        ("Benchmarks", 0),
    ),
    "asv.json": ({"commit_hash": "x", "results": {"time_a": ASV, "b": ASV}}, ("results", "time_a")),
    "pytest.json": ({"benchmarks": two_entries("fullname", PYTEST)}, ("benchmarks", 0)),
    "jmh.json": ([entry("a", **JMH), entry("b", **JMH)], (0,)),
    "histogram.json": (
        [
            entry(name, primaryMetric={"scoreUnit": "s/op", "rawDataHistogram": [[[[1.0, 2]]]]})
            for name in "ab"
        ],
        (0,),
    ),
    "pyperf.json": (
        suite(pyperf("a", run(1.5, 2.5, warmups=[(1, 2.0)])), pyperf("b", run(1.5))),
        ("benchmarks", 0),
    ),
    "raw.json": (
        suite(
            *(
                pyperf(name, {"raw_samples": [3.0, 4.0], "warmups": [[1, 2.0]]}, loops=2)
                for name in "ab"
            ),
            version=4,
        ),
        ("benchmarks", 0),
    ),
    "nvbench.json": (
        {"devices": [{"id": 0, "name": "G"}], "benchmarks": [nvbench("a"), nvbench("b")]},
        ("benchmarks", 0),
    ),
    "gungraun.json": ([summary("a"), summary("b")], (0,)),
    "conbench.json": (
        {"data": [CONBENCH | {"tags": {"name": name}} for name in "ab"]},
        ("data", 0),
    ),
    "rebench.json": (
        {"criteria": [{"i": 0, "c": "total", "u": "ms"}], "data": [rebench("a"), rebench("b")]},
        ("data", 0),
    ),
    "krun.json": ({"a:v:w": [[1.5, 2.5], []], "b:v:w": [[1.5, 2.5]]}, ("a:v:w",)),
    "renaissance.json": (
        {
            "benchmarks": ["a", "b"],
            "format_version": 6,
            "data": {
                name: {
                    "results": [{"duration_ns": 5, "c": 3}, {"duration_ns": 6}],
                    "termination": "normal",
                }
                for name in "ab"
            },
        },
        ("data", "a"),
    ),
    "github.json": (BENCHES, (0,)),
    "history.json": (
        history(measurement("x" * 40, *BENCHES)),
        ("entries", "Rust", 0, "benches", 0),
    ),
    "lit.json": (LIT, ("tests", 0)),
    "lnt.json": (SECOND, ("tests", 0)),
    "lnt_first.json": (
        first(**{".exec": [1.5]})
        | {"Tests": [{"Name": f"nts.{name}.exec", "Data": [1.5, 2.5]} for name in "ab"]},
        ("Tests", 0),
    ),
}
"""Documents of the benchmarks `a` and `b`, and where `a` stands."""

TABLES = {
    "jmh.csv": table(row("a"), row("b", "5.000000")),
    "google.csv": f'{GOOGLE}\n"a",5,1.5,1.5,ns,2,,,,\n"b",5,2.5,1.5,ns,2,,,,\n',
    "renaissance.csv": (
        "benchmark,duration_ns,cycles,uptime_ns,vm_start_unix_ms\na,500000000,3,5,1\nb,600000000,"
        "4,6,1\n"
    ),
    "microbenchmark.csv": "expr,time\na,1000\nb,2000\n",
}
"""Tables of the benchmarks `a` and `b`, in the last two lines."""

TASK = (
    '<run name="{}"><column title="status" value="true"/><column title="walltime" '
    'value="2.5s"/><column title="memory" value="5B"/></run>'
)
RESULT = (
    "<Result><Title>{}</Title><Scale>Seconds</Scale><Proportion>LIB</Proportion><Data><Entry><Identifier>s</Identifier>"
    "<RawString>1.5:2</RawString></Entry></Data></Result>"
)
LINE = "1\t1\t2.5\tms\ttotal\t{}\te\ts\t\t1\t\t\n"
TEXTS = {
    "benchexec.xml": (
        '<?xml version="1.0"?><result benchmarkname="n" tool="t">',
        TASK,
        "</result>",
    ),
    "phoronix.xml": ("<PhoronixTestSuite>", RESULT, "</PhoronixTestSuite>"),
    "rebench.data": ("#!rebench\n", LINE, ""),
}
"""The begin of a text, what stands there for each of the benchmarks `a` and `b`, and the end."""

FIELD = re.compile(r'(?<=value=")[^"]+|(?<=>)[^<>{}]+(?=<)|(?<=\t)[^\t{}]+(?=\t)')
"""A field between quotes, tags or tabs."""


def values_of_b(path):
    """Return the measured values of the benchmark `b`, a list for each metric, which another unit
    of `a` may rename."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", perfarray.PerfarrayWarning)
        times = perfarray.read(path)
    labels = [label for label in times["benchmark"].values if re.match(r"b\b", label)]
    arrays = [times[name].sel(benchmark=labels).values for name in times]
    return sorted(
        values[np.isfinite(values)].tolist() for values in arrays if np.isfinite(values).any()
    )


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
    assert PLACE.search(message.removeprefix(str(path))), message


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_field_of_a_document(tmp_path, name):
    document, location = DOCUMENTS[name]
    entry = document
    for key in location:
        entry = entry[key]
    expected = values_of_b(write(tmp_path / name, document))
    assert expected
    for number, field in enumerate(list(value_paths(entry))[1:]):
        for odd in ODD if MANY else ODD[number % 4 :: 4]:
            assert_b_is_read_or_the_place_named(
                tmp_path / name, json.dumps(replaced(document, (*location, *field), odd)), expected
            )


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


@pytest.mark.parametrize("name", TEXTS)
def test_a_field_of_a_text(tmp_path, name):
    head, template, tail = TEXTS[name]
    tail_rows = f"{template.format('b')}{tail}"
    expected = values_of_b(write(tmp_path / name, f"{head}{template.format('a')}{tail_rows}"))
    assert expected
    for field in FIELD.finditer(template):
        for odd in ("", "x", "NaN", "inf", "0", "-1", "[]"):
            changed = f"{template[: field.start()]}{odd}{template[field.end() :]}".format("a")
            assert_b_is_read_or_the_place_named(
                tmp_path / name, f"{head}{changed}{tail_rows}", expected
            )
