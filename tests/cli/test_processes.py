"""Where one execution a side shows no spread, `compare` prints commands of the tool and its own,
and following them leads to an answer."""

import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile
import warnings
from pathlib import Path

import pytest

import perfarray
from cli.commands import as_json, run
from perfarray.cli.console import program
from perfarray.readers.recognising import formats
from perfarray.timings.processes import COMMANDS, SESSIONS, recipe, several_processes
from readers.files_of_our_own import write
from readers.test_mixed_folders import EVERY

pytestmark = pytest.mark.skipif(
    shutil.which("bash") is None, reason="the commands are of a shell (since 2026-11)"
)

# Files that show spread already, or counts without any, which one process a side decides; whose
# benchmarks have the names of their files; of other levels; and of reports of SPEC, which are
# placed by their names or have no repetitions
OTHERS = (
    "gungraun.json",
    "rebench.json",
    "phoronix.xml",
    "lnt.json",
    "lnt_first.json",
    "renaissance.csv",
    "speedup.csv",
    "pyperf_old.json",
    "tidy.csv",
    "Box_O3_001.txt",
    "dump.csv",
)

ONE_PROCESS = [name for name in EVERY if name not in OTHERS]


def format_of(folder, name):
    """Return the format of a sample."""
    with warnings.catch_warnings(action="ignore", category=perfarray.PerfarrayWarning):
        return perfarray.read(write(folder / name, EVERY[name])).attrs["format"]


def test_every_format_has_a_command():
    """And no other name has one."""
    assert set(COMMANDS) == set(formats())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_shell_understands_the_command(name):
    """What stands between the backticks, and what `compare` prints, are commands or loops."""
    texts = (several_processes(name, compared=compared) for compared in (False, True))
    commands = [re.findall("`(.*?)`", text) for text in texts] + [[recipe(name).measure]]
    for (command,) in commands:
        subprocess.run(["bash", "-n", "-c", command], check=True)
        assert command == " ".join(command.split())
    # `perfarray ab` takes it in single quotes
    assert "'" not in COMMANDS[name].command


def stubs(folder, *names):
    """Write programs that count their calls, and print the count to where they should write."""
    counting = (
        '#!/bin/sh\necho x >> "$COUNT"; n=$(wc -l < "$COUNT")\n'
        'if [ -n "$CRITERION_HOME" ]; then mkdir -p "$CRITERION_HOME/f/new"; '
        'echo $n > "$CRITERION_HOME/f/new/sample.json"; else echo $n; fi\n'
    )
    for name in names:
        write(folder / name, counting.encode()).chmod(0o755)


