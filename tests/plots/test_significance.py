"""p-values of tests and of studies: where they stand, the smallest possible, what is refused."""

import numpy as np
import pytest
import xarray as xr

import perfarray
from perfarray.plots import pvalues
from picture_parts import lines, rows, side_texts, simulated, title


def result(pvalue, **attrs):
    """Return tests of some machines."""
    labels = [f"m{number}" for number in range(len(pvalue))]
    variables = {
        "pvalue": pvalue,
        "statistic": np.full(len(pvalue), 0.9),
        "smallest_pvalue": np.full(len(pvalue), 2 / 501),
    }
    tests = xr.Dataset(
        {name: ("machine", values) for name, values in variables.items()}, {"machine": labels}
    )
    return tests.assign_attrs(
        {
            "result": "randomization_test",
            "n_resamples": 500,
            "plus_one": 1,
            "baseline": "old",
            **attrs,
        }
    )


def points_of(ax, label):
    return list(next(line for line in ax.lines if line.get_label() == label).get_xdata())


def test_pvalues_stand_beside_the_smallest_possible():
    """Points at p, ticks at 2 / 501, a line at 0.05, the ratio beside; a cell without data is counted;
    zero is an arrow at the border."""
    ax = result([0.004, 0.3, np.nan]).perf.plot()
    np.testing.assert_array_equal(points_of(ax, "p"), [0.004, 0.3])
    np.testing.assert_allclose(points_of(ax, "smallest p possible"), 2 / 501)
    assert points_of(ax, "0.05") == [0.05, 0.05]
    assert side_texts(ax) == ["1.11x faster"] * 2
    assert title(ax) == "Randomization test, compared with old, 2 of 3: those measured"
    ax = pvalues(result([0.0, 0.1], plus_one=0))
    assert [line.get_xydata().tolist() for line in lines(ax, "arrow")] == [[[0.0, 0.0]]]
    assert points_of(ax, "p") == [0.1]


def test_few_exchanges_have_no_small_p():
    """Three runs against three have 20 exchanges: one of them is as extreme on one side, and 500
    random ones do not give less."""
    times = perfarray.from_samples({"old": [10.0, 10.1, 9.9], "new": [9.0, 9.1, 8.9]})
    ax = times.perf.randomization_test("old", method="exact", alternative="less").perf.plot()
    assert points_of(ax, "smallest p possible") == points_of(ax, "p") == [0.05]
    assert ax.get_xlabel() == "one-sided (less) p, all exchanges"
    assert points_of(
        times.perf.randomization_test("old", n_resamples=500, rng=1).perf.plot(),
        "smallest p possible",
    ) == [0.1]


@pytest.fixture(scope="module")
def times():
    return simulated(30, benchmark=6, version=["old", "new"])


def test_a_study_stands_in_the_order_of_its_corrected_p(times):
    """The smallest on top, whatever order benchmarks have; hollow points are p before the
    correction; the line is the risk."""
    study = times.isel(benchmark=slice(3)).perf.compare(
        "old", correction="holm", confidence_level=0.9
    )
    ax = study.perf.plot(kind="pvalues")
    order = np.argsort(study["pvalue_adjusted"].values.ravel())
    assert rows(ax) == study["benchmark"].values[order].tolist()
    np.testing.assert_array_equal(
        points_of(ax, "p"), study["pvalue_adjusted"].values.ravel()[order]
    )
    np.testing.assert_array_equal(
        points_of(ax, "p before the correction"), study["pvalue"].values.ravel()[order]
    )
    assert points_of(ax, "0.1") == [0.1, 0.1]
    assert ax.get_xlabel() == "two-sided p, corrected (holm)"


@pytest.mark.parametrize(
    ("method", "name"), [("normality", "statistic"), ("hierarchical_performance_test", "speedup")]
)
def test_other_tests_have_the_same_picture(times, method, name):
    """Normality with W beside p; the hierarchical test with its speedup."""
    tests = getattr(times.isel(execution=slice(6)).perf, method)(
        *(["old"] if name == "speedup" else [])
    )
    ax = tests.perf.plot()
    np.testing.assert_array_equal(points_of(ax, "p"), tests["pvalue"].values.ravel())
    assert side_texts(ax) == [f"{value:.3f}" for value in tests[name].values.ravel()]
    assert points_of(ax, "0.05") == [0.05, 0.05]


def test_distributions_of_p():
    """A histogram of twenty bars, each a part of 0.05; against uniform ones in ascending order; the
    title counts the small ones."""
    p = [0.92, 0.01, 0.31, np.nan, 0.04, 0.03]
    ax = result(p).perf.plot(kind="histogram")
    assert [bar.get_height() for bar in ax.patches] == [
        {0: 3.0, 6: 1.0, 18: 1.0}.get(number, 0.0) for number in range(20)
    ]
    assert "5 of 6 cells: 60 % have p up to 0.05" in title(ax)
    ax = result(p).perf.plot(kind="qq")
    (points,) = [line for line in ax.lines if line.get_label() == "p-values"]
    np.testing.assert_allclose(
        points.get_xydata(), [[0.1, 0.01], [0.3, 0.03], [0.5, 0.04], [0.7, 0.31], [0.9, 0.92]]
    )
    bands = [line.get_ydata() for line in ax.lines if line.get_linestyle() == ":"]
    np.testing.assert_allclose(
        bands, [[-0.6073, 0.3927], [0.6073, 1.6073]], rtol=1e-3
    )  # 1.358 over the root of 5: Kolmogorov, 5 %


def test_bad_input(times):
    with pytest.raises(
        ValueError, match=r"alpha=5 is out of range; give a number between 1e-06 and 1"
    ):
        pvalues(result([0.1]), alpha=5)
    with pytest.raises(
        ValueError, match="kind='pie' is not known; choose one of 'cells', 'histogram', 'qq'"
    ):
        result([0.1]).perf.plot(kind="pie")
    with pytest.raises(ValueError, match="kind='bars' is not known"):
        times.perf.compare("old").perf.plot(kind="bars")
    with pytest.raises(ValueError, match="'ratio_interval' has no p-values"):
        times.perf.ratio_interval("old").perf.plot(kind="pvalues")
