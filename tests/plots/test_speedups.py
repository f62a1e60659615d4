"""Which way each benchmark went through the Speedup-Test."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.plots import draw, protocol

OLD = [2.799, 2.046, 1.259, 1.877, 2.244]
NEW = [1.046, 0.259, 0.877, 1.244, 1.799]


@pytest.fixture
def times():
    """A benchmark that is faster, and one with a sample of equal values."""
    both = [perfarray.from_samples({"old": old, "new": NEW})["time"] for old in (OLD, [2.0] * 5)]
    return xr.concat(both, "benchmark").assign_coords(benchmark=["fft", "flat"])


def test_a_box_per_step(times):
    """Steps from left to right, boxes only where they were reached, beside them what was found."""
    ax = draw(times.perf.speedup_test("old", confidence_level=0.95))
    texts = [text.get_text() for text in ax.texts]
    assert texts[:4] == ["0.965  normal", "0.965  normal", "1  equal variances", "0.0112  significant"]
    assert texts[4:8] == ["no answer", "0.965  normal", "–", "–"]
    assert "1.957, 95 %" in texts
    assert len(ax.patches) == 6
    assert [label.get_text() for label in ax.get_yticklabels()] == ["fft", "flat"]
    assert ax.get_title(loc="left") == "Speedup-Test, new compared with old"
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["condition holds", "chooses the test", "significant", "stops"]


def test_a_search_shows_the_risk_of_every_row():
    """Rows have levels of their own: a condition stands beside the risk it was judged at, and nothing is called normal or not."""
    rng = np.random.default_rng(1)
    values = 10 + rng.normal(size=(2, 6, 40)) * 0.1
    values[1] -= np.linspace(0, 0.06, 6)[:, None]
    values[1, 0] += 0.1
    coords = {"version": ["old", "new"]}
    times = xr.DataArray(values, dims=("version", "benchmark", "execution"), coords=coords, name="time", attrs={"units": "s"})
    found = times.perf.speedup_test("old")
    texts = [text.get_text() for text in draw(found).texts]
    assert not [text for text in texts if "normal" in text]
    assert [text for text in texts if text.endswith(", no (slower)")]
    for row in range(6):
        cell = found.isel(benchmark=row).squeeze()
        for step in ("normal_baseline", "normal_candidate"):
            p, risk = cell["step_pvalue"].sel(step=step).item(), 1 - cell["judged_level"].item()
            assert f"{p:.3g}  {'>' if p > risk else '≤'} {risk:.3g}" in texts


def test_the_median(times):
    """Two steps; a speedup that is not significant says no."""
    ax = protocol(times.sel(benchmark="fft").perf.speedup_test("old", statistic="median", confidence_level=0.999))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["Kolmogorov-Smirnov\nless the medians", "is it faster?"]
    assert any(text.get_text().endswith(", no") for text in ax.texts)
    assert np.isfinite(ax.get_ylim()).all()


def test_a_report(tmp_path):
    """Filled where significant, hollow where not, nothing where a file is missing; the suite below, the proportion in the title."""
    samples = {"old": OLD, "new": NEW, "even": [value + 0.01 for value in OLD]}
    for name, runs in samples.items():
        (tmp_path / name).write_text("\n".join(map(str, runs)))
    rows = ["Name,Sample1,Sample2,ConfLevel,Coef", "fft,old,new,,", "lu,old,even,,", "gone,old,nowhere,,"]
    (tmp_path / "bench.cfg").write_text("\n".join(rows))
    with pytest.warns(perfarray.PerfarrayWarning, match="cannot be read"):
        result = perfarray.speedup_report(tmp_path / "bench.cfg", confidence_level=0.95)
    ax = draw(result)
    means = [line for line in ax.lines if line.get_marker() == "o"]
    filled, hollow, whole = (line.get_xdata().tolist() for line in means)
    speedups = result["speedup"].sel(statistic="mean").values
    assert filled == [speedups[0]]
    np.testing.assert_array_equal(hollow, speedups[1:])
    assert [line.get_markerfacecolor() for line in means[:2]] == [means[0].get_color(), "white"]
    assert whole == [result["overall_speedup"].sel(statistic="mean").item()]
    assert {"95 %, 95 %", "no, no", "–", "not measured"} <= {text.get_text() for text in ax.texts}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["fft", "lu", "gone", "all benchmarks"]
    assert "1 of 3 of the mean" in ax.get_title(loc="left").replace("\n", " ")
