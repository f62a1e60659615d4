"""Limits of the variance components of a nested analysis of variance.

The lowest component is one mean square: its interval is exact (chi-square), whatever the imbalance. On balanced data a component above it
is a difference x - y of two independent mean squares, x = S_i^2 and y = S_{i-1}^2 / n_{i-1}: modified large sample limits

    x - y - sqrt(G1^2 x^2 + H2^2 y^2 + G12 x y)   and   x - y + sqrt(H1^2 x^2 + G2^2 y^2 + H12 x y),

which are exact where either mean square vanishes (the idea of Graybill and Wang 1980; differences: Ting, Burdick, Graybill, Jeyaratnam and
Lu 1990; Burdick and Graybill 1992, section 3.3). Negative limits are set to zero. On ragged data the upper mean squares are neither
chi-square nor independent, and no limit is given: the profile likelihood (`reml.py`) has them.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from perfarray.numerics.levels import Floats
from perfarray.numerics.variance_components import Components


class ComponentLimits(NamedTuple):
    """Along the levels; NaN where nothing is known."""

    lower: Floats
    upper: Floats
    standard_error: Floats


def anova_limits(found: Components, confidence_level: float) -> ComponentLimits:
    """Return two-sided limits of the components, and their standard errors if values are normal.

    Parameters
    ----------
    found : Components
        What `nested_anova` returned for shape (..., L).
    confidence_level : float
        Between 0 and 1.

    Returns
    -------
    ComponentLimits
        Shape (..., L). On ragged cells the lowest level's alone.
    """
    shape, levels = found.variance.shape, found.variance.shape[-1]
    squares, df, repetitions = (part.reshape(-1, levels) for part in (found.level_variance, found.level_df, found.repetitions))
    balanced = found.balanced.ravel()
    if balanced.all() and (len(df) == 1 or (len(df) and np.array_equal(df, np.broadcast_to(df[0], df.shape), equal_nan=True))):
        answers = _limits(squares, tuple(np.nan_to_num(np.concatenate([df[0], repetitions[0]])).tolist()), confidence_level)
        return ComponentLimits(*(part.reshape(shape) for part in answers))
    kinds = np.column_stack([df, np.where(balanced[:, None], repetitions, np.nan)])
    kinds[np.isnan(kinds)] = 0.0
    patterns, which = np.unique(kinds, axis=0, return_inverse=True)
    result = np.full((3, *squares.shape), np.nan)
    for number, kind in enumerate(patterns):
        alike = which.ravel() == number
        result[:, alike] = _limits(squares[alike], tuple(kind.tolist()), confidence_level)
    return ComponentLimits(*result.reshape(3, *shape))


def _limits(squares: Floats, kind: tuple[float, ...], confidence_level: float) -> tuple[Floats, Floats, Floats]:
    """Return limits and standard errors (cells, L) of cells with the same df and repetitions, which `kind` lists level by level."""
    below, share, factors, widths = _factors(kind, confidence_level)
    y = squares[:, below] * share
    low, high = modified_limits(squares, y, factors)
    return low, high, np.sqrt(widths[0] * squares**2 + widths[1] * y**2)


def modified_limits(x: Floats, y: Floats, factors: Floats) -> tuple[Floats, Floats]:
    """Return the limits, zero at least, of x - y, given (G1^2, H2^2, G12, H1^2, G2^2, H12)."""
    squared_x, squared_y, product, difference = x * x, y * y, x * y, x - y
    down = factors[0] * squared_x + factors[1] * squared_y + factors[2] * product
    up = factors[3] * squared_x + factors[4] * squared_y + factors[5] * product
    low, high = difference - np.sqrt(np.maximum(down, 0.0)), difference + np.sqrt(np.maximum(up, 0.0))
    return np.maximum(low, 0.0), np.maximum(high, 0.0)


@lru_cache(maxsize=1024)
def _factors(kind: tuple[float, ...], confidence_level: float) -> tuple[npt.NDArray[np.intp], Floats, Floats, Floats]:
    """Return for every level which one is below, the share of its mean square to take off, the six factors, and 2 / df of both.

    A level without df (0 in `kind`, not NaN, which no cache would find again) is passed over; where no rule holds, above a ragged level,
    the factors are NaN.
    """
    levels = len(kind) // 2
    df, repetitions = kind[:levels], kind[levels:]
    below, share = np.zeros(levels, dtype=np.intp), np.zeros(levels)
    factors, widths = np.full((6, levels), np.nan), np.zeros((2, levels))
    lower = -1
    for level in range(levels - 1, -1, -1):
        if not df[level] > 0:
            continue
        below[level], widths[0, level] = level, 2 / df[level]
        if lower < 0:
            small, large = chi_square_factors(df[level], confidence_level)
            factors[:, level] = (1 - small) ** 2, 0, 0, (large - 1) ** 2, 0, 0
        elif repetitions[lower] > 0:
            below[level], share[level], widths[1, level] = lower, 1 / repetitions[lower], 2 / df[lower]
            factors[:, level] = difference_factors(df[level], df[lower], confidence_level)
        else:
            widths[:, level] = np.nan
        lower = level
    return below, share, factors, widths


def chi_square_factors(df: float, confidence_level: float) -> tuple[float, float]:
    """Return what a mean square is multiplied by to give the limits of its expectation."""
    from scipy.special import chdtri

    tail = (1 - confidence_level) / 2
    return df / float(chdtri(df, tail)), df / float(chdtri(df, 1 - tail))


def difference_factors(df_x: float, df_y: float, confidence_level: float) -> tuple[float, ...]:
    """Return (G1^2, H2^2, G12, H1^2, G2^2, H12) of Burdick and Graybill, each limit with half of what is not covered."""
    from scipy.special import fdtri

    tail = (1 - confidence_level) / 2
    (small_x, large_x), (small_y, large_y) = (chi_square_factors(df, confidence_level) for df in (df_x, df_y))
    g1, h1, g2, h2 = 1 - small_x, large_x - 1, 1 - small_y, large_y - 1
    high, low = float(fdtri(df_x, df_y, 1 - tail)), float(fdtri(df_x, df_y, tail))
    g12 = ((high - 1) ** 2 - g1**2 * high**2 - h2**2) / high
    h12 = ((1 - low) ** 2 - h1**2 * low**2 - g2**2) / low
    return g1**2, h2**2, g12, h1**2, g2**2, h12
