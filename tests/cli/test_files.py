"""`perfarray files`: the table of an archive on the screen."""

import json

import pytest

from cli.commands import as_json, one_line, run
from readers.files_of_our_own import small_suite, write


@pytest.fixture
def archive(tmp_path):
    """Return a folder with a file that can be read, one that cannot, and one of another kind."""
    write(tmp_path / "good.json", small_suite(1.0))
    write(tmp_path / "cut.json", json.dumps(small_suite(1.0))[:-30])
    write(tmp_path / "README.md", "# Results\n")
    return tmp_path


def test_a_row_for_each_file(archive):
    """A broken file is an answer here, and no failure."""
    lines = run("files", archive, code=0).stdout.splitlines()
    rows = {line.split()[0]: line for line in lines if line.strip()}
    assert rows["good.json"].split()[1:] == ["read", "pyperf", "1", "3", "3"]
    assert "broken" in rows["cut.json"]
    assert "skipped" in rows["README.md"]
    assert lines[-1] == "1 skipped, 1 broken, 1 read"


def test_advice_names_options(tmp_path, monkeypatch):
    """A file that is named alone gets advice; its name stands in its column only."""
    monkeypatch.setenv("COLUMNS", "1000")
    write(tmp_path / "own.csv", "alg,ms\nsort,2\n")
    printed = one_line(run("files", tmp_path / "own.csv").stdout)
    assert "own.csv broken 0 0 0 no reader recognises its content" in printed
    assert "--dims benchmark=program,time_ms=duration for CSV with a header" in printed
    assert "perfarray files FILE" not in printed


def test_names_of_files_are_whole(tmp_path, monkeypatch):
    """They are whole in a narrow terminal; where nothing was read, a line says how to get
    advice."""
    monkeypatch.setenv("COLUMNS", "80")
    for number in range(2):
        write(tmp_path / f"{'long' * 30}{number}.md", "# Results\n")
    printed_text = run("files", tmp_path).stdout
    assert "…" not in printed_text
    assert (
        "perfarray files FILE, of one of these files, says what would help to read it"
        in printed_text
    )


def test_json(archive):
    """The object has every column of every file."""
    answer = as_json("files", archive)
    assert answer["archive"] == str(archive)
    assert [row["status"] for row in answer["files"]] == ["skipped", "broken", "read"]
    assert "is not valid JSON" in answer["files"][1]["reason"]


def test_nothing_read(tmp_path):
    """There is no answer without a file of a known format, where the file is missing, and without
    any file."""
    write(tmp_path / "README.md", "# Results\n")
    run("files", tmp_path, code=2)
    assert run("files", "none", code=2).stdout.splitlines()[-1] == "1 broken"
    assert run("files", "*.json").stderr.startswith("error: no files found")
