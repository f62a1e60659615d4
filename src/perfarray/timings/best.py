"""The undisturbed end of a sample: the smallest of times, the largest of rates."""

from collections.abc import Iterable

from perfarray.conventions import HIGHER
from perfarray.timings.notes import Note

BEST = "best"
"""The statistic that takes the run disturbed least, whichever direction is good."""

SLOW_END = ("min", "quartile")
"""Statistics of the lower end: of rates, the runs disturbed most."""


def named_end(statistic: str, better: str) -> str:
    """Return `best` as `min` or `max`; any other statistic as it is."""
    if statistic != BEST:
        return statistic
    return "max" if better == HIGHER else "min"


def slow_end_note(statistics: Iterable[str], better: str) -> Note | None:
    """Return the note that the lower end of rates holds their slowest runs, where it was asked for."""
    asked = [name for name in statistics if name in SLOW_END]
    if better != HIGHER or not asked:
        return None
    names = " and ".join(repr(name) for name in asked)
    text = f"more is better here: {names} take the slowest runs, those disturbed most; 'best' takes the undisturbed end"
    return Note("slow_end", text, {"statistics": asked})
