"""Curves of one mixture, and of the runs it was fitted to: where they are drawn, densities of components, the largest distance."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from perfarray.mixtures.numerics.normal import Mixture
from perfarray.mixtures.numerics.scale import Scaled, density, distribution, quantiles
from perfarray.numerics.types import Floats

PLACES = 200
"""Places along the whole stretch, and within the reach of every component as many."""

REACH = 4.0
"""Standard deviations of a normal component within which places are dense; of others as large a share."""

SHOWN = (4.0, 3.0, 2.5)
"""How many of these are shown at least: of a normal component, of a lognormal one, of others."""


class Gap(NamedTuple):
    """Where a distribution and a mixture's lie farthest apart, and the share of each there."""

    x: float
    step: float
    fitted: float


def places(own: Scaled, runs: Floats) -> Floats:
    """Return where the curves of a mixture are drawn: evenly, and densely where a component is narrow."""
    blank = np.ones((len(own.mixture.weights), 1, 1))
    each = Scaled(Mixture(blank, own.mixture.means[:, None, None], own.mixture.deviations[:, None, None]), own.family)
    shown = SHOWN[min(int(own.family), 2)]
    ends = np.r_[quantiles(each, ndtr([-shown, shown])).ravel(), runs]
    margin = 0.05 * (ends.max() - ends.min()) or 0.01 * abs(ends.max()) or 1.0
    even = np.linspace(ends.min() - margin, ends.max() + margin, PLACES)
    near = quantiles(each, ndtr(np.linspace(-REACH, REACH, PLACES))).ravel()
    return np.sort(np.r_[even, near[(near >= even[0]) & (near <= even[-1])]])


def component_densities(own: Scaled, x: Floats) -> Floats:
    """Return the density of every component at x, shape (component, place), each times its weight."""
    return density(Scaled(Mixture(*(part[:, None, None] for part in own.mixture)), own.family), x)


def largest_gap(own: Scaled, runs: Floats, reached: Floats) -> Gap:
    """Return the place of the Kolmogorov-Smirnov distance: runs in ascending order, and the share of them up to each."""
    fitted = distribution(own, runs)
    # A constant is its own distribution: the step of both is at the same place.
    below = np.where((own.mixture.deviations == 0).any(), fitted, np.r_[0.0, reached[:-1]])
    over, under = fitted - below, reached - fitted
    place = int(np.maximum(over, under).argmax())
    step = below if over[place] >= under[place] else reached
    return Gap(float(runs[place]), float(step[place]), float(fitted[place]))
