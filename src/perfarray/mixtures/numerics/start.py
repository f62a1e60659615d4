"""Where EM begins: the classes of values between quantiles that mclust starts from in one dimension, and their parameters."""

import numpy as np

from perfarray.numerics.types import Floats, Integers

EDGES = 200
"""Places of a sample, about, that are looked at together as edges of classes."""

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


def parameters_of_classes(values: Floats, weights: Floats, starts: Integers) -> tuple[Floats, Floats, Floats]:
    """Return weights, means and variances of the classes of some samples, shape (sample, class)."""
    size, length = values.shape
    # The classes stand one after the other; what is past a sample's end counts nothing, and lies in the last of it.
    first = (starts[:, :-1] + length * np.arange(size)[:, None]).ravel()

    def sums(part: Floats) -> Floats:
        return np.asarray(np.add.reduceat(part.ravel(), first).reshape(size, starts.shape[-1] - 1))

    shares = sums(weights)
    means = sums(weights * values) / shares
    deviations = values - np.repeat(means, np.diff(first, append=values.size)).reshape(values.shape)
    return shares / weights.sum(axis=-1, keepdims=True), means, sums(weights * deviations**2) / shares


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


def edged_classes(ordered: Floats, weights: Floats, n: Integers, number: int) -> Integers:
    """Return where classes begin of which each falls exponentially from its least value on.

    EM does not move the edges of such components: they are those with the largest likelihood of values that belong to one class each, among
    classes of contiguous values that are a quarter as heavy as the average or more. Of many values some hundred are looked at first, and
    then those between them.

    Parameters
    ----------
    ordered, weights : array, shape (sample, value)
        Values in ascending order, and what each counts.
    n : int array, shape (sample,)
        Values of each sample.
    number : int
        Classes.

    Returns
    -------
    int array, shape (sample, number + 1)
        As `quantile_classes` returns, whose classes those are that have no others.
    """
    starts = quantile_classes(ordered, n, number)
    for row, last in enumerate(n.tolist()) if number > 1 else ():  # sample by sample: each has edges of its own
        found = _edges(ordered[row, :last], weights[row, :last], number)
        starts[row] = starts[row] if found is None else found
    return starts


def _edges(sample: Floats, weights: Floats, number: int) -> Integers | None:
    """Return the edges of the classes of one sample, None where there are none."""
    heavy, sums = np.r_[0.0, np.cumsum(weights)], np.r_[0.0, np.cumsum(weights * (sample - sample[0]))]
    least = heavy[-1] / (4 * number)
    firsts = np.append(np.flatnonzero(np.diff(sample, prepend=-np.inf) > 0), len(sample))

    def likelihood(first: Integers, last: Integers) -> Floats:
        """Return the log-likelihood of a class of the values from one place up to another."""
        share = heavy[last] - heavy[first]
        beyond = sums[last] - sums[first] - share * (sample[np.minimum(first, len(sample) - 1)] - sample[0])
        there = (share >= least) & (beyond > 1e-9 * sums[-1])
        share, beyond = np.where(there, share, 1.0), np.where(there, beyond, 1.0)
        return np.where(there, share * (2 * np.log(share) - np.log(beyond)), -np.inf)

    looked_at = np.unique(np.r_[firsts[:: 1 + len(firsts) // EDGES], len(sample)])
    each = likelihood(looked_at[:, None], looked_at[None, :])
    best, before = each[0], []
    for _ in range(number - 1):
        longer = best[:, None] + each
        before.append(longer.argmax(axis=0))
        best = longer.max(axis=0)
    if not np.isfinite(best[-1]):
        return None
    places = [len(looked_at) - 1]
    for own in reversed(before):
        places.append(int(own[places[-1]]))
    edges = np.array([0, *looked_at[places[::-1]]])
    for place in range(1, number) if len(looked_at) < len(firsts) else ():
        near = firsts[np.abs(np.searchsorted(firsts, edges[place]) - np.arange(len(firsts))) <= len(firsts) // EDGES]
        near = near[(near > edges[place - 1]) & (near < edges[place + 1])]
        gain = likelihood(np.full_like(near, edges[place - 1]), near) + likelihood(near, np.full_like(near, edges[place + 1]))
        edges[place] = near[gain.argmax()]
    return edges
