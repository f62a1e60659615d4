"""The randomization test of two suites: whole units change hands, and the ratio of the scores is computed again.

Irving et al. (2018), section 3. Where benchmarks share no units, the exchanges of one benchmark have few outcomes (252 for 5 runs a
side): they are tabulated once, and an experiment is one entry of every benchmark's table.
"""

from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import chain, combinations
from math import comb, prod
from typing import NamedTuple

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.random import EXCHANGES, Streams
from perfarray.numerics.suite import Sides, run_statistic, transform
from perfarray.numerics.types import Floats, Integers, Mask

TABLE = 1 << 14
"""Most outcomes that are tabulated for the sake of speed; beyond it units are permuted anew each time."""

MOST = 1_000_000
"""Most exchanges that `exact` enumerates."""

BLOCK = 1 << 17
"""Units or table entries that are looked at together: what bounds the memory. It changes no number."""

TIES = 1e-10
"""Ratios that differ by less than this relative amount are equal: sums of the same numbers in another order."""


class Exchange(NamedTuple):
    """What is exchanged and what is computed."""

    mean: str
    statistic: str
    shared: bool
    paired: bool
    weights: Floats | None = None  # (benchmarks,), none zero; None is one each


class Block(NamedTuple):
    """Benchmarks with as many units: candidate and baseline (benchmarks, units), nothing missing; logs for a geometric statistic."""

    new: Floats
    old: Floats
    together: bool  # whether the benchmarks' units change hands together
    weights: Floats  # (benchmarks, 1)

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
    weights = (np.ones(len(matched)) if how.weights is None else how.weights)[:, None]
    has = [~np.isnan(side) for side in (new, old)]
    if how.shared:
        rows = np.flatnonzero(matched)
        sides = [side[np.ix_(rows, own[rows].all(axis=0))] for side, own in zip((new, old), has, strict=True)]
        return [Block(sides[0], sides[1], True, weights[rows])] if rows.size else []
    counts = np.stack([own.sum(axis=-1) for own in has], axis=-1)
    found = []
    for kind in sorted(set(map(tuple, counts[matched].tolist()))):
        rows = np.flatnonzero(matched & (counts == kind).all(axis=-1))
        sides = [side[rows][own[rows]].reshape(len(rows), -1) for side, own in zip((new, old), has, strict=True)]
        found.append(Block(sides[0], sides[1], False, weights[rows]))
    return found


def number_of_outcomes(blocks: list[Block], paired: bool) -> int:
    """Return in how many ways all units can be exchanged: the product over what is exchanged by itself."""
    return prod(block.outcomes(paired) ** (1 if block.together else len(block.new)) for block in blocks)


def most_outcomes(benchmarks: int, units: tuple[int, int], how: Exchange) -> int:
    """Return in how many ways so many units a side can be exchanged, if that many are measured in every benchmark; at most `MOST`."""
    new, old = units
    own: int = 2 ** min(units) if how.paired else comb(new + old, new)
    every: int = own ** (1 if how.shared else benchmarks)
    return min(MOST, every)


