"""Kolmogorov and Smirnov's distance of two samples with ties: how probable one as large is, given the values that were measured."""

import numpy as np

from perfarray.numerics.types import Floats, Integers


def exact_ks_pvalue(x: Floats, y: Floats) -> Floats:
    """Return the probability of a distance as large, two-sided, if chance alone says which of the values measured are x and which are y.

    Parameters
    ----------
    x, y : array, shape (..., n) and (..., m)
        Samples; the axes before the last broadcast, NaN is not measured.

    Returns
    -------
    array, shape (...)
        NaN where a side has no value. It costs n m steps a sample.

    Notes
    -----
    Every way to say which values are x is a path through a lattice of n by m steps; the p-value is the share of paths that at the end of
    some tie are as far from the diagonal as the data. Inside a tie the distributions are nowhere compared, so that ties make p smaller
    than without them: the exact law of samples without ties is too large, and so, far out, is the limit law.

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
    """Return the p-value of one pair of samples: ties are its own, and so are paths."""
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
    """Return the share of paths that reach the distance `observed` / (n m) where distributions are compared: after so many values.

    The values are taken one after the other; what is kept is the probability of the number of x among them, of paths that stayed near.
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
