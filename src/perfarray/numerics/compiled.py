"""What compiled kernels of several topics share: the decorator, the random words of the NumPy engine, and what is looked up by them.

The words are those of NumPy's Philox 4x64-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), so that both engines
draw the same numbers. First calls wait for the compiler: a function is translated by itself and once more in each of its callers, so that
kernels call few, and have one form of arguments each. Compiled code is kept by the time of its own file.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba.extending import intrinsic

from perfarray.numerics.threads import in_threads
from perfarray.numerics.types import Floats, Integers, Mask

Part = TypeVar("Part")
F = TypeVar("F", bound=Callable[..., Any])

ROUNDS = 10
FIRST, SECOND = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
MORE, OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
"""What Philox 4x64 multiplies by, and what it adds to the key."""

LOWER = np.uint64(0xFFFFFFFF)
"""The lower half of a word."""

AT_ONCE = 8
"""Words that are made together."""

PARTS, LEAST = 4, 1 << 18
"""Into how many parts work is divided for each thread at most, and the random numbers of a part at least (half a millisecond).

Threads wait for each other wherever compiled code begins or ends.
"""


def compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function, and keep it for the next process."""
    decorate: Callable[[F], F] = numba.njit(cache=True, nogil=True, **options)
    return decorate


def in_all_threads(work: Callable[[Part], object], parts: Sequence[Part]) -> None:
    """Do some work on parts by as many threads as numba may use."""
    in_threads(work, parts, _threads())


def _threads() -> int:
    """Return how many threads numba may use."""
    return int(cast(Any, numba).config.NUMBA_NUM_THREADS)


