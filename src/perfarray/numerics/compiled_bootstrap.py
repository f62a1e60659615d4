"""The bootstrap kernel, compiled: unit means of nests whose lowest level is redrawn, complete or ragged.

Random numbers are xoshiro256++ (Blackman and Vigna 2021), one stream for every chunk of replicates, its state made from the key and the
place of the cell by SplitMix64: threads take chunks in any order and find the same numbers. An index is some bits divided by the number
of times the choices fit into them; the few bits beyond the last multiple are drawn again: every choice is exactly as likely as every
other.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats

F = TypeVar("F", bound=Callable[..., Any])

CHUNK = 256
"""Most replicates drawn together from one stream; their executions are sorted, so that each table is made once."""

TABLE = 1 << 14
"""Most entries of a table of pair sums; 16 random bits choose one."""

QUARTER, ONES = np.uint64(1 << 16), np.uint64(0x0001000100010001)
HIGHEST, REST = np.uint64(0x8000800080008000), np.uint64(0x7FFF7FFF7FFF7FFF)
"""Of the four quarters of a word: their highest bits, and the others."""

_one_at_a_time = Lock()
"""The threads of one call share the work; calls from several threads take turns, since not every threading layer allows more."""


def _compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function, and keep it for the next process."""
    decorate: Callable[[F], F] = numba.njit(cache=True, **options)
    return decorate


def draw_units_compiled(
    values: Floats, counts: Sequence[Any], drawn: Sequence[bool], number: int, key: Sequence[int], counter: Sequence[int]
) -> Floats:
    """Draw a block of replicates and return the means of the outermost units drawn in each.

    Parameters
    ----------
    values : array, shape (n_L, ..., n_1)
        Measurements of at least two levels; at every level those that were measured come first, and every outermost unit was.
    counts : sequence of int arrays, shapes (), (n_L,), (n_L, n_{L-1}), ...
        For every level, how many children each parent has.
    drawn : sequence of bool
        The levels drawn with replacement; the lowest is one of them.
    number : int
        Replicates.
    key, counter : sequences of int
        What the streams of random numbers begin with.

    Returns
    -------
    array, shape (number, n_L)
    """
    # A unit's mean is a sum of values that are divided by the numbers of their siblings, level by level up to the unit.
    weighted = np.nan_to_num(values)
    for count in counts[1:]:
        weighted = weighted / np.maximum(count, 1).reshape(count.shape + (1,) * (values.ndim - count.ndim))
    nest = (
        np.ascontiguousarray(weighted.reshape(-1, values.shape[-1])),
        np.array(values.shape[:-1], dtype=np.int64),
        np.concatenate([np.ravel(count) for count in counts]).astype(np.int64),
        np.array(drawn[:-1]),
    )
    units = np.zeros((number, values.shape[0]))
    with _one_at_a_time:
        _draw(*nest, np.array([*key, *counter], dtype=np.uint64), units)
    return units


