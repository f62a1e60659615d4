"""Whatever happens to a file, reading gives a Dataset or an error that names the file."""

import json
import warnings

import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import perfarray
from perfarray.readers.recognising import formats
from readers.files_of_our_own import (
    SPEC_SYSTEM,
    bench,
    entry,
    run,
    secondary,
    spec_pair,
    spec_report,
    spec_result,
    spec_rows,
    suite,
)
from strategies import MANY, examples

FILES = {
    "pyperf.json": json.dumps(
        suite(
            bench("a", run(warmups=[(1, 0.5)]), run(1.5, 2.5, warmups=[(2, 3.5)], hostname="h")),
            hostname="g",
            cpu_count=2,
            tags=["x"],
        )
    ),
    "pyperf_old.json": json.dumps(
        {
            "version": 4,
            "benchmarks": [
                {
                    "common_metadata": {"inner_loops": 2},
                    "runs": [{"raw_samples": [1.0], "warmups": [[4, 8.0]]}],
                }
            ],
        }
    ),
    "jmh.json": json.dumps(
        [
            entry(params={"n": "1"}, secondaryMetrics={"·gc/x": secondary("MB/sec", [1.0])}),
            entry(
                "b",
                mode="sample",
                primaryMetric={"scoreUnit": "s/op", "rawDataHistogram": [[[[1.0, 2]]]]},
                jvmArgs=["-ea"],
            ),
        ],
        ensure_ascii=False,
    ),
    "google_benchmark.json": '{"context": {"host_name": "h", "num_cpus": 2, "caches": '
    '[{"type": "Data", "level": 1, '
    '"size": 1024}], "own": "x"}, '
    '"benchmarks": [{"name": "a/8/n:2", "run_type": "iteration", "repetition_index": 0, '
    '"threads": 1, "iterations": 5, '
    '"real_time": 1.5, "cpu_time": 1.5, "time_unit": "us", "items_per_second": 2.5, "own": '
    '3, "label": "x"}, {"name": "b", '
    '"run_name": "b", "run_type": "iteration", "error_occurred": true, "error_message": '
    '"x"}, {"name": "c_mean", "run_name": "c", '
    '"run_type": "aggregate", "aggregate_name": "mean", "real_time": 2, "cpu_time": 1}]}',
    "hyperfine.json": '{"results": [{"command": "a", "mean": 1.5, "times": [1.0,'
    ' 2.0], "exit_codes": [0, 1], '
    '"memory_usage_byte": [1, 2], '
    '"parameters": {"n": "1"}}, {"command": "a", "times": [1.0], "parameters": {"n": "2"}}]}',
    "pytest_benchmark.json": '{"machine_info": {"node": "n", "cpu": {"brand_raw": "c", '
    '"count": 2}}, "commit_info": '
    '{"id": "x", "dirty": true}, "datetime": '
    '"d", "benchmarks": [{"fullname": "t::a[1]", "name": "a[1]", "group": "g", "params": '
    '{"n": 1}, "stats": {"mean": 1.5, "data": '
    '[1.0, 2.0], "rounds": 2, "iterations": 3}}, {"fullname": "t::b", "stats": {"mean": '
    '1.5, "rounds": 2}}]}',
    "criterion.json": json.dumps({"sampling_mode": "Flat", "iters": [1, 2], "times": [1.5, 2]}),
    "benchmarkdotnet.json": '{"HostEnvironmentInfo": {"ProcessorName": {"Value": '
    '"c"}, "LogicalCoreCount": 2}, '
    '"Benchmarks": [{"FullName": "a", '
    '"DisplayInfo": "a: J(x) [n=1]", "Parameters": "n=1", "Memory": '
    '{"BytesAllocatedPerOperation": 8}, "Measurements": '
    '[{"IterationMode": "Workload", "IterationStage": "Jitting", "LaunchIndex": 1, '
    '"Operations": 2, "Nanoseconds": 3.5}, '
    '{"IterationMode": "Workload", "IterationStage": "Warmup", "LaunchIndex": 1, '
    '"Operations": 2, "Nanoseconds": 3.5}, '
    '{"IterationMode": "Workload", "IterationStage": "Actual", "LaunchIndex": 1, '
    '"Operations": 2, "Nanoseconds": 3.5}, '
    '{"IterationMode": "Workload", "IterationStage": "Result", "LaunchIndex": 1, '
    '"Operations": 2, "Nanoseconds": 3.5}]}, {"Type": '
    '"b", "Method": "c", "Statistics": {"Mean": 1.5, "OriginalValues": [1.0, 2.0]}}, '
    '{"Method": "d", "Statistics": {"Mean": 1.5}}]}',
    "asv.json": '{"commit_hash": "x", "date": 5, "params": {"machine": '
    '"m", "cpu": "c"}, "env_name": '
    '"e", "result_columns": ["result", '
    '"params", "samples"], "results": {"time_a": [[1.5, null], [["1", "2"]], [[1.0, 2.0], '
    'null]], "mem_b": 5, "time_c": null, '
    '"time_d": {"params": [["1"]], "result": [2.5], "stats": [{"number": 3}]}}}',
    "rebench.json": '{"env": {"hostName": "h", "memory": 5}, "source": '
    '{"commitId": "x"}, "criteria": '
    '[{"i": 0, "c": "total", "u": "ms"}], "data": '
    '[{"runId": {"benchmark": {"name": "a", "suite": {"name": "s", "executor": {"name": '
    '"e"}}}, "cores": 1}, "d": [{"in": 1, "it": '
    '1, "m": [{"c": 0, "v": 1.5}]}, {"in": 2, "m": [[1.5, 2.5]]}]}]}',
    "rebench.data": '#!rebench\n# Environment: {"cpu": '
    '"c"}\n1\t1\t2.5\tms\ttotal\ta\te\ts\t\t1\t\t\n1\t2\t5\tbyte\tsize\ta\te\ts\t\t1\t\t\n'
    "[2014-08-26T10:00:00]\t1.5\tops/s\ttotal\tb\te\ts\t10 0\t5\t1\t\t\n",
    "conbench.json": '{"data": [{"run_id": "old", "tags": {"name": "a", "n": '
    '1}, "stats": {"data": [1.5, '
    '2.0], "times": [0.5, 0.6], "unit": "s"}, '
    '"timestamp": "d", "commit": {"sha": "x"}, "hardware": {"name": "m"}}, {"run_id": '
    '"new", "tags": {"name": "a", "n": 1}, '
    '"stats": {"data": [1.5, 2.0], "times": [0.5, 0.6], "unit": "s"}, "timestamp": "d", '
    '"commit": {"sha": "x"}, "hardware": '
    '{"name": "m"}}]}',
    "conbench_sides.json": '[{"unit": "i/s", "less_is_better": false, '
    '"baseline": {"benchmark_name": "a", '
    '"run_id": "old", "single_value_summary": 1.5, '
    '"tags": {"n": 1}}, "contender": {"benchmark_name": "a", "run_id": "new", '
    '"single_value_summary": 2.5, "error": null}}]',
    "krun.json": json.dumps(
        {
            "audit": {"cpuinfo": "model name : c", "uname": "l"},
            "wallclock_times": {"a:b:c": [[1.5, 2], []]},
        }
    ),
    "renaissance.json": '{"benchmarks": ["a"], "format_version": 6, '
    '"environment": {"vm": {"name": "v"}, "os": '
    '{"phys_mem_total": 5}}, "data": {"a": '
    '{"results": [{"duration_ns": 5, "c": 3}, {"duration_ns": 6}], "termination": '
    '"normal"}, "b": {"results": []}}}',
    "benchexec.xml": '<?xml version="1.0"?><result benchmarkname="b" tool="t">'
    '<systeminfo hostname="h"><cpu cores="2" model="c"/><ram size="5B"/></systeminfo>'
    '<run name="a"><column title="status" value="TIMEOUT"/><column title="walltime" '
    'value="2.5s"/></run>'
    '<run name="b" properties="p"><column title="walltime" value="2.5s"/><column '
    'title="memory" value="5B"/></run></result>',
    "phoronix.xml": "<PhoronixTestSuite><System><Identifier>s</Identifier><Hardware>Processor: c, "
    "d</Hardware></System><Result><Title>a</Title>"
    "<Scale>Seconds</Scale><Proportion>LIB</Proportion><Data><Entry><Identifier>s</Identifier><RawString>1.5:2</RawString></Entry></Data>"
    "</Result></PhoronixTestSuite>",
    "catch2.xml": '<?xml version="1.0"?><Catch2TestRun '
    'name="t"><TestCase name="c"><BenchmarkResults '
    'name="a" samples="10" iterations="2">'
    '<mean value="1.5e3" lowerBound="1" upperBound="2" '
    'ci="0.95"/></BenchmarkResults><BenchmarkResults name="b"><failed message="x"/>'
    "</BenchmarkResults></TestCase></Catch2TestRun>",
    "nanobench.json": '{"results": [{"title": "t", "name": "a", "unit": "op", '
    '"batch": 2, "complexityN": -1, '
    '"median(elapsed)": 1.5, "measurements": '
    '[{"iterations": 3, "elapsed": 1.5, "instructions": 5, "pagefaults": 0}, '
    '{"iterations": 4, "elapsed": 2.5, "instructions": 5, '
    '"pagefaults": 0}]}]}',
    "vitest.json": '{"numTotalTests": 2, "testResults": {"g": [{"name": '
    '"a", "rme": 1, "totalTime": 3, '
    '"period": 1.5, "mean": 1.5, "samples": [1.0, '
    '2.0]}, {"name": "b", "totalTime": 3, "period": 1.5, "mean": 1.5, "samples": "x"}]}}',
    "vitest_files.json": '{"files": [{"filepath": "f", "groups": [{"fullName": "f '
    '> g", "benchmarks": [{"name": '
    '"a", "rme": 1, "totalTime": 3, "period": '
    '1.5, "mean": 1.5, "sampleCount": 2, "samples": []}]}]}]}',
    "nvbench.json": '{"meta": {}, "devices": [{"id": 0, "name": "G", '
    '"sm_version": 700}], "benchmarks": '
    '[{"name": "a", "states": [{"name": "n=1", '
    '"device": 0, "axis_values": [{"name": "n", "value": "1"}], "is_skipped": false, '
    '"summaries": [{"tag": "nv/cold/sample_size", '
    '"data": [{"name": "value", "value": "9"}]}, {"tag": "nv/cold/time/gpu/mean", "data": '
    '[{"name": "value", "value": "1.5"}]}]}, '
    '{"name": "n=2", "device": 0, "axis_values": null, "is_skipped": true, "summaries": '
    "null}]}]}",
    "gungraun.json": '{"version": "7", "kind": "LibraryBenchmark", '
    '"benchmark_exe": "e", "benchmark_file": '
    '"b.rs", "module_path": "b::g::f", "id": "i", '
    '"function_name": "f", "profiles": [{"tool": "Callgrind", "data": {"total": '
    '{"metrics": {"Ir": {"values": {"new": 9, "old": 8}}, '
    '"EstimatedCycles": {"values": {"new": 20}}}}}}]}',
    "data.js": 'window.BENCHMARK_DATA = {"lastUpdate": 1, "repoUrl": "r", "entries": {"s": '
    '[{"commit": {"id": "x", "timestamp": '
    '"2024-01-01T10:00:00Z"}, "date": 5, "tool": "go", "benches": [{"name": "a", "unit": '
    '"ns/op", "value": 1.5}]}]}}',
    "github_action_benchmark.json": (
        '[{"name": "a", "unit": "ms", "value": 1.5, "range": "x"}, {"name": "b", "unit": '
        '"MB/s", "value": "2"}]'
    ),
    "github_action_benchmark_history.json": '{"lastUpdate": 1, "repoUrl": "r", "entries": '
    '{"s": [{"commit": {"id": "x", '
    '"timestamp": "2024-01-01T10:00:00Z"}, "date": 5, '
    '"tool": "cargo", "benches": [{"name": "a", "unit": "ns/iter", "value": 1.5}]}, '
    '{"commit": {"id": "y"}, "date": 6, "benches": '
    '[{"name": "a", "unit": "ns/iter", "value": 2.5}]}]}}',
    "llvm_lit.json": '{"__version__": [17, 0, 0], "elapsed": 1.5, "tests": '
    '[{"name": "a.test", "code": '
    '"PASS", "metrics": {"exec_time": 1.5, '
    '"compile_time": 0.5, "hash": "x", "size": 5, "size..text": 3}}, {"name": "b", "code": '
    '"FAIL"}, {"name": "a.test:m", "code": '
    '"PASS", "metrics": {"exec_time": 5}}]}',
    "lnt.json": '{"format_version": "2", "machine": {"name": "m"}, "run": {"start_time": "d"}, '
    '"tests": [{"name": "a", "execution_time": [1.5, 2], '
    '"compile_time": 3, "hash": "x"}, {"name": "b", "execution_status": 1}]}',
    "lnt_first.json": '{"Machine": {"Name": "m", "Info": {"os": "l"}}, "Run": '
    '{"Start Time": "d", "Info": '
    '{"run_order": "5"}}, "Tests": [{"Name": '
    '"nts.a.exec", "Data": [1.5, 2]}, {"Name": "nts.a.compile", "Data": [3]}, {"Name": '
    '"nts.a.hash", "Data": ["x"]}]}',
    "jmh.csv": '"Benchmark","Mode","Threads","Samples","Score","Score '
    'Error (99,9%)","Unit","Param: '
    'n"\n"a","avgt",1,5,"1,5","0,1","ms/op",8\n'
    '"a:gc","avgt",1,5,2,0,"MB/sec",8\n',
    "google_benchmark.csv": "Run on (8 X 3600 MHz CPU s)\n  L1 Data 48 KiB "
    "(x4)\nname,iterations,real_time,cpu_time,time_unit,bytes_per_second,"
    'items_per_second,label,error_occurred,error_message,"n"\n"a",5,1.5,1.5,ns,2,,,,,3\n"a",5,'
    '2.5,1.5,ns,2,,,,,3\n"b",,,,,,,,true,"x"\n',
    "renaissance.csv": (
        "benchmark,duration_ns,c,uptime_ns,vm_start_unix_ms\na,500000000,3,5,1\na,600000000,NA,6,"
        "1\na,500000000,3,5,2\n"
    ),
    "microbenchmark.csv": '"","expr","time"\n"1","f(x)",1000\n"2","g",2000\n"3","f(x)",1e+05\n',
    "go.txt": "goos: linux\npkg: p\nnote: x\nBenchmarkA/n=1-8 \t10 2.5 ns/op 3 B/op\nPASS\n"
    "Unit x better=higher\npkg: q\nBenchmarkA/n=1-8 1 5 ns/op 1 x\n",
    "tidy.csv": (
        "# units: ms\n# shared_levels: "
        "binary\nbenchmark,version,binary,warmup,note,time\nfft,1.0,3,true,x,1.5\nfft,1.1,4,,"
        "y,2.5\n"
    ),
    "Box_O3_001.txt": spec_report(
        *spec_rows(),
        "502.beta_r  1  9.5  10.1  S  1  9.4  10.2  *",
        "503.gamma_r  NR",
        after=SPEC_SYSTEM,
    ),
    "spec.csv": spec_result(
        [spec_pair("400.alpha", 2, 10.5, 9.5), "401.beta,,,,,NR,,,,,NR"],
        selected=[spec_pair("400.alpha", 2, 10.5, 9.5)],
    ),
    "runs.csv": "benchmark,time,ratio\n500.alpha_r,344,4.63\n503.gamma_r,,\nint_rate,3262,4.87\n",
    "dump.csv": (
        'Benchmark,"Hardware Vendor\t",System,Result,Baseline,# Cores,Memory\nINT,A,"B, '
        'C",1.5,0,4,"1 GB"\nCFP2006,A,D,2.5,2,x,\n'
    ),
}
"""Small valid files."""

