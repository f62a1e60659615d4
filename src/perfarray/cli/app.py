"""The command line: a file holds one command, or two that are alike, and all are gathered here."""

import gc
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

import perfarray
from perfarray.cli.ab import ab
from perfarray.cli.about import about
from perfarray.cli.calibrate import calibrate
from perfarray.cli.compare import compare
from perfarray.cli.console import prepare_streams, show
from perfarray.cli.convert import convert
from perfarray.cli.demo import demo
from perfarray.cli.explain import explain
from perfarray.cli.files import files, formats
from perfarray.cli.history import history
from perfarray.cli.levels import components, counts
from perfarray.cli.machines import machines
from perfarray.cli.next import next_
from perfarray.cli.options import PANELS, expand_groups
from perfarray.cli.plan import plan
from perfarray.cli.plot import plot
from perfarray.cli.problems import NO_ANSWER
from perfarray.cli.report import report
from perfarray.cli.scores import scores
from perfarray.cli.speedup_test import speedup_test
from perfarray.cli.stop import stop

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)

LIKE_A_PATH = re.compile(r"^(?!-).*[*?/.\\]")  # and unlike a misspelt command

# Ends of lines inside a paragraph of a docstring; an exit code and an example have their own lines
LINE_ENDS = re.compile(r"(?<![:\n])\n(?!\n|Exit code)")

# By panel of the help
COMMANDS: Final[Mapping[str, tuple[Callable[..., None], ...]]] = {
    "Compare": (compare, ab, report, plot),
    "How much to measure": (components, plan, stop, calibrate, counts),
    "Suites and machines": (scores, machines, explain),
    "History": (history, next_),
    "Files": (about, files, formats, convert, speedup_test, demo),
}


class Command(TyperCommand):
    """A command whose option --help is in the panel of the last options."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option --help, a switch."""
        option: Any = super().get_help_option(ctx)
        option.rich_help_panel, option.metavar = [*PANELS][-1], ""
        return option


def name_of(command: Callable[..., None]) -> str:
    """Return the name of a command; a function whose name Python has already ends with `_`."""
    return command.__name__.rstrip("_").replace("_", "-")


for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(
            name_of(command),
            cls=Command,
            # typer keeps the ends of lines, which a narrower screen would break once more.
            help=LINE_ENDS.sub(" ", inspect.getdoc(command) or ""),
            rich_help_panel=panel,
        )(expand_groups(command))


def main() -> None:
    """Run the command line; any failure exits with 2, because 1 means that something is slower."""
    if "xarray" not in sys.modules:  # otherwise the process is somebody else's
        gc.set_threshold(1_000_000)  # imports make many objects and no garbage
        if "convert" not in sys.argv[1:2]:  # the one command with lazy arrays
            # xarray imports dask to ask whether an array is lazy: a third of the time of a command.
            sys.modules["dask"] = None  # type: ignore[assignment]
    prepare_streams()
    try:
        app(args=with_command(sys.argv[1:]), prog_name="perfarray")
    except (
        OSError
    ) as error:  # of the output; errors of files are reported where they are read and written
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(NO_ANSWER) from None
    except Exception:
        traceback.print_exc()
        print(
            "error: this is a defect of perfarray, not of your data. Please report the lines above",
            file=sys.stderr,
        )
        raise SystemExit(NO_ANSWER) from None


def with_command(arguments: list[str]) -> list[str]:
    """Return the arguments of the command line.

    A path where a command should stand gets the command `about`.
    """
    names = {name_of(command) for commands in COMMANDS.values() for command in commands}
    is_path = (
        bool(arguments)
        and arguments[0] not in names
        and (Path(arguments[0]).exists() or LIKE_A_PATH.search(arguments[0]))
    )
    return ["about", *arguments] if is_path else arguments


def _print_version(requested: bool) -> None:
    if requested:
        show([f"perfarray {perfarray.__version__}"])
        raise typer.Exit


@app.callback()
def _perfarray(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            metavar="",
            help=("Print the version and exit."),
        ),
    ] = False,
) -> None:
    """Benchmark timings: where the variation comes from, what is faster, by how much, and how sure.

    Begin with: perfarray demo. With your own file or folder: perfarray results/
    """
