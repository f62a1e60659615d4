"""Where a series changes its level: the largest rank statistics of steps and bumps, one stretch of the series after another."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from perfarray.history.numerics.law import BUMPS, chance
from perfarray.numerics.types import Floats, Integers

# The lengths of bumps that are tried grow by this factor: no bump is far from one of them.
GROWTH = 1.15

# A step that was found together with others may have a p-value of so many times the level when it is tested alone.
ALONE = 2.0


class Peak(NamedTuple):
    """The largest statistic of a stretch, and its position: one split for a step, two for a bump."""

    statistic: float
    splits: tuple[int, ...]


class Sums(NamedTuple):
    """Running sums, both from 0, of the scores of a stretch and of the information in its values."""

    scores: Floats
    weights: Floats

    def contrasts(self, first: Integers, last: Integers | int) -> Floats:
        """Return by how many standard deviations the values from `first` up to `last` differ from the others."""
        share = (self.weights[last] - self.weights[first]) / self.weights[-1]
        inside = self.scores[last] - self.scores[first] - share * self.scores[-1]
        spread = self.weights[-1] * share * (1.0 - share)
        return np.asarray(np.abs(inside) / np.sqrt(np.maximum(spread, 1e-300)))


def find_changes(values: Floats, errors: Floats, least: int, level: float) -> dict[int, float]:
    """Return the first position of every segment but the first, and the p-value of the stretch in which it was found.

    Each stretch is tested against one step and against a bump (a step and a step back). A stretch that is not one segment is split, and
    its parts are tested. Each step is then moved to the best position between its neighbours and tested there; steps that do not hold
    are dropped, the weakest first.

    `values` (n,) are complete; of `errors` only the ratios count; a segment has at least `least` values; `level` is the chance of any step
    in a series without one.

    Notes
    -----
    The statistics use normal scores of ranks (van der Waerden). Under the null hypothesis all orders are equally likely, so that one law
    holds for every noise, as long as the noise of one value does not depend on the one before. Asymptotically they are never less
    efficient than means.

    References
    ----------
    A. B. Olshen, E. S. Venkatraman, R. Lucito, M. Wigler, "Circular binary segmentation", Biostatistics 5, 2004; L. Dümbgen, V. Spokoiny,
    "Multiscale testing of qualitative hypotheses", Annals of Statistics 29, 2001 (the penalty of short bumps).
    """
    pvalues: dict[int, float] = {}
    stretches = [(0, len(values))]
    while stretches:
        first, last = stretches.pop()
        peak = strongest(values[first:last], errors[first:last], least)
        pvalue = chance(peak.statistic, last - first)
        if pvalue <= level:
            ends = [first, *(first + split for split in peak.splits), last]
            pvalues |= dict.fromkeys(ends[1:-1], pvalue)
            stretches += pairwise(ends)
    return _settled(pvalues, values, errors, least, level)


def strongest(values: Floats, errors: Floats, least: int) -> Peak:
    """Return the largest statistic of a step or a bump; that of a bump is reduced by a penalty for its length."""
    n = len(values)
    if n < 2 * least:
        return Peak(0.0, ())
    sums = score_sums(values, errors)
    peak, length = best_step(sums, least), least
    while length <= min(n - 2 * least, n // 2):
        starts = np.arange(least, n - least - length + 1)
        contrasts = sums.contrasts(starts, starts + length)
        best = int(np.argmax(contrasts))
        statistic = float(contrasts[best]) - np.sqrt(2.0 * np.log(np.e * n / length)) + BUMPS
        if statistic > peak.statistic:
            peak = Peak(statistic, (int(starts[best]), int(starts[best]) + length))
        length = max(length + 1, round(length * GROWTH))
    return peak


def best_step(sums: Sums, least: int) -> Peak:
    """Return the largest statistic of one step in a stretch of at least 2 * `least` values."""
    n = len(sums.scores) - 1
    steps = np.arange(least, n - least + 1)
    contrasts = sums.contrasts(steps, n)
    best = int(np.argmax(contrasts))
    return Peak(float(contrasts[best]), (int(steps[best]),))


def score_sums(values: Floats, errors: Floats) -> Sums:
    """Return running sums of normal scores, weighted by how well each value is known."""
    roots = np.min(errors) / errors
    # Scores are of distances from the weighted median; with equal weights the ranks do not depend on the centre.
    centre = 0.0
    if roots.min() < 1.0:
        order = np.argsort(values)
        weights = np.cumsum(roots[order] ** 2)
        centre = float(values[order[np.searchsorted(weights, weights[-1] / 2)]])
    scores = normal_scores((values - centre) * roots)
    return Sums(*(np.concatenate([[0.0], np.cumsum(terms)]) for terms in (scores * roots, roots * roots)))


def normal_scores(values: Floats) -> Floats:
    """Return the normal quantiles of the ranks of values, with mean 0 and variance 1; ties have the mean of their scores."""
    scores = ndtri(np.arange(1, len(values) + 1) / (len(values) + 1))
    sums = np.concatenate([[0.0], np.cumsum(scores / np.sqrt(np.mean(scores * scores)))])
    ordered = np.sort(values)
    first, last = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    # Ties make the variance less than 1. Scaled back to 1, one outlier among ties would exceed what any order of distinct values
    # gives, and the null law, which is of distinct values, would not hold.
    return np.asarray((sums[last] - sums[first]) / (last - first))


def _settled(pvalues: dict[int, float], values: Floats, errors: Floats, least: int, level: float) -> dict[int, float]:
    """Move each change to the best position between its neighbours; drop those that are not significant there."""
    while pvalues:
        ends = [0, *sorted(pvalues), len(values)]
        settled: dict[int, float] = {}
        local: dict[int, float] = {}
        low = 0
        for start, high in pairwise(ends[1:]):  # few
            peak = best_step(score_sums(values[low:high], errors[low:high]), least)
            moved = low + peak.splits[0]
            settled[moved], local[moved] = pvalues[start], chance(peak.statistic, high - low)
            low = moved
        worst = max(local, key=local.__getitem__)
        if local[worst] <= ALONE * level:
            return settled
        del settled[worst]
        pvalues = settled
    return pvalues
