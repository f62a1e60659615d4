"""Where one execution a side shows no spread, the message names a command of the tool, and
following it leads to an answer."""

import re
import shutil
import subprocess
import warnings

import pytest
import typer

import perfarray
from cli.commands import run
from perfarray.cli.app import app
from perfarray.readers.recognising import formats
from perfarray.timings.processes import COMMANDS, several_processes
from readers.files_of_our_own import write
from readers.test_mixed_folders import EVERY

# Of formats whose tools or whose labels need other names of files than `1.json`: what a process
# writes, by its number
NAMES = {
    "criterion": "{}/f/new/sample.json",
    "asv": "{}/m/x.json",
    "benchexec": "{}/x.xml",
    "mlperf": "result_{}.txt",
}

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


def processes(folder, name, number):
    """Write what several processes measured, with other numbers in each, and return the path of the
    first."""
    pattern = NAMES.get(format_of(folder.parent, name), "{}" + name[name.rindex(".") :])
    data = EVERY[name] if isinstance(EVERY[name], bytes) else EVERY[name].encode()
    for process in range(1, number + 1):
        digits = str(4 + process).encode()
        content = data.replace(b"1.5", b"1." + digits).replace(b"2.5", b"2." + digits)
        write(folder / pattern.format(process), content)
    return folder / pattern.format(1)


def test_every_format_has_a_command():
    """And no other name has one."""
    assert set(COMMANDS) == set(formats())


@pytest.mark.skipif(
    shutil.which("bash") is None, reason="the commands are of a shell (since 2026-11)"
)
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_shell_understands_the_command(name):
    """What stands between the backticks is a command or a loop of them."""
    for compared in (False, True):
        (command,) = re.findall("`(.*?)`", several_processes(name, compared=compared))
        subprocess.run(["bash", "-n", "-c", command], check=True)
        assert command == " ".join(command.split())
        assert not compared or "new/$i" not in command.replace("old/$i new/$i", "")


@pytest.mark.skipif(
    shutil.which("bash") is None, reason="the commands are of a shell (since 2026-11)"
)
@pytest.mark.parametrize(("name", "file"), [("nanobench", "{}.json"), ("mlperf", "result_{}.txt")])
def test_both_sides_alternate(tmp_path, name, file):
    """Two systems are measured in six rounds: old new, new old, ..., a file of each side a round."""
    for program in ("bench", "run_and_time.sh"):
        write(tmp_path / program, b"#!/bin/sh\necho x >> count; wc -l < count\n").chmod(0o755)
    (command,) = re.findall("`(.*?)`", several_processes(name, compared=True))
    subprocess.run(["bash", "-c", command], check=True, cwd=tmp_path)
    positions = {
        int((tmp_path / side / file.format(number)).read_text()): side
        for number in range(1, 7)
        for side in ("old", "new")
    }
    assert [positions[place] for place in range(1, 13)] == ["old", "new", "new", "old"] * 3


@pytest.mark.parametrize("name", ONE_PROCESS)
def test_what_the_message_names_leads_to_an_answer(tmp_path, name):
    """One file a side has none. Several files do, read as the message says; and so do earlier
    files."""
    old, new = (processes(tmp_path / side, name, 3) for side in ("old", "new"))
    lines = [
        line
        for line in run("compare", old, new, code=2).stderr.splitlines()
        if "rest on one" in line
    ]
    text = several_processes(format_of(tmp_path, name), compared=True)
    # One line for each metric in which benchmarks are judged
    assert all(
        text.replace('rename(file="session")', "--files-are session") in line for line in lines
    )
    line = lines[0]
    compare = typer.main.get_command(app).get_command(None, "compare")
    options = {option for parameter in compare.params for option in parameter.opts}
    assert set(re.findall(r"--[a-z-]+", re.sub("`.*`", "", line))) <= options
    answers = [("compare", old, new, "--between", tmp_path / "old")]
    if "--files-are session" in line:
        answers.append(("compare", tmp_path / "old", tmp_path / "new", "--files-are", "session"))
    for answer in answers:
        assert "No answer" not in run(*answer).stdout
