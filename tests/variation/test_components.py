"""Variance components with labels: what is returned, by every method; units, intervals, messages,
laws, files."""

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

import perfarray
from perfarray.numerics.nested_anova import nested_anova
from perfarray.variation import components
from perfarray.variation.numerics.component_intervals import anova_limits

LEVELS = ("binary", "execution", "iteration")
TABLE_3 = xr.DataArray(
    [[[9, 5], [8, 3]], [[10, 6], [7, 11]], [[1, 12], [2, 4]]], dims=LEVELS, name="time"
)
each_method = pytest.mark.parametrize("method", ["anova", "reml", "ml"])


def timings(missing=0.0, benchmarks=3, seed=0):
    sizes, variances = (
        dict(zip(LEVELS, values, strict=True)) for values in ((6, 4, 5), (0.02, 0.02, 0.04))
    )
    simulated = perfarray.simulate(
        sizes=sizes, variances=variances, dims={"benchmark": benchmarks}, rng=seed
    )["time"]
    gaps = np.random.default_rng(seed).random(simulated.shape) < missing
    return simulated.where(~gaps).assign_attrs(simulated.attrs)


def assert_same_components(result: xr.Dataset, expected: xr.Dataset, rtol=1e-6) -> None:
    assert list(result.data_vars) == list(expected.data_vars)
    for name, variable in result.data_vars.items():
        values = expected[name].transpose(*variable.dims).values
        if variable.dtype == object:
            assert variable.values.tolist() == values.tolist()
        else:
            assert_allclose(variable.values, values, rtol=rtol, atol=1e-12, err_msg=str(name))


@each_method
def test_variables_dims_units_and_attrs(method):
    """Squared units for what is a variance; the criterion with likelihood methods only; attrs are
    text and numbers."""
    fit = timings(0.1).perf.variance_components(method=method, confidence_level=0.9)
    for name in ("variance", "lower", "upper", "variance_standard_error", "level_variance"):
        assert fit[name].dims == ("benchmark", "level")
        assert fit[name].attrs["units"] == "s2"
    assert fit["mean"].dims == ("benchmark",)
    assert fit["standard_error"].attrs["units"] == "s"
    assert ("criterion" in fit) == (method != "anova")
    assert fit["level"].values.tolist() == list(LEVELS)
    assert fit["merged"].dtype == bool
    assert fit.attrs["method"] == method
    assert fit.attrs["confidence_level"] == 0.9
    assert fit.attrs["interval_method"].startswith(
        "chi-square" if method == "anova" else "profile likelihood"
    )
    assert all(
        isinstance(value, str | int | float) and not isinstance(value, bool)
        for value in fit.attrs.values()
    )


def test_balanced_reml_is_anova_with_other_intervals():
    """Where no component is negative, REML repeats the analysis of variance; the intervals are near
    each other and contain it.

    Where the outermost component is zero, standard error and df are those of the means of the
    units.
    """
    times = timings()
    anova, reml = times.perf.variance_components(), times.perf.variance_components(method="reml")
    assert (anova["variance"] > 0).all()
    for name in (
        "variance",
        "variance_standard_error",
        "mean",
        "standard_error",
        "df",
        "coefficient_of_variation",
    ):
        assert_allclose(reml[name], anova[name], rtol=1e-6, err_msg=name)
    for fit in (anova, reml):
        assert ((fit["lower"] < fit["variance"]) & (fit["variance"] < fit["upper"])).all()
    assert_allclose(reml["upper"].isel(level=2), anova["upper"].isel(level=2), rtol=0.05)
    for name in ("level_variance", "repetitions", "merged"):
        assert_allclose(reml[name], anova[name], rtol=1e-12)
    times = xr.DataArray(
        [[1.0, 9.0, 2.0], [9.0, 1.0, 5.0], [1.0, 9.1, 4.0]], dims=("execution", "iteration")
    )
    fit, anova = (
        times.perf.variance_components(method="reml"),
        times.perf.variance_components(),
    )
    assert fit["variance"].sel(level="execution") == 0
    assert_allclose([fit["standard_error"], fit["df"]], [anova["standard_error"], anova["df"]])


