"""Where series change their level: the largest rank statistics of steps and bumps."""

from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from perfarray.history.numerics.law import BUMPS, LENGTHS, chance
from perfarray.numerics.types import Floats, Integers

# The lengths of bumps that are tried grow by this factor: no bump is far from one of them.
GROWTH = 1.15

# A step that was found together with others may have a p-value of so many times the level when it
# is tested alone.
ALONE = 2.0

# Running sums (stretches, n + 1), from 0, of scores, and of the information in values (one row
# where all have the same).
Sums = tuple[Floats, Floats]


def find_changes(values: Floats, errors: Floats, min_size: int, levels: Floats) -> Floats:
    """Return p-values where segments but the first begin, elsewhere NaN (series, n).

    Each stretch is tested against one step and against a bump (a step and a step back). A stretch
    that is not one segment is split, and its parts are tested. Each step is then moved to the best
    position between its neighbours and tested there; steps that do not hold are dropped, the
    weakest first.

    `values` (series, n) are complete; of `errors` only the ratios count; a segment has at least
    `min_size` values; `levels` (series,) are the chance of any step in a series without one.

    Notes
    -----
    The statistics use normal scores of ranks (van der Waerden). Under the null hypothesis all
    orders are equally likely, so that one law holds for every noise, as long as the noise of one
    value does not depend on the one before. Asymptotically they are never less efficient than
    means.

    References
    ----------
    A. B. Olshen, E. S. Venkatraman, R. Lucito, M. Wigler, "Circular binary segmentation",
    Biostatistics 5, 2004; L. Dümbgen, V. Spokoiny, "Multiscale testing of qualitative hypotheses",
    Annals of Statistics 29, 2001 (the penalty of short bumps).
    """
    pvalues = np.full(values.shape, np.nan)
    stretches = np.array(
        [(row, 0, values.shape[-1]) for row in np.flatnonzero(levels > 0)], dtype=np.intp
    ).reshape(-1, 3)
    while len(stretches):
        lengths = stretches[:, 2] - stretches[:, 1]
        pieces: list[tuple[int, int, int]] = []
        # Shorter stretches show nothing; those of one length are tested together.
        for n in np.unique(lengths[lengths >= max(LENGTHS[0], 2 * min_size)]).tolist():
            rows, starts, _ = stretches[lengths == n].T
            cells = rows[:, None], starts[:, None] + np.arange(n)
            statistics, *splits = strongest(values[cells], errors[cells], min_size)
            chances = chance(statistics, n)
            for index in np.flatnonzero(chances <= levels[rows]).tolist():  # few
                row, start = int(rows[index]), int(starts[index])
                ends = sorted({start, *(start + int(split[index]) for split in splits), start + n})
                pvalues[row, ends[1:-1]] = chances[index]
                pieces += [(row, low, high) for low, high in pairwise(ends)]
        stretches = np.array(pieces, dtype=np.intp).reshape(-1, 3)
    for series in np.flatnonzero(~np.isnan(pvalues).all(axis=-1)):  # few
        pvalues[series] = _settled(
            pvalues[series], values[series], errors[series], min_size, float(levels[series])
        )
    return pvalues


