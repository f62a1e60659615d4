"""The randomization test of two suites: whole units change hands, and the ratio of the scores is computed again.

Irving et al. (2018), section 3. Where benchmarks share no units, the exchanges of one benchmark have few outcomes (252 for 5 runs a
side): they are tabulated once, and an experiment is one entry of every benchmark's table.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain, combinations
from math import comb, prod
from typing import NamedTuple

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.random import EXCHANGES, Streams
from perfarray.numerics.suite import Sides, run_statistic, transform
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.with_replacement import one_of_each

TABLE = 1 << 14
"""Most outcomes that are tabulated for the sake of speed; beyond it units are permuted anew each time."""

MOST = 1_000_000
"""Most exchanges that `exact` enumerates."""

BLOCK, KEPT = 1 << 16, 1 << 18
"""Units that are looked at together, and entries of tables: what bounds the memory. They change no number."""

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
    """Benchmarks with as many units: candidate and baseline (suites, benchmarks, units), none missing; logs for a geometric statistic."""

    new: Floats
    old: Floats
    together: bool  # whether the benchmarks' units change hands together
    weights: Floats  # (benchmarks, 1)

    def outcomes(self, paired: bool) -> int:
        """Return in how many ways the units of one benchmark, or of all together, can be exchanged."""
        n, m = self.new.shape[-1], self.old.shape[-1]
        return 2**n if paired else comb(n + m, n)


class Tally(NamedTuple):
    """Of suites: the ratios observed; how many exchanges gave one as large, as small; how many were counted, and how many there are."""

    statistic: Floats
    at_least: Integers
    at_most: Integers
    number: int
    possible: int


def blocks_of(new: Floats, old: Floats, matched: Mask, how: Exchange) -> list[Block]:
    """Return the matched benchmarks of suites with the same numbers of units (suites, benchmarks, units), alike ones side by side."""
    if how.statistic == "geometric":
        new, old = np.log(new), np.log(old)
    weights = (np.ones(matched.shape[-1]) if how.weights is None else how.weights)[:, None]
    has = [~np.isnan(side) for side in (new, old)]
    counts = np.stack([own[0].sum(axis=-1) for own in has], axis=-1)
    found = []
    for kind in sorted(set(map(tuple, counts[matched[0]].tolist()))):
        rows = np.flatnonzero(matched[0] & (counts == kind).all(axis=-1))
        sides = [side[:, rows][own[:, rows]].reshape(len(side), len(rows), -1) for side, own in zip((new, old), has, strict=True)]
        found.append(Block(sides[0], sides[1], how.shared, weights[rows]))
    return found


def number_of_outcomes(blocks: list[Block], paired: bool) -> int:
    """Return in how many ways all units can be exchanged: the product over what is exchanged by itself."""
    return prod(block.outcomes(paired) ** (1 if block.together else block.new.shape[1]) for block in blocks)


def most_outcomes(benchmarks: int, units: tuple[int, int], how: Exchange) -> int:
    """Return in how many ways so many units a side can be exchanged, if that many are measured in every benchmark; at most `MOST`."""
    new, old = units
    own: int = 2 ** min(units) if how.paired else comb(new + old, new)
    every: int = own ** (1 if how.shared else benchmarks)
    return min(MOST, every)


def randomize(
    sides: Sides, cells: Integers, how: Exchange, draws: Draws | None, kept: Floats | None = None
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
    draw = None if draws is None else partial(_drawn_exchanges, number=draws.n_resamples, streams=Streams(draws.key))
    # Suites whose benchmarks have the same numbers of units are exchanged together, as many at a time as memory is to hold.
    for alike in _alike(sides):
        every = blocks_of(sides.new[alike], sides.old[alike], sides.matched[alike], how)
        some = _at_once(every, how, draws)
        for first in range(0, len(alike), some):
            which = alike[first : first + some]
            blocks = [block._replace(new=block.new[first : first + some], old=block.old[first : first + some]) for block in every]
            sums = [
                sum((block.weights[:, 0] * _scores(side, how)).sum(axis=-1) for block, side in zip(blocks, part, strict=True))
                for part in zip(*(block[:2] for block in blocks), strict=True)
            ]
            observed = _log_ratio(np.asarray(sums[0]), np.asarray(sums[1]), blocks, how)
            logs = draw(blocks, how, cells=cells[which]) if draw else _every_exchange(blocks, how)
            yield which, _tally(observed, logs, number_of_outcomes(blocks, how.paired), which, kept)


def _alike(sides: Sides) -> Sequence[Integers]:
    """Return the places of suites with the same numbers of units in every benchmark, together; those without data are left out."""
    some = np.flatnonzero(sides.matched.any(axis=-1))
    counts = np.concatenate([(~np.isnan(side[some])).sum(axis=-1) for side in (sides.new, sides.old)], axis=-1)
    if (counts == counts[:1]).all():  # mostly
        return [some][: len(some)]
    kinds, names = np.unique(counts, axis=0, return_inverse=True)
    names = names.ravel()
    return np.split(some[np.argsort(names, kind="stable")], np.cumsum(np.bincount(names, minlength=len(kinds)))[:-1])


def _at_once(blocks: list[Block], how: Exchange, draws: Draws | None) -> int:
    """Return how many suites are exchanged at once."""
    if draws is None:
        return max(1, KEPT // number_of_outcomes(blocks, how.paired))
    most = [max(draws.n_resamples, min(block.outcomes(how.paired), TABLE)) for block in blocks]
    kept: int = sum(own * block.new.shape[1] for own, block in zip(most, blocks, strict=True))
    return max(1, KEPT // kept)


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


def _tally(observed: Floats, logs: Iterator[Floats], possible: int, which: Integers, kept: Floats | None) -> Tally:
    """Count the exchanges whose ratio is as large as the observed one, and as small; keep the ratios, where they are wanted."""
    counts, number = np.zeros((2, len(which)), dtype=np.intp), 0
    for part in logs:
        if kept is not None:
            kept[which, number : number + part.shape[-1]] = np.exp(part)
        counts[0] += np.count_nonzero(part >= observed[:, None] - TIES, axis=-1)
        counts[1] += np.count_nonzero(part <= observed[:, None] + TIES, axis=-1)
        number += part.shape[-1]
    return Tally(np.exp(observed), counts[0], counts[1], number, possible)


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
    """Return what both sides score after every exchange, (2, suites, benchmarks, outcomes), summed if benchmarks go together."""
    pool = np.concatenate([block.new, block.old], axis=-1)
    suites, benchmarks, units = pool.shape
    chosen = _swaps(block.new.shape[-1]) if how.paired else _subsets(block.new.shape[-1], block.old.shape[-1])
    found = np.empty((2, suites, 1 if block.together else benchmarks, len(chosen)))
    step = max(1, BLOCK // (benchmarks * units))
    # A part of the exchanges at a time bounds the memory.
    for start in range(0, len(chosen), step):
        part = slice(start, start + step)
        for side, own in zip(found, (chosen[part], ~chosen[part]), strict=True):
            scores = block.weights * _exchanged(pool, own, how)
            side[..., part] = scores.sum(axis=1, keepdims=True) if block.together else scores
    return found


def _exchanged(pool: Floats, chosen: Mask, how: Exchange) -> Floats:
    """Return the scores of chosen units (outcomes, units) of every benchmark (suites, benchmarks, outcomes)."""
    if how.statistic not in ("mean", "geometric"):
        return _scores(pool[..., np.nonzero(chosen)[1].reshape(len(chosen), -1)], how)
    average = pool @ chosen.T / chosen[0].sum()
    return _of_logs(average, how) if how.statistic == "geometric" else transform(average, how.mean)


def _every_exchange(blocks: list[Block], how: Exchange) -> Iterator[Floats]:
    """Yield the log ratios of every exchange of the units of all blocks, (suites, exchanges)."""
    number, suites = number_of_outcomes(blocks, how.paired), len(blocks[0].new)
    if number > MOST:
        raise ValueError(f"method='exact' would enumerate {number:,} exchanges, and at most {MOST:,} are; use method='monte_carlo'")
    sums = np.zeros((2, suites, 1))
    for block in blocks:
        for more in np.moveaxis(_table(block, how), 2, 0):
            sums = (sums[..., None] + more[..., None, :]).reshape(2, suites, -1)
    yield _log_ratio(sums[0], sums[1], blocks, how)


def _drawn_exchanges(blocks: list[Block], how: Exchange, number: int, streams: Streams, cells: Integers) -> Iterator[Floats]:
    """Yield the log ratios of exchanges drawn at random (suites, exchanges), some at a time."""
    tables = [_difference(_table(block, how), how) if block.outcomes(how.paired) <= TABLE else None for block in blocks]
    # An experiment keeps one entry of each table at once, or all units that are permuted.
    kept = [
        block.new[..., 0].size if table is not None else block.new.size + block.old.size
        for block, table in zip(blocks, tables, strict=True)
    ]
    size = max(1, (BLOCK if any(table is None for table in tables) else KEPT) // sum(kept))
    for start in range(0, number, size):
        part = slice(start, min(start + size, number))
        sums = np.zeros((1 if how.mean == "geometric" else 2, len(cells), part.stop - part.start))
        for place, (block, table) in enumerate(zip(blocks, tables, strict=True)):
            if table is None:
                sums += _permuted(block, how, streams, cells, EXCHANGES | place, part)
            else:
                _add_entries(sums, table, streams, cells, EXCHANGES | place, part)
        yield _log_ratio(sums[0], sums[1] if len(sums) > 1 else np.zeros(1), blocks, how)


def _picks(size: int, width: int, streams: Streams, cells: Integers, stream: int, part: slice) -> Integers:
    """Return so many whole numbers below a size for every experiment of a part: (width, suites, experiments)."""
    rows = part.stop - part.start
    drawn = streams.below(size, cells, stream, rows * width, part.start * width).reshape(len(cells), rows, width)
    return np.ascontiguousarray(drawn.transpose(2, 0, 1))


def _difference(scores: Floats, how: Exchange) -> Floats:
    """Return the difference (1, ...) of the scores of both sides where that is all the geometric mean needs, else the two (2, ...)."""
    return scores[:1] - scores[1:] if how.mean == "geometric" else scores


def _add_entries(sums: Floats, table: Floats, streams: Streams, cells: Integers, stream: int, part: slice) -> None:
    """Add one entry of every benchmark's table to every experiment, the same entry for both sides."""
    entries = one_of_each(table.swapaxes(1, 2), cells, stream, streams, part.stop - part.start, part.start)
    for place in range(entries.shape[1]):
        sums += entries[:, place]