def test_ragged_anova_has_intervals_of_every_level():
    """They contain the estimates of both methods; the standard error is known for the lowest level
    alone."""
    times = timings(0.2).transpose("benchmark", *LEVELS)
    anova, reml = times.perf.variance_components(), times.perf.variance_components(method="reml")
    estimate = anova["variance"].clip(min=0)
    assert ((anova["lower"] <= estimate) & (estimate < anova["upper"])).all()
    limits = anova_limits(times.values, nested_anova(times.values, 3), 0.95)
    assert_allclose(anova["upper"], limits.upper, rtol=1e-12)
    assert ((anova["lower"] <= reml["variance"]) & (reml["variance"] < anova["upper"])).all()
    assert anova["variance_standard_error"].isel(level=[0, 1]).isnull().all()
    assert "unweighted means" in anova.attrs["interval_method"]


@pytest.mark.filterwarnings("ignore:1 of 3 cells have no measured value")
def test_shares_and_the_whole_coefficient_of_variation():
    """Table III: components 2.25, -5.67 and 16.5 of a mean of 7; a negative one is none, and one
    that is NaN has no share.

    16.5 between iterations has 6 degrees of freedom: its limits are 6 x 16.5 over chi-square
    quantiles, 14.449 and 1.2373.
    """
    constant = TABLE_3.isel(binary=[0, 0, 0], execution=[0, 0], iteration=[0, 0])
    fit = xr.concat([TABLE_3, constant, TABLE_3 * np.nan], "cell").perf.variance_components()
    between, _, within = fit["variance"].isel(cell=0).values
    assert_allclose(
        fit["share"],
        [
            [between / (between + within), 0, within / (between + within)],
            [np.nan] * 3,
            [np.nan] * 3,
        ],
    )
    assert_allclose(
        fit["total_coefficient_of_variation"],
        [np.sqrt(between + within) / fit["mean"].values[0], 0, np.nan],
    )
    within = fit.isel(cell=0).sel(level="iteration")
    assert_allclose([within["lower"], within["upper"]], [99 / 14.44938, 99 / 1.237344], rtol=1e-6)
    merged = TABLE_3.perf.variance_components(negative="merge")
    assert_allclose(merged["share"].sum(), 1)
    assert np.isnan(merged["share"].values[1])
    published = perfarray.from_components(
        {"binary": 9.0, "execution": np.nan, "iteration": 16.0}, mean=100.0
    )
    assert_allclose(published["share"], [0.36, np.nan, 0.64])
    assert published["total_coefficient_of_variation"].item() == pytest.approx(0.05)


def test_negative_concerns_the_analysis_of_variance_only():
    """Zero sets a component and its standard error aside; likelihood methods give the same whatever
    is asked."""
    zero = TABLE_3.perf.variance_components(negative="zero").sel(level="execution")
    assert zero["variance"] == 0
    assert np.isnan(zero["variance_standard_error"])
    assert zero["upper"] > 0
    answers = [
        TABLE_3.perf.variance_components(method="reml", negative=negative)
        for negative in ("keep", "zero", "merge")
    ]
    for answer in answers:
        assert answer["variance"].sel(level="execution") == 0
        assert not answer["merged"].any()
        assert_same_components(answers[0], answer)


@each_method
def test_one_cell_in_trouble_is_counted_in_one_warning(method):
    """Empty, single-valued and constant benchmarks stand beside the others, which keep their
    numbers."""
    times = timings(0.1, benchmarks=5)
    times[1], times[2], times[3, 1:] = np.nan, 3.0, np.nan
    with pytest.warns(
        UserWarning, match="1 of 5 cells have no measured value. Their answers are NaN"
    ) as caught:
        fit = times.perf.variance_components(method=method)
    assert len(caught) == 1
    assert fit["variance"].isel(benchmark=1).isnull().all()
    assert fit["variance"].isel(benchmark=2).values.tolist() == [0, 0, 0]
    assert fit["upper"].isel(benchmark=2, level=2) == 0
    assert np.isnan(
        [
            fit["variance"].isel(benchmark=3, level=0),
            fit["standard_error"].isel(benchmark=3),
        ]
    ).all()
    alone = times.isel(benchmark=[0, 4]).perf.variance_components(method=method)
    assert_same_components(alone, fit.isel(benchmark=[0, 4]))


