"""`perfarray ab`: two commands in turns, round after round, until every benchmark is decided."""

import math
import re
import shlex
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tarfile import is_tarfile
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

import perfarray
from perfarray.cli import console, options
from perfarray.cli.comparison import comparison, legend, verdict_counts
from perfarray.cli.forms import TABLE, Answer, Form, Json, Output, answering, described, form, give
from perfarray.cli.problems import (
    NO_ANSWER,
    NOTHING_SLOWER,
    SOMETHING_SLOWER,
    counted,
)
from perfarray.cli.runs import in_runs
from perfarray.conventions import BENCHMARK, SESSION, SLOT, VERSION

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from rich.live import Live

OLD, NEW = "old", "new"
THRESHOLD: Final = 0.01
FEWEST: Final = 5  # rounds of a verdict, unless all are equal
MAX_ROWS: Final = 20  # of the table while it runs, the largest changes
UNITS: Final = {"": 1, "s": 1, "sec": 1, "min": 60, "h": 3600}
# There is no suite row, benchmarks end after different rounds, and the outcome counts these
OWN_WORDS: Final = ("copied", "incomplete_units", "single_unit")
OPTIONS = options.spoken("threshold correction rounds budget timeout warmup setup", folder="-o")


def seconds(text: str) -> float:
    """Read `90`, `90s`, `10min` or `2h`."""
    match = re.fullmatch(r"([0-9.]+) ?([a-z]*)", text.strip())
    if match is None or match[2] not in UNITS or match[1].count(".") > 1 or match[1] == ".":
        raise typer.BadParameter(f"{text!r} is no time. Write 90s, 10min or 2h")
    return float(match[1]) * UNITS[match[2]]


def range_of_rounds(text: str) -> tuple[int, int]:
    """Read `3:30`, or one number for both."""
    first, _, last = text.partition(":")
    try:
        rounds = int(first), int(last or first)
    except ValueError:
        rounds = 0, 0
    if not 1 <= rounds[0] <= rounds[1]:
        raise typer.BadParameter(f"{text!r} is no range of rounds. Write 3:30")
    return rounds


def duration(help: str) -> Any:
    """Declare an option that is a time."""
    return typer.Option(parser=seconds, metavar="TIME", help=help)


def _form(
    context: typer.Context,
    output: Output = None,
    json: Json = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say how to read the answer.")] = False,
) -> Form:
    return form(context, output, None, json, explain)


