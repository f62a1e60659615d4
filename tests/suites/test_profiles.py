"""Performance profiles: curves of systems with runs that did not end."""

import numpy as np
import pytest
import xarray as xr
from statsmodels.stats.proportion import proportion_confint

import perfarray
from perfarray.suites.curves import profile

DIMS = ("solver", "benchmark", "execution")
VALUES = np.array([[1.0, 4.0, np.nan, np.nan], [2.0, 2.0, 9.0, np.nan]])[..., np.newaxis]
TIMES = xr.DataArray(
    VALUES,
    {"solver": ["ant", "bee"], "benchmark": list("wxyz")},
    DIMS,
    "time",
    {"units": "s"},
).assign_coords(
    censored=(DIMS, np.isnan(VALUES) & [[[True], [True], [True], [False]]] * 2),
    failed=(DIMS, np.isnan(VALUES) & [[[False], [False], [False], [True]]] * 2),
)


def test_worked_by_hand():
    """Benchmark w: ant 1, bee 2; x: ant 2, bee 1; y: bee alone; z: nobody, and it counts in n."""
    curves = profile(TIMES)
    np.testing.assert_array_equal(
        curves["value"], [[1, 1, 2, np.nan, np.nan], [1, 1, 1, 2, np.nan]]
    )
    np.testing.assert_array_equal(curves["share"][0], [0, 0.25, 0.5, np.nan, np.nan])
    assert curves["solved"].values.tolist() == [2, 3]
    assert curves["n"].values.tolist() == [4, 4]


def test_within_a_time():
    """The times themselves, in ascending order, from 0."""
    curves = profile(TIMES, kind="time")
    np.testing.assert_array_equal(
        curves["value"], [[0, 1, 4, np.nan, np.nan], [0, 2, 2, 9, np.nan]]
    )
    assert curves["value"].attrs["units"] == "s"


def test_a_limit_leaves_longer_runs_unsolved():
    """A run at the limit is solved."""
    assert profile(TIMES, limit=4)["solved"].values.tolist() == [2, 2]


def test_limits_are_wilson_s():
    """With continuity correction they are wider than without, and hold the share."""
    curves = profile(TIMES, confidence_level=0.9)
    lower, upper = proportion_confint([0, 1, 2, 3], 4, 0.1, "wilson")
    row = curves.isel(solver=1, place=slice(4))
    assert (row["lower"] <= lower + 1e-12).all()
    assert (row["upper"] >= upper - 1e-12).all()
    assert ((row["lower"] <= row["share"]) & (row["share"] <= row["upper"])).all()


@pytest.mark.parametrize(("statistic", "solved"), [("mean", 0), ("median", 1), ("min", 1)])
def test_of_several_runs(statistic, solved):
    """A mean is solved if all runs are, a median if most are, a minimum if one is."""
    values = np.array([[[1.0, 2.0, np.nan]], [[3.0, 3.0, 3.0]]])
    times = xr.DataArray(values, {"solver": ["ant", "bee"]}, DIMS, "time").assign_coords(
        censored=(DIMS, np.isnan(values))
    )
    assert profile(times, statistic=statistic)["solved"].values.tolist() == [solved, 1]


def test_forms_of_the_data_agree():
    """Transposed, a Dataset, float32, and lazy."""
    curves = profile(TIMES)
    for form in (TIMES.transpose(*DIMS[::-1]), TIMES.to_dataset(), TIMES.astype("float32")):
        np.testing.assert_array_equal(profile(form)["value"].transpose("solver", ...), curves.value)
    pytest.importorskip("dask")
    xr.testing.assert_equal(profile(TIMES.chunk({"benchmark": 2})).compute(), curves)


def test_benchmarks_that_a_system_lacks_are_left_out_of_all():
    """Not measured is not the same as not solved."""
    times = TIMES.copy()
    times[0, 3] = np.nan
    times.coords["failed"] = times["failed"].where(times["solver"] != "ant", False)
    with pytest.warns(perfarray.PerfarrayWarning, match="not measured in every cell"):
        assert profile(times)["n"].values.tolist() == [3, 3]


def test_suites_have_their_curves():
    """Each of two suites its own."""
    times = TIMES.assign_coords(suite=("benchmark", ["a", "a", "b", "b"]))
    curves = profile(times)
    assert curves["solved"].sel(suite="b", solver="ant").item() == 0
    assert (curves["n"] == 2).all()
    ax = times.perf.plot.profile()
    assert len(ax.figure.axes) == 2


def test_one_system_has_a_curve_of_times():
    """A ratio needs a second one."""
    one = TIMES.isel(solver=0, drop=True)
    assert profile(one, kind="time")["solved"].values.tolist() == [2]
    with pytest.raises(ValueError, match="several systems along a dim; use kind='time'"):
        profile(one)


@pytest.mark.parametrize(
    ("times", "keywords", "message"),
    [
        (TIMES.expand_dims(machine=2), {}, "which systems compete. Give dim=, one of 'machine'"),
        (TIMES, {"dim": "benchmark"}, "dim='benchmark' is not one of the systems'"),
        (TIMES, {"dim": "version"}, "'version' not found"),
        (TIMES, {"kind": "rank"}, "choose one of 'ratio', 'time'"),
        (TIMES.assign_attrs(better="higher"), {}, "a profile is of times"),
    ],
)
def test_messages(times, keywords, message):
    """What is not possible says why, and what to do."""
    with pytest.raises(ValueError, match=message):
        profile(times, **keywords)


def test_picture():
    """Steps up to the share solved, which goes on to the right end; the legend counts."""
    ax = TIMES.perf.plot.profile()
    ant, bee = (line for line in ax.lines if line.get_gid() != "limits")
    assert ant.get_ydata().tolist() == [0, 0.25, 0.5, 0.5]
    assert bee.get_xdata()[-1] == ax.get_xlim()[1]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "ant: 2 of 4",
        "bee: 3 of 4",
    ]
    assert len(ax.collections) == 2


def test_picture_of_many_systems():
    """Five have no bands, and the title says so; of ten, those that solve most are drawn."""
    for number, text in ((5, "no bands above 4 systems"), (10, "7 of 10: most benchmarks")):
        times = TIMES.isel(solver=[0] * (number - 1) + [1])
        times = times.assign_coords(solver=[f"s{position}" for position in range(number)])
        ax = times.perf.plot.profile(kind="time")
        assert text in ax.get_title(loc="left").replace("\n", " ")
        assert not ax.collections
        assert f"s{number - 1}: 3 of 4" in [t.get_text() for t in ax.get_legend().get_texts()]


def test_nothing_solved_cannot_be_drawn():
    """Curves without a step have no axis."""
    times = TIMES.isel(benchmark=[3])
    with pytest.raises(ValueError, match="no system solves a benchmark; nothing to draw"):
        times.perf.plot.profile()
