"""A search by halves ends, however large the numbers are."""

import numpy as np
import pytest

from perfarray.numerics.searching import first_true


@pytest.mark.parametrize("wanted", [1.0, 5.0, 2.0**53 - 1, 2.0**53 + 2, 3e17, 1e300])
def test_the_first_number_is_found(wanted):
    """Beyond 2^53 whole numbers lie further than 1 apart: a step of 1 would go on for ever."""
    asked = []

    def holds(number):
        asked.append(number)
        assert len(asked) < 2000
        return number >= wanted

    assert first_true(holds, 0.0, 2 * wanted + 9) == wanted
    assert first_true(holds, [0.0, wanted], np.nextafter(wanted, np.inf)).tolist() == [wanted] * 2


def test_where_it_never_holds_the_end_is_returned():
    """The end is what comes back, not the last number that was asked."""
    assert first_true(lambda number: number > 1e18, 0.0, [7.0, 3e17]).tolist() == [7.0, 3e17]


def test_what_is_found_is_left_alone():
    """Searches side by side end at different times; nothing is asked outside of any of them."""
    low, high, wanted = (
        np.array([0.0, 0.0, 5.0, 0.0]),
        np.array([0.0, 900.0, 5.0, 1.0]),
        np.array([-9.0, 700.0, 9.0, 0.0]),
    )

    def holds(number):
        assert ((low <= number) & (number <= high)).all()
        return number >= wanted

    assert first_true(holds, low, high).tolist() == [0.0, 700.0, 5.0, 0.0]