@_compiled(parallel=True, boundscheck=False)
def _draw(groups: Floats, sizes: Any, counts: Any, drawn: Any, seed: Any, units: Floats) -> None:
    """Fill in the means of the units, chunk by chunk: an even number of chunks of the same size, however many threads there are."""
    number = units.shape[0]
    chunks = 2 * ((number + 2 * CHUNK - 1) // (2 * CHUNK))
    for chunk in numba.prange(chunks):
        start, stop = chunk * number // chunks, (chunk + 1) * number // chunks
        if stop > start:
            _draw_chunk(groups, sizes, counts, drawn, _state(seed, chunk), units[start:stop])


@_compiled(boundscheck=False)
def _draw_chunk(groups: Floats, sizes: Any, counts: Any, drawn: Any, state: Any, units: Floats) -> None:
    """Draw the executions of a chunk of replicates, and add the sums of their redrawn iterations to their units.

    `slots` names the unit that each drawn repetition belongs to. They are sorted by the repetition drawn: those of repetition i lie
    between ends[i] and ends[i + 1].
    """
    number, top = units.shape
    slots, ends = np.arange(0, number * top, top).astype(np.int32), np.array([0, number])
    first, parents = 0, 1
    for level in range(len(sizes)):
        slots, ends = _draw_level(slots, ends, sizes[level], counts[first : first + parents], drawn[level], level == 0, state)
        first, parents = first + parents, parents * sizes[level]
    flat = units.ravel()
    pairs = np.empty(TABLE)
    for group in range(parents):
        if ends[group + 1] > ends[group]:
            _add_sums(flat, slots[ends[group] : ends[group + 1]], groups[group, : counts[first + group]], pairs, state)


@_compiled(boundscheck=False)
def _draw_level(slots: Any, ends: Any, size: int, counts: Any, is_drawn: bool, outermost: bool, state: Any) -> Any:
    """Draw the children of all drawn parents, and return slots and ends for them; the outermost get slots of their own."""
    total = 0
    for parent in range(len(counts)):
        total += (ends[parent + 1] - ends[parent]) * counts[parent]
    names, found = np.empty(total, np.uint32), np.zeros(len(counts) * size + 1, np.int64)
    start = 0
    for parent in range(len(counts)):
        count, many = counts[parent], ends[parent + 1] - ends[parent]
        own = names[start : start + many * count]
        if is_drawn:
            _draw_below(own, count, state)
        else:
            for place in range(len(own)):
                own[place] = place % count
        base = np.uint32(parent * size)
        for place in range(len(own)):
            own[place] += base
        for name in own:
            found[np.uint64(name) + np.uint64(1)] += 1
        start += len(own)
    for name in range(1, len(found)):
        found[name] += found[name - 1]
    following, ordered = found.copy(), np.empty(total, np.int32)
    drawn = np.uint64(0)
    for parent in range(len(counts)):
        for slot in slots[ends[parent] : ends[parent + 1]]:
            for child in range(counts[parent]):
                name = names[drawn]
                drawn += np.uint64(1)
                ordered[np.uint64(following[name])] = slot + child if outermost else slot
                following[name] += 1
    return ordered, found


@_compiled(boundscheck=False)
def _add_sums(units: Any, slots: Any, values: Floats, pairs: Floats, state: Any) -> None:
    """Add to each unit named the sum of as many values as there are, drawn with replacement: pairs at a time where there is a table."""
    size = len(values)
    if size * size > TABLE:
        many = np.empty(size, np.uint32)
        for slot in slots:
            _draw_below(many, size, state)
            for pick in many:
                units[slot] += values[pick]
        return
    if size % 2:
        single = np.empty(len(slots), np.uint32)
        _draw_below(single, size, state)
        for place in range(len(slots)):
            units[slots[place]] += values[single[place]]
    if size > 1:
        entry = np.uint64(0)
        for first in values:
            for second in values:
                pairs[entry] = first + second
                entry += np.uint64(1)
        _add_pairs(units, slots, pairs, size, state)


@_compiled(boundscheck=False)
def _add_pairs(units: Any, slots: Any, pairs: Floats, size: int, state: Any) -> None:
    """Add to each unit named size // 2 pair sums drawn from their table: four from a word of random bits, all anew if one is refused.

    The generator's state lies in local variables, four sums grow side by side, all four quarters of a word are compared at once, and the
    division is a multiplication (exact for 16 bits), which is what makes this loop fast.
    """
    times = QUARTER // np.uint64(size * size)
    beyond = (QUARTER - times * np.uint64(size * size)) * ONES
    inverse = (QUARTER * QUARTER - np.uint64(1)) // times + np.uint64(1)
    words, rest = size // 2 // 4, size // 2 % 4
    a, b, c, d = state[0], state[1], state[2], state[3]
    for slot in slots:
        one = two = three = four = 0.0
        left = words
        while left:
            word = _mix(a, d)
            a, b, c, d = _step(a, b, c, d)
            # A quarter is refused if its highest bit is set, and stays set in the rest of it plus what lies beyond the last multiple.
            if ((word & REST) + beyond) & word & HIGHEST:
                continue
            one += pairs[_quarter(word, 0, inverse)]
            two += pairs[_quarter(word, 16, inverse)]
            three += pairs[_quarter(word, 32, inverse)]
            four += pairs[_quarter(word, 48, inverse)]
            left -= 1
        left = rest
        while left:
            word = _mix(a, d)
            a, b, c, d = _step(a, b, c, d)
            if ((word & REST) + beyond) & word & HIGHEST:
                continue
            one += pairs[_quarter(word, 0, inverse)]
            if rest > 1:
                two += pairs[_quarter(word, 16, inverse)]
            if rest > 2:
                three += pairs[_quarter(word, 32, inverse)]
            left = 0
        units[slot] += (one + two) + (three + four)
    state[0], state[1], state[2], state[3] = a, b, c, d


@_compiled(inline="always")
def _quarter(word: Any, shift: int, inverse: Any) -> Any:
    """Return 16 of 64 random bits, divided by the number whose inverse (times 2^32, rounded up) is given."""
    return (((word >> np.uint64(shift)) & np.uint64(0xFFFF)) * inverse) >> np.uint64(32)


@_compiled(boundscheck=False)
def _draw_below(found: Any, size: int, state: Any) -> None:
    """Fill an array with whole numbers below `size`: two from a word of random bits, both anew if one is refused."""
    choices, half, low = np.uint64(size), np.uint64(32), np.uint64(0xFFFFFFFF)
    least = (low + np.uint64(1)) % choices
    a, b, c, d = state[0], state[1], state[2], state[3]
    place = 0
    while place < len(found):
        word = _mix(a, d)
        a, b, c, d = _step(a, b, c, d)
        one, other = (word >> half) * choices, (word & low) * choices
        if (one & low) < least or (other & low) < least:
            continue
        found[place] = one >> half
        if place + 1 < len(found):
            found[place + 1] = other >> half
        place += 2
    state[0], state[1], state[2], state[3] = a, b, c, d


@_compiled(inline="always")
def _mix(a: Any, d: Any) -> Any:
    """Return the random bits of a state of xoshiro256++."""
    return _rotated(a + d, np.uint64(23), np.uint64(41)) + a


@_compiled(inline="always")
def _step(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the state that follows."""
    moved = c ^ a
    turned = d ^ b
    return a ^ turned, b ^ moved, moved ^ (b << np.uint64(17)), _rotated(turned, np.uint64(45), np.uint64(19))


@_compiled(inline="always")
def _rotated(word: Any, left: Any, right: Any) -> Any:
    """Rotate 64 bits to the left."""
    return (word << left) | (word >> right)


@_compiled()
def _state(seed: npt.NDArray[np.uint64], chunk: int) -> npt.NDArray[np.uint64]:
    """Return the state a chunk begins with: key, place and chunk mixed by SplitMix64."""
    state = np.empty(4, np.uint64)
    mixed = _mixed(np.uint64(chunk))
    for part in seed:
        mixed = _mixed(mixed ^ part)
    for place in range(4):
        mixed = _mixed(mixed)
        state[place] = mixed
    return state


@_compiled()
def _mixed(word: Any) -> Any:
    """Return the next number of SplitMix64."""
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
