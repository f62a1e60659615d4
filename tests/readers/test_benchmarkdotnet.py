"""BenchmarkDotNet's report: stages of measurements, launches, jobs, reports without measurements."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import check, refusals, write


def measurement(stage, nanoseconds, operations=1, launch=1, mode="Workload"):
    return {"IterationMode": mode, "IterationStage": stage, "LaunchIndex": launch, "Operations": operations, "Nanoseconds": nanoseconds}


def launch(*results, index=1):
    """Return the measurements of one launch, results twice: before and after outliers were removed."""
    actual = [measurement("Actual", value + 1, 10, index) for value in (*results, 900)]
    cold = [measurement("Jitting", 5, launch=index), measurement("Warmup", 300, 10, index), measurement("Warmup", 7, 9, index, "Overhead")]
    return cold + actual + [measurement("Result", value, 10, index) for value in results]


def bench(name="Sort", measurements=(), statistics=None, **more):
    return {"FullName": f"N.T.{name}", "Parameters": "", "Statistics": statistics, "Measurements": list(measurements)} | more


def read(tmp_path, *benchmarks, **host):
    return perfarray.read(write(tmp_path / "report.json", {"Title": "t", "HostEnvironmentInfo": host, "Benchmarks": list(benchmarks)}))


def test_launches_are_executions_and_results_iterations(tmp_path):
    """A result is the time of all operations; what came before it is the price of the launch; unequal numbers of results are padded."""
    found = read(tmp_path, bench(measurements=launch(100, 200) + launch(110, index=2), Memory={"BytesAllocatedPerOperation": 64}))
    assert found["time"].dims == ("benchmark", "execution", "iteration")
    check(found, rtol=1e-14, time=[[[30e-9, 10e-9, 20e-9], [30e-9, 11e-9, np.nan]]])
    check(found.squeeze(), warmup=[[True, False, False], [True, False, False]], bytes_per_op=64)
    assert found["loops"].values[0, 0].tolist() == [10.0, 10.0, 10.0]
    np.testing.assert_allclose(found["execution_seconds"].values[0, :, 0], (5 + 300 + 7) * 1e-9, rtol=1e-14)


def test_a_benchmark_without_results_failed(tmp_path):
    found = read(tmp_path, bench(measurements=launch(100)), bench("Bad", [measurement("Jitting", 5)]), bench("Worse"))
    assert found["failed"].any(("execution", "iteration")).values.tolist() == [False, True, True]
    assert found["time"].notnull().any(("execution", "iteration")).values.tolist() == [True, False, False]


def test_nothing_beside_the_overhead(tmp_path):
    """A result of 0 after subtraction of the overhead is NaN, counted and noted; other values stay."""
    with pytest.warns(perfarray.PerfarrayWarning, match="2 times are 0, too short to be seen"):
        found = read(tmp_path, bench(measurements=launch(100, 0)), bench("Empty", statistics={"Mean": 0, "OriginalValues": [0]}))
    np.testing.assert_array_equal(found["time"].isnull().values.squeeze(1), [[False, False, True], [True, True, True]])
    assert found.attrs["n_below_resolution"] == 2
    assert not found["failed"].any() if "failed" in found else True


def test_measurements_without_results(tmp_path):
    """Overhead alone, or the modes of old versions, which have no stages: the values of all launches are in the statistics."""
    values = {"Mean": 15.0, "OriginalValues": [10.0, 20.0]}
    old = {"IterationMode": "MainTarget", "LaunchIndex": 1, "Operations": 4, "Nanoseconds": 40.0}
    found = read(tmp_path, bench("A", [measurement("Actual", 5, mode="Overhead")], values), bench("B", [old], values))
    check(found, rtol=1e-15, time=[[[1e-8, 2e-8]]] * 2)
    assert not found["failed"].any() if "failed" in found else True
    with pytest.warns(perfarray.PerfarrayWarning, match="1 benchmarks have no values but their mean"):
        check(read(tmp_path, bench("C", [old], {"Mean": 15.0})), rtol=1e-15, time=1.5e-8)


def test_jobs_and_parameters(tmp_path):
    """The full name has the parameters; one name for two runtimes is told apart by the job."""
    jobs = [f"T.Sort: .NET {version}(Runtime=.NET {version}) [n=1&s=x]" for version in ("8.0", "9.0")]
    found = read(tmp_path, *(bench("Sort(n: 1, s: x)", launch(100), DisplayInfo=job, Parameters="n=1&s=x") for job in jobs))
    check(found, benchmark=[f"N.T.Sort(n: 1, s: x)[job=.NET {version}]" for version in ("8.0", "9.0")])
    check(found, job=[".NET 8.0", ".NET 9.0"], n=[1, 1], s=["x", "x"])


def test_reports_without_measurements(tmp_path):
    """They have all values, or their mean alone; old ones have no full name, and a processor that is an object."""
    values = bench("A", statistics={"Mean": 15.0, "OriginalValues": [10.0, 20.0]})
    mean = {"Namespace": None, "Type": "T", "Method": "B", "Statistics": {"Mean": 30.0}}
    host = {"ProcessorName": {"IsValueCreated": True, "Value": "A CPU"}, "ProcessorCount": 8, "PhysicalCoreCount": 4}
    with pytest.warns(perfarray.PerfarrayWarning, match="1 benchmarks have no values but their mean"):
        found = read(tmp_path, values, mean, **host)
    check(found, rtol=1e-15, time=[[[1e-8, 2e-8]], [[3e-8, np.nan]]])
    check(found, benchmark=["N.T.A", "T.B"], cpu="A CPU", cores=4, logical_cores=8)


test_what_is_wrong_is_said = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")(refusals(
    read,
    "report.json",
    (bench(statistics={"Mean": 0}), r"holds no measurement: every value is missing, the first is that of benchmark=N\.T\.Sort"),
    (bench(measurements=launch(-5)), r"Benchmarks\[0\]: 'Measurements' of launch 1: 'Nanoseconds': value 1 is -5\.0"),
    (bench(measurements=[measurement("Result", 5, 0)]), r"Benchmarks\[0\]: 'Measurements' of launch 1: 'Operations': value 0 is 0"),
))  # fmt: skip
