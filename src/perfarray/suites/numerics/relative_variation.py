"""The spread of a suite's score when units are drawn again with replacement.

The law of one benchmark's statistic is known where few values are possible (order statistics of n
runs, or any statistic of few units); moments of the mean over benchmarks follow from those of their
contributions, since benchmarks are independent.
"""

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from math import factorial, prod

import numpy as np

from perfarray.numerics.order_statistics import ORDER_STATISTICS, order_law
from perfarray.numerics.random import UNITS, Streams
from perfarray.numerics.statistics import evaluate
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.numerics.with_replacement import add_one_of_each, drawn_places, grouping, ways
from perfarray.suites.numerics.distributions import (
    TABLE,
    Drawing,
    SuiteRuns,
    contribution,
    draw_scores,
    equal_counts,
    from_scale,
    score_of,
    to_scale,
)

FEW = 8  # units up to which all 6,435 ways to redraw them are listed
BLOCK = 1 << 20  # values looked at together, which bounds the memory; it changes no number
PIECE = 1 << 15  # scores that are drawn at once from tables: they stay in the cache
# The Monte Carlo error, as a share of the standard deviation, that is drawn for by default; and
# the most draws
AIM, MOST = (
    0.02,
    10_000,
)

# of a series for the variance of a root, as a share of it: a twentieth of the Monte Carlo error
# that is aimed at
REMAINDER = 1e-3

# Statistic and mean that average on one scale
SAME_SCALE = (
    ("geometric", "geometric"),
    ("mean", "arithmetic"),
)


def statistic_of(runs: Floats, statistic: str) -> Floats:
    """Return a statistic of rows (rows, units, runs in a unit), each unit weighted alike."""
    return (
        np.exp(evaluate(np.log(runs), "mean"))
        if statistic == "geometric"
        else evaluate(runs, statistic)
    )


def _rows(suite: SuiteRuns) -> Floats:
    """Return the runs of every cell and benchmark: (cells * benchmarks, units, runs)."""
    return suite.runs.reshape(-1, *suite.runs.shape[2:])


def performance_of(suite: SuiteRuns, statistic: str, mean: str) -> Floats:
    """Return the score of the data, shape (cells,)."""
    return score_of(
        statistic_of(_rows(suite), statistic).reshape(suite.runs.shape[:2]), mean, suite.counts
    )


def exact_spread(suite: SuiteRuns, statistic: str, mean: str) -> Floats:
    """Return the exact standard deviation of the score over redrawn experiments.

    NaN where no closed form applies: harmonic means, and statistics whose law over more than `FEW`
    units is not known.
    """
    if suite.shares is not None:
        return np.array(
            [_shared_spread(runs, statistic, mean, suite.counts) for runs in suite.runs]
        )
    if mean == "harmonic":
        return np.full(len(suite.runs), np.nan)
    expected, variance = _moments(
        _rows(suite), statistic, mean, np.tile(suite.equal_benchmarks, len(suite.runs))
    )
    return _deviation(
        expected.reshape(suite.runs.shape[:2]), variance.reshape(suite.runs.shape[:2]), mean
    )


def _deviation(expected: Floats, variance: Floats, mean: str) -> Floats:
    """Return the standard deviation of a score from the moments of its contributions."""
    if mean == "arithmetic":
        return np.asarray(np.sqrt(variance.sum(axis=-1)))
    # Of a product of independent factors: (sd / mean)^2 + 1 is the product of theirs.
    relative = np.expm1(np.log1p(variance / expected**2).sum(axis=-1))
    return np.asarray(expected.prod(axis=-1) * np.sqrt(relative))


