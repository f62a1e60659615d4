"""The randomization test of two suites: whole units are exchanged.

Irving et al. (2018), section 3. Where benchmarks share no units, the exchanges of one benchmark
have few outcomes (252 for 5 runs a side): they are tabulated once, and an experiment is one entry
of every benchmark's table.
"""

from collections.abc import Iterator
from functools import lru_cache, reduce
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.random import EXCHANGES, LOWER_HALF, Streams
from perfarray.numerics.suite import SuiteSides, run_statistic, transform
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.with_replacement import add_one_of_each
from perfarray.suites.numerics.exchanges import (
    MOST,
    Block,
    blocks_of,
    enumerated,
    in_halves,
    number_of_outcomes,
    sorted_suites,
)
from perfarray.suites.numerics.redrawn_scores import Score

# Most outcomes that are tabulated for the sake of speed; beyond it units are permuted anew each
# time
TABLE = 1 << 14
# Units permuted together, and exchanges or entries of tables: bounds of the memory that change no
# number
BLOCK, KEPT = (
    1 << 16,
    1 << 18,
)
# ratios that differ by less than this relative amount are equal: sums of the same numbers in
# another order
TIES = 1e-10


class Tally(NamedTuple):
    """Of suites: the ratios observed; how many exchanges gave one as large, as small.

    How many were counted, and how many there are.
    """

    statistic: Floats
    at_least: Integers
    at_most: Integers
    number: int
    possible: Any  # whole numbers of any size


def randomization(
    sides: SuiteSides,
    cells: Integers,
    score: Score,
    draws: Draws | None,
    plus_one: bool,
    *,
    length: int | None = None,
) -> tuple[Floats, ...]:
    """Return the observed ratio, p-value, smallest p-value and number of exchanges.

    With a length also the ratio after every exchange, (suites, length), NaN behind the last.
    `plus_one` counts the observed data among random experiments: (b + 1) / (M + 1), never zero.
    """
    fields = np.full((4, len(cells)), np.nan)
    ratios = None if length is None else np.full((len(cells), length), np.nan)
    added = plus_one and draws is not None
    for rows, tally in exchange_units(sides, cells, score, draws, ratios):
        fields[0, rows], fields[1, rows] = tally.statistic, pvalue(tally, score.alternative, added)
        fields[2, rows], fields[3, rows] = (
            smallest_pvalue(tally, score.alternative, added),
            tally.number,
        )
    return (*fields,) if ratios is None else (*fields, ratios)


