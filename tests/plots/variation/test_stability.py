"""Estimators against the size of the group."""

import numpy as np
import pytest
import xarray as xr

import perfarray


@pytest.fixture(scope="module")
def result():
    """Two benchmarks of thirty runs, one of which no group of three runs or fewer tells apart."""
    times = perfarray.simulate(sizes={"execution": 30}, variances={"execution": 1e-5}, dims={"benchmark": ["fft", "sort"]}, rng=1)["time"]
    rough = times.where(times["benchmark"] == "fft", 1 + 50 * (times - 1)).assign_attrs(times.attrs)
    return rough.perf.estimator_stability(group_sizes=[1, 2, 3], statistics=["mean", "min"])


def test_one_cell_has_a_line_for_each_estimator(result):
    """The paper's deviation and the adjusted one in percent, and the line below which one percent is told apart."""
    one = result.sel(benchmark="fft")
    ax = one.perf.plot()
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    adjusted = [line.get_ydata() for line in ax.lines if line.get_gid() == "adjusted"]
    np.testing.assert_array_equal([drawn["mean"], drawn["min"]], 100 * one["relative_standard_deviation"].transpose("statistic", ...))
    np.testing.assert_array_equal(adjusted, 100 * one["adjusted_standard_deviation"].transpose("statistic", ...))
    assert drawn["1 % can be told apart"] == [0.5, 0.5]


def test_several_cells_have_a_row_each(result):
    """The size that is needed, side by side for both estimators; where none is large enough an arrow stands at the border."""
    ax = result.perf.plot()
    needed = result["required_group_size"]
    assert needed.notnull().sum("statistic").values.tolist() == [2, 0]
    for name in ("mean", "min"):
        (line,) = [line for line in ax.lines if line.get_label() == name]
        np.testing.assert_array_equal(line.get_xdata(), needed.sel(statistic=name))
        assert abs(line.get_ydata() - [0, 1]).max() < 0.2
    beyond = [line.get_ydata() for line in ax.lines if line.get_gid() == "arrow"]
    np.testing.assert_allclose(np.concatenate(beyond), [0.92, 1.08])


def test_orders_are_drawn_in_percent():
    """A line for each estimator, beside the share that was asked for; of several cells the size that has it."""
    times = perfarray.simulate(sizes={"execution": 30}, variances={"execution": 1e-4}, dims={"version": ["old", "new"]}, rng=1)["time"]
    found = (times + 0.02 * (times["version"] == "new")).perf.ordering_stability("old", group_sizes=[1, 3, 5], statistics=["mean", "min"])
    ax = found.perf.plot()
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_array_equal(drawn["mean"], 100 * found["right"].sel(statistic="mean").values.ravel())
    assert drawn["95 % are in the right order"] == [95, 95]
    rows = (
        xr.concat([found, found], xr.DataArray(["fft", "sort"], dims="benchmark", name="benchmark")).assign_attrs(found.attrs).perf.plot()
    )
    assert rows.get_xlabel() == "runs in a group, so that 95 % are in the right order"
