"""Limits of components by analysis of variance: by hand, where they must vanish, simulated
coverage, degenerate cells."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from perfarray.numerics.nested_anova import nested_anova
from perfarray.variation.numerics.component_intervals import (
    anova_limits,
    chi_square_factors,
    difference_factors,
    effective_df,
    modified_limits,
    square_moments,
)
from strategies import experiments


def limits(values, levels, negative="keep", confidence_level=0.95):
    return anova_limits(values, nested_anova(values, levels, negative), confidence_level)


def difference_limits(x, y, df_x, df_y):
    """Return the 95 % limits of differences between two mean squares."""
    return modified_limits(x, y, np.array(difference_factors(df_x, df_y, 0.95)))


def draw(rng, shape, variances, cells):
    values = np.full((cells, *shape), 10.0)
    for depth, variance in enumerate(variances):
        effect = rng.normal(0, np.sqrt(variance), (cells, *shape[: depth + 1]))
        values = values + effect.reshape(effect.shape + (1,) * (len(shape) - depth - 1))
    return values


def test_chi_square_by_hand():
    """Variance 2.5 of 1..5: 4 x 2.5 / 11.1433 and 4 x 2.5 / 0.484419 (any table of chi-square with
    4 df)."""
    interval = limits(np.array([1.0, 2, 3, 4, 5]), 1)
    assert_allclose(
        [interval.lower[0], interval.upper[0]], [10 / 11.14329, 10 / 0.4844186], rtol=1e-6
    )
    assert_allclose(interval.standard_error, [2.5 * np.sqrt(2 / 4)])


def test_lowest_level_is_chi_square_for_any_imbalance():
    """Values less groups are its degrees of freedom."""
    values = np.array([[1.0, 2.0, 4.0], [3.0, 5.0, np.nan], [2.0, np.nan, np.nan]])
    interval = limits(values, 2)
    squares = np.var(values[0]) * 3 + 2.0
    assert_allclose(
        [interval.lower[1], interval.upper[1]], squares / stats.chi2.isf([0.025, 0.975], 3)
    )
    assert np.isnan(interval.standard_error[0])


def test_formula_by_hand():
    """Ting and others' limits, written out with F quantiles of infinite df: x = 4 on 5 df, y = 1 on
    20 df."""
    g1, g2 = (1 - 1 / stats.f.isf(0.025, df, 1e12) for df in (5, 20))
    h1, h2 = (1 / stats.f.ppf(0.025, df, 1e12) - 1 for df in (5, 20))
    high, low = stats.f.isf(0.025, 5, 20), stats.f.ppf(0.025, 5, 20)
    g12 = ((high - 1) ** 2 - g1**2 * high**2 - h2**2) / high
    h12 = ((1 - low) ** 2 - h1**2 * low**2 - g2**2) / low
    lower = 3 - np.sqrt(g1**2 * 16 + h2**2 + g12 * 4)
    upper = 3 + np.sqrt(h1**2 * 16 + g2**2 + h12 * 4)
    interval = difference_limits(np.array([4.0]), np.array([1.0]), 5.0, 20.0)
    assert_allclose(np.ravel(interval), [max(lower, 0), upper], rtol=1e-5)


@pytest.mark.parametrize(("df_x", "df_y"), [(2, 6), (5, 20), (29, 30)])
def test_limits_vanish_where_the_f_test_says_so(df_x, df_y):
    """Lower limit zero up to the upper F quantile and positive above; upper limit zero up to the
    lower quantile; exact at y = 0."""
    high, low = stats.f.isf(0.025, df_x, df_y), stats.f.ppf(0.025, df_x, df_y)
    x = np.array([high * 0.999, high * 1.001, low * 0.999, low * 1.001])
    interval = difference_limits(x, np.ones(4), float(df_x), float(df_y))
    assert (interval[0][:2] > 0).tolist() == [False, True]
    assert (interval[1][2:] > 0).tolist() == [False, True]
    alone = difference_limits(np.array([2.0]), np.array([0.0]), float(df_x), float(df_y))
    assert_allclose(np.ravel(alone), 2.0 * np.array(chi_square_factors(float(df_x), 0.95)))


def test_limits_of_a_merged_nest_are_those_of_the_pooled_one():
    """Merging leaves the limits of the nest that is left, and NaN for the level that went."""
    table = np.array([[[9, 5], [8, 3]], [[10, 6], [7, 11]], [[1, 12], [2, 4]]], dtype=float)
    merged, pooled = limits(table, 3, "merge"), limits(table.reshape(3, 4), 2)
    assert_allclose(merged.upper[[0, 2]], pooled.upper)
    assert np.isnan(merged.upper[1])


def test_cells_of_different_shape_in_one_call():
    """Complete, padded, ragged, merged, constant and empty cells give what they give alone; padding
    with NaN is no imbalance."""
    rng = np.random.default_rng(0)
    cells = draw(rng, (5, 4, 3), (1.0, 0.1, 1.0), 12)
    cells[1, 4:] = cells[2, :, :, 2] = cells[5] = np.nan
    cells[3][rng.random((5, 4, 3)) < 0.2] = np.nan
    cells[4] = 7.0
    for negative in ("keep", "merge"):
        together = limits(cells, 3, negative)
        for i, cell in enumerate(cells):
            for limit, alone in zip(together, limits(cell, 3, negative), strict=True):
                assert_allclose(limit[i], alone, rtol=1e-9)
    together = limits(cells, 3)
    assert_allclose(together.upper[1], limits(cells[1, :4], 3).upper)
    assert_allclose(together.upper[2], limits(cells[2, :, :, :2], 3).upper)
    assert together.upper[4].tolist() == [0, 0, 0]
    assert np.isnan(together.upper[5]).all()


def test_single_repetitions_have_no_limits():
    """One iteration each: NaN there, chi-square for the level above; one unit: NaN above."""
    values = np.random.default_rng(1).normal(10, 1, (6, 1))
    interval = limits(values, 2)
    assert np.isnan(interval.upper[1])
    assert_allclose(interval.upper[0], limits(values[:, 0], 1).upper[0])
    assert np.isnan(limits(values.T, 2).upper[0])


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("confidence_level", [0.5, 0.9, 0.999])
def test_wider_level_contains_narrower(confidence_level, missing):
    rng = np.random.default_rng(2)
    values = draw(rng, (6, 4, 3), (1.0, 1.0, 1.0), 50)
    values[rng.random(values.shape) < missing] = np.nan
    inner, outer = (
        limits(values, 3, "keep", confidence_level - 0.01),
        limits(values, 3, "keep", confidence_level),
    )
    assert ((outer.lower <= inner.lower) & (outer.upper >= inner.upper)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [(3, 5), (5, 5), (10, 5), (30, 5), (3, 3, 3), (5, 4, 3), (10, 3, 2), (30, 2, 2)]
)
def test_coverage_on_balanced_nests(shape):
    """Nominal 95 % from 3 to 30 units, whichever level dominates: within 1.5 % in 4,000 experiments
    (1 % is 3 standard errors)."""
    rng = np.random.default_rng(3)
    for ratio in (0.3, 1.0, 3.0):
        truth = ratio ** np.arange(len(shape), 0, -1.0)
        interval = limits(draw(rng, shape, truth, 4000), len(shape))
        covered = ((interval.lower <= truth) & (truth <= interval.upper)).mean(axis=0)
        assert (np.abs(covered - 0.95) < 0.015).all(), (ratio, covered)


def nest(*units):
    """Return which places of (n_L, ..., n_1) are measured, given the number of values of each unit,
    or of each group in each unit."""
    if isinstance(units[0], int):
        return np.arange(max(units)) < np.array(units)[:, None]
    numbers = np.array(list(itertools.zip_longest(*units, fillvalue=0))).T
    return np.arange(numbers.max()) < numbers[..., None]


RAGGED = {
    "two levels, mild": nest(4, 5, 5, 4, 3, 5),
    "two levels, one unit measured once": nest(1, *[20] * 9),
    "two levels, twenty units of 1 to 60": nest(
        1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 60
    ),
    "three levels, a quarter missing": np.random.default_rng(2).random((5, 4, 5)) > 0.25,
    "three levels, unlike units": nest([10], [1, 1], [3, 3, 3], [1] * 8, [20, 20], [2, 1]),
    "three levels, ten unlike units": nest(
        [10], [1, 1], [3] * 3, [1] * 8, [20, 20], [2, 1], [5], [30, 1, 1, 1], [2] * 4, [1]
    ),
}


@pytest.mark.parametrize("name", RAGGED)
def test_moments_of_ragged_mean_squares(name):
    """Expectation and variance of every mean square, against traces of matrices of all values: E
    y'By = tr BV, Var = 2 tr BVBV."""
    measured = RAGGED[name]
    levels, positions = measured.ndim, np.argwhere(measured)
    moments = square_moments(np.where(measured, 1.0, np.nan)[None])
    same_unit = [
        (positions[:, None, :depth] == positions[None, :, :depth]).all(axis=-1).astype(float)
        for depth in range(levels, -1, -1)
    ]
    mean = np.eye(
        len(positions)
    )  # rows that take the unweighted mean of a value's group, level after level
    for level in range(levels):
        groups = np.unique(positions[:, : levels - level - 1], axis=0, return_inverse=True)[
            1
        ].ravel()
        items = np.unique(positions[:, : levels - level], axis=0, return_index=True)[1]
        form, df = np.zeros((len(positions), len(positions))), 0
        wider = np.empty_like(mean)
        for group in np.unique(groups):
            rows = mean[[item for item in items if groups[item] == group]]
            deviations = rows - rows.mean(axis=0)
            form += deviations.T @ deviations
            df += len(rows) - 1
            wider[groups == group] = rows.mean(axis=0)
        mean = wider
        products = [form @ block / df for block in same_unit[:levels]]
        assert_allclose(
            moments.expectation[0, level],
            [np.trace(product) for product in products],
            rtol=1e-9,
            atol=1e-12,
        )
        assert_allclose(
            moments.spread[0, level],
            [[np.trace(a @ b) for b in products] for a in products],
            rtol=1e-9,
            atol=1e-12,
        )


