"""`--select DIM=PATTERN`: which labels and cells a command is about."""

import inspect
from itertools import chain

import numpy as np
import pytest
import xarray as xr

from cli.archives import write_archive
from cli.commands import as_json, refused, run
from perfarray.cli import app
from perfarray.cli.selecting import select


@pytest.fixture
def times():
    """Two machines by two benchmarks, of two suites; the second machine ran one of them, in another
    state."""
    ratio = xr.DataArray(
        [[[1.0, 1.1], [2.0, np.nan]], [[3.0, 3.1], [np.nan, np.nan]]],
        dims=("benchmark", "machine", "execution"),
    )
    coords = {
        "benchmark": ["org.fft[n=1]", "org.sort[n=1]"],
        "machine": ["AMD 1", "Intel 2"],
        "execution": [0, 1],
        "suite": ("benchmark", ["int", "fp"]),
        "cores": ("machine", [8.0, np.nan]),
        "tested": ("machine", np.array(["2017-01-05", "2018-03-01"], dtype="datetime64[D]")),
        "valid": (("benchmark", "machine"), [[1, 0], [0, 1]]),
        "failed": (("benchmark", "machine", "execution"), np.zeros((2, 2, 2), dtype=bool)),
        "tuning": "base",
    }
    return ratio.to_dataset(name="ratio").assign_coords(coords)


@pytest.mark.parametrize(
    ("texts", "benchmarks", "machines"),
    [
        ((), [0, 1], [0, 1]),
        (("machine=AMD*",), [0, 1], [0]),
        (("machine=Intel ?",), [0], [1]),
        (("machine=AMD*", "machine=Intel*"), [0, 1], [0, 1]),
        (("machine=AMD*", "suite=fp"), [1], [0]),
        (("benchmark=fft",), [0], [0, 1]),
        (("benchmark=org.sort[n=1]",), [1], [0]),
        (("cores=8",), [0, 1], [0]),
        (("cores=nan",), [0], [1]),
        (("tested=2017-*",), [0, 1], [0]),
        (("tuning=b*",), [0, 1], [0, 1]),
    ],
)
def test_labels(times, texts, benchmarks, machines):
    """Patterns of one name add labels, names restrict each other, numbers and dates are text;
    labels that then hold nothing go."""
    section_part = select(times, texts)
    expected = (
        times["ratio"].isel(benchmark=benchmarks, machine=machines).dropna("execution", how="all")
    )
    xr.testing.assert_identical(section_part["ratio"], expected)


def test_cells(times):
    """A coordinate along several dims leaves cells: others there are not measured, and no run of
    them failed."""
    times["failed"][0, 0, 0] = True
    section_part = select(times, ["valid=0"])
    np.testing.assert_array_equal(
        section_part["ratio"].notnull().any("execution"), [[False, True], [True, False]]
    )
    assert not section_part["failed"].any()
    assert section_part["failed"].dtype == bool


def test_sides_stay(times):
    """A side whose labels are not selected stays as one without a measurement, so that the command
    can say so."""
    assert select(times, ["suite=fp"], sides="machine").sizes["machine"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "machine=amd*",
            "--select 'machine=amd*': no such machine; near it: 'AMD 1'; there is also 'Intel 2'",
        ),
        ("machine=Intle 2", "no such machine; near it: 'Intel 2'; there is also 'AMD 1'"),
        ("suite=x", "--select 'suite=x': no such suite; there is 'int', 'fp'"),
        (
            "suits=int",
            (
                "write a dim and its label, as in benchmark=fft; near it: 'suite'; there is also "
                "'benchmark', 'machine'"
            ),
        ),
        (
            "fft",
            (
                "--select 'fft': write a dim and its label, as in benchmark=fft; there is "
                "'benchmark', 'machine'"
            ),
        ),
        ("failed=True", "write a dim and its label"),
    ],
)
def test_what_matches_nothing(times, text, message):
    """The error lists what exists, the nearest first."""
    with pytest.raises(ValueError, match=r"--select") as caught:
        select(times, [text])
    assert message in str(caught.value)


def test_an_end_of_several_labels(times):
    """It is no pattern: the error asks for one."""
    times = times.assign_coords(benchmark=["a.large", "b.large"])
    with pytest.raises(
        ValueError,
        match=r"2 labels of benchmark are like that: 'a.large', 'b.large'; name one, or write \* before it",
    ):
        select(times, ["benchmark=large"])
    assert select(times, ["benchmark=*large"]).sizes["benchmark"] == 2


def test_every_command_that_answers_selects():
    """Whatever reads timings takes --select; what lists or describes the whole does not, nor what
    measures."""
    without = {"ab", "about", "files", "formats", "demo", "speedup_test"}
    for command in chain.from_iterable(app.COMMANDS.values()):
        has = "select" in inspect.signature(app.expand_groups(command)).parameters
        assert has is (command.__name__ not in without), command.__name__


def test_a_comparison_of_selected_labels():
    """Of one archive, and of two."""
    path = write_archive()
    options = (
        "--dim",
        "compiler",
        "--baseline",
        "gcc 13",
        "--select",
        "suite=int2017",
        "--select",
        "cpu=AMD*",
    )
    rows = as_json("compare", path, *options)["benchmarks"]
    assert {row["benchmark"] for row in rows} == {"gcc", "mcf", "xz", "x264"}
    assert {row["machine"] for row in rows} == {"box-1", "box-3", "box-5", "box-7"}
    rows = as_json(
        "compare", path, path, "--select", "benchmark=l*", "--select", "date_tested=2017-05-*"
    )["benchmarks"]
    assert {(row["benchmark"], row["machine"]) for row in rows} == {("lbm", "box-4")}
    assert "no such machine; near it: 'box-0', 'box-1'" in refused(
        "compare", path, path, "--select", "machine=box"
    )


def test_reports_and_pictures_of_selected_labels(tmp_path):
    """They show those labels alone."""
    pytest.importorskip("matplotlib")
    path = write_archive()
    run("report", path, "--select", "machine=box-[56]", "-o", "report.md", code=0)
    text = (tmp_path / "report.md").read_text()
    assert "box-5" in text
    assert "box-4" not in text
    run(
        "plot",
        "five_numbers",
        path,
        "--by",
        "suite",
        "--select",
        "machine=box-[56]",
        "-o",
        "five.svg",
        code=0,
    )
    assert "--by: the picture run_sequence takes no such option" in refused(
        "plot", "run_sequence", path, "--by", "suite", "-o", "a.svg"
    )
