"""The scores of a suite, compiled: the random bits, tables and scores of a cell are made, used and forgotten while they are in the cache.

The random bits are those of the NumPy engine (Philox 4x64-10, Salmon et al. 2011), so that both engines draw the same scores, on any
number of threads.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic

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

FEW = 32
"""Scores in a bucket that are sorted by insertion."""

_one_at_a_time = Lock()
"""The threads of one call share the work; calls from several threads take turns, since not every threading layer allows more."""


def _compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function, and keep it for the next process."""
    decorate: Callable[[F], F] = numba.njit(cache=True, **options)
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
    with _one_at_a_time:
        _draw(scores, *_given(parts, together, cells, mean, key))
    return scores


def summary_compiled(parts: Floats, together: int, cells: Any, number: int, mean: str, key: tuple[int, int, int]) -> Floats:
    """Draw scores, and keep minimum, quartiles, maximum and standard deviation, shape (6, cells); parameters as for `scores_compiled`."""
    found = np.empty((len(cells), 6))
    with _one_at_a_time:
        _summarise(found, number, *_given(parts, together, cells, mean, key))
    return found.T


def _given(parts: Floats, together: int, cells: Any, mean: str, key: tuple[int, int, int]) -> tuple[Any, ...]:
    """Return what both kernels are given, as they take it."""
    return (
        np.ascontiguousarray(np.moveaxis(parts, 0, 1)),
        together,
        np.asarray(cells).astype(np.uint64),
        np.array(key, dtype=np.uint64),
        mean == "geometric",
        mean == "harmonic",
    )


@_compiled(parallel=True, boundscheck=False)
def _draw(scores: Floats, parts: Floats, together: int, cells: Any, key: Any, multiply: bool, invert: bool) -> None:
    """Fill in the scores of every cell."""
    for cell in numba.prange(len(cells)):
        _draw_cell(parts[cell], together, cells[cell], key, multiply, invert, scores[cell])


@_compiled(parallel=True, boundscheck=False)
def _summarise(found: Floats, number: int, parts: Floats, together: int, cells: Any, key: Any, multiply: bool, invert: bool) -> None:
    """Fill in five numbers and the standard deviation of the scores of every cell."""
    for cell in numba.prange(len(cells)):
        scores = np.empty(number)
        _draw_cell(parts[cell], together, cells[cell], key, multiply, invert, scores)
        _describe(scores, found[cell])


