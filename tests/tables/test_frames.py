"""From pandas and Python lists to timings."""

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import perfarray
from readers.files_of_our_own import NAN, check, readings


def long_table():
    """Two programs, two builds with labels of their own, ragged repetitions, a column per kind of
    descriptor."""
    rows = [
        ("fft", "a1", 10, 1, 1.0), ("fft", "a1", 10, 2, 1.1), ("fft", "a1", 12, 1, 1.2),
        ("fft", "b7", 3, 1, 1.3), ("sort", "a1", 4, 1, 2.0), ("sort", "b7", 9, 5, 2.1),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["benchmark", "build", "process", "iteration", "time"])
    return frame.assign(cpu="epyc", suite=frame["benchmark"].map({"fft": "num", "sort": "int"}))


def of_table(columns):
    """Return the timings of a table of these columns; those with a colon are keywords."""
    keywords = {name[1:]: value for name, value in columns.items() if name[0] == ":"}
    return pd.DataFrame(
        {name: value for name, value in columns.items() if name[0] != ":"}
    ).perf.to_timings(**keywords)


LONG = dict(long_table())
RAGGED = {"benchmark": ["a", "a", "b"], "time": [1.0, 2.0, 3.0]}
LOAD = {
    "benchmark": ["a"] * 4,
    "execution": [0, 0, 1, 1],
    "iteration": [0, 1, 0, 1],
    "time": 1.0,
    "load": [0.5, 0.5, 0.7, 0.7],
}
ENERGY = {"benchmark": ["a", "a"], "ms": [10, 20], "joules": [1.5, NAN]}
SCRIPT = {
    "program": ["a", "b"] * 4,
    "compiler": ["gcc"] * 4 + ["clang"] * 4,
    "seconds": range(1, 9),
}
TWELVE = {"benchmark": ["a"] * 6 + ["b"] * 6, "time": np.linspace(1, 2, 12)}
GRID = {"sizes": {"benchmark": 2, "size": 2, "execution": 3}}
RUNS = TWELVE | {"run": [0, 0, 1, 1, 2, 2] * 2}
BUILDS = {
    "benchmark": ["a", "a", "a", "b", "b"],
    "binary": [1, 2, 3, 2, 3],
    "execution": 0,
    "time": [1.0, 2.0, 3.0, 20.0, 30.0],
}
MARKS = {
    "execution": range(4),
    "time": 1.0,
    "warmup": ["true", "False", None, "yes"],
    "failed": [1, 0, 0, NAN],
}

