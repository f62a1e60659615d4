"""From pandas and Python lists to timings."""

import numpy as np
import pandas as pd
import pytest

import perfarray


def long_table():
    """Two programs, two builds with labels of their own, ragged repetitions, a column per kind of descriptor."""
    rows = [
        ("fft", "a1", 10, 1, 1.0), ("fft", "a1", 10, 2, 1.1), ("fft", "a1", 12, 1, 1.2),
        ("fft", "b7", 3, 1, 1.3), ("sort", "a1", 4, 1, 2.0), ("sort", "b7", 9, 5, 2.1),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["benchmark", "build", "process", "iteration", "time"])
    return frame.assign(cpu="epyc", suite=frame["benchmark"].map({"fft": "num", "sort": "int"}))


def test_repetitions_are_renumbered_within_their_parent():
    """Labels 10 and 12 become executions 0 and 1; an iteration labelled 5 becomes 0."""
    times = long_table().perf.to_timings(binary="build", execution="process")
    assert dict(times.sizes) == {"benchmark": 2, "binary": 2, "execution": 2, "iteration": 2}
    assert times["time"].sel(benchmark="fft", binary=0).values.tolist()[0] == [1.0, 1.1]
    assert times["time"].sel(benchmark="sort", binary=1, execution=0, iteration=0) == 2.1
    assert int(times["time"].notnull().sum()) == 6


def test_columns_constant_along_a_dim_become_its_coordinates():
    """One along the benchmark, one of the whole table; text is object dtype."""
    times = long_table().perf.to_timings(binary="build", execution="process")
    assert times["suite"].dims == ("benchmark",)
    assert times["suite"].values.tolist() == ["num", "int"]
    assert times["cpu"].dims == ()
    assert times["cpu"].item() == "epyc"
    assert times["suite"].dtype == object


def test_a_column_that_varies_lies_along_the_dims_it_varies_over():
    """A load average per execution is a coordinate along everything down to the execution."""
    frame = pd.DataFrame(
        {"benchmark": ["a"] * 4, "execution": [0, 0, 1, 1], "iteration": [0, 1, 0, 1], "time": 1.0, "load": [0.5, 0.5, 0.7, 0.7]}
    )
    times = frame.perf.to_timings()
    assert times["load"].dims == ("benchmark", "execution")
    assert times["load"].values.tolist() == [[0.5, 0.7]]


def test_rows_nothing_tells_apart_are_numbered():
    """Duplicates are repetitions as long as one is unnamed; else they raise and the message shows the first."""
    frame = pd.DataFrame({"benchmark": ["a", "a", "b"], "time": [1.0, 2.0, 3.0]})
    assert frame.perf.to_timings()["time"].values.tolist()[0] == [1.0, 2.0]
    assert frame.perf.to_timings(level="session")["time"].dims == ("benchmark", "session")
    inner = pd.DataFrame({"execution": [0, 0, 1], "time": [1.0, 2.0, 3.0]})
    assert dict(inner.perf.to_timings().sizes) == {"execution": 2, "iteration": 2}
    full = pd.DataFrame({"benchmark": "a", "execution": [0, 0], "iteration": [3, 3], "time": [1.0, 2.0]})
    with pytest.raises(
        ValueError, match="1 rows repeat a cell that already has a value, the first at benchmark=a, execution=0, iteration=0"
    ):
        full.perf.to_timings()


def test_a_table_without_repetitions_gets_one():
    """A level of length one, so that every method says that one unit shows no spread."""
    times = pd.DataFrame({"benchmark": ["a", "b"], "time": [1.0, 2.0]}).perf.to_timings()
    assert dict(times.sizes) == {"benchmark": 2, "execution": 1}


def test_a_column_claimed_under_another_name_is_not_a_dim_of_its_own():
    """`version="compiler"` takes the column, although `compiler` is a usual dim (third script of SCRIPTS.md)."""
    frame = pd.DataFrame({"program": ["a", "b"] * 4, "compiler": ["gcc"] * 4 + ["clang"] * 4, "seconds": range(1, 9)})
    times = frame.perf.to_timings(value="seconds", benchmark="program", version="compiler")
    assert dict(times.sizes) == {"benchmark": 2, "version": 2, "execution": 2}


def test_numbers_that_recur_are_labels_and_quantities_are_not():
    """`size` is compared, whatever else numbers the rows; a load average and a time stamp are known for every row."""
    frame = pd.DataFrame({"benchmark": ["a"] * 6 + ["b"] * 6, "size": [10, 1000] * 6, "time": np.linspace(1, 2, 12)})
    assert dict(frame.perf.to_timings().sizes) == {"benchmark": 2, "size": 2, "execution": 3}
    assert dict(frame.assign(execution=[0, 0, 1, 1, 2, 2] * 2).perf.to_timings().sizes) == {"benchmark": 2, "size": 2, "execution": 3}
    measured = frame.drop(columns="size").assign(load=np.linspace(0.1, 0.2, 12), stamp=range(12))
    assert dict(measured.perf.to_timings().sizes) == {"benchmark": 2, "execution": 6}


