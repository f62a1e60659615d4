"""Where EM begins: the classes of values between quantiles that mclust starts from in one dimension, and their parameters."""

import numpy as np

from perfarray.numerics.types import Floats, Integers

FINEST = 1000
"""Most points of the grid of quantiles, as a multiple of the number of values; ties need finer grids."""


def quantile_classes(ordered: Floats, n: Integers, number: int) -> Integers:
    """Return where the classes of some ordered samples begin.

    The quantiles of a grid on [0, 1] with number + 1 points are the edges of the classes. Where ties make edges equal, the grid gets
    finer until there are enough distinct ones, and of too many those with the smallest gap to the next are left out.

    Parameters
    ----------
    ordered : array, shape (sample, value)
        Values in ascending order; those past `n` are not looked at.
    n : int array, shape (sample,)
        Values of each sample.
    number : int
        Classes.

    Returns
    -------
    int array, shape (sample, number + 1)
        The place of the first value of each class, and `n`: class k holds the values from `[k]` up to `[k + 1]`. A sample with fewer
        distinct values than classes, or a class without values, gets classes of about as many distinct values each.
    """
    edges = _quantiles(ordered, n, np.arange(number + 1.0) * (1 / number))
    distinct = (np.diff(edges, axis=-1) > 0).all(axis=-1)
    for row in np.flatnonzero(~distinct):
        edges[row] = _distinct_edges(ordered[row, : n[row]], number)
    starts = np.empty((len(ordered), number + 1), np.intp)
    starts[:, 0], starts[:, -1] = 0, n
    inside = np.arange(ordered.shape[-1]) < n[:, None]
    for place in range(1, number):
        starts[:, place] = ((ordered < edges[:, place, None]) & inside).sum(axis=-1)
    for row in np.flatnonzero((np.diff(starts, axis=-1) <= 0).any(axis=-1)):
        starts[row] = _of_distinct_values(ordered[row, : n[row]], number)
    return starts


def parameters_of_classes(values: Floats, weights: Floats, starts: Integers, equal: bool) -> tuple[Floats, Floats, Floats]:
    """Return weights, means and variances of the classes of some samples, shape (sample, class); one variance where they are `equal`."""
    size, length = values.shape
    number = starts.shape[-1] - 1
    shares, means, squares = (np.empty((size, number)) for _ in range(3))
    total = weights.sum(axis=-1)
    place = np.arange(length)
    for own in range(number):
        inside = np.where((place >= starts[:, own, None]) & (place < starts[:, own + 1, None]), weights, 0.0)
        shares[:, own] = inside.sum(axis=-1)
        means[:, own] = (inside * values).sum(axis=-1) / shares[:, own]
        squares[:, own] = (inside * (values - means[:, own, None]) ** 2).sum(axis=-1)
    variances = np.broadcast_to((squares.sum(axis=-1) / total)[:, None], squares.shape) if equal else squares / shares
    return shares / total[:, None], means, variances


def _quantiles(ordered: Floats, n: Integers, grid: Floats) -> Floats:
    """Return quantiles interpolated between order statistics (R's type 7), for samples of different size."""
    index = (n[:, None] - 1) * grid
    low = np.floor(index).astype(np.intp)
    below = np.take_along_axis(ordered, low, axis=-1)
    above = np.take_along_axis(ordered, np.minimum(np.ceil(index).astype(np.intp), n[:, None] - 1), axis=-1)
    share = index - low
    return np.where((share > 0) & (above != below), (1 - share) * below + share * above, below)


def _distinct_edges(sample: Floats, number: int) -> Floats:
    """Return distinct edges of the classes of a sample with ties; equal ones where no grid has enough."""
    n = np.array([len(sample)])
    edges = sample[:1]
    if sample[-1] > sample[0]:
        for points in range(number + 2, FINEST * len(sample) + number):
            edges = np.unique(_quantiles(sample[None], n, np.arange(float(points)) * (1 / (points - 1)))[0])
            if len(edges) > number:
                break
    if len(edges) <= number:
        return np.full(number + 1, sample[0])
    smallest = np.argsort(np.diff(edges), kind="stable")[: len(edges) - number - 1]
    return np.delete(edges, smallest)


def _of_distinct_values(sample: Floats, number: int) -> Integers:
    """Return classes of about as many distinct values each; where there are too few, the last ones are empty."""
    firsts = np.flatnonzero(np.diff(sample, prepend=-np.inf) > 0)
    if len(firsts) <= number:
        return np.concatenate([firsts, np.full(number + 1 - len(firsts), len(sample))])
    chosen = firsts[(np.arange(number) * len(firsts)) // number]
    return np.append(chosen, len(sample))