test_what_a_table_says = readings(
    lambda _, columns: of_table(columns),
    [
        (
            (
                "repetitions are renumbered within their parent: 10 and 12 become 0 and 1, an "
                "iteration labelled 5 becomes 0"
            ),
            LONG | {":binary": "build", ":execution": "process"},
            {
                "time.dims": ("benchmark", "binary", "execution", "iteration"),
                "time": [
                    [[[1.0, 1.1], [1.2, NAN]], [[1.3, NAN], [NAN] * 2]],
                    [[[2.0, NAN], [NAN] * 2], [[2.1, NAN], [NAN] * 2]],
                ],
                "suite": ["num", "int"],
                "suite.dims": ("benchmark",),
                "cpu.dims": (),
                "cpu": "epyc",
            },
        ),
        (
            "what describes an execution is a coordinate along everything down to it",
            LOAD,
            {"load": [[0.5, 0.7]], "load.dims": ("benchmark", "execution")},
        ),
        (
            "rows nothing tells apart are numbered",
            RAGGED,
            {"time.dims": ("benchmark", "execution"), "time": [[1.0, 2.0], [3.0, NAN]]},
        ),
        (
            "rows nothing tells apart are numbered along the level that is named",
            RAGGED | {":level": "session"},
            {"time.dims": ("benchmark", "session")},
        ),
        (
            "rows of one execution are iterations",
            {"execution": [0, 0, 1], "time": [1.0, 2.0, 3.0]},
            {"time.dims": ("execution", "iteration"), "time": [[1.0, 2.0], [3.0, NAN]]},
        ),
        (
            "a table without repetitions gets one",
            {"benchmark": ["a", "b"], "time": [1.0, 2.0]},
            {"time.dims": ("benchmark", "execution"), "time": [[1.0], [2.0]]},
        ),
        (
            (
                "several metrics have units; times become seconds, other units stay; the first "
                "is the "
                "main one"
            ),
            ENERGY
            | {
                ":value": {"time": "ms", "energy": "joules"},
                ":units": {"time": "ms", "energy": "J"},
            },
            {
                "time": [[0.01, 0.02]],
                "time.attrs": {"units": "s", "better": "lower"},
                "energy.units": "J",
                "metric": "time",
            },
        ),
        (
            "better is kept",
            {
                "benchmark": ["a"],
                "rate": [10.0],
                ":value": "rate",
                ":units": "ops/s",
                ":better": "higher",
            },
            {"rate.better": "higher"},
        ),
        (
            (
                "marks become boolean coordinates: words and numbers are understood, and what is "
                "missing is False"
            ),
            MARKS,
            {"warmup": [True, False, False, True], "failed": [True, False, False, False]},
        ),
        (
            (
                "a column claimed under another name is not a dim of its own (third script of "
                "SCRIPTS.md)"
            ),
            SCRIPT | {":value": "seconds", ":benchmark": "program", ":version": "compiler"},
            {"sizes": {"benchmark": 2, "version": 2, "execution": 2}},
        ),
        ("numbers that recur are labels", TWELVE | {"size": [10, 1000] * 6}, GRID),
        (
            "numbers that recur are labels, whatever else numbers the rows",
            TWELVE | {"size": [10, 1000] * 6, "execution": [0, 0, 1, 1, 2, 2] * 2},
            GRID,
        ),
        (
            "a load average and a time stamp are known for every row",
            TWELVE | {"load": np.linspace(0.1, 0.2, 12), "stamp": range(12)},
            {"sizes": {"benchmark": 2, "execution": 6}},
        ),
        (
            (
                "a column that may number repetitions is a dim, which no answer averages over, and "
                "is named"
            ),
            RUNS,
            {"sizes": {"benchmark": 2, "run": 3, "execution": 2}},
            r"column 'run' is a dim.*to_timings\(\.\.\., execution='run'\)",
        ),
        (
            "a column that numbers repetitions is a level if that is said",
            RUNS | {":execution": "run"},
            {"sizes": {"benchmark": 2, "execution": 3, "iteration": 2}},
        ),
        (
            "labels of levels that are not shared are numbered",
            BUILDS,
            {"time": [[[1.0], [2.0], [3.0]], [[20.0], [30.0], [NAN]]]},
        ),
        (
            "a shared level keeps the place of its labels, even where a benchmark lacks one",
            BUILDS | {":shared": "binary"},
            {
                "time": [[[1.0], [2.0], [3.0]], [[NAN], [20.0], [30.0]]],
                "time.shared_levels": "binary",
            },
        ),
        (
            "a machine nobody wrote down is a machine of that name, not a lost row",
            {"machine": ["m1", None], "time": [1.0, 2.0]},
            {"machine": ["m1", "unknown"]},
        ),
    ],
)


def test_a_missing_label_is_not_the_label_unknown():
    """Rows without a label are another dim label than rows labelled `unknown`, and a note says so;
    a label `missing` keeps its rows, too."""
    for labels, missing in (
        (["m1", None, "unknown"], "missing"),
        (["unknown", "missing", None], "missing_2"),
    ):
        frame = pd.DataFrame({"machine": labels, "time": [1.0, 2.0, 3.0]})
        with pytest.warns(
            perfarray.PerfarrayWarning,
            match=f"'machine' has the label 'unknown', and 1 row without .* get the label '{missing}'",
        ) as caught:
            times = frame.perf.to_timings()
        assert [note.code for note in caught[0].message.notes] == ["missing_label"]
        expected = [missing if label is None else label for label in labels]
        check(times, machine=expected, time=[[1.0], [2.0], [3.0]])


