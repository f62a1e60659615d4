"""Shares of comparisons and experiments: points with two standard errors, and their targets."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgb

import perfarray
from perfarray import plots
from picture_parts import columns, lines, points, rows, segments, side_texts, simulated, texts

NEST = {
    "sizes": {"execution": [3, 10]},
    "variances": {"execution": 1e-4},
    "n_experiments": 60,
    "rng": 1,
}


@pytest.mark.parametrize(
    ("function", "options", "target"),
    [
        (perfarray.coverage, {"confidence_level": 0.9}, 90),
        (perfarray.false_alarm_rate, {"confidence_level": 0.9}, 10),
        (perfarray.power, {"ratio": 0.99}, 80),
    ],
)
def test_shares_and_errors(function, options, target):
    """In percent, in their rows, with two standard errors inside 0 to 100 %; the dotted line is the
    target."""
    result = function("ratio_interval" if target == 90 else "compare", **options, **NEST)
    ax = result.perf.plot()
    assert points(ax, kind="rate") == pytest.approx((100 * result["estimate"]).values)
    assert ax.lines[0].get_xdata() == pytest.approx([target, target])
    ends = 100 * np.stack(
        [result["estimate"] - 2 * result["error"], result["estimate"] + 2 * result["error"]], axis=1
    )
    np.testing.assert_allclose(segments(ax), ends.clip(0, 100))
    assert side_texts(ax) == [f"{100 * share:.1f} %" for share in result["estimate"]]


@pytest.mark.filterwarnings("ignore:of comparisons between halves:UserWarning")
def test_rules_have_the_rates_of_their_cells():
    """A grey mark for each benchmark, also of several metrics; of one benchmark no error is known,
    and none is drawn."""
    times = simulated(8, benchmark=3)
    rules = times.perf.calibrate(rules=("perfarray", "pooled_t"), rng=1)
    metrics = xr.Dataset({"time": times, "energy": 2 * times})
    metrics = metrics.perf.calibrate(rules="pooled_t", metric=["time", "energy"], rng=1)
    for result in (rules, metrics):
        rates = [line.get_xdata() for line in lines(result.perf.plot(), "cells")]
        np.testing.assert_allclose(rates, 100 * result["cell_rate"].values.reshape(2, 3))
    assert "pyperf" in texts(rules.perf.plot())
    assert rows(rules.perf.plot()) == ["perfarray", "pooled t"]
    assert (
        segments(times.isel(benchmark=[0]).perf.calibrate(rules="perfarray", rng=1).perf.plot())
        == []
    )


def test_a_map_has_a_field_for_every_share():
    """Along two dims, the first upwards; red is worse and blue better, at five points from the
    target with full colour."""
    nest = {
        "sizes": {"execution": [3, 10], "iteration": [1, 2, 4]},
        "variances": {"execution": 1e-4},
        "n_experiments": 20,
        "rng": 1,
    }
    result = perfarray.false_alarm_rate("compare", threshold=[0.0, 0.01], **nest)
    rates = result.sel(threshold=0)
    ax = rates.perf.plot(kind="map")
    assert texts(ax, "share") == [
        f"{100 * share:.0f}" for share in rates["estimate"].values.ravel()
    ]
    assert columns(ax) == ["1", "2", "4"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("execution", "iteration")
    for name, worse in (("false_alarm_rate", 0.1), ("coverage", 0.9)):
        shares = rates["estimate"].copy(data=np.full((2, 3), worse))
        mesh = (
            rates.assign(estimate=shares)
            .assign_attrs(result=name)
            .perf.plot(kind="map")
            .collections[0]
        )
        mesh.update_scalarmappable()
        red, _, blue = to_rgb(mesh.get_facecolor()[0])
        assert red > 2 * blue
        assert mesh.get_clim() == pytest.approx(
            (0, 10) if name == "false_alarm_rate" else (90, 100)
        )
    with pytest.raises(ValueError, match="a map has two dims, and the result has"):
        result.perf.plot(kind="map")


def test_bad_input():
    with pytest.raises(
        ValueError, match="a result of 'mean_interval' has no rates; those of calibrate, coverage"
    ):
        plots.rates(simulated(3).perf.mean_interval())
    with pytest.raises(ValueError, match="kind='heat' is not known"):
        perfarray.coverage("ratio_interval", **NEST).perf.plot(kind="heat")
