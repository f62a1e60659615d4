"""Half-width against cost: lines, the plan's point, units, and what cannot be drawn."""

import numpy as np
import pytest

import perfarray
from perfarray.plots import draw, plan

COSTS = {"binary": 60.0, "execution": 5.0}


@pytest.fixture(scope="module")
def pilot():
    return perfarray.simulate(
        sizes={"binary": 8, "execution": 6, "iteration": 5},
        variances={"binary": 2e-4, "execution": 4e-4, "iteration": 9e-4},
        dims={"benchmark": ["a", "b"]},
        shared={"binary": 0.5},
        rng=2,
    )


def lines(ax):
    return {line.get_label(): np.array(line.get_data()) for line in ax.lines if len(line.get_xdata()) > 1}


def test_one_plan(pilot):
    """A full line through the plan's point, a dashed one above it, the counts in words."""
    answer = pilot.sel(benchmark="a").perf.plan_repetitions(costs=COSTS, budget=5000, cost_units="s")
    result = answer
    ax = answer.perf.plot()
    drawn = lines(ax)
    assert set(drawn) == {"best plan", "one-level experiment"}
    middle = result["budget_factor"].values.tolist().index(1.0)
    np.testing.assert_allclose(drawn["best plan"][1], 100 * result["half_width_by_budget"])
    (point,) = [line for line in ax.lines if line.get_label() == "plan"]
    assert point.get_ydata() == pytest.approx([100 * result["half_width"].item()])
    assert (drawn["one-level experiment"][1] > drawn["best plan"][1])[middle:].all()
    point = next(line for line in ax.lines if line.get_label() == "plan")
    assert point.get_xdata()[0] == pytest.approx(result["cost"].item() / 60)
    assert point.get_ydata()[0] == pytest.approx(100 * result["half_width"].item())
    assert ax.get_xlabel() == "cost, min"
    assert ax.get_xscale() == ax.get_yscale() == "log"
    counts = result["repetitions"].values
    assert ax.texts[0].get_text() == f"{counts[0]:.0f} binary × {counts[1]:.0f} execution × {counts[2]:.0f} iteration"
    assert ax.get_title(loc="left") == "Precision against cost, a"


def test_several_plans(pilot):
    """A colour each; dashed lines share one entry of the legend."""
    ax = pilot.perf.plan_repetitions(costs=COSTS, budget=5000).perf.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "one-level experiments"]
    assert ax.get_xlabel() == "cost, iterations"
    assert not ax.texts


def test_suite_and_ratio(pilot):
    """Titles say what is planned."""
    assert "suite's geometric mean" in pilot.perf.plan_suite(costs=COSTS, budget=5000).perf.plot().get_title(loc="left")
    pair = pilot.expand_dims(version=["old", "new"])
    ax = pair.sel(benchmark="a").perf.plan_repetitions("old", costs=COSTS, budget=9000).perf.plot()
    assert ax.get_title(loc="left").endswith(", new compared with old, a")
    assert ax.get_ylabel() == "half-width (95 %), percent of the ratio"


def test_computes_and_draws(pilot):
    """times.perf.plot.plan takes the keywords of plan_repetitions, and ax."""
    import matplotlib.pyplot as plt

    ax = plt.subplots()[1]
    assert pilot.perf.plot.plan(costs=COSTS, budget=5000, ax=ax) is ax
    assert draw(pilot.perf.plan_repetitions(costs=COSTS, budget=5000), ax=ax) is ax


def test_many_plans_have_a_row_each(pilot):
    """More cells than colours: the plan and the one-level experiment on a line, counts and cost beside; one without a plan says so."""
    result = pilot.perf.plan_repetitions(costs=COSTS, budget=5000, cost_units="s")
    many = result.isel(benchmark=[0, 1] * 10).assign_coords(benchmark=[f"b{i}" for i in range(20)])
    names = ("cost", "half_width", "default_half_width")
    many = many.assign({name: many[name].where(many["benchmark"] != "b19") for name in names})
    ax = plan(many)
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"b{i}" for i in range(20)]
    drawn = {line.get_label(): line.get_xdata() for line in ax.lines}
    np.testing.assert_array_equal(drawn["plan"], 100 * many["half_width"])
    np.testing.assert_array_equal(drawn["one-level experiment of the same cost"], 100 * many["default_half_width"])
    beside = [text.get_text() for text in ax.texts if text.get_gid() == "beside"]
    counts = many["repetitions"].values.astype(int)
    assert beside[0] == f"{counts[0, 0]} × {counts[0, 1]} × {counts[0, 2]}, {float(many['cost'][0]) / 60:.3g} min"
    assert beside[-1] == "–"
    assert "no plan" in [text.get_text() for text in ax.texts]
    ax.figure.draw_without_rendering()
    (header,) = (text for text in ax.texts if text.get_gid() == "header")
    assert header.get_text() == "binary × execution × iteration, cost"
    assert ax.get_legend().get_window_extent().x1 < header.get_window_extent().x0


def test_what_cannot_be_drawn(pilot):
    """No cell with a plan is an error."""
    result = pilot.perf.plan_repetitions(costs=COSTS, budget=5000)
    with pytest.raises(ValueError, match="no cell has a plan"):
        plan(result.assign(cost=result["cost"] * np.nan))


@pytest.mark.parametrize(("cost", "unit"), [(90.0, "s"), (1000.0, "min"), (8 * 3600.0, "h"), (3 * 86400.0, "days")])
def test_units_of_time(pilot, cost, unit):
    """Two of a unit make it worth using."""
    result = pilot.sel(benchmark="a").perf.plan_repetitions(costs={"binary": 1.0, "execution": 0.5}, budget=90, cost_units="s")
    assert plan(result.assign(cost=result["cost"] * 0 + cost)).get_xlabel() == f"cost, {unit}"