def _permuted(block: Block, how: Exchange, streams: Streams, cells: Integers, stream: int, part: slice) -> Floats:
    """Return the same for exchanges that are too many to tabulate: units change hands anew in every experiment."""
    suites, benchmarks, n = block.new.shape
    pool = np.concatenate([block.new, block.old], axis=-1)
    own, units = 1 if block.together else benchmarks, pool.shape[-1]
    if how.paired:
        swapped = np.moveaxis(_picks(2, own * n, streams, cells, stream, part), 0, -1).reshape(suites, -1, own, n) == 1
        chosen = np.concatenate([~swapped, swapped], axis=-1)
    else:
        # The candidate's are the units with the smallest random words; that two of 64 bits are equal does not happen.
        width = own * units
        words = streams.words(cells, stream, (part.stop - part.start) * width, part.start * width).reshape(suites, -1, own, units)
        chosen = words <= np.sort(words, axis=-1)[..., n - 1 : n]
    wanted = [(block.weights[:, 0] * _chosen_scores(pool, side, how)).sum(axis=-1) for side in (chosen, ~chosen)]
    return _difference(np.stack(wanted), how)


def _chosen_scores(pool: Floats, chosen: Mask, how: Exchange) -> Floats:
    """Return the scores (suites, experiments, benchmarks) of the units chosen (suites, experiments, benchmarks or 1, units)."""
    if how.statistic not in ("mean", "geometric"):
        shape = (*chosen.shape[:2], *pool.shape[1:])
        units = np.broadcast_to(pool[:, None], shape)[np.broadcast_to(chosen, shape)]
        return _scores(units.reshape(*shape[:3], -1), how)
    average = np.einsum("sebu,sbu->seb", chosen.astype(float), pool) / chosen[0, 0, 0].sum()
    return _of_logs(average, how) if how.statistic == "geometric" else transform(average, how.mean)


def pvalue(tally: Tally, alternative: str, plus_one: bool) -> Floats:
    """Return the share of exchanges with a ratio as large (`greater`), as small (`less`), or twice the smaller share, at most 1.

    `plus_one` counts the observed data among the experiments: (b + 1) / (M + 1), never zero.
    """
    less, greater = ((count + plus_one) / (tally.number + plus_one) for count in (tally.at_most, tally.at_least))
    if alternative == "less":
        return less
    return greater if alternative == "greater" else np.asarray(np.minimum(1.0, 2 * np.minimum(less, greater)))


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
    for which, tally in randomize(sides, cells, how, draws, kept):
        found[0, which], found[1, which] = tally.statistic, pvalue(tally, alternative, added)
        found[2, which], found[3, which] = smallest_pvalue(tally, alternative, added), tally.number
    return (*found,) if kept is None else (*found, kept)
