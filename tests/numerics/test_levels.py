"""What a sample is: units, and the runs inside them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from perfarray.numerics.levels import one_value_per_unit, reduced, unit_weights, values_by_unit

RAGGED = np.array([[[1.0, 3.0], [5.0, np.nan]], [[7.0, 9.0], [np.nan, np.nan]]])
"""Two binaries of two executions of two iterations; the second binary has one execution."""


@pytest.mark.parametrize(
    ("unit", "expected"),
    [(0, [3.5, 8.0]), (1, [2.0, 5.0, 8.0, np.nan]), (2, [1, 3, 5, np.nan, 7, 9, np.nan, np.nan])],
)
def test_one_value_per_unit(unit, expected):
    """Levels below are averaged, the lowest first; levels above are pooled."""
    assert_array_equal(one_value_per_unit(RAGGED, 3, unit), expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, [[3.5], [8.0]]),
        (1, [[2.0, 5.0], [8.0, np.nan]]),
        (2, [[1, 3, 5, np.nan], [7, 9, np.nan, np.nan]]),
    ],
)
def test_values_stay_with_their_unit(value, expected):
    """A run belongs to an outermost unit."""
    assert_array_equal(values_by_unit(RAGGED, 3, value), expected)


def test_each_unit_has_equal_weight():
    """A unit with few runs counts as much as one with many."""
    weights = unit_weights(values_by_unit(np.stack([RAGGED, np.full_like(RAGGED, np.nan)]), 3, 2))
    assert_allclose(weights[0], [[1 / 6, 1 / 6, 1 / 6, 0], [1 / 4, 1 / 4, 0, 0]])
    assert np.isnan(weights[1]).all()


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_a_few_are_added_as_numpy_adds_them(number, dtype):
    """To the last bit, into an array that lies as NumPy's does: sums of what lies otherwise are
    rounded otherwise."""
    values = (
        np.random.default_rng(number).lognormal(0, 1, (5, 4, number)).astype(dtype).swapaxes(0, 1)
    )
    total, expected = reduced(np.add, values), np.add.reduce(values, axis=-1)
    assert_array_equal(total, expected, strict=True)
    assert total.strides == expected.strides
