"""Google Benchmark's CSV: the lines above it, aggregates, counters, errors."""

import pytest

import perfarray
from readers.files_of_our_own import NAN, reader, readings, refusals

CONTEXT = """2026-11-01T10:00:00+00:00
Running ./bench
Run on (8 X 3600.5 MHz CPU s)
CPU Caches:
  L1 Data 48 KiB (x4)
  L2 Unified 2048K (x4)
  L3 Unified 16 MiB (x1)
Load Average: 0.50, 0.40, 0.30
***WARNING*** CPU scaling is enabled, the benchmark real time measurements may be noisy.
"""
HEADER = (
    "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,"
    "error_occurred,error_message"
)
COPIES = '"BM_copy/1024",100,10,9,ns,2e+09,,,,\n"BM_copy/1024",100,12,11,ns,1e+09,,,,\n'
AGGREGATES = '"BM_copy/1024_mean",2,11,10,ns,1.5e+09,,,,\n"BM_copy/1024_cv",2,0.1,0.1,ns,0.1,,,,\n'
COMPLEXITY = '"BM_copy_BigO",,2.5,2.4,ns,,,N,,\n"BM_copy_RMS",,0.01,0.01,,,,,,\n'
ERROR = '"BM_gpu",,,,,,,,true,"no ""device"", sorry"\n'

read = reader("bench.csv")


def table(*rows, context="", header=HEADER):
    """Return what `--benchmark_format=csv` writes."""
    return f"{context}{header}\n{''.join(rows)}"


test_what_is_read = readings(
    read,
    [
        (
            "repetitions are iterations; the lines above tell of the machine",
            table(COPIES, context=CONTEXT),
            {
                "time": [[[1e-8, 1.2e-8]]],
                "cpu_time": [[[9e-9, 11e-9]]],
                "loops": [[[100, 100]]],
                "arg0": 1024,
                "logical_cores": 8,
                "bytes_per_second": [[[2e9, 1e9]]],
                "cpu_mhz": 3600.5,
                "l1_data_kb": 48,
                "l2_kb": 2048,
                "l3_kb": 16384,
                "format": "google_benchmark",
                "rtol": 1e-12,
            },
        ),
        (
            "aggregates and complexities are counted",
            table(COPIES, AGGREGATES, COMPLEXITY),
            {"benchmark": "BM_copy/1024", "n_aggregates": 4},
        ),
        (
            "of aggregates alone the mean is the one value",
            table(AGGREGATES.replace("_cv", "_median")),
            {"benchmark": "BM_copy/1024", "time": 11e-9, "rtol": 1e-12},
            "no values but their mean",
        ),
        (
            "a benchmark may be called like an aggregate",
            table('"fold_mean",5,1.5,1.5,ns,,,,,\n'),
            {"benchmark": "fold_mean"},
        ),
        (
            "the unit is that of the row",
            table('"a",5,1.5,1.5,ms,,,,,\n', '"b",5,2.5,2.5,us,,,,,\n'),
            {"time": [[[1.5e-3]], [[2.5e-6]]], "rtol": 1e-12},
        ),
        (
            "an error is a failed run",
            table(COPIES, ERROR),
            {
                "failed": [[[False, False]], [[True, False]]],
                "error_message": ["unknown", 'no "device", sorry'],
            },
        ),
        (
            "counters of the user are columns behind",
            table('"a",5,1,1,ns,,,,,,2.5\n', header=HEADER + ',"hits"'),
            {"hits": 2.5},
        ),
        (
            "an error has no cells for counters",
            table('"a",5,1,1,ns,,,,,,2.5\n', ERROR, header=HEADER + ',"hits"'),
            {"hits": [[[2.5]], [[NAN]]]},
        ),
        (
            "what has no time is named, and the rest is read",
            table('"a",5,x,1,ns,,,,,\n', '"b",5,1,1,ns,,,,,\n'),
            {
                "failed": [[[True]], [[False]]],
                "time": [[[NAN]], [[1e-9]]],
                "notes": ["failed_entries"],
            },
            "1 benchmark has failed runs: \"line 2: a: real_time is 'x'\"",
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "bench.csv",
    [
        (table(context=CONTEXT), "has a header and no rows"),
        (table('"a",5,1,1,ns,,,,,,7\n', context=CONTEXT), "line 11 has 11 cells; expected 10"),
        (
            table('"a",5,1,1,parsec,,,,,\n'),
            r"benchmarks\[0\]: time_unit 'parsec' is not a unit of time",
        ),
    ],
)


def test_json_and_csv_say_the_same(tmp_path):
    """The labels and values are those of the JSON of the same run."""
    rows = [
        {
            "name": "BM_copy/1024",
            "iterations": 100,
            "real_time": real,
            "cpu_time": real - 1,
            "time_unit": "ns",
        }
        for real in (10.0, 12.0)
    ]
    from_json = reader("bench.json")(tmp_path, {"context": {"num_cpus": 8}, "benchmarks": rows})
    from_csv = read(
        tmp_path,
        table(
            COPIES.replace("2e+09", "").replace("1e+09", ""),
            context="Run on (8 X 3600.5 MHz CPU s)\n",
        ),
    )
    assert from_csv.drop_vars("cpu_mhz").identical(from_json)
    assert isinstance(from_csv, type(perfarray.read(tmp_path / "bench.json")))


@pytest.mark.parametrize("context", [CONTEXT, ""])
def test_the_context_may_be_missing(tmp_path, context):
    """On a terminal the lines above go to the other stream."""
    assert read(tmp_path, table(COPIES, context=context)).sizes["iteration"] == 2
