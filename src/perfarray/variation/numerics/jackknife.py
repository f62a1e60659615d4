"""Limits of variance components without normal effects, by leaving out one unit at a time.

The limits are those of normal effects, with the degrees of freedom that a mean square has by its
own variation: 2 / df is the variance of its log to first order, and trigamma(df / 2) exactly, if it
were one of normal values. They are never more than normal values would have.
"""

import numpy as np

from perfarray.numerics.levels import mean_of_measured
from perfarray.numerics.nested_anova import Components, squares_within
from perfarray.numerics.types import Floats
from perfarray.variation.numerics.component_intervals import (
    ComponentLimits,
    limits_with_df,
    patterns,
)

LEAST_UNITS = 3  # outermost units: of two, leaving out one leaves no variance
# Outermost units from which on unevenness is looked at: 7 to 11 % of 10 normal ones, 1 to 2 % of
# 30, show 3 or more at any level.
LEAST_SEEN = 10
LEAST_DF = 0.25  # degrees of freedom below which limits say nothing that can be written down


def jackknife_limits(
    values: Floats, components: Components, confidence_level: float
) -> ComponentLimits:
    """Return limits (..., L) with the degrees of freedom that the mean squares show."""
    levels = components.level_df.shape[-1]
    nominal = components.level_df.reshape(-1, levels)
    df = nominal.copy()
    for pooled, at in patterns(values.reshape(-1, *values.shape[values.ndim - levels :]), nominal):
        shown_df = _df_of(log_variance(pooled))
        df[at] = np.where(np.isnan(shown_df), nominal[at], np.clip(shown_df, LEAST_DF, nominal[at]))
    ragged = np.asarray(np.isnan(values).any(axis=tuple(range(-levels, 0))))
    return limits_with_df(
        values, components, df.reshape(components.level_df.shape), ragged, confidence_level
    )


def evenness(means: Floats) -> Floats:
    """Return what share of its degrees of freedom the variance of units has; 1 if not known."""
    units = (~np.isnan(means)).sum(axis=-1)
    nominal = np.maximum(units - 1, 1).astype(float)
    shown_df = _df_of(log_variance(means.reshape(-1, means.shape[-1]))[:, 0]).reshape(nominal.shape)
    return np.where(np.isnan(shown_df), 1.0, np.clip(shown_df, LEAST_DF, nominal) / nominal)


def unevenness(values: Floats, components: Components, max_cells: int | None = None) -> Floats:
    """Return how much more the log of a mean square varies than that of normal values, (..., L).

    NaN with fewer than `LEAST_SEEN` outermost units, of which that cannot be seen; with
    `max_cells`, also in all but so many cells, spread evenly.
    """
    from scipy.special import polygamma

    levels = components.level_df.shape[-1]
    nominal = components.level_df.reshape(-1, levels)
    step = 1 if max_cells is None else -(-len(nominal) // max_cells) or 1
    result = np.full(nominal.shape, np.nan)
    if values.shape[-levels] < LEAST_SEEN and (nominal[:, 0] > 0).all():
        return result.reshape(components.level_df.shape)
    cells = values.reshape(-1, *values.shape[values.ndim - levels :])[::step]
    nominal, result_of_cells = nominal[::step], result[::step]
    for pooled, at in patterns(cells, nominal):
        if pooled.shape[1] < LEAST_SEEN:
            continue
        units = (~np.isnan(pooled)).any(axis=tuple(range(2, pooled.ndim))).sum(axis=1)
        result_of_cells[at] = np.where(
            units[:, None] >= LEAST_SEEN,
            log_variance(pooled) / polygamma(1, nominal[at] / 2),
            np.nan,
        )
    return result.reshape(components.level_df.shape)


def log_variance(cells: Floats) -> Floats:
    """Return the jackknife's variance of the log mean squares, lowest level first."""
    measured = np.asarray(~np.isnan(cells).all(axis=tuple(range(2, cells.ndim))))
    units = measured.sum(axis=1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.where(measured[..., None], np.log(left_out(cells)), 0.0)
        nothing = np.isneginf(logs)
        # A level that varies inside one unit alone: without that unit nothing is left.
        alone = nothing.any(axis=1) & ~(nothing | ~measured[..., None]).all(axis=1)
        away = np.where(
            measured[..., None], logs - logs.sum(axis=1)[:, None] / units[..., None], 0.0
        )
        variance = (units - 1) / units * (away**2).sum(axis=1)
    variance = np.where(alone, np.inf, variance)
    return np.where((units >= LEAST_UNITS) & ~np.isnan(variance), variance, np.nan)


def left_out(cells: Floats) -> Floats:
    """Return the mean squares (count, n_L, L) that remain when each outermost unit is left out."""
    squares, df, means = unit_squares(cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_squares = [
            (level_squares.sum(axis=1, keepdims=True) - level_squares)
            / (level_df.sum(axis=1, keepdims=True) - level_df)
            for level_squares, level_df in zip(squares, df, strict=True)
        ]
        n = (~np.isnan(means)).sum(axis=1, keepdims=True)
        away = np.nan_to_num(means - mean_of_measured(means)[:, None]) ** 2
        # What leaving out one value takes from the sum of squares around the mean, which moves.
        mean_squares.append((away.sum(axis=1, keepdims=True) - away * n / (n - 1)) / (n - 2))
    return np.stack(mean_squares, axis=-1)


def unit_squares(cells: Floats) -> tuple[list[Floats], list[Floats], Floats]:
    """Return the sums of squares inside every outermost unit, their df, and the units' means."""
    squares: list[Floats] = []
    df: list[Floats] = []
    means, no_gaps = cells, not np.isnan(cells).any()
    while means.ndim > 2:
        units, n = means.shape[:2], means.shape[-1]
        if no_gaps:
            parents, within = squares_within(means.reshape(units[0] * units[1], -1, n))
            unit_df = np.full(units, float(parents.shape[1] * (n - 1)))
        else:
            parents = mean_of_measured(means.copy())
            away = np.nan_to_num(means - parents[..., None])
            within = np.einsum("...n,...n->...", away, away).reshape(*units, -1).sum(axis=-1)
            unit_df = (
                np.maximum((~np.isnan(means)).sum(axis=-1) - 1, 0)
                .reshape(*units, -1)
                .sum(axis=-1)
                .astype(float)
            )
        squares.append(within.reshape(units))
        df.append(unit_df)
        means = parents.reshape(means.shape[:-1])
    return squares, df, means


def _df_of(variance: Floats) -> Floats:
    """Return the degrees of freedom of a chi-square variable whose log has this variance.

    That is trigamma(df / 2), inverted by Newton's steps.
    """
    from scipy.special import polygamma

    with np.errstate(divide="ignore", invalid="ignore"):
        half = (1 + np.sqrt(1 + 2 * variance)) / (
            2 * variance
        )  # trigamma(x) is 1 / x + 1 / (2 x^2) to second order
        for _ in range(4):
            half = half - (polygamma(1, half) - variance) / polygamma(2, half)
    return np.where(np.isinf(variance), 0.0, np.where(variance == 0, np.inf, 2 * half))
