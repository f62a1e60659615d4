"""The spread of a suite's score when the experiment is redrawn: each benchmark's units with replacement, then its statistic, then the mean.

The law of one benchmark's statistic is known where few values are possible (order statistics of n runs, or any statistic of few units);
moments of the mean over benchmarks follow from those of its parts, since benchmarks are independent.
"""

from itertools import combinations_with_replacement
from math import factorial, prod
from typing import NamedTuple

import numpy as np

from perfarray.numerics.order_statistics import ORDER_STATISTICS, order_law
from perfarray.numerics.random import UNITS, Streams
from perfarray.numerics.statistics import evaluate
from perfarray.numerics.types import Floats, Integers
from perfarray.numerics.with_replacement import drawn_places
from perfarray.suites.numerics.distributions import TABLE, Drawing, Suite, equal_counts, from_scale, parts_of, summarise_scores, to_scale

FEW = 8
"""Units up to which all 6,435 ways to redraw them are listed."""

BLOCK = 1 << 20
"""Values looked at together: what bounds the memory. It changes no number."""


class Spread(NamedTuple):
    """The score of the data, and the standard deviation of the score of redrawn experiments; NaN where it is not known."""

    performance: Floats
    standard_deviation: Floats


def statistic_of(runs: Floats, statistic: str) -> Floats:
    """Return a statistic of rows (rows, units, runs in a unit): median, mean, min, max or geometric, each unit with equal weight."""
    if statistic == "geometric":
        return np.exp(evaluate(np.log(runs), "mean"))
    return evaluate(runs, statistic)


def performance_of(suite: Suite, statistic: str, mean: str) -> Floats:
    """Return the score of the data, shape (cells,)."""
    cells, benchmarks = suite.runs.shape[:2]
    rows = statistic_of(suite.runs.reshape(cells * benchmarks, *suite.runs.shape[2:]), statistic)
    return from_scale(to_scale(rows.reshape(cells, benchmarks), mean).mean(axis=-1), mean)


def exact_spread(suite: Suite, statistic: str, mean: str) -> Spread:
    """Return the score and its exact standard deviation over redrawn experiments, without random numbers.

    NaN where no closed form applies: harmonic means, and statistics whose law over more than `FEW` units is not known.
    """
    performance = performance_of(suite, statistic, mean)
    if suite.shares is not None:
        return Spread(performance, _shared_spread(suite, statistic, mean))
    if mean == "harmonic":
        return Spread(performance, np.full_like(performance, np.nan))
    cells, benchmarks = suite.runs.shape[:2]
    rows = suite.runs.reshape(cells * benchmarks, *suite.runs.shape[2:])
    expected, variance = (part.reshape(cells, benchmarks) for part in _moments(rows, statistic, mean, benchmarks))
    if mean == "arithmetic":
        return Spread(performance, np.sqrt(variance.sum(axis=-1)))
    # Of a product of independent factors: (sd / mean)^2 + 1 is the product of theirs.
    relative = np.expm1(np.log1p(variance / expected**2).sum(axis=-1))
    return Spread(performance, expected.prod(axis=-1) * np.sqrt(relative))


