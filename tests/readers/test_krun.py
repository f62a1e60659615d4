"""Krun's results: executions of all iterations, in three ages of the format."""

import numpy as np
import pytest

import perfarray
from readers.files_of_our_own import check, reader, refusals, write

TIMES = {
    "fft:CPython:default": [[2.0, 1.0], [3.0]],
    "fft:Java:default": [[4.0], []],
    "hard work:Java:default": [[5.0], [6.0]],
}


def content(age):
    estimates = {key: [9.0] for key in TIMES}
    audit = {
        "audit": {"cpuinfo": "processor\t: 0\nmodel name\t: A CPU \n", "uname": "Linux"},
        "config": "x",
        "eta_estimates": estimates,
    }
    return {
        "new": audit | {"wallclock_times": TIMES},
        "old": audit | {"data": TIMES},
        "bare": TIMES,
    }[age]


@pytest.mark.parametrize("age", ["new", "old", "bare"])
def test_every_age_of_the_format(tmp_path, age):
    """The estimates look like data and are none; an execution without any iteration crashed."""
    times = perfarray.read(write(tmp_path / "results.json.bz2", content(age)))
    check(
        times,
        benchmark=["fft[vm=CPython]", "fft[vm=Java]", "hard work[vm=Java]"],
        variant=["default"] * 3,
    )
    check(
        times,
        time=[
            [[2.0, 1.0], [3.0, np.nan]],
            [[4.0, np.nan], [np.nan, np.nan]],
            [[5.0, np.nan], [6.0, np.nan]],
        ],
    )
    assert times["failed"].any("iteration").values.tolist() == [
        [False, False],
        [False, True],
        [False, False],
    ]
    assert age == "bare" or (times["cpu"].item(), times["os"].item()) == ("A CPU", "Linux")


def test_zeros_and_what_is_no_number(tmp_path):
    """A time of 0 is a value; one that is no number is missing, and named."""
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="1 value is missing: \"'a:b:c': execution 0: value 1 is null\"",
    ):
        times = perfarray.read(write(tmp_path / "results.json", {"a:b:c": [[0.0, None], [2.0]]}))
    check(times, time=[[[0.0, np.nan], [2.0, np.nan]]])


test_what_is_wrong_is_said = refusals(
    reader("results.json"),
    "results.json",
    [
        ({"a:b:c": [[1.0], [-1]]}, "'a:b:c': execution 1: value 0 is -1; expected a number from 0"),
    ],
)
test_told_the_format = refusals(
    lambda folder, content: perfarray.read(write(folder / "a.json", content), format="krun"),
    "a.json",
    [
        ({"a:b": [[1.0]]}, "is not Krun's"),
    ],
)
