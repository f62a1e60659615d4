"""Limits of the variance components of a nested analysis of variance.

The lowest component is one mean square: its interval is exact (chi-square), whatever the imbalance. On balanced data a component above it
is a difference x - y of two independent mean squares, x = S_i^2 and y = S_{i-1}^2 / n_{i-1}: modified large sample limits

    x - y - sqrt(G1^2 x^2 + H2^2 y^2 + G12 x y)   and   x - y + sqrt(H1^2 x^2 + G2^2 y^2 + H12 x y),

which are exact where either mean square vanishes (the idea of Graybill and Wang 1980; differences: Ting, Burdick, Graybill, Jeyaratnam and
Lu 1990; Burdick and Graybill 1992, section 3.3). Negative limits are set to zero.

On ragged data the S_i^2, the mean squares of unweighted means (Thomas and Hultquist 1978; Burdick and Graybill 1992, chapters 4 and 5), are
sums of unequal parts. Their expectations are linear in the components, which gives every component as a difference x - y of sums of
mean squares; x and y have Satterthwaite's degrees of freedom, those of x at the limit itself, which makes the test whether a component
is zero one with the right degrees of freedom under that hypothesis.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.levels import mean_of_measured
from perfarray.numerics.nested_anova import BLOCK, Components, pool_levels, squares_within
from perfarray.numerics.types import Floats, Integers, Mask

ROUNDS = 4  # how often a ragged limit and the degrees of freedom it has there are brought together
# Share of the lowest component, at least, where degrees of freedom are worked out: data that do not vary at all have some too.
LEAST = 1e-12


class ComponentLimits(NamedTuple):
    """Along the levels; NaN where nothing is known."""

    lower: Floats
    upper: Floats
    standard_error: Floats


class Moments(NamedTuple):
    """Of the mean squares of unweighted means, lowest level first; shapes (cells, L, L) and (cells, L, L, L).

    E S_i^2 = sum_j expectation_ij T_j^2, and Var S_i^2 = 2 sum_jk spread_ijk T_j^2 T_k^2.
    """

    expectation: Floats
    spread: Floats


def anova_limits(values: Floats, components: Components, confidence_level: float) -> ComponentLimits:
    """Return two-sided limits (..., L) of the components of values (..., n_L, ..., n_1), and their standard errors, if values are normal.

    Of ragged cells only the lowest level has a standard error.
    """
    return limits_with_df(values, components, components.level_df, ~components.balanced, confidence_level)


def limits_with_df(values: Floats, components: Components, df: Floats, ragged: Mask, confidence_level: float) -> ComponentLimits:
    """Return the limits where mean squares have the degrees of freedom `df` (..., L); those of `ragged` cells (...) are approximate."""
    shape = components.variance.shape
    fields = (components.level_variance, components.level_df, df, components.repetitions)
    squares, nominal, df, repetitions = (field.reshape(-1, shape[-1]) for field in fields)
    ragged, limits = ragged.reshape(-1, 1), np.full((3, *squares.shape), np.nan)
    repetitions = np.where(ragged, np.nan, repetitions)
    for rows, columns in same_levels(nominal):
        at = np.ix_(rows, columns)
        limits[:, at[0], at[1]] = level_limits(squares[at], df[at], repetitions[at], confidence_level)
    cells = values.reshape(-1, *values.shape[values.ndim - shape[-1] :])
    for pooled, (rows, columns) in patterns(cells, np.where(ragged, nominal, np.nan)):
        moments, at = square_moments(pooled), (rows, columns)
        moments = moments._replace(spread=moments.spread * (nominal[at] / df[at])[:, :, None, None])
        with np.errstate(invalid="ignore"):  # an infinite value makes its own cell NaN
            limits[:2, rows, columns[:, 1:]] = ragged_limits(squares[at], moments, confidence_level)[:, :, 1:]
    return ComponentLimits(*limits.reshape(3, *shape))


def same_levels(df: Floats | Mask) -> Iterator[tuple[Integers, Integers]]:
    """Yield the rows of cells with degrees of freedom (cells, L) at the same levels, and the columns of these, the lowest level first."""
    has_df = df > 0
    for pattern in np.unique(has_df[has_df.any(axis=1)], axis=0):
        yield np.flatnonzero((has_df == pattern).all(axis=1)), np.flatnonzero(pattern)[::-1]


def patterns(cells: Floats, df: Floats | Mask, values: int = BLOCK) -> Iterator[tuple[Floats, tuple[Integers, ...]]]:
    """Yield cells that have the same levels, without the others, and where they and their levels stand, the lowest level first.

    So many values come at once, or one cell.
    """
    step = max(1, values // max(cells[:1].size, 1))
    for rows, columns in same_levels(df):
        removed = ~np.isin(np.arange(df.shape[1]), columns)
        for first in range(0, len(rows), step):
            block = rows[first : first + step]
            yield pool_levels(cells[block], removed), np.ix_(block, columns)


def level_limits(squares: Floats, df: Floats, repetitions: Floats, confidence_level: float) -> tuple[Floats, Floats, Floats]:
    """Return limits and standard errors (cells, L), lowest level first, from mean squares, their df and the repetitions in one parent."""
    below = np.zeros(squares.shape)
    below[:, 1:] = squares[:, :-1] / repetitions[:, :-1]
    widths, limits = 2 / df * squares**2, np.empty((2, *squares.shape))
    for level in range(squares.shape[1]):
        y = df[:, max(level - 1, 0)]
        # Factors are computed once for each pair of degrees of freedom that differs: most cells have the same.
        kinds, index = np.unique(df[:, level] + 1j * y, return_inverse=True)
        if not level:
            limits[..., 0] = [squares[:, 0] * factor[index] for factor in chi_square_factors(kinds.real, confidence_level)]
            continue
        factors = [factor[index] for factor in difference_factors(kinds.real, kinds.imag, confidence_level)]
        limits[..., level] = modified_limits(squares[:, level], below[:, level], factors)
        widths[:, level] += 2 / y * below[:, level] ** 2
    return limits[0], limits[1], np.sqrt(widths)


def modified_limits(x: Floats, y: Floats, factors: Any) -> tuple[Floats, Floats]:
    """Return the limits, zero at least, of x - y, given (G1^2, H2^2, G12, H1^2, G2^2, H12)."""
    squared_x, squared_y, product, difference = x * x, y * y, x * y, x - y
    down = factors[0] * squared_x + factors[1] * squared_y + factors[2] * product
    up = factors[3] * squared_x + factors[4] * squared_y + factors[5] * product
    low, high = difference - np.sqrt(np.maximum(down, 0.0)), difference + np.sqrt(np.maximum(up, 0.0))
    return np.maximum(low, 0.0), np.maximum(high, 0.0)


def chi_square_factors(df: Any, confidence_level: float) -> tuple[Any, Any]:
    """Return what a mean square is multiplied by to give the limits of its expectation."""
    from scipy.special import chdtri

    tail = (1 - confidence_level) / 2
    return df / chdtri(df, tail), df / chdtri(df, 1 - tail)


def difference_factors(df_x: Any, df_y: Any, confidence_level: float) -> tuple[Any, ...]:
    """Return (G1^2, H2^2, G12, H1^2, G2^2, H12) of Burdick and Graybill, each limit with half of what is not covered."""
    tail = (1 - confidence_level) / 2
    return *_one_side(df_x, df_y, tail, 1 - tail), *_one_side(df_x, df_y, 1 - tail, tail)


def _one_side(df_x: Any, df_y: Any, tail: float, complement: float) -> tuple[Any, Any, Any]:
    """Return the factors of x^2, y^2 and x y of the lower limit; with the two probabilities exchanged, of the upper."""
    from scipy.special import chdtri, fdtri

    lower_factor, upper_factor = 1 - df_x / chdtri(df_x, tail), df_y / chdtri(df_y, complement) - 1
    quantile = fdtri(df_x, df_y, complement)
    return lower_factor**2, upper_factor**2, ((quantile - 1) ** 2 - lower_factor**2 * quantile**2 - upper_factor**2) / quantile


def square_moments(cells: Floats) -> Moments:
    """Return the moments of the mean squares of cells (count, n_L, ..., n_1) all of whose levels can be told apart.

    A mean of unweighted means has the variance sum_j a_j T_j^2; its a_j are the mean of its children's, over their number.
    """
    count, levels = len(cells), cells.ndim - 1
    expectation, spread = np.zeros((count, levels, levels)), np.zeros((count, levels, levels, levels))
    number = (~np.isnan(cells)).sum(axis=-1)
    expectation[:, 0, 0], spread[:, 0, 0, 0] = 1.0, 1 / _over_parents(np.maximum(number - 1, 0))
    nodes_by_level = [_reciprocal(number)]
    for level in range(1, levels):
        nodes_by_level.append((number > 0).astype(float))
        number = (number > 0).sum(axis=-1)
        share, totals = _reciprocal(number), [nodes.sum(axis=-1) for nodes in nodes_by_level]
        df = _over_parents(np.maximum(number - 1, 0))
        for j, (node, total) in enumerate(zip(nodes_by_level, totals, strict=True)):
            expectation[:, level, j] = _over_parents((number - 1) * share * total) / df
            for k in range(j + 1):
                products = (node * nodes_by_level[k]).sum(axis=-1) * (1 - 2 * share) + total * totals[k] * share**2
                spread[:, level, j, k] = spread[:, level, k, j] = _over_parents(products) / df**2
        nodes_by_level = [total * share**2 for total in totals]
    return Moments(expectation, spread)


def _over_parents(values: npt.NDArray[Any]) -> Floats:
    """Add what the parents of one level have, cell by cell."""
    return np.asarray(values.reshape(len(values), -1).sum(axis=1), dtype=float)


def _reciprocal(number: Integers) -> Floats:
    """Return 1 / number, and zero for a parent without children."""
    return np.divide(1.0, number, out=np.zeros(number.shape), where=number > 0)


def ragged_limits(squares: Floats, moments: Moments, confidence_level: float) -> Floats:
    """Return lower and upper limits (2, cells, L) from the mean squares of unweighted means, lowest level first; NaN at the lowest.

    A component is a sum of mean squares with weights of both signs: x has the positive ones, y the negative.
    """
    tail = (1 - confidence_level) / 2
    weights = np.linalg.inv(moments.expectation)
    components = np.maximum(np.matvec(weights, squares), 0.0)
    components[:, 0] = np.maximum(components[:, 0], LEAST * components.max(axis=1))
    components[components[:, 0] == 0, 0] = 1.0
    limits = np.full((2, *squares.shape), np.nan)
    for level in range(1, squares.shape[1]):
        more, less = np.maximum(weights[:, level], 0.0), np.maximum(-weights[:, level], 0.0)
        x, y = np.vecdot(more, squares), np.vecdot(less, squares)
        df_y = effective_df(moments, components, less)
        for limit, sign, probabilities in zip(limits, (-1, 1), ((tail, 1 - tail), (1 - tail, tail)), strict=True):
            trial = components.copy()
            for _ in range(ROUNDS):
                more_factor, less_factor, product_factor = _one_side(effective_df(moments, trial, more), df_y, *probabilities)
                width = np.sqrt(np.maximum(more_factor * x * x + less_factor * y * y + product_factor * x * y, 0.0))
                trial[:, level] = np.maximum(x - y + sign * width, 0.0)
            limit[:, level] = trial[:, level]
    return limits


def effective_df(moments: Moments, components: Floats, weights: Floats) -> Floats:
    """Return Satterthwaite's degrees of freedom, 2 mean^2 / variance, of weighted sums of the mean squares."""
    scaled = components / components.sum(axis=1, keepdims=True)
    mean = np.vecdot(weights, np.matvec(moments.expectation, scaled))
    variance = np.vecdot(weights**2, np.vecdot(np.matvec(moments.spread, scaled[:, None]), scaled[:, None]))
    return np.asarray(mean**2 / variance)


