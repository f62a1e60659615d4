"""What samples were rounded to."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from perfarray.mixtures.numerics.grid import steps_of
from perfarray.numerics.normality import spread_ties


@pytest.mark.parametrize(
    ("step", "dtype"),
    [
        (0.5, np.float64),
        (1 / 3, np.float64),
        (0.002, np.float64),
        (1 / 3, np.float32),
        (0.1, np.float32),
    ],
)
def test_the_step_is_found(step, dtype):
    """Rounded samples have the step they were rounded to, wherever they lie, whatever their unit;
    without rounding there is none."""
    values = np.random.default_rng(1).standard_normal((20, 60))
    for unit in (1e-9, 1.0, 1e6):
        rounded = unit * (37.0 + step * np.round(values / step))
        assert_allclose(steps_of(rounded.astype(dtype).astype(float)), unit * step, rtol=1e-3)
    assert np.isnan(steps_of((37.0 + values).astype(dtype).astype(float))).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_modes_far_apart_hide_no_step(dtype):
    """Two modes 2 to 200,000 steps apart show the step, as seconds and as whole nanoseconds."""
    rng = np.random.default_rng(1)
    for distant in (2, 2000, 200_000):
        ticks = 1000 + np.round(2 * rng.standard_normal((20, 60))) + distant * (np.arange(60) % 2)
        for unit in (1.0, 0.5e-3, 1e-9):
            values = (unit * ticks).astype(dtype).astype(float)
            assert_allclose(steps_of(values), unit, rtol=1e-3)
        without = ticks + rng.uniform(-0.5, 0.5, ticks.shape)
        assert np.isnan(steps_of(0.5e-3 * without)).all()


def test_no_step_of_continuous_values_by_chance():
    """Of a thousand samples of four values, and of six in two modes far apart, hardly any have a
    step; of float32 some."""
    rng = np.random.default_rng(1)
    for values in (
        rng.normal(1, 0.02, (1000, 4)),
        rng.normal(1, 1e-3, (1000, 6)) + np.arange(6) % 2,
    ):
        for n_kept, max_components in ((np.float64, 5), (np.float32, 25)):
            assert (
                ~np.isnan(steps_of(values.astype(n_kept).astype(float)))
            ).sum() <= max_components


def test_means_of_rounded_values_have_a_finer_step():
    """Means of four values rounded to 1 are multiples of a quarter."""
    values = np.random.default_rng(1).poisson(40, (3, 50, 4)).mean(axis=-1)
    assert_allclose(steps_of(values), 0.25)


def test_numbers_have_a_step_of_their_own():
    """Where values differ in the last digits of their type, these are the step, also in two narrow
    modes far apart."""
    noise = np.random.default_rng(1).standard_normal((1, 60))
    for n_kept in (np.float32, np.float64):
        digit = np.spacing(n_kept(1.5))
        for distant in (0.0, 0.25):
            values = (1.5 + 3 * digit * noise + distant * (np.arange(60) % 2)).astype(n_kept)
            assert_allclose(steps_of(values.astype(float)), digit)


def test_no_step():
    """Up to three different values show none; three of two values are rounded."""
    rows = [
        [1.0, np.nan, np.nan],
        [1.0, 1.5, np.nan],
        [1.0, 1.5, 2.5],
        [np.nan] * 3,
        [1.0, 1.5, 1.5],
    ]
    assert_allclose(steps_of(np.array(rows)), [np.nan] * 4 + [0.5])


def test_ties_are_spread_over_a_step():
    """Three, two and one values of a grid of 1 are spread evenly; distinct values stay."""
    assert_allclose(spread_ties(np.array([1.0, 1, 1, 2, 2, 4])), [2 / 3, 1, 4 / 3, 1.75, 2.25, 4])
    assert_allclose(spread_ties(np.array([1.0, 1.7, 2.0])), [1.0, 1.7, 2.0])
    assert_allclose(spread_ties(np.array([2.0, 2.0])), [2.0, 2.0])
