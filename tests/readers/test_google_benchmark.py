"""Google Benchmark's JSON: repetitions, aggregates, counters, errors, arguments in names."""

import pytest
import xarray as xr

import perfarray
from readers.files_of_our_own import NAN, reader, readings, refusals, write


def row(name="BM_copy", real=10.0, **more):
    return {
        "name": name, "run_name": name, "run_type": "iteration", "family_index": 0, "per_family_instance_index": 0, "repetitions": 1,
        "repetition_index": 0, "threads": 1, "iterations": 100, "real_time": real, "cpu_time": real / 2, "time_unit": "ns",
    } | more  # fmt: skip


def aggregate(name, kind, real):
    return {
        "name": f"{name}_{kind}", "run_name": name, "run_type": "aggregate", "aggregate_name": kind, "iterations": 2, "real_time": real,
        "cpu_time": real, "time_unit": "ns", "aggregate_unit": "percentage" if kind == "cv" else "time",
    }  # fmt: skip


def read(tmp_path, *rows, **context):
    return perfarray.read(write(tmp_path / "file.json", {"context": context, "benchmarks": list(rows)}))


COPIES = [row(real=real, repetition_index=index, iterations=100 + index) for index, real in enumerate((10.0, 12.0))]
ARGUMENTS = [row("BM_copy<a/4/b>/1024/n:8/threads:4/real_time", threads=4), row("BM_copy<a/4/b>/2048/n:8", family_index=1)]
FAILED = [row("a", 0.0, error_occurred=True, error_message="no device"), row("b"), row("c", 0.0, skipped=True, skip_message="later")]
COUNTERS = row(items_per_second=5e8, **{"Time serial": 1.5, "Time_serial": 2.5, "FOM: GB/s": 2.0, "bad": NAN})
OLD = [{"name": name, "iterations": 5, "real_time": real, "cpu_time": 1.0, "time_unit": "us"}
       for name, real in (("a", 1.0), ("a", 3.0), ("a_mean", 2.0))]  # fmt: skip
CACHES = [{"type": kind, "level": level, "size": 1024 * size} for kind, level, size in (("Data", 1, 48), ("Unified", 3, 4096))]
CONTEXT = {"host_name": "box", "num_cpus": 8, "mhz_per_cpu": 3500, "caches": CACHES, "compiler": "gcc", "load_avg": [1.0]}

test_what_is_read = readings(reader("file.json"), [
    ("repetitions are iterations, and mean, median and cv, whatever their unit, are counted",
     {"benchmarks": COPIES + [aggregate("BM_copy", kind, 11.0) for kind in ("mean", "median", "stddev", "cv")]},
     {"time.dims": ("benchmark", "execution", "iteration"), "time": [[[1e-8, 1.2e-8]]], "cpu_time": [[[5e-9, 6e-9]]],
      "loops": [[[100.0, 101.0]]], "format": "google_benchmark", "metric": "time", "n_aggregates": 4, "rtol": 1e-15}),
    ("arguments are coordinates and in the label; slashes between angle brackets are none", {"benchmarks": ARGUMENTS},
     {"benchmark": ["BM_copy<a/4/b>/1024/n:8/threads:4/real_time", "BM_copy<a/4/b>/2048/n:8"], "arg0": [1024, 2048], "threads": [4, 1],
      "benchmark_name": ["BM_copy<a/4/b>/real_time", "BM_copy<a/4/b>"]}),
    ("each row has its own unit", {"benchmarks": [row("a"), row("b", 2.0, time_unit="ms")]}, {"time": [[[1e-8]], [[2e-3]]], "rtol": 1e-15}),
    ("failed and skipped benchmarks have no time, and only the first is marked", {"benchmarks": FAILED},
     {"time": [[[NAN]], [[1e-8]], [[NAN]]], "failed": [[[True]], [[False]], [[False]]],
      "error_message": ["no device", "unknown", "unknown"]}),
    ("a counter is no time, whatever it is called; items per second are better higher", {"benchmarks": [COUNTERS]},
     {"metrics": ["time", "cpu_time", "items_per_second"], "items_per_second.attrs": {"units": "items/s", "better": "higher"},
      "Time_serial": 1.5, "counter_Time_serial": 2.5, "FOM:_GB_s": 2.0, "bad": NAN}),
    ("the same name with the same repetition is another benchmark", {"benchmarks": [row("a", 1.0), row("a", 2.0)]},
     {"benchmark": ["a", "a#2"]}, "1 benchmark names occur more than once"),
    ("before 1.4, aggregates are told by their names; BigO and RMS have no time",
     {"benchmarks": [*OLD, {"name": "a_BigO", "real_coefficient": 1.0, "big_o": "N"}]},
     {"time": [[[1e-6, 3e-6]]], "n_aggregates": 2, "rtol": 1e-15}),
    ("of a file of aggregates, the mean is the one value",
     {"benchmarks": [aggregate("a", kind, 11.0) for kind in ("mean", "median", "stddev")]},
     {"benchmark": "a", "time": 1.1e-8, "n_aggregates": 2, "absent": ["loops"], "notes": ["means_only"], "rtol": 1e-15},
     "no values but their mean"),
    ("the context describes the machine: caches are in kB, keys of the user's own keep their names",
     {"context": CONTEXT, "benchmarks": COPIES},
     {"machine": "box", "logical_cores": 8, "cpu_mhz": 3500, "l1_data_kb": 48, "l3_kb": 4096, "compiler": "gcc", "absent": ["load_avg"]}),
    ("without a context nothing is known of the machine", {"benchmarks": [row()]}, {"time": 1e-8, "absent": ["machine"]}),
])  # fmt: skip


def test_arguments_become_dims_and_names_can_be_stored(tmp_path):
    found = read(tmp_path, *ARGUMENTS).set_index(benchmark=["arg0", "threads"]).unstack("benchmark")
    assert dict(found.sizes) == {"execution": 1, "iteration": 1, "arg0": 2, "threads": 2}
    pytest.importorskip("h5netcdf")
    found = read(tmp_path, COUNTERS, **{"my key": "x"})
    found.to_netcdf(tmp_path / "stored.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "stored.nc", engine="h5netcdf") as stored:
        xr.testing.assert_identical(stored.load(), found)


test_what_is_wrong_is_said = refusals(lambda folder, rows: read(folder, *rows), "file.json", [
    ([row(time_unit="furlong")], r"benchmarks\[0\]: time_unit 'furlong' is not a unit of time"),
    ([aggregate("a", "median", 11.0)], "holds no measurement"),
    *(([row("a"), row("b", 1.0) | {"real_time": value}], rf"benchmarks\[1\]: 'real_time' is {shown}; expected a number above 0")
      for value, shown in ((0.0, "0.0"), (-1.0, "-1.0"), (float("inf"), "inf"), ("fast", "'fast'"))),
])  # fmt: skip
