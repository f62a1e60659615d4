"""The recipes for builds: the scripts of the page and of the action, run on a repository whose new
commit is slower, or is not."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from strategies import MANY

pytest.importorskip("pyperf", reason="the measured project uses it")
yaml = pytest.importorskip("yaml", reason="reads the recipes")

ROOT = Path(__file__).parents[1]
ACTION = ROOT / "docs" / "action" / "action.yml"
BLOCKS = [
    yaml.safe_load(block)
    for block in re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs/how-to/in_a_build.md").read_text("utf-8"), re.S
    )
]

BENCHMARK = """
import sys, time
import pyperf, work

def seconds():
    start = time.perf_counter()
    work.work()
    return time.perf_counter() - start

run = pyperf.Run([seconds() for _ in range(3)], metadata={"name": "work"}, collect_metadata=False)
pyperf.Benchmark([run]).dump(sys.argv[-1])
"""
GH = """#!/usr/bin/env bash
echo "$@" > posted
echo "$@" >> calls
case "$*" in *--jq*) cat comments 2> /dev/null || true;; esac
"""


@pytest.fixture(params=["slower", "unchanged"] if MANY else ["slower"])
def project(request, tmp_path):
    """Return a checkout with two commits, what the second is, and the environment of a build, in
    which `gh` writes its arguments."""
    folder, programs = tmp_path / "project", tmp_path / "bin"
    programs.mkdir()
    (programs / "gh").write_text(GH)
    (programs / "gh").chmod(0o755)
    paths = [str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]
    identity = {
        f"GIT_{role}_{field}": "tester@example.org"
        for role in ("AUTHOR", "COMMITTER")
        for field in ("NAME", "EMAIL")
    }
    build = {"RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    environment = os.environ | identity | build | {"PATH": os.pathsep.join(paths)}

    def git(*arguments):
        return subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    (folder / "src").mkdir(parents=True)
    (folder / "benchmarks").mkdir()
    git("init", "--quiet")
    for milliseconds in (4, 16 if request.param == "slower" else 4):
        (folder / "src" / "work.py").write_text(
            f"import time\n\n\ndef work():\n    time.sleep({milliseconds} / 1000)\n"
        )
        (folder / "benchmarks" / "run.py").write_text(BENCHMARK)
        git("add", ".")
        git("commit", "--quiet", "--allow-empty", "--message", f"{milliseconds} ms")
    return folder, request.param, environment | {"BASE_COMMIT": git("rev-parse", "HEAD~1")}


def execute(script, folder, environment):
    """Run a step as a runner does, and return its exit code."""
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    completed = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100
    )
    print(completed.stdout, completed.stderr)
    return completed.returncode


def run_steps(steps, folder, environment, inputs):
    """Run the steps of a job after its installation, `${{ }}` filled in; return the exit codes by
    name."""
    values = {
        "github.event.pull_request.base.sha": environment["BASE_COMMIT"],
        "github.event.pull_request.number": "7",
        "github.token": "t",
    }
    values |= {f"inputs.{name}": value for name, value in inputs.items()}

    def fill(text):
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda match: fill(values[match[1]]), str(text))

    steps = {step["name"]: step for step in steps if "run" in step}
    assert list(steps) == ["Install", "Measure both versions in turn", "Compare", "Comment"]
    del steps["Install"]
    assert "cancelled()" in steps["Comment"]["if"]
    return {
        name: execute(
            fill(step["run"]),
            folder,
            environment | {key: fill(value) for key, value in step.get("env", {}).items()},
        )
        for name, step in steps.items()
    }


def check_build(change, comparison, code):
    """Check that a build fails where the new commit is slower, and that the table says so."""
    text = comparison.read_text("utf-8")
    assert code == (change == "slower")
    assert ("1 slower" in text) == (change == "slower"), text
    assert "n = 6 matched pairs of sessions" in text, text


def check_order(folder):
    """Check that the version that is measured first alternates from round to round."""
    dates = [
        [(folder / side / f"{number}.json").stat().st_mtime_ns for side in ("old", "new")]
        for number in range(1, 7)
    ]
    assert [old < new for old, new in dates] == [True, False] * 3


def test_github(project):
    """The block measures in turn, fails at the comparison, and comments the table."""
    folder, change, environment = project
    job = next(block for block in BLOCKS if "jobs" in block)
    codes = run_steps(
        job["jobs"]["compare"]["steps"],
        folder,
        environment | {"BENCHMARK": job["env"]["BENCHMARK"]},
        {},
    )
    check_build(change, folder / "comparison.md", codes["Compare"])
    check_order(folder.parent)
    assert (codes["Measure both versions in turn"], codes["Comment"]) == (0, 0)
    assert (
        (folder / "posted")
        .read_text()
        .startswith("pr comment 7 --edit-last --create-if-none --body-file comparison.md")
    )
    assert (
        Path(environment["GITHUB_STEP_SUMMARY"]).read_text()
        == (folder / "comparison.md").read_text()
    )


def run_action(project, **given):
    """Run the action on a project; return the exit codes of its steps and the table's file."""
    folder, _, environment = project
    action = yaml.safe_load(ACTION.read_text("utf-8"))
    assert (ACTION.parent / "../..").resolve() == ROOT
    assert "$GITHUB_ACTION_PATH/../.." in action["runs"]["steps"][0]["run"]
    programs = Path(environment["RUNNER_TEMP"], "perfarray", "bin")
    programs.mkdir(parents=True)
    (programs / "perfarray").symlink_to(shutil.which("perfarray", path=environment["PATH"]))
    benchmark = next(block for block in BLOCKS if "jobs" in block)["env"]["BENCHMARK"]
    inputs = {name: declared.get("default") for name, declared in action["inputs"].items()}
    codes = run_steps(
        action["runs"]["steps"],
        folder,
        environment | {"GITHUB_REPOSITORY": "owner/project"},
        inputs | {"benchmark": benchmark} | given,
    )
    return codes, Path(environment["RUNNER_TEMP"], "comparison.md")