@_compiled(boundscheck=False)
def _draw_cell(parts: Floats, together: int, cell: Any, key: Any, multiply: bool, invert: bool, scores: Floats) -> None:
    """Fill in the scores of a cell."""
    benchmarks, count = parts.shape
    number, groups = len(scores), benchmarks // together
    words = np.empty((groups * number + 7) // 8 * 4, np.uint64)
    _fill_with_random_bits(words, cell, key)
    bits = words.view(np.uint32)
    table = np.empty(count**together)
    scores[:] = 1.0 if multiply else 0.0
    for group in range(groups):
        _fill(parts[group * together : (group + 1) * together], multiply, table)
        _look_up(table, bits, group, groups, cell, key, multiply, scores)
    if invert:
        for place in range(number):
            scores[place] = 1.0 / scores[place]


def _write_high_product(context: Any, a: Any, b: Any) -> Any:  # noqa: ARG001 (numba asks for the arguments that it compiles for)
    """Return the types and the code of the upper 64 bits of the product of two words."""

    def generate(context: Any, builder: Any, signature: Any, words: Any) -> Any:  # noqa: ARG001
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(words[0], wide), builder.zext(words[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return numba.uint64(numba.uint64, numba.uint64), generate


_high_product: Any = intrinsic(_write_high_product)
"""The upper 64 bits of the product of two words: one instruction, which neither Python nor NumPy has a name for."""


@_compiled(boundscheck=False)
def _fill_with_random_bits(words: Any, cell: Any, key: Any) -> None:
    """Fill an array with the numbers of a cell's stream: four from every value of the counter."""
    blocks = len(words) // 4
    # Two at a time: the rounds of one wait for each other, and those of the other fill the gaps.
    for block in range(0, blocks - 1, 2):
        _philox(words[4 * block : 4 * block + 4], words[4 * block + 4 : 4 * block + 8], block + 1, 0, cell, key)
    if blocks % 2:
        spare = np.empty(4, np.uint64)
        _philox(words[4 * blocks - 4 :], spare, blocks, 0, cell, key)


@_compiled(boundscheck=False, inline="always")
def _philox(words: Any, others: Any, counter: int, own: int, cell: Any, key: Any) -> None:
    """Fill in the numbers of a value of the counter, and of the next."""
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
    others[0], others[1], others[2], others[3] = e, f, g, h


@_compiled(boundscheck=False)
def _describe(scores: Floats, found: Floats) -> None:
    """Fill in minimum, quartiles inf{x: F(x) >= p}, maximum and standard deviation of some scores."""
    number = len(scores)
    low, high = _extremes(scores)
    squares = _squares(scores, _sum(scores) / number)
    found[0], found[4] = low, high
    found[5] = np.sqrt(squares / (number - 1)) if number > 1 else np.nan
    _find_quartiles(scores, low, high, found[1:4])


@_compiled(boundscheck=False, fastmath={"reassoc", "contract", "nsz"})
def _sum(scores: Floats) -> float:
    """Return the sum, in vectors."""
    total = 0.0
    for place in range(len(scores)):
        total += scores[place]
    return total


@_compiled(boundscheck=False, fastmath={"reassoc", "contract", "nsz"})
def _squares(scores: Floats, centre: float) -> float:
    """Return the sum of squared differences from a centre, in vectors."""
    total = 0.0
    for place in range(len(scores)):
        total += (scores[place] - centre) * (scores[place] - centre)
    return total


@_compiled(boundscheck=False, fastmath={"nnan", "nsz"})
def _extremes(scores: Floats) -> tuple[float, float]:
    """Return the least and the largest score: in any order they are the same, so that they are looked for in vectors."""
    low = high = scores[0]
    for place in range(len(scores)):
        low = scores[place] if scores[place] < low else low
        high = scores[place] if scores[place] > high else high
    return low, high


@_compiled(boundscheck=False)
def _find_quartiles(scores: Floats, low: float, high: float, quartiles: Floats) -> None:
    """Fill in the quartiles: scores fall into buckets in their order, and only buckets that hold a quartile are sorted.

    Scores that are all alike, or not all finite, are sorted as a whole.
    """
    number = len(scores)
    scale = BUCKETS / (high - low) if high > low else np.inf
    if not 0.0 < scale < np.inf:
        scores.sort()
        for quarter in range(3):
            quartiles[quarter] = scores[_rank(quarter, number)]
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
        quartiles[quarter] = own[rank - below]


@_compiled(boundscheck=False)
def _sort(values: Floats) -> None:
    """Sort values in place: a few by insertion, for which the general sort has its price."""
    if len(values) > FEW:
        values.sort()
        return
    for place in range(1, len(values)):
        value, free = values[place], place
        while free > 0 and values[free - 1] > value:
            values[free] = values[free - 1]
            free -= 1
        values[free] = value


@_compiled(inline="always")
def _rank(quarter: int, number: int) -> int:
    """Return the place of a quartile among so many ordered scores."""
    return ((quarter + 1) * number + 3) // 4 - 1


@_compiled(boundscheck=False)
def _fill(parts: Floats, multiply: bool, table: Floats) -> None:
    """Combine the parts of a few benchmarks, the last one varying slowest."""
    together, count = parts.shape
    for run in range(count):
        table[run] = parts[0, run]
    filled = count
    for benchmark in range(1, together):
        # From the last run to the first, so that what is combined is overwritten last.
        for run in range(count - 1, -1, -1):
            part, combined, made = parts[benchmark, run], table[:filled], table[run * filled : (run + 1) * filled]
            if multiply:
                for entry in range(filled):
                    made[entry] = part * combined[entry]
            else:
                for entry in range(filled):
                    made[entry] = part + combined[entry]
        filled *= count


@_compiled(boundscheck=False)
def _look_up(table: Floats, bits: Any, group: int, groups: int, cell: Any, key: Any, multiply: bool, scores: Floats) -> None:
    """Multiply or add the entries that the bits stand for; what is refused is drawn again, as `numerics.random` says."""
    entries = np.uint64(len(table))
    refused = np.uint64((1 << 32) % len(table))
    for place in range(len(scores)):
        product = np.uint64(bits[place * groups + group]) * entries
        if (product & LOWER) < refused:
            product = _drawn_again(place * groups + group + 1, entries, refused, cell, key)
        entry = table[product >> np.uint64(32)]
        scores[place] = scores[place] * entry if multiply else scores[place] + entry


@_compiled(boundscheck=False)
def _drawn_again(own: int, entries: Any, refused: Any, cell: Any, key: Any) -> Any:
    """Return the first product that is accepted of the stream of a position of its own."""
    words, others = np.empty(4, np.uint64), np.empty(4, np.uint64)
    counter = 1
    while True:
        _philox(words, others, counter, own, cell, key)
        for word in words:
            product = (word >> np.uint64(32)) * entries
            if (product & LOWER) >= refused:
                return product
        counter += 1
