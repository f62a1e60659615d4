"""What is compared with what: several places, beginnings of labels, git refs, tags, thresholds by benchmark, short answers."""

import json
import random
import subprocess
import sys

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from perfarray.cli import app as cli
from perfarray.cli.forms import Answer, Form, give


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments):
    return CliRunner().invoke(cli.app, list(arguments))


def rows(*arguments):
    return json.loads(run(*arguments, "--json").stdout)["benchmarks"]


def write(path, seed=1, **means):
    """Write a tidy CSV with ten executions of each benchmark."""
    rng = random.Random(seed)
    lines = [f"{name},{i},{rng.gauss(mean, 0.01 * mean)}" for name, mean in means.items() for i in range(10)]
    path.write_text("\n".join(["benchmark,execution,time", *lines]))


def hyperfine(path, **means):
    """Write what hyperfine exports."""
    rng = random.Random(2)
    results = [{"command": name, "times": [rng.gauss(mean, 0.01 * mean) for _ in range(10)]} for name, mean in means.items()]
    path.write_text(json.dumps({"results": results}))


def test_the_first_of_several_places_is_the_baseline(tmp_path):
    for seed, (name, factor) in enumerate({"a": 1.0, "b": 1.1, "c": 0.9}.items()):
        write(tmp_path / f"{name}.csv", seed, fft=factor, sort=factor)
    assert {(row["version"], row["verdict"]) for row in rows("compare", "a.csv", "b.csv", "c.csv")} == {("b", "slower"), ("c", "faster")}
    chosen = rows("compare", "a.csv", "b.csv", "c.csv", "--baseline", "b")
    assert {(row["version"], row["verdict"]) for row in chosen} == {("a", "faster"), ("c", "faster")}
    assert "is no input; there is 'a', 'b'" in run("compare", "a.csv", "b.csv", "--baseline", "x").stderr


def test_single_benchmarks_of_other_names_are_compared(tmp_path):
    hyperfine(tmp_path / "old.json", slow=1.0)
    hyperfine(tmp_path / "new.json", fast=0.9)
    result = run("compare", "old.json", "new.json")
    assert "Each side has one benchmark, of another name" in result.stdout
    assert "(benchmark slow)" in result.stdout
    assert result.stdout.count("faster") > 1


def test_commands_of_one_file_are_compared_with_the_first(tmp_path):
    hyperfine(tmp_path / "runs.json", a=1.0, b=0.9, c=1.1)
    assert [(row["program"], row["verdict"]) for row in rows("compare", "runs.json")] == [("b", "faster"), ("c", "slower")]
    assert "beside a (the first; --baseline names another)" in run("compare", "runs.json").stdout
    write(tmp_path / "two.csv", a=1.0, b=1.2)
    assert [row["program"] for row in rows("compare", "two.csv")] == ["b"]
    write(tmp_path / "three.csv", a=1.0, b=1.2, c=1.3)
    assert "choose what is compared" in run("compare", "three.csv").stderr


def test_a_baseline_is_the_beginning_of_a_label_or_a_git_ref(tmp_path):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q"], check=True)
    hashes = []
    for number in range(2):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", str(number)], check=True)
        hashes.append(subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()[:10])
    rng = random.Random(3)
    lines = [f"fft,{commit},{i},{rng.gauss(1 + number, 0.01)}" for number, commit in enumerate(hashes) for i in range(5)]
    (tmp_path / "x.csv").write_text("\n".join(["benchmark,commit,execution,time", *lines]))
    for baseline in ("HEAD~1", hashes[0][:7], hashes[0] + "0" * 30):
        (row,) = rows("compare", "x.csv", "--baseline", baseline)
        assert (row["verdict"], row["estimate"]) == ("slower", pytest.approx(2, rel=0.02))
    assert "is no" in run("compare", "x.csv", "--baseline", "v9").stderr


def test_tags_give_a_suite_row_each(tmp_path):
    benchmarks = []
    rng = random.Random(4)
    for name, tags in {"a": ["foo"], "b": ["foo", "bar"], "c": ["bar"]}.items():
        runs = [{"values": [rng.gauss(1, 0.01) for _ in range(3)]} for _ in range(5)]
        benchmarks.append({"metadata": {"name": name, "tags": tags}, "runs": runs})
    (tmp_path / "x.json").write_text(json.dumps({"version": "1.0", "metadata": {"unit": "second"}, "benchmarks": benchmarks}))
    suites = json.loads(run("compare", "x.json", "x.json", "--by", "tags", "--json").stdout)["suites"]
    assert {row["tags"]: row["benchmarks"] for row in suites} == {"foo": 2, "bar": 2}


