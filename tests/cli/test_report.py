"""`perfarray report`: one page of an archive, or of two."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import perfarray
from perfarray.cli.app import app
from readers.files_of_our_own import write

OLD, NEW = (str(perfarray.dataset_path("python_malloc") / f"{name}.json") for name in ("malloc", "pymalloc"))


def run(*arguments):
    """Run the command in this process."""
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def test_two_inputs_are_compared(tmp_path):
    """The command prints the name of the file."""
    done = run(OLD, NEW, "-o", tmp_path / "report.json")
    assert done.exit_code == 0, done.output
    assert "report.json" in done.output
    found = json.loads((tmp_path / "report.json").read_text())
    assert "5 faster, 1 inconclusive" in found["summary"][0]


def test_one_input_is_described(tmp_path):
    """Without a baseline nothing is compared."""
    assert run(OLD, "-o", tmp_path / "report.md").exit_code == 0
    text = (tmp_path / "report.md").read_text()
    assert "How long it takes" in text
    assert "What changed" not in text


def test_options_of_plan_and_compare(tmp_path):
    """Prices are in seconds and in the words of the format, as for `plan`; threshold and correction are those of `compare`."""
    chosen = ("--cost", "process=3", "--threshold", "5%", "--correction", "holm")
    assert run(OLD, NEW, *chosen, "-o", tmp_path / "report.json").exit_code == 0
    sections = {one["title"]: one for one in json.loads((tmp_path / "report.json").read_text())["sections"]}
    assert "threshold=0.05, correction='holm'" in sections["What changed"]["code"]
    assert "A change below 5 % does not matter. Verdicts are corrected for their number (holm)." in sections["What changed"]["about"]
    planned = sections["How many repetitions next time"]
    assert "costs={'execution': 3.0}, cost_units='s'" in planned["code"]
    assert {row["text"]["cost"].split()[-1] for row in planned["rows"]} <= {"min", "s"}
    assert run(OLD, NEW, *chosen, "--output", "json").stdout == (tmp_path / "report.json").read_text() + "\n"


def test_missing_prices(tmp_path):
    """A warning names the prices that the data do not have; the report is written nevertheless."""
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
        ((OLD, NEW, "--baseline", "x", "-o", "report.md"), "--baseline 'x' is no input"),
        ((OLD, NEW, "--dim", "machine", "-o", "report.md"), "inputs are compared"),
        ((OLD, NEW, "--cost", "fork=3", "-o", "report.md"), "'fork', a word of 'jmh'"),
        ((OLD, NEW, "--threshold=-2%", "-o", "report.md"), "--threshold -2% is out of range"),
    ],
)
def test_errors(arguments, message, tmp_path, monkeypatch):
    """An error is one line, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert not list(tmp_path.iterdir())


HASHES = [f"{place * 2654435761 % 2**32:08x}" for place in range(1, 25)]
"""Commits in the order they were made, which is not that of their names."""


def nightly(folder, *, dated):
    """Write a pyperf file for each commit: `sort` is 6 % slower from the tenth on, `fft` 5 % faster from the seventeenth."""
    rng = np.random.default_rng(1)
    for place, commit in enumerate(HASHES):
        benches = []
        for name, level in (("sort", 1.06 if place >= 9 else 1.0), ("fft", 0.95 if place >= 16 else 1.0)):
            runs = [{"values": (level * rng.normal(1, 0.004, 2)).tolist(), "metadata": {}} for _ in range(4)]
            for run_number, own in enumerate(runs if dated else ()):
                own["metadata"] = {"date": f"2026-03-{place + 1:02} 02:00:{run_number:02}"}
            benches.append({"metadata": {"name": name, "unit": "second"}, "runs": runs})
        write(folder / f"{commit}.json", {"version": "1.0", "benchmarks": benches})
    return folder


def history_of(*arguments, path):
    """Return the summary of a report, and its section on the history."""
    done = run(*arguments, "--layout", "{commit}.json", "-o", path)
    assert done.exit_code == 0, done.output
    found = json.loads(path.read_text())
    assert "Nothing was measured on both sides" not in str(found)
    return found["summary"], {one["title"]: one for one in found["sections"]}["Since when"]


def test_a_nightly_archive_has_a_history(tmp_path):
    """Dates of the files, or a list, order the commits; summary and section agree. Without an order a note names the remedy."""
    lines, section = history_of(nightly(tmp_path / "dated", dated=True), path=tmp_path / "report.json")
    assert lines[0] == "Changes along the commits: 1 slower, 1 faster."
    assert [(row["commit"], row["verdict"]) for row in section["rows"]] == [(HASHES[9], "slower"), (HASHES[16], "faster")]
    undated = nightly(tmp_path / "undated", dated=False)
    lines, section = history_of(undated, path=tmp_path / "report.json")
    assert not any("Changes" in line for line in lines)
    assert section["notes"][0].startswith("No answer: the order of the 24 commits is not known")
    assert "--order FILE" in section["notes"][0]
    order = write(tmp_path / "order.txt", "\n".join(reversed(HASHES)))
    lines, section = history_of(undated, "--order", order, path=tmp_path / "report.json")
    assert lines[0] == "Changes along the commits: 1 slower, 1 faster."


def test_a_stable_history_has_no_change(tmp_path):
    """Summary and section say so in the same words."""
    rows = [f"a,c{place:02},{1 + (place * 7919 % 31) / 1000}" for place in range(20)]
    write(tmp_path / "t.csv", "\n".join(["benchmark,commit,time", *rows]))
    assert run(tmp_path / "t.csv", "--dims", "commit=commit", "-o", tmp_path / "report.json").exit_code == 0
    found = json.loads((tmp_path / "report.json").read_text())
    section = {one["title"]: one for one in found["sections"]}["Since when"]
    sentence = "No change in 1 series along the commits: none is larger than chance makes it."
    assert (found["summary"][0], section["notes"][-1]) == (sentence, sentence)
