"""Curves of one mixture, and of the runs it was fitted to."""

import numpy as np
from scipy.special import ndtr

from perfarray.mixtures.numerics.normal import NormalMixture
from perfarray.mixtures.numerics.scale import Scaled, density, distribution, quantiles
from perfarray.numerics.types import Floats

# Points along the whole curve, and within the reach of every component.
POINTS = 200

# Standard deviations of a normal component within which points are dense; of others the same share.
REACH = 4.0

# How many of these are reach at least: of a normal component, of a lognormal one, of others.
SHOWN = (4.0, 3.0, 2.5)


def _each_component(scaled: Scaled, weights: Floats) -> Scaled:
    """Return every component as a mixture of its own, shape (component, 1, 1), with a weight."""
    columns = (weights, scaled.mixture.means, scaled.mixture.deviations)
    return Scaled(NormalMixture(*(column[:, None, None] for column in columns)), scaled.family)


def curve_points(scaled: Scaled, runs: Floats) -> Floats:
    """Return where the curves of a mixture are drawn: densely where a component is narrow."""
    components = _each_component(scaled, np.ones_like(scaled.mixture.weights))
    reach = SHOWN[min(int(scaled.family), 2)]
    ends = np.r_[quantiles(components, ndtr([-reach, reach])).ravel(), runs]
    margin = 0.05 * (ends.max() - ends.min()) or 0.01 * abs(ends.max()) or 1.0
    even = np.linspace(ends.min() - margin, ends.max() + margin, POINTS)
    dense = quantiles(components, ndtr(np.linspace(-REACH, REACH, POINTS))).ravel()
    return np.sort(np.r_[even, dense[(dense >= even[0]) & (dense <= even[-1])]])


def component_densities(scaled: Scaled, x: Floats) -> Floats:
    """Return the density of every component at x (component, point), times its weight."""
    return density(_each_component(scaled, scaled.mixture.weights), x)


def largest_gap(scaled: Scaled, runs: Floats, reached: Floats) -> tuple[float, float, float]:
    """Return the run at the Kolmogorov-Smirnov distance, and both distributions there."""
    fitted = distribution(scaled, runs)
    # A constant is its own distribution: both have their step at the same value.
    below = np.where((scaled.mixture.deviations == 0).any(), fitted, np.r_[0.0, reached[:-1]])
    over, under = fitted - below, reached - fitted
    index = int(np.maximum(over, under).argmax())
    step = below if over[index] >= under[index] else reached
    return float(runs[index]), float(step[index]), float(fitted[index])
