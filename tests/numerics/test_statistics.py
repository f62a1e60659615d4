"""Statistics of a nest of values."""

import numpy as np
import pytest

from perfarray.numerics.statistics import SHORT, evaluate


@pytest.mark.parametrize("number", [1, 2, 3, 10, SHORT, SHORT + 1, SHORT + 2])
def test_the_median_is_that_of_numpy_to_the_last_bit(number):
    """Rows that are sorted and rows whose middle is found have the median of NumPy."""
    values = np.random.default_rng(number).lognormal(size=(5, number, 1))
    np.testing.assert_array_equal(evaluate(values, "median"), np.median(values, axis=(1, 2)))
