"""`perfarray ARCHIVE`: what is in it, and commands that have an answer."""

import re
import shlex

import pytest
from typer.testing import CliRunner

import perfarray
from perfarray.cli.app import app, with_command

SHIPPED = str(perfarray.dataset_path("python_malloc"))


def test_content_and_commands():
    """The command lists labels, repetitions and metrics, and proposes commands that exist and take their options."""
    done = CliRunner().invoke(app, ["about", SHIPPED])
    assert done.exit_code == 0, done.output
    assert "6 benchmarks: 'create_objects', " in done.output
    assert "2 files: 'malloc.json', 'pymalloc.json'" in done.output
    assert "at most 20 executions x 4 iterations" in done.output
    assert "measured: time in s, lower is better" in done.output
    proposed = [shlex.split(line) for line in re.findall(r"^  perfarray (.*?)  ", done.output, re.M)]
    assert {words[0] for words in proposed} == {"components", "counts", "compare", "plot", "report", "convert"}
    asked = next(words for words in proposed if "--dim" in words)
    assert CliRunner().invoke(app, asked).exit_code in (0, 1)


@pytest.mark.parametrize("executions", [1, 3])
def test_proposed_commands_have_an_answer(tmp_path, monkeypatch, executions):
    """Each command succeeds once its capitals are filled in; one execution has no comparison and no plan, and a line says why."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{name},{i},{j},{1 + i / 50 + j / 90}" for name in ("a b", "c") for i in range(executions) for j in range(2)]
    (tmp_path / "runs.csv").write_text("\n".join(["benchmark,execution,iteration,time", *rows]) + "\n")
    done = CliRunner().invoke(app, ["about", "runs.csv"])
    proposed = [shlex.split(line) for line in re.findall(r"^  perfarray (.*?)  ", done.output, re.M)]
    named = [words[0] for words in proposed if "OTHER" not in words]
    assert named == (["components", "compare", "plan", "plot"] if executions > 1 else []) + ["counts", "report", "convert"]
    assert ("One execution of each shows no spread between executions" in done.output) is (executions == 1)
    assert ("take iterations as independent, if they are: --levels iteration." in done.output) is (executions == 1)
    for words in proposed:
        if words[0] in ("components", "compare", "plan", "counts") and executions > 1:
            words = [word.replace("SECONDS", "1").replace("OTHER", "runs.csv") for word in words]
            assert CliRunner().invoke(app, words).exit_code == 0, words


def test_proposed_baseline(tmp_path):
    """It is the first label that was measured more than once."""
    rows = [f"a,{version},{i},{1 + i / 50}" for version, n in (("1.0", 1), ("1.1", 3), ("1.2", 3)) for i in range(n)]
    (tmp_path / "runs.csv").write_text("\n".join(["benchmark,version,execution,time", *rows]) + "\n")
    assert "--dim version --baseline 1.1  " in CliRunner().invoke(app, ["about", str(tmp_path / "runs.csv")]).output


def test_several_files_under_a_long_path(tmp_path):
    """A line explains --files-are; long commands are proposed, too, and there is no warning."""
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    for name in ("x", "y"):
        (folder / f"{name}.csv").write_text("benchmark,execution,time,failed\na,0,1.0,False\na,1,1.1,True\n")
    done = CliRunner().invoke(app, ["about", str(folder)])
    assert done.exit_code == 0, done.output
    assert "OTHER --files-are session  whether other timings are faster" in done.stdout
    assert done.stdout.endswith("--files-are session makes the files the repetitions.\n")
    assert done.stderr == ""


def test_proposed_commands_repeat_options(tmp_path, monkeypatch):
    """A proposed command reads the files as they were read."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{name};{i};{1000 + i}" for name in ("a", "b") for i in range(4)]
    (tmp_path / "runs.csv").write_text("\n".join(["program;run;duration", *rows]) + "\n")
    options = ["--dims", "benchmark=program,execution=run,time_ms=duration", "--encoding", "latin-1"]
    done = CliRunner().invoke(app, ["about", "runs.csv", *options])
    proposed = [shlex.split(line) for line in re.findall(r"^  perfarray (.*?)  ", done.output, re.M)]
    assert all(set(options) <= set(words) for words in proposed)
    assert [CliRunner().invoke(app, words).exit_code for words in proposed if words[0] in ("components", "counts")] == [0, 0]
    assert "encoding='latin-1'); times.perf" in done.output


def test_a_path_is_short_for_about(tmp_path, monkeypatch):
    """A word that is no command and exists or looks like a path; a command stays one, even where a file has its name."""
    assert with_command([SHIPPED, "--format", "pyperf"]) == ["about", SHIPPED, "--format", "pyperf"]
    for place in ("nowhere.json", "results/*", "../x"):
        assert with_command([place]) == ["about", place]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan").touch()
    for words in (["plan"], ["pln"], ["--help"], []):
        assert with_command(words) == words


def test_a_file_that_cannot_be_read(tmp_path):
    """An error names it."""
    (tmp_path / "a.json").write_text("{}")
    done = CliRunner().invoke(app, ["about", str(tmp_path / "a.json")])
    assert done.exit_code == 2
    assert "a.json" in done.output


def test_a_folder_with_a_broken_file_is_described(tmp_path):
    """The files that can be read are described, and the others are named; one broken file alone is an error."""
    good = "benchmark,execution,time_s\nfft,0,1.0\nfft,1,1.1\n"
    (tmp_path / "good.csv").write_text(good)
    (tmp_path / "bad.csv").write_text(good + "fft,2,none of it\n")
    result = CliRunner().invoke(app, ["about", str(tmp_path)])
    assert result.exit_code == 0
    assert "bad.csv" in result.output
    assert "1 benchmark: 'fft'" in result.output
    assert CliRunner().invoke(app, ["about", str(tmp_path / "bad.csv")]).exit_code == 2