def randomize(sides: Sides, cells: Integers, how: Exchange, draws: Draws | None, kept: Floats | None = None) -> list[Tally | None]:
    """Exchange the units of every suite (suites, benchmarks, units): at random, or in every way where `draws` is None.

    Parameters
    ----------
    sides : Sides
        Units of both systems.
    cells : array of uint64, shape (suites,)
        The key of every suite: what its random numbers hang on.
    how : Exchange
        What is exchanged and computed.
    draws : Draws, optional
        How many experiments, from which key.
    kept : array, shape (suites, exchanges), optional
        Takes the ratio of every exchange, in their order; what is left over stays as it is.

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
    draw = None if draws is None else partial(_drawn_exchanges, number=draws.n_resamples, streams=Streams(draws.key))
    # Every suite has exchanges and random numbers of its own: a loop over suites.
    rows = [None] * len(cells) if kept is None else kept
    for new, old, matched, cell, row in zip(sides.new, sides.old, sides.matched, cells.tolist(), rows, strict=True):
        blocks = blocks_of(new, old, matched, how)
        if not blocks:
            found.append(None)
            continue
        sums = [
            np.asarray(sum((block.weights[:, 0] * _scores(side, how)).sum() for block, side in zip(blocks, part, strict=True)))
            for part in zip(*(block[:2] for block in blocks), strict=True)
        ]
        observed = _log_ratio(sums[0], sums[1], blocks, how)
        logs = draw(blocks, how, cell=cell) if draw else _every_exchange(blocks, how)
        found.append(_tally(float(observed), logs, number_of_outcomes(blocks, how.paired), row))
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
        return np.asarray((new - old) / sum(block.weights.sum() for block in blocks))
    sign = 1.0 if how.mean == "arithmetic" else -1.0
    return np.asarray(sign * np.log(new / old))


def _tally(observed: float, logs: Iterator[Floats], possible: int, kept: Floats | None) -> Tally:
    """Count the exchanges whose ratio is as large as the observed one, and as small; keep the ratios, where they are wanted."""
    at_least = at_most = number = 0
    for part in logs:
        if kept is not None:
            np.exp(part, out=kept[number : number + part.size])
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
            scores = block.weights * _exchanged(pool, own, how)
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


def _drawn_exchanges(blocks: list[Block], how: Exchange, number: int, streams: Streams, cell: int) -> Iterator[Floats]:
    """Yield the log ratios of exchanges drawn at random, some at a time."""
    tables = [_difference(_table(block, how), how) if block.outcomes(how.paired) <= TABLE else None for block in blocks]
    # An experiment keeps one entry of each table at once, or all units that are permuted.
    kept = [len(block.new) if table is not None else block.new.size + block.old.size for block, table in zip(blocks, tables, strict=True)]
    size = max(1, BLOCK // sum(kept))
    for start in range(0, number, size):
        part = slice(start, min(start + size, number))
        sums = np.zeros((1 if how.mean == "geometric" else 2, part.stop - part.start))
        for place, (block, table) in enumerate(zip(blocks, tables, strict=True)):
            if table is None:
                sums += _permuted(block, how, streams, cell, EXCHANGES | place, part)
            else:
                _add_entries(sums, table, streams, cell, EXCHANGES | place, part)
        yield _log_ratio(sums[0], sums[1] if len(sums) > 1 else np.zeros(1), blocks, how)


def _picks(size: int, width: int, streams: Streams, cell: int, stream: int, part: slice) -> Integers:
    """Return so many whole numbers below a size for every experiment of a part: (width, experiments)."""
    rows = part.stop - part.start
    return np.ascontiguousarray(streams.below(size, [cell], stream, rows * width, part.start * width).reshape(rows, width).T)


def _difference(scores: Floats, how: Exchange) -> Floats:
    """Return the difference (1, ...) of the scores of both sides where that is all the geometric mean needs, else the two (2, ...)."""
    return scores[:1] - scores[1:] if how.mean == "geometric" else scores


def _add_entries(sums: Floats, table: Floats, streams: Streams, cell: int, stream: int, part: slice) -> None:
    """Add one entry of every benchmark's table to every experiment, the same entry for both sides."""
    entries = np.empty(sums.shape[1])
    # A benchmark's table stays in the cache while it serves all experiments.
    for place, index in enumerate(_picks(table.shape[2], table.shape[1], streams, cell, stream, part)):
        for total, side in zip(sums, table, strict=True):
            side[place].take(index, out=entries, mode="clip")
            total += entries


def _permuted(block: Block, how: Exchange, streams: Streams, cell: int, stream: int, part: slice) -> Floats:
    """Return the same for exchanges that are too many to tabulate: units change hands anew in every experiment."""
    benchmarks, n = block.new.shape
    pool = np.concatenate([block.new, block.old], axis=-1)
    own, units = 1 if block.together else benchmarks, pool.shape[1]
    if how.paired:
        swapped = np.moveaxis(_picks(2, own * n, streams, cell, stream, part).reshape(own, n, -1), -1, 0)
        places = np.arange(n) + n * swapped, np.arange(n) + n * (1 - swapped)
    else:
        # The order of random words is a random order; that two of 64 bits are equal does not happen.
        width = own * units
        words = streams.words([cell], stream, (part.stop - part.start) * width, part.start * width)
        order = words.reshape(-1, own, units).argsort(axis=-1)
        places = order[..., :n], order[..., n:]
    rows = len(places[0])
    wanted = [_scores(np.take_along_axis(pool[None], np.broadcast_to(side, (rows, benchmarks, side.shape[-1])), axis=-1), how)
              for side in places]  # fmt: skip
    return _difference(np.stack([(block.weights[:, 0] * side).sum(axis=-1) for side in wanted]), how)


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
    sides: Sides, cells: Integers, how: Exchange, alternative: str, draws: Draws | None, plus_one: bool, *, length: int | None = None
) -> tuple[Floats, ...]:
    """Return the observed ratio, the p-value, the smallest p-value possible and the exchanges counted of every suite (suites,).

    With a length the ratios of the exchanges, too, (suites, length), NaN behind the last.
    """
    found = np.full((4, len(cells)), np.nan)
    kept = None if length is None else np.full((len(cells), length), np.nan)
    added = plus_one and draws is not None
    for column, tally in zip(found.T, randomize(sides, cells, how, draws, kept), strict=True):
        if tally is not None:
            column[:] = tally.statistic, pvalue(tally, alternative, added), smallest_pvalue(tally, alternative, added), tally.number
    return (*found,) if kept is None else (*found, kept)
