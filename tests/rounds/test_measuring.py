"""Commands in rounds: their order, their results, and how a run that ended goes on."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import perfarray
from perfarray.rounds.state import State
from perfarray.timings.processes import escaped

pytestmark = pytest.mark.skipif(not hasattr(os, "wait4"), reason="on Linux and macOS alone")

QUICK = {"old": "true", "new": "true"}


def measure(commands, folder="results", *, rounds=(2, 2), **settings):
    """Measure with a seed."""
    return perfarray.measure_rounds(commands, folder, rounds=rounds, rng=1, **settings)


@pytest.fixture(autouse=True)
def _in_a_new_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def log_of(path):
    """Return the words that commands wrote to a file."""
    return path.read_text().split() if path.exists() else []


def test_the_order_is_random_and_balanced():
    """Of two rounds, one begins with each side; which is the first is random."""
    state = State(commands=QUICK, commits={}, seed=5)
    first = [state.order(number)[0] for number in range(1, 201)]
    assert all({*first[n : n + 2]} == {"old", "new"} for n in range(0, 200, 2))
    assert 30 < first[::2].count("old") < 70


def test_commands_run_in_the_recorded_order(tmp_path):
    """The record is what was done."""
    rounds = measure(
        {side: f"echo {side} >> {tmp_path}/log" for side in ("old", "new")}, rounds=(6, 6)
    )
    assert log_of(tmp_path / "log") == [side for of in rounds for side in of.order]
    saved = json.loads((tmp_path / "results" / "rounds.json").read_text())
    assert [of["order"] for of in saved["rounds"]] == [of.order for of in rounds]


def test_a_command_without_a_file_is_timed(tmp_path):
    """Wall time counts what it waits, processor time what it computes, memory its peak."""
    code = "b = bytearray(100_000_000); import time; time.sleep(.1)"
    busy = "while sum(range(1000)) and __import__('time').process_time() < .2: pass"
    measure({"old": f'{sys.executable} -c "{code}"', "new": f'{sys.executable} -c "{busy}"'})
    old, new = (perfarray.read(f"results/{side}/round-01.csv").squeeze() for side in ("old", "new"))
    assert float(old["time"]) > 0.1
    assert 1e8 < float(old["memory"]) < 2e8
    assert 0.19 < float(new["cpu_time"]) <= float(new["time"]) + 0.05
    assert float(new["memory"]) < 5e7
    assert old["memory"].attrs["units"] == "B"


def test_a_result_file_is_kept_as_it_is():
    """Whatever its format; only of commands without one times are written."""
    measure(dict.fromkeys(QUICK, 'printf "benchmark,time\\na,1\\n" > "$OUT"'))
    assert perfarray.read("results/old/round-02.json")["time"].item() == 1.0


def test_what_remains_is_told_to_commands(tmp_path):
    """As an anchored regular expression without special characters, and one name a line."""
    command = f'echo "$BENCHMARKS" >> {tmp_path}/log; cat "$BENCHMARKS_FILE" >> {tmp_path}/names'
    measure({"old": command, "new": "true"}, remaining=lambda _: ["a.b", "c"])
    assert log_of(tmp_path / "log") == [".*", r"^(a\.b|c)$"]
    assert log_of(tmp_path / "names") == ["a.b", "c"]
    assert escaped("f(x)[n=1|$2]^*+?{}\\") == r"f\(x\)\[n=1\|\$2\]\^\*\+\?\{\}\\"


def test_a_name_is_no_command(tmp_path):
    """Names travel in the environment alone, so that the shell never reads them as its own."""
    name = f"$(touch {tmp_path}/bad); `touch {tmp_path}/bad`"
    measure({"old": 'echo "$BENCHMARKS" $BENCHMARKS', "new": "true"}, remaining=lambda _: [name])
    assert not (tmp_path / "bad").exists()


def test_nothing_remains():
    """A run ends when nothing remains, but not before the fewest rounds."""
    assert len(measure(QUICK, rounds=(3, 9), remaining=lambda _: [])) == 3
    assert len(measure(QUICK, rounds=(5, 9), remaining=lambda _: [])) == 5


def test_a_budget():
    """No round is begun that would end beyond it."""
    slow = {"old": "sleep .2", "new": "true"}
    assert 1 <= len(measure(slow, rounds=(3, 30), budget=0.7)) <= 3


def test_no_round_is_begun_that_the_budget_does_not_hold():
    """A round is expected to take as long as the last one, and some time has gone already."""
    (first,) = measure(QUICK, rounds=(1, 1))
    assert len(measure(QUICK, rounds=(1, 30), budget=first.seconds)) == 1


def test_setup_and_warmup(tmp_path):
    """Setup runs once a side, whatever the calls; warm-up at the beginning of each call."""
    commands = {"old": f'echo "$OUT" >> {tmp_path}/log', "new": "true"}
    settings = {"setup": f"echo $SIDE >> {tmp_path}/setup", "warmup": 2}
    measure(commands, **settings)
    measure(commands, rounds=(3, 3), **settings)
    assert log_of(tmp_path / "setup") == ["old", "new"]
    assert [path.endswith("warmup") for path in log_of(tmp_path / "log")] == [
        *[True] * 2,
        *[False] * 2,
        *[True] * 2,
        False,
    ]


def test_a_command_that_fails():
    """The error has its exit code and the end of its output; complete rounds stay, and the same
    call goes on with the round that failed."""
    commands = {
        "old": "true",
        "new": 'case "$OUT" in *02.json) if [ ! -e ok ]; then seq 50; echo bad >&2; exit 3; fi;; esac',
    }
    with pytest.raises(ValueError, match="new: The command ended with exit code 3") as caught:
        measure(commands, rounds=(4, 4))
    assert caught.value.output.splitlines()[-2:] == ["50", "bad"]
    assert len(caught.value.output.splitlines()) == 20
    assert len(json.loads(Path("results/rounds.json").read_text())["rounds"]) == 1
    Path("ok").touch()
    rounds = measure(commands, rounds=(4, 4))
    assert [of.number for of in rounds] == [1, 2, 3, 4]


def test_half_a_round_is_measured_anew_and_kept(tmp_path):
    """Its first side was measured at another time: pairs are of one round."""
    commands = {
        side: f"echo {side} >> {tmp_path}/log; [ $SIDE = old ] || [ -e ok ]"
        for side in ("old", "new")
    }
    for seed in range(9):  # one in which old is the first
        if State(commands=commands, commits={}, seed=seed).order(1)[0] == "old":
            break
    state = State(commands=commands, commits={}, seed=seed)
    (tmp_path / "results").mkdir()
    state.save(tmp_path / "results")
    with pytest.raises(ValueError, match="exit code 1"):
        measure(commands)
    Path("ok").touch()
    assert len(measure(commands)) == 2
    assert log_of(tmp_path / "log")[:4] == ["old", "new", "old", "new"]
    assert [path.name for path in (tmp_path / "results/unpaired").iterdir()] == [
        "old-1-round-01.csv"
    ]


def test_a_command_that_hangs(tmp_path):
    """It is killed at the timeout with all that it started."""
    command = f"(sleep 3; touch {tmp_path}/late) & sleep 60"
    begin = time.monotonic()
    with pytest.raises(ValueError, match=r"did not end within 0\.5 s \(--timeout\)"):
        measure({"old": command, "new": command}, timeout=0.5)
    assert time.monotonic() - begin < 3
    time.sleep(3.2)
    assert not (tmp_path / "late").exists()


def test_killed_and_resumed(tmp_path):
    """A program that is killed takes its command with it; the same call measures what is left."""
    command = f"echo begun >> {tmp_path}/log; sleep .3; echo ended >> {tmp_path}/log"
    code = (
        "import perfarray; perfarray.measure_rounds("
        f"{ {'old': command, 'new': command} }, 'results', rounds=(4, 4))"
    )
    run = subprocess.Popen([sys.executable, "-c", code])
    while len(log_of(tmp_path / "log")) < 5:  # in the second round
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    time.sleep(0.6)
    assert log_of(tmp_path / "log").count("ended") < log_of(tmp_path / "log").count("begun")
    before = (tmp_path / "results/old/round-01.csv").read_bytes()
    rounds = measure({"old": command, "new": command}, rounds=(4, 4))
    assert [of.number for of in rounds] == [1, 2, 3, 4]
    assert (tmp_path / "results/old/round-01.csv").read_bytes() == before
    assert rounds[0].order == rounds[1].order[::-1]


def test_another_run_in_a_folder():
    """A folder is of one pair of commands, and of one run at a time."""
    measure(QUICK)
    remedy = "holds a run with other commands: .*Give folder='.*2', or the call of that run"
    with pytest.raises(ValueError, match=remedy):
        measure({"old": "true", "new": "false"})
    with pytest.raises(ValueError, match="Another run measures into"):
        measure(QUICK, rounds=(3, 3), remaining=lambda _: measure(QUICK, rounds=(3, 3)))


@pytest.mark.parametrize("content", ["[]", "{", '{"rounds": [1]}', '{"rounds": []}'])
def test_a_broken_state(tmp_path, content):
    """It is named, and nothing is measured."""
    (tmp_path / "rounds.json").write_text(content)
    with pytest.raises(ValueError, match="is not the state of a run"):
        measure(QUICK, tmp_path)


def test_a_command_that_stops_writing():
    """A missing file is an error where there was one before."""
    command = 'case "$OUT" in *01.json) echo "time\n1" > "$OUT";; esac'
    with pytest.raises(ValueError, match=r"wrote no file to \$OUT, as it did before"):
        measure({"old": command, "new": "true"})


def git(*arguments):
    """Run git as somebody."""
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


def test_two_commits(tmp_path):
    """Each side has a worktree in $TREE, of the commit that was named first."""
    git("init", "-q", "-b", "main")
    for text in ("one", "two"):
        (tmp_path / "text").write_text(text)
        git("add", "text")
        git("commit", "-q", "-m", text)
    refs = {"old": "HEAD~1", "new": "main"}
    command = f'cat "$TREE/text" "$TREE/built" >> {tmp_path}/$SIDE'
    settings = {"refs": refs, "setup": 'echo " built" > "$TREE/built"'}
    measure({"old": command, "new": command}, **settings)
    assert log_of(tmp_path / "old") == ["one", "built"] * 2
    assert log_of(tmp_path / "new") == ["two", "built"] * 2
    measure({"old": command, "new": command}, rounds=(3, 3), **settings)
    shutil.rmtree(tmp_path / "results" / "trees")
    measure({"old": command, "new": command}, rounds=(4, 4), **settings)
    assert log_of(tmp_path / "new") == ["two", "built"] * 4
    with pytest.raises(ValueError, match="holds a run with other commits"):
        measure({"old": command, "new": command}, **settings | {"refs": refs | {"new": "HEAD~1"}})
    with pytest.raises(ValueError, match="--git --upload-pack=x: there is no such commit"):
        measure(QUICK, "other", refs={"old": "--upload-pack=x", "new": "main"})
