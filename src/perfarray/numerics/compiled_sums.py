"""Sums of redrawn executions, compiled by numba: those of `with_replacement.LongRow`, bit for bit.

Words are those of NumPy's Philox 4x64-10 (J. Salmon et al., "Parallel random numbers: as easy as 1,
2, 3", 2011).
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from perfarray.numerics.random import Streams
from perfarray.numerics.types import Floats, Integers
from perfarray.numerics.with_replacement import PAIRS

F = TypeVar("F", bound=Callable[..., Any])

# What Philox multiplies by, and what it adds to the key.
FIRST, SECOND = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
MORE, OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
# Of the four quarters of a word: the first, ones, their highest bits, and the others.
QUARTER, QUARTERS = np.uint64(0xFFFF), np.uint64(0x0001000100010001)
HIGHEST, REST = np.uint64(0x8000800080008000), np.uint64(0x7FFF7FFF7FFF7FFF)
# Unsigned whole numbers: numba checks signed indices for negative ones, and makes floating-point
# numbers of both kinds together.
NONE, ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN, EIGHT, SIXTEEN = (
    np.uint64(number) for number in (*range(9), 16)
)
HALF, LARGEST = np.uint64(32), np.uint64(0xFFFFFFFF)
COUNTERS = 64  # values of the counter whose numbers are looked at together
PER_COUNTER = 16  # numbers of 16 bits


def compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function, and keep it for the next process."""
    decorate: Callable[[F], F] = numba.njit(cache=True, nogil=True, error_model="numpy", **options)
    return decorate


INNER = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}  # for functions that only compiled ones call


class CompiledRows:
    """Rows of values (rows, values), each with its own stream, as `LongRow`."""

    def __init__(self, values: Floats, cell: int, row_streams: list[int], streams: Streams) -> None:
        self._values, self._at = np.ascontiguousarray(values), np.zeros(len(values), np.int64)
        self._streams, self._key = (
            np.array(row_streams, np.uint64),
            np.array([cell, *streams.key], np.uint64),
        )

    def redraw(self, names: Integers) -> Floats:
        """Return the sum of the next redraw of each row named."""
        count = self._values.shape[1]
        sums, table = np.empty(len(names)), np.empty(count**2 if count**2 <= PAIRS else count)
        numbers = np.empty(PER_COUNTER * COUNTERS + count, np.uint16)
        _redraw(sums, names, self._values, self._at, self._streams, self._key, table, numbers)
        return sums


