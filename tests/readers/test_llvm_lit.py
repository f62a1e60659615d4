"""Results of LLVM's lit: metrics, tests that failed or were not executed, micro-benchmarks."""

from readers.files_of_our_own import NAN, reader, readings, refusals


def result(name="test-suite :: a.test", code="PASS", **metrics):
    """Return one test."""
    return {"name": name, "code": code, "elapsed": 0.5, "output": "\n"} | (
        {"metrics": metrics} if metrics else {}
    )


def lit(*tests):
    """Return what `--output` writes."""
    return {"__version__": [17, 0, 0], "elapsed": 9.5, "tests": list(tests)}


B = result("test-suite :: b.test", exec_time=2.5, compile_time=1.0)
METRICS = {
    "exec_time": 1.5,
    "compile_time": 0.0,
    "link_time": 0.25,
    "size": 4096,
    "size..text": 1024,
    "hash": "d41d8",
}

read = reader("results.json")

test_what_is_read = readings(
    read,
    [
        (
            "a file is one execution; known metrics are variables, others coordinates",
            lit(result(**METRICS)),
            {
                "benchmark": "test-suite :: a.test",
                "time": [[[1.5]]],
                "compile_time": 0.0,
                "link_time": 0.25,
                "size": 4096,
                "size.units": "B",
                "size..text": 1024,
                "hash": "d41d8",
                "code": "PASS",
                "metrics": ["time", "compile_time", "link_time", "size"],
                "format": "llvm_lit",
            },
        ),
        (
            "an exec_time of 0 was not measured; the other metrics were",
            lit(result(exec_time=0.0, compile_time=0.5), B),
            {"time": [[[NAN]], [[2.5]]], "compile_time": [[[0.5]], [[1.0]]]},
            (
                r"1 value is missing: 'test-suite :: a.test: exec_time is 0, so it was not "
                r"executed'. All others are read"
            ),
        ),
        (
            "a test that failed is marked, and named with its code",
            lit(result(code="FAIL", exec_time=0.1), B, result("c", "NOEXE")),
            {
                "failed": [[[True]], [[False]], [[True]]],
                "time": [[[NAN]], [[2.5]], [[NAN]]],
                "code": ["FAIL", "PASS", "NOEXE"],
                "notes": ["failed_entries"],
            },
            (
                r"2 benchmarks have failed runs: 'test-suite :: a.test: its code is FAIL', 'c: "
                r"its code is NOEXE'"
            ),
        ),
        (
            "a test that was not executed is left out, and named",
            lit(result("c", "UNSUPPORTED"), B),
            {"time": 2.5, "notes": ["no_numbers"]},
            "1 value is missing: 'c: its code is UNSUPPORTED'",
        ),
        (
            "tests without metrics are no benchmarks",
            lit(result(), B),
            {"benchmark": "test-suite :: b.test"},
        ),
        (
            "a file may have sizes of programs alone",
            lit(result(size=5)),
            {"size": 5, "metric": "size"},
        ),
        (
            "tests that were compiled alone have times of the compiler",
            lit(result(exec_time=0, compile_time=0.5)),
            {"compile_time": 0.5, "metrics": ["compile_time"], "metric": "compile_time"},
            "it was not executed",
        ),
        (
            "a micro-benchmark has a time without a unit",
            lit(B, result("test-suite :: m.test:BM_x/8", exec_time=350.5)),
            {
                "time": [[[2.5]], [[NAN]]],
                "micro_time": [[[NAN]], [[350.5]]],
                "micro_time.units": "1",
            },
            "micro-benchmarks have times without a unit",
        ),
        (
            "a metric that is no number is named, and the rest is read",
            lit(result(exec_time=None, compile_time=0.5), B),
            {"time": [[[NAN]], [[2.5]]], "compile_time": [[[0.5]], [[1.0]]]},
            "'test-suite :: a.test: exec_time is null'",
        ),
        (
            "thousands of statistics are not read",
            lit(result(exec_time=1.5, **{f"pass.N{index}": 1 for index in range(2000)})),
            {"time": 1.5, "coords": ["benchmark", "code", "execution", "iteration"]},
            "2000 further metrics are not read, 'pass.N0' is the first",
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "results.json",
    [
        (
            lit(result(), result("b", "FAIL")),
            "has no metrics in any of its 2 tests; those of LLVM's test-suite have some",
        ),
        (
            lit(result(name=5, exec_time=1.0)),
            r"is not as llvm_lit writes it: tests\[0\].name is 5; expected a text",
        ),
        (lit(result(exec_time=0.0)), "holds no measurement"),
    ],
)
