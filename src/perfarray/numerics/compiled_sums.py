"""Sums of redrawn executions, compiled by numba: those of `with_replacement.LongRow`, bit for bit.

Words are those of NumPy's Philox 4x64-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
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
HALF, LOWER, ONE = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(1)
# Of the four quarters of a word: the first, ones, their highest bits, and the others.
QUARTER, QUARTERS = np.uint64(0xFFFF), np.uint64(0x0001000100010001)
HIGHEST, REST = np.uint64(0x8000800080008000), np.uint64(0x7FFF7FFF7FFF7FFF)
TWO, THREE, FOUR, EIGHT = np.uint64(2), np.uint64(3), np.uint64(4), np.uint64(8)
COUNTERS = 64  # values of the counter that go through the rounds together, so that these are vectorised
PER_COUNTER = 16  # numbers of 16 bits


def compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function, and keep it for the next process."""
    decorate: Callable[[F], F] = numba.njit(cache=True, nogil=True, error_model="numpy", **options)
    return decorate


INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # for functions that only compiled ones call


class CompiledRows:
    """Rows of values (rows, values), each with its own stream, as `LongRow`: two draws at a time where the table stays in the cache."""

    def __init__(self, values: Floats, cell: int, row_streams: list[int], streams: Streams) -> None:
        self._values, self._at = np.ascontiguousarray(values), np.zeros(len(values), np.int64)
        self._streams, self._key = np.array(row_streams, np.uint64), np.array([cell, *streams.key], np.uint64)

    def redraw(self, names: Integers) -> Floats:
        """Return the sum of the next redraw of each row named."""
        count = self._values.shape[1]
        sums, table = np.empty(len(names)), np.empty(count**2 if count**2 <= PAIRS else count)
        entries = np.empty(PER_COUNTER * COUNTERS + count)
        _redraw(sums, names.astype(np.uint32), self._values, self._at, self._streams, self._key, table, entries)
        return sums


