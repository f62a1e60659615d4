"""Principal components of a table of samples by features, and what becomes of its gaps."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Integers, Mask


class Components(NamedTuple):
    """What describes a table: by sample and component, by feature and component, by component, by feature, and by pair of features."""

    scores: Floats
    loadings: Floats
    variances: Floats
    ratios: Floats
    centres: Floats
    divisors: Floats
    correlations: Floats


def principal_axes(table: Floats, *, scale: bool) -> Components:
    """Return the principal components of complete tables.

    Parameters
    ----------
    table : array, shape (..., samples, features)
        Values without gaps.
    scale : bool
        Whether features are divided by their standard deviation.

    Returns
    -------
    Components
        min(samples, features) of them, by falling variance. The largest loading of each is positive.
    """
    centres = table.mean(axis=-2)
    centred = table - centres[..., None, :]
    samples = table.shape[-2]
    divisors = centred.std(axis=-2) * np.sqrt(samples / (samples - 1)) if scale else np.ones_like(centres)
    scaled = centred / divisors[..., None, :]
    axes = axes_of(scaled, samples)
    return Components(scaled @ axes.loadings, *axes, centres, divisors, correlations(scaled))


class Axes(NamedTuple):
    """Loadings (features, components) and variances (components), absolute and as shares of the whole."""

    loadings: Floats
    variances: Floats
    ratios: Floats


def axes_of(scaled: Floats, samples: int) -> Axes:
    """Return the principal axes of centred tables, or of the triangles R of their QR decompositions, which have the same.

    Parameters
    ----------
    scaled : array, shape (..., samples, features) or (..., at most features, features)
        Centred values, or R.
    samples : int
        How many samples there are.
    """
    _, singular, right = np.linalg.svd(scaled, full_matrices=False)
    loadings = np.swapaxes(right, -1, -2)
    largest = np.take_along_axis(loadings, np.abs(loadings).argmax(axis=-2, keepdims=True), axis=-2)
    variances = singular**2 / (samples - 1)
    with np.errstate(invalid="ignore"):
        ratios = variances / variances.sum(axis=-1, keepdims=True)
    return Axes(loadings * np.where(largest < 0, -1.0, 1.0), variances, ratios)


def correlations(centred: Floats) -> Floats:
    """Return Pearson's correlations between the columns of centred tables, or of their triangles R; NaN where one is constant."""
    length = np.sqrt((centred**2).sum(axis=-2))
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = centred / np.where(length > 0, length, np.nan)[..., None, :]
    return np.asarray(np.clip(np.swapaxes(unit, -1, -2) @ unit, -1.0, 1.0))


def complete_part(measured: Mask) -> tuple[Mask, Mask]:
    """Return samples and features to keep so that no gap is left.

    What has the largest share of gaps goes first, a feature before a sample, the last of equals. Until a feature goes, the order in which
    samples would go is known: so many are taken at once that a feature is next.
    """
    samples, features = (np.ones(size, dtype=bool) for size in measured.shape)
    while samples.any() and features.any():
        gaps = ~measured & samples[:, None] & features
        by_sample = gaps.sum(axis=1)
        order = np.argsort(by_sample, kind="stable")[::-1][: np.count_nonzero(by_sample)]
        if not len(order):
            break
        gone = np.cumsum(gaps[order], axis=0, dtype=np.int32)
        by_feature = (gone[-1] - gone + gaps[order]) / (samples.sum() - np.arange(len(order)))[:, None]
        feature_next = by_feature.max(axis=1) >= by_sample[order] / features.sum()
        n_left_out = int(feature_next.argmax()) if feature_next.any() else len(order)
        samples[order[:n_left_out]] = False
        if n_left_out < len(order):
            features[len(features) - 1 - by_feature[n_left_out, ::-1].argmax()] = False
    return samples, features


def cluster_labels(scores: Floats, number: int, method: str) -> Integers:
    """Return a cluster 1, 2, ... for every sample (samples, components), numbered in the order in which they appear."""
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import pdist

    # Distances, not scores: SciPy warns of scores that might be distances, such as those of machines that are all alike.
    labels = cut_tree(linkage(pdist(scores), method), n_clusters=number)[:, 0]
    _, first, order = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[order] + 1, dtype=np.int64)
