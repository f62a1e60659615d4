"""How many runs make the interval of a ratio of scores narrow (Irving et al. 2018, section 8)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from perfarray.numerics.bootstrap import Draws
from perfarray.numerics.intervals import t_quantile
from perfarray.numerics.searching import first_true
from perfarray.numerics.suite import SuiteSides, smallest_number
from perfarray.numerics.types import Floats, Integers
from perfarray.suites.numerics.ratios import ScoreRatio, ratio_intervals
from perfarray.suites.numerics.redrawn_scores import Score

FURTHEST = 10_000_000  # runs beyond which nobody looks


class RequiredRuns(NamedTuple):
    """Fewest runs whose interval is narrow enough, from the data and by extrapolation.

    And the intervals (..., runs).
    """

    required: Floats
    extrapolated: Floats
    estimate: Floats
    lower: Floats
    upper: Floats
    width: Floats


def required_runs(
    sides: SuiteSides,
    cells: Integers,
    score: Score,
    draws: Draws | None,
    method: str,
    *,
    width: float,
    start: int,
) -> RequiredRuns:
    """Look for the fewest runs, from `start` on, whose interval is within `width`.

    `required` is NaN where the data do not suffice; `extrapolated` is then the number at which the
    interval of all runs, shrunk by the square root of the runs and with their t, is narrow enough.
    """
    available = smallest_number(sides)
    runs = np.arange(start, min(sides.new.shape[-1], sides.old.shape[-1]) + 1)
    fields = np.full((4, *available.shape, len(runs)), np.nan)
    first_runs = [_first_runs(side) for side in (sides.new, sides.old)]
    # Each number of runs has an interval of its own.
    for index, number in enumerate(runs[runs <= available.max(initial=0)].tolist()):
        new, old = (first(number) for first in first_runs)
        interval = ScoreRatio(
            *ratio_intervals(sides._replace(new=new, old=old), cells, score, draws, method)
        )
        for row, values in zip(
            fields, (interval.estimate, interval.lower, interval.upper, interval.df), strict=True
        ):
            row[..., index] = np.where(available >= number, values, np.nan)
    widths = fields[2] - fields[1]
    with np.errstate(invalid="ignore"):
        narrow = widths <= width
    required = np.where(narrow.any(axis=-1), runs[np.argmax(narrow, axis=-1)].astype(float), np.nan)
    last = np.maximum((~np.isnan(widths)).sum(axis=-1) - 1, 0)[..., None]
    lower, upper, df = (np.take_along_axis(values, last, axis=-1)[..., 0] for values in fields[1:])
    extrapolated = extrapolate(lower, upper, df, runs[last[..., 0]].astype(float), score, width)
    return RequiredRuns(
        required,
        np.where(np.isnan(required), extrapolated, required),
        fields[0],
        fields[1],
        fields[2],
        widths,
    )


def _first_runs(units: Floats) -> Callable[[int], Floats]:
    """Return a function that takes the first runs of units (..., units)."""
    measured = ~np.isnan(units)
    counts = np.cumsum(measured, axis=-1)
    positions = np.where(measured, np.arange(units.shape[-1]), -1).reshape(-1, units.shape[-1])
    ends = np.zeros(units.shape[-1] + 1, dtype=int)  # behind the run of each number that comes last
    np.maximum.at(ends, counts.reshape(positions.shape), positions + 1)

    def first(number: int) -> Floats:
        end = int(ends[number])
        return (
            units[..., :end]
            if end <= number
            else np.where(counts[..., :end] <= number, units[..., :end], np.nan)
        )

    return first


def extrapolate(
    lower: Floats, upper: Floats, df: Floats, runs: Floats, score: Score, width: float
) -> Floats:
    """Return the fewest runs at which an interval of `runs` runs would be narrow enough.

    On the log scale its half-width shrinks with the square root of the runs, and its quantile of t
    as the degrees of freedom grow in proportion to runs - 1; bootstrap limits have no degrees of
    freedom, and shrink by the square root alone.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        centre, half = np.sqrt(lower * upper), np.log(upper / lower) / 2
    finite, df = np.isfinite(half), np.where(np.isnan(df), np.inf, df)

    def wide(number: Floats) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            quantiles = [
                t_quantile((1 + score.confidence_level) / 2, freedom)
                for freedom in (df * (number - 1) / (runs - 1), df)
            ]
            reached = half * np.sqrt(runs / number) * quantiles[0] / quantiles[1]
            return np.asarray(2 * centre * np.sinh(reached) > width)

    furthest = np.full(runs.shape, float(FURTHEST))
    n_runs = first_true(
        lambda number: ~wide(number), np.where(finite, runs + 1, furthest), furthest
    )  # the width falls with the runs
    return np.where(finite & ~wide(furthest), n_runs, np.nan)
