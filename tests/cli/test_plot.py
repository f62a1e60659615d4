"""`perfarray plot`: pictures in files, and errors before anything is read."""

import inspect
import re
from pathlib import Path

import pytest
import xarray as xr

from cli.archives import write_archive
from cli.commands import SHIPPED, run, write_rows
from perfarray.cli.plot import LEFT_OUT

OLD, NEW = SHIPPED / "malloc.json", SHIPPED / "pymalloc.json"


@pytest.fixture(autouse=True)
def _matplotlib():
    pytest.importorskip("matplotlib")


def test_one_place(tmp_path):
    """The suffix decides the form; no other file is left."""
    assert (
        run("plot", "variance-components", OLD, "-o", "a.svg", code=0).stdout
        == "a.svg: variance_components\n"
    )
    assert "<svg" in (tmp_path / "a.svg").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


def test_a_comparison(tmp_path):
    """The old one of two inputs is the baseline."""
    run("plot", "intervals", OLD, NEW, "--threshold", "2%", "-o", "a.png", code=0)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_one_benchmark():
    """The library's advice to select a label names the option that does it."""
    command = ("plot", "run_sequence", OLD, "-o", "a.svg")
    assert "select one, as in --select 'benchmark=create_objects'" in run(*command, code=2).stderr
    run(*command, "--select", "benchmark=fibonacci", code=0)
    assert (
        "no such benchmark; there is 'create_objects'"
        in run(*command, "--select", "benchmark=none").stderr
    )
    assert (
        "write a dim and its label, as in benchmark=fft"
        in run(*command, "--select", "fibonacci").stderr
    )


def test_a_label_by_its_end_or_a_pattern():
    """Package and settings may be left out; an error lists the labels where several match, or
    similar ones."""
    names = [
        "org.example.Copy.small[size=1]",
        "org.example.Copy.large[size=1]",
        "org.example.Large.large[size=1]",
    ]
    write_rows(
        "a.csv",
        "benchmark,execution,time",
        [f'"{name}",{i},{1 + i / 50}' for name in names for i in range(4)],
    )
    command = ("plot", "run_sequence", "a.csv", "-o", "a.svg", "--select")
    for label in ("small", "Copy.large", "*Large.l*", names[0]):
        run(*command, f"benchmark={label}", code=0)
    assert (
        f"2 labels of benchmark are like that: {names[1]!r}, {names[2]!r}; name one"
        in run(*command, "benchmark=large").stderr
    )
    assert f"no such benchmark; near it: {names[0]!r}" in run(*command, "benchmark=smal").stderr
    assert (
        "the picture biplot shows several machines; what was read has"
        in run("plot", "biplot", *command[2:-1]).stderr
    )
    assert "as in --select 'benchmark=" in run("plot", "mixture", *command[2:-1]).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nothing no.json -o a.svg", "there is no picture 'nothing'; there are 'biplot', "),
        ("violin no.json -o a.gif", "'.gif' is none of '.svg', '.png', '.pdf'"),
        ("violin no.json -o no/such/a.svg", "there is no folder"),
        (
            "intervals no.json -o a.svg",
            "the picture intervals compares: give OLD and NEW, or --dim and --baseline",
        ),
        (
            "violin no.json --threshold 2% -o a.svg",
            "--threshold: the picture violin takes no such option",
        ),
    ],
)
def test_errors_before_reading(words, message):
    output = run("plot", *words.split(), code=2).stderr
    assert message in output
    assert "no such file" not in output


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("perfarray.cli.plot.find_spec", lambda _: None)
    assert "install perfarray[plots]" in run("plot", "violin", "no.json", "-o", "a.svg").stderr


def test_every_picture_has_its_options():
    """The command has an option for every required argument of a picture."""
    pictures = xr.Dataset().perf.plot
    for name in dir(type(pictures)):
        if name.startswith("_") or name in LEFT_OUT:
            continue
        parameters = inspect.signature(getattr(pictures, name)).parameters
        needed = {
            key
            for key, element in parameters.items()
            if element.default is element.empty and element.kind is not element.VAR_KEYWORD
        }
        assert needed <= {"baseline"}, name


def words_of(path):
    """Return the texts of a picture in their order, as comments of the SVG have them."""
    return " ".join(re.findall(r"<!-- (.*?) -->", Path(path).read_text()))


@pytest.fixture
def archive():
    return write_archive(n_machines=24)


def test_an_archive_of_machines_has_its_five_numbers(archive):
    """Exact ones; a title speaks of no argument that the command has no option for, and matplotlib
    is not heard."""
    completed = run("plot", archive, code=0)
    assert completed.stdout == "five-numbers.svg: five_numbers\n"
    words = words_of("five-numbers.svg")
    assert "exact" in words
    assert re.search(r"40 of 4\d: the 20 best and the 20 worst", words)
    assert "max_rows" not in words
    assert (
        "constrained_layout"
        not in run("plot", "violin", archive, "-o", "violin.svg", code=0).stderr
    )
    assert "shared=" not in completed.stderr


def test_a_biplot_names_what_was_selected(archive):
    """The suite and every label that all machines share."""
    selected = ("suite=int2017", "compiler=gcc 13")
    run(
        "plot",
        "biplot",
        archive,
        *(word for text in selected for word in ("--select", text)),
        "-o",
        "a.svg",
        code=0,
    )
    assert re.search("biplot.*int2017, gcc 13", words_of("a.svg"))


def test_only_measured_suite_rows_are_counted(archive):
    """A comparison of a sparse archive counts the suites with a ratio."""
    run(
        "plot",
        archive,
        "--dim",
        "compiler",
        "--baseline",
        "gcc 13",
        "--select",
        "suite=int2017",
        "-o",
        "a.svg",
        code=0,
    )
    assert "20 of 23" in words_of("a.svg")
