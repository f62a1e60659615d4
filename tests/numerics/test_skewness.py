"""Hall's transformation of a t statistic: against SciPy, against itself inverted, and what it
buys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perfarray.numerics.skewness import (
    chance_variance,
    counted_skewness,
    noisier_side,
    shrunken,
    skewness_test,
    stretched,
    third_cumulant,
)

SKEWNESS = st.floats(-0.25, 0.25)
QUANTILE = st.floats(0.5, 8.0)
USUAL = np.array(2.0)


@given(SKEWNESS, QUANTILE)
def test_the_statistic_and_the_limits_agree(skewness, quantile):
    """At a limit the shrunken statistic is the quantile, whichever side is the longer; nearer it is
    smaller, farther larger."""
    s, q = np.array(skewness), np.array(quantile)
    below, above = stretched(q, s, USUAL)
    np.testing.assert_allclose(shrunken(np.array([below, -above]), s, USUAL), [q, -q], rtol=1e-6)
    assert min(below, above) == pytest.approx(quantile, rel=1e-12)
    assert (below if skewness < 0 else above) >= q
    nearer, farther = shrunken(np.array([below * 0.99, below * 1.01]), s, USUAL)
    assert nearer < q < farther


def test_far_out_the_longer_side_grows_no_more():
    """Beyond the usual quantile it is as many times as long as there: a small p is no less
    reachable than by t."""
    s, usual = np.array(0.22), np.array(2.26)
    at_usual, far = (
        stretched(usual, s, usual)[1] / usual,
        stretched(np.array(9.0), s, usual)[1] / 9.0,
    )
    assert far == pytest.approx(float(at_usual), rel=1e-12)
    assert shrunken(np.array(-9.0 * float(far)), s, usual) == pytest.approx(-9.0)


def test_without_skewness_it_is_t():
    """Zero, and unknown, change nothing; a certain difference stays certain."""
    for s in (0.0, np.nan, 1e-12):
        assert stretched(np.array(2.0), np.array(s), USUAL) == (2.0, 2.0)
        assert shrunken(np.array([-3.0, 0.5, np.inf]), np.array(s), USUAL) == pytest.approx(
            [-3.0, 0.5, np.inf]
        )


def test_the_transformation_is_halls():
    """g(T) = T + s T^2 / 3 + s^2 T^3 / 27 + s / 6, Hall (1992), at both limits of the longer
    side."""
    s = 0.2
    above = float(stretched(np.array(2.0), np.array(s), USUAL)[1])
    assert -above + s * above**2 / 3 - s**2 * above**3 / 27 + s / 6 == pytest.approx(
        -2.0, abs=1e-12
    )


def ragged():
    """Cells of 12 and of 9 units, and one with two."""
    values = np.random.default_rng(1).exponential(size=(3, 12))
    values[1, 9:] = np.nan
    values[2, 2:] = np.nan
    return values, np.sum(~np.isnan(values), axis=-1).astype(float)


def test_third_cumulant_is_the_k_statistic():
    """As SciPy's; nothing is known of two units."""
    values, n = ragged()
    found = third_cumulant(values, n)
    np.testing.assert_allclose(
        found[:2], [stats.kstat(row[~np.isnan(row)], 3) for row in values[:2]], rtol=1e-12
    )
    assert found[2] == 0


def test_skewness_test_is_scipys():
    """D'Agostino's p-values, of ragged units; none below eight."""
    values, n = ragged()
    found = skewness_test(values, n)
    np.testing.assert_allclose(
        found[:2], [stats.skewtest(row[~np.isnan(row)]).pvalue for row in values[:2]], rtol=1e-10
    )
    assert np.isnan(found[2])


def test_what_normal_units_show_by_chance():
    """The variance of SciPy's bias-corrected skewness of normal samples; its relative Monte Carlo
    error is some 2 % (kurtosis 4)."""
    values = np.random.default_rng(2).standard_normal((10_000, 8))
    assert float(chance_variance(np.array(8.0))) == pytest.approx(
        stats.skew(values, axis=1, bias=False).var(), rel=0.08
    )
    assert chance_variance(np.array(2.0)) == 0


def test_what_counts():
    """Chance is taken off, the rest bounded, the sign kept; without spread nothing is known."""
    n, quantile = np.array(10.0), np.array(2.2)
    one = counted_skewness(
        np.array([0.3, -0.3, 0.05, 9.0]), (np.ones(4),), (np.full(4, 10.0),), quantile
    )
    chance = 0.5 * np.sqrt(chance_variance(n) / n)
    np.testing.assert_allclose(
        one, [min(0.3 - chance, 0.5 / 2.2), -min(0.3 - chance, 0.5 / 2.2), 0.0, 0.5 / 2.2]
    )
    assert np.isnan(counted_skewness(np.array(0.0), (np.array(0.0),), (n,), quantile))


@pytest.mark.parametrize("units", [9, 10])
def test_the_noisier_side_has_80_percent_of_the_squared_error(units):
    """The shape of units is given for a share of 82 %, and not of 78: the skewness, and below ten
    units Shapiro and Wilk's p."""
    noise = np.random.default_rng(3).exponential(size=units)
    noise = 0.01 * (noise - noise.mean())
    for share in (0.18, 0.22, 0.78, 0.82):
        found, few, pvalue, skewness = noisier_side(
            1 + np.sqrt(share) * noise, 1 + np.sqrt(1 - share) * noise
        )
        assert found == pytest.approx(share)
        known = share in (0.18, 0.82)
        assert (~np.isnan([few, pvalue, skewness])).tolist() == [known and units < 10, known, known]
    if units >= 10:
        np.testing.assert_allclose(
            skewness, stats.skew(noise, bias=False) / np.sqrt(units), rtol=1e-9
        )
