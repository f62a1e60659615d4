"""Mixtures of chi-squares: what is left out, or looked up, changes no bit."""

import numpy as np
import pytest
from scipy import special, stats

from perfarray.numerics.intervals import t_quantile
from perfarray.variation.numerics import assurance as module
from perfarray.variation.numerics.allocation import LISTED, quantile_at
from perfarray.variation.numerics.assurance import (
    NODES,
    chi_square_quantile,
    evidence,
    future_variance,
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
        every = special.gammainc(df[:, None] / 2, df[:, None] / 2 * quantile[:, None] / variance)
        share, expected = mixture_share(quantile, df, variance), (nodes()[1] * every).sum(axis=-1)
        np.testing.assert_array_equal(share[expected > 1e-9], expected[expected > 1e-9])
        np.testing.assert_allclose(share, expected, rtol=0, atol=1e-25)


def test_short_sums_are_the_incomplete_gamma_function():
    """Of 1 to 200 degrees of freedom and between, far below, near and far above the mean: to within
    what a root allows for."""
    half = np.tile(np.append(np.arange(1, 201), [0.7, 33.3]), 8) / 2
    value = half * np.exp(
        np.random.default_rng(4).normal(scale=2, size=(NODES, len(half)))
        / np.sqrt(np.minimum(half, 3))
    )
    bound = value - half - half * np.log(value / half)
    density = np.exp(half * np.log(value) - value - special.gammaln(half))
    with np.errstate(all="ignore"):
        share = module._approximate_share(half, value, density, bound)
    np.testing.assert_allclose(share, special.gammainc(half, value), rtol=0, atol=module.NOISE / 4)


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


@pytest.mark.parametrize("assurance", [0.05, 0.5, 0.99])
def test_shares_left_out_change_no_bit(assurance, monkeypatch):
    """Where no slope is trusted every share is worked out: few units and many (the law has steps),
    nothing below, none known."""
    rng = np.random.default_rng(2)
    df, pilot_df = np.floor(np.exp(rng.uniform(0, 15, 300))), rng.integers(1, 30, 300).astype(float)
    top, below = (
        rng.uniform(-0.5, 1, 300),
        np.where(rng.random(300) < 0.3, 0.0, rng.exponential(size=300)),
    )
    top[0], pilot_df[1] = np.nan, np.inf
    pilot = evidence(np.ones(300), top, pilot_df, np.ones(300))
    found = future_variance(df, below, pilot, assurance)
    monkeypatch.setattr(module, "BEND", np.inf)
    np.testing.assert_array_equal(found, future_variance(df, below, pilot, assurance))
