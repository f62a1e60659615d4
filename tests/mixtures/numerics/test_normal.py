"""Densities, quantiles and modes of mixtures against closed forms, mclust and brute force."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from perfarray.mixtures.numerics.normal import (
    Mixture,
    classes,
    density,
    distribution,
    modes,
    quantiles,
)
from perfarray.mixtures.numerics.scale import Scaled, draw
from perfarray.numerics.random import Streams
from strategies import examples


def mixture(weights, means, deviations):
    """Return a mixture from lists."""
    return Mixture(*(np.array(part, float) for part in (weights, means, deviations)))


@st.composite
def mixtures(draw_one):
    """Return mixtures of up to five components, narrow and wide ones together."""
    number = draw_one(st.integers(1, 5))
    weights = np.array(draw_one(st.lists(st.floats(0.05, 1), min_size=number, max_size=number)))
    means = np.sort(draw_one(st.lists(st.floats(-10, 10), min_size=number, max_size=number)))
    deviations = draw_one(st.lists(st.floats(0.01, 3), min_size=number, max_size=number))
    return mixture(weights / weights.sum(), means, deviations)


def test_one_component_is_the_normal_distribution():
    own, x = mixture([1], [2], [3]), np.array([-4.0, 2.0, 5.0])
    normal = stats.norm(2, 3)
    assert np.allclose(density(own, x), normal.pdf(x))
    assert np.allclose(distribution(own, x), normal.cdf(x))
    assert np.allclose(quantiles(own, np.array([0.0, 0.1, 1.0])), normal.ppf([0.0, 0.1, 1.0]))


def test_what_mclust_says(golden):
    """Distribution, density, quantiles, modes and classes of the fits mclust selected."""
    for case in golden("mclust")["cases"]:
        for theirs in (case["output"]["default"], case["output"]["converged"]):
            number = len(np.atleast_1d(theirs["mean"]))
            own = mixture(theirs["pro"], theirs["mean"], np.broadcast_to(theirs["sd"], number))
            at = np.array(theirs["cdf"]["at"])
            assert np.allclose(distribution(own, at), theirs["cdf"]["value"], rtol=1e-9)
            assert np.allclose(density(own, at), theirs["cdf"]["density"], rtol=1e-9)
            assert np.allclose(
                quantiles(own, np.array(theirs["quantiles"]["prob"])),
                theirs["quantiles"]["value"],
                rtol=1e-8,
            )
            found = modes(own)
            assert (~np.isnan(found)).sum() == theirs["modes"]["n"]
            assert np.allclose(found[~np.isnan(found)], theirs["modes"]["at"], rtol=1e-6)
            assert (classes(own, np.array(case["input"]["x"])) == theirs["classification"]).all()


@settings(max_examples=examples(50), deadline=None)
@given(mixtures())
def test_density_is_the_slope_of_the_distribution_and_quantiles_invert_it(own):
    probability = np.array([1e-6, 0.03, 0.5, 0.8, 1 - 1e-6])
    found = quantiles(own, probability)
    assert np.allclose(distribution(own, found), probability, rtol=1e-9)
    step = 1e-4 * own.deviations.min()
    x = np.concatenate([own.means, own.means + 0.7 * own.deviations])
    slope = (distribution(own, x + step) - distribution(own, x - step)) / (2 * step)
    assert np.allclose(density(own, x), slope, rtol=1e-6)


@settings(max_examples=examples(25), deadline=None)
@given(mixtures())
def test_modes_are_those_of_a_fine_grid(own):
    """Every local maximum that a fine grid shows is found, and no other."""
    grid = np.arange(-10.5, 10.5, 1e-3)
    values = density(own, grid)
    peaks = grid[1:-1][
        (values[1:-1] > values[:-2]) & (values[1:-1] > values[2:]) & (values[1:-1] > 1e-9)
    ]
    found = modes(own)
    found = found[~np.isnan(found)]
    assert 1 <= len(found) <= len(own.weights)
    assert all(np.abs(found - peak).min() < 2e-3 for peak in peaks)
    slope = density(own, found + 1e-6), density(own, found), density(own, found - 1e-6)
    assert (slope[1] >= slope[0] * (1 - 1e-12)).all()
    assert (slope[1] >= slope[2] * (1 - 1e-12)).all()


def test_two_equal_components_have_two_modes_from_two_deviations_apart():
    """The textbook bound: equal halves of one variance have two modes exactly when the means are
    more than 2 deviations apart."""
    count = [
        (~np.isnan(modes(mixture([0.5, 0.5], [0, gap], [1, 1])))).sum()
        for gap in (1.9, 1.999, 2.01, 2.5)
    ]
    assert count == [1, 1, 2, 2]


def test_modes_far_apart_are_found():
    """Between components a thousand deviations apart the density is zero, and nothing is lost."""
    found = modes(mixture([0.2, 0.3, 0.5], [0.0, 1.0, 1000.0], [1e-6, 1e-3, 1.0]))
    assert np.allclose(found, [0.0, 1.0, 1000.0], atol=1e-9)


def test_a_point_has_all_its_probability_in_one_place():
    """Standard deviation 0 is a constant sample."""
    own = mixture([1.0, 0.0], [3.0, np.nan], [0.0, np.nan])
    assert distribution(own, np.array([2.9, 3.0])).tolist() == [0.0, 1.0]
    assert density(own, np.array(3.0)) == np.inf
    assert quantiles(own, np.array([0.0, 0.5, 1.0])).tolist() == [3.0] * 3
    assert modes(own)[0] == 3.0
    assert classes(own, np.array([3.0, np.nan])).tolist()[0] == 1.0


def test_quantiles_are_reached_whatever_the_components():
    """Of hundreds of mixtures of nine components, narrow and wide, every quantile has its
    probability below it."""
    rng = np.random.default_rng(1)
    size = (300, 1, 9)
    own = mixture(
        rng.dirichlet(np.ones(9), size[:2]), rng.normal(10, 1, size), rng.uniform(5e-4, 0.3, size)
    )
    probability = np.linspace(0, 1, 21)
    assert np.allclose(
        distribution(own, quantiles(own, probability)), probability, rtol=0, atol=1e-11
    )


def test_draws_have_the_distribution():
    """Drawn values pass Kolmogorov and Smirnov; a cell's values do not depend on its neighbours."""
    own = mixture([[0.3, 0.7], [1.0, 0.0]], [[0, 5], [1, 0]], [[1, 0.5], [2, 1]])
    found = draw(Scaled(own, np.zeros(2, bool)), 2000, np.array([4, 9]), Streams((1, 2)))
    assert (
        stats.kstest(
            found[0], lambda x: distribution(Mixture(*(part[0] for part in own)), x)
        ).pvalue
        > 0.01
    )
    alone = draw(
        Scaled(Mixture(*(part[1:] for part in own)), np.zeros(1, bool)),
        2000,
        np.array([9]),
        Streams((1, 2)),
    )
    assert (alone[0] == found[1]).all()