def ab(
    old: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="It writes a result file to $OUT, in any format that can be read; otherwise its "
            "time and peak memory are measured.",
        ),
    ],
    new: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="With --git by default that of --old.")
    ] = None,
    folder: Annotated[
        Path,
        typer.Option(
            "-o", metavar="FOLDER", help="Where results go. The same call goes on where it stopped."
        ),
    ] = Path("results"),
    *,
    rounds: Annotated[
        Any,
        typer.Option(parser=range_of_rounds, metavar="FEWEST:MOST", help="How many, as in 3:30."),
    ] = "3:30",
    threshold: Annotated[
        float | None, options.share("A change that does not matter: 1% (default), or 0.")
    ] = None,
    confidence: options.Confidence = None,
    correction: options.Correction = None,
    metric: Annotated[
        str | None, typer.Option(help="What decides, as in cpu_time; default: the time.")
    ] = None,
    budget: Annotated[
        float | None, duration("No round is begun that would end later: 10min.")
    ] = None,
    setup: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Runs once a side: a build, in $TREE.")
    ] = None,
    git: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="BASE HEAD", help="Check out two commits; $TREE is the folder of a side."
        ),
    ] = None,
    warmup: Annotated[
        int, typer.Option(min=0, help="Runs a side before the first round, not measured.")
    ] = 0,
    timeout: Annotated[
        float | None, duration("A command that takes longer is killed: 10min (default).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the order within rounds.")] = None,
    target: Annotated[Form, options.Group(_form)],
) -> None:
    """Measure two commands in turns, in rounds, until each benchmark is decided.

    In random order, a round runs each command once. After every round pairs are compared by a rule
    whose level holds whenever one stops. A benchmark that is faster, slower or equivalent is left
    out of $BENCHMARKS (a regular expression) and of the file $BENCHMARKS_FILE (a name a line).

    Exit code 0: nothing is slower.
    Exit code 1: a benchmark is slower.
    Exit code 2: no answer; a command failed, or the run was interrupted. The same call goes on.

    Example: perfarray ab --old './old --json $OUT' --new './new --json $OUT' --budget 10min
    """
    if new is None and git is None:
        raise typer.BadParameter("give the other command: --new COMMAND", param_hint="--new")
    choices = options.given(confidence_level=confidence, correction=correction, metric=metric)
    choices["threshold"] = THRESHOLD if threshold is None else threshold
    keys = ("benchmarks", "attrs", "notes")
    with answering(
        target,
        {"folder": str(folder)},
        *keys,
        own_words=OWN_WORDS,
        options=OPTIONS,
        tells_time=False,  # its own screen does
    ) as sentences:
        with _screen(target) as screen:
            run = Run(folder, choices, screen)
            reason = run.measure(
                {OLD: old, NEW: old if new is None else new},
                rounds=rounds,
                setup=setup,
                refs=None if git is None else {OLD: git[0], NEW: git[1]},
                warmup=warmup,
                rng=seed,
                **options.given(budget=budget, timeout=timeout),
            )
        if not run.measured:
            raise ValueError(f"{reason}: no round was completed")
        times = rounds_read(folder, run.measured)
        result = compare_rounds(times, **choices)
    trees = f"rm -rf {shlex.quote(str(folder / 'trees'))} && git worktree prune"
    lines = [] if git is None else [f"Worktrees stay for further calls. To remove them: {trees}"]
    answer = replace(_answer(result, run, reason), lines=lines)
    give(answer, target, sentences, OPTIONS)


class Run:
    """A run of rounds with its screen: those complete, and what remains to be decided."""

    def __init__(self, folder: Path, choices: dict[str, Any], screen: "Live | None") -> None:
        self.folder, self.choices, self.screen = folder, choices, screen
        self.measured: list[Any] = []
        self.undecided: list[str] | None = None
        self.interrupted = False

    def measure(self, commands: dict[str, str], **settings: Any) -> str:
        """Measure rounds, and return why they ended."""

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        former = signal.signal(signal.SIGTERM, interrupt)
        try:
            self.measured = perfarray.measure_rounds(
                commands, self.folder, remaining=self.remaining, **settings
            )
        except KeyboardInterrupt:
            self.interrupted = True
            return "interrupted; the same call goes on"
        except ValueError as error:
            if output := getattr(error, "output", ""):
                typer.echo(output, err=True)
            if self.measured:
                count = counted(len(self.measured), "round")
                error.add_note(f"{count} complete in {self.folder}: the same call goes on")
            raise
        finally:
            signal.signal(signal.SIGTERM, former)
        if not self.undecided and len(self.measured) >= settings["rounds"][0]:
            return "decided"
        return (
            "the most rounds (--rounds)"
            if len(self.measured) >= settings["rounds"][1]
            else "the end of --budget; the same call goes on"
        )

    def remaining(self, measured: Sequence[Any]) -> list[str]:
        """Show the table of the rounds so far, and return the benchmarks without a verdict."""
        self.measured = [*measured]
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            result = compare_rounds(rounds_read(self.folder, measured), **self.choices)
        self.undecided = names_undecided(result)
        table, verdicts = _table(result, MAX_ROWS), comparison(result)
        head = f"round {len(measured)}: {verdict_counts(verdicts, table)}"
        if len(verdicts.rows) == 1:
            head = f"round {len(measured)}: {table['change'].iloc[0]}, {table['verdict'].iloc[0]}"
        if self.screen is None:
            typer.echo(head, err=True)
            return self.undecided
        from rich.text import Text

        from perfarray.results.printed import grid_of

        lines = [*console.table_lines(grid_of(table), console.screen_width()), "", head]
        self.screen.update(Text.from_ansi("\n".join(lines)), refresh=True)
        return self.undecided