@compiled()
def _redraw(
    sums: Any,
    names: Any,
    values: Any,
    positions: Any,
    row_streams: Any,
    key: Any,
    table: Any,
    numbers: Any,
) -> None:
    """Fill in the sums of one row after the other, so that only its table need be in the cache.

    `positions`, where the streams of rows go on, are moved. Table and numbers are room for those of
    one row.
    """
    ends, members = np.zeros(len(values) + 1, np.int64), np.empty(len(names), np.uint32)
    for name in names:
        ends[name + 1] += 1
    for row in range(len(values)):
        ends[row + 1] += ends[row]
    for index in range(len(names)):  # each row's redraws in order; where it began it ends then
        members[ends[names[index]]] = index
        ends[names[index]] += 1
    count, words = values.shape[1], np.empty(4 * COUNTERS, np.uint64)
    pairs = len(table) > count
    per_sum = (count + 1) // 2 if pairs else count
    n_sums = 0
    for row in range(len(values)):
        for value in range(count):
            for second in range(count if pairs else 1):
                table[value * (len(table) // count) + second] = values[row, value] + (
                    values[row, second] if pairs else 0.0
                )
        at, n_numbers, needed = positions[row], 0, per_sum * (ends[row] - n_sums)
        while needed > 0:
            first, counters = (
                at // PER_COUNTER,
                min(COUNTERS, (at % PER_COUNTER + needed) // PER_COUNTER + 1),
            )
            _fill(words, counters, np.uint64(first + 1), key[0], row_streams[row], key[1], key[2])
            n_before = n_numbers
            at, n_numbers = _accept(
                numbers,
                n_numbers,
                words,
                at - PER_COUNTER * first,
                PER_COUNTER * counters,
                needed,
                len(table),
            )
            at += PER_COUNTER * first
            needed -= n_numbers - n_before
            n_new = n_numbers // per_sum
            _add_up(sums, members[n_sums : n_sums + n_new], numbers, per_sum, table, values[row])
            n_sums, n_numbers = n_sums + n_new, n_numbers - n_new * per_sum
            for index in range(n_numbers):
                numbers[index] = numbers[n_new * per_sum + index]
        positions[row] = at


@compiled(**INNER)
def _fill(
    words: Any, number: int, counter: Any, cell: Any, stream: Any, key: Any, other_key: Any
) -> None:
    """Fill in the words of so many values of the counter."""
    for index in range(np.uint64(number)):
        a, b, c, d, added, added_second = counter + index, NONE, cell, stream, key, other_key
        for _ in range(10):
            upper_a, lower_a = _product(FIRST, a)
            upper_c, lower_c = _product(SECOND, c)
            a, b, c, d = upper_c ^ b ^ added, lower_c, upper_a ^ d ^ added_second, lower_a
            added, added_second = added + MORE, added_second + OTHER
        at = FOUR * index
        words[at], words[at + ONE], words[at + TWO], words[at + THREE] = a, b, c, d


@compiled(**INNER)
def _product(constant: Any, word: Any) -> tuple[Any, Any]:
    """Return the upper and the lower half of the product of two words, by halves of words."""
    c, d, a, b = constant >> HALF, constant & LARGEST, word >> HALF, word & LARGEST
    low = b * d
    middle = a * d + (low >> HALF)
    cross = b * c + (middle & LARGEST)
    return a * c + (middle >> HALF) + (cross >> HALF), constant * word


@compiled(**INNER)
def _accept(
    numbers: Any, n_numbers: int, words: Any, start: int, stop: int, needed: int, size: int
) -> tuple[int, int]:
    """Append the numbers that are not refused, `needed` at most.

    Return behind which of all numbers, and how many there are.
    """
    limit = np.uint64((1 << 16) // size * size)
    beyond = (np.uint64(1 << 16) - limit) * QUARTERS
    at, end, to, last = (
        np.uint64(start),
        np.uint64(stop),
        np.uint64(n_numbers),
        np.uint64(n_numbers + needed),
    )
    while at < end and to < last:
        index = at // FOUR
        if at % SIXTEEN == 0 and to + SIXTEEN <= last:
            a, b, c, d = words[index], words[index + ONE], words[index + TWO], words[index + THREE]
            # A quarter is refused if its highest bit is set, and stays set in the rest of it plus
            # what lies beyond the limit.
            refused = (
                (((a & REST) + beyond) & a)
                | (((b & REST) + beyond) & b)
                | (((c & REST) + beyond) & c)
                | (((d & REST) + beyond) & d)
            )
            if refused & HIGHEST == 0:
                for word in (a, b, c, d):
                    numbers[to], numbers[to + ONE] = word & QUARTER, (word >> SIXTEEN) & QUARTER
                    numbers[to + TWO], numbers[to + THREE] = (
                        (word >> HALF) & QUARTER,
                        word >> (HALF + SIXTEEN),
                    )
                    to += FOUR
            else:
                for word in (a, b, c, d):
                    # Without a branch: the next number takes the place of one that is refused.
                    for quarter in range(FOUR):
                        number = (word >> (SIXTEEN * quarter)) & QUARTER
                        numbers[to] = number
                        to += np.uint64(number < limit)
            at += SIXTEEN
        else:
            number = (words[index] >> (at % FOUR * SIXTEEN)) & QUARTER
            numbers[to] = number
            to += np.uint64(number < limit)
            at += ONE
    # A product with it is an exact quotient of 16 bits.
    inverse = LARGEST // (np.uint64(1 << 16) // np.uint64(size)) + ONE
    for position in range(np.uint64(n_numbers), to):
        numbers[position] = (numbers[position] * inverse) >> HALF
    return int(at), int(to)


@compiled(**INNER)
def _add_up(sums: Any, members: Any, numbers: Any, per_sum: int, table: Any, values: Any) -> None:
    """Fill in the sums of entries that numbers stand for, in the order of `numpy.einsum`.

    The last is added by itself where an odd number of values is drawn in pairs.
    """
    # NumPy is built for vectors of two doubles; where it is not, the test that compares both
    # engines fails.
    size, count = np.uint64(len(table)), np.uint64(len(values))
    odd = size > count and count % TWO == ONE
    at = NONE
    for member in members:
        even = odds = 0.0
        stop = at + np.uint64(per_sum - odd)
        while at + EIGHT <= stop:
            even += (table[numbers[at]] + table[numbers[at + TWO]]) + (
                table[numbers[at + FOUR]] + table[numbers[at + SIX]]
            )
            odds += (table[numbers[at + ONE]] + table[numbers[at + THREE]]) + (
                table[numbers[at + FIVE]] + table[numbers[at + SEVEN]]
            )
            at += EIGHT
        while at + TWO <= stop:
            even += table[numbers[at]]
            odds += table[numbers[at + ONE]]
            at += TWO
        if at < stop:
            even += table[numbers[at]]
            at += ONE
        sums[member] = even + odds
        if odd:
            sums[member] += values[numbers[at] // count]
            at += ONE
