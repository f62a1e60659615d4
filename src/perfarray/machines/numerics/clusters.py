"""Hierarchical clusters of samples: the dendrogram, and the number of clusters with the largest mean silhouette."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Integers, Mask

BLOCK = 500  # samples whose distances to all others are held at once


class Clusters(NamedTuple):
    """Clusters of samples, and the dendrogram that they are cut from.

    Clusters (samples) 1, 2, ... in the order in which they appear; the position (samples) of each
    sample in the dendrogram, from 1; the step (samples) of the clustering that joins its branch
    with the next one, 0 for the last; the distance (samples) of that step; the number of clusters,
    and their mean silhouette, NaN for one cluster.
    """

    labels: Integers
    positions: Integers
    steps: Integers
    heights: Floats
    number: int
    silhouette: float


def clusters_of(scores: Floats, method: str, number: int | None, most: int) -> Clusters:
    """Return the clusters of samples (samples, components): so many, or the number up to `most` with the largest mean silhouette."""
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import pdist

    # linkage warns of scores that could be distances, such as those of machines that are all alike;
    # it does not of distances.
    tree = linkage(pdist(scores), method)
    candidates = [number] if number is not None else [1, *range(2, min(most, len(scores) - 1) + 1)]
    cuts = cut_tree(tree, n_clusters=candidates)
    silhouettes = mean_silhouettes(scores, cuts)
    # One cluster has no silhouette. It is the answer where no split has a positive one, as of
    # machines that are all alike.
    best = int(np.argmax(np.nan_to_num(silhouettes)))
    return Clusters(
        in_order_of_appearance(cuts[:, best]),
        *_dendrogram(tree),
        candidates[best],
        float(silhouettes[best]),
    )


def mean_silhouettes(scores: Floats, cuts: Integers) -> Floats:
    """Return the mean silhouette of samples (samples, components) in each of some partitions (samples, partitions); NaN of one cluster.

    Rousseeuw 1987: (b - a) / max(a, b) of a sample, with its mean distances a to its own cluster
    and b to the nearest other; 0 for a sample alone in its cluster.
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
    offsets = np.cumsum([is_member.shape[1] for is_member in members])[:-1]
    return np.array(
        [
            _mean_silhouette(*pair)
            for pair in zip(np.split(sums, offsets, axis=1), members, strict=True)
        ]
    )


def _mean_silhouette(sums: Floats, is_member: Mask) -> float:
    """Return the mean silhouette of the clusters of samples, from the sums of distances of each sample to each cluster."""
    if is_member.shape[1] < 2:
        return float("nan")
    sizes = is_member.sum(axis=0)
    own_size = sizes[is_member.argmax(axis=1)]
    within = sums[is_member] / np.maximum(own_size - 1, 1)
    nearest = np.where(is_member, np.inf, sums / sizes).min(axis=1)
    larger = np.maximum(within, nearest)
    defined = (own_size > 1) & (larger > 0)
    return float(np.where(defined, (nearest - within) / np.where(defined, larger, 1.0), 0.0).mean())


def in_order_of_appearance(labels: Integers) -> Integers:
    """Return clusters renumbered 1, 2, ... in the order in which they appear."""
    _, first, order = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[order] + 1, dtype=np.int64)


def _dendrogram(tree: Floats) -> tuple[Integers, Integers, Floats]:
    """Return the position of every sample in a dendrogram, and the step and the distance at which it is joined with the next."""
    from scipy.cluster.hierarchy import leaves_list

    samples = len(tree) + 1
    order = leaves_list(tree)
    positions, steps, heights = (
        np.empty(samples, dtype=np.int64),
        np.zeros(samples, dtype=np.int64),
        np.full(samples, np.nan),
    )
    positions[order] = np.arange(1, samples + 1)
    # Every cluster is a run of leaves: a join lies between the last leaf of its first branch and
    # the next leaf.
    last = positions.tolist()
    for step, (first_branch, second_branch) in enumerate(tree[:, :2].astype(int).tolist(), 1):
        leaf = order[min(last[first_branch], last[second_branch]) - 1]
        steps[leaf], heights[leaf] = step, tree[step - 1, 2]
        last.append(max(last[first_branch], last[second_branch]))
    return positions, steps, heights
