"""Hierarchical clusters: the dendrogram, and the number with the largest mean silhouette."""

import numpy as np

from perfarray.numerics.types import Floats, Integers

BLOCK = 500  # samples whose distances to all others are held at once

Dendrogram = tuple[Integers, Integers, Floats]


def clusters_of(
    scores: Floats, method: str, number: int | None, n_max: int
) -> tuple[Integers, Dendrogram, int, float]:
    """Return clusters of samples, and the dendrogram that they are cut from.

    Parameters
    ----------
    scores : array, shape (samples, components)
        Where the samples lie.
    method : str
        That of `scipy.cluster.hierarchy.linkage`.
    number, n_max : int
        The number of clusters; None takes that up to `n_max` with the largest mean silhouette.

    Returns
    -------
    labels : array, shape (samples,)
        Clusters 1, 2, ... in the order in which they appear.
    dendrogram : (array, array, array)
        By sample its position, from 1; the step that joins its branch with the next one, 0 for the
        last; and the distance of that step.
    number : int
        The number of clusters.
    silhouette : float
        Their mean silhouette, NaN for one cluster.
    """
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import pdist

    # linkage warns of scores that could be distances, such as those of machines that are all alike;
    # it does not of distances.
    tree = linkage(pdist(scores), method)
    numbers = [number] if number is not None else [1, *range(2, min(n_max, len(scores) - 1) + 1)]
    cuts = cut_tree(tree, n_clusters=numbers)
    silhouettes = mean_silhouettes(scores, cuts)
    # One cluster has no silhouette. It is the answer where no split has a positive one, as of
    # machines that are all alike.
    best = int(np.argmax(np.nan_to_num(silhouettes)))
    _, first, codes = np.unique(cuts[:, best], return_index=True, return_inverse=True)
    labels = np.argsort(np.argsort(first))[codes] + 1
    return labels.astype(np.int64), _dendrogram(tree), numbers[best], float(silhouettes[best])


def mean_silhouettes(scores: Floats, cuts: Integers) -> Floats:
    """Return the mean silhouette of samples (samples, components) in partitions (samples, cuts).

    NaN of one cluster. Rousseeuw 1987: (b - a) / max(a, b) of a sample, with its mean distances a
    to its own cluster and b to the nearest other; 0 for a sample alone in its cluster.
    """
    from scipy.spatial.distance import cdist

    members = [cut[:, None] == np.unique(cut) for cut in cuts.T]
    # In blocks of samples: all distances of 10,000 would take 800 MB.
    sums = np.concatenate(
        [
            cdist(block, scores) @ np.concatenate(members, axis=1)
            for block in np.array_split(scores, len(scores) // BLOCK + 1)
        ]
    )
    ends = np.cumsum([is_member.shape[1] for is_member in members])
    means = np.full(len(members), np.nan)
    for number, (is_member, end) in enumerate(zip(members, ends.tolist(), strict=True)):
        if is_member.shape[1] < 2:
            continue
        of_clusters, sizes = sums[:, end - is_member.shape[1] : end], is_member.sum(axis=0)
        own_size = sizes[is_member.argmax(axis=1)]
        within = of_clusters[is_member] / np.maximum(own_size - 1, 1)
        nearest = np.where(is_member, np.inf, of_clusters / sizes).min(axis=1)
        larger = np.maximum(within, nearest)
        defined = (own_size > 1) & (larger > 0)
        means[number] = np.where(
            defined, (nearest - within) / np.where(defined, larger, 1.0), 0.0
        ).mean()
    return means


def _dendrogram(tree: Floats) -> Dendrogram:
    """Return by sample its position, and the step and distance that join it with the next."""
    from scipy.cluster.hierarchy import leaves_list

    order = leaves_list(tree)
    steps, heights = np.zeros(len(order), dtype=np.int64), np.full(len(order), np.nan)
    positions = np.argsort(order) + 1
    # Every cluster is a run of leaves: a join lies between the last leaf of its first branch and
    # the next leaf.
    last = positions.tolist()
    for step, (first_branch, second_branch) in enumerate(tree[:, :2].astype(int).tolist(), 1):
        leaf = order[min(last[first_branch], last[second_branch]) - 1]
        steps[leaf], heights[leaf] = step, tree[step - 1, 2]
        last.append(max(last[first_branch], last[second_branch]))
    return positions, steps, heights