def in_parts(work: Callable[[slice], object], cells: int, numbers: int) -> None:
    """Do some work on many cells of so many random numbers, a part of the cells at a time, in threads."""
    parts = max(1, min(cells, PARTS * _threads(), cells * numbers // LEAST))
    in_all_threads(work, [slice(cells * part // parts, cells * (part + 1) // parts) for part in range(parts)])


def _half_of_product(shift: int) -> Any:
    """Return a function for 64 bits of the product of two words: one instruction, whose upper half Python and NumPy have no name for."""

    def write(context: Any, a: Any, b: Any) -> Any:  # noqa: ARG001 (numba asks for the arguments that it compiles for)
        def generate(context: Any, builder: Any, signature: Any, words: Any) -> Any:  # noqa: ARG001
            wide = ir.IntType(128)
            product = builder.mul(builder.zext(words[0], wide), builder.zext(words[1], wide))
            return builder.trunc(builder.lshr(product, ir.Constant(wide, shift)), ir.IntType(64))

        return numba.uint64(numba.uint64, numba.uint64), generate

    return intrinsic(write)


_low, _high = _half_of_product(0), _half_of_product(64)


def room_for(count: int, cells: int = 1) -> npt.NDArray[np.uint64]:
    """Return room for so many words of every cell, in whole blocks."""
    return np.empty((cells, -(-count // AT_ONCE) * AT_ONCE), np.uint64)


def words_of(key: tuple[int, int], cells: Integers, stream: int, count: int, start: int) -> tuple[npt.NDArray[np.uint64], int]:
    """Return the words of a stream of every cell in whole blocks (cells, at least `count`), and where word `start` stands in them."""
    skipped = start % 4
    words = room_for(skipped + count, len(cells))
    fill(words, cells.astype(np.uint64), *(np.uint64(number) for number in (start // 4 + 1, stream, *key)))
    return words, skipped


@compiled()
def fill(words: Any, cells: Any, counter: Any, stream: Any, key: Any, other_key: Any) -> None:
    """Fill in the words of every cell, from a value of the counter on."""
    for row in range(len(cells)):
        for at in range(0, words.shape[1], AT_ONCE):
            # Two values of the counter at a time: the rounds of one wait for each other, and those of the other fill the gaps.
            a, b = counter + np.uint64(at // 4), np.uint64(0)
            c, d = cells[row], stream
            e, f = a + np.uint64(1), b
            g, h = c, d
            first, second = key, other_key
            for _ in range(ROUNDS):
                high, low = _high(FIRST, a), _low(FIRST, a)
                a, b = _high(SECOND, c) ^ b ^ first, _low(SECOND, c)
                c, d = high ^ d ^ second, low
                high, low = _high(FIRST, e), _low(FIRST, e)
                e, f = _high(SECOND, g) ^ f ^ first, _low(SECOND, g)
                g, h = high ^ h ^ second, low
                first += MORE
                second += OTHER
            words[row, at], words[row, at + 1] = a, b
            words[row, at + 2], words[row, at + 3] = c, d
            words[row, at + 4], words[row, at + 5] = e, f
            words[row, at + 6], words[row, at + 7] = g, h


def combine(
    found: Floats, parts: Floats, key: tuple[int, int], cells: Integers, stream: int, start: int = 0, *, at: slice, together: int = 1,
    multiply: bool = False,
) -> Mask:  # fmt: skip
    """Add to rows one entry of each table, or multiply them by it: entries that are drawn as `Streams.entries` does.

    Parameters
    ----------
    found : array, shape (kinds, 1 or tables, cells, rows)
        What is added to: all tables of a cell together, or each of them.
    parts : array, shape (kinds, tables * together, cells, runs)
        The tables; or what a few of them are made of, every run of one with every run of the others, the last varying slowest.
    key, cells, stream, start :
        Of the random numbers; `start` is that of the first row.
    at : slice
        The cells to do, all others being left as they are.
    together : int
        How many parts make a table.
    multiply : bool
        Whether entries, and parts, are multiplied.

    Returns
    -------
    array of bool, shape (cells to do,)
        Those that are left as they were, since a number of theirs is refused: hardly any.
    """
    block, parts, tables = np.ascontiguousarray(found), np.ascontiguousarray(parts), parts.shape[1] // together
    own, first = cells[at].astype(np.uint64), start * tables
    skipped, count = first // 2 % 4, (first % 2 + found.shape[-1] * tables + 1) // 2
    words = room_for(skipped + count)
    bits = words.view(np.uint32)[0, 2 * skipped + first % 2 :]
    counter, purpose, one, two = (np.uint64(number) for number in (first // 8 + 1, stream, *key))
    table, refused = np.empty(parts.shape[3] ** together), np.empty(len(own), bool)
    _combine(block, parts, own, counter, purpose, one, two, at.start, together, multiply, words, bits, table, refused)
    if block is not found:
        found[:, :, at] = block[:, :, at]
    return refused


@compiled()
def _combine(
    found: Floats, parts: Floats, cells: Any, counter: Any, stream: Any, key: Any, other_key: Any, at: int, together: int, multiply: bool,
    words: Any, bits: Any, table: Floats, refused: Any,
) -> None:  # fmt: skip
    """Do the same for arrays that lie in one piece; `bits` are the halves of `words` that count."""
    kinds, _, _, runs = parts.shape
    tables, size, rows = parts.shape[1] // together, np.uint64(len(table)), found.shape[3]
    least = np.uint64(1 << 32) % size
    for cell in range(len(cells)):
        fill(words, cells[cell : cell + 1], counter, stream, key, other_key)
        low = np.uint64(1 << 32)
        for number in range(rows * tables):
            low = min(low, (np.uint64(bits[number]) * size) & LOWER)
        refused[cell] = low < least
        for place in range(0 if refused[cell] else kinds * tables):
            kind, own = place // tables, place % tables
            filled = runs
            for run in range(filled):
                table[run] = parts[kind, own * together, at + cell, run]
            for benchmark in range(own * together + 1, (own + 1) * together):
                # From the last run to the first, so that what is combined is overwritten last.
                for run in range(runs - 1, -1, -1):
                    part, made = parts[kind, benchmark, at + cell, run], table[run * filled :]
                    for entry in range(filled):
                        made[entry] = part * table[entry] if multiply else part + table[entry]
                filled *= runs
            total = found[kind, min(own, found.shape[1] - 1), at + cell]
            for row in range(rows):
                entry = table[(np.uint64(bits[row * tables + own]) * size) >> np.uint64(32)]
                total[row] = total[row] * entry if multiply else total[row] + entry
