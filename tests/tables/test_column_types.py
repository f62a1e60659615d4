"""Columns of unusual types and names: they are read for what they hold, or refused by name."""

import decimal
import warnings

import numpy as np
import pandas as pd
import pytest

import perfarray

PLAIN = {"benchmark": 2, "execution": 4}


def table(**columns):
    return pd.DataFrame({"benchmark": ["a"] * 4 + ["b"] * 4, "time": np.linspace(1, 2, 8)}).assign(
        **columns
    )


def sizes(frame, **roles):
    with warnings.catch_warnings(category=perfarray.PerfarrayWarning, action="ignore"):
        return dict(frame.perf.to_timings(**roles).sizes)


@pytest.mark.parametrize("values", [
    [[1], [2]] * 4, [{"a": 1}, {"a": 2}] * 4, [{1}, {2}] * 4, np.array([1j, 2j] * 4),
], ids=["lists", "records", "sets", "complex numbers"])  # fmt: skip
def test_what_is_no_label_and_no_number_is_refused(values):
    frame = table(tags=pd.Series(values))
    for roles in ({}, {"tags": "tags"}, {"value": {"time": "time", "tags": "tags"}}):
        with pytest.raises(
            ValueError,
            match=r"column 'tags' holds .*, which is neither a number nor a label\. Write "
            r"it as text",
        ):
            frame.perf.to_timings(**roles)
    assert (
        sizes(frame.drop(columns="tags"))
        == sizes(frame.assign(tags=frame["tags"].map(str)[0]))
        == PLAIN
    )


def test_records_of_arrow_are_refused():
    pyarrow = pytest.importorskip("pyarrow", reason="pip install 'perfarray[tables]'")
    source = pyarrow.table(
        {"benchmark": ["a", "b"], "time": [1.0, 2.0], "tags": [{"os": "x"}, {"os": "y"}]}
    )
    for frame in (source.to_pandas(types_mapper=pd.ArrowDtype), source.to_pandas()):
        with pytest.raises(ValueError, match="column 'tags' holds "):
            frame.perf.to_timings()


@pytest.mark.parametrize(
    "labels",
    [
        pd.Categorical([1, 2] * 4),
        pd.Categorical(["x", "y"] * 4, categories=["x", "y", "z"]),
        pd.array([1, 2] * 4, dtype="Int64"),
        pd.array([True, False] * 4, dtype="boolean"),
        pd.array(["x", "y"] * 4, dtype="string"),
        ["x", 1] * 4,
        [decimal.Decimal("1.5"), decimal.Decimal(2)] * 4,
        pd.PeriodIndex(["2024-01", "2024-02"] * 4, freq="M"),
        pd.IntervalIndex.from_breaks([0, 1, 2]).take([0, 1] * 4),
        [("a", 1), ("b", 2)] * 4,
        pd.to_datetime(["2024-01-01", "2024-01-02"] * 4, utc=True),
    ],
)
def test_labels_of_any_type_are_labels(labels):
    assert sizes(table(what=pd.Series(labels))) == {"benchmark": 2, "what": 2, "execution": 2}


def test_infinite_numbers_are_labels():
    """No limit is a limit, too."""
    assert sizes(table(limit=[1.0, np.inf] * 4), limit="limit")["limit"] == 2
    with pytest.raises(ValueError, match="'quota' may be a setting"):
        table(quota=[1.0, np.inf] * 4).perf.to_timings()


@pytest.mark.parametrize("values", [[None] * 8, [1, 2, 3, None] * 2])
def test_repetitions_without_a_label_are_refused(values):
    with pytest.raises(ValueError, match="column 'execution' names repetitions but is empty in"):
        table(execution=values).perf.to_timings()


@pytest.mark.parametrize("name", ["failed", "warmup", "exit_code"])
def test_a_missing_mark_is_no_mark(name):
    with warnings.catch_warnings(category=perfarray.PerfarrayWarning, action="ignore"):
        times = table(**{name: pd.array([True, None] * 4, dtype="boolean")}).perf.to_timings()
    assert times["failed" if name == "exit_code" else name].values.sum() == 4


def test_texts_of_arrow_are_values():
    pyarrow = pytest.importorskip("pyarrow", reason="pip install 'perfarray[tables]'")
    texts = pd.array(["1 ms", "2 ms", "nan", "4 ms"] * 2, dtype=pd.ArrowDtype(pyarrow.string()))
    with pytest.warns(
        perfarray.PerfarrayWarning, match="2 values of column 'time' count as not measured"
    ):
        times = table(time=texts).perf.to_timings()
    np.testing.assert_allclose(times["time"].sel(benchmark="a"), [0.001, 0.002, np.nan, 0.004])


def test_names_of_columns_are_texts():
    """A number is written as text, and levels of names are joined."""
    frame = table(load=[0.5, 0.7] * 4).rename(columns={"load": 0})
    with pytest.raises(ValueError, match="column '0' may be a setting"):
        frame.perf.to_timings()
    assert sizes(frame, **{"0": "0"})["0"] == 2
    frame.columns = pd.MultiIndex.from_tuples([("benchmark", ""), ("time", "ms"), ("load", "")])
    assert sizes(frame, load="load")["load"] == 2
    with pytest.raises(ValueError, match="the table has a column twice: '1'"):
        table(**{"1": 1}).assign(x=2).rename(columns={"x": 1}).perf.to_timings()