LEAST_UNITS = 3  # outermost units: of two, leaving out one leaves no variance
# Outermost units from which on unevenness is looked at: 7 to 11 % of 10 normal ones, 1 to 2 % of 30, show 3 or more at any level.
LEAST_SEEN = 10
LEAST_DF = 0.25  # degrees of freedom below which limits say nothing that can be written down


def jackknife_limits(values: Floats, components: Components, confidence_level: float) -> ComponentLimits:
    """Return limits (..., L) of the components of values (..., n_L, ..., n_1) with the degrees of freedom that their mean squares show."""
    levels = components.level_df.shape[-1]
    nominal = components.level_df.reshape(-1, levels)
    df = nominal.copy()
    for pooled, at in patterns(values.reshape(-1, *values.shape[values.ndim - levels :]), nominal):
        shown_df = _df_of(log_variance(pooled))
        df[at] = np.where(np.isnan(shown_df), nominal[at], np.clip(shown_df, LEAST_DF, nominal[at]))
    ragged = np.asarray(np.isnan(values).any(axis=tuple(range(-levels, 0))))
    return limits_with_df(values, components, df.reshape(components.level_df.shape), ragged, confidence_level)


def evenness(means: Floats) -> Floats:
    """Return what share of its degrees of freedom the variance of units (..., units) has by its own variation; 1 where it is not known."""
    units = (~np.isnan(means)).sum(axis=-1)
    nominal = np.maximum(units - 1, 1).astype(float)
    shown_df = _df_of(log_variance(means.reshape(-1, means.shape[-1]))[:, 0]).reshape(nominal.shape)
    return np.where(np.isnan(shown_df), 1.0, np.clip(shown_df, LEAST_DF, nominal) / nominal)


