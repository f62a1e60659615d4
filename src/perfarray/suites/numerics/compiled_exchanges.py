"""Exchanges beyond any table, compiled: the words of some experiments are made, used and forgotten while they are in the cache.

The words are those of the NumPy engine, so that both engines exchange the same units, on any number of threads.
"""

from typing import Any

import numpy as np

from perfarray.numerics.compiled import LEAST, compiled, fill, in_all_threads, room_for
from perfarray.numerics.random import Key
from perfarray.numerics.types import Floats, Integers

WORDS = 1 << 12
"""Words that are made at a time: they stay in the cache."""

LARGEST = np.uint64(0xFFFFFFFFFFFFFFFF)

GUESSES, NEAR = 8, 2
"""How often a limit is guessed, and from how many words off it is sought word by word."""


def averages_compiled(pool: Floats, chosen: int, own: int, cells: Integers, key: Key, stream: int, part: slice) -> Floats:
    """Return the averages of units chosen at random, and of the others.

    Parameters
    ----------
    pool : array, shape (suites, benchmarks, units)
        The units of both sides.
    chosen : int
        How many units are chosen: those with the smallest words.
    own : int
        How many benchmarks have words of their own: all, or 1 for all together.
    cells : uint64 array, shape (suites,)
        The keys of the suites.
    key, stream :
        Of the random words.
    part : slice
        Which experiments.

    Returns
    -------
    array, shape (2, suites, experiments, benchmarks)
    """
    suites, benchmarks, units = pool.shape
    number, width = part.stop - part.start, own * units
    found, cells = np.empty((suites, number, 2, benchmarks)), cells.astype(np.uint64)
    # Some experiments of one suite, or all of some suites.
    size = max(1, LEAST // width)
    together, step = max(1, size // number), max(1, WORDS // width)
    purpose, one, two = (np.uint64(each) for each in (stream, *key))

    def work(place: tuple[int, int]) -> None:
        suite, first = place
        which, some = slice(suite, suite + together), slice(first, first + size)
        words = room_for(step * width + 3)  # a block may begin anywhere among four
        begin = (part.start + first) * width
        _average(found[which, some], pool[which], cells[which], purpose, one, two, begin, step, words, chosen, own)

    in_all_threads(work, [(suite, first) for suite in range(0, suites, together) for first in range(0, number, size)])
    return np.moveaxis(found, 2, 0)


@compiled(fastmath={"reassoc", "nsz"})
def _average(
    found: Floats, pool: Floats, cells: Any, stream: Any, key: Any, other_key: Any, start: int, step: int, words: Any, chosen: int, own: int
) -> None:
    """Fill in the averages of every experiment (suites, experiments, 2, benchmarks), whose words begin at `start`, some at a time."""
    _, benchmarks, units = pool.shape
    for suite in range(len(found)):
        at, limit, row = words.shape[1], LARGEST, words[0, :units]
        for experiment in range(found.shape[1]):
            if experiment % step == 0:
                at = start + experiment * own * units
                fill(words, cells[suite : suite + 1], np.uint64(at // 4 + 1), stream, key, other_key)
                at %= 4
            for benchmark in range(benchmarks):
                if benchmark < own:
                    row, at = words[0, at : at + units], at + units
                    limit = _limit(row, chosen)
                values, averages = pool[suite, benchmark], found[suite, experiment]
                # Two loops are turned into vectors; one with two sums is not.
                inside = outside = 0.0
                for unit in range(units):
                    inside += values[unit] if row[unit] <= limit else 0.0
                for unit in range(units):
                    outside += values[unit] if row[unit] > limit else 0.0
                averages[0, benchmark], averages[1, benchmark] = inside / chosen, outside / (units - chosen)


@compiled(inline="always")
def _limit(words: Any, wanted: int) -> Any:
    """Return the largest of as many of the smallest words as are wanted, or a number up to the next."""
    share, limit, count = 0.0, LARGEST, 0
    for _ in range(GUESSES):  # words are spread evenly
        share = min(max(share + (wanted - count) / len(words), 0.0), 1.0 - 2.0**-53)
        limit, count = np.uint64(share * 2.0**64), 0
        for place in range(len(words)):
            count += 1 if words[place] <= limit else 0
        if abs(count - wanted) <= NEAR:
            break
    for _ in range(count, wanted):
        above = LARGEST
        for place in range(len(words)):
            above = min(above, words[place] if words[place] > limit else LARGEST)
        limit = above
    for _ in range(wanted, count):
        below = np.uint64(0)
        for place in range(len(words)):
            below = max(below, words[place] if words[place] <= limit else np.uint64(0))
        limit = below - np.uint64(1)
    return limit
