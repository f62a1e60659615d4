"""Streams of random whole numbers: for every cell, purpose and position always the same ones, whatever else is drawn, in whatever order.

The words are those of NumPy's Philox, a generator whose counter can be set: to the position in the stream, the cell, and what the numbers
serve. Setting it and taking some words costs less than 2 us, so that the words of many cells are gathered one by one, and all that
follows is arithmetic on whole arrays.

A number below `size` is the upper half of 32 bits times `size` (Lemire, "Fast random integer generation in an interval", 2019). The few
whose lower half lies below 2^32 mod `size` are drawn again, from a stream of their own position: every number is exactly as likely as
every other, and where a number stands in its stream does not depend on those before it. So the first R replicates of a longer run are
those of a run of R, in blocks of any size.
"""

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats, Integers

Words = npt.NDArray[np.uint64]
Key = tuple[int, int]

BOOTSTRAP, EXCHANGES, SCORES, RUNS, UNITS, BENCHMARKS, SAMPLES, EXPERIMENTS, SPLITS = (purpose << 40 for purpose in range(9))
"""What numbers serve: one stream never serves two purposes. Smaller numbers added to a purpose tell streams of one purpose apart."""

LOWER_HALF = 0 if sys.byteorder == "little" else 1
"""Where the lower half of a word of 64 bits stands among its two halves."""


class Streams:
    """The random numbers of one call, by cell and stream.

    Parameters
    ----------
    key : tuple of two int
        What all streams of the call begin with.
    """

    __slots__ = ("_counter", "_philox", "_state", "key")

    def __init__(self, key: Key) -> None:
        self.key = key
        self._philox = np.random.Philox(key=list(key))
        self._state: Any = self._philox.state
        self._counter: Words = self._state["state"]["counter"]

    def words(self, cells: Iterable[int] | Integers, stream: int, count: int, start: int = 0) -> Words:
        """Return words `start` to `start + count` of the stream of every cell.

        Parameters
        ----------
        cells : iterable of int, length n
            The keys of the cells.
        stream : int
            A purpose, and what tells streams of one purpose apart.
        count, start : int
            How many words, and from which on.

        Returns
        -------
        array of uint64, shape (n, count)
        """
        keys: list[int] = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
        skipped = start % 4
        found = np.empty((len(keys), count), np.uint64)
        counter, philox, state = self._counter, self._philox, self._state
        counter[0], counter[1], counter[3] = start // 4, 0, stream
        # The one loop over cells: the counter is set, and the words are taken.
        for row, key in zip(found, keys, strict=True):
            counter[2] = key
            philox.state = state
            row[:] = philox.random_raw(skipped + count)[skipped:] if skipped else philox.random_raw(count)
        return found

    def bits(self, cells: Iterable[int] | Integers, stream: int, count: int, start: int = 0) -> npt.NDArray[np.uint32]:
        """Return the same counted in numbers of 32 bits, shape (n, count)."""
        first = start // 2
        words = self.words(cells, stream, (start + count + 1) // 2 - first, first)
        halves: npt.NDArray[np.uint32] = words.astype("<u8", copy=False).view("<u4")
        return halves[:, start % 2 : start % 2 + count]

    def below(self, sizes: int | Integers, cells: Iterable[int] | Integers, stream: int, count: int, start: int = 0) -> Integers:
        """Return whole numbers below `sizes`, each exactly as likely as every other.

        Parameters
        ----------
        sizes : int or array of int, shape (k,) or (n, count)
            How many numbers there are to choose from, at most 2^32; k of them go round until `count`, a multiple of k.
        cells, stream, count, start :
            As for `words`, counted in whole numbers.

        Returns
        -------
        array of int, shape (n, count)
        """
        keys: Any = cells if isinstance(cells, np.ndarray) else np.array(list(cells), dtype=np.uint64)
        choices: Words = np.asarray(sizes, dtype=np.uint64)
        shape = (len(keys), -1, len(choices)) if choices.ndim == 1 else (len(keys), count)
        found = (self.bits(keys, stream, count, start).reshape(shape if count else -1) * choices).reshape(len(keys), count)
        if found.size:
            self._draw_again(found, choices, keys, stream, start)
        found >>= np.uint64(32)
        return found.view(np.int64)

    def _draw_again(self, found: Words, sizes: Words, cells: Any, stream: int, start: int) -> None:
        """Replace the products whose lower half is refused, each by the first accepted of a stream of its own position."""
        lower = found.view(np.uint32)[:, LOWER_HALF::2]
        counter, philox, state = self._counter, self._philox, self._state
        # Less than one in 2^32 / size may have to be drawn again, mostly none: these are looked at one by one.
        suspect = lower < np.uint32(min(int(sizes.max()), (1 << 32) - 1))
        for row, column in np.argwhere(suspect).tolist() if suspect.any() else ():
            size = int(sizes if sizes.ndim == 0 else sizes[column % len(sizes)] if sizes.ndim == 1 else sizes[row % len(sizes), column])
            product = int(lower[row, column])
            if product >= (1 << 32) % size:
                continue
            counter[:] = 0, start + column + 1, int(cells[row]), stream
            philox.state = state
            while product & 0xFFFFFFFF < (1 << 32) % size:
                product = (int(philox.random_raw()) >> 32) * size
            found[row, column] = product

    def run_below(self, size: int, cell: int, stream: int, count: int, start: int) -> tuple[Integers, int]:
        """Return the next whole numbers below `size` of one long stream, and where it goes on: faster than `below`, one after the other.

        Each is 16 bits divided by how many times `size` fits into them (32 bits where it exceeds them); what lies beyond the last multiple
        is passed over.

        Parameters
        ----------
        size : int
            How many numbers there are to choose from.
        cell, stream : int
            The key of the cell, and the stream.
        count, start : int
            How many numbers, and where the stream is to be begun: 0, or what was returned before.

        Returns
        -------
        array of int, shape (count,)
        int
        """
        kind = np.dtype("<u2" if size <= 1 << 16 else "<u4")
        inside, times = 8 // kind.itemsize, (1 << 8 * kind.itemsize) // size
        most = int(count * (1 << 8 * kind.itemsize) / (times * size) * 1.01) + 64
        words = self.words([cell], stream, most // inside + 2, start // inside)[0]
        bits = words.astype("<u8", copy=False).view(kind)[start % inside :]
        accepted = bits < times * size if times * size < 1 << 8 * kind.itemsize else None
        if accepted is None:
            return bits[:count] // kind.type(times), start + count
        found = bits[accepted]
        if len(found) < count:  # hardly ever
            more, stop = self.run_below(size, cell, stream, count - len(found), start + len(bits))
            return np.concatenate([found // kind.type(times), more]), stop
        late = np.flatnonzero(accepted[count:])  # as many of these were taken as numbers before them were passed over
        instead = len(late) - (len(found) - count)
        taken = count + (int(late[instead - 1]) + 1 if instead else 0)
        return found[:count] // kind.type(times), start + taken

    def uniform(self, cells: Iterable[int] | Integers, stream: int, count: int, start: int = 0) -> Floats:
        """Return multiples of 2^-53 in [0, 1), each as likely as every other, shape (n, count)."""
        return np.asarray((self.words(cells, stream, count, start) >> np.uint64(11)) * 2.0**-53)

    def generator(self, cell: int, stream: int) -> np.random.Generator:
        """Return a generator at the beginning of a stream: for what is drawn from other laws than whole numbers."""
        return np.random.Generator(np.random.Philox(key=list(self.key), counter=[0, 0, int(cell), stream]))
