"""What samples were rounded to."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from perfarray.mixtures.numerics.grid import spread_ties, steps_of


@pytest.mark.parametrize(
    ("step", "kept"), [(0.5, np.float64), (1 / 3, np.float64), (0.002, np.float64), (1 / 3, np.float32), (0.1, np.float32)]
)
def test_the_step_is_found(step, kept):
    """Rounded samples have the step they were rounded to, wherever they lie, whatever their unit; without rounding there is none."""
    values = np.random.default_rng(1).standard_normal((20, 60))
    for unit in (1e-9, 1.0, 1e6):
        rounded = unit * (37.0 + step * np.round(values / step))
        assert_allclose(steps_of(rounded.astype(kept).astype(float)), unit * step, rtol=1e-3)
    assert np.isnan(steps_of((37.0 + values).astype(kept).astype(float))).all()


def test_means_of_rounded_values_have_a_finer_step():
    """Means of four values rounded to 1 are multiples of a quarter."""
    values = np.random.default_rng(1).poisson(40, (3, 50, 4)).mean(axis=-1)
    assert_allclose(steps_of(values), 0.25)


def test_numbers_have_a_step_of_their_own():
    """Where values differ in the last digits of float32, these are the step."""
    values = (1.5 + 3e-7 * np.random.default_rng(1).standard_normal((1, 30))).astype(np.float32)
    assert_allclose(steps_of(values.astype(float)), np.spacing(np.float32(1.5)))


def test_no_step():
    """One value, two different ones, none: no step. Three of two values are rounded."""
    rows = [[1.0, np.nan, np.nan], [1.0, 1.5, np.nan], [np.nan] * 3, [1.0, 1.5, 1.5]]
    assert_allclose(steps_of(np.array(rows)), [np.nan, np.nan, np.nan, 0.5])


def test_ties_are_spread_over_a_step():
    """Three, two and one values of a grid of 1 are spread evenly; distinct values stay."""
    assert_allclose(spread_ties(np.array([1.0, 1, 1, 2, 2, 4])), [2 / 3, 1, 4 / 3, 1.75, 2.25, 4])
    assert_allclose(spread_ties(np.array([1.0, 1.7, 2.0])), [1.0, 1.7, 2.0])
    assert_allclose(spread_ties(np.array([2.0, 2.0])), [2.0, 2.0])