def unevenness(values: Floats, components: Components, most: int | None = None) -> Floats:
    """Return along the levels how much more the log of a mean square varies than that of normal values would: (..., L).

    NaN with fewer than `LEAST_SEEN` outermost units, of which that cannot be seen; with `most`, also in all but so many cells, spread
    evenly.
    """
    from scipy.special import polygamma

    levels = components.level_df.shape[-1]
    nominal = components.level_df.reshape(-1, levels)
    step = 1 if most is None else -(-len(nominal) // most) or 1
    result = np.full(nominal.shape, np.nan)
    cells = values.reshape(-1, *values.shape[values.ndim - levels :])[::step]
    nominal, result_of_cells = nominal[::step], result[::step]
    normal = polygamma(1, nominal / 2)
    for pooled, at in patterns(cells, nominal):
        units = (~np.isnan(pooled)).any(axis=tuple(range(2, pooled.ndim))).sum(axis=1)
        result_of_cells[at] = np.where(units[:, None] >= LEAST_SEEN, log_variance(pooled) / normal[at], np.nan)
    return result.reshape(components.level_df.shape)


def log_variance(cells: Floats) -> Floats:
    """Return the jackknife's variance of the log mean squares of cells (count, n_L, ..., n_1), lowest level first; NaN without one."""
    measured = np.asarray(~np.isnan(cells).all(axis=tuple(range(2, cells.ndim))))
    units = measured.sum(axis=1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.where(measured[..., None], np.log(left_out(cells)), 0.0)
        nothing = np.isneginf(logs)
        # A level that varies inside one unit alone: without that unit nothing is left.
        alone = nothing.any(axis=1) & ~(nothing | ~measured[..., None]).all(axis=1)
        away = np.where(measured[..., None], logs - logs.sum(axis=1)[:, None] / units[..., None], 0.0)
        variance = (units - 1) / units * (away**2).sum(axis=1)
    variance = np.where(alone, np.inf, variance)
    return np.where((units >= LEAST_UNITS) & ~np.isnan(variance), variance, np.nan)


def left_out(cells: Floats) -> Floats:
    """Return the mean squares (count, n_L, L), lowest level first, that remain when each outermost unit is left out."""
    squares, df, means = unit_squares(cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_squares = [
            (level_squares.sum(axis=1, keepdims=True) - level_squares) / (each.sum(axis=1, keepdims=True) - each)
            for level_squares, each in zip(squares, df, strict=True)
        ]
        n = (~np.isnan(means)).sum(axis=1, keepdims=True)
        away = np.nan_to_num(means - mean_of_measured(means)[:, None]) ** 2
        # What leaving out one value takes from the sum of squares around the mean, which moves.
        mean_squares.append((away.sum(axis=1, keepdims=True) - away * n / (n - 1)) / (n - 2))
    return np.stack(mean_squares, axis=-1)


def unit_squares(cells: Floats) -> tuple[list[Floats], list[Floats], Floats]:
    """Return the sums of squares (count, n_L) inside every outermost unit, lowest level first, their df, and the units' means."""
    squares: list[Floats] = []
    df: list[Floats] = []
    means, no_gaps = cells, not np.isnan(cells).any()
    while means.ndim > 2:
        units, n = means.shape[:2], means.shape[-1]
        if no_gaps:
            parents, within = squares_within(means.reshape(units[0] * units[1], -1, n))
            each = np.full(units, float(parents.shape[1] * (n - 1)))
        else:
            parents = mean_of_measured(means.copy())
            away = np.nan_to_num(means - parents[..., None])
            within = np.einsum("...n,...n->...", away, away).reshape(*units, -1).sum(axis=-1)
            each = np.maximum((~np.isnan(means)).sum(axis=-1) - 1, 0).reshape(*units, -1).sum(axis=-1).astype(float)
        squares.append(within.reshape(units))
        df.append(each)
        means = parents.reshape(means.shape[:-1])
    return squares, df, means


def _df_of(variance: Floats) -> Floats:
    """Return the degrees of freedom of a chi-square variable whose log has this variance: trigamma(df / 2), inverted by Newton's steps."""
    from scipy.special import polygamma

    with np.errstate(divide="ignore", invalid="ignore"):
        half = (1 + np.sqrt(1 + 2 * variance)) / (2 * variance)  # trigamma(x) is 1 / x + 1 / (2 x^2) to second order
        for _ in range(4):
            half = half - (polygamma(1, half) - variance) / polygamma(2, half)
    return np.where(np.isinf(variance), 0.0, np.where(variance == 0, np.inf, 2 * half))
