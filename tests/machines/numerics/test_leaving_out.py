"""What leaving out rows or groups does to coefficients, against fits without them."""

import numpy as np
import pytest

from perfarray.machines.numerics.leaving_out import jackknife


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
    covariance, own_changes = jackknife(design, response - design @ fitted, groups)
    np.testing.assert_allclose(covariance, expected, rtol=1e-9)
    np.testing.assert_allclose(own_changes, -changes, rtol=1e-9)


def test_coefficients_of_single_groups():
    """A column that is one group's own is not determined without it: its coefficient has no limits,
    the others have."""
    chance = np.random.default_rng(3)
    groups = np.repeat(np.arange(6), 4)
    design = np.column_stack([np.tile([0.0, 1.0], 12), np.eye(6)[groups]])
    covariance, _ = jackknife(design, chance.standard_normal(24), groups)
    assert np.isfinite(covariance[0, 0])
    assert np.isnan(np.diag(covariance)[1:]).all()
