"""Settings that files record are coordinates along the sides of a comparison, which names those
that differ with both values."""

import json

import pytest

import perfarray
from readers.files_of_our_own import bench, entry, run, write
from readers.files_of_our_own import suite as pyperf_suite

VALUES = [1.0, 1.01, 0.99, 1.02]


def google(**context):
    rows = [
        {
            "name": "BM_x",
            "run_name": "BM_x",
            "repetition_index": i,
            "iterations": 9,
            "real_time": value,
            "cpu_time": 1,
        }
        for i, value in enumerate(VALUES)
    ]
    return {"context": {"num_cpus": 2, "mhz_per_cpu": 3000} | context, "benchmarks": rows}


def pytest_benchmark(machine=None, commit=None, options=None):
    stats = {"data": VALUES, "iterations": 1, "rounds": 4}
    row = {"fullname": "t.py::x", "stats": stats, "options": options}
    return {
        "machine_info": machine or {},
        "commit_info": commit or {},
        "benchmarks": [row],
        "datetime": "2026-01-02",
        "version": "5.1",
    }


def go(cpu="A", threads=8, os="linux"):
    lines = "".join(f"BenchmarkX-{threads} 100 {1000 * value:.0f} ns/op\n" for value in VALUES)
    return f"goos: {os}\ngoarch: amd64\npkg: p\ncpu: {cpu}\n{lines}"


def dotnet(**host):
    measurements = [
        {
            "LaunchIndex": i,
            "IterationMode": "Workload",
            "IterationStage": "Result",
            "Operations": 1,
            "Nanoseconds": 1e6 * value,
        }
        for i, value in enumerate(VALUES, 1)
    ]
    return {
        "HostEnvironmentInfo": host,
        "Benchmarks": [{"FullName": "N.X", "Measurements": measurements}],
    }


def benchexec(**cpu):
    metadata = " ".join(
        f'{name}="{value}"' for name, value in ({"model": "A", "cores": "4"} | cpu).items()
    )
    runs = "".join(
        f'<run name="x{i}"><column title="walltime" value="{value}s"/></run>'
        for i, value in enumerate(VALUES)
    )
    system = f'<systeminfo hostname="box"><os name="Linux"/><cpu {metadata}/></systeminfo>'
    return f'<result benchmarkname="b" tool="T" version="1.0">{system}{runs}</result>'


def lnt(**run_info):
    tests = [{"name": "x", "execution_time": VALUES}]
    return {
        "format_version": "2",
        "machine": {"name": "box"},
        "run": {"start_time": "2026"} | run_info,
        "tests": tests,
    }


def rebench(**env):
    runs = [
        {
            "runId": {
                "benchmark": {"name": "X", "suite": {"name": "s", "executor": {"name": "e"}}},
                "extraArgs": "",
            },
            "d": [
                {"in": i, "it": 1, "m": [{"c": 0, "v": 10 * value}]}
                for i, value in enumerate(VALUES, 1)
            ],
        }
    ]
    return {"env": env, "criteria": [{"i": 0, "c": "total", "u": "ms"}], "data": runs}


def table(**columns):
    head = "".join(f",{name}" for name in columns)
    rows = "".join(
        f"x,{i},{value}{''.join(f',{cell}' for cell in columns.values())}\n"
        for i, value in enumerate(VALUES)
    )
    return f"benchmark,execution,time{head}\n{rows}"


def catch2(version):
    result = (
        '<BenchmarkResults name="x" samples="10" iterations="1"><mean '
        'value="5"/></BenchmarkResults>'
    )
    head = f'<Catch2TestRun name="t" catch2-version="{version}">'
    return f'<?xml version="1.0"?>{head}<TestCase name="c">{result}</TestCase></Catch2TestRun>'


PYPERF = {"hostname": "box", "name": "x"}
MACHINES, SETTINGS = "different_machines", "settings_differ"

