"""Two commands measured in turns, round after round, until nothing remains to be decided."""

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from perfarray.rounds.commands import CommandError, Usage, run_command
from perfarray.rounds.state import Round, State, alone_in, opened
from perfarray.rounds.worktrees import check_out, commit_of
from perfarray.tables.replacing import write_text
from perfarray.timings.processes import any_of
from perfarray.timings.validation import check_count

NAME: Final = "command"  # the benchmark of a command that is timed itself

# From the rounds so far to the benchmarks that are still to be measured; None: all of them
Remaining = Callable[[list[Round]], Sequence[str] | None]


def measure_rounds(
    commands: Mapping[str, str],
    folder: str | Path,
    *,
    remaining: Remaining | None = None,
    rounds: tuple[int, int] = (3, 30),
    budget: float = math.inf,
    setup: str | None = None,
    refs: Mapping[str, str] | None = None,
    warmup: int = 0,
    timeout: float = 600.0,
    rng: int | np.random.Generator | None = None,
) -> list[Round]:
    """Measure commands in rounds, each side once a round, in random and balanced order.

    A call with the same commands and folder goes on after the last complete round.

    Parameters
    ----------
    commands : mapping of str to str
        Sides and their commands, which the shell runs. A command writes a result file to `$OUT`.
        One that does not is timed itself: wall and processor time, peak memory.
    folder : str or Path
        Where results and the state go: `old/round-01.json`, and so on.
    remaining : callable, optional
        Takes the rounds so far, and returns the benchmarks still to be measured: none ends the
        run, None are all. Commands have them in `$BENCHMARKS`, a regular expression, and one a
        line in the file `$BENCHMARKS_FILE` (empty: all).
    rounds : tuple of int
        The fewest and the most, with those of earlier calls.
    budget, timeout : float
        Seconds of this call, beyond which no round is begun; and of one command.
    setup : str, optional
        A command that runs once a side, before its first round.
    refs : mapping of str to str, optional
        Commits by side: worktrees of the repository in this folder, whose paths are in `$TREE`.
    warmup : int
        Runs of each side at the beginning of the call that are not measured.
    rng : int or numpy.random.Generator, optional
        The seed of the order. A folder keeps its own.

    Returns
    -------
    list of Round
        `number`, `order`, `files` by side, `date`, `seconds` and `benchmarks` of each.

    Raises
    ------
    ValueError
        A command failed (with its last `output`), or the folder is of other commands.

    Notes
    -----
    A round that was not completed is measured anew; its files go to the folder `unpaired`.
    :doc:`/how-to/ab` says when to stop.

    Examples
    --------
    >>> import sys, tempfile
    >>> import perfarray
    >>> commands = {"old": f"{sys.executable} -c pass", "new": f"{sys.executable} -S -c pass"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     measured = perfarray.measure_rounds(commands, folder, rounds=(2, 2), rng=1)
    >>> [round.order for round in measured]
    [['new', 'old'], ['old', 'new']]
    """
    min_rounds, max_rounds = (check_count(number, "rounds", 1) for number in rounds)
    if not hasattr(os, "wait4"):
        raise ValueError("Commands are measured on Linux and macOS alone")
    path, begin = Path(folder).absolute(), time.monotonic()
    path.mkdir(parents=True, exist_ok=True)
    fresh = State(
        commands=dict(commands),
        commits={side: commit_of(ref) for side, ref in (refs or {}).items()},
        seed=int(np.random.default_rng(rng).integers(2**31)),
        setup=setup,
    )
    with alone_in(path):
        state = opened(path, fresh)
        state.save(path)
        _prepare(state, path, timeout)
        while True:
            names = remaining(state.rounds) if remaining is not None and state.rounds else None
            n = len(state.rounds)
            if n >= max_rounds or (n >= min_rounds and names is not None and not names):
                return state.rounds
            length = state.rounds[-1].seconds if state.rounds else 0.0
            if time.monotonic() - begin + length > budget:
                return state.rounds
            for side in [*commands] * warmup:
                _run(state, path, side, path / "warmup", None, timeout)
            warmup = 0  # of this call all were run
            state.rounds.append(_measure(state, path, names or None, timeout))
            state.save(path)


def _prepare(state: State, folder: Path, timeout: float) -> None:
    """Check out the commits, and set up the sides that were not yet."""
    for side, commit in state.commits.items():
        if check_out(commit, folder / "trees" / side) and side in state.prepared:
            state.prepared.remove(side)  # somebody removed the worktree with what was built in it
    for side in state.commands:
        if state.setup is not None and side not in state.prepared:
            _run(state, folder, side, folder / "setup", None, timeout, state.setup)
            state.prepared.append(side)
            state.save(folder)


def _measure(state: State, folder: Path, names: Sequence[str] | None, timeout: float) -> Round:
    """Measure one round: every side once."""
    number, begin, files = len(state.rounds) + 1, time.monotonic(), {}
    date, stem = datetime.now(UTC).isoformat(timespec="seconds"), f"round-{number:02d}"
    for side in state.commands:
        _put_aside(folder, side, stem)
    order = state.order(number)
    for side in order:
        out = folder / side / f"{stem}.json"
        usage = _run(state, folder, side, out, names, timeout)
        writes = state.writes.setdefault(side, out.exists())
        if writes and not out.exists():
            raise ValueError(f"The {side} command wrote no file to $OUT, as it did before")
        if not writes:
            out = out.with_suffix(".csv")
            write_text(
                out,
                "benchmark,execution,time [s],cpu_time [s],memory [B]\n"
                f"{NAME},0,{usage.seconds!r},{usage.cpu_seconds!r},{usage.memory!r}\n",
            )
        files[side] = str(out.relative_to(folder))
    return Round(
        number=number,
        order=order,
        files=files,
        date=date,
        seconds=time.monotonic() - begin,
        benchmarks=None if names is None else [*names],
    )


def _run(
    state: State,
    folder: Path,
    side: str,
    out: Path,
    names: Sequence[str] | None,
    timeout: float,
    command: str | None = None,
) -> Usage:
    """Run the command of a side, or another, with what it is told in its environment."""
    selected, log = folder / "benchmarks.txt", folder / "log" / f"{side}-{out.stem}.txt"
    for parent in (out.parent, log.parent):
        parent.mkdir(exist_ok=True)
    write_text(selected, "".join(f"{name}\n" for name in names or ()))
    environment = {
        "OUT": str(out),
        "SIDE": side,
        "TREE": str(folder / "trees" / side if state.commits else Path.cwd()),
        "BENCHMARKS": any_of(names) if names else ".*",
        "BENCHMARKS_FILE": str(selected),
    }
    try:
        return run_command(command or state.commands[side], environment, log, timeout)
    except CommandError as error:
        raise CommandError(
            f"{side}: {error}. All of its output is in {log}", error.output
        ) from None


def _put_aside(folder: Path, side: str, stem: str) -> None:
    """Move the files of a round that was not completed out of the way."""
    for file in (folder / side).glob(f"{stem}.*"):
        aside = folder / "unpaired"
        aside.mkdir(exist_ok=True)
        number = sum(1 for _ in aside.iterdir()) + 1
        file.replace(aside / f"{side}-{number}-{file.name}")
