"""What a call leaves out: the only candidate is taken, else the message lists the candidates; a name
that is not known is answered with the nearest one."""

import inspect

import numpy as np
import pytest
import xarray as xr

import perfarray
from method_calls import METHODS

TIMES = xr.DataArray(
    np.random.default_rng(1).lognormal(0, 0.05, (3, 2, 40)),
    {"benchmark": ["fft", "lu", "sort"], "version": ["old", "new"]},
    ("benchmark", "version", "execution"),
    "time",
    {"units": "s"},
)
TWO_DIMS = xr.concat([TIMES, 2 * TIMES], xr.IndexVariable("compiler", ["gcc", "clang"]))
NESTED = TIMES.expand_dims(binary=2)

PARAMETERS = {name: inspect.signature(getattr(perfarray, name)).parameters for name in METHODS}
ASKS_FOR_BASELINE = [
    name
    for name, parameters in PARAMETERS.items()
    if "baseline" in parameters and parameters["baseline"].default is inspect.Parameter.empty
]


@pytest.mark.parametrize("name", ASKS_FOR_BASELINE)
def test_labels_that_can_be_the_baseline(name):
    """A call without baseline lists the labels that can be it, dim by dim."""
    with pytest.raises(TypeError) as error:
        getattr(TIMES.perf, name)()
    assert str(error.value) == (
        f"{name}() needs a baseline. You can compare with: version 'old', 'new'"
    )
    with pytest.raises(TypeError, match=r"compiler 'gcc', 'clang'; version 'old', 'new'$"):
        getattr(TWO_DIMS.perf, name)()


def test_labels_of_the_dim_that_is_named():
    """Those alone, if the dim is there."""
    with pytest.raises(TypeError, match=r"You can compare with: compiler 'gcc', 'clang'$"):
        TWO_DIMS.perf.compare(dim="compiler")
    with pytest.raises(TypeError, match=r"compiler 'gcc', 'clang'; version 'old', 'new'$"):
        TWO_DIMS.perf.compare(dim="compilers")


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (TIMES.isel(version=0), "benchmark 'fft', 'lu', 'sort'$"),  # nothing else has two labels
        (TIMES.isel(version=0, benchmark=0), "No dim has two labels to compare$"),
        (TIMES.perf.declare(levels=("execution",)).expand_dims(host=2), "host 0, 1; version"),
    ],
)
def test_what_can_be_compared(times, message):
    """Repetitions cannot, and benchmarks only where there is nothing else."""
    with pytest.raises(TypeError, match=message):
        times.perf.compare()


def test_data_by_keyword():
    """They are the first argument, and without them the message says what they are."""
    result = perfarray.compare(times=TIMES, baseline="old")
    xr.testing.assert_identical(result, TIMES.perf.compare("old"))
    with pytest.raises(TypeError, match=r"compare\(\) needs a DataArray or a Dataset of timings"):
        perfarray.compare(baseline="old")


def test_fitted_models_need_a_baseline_too():
    """Their components are no systems."""
    mixture = TIMES.isel(benchmark=0).perf.fit_mixture(n_components=2)
    with pytest.raises(TypeError, match=r"needs a baseline. You can compare with: version 'old', "):
        perfarray.prob_faster(mixture)


@pytest.mark.parametrize("label", ["odl", "OLD", "older"])
def test_a_label_that_is_not_known(label):
    """The nearest one is proposed, whatever its case."""
    for dim in (None, "version"):
        with pytest.raises(ValueError, match=r"Did you mean 'old'\?$"):
            TIMES.perf.compare(label, dim=dim)


@pytest.mark.parametrize(
    ("call", "nearest"),
    [
        (lambda: TIMES.perf.compare("old", dim="verison"), "version"),
        (lambda: TIMES.perf.pairwise(dim="versions"), "version"),
        (lambda: TIMES.perf.compare("old", across="benchmarks"), "benchmark"),
        (lambda: TIMES.perf.mean_interval(levels="executions"), "execution"),
        (lambda: TIMES.perf.autocorrelation(dim="exectuion"), "execution"),
        (lambda: TIMES.perf.compare("old", method="fielr"), "fieller"),
        (lambda: TIMES.perf.compare("old", controls="srot"), "sort"),
        (lambda: TIMES.to_dataset().perf.mean_interval(metric="tme"), "time"),
        (lambda: TIMES.perf.compare("old", threshold={"sotr": 0.1}), "sort"),
    ],
)
def test_a_name_that_is_not_known(call, nearest):
    """Of dims, levels, methods, metrics and patterns."""
    with pytest.raises(ValueError, match=rf"Did you mean '{nearest}'\?$"):
        call()


def test_a_name_like_no_other_has_no_proposal():
    with pytest.raises(ValueError, match=r"'old', 'new'$"):
        TIMES.perf.compare("trunk")


@pytest.mark.parametrize("name", ["pairwise", "prob_fastest"])
def test_the_only_dim_is_compared(name):
    """Without dim= the answer is that of the only dim; of several, all are named."""
    assert getattr(TIMES.perf, name)().identical(getattr(TIMES.perf, name)(dim="version"))
    with pytest.raises(ValueError, match=r"Say so with dim=: 'compiler', 'version'$"):
        getattr(TWO_DIMS.perf, name)()
    with pytest.raises(ValueError, match=r"No dim has two labels to compare"):
        getattr(TIMES.isel(version=0, benchmark=0).perf, name)()


@pytest.mark.filterwarnings("ignore::perfarray.PerfarrayWarning")  # executions are copies
@pytest.mark.parametrize("name", ["autocorrelation", "steady_state"])
def test_the_only_level_has_the_order(name):
    """Iterations where there are any, else the only level; of several, all are named."""
    assert getattr(TIMES.perf, name)().attrs["dim"] == "execution"
    iterations = TIMES.rename(execution="iteration").expand_dims(execution=2)
    assert getattr(iterations.perf, name)().attrs["dim"] == "iteration"
    assert getattr(iterations.perf, name)(levels="execution").attrs["dim"] == "execution"
    with pytest.raises(ValueError, match=r"Say so with dim=: 'binary', 'execution'$"):
        getattr(NESTED.perf, name)()


def test_lags_of_the_only_level():
    """Points are pairs of neighbouring executions."""
    pytest.importorskip("matplotlib")
    one = TIMES.isel(benchmark=0, version=0)
    ax = one.perf.plot.lag()
    assert ax.get_xlabel() == "time, 1 execution before"
    pairs = np.concatenate([points.get_offsets() for points in ax.collections])
    np.testing.assert_array_equal(pairs[:, 1], one.values[1:])
