"""The exact two-sample Kolmogorov-Smirnov test with ties."""

import numpy as np

from perfarray.numerics.types import Floats


def exact_ks_pvalue(x: Floats, y: Floats) -> Floats:
    """Return the two-sided permutation p of the Kolmogorov-Smirnov distance.

    Samples are (..., n) and (..., m), NaN not measured.

    Every assignment of values to x and y is a path through a lattice of n by m steps; the p-value
    is the share of paths that at the end of some tie are as far from the diagonal as the data.
    Distributions are not compared inside a tie, so that ties make p smaller: the exact distribution
    for samples without ties gives too large p-values, and so, in the tail, does the asymptotic one.

    References
    ----------
    G. Schroeer, D. Trenkler, "Exact and randomization distributions of Kolmogorov-Smirnov tests two
    or three samples", Computational Statistics and Data Analysis 20, 1995. R gives it from version
    4.2 on.
    """
    return np.asarray(np.vectorize(_pvalue, otypes=[float], signature="(n),(m)->()")(x, y))


def _pvalue(x: Floats, y: Floats) -> float:
    x, y = x[~np.isnan(x)], y[~np.isnan(y)]
    n, m = len(x), len(y)
    if not n or not m:
        return np.nan
    values, ties = np.unique(np.concatenate([x, y]), return_counts=True)
    below = [np.searchsorted(np.sort(side), values, side="right") for side in (x, y)]
    observed = np.abs(below[0] * m - below[1] * n).max()
    is_tie_end = np.zeros(n + m + 1, bool)
    is_tie_end[np.cumsum(ties)] = True
    # Value by value, `near` is the probability of the number of x so far for paths that have not
    # been as far as the data.
    counts = np.arange(n + 1)
    inside, outside = (counts == 0).astype(float), 0.0
    for step in range(n + m):
        share = (n - counts) / (n + m - step)
        following = inside * (1 - share)
        following[1:] += (inside * share)[:-1]
        inside = following
        if is_tie_end[step + 1]:
            reached = np.abs(counts * m - (step + 1 - counts) * n) >= observed
            outside += inside[reached].sum()
            inside[reached] = 0.0
    return min(outside, 1.0)
