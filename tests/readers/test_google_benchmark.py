"""Google Benchmark's JSON: repetitions, aggregates, counters, errors, arguments in names."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.readers import google_benchmark
from perfarray.readers.opening import Source
from readers.files_of_our_own import NAN, check, reader, readings, refusals, write


def row(name="BM_copy", real=10.0, **fields):
    return {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "family_index": 0,
        "per_family_instance_index": 0,
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "iterations": 100,
        "real_time": real,
        "cpu_time": real / 2,
        "time_unit": "ns",
    } | fields


def aggregate(name, kind, real):
    return {
        "name": f"{name}_{kind}",
        "run_name": name,
        "run_type": "aggregate",
        "aggregate_name": kind,
        "iterations": 2,
        "real_time": real,
        "cpu_time": real,
        "time_unit": "ns",
        "aggregate_unit": "percentage" if kind == "cv" else "time",
    }


def read(tmp_path, *rows, **context):
    return perfarray.read(
        write(tmp_path / "file.json", {"context": context, "benchmarks": list(rows)})
    )


COPIES = [
    row(real=real, repetition_index=index, iterations=100 + index)
    for index, real in enumerate((10.0, 12.0))
]
ARGUMENTS = [
    row("BM_copy<a/4/b>/1024/n:8/threads:4/real_time", threads=4),
    row("BM_copy<a/4/b>/2048/n:8", family_index=1),
]
FAILED = [
    row("a", 0.0, error_occurred=True, error_message="no device"),
    row("b"),
    row("c", 0.0, skipped=True, skip_message="later"),
]
COUNTERS = row(
    items_per_second=5e8, **{"Time serial": 1.5, "Time_serial": 2.5, "FOM: GB/s": 2.0, "bad": NAN}
)
OLD = [
    {"name": name, "iterations": 5, "real_time": real, "cpu_time": 1.0, "time_unit": "us"}
    for name, real in (("a", 1.0), ("a", 3.0), ("a_mean", 2.0))
]
CACHES = [
    {"type": kind, "level": level, "size": 1024 * size}
    for kind, level, size in (("Data", 1, 48), ("Unified", 3, 4096))
]
CONTEXT = {
    "host_name": "box",
    "num_cpus": 8,
    "mhz_per_cpu": 3500,
    "caches": CACHES,
    "compiler": "gcc",
    "load_avg": [1.0],
}

test_what_is_read = readings(
    reader("file.json"),
    [
        (
            "repetitions are iterations, and mean, median and cv, whatever their unit, are counted",
            {
                "benchmarks": COPIES
                + [aggregate("BM_copy", kind, 11.0) for kind in ("mean", "median", "stddev", "cv")]
            },
            {
                "time.dims": ("benchmark", "execution", "iteration"),
                "time": [[[1e-8, 1.2e-8]]],
                "cpu_time": [[[5e-9, 6e-9]]],
                "loops": [[[100.0, 101.0]]],
                "format": "google_benchmark",
                "metric": "time",
                "n_aggregates": 4,
                "rtol": 1e-15,
            },
        ),
        (
            "arguments are coordinates and in the label; slashes between angle brackets are none",
            {"benchmarks": ARGUMENTS},
            {
                "benchmark": [
                    "BM_copy<a/4/b>/1024/n:8/threads:4/real_time",
                    "BM_copy<a/4/b>/2048/n:8",
                ],
                "arg0": [1024, 2048],
                "threads": [4, 1],
                "benchmark_name": ["BM_copy<a/4/b>/real_time", "BM_copy<a/4/b>"],
            },
        ),
        (
            "each row has its own unit",
            {"benchmarks": [row("a"), row("b", 2.0, time_unit="ms")]},
            {"time": [[[1e-8]], [[2e-3]]], "rtol": 1e-15},
        ),
        (
            "failed and skipped benchmarks have no time, and only the first is marked",
            {"benchmarks": FAILED},
            {
                "time": [[[NAN]], [[1e-8]], [[NAN]]],
                "failed": [[[True]], [[False]], [[False]]],
                "error_message": ["no device", "unknown", "unknown"],
            },
        ),
        (
            "a counter is no time, whatever it is called; items per second are better higher",
            {"benchmarks": [COUNTERS]},
            {
                "metrics": ["time", "cpu_time", "items_per_second"],
                "items_per_second.attrs": {"units": "items/s", "better": "higher"},
                "Time_serial": 1.5,
                "counter_Time_serial": 2.5,
                "FOM:_GB_s": 2.0,
                "bad": NAN,
            },
        ),
        (
            "the same name with the same repetition is another benchmark",
            {"benchmarks": [row("a", 1.0), row("a", 2.0)]},
            {"benchmark": ["a", "a#2"]},
            "1 benchmark names occur more than once",
        ),
        (
            "what the program says of a benchmark tells it from another one of its name",
            {
                "benchmarks": [
                    row("a", 1.0, label="fast"),
                    row("a", 2.0, label="exact"),
                    row("b", 3.0, label="fast"),
                ]
            },
            {
                "benchmark": ["a[label=fast]", "a[label=exact]", "b[label=fast]"],
                "label": ["fast", "exact", "fast"],
            },
        ),
        (
            "and is no part of the label where names do",
            {"benchmarks": [row("a", 1.0, label="fast"), row("b", 3.0, label="exact")]},
            {"benchmark": ["a", "b"], "label": ["fast", "exact"]},
        ),
        (
            "before 1.4, aggregates are told by their names; BigO and RMS have no time",
            {"benchmarks": [*OLD, {"name": "a_BigO", "real_coefficient": 1.0, "big_o": "N"}]},
            {"time": [[[1e-6, 3e-6]]], "n_aggregates": 2, "rtol": 1e-15},
        ),
        (
            "of a file of aggregates, the mean is the one value",
            {"benchmarks": [aggregate("a", kind, 11.0) for kind in ("mean", "median", "stddev")]},
            {
                "benchmark": "a",
                "time": 1.1e-8,
                "n_aggregates": 2,
                "absent": ["loops"],
                "notes": ["means_only"],
                "rtol": 1e-15,
            },
            "no values but their mean",
        ),
        (
            (
                "the context describes the machine: caches are in kB, keys of the user's own keep "
                "their names"
            ),
            {"context": CONTEXT, "benchmarks": COPIES},
            {
                "machine": "box",
                "logical_cores": 8,
                "cpu_mhz": 3500,
                "l1_data_kb": 48,
                "l3_kb": 4096,
                "compiler": "gcc",
                "absent": ["load_avg"],
            },
        ),
        (
            "without a context nothing is known of the machine",
            {"benchmarks": [row()]},
            {"time": 1e-8, "absent": ["machine"]},
        ),
    ],
)


def test_arguments_become_dims_and_names_can_be_stored(tmp_path):
    times = read(tmp_path, *ARGUMENTS).set_index(benchmark=["arg0", "threads"]).unstack("benchmark")
    assert dict(times.sizes) == {"execution": 1, "iteration": 1, "arg0": 2, "threads": 2}
    pytest.importorskip("h5netcdf")
    times = read(tmp_path, COUNTERS, **{"my key": "x"})
    times.to_netcdf(tmp_path / "stored.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "stored.nc", engine="h5netcdf") as stored:
        xr.testing.assert_identical(stored.load(), times)


test_what_is_wrong_is_said = refusals(
    lambda folder, rows: read(folder, *rows),
    "file.json",
    [
        ([row(time_unit="furlong")], r"benchmarks\[0\]: time_unit 'furlong' is not a unit of time"),
        ([aggregate("a", "median", 11.0)], "holds no measurement"),
        (
            [row("a"), row("b", 1.0) | {"real_time": -1.0}],
            r"benchmarks\[1\]: 'real_time' is -1.0; expected a number from 0",
        ),
        (
            [row("a"), row("b", 1.0) | {"real_time": "fast"}],
            r"benchmarks\[1\]: 'real_time' is 'fast'; expected a number",
        ),
    ],
)


@pytest.mark.parametrize("value", [NAN, float("inf"), -float("inf"), None, "nan", "-inf"])
def test_one_value_that_is_no_number(tmp_path, value):
    """It is missing, counted and named; the benchmark's other values and the other benchmarks are
    read."""
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match=(
            r"1 value is missing: \"odd: benchmarks\[1\]: 'real_time' is .*\"\. All others are "
            r"read"
        ),
    ) as caught:
        times = read(tmp_path, row("a"), row("odd", 1.0) | {"real_time": value, "cpu_time": 3.0})
    assert caught[0].message.notes[0].code == "no_numbers"
    check(times, rtol=1e-15, time=[[[1e-8]], [[NAN]]], cpu_time=[[[5e-9]], [[3e-9]]])


def test_a_time_of_0_is_a_value(tmp_path):
    """A coarse clock gives 0, and the other benchmarks are as they are."""
    path = write(
        tmp_path / "file.json", {"context": {}, "benchmarks": [row("a", 2.0), row("zero", 0.0)]}
    )
    assert google_benchmark.read(Source(path)).metrics["time"].values.tolist() == [2e-9, 0.0]


MERGED = [row("a", real) for real in (9.0, 10.0, 11.0)] + [
    row("b", real) for real in (4.0, 5.0, 6.0)
]


def test_merged_runs_are_repetitions_where_the_caller_says_so(tmp_path):
    """The note names the option. By hand: the mean of 9, 10 and 11 ns is 10 ns, over three
    executions."""
    message = (
        r"2 benchmark names occur more than once.*dims=\{'execution': 'occurrence'\} reads them "
        r"as executions"
    )
    with pytest.warns(perfarray.PerfarrayWarning, match=message):
        times = read(tmp_path, *MERGED)
    check(times, benchmark=["a", "a#2", "a#3", "b", "b#2", "b#3"], occurrence=[1, 2, 3, 1, 2, 3])
    times = perfarray.read(tmp_path / "file.json", dims={"execution": "occurrence"})
    check(
        times,
        rtol=1e-15,
        benchmark=["a", "b"],
        sizes={"benchmark": 2, "execution": 3, "iteration": 1},
    )
    assert times.perf.mean_interval()["n"].values.tolist() == [3, 3]
    np.testing.assert_allclose(
        times.perf.mean_interval()["estimate"].values, [10e-9, 5e-9], rtol=1e-14
    )
    assert (
        perfarray.read(tmp_path / "file.json", dims={"iteration": "occurrence"}).sizes["iteration"]
        == 3
    )


def test_merged_runs_with_repetitions_of_their_own(tmp_path):
    """Repetitions stay iterations of their run; a name that occurs once has one execution."""
    rows = [
        row("a", 10.0 * merged + index, repetition_index=index)
        for merged in (1, 2)
        for index in (0, 1)
    ]
    path = write(tmp_path / "file.json", {"context": {}, "benchmarks": [*rows, row("once", 7.0)]})
    check(
        perfarray.read(path, dims={"execution": "occurrence"}),
        rtol=1e-15,
        time=[[[10e-9, 11e-9], [20e-9, 21e-9]], [[7e-9, NAN], [NAN, NAN]]],
    )
    write(tmp_path / "two.json", {"context": {}, "benchmarks": [row("once", 9.0)]})
    times = perfarray.read_archive(
        tmp_path, layout="{version}.json", dims={"execution": "occurrence"}
    )
    check(
        times.sel(benchmark="once", version="two").squeeze(),
        rtol=1e-15,
        time=[[9e-9, NAN], [NAN, NAN]],
    )
    times = perfarray.read_archive(
        tmp_path, layout="{version}.json", dims={"session": "occurrence"}
    )
    assert times.sizes["session"] == 2


def test_other_counts_of_a_name_are_not_compared_by_position(tmp_path):
    """Of `a` there are 2 and 3 entries, which nothing tells apart: none of them is compared, but
    all others are."""
    for name, count in (("old", 3), ("new", 2)):
        write(
            tmp_path / f"{name}.json",
            {
                "context": {},
                "benchmarks": [row("a", 5.0)] * count + [row("b", 1.0)] + [row("c", 1.0)] * 2,
            },
        )
    message = (
        r"'a' occurs 2 or 3 times in a file.*not compared by position\. Give each entry a name of "
        r"its own\. If they are runs"
    )
    with pytest.warns(perfarray.PerfarrayWarning, match=message) as caught:
        times = perfarray.read_archive(tmp_path, layout="{version}.json")
    note = next(note for note in caught[0].message.notes if note.code == "unmatched_repeats")
    assert note.values == {"repeated": 1, "names": ["a"]}
    common = times["time"].notnull().all("version").squeeze()
    assert times["benchmark"].values[common.values].tolist() == ["b", "c", "c#2"]
    assert {"a#1 of 3", "a#3 of 3", "a#1 of 2"} < set(times["benchmark"].values)
