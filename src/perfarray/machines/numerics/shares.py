"""The share of the variance of a response that a model explains, divided between predictors."""

import numpy as np

from perfarray.machines.numerics.influence import MIN_UNITS_FOR_LIMITS
from perfarray.numerics.types import Floats, Integers

# Draws of test units with replacement, and the number of units from which on they are drawn in
# batches of equal size.
RESAMPLES, BATCHES = 1000, 1000


def explained_shares(
    errors: Floats,
    baseline: Floats,
    losses: Floats,
    units: Integers,
    confidence_level: float,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return the shares with percentile limits from test units drawn with replacement.

    The model explains 1 - sum(errors) / sum(baseline); its fits stay as they are. Predictors divide
    that in proportion to what permuting each adds to the error.

    Parameters
    ----------
    errors, baseline : array, shape (n,)
        Squared errors of the rows tested: of the model, and of the mean of the rows it was fitted
        to.
    losses : array, shape (predictors, n)
        What permuting each predictor adds to the squared error, NaN where it was not permuted.
    units : array, shape (n,)
        Rows of one unit (a machine, a row tested several times) depend on each other and are drawn
        together.
    confidence_level : float
        Of the limits, NaN for fewer than `MIN_UNITS_FOR_LIMITS` units. Percentiles are those of t
        rather than of the normal law, since the variance of few units drawn with replacement is too
        small (Hesterberg 2015).
    rng : Generator
        Draws the units.

    Returns
    -------
    total : array, shape (3,)
        What the model explains, with its limits.
    explained : array, shape (3, predictors)
        The part of each predictor, with its limits: 0 for one that adds nothing, and where the
        model predicts no better than the mean.

    Examples
    --------
    >>> import numpy as np
    >>> losses = np.array([[3.0, 3.0], [1.0, 1.0]])
    >>> errors, baseline = np.array([1.0, 1.0]), np.array([5.0, 5.0])
    >>> rng = np.random.default_rng(1)
    >>> total, explained = explained_shares(errors, baseline, losses, np.arange(2), 0.95, rng)
    >>> round(float(total[0]), 6), explained[0].round(6).tolist()
    (0.8, [0.6, 0.2])
    """
    from scipy.stats import norm, t

    codes = np.unique(units, return_inverse=True)[1]
    number = int(codes.max(initial=-1)) + 1
    finite = np.isfinite(losses)
    columns = np.concatenate([errors[None], baseline[None], np.where(finite, losses, 0.0), finite])
    sums = np.stack(
        [np.bincount(codes, weights=column, minlength=number) for column in columns], axis=1
    )
    total, explained = _shares(sums.sum(axis=0, keepdims=True))
    explained[0, ~finite.any(axis=1)] = np.nan
    if number < MIN_UNITS_FOR_LIMITS:
        unknown = np.full((2, len(losses)), np.nan)
        return np.append(total, [np.nan, np.nan]), np.concatenate([explained, unknown])
    if number > BATCHES:
        batch = rng.permutation(number) % BATCHES
        sums = np.stack([np.bincount(batch, weights=column) for column in sums.T], axis=1)
        number = BATCHES
    counts = rng.multinomial(number, np.full(number, 1 / number), size=RESAMPLES).astype(float)
    totals, shares = _shares(counts @ sums)
    tail = norm.cdf(np.sqrt(number / (number - 1)) * t.ppf((1 - confidence_level) / 2, number - 1))
    limits = np.where(np.isnan(explained), np.nan, np.quantile(shares, [tail, 1 - tail], axis=0))
    return (
        np.concatenate([total, np.quantile(totals, [tail, 1 - tail])]),
        np.concatenate([explained, limits]),
    )


def _shares(sums: Floats) -> tuple[Floats, Floats]:
    """Return the shares of the model (m,) and of predictors (m, predictors).

    `sums` are those of errors, baseline, losses and their counts.
    """
    errors, baseline, losses, counts = sums[:, 0], sums[:, 1], *np.split(sums[:, 2:], 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = 1 - errors / baseline
        increases = np.maximum(np.where(counts > 0, losses / counts, 0.0), 0.0)
        shares = increases / increases.sum(axis=1, keepdims=True)
    return total, np.maximum(total, 0.0)[:, None] * np.nan_to_num(shares)
