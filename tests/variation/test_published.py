"""Plans from components that are given: published ones, and those of `variance_components`."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import perfarray
from perfarray import from_components, plan_repetitions
from strategies import experiments

NEST = ("binary", "execution", "iteration")


def components(**keywords):
    return from_components(
        {"binary": 0.02**2, "execution": 0.03**2, "iteration": 0.01**2}, **keywords
    )


@pytest.mark.parametrize(("hours", "column"), [(3, 0), (6, 1), (9, 2)])
def test_table_7_is_one_call(golden, hours, column):
    """Kalibera and Jones, tables VII and VIII: the default's column is the printed one, and a plan
    is no wider than their counts make it.

    The fixture's half-widths are R's, from the printed Table VII. A printed cell of the default
    differs from them by its own rounding and that of three standard deviations to a tenth; TCP's
    are cut, not rounded.
    """
    rows = golden("kj_table8")["rows"]
    components = np.array([row["T_nominal_variance"][::-1] for row in rows])
    names = {"benchmark": [row["benchmark"] for row in rows]}
    components_by_level = {
        level: xr.DataArray(values, names, "benchmark")
        for level, values in zip(NEST, components.T, strict=True)
    }
    seconds = np.array([row["inputs"]["seconds_per_measurement"] for row in rows])
    prices = np.array([[row["inputs"]["c2"], row["inputs"]["c1"], 1.0] for row in rows])
    costs = dict(zip(NEST, seconds * prices.T, strict=True))
    plan = plan_repetitions(
        from_components(components_by_level),
        costs=costs,
        budget=hours * 3600,
        cost_units="s",
        assurance=None,
        min_units=2,
    )
    np.testing.assert_allclose(
        plan["default_half_width"], [row["default_half_width"][column] for row in rows], rtol=1e-9
    )
    assert (
        plan["half_width"] <= [row["our_half_width"][column] * (1 + 1e-9) for row in rows]
    ).all()
    printed = np.array([row["paper"]["default"][column] for row in rows])
    n = np.array([row["default_n"][column] for row in rows])
    rounding = 0.05 + scipy.stats.t.ppf(0.975, n - 1) / np.sqrt(n) * 0.05 * np.sqrt(3)
    cut = np.array([row["benchmark"] == "TCP" for row in rows]) * 0.05
    assert (abs(plan["default_half_width"] - printed) <= rounding + cut).all()


def test_known_variances_leave_only_chance():
    """The median half-width is that of a chi-square; both limits are the half-width itself, and no
    pilot is counted."""
    plan = plan_repetitions(components(), costs={"binary": 50, "execution": 5}, budget=2000)
    n, executions, iterations = plan["repetitions"].values
    variance = 0.02**2 + 0.03**2 / executions + 0.01**2 / (executions * iterations)
    median = scipy.stats.chi2.median(n - 1) / (n - 1)
    assert plan["half_width"].item() == pytest.approx(
        scipy.stats.t.ppf(0.975, n - 1) * math.sqrt(variance * median / n), rel=1e-5
    )
    for name in ("half_width_lower", "half_width_upper"):
        assert plan[name].item() == pytest.approx(plan["half_width"].item())
    for name in ("already", "more", "n", "more_half_width"):
        assert plan[name].isnull().all()
    assert "notes" not in plan.attrs


def test_the_mean_makes_them_relative():
    """Components in squared units and their mean; in seconds an iteration costs its mean time."""
    scaled = from_components(
        {"binary": 1.0, "execution": 2.25, "iteration": 0.25}, mean=50.0, units="s"
    )
    assert scaled["variance"].attrs["units"] == "s2"
    plain = plan_repetitions(components(), costs={"binary": 50, "execution": 5}, half_width=0.01)
    seconds = plan_repetitions(
        scaled, costs={"binary": 2500, "execution": 250}, half_width=0.01, cost_units="s"
    )
    np.testing.assert_array_equal(plain["repetitions"], seconds["repetitions"])
    assert seconds["cost"].item() == pytest.approx(50 * plain["cost"].item())


@pytest.mark.parametrize("variances", ["unbiased", "biased"])
def test_what_variance_components_returned(variances):
    sizes = {"binary": 12, "execution": 5, "iteration": 4}
    times = perfarray.simulate(
        sizes=sizes, variances=dict.fromkeys(NEST, 4e-4), dims={"benchmark": 3}, rng=4
    )
    components = times.perf.variance_components()
    assert (components["variance"] > 0).all()
    keywords = {"costs": {"binary": 50.0, "execution": 5.0}, "budget": 4000, "variances": variances}
    ours, theirs = (
        components.perf.plan_repetitions(**keywords),
        times.perf.plan_repetitions(**keywords),
    )
    for name in theirs.data_vars:
        if theirs[name].dtype.kind == "f":
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-9)


def test_lazy_components():
    pytest.importorskip("dask")
    variance = xr.DataArray(np.full(4, 4e-4), dims="benchmark")
    components = from_components({"binary": variance, "iteration": variance * 2})
    lazy = plan_repetitions(components.chunk(benchmark=2), costs={"binary": 10}, budget=500)
    assert lazy.chunks
    xr.testing.assert_allclose(
        lazy.compute()["repetitions"],
        plan_repetitions(components, costs={"binary": 10}, budget=500)["repetitions"],
    )


def pilot(rng, *outer, units=6, **dims):
    """A pilot of executions and iterations, or of what is outside them as well."""
    nest = (*outer, "execution", "iteration")
    sizes = dict(zip(nest, (units, 4, 5)[-len(nest) :], strict=True))
    return perfarray.simulate(sizes=sizes, variances=dict.fromkeys(nest, 4e-4), rng=rng, **dims)


def test_pilots_of_several_days():
    """What two days have in common inside them is what a nest with sessions finds; a slower day
    counts relative to its mean."""
    first, second = pilot(1), pilot(2)
    slower = (second * 3).assign(
        time=lambda dataset: dataset["time"].assign_attrs(second["time"].attrs)
    )
    pooled = from_components([first.perf.variance_components(), slower.perf.variance_components()])
    joined = perfarray.join(
        first / first["time"].mean(), second / second["time"].mean(), along="session"
    ).perf.variance_components()
    relative = pooled["variance"] / pooled["mean"] ** 2
    np.testing.assert_allclose(
        relative, joined["variance"].sel(level=["execution", "iteration"]), rtol=1e-9
    )
    np.testing.assert_allclose(
        pooled["level_variance"] / pooled["mean"] ** 2, joined["level_variance"][1:], rtol=1e-9
    )
    assert pooled["df"].item() == 2 * (first.sizes["execution"] - 1)
    assert pooled["mean"].item() == pytest.approx(
        (first["time"].mean() + 3 * second["time"].mean()).item() / 2
    )


def test_pooled_pilots_promise_more():
    """Both know the same variance: the plan from two is surer, and none of their runs count towards
    it."""
    components = pilot(1).perf.variance_components()
    keywords = {"costs": {"execution": 5}, "half_width": 0.01, "assurance": 0.9}
    alone, two_pilots = (
        plan_repetitions(pilots, **keywords)
        for pilots in (components, from_components([components, components]))
    )
    np.testing.assert_allclose(
        from_components([components, components])["variance"], components["variance"], rtol=1e-12
    )
    assert two_pilots["repetitions"][0] < 0.8 * alone["repetitions"][0]
    assert two_pilots[["n", "more"]].isnull().to_array().all()


def test_a_benchmark_of_one_pilot_rests_on_it():
    """It is not dropped; a pilot of one unit knows nothing of the level, and does not count."""
    two_benchmarks = pilot(1, dims={"benchmark": ["fft", "lu"]}).perf.variance_components()
    one_benchmark = pilot(2).expand_dims(benchmark=["lu"]).perf.variance_components()
    pooled = from_components([two_benchmarks, one_benchmark])
    assert pooled["df"].sel(benchmark=["fft", "lu"]).values.tolist() == [3.0, 6.0]
    np.testing.assert_allclose(
        pooled["variance"].sel(benchmark="fft"),
        two_benchmarks["variance"].sel(benchmark="fft"),
        rtol=1e-12,
    )
    with pytest.warns(perfarray.PerfarrayWarning, match="one execution"):
        single_execution = pilot(3).isel(execution=[0]).perf.variance_components()
    pooled_with_single = from_components([one_benchmark, single_execution])
    assert pooled_with_single["df"].item() == 3.0
    relative = [
        (components["variance"].sel(level="execution") / components["mean"] ** 2).item()
        for components in (pooled_with_single, one_benchmark)
    ]
    assert relative[0] == pytest.approx(relative[1])


def test_components_of_both_systems():
    new, old = pilot(1, "binary", units=12), pilot(2, "binary", units=12)
    keywords = {"costs": {"binary": 50.0, "execution": 5.0}, "half_width": 0.01}
    plan = plan_repetitions(
        new.perf.variance_components(), old.perf.variance_components(), **keywords
    )
    expected = plan_repetitions(new, old, **keywords)
    for name in ("repetitions", "cost", "half_width", "half_width_upper", "n", "more"):
        np.testing.assert_allclose(plan[name], expected[name], rtol=1e-9)


@pytest.mark.parametrize("turned", [False, True])
def test_a_system_without_builds(turned):
    """An interpreter's binary neither varies nor costs anything: its share of the variance is that
    of its executions."""
    compiled, interpreted = (
        components(),
        from_components({"execution": 0.03**2, "iteration": 0.01**2}),
    )
    systems = (interpreted, compiled) if turned else (compiled, interpreted)
    keywords = {"costs": {"binary": 50, "execution": 5}, "half_width": 0.01, "assurance": None}
    plan = plan_repetitions(*systems, **keywords)
    n, executions, iterations = plan["repetitions"].values
    variance = 0.02**2 + 2 * (0.03**2 / executions + 0.01**2 / (executions * iterations))
    assert plan["half_width"].item() == pytest.approx(
        scipy.stats.t.ppf(0.975, n - 1) * math.sqrt(variance / n)
    )
    assert plan["cost"].item() == n * (50 + 2 * executions * (5 + iterations))


def test_prices_of_each_side():
    """No whole plan of two nests is cheaper, at the mean of their prices: both run the same
    counts."""
    interpreted = from_components({"execution": 0.04**2, "iteration": 0.02**2})
    costs = {"binary": 50, "execution": (5 + 200) / 2, "iteration": (1 + 3) / 2}
    plan = plan_repetitions(components(), interpreted, costs=costs, half_width=0.02, assurance=None)
    lowest_cost = math.inf
    for executions, iterations in itertools.product(range(1, 8), range(1, 30)):
        variance = (
            0.02**2
            + (0.03**2 + 0.04**2) / executions
            + (0.01**2 + 0.02**2) / (executions * iterations)
        )
        units = np.arange(5, 100)
        n = units[scipy.stats.t.ppf(0.975, units - 1) * np.sqrt(variance / units) <= 0.02][0]
        lowest_cost = min(
            lowest_cost,
            n * (50 + executions * (5 + iterations) + executions * (200 + 3 * iterations)),
        )
    assert plan["cost"].item() == lowest_cost


@pytest.mark.parametrize(
    ("systems", "costs", "variances_of_sides"),
    [
        (((4e-4, 9e-4, 1e-4), (16e-4, 4e-4)), (50, 5), (200, 3)),
        (((4e-4, 1e-4, 1e-4), (4e-4, 60e-4, 4e-4)), (5, 50), (200, 3)),
    ],
)
def test_a_plan_of_two_nests_keeps_its_word(systems, costs, variances_of_sides):
    """Carried out, four of five experiments are as narrow as promised, where the units of one side
    vary much more than its builds."""
    systems = [dict(zip(NEST[-len(values) :], values, strict=True)) for values in systems]
    binary, execution = costs
    prices = {
        "binary": binary,
        "execution": (execution + variances_of_sides[0]) / 2,
        "iteration": (1 + variances_of_sides[1]) / 2,
    }
    plan = plan_repetitions(
        *map(from_components, systems), costs=prices, half_width=0.02, assurance=0.8
    )
    sizes = dict(zip(NEST, plan["repetitions"].values.astype(int).tolist(), strict=True))
    variances = [dict.fromkeys(NEST, 0.0) | variances_of_side for variances_of_side in systems]
    sides = [
        perfarray.simulate(
            sizes=sizes, variances=variances_of_side, dims={"experiment": 1000}, rng=seed
        )
        for seed, variances_of_side in enumerate(variances)
    ]
    interval = perfarray.ratio_interval(*sides)
    is_precise = (interval["upper"] - interval["lower"]) / 2 / interval["estimate"] <= 0.02
    assert is_precise.mean().item() == pytest.approx(0.8, abs=3.5 * math.sqrt(0.16 / 1000))


def test_prices_of_each_label():
    """An array over the dim compared has the prices of both; of one number of builds for both
    systems, the mean of the prices plans the same."""
    sizes, dims = (
        {"binary": 5, "execution": 3},
        {"benchmark": ["fft", "lu"], "version": ["new", "old"]},
    )
    pilots = perfarray.simulate(
        sizes=sizes, variances=dict.fromkeys(sizes, 4e-4), dims=dims, rng=1
    )["time"]
    new, old = (pilots.sel(version=name, drop=True) for name in ("new", "old"))
    array = xr.DataArray([50.0, 9.0], dims="version", coords={"version": ["new", "old"]})
    labelled = plan(pilots, "old", dim="version", costs={"binary": array}, half_width=0.01)
    mean = plan(new, old, costs={"binary": 29.5}, half_width=0.01)
    for name in ("repetitions", "cost", "half_width"):
        expected = labelled[name].squeeze("version", drop=True)
        np.testing.assert_allclose(mean[name].transpose(*expected.dims), expected, rtol=1e-12)
    suite = perfarray.plan_suite(pilots, "old", costs={"binary": array}, budget=2000.0)
    builds = [
        suite[name].isel(level=0, benchmark=0).item()
        for name in ("repetitions", "baseline_repetitions")
    ]
    paid = 50.0 * builds[0] + 9.0 * builds[1] + suite["seconds"].sum().item()
    assert suite["cost"].item() == pytest.approx(paid)


def plan(*systems, costs=None, **keywords):
    return plan_repetitions(*systems, costs=costs or {}, **keywords)


def only(level):
    return from_components({level: 1.0})


def labelled(benchmark):
    return components().expand_dims(benchmark=[benchmark])


BOTH = {"binary": 1, "execution": 1}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_components({}), "give a mapping of levels to variances"),
        (lambda: from_components({"binary": -1.0}), r"components\['binary'\] holds -1 to -1"),
        (lambda: from_components({"binary": np.inf}), "zero or more, and finite"),
        (
            lambda: from_components({"binary": 1.0}, mean=0),
            "give the mean of the timings, not zero",
        ),
        (lambda: from_components([]), "or a list of what variance_components"),
        (
            lambda: from_components([pilot(1).perf.variance_components()], units="s"),
            "pilots have their own",
        ),
        (
            lambda: from_components([components()]),
            "have negative 'unknown'; pooling needs the estimates themselves",
        ),
        (
            lambda: from_components(
                [pilots.perf.variance_components() for pilots in (pilot(1), pilot(2, "binary"))]
            ),
            "needs the same nest",
        ),
        (lambda: plan(components(), "old"), "planned with those of a baseline, not str"),
        (lambda: plan(components(), only("session")), "one nest is no part of the other"),
        (
            lambda: plan(*map(labelled, ("fft", "lu"))),
            "different labels along 'benchmark': 'fft' and 'lu'",
        ),
        (lambda: plan(pilot(1, "binary"), pilot(2)), "plan from the components of both"),
        (
            lambda: plan(components(), costs={"binary": 1}, budget=100),
            "costs= has no price for 'execution'",
        ),
        (lambda: plan(components(), costs=BOTH, budget=100, variances="biased"), "do not tell"),
        (lambda: plan(components(), costs=BOTH, budget=3), "the least budget is 15"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("target", [{"half_width": 0.01}, {"budget": 10000}])
def test_a_ratio_has_the_degrees_of_freedom_of_the_units_that_are_planned(target):
    """Satterthwaite's for the variances of both sides at the planned counts; the median half-width
    is t at the median chi-square."""
    rng = np.random.default_rng(1)
    for number in range(experiments(64)):
        levels = NEST[: 2 + number % 2]
        sides = [
            dict(zip(levels, 10 ** rng.uniform(-6, -3, len(levels)), strict=True)) for _ in range(2)
        ]
        components = [from_components(side) for side in sides]
        costs = dict(zip(levels[:-1], 10 ** rng.uniform(0, 2.5, len(levels) - 1), strict=True))
        plan = plan_repetitions(*components, costs=costs, **target)
        counts = plan["repetitions"].values
        inside = np.cumprod([1.0, *counts[1:]])
        new_variance, two = (sum(np.array(list(side.values())) / inside) for side in sides)
        df = (new_variance + two) ** 2 / ((new_variance**2 + two**2) / (counts[0] - 1))
        expected = scipy.stats.t.ppf(0.975, df) * np.sqrt(
            (new_variance + two) * scipy.stats.chi2.ppf(0.5, df) / df / counts[0]
        )
        assert plan["half_width"].item() == pytest.approx(expected, rel=1e-5)
        assert "budget" in target or plan["half_width"].item() <= 0.01 * (1 + 1e-6)
