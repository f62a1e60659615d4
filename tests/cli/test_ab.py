"""`perfarray ab`: two commands in rounds until decided, on the screen and by exit code."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.commands import as_json, one_line, refused, run
from perfarray.cli.app import app
from perfarray.cli.problems import in_line

pytestmark = pytest.mark.skipif(not hasattr(os, "wait4"), reason="on Linux and macOS alone")

SUITE = """
import json, os, random, re, sys
factors = json.loads(sys.argv[1])
wanted = re.compile(os.environ["BENCHMARKS"])
level = random.Random(os.environ["OUT"][-7:]).gauss(1, 0.05)  # of the round
times = {
    name: [level * factor * random.gauss(1, 0.002) for _ in range(3)]
    for name, factor in factors.items() if wanted.search(name)
}
with open(os.environ["OUT"], "w") as file:
    json.dump({"results": [{"command": name, "times": runs} for name, runs in times.items()]}, file)
"""

OLD = {"a(1)": 1.0, "b": 1.0, "c": 1.0}
NEW = {"a(1)": 1.1, "b": 0.9, "c": 1.0}


def suite(factors):
    """Return a command that writes times of benchmarks as hyperfine does."""
    Path("suite.py").write_text(SUITE)
    return f"{sys.executable} suite.py '{json.dumps(factors)}'"


def test_decided_benchmarks_are_left_out():
    """The exit code is that of `compare`; a benchmark with a verdict is measured no more."""
    answer = as_json("ab", "--old", suite(OLD), "--new", suite(NEW), "-o", "r", code=1)
    verdicts = {row["benchmark"]: row["verdict"] for row in answer["benchmarks"]}
    assert verdicts == {"a(1)": "slower", "b": "faster", "c": "equivalent"}
    assert answer["rounds"] < 15
    assert answer["exit_reason"].endswith("rounds, decided")
    rounds = json.loads(Path("r/rounds.json").read_text())["rounds"]
    assert all(of["benchmarks"] == [*OLD] for of in rounds[1:4])
    for row in answer["benchmarks"]:
        measured = [of for of in rounds if row["benchmark"] in (of["benchmarks"] or OLD)]
        assert row["n"] == len(measured)
    assert answer["warnings"] == []


def test_a_benchmark_of_zeros_is_decided():
    """What is below the clock's resolution on both sides is equivalent, and ends the run."""
    command = ("--old", suite({"a": 0.0}), "--new", suite({"a": 0.0}))
    answer = as_json("ab", *command, "-o", "r", "--rounds", "3:12", code=0)
    assert answer["benchmarks"][0]["verdict"] == "equivalent"
    assert answer["rounds"] == 10
    assert answer["exit_reason"].endswith("rounds, decided")


def test_the_screen():
    """A line a round on stderr, the table at the end, and the same again when nothing is left."""
    command = ("ab", "--old", suite(OLD), "--new", suite(OLD), "-o", "r", "--threshold", "2%")
    result = run(*command, code=0)
    lines = result.stderr.splitlines()
    assert lines[0] == (
        "round 1: 3 compared (1 round, in pairs): 0 slower, 0 faster, 0 equivalent, 3 inconclusive"
    )
    assert lines[-1].endswith("0 slower, 0 faster, 3 equivalent, 0 inconclusive")
    assert "95 % intervals that hold at all rounds together" in one_line(result.stdout)
    again = run(*command, code=0)
    assert (again.stdout, again.stderr.splitlines()) == (result.stdout, lines[-1:])


def test_two_programs():
    """Commands that write nothing are timed: 5 % more work is slower."""
    work = f"{sys.executable} -c 'sum(range({{}}))'"
    answer = as_json(
        *("ab", "--old", work.format(4_000_000), "--new", work.format(8_000_000), "-o", "r"),
        *("--metric", "cpu_time", "--threshold", "5%", "--warmup", 1, "--seed", 1),
    )
    assert [row["benchmark"] for row in answer["benchmarks"]] == ["command"]
    assert answer["benchmarks"][0]["verdict"] in ("slower", "inconclusive")
    assert answer["attrs"]["metric"] == "cpu_time"
    assert answer["benchmarks"][0]["estimate"] > 1


