"""Clusters of samples: their numbers, silhouettes as scikit-learn computes them, and the dendrogram
as SciPy draws it."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import pdist

from perfarray.machines.numerics import clusters
from perfarray.machines.numerics.clusters import clusters_of


def test_clusters_are_numbered_as_they_appear():
    """Two groups far apart, in any order of samples."""
    scores = np.array([[9.0], [0.0], [9.1], [0.1], [0.2]])
    assert clusters_of(scores, "ward", 2, 10)[0].tolist() == [1, 2, 1, 2, 2]
    assert clusters_of(scores, "average", 5, 10)[0].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("number", [2, 4])
def test_silhouettes_are_those_of_scikit_learn(number, monkeypatch):
    """Of groups that overlap, one of which is a single sample; of all samples in one there is
    none."""
    metrics = pytest.importorskip("sklearn.metrics")
    scores = np.random.default_rng(number).normal(size=(12, 3))
    labels = np.append(np.arange(11) % number, number)
    expected = metrics.silhouette_score(scores, labels)
    monkeypatch.setattr(clusters, "BLOCK", 5)
    cuts = np.stack([labels, np.zeros(12, dtype=int)], axis=1)
    silhouettes = clusters.mean_silhouettes(scores, cuts)
    np.testing.assert_allclose(silhouettes, [expected, np.nan], rtol=1e-12)


def test_the_largest_silhouette_chooses_the_number():
    """Four groups are found as four; machines that are all alike, and two machines, are one cluster
    without a silhouette."""
    rng = np.random.default_rng(1)
    groups = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]], 5, axis=0) + rng.normal(
        0, 0.3, (20, 2)
    )
    labels, _, number, silhouette = clusters_of(groups, "ward", None, 10)
    assert (number, labels.tolist()) == (4, np.repeat([1, 2, 3, 4], 5).tolist())
    assert silhouette == max(clusters_of(groups, "ward", count, 10)[-1] for count in range(2, 11))
    assert clusters_of(groups, "ward", None, 3)[2] == 3
    for scores in (np.ones((5, 2)), groups[:2]):
        labels, _, number, silhouette = clusters_of(scores, "ward", None, 10)
        assert (number, np.isnan(silhouette), set(labels.tolist())) == (1, True, {1})


@pytest.mark.parametrize("method", ["ward", "centroid"])
def test_the_dendrogram_is_that_of_scipy(method):
    """Positions are SciPy's order of leaves; joining neighbours step by step gives its sizes and
    distances, where these fall, too."""
    scores = np.random.default_rng(3).normal(size=(15, 2))
    tree = linkage(pdist(scores), method)
    positions, steps, heights = clusters_of(scores, method, 3, 10)[1]
    order = np.argsort(positions)
    assert order.tolist() == leaves_list(tree).tolist()
    steps, heights = steps[order], heights[order]
    assert (steps[-1], np.isnan(heights[-1])) == (0, True)
    runs = [[leaf] for leaf in range(15)]
    for step, (_, _, distance, size) in enumerate(tree, 1):
        (leaf,) = np.flatnonzero(steps == step)
        first, second = runs[leaf], runs[leaf + 1]
        joined = [*first, *second]
        assert (heights[leaf], len(joined)) == (distance, size)
        for member in joined:
            runs[member] = joined
