"""Random whole numbers, fixed by the cell, the purpose and the position.

The words are those of NumPy's Philox, a generator whose counter can be set: to the position in the
stream, the cell, and the purpose. Setting it and taking some words costs less than 2 us, so that
the words of many cells are gathered one by one, and all that follows is arithmetic on whole arrays.

A number below `size` is the upper half of 32 bits times `size` (Lemire, "Fast random integer
generation in an interval", 2019). The few whose lower half lies below 2^32 mod `size` are drawn
again, from a stream of their own position: every number is exactly as likely as every other, and
its position does not depend on those before it. So the first R replicates of a longer run are those
of a run of R, in blocks of any size.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfarray.numerics.types import Floats, Integers

Words = npt.NDArray[np.uint64]
Key = tuple[int, int]

# Purposes of numbers: one stream never serves two. Smaller numbers added to a purpose tell its
# streams apart.
BOOTSTRAP, EXCHANGES, SCORES, RUNS, UNITS, BENCHMARKS, SAMPLES, EXPERIMENTS, SPLITS = (
    purpose << 40 for purpose in range(9)
)
# The place of the lower half of a word of 64 bits among its two halves.
LOWER_HALF = 0 if sys.byteorder == "little" else 1


class Streams:
    """The random numbers of one call, by cell and stream; all its streams begin with the key."""

    __slots__ = ("_counter", "_philox", "_room", "_state", "key")

    def __init__(self, key: Key) -> None:
        self._philox = np.random.Philox(key=list(key))
        self._state: Any = self._philox.state
        self._counter: Words = self._state["state"]["counter"]
        # What NumPy makes of the key: a list of one number above 2^63 and one below is rounded to
        # 53 bits, in all seeded results so far.
        self.key: Key = tuple(self._state["state"]["key"].tolist())
        self._room: Words = np.empty(0, np.uint64)

    def words(
        self,
        cells: Iterable[int] | Integers,
        stream: int,
        count: int,
        start: int = 0,
        out: Words | None = None,
    ) -> Words:
        """Return `count` words from `start` on of the stream of every key, shape (n, count).

        A stream is a purpose plus a number that tells its streams apart. `out` is room for the
        words, and maybe more.
        """
        keys: list[int] = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
        skipped = start % 4
        counter, philox, state = self._counter, self._philox, self._state
        counter[0], counter[1], counter[3] = start // 4, 0, stream
        if len(keys) == 1 and out is None:
            counter[2] = keys[0]
            philox.state = state
            return np.asarray(philox.random_raw(skipped + count)[None, skipped:])
        rows = (
            np.empty((len(keys), count), np.uint64)
            if out is None
            else out[: len(keys) * count].reshape(-1, count)
        )
        # The one loop over cells: the counter is set, and the words are taken.
        for row, key in zip(rows, keys, strict=True):
            counter[2] = key
            philox.state = state
            row[:] = (
                philox.random_raw(skipped + count)[skipped:]
                if skipped
                else philox.random_raw(count)
            )
        return rows

    def bits(
        self,
        cells: Iterable[int] | Integers,
        stream: int,
        count: int,
        start: int = 0,
        out: Words | None = None,
    ) -> npt.NDArray[np.uint32]:
        """Return the same counted in numbers of 32 bits, shape (n, count)."""
        first = start // 2
        words = self.words(cells, stream, (start + count + 1) // 2 - first, first, out)
        halves: npt.NDArray[np.uint32] = words.astype("<u8", copy=False).view("<u4")
        return halves[:, start % 2 : start % 2 + count]

    def below(
        self,
        sizes: int | Integers,
        cells: Iterable[int] | Integers,
        stream: int,
        count: int,
        start: int = 0,
    ) -> Integers:
        """Return whole numbers below `sizes`, at most 2^32, all equally likely, shape (n, count).

        Sizes are one number, k numbers that repeat until `count`, a multiple of k, or an array of
        shape (n, count).
        """
        keys: Any = (
            cells if isinstance(cells, np.ndarray) else np.array(list(cells), dtype=np.uint64)
        )
        choices: Words = np.asarray(sizes, dtype=np.uint64)
        shape = (len(keys), -1, len(choices)) if choices.ndim == 1 and count else (len(keys), count)
        bits = self.bits(keys, stream, count, start).reshape(shape)
        # Less than one in 2^32 / size may have to be drawn again, mostly none: these are looked at
        # one by one. Lower halves, as products of
        # 32 bits, lie in one piece: their smallest is known sooner than that of every second half.
        lower = (bits * choices.astype(np.uint32)).reshape(len(keys), count)
        products = bits.astype(np.uint64)
        products *= choices
        products = products.reshape(len(keys), count)
        largest = np.uint32(min(int(choices.max(initial=0)), (1 << 32) - 1))
        if lower.min(initial=largest) < largest:
            suspect = lower < largest
            every_size = np.broadcast_to(
                choices,
                (len(keys), count // choices.size, choices.size)
                if choices.ndim == 1
                else suspect.shape,
            )
            for row, column in np.argwhere(suspect).tolist():
                size = int(every_size.reshape(suspect.shape)[row, column])
                products[row, column] = self._accepted(
                    int(products[row, column]), size, keys[row], stream, start + column
                )
        products >>= np.uint64(32)
        return products.view(np.int64)

    def entries(
        self, size: int, tables: int, cells: Integers, stream: int, rows: int, start: int = 0
    ) -> Integers:
        """Return for every row the place of an entry of each table (tables, cells, rows).

        Tables (tables, cells, size) follow each other.

        The numbers are those of `below`, row by row. All tables together have at most 2^32 entries.
        The next call overwrites the result.
        """
        number, count = len(cells), rows * tables
        if len(self._room) < number * (count + count // 2 + 1):
            self._room = np.empty(number * (count + count // 2 + 1), np.uint64)
        halves = self._room[: number * count].view("<u4").reshape(tables, number, rows, 2)
        bits = self.bits(cells, stream, count, start * tables, self._room[number * count :])
        halves[..., 0] = bits.reshape(number, rows, tables).transpose(2, 0, 1)
        # The upper half is the number of the table, so that the product is the place among the
        # entries of all.
        halves[..., 1] = np.arange(tables * number).reshape(tables, number, 1)
        products = halves.view("<u8")[..., 0]
        products *= np.uint64(size)
        flat = halves.reshape(-1)
        # Behind the first table, places are never below `size`, and both halves are looked at
        # together, which is faster.
        if min(flat[: 2 * rows : 2].min(initial=size), flat[2 * rows :].min(initial=size)) < size:
            for table, cell, row in np.argwhere(halves[..., 0] < np.uint32(size)).tolist():
                skipped = (table * number + cell) * size << 32
                product = self._accepted(
                    int(products[table, cell, row]) - skipped,
                    size,
                    cells[cell],
                    stream,
                    (start + row) * tables + table,
                )
                products[table, cell, row] = product + skipped
        products >>= np.uint64(32)
        return products.view("<i8")

    def columns(
        self, sizes: Sequence[int], first: Integers, cells: Integers, stream: int, start: int = 0
    ) -> Iterator[Integers]:
        """Yield for each size a column of the numbers that `below` gives, plus `first`.

        Passes over columns are faster than passes over rows of a few numbers. Each column
        overwrites the one before.
        """
        bits = self.bits(cells, stream, first.shape[1] * len(sizes), start * len(sizes)).reshape(
            *first.shape, len(sizes)
        )
        if len(self._room) < max(first.size, bits.size // 2 + 1):
            self._room = np.empty(max(first.size, bits.size // 2 + 1), np.uint64)
        # Lower halves, as products of 32 bits, lie in one piece: their smallest is known sooner
        # than that of every second half.
        lower = self._room.view(np.uint32)[: bits.size].reshape(bits.shape)
        suspect = any(
            np.multiply(bits, np.uint32(size), out=lower).min(initial=size) < size
            for size in set(sizes)
        )
        products = self._room[: first.size].reshape(first.shape)
        for column, size in enumerate(sizes):
            np.copyto(products, bits[..., column])
            products *= np.uint64(size)
            for cell, row in (
                np.argwhere(products.astype(np.uint32) < size).tolist() if suspect else ()
            ):
                position = (start + row) * len(sizes) + column
                products[cell, row] = self._accepted(
                    int(products[cell, row]), size, cells[cell], stream, position
                )
            products >>= np.uint64(32)
            positions = products.view(np.int64)
            positions += first
            yield positions

    def _accepted(self, product: int, size: int, cell: int, stream: int, position: int) -> int:
        """Return a product, or where its lower half is refused the next that is accepted."""
        refused = (1 << 32) % size
        if product & 0xFFFFFFFF < refused:
            self._counter[:] = 0, position + 1, int(cell), stream
            self._philox.state = self._state
            while product & 0xFFFFFFFF < refused:
                product = (int(self._philox.random_raw()) >> 32) * size
        return product

    def run_below(
        self, size: int, cell: int, stream: int, count: int, start: int
    ) -> tuple[Integers, int]:
        """Return the next whole numbers below `size` of one long stream, and its next position.

        Each is 16 bits divided by how many times `size` fits into them (32 bits where it exceeds
        them); what lies beyond the last multiple is passed over. `start` is 0, or the place
        returned by the call before.
        """
        kind = np.dtype("<u2" if size <= 1 << 16 else "<u4")
        inside, times = 8 // kind.itemsize, (1 << 8 * kind.itemsize) // size
        n_words = int(count * (1 << 8 * kind.itemsize) / (times * size) * 1.01) + 64
        words = self.words([cell], stream, n_words // inside + 2, start // inside)[0]
        bits = words.astype("<u8", copy=False).view(kind)[start % inside :]
        accepted = bits < times * size if times * size < 1 << 8 * kind.itemsize else None
        if accepted is None:
            return bits[:count] // kind.type(times), start + count
        numbers = bits[accepted]
        if len(numbers) < count:  # hardly ever
            tail, stop = self.run_below(size, cell, stream, count - len(numbers), start + len(bits))
            return np.concatenate([numbers // kind.type(times), tail]), stop
        # As many of these were taken as numbers before them were passed over.
        late = np.flatnonzero(accepted[count:])
        n_replacements = len(late) - (len(numbers) - count)
        used = count + (int(late[n_replacements - 1]) + 1 if n_replacements else 0)
        return numbers[:count] // kind.type(times), start + used

    def uniform(
        self, cells: Iterable[int] | Integers, stream: int, count: int, start: int = 0
    ) -> Floats:
        """Return multiples of 2^-53 in [0, 1), each as likely as every other, shape (n, count)."""
        return np.asarray((self.words(cells, stream, count, start) >> np.uint64(11)) * 2.0**-53)

    def generator(self, cell: int, stream: int) -> np.random.Generator:
        """Return a generator at the beginning of a stream, for laws other than whole numbers."""
        return np.random.Generator(
            np.random.Philox(key=list(self.key), counter=[0, 0, int(cell), stream])
        )
