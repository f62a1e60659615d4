"""The page on contributing: its additions, made to a copy of the project, give a method, a picture
and a reader that work and pass the project's own checks."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^( *)(?:- )?(`{3,4})(?:py|md)\n(.*?)^ *\2$", re.M | re.S)
HEAD = re.compile(r"# (add to )?((?:src|tests|docs)/\S+?)(?:: (?:class )?(\w+))?\n")

USE = """

import matplotlib

matplotlib.use("agg")
import warnings

import perfarray

warnings.simplefilter("error", perfarray.PerfarrayWarning)
times = perfarray.read("timings.txt")
assert times.attrs["format"] == "laps"
assert times.sizes == {"benchmark": 2, "execution": 3, "iteration": 1}
result = times.perf.spread()
assert result["estimate"].sel(benchmark="fft").item() == 0.5
assert result.perf.table()["estimate"].tolist() == ["0.500", "1.00"], result.perf.table()
assert result.perf.plot().get_xlabel().startswith("range")
assert [bar.get_width() for bar in times.perf.plot.spread().patches] == [50.0, 100.0]
try:
    times.rename(benchmark="estimate").perf.spread()
except ValueError as error:
    assert "times.rename({'estimate': 'data_estimate'})" in str(error), error
else:
    raise AssertionError("a dim has the name of a variable of the answer")
try:
    perfarray.read("broken.txt")
except ValueError as error:
    assert "broken.txt" in str(error) and "line 2" in str(error), error
else:
    raise AssertionError("the broken file was read")
"""

CHECKS = [
    "tests/test_house.py",
    "tests/test_public_names.py",
    "tests/diagnostics/test_spread.py",
    "tests/plots/test_gallery.py",
    "tests/results/test_overview.py",
    "tests/results/test_public.py",
    "tests/results/test_answers.py",
    "src/perfarray/diagnostics/spread.py",
]


def additions() -> list[tuple[bool, str, str | None, str]]:
    """Return what the page adds: whether to a file that is there, the path, the class or mapping it
    belongs to, and the text."""
    blocks = []
    page = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    for _, _, text in BLOCK.findall(page):
        block = textwrap.dedent(text)
        head = HEAD.match(block)
        assert head is not None, block
        blocks.append((bool(head[1]), head[2], head[3], block[head.end() :]))
    return blocks


def add(file: Path, anchor: str | None, text: str) -> None:
    """Add lines to a file: at the head of a class's methods or of a mapping, else at its end."""
    lines = file.read_text(encoding="utf-8")
    if anchor is None:
        file.write_text(lines + text, encoding="utf-8")
        return
    start = re.search(
        rf"^class {anchor}\b.*\n(?:    \"\"\".*\"\"\"\n|    \"\"\".*\n(?:.*\n)*?    \"\"\"\n)?\n?"
        rf"|^{anchor}(?:: Final\S*(?: \S+)?)? = {{\n",
        lines,
        re.M,
    )
    assert start is not None, f"{file.name} has no {anchor}"
    file.write_text(lines[: start.end()] + text + lines[start.end() :], encoding="utf-8")


def run(copy: Path, *command: str, folder: Path | None = None) -> None:
    """Run Python in the copy of the project; its last lines are shown where it fails."""
    environment = os.environ | {"PYTHONPATH": str(copy / "src")}
    process = subprocess.run(
        [sys.executable, *command],
        cwd=folder or copy,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, (process.stdout[-4000:], process.stderr[-4000:])


def test_the_additions_of_the_page_work(tmp_path, pytestconfig):
    """A method with its table, a picture and a reader are there after the steps of the page, and no
    others; the house, the public names, the pages and the pictures pass the project's checks."""
    pytest.importorskip("matplotlib")
    copy = tmp_path / "project"
    ignored = shutil.ignore_patterns("__pycache__", "_build", "generated", "golden", "fuzz")
    for folder in ("src", "tests", "docs"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    for file in ("README.md", "pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / file, copy / file)
    steps = additions()
    assert len(steps) == 12
    for exists, path, anchor, text in steps:
        file = copy / path
        assert file.exists() == exists, path
        if exists:
            add(file, anchor, text)
        else:
            file.write_text(text, encoding="utf-8")
    run(copy, "docs/extensions/listing.py")
    (tmp_path / "timings.txt").write_text("# laps\nfft 1.0 1.25 0.75\nsort 3.0 2.0 1.0\n")
    (tmp_path / "broken.txt").write_text("# laps\nfft 1.0 soon\n")
    run(copy, "-c", USE, folder=tmp_path)
    test_names = "spread or house or public_names or gallery or overview"
    ignored_warnings = [f"-W{rule}" for rule in pytestconfig.getoption("pythonwarnings") or ()]
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-k", test_names, *ignored_warnings]
    run(copy, "-m", "pytest", *options, *CHECKS)