@compiled()
def _redraw(sums: Any, names: Any, values: Any, positions: Any, row_streams: Any, key: Any, table: Any, entries: Any) -> None:
    """Fill in the sums of one row after the other, so that only its table need be in the cache.

    `positions`, where the streams of rows go on, are moved. Table and entries are room for those of one row.
    """
    ends, members = np.zeros(len(values) + 1, np.int64), np.empty(len(names), np.uint32)
    for name in names:
        ends[name + 1] += 1
    for row in range(len(values)):
        ends[row + 1] += ends[row]
    for index in range(len(names)):  # each row's redraws in order; where it began it ends then
        members[ends[names[index]]] = index
        ends[names[index]] += 1
    count, words, lanes = values.shape[1], np.empty(4 * COUNTERS, np.uint64), np.empty((4, COUNTERS), np.uint64)
    pairs = len(table) > count
    odd, per_sum = pairs and count % 2 == 1, (count + 1) // 2 if pairs else count
    n_sums = 0
    for row in range(len(values)):
        for entry in range(len(table)):
            table[entry] = values[row, entry // count] + values[row, entry % count] if pairs else values[row, entry]
        at, n_entries, needed = positions[row], 0, per_sum * (ends[row] - n_sums)
        while needed > 0:
            first, counters = at // PER_COUNTER, min(COUNTERS, (at % PER_COUNTER + needed) // PER_COUNTER + 1)
            _fill(words, lanes, counters, np.uint64(first + 1), key[0], row_streams[row], key[1], key[2])
            n_before = n_entries
            at, n_entries = _look_up(
                entries, n_entries, table, words, at - PER_COUNTER * first, PER_COUNTER * counters, needed, odd, per_sum
            )
            at += PER_COUNTER * first
            needed -= n_entries - n_before
            start = 0
            while n_entries - start >= per_sum:
                sums[members[n_sums]] = _sum(entries, start, per_sum, odd)
                start, n_sums = start + per_sum, n_sums + 1
            for index in range(start, n_entries):
                entries[index - start] = entries[index]
            n_entries -= start
        positions[row] = at


@compiled(**INNER)
def _look_up(
    entries: Any, n_entries: int, table: Any, words: Any, start: int, stop: int, needed: int, odd: bool, per_sum: int
) -> tuple[int, int]:
    """Append the entries that numbers stand for, `needed` at most; return behind which number, and how many there are."""
    size, each = np.uint64(len(table)), np.uint64(per_sum)
    times = np.uint64(1 << 16) // size
    limit, inverse = times * size, LOWER // times + ONE  # a product with it is an exact quotient of 16 bits
    beyond = (np.uint64(1 << 16) - limit) * QUARTERS
    at, end, to, remaining = np.uint64(start), np.uint64(stop), np.uint64(n_entries), np.uint64(needed)
    while at < end and remaining > 0:
        if at % FOUR == 0:
            first, index = to, at // FOUR
            last = min(end // FOUR, index + ((remaining - ONE) % each if odd else remaining) // FOUR)
            # A quarter is refused if its highest bit is set, and stays set in the rest of it plus what lies beyond the limit.
            while index < last and ((words[index] & REST) + beyond) & words[index] & HIGHEST == 0:
                word = words[index]
                entries[to] = table[((word & QUARTER) * inverse) >> HALF]
                entries[to + ONE] = table[(((word >> np.uint64(16)) & QUARTER) * inverse) >> HALF]
                entries[to + TWO] = table[(((word >> HALF) & QUARTER) * inverse) >> HALF]
                entries[to + THREE] = table[((word >> np.uint64(48)) * inverse) >> HALF]
                index, to = index + ONE, to + FOUR
            at, remaining = FOUR * index, remaining - (to - first)
            if at >= end or remaining == 0:
                break
        number = (words[at // FOUR] >> (at % FOUR * np.uint64(16))) & QUARTER
        at += ONE
        if number < limit:
            entry = (number * inverse) >> HALF
            entries[to] = table[entry] if not odd or remaining % each != ONE else 0.5 * table[entry // (each + each - ONE) * (each + each)]
            to, remaining = to + ONE, remaining - ONE
    return int(at), int(to)


@compiled(**INNER)
def _sum(entries: Any, start: int, per_sum: int, odd: bool) -> float:
    """Add up entries in the order of `numpy.einsum`, in two lanes; the last by itself, where an odd number is drawn in pairs."""
    # NumPy is built for vectors of two doubles; where it is not, the test that compares both engines fails.
    even = odds = 0.0
    at = np.uint64(start)
    stop = at + np.uint64(per_sum - odd)
    while at + EIGHT <= stop:
        even += (entries[at] + entries[at + TWO]) + (entries[at + FOUR] + entries[at + FOUR + TWO])
        odds += (entries[at + ONE] + entries[at + THREE]) + (entries[at + FOUR + ONE] + entries[at + FOUR + THREE])
        at += EIGHT
    while at + TWO <= stop:
        even += entries[at]
        odds += entries[at + ONE]
        at += TWO
    if at < stop:
        even += entries[at]
    return even + odds + entries[stop] if odd else even + odds


@compiled(**INNER)
def _fill(words: Any, lanes: Any, number: int, counter: Any, cell: Any, stream: Any, key: Any, other_key: Any) -> None:
    """Fill in the words of so many values of the counter."""
    a, b, c, d = lanes[0], lanes[1], lanes[2], lanes[3]
    for i in range(number):
        a[i], b[i], c[i], d[i] = counter + np.uint64(i), 0, cell, stream
    for _ in range(10):
        for i in range(number):
            a_word, c_word = a[i], c[i]
            a[i], b[i] = _upper(SECOND, c_word) ^ b[i] ^ key, SECOND * c_word
            c[i], d[i] = _upper(FIRST, a_word) ^ d[i] ^ other_key, FIRST * a_word
        key += MORE
        other_key += OTHER
    for i in range(number):
        words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3] = a[i], b[i], c[i], d[i]


@compiled(inline="always", **INNER)
def _upper(a: Any, b: Any) -> Any:
    """Return the upper half of the product of two words."""
    low = (a & LOWER) * (b & LOWER)
    middle = (a >> HALF) * (b & LOWER) + (low >> HALF)
    cross = (a & LOWER) * (b >> HALF) + (middle & LOWER)
    return (a >> HALF) * (b >> HALF) + (middle >> HALF) + (cross >> HALF)
