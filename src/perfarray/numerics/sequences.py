"""Confidence sequences of a mean of normal units, which may be stopped at for any reason.

The likelihood ratio of the t statistics of the units so far, averaged over effects of variance g
(in variances of a unit), is a martingale: it ever reaches 1 / risk with a chance of at most the
risk (Ville). With units worth n, d degrees of freedom and m = 1 + n g it is

    m^(-1/2) ((1 + t^2 / d) / (1 + t^2 / (d m)))^((d + 1) / 2).

This is also so where effects of known size were estimated and removed from the units, such as that
of the order within rounds: n and d are then less by what these take. A. Wang and A. Ramdas,
"Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance", 2024; M.
Lindon, D. Ham, M. Tingley, I. Bojinov, "Anytime-valid linear models and regression adjusted causal
inference in randomized experiments", 2022.
"""

import numpy as np

from perfarray.numerics.types import Floats

# The log of the risk at which g is chosen where it may not depend on the level of an interval
LOG_RISK = np.log(0.05)


def effect_variance(log_risk: float | Floats, expected: float) -> Floats:
    """Return g of Waudby-Smith et al., whose sequence is narrowest at `expected` units."""
    return np.asarray((np.log1p(-2 * log_risk) - 2 * log_risk) / expected)


def sequence_quantile(
    units: Floats,
    confidence_level: float | Floats,
    expected: float,
    df: Floats | None = None,
    at: float | None = None,
) -> Floats:
    """Return the half-width of a confidence sequence in standard errors, infinite for few units.

    The ratio is below 1 / risk where t^2 < d (K - 1) / (1 - K / m), K = (m / risk^2)^(1 / (d + 1)).
    By default d is units - 1, and g that of the risk asked for; else that of the log risk `at`.
    """
    df = units - 1 if df is None else df
    log_risk = np.log1p(-np.asarray(confidence_level))
    g = effect_variance(log_risk if at is None else at, expected)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_k = (np.log1p(units * g) - 2 * log_risk) / (df + 1)
        remainder = -np.expm1(log_k - np.log1p(units * g))
        quantile = np.where(
            remainder > 0,
            np.sqrt(df * np.expm1(log_k) / np.where(remainder > 0, remainder, 1.0)),
            np.inf,
        )
    return np.where(df > 0, quantile, np.nan)


def sequence_probability(
    statistic: Floats, units: Floats, df: Floats, expected: float, at: float = LOG_RISK
) -> Floats:
    """Return the one-sided p-value of "not above": half of what the likelihood ratio gives.

    Twice the smaller one of both sides may be looked at after every unit.
    """
    m = 1 + units * effect_variance(at, expected)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # (1 + t^2 / d) / (1 + t^2 / (d m)) = m - (m - 1) / (1 + t^2 / (d m)), also for infinite t
        growth = m - (m - 1) / (1 + statistic**2 / (df * m))
        log_ratio = (df + 1) / 2 * np.log(growth) - np.log(m) / 2
        half = np.exp(-np.maximum(log_ratio, 0.0)) / 2
    pvalue = np.where(statistic > 0, 1 - half, half)
    return np.where((df > 0) & ~np.isnan(statistic), pvalue, np.nan)
