"""Vitest's and tinybench's JSON: samples in milliseconds, groups, means alone, errors."""

from readers.files_of_our_own import NAN, reader, readings, refusals


def result(name="sort", samples=(1.0, 2.0), **more):
    """Return one result as tinybench had it up to version 2."""
    return {"name": name, "rme": 1.5, "totalTime": 3.0, "period": 1.5, "hz": 666.0, "mean": 1.5, "samples": samples} | more


read = reader("file.json")


def vitest(**groups):
    """Return a file of Vitest 1."""
    return {"numTotalTestSuites": len(groups), "numTotalTests": len(groups), "testResults": groups}


def vitest_2(samples):
    """Return a file of Vitest 2, which writes no samples."""
    group = {"fullName": "a.bench.ts > arrays", "benchmarks": [result(samples=samples, sampleCount=518, id="1_0")]}
    return {"files": [{"filepath": "a.bench.ts", "groups": [group]}]}


LATENCY = {"totalTime": 3.0, "period": 1.5, "latency": {"rme": 1.0, "samples": [1.0, 2.0]}}
MEAN = {"time": 0.0015, "loops": 518, "group": "a.bench.ts > arrays"}
ADVICE = "no values but their mean.*; Vitest writes samples up to version 1"

test_what_is_read = readings(read, [
    ("samples are iterations in milliseconds", vitest(arrays=[result()]),
     {"time": [[[0.001, 0.002]]], "benchmark": "sort", "group": "arrays", "format": "vitest"}),
    ("groups are in labels that need them", vitest(arrays=[result()], lists=[result(samples=[3.0])]),
     {"benchmark": ["sort[group=arrays]", "sort[group=lists]"]}),
    *((f"tinybench: {kind}", [row], {"time": [[[0.001, 0.002]]], "absent": ["group"]}) for kind, row in (
        ("a list of results", result()),
        ("a list of tasks", {"name": "sort", "runs": 2, "result": result()}),
        ("a list of samples", {"name": "sort", "hz": 666.0, "samples": [1.0, 2.0]}),
        ("results since version 3", {"name": "sort", "result": LATENCY}))),
    ("a mean alone is one value", vitest_2([]), MEAN, ADVICE),
    ("a text instead of samples is none", vitest_2("ignore on terminal"), MEAN, ADVICE),
    ("an error is a failed run", [result(), {"name": "broken", "result": {"error": {"message": "x"}}}],
     {"time": [[[0.001, 0.002]], [[NAN, NAN]]], "failed": [[[False, False]], [[True, False]]]}),
    ("a time of nothing is below the clock", [result(samples=[0.0, 1.0])], {"time": [[[NAN, 0.001]]]}, "1 times are 0"),
])  # fmt: skip
test_what_is_wrong_is_said = refusals(read, "file.json", [
    ([result(samples=[1.0, "x"])], "benchmark 'sort': 'samples': value 1 is 'x'; expected a number"),
    ([result(samples=[], mean=None)], "benchmark 'sort': 'mean': value 0 is None; expected a number"),
])  # fmt: skip
