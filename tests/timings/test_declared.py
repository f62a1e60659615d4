"""What is declared once of timings is read by every method."""

import numpy as np
import pytest
import xarray as xr

import perfarray

TIMES = perfarray.simulate(
    sizes={"binary": 3, "execution": 4, "iteration": 5},
    variances={"binary": 1e-4, "execution": 1e-4, "iteration": 1e-4},
    dims={"benchmark": 2, "version": ["old", "new"]},
    rng=1,
)


@pytest.mark.parametrize("times", [TIMES, TIMES["time"]], ids=["Dataset", "DataArray"])
def test_declared_arguments_are_those_of_the_call(times):
    """A method answers as if the declared arguments were given, also after a selection."""
    declared = times.perf.declare(levels=("execution", "iteration"), value="iteration")
    one_benchmark = declared.isel(benchmark=[0])
    xr.testing.assert_identical(
        one_benchmark.perf.mean_interval(),
        times.isel(benchmark=[0]).perf.mean_interval(levels=("execution", "iteration")),
    )
    xr.testing.assert_identical(
        declared.perf.run_estimate(),
        times.perf.run_estimate(levels=("execution", "iteration"), value="iteration"),
    )


def test_arguments_of_a_call_take_precedence():
    """A declared level outside the nest of the call does not count."""
    declared = TIMES.perf.declare(levels="binary", unit="binary")
    xr.testing.assert_identical(
        declared.perf.suite_score(levels=("execution", "iteration")),
        TIMES.perf.suite_score(levels=("execution", "iteration")),
    )
    assert declared.perf.compare("old", levels=("execution",)).attrs["levels"] == "execution"


def test_shared_and_paired_levels():
    """Declared shared levels are the attr that readers set; a declared pair is a pair."""
    declared = TIMES.perf.declare(shared="binary", paired="binary")
    result = declared.perf.compare("old")
    expected = TIMES.perf.compare("old", shared="binary", paired="binary")
    np.testing.assert_array_equal(result["suite_lower"], expected["suite_lower"])
    np.testing.assert_array_equal(result["lower"], expected["lower"])


def test_the_metric():
    """The declared metric is the one that methods are about."""
    two_metrics = TIMES.assign(energy=(2 * TIMES["time"]).assign_attrs(units="J"))
    assert (
        two_metrics.perf.declare(metric="energy").perf.mean_interval()["estimate"].attrs["units"]
        == "J"
    )


def test_answers_declare_nothing():
    """What was declared of timings is not read of an answer."""
    result = TIMES.perf.declare(levels=("execution", "iteration")).perf.mean_interval()
    assert not [name for name in result.attrs if name.startswith("declared")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"levels": "run"}, "'run' not found"),
        ({"unit": "run"}, "unit= 'run' not found"),
        ({"shared": "session"}, "shared='session' is not among the levels"),
        ({"metric": "energy"}, "energy"),
    ],
)
def test_unknown_names_raise(arguments, message):
    """The error names what the timings have."""
    with pytest.raises(ValueError, match=message):
        TIMES.perf.declare(**arguments)
