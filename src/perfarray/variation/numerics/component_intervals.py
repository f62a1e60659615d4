"""Limits of the variance components of a nested analysis of variance.

The lowest component is one mean square: its interval is exact (chi-square), whatever the imbalance.
On balanced data a component above it is a difference x - y of two independent mean squares, x =
S_i^2 and y = S_{i-1}^2 / n_{i-1}: modified large sample limits

    x - y - sqrt(G1^2 x^2 + H2^2 y^2 + G12 x y)   and   x - y + sqrt(H1^2 x^2 + G2^2 y^2 + H12 x y),

which are exact where either mean square vanishes (the idea of Graybill and Wang 1980; differences:
Ting, Burdick, Graybill, Jeyaratnam and Lu 1990; Burdick and Graybill 1992, section 3.3). Negative
limits are set to zero.

On ragged data the S_i^2, the mean squares of unweighted means (Thomas and Hultquist 1978; Burdick
and Graybill 1992, chapters 4 and 5), are sums of unequal parts. Their expectations are linear in
the components, which gives every component as a difference x - y of sums of mean squares; x and y
have Satterthwaite's degrees of freedom, those of x at the limit itself, which makes the test
whether a component is zero one with the right degrees of freedom under that hypothesis.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.nested_anova import BLOCK, Components, pool_levels
from perfarray.numerics.types import Floats, Integers, Mask

ROUNDS = 4  # how often a ragged limit and the degrees of freedom it has there are brought together
# Share of the lowest component, at least, where degrees of freedom are worked out: data that do not
# vary at all have some too.
LEAST = 1e-12


class ComponentLimits(NamedTuple):
    """Along the levels; NaN where nothing is known."""

    lower: Floats
    upper: Floats
    standard_error: Floats


class Moments(NamedTuple):
    """Of the mean squares of unweighted means, lowest level first.

    Shapes (cells, L, L) and (cells, L, L, L).

    E S_i^2 = sum_j expectation_ij T_j^2, and Var S_i^2 = 2 sum_jk spread_ijk T_j^2 T_k^2.
    """

    expectation: Floats
    spread: Floats


def anova_limits(
    values: Floats, components: Components, confidence_level: float
) -> ComponentLimits:
    """Return limits (..., L) of the components of normal values, and their standard errors.

    Of ragged cells only the lowest level has a standard error.
    """
    return limits_with_df(
        values, components, components.level_df, ~components.balanced, confidence_level
    )


def limits_with_df(
    values: Floats, components: Components, df: Floats, ragged: Mask, confidence_level: float
) -> ComponentLimits:
    """Return the limits where mean squares have the degrees of freedom `df` (..., L).

    Those of `ragged` cells (...) are approximate.
    """
    shape = components.variance.shape
    fields = (components.level_variance, components.level_df, df, components.repetitions)
    squares, nominal, df, repetitions = (field.reshape(-1, shape[-1]) for field in fields)
    ragged, limits = ragged.reshape(-1, 1), np.full((3, *squares.shape), np.nan)
    repetitions = np.where(ragged, np.nan, repetitions)
    for rows, columns in same_levels(nominal):
        at = np.ix_(rows, columns)
        limits[:, at[0], at[1]] = level_limits(
            squares[at], df[at], repetitions[at], confidence_level
        )
    if not ragged.any():
        return ComponentLimits(*limits.reshape(3, *shape))
    cells = values.reshape(-1, *values.shape[values.ndim - shape[-1] :])
    for pooled, (rows, columns) in patterns(cells, np.where(ragged, nominal, np.nan)):
        moments, at = square_moments(pooled), (rows, columns)
        moments = moments._replace(spread=moments.spread * (nominal[at] / df[at])[:, :, None, None])
        with np.errstate(invalid="ignore"):  # an infinite value makes its own cell NaN
            limits[:2, rows, columns[:, 1:]] = ragged_limits(
                squares[at], moments, confidence_level
            )[:, :, 1:]
    return ComponentLimits(*limits.reshape(3, *shape))


def same_levels(df: Floats | Mask) -> Iterator[tuple[Integers, Integers]]:
    """Yield the rows of cells with degrees of freedom at the same levels, and their columns."""
    has_df = df > 0
    measured = has_df[has_df.any(axis=1)]
    # Most often all cells have the same levels, which is seen at a tenth of the cost of finding the
    # distinct ones.
    for pattern in (
        measured[:1] if (measured == measured[:1]).all() else np.unique(measured, axis=0)
    ):
        yield np.flatnonzero((has_df == pattern).all(axis=1)), np.flatnonzero(pattern)[::-1]


def patterns(
    cells: Floats, df: Floats | Mask, values: int = BLOCK
) -> Iterator[tuple[Floats, tuple[Integers, ...]]]:
    """Yield cells that have the same levels, without the others, and where they stand.

    So many values come at once, or one cell.
    """
    step = max(1, values // max(cells[:1].size, 1))
    for rows, columns in same_levels(df):
        removed = np.ones(df.shape[1], dtype=bool)
        removed[columns] = False
        for first in range(0, len(rows), step):
            block = rows[first : first + step]
            yield pool_levels(cells[block], removed), np.ix_(block, columns)


def level_limits(
    squares: Floats, df: Floats, repetitions: Floats, confidence_level: float
) -> tuple[Floats, Floats, Floats]:
    """Return limits and standard errors (cells, L), lowest level first, from mean squares."""
    below = np.zeros(squares.shape)
    below[:, 1:] = squares[:, :-1] / repetitions[:, :-1]
    small, large = _of_each_kind(
        df[:, 0], df[:, 0], lambda x, _: chi_square_factors(x, confidence_level)
    )
    lower, upper = np.empty(squares.shape), np.empty(squares.shape)
    lower[:, 0], upper[:, 0] = squares[:, 0] * small, squares[:, 0] * large
    widths = 2 / df * squares**2
    for level in range(1, squares.shape[1]):
        x, y = df[:, level], df[:, level - 1]
        factors = _of_each_kind(x, y, lambda x, y: difference_factors(x, y, confidence_level))
        lower[:, level], upper[:, level] = modified_limits(
            squares[:, level], below[:, level], factors
        )
        widths[:, level] += 2 / y * below[:, level] ** 2
    return lower, upper, np.sqrt(widths)


def _of_each_kind(
    df_x: Floats, df_y: Floats, factors: Callable[[Floats, Floats], tuple[Any, ...]]
) -> list[Floats]:
    """Return factors for pairs of degrees of freedom, computed once for each pair."""
    if (df_x == df_x[0]).all() and (df_y == df_y[0]).all():
        return list(factors(df_x[:1], df_y[:1]))
    kinds, index = np.unique(df_x + 1j * df_y, return_inverse=True)
    return [factor[index] for factor in factors(kinds.real, kinds.imag)]


def modified_limits(x: Floats, y: Floats, factors: Any) -> tuple[Floats, Floats]:
    """Return the limits, zero at least, of x - y, given (G1^2, H2^2, G12, H1^2, G2^2, H12)."""
    squared_x, squared_y, product, difference = x * x, y * y, x * y, x - y
    down = factors[0] * squared_x + factors[1] * squared_y + factors[2] * product
    up = factors[3] * squared_x + factors[4] * squared_y + factors[5] * product
    low, high = (
        difference - np.sqrt(np.maximum(down, 0.0)),
        difference + np.sqrt(np.maximum(up, 0.0)),
    )
    return np.maximum(low, 0.0), np.maximum(high, 0.0)


def chi_square_factors(df: Any, confidence_level: float) -> tuple[Any, Any]:
    """Return what a mean square is multiplied by to give the limits of its expectation."""
    from scipy.special import chdtri

    tail = (1 - confidence_level) / 2
    return df / chdtri(df, tail), df / chdtri(df, 1 - tail)


def difference_factors(df_x: Any, df_y: Any, confidence_level: float) -> tuple[Any, ...]:
    """Return (G1^2, H2^2, G12, H1^2, G2^2, H12) of Burdick and Graybill."""
    tail = (1 - confidence_level) / 2
    return *_one_side(df_x, df_y, tail, 1 - tail), *_one_side(df_x, df_y, 1 - tail, tail)


def _one_side(df_x: Any, df_y: Any, tail: float, complement: float) -> tuple[Any, Any, Any]:
    """Return the factors of x^2, y^2 and x y of the lower limit.

    With the two probabilities exchanged, of the upper.
    """
    from scipy.special import chdtri, fdtri

    lower_factor, upper_factor = 1 - df_x / chdtri(df_x, tail), df_y / chdtri(df_y, complement) - 1
    quantile = fdtri(df_x, df_y, complement)
    return (
        lower_factor**2,
        upper_factor**2,
        ((quantile - 1) ** 2 - lower_factor**2 * quantile**2 - upper_factor**2) / quantile,
    )


def square_moments(cells: Floats) -> Moments:
    """Return the moments of the mean squares of cells whose levels can all be told apart.

    A mean of unweighted means has the variance sum_j a_j T_j^2; its a_j are the mean of its
    children's, over their number.
    """
    count, levels = len(cells), cells.ndim - 1
    expectation, spread = (
        np.zeros((count, levels, levels)),
        np.zeros((count, levels, levels, levels)),
    )
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
                products = (node * nodes_by_level[k]).sum(axis=-1) * (
                    1 - 2 * share
                ) + total * totals[k] * share**2
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
    """Return limits (2, cells, L) from mean squares of unweighted means, lowest level first.

    A component is a sum of mean squares with weights of both signs: x has the positive ones, y the
    negative.
    """
    tail = (1 - confidence_level) / 2
    weights = np.linalg.inv(moments.expectation)
    components = np.maximum(np.matvec(weights, squares), 0.0)
    components[:, 0] = np.maximum(components[:, 0], LEAST * components.max(axis=1))
    components[components[:, 0] == 0, 0] = 1.0
    limits = np.full((2, *squares.shape), np.nan)
    for level in range(1, squares.shape[1]):
        positive_weights, negative_weights = (
            np.maximum(weights[:, level], 0.0),
            np.maximum(-weights[:, level], 0.0),
        )
        x, y = np.vecdot(positive_weights, squares), np.vecdot(negative_weights, squares)
        df_y = effective_df(moments, components, negative_weights)
        for limit, sign, probabilities in zip(
            limits, (-1, 1), ((tail, 1 - tail), (1 - tail, tail)), strict=True
        ):
            trial = components.copy()
            for _ in range(ROUNDS):
                more_factor, less_factor, product_factor = _one_side(
                    effective_df(moments, trial, positive_weights), df_y, *probabilities
                )
                width = np.sqrt(
                    np.maximum(
                        more_factor * x * x + less_factor * y * y + product_factor * x * y, 0.0
                    )
                )
                trial[:, level] = np.maximum(x - y + sign * width, 0.0)
            limit[:, level] = trial[:, level]
    return limits


def effective_df(moments: Moments, components: Floats, weights: Floats) -> Floats:
    """Return Satterthwaite's df, 2 mean^2 / variance, of weighted sums of the mean squares."""
    scaled = components / components.sum(axis=1, keepdims=True)
    mean = np.vecdot(weights, np.matvec(moments.expectation, scaled))
    variance = np.vecdot(
        weights**2, np.vecdot(np.matvec(moments.spread, scaled[:, None]), scaled[:, None])
    )
    return np.asarray(mean**2 / variance)
