"""The steps of the Speedup-Test of each benchmark, and its report of a suite."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.plots import draw, protocol
from picture_parts import columns, legend, rows, texts, title

OLD = [2.799, 2.046, 1.259, 1.877, 2.244]
NEW = [1.046, 0.259, 0.877, 1.244, 1.799]


@pytest.fixture
def times():
    """A benchmark that is faster, and one with a sample of equal values."""
    benchmarks = [
        perfarray.from_samples({"old": old, "new": NEW})["time"] for old in (OLD, [2.0] * 5)
    ]
    return xr.concat(benchmarks, "benchmark").assign_coords(benchmark=["fft", "flat"])


def test_a_box_per_step(times):
    """Steps from left to right, boxes where they were reached, the speedup beside; of medians there
    are two steps."""
    ax = draw(times.perf.speedup_test("old", confidence_level=0.95))
    assert texts(ax)[:4] == [
        "normal\np 0.965",
        "normal\np 0.965",
        "equal variances\np 1",
        "significant\np 0.0112",
    ]
    assert texts(ax)[4:8] == ["no answer", "normal\np 0.965", "–", "–"]
    assert "1.957, 95 %" in texts(ax)
    assert len(ax.patches) == 6
    assert (rows(ax), title(ax)) == (["fft", "flat"], "Speedup-Test, new compared with old")
    assert legend(ax) == ["condition holds", "chooses the test", "significant", "stops"]
    ax = protocol(
        times.sel(benchmark="fft").perf.speedup_test(
            "old", statistic="median", confidence_level=0.999
        )
    )
    assert columns(ax) == ["Kolmogorov-Smirnov\nless the medians", "is it faster?"]
    assert any(text.endswith(", no") for text in texts(ax))
    assert np.isfinite(ax.get_ylim()).all()


def test_texts_fit_their_boxes():
    """The longest too: a small p, and a sample that is small and not normal."""
    ax = (
        perfarray.load_dataset("python_malloc")
        .perf.speedup_test("malloc", confidence_level=0.95)
        .perf.plot()
    )
    ax.figure.draw_without_rendering()
    inside = [text for text in ax.texts if "sample" in text.get_text()]
    assert len(inside) == 11
    for text in inside:
        column = text.get_position()[0]
        (left, _), (right, _) = ax.transData.transform([(column - 0.48, 0), (column + 0.48, 0)])
        extent = text.get_window_extent()
        assert left < extent.x0
        assert extent.x1 < right


def test_a_search_shows_the_risk_of_every_row():
    """Rows have levels of their own: a condition has the risk it was judged at beside its p, and
    nothing is called normal."""
    values = 10 + np.random.default_rng(1).normal(size=(2, 6, 40)) * 0.1
    values[1] -= np.linspace(0, 0.06, 6)[:, None]
    values[1, 0] += 0.1
    coords = {"version": ["old", "new"]}
    times = xr.DataArray(
        values,
        dims=("version", "benchmark", "execution"),
        coords=coords,
        name="time",
        attrs={"units": "s"},
    )
    tests = times.perf.speedup_test("old")
    written = texts(draw(tests))
    assert not [text for text in written if "normal" in text]
    assert [text for text in written if text.endswith(", no (slower)")]
    for row in range(6):
        cell = tests.isel(benchmark=row).squeeze()
        for step in ("normal_baseline", "normal_candidate"):
            p, risk = cell["step_pvalue"].sel(step=step).item(), 1 - cell["judged_level"].item()
            assert f"{p:.3g}  {'>' if p > risk else '≤'} {risk:.3g}" in written


def test_a_report(tmp_path):
    """Filled where significant, hollow where not, no row where a file is missing; the suite below,
    the proportion in the title."""
    for name, runs in {"old": OLD, "new": NEW, "even": [value + 0.01 for value in OLD]}.items():
        (tmp_path / name).write_text("\n".join(map(str, runs)))
    (tmp_path / "bench.cfg").write_text(
        "Name,Sample1,Sample2,ConfLevel,Coef\nfft,old,new,,\nlu,old,even,,\ngone,old,nowhere,,"
    )
    with pytest.warns(perfarray.PerfarrayWarning, match="cannot be read"):
        result = perfarray.speedup_report(tmp_path / "bench.cfg", confidence_level=0.95)
    ax = draw(result)
    means = [line for line in ax.lines if line.get_marker() == "o"]
    speedups = result["speedup"].sel(statistic="mean").values
    for line, numbers in zip(
        means,
        (speedups[:1], speedups[1:2], [result["overall_speedup"].sel(statistic="mean").item()]),
        strict=True,
    ):
        np.testing.assert_array_equal(line.get_xdata(), numbers)
    assert [line.get_markerfacecolor() for line in means[:2]] == [means[0].get_color(), "white"]
    assert {"95 %, 95 %", "no, no"} <= set(texts(ax))
    assert rows(ax) == ["fft", "lu", "all benchmarks"]
    assert "2 of 3: those measured" in title(ax)
    assert "1 of 3 of the mean" in title(ax)
