"""Spreads between commits that change once."""

import numpy as np
import pytest

from perfarray.history.numerics.spreads import _by_segments, relative_spreads


@pytest.mark.parametrize("seed", range(4))
def test_a_spread_near_a_change_is_never_below_that_of_its_own_segment(seed):
    """Behind the change every spread is at least that of the noisy segment: a spread that is too
    small turns noise into changes. Before it, what may belong to the noisy segment counts."""
    generator = np.random.default_rng(seed)
    sizes = np.abs(np.r_[generator.normal(0, 1, 20), generator.normal(0, 4, 20)])
    spreads = _by_segments(sizes, 20)
    assert np.all(spreads[21:] >= spreads[-1] * (1 - 1e-12))
    assert np.all(np.diff(spreads[:20]) >= -1e-12)
    assert spreads[19] > spreads[0]


def test_values_that_are_mostly_equal_have_one_spread():
    """Noise after many equal values is no change of spread; after less noise it is one."""
    noise = np.random.default_rng(1).normal(0, 1, 80)
    equal, noisy = (noise * np.where(np.arange(80) < 50, scale, 1.0) for scale in (0.0, 0.1))
    spreads = relative_spreads(np.stack([equal, noisy]), np.ones((2, 80)))
    np.testing.assert_array_equal(spreads[0], 1.0)
    assert spreads[1, -1] > 4 * spreads[1, 0]
