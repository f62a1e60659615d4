"""The randomization test of two suites: whole units change hands, and the ratio of the scores is computed again.

Irving et al. (2018), section 3. Where benchmarks share no units, the exchanges of one benchmark have few outcomes (252 for 5 runs a
side): they are tabulated once, and an experiment is one entry of every benchmark's table.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, combinations
from math import comb, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.bootstrap import BLOCK, Draws, Place, stream
from perfarray.numerics.suite import Sides, run_statistic, transform
from perfarray.numerics.types import Floats, Integers, Mask

TABLE = 1 << 14
"""Most outcomes that are tabulated for the sake of speed; beyond it units are permuted anew each time."""

MOST = 1_000_000
"""Most exchanges that `exact` enumerates."""

TIES = 1e-10
"""Ratios that differ by less than this relative amount are equal: sums of the same numbers in another order."""


class Exchange(NamedTuple):
    """What is exchanged and what is computed."""

    mean: str
    statistic: str
    shared: bool
    paired: bool


class Block(NamedTuple):
    """Benchmarks with as many units: candidate and baseline (benchmarks, units), nothing missing; logs for a geometric statistic."""

    new: Floats
    old: Floats
    together: bool  # whether the benchmarks' units change hands together

    def outcomes(self, paired: bool) -> int:
        """Return in how many ways the units of one benchmark, or of all together, can be exchanged."""
        n, m = self.new.shape[-1], self.old.shape[-1]
        return 2**n if paired else comb(n + m, n)


class Tally(NamedTuple):
    """The observed ratio; how many exchanges gave one as large, as small; how many were counted, and how many there are."""

    statistic: float
    at_least: int
    at_most: int
    number: int
    possible: int


def blocks_of(new: Floats, old: Floats, matched: Mask, how: Exchange) -> list[Block]:
    """Return the matched benchmarks, those with as many units side by side."""
    if how.statistic == "geometric":
        new, old = np.log(new), np.log(old)
    has = [~np.isnan(side) for side in (new, old)]
    if how.shared:
        rows = np.flatnonzero(matched)
        sides = [side[np.ix_(rows, own[rows].all(axis=0))] for side, own in zip((new, old), has, strict=True)]
        return [Block(sides[0], sides[1], True)] if rows.size else []
    counts = np.stack([own.sum(axis=-1) for own in has], axis=-1)
    found = []
    for kind in sorted(set(map(tuple, counts[matched].tolist()))):
        rows = np.flatnonzero(matched & (counts == kind).all(axis=-1))
        sides = [side[rows][own[rows]].reshape(len(rows), -1) for side, own in zip((new, old), has, strict=True)]
        found.append(Block(sides[0], sides[1], False))
    return found


def number_of_outcomes(blocks: list[Block], paired: bool) -> int:
    """Return in how many ways all units can be exchanged: the product over what is exchanged by itself."""
    return prod(block.outcomes(paired) ** (1 if block.together else len(block.new)) for block in blocks)


def randomize(sides: Sides, cells: Integers, how: Exchange, draws: Draws | None) -> list[Tally | None]:
    """Exchange the units of every suite (suites, benchmarks, units): at random, or in every way where `draws` is None.

    Parameters
    ----------
    sides : Sides
        Units of both systems.
    cells : array of int, shape (suites,)
        The number of every suite: what its random numbers hang on.
    how : Exchange
        What is exchanged and computed.
    draws : Draws, optional
        How many experiments, from which key.

    Returns
    -------
    list of Tally
        None for a suite without data.

    Raises
    ------
    ValueError
        When there are more than `MOST` exchanges to enumerate.
    """
    found: list[Tally | None] = []
    # Every suite has exchanges and random numbers of its own: a loop over suites.
    for new, old, matched, cell in zip(sides.new, sides.old, sides.matched, cells.tolist(), strict=True):
        blocks = blocks_of(new, old, matched, how)
        if not blocks:
            found.append(None)
            continue
        sums = [np.asarray(sum(_scores(side, how).sum() for side in part)) for part in zip(*(block[:2] for block in blocks), strict=True)]
        observed = _log_ratio(sums[0], sums[1], blocks, how)
        logs = _every_exchange(blocks, how) if draws is None else _drawn_exchanges(blocks, how, draws, Place(cell))
        found.append(_tally(float(observed), logs, number_of_outcomes(blocks, how.paired)))
    return found


def _scores(units: Floats, how: Exchange) -> Floats:
    """Return the transformed statistic of units along the last axis."""
    if how.statistic == "geometric":
        return _of_logs(units.mean(axis=-1), how)
    return transform(run_statistic(units, how.statistic), how.mean)


def _of_logs(average: Floats, how: Exchange) -> Floats:
    """Return the transformed geometric mean of units whose logs were averaged."""
    return average if how.mean == "geometric" else transform(np.exp(average), how.mean)


def _log_ratio(new: Floats, old: Floats, blocks: list[Block], how: Exchange) -> Floats:
    """Return the log of the ratio of the two means from sums over the benchmarks."""
    if how.mean == "geometric":
        return np.asarray((new - old) / sum(len(block.new) for block in blocks))
    sign = 1.0 if how.mean == "arithmetic" else -1.0
    return np.asarray(sign * np.log(new / old))


def _tally(observed: float, logs: Iterator[Floats], possible: int) -> Tally:
    """Count the exchanges whose ratio is as large as the observed one, and as small."""
    at_least = at_most = number = 0
    for part in logs:
        at_least += int(np.count_nonzero(part >= observed - TIES))
        at_most += int(np.count_nonzero(part <= observed + TIES))
        number += part.size
    return Tally(float(np.exp(observed)), at_least, at_most, number, possible)


@lru_cache(maxsize=16)
def _subsets(n: int, m: int) -> Mask:
    """Return, for every way to choose n of n + m units, which are chosen: (outcomes, n + m)."""
    places = np.fromiter(chain.from_iterable(combinations(range(n + m), n)), dtype=np.intp).reshape(-1, n)
    chosen = np.zeros((len(places), n + m), dtype=bool)
    np.put_along_axis(chosen, places, True, axis=1)
    return chosen


@lru_cache(maxsize=16)
def _swaps(n: int) -> Mask:
    """Return, for every way to swap within n pairs, which of the n + n units are then the candidate's: (outcomes, n + n)."""
    swapped = (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1
    return np.concatenate([~swapped, swapped], axis=1)


def _table(block: Block, how: Exchange) -> Floats:
    """Return what the candidate and the baseline score after every exchange, (2, benchmarks, outcomes), summed if they go together."""
    pool = np.concatenate([block.new, block.old], axis=-1)
    chosen = _swaps(block.new.shape[-1]) if how.paired else _subsets(block.new.shape[-1], block.old.shape[-1])
    found = np.empty((2, 1 if block.together else len(pool), len(chosen)))
    step = max(1, BLOCK // pool.size)
    # A part of the exchanges at a time bounds the memory.
    for start in range(0, len(chosen), step):
        part = slice(start, start + step)
        for side, own in zip(found, (chosen[part], ~chosen[part]), strict=True):
            scores = _exchanged(pool, own, how)
            side[:, part] = scores.sum(axis=0) if block.together else scores
    return found


def _exchanged(pool: Floats, chosen: Mask, how: Exchange) -> Floats:
    """Return the scores of chosen units (outcomes, units) of every benchmark: (benchmarks, outcomes)."""
    if how.statistic not in ("mean", "geometric"):
        return _scores(pool[:, np.nonzero(chosen)[1].reshape(len(chosen), -1)], how)
    average = pool @ chosen.T / chosen[0].sum()
    return _of_logs(average, how) if how.statistic == "geometric" else transform(average, how.mean)


def _every_exchange(blocks: list[Block], how: Exchange) -> Iterator[Floats]:
    """Yield the log ratios of every exchange of the units of all blocks."""
    number = number_of_outcomes(blocks, how.paired)
    if number > MOST:
        raise ValueError(f"method='exact' would enumerate {number:,} exchanges, and at most {MOST:,} are; use method='monte_carlo'")
    new, old = np.zeros(1), np.zeros(1)
    for block in blocks:
        for more, less in zip(*_table(block, how), strict=True):
            new, old = np.add.outer(new, more).ravel(), np.add.outer(old, less).ravel()
    yield _log_ratio(new, old, blocks, how)


def _drawn_exchanges(blocks: list[Block], how: Exchange, draws: Draws, place: Place) -> Iterator[Floats]:
    """Yield the log ratios of exchanges drawn at random, some at a time."""
    tables = [_difference(_table(block, how), how) if block.outcomes(how.paired) <= TABLE else None for block in blocks]
    # An experiment keeps one entry of each table at once, or all units that are permuted.
    kept = [len(block.new) if table is not None else block.new.size + block.old.size for block, table in zip(blocks, tables, strict=True)]
    size = max(1, BLOCK // sum(kept))
    for number, start in enumerate(range(0, draws.n_resamples, size)):
        rng = np.random.Generator(np.random.SFC64(stream(draws, place, 0, number).integers(0, 2**63, 3)))
        rows = min(size, draws.n_resamples - start)
        sums = np.zeros((1 if how.mean == "geometric" else 2, rows))
        for block, table in zip(blocks, tables, strict=True):
            if table is None:
                sums += _permuted(block, how, rng, rows)
            else:
                _add_entries(sums, table, rng)
        yield _log_ratio(sums[0], sums[1] if len(sums) > 1 else np.zeros(1), blocks, how)


def _difference(scores: Floats, how: Exchange) -> Floats:
    """Return the difference (1, ...) of the scores of both sides where that is all the geometric mean needs, else the two (2, ...)."""
    return scores[:1] - scores[1:] if how.mean == "geometric" else scores


def _add_entries(sums: Floats, table: Floats, rng: np.random.Generator) -> None:
    """Add one entry of every benchmark's table to every experiment, the same entry for both sides."""
    entries, index = np.empty(sums.shape[1]), np.empty(sums.shape[1], dtype=np.intp)
    picks = below(table.shape[-1], table.shape[1] * sums.shape[1], rng).reshape(table.shape[1], -1)
    # A benchmark's table stays in the cache while it serves all experiments; `take` is fastest with whole words that need no check.
    for place, pick in enumerate(picks):
        index[:] = pick
        for total, side in zip(sums, table, strict=True):
            side[place].take(index, out=entries, mode="clip")
            total += entries


def below(size: int, number: int, rng: np.random.Generator) -> Integers:
    """Return whole numbers below `size`, each exactly as likely as every other, up to 2^16 faster than `Generator.integers`.

    Each is 8 or 16 of the bits of a 64-bit word, divided by how many times `size` fits into them. A word with a number beyond the last
    multiple is drawn again whole, which leaves the others uniform; 8 bits serve where that happens to less than half of the words.
    """
    if size == 1 or size > 1 << 16:
        return rng.integers(0, size, number)
    kind = np.dtype("<u1" if size <= 256 and (256 // size * size / 256) ** 8 > 0.5 else "<u2")
    times = 256**kind.itemsize // size
    last = times * size - 1

    def draw(count: int) -> npt.NDArray[np.uint64]:
        return np.asarray(rng.bit_generator.random_raw(count)).astype("<u8", copy=False)

    def beyond(words: npt.NDArray[np.uint64]) -> Integers:
        return np.flatnonzero((words.view(kind) > last).view(f"u{8 // kind.itemsize}") != 0)

    words = draw(-(-number * kind.itemsize // 8))
    again = beyond(words)
    while len(again):
        fresh = words[again] = draw(len(again))
        again = again[beyond(fresh)]
    found = words.view(kind)[:number]
    return np.floor_divide(found, times, out=found) if times > 1 else found


def _permuted(block: Block, how: Exchange, rng: np.random.Generator, rows: int) -> Floats:
    """Return the same for exchanges that are too many to tabulate: units are permuted anew in every experiment."""
    benchmarks, n = block.new.shape
    pool = np.concatenate([block.new, block.old], axis=-1)
    own = 1 if block.together else benchmarks
    if how.paired:
        swapped = rng.integers(0, 2, (rows, own, n), dtype=np.uint8).astype(np.intp)
        places = np.arange(n) + n * swapped, np.arange(n) + n * (1 - swapped)
    else:
        order = rng.permuted(np.broadcast_to(np.arange(pool.shape[1]), (rows, own, pool.shape[1])), axis=-1)
        places = order[..., :n], order[..., n:]
    wanted = [_scores(np.take_along_axis(pool[None], np.broadcast_to(part, (rows, benchmarks, part.shape[-1])), axis=-1), how)
              for part in places]  # fmt: skip
    return _difference(np.stack([part.sum(axis=-1) for part in wanted]), how)


def pvalue(tally: Tally, alternative: str, plus_one: bool) -> float:
    """Return the share of exchanges with a ratio as large (`greater`), as small (`less`), or twice the smaller share, at most 1.

    `plus_one` counts the observed data among the experiments: (b + 1) / (M + 1), never zero.
    """
    shares = [(count + plus_one) / (tally.number + plus_one) for count in (tally.at_most, tally.at_least)]
    if alternative == "less":
        return shares[0]
    return shares[1] if alternative == "greater" else min(1.0, 2 * min(shares))


def smallest_pvalue(tally: Tally, alternative: str, plus_one: bool) -> float:
    """Return the p-value of a ratio that no other exchange reaches: no smaller one can be had from so many exchanges."""
    share = 1 / min(tally.possible, tally.number + plus_one)
    return min(1.0, 2 * share) if alternative == "two-sided" else share


def randomization(
    sides: Sides, cells: Integers, how: Exchange, alternative: str, draws: Draws | None, plus_one: bool
) -> tuple[Floats, ...]:
    """Return the observed ratio, the p-value, the smallest p-value possible and the exchanges counted of every suite (suites,)."""
    found = np.full((4, len(cells)), np.nan)
    added = plus_one and draws is not None
    for column, tally in zip(found.T, randomize(sides, cells, how, draws), strict=True):
        if tally is not None:
            column[:] = tally.statistic, pvalue(tally, alternative, added), smallest_pvalue(tally, alternative, added), tally.number
    return tuple(found)
