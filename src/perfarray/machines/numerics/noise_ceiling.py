"""How well a spread that was estimated from few runs can be predicted at all.

Part of the variance over machines of an estimated relative variation is sampling noise, which no
description of a machine predicts. With V the variance of that noise (of the logarithm), no
prediction has a correlation above sqrt(1 - V / Var(log measured)).
"""

import numpy as np

from perfarray.numerics.order_statistics import ORDER_STATISTICS, order_law
from perfarray.numerics.types import Floats

# Suites simulated for each inequality, and the smallest number where each has very many runs.
DRAWS, MIN_DRAWS = 4000, 400

# Standard deviations, over benchmarks, of the log variance of a benchmark, for which the noise is
# simulated.
INEQUALITY = np.linspace(0.0, 4.0, 17)

# The same random numbers in every call.
SEED = 20180

# The largest number of runs simulated, and of values in memory at once, which does not change the
# numbers.
MAX_DRAWN, BLOCK = 1 << 24, 1 << 18

# From so many runs of a benchmark on, the noise follows its asymptotic rate.
ASYMPTOTIC_RUNS = 50

# The power of the number of runs with which the noise falls (median: Hall and Martin 1988); 1 / 2
# for a mean.
RATES = {"min": 0.0, "max": 0.0, "median": 0.25}

# Values with a smaller probability have less than rounding together.
NEGLIGIBLE = 1e-20


def spread_of_redrawn(units: Floats, statistic: str) -> Floats:
    """Return the variance of a statistic of units resampled with replacement (last axis).

    NaN is not measured, and one unit has no variance. It is exact for `median`, `min` and `max`
    (order statistics); for any other statistic it is the variance of the mean.
    """
    rows = units.reshape(-1, units.shape[-1])
    number = (~np.isnan(rows)).sum(axis=-1)
    variances = np.full(len(rows), np.nan)
    if statistic not in ORDER_STATISTICS:
        repeated = number > 1
        variances[repeated] = np.nanvar(rows[repeated], axis=-1) / number[repeated]
        return variances.reshape(units.shape[:-1])
    rows = np.sort(rows, axis=-1)
    for n in np.unique(number[number > 1]).tolist():
        rows_of_n = np.flatnonzero(number == n)
        law = order_law(n, statistic)
        counts = law.probability > NEGLIGIBLE
        low, high, probability = law.low[counts], law.high[counts], law.probability[counts]
        size = max(1, BLOCK // len(low))
        for block in np.split(rows_of_n, range(size, len(rows_of_n), size)):
            values = rows[block]
            support = (values[:, low] + values[:, high]) / 2
            support -= (support * probability).sum(axis=-1, keepdims=True)
            variances[block] = (support**2 * probability).sum(axis=-1)
    return variances.reshape(units.shape[:-1])


def concentration(variances: Floats) -> Floats:
    """Return sum(v^2) / sum(v)^2 along the last axis: 1 / B for B equal parts, 1 for a single one.

    NaN where all are 0.
    """
    total = np.nansum(variances, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nansum(variances**2, axis=-1) / total**2)


def noise_table(benchmarks: int, runs: int, statistic: str = "median") -> tuple[Floats, Floats]:
    """Simulate the spread of the score of suites with normal runs.

    Benchmarks vary alike up to very unequally. The variances of the benchmarks are lognormal
    quantiles, so that one number, their inequality, describes a suite. With very many runs, the
    noise of fewer runs is scaled by `RATES`; with very many benchmarks, fewer suites are simulated.

    Returns
    -------
    concentrations, noise : arrays along `INEQUALITY`
        The mean concentration of the variance, and the standard deviation of the log of the spread.
    """
    from scipy.special import ndtri

    rng = np.random.default_rng(SEED)
    if statistic in ORDER_STATISTICS:
        simulated = min(runs, max(ASYMPTOTIC_RUNS, MAX_DRAWN // (DRAWS * benchmarks)))
        draws = min(DRAWS, max(MIN_DRAWS, MAX_DRAWN // (simulated * benchmarks)))
        size = max(1, BLOCK // (benchmarks * simulated))
        blocks = (min(size, draws - start) for start in range(0, draws, size))
        variances = np.concatenate(
            [
                spread_of_redrawn(rng.standard_normal((number, benchmarks, simulated)), statistic)
                for number in blocks
            ]
        )
    else:  # the variance of a mean of normal runs is chi-square: no runs need be drawn
        simulated, draws = (
            runs,
            min(DRAWS, max(MIN_DRAWS, MAX_DRAWN // (ASYMPTOTIC_RUNS * benchmarks))),
        )
        variances = rng.chisquare(runs - 1, (draws, benchmarks)) / runs**2
    weights = np.exp(INEQUALITY * ndtri((np.arange(benchmarks) + 0.5) / benchmarks)[:, None])
    total = variances @ weights
    noise = (0.5 * np.log(total)).std(axis=0, ddof=1)
    scale = (
        1.0 if simulated == runs else ((simulated - 1) / (runs - 1)) ** RATES.get(statistic, 0.5)
    )
    return (variances**2 @ weights**2 / total**2).mean(axis=0), noise * scale


def log_spread_noise(
    concentrations: Floats, benchmarks: int, runs: int, statistic: str = "median"
) -> float:
    """Return the standard deviation of the sampling noise of the log of relative variation.

    It is that of suites whose benchmarks contribute as unequally as those of the machines do on
    average.

    `concentrations` (machines,) are those of the contributions of the benchmarks to the squared
    relative variation. NaN where no machine varies, or with one run.
    """
    usable = concentrations[np.isfinite(concentrations)]
    if runs < 2 or not len(usable):
        return float("nan")
    return float(np.interp(usable.mean(), *noise_table(benchmarks, runs, statistic)))


def noise_ceiling(log_measured: Floats, noise: Floats) -> float:
    """Return the largest correlation of any prediction with measured logs (machines,).

    With the standard deviation of their `noise` it is sqrt(1 - V_noise / Var(log measured)): 0
    where all is noise, NaN with fewer than 3 machines.

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
    return (
        float(np.sqrt(max(0.0, 1.0 - float((noise[finite] ** 2).mean()) / variance)))
        if variance > 0
        else float("nan")
    )
