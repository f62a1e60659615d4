"""The compiled scores of a suite against the NumPy engine."""

import numpy as np
import pytest

from perfarray.suites.numerics.distributions import Drawing, Suite, draw_scores, summarise_scores

pytest.importorskip("numba")


@pytest.mark.parametrize("mean", ["geometric", "harmonic", "arithmetic"])
@pytest.mark.parametrize(("benchmarks", "runs", "number"), [(1, 1, 2), (12, 3, 500), (5, 1, 9), (7, 4, 1001), (3, 2, 5)])
def test_kernels_agree_with_numpy(mean, benchmarks, runs, number):
    """Scores, five numbers and standard deviation are those of NumPy, cells in any order, with gaps between their numbers."""
    values = np.random.default_rng(1).lognormal(0, 0.1, (6, benchmarks, runs, 1))
    cells = np.array([7, 3, 4, 100, 5, 0])
    plain, compiled = (Drawing(number, mean, (1, 2), engine) for engine in ("numpy", "numba"))
    suite = Suite(np.sort(values, axis=2), None)
    np.testing.assert_allclose(draw_scores(suite, cells, compiled), draw_scores(suite, cells, plain), rtol=1e-14)
    np.testing.assert_allclose(summarise_scores(suite, cells, compiled), summarise_scores(suite, cells, plain), rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("spread", [0.0, 2.3e-16])
def test_quartiles_of_scores_that_fill_no_buckets(spread):
    """Scores all alike, or a hair apart: the same as NumPy's."""
    values = np.array([1.0, 1.0, 1.0 + spread]) * np.ones((2, 4, 1))
    suite = Suite(values[..., None], None)
    plain, compiled = (summarise_scores(suite, np.arange(2), Drawing(50, "arithmetic", (1, 2), engine)) for engine in ("numpy", "numba"))
    np.testing.assert_array_equal(compiled[:5], plain[:5])