def _moments(rows: Floats, statistic: str, mean: str, benchmarks: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of what each row contributes to a score when redrawn."""
    expected, variance = np.full((2, len(rows)), np.nan)
    lengths = (~np.isnan(rows)).sum(axis=-1)
    units = (lengths > 0).sum(axis=-1)
    by_order = (lengths <= 1).all(axis=-1) & (statistic in ORDER_STATISTICS)
    for number in np.unique(units[by_order & (units > 0)]).tolist():
        law = order_law(number, statistic)
        for block in _split(by_order & (units == number), len(law.probability), BLOCK):
            support = law.support(np.sort(rows[block, :, 0], axis=-1))
            expected[block], variance[block] = _weighted(
                contribution(support, mean, benchmarks[block, None]), law.probability
            )
    # The other rows have units of their own shapes.
    for row in np.flatnonzero(~by_order & (units > 0)):
        expected[row], variance[row] = _redrawn_moments(
            rows[row][lengths[row] > 0], statistic, mean, benchmarks[row]
        )
    return expected, variance


def _split(where: Mask, values: int, max_values: int) -> list[Integers]:
    """Return the rows where a mask holds, in blocks of at most `max_values` values."""
    rows, size = np.flatnonzero(where), max(1, max_values // values)
    return np.split(rows, range(size, len(rows), size))


def _weighted(support: Floats, probability: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of weighted values along the last axis.

    Equal values have none, not that of rounding.
    """
    # Summed row by row: products of matrices round otherwise for other numbers of rows.
    deviations = support - support[..., :1]
    shift = (deviations * probability).sum(axis=-1)
    return support[..., 0] + shift, ((deviations - shift[..., None]) ** 2 * probability).sum(
        axis=-1
    )


def _redrawn_moments(
    units: Floats, statistic: str, mean: str, benchmarks: float
) -> tuple[float, float]:
    """Return mean and variance of what one redrawn benchmark contributes."""
    if (statistic, mean) in SAME_SCALE:
        return _averaged_moments(statistic_of(units[:, None], statistic), mean, benchmarks)
    if (
        statistic == "mean" and benchmarks == 1
    ):  # the mean of a single benchmark is itself, on any scale
        return _averaged_moments(statistic_of(units[:, None], statistic), "arithmetic", benchmarks)
    if len(units) > FEW:
        return (
            _root_moments(statistic_of(units[:, None], statistic), benchmarks)
            if statistic == "mean"
            else (np.nan, np.nan)
        )
    ways_to_redraw, probability = redraws(len(units))
    expected, variance = _weighted(
        contribution(statistic_of(units[ways_to_redraw], statistic), mean, benchmarks), probability
    )
    return float(expected), float(variance)


def _averaged_moments(units: Floats, mean: str, benchmarks: float) -> tuple[float, float]:
    """Return the same where the statistic averages units on the scale of the mean."""
    number = len(units)
    if mean == "arithmetic":
        return float(units.mean() / benchmarks), float(
            _spread_of(units) ** 2 / number / benchmarks**2
        )
    factors = contribution(units, mean, benchmarks * number)
    expected = float(factors.mean() ** number)
    return expected, float(
        expected**2 * np.expm1(number * np.log1p((_spread_of(factors) / factors.mean()) ** 2))
    )


def _root_moments(units: Floats, benchmarks: float) -> tuple[float, float]:
    """Return mean and variance of a root of the mean of redrawn units, by a series.

    NaN where its remainder might be seen.

    With d the relative deviation of the mean of n units, (1 + d)^p is expanded to the fourth power
    of d. The moments of d follow from those of the units: E[d^2] = m2 / n, E[d^3] = m3 / n^2,
    E[d^4] = 3 E[d^2]^2 + (m4 - 3 m2^2) / n^3.
    """
    number, power, level = len(units), 1 / benchmarks, float(units.mean())
    deviations = (units - units[0]) / level
    deviations -= deviations.mean()
    second, third, fourth = (float((deviations**order).mean()) for order in (2, 3, 4))
    two, three, four = (
        second / number,
        third / number**2,
        3 * (second / number) ** 2 + (fourth - 3 * second**2) / number**3,
    )
    farthest = float(np.abs(deviations).max()) / number
    if not 15 * two**2 + 10 * two * farthest + farthest**3 <= REMAINDER:
        return np.nan, np.nan
    once, twice = power * (power - 1) / 2, power * (power - 1) * (power - 2) / 6
    expected = level**power * (1 + once * two + twice * three)
    variance = level ** (2 * power) * (
        power**2 * two
        + 2 * power * once * three
        + (2 * power * twice + once**2) * four
        - (once * two) ** 2
    )
    return expected, variance


def _spread_of(values: Floats) -> float:
    """Return the standard deviation of values (divisor n).

    Equal ones have none, where that from their rounded mean is not zero.
    """
    return float((values - values[0]).std())


def redraws(number: int) -> tuple[Integers, Floats]:
    """Return all ways to draw as many units as there are, and their probabilities."""
    ways_to_redraw = np.array(list(combinations_with_replacement(range(number), number)))
    repeats = [np.bincount(way, minlength=number) for way in ways_to_redraw]
    orders = [
        factorial(number) / prod(factorial(int(times)) for times in repeat) for repeat in repeats
    ]
    return ways_to_redraw, np.array(orders) / float(number) ** number


def _shared_spread(runs: Floats, statistic: str, mean: str, counts: Floats) -> float:
    """Return the standard deviation where units are redrawn for all benchmarks at once."""
    units = _complete(runs)
    benchmarks, number, _ = units.shape
    if (statistic, mean) in SAME_SCALE and number:
        statistics = statistic_of(units.reshape(benchmarks * number, 1, -1), statistic).reshape(
            benchmarks, number
        )
        return float(np.sqrt(_averaged_moments(score_of(statistics.T, mean, counts), mean, 1)[1]))
    if not 0 < number <= FEW:
        return np.nan
    ways_to_redraw, probability = redraws(number)
    return float(
        np.sqrt(
            _weighted(
                _scores_of_draws(units, ways_to_redraw, statistic, mean, counts), probability
            )[1]
        )
    )


def _complete(runs: Floats) -> Floats:
    """Return the units that every benchmark has."""
    return runs[:, ~np.isnan(runs[..., 0]).any(axis=0)]


def _scores_of_draws(
    units: Floats, draws: Integers, statistic: str, mean: str, counts: Floats
) -> Floats:
    """Return the scores of experiments that redraw units for all benchmarks at once."""
    return score_of(
        np.stack(
            [statistic_of(benchmark_units[draws], statistic) for benchmark_units in units], axis=-1
        ),
        mean,
        counts,
    )


def drawn_spread(
    suite: SuiteRuns, cells: Integers, statistic: str, drawing: Drawing
) -> tuple[Floats, Floats]:
    """Return the standard deviation over random experiments, and its Monte Carlo error."""
    deviations, errors = np.full((2, len(cells)), np.nan)
    counts, one_level, batched = (
        equal_counts(suite),
        suite.runs.shape[-1] == 1,
        np.zeros(len(cells), dtype=bool),
    )
    for number in np.unique(counts[one_level & (counts > 0)]).tolist():
        where, tabled = (
            one_level & (counts == number),
            statistic in ORDER_STATISTICS and number**number <= TABLE,
        )
        if not tabled and grouping(number).picks > 1:
            continue
        batched |= where
        for block in _split(where, drawing.n_resamples, BLOCK if tabled else PIECE):
            subset = suite._replace(runs=suite.runs[block])
            if tabled:  # each value of the statistic as often as ways to redraw the runs lead to it
                law = order_law(number, statistic)
                often = np.rint(law.probability * number**number).astype(int)
                values = np.repeat(
                    law.support(np.sort(subset.runs[..., 0], axis=-1)), often, axis=-1
                )
                scores = draw_scores(
                    subset._replace(runs=values[:, :, None]), cells[block], drawing
                )
            else:
                scores = _redraw_few(subset, cells[block], statistic, drawing)
            deviations[block], errors[block] = _of_scores(scores)
    for cell in _measured(suite, ~batched):
        deviations[cell], errors[cell] = _of_scores(
            _redraw(suite, int(cell), cells[[cell]], statistic, drawing)
        )
    return deviations, errors


def filled_spread(
    suite: SuiteRuns,
    cells: Integers,
    statistic: str,
    drawing: Drawing,
    aim: float,
    after_each: Callable[[], object] | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return the same, and the number of draws that brings the error below an aim.

    Benchmarks that share no units are drawn one by one: the contribution of each to the score has
    moments of its own, and those of the score follow from them with an error that is smaller by the
    square root of the number of benchmarks.
    """
    deviations, errors, draws = np.full((3, len(cells)), np.nan)
    by_benchmark = suite.shares is None and drawing.mean != "harmonic"
    for cell in _measured(suite, np.ones(len(cells), dtype=bool)):
        number = drawing.n_resamples
        while True:
            request = drawing._replace(n_resamples=number)
            if by_benchmark:
                statistics = _redraw_each(suite, int(cell), cells[[cell]], statistic, request)
                contributions = contribution(
                    statistics, drawing.mean, suite.equal_benchmarks[:, None]
                )
                deviations[cell], errors[cell] = _of_contributions(contributions, drawing.mean)
            else:
                deviations[cell], errors[cell] = _of_scores(
                    _redraw(suite, int(cell), cells[[cell]], statistic, request)
                )
            draws[cell] = number
            if not errors[cell] > aim or number >= MOST:
                break
            number = min(MOST, int(number * max(1.5, 1.1 * (errors[cell] / aim) ** 2)))
        if after_each is not None:
            after_each()
    return deviations, errors, draws


def _measured(suite: SuiteRuns, where: Mask) -> Integers:
    """Return the rows of measured cells where a mask holds."""
    return np.flatnonzero(where & ~np.isnan(suite.runs[..., 0]).all(axis=-1).any(axis=-1))


def _drawn_moments(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean and variance along the last axis, and the variance of that variance."""
    deviations = (
        values - values[..., :1]
    )  # equal draws have no variance, where that from their rounded mean is not zero
    shift = deviations.mean(axis=-1, keepdims=True)
    squares, number = (deviations - shift) ** 2, values.shape[-1]
    return (
        (values[..., :1] + shift)[..., 0],
        squares.sum(axis=-1) / (number - 1),
        squares.var(axis=-1) / number,
    )


def _of_scores(scores: Floats) -> tuple[Floats, Floats]:
    """Return the standard deviation of scores, and its Monte Carlo error as a share of it."""
    _, variance, chance = _drawn_moments(scores)
    return np.sqrt(variance), _share(np.sqrt(chance), 2 * variance)


def _of_contributions(contributions: Floats, mean: str) -> tuple[Floats, Floats]:
    """Return the same of the score that contributions make up, to first order."""
    expected, variance, chance = _drawn_moments(contributions)
    deviation = _deviation(expected, variance, mean)
    if mean == "arithmetic":
        return deviation, _share(np.sqrt(chance.sum()), 2 * deviation**2)
    relative = variance / expected**2
    total = np.expm1(np.log1p(relative).sum())
    slopes = (1 + total) / (1 + relative) / expected**2
    return deviation, _share(np.sqrt((slopes**2 * chance).sum()), 2 * total)


def _share(numerator: Floats, denominator: Floats) -> Floats:
    """Return a quotient; 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(denominator), where=denominator > 0)


def _redraw(
    suite: SuiteRuns, index: int, cell: Integers, statistic: str, drawing: Drawing
) -> Floats:
    """Return the scores of redrawn experiments of one cell, whose units are drawn one by one."""
    if suite.shares is None:
        return score_of(
            _redraw_each(suite, index, cell, statistic, drawing).T, drawing.mean, suite.counts
        )
    units, streams, blocks = _complete(suite.runs[index]), Streams(drawing.key), []
    for start, number in _windows(drawing.n_resamples, suite.runs[index].size):
        picks = drawn_places(units.shape[1], cell, UNITS, streams, number, start)[0]
        blocks.append(_scores_of_draws(units, picks, statistic, drawing.mean, suite.counts))
    return np.concatenate(blocks)


def _redraw_few(suite: SuiteRuns, cells: Integers, statistic: str, drawing: Drawing) -> Floats:
    """Return the same of benchmarks with equally few runs: each way is computed once."""
    runs, benchmarks = suite.runs[..., 0], suite.runs.shape[1]
    measured = ~np.isnan(runs)
    count = int(measured[0, 0].sum())
    values_by_way = runs[measured].reshape(len(cells), benchmarks, count)[..., ways(count, count)]
    tables = to_scale(
        statistic_of(values_by_way.reshape(-1, count, 1), statistic), drawing.mean
    ).reshape(len(cells), benchmarks, -1)
    tables = np.moveaxis(tables * suite.counts[:, None], 1, 0)
    total = np.zeros((len(cells), drawing.n_resamples))
    add_one_of_each(total[None], tables[None], cells, UNITS, Streams(drawing.key), own_streams=True)
    return from_scale(total / benchmarks, drawing.mean)


def _redraw_each(
    suite: SuiteRuns, index: int, cell: Integers, statistic: str, drawing: Drawing
) -> Floats:
    """Return the statistic of the redrawn units of every benchmark (benchmarks, draws)."""
    runs, streams = suite.runs[index], Streams(drawing.key)
    statistics = np.empty((len(runs), drawing.n_resamples))
    for start, number in _windows(drawing.n_resamples, runs.size):
        for benchmark, benchmark_runs in enumerate(runs):
            units = benchmark_runs[~np.isnan(benchmark_runs[:, 0])]
            picks = drawn_places(len(units), cell, UNITS | benchmark, streams, number, start)[0]
            statistics[benchmark, start : start + number] = statistic_of(units[picks], statistic)
    return statistics


def _windows(draws: int, values: int) -> Iterator[tuple[int, int]]:
    """Return where blocks of draws start, and how many each has."""
    size = max(1, BLOCK // values)
    return ((start, min(size, draws - start)) for start in range(0, draws, size))
