"""`perfarray report`: files to a page."""

import json

import pytest
from typer.testing import CliRunner

import perfarray
from perfarray.cli.app import app

OLD, NEW = (str(perfarray.dataset_path("python_malloc") / f"{name}.json") for name in ("malloc", "pymalloc"))


def run(*arguments):
    """Run the command in this process."""
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def test_two_places_are_compared(tmp_path):
    """And the result says where it is."""
    done = run(OLD, NEW, "-o", tmp_path / "report.json")
    assert done.exit_code == 0, done.output
    assert "report.json" in done.output
    found = json.loads((tmp_path / "report.json").read_text())
    assert "5 faster, 1 inconclusive" in found["summary"][-1]


def test_one_place_is_described(tmp_path):
    """Without a baseline nothing is compared."""
    assert run(OLD, "-o", tmp_path / "report.md").exit_code == 0
    text = (tmp_path / "report.md").read_text()
    assert "How long it takes" in text
    assert "What changed" not in text


def test_prices_and_verdicts_are_asked_as_elsewhere(tmp_path):
    """Prices in seconds and in the words of the format, as of `plan`; threshold and correction as of `compare`; printed or written."""
    chosen = ("--cost", "process=3", "--threshold", "5%", "--correction", "holm")
    assert run(OLD, NEW, *chosen, "-o", tmp_path / "report.json").exit_code == 0
    sections = {one["title"]: one for one in json.loads((tmp_path / "report.json").read_text())["sections"]}
    assert "threshold=0.05, correction='holm'" in sections["What changed"]["code"]
    assert "A change below 5 % does not matter. Verdicts are corrected for their number (holm)." in sections["What changed"]["about"]
    planned = sections["How many repetitions next time"]
    assert "costs={'execution': 3.0}, cost_units='s'" in planned["code"]
    assert {row["text"]["cost"].split()[-1] for row in planned["rows"]} <= {"min", "s"}
    assert run(OLD, NEW, *chosen, "--output", "json").stdout == (tmp_path / "report.json").read_text() + "\n"


def test_prices_that_are_missing_are_asked_for(tmp_path):
    """Of data that do not say them; the report is written nevertheless."""
    rows = [f"a,{i},{j},{1 + i / 50 + j / 90}" for i in range(4) for j in range(2)]
    (tmp_path / "runs.csv").write_text("\n".join(["benchmark,execution,iteration,time", *rows]) + "\n")
    done = run(tmp_path / "runs.csv", "-o", tmp_path / "report.md")
    assert (done.exit_code, (tmp_path / "report.md").is_file()) == (0, True)
    assert "what one more execution costs is not known; say --cost execution=SECONDS" in done.stderr
    assert run(tmp_path / "runs.csv", "-o", tmp_path / "report.md", "--cost", "execution=1").stderr == ""
    assert run(OLD, "-o", tmp_path / "report.md").stderr == ""
    done = run(tmp_path / "runs.csv", "--levels", "iteration", "-o", tmp_path / "report.md")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "n counts iterations" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((OLD, "-o", "report.pdf"), "'.pdf' is none of .html"),
        ((OLD, NEW, "--baseline", "x", "-o", "report.md"), "two places came"),
        ((OLD, NEW, "--cost", "fork=3", "-o", "report.md"), "'fork', a word of 'jmh'"),
        ((OLD, NEW, "--threshold=-2%", "-o", "report.md"), "--threshold -2% is out of range"),
    ],
)
def test_what_cannot_be_written_is_said(arguments, message, tmp_path, monkeypatch):
    """In a line, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert not list(tmp_path.iterdir())
