"""Curves of samples: densities, histograms, quantiles of weighted values.

Samples lie on the last axis; NaN is not measured.
"""

import numpy as np
from scipy.stats import gaussian_kde

from perfarray.numerics.types import Floats

# A sample with a smaller relative range has one value, up to rounding.
SAME = 1e-9


def kernel_density(
    values: Floats, points: int, *, weights: Floats | None = None, beyond: float = 0.0
) -> tuple[Floats, Floats]:
    """Estimate densities of samples (..., value) with Gaussian kernels by Scott's rule.

    Returns the points and the heights there, shape (..., point); NaN for a sample of one value.
    `weights` (..., value) are those of the values (default: 1); the points reach `beyond` standard
    deviations of the kernel farther than the values.
    """
    rows = values.reshape(-1, values.shape[-1])
    x, height = (np.full((len(rows), points), np.nan) for _ in range(2))
    # One sample at a time: each has its own points and number of values.
    for row, sample in enumerate(rows):
        measured = ~np.isnan(sample)
        measured_values = sample[measured]
        if not _varies(measured_values):
            x[row] = measured_values[0] if measured_values.size else np.nan
            continue
        smooth = gaussian_kde(
            measured_values,
            weights=None if weights is None else weights.reshape(rows.shape)[row, measured],
        )
        margin = beyond * float(np.sqrt(smooth.covariance[0, 0]))
        x[row] = np.linspace(measured_values.min() - margin, measured_values.max() + margin, points)
        height[row] = smooth(x[row])
    shape = (*values.shape[:-1], points)
    return x.reshape(shape), height.reshape(shape)


def histogram(values: Floats, bins: int) -> tuple[Floats, Floats]:
    """Count the values of samples, shape (..., value), in bins of equal width.

    Returns the edges (..., bins + 1) and the counts (..., bins); NaN for a sample of one value.
    """
    rows = values.reshape(-1, values.shape[-1])
    edges, counts = np.full((len(rows), bins + 1), np.nan), np.full((len(rows), bins), np.nan)
    for row, sample in enumerate(rows):
        measured_values = sample[~np.isnan(sample)]
        if _varies(measured_values):
            counts[row], edges[row] = np.histogram(measured_values, bins)
    samples = values.shape[:-1]
    return edges.reshape((*samples, bins + 1)), counts.reshape((*samples, bins))


def weighted_quantiles(
    values: Floats, weights: Floats, probabilities: tuple[float, ...]
) -> tuple[Floats, ...]:
    """Return inf{x: F(x) >= p} of weighted samples, shape (...), for every p.

    Weights sum to 1, and a sample without values has NaN.
    """
    order = np.argsort(values, axis=-1)
    reached = np.nan_to_num(np.take_along_axis(weights, order, axis=-1)).cumsum(axis=-1)
    positions = (
        np.minimum((reached < p - 1e-12).sum(axis=-1, keepdims=True), values.shape[-1] - 1)
        for p in probabilities
    )
    return tuple(
        np.take_along_axis(np.take_along_axis(values, order, axis=-1), position, axis=-1)[..., 0]
        for position in positions
    )


def _varies(values: Floats) -> bool:
    """Return whether measured values differ by more than rounding."""
    return bool(values.size and np.ptp(values) > SAME * np.abs(values).max())