def test_a_column_that_may_number_repetitions_is_named():
    """It is a dim, which no answer averages over; one warning says how to make it a level."""
    frame = pd.DataFrame({"benchmark": ["a"] * 6 + ["b"] * 6, "run": [0, 0, 1, 1, 2, 2] * 2, "time": np.linspace(1, 2, 12)})
    with pytest.warns(perfarray.PerfarrayWarning, match=r"column 'run' is a dim.*to_timings\(\.\.\., execution='run'\)"):
        times = frame.perf.to_timings()
    assert dict(times.sizes) == {"benchmark": 2, "run": 3, "execution": 2}
    assert dict(frame.perf.to_timings(execution="run").sizes) == {"benchmark": 2, "execution": 3, "iteration": 2}


def test_a_column_named_after_another_unit_is_said():
    """`time_ms` with the default unit of seconds is what was asked for, and what one seldom wants."""
    frame = pd.DataFrame({"time_ms": [10.0, 11.0]})
    with pytest.warns(UserWarning, match="column 'time_ms' is taken to be in 's'.*give units='ms'"):
        frame.perf.to_timings(value="time_ms")
    assert frame.perf.to_timings(value="time_ms", units="ms")["time_ms"].values.tolist() == [0.01, 0.011]
    with pytest.raises(ValueError, match="units=None: give a unit such as 's'"):
        frame.perf.to_timings(value="time_ms", units=None)


def test_several_metrics_with_units():
    """A mapping names them; times become seconds, other units stay; the first is the main one."""
    frame = pd.DataFrame({"benchmark": ["a", "a"], "ms": [10, 20], "joules": [1.5, np.nan]})
    times = frame.perf.to_timings(value={"time": "ms", "energy": "joules"}, units={"time": "ms", "energy": "J"})
    assert times["time"].values.tolist() == [[0.01, 0.02]]
    assert times["time"].attrs == {"units": "s", "better": "lower"}
    assert times["energy"].attrs["units"] == "J"
    assert times.attrs["metric"] == "time"


def test_units_that_are_known():
    """A time per operation is a time; names in full may have capitals; a variable is called after what it is."""
    made = {unit: perfarray.from_samples({"a": [3.0]}, units=unit) for unit in ("ns/op", "Seconds", "1", "ops/s", "J")}
    assert {unit: list(times) for unit, times in made.items()} == {
        "ns/op": ["time"], "Seconds": ["time"], "1": ["time"], "ops/s": ["throughput"], "J": ["value"],
    }  # fmt: skip
    assert made["ns/op"]["time"].item() == pytest.approx(3e-9)
    assert all(times.attrs["metric"] in times for times in made.values())


@pytest.mark.parametrize("unit", ["Ms", "S", "MS", "millisec", "secs", "sec.", "ns/operation", "NS/op"])
def test_units_that_look_like_time_are_refused(unit):
    """None of them was known, and the values stayed as they were, without a word."""
    frame = pd.DataFrame({"time": [1.0], "throughput": [2.0]})
    for call in (
        lambda: perfarray.from_samples({"a": [1.0]}, units=unit),
        lambda: frame.perf.to_timings(units=unit),
        lambda: frame.perf.to_timings(value="throughput", units={"throughput": unit}),
    ):
        with pytest.raises(ValueError, match="which is no unit that is known; of time these are ns, us, ms"):
            call()


def test_units_that_do_not_fit_the_name():
    """A throughput is no time; a time in anything else is noted."""
    frame = pd.DataFrame({"time": [1.0], "throughput": [2.0]})
    with pytest.raises(ValueError, match="'throughput' is in 'ms', which is a time"):
        frame.perf.to_timings(value="throughput", units="ms")
    with pytest.warns(perfarray.PerfarrayWarning, match="'time' is in 'cycles', which is no unit of time") as caught:
        assert frame.perf.to_timings(units="cycles")["time"].attrs["units"] == "cycles"
    assert [note.code for note in caught[0].message.notes] == ["unknown_unit"]


@pytest.mark.parametrize(
    ("limit", "message"), [("soon", "are not numbers; the first is 'soon'"), *((bad, "are no limits") for bad in (0.0, -1.0, np.inf))]
)
def test_limits_of_stopped_runs(limit, message):
    """A number above 0, or missing; the message names column and row."""
    frame = pd.DataFrame({"time": [1.0, 2.0], "censored": [False, True], "censored_at": [None, limit]})
    with pytest.raises(ValueError, match=f"column 'censored_at' holds 1 values that {message}.* in row 1"):
        frame.perf.to_timings()


