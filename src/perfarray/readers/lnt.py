"""LNT reports (`lnt runtest`), of format 2 and of the one before: a sample is an execution.

A report of the first format has a test for each metric of a benchmark, `nts.a/b.exec`; it is read
as one of format 2.
"""

from typing import Any

import numpy as np

from perfarray.conventions import HIGHER, LOWER, SECONDS, TIME
from perfarray.readers.entries import (
    FAILED,
    SHOWN,
    Entry,
    Run,
    amount_or_nan,
    renamed,
    table_of_entries,
)
from perfarray.readers.opening import Source
from perfarray.readers.shapes import ANY, TEXT, Either, has_keys, rows_with
from perfarray.tables.columns import Table

NAME = "lnt"
METRICS = {
    "execution_time": TIME,
    "compile_time": "compile_time",
    "score": "score",
    "mem_bytes": "memory",
    "code_size": "code_size",
}
KINDS = {
    TIME: (SECONDS, LOWER),
    "compile_time": (SECONDS, LOWER),
    "score": ("1", HIGHER),
    "memory": ("B", LOWER),
    "code_size": ("B", LOWER),
}
# Ends of names in the first format
ENDS = {
    ".exec": "execution_time",
    ".compile": "compile_time",
    ".score": "score",
    ".mem": "mem_bytes",
    ".code_size": "code_size",
    ".hash": "hash",
    ".exec.status": "execution_status",
    ".compile.status": "compile_status",
    ".hash.status": "hash_status",
}
STATUSES = ("execution_status", "compile_status")
FAILURES = (1, "1", "FAIL")
MACHINE = {
    "name": "machine",
    "Name": "machine",
    "hardware": "hardware",
    "os": "os",
    "cpu": "cpu",
    "kernel": "kernel",
}
RUN = {
    "start_time": "date",
    "Start Time": "date",
    "llvm_project_revision": "commit",
    "git_sha": "commit",
    "run_order": "commit",
    "cc_name": "cc_name",
    "cc_version_number": "cc_version",
    "cc_target": "cc_target",
    "OPTFLAGS": "opt_flags",
    "TARGET_FLAGS": "target_flags",
}
FIRST = {
    "Machine": {"Name": TEXT, "Info?": {}},
    "Run": {"Info?": {}},
    "Tests": [{"Name": TEXT, "Data": [ANY]}],
}
SHAPE = Either({"format_version": ANY, "machine": {}, "run": {}, "tests": [{"name": TEXT}]}, FIRST)

started = has_keys("machine|Machine", "run|Run", "tests|Tests")


def recognise(source: Source) -> bool:
    """Return whether the content is a machine, a run and tests."""
    content = source.json_object
    second = {"format_version", "machine", "run"} <= content.keys() and rows_with(
        content.get("tests"), "name"
    )
    return second or (
        {"Machine", "Run"} <= content.keys() and rows_with(content.get("Tests"), "Name", "Data")
    )


def read(source: Source) -> Table:
    """Read the samples: benchmark x execution x iteration."""
    content = source.json
    second = "tests" in content
    machine, run = (content[key if second else key.title()] for key in ("machine", "run"))
    file_metadata = renamed(
        *(
            (section, names)
            for fields, names in ((machine, MACHINE), (run, RUN))
            for section in (fields.get("Info") or {}, fields)
        )
    )
    tests = content["tests"] if second else _tests_of_first_format(source, content["Tests"])
    entries = [_entry(source, test) for test in tests]
    return table_of_entries(source, entries, kinds=KINDS, file_metadata=file_metadata)


def _tests_of_first_format(source: Source, tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one test for each benchmark.

    The name of the suite, such as `nts`, comes before its first dot.
    """
    test_by_name: dict[str, dict[str, Any]] = {}
    for test in tests:
        end = next(
            (end for end in sorted(ENDS, key=len, reverse=True) if test["Name"].endswith(end)), None
        )
        if end is None:
            source.no_numbers.append(f"{test['Name'][:SHOWN]}: its end names no metric")
            continue
        name = test["Name"].removesuffix(end).partition(".")[2]
        fields = test_by_name.setdefault(name, {"name": name})
        fields[ENDS[end]] = [*fields.get(ENDS[end], []), *test["Data"]]
    return list(test_by_name.values())


def _entry(source: Source, test: dict[str, Any]) -> Entry:
    """Return one benchmark.

    A status of 1 says that it failed, and metrics of other names are counters.
    """
    name = test["name"]
    samples = {
        key: value if isinstance(value, list) else [value]
        for key, value in test.items()
        if key != "name"
    }
    hashes = samples.pop("hash", None) or [None]
    samples.pop("hash_status", None)
    statuses = {key: samples.pop(key, []) for key in STATUSES}
    failures = [
        key for key, column in statuses.items() if any(status in FAILURES for status in column)
    ]
    if failures:
        source.failures.append(f"{name[:SHOWN]}: {failures[0]} says that it failed")
    runs = []
    for sample in range(max(map(len, samples.values()), default=0)):
        numbers = {
            key: np.array([amount_or_nan(source, name, key, column[sample])])
            for key, column in samples.items()
            if sample < len(column)
        }
        values = {METRICS[key]: numbers.pop(key) for key in METRICS if key in numbers}
        runs.append(
            Run(
                values or {TIME: np.array([np.nan])},
                numbers,
                {"failed": np.array([bool(failures)])},
            )
        )
    return Entry(name, runs or [FAILED] * bool(failures), metadata={"hash": hashes[-1]})