def test_tables_are_read_whatever_their_index():
    """Index levels are columns; repeated cells raise, and the message shows the first."""
    frame, keywords = long_table(), {"binary": "build", "execution": "process"}
    assert (
        frame.set_index(["benchmark", "build"])
        .perf.to_timings(**keywords)
        .equals(frame.perf.to_timings(**keywords))
    )
    message = (
        "1 rows repeat a cell that already has a value. The first is benchmark=a, execution=0, "
        "iteration=0"
    )
    with pytest.raises(ValueError, match=message):
        of_table({"benchmark": "a", "execution": [0, 0], "iteration": [3, 3], "time": [1.0, 2.0]})


def test_builds_of_each_version_take_no_room_in_others():
    """Builds that serve all benchmarks of one version, with labels of their own, are numbered
    within it."""
    rows = [
        (benchmark, version, build, 1.0)
        for benchmark in ("sort", "fft")
        for version, builds in (("old", range(4)), ("new", range(100, 104)))
        for build in builds
    ]
    frame = pd.DataFrame(rows, columns=["benchmark", "version", "binary", "time"])
    times = frame.perf.to_timings(shared="binary")
    assert dict(times.sizes) == {"benchmark": 2, "version": 2, "binary": 4}
    assert times["time"].notnull().all()


def test_names_of_units_stand_in_the_order_of_levels():
    """In every process, whatever the seed of its hashes is."""
    nest = ("binary", "session", "execution")
    index = pd.MultiIndex.from_product([["x", "y"]] * 3, names=nest)
    table = index.to_frame(index=False).assign(benchmark="fft", time=1.0)
    coords = perfarray.to_timings(table).coords
    names = [name for name in coords if name.endswith("_label")]
    assert names == [f"{level}_label" for level in nest]


def test_shared_levels_may_be_told_by_the_table():
    frame = pd.DataFrame(BUILDS)
    frame.attrs["shared_levels"] = "binary"
    assert frame.perf.to_timings()["time"].attrs["shared_levels"] == "binary"


def test_a_column_named_after_another_unit_is_said():
    """`time_ms` with the default unit of seconds is what was asked for, and what one seldom
    wants."""
    frame = pd.DataFrame({"time_ms": [10.0, 11.0]})
    with pytest.warns(UserWarning, match="column 'time_ms' is taken to be in 's'.*give units='ms'"):
        frame.perf.to_timings(value="time_ms")
    check(frame.perf.to_timings(value="time_ms", units="ms"), time=[0.01, 0.011])
    with pytest.raises(ValueError, match="units=None: give a unit such as 's'"):
        frame.perf.to_timings(value="time_ms", units=None)


def test_units_that_are_known():
    """A time per operation is a time; names in full may have capitals; a variable is called after
    what it is."""
    names = {"ns/op": "time", "Seconds": "time", "1": "time", "ops/s": "throughput", "J": "value"}
    for unit, name in names.items():
        times = perfarray.from_samples({"a": [3.0]}, units=unit)
        assert (list(times), times.attrs["metric"]) == ([name], name)
        assert times[name].item() == pytest.approx(3e-9 if unit == "ns/op" else 3.0)


@pytest.mark.parametrize(
    "unit", ["Ms", "S", "MS", "millisec", "secs", "sec.", "ns/operation", "NS/op"]
)
def test_units_that_look_like_time_are_refused(unit):
    """None of them was known, and the values stayed as they were, without a word."""
    for call in (
        lambda: perfarray.from_samples({"a": [1.0]}, units=unit),
        lambda: of_table({"time": [1.0], ":units": unit}),
        lambda: of_table(
            {"throughput": [2.0], ":value": "throughput", ":units": {"throughput": unit}}
        ),
    ):
        with pytest.raises(
            ValueError, match="which is no unit that is known; of time these are ns, us, ms"
        ):
            call()


def test_units_that_do_not_fit_the_name():
    """A throughput is no time; a time in anything else is noted."""
    with pytest.raises(ValueError, match="'throughput' is in 'ms', which is a time"):
        of_table({"throughput": [2.0], ":value": "throughput", ":units": "ms"})
    with pytest.warns(
        perfarray.PerfarrayWarning, match="'time' is in 'cycles', which is no unit of time"
    ) as caught:
        assert of_table({"time": [1.0], ":units": "cycles"})["time"].attrs["units"] == "cycles"
    assert [note.code for note in caught[0].message.notes] == ["unknown_unit"]


STOPPED = {"process": range(6), "censored": True}


