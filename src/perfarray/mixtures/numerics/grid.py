"""What values were rounded to: the step of which their differences are multiples."""

import numpy as np

from perfarray.numerics.types import Floats

FINEST = 1e-3
"""Least step that matters, in standard deviations of the sample: with finer ones hundreds of values have hardly a tie."""

ALIKE = 1e-7
"""Differences below this, in standard deviations, are none: decimal numbers are not exact."""

DIGITS = 64
"""The same in distances between neighbouring numbers of the type that values are kept in."""

CLEAR = 100
"""How much larger than such differences a step is: a common measure near them is chance."""


def steps_of(values: Floats) -> Floats:
    """Return the step of every sample, shape (sample,): NaN where values are as good as continuous.

    Parameters
    ----------
    values : array, shape (sample, value)
        NaN where not measured.

    Notes
    -----
    What the type of numbers cannot tell apart is a step as well: float32, where that holds all values of a sample.
    """
    return np.array([_step(row[~np.isnan(row)]) for row in values])


def _step(sample: Floats) -> float:
    """Return the step of a sample, NaN where it has none."""
    distinct = np.unique(sample)
    if len(distinct) < 2 or len(distinct) == len(sample) == 2:
        return np.nan
    found = _common_measure(distinct, float(sample.std()), np.float64)
    single = np.isnan(found) and bool((distinct.astype(np.float32) == distinct).all())
    return _common_measure(distinct, float(sample.std()), np.float32) if single else found


def _common_measure(distinct: Floats, spread: float, kind: type[np.floating]) -> float:
    """Return the greatest common measure of differences, found as Euclid does, nearest remainders first; NaN where it does not matter."""
    digit = float(np.spacing(kind(np.abs(distinct[[0, -1]]).max())))
    if digit >= FINEST * spread:
        return digit
    none = max(ALIKE * spread, DIGITS * digit)
    least, step = max(FINEST * spread, CLEAR * none), 0.0
    for gap in np.diff(distinct).tolist():
        other = gap
        while other > none:
            step, other = other, abs(step - round(step / other) * other)
        if step < least:
            return np.nan
    # Many steps tell more exactly how long one is.
    width = float(distinct[-1] - distinct[0])
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
