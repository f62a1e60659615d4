"""REML and ML of nested repetitions: against dense matrices, published numbers, R, simulated truth;
degenerate cells."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import isotonic_regression
from scipy.special import stdtrit

import perfarray  # noqa: F401  registers .perf
from perfarray.numerics.nested_anova import nested_anova
from perfarray.variation.numerics.likelihood import evaluate, nested_statistics
from perfarray.variation.numerics.maximum import maximise
from perfarray.variation.numerics.reml import RemlFit, nested_reml
from strategies import experiments

DYESTUFF = np.array([
    [1545, 1440, 1440, 1520, 1580], [1540, 1555, 1490, 1560, 1495], [1595, 1550, 1605, 1510, 1560],
    [1445, 1440, 1595, 1465, 1545], [1595, 1630, 1515, 1635, 1625], [1520, 1455, 1450, 1480, 1445],
], dtype=float)  # fmt: skip
"""Davies and Goldsmith 1972, the `Dyestuff` of lme4: yield of six batches."""


def fit(
    values: np.ndarray,
    restricted: bool = True,
    levels: int | None = None,
    confidence_level: float | None = 0.95,
) -> RemlFit:
    levels = levels or values.ndim
    return nested_reml(values, levels, nested_anova(values, levels), restricted, confidence_level)


def draw(rng, shape, variances, missing=0.0, cells=(), mean=10.0):
    """Return nested normal values, with gaps at random."""
    values = np.full((*cells, *shape), mean)
    for depth, variance in enumerate(variances):
        effect = rng.normal(0, np.sqrt(variance), (*cells, *shape[: depth + 1]))
        values = values + effect.reshape(effect.shape + (1,) * (len(shape) - depth - 1))
    return np.where(rng.random(values.shape) < missing, np.nan, values)


def dense(values: np.ndarray):
    """Return a function of the variances (lowest first): -2 log likelihoods, and trace(P V_i P
    V_j), from matrices of all values."""
    rows = [
        (index, values[index])
        for index in itertools.product(*map(range, values.shape))
        if not np.isnan(values[index])
    ]
    y = np.array([value for _, value in rows])
    same_unit = [
        np.array([[a[:depth] == b[:depth] for b, _ in rows] for a, _ in rows], dtype=float)
        for depth in range(values.ndim, 0, -1)
    ]

    def at(variances):
        covariance = sum(v * block for v, block in zip(variances, same_unit, strict=True))
        inverse = np.linalg.inv(covariance)
        precision = inverse.sum()
        projection = inverse - np.outer(inverse.sum(axis=0), inverse.sum(axis=0)) / precision
        log_determinant, squares = np.linalg.slogdet(covariance)[1], y @ projection @ y
        ml = len(y) * np.log(2 * np.pi) + log_determinant + squares
        reml = ml - np.log(2 * np.pi) + np.log(precision)
        traces = [[np.trace(projection @ a @ projection @ b) for b in same_unit] for a in same_unit]
        return ml, reml, np.array(traces), inverse.sum(axis=0) @ y / precision, precision

    return at


@pytest.mark.parametrize("seed", range(8))
def test_likelihood_and_derivatives_agree_with_dense_matrices(seed):
    """Value, mean and its precision, gradient, observed and expected second derivatives, for one to
    four levels with gaps."""
    rng = np.random.default_rng(seed)
    shape = [(9,), (5, 4), (4, 3, 4), (3, 3, 2, 3)][seed % 4]
    values = draw(rng, shape, np.ones(len(shape)), 0.25)
    at, variances, step = dense(values), rng.uniform(0.2, 2.0, len(shape)), 1e-5
    if seed >= 4 and len(shape) > 1:
        variances[1] = 0.0
    data = nested_statistics(values[None])
    for restricted in (False, True):
        likelihood = evaluate(data, variances[None] / data.scale**2, restricted)
        ml, reml, traces, mean, precision = at(variances)
        assert_allclose(likelihood.value[0], reml if restricted else ml, rtol=1e-12)
        assert_allclose(likelihood.mean[0], mean, rtol=1e-12)
        assert_allclose(likelihood.precision[0, 0] / data.scale[0] ** 2, precision, rtol=1e-10)
        if restricted:
            assert_allclose(likelihood.expected[0] / data.scale[0] ** 4, traces, rtol=1e-9)
        moved = [
            evaluate(data, (variances + step * unit)[None] / data.scale**2, restricted)
            for unit in np.eye(len(shape))
        ]
        slopes = [(shifted.value - likelihood.value)[0] / step for shifted in moved]
        curves = [
            (shifted.gradient - likelihood.gradient)[0] / step / data.scale**2 for shifted in moved
        ]
        assert_allclose(likelihood.gradient[0] / data.scale**2, slopes, rtol=1e-3, atol=1e-3)
        assert_allclose(likelihood.observed[0] / data.scale**4, curves, rtol=2e-3, atol=2e-3)


def test_ragged_three_levels_agree_with_lme4():
    """lme4 1.1-31 (R 4.2.2, bobyqa to 1e-12) on a nest with 30 % missing and one unit of one group.

    Components, criterion, mean, standard error. Its profile limits are those of standard deviations
    by ML, read off a spline: ours lie where dense matrices put the cut, and within 1e-3 of them.
    """
    rng, shape = np.random.default_rng(20), (7, 5, 6)
    values = (
        10
        + rng.normal(0, 1, 7)[:, None, None]
        + rng.normal(0, 0.7, shape[:2])[..., None]
        + rng.normal(0, 1.4, shape)
    )
    values = np.round(np.where(rng.random(shape) < 0.3, np.nan, values), 3)
    values[2, 1:] = np.nan
    reml, ml = fit(values), fit(values, restricted=False)
    assert_allclose(reml.variance, [0.2806382584, 0.8961389222, 1.5691539580], rtol=1e-6)
    assert_allclose(
        [reml.criterion, reml.mean, reml.model_standard_error],
        [451.4928007781, 9.6435978543, 0.2924290033],
        rtol=1e-7,
    )
    assert_allclose(ml.variance, [0.1976648315, 0.8925548851, 1.5698239320], rtol=1e-6)
    assert_allclose(
        [ml.criterion, ml.mean, ml.model_standard_error],
        [450.789190152, 9.637804893, 0.269851574],
        rtol=1e-7,
    )
    assert_allclose(ml.lower, [0, 0.3558685, 1.1953873], rtol=1e-3)
    assert_allclose(ml.upper, [1.4943038, 1.9999451, 2.1183749], rtol=1e-3)


def test_one_level_is_the_sample_variance():
    """REML divides by n - 1, ML by n; the mean is the mean, its df n - 1."""
    values = np.array([1.0, 2.0, 4.0, np.nan, 9.0])
    measured = values[~np.isnan(values)]
    assert_allclose(fit(values).variance, [measured.var(ddof=1)])
    assert_allclose(fit(values, restricted=False).variance, [measured.var()])
    assert_allclose(fit(values).standard_error, measured.std(ddof=1) / 2)
    assert_allclose(fit(values).df, 3)


@pytest.mark.parametrize("shape", [(6, 5), (6, 4, 5), (5, 3, 3, 4)])
def test_balanced_interior_fits_are_the_analysis_of_variance(shape):
    """Components, mean, standard error, n - 1 df; and the standard errors of components are those
    of the mean squares."""
    values = draw(np.random.default_rng(1), shape, np.ones(len(shape)))
    anova, components = nested_anova(values, len(shape)), fit(values)
    assert (anova.variance > 0).all()
    assert_allclose(components.variance, anova.variance, rtol=1e-8)
    assert_allclose(components.mean, anova.mean, rtol=1e-12)
    assert_allclose(components.standard_error, anova.standard_error, rtol=1e-8)
    assert_allclose(components.df, anova.df, rtol=1e-8)
    squares = anova.level_variance
    errors = 2 * squares**2 / anova.level_df
    errors[:-1] += 2 * (squares[1:] / shape[1:]) ** 2 / anova.level_df[1:]
    assert_allclose(components.variance_standard_error, np.sqrt(errors), rtol=1e-7)


def test_balanced_boundary_fits_pool_the_mean_squares():
    """A level whose mean square is below the next one's is pooled with it, weighted by df: the
    closed form of REML."""
    rng = np.random.default_rng(2)
    pooled = 0
    for _ in range(40):
        values = draw(rng, (5, 4, 3), (0.05, 0.05, 1.0))
        anova, components = nested_anova(values, 3), fit(values, confidence_level=None)
        expectations = anova.level_variance * [12, 3, 1]
        isotonic = isotonic_regression(expectations[::-1], weights=anova.level_df[::-1]).x[::-1]
        above = np.append(isotonic[1:], 0.0)
        assert_allclose(components.variance, (isotonic - above) / [12, 3, 1], rtol=1e-6, atol=1e-9)
        zero = components.variance == 0
        assert np.isnan(components.variance_standard_error[zero]).all()
        if zero[0]:
            assert_allclose(
                [components.standard_error, components.df], [anova.standard_error, anova.df]
            )
        pooled += zero.any()
    assert pooled > 10


def test_published_fit_and_profile_of_dyestuff():
    """Bates, "lme4: Mixed-effects modeling with R", chapter 1: ML components, and confint() of the
    standard deviations."""
    components = fit(DYESTUFF, restricted=False)
    assert_allclose(components.variance, [1388.3333, 2451.2500], rtol=1e-6)
    assert_allclose(
        np.sqrt([components.lower, components.upper]),
        [[12.197461, 38.229976], [84.063361, 67.657688]],
        rtol=1e-4,
    )
    restricted = fit(DYESTUFF)
    assert_allclose(restricted.variance, [1764.05, 2451.25], rtol=1e-6)
    assert_allclose(restricted.criterion, 319.6543, atol=1e-4)


def oracle_cases(golden):
    """Yield name, values (levels outermost first) and what R found."""
    for case in golden("varcomp_nested")["cases"]:
        data = case["input"]
        frame = pd.DataFrame(
            {"time": data["y"], **{name: data[name] for name in data["factors_high_to_low"]}}
        )
        names = {"binary": "A", "execution": "B"} if "B" in data else {"execution": "A"}
        times = frame.perf.to_timings(level="iteration", units="1", **names)["time"]
        yield case["name"], times.transpose(*names, "iteration").values, case["output"]


@pytest.mark.parametrize("method", ["REML", "ML"])
def test_lme4_of_r(golden, method):
    """golden/varcomp_nested: criterion 1e-6, variances 1e-4 (zero: 1e-4 of the total), intercept
    and SE 1e-5, df 1e-3."""
    for name, values, output in oracle_cases(golden):
        components, printed = fit(values, method == "REML"), output[f"lme4_{method}"]
        expected = np.array(
            [
                printed["variances"][key]
                for key in ("A", "A:B", "Residual")
                if key in printed["variances"]
            ]
        )
        assert_allclose(components.criterion, printed["criterion"], atol=1e-6, rtol=0, err_msg=name)
        zero = expected < 1e-6 * expected.sum()
        assert_allclose(components.variance[~zero], expected[~zero], rtol=1e-4, err_msg=name)
        assert (components.variance[zero] < 1e-4 * expected.sum()).all(), name
        assert_allclose(components.mean, printed["intercept"], rtol=1e-5, err_msg=name)
        assert_allclose(
            components.model_standard_error, printed["intercept_se"], rtol=1e-5, err_msg=name
        )
        assert zero[0] or components.standard_error == pytest.approx(
            printed["intercept_se"], rel=1e-5
        ), name
        if method == "REML" and not zero.any():
            assert_allclose(components.df, printed["satterthwaite"]["df"], rtol=1e-3, err_msg=name)


@pytest.mark.parametrize("seed", range(5))
def test_other_starting_points_lead_to_the_same_maximum(seed):
    """Starts spread over six orders of magnitude, and at the boundary, end where the default
    does."""
    rng = np.random.default_rng(seed)
    values = draw(rng, (7, 4, 3), (0.3, 0.2, 1.0), 0.3, cells=(20,))
    data = nested_statistics(values)
    maximum = maximise(data, np.ones((20, 3)), restricted=True)
    for start in (np.exp(rng.uniform(-7, 7, (20, 3))), np.tile([1.0, 0.0, 0.0], (20, 1))):
        restarted = maximise(data, start, restricted=True)
        assert restarted.converged.all()
        assert_allclose(restarted.likelihood.value, maximum.likelihood.value, rtol=1e-9)
        assert_allclose(restarted.variance, maximum.variance, rtol=1e-3, atol=1e-4)


def test_limits_lie_where_the_profile_crosses_the_cut():
    """Maximised over a grid of the other component, -2 log likelihood at a limit is 3.8415 above
    the minimum."""
    values = draw(np.random.default_rng(4), (6, 5), (2.0, 1.0), 0.2)
    components, at = fit(values), dense(values)
    bottom = at(components.variance[::-1])[1]
    for level, limits in enumerate(zip(components.lower, components.upper, strict=True)):
        variances = components.variance[1 - level] * np.exp(np.linspace(-0.5, 0.5, 401))
        for limit in limits:
            profile_minimum = min(
                at((variance, limit) if level == 0 else (limit, variance))[1]
                for variance in variances
            )
            assert_allclose(profile_minimum - bottom, 3.841459, atol=1e-4)


def test_lower_limit_is_zero_where_zero_is_within_the_cut():
    """A wider confidence level never narrows an interval."""
    values = draw(np.random.default_rng(5), (4, 3, 3), (0.1, 0.1, 1.0), 0.2, cells=(30,))
    narrow, wide = (
        fit(values, levels=3, confidence_level=0.8),
        fit(values, levels=3, confidence_level=0.99),
    )
    assert (narrow.lower[narrow.variance == 0] == 0).all()
    assert (wide.lower[:, :2] == 0).any()
    assert (wide.lower[:, 2] > 0).all()
    assert ((wide.lower <= narrow.lower) & (narrow.lower <= narrow.variance)).all()
    assert ((wide.upper > narrow.upper) & (narrow.upper > narrow.variance)).all()


def test_levels_with_one_repetition_belong_to_the_level_above():
    """They are NaN, wherever they stand, and the others are those of the nest without them."""
    values = draw(np.random.default_rng(6), (6, 4), (1.0, 1.0), 0.2)
    alone = fit(values)
    for shape, column in (((6, 1, 4), 1), ((6, 4, 1), 2), ((1, 6, 4), 0)):
        components = fit(values.reshape(shape))
        measured_columns = [i for i in range(3) if i != column]
        assert np.isnan(components.variance[column])
        assert_allclose(
            [components.variance[measured_columns], components.upper[measured_columns]],
            [alone.variance, alone.upper],
        )
    assert_allclose(components.mean, alone.mean)
    assert np.isnan(components.standard_error)  # one outermost unit


def test_cells_do_not_touch_each_other():
    """Ragged, complete, empty, constant, single-valued and still cells in one call give what they
    give alone."""
    rng = np.random.default_rng(7)
    cells = draw(rng, (4, 3, 3), (1.0, 1.0, 1.0), 0.2, cells=(9,))
    cells[1] = draw(rng, (4, 3, 3), (1.0, 1.0, 1.0))
    cells[2], cells[3] = np.nan, 7.0
    cells[4] = np.nan
    cells[4, 0, 0, 0] = 5.0
    cells[5] = cells[5, :, :, :1]
    cells[6, 1:] = np.nan
    together = fit(cells, levels=3)
    for i, cell in enumerate(cells):
        for name, field, alone in zip(RemlFit._fields, together, fit(cell), strict=True):
            assert_allclose(field[i], alone, rtol=1e-7, err_msg=f"{name} {i}")
    assert np.isnan(together.mean[2])
    assert together.variance[3].tolist() == [0, 0, 0]
    assert together.mean[4] == 5.0
    assert np.isnan([*together.variance[4], together.variance[6, 0]]).all()
    assert together.variance[6, 2] > 0


def test_iterations_that_repeat_exactly_leave_the_executions():
    """A lowest level without any spread is zero with limits of zero; the levels above are fitted to
    its means."""
    means = draw(np.random.default_rng(8), (5, 4), (1.0, 1.0), 0.1)
    components, alone = fit(np.repeat(means[..., None], 3, axis=-1)), fit(means)
    assert_allclose(components.variance, [*alone.variance, 0.0], rtol=1e-7)
    assert_allclose(components.upper, [*alone.upper, 0.0], rtol=1e-5)
    assert np.isneginf(components.criterion)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_components_survive_a_large_mean(offset):
    """Only differences count, as far as the values hold them."""
    values = draw(np.random.default_rng(9), (6, 4, 3), (1.0, 1.0, 1.0), 0.2, mean=0.0)
    stored = (values + offset) - offset
    assert_allclose(fit(values + offset).variance, fit(stored).variance, rtol=1e-5)


def test_components_of_very_different_size():
    """An outermost component 1e6 or 1e10 times the others leaves them alike; a tiny one is no
    trouble either."""
    rng = np.random.default_rng(10)
    noise, top = draw(rng, (6, 3, 3), (0.0, 1.0, 1.0), 0.1), rng.normal(size=(6, 1, 1))
    large, larger, tiny = (fit(noise + scale * top) for scale in (1e3, 1e5, 1e-3))
    assert large.converged & larger.converged & tiny.converged
    assert_allclose(large.variance[1:], larger.variance[1:], rtol=1e-4)
    assert_allclose(larger.variance[0], 1e10 * top.var(ddof=1), rtol=1e-3)
    for scale, components in ((1e3, large), (1e-3, tiny)):
        assert_allclose(
            components.criterion,
            dense(noise + scale * top)(components.variance[::-1])[1],
            rtol=1e-9,
        )


def test_blocks_do_not_change_the_answer(monkeypatch):
    values = draw(np.random.default_rng(11), (5, 3, 4), (1.0, 0.5, 1.0), 0.2, cells=(7,))
    together = fit(values, levels=3)
    monkeypatch.setattr("perfarray.variation.numerics.reml.ENTRIES", 1)
    assert_allclose(fit(values, levels=3).upper, together.upper, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("units", [3, 5, 10, 30])
@pytest.mark.parametrize(("inside", "truth"), [((4, 4), (1.0, 0.5, 2.0)), ((6,), (1.0, 1.0))])
def test_coverage_on_ragged_nests(units, inside, truth):
    """A quarter of the values missing: profile intervals of nominal 95 % cover 94 to 98.6 %, below
    96 from five units on, t of the mean 95.

    Each within three Monte Carlo errors.
    """
    count = experiments(4000)
    error = 3 * np.sqrt(0.05 * 0.95 / count)
    components = fit(
        draw(np.random.default_rng(12), (units, *inside), truth, 0.25, cells=(count,)),
        levels=len(truth),
    )
    assert components.converged.all()
    covered = ((components.lower <= truth) & (truth <= components.upper)).mean(axis=0)
    lowest, highest = (
        max(0.93, 0.94 - error),
        min(*((0.99, 0.986 + error) if units < 5 else (0.97, 0.96 + error))),
    )
    assert ((covered > lowest) & (covered < highest)).all(), covered
    within = components.variance[:, -1]
    assert abs(within.mean() - truth[-1]) < 4 * within.std() / np.sqrt(len(within))
    inside = (
        np.abs(components.mean - 10.0) < stdtrit(components.df, 0.975) * components.standard_error
    )
    assert inside.mean() == pytest.approx(0.95, abs=min(error, 0.015))