def test_better_is_kept():
    """Throughput says that higher is better; an unknown word is an error."""
    frame = pd.DataFrame({"benchmark": ["a"], "rate": [10.0]})
    assert frame.perf.to_timings(value="rate", units="ops/s", better="higher")["rate"].attrs["better"] == "higher"
    with pytest.raises(ValueError, match="better='up' is not known"):
        frame.perf.to_timings(value="rate", better="up")


def test_shared_levels_keep_the_place_of_their_labels():
    """Build 2 is build 2 for every benchmark, even where one of them lacks build 1."""
    frame = pd.DataFrame(
        {"benchmark": ["a", "a", "a", "b", "b"], "binary": [1, 2, 3, 2, 3], "execution": 0, "time": [1.0, 2.0, 3.0, 20.0, 30.0]}
    )
    plain = frame.perf.to_timings()["time"].sel(benchmark="b", execution=0).values.tolist()
    assert plain[:2] == [20.0, 30.0]
    shared = frame.perf.to_timings(shared="binary")["time"]
    assert np.isnan(shared.sel(benchmark="b", execution=0).values[0])
    assert shared.sel(benchmark="b", execution=0).values[1:].tolist() == [20.0, 30.0]
    assert shared.attrs["shared_levels"] == "binary"
    frame.attrs["shared_levels"] = "binary"
    assert frame.perf.to_timings()["time"].attrs["shared_levels"] == "binary"


def test_marks_become_boolean_coordinates():
    """Words and numbers are understood, what is missing is False, and a word that is neither is an error."""
    frame = pd.DataFrame({"execution": range(4), "time": 1.0, "warmup": ["true", "False", None, "yes"], "failed": [1, 0, 0, np.nan]})
    times = frame.perf.to_timings()
    assert times["warmup"].dtype == bool
    assert times["warmup"].values.tolist() == [True, False, False, True]
    assert times["failed"].values.tolist() == [True, False, False, False]
    with pytest.raises(ValueError, match="'warmup' is a mark, true or false; it holds 'maybe'"):
        frame.assign(warmup="maybe").perf.to_timings()


def test_index_levels_are_columns():
    """A table indexed by its dims is read like a flat one."""
    frame = long_table().set_index(["benchmark", "build"])
    assert frame.perf.to_timings(binary="build", execution="process").equals(
        long_table().perf.to_timings(binary="build", execution="process")
    )


def test_missing_labels_are_unknown():
    """A machine nobody wrote down is a machine of that name, not a lost row."""
    times = pd.DataFrame({"machine": ["m1", None], "time": [1.0, 2.0]}).perf.to_timings()
    assert times["machine"].values.tolist() == ["m1", "unknown"]


@pytest.mark.parametrize(("change", "keywords", "message"), [
    ({}, {"value": "seconds"}, "column 'seconds' not found; the table has columns 'benchmark', 'build'"),
    ({}, {"benchmark": "program"}, "column 'program' not found"),
    ({"time": "fast"}, {}, "column 'time' holds 6 values that are not numbers; the first is 'fast' in row 0"),
    ({"process": [1, None, 2, 3, 4, 5]}, {"execution": "process"}, "'process' names repetitions but is empty in 1 rows"),
])  # fmt: skip
def test_bad_tables_are_named(change, keywords, message):
    """What came, what is needed."""
    with pytest.raises(ValueError, match=message):
        long_table().assign(**change).perf.to_timings(**keywords)


def test_empty_and_wrong_kinds():
    """An empty table and something that is no table."""
    with pytest.raises(ValueError, match="the table has no rows"):
        long_table().iloc[:0].perf.to_timings()
    with pytest.raises(TypeError, match="expected a pandas DataFrame, got list"):
        perfarray.to_timings([1, 2])


def test_too_many_cells_are_refused():
    """Labels that make a huge and almost empty array are named with their sizes."""
    rows = 3000
    frame = pd.DataFrame({name: range(rows) for name in ("benchmark", "machine", "version")} | {"time": 1.0})
    with pytest.raises(ValueError, match=r"3000 measurements would need an array of 27000000000 cells \(benchmark: 3000, machine: 3000"):
        frame.perf.to_timings()


def test_from_samples_pads_ragged_lists():
    """Flat and nested lists, arrays too; milliseconds become seconds."""
    flat = perfarray.from_samples({"old": [1.0, 2.0], "new": np.array([3.0])})
    assert flat["time"].dims == ("version", "execution")
    assert np.isnan(flat["time"].sel(version="new").values[1])
    nested = perfarray.from_samples({"a": [[1, 2], [3]], "b": [[4.0]]}, dim="benchmark", level=("execution", "iteration"), units="ms")
    assert dict(nested.sizes) == {"benchmark": 2, "execution": 2, "iteration": 2}
    assert nested["time"].sel(benchmark="a").values[1, 0] == 0.003
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
    """The place in the lists is said."""
    with pytest.raises(ValueError, match=message):
        perfarray.from_samples(samples)
