"""`perfarray components`, `counts` and `formats`: results by level, and the formats."""

import json

import pytest

import perfarray
from cli.test_compare import OLD, run, write
from perfarray.timings.notes import collecting_notes

FOLDER = perfarray.dataset_path("python_malloc")


def test_components_of_a_file():
    """There is a row for each benchmark, with a column for each level; the outcome says where most of the variance lies."""
    result = run("components", FOLDER / "malloc.json")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split("  ")[0] == "benchmark"
    assert lines[0].endswith("mean  between executions  between iterations")
    assert any(line.endswith("in percent of the mean; in brackets its share of the variance.") for line in lines)
    assert lines[-1] == "6 cells: most of the variance lies between executions in 3, between iterations in 3"
    with collecting_notes() as notes:
        expected = perfarray.variance_components(perfarray.read(FOLDER / "malloc.json"))["share"]
    assert [note.code for note in notes] == ["carried", "uneven"]
    assert " ".join(notes[0].message.split()[:9]) in " ".join((result.stdout + result.stderr).split())
    first = json.loads(run("components", FOLDER / "malloc.json", "--json").stdout)["rows"][0]
    assert first["share"] == expected.sel(benchmark=first["benchmark"]).squeeze().to_series().to_dict()
    assert first["share"]["execution"] > 0.5


def test_options_reach_the_components():
    """Levels and method are those of the result; effects are sorted by size."""
    found = json.loads(run("components", FOLDER / "malloc.json", "--method", "reml", "--json").stdout)
    assert found["attrs"]["method"] == "reml"
    shown = run("components", FOLDER / "malloc.json", "--sort", "effect").stdout.splitlines()
    assert shown[2].startswith("create_objects")
    assert "--levels" not in run("components", FOLDER / "malloc.json", "--levels", "iteration,execution").stdout


@pytest.mark.parametrize("command", ["components", "counts"])
def test_several_files(command):
    """Files have a row each, or are the outermost repetitions."""
    found = {kind: json.loads(run(command, FOLDER, *words, "--json").stdout) for kind, words in
             {"files": (), "separate": ("--files-are", "separate"), "sessions": ("--files-are", "session")}.items()}  # fmt: skip
    assert [row["file"] for row in found["files"]["rows"]][:2] == ["malloc.json", "pymalloc.json"]
    assert found["separate"]["rows"] == found["files"]["rows"]
    assert found["sessions"]["attrs"]["levels"] == "session execution iteration"
    assert "file" not in found["sessions"]["rows"][0]


def test_one_execution_has_no_share(tmp_path):
    """The variance between executions is not known, nor the share of iterations: no bracket says 100 %."""
    times = perfarray.simulate(sizes={"execution": 1, "iteration": 8}, variances={"iteration": 1e-4}, dims={"benchmark": ["a", "b"]}, rng=1)
    times.perf.to_frame().rename(columns={"time": "time_s"}).to_csv(tmp_path / "one.csv", index=False)
    result = run("components", tmp_path / "one.csv")
    assert result.exit_code == 0
    assert "(100 %)" not in result.stdout
    assert "bracket" not in result.stdout
    assert result.stdout.splitlines()[-1] == "Shares are not known: of one execution nothing tells what lies between several"


def test_nothing_repeated(tmp_path):
    """There is no answer, and no legend of columns that are not there."""
    result = run("components", write(tmp_path / "a.csv", {"a": OLD[:1]}))
    assert result.exit_code == 2
    assert result.stdout == "No answer: nothing is repeated, or nothing varies\n"


def test_counts(tmp_path):
    """Repetitions are counted level by level; the outcome says whether all cells are alike."""
    result = run("counts", FOLDER)
    assert result.exit_code == 0
    assert "3 (60 in all)" in result.stdout
    assert result.stdout.splitlines()[-1] == "720 values of 12 cells; as many repetitions everywhere"
    ragged = run("counts", write(tmp_path / "a.csv", {"a": OLD, "b": OLD[:2]}), "--output", "csv").stdout.splitlines()
    assert ragged[0].startswith("benchmark,")
    assert len(ragged) == 3
    assert "not as many repetitions everywhere" in run("counts", tmp_path / "a.csv").stdout


def test_counts_of_nothing(tmp_path):
    """Runs that all failed are no answer."""
    path = tmp_path / "a.csv"
    path.write_text("benchmark,execution,time,failed\na,0,1.0,1\na,1,1.0,1\n")
    result = run("counts", path)
    assert result.exit_code == 2
    assert "No answer: nothing was measured" in result.stdout


def test_formats():
    """The command lists all formats, or one with its details, in which arguments are written as options."""
    every = json.loads(run("formats", "--json").stdout)["formats"]
    assert {"pyperf", "jmh", "tidy_csv", "custom"} <= {row["format"] for row in every}
    assert all(row["what"].endswith(".") for row in every)
    assert [row["format"] for row in every] == perfarray.formats().index.tolist()
    one = run("formats", "jmh").stdout
    assert "forks are executions" in one
    assert "The unit decides what a number is" in one
    assert "pyperf" not in one
    wrong = run("formats", "xml")
    assert wrong.exit_code == 2
    assert "--format 'xml' is not known; choose one of" in wrong.stderr
    printed = " ".join(run("formats", "custom").stdout.split())
    assert "`--dims benchmark=0,time_ms=1` names the columns" in printed
