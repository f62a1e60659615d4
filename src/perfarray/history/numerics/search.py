"""Where a series changes its level: maximal rank statistics whose null law is known whatever the noise, one stretch after another."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from perfarray.history.numerics.law import BUMPS, chance
from perfarray.numerics.types import Floats, Integers

GROWTH = 1.15
"""By how much the lengths of bumps that are looked at grow: no bump is far from one of them."""


ALONE = 2.0
"""How many times as likely by chance one end of a bump may be as the whole: what is found together need not be as sure alone."""


class Peak(NamedTuple):
    """The largest statistic of a stretch, and where it splits: at one place, or at both ends of a bump."""

    statistic: float
    splits: tuple[int, ...]


class Sums(NamedTuple):
    """Running sums of the scores of a stretch and of the information in its values, both from 0."""

    scores: Floats
    weights: Floats

    def contrasts(self, first: Integers, last: Integers | int) -> Floats:
        """Return by how many standard deviations values from `first` up to `last` differ from the others."""
        share = (self.weights[last] - self.weights[first]) / self.weights[-1]
        inside = self.scores[last] - self.scores[first] - share * self.scores[-1]
        spread = self.weights[-1] * share * (1.0 - share)
        return np.asarray(np.abs(inside) / np.sqrt(np.maximum(spread, 1e-300)))


def find_changes(values: Floats, errors: Floats, least: int, level: float) -> dict[int, float]:
    """Return where the segments of a series begin, but for the first, and the p-value of each.

    Every stretch is tested as a whole: against one step, and against a bump (a step and one back). Where it is not one segment it is
    split, and its parts are tested. Then each step is put to the best place between its neighbours and tested there; those that do not
    hold are left out, the weakest first. The p-value is that of the stretch in which a change was found.

    Parameters
    ----------
    values, errors : array, shape (n,)
        What was measured, complete; standard errors, of which only the ratios count.
    least : int
        The fewest values of a segment.
    level : float
        The chance of any step in a series without one.

    Returns
    -------
    dict of int to float

    Notes
    -----
    Statistics are those of normal scores of ranks (van der Waerden's): their null law is that of a random order, the same for every noise,
    outliers and modes included, as long as it does not depend on the one before. Asymptotically they are never less efficient than means.

    References
    ----------
    A. B. Olshen, E. S. Venkatraman, R. Lucito, M. Wigler, "Circular binary segmentation", Biostatistics 5, 2004; L. Dümbgen, V. Spokoiny,
    "Multiscale testing of qualitative hypotheses", Annals of Statistics 29, 2001: what short bumps have to be larger by.
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


def whole_chance(values: Floats, errors: Floats, least: int) -> float:
    """Return the p-value of "nothing changed" of a whole series."""
    return chance(strongest(values, errors, least).statistic, len(values))


def strongest(values: Floats, errors: Floats, least: int) -> Peak:
    """Return the largest statistic of a stretch: that of a step, or that of a bump, from which what its length allows for is taken."""
    n = len(values)
    if n < 2 * least:
        return Peak(0.0, ())
    sums, peak, length = score_sums(values, errors), best_step(values, errors, least), least
    while length <= min(n - 2 * least, n // 2):
        starts = np.arange(least, n - least - length + 1)
        contrasts = sums.contrasts(starts, starts + length)
        best = int(np.argmax(contrasts))
        statistic = float(contrasts[best]) - np.sqrt(2.0 * np.log(np.e * n / length)) + BUMPS
        if statistic > peak.statistic:
            peak = Peak(statistic, (int(starts[best]), int(starts[best]) + length))
        length = max(length + 1, round(length * GROWTH))
    return peak


def best_step(values: Floats, errors: Floats, least: int) -> Peak:
    """Return the largest statistic of one step in a stretch of at least twice as many values as a segment has."""
    steps = np.arange(least, len(values) - least + 1)
    contrasts = score_sums(values, errors).contrasts(steps, len(values))
    best = int(np.argmax(contrasts))
    return Peak(float(contrasts[best]), (int(steps[best]),))


def score_sums(values: Floats, errors: Floats) -> Sums:
    """Return the running sums of a stretch's scores, each in proportion to how well its value is known."""
    roots = np.min(errors) / errors
    scores = normal_scores((values - _centre(values, roots)) * roots)
    return Sums(*(np.concatenate([[0.0], np.cumsum(terms)]) for terms in (scores * roots, roots * roots)))


def normal_scores(values: Floats) -> Floats:
    """Return the normal quantiles of the ranks of values, with mean 0 and variance 1; equal values have the mean of theirs.

    Their variance is then smaller and is left so: made 1 again, one outlier among equal values would be as large as no order of
    different ones makes it, and the null law, which is of those, would not be theirs.
    """
    scores = ndtri(np.arange(1, len(values) + 1) / (len(values) + 1))
    sums = np.concatenate([[0.0], np.cumsum(scores / np.sqrt(np.mean(scores * scores)))])
    ordered = np.sort(values)
    first, last = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    return np.asarray((sums[last] - sums[first]) / (last - first))


def _centre(values: Floats, roots: Floats) -> float:
    """Return the weighted median; any number will do where all weights are the same."""
    if roots.min() == 1.0:
        return 0.0
    order = np.argsort(values)
    weights = np.cumsum(roots[order] ** 2)
    return float(values[order[np.searchsorted(weights, weights[-1] / 2)]])


def _settled(pvalues: dict[int, float], values: Floats, errors: Floats, least: int, level: float) -> dict[int, float]:
    """Return changes at the best places between those beside them, without those that do not hold there."""
    while pvalues:
        ends = [0, *sorted(pvalues), len(values)]
        settled: dict[int, float] = {}
        local: dict[int, float] = {}
        low = 0
        for start, high in pairwise(ends[1:]):  # few
            peak = best_step(values[low:high], errors[low:high], least)
            moved = low + peak.splits[0]
            settled[moved], local[moved] = pvalues[start], chance(peak.statistic, high - low)
            low = moved
        worst = max(local, key=local.__getitem__)
        if local[worst] <= ALONE * level:
            return settled
        del settled[worst]
        pvalues = settled
    return pvalues