def compare_rounds(times: "xr.Dataset | xr.DataArray", **choices: Any) -> "xr.Dataset":
    """Compare the pairs of rounds by a rule whose level holds after every one."""
    return perfarray.compare(
        times, OLD, dim=VERSION, paired=SESSION, method="always_valid", **choices
    )


def names_undecided(result: "xr.Dataset") -> list[str]:
    """Return the benchmarks that were measured on both sides, and have no verdict yet."""
    open_cells = (result["verdict"] == "inconclusive") & (result["n"] > 0)
    open_cells = open_cells.any([dim for dim in open_cells.dims if dim != BENCHMARK])
    labels = result[BENCHMARK].values
    return [str(label) for label, is_open in zip(labels, open_cells.values, strict=True) if is_open]


def rounds_read(folder: Path, measured: Sequence[Any]) -> "xr.Dataset":
    """Read the files of complete rounds: a session each, with the places in their order."""
    files = {side: [str(folder / of.files[side]) for of in measured] for side in (OLD, NEW)}
    suffixes = {Path(file).suffix for of_side in files.values() for file in of_side}
    if len(suffixes) > 1:
        raise ValueError(
            "One command writes a result file to $OUT and the other does not. Their numbers "
            "cannot be compared"
        )
    suffix = suffixes.pop()
    if any(map(is_tarfile, files[OLD])):
        times = _of_archives(files)
    else:
        times = perfarray.read_archive(files, dim=VERSION, layout=f"round-{{session}}{suffix}")
    slots = [[1 + of.order.index(side) for of in measured] for side in (OLD, NEW)]
    return times.assign_coords({SLOT: ((VERSION, SESSION), slots)})


def _of_archives(files: dict[str, list[str]]) -> "xr.Dataset":
    """Read rounds whose files are archives, each of what a tool wrote into a folder."""
    times = perfarray.read_archive(files, dim=VERSION)
    if "file" not in times.dims:  # there is one round
        return times.expand_dims({SESSION: [1]})
    times = in_runs(times)
    numbers = [int(re.sub(r"^round-(\d+).*", r"\1", name)) for name in times["file"].values]
    return times.rename(file=SESSION).assign_coords({SESSION: numbers}).sortby(SESSION)


def _answer(result: "xr.Dataset", run: Run, reason: str) -> Answer:
    verdicts, table = comparison(result), _table(result)
    words = [row["verdict"] for row in verdicts.named().values()]
    code = SOMETHING_SLOWER if "slower" in words else NOTHING_SLOWER
    has_intervals = any(math.isfinite(row["upper"]) for row in verdicts.rows)
    if run.interrupted or not has_intervals:
        code = NO_ANSWER
    count = counted(len(run.measured), "round")
    outcome = f"{verdict_counts(verdicts, table)}; {count}, {reason}"
    if not has_intervals:
        few = len(run.measured) < FEWEST
        needed = "five rounds" if few else "ten rounds, where all are equal,"
        outcome = f"no answer: verdicts need {needed} or more; {count}, {reason}"
    content = {
        "folder": str(run.folder),
        "rounds": len(run.measured),
        "benchmarks": verdicts.rows,
        **described(result),
    }
    lines = [
        f"{verdicts.level} intervals that hold at all rounds together, whenever a run stops; the "
        "effect of the order within rounds is removed.",
        *legend(verdicts)[1:],
    ]
    return Answer(
        table=table, rows=verdicts.rows, content=content, outcome=outcome, code=code, legend=lines
    )


def _table(result: "xr.Dataset", limit: int | None = None) -> "pd.DataFrame":
    from perfarray.results.answers import select_rows

    return select_rows(
        result,
        only_changes=False,
        sort=None if limit is None else "effect",
        limit=limit,
    )


@contextmanager
def _screen(target: Form) -> "Iterator[Live | None]":
    """Yield a table that is brought up to date in a terminal; None elsewhere."""
    if not (sys.stderr.isatty() and target.kind == TABLE):
        yield None
        return
    from rich.console import Console
    from rich.live import Live

    width = console.screen_width()
    with Live(
        console=Console(stderr=True, width=width), transient=True, auto_refresh=False
    ) as live:
        yield live
