"""Whether unit i of one system and unit i of the other move together, as in rounds.

The last axes are (benchmarks, units); NaN is "not measured".
"""

from itertools import permutations
from math import factorial

import numpy as np

from perfarray.numerics.types import Floats, Integers

MIN_UNITS = 5
N_ORDERS = (
    2000  # orders of one side's units that are tried, at most; of fewer than 7 units these are all
)
# Share of orders with a correlation as large, at most; by the number of units, where close ones
# leave no smaller share
FEW_ORDERS = {5: 0.05, 6: 0.025}
FEWEST_ORDERS = 0.01


def round_correlation(new: Floats, old: Floats) -> tuple[float, float]:
    """Return the mean correlation of the units of two sides, and its probability without rounds.

    Benchmarks may have common units, so that one mean over the benchmarks stands for a unit; its
    correlation has Student's t test. An outlier on both sides makes a correlation of any order:
    where too many orders of the units correlate as well, p is 1. A benchmark without variation is
    left out, and so is a unit that lacks one of the others. Without five units and a benchmark both
    answers are NaN, and so they are where one side has the values of the other, times a factor:
    these are copies.
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        sides = [
            side
            / np.nanmean(
                np.where(np.isnan(side).all(axis=-1, keepdims=True), 1.0, side),
                axis=-1,
                keepdims=True,
            )
            for side in (new, old)
        ]
    varying = np.all(
        [np.nanmax(np.nan_to_num(np.abs(side - 1.0)), axis=-1) > 0 for side in sides], axis=0
    )
    complete = np.all([np.isfinite(side[varying]).all(axis=0) for side in sides], axis=0)
    n = int(complete.sum())
    if n < MIN_UNITS or not varying.any():
        return np.nan, np.nan
    directions = [_directions(side[varying][:, complete]) for side in sides]
    if np.allclose(directions[0], directions[1], rtol=0.0, atol=1e-9):
        return np.nan, np.nan
    first, second = (_directions(side.mean(axis=0)) for side in directions)
    correlation = min(float(first @ second), 1.0)
    others = (first * second[_orders(n)]).sum(axis=-1)
    with np.errstate(divide="ignore"):
        statistic = correlation * np.sqrt((n - 2) / np.float64(1.0 - correlation**2))
    typical = (others >= correlation).mean() > FEW_ORDERS.get(n, FEWEST_ORDERS)
    pvalue = 1.0 if typical else float(stdtr(n - 2, -statistic))
    return float((directions[0] * directions[1]).sum() / varying.sum()), pvalue


def _directions(units: Floats) -> Floats:
    """Return units as distances from their mean, of length 1."""
    distances = units - units.mean(axis=-1, keepdims=True)
    size = np.sqrt((distances**2).sum(axis=-1, keepdims=True))
    return np.asarray(np.divide(distances, size, out=np.zeros_like(distances), where=size > 0))


def _orders(n: int) -> Integers:
    """Return orders of n units: all of them where these are few."""
    if factorial(n) <= N_ORDERS:
        return np.array(list(permutations(range(n))), dtype=np.intp)
    return np.asarray(
        np.random.default_rng(n).permuted(np.tile(np.arange(n), (N_ORDERS, 1)), axis=1)
    )
