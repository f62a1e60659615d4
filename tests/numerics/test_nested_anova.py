"""Nested analysis of variance: worked by hand, published, from R, simulated, degenerate."""

import itertools

import numpy as np
import pandas as pd
import pytest

from perfarray.numerics.nested_anova import BLOCK, nested_anova, pool_levels

TABLE_III = np.array([[[9, 5], [8, 3]], [[10, 6], [7, 11]], [[1, 12], [2, 4]]], dtype=float)


def by_definition(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return T^2 and S^2, outermost first, straight from section 6.1 of Kalibera and Jones."""
    squared, below, components = [], 0.0, []
    means = values
    while means.ndim:
        squared.append(means.var(axis=-1, ddof=1).mean())
        components.append(squared[-1] - below)
        below = squared[-1] / means.shape[-1]
        means = means.mean(axis=-1)
    return np.array(components[::-1]), np.array(squared[::-1])


def by_rows(values: np.ndarray) -> np.ndarray:
    """Solve the expected sums of squares from a list of rows, with loops and a design of indicator
    columns (Searle 1992, chapter 5)."""
    rows = [
        (index, values[index])
        for index in itertools.product(*map(range, values.shape))
        if not np.isnan(values[index])
    ]
    y = np.array([value for _, value in rows])
    levels = values.ndim
    designs = [np.ones((len(y), 1))]
    for depth in range(1, levels + 1):
        keys = sorted({index[:depth] for index, _ in rows})
        designs.append(
            np.array([[index[:depth] == key for key in keys] for index, _ in rows], dtype=float)
        )
    hats = [design @ np.linalg.pinv(design) for design in designs]
    squares, coefficients = [], []
    for depth in range(1, levels + 1):
        projection = hats[depth] - hats[depth - 1]
        squares.append(y @ projection @ y)
        coefficients.append([np.trace(projection @ design @ design.T) for design in designs[1:]])
    return np.linalg.solve(np.array(coefficients), np.array(squares))


def test_table_iii_and_iv_of_kalibera_and_jones():
    """The printed S^2 16.5, 2.6, 3.6 and T^2 16.5, -5.7, 2.3; with the execution level merged 12.7
    and 0.4."""
    components = nested_anova(TABLE_III, 3)
    assert np.round(components.level_variance, 1).tolist() == [3.6, 2.6, 16.5]
    assert np.round(components.variance, 1).tolist() == [2.3, -5.7, 16.5]
    merged = nested_anova(TABLE_III, 3, "merge")
    np.testing.assert_allclose(
        merged.variance, [0.381944444444444, np.nan, 12.7222222222222], rtol=1e-12
    )
    assert merged.merged.tolist() == [False, True, False]
    assert merged.repetitions[[0, 2]].tolist() == [3, 4]


@pytest.mark.parametrize("shape", [(2, 3), (7, 4), (3, 4, 5), (2, 3, 2, 4)])
def test_balanced_data_follow_the_definition(shape):
    """S^2 and T^2 are those of section 6.1."""
    values = np.random.default_rng(0).normal(10, 1, shape)
    result = nested_anova(values, len(shape))
    components, squared = by_definition(values)
    np.testing.assert_allclose(
        result.variance, components, rtol=1e-12, atol=1e-12 * squared.max()
    )  # a difference of squares
    np.testing.assert_allclose(result.level_variance, squared, rtol=1e-12)
    assert result.repetitions.tolist() == list(shape)


@pytest.mark.parametrize("seed", range(6))
def test_ragged_data_solve_the_expected_sums_of_squares(seed):
    """The recursion agrees with projection matrices built from a list of rows."""
    rng = np.random.default_rng(seed)
    shape = [(6, 5), (4, 3, 5), (3, 3, 2, 4)][seed % 3]
    values = np.where(rng.random(shape) < 0.3, np.nan, rng.normal(10, 1, shape))
    np.testing.assert_allclose(
        nested_anova(values, len(shape)).variance, by_rows(values), rtol=1e-9
    )


def test_general_formulas_agree_with_the_short_ones_on_balanced_data():
    """Padding with an empty unit sends a cell through the general formulas and changes nothing."""
    values = np.random.default_rng(1).normal(10, 1, (5, 4, 3))
    padded = np.full((6, 5, 4), np.nan)
    padded[:5, :4, :3] = values
    short, general = nested_anova(values, 3), nested_anova(padded, 3)
    for name in ("variance", "level_variance", "repetitions", "mean", "standard_error", "df"):
        np.testing.assert_allclose(
            getattr(general, name), getattr(short, name), rtol=1e-12, err_msg=name
        )


def test_anova_of_r(golden):
    """golden/varcomp_nested: eleven designs, balanced and not, to 1e-9."""
    for case in golden("varcomp_nested")["cases"]:
        data = case["input"]
        frame = pd.DataFrame(
            {"time": data["y"], **{name: data[name] for name in data["factors_high_to_low"]}}
        )
        names = {"binary": "A", "execution": "B"} if "B" in data else {"execution": "A"}
        times = frame.perf.to_timings(level="iteration", units="1", **names)
        printed = case["output"]["anova_type1"]["variance_components"]
        expected = [printed[name] for name in ("A", "B", "residual") if name in printed]
        np.testing.assert_allclose(
            times.perf.variance_components()["variance"], expected, rtol=1e-9, err_msg=case["name"]
        )


@pytest.mark.parametrize("file", ["kj_worked_examples", "kj_synthetic"])
def test_components_of_r(golden, file):
    """golden/kj_*: S^2 and T^2 to 1e-9, the grand mean and its standard error."""
    for case in golden(file)["cases"]:
        values = np.array(case["input"]["data"], dtype=float)
        components, output = nested_anova(values, values.ndim), case["output"]
        np.testing.assert_allclose(
            components.variance[::-1], output["T2"], rtol=1e-9, err_msg=case["name"]
        )
        np.testing.assert_allclose(
            components.level_variance[::-1], output["S2"], rtol=1e-9, err_msg=case["name"]
        )
        np.testing.assert_allclose(components.mean, output["grand_mean"], rtol=1e-12)
        np.testing.assert_allclose(components.standard_error**2, output["var_of_mean"], rtol=1e-9)


def test_a_level_with_one_repetition_is_nan_and_belongs_to_the_one_above():
    """Five builds run once each: build and execution cannot be told apart, and the build's
    component contains both."""
    values = np.random.default_rng(2).normal(10, 1, (5, 1, 4))
    components = nested_anova(values, 3)
    without = nested_anova(values[:, 0], 2)
    assert np.isnan(components.variance[1])
    np.testing.assert_allclose(components.variance[[0, 2]], without.variance)
    padded = np.concatenate([values, np.full((5, 2, 4), np.nan)], axis=1)
    np.testing.assert_allclose(nested_anova(padded, 3).variance, components.variance, rtol=1e-12)


def test_single_values_below_and_single_unit_above():
    """One iteration each: NaN there; one unit: NaN above, and no standard error."""
    values = np.random.default_rng(3).normal(10, 1, (6, 1))
    components = nested_anova(values, 2)
    np.testing.assert_allclose(components.variance, [values.var(ddof=1), np.nan])
    single_unit = nested_anova(values.T, 2)
    assert np.isnan(single_unit.variance[0])
    assert np.isnan(single_unit.standard_error)
    assert np.isnan(single_unit.df)
    np.testing.assert_allclose(single_unit.variance[1], values.var(ddof=1))


def test_cells_do_not_touch_each_other():
    """Complete, ragged, empty and constant cells in one call give what they give alone."""
    rng = np.random.default_rng(4)
    cells = rng.normal(10, 1, (4, 5, 4, 3))
    cells[1] = np.where(rng.random((5, 4, 3)) < 0.3, np.nan, cells[1])
    cells[2] = np.nan
    cells[3] = 7.0
    for negative in ("keep", "zero", "merge"):
        together = nested_anova(cells, 3, negative)
        for i, cell in enumerate(cells):
            alone = nested_anova(cell, 3, negative)
            np.testing.assert_allclose(
                together.variance[i], alone.variance, rtol=1e-12, equal_nan=True
            )
            np.testing.assert_allclose(
                together.standard_error[i], alone.standard_error, rtol=1e-12, equal_nan=True
            )
    components = nested_anova(cells, 3)
    assert np.isnan(components.mean[2])
    assert components.variance[3].tolist() == [0, 0, 0]


def test_zero_clips_and_the_outermost_level_is_never_merged():
    """A negative outermost component stays negative under merge, and is 0 under zero."""
    values = np.array([[1.0, 9.0], [9.0, 1.0], [1.0, 9.1]])
    assert nested_anova(values, 2).variance[0] < 0
    assert nested_anova(values, 2, "merge").variance[0] < 0
    assert not nested_anova(values, 2, "merge").merged.any()
    assert nested_anova(values, 2, "zero").variance[0] == 0


def test_merging_repeats_until_no_inner_component_is_negative():
    """Four levels: each merge estimates everything again."""
    rng = np.random.default_rng(5)
    merged_two = 0
    for noise in np.repeat([0.01, 1.0, 3.0], 20):
        values = (
            np.array([-3.0, 0.0, 3.0])
            + rng.normal(0, noise, (4, 3, 3, 3))
            + rng.normal(0, 3, (4, 1, 1, 1))
        )
        components = nested_anova(values, 4, "merge")
        inner = components.variance[1:-1][~components.merged[1:-1]]
        assert (inner >= 0).all()
        merged_two += components.merged.sum() == 2
        pooled = pool_levels(values[None], components.merged)
        np.testing.assert_allclose(
            nested_anova(pooled[0], pooled.ndim - 1).variance,
            components.variance[~components.merged],
            rtol=1e-9,
        )
    assert merged_two > 0


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6, 1e9])
def test_variances_survive_a_large_mean(offset):
    """A relative spread of 1e-9 keeps its digits: deviations are taken, not squares."""
    noise = np.random.default_rng(6).normal(0, 1, (8, 5, 4))
    expected, _ = by_definition((noise + offset) - offset)
    np.testing.assert_allclose(nested_anova(noise + offset, 3).variance, expected, rtol=1e-6)


def test_within_survives_a_between_that_dwarfs_it():
    """Units a million standard deviations apart do not blur the spread inside them."""
    noise = np.random.default_rng(7).normal(0, 1, (6, 50))
    values = noise + 1e6 * np.arange(6)[:, None]
    np.testing.assert_allclose(
        nested_anova(values, 2).variance[1], noise.var(axis=1, ddof=1).mean(), rtol=1e-8
    )


def test_blocks_do_not_change_the_answer():
    """A cell larger than a block, and many cells in one block, agree with the definition."""
    rng = np.random.default_rng(8)
    large = rng.normal(1, 0.1, (3, BLOCK // 40, 17))
    np.testing.assert_allclose(
        nested_anova(large, 3).variance, by_definition(large)[0], rtol=1e-10, atol=1e-14
    )
    cells = rng.normal(1, 0.1, (5000, 4, 3, 5))
    np.testing.assert_allclose(
        nested_anova(cells, 3).variance[4321], by_definition(cells[4321])[0], rtol=1e-10, atol=1e-14
    )


def test_estimates_are_unbiased_on_ragged_nests():
    """The average over 4,000 simulated ragged cells is the truth, within five standard errors."""
    rng = np.random.default_rng(9)
    truth = np.array([4.0, 1.0, 2.0])
    cells = 4000
    values = sum(
        np.sqrt(v) * rng.normal(size=(cells, 5, 4, 3)[: depth + 2])[(...,) + (None,) * (2 - depth)]
        for depth, v in enumerate(truth)
    )
    values = np.where(rng.random(values.shape) < 0.3, np.nan, values)
    variances = nested_anova(values, 3).variance
    error = np.nanstd(variances, axis=0) / np.sqrt(cells)
    assert (np.abs(np.nanmean(variances, axis=0) - truth) < 5 * error).all()


def test_a_mean_has_as_many_degrees_of_freedom_as_units_less_one():
    """Three units, whatever is inside them; a fourth one is absent."""
    values = np.random.default_rng(3).normal(10.0, 1.0, (1, 4, 5))
    values[0, 3] = np.nan
    values[0, 1, 2:] = np.nan
    np.testing.assert_array_equal(nested_anova(values, 2).df, [2.0])
