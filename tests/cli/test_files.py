"""`perfarray files`: the table of an archive on the screen."""

import json

import pytest

from cli.test_compare import run
from readers.files_of_our_own import small_suite, write


@pytest.fixture
def archive(tmp_path):
    """Return a folder with a file that can be read, one that cannot, and one of another kind."""
    write(tmp_path / "good.json", small_suite(1.0))
    write(tmp_path / "cut.json", json.dumps(small_suite(1.0))[:-30])
    write(tmp_path / "README.md", "# Results\n")
    return tmp_path


@pytest.mark.parametrize("parallel", [1, 2])
def test_it_says_what_came_of_each_file(archive, parallel):
    """One row each; that a file is broken is an answer here, and no failure."""
    result = run("files", archive, "--parallel", parallel)
    assert result.exit_code == 0, result.output
    rows = {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}
    assert rows["good.json"].split()[1:] == ["read", "pyperf", "1", "3", "3"]
    assert "broken" in rows["cut.json"]
    assert "skipped" in rows["README.md"]
    assert result.stdout.splitlines()[-1] == "1 skipped, 1 broken, 1 read"


def test_what_would_help_is_said_in_options(tmp_path, monkeypatch):
    """Of a file that is named alone; its name stands in its own column only."""
    monkeypatch.setenv("COLUMNS", "1000")
    write(tmp_path / "own.csv", "alg,ms\nsort,2\n")
    said = " ".join(run("files", tmp_path / "own.csv").stdout.split())
    assert "own.csv broken 0 0 0 no reader recognises its content" in said
    assert "--dims benchmark=program,time_ms=duration for CSV with a header" in said
    assert "perfarray files FILE" not in said


def test_names_of_files_are_whole(tmp_path, monkeypatch):
    """However narrow the terminal; where nothing was read, it is said how to be told more."""
    monkeypatch.setenv("COLUMNS", "80")
    for number in range(2):
        write(tmp_path / f"{'long' * 30}{number}.md", "# Results\n")
    shown = run("files", tmp_path).stdout
    assert "…" not in shown
    assert "perfarray files FILE, of one of these files, says what would help to read it" in shown


def test_json(archive):
    """Every column of every file."""
    answer = json.loads(run("files", archive, "--json").stdout)
    assert answer["archive"] == str(archive)
    assert [row["status"] for row in answer["files"]] == ["skipped", "broken", "read"]
    assert "is not valid JSON" in answer["files"][1]["reason"]


def test_nothing_read(tmp_path):
    """No file of a known format, a file that is not there, and no file at all, are no answer."""
    write(tmp_path / "README.md", "# Results\n")
    assert run("files", tmp_path).exit_code == 2
    missing = run("files", tmp_path / "none")
    assert (missing.exit_code, missing.stdout.splitlines()[-1]) == (2, "1 broken")
    assert run("files", str(tmp_path / "*.json")).stderr.startswith("error: no files found")
