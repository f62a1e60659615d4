"""Vitest's and tinybench's JSON: samples in milliseconds, groups, means alone, errors."""

from readers.files_of_our_own import NAN, reader, readings, refusals


def result(name="sort", samples=(1.0, 2.0), **fields):
    """Return one result as tinybench had it up to version 2."""
    return {
        "name": name,
        "rme": 1.5,
        "totalTime": 3.0,
        "period": 1.5,
        "hz": 666.0,
        "mean": 1.5,
        "samples": samples,
    } | fields


read = reader("file.json")


def vitest(**groups):
    """Return a file of Vitest 1."""
    return {"numTotalTestSuites": len(groups), "numTotalTests": len(groups), "testResults": groups}


def vitest_2(samples):
    """Return a file of Vitest 2, which writes no samples."""
    group = {
        "fullName": "a.bench.ts > arrays",
        "benchmarks": [result(samples=samples, sampleCount=518, id="1_0")],
    }
    return {"files": [{"filepath": "a.bench.ts", "groups": [group]}]}


LATENCY = {"totalTime": 3.0, "period": 1.5, "latency": {"rme": 1.0, "samples": [1.0, 2.0]}}
MEAN = {"time": 0.0015, "loops": 518, "group": "a.bench.ts > arrays"}
ADVICE = "no values but their mean.*unknown. Vitest writes samples up to version 1"

test_what_is_read = readings(
    read,
    [
        (
            "samples are iterations in milliseconds",
            vitest(arrays=[result()]),
            {
                "time": [[[0.001, 0.002]]],
                "benchmark": "sort",
                "group": "arrays",
                "format": "vitest",
            },
        ),
        (
            "groups are in labels that need them",
            vitest(arrays=[result()], lists=[result(samples=[3.0])]),
            {"benchmark": ["sort[group=arrays]", "sort[group=lists]"]},
        ),
        *(
            (f"tinybench: {kind}", [row], {"time": [[[0.001, 0.002]]], "absent": ["group"]})
            for kind, row in (
                ("a list of results", result()),
                ("a list of tasks", {"name": "sort", "runs": 2, "result": result()}),
                ("a list of samples", {"name": "sort", "hz": 666.0, "samples": [1.0, 2.0]}),
                ("results since version 3", {"name": "sort", "result": LATENCY}),
            )
        ),
        ("a mean alone is one value", vitest_2([]), MEAN, ADVICE),
        ("a text instead of samples is none", vitest_2("ignore on terminal"), MEAN, ADVICE),
        *(
            (
                f"a benchmark that threw is a failed run, and named: {kind}",
                [result(), {"name": "broken", **fields}],
                {
                    "time": [[[0.001, 0.002]], [[NAN, NAN]]],
                    "failed": [[[False, False]], [[True, False]]],
                    "notes": ["failed_entries"],
                },
                (
                    f"1 benchmark has failed runs: 'broken: {reason}'. Failed runs have no "
                    f"time; all others "
                    "are read"
                ),
            )
            for kind, fields, reason in (
                (
                    "with a message",
                    {"result": {"error": {"message": "out of range"}}},
                    "out of range",
                ),
                (
                    "an error loses its message in JSON",
                    {"result": {"error": {}}},
                    "it threw an error",
                ),
                (
                    "tinybench since version 5 states it",
                    {"result": {"state": "errored", "error": {}}},
                    "errored",
                ),
                (
                    "a task that was stopped before its end",
                    {"result": {"state": "aborted"}},
                    "aborted",
                ),
                ("a task that never ran", {"runs": 0}, "it has no mean"),
            )
        ),
        (
            "one without a mean threw: Vitest writes nothing else of it",
            {
                "files": [
                    {
                        "filepath": "f",
                        "groups": [
                            {
                                "fullName": "g",
                                "benchmarks": [
                                    result(samples=[], sampleCount=5),
                                    {
                                        "id": "1",
                                        "name": "throws",
                                        "rank": 0,
                                        "rme": 0,
                                        "samples": [],
                                    },
                                    {
                                        "id": "2",
                                        "name": "null",
                                        "rank": 0,
                                        "rme": None,
                                        "mean": None,
                                        "samples": [],
                                    },
                                ],
                            }
                        ],
                    }
                ]
            },
            {
                "benchmark": ["sort", "throws", "null"],
                "time": [[[0.0015]], [[NAN]], [[NAN]]],
                "failed": [[[False]], [[True]], [[True]]],
                "notes": ["means_only", "failed_entries"],
            },
            "2 benchmarks have failed runs: 'throws: it has no mean', 'null: it has no mean'",
        ),
        (
            "one of which no sample is a number was not measured",
            [result(), result("other", samples=[None, NAN])],
            {
                "time": [[[0.001, 0.002]], [[NAN, NAN]]],
                "absent": ["failed"],
                "notes": ["no_numbers"],
            },
            "2 values are missing: \"benchmark 'other': 'samples': value 0 is null\"",
        ),
        (
            "a time of 0 is one that the clock does not see, and counts in the mean",
            [result(samples=[0.0, 1.0, 0.0, 0.0])],
            {"time": [[[0.0, 0.001, 0.0, 0.0]]], "notes": []},
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "file.json",
    [
        (
            [result(samples=[1.0, "x"])],
            "benchmark 'sort': 'samples': value 1 is 'x'; expected a number",
        ),
        (
            [result(samples=[], mean=-1.5)],
            "benchmark 'sort': 'mean': value 0 is -1.5; expected a number from 0",
        ),
    ],
)
