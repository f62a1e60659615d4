"""plan_suite where benchmarks share no units: pyperf and JMH, which know no builds."""

import json

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import perfarray
from perfarray import plan_repetitions, plan_suite
from perfarray.variation.numerics.allocation import Goal
from perfarray.variation.numerics.assurance import nodes
from perfarray.variation.numerics.forests import continuous, side_by_side, tree
from perfarray.variation.numerics.plans import planned_again
from perfarray.variation.numerics.whole_counts import whole_counts
from readers.files_of_our_own import bench, entry, run, suite, write
from strategies import experiments

COSTS = {"execution": 5.0, "iteration": 1.0}
TOP, LOW = np.array([1e-4, 4e-4, 9e-4]), np.array([9e-4, 1e-4, 4e-4])


WEIGHTS = {"equal": [0.7, 0.7, 0.7], "two": [1, 1, 0], "last": {"c": 8, "a": 1, "b": 1}}


def pilots(number=1, units=6, iterations=5, seed=1):
    rng = np.random.default_rng(seed)
    effects = rng.standard_normal((number, 3, units, 1)) * TOP[:, None, None] ** 0.5
    noise = rng.standard_normal((number, 3, units, iterations)) * LOW[:, None, None] ** 0.5
    dims = ("suite", "benchmark", "execution", "iteration")
    return xr.DataArray(
        1 + effects + noise,
        dims=dims,
        coords={"benchmark": list("abc")},
        name="time",
        attrs={"units": "s"},
    )


def chains(variance, cost):
    return side_by_side(
        [
            tree(np.array([a[:1], d[:1]]), np.array([[a[1:]], [d[1:]]]))
            for a, d in zip(variance, cost, strict=True)
        ]
    )


def planned(times, **keywords):
    return plan_suite(times, costs=COSTS, **keywords)


def test_each_benchmark_has_its_own_executions():
    """The budget is all they share, and is not exceeded; the attrs say that benchmarks were taken
    as independent."""
    plan = planned(pilots()[0], budget=600.0)
    executions, iterations = plan["repetitions"].values.T
    assert len(set(executions)) > 1
    assert plan["cost"].item() == pytest.approx((executions * (5 + iterations)).sum())
    np.testing.assert_allclose(plan["seconds"], executions * (5 + iterations))
    assert 0.98 * 600 < plan["cost"].item() <= 600
    assert plan.attrs["benchmarks"] == "independent (assumed)"
    assert "shared" not in plan.attrs


@pytest.mark.parametrize("shared", [None, "execution"])
def test_weights_of_benchmarks(shared):
    """One that counts more is run more, one that does not count not at all; equal weights change no
    digit."""
    times = pilots()[0]
    plans = {
        name: planned(times, budget=600.0, shared=shared, weights=weights)
        for name, weights in WEIGHTS.items()
    }
    plain = planned(times, budget=600.0, shared=shared)
    assert plans["equal"].equals(plain)
    assert plans["two"].equals(planned(times[:2], budget=600.0, shared=shared))
    runs = [plan["repetitions"].prod("level").sel(benchmark="c") for plan in (plain, plans["last"])]
    assert runs[1] > runs[0]
    assert "weights" not in plain.attrs
    assert json.loads(plans["last"].attrs["weights"]) == {"a": 0.1, "b": 0.1, "c": 0.8}
    with pytest.raises(ValueError, match="weights are missing or negative for 'b', 'c'"):
        planned(times, budget=600.0, shared=shared, weights={"a": 1})


def test_the_order_of_benchmarks_changes_no_promise():
    """Neither counts nor half-width: what is drawn to make the promise hangs on no order."""
    times = pilots()[0]
    turned = planned(times[[2, 0, 1]], budget=600.0).sel(benchmark=times["benchmark"])
    for name in ("repetitions", "half_width"):
        xr.testing.assert_allclose(planned(times, budget=600.0)[name], turned[name], rtol=1e-9)


