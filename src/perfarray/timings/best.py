"""Statistics that depend on whether times or rates are measured."""

from collections.abc import Iterable
from typing import TypeVar

from perfarray.conventions import HIGHER
from perfarray.timings.notes import Note

Statistic = TypeVar("Statistic")

# The statistic that takes the least disturbed run, whichever direction is good
BEST = "best"

# The run that SPEC publishes: the median, and of an even number of runs the slower of the two in
# the middle
SLOWER_MEDIAN = "slower_median"

# Statistics of one benchmark's runs
SUMMARIES = ("mean", "median", "min", BEST, "geometric")

# Statistics of the lower end, which holds the most disturbed runs of a rate
SLOW_END = ("min", "quartile")


def resolve_best(statistic: Statistic, better: str) -> Statistic | str:
    """Return `best` as `min` or `max`, and the slower median as the low or the high one.

    Any other statistic as it is.
    """
    if statistic == BEST:
        return "max" if better == HIGHER else "min"
    if statistic == SLOWER_MEDIAN:
        return "low_median" if better == HIGHER else "high_median"
    return statistic


def slow_end_note(statistics: Iterable[object], better: str) -> Note | None:
    """Return a note where the lower end of rates is taken, which is the slowest runs."""
    slow = [name for name in statistics if name in SLOW_END]
    if better != HIGHER or not slow:
        return None
    names = " and ".join(repr(name) for name in slow)
    take = "takes" if len(slow) == 1 else "take"
    text = (
        f"Higher is better here, so {names} {take} the slowest runs, which were disturbed most. "
        "Use 'best' for the least disturbed ones."
    )
    return Note("direction", text, {"statistics": slow})