def exchange_units(
    sides: SuiteSides,
    cells: Integers,
    score: Score,
    draws: Draws | None,
    ratios: Floats | None = None,
) -> Iterator[tuple[Integers, Tally]]:
    """Exchange the units of every suite at random, or in every way where `draws` is None.

    Yield the rows of some suites, and counts.

    Random numbers depend on the keys of the suites, `cells`. `ratios` (suites, exchanges) takes the
    ratio after every exchange. More exchanges than can be counted raise ValueError.
    """
    rows = np.flatnonzero(sides.matched.any(axis=-1))
    streams = Streams((0, 0)) if draws is None else Streams(draws.key)
    all_suites = [] if draws is None else [(sorted_suites(sides, rows), draws.n_resamples)]
    for equal_rows, number in all_suites or enumerated(
        sides, rows, score, listed=ratios is not None
    ):
        for first in range(0, len(equal_rows), size := max(1, KEPT // number)):
            block_rows = equal_rows[first : first + size]
            blocks = blocks_of(sides.rows(block_rows), score)
            possible = number_of_outcomes(blocks, len(block_rows), score.paired)
            sums, weights = np.zeros((2, len(block_rows), 1)), np.zeros((len(block_rows), 1))
            for block in blocks:
                for total, side in zip(sums, block[:2], strict=True):
                    total[block.suites, 0] += (block.weights * _scores(side, score)).sum(axis=-1)
                weights[block.suites, 0] += block.weights.sum(axis=-1)
            observed, counts, n_counted = (
                _log_ratio(sums, weights, score),
                np.zeros((2, len(block_rows)), dtype=np.intp),
                0,
            )
            if draws is None and number > MOST:  # then there is one suite in the block
                at_least, at_most = _counted_by_halves(
                    blocks, score, float(observed[0, 0]), float(weights[0, 0])
                )
                yield (
                    block_rows,
                    Tally(
                        np.exp(observed[:, 0]),
                        np.array([at_least]),
                        np.array([at_most]),
                        number,
                        possible,
                    ),
                )
                continue
            exchanges = (
                _every_exchange(blocks, score)
                if draws is None
                else _drawn_exchanges(blocks, score, number, streams, cells[block_rows])
            )
            for sums in exchanges:
                logs = _log_ratio(sums, weights, score)
                if ratios is not None:
                    ratios[block_rows, n_counted : n_counted + logs.shape[-1]] = np.exp(logs)
                counts[0] += np.count_nonzero(logs >= observed - TIES, axis=-1)
                counts[1] += np.count_nonzero(logs <= observed + TIES, axis=-1)
                n_counted += logs.shape[-1]
            yield (
                block_rows,
                Tally(np.exp(observed[:, 0]), counts[0], counts[1], n_counted, possible),
            )


def pvalue(tally: Tally, alternative: str, plus_one: bool) -> Floats:
    """Return the share of exchanges with a ratio as large or small, or twice the smaller."""
    lower_tail, upper_tail = (
        (count + plus_one) / (tally.number + plus_one) for count in (tally.at_most, tally.at_least)
    )
    if alternative == "less":
        return lower_tail
    return (
        upper_tail
        if alternative == "greater"
        else np.asarray(np.minimum(1.0, 2 * np.minimum(lower_tail, upper_tail)))
    )


def smallest_pvalue(tally: Tally, alternative: str, plus_one: bool) -> Floats:
    """Return the p-value of a ratio that no other exchange reaches."""
    number = np.minimum(np.asarray(tally.possible, dtype=object), tally.number + plus_one)
    share = 1 / np.asarray(number, dtype=float)
    return np.asarray(np.minimum(1.0, 2 * share) if alternative == "two-sided" else share)


def _scores(units: Floats, score: Score) -> Floats:
    """Return the transformed statistic of units along the last axis."""
    return _of_averages(
        units.mean(axis=-1)
        if score.statistic == "geometric"
        else run_statistic(units, score.statistic),
        score,
    )


def _of_averages(average: Floats, score: Score) -> Floats:
    """Return the transformed statistic, of a geometric one from the average of the logs."""
    if score.statistic != "geometric":
        return transform(average, score.mean)
    return average if score.mean == "geometric" else transform(np.exp(average), score.mean)


def _log_ratio(sums: Floats, weights: Floats, score: Score) -> Floats:
    """Return the log of the ratio of the two means from sums over the benchmarks."""
    if score.mean == "geometric":
        return np.asarray((sums[0] - sums[1] if len(sums) > 1 else sums[0]) / weights)
    sign = 1.0 if score.mean == "arithmetic" else -1.0
    return np.asarray(sign * np.log(sums[0] / sums[1]))


@lru_cache(maxsize=16)
def _subsets(n: int, m: int) -> Mask:
    """Return, for every way to choose n of n + m units, which are chosen: (outcomes, n + m)."""
    positions = np.fromiter(
        chain.from_iterable(combinations(range(n + m), n)), dtype=np.intp
    ).reshape(-1, n)
    membership = np.zeros((len(positions), n + m), dtype=bool)
    np.put_along_axis(membership, positions, True, axis=1)
    return membership


@lru_cache(maxsize=16)
def _swaps(n: int) -> Mask:
    """Return the candidate's units in every way to swap within n pairs: (outcomes, n + n)."""
    swapped = (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1
    return np.concatenate([~swapped, swapped], axis=1)


def _table(block: Block, score: Score) -> Floats:
    """Return the scores of both sides after every exchange: (2, suites, benchmarks, outcomes)."""
    pool, n = np.concatenate([block.new, block.old], axis=-1), block.new.shape[-1]
    suites, benchmarks, units = pool.shape
    candidate = _swaps(n) if score.paired else _subsets(n, units - n)
    table = np.empty((2, suites, 1 if block.shared else benchmarks, len(candidate)))
    step = max(1, BLOCK // (benchmarks * units))
    # A part of the exchanges at a time bounds the memory.
    for start in range(0, len(candidate), step):
        outcomes = slice(start, start + step)
        for side, membership in zip(
            table, (candidate[outcomes], ~candidate[outcomes]), strict=True
        ):
            if score.of_averages:
                scores = _of_averages(pool @ membership.T / membership[0].sum(), score)
            else:
                scores = _scores(
                    pool[..., np.nonzero(membership)[1].reshape(len(membership), -1)], score
                )
            scores = block.weights[..., None] * scores
            side[..., outcomes] = scores.sum(axis=1, keepdims=True) if block.shared else scores
    return table


def _every_exchange(blocks: list[Block], score: Score) -> Iterator[Floats]:
    """Yield the sums of every exchange of the units of all blocks, (2, suites, exchanges)."""
    sums = np.zeros((2, len(blocks[0].suites), 1))
    for block in blocks:
        for scores in np.moveaxis(_table(block, score), 2, 0):
            sums = (sums[..., None] + scores[..., None, :]).reshape(*sums.shape[:2], -1)
    yield sums


def _counted_by_halves(
    blocks: list[Block], score: Score, observed: float, weight: float
) -> tuple[int, int]:
    """Count the exchanges with a log ratio as large as the observed one, and as small.

    A ratio of means is beyond a bound where a sum over the benchmarks is above zero. The sums of
    each half of the benchmarks are enumerated, and those of all are counted by a search in one half
    for every entry of the other (Horowitz and Sahni 1974).
    """
    tables = [
        scores for block in blocks for scores in np.moveaxis(_table(block, score)[:, 0], 1, 0)
    ]
    halves, counts = in_halves([table.shape[1] for table in tables]), []
    for sign in (1.0, -1.0):
        bound = observed - sign * TIES
        if score.mean == "geometric":
            terms = [sign * (new - old - bound * weight / len(tables)) for new, old in tables]
        else:
            side = sign if score.mean == "arithmetic" else -sign
            terms = [
                side * (new - np.exp(bound if score.mean == "arithmetic" else -bound) * old)
                for new, old in tables
            ]
        first, second = (
            np.sort(
                reduce(
                    lambda sums, position: np.add.outer(sums, terms[position]).ravel(),
                    half,
                    np.zeros(1),
                )
            )
            for half in halves
        )
        counts.append(int((len(first) - np.searchsorted(first, -second[::-1])).sum()))
    return counts[0], counts[1]


def _drawn_exchanges(
    blocks: list[Block], score: Score, number: int, streams: Streams, cells: Integers
) -> Iterator[Floats]:
    """Yield the sums of random exchanges, or their differences (2 or 1, suites, exchanges)."""
    size = max(1, KEPT // len(cells))
    for start in range(0, number, size):
        window = slice(start, min(start + size, number))
        length = window.stop - start
        sums = np.zeros((1 if score.mean == "geometric" else 2, len(cells), length))
        for block in blocks:
            outcomes = block.outcomes(score.paired)
            if outcomes <= TABLE:
                for subset in block.in_parts(KEPT // (max(length, outcomes) * block.new.shape[1])):
                    table, total = _difference(_table(subset, score), score), sums[:, subset.rows]
                    stream = EXCHANGES | subset.position  # the same entry for both sides
                    add_one_of_each(
                        total, table.swapaxes(1, 2), cells[subset.suites], stream, streams, start
                    )
                    if not np.may_share_memory(total, sums):
                        sums[:, subset.rows] = total
                continue
            permuted = BLOCK // (
                block.new[0].size + block.old[0].size
            )  # suites and experiments whose units are permuted together
            for subset in block.in_parts(permuted // length):
                step = max(1, permuted // len(subset.suites))
                for first in range(start, window.stop, step):
                    experiments = slice(first, min(first + step, window.stop))
                    scores = _permuted(subset, score, streams, cells[subset.suites], experiments)
                    sums[:, subset.rows, first - start : experiments.stop - start] += scores
        yield sums


def _difference(scores: Floats, score: Score) -> Floats:
    """Return the difference of the scores of both sides where it is enough, else both."""
    return scores[:1] - scores[1:] if score.mean == "geometric" else scores


def _permuted(
    block: Block, score: Score, streams: Streams, cells: Integers, window: slice
) -> Floats:
    """Return the sums over the benchmarks of experiments with exchanged units."""
    pool, benchmarks = np.concatenate([block.new, block.old], axis=-1), block.new.shape[1]
    candidate = (_swapped if score.paired else _smallest)(block, streams, cells, window)
    shape = (*candidate.shape[:2], *pool.shape[1:])
    if score.of_averages:
        number, masks, totals = (
            block.new.shape[-1],
            candidate.astype(float),
            np.empty((2, *shape[:3])),
        )
        np.einsum("sebu,sbu->seb", masks, pool, out=totals[0])
        np.einsum("sebu,sbu->seb", np.subtract(1.0, masks, out=masks), pool, out=totals[1])
        scores = _of_averages(
            totals / np.reshape([number, shape[-1] - number], (2, 1, 1, 1)), score
        )
    else:
        units, candidate = np.broadcast_to(pool[:, None], shape), np.broadcast_to(candidate, shape)
        scores = np.stack(
            [
                _scores(units[side].reshape(*shape[:2], benchmarks, -1), score)
                for side in (candidate, ~candidate)
            ]
        )
    return _difference((block.weights[:, None] * scores).sum(axis=-1), score)


def _swapped(block: Block, streams: Streams, cells: Integers, window: slice) -> Mask:
    """Return which units are the candidate's when pairs are swapped at random."""
    _, benchmarks, n = block.new.shape
    n_streams, rows = 1 if block.shared else benchmarks, window.stop - window.start
    numbers = streams.below(
        2, cells, EXCHANGES | block.position, rows * n_streams * n, window.start * n_streams * n
    )
    swapped = numbers.reshape(len(cells), rows, n_streams, n) == 1
    return np.concatenate([~swapped, swapped], axis=-1)


def _smallest(block: Block, streams: Streams, cells: Integers, window: slice) -> Mask:
    """Return the same when all units are exchanged: those with the smallest random words."""
    benchmarks, n = block.new.shape[1:]
    n_streams, units = 1 if block.shared else benchmarks, n + block.old.shape[-1]
    width, rows = n_streams * units, window.stop - window.start
    words = streams.words(
        cells, EXCHANGES | block.position, rows * width, window.start * width
    ).reshape(len(cells), rows, n_streams, units)
    # The upper halves are sorted faster, and nearly always decide which words are the smallest.
    halves = np.ascontiguousarray(words.view(np.uint32)[..., 1 - LOWER_HALF :: 2])
    is_smallest = halves <= np.sort(halves, axis=-1)[..., n - 1 : n]
    if np.count_nonzero(is_smallest) > n * (is_smallest.size // units):
        is_smallest = words <= np.sort(words, axis=-1)[..., n - 1 : n]
    return is_smallest
