"""A search by halves ends, however large the numbers are."""

import numpy as np
import pytest

from perfarray.numerics.searching import first_true


@pytest.mark.parametrize("target", [1.0, 5.0, 2.0**53 - 1, 2.0**53 + 2, 3e17, 1e300])
def test_the_first_number_is_found(target):
    """Beyond 2^53 whole numbers lie further than 1 apart: a step of 1 would go on for ever."""
    trials = []

    def holds(number):
        trials.append(number)
        assert len(trials) < 2000
        return number >= target

    assert first_true(holds, 0.0, 2 * target + 9) == target
    assert first_true(holds, [0.0, target], np.nextafter(target, np.inf)).tolist() == [target] * 2


def test_where_it_never_holds_the_end_is_returned():
    """The end is what comes back, not the last number that was asked."""
    assert first_true(lambda number: number > 1e18, 0.0, [7.0, 3e17]).tolist() == [7.0, 3e17]


def test_what_is_found_is_left_alone():
    """Searches side by side end at different times; nothing is asked outside of any of them."""
    low, high, target = (
        np.array([0.0, 0.0, 5.0, 0.0]),
        np.array([0.0, 900.0, 5.0, 1.0]),
        np.array([-9.0, 700.0, 9.0, 0.0]),
    )

    def holds(number):
        assert ((low <= number) & (number <= high)).all()
        return number >= target

    assert first_true(holds, low, high).tolist() == [0.0, 700.0, 5.0, 0.0]
