"""`perfarray components`, `counts` and `formats`: results by level, and the formats."""

import pytest

import perfarray
from cli.commands import OLD, SHIPPED, as_json, one_line, run, write, write_rows
from perfarray.timings.notes import collecting_notes

FILE = SHIPPED / "malloc.json"


def test_components_of_a_file():
    """There is a row for each benchmark, with a column for each level; the outcome says where most
    of the variance lies."""
    result = run("components", FILE, code=0)
    lines = result.stdout.splitlines()
    assert lines[0].split("  ")[0] == "benchmark"
    assert lines[0].endswith("mean  between executions  between iterations")
    assert any(
        line.endswith("in percent of the mean; in brackets its share of the variance.")
        for line in lines
    )
    assert (
        lines[-1]
        == "6 cells: most of the variance lies between executions in 3, between iterations in 3"
    )
    with collecting_notes() as notes:
        expected = perfarray.variance_components(perfarray.read(FILE))["share"]
    assert [note.code for note in notes] == ["carried", "uneven"]
    assert " ".join(notes[0].message.split()[:9]) in one_line(result.stdout + result.stderr)
    first = as_json("components", FILE)["rows"][0]
    assert (
        first["share"] == expected.sel(benchmark=first["benchmark"]).squeeze().to_series().to_dict()
    )
    assert first["share"]["execution"] > 0.5


def test_options_reach_the_components():
    """Levels and method are those of the result; effects are sorted by size."""
    assert as_json("components", FILE, "--method", "reml")["attrs"]["method"] == "reml"
    printed_text = run("components", FILE, "--sort", "effect").stdout.splitlines()
    assert printed_text[2].startswith("create_objects")
    assert "--levels" not in run("components", FILE, "--levels", "iteration,execution").stdout


@pytest.mark.parametrize("command", ["components", "counts"])
def test_several_files(command):
    """Files have a row each, or are the outermost repetitions."""
    rows = as_json(command, SHIPPED)["rows"]
    assert [row["file"] for row in rows][:2] == ["malloc.json", "pymalloc.json"]
    assert as_json(command, SHIPPED, "--files-are", "separate")["rows"] == rows
    sessions = as_json(command, SHIPPED, "--files-are", "session")
    assert sessions["attrs"]["levels"] == "session execution iteration"
    assert "file" not in sessions["rows"][0]


def test_one_execution_has_no_share():
    """The variance between executions is not known, nor the share of iterations: no bracket says
    100 %."""
    rows = [f"{name},0,{i},{1 + i * i / 100}" for name in "ab" for i in range(8)]
    printed = run(
        "components", write_rows("one.csv", "benchmark,execution,iteration,time_s", rows), code=0
    ).stdout
    assert "(100 %)" not in printed
    assert "bracket" not in printed
    assert (
        printed.splitlines()[-1]
        == "Shares are not known: of one execution nothing tells what lies between several"
    )


def test_no_answer():
    """Nothing is repeated, and there is no legend of columns that are not there; or nothing was
    measured, since all runs failed."""
    printed = run("components", write("a.csv", {"a": OLD[:1]}), code=2).stdout
    assert printed == "No answer: nothing is repeated, or nothing varies\n"
    failed = write_rows("a.csv", "benchmark,execution,time,failed", ["a,0,1.0,1", "a,1,1.0,1"])
    assert "No answer: nothing was measured" in run("counts", failed, code=2).stdout


def test_counts():
    """Repetitions are counted level by level; the outcome says whether all cells are alike."""
    printed = run("counts", SHIPPED, code=0).stdout
    assert "3 (60 in all)" in printed
    assert printed.splitlines()[-1] == "720 values of 12 cells; as many repetitions everywhere"
    path = write("a.csv", {"a": OLD, "b": OLD[:2]})
    ragged = run("counts", path, "--output", "csv").stdout.splitlines()
    assert (ragged[0].split(",")[0], len(ragged)) == ("benchmark", 3)
    assert "not as many repetitions everywhere" in run("counts", path).stdout


def test_formats():
    """The command lists all formats, or one with its details, in which arguments are written as
    options."""
    all_rows = as_json("formats")["formats"]
    assert {"pyperf", "jmh", "tidy_csv", "custom"} <= {row["format"] for row in all_rows}
    assert all(row["what"].endswith(".") for row in all_rows)
    assert [row["format"] for row in all_rows] == perfarray.formats().index.tolist()
    subset = run("formats", "jmh").stdout
    assert "forks are executions" in subset
    assert "The unit decides what a number is" in subset
    assert "pyperf" not in subset
    assert "--format 'xml' is not known; choose one of" in run("formats", "xml", code=2).stderr
    assert "`--dims benchmark=0,time_ms=1` names the columns" in one_line(
        run("formats", "custom").stdout
    )


@pytest.mark.parametrize("command", ["components", "counts"])
def test_cells_without_measurements_have_no_row(command):
    """Of a sparse archive, JSON and CSV have the rows of the table."""
    rows = [
        f"fft,{machine},{compiler},{i},{time}"
        for machine, compiler in (("m1", "a"), ("m2", "b"))
        for i, time in enumerate(OLD)
    ]
    path = write_rows("sparse.csv", "benchmark,machine,compiler,execution,time", rows)
    printed_text = as_json(command, path)["rows"]
    assert [(row["machine"], row["compiler"]) for row in printed_text] == [("m1", "a"), ("m2", "b")]
    assert len(run(command, path, "--output", "csv").stdout.splitlines()) == 3


def test_files_of_one_process_each():
    """The outcome names the option that makes them repetitions; with it there are shares."""
    for number in (1, 2, 3):
        rows = [f"fft,0,{run},{1 + number / 50 + run / 90}" for run in range(4)]
        write_rows(f"runs/{number}.csv", "benchmark,execution,iteration,time", rows)
    alone = run("components", "runs", code=0).stdout.splitlines()[-1]
    assert alone.endswith("If each file is a run of the same thing: --files-are session")
    together = run("components", "runs", "--files-are", "session", code=0).stdout
    assert "between sessions" in together
    assert "--files-are" not in together.splitlines()[-1]
