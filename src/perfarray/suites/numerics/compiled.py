"""What describes the scores of a suite, compiled."""

from typing import Any

import numpy as np

from perfarray.numerics.compiled import compiled
from perfarray.numerics.types import Floats

BUCKETS, LAST = 256, np.int32(255)
"""Buckets that scores are put into to find their quartiles: only the buckets with a quartile are sorted."""


def summary_compiled(scores: Floats) -> Floats:
    """Return minimum, quartiles inf{x: F(x) >= p}, maximum and standard deviation of scores (cells, n), shape (6, cells)."""
    found, number = np.empty((6, len(scores))), scores.shape[1]
    found[0], found[4] = scores.min(axis=1), scores.max(axis=1)
    _find_deviations(scores, found[5])
    _find_quartiles(scores, found, np.empty(number, np.uint8), np.empty(BUCKETS, np.int64), np.empty(number))
    return found


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _find_deviations(every: Floats, found: Floats) -> None:
    """Fill in the standard deviation of the scores of every cell, in vectors."""
    number = every.shape[1]
    for cell in range(len(every)):
        total = squares = 0.0
        for place in range(number):
            total += every[cell, place]
        centre = total / number
        for place in range(number):
            squares += (every[cell, place] - centre) * (every[cell, place] - centre)
        found[cell] = np.sqrt(squares / (number - 1))


@compiled()
def _find_quartiles(every: Floats, found: Floats, buckets: Any, counts: Any, own: Floats) -> None:
    """Fill in the quartiles: scores fall into buckets in their order, and only buckets that hold a quartile are sorted.

    Scores that are all alike, or not all finite, are in one bucket.
    """
    number = every.shape[1]
    for cell in range(len(every)):
        scores, low = every[cell], found[0, cell]
        scale = BUCKETS / (found[4, cell] - low) if found[4, cell] > low else np.inf
        spread = 0.0 < scale < np.inf
        counts[:] = 0
        for place in range(number):
            buckets[place] = min(np.int32((scores[place] - low) * scale), LAST) if spread else np.int32(0)
        for place in range(number):
            counts[buckets[place]] += 1
        bucket, size, below = -1, 0, 0
        for quarter in range(1, 4):
            rank = (quarter * number + 3) // 4 - 1
            if below + size <= rank:
                while below + size <= rank:
                    below += size
                    bucket += 1
                    size = counts[bucket]
                filled = 0
                for place in range(number):
                    if buckets[place] == bucket:
                        own[filled] = scores[place]
                        filled += 1
                # By insertion at ever smaller distances: few or ordered scores, and a general sort compiles long.
                gap = 1
                while 3 * gap < size:
                    gap = 3 * gap + 1
                while gap > 0:
                    for place in range(gap, size):
                        value, free = own[place], place
                        # What is not a number stays, and is passed by all others.
                        while free >= gap and value == value and not own[free - gap] <= value:
                            own[free] = own[free - gap]
                            free -= gap
                        own[free] = value
                    gap //= 3
            found[quarter, cell] = own[rank - below]
