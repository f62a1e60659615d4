"""Blocks of benchmarks with equal numbers of units, which are exchanged."""

from collections.abc import Iterator
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np

from perfarray.numerics.suite import SuiteSides
from perfarray.numerics.types import Floats, Integers
from perfarray.suites.numerics.redrawn_scores import Score

MOST = 1_000_000  # most exchanges that are enumerated one by one
# most exchanges of one half of the benchmarks, where the exchanges of both are counted by search
HALF = 4_000_000


class Block(NamedTuple):
    """Benchmarks with equal numbers of units: (suites, benchmarks, units), none missing.

    Logs for a geometric statistic.
    """

    new: Floats
    old: Floats
    shared: bool  # whether the units of all benchmarks are exchanged together
    weights: Floats  # (suites, benchmarks)
    suites: Integers  # (suites,)
    position: int  # among the blocks of each suite, which its random numbers depend on

    def outcomes(self, paired: bool) -> int:
        """Return the number of exchanges of the units of one benchmark, or of all together."""
        n, m = self.new.shape[-1], self.old.shape[-1]
        return 2**n if paired else comb(n + m, n)

    @property
    def rows(self) -> Integers | slice:
        """The positions of the suites among all; a slice if they are side by side."""
        first, stop = int(self.suites[0]), int(self.suites[-1]) + 1
        return slice(first, stop) if stop - first == len(self.suites) else self.suites

    def in_parts(self, suites: int) -> Iterator["Block"]:
        """Yield the same of so many suites at a time, of one at least."""
        for first in range(0, len(self.suites), max(1, suites)):
            rows = slice(first, first + max(1, suites))
            yield self._replace(
                new=self.new[rows],
                old=self.old[rows],
                weights=self.weights[rows],
                suites=self.suites[rows],
            )


def blocks_of(sides: SuiteSides, score: Score) -> list[Block]:
    """Return the matched benchmarks of suites in blocks of equal sizes."""
    new, old = (np.log(side) if score.statistic == "geometric" else side for side in sides[:2])
    weights = np.ones(new.shape[1]) if score.weights is None else score.weights
    measured = [~np.isnan(side) for side in (new, old)]
    kinds = _kinds(sides)
    order = np.argsort(kinds, axis=-1, kind="stable")
    ordered = np.take_along_axis(kinds, order, axis=-1)
    begins = (np.diff(ordered, axis=-1, prepend=-1) > 0) & (ordered < _none(sides))
    suites, first = np.nonzero(begins)
    # Behind the last block of a suite stand the benchmarks that are not matched.
    last = np.diff(suites, append=len(new)) > 0
    stop = np.where(last, sides.matched.sum(axis=-1)[suites], np.roll(first, -1))
    descriptions = np.stack([np.cumsum(begins, axis=-1)[begins] - 1, ordered[begins], stop - first])
    unlike, names = np.unique(descriptions, axis=1, return_inverse=True)
    blocks = []
    for (index, _, number), of in zip(unlike.T.tolist(), _positions(names.ravel()), strict=True):
        rows = suites[of]
        at = rows[:, None], order[rows[:, None], first[of][:, None] + np.arange(number)]
        units = [
            side[at][mask[at]].reshape(len(rows), number, -1)
            for side, mask in zip((new, old), measured, strict=True)
        ]
        blocks.append(Block(units[0], units[1], score.shared, weights[at[1]], rows, index))
    return blocks


def number_of_outcomes(blocks: list[Block], suites: int, paired: bool) -> Any:
    """Return the number of exchanges of all units of every suite."""
    outcomes = np.ones(suites, dtype=object)  # of Python's whole numbers, which have no end
    for block in blocks:
        outcomes[block.suites] *= block.outcomes(paired) ** (
            1 if block.shared else block.new.shape[1]
        )
    return outcomes


def most_outcomes(benchmarks: int, units: tuple[int, int], score: Score) -> int:
    """Return the number of exchanges of so many units a side; at most `MOST`."""
    per_benchmark: int = 2 ** min(units) if score.paired else comb(sum(units), units[0])
    return int(min(MOST, per_benchmark ** (1 if score.shared else benchmarks)))


def in_halves(counts: list[int]) -> tuple[list[int], list[int]]:
    """Split the positions of benchmarks into two lists with nearly equal products."""
    halves: tuple[list[int], list[int]] = [], []
    for position in sorted(range(len(counts)), key=counts.__getitem__, reverse=True):
        min(halves, key=lambda half: prod(counts[i] for i in half)).append(position)
    return halves


def enumerated(
    sides: SuiteSides, rows: Integers, score: Score, *, listed: bool
) -> Iterator[tuple[Integers, int]]:
    """Yield suites that have the same blocks, and their numbers of exchanges.

    More than `MOST` ways to be `listed` one by one, or more than `HALF` ways to exchange half of
    the benchmarks, raise ValueError.
    """
    _, names = np.unique(np.sort(_kinds(sides.rows(rows)), axis=-1), axis=0, return_inverse=True)
    for equal_rows in _positions(names.ravel()) if len(rows) else ():
        blocks = blocks_of(sides.rows(rows[equal_rows[:1]]), score)
        (number,) = number_of_outcomes(blocks, 1, score.paired)
        if number > MOST:
            counts = [
                block.outcomes(score.paired)
                for block in blocks
                for _ in range(1 if block.shared else block.new.shape[1])
            ]
            half = max(prod(counts[i] for i in half) for half in in_halves(counts))
            if listed or half > HALF:
                limit_text = (
                    f" and keep {MOST:,} at most"
                    if listed
                    else f", {half:,} of half of the benchmarks, and at most {HALF:,} are possible"
                )
                raise ValueError(
                    f"method='exact' would enumerate {number:,} exchanges{limit_text}; use "
                    "method='monte_carlo'"
                )
        yield rows[equal_rows], number


def sorted_suites(sides: SuiteSides, rows: Integers) -> Integers:
    """Return suites with equal numbers of units side by side."""
    return rows[np.lexsort(np.sort(_kinds(sides.rows(rows)), axis=-1).T[::-1])]


def _kinds(sides: SuiteSides) -> Integers:
    """Return a number for the units that every benchmark has on both sides."""
    n, m = ((~np.isnan(side)).sum(axis=-1) for side in sides[:2])
    return np.where(sides.matched, n * (sides.old.shape[-1] + 1) + m, _none(sides))


def _none(sides: SuiteSides) -> int:
    """Return a number above those of all benchmarks that are matched."""
    return int((sides.new.shape[-1] + 1) * (sides.old.shape[-1] + 1))


def _positions(names: Integers) -> list[Integers]:
    """Return the positions of each of the names 0, 1, ..."""
    return np.split(np.argsort(names, kind="stable"), np.cumsum(np.bincount(names))[:-1])
