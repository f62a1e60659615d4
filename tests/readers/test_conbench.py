"""conbench: results of runs, their units and failures, comparisons, and what is around them in an
answer of the API."""

from readers.files_of_our_own import NAN, reader, readings, refusals

read = reader("a.json")


def result(*data, unit="s", run="r1", name="file-read", error=None, times=(), **tags):
    stats = (
        None
        if error
        else {
            "data": list(data),
            "unit": unit,
            "times": list(times),
            "iterations": len(data),
            "mean": 1.0,
        }
    )
    return {
        "batch_id": "b",
        "run_id": run,
        "stats": stats,
        "error": error,
        "tags": {"id": "x", "name": name, **tags},
        "timestamp": run,
    }


def side(value, run, error=None):
    return {
        "benchmark_name": "w",
        "single_value_summary": value,
        "error": error,
        "run_id": run,
        "tags": {"name": "w", "n": 1},
    }


ROWS = [
    result(2.0, 3.0, kind="a"),
    result(4.0, None, kind="a"),
    result(5.0, kind="b"),
    result(7.0, kind="b", run="r2"),
]
SIDES = [
    {
        "unit": "i/s",
        "less_is_better": False,
        "baseline": side(3.0, "r1"),
        "contender": side(4.0, "r2", {"fatal": True}),
    },
    {"unit": "i/s", "less_is_better": False, "baseline": None, "contender": side(5.0, "r3")},
]

test_what_is_read = readings(
    read,
    [
        (
            (
                "data are iterations, another result of the same case and run is another "
                "execution, "
                "tags are settings, runs a dim"
            ),
            {"status_code": 200, "data": {"data": ROWS, "metadata": {}}},
            {
                "time.dims": ("benchmark", "run", "execution", "iteration"),
                "date": ["r1", "r2"],
                "benchmark": ["file-read[kind=a]", "file-read[kind=b]"],
                "run": ["r1", "r2"],
                "time": [
                    [[[2.0, 3.0], [4.0, NAN]], [[NAN, NAN]] * 2],
                    [[[5.0, NAN], [NAN, NAN]], [[7.0, NAN], [NAN, NAN]]],
                ],
            },
            "1 value is missing: \"file-read: data\\[1\\]: 'data': value 1 is null\"",
        ),
        ("a result alone", ROWS[2], {"time": 5.0}),
        (
            (
                "a time is in seconds; a rate is the throughput, better higher, and the times "
                "it took "
                "stand beside it"
            ),
            [result(2e6, unit="ns"), result(8.0, unit="B/s", name="w", times=[0.5])],
            {
                "throughput.attrs": {"units": "B/s", "better": "higher"},
                "throughput": [[[[NAN]]], [[[8.0]]]],
                "time": [[[[2e-3]]], [[[0.5]]]],
                "rtol": 1e-15,
            },
        ),
        ("a time of 0 is a value", [result(0.0, 2.0)], {"time": [[[[0.0, 2.0]]]], "notes": []}),
        (
            "a result with an error has no number",
            [result(1.0), result(error={"message": "no"}, name="w")],
            {"failed": [[[[False]]], [[[True]]]], "time": [[[[1.0]]], [[[NAN]]]]},
        ),
        (
            "a comparison has one number a side, of which one may be missing",
            {"data": SIDES},
            {
                "run": ["r1", "r2", "r3"],
                "throughput": [[[[3.0]], [[NAN]], [[5.0]]]],
                "throughput.attrs": {"units": "items/s", "better": "higher"},
                "failed": [[[[False]], [[True]], [[False]]]],
            },
            "2 benchmarks have no values but their mean",
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "a.json",
    [
        ([result("?")], r"data\[0\]: 'data': value 0 is '\?'; expected a number from 0"),
    ],
)
