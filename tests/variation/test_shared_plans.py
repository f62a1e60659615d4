"""Plans of suites whose units are shared: what the caller declares counts, and what is assumed is
noted."""

import warnings

import numpy as np
import pytest
import xarray as xr
from scipy.stats import t

import perfarray

COSTS = {"binary": 60.0, "execution": 5.0}
WIDTH = 0.005


def pilot(rng, common, binaries=10, benchmarks=6):
    """Return timings of builds whose effects have this correlation between benchmarks, without the
    attribute that says so."""
    shape = (benchmarks, binaries, 1)
    effects = common**0.5 * rng.standard_normal((1, *shape[1:])) + (
        1 - common
    ) ** 0.5 * rng.standard_normal(shape)
    values = 1 + 0.01 * effects + 0.005 * rng.standard_normal((*shape[:2], 3))
    labels = {"benchmark": [f"b{number}" for number in range(benchmarks)]}
    return xr.DataArray(
        values,
        dims=("benchmark", "binary", "execution"),
        coords=labels,
        name="time",
        attrs={"units": "s"},
    )


def planned(times, **keywords):
    with warnings.catch_warnings(action="ignore"):
        return times.perf.plan_suite(costs=COSTS, half_width=WIDTH, **keywords)


def codes(result):
    return [note.code for note in result.perf.notes()]


def test_units_declared_as_shared_are_taken_so():
    """`shared="binary"` says that builds of the pilot serve all benchmarks: the plan is that of the
    attribute."""
    times = pilot(np.random.default_rng(1), 0.8)
    declared = planned(times, shared="binary")
    marked = planned(times.assign_attrs(shared_levels="binary"))
    assert declared.attrs["benchmarks"] == marked.attrs["benchmarks"] == "shared: binary"
    xr.testing.assert_equal(declared, marked)
    assert "move_together" not in codes(declared)


def test_what_is_assumed_is_noted():
    """Without a word on the pilot's builds independence is assumed, and a note says where they move
    together."""
    together, independent = (
        planned(pilot(np.random.default_rng(1), common)) for common in (0.8, 0.0)
    )
    assert together.attrs["benchmarks"] == "independent (assumed)"
    assert "move_together" in codes(together)
    assert "move_together" not in codes(independent)
    times = pilot(np.random.default_rng(1), 0.8)
    assert "move_together" not in codes(planned(times, shared=())) + codes(
        planned(times, correlation=0.8)
    )


@pytest.mark.parametrize("width", [0.02, 0.005])
def test_a_plan_keeps_the_half_width_of_the_fewest_units(width):
    """Also where the fewest units reach it plainly, and only more of them with assurance."""
    times = pilot(np.random.default_rng(2), 0.8, binaries=4).assign_attrs(shared_levels="binary")
    with warnings.catch_warnings(action="ignore"):
        plan = times.perf.plan_suite(costs=COSTS, half_width=width, assurance=0.95)
    assert plan["half_width"].item() <= width
    assert plan["half_width"].item() <= plan["default_half_width"].item() * (1 + 1e-9)


def test_candidates_share_a_baseline_without_shared_units():
    """Two candidates of a suite without builds are each planned against the one baseline."""
    rng = np.random.default_rng(1)
    dims = ("version", "benchmark", "execution")
    labels = {"version": ["old", "new", "newer"], "benchmark": ["fft", "sort"]}
    times = xr.DataArray(
        rng.normal(1, 0.02, (3, 2, 8)), labels, dims, name="time", attrs={"units": "s"}
    )
    plan = times.perf.plan_suite("old", half_width=0.02)
    assert plan["version"].values.tolist() == ["new", "newer"]
    assert (plan["half_width"] <= 0.02).all()


def test_half_of_the_plans_reach_their_half_width():
    """Of builds that move together and are declared as shared, about half of the experiments reach
    it; taken as independent, few."""
    rng, reached = np.random.default_rng(3), {"auto": 0, "binary": 0}
    for _ in range(30):
        times = pilot(rng, 0.8)
        for shared in reached:
            counts = planned(times, shared=shared)["repetitions"].values
            builds, true = (
                counts[0, 0],
                1e-4 * (0.8 + 0.2 / 6) + (0.25e-4 / counts[:, 1]).sum() / 36,
            )
            variances = true * rng.chisquare(builds - 1, 20) / (builds - 1)
            reached[shared] += (
                t.ppf(0.975, builds - 1) * np.sqrt(variances / builds) <= WIDTH
            ).mean() / 30
    assert reached["auto"] < 0.2
    assert 0.35 < reached["binary"] < 0.65


@pytest.mark.parametrize(("benchmarks", "noted"), [(10, False), (100, True)])
def test_a_small_correlation_is_noted_where_it_matters(benchmarks, noted):
    """Limits of m benchmarks of correlation r are too narrow by sqrt(1 + (m - 1) r): by 4 % for ten
    at .01, by 40 % for a hundred."""
    rng = np.random.default_rng(4)
    shape = (2, benchmarks, 3000)
    logs = 0.1 * rng.standard_normal((2, 1, 3000)) + 0.99**0.5 * rng.standard_normal(shape)
    labels = {"version": ["old", "new"]}
    times = xr.DataArray(
        np.exp(0.01 * logs),
        dims=("version", "benchmark", "execution"),
        coords=labels,
        name="time",
        attrs={"units": "s"},
    )
    with warnings.catch_warnings(action="ignore"):
        result = times.perf.compare("old")
    assert result["suite_correlation_pvalue"] < 0.05
    assert ("move_together" in codes(result)) == noted


def test_a_plan_of_one_level_asks_for_its_goal():
    """Lists of runs that vary have no best counts inside a run: the note asks for a half-width or a
    budget."""
    times = perfarray.from_samples({"old": [1.0, 1.1, 1.2], "new": [1.0, 1.2, 1.3]})
    with pytest.warns(perfarray.PerfarrayWarning, match=r"Give half_width= or budget="):
        plan = times.perf.plan_repetitions()
    assert codes(plan) == ["no_goal"]
    assert all("half_width= or budget=" in advice for advice in plan["advice"].values)
    assert codes(times.perf.plan_repetitions(half_width=0.01)) == []
