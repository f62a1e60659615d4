"""What is compared with what: several places, beginnings of labels, git refs, tags, thresholds by
benchmark, short answers."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import typer

import perfarray
from cli.commands import as_json, refused, run, write_rows
from perfarray.cli.forms import Answer, Form, give
from readers.files_of_our_own import bench, suite
from readers.files_of_our_own import run as pyperf_run
from readers.files_of_our_own import write as write_content


def rows(*arguments):
    return as_json("compare", *arguments)["benchmarks"]


def write(path, seed=1, **means):
    """Write a tidy CSV with ten executions of each benchmark."""
    rng = random.Random(seed)
    lines = [
        f"{name},{i},{rng.gauss(mean, 0.01 * mean)}"
        for name, mean in means.items()
        for i in range(10)
    ]
    write_rows(path, "benchmark,execution,time", lines)


def hyperfine(path, codes=(), **means):
    """Write ten runs of each command; `codes` are exit codes of the first of the last command."""
    rng = random.Random(2)
    results = [
        {"command": name, "times": [rng.gauss(mean, 0.01 * mean) for _ in range(10)]}
        for name, mean in means.items()
    ]
    results[-1]["exit_codes"] = [*codes, *[0] * (10 - len(codes))]
    Path(path).write_text(json.dumps({"results": results}))


@pytest.fixture
def sides():
    """Two files of two benchmarks, each 5 % slower in the second."""
    write("old.csv", 1, fft=1.0, sort=1.0)
    write("new.csv", 2, fft=1.05, sort=1.05)
    return "old.csv", "new.csv"


def test_the_first_of_several_places_is_the_baseline():
    for seed, (name, factor) in enumerate({"a": 1.0, "b": 1.1, "c": 0.9}.items()):
        write(f"{name}.csv", seed, fft=factor, sort=factor)
    assert {(row["version"], row["verdict"]) for row in rows("a.csv", "b.csv", "c.csv")} == {
        ("b", "slower"),
        ("c", "faster"),
    }
    selection = rows("a.csv", "b.csv", "c.csv", "--baseline", "b")
    assert {(row["version"], row["verdict"]) for row in selection} == {
        ("a", "faster"),
        ("c", "faster"),
    }
    assert (
        "is no input; there is 'a', 'b'"
        in run("compare", "a.csv", "b.csv", "--baseline", "x").stderr
    )


def test_single_benchmarks_of_other_names_are_compared():
    hyperfine("old.json", slow=1.0)
    hyperfine("new.json", fast=0.9)
    printed = run("compare", "old.json", "new.json").stdout
    assert "Each side has one benchmark, of another name" in printed
    assert "(benchmark slow)" in printed
    assert printed.count("faster") > 1


def test_commands_of_one_file_are_compared_with_the_first():
    hyperfine("runs.json", a=1.0, b=0.9, c=1.1)
    assert [(row["program"], row["verdict"]) for row in rows("runs.json")] == [
        ("b", "faster"),
        ("c", "slower"),
    ]
    assert "beside a (the first; --baseline names another)" in run("compare", "runs.json").stdout
    write("two.csv", a=1.0, b=1.2)
    assert [row["program"] for row in rows("two.csv")] == ["b"]
    write("three.csv", a=1.0, b=1.2, c=1.3)
    assert "Choose what to compare" in run("compare", "three.csv").stderr


class TestFailedRuns:
    """A side without values because its runs failed is told as failed, with the number of runs and
    the exit code."""

    def test_beside_others(self):
        hyperfine("runs.json", [139] * 10, a=1.0, b=0.9, c=0.5)
        result = run("compare", "runs.json", code=0)
        assert "'c: 10 of 10 runs failed, exit code 139'" in result.stderr
        assert {row["program"]: row["verdict"] for row in rows("runs.json")}["b"] == "faster"

    @pytest.mark.parametrize("failed", ["old.json", "new.json"])
    def test_on_either_side(self, failed):
        for path in ("old.json", "new.json"):
            hyperfine(path, [1] * 10 * (path == failed), a=1.0, b=0.9)
        assert (
            "'b: 10 of 10 runs failed, exit code 1'"
            in run("compare", "old.json", "new.json").stderr
        )

    def test_where_nothing_else_is_compared(self):
        """The reason stands before the error, and so does the option, with which there is an
        answer."""
        hyperfine("runs.json", [1, 2] * 5, grep=1.0, rg=0.5)
        result = run("compare", "runs.json", code=2)
        assert "'rg: 10 of 10 runs failed, exit codes 1, 2'" in result.stderr
        assert "--keep-failed keeps the times" in result.stderr
        failed_runs_kept = run("compare", "runs.json", "--keep-failed", code=0)
        assert "faster" in failed_runs_kept.stdout
        assert (
            "'rg: 10 of 10 runs failed, exit codes 1, 2'. Their times are kept, as "
            "--keep-failed says"
        ) in failed_runs_kept.stderr


def test_a_baseline_is_the_beginning_of_a_label_or_a_git_ref():
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q"], check=True)
    for number in range(2):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", str(number)], check=True)
    log = subprocess.run(
        ["git", "log", "--reverse", "--format=%H"], capture_output=True, text=True, check=True
    ).stdout
    hashes = [commit[:10] for commit in log.split()]
    lines = [
        f"fft,{commit},{i},{1 + number + i / 200}"
        for number, commit in enumerate(hashes)
        for i in range(5)
    ]
    write_rows("x.csv", "benchmark,commit,execution,time", lines)
    for baseline in ("HEAD~1", hashes[0][:7], hashes[0] + "0" * 30):
        (row,) = rows("x.csv", "--baseline", baseline)
        assert (row["verdict"], row["estimate"]) == ("slower", pytest.approx(2, rel=0.02))
    assert "is no" in run("compare", "x.csv", "--baseline", "v9").stderr


def test_tags_give_a_suite_row_each(tmp_path):
    names = {"a": ["foo"], "b": ["foo", "bar"], "c": ["bar"]}
    runs = [pyperf_run(1 + i / 100, 1.01 + i / 100) for i in range(5)]
    path = write_content(
        tmp_path / "x.json",
        suite(*(bench(name, *runs, tags=tags) for name, tags in names.items()), unit="second"),
    )
    suites = as_json("compare", path, path, "--by", "tags")["suites"]
    assert {row["tags"]: row["benchmarks"] for row in suites} == {"foo": 2, "bar": 2}


def test_thresholds_by_benchmark(sides):
    verdicts = {
        row["benchmark"]: row["verdict"]
        for row in rows(*sides, "--threshold", "2%", "--threshold", "fft=10%")
    }
    assert verdicts == {"fft": "equivalent", "sort": "slower"}
    assert (
        "beyond its threshold"
        in run("compare", *sides, "--threshold", "fft=10%", "--explain").stdout
    )
    assert (
        "two thresholds" in run("compare", *sides, "--threshold", "2%", "--threshold", "3%").output
    )
    assert "'fff'" in run("compare", *sides, "--threshold", "fff=10%").stderr


def test_an_answer_is_short_unless_it_is_to_be_explained(sides):
    below = run("compare", *sides).stdout.partition("\n95 % intervals")[2]
    assert len(below.strip().splitlines()) == 5  # three lines, a blank one and the outcome
    assert "--explain" in below
    explained = run("compare", *sides, "--explain").stdout
    assert "--explain" not in explained
    assert "faster, slower: the interval lies wholly on one side" in explained


def test_names_of_pytest_keep_their_files():
    names = {"test_a.py::test_work": 1.0, "test_a.py::test_play": 1.0}
    write("a.csv", **names)
    printed = run("compare", "a.csv", "a.csv").stdout
    assert all(f"\n{name} " in printed for name in names)


@pytest.mark.usefixtures("sides")
def test_a_comparison_is_drawn_without_a_kind():
    pytest.importorskip("matplotlib")
    assert run("plot", "old.csv", "new.csv").stdout == "intervals.svg: intervals\n"
    assert "change of time" in Path("intervals.svg").read_text()
    assert "intervals.svg exists" in run("plot", "old.csv", "new.csv").stderr
    assert run("plot", "old.csv", "-o", "x.svg").stdout == "x.svg: violin\n"
    Path("violin").mkdir()
    assert run("plot", "violin", "old.csv", "-o", "y.svg").stdout == "y.svg: violin\n"
    assert (
        "missing.csv: there is no such file"
        in run("plot", "missing.csv", "old.csv", "-o", "z.svg").stderr
    )


def test_every_note_below_an_answer_is_kept(capsys):
    """Two suites or metrics may each have a note of one kind."""
    notes = [
        {"code": "one_session", "message": f"{suite}: one session", "aside": True}
        for suite in ("int", "fp")
    ]
    frame = pd.DataFrame({"verdict": ["slower"]}, index=pd.Index(["fft"], name="benchmark"))
    answer = Answer(table=frame, rows=[], content={"notes": notes}, outcome="one compared", code=0)
    with pytest.raises(typer.Exit):
        give(answer, Form("table", None, explain=True), [])
    printed = capsys.readouterr().out
    assert all(f"{suite}: one session" in printed for suite in ("int", "fp"))


@pytest.mark.parametrize(
    ("argument", "result", "typed"),
    [
        (".venv/bin/perfarray", None, ".venv/bin/perfarray"),
        (".venv/bin/perfarray", "/bin/perfarray", "perfarray"),
        ("lib/perfarray/__main__.py", None, f"{sys.executable} -m perfarray"),
        ("lib/pytest/__main__.py", None, "perfarray"),
    ],
)
def test_printed_commands_can_be_typed(monkeypatch, argument, result, typed):
    write("old.csv", fft=1.0)
    monkeypatch.setattr("sys.argv", [argument])
    monkeypatch.setattr("shutil.which", lambda _: result)
    assert f"\n  {typed} components old.csv" in run("about", "old.csv").stdout


def test_last_columns_of_a_speedup_test_may_be_absent():
    for name, times in (("x.txt", range(100, 110)), ("y.txt", range(101, 111))):
        Path(name).write_text("\n".join(str(time / 100) for time in times))
    write_rows("c.csv", "Name,Sample1,Sample2", ["a,x.txt,y.txt"])
    run("speedup-test", "c.csv", "-o", "out", code=0)
    assert Path("out.report").is_file()


def test_a_setting_that_is_no_dim_yet():
    """The error of --dim names the option that makes a dim of what describes benchmarks."""
    rows = [
        {
            "name": f"BM_{name}/8",
            "run_type": "iteration",
            "repetition_index": index,
            "iterations": 9,
            "real_time": time + index,
        }
        for name, time in (("std", 400.0), ("own", 200.0))
        for index in range(9)
    ]
    Path("a.json").write_text(json.dumps({"benchmarks": rows}))
    options = ("--levels", "iteration", "--baseline", "BM_std")
    error = run("compare", "a.json", "--dim", "benchmark_name", *options, code=2).stderr
    assert (
        "'benchmark_name' describes benchmarks: --dims benchmark_name=benchmark_name makes it a dim"
        in error
    )
    comparison = as_json(
        "compare",
        "a.json",
        "--dims",
        "benchmark_name=benchmark_name",
        "--dim",
        "benchmark_name",
        *options,
    )
    assert [row["verdict"] for row in comparison["benchmarks"]] == ["faster"]


def test_a_numbering_of_repetitions_is_read_as_one():
    """In Python it is asked for; a command reads it so, says it, and names the option that makes it
    a dim."""
    rows = [
        f"{name},{version},{run},{1 + run / 100 + (version == 'new')}"
        for name in "ab"
        for version in ("old", "new")
        for run in (1, 2, 3)
    ]
    write_rows("runs.csv", "benchmark,version,run,time", rows)
    answer = run("compare", "runs.csv", "--dim", "version", "--baseline", "old", code=1)
    assert "n = 3 independent executions" in answer.stdout
    assert (
        "column 'run' numbers repetitions and is read as execution. --dims run=run makes it a dim"
        in answer.stderr
    )
    assert (
        "run"
        in as_json(
            "compare",
            "runs.csv",
            "--dim",
            "version",
            "--baseline",
            "old",
            "--dims",
            "run=run",
            code=2,
        )["benchmarks"][0]
    )
    with pytest.raises(ValueError, match="execution='run'"):
        perfarray.read("runs.csv")


def test_an_input_that_was_given_twice_is_refused():
    """The second would take the place of the first without a word; two sides may be one file."""
    write("a.csv", fft=1.0)
    write("b.csv", fft=1.0)
    expected = "error: 'b.csv' was given more than once. Give each input once"
    assert refused("compare", "a.csv", "b.csv", "b.csv") == expected
    assert run("compare", "a.csv", "a.csv").exit_code == 0
