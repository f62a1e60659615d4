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
    found = principal_axes(table, scale=scale)
    np.testing.assert_allclose(
        found.scores @ found.loadings.T * found.divisors + found.centres, table, atol=1e-9
    )
    np.testing.assert_allclose((found.loadings**2).sum(axis=0), 1)
    largest = np.abs(found.loadings).argmax(axis=0)
    assert (found.loadings[largest, np.arange(len(largest))] > 0).all()
    np.testing.assert_allclose(found.variances, found.scores.var(axis=0, ddof=1), atol=1e-9)
    np.testing.assert_allclose(found.ratios.sum(), 1)
    assert (np.diff(found.variances) <= 1e-9).all()


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
    kept = complete_part(np.array([[place == "1" for place in row] for row in measured.split()]))
    assert ["".join("01"[place] for place in part.astype(int)) for part in kept] == [
        samples,
        features,
    ]
