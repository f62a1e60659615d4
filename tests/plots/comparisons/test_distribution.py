"""Bootstrap distributions: histograms, marks, words, and what is refused."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

import perfarray
from perfarray.plots.figure import COLOURS, DARK

pytestmark = pytest.mark.filterwarnings("ignore:.*cells rest on fewer than 30 units:UserWarning")  # few units draw faster


def distribution(result, **keywords):
    """Draw histograms."""
    return result.perf.plot(**keywords)


def bars(ax):
    """Return how high the bars of one histogram are, and where they stand."""
    (histogram,) = ax.patches
    values, edges, foot = histogram.get_data()
    return foot - values, edges


@pytest.fixture
def drawn():
    """Two benchmarks with two versions, 200 replicates each."""
    times = perfarray.simulate(
        sizes={"execution": 8, "iteration": 3},
        variances={"execution": 0.01, "iteration": 0.01},
        mean=10.0,
        dims={"benchmark": ["fft", "sort"], "version": ["old", "new"]},
        rng=1,
    )
    return times.perf.bootstrap_distribution(resample="all", n_resamples=200, rng=1)


def test_bars_count_the_replicates(drawn):
    """Every histogram holds all replicates; the highest bar is as high as a row allows; the bar under it spans 90 % of them."""
    one = drawn.sel(benchmark="fft", version="old")
    ax = distribution(one, bins=10, confidence_level=0.9)
    heights, edges = bars(ax)
    counts, wanted = np.histogram(one, bins=10)
    np.testing.assert_allclose(heights / heights.max(), counts / counts.max())
    np.testing.assert_allclose(edges, wanted)
    spans, marks = (part for part in ax.collections)
    assert to_hex(spans.get_color()[0]) == COLOURS[0].lower()
    np.testing.assert_allclose(spans.get_segments()[0][:, 0], np.quantile(one, [0.05, 0.95]))
    assert to_hex(marks.get_color()[0]) == DARK
    np.testing.assert_allclose(marks.get_segments()[0][:, 0], float(one["observed"]))


def test_a_ratio_is_that_of_replicates_that_belong_together(drawn):
    """One label over another, replicate by replicate, with the ratio of the data and the line of no change; alone it is refused."""
    one = drawn.sel(benchmark="fft")
    ax = one.perf.plot(baseline="old", bins=10, confidence_level=0.9)
    ratio = (one.sel(version="new").values / one.sel(version="old").values).ravel()
    heights, edges = bars(ax)
    counts, wanted = np.histogram(ratio, bins=10)
    np.testing.assert_allclose(heights / heights.max(), counts / counts.max())
    np.testing.assert_allclose(edges, wanted)
    spans, marks = ax.collections
    np.testing.assert_allclose(spans.get_segments()[0][:, 0], np.quantile(ratio, [0.05, 0.95]))
    observed = one["observed"].sel(version="new") / one["observed"].sel(version="old")
    np.testing.assert_allclose(marks.get_segments()[0][:, 0], float(observed))
    assert [line.get_xdata()[0] for line in ax.lines] == [1.0]
    assert ax.get_title(loc="left") == "Bootstrap distribution, new compared with old, fft"
    assert ax.get_xlabel().startswith("mean of time, candidate / baseline;")
    with pytest.raises(ValueError, match="'old' is the only label along 'version'"):
        one.sel(version=["old"]).perf.plot(baseline="old")


def test_each_cell_has_a_row(drawn):
    """Rows in groups, one legend, words that say what was redrawn."""
    ax = drawn.perf.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["old", "new", "old", "new"]
    assert ax.get_title(loc="left") == "Bootstrap distribution"
    assert all(fact in ax.get_xlabel() for fact in ("mean of time", "execution, iteration", "95 %", "200"))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["replicates", "95 % of them", "data"]


def test_method_draws_what_it_computes():
    """`times.perf.plot.distribution` takes the keywords of `bootstrap_distribution`; a flat draw is called one."""
    times = perfarray.from_samples({"a": [1.0, 1.2, 1.1], "b": [2.0, 2.2, 1.9]})
    ax = times.perf.plot.distribution(resample="flat", statistic="median", n_resamples=50, rng=1)
    assert all(fact in ax.get_xlabel() for fact in ("median of time", "nest ignored", "95 %", "50"))
    assert "execution" not in ax.get_xlabel()


def test_cells_far_apart_share_a_relative_axis(drawn):
    """Microseconds beside seconds: each histogram about its own 100 %, the statistic written at the right in its unit."""
    apart = drawn.sel(version="old") * xr.DataArray([2e-6, 0.4], dims="benchmark")
    apart = apart.assign_coords(observed=apart["observed"] * xr.DataArray([2e-6, 0.4], dims="benchmark")).assign_attrs(drawn.attrs)
    ax = distribution(apart, bins=10)
    assert ax.get_xlabel().startswith("mean of time, relative to the data's;\nlevels redrawn")
    marks = [collection.get_segments()[0][0, 0] for collection in ax.collections if collection.get_label() == "data"]
    np.testing.assert_allclose(marks, 100)
    beside = [text.get_text() for text in ax.texts if text.get_gid() == "beside"]
    assert [text.rpartition(" ")[2] for text in beside] == ["µs", "s"]
    ax.figure.canvas.draw()
    assert "+0 %" in [label.get_text() for label in ax.get_xticklabels()]
    left, right = ax.get_xlim()
    assert right - left < 20


def test_ticks_carry_the_unit_and_the_label_does_not(drawn):
    """Milliseconds on the ticks do not stand beside seconds in the label."""
    small = (drawn * 1e-3).assign_coords(observed=drawn["observed"] * 1e-3).assign_attrs(drawn.attrs)
    ax = distribution(small)
    ax.figure.canvas.draw()
    assert all(label.get_text().endswith("ms") for label in ax.get_xticklabels())
    assert ax.get_xlabel().startswith("mean of time; ")


def test_a_dataset_with_one_distribution_is_drawn(drawn, tmp_path):
    """As a file gives it back; without one, or with two, it is refused."""
    drawn.to_netcdf(tmp_path / "drawn.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "drawn.nc", engine="h5netcdf") as back:
        assert distribution(back).get_xlabel() == distribution(drawn).get_xlabel()
    with pytest.raises(ValueError, match="no picture for an object without the attr 'result'"):
        distribution(xr.Dataset({"one": drawn, "two": drawn}))


def test_cells_without_data_say_so(drawn):
    """An empty cell keeps its row."""
    ax = distribution(drawn.where(drawn["benchmark"] != "sort"))
    assert [text.get_text() for text in ax.texts if text.get_text() == "not measured"] == ["not measured"] * 2


def test_replicates_that_are_all_the_same_have_no_histogram(drawn):
    """But for rounding: the mark of the data stands alone."""
    ax = distribution(drawn.sel(benchmark="fft", version="old") * 0 + 0.1 + np.arange(200) * 1e-17)
    assert not ax.patches


def test_intervals_have_a_picture(drawn):
    """What `bootstrap_interval` returns is drawn as intervals are."""
    found = drawn.perf.bootstrap_interval(method="basic")
    assert len(found.perf.plot().get_yticklabels()) == found["estimate"].size


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"confidence_level": 95}, "confidence_level=95 is out of range; give a number between 0 and 1"),
        ({"bins": 0}, "bins=0: give a whole number of at least 1"),
    ],
)
def test_bad_input(drawn, keywords, message):
    """What came and what is needed."""
    with pytest.raises(ValueError, match=message):
        distribution(drawn, **keywords)
