"""Principal components of a table of samples by features, and what becomes of its gaps."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Integers, Mask


class Components(NamedTuple):
    """Scores (samples, components), loadings (features, components), variances (components), centres and divisors (features)."""

    scores: Floats
    loadings: Floats
    variances: Floats
    ratios: Floats
    centres: Floats
    divisors: Floats


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
    left, singular, right = np.linalg.svd(centred / divisors[..., None, :], full_matrices=False)
    loadings = np.swapaxes(right, -1, -2)
    largest = np.take_along_axis(loadings, np.abs(loadings).argmax(axis=-2, keepdims=True), axis=-2)
    signs = np.where(largest < 0, -1.0, 1.0)
    variances = singular**2 / (samples - 1)
    total = variances.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        ratios = variances / total
    return Components(left * singular[..., None, :] * signs, loadings * signs, variances, ratios, centres, divisors)


def correlations(values: Floats) -> Floats:
    """Return Pearson's correlations between the columns of tables; NaN where one is constant."""
    centred = values - values.mean(axis=-2, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=-2))
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = centred / np.where(length > 0, length, np.nan)[..., None, :]
    return np.asarray(np.clip(np.swapaxes(unit, -1, -2) @ unit, -1.0, 1.0))


def complete_part(measured: Mask) -> tuple[Mask, Mask]:
    """Return samples and features to keep so that no gap is left.

    What has the largest share of gaps goes first, a feature before a sample, the last of equals.
    """
    samples, features = (np.ones(size, dtype=bool) for size in measured.shape)
    while samples.any() and features.any():
        gaps = ~measured & samples[:, None] & features
        if not gaps.any():
            break
        by_sample = gaps.sum(axis=1) / features.sum()
        by_feature = gaps.sum(axis=0) / samples.sum()
        if by_sample.max() > by_feature.max():
            samples[len(by_sample) - 1 - by_sample[::-1].argmax()] = False
        else:
            features[len(by_feature) - 1 - by_feature[::-1].argmax()] = False
    return samples, features


def cluster_labels(scores: Floats, number: int, method: str) -> Integers:
    """Return a cluster 1, 2, ... for every sample (samples, components), numbered in the order in which they appear."""
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import pdist

    # Distances, not scores: SciPy warns of scores that might be distances, such as those of machines that are all alike.
    found = cut_tree(linkage(pdist(scores), method), n_clusters=number)[:, 0]
    _, first, place = np.unique(found, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[place] + 1, dtype=np.int64)
