"""The help of every command, in panels, and what the shell completes."""

import os
import subprocess
import sys
from itertools import chain, pairwise

import pytest
from tests.cli.commands import run
from typer.main import get_command

from perfarray.cli import app
from perfarray.cli.options import PANELS

COMMANDS = [*chain.from_iterable(app.COMMANDS.values())]


@pytest.mark.parametrize("function", COMMANDS)
def test_options_are_in_panels(function):
    """The panels stand in one order, with --help in the last; a switch has no type behind it."""
    command = get_command(app.app).commands[app.name_of(function)]
    context = command.make_context("", [], resilient_parsing=True)
    options = [option for option in command.get_params(context) if option.opts[0].startswith("-")]
    panels = [[*PANELS].index(option.rich_help_panel) for option in options]
    assert panels == sorted(panels)
    assert options[-1].opts[-1] == "--help"
    assert {option.metavar for option in options if option.is_flag} == {""}


def test_the_help_shows_panels_and_switches():
    """Of a switch the help shows its name and its text; all commands stand in panels, too."""
    text = run("compare", "--help").stdout
    starts = [text.index(f"─ {panel} ") for panel in PANELS]
    assert starts == sorted(starts)
    names = ("--threshold ", "--layout ", "--correction ", "--json ")
    places = [text.index(f"│ {name}") for name in names]
    assert [sum(start < place for start in starts) for place in places] == [1, 2, 3, 4]
    assert all("bool" not in run(app.name_of(name), "--help").stdout for name in COMMANDS)
    assert all(f"─ {panel} " in run("--help").stdout for panel in app.COMMANDS)


def called(**environment):
    """Run the command line with an environment, and return what it prints."""
    call = [sys.executable, "-m", "perfarray", *environment.pop("words", ())]
    ended = subprocess.run(
        call, capture_output=True, encoding="utf-8", env={**os.environ, **environment}, check=True
    )
    return ended.stdout


def test_paragraphs_of_the_help_fill_the_screen():
    """A line ends where the screen does, and not where the source has its end as well."""
    text = called(words=["convert", "--help"], TERMINAL_WIDTH="70", PYTHONIOENCODING="utf-8")
    lines = [line.strip() for line in text.splitlines()]
    if not any(line.startswith("Exit code 2") for line in lines):
        pytest.skip("this typer joins lines itself: 0.20 does, 0.29 does not (2026-11-29)")
    start = next(place for place, line in enumerate(lines) if line.startswith("Exit code 2"))
    paragraph = lines[start : lines.index("", start)]
    assert len(paragraph) > 1
    assert all(len(f"{line} {end.split()[0]}") > 68 for line, end in pairwise(paragraph))
    assert lines[start - 1] == "Exit code 0: the output is written."


@pytest.mark.parametrize("environment", [{"TYPER_USE_RICH": "0"}, {"TERM": "dumb"}])
def test_the_help_without_rich(environment):
    """Plain help has the same options."""
    text = called(words=["compare", "--help"], PYTHONIOENCODING="utf-8", **environment)
    assert "--keep-failed" in text
    assert "--threshold" in text


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("perfarray com", ["compare", "components"]),
        ("perfarray compare --correction ", ["holm", "bh"]),
        ("perfarray compare --format goo", ["google_benchmark"]),
        ("perfarray formats jm", ["jmh"]),
        ("perfarray compare old.js", []),  # the shell itself completes files
    ],
)
def test_completion(words, completed):
    """The shell completes commands, choices and the names of formats."""
    last = len(words.split(" ")) - 1
    answer = called(_PERFARRAY_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(last))
    assert answer.split() == completed