def test_thresholds_by_benchmark(tmp_path):
    write(tmp_path / "old.csv", 1, fft=1.0, sort=1.0)
    write(tmp_path / "new.csv", 2, fft=1.05, sort=1.05)
    verdicts = {
        row["benchmark"]: row["verdict"] for row in rows("compare", "old.csv", "new.csv", "--threshold", "2%", "--threshold", "fft=10%")
    }
    assert verdicts == {"fft": "equivalent", "sort": "slower"}
    assert "beyond its threshold" in run("compare", "old.csv", "new.csv", "--threshold", "fft=10%", "--explain").stdout
    assert "two thresholds" in run("compare", "old.csv", "new.csv", "--threshold", "2%", "--threshold", "3%").output
    assert "'fff'" in run("compare", "old.csv", "new.csv", "--threshold", "fff=10%").stderr


def test_an_answer_is_short_unless_it_is_to_be_explained(tmp_path):
    write(tmp_path / "old.csv", 1, fft=1.0, sort=1.0)
    write(tmp_path / "new.csv", 2, fft=1.05, sort=1.05)
    below = run("compare", "old.csv", "new.csv").stdout.partition("\n95 % intervals")[2]
    assert len(below.strip().splitlines()) == 5  # three lines, a blank one and the outcome
    assert "--explain" in below
    explained = run("compare", "old.csv", "new.csv", "--explain").stdout
    assert "--explain" not in explained
    assert "faster, slower: the interval lies wholly on one side" in explained


def test_names_of_pytest_keep_their_files(tmp_path):
    names = {"test_a.py::test_work": 1.0, "test_a.py::test_play": 1.0}
    for side in ("old", "new"):
        write(tmp_path / f"{side}.csv", **names)
    printed = run("compare", "old.csv", "new.csv").stdout
    assert all(f"\n{name} " in printed for name in names)


def test_a_comparison_is_drawn_without_a_kind(tmp_path):
    pytest.importorskip("matplotlib")
    write(tmp_path / "old.csv", 1, fft=1.0)
    write(tmp_path / "new.csv", 2, fft=1.05)
    assert run("plot", "old.csv", "new.csv").stdout == "intervals.svg: intervals\n"
    assert "change of time" in (tmp_path / "intervals.svg").read_text()
    assert "intervals.svg exists" in run("plot", "old.csv", "new.csv").stderr
    assert run("plot", "old.csv", "-o", "x.svg").stdout == "x.svg: violin\n"
    (tmp_path / "violin").mkdir()
    assert run("plot", "violin", "old.csv", "-o", "y.svg").stdout == "y.svg: violin\n"
    assert "missing.csv: there is no such file" in run("plot", "missing.csv", "old.csv", "-o", "z.svg").stderr


def test_every_note_below_an_answer_is_kept(capsys):
    """Two suites or metrics may each have a note of one kind."""
    notes = [{"code": "one_session", "message": f"{suite}: one session", "aside": True} for suite in ("int", "fp")]
    frame = pd.DataFrame({"verdict": ["slower"]}, index=pd.Index(["fft"], name="benchmark"))
    answer = Answer(table=frame, rows=[], content={"notes": notes}, outcome="one compared", code=0)
    with pytest.raises(typer.Exit):
        give(answer, Form("table", None, explain=True), [])
    printed = capsys.readouterr().out
    assert "int: one session" in printed
    assert "fp: one session" in printed


@pytest.mark.parametrize(
    ("argument", "found", "typed"),
    [
        (".venv/bin/perfarray", None, ".venv/bin/perfarray"),
        (".venv/bin/perfarray", "/bin/perfarray", "perfarray"),
        ("lib/perfarray/__main__.py", None, f"{sys.executable} -m perfarray"),
        ("lib/pytest/__main__.py", None, "perfarray"),
    ],
)
def test_printed_commands_can_be_typed(tmp_path, monkeypatch, argument, found, typed):
    write(tmp_path / "old.csv", 1, fft=1.0)
    monkeypatch.setattr("sys.argv", [argument])
    monkeypatch.setattr("shutil.which", lambda _: found)
    assert f"\n  {typed} components old.csv" in run("about", "old.csv").stdout


def test_last_columns_of_a_speedup_test_may_be_absent(tmp_path):
    rng = random.Random(5)
    for name in ("x", "y"):
        (tmp_path / f"{name}.txt").write_text("\n".join(str(rng.gauss(1, 0.01)) for _ in range(10)))
    (tmp_path / "c.csv").write_text("Name,Sample1,Sample2\na,x.txt,y.txt\n")
    assert run("speedup-test", "c.csv", "-o", "out").exit_code == 0
    assert (tmp_path / "out.report").is_file()
