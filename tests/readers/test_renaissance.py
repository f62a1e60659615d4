"""Renaissance's results: versions of the format, counters, what did not end."""

from readers.files_of_our_own import NAN, reader, readings, refusals

RESULTS = [
    {"duration_ns": 2 * 10**9, "uptime_ns": 5, "cycles": 7},
    {"duration_ns": 10**9, "uptime_ns": 9},
]
DATA = {
    "scrabble": {"results": RESULTS, "termination": "normal"},
    "dotty": {"results": [], "termination": "failure"},
}
HOST = {
    "vm": {"name": "A VM", "version": "21"},
    "os": {"name": "Linux", "available_processors": 8, "phys_mem_total": 2**34},
}
FIRST = {"scrabble": [{"nanos": 2 * 10**9, "unixts.before": 1, "unixts.after": 2}]}

read = reader("results.json")

test_what_is_read = readings(
    read,
    [
        (
            "a file is a JVM; counters stand beside the times, and what has no result failed",
            {"benchmarks": list(DATA), "format_version": 6, "data": DATA, "environment": HOST},
            {
                "time": [[[2.0, 1.0]], [[NAN, NAN]]],
                "failed": [[[False, False]], [[True, False]]],
                "termination": ["normal", "failure"],
                "cycles": [[[7, NAN]], [[NAN, NAN]]],
                "vm": "A VM",
                "vm_version": "21",
                "os": "Linux",
                "logical_cores": 8,
                "memory_gb": 16,
            },
        ),
        (
            "a time of 0 is a value; one that is no number is missing, and named",
            {
                "benchmarks": ["a"],
                "format_version": 6,
                "data": {"a": {"results": [{"duration_ns": 0}, {"duration_ns": None}]}},
            },
            {"time": [[[0.0, NAN]]], "notes": ["no_numbers"]},
            "1 value is missing: \"'a': 'duration_ns': value 1 is null\"",
        ),
        (
            (
                "in the first version `benchmarks` is a list of names, and looks like a suite of "
                "another tool"
            ),
            {"results": FIRST, "benchmarks": ["scrabble"], "environment": {}, "format_version": 1},
            {"time": 2.0, "format": "renaissance"},
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "results.json",
    [
        (
            {
                "benchmarks": ["a"],
                "format_version": 6,
                "data": {"a": {"results": [{"duration_ns": -1}]}},
            },
            "'a': 'duration_ns': value 0 is -1; expected a number from 0",
        ),
    ],
)