@pytest.mark.parametrize(
    ("change", "keywords", "message"),
    [
        (
            {},
            {"value": "seconds"},
            "column 'seconds' not found; the table has columns 'benchmark', 'build'",
        ),
        ({}, {"benchmark": "program"}, "column 'program' not found"),
        ({}, {"better": "up"}, "better='up' is not known"),
        (
            {"time": "fast"},
            {},
            "column 'time' holds 6 values that are not numbers; the first is 'fast' in row 0",
        ),
        (
            {"process": [1, None, 2, 3, 4, 5]},
            {"execution": "process"},
            "'process' names repetitions but is empty in 1 rows",
        ),
        ({"warmup": "maybe"}, {}, "'warmup' is a mark, true or false; it holds 'maybe'"),
        (
            STOPPED | {"censored_at": [None, "soon", *[1.0] * 4]},
            {},
            (
                "column 'censored_at' holds 1 values that are not numbers; the first is 'soon'.* "
                "in row 1"
            ),
        ),
        *(
            (
                STOPPED | {"censored_at": [None, bad, *[1.0] * 4]},
                {},
                "'censored_at' holds 1 values that are no limits.* in row 1",
            )
            for bad in (0.0, -1.0, np.inf)
        ),
    ],
)
def test_bad_tables_are_named(change, keywords, message):
    with pytest.raises(ValueError, match=message):
        long_table().assign(**change).perf.to_timings(**keywords)


def test_empty_large_and_wrong_kinds():
    with pytest.raises(ValueError, match="the table has no rows"):
        long_table().iloc[:0].perf.to_timings()
    with pytest.raises(TypeError, match="expected a pandas DataFrame, got list"):
        perfarray.to_timings([1, 2])
    with pytest.raises(
        ValueError,
        match=r"3000 measurements would need an array of 27000000000 cells \(benchmark: "
        r"3000, machine: 3000",
    ):
        of_table(dict.fromkeys(("benchmark", "machine", "version"), range(3000)) | {"time": 1.0})


def test_from_samples_pads_ragged_lists():
    """Flat and nested lists, arrays too; milliseconds become seconds."""
    flat = perfarray.from_samples({"old": [1.0, 2.0], "new": np.array([3.0])})
    assert flat["time"].dims == ("version", "execution")
    check(flat, time=[[1.0, 2.0], [3.0, NAN]])
    nested = perfarray.from_samples(
        {"a": [[1, 2], [3]], "b": [[4.0]]},
        dim="benchmark",
        level=("execution", "iteration"),
        units="ms",
    )
    assert dict(nested.sizes) == {"benchmark": 2, "execution": 2, "iteration": 2}
    check(nested.sel(benchmark="a"), time=[[0.001, 0.002], [0.003, NAN]])
    assert nested["time"].attrs == {"units": "s", "better": "lower"}


@pytest.mark.parametrize(("samples", "message"), [
    ({}, "samples must map labels to lists"),
    ([1, 2], "samples must map labels to lists"),
    ({"a": []}, r"samples\['a'\] is empty"),
    ({"a": [[1.0]]}, r"samples\['a'\]\[0\] is \[1.0\], where a number was expected"),
    ({"a": 3.0}, r"samples\['a'\] is 3.0, where a list was expected"),
    ({"a": ["x"]}, r"samples\['a'\]\[0\] is 'x', where a number was expected"),
])  # fmt: skip
def test_bad_samples_are_named(samples, message):
    with pytest.raises(ValueError, match=message):
        perfarray.from_samples(samples)


def test_tables_of_one_shape_share_no_label():
    """Attrs, and numbers, of one array's repetitions are not those of the next."""
    frame = pd.DataFrame({"benchmark": ["a", "a"], "execution": [0, 1], "time_s": [1.0, 2.0]})
    first = frame.perf.to_timings()
    first["execution"].attrs["long_name"] = "run"
    with suppress(ValueError):  # they may be read-only
        first["execution"].values[0] = 7
    times_of_frame = frame.perf.to_timings()
    assert (times_of_frame["execution"].attrs, times_of_frame["execution"].values.tolist()) == (
        {},
        [0, 1],
    )
    assert times_of_frame.indexes["execution"].tolist() == [0, 1]
