"""What a folder of rounds holds: the commands, the rounds that are complete, and their order."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from perfarray.tables.replacing import write_text

FILE: Final = "rounds.json"
BLOCK: Final = 2  # rounds in which every order occurs as often


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A complete round: its number from 1, the sides in the order measured, and their files."""

    number: int
    order: list[str]
    files: dict[str, str]
    date: str
    seconds: float
    benchmarks: list[str] | None = None


@dataclass(slots=True, kw_only=True)
class State:
    """What is kept of a run between two calls; `prepared` are the sides that were set up."""

    commands: dict[str, str]
    commits: dict[str, str]
    seed: int
    setup: str | None = None
    prepared: list[str] = field(default_factory=list)
    writes: dict[str, bool] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)

    def order(self, number: int) -> list[str]:
        """Return the sides in the order of a round: random, and then the other way round."""
        block, second = divmod(number - 1, BLOCK)
        rng = np.random.default_rng([self.seed, block])
        order = [str(side) for side in rng.permutation([*self.commands])]
        return order[::-1] if second else order

    def save(self, folder: Path) -> None:
        """Write the state, in one step."""
        write_text(folder / FILE, json.dumps(asdict(self), indent=1) + "\n")


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; raise where another run measures there."""
    import fcntl

    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"Another run measures into {folder}. Wait until it ends") from None
        yield


def opened(folder: Path, fresh: State) -> State:
    """Return the state in a folder, or the fresh one; raise where it is of another run."""
    path = folder / FILE
    if not path.exists():
        return fresh
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        rounds = [Round(**entry) for entry in content.pop("rounds")]
        state = State(**content, rounds=rounds)
    except (TypeError, KeyError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not the state of a run: {error}") from None
    for name in ("commands", "commits", "setup"):
        stored, requested = getattr(state, name), getattr(fresh, name)
        if stored != requested:
            raise ValueError(
                f"{folder} holds a run with other {name}: {stored}, not {requested}. Give "
                f"folder={str(folder) + '2'!r}, or the call of that run"
            )
    return state
