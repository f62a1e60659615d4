"""Do runs, or means of runs, look normal?"""

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose
from scipy import stats

import perfarray


def cells(*samples: np.ndarray) -> xr.Dataset:
    return perfarray.from_samples(
        {f"b{number}": sample for number, sample in enumerate(samples)}, dim="benchmark", units="1"
    )


def test_each_cell_is_scipys_test():
    """W and p of every cell, whatever its size, are SciPy's."""
    rng = np.random.default_rng(2)
    samples = [rng.normal(size=5), rng.exponential(size=40), rng.lognormal(size=300)]
    tests = cells(*samples).perf.normality().squeeze("group_size")
    expected = [stats.shapiro(sample) for sample in samples]
    assert_allclose(tests["statistic"], [test.statistic for test in expected], rtol=1e-6)
    assert_allclose(tests["pvalue"], [test.pvalue for test in expected], rtol=1e-4, atol=1e-12)
    assert tests["n"].values.tolist() == [5, 40, 300]
    assert tests["share_rejected"].item() == pytest.approx(
        np.mean([test.pvalue <= 0.05 for test in expected])
    )


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_groups_are_consecutive_and_do_not_overlap(statistic):
    """What is tested is one mean or median per full group."""
    runs = np.random.default_rng(3).exponential(size=64)
    tests = (
        cells(runs)
        .perf.normality(group_sizes=(1, 5), statistic=statistic)
        .sel(group_size=5)
        .squeeze()
    )
    expected = stats.shapiro(getattr(np, statistic)(runs[:60].reshape(12, 5), axis=1))
    assert tests["n"].item() == 12
    assert_allclose(tests["pvalue"], expected.pvalue, rtol=1e-4)


def test_units_are_the_sample():
    """Iterations are averaged unless they are named as the unit, and then the attrs say so."""
    times = perfarray.simulate(
        sizes={"execution": 20, "iteration": 4},
        variances={"execution": 1.0, "iteration": 1.0},
        mean=9.0,
        rng=1,
    )
    assert times.perf.normality()["n"].item() == 20
    pooled = times.perf.normality(unit="iteration")
    assert (pooled["n"].item(), pooled.attrs["unit"]) == (80, "iteration")


def test_normal_samples_are_rejected_at_alpha():
    """The share rejected of normal samples is the risk."""
    times = perfarray.simulate(
        sizes={"execution": 20}, variances={"execution": 1e-4}, dims={"benchmark": 4000}, rng=5
    )
    assert times.perf.normality(alpha=0.1)["share_rejected"].item() == pytest.approx(0.1, abs=0.015)


def test_cells_that_cannot_be_tested():
    """Constant samples and tiny ones are NaN, are not in the share, and are counted in one
    warning."""
    with pytest.warns(
        UserWarning,
        match="2 of 3 cells were not tested: they have fewer than 3 values, or equal ones",
    ) as caught:
        tests = cells(
            np.ones(9), np.array([1.0, 2.0]), np.array([1.0, 1.0, 1.0, 1.0, 50.0])
        ).perf.normality()
    assert len(caught) == 1
    assert tests["pvalue"].isnull().values.ravel().tolist() == [True, True, False]
    assert tests["share_rejected"].item() == 1.0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"alpha": 5}, "alpha=5 is out of range; give a number between 0 and 1, such as 0.05"),
        ({"statistic": "min"}, "statistic='min' is not known; choose one of 'mean', 'median'"),
        ({"group_sizes": (2.5,)}, "group_sizes=2.5: give a whole number of at least 1"),
        ({"unit": "binary"}, "unit='binary' is not known; choose one of 'execution'"),
    ],
)
def test_bad_input(keywords, message):
    """The message says what came and what is needed."""
    with pytest.raises(ValueError, match=message):
        cells(np.arange(5.0)).perf.normality(**keywords)


def test_chunks_do_not_matter():
    """A chunked array is answered lazily, with the same numbers."""
    pytest.importorskip("dask")
    times = perfarray.simulate(
        sizes={"execution": 30}, variances={"execution": 1e-4}, dims={"benchmark": 4}, rng=1
    )["time"]
    lazy = times.chunk({"benchmark": 1}).perf.normality(group_sizes=(1, 3))
    assert all(variable.chunks for variable in lazy.data_vars.values())
    xr.testing.assert_allclose(lazy.compute(), times.perf.normality(group_sizes=(1, 3)))


def test_executions_of_one_build_are_tested():
    """With executions in a single build these are the units, and a note names the build."""
    times = perfarray.from_samples(
        {"old": np.random.default_rng(1).normal(1, 0.1, (1, 20))}, level=("binary", "execution")
    )
    result = times.perf.normality()
    assert result["pvalue"].notnull().all()
    assert [note.values["level"] for note in result.perf.notes() if note.code == "one_session"] == [
        "binary"
    ]
