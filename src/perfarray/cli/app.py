"""The command line: one file per command, gathered here."""

import re
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

import perfarray
from perfarray.cli.about import about
from perfarray.cli.compare import compare
from perfarray.cli.components import components
from perfarray.cli.convert import convert
from perfarray.cli.counts import counts
from perfarray.cli.demo import demo
from perfarray.cli.files import files
from perfarray.cli.formats import formats
from perfarray.cli.history import history
from perfarray.cli.plan import plan
from perfarray.cli.plot import plot
from perfarray.cli.problems import NO_ANSWER
from perfarray.cli.report import report
from perfarray.cli.speedup_test import speedup_test
from perfarray.cli.stop import stop

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

PLACE = re.compile(r"^(?!-).*[*?/.\\]")
"""What may be a place, and is no misspelt command."""

COMMANDS = (compare, history, report, components, plan, stop, counts, plot, files, formats, convert, speedup_test, about, demo)

for command in COMMANDS:
    app.command()(command)


def main() -> None:
    """Run the command line; whatever goes wrong exits 2, because 1 means that something is slower."""
    try:
        app(args=spoken(sys.argv[1:]), prog_name="perfarray")
    except OSError as error:  # of what is printed; files are read and written where an error is reported
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(NO_ANSWER) from None
    except Exception:
        traceback.print_exc()
        print("error: this is a defect of perfarray, not of your data; please report the lines above", file=sys.stderr)
        raise SystemExit(NO_ANSWER) from None


def spoken(words: list[str]) -> list[str]:
    """Return the words of a command line: a place where a command should stand is asked what is in it."""
    command_names = {command.__name__.replace("_", "-") for command in COMMANDS}
    return ["about", *words] if words and words[0] not in command_names and (Path(words[0]).exists() or PLACE.search(words[0])) else words


def _print_version(requested: bool) -> None:
    """Print the version and leave."""
    if requested:
        typer.echo(f"perfarray {perfarray.__version__}")
        raise typer.Exit


@app.callback()
def _perfarray(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Benchmark timings: where the variation comes from, what is faster, by how much, and how sure.

    Begin with: perfarray demo, or, with a file or folder of yours: perfarray results/
    """
