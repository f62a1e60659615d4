"""Principal components of tables of samples by features, and the complete part of a table."""

from typing import NamedTuple

import numpy as np

from perfarray.numerics.types import Floats, Mask


class PrincipalComponents(NamedTuple):
    """Principal components of a table.

    Scores (samples, components), loadings (features, components), variances and their shares
    (components), centres and divisors (features), and the correlations of the features.
    """

    scores: Floats
    loadings: Floats
    variances: Floats
    ratios: Floats
    centres: Floats
    divisors: Floats
    correlations: Floats


def principal_axes(table: Floats, *, scale: bool) -> PrincipalComponents:
    """Return the principal components of complete tables (..., samples, features).

    There are min(samples, features), by falling variance. With `scale`, features are divided by
    their standard deviations. The largest loading of each component is positive.
    """
    centres = table.mean(axis=-2)
    centred = table - centres[..., None, :]
    samples = table.shape[-2]
    divisors = (
        centred.std(axis=-2) * np.sqrt(samples / (samples - 1)) if scale else np.ones_like(centres)
    )
    scaled = centred / divisors[..., None, :]
    loadings, variances, ratios = axes_of(scaled, samples)
    return PrincipalComponents(
        scaled @ loadings, loadings, variances, ratios, centres, divisors, correlations(scaled)
    )


def axes_of(scaled: Floats, samples: int) -> tuple[Floats, Floats, Floats]:
    """Return loadings, variances and their shares of centred tables (..., samples, features).

    The triangles R of their QR have the same.
    """
    _, singular, right = np.linalg.svd(scaled, full_matrices=False)
    loadings = np.swapaxes(right, -1, -2)
    largest = np.take_along_axis(loadings, np.abs(loadings).argmax(axis=-2, keepdims=True), axis=-2)
    variances = singular**2 / (samples - 1)
    with np.errstate(invalid="ignore"):
        ratios = variances / variances.sum(axis=-1, keepdims=True)
    return loadings * np.where(largest < 0, -1.0, 1.0), variances, ratios


def correlations(centred: Floats) -> Floats:
    """Return Pearson's correlations between the columns of centred tables, or of their triangles R.

    NaN where one is constant.
    """
    length = np.sqrt((centred**2).sum(axis=-2))
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = centred / np.where(length > 0, length, np.nan)[..., None, :]
    return np.asarray(np.clip(np.swapaxes(unit, -1, -2) @ unit, -1.0, 1.0))


def complete_part(measured: Mask) -> tuple[Mask, Mask]:
    """Return the samples and features to keep so that no gap is left.

    The one with the largest share of gaps is dropped first; a feature before a sample, the last of
    equals.
    """
    samples, features = (np.ones(size, dtype=bool) for size in measured.shape)
    while samples.any() and features.any():
        gaps = ~measured & samples[:, None] & features
        by_sample = gaps.sum(axis=1)
        order = np.argsort(by_sample, kind="stable")[::-1][: np.count_nonzero(by_sample)]
        if not len(order):
            break
        # Samples are dropped in this order until a feature has the largest share: all samples
        # before it are dropped at once.
        gone = np.cumsum(gaps[order], axis=0, dtype=np.int32)
        by_feature = (gone[-1] - gone + gaps[order]) / (samples.sum() - np.arange(len(order)))[
            :, None
        ]
        feature_next = by_feature.max(axis=1) >= by_sample[order] / features.sum()
        n_left_out = int(feature_next.argmax()) if feature_next.any() else len(order)
        samples[order[:n_left_out]] = False
        if n_left_out < len(order):
            features[len(features) - 1 - by_feature[n_left_out, ::-1].argmax()] = False
    return samples, features
