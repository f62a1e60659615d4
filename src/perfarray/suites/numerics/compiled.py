"""The scores of a suite, compiled: the random bits, tables and scores of a cell are made, used and forgotten while they are in the cache.

The random bits are those of the NumPy engine (Philox 4x64-10, Salmon et al. 2011), so that both engines draw the same scores, on any
number of threads.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic

from perfarray.numerics.threads import in_threads
from perfarray.numerics.types import Floats

F = TypeVar("F", bound=Callable[..., Any])

ROUNDS = 10
MULTIPLIERS = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
INCREMENTS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
"""The constants of Philox 4x64."""

LOWER = np.uint64(0xFFFFFFFF)
"""The lower half of a word."""

BUCKETS, LAST = 256, np.int32(255)
"""Buckets that scores are put into to find their quartiles: only the buckets with a quartile are sorted."""

BLOCK = 1 << 15
"""Scores that a thread draws at a time: a quarter of a megabyte, some hundred microseconds."""


def _compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function, and keep it for the next process."""
    decorate: Callable[[F], F] = numba.njit(cache=True, nogil=True, **options)
    return decorate


def scores_compiled(parts: Floats, together: int, cells: Any, number: int, mean: str, key: tuple[int, int, int]) -> Floats:
    """Draw scores.

    Parameters
    ----------
    parts : array, shape (benchmarks, cells, runs)
        What the runs contribute to the score; the benchmarks are a multiple of `together`.
    together : int
        Benchmarks that share a table of combinations.
    cells : uint64 array, shape (cells,)
        The keys of the cells.
    number : int
        Scores a cell.
    mean : {"geometric", "harmonic", "arithmetic"}
        Whether contributions are multiplied, or added, or added and inverted.
    key : tuple of int
        The key of the random numbers, and their stream.

    Returns
    -------
    array, shape (cells, number)
    """
    scores = np.empty((len(cells), number))
    given = _given(parts, together, cells, mean, key)
    _by_block(lambda part: _draw(scores[part], *_of_cells(part, given)), len(cells), number)
    return scores


def summary_compiled(parts: Floats, together: int, cells: Any, number: int, mean: str, key: tuple[int, int, int]) -> Floats:
    """Draw scores, and keep minimum, quartiles, maximum and standard deviation, shape (6, cells); parameters as for `scores_compiled`."""
    found = np.empty((len(cells), 6))
    given = _given(parts, together, cells, mean, key)

    def work(part: slice) -> None:
        scores = np.empty((len(found[part]), number))
        _draw(scores, *_of_cells(part, given))
        _describe(scores, found[part])

    _by_block(work, len(cells), number)
    return found.T