# Of each format both files, the code of the note, and what it says
PAIRS = {
    "google model": (
        "json",
        google(host_name="a"),
        google(host_name="a", num_cpus=16),
        MACHINES,
        "logical_cores 16 against 2",
    ),
    "google build": (
        "json",
        google(library_build_type="release"),
        google(library_build_type="debug"),
        SETTINGS,
        "debug against release",
    ),
    "google key": (
        "json",
        google(cxx_flags="-O2"),
        google(cxx_flags="-O3"),
        SETTINGS,
        "cxx_flags -O3 against -O2",
    ),
    "google clock": (
        "json",
        google(),
        google(mhz_per_cpu=2000),
        MACHINES,
        "cpu_mhz 2000 against 3000",
    ),
    "pyperf cpu": (
        "json",
        pyperf_suite(bench("x", run(*VALUES)), cpu_model_name="A", **PYPERF),
        pyperf_suite(bench("x", run(*VALUES)), cpu_model_name="B", **PYPERF),
        MACHINES,
        "cpu B against A",
    ),
    "pyperf python": (
        "json",
        pyperf_suite(bench("x", run(*VALUES)), python_version="3.12", **PYPERF),
        pyperf_suite(bench("x", run(*VALUES)), python_version="3.13", **PYPERF),
        SETTINGS,
        "python_version 3.13",
    ),
    "pyperf affinity": (
        "json",
        pyperf_suite(bench("x", run(*VALUES)), cpu_affinity="1", **PYPERF),
        pyperf_suite(bench("x", run(*VALUES)), cpu_affinity="1-7", **PYPERF),
        SETTINGS,
        "cpu_affinity 1-7 against 1",
    ),
    "pytest dirty": (
        "json",
        pytest_benchmark(commit={"dirty": False}),
        pytest_benchmark(commit={"dirty": True}),
        SETTINGS,
        "dirty True",
    ),
    "pytest gc": (
        "json",
        pytest_benchmark(options={"disable_gc": False}),
        pytest_benchmark(options={"disable_gc": True}),
        SETTINGS,
        "disable_gc True against False",
    ),
    "pytest node": (
        "json",
        pytest_benchmark({"node": "m1"}),
        pytest_benchmark({"node": "m2"}),
        MACHINES,
        "machine m2 against m1",
    ),
    "go cpu": ("txt", go(), go(cpu="B"), MACHINES, "cpu B against A"),
    "go os": ("txt", go(), go(os="darwin"), SETTINGS, "goos darwin against linux"),
    "go threads": ("txt", go(), go(threads=2), SETTINGS, "gomaxprocs 2 against 8"),
    "dotnet runtime": (
        "json",
        dotnet(RuntimeVersion=".NET 8"),
        dotnet(RuntimeVersion=".NET 9"),
        SETTINGS,
        "runtime .NET 9 against .NET 8",
    ),
    "dotnet build": (
        "json",
        dotnet(Configuration="RELEASE"),
        dotnet(Configuration="DEBUG"),
        SETTINGS,
        "configuration DEBUG",
    ),
    "jmh": (
        "json",
        [entry(jdkVersion="21")],
        [entry(jdkVersion="23")],
        SETTINGS,
        "jdk_version 23 against 21",
    ),
    "jmh warm-up": (
        "json",
        [entry(warmupTime="10 s")],
        [entry(warmupTime="1 s")],
        SETTINGS,
        "warmup_time 1 s against 10 s",
    ),
    "benchexec": (
        "xml",
        benchexec(),
        benchexec(cores="64"),
        MACHINES,
        "logical_cores 64 against 4",
    ),
    "benchexec turbo": (
        "xml",
        benchexec(turboboostActive="false"),
        benchexec(turboboostActive="true"),
        SETTINGS,
        "turbo_boost true",
    ),
    "lnt": (
        "json",
        lnt(cc_version_number="17"),
        lnt(cc_version_number="18"),
        SETTINGS,
        "cc_version 18 against 17",
    ),
    "rebench": (
        "json",
        rebench(denoise={"no_turbo": True}),
        rebench(denoise={"no_turbo": False}),
        SETTINGS,
        "no_turbo False against True",
    ),
    "catch2": (
        "xml",
        catch2("3.4.0"),
        catch2("3.5.0"),
        SETTINGS,
        "catch2_version 3.5.0 against 3.4.0",
    ),
    "table": ("csv", table(processor="A"), table(processor="B"), MACHINES, "processor B against A"),
    "table kernel": (
        "csv",
        table(kernel="6.1"),
        table(kernel="6.8"),
        SETTINGS,
        "kernel 6.8 against 6.1",
    ),
}