@pytest.mark.parametrize(
    ("name", "program", "written"),
    [
        ("nanobench", "bench", "{}.json"),
        ("mlperf", "run_and_time.sh", "{}.txt"),
        ("go", "go", "{}.txt"),
        ("criterion", "cargo", "{}.tar"),
    ],
)
def test_both_sides_alternate(tmp_path, monkeypatch, name, program, written):
    """Two systems are measured in six rounds: old new, new old, ..., a file of each side a round.

    Each is measured in a folder of its own."""
    for side in ("old", "new"):
        stubs(tmp_path / side, program)
    monkeypatch.setenv("COUNT", str(tmp_path / "count"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'old'}:{os.environ['PATH']}")
    subprocess.run(["bash", "-c", recipe(name).measure], check=True, cwd=tmp_path)
    positions = {}
    for number in range(1, 7):
        for side in ("old", "new"):
            path = tmp_path / "runs" / side / written.format(number)
            if path.suffix == ".tar":
                with tarfile.open(path) as pack:
                    text = pack.extractfile("./f/new/sample.json").read()
            else:
                text = path.read_bytes()
            positions[int(text)] = side
    assert [positions[place] for place in range(1, 13)] == ["old", "new", "new", "old"] * 3


# What a file holds once its tool ran several processes, by format
SEVERAL = {
    "pyperf": lambda content: content["benchmarks"][0]["runs"].extend(
        [
            {**run, "values": [1.1 * value for value in run["values"]]}
            for run in content["benchmarks"][0]["runs"]
            if "values" in run
        ]
    ),
    "jmh": lambda content: [
        entry["primaryMetric"].update(rawData=[[1.0, 1.1], [1.2, 1.3], [1.1, 1.1]])
        for entry in content
    ],
    "hyperfine": lambda content: [
        entry.update(times=[1.0, 1.1, 1.2], exit_codes=[0] * 3, memory_usage_byte=[1] * 3)
        for entry in content["results"]
    ],
    "benchmarkdotnet": lambda content: content["Benchmarks"][0].update(
        Measurements=[
            {
                "IterationMode": "Workload",
                "IterationStage": "Result",
                "LaunchIndex": launch,
                "IterationIndex": 1,
                "Operations": 1,
                "Nanoseconds": 1.0 + launch / 10,
            }
            for launch in (1, 2, 3)
        ]
    ),
}


def of_process(name, format, number):
    """Return what a process wrote, with other numbers in each."""
    if format in SEVERAL:
        content = json.loads(EVERY[f"{format}.json"])
        SEVERAL[format](content)
        return json.dumps(content).encode()
    data = EVERY[name] if isinstance(EVERY[name], bytes) else EVERY[name].encode()
    digits = str(4 + number).encode()
    return data.replace(b"1.5", b"1." + digits).replace(b"2.5", b"2." + digits)


# Puts a file into an archive, in a folder as criterion.rs makes them
PACKING = (
    "d=$(mktemp -d); mkdir -p $d/f/new; cp $file $d/f/new/sample.${file##*.}; "
    'tar -cf "$OUT" -C $d .'
)


def printed_commands(stdout, *words):
    """Return the arguments of the commands of perfarray in a text that begin with some words."""
    lines = [shlex.split(line) for line in stdout.splitlines() if line.startswith("  ")]
    arguments = [line[1:] for line in lines if line[:1] == [program()]]
    return [line for line in arguments if line[: len(words)] == [*words]]


@pytest.mark.parametrize("name", ONE_PROCESS)
def test_what_compare_prints_leads_to_an_answer(tmp_path, monkeypatch, name):
    """One file a side has none. The printed lines are run as they stand, with a copy in the place
    of the tool; and so is that of earlier runs."""
    monkeypatch.chdir(tmp_path)
    names = ("v1.2", "my_branch")
    format, suffix = format_of(tmp_path / "sample", name), name[name.rindex(".") :]
    files = [write(Path(f"{side}{suffix}"), of_process(name, "", 1)) for side in names]
    result = run("compare", *files, code=2)
    assert "rest on one" in result.stderr
    assert "Run several processes" not in result.stderr
    measure, (compare, between) = (
        next(line for line in result.stdout.splitlines() if "; for " in line or "  for " in line),
        printed_commands(result.stdout, "compare"),
    )
    once = COMMANDS[format].command
    for number in range(1, 7):
        write(Path("earlier") / f"{number}{suffix}", of_process(name, format, number))
        for side in names:
            write(Path(side) / f"{number}{suffix}", of_process(name, format, number))
    text = once.replace("{repeat}", COMMANDS[format].several)
    assert text in measure
    if "$OUT" in once:
        pick = f"n=${{run##*/}}; case $n in [1-6]);; *) n=1;; esac; file=$n{suffix}; "
        pick += PACKING if COMMANDS[format].suffix == ".tar" else 'cp $file "$OUT"'
        subprocess.run(["bash", "-c", measure.replace(text, pick)], check=True)
        answer = as_json(*compare, code=None)
        limits = [row["lower"] for row in (*answer["benchmarks"], *answer["suites"])]
        assert any(limit is not None for limit in limits), answer
        assert printed_commands(result.stdout, "ab")
    else:
        assert compare == ["compare", *map(str, files)]
    between = [word.replace("EARLIER", "earlier") for word in between]
    assert "No answer" not in run(*between).stdout
    for calibrate in printed_commands(result.stdout, "calibrate"):  # none of a history
        run(*[word.replace("EARLIER", "earlier") for word in calibrate], code=0)
        if "thresholds.toml" in calibrate:
            assert "No answer" not in run(*between, "--thresholds", "thresholds.toml").stdout
    calibrated = "calibrate EARLIER" in result.stdout
    assert calibrated is (name != "github_action_benchmark_history.json")


@pytest.mark.parametrize("form", ["markdown", "html", "csv", "json", "github", "junit"])
def test_forms_have_the_way_on(tmp_path, monkeypatch, form):
    """People get lines to copy, in a block of code where there is one; programs the warning with
    the command of the tool."""
    monkeypatch.chdir(tmp_path)
    for side in ("old", "new"):
        write(Path(f"{side}.json"), of_process("pytest_benchmark.json", "", 1))
    result = run("compare", "old.json", "new.json", "--output", form, code=2)
    has_lines = form in ("markdown", "html")
    assert ("perfarray compare runs/old runs/new --files-are session" in result.stdout) is has_lines
    assert ("Run several processes of both sides" in result.stderr) is not has_lines
    if form == "markdown":
        block = re.search(r"^```text\n(.*?)^```$", result.stdout, re.M | re.S)[1]
        assert recipe("pytest_benchmark").measure in block


def test_how_files_are_read_is_repeated(tmp_path, monkeypatch):
    """And the folders have the names that tell the inputs apart."""
    monkeypatch.chdir(tmp_path)
    for side in ("main", "fix"):
        write(Path(side) / "out" / "times.csv", "program;seconds\nfft;1.5\n")
    options = ["--dims", "benchmark=program,time_s=seconds", "--better", "lower"]
    result = run("compare", "main/out/times.csv", "fix/out/times.csv", *options, code=2)
    compare, between = printed_commands(result.stdout, "compare")
    assert compare == ["compare", "runs/main", "runs/fix", *SESSIONS, *options]
    assert between[1:3] == ["main/out/times.csv", "fix/out/times.csv"]
    assert "a column execution of one table" in result.stdout
    assert "OUT=$PWD/runs/$run.csv; " in result.stdout
    assert not printed_commands(result.stdout, "ab")  # which has no such options
    write(Path("main/times.csv"), "benchmark,time_s\nfft,1.5\n")
    result = run("compare", "main/times.csv", "main/times.csv", code=2)
    (ab,) = printed_commands(result.stdout, "ab")
    assert ab[1:] == ["--old", 'cd old && ./bench > "$OUT"', "--new", 'cd new && ./bench > "$OUT"']


def test_names_that_a_shell_would_read_are_not_written(tmp_path, monkeypatch):
    """Then the folders are old and new."""
    monkeypatch.chdir(tmp_path)
    paths = [write(Path(f"{name}.csv"), "benchmark,time_s\nfft,1.5\n") for name in ("a b", "$(c)")]
    result = run("compare", *paths, code=2)
    assert recipe("tidy_csv").measure in result.stdout
    assert "compare 'a b.csv' '$(c).csv' --between EARLIER" in result.stdout