def strongest(values: Floats, errors: Floats, min_size: int) -> tuple[Floats, Integers, Integers]:
    """Return the largest statistics of a step or a bump in stretches (stretches, n), and its ends.

    The ends of a step are its position and n. Bumps have a penalty for their length. A stretch has
    at least 2 * `min_size` values.
    """
    n = values.shape[-1]
    sums = score_sums(values, errors)
    statistic, first = best_step(sums, min_size)
    last, length = np.full(len(values), n), min_size
    while length <= min(n - 2 * min_size, n // 2):
        stop = n - min_size + 1
        bumps = contrasts(sums, slice(min_size, stop - length), slice(min_size + length, stop))
        best = np.argmax(bumps, axis=-1)
        penalty = np.sqrt(2.0 * np.log(np.e * n / length))
        penalised = bumps[np.arange(len(best)), best] - penalty + BUMPS
        larger = penalised > statistic
        statistic[larger] = penalised[larger]
        first[larger] = best[larger] + min_size
        last[larger] = first[larger] + length
        length = max(length + 1, round(length * GROWTH))
    return statistic, first, last


def best_step(sums: Sums, min_size: int) -> tuple[Floats, Integers]:
    """Return the largest statistics of one step in stretches, and their positions."""
    n = sums[0].shape[-1] - 1
    steps = contrasts(sums, slice(min_size, n - min_size + 1), slice(n, n + 1))
    best = np.argmax(steps, axis=-1)
    return steps[np.arange(len(best)), best], best + min_size


def score_sums(values: Floats, errors: Floats) -> Sums:
    """Return running sums of normal scores, weighted by how well each value is known."""
    roots = errors.min(axis=-1, keepdims=True) / errors
    uneven = np.flatnonzero(roots.min(axis=-1) < 1.0)
    if not uneven.size:
        return running_sums(normal_scores(values)), np.arange(values.shape[-1] + 1.0)[None]
    # Scores are of distances from the weighted median; with equal weights the ranks do not depend
    # on the centre.
    centres = np.zeros((len(values), 1))
    order = np.argsort(values[uneven], axis=-1)
    weights = np.cumsum(np.take_along_axis(roots[uneven], order, axis=-1) ** 2, axis=-1)
    middle = np.sum(weights < weights[:, -1:] / 2, axis=-1)
    centres[uneven, 0] = values[uneven, order[np.arange(len(order)), middle]]
    scores = normal_scores((values - centres) * roots)
    return running_sums(scores * roots), running_sums(roots * roots)


def contrasts(sums: Sums, first: slice, last: slice) -> Floats:
    """Return by how many standard deviations values from `first` to `last` differ from others."""
    scores, weights = sums
    total = weights[:, -1:]
    share = (weights[:, last] - weights[:, first]) / total
    inside = scores[:, last] - scores[:, first] - share * scores[:, -1:]
    return np.asarray(np.abs(inside) / np.sqrt(np.maximum(total * share * (1.0 - share), 1e-300)))


def running_sums(terms: Floats) -> Floats:
    """Return the sums of the first 0, 1, ..., n values (stretches, n + 1)."""
    sums = np.zeros((len(terms), terms.shape[-1] + 1))
    np.cumsum(terms, axis=-1, out=sums[:, 1:])
    return sums


def normal_scores(values: Floats) -> Floats:
    """Return the normal quantiles of the ranks of values (stretches, n), of variance 1.

    Ties have the mean of their scores.
    """
    sums = _ascending_scores(values.shape[-1])
    first, last = rank_ranges(values)
    # Ties make the variance less than 1. Scaled back to 1, one outlier among ties would exceed what
    # any order of distinct values gives, and the null law, which is of distinct values, would not
    # hold.
    return np.asarray((sums[last] - sums[first]) / (last - first))


def rank_ranges(values: Floats) -> tuple[Integers, Integers]:
    """Return for values (stretches, n) how many in their stretch are smaller, or not larger."""
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    ends = np.broadcast_to(np.arange(values.shape[-1] + 1), (len(values), values.shape[-1] + 1))
    first, last = ends[:, :-1], ends[:, 1:]
    differ = ordered[:, 1:] != ordered[:, :-1]
    if not differ.all():
        first, last = first.copy(), last.copy()
        first[:, 1:] *= differ
        last[:, :-1] = np.where(differ, last[:, :-1], values.shape[-1])
        first, last = (
            np.maximum.accumulate(first, axis=-1),
            np.minimum.accumulate(last[:, ::-1], axis=-1)[:, ::-1],
        )
    ranges = np.empty((2, *values.shape), dtype=np.intp)
    for ranks, ascending in zip(ranges, (first, last), strict=True):
        np.put_along_axis(ranks, order, ascending, axis=-1)
    return ranges[0], ranges[1]


@lru_cache(maxsize=256)
def _ascending_scores(n: int) -> Floats:
    """Return the running sums, from 0, of the scores of n values in ascending order."""
    scores = ndtri(np.arange(1, n + 1) / (n + 1))
    return np.concatenate([[0.0], np.cumsum(scores / np.sqrt(np.mean(scores * scores)))])


def _settled(
    pvalues: Floats, values: Floats, errors: Floats, min_size: int, level: float
) -> Floats:
    """Move each change of one series to the best position between its neighbours.

    Drop those that are not significant there.
    """
    changes = {int(start): pvalues[start] for start in np.flatnonzero(~np.isnan(pvalues))}
    settled = np.full(len(values), np.nan)
    while changes:
        ends = [0, *changes, len(values)]
        moves: dict[int, float] = {}
        local: dict[int, float] = {}
        low = 0
        for start, high in pairwise(ends[1:]):  # few
            statistic, split = best_step(
                score_sums(values[None, low:high], errors[None, low:high]), min_size
            )
            moved = low + int(split[0])
            moves[moved], local[moved] = changes[start], float(chance(statistic, high - low)[0])
            low = moved
        worst = max(local, key=local.__getitem__)
        if local[worst] <= ALONE * level:
            settled[list(moves)] = list(moves.values())
            break
        del moves[worst]
        changes = moves
    return settled