@pytest.mark.parametrize(("ending", "old", "new", "code", "text"), PAIRS.values(), ids=PAIRS)
@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_what_files_record_of_both_sides_is_named(tmp_path, ending, old, new, code, text):
    """Whatever the format, a setting that differs is a note with both values; machines come first,
    and equal files have no such note."""
    paths = {
        name: write(tmp_path / f"{name}.{ending}", content)
        for name, content in {"old": old, "new": new, "again": old}.items()
    }
    sides = perfarray.read_archive({"old": paths["old"], "new": paths["new"]}, dim="version")
    notes = sides.perf.compare("old").perf.notes()
    assert notes[0].code == code
    assert text in notes[0].message
    alone = [perfarray.read(paths[name]) for name in ("new", "old")]
    assert text in alone[0].perf.compare(alone[1]).perf.notes()[0].message
    equal_settings = (
        perfarray.read_archive({"old": paths["old"], "new": paths["again"]}, dim="version")
        .perf.compare("old")
        .perf.notes()
    )
    assert {MACHINES, SETTINGS}.isdisjoint(note.code for note in equal_settings)


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_sizes_of_workloads_are_named_by_benchmark(tmp_path):
    """criterion's elements are settings along the benchmarks: the note names the benchmark where
    they differ."""
    for side, elements in (("old", 10), ("new", 30)):
        for name, size in (("grow", elements), ("keep", 7)):
            folder = tmp_path / side / name / "new"
            write(
                folder / "benchmark.json",
                {"group_id": name, "full_id": name, "throughput": {"Elements": size}},
            )
            write(
                folder / "sample.json",
                {
                    "sampling_mode": "Flat",
                    "iters": [1.0] * 4,
                    "times": [100 * value for value in VALUES],
                },
            )
    sides = perfarray.read_archive(
        {"old": str(tmp_path / "old"), "new": str(tmp_path / "new")}, dim="version"
    )
    note = sides.perf.compare("old", levels="iteration").perf.notes()[0]
    assert (note.code, note.values) == (
        SETTINGS,
        {"settings": ["elements"], "candidate": ["30"], "baseline": ["10"]},
    )
    assert "elements 30 against 10 ('grow')" in note.message


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")
def test_conbench_records_hardware_and_software(tmp_path):
    """Versions and flags in `info` and `context` are coordinates of a run, and so are memory and
    clock in our units."""
    rows = [
        {
            "run_id": name,
            "batch_id": "b",
            "tags": {"name": "x"},
            "stats": {"data": VALUES, "unit": "s"},
            "timestamp": "2026-01-01",
            "hardware": {
                "cpu_model_name": "A",
                "memory_bytes": str(memory * 2**30),
                "cpu_frequency_max_hz": "3500000000",
            },
            "context": {"id": name, "flags": flags},
            "info": {"arrow_version": "15"},
        }
        for name, memory, flags in (("r1", 16, "-O2"), ("r2", 32, "-O3"))
    ]
    times = perfarray.read(write(tmp_path / "runs.json", json.dumps(rows)))
    assert times["memory_gb"].values.tolist() == [16.0, 32.0]
    assert (times["cpu_max_mhz"].item(), times["arrow_version"].item()) == (3500.0, "15")
    texts = [
        note.message
        for note in times.perf.compare("r1", dim="run", levels="iteration").perf.notes()[:2]
    ]
    assert "memory_gb 32 against 16" in texts[0]
    assert "flags -O3 against -O2" in texts[1]
