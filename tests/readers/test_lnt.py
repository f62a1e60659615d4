"""LNT's reports: samples, metrics, statuses, both formats."""

from readers.files_of_our_own import NAN, reader, readings, refusals


def second(*tests, **run):
    """Return a report of format 2."""
    machine = {"name": "box", "hardware": "x86_64", "os": "linux"}
    return {
        "format_version": "2",
        "machine": machine,
        "run": {"start_time": "2017-07-18T11:18:15"} | run,
        "tests": list(tests),
    }


def first(**data):
    """Return a report of the format before: a test for each metric of `SingleSource/a`."""
    tests = [
        {"Name": f"nts.SingleSource/a{end}", "Info": {}, "Data": values}
        for end, values in data.items()
    ]
    run = {
        "Start Time": "2013-07-18 11:18:15",
        "End Time": "x",
        "Info": {"tag": "nts", "run_order": "1234"},
    }
    return {"Machine": {"Name": "box", "Info": {"os": "linux"}}, "Run": run, "Tests": tests}


A = {
    "name": "SingleSource/a",
    "execution_time": [0.5, 0.6],
    "compile_time": 13.5,
    "hash": "d41d8",
    "score": [3.0, 4.0],
}
B = {"name": "b", "execution_time": 2.5}

read = reader("report.json")

test_what_is_read = readings(
    read,
    [
        (
            "samples are executions",
            second(A, llvm_project_revision="154331"),
            {
                "time": [[[0.5], [0.6]]],
                "compile_time": [[[13.5], [NAN]]],
                "score": [[[3.0], [4.0]]],
                "score.better": "higher",
                "hash": "d41d8",
                "benchmark": "SingleSource/a",
                "machine": "box",
                "os": "linux",
                "commit": "154331",
                "date": "2017-07-18T11:18:15",
                "format": "lnt",
            },
        ),
        (
            "bytes are variables, and metrics of other names coordinates",
            second(B | {"code_size": 64, "mem_bytes": 32, "branches": 7}),
            {"code_size": 64, "memory": 32, "memory.units": "B", "branches": 7},
        ),
        (
            "the format before has a test for each metric",
            first(
                **{".exec": [0.5, 0.6], ".compile": [13.5], ".hash": ["d41d8"], ".code_size": [64]}
            ),
            {
                "time": [[[0.5], [0.6]]],
                "compile_time": [[[13.5], [NAN]]],
                "benchmark": "SingleSource/a",
                "machine": "box",
                "os": "linux",
                "commit": "1234",
                "date": "2013-07-18 11:18:15",
            },
        ),
        (
            "a status of 1 is a failure",
            second({"name": "a", "execution_status": 1}, B),
            {
                "failed": [[[True]], [[False]]],
                "time": [[[NAN]], [[2.5]]],
                "notes": ["failed_entries"],
            },
            "1 benchmark has failed runs: 'a: execution_status says that it failed'",
        ),
        (
            "the status of a hash is none of the program",
            second(B | {"hash_status": 1}),
            {"time": 2.5},
        ),
        (
            "so it is in the format before",
            first(**{".exec": [0.5], ".exec.status": [1]}),
            {"failed": True},
            "execution_status says",
        ),
        (
            "an end of a name that says nothing is named",
            first(**{".exec": [0.5], ".other": [1]}),
            {"time": 0.5},
            "1 value is missing: 'nts.SingleSource/a.other: its end names no metric'",
        ),
        (
            "a sample that is no number is named, and the rest is read",
            second(A | {"execution_time": [0.5, None]}, B),
            {"time": [[[0.5], [NAN]], [[2.5], [NAN]]]},
            "1 value is missing: 'SingleSource/a: execution_time is null'",
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "report.json",
    [
        (second(B) | {"machine": 5}, "is not as lnt writes it: machine is 5; expected an object"),
        (second({"name": "a"}), "holds no measurement"),
        (first(**{".exec": 5}), r"is not as lnt writes it: Tests\[0\].Data is 5; expected a list"),
    ],
)