JUNK = [
    "",
    "0",
    "-",
    "null",
    "true",
    "NaN",
    "1e999",
    '""',
    '"x"',
    "[]",
    "{}",
    "[",
    "}",
    ",",
    "\n",
    "\x00",
    "é",
    "#",
    "9" * 400,
]
"""What may stand where something else was."""


def assert_read_or_named(tmp_path_factory, name, content, reading=perfarray.read, format=None):
    """Read content; an error must be a ValueError that names the file."""
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            assert isinstance(reading(path, format=format), xr.Dataset)
            return
        except ValueError as error:
            message = str(error)
    assert message.startswith(str(path))


common = settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def cut_off(content, data):
    return content[: data.draw(st.integers(0, len(content) - 1))]


def other_bytes(content, data):
    """Return content with a few bytes replaced by others."""
    content = bytearray(content)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    return bytes(content)


def other_part(content, data):
    """Return content of which a part is missing, doubled or replaced."""
    text = content.decode()
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 40)))
    return (
        text[:start] + data.draw(st.sampled_from([*JUNK, text[start:stop] * 2])) + text[stop:]
    ).encode()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damaged", [cut_off, other_bytes, other_part])
@common
@given(data=st.data())
def test_damage_anywhere(tmp_path_factory, name, damaged, data):
    assert_read_or_named(tmp_path_factory, name, damaged(FILES[name].encode(), data))