@pytest.mark.parametrize(
    ("limit", "message", "lost"),
    [
        (
            "MOST_STEPS",
            "3 of 3 cells have no maximum of the likelihood, or no limits.*method='anova'",
            ["variance", "mean"],
        ),
        (
            "MOST_CROSSINGS",
            (
                "3 of 3 cells have no maximum of the likelihood, or no limits of its profile: "
                "these are NaN"
            ),
            [],
        ),
    ],
)
def test_what_is_not_found_is_counted(limit, message, lost, monkeypatch):
    """Without a maximum nothing is known; without a limit the components are."""
    monkeypatch.setattr(f"perfarray.variation.numerics.maximum.{limit}", 1)
    with pytest.warns(UserWarning, match=message):
        fit = timings(0.4).perf.variance_components(method="reml")
    for name in ("variance", "mean"):
        assert (fit[name].isnull() == (name in lost)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "bayes"}, r"method='bayes' is not known; choose one of 'anova', 'reml', 'ml'"),
        (
            {"negative": "drop"},
            r"negative='drop' is not known; choose one of 'keep', 'zero', 'merge'",
        ),
        (
            {"confidence_level": 95},
            r"confidence_level=95 is out of range; give a number between 0 and 1",
        ),
        ({"confidence_level": "high"}, r"confidence_level='high' is not a number"),
        ({"levels": ("binary", "executions")}, r"level 'executions' not found; the array has dims"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        timings().perf.variance_components(**arguments)


@each_method
def test_units_orders_and_groups_do_not_matter(method):
    """Variances and their limits grow as the square of the unit; shuffled, transposed or in groups
    nothing changes."""
    times = timings(0.1)
    fit = times.perf.variance_components(method=method)
    scaled = (1000 * times).perf.variance_components(method=method)
    for name, units in (
        (name, fit[name].attrs.get("units")) for name in fit.data_vars if name != "criterion"
    ):
        scaled[name] = (
            scaled[name] / {"s": 1e3, "s2": 1e6}[units] if units in ("s", "s2") else scaled[name]
        )
    assert_same_components(
        fit.drop_vars("criterion", errors="ignore"),
        scaled.drop_vars("criterion", errors="ignore"),
        rtol=1e-5,
    )
    rng = np.random.default_rng(1)
    shuffled = times.isel({dim: rng.permutation(times.sizes[dim]) for dim in LEVELS})
    for variant in (shuffled, times.transpose(*reversed(times.dims))):
        assert_same_components(fit, variant.perf.variance_components(method=method))
    assert_same_components(
        fit,
        times.groupby("benchmark").map(lambda group: group.perf.variance_components(method=method)),
    )


def test_the_note_on_uneven_effects_starts_at_three():
    """Mean squares that vary three times as much as those of normal values, in more cells than
    chance makes."""
    times = perfarray.simulate(
        sizes={"execution": 12, "iteration": 3},
        variances={"execution": 1e-4},
        dims={"benchmark": 20},
        rng=1,
    )
    fitted, no_cell = times.perf.variance_components(), np.zeros(20, dtype=bool)
    notes = [
        components._normal_limits_note(
            fitted.assign(unevenness=xr.full_like(fitted["unevenness"], value)),
            no_cell,
            "executions",
        )
        for value in (2.9, 3.0)
    ]
    assert notes[0] is None
    assert notes[1].code == "uneven"


def test_the_standard_error_of_a_difference_by_hand():
    """Of x - y with mean squares x and y = S_1^2 / n_1: the squares of both, twice, over their
    degrees of freedom."""
    fit = timings().isel(binary=0, benchmark=0).perf.variance_components()
    above, below = (
        fit["level_variance"].values[0],
        fit["level_variance"].values[1] / 5,
    )
    expected = np.sqrt(2 * above**2 / 3 + 2 * below**2 / 16)  # 4 executions of 5 iterations
    assert_allclose(fit["variance_standard_error"].values[0], expected, rtol=1e-12)
