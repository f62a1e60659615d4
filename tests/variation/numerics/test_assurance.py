"""Mixtures of chi-squares: shares, quantiles, and what is looked up."""

import numpy as np
import pytest
from scipy import special, stats

from perfarray.numerics.intervals import t_quantile
from perfarray.variation.numerics.allocation import LISTED, quantile_at
from perfarray.variation.numerics.assurance import (
    NODES,
    chi_square_quantile,
    mixture_quantile,
    mixture_share,
    nodes,
)


@pytest.fixture
def laws():
    """Degrees of freedom, few and many (the law has steps), and true variances at the nodes, of
    which some lie together."""
    rng = np.random.default_rng(2)
    df = np.exp(rng.uniform(0, 15, 400))
    df[::2] = np.floor(df[::2])
    return df, np.exp(rng.normal(size=(400, NODES)) * rng.choice([0.001, 0.3, 3.0], (400, 1)))


@pytest.mark.parametrize("quantile", [t_quantile, chi_square_quantile])
def test_quantiles_looked_up_are_those_computed(quantile):
    """At whole degrees of freedom, between them, beyond the list, at infinitely many and where
    there are none."""
    df = np.array(
        [np.nan, -1.0, 0.0, 0.5, 1.0, 2.0, 2.5, LISTED - 1, LISTED, LISTED + 1, 1e7]
        + [np.inf] * (quantile is t_quantile)
    )
    np.testing.assert_array_equal(quantile_at(quantile, 0.95, df), quantile(0.95, df))
    assert quantile_at(quantile, 0.95, 7.0) == quantile(0.95, np.array(7.0))


def test_shares_that_are_0_or_1_need_no_incomplete_gamma_function(laws):
    """Not a bit differs from the sum over all nodes, if any of it counts."""
    df, variance = laws
    for quantile in np.exp(np.random.default_rng(3).normal(size=(20, len(df)))):
        gamma_shares = special.gammainc(
            df[:, None] / 2, df[:, None] / 2 * quantile[:, None] / variance
        )
        share, expected = (
            mixture_share(quantile, df, variance),
            (nodes()[1] * gamma_shares).sum(axis=-1),
        )
        np.testing.assert_array_equal(share[expected > 1e-9], expected[expected > 1e-9])
        np.testing.assert_allclose(share, expected, rtol=0, atol=1e-25)


@pytest.mark.parametrize("assurance", [0.05, 0.5, 0.99])
def test_the_share_at_a_quantile(laws, assurance):
    """A little less is short of it, and a little more is not."""
    df, variance = laws
    quantile = mixture_quantile(assurance, df, variance)
    assert (mixture_share(quantile * (1 - 2e-6), df, variance) < assurance).all()
    assert (mixture_share(quantile * (1 + 2e-6), df, variance) >= assurance).all()


def test_one_variance():
    """The quantile of chi-square, over its degrees of freedom."""
    df = np.array([1.0, 4.0, 2.5, 3000.0])
    np.testing.assert_allclose(
        mixture_quantile(0.9, df, np.full((4, NODES), 3.0)),
        3 * stats.chi2.ppf(0.9, df) / df,
        rtol=1e-12,
    )
