"""Laws of the columns that nobody named: what changes no experiment changes no decision, and
nothing is lost."""

import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import examples

import perfarray

LEVELS = ("execution", "iteration")

LAWS = settings(max_examples=examples(200), deadline=None)


@st.composite
def tables(draw):
    """Return a table of an experiment: factors crossed or by benchmark, lost runs, and columns of
    what varies among runs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    frame = pd.DataFrame(
        {"benchmark": [f"program {letter}" for letter in "abcdef"[: draw(st.integers(2, 5))]]}
    )
    for name in draw(
        st.lists(
            st.sampled_from(["compiler_name", "mode", "threads", "window", "load"]),
            unique=True,
            max_size=3,
        )
    ):
        labels = {"threads": [1, 2, 8], "window": [16, 64, 256], "load": [0.5, 0.7, 0.9]}.get(
            name, [f"{name} {x}" for x in "xyz"]
        )
        labels = labels[: draw(st.integers(2, 3))]
        if draw(st.booleans()):
            frame = frame.merge(pd.Series(labels, name=name), how="cross")
        else:
            scales = {
                program: number + 1 for number, program in enumerate(frame["benchmark"].unique())
            }
            nested = [
                (program, f"{label} of {program}" if isinstance(label, str) else label * scale)
                for program, scale in scales.items()
                for label in labels
            ]
            frame = frame.merge(pd.DataFrame(nested, columns=["benchmark", name]), on="benchmark")
    frame = frame.merge(pd.Series(range(draw(st.integers(1, 4))), name="run"), how="cross")
    rows = len(frame)
    beside = {
        "max_rss_kb": rng.integers(2000, 2000 + draw(st.sampled_from([2, 900])), rows),
        "sensor": rng.normal(5, 1, rows).round(draw(st.integers(0, 3))),
        "collections": rng.poisson(2, rows),
        "state": rng.choice(["ok", "throttled"], rows, p=[0.8, 0.2]),
        "comment": rng.choice(["", "noisy neighbour"], rows, p=[0.8, 0.2]),
        "place": rng.choice(["north", "east", "south"], rows),
    }
    for name in draw(st.lists(st.sampled_from(list(beside)), unique=True, max_size=3)):
        frame[name] = beside[name]
    frame["time"] = rng.uniform(1, 2, rows).round(6)
    if not draw(st.booleans()):
        frame = frame.drop(columns="run")
    return frame[
        (rng.random(rows) >= draw(st.sampled_from([0, 0, 0.1]))) | (frame.index == 0)
    ].reset_index(drop=True)


def timings(frame, **named):
    with warnings.catch_warnings(action="ignore"):
        return frame.perf.to_timings(**named)


def cells(frame, **named):
    """Return the cell of each row in the dims of a table, or nothing where it is refused."""
    try:
        dims = [dim for dim in timings(frame, **named).dims if dim not in LEVELS]
    except ValueError:
        return None
    return frame.groupby(dims, sort=False, dropna=False).ngroup().tolist()


def runs_at(places):
    """Return a table of benchmarks, each with a run at every letter of a text."""
    runs = [(f"program {number}", place) for number, row in enumerate(places) for place in row]
    return pd.DataFrame(runs, columns=["benchmark", "place"]).assign(time=1.0)


@LAWS
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_changes_nothing(frame, random):
    """Of two columns that determine each other the first is the dim: the cells are the same."""
    order = random.sample(range(len(frame)), len(frame))
    shuffled = frame.iloc[order]
    in_order = cells(shuffled)
    if in_order is not None:
        in_order = pd.factorize(pd.Series(in_order, index=order).sort_index())[0].tolist()
    assert in_order == cells(frame)
    assert cells(frame[random.sample(list(frame), frame.shape[1])]) == cells(frame)


@LAWS
@given(tables())
def test_names_of_labels_change_nothing(frame):
    texts = [
        name
        for name in frame
        if name != "comment" and not pd.api.types.is_numeric_dtype(frame[name])
    ]
    renamed = frame.assign(
        **{name: frame[name].map(lambda label: f"word {label[::-1]}") for name in texts}
    )
    assert cells(renamed) == cells(frame)


@LAWS
@given(tables(), st.sampled_from(["word", 7, 0.25, "", None, True]))
def test_a_constant_column_changes_nothing(frame, constant):
    assert cells(frame.assign(weather=constant)) == cells(frame)


@LAWS
@given(tables())
def test_the_same_runs_of_another_benchmark_change_nothing(frame):
    again = frame.assign(benchmark=frame["benchmark"] + " again")
    for name in frame:
        if (
            name not in ("benchmark", "time")
            and frame[name].astype(str).str.contains("program").any()
        ):
            again[name] = frame[name] + " again"
    doubled = cells(pd.concat([frame, again], ignore_index=True))
    assert (None if doubled is None else doubled[: len(frame)]) == cells(frame)


@pytest.mark.parametrize("places", [("eesn", "esne", "nesn"), ("eesn", "nesn")])
def test_a_dispersion_at_its_limit_is_no_matter_of_rounding(places):
    """Runs at places vary by exactly a quarter of chance, of however many benchmarks."""
    for copies in range(1, 10):
        assert len({*cells(runs_at(places * copies))}) == 3 * len(places) * copies


@pytest.mark.parametrize("places", [("ss", "ne"), ("ss", "nnee", "w")])
def test_places_of_one_benchmark_may_be_those_of_another(places):
    """Benchmarks that share a place share all: no place is in doubt, of however many copies."""
    for copies in range(1, 5):
        expected = sum(len({*row}) for row in places) * copies
        assert len({*cells(runs_at(places * copies))}) == expected


def test_settings_of_one_run_decide_alike_for_any_number_of_benchmarks():
    """Windows that hardly recur in a table of eight runs do so where its runs are repeated for
    other benchmarks: what is thrown on the runs is decided, or asked, as in the first."""
    frame = runs_at(["ns", "ns", "ee", "ee"]).assign(
        window=[16, 64, 32, 128, 48, 192, 64, 256],
        max_rss_kb=[2001, 2001, 2001, 2000, 2000, 2000, 2000, 2000],
    )
    decided = []
    for copies in range(1, 5):
        parts = [frame.assign(benchmark=frame["benchmark"] + f" {n}") for n in range(copies)]
        in_copies = cells(pd.concat(parts))
        decided.append(in_copies and in_copies[:8])
    assert decided == [decided[0]] * 4


@LAWS
@given(tables())
def test_no_value_is_lost(frame):
    try:
        times = timings(frame)
    except ValueError:
        return
    assert sorted(times["time"].values[times["time"].notnull()]) == sorted(frame["time"])
    assert {name for name in frame if name != "time"} <= {*times.dims, *times.coords}


@LAWS
@given(tables(), st.data())
def test_a_named_column_is_a_dim(frame, data):
    name = data.draw(st.sampled_from([name for name in frame if name != "time"]))
    times, message = None, ""
    try:
        times = timings(frame, **{name: name})
    except ValueError as error:
        message = str(error)
    assert name in times.dims if times else f"column {name!r}" not in message


@LAWS
@given(tables(), st.data())
def test_each_way_that_an_error_gives_reads_the_table(frame, data):
    """One answer for each column that is asked for is enough."""
    named, value = {}, {"time": "time"}
    for _ in range(frame.shape[1]):
        try:
            timings(frame, value=value, **named)
        except ValueError as error:
            message = str(error)
        else:
            return
        asked = re.match(r"column '(\w+)'", message)[1]
        ways = re.findall(rf"(\w+)='{asked}' \(|value=.*?'({asked})'|(call it 'comment')", message)
        assert len(ways) == 2, message
        dim, measured, _ = data.draw(st.sampled_from(ways))
        if dim:
            named[dim] = asked
        elif measured:
            value[asked] = asked
        else:
            frame = (
                frame.rename(columns={asked: "comment"})
                if "comment" not in frame
                else frame.drop(columns=asked)
            )
    pytest.fail(f"still refused: {message}")


def test_files_and_arrow_decide_as_frames_do():
    pyarrow = pytest.importorskip("pyarrow", reason="pip install 'perfarray[tables]'")

    @LAWS
    @given(tables())
    def check(frame):
        expected = cells(frame)
        table = pyarrow.Table.from_pandas(frame)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
            path = Path(folder) / "t.csv"
            frame.to_csv(path, index=False)
            for read, source in ((perfarray.to_timings, table), (perfarray.read, path)):
                if expected is None:
                    with pytest.raises(ValueError, match="column"):
                        read(source)
                else:
                    assert dict(read(source).sizes) == dict(timings(frame).sizes)

    check()
