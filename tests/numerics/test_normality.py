"""Shapiro-Wilk: R's and SciPy's numbers, and samples it has no answer for."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from perfarray.numerics.normality import shapiro_wilk

SHAPES = {
    "norm": ndtri,
    "lnorm": lambda p: np.exp(0.5 * ndtri(p)),
    "unif": lambda p: p,
    "exp": lambda p: -np.log1p(-p),
    "bimodal": lambda p: 6 * (p >= 0.5) + ndtri(((2 * p) % 1) * 0.999 + 0.0005),
}


def quantiles(shape, n):
    """Return R's `ppoints` through a quantile function, rounded to 8 decimals."""
    offset = 3 / 8 if n <= 10 else 1 / 2
    return np.round(SHAPES[shape]((np.arange(1, n + 1) - offset) / (n + 1 - 2 * offset)), 8)


def test_shapiro_wilk_is_shapiro_test(golden):
    """W and p are those of R for 3 to 5000 values of five shapes, and for small samples with
    ties."""
    grid = golden("tests_grid")
    cases = [
        (quantiles(case["shape"], case["n"]), case)
        for case in grid["shapiro_deterministic"]["cases"]
    ]
    cases += [(np.array(case["x"]), case) for case in grid["shapiro_small"]]
    for sample, expected in cases:
        result = shapiro_wilk(sample)
        assert result.statistic == pytest.approx(expected["W"], abs=1e-8)
        assert result.pvalue == pytest.approx(expected["p"], rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 11, 12, 40])
def test_against_scipy(n):
    """SciPy's numbers, one sample at a time, are those of all samples at once (its normal quantiles
    are good to ten digits)."""
    values = np.random.default_rng(n).lognormal(sigma=0.5, size=(20, n))
    result = shapiro_wilk(values)
    expected = [stats.shapiro(row) for row in values]
    assert result.statistic == pytest.approx([first.statistic for first in expected], abs=1e-8)
    assert result.pvalue == pytest.approx([first.pvalue for first in expected], rel=1e-6)


def test_ragged_cells_and_order():
    """What was not measured is no value, wherever it stands; neither order, scale nor place of the
    values matters."""
    values = np.random.default_rng(2).gamma(2.0, size=(2, 30))
    values[0, [1, 5, 29]] = np.nan
    result = shapiro_wilk(values)
    assert result.pvalue[0] == pytest.approx(
        float(shapiro_wilk(values[0][~np.isnan(values[0])]).pvalue), rel=1e-12
    )
    assert shapiro_wilk(1e-3 * values[:, ::-1] + 7.0).pvalue == pytest.approx(
        result.pvalue, rel=1e-6
    )


def test_samples_without_an_answer():
    """Fewer than three values, or equal ones, give NaN."""
    assert np.isnan(shapiro_wilk([1.0, 2.0, np.nan]).pvalue)
    assert np.isnan(shapiro_wilk([5.0, 5.0, 5.0, 5.0]).statistic)
    assert np.isnan(shapiro_wilk(np.full((2, 4), np.nan)).pvalue).all()
    assert np.isnan(shapiro_wilk(np.empty((2, 0))).pvalue).all()


def test_a_sample_far_from_normal():
    """One value apart from ten: the p-value is small, never NaN."""
    result = shapiro_wilk([0.0] * 10 + [1.0])
    assert 0 <= result.pvalue < 1e-5