def _moments(rows: Floats, statistic: str, mean: str, benchmarks: int) -> tuple[Floats, Floats]:
    """Return mean and variance of what each row's redrawn statistic contributes to the score."""
    expected, variance = np.full((2, len(rows)), np.nan)
    inside = (~np.isnan(rows)).sum(axis=-1)
    units = (inside > 0).sum(axis=-1)
    by_order = (inside <= 1).all(axis=-1) & (statistic in ORDER_STATISTICS)
    for number in np.unique(units[by_order & (units > 0)]).tolist():
        law = order_law(number, statistic)
        chosen = np.flatnonzero(by_order & (units == number))
        size = max(1, BLOCK // len(law.probability))
        for block in np.split(chosen, range(size, len(chosen), size)):
            values = np.sort(rows[block, :, 0], axis=-1)
            support = parts_of((values[:, law.low] + values[:, law.high]) / 2, mean, benchmarks)
            expected[block], variance[block] = _weighted(support, law.probability)
    # The other rows have units of their own shapes.
    for row in np.flatnonzero(~by_order & (units > 0)):
        expected[row], variance[row] = _redrawn_moments(rows[row][inside[row] > 0], statistic, mean, benchmarks)
    return expected, variance


def _weighted(support: Floats, probability: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of weighted values along the last axis; equal values have none, not that of rounding."""
    apart = support - support[..., :1]
    shift = apart @ probability
    return support[..., 0] + shift, ((apart - shift[..., None]) ** 2) @ probability


def _redrawn_moments(units: Floats, statistic: str, mean: str, benchmarks: int) -> tuple[float, float]:
    """Return mean and variance of what one benchmark contributes when its units (units, runs) are redrawn; NaN where not known."""
    if (statistic, mean) in (("geometric", "geometric"), ("mean", "arithmetic")):
        return _averaged_moments(statistic_of(units[:, None], statistic), mean, benchmarks)
    if len(units) > FEW:
        return np.nan, np.nan
    drawn, probability = redraws(len(units))
    expected, variance = _weighted(parts_of(statistic_of(units[drawn], statistic), mean, benchmarks), probability)
    return float(expected), float(variance)


def _averaged_moments(units: Floats, mean: str, benchmarks: int) -> tuple[float, float]:
    """Return the same where the statistic averages units on the scale of the mean over benchmarks: any number of units."""
    number = len(units)
    if mean == "arithmetic":
        return float(units.mean() / benchmarks), float(_spread_of(units) ** 2 / number / benchmarks**2)
    factors = parts_of(units, mean, benchmarks * number)
    expected = float(factors.mean() ** number)
    return expected, float(expected**2 * np.expm1(number * np.log1p((_spread_of(factors) / factors.mean()) ** 2)))


def _spread_of(values: Floats) -> float:
    """Return the standard deviation of values (divisor n); equal ones have none, where that from their rounded mean is not zero."""
    return float((values - values[0]).std())


def redraws(number: int) -> tuple[Integers, Floats]:
    """Return all ways to draw as many units as there are, without regard to order (ways, units), and their probabilities."""
    drawn = np.array(list(combinations_with_replacement(range(number), number)))
    repeats = [np.bincount(way, minlength=number) for way in drawn]
    ways = [factorial(number) / prod(factorial(int(times)) for times in repeat) for repeat in repeats]
    return drawn, np.array(ways) / float(number) ** number


def _shared_spread(suite: Suite, statistic: str, mean: str) -> Floats:
    """Return the standard deviation where units are redrawn for all benchmarks at once, cell by cell: each has units of its own."""
    found = np.full(len(suite.runs), np.nan)
    for cell, runs in enumerate(suite.runs):
        units = runs[:, ~np.isnan(runs[:, :, 0]).any(axis=0)]
        benchmarks, number, _ = units.shape
        if (statistic, mean) in (("geometric", "geometric"), ("mean", "arithmetic")) and number:
            each = statistic_of(units.reshape(benchmarks * number, 1, -1), statistic).reshape(benchmarks, number)
            scores = from_scale(to_scale(each, mean).mean(axis=0), mean)
            found[cell] = np.sqrt(_averaged_moments(scores, mean, 1)[1])
        elif 0 < number <= FEW:
            drawn, probability = redraws(number)
            scores = _scores_of_draws(units, np.broadcast_to(drawn, (benchmarks, *drawn.shape)), statistic, mean)
            found[cell] = np.sqrt(_weighted(scores, probability)[1])
    return found


def _scores_of_draws(units: Floats, drawn: Integers, statistic: str, mean: str) -> Floats:
    """Return the scores of redrawn experiments; units (benchmarks, units, runs), draws (benchmarks, draws, units)."""
    each = np.stack([statistic_of(own[picks], statistic) for own, picks in zip(units, drawn, strict=True)])
    return from_scale(to_scale(each, mean).mean(axis=0), mean)


def drawn_spread(suite: Suite, cells: Integers, statistic: str, drawing: Drawing) -> Spread:
    """Return the score and its standard deviation over redrawn experiments, drawn at random."""
    found = np.full(len(cells), np.nan)
    counts = equal_counts(suite)
    single = (suite.runs.shape[-1] == 1) & (counts > 0) & (statistic in ORDER_STATISTICS)
    tabled = single & (counts.astype(float) ** counts <= TABLE)
    for number in np.unique(counts[tabled]).tolist():
        places = np.flatnonzero(tabled & (counts == number))
        law = order_law(number, statistic)
        values = np.sort(suite.runs[places, :, :, 0], axis=-1)
        support = (values[..., law.low] + values[..., law.high]) / 2
        # Every way to redraw the runs is as likely as any other: a value counts as often as ways lead to it.
        ways = np.rint(law.probability * number**number).astype(int)
        likely = Suite(np.repeat(support, ways, axis=-1)[:, :, None], None)
        found[places] = summarise_scores(likely, cells[places], drawing).standard_deviation
    measured = ~np.isnan(suite.runs[..., 0]).all(axis=-1).any(axis=-1)
    streams = Streams(drawing.key)
    for place in np.flatnonzero(~tabled & measured):
        scores = _redraw(suite, int(place), cells[[place]], streams, statistic, drawing)
        found[place] = (scores - scores[0]).std(ddof=1)
    return Spread(performance_of(suite, statistic, drawing.mean), found)


def _redraw(suite: Suite, place: int, cell: Integers, streams: Streams, statistic: str, drawing: Drawing) -> Floats:
    """Return the scores of redrawn experiments of one cell, whose units are drawn one by one."""
    runs = suite.runs[place]
    present = ~np.isnan(runs[..., 0])
    scores = np.empty(drawing.n_resamples)
    size = max(1, BLOCK // runs.size)
    for start in range(0, len(scores), size):
        number = min(size, len(scores) - start)
        if suite.shares is None:
            each = np.empty((len(runs), number))
            for benchmark, own in enumerate(runs):
                units = own[present[benchmark]]
                drawn = drawn_places(len(units), cell, UNITS | benchmark, streams, number, start)[0]
                each[benchmark] = statistic_of(units[drawn], statistic)
            scores[start : start + number] = from_scale(to_scale(each, drawing.mean).mean(axis=0), drawing.mean)
        else:
            units = runs[:, present.all(axis=0)]
            drawn = drawn_places(units.shape[1], cell, UNITS, streams, number, start)[0]
            scores[start : start + number] = _scores_of_draws(
                units, np.broadcast_to(drawn, (len(runs), *drawn.shape)), statistic, drawing.mean
            )
    return scores
