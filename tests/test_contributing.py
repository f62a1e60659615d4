"""The page on contributing: its additions, made to a copy of the package, give a method, a picture
and a reader that work."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import perfarray

PAGE = Path(__file__).parents[1] / "docs" / "contributing.md"
BLOCK = re.compile(r"^( *)```py\n(.*?)^ *```$", re.M | re.S)
HEAD = re.compile(r"# (add to )?(src/perfarray/\S+?)(?:: (?:class )?(\w+))?\n")

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
renamed = times.rename(benchmark="estimate").perf.spread()
assert renamed["estimate"].dims == ("data_estimate",)
try:
    perfarray.read("broken.txt")
except ValueError as error:
    assert "broken.txt" in str(error) and "line 2" in str(error), error
else:
    raise AssertionError("the broken file was read")
"""


def additions() -> list[tuple[bool, str, str | None, str]]:
    """Return what the page adds: whether to a file that is there, the path, the class or mapping it
    belongs to, and the text."""
    blocks = []
    for indent, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        block = textwrap.dedent(text) if indent else text
        head = HEAD.match(block)
        assert head is not None, block
        blocks.append((bool(head[1]), head[2], head[3], block[head.end() :]))
    return blocks


def add(file: Path, place: str | None, text: str) -> None:
    """Add lines to a file: at the head of a class's methods or of a mapping, else at its end."""
    lines = file.read_text(encoding="utf-8")
    if place is None:
        file.write_text(lines + text, encoding="utf-8")
        return
    start = re.search(
        rf"^class {place}\b.*\n(?:    \"\"\".*\"\"\"\n)?\n?|^{place}: Final\S* = {{\n", lines, re.M
    )
    assert start is not None, f"{file.name} has no {place}"
    file.write_text(lines[: start.end()] + text + lines[start.end() :], encoding="utf-8")


def test_the_additions_of_the_page_work(tmp_path):
    """A method with its table, a picture and a reader are there after the steps of the page, and no
    others."""
    pytest.importorskip("matplotlib")
    package = tmp_path / "src" / "perfarray"
    shutil.copytree(
        Path(perfarray.__file__).parent,
        package,
        ignore=shutil.ignore_patterns("__pycache__", "measurement"),
    )
    steps = additions()
    assert len(steps) == 10
    for exists, path, place, text in steps:
        file = tmp_path / path
        assert file.exists() == exists, path
        if exists:
            add(file, place, text)
        else:
            file.write_text(text, encoding="utf-8")
    (tmp_path / "timings.txt").write_text("# laps\nfft 1.0 1.25 0.75\nsort 3.0 2.0 1.0\n")
    (tmp_path / "broken.txt").write_text("# laps\nfft 1.0 soon\n")
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