def test_a_command_that_fails():
    """The end of its output is printed, and where the run goes on."""
    command = 'case "$OUT" in *03.json) echo the reason >&2; exit 3;; *) true;; esac'
    result = run("ab", "--old", command, "--new", command, "-o", "r", code=2)
    lines = result.stderr.splitlines()
    assert lines[-2] == "the reason"
    assert "The command ended with exit code 3" in lines[-1]
    assert lines[-1].endswith("2 rounds complete in r: the same call goes on")
    assert "did not end within 0.3 s (--timeout)" in in_line(
        run("ab", "--old", "sleep 9", "--new", "sleep 9", "--timeout", "0.3s", code=2).stderr
    )


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run(ended_by):
    """It prints the table so far, exits with 2, and the same call goes on."""
    arguments = ["ab", "--old", "sleep .05", "--new", "sleep .05", "-o", "r", "--rounds", "6:6"]
    # A shell that starts a test run in the background has it ignore Ctrl-C.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"sys.argv[1:] = {arguments!r}; from perfarray.cli import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if line.startswith("round 2"):
            break
    time.sleep(0.02)
    process.send_signal(ended_by)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "rounds, interrupted; the same call goes on" in printed.splitlines()[-1]
    done = len(json.loads(Path("r/rounds.json").read_text())["rounds"])
    assert 2 <= done < 6
    assert as_json(*arguments)["rounds"] == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rounds", "5:3"), "'5:3' is no range of rounds. Write 3:30"),
        (("--rounds", "x"), "'x' is no range of rounds"),
        (("--budget", "10 days"), "'10 days' is no time. Write 90s, 10min or 2h"),
        (("--budget", "1.2.3"), "'1.2.3' is no time"),
        (("--threshold", "1"), "'1' would be 100 %"),
    ],
)
def test_options(options, message):
    """A wrong option is named before anything is measured."""
    result = run("ab", "--old", "true", "--new", "true", *options, code=2)
    assert message in one_line(result.stderr.replace("│", " "))
    assert not Path("results").exists()


def test_what_has_no_answer():
    """One command alone, other data on one side, or no time at all, are errors."""
    assert "--new COMMAND" in one_line(run("ab", "--old", "true", code=2).stderr)
    write = 'echo "time\n1" > "$OUT"'
    assert "the other does not" in refused("ab", "--old", "true", "--new", write, "-o", "r")
    assert "no round was completed" in refused(
        "ab", "--old", "true", "--new", "true", "-o", "s", "--budget", "0"
    )
    bad = 'echo nothing that can be read > "$OUT"'
    assert "round-01.json" in refused("ab", "--old", bad, "--new", bad, "-o", "t")


def test_few_rounds_have_no_answer():
    """The outcome says how many rounds a verdict needs, and no other option is proposed."""
    result = run(
        *("ab", "--old", suite(OLD), "--new", suite(NEW), "-o", "r", "--rounds", 2), code=2
    )
    assert result.stdout.splitlines()[-1] == (
        "No answer: verdicts need five rounds or more; 2 rounds, the most rounds (--rounds)"
    )
    assert "warning" not in result.stderr


def test_a_benchmark_of_one_side_is_named():
    """What only one command measures has no row, and a warning names it; zeros raise no other."""
    old, new = suite(OLD | {"gone": 1.0, "zero": 0.0}), suite(NEW | {"zero": 0.0})
    result = run("ab", "--old", old, "--new", new, "-o", "r", "--rounds", 6, code=1)
    warned = [line for line in result.stderr.splitlines() if line.startswith("warning")]
    assert any("'gone, new'" in line for line in warned)
    assert not any("invalid value" in line for line in warned)


def test_a_corrected_answer_speaks_of_no_suite():
    """There is no suite row, and so no level of one."""
    command = ("ab", "--old", suite(OLD), "--new", suite(NEW), "-o", "r", "--correction", "holm")
    output = one_line(run(*command, code=1).stdout)
    assert "corrected for their number (holm)" in output
    assert "The suite" not in output


def test_it_is_listed():
    """It is one of the commands."""
    assert "ab" in {command.callback.__name__ for command in app.registered_commands}


def test_what_removes_worktrees(tmp_path):
    """They stay for further calls; a line says how to remove them, and a later call goes on."""
    for words in ("init -q", "-c user.name=a -c user.email=a@b commit -q --allow-empty -m one"):
        subprocess.run(["git", *words.split()], check=True, capture_output=True)
    command = ("ab", "--git", "HEAD", "HEAD", "--old", "true", "-o", "my r", "--rounds", "2:2")
    (line,) = [text for text in run(*command).stdout.splitlines() if text.startswith("Worktrees")]
    remedy = line.partition("To remove them: ")[2]
    assert remedy == "rm -rf 'my r/trees' && git worktree prune"
    subprocess.run(remedy, shell=True, check=True)
    listed = subprocess.run(["git", "worktree", "list"], capture_output=True, text=True, check=True)
    assert len(listed.stdout.splitlines()) == 1
    assert as_json(*command[:-1], "3:3")["rounds"] == 3
