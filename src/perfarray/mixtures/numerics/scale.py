"""Mixtures of values or of their logarithms: a flag per mixture says which. What is asked and answered is in the units of the values.

Where Y = log X is a mixture of normals, X is one of lognormals, with the same weights: log E X = mu + sigma^2 / 2 for a component.
"""

from typing import NamedTuple

import numpy as np

from perfarray.mixtures.numerics import normal
from perfarray.mixtures.numerics.fit import LOG, PLAIN, FitRequest, Fits, fit_mixtures
from perfarray.mixtures.numerics.normal import Mixture
from perfarray.numerics.random import SAMPLES, Streams
from perfarray.numerics.types import Floats, Integers, Mask

CLEAR = 2.0
"""How much larger the BIC of logarithms must be: less is "not worth more than a bare mention" (Kass and Raftery 1995, section 3.2)."""


class Scaled(NamedTuple):
    """Parameters of shape (..., component), and whether they are those of logarithms, shape (...)."""

    mixture: Mixture
    log: Mask


def on_scale(x: Floats, log: Mask) -> Floats:
    """Return values, or their logarithms where `log` says so; values that have none become minus infinity."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(log, np.where(x > 0, np.log(x), np.where(np.isnan(x), np.nan, -np.inf)), x)


def off_scale(y: Floats, log: Mask) -> Floats:
    """Return the values whose logarithms, where `log` says so, are given."""
    return np.where(log, np.exp(np.where(log, y, 0.0)), y)


def density(own: Scaled, x: Floats) -> Floats:
    """Return the density at x, shape (...): that of the logarithm over x, and none where x is not positive."""
    found = normal.density(own.mixture, on_scale(x, own.log))
    inside = ~own.log | (x > 0) | np.isnan(x)
    return np.asarray(np.where(inside | np.isnan(found), found / np.where(own.log & inside, x, 1.0), 0.0))


def distribution(own: Scaled, x: Floats) -> Floats:
    """Return the probability of values up to x, shape (...)."""
    return normal.distribution(own.mixture, on_scale(x, own.log))


def quantiles(own: Scaled, probability: Floats) -> Floats:
    """Return where the distribution reaches a probability, shape (...)."""
    return off_scale(normal.quantiles(own.mixture, probability), own.log)


def classes(own: Scaled, x: Floats) -> Floats:
    """Return the number (from 1) of the component a value most probably comes from; NaN where x is, or has no logarithm."""
    y = on_scale(x, own.log)
    return normal.classes(own.mixture, np.where(np.isneginf(y) & own.log, np.nan, y))


def modes(own: Scaled) -> Floats:
    """Return the local maxima of the density of the values, ascending, shape (..., component); NaN past the last.

    With y = log x, the density g(y) / x is the sum of w exp(-m + s^2 / 2) N(y; m - s^2, s^2): a mixture of normals again, up to a factor,
    whose modes are those looked for, since x rises with y.
    """
    weights, means, deviations = own.mixture
    with np.errstate(divide="ignore", invalid="ignore"):
        exponents = np.log(weights) - means + 0.5 * deviations**2
        tilted = np.exp(exponents - np.where(weights > 0, exponents, -np.inf).max(axis=-1, keepdims=True, initial=-np.inf))
    log = own.log[..., None]
    shifted = Mixture(np.where(log & (weights > 0), tilted, weights), np.where(log, means - deviations**2, means), deviations)
    return off_scale(normal.modes(shifted), np.broadcast_to(log, weights.shape))


def mean(own: Scaled) -> Floats:
    """Return the mean of the values, shape (...)."""
    weights, means, _ = moments(own)
    return np.where((weights > 0).any(axis=-1), (weights * means).sum(axis=-1), np.nan)


def deviation(own: Scaled) -> Floats:
    """Return the standard deviation of the values, shape (...)."""
    weights, means, variances = moments(own)
    between = (means - mean(own)[..., None]) ** 2
    return np.where((weights > 0).any(axis=-1), np.sqrt((weights * (variances + between)).sum(axis=-1)), np.nan)


def moments(own: Scaled) -> tuple[Floats, Floats, Floats]:
    """Return weight, mean and variance of every component in the units of the values, absent ones with weight 0."""
    present = own.mixture.weights > 0
    weights, means, deviations = (np.where(present, part, 0.0) for part in own.mixture)
    log = np.broadcast_to(own.log[..., None], weights.shape)
    first = off_scale(means + 0.5 * np.where(log, deviations**2, 0.0), log)
    return weights, first, np.where(log, first**2 * np.expm1(np.where(log, deviations**2, 0.0)), deviations**2)


def fit_on_scale(values: Floats, weights: Floats | None, request: FitRequest) -> tuple[Fits, Mask]:
    """Fit mixtures to values, to their logarithms, or to whichever BIC prefers; return which of the two each fit is of.

    Log-likelihoods and BIC are those of the values: a density of x is that of log x over x, so sum(log x) comes off. Samples with
    values that are not positive have no fit of logarithms. When the scale is to be chosen, values stay as they are where they are constant,
    or where the logarithms are not clearly better.
    """
    if request.scale == PLAIN:
        return fit_mixtures(values, weights, request), np.zeros(len(values), bool)
    positive = np.asarray(~(values <= 0).any(axis=-1))
    logs = np.log(np.where(positive[:, None], values, np.nan))
    found = fit_mixtures(logs, weights, request)
    jacobian = np.nansum(logs if weights is None else weights * logs, axis=-1)
    n = np.where(positive, found.n, (~np.isnan(values)).sum(axis=-1))
    found = found._replace(loglik=found.loglik - jacobian, bic=found.bic - 2 * jacobian, n=n)
    if request.scale == LOG:
        return found, np.ones(len(values), bool)
    plain = fit_mixtures(values, weights, request)
    better = np.asarray(found.bic > plain.bic + CLEAR)
    pairs = zip(found, plain, strict=True)
    return Fits(*(np.where(better[:, None] if new.ndim == 2 else better, new, old) for new, old in pairs)), better


def draw(own: Scaled, number: int, cells: Integers, streams: Streams) -> Floats:
    """Draw values from every mixture, each from the stream of its cell, shape (..., value); NaN where there is none."""
    shape = own.log.shape
    rows = own.mixture.rows()
    known = np.asarray((rows.weights > 0).any(axis=-1))
    found = np.full((len(known), number), np.nan)
    # One cell at a time, since each has a stream of its own.
    for row, cell in enumerate(np.broadcast_to(cells, shape).ravel().tolist()):
        if known[row]:
            found[row] = normal.draw(Mixture(*(part[row] for part in rows)), (number,), streams.generator(cell, SAMPLES))
    return off_scale(found.reshape(*shape, number), own.log[..., None])
