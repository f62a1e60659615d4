"""Densities, quantiles and modes of mixtures against closed forms, mclust and brute force."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from perfarray.mixtures.numerics.normal import (
    NormalMixture,
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
    return NormalMixture(*(np.array(column, float) for column in (weights, means, deviations)))


@st.composite
def mixtures(draw_one):
    """Return mixtures of up to five components, narrow and wide ones together."""
    number = draw_one(st.integers(1, 5))
    weights = np.array(draw_one(st.lists(st.floats(0.05, 1), min_size=number, max_size=number)))
    means = np.sort(draw_one(st.lists(st.floats(-10, 10), min_size=number, max_size=number)))
    deviations = draw_one(st.lists(st.floats(0.01, 3), min_size=number, max_size=number))
    return mixture(weights / weights.sum(), means, deviations)


def test_one_component_is_the_normal_distribution():
    values, x = mixture([1], [2], [3]), np.array([-4.0, 2.0, 5.0])
    normal = stats.norm(2, 3)
    assert np.allclose(density(values, x), normal.pdf(x))
    assert np.allclose(distribution(values, x), normal.cdf(x))
    assert np.allclose(quantiles(values, np.array([0.0, 0.1, 1.0])), normal.ppf([0.0, 0.1, 1.0]))


def test_what_mclust_says(golden):
    """Distribution, density, quantiles, modes and classes of the fits mclust selected."""
    for case in golden("mclust")["cases"]:
        for theirs in (case["output"]["default"], case["output"]["converged"]):
            number = len(np.atleast_1d(theirs["mean"]))
            values = mixture(theirs["pro"], theirs["mean"], np.broadcast_to(theirs["sd"], number))
            at = np.array(theirs["cdf"]["at"])
            assert np.allclose(distribution(values, at), theirs["cdf"]["value"], rtol=1e-9)
            assert np.allclose(density(values, at), theirs["cdf"]["density"], rtol=1e-9)
            assert np.allclose(
                quantiles(values, np.array(theirs["quantiles"]["prob"])),
                theirs["quantiles"]["value"],
                rtol=1e-8,
            )
            result = modes(values)
            assert (~np.isnan(result)).sum() == theirs["modes"]["n"]
            assert np.allclose(result[~np.isnan(result)], theirs["modes"]["at"], rtol=1e-6)
            assert (classes(values, np.array(case["input"]["x"])) == theirs["classification"]).all()


@settings(max_examples=examples(50), deadline=None)
@given(mixtures())
def test_density_is_the_slope_of_the_distribution_and_quantiles_invert_it(own):
    probability = np.array([1e-6, 0.03, 0.5, 0.8, 1 - 1e-6])
    result = quantiles(own, probability)
    assert np.allclose(distribution(own, result), probability, rtol=1e-9)
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
    result = modes(own)
    result = result[~np.isnan(result)]
    assert 1 <= len(result) <= len(own.weights)
    assert all(np.abs(result - peak).min() < 2e-3 for peak in peaks)
    slope = density(own, result + 1e-6), density(own, result), density(own, result - 1e-6)
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
    result = modes(mixture([0.2, 0.3, 0.5], [0.0, 1.0, 1000.0], [1e-6, 1e-3, 1.0]))
    assert np.allclose(result, [0.0, 1.0, 1000.0], atol=1e-9)


def test_a_point_has_all_its_probability_in_one_place():
    """Standard deviation 0 is a constant sample."""
    values = mixture([1.0, 0.0], [3.0, np.nan], [0.0, np.nan])
    assert distribution(values, np.array([2.9, 3.0])).tolist() == [0.0, 1.0]
    assert density(values, np.array(3.0)) == np.inf
    assert quantiles(values, np.array([0.0, 0.5, 1.0])).tolist() == [3.0] * 3
    assert modes(values)[0] == 3.0
    assert classes(values, np.array([3.0, np.nan])).tolist()[0] == 1.0


def test_quantiles_are_reached_whatever_the_components():
    """Of hundreds of mixtures of nine components, narrow and wide, every quantile has its
    probability below it."""
    rng = np.random.default_rng(1)
    size = (300, 1, 9)
    values = mixture(
        rng.dirichlet(np.ones(9), size[:2]), rng.normal(10, 1, size), rng.uniform(5e-4, 0.3, size)
    )
    probability = np.linspace(0, 1, 21)
    assert np.allclose(
        distribution(values, quantiles(values, probability)), probability, rtol=0, atol=1e-11
    )


def test_draws_have_the_distribution():
    """Drawn values pass Kolmogorov and Smirnov; a cell's values do not depend on its neighbours."""
    values = mixture([[0.3, 0.7], [1.0, 0.0]], [[0, 5], [1, 0]], [[1, 0.5], [2, 1]])
    result = draw(Scaled(values, np.zeros(2, bool)), 2000, np.array([4, 9]), Streams((1, 2)))
    assert (
        stats.kstest(
            result[0], lambda x: distribution(NormalMixture(*(column[0] for column in values)), x)
        ).pvalue
        > 0.01
    )
    alone = draw(
        Scaled(NormalMixture(*(column[1:] for column in values)), np.zeros(1, bool)),
        2000,
        np.array([9]),
        Streams((1, 2)),
    )
    assert (alone[0] == result[1]).all()