def _by_block(work: Callable[[slice], None], cells: int, number: int) -> None:
    """Do some work on all cells, a block of them at a time, in threads."""
    size = max(1, BLOCK // number)
    in_threads(work, [slice(first, first + size) for first in range(0, cells, size)], cast(Any, numba).config.NUMBA_NUM_THREADS)


def _given(parts: Floats, together: int, cells: Any, mean: str, key: tuple[int, int, int]) -> tuple[Any, ...]:
    """Return what scores are drawn from as the kernel takes it: parts and cells first."""
    return (
        np.ascontiguousarray(np.moveaxis(parts, 0, 1)),
        np.asarray(cells).astype(np.uint64),
        together,
        np.array(key, dtype=np.uint64),
        mean == "geometric",
        mean == "harmonic",
    )


def _of_cells(part: slice, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what is given of some cells."""
    parts, cells, *rest = given
    return parts[part], cells[part], *rest


@_compiled()
def _draw(scores: Floats, parts: Floats, cells: Any, together: int, key: Any, multiply: bool, invert: bool) -> None:
    """Fill in the scores of every cell."""
    number, groups = scores.shape[1], parts.shape[1] // together
    words = np.empty((groups * number + 15) // 16 * 8, np.uint64)
    bits = words.view(np.uint32)
    table = np.empty(parts.shape[2] ** together)
    for cell in range(len(cells)):
        own = scores[cell]
        for at in range(0, len(words), 8):
            _philox(words[at : at + 8], at // 4 + 1, 0, cells[cell], key)
        for place in range(number):
            own[place] = 1.0 if multiply else 0.0
        for group in range(groups):
            _fill(parts[cell], group * together, together, multiply, table)
            _look_up(table, bits, group, groups, cells[cell], key, multiply, own)
        if invert:
            for place in range(number):
                own[place] = 1.0 / own[place]


def _write_high_product(context: Any, a: Any, b: Any) -> Any:  # noqa: ARG001 (numba asks for the arguments that it compiles for)
    """Return the types and the code of the upper 64 bits of the product of two words."""

    def generate(context: Any, builder: Any, signature: Any, words: Any) -> Any:  # noqa: ARG001
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(words[0], wide), builder.zext(words[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return numba.uint64(numba.uint64, numba.uint64), generate


_high_product: Any = intrinsic(_write_high_product)
"""The upper 64 bits of the product of two words: one instruction, which neither Python nor NumPy has a name for."""


@_compiled(inline="always")
def _philox(words: Any, counter: int, own: int, cell: Any, key: Any) -> None:
    """Fill in the four numbers of a value of the counter, and those of the next."""
    # Two at a time: the rounds of one wait for each other, and those of the other fill the gaps.
    a, b, c, d = np.uint64(counter), np.uint64(own), cell, key[2]
    e, f, g, h = np.uint64(counter + 1), np.uint64(own), cell, key[2]
    first, second = key[0], key[1]
    for _ in range(ROUNDS):
        high, low = _high_product(MULTIPLIERS[0], a), MULTIPLIERS[0] * a
        other_high, other_low = _high_product(MULTIPLIERS[1], c), MULTIPLIERS[1] * c
        a, b, c, d = other_high ^ b ^ first, other_low, high ^ d ^ second, low
        high, low = _high_product(MULTIPLIERS[0], e), MULTIPLIERS[0] * e
        other_high, other_low = _high_product(MULTIPLIERS[1], g), MULTIPLIERS[1] * g
        e, f, g, h = other_high ^ f ^ first, other_low, high ^ h ^ second, low
        first += INCREMENTS[0]
        second += INCREMENTS[1]
    words[0], words[1], words[2], words[3] = a, b, c, d
    words[4], words[5], words[6], words[7] = e, f, g, h


@_compiled()
def _describe(every: Floats, found: Floats) -> None:
    """Fill in minimum, quartiles inf{x: F(x) >= p}, maximum and standard deviation of the scores of every cell."""
    number = every.shape[1]
    for cell in range(len(every)):
        scores = every[cell]
        low, high = _extremes(scores)
        squares = _squares(scores)
        found[cell, 0], found[cell, 4] = low, high
        found[cell, 5] = np.sqrt(squares / (number - 1)) if number > 1 else np.nan
        _find_quartiles(scores, low, high, found[cell])


@_compiled(fastmath={"reassoc", "contract", "nsz"})
def _squares(scores: Floats) -> float:
    """Return the sum of squared differences from the mean, in vectors."""
    total = squares = 0.0
    for place in range(len(scores)):
        total += scores[place]
    centre = total / len(scores)
    for place in range(len(scores)):
        squares += (scores[place] - centre) * (scores[place] - centre)
    return squares


@_compiled(fastmath={"nnan", "nsz"})
def _extremes(scores: Floats) -> tuple[float, float]:
    """Return the least and the largest score: in any order they are the same, so that they are looked for in vectors."""
    low = high = scores[0]
    for place in range(len(scores)):
        low = scores[place] if scores[place] < low else low
        high = scores[place] if scores[place] > high else high
    return low, high


@_compiled()
def _find_quartiles(scores: Floats, low: float, high: float, found: Floats) -> None:
    """Fill in the quartiles: scores fall into buckets in their order, and only buckets that hold a quartile are sorted.

    Scores that are all alike, or not all finite, are sorted as a whole.
    """
    number = len(scores)
    scale = BUCKETS / (high - low) if high > low else np.inf
    if not 0.0 < scale < np.inf:
        _sort(scores)
        for quarter in range(3):
            found[quarter + 1] = scores[_rank(quarter, number)]
        return
    buckets, counts = np.empty(number, np.uint8), np.zeros(BUCKETS, np.int64)
    for place in range(number):
        buckets[place] = min(np.int32((scores[place] - low) * scale), LAST)
    for place in range(number):
        counts[buckets[place]] += 1
    own = np.empty(number)
    bucket, below = 0, 0
    for quarter in range(3):
        rank = _rank(quarter, number)
        while below + counts[bucket] <= rank:
            below += counts[bucket]
            bucket += 1
        size = 0
        for place in range(number):
            if buckets[place] == bucket:
                own[size] = scores[place]
                size += 1
        _sort(own[:size])
        found[quarter + 1] = own[rank - below]


@_compiled()
def _sort(values: Floats) -> None:
    """Sort values in place, NaN last, by insertion at ever smaller distances: few or ordered ones; a general sort compiles long."""
    gap = 1
    while 3 * gap < len(values):
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(gap, len(values)):
            value, free = values[place], place
            # What is not a number stays, and is passed by all others.
            while free >= gap and value == value and not values[free - gap] <= value:
                values[free] = values[free - gap]
                free -= gap
            values[free] = value
        gap //= 3


@_compiled(inline="always")
def _rank(quarter: int, number: int) -> int:
    """Return the place of a quartile among so many ordered scores."""
    return ((quarter + 1) * number + 3) // 4 - 1


@_compiled()
def _fill(parts: Floats, first: int, together: int, multiply: bool, table: Floats) -> None:
    """Combine the parts of a few benchmarks, the last one varying slowest."""
    count = parts.shape[1]
    for run in range(count):
        table[run] = parts[first, run]
    filled = count
    for benchmark in range(first + 1, first + together):
        # From the last run to the first, so that what is combined is overwritten last.
        for run in range(count - 1, -1, -1):
            part, made = parts[benchmark, run], table[run * filled : (run + 1) * filled]
            if multiply:
                for entry in range(filled):
                    made[entry] = part * table[entry]
            else:
                for entry in range(filled):
                    made[entry] = part + table[entry]
        filled *= count


@_compiled()
def _look_up(table: Floats, bits: Any, group: int, groups: int, cell: Any, key: Any, multiply: bool, scores: Floats) -> None:
    """Multiply or add the entries that the bits stand for; what is refused is drawn again, as `numerics.random` says."""
    entries = np.uint64(len(table))
    refused = np.uint64((1 << 32) % len(table))
    own = bits[group::groups]
    for place in range(len(scores)):
        product = np.uint64(own[place]) * entries
        if (product & LOWER) < refused:
            product = _drawn_again(place * groups + group + 1, entries, refused, cell, key)
        entry = table[product >> np.uint64(32)]
        scores[place] = scores[place] * entry if multiply else scores[place] + entry


@_compiled()
def _drawn_again(own: int, entries: Any, refused: Any, cell: Any, key: Any) -> Any:
    """Return the first product that is accepted of the stream of a position of its own."""
    words = np.empty(8, np.uint64)
    counter = 1
    while True:
        _philox(words, counter, own, cell, key)
        for word in words:
            product = (word >> np.uint64(32)) * entries
            if (product & LOWER) >= refused:
                return product
        counter += 2
