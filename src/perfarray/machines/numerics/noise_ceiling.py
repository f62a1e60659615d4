"""How well a spread that was estimated from few runs can be predicted at all.

A relative variation estimated from three runs is a noisy number: part of its variance over machines is sampling noise, which no description
of a machine predicts. With V the variance of that noise (of the logarithm), no predictor has a correlation above
sqrt(1 - V / Var(log measured)).
"""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.order_statistics import ORDER_STATISTICS, OrderLaw, order_law
from perfarray.numerics.types import Floats

DRAWS, FEWEST = 4000, 400
"""Suites simulated for each entry of a table, and where one has very many runs."""

INEQUALITY = np.linspace(0.0, 4.0, 17)
"""Standard deviations, over benchmarks, of the log variance of a benchmark: what the table is made for."""

SEED = 20180
"""The table is always made of the same random numbers."""

DRAWN, BLOCK = 1 << 27, 1 << 18
"""The most runs simulated for a table, and how many values are looked at together, which bounds the memory and changes no number."""

ENOUGH = 50
"""Runs of a benchmark from which on noise follows its law of many runs: that of fewer is not scaled."""

RATES = {"min": 0.0, "max": 0.0, "median": 0.25}
"""With which power of many runs the noise falls (of the median: Hall and Martin 1988); 1 / 2 for a mean."""

NEGLIGIBLE = 1e-20
"""Probability from which on a value counts: all below it have less than rounding together."""


class NoiseTable(NamedTuple):
    """Of suites whose benchmarks vary ever less alike: concentration of the variance, and noise of the log of the spread."""

    concentration: Floats
    noise: Floats


def spread_of_redrawn(units: Floats, statistic: str) -> Floats:
    """Return the variance of a statistic of redrawn units along the last axis; NaN is not measured, one unit has none.

    Exact for median, minimum and maximum (order statistics of draws with replacement), the variance of the mean for other statistics.

    Parameters
    ----------
    units : array, shape (..., n)
        One value per independent unit.
    statistic : str
        `median`, `min`, `max`, or anything else for the mean.

    Returns
    -------
    array, shape (...)
    """
    rows = np.sort(units.reshape(-1, units.shape[-1]), axis=-1)
    number = (~np.isnan(rows)).sum(axis=-1)
    variances = np.full(len(rows), np.nan)
    for n in np.unique(number[number > 1]).tolist():
        chosen = number == n
        values = rows[chosen, :n]
        if statistic not in ORDER_STATISTICS:
            variances[chosen] = values.var(axis=-1) / n
            continue
        variances[chosen] = _spread_of_law(values, order_law(n, statistic))
    return variances.reshape(units.shape[:-1])


def _spread_of_law(rows: Floats, law: OrderLaw) -> Floats:
    """Return the variance of an order statistic of every row of sorted values, a block of rows at a time."""
    counts = law.probability > NEGLIGIBLE
    low, high, probability = law.low[counts], law.high[counts], law.probability[counts]
    size = max(1, BLOCK // len(low))
    variances = np.empty(len(rows))
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        support = (block[:, low] + block[:, high]) / 2
        support -= (support * probability).sum(axis=-1, keepdims=True)
        variances[start : start + size] = (support**2 * probability).sum(axis=-1)
    return variances


def concentration(variances: Floats) -> Floats:
    """Return sum(v^2) / sum(v)^2 along the last axis: 1 / B for equal parts, 1 for a single one that counts; NaN where all are 0."""
    total = np.nansum(variances, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nansum(variances**2, axis=-1) / total**2)


def noise_table(benchmarks: int, runs: int, statistic: str = "median") -> NoiseTable:
    """Simulate the spread of a suite's score for normal runs, for benchmarks that vary alike up to very unlike.

    The variances of the benchmarks are lognormal quantiles, so that one number (their inequality) describes a suite. Machines with the same
    true variances then show a certain average concentration, and a certain noise: what is observed of the one tells the other.
    Where runs are too many to simulate, the noise of fewer is scaled by `RATES`; where benchmarks are, fewer suites are simulated.

    Parameters
    ----------
    benchmarks, runs : int
        Benchmarks of the suite, and runs of each; at least 1 and 2.
    statistic : str
        The summary of one benchmark's runs.

    Returns
    -------
    NoiseTable
        Arrays along `INEQUALITY`: mean concentration, and standard deviation of the log of the spread.
    """
    from scipy.special import ndtri

    rng = np.random.default_rng(SEED)
    simulated = min(runs, max(ENOUGH, DRAWN // (DRAWS * benchmarks)))
    draws = min(DRAWS, max(FEWEST, DRAWN // (simulated * benchmarks)))
    size = max(1, BLOCK // (benchmarks * simulated))
    blocks = (min(size, draws - start) for start in range(0, draws, size))
    variances = np.concatenate([spread_of_redrawn(rng.standard_normal((number, benchmarks, simulated)), statistic) for number in blocks])
    scores = ndtri((np.arange(benchmarks) + 0.5) / benchmarks)
    weights = np.exp(INEQUALITY[:, None] * scores)
    weighted = weights[:, None, :] * variances
    noise = (0.5 * np.log(weighted.sum(axis=-1))).std(axis=-1, ddof=1)
    scale = 1.0 if simulated == runs else ((simulated - 1) / (runs - 1)) ** RATES.get(statistic, 0.5)
    return NoiseTable(concentration(weighted).mean(axis=-1), noise * scale)


def log_spread_noise(concentrations: Floats, benchmarks: int, runs: int, statistic: str = "median") -> float:
    """Estimate the standard deviation of the sampling noise of the log of machines' relative variation.

    Parameters
    ----------
    concentrations : array, shape (machines,)
        Of the benchmarks' contributions to a machine's squared relative variation, as measured.
    benchmarks, runs : int
        How many they are, and the runs behind each of them.
    statistic : str
        The summary of one benchmark's runs.

    Returns
    -------
    float
        For suites as unequal as the measured contributions of all machines are on average; NaN where no machine varies or one run was made.
    """
    usable = concentrations[np.isfinite(concentrations)]
    if runs < 2 or not len(usable):
        return float("nan")
    table = noise_table(benchmarks, runs, statistic)
    return float(np.interp(usable.mean(), table.concentration, table.noise))


def noise_ceiling(log_measured: Floats, noise: Floats) -> float:
    """Return the largest correlation any prediction can have with a measured log that carries noise.

    Parameters
    ----------
    log_measured : array, shape (machines,)
        Logs as measured.
    noise : array, shape (machines,)
        Standard deviation of the noise in each.

    Returns
    -------
    float
        sqrt(1 - V_noise / Var(log measured)); 0 where the noise is all there is, NaN where nothing is known.

    Examples
    --------
    >>> import numpy as np
    >>> round(noise_ceiling(np.array([0.0, 2.0, 0.0, 2.0]), np.full(4, 0.5)) ** 2, 6)
    0.8125
    """
    finite = np.isfinite(log_measured) & np.isfinite(noise)
    if finite.sum() < 3:
        return float("nan")
    variance = float(log_measured[finite].var(ddof=1))
    return float(np.sqrt(max(0.0, 1.0 - float((noise[finite] ** 2).mean()) / variance))) if variance > 0 else float("nan")
