"""The randomization test of two suites: whole units change hands, and the ratio of the scores is computed again.

Irving et al. (2018), section 3. Where benchmarks share no units, the exchanges of one benchmark have few outcomes (252 for 5 runs a
side): they are tabulated once, and an experiment is one entry of every benchmark's table.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.random import EXCHANGES, LOWER_HALF, Streams
from perfarray.numerics.suite import Sides, run_statistic, transform
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.with_replacement import add_one_of_each
from perfarray.suites.numerics.exchanges import Block, Exchange, blocks_of, enumerated, number_of_outcomes, of_suites, sorted_suites

TABLE = 1 << 14
"""Most outcomes that are tabulated for the sake of speed; beyond it units are permuted anew each time."""

BLOCK, KEPT = 1 << 16, 1 << 18
"""Units that are looked at together, and exchanges or entries of tables: what bounds the memory. They change no number."""

AVERAGES = ("mean", "geometric")
"""Statistics that are made of an average of the units, or of their logs."""

TIES = 1e-10
"""Ratios that differ by less than this relative amount are equal: sums of the same numbers in another order."""


class Tally(NamedTuple):
    """Of suites: the ratios observed; how many exchanges gave one as large, as small; how many were counted, and how many there are."""

    statistic: Floats
    at_least: Integers
    at_most: Integers
    number: int
    possible: Any  # whole numbers of any size


def randomize(
    sides: Sides, cells: Integers, how: Exchange, draws: Draws | None, room: Floats | None = None
) -> Iterator[tuple[Integers, Tally]]:
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

    Yields
    ------
    array of int, Tally
        Which suites: all but those without data, some at a time.

    Raises
    ------
    ValueError
        When there are more than `MOST` exchanges to enumerate.
    """
    rows = np.flatnonzero(sides.matched.any(axis=-1))
    streams = Streams((0, 0)) if draws is None else Streams(draws.key)
    for equal_rows, number in enumerated(sides, rows, how) if draws is None else [(sorted_suites(sides, rows), draws.n_resamples)]:
        for first in range(0, len(equal_rows), size := max(1, KEPT // number)):
            block_rows = equal_rows[first : first + size]
            blocks = blocks_of(of_suites(sides, block_rows), how)
            sums, weights = _observed(blocks, len(block_rows), how)
            exchanges = _every_exchange(blocks, how) if draws is None else _drawn_exchanges(blocks, how, number, streams, cells[block_rows])
            logs = (_log_ratio(exchanged, weights, how) for exchanged in exchanges)
            tally = _tally(_log_ratio(sums, weights, how), logs, number_of_outcomes(blocks, len(block_rows), how.paired), block_rows, room)
            yield block_rows, tally


def _observed(blocks: list[Block], suites: int, how: Exchange) -> tuple[Floats, Floats]:
    """Return the sums over the benchmarks of both sides (2, suites, 1), and those of the weights (suites, 1)."""
    sums, weights = np.zeros((2, suites, 1)), np.zeros((suites, 1))
    for block in blocks:
        for total, side in zip(sums, block[:2], strict=True):
            total[block.suites, 0] += (block.weights * _scores(side, how)).sum(axis=-1)
        weights[block.suites, 0] += block.weights.sum(axis=-1)
    return sums, weights


def _scores(units: Floats, how: Exchange) -> Floats:
    """Return the transformed statistic of units along the last axis."""
    return _of_averages(units.mean(axis=-1) if how.statistic == "geometric" else run_statistic(units, how.statistic), how)


def _of_averages(average: Floats, how: Exchange) -> Floats:
    """Return the transformed statistic, of a geometric one from the average of the logs."""
    if how.statistic != "geometric":
        return transform(average, how.mean)
    return average if how.mean == "geometric" else transform(np.exp(average), how.mean)


def _log_ratio(sums: Floats, weights: Floats, how: Exchange) -> Floats:
    """Return the log of the ratio of the two means from sums over the benchmarks, or of geometric ones from the difference of sums."""
    if how.mean == "geometric":
        return np.asarray((sums[0] - sums[1] if len(sums) > 1 else sums[0]) / weights)
    sign = 1.0 if how.mean == "arithmetic" else -1.0
    return np.asarray(sign * np.log(sums[0] / sums[1]))


def _tally(observed: Floats, logs: Iterator[Floats], possible: Any, rows: Integers, room: Floats | None) -> Tally:
    """Count the exchanges whose ratio is as large as the observed one, and as small; keep the ratios, where they are wanted."""
    counts, number = np.zeros((2, len(rows)), dtype=np.intp), 0
    for exchanged in logs:
        if room is not None:
            room[rows, number : number + exchanged.shape[-1]] = np.exp(exchanged)
        counts[0] += np.count_nonzero(exchanged >= observed - TIES, axis=-1)
        counts[1] += np.count_nonzero(exchanged <= observed + TIES, axis=-1)
        number += exchanged.shape[-1]
    return Tally(np.exp(observed[:, 0]), counts[0], counts[1], number, possible)


@lru_cache(maxsize=16)
def _subsets(n: int, m: int) -> Mask:
    """Return, for every way to choose n of n + m units, which are chosen: (outcomes, n + m)."""
    positions = np.fromiter(chain.from_iterable(combinations(range(n + m), n)), dtype=np.intp).reshape(-1, n)
    chosen = np.zeros((len(positions), n + m), dtype=bool)
    np.put_along_axis(chosen, positions, True, axis=1)
    return chosen


@lru_cache(maxsize=16)
def _swaps(n: int) -> Mask:
    """Return, for every way to swap within n pairs, which of the n + n units are then the candidate's: (outcomes, n + n)."""
    swapped = (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1
    return np.concatenate([~swapped, swapped], axis=1)


def _table(block: Block, how: Exchange) -> Floats:
    """Return what both sides score after every exchange, (2, suites, benchmarks, outcomes), summed if benchmarks go together."""
    pool = np.concatenate([block.new, block.old], axis=-1)
    suites, benchmarks, units = pool.shape
    chosen = _swaps(block.new.shape[-1]) if how.paired else _subsets(block.new.shape[-1], block.old.shape[-1])
    table = np.empty((2, suites, 1 if block.together else benchmarks, len(chosen)))
    step = max(1, BLOCK // (benchmarks * units))
    # A part of the exchanges at a time bounds the memory.
    for start in range(0, len(chosen), step):
        block_of_outcomes = slice(start, start + step)
        for side, members in zip(table, (chosen[block_of_outcomes], ~chosen[block_of_outcomes]), strict=True):
            scores = block.weights[..., None] * _exchanged(pool, members, how)
            side[..., block_of_outcomes] = scores.sum(axis=1, keepdims=True) if block.together else scores
    return table


def _exchanged(pool: Floats, chosen: Mask, how: Exchange) -> Floats:
    """Return the scores of chosen units (outcomes, units) of every benchmark (suites, benchmarks, outcomes)."""
    if not how.of_averages:
        return _scores(pool[..., np.nonzero(chosen)[1].reshape(len(chosen), -1)], how)
    return _of_averages(pool @ chosen.T / chosen[0].sum(), how)


def _every_exchange(blocks: list[Block], how: Exchange) -> Iterator[Floats]:
    """Yield the sums of every exchange of the units of all blocks, (2, suites, exchanges)."""
    sums = np.zeros((2, len(blocks[0].suites), 1))
    for block in blocks:
        for more in np.moveaxis(_table(block, how), 2, 0):
            sums = (sums[..., None] + more[..., None, :]).reshape(*sums.shape[:2], -1)
    yield sums


def _drawn_exchanges(blocks: list[Block], how: Exchange, number: int, streams: Streams, cells: Integers) -> Iterator[Floats]:
    """Yield the sums of exchanges drawn at random, or their differences (2 or 1, suites, exchanges), some at a time."""
    size = max(1, KEPT // len(cells))
    for start in range(0, number, size):
        window = slice(start, min(start + size, number))
        sums = np.zeros((1 if how.mean == "geometric" else 2, len(cells), window.stop - window.start))
        for block in blocks:
            tabulated = block.outcomes(how.paired) <= TABLE
            add = _add_entries if tabulated else _add_permuted
            n_values = max(window.stop - window.start, block.outcomes(how.paired)) * block.new.shape[1]
            for subset in block.in_parts(KEPT // n_values if tabulated else _size(block) // (window.stop - window.start)):
                add(sums, subset, how, streams, cells[subset.suites], window)
        yield sums


def _difference(scores: Floats, how: Exchange) -> Floats:
    """Return the difference (1, ...) of the scores of both sides where that is all the geometric mean needs, else the two (2, ...)."""
    return scores[:1] - scores[1:] if how.mean == "geometric" else scores


def _add_entries(sums: Floats, block: Block, how: Exchange, streams: Streams, cells: Integers, window: slice) -> None:
    """Add one entry of every benchmark's table to every experiment, the same entry for both sides."""
    table, total = _difference(_table(block, how), how), sums[:, block.rows]
    add_one_of_each(total, table.swapaxes(1, 2), cells, EXCHANGES | block.position, streams, window.start)
    if not np.may_share_memory(total, sums):
        sums[:, block.rows] = total


def _add_permuted(sums: Floats, block: Block, how: Exchange, streams: Streams, cells: Integers, window: slice) -> None:
    """Add the scores of exchanges that are too many to tabulate: units change hands anew in every experiment."""
    step = max(1, _size(block) // len(block.suites))
    for start in range(window.start, window.stop, step):
        block_window = slice(start, min(start + step, window.stop))
        sums[:, block.rows, block_window.start - window.start : block_window.stop - window.start] += _permuted(
            block, how, streams, cells, block_window
        )


def _size(block: Block) -> int:
    """Return of how many experiments and suites units are permuted together."""
    return BLOCK // int(block.new[0].size + block.old[0].size)


def _permuted(block: Block, how: Exchange, streams: Streams, cells: Integers, window: slice) -> Floats:
    """Return the sums over the benchmarks of some experiments (2 or 1, suites, experiments)."""
    pool = np.concatenate([block.new, block.old], axis=-1)
    chosen = _swapped(block, streams, cells, window) if how.paired else _smallest(block, streams, cells, window)
    scores = _chosen_scores(pool, chosen, how)
    return _difference((block.weights[:, None] * scores).sum(axis=-1), how)


def _swapped(block: Block, streams: Streams, cells: Integers, window: slice) -> Mask:
    """Return which units are the candidate's (suites, experiments, benchmarks or 1, units) when pairs are swapped at random."""
    _, benchmarks, n = block.new.shape
    n_streams, rows = 1 if block.together else benchmarks, window.stop - window.start
    numbers = streams.below(2, cells, EXCHANGES | block.position, rows * n_streams * n, window.start * n_streams * n)
    swapped = numbers.reshape(len(cells), rows, n_streams, n) == 1
    return np.concatenate([~swapped, swapped], axis=-1)


def _smallest(block: Block, streams: Streams, cells: Integers, window: slice) -> Mask:
    """Return the same when all units change hands: the candidate's are those with the smallest words of 64 bits, no two of them equal."""
    benchmarks, n = block.new.shape[1:]
    n_streams, units = 1 if block.together else benchmarks, n + block.old.shape[-1]
    width, rows = n_streams * units, window.stop - window.start
    words = streams.words(cells, EXCHANGES | block.position, rows * width, window.start * width).reshape(len(cells), rows, n_streams, units)
    # The upper halves are sorted faster, and tell nearly always which words are the smallest.
    halves = np.ascontiguousarray(words.view(np.uint32)[..., 1 - LOWER_HALF :: 2])
    chosen = halves <= np.sort(halves, axis=-1)[..., n - 1 : n]
    if np.count_nonzero(chosen) > n * (chosen.size // units):
        chosen = words <= np.sort(words, axis=-1)[..., n - 1 : n]
    return chosen


def _chosen_scores(pool: Floats, chosen: Mask, how: Exchange) -> Floats:
    """Return the scores of the units chosen (suites, experiments, benchmarks or 1, units) and of the others, (2, ..., benchmarks)."""
    shape = (*chosen.shape[:2], *pool.shape[1:])
    if how.statistic not in AVERAGES:
        units, candidate = np.broadcast_to(pool[:, None], shape), np.broadcast_to(chosen, shape)
        return np.stack([_scores(units[side].reshape(*shape[:3], -1), how) for side in (candidate, ~candidate)])
    number, masks, sums = int(chosen[0, 0, 0].sum()), chosen.astype(float), np.empty((2, *shape[:3]))
    np.einsum("sebu,sbu->seb", masks, pool, out=sums[0])
    np.einsum("sebu,sbu->seb", np.subtract(1.0, masks, out=masks), pool, out=sums[1])
    return _of_averages(sums / np.reshape([number, shape[-1] - number], (2, 1, 1, 1)), how)


def pvalue(tally: Tally, alternative: str, plus_one: bool) -> Floats:
    """Return the share of exchanges with a ratio as large (`greater`), as small (`less`), or twice the smaller share, at most 1.

    `plus_one` counts the observed data among the experiments: (b + 1) / (M + 1), never zero.
    """
    less, greater = ((count + plus_one) / (tally.number + plus_one) for count in (tally.at_most, tally.at_least))
    if alternative == "less":
        return less
    return greater if alternative == "greater" else np.asarray(np.minimum(1.0, 2 * np.minimum(less, greater)))


def smallest_pvalue(tally: Tally, alternative: str, plus_one: bool) -> Floats:
    """Return the p-value of a ratio that no other exchange reaches: no smaller one can be had from so many exchanges."""
    number = np.minimum(np.asarray(tally.possible, dtype=object), tally.number + plus_one)
    share = 1 / np.asarray(number, dtype=float)
    return np.asarray(np.minimum(1.0, 2 * share) if alternative == "two-sided" else share)


def randomization(
    sides: Sides, cells: Integers, how: Exchange, alternative: str, draws: Draws | None, plus_one: bool, *, length: int | None = None
) -> tuple[Floats, ...]:
    """Return the observed ratio, the p-value, the smallest p-value possible and the exchanges counted of every suite (suites,).

    With a length the ratios of the exchanges, too, (suites, length), NaN behind the last.
    """
    fields = np.full((4, len(cells)), np.nan)
    room = None if length is None else np.full((len(cells), length), np.nan)
    added = plus_one and draws is not None
    for rows, tally in randomize(sides, cells, how, draws, room):
        fields[0, rows], fields[1, rows] = tally.statistic, pvalue(tally, alternative, added)
        fields[2, rows], fields[3, rows] = smallest_pvalue(tally, alternative, added), tally.number
    return (*fields,) if room is None else (*fields, room)