def places(value, path=()):
    """Yield the path of every value inside parsed JSON."""
    yield path
    for key, item in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield from places(item, (*path, key))


def replaced(value, path, new):
    """Return parsed JSON with one value replaced; `...` instead of a new value leaves it out."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1 and new is Ellipsis:
        del copy[path[0]]
    else:
        copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


ODD = [
    None,
    True,
    False,
    0,
    -1,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "NaN",
    [],
    [[]],
    [None],
    {},
    {"x": {}},
    [[1, 0]],
    ...,
]
"""Values that may stand anywhere; the last means none at all."""


@pytest.mark.parametrize("reading", [perfarray.read, perfarray.read_archive])
@pytest.mark.parametrize("name", [name for name in FILES if name.endswith("json")])
def test_any_value_may_be_another(tmp_path_factory, name, reading):
    """Every value of the file, replaced by every odd one (while people wait, by every eighth, and
    others each way).

    `read` is told the format.
    """
    forced, first = None, 4
    if reading is perfarray.read:
        forced, first = next(format for format in formats() if name.startswith(format)), 0
    content = json.loads(FILES[name])
    for number, path in enumerate(places(content)):
        for odd in ODD if MANY else ODD[(number + first) % 8 :: 8]:
            changed = (
                json.dumps(replaced(content, path, odd)).encode() if path or odd is not ... else b""
            )
            assert_read_or_named(tmp_path_factory, name, changed, reading, forced)


ODDITIES = [
    b"\x1f\x8b",
    b"BZh9",
    b"\xfd7zXZ\x00",
    b"\xff\xfeb\x00",
    b"benchmark,time",
    b"benchmark,time\n",
    b"#",
    b'benchmark,time\n"fft,1\n',
    b'benchmark,time\n"fft\n",1\n',
    b"benchmark\rversion,time\nfft,1.5\nfft,1,2,3,4\n",
    b"benchmark,time\n" + b"f" * 200_000 + b",1,2\n",
    b"valid,1\n",
    b"Benchmarks Copies Run Time Rate\n",
    b"Benchmarks Copies Run Time Rate\n=====\nSPECx_base 1\n",
    b"400.a,1\n4",
    b"System,Result,Benchmark\n\n",
    b'System,Result,Benchmark\n"a\n',
    b"benchmark,time,ratio\n,\n",
]
"""What almost is a file of some format."""


def assert_read_or_named_by_all(tmp_path_factory, content):
    """Read content as every format."""
    for name in (None, *formats()):
        assert_read_or_named(tmp_path_factory, "anything", content, format=name)


@common
@given(st.binary(max_size=60))
def test_any_bytes(tmp_path_factory, content):
    assert_read_or_named_by_all(tmp_path_factory, content)


@pytest.mark.parametrize("number", range(len(ODDITIES)))
def test_what_almost_is_a_file(tmp_path_factory, number):
    assert_read_or_named_by_all(tmp_path_factory, ODDITIES[number])
