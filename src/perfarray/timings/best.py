"""The undisturbed end of a sample: the smallest of times, the largest of rates."""

from collections.abc import Iterable
from typing import TypeVar

from perfarray.conventions import HIGHER
from perfarray.timings.notes import Note

Statistic = TypeVar("Statistic")

BEST = "best"
"""The statistic that takes the run disturbed least, whichever direction is good."""

SUMMARIES = ("mean", "median", "min", BEST, "geometric")
"""Statistics of one benchmark's runs."""

SLOW_END = ("min", "quartile")
"""Statistics of the lower end: of rates, the runs disturbed most."""


def named_end(statistic: Statistic, better: str) -> Statistic | str:
    """Return `best` as `min` or `max`; any other statistic as it is."""
    if statistic != BEST:
        return statistic
    return "max" if better == HIGHER else "min"


def slow_end_note(statistics: Iterable[object], better: str) -> Note | None:
    """Return the note that the lower end of rates holds their slowest runs, where it was asked for."""
    slow = [name for name in statistics if name in SLOW_END]
    if better != HIGHER or not slow:
        return None
    names = " and ".join(repr(name) for name in slow)
    take = "takes" if len(slow) == 1 else "take"
    text = f"more is better here: {names} {take} the slowest runs, those disturbed most; 'best' takes the undisturbed end"
    return Note("slow_end", text, {"statistics": slow})
