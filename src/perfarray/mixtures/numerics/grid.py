"""The step that values were rounded to, of which their differences are multiples."""

import numpy as np

from perfarray.numerics.types import Floats

# Values no further apart, in distances between neighbouring numbers of their type, are one value
# computed in two ways.
SAME = 4

# Remainders below these, a share of the range and such distances, count as 0: a multiple of an
# inexact step is less exact still.
ROUNDING, DIGITS = 1e-8, 64

# How much larger than such remainders a step is: a common measure near them is chance.
CLEAR = 100

# Different values without ties that may show a step: of three, 2 % have one by chance, of four 0.04
# %.
FEWEST = 4

# The narrowest interval with a tenth of the values, and with at least as many, says how wide the
# narrowest mode may be.
TENTH, FEW = 10, 8

# Least distance of neighbouring numbers of a type, in such intervals, that matters as a step.
FINEST = 5e-3


def steps_of(values: Floats) -> Floats:
    """Return the step of every sample (sample, value): NaN where values are continuous.

    A step is at least a millionth of the range: modes that are far from each other do not hide it.
    The resolution of float32 is a step as well where that type holds all values of a sample. Its
    numbers are taken as the shortest decimals that they print as, where these have a step.
    """
    return np.array([step_of(row[~np.isnan(row)]) for row in values])


def step_of(sample: Floats) -> float:
    """Return the step of a sample, NaN where it has none."""
    distinct = np.unique(sample)
    if len(distinct) < (2 if len(distinct) < len(sample) else FEWEST):
        return np.nan
    largest = np.abs(distinct[[0, -1]]).max()
    digit = float(np.spacing(largest))
    resolution, steps, as_float32 = (
        digit,
        [_common_measure(distinct, digit)],
        distinct.astype(np.float32),
    )
    if (as_float32 == distinct).all():
        resolution = float(np.spacing(np.float32(largest)))
        steps += [
            _common_measure(as_float32.astype(str).astype(float), digit),
            _common_measure(distinct, resolution),
        ]
    # The numbers of a type have a common measure as well: a step is more than that.
    for step in steps:
        if step > SAME * resolution:
            return step
    n_near = min(max(len(distinct) // TENTH, FEW), len(distinct)) - 1
    matters = resolution >= FINEST * (distinct[n_near:] - distinct[: len(distinct) - n_near]).min()
    return float(np.fmax(steps[0], resolution)) if matters else np.nan


def _common_measure(distinct: Floats, digit: float) -> float:
    """Return the greatest common measure of differences, NaN where it may be chance.

    Euclid's algorithm takes nearest remainders.
    """
    gaps, width = np.sort(np.diff(distinct)), float(distinct[-1] - distinct[0])
    clear_gaps = gaps[gaps > SAME * digit]
    if len(clear_gaps) < min(2, len(gaps)):
        return np.nan
    zero, step = max(ROUNDING * width, DIGITS * digit), 0.0
    # From the least on: an inexact step is multiplied by much in the last ones only.
    for gap in clear_gaps.tolist():
        remainder = gap
        while remainder > zero:
            step, remainder = remainder, abs(step - round(step / remainder) * remainder)
        if step < CLEAR * zero:
            return np.nan
    # The range is many steps long, and tells their length more exactly.
    return width / round(width / step)
