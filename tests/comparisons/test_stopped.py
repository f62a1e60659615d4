"""Runs that were stopped or that failed: `compare` and `ratio_interval` give one answer."""

import warnings

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import perfarray
from perfarray.comparisons.methods import MEDIAN_METHODS
from perfarray.numerics.intervals import BOOTSTRAP_METHODS, RATIO_METHODS

ROW = ("estimate", "lower", "upper", "df", "n", "kind", "dependence_pvalue")
METHODS = [("mean", method) for method in RATIO_METHODS + BOOTSTRAP_METHODS] + [
    ("median", method) for method in MEDIAN_METHODS
]


@st.composite
def marked_timings(draw):
    """Timings of two versions of three benchmarks: some runs were stopped, with a limit or without,
    and some failed."""
    size, better = draw(st.sampled_from([3, 9, 33])), draw(st.sampled_from(["lower", "higher"]))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    values, marks = rng.lognormal(0, 0.03, (2, 3, size)), np.zeros((2, 3, size), dtype=bool)
    for _ in range(draw(st.integers(1, 2 * size))):
        place = (draw(st.integers(0, 1)), draw(st.integers(0, 2)), draw(st.integers(0, size - 1)))
        what = draw(st.sampled_from(["stopped", "without a limit", "failed"]))
        marks[place] |= what != "failed"
        values[place] = {
            "stopped": 1.2 if better == "lower" else 0.8,
            "without a limit": np.nan,
            "failed": np.nan,
        }[what]
    coords = {
        "version": ["old", "new"],
        "benchmark": ["fft", "lu", "sort"],
        "censored": (("version", "benchmark", "execution"), marks),
    }
    return xr.DataArray(
        values,
        dims=("version", "benchmark", "execution"),
        coords=coords,
        name="time",
        attrs={"better": better},
    )


@pytest.mark.parametrize(("statistic", "method"), METHODS)
@given(times=marked_timings())
def test_comparisons_and_intervals_agree(statistic, method, times):
    """Whatever the method, and whichever runs were stopped or failed, the row of a comparison is
    the interval of the ratio."""
    options = {"statistic": statistic, "method": method}
    options |= {"n_resamples": 39, "rng": 1} if method in BOOTSTRAP_METHODS else {}
    with warnings.catch_warnings(action="ignore"):
        verdicts, ratios = (
            times.perf.compare("old", **options),
            times.perf.ratio_interval("old", **options),
        )
    for name in ROW:
        xr.testing.assert_allclose(verdicts[name], ratios[name])


@pytest.mark.parametrize("method", MEDIAN_METHODS)
def test_one_stopped_run_of_many_leaves_both_limits_of_a_median(method):
    """The limits hold whatever that run would have taken, so that a verdict of "slower" stays: 40
    runs are 10 % slower."""
    rng = np.random.default_rng(1)
    times = perfarray.from_samples(
        {"old": rng.normal(10, 0.1, 40), "new": rng.normal(11, 0.1, 40)}
    )["time"]
    marks = (times["version"] == "new") & (times["execution"] == 7)
    options = {"statistic": "median", "method": method} | (
        {"rng": 1, "n_resamples": 199} if method in BOOTSTRAP_METHODS else {}
    )
    with pytest.warns(perfarray.PerfarrayWarning, match="hold whatever they would have taken"):
        stopped = (
            times.where(~marks, 11.5).assign_coords(censored=marks).perf.compare("old", **options)
        )
    assert stopped["kind"].item() == "bounded"
    assert stopped["verdict"].item() == "slower"
    for longer in (11.5, 1e6):
        alone = times.where(~marks, longer).perf.compare("old", **options)
        assert stopped["lower"].item() <= alone["lower"].item()
        assert stopped["upper"].item() >= alone["upper"].item()
        assert stopped["pvalue"].item() >= alone["pvalue"].item()
