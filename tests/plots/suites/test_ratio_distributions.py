"""Histograms of exchanges and of redrawn scores: bars count what a result keeps, marks stand where it says."""

import numpy as np
import pytest
import xarray as xr

import perfarray

pytestmark = pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")

TIMES = perfarray.simulate(
    sizes={"execution": 5}, variances={"execution": 1e-4}, dims={"machine": 3, "benchmark": 4, "version": ["old", "new"]}, rng=1
)["time"]
ONE = TIMES.isel(machine=0)


def heights(ax):
    """Return how many of the highest bar each bar is, of one histogram."""
    (histogram,) = ax.patches
    values, _, foot = histogram.get_data()
    return (foot - values) / (foot - values).max()


def test_exchanges_with_the_ratio_observed():
    """Irving's figure 3: the histogram of what is kept, one line at the ratio, one at 1, p beside."""
    found = ONE.perf.randomization_test("old", distribution=True, rng=1)
    ax = found.perf.plot(bins=20)
    counts = np.histogram(found["null_distribution"], 20)[0]
    np.testing.assert_allclose(heights(ax), counts / counts.max())
    (mark,) = ax.collections
    np.testing.assert_allclose(mark.get_segments()[0][:, 0], found["statistic"].item())
    assert [line.get_xdata()[0] for line in ax.lines] == [1]
    assert [text.get_text() for text in ax.texts if text.get_gid() == "beside"] == [f"{found['pvalue'].item():.3f}"]
    assert ax.get_xlabel() == "geometric mean of time, candidate / baseline\n500 random exchanges of units"
    assert ax.get_title(loc="left") == "Randomization test, new compared with old"


@pytest.mark.parametrize(
    ("method", "words"),
    [("t", "distribution that the t interval is read off"), ("percentile", "units redrawn 500 times (percentile)")],
)
def test_redrawn_scores_with_the_limits(method, words):
    """Irving's figure 4: a bar from limit to limit below every histogram, the ratio observed in it."""
    found = TIMES.perf.score_ratio_interval("old", method=method, distribution=True, rng=1)
    ax = found.perf.plot()
    limits, marks = ([part.get_segments()[0][:, 0] for part in ax.collections[place::2]] for place in (0, 1))
    np.testing.assert_allclose(limits, np.stack([found["lower"].values.ravel(), found["upper"].values.ravel()], axis=1))
    np.testing.assert_allclose([mark[0] for mark in marks], found["estimate"].values.ravel())
    assert ax.get_xlabel().endswith(words)
    assert [len(histogram.get_data()[0]) for histogram in ax.patches] == [40] * 3


def test_an_open_side_ends_with_the_histogram_and_one_unit_has_none():
    """A one-sided interval; a cell of one unit is a mark, one without data says so."""
    found = ONE.perf.score_ratio_interval("old", alternative="less", distribution=True)
    ax = found.perf.plot()
    np.testing.assert_allclose(ax.collections[0].get_segments()[0][:, 0], [found["distribution"].min(), found["upper"].item()])
    few = TIMES.where((TIMES["machine"] != "machine1") | (TIMES["execution"] == 0)).where(TIMES["machine"] != "machine2")
    ax = few.perf.score_ratio_interval("old", distribution=True).perf.plot()
    assert len(ax.patches) == 1
    assert [text.get_text() for text in ax.texts if text.get_gid() != "beside"] == ["not measured on both sides", "ratio"]


def test_what_is_not_kept_is_drawn_as_before():
    """Without the distribution, p-values and the forest plot; bins that make no histogram are refused."""
    found = ONE.perf.randomization_test("old", method="exact", distribution=True, shared="execution")
    assert found.drop_vars("null_distribution").perf.plot().get_xlabel() == "two-sided p, all exchanges"
    assert found.perf.plot().get_xlabel().endswith("all exchanges of units")
    with pytest.raises(ValueError, match="bins=0: give a whole number of at least 1"):
        found.perf.plot(bins=0)


def test_a_hundred_cells_are_the_extremes():
    """Thirty have room; the title says which."""
    many = xr.concat([TIMES.isel(machine=0)] * 100, "machine").assign_coords(machine=[f"m{place}" for place in range(100)])
    many = many * xr.DataArray(np.where(np.arange(100) < 50, 1.0, 1.1), dims="machine").where(many["version"] == "new", 1.0)
    ax = many.assign_attrs(TIMES.attrs).perf.score_ratio_interval("old", distribution=True).perf.plot()
    assert "30 of 100: lowest and highest ratio" in ax.get_title(loc="left").replace("\n", " ")
    assert ax.figure.get_figheight() < 17
