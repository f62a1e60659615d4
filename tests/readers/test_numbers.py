"""Numbers in files: finite, digits of ASCII, above zero where a time; every format names the file,
the place, and what stands there."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import perfarray
from perfarray.readers.entries import NO_NUMBERS
from perfarray.readers.numbers import checked, number, numbers, positive
from perfarray.readers.opening import FileError, Source
from readers.files_of_our_own import (
    NAN,
    bench,
    entry,
    reader,
    readings,
    refusals,
    run,
    spec_pair,
    spec_report,
    spec_result,
    spec_rows,
    suite,
)

read = reader("a.json")


@pytest.mark.parametrize(
    "text",
    [
        "1_000",
        "inf",
        "-Infinity",
        "nan",
        "1e999",
        "\u0661\u0662",
        "\uff11",  # float() reads them
        "0x10",
        "1,5",
        "fast",
        "--1",
        "1e",
        ".",
        "1 2",
        "9" * 400,
    ],
)
def test_what_is_no_number(text):
    assert number(text) is None
    assert numbers(["1", text, "2"]) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read_as_python_writes_it(value):
    assert number(repr(value)) == value
    assert numbers([repr(value), "1"]) == [value, 1.0]


@given(st.lists(st.text("019+-._eExn \t\u0661\u0663\uff11", max_size=5), max_size=4))
@example(["1_0"])
@example(["\u0663"])
@example([" 1 ", "+.5"])
@example(["1e308", "1e308"])
def test_many_numbers_are_each_a_number(texts):
    """`numbers` returns what `number` returns of each, or None if one is no number."""
    parsed = [number(text) for text in texts]
    assert numbers(texts) == (None if None in parsed else parsed)


def test_values_of_a_file():
    """Numbers and texts of numbers, NaN where a text stands for no value; the first that is none is
    named."""
    assert [positive(text) for text in ("2.5", "0", "-1", "x")] == [2.5, None, None, None]
    source = Source(Path("a.json"))
    np.testing.assert_array_equal(
        checked([1, 2.5, "3", "NaN"], str, source, missing=("NaN",)), [1, 2.5, 3, np.nan]
    )
    for wrong in (True, None, [], 10**400, float("inf"), "NaN", "1_0"):
        with pytest.raises(FileError, match=r"^a\.json: place 1 is .*; expected a number$"):
            checked([1, wrong, "x"], lambda index: f"place {index}", source)
    with pytest.raises(FileError, match=r"^a\.json: place 2 is 0; expected a number above 0$"):
        checked([1, 2, 0], lambda index: f"place {index}", source, above_zero=True)
    with pytest.raises(FileError, match=r"^a\.json: place 1 is -1; expected a number from 0$"):
        checked([0, -1], lambda index: f"place {index}", source, from_zero=True)
    odd = [float("nan"), float("inf"), "inf", None, 0, 5e-324]
    np.testing.assert_array_equal(
        checked(odd, str, source, from_zero=True, missing=NO_NUMBERS), [*[np.nan] * 4, 0, 5e-324]
    )
    assert checked([5e-324], str, source, above_zero=True) == [5e-324]


def spec_csv(text):
    return spec_result(
        [spec_pair("400.alpha", 1, 10.5, None), f'400.alpha,1,"{text}",100,0,S,,,,,']
    )


FORMATS = {
    "spec_text": (
        "Box_O3_001.txt",
        lambda text: spec_report(*spec_rows(), f"502.beta_r  1  {text}  10.0  S"),
        r"line 9 is '502\.beta_r",
    ),
    "spec_csv": ("a.csv", spec_csv, r"line 7: the time of the base run of '400\.alpha' is "),
    "spec_runs": (
        "time.csv",
        lambda text: f"benchmark,time,ratio\n500.a,3.5,1.5\n502.b,{text.replace(',', '.')},1.5\n",
        "line 3: ",
    ),
    "spec_dump": (
        "dump.csv",
        lambda text: f'Benchmark,System,Result\nINT,A,1.5\nINT,B,"{text}"\n',
        "line 3, column 'Result': ",
    ),
    "tidy_csv": (
        "runs.csv",
        lambda text: f'benchmark,time\nfft,1.5\nfft,"{text}"\n',
        "column 'time', row 2 under the header, is ",
    ),
    "pyperf": (
        "a.json",
        lambda text: json.dumps(suite(bench("a", run(1.5, text)))),
        "value 1 of execution 0 of 'a' is ",
    ),
    "jmh": (
        "a.json",
        lambda text: json.dumps([entry(data=[[1.5], [2.5, text]])]),
        "entry 0: value 1 of fork 1 of 'time' is ",
    ),
}
"""Name of a file, its content with a text where a time stands, and the place the message names."""


TEXTS = ["1_000", "inf", "-Infinity", "1e999", "\u0661\u0662", "fast", "0x10"]
NOT_FINITE = ["inf", "-Infinity"]
NAMED = {"pyperf": NOT_FINITE, "jmh": NOT_FINITE, "tidy_csv": [*NOT_FINITE, "1e999"]}
"""Texts that stand for no number in some formats: one value is missing, and a note names it."""


@pytest.mark.parametrize("text", [*NOT_FINITE, "nan"])
@pytest.mark.parametrize("format", ["jmh", "pyperf"])
def test_a_text_that_says_there_is_no_number(tmp_path, format, text):
    """Its value is missing, and its place in the note."""
    name, content, location = FORMATS[format]
    with pytest.warns(perfarray.PerfarrayWarning, match=f"1 value is missing: .*{location}{text}"):
        times = read(tmp_path, content(text), name)
    assert times["time"].notnull().sum() == {"pyperf": 1, "jmh": 2}[format]


@pytest.mark.parametrize(
    ("format", "text"), [(f, t) for f in FORMATS for t in TEXTS if t not in NAMED.get(f, ())]
)
def test_no_format_takes_them_for_numbers(tmp_path, format, text):
    name, content, location = FORMATS[format]
    with pytest.raises(FileError, match=location) as error:
        read(tmp_path, content(text), name, format=format)
    assert str(error.value).startswith(str(tmp_path / name))
    number_text = (
        str(pd.read_csv(io.StringIO(f"time\n{text}\n"))["time"][0])
        if format == "tidy_csv"
        else text
    )  # pandas reads them before we do
    assert re.search(rf"(?<![\w.-]){re.escape(number_text)}(?![\w.])", str(error.value))


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("tidy_csv", "-1.5"),
        *((f, t) for f in ("spec_csv", "spec_runs", "spec_text") for t in ("0", "-1.5")),
    ],
)
def test_times_are_above_zero(tmp_path, format, text):
    """Those of SPEC, of which every run takes minutes; in a table a time may be 0."""
    name, content, location = FORMATS[format]
    with pytest.raises(FileError, match=f"{location}.*{text}"):
        read(tmp_path, content(text), name, format=format)


def test_times_in_json_are_not_below_zero(tmp_path):
    with pytest.raises(
        FileError, match=r"value 1 of execution 1 of 'a' is -1\.5; expected a number from 0"
    ):
        read(tmp_path, suite(bench("a", run(1.0), run(2.0, -1.5))))
    with pytest.raises(
        FileError, match=r"entry 1: value 0 of fork 0 of 'time' is -1\.5; expected a number from 0"
    ):
        read(tmp_path, [entry("a"), entry("b", data=[[-1.5]])])


CPU = {
    "name": "a",
    "run_name": "a",
    "run_type": "iteration",
    "iterations": 5,
    "real_time": 1.5,
    "time_unit": "us",
}

test_what_cannot_have_been_measured = refusals(
    read,
    "a.json",
    [
        (
            {"context": {}, "benchmarks": [{**CPU, "cpu_time": -1}]},
            ".*cpu_time of benchmark=a, execution=0, .* is -1e-06",
        ),
        (
            "benchmark,throughput\nfft,5\nfft,-1\n",
            ".*throughput of benchmark=fft, execution=1 is -1.0",
        ),
        ("benchmark,time\nfft,\nfft,NaN\n", "holds no measurement"),
        ([entry(data=[["NaN"]])], "holds no measurement"),
        *(
            (
                [
                    entry(
                        primaryMetric={
                            "scoreUnit": "s/op",
                            "rawDataHistogram": [[[[1.0, 2], [2.0, bad]]]],
                        }
                    )
                ],
                f".*: count 1 is {reason}",
            )
            for bad, reason in ((-1, "negative"), (float("inf"), "inf"), ("x", "'x'"))
        ),
    ],
)


SECONDARY = {"gc": {"score": 1.0, "scoreUnit": "ms", "rawData": [[0.0, "+INF"]]}}

test_what_is_read = readings(
    read,
    [
        *(
            (
                f"a file of which every run {mark} is read",
                f"benchmark,{mark},time\nfft,1,\n",
                {mark: True},
            )
            for mark in ("failed", "censored")
        ),
        (
            "time on a processor may be zero",
            {"context": {}, "benchmarks": [{**CPU, "cpu_time": 0}]},
            {"cpu_time": 0.0},
        ),
        (
            "a rate may be zero",
            [entry(unit="ops/s", mode="thrpt", data=[[0.0, 1.0]])],
            {"throughput": [[[0.0, 1.0]]]},
        ),
        (
            "a profiler's count may be zero",
            [entry(secondaryMetrics=SECONDARY)],
            {"gc": [[[0.0, NAN]]]},
            "1 value is missing: .* of 'gc' is [+]INF",
        ),
        (
            "the time of a run that failed may be zero",
            "benchmark,failed,time\nfft,False,1.5\nfft,True,0\n",
            {"time": [[1.5, 0.0]]},
        ),
    ],
)


def test_a_sample_of_the_speedup_test(tmp_path):
    """A sample that is not numbers is left out; the note names the place and the text."""
    (tmp_path / "a.txt").write_text("1.5\n1.6\n")
    (tmp_path / "b.txt").write_text("1.5\n1_6\n")
    message = r"sample file 'b\.txt' is missing, empty or not numbers.*value 2 is '1_6'"
    with pytest.warns(perfarray.PerfarrayWarning, match=message) as caught:
        times = read(tmp_path, "Name,Sample1,Sample2,ConfLevel,Coef\nfft,a.txt,b.txt,,\n", "c.cfg")
    assert [note.code for note in caught[0].message.notes] == ["unreadable_sample"]
    assert times["time"].values.ravel().tolist() == [1.5, 1.6]