def test_degrees_of_freedom_of_balanced_squares_are_those_of_the_table():
    """Units less one, at every level and whatever the components."""
    moments = square_moments(np.ones((1, 5, 4, 3)))
    for level, df in enumerate((40, 15, 4)):
        weights = np.eye(3)[None, level]
        assert_allclose(effective_df(moments, np.array([[0.1, 2.0, 0.3]]), weights), df)


def test_degrees_of_freedom_where_one_unit_dominates():
    """A unit measured once among well measured ones, without variation between units: 1 degree of
    freedom, not 9."""
    moments = square_moments(np.where(nest(1, *[100_000] * 3), 1.0, np.nan)[None])
    for between, df in ((0.0, 1), (1e6, 3)):
        assert_allclose(
            effective_df(moments, np.array([[1.0, between]]), np.array([[0.0, 1.0]])), df, rtol=1e-3
        )


def test_a_ragged_cell_that_is_nearly_complete_has_nearly_its_limits():
    """One value of 2,000 missing moves no limit by more than a thousandth of its length."""
    values = draw(np.random.default_rng(4), (10, 10, 20), (1.0, 1.0, 1.0), 20)
    complete = limits(values, 3)
    values[:, 3, 2, 1] = values[:, 3, 2].mean(axis=-1)
    ragged = values.copy()
    ragged[:, 3, 2, 1] = np.nan
    interval = limits(ragged, 3)
    for ours, theirs in zip(interval[:2], limits(values, 3)[:2], strict=True):
        assert (np.abs(ours - theirs) < 0.005 * (complete.upper - complete.lower)).all()


