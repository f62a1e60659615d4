"""Spikes: one or two outermost units without which a mean square is less than half.

Of normal values, the share of a level's sum of squares that leaving out some units takes away is
beta distributed, and its law is that of Cochran's test of a large variance below the outermost
level, of Grubbs' tests of one and two outliers there. Bonferroni's bound over the units makes
p-values that are never too small.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from perfarray.numerics.levels import mean_of_measured
from perfarray.numerics.nested_anova import Components
from perfarray.numerics.types import Floats, Integers, Mask
from perfarray.variation.numerics.component_intervals import patterns
from perfarray.variation.numerics.jackknife import LEAST_UNITS, unit_squares

LEFT = 0.5  # what is left, at most, of the mean square of a level that some units carry
# a p-value below which it is asked whether values were rounded, which is dear: a step of a clock is
# no spike
DOUBTFUL = 0.01
NONE = -1  # the place of a unit that is not there


class Carriers(NamedTuple):
    """Places of one or two outermost units, their share of the sum of squares, and its p-value.

    The p-value is 1 where no unit carries the level, and NaN where that cannot be seen: below three
    units, or without variation.
    """

    first: Integers
    second: Integers
    share: Floats
    pvalue: Floats


class _Removal(NamedTuple):
    """What leaving out one unit, and two, takes from a level of some cells: shapes (2, cells)."""

    first: Integers
    second: Integers
    squares: Floats
    df: Floats
    ways: Floats


def carriers(values: Floats, components: Components) -> Carriers:
    """Return the outermost units that carry a level (..., L) of values (..., n_L, ..., n_1)."""
    levels = components.level_df.shape[-1]
    nominal = components.level_df.reshape(-1, levels)
    answer = np.full((4, *nominal.shape), np.nan)
    answer[:2] = NONE
    for cells, (rows, columns) in patterns(
        values.reshape(-1, *values.shape[values.ndim - levels :]), nominal
    ):
        if columns.ravel()[-1] > 0:
            continue  # of one outermost unit, what stands in its place are units inside it
        squares, df, means = unit_squares(cells)
        away = means - mean_of_measured(means)[:, None]
        units = np.isfinite(away).sum(axis=1)
        removals = [*map(_below, squares, df), _outermost(away)]  # the lowest level first
        totals = [*(carried.sum(axis=1) for carried in squares), np.nansum(away**2, axis=1)]
        degrees = [*(level_df.sum(axis=1) for level_df in df), units - 1.0]
        answer[:, rows, columns] = np.stack(
            list(map(partial(_judged, cells, units >= LEAST_UNITS), removals, totals, degrees)),
            axis=-1,
        )
    answer = answer.reshape(4, *components.level_df.shape)
    return Carriers(*answer[:2].astype(np.intp), *answer[2:])


def _below(squares: Floats, df: Floats) -> _Removal:
    """Return what the unit and the two units with the largest sums of squares take."""
    order = np.argsort(-squares, axis=1)[:, :2]
    squares_taken, removed = (
        np.cumsum(np.take_along_axis(array, order, axis=1), axis=1).T for array in (squares, df)
    )
    first, second = order.T
    return _Removal(
        np.stack([first, first]),
        np.stack([np.full_like(first, NONE), second]),
        squares_taken,
        removed,
        _ways(df > 0),
    )


def _ways(units: Mask) -> Floats:
    """Return in how many ways one, and two, of the units (cells, units) can be chosen."""
    n = units.sum(axis=1, dtype=float)
    return np.stack([n, n * (n - 1) / 2])


def _outermost(away: Floats) -> _Removal:
    """Return the same of means (cells, units), whose distances are from the mean of all.

    That mean moves without them; two are at the ends.
    """
    is_unit = np.isfinite(away)
    n, order, number = (
        is_unit.sum(axis=1),
        np.argsort(away, axis=1),
        np.array([1.0, 1.0, 2.0, 2.0, 2.0])[:, None],
    )
    rows, last = np.arange(len(away)), np.maximum(n - 1, 0)  # units that are not there stand last
    lowest, second, next_to_last, highest = (
        order[rows, np.clip(rank, 0, away.shape[1] - 1)] for rank in (0, 1, last - 1, last)
    )
    none = np.full_like(lowest, NONE)
    units = np.array(
        [[lowest, highest, lowest, highest, lowest], [none, none, second, next_to_last, highest]]
    )  # (2, choices, cells)
    values = np.where(units == NONE, 0.0, away[rows, units])
    with np.errstate(divide="ignore", invalid="ignore"):
        squares_taken = (values**2).sum(axis=0) + values.sum(axis=0) ** 2 / (n - number)
    filled = np.nan_to_num(squares_taken, nan=-1.0)
    largest = np.stack([filled[:2].argmax(axis=0), 2 + filled[2:].argmax(axis=0)])
    first, second_unit = units[:, largest, rows]
    return _Removal(
        first,
        second_unit,
        squares_taken[largest, rows],
        np.broadcast_to(number[1:3], largest.shape),
        _ways(is_unit),
    )


def _judged(cells: Floats, repeated: Mask, removal: _Removal, total: Floats, df: Floats) -> Floats:
    """Return the fields of `Carriers` (4, cells), of the units that chance makes least often."""
    eligible, rounding = repeated & (total > 0) & (df > 1), np.zeros(len(total))
    chances = _chance(removal, total, df, rounding)
    doubtful = np.flatnonzero(eligible & (chances.min(axis=0) < DOUBTFUL))
    if len(doubtful):
        for cell in doubtful:
            gaps = np.diff(np.unique(cells[cell][~np.isnan(cells[cell])]))
            rounding[cell] = gaps.min() ** 2 / 12 if gaps.size else 0.0
        chances = _chance(removal, total, df, rounding)
    smallest = chances.argmin(axis=0), np.arange(len(total))
    first, second, squares_taken = (field[smallest] for field in removal[:3])
    # There are two looks: at one unit, and at two.
    pvalue = np.minimum(1.0, 2 * chances[smallest])
    carried = eligible & (pvalue < 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = (
            np.where(carried, squares_taken / total, np.nan),
            np.where(eligible, pvalue, np.nan),
        )
    # Sums of other blocks of cells differ in their last digits, which are not known: 32 of 53 bits
    # are kept.
    share, pvalue = (
        np.ldexp(np.round(mantissa * 2.0**32) / 2.0**32, exponent)
        for mantissa, exponent in map(np.frexp, shares)
    )
    return np.stack(
        [np.where(carried, first, NONE), np.where(carried, second, NONE), share, pvalue]
    )


def _chance(removal: _Removal, total: Floats, df: Floats, rounding: Floats) -> Floats:
    """Return how often, at most, some units of normal values take as much.

    `rounding` is the variance of one degree of freedom that values do not show because they were
    rounded.
    """
    from scipy.special import betainc

    remaining_df = df - removal.df
    with np.errstate(divide="ignore", invalid="ignore"):
        remaining = np.maximum(total - removal.squares, 0.0) + remaining_df * rounding
        share = remaining / (remaining + removal.squares)
        carried = (remaining_df > 0) & (share / remaining_df < LEFT / df)
        chance = betainc(
            np.where(carried, remaining_df, 1.0) / 2,
            np.where(carried, removal.df, 1.0) / 2,
            np.where(carried, share, 1.0),
        )
    return np.asarray(np.where(carried, np.minimum(1.0, removal.ways * chance), 1.0))