def test_action(project, capfd):
    """The composite action does the same, with commands of the user's own, and installs the
    checkout it belongs to. It annotates what is slower and writes JUnit's XML."""
    folder, change, _ = project
    junit = folder.parent / "junit.xml"
    codes, comparison = run_action(project, setup='touch "$TREE/built"', junit=str(junit))
    check_build(change, comparison, codes["Compare"])
    check_order(comparison.parent)
    assert (codes["Measure both versions in turn"], codes["Comment"]) == (0, 0)
    assert all((tree / "built").exists() for tree in (folder, comparison.parent / "base"))
    assert ("::error title=slower%3A work::" in capfd.readouterr().out) == (change == "slower")
    assert ElementTree.parse(junit).getroot().get("failures") == str(int(change == "slower"))


@pytest.mark.parametrize("earlier", ["", "11\n12\n"])
def test_the_action_keeps_one_comment(project, earlier):
    """It writes a comment where something changed, edits the one that is there, and removes it
    where nothing changed."""
    folder, change, _ = project
    (folder / "comments").write_text(earlier)
    run_action(project)
    listing, *calls = (folder / "calls").read_text().splitlines()
    assert listing.startswith("api --paginate repos/owner/project/issues/7/comments --jq")
    body = f"--field body=@{folder.parent}/comment.md"
    if change == "slower":
        edit = f"api --method PATCH repos/owner/project/issues/comments/11 {body}"
        assert calls == [edit if earlier else f"api repos/owner/project/issues/7/comments {body}"]
        assert (folder.parent / "comment.md").read_text().startswith("<!-- perfarray -->\n**1 ")
    else:
        assert calls == (
            ["api --method DELETE repos/owner/project/issues/comments/11"] * bool(earlier)
        )


def test_gitlab(project):
    """The block for GitLab gives the same exit code and table."""
    folder, change, environment = project
    job = next(block for block in BLOCKS if "benchmarks" in block)["benchmarks"]
    install, *script = job["script"]
    assert install.startswith("python -m pip install")
    variables = {
        "BENCHMARK": job["variables"]["BENCHMARK"]["value"],
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": environment["BASE_COMMIT"],
    }
    check_build(
        change,
        folder / "comparison.md",
        execute("\n".join(script), folder, environment | variables),
    )
    check_order(folder)


def test_options_of_the_action_are_described():
    """The page names every input of the action, and its example gives no other."""
    page, declared = (
        (ROOT / "docs/how-to/in_a_build.md").read_text("utf-8"),
        yaml.safe_load(ACTION.read_text("utf-8"))["inputs"],
    )
    example = next(block for block in BLOCKS if isinstance(block, list))[0]["with"]
    assert {*example} <= {*declared}
    assert all(f"`{name}`" in page or name in example for name in declared)
