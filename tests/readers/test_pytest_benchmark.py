"""pytest-benchmark's JSON: rounds, or their mean alone; machine and commit."""

from readers.files_of_our_own import NAN, read_placed, reader, readings, refusals


def bench(name="test_sort", data=(1.0, 2.0), **fields):
    stats = {"mean": 1.5, "rounds": 2, "iterations": 10} | ({"data": list(data)} if data else {})
    return {
        "name": name,
        "fullname": f"tests/test_a.py::{name}",
        "group": None,
        "params": None,
        "stats": stats,
    } | fields


read = reader("file.json")

SORT = "tests/test_a.py::test_sort"
MACHINE = {"node": "box", "machine": "x86_64", "system": "Linux", "python_version": "3.14.0"}
WITH_CPU = MACHINE | {"cpu": {"brand_raw": "A CPU", "count": 8}}
COMMIT = {"id": "abc", "branch": "main", "time": "2026-01-01T00:00:00", "dirty": True}

test_what_is_read = readings(
    read,
    [
        (
            "a value is the mean of a round, `loops` what a round held",
            {"benchmarks": [bench()]},
            {
                "benchmark": [SORT],
                "time": [[[1.0, 2.0]]],
                "loops": [[[10.0, 10.0]]],
                "format": "pytest_benchmark",
                "metric": "time",
            },
        ),
        (
            "parameters are coordinates",
            {"benchmarks": [bench(f"test_sort[{n}]", params={"n": n}, group="g") for n in (1, 2)]},
            {
                "benchmark": [f"{SORT}[1]", f"{SORT}[2]"],
                "benchmark_name": [SORT, SORT],
                "n": [1, 2],
                "group": ["g", "g"],
            },
        ),
        (
            (
                "without --benchmark-save-data the mean of all rounds is the one value, and "
                "its loops "
                "are all of them"
            ),
            {"benchmarks": [bench(data=())]},
            {"time": 1.5, "loops": 20},
            "no values but their mean",
        ),
        (
            "rounds that are missing are noted",
            {"benchmarks": [bench(data=(1.0,))]},
            {"time": 1.0},
            r"benchmarks\[0\] has 1 of 2 rounds",
        ),
        (
            "a time of 0 is a value, and what is no number is missing and named",
            {"benchmarks": [bench(data=(0.0, 1.0)), bench(fullname="t::b", data=(None, 2.0))]},
            {"time": [[[0.0, 1.0]], [[NAN, 2.0]]], "notes": ["no_numbers"]},
            r"1 value is missing: \"t::b: benchmarks\[1\]: 'data': value 0 is null\"",
        ),
        (
            "descriptions of machine, interpreter and commit are coordinates",
            {"benchmarks": [bench()], "machine_info": WITH_CPU, "commit_info": COMMIT},
            {
                "machine": "box",
                "architecture": "x86_64",
                "os": "Linux",
                "cpu": "A CPU",
                "logical_cores": 8,
                "commit": "abc",
                "dirty": "True",
            },
        ),
        (
            "old files know no processor",
            {"benchmarks": [bench()], "machine_info": MACHINE},
            {"absent": ["cpu"]},
        ),
    ],
)


ONE = {"mean": 1.5, "rounds": 1, "iterations": 10}

test_files_are_executions = readings(
    read_placed,
    [
        (
            "where they say what differs, the machine stays known",
            (
                "{execution}.json",
                {
                    f"{number}.json": {
                        "benchmarks": [bench(stats=ONE | {"data": [time]})],
                        "machine_info": {"node": machine},
                    }
                    for number, machine, time in ((0, "a", 1.0), (1, "b", 2.0))
                },
            ),
            {"time": [[[1.0], [2.0]]], "machine.dims": ("execution",), "machine": ["a", "b"]},
        ),
    ],
)
test_what_is_wrong_is_said = refusals(
    read,
    "file.json",
    [
        (
            {"benchmarks": [bench(data=(1.0, "..."))]},
            r"benchmarks\[0\]: 'data': value 1 is '\.\.\.'; expected a number from 0",
        ),
    ],
)
