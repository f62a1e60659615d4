"""Models of variances: coefficients in closed form, where none exist, and their covariance against
leaving out rows."""

import numpy as np
import pytest

from perfarray.machines.numerics.variance_models import jackknife, log_linear


def test_means_of_groups():
    """With a column for each of two groups the coefficients are the logs of their means, less the
    noise."""
    design = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 4)
    measured = np.array([1.0, 2.0, 6.0, 1e-6, 2.0, 3.0, 4e-6])
    found = log_linear(design, measured, np.repeat([0.5, 0.25], [3, 4]), np.zeros(2))
    np.testing.assert_allclose(np.exp(found), [3.0 - 0.5, measured[3:].mean() - 0.25])


def test_values_far_apart():
    """Scoring without damping runs in circles on values over seven decades; the score is zero where
    this ends."""
    chance = np.random.default_rng(1)
    design = np.column_stack([np.ones(60), chance.standard_normal((60, 4))])
    measured = np.exp(4 * chance.standard_normal(60))
    found = log_linear(
        design, measured, np.zeros(60), np.array([np.log(measured.mean()), 0, 0, 0, 0])
    )
    np.testing.assert_allclose(design.T @ (measured / np.exp(design @ found) - 1), 0, atol=1e-6)


def test_small_variances_beside_their_noise():
    """Where little is left above the noise the way is long, and its end is found: the score of a
    row is zero there, to rounding."""
    chance = np.random.default_rng(679)
    design = np.column_stack([np.ones(24), chance.standard_normal((24, 2))])
    measured = (np.exp(design @ [0.0, 1.0, 1.0]) + 1) * chance.exponential(size=24)
    found = log_linear(design, measured, np.ones(24), np.array([np.log(measured.mean()), 0, 0]))
    expected = np.exp(design @ found)
    np.testing.assert_allclose(
        design.T @ (expected * (measured / (expected + 1) - 1) / (expected + 1)) / 24, 0, atol=1e-5
    )


def test_units_of_columns():
    """A clock in kilohertz has the coefficients of one in gigahertz, divided by a million: rounding
    is relative to what is added up."""
    for seed in range(40):
        chance = np.random.default_rng(seed)
        design = np.column_stack([np.ones(9), chance.uniform(1, 5, 9)])
        measured = np.exp(chance.standard_normal(9))
        start = np.array([np.log(measured.mean()), 0.0])
        small = log_linear(design, measured, np.zeros(9), start)
        large = log_linear(design * [1.0, 1e6], measured, np.zeros(9), start)
        np.testing.assert_allclose(large * [1.0, 1e6], small, rtol=1e-4, atol=1e-5)


def test_no_variance_left():
    """A group whose mean square is less than its noise has no variance: there is no coefficient."""
    design = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3)
    assert (
        log_linear(design, np.array([2.0, 3.0, 4.0, 0.5, 0.6, 0.7]), np.ones(6), np.zeros(2))
        is None
    )


@pytest.mark.parametrize("size", [1, 3])
def test_covariance_is_that_of_leaving_out(size):
    """The covariance is the jackknife's: least squares again without each row, or group of rows."""
    chance = np.random.default_rng(2)
    design = np.column_stack([np.ones(30), chance.standard_normal((30, 2))])
    response = design @ [1.0, 2.0, 3.0] + chance.standard_normal(30)
    groups = np.arange(30) // size
    fitted = np.linalg.lstsq(design, response, rcond=None)[0]
    without = [
        np.linalg.lstsq(design[groups != n], response[groups != n], rcond=None)[0]
        for n in range(30 // size)
    ]
    number = len(without)
    changes = np.array(without) - fitted
    expected = (number - 1) / number * changes.T @ changes
    np.testing.assert_allclose(
        jackknife(design, response - design @ fitted, groups).covariance, expected, rtol=1e-9
    )


def test_one_linear_step_of_a_gamma_model_is_too_narrow():
    """Of 20 exponential responses: the standard error without fitting the model again is more than
    3 % smaller."""
    chance = np.random.default_rng(7)
    response, x = chance.exponential(size=20), chance.standard_normal(20)
    design = np.column_stack([np.ones(20), x])
    start = np.array([np.log(response.mean()), 0.0])
    coefficients = log_linear(design, response, np.zeros(20), start)
    residuals = response / np.exp(design @ coefficients) - 1

    def change(rows):
        return coefficients - log_linear(
            design[rows], response[rows], np.zeros(rows.sum()), coefficients
        )

    step, exact = (
        jackknife(design, residuals, np.arange(20), function).covariance[1, 1]
        for function in (None, change)
    )
    assert np.sqrt(step) < 0.97 * np.sqrt(exact)


def test_coefficients_of_single_groups():
    """A column that is one group's own is not determined without it: its coefficient has no limits,
    the others have."""
    chance = np.random.default_rng(3)
    groups = np.repeat(np.arange(6), 4)
    design = np.column_stack([np.tile([0.0, 1.0], 12), np.eye(6)[groups]])
    found = jackknife(design, chance.standard_normal(24), groups).covariance
    assert np.isfinite(found[0, 0])
    assert np.isnan(np.diag(found)[1:]).all()
