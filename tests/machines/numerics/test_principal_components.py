"""Principal components: laws, signs, what gaps cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfarray.machines.numerics.principal_components import complete_part, principal_axes
from strategies import examples


@given(
    seed=st.integers(0, 2**32 - 1),
    samples=st.integers(3, 8),
    features=st.integers(2, 6),
    scale=st.booleans(),
)
@settings(max_examples=examples(40), deadline=None)
def test_components_rebuild_the_table(seed, samples, features, scale):
    """Scores times loadings, scaled and centred back, are the values; loadings have length one; the
    largest is positive."""
    table = np.random.default_rng(seed).normal(5, 2, (samples, features))
    axes = principal_axes(table, scale=scale)
    np.testing.assert_allclose(
        axes.scores @ axes.loadings.T * axes.divisors + axes.centres, table, atol=1e-9
    )
    np.testing.assert_allclose((axes.loadings**2).sum(axis=0), 1)
    largest = np.abs(axes.loadings).argmax(axis=0)
    assert (axes.loadings[largest, np.arange(len(largest))] > 0).all()
    np.testing.assert_allclose(axes.variances, axes.scores.var(axis=0, ddof=1), atol=1e-9)
    np.testing.assert_allclose(axes.ratios.sum(), 1)
    assert (np.diff(axes.variances) <= 1e-9).all()


@pytest.mark.parametrize(
    ("measured", "samples", "features"),
    [
        ("0111 1111 1111", "111", "0111"),
        ("1111 0001 1111", "101", "1111"),
        ("0000 1101 1101", "011", "1101"),
    ],
)
def test_what_has_most_gaps_goes_first(measured, samples, features):
    """A feature that one of three samples lacks goes; a sample that lacks most features goes in its
    place."""
    complete = complete_part(np.array([[mark == "1" for mark in row] for row in measured.split()]))
    assert [
        "".join("01"[mark] for mark in is_complete.astype(int)) for is_complete in complete
    ] == [
        samples,
        features,
    ]
