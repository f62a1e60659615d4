"""One table gives the same Dataset by every door: a CSV file, pandas, Arrow, lists."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import perfarray
from readers.files_of_our_own import check


def times(rows):
    # Few binary digits: old versions of pandas read others to the last digit but one.
    return 1.0 + np.random.default_rng(rows).integers(0, 64, rows) / 64


def crossed(**labels):
    """Every combination of labels, twice."""
    index = pd.MultiIndex.from_product(labels.values(), names=labels)
    frame = index.to_frame(index=False)
    return pd.concat([frame, frame], ignore_index=True)


HASHES = [f"{number * 7919 + 10**6:07x}" for number in range(6)]
ONE_BENCHMARK = pd.DataFrame({"benchmark": "fft", "commit": HASHES})
DAYS = [f"2026-11-0{day}" for day in range(1, 7)]
MOMENTS = [f"2026-11-01T10:0{minute}:30" for minute in range(6)]
DATED = pd.DataFrame(
    {
        "benchmark": ["fft", "sort"] * 6,
        "commit": np.repeat(HASHES, 2),
        "date": np.repeat(DAYS[:3], 4),
    }
)

TABLES = {
    "one benchmark, one row a commit": (
        ONE_BENCHMARK,
        {"benchmark": 1, "commit": 6, "execution": 1},
    ),
    "two rows a commit": (
        pd.concat([ONE_BENCHMARK] * 2),
        {"benchmark": 1, "commit": 6, "execution": 2},
    ),
    "two benchmarks": (
        crossed(benchmark=["fft", "sort"], commit=HASHES),
        {"benchmark": 2, "commit": 6, "execution": 2},
    ),
    "no benchmark": (
        crossed(version=["a", "b"], jvm=["hotspot", "j9"]),
        {"version": 2, "jvm": 2, "execution": 2},
    ),
    "hosts and flags": (
        crossed(benchmark=["fft", "sort"], host=["h1", "h2"], opt=["-O2", "-O3"]),
        {"benchmark": 2, "host": 2, "opt": 2, "execution": 2},
    ),
    "a date of each commit": (DATED, {"benchmark": 2, "commit": 6, "execution": 1}),
    "one row a date": (
        pd.DataFrame({"benchmark": "fft", "date": DAYS}),
        {"benchmark": 1, "date": 6, "execution": 1},
    ),
    "one row a moment": (
        pd.DataFrame({"benchmark": "fft", "started": MOMENTS}),
        {"benchmark": 1, "execution": 6},
    ),
    "numbers": (
        crossed(benchmark=["fft"], threads=[1, 4, 16]),
        {"benchmark": 1, "threads": 3, "execution": 2},
    ),
    "one row a number": (
        pd.DataFrame({"benchmark": "fft", "size": [100, 10, 1000]}),
        {"benchmark": 1, "size": 3, "execution": 1},
    ),
    "builds by number": (
        pd.DataFrame({"benchmark": ["fft", "sort"] * 3, "build": range(11, 17)}),
        {"benchmark": 2, "build": 6, "execution": 1},
    ),
    "true and false": (
        crossed(benchmark=["fft"], debug=[True, False]),
        {"benchmark": 1, "debug": 2, "execution": 2},
    ),
    "numbered executions": (
        pd.DataFrame({"benchmark": "fft", "execution": range(6), "jvm": ["hotspot", "j9"] * 3}),
        {"benchmark": 1, "jvm": 2, "execution": 3},
    ),
    "executions with a host each": (
        pd.DataFrame(
            {"benchmark": "fft", "execution": range(6), "host": [f"worker-{i}" for i in range(6)]}
        ),
        {"benchmark": 1, "execution": 6},
    ),
    "what describes a machine": (
        crossed(benchmark=["a", "b"], machine=["m1", "m2"]).assign(
            cpu=["x", "y"] * 4, mhz=[2000, 3000] * 4
        ),
        {"benchmark": 2, "machine": 2, "execution": 2},
    ),
    "a build of each version": (
        crossed(benchmark=["a", "b"], version=["old", "new"]).assign(
            sha=["a0", "a1", "b0", "b1"] * 2
        ),
        {"benchmark": 2, "version": 2, "execution": 2},
    ),
    "measured beside the time": (
        pd.DataFrame({"benchmark": ["a", "b"] * 4}).assign(
            rss=[812, 905, 817, 911, 822, 901, 809, 908],
            load=[0.1, 0.25, 0.3, 0.17, 0.2, 0.22, 0.4, 0.5],
        ),
        {"benchmark": 2, "execution": 4},
    ),
    "several values": (
        pd.DataFrame({"benchmark": ["a", "b"], "cpu_time": [0.5, 0.7], "energy": [3.0, 4.0]}),
        {"benchmark": 2, "execution": 1},
    ),
}
"""What each table says, without the column of times, and the sizes it has."""


CHANGES = {
    "whole": lambda frame: frame,
    "ragged": lambda frame: frame.drop(index=frame.index[1::5]) if len(frame) > 8 else frame,
    "shuffled": lambda frame: frame.sample(frac=1, random_state=1),
}


def changed(name, change):
    """A table with its times, and the sizes it should have."""
    frame, sizes = TABLES[name]
    return CHANGES[change](frame.reset_index(drop=True).assign(time=times(len(frame)))).reset_index(
        drop=True
    ), sizes


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", TABLES)
def test_files_and_frames_give_the_same(tmp_path, name, change):
    """Dims, labels, coordinates, values and attrs; no row is lost, and no label is a repetition."""
    frame, sizes = changed(name, change)
    expected = frame.perf.to_timings()
    assert set(expected.dims) == set(sizes)
    assert change == "ragged" or dict(expected.sizes) == sizes
    assert sum(int(variable.notnull().sum()) for variable in expected.values()) == len(frame) * len(
        expected
    )
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    xr.testing.assert_identical(pd.read_csv(path).perf.to_timings(), expected)
    xr.testing.assert_identical(perfarray.read(path), expected.assign_attrs(format="tidy_csv"))


@pytest.mark.parametrize("name", TABLES)
def test_arrow_tables_give_the_same(name):
    pyarrow = pytest.importorskip("pyarrow", reason="pip install 'perfarray[tables]'")
    frame, _ = changed(name, "whole")
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    xr.testing.assert_identical(perfarray.to_timings(table), frame.perf.to_timings())


def test_lists_give_the_same():
    """`from_samples` is the table of its labels and positions."""
    frame = pd.DataFrame(
        {"version": ["old", "old", "new"], "execution": [0, 1, 0], "time": [1.0, 2.0, 3.0]}
    )
    xr.testing.assert_identical(
        perfarray.from_samples({"old": [1.0, 2.0], "new": [3.0]}), frame.perf.to_timings()
    )


def test_units_are_said_by_names_and_columns():
    """As in a CSV file; `units=` says the rest, and a name that it contradicts is refused."""
    frame = pd.DataFrame({"benchmark": ["a", "b"], "time_ms": [5.0, 6.0]})
    check(frame.perf.to_timings().squeeze(), time=[0.005, 0.006])
    by_row = pd.DataFrame({"benchmark": ["a", "b"], "unit": ["ms", "s"], "time": [5.0, 6.0]})
    check(by_row.perf.to_timings().squeeze(), time=[0.005, 6.0])
    with pytest.raises(
        ValueError, match="the table says its units are 'us', and its column of values is 'time_ms'"
    ):
        frame.perf.to_timings(units="us")


def test_the_arguments_that_are_proposed_keep_every_label():
    """The error of a table of other names says what reads it; followed, each column of labels is a
    dim."""
    names = {"Test Name": ["fft", "sort"], "Host Name": ["h1", "h2"], "Commit Id": HASHES[:3]}
    frame = crossed(**names).assign(**{"Duration (ms)": times(24)})
    proposed = r"try to_timings\(value='Duration \(ms\)', units='ms', benchmark='Test Name'\)$"
    with pytest.raises(ValueError, match=f"has no column of values: .*; {proposed}"):
        frame.perf.to_timings()
    read = frame.perf.to_timings(value="Duration (ms)", units="ms", benchmark="Test Name")
    assert dict(read.sizes) == {"benchmark": 2, "Host Name": 2, "Commit Id": 3, "execution": 2}
    with pytest.raises(ValueError, match=r"try to_timings.*value='\.\.\.', the column of numbers"):
        frame[["Test Name"]].perf.to_timings()


def test_a_table_with_a_column_for_each_version_is_melted():
    """The error proposes the call, and followed it reads every value."""
    frame = pd.DataFrame({"benchmark": ["a", "b"], "v1": [1.0, 2.0], "v2": [1.5, 2.5]})
    call = r"frame\.melt\(\['benchmark'\], var_name='version', value_name='time'\)$"
    with pytest.raises(ValueError, match=rf"if \['v1', 'v2'\] are versions, melt .*: {call}"):
        frame.perf.to_timings()
    melted = frame.melt(["benchmark"], var_name="version", value_name="time").perf.to_timings()
    assert melted["time"].sel(benchmark="b", version="v2").item() == 2.5
    with pytest.raises(ValueError, match=r"try to_timings\(value='time taken'"):
        frame.rename(columns={"v2": "time taken"}).perf.to_timings()
