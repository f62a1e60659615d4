"""Half-width against cost: lines, the plan's point, units, and what cannot be drawn."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.text import Text
from matplotlib.ticker import LogLocator

import perfarray
from perfarray.plots.figure import LogTicks
from perfarray.variation.curves import plan_curves
from picture_parts import legend, points, rows, side_texts, texts, title

COSTS = {"binary": 60.0, "execution": 5.0}


@pytest.fixture(scope="module")
def pilot():
    sizes, variances = (
        {"binary": 8, "execution": 6, "iteration": 5},
        {"binary": 2e-4, "execution": 4e-4, "iteration": 9e-4},
    )
    return perfarray.simulate(
        sizes=sizes,
        variances=variances,
        dims={"benchmark": ["a", "b"]},
        shared={"binary": 0.5},
        rng=2,
    )


@pytest.fixture(scope="module")
def result(pilot):
    return pilot.perf.plan_repetitions(costs=COSTS, budget=5000, cost_units="s")


def test_one_plan(result):
    """A solid line through the plan's point, a dashed one above it, and the counts with their
    levels."""
    cell = result.sel(benchmark="a")
    ax = cell.perf.plot()
    lines = {line.get_label(): np.array(line.get_data()) for line in ax.lines}
    assert set(lines) == {"best plan", "one-level experiment", "plan"}
    curves = plan_curves(cell)
    np.testing.assert_allclose(lines["best plan"][1], 100 * curves["half_width_by_budget"])
    middle = curves["budget_factor"].values.tolist().index(1.0)
    assert (lines["one-level experiment"][1] > lines["best plan"][1])[middle:].all()
    np.testing.assert_allclose(
        lines["plan"][:, 0], [cell["cost"].item() / 60, 100 * cell["half_width"].item()]
    )
    assert (ax.get_xlabel(), ax.get_xscale(), ax.get_yscale()) == ("cost, min", "log", "log")
    counts = cell["repetitions"].values
    assert texts(ax) == [
        f"{counts[0]:.0f} binary × {counts[1]:.0f} execution × {counts[2]:.0f} iteration"
    ]
    assert title(ax) == "Precision against cost, a"


@pytest.mark.parametrize(
    "ask", [{}, {"shared": None}, {"baseline": "old"}, {"baseline": "old", "paired": "binary"}]
)
@pytest.mark.parametrize("limit", [{"budget": 9000.0}, {"half_width": 0.01, "assurance": 0.9}])
def test_curves_go_through_the_plan(pilot, ask, limit):
    """At the cost of the plan the best plan before rounding is as good, and one of everything has
    its own half-width; nothing is bought by less than the fewest units cost."""
    times = pilot.expand_dims(version=["old", "new"]) if "baseline" in ask else pilot
    result = times.perf.plan_suite(costs=COSTS, **ask, **limit).squeeze()
    curves = plan_curves(result)
    at_cost = curves.sel(budget_factor=1.0)
    assert at_cost["half_width_by_budget"].item() == pytest.approx(
        result["half_width"].item(), rel=0.02
    )
    default = at_cost["default_half_width_by_budget"].item()
    assert default == pytest.approx(result["default_half_width"].item(), rel=0.02)
    widths = curves["half_width_by_budget"]
    assert (widths.diff("budget_factor") < 0).sum() == widths.notnull().sum() - 1
    bought = curves["cost"] * curves["budget_factor"] >= curves["least_budget"]
    np.testing.assert_array_equal(widths.notnull(), bought)


def test_several_plans(pilot):
    """A colour each; dashed lines share one entry of the legend; titles say what is planned."""
    ax = pilot.perf.plan_repetitions(costs=COSTS, budget=5000).perf.plot()
    assert (legend(ax), ax.get_xlabel(), texts(ax)) == (
        ["a", "b", "one-level experiments"],
        "cost, iterations",
        [],
    )
    assert "suite's geometric mean" in title(
        pilot.perf.plan_suite(costs=COSTS, budget=5000).perf.plot()
    )
    pair = pilot.expand_dims(version=["old", "new"]).sel(benchmark="a")
    ax = pair.perf.plan_repetitions("old", costs=COSTS, budget=9000).perf.plot()
    assert title(ax).endswith(", new compared with old, a")
    assert ax.get_ylabel() == "half-width (95 %), percent of the ratio"


def test_more_plans_than_colours_keep_their_cost(result):
    """18 plans have lines over the cost, and their names, which do not overlap, beside the right
    ends."""
    plans = result.isel(benchmark=[0, 1] * 9).assign_coords(benchmark=[f"b{i}" for i in range(18)])
    ax = plans.perf.plot()
    ax.figure.draw_without_rendering()
    assert (ax.get_xlabel(), ax.get_xscale(), legend(ax)) == (
        "cost, min",
        "log",
        ["one-level experiments"],
    )
    names = [text for text in ax.texts if text.get_gid() == "name"]
    assert sorted(text.get_text() for text in names) == sorted(f"b{i}" for i in range(18))
    boxes = sorted((Text.get_window_extent(text) for text in names), key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 + 1 for below, above in pairwise(boxes))
    by_name = {text.get_text(): text.xy for text in names}
    cell = plan_curves(plans.sel(benchmark="b3"))
    last = [
        float(cell["cost"] / 60 * cell["budget_factor"][-1]),
        100 * float(cell["half_width_by_budget"][-1]),
    ]
    np.testing.assert_allclose(by_name["b3"], last)


def test_what_is_not_seen_is_not_made(result, monkeypatch):
    """Ticks beyond the ends of an axis, and all but the widest name in the layout: pictures with
    them are the same."""
    plans = result.isel(benchmark=[0, 1] * 5).assign_coords(benchmark=[f"b{i}" for i in range(10)])
    for axis in (axes := plans.perf.plot()).xaxis, axes.yaxis:
        low, high = axis.get_view_interval()
        assert all(
            low < tick < high for tick in (*axis.get_majorticklocs(), *axis.get_minorticklocs())
        )
    assert sum(text.get_in_layout() for text in axes.texts) == 1
    saved = [cells.perf.plot.svg() for cells in (plans, result.sel(benchmark="a"))]
    monkeypatch.setattr(LogTicks, "__call__", LogLocator.__call__)
    monkeypatch.setattr("perfarray.plots.plans.measure_widest", lambda _: None)
    assert saved == [cells.perf.plot.svg() for cells in (plans, result.sel(benchmark="a"))]


def test_many_plans_have_a_row_each(result):
    """More than 24: the plan and the one-level experiment on a line, counts and cost beside; one
    without a plan says so."""
    plans = result.isel(benchmark=[0, 1] * 13).assign_coords(benchmark=[f"b{i}" for i in range(26)])
    names = ("cost", "half_width", "default_half_width")
    plans = plans.assign({name: plans[name].where(plans["benchmark"] != "b25") for name in names})
    ax = plans.perf.plot()
    assert rows(ax) == [f"b{i}" for i in range(26)]
    np.testing.assert_array_equal(points(ax, "plan"), 100 * plans["half_width"])
    np.testing.assert_array_equal(
        points(ax, "one-level experiment of the same cost"), 100 * plans["default_half_width"]
    )
    counts = plans["repetitions"].values.astype(int)
    assert side_texts(ax)[0] == (
        f"{counts[0, 0]} × {counts[0, 1]} × {counts[0, 2]}, {float(plans['cost'][0]) / 60:.3g} min"
    )
    assert side_texts(ax)[-1] == "–"
    assert "no plan" in texts(ax)
    ax.figure.draw_without_rendering()
    (header,) = (text for text in ax.texts if text.get_gid() == "header")
    assert header.get_text() == "binary × execution × iteration, cost"
    assert ax.get_legend().get_window_extent().x1 < header.get_window_extent().x0
    with pytest.raises(ValueError, match="no cell has a plan"):
        result.assign(cost=result["cost"] * np.nan).perf.plot()


@pytest.mark.parametrize(
    ("cost", "unit"), [(90.0, "s"), (150.0, "min"), (8 * 3600.0, "h"), (3 * 86400.0, "days")]
)
def test_units_of_time(result, cost, unit):
    """From two of a unit on it is used."""
    cell = result.sel(benchmark="a")
    assert cell.assign(cost=cost).perf.plot().get_xlabel() == f"cost, {unit}"
