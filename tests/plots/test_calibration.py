"""Shares of comparisons and experiments: points with two standard errors, and where they ought to lie."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray import plots
from picture_parts import beside, columns, texts

NEST = {"sizes": {"execution": [3, 10]}, "variances": {"execution": 1e-4}, "n_experiments": 60, "rng": 1}


def test_shares_and_errors():
    """In percent, in their rows; the dotted line is the level asked for."""
    found = perfarray.coverage("ratio_interval", confidence_level=0.9, **NEST)
    ax = found.perf.plot()
    (points,) = (line for line in ax.lines if line.get_gid() == "rate")
    np.testing.assert_allclose(points.get_xdata(), 100 * found["estimate"])
    np.testing.assert_allclose(ax.lines[0].get_xdata(), 90)
    ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(ends[:, 0], 100 * (found["estimate"] - 2 * found["error"]))
    assert beside(ax) == [f"{100 * share:.1f} %" for share in found["estimate"]]


@pytest.mark.filterwarnings("ignore:of comparisons between halves:UserWarning")
def test_rules_have_the_rates_of_their_cells():
    """A grey mark for each benchmark; of one benchmark no error is known, and none is drawn."""
    times = perfarray.simulate(sizes={"execution": 8}, variances={"execution": 1e-4}, dims={"benchmark": 3}, rng=1)
    found = times.perf.calibrate(rules=("perfarray", "pooled_t"), rng=1)
    ax = found.perf.plot()
    marks = [line.get_xdata() for line in ax.lines if line.get_gid() == "cells"]
    np.testing.assert_allclose(marks, 100 * found["cell_rate"])
    assert "pyperf" in texts(ax)
    both = xr.Dataset({"time": times["time"], "energy": 2 * times["time"]}).perf.calibrate(
        rules="pooled_t", metric=["time", "energy"], rng=1
    )
    ax = both.perf.plot()
    marks = [line.get_xdata() for line in ax.lines if line.get_gid() == "cells"]
    np.testing.assert_allclose(marks, 100 * both["cell_rate"].squeeze("rule"))
    single = times.isel(benchmark=[0]).perf.calibrate(rules="perfarray", rng=1).perf.plot()
    assert not np.size(single.collections[0].get_segments())


def test_a_map_has_a_field_for_every_share():
    """Along two dims, the first upwards; others have to be selected."""
    nest = {"sizes": {"execution": [3, 10], "iteration": [1, 2, 4]}, "variances": {"execution": 1e-4}, "n_experiments": 20, "rng": 1}
    found = perfarray.false_alarm_rate("compare", threshold=[0.0, 0.01], **nest)
    ax = found.sel(threshold=0).perf.plot(kind="map")
    assert texts(ax, "share") == [f"{100 * share:.0f}" for share in found["estimate"].sel(threshold=0).values.ravel()]
    assert columns(ax) == ["1", "2", "4"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("execution", "iteration")
    with pytest.raises(ValueError, match="a map has two dims, and the result has"):
        found.perf.plot(kind="map")
    with pytest.raises(ValueError, match="kind='heat' is not known"):
        found.perf.plot(kind="heat")


def test_other_results_have_no_rates():
    """The message names those that have."""
    times = perfarray.simulate(sizes={"execution": 3}, variances={"execution": 1e-4}, rng=1)
    with pytest.raises(ValueError, match="a result of 'mean_interval' has no rates; those of calibrate, coverage"):
        plots.rates(times.perf.mean_interval())
