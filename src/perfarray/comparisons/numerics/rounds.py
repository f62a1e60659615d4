"""Whether unit i of one system and unit i of the other move together, as those of one round of measurements do.

The last axes are (benchmarks, units); NaN is "not measured".
"""

from itertools import permutations
from math import factorial

import numpy as np

from perfarray.numerics.types import Floats, Integers

MIN_UNITS = 5  # units of both sides from which on the order they have is the best of 100
N_ORDERS = 2000  # orders of one side's units that are tried, at most; of fewer than 7 units these are all


def round_correlation(new: Floats, old: Floats) -> tuple[float, float]:
    """Return the mean correlation over the benchmarks of the units of two sides, and the chance of one as large in any order of units.

    Benchmarks may have common units: all are reordered together. Both sides are (benchmarks, units); a benchmark without variation is left
    out, and so is a unit that lacks one of the others. Without five units and a benchmark both answers are NaN.
    """
    varying = np.all([np.ptp(np.nan_to_num(side), axis=-1) > 0 for side in (new, old)], axis=0) & (np.isfinite(new) & np.isfinite(old)).any(
        axis=-1
    )
    complete = np.isfinite(new[varying]).all(axis=0) & np.isfinite(old[varying]).all(axis=0)
    n = int(complete.sum())
    if n < MIN_UNITS or not varying.any():
        return np.nan, np.nan
    directions = []
    for side in (new, old):
        distances = side[varying][:, complete]
        distances = distances / distances.mean(axis=-1, keepdims=True) - 1.0
        size = np.sqrt((distances**2).sum(axis=-1, keepdims=True))
        directions.append(np.divide(distances, size, out=np.zeros_like(distances), where=size > 0))
    products = directions[0].T @ directions[1]
    sums = products[np.arange(n), _orders(n)].sum(axis=-1)
    as_large = int((sums >= sums[0] * (1 - 1e-12)).sum())  # the first is the order that they have
    return float(sums[0] / varying.sum()), as_large / len(sums)


def _orders(n: int) -> Integers:
    """Return orders of n units, all of them where these are few; the first is that of the labels."""
    if factorial(n) <= N_ORDERS:
        return np.array(list(permutations(range(n))), dtype=np.intp)
    identity = np.arange(n, dtype=np.intp)
    orders = np.random.default_rng(n).permuted(np.tile(identity, (N_ORDERS, 1)), axis=1)
    orders[0] = identity
    return np.asarray(orders)