def test_ragged_cells_that_do_not_vary_or_are_infinite():
    """No spread at all: zero to zero. None inside executions: the limits of their means. An
    infinite value: NaN, there alone."""
    measured = nest(2, 5, 3, 1)
    constant = limits(np.where(measured, 7.0, np.nan), 2)
    assert constant.lower.tolist() == constant.upper.tolist() == [0, 0]
    means = np.array([1.0, 2.0, 4.0, 8.0])
    assert_allclose(
        limits(np.where(measured, means[:, None], np.nan), 2).upper[0],
        limits(means, 1).upper[0],
        rtol=1e-6,
    )
    values = np.where(measured, np.random.default_rng(5).normal(10, 1, (2, 4, 5)), np.nan)
    alone = limits(values[1], 2)
    values[0, 0, 0] = np.inf
    interval = limits(values, 2)
    assert np.isnan(interval.upper[0]).all()
    assert_allclose(interval.upper[1], alone.upper)


@pytest.mark.slow
@pytest.mark.parametrize("name", RAGGED)
def test_coverage_on_ragged_nests(name):
    """Nominal 95 %: 93.3 to 98 % of components above zero, 96.5 to 99 % of those that are zero,
    within three Monte Carlo errors."""
    measured, rng = RAGGED[name], np.random.default_rng(7)
    levels = measured.ndim
    count = experiments(16_000 if levels == 2 else 4000)
    error = 3 * np.sqrt(0.05 * 0.95 / count)
    for truth in [(0.0,), (0.1,), (1.0,)] if levels == 2 else [(0.0, 0.0), (0.1, 1.0), (1.0, 0.1)]:
        components = np.array([*truth, 1.0])
        interval = limits(
            np.where(measured, draw(rng, measured.shape, components, count), np.nan), levels
        )
        covered = ((interval.lower <= components) & (components <= interval.upper)).mean(axis=0)[
            :-1
        ]
        lowest, highest = np.where(components[:-1] > 0, [[0.933], [0.98]], [[0.965], [0.99]])
        lowest, highest = lowest - np.minimum(error, 0.008), highest + np.minimum(error, 0.005)
        assert ((covered > lowest) & (covered < highest)).all(), (truth, covered)
