"""In every form of every command the rows have the labels of the result."""

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cli.archives import SUITES, write_archive
from cli.commands import OLD, run, times, write_rows

THREADS = (100, 200, 300)


def rows_of(benchmarks, **columns):
    """Return CSV lines of runs: benchmark to times, with the values of further columns in front of
    the run."""
    labels = list(columns.values())
    return [
        ",".join(map(str, (name, *labels, run, time)))
        for name, runs in benchmarks.items()
        for run, time in enumerate(runs)
    ]


@pytest.fixture
def files():
    """Two versions of benchmarks of which `b` alone has both, on two machines and with three
    numbers of threads; a history."""
    header = "benchmark,machine,threads,execution,time"
    for path, names, factor in (("old.csv", "ab", 1.0), ("new.csv", "bc", 1.25)):
        rows = [
            row
            for machine in (("m1", "m2") if path == "old.csv" else ("m2",))
            for threads in THREADS
            for row in rows_of(
                {name: times(factor * threads) for name in names}, machine=machine, threads=threads
            )
        ]
        write_rows(path, header, rows)
    for path, names, machines in (
        ("old_one.csv", "ab", ["m1", "m2"]),
        ("new_one.csv", "bc", ["m2"]),
    ):
        rows = [
            row
            for machine in machines
            for row in rows_of(dict.fromkeys(names, OLD), machine=machine)
        ]
        write_rows(path, "benchmark,machine,execution,time", rows)
    write_rows(
        "one.csv",
        "benchmark,threads,execution,time",
        [row for n in THREADS for row in rows_of({"fft": OLD}, threads=n)],
    )
    factors = [(commit, 1.3 if commit >= 10 else 1.0) for commit in range(20)]
    history = [
        f"{name},{commit},0,{(factor if name == 'b' else 1) * OLD[commit % 6]}"
        for name in "ab"
        for commit, factor in factors
    ]
    write_archive()
    write_rows("history.csv", "benchmark,build,execution,time", history)


class Cells(HTMLParser):
    """The texts of the first table of a page that has the title of a label."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def handle_starttag(self, tag, _):
        self.rows += [[]] if tag == "tr" else []
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip()


def table_of(form, text, dims):
    """Return the rows of the first table with these titles, as texts by title."""
    if form == "csv":
        return list(csv.DictReader(io.StringIO(text)))
    if form == "json":
        content = json.loads(text)
        key = next(name for name in ("benchmarks", "rows", "plans", "changes") if name in content)
        return [{name: str(value) for name, value in row.items()} for row in content[key]]
    if form == "html":
        parser = Cells()
        parser.feed(text)
        lines = parser.rows
    elif form == "markdown":
        lines = [
            [cell.strip(" `*") for cell in line.strip("|").split("|")]
            for line in text.splitlines()
            if re.match(r"\|(?! :?-)", line)
        ]
    else:
        lines = [re.split(r"\s{2,}", line) for line in text.splitlines()]
    start = next(position for position, cells in enumerate(lines) if set(dims) <= {*cells})
    titles = lines[start]
    return [
        dict(zip(titles, cells, strict=True))
        for cells in lines[start + 1 :]
        if len(cells) == len(titles)
    ]


COMPLETE = ("--select", "machine=box-[3-7]")

PREDICTORS = ("--model", "ols", "--predictors", "cores,cpu_mhz")

OF_SUITES = [(suite, f"box-{number}") for suite in SUITES for number in range(3, 8)]

COMMANDS = {
    "compare": (
        ("compare", "old.csv", "new.csv"),
        ("benchmark", "machine", "threads"),
        [("b", "m2", n) for n in THREADS],
    ),
    "compare-one": (
        ("compare", "old_one.csv", "new_one.csv"),
        ("benchmark", "machine"),
        [("b", "m2")],
    ),
    "compare-dim": (
        ("compare", "one.csv", "--dim", "threads", "--baseline", "100"),
        ("threads",),
        [(200,), (300,)],
    ),
    "counts": (("counts", "one.csv"), ("benchmark", "threads"), [("fft", n) for n in THREADS]),
    "components": (
        ("components", "one.csv"),
        ("benchmark", "threads"),
        [("fft", n) for n in THREADS],
    ),
    "stop": (
        ("stop", "one.csv", "--half-width", "1%", "--start", "3"),
        ("benchmark", "threads"),
        [("fft", n) for n in THREADS],
    ),
    "plan": (
        ("plan", "one.csv", "--half-width", "1%", "--cost", "execution=1"),
        ("benchmark", "threads"),
        [("fft", n) for n in THREADS],
    ),
    "history": (("history", "history.csv"), ("benchmark", "build"), [("b", 10)]),
    "scores": (
        ("scores", "old.csv"),
        ("machine", "threads"),
        [(f"m{i}", n) for i in (1, 2) for n in THREADS],
    ),
    "scores-suites": (
        ("scores", "archive.csv", "--by", "suite", "--select", "compiler=gcc*", *COMPLETE),
        ("suite", "machine"),
        OF_SUITES,
    ),
    "machines": (
        ("machines", "old.csv"),
        ("machine", "threads"),
        [(f"m{i}", n) for i in (1, 2) for n in THREADS],
    ),
    "explain": (
        ("explain", "archive.csv", "--select", "suite=int2017", *PREDICTORS),
        ("predictor",),
        [("cores",), ("cpu_mhz",)],
    ),
}


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json", "html"])
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("files")
def test_rows_have_the_labels_of_the_result(name, form):
    """Those of the cells with an answer, also where all of these share a label, and where labels
    are numbers at equal steps."""
    command, dims, expected = COMMANDS[name]
    rows = table_of(form, run(*command, "--output", form).stdout, dims)
    labels = [
        tuple(row[dim] for dim in dims)
        for row in rows
        if row.get("n", "1") not in ("0", "0.0") and not row[dims[0]].startswith("all ")
    ]
    assert sorted(labels) == sorted(tuple(map(str, label)) for label in expected)


@pytest.mark.parametrize("form", ["md", "html", "json"])
@pytest.mark.usefixtures("files")
def test_tables_of_a_report_have_the_labels_of_the_result(form):
    """Every section names its rows."""
    run("report", "one.csv", "-o", f"report.{form}")
    text = Path(f"report.{form}").read_text()
    if form == "json":
        sections = [section for section in json.loads(text)["sections"] if section["rows"]]
        assert len(sections) >= 3
        rows = [row for section in sections for row in section["rows"] if "rule" not in row]
        assert {(row["benchmark"], row["threads"]) for row in rows} == {("fft", n) for n in THREADS}
        return
    rows = table_of({"md": "markdown"}.get(form, form), text, ("benchmark", "threads"))
    assert {(row["benchmark"], row["threads"]) for row in rows if row["benchmark"] == "fft"} == {
        ("fft", str(n)) for n in THREADS
    }
