"""Google Benchmark's JSON: repetitions, aggregates, counters, errors, arguments in names."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from readers.files_of_our_own import check, refusals, write


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


def test_repetitions_are_iterations_and_aggregates_are_counted(tmp_path):
    """Mean, median and cv are no repetitions, whatever their unit."""
    rows = [row(real=real, repetition_index=index, iterations=100 + index) for index, real in enumerate((10.0, 12.0))]
    found = read(tmp_path, *rows, *(aggregate("BM_copy", kind, 11.0) for kind in ("mean", "median", "stddev", "cv")))
    assert found["time"].dims == ("benchmark", "execution", "iteration")
    check(found, rtol=1e-15, time=[[[1e-8, 1.2e-8]]], cpu_time=[[[5e-9, 6e-9]]], loops=[[[100.0, 101.0]]])
    assert found.attrs == {"format": "google_benchmark", "metric": "time", "n_aggregates": 4}


def test_arguments_are_coordinates(tmp_path):
    """They are in the label as the file has them; slashes between angle brackets are no arguments."""
    found = read(tmp_path, row("BM_copy<a/4/b>/1024/n:8/threads:4/real_time", threads=4), row("BM_copy<a/4/b>/2048/n:8", family_index=1))
    check(found, benchmark=["BM_copy<a/4/b>/1024/n:8/threads:4/real_time", "BM_copy<a/4/b>/2048/n:8"])
    check(found, benchmark_name=["BM_copy<a/4/b>/real_time", "BM_copy<a/4/b>"], arg0=[1024, 2048], threads=[4, 1])
    nested = found.isel(benchmark=[0, 1]).set_index(benchmark=["arg0", "threads"]).unstack("benchmark")
    assert dict(nested.sizes) == {"execution": 1, "iteration": 1, "arg0": 2, "threads": 2}


def test_units_may_differ(tmp_path):
    check(read(tmp_path, row("a"), row("b", 2.0, time_unit="ms")), rtol=1e-15, time=[[[1e-8]], [[2e-3]]])


def test_what_failed_is_marked(tmp_path):
    """A failed and a skipped benchmark have no time; only the first is marked."""
    broken = {"error_occurred": True, "error_message": "no device"}
    found = read(tmp_path, row("a", 0.0, **broken), row("b"), row("c", 0.0, skipped=True, skip_message="later"))
    assert found["time"].isnull().values.ravel().tolist() == [True, False, True]
    check(found.squeeze(), failed=[True, False, False], error_message=["no device", "unknown", "unknown"])


def test_counters_stand_beside_and_rates_are_metrics(tmp_path):
    """A counter is no time, whatever it is called; items per second are better higher; names have no blanks, and can be stored."""
    counters = {"Time serial": 1.5, "Time_serial": 2.5, "FOM: GB/s": 2.0, "bad": float("nan")}
    found = read(tmp_path, row(items_per_second=5e8, **counters), **{"my key": "x"})
    assert list(found) == ["time", "cpu_time", "items_per_second"]
    assert found["items_per_second"].attrs == {"units": "items/s", "better": "higher"}
    check(found, **{"Time_serial": 1.5, "counter_Time_serial": 2.5, "FOM:_GB_s": 2.0, "bad": np.nan})
    pytest.importorskip("h5netcdf")
    found.to_netcdf(tmp_path / "stored.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "stored.nc", engine="h5netcdf") as stored:
        xr.testing.assert_identical(stored.load(), found)


def test_names_that_repeat_both_stay(tmp_path):
    """The same name with the same repetition is another benchmark."""
    with pytest.warns(perfarray.PerfarrayWarning, match="1 benchmark names occur more than once"):
        check(read(tmp_path, row("a", 1.0), row("a", 2.0)), benchmark=["a", "a#2"])


def test_old_files_tell_aggregates_by_their_names(tmp_path):
    """Versions before 1.4 have neither run_type nor a number of the repetition; BigO and RMS have no time."""
    old = [{"name": "a", "iterations": 5, "real_time": real, "cpu_time": 1.0, "time_unit": "us"} for real in (1.0, 3.0)]
    mean = {"name": "a_mean", "iterations": 5, "real_time": 2.0, "cpu_time": 1.0, "time_unit": "us"}
    found = read(tmp_path, *old, mean, {"name": "a_BigO", "real_coefficient": 1.0, "big_o": "N"})
    check(found, rtol=1e-15, time=[[[1e-6, 3e-6]]])
    assert found.attrs["n_aggregates"] == 2


def test_a_file_of_aggregates_gives_means(tmp_path):
    """`--benchmark_report_aggregates_only`: the mean is the one value, its loops are unknown, and a note says so."""
    with pytest.warns(perfarray.PerfarrayWarning, match="no values but their mean") as caught:
        found = read(tmp_path, *(aggregate("a", kind, 11.0) for kind in ("mean", "median", "stddev")))
    assert [note.code for note in caught[0].message.notes] == ["means_only"]
    check(found, rtol=1e-15, time=1.1e-8)
    assert (found.attrs["n_aggregates"], "loops" in found.coords) == (2, False)


def test_the_context_describes_the_machine(tmp_path):
    """Caches are in kB; keys of the user's own keep their names."""
    caches = [{"type": kind, "level": level, "size": 1024 * size} for kind, level, size in (("Data", 1, 48), ("Unified", 3, 4096))]
    found = read(tmp_path, row(), host_name="box", num_cpus=8, mhz_per_cpu=3500, caches=caches, compiler="gcc", load_avg=[1.0])
    check(found, machine="box", logical_cores=8, cpu_mhz=3500, l1_data_kb=48, l3_kb=4096, compiler="gcc")
    assert "load_avg" not in found.coords
    found = perfarray.read(write(tmp_path / "file.json", {"benchmarks": [row()]}))
    assert (found["time"].item(), "machine" in found.coords) == (1e-8, False)


test_what_is_wrong_is_said = refusals(
    lambda folder, rows: read(folder, *rows),
    "file.json",
    ([row(time_unit="furlong")], r"benchmarks\[0\]: time_unit 'furlong' is not a unit of time"),
    ([aggregate("a", "median", 11.0)], "holds no measurement"),
    *(([row("a"), row("b", 1.0) | {"real_time": value}], rf"benchmarks\[1\]: 'real_time' is {shown}; expected a number above 0")
      for value, shown in ((0.0, "0.0"), (-1.0, "-1.0"), (float("inf"), "inf"), ("fast", "'fast'"))),
)  # fmt: skip