def test_none_and_an_empty_tuple_mean_none():
    """As the default does where there are no builds; with builds they plan builds for each
    benchmark, which is never better."""
    plan = planned(pilots()[0], budget=600.0)
    for shared in (None, ()):
        xr.testing.assert_identical(planned(pilots()[0], budget=600.0, shared=shared), plan)
    sizes, variances = {"binary": 20, "execution": 5}, {"binary": 4e-4, "execution": 4e-4}
    times = perfarray.simulate(sizes=sizes, variances=variances, dims={"benchmark": 3}, rng=2)
    ask = {"costs": {"binary": 60.0, "execution": 1.0}, "budget": 4000.0}
    separate, together = plan_suite(times, **ask, shared=None), plan_suite(times, **ask)
    assert together["half_width"] < separate["half_width"]


@pytest.mark.parametrize("seed", range(5))
def test_whole_counts_are_near_the_continuous_optimum(seed):
    """Eight chains of three levels: at most 5 % more variance than counts that need not be whole,
    and every count at least 1."""
    rng = np.random.default_rng(seed)
    a, d = (
        rng.uniform(0, 4, (8, 3)) ** 2,
        np.column_stack([rng.uniform(1, 50, 8), rng.uniform(1, 5, 8), rng.uniform(0.1, 2, 8)]),
    )
    forest = chains(a, d)
    budget = 20 * float(d.sum())
    counts = whole_counts(forest, Goal(budget=budget))
    assert (counts[forest.roots] >= 5).all()
    assert (counts >= 1).all()
    assert forest.price(counts) <= budget * (1 + 1e-12)
    totals = continuous(forest, np.array(5.0), budget=budget)
    assert forest.noise(counts) <= 1.05 * (forest.variance / totals).sum()


def test_one_benchmark_is_planned_as_by_itself():
    """The same counts and nearly the same half-width (relative there, of the logarithm here)."""
    times = pilots()[0, :1]
    alone = plan_repetitions(times, costs=COSTS, budget=300.0)
    plan = planned(times, budget=300.0)
    np.testing.assert_array_equal(plan["repetitions"], alone["repetitions"])
    assert plan["half_width"].item() == pytest.approx(alone["half_width"].item(), rel=1e-3)


def test_gaps_and_single_units():
    """A benchmark that was not measured has no counts; one with a single execution leaves the suite
    without a plan, and a note says so."""
    times = pilots()[0].copy()
    times[1] = np.nan
    with pytest.warns(
        perfarray.PerfarrayWarning,
        match="1 of 3 cells .* have no measured value and are not in the plan",
    ):
        plan = planned(times, budget=600.0)
    assert plan["repetitions"].isnull().any("level").values.tolist() == [False, True, False]
    assert plan["n"].item() == 6
    two = planned(pilots()[0, [0, 2]], budget=600.0)
    np.testing.assert_array_equal(plan["repetitions"][[0, 2]], two["repetitions"])
    times[2, 1:] = np.nan
    with pytest.warns(perfarray.PerfarrayWarning, match="fewer than two units"):
        assert planned(times, budget=600.0)["cost"].isnull().all()


def test_two_systems():
    """Each has its own counts; both share the budget."""
    times = (
        xr.concat([pilots()[0], 2 * pilots(seed=2)[0]], "version")
        .assign_coords(version=["old", "new"])
        .assign_attrs(units="s")
    )
    plan = planned(times, baseline="old", budget=2000.0)
    spent = sum(
        (plan[name][..., 0] * (5 + plan[name][..., 1])).sum()
        for name in ("repetitions", "baseline_repetitions")
    )
    assert plan["cost"].item() == pytest.approx(spent.item())
    assert spent <= 2000


