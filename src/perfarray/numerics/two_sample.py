"""The exact two-sample Kolmogorov-Smirnov test with ties."""

import numpy as np

from perfarray.numerics.types import Floats, Integers


def exact_ks_pvalue(x: Floats, y: Floats) -> Floats:
    """Return the two-sided permutation p-value of the Kolmogorov-Smirnov distance of samples (..., n) and (..., m), NaN not measured.

    Every assignment of values to x and y is a path through a lattice of n by m steps; the p-value is the share of paths that at the end of
    some tie are as far from the diagonal as the data. Distributions are not compared inside a tie, so that ties make p smaller: the exact
    distribution for samples without ties gives too large p-values, and so, in the tail, does the asymptotic one.

    References
    ----------
    G. Schroeer, D. Trenkler, "Exact and randomization distributions of Kolmogorov-Smirnov tests two or three samples", Computational
    Statistics and Data Analysis 20, 1995. R gives it from version 4.2 on.
    """
    batch = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    rows = [np.broadcast_to(side, (*batch, side.shape[-1])).reshape(-1, side.shape[-1]) for side in (x, y)]
    pairs = ((first[~np.isnan(first)], second[~np.isnan(second)]) for first, second in zip(*rows, strict=True))
    return np.array([_pvalue(*pair) for pair in pairs]).reshape(batch)


def _pvalue(x: Floats, y: Floats) -> float:
    n, m = len(x), len(y)
    if not n or not m:
        return np.nan
    values, ends = np.unique(np.concatenate([x, y]), return_counts=True)
    ends = np.cumsum(ends)
    below = [np.searchsorted(np.sort(side), values, side="right") for side in (x, y)]
    observed = np.abs(below[0] * m - below[1] * n).max()
    compared = np.zeros(n + m + 1, bool)
    compared[ends] = True
    return _share_of_paths(n, m, int(observed), compared)


def _share_of_paths(n: int, m: int, observed: int, compared: Integers) -> float:
    """Return the share of paths that reach the distance `observed` / (n m) after a number of values that is `compared`.

    Value by value, `near` is the probability of the number of x so far for paths that have not reached it.
    """
    counts = np.arange(n + 1)
    near = np.zeros(n + 1)
    near[0] = 1.0
    far = 0.0
    for step in range(n + m):
        share = (n - counts) / (n + m - step)
        following = near * (1 - share)
        following[1:] += (near * share)[:-1]
        near = following
        if compared[step + 1]:
            reached = np.abs(counts * m - (step + 1 - counts) * n) >= observed
            far += near[reached].sum()
            near[reached] = 0.0
    return min(far, 1.0)
