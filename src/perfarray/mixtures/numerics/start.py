"""The start of EM: classes of values between quantiles, and their parameters."""

import numpy as np

from perfarray.numerics.types import Floats, Integers

# Positions in a sample, about, that are compared at once as edges of classes.
EDGES = 200

# Most points of the grid of quantiles, as a multiple of the number of values; ties need finer
# grids.
FINEST = 1000


def quantile_classes(ordered: Floats, n: Integers, number: int) -> Integers:
    """Return where classes of ordered samples begin (sample, number + 1): k at `[k]`.

    The quantiles of a grid on [0, 1] with number + 1 points are the edges of the classes. Where
    ties make edges equal, the grid gets finer until enough are distinct; of too many, those with
    the smallest gap to the next are left out. A sample with fewer distinct values than classes, or
    a class without values, gets classes of about as many distinct values each.
    """
    edges = _quantiles(ordered, n, np.arange(number + 1.0) * (1 / number))
    distinct = (np.diff(edges, axis=-1) > 0).all(axis=-1)
    for row in np.flatnonzero(~distinct):
        edges[row] = _distinct_edges(ordered[row, : n[row]], number)
    starts = np.empty((len(ordered), number + 1), np.intp)
    starts[:, 0], starts[:, -1] = 0, n
    inside = np.arange(ordered.shape[-1]) < n[:, None]
    for column in range(1, number):
        starts[:, column] = ((ordered < edges[:, column, None]) & inside).sum(axis=-1)
    for row in np.flatnonzero((np.diff(starts, axis=-1) <= 0).any(axis=-1)):
        starts[row] = _even_classes(ordered[row, : n[row]], number)
    return starts


def parameters_of_classes(
    values: Floats, weights: Floats, starts: Integers
) -> tuple[Floats, Floats, Floats]:
    """Return weights, means and variances of the classes of some samples, shape (sample, class)."""
    size, length = values.shape
    # In the flattened samples classes follow each other; what is past a sample's end has weight 0,
    # and lies in its last class.
    first = (starts[:, :-1] + length * np.arange(size)[:, None]).ravel()

    def sums(terms: Floats) -> Floats:
        return np.asarray(np.add.reduceat(terms.ravel(), first).reshape(size, starts.shape[-1] - 1))

    shares = sums(weights)
    means = sums(weights * values) / shares
    deviations = values - np.repeat(means, np.diff(first, append=values.size)).reshape(values.shape)
    return (
        shares / weights.sum(axis=-1, keepdims=True),
        means,
        sums(weights * deviations**2) / shares,
    )


def _quantiles(ordered: Floats, n: Integers, grid: Floats) -> Floats:
    """Return quantiles between order statistics (R's type 7), for samples of different size."""
    index = (n[:, None] - 1) * grid
    low = np.floor(index).astype(np.intp)
    below = np.take_along_axis(ordered, low, axis=-1)
    above = np.take_along_axis(
        ordered, np.minimum(np.ceil(index).astype(np.intp), n[:, None] - 1), axis=-1
    )
    share = index - low
    return np.where((share > 0) & (above != below), (1 - share) * below + share * above, below)


def _distinct_edges(sample: Floats, number: int) -> Floats:
    """Return distinct edges of the classes of a sample with ties.

    Equal ones where no grid has enough.
    """
    n = np.array([len(sample)])
    edges = sample[:1]
    if sample[-1] > sample[0]:
        for points in range(number + 2, FINEST * len(sample) + number):
            edges = np.unique(
                _quantiles(sample[None], n, np.arange(float(points)) * (1 / (points - 1)))[0]
            )
            if len(edges) > number:
                break
    if len(edges) <= number:
        return np.full(number + 1, sample[0])
    smallest = np.argsort(np.diff(edges), kind="stable")[: len(edges) - number - 1]
    return np.delete(edges, smallest)


def _even_classes(sample: Floats, number: int) -> Integers:
    """Return classes of about as many distinct values each.

    Where there are too few, the last ones are empty.
    """
    firsts = np.flatnonzero(np.diff(sample, prepend=-np.inf) > 0)
    if len(firsts) <= number:
        return np.concatenate([firsts, np.full(number + 1 - len(firsts), len(sample))])
    return np.append(firsts[(np.arange(number) * len(firsts)) // number], len(sample))


def edged_classes(ordered: Floats, weights: Floats, n: Integers, number: int) -> Integers:
    """Return where classes begin that fall exponentially from their least value on.

    EM does not move the edges of such components: they are those with the largest likelihood of
    values that belong to one class each, among classes of contiguous values with at least a quarter
    of the average weight. Samples without such classes keep those between quantiles.
    """
    starts = quantile_classes(ordered, n, number)
    for row, size in (
        enumerate(n.tolist()) if number > 1 else ()
    ):  # sample by sample: each has edges of its own
        edges = _edges(ordered[row, :size], weights[row, :size], number)
        starts[row] = starts[row] if edges is None else edges
    return starts


def _edges(sample: Floats, weights: Floats, number: int) -> Integers | None:
    """Return the edges of the classes of one sample, None where there are none."""
    masses, sums = (
        np.r_[0.0, np.cumsum(weights)],
        np.r_[0.0, np.cumsum(weights * (sample - sample[0]))],
    )
    min_mass = masses[-1] / (4 * number)
    firsts = np.append(np.flatnonzero(np.diff(sample, prepend=-np.inf) > 0), len(sample))

    def likelihood(first: Integers, last: Integers) -> Floats:
        """Return the log-likelihood of a class of the values from one position up to another."""
        share = masses[last] - masses[first]
        excess = (
            sums[last]
            - sums[first]
            - share * (sample[np.minimum(first, len(sample) - 1)] - sample[0])
        )
        valid = (share >= min_mass) & (excess > 1e-9 * sums[-1])
        share, excess = np.where(valid, share, 1.0), np.where(valid, excess, 1.0)
        return np.where(valid, share * (2 * np.log(share) - np.log(excess)), -np.inf)

    # Dynamic programming over some hundred positions first; then each edge moves between its
    # neighbours.
    coarse = np.unique(np.r_[firsts[:: 1 + len(firsts) // EDGES], len(sample)])
    pairs = likelihood(coarse[:, None], coarse[None, :])
    best, predecessors = pairs[0], []
    for _ in range(number - 1):
        extended = best[:, None] + pairs
        predecessors.append(extended.argmax(axis=0))
        best = extended.max(axis=0)
    if not np.isfinite(best[-1]):
        return None
    path = [len(coarse) - 1]
    for previous in reversed(predecessors):
        path.append(int(previous[path[-1]]))
    edges = np.array([0, *coarse[path[::-1]]])
    for index in range(1, number) if len(coarse) < len(firsts) else ():
        candidates = firsts[
            np.abs(np.searchsorted(firsts, edges[index]) - np.arange(len(firsts)))
            <= len(firsts) // EDGES
        ]
        candidates = candidates[(candidates > edges[index - 1]) & (candidates < edges[index + 1])]
        gain = likelihood(np.full_like(candidates, edges[index - 1]), candidates) + likelihood(
            candidates, np.full_like(candidates, edges[index + 1])
        )
        edges[index] = candidates[gain.argmax()]
    return edges