@pytest.mark.parametrize(("assurance", "error"), [(0.5, 0.08), (0.9, 0.045)])
def test_a_plan_keeps_its_word(assurance, error):
    """Of pilots of 18 benchmarks, 5 executions each, 20 experiments as planned: as many reach the
    half-width as was said.

    Which benchmark needs what is estimated, too: 14 and 54 % once. Within 3 Monte Carlo errors of
    the pilots, which are given for 14.
    """
    count = experiments(24)
    values = pilots(6 * count, units=5, seed=5).values.reshape(count, 18, 5, 5)
    times = xr.DataArray(
        values,
        dims=("suite", "benchmark", "execution", "iteration"),
        name="time",
        attrs={"units": "s"},
    )
    plan = planned(times, half_width=0.0035, assurance=assurance)
    executions, iterations = plan["repetitions"][..., 0].values, plan["repetitions"][..., 1].values
    variance = (np.tile(TOP, 6) + np.tile(LOW, 6) / iterations) / executions / 18**2
    df = executions - 1
    estimates = variance * np.random.default_rng(6).chisquare(df, (20, count, 18)) / df
    total = estimates.sum(axis=-1)
    half = scipy.stats.t.ppf(0.975, total**2 / (estimates**2 / df).sum(axis=-1)) * np.sqrt(total)
    assert (half <= 0.0035).mean() == pytest.approx(assurance, abs=3 * error * np.sqrt(14 / count))


def test_a_component_that_was_not_seen_may_be_there():
    """Where half of the benchmarks showed none between executions, the promise is no better than
    where all showed it."""
    total = np.tile([5.0, 25.0], (20, 1))

    def ratio(*shares):
        forest = chains([[variance, 1.0] for variance in shares * 10], [[5.0, 1.0]] * 20)
        return (planned_again(forest, total, 4000.0, 5) * nodes()[1]).sum()

    assert ratio(1.0, 0.0) > ratio(1.0, 1.0)


def test_a_promise_that_is_made_again():
    """Forty chains of one level and one price, f degrees of freedom: the mean of the ratio tends to
    f / (f - 1); a floor takes it away."""
    forest = chains(np.ones((40, 1)), np.ones((40, 1)))
    for units in (5, 11):
        ratios = planned_again(forest, np.full((40, 1), float(units)), 4000.0, 2)
        f = units - 1
        assert (ratios * nodes()[1]).sum() == pytest.approx(f / (f - 1), rel=0.02)
    fixed = planned_again(forest, np.full((40, 1), 5.0), 80.0, 2)
    assert (fixed * nodes()[1]).sum() == pytest.approx(
        1 + 2 / (4 * 40), rel=0.02
    )  # the mean of 1 / (mean of chi-squares / f)


def test_pyperf_and_jmh(tmp_path):
    """Their files need nothing but the budget."""
    rng = np.random.default_rng(1)
    benches = [
        bench(
            name,
            *(
                run(*rng.normal(1e-3, 2e-5, 3), warmups=[(100, 1e-3)], loops=100, duration=0.42)
                for _ in range(8)
            ),
        )
        for name in "ab"
    ]
    path = write(tmp_path / "pyperf.json", suite(*benches))
    settings = {
        "warmupIterations": 3,
        "warmupTime": "1 s",
        "measurementIterations": 3,
        "measurementTime": "1 s",
    }
    entries = [
        entry(
            name, data=rng.normal(10, 0.2, (5, 3)).tolist(), unit="ops/s", mode="thrpt", **settings
        )
        for name in "abc"
    ]
    for file in (path, write(tmp_path / "jmh.json", entries)):
        with pytest.warns(perfarray.PerfarrayWarning, match="what the data say"):
            plan = plan_suite(perfarray.read(file), budget=300.0)
        assert 0.9 * 300 < plan["cost"].item() <= 300


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"correlation": 0.5}, "correlation=0.5 is about units that benchmarks share"),
        (
            {"paired": "execution", "baseline": "old"},
            "paired='execution' is about units that benchmarks share",
        ),
        ({"shared": "session"}, "shared='session' is not known"),
        ({"budget": 10.0}, "budget=10 s does not buy 5 repetitions of 'execution'"),
    ],
)
def test_bad_input(keywords, message):
    times = (
        xr.concat([pilots()[0]] * 2, "version")
        .assign_coords(version=["old", "new"])
        .assign_attrs(units="s")
    )
    with pytest.raises(ValueError, match=message):
        planned(times, **({"budget": 600.0} | keywords))
