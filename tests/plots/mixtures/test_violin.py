"""Violins: the runs of several configurations side by side."""

import pytest
import xarray as xr

import perfarray
from picture_parts import columns, texts


def violin(times, **keywords):
    """Draw violins of all values."""
    return times.perf.plot.violin(**keywords)


@pytest.fixture
def times() -> xr.DataArray:
    return perfarray.from_samples({"old": [1.0, 1.1, 1.2, 2.0, 2.1, 2.2], "new": [1.0] * 6})["time"]


def test_violins_stand_side_by_side(times):
    """One per configuration, the median a dot, a constant a line."""
    ax = violin(times)
    assert columns(ax) == ["old", "new"]
    assert [line.get_ydata()[0] for line in ax.lines] == [1.2, 1.0]
    assert ax.get_ylabel() == "time"


def test_very_different_violins_share_a_scale():
    """Medians more than five times apart: runs are divided by their median, which stands under the name; otherwise, or on request, not."""
    times = perfarray.from_samples({"short": [0.001, 0.002, 0.003], "long": [10.0, 10.0, 12.0]})["time"]
    ax = violin(times)
    assert columns(ax) == ["short\n2 ms", "long\n10 s"]
    assert [line.get_ydata()[0] for line in ax.lines] == [1.0, 1.0]
    assert ax.get_ylabel() == "time / median"
    assert [line.get_ydata()[0] for line in violin(times, relative=False).lines] == [0.002, 10.0]
    assert violin(times.sel(version=["long"])).get_ylabel() == "time"


def test_many_violins_stand_closer_and_too_many_show_the_extremes():
    """Beyond sixteen names stand upright; beyond fifty the narrowest and the widest are drawn, and the title says so."""
    runs = [[1.0, 1.0 + 0.01 * number, 1.0 + 0.02 * number] for number in range(1, 61)]
    times = perfarray.from_samples({f"v{number}": sample for number, sample in enumerate(runs)})["time"]
    some, many = violin(times.isel(version=slice(20))), violin(times)
    assert {text.get_rotation() for text in some.get_xticklabels()} == {90}
    assert max(axes.figure.get_figwidth() for axes in (some, many)) <= 16.5
    drawn = [text.get_text() for text in many.get_xticklabels()]
    assert drawn == [f"v{number}" for number in (*range(25), *range(35, 60))]
    assert [line.get_ydata()[0] for line in many.lines][-1] == runs[-1][1]
    assert "50 of 60: lowest and highest" in many.get_title(loc="left")


def test_without_repetitions_there_is_nothing_to_draw(times):
    """The message names the dim without labels, or the dims there are."""
    with pytest.raises(ValueError, match="no timings: 'version' has no labels"):
        violin(times.isel(version=[]))
    with pytest.raises(ValueError, match="no repetition level"):
        violin(times.isel(execution=0))


def test_a_cell_without_runs_says_so(times):
    """It keeps its place."""
    ax = violin(times.where(times["version"] == "old"))
    assert texts(ax) == ["not measured"]
    assert len(ax.get_xticks()) == 2


def test_runs_are_those_that_numbers_describe():
    """Executions, their iterations averaged, unless `value=` names another level."""
    nested = perfarray.from_samples({"old": [[1.0, 3.0], [2.0, 4.0], [3.0, 8.0]]}, level=("execution", "iteration"))
    medians = [nested.perf.plot.violin(**keywords).lines[0].get_ydata()[0] for keywords in ({}, {"value": "iteration"})]
    assert medians == [3.0, 3.0]
    heights = [nested.perf.plot.violin(**keywords).dataLim.intervaly.tolist() for keywords in ({}, {"value": "iteration"})]
    assert heights == [[2.0, 5.5], [1.0, 8.0]]
    with pytest.raises(ValueError, match="value='session' is not known"):
        nested.perf.plot.violin(value="session")


def test_violins_that_one_axis_would_flatten_are_relative():
    """Medians four times apart with spreads of 1 %: shapes are seen; the title says of what they are."""
    times = perfarray.simulate(sizes={"execution": 9}, variances={"execution": 1e-4}, dims={"benchmark": 3}, rng=1)["time"]
    apart = (times * xr.DataArray([1.0, 1.0, 4.0], dims="benchmark")).assign_attrs(times.attrs)
    assert violin(times).get_ylabel() == "time"
    assert violin(apart).get_ylabel() == "time / median"
    assert violin(apart.isel(benchmark=[0, 1])).get_title(loc="left").replace("\n", " ") == "Distribution of time over executions"
    constants = perfarray.from_samples({"a": [1.0, 1.0], "b": [1.2, 1.2]})["time"]
    assert violin(constants).get_ylabel() == "time"
