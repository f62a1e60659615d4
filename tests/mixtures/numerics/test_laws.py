"""Laws on their scale, where series take over from differences of large numbers."""

from decimal import Decimal, localcontext
from math import factorial

import pytest
from numpy.testing import assert_allclose

from perfarray.mixtures.numerics.laws import STEEP, gamma_constant


@pytest.mark.parametrize(
    ("shape", "digits"), [(STEEP - 1, 1e-12), (STEEP, 1e-14), (10 * STEEP, 1e-14)]
)
def test_the_constant_of_a_gamma_law(shape, digits):
    """A whole number's logarithm of Gamma is that of a factorial, here with 40 digits; the series
    has all that a float holds."""
    with localcontext(prec=40):
        a = Decimal(int(shape))
        exact = float(a * a.ln() - a - Decimal(factorial(int(shape) - 1)).ln())
    assert_allclose(gamma_constant(shape), exact, rtol=digits)
