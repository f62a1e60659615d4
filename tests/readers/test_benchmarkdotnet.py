"""BenchmarkDotNet's report: stages of measurements, launches, jobs, reports without
measurements."""

import pytest

import perfarray
from readers.files_of_our_own import NAN, readings, refusals, write


def measurement(stage, nanoseconds, operations=1, launch=1, mode="Workload"):
    return {
        "IterationMode": mode,
        "IterationStage": stage,
        "LaunchIndex": launch,
        "Operations": operations,
        "Nanoseconds": nanoseconds,
    }


def launch(*results, index=1):
    """Return the measurements of one launch, results twice: before and after outliers were
    removed."""
    actual = [measurement("Actual", (value or 0) + 1, 10, index) for value in (*results, 900)]
    cold = [
        measurement("Jitting", 5, launch=index),
        measurement("Warmup", 300, 10, index),
        measurement("Warmup", 7, 9, index, "Overhead"),
    ]
    return cold + actual + [measurement("Result", value, 10, index) for value in results]


def bench(name="Sort", measurements=(), statistics=None, **fields):
    return {
        "FullName": f"N.T.{name}",
        "Parameters": "",
        "Statistics": statistics,
        "Measurements": list(measurements),
    } | fields


def read(tmp_path, *benchmarks, **host):
    return perfarray.read(
        write(
            tmp_path / "report.json",
            {"Title": "t", "HostEnvironmentInfo": host, "Benchmarks": list(benchmarks)},
        )
    )


VALUES = {"Mean": 15.0, "OriginalValues": [10.0, 20.0]}
OLD = {"IterationMode": "MainTarget", "LaunchIndex": 1, "Operations": 4, "Nanoseconds": 40.0}
EMPTY = bench("Empty", statistics={"Mean": 0, "OriginalValues": [0]})
JOBS = [
    bench(
        "Sort(n: 1, s: x)",
        launch(100),
        DisplayInfo=f"T.Sort: {version}(Runtime={version}) [n=1&s=x]",
        Parameters="n=1&s=x",
    )
    for version in (".NET 8.0", ".NET 9.0")
]
HOST = {
    "ProcessorName": {"IsValueCreated": True, "Value": "A CPU"},
    "ProcessorCount": 8,
    "PhysicalCoreCount": 4,
}
MEAN = {"Namespace": None, "Type": "T", "Method": "B", "Statistics": {"Mean": 30.0}}

test_what_is_read = readings(
    lambda folder, benchmarks: read(folder, *benchmarks, **HOST),
    [
        (
            (
                "a result is the time of all operations; what came before it is the price of the "
                "launch; unequal numbers of results are padded"
            ),
            [
                bench(
                    measurements=launch(100, 200) + launch(110, index=2),
                    Memory={"BytesAllocatedPerOperation": 64},
                )
            ],
            {
                "time.dims": ("benchmark", "execution", "iteration"),
                "time": [[[30e-9, 10e-9, 20e-9], [30e-9, 11e-9, NAN]]],
                "warmup": [[[True, False, False]] * 2],
                "loops": [[[10.0] * 3, [10.0, 10.0, NAN]]],
                "bytes_per_op": [[[NAN, 64.0, NAN], [NAN] * 3]],
                "bytes_per_op.attrs": {"units": "B", "better": "lower"},
                "metric": "time",
                "execution_seconds": [[[312e-9] * 3, [312e-9, 312e-9, NAN]]],
                "rtol": 1e-14,
            },
        ),
        (
            "a benchmark without results failed",
            [
                bench(measurements=launch(100)),
                bench("Bad", [measurement("Jitting", 5)]),
                bench("Worse"),
            ],
            {
                "failed": [[[False, False]], [[True, False]], [[True, False]]],
                "time": [[[30e-9, 10e-9]], [[NAN] * 2], [[NAN] * 2]],
                "rtol": 1e-14,
            },
        ),
        (
            "a result of 0 after subtraction of the overhead counts in the mean",
            [bench(measurements=launch(100, 0)), EMPTY],
            {
                "time": [[[30e-9, 10e-9, 0.0]], [[0.0, NAN, NAN]]],
                "absent": ["failed"],
                "notes": [],
                "rtol": 1e-14,
            },
        ),
        (
            "0 allocated bytes are a result, and no bytes are none",
            [
                bench("A", statistics=VALUES, Memory={"BytesAllocatedPerOperation": 0}),
                bench("B", statistics=VALUES, Memory={"Gen0Collections": 0}),
                bench("C", Memory={"BytesAllocatedPerOperation": 8}),
            ],
            {
                "metrics": ["time", "bytes_per_op"],
                "bytes_per_op": [[[0.0, NAN]], [[NAN] * 2], [[NAN] * 2]],
                "notes": [],
            },
        ),
        (
            "a value that is no number is missing, and named",
            [bench("A", launch(None, 20)), bench("B", statistics=VALUES)],
            {
                "time": [[[30e-9, NAN, 2e-9]], [[1e-8, 2e-8, NAN]]],
                "notes": ["no_numbers"],
                "rtol": 1e-14,
            },
            (
                r"1 value is missing: \"N\.T\.A: Benchmarks\[0\]: 'Measurements' of launch 1: "
                r"'Nanoseconds': value 1 is null\""
            ),
        ),
        (
            (
                "beside overhead alone, or the modes of old versions, which have no stages, "
                "the values "
                "of all launches are in the statistics"
            ),
            [
                bench("A", [measurement("Actual", 5, mode="Overhead")], VALUES),
                bench("B", [OLD], VALUES),
            ],
            {"time": [[[1e-8, 2e-8]]] * 2, "absent": ["failed"], "rtol": 1e-15},
        ),
        (
            "a mean alone is one value",
            [bench("C", [OLD], {"Mean": 15.0})],
            {"time": 1.5e-8, "rtol": 1e-15},
            "1 benchmarks have no values but their mean",
        ),
        (
            "the full name has the parameters; one name for two runtimes is told apart by the job",
            JOBS,
            {
                "benchmark": [
                    "N.T.Sort(n: 1, s: x)[job=.NET 8.0]",
                    "N.T.Sort(n: 1, s: x)[job=.NET 9.0]",
                ],
                "job": [".NET 8.0", ".NET 9.0"],
                "n": [1, 1],
                "s": ["x", "x"],
            },
        ),
        (
            (
                "reports without measurements have all values, or their mean; old ones have "
                "no full "
                "name, and a processor that is an object"
            ),
            [bench("A", statistics=VALUES), MEAN],
            {
                "time": [[[1e-8, 2e-8]], [[3e-8, NAN]]],
                "benchmark": ["N.T.A", "T.B"],
                "cpu": "A CPU",
                "cores": 4,
                "logical_cores": 8,
                "rtol": 1e-15,
            },
            "1 benchmarks have no values but their mean",
        ),
    ],
)
test_what_is_wrong_is_said = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")(
    refusals(
        read,
        "report.json",
        [
            (
                bench(statistics={"Mean": NAN}),
                (
                    r"holds no measurement: every value is missing, the first is that of "
                    r"benchmark=N\.T\.Sort"
                ),
            ),
            (
                bench(measurements=launch(-5)),
                (
                    r"Benchmarks\[0\]: 'Measurements' of launch 1: 'Nanoseconds': value 1 is -5; "
                    r"expected .* from 0"
                ),
            ),
            (
                bench(measurements=[measurement("Result", 5, 0)]),
                r"Benchmarks\[0\]: 'Measurements' of launch 1: 'Operations': value 0 is 0",
            ),
        ],
    )
)
