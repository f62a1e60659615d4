"""Spreads between commits that change once."""

import numpy as np
import pytest

from perfarray.history.numerics.spreads import _by_segments


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
