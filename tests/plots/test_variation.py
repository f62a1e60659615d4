"""Stacked bars of components: shares, absent and negative ones, notes; estimators against the size
of the group."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgba

import perfarray
from perfarray.plots import variance_components
from perfarray.plots.figure import level_colours
from picture_parts import heights, legend, lines, points, rows, side_texts, simulated, texts

LEVELS = ["binary", "execution", "iteration"]


def result(variance, mean=10.0, measured=True, **coords):
    """Return a result with these components, outermost last dim."""
    variance = xr.DataArray(
        np.asarray(variance, float), {**coords, "level": LEVELS}, (*coords, "level")
    )
    positive = np.maximum(variance, 0)
    total = positive.sum("level", min_count=1)
    variables = {
        "variance": variance,
        "share": positive / total.where(total > 0),
        "total_coefficient_of_variation": total**0.5 / mean,
    }
    variables["mean"] = xr.full_like(total, mean).where(measured)
    return xr.Dataset(variables, attrs={"result": "variance_components", "metric": "time"})


def bars(ax):
    """Return (left, width, y) of every bar, by level."""
    return {
        container.get_label(): [
            (bar.get_x(), bar.get_width(), bar.get_y() + bar.get_height() / 2) for bar in container
        ]
        for container in ax.containers
    }


def test_bars_are_the_shares_in_the_colours_of_the_levels():
    """Components 1, 3, 4 have 12.5, 37.5 and 50 percent, each beginning where the one before ends;
    a merged level is absent."""
    ax = variance_components(result([1.0, 3.0, 4.0]))
    assert bars(ax) == {
        "binary": [(0, 12.5, 0)],
        "execution": [(12.5, 37.5, 0)],
        "iteration": [(50, 50, 0)],
    }
    colours = level_colours(LEVELS)
    assert {bar.get_label(): bar[0].get_facecolor() for bar in ax.containers} == {
        name: to_rgba(colours[name]) for name in LEVELS
    }
    assert (ax.get_xlim(), ax.get_xlabel()) == ((0, 100), "share of the variance of time, percent")
    ax = variance_components(result([1.0, np.nan, 3.0]))
    assert bars(ax) == {"binary": [(0, 25, 0)], "iteration": [(25, 75, 0)]}
    assert legend(ax) == ["binary", "iteration"]


def test_each_cell_has_a_bar():
    """Two benchmarks by two versions: four rows in two groups, first on top."""
    ax = variance_components(
        result(np.arange(12).reshape(2, 2, 3) + 1, benchmark=["fft", "sort"], version=["a", "b"])
    )
    assert (rows(ax), texts(ax, "group"), ax.yaxis_inverted()) == (
        ["a", "b"] * 2,
        ["fft", "sort"],
        True,
    )
    _, widths, y = np.transpose(bars(ax)["binary"])
    np.testing.assert_allclose(y, ax.get_yticks())
    np.testing.assert_allclose(widths, [100 * 1 / 6, 100 * 4 / 15, 100 * 7 / 24, 100 * 10 / 33])


@pytest.mark.parametrize(
    ("deviation", "text"),
    [
        (0.123, "0.12 %"),
        (12.3, "12 %"),
        (1.0, "1.0 %"),
        (5.0, "5.0 %"),
        (123.0, "123 %"),
        (99.6, "100 %"),
    ],
)
def test_coefficients_of_variation_stand_beside(deviation, text):
    """Two significant digits, whole percents where there are more."""
    assert side_texts(variance_components(result([0.0, 0.0, deviation**2], mean=100.0))) == [text]


def test_a_negative_component_is_drawn_as_zero():
    """The others share the whole; a star and a footnote say so."""
    ax = variance_components(result([[2.0, -1.0, 6.0], [1.0, 1.0, 2.0]], benchmark=["fft", "sort"]))
    assert [width for _, width, _ in bars(ax)["execution"]] == [0, 25]
    assert [width for _, width, _ in bars(ax)["binary"]] == [25, 25]
    assert rows(ax) == ["fft *", "sort"]
    assert ax.get_xlabel().splitlines()[1] == "* negative component drawn as zero: execution"


def test_cells_without_variation_say_so():
    """All zero, or all NaN: a note instead of a bar, and a dash where nothing was measured; of
    nothing at all there is no legend."""
    ax = variance_components(
        result(
            [[0.0, 0.0, 0.0], [np.nan] * 3, [1.0, 1.0, 2.0]], benchmark=["still", "absent", "fft"]
        )
    )
    assert texts(ax).count("no variation estimated") == 2
    assert side_texts(ax) == ["0.0 %", "–", "20 %"]
    ax = variance_components(result([[np.nan] * 3], benchmark=["fft"]))
    assert (list(ax.containers), legend(ax)) == ([], [])


def test_one_level_is_drawn_as_its_coefficient_of_variation():
    """Its share would be 100 % in every row; so it is where the other levels are merged or have one
    repetition."""
    benchmarks = ["fft", "sort", "once", "lost"]
    measured = xr.DataArray([True, True, True, False], {"benchmark": benchmarks}, "benchmark")
    one_level = result(
        [[np.nan, 4.0, np.nan], [np.nan, 1.0, np.nan], *[[np.nan] * 3] * 2],
        measured=measured,
        benchmark=benchmarks,
    )
    for components in (one_level, one_level.sel(level=["execution"])):
        ax = variance_components(components)
        np.testing.assert_array_equal([bar.get_width() for bar in ax.patches], [20, 10, np.nan])
        assert ax.get_xlabel() == "coefficient of variation of time between executions"
        assert (ax.get_title(loc="left"), rows(ax), side_texts(ax)) == (
            "How much executions vary, 3 of 4: those measured",
            benchmarks[:3],
            ["20 %", "10 %", "–"],
        )
        assert texts(ax)[0] == "one run shows no variation"
    mixed = result([[1.0, np.nan, 3.0], [np.nan, 4.0, np.nan]], benchmark=["fft", "sort"])
    ax = variance_components(mixed)
    assert [bar.get_width() for bar in ax.patches if bar.get_width()] == [25, 75]
    assert "only one level was repeated" in texts(ax)
    merged = mixed.assign(merged=mixed["variance"].isnull())
    assert [bar.get_width() for bar in variance_components(merged).patches if bar.get_width()] == [
        25,
        100,
        75,
    ]
    ax = variance_components(
        result([[np.nan, 0.0, np.nan]], benchmark=["still"]).sel(level=["execution"])
    )
    assert ([bar.get_width() for bar in ax.patches], side_texts(ax)) == ([0], ["0.0 %"])


def test_shares_of_nine_percent_and_more_are_written_into_the_bars():
    written = texts(
        variance_components(
            result([[8.0, 32.0, 60.0], [9.0, 31.0, 60.0]], benchmark=["fft", "sort"])
        )
    )
    assert {"8 %", "9 %", "31 %", "32 %", "60 %"} & set(written) == {"9 %", "31 %", "32 %", "60 %"}


def test_shares_of_real_components():
    """Table III of Kalibera and Jones, merged: binary 0.43 and iteration 12.7."""
    table = [[[9, 5], [8, 3]], [[10, 6], [7, 11]], [[1, 12], [2, 4]]]
    components = xr.DataArray(table, dims=LEVELS, name="time").perf.variance_components(
        negative="merge"
    )
    outer, inner = (
        components["variance"].sel(level=level).item() for level in ("binary", "iteration")
    )
    shares = bars(components.perf.plot())
    assert shares["binary"][0][1] == pytest.approx(100 * outer / (outer + inner))
    assert "execution" not in shares


@pytest.fixture(scope="module")
def stability():
    """Two benchmarks of thirty runs, one of which no group of three runs or fewer tells apart."""
    times = perfarray.simulate(
        sizes={"execution": 30},
        variances={"execution": 1e-5},
        dims={"benchmark": ["fft", "sort"]},
        rng=1,
    )["time"]
    rough = times.where(times["benchmark"] == "fft", 1 + 50 * (times - 1)).assign_attrs(times.attrs)
    return rough.perf.estimator_stability(group_sizes=[1, 2, 3], statistics=["mean", "min"])


def test_estimators_of_one_cell_are_lines(stability):
    """Beside the paper's deviation the adjusted one in percent, and the line below which one
    percent is told apart."""
    cell = stability.sel(benchmark="fft")
    ax = cell.perf.plot()
    for name in ("mean", "min"):
        np.testing.assert_array_equal(
            heights(ax, name), 100 * cell["relative_standard_deviation"].sel(statistic=name)
        )
    adjusted = [line.get_ydata() for line in lines(ax, "adjusted")]
    np.testing.assert_array_equal(
        adjusted, 100 * cell["adjusted_standard_deviation"].transpose("statistic", ...)
    )
    assert heights(ax, "1 % can be told apart") == [0.5, 0.5]


def test_estimators_of_several_cells_have_rows(stability):
    """The required size, side by side for both estimators; an arrow at the border where none is
    large enough."""
    ax = stability.perf.plot()
    required = stability["required_group_size"]
    assert required.notnull().sum("statistic").values.tolist() == [2, 0]
    for name in ("mean", "min"):
        np.testing.assert_array_equal(points(ax, name), required.sel(statistic=name))
        assert abs(heights(ax, name) - [0, 1]).max() < 0.2
    np.testing.assert_allclose(
        np.concatenate([line.get_ydata() for line in lines(ax, "arrow")]), [0.92, 1.08]
    )


def test_orders_are_drawn_in_percent():
    """A line for each estimator, beside the requested share; of several cells the size that has
    it."""
    times = simulated(30, version=["old", "new"])
    shifted = times + 0.02 * (times["version"] == "new")
    orders = shifted.perf.ordering_stability(
        "old", group_sizes=[1, 3, 5], statistics=["mean", "min"]
    )
    ax = orders.perf.plot()
    np.testing.assert_array_equal(
        heights(ax, "mean"), 100 * orders["right"].sel(statistic="mean").values.ravel()
    )
    assert heights(ax, "95 % are in the right order") == [95, 95]
    machines = xr.concat(
        [orders, orders], xr.DataArray(["fft", "sort"], dims="benchmark", name="benchmark")
    )
    assert (
        machines.assign_attrs(orders.attrs).perf.plot().get_xlabel()
        == "runs in a group, so that 95 % are in the right order"
    )
