"""Groups of neighbouring values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from perfarray.mixtures.numerics.fit import FitRequest, fit_mixtures, grouped, standardised
from perfarray.mixtures.numerics.goodness_of_fit import ks_distance
from perfarray.mixtures.numerics.normal import NormalMixture
from perfarray.mixtures.numerics.scale import Scaled


def samples(n, kind):
    """Two samples: skewed, or of five components, two of them narrow and one far away."""
    rng = np.random.default_rng(5)
    sample = rng.choice(5, (2, n), p=[0.5, 0.3, 0.15, 0.04, 0.01])
    values = {
        "skewed": rng.lognormal(0, 0.4, (2, n)),
        "narrow": rng.normal(
            np.array([1, 1.1, 1.5, 3, 3.2])[sample],
            np.array([0.02, 0.05, 0.001, 0.1, 0.0005])[sample],
        ),
    }
    return values[kind]


def request(**options):
    """Fit up to five components as mclust does."""
    return FitRequest(numbers=range(1, 6), tolerance=1e-5, **options)


@pytest.mark.parametrize("kind", ["skewed", "narrow"])
def test_groups_change_nothing_that_matters(kind):
    """Number and model are those of all values; the log-likelihood is lower by less than BIC tells
    apart, the distance the same to 1e-4."""
    values = samples(4000, kind)
    complete, result = (
        fit_mixtures(values, None, request(grouped=subset)) for subset in (False, True)
    )
    assert_array_equal(result.n_components, complete.n_components)
    assert_array_equal(result.equal, complete.equal)
    assert_allclose(result.bic, complete.bic, rtol=0, atol=1.0)
    distances = [
        ks_distance(values, None, Scaled(NormalMixture(*fit[:3]), np.zeros(len(values), int)))
        for fit in (complete, result)
    ]
    assert_allclose(distances[1], distances[0], rtol=0, atol=1e-4)
    assert (result.loglik != complete.loglik).all()


def test_one_component_and_ties_are_exact():
    """Groups lose nothing where one component claims them, or where their values are equal."""
    for values, numbers in (
        (samples(4000, "skewed"), [1]),
        (np.round(samples(4000, "skewed"), 1), [3]),
    ):
        fits = [
            fit_mixtures(values, None, FitRequest(numbers=numbers, tolerance=1e-5, grouped=subset))
            for subset in (False, True)
        ]
        assert_allclose(fits[1].loglik, fits[0].loglik, rtol=1e-12)
        assert_allclose(fits[1].means, fits[0].means, rtol=1e-10)


def test_moments_are_kept():
    """Groups have the sum of the weights, the mean and the variance of their values, whatever these
    weigh; few values have none."""
    rng = np.random.default_rng(1)
    values = np.sort(rng.standard_normal((3, 2000)), axis=-1)
    n = np.array([2000, 1900, 1800])
    weights = np.where(np.arange(2000) < n[:, None], rng.uniform(0.5, 1.5, (3, 2000)), 0.0)
    complete = standardised(values, weights, n)
    result = grouped(complete)
    assert (result.n < 900).all()
    assert_allclose(result.weights.sum(axis=-1), complete.total)
    assert_allclose((result.weights * result.values).sum(axis=-1), 0, atol=1e-9)
    assert_allclose(
        (result.weights * (result.values**2 + result.inside)).sum(axis=-1), complete.total
    )
    small = standardised(values[:, :1000], np.ones((3, 1000)), np.full(3, 1000))
    assert grouped(small) is small
