"""Neighbouring values of large samples taken together: EM then looks at hundreds of points instead of thousands of values.

All values of a group get the same responsibilities, and everything else is as it is value by value: what EM maximises is then the largest
lower bound of the log-likelihood of which that is true (Verbeek, Nunnink and Vlassis, "Accelerated EM-based clustering of large data
sets", 2006). Where the components that claim a group have the same slope over it, as one component always has, the bound is the
log-likelihood itself.
"""

import numpy as np

from perfarray.mixtures.numerics.pool import Samples
from perfarray.numerics.types import Floats, Integers, Mask

POINTS = 400
"""Groups of a sample, about: with fewer than three times as many values there are none."""

WIDER, WIDE = 4.0, 0.1
"""How wide a group is, in widths of the narrower of its neighbours and in standard deviations: wider ones reach over a gap or a tail."""


def grouped(samples: Samples) -> Samples:
    """Return samples whose values are the means of groups, with their weights and the variance inside them."""
    longest = int(samples.n.max())
    size = longest // POINTS
    if size < 3:
        return samples
    measured = np.arange(longest) < samples.n[:, None]
    first = _first_of_group(samples.values[:, :longest], size) & measured
    count, places = first.sum(axis=-1), np.flatnonzero(first[measured])
    x, w = samples.values[:, :longest][measured], samples.weights[:, :longest][measured]
    share = np.add.reduceat(w, places)
    mean = np.add.reduceat(w * x, places) / share
    own = np.repeat(mean, np.diff(places, append=len(x)))
    spread = np.add.reduceat(w * (x - own) ** 2, places) / share
    values, weights, inside = (_padded(part, count) for part in (mean, share, spread))
    values = np.where(np.arange(values.shape[-1]) < count[:, None], values, values[:, :1])
    return samples._replace(values=values, weights=weights, n=count, raw=values, inside=inside)


def _first_of_group(values: Floats, size: int) -> Mask:
    """Return which values begin a group: every so many, and all different ones where such a group is too wide, or at an end."""
    number = values.shape[-1] // size
    own = values[:, : number * size].reshape(len(values), number, size)
    width = own[..., -1] - own[..., 0]
    beside = np.pad(width, [(0, 0), (1, 1)])
    alone = width > np.minimum(WIDER * np.minimum(beside[:, :-2], beside[:, 2:]), WIDE)
    first = np.ones(values.shape, bool)
    first[:, : number * size] = ((np.arange(size) == 0) | alone[..., None]).reshape(len(values), -1)
    first[:, 1:] &= np.diff(values, axis=-1) != 0
    return first


def _padded(part: Floats, count: Integers) -> Floats:
    """Return what stands one sample after the other as rows, zeros past the end."""
    found = np.zeros((len(count), int(count.max())))
    found[np.arange(found.shape[-1]) < count[:, None]] = part
    return found
