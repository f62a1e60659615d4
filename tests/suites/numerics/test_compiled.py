"""The compiled scores of a suite against the NumPy engine."""

import numpy as np
import pytest

from perfarray.numerics.random import SCORES, Streams
from perfarray.suites.numerics.distributions import Drawing, Suite, draw_scores, summarise_scores

numba = pytest.importorskip("numba")
compiled = pytest.importorskip("perfarray.numerics.compiled")


@pytest.mark.parametrize("mean", ["geometric", "harmonic", "arithmetic"])
@pytest.mark.parametrize(("benchmarks", "runs", "number"), [(1, 1, 2), (12, 3, 500), (5, 1, 9), (7, 4, 1001), (3, 2, 5)])
def test_kernels_agree_with_numpy(mean, benchmarks, runs, number):
    """Scores, five numbers and standard deviation are those of NumPy, cells in any order, with gaps between their numbers."""
    values = np.random.default_rng(1).lognormal(0, 0.1, (6, benchmarks, runs, 1))
    cells = np.array([7, 3, 4, 100, 5, 0])
    plain, fast = (Drawing(number, mean, (1, 2), engine) for engine in ("numpy", "numba"))
    suite = Suite(np.sort(values, axis=2), None)
    np.testing.assert_allclose(draw_scores(suite, cells, fast), draw_scores(suite, cells, plain), rtol=1e-14)
    np.testing.assert_allclose(summarise_scores(suite, cells, fast), summarise_scores(suite, cells, plain), rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("spread", [0.0, 2.3e-16, np.inf])
def test_quartiles_of_scores_that_fill_no_buckets(spread):
    """Scores all alike, a hair apart, or some of them infinite: the same as NumPy's."""
    values = np.array([1.0, 1.0, 1.0 + spread]) * np.ones((2, 4, 1))
    suite = Suite(values[..., None], None)
    with np.errstate(invalid="ignore"):
        plain, fast = (summarise_scores(suite, np.arange(2), Drawing(50, "arithmetic", (1, 2), engine)) for engine in ("numpy", "numba"))
    np.testing.assert_array_equal(fast[:5], plain[:5])


def test_threads_change_no_score(monkeypatch):
    """One cell at a time by two threads: the numbers of one."""
    suite, cells = Suite(np.random.default_rng(1).lognormal(0, 0.1, (9, 4, 3, 1)), None), np.arange(9)
    drawing = Drawing(200, "geometric", (1, 2), "numba")
    one = draw_scores(suite, cells, drawing), summarise_scores(suite, cells, drawing)
    monkeypatch.setattr(compiled, "LEAST", 100)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)
    for found, expected in zip((draw_scores(suite, cells, drawing), summarise_scores(suite, cells, drawing)), one, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mean", ["geometric", "harmonic"])
def test_a_cell_with_a_refused_number(mean):
    """Number 1,977 of cell 33,860 stands for none of the 1,000 entries: it is drawn again, as NumPy does; its neighbour is left alone."""
    suite, cells = Suite(np.random.default_rng(1).lognormal(0, 0.1, (2, 3, 10, 1)), None), np.array([33_860, 1])
    bits = Streams((1, 2)).bits(cells, SCORES | 10, 1, 1977)
    assert (bits[:, 0] * np.uint32(1000) < 2**32 % 1000).tolist() == [True, False]
    plain, fast = (draw_scores(suite, cells, Drawing(2000, mean, (1, 2), engine)) for engine in ("numpy", "numba"))
    np.testing.assert_allclose(fast, plain, rtol=1e-14)
