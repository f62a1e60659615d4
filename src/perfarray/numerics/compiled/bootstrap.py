"""The bootstrap kernel, compiled: unit means of complete nests whose lowest level is redrawn.

Random numbers are xoshiro256++ (Blackman and Vigna 2021), one stream for every `CHUNK` replicates, its state made from the key and the
place of the cell by SplitMix64: threads take chunks in any order and find the same numbers. An index is the high half of a 32-bit number
times the size of the table, so that the probabilities of its entries differ by less than 4e-6 of themselves.
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

from perfarray.numerics.levels import Floats

F = TypeVar("F", bound=Callable[..., Any])

CHUNK = 128
"""Replicates drawn together from one stream; their executions are sorted, so that each table is made once."""

TABLE = 1 << 14
"""Most entries of a table of pair sums."""

_one_at_a_time = Lock()
"""The threads of one call share the work; calls from several threads take turns, since not every threading layer allows more."""


def _compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function, and keep it for the next process."""
    decorate: Callable[[F], F] = numba.njit(cache=True, **options)
    return decorate


def draw_units_compiled(values: Floats, drawn: Sequence[bool], number: int, key: Sequence[int], counter: Sequence[int]) -> Floats:
    """Draw a block of replicates and return the means of the outermost units drawn in each.

    Parameters
    ----------
    values : array, shape (n_L, ..., n_1)
        Measurements, complete, of at least two levels.
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
    sizes = np.array(values.shape[:-1], dtype=np.int64)
    groups = np.ascontiguousarray(values.reshape(-1, values.shape[-1]))
    seed = np.array([*key, *counter], dtype=np.uint64)
    units = np.zeros((number, values.shape[0]))
    with _one_at_a_time:
        _draw(groups, sizes, np.array(drawn[:-1]), seed, units)
    units *= values.shape[0] / groups.size
    return units


@_compiled(parallel=True, boundscheck=False)
def _draw(groups: Floats, sizes: Any, drawn: Any, seed: Any, units: Floats) -> None:
    """Fill in the sums of the units, chunk by chunk."""
    number = units.shape[0]
    for chunk in numba.prange((number + CHUNK - 1) // CHUNK):
        start = chunk * CHUNK
        _draw_chunk(groups, sizes, drawn, _state(seed, chunk), units[start : min(start + CHUNK, number)])


@_compiled(boundscheck=False)
def _draw_chunk(groups: Floats, sizes: Any, drawn: Any, state: Any, units: Floats) -> None:
    """Draw the executions of a chunk of replicates, sort them, and add the sums of their redrawn iterations to their units."""
    count, size = groups.shape
    number, top = units.shape
    inner = count // top
    total = number * count
    names, ends, slots = np.empty(total, np.int32), np.zeros(count + 1, np.int64), np.empty(total, np.int32)
    for replicate in range(number):
        _draw_names(names[replicate * count : (replicate + 1) * count], sizes, drawn, state)
    for name in names:
        ends[name + 1] += 1
    for group in range(count):
        ends[group + 1] += ends[group]
    following = ends[:-1].copy()
    for unit in range(number * top):
        for place in range(unit * inner, (unit + 1) * inner):
            slots[following[names[place]]] = unit
            following[names[place]] += 1
    flat = units.ravel()
    pairs = np.empty(size * size if size * size <= TABLE else 0)
    for group in range(count):
        if ends[group + 1] > ends[group]:
            if len(pairs):
                _fill_pairs(groups[group], pairs)
            _add_sums(flat, slots[ends[group] : ends[group + 1]], groups[group], pairs, state)


@_compiled(boundscheck=False)
def _fill_pairs(values: Floats, pairs: Floats) -> None:
    """Make the table of sums of two values."""
    size = len(values)
    for first in range(size):
        for second in range(size):
            pairs[first * size + second] = values[first] + values[second]


@_compiled(boundscheck=False)
def _draw_names(names: Any, sizes: Any, drawn: Any, state: Any) -> None:
    """Draw which execution stands at each place of one replicate, level by level from the outside in."""
    names[0] = 0
    filled = 1
    a, b, c, d = state[0], state[1], state[2], state[3]
    for level in range(len(sizes)):
        size = sizes[level]
        # From the last parent to the first, so that children do not overwrite parents still to come.
        for parent in range(filled - 1, -1, -1):
            base = names[parent] * size
            for child in range(size - 1, -1, -1):
                picked: Any = child
                if drawn[level]:
                    picked = np.int64(((_mix(a, d) >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32))
                    a, b, c, d = _step(a, b, c, d)
                names[parent * size + child] = base + picked
        filled *= size
    state[0], state[1], state[2], state[3] = a, b, c, d


@_compiled(boundscheck=False)
def _add_sums(units: Any, slots: Any, values: Floats, pairs: Floats, state: Any) -> None:
    """Add to each unit named the sum of as many values as there are, drawn with replacement: pairs at a time where there is a table.

    The generator's state lies in local variables, which is what makes this loop fast.
    """
    table = pairs if len(pairs) else values
    draws = len(values) // 2 if len(pairs) else len(values)
    odd = len(pairs) > 0 and len(values) % 2 == 1
    length = np.uint64(len(table))
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b, c, d = state[0], state[1], state[2], state[3]
    for slot in slots:
        first = second = 0.0
        for _ in range(draws // 2):
            word = _mix(a, d)
            a, b, c, d = _step(a, b, c, d)
            first += table[((word >> half) * length) >> half]
            second += table[((word & low) * length) >> half]
        if draws % 2:
            second += table[((_mix(a, d) >> half) * length) >> half]
            a, b, c, d = _step(a, b, c, d)
        if odd:
            first += values[((_mix(a, d) >> half) * np.uint64(len(values))) >> half]
            a, b, c, d = _step(a, b, c, d)
        units[slot] += first + second
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
