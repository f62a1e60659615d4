"""`perfarray ARCHIVE`: what is in it, and commands that have an answer."""

import re
import shlex

from typer.testing import CliRunner

import perfarray
from perfarray.cli.app import app, spoken

SHIPPED = str(perfarray.dataset_path("python_malloc"))


def test_what_is_in_it_and_what_can_be_asked():
    """Labels, repetitions, metrics; every command that is proposed is there and takes its options."""
    done = CliRunner().invoke(app, ["about", SHIPPED])
    assert done.exit_code == 0, done.output
    assert "6 benchmarks: 'create_objects', " in done.output
    assert "2 files: 'malloc.json', 'pymalloc.json'" in done.output
    assert "at most 20 executions x 4 iterations" in done.output
    assert "measured: time in s, lower is better" in done.output
    proposed = [shlex.split(line) for line in re.findall(r"^  perfarray (.*?)  ", done.output, re.M)]
    assert {words[0] for words in proposed} == {"components", "counts", "compare", "report", "convert"}
    asked = next(words for words in proposed if "--dim" in words)
    assert CliRunner().invoke(app, asked).exit_code in (0, 1)


def test_a_place_is_asked_about(tmp_path, monkeypatch):
    """A word that is no command and exists or looks like a place; a command stays one, even where a file bears its name."""
    assert spoken([SHIPPED, "--format", "pyperf"]) == ["about", SHIPPED, "--format", "pyperf"]
    for place in ("nowhere.json", "results/*", "../x"):
        assert spoken([place]) == ["about", place]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan").touch()
    for words in (["plan"], ["pln"], ["--help"], []):
        assert spoken(words) == words


def test_what_cannot_be_read_is_an_error(tmp_path):
    """In a line that names it."""
    (tmp_path / "a.json").write_text("{}")
    done = CliRunner().invoke(app, ["about", str(tmp_path / "a.json")])
    assert done.exit_code == 2
    assert "a.json" in done.output
