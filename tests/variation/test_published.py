"""Plans from components that are given: published ones, and those of `variance_components`."""

import math

import numpy as np
import pytest
import scipy.stats
import xarray as xr

import perfarray
from perfarray import from_components, plan_repetitions


def components(**keywords):
    return from_components({"binary": 0.02**2, "execution": 0.03**2, "iteration": 0.01**2}, **keywords)


@pytest.mark.parametrize(("hours", "place"), [(3, 0), (6, 1), (9, 2)])
def test_table_7_is_one_call(golden, hours, place):
    """Kalibera and Jones, tables VII and VIII: the default's column is the printed one, and a plan is no wider than their counts make it.

    The fixture's half-widths are R's, from the printed Table VII. A printed cell of the default differs from them by its own rounding and
    that of three standard deviations to a tenth; TCP's are cut, not rounded.
    """
    rows = golden("kj_table8")["rows"]
    parts = np.array([row["T_nominal_variance"][::-1] for row in rows])
    names = [row["benchmark"] for row in rows]
    given = {
        level: xr.DataArray(parts[:, i], dims="benchmark", coords={"benchmark": names})
        for i, level in enumerate(("binary", "execution", "iteration"))
    }
    seconds = np.array([row["inputs"]["seconds_per_measurement"] for row in rows])
    costs = {"binary": seconds * [row["inputs"]["c2"] for row in rows], "execution": seconds * [row["inputs"]["c1"] for row in rows]}
    costs |= {"iteration": seconds}
    plan = plan_repetitions(
        from_components(given), costs=costs, budget=hours * 3600, cost_units="s", assurance=None, min_units=2
    ).to_dataset()
    np.testing.assert_allclose(plan["default_half_width"], [row["default_half_width"][place] for row in rows], rtol=1e-9)
    assert (plan["half_width"] <= [row["our_half_width"][place] * (1 + 1e-9) for row in rows]).all()
    printed = np.array([row["paper"]["default"][place] for row in rows])
    n = np.array([row["default_n"][place] for row in rows])
    rounding = 0.05 + scipy.stats.t.ppf(0.975, n - 1) / np.sqrt(n) * 0.05 * np.sqrt(3)
    cut = np.array([row["benchmark"] == "TCP" for row in rows]) * 0.05
    assert (abs(plan["default_half_width"] - printed) <= rounding + cut).all()


def test_known_variances_leave_only_chance():
    """The median half-width is that of a chi-square; both limits are the half-width itself, and no pilot is counted."""
    plan = plan_repetitions(components(), costs={"binary": 50, "execution": 5}, budget=2000).to_dataset()
    n, executions, iterations = plan["repetitions"].values
    variance = 0.02**2 + 0.03**2 / executions + 0.01**2 / (executions * iterations)
    median = scipy.stats.chi2.median(n - 1) / (n - 1)
    assert plan["half_width"].item() == pytest.approx(scipy.stats.t.ppf(0.975, n - 1) * math.sqrt(variance * median / n), rel=1e-5)
    assert plan["half_width_lower"].item() == pytest.approx(plan["half_width"].item())
    assert plan["half_width_upper"].item() == pytest.approx(plan["half_width"].item())
    for name in ("already", "more", "n", "more_half_width"):
        assert plan[name].isnull().all()
    assert "notes" not in plan.attrs


def test_the_mean_makes_them_relative():
    """Components in squared units and their mean; in seconds an iteration costs its mean time."""
    scaled = from_components({"binary": 1.0, "execution": 2.25, "iteration": 0.25}, mean=50.0, units="s")
    assert scaled["variance"].attrs["units"] == "s2"
    plain = plan_repetitions(components(), costs={"binary": 50, "execution": 5}, half_width=0.01).to_dataset()
    seconds = plan_repetitions(scaled, costs={"binary": 2500, "execution": 250}, half_width=0.01, cost_units="s").to_dataset()
    np.testing.assert_array_equal(plain["repetitions"], seconds["repetitions"])
    assert seconds["cost"].item() == pytest.approx(50 * plain["cost"].item())


@pytest.mark.parametrize("variances", ["unbiased", "biased"])
def test_what_variance_components_returned(variances):
    """The plan of the timings themselves, where nothing is merged."""
    times = perfarray.simulate(
        sizes={"binary": 12, "execution": 5, "iteration": 4},
        variances={"binary": 4e-4, "execution": 4e-4, "iteration": 4e-4},
        dims={"benchmark": 3},
        rng=4,
    )
    found = times.perf.variance_components()
    assert (found["variance"] > 0).all()
    keywords = {"costs": {"binary": 50.0, "execution": 5.0}, "budget": 4000, "variances": variances}
    ours, theirs = found.perf.plan_repetitions(**keywords).to_dataset(), times.perf.plan_repetitions(**keywords).to_dataset()
    for name in theirs.data_vars:
        if theirs[name].dtype.kind == "f":
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-9)


def test_lazy_components():
    """Computed when wanted."""
    pytest.importorskip("dask")
    part = xr.DataArray(np.full(4, 4e-4), dims="benchmark")
    given = from_components({"binary": part, "iteration": part * 2})
    lazy = plan_repetitions(given.chunk(benchmark=2), costs={"binary": 10}, budget=500).to_dataset()
    assert lazy.chunks
    xr.testing.assert_allclose(
        lazy.compute()["repetitions"], plan_repetitions(given, costs={"binary": 10}, budget=500).to_dataset()["repetitions"]
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_components({}), "give a mapping of levels to variances"),
        (lambda: from_components({"binary": -1.0}), r"components\['binary'\] holds -1 to -1"),
        (lambda: from_components({"binary": np.inf}), "zero or more, and finite"),
        (lambda: from_components({"binary": 1.0}, mean=0), "give the mean of the timings, not zero"),
        (lambda: plan_repetitions(components(), "old", costs={}), "have no baseline"),
        (lambda: plan_repetitions(components(), costs={"binary": 1}, budget=100), "costs= has no price for 'execution'"),
        (lambda: plan_repetitions(components(), costs={"binary": 1, "execution": 1}, budget=100, variances="biased"), "do not tell"),
        (lambda: plan_repetitions(components(), costs={"binary": 1, "execution": 1}, budget=3), "the least budget is 15"),
    ],
)
def test_bad_input(call, message):
    """What came, and what is needed."""
    with pytest.raises(ValueError, match=message):
        call()
