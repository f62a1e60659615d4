"""p-values of tests and of studies: where they stand, the smallest possible, what is refused."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.plots import pvalues


def result(pvalue, **attrs):
    """Return tests of some machines."""
    labels = [f"m{place}" for place in range(len(pvalue))]
    variables = {"pvalue": pvalue, "statistic": np.full(len(pvalue), 0.9), "smallest_pvalue": np.full(len(pvalue), 2 / 501)}
    found = xr.Dataset({name: ("machine", values) for name, values in variables.items()}, {"machine": labels})
    return found.assign_attrs({"result": "randomization_test", "n_resamples": 500, "plus_one": 1, "baseline": "old", **attrs})


def drawn(ax, label):
    """Return the values drawn under a label of the legend."""
    return list(next(line for line in ax.lines if line.get_label() == label).get_xdata())


def test_pvalues_stand_beside_the_smallest_possible():
    """Points at p, ticks at 2 / 501, a line at 0.05, the ratio beside; a cell without data says so."""
    ax = result([0.004, 0.3, np.nan]).perf.plot()
    np.testing.assert_array_equal(drawn(ax, "p"), [0.004, 0.3, np.nan])
    np.testing.assert_allclose(drawn(ax, "smallest p possible"), 2 / 501)
    assert drawn(ax, "0.05") == [0.05, 0.05]
    assert [text.get_text() for text in ax.texts if text.get_gid() == "beside"] == ["0.900"] * 3
    assert any(text.get_text() == "not measured on both sides" for text in ax.texts)
    assert ax.get_title(loc="left") == "Randomization test, compared with old"


def test_one_sided_and_exact_are_said():
    """All 20 exchanges of three runs against three: one of them is as extreme, on one side."""
    times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    ax = times.perf.randomization_test("old", method="exact", alternative="less").perf.plot()
    assert drawn(ax, "smallest p possible") == drawn(ax, "p") == [0.05]
    assert ax.get_xlabel() == "one-sided (less) p, all exchanges"


def test_few_exchanges_have_no_small_p_however_many_are_drawn():
    """Three runs against three have 20 exchanges: 500 random ones do not give a p below 0.1."""
    times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    ax = times.perf.randomization_test("old", n_resamples=500, rng=1).perf.plot()
    assert drawn(ax, "smallest p possible") == [0.1]


def test_a_p_of_zero_is_an_arrow_at_the_border():
    """The paper's b / M may be zero, which a logarithmic axis has no place for."""
    ax = pvalues(result([0.0, 0.1], plus_one=0))
    (arrow,) = [line for line in ax.lines if line.get_gid() == "arrow"]
    assert arrow.get_xdata().tolist() == [0.0]
    assert drawn(ax, "p") == [0.1]


def test_a_study_stands_in_the_order_of_its_corrected_p():
    """The smallest on top, whatever order benchmarks have; hollow points are p before the correction; the line is the risk asked for."""
    times = perfarray.simulate(
        sizes={"execution": 30}, variances={"execution": 1e-4}, dims={"benchmark": 3, "version": ["old", "new"]}, rng=1
    )["time"]
    found = times.perf.compare("old", correction="holm", confidence_level=0.9)
    ax = found.perf.plot(kind="pvalues")
    order = np.argsort(found["pvalue_adjusted"].values.ravel())
    assert [text.get_text() for text in ax.get_yticklabels()] == found["benchmark"].values[order].tolist()
    np.testing.assert_array_equal(drawn(ax, "p"), found["pvalue_adjusted"].values.ravel()[order])
    np.testing.assert_array_equal(drawn(ax, "p before the correction"), found["pvalue"].values.ravel()[order])
    assert drawn(ax, "0.1") == [0.1, 0.1]
    assert ax.get_xlabel() == "two-sided p, corrected (holm)"
    with pytest.raises(ValueError, match="kind='bars' is not known"):
        found.perf.plot(kind="bars")
    with pytest.raises(ValueError, match="'ratio_interval' has no p-values"):
        times.perf.ratio_interval("old").perf.plot(kind="pvalues")


def test_other_tests_have_the_same_picture():
    """Normality with W beside p; the hierarchical test with its speedup."""
    times = perfarray.simulate(
        sizes={"execution": 6}, variances={"execution": 1e-4}, dims={"benchmark": 6, "version": ["old", "new"]}, rng=1
    )["time"]
    for found, name in ((times.perf.normality(), "statistic"), (times.perf.hierarchical_performance_test("old"), "speedup")):
        ax = found.perf.plot()
        np.testing.assert_array_equal(drawn(ax, "p"), found["pvalue"].values.ravel())
        assert [text.get_text() for text in ax.texts if text.get_gid() == "beside"] == [
            f"{value:.3f}" for value in found[name].values.ravel()
        ]
        assert drawn(ax, "0.05") == [0.05, 0.05]


def test_all_p_values_together():
    """A histogram of twenty bars, each a part of 0.05; against uniform ones in ascending order; the title counts the small ones."""
    p = [0.92, 0.01, 0.31, np.nan, 0.04]
    ax = result(p).perf.plot(kind="histogram")
    assert [bar.get_height() for bar in ax.patches] == [2.0 * (place == 0) + 1.0 * (place in (6, 18)) for place in range(20)]
    assert "4 of 5 cells: 50 % have p up to 0.05" in ax.get_title(loc="left").replace("\n", " ")
    ax = result(p).perf.plot(kind="qq")
    (points,) = [line for line in ax.lines if line.get_label() == "p-values"]
    np.testing.assert_allclose(points.get_ydata(), [0.01, 0.04, 0.31, 0.92])
    np.testing.assert_allclose(points.get_xdata(), [0.125, 0.375, 0.625, 0.875])
    with pytest.raises(ValueError, match="kind='pie' is unknown"):
        result(p).perf.plot(kind="pie")


def test_bad_alpha():
    """What came and what is needed."""
    with pytest.raises(ValueError, match=r"alpha=5 is out of range; give a number between 1e-06 and 1"):
        pvalues(result([0.1]), alpha=5)
