"""Patterns of home-grown files: dims, labels of lists, and units beside numbers."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import NAN, check, reader, readings, write

read = reader("a.csv")
read_json = reader("a.json")

PHASES = {"new": {"warmup": [9.0], "runs": [1.0, 2.0]}, "old": {"warmup": [], "runs": [3.0]}}
ROWS = {
    "host": "h",
    "results": [{"name": "fft", "n": 8, "s": [1.0]}, {"name": "sort", "n": 9, "s": [2.0, 4.0]}],
}
COLUMNS = "gzip,,\n ,r1, r10\ncpu,X,X\nTime,5,6\nTime,7,\n"
NOTE = "1 rows have text where numbers are expected.*passed over"

test_patterns = readings(
    lambda folder, content: read(folder, content[0], **content[1]),
    [
        (
            "names in a pattern become dims, plain keys select",
            (PHASES, {"pattern": "{version}/runs/{iteration} = time_ms"}),
            {"time": [[[1e-3, 2e-3]], [[3e-3, NAN]]], "rtol": 1e-7},
        ),
        (
            "every name is a dim",
            (PHASES, {"pattern": "{version}/{phase}/{iteration}"}),
            {
                "time.dims": ("version", "phase", "execution", "iteration"),
                "time": [[[[9.0, NAN]], [[1.0, 2.0]]], [[[NAN] * 2], [[3.0, NAN]]]],
            },
        ),
        (
            "values beside the numbers are metadata",
            (ROWS, {"pattern": "results/{place}/s/{execution}", "dims": {"benchmark": "name"}}),
            {"benchmark": ["fft", "sort"], "host": "h"},
        ),
        (
            "columns are repetitions; lines above the heads and rows of text are passed over",
            (COLUMNS, {"pattern": "r{execution} = time_ms", "dims": {"benchmark": 0}}),
            {"benchmark": ["Time"], "time": [[[0.005, 0.007], [0.006, NAN]]], "rtol": 1e-7},
            NOTE,
        ),
        (
            "a column without a head has a name",
            (COLUMNS, {"pattern": "r{execution} = time_ms"}),
            {"column_0": "Time", "absent": ["0"]},
            NOTE,
        ),
        (
            "a column that `dims` names holds no values",
            (
                "program,old,new\nfft,5,6\n",
                {"pattern": "{version} = time_ms", "dims": {"benchmark": "program"}},
            ),
            {"version": ["old", "new"], "time": [[[5e-3], [6e-3]]], "rtol": 1e-7},
        ),
    ],
)


ENTRIES = [{"case": "fft", "ms": 5.0}, {"case": "sort", "ms": 7.0}]
TWICE = [{"case": "fft", "ms": 5.0}, {"case": "fft", "ms": 6.0}, {"case": "sort", "ms": 7.0}]
NESTED = [
    {"suite": "a", "tests": [{"id": "x", "s": 1.0}]},
    {"suite": "b", "tests": [{"id": "x", "s": 2.0}, {"id": "y", "s": 3.0}]},
]
CROSSED = [
    {"lang": lang, "test": test, "s": 1.0} for lang in ("C", "Go") for test in ("fft", "sort")
]
UNEQUAL = {"old": [1.0, 2.0, 3.0], "new": [1.0, 2.0]}

test_labels_of_lists = readings(
    lambda folder, content: read(folder, content[0], **content[1]),
    [
        (
            "the text beside a number is the label, not its place",
            (ENTRIES, {"pattern": "{place}/ms = time_ms"}),
            {"place": ["fft", "sort"], "time": [[5e-3], [7e-3]], "rtol": 1e-15},
        ),
        (
            "also under the name of the usual dim",
            (ENTRIES, {"pattern": "{benchmark}/ms = time_ms"}),
            {"benchmark": ["fft", "sort"]},
        ),
        (
            "where the caller names the label, the place is no dim",
            (ENTRIES, {"pattern": "{i}/ms = time_ms", "dims": {"benchmark": "case"}}),
            {"benchmark": ["fft", "sort"], "sizes": {"benchmark": 2, "execution": 1}},
        ),
        (
            "unless the caller names it",
            (ENTRIES, {"pattern": "{i}/ms = time_ms", "dims": {"number": "i"}}),
            {"number": [0, 1]},
        ),
        (
            "each list has labels of its own",
            (NESTED, {"pattern": "{suite}/tests/{benchmark}/s"}),
            {
                "suite": ["a", "b"],
                "benchmark": ["x", "y"],
                "time": [[[1.0], [2.0]], [[NAN], [3.0]]],
            },
        ),
        (
            "a name comes before other texts, which are dims if they tell entries apart",
            (CROSSED, {"pattern": "{benchmark}/s"}),
            {
                "benchmark": ["fft", "sort"],
                "lang": ["C", "Go"],
                "sizes": {"benchmark": 2, "lang": 2, "execution": 1},
            },
        ),
        (
            "units and signs are no labels",
            ([{"unit": "s", "range": "± 3", "t": 1.0}] * 2, {"pattern": "{place}/t"}),
            {"place": [0, 1]},
        ),
        (
            "a parameter is the label where no text is",
            ([{"n": n, "iterations": 9 - n, "t": 1.0} for n in (8, 2)], {"pattern": "{place}/t"}),
            {"place": [8, 2]},
        ),
        (
            "of two numbers none is the parameter",
            ([{"a": n, "b": -n, "t": 1.0} for n in (8, 2)], {"pattern": "{place}/t"}),
            {"place": [0, 1]},
        ),
        (
            "entries alike in all labels are repetitions, with a note",
            (TWICE, {"pattern": "{i}/ms = time_ms", "dims": {"benchmark": "case"}}),
            {"benchmark": ["fft", "sort"], "time": [[5e-3, 6e-3], [7e-3, NAN]], "rtol": 1e-15},
            "entries of a list have the same labels",
        ),
        (
            "places in lists of different lengths do not correspond",
            (UNEQUAL, {"pattern": "{version}/{place}"}),
            {"place": ["0 of 3", "1 of 3", "2 of 3", "0 of 2", "1 of 2"]},
            "lists of 2 and 3 entries have no labels but their places",
        ),
        (
            "places in lists of one length do",
            ({"old": [1.0, 2.0], "new": [3.0, 4.0]}, {"pattern": "{version}/{place}"}),
            {"place": [0, 1]},
        ),
    ],
)


def test_a_list_that_grows_and_is_reordered(tmp_path):
    """Each entry is compared with that of its name: fft takes 5 ms on both sides, sort 7 ms."""
    write(tmp_path / "old.json", ENTRIES)
    write(tmp_path / "new.json", [{"case": "scan", "ms": 1.0}, *reversed(ENTRIES)])
    for options in (
        {"pattern": "{place}/ms = time_ms"},
        {"pattern": "{place}/ms = time_ms", "dims": {"place": "case"}},
    ):
        times = perfarray.read_archive(tmp_path, layout="{version}.json", **options)[
            "time"
        ].squeeze()
        check(times.to_dataset().sel(version="new"), rtol=1e-15, place=["scan", "sort", "fft"])
        np.testing.assert_allclose(
            times.sel(version="old", place=["fft", "sort"]), [5e-3, 7e-3], rtol=1e-15
        )
        np.testing.assert_allclose(
            times.sel(version="new", place=["fft", "sort"]), [5e-3, 7e-3], rtol=1e-15
        )


def test_places_of_lists_with_different_lengths_are_not_compared(tmp_path):
    """Nothing tells which of three numbers is which of two: no cell is measured in both files."""
    write(tmp_path / "old.json", [1.0, 2.0, 3.0])
    write(tmp_path / "new.json", [1.0, 2.0])
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="not compared by position.*make them repetitions with {execution} for {k}",
    ):
        times = perfarray.read_archive(tmp_path, layout="{version}.json", pattern="{k}")
    assert not times["time"].notnull().all("version").any()
    assert (
        perfarray.read_archive(tmp_path, layout="{version}.json", pattern="{execution}").sizes[
            "execution"
        ]
        == 3
    )


MIXED = [{"name": "a", "unit": "ms", "value": 12.5}, {"name": "b", "unit": "us", "value": 820}]
MEMORY = {"name": "m", "unit": "MB", "value": 120}
NAMES = {"dims": {"benchmark": "name"}}
MB = (
    "1 values are in 'MB', which is not 's'. They are left out. pattern='{i}/value = value "
    "\\[MB]' reads those in 'MB'"
)

test_units_beside_numbers = readings(
    lambda folder, content: read(folder, content[0], **content[1]),
    [
        (
            "the unit beside a number takes precedence, entry by entry",
            (MIXED, {"pattern": "{i}/value = time_s", **NAMES}),
            {"time": [[0.0125], [0.00082]], "time.units": "s", "absent": ["unit"], "rtol": 1e-14},
        ),
        (
            "also where the pattern states none",
            (MIXED[:1], {"pattern": "{i}/value", **NAMES}),
            {"time": 0.0125, "rtol": 1e-14},
        ),
        (
            "whatever the quantity is called",
            (MIXED, {"pattern": "{i}/value = latency", **NAMES}),
            {"latency": [[0.0125], [0.00082]], "latency.units": "s", "rtol": 1e-14},
        ),
        (
            "a unit above the numbers holds for all of them",
            ({"time_unit": "us", "runs": [5, 7]}, {"pattern": "runs/{iteration}"}),
            {"time": [[5e-6, 7e-6]], "rtol": 1e-14},
        ),
        (
            "the nearest unit holds",
            (
                {"units": "s", "runs": [{"name": "a", "units": "ns", "t": 5}]},
                {"pattern": "runs/{i}/t"},
            ),
            {"time": 5e-9, "rtol": 1e-14},
        ),
        (
            "a unit may be that of one key",
            (
                [{"name": "a", "size": 5, "size_unit": "kB", "time_unit": "ms"}],
                {"pattern": "{i}/size = size"},
            ),
            {"size": 5, "size.units": "kB"},
        ),
        (
            "a number is no unit",
            ([{"name": "a", "units": 3, "t": 5}], {"pattern": "{i}/t"}),
            {"time": 5, "units": 3},
        ),
        (
            "values in another unit are left out, with the pattern that reads them",
            ([*MIXED, MEMORY], {"pattern": "{i}/value", **NAMES}),
            {
                "benchmark": ["a", "b"],
                "time": [[0.0125], [0.00082]],
                "notes": ["other_units"],
                "rtol": 1e-14,
            },
            MB,
        ),
        (
            "which it does",
            ([*MIXED, MEMORY], {"pattern": "{i}/value = value [MB]", **NAMES}),
            {"benchmark": ["m"], "value": 120, "value.units": "MB"},
            "2 values are in 'ms', 'us', which is not 'MB'",
        ),
        (
            "a unit that is a dim is that which the values get",
            (MIXED, {"pattern": "{i}/value", "dims": {"benchmark": "name", "unit": "unit"}}),
            {"unit": ["s"], "benchmark": ["a", "b"]},
        ),
        (
            "in a table the unit stands in a column",
            ("name,unit,r1,r2\na,us,5,7\n", {"pattern": "r{execution} = time_ms", **NAMES}),
            {"time": [[5e-6, 7e-6]], "rtol": 1e-14},
        ),
        (
            "`units=` states the unit of a file that does not",
            ([5.0], {"pattern": "{execution}", "units": "ms"}),
            {"time": 5e-3, "rtol": 1e-14},
        ),
        (
            "and yields to what stands beside a number",
            (MIXED[1:], {"pattern": "{i}/value", "units": "ms"}),
            {"time": 0.00082, "rtol": 1e-14},
        ),
        (
            "of any quantity",
            ([5.0], {"pattern": "{execution} = rate", "units": "MB/s"}),
            {"rate": 5.0, "rate.units": "MB/s", "rate.better": "higher"},
        ),
        (
            "what is no time is called a value",
            ([5.0], {"pattern": "{execution}", "units": "J"}),
            {"value": 5.0, "value.units": "J"},
        ),
    ],
)
