"""What values were rounded to: the step of which their differences are multiples."""

import numpy as np

from perfarray.numerics.types import Floats

SAME = 4
"""Values no further apart, in distances between neighbouring numbers of their type, are the same one, computed in two ways."""

ALIKE, DIGITS = 1e-8, 64
"""Remainders below these, a share of the range and such distances, are none: a multiple of an inexact step is less exact still."""

CLEAR = 100
"""How much larger than such remainders a step is: a common measure near them is chance."""

FEWEST = 4
"""Different values without ties that may show a step: of three, 2 % have one by chance, of four 0.04 %."""

TENTH, FEW = 10, 8
"""The narrowest interval with a tenth of the values, and with as many at least, says how wide the narrowest mode may be."""

FINEST = 5e-3
"""Least distance of neighbouring numbers of a type, in such intervals, that matters as a step."""


def steps_of(values: Floats) -> Floats:
    """Return the step of every sample, shape (sample,): NaN where values are as good as continuous.

    Parameters
    ----------
    values : array, shape (sample, value)
        NaN where not measured.

    Notes
    -----
    A step is at least a millionth of the range: how far modes lie apart does not hide it. What the type of numbers cannot tell apart is a
    step as well: float32, where that holds all values of a sample. Its numbers are taken for the shortest decimals that they print as,
    where these have a step.
    """
    return np.array([_step(row[~np.isnan(row)]) for row in values])


def _step(sample: Floats) -> float:
    """Return the step of a sample, NaN where it has none."""
    distinct = np.unique(sample)
    if len(distinct) < (2 if len(distinct) < len(sample) else FEWEST):
        return np.nan
    furthest = np.abs(distinct[[0, -1]]).max()
    digit = float(np.spacing(furthest))
    own, steps, single = digit, [_common_measure(distinct, digit)], distinct.astype(np.float32)
    if (single == distinct).all():
        own = float(np.spacing(np.float32(furthest)))
        steps += [_common_measure(single.astype(str).astype(float), digit), _common_measure(distinct, own)]
    # The numbers of a type have a common measure as well: a step is more than that.
    for step in steps:
        if step > SAME * own:
            return step
    near = min(max(len(distinct) // TENTH, FEW), len(distinct)) - 1
    matters = own >= FINEST * (distinct[near:] - distinct[: len(distinct) - near]).min()
    return float(np.fmax(steps[0], own)) if matters else np.nan


def _common_measure(distinct: Floats, digit: float) -> float:
    """Return the greatest common measure of differences, found as Euclid does, nearest remainders first; NaN where it may be chance."""
    gaps, width = np.sort(np.diff(distinct)), float(distinct[-1] - distinct[0])
    apart = gaps[gaps > SAME * digit]
    if len(apart) < min(2, len(gaps)):
        return np.nan
    none, step = max(ALIKE * width, DIGITS * digit), 0.0
    # From the least on: an inexact step is multiplied by much in the last ones only.
    for gap in apart.tolist():
        other = gap
        while other > none:
            step, other = other, abs(step - round(step / other) * other)
        if step < CLEAR * none:
            return np.nan
    # Many steps tell more exactly how long one is.
    return width / round(width / step)


def spread_ties(ordered: Floats) -> Floats:
    """Return an ascending sample with the values of every tie evenly spread over one step: the gaps of a grid are no valleys."""
    distinct, place, count = np.unique(ordered, return_inverse=True, return_counts=True)
    if len(distinct) == len(ordered) or len(distinct) < 2:
        return ordered
    step = _step(ordered)
    step = np.diff(distinct).min() if np.isnan(step) else step
    rank = np.arange(len(ordered)) - np.searchsorted(ordered, distinct)[place]
    return np.asarray(ordered + step * ((rank + 0.5) / count[place] - 0.5))
