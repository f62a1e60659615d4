"""Which of many ratios changed, most likely, and by how much: adaptive shrinkage towards no change (Stephens 2017).

The logs of the ratios are taken as no change with some probability, else as drawn from a mixture of normal laws around it; both are
estimated from all ratios together. Few units make an error uncertain: it is raised until a normal law has the p-value of Student's t.
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.intervals import t_probability
from perfarray.numerics.types import Floats

SCALES = 24  # laws of the mixture, whose standard deviations are a factor of the root of 2 apart
SMALLEST = 0.1  # of the smallest law, in median standard errors
PENALTY = 10.0  # as if nine more ratios were known not to have changed: doubtful changes count as none
STEPS, ENOUGH = 500, 1e-6  # of expectation and maximisation: at most so many, until no share of a suite moves by more
HALVINGS = 60  # of the interval in which a limit lies


class Shrunken(NamedTuple):
    """Ratios with 95 % limits after shrinkage, the chance that the sign of a change is wrong, and the share that did not change."""

    estimate: Floats
    lower: Floats
    upper: Floats
    false_sign_rate: Floats
    unchanged: Floats


def shrink(logs: Floats, errors: Floats, df: Floats, level: float = 0.95) -> Shrunken:
    """Shrink logs of ratios (..., benchmarks), given their standard errors and degrees of freedom; NaN where there is no error."""
    from scipy.special import ndtr

    measured = np.isfinite(logs) & (errors > 0)
    value, error = np.where(measured, logs, 0.0), np.where(measured, errors, 1.0)
    error = np.where(measured, error * _inflation(value / error, np.where(measured, df, np.inf)), 1.0)
    scales = _scales(error, measured)
    variance = error[..., None] ** 2
    total = variance + scales[..., None, :] ** 2
    density = np.exp(-0.5 * value[..., None] ** 2 / total) / np.sqrt(total)
    density = np.where(measured[..., None], density, 0.0)
    shares = _fitted_shares(density, measured.sum(axis=-1))
    weight = shares[..., None, :] * density
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = weight / weight.sum(axis=-1, keepdims=True)
        reliability = scales[..., None, :] ** 2 / total
    mean, deviation = value[..., None] * reliability, np.sqrt(reliability * variance)

    def below(limit: Floats, *, inclusive: bool) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = ndtr((limit[..., None] - mean) / deviation)
        still = (limit >= 0) if inclusive else (limit > 0)
        share[..., 0] = still
        return np.asarray((weight * share).sum(axis=-1))

    zero = np.zeros(value.shape)
    rate = np.minimum(below(zero, inclusive=True), 1 - below(zero, inclusive=False))
    reach = 10 * np.maximum(np.abs(value), error)
    tails = (1 - level) / 2, (1 + level) / 2
    limits = []
    for probability in tails:
        low, high = -reach, reach.copy()
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            enough = below(middle, inclusive=True) >= probability
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        limits.append(high)
    estimate = (weight * mean).sum(axis=-1)
    ratios = [np.where(measured, np.exp(answer), np.nan) for answer in (estimate, *limits)]
    return Shrunken(ratios[0], ratios[1], ratios[2], np.where(measured, rate, np.nan), shares[..., 0])


def _inflation(statistic: Floats, df: Floats) -> Floats:
    """Return by what factor an error is raised so that a normal law gives the p-value of Student's t."""
    from scipy.special import gammaln, ndtri

    size = np.maximum(np.abs(statistic), 1e-3)
    tail = np.maximum(t_probability(-size, df), 1e-300)
    with np.errstate(invalid="ignore"):
        # Near zero the ratio of the densities of both laws
        limit = np.exp(gammaln(df / 2) - gammaln((df + 1) / 2)) * np.sqrt(df / 2)
    limit = np.where(np.isfinite(limit), limit, 1.0)
    return np.asarray(np.where(np.abs(statistic) < 1e-3, limit, size / -ndtri(tail)))


def _scales(error: Floats, measured: np.ndarray) -> Floats:
    """Return the standard deviations of the laws, the first of which is no change."""
    filled = np.where(measured | ~measured.any(axis=-1, keepdims=True), np.where(measured, error, 1.0), np.nan)
    median = np.nanmedian(filled, axis=-1, keepdims=True) if error.shape[-1] else np.ones((*error.shape[:-1], 1))
    steps = SMALLEST * 2.0 ** (np.arange(SCALES) / 2)
    return np.concatenate([np.zeros(median.shape), median * steps], axis=-1)


def _fitted_shares(density: Floats, number: Floats) -> Floats:
    """Return the shares of the laws (..., laws) at the maximum of the penalised likelihood."""
    shares = np.full((*density.shape[:-2], density.shape[-1]), 1.0 / density.shape[-1])
    penalty = np.zeros(density.shape[-1])
    penalty[0] = PENALTY - 1
    moving = np.ones((*shares.shape[:-1], 1), dtype=bool)  # a suite that has arrived stays, whatever others do
    for _ in range(STEPS):
        weight = shares[..., None, :] * density
        with np.errstate(divide="ignore", invalid="ignore"):
            counts = np.nan_to_num(weight / weight.sum(axis=-1, keepdims=True)).sum(axis=-2) + penalty
        fresh = counts / (number[..., None] + PENALTY - 1)
        shares, moving = np.where(moving, fresh, shares), moving & (np.abs(fresh - shares).max(axis=-1, keepdims=True) >= ENOUGH)
        if not moving.any():
            break
    return shares
