"""Where answers are printed: the console on stdout, JSON, and words for units and shares."""

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from perfarray.timings.notes import NOTES

WIDTH: Final = 120
"""Columns of the output when it goes to no terminal and the environment's COLUMNS does not say."""

WIDE: Final = 100
"""Columns from which on a change is shown with its interval."""


class _Console(Console):
    """A console whose reader may leave (`| head`) without changing the exit code, which means something here."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console() -> Console:
    """Return the console on stdout: as wide as the terminal, else as COLUMNS says, else 120."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH
    return _Console(width=width, markup=False, emoji=False, highlight=False)


def blank_table() -> Table:
    """Return a table without frame."""
    return Table(box=SIMPLE, pad_edge=False, show_edge=False)


def print_json(content: Mapping[str, Any], sentences: Sequence[str], code: int, reason: str) -> None:
    """Print one JSON object: the answer, the warnings (not also as the attr of the result), and the exit code with its reason."""
    attrs = {name: value for name, value in content["attrs"].items() if name != NOTES}
    whole = {**content, "attrs": attrs, "warnings": sentences, "exit_code": code, "exit_reason": reason}
    console().out(json.dumps(_plain(whole), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    """Return what JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def plural(unit: str) -> str:
    """Return the plural of a level."""
    return unit[:-1] + "ies" if unit.endswith("y") else unit + "s"


def percent(share: float) -> str:
    """Write a share as a percentage."""
    return f"{100 * share:.4g} %"
